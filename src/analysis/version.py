"""Benchbook's version; apart from the package, as to ask for it takes longer than all else at a start."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("benchbook")
except PackageNotFoundError:  # a checkout that was never installed
    VERSION = "0+unknown"
