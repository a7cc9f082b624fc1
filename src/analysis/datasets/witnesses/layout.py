"""Witnesses of where and how wide: ranks, nodes, hosts, threads, jobs, programs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from analysis import readers
from analysis.base import shell
from analysis.base.errors import ConfigError, Fault
from analysis.base.files import plain_name
from analysis.base.slurm import node_names, short
from analysis.datasets.witnesses import arithmetic
from analysis.datasets.witnesses.hearing import Hearing, Testimony, listed, witness
from analysis.schema.stated import began, clock_set, source_of

# Options of launchers that fix a factor: those of srun, Open MPI, MPICH and Intel MPI.
_OPTIONS: tuple[tuple[str, str], ...] = (
    ("ranks_per_node", r"(?:--map-by |--map-by=)?ppr:(\d+):node\b"),
    ("ranks_per_node", r"(?:--ntasks-per-node[= ]|--npernode[= ]|-npernode |-ppn |-perhost )(\d+)\b"),
    ("nodes", r"(?:(?<=srun )|(?<=srun\b).*? )(?:-N ?|--nodes[= ])(\d+)(?= |$)"),
    ("threads", r"(?:-x |-env |-genv |\b)OMP_NUM_THREADS[= ](\d+)\b"),
)
_HOSTS = re.compile(r"(?:^| )(?:--host|-host|-H)[= ](\S+)")
_VARIABLES = {
    "SLURM_JOB_ID": "job_id", "SLURM_JOBID": "job_id", "SLURM_NNODES": "nodes",
    "SLURM_JOB_NUM_NODES": "nodes", "OMP_NUM_THREADS": "threads",
    "OMPI_COMM_WORLD_SIZE": "ranks", "PMI_SIZE": "ranks", "MPI_LOCALNRANKS": "ranks_per_node",
}  # fmt: skip
_RULE = 0.9
# Sums of the calls of a rank are those of its head to 2 in 100,000.
_SUMS = 1.001
_PATH = re.compile(r"\.?/[\w./+-]+")


@witness("ranks", "nodes and ranks per node")
def ranks_and_nodes(case: Hearing) -> Iterator[Fault]:
    """Find records whose ranks, nodes, ranks per node and list of nodes cannot all be true."""
    for run in case.runs:
        ranks, nodes, each = (int(run.row[name]) for name in ("ranks", "nodes", "ranks_per_node"))
        if min(ranks, nodes, each) > 0 and not nodes * (each - 1) < ranks <= nodes * each:
            what = f"says {ranks} ranks on {nodes} nodes with {each} ranks per node"
            yield case.of_run(run, what, "correct the one that is wrong", key="ranks")
        if 0 < nodes < len(run.nodes) or (run.nodes and nodes > len(run.nodes)):
            what = f"says {nodes} nodes and lists {len(run.nodes)}: {', '.join(sorted(run.nodes))}"
            key = "nodelist" if "nodelist" not in run.extra else "node_list"
            yield case.of_run(run, what, "correct the one that is wrong", key=key)


@witness("options of the launch line", "record")
def options_of_launches(case: Hearing) -> Iterator[Fault]:
    """Find launch lines whose options give other nodes, ranks per node or threads than the record."""
    for run in case.runs:
        command = str(run.row["command"])
        for factor, pattern in _OPTIONS:
            found = re.search(pattern, command)
            if found and 0 < int(run.row[factor]) != int(found[1]):
                what = f"its command says {found[0].strip()}, its record {factor} {run.row[factor]}"
                yield case.of_run(run, what, "correct the record", key=factor)
        if found := _HOSTS.search(command):
            hosts = [host.partition(":") for host in found[1].split(",")]
            if 0 < run.row["nodes"] != len({host for host, _, _ in hosts}):
                what = (
                    f"its command names {len(hosts)} hosts ({found[1]}), its record {run.row['nodes']} nodes"
                )
                yield case.of_run(run, what, "correct the record", key="nodes")


@witness("environment of a job", "record")
def environments(case: Hearing) -> Iterator[Fault]:
    """Find runs whose environment states another job, other nodes or other threads than the record."""
    for run in case.runs:
        for variables in (run.section("environment"), run.section("facts", "environment")):
            for name, factor in _VARIABLES.items():
                text = str(variables.get(name, ""))
                stated = str(run.row[factor])
                # Of several runs in job 7 the third has the number 7:3.
                same = stated.partition(":")[0] == text
                if text.isdecimal() and stated not in ("", "-1") and not same:
                    what = f"its environment has {name}={text}, its record {factor} {stated}"
                    yield case.of_run(run, what, "correct the record", key=factor)


@witness("node that noted its facts, bindings of ranks", "list of nodes")
def hosts_of_facts(case: Hearing) -> Iterator[Fault]:
    """Find runs whose facts or bindings name a node that the record does not list, or more ranks."""
    for run in case.runs:
        facts, lines = run.section("facts"), run.section("binding").get("ranks")
        hosts = {short(str(facts["host"]))} if facts.get("host") else set()
        bound = [str(line).split() for line in lines] if isinstance(lines, list) else []
        hosts |= {short(words[1]) for words in bound if len(words) > 1}
        if run.nodes and (other := hosts - run.nodes):
            what = (
                f"noted facts of {', '.join(sorted(other))}, its record lists {', '.join(sorted(run.nodes))}"
            )
            yield case.of_run(run, what, "correct the list of nodes", key="nodelist")
        if bound and run.row["ranks"] > 0 and len(bound) != run.row["ranks"]:
            what = f"bound {len(bound)} ranks, its record has {run.row['ranks']}"
            yield case.of_run(run, what, "correct the record", key="ranks")
        noted = float(facts["time"]) if _is_time(facts.get("time")) else np.nan
        if run.dated and np.isfinite(noted):
            late = noted - began(run.row)
            # By half of what a time zone is off, but for a clock that was set before the start.
            if abs(late) > 1800 and abs(late + clock_set(run.extra, run.row, since="facts")) > 60:
                side = "after" if late > 0 else "before"
                what = f"noted its facts {abs(late) / 3600:.1f} h {side} its start"
                yield case.of_run(run, what, "correct start and end", key="start")


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@witness("nodes of a cluster", "clusters of the other runs")
def clusters_of_nodes(case: Hearing) -> Iterator[Fault]:
    """Find runs of another cluster than the other runs on their nodes."""
    on: dict[str, Counter[str]] = defaultdict(Counter)
    for run in case.runs:
        for node in run.nodes:
            on[node][str(run.row["cluster"])] += 1
    for run in case.runs:
        own = str(run.row["cluster"])
        shared = [on[node] for node in sorted(run.nodes)]
        if not shared or not own:
            continue
        most, count = sum(shared, Counter()).most_common(1)[0]
        here = sum(counts[own] for counts in shared)
        if most != own and here <= (1 - _RULE) * (count + here):
            what = f"says cluster {own!r}; other runs on {', '.join(sorted(run.nodes))} say {most!r}"
            yield case.of_run(run, what, "correct cluster, or the list of nodes", key="cluster")


@witness("profiler of the record", "tool of the profile")
def profilers(case: Hearing) -> Iterator[Fault]:
    """Find profiles of another tool than the profiler of the record, and of runs that had none."""
    for run in case.runs:
        if run.profile is None:
            continue
        tool, said = str(run.profile.attrs.get("tool", "")), str(run.row["profiler"])
        if tool and said and said.lower() not in tool.lower() and tool.lower() not in said.lower():
            what = f"says profiler {said!r}, but has a profile of {tool}"
            yield case.of_run(run, what, "correct the record, or remove the profile", key="profiler")


@witness("file that the output names as written", "files of the run")
def written_files(case: Hearing) -> Iterator[Fault]:
    """Find runs without the profile that their own output says was written."""
    for run in case.ended:
        stems = {plain_name(PurePosixPath(str(file["path"])).name) for file in run.files}
        for file, mark in run.marks.items():
            for wrote in mark.wrote:
                if PurePosixPath(wrote).name not in stems:
                    what = f"says that {wrote} was written, which the run does not have"
                    remedy = "put back the run's own profile"
                    yield case.of_run(run, what, remedy, file=file)


@witness("times of a profile's calls", "MPI time of its ranks")
def sums_of_profiles(case: Hearing) -> Iterator[Fault]:
    """Find profiles of IPM in which the calls of a rank took longer than all of its MPI."""
    for run in case.runs:
        profile = run.profile
        if profile is None or profile.attrs.get("tool") != "IPM" or "mpi_time" not in profile:
            continue
        whole = profile["mpi_time"].values
        ranks, calls = profile["rank"].values, profile["call"].values.astype(str)
        # A banner has sums over all ranks, and IPM counts calls of POSIX too.
        own = (ranks >= 0) & np.char.startswith(calls, "MPI_")
        sums = np.bincount(ranks[own], profile["time"].values[own], minlength=whole.size)
        if (over := np.flatnonzero(sums > _SUMS * whole)).size:
            rank = over[0]
            what = f"its calls of rank {rank} took {sums[rank]:.4g} s, all of its MPI {whole[rank]:.4g} s"
            yield case.of_run(run, what, "get the profile again", file=run.file("profile"))


@witness("ranks in the name of a profile", "ranks of the record")
def named_ranks(case: Hearing) -> Iterator[Fault]:
    """Find mpiP reports whose name has another number of ranks."""
    for run in case.runs:
        for file in run.files:
            found = re.search(r"\.(\d+)\.\d+\.\d+\.mpiP(?:\.\w+)?$", str(file["path"]))
            if found and 0 < run.row["ranks"] != int(found[1]):
                name = PurePosixPath(str(file["path"])).name
                what = f"has {found[1]} ranks by its name, its record has {run.row['ranks']}"
                yield case.of_run(run, what, "put back the run's own profile", file=name)


@witness("job that a file names", "job of the record")
def named_jobs(case: Hearing) -> Iterator[Fault]:
    """Find files that name another job than the record."""
    for run in case.runs:
        for file, mark in run.marks.items():
            if run.job.isdecimal() and mark.jobs and run.job not in mark.jobs:
                what = f"belongs to job {', '.join(mark.jobs)}, its record to {run.job}"
                yield case.of_run(run, what, "put back the run's own file, or correct job_id", file=file)


@witness("launch lines of the run's script", "ranks and threads of the record")
def counts_of_scripts(case: Hearing) -> Iterator[Fault]:
    """Find scripts that start other ranks, or set other threads, than the record has."""
    for run in case.ended:
        for file, mark in run.marks.items():
            for name, given in (("ranks", mark.ranks), ("threads", mark.threads)):
                known = int(run.row[name])
                if given and known > 0 and known not in given:
                    what = f"starts {' or '.join(map(str, given))} {name}, its record has {known}"
                    yield case.of_run(run, what, "put back the run's own script", file=file)


@witness("threads of the record", "threads of an output")
def silent_threads(case: Hearing) -> Iterator[Fault]:
    """Find outputs that name no threads, of programs that do if they have several, where the record has.

    The cores were there, but a program that was built without OpenMP has used one for each rank.
    """
    for run in case.ended:
        known, result = int(run.row["threads"]), run.result
        if known < 2 or result is None or not result.attrs.get("complete"):
            continue
        says = "threads" in getattr(readers.row(readers.engine_of(result)), "facts", ())
        if says and "threads" in result.variables and int(result["threads"]) < 1:
            what = f"its output states no threads, its record {known} per rank"
            remedy = "was the program built with OpenMP? If not, correct the record"
            yield case.of_run(run, what, remedy, key="threads")


@witness("sets in HPCG's log", "sets of its result")
def sets_of_logs(case: Hearing) -> Iterator[Fault]:
    """Find HPCG logs of another number of sets than the result."""
    for run in case.ended:
        if run.result is None or run.result.attrs["kind"] != "hpcg":
            continue
        wanted = arithmetic.calls(run.result)
        for file, mark in run.marks.items():
            if mark.calls >= 0 and np.isfinite(wanted) and mark.calls + 1 != round(wanted):
                what = f"logs {mark.calls + 1} sets of iterations, the result has {wanted:.0f}"
                yield case.of_run(run, what, "one of the two belongs to another run", file=file)


@witness("options of the program", "what its result states")
def options_of_programs(case: Hearing) -> Iterator[Fault]:
    """Find results that state other values than the options of the command."""
    for run in case.ended:
        if run.result is None:
            continue
        for name, text in re.findall(r"(?<=\s)--(\w+)=(\S+)", str(run.row["command"])):
            values = np.unique(run.result[name].values).tolist() if name in run.result else []
            if len(values) != 1:
                continue
            found = values[0]
            same = str(found) == text if isinstance(found, str) else _equal(found, text)
            if not same and found not in ("", -1):
                what = f"its result has {name} {found}, its command --{name}={text}"
                yield case.of_run(run, what, "is it the output of another run?", key="command")


def _equal(value: float, text: str) -> bool:
    try:
        return float(text) == float(value)
    except ValueError:
        return True


@witness("command of the record", "script of the job")
def scripts(case: Hearing) -> Iterator[Fault]:
    """Find records whose launch line the run's own script or note of the command does not have."""
    for run in case.runs:
        words = shell.split(str(run.row["command"]))
        for file in run.files if words else ():
            path = case.folder / str(file["path"])
            if path.name not in ("command.txt", "job.sh", "run.sh", "script.sh") or file["engine"]:
                continue
            text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
            own = [line for line in text.splitlines() if any(map(shell.LAUNCHER.search, line.split()))]
            lines = [shell.split(line) for line in own if not line.startswith("#")]
            if not lines or any("$" in word for line in lines for word in line):
                continue
            if not any(_launches(line, words) for line in lines):
                lacks = [word for word in words if all(word not in line for line in lines)]
                what = f"has no {' '.join(lacks[:4])}, which" if lacks else "has other words than those that"
                yield case.of_run(
                    run, f"{what} the command of its record has", "correct the command", file=path.name
                )


