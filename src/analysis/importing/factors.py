"""The factors of runs: what outputs, profiles, Slurm and dumps state, held against what paths say."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from analysis.importing.draft import Draft, Fact, contradict, sure
from analysis.importing.groups import Groups, Run
from analysis.importing.guesses import guess
from analysis.importing.pattern import FACTORS, Pattern
from analysis.importing.sight import Sight
from analysis.importing.words import Value
from analysis.schema.campaigns import Application

# Of a record these are what the run was; all else in it stays in the file beside the output.
_EXECUTED = (
    "job_id",
    "node_list",
    "command",
    "start",
    "end",
    "exit_code",
    "order",
    "load_before",
    "timing",
    "reason",
)
_OPTION = re.compile(r"--?[A-Za-z]")
_FILE = re.compile(r"/|\.[A-Za-z]|\d{5}|[A-Za-z_-]+\d+$")
_MACHINE = ("cpu", "interconnect", "mpi", "cluster")
_QUARTER = 900.0  # s; clocks in other time zones differ by multiples of it


def drafts(
    groups: Groups,
    applications: Mapping[str, Application],
    *,
    pattern: Pattern | None = None,
    given: Mapping[str, Value] = MappingProxyType({}),
) -> tuple[list[Draft], list[str]]:
    """Take the factors of all runs; return them with what was guessed, a line each."""
    by_engine = {one.engine: name for name, one in reversed(list(applications.items())) if one.engine}
    out = [_stated(run, by_engine, groups, given) for run in groups.runs]
    for draft in out if pattern is not None else ():
        _by_pattern(draft, pattern)
    guesses = guess(out, applications, settled=pattern.settled if pattern is not None else None)
    for draft in out:
        _completed(draft)
    guesses += _options(out)
    _repeats(out)
    return out, guesses


def _stated(run: Run, by_engine: Mapping[str, str], groups: Groups, given: Mapping[str, Value]) -> Draft:
    """Take what is stated of a run, the surest first."""
    draft = Draft(run, "")
    draft.take(given, "--set")
    if run.part is not None:
        draft.take(run.part.facts, "output")
    profiles = [one for one in (run.main, *run.files) if "profiler" in one.facts]
    for one in profiles:
        if run.part is not None or one is run.main:
            _hold(draft, one.facts, "profile")
        draft.take(one.facts, "profile" if one is not run.main or run.part is None else "output")
    for one in run.files:
        if one.role == "record":
            _hold(draft, one.facts, one.file.base)
            draft.take(one.facts, one.file.base)
    if run.job and (job := groups.jobs.get(run.job)):
        _of_slurm(draft, job)
    draft.take(run.main.facts, "output")
    for one in (*run.files, *(one for one in run.shared if one.what == "job script")):
        if one.role in ("beside", "text"):
            draft.take(_of_other(draft, one.facts), one.file.base)
    _of_machine(draft)
    # A script may have been changed since; what was profiled says itself how it was called.
    if draft.value("program") and "command" in draft.facts and not sure(draft.facts["command"]):
        del draft.facts["command"]
    draft.application = str(draft.value("application") or by_engine.get(run.engine, "") or _unknown(draft))
    return draft


def _of_other(draft: Draft, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a script says, without its counts if the output has other ranks: it was changed since."""
    known = draft.facts.get("ranks")
    other = known is not None and sure(known) and facts.get("ranks", known.value) != known.value
    counts = {"ranks", "ranks_per_node", "threads", *(() if facts.get("nodes") == 1 else ("nodes",))}
    return {name: value for name, value in facts.items() if name != "job" and not (other and name in counts)}


def _of_machine(draft: Draft) -> None:
    """Take what dumps say of the machine, for they were made by another job than the run's.

    Dumps whose names have a word of the run's path that the others' have not are its own. Else the nearest
    count, as far as they agree.
    """
    dumps = [one for one in draft.run.shared if one.what != "job script"]
    names = {one.name: _words(one.file.base) for one in dumps}
    common = set.intersection(*names.values()) if len(dumps) > 1 else set()
    own = [
        one for one in dumps if len(dumps) > 1 and (names[one.name] - common) & _words(draft.run.main.name)
    ]
    for name in _MACHINE:
        saying = [one for one in own or dumps if name in one.facts]
        deepest = max((_depth(one) for one in saying), default=0)
        levels = {str(one.facts[name]): one for one in saying if _depth(one) == deepest}
        if len(levels) == 1:
            one = next(iter(levels.values()))
            draft.take({name: one.facts[name]}, one.file.base)


