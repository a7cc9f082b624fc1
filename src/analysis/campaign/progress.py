"""How far a campaign is: what is done, what runs, what failed, and when it is likely to end.

All of it is read from the folders that the runs themselves leave, so that it is right after a resume and
from any shell; Slurm is asked one question, for all jobs at once, only to tell which of them are gone.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.campaign import folders
from analysis.campaign.estimate import cost, seconds
from analysis.campaign.matrix import Plan, Run
from analysis.provenance.slurm import ask, terminal

# A pause as long as this, in seconds, parts two stretches of measuring: nothing is said about its pace.
_PAUSE = 900.0


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a campaign at one moment; each run of the matrix is counted once.

    Attributes
    ----------
    campaign : str
    done, running, failed, waiting : int
        Runs. Failed are those of which an attempt failed and none runs or is good.
    node_hours, node_hours_left : float
        Measured, and expected of what is not done.
    end : float or None
        When the last run is likely to end, in seconds since 1970; None where nothing tells.
    idle : bool
        Whether `end` supposes that all nodes are free, because there is no pace to go by.
    note : str
        What could not be asked; empty otherwise.
    """

    campaign: str
    done: int
    running: int
    failed: int
    waiting: int
    node_hours: float
    node_hours_left: float
    end: float | None
    idle: bool = False
    note: str = ""

    @property
    def total(self) -> int:
        """Runs of the matrix."""
        return self.done + self.running + self.failed + self.waiting


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A good run, or one that runs: its nodes were taken from `start` to `end`."""

    run: Run
    start: float
    end: float


class Observer:
    """Looks at a campaign again and again, reading each record once.

    Parameters
    ----------
    plan : Plan
    runs : sequence of Run
        The runs that count: those of the plan, and further repeats that were asked for.
    resumed : bool, optional
        Whether what failed before now waits again.

    Attributes
    ----------
    runs : dict of str to Run
    """

    def __init__(self, plan: Plan, runs: Sequence[Run], *, resumed: bool = False) -> None:
        self._plan = plan
        self.runs = {run.name: run for run in runs}
        launch = plan.declared.launch
        self._base, self._campaign = plan.declared.base, plan.declared.name
        self._slurm = launch["scheduler"] == "slurm"
        self._start_up = float(launch.get("start_up", 5))
        self._done: dict[str, _Attempt | None] = {}
        self._failed_before = frozenset(self._failures()) if resumed else frozenset()

    def look(self, now: float) -> Progress:
        """Return the state of the campaign.

        Parameters
        ----------
        now : float
            Seconds since 1970.
        """
        # In this order: a run that ends meanwhile is seen twice, and never not at all.
        running, abandoned, note = self._running(now)
        self._read_done()
        running = {name: one for name, one in running.items() if name not in self._done}
        attempts = frozenset(self._failures()) - self._failed_before
        bad = {name.rpartition(".failed-")[0] for name in attempts} | abandoned
        left = [run for name, run in self.runs.items() if name not in self._done]
        failed = sum(run.name in bad and run.name not in running for run in left)
        good = [attempt for attempt in self._done.values() if attempt is not None]
        pace = _Pace(good, list(running.values()), self._start_up)
        end, idle = self._end(pace, left, now)
        return Progress(
            campaign=self._campaign,
            done=len(self._done),
            running=len(running),
            failed=failed,
            waiting=len(left) - len(running) - failed,
            node_hours=sum(pace.spent(attempt) for attempt in good) / 3600,
            node_hours_left=sum(run.nodes * pace.expected(run) for run in left) / 3600,
            end=end,
            idle=idle,
            note=note,
        )

    def _end(self, pace: _Pace, left: Sequence[Run], now: float) -> tuple[float | None, bool]:
        """Say when the last run ends: by the pace of this stretch, else as if all nodes were free."""
        if not left:
            return None, False
        if (more := pace.remaining(left, now)) is not None:
            return now + more, False
        guessed = [replace(run, seconds=pace.expected(run) - self._start_up) for run in left]
        return now + cost(self._plan, guessed).duration, True

    def _failures(self) -> Iterable[str]:
        found = _names(folders.finished(self._base, self._campaign))
        return [name for name in found if name.rpartition(".failed-")[0] in self.runs]

    def _read_done(self) -> None:
        """Read the records that are new; a folder without one is where Snakemake waits for it."""
        folder = folders.finished(self._base, self._campaign)
        for name in _names(folder):
            path = folder / name / folders.RECORD
            if name in self.runs and name not in self._done and path.is_file():
                self._done[name] = _attempt(self.runs[name], path)

    def _running(self, now: float) -> tuple[dict[str, _Attempt], set[str], str]:
        """Return what runs, what was left behind by a job that is gone, and what could not be asked."""
        folder = folders.running(self._base, self._campaign)
        found, jobs = {}, {}
        for name in _names(folder):
            if name not in self.runs:
                continue
            path = folder / name / folders.OWNER
            try:
                owner, since = json.loads(path.read_text(encoding="utf-8")), path.stat().st_mtime
            except (OSError, ValueError):
                continue  # it ends just now
            found[name] = _Attempt(self.runs[name], since, max(now, since))
            jobs[name] = str(owner.get("job_id", ""))
        states = _states(sorted({job for job in jobs.values() if job}, key=int)) if self._slurm else {}
        if states is None:
            return found, set(), "Slurm does not answer"
        gone = {name for name, job in jobs.items() if job and terminal(states.get(job, "CANCELLED"))}
        return {name: one for name, one in found.items() if name not in gone}, gone, ""


class _Pace:
    """What runs take, by those that were measured; and how much of it is got through in a second."""

    def __init__(self, good: Sequence[_Attempt], running: Sequence[_Attempt], start_up: float) -> None:
        self._good, self._running, self._start_up = good, running, start_up
        cells, applications = defaultdict(list), defaultdict(list)
        for one in good:
            taken = one.end - one.start + start_up
            cells[one.run.cell].append(taken)
            applications[one.run.application].append(taken / seconds(one.run, start_up))
        self._cells = {cell: statistics.median(taken) for cell, taken in cells.items()}
        # A guess that what runs has outlived is too low.
        self._least: dict[str, float] = defaultdict(float)
        for one in running:
            self._least[one.run.cell] = max(self._least[one.run.cell], one.end - one.start)
        # Of cells that were not measured yet: by how much their application was misjudged.
        self._ratios = {name: statistics.median(ratios) for name, ratios in applications.items()}

    def expected(self, run: Run) -> float:
        """Return the seconds that a run takes: its cell's median, or the guess, put right."""
        guess = seconds(run, self._start_up) * self._ratios.get(run.application, 1.0)
        return min(60.0 * run.minutes, self._cells.get(run.cell, max(guess, self._least[run.cell])))

    def spent(self, one: _Attempt) -> float:
        """Return the node seconds of an attempt, of one that runs never more than is expected of it."""
        return one.run.nodes * min(one.end - one.start + self._start_up, 60.0 * one.run.minutes)

    def _credit(self, one: _Attempt) -> float:
        return one.run.nodes * min(one.end - one.start, self.expected(one.run))

    def remaining(self, left: Sequence[Run], now: float) -> float | None:
        """Return the seconds until the last of the runs that are left has ended.

        Notes
        -----
        Node seconds left by node seconds a second, since this stretch of measuring began: waiting in the
        queue, nodes that other users have and the scheduler's own time are all in it. Never less than
        what the longest run that runs still needs. None before a run has ended.
        """
        begin = now
        for one in sorted((*self._running, *self._good), key=lambda one: one.end, reverse=True):
            if one.end < begin - _PAUSE:
                break
            begin = min(begin, one.start - self._start_up)
        finished = [one for one in self._good if one.start - self._start_up >= begin]
        if not finished:
            return None
        credit = sum(map(self._credit, self._running))
        done = sum(map(self.spent, finished)) + credit
        work = sum(run.nodes * self.expected(run) for run in left) - credit
        longest = max((self.expected(one.run) - (one.end - one.start) for one in self._running), default=0.0)
        return max(work * (now - begin) / done, longest, 0.0)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []


def _attempt(run: Run, path: Path) -> _Attempt | None:
    """Read when a good run began and ended; None where its record does not say."""
    record = folders.read_json(path)
    try:
        return _Attempt(run, float(record["start"]), float(record["end"]))
    except (ValueError, KeyError, TypeError):
        return None


def _states(jobs: Sequence[str]) -> dict[str, str] | None:
    """Ask Slurm for the states of all jobs at once; None where it does not answer."""
    if not jobs:
        return {}
    command = ["squeue", "--noheader", "--states=all", "--format=%A|%T", f"--jobs={','.join(jobs)}"]
    if (said := ask(command, 30)) is None:
        return None
    lines = (line.partition("|") for line in said.splitlines())
    return {job.strip(): state.strip() for job, _, state in lines}
