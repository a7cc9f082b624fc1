"""The books of a campaign while it runs: what arrives is noted at once, and equal failures end it.

The manifest gets each run as it arrives and ``sacct.txt`` what Slurm says meanwhile, so that neither needs an
orderly end. A campaign whose program cannot run is stopped after its third equal failure.
"""

import contextlib
import os
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from analysis.base import files, shell
from analysis.base.errors import BenchbookError
from analysis.measure import accounting, attempts, folders, ghosts, resume, waiting, workflow
from analysis.measure.accounting import SACCT
from analysis.provenance import manifest

EQUAL = 3
STOPPED = ".stopped"  # under the folder of what runs: why this start of the campaign has ended early
_LOCK = ".books"
_REWORDED = ".reworded"  # under the folder of what runs: attempts whose reason was written anew
_SILENT = 2.0  # s of waiting that nobody has to know of
_LOOK = 60.0  # s between two looks for jobs that wait for a hand
_INTERVAL = 300.0  # s between two questions to Slurm's accounting while jobs run
# How a job ends by somebody's hand or a lost node: that says nothing of the next one.
_FROM_OUTSIDE = (
    "the job was ended by", "it ended", "another job", "Slurm ", "never started", "the shell that",
)  # fmt: skip


@contextlib.contextmanager
def kept(base: Path, campaign: str, patience: float) -> Iterator[bool]:
    """Keep another process from writing the books meanwhile; false if one still does after `patience` s.

    A line names the process that this one waits for.
    """
    path = folders.running(base, campaign).with_name(f"{_LOCK}-{campaign}")
    path.parent.mkdir(parents=True, exist_ok=True)
    begin, announced = time.monotonic(), False
    while True:
        try:
            held = files.lock(path, f"process {os.getpid()} on {socket.gethostname()}")
        except files.LockedError as error:
            waited = time.monotonic() - begin
            if waited >= patience:
                if patience:
                    what = f"{error} still keeps its books after {patience:g} s"
                    print(f"{campaign}: {what}; give the same command again", file=sys.stderr)
                yield False
                return
            if waited > _SILENT and not announced:
                announced = True
                what = f"waiting for {error}, which keeps its books, at most {patience:g} s"
                print(f"{campaign}: {what}", file=sys.stderr, flush=True)
            time.sleep(0.2)
            continue
        with held:
            yield True
        return


def add_to_manifest(base: Path, campaign: str) -> list[str]:
    """Add what was measured to the campaign's manifest, so that a later change is found; say why not."""
    folder = folders.finished(base, campaign).parent
    if not folder.is_dir():
        return []
    note = folders.running(base, campaign) / _REWORDED
    ours = {SACCT, *(f"runs/{name}/{folders.RECORD}" for name in files.read_json(note).get("runs", ()))}

    def renewed(named: Collection[str]) -> set[str]:
        gone = tuple(f"runs/{name}/" for name in _retracted(base, campaign, named))
        return {name for name in named if name in ours or name.startswith(gone)}

    faults = manifest.extend(folder, f"data/raw/{campaign}", renewed)
    if not faults:
        note.unlink(missing_ok=True)
    return list(map(str, faults))


def note_reworded(base: Path, campaign: str, runs: Collection[str]) -> None:
    """Note, before it is done, whose reason is written anew: their records go into the manifest anew."""
    note = folders.running(base, campaign) / _REWORDED
    files.write_json(note, {"runs": sorted({*runs, *files.read_json(note).get("runs", ())})})


def _retracted(base: Path, campaign: str, named: Collection[str]) -> set[str]:
    """Return the runs that have become failed attempts, under other names, since a manifest was written."""
    known = {name.split("/")[1] for name in named if name.startswith("runs/")}
    new = filter(files.attempted, folders.recorded(base, campaign) - known)
    records = (folders.record_of(base, campaign, name) for name in new)
    return {str(record["attempt_at"]) for record in records if record.get("retracted")}


