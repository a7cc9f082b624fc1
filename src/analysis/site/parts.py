"""Parts of a long page: each is a script of its own, read when the part is opened, looked for or printed."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from analysis.site.board import Board

# B of rows that a page has without groups, and of a table behind a fold.
_ROWS, _FOLD = 100_000, 20_000


class Parts:
    """The parts of all pages, by name: HTML that is not in the page itself."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def many(self, rows: str) -> bool:
        """Tell whether a page has so many rows that they come in groups."""
        return len(rows.encode()) > _ROWS

    def long(self, table: str) -> bool:
        """Tell whether a table behind a fold is long enough to be a part."""
        return len(table.encode()) > _FOLD

    def put(self, name: str, content: str) -> str:
        """Take content out of a page; return the name under which the page finds it."""
        self.found[name] = str(content)
        return name


def registered(name: str, value: Any) -> str:
    """Return a script that registers a value: a page that is opened as a file may read no other data."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"benchbook.take({json.dumps(name)}, {text});\n"


def topics(board: Board, macros: Any, named: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Write the rows of each topic, with the details that a row reads when it is opened.

    `macros` are those of a row's template, `named` the reports that have a page. Gives name and script.
    """
    for group in board.groups:
        rows = "".join(macros.row(row) for row in group.rows)
        details = {row.anchor: str(macros.detail(row, named)) for row in group.rows}
        yield group.anchor, registered(group.anchor, {"rows": rows, "details": details})


def by_place(inputs: Sequence[tuple[str, str]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Group sorted raw files, as (path, SHA-256), by their campaign, others by their folder."""
    return [(place, list(some)) for place, some in groupby(inputs, key=lambda one: _place(one[0]))]


def _place(path: str) -> str:
    parts = PurePosixPath(path).parts
    return "/".join(parts[: 3 if parts[:2] == ("data", "raw") else 1] if len(parts) > 1 else parts[:1])


def sums(inputs: Sequence[tuple[str, str]]) -> str:
    """List raw files as `sha256sum --check` reads them, without those whose sum is not known."""
    return "".join(f"{digest}  {path}\n" for path, digest in inputs if digest)
