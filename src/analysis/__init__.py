"""Benchbook: the conclusions of HPC benchmark reports, rebuilt from raw files."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("benchbook")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
