"""A small project of its own: two campaigns of three real runs each, two pages, the real workflow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
RUNS = {"one": ("001", "002", "004"), "two": ("001", "023")}

CONFIG = """\
campaigns: [one, two]
reports:
  hpcg2014: [two, one]
pages:
  - { name: first, notebook: plain.ipynb, campaign: one, report: hpcg2014, topics: [problem size] }
  - { name: second, notebook: plain.ipynb, campaign: two, report: hpcg2014, figure: false }
"""


def notebook(*cells: tuple[str, str]) -> nbformat.NotebookNode:
    """Make a notebook of (tag, source) code cells below a question."""
    found = [nbformat.v4.new_markdown_cell("# How many runs are there?", id="question")]
    for number, (tag, source) in enumerate(cells):
        metadata = {"tags": [tag]} if tag else {}
        found.append(nbformat.v4.new_code_cell(source, id=f"code-{number}", metadata=metadata))
    return nbformat.v4.new_notebook(cells=found)


def make_project(base: Path) -> Path:
    """Lay the project out in an empty folder."""
    for name in ("workflow", "slurm", "config/applications"):
        shutil.copytree(ROOT / name, base / name)
    # A copy: whoever edits the package meanwhile does not make this project out of date.
    shutil.copytree(ROOT / "src", base / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "environment.yml", base)
    (base / "config/config.yaml").write_text(CONFIG)
    shutil.copytree(ROOT / "config/claims", base / "config/claims")
    (base / "config/campaigns").mkdir()
    for campaign, runs in RUNS.items():
        declared = (ROOT / "config/campaigns/vm-hpcg.yaml").read_text().splitlines(keepends=True)
        kept = "".join(line for line in declared if not line.startswith("reports:"))
        (base / f"config/campaigns/{campaign}.yaml").write_text(kept)
        for run in runs:
            to = base / "data/raw" / campaign / "runs" / run
            shutil.copytree(ROOT / "data/raw/vm-hpcg/runs" / run, to)
            record = json.loads((to / "run.json").read_text())
            (to / "run.json").write_text(json.dumps(record | {"campaign": campaign}, indent=1))
    (base / "notebooks").mkdir()
    plain = notebook(
        ("parameters", 'campaign = "one"\nreport = "hpcg2014"\ntopics = []'),
        ("", "import matplotlib.pyplot as plt"),
        ("", "from analysis import storage\nfrom analysis.base import project"),
        ("", 'runs = storage.read_tree(project.processed(campaign) / "campaign.nc")["runs"].to_dataset()'),
        ("figure", "%config InlineBackend.figure_formats = ['svg']\nplt.plot(runs['repeat'].values);"),
        ("verdicts", "print(campaign, report, runs.sizes['run'], 'runs')"),
    )
    nbformat.write(plain, base / "notebooks/plain.ipynb")
    return base


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project in which nothing has been built."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that was built once; what a test changes there it has to undo."""
    base = make_project(tmp_path_factory.mktemp("built") / "project")
    done = run_snakemake(base, "--cores", "2")
    assert done.returncode == 0, done.stderr
    return base


def run_snakemake(base: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a project, as a user would."""
    environment = {**os.environ, "PATH": path or os.environ["PATH"], "XDG_CACHE_HOME": str(base / ".cache")}
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=base,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
