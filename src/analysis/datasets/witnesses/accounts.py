"""Witnesses of Slurm's accounting: a job's state, time, nodes, memory and steps, and what its runs say."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.errors import Fault
from analysis.base.slurm import QUARTER, same_name, usual_zones
from analysis.datasets.witnesses.hearing import Hearing, Testimony, typical, witness
from analysis.schema.stated import clock_set, noted_by_job

# What holds for so many is a rule, from which the rest departs.
_RULE = 0.9
_FEWEST = 4
# No job is shared by so many runs.
_MANY = 100_000
# Slurm counts whole seconds, and starts steps after the job; s.
_TURN = 2.0
_SLACK = 60.0  # s, by which clocks of one cluster differ
_BEGUN = 180.0  # s to the first command of a job, which a disk can hold up
# A job takes longer than its runs and its batch step: by as much as others, and so much; s, median distances.
_OVERHEAD, _FAR = 30.0, 20.0
# Printed digits of memory.
_DIGITS = 1e-3
# Far more memory: so many times that of repeats, half as many times that of profiles, and so many B more.
_TIMES, _ROOM = 4.0, 1e9


@witness("exit code of a run", "state of its job")
def states_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find runs that ended well by their record and not by Slurm's, or the other way.

    A job of several runs fails if any of them does, which then runs again in another job: of a run that ended
    well its own step speaks, not the job.
    """
    steps = _steps_of_runs(case)
    for run in case.runs:
        job = case.jobs.get(run.account) if run.account else None
        if job is None or job["state"] in ("", "RUNNING", "PENDING"):
            continue
        shared = run.account != run.job
        step, state = steps.get(run.name, ("", "COMPLETED")) if shared else ("", job["state"])
        whose = f"its step {step}" if step else f"its job {run.account}"
        if run.ended and state != "COMPLETED":
            what = f"ended well by its record, {whose} is {state}"
            yield case.of_run(run, what, "correct exit_code; the run does not count", key="exit_code")
        elif run.row["exit_code"] > 0 and job["state"] == "COMPLETED" and not run.extra.get("reason"):
            what = f"says exit code {run.row['exit_code']}, its job {run.account} is COMPLETED"
            yield case.of_run(run, what, "correct exit_code, or give a reason", key="exit_code")


def _steps_of_runs(case: Hearing) -> Mapping[str, tuple[str, str]]:
    """Return the step of each run of a shared job, and its state, if the job has as many steps as runs."""
    steps: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for frame in case.accounts.values():
        for job, step, state in zip(frame["job_id"], frame["step"], frame["state"], strict=True):
            if str(step).isdecimal():
                steps[str(job)].append((int(step), str(state)))
    found: dict[str, tuple[str, str]] = {}
    for job, runs in _by_job(case).items():
        told = max(shared_by(run) for run in runs)
        own = sorted({*steps.get(job, ())})
        if len(runs) == told == len(own) > 1:
            pairs = zip(runs, own, strict=True)
            found |= {run.name: (f"{job}.{step}", state) for run, (step, state) in pairs}
    return found


def shared_by(run: Testimony) -> int:
    """Return how many runs shared the job of a run, by its record; 0 if it does not say."""
    told = run.section("slurm").get("runs")
    return told if isinstance(told, int) and told < _MANY else 0


def _by_job(case: Hearing) -> Mapping[str, Sequence[Testimony]]:
    """Return the dated runs of each accounted job: of one that was started again, of its last start."""
    found: dict[str, list[Testimony]] = defaultdict(list)
    for run in case.runs:
        if run.account in case.jobs and run.dated:
            found[run.account].append(run)
    return {job: _of_its_start(case.jobs[job], runs) for job, runs in found.items()}


def _of_its_start(job: Mapping[str, Any], runs: Sequence[Testimony]) -> Sequence[Testimony]:
    """Return the runs of the start that a job's row is of: of the latest if none has noted the row's time.

    A controller that crashed gives a number again and counts its starts from 0; each start noted its time.
    """
    ordered = sorted(runs, key=lambda run: run.row["start"])
    starts = {run.name: (run.restarts, run.section("slurm").get("start")) for run in ordered}
    if len({*starts.values()}) == 1:
        return ordered
    names = {run.name: {**run.section("slurm"), "clock": starts[run.name][1]} for run in ordered}
    own = [run for run in ordered if abs(ahead(job, names[run.name])) <= _BEGUN]
    return [run for run in ordered if starts[run.name] == starts[(own or ordered)[-1].name]]


