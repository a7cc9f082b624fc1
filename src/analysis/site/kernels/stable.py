"""Notebooks with the same bytes each time: what depends on the clock or on chance is removed."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat

from analysis.base.files import write_text

# Written by the tools at each execution; none of it is part of the result.
_CELL_METADATA = ("papermill", "execution", "ExecuteTime", "scrolled", "collapsed", "trusted")
_NOTEBOOK_METADATA = ("papermill", "widgets", "signature")

_KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# Without the interpreter's version: the committed notebooks serve every one.
_LANGUAGE = {
    "file_extension": ".py", "mimetype": "text/x-python", "name": "python", "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}  # fmt: skip

_CELL_FILE = re.compile(r"\S*[/\\]ipykernel_\d+[/\\]\d+\.py")
# xarray's folding sections: a prefix and a random UUID.
_UUID = re.compile(r"(?<=[a-z]-)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-f]{6,16}(?=>)")  # the default repr of an object
_STYLER = re.compile(r"\bT_[0-9a-f]{5}(?=[\" _{])")  # pandas' styled tables


def normalise(notebook: Any, ids: Sequence[str | None] = ()) -> None:
    """Remove from an executed notebook what would differ the next time; in place."""
    for key in _NOTEBOOK_METADATA:
        notebook.metadata.pop(key, None)
    notebook.metadata["kernelspec"] = dict(_KERNELSPEC)
    notebook.metadata["language_info"] = dict(_LANGUAGE)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    numbered: dict[str, str] = {}
    for index, cell in enumerate(notebook.cells):
        known = ids[index] if index < len(ids) else None
        cell["id"] = known or f"unnamed-{index}"
        for key in _CELL_METADATA:
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill adds an empty list
        if cell.cell_type == "code":
            cell.outputs = [_output(output, numbered) for output in _coalesce(cell.outputs)]


def read(path: str | Path) -> Any:
    """Read a notebook as format 4."""
    return nbformat.read(str(path), as_version=4)  # type: ignore[no-untyped-call]


def loads(text: str) -> Any:
    """Read the text of a notebook as format 4."""
    return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]


def dumps(notebook: Any) -> str:
    """Return the text of a notebook, with one newline at its end."""
    text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def write(notebook: Any, path: str | Path) -> None:
    """Write a notebook in one step; its folder is made if it does not exist."""
    write_text(path, dumps(notebook))


def _coalesce(outputs: Sequence[Any]) -> list[Any]:
    """Join the pieces of a stream: standard output, then standard error."""
    merged: list[Any] = []
    streams: dict[str, Any] = {}
    for output in outputs:
        if output.output_type != "stream":
            merged.append(output)
            streams = {}
        elif output.name in streams:
            streams[output.name].text += output.text
        else:
            streams[output.name] = output
            # The order of the two streams between two other outputs is random.
            before = "stderr" in streams and output.name == "stdout"
            merged.insert(len(merged) - 1 if before else len(merged), output)
    return merged


def _output(output: Any, numbered: dict[str, str]) -> Any:
    output.pop("transient", None)
    if output.output_type == "stream":
        output.text = _ADDRESS.sub("0x0", _CELL_FILE.sub("<cell>", output.text))
    plain = output.get("data", {}).get("text/plain")
    if isinstance(plain, str):
        output.data["text/plain"] = _ADDRESS.sub("0x0", plain)
    for kind in ("text/html", "image/svg+xml"):
        text = output.get("data", {}).get(kind)
        if isinstance(text, str):
            text = _UUID.sub(_number(numbered, "00000000-0000-4000-8000-{:012x}"), text)
            output.data[kind] = _STYLER.sub(_number(numbered, "T_{:05x}"), text)
    return output


def _number(numbered: dict[str, str], form: str) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        return numbered.setdefault(match[0], form.format(len(numbered)))

    return replace
