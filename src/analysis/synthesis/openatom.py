"""OpenAtom's standard output after the banner of Charm++."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.synthesis.plan import LAUNCH, Job
from analysis.synthesis.truth import Truth

_STEPS = 25
# Share of the run that its start-up takes, and how much longer the first iterations are.
_STARTUP = 0.08
_FIRST = (1.8, 1.2)


def files(truth: Truth, job: Job) -> dict[str, str]:
    """Write the output of a run by file name; a failed run stops among its iterations."""
    return {"stdout.txt": "\n".join([*_lines(truth, job), ""])}


def _lines(truth: Truth, job: Job) -> Iterator[str]:
    factors = job.factors
    if factors["mpi"] == "ibverbs":
        yield "Charmrun> IBVERBS version of charmrun"
    else:
        yield "Charm++> Running on MPI version: 2.1 multi-thread support: 0 (max supported: 1)"
    yield f"Charm++> Running on {factors['nodes']} unique compute nodes (8-way SMP)."
    yield "=" * 79
    yield "Executing OpenAtom: BINARY - ./OpenAtom"
    yield f"  Cpaimd-Charm-Driver running on {factors['ranks']} processors. "
    seconds = job.seconds - LAUNCH
    yield f"Total time to finish all start up phases {_STARTUP * seconds:g} "
    times = _times(truth, job, (1 - _STARTUP) * seconds)
    if job.failed:
        yield from (f"Iteration time (GSP) : {time:g}" for time in times[:5])
        yield "------------- Processor 0 Exiting: Caught Signal ------------"
        return
    # The last iteration is in the list alone.
    yield from (f"Iteration time (GSP) : {time:g}" for time in times[:-1])
    yield "-" * 79
    yield "Wall Times from within GSP"
    yield ""
    yield from (f"{time:g}" for time in times)
    yield f"Total Wall Time: {sum(times):g}"
    yield "-" * 79


def _times(truth: Truth, job: Job, seconds: float) -> list[float]:
    """Return the times of all iterations in s, which add up to `seconds`."""
    scatter = 1 + truth.noise * job.random("iterations").standard_normal(_STEPS)
    for step, longer in enumerate(_FIRST):
        scatter[step] *= longer
    return [float(time) for time in seconds * scatter / scatter.sum()]
