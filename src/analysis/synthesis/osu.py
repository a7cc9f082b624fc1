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
# Where a test begins; sizes double, and after 0 comes 1.
_FIRST = {"osu_latency": 0, "osu_multi_lat": 0, "osu_allreduce": 4}
_SIZES = [0, *(1 << i for i in range(23))]
_SIZE, _VALUE = 10, 18  # widths of the columns
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
    if case in _COLLECTIVES:
        yield ""
    yield f"# {_TITLES[case]} v5.3"
    yield f"{'# Size':<{_SIZE}}{heading:>{_VALUE}}"
    if job.failed:
        return
    random = job.random(_RANDOM)
    for size in _SIZES:
        if size < _FIRST.get(case, 1):
            continue
        # A message takes its latency and the time of its bytes.
        us = entry["latency"] + size / entry["bandwidth"]
        value = size / us if bandwidth else us
        value *= 1 + truth.noise * float(random.standard_normal())
        yield f"{size:<{_SIZE}d}{value:>{_VALUE}.2f}"
