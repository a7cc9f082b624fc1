"""The record that each run leaves, ``run.json``, as a model: what a key may be called and may hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, create_model

from analysis.base.files import one_line, read_json
from analysis.base.models import Evidence, Model
from analysis.schema.factors import TABLE, Factor
from analysis.schema.jobs import section

# Key of a record that was made from the output of a job that nobody watched: its exit code may not be known.
IMPORTED = "imported"
_LARGEST = 2.0**63  # no fact of a node counts further

Needed = Annotated[str, StringConstraints(min_length=1)]
Text = Annotated[str | None, Field(description="a factor of the run, empty or null where it has none")]
Count = Annotated[int | None, Field(ge=-(2**31), lt=2**31, description="a whole number, null if unknown")]
Number = Annotated[float | None, Field(description="a number, null if unknown")]
Seconds = Annotated[float | None, Field(description="s")]
Moment = Annotated[float | None, Field(ge=0, description="s since 1970, UTC; null if unknown")]
Nodes = Annotated[str | list[str] | None, Field(description="names of nodes, a list or joined by commas")]
Noted = Annotated[Any, Field(description="noted by Benchbook where it has measured the run")]


class _Record(Model, extra="allow"):
    """What a run was (its factors) and how it was executed; further keys are kept, and enter no statistic."""

    run: Needed = Field(description="the name of the run's folder")
    campaign: Needed = Field(description="the name of the campaign's folder")
    application: Needed = Field(description="a file of config/applications")
    evidence: Evidence
    question: Text = Field(None, description="what the run was made for")
    repeat: Count = None
    order: Count = Field(None, description="position in the order of execution")
    job_id: int | str | None = Field(None, description="Slurm's job")
    node_list: Nodes = None
    nodelist: Nodes = Field(None, description="the same by another name")
    command: str | None = Field(None, description="launch line")
    start: Moment = None
    end: Moment = None
    elapsed: Seconds = Field(None, description="ignored: computed from start and end")
    exit_code: Count = None
    timing: bool | None = Field(None, description="false if its times must not be used")
    load_before: float | None = Field(None, description="load average before the start")
    reason: str | None = Field(None, description="why the run failed, empty if it did not")
    attempt_at: str | None = Field(None, description="of a failed attempt, the run that it attempted")
    retracted: bool | None = Field(None, description="true if Slurm's records contradict an earlier success")
    imported: Any = Field(None, description="of an imported run: its files, and the origin of each factor")
    job_of_run: Noted = None
    started_by: Noted = None
    values: Noted = None
    result: Noted = None
    profile: Noted = None
    preload: Noted = None
    program: Noted = None
    inputs: Noted = None
    forwarded: Noted = None
    benchbook: Noted = None
    environment: Noted = None
    modules: Noted = None
    files: Noted = None
    allocation: Noted = None
    slurm: Noted = None
    accounting: Noted = None
    binding: Noted = None
    binary: Noted = None
    input_files: Noted = None
    launcher: Noted = None
    library_path: Noted = None
    libraries: Noted = None
    mpi_library: Noted = None
    profiler_library: Noted = None
    limits: Noted = None
    traffic: Noted = None
    outputs: Noted = None
    facts: Noted = None


def _of(factor: Factor) -> dict[str, Any]:
    """Return the fields of a factor's own name and of its other names."""
    kind: Any = {"str": Text, "i4": Count, "f8": Number}[factor.dtype]
    unit = f", {factor.unit}" if factor.unit not in ("", "1") else ""
    field = (kind, Field(None, description=f"{factor.meaning}{unit}"))
    alias = (kind, Field(None, description=f"another name of {factor.name}"))
    return {factor.name: field, **dict.fromkeys(factor.aliases, alias)}


# The record with a field for each row of the table of factors.
RunRecord: type[_Record] = create_model(
    "RunRecord",
    __base__=_Record,
    __doc__=_Record.__doc__,
    **{name: field for one in TABLE if one.name != "application" for name, field in _of(one).items()},
)


def source_of(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the file that has an imported run as a part; empty for a whole file."""
    files = section(record, IMPORTED).get("files")
    parts = (
        [one for one in files if isinstance(one, dict) and "lines" in one] if isinstance(files, list) else []
    )
    return str(parts[0].get("sha256", "")) if parts else ""


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
