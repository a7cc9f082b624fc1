"""Snakemake for builds on this machine: without the Slurm plugin, whose import of pandas costs a second."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from typing import Any

_ALL = pkgutil.iter_modules


def _local(*arguments: Any, **options: Any) -> Iterator[pkgutil.ModuleInfo]:
    found = _ALL(*arguments, **options)
    return (module for module in found if not module.name.startswith("snakemake_executor_plugin_slurm"))


# Snakemake finds its plugins by listing all modules.
pkgutil.iter_modules = _local

from snakemake.cli import main  # noqa: E402

main()
