"""Tables of the OSU micro-benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.synthesis.plan import Job
from analysis.synthesis.truth import Truth

_TITLES = {
    "osu_latency": "OSU MPI Latency Test",
    "osu_multi_lat": "OSU MPI Multi Latency Test",
    "osu_bw": "OSU MPI Bandwidth Test",
    "osu_allreduce": "OSU MPI Allreduce Latency Test",
    "osu_bcast": "OSU MPI Broadcast Latency Test",
}
_COLLECTIVES = ("osu_allreduce", "osu_bcast")
_SIZES = [1 << i for i in range(23)]
_RANDOM = "table"


def files(truth: Truth, job: Job) -> dict[str, str]:
    """Write the table of a run by file name; a failed run ends after its heading."""
    entry = truth.first(truth.micro, job.factors)
    if entry is None:
        found = f"no micro entry for {job.factors['case']} on {job.factors['interconnect']}"
        raise truth.error(found, "add it")
    return {"stdout.txt": "\n".join([*_lines(truth, job, entry), ""])}


def _lines(truth: Truth, job: Job, entry: Mapping[str, Any]) -> Iterator[str]:
    case = job.factors["case"]
    bandwidth = case == "osu_bw"
    heading = "Bandwidth (MB/s)" if bandwidth else "Latency (us)"
    heading = "Avg Latency(us)" if case in _COLLECTIVES else heading
    yield f"# {_TITLES[case]} v5.3"
    yield f"# Size{heading:>20}"
    if job.failed:
        return
    random = job.random(_RANDOM)
    for size in _SIZES:
        if case == "osu_allreduce" and size < 4:
            continue
        # A message takes its latency and the time of its bytes.
        us = entry["latency"] + size / entry["bandwidth"]
        value = size / us if bandwidth else us
        value *= 1 + truth.noise * float(random.standard_normal())
        yield f"{size:<8d}{value:>18.2f}"
