"""How far a campaign is: its state and its end, and the line below Snakemake's."""

from __future__ import annotations

import json
import logging
import shutil
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TextIO

from analysis.base import files, project, slurm
from analysis.measure import accounting, attempts, folders, waiting, workflow
from analysis.measure.cost import cost, duration, seconds
from analysis.measure.matrix import MatrixPlan, Run
from analysis.schema.stated import job_of

# A pause as long as this, in seconds, parts two stretches of measuring: nothing is said about its pace.
_PAUSE = 900.0
# Seconds between two looks: at folders, and, where something runs, one question to Slurm.
_INTERVAL = 10.0
# In a log: a line after this time, or at a change.
_EVERY = 60.0


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a campaign at one moment; each run of the matrix is counted once."""

    campaign: str
    done: int
    running: int
    failed: int  # an attempt failed and none runs or is good
    waiting: int
    node_hours: float  # measured
    node_hours_left: float  # expected of what is not done
    end: float | None  # when the last run is likely to end, s since 1970; None where nothing tells
    idle: bool = False  # `end` supposes that all nodes are free, because there is no pace to go by
    note: str = ""  # what could not be asked, or what is waited for

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

    If `resumed`, what failed before now waits again.
    """

    def __init__(self, plan: MatrixPlan, runs: Sequence[Run], *, resumed: bool = False) -> None:
        self._plan = plan
        self.runs = {run.name: run for run in runs}
        launch = plan.declared.launch
        self._base, self._campaign = plan.declared.base, plan.declared.name
        self._slurm = launch.scheduler == "slurm"
        self._start_up = launch.start_up
        self._done: dict[str, _Attempt | None] = {}
        self._seen = attempts.Seen()
        self._failed_before = frozenset(self._failures()) if resumed else frozenset()

    def look(self, now: float) -> Progress:
        """Return the state of the campaign at a moment in s since 1970."""
        # In this order: a run that ends meanwhile is seen twice, and never not at all.
        running, abandoned, note = self._running(now)
        self._read_done()
        running = {name: one for name, one in running.items() if name not in self._done}
        attempts = frozenset(self._failures()) - self._failed_before
        bad = set(map(files.attempted, attempts)) | abandoned
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
            note=note or accounting.waiting(self._base, self._campaign, now),
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
        return [name for name in found if files.attempted(name) in self.runs]

    def _read_done(self) -> None:
        """Read the records that are new; a folder without one is where Snakemake waits for it."""
        folder = folders.finished(self._base, self._campaign)
        there = {name for name in _names(folder) if name in self.runs}
        there = {name for name in there if (folder / name / folders.RECORD).is_file()}
        for name in self._done.keys() - there:
            del self._done[name]  # it has become a failed attempt
        for name in sorted(there - self._done.keys()):
            self._done[name] = _attempt(self.runs[name], folder / name / folders.RECORD)

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
            jobs[name] = job_of(owner)
        notes = attempts.without_end(self._base, self._campaign, self._seen) if self._slurm else {}
        started = {job_of(note) for note in notes.values()}
        asked = {*started, *jobs.values()} - {""}
        try:
            states = slurm.states(asked, 30) if self._slurm else {}
        except slurm.NoAnswerError:
            waits = f"; {attempts.of_jobs(len(started))} without a record yet" if started else ""
            return found, set(), f"Slurm does not answer{waits}"
        over = {job for job in asked if slurm.terminal(states.get(job, "CANCELLED"))}
        gone = {name for name, job in jobs.items() if job in over}
        again = {name for name, job in jobs.items() if states.get(job) == "PENDING"}
        left = f"{attempts.of_jobs(len(started & over))} and ended without a record yet"
        note = left if started & over else ""
        # A job that Slurm starts again waits, and what its last start has left does not run.
        return {name: one for name, one in found.items() if name not in gone | again}, gone, note


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
        """Return the seconds until the last of the runs that are left has ended; None before a run has ended.

        Node seconds left by node seconds a second, since this stretch of measuring began: queue, other users'
        nodes and the scheduler's time are in it. Never less than what the longest run that runs still needs.
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
    record = files.read_json(path)
    try:
        return _Attempt(run, float(record["start"]), float(record["end"]))
    except (ValueError, KeyError, TypeError):
        return None


def sentence(progress: Progress, now: float) -> str:
    """Write a state in one line, at a moment in s since 1970."""
    parts = [f"{progress.campaign}: {progress.done} of {progress.total} done"]
    counts = {"running": progress.running, "failed": progress.failed, "waiting": progress.waiting}
    parts += [f"{count} {name}" for name, count in counts.items() if count]
    hours = progress.node_hours + progress.node_hours_left
    text = f"{', '.join(parts)}; {progress.node_hours:.2f} of {hours:.2f} node hours"
    if progress.end is not None:
        free = ", if all nodes are free" if progress.idle else ""
        text += f"; end about {_clock(progress.end, now)}, in {duration(progress.end - now)}{free}"
    return f"{text}; {progress.note}" if progress.note else text


def _clock(moment: float, now: float) -> str:
    there, here = time.localtime(moment), time.localtime(now)
    return time.strftime("%H:%M" if there[:3] == here[:3] else "%a %d %b %H:%M", there)


class Watch:
    """Shows progress from a thread until it is stopped, by default on standard error as Snakemake does.

    `books` is called at each look: it keeps the books of what has arrived.
    """

    def __init__(
        self,
        campaign: str,
        base: Path,
        stream: TextIO | None = None,
        books: Callable[[], object] = lambda: None,
    ) -> None:
        self._books = books
        self._observer = _observer(campaign, base, resumed=True)
        self._stream = stream or sys.stderr
        self._total = len(self._observer.runs)
        self._live = self._stream.isatty()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._drawn = ""
        self._last: tuple[float, tuple[int, int, int]] = (0.0, (-1, -1, -1))
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> Watch:
        """Begin; Snakemake's messages go above the line."""
        if self._live:
            for handler in logging.getLogger("snakemake.logging").handlers:
                handler.addFilter(self._make_room)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End, with a last line that stays."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join(timeout=60)
        self._show(time.time(), last=True)
        if self._live:
            self._stream.write("\n")
            self._stream.flush()

    def _run(self) -> None:
        looked = -_INTERVAL
        # The first line is soon there, also of a campaign of seconds. It is drawn anew soon after a message
        # of Snakemake has taken its place.
        while not self._ended.wait(1.0 if self._live or looked < 0 else _INTERVAL):
            if time.monotonic() - looked >= _INTERVAL:
                self._show(time.time())
                looked = time.monotonic()
            elif self._live:
                self._draw(self._drawn)

    def _show(self, now: float, *, last: bool = False) -> None:
        try:
            if not last:
                self._books()
            progress = self._observer.look(now)
            # When it goes on depends on who gives the command again.
            progress = replace(progress, end=None) if last else progress
            text, state = sentence(progress, now), (progress.done, progress.running, progress.failed)
        except Exception as error:  # the campaign goes on without a line about it
            text, state = f"the progress is unknown: {type(error).__name__}: {error}", (-2, -2, -2)
        if self._live:
            self._draw(text)
            return
        due = now - self._last[0] >= _EVERY and state[0] < self._total
        if state != self._last[1] or due or (last and text != self._drawn):
            self._last, self._drawn = (now, state), text
            self._stream.write(text + "\n")
            self._stream.flush()

    def _draw(self, text: str) -> None:
        with self._lock:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\033[2K{text[:width]}")
            self._stream.flush()
            self._drawn = text

    def _make_room(self, record: logging.LogRecord) -> bool:
        with self._lock:
            self._stream.write("\r\033[2K")
            self._stream.flush()
        return True


def _observer(campaign: str, base: Path, *, resumed: bool = False) -> Observer:
    return Observer(workflow.plan(campaign, base), workflow.all_runs(campaign, base), resumed=resumed)


def print_progress(name: str, *, as_json: bool = False) -> int:
    """Print how far a campaign is, as the workflow that measures it does; from any shell."""
    base = project.root()
    now = time.time()
    state = _observer(name, base).look(now)
    if as_json:
        print(json.dumps(asdict(state), indent=1))
    else:
        print(sentence(state, now))
        for text in (*waiting.lines(waiting.jobs(name, base) or []), *workflow.failures(name, base)):
            print(text)
    return 0
