"""Resolves the facts of each run: what its files state, the surest first, checked against its path."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from analysis import readers
from analysis.base import slurm
from analysis.importing import bindings, hardware, launch, scripts
from analysis.importing.detect import Observation
from analysis.importing.draft import COUNTS, LAUNCHER, PAIR, Draft, Sourced, cell
from analysis.importing.groups import Grouping
from analysis.importing.identity import host_pattern
from analysis.importing.inference import infer
from analysis.importing.options import distinguish_by_options
from analysis.importing.pattern import PathPattern
from analysis.importing.runfiles import RunFiles
from analysis.importing.table import FactTable
from analysis.importing.vocabulary import Value, system
from analysis.readers.merits.formats import openfoam
from analysis.schema.applications import Application
from analysis.schema.factors import OF_SYSTEM, TABLE

# How a run was executed; everything else in a record remains in the file next to the output.
_EXECUTED = (
    *("job_id", "node_list", "command", "start", "end", "exit_code"),
    *("order", "load_before", "timing", "reason"),
)
# What a batch system reports of a job is a run's own if the job has no other run.
_OF_RUN = ("start", "end", "exit_code", "memory", "walltime", "command", "ranks")
# What dumps state of a machine and its modules; not the type of one of several instances.
_MACHINE = tuple(name for name in OF_SYSTEM if name != "host_group")
NEEDED = tuple(one.name for one in TABLE if one.needed)
# Facts that state when a run began and ended, or how long it was; the first that is known counts.
_DATES = (("date", "date_end"), ("profile_start", "profile_stop"), ("profile_clock", "profile_length"))


def resolve(
    groups: Grouping,
    applications: Mapping[str, Application],
    *,
    pattern: PathPattern | None = None,
    given: Mapping[str, Value] = MappingProxyType({}),
    table: FactTable | None = None,
) -> tuple[list[Draft], list[str]]:
    """Resolve the facts of all runs; return them with what was inferred, a line each."""
    by_engine = {one.engine: name for name, one in reversed(list(applications.items())) if one.engine}
    dumps: dict[tuple[int, ...], _Dumps] = {}  # by identity: runs of a folder have the same
    drafts = []
    for run in groups.runs:
        shared = [one for one in run.shared if one.what != "job script" and one.facts]
        key = tuple(map(id, shared))
        dumps[key] = dumps.get(key) or _Dumps(shared)
        drafts.append(_from_files(run, by_engine, groups, given, table, dumps[key]))
    for draft in drafts if pattern is not None else ():
        _from_pattern(draft, pattern)
    lines = infer(drafts, applications, settled=pattern.settled if pattern is not None else None)
    for draft in drafts:
        _complete(draft)
    _group_hosts(drafts)
    lines += distinguish_by_options(drafts)
    number_repeats(drafts)
    return drafts, lines + (table.unused() if table is not None else [])


class _Dumps:
    """Dumps that describe the same runs; another job than the runs' made them."""

    def __init__(self, dumps: Sequence[Observation]) -> None:
        names = [_words(one.file.base) for one in dumps]
        common = set.intersection(*names) if len(dumps) > 1 else set()
        self._having: dict[str, list[int]] = defaultdict(list)  # words that not all have
        for at, words in enumerate(names if len(dumps) > 1 else ()):
            for word in words - common:
                self._having[word].append(at)
        self._dumps = dumps
        self._nearest = self._agreed(dumps)

    def of_run(self, path: str) -> dict[str, Observation]:
        """Return the dumps that state the machine of a run, by the name of the fact.

        Dumps whose names share a word with the run's path that not all dumps have are its own. Else the
        nearest ones count, if they agree.
        """
        own = sorted({at for word in _words(path) for at in self._having.get(word, ())})
        return self._agreed([self._dumps[at] for at in own]) if own else self._nearest

    def _agreed(self, dumps: Sequence[Observation]) -> dict[str, Observation]:
        found: dict[str, Observation] = {}
        for name in _MACHINE:
            stating = [one for one in dumps if name in one.facts]
            deepest = max((_depth(one) for one in stating), default=0)
            levels = {str(one.facts[name]): one for one in stating if _depth(one) == deepest}
            if len(levels) == 1:
                found[name] = next(iter(levels.values()))
        return found


