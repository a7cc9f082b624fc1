"""What a run's output states, held against its record: one line for each fact that cannot be of the same run.

A clock whose zone is not known may be off by any number of quarters of an hour.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.slurm import short
from analysis.schema.campaigns import Application

# Clocks of the nodes and of the host that wrote the record may differ by this much.
SLACK = 60.0  # s
_QUARTER = 900.0  # s; time zones differ by multiples of it
# Beside rounding, a process can outlive what the launcher saw by so much.
_LONGER, _TAIL = 1.02, 2.0
# HPCG plans its sets by the first one, and stops after the set in which the time is over.
_PLAN = 2.0
_SET = 50  # iterations
_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[_T](\d\d)[-:](\d\d)[-:](\d\d)")
_LAUNCHED = re.compile(r"(?:^|/)(?:mpirun|mpiexec|orterun|srun)(?:[.\w-]*)$")
_COUNT = re.compile(r"--?(?:np|n|ntasks)")
# What an MPI library is called by itself, in labels and in names of its launcher.
_FAMILIES = {
    "Open MPI": re.compile(r"open ?mpi|ompi|hpc-?x|orterun", re.IGNORECASE),
    "MPICH": re.compile(r"\bmpich", re.IGNORECASE),
    "MVAPICH": re.compile(r"mvapich", re.IGNORECASE),
    "Intel MPI": re.compile(r"intel\W*(?:\(r\)\W*)?mpi|\bimpi", re.IGNORECASE),
    "Platform MPI": re.compile(r"platform ?mpi", re.IGNORECASE),
}


def contradictions(
    row: Mapping[str, Any],
    application: Application,
    result: xr.Dataset,
    source: str,
    profile: xr.Dataset | None = None,
    noted: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield where a run's record cannot be of the same run as its result, profile or launch line.

    `row` is of kind ``runs``, `source` the name of the result's file, `noted` what else the record says. Only
    what both sides state is compared.
    """
    yield from _of_counts(row, result)
    yield from _of_case(row, application, result)
    yield from _of_times(row, result, source)
    ranks = int(result["ranks"] if "ranks" in result else result.attrs.get("ranks", -1))
    yield from _of_launch(row, counted=ranks > 0 or profile is not None)
    if "benchbook" in noted:
        yield from _of_arguments(row, application)
    yield from _of_options(row, application, str(row["command"]), "command")
    if profile is not None:
        yield from _of_profile(row, application, profile)


def _of_counts(row: Mapping[str, Any], result: xr.Dataset) -> Iterator[str]:
    ranks = int(result["ranks"] if "ranks" in result else result.attrs.get("ranks", -1))
    if 0 <= ranks != row["ranks"]:
        yield f"its result is of {ranks} ranks, its record of {row['ranks']}"
    for name in ("nodes", "charm_nodes"):
        nodes = int(result[name]) if name in result and not result[name].dims else -1
        if 0 < nodes != row["nodes"] > 0:
            yield f"its result is of {nodes} nodes, its record of {row['nodes']}"
    threads = int(result["threads"] if "threads" in result else result.attrs.get("threads", -1))
    if 0 < threads != row["threads"] > 0:
        yield f"its result is of {threads} threads per rank, its record of {row['threads']}"
    if "local_size" in result and row["local_size"] > 0:
        grid = sorted(set(map(int, result["local_size"].values)))
        if grid != [row["local_size"]]:
            yield f"its result is of a local grid of {grid}, its record of {row['local_size']}"


def _of_case(row: Mapping[str, Any], application: Application, result: xr.Dataset) -> Iterator[str]:
    """Hold the case against what its name stands for, and against the benchmark that printed the result."""
    case = str(row["case"])
    cases = application.launch.cases if application.launch else {}
    wanted = cases[case].values.local_size if case in cases else None
    if wanted is not None and "local_size" in result:
        grid = sorted(set(map(int, result["local_size"].values)))
        if grid != [int(wanted)]:
            yield f"its result is of a local grid of {grid}, its case {case!r} of {wanted}"
    found = str(result.attrs.get("benchmark", ""))
    named = {found, found.removeprefix("osu_")}
    if found and (case.startswith("osu_") or case in cases) and case not in named:
        yield f"its result is of {found}, its case is {case!r}"


def _of_times(row: Mapping[str, Any], result: xr.Dataset, source: str) -> Iterator[str]:
    for name in ("benchmark_time", "elapsed"):
        if name in result and not result[name].dims:
            step = float(result[f"{name}_resolution"]) if f"{name}_resolution" in result else 0.0
            yield from _longer(row, float(result[name]) - step, "result")
    target, took = float(row["target_time"]), float(result.get("benchmark_time", math.nan))
    if result.attrs["kind"] == "hpcg" and target > 0 and took > 0:
        sets = max(float(result["iterations"]) / _SET, 1.0)
        if not target / _PLAN <= took <= _PLAN * target + took / sets:
            yield f"its result ran {took:.3g} s, its record asked for {target:.3g} s"
    stamp = _STAMP.search(Path(source).name) if result.attrs["kind"] == "hpcg" else None
    if stamp:
        text = "{}-{}-{}T{}:{}:{}".format(*stamp.groups())
        yield from _outside(row, text, "its result was written")


