"""Witnesses of how long: the time of a result, of its run, its shell, its profile and its processors."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from analysis.base.errors import Fault
from analysis.base.words import percent
from analysis.datasets.witnesses.hearing import Hearing, Testimony, typical, witness
from analysis.schema.stated import source_of

_FEWEST = 4
# A job or a shell takes longer than its program, never shorter; s.
_SHORTER = 2.0
# A result takes as much of its run as in its repeats: shares, and median distances.
_SHARE, _FAR = 0.2, 20.0
# Two clocks of one node, and the digits of a profile: parts and s.
_CLOCKS, _DIGITS = 0.01, 0.02
# A program lasts as much longer than what it times as in its repeats: parts of the time, and s.
_PART, _LEAST = 0.05, 0.1
# Processor time a second of the result, in logarithms: as in its repeats to this, and median distances.
_RATIO, _NEAR = 0.18, 8.0
# What a run takes besides its result: within the spread of its repeats, and times it that are far; s.
_LAUNCH, _FITS, _OFF = 0.02, 1.2, 4.0
# A record's end is corrected where the node's uptime differs by half a second.
_UPTIME = 1.0


@witness("time and exit code that a shell printed", "record")
def printed_times(case: Hearing) -> Iterator[Fault]:
    """Find runs of other seconds or another exit code than a shell printed next to them."""
    for run in case.runs:
        for file, mark in run.marks.items():
            if mark.took is None or source_of(run.extra):  # that of another result of the file
                continue
            code, seconds = mark.took
            took = float(run.row["elapsed"])
            if code >= 0 and run.row["exit_code"] >= 0 and code != run.row["exit_code"]:
                what = f"says exit {code}, its record exit code {run.row['exit_code']}"
                yield case.of_run(run, what, "correct the record", file=file)
            # A program's own start and end are within the time that the shell counts of its launcher.
            within = seconds > took and run.section("imported", "factors").get("end") == "output"
            apart = abs(seconds - took) > max(_SHORTER, 0.05 * took)
            if apart and not within and file != "stderr.txt":
                what = f"says {seconds:.4g} s, its record {took:.4g} s"
                yield case.of_run(run, what, "correct start and end", file=file)


@witness("time of a result", "time of its run")
def shares_of_time(case: Hearing) -> Iterator[Fault]:
    """Find results that took another share of their run than those of its repeats."""
    for run, what, waited in _other_shares(case):
        if not waited:
            yield case.of_run(run, what, "one of the two times is wrong", key="end")


@witness("time of a result", "time of its imported job", grave=False)
def waits_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find imported runs whose job lasted longer than those of its repeats while their result did not."""
    for run, what, waited in _other_shares(case):
        if waited:
            yield case.of_run(run, what, "did the job wait, or is one of the two times wrong?", key="end")


def _other_shares(case: Hearing) -> Iterator[tuple[Testimony, str, bool]]:
    """Give runs whose result took another share, what to say, and whether it is only a job that waited.

    The times of an imported run are those of its job, unless an output has them; a job can wait.
    """
    for cell in case.cells(run for run in case.ended if _share(run) > 0):
        times = [_took(run) for run in cell]
        for run, off, usual in _apart_in(cell, _share, _FAR):
            if abs(off) > _SHARE:
                what = f"its result took {_took(run):.4g} s, {percent(_share(run))} of its run"
                end = run.section("imported", "factors").get("end", "output")
                as_long = abs(_took(run) / typical(times)[0] - 1) <= _SHARE
                waited = end != "output" and off < 0 and as_long
                yield run, f"{what}; those of its {len(cell) - 1} repeats {percent(usual)}", waited


def _share(run: Testimony) -> float:
    return float(run.row.get("benchmark_time", np.nan)) / max(float(run.row["elapsed"]), 1e-9)


@witness("time of a result", "time of another run of its cell")
def exchanged_repeats(case: Hearing) -> Iterator[Fault]:
    """Find two runs of a cell each of whose results fits the time of the other, and not of its own."""
    timed = [run for run in case.ended if _took(run) > 0 and run.row["elapsed"] > 0]
    for cell in case.cells(timed):
        for one, other in _exchanged(cell):
            for run, partner in ((one, other), (other, one)):
                what = f"its result took {_took(run):.4g} s of its {float(run.row['elapsed']):.4g} s"
                what = f"{what}, that of run {partner.name} would fit as those of their repeats do"
                remedy = "were the two exchanged? put back the run's own file"
                yield case.of_run(run, what, remedy, file=run.file("result"))