def _from_files(
    run: RunFiles,
    by_engine: Mapping[str, str],
    groups: Grouping,
    given: Mapping[str, Value],
    table: FactTable | None,
    dumps: _Dumps,
) -> Draft:
    """Add what files state of a run, the surest first."""
    draft = Draft(run, "")
    draft.add(given, "--set")
    if table is not None:
        factors, options = table.facts(run)
        draft.add(factors, "--table")
        draft.add({"given_options": options} if options else {}, "--table")
    if run.part is not None:
        draft.add(run.part.facts, "output")
    for one in (run.main, *run.files):
        main = one is run.main
        if "profiler" in one.facts:
            if run.part is not None or main:
                _check(draft, one.facts, "profile")
            draft.add(one.facts, "output" if main and run.part is not None else "profile")
    for one in run.files:
        if one.role == "record":
            _check(draft, one.facts, one.file.base)
            draft.add(one.facts, one.file.base)
    if run.job and (job := groups.jobs.get(run.job)):
        _from_job(draft, job, job["batch"])
    for one in (run.main, *run.files, *run.of_job):
        if one.reported:
            _from_job(draft, one.reported, one.batch)
    _place_ranks(draft)
    draft.add(run.main.facts, "output")
    _from_neighbours(draft, dumps)
    if submitted := draft.facts.pop("job_environment", None):  # a script may set other values
        draft.add(hardware.software(submitted.value.pop("LOADEDMODULES", "")), submitted.where)
        variables = {**submitted.value, **(draft.value("environment") or {})}
        draft.facts["environment"] = Sourced(variables, submitted.where)
        draft.add(launch.threads_of(variables), submitted.where)
    if step := draft.value("step_nodes"):
        nodes = draft.facts.get("nodes")
        if nodes is None or (nodes.value > step and nodes.where not in ("output", "--set", "--table")):
            draft.facts["nodes"] = Sourced(step, draft.facts["step_nodes"].where)
    # A script may have changed since; a profile states how its program was called.
    if draft.value("program") and draft.certain("command") is None:
        draft.facts.pop("command", None)
        draft.facts.pop("launch", None)
    hosts = re.split(r"[,.]", f"{draft.value('node_list') or ''},{draft.value('host') or ''}")
    known = next(filter(None, map(system, [*hosts, str(draft.value("cluster") or "")])), "")
    if known and ("cluster" not in draft.facts or draft.facts["cluster"].where not in ("--set", "--table")):
        draft.facts["cluster"] = Sourced(known, "names of hosts")
    _count_gpus(draft)
    _add_start(draft)
    # The time in a name is not that of the start, but it shows in which order runs were made.
    if stamp := run.main.stamp:
        at = datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        draft.add({"order": int(at)}, "time in its name")
    row = readers.row(run.engine) if run.engine else None
    of_any = row is not None and row.kind == "merits" and not row.figure_of_merit  # as Darshan's logs
    by_reader = "" if of_any else by_engine.get(run.engine, "")
    draft.application = str(draft.value("application") or by_reader or _program(draft))
    of_others = {name for engine, name in by_engine.items() if engine != run.engine}
    if run.part is not None and run.part.content and draft.application in of_others:
        draft.application += f"-{run.engine}"  # another reader's result is another application
    elif run.part is not None and not run.part.content and (own := draft.value("figure")):
        draft.application += f"-{'-'.join(re.findall('[a-z0-9]+', own['figure_of_merit'].lower()))}"
    return draft