def ahead(job: Mapping[str, Any], noted: Mapping[str, Any]) -> float:
    """Return by how many s the clock of a job's node was ahead of Slurm's, time zone included.

    NaN if the names that the job has noted of itself do not make sure that the row is its own.
    """
    names = [(str(noted.get(key) or ""), str(job.get(key) or "")) for key in ("job_name", "comment")]
    own, start = noted.get("clock", noted.get("start")), pd.Timestamp(job["start"])
    if not (all(mine and mine == theirs for mine, theirs in names) and isinstance(own, int | float)):
        return math.nan
    return own - float((start.to_datetime64() - np.datetime64(0, "s")) / np.timedelta64(1, "s"))


def wrong_clocks(case: Hearing) -> Mapping[str, float]:
    """Return the jobs whose runs began on a node with a wrong clock: by how many s it was ahead.

    Ahead of Slurm's clock, or without Slurm's times of what it had before somebody set it.
    """
    since = {
        run.account: max((clock_set(run.extra, run.row, since=note) for note in ("slurm", "facts")), key=abs)
        for run in case.runs
        if run.account not in case.jobs
    }
    noted = {job: noted_by_job(runs[0].extra, runs[0].row) for job, runs in _by_job(case).items()}
    known = {job: ahead(case.jobs[job], own) for job, own in noted.items()}
    shifts = {job: shift for job, shift in known.items() if math.isfinite(shift)}
    zones = _zones(_late(case)) if shifts else []
    offs = {job: min((one - QUARTER * zone for zone in zones), key=abs) for job, one in shifts.items()}
    return {job: off for job, off in (offs | since).items() if not -_SLACK <= off <= _BEGUN}


def _late(case: Hearing) -> Mapping[str, float]:
    """Return how many s after its job each run began, by two clocks."""
    second = np.timedelta64(1, "s")
    return {
        run.name: float((run.row["start"] - job["start"].to_datetime64()) / second)
        for name, runs in _by_job(case).items()
        for run in runs
        if not pd.isna((job := case.jobs[name])["start"])
    }


def _zones(late: Mapping[str, float]) -> list[int]:
    return usual_zones(math.floor((seconds + _SLACK) / QUARTER) for seconds in late.values())


def waits(case: Hearing) -> Mapping[str, float]:
    """Return how many s after its job each run began, by the time zone in which most of the jobs are."""
    late = _late(case)
    zones = _zones(late)
    # In a campaign over a change to summer time a run is not early if it is by one of the two.
    return {
        name: seconds - QUARTER * (min(zones) if seconds < QUARTER * zones[0] - _SLACK else zones[0])
        for name, seconds in late.items()
    }


def _of_row(case: Hearing, file: str, label: str, what: str) -> Fault:
    """Name a fault of a row of Slurm's records, by the number of its job or step."""
    return case.beside(file, what, "ask sacct again", text=f"{label}|")


@witness("time from the first to the last run of a job", "time of the job")
def overheads_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find jobs that took 30 s or more longer than their runs, against the rule of the other jobs."""
    by_job = _by_job(case)
    spans, over = {}, {}
    for job, runs in by_job.items():
        whole = max(run.row["end"] for run in runs) - runs[0].row["start"]
        spans[job] = float(whole / np.timedelta64(1, "s"))
        if case.jobs[job]["state"] == "COMPLETED" and any(run.ended for run in runs):
            over[job] = float(case.jobs[job]["elapsed"]) - spans[job]
    middle, scatter = typical(over.values())
    for job, extra in over.items() if len(over) >= _FEWEST else ():
        runs = by_job[job]
        took = f"its job {job} took {extra + spans[job]:.0f} s"
        longer = extra - middle > max(_OVERHEAD, _FAR * scatter, 0.1 * spans[job])
        if longer or (len(runs) > 1 and extra < -_TURN):
            others = f"; other jobs took {middle:.1f} s more than theirs" * longer
            what = f"{_of(runs)} {spans[job]:.4g} s, {took}{others}"
            yield case.of_run(runs[0], what, "correct start and end, or ask sacct again", key="end")


def _of(runs: Sequence[Testimony]) -> str:
    return "says" if len(runs) == 1 else f"and {len(runs) - 1} other runs of its job say"


@witness("time of a job", "its start and end, its batch step")
def times_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find jobs that took longer than from start to end, or 30 s longer than their batch step."""
    for name, frame in case.accounts.items():
        rows = frame.to_dict("records")
        batch = {row["job_id"]: float(row["elapsed"]) for row in rows if row["step"] == "batch"}
        jobs = [row for row in rows if row["step"] == "" and row["state"] == "COMPLETED"]
        late = {
            row["job_id"]: float(row["elapsed"]) - batch[row["job_id"]]
            for row in jobs
            if row["job_id"] in batch
        }
        middle, scatter = typical(late.values())
        for row in jobs:
            job, took = row["job_id"], float(row["elapsed"])
            whole = (row["end"] - row["start"]) / np.timedelta64(1, "s")
            off = late.get(job, middle) - middle
            # A job that was suspended took less than from start to end, and never more.
            if took > whole + _TURN:
                what = f"says {took:.0f} s of job {job}, and {whole:.0f} s from its start to its end"
                yield _of_row(case, name, job, what)
            elif len(late) >= _FEWEST and off > max(_OVERHEAD, _FAR * scatter):
                what = f"says {took:.0f} s of job {job}, and {batch[job]:.0f} s of its batch step"
                what = f"{what}; other jobs took {middle:.1f} s more than theirs"
                yield _of_row(case, name, job, what)


