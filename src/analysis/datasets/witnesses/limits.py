"""Witnesses of what cannot be: numbers that no node or job has, and parts above their whole."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from analysis.base.errors import ConfigError, Fault
from analysis.base.slurm import node_names
from analysis.base.units import GIB
from analysis.datasets.witnesses.hearing import FACTORS, Hearing, Testimony, witness

# What a record counts or measures, of which nothing is below zero; `limits` have -1 for no limit.
_COUNTED = ("accounting", "allocation", "binary", "launcher", "mpi_library", "profiler_library", "traffic")
_SIGNED = {"clock_step", "nice", "priority"}
# Least and most of what a node states: of today's machines, and a decade more on either side.
_PLAUSIBLE = {
    "cpu.CPU(s)": (1, 100_000),
    "cpu.Socket(s)": (1, 1024),
    "cpu.Core(s) per socket": (1, 4096),
    "cpu.Thread(s) per core": (1, 16),
    "cpu.NUMA node(s)": (1, 4096),
    "memory.total": (1 << 16, 1 << 40),  # KiB
    "memory.per_numa_node": (1, 1 << 40),
}
_CLOCK = (50.0, 10_000.0)  # MHz
_LOAD = 1e5
# Clocks that count processor time differ by this much: parts, and s.
_PART, _TURN = 0.05, 2.0
# Repeats keep as many processors busy, to this factor; so many runs show it.
_TIMES, _FEWEST = 2.0, 4
_MOST_MEMORY = 10.0  # times that of every repeat
# s after which a batch system has looked at what a job uses; and it prints whole s of time.
_LOOKED_AT = 120.0


@witness("numbers of a record", "what a machine can have")
def impossible_numbers(case: Hearing) -> Iterator[Fault]:
    """Find records with negative counts, or a load, a clock, processors or memory that no node has."""
    for run in case.runs:
        for name, value, why in (*_of_record(run), *_of_node(_facts(run)), *_of_processors(run)):
            what = f"says {name} {value}, {why}"
            yield case.of_run(run, what, "correct the record", key=name.rpartition("/")[2])


def _of_record(run: Testimony) -> Iterator[tuple[str, object, str]]:
    """Give the numbers of a record that are below what they count."""
    load = float(run.row.get("load_before", math.nan))
    if load < 0 or load > _LOAD:
        yield "load_before", f"{load:g}", "which is no load"
    frequency = float(run.row.get("frequency", math.nan))
    if frequency <= 0 or frequency > _CLOCK[1] / 1000:
        yield "frequency", f"{frequency:g} GHz", "which no processor has"
    for name in (*FACTORS, "repeat", "order"):
        value = run.row.get(name, -1)
        if isinstance(value, int) and (value < -1 or (value == 0 and name != "order")):
            yield name, value, "which is no count"
    if not -64 <= (code := int(run.row["exit_code"])) <= 255:
        yield "exit_code", code, "which is neither a code nor a signal"
    for place in (*_COUNTED, "input_files", "slurm"):
        for key, value in _numbers(run.extra.get(place), place):
            if value < 0 and key.rpartition("/")[2] not in _SIGNED:
                yield key, f"{value:g}", "which is below zero"
    for key, value in _numbers(run.extra.get("limits"), "limits"):
        if value < -1:
            yield key, f"{value:g}", "which is no limit"


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Give the numbers of an object and of those in it, with the names that lead to them."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{place}/{key}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def _facts(run: Testimony) -> Mapping[str, Any]:
    """Return the facts that a node noted, as values by their names."""
    facts = run.section("facts", "facts")
    return {name: fact.get("value") for name, fact in facts.items() if isinstance(fact, Mapping)}


def _of_node(facts: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Give the facts of a node that are out of range, or that contradict each other."""
    known = {name: value for name, value in facts.items() if isinstance(value, int | float)}
    for name, (least, most) in _PLAUSIBLE.items():
        if name in known and not least <= known[name] <= most:
            yield name, f"{known[name]:g}", "which no node has"
    for name, value in known.items():
        if value < 0 and name not in _PLAUSIBLE:
            yield name, f"{value:g}", "which is below zero"
    clock = facts.get("clock.now")
    low, high = (_number(clock, name) for name in ("lowest", "highest"))
    if low < _CLOCK[0] or high > _CLOCK[1] or high < low:
        yield "clock.now", f"{low:g} to {high:g} MHz", "which no processor has"
    memory, part = (known.get(name, math.nan) for name in ("memory.total", "memory.per_numa_node"))
    if part > memory:
        yield "memory.per_numa_node", f"{part:g} KiB", f"of a node with {memory:g} KiB"
    parts = [known.get(f"cpu.{name}") for name in ("Socket(s)", "Core(s) per socket", "Thread(s) per core")]
    cpus = known.get("cpu.CPU(s)")
    # Processors that are off count, so that there can be more of them, but not fewer.
    if cpus and all(parts) and math.prod(one for one in parts if one) > cpus:
        product = " × ".join(f"{one:g}" for one in parts)
        yield "cpu.CPU(s)", f"{cpus:g}", f"and {product} sockets, cores and threads"