def _from_neighbours(draft: Draft, dumps: _Dumps) -> None:
    """Add what scripts and dumps next to an output state, unless the output came with the program."""
    run = draft.run
    pattern = readers.row(run.engine).distributed if run.engine else ""
    if pattern and re.match(pattern, run.main.file.base):
        return
    for one in (*run.files, *(one for one in run.shared if one.what == "job script"), *run.of_job):
        if one.role in ("beside", "text"):
            facts = scripts.of_launch(one, len(run.main.parts), run.number)
            facts = scripts.of_file(facts, run.main.file.base)
            draft.add(_from_script(draft, facts), one.file.base)
    if solver := draft.value("solver"):
        made = [step for one in run.shared for step in one.facts.get("mesh", ())]
        draft.add(openfoam.problem(openfoam.in_order(made), solver), "logs of its mesh")
    for name, one in dumps.of_run(run.main.name).items():
        draft.add({name: one.facts[name]}, one.file.base)


def _place_ranks(draft: Draft) -> None:
    """Add the hosts on which the launcher placed the ranks; of a larger job these are the run's own."""
    run = draft.run
    found = next((one.launches for one in (run.main, *run.files, *run.of_job) if one.launches), [])
    parts = run.main.parts if run.number else [run.part]
    ranks = [part.facts.get("ranks") if part is not None else draft.value("ranks") for part in parts]
    placed = bindings.of_result(found, ranks, max(run.number - 1, 0)) if found else {}
    nodes = draft.facts.get("nodes")
    if placed and nodes is not None and nodes.where not in ("output", "profile", "--set", "--table"):
        for name in ("nodes", "node_list"):
            draft.facts.pop(name, None)
    draft.add(placed, LAUNCHER)


def _add_start(draft: Draft) -> None:
    """Take the start from a date that the output prints, else from a profile."""
    for begun, ended in _DATES if draft.value("start") is None else ():
        if begin := draft.value(begun):
            end = draft.value(ended) or 0.0
            end = begin + end if ended == "profile_length" else end
            draft.add({"start": begin} | ({"end": end} if end > begin else {}), draft.facts[begun].where)


