"""``python -m analysis.measure.launch CAMPAIGN RUN``: what the workflow's rule calls on the node.

It takes the run for itself, writes its input files and its script, and becomes the script.
"""

import argparse
import os
import shutil
import socket
import sys
import time
from pathlib import Path

from analysis.base import files, project, shell, slurm
from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure import folders, record
from analysis.measure.declare import Declared, load
from analysis.measure.job import Allocation, allocate
from analysis.measure.matrix import Run, expand
from analysis.measure.script import lay_out, render
from analysis.measure.workflow import requested

BUSY = 75
# Snakemake sets these to the threads of its rule: all cores without Slurm, one with it, and on the first node
# alone. Without them libraries take OMP_NUM_THREADS, the threads of the run.
SNAKEMAKES_THREADS = (
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# Slurm's controller may be restarted while jobs start.
_PATIENCE = 300


def main(argv: list[str] | None = None) -> int:
    """Start a run; if there is nothing to start, 0: it is there, 1: it cannot be, 75: another job has it."""
    parser = argparse.ArgumentParser(prog="analysis.measure.launch", description=__doc__)
    parser.add_argument("campaign")
    parser.add_argument("run")
    arguments = parser.parse_args(argv)
    base = project.root()
    try:
        release(base, arguments.campaign, arguments.run)
        if folders.measured(base, arguments.campaign, arguments.run):
            print(f"{arguments.run}: measured already")
            return 0
        work = acquire(base, arguments.campaign, arguments.run)
        if work is None:
            print(f"{arguments.run}: measured; an earlier job had left its record half-way")
            return 0
    except folders.BusyError as error:
        print(f"{arguments.run}: {error}", file=sys.stderr)
        return BUSY
    try:
        declared = load(arguments.campaign, base)
        prepare(work, declared, expand(declared).run(arguments.run))
    except BenchbookError as error:
        shutil.rmtree(work)
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        what = f"cannot be laid out ({error.strerror}); make room, then measure again"
        print(f"{error.filename or work}:0: {what}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    for name in SNAKEMAKES_THREADS:
        os.environ.pop(name, None)
    return os.execvp("bash", ["bash", str(work / "job.sh")])


def acquire(base: Path, campaign: str, run: str) -> Path | None:
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
    release(base, campaign, run)
    return None if folders.measured(base, campaign, run) else folders.reserve(base, campaign, run)


def release(base: Path, campaign: str, run: str) -> None:
    """Make failed attempts of what an earlier start of this very job has measured.

    Slurm has ended it (a requeue, a lost node), and tells energy and memory of the last start alone.
    """
    if not (own := os.environ.get("SLURM_JOB_ID")):
        return
    # Of jobs at once the first comes last: the run is measured as long as that is there.
    for folder in sorted(folders.finished(base, campaign).glob(f"{run}*"), reverse=True):
        mine = folder.name == run or folder.name.removeprefix(f"{run}.").isdecimal()
        if mine and files.read_json(folder / folders.RECORD).get("job_id") == own:
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


def prepare(work: Path, declared: Declared, run: Run) -> Allocation:
    """Lay a run's folder out: a folder for each job with its input files and head, and the script."""
    hosts = _hosts(run)
    allocation = allocate(declared, run, hosts)
    meters = declared.cluster.path if declared.cluster.content.power is not None else None
    script = render(work, allocation, declared.launch, meters)
    for number, job in enumerate(allocation.jobs, 1):
        folder = work / str(number)
        (folder / ".binding").mkdir(parents=True)
        lay_out(folder, job)
        own = {"command": job.command, "environment": allocation.environment, "modules": allocation.modules}
        own |= {"files": job.files, "job_id": os.environ.get("SLURM_JOB_ID", "")}
        own |= {"allocation": requested(declared, run)} if own["job_id"] else {}
        folders.write_json(folder / folders.HEAD, {**job.head, **own})
    (work / "job.sh").write_text(script, encoding="utf-8")
    return allocation


def _hosts(run: Run) -> list[str]:
    """Name the nodes of this job, and give MPI back what Snakemake's job step takes from the environment."""
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        return [socket.gethostname()]
    listed = os.environ.get("SLURM_JOB_NODELIST") or _node_list(job)
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