@witness("MaxRSS of a step", "its AveRSS")
def memory_of_steps(case: Hearing) -> Iterator[Fault]:
    """Find steps whose mean memory exceeds the largest, and batch steps, which have one task, of two."""
    for name, frame in case.accounts.items():
        rows = [row for row in frame.to_dict("records") if row["memory_max"] > 0 and row["memory_mean"] > 0]
        batch = [row for row in rows if row["step"] == "batch"]
        other = [row for row in batch if abs(row["memory_mean"] / row["memory_max"] - 1) > _DIGITS]
        rule = len(batch) >= _FEWEST and len(other) <= (1 - _RULE) * len(batch)
        for row in rows:
            more = row["memory_mean"] > row["memory_max"] * (1 + _DIGITS)
            if more or (rule and any(row is one for one in other)):
                label = f"{row['job_id']}.{row['step']}"
                largest, mean = (f"{row[f'memory_{key}'] / 1e6:.4g} MB" for key in ("max", "mean"))
                what = f"says a MaxRSS of {largest} of step {label}, and an AveRSS of {mean}"
                yield _of_row(case, name, label, what)


@witness("MaxRSS of a job", "memory of its profiles and of its node, MaxRSS of its repeats")
def memory_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find jobs that took 1 GB and a multiple more memory than profiles or repeats, or than a node has."""
    peak: dict[str, float] = defaultdict(float)
    for frame in case.accounts.values():
        for row in frame[frame["step"] != ""].to_dict("records"):
            if row["memory_max"] > 0:
                peak[row["job_id"]] = max(peak[row["job_id"]], float(row["memory_max"]))
    by_job = _by_job(case)
    jobs_of = {run.name: job for job, runs in by_job.items() for run in runs if peak[job] > 0}
    known = [run for run in case.ended if run.name in jobs_of]
    named: set[str] = set()
    for cell in case.cells(known):
        peaks = {jobs_of[run.name]: peak[jobs_of[run.name]] for run in cell}
        for run in cell:
            job = jobs_of[run.name]
            others = [value for one, value in peaks.items() if one != job]
            against = next(iter(_less(run, peak[job], others, by_job[job])), "")
            if against and job not in named:
                named.add(job)
                what = f"its job {job} has a MaxRSS of {peak[job] / 1e6:.4g} MB by Slurm, {against}"
                yield case.of_run(run, what, "ask sacct again", key="job_id")


def _less(run: Testimony, peak: float, others: Sequence[float], runs: Sequence[Testimony]) -> Iterator[str]:
    """Give the sides that state far less memory than Slurm does."""
    if len(others) >= _FEWEST - 1 and peak > max(_TIMES * max(others), max(others) + _ROOM):
        yield f"those of its {len(others)} repeats at most {max(others) / 1e6:.4g} MB"
    profiled = [float(one.row["node_memory"]) for one in runs]
    # A job's other runs may have taken more: all of them have to be profiled.
    if all(np.isfinite(profiled)) and peak > _TIMES / 2 * max(profiled) + _ROOM:
        yield f"the ranks of a node {max(profiled) / 1e6:.4g} MB together by its profile"
    total = run.section("facts", "facts", "memory.total")
    if total.get("unit") == "KiB" and isinstance(total.get("value"), int) and peak > 1024 * total["value"]:
        yield f"its node {1024 * total['value'] / 1e6:.4g} MB of memory"


@witness("nodes of a run", "nodes of its job")
def nodes_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find runs on fewer nodes than their job had, where other runs use all of theirs."""
    known = [run for run in case.ended if case.job_of(run) and run.row["nodes"] > 0]
    fewer = [run for run in known if int(case.job_of(run)["nodes"]) > run.row["nodes"]]
    if len(known) < _FEWEST or len(fewer) > (1 - _RULE) * len(known):
        return
    for run in fewer:
        what = f"has {run.row['nodes']} nodes, its job {run.account} had {case.job_of(run)['nodes']}"
        yield case.of_run(run, what, "other runs use all nodes of their job: correct nodes", key="nodes")