def _depth(sight: Sight) -> int:
    return len(sight.file.name.split("/"))


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[^\W\d_]{2,}|\d+", text)}


def _unknown(draft: Draft) -> str:
    """Name an application that no reader knows: after its program, its job, or its file."""
    program = str(draft.value("program") or "").split(" ")[0].rpartition("/")[2]
    text = (
        program or str(draft.value("job_name") or "") or re.sub(r"\W?\d{3,}\W?", "", draft.run.main.file.base)
    )
    name = re.sub(r"[^A-Za-z0-9._-]+|\.(?:out|err|log|txt|exe|sh|x)$", "", text).strip("-_.").lower()
    return name or "unknown"


def _hold(draft: Draft, facts: Mapping[str, Any], what: str) -> None:
    """Hold what another file of the run states against what is known."""
    for name in ("ranks", "nodes", "threads", "local_size"):
        if name in facts and name in draft.facts and draft.facts[name].where != what:
            known = draft.facts[name]
            if known.value != facts[name]:
                draft.fault(f"{known.where} says {known.value} {name}, its {what} {facts[name]}")


def _of_slurm(draft: Draft, job: Mapping[str, Any]) -> None:
    """Take Slurm's record of the job; its times in UTC where a profile tells by how much its clock is off."""
    run = draft.run
    if run.alone:
        _hold(draft, {"nodes": job["nodes"]} if "nodes" in job else {}, "record of Slurm")
    shift = 0.0
    if (began := draft.value("profile_start")) is not None and "start" in job:
        shift = round((began - job["start"]) / _QUARTER) * _QUARTER
        shift = shift if job["start"] + shift <= began + 60 else shift - _QUARTER
    known = ("nodes", "node_list") + (("exit_code",) if run.alone else ())
    draft.take({name: job[name] for name in known if name in job}, "Slurm")
    draft.take({"job_name": job["job_name"], "state": job["state"]}, "Slurm")
    if run.alone and "start" in job and "end" in job and job["end"] > job["start"]:
        draft.take({name: job[name] + shift for name in ("start", "end")}, "Slurm")


def _by_pattern(draft: Draft, pattern: Pattern | None) -> None:
    found = pattern.read(draft.run.main.name) if pattern is not None else {}
    if pattern is not None and found is None:
        draft.fault(f"is not of the pattern {pattern.text!r}")
        return
    for name, (value, text) in (found or {}).items():
        contradict(draft, name, value, text)
        if name == "application":
            draft.application = str(value)
        draft.take({name: value}, f"path: {text}")


