"""What a record says of its job of Slurm; the launcher of a job reads it, so that no model is imported."""

from collections.abc import Mapping
from typing import Any


def section(record: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the object that is under some keys of a record, one below the other; empty without one."""
    for name in names:
        found = record.get(name)
        record = found if isinstance(found, dict) else {}
    return record


def job_of(record: Mapping[str, Any]) -> str:
    """Return the job of Slurm that a record names: ``7``, also for ``7:3``, the third run in job 7."""
    return str(record.get("job_id", "")).partition(":")[0]


def restarts(record: Mapping[str, Any]) -> str:
    """Return how often Slurm had started a record's job again; it keeps its number and gets new times."""
    return str(section(record, "slurm").get("restarts") or "0")