def _longer(row: Mapping[str, Any], seconds: float, what: str) -> Iterator[str]:
    if seconds > float(row["elapsed"]) * _LONGER + _TAIL:
        yield f"its {what} took {seconds:.4g} s, its record says {row['elapsed']:.4g} s"


def _outside(row: Mapping[str, Any], text: str, what: str) -> Iterator[str]:
    """Find a local time that lies in the run by no time zone."""
    try:
        at = np.datetime64(text, "ns")
    except ValueError:
        return
    if np.isnat(at) or np.isnat(row["start"]) or np.isnat(row["end"]):
        return
    late = float((at - row["start"]) / np.timedelta64(1, "s")) + SLACK
    if late % _QUARTER > float((row["end"] - row["start"]) / np.timedelta64(1, "s")) + 2 * SLACK:
        yield f"{what} at {text} by its own clock, outside the run in any time zone"


def _of_launch(row: Mapping[str, Any], *, counted: bool) -> Iterator[str]:
    """Hold the launcher's own words against the record: how many ranks, which library's it is.

    Ranks only where no output has `counted` them: what counts knows better than what was asked.
    """
    words = _words(str(row["command"]))
    at = next((at for at, word in enumerate(words) if _LAUNCHED.search(word)), None)
    if at is None:
        return
    options = _options(words[at + 1 :])
    asked = next((value for word, value in pairwise(options) if _COUNT.fullmatch(word)), "")
    # Parts of one job with ranks of their own stand behind a colon.
    if not counted and asked.isdecimal() and ":" not in words and 0 <= row["ranks"] != int(asked):
        yield f"its command starts {asked} ranks, its record says {row['ranks']}"
    said, own = (_families(text) for text in (str(row["mpi"]), Path(words[at]).name))
    if len(said) == len(own) == 1 and said != own:
        yield f"its command is of {own[0]}, its record says {row['mpi']}"


def _of_arguments(row: Mapping[str, Any], application: Application) -> Iterator[str]:
    """Hold a command that Benchbook has written against the arguments that the case declares."""
    cases = application.launch.cases if application.launch else {}
    if application.launch is None or row["case"] not in cases:
        return
    declared = [*application.launch.arguments, *cases[str(row["case"])].arguments]
    words = _words(str(row["command"]))
    if lacks := [word for word in declared if "$" not in word and word not in words]:
        yield f"its command has no {' '.join(lacks)}, which its case {row['case']!r} declares"


def _options(words: list[str]) -> list[str]:
    """Return the launcher's options, up to what may be the program: its own -n is something else."""
    for at, word in enumerate(words):
        value = at > 0 and words[at - 1].startswith("-") and ("/" not in word or "=" in word)
        if not word.startswith("-") and not value:
            return words[:at]
    return words


def _families(text: str) -> list[str]:
    return [name for name, pattern in _FAMILIES.items() if pattern.search(text)]


def _of_options(row: Mapping[str, Any], application: Application, command: str, what: str) -> Iterator[str]:
    """Hold the options of a command that set a factor against the record's."""
    for factor, option in application.options.items():
        pattern = re.escape(option).replace(re.escape("${value}"), r"(\d+(?:\.\d+)?)")
        found = re.search(rf"(?<!\S){pattern}(?!\S)", command)
        value = float(row[factor])
        # -1 and NaN: the record is silent.
        if found and value > 0 and float(found[1]) != value:
            yield f"its {what} says {found[0]}, its record {factor} {value:g}"


def _of_profile(row: Mapping[str, Any], application: Application, profile: xr.Dataset) -> Iterator[str]:
    attrs = profile.attrs
    if attrs["ranks_expected"] != row["ranks"]:
        yield f"its profile is of {attrs['ranks_expected']} ranks, its record of {row['ranks']}"
    nodes = int(attrs.get("nodes", -1))
    if 0 < nodes != row["nodes"] > 0:
        yield f"its profile is of {nodes} nodes, its record of {row['nodes']}"
    hosts = {short(str(host)) for host in profile["host"].values} - {""}
    listed = {short(node) for node in str(row["node_list"]).split(",")} - {""}
    if hosts and listed and not hosts <= listed:
        yield f"its profile is of {', '.join(sorted(hosts))}, its record of {', '.join(sorted(listed))}"
    command = str(attrs.get("command", ""))
    yield from _of_options(row, application, command, "profile's command")
    yield from _of_program(str(row["command"]), command)
    yield from _of_profile_times(row, attrs)


def _of_program(launched: str, profiled: str) -> Iterator[str]:
    """Hold the arguments of the profiled program against those that it was launched with."""
    own, words = _words(profiled), _words(launched)
    names = [Path(word).name for word in words]
    if own and (name := Path(own[0]).name) in names:
        # The last one: a wrapper or a path may be called the same.
        given = words[len(names) - names[::-1].index(name) :]
        if given != own[1:]:
            yield f"its profile is of {name} {shlex.join(own[1:])}, its command of {shlex.join(given)}"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote without its other one
        return command.split()


def _of_profile_times(row: Mapping[str, Any], attrs: Mapping[str, Any]) -> Iterator[str]:
    known = not (np.isnat(row["start"]) or np.isnat(row["end"]))
    for name, did in (("start", "began"), ("stop", "ended")):
        value = attrs.get(name)
        if isinstance(value, float) and math.isfinite(value) and known:
            at, slack = np.datetime64(int(value * 1e9), "ns"), np.timedelta64(int(SLACK), "s")
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
