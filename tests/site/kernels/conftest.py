"""Small notebooks, and a server that lasts for a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from analysis.site.kernels.client import start

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the socket of a running server."""
    # A socket's path may have 107 bytes, so it is named relative to the working folder.
    path = Path(os.path.relpath(tmp_path_factory.mktemp("server") / "s"))
    with start(path):
        yield path


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a notebook of (tag, source) cells below a question."""

    def write(*cells: tuple[str, str], name: str = "page.ipynb") -> Path:
        found = [nbformat.v4.new_markdown_cell("# What is it?", id="question")]
        for number, (tag, source) in enumerate(cells):
            metadata = {"tags": [tag]} if tag else {}
            found.append(nbformat.v4.new_code_cell(source, id=f"code-{number}", metadata=metadata))
        path = tmp_path / "notebooks" / name
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=found), path)
        return path

    return write
