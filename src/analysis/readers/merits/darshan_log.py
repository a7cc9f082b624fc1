"""Print of a Darshan log what ``darshan-parser --total --perf`` does, as far as that is read.

Run by itself, as its own process: the library of the package `darshan` aborts on some logs that are damaged.
"""

import resource
import sys
from collections.abc import Iterator
from typing import Any

MODULES = {"POSIX": "POSIX", "MPI-IO": "MPIIO", "STDIO": "STDIO"}  # name -> how its counters begin


def text(path: str) -> Iterator[str]:
    """Give the lines of a log's text, rounded as darshan-parser prints them."""
    from darshan import DarshanReport
    from darshan.backend.cffi_backend import accumulate_records

    report = DarshanReport(path, read_all=False)
    job: dict[str, Any] = report.metadata["job"]
    yield f"# darshan log version: {job['log_ver']}"
    yield f"# exe: {' '.join(str(report.metadata['exe']).split())}"
    yield f"# jobid: {job['jobid']}"
    yield f"# start_time: {job['start_time_sec']}"
    yield f"# end_time: {job['end_time_sec']}"
    yield f"# nprocs: {job['nprocs']}"
    yield f"# run time: {job['run_time']:.4f}"
    yield f"# metadata: lib_ver = {job['metadata'].get('lib_ver', '')}"
    for name, prefix in MODULES.items():
        if name not in report.modules:
            continue
        yield f"# {name} module data"
        if report.modules[name]["partial_flag"]:
            yield f"# *WARNING*: The {name} module contains incomplete data!"
        report.mod_read_all_records(name)
        found = accumulate_records(report.records[name].to_df(), name, job["nprocs"])
        counters = found.summary_record["counters"]
        for what in ("WRITTEN", "READ") if name == "STDIO" else ("READ", "WRITTEN"):
            yield f"total_{prefix}_BYTES_{what}: {int(counters[f'{prefix}_BYTES_{what}'].iloc[0])}"
        yield f"# agg_time_by_slowest: {found.derived_metrics.agg_time_by_slowest:.6f} # seconds"
        yield f"# agg_perf_by_slowest: {found.derived_metrics.agg_perf_by_slowest:.6f} # MiB/s"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # All or nothing: a text that stops half-way would be that of a shorter log.
    sys.stdout.write("".join([f"{line}\n" for line in text(sys.argv[1])]))
