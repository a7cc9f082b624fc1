"""What accounts for a run: logs of power meters, and Slurm's records as ``sacct --parsable2`` prints them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.synthesis.plan import PAUSE, PlannedRun, utc
from analysis.synthesis.truth import Truth

_BLOCK = """\
{host}:     Instantaneous power reading:              {watts:8d} Watts
{host}:     Minimum during sampling period:           {least:8d} Watts
{host}:     Maximum during sampling period:           {most:8d} Watts
{host}:     Average power reading over sample period: {watts:8d} Watts
{host}:     IPMI timestamp:                           {stamp}
{host}:     Sampling period:                          {period:08d} Seconds.
{host}:     Power reading state is:                   activated
{host}:
"""
# Power of an idle node, as a share of that of a busy one.
_IDLE = 0.6
# Readings scatter by this share of the power.
_SCATTER = 0.01


def energy(truth: Truth, run: PlannedRun) -> float | None:
    """Return the energy of a run in J, None without a meter."""
    meter = truth.first(truth.meters, run.factors)
    if meter is None:
        return None
    scatter = 1 + truth.noise * float(run.random("energy").standard_normal())
    return float(meter["watts"]) * len(run.hosts) * run.seconds * scatter


def power_logs(truth: Truth, run: PlannedRun) -> dict[str, str]:
    """Write the log of a run's meters, from a reading before it to one after it; nothing without a meter."""
    meter = truth.first(truth.meters, run.factors)
    if meter is None:
        return {}
    times, watts = _readings(meter, run)
    if meter.get("format") == "ipmitool":
        return {"power.ipmitool.txt": "".join(_blocks(times, watts, run.hosts, meter["interval"]))}
    return {"power.csv": "\n".join([*_table(times, watts, run.hosts), ""])}


def _readings(meter: Mapping[str, Any], run: PlannedRun) -> tuple[np.ndarray, np.ndarray]:
    """Return times (reading) in epoch s and powers (reading, node) in W, NaN where one is missing."""
    random = run.random("power")
    interval = meter["interval"]
    before = min(interval, PAUSE / 2)
    times = np.arange(run.start - before, run.end + before + interval, interval).round()
    busy = (times >= run.start) & (times <= run.end)
    level = np.where(busy, meter["watts"], _IDLE * meter["watts"])[:, np.newaxis]
    watts = level * (1 + _SCATTER * random.standard_normal((times.size, len(run.hosts))))
    lost = random.random(watts.shape) < meter["gaps"]
    return times, np.where(lost, np.nan, watts)


def _table(times: np.ndarray, watts: np.ndarray, hosts: tuple[str, ...]) -> Iterator[str]:
    yield ",".join(["timestamp", *(f"{host} power (W)" for host in hosts)])
    for time, row in zip(times.tolist(), watts.tolist(), strict=True):
        stamp = f"{utc(time):%Y-%m-%dT%H:%M:%SZ}"
        # A reading that differs from itself is none.
        yield ",".join([stamp, *("" if value != value else f"{value:.1f}" for value in row)])


def _blocks(times: np.ndarray, watts: np.ndarray, hosts: tuple[str, ...], period: int) -> Iterator[str]:
    for time, row in zip(times.tolist(), watts.tolist(), strict=True):
        stamp = f"{utc(time):%a %b %d %H:%M:%S %Y}"
        for host, value in zip(hosts, row, strict=True):
            if value == value:
                whole = round(value)
                yield _BLOCK.format(
                    host=host, watts=whole, least=whole - 3, most=whole + 3, stamp=stamp, period=period
                )


_COLUMNS = (
    "JobID|JobName|Comment|State|ExitCode|Submit|Start|End|Elapsed|ElapsedRaw|NNodes|NCPUS|NodeList"
    "|MaxRSS|AveRSS|TotalCPU|ConsumedEnergyRaw|AllocTRES"
)


def slurm_records(truth: Truth, runs: Sequence[PlannedRun]) -> str:
    """Account every run, with one step each, in whole seconds; energy is blank on nodes without a meter."""
    lines = [_COLUMNS, *(line for run in runs for line in _lines(truth, run))]
    if not truth.meters:  # a cluster without meters is not asked for energy
        place = _COLUMNS.split("|").index("ConsumedEnergyRaw")
        lines = ["|".join(cell for i, cell in enumerate(line.split("|")) if i != place) for line in lines]
    return "\n".join(lines) + "\n"


def _lines(truth: Truth, run: PlannedRun) -> list[str]:
    factors = run.factors
    start, end = int(run.start), int(run.end)
    elapsed = end - start
    cpu = elapsed * factors["ranks"]
    state, code = ("FAILED", "1:0") if run.failed else ("COMPLETED", "0:0")
    joules = energy(truth, run)
    stamps = [f"{utc(at):%Y-%m-%dT%H:%M:%S}" for at in (start - 1, start, end)]
    times = [*stamps, _duration(elapsed), str(elapsed)]
    size = [str(factors["nodes"]), str(factors["ranks"]), _node_list(run.hosts)]
    tres = f"billing={factors['ranks']},cpu={factors['ranks']},node={factors['nodes']}"
    job_line = [str(run.job_id), "job.sh", factors["question"], state, code, *times, *size, "", ""]
    step_line = [f"{run.job_id}.0", factors["application"], "", state, code, *times, *size, "", ""]
    tail = [_duration(cpu), "" if joules is None else str(round(joules)), tres]
    return ["|".join([*job_line, *tail]), "|".join([*step_line, _duration(cpu), "", tres])]


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def _node_list(hosts: Sequence[str]) -> str:
    if len(hosts) == 1:
        return hosts[0]
    prefix = hosts[0].rstrip("0123456789")
    return f"{prefix}[{hosts[0].removeprefix(prefix)}-{hosts[-1].removeprefix(prefix)}]"