def _completed(draft: Draft) -> None:
    """Work out what follows from the rest: ranks = nodes x ranks a node; hold where all three are known."""
    if draft.value("pair"):
        _of_pair(draft)
    ranks, nodes, per_node = (draft.value(name) for name in ("ranks", "nodes", "ranks_per_node"))
    if ranks and nodes and per_node and ranks != nodes * per_node:
        found = {name: draft.facts[name] for name in ("ranks", "nodes", "ranks_per_node")}
        paths = [name for name in found if found[name].where.startswith("path")]
        if paths and sure(found["ranks"]):
            draft.fault(f"its path says {nodes} nodes with {per_node} ranks each, its output {ranks} ranks")
        del draft.facts["ranks_per_node"]
        per_node = None
    if ranks is None and nodes and per_node:
        draft.take({"ranks": nodes * per_node}, "nodes and ranks a node")
    elif per_node is None and ranks and nodes and ranks % nodes == 0:
        draft.take({"ranks_per_node": ranks // nodes}, "ranks and nodes")
    elif nodes is None and ranks and per_node and ranks % per_node == 0:
        draft.take({"nodes": ranks // per_node}, "ranks and ranks a node")
    elif nodes is None and ranks == 1:
        draft.take({"nodes": 1, "ranks_per_node": 1}, "ranks")
    if draft.value("case") is None and (problem := draft.value("problem")):
        draft.take({"case": problem}, draft.facts["problem"].where)


def _of_pair(draft: Draft) -> None:
    """Take the two ranks of a benchmark between two; its job may have had more nodes than it used."""
    benchmark = draft.value("case")
    for name in ("ranks", "ranks_per_node"):
        if name in draft.facts and not sure(draft.facts[name]):
            del draft.facts[name]
    draft.take({"ranks": 2}, f"what {benchmark} is")
    nodes = draft.facts.get("nodes")
    if nodes is not None and nodes.value > 2:
        del draft.facts["nodes"]
        was = draft.facts.get("tuning")
        text = f"in a job of {nodes.value} nodes"
        draft.facts["tuning"] = Fact(f"{was.value}, {text}" if was else text, nodes.where)


def _options(drafts: Sequence[Draft]) -> list[str]:
    """Tell runs of a cell apart that were started with other options, where outputs state their commands."""
    cells: dict[tuple[Any, ...], list[tuple[Draft, dict[str, str]]]] = defaultdict(list)
    for draft in drafts:
        command = draft.facts.get("command") or draft.facts.get("program")
        if command is not None and (sure(command) or "program" in draft.facts):
            cells[cell(draft)].append((draft, _given(str(command.value))))
    told = 0
    for members in cells.values():
        names = sorted(set().union(*(options for _, options in members)))
        differing = [name for name in names if len({options.get(name, "") for _, options in members}) > 1]
        for draft, options in members if differing else ():
            text = " ".join(f"{name} {options[name]}".strip() for name in differing if name in options)
            was = draft.facts.get("tuning")
            if text:
                draft.facts["tuning"] = Fact(f"{was.value}, {text}" if was else text, "command")
                told += 1
    return [f"{told} runs differ in the options of their commands, which are told as tuning"] if told else []


def _given(command: str) -> dict[str, str]:
    """Return the options of a command with their values; names of files are none."""
    out: dict[str, str] = {}
    words_of = command.split()
    for at, word in enumerate(words_of):
        name, equals, value = word.partition("=")
        following = words_of[at + 1] if at + 1 < len(words_of) else ""
        value = value if equals else "" if _OPTION.match(following) else following
        if _OPTION.match(word) and not _FILE.search(value):
            out[name] = value
    return out


def _repeats(drafts: Sequence[Draft]) -> None:
    """Give runs with the same factors their numbers, in the order of their starts, else of their names."""
    cells: dict[tuple[Any, ...], list[Draft]] = defaultdict(list)
    for draft in drafts:
        draft.order = _order(draft)
        cells[cell(draft)].append(draft)
    for members in cells.values():
        for number, draft in enumerate(sorted(members, key=lambda one: one.order), 1):
            draft.facts["repeat"] = Fact(
                number, "order of start" if draft.order[0] or draft.order[1] else "order of names"
            )


def cell(draft: Draft) -> tuple[Any, ...]:
    """Return the application and all factors of a run but its repetition."""
    factors = (name for name in FACTORS if name not in ("application", "repeat", "job_id", "question"))
    return (draft.application, *(str(draft.value(name)) for name in factors))


def _order(draft: Draft) -> tuple[Any, ...]:
    start = draft.value("start") or draft.value("profile_start") or 0.0
    repeat = draft.value("repeat")
    natural = tuple(
        (0, int(piece), "") if piece.isdecimal() else (1, 0, piece)
        for piece in re.split(r"(\d+)", draft.run.main.name)
        if piece
    )
    return (float(start), draft.run.main.stamp, int(repeat or 0), natural, draft.run.number)


def missing(draft: Draft) -> Iterator[str]:
    """Name the factors without which a run can hardly be compared."""
    for name in ("case", "nodes", "ranks", "cpu", "interconnect", "mpi"):
        if draft.value(name) in (None, ""):
            yield name


def executed(draft: Draft) -> dict[str, Any]:
    """Return how a run was executed, of what is known."""
    return {name: draft.value(name) for name in _EXECUTED if draft.value(name) is not None}
