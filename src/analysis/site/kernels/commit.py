"""Prepares notebooks for a commit: only the verdict cells keep their output.

nbval compares a cell only if it was committed with an execution count. A figure's bytes change with the
drawing library, the words of a verdict must not.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from analysis.site.kernels import stable
from analysis.site.kernels.client import NotebookRun, request, start

VERDICTS = "verdicts"


def commit(notebooks: Sequence[str | Path], *, jobs: int = 2) -> list[str]:
    """Execute notebooks with their default parameters, `jobs` at once, and write them back for a commit.

    Return a line for each notebook that failed; it is left as it was.
    """
    with tempfile.TemporaryDirectory(prefix="benchbook-") as folder:
        server = Path(folder, "s")
        with start(server), ThreadPoolExecutor(max(1, jobs)) as pool:
            faults = pool.map(lambda path: _commit(Path(path), server), notebooks)
            return [fault for fault in faults if fault]


def strip(notebook: Any) -> int:
    """Remove the outputs of all cells but the verdicts, in place; return how many nbval will compare."""
    kept = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if VERDICTS in cell.metadata.get("tags", []) and cell.execution_count is not None:
            kept += 1
        else:
            cell.outputs, cell.execution_count = [], None
    return kept


def _commit(path: Path, server: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="benchbook-commit-") as folder:
        out, log = Path(folder, "executed.ipynb"), Path(folder, "log")
        fault = request(NotebookRun(os.path.relpath(path), str(out)), log, server=server)
        if fault:
            # The folder is removed, so the message names the traceback and not the folder.
            return f"{log.read_text(encoding='utf-8', errors='replace')}{fault.split('; what was')[0]}"
        notebook = stable.read(out)
    if not strip(notebook):
        return f"{path}:1: no cell tagged {VERDICTS}; nothing in it would be compared, so tag one"
    stable.write(notebook, path)
    return ""


def clean(name: str = "") -> None:
    """Copy a notebook from standard input to standard output as it is committed: a filter of git.

    Given its name, verdicts that a run did not reach stay as git has them, if no code changed.
    """
    notebook = stable.loads(sys.stdin.read())
    stable.normalise(notebook, [cell.get("id") for cell in notebook.cells])
    strip(notebook)
    code = _code(notebook)
    told = subprocess.run(("git", "show", f":{name}"), capture_output=True, text=True, check=False)
    known = _code(stable.loads(told.stdout)) if name and not told.returncode else []
    if [cell.source for cell in known] == [cell.source for cell in code]:
        for cell, before in zip(code, known, strict=True):
            if cell.execution_count is None:
                cell.outputs, cell.execution_count = before.outputs, before.execution_count
    for count, cell in enumerate(code, 1):  # as one run from the top numbers them
        cell.execution_count = cell.execution_count and count
    sys.stdout.write(stable.dumps(notebook))


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--clean"]:
        clean(*sys.argv[2:])
    else:
        sys.exit("\n".join(commit(sys.argv[1:])) or 0)
