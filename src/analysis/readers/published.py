"""Published figures: ``figures.csv``, one figure per line with its place in the source and its conditions.

The table is ours, the figures are other people's. Each line names a source; ``sources.csv`` in the same
folder has its address. Figures of the same run share the name in ``run``.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, csv_rows
from analysis.readers.text import decode, is_number
from analysis.schema import registry

_DECLARED = registry.declared("published")
COLUMNS = tuple(_DECLARED)
COUNTS = tuple(name for name in COLUMNS if _DECLARED[name].dtype == "i8")
# How a source gives a number; an empty one is as it stands.
QUALIFIERS = ("", "about", "over", "at most", "range", "suspect")

SOURCES = "sources.csv"


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are a table of published figures."""
    return sorted(_columns(decode(head))) == sorted(COLUMNS)


def _columns(text: str) -> list[str]:
    """Return the columns that the first line names, in any order."""
    return text.lstrip("\ufeff").partition("\n")[0].strip().split(",")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a table of published figures: kind ``published``, one entry a figure, in the file's order.

    A line that cannot be used is left out and named.
    """
    if not sniff(data):
        raise ReadError.at(source, 1, "does not begin with the columns of figures.csv", ",".join(COLUMNS))
    faults = Faults(source)
    rows = list(_rows(decode(data), faults))
    about = {"tool": "published", "tool_version": ""}
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    return registry.of_values(columns, "published", {**about, **faults.attrs()})


def _rows(text: str, faults: Faults) -> Iterator[dict[str, Any]]:
    columns = _columns(text)

    def read(cells: list[str]) -> tuple[dict[str, Any], str, str]:
        row, wrong = _row(cells, columns)
        return row, f"figure {row.get('figure')!r}", wrong

    yield from csv_rows(text, read, faults)
    if not text.endswith("\n"):
        faults.damage(text.count("\n") + 1, "the last line has no end", "it may be cut; copy the file again")


def _row(cells: list[str], columns: list[str]) -> tuple[dict[str, Any], str]:
    """Return a line's values by column, and what is wrong with it."""
    if len(cells) != len(COLUMNS):
        return {}, f"{len(cells)} cells, the table has {len(COLUMNS)} columns"
    row: dict[str, Any] = dict(zip(columns, cells, strict=True))
    for name in ("figure", "source", "metric", "unit"):
        if not row[name]:
            return row, f"has no {name}"
    if row["qualifier"] not in QUALIFIERS:
        return row, f"qualifier {row['qualifier']!r} is not one of {', '.join(filter(None, QUALIFIERS))}"
    for name in COUNTS:
        if row[name] and not (row[name].isdecimal() and len(row[name]) < 16):
            return row, f"{name} {row[name][:40]!r} is no count"
        row[name] = int(row[name] or -1)
    for name in ("value", "high"):
        if not is_number(row[name] or "nan"):
            return row, f"{name} {row[name][:40]!r} is no number"
        row[name] = float(row[name] or "nan")
    if not math.isfinite(row["value"]):
        return row, "has no finite value"
    if (row["qualifier"] == "range") != (row["high"] > row["value"]):
        return row, "a range has an upper end above its value, and nothing else has one"
    return row, ""


def load_sources(raw: Path) -> pd.DataFrame:
    """Load the table of sources: columns ``source title address``, text."""
    path = raw / SOURCES
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise ReadError.at(str(path), 0, f"cannot be read ({error})", "restore it") from error
    if list(table.columns) != ["source", "title", "address"]:
        raise ReadError.at(str(path), 1, f"columns {', '.join(table.columns)}", "use source,title,address")
    return table
