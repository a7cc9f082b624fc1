"""A run's output, and Slurm's accounting, compared with its record: what cannot be of the same run.

A clock of an unknown time zone may be off by any number of quarters of an hour.
"""

import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import shell, slurm
from analysis.base.errors import ConfigError
from analysis.base.files import printable
from analysis.base.slurm import node_names, short
from analysis.datasets.witnesses import accounts, arithmetic
from analysis.schema.applications import Application
from analysis.schema.stated import IMPORTED, section

# Clocks of the nodes and of the host that wrote the record may differ by this much.
_SLACK = 60.0  # s
# A process can run so much longer than its launcher saw, in addition to rounding.
_LONGER, _TAIL = 1.02, 2.0
# Slurm counts whole seconds, and a run ends before its job.
_ROUNDING = 2.0  # s
# What holds for so many runs is a rule, from which the rest departs.
_FEWEST, _RULE = 4, 0.9
# HPCG plans its sets by the first one, and stops after the set in which the time is over.
_PLAN = 2.0
_SET = 50  # iterations
_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[_T](\d\d)[-:](\d\d)[-:](\d\d)")
_COUNT = re.compile(r"--?(?:np|n|ntasks)")
# Names of an MPI library in its own output, in labels and in names of its launcher.
_FAMILIES = {
    "Open MPI": re.compile(r"open ?mpi|ompi|hpc-?x|orterun", re.IGNORECASE),
    "MPICH": re.compile(r"\bmpich", re.IGNORECASE),
    "MVAPICH": re.compile(r"mvapich", re.IGNORECASE),
    "Intel MPI": re.compile(r"intel\W*(?:\(r\)\W*)?mpi|\bimpi", re.IGNORECASE),
    "Platform MPI": re.compile(r"platform ?mpi", re.IGNORECASE),
}

Row = Mapping[str, Any]
Job = Mapping[Any, Any]


