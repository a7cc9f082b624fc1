"""Where a run is while it is measured, and afterwards: nothing half-written is ever among the raw files.

Standard library only: the job's last act must be quick.
"""

import contextlib
import errno
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.base import files
from analysis.base.shell import born

RECORD = files.RECORD
# What a job's folder holds of ours: no input file may have such a name.
OURS = frozenset({RECORD, "stdout.txt", "stderr.txt", "power.csv", "power.summary.json"})
OWNER = ".owner.json"
HEAD = ".job.json"
BEGIN = ".begin.json"
DECIDED = ".decided.json"
# Where the profile keeps the output of Slurm's jobs: <campaign>_<run>/<job>.log.
LOGS = Path("results/logs/slurm/rule_run")
IDLE = "idle"  # the state of a started job that had nothing to measure
GONE = ".gone"  # the end of a note's name from when a failed attempt of its start is recorded
STARTED = ".started"  # a folder with a note of each job that has started, see start.sh


def log(work: Path, job: str = "") -> Path:
    """Return the log of a job of Slurm that measures a run, by default of this one."""
    job = job or os.environ.get("SLURM_JOB_ID", "")
    return work.parents[4] / LOGS / f"{work.parent.name}_{work.name}" / f"{job}.log"


class BusyError(Exception):
    """Another job has the run, or may still have it."""


def running(base: Path, campaign: str) -> Path:
    """Return the folder in which a campaign's runs are measured."""
    return base / "data" / "raw" / ".running" / campaign


def finished(base: Path, campaign: str) -> Path:
    """Return the folder of a campaign's recorded runs."""
    return base / "data" / "raw" / campaign / "runs"


def measured(base: Path, campaign: str, run: str) -> bool:
    """Tell whether a run is there: failed attempts have other names."""
    return (finished(base, campaign) / run / RECORD).is_file()


def record_of(base: Path, campaign: str, name: str) -> dict[str, Any]:
    """Return the record of a run or failed attempt that is there; empty if it cannot be read."""
    return files.read_json(finished(base, campaign) / name / RECORD)


def recorded(base: Path, campaign: str) -> set[str]:
    """Return the names of all runs that are there, failed attempts included."""
    folder = finished(base, campaign)
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries if os.path.isfile(f"{entry.path}/{RECORD}")}  # noqa: PTH113
    except FileNotFoundError:
        return set()


def reserve(base: Path, campaign: str, run: str) -> Path:
    """Reserve a run for this job; return its folder, which contains this job's name alone."""
    folder = running(base, campaign)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        (folder.parent / ".gitignore").write_text("*\n", encoding="ascii")
    made = Path(tempfile.mkdtemp(prefix=f".{run}.", dir=folder))
    made.chmod(0o755)
    write_json(made / OWNER, identity())
    try:
        os.rename(made, folder / run)  # noqa: PTH104  # fails if the folder is there: this is the lock
    except OSError as error:
        shutil.rmtree(made)
        raise BusyError(f"{folder / run} is there already") from error
    return folder / run


def jobs(work: Path) -> list[Path]:
    """Return the folders of a run's jobs that are still to be recorded, in their order.

    The head goes before a job's folder is moved, its record is there by then. Of jobs at once one of whose
    heads was cut none can be recorded.
    """
    heads = list(work.glob(f"[0-9]*/{HEAD}"))
    if not all(map(files.read_json, heads)):
        return []
    parts = {path.parent for path in (*heads, *work.glob(f"[0-9]*/{RECORD}"))}
    return sorted(parts, key=lambda path: int(path.name))


def identity() -> dict[str, Any]:
    """Name this job: Slurm's number, or process and host."""
    pid = os.getpid()
    job = os.environ.get("SLURM_JOB_ID", "")
    return {"job_id": job, "host": socket.gethostname(), "pid": pid, "started": born(pid)}


def of_slurm() -> dict[str, Any]:
    """Return the names that this job has in Slurm besides its number, which another database gives again.

    The start, in s since 1970, is Slurm's own where it gives one, else when the job's first command ran: as
    `clock` says in any case, by that of the job's node, and `uptime` by its clock that nobody sets.
    """
    names = {"cluster": "CLUSTER_NAME", "job_name": "JOB_NAME", "user": "JOB_USER", "account": "JOB_ACCOUNT"}
    names |= {"partition": "JOB_PARTITION", "qos": "JOB_QOS", "restarts": "RESTART_COUNT"}
    found: dict[str, Any] = {key: os.environ.get(f"SLURM_{name}", "") for key, name in names.items()}
    given = os.environ.get("BENCHBOOK_STARTED", "")
    started = float(given) if given.isdecimal() else time.time()
    own = {key: os.environ.get(f"BENCHBOOK_{key.upper()}", "") for key in ("clock", "uptime")}
    more = {key: float(text) for key, text in own.items() if re.fullmatch(r"\d+(\.\d+)?", text)}
    return {**found, "comment": os.environ.get("BENCHBOOK_COMMENT", ""), "start": started, **more}


