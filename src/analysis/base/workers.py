"""The same work on many things by workers of Dask: jobs of Slurm, or processes of this machine."""

import asyncio
import contextlib
import logging
import os
import re
import shutil
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from analysis.base import models, project, slurm
from analysis.base.errors import ConfigError
from analysis.base.models import Maybe
from analysis.base.yaml import read

Thing = TypeVar("Thing")
Result = TypeVar("Result")
# Starting processes costs a second; below this many things one is faster.
PARALLEL_FROM = 300
CHUNK = 16
NAME = "benchbook-worker"
# With a chunk so many workers may be lost; and so many jobs may end before a worker has come.
_RETRIES = 5
# A worker may write so much to its disk; it ends so long after the process that gives it work, in s.
_SPILL, _DEATH = "4GiB", 30
# A node that loses its power says no goodbye: it is given up when nothing was heard of it for so long.
_SETTINGS = {"distributed.scheduler.allowed-failures": _RETRIES, "distributed.scheduler.worker-ttl": "60s"}
_LOOK, _SELDOM = 3.0, 60.0  # s without a result, before the jobs are looked at
_PATIENT = 10.0  # s before a line says what is waited for
_PATIENCE = 900.0  # s without an answer of Slurm
# Why a job is pending that nothing but another request would start.
_NEVER = {"PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints", "InvalidAccount", "InvalidQOS"}
_OVER = ("COMPLETED", "", "")
# A node is left out after so many workers were lost on it, or the first time if a disk of it is full.
_LOSSES = 2
_FULL = "No space left on device"
# What so many nodes do in turn is no fault of theirs, unless their disks are full.
_SAME = 4
# Ends of a job that say nothing of its node.
_NOT_ITS_NODE = {"TIMEOUT", "DEADLINE", "PREEMPTED", "CANCELLED", "OUT_OF_MEMORY"}
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception): ")
_PLAIN = ("slurm", "local")  # the workers of no cluster's file
_NOISE = ("distributed", "tornado", "asyncio")


class Workers(models.Model):
    """Dask's workers on a cluster: each is a job of Slurm, and is there only while there is work."""

    cores: int = Field(1, ge=1, description="cores of a worker's job, at least 1")
    memory: str = Field("2GB", description="memory of a worker's job, such as 2GB")
    minutes: int = Field(60, ge=1, description="minutes of a worker's job, at least 1")
    most: int = Field(8, ge=1, description="at most so many jobs at once, at least 1")
    least_work: int = Field(
        PARALLEL_FROM, ge=1, description="from so many runs, files, comparisons or claims on, at least 1"
    )
    partition: Maybe[str] = Field(None, description="a partition of Slurm")
    account: Maybe[str] = Field(None, description="an account of Slurm")
    interface: Maybe[str] = Field(None, description="the network of the workers, such as ib0")
    scheduler_interface: Maybe[str] = Field(
        None, description="the network of the scheduler, on this machine; by default that of the workers"
    )
    folder: Maybe[str] = Field(None, description="where a worker may write what its memory does not hold")


def declared(wanted: str) -> Workers:
    """Return the workers of `wanted`, see `processes.VARIABLE`; ConfigError if a cluster has none."""
    if wanted in _PLAIN:
        return Workers.model_validate({})
    path = _file(wanted)
    document, lines = read(path) if Path(path).is_file() else ({}, {})
    if "dask" not in document:
        raise ConfigError.at(path, 0, "has no part `dask`", "add it, or use dask=slurm or dask=local")
    return models.check(Workers, document["dask"], path, lines, ("dask",))


def _file(wanted: str) -> str:
    """Return the file that describes the workers, or what stands for it."""
    if wanted in _PLAIN:
        return f"dask={wanted}"
    return str(project.root() / "config" / "clusters" / f"{wanted}.yaml")


