"""Files that no reader recognises: what they look like, which reader came close."""

import json
import re
from collections.abc import Iterable, Iterator

from analysis.readers.base import as_utf8
from analysis.readers.format import Format
from analysis.readers.text import printable

ADD = "docs/formats.md says what is read and how to add a format"
_LONGEST = 60  # characters of a line that are shown
_MOST_JSON = 1_000_000  # bytes that are parsed to name the keys
_MOST = 3  # readers that are named
_ODD = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\x1b")  # in no text
# First bytes of what is no text -> what it is.
_BINARIES = {
    b"\x7fELF": "an ELF program or core",
    b"\x89HDF\r\n\x1a\n": "HDF5",
    b"CDF\x01": "netCDF",
    b"CDF\x02": "netCDF",
    b"PK\x03\x04": "a zip archive",
    b"%PDF": "PDF",
    b"\x89PNG": "a PNG picture",
    b"SQLite format 3": "an SQLite database",
    b"OTF2": "an OTF2 trace",
    b"HPCPROF-": "a profile of HPCToolkit: give the folder of its database",
    b"HPCTOOLKIT": "a part of a database of HPCToolkit: give its folder",
    b"\x28\xb5\x2f\xfd": "Zstandard inside another compression",
}


def found(data: bytes) -> str:
    """Say that a file has no known format, and what it looks like, with its first informative line."""
    if not data.strip():
        return "is empty"
    return f"has no known format: {_kind(data)}"


def remedy(data: bytes, rows: Iterable[Format]) -> str:
    """Say which formats came close to a file and what they missed, and where to read on."""
    near = list(_near(as_utf8(data), rows))[:_MOST]
    return f"{'; '.join([*near, ADD])}" if near else ADD


def _kind(data: bytes) -> str:
    for mark, name in _BINARIES.items():
        if data.startswith(mark):
            return name
    text = as_utf8(data)
    head = text[:4096]
    odd = len(head) - len(head.translate(None, _ODD))
    if odd * 20 > len(head):
        return f"binary, begins with {head[:8].hex(' ')}"
    lines = (line.strip() for line in head.splitlines())
    line = next((one for one in lines if re.search(rb"\w", one)), head.strip())
    shown = printable(line)
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
    return f"{_form(head, text)}, first line {shown!r}"


def _form(head: bytes, text: bytes) -> str:
    start = head.lstrip()
    if start[:1] in (b"{", b"["):
        return _json(text)
    if start.startswith(b"<"):
        tag = re.search(rb"<([A-Za-z_][\w:.-]{0,40})", start)
        return f"XML or HTML of <{printable(tag[1])}>" if tag else "XML or HTML"
    rows = [row for row in head.splitlines()[:6] if row.strip()]
    for mark, name in ((b",", "commas"), (b";", "semicolons"), (b"|", "bars"), (b"\t", "tabs")):
        cells = [row.count(mark) + 1 for row in rows[:-1] or rows]
        if cells and min(cells) == max(cells) > 1:
            return f"a table of {cells[0]} columns between {name}"
    return "text"


def _json(text: bytes) -> str:
    if len(text) > _MOST_JSON:
        return "JSON"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return "JSON that is cut, damaged or one document after another"
    if isinstance(content, dict):
        keys = ", ".join(printable(str(key)[:20].encode()) for key in list(content)[:5])
        return f"JSON with the keys {keys}" if keys else "JSON without keys"
    return "a JSON list"


def _near(text: bytes, rows: Iterable[Format]) -> Iterator[str]:
    for row in rows:
        hit = re.search(row.near.encode(), text) if row.near else None
        if hit:
            missed = [printable(one) for one in next(row.groups(), ()) if one not in text]
            what = f"without {' and '.join(map(repr, missed))}" if missed else "but not in its reader's form"
            yield f"near {row.engine}: has {printable(hit[0])!r} {what}"
