"""The record that each run leaves, ``run.json``, as a model: what a key may be called and may hold."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints, create_model

from analysis.base.models import Evidence, Model
from analysis.schema.factors import TABLE, Factor

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
    state: str | None = Field(None, description="failed, where only the job is known")
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
