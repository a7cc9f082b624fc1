"""Tests that read built datasets: without these they are left out, loudly, and in CI they fail."""

from __future__ import annotations

import os

import pytest

from analysis.base import project

LEFT_OUT = "not built: run `make datasets`"


def absent(item: pytest.Item) -> str:
    """Say which of the datasets that a test reads, by its marks ``datasets(name, ...)``, are not there."""
    base = project.root(__file__)
    names = dict.fromkeys(name for mark in item.iter_markers("datasets") for name in mark.args)
    missing = [name for name in names if not (project.processed(name, base) / "campaign.nc").is_file()]
    return f"datasets of {', '.join(missing)} are {LEFT_OUT}" if missing else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests out whose datasets are not built, each with the reason; where CI is set they stay."""
    for item in items:
        if not _in_ci() and (reason := absent(item)):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail in CI where datasets are not built: nobody reads there what was left out."""
    if _in_ci() and (reason := absent(item)):
        pytest.fail(reason, pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a line of its own how many tests were left out for want of datasets."""
    left_out = [one for one in terminalreporter.getreports("skipped") if LEFT_OUT in str(one.longrepr)]
    if left_out:
        text = f"{len(left_out)} tests were left out: their datasets are {LEFT_OUT}"
        terminalreporter.write_sep("!", text, yellow=True, bold=True)


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")
