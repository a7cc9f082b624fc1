"""Results of peers that come as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import as_utf8
from analysis.readers.format import Format
from analysis.readers.merits.output import Output, Row
from analysis.readers.text import is_number, number

_NAN = float("nan")


def items(content: Any, key: str) -> list[Any]:
    """Return a list of an object; empty if there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, list) else []


def text_of(content: Any, key: str) -> str:
    """Return a text of an object; empty if there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, str) else ""


def integer_of(content: Any, key: str) -> int:
    """Return a whole number of an object, be it a text; -1 if there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**31:
        return found
    return int(found) if isinstance(found, str) and found.isdecimal() and len(found) < 10 else -1


class Document:
    """A JSON object with figures; one that does not parse is refused, for half of it says nothing."""

    def __init__(self, data: bytes, source: str, key: str) -> None:
        try:
            content = json.loads(as_utf8(data))
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 0)
            found = f"broken JSON ({getattr(error, 'msg', 'too deep or a number too long')})"
            raise ReadError.at(source, line, found, "the file is cut or damaged; copy it again") from error
        if not isinstance(content, dict) or key not in content:
            raise ReadError.at(source, 1, f"no JSON object with {key!r}", "give the file of results")
        self.content: dict[str, Any] = content
        self.output = Output(b"", source)

    def add(
        self, name: str, entry: Any, key: str, unit: str, result: int, case: str = "", check: str = ""
    ) -> None:
        """Take a figure that is a number or a text with one; of anything else nothing."""
        value = entry.get(key) if isinstance(entry, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            # The step of a number in JSON is that of a double: nothing to widen an interval with.
            self.output.rows.append(Row(name, float(value), unit, _NAN, -1, result, case, "", check))
        elif isinstance(value, str) and is_number(value):
            self.output.rows.append(Row(name, number(value), unit, _NAN, -1, result, case, "", check))

    def dataset(self, row: Format, version: str = "") -> xr.Dataset:
        """Make the dataset; a figure speaks for the document if it is the only one."""
        self.output.facts["version"] = version
        return self.output.dataset(row, main=self.output.only_merit())
