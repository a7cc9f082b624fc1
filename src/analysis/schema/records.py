"""The record that each run leaves, ``run.json``, as a model: what a key may be called and may hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from analysis.base.models import Evidence, Model

# Key of a record that was made from the output of a job that nobody watched: its exit code may not be known.
IMPORTED = "imported"

Needed = Annotated[str, StringConstraints(min_length=1)]
Factor = Annotated[str | None, Field(description="a factor of the run, empty or null where it has none")]
Count = Annotated[int | None, Field(ge=-(2**31), lt=2**31, description="a whole number, null if unknown")]
Seconds = Annotated[float | None, Field(description="s")]
Moment = Annotated[float | None, Field(ge=0, description="s since 1970, UTC; null if unknown")]
Nodes = Annotated[str | list[str] | None, Field(description="names of nodes, a list or joined by commas")]
Noted = Annotated[Any, Field(description="noted by Benchbook where it has measured the run")]


class RunRecord(Model, extra="allow"):
    """What a run was (its factors) and how it was executed; further keys are kept, and enter no statistic."""

    run: Needed = Field(description="the name of the run's folder")
    campaign: Needed = Field(description="the name of the campaign's folder")
    application: Needed = Field(description="a file of config/applications")
    evidence: Evidence
    question: Factor = Field(None, description="what the run was made for")
    version: Factor = Field(None, description="release of the application; what its output says counts")
    case: Factor = None
    cluster: Factor = None
    cpu: Factor = None
    interconnect: Factor = None
    mpi: Factor = Field(None, description="MPI library with version")
    build: Factor = Field(None, description="compiler flags or build variant")
    dimm: Factor = None
    tuning: Factor = None
    placement: Factor = None
    profiler: Factor = Field(None, description="the profiler that was preloaded, null without one")
    nodes: Count = None
    ranks: Count = None
    ranks_per_node: Count = None
    concurrent_jobs: Count = Field(None, description="jobs that ran at once on the same nodes")
    local_size: Count = Field(None, description="local grid points per axis")
    nx: Count = Field(None, description="the same by another name")
    target_time: Seconds = Field(None, description="run time asked of the application, s")
    target_seconds: Seconds = Field(None, description="the same by another name")
    repeat: Count = None
    order: Count = Field(None, description="position in the order of execution")
    job_id: int | str | None = Field(None, description="Slurm's job")
    node_list: Nodes = None
    nodelist: Nodes = Field(None, description="the same by another name")
    command: str | None = Field(None, description="launch line")
    start: Moment = None
    end: Moment = None
    elapsed: Seconds = Field(None, description="not taken: it comes of start and end")
    exit_code: Count = None
    timing: bool | None = Field(None, description="false if its times may enter no statistic")
    load_before: float | None = Field(None, description="load average before the start")
    reason: str | None = Field(None, description="why the run has failed, empty if it has not")
    attempt_at: str | None = Field(None, description="of a failed attempt, the run that it was to be")
    retracted: bool | None = Field(None, description="true if it counted until Slurm said otherwise")
    imported: Any = Field(
        None, description="of a run that was imported: its files, and where each factor is from"
    )
    threads: Noted = None
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
    binding: Noted = None
    binary: Noted = None
    input_files: Noted = None
    launcher: Noted = None
    library_path: Noted = None
    libraries: Noted = None
    mpi_library: Noted = None
    profiler_library: Noted = None
    limits: Noted = None
    facts: Noted = None