def contradictions(
    row: Row,
    application: Application,
    result: xr.Dataset,
    source: str,
    profile: xr.Dataset | None = None,
    extra: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield where a run's record cannot be of the same run as its result, profile or launch line.

    `row` is of kind ``runs``, `source` the name of the result's file, `extra` the rest of the record. Only
    facts that both sides state are compared.
    """
    ranks = stated(result, "ranks")
    grid = sorted(set(map(int, result.variables["local_size"].values))) if "local_size" in result else []
    yield from _of_counts(row, result, ranks, grid)
    origins = section(extra, IMPORTED, "factors")
    yield from _of_problem(row, result, str(origins.get("problem")))
    # A document has the version of its own tool, and not of the program.
    engine = readers.engine_of(result)
    own = engine and "version" in getattr(readers.row(engine), "facts", ())
    if own and origins.get("version", "output") == "output":
        yield from _of_version(str(row["version"]), printable(str(result.attrs.get("tool_version", ""))))
    yield from _of_case(row, application, result, grid)
    yield from _of_times(row, result, source)
    yield from _of_launch(row, counted=ranks > 0 or profile is not None)
    if "benchbook" in extra:
        yield from _of_arguments(row, application)
    yield from _of_options(row, application, str(row["command"]), "command")
    if row["evidence"] != "synthetic":  # that is written around its rate, with whole sets of iterations
        yield from arithmetic.contradictions(result)
    if profile is not None:
        yield from _of_profile(row, application, profile)


def _of_counts(row: Row, result: xr.Dataset, ranks: int, grid: list[int]) -> Iterator[str]:
    if 0 <= ranks != row["ranks"]:
        yield f"its result has {ranks} ranks, its record {row['ranks']}"
    for name in ("nodes", "charm_nodes"):
        held = result.variables.get(name)
        nodes = int(held) if held is not None and not held.dims else -1
        yield from _other_nodes(row, nodes, "result")
    threads, gpus = stated(result, "threads"), stated_gpus(result, row["nodes"])
    if 0 < threads != row["threads"] > 0:
        yield f"its result has {threads} threads per rank, its record {row['threads']}"
    if 0 < gpus != row["gpus"] > 0:
        yield f"its result has {gpus} GPUs, its record {row['gpus']}"
    if grid and row["local_size"] > 0 and grid != [row["local_size"]]:
        yield f"its result has a local grid of {grid}, its record of {row['local_size']}"


def _of_problem(row: Row, result: xr.Dataset, origin: str) -> Iterator[str]:
    """Compare the numbers of the problem that an import took from the output with those that it has."""
    texts = (readers.problem(result), str(row["problem"])) if origin == "output" else ()
    printed = [dict(re.findall(r"(?<!\S)(\w+)=([\d.]+)(?!\S)", text)) for text in texts]
    for what, said in printed[1].items() if printed else ():
        if (own := printed[0].get(what, said)) != said:
            yield f"its result says {what} {own}, its record {said}"


def _of_version(said: str, printed: str) -> Iterator[str]:
    """Compare two versions as far as both go: a reader may have learnt to read more of one."""
    if said and printed and not (said.startswith(printed) or printed.startswith(said)):
        yield f"its result says version {printed}, its record {said}"


def stated(result: xr.Dataset, name: str) -> int:
    """Return a count that a result states, -1 without it."""
    held = result.variables
    return int(held[name] if name in held else result.attrs.get(name, -1))


def stated_gpus(result: xr.Dataset, nodes: int) -> int:
    """Return the GPUs of all nodes that a result states, by itself or for each node; -1 without them."""
    each = stated(result, "gpus_per_node")
    return each * nodes if min(each, nodes) > 0 else stated(result, "gpus")


def _other_nodes(row: Row, nodes: int, what: str) -> Iterator[str]:
    if 0 < nodes != row["nodes"] > 0:
        yield f"its {what} has {nodes} nodes, its record {row['nodes']}"


def _of_case(row: Row, application: Application, result: xr.Dataset, grid: list[int]) -> Iterator[str]:
    """Compare the case with what its name means, and with the benchmark that printed the result."""
    case = str(row["case"])
    cases = application.launch.cases if application.launch else {}
    wanted = cases[case].values.local_size if case in cases else None
    if wanted is not None and grid and grid != [int(wanted)]:
        yield f"its result has a local grid of {grid}, its case {case!r} of {wanted}"
    found = str(result.attrs.get("benchmark", ""))
    names = {found, found.removeprefix("osu_")}
    if found and (case.startswith("osu_") or case in cases) and case not in names:
        yield f"its result is from {found}, its case is {case!r}"


def _of_times(row: Row, result: xr.Dataset, source: str) -> Iterator[str]:
    held = result.variables
    for name in ("benchmark_time", "elapsed"):
        if name in held and not held[name].dims:
            step = float(held.get(f"{name}_resolution", 0.0))
            yield from _longer(row, float(held[name]) - step, "result")
    target, took = float(row["target_time"]), float(held.get("benchmark_time", math.nan))
    if result.attrs["kind"] == "hpcg" and target > 0 and took > 0:
        sets = max(float(held["iterations"]) / _SET, 1.0)
        if not target / _PLAN <= took <= _PLAN * target + took / sets:
            yield f"its result ran {took:.3g} s, its record asked for {target:.3g} s"
    stamp = _STAMP.search(Path(source).name) if result.attrs["kind"] == "hpcg" else None
    if stamp:
        text = "{}-{}-{}T{}:{}:{}".format(*stamp.groups())
        yield from _outside(row, text, "its result was written")


def _longer(row: Row, seconds: float, what: str) -> Iterator[str]:
    if seconds > float(row["elapsed"]) * _LONGER + _TAIL:
        yield f"its {what} took {seconds:.4g} s, its record says {row['elapsed']:.4g} s"


def _outside(row: Row, text: str, what: str) -> Iterator[str]:
    """Find a local time that lies in the run by no time zone."""
    try:
        at = np.datetime64(text, "ns")
    except ValueError:
        return
    if np.isnat(at) or np.isnat(row["start"]) or np.isnat(row["end"]):
        return
    late = float((at - row["start"]) / np.timedelta64(1, "s")) + _SLACK
    if late % slurm.QUARTER > float((row["end"] - row["start"]) / np.timedelta64(1, "s")) + 2 * _SLACK:
        yield f"{what} at {text} by its own clock, outside the run in any time zone"


def _of_launch(row: Row, *, counted: bool) -> Iterator[str]:
    """Compare the launcher's command with the record: the number of ranks, and whose library it is.

    Ranks only where no output has `counted` them: a count is better than a request.
    """
    words = shell.split(str(row["command"]))
    at = next((at for at, word in enumerate(words) if shell.LAUNCHER.search(word)), None)
    if at is None:
        return
    options = _options(words[at + 1 :])
    asked = next((value for word, value in pairwise(options) if _COUNT.fullmatch(word)), "")
    # Parts of one job with ranks of their own follow a colon.
    if not counted and asked.isdecimal() and ":" not in words and 0 <= row["ranks"] != int(asked):
        yield f"its command starts {asked} ranks, its record says {row['ranks']}"
    recorded, own = (
        [name for name, pattern in _FAMILIES.items() if pattern.search(text)]
        for text in (str(row["mpi"]), Path(words[at]).name)
    )
    if len(recorded) == len(own) == 1 and recorded != own:
        yield f"its command is from {own[0]}, its record says {row['mpi']}"


def _of_arguments(row: Row, application: Application) -> Iterator[str]:
    """Compare a command that Benchbook has written with the arguments that the case declares."""
    cases = application.launch.cases if application.launch else {}
    if application.launch is None or row["case"] not in cases:
        return
    declared = [*application.launch.arguments, *cases[str(row["case"])].arguments]
    words = shell.split(str(row["command"]))
    if lacks := [word for word in declared if "$" not in word and word not in words]:
        yield f"its command has no {' '.join(lacks)}, which its case {row['case']!r} declares"


def _options(words: list[str]) -> list[str]:
    """Return the launcher's options, up to the likely program: a -n of the program is something else."""
    for at, word in enumerate(words):
        value = at > 0 and words[at - 1].startswith("-") and ("/" not in word or "=" in word)
        if not word.startswith("-") and not value:
            return words[:at]
    return words


def _of_options(row: Row, application: Application, command: str, what: str) -> Iterator[str]:
    """Compare the options of a command that set a factor with the record."""
    for factor, option in application.options.items():
        pattern = re.escape(option).replace(re.escape("${value}"), r"(\d+(?:\.\d+)?)")
        found = re.search(rf"(?<!\S){pattern}(?!\S)", command)
        value = float(row[factor])
        # -1 and NaN: the record has no value.
        if found and value > 0 and float(found[1]) != value:
            yield f"its {what} says {found[0]}, its record {factor} {value:g}"


def _of_profile(row: Row, application: Application, profile: xr.Dataset) -> Iterator[str]:
    attrs = profile.attrs
    if 0 < attrs["ranks_expected"] != row["ranks"]:  # TAU states none
        yield f"its profile has {attrs['ranks_expected']} ranks, its record {row['ranks']}"
    yield from _other_nodes(row, int(attrs.get("nodes", -1)), "profile")
    hosts = {short(str(host)) for host in profile["host"].values} - {""}
    listed = set(slurm.listed(str(row["node_list"])))
    if hosts and listed and not hosts <= listed:
        yield f"its profile is from {', '.join(sorted(hosts))}, its record from {', '.join(sorted(listed))}"
    command = str(attrs.get("command", ""))
    yield from _of_options(row, application, command, "profile's command")
    yield from _of_program(str(row["command"]), command)
    yield from _of_profile_times(row, attrs)


def _of_program(launched: str, profiled: str) -> Iterator[str]:
    """Compare the arguments of the profiled program with those of its launch."""
    own, words = shell.split(profiled), shell.split(launched)
    names = [Path(word).name for word in words]
    if own and (name := Path(own[0]).name) in names:
        # The last one: a wrapper or a path may be called the same.
        given = words[len(names) - names[::-1].index(name) :]
        if given != own[1:]:
            yield f"its profile is from {name} {shlex.join(own[1:])}, its command has {shlex.join(given)}"


def _of_profile_times(row: Row, attrs: Mapping[str, Any]) -> Iterator[str]:
    known = not (np.isnat(row["start"]) or np.isnat(row["end"]))
    for name, did in (("start", "began"), ("stop", "ended")):
        value = attrs.get(name)
        if isinstance(value, float) and math.isfinite(value) and known:
            at, slack = np.datetime64(int(value * 1e9), "ns"), np.timedelta64(int(_SLACK), "s")
            if not row["start"] - slack <= at <= row["end"] + slack:
                yield f"its profile {did} at {at.astype('datetime64[s]')} UTC, outside the run"
        elif isinstance(value, str) and value:
            yield from _outside(row, value, f"its profile {did}")
    start, stop = attrs.get("start"), attrs.get("stop")
    if isinstance(start, float) and isinstance(stop, float):
        yield from _longer(row, stop - start, "profile")
    yield from _longer(row, float(attrs.get("wall_time_max", math.nan)), "profile")
    ranks = int(attrs["ranks_expected"])
    if ranks > 0:
        yield from _longer(row, float(attrs.get("app_time_total", math.nan)) / ranks, "profile")


# ---- Slurm's accounting; sacct prints local times


def slurm_contradictions(
    joined: Sequence[tuple[Row, Job]],
    exact: Collection[str] = (),
    noted: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> list[str]:
    """Return for each run why its record cannot be of the job that it names; empty where it can.

    `joined` has rows of the kind ``runs``, each with the row of its job, of the kind ``sacct``. The runs
    `exact` have dates that are compared to the second, if most of them are within their job to the second.
    `noted` has what jobs have noted of themselves, by run: a job that is known by its names may have run on a
    node with a wrong clock.
    """
    zones = slurm.usual_zones(zone for row, job in joined if (zone := _zone(row, job)) is not None)
    offs = [_off(row, job) if row["run"] in exact else None for row, job in joined]
    known = [max(off[1:]) for off in offs if off is not None and off[0] in zones]
    late = sum(one > _ROUNDING for one in known)
    ruled = len(known) >= _FEWEST and late <= max((1 - _RULE) * len(known), 1)
    found = []
    for (row, job), off in zip(joined, offs, strict=True):
        whys = list(_of_job(row, job))
        if not _within_by_own_clock(row, job, noted.get(str(row["run"]), {})):
            whys += _of_job_times(row, job, zones, exact=ruled and off is not None)
        found.append(next(iter(whys), ""))
    return found


def _within_by_own_clock(row: Row, job: Job, noted: Mapping[str, Any]) -> bool:
    """Tell whether a run lies in its job, by what the clock of its node said as the job began."""
    shift = accounts.ahead(job, noted)
    if math.isnan(shift):
        return False
    second, since = np.timedelta64(1, "s"), _moment(job["start"])
    early = shift - float((row["start"] - since) / second)
    late = float((row["end"] - _moment(job["end"])) / second) - shift
    return early <= _ROUNDING and late <= _ROUNDING


def _of_job(row: Row, job: Job) -> Iterator[str]:
    if job["state"] and not slurm.terminal(str(job["state"])):
        return  # it was asked for while the job ran, or waited to be started again
    took, elapsed = float(job["elapsed"]), float(row["elapsed"])
    forgot = np.isnat(_moment(job["start"]))  # a database that lost the start has no elapsed time either
    if elapsed > took + _ROUNDING and not forgot:
        yield f"its record says {elapsed:.4g} s, Slurm {took:.4g} s of its whole job"
    if 0 < int(job["nodes"]) < row["nodes"]:
        yield f"its record has {row['nodes']} nodes, its job had {job['nodes']}"
    try:
        nodes = {short(node) for node in node_names(str(job["node_list"]))}
    except ConfigError:  # "None assigned"
        return
    listed = set(slurm.listed(str(row["node_list"])))
    if nodes and not listed <= nodes:
        yield f"its record names {', '.join(sorted(listed))}, its job ran on {', '.join(sorted(nodes))}"


def _zone(row: Row, job: Job) -> int | None:
    """Return the least shift, in quarters of an hour, with which the job ends no earlier than the run."""
    late = (_moment(row["end"]) - _moment(job["end"])) / np.timedelta64(1, "s")
    if math.isnan(late):
        return None
    return math.ceil((float(late) - _SLACK) / slurm.QUARTER)


def _moment(time: Any) -> np.datetime64:
    """Return a time of numpy's; the NaT of pandas, of a job that has not ended, is one, too."""
    return pd.Timestamp(time).to_datetime64()


def within(row: Row, job: Job) -> bool:
    """Tell whether a run began and ended in a start of its job, by clocks that agree to a minute."""
    slack = np.timedelta64(int(_SLACK), "s")
    return bool(_moment(job["start"]) - slack <= row["start"] and row["end"] <= _moment(job["end"]) + slack)


def _off(row: Row, job: Job) -> tuple[int, float, float] | None:
    """Return the zone of a job's clock, and how many s before its job a run began and after it ended."""
    zone = _zone(row, job)
    if zone is None or np.isnat(row["start"]) or np.isnat(_moment(job["start"])):
        return None
    second = np.timedelta64(1, "s")
    early = float((_moment(job["start"]) - row["start"]) / second) + zone * slurm.QUARTER
    return zone, early, float((row["end"] - _moment(job["end"])) / second) - zone * slurm.QUARTER


def _of_job_times(row: Row, job: Job, zones: Sequence[int], *, exact: bool) -> Iterator[str]:
    off = _off(row, job)
    if off is None:
        return
    zone, early, late = off
    start, end = (_moment(job[name]) for name in ("start", "end"))
    if zone not in zones or early > _SLACK:
        ran = f"its job ran from {str(start)[:19]} to {str(end)[:19]}"
        clock = -min(zones, key=abs, default=0) * slurm.QUARTER / 3600
        ran += f", on a clock that is {clock:+g} h off UTC for other jobs" if clock else ""
        yield f"it began at {row['start'].astype('datetime64[s]')} UTC, {ran}"
    elif exact and early > _ROUNDING:
        yield f"it began {early:.0f} s before its job {row['job_id']} did; other runs began after theirs"
    elif exact and late > _ROUNDING:
        yield f"it ended {late:.0f} s after its job {row['job_id']} did; other runs ended before theirs"
