"""The same work on many things, in several processes if that is faster."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")
# Starting processes costs a second; below this many things one is faster.
_PARALLEL_FROM = 300
_PROGRESS = 2.0  # s between lines


def in_parallel(
    work: Callable[[Thing], Result], things: Sequence[Thing], what: str, *, progress: bool
) -> list[Result]:
    """Do the same work on many things; return the results in their order.

    With `progress`, lines on standard error say how many are done: `what` they are called. Processes are
    forked, so that they import nothing anew, and a script needs no main guard.
    """
    cores = len(os.sched_getaffinity(0))
    if len(things) < _PARALLEL_FROM or cores < 2:
        return list(_with_progress(map(work, things), len(things), what, progress))
    with ProcessPoolExecutor(cores, mp_context=get_context("fork")) as pool:
        results = pool.map(work, things, chunksize=16)
        return list(_with_progress(results, len(things), what, progress))


def _with_progress(results: Iterator[Result], total: int, what: str, progress: bool) -> Iterator[Result]:
    began = last = time.monotonic()
    for at, result in enumerate(results, 1):
        yield result
        if progress and time.monotonic() - last > _PROGRESS:
            last = time.monotonic()
            print(f"{what} {at} of {total}, {last - began:.0f} s", file=sys.stderr)
