"""The studies of `benchmarks/` as modules, so that a test can run a small part of one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from analysis.base import project


@contextmanager
def loaded(name: str) -> Iterator[ModuleType]:
    """Give the block ``benchmarks/<name>.py`` as a module; its dataclasses look it up among the modules."""
    path = project.root() / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]