def noted(base: Path, campaign: str) -> dict[Path, dict[str, Any]]:
    """Return what the jobs of a campaign have noted at their very start, by the file of each."""
    found = {}
    # On a full disk a note is cut, and has the name that it was written under: job, restarts, start, .part.
    for path in sorted((running(base, campaign) / STARTED).glob("[0-9]*.[0-9]*.[0-9]*.*")):
        note = files.read_json(path)
        job, restarts, start, _ = path.name.split(".", 3)
        names = {"restarts": restarts, "start": float(start)}
        cut = {"state": "started", "job_id": job, "slurm": names, "cut": True}
        found[path] = note if note.get("job_id") else cut
    return found


def note_of(base: Path, campaign: str, job: str, names: Mapping[str, Any]) -> Path:
    """Return the file of what a job has noted at its start; `names` as `of_slurm` returns them."""
    name = f"{job}.{names.get('restarts') or 0}.{names.get('start') or 0:.0f}.json"
    return running(base, campaign) / STARTED / name


def begun(base: Path, campaign: str, job: str) -> bool:
    """Tell whether a job has noted its start, which Slurm's prolog comes before; by names, see `note_of`."""
    return any((running(base, campaign) / STARTED).glob(f"{job}.[0-9]*"))


def given_up(base: Path, campaign: str, job: str, names: Mapping[str, Any]) -> bool:
    """Tell whether a start of a job is recorded as ended: what it has started can outlive it."""
    note = note_of(base, campaign, job, names).with_suffix(GONE)
    return note.exists() or _settled(note).exists()


def settle(note: Path) -> None:
    """Remove the note of a start that has its record; of one that was given up its name is left."""
    with contextlib.suppress(FileNotFoundError):
        note.rename(_settled(note)) if note.suffix == GONE else note.unlink()


def _settled(note: Path) -> Path:
    return note.with_name(f"{GONE[1:]}-{note.stem}")  # no name of a note


def note_idle(path: Path, base: Path, campaign: str, run: str) -> None:
    """Note of a job that another one has, or has measured, its run: that is no failed attempt at it."""
    there = measured(base, campaign, run)
    note = files.read_json(path)
    by = (record_of(base, campaign, run) if there else owner(running(base, campaign) / run)).get("job_id")
    with contextlib.suppress(OSError):  # on a full disk Slurm's word is left
        if note:
            why = f"{run} was measured already" if there else f"{run} was being measured"
            why += f", by job {by}" if by else ""
            write_json(path, {**note, "state": IDLE, "reason": why})


def ended_well(folder: Path, record: Mapping[str, Any]) -> bool:
    """Tell whether a record says that its run ended well: status 0, an end, its files' checksums."""
    named = record.get("outputs")
    if record.get("reason") or record.get("exit_code") != 0 or not isinstance(record.get("end"), int | float):
        return False
    try:
        return (
            isinstance(named, dict)
            and bool(named)
            and all(files.sha256(folder / name) == digest for name, digest in named.items())
        )
    except OSError:
        return False


def alive(work: Path) -> bool:
    """Tell whether the job that has a run is still there; `BusyError` if that is unknown."""
    found = owner(work)
    if not found:
        return False
    if found["job_id"]:
        # A job that Slurm started anew finds its own first attempt.
        return found["job_id"] != os.environ.get("SLURM_JOB_ID") and _in_queue(found["job_id"])
    if found["host"] != socket.gethostname():
        raise BusyError(f"{work} belongs to a process on {found['host']}; remove it if that has ended")
    return bool(found["started"]) and born(found["pid"]) == found["started"]


def owner(work: Path) -> dict[str, Any]:
    """Return the identity of the job that has a run; empty if there is none."""
    return files.read_json(work / OWNER)


def _in_queue(job: str) -> bool:
    from analysis.base import slurm  # a record's writer does not ask

    try:
        state = slurm.states([job]).get(job, "")
    except slurm.NoAnswerError as error:
        what = f"cannot ask Slurm whether job {job} still runs ({error}); try again later"
        raise BusyError(what) from error
    return bool(state) and not slurm.terminal(state)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file that outlives a loss of power, whole or not there."""
    files.write_json(path, value, durable=True)


def publish(source: Path, base: Path, campaign: str, name: str) -> Path:
    """Move a recorded run among the raw files, in one step; `FileExistsError` if it is there already."""
    target = finished(base, campaign) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(source, target)  # noqa: PTH104  # onto an empty folder too, which is what Snakemake makes
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        raise FileExistsError(error.errno, "is there already", str(target)) from error
    return target


def failed_name(base: Path, campaign: str, name: str) -> str:
    """Return the first free name for a failed attempt at a run."""
    number = 1
    while (finished(base, campaign) / files.attempt(name, number)).exists():
        number += 1
    return files.attempt(name, number)


def drop_empty(base: Path, campaign: str, name: str) -> None:
    """Remove the folder that Snakemake made for a run which then failed."""
    with contextlib.suppress(OSError):
        (finished(base, campaign) / name).rmdir()


def reason(base: Path, campaign: str, name: str) -> str:
    """Return why a failed attempt failed, as its record says."""
    record = record_of(base, campaign, name)
    return str(record.get("reason", "")) if record else "its record cannot be read"


def drop_links(folder: Path) -> None:
    """Take the links to input files out of a job's folder, and folders that held nothing else."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_symlink():
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