@witness("names of a job in a record", "its names in Slurm's records")
def names_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find jobs whose name or comment in Slurm's records is not the one that the job itself has noted."""
    for name, runs in _by_job(case).items():
        noted, job = runs[0].section("slurm"), case.jobs[name]
        for key in ("job_name", "comment"):
            mine, theirs = str(noted.get(key) or ""), str(job.get(key) or "")
            if not same_name(mine, theirs):
                what = f"says {key} {theirs!r} of job {name}, the record of run {runs[0].name} {mine!r}"
                yield _of_row(case, job["file"], name, what)


@witness("clock of a node", "Slurm's times of its jobs", grave=False)
def clocks_of_nodes(case: Hearing) -> Iterator[Fault]:
    """Find nodes whose clock was wrong as a job began, and with it the dates of its runs."""
    first = {run.account: run for run in reversed(case.runs)} | {
        job: runs[0] for job, runs in _by_job(case).items()
    }
    found: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for job, off in wrong_clocks(case).items():
        of = "off Slurm's" if job in case.jobs else "off what it was"
        found[str(first[job].row["node_list"]), of].append((job, off))
    for (nodes, of), jobs in found.items():
        job, off = jobs[0]
        more = f" and {len(jobs) - 1} more jobs" if len(jobs) > 1 else ""
        what = f"the clock of {nodes} was {off:+.0f} s {of} as job {job}{more} began"
        yield case.of_run(first[job], what, "its times count; dates of other files may differ", key="start")


@witness("what a job has counted itself", "rest of its record")
def counts_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find records without the times that each job counts itself, by what is noted since jobs count them."""
    for run in case.ended:
        if not run.section("accounting") and (run.section("slurm") or run.section("traffic")):
            yield case.of_run(run, "has no accounting", "put it back: each job counts its own times")


@witness("question of a run", "comment of its job")
def comments_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find runs whose question is not the comment of their job, where that is so of the others."""
    known = [run for run in case.runs if _comment(case, run) and run.row["question"]]
    other = [run for run in known if _comment(case, run) != run.row["question"]]
    if len(known) >= _FEWEST and len(other) <= (1 - _RULE) * len(known):
        for run in other:
            what = f"says question {run.row['question']!r}, its job {run.account} {_comment(case, run)!r}"
            yield case.of_run(run, what, "is it the record of another run?", key="question")


def _comment(case: Hearing, run: Testimony) -> str:
    return str(case.jobs.get(run.account, {}).get("comment", ""))


@witness("one file of Slurm's records", "another")
def accounts_of_one_job(case: Hearing) -> Iterator[Fault]:
    """Find jobs that two files of Slurm's records describe differently."""
    names = ("state", "elapsed", "nodes", "node_list", "exit_code")
    seen: dict[str, tuple[str, Any]] = {}
    for name, frame in case.accounts.items():
        for row in frame[frame["step"] == ""].drop_duplicates("job_id", keep="last").to_dict("records"):
            first, other = seen.setdefault(row["job_id"], (name, row))
            for key in names if first != name else ():
                one, two = row[key], other[key]
                known = "" not in (one, two) and -1 not in (one, two) and one == one and two == two
                if known and one != two:
                    what = f"says {key} {one} of job {row['job_id']}, {first} says {two}"
                    yield _of_row(case, name, row["job_id"], what)


@witness("a job in Slurm's records", "its steps")
def steps_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find steps outside their job, and CPU time that its CPUs do not have."""
    for name, frame in case.accounts.items():
        jobs = {row["job_id"]: row for row in frame[frame["step"] == ""].to_dict("records")}
        for row in frame.to_dict("records"):
            job = jobs.get(row["job_id"], row)
            label = ".".join(filter(None, (row["job_id"], row["step"])))
            if row["cpus"] > 0 and row["cpu_time"] > 1.1 * row["cpus"] * (row["elapsed"] + _TURN):
                what = (
                    f"{label} used {row['cpu_time']:.0f} s of CPU in {row['elapsed']:.0f} s on {row['cpus']}"
                )
                yield _of_row(case, name, label, f"{what} CPUs")
            early = (job["start"] - row["start"]) / np.timedelta64(1, "s")
            late = (row["end"] - job["end"]) / np.timedelta64(1, "s")
            if max(early, late) > 60 * _TURN:
                what = f"step {label} ran from {row['start']} to {row['end']}, its job to {job['end']}"
                yield _of_row(case, name, label, what)
