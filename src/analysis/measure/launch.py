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
from pathlib import Path
from typing import Any, Self

from analysis.base import files, project, shell, slurm
from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure import folders, layout, turns
from analysis.schema.stated import job_of, section

BUSY = 75
UNKNOWN = ", and nobody knows why"  # at the end of a reason, until Slurm says more
# Snakemake sets these to the threads of its rule: all cores without Slurm. Without them libraries take
# OMP_NUM_THREADS, the threads of the run.
SNAKEMAKES_THREADS = (
    "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
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
    own = os.environ.pop(turns.SHELL, "")
    try:
        limit = lay_out(work, base, campaign, run, job)
        if own:
            (work / ".shell").write_text(f"{own}\n", encoding="ascii")
    except BenchbookError as error:
        shutil.rmtree(work)
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        return _not_laid_out(error, work)
    if why := _over(base, campaign, job, own):  # as late as possible: others may have the node now
        shutil.rmtree(work, ignore_errors=True)
        print(f"{run}: {why}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    for name in SNAKEMAKES_THREADS:
        os.environ.pop(name, None)
    if job.tell is not None:
        os.write(job.tell, str(60.0 * limit).encode())
        os.close(job.tell)
    return os.execvp("bash", ["bash", str(work / "job.sh")])


def _over(base: Path, campaign: str, job: _Slurm, own: str) -> str:
    """Say why this job, with its `own` shell, begins no run any more, though it goes on; empty if it may."""
    if not job.runs and turns.is_orphan(own):  # of a shared job `turns` has asked just now
        return turns.ORPHANED
    if job.number and folders.given_up(base, campaign, job_of({"job_id": job.number}), job.names):
        return f"not begun: this start of job {job.number} is recorded as ended"
    return ""


def _not_laid_out(error: OSError, folder: Path) -> int:
    what = f"cannot be laid out ({files.cause(error)}); {files.remedy(error)}, then measure again"
    print(f"{error.filename or folder}: {what}", file=sys.stderr)
    return 1


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
            from analysis.measure import record  # most starts write none

            record.retract(folder, "Slurm ended this start of its job, and started the job again")


def recover(work: Path) -> None:
    """Record a run whose job is gone; remove one that had not got so far."""
    if not folders.jobs(work):
        shutil.rmtree(work)
        return
    job = str(folders.owner(work).get("job_id", ""))
    # A controller that has forgotten a job gives its number again, for another run.
    names = section(files.read_json(folders.jobs(work)[0] / folders.HEAD), "slurm")
    state = slurm.ended(job, names) if job else ""
    why = f": Slurm says {state}" if state else UNKNOWN
    from analysis.measure import causes, record

    if job and "OUT_OF_MEMORY" not in state:  # a controller that crashed at that moment has forgotten it
        why = causes.logged(folders.log(work, job)) + why
    record.end(work, abandoned=f"it ended without a record{why}")


def lay_out(work: Path, base: Path, campaign: str, run: str, job: _Slurm) -> int:
    """Fill a run's folder; return the minutes that it may take."""
    number = os.environ.get("SLURM_JOB_ID")
    listed = (job.nodes or _node_list(number)) if number else ""
    hosts = slurm.node_names(listed) if listed else [socket.gethostname()]
    found = layout.kept(base, campaign, run, hosts) if job.number else {}
    if not found:  # imports models, and works through the whole matrix
        from analysis.measure import prepare

        found = prepare.now(base, campaign, run, hosts, job.runs)
    common: dict[str, Any] = {"environment": found["environment"], "modules": found["modules"]}
    common |= {"job_id": job.number}
    if job.number:
        _name_nodes(listed, len(hosts), found["tasks"])
        common |= {"allocation": found["asked"], "slurm": {**job.names, "runs": len(job.runs) or 1}}
    for one in found["jobs"]:
        one["head"]["benchbook"] = {"commit": _commit(base), **one["head"]["benchbook"]}
    layout.lay_out(work, found, common)
    return int(found["minutes"])


def _commit(base: Path) -> str:
    """Return the project's commit: what started this run may have asked for it, see `run.sh`."""
    known = os.environ.get("BENCHBOOK_COMMIT")
    return project.commit(base) if known is None else known


def _name_nodes(listed: str, nodes: int, tasks: int) -> None:
    """Give MPI the variables of Slurm that are the run's."""
    given = {"SLURM_JOB_NODELIST": listed, "SLURM_NODELIST": listed}
    given |= {"SLURM_TASKS_PER_NODE": f"{tasks}(x{nodes})"}
    given |= {"SLURM_JOB_NUM_NODES": str(nodes), "SLURM_NNODES": str(nodes)}
    os.environ.update(given)


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
