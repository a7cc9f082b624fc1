"""Snakemake for builds on this machine.

It starts faster than the plain command. The Slurm plugin is left out, because its import of pandas takes a
second. So is pandas itself, which Snakemake imports to see whether a parameter is a table. And the process
from which stages are forked imports its modules while Snakemake starts, not afterwards.

With ``--one-line`` it shows its progress in one line, and otherwise only warnings and errors. ``--whole``
says that the build has all evidence in it, which is then noted. With ``--if-changed`` it ends at once if no
source is younger than the last such build.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import pkgutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.base import project


def _given(flag: str) -> bool:
    """Tell whether the command line has a flag of ours, and take it out: the rest is Snakemake's."""
    given = flag in sys.argv
    sys.argv[:] = [one for one in sys.argv if one != flag]
    return given


if _given("--if-changed") and not project.changed_since_build(Path.cwd()):
    sys.exit()

_ALL = pkgutil.iter_modules


def _local(*arguments: Any, **options: Any) -> Iterator[pkgutil.ModuleInfo]:
    found = _ALL(*arguments, **options)
    return (module for module in found if not module.name.startswith("snakemake_executor_plugin_slurm"))


# Snakemake finds its plugins by listing all modules.
pkgutil.iter_modules = _local

from analysis.site.kernels.client import start  # noqa: E402


class _OneLine(logging.Filter):
    """Replaces Snakemake's messages by one line of progress; warnings and errors stay.

    On a terminal the line is written over, elsewhere there is one for each tenth of the steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self._live = sys.stderr.isatty()
        self._tenth = 0
        if self._live:
            print("looking for what is out of date", end="", file=sys.stderr, flush=True)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let warnings and errors through; show how many steps are done."""
        event = str(getattr(record, "event", "")).lower()
        if event.endswith("progress"):
            done, total = record.done, record.total  # type: ignore[attr-defined]
            self._show(done, total)
        problem = record.levelno >= logging.WARNING
        if problem and self._live:
            print(file=sys.stderr)
        return problem

    def _show(self, done: int, total: int) -> None:
        end = done == total
        if self._live:
            print(f"\r\x1b[K{done} of {total} steps", end="\n" if end else "", file=sys.stderr, flush=True)
        elif end or done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            print(f"{done} of {total} steps", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def run() -> int:
    """Hand the command line to Snakemake; return its exit status."""
    from snakemake.cli import main
    from snakemake.logging import logger

    line = None
    if _given("--one-line"):
        logger.addFilter(line := _OneLine())
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        if line:
            line.end()
    return 0


whole = _given("--whole")
began = time.time_ns()
if "measure" in sys.argv:  # nothing else may run during a measurement
    status = run()
else:
    sys.modules["pandas"] = None  # type: ignore[assignment]
    gc.disable()  # it ends before its garbage matters
    with start():
        status = run()
if whole and status == 0:
    project.note_build(Path.cwd(), began)
# A normal exit would wait for a timer of Snakemake's scheduler and take all down in order: a second in all.
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
