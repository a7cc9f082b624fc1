"""The same work on many things: in this process, in one for each core, or by workers of Dask on Slurm."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any, TypeVar

from pydantic import Field

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.base.models import Maybe
from analysis.base.yaml import read

Thing = TypeVar("Thing")
Result = TypeVar("Result")
# `slurm`, `local`, or a cluster's name; ``--config dask=`` of the workflow sets it.
VARIABLE = "BENCHBOOK_DASK"
# Starting processes costs a second; below this many things one is faster.
_PARALLEL_FROM = 300
_PROGRESS = 2.0  # s between lines
_CHUNK = 16
# Of a chunk: so many workers may be lost with it, and so much a worker may write to its disk.
_RETRIES = 5
_SPILL = {
    "DASK_DISTRIBUTED__WORKER__MEMORY__MAX_SPILL": "4GiB",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(_RETRIES),
}


class Workers(models.Model):
    """Dask's workers on a cluster: each is a job of Slurm, and is there only while there is work."""

    cores: int = Field(1, ge=1, description="cores of a worker's job, at least 1")
    memory: str = Field("2GB", description="memory of a worker's job, such as 2GB")
    minutes: int = Field(60, ge=1, description="minutes of a worker's job, at least 1")
    most: int = Field(8, ge=1, description="at most so many jobs at once, at least 1")
    least_work: int = Field(_PARALLEL_FROM, ge=1, description="from so many runs or files on, at least 1")
    partition: Maybe[str] = Field(None, description="a partition of Slurm")
    account: Maybe[str] = Field(None, description="an account of Slurm")
    interface: Maybe[str] = Field(None, description="the network of the workers, such as ib0")
    scheduler_interface: Maybe[str] = Field(
        None, description="the network of the scheduler, on this machine; by default that of the workers"
    )
    folder: Maybe[str] = Field(None, description="where a worker may write what its memory does not hold")


def in_parallel(
    work: Callable[[Thing], Result], things: Sequence[Thing], what: str, *, progress: bool
) -> list[Result]:
    """Do the same work on many things; return the results in their order.

    With `progress`, lines on standard error say how many are done: `what` they are called. Processes are
    forked, so that they import nothing anew, and a script needs no main guard. Where `VARIABLE` is set the
    workers are Dask's.
    """
    if (wanted := os.environ.get(VARIABLE, "")) and len(things) >= (workers := _workers(wanted)).least_work:
        return list(_with_progress(_by_dask(work, things, workers, wanted), len(things), what, progress))
    cores = len(os.sched_getaffinity(0))
    if len(things) < _PARALLEL_FROM or cores < 2:
        return list(_with_progress(map(work, things), len(things), what, progress))
    with ProcessPoolExecutor(cores, mp_context=get_context("fork")) as pool:
        results = pool.map(work, things, chunksize=_CHUNK)
        return list(_with_progress(results, len(things), what, progress))


def _with_progress(results: Iterator[Result], total: int, what: str, progress: bool) -> Iterator[Result]:
    began = last = time.monotonic()
    for at, result in enumerate(results, 1):
        yield result
        if progress and time.monotonic() - last > _PROGRESS:
            last = time.monotonic()
            print(f"{what} {at} of {total}, {last - began:.0f} s", file=sys.stderr)


def _workers(wanted: str) -> Workers:
    """Return the part `dask` of a cluster's file; ConfigError if there is none."""
    if wanted in ("slurm", "local"):
        return Workers.model_validate({})
    path = project.root() / "config" / "clusters" / f"{wanted}.yaml"
    document, lines = read(str(path)) if path.is_file() else ({}, {})
    if "dask" not in document:
        raise ConfigError.at(str(path), 0, "has no part `dask`", "add it, or use dask=slurm or dask=local")
    return models.check(Workers, document["dask"], str(path), lines, ("dask",))


def _by_dask(
    work: Callable[[Thing], Result], things: Sequence[Thing], workers: Workers, wanted: str
) -> Iterator[Result]:
    """Send chunks to workers; those of a worker that is lost are done again by another."""
    from distributed import Client  # slow to import

    for name, value in _SPILL.items():
        os.environ.setdefault(name, value)
    chunks = [things[at : at + _CHUNK] for at in range(0, len(things), _CHUNK)]
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(_local(workers) if wanted == "local" else _on_slurm(workers))
        client = stack.enter_context(Client(cluster))
        if find_spec("bokeh"):  # without it Dask has an address and no page there
            print(f"Dask's dashboard: {client.dashboard_link}", file=sys.stderr)
        for future in client.map(partial(_all, work), chunks, retries=_RETRIES, pure=False):
            yield from future.result()


def _all(work: Callable[[Thing], Result], things: Sequence[Thing]) -> list[Result]:
    return [work(thing) for thing in things]


def _local(workers: Workers) -> Any:
    """Start a worker for each core by a command: what is forked or spawned would run the user's script."""
    from distributed.deploy.subprocess import SubprocessCluster

    own = {"nthreads": 1, "memory_limit": workers.memory, "local_directory": workers.folder}
    return SubprocessCluster(
        n_workers=len(os.sched_getaffinity(0)), worker_kwargs=own, dashboard_address="127.0.0.1:0"
    )


def _on_slurm(workers: Workers) -> Any:
    from dask_jobqueue.slurm import SLURMCluster

    network = workers.scheduler_interface or workers.interface
    cluster = SLURMCluster(
        cores=workers.cores,
        processes=workers.cores,  # one thread each: HDF5 has one lock
        memory=workers.memory,
        walltime=f"{workers.minutes // 60:02d}:{workers.minutes % 60:02d}:00",
        queue=workers.partition,
        account=workers.account,
        interface=workers.interface,
        local_directory=workers.folder,
        job_name="benchbook-worker",
        python=sys.executable,
        scheduler_options={"dashboard_address": ":0"} | ({"interface": network} if network else {}),
    )
    cluster.adapt(minimum_jobs=1, maximum_jobs=workers.most)
    return cluster