def by_dask(
    work: Callable[[Thing], Result], things: Sequence[Thing], workers: Workers, wanted: str
) -> Iterator[Result]:
    """Send chunks to workers; those of a worker that is lost are done again by another.

    `work` itself is sent once: it may hold a campaign. ConfigError if no worker starts, or a chunk is lost
    with each.
    """
    from distributed import KilledWorker  # slow to import

    size = max(1, min(CHUNK, len(things) // (4 * workers.most)))
    chunks = [things[at : at + size] for at in range(0, len(things), size)]
    with kept():
        client, jobs = _SESSIONS[-1].connect(wanted, workers)
        shared = client.submit(_itself, work, pure=False)
        futures = client.map(_all, chunks, work=shared, retries=_RETRIES, pure=False)
        try:
            while futures:
                yield from jobs.result(futures[0]) if jobs else futures[0].result()
                del futures[0]  # the workers and the scheduler need not keep it
        except KilledWorker as error:
            found = f"{1 + _RETRIES} workers were lost with the same work: {_line(str(error))}"
            raise _unusable(wanted, found) from error


class _Session:
    """Workers that are started when the first work comes, and end with the stack."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._started: dict[str, tuple[Any, _Jobs | None]] = {}

    def connect(self, wanted: str, workers: Workers) -> "tuple[Any, _Jobs | None]":
        """Return a client of the workers, and the jobs that they are."""
        if wanted not in self._started:
            self._started[wanted] = self._start(wanted, workers)
        return self._started[wanted]

    def _start(self, wanted: str, workers: Workers) -> "tuple[Any, _Jobs | None]":
        import dask.config
        from distributed import Client

        os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MEMORY__MAX_SPILL", _SPILL)
        self._stack.enter_context(dask.config.set(_SETTINGS))
        self._stack.enter_context(_quiet())
        try:
            cluster = _local(workers) if wanted == "local" else _on_slurm(workers)
        except (RuntimeError, ValueError, OSError) as error:
            raise _unusable(wanted, f"Dask does not start: {_line(str(error))}") from error
        self._stack.enter_context(cluster)
        client = self._stack.enter_context(Client(cluster))
        if find_spec("bokeh"):  # without it Dask has an address and no page there
            print(f"Dask's dashboard: {client.dashboard_link}", file=sys.stderr)
        return client, None if wanted == "local" else _Jobs(cluster, wanted)


_SESSIONS: list[_Session] = []


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Let all work in the block go to the same workers, if it goes to any: their start takes seconds."""
    if _SESSIONS:
        yield
        return
    with contextlib.ExitStack() as stack:
        _SESSIONS.append(_Session(stack))
        try:
            yield
        finally:
            _SESSIONS.clear()


def _itself(work: Thing) -> Thing:
    return work


def _all(things: Sequence[Thing], work: Callable[[Thing], Result]) -> list[Result]:
    return [work(thing) for thing in things]


class _Nodes:
    """The nodes on which workers are lost: Slurm gives them again unless the next job leaves them out."""

    def __init__(self, left_out: list[str]) -> None:
        self._left_out = left_out  # of jobs that are yet to be submitted
        self._losses: Counter[str] = Counter()
        self._counted: set[str] = set()
        self.why = ""  # the last node was left out

    def lost(self, job: Any, node: str, *, again: bool) -> bool:
        """Count a lost worker, each of a job if `again`; tell whether its node is left out now."""
        if not node or node in self._left_out or (not again and job.job_id in self._counted):
            return False
        self._counted.add(job.job_id)
        self._losses[node] += 1
        why = _why(job)
        if _FULL not in why and self._losses[node] < _LOSSES:
            return False
        self.why = why
        self._left_out.append(node)
        print(f"node {node} gets no more workers of Dask: {why}", file=sys.stderr)
        return True

    @property
    def own_fault(self) -> bool:
        """Tell whether what the last node did is a fault of its own, so that others are worth a try."""
        return _FULL in self.why or len(self._left_out) < _SAME


class _Jobs:
    """The jobs of the workers. Those that bring none are given up, so that Dask asks for others.

    Dask itself waits without end for a job that Slurm has refused, that cannot start, or that has ended
    before its worker came.
    """

    def __init__(self, cluster: Any, wanted: str) -> None:
        self._cluster, self._wanted = cluster, wanted
        self._failed, self._silent, self._waited = 0, 0.0, 0.0
        self._looked, self._pause = time.monotonic(), _LOOK
        self._nodes = _Nodes(cluster.left_out)

    def result(self, future: Any) -> Any:
        """Wait for a result; meanwhile look at the jobs, less and less often if nothing is wrong."""
        while True:
            with contextlib.suppress(TimeoutError):
                found = future.result(timeout=_LOOK)
                self._failed = 0
                return found
            if future.done():  # what timed out is the work
                return future.result()
            if self._cluster.lost or time.monotonic() - self._looked >= self._pause:
                self._pause = _LOOK if self.look() else min(1.5 * self._pause, _SELDOM)
                self._looked = time.monotonic()

    def look(self) -> bool:
        """Give up what does not come; tell whether there was any. ConfigError if nothing comes any more."""
        there = set(map(str, self._cluster.observed))
        there |= {name.rpartition("-")[0] for name in there}  # of several processes in a job
        absent = {name: job for name, job in [*self._cluster.workers.items()] if str(name) not in there}
        try:
            states = _states()
        except slurm.NoAnswerError as error:
            self._unanswered(_line(str(error)), waiting=bool(there))
            return True
        self._silent = 0.0
        found = {job.job_id: states.get(job.job_id, ("", "", "")) for job in absent.values()}
        pending = {job: reason for job, (state, reason, _) in found.items() if state == "PENDING"}
        for job, reason in pending.items():
            if reason in _NEVER:
                raise _unusable(self._wanted, f"job {job} of Dask never starts: Slurm says {reason}")
        # A job that Slurm has forgotten has ended.
        over = {name: job for name, job in absent.items() if slurm.terminal(states.get(job.job_id, _OVER)[0])}
        for name in over:
            self._cluster.loop.add_callback(self._forget, name, over[name])
        fewer = self._leave_out(states, over)
        self._cluster.loop.add_callback(self._cluster._correct_state)  # asks again for one that was lost
        self._failed = 0 if there or fewer else self._failed + bool(over)
        if self._failed > _RETRIES:
            why = self._nodes.why or _why(next(iter(over.values())))
            raise _unusable(self._wanted, f"no worker of Dask starts: {why}")
        if not there and pending:
            self._wait(pending)
        return bool(over)

    def _leave_out(self, states: Mapping[str, tuple[str, str, str]], over: Mapping[Any, Any]) -> bool:
        """Leave out nodes that lose workers, and end the jobs there; tell whether others may do better."""
        lost = [self._cluster.lost.pop(0) for _ in range(len(self._cluster.lost))]
        found = False
        for name, job, again in [*((*one, True) for one in lost), *((*one, False) for one in over.items())]:
            state, _, node = states.get(job.job_id, _OVER)
            if state.partition(" ")[0] not in _NOT_ITS_NODE and self._nodes.lost(job, node, again=again):
                found = self._nodes.own_fault
                self._cluster.loop.add_callback(self._forget, name, job)  # Dask restarts workers in a job
        return found

    def _wait(self, pending: Mapping[str, str]) -> None:
        """Say once what is waited for."""
        if not self._waited:
            self._waited = time.monotonic()
        elif self._waited < time.monotonic() - _PATIENT:
            job, reason = next(iter(pending.items()))
            print(f"waiting for Slurm to start workers: job {job} ({reason})", file=sys.stderr)
            self._waited = float("inf")

    def _unanswered(self, why: str, *, waiting: bool) -> None:
        if not self._silent:
            self._silent = time.monotonic()
            print(f"Slurm does not answer ({why}); waiting for it", file=sys.stderr)
        if not waiting and time.monotonic() - self._silent > _PATIENCE:
            raise _unusable(self._wanted, f"Slurm did not answer for {_PATIENCE:g} s: {why}")

    def _forget(self, name: Any, job: Any) -> None:
        """Take a job out of Dask's books, in Dask's own thread, unless another has its name by now."""
        if self._cluster.workers.get(name) is not job:
            return
        self._cluster.worker_spec.pop(name, None)
        del self._cluster.workers[name]
        self._cluster._futures.add(asyncio.ensure_future(job.close()))


def _states() -> dict[str, tuple[str, str, str]]:
    """Ask for the states of all workers' jobs in one question: job -> state, why it is so, its node."""
    command = ["squeue", "--noheader", "--states=all", f"--name={NAME}", "--format=%A|%T|%r|%N"]
    rows = (line.strip().split("|") for line in slurm.ask(command).splitlines())
    return {job: (state, reason, node) for job, state, reason, node in (row for row in rows if len(row) == 4)}


def _why(job: Any) -> str:
    """Say why a job brought no worker: by sbatch, by the job's own output, or by Slurm's word."""
    if not job.job_id:
        return _line(job.refused)
    logs = sorted(Path(job.log_directory).glob(f"{NAME}-{job.job_id}*.err"))
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)
    said = _line("\n".join(line for line in text.splitlines() if _FULL in line) or text)
    return f"job {job.job_id}: {said or slurm.ended(job.job_id) or 'it has ended'}"


def _line(text: str) -> str:
    """Return the line of a text that says most: of the first exception, or else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(filter(_EXCEPTION.match, lines), lines[-1] if lines else "")


def _unusable(wanted: str, found: str) -> Exception:
    remedy = "correct its part `dask`" if wanted not in _PLAIN else "describe workers in a cluster"
    line = 0 if wanted in _PLAIN else project.line_of(_file(wanted), ("dask",))
    return ConfigError.at(_file(wanted), line, found, f"{remedy}, or work without; nothing was written")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what Dask says of workers that are lost: their work is done again, or an error names it."""
    loggers = [logging.getLogger(name) for name in _NOISE]
    before = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)


