"""Where a project's files are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError


def test_project__finds_its_root_from_below_and_says_if_there_is_none(tmp_path: Path) -> None:
    base = tmp_path
    (base / "config").mkdir()
    (base / "data/raw/one").mkdir(parents=True)
    (base / project.CONFIG).touch()
    assert project.root(base / "data/raw/one") == base
    (base / project.CONFIG).unlink()
    with pytest.raises(ConfigError, match=r"no config/config\.yaml here or above"):
        project.root(base)


def test_project__starts_without_what_is_slow_to_import() -> None:
    code = (
        "import sys, analysis.estimates.contents, analysis.site.kernels.client; print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "xarray", "papermill", "jsonschema"} & set(done.stdout.split())
