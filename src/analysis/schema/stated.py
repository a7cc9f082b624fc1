"""What a record states: its job of Slurm, facts of its node, texts. No model is imported for it in a job."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.base.files import one_line, read_json

# Key of a record that was made from the output of a job that nobody watched: its exit code may not be known.
IMPORTED = "imported"
_LARGEST = 2.0**63  # no fact of a node counts further


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


def began(row: Mapping[str, Any]) -> float:
    """Return the start in a row of the kind ``runs``, s since 1970; NaN if it is not known."""
    start = row["start"]
    return float(start.astype("M8[ms]").astype(int)) / 1000 if start == start else math.nan


def clock_set(record: Mapping[str, Any], row: Mapping[str, Any], *, since: str = "slurm") -> float:
    """Return by how many s a node's clock was set between a note of a record and the start of its run.

    The note is the job's first one (``slurm``) or that of the node's ``facts``. The clock that nobody sets
    has what went by meanwhile; 0 without it.
    """
    noted, spent = section(record, since), section(record, "accounting")
    known = noted.get("clock", noted.get("time")), noted.get("uptime"), spent.get("uptime")
    time, before, after = (float(one) if isinstance(one, int | float) else math.nan for one in known)
    found = (began(row) - time) - (after - before)
    return found if math.isfinite(found) else 0.0


def noted_by_job(record: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a run's job has noted of itself, with the clock as it was set at the start of the run."""
    found = section(record, "slurm")
    clock = found.get("clock")
    return {**found, "clock": clock + clock_set(record, row)} if isinstance(clock, int | float) else found


def source_of(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the file that has an imported run as a part; empty for a whole file."""
    parts = (one for one in imported_files(record) if "lines" in one)
    return str(next(parts, {}).get("sha256", ""))


def imported_files(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what import has noted of each file of a run; empty for a run of our own."""
    files = section(record, IMPORTED).get("files")
    return [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []


def node_facts(path: Path) -> dict[str, Any]:
    """Return the facts of a run's node by name, as its record states them.

    Empty if the record has none or cannot be read, which the ingest names.
    """
    return facts_of(read_json(path))


def facts_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a node by name, as a record states them: texts, numbers, tables."""
    facts = section(record, "facts", "facts")
    values = {name: section(facts, name).get("value") for name in facts}
    known = {name: value for name, value in values.items() if _plain(value)}
    return {name: one_line(value) if isinstance(value, str) else value for name, value in known.items()}


# What Benchbook notes of its own work, and what other columns have.
_NO_FACTS = ("benchbook", "attempt_at", "binding", "facts", "imported", "result", "values")


def further(record: Mapping[str, Any]) -> dict[str, str]:
    """Return what a record states next to the columns of a run, texts by name: node, environment, settings.

    A value within others is called by all keys down to it, like ``environment.OMP_PROC_BIND``.
    """
    rest = {name: value for name, value in record.items() if name not in _NO_FACTS}
    flat = _flat(facts_of(record)) | _flat(section(record, "imported", "facts")) | _flat(rest)
    return {name: one_line(text) for name, text in flat.items() if text}


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{above}{key}.")
        elif isinstance(value, list):
            found[above + key] = " ".join(one for one in value if isinstance(one, str))
        elif value is not None:
            found[above + key] = str(value)
    return found


def count_of(fact: object) -> int:
    """Return a fact of a node as a count, 0 if it is no count."""
    text = str(fact)
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(row, dict) for row in value)
    return isinstance(value, str) or (isinstance(value, (int, float)) and abs(value) < _LARGEST)
