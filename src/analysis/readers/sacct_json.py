"""The jobs of ``sacct --json``, in the shapes of Slurm 22.05 (openapi/dbv0.0.38) and its data parsers since.

Later versions wrap numbers as ``{"set": true, "infinite": false, "number": 6}`` and states in a list.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from analysis.errors import ReadError
from analysis.readers.base import Faults

# Amounts of these are printed in MiB with the suffix M in AllocTRES.
_MEBIBYTES = {"mem", "vmem"}
_LAST_SECOND = 4_102_444_800  # the year 2100: anything later is a code, not a time
# Step ids from here on are Slurm's codes (no step, batch script, extern), never a numbered step.
RESERVED_STEP = 0xFFFFFFF0


def records(text: str, faults: Faults) -> tuple[list[dict[str, Any]], str]:
    """Read the jobs and steps.

    Parameters
    ----------
    text : str
    faults : Faults
        Gets what is wrong; of a cut file the whole jobs are kept.

    Returns
    -------
    records : list of dict
        Values by the variable names of the kind ``sacct``; what a job does not say is absent.
    version : str
        Slurm's release, empty where the file does not say.

    Raises
    ------
    ReadError
        If there is no list of jobs.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        jobs, version = _salvage(text, faults, error), ""
    else:
        jobs, version = document.get("jobs"), _version(document)
    if not isinstance(jobs, list):
        raise ReadError.at(faults.source, 0, "'jobs' is not a list", "give the output of sacct --json")
    out = []
    for job in jobs:
        if isinstance(job, dict):
            out += _job(job)
        else:
            faults.damage(0, f"a job is {str(job)[:40]!r}, not an object", "left out")
    for record in out:
        _check_exit(record, faults)
    return out, version


def _check_exit(record: dict[str, Any], faults: Faults) -> None:
    """Blank the exit code of a job that failed without one: 22.05 writes 0 where the table has 5:0."""
    if record["state"] == "FAILED" and record["exit_code"] == 0 and not record["exit_signal"] > 0:
        record["exit_code"] = -1
        name = ".".join(part for part in (record["job_id"], record.get("step", "")) if part)
        remedy = "exit code left blank; sacct --parsable2 may know it"
        faults.note(0, f"job {name} is FAILED with return code 0", remedy)


def _version(document: dict[str, Any]) -> str:
    for key in ("Slurm", "slurm"):
        release = _get(document, "meta", key, "release")
        if isinstance(release, str):
            return release
    return ""


def _salvage(text: str, faults: Faults, error: Exception) -> list[Any]:
    """Read the jobs that stand whole before the fault."""
    start = re.search(r'"jobs"\s*:\s*\[', text)
    jobs: list[Any] = []
    position = start.end() if start else len(text)
    decoder = json.JSONDecoder()
    while True:
        skip = re.compile(r"[\s,]*").match(text, position)
        position = skip.end() if skip else position
        try:
            job, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        jobs.append(job)
    line = text.count("\n", 0, getattr(error, "pos", position)) + 1
    faults.damage(
        line, f"broken JSON ({getattr(error, 'msg', error)})", f"kept the {len(jobs)} whole jobs before it"
    )
    return jobs