def _exchanged(cell: Sequence[Testimony]) -> Iterator[tuple[Testimony, Testimony]]:
    """Give the pairs that are far off what the others take besides their result, and fit once exchanged."""
    took = np.array([_took(run) for run in cell])
    whole = np.array([float(run.row["elapsed"]) for run in cell])
    for one, other in combinations(range(len(cell)), 2) if len(cell) > _FEWEST else ():
        pair = [one, other]
        rest = np.delete(whole - took, pair)
        middle = float(np.median(rest))
        spread = max(float(np.abs(rest - middle).max()), _LAUNCH)
        off = whole[pair] - took[pair] - middle
        put_back = whole[pair] - took[pair[::-1]] - middle
        fits = np.abs(put_back).max() <= _FITS * spread
        if fits and np.abs(off).min() > _OFF * spread and off[0] * off[1] < 0:
            yield cell[one], cell[other]


def _wall(run: Testimony) -> float:
    """Return the time of the longest rank by the run's profile, s; NaN without."""
    if run.profile is None or "app_time" not in run.profile:
        return np.nan
    return max((float(time) for time in run.profile["app_time"].values if np.isfinite(time)), default=np.nan)


def _took(run: Testimony) -> float:
    return float(run.row.get("benchmark_time", np.nan))


@witness("time of a result", "time of the program by its profile")
def times_of_profiles(case: Hearing) -> Iterator[Fault]:
    """Find results that took longer than their profiled program, or less of it than in their repeats."""
    timed = [run for run in case.ended if _took(run) > 0 and _wall(run) > 0]
    longer = [run for run in timed if _took(run) > _wall(run) * (1 + _CLOCKS) + _DIGITS]
    # A profiler can be told to measure a part.
    for run in longer if 2 * len(longer) <= len(timed) or len(timed) == 1 else ():
        what = f"its result took {_took(run):.4g} s, the whole program {_wall(run):.4g} s by its profile"
        yield case.of_run(run, what, "one of the two belongs to another run")
    for run, off, usual in _apart(case, timed, lambda run: _wall(run) - _took(run), _FAR):
        if abs(off) > max(_LEAST, _PART * _took(run)) and run not in longer:
            what = f"its result took {_took(run):.4g} s, its program {usual + off:.3g} s more by the profile"
            yield case.of_run(run, f"{what}; in its repeats {usual:.3g} s", "one of the two times is wrong")


@witness("time of a result", "processor time of its run", grave=False)
def processor_times(case: Hearing) -> Iterator[Fault]:
    """Find results whose run took 20 % more or less processor time a second than their repeats."""
    timed = [run for run in case.ended if _took(run) > 0 and _cpu(run) > 0]
    for run, off, usual in _apart(case, timed, lambda run: float(np.log(_cpu(run) / _took(run))), _NEAR):
        if abs(off) > _RATIO:
            what = f"its result took {_took(run):.4g} s, its run {_cpu(run):.4g} s of processor time"
            what = f"{what}: {np.exp(usual + off):.3g} a second, {np.exp(usual):.3g} in its repeats"
            yield case.of_run(run, what, "is its time right?", key="accounting")


def _cpu(run: Testimony) -> float:
    """Return the processor time that the shell of a run has counted, s; NaN without."""
    counts = run.section("accounting")
    parts = [counts.get(name) for name in ("user", "system")]
    return float(sum(part for part in parts if isinstance(part, int | float))) if all(parts) else np.nan


def _apart(
    case: Hearing, runs: Sequence[Testimony], of: Callable[[Testimony], float], distances: float
) -> Iterator[tuple[Testimony, float, float]]:
    """Give the runs whose value is so many median distances off that of their repeats: how far, and that."""
    for cell in case.cells(runs):
        yield from _apart_in(cell, of, distances)


def _apart_in(
    cell: Sequence[Testimony], of: Callable[[Testimony], float], distances: float
) -> Iterator[tuple[Testimony, float, float]]:
    """Give those runs of a cell, if it has enough."""
    values = [of(run) for run in cell]
    for at, run in enumerate(cell if len(cell) >= _FEWEST else ()):
        usual, scatter = typical(values[:at] + values[at + 1 :])
        if abs(values[at] - usual) > distances * scatter:
            yield run, values[at] - usual, usual


@witness("start and end of the record", "uptime of the node")
def uptimes(case: Hearing) -> Iterator[Fault]:
    """Find runs whose time is another than the node's uptime gave when they were recorded."""
    for run in case.runs:
        counted = run.section("accounting").get("elapsed")
        took = float(run.row["elapsed"])
        if isinstance(counted, int | float) and abs(counted - took) > _UPTIME:
            what = f"says {took:.4g} s, its own accounting {counted:.4g} s"
            yield case.of_run(run, what, "correct start and end", key="end")
