"""A campaign that is disturbed on the real test Slurm: jobs that are lost, doubled, or without a reason.

Short runs of one rank are cancelled, killed, requeued, preempted, lose their node, their disk, their clock or
Slurm's controller, and Snakemake itself is killed, in an order of the seed. The same command is given until
all runs are there. Then Slurm's own books are compared with the records:

- lost: a job that Slurm started, without a record and without a note that it had nothing to measure;
- early: the same while the campaign ran, without a note or a line of Snakemake's that names it as waiting;
- doubled: a run or a start of a job that has two records;
- retracted: a run whose job Slurm calls completed, as a failed attempt without another reason;
- ghosts: a run that ended well by its own record and by the controller's log, and that Slurm's later word
  has made a failed attempt;
- not ended: a failed attempt whose reason has Slurm's word of a job that waits or runs;
- mistimed: a good run that took a negative or an impossible time, as after a step of the clock;
- wrong: a good run whose job has ended in another way, by Slurm's books and its controller's log, before the
  run itself had ended;
- unnamed: a failed attempt without a reason;
- untrue: a failed attempt that does not say what its job was hit by (memory, limit), or says it of another;
- bare: an attempt that has an exit code for a reason, though Slurm was told to end its job;
- false alarms: a fault that ``benchbook verify`` finds in a good run;
- stopped: a good run whose job was suspended while its program ran;
- no output: a good run without the program's line in its output;
- unsaid: a job that waits for a hand (held, its node drained) and that ``benchbook progress`` does not name.

Not counted as lost, but printed: a start that Slurm took back because the node refused it or died, before the
program began.

As an administrator would, the study releases held jobs, resumes drained nodes and ends pauses: a controller
that dies while it starts jobs leaves the first two ("launch failed requeued held", "Duplicate jobid"). What
Slurm's database forgets, or says of other jobs with the same numbers, the study has read before.

Needs root on Debian and tests/slurm/install.sh. All counts shall be 0.

Longer runs that need more memory are fewer at a time: more of them are disturbed (each start once). A
disturbance waits for a job that it can hit, and the last runs wait for the last disturbances.

usage: study_disturbances.py [--disturbances 100] [--each 0] [--at-once 1] [--minutes 60] [--runs 60]
[--seed 20220] [--seconds 18] [--memory 1900] [--keep FOLDER] (about 10 s for each disturbance)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.slurm import campaigns
from tests.slurm.cluster import SlurmCluster
from tests.slurm.disturbances import GROUPS, KINDS, PROGRAM, Clocks, Disturbances
from tests.slurm.machine import ClusterError
from tests.slurm.memory import Limits
from tests.slurm.starts import (
    HEAD,
    PERHAPS,
    Start,
    bare,
    counted,
    ends,
    false_alarms,
    start_of,
    starts,
    stopped,
    unborn,
    untrue,
    without,
)

_EVERY = 1.0  # s between two disturbances, at least
_PATIENCE = 120.0  # s that a disturbance waits for a job that it can hit
_FORGET = ("purge the accounting", "another database")
_HELD = 30  # runs that wait for the last disturbances: as many as end during one


def main() -> int:
    """Disturb a campaign; 1 if a count is not 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--disturbances", type=int, default=100)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=20220)
    parser.add_argument("--each", type=int, default=0, help="how often each kind is drawn first")
    parser.add_argument("--at-once", type=int, default=1, help="disturbances at once, at most")
    parser.add_argument("--minutes", type=float, default=60, help="after that, none begins any more")
    parser.add_argument("--seconds", type=int, default=18, help="s that a run takes")
    parser.add_argument("--memory", type=int, default=1900, help="MB of a run, of a node's 4000")
    parser.add_argument("--keep", type=Path, help="a new folder for a copy of what was found at fault")
    given = parser.parse_args()
    with scene(given.runs, given.seed, given.seconds, given.memory) as study:
        study.disturb(given.disturbances, given.each, given.at_once, given.minutes)
        complete = study.complete()
        started, records = study.accounted(), study.records()
        counts = study.faults()
        if given.keep and any(counts.values()):
            shutil.copytree(study.base, given.keep / "project", symlinks=True)
            shutil.copytree(study.cluster.base / "log", given.keep / "slurm")
    happened = f"{sum(study.done.values())} of {sum(study.drawn.values())} drawn have happened"
    print(f"disturbances: {happened}, to {given.runs} runs, seed {given.seed}")
    for kind, count in sorted(study.drawn.items()):
        print(f"  {kind}: {study.done[kind]} of {count}")
    good = sum(not record["reason"] for record in records)
    failed = f"{len(records) - good} failed attempts"
    print(f"disturbances: {len(started)} starts of jobs, {good} good runs, {failed}")
    numbers = ", ".join(f"{name} {len(one)}" for name, one in counts.items())
    missing = without(started, [*map(start_of, records), *study.notes("")])
    back = unborn(started, missing, study.ran())
    print(f"disturbances: {len(back)} starts that Slurm took back before their program began")
    print(f"disturbances: complete {complete}; {numbers}")
    for name, found in counts.items():
        print("".join(f"  {name}: {one}\n" for one in found), end="")
    return int(not complete or any(counts.values()))