def _get(value: Any, *path: str) -> Any:
    """Follow keys; None where one is missing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _number(value: Any) -> float:
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    # NO_VAL64 and its like stand for "not known".
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2.0**63
    return float(value) if usable else math.nan


def _integer(value: Any) -> int:
    number = _number(value)
    return int(number) if 0 <= number < 2**31 else -1


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _state(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("current")
    if isinstance(value, list):
        value = value[0] if value else ""
    return (_text(value).split() or [""])[0]


def _time(value: Any) -> np.datetime64:
    seconds = _number(value)
    # Slurm writes 0 for what has not happened yet.
    known = 0 < seconds < _LAST_SECOND
    return np.datetime64(int(seconds), "s").astype("datetime64[ns]") if known else np.datetime64("NaT", "ns")


def _seconds(value: Any) -> float:
    return _number(_get(value, "seconds")) + _number(_get(value, "microseconds")) / 1e6


def _exit(value: Any) -> tuple[int, int]:
    if not isinstance(value, dict):
        return -1, -1
    signal = value.get("signal")
    if isinstance(signal, dict):
        number = _integer(signal.get("id", signal.get("signal_id")))
        return _integer(value.get("return_code")), max(number, 0)
    return _integer(value.get("return_code")), 0


def _amount(tres: Any, kind: str) -> float:
    for entry in tres if isinstance(tres, list) else []:
        if isinstance(entry, dict) and entry.get("type") == kind:
            return _number(entry.get("count"))
    return math.nan


def _resources(tres: Any) -> str:
    """Print a list of resources as sacct's AllocTRES does: by name, memory in M."""
    parts = []
    for entry in tres if isinstance(tres, list) else []:
        count = _number(_get(entry, "count"))
        if not math.isnan(count):
            name = "/".join(part for part in (_text(_get(entry, "type")), _text(_get(entry, "name"))) if part)
            parts.append(f"{name}={count:.0f}{'M' if name in _MEBIBYTES else ''}")
    return ",".join(sorted(parts))


def _common(record: dict[str, Any], tres: Any) -> dict[str, Any]:
    """Read what jobs and steps share."""
    code, signal = _exit(record.get("exit_code"))
    cpus = _amount(tres, "cpu")
    return {
        "state": _state(record.get("state")),
        "exit_code": code,
        "exit_signal": signal,
        "start": _time(_get(record, "time", "start")),
        "end": _time(_get(record, "time", "end")),
        "elapsed": _number(_get(record, "time", "elapsed")),
        "cpus": -1 if math.isnan(cpus) else _integer(cpus),
        "cpu_time": _seconds(_get(record, "time", "total")),
        "resources": _resources(tres),
    }


def _job_id(job: dict[str, Any]) -> str:
    array, task = _integer(_get(job, "array", "job_id")), _integer(_get(job, "array", "task_id"))
    het, offset = _integer(_get(job, "het", "job_id")), _integer(_get(job, "het", "job_offset"))
    if array > 0 and task >= 0:
        return f"{array}_{task}"
    if het > 0 and offset >= 0:
        return f"{het}+{offset}"
    number = _integer(job.get("job_id"))
    return "" if number < 0 else str(number)


def _job(job: dict[str, Any]) -> list[dict[str, Any]]:
    name = _job_id(job)
    record = _common(job, _get(job, "tres", "allocated"))
    comment = job.get("comment")
    record |= {
        "job_id": name,
        "job_name": _text(job.get("name")),
        "submit": _time(_get(job, "time", "submission")),
        "nodes": _integer(job.get("allocation_nodes")),
        "node_list": _text(job.get("nodes")),
        "comment": _text(comment) or _text(_get(comment, "job")),
    }
    listed = job.get("steps")
    steps = (
        [_step(step, name) for step in listed if isinstance(step, dict)] if isinstance(listed, list) else []
    )
    # 22.05 writes 0 for the job; sacct's own table sums the steps.
    if steps and not record["cpu_time"] > 0:
        record["cpu_time"] = math.fsum(step["cpu_time"] for step in steps)
    return [record, *steps]


def _step(step: dict[str, Any], job: str) -> dict[str, Any]:
    identity = _get(step, "step", "id")
    if isinstance(identity, dict):
        identity = identity.get("step_id")
    label = "" if identity is None else str(identity).rpartition(".")[2]
    if label.isdecimal() and int(label) >= RESERVED_STEP:
        label = ""
    used = _get(step, "tres", "requested")
    start = _time(_get(step, "time", "start"))
    return _common(step, _get(step, "tres", "allocated")) | {
        "job_id": job,
        "step": label,
        "job_name": _text(_get(step, "step", "name")),
        "submit": start,  # sacct prints the start of a step as its submission
        "nodes": _integer(_get(step, "nodes", "count")),
        "node_list": _text(_get(step, "nodes", "range")),
        "memory_max": _amount(_get(used, "max"), "mem"),
        "memory_mean": _amount(_get(used, "average"), "mem"),
        "energy": _number(_get(step, "statistics", "energy", "consumed")),
    }
