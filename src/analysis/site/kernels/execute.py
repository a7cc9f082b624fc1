"""Executes one notebook with papermill in a forked kernel."""

import json
import logging
import re
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from papermill.translators import PythonTranslator

from analysis.base.files import write_text
from analysis.site.kernels import PageError, stable
from analysis.site.kernels.client import NotebookRun
from analysis.site.kernels.kernel import ForkedKernel, ForkedKernelManager

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_INJECTED = "injected-parameters"
_MARKER = "papermill-error-cell-tag"
_NOT_COVERED = "NotCoveredError"  # of `analysis.estimates`: the runs do not suffice
_NOTHING_DRAWN = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="360" height="40"><desc>Nothing could be drawn</desc>'
    '<text x="8" y="26">Nothing could be drawn from these runs.</text></svg>\n'
)


class _Engine(NBClientEngine):  # type: ignore[misc]
    """Saves a notebook at its end or when a cell failed: papermill saves it twice per cell."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> None:
        """Execute a notebook; save it afterwards, as far as it was executed."""
        out, nb_man.output_path = nb_man.output_path, None
        try:
            super().execute_managed_notebook(nb_man, kernel_name, **options)
        finally:
            nb_man.output_path = out


papermill_engines.register("page", _Engine)


def run(**page: Any) -> None:
    """Execute a notebook given by the fields of a `NotebookRun`."""
    execute(NotebookRun(**page))


def execute(page: NotebookRun) -> None:
    """Execute a notebook; to be called once in a process that has no threads yet.

    Raises `PageError` if the notebook cannot be read, a cell fails or the figure is missing. The partly
    executed notebook is kept as ``page.failed``, and the traceback goes to the standard error. A derived page
    is published as far as it was executed: its answer is what its runs do not show.
    """
    source = Path(page.cwd, page.notebook)
    out = Path(page.cwd, page.out)
    _check(page, source)
    kernel = ForkedKernel(source.parent)
    try:
        with tempfile.TemporaryDirectory(prefix="benchbook-page-") as folder:
            partial = Path(folder, "page.ipynb")
            try:
                papermill.execute_notebook(
                    str(source), str(partial), page.parameters, engine_name="page", kernel_name="python3",
                    language="python", progress_bar=False, cwd=str(source.parent),
                    km=ForkedKernelManager(kernel),
                )  # fmt: skip
            except Exception as error:
                if page.derived and isinstance(error, PapermillExecutionError) and partial.exists():
                    print(_trace(error), file=sys.stderr)
                    _publish(page, _unfinished(stable.read(partial), error))
                    return
                out.unlink(missing_ok=True)
                raise PageError(_explain(error, page, partial, kernel)) from error
            _publish(page, stable.read(partial))
    finally:
        kernel.close()


def _check(page: NotebookRun, source: Path) -> None:
    """Refuse a parameter that the notebook does not have, of which papermill would only warn."""
    logging.getLogger("papermill").setLevel(logging.ERROR)
    if not source.is_file():
        raise PageError(f"{page.notebook}: no such notebook; check the name")
    try:
        cells = stable.read(source).cells
    except Exception as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PageError(f"{page.notebook}:1: not a notebook ({what}); correct or restore the file") from error
    tagged = [cell for cell in cells if _tagged(cell, "parameters")]
    declared = [one.name for cell in tagged for one in PythonTranslator.inspect(cell)]
    for name in page.parameters:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise PageError(
                f"{page.notebook}:1: no parameter {name!r} in its cell tagged parameters; known: {known}"
            )


def _publish(page: NotebookRun, notebook: Any) -> None:
    """Write the figure and the executed notebook."""
    stable.normalise(notebook, _ids(page, notebook))
    if page.figure:
        write_text(Path(page.cwd, page.figure), _figure(page, notebook))
    stable.write(notebook, Path(page.cwd, page.out))
    page.failed.unlink(missing_ok=True)


def _unfinished(notebook: Any, error: PapermillExecutionError) -> Any:
    """Remove papermill's marks from an unfinished notebook; its answer becomes what its runs lack."""
    notebook.cells = [cell for cell in notebook.cells if not _tagged(cell, _MARKER)]
    if error.ename != _NOT_COVERED:
        return notebook  # a fault, which the page shows as such
    text = f"These runs cannot tell: {str(error.evalue).strip()}."
    data = {"text/markdown": text, "text/plain": text}
    output = nbformat.v4.new_output("display_data", data)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.output_type != "error"]
    answers = [cell for cell in notebook.cells if _tagged(cell, "answer") and not cell.outputs]
    reached = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    for cell in answers[:1] or reached[-1:]:
        cell.outputs.append(output)
    return notebook


def _ids(page: NotebookRun, notebook: Any) -> list[str | None]:
    """Return the identifier of each cell in the source; nbformat invents missing ones at random."""
    cells = json.loads(Path(page.cwd, page.notebook).read_text(encoding="utf-8")).get("cells", [])
    given = iter([cell.get("id") for cell in cells])
    return [
        _INJECTED if _tagged(cell, _INJECTED) else None if _tagged(cell, _MARKER) else next(given, None)
        for cell in notebook.cells
    ]


def _tagged(cell: Any, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def _figure(page: NotebookRun, notebook: Any) -> str:
    for cell in notebook.cells:
        for output in cell.get("outputs", []) if _tagged(cell, "figure") else []:
            data = output.get("data", {})
            text = data.get("image/svg+xml", "") or data.get("text/html", "")
            # The figure's file begins with the element: reports and pages embed it.
            drawn = re.search(r"<svg\b.*</svg>", text, re.DOTALL)
            if drawn:
                return drawn[0] + "\n"
    if page.derived:
        return _NOTHING_DRAWN
    raise PageError(
        f"{page.notebook}:1: no cell tagged figure has an SVG output; tag one, or give the page figure: false"
    )


def _explain(error: Exception, page: NotebookRun, partial: Path, kernel: ForkedKernel) -> str:
    """Keep the partly executed notebook, print the traceback, and return one line on what happened."""
    print(_trace(error), file=sys.stderr)
    if not partial.exists():
        return f"{page.notebook}:1: {_what(error, kernel)}; see the log"
    notebook = stable.read(partial)
    number = _failing_cell(notebook)
    stable.normalise(notebook, _ids(page, notebook))
    stable.write(notebook, page.failed)
    kept = Path(page.out).with_suffix(".failed.ipynb")
    return f"{page.notebook}:cell {number}: {_what(error, kernel)}; what was reached is in {kept}"


def _failing_cell(notebook: Any) -> int:
    """Count the cell that failed or was running, from 1, as the author of the notebook counts it."""
    number = 0
    for cell in notebook.cells:
        if _tagged(cell, _MARKER) or _tagged(cell, _INJECTED):
            continue
        number += 1
        state = cell.metadata.get("papermill", {})
        if state.get("exception") or state.get("status") in ("running", "failed"):
            break
    return number


def _what(error: Exception, kernel: ForkedKernel) -> str:
    if isinstance(error, PapermillExecutionError):
        lines = str(error.evalue).strip().splitlines()
        return f"{error.ename}: {lines[0]}" if lines else str(error.ename)
    if isinstance(error, DeadKernelError):
        status = kernel.poll()
        died = f"by signal {-status}" if status is not None and status < 0 else f"with status {status}"
        return f"the kernel died {died}"
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def _trace(error: Exception) -> str:
    if isinstance(error, PapermillExecutionError) and error.traceback:
        return _COLOURS.sub("", "\n".join(error.traceback))
    return "".join(traceback.format_exception(error))
