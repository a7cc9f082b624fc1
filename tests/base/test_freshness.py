"""Whether anything changed since a build, in a project made by hand."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from analysis.base.project import changed_since_build as changed
from analysis.base.project import note_build as remember

TREE = "data/processed/mine/campaign.nc"
RAW = "data/raw/mine/runs/1/stdout.txt"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that was built a second ago, and nothing changed since."""
    for name in ("config/config.yaml", RAW, TREE, "results/verdicts.json", "workflow/Snakefile"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    time.sleep(0.02)
    remember(tmp_path, time.time_ns())
    time.sleep(0.02)
    assert not changed(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["config/config.yaml", RAW, "workflow/Snakefile", "data/model/new.csv"])
def test_changed__a_source_that_is_written(project: Path, name: str) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("y")
    assert changed(project)


def test_changed__a_copy_that_keeps_its_old_time(project: Path) -> None:
    (project / RAW).write_text("y")
    os.utime(project / RAW, (0, 0))
    assert changed(project)


@pytest.mark.parametrize("name", [RAW, TREE, "results/verdicts.json", "results/logs/evidence.built"])
def test_changed__what_is_gone(project: Path, name: str) -> None:
    (project / name).unlink()
    assert changed(project)


def test_changed__a_source_written_during_the_build(project: Path) -> None:
    began = time.time_ns()
    time.sleep(0.02)
    (project / "config/config.yaml").write_text("y")
    remember(project, began)
    assert changed(project)


def test_changed__neither_an_output_nor_compiled_code_is_a_source(project: Path) -> None:
    (project / TREE).write_text("y")
    (project / "workflow/scripts/__pycache__").mkdir(parents=True)
    remember(project, time.time_ns())
    time.sleep(0.02)
    (project / "workflow/scripts/__pycache__/x.pyc").write_text("y")
    (project / "config/nowhere").symlink_to("gone")
    os.utime(project / TREE)
    remember(project, time.time_ns() + 10**9)
    assert not changed(project)


def test_changed__where_nothing_was_built(tmp_path: Path) -> None:
    assert changed(tmp_path)