def _launches(line: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether a line of a script runs a command, and nothing that is longer."""
    at = range(len(line) - len(words) + 1)
    rests = [line[one + len(words) :] for one in at if list(line[one : one + len(words)]) == list(words)]
    return any(not rest or re.match(r"&|\||;|\d*[<>]", rest[0]) for rest in rests)


# ---- one name, one thing


def program(command: str) -> str:
    """Return the path of the program that a launch line starts: the last that is one; empty without."""
    paths = [word for word in shell.split(command) if _PATH.fullmatch(word) and "/" in word.rstrip("/")]
    return next((word for word in reversed(paths) if not re.search(r"\.\w{1,4}$", word)), "")


@witness("program of the launch line", "build and MPI library of the record")
def programs_and_builds(case: Hearing) -> Iterator[Fault]:
    """Find one program under two builds, and one build and library with two programs."""
    groups: dict[tuple[str, ...], list[tuple[Testimony, str]]] = defaultdict(list)
    for run in case.ended:
        path = program(str(run.row["command"]))
        if path.startswith("/"):
            name = Path(path).name
            groups[str(run.row["cluster"]), str(run.row["application"]), name].append((run, path))
    for members in groups.values():
        yield from _one_to_one(case, members)


def _one_to_one(case: Hearing, members: list[tuple[Testimony, str]]) -> Iterator[Fault]:
    """Compare programs with what names them: what most runs of one name have is the rule."""
    labels: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    paths: dict[str, Counter[str]] = defaultdict(Counter)
    for run, path in members:
        labels[_labels(run)][path] += 1
        paths[path][str(run.row["build"])] += 1
    for run, path in members:
        build, own = str(run.row["build"]), _labels(run)
        most, count = labels[own].most_common(1)[0]
        if path != most and labels[own][path] < count:
            names = " and ".join(filter(None, (own[0], f"build {build!r}" if build else ""))) or "no build"
            what = f"starts {path}, {count} other runs with {names} start {most}"
            yield case.of_run(run, what, "give each program a build of its own", key="build")
        usual, number = paths[path].most_common(1)[0]
        if build != usual and paths[path][build] < number:
            what = f"says build {build!r}, {number} other runs of {path} say {usual!r}"
            yield case.of_run(run, what, "a program has one build: correct the record", key="build")


def _labels(run: Testimony) -> tuple[str, ...]:
    """Return what distinguishes the program of a run from others."""
    return tuple(str(run.row[name]) for name in ("mpi", "build", "version", "tuning"))


@witness("hosts in a report of LSF or Slurm", "nodes of the record")
def reported_hosts(case: Hearing) -> Iterator[Fault]:
    """Find runs on nodes that the batch system's report in their output does not name."""
    for run in case.ended:
        for file, mark in run.marks.items():
            # Next to one of several results can be the report of another.
            alone = not source_of(run.extra)
            if alone and mark.hosts and (other := run.nodes - {short(host) for host in mark.hosts}):
                what = f"says that the job ran on {listed(mark.hosts)}, its record on {listed(sorted(other))}"
                yield case.of_run(run, what, "correct the list of nodes", file=file)


@witness("hosts that Slurm lists", "nodes of the record")
def job_lists(case: Hearing) -> Iterator[Fault]:
    """Find runs on other nodes than their job, where both list as many."""
    for run in case.ended:
        try:
            nodes = {short(node) for node in node_names(str(case.job_of(run).get("node_list", "")))}
        except ConfigError:
            continue
        if nodes and run.nodes and len(nodes) == len(run.nodes) and nodes != run.nodes:
            what = f"ran on {', '.join(sorted(run.nodes))}, its job on {', '.join(sorted(nodes))}"
            yield case.of_run(run, what, "correct the list of nodes", key="nodelist")
