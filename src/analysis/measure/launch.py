"""``python -m analysis.measure.launch CAMPAIGN RUN``: what the workflow's rule calls on the node.

It takes the run for itself, writes its input files and its script, and becomes the script.
"""

import argparse
import os
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from analysis.base import files, project, shell, slurm
from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure import folders, record, turns
from analysis.measure.declare import Declared, load
from analysis.measure.job import Allocation, allocate
from analysis.measure.matrix import MatrixPlan, Run, expand
from analysis.measure.script import lay_out, render
from analysis.measure.workflow import minutes, requested
from analysis.schema.records import job_of, section

BUSY = 75
# Snakemake sets these to the threads of its rule: all cores without Slurm. Without them libraries take
# OMP_NUM_THREADS, the threads of the run.
SNAKEMAKES_THREADS = (
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# What the programs that start ranks may know of the job: the rest are defaults of the batch step, which would
# change what the launch lines ask for.
_KNOWN = {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_CLUSTER_NAME", "SLURM_CONF"}
_KNOWN |= {"SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST"}
# Slurm's controller may be restarted while jobs start.
_PATIENCE = 300


def main(argv: list[str] | None = None) -> int:
    """Start a run; if there is nothing to start, 0: it is there, 1: it cannot be, 75: another job has it."""
    parser = argparse.ArgumentParser(prog="analysis.measure.launch", description=__doc__)
    parser.add_argument("campaign")
    parser.add_argument("run")
    parser.add_argument("--sharing", nargs="+", default=[], metavar="RUN", help="all runs in the job")
    parser.add_argument("--tell", type=int, metavar="FD", help="file in which to say the s that it may take")
    arguments = parser.parse_args(argv)
    base = project.root()
    job = _Slurm.of_this_job()
    runs = tuple(arguments.sharing)
    if runs:
        number = f"{job.number}:{runs.index(arguments.run) + 1}"
        job = replace(job, number=number, runs=runs, tell=arguments.tell)
    code = start(base, arguments.campaign, arguments.run, job)
    if code in {0, BUSY} and not runs:
        note = folders.note_of(base, arguments.campaign, job.number, job.names)
        folders.note_idle(note, base, arguments.campaign, arguments.run)
    return code


@dataclass(frozen=True)
class _Slurm:
    """The job of Slurm that this process is in; without one its number is empty."""

    number: str = ""  # ``7``, or ``7:3`` for the third run in the job
    nodes: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()  # all runs in the job, if there are several, see `turns`
    tell: int | None = None  # the file in which a run says how long it may take

    @classmethod
    def of_this_job(cls) -> Self:
        """Read the environment, and leave in it what a program that starts ranks may know."""
        found = cls()
        if number := os.environ.get("SLURM_JOB_ID", ""):
            found = cls(number, os.environ.get("SLURM_JOB_NODELIST", ""), folders.of_slurm())
        for name in list(os.environ):
            if name.startswith(("SLURM_", "SRUN_", "SBATCH_")) and name not in _KNOWN:
                del os.environ[name]
        return found


def start(base: Path, campaign: str, run: str, job: _Slurm) -> int:
    """Start one run, see `main`: this process becomes the run's script."""
    try:
        release(base, campaign, run, job.names)
        if folders.measured(base, campaign, run):
            print(f"{run}: measured already")
            return 0
        work = acquire(base, campaign, run, job.names)
        if work is None:
            print(f"{run}: measured; an earlier job had left its record half-way")
            return 0
    except folders.BusyError as error:
        print(f"{run}: {error}", file=sys.stderr)
        return BUSY
    except OSError as error:
        return _not_laid_out(error, base)
    try:
        found = expanded(campaign, base)
        prepare(work, found.declared, found.run(run), job)
    except BenchbookError as error:
        shutil.rmtree(work)
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        return _not_laid_out(error, work)
    if why := _over(base, campaign, job):  # as late as possible: others may have the node now
        shutil.rmtree(work, ignore_errors=True)
        print(f"{run}: {why}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    for name in SNAKEMAKES_THREADS:
        os.environ.pop(name, None)
    if job.tell is not None:
        os.write(job.tell, str(60.0 * found.run(run).minutes).encode())
        os.close(job.tell)
    return os.execvp("bash", ["bash", str(work / "job.sh")])


def _over(base: Path, campaign: str, job: _Slurm) -> str:
    """Say why this job begins no run any more, though its processes go on; empty if it may."""
    if turns.is_orphan(os.environ.pop(turns.SHELL, "")):
        return turns.ORPHANED
    if job.number and folders.given_up(base, campaign, job_of({"job_id": job.number}), job.names):
        return f"not begun: this start of job {job.number} is recorded as ended"
    return ""


def _not_laid_out(error: OSError, folder: Path) -> int:
    what = f"cannot be laid out ({files.cause(error)}); {files.remedy(error)}, then measure again"
    print(f"{error.filename or folder}:0: {what}", file=sys.stderr)
    return 1


@lru_cache(maxsize=1)
def expanded(campaign: str, base: Path) -> MatrixPlan:
    """Expand a campaign, once a process."""
    return expand(load(campaign, base))


def acquire(base: Path, campaign: str, run: str, names: Mapping[str, Any] | None = None) -> Path | None:
    """Reserve a run and return its folder; what a killed job has left becomes a failed attempt.

    None if that job had measured it and only not moved it among the raw files. `folders.BusyError` if
    another job has the run.
    """
    try:
        return folders.reserve(base, campaign, run)
    except folders.BusyError:
        work = folders.running(base, campaign) / run
        if folders.alive(work):
            what = "another job measures it; give the same command again once it has ended"
            raise folders.BusyError(what) from None
    recover(work)
    release(base, campaign, run, names)
    return None if folders.measured(base, campaign, run) else folders.reserve(base, campaign, run)


def release(base: Path, campaign: str, run: str, names: Mapping[str, Any] | None = None) -> None:
    """Make failed attempts of what an earlier start of this very job has left; `names` are its own.

    Slurm has ended that start (a requeue, a lost node). A run that had ended well by then stays, if all its
    files have their checksums: a controller that was killed as the job ended starts it again for nothing.
    """
    if not (own := os.environ.get("SLURM_JOB_ID")):
        return
    ours = {key: value for key, value in (names or {}).items() if key in ("cluster", "job_name", "comment")}
    # Of jobs at once the first comes last: the run is measured as long as that is there.
    for folder in sorted(folders.finished(base, campaign).glob(f"{run}*"), reverse=True):
        mine = folder.name == run or folder.name.removeprefix(f"{run}.").isdecimal()
        found = files.read_json(folder / folders.RECORD) if mine else {}
        theirs = section(found, "slurm")
        # Another database gives the same number to another job.
        same = found.get("job_id") == own and all(theirs.get(key, ours[key]) == ours[key] for key in ours)
        if same and not folders.ended_well(folder, found):
            record.retract(folder, "Slurm ended this start of its job, and started the job again")


def recover(work: Path) -> None:
    """Record a run whose job is gone; remove one that had not got so far."""
    if not folders.jobs(work):
        shutil.rmtree(work)
        return
    job = str(folders.owner(work).get("job_id", ""))
    state = slurm.ended(job) if job else ""
    why = f"Slurm says {state}" if state else "killed, out of memory, or its node was lost"
    record.end(work, abandoned=f"it ended without a record: {why}")


def prepare(work: Path, declared: Declared, run: Run, job: _Slurm | None = None) -> Allocation:
    """Lay a run's folder out: a folder for each job with its input files and head, and the script."""
    slurm_job = job or _Slurm.of_this_job()
    hosts = _hosts(run, slurm_job.nodes)
    allocation = allocate(declared, run, hosts)
    meters = declared.cluster.path if declared.cluster.content.power is not None else None
    script = render(allocation, declared.launch, meters)
    common: dict[str, Any] = {"environment": allocation.environment, "modules": allocation.modules}
    common |= {"job_id": slurm_job.number}
    if slurm_job.number:
        runs = [expanded(declared.name, declared.base).run(name) for name in slurm_job.runs] or [run]
        asked = {**requested(declared, run), "runtime": minutes(declared, runs)}
        common |= {"allocation": asked, "slurm": {**slurm_job.names, "runs": len(runs)}}
    for number, one in enumerate(allocation.jobs, 1):
        folder = work / str(number)
        folder.mkdir()  # not its parent: who finds the job gone has removed it
        (folder / ".binding").mkdir()
        lay_out(folder, one)
        own = {"command": one.command, **common, "files": one.files}
        folders.write_json(folder / folders.HEAD, {**one.head, **own})
    (work / "job.sh").write_text(script, encoding="utf-8")
    return allocation


def _hosts(run: Run, nodes: str) -> list[str]:
    """Name the nodes of this job, and give MPI the variables of Slurm that are the run's."""
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        return [socket.gethostname()]
    listed = nodes or _node_list(job)
    hosts = slurm.node_names(listed)
    tasks = f"{run.ranks_per_node * run.concurrent_jobs}(x{len(hosts)})"
    given = {"SLURM_JOB_NODELIST": listed, "SLURM_NODELIST": listed, "SLURM_TASKS_PER_NODE": tasks}
    given |= {"SLURM_JOB_NUM_NODES": str(len(hosts)), "SLURM_NNODES": str(len(hosts))}
    os.environ.update(given)
    return hosts


def _node_list(job: str) -> str:
    command = ["squeue", "--noheader", "--jobs", job, "--format=%N"]
    deadline = time.monotonic() + _PATIENCE
    while True:
        answer = shell.run(command, 60)
        if listed := answer.text.strip():
            return listed
        # A job that Slurm has given up, while its processes live on, has nothing to wait for.
        if time.monotonic() > deadline or slurm.UNKNOWN_JOB in answer.err:
            what = f"{' '.join(command)}: {answer.err.strip() or 'no answer'}"
            raise ConfigError.at("Slurm", 0, what, "start the run again")
        time.sleep(5)


if __name__ == "__main__":
    raise SystemExit(main())
