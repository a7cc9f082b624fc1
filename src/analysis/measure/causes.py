"""What ends a program from without: its own words, Slurm's of a signal, the kernel's of memory."""

import os
import re
from pathlib import Path

from analysis.base import files, shell

_END = 65_536  # B of what a job printed last
_HURRY = 1.0  # s that Slurm has for an answer: a job that is ended has few left
# States that Slurm gives a job before it ends its processes.
_OVER = {"CANCELLED", "COMPLETING", "DEADLINE", "NODE_FAIL", "PREEMPTED", "REVOKED", "TIMEOUT"}
_QUEUED = {"PENDING", "REQUEUED", "REQUEUE_HOLD"}
# Reasons of a job whose own program failed: it is COMPLETING by itself, and Slurm has ended nothing.
_BY_ITSELF = {"NonZeroExitCode", "OutOfMemory"}
# By the words of the C library, the loader, shells, Slurm and the kernel.
_CAUSES = {
    "the disk is full": re.compile(r"No space left on device|Disk quota exceeded"),
    "a symbol is missing": re.compile(r"symbol lookup error|undefined symbol"),
    "a library is missing": re.compile(r"error while loading shared libraries"),
    "out of memory": re.compile(r"(?i)oom[-_ ]?kill|out of memory|cannot allocate memory|std::bad_alloc"),
    "the program is missing": re.compile(r"(?i)command not found|could not (?:find|access) the executable"),
    "the launcher could not make its folder": re.compile(r"orte_session_dir failed"),
    "the launcher refuses root": re.compile(r"attempt to run as root"),
    "the program is not for this machine": re.compile(r"(?i)exec format error|cannot execute binary file"),
    # Global Arrays needs windows of MPI, which Open MPI's osc over TCP does not give on several nodes.
    "this MPI library lacks one-sided memory here; docs/measure.md has the --env that gives it": re.compile(
        r"ARMCI assert fail"
    ),
    "OpenFOAM does not find its folder; set WM_PROJECT_DIR in 'environment' of openfoam": re.compile(
        r"Could not find mandatory etc entry"
    ),
    "the program's own error": re.compile(r"^ERROR: "),
}


def of(job: Path, killed: int) -> str:
    """Return a known cause of a job's failure, to follow its exit code; `killed` is by `kills`."""
    if killed:
        return f": out of memory: the kernel ended {killed} of its processes for that"
    return _printed(job)


def _printed(job: Path) -> str:
    """Return a known cause of a failure in the last 64 KiB of what the job printed, with its line."""
    for name in ("stderr.txt", "stdout.txt"):
        try:
            with (job / name).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _END))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:
            continue
        for what, pattern in _CAUSES.items():
            if line := next((line for line in lines if pattern.search(line)), ""):
                return f": {what}: {files.one_line(line)[:200]}"
    return ""


def of_end(signal: str, log: Path) -> str:
    """Say what ended this job from without, and what Slurm knows of it; empty if nothing did.

    In the job's `log` the node itself names a limit, also while no controller answers.
    `signal` is what the job's shell got, or empty. An mpirun whose daemons Slurm has ended can be gone before
    the shell gets a signal at all: a job that is over for Slurm while this process of it records was ended.
    Slurm sends the same signal at a limit and by a hand.
    """
    said = _asked("%T %r")
    state, _, reason = said.partition(" ")
    if "DUE TO TIME LIMIT" in _told(log):
        return f"{signal or 'Slurm'} (its limit of time was over)"
    if not signal and (state not in _OVER | _QUEUED or (state == "COMPLETING" and reason in _BY_ITSELF)):
        return ""
    if "TimeLimit" in said or "TIMEOUT" in said:
        why = "its limit of time was over"
    elif state in _QUEUED or "requeued" in reason:  # what it says of the next start, held or not
        why = "put back into the queue"
    elif state in {"CANCELLED", "PREEMPTED"}:
        why = f"{state.lower()}, not at its limit of time"
    elif signal and state in {"COMPLETING", "RUNNING"} and reason == "None":
        # Slurm sends it at a hand's word; a controller that has just begun again may not know that it did.
        why = "cancelled or preempted, not at its limit of time"
    elif state:
        why = f"{'Slurm' if signal else 'it'} says {state}, {'no reason' if reason == 'None' else reason}"
    else:
        why = "cancelled, or out of time"
    return f"{signal or 'Slurm'} ({why})"


def _asked(what: str) -> str:
    """Return what squeue says of this job, with times in s since 1970; empty without a job or an answer."""
    if not (job := os.environ.get("SLURM_JOB_ID", "")):
        return ""
    command = ["squeue", "--noheader", "--states=all", f"--jobs={job}", f"--format={what}"]
    return shell.run(command, _HURRY, environment={"SLURM_TIME_FORMAT": "%s"}).text.strip()


def over(own: str) -> float | None:
    """Return when this job had ended by Slurm's controller, in s since the node's start; None if it goes on.

    `own` is the process of the job's shell, which Slurm starts with the job. Slurm can lose the message that
    ends a job: its node then goes on, while others may have got the cores. Only differences of one clock are
    taken, since the node's can be another than Slurm's.
    """
    began = shell.born(int(own)) if own.isdecimal() else None
    if began is None:
        return None
    said = _asked("%T %S %e").split()
    if len(said) != 3 or said[0] not in _OVER or not (said[1].isdecimal() and said[2].isdecimal()):
        return None
    return began / os.sysconf("SC_CLK_TCK") + (int(said[2]) - int(said[1]))


def logged(log: Path) -> str:
    """Say that a job's log has Slurm's word that the kernel ended a program for memory, or nothing."""
    return ": out of memory, by the log of its job" * bool(_CAUSES["out of memory"].search(_told(log)))


def _told(log: Path) -> str:
    """Return the lines of a job's log that Slurm itself has written."""
    return "\n".join(line for line in _text(log).splitlines() if line.startswith("slurmstepd"))


def kills(root: Path = Path("/")) -> int | None:
    """Return how many processes of this job the kernel has ended for memory; None if nobody counts them.

    Slurm makes a control group for each job that it keeps to its memory. The first version of control groups
    counts in each for itself, the second in all above it too.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        first = "memory" in names.split(",")
        folder = root / "sys/fs/cgroup" / ("memory" if first else "") / path.lstrip("/")
        job = next((top for top in (folder, *folder.parents) if top.name.startswith("job_")), None)
        if job is None or (names and not first):
            continue
        counts = sorted(job.rglob("memory.oom_control")) if first else [job / "memory.events"]
        if found := re.findall(r"^oom_kill (\d+)$", "\n".join(map(_text, counts)), re.MULTILINE):
            return sum(map(int, found))
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