class Books:
    """Keeps the books of a campaign that is being measured; `go_on` if equal failures shall not stop it."""

    def __init__(
        self, campaign: str, base: Path, *, go_on: bool = False, sure: float = attempts.SURE
    ) -> None:
        self._campaign, self._base, self._go_on = campaign, base, go_on
        self._seen, self._said = attempts.Seen(sure), set[str]()
        self._failures = EqualFailures(campaign, base)
        self._there = set[str]()
        self._asked = self._looked = time.monotonic()
        self._stuck = list[str]()
        self._ghosts = ghosts.Ghosts(campaign, base)
        self._stopped = False
        (folders.running(base, campaign) / STOPPED).unlink(missing_ok=True)

    def keep(self) -> None:
        """Take in what has arrived since the last call, and record jobs that are gone without a record."""
        if workflow.on_slurm(self._campaign, self._base):
            with kept(self._base, self._campaign, 0) as mine:
                lines = attempts.started(self._base, self._campaign, self._seen) if mine else []
            for line in (*lines, *self._ghosts.end()):
                if line not in self._said:
                    print(line, file=sys.stderr, flush=True)
            self._said = set(lines)
        there = folders.recorded(self._base, self._campaign)
        if there != self._there:
            self._there = there
            with kept(self._base, self._campaign, 0) as mine:
                if mine:
                    add_to_manifest(self._base, self._campaign)
            if not (self._go_on or self._stopped) and (why := self._failures.look(there)):
                self._stopped = True
                self._stop(why)
        if time.monotonic() - self._looked > _LOOK and workflow.on_slurm(self._campaign, self._base):
            self._looked = time.monotonic()
            lines = waiting.lines(waiting.jobs(self._campaign, self._base) or [], stuck=True)
            for line in lines:
                if line not in self._stuck:
                    print(line, file=sys.stderr, flush=True)
            self._stuck = lines
        if time.monotonic() - self._asked > _INTERVAL and workflow.on_slurm(self._campaign, self._base):
            self._asked = time.monotonic()
            with kept(self._base, self._campaign, 0) as mine:
                if mine:
                    accounting.account(self._base, self._campaign, patience=0)

    def _stop(self, why: str) -> None:
        """Start no further run: take those that wait out of the queue, and end Snakemake after the others."""
        what = f"stopped after {EQUAL} equal failures: {why}"
        with contextlib.suppress(OSError):
            files.write_json(folders.running(self._base, self._campaign) / STOPPED, {"what": what})
        print(f"{self._campaign}: {what}", file=sys.stderr, flush=True)
        with contextlib.suppress(BenchbookError):
            jobs = (resume.queued(self._campaign, self._base) or {}).values()
            if jobs and shutil.which("scancel"):
                shell.run(["scancel", "--state=PENDING", *sorted(jobs, key=int)], 60)
        os.kill(os.getpid(), signal.SIGTERM)


def stopped(base: Path, campaign: str) -> list[str]:
    """Say why the last start has ended early, and how to go on all the same; nothing if it has not."""
    found = files.read_json(folders.running(base, campaign) / STOPPED)
    remedy = f"put it right, or go on all the same with --config measure={campaign} go_on=yes"
    return [f"{campaign}: {found['what']}; {remedy}"] if "what" in found else []


class EqualFailures:
    """Counts the attempts that fail alike from now on, and reads each record once.

    Attempts of one application with one MPI library count, as long as none of its runs has become good.
    """

    def __init__(self, campaign: str, base: Path) -> None:
        self._campaign, self._base = campaign, base
        self._read = folders.recorded(base, campaign)
        self._failed, self._good = Counter[tuple[str, str, str]](), set[tuple[str, str]]()

    def look(self, recorded: set[str]) -> str:
        """Read what is new among the recorded runs; return the reason of a third equal failure, if any."""
        for name in sorted(recorded - self._read):
            record = folders.record_of(self._base, self._campaign, name)
            what = str(record.get("application", "")), str(record.get("mpi", ""))
            reason = str(record.get("reason") or "")
            if not reason:
                self._good.add(what)
            elif not reason.startswith(_FROM_OUTSIDE):
                self._failed[(*what, reason)] += 1
        self._read |= recorded
        for (application, mpi, reason), count in self._failed.items():
            if count >= EQUAL and (application, mpi) not in self._good:
                return f"{application} with {mpi or 'its MPI library'}: {reason}"
        return ""
