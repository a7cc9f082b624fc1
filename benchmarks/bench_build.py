"""Time of a whole build beside its peers: plain papermill for the pages, a bare Snakemake for the no-op.

Works on a copy of the tracked files in a temporary folder; prints ratios and asserts nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all"]
BARE = "rule all:\n    output: 'done'\n    shell: 'touch done'\n"


def seconds(command: list[str], folder: Path) -> float:
    """Run a command in `folder`, on the copy's own sources; return its wall-clock time in s."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def copy(folder: Path) -> Path:
    """Copy what git tracks into `folder`."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, target)
    return folder


def bare_noop(folder: Path) -> float:
    """Time Snakemake where a single finished rule is all there is."""
    folder.mkdir()
    (folder / "Snakefile").write_text(BARE)
    seconds(SNAKEMAKE, folder)
    return seconds(SNAKEMAKE, folder)


def papermill(project: Path, out: Path) -> tuple[float, int]:
    """Execute every notebook with the plain papermill command, one kernel start each."""
    notebooks = sorted((project / "notebooks").glob("*.ipynb"))
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(project / "notebooks")]
    return sum(seconds([*command, str(book), str(out / book.name)], project) for book in notebooks), len(
        notebooks
    )


def main() -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = copy(folder / "project")
        cold = seconds(SNAKEMAKE, project)
        pages = len(list((project / "results" / "notebooks").glob("*.ipynb")))
        noop = seconds(SNAKEMAKE, project)
        bare = bare_noop(folder / "bare")
        (folder / "out").mkdir()
        plain, notebooks = papermill(project, folder / "out")
    alone = plain / notebooks
    print(f"build: cold {cold:.1f} s for {pages} pages; plain papermill takes {alone:.1f} s a notebook")
    print(f"build: cold / plain papermill for as many notebooks in turn = {cold / (alone * pages):.2f}")
    print(f"build: no-op {noop:.1f} s, over a bare Snakemake's {bare:.1f} s = {noop / bare:.2f}")


if __name__ == "__main__":
    main()
