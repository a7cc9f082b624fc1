"""The progress line beside Snakemake: on a terminal it rewrites itself, in a log it comes again."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from analysis.campaign.estimate import duration
from analysis.campaign.progress import Observer, Progress
from analysis.campaign.workflow import all_runs, plan

# Seconds between two looks: at folders, and, where something runs, one question to Slurm.
_INTERVAL = 10.0
# In a log: a line after this time, or at a change.
_EVERY = 60.0


def sentence(progress: Progress, now: float) -> str:
    """Write a state in one line.

    Parameters
    ----------
    progress : Progress
    now : float
        Seconds since 1970.
    """
    parts = [f"{progress.campaign}: {progress.done} of {progress.total} done"]
    parts += [
        f"{count} {name}"
        for name, count in (
            ("running", progress.running),
            ("failed", progress.failed),
            ("waiting", progress.waiting),
        )
        if count
    ]
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
    """Shows a campaign's progress from a thread of its own until it is stopped.

    Parameters
    ----------
    campaign : str
    base : Path
    stream : file, optional
        Standard error by default, where Snakemake writes too.
    """

    def __init__(self, campaign: str, base: Path, stream: TextIO | None = None) -> None:
        self._observer = Observer(plan(campaign, base), all_runs(campaign, base), resumed=True)
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
        # The line is drawn anew soon after a message of Snakemake has taken its place.
        while not self._ended.wait(1.0 if self._live else _INTERVAL):
            if time.monotonic() - looked >= _INTERVAL:
                self._show(time.time())
                looked = time.monotonic()
            elif self._live:
                self._draw(self._drawn)

    def _show(self, now: float, *, last: bool = False) -> None:
        try:
            progress = self._observer.look(now)
            # When it goes on depends on who gives the command again.
            progress = replace(progress, end=None) if last else progress
            text, state = sentence(progress, now), (progress.done, progress.running, progress.failed)
        except Exception as error:  # the campaign goes on without a line about it
            text, state = f"progress cannot be told: {type(error).__name__}: {error}", (-2, -2, -2)
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