def _local(workers: Workers) -> Any:
    """Start a worker for each core by a command: what is forked or spawned would run the user's script."""
    from distributed.deploy.subprocess import SubprocessCluster

    own = {"nthreads": 1, "memory_limit": workers.memory, "local_directory": workers.folder}
    return SubprocessCluster(
        n_workers=len(os.sched_getaffinity(0)), worker_kwargs=own, dashboard_address="127.0.0.1:0"
    )


def _cluster_class() -> Any:
    """Return Dask's cluster on Slurm, with a list of workers that were lost and of nodes to leave out."""
    from dask_jobqueue.slurm import SLURMCluster, SLURMJob
    from distributed.core import Status

    left_out: list[str] = []

    class Job(SLURMJob):
        """A job that may be refused: Dask would take the error for one of its own."""

        refused = ""

        async def _submit_job(self, script_filename: str) -> Any:
            if left_out:
                self.submit_command = f"{SLURMJob.submit_command} --exclude={','.join(left_out)}"
            try:
                return await super()._submit_job(script_filename)
            except (RuntimeError, OSError) as error:
                self.refused = str(error)
                return None

        async def close(self) -> None:
            await super().close()
            self.status = Status.closed  # Dask asserts it of each job that is still referred to

        def _job_id_from_submit_output(self, out: str | None) -> Any:
            return super()._job_id_from_submit_output(out) if out else None

    class Cluster(SLURMCluster):
        """A cluster that notes each worker that it did not end itself."""

        job_cls = Job
        config_name = SLURMJob.config_name

        def __init__(self, **own: Any) -> None:
            self.left_out = left_out
            self.lost: list[tuple[Any, Any]] = []
            super().__init__(**own)

        def _update_worker_status(self, op: str, msg: Any) -> None:
            if op == "remove":
                name = self.scheduler_info["workers"][msg]["name"]
                name = name if name in self.worker_spec else str(name).rpartition("-")[0]
                if name in self.worker_spec and name in self.workers:
                    self.lost.append((name, self.workers[name]))
            super()._update_worker_status(op, msg)

    return Cluster