def _number(values: object, name: str) -> float:
    found = values.get(name) if isinstance(values, Mapping) else None
    return float(found) if isinstance(found, int | float) else math.nan


def _of_processors(run: Testimony) -> Iterator[tuple[str, object, str]]:
    """Give the processor time of a run's shell if the processors of its node did not have it."""
    counts, cpus = run.section("accounting"), _facts(run).get("cpu.CPU(s)")
    used = sum(_number(counts, name) for name in ("user", "system"))
    took = float(run.row["elapsed"])
    if isinstance(cpus, int) and used > (1 + _PART) * cpus * took + _TURN:
        yield "user", f"{used:.4g} s with system", f"{cpus} processors had {cpus * took:.4g} s"


@witness("TotalCPU of a job", "TotalCPU of its steps, processor time of its runs")
def parts_of_processor_time(case: Hearing) -> Iterator[Fault]:
    """Find jobs with another TotalCPU than their steps together, or with less than their runs noted."""
    for name, frame in case.accounts.items():
        steps: dict[str, list[float]] = defaultdict(list)
        for row in frame[frame["step"] != ""].to_dict("records"):
            steps[str(row["job_id"])].append(float(row["cpu_time"]))
        for row in frame[frame["step"] == ""].to_dict("records"):
            whole, parts = float(row["cpu_time"]), math.fsum(steps[str(row["job_id"])])
            if whole > 0 and parts > 0 and abs(whole - parts) > _PART * max(whole, parts) + _TURN:
                what = (
                    f"says a TotalCPU of {whole:.4g} s of job {row['job_id']}, its steps have {parts:.4g} s"
                )
                yield case.beside(name, what, "ask sacct again", text=f"{row['job_id']}|")
    noted: dict[str, float] = defaultdict(float)
    for run in case.runs:
        counts = run.section("accounting")
        used = sum(_number(counts, name) for name in ("user", "system"))
        noted[run.account] += used if used > 0 else 0.0
    for run in case.runs:
        whole = float(case.jobs.get(run.account, {}).get("cpu_time", math.nan))
        if 0 < whole < (1 - _PART) * noted.pop(run.account, 0.0) - _TURN:
            what = f"its job {run.account} has a TotalCPU of {whole:.4g} s, the shells of its runs noted more"
            yield case.of_run(run, what, "ask sacct again", key="job_id")


