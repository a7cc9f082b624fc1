"""A large mpiP report while it streams: its long sections in columns by the core, all else as text.

Call sites and their statistics are nearly all of a report. The core reads their rows as mpiP prints them; the
rest is a text without them, which the reader takes as it takes any report. What is unusual leaves the file to
that reader: a row of another form, a section that is cut, a fault whose line only the whole text has.
"""

import re
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from analysis.readers import core

_RULE = b"-" * 75
_TIME, _BYTES = (b"Name Site Rank Count Max Mean Min " + last for last in (b"App% MPI%", b"Sum"))
_SITES = b"ID Lev File/Address Line Parent_Funct MPI_Call"
_LONG = {
    "callsites": (rb"Callsites: \d+", _SITES),
    "time": (rb"Callsite Time statistics \(all, milliseconds\)(?:: \d+)?", _TIME),
    "sent": (rb"Callsite Message Sent statistics \(all, sent bytes\)(?:: \d+)?", _BYTES),
}
_HEAD = {
    kind: rb"(?<=-\n)(?P<%s>@--- %s -*\n%s\n *%s *\n)"
    % (kind.encode(), title, _RULE, rb" +".join(columns.split()))
    for kind, (title, columns) in _LONG.items()
}
_HEADS = re.compile(b"|".join(_HEAD.values()))
_LONGEST = 4096  # of a heading
_MOST_TEXT = 64 << 20


@dataclass
class Cut:
    """A report without the rows of its long sections: the text, and what was cut out."""

    text: bytearray = field(default_factory=bytearray)
    removed: dict[str, tuple[int, int]] = field(default_factory=dict)  # offset in the text, lines cut out
    names: list[str] = field(default_factory=list)
    # By kind: call, site, rank, count and numbers; of the call sites id, level and frame.
    columns: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    frames: list[bytes] = field(default_factory=list)


_OF_ROWS = {"Name": ("call", "u1"), "Site": ("site", "i4"), "Rank": ("peer", "i4"), "Count": ("count", "i4")}
_COLUMNS = {
    "callsites": {"id": ("site", "i4"), "level": ("peer", "i4"), "frame": ("size", "i4")},
    "time": _OF_ROWS | {"Max": ("largest", "f8"), "Mean": ("mean", "f8"), "Min": ("smallest", "f8")},
    "sent": _OF_ROWS | {"Sum": ("sum", "f8")},
}


def cut(stream: IO[bytes]) -> Cut | None:
    """Read a report; None if there is no core, or the report is not of the usual form."""
    instance = core.instance()
    if instance is None:
        return None
    found = Cut()
    while True:
        kind = _text(instance, stream, found)
        if kind is None or kind in found.columns:
            return None
        if not kind:
            break
        if not _section(instance, stream, found, kind):
            return None
    found.frames = instance.texts()
    return found if "time" in found.columns and b"\r" not in found.text else None


def _text(file: core.Core, stream: IO[bytes], found: Cut) -> str | None:
    """Take over text up to the rows of a long section and return its kind, empty at the end of the file."""
    while True:
        head = file.window[: file.filled].tobytes()
        match = _HEADS.search(head)
        if match is not None:
            found.text += head[: match.end()]
            file.drop(match.end())
            return str(match.lastgroup)
        spare = max(0, len(head) - _LONGEST)
        found.text += head[:spare]
        if len(found.text) > _MOST_TEXT:
            return None
        file.drop(spare)
        if not file.fill(stream, core.STEP):
            found.text += head[spare:]
            return ""


def _section(file: core.Core, stream: IO[bytes], found: Cut, kind: str) -> bool:
    """Read the rows of a section; whether all are of the usual form, and a rule and a heading follow."""
    blocks = {name: core.Blocks(dtype) for name, (_, dtype) in _COLUMNS[kind].items()}
    lines = 0
    while True:
        if kind == "callsites":
            state = file.call("mpip_sites", file.filled)
        else:
            state = file.call("mpip", file.filled, int(kind == "sent"))
        if state == core.NAME and not _register(file, found):
            return False
        if state == core.IRREGULAR:
            return False
        rows, moved = file.value("rows"), file.value("consumed")
        lines += file.value("lines")
        for name, (array, dtype) in _COLUMNS[kind].items():
            blocks[name].add(file.array(f"row_{array}", dtype, rows))
        file.drop(moved)
        if state == core.RULE:
            break
        if state == core.MORE and not moved:
            upto = core.WINDOW if file.filled >= core.STEP else core.STEP
            if not file.fill(stream, upto):
                return False
    if file.filled < _LONGEST:
        file.fill(stream, core.STEP)
    if file.window[: len(_RULE) + 6].tobytes() != _RULE + b"\n@--- ":
        return False
    found.removed[kind] = len(found.text), lines
    found.columns[kind] = {name: blocks.pop(name).joined() for name in _COLUMNS[kind]}
    return all(map(len, found.columns[kind].values()))


def _register(file: core.Core, found: Cut) -> bool:
    """Give the core the call that it met first; false if it is none, or there are too many."""
    name, code = file.wanted(), len(found.names)
    if code >= core.NAMES or name.startswith(b"_"):
        return False
    found.names.append(f"MPI_{name.decode()}")
    file.register(code, name)
    return True
