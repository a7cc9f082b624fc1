"""Snakemake for builds on this machine.

It starts faster than the plain command. The Slurm plugin is left out, because its import of pandas takes a
second. So is pandas itself, which Snakemake imports to see whether a parameter is a table. And the process
from which stages are forked imports its modules while Snakemake starts, not afterwards.
"""

from __future__ import annotations

import atexit
import gc
import os
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

_ALL = pkgutil.iter_modules


def _local(*arguments: Any, **options: Any) -> Iterator[pkgutil.ModuleInfo]:
    found = _ALL(*arguments, **options)
    return (module for module in found if not module.name.startswith("snakemake_executor_plugin_slurm"))


# Snakemake finds its plugins by listing all modules.
pkgutil.iter_modules = _local

from analysis.site.kernels.client import start  # noqa: E402


def run() -> int:
    """Hand the command line to Snakemake; return its exit status."""
    from snakemake.cli import main

    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


if "measure" in sys.argv:  # nothing else may run during a measurement
    status = run()
else:
    sys.modules["pandas"] = None  # type: ignore[assignment]
    gc.disable()  # it ends before its garbage matters
    with start():
        status = run()
# A normal exit would wait for a timer of Snakemake's scheduler and take all down in order: a second in all.
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
