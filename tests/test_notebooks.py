"""The committed notebooks: their verdict cells are executed again and must say the same."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest

from analysis import pages
from analysis.estimates.contents import load_config

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# One of each kind, for every few minutes: a comparison, a scaling, calls, energy.
FEW = ("20-interconnect", "45-scaling", "57-mpi-calls", "85-energy-and-cost")

needs_notebooks = pytest.mark.skipif(not NOTEBOOKS, reason="notebooks/ is empty")


def campaigns() -> list[str]:
    """Name the campaigns that the notebooks' cells of parameters name: what `make datasets` builds."""
    known = {path.stem for path in (ROOT / "config/campaigns").glob("*.yaml")}
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    named = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ())]
    return sorted(known & {word for text in named for word in re.findall(r"[\w.-]+", text)})


def executed(notebook: Path) -> list[nbformat.NotebookNode]:
    """Return the cells that were committed executed: the only ones that nbval compares."""
    cells = nbformat.read(notebook, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code" and cell.execution_count is not None]


def nbval(folder: Path, *notebooks: Path, workers: int = 0) -> tuple[int, dict[str, int], str]:
    """Run nbval in a process of its own; return its status, counts of cells and output."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", f"--rootdir={ROOT}", "--nbval"]
    command += ["--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", "-n", str(workers), "--dist", "loadfile"]
    done = subprocess.run(
        [*command, *map(str, notebooks)], cwd=folder, capture_output=True, text=True, check=False
    )
    suite = ET.parse(report).getroot().find("testsuite")
    assert suite is not None, done.stdout + done.stderr
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    return done.returncode, counts, done.stdout + done.stderr


@needs_notebooks
@pytest.mark.datasets("vm-hpcg", "published-spechpc", "archer2-frequency")
@pytest.mark.parametrize(
    "few",
    [True, pytest.param(False, marks=[pytest.mark.slow, pytest.mark.datasets(*campaigns())])],
    ids=["few", "rest"],
)
def test_notebooks__say_again_what_was_committed(tmp_path: Path, few: bool) -> None:
    notebooks = [path for path in NOTEBOOKS if (path.stem in FEW) == few]
    assert len(notebooks) == (len(FEW) if few else len(NOTEBOOKS) - len(FEW))
    status, counts, output = nbval(tmp_path, *notebooks, workers=2)
    cells = sum(
        cell.cell_type == "code" for path in notebooks for cell in nbformat.read(path, as_version=4).cells
    )
    assert status == 0, output
    assert counts == {"tests": cells, "failures": 0, "errors": 0, "skipped": 0}, output


@needs_notebooks
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks__are_compared_where_they_give_verdicts(notebook: Path) -> None:
    compared = executed(notebook)
    assert compared, f"{notebook.name}: no executed cell, so nothing is compared; run make notebooks"
    assert [cell.metadata.get("tags") for cell in compared] == [["verdicts"]] * len(compared)
    for cell in compared:
        assert cell.outputs, f"{notebook.name}: a verdict cell without output compares nothing"
        assert not [output for output in cell.outputs if output.output_type == "error"]


@needs_notebooks
def test_notebooks__defaults_are_campaigns_that_a_report_builds() -> None:
    assert set(campaigns()) <= set(load_config(ROOT)["campaigns"])


@needs_notebooks
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks__are_short_and_begin_with_a_question(notebook: Path) -> None:
    cells = nbformat.read(notebook, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.splitlines()[0].startswith("# ")
    assert cells[0].source.splitlines()[0].endswith("?")
    assert len(code) <= 15
    assert max(len(cell.source.splitlines()) for cell in code) <= 20
    tags = [tag for cell in cells for tag in cell.metadata.get("tags", [])]
    assert tags.count("parameters") == 1


@pytest.mark.parametrize(
    ("said", "status"), [("7\n", 1), pytest.param("6\n", 0, marks=pytest.mark.slow)], ids=["other", "same"]
)
def test_notebooks__a_changed_verdict_fails(tmp_path: Path, said: str, status: int) -> None:
    output = nbformat.v4.new_output("stream", name="stdout", text=said)
    verdict = nbformat.v4.new_code_cell("print(2 * 3)", execution_count=2, outputs=[output])
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('not compared')"), verdict])
    nbformat.write(book, tmp_path / "one.ipynb")
    found, counts, _ = nbval(tmp_path, tmp_path / "one.ipynb")
    assert found == status
    assert counts == {"tests": 2, "failures": status, "errors": 0, "skipped": 0}


@needs_notebooks
def test_notebooks__call_what_the_room_of_pages_has() -> None:
    texts = [path.read_text(encoding="utf-8") for path in NOTEBOOKS]
    names = {name for text in texts for name in re.findall(r"\bpages\.([a-z_]+)\(", text)}
    assert len(names) > 40
    # A module of the same name would hide a function.
    assert [name for name in sorted(names) if not callable(getattr(pages, name, None))] == []
