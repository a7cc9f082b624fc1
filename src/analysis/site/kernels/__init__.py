"""Execution of notebooks: parameters in, executed notebook and main figure out, the same bytes each time.

Starting kernels would take most of a build, so a page's kernel is *forked* from a process that has imported
the heavy modules: a small server (`analysis.site.kernels.server`) that Snakemake starts and that ends with
it, or, without one, the caller's own process. Nothing heavy is imported here: the client must start fast.
"""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Where a build's server listens, relative to the root: a socket's path may have 107 bytes.
SOCKET = Path(".snakemake/pages.sock")

# Set before the interpreter of a page starts. Hash order, thread counts and time stamps would otherwise
# appear in outputs; the backend is the one that JupyterLab uses.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


@dataclass(frozen=True, slots=True)
class NotebookRun:
    """A notebook to execute, and where its results go; paths are relative to `cwd`.

    The notebook's folder is the kernel's working folder, as in JupyterLab and nbval. `figure` gets the first
    SVG output of the cell tagged ``figure``, if one is named; `parameters` replace the defaults in the cell
    tagged ``parameters``. A `derived` page, which no configuration lists, may have too few runs: its answer
    is then that the campaign cannot tell.
    """

    notebook: str
    out: str
    figure: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    derived: bool = False
    cwd: str = field(default_factory=os.getcwd)

    @property
    def failed(self) -> Path:
        """Where the notebook goes if a cell fails."""
        return Path(self.cwd, self.out).with_suffix(".failed.ipynb")

    def record(self) -> dict[str, Any]:
        """Return the page as a dict of JSON's types."""
        return asdict(self)


class PageError(RuntimeError):
    """A notebook that failed: one line that names the notebook, the cell and what went wrong."""