@witness("TotalCPU of a job", "that of the jobs of its repeats", grave=False)
def processor_time_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find jobs whose processors were busy for less than half, or twice, of the time that repeats had."""
    for run, busy, others in _apart(case, partial(_busy, case), 1 / _TIMES, _TIMES):
        yield case.of_run(run, _said_busy(run, busy, others, "TotalCPU"), "ask sacct again", key="job_id")


@witness("processor time and memory in the report of a batch system", "those of its repeats", grave=False)
def reports_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find imported jobs with a processor time, or a memory, that the reports of their repeats deny."""
    remedy = "compare with the batch system's own records"
    for run, busy, others in _apart(case, _busy_by_report, 1 / _TIMES, _TIMES):
        yield case.of_run(run, _said_busy(run, busy, others, "batch system"), remedy, key="imported")
    # Batch systems look from time to time, so that jobs have any memory below their own.
    for run, memory, others in _apart(case, partial(_reported, name="memory"), 0.0, _MOST_MEMORY):
        what = f"its job {run.account} had {memory / GIB:.3g} GiB by its batch system, those of its"
        what = f"{what} {len(others)} repeats at most {max(others) / GIB:.3g} GiB"
        yield case.of_run(run, what, remedy, key="imported")


def _apart(
    case: Hearing, amount: Callable[[Testimony], float], least: float, most: float
) -> Iterator[tuple[Testimony, float, list[float]]]:
    """Give jobs whose amount is below all of its repeats, times `least`, or above all of them, times `most`.

    Each with its amount and those of the others, of which there must be enough.
    """
    known = [run for run in case.ended if amount(run) > 0]
    named: set[str] = set()
    for cell in case.cells(known):
        for run in cell:
            others = [amount(other) for other in cell if other.account != run.account]
            own, few = amount(run), len(others) < _FEWEST - 1 or run.account in named
            if not few and not min(others) * least < own < max(others) * most:
                named.add(run.account)
                yield run, own, others


def _said_busy(run: Testimony, busy: float, others: Sequence[float], source: str) -> str:
    what = f"its job {run.account} used {busy:.3g} processors by its {source}, those of its"
    return f"{what} {len(others)} repeats {min(others):.3g} to {max(others):.3g}"


def _busy_by_report(run: Testimony) -> float:
    """Return how many processors a job kept busy by the report of its batch system, NaN if unknown."""
    return _reported(run, "cpu_time") / _reported(run, "walltime")


def _reported(run: Testimony, name: str) -> float:
    """Return a number of the report of a batch system on a job that was long enough for it, else NaN."""
    facts = run.section("imported", "facts")
    return _number(facts, name) if _number(facts, "walltime") >= _LOOKED_AT else math.nan


def _busy(case: Hearing, run: Testimony) -> float:
    """Return how many processors the job of a run kept busy by its TotalCPU, NaN if unknown."""
    job = case.job_of(run)
    return float(job.get("cpu_time", math.nan)) / max(float(job.get("elapsed", math.nan)), 1.0)


@witness("numbers of a job in Slurm's records", "what a job can have")
def impossible_accounts(case: Hearing) -> Iterator[Fault]:
    """Find jobs with fewer processors than nodes, other nodes than they list, or negative numbers."""
    for name, frame in case.accounts.items():
        for row in map(_named, frame.to_dict("records")):
            label = ".".join(filter(None, (str(row["job_id"]), str(row["step"]))))
            for what in _of_row(row):
                yield case.beside(name, f"says {what} of {label}", "ask sacct again", text=f"{label}|")


def _named(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}


def _of_row(row: Mapping[str, Any]) -> Iterator[str]:
    for key in ("elapsed", "cpu_time", "memory_max", "memory_mean", "energy"):
        value = row.get(key, math.nan)
        if isinstance(value, int | float) and value < 0 and value != -1:
            yield f"{key} {value:g}"
    nodes, cpus, hosts = int(row["nodes"]), int(row["cpus"]), list[str]()
    with suppress(ConfigError):  # of a list that sacct has cut off
        hosts = node_names(str(row["node_list"]))
    if 0 <= cpus < nodes:
        yield f"{cpus} processors and {nodes} nodes"
    if row["state"] == "COMPLETED" and hosts and 0 <= nodes != len(hosts):
        yield f"{nodes} nodes and lists {len(hosts)}"