def _address() -> str | None:
    """Return the address of this machine in the network of Slurm's nodes, if one of them has a known one.

    Dask itself takes the address of the way to the internet: on a login node that is another network, and
    without such a way it is the machine's own, 127.0.0.1.
    """
    with contextlib.suppress(slurm.NoAnswerError, OSError):
        nodes = slurm.ask(["sinfo", "--noheader", "--Node", "--format=%o"]).split()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((nodes[0] if nodes else "", 9))  # no packet is sent
            return str(probe.getsockname()[0])
    return None


def _on_slurm(workers: Workers) -> Any:
    """Start Dask's scheduler, here, and let it ask Slurm for workers as it has work."""
    if shutil.which("sbatch") is None:
        raise RuntimeError("this machine has no sbatch")
    network = workers.scheduler_interface or workers.interface
    where = {"interface": network} if network else {"host": found} if (found := _address()) else {}
    cluster = _cluster_class()(
        cores=workers.cores,
        processes=workers.cores,  # one thread each: HDF5 has one lock
        memory=workers.memory,
        walltime=f"{workers.minutes // 60:02d}:{workers.minutes % 60:02d}:00",
        queue=workers.partition,
        account=workers.account,
        interface=workers.interface,
        local_directory=workers.folder,
        log_directory=str(project.root() / "results" / "logs" / "dask"),
        death_timeout=_DEATH,
        job_name=NAME,
        python=sys.executable,
        job_extra_directives=["--no-requeue"],  # Dask itself asks for another
        scheduler_options={"dashboard_address": ":0"} | where,
    )
    cluster.adapt(minimum_jobs=1, maximum_jobs=workers.most)
    return cluster