def _from_script(draft: Draft, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a script states, without its counts if the output has other ranks: it has changed since.

    Whatever ran on one node remains there, unless the node had too few ranks for it.
    """
    if lines := facts.get("launch_lines"):
        own = launch.of_output(lines, draft.run.main.file.base, str(draft.value("case") or ""))
        facts = {**facts, **(launch.of_line(own) if own else {})}
    known, nodes, each = draft.certain("ranks"), facts.get("nodes", 0), facts.get("ranks_per_node", 0)
    other = known is not None and facts.get("ranks", nodes * each or known) != known
    counts = {*COUNTS} - ({"nodes"} if nodes == 1 and (known or 0) <= (each or math.inf) else set())
    left = {"job", "launch_lines"} | (counts | launch.GPUS.keys() if other else set())
    return {name: value for name, value in facts.items() if name not in left}


def _depth(source: Observation) -> int:
    return len(source.file.name.split("/"))


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[^\W\d_]{2,}|\d+", text)}


def _program(draft: Draft) -> str:
    """Name an application without a reader: after its program, its job, or its file."""
    program = str(draft.value("program") or "").split(" ")[0].rpartition("/")[2]
    file = re.sub(r"\W?\d{3,}\W?", "", draft.run.main.file.base)
    text = program or str(draft.value("job_name") or "") or file
    name = re.sub(r"[^A-Za-z0-9._-]+|\.(?:out|err|log|txt|exe|sh|x)$", "", text).strip("-_.").lower()
    return name or "unknown"


def _check(draft: Draft, facts: Mapping[str, Any], what: str) -> None:
    """Check what another file of the run states against what is known."""
    for name in COUNTS:
        known = draft.facts.get(name)
        if known and name in facts and known.where != what and known.value != facts[name]:
            draft.fault(f"{known.where} says {known.value} {name}, its {what} {facts[name]}")


def _from_job(draft: Draft, job: Mapping[str, Any], batch: str) -> None:
    """Add a batch system's record of the job; its times in UTC if a profile shows the offset of its clock."""
    run = draft.run
    if run.alone:
        _check(draft, {"nodes": job["nodes"]} if "nodes" in job else {}, f"record of {batch}")
    draft.add({name: value for name, value in job.items() if name not in (*_OF_RUN, "job", "batch")}, batch)
    if not run.alone:
        return
    shift = 0.0
    if (began := draft.value("profile_start")) is not None and "start" in job:
        shift = round((began - job["start"]) / slurm.QUARTER) * slurm.QUARTER
        shift = shift if job["start"] + shift <= began + 60 else shift - slurm.QUARTER
    own = {name: job[name] for name in _OF_RUN if name in job}
    if run.main.facts.keys() & {"command", "launch"}:  # a launch line says more than a jobspec of Flux
        own.pop("command", None)
    if batch == "Flux" and any("ranks" in one.facts for one in (run.main, *run.files, *run.shared)):
        own.pop("ranks", None)  # of a job of a script these are its slots, and the script launches the ranks
    if "start" in own and "end" in own:
        start, end = own.pop("start"), own.pop("end")
        own |= {"start": start + shift, "end": end + shift} if end > start else {}
    draft.add({name: value for name, value in own.items() if name != "end" or "start" in own}, batch)


def _from_pattern(draft: Draft, pattern: PathPattern | None) -> None:
    found = pattern.read(draft.run.main.name) if pattern is not None else {}
    if pattern is not None and found is None:
        draft.fault(f"is not of the pattern {pattern.text!r}")
        return
    for name, (value, text) in (found or {}).items():
        draft.contradicts(name, value, text)
        if name == "application":
            draft.application = str(value)
        if name == "build":  # of modules that the job loaded, which say less
            draft.facts.pop(name, None)
        draft.add({name: value}, f"path: {text}")


def _complete(draft: Draft) -> None:
    """Derive what follows from the rest: ranks = nodes x ranks per node; check it where all are known."""
    if draft.value("pair"):
        _complete_pair(draft)
    ranks, nodes, per_node = (draft.value(name) for name in ("ranks", "nodes", "ranks_per_node"))
    if ranks and nodes and per_node and ranks != nodes * per_node:
        where = [draft.facts[name].where for name in ("nodes", "ranks_per_node")]
        if any(one.startswith("path") for one in where) and draft.certain("ranks") is not None:
            draft.fault(f"its path says {nodes} nodes with {per_node} ranks each, its output {ranks} ranks")
        del draft.facts["ranks_per_node"]
        per_node = None
    if ranks is None and nodes and per_node:
        draft.add({"ranks": nodes * per_node}, "nodes and ranks per node")
    elif per_node is None and ranks and nodes and ranks % nodes == 0:
        draft.add({"ranks_per_node": ranks // nodes}, "ranks and nodes")
    elif nodes is None and ranks and per_node and ranks % per_node == 0:
        draft.add({"nodes": ranks // per_node}, "ranks and ranks per node")
    elif nodes is None and ranks == 1:
        draft.add({"nodes": 1, "ranks_per_node": 1}, "ranks")
    ranks, slots = draft.value("ranks"), draft.value("slots")
    if ranks is None and slots and draft.value("threads") in (None, 1):
        draft.add({"ranks": slots}, draft.facts["slots"].where)
    _count_gpus(draft)
    _doubt_gpus(draft)
    if draft.value("case") is None and (problem := draft.value("problem")):
        draft.add({"case": problem}, draft.facts["problem"].where)


def _count_gpus(draft: Draft) -> None:
    """Count the GPUs of all nodes, from those of each node or rank."""
    for name, of in launch.GPUS.items() if "gpus" not in draft.facts else ():
        each, many = draft.value(name), draft.value(of)
        if each and many:
            draft.facts["gpus"] = Sourced(each * many, draft.facts[name].where)


def _doubt_gpus(draft: Draft) -> None:
    """Keep as an option what is not known to be GPUs of all nodes; a path may count those of each."""
    left = {name: draft.value(name) for name in launch.GPUS if "gpus" not in draft.facts}
    if "gpus" in draft.facts and draft.facts["gpus"].where.startswith("path"):
        left = {"gpus": draft.facts.pop("gpus").value} if (draft.value("nodes") or 0) > 1 else {}
    if options := {name: str(value) for name, value in left.items() if value}:
        draft.facts["grid"] = Sourced({**(draft.value("grid") or {}), **options}, "path or script")


def _complete_pair(draft: Draft) -> None:
    """Add the two ranks of a benchmark between two; its job may have had more nodes than it used."""
    each = draft.facts.get("ranks_per_node")
    for name in ("ranks", "ranks_per_node"):
        if draft.certain(name) is None:
            draft.facts.pop(name, None)
    draft.add({"ranks": PAIR}, f"what {draft.value('case')} is")
    nodes = draft.facts.get("nodes")
    if each is not None and each.value == 1 and (nodes is None or nodes.value > 1):
        draft.facts["nodes"] = Sourced(2, each.where)
    elif nodes is None and each is not None and each.value == 2:
        draft.add({"nodes": 1}, each.where)
    elif nodes is not None and nodes.value > 2:
        del draft.facts["nodes"]
        draft.append("tuning", f"in a job of {nodes.value} nodes", nodes.where, ", ")


def _group_hosts(drafts: Sequence[Draft]) -> None:
    """Name the host groups of runs without a CPU: by feature, queue, names of hosts, as far as these vary."""
    clusters: dict[str, dict[int, tuple[str, str, str]]] = defaultdict(dict)
    for at, draft in enumerate(drafts):
        if draft.value("cpu") is None:
            of_path = draft.facts.get("node_list", Sourced("", "")).where.startswith("path")
            listed = "" if of_path else draft.value("node_list") or draft.value("host") or ""
            hosts = set(slurm.listed(str(listed)))
            feature = str(draft.value("feature") or "")
            found = "" if feature in hosts else feature, str(draft.value("queue") or ""), host_pattern(hosts)
            clusters[str(draft.value("cluster") or "")][at] = found
    for rows in clusters.values():
        used: list[int] = []
        for column in range(3):
            before = len({tuple(row[one] for one in used) for row in rows.values()})
            levels = {tuple(row[one] for one in (*used, column)) for row in rows.values()}
            # Names that nearly each run has for itself are no group.
            if len(levels) > before and (len(levels) < 8 or len(levels) * 2 < len(rows)):
                used.append(column)
        for at, row in rows.items():
            names = [row[one] for one in used if row[one]] or [one for one in row if one][:1]
            drafts[at].add({"host_group": "/".join(names)} if names else {}, "hosts and queue of the job")


def number_repeats(drafts: Sequence[Draft]) -> None:
    """Give runs with the same factors their numbers, in the order of starts, else of names."""
    cells: dict[tuple[Any, ...], list[Draft]] = defaultdict(list)
    for draft in drafts:
        draft.order = _order(draft)
        if not draft.faults:  # those are not imported, and would leave a hole
            cells[cell(draft)].append(draft)
    for members in cells.values():
        for number, draft in enumerate(sorted(members, key=lambda one: one.order), 1):
            what = "start" if draft.order[0] or draft.order[1] else "names"
            draft.facts["repeat"] = Sourced(number, f"order of {what}")


def _order(draft: Draft) -> tuple[Any, ...]:
    start = draft.value("start") or 0.0
    repeat = draft.value("repeat")
    natural = tuple(
        (0, int(piece), "") if piece.isdecimal() else (1, 0, piece)
        for piece in re.split(r"(\d+)", draft.run.main.name)
        if piece
    )
    return (float(start), draft.run.main.stamp, int(repeat or 0), natural, draft.run.number)


def missing(draft: Draft) -> Iterator[str]:
    """Name the factors without which a run can hardly be compared."""
    return (name for name in NEEDED if lacks(draft, name))


def lacks(draft: Draft, name: str) -> bool:
    """Tell whether a factor of a run is not known; a run on one node uses no link."""
    needed = name != "interconnect" or draft.value("nodes") != 1
    return needed and draft.value(name) in (None, "")


def executed(draft: Draft) -> dict[str, Any]:
    """Return how a run was executed, of what is known."""
    return {name: draft.value(name) for name in _EXECUTED if draft.value(name) is not None}