@contextlib.contextmanager
def scene(runs: int, seed: int, seconds: int = 4, memory: int = 600) -> Iterator[Study]:
    """Give a campaign of so many runs on a cluster and a disk of its own, which is measured."""
    limits = Limits()
    with tempfile.TemporaryDirectory() as name, small_disk() as disk, contextlib.ExitStack() as end:
        end.callback(limits.remove)
        clocks = Clocks(Path(name))
        more = clocks.slurm_conf + limits.slurm_conf
        cluster = end.enter_context(SlurmCluster(more=more, cgroup=limits.cgroup_conf))
        project = campaigns.make_project(disk / "project")
        yield Study(cluster, project, runs, seed, clocks, seconds=seconds, memory=memory)


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a file system of its own, which a disturbance fills or stalls."""
    with tempfile.TemporaryDirectory() as name:
        image, folder = Path(name) / "image", Path(name) / "disk"
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(200 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def planned(number: int, each: int, draw: random.Random) -> list[str]:
    """Return so many kinds of disturbances: each kind so often, in a random order, then others."""
    first = list(KINDS) * each
    draw.shuffle(first)
    return first + draw.choices(list(KINDS), list(KINDS.values()), k=max(0, number - len(first)))


class Study:
    """A campaign that is disturbed."""

    def __init__(
        self,
        cluster: SlurmCluster,
        base: Path,
        runs: int,
        seed: int,
        clocks: Clocks,
        *,
        seconds: int,
        memory: int,
    ) -> None:
        self.cluster, self.base = cluster, base
        self.random, self._clocks, self._runs = random.Random(seed), clocks, runs
        self._told = cluster.base / "told"  # not on the disk that is disturbed, and of its trace a witness
        self._told.mkdir()
        self._disturbances = Disturbances(cluster, base.parent, self._told, clocks, self.random)
        self.drawn, self.done = Counter[str](), Counter[str]()
        self.early = set[Start]()
        self.unsaid = list[str]()
        self._finished = base / "data/raw/few/runs"
        self._known = dict[Start, str]()  # of starts that Slurm's database may forget
        self._ends = dict[Start, float]()
        self._looked, self._asked, self._left = 0.0, 0.0, 0  # disturbances to come
        self._hit = dict[str, tuple[str, float]]()  # job -> what has befallen it, and when
        self._choosing, self._starting = threading.Lock(), threading.Lock()
        self._alone = {kind: lock for group in GROUPS for lock in [threading.Lock()] for kind in group}
        batch = "partition: bench", "partition: batch\n  exclusive: false"
        some = batch, ("memory: 1000", f"memory: {memory}"), ("minutes: 3", "minutes: 50")
        program = PROGRAM.format(told=self._told, seconds=seconds) + campaigns.RESULT.format(ranks=1)
        campaigns.use_program(base, program, *some)
        campaigns.use_factors(base, repeats=runs)
        self._snakemake = self._start()

    def _start(self) -> subprocess.Popen[str]:
        words = ["--profile", "slurm", "measure", "--config", "measure=few", "go_on=yes", *campaigns.SMALLER]
        command = [sys.executable, "-m", "snakemake", *words]
        shell = ["sh", "-c", '"$@" >>snakemake.log 2>&1', "sh", *command]
        return self.cluster.popen(shell, cwd=self.base, env=self._clocks.environment())

    def _alive(self) -> bool:
        """Give the command again if Snakemake has ended; false if all runs are there."""
        with self._starting:
            if self._snakemake.poll() is not None:
                self._snakemake.communicate()
                if self._snakemake.returncode == 0:
                    return False
                self._snakemake = self._start()
        return True

    def disturb(self, number: int, each: int = 0, at_once: int = 1, minutes: float = 60.0) -> None:
        """Disturb the campaign so often, each kind at least so often, or until all its runs are there.

        So many disturbances happen at once, and none begins after so many minutes.
        """
        self._left, deadline = number, time.monotonic() + 60 * minutes

        def one(kind: str) -> None:
            self._left -= 1
            if time.monotonic() > deadline:
                return
            self.drawn[kind] += 1
            with self._alone.get(kind, contextlib.nullcontext()):
                self._wait_for(kind, _PATIENCE)
            if self.random.random() < 0.02 and self._alive():
                os.killpg(self._snakemake.pid, signal.SIGKILL)
                self.drawn["kill Snakemake"] += 1
                self.done["kill Snakemake"] += 1
            time.sleep(_EVERY)

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, planned(number, each, self.random)))

    def force(self, kind: str) -> str:
        """Disturb once, as soon as a job is there that can be hit; return the job."""
        if not (job := self._wait_for(kind, 2 * _PATIENCE)):
            raise ClusterError(f"no job for: {kind}")
        return job

    def _wait_for(self, kind: str, seconds: float) -> str:
        """Disturb once, as soon as a job is there that can be hit; return the job, empty if none was."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._alive():
            self._administer()
            self._hold()
            if kind in _FORGET or time.monotonic() - self._asked > 5 * _EVERY:
                self.accounted()  # a disturbance may take it from Slurm's books
            jobs = self._running()
            self.random.shuffle(jobs)
            if job := next((job for job in jobs if self._do(kind, job)), ""):
                return job
            time.sleep(0.2)
        return ""

    def _hold(self) -> None:
        """Let the last runs wait, so that the campaign is not over before its disturbances are."""
        there = [path for path in self._finished.glob("*") if ".failed-" not in path.name]
        if self._runs - len(there) <= max(_HELD, self._left):
            (self._told / "wait").touch()

    def _do(self, kind: str, job: str) -> bool:
        """Disturb once; tell whether that was possible."""
        with self._choosing:
            if job in self._hit:
                return False
            self._hit[job] = kind, time.time()
        with contextlib.suppress(ClusterError, OSError):  # it may end just now
            if self._disturbances.do(kind, job):
                self.done[kind] += 1
                (self._told / f"go.{job}").touch()
                print(f"{sum(self.done.values())}: {kind}, job {job}", file=sys.stderr, flush=True)
                return True
        if job in self._disturbances.touched:
            self._hit[job] = f"{PERHAPS}{kind}", self._hit[job][1]
        else:
            self._hit.pop(job)
        return False

    def records(self) -> list[dict[str, Any]]:
        """Return all records, their starts by the right time, and when they `ended` by it."""
        found = list(campaigns.records(self.base).values())
        for record in found:
            if at := (record.get("slurm") or {}).get("start"):
                record["slurm"]["start"] = self._clocks.true(at)
            if record.get("end") is not None:
                record["ended"] = self._clocks.true(record["end"])
        return found

    def faults(self) -> dict[str, list[str]]:
        """Return what is wrong by kind, each named."""
        started, records = self.accounted(), self.records()
        found: dict[str, list[str]] = counted(
            started, records, self.notes("idle"), self.ran(), self.ended_well(), self._ends
        )
        found["untrue"] = untrue(self._hit, records)
        found["bare"] = bare(self._hit, records)
        found["false alarms"] = false_alarms(self.verified(), records)
        found["early"] = [str(one) for one in sorted(self.early)]
        found["stopped"] = stopped(self._hit, records)
        found["no output"] = self.without_output()
        return {**found, "unsaid": self.unsaid}

    def verified(self) -> list[str]:
        """Return what ``benchbook verify`` calls a fault."""
        command = [sys.executable, "-m", "analysis.cli", "verify", "--json", "few"]
        said = subprocess.run(command, cwd=self.base, capture_output=True, text=True, check=False).stdout
        (found,) = json.loads(said)
        return [f"{one['source']}: {one['found']}" for one in found["faults"]]

    def ended_well(self) -> set[str]:
        """Return the jobs that the controller has seen end with status 0, by its log, which no kill takes."""
        text = (self.cluster.base / "log/slurmctld.log").read_text(encoding="utf-8", errors="replace")
        return set(re.findall(r"_job_complete: JobId=(\d+) WEXITSTATUS 0$", text, re.MULTILINE))

    def ran(self) -> list[Start]:
        """Return the jobs that have come to their program, and when."""
        trace = self._told / "trace"
        text = trace.read_text(encoding="ascii") if trace.exists() else ""
        lines = (line.split() for line in text.splitlines())
        return [(job, int(self._clocks.true(int(at)))) for job, at in lines]

    def _running(self) -> list[str]:
        asked = self.cluster.run(["squeue", "-h", "-t", "R", "-o", "%A|%k"], check=False).stdout.split()
        rows = [line.partition("|") for line in asked]
        return sorted(job for job, _, note in rows if note.startswith(HEAD) and job not in self._hit)

    def _administer(self) -> None:
        """Resume drained nodes and release held jobs, once ``benchbook progress`` has named each of these."""
        if time.monotonic() - self._looked < 5 * _EVERY:
            return
        self._looked = time.monotonic()
        run = self.cluster.run
        asked = run(["squeue", "-h", "-t", "PD", "-o", "%A|%r"], check=False).stdout.splitlines()
        held = [line.partition("|")[0] for line in asked if "held" in line.lower()]
        if held:
            said = run([sys.executable, "-m", "analysis.cli", "progress", "few"], cwd=self.base, check=False)
            named = set(said.stdout.translate(str.maketrans(",()", "   ")).split())
            still = run(["squeue", "-h", "-t", "PD", "-o", "%A|%r"], check=False).stdout.splitlines()
            left = {line.partition("|")[0] for line in still if "held" in line.lower()}
            self.unsaid += [f"job {job} is held" for job in held if job in left and job not in named]
            run(["scontrol", "release", ",".join(held)], check=False)
        paused = [line.partition("|")[0] for line in asked if line.endswith("|BeginTime")]
        if paused:  # two minutes each would be most of the study
            run(["scontrol", "update", f"jobid={','.join(paused)}", "starttime=now"], check=False)
        nodes = run(["sinfo", "-h", "-N", "-p", "batch", "-o", "%N|%T"], check=False).stdout.splitlines()
        for node, _, state in (line.partition("|") for line in nodes):
            if state.startswith(("drain", "down")):
                run(["scontrol", "update", f"nodename={node}", "state=resume"], check=False)

    def complete(self, minutes: float = 60.0) -> bool:
        """Give the same command until all runs are there; tell whether they are, after so long at most."""
        (self._told / "wait").unlink(missing_ok=True)
        deadline = time.monotonic() + 60 * minutes
        while time.monotonic() < deadline:
            self._administer()
            if self._snakemake.poll() is None:
                time.sleep(_EVERY)
                continue
            self._snakemake.communicate()
            self._look()
            if self._snakemake.returncode == 0:
                return True
            self._snakemake = self._start()
        os.killpg(self._snakemake.pid, signal.SIGKILL)
        return False

    def without_output(self) -> list[str]:
        """Return the good runs whose output lacks the program's line."""
        good = [name for name, one in campaigns.records(self.base).items() if not one["reason"]]
        outputs = {name: self._finished / name / "stdout.txt" for name in good}
        return [
            name
            for name, path in outputs.items()
            if not path.is_file() or "proxy result: " not in path.read_text(encoding="utf-8")
        ]

    def _look(self) -> None:
        """Count at this moment the jobs that are neither recorded nor named as waiting."""
        known = {start_of(one) for one in self.records()}
        open_ = ("PENDING", "RUNNING", "REQUEUED")
        found = {one: state for one, state in self.accounted().items() if state not in open_}
        missing = without(found, [*known, *self.notes("")])
        said = (self.base / "snakemake.log").read_text(encoding="utf-8", errors="replace")
        missing -= {one for one in missing if f"  job {one[0]} of " in said}
        self.early |= missing - unborn(found, missing, self.ran())

    def notes(self, state: str) -> set[Start]:
        """Return the starts that have a note, of one state or of any."""
        found = set()
        for path in (self.base / campaigns.RUNNING / ".started").glob("*.*.*.*"):
            job, _, began, _ = path.name.split(".", 3)
            text = path.read_text(encoding="utf-8", errors="replace")
            if not state or f'"{state}"' in text:
                found.add((job, int(self._clocks.true(int(began)))))
        return found

    def accounted(self) -> dict[Start, str]:
        """Return the state of each start by Slurm's own books, also of those that they have forgotten."""
        self._asked = time.monotonic()
        format_ = "--format=JobID,State,Start,End,Comment"
        asked = ["sacct", "-X", "-D", "-a", "-n", "-P", "--starttime=now-1day", format_]
        lines = (line.split("|") for line in self.cluster.run(asked, check=False).stdout.splitlines())
        rows = ["|".join([job, (state.split() or [""])[0], *rest]) for job, state, *rest in lines]
        self._known |= starts(rows)
        self._ends |= ends(rows)
        return dict(self._known)


if __name__ == "__main__":
    raise SystemExit(main())
