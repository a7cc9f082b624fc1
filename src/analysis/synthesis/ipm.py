"""IPM 2's XML with full log: one task a rank, totals by function and the hash of all calls.

A real file also has MPI_Init and MPI_Finalize, of 0 s; the reports' tables, from which these come, have not.
"""

from collections import defaultdict
from collections.abc import Iterator

from analysis.synthesis.calls import RankCalls
from analysis.synthesis.plan import LAUNCH, PlannedRun

_GIB = 2**30
_USER = "bench"


def files(run: PlannedRun, ranks: list[RankCalls]) -> dict[str, str]:
    """Write the profile of a run by file name, which IPM makes of user and start."""
    start = run.start + LAUNCH
    seconds, fraction = divmod(round(start * 1e6), 10**6)
    name = f"{_USER}.{seconds}.{fraction}.ipm.xml"
    names = sorted({row.call for rank in ranks for row in rank.rows})
    lines = ['<?xml version="1.0" encoding="iso-8859-1"?>', "<ipm_job_profile>", '<calltable nsections="1" >']
    lines += [f'<section module="MPI" nentries="{len(names)}" >']
    lines += [f'<entry name="{call}" />' for call in names]
    lines += ["</section>", "</calltable>"]
    codes = {call: code for code, call in enumerate(names, 1)}
    for number, rank in enumerate(ranks):
        lines += _task(run, number, rank, ranks, codes, name)
    return {name: "\n".join([*lines, "</ipm_job_profile>", ""])}


def _task(
    run: PlannedRun, number: int, rank: RankCalls, ranks: list[RankCalls], codes: dict[str, int], name: str
) -> Iterator[str]:
    start = run.start + LAUNCH
    final = start + rank.app_time
    factors = run.factors
    mtime = f"{sum(row.time for row in rank.rows):.5e}"
    busy = 0.99 * rank.app_time
    yield (
        f'<task ipm_version="2.0.6" cookie="nocookie" mpi_rank="{number}" mpi_size="{len(ranks)}"'
        f' stamp_init="{start:.6f}" stamp_final="{final:.6f}" username="{_USER}" allocationname="unknown"'
        f' flags="0" pid="{2000 + number}" >'
    )
    yield (
        f'<job nhosts="{factors["nodes"]}" ntasks="{len(ranks)}" start="{int(start)}" final="{int(final)}"'
        f' cookie="nocookie" code="unknown" >{run.job_id}</job>'
    )
    yield f'<host mach_name="x86_64" mach_info="x86_64_Linux" >{rank.host}</host>'
    yield (
        f'<perf wtime="{rank.app_time:.5e}" utime="{busy:.5e}" stime="{0.004 * busy:.5e}" mtime="{mtime}"'
        f' gflop="0.00000e+00" gbyte="{rank.memory / _GIB:.5e}" omp_num_threads="1"></perf>'
    )
    modules = ['<modules nmod="1">', f'<module name="MPI" time="{mtime}" ></module>', "</modules>"]
    yield from modules
    yield '<switch bytes_tx="0.00000e+00" bytes_rx="0.00000e+00" ></switch>'
    program = factors["application"]
    yield f'<cmdline realpath="/opt/{program}" md5sum="{"0" * 32}" >/opt/{program} </cmdline>'
    yield '<regions n="1" >'
    yield (
        f'<region label="ipm_noregion" nexits="1" wtime="{rank.app_time:.5e}" utime="{busy:.5e}"'
        f' stime="{0.004 * busy:.5e}" mtime="{mtime}" id="0">'
    )
    yield from modules
    yield from _functions(rank)
    yield "</region>"
    yield "</regions>"
    yield from _hash(rank, codes)
    yield (
        f'<internal rank="{number}" log_i="{final:.6f}" log_t="{final:.4e}" report_delta="-1.0000e+00"'
        f' fname="./{name}" logrank="{number}" ></internal>'
    )
    yield "</task>"


def _functions(rank: RankCalls) -> Iterator[str]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for row in rank.rows:
        total = sums[row.call]
        total[0] += row.calls
        total[1] += row.calls * row.size
        total[2] += row.time
    for call, (count, size, time) in sums.items():
        yield f'<func name="{call}" count="{count}" bytes="{size:.4e}" > {time:.4e} </func>'


def _hash(rank: RankCalls, codes: dict[str, int]) -> Iterator[str]:
    yield f'<hash nlog="{sum(row.calls for row in rank.rows)}" nkey="{len(rank.rows)}" >'
    for call, size, peer, count, time in rank.rows:
        other = max(peer, 0)
        # The shortest call is often too short for the clock; the longest is some ten times the mean.
        yield (
            f'<hent key="{codes[call]:04X}01{size:018X}{other:08X}" call="{call}" bytes="{size}"'
            f' orank="{other}" region="0" callsite="0" count="{count}" tid="0" >'
            f"{time:.4e} 0.0000e+00 {min(10 * time / count, time):.4e}</hent>"
        )
    yield "</hash>"
