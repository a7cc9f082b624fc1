"""Accounting records as ``sacct --parsable2`` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from analysis.synthesis import power
from analysis.synthesis.plan import Job
from analysis.synthesis.truth import Truth

_COLUMNS = (
    "JobID|JobName|Comment|State|ExitCode|Submit|Start|End|Elapsed|ElapsedRaw|NNodes|NCPUS|NodeList"
    "|MaxRSS|AveRSS|TotalCPU|ConsumedEnergyRaw|AllocTRES"
)


def records(truth: Truth, jobs: Sequence[Job]) -> str:
    """Account every job, with one step each, in whole seconds; energy is blank on nodes without a meter."""
    lines = [_COLUMNS]
    for job in jobs:
        lines += _lines(truth, job)
    if not truth.meters:  # a cluster without meters is not asked for energy
        place = _COLUMNS.split("|").index("ConsumedEnergyRaw")
        lines = ["|".join(cell for i, cell in enumerate(line.split("|")) if i != place) for line in lines]
    return "\n".join(lines) + "\n"


def _lines(truth: Truth, job: Job) -> list[str]:
    factors = job.factors
    start, end = int(job.start), int(job.end)
    elapsed = end - start
    cpu = elapsed * factors["ranks"]
    state, code = ("FAILED", "1:0") if job.failed else ("COMPLETED", "0:0")
    joules = power.energy(truth, job)
    times = [_stamp(start - 1), _stamp(start), _stamp(end), _duration(elapsed), str(elapsed)]
    size = [str(factors["nodes"]), str(factors["ranks"]), _node_list(job.hosts)]
    tres = f"billing={factors['ranks']},cpu={factors['ranks']},node={factors['nodes']}"
    job_line = [str(job.job_id), "job.sh", factors["question"], state, code, *times, *size, "", ""]
    step_line = [f"{job.job_id}.0", factors["application"], "", state, code, *times, *size, "", ""]
    tail = [_duration(cpu), "" if joules is None else str(round(joules)), tres]
    return ["|".join([*job_line, *tail]), "|".join([*step_line, _duration(cpu), "", tres])]


def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def _node_list(hosts: Sequence[str]) -> str:
    if len(hosts) == 1:
        return hosts[0]
    prefix = hosts[0].rstrip("0123456789")
    return f"{prefix}[{hosts[0].removeprefix(prefix)}-{hosts[-1].removeprefix(prefix)}]"
