"""What all readers share: their contract, the collector of faults and the profile dataset.

A reader is a module with ``parse(data, source) -> Dataset`` and ``sniff(head, name) -> bool``.
``parse`` is pure: bytes in, dataset out, no file touched. It raises `ReadError` only where the
bytes are not of its format; of a damaged file it keeps what is whole, sets ``complete`` to false
and names each fault with its line. No value that the file does not give is ever zero: it is NaN,
-1 or an empty label.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import LOST, MAX_FAULTS, Fault
from analysis.readers.text import integer, number
from analysis.schema import registry

Parse = Callable[[bytes, str], xr.Dataset]


@dataclass
class Faults:
    """Collects what is wrong with one file, by the name `source`, while it is read."""

    source: str
    faults: list[Fault] = field(default_factory=list)
    complete: bool = True
    suppressed: int = 0

    def note(self, line: int, found: str, remedy: str) -> None:
        """Record an oddity that costs no data."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(self.source, line, found, remedy))
        else:
            self.suppressed += 1

    def damage(self, line: int, found: str, remedy: str) -> None:
        """Record a fault that costs data: the dataset is no longer complete."""
        self.complete = False
        self.note(line, found, remedy)

    def attrs(self) -> dict[str, Any]:
        """Return the dataset attributes ``complete`` and ``warnings``."""
        warnings = [str(fault) for fault in self.faults]
        if self.suppressed:
            warnings.append(f"{self.source}: {self.suppressed} more faults like these; not listed")
        return {"complete": self.complete, "warnings": warnings}


def labels(codes: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Spell out coded labels as objects; one string object a name, so that an entry costs 8 B."""
    table = np.empty(len(names), dtype=object)
    table[:] = list(names)
    spelt: np.ndarray = table[codes]
    return spelt


def typed(dtype: str, texts: Sequence[str]) -> np.ndarray:
    """Make a column of a declared type (``str``, ``f8`` or an integer) of the cells of a table.

    A cell that is no number is NaN or -1.
    """
    if dtype == "str":
        return np.array(texts, dtype=object)
    if dtype == "f8":
        return np.array([number(text) for text in texts], dtype=np.float64)
    return np.array([integer(text) for text in texts], dtype=np.int64)


def csv_rows(text: str, read: Callable[[list[str]], tuple[Any, str, str]], faults: Faults) -> Iterator[Any]:
    """Yield the rows of one of our CSV tables, below its heading.

    `read` turns the cells of a line into a row, its key and a fault, if any. A line with a fault or a
    repeated key is left out and listed.
    """
    seen: set[str] = set()
    lines = csv.reader(io.StringIO(text), strict=True)
    try:
        for cells in lines:
            if lines.line_num == 1 or not cells:
                continue
            row, key, wrong = read(cells)
            if not wrong and key in seen:
                wrong = f"{key} is there twice"
            if wrong:
                faults.damage(lines.line_num, wrong, LOST)
                continue
            seen.add(key)
            yield row
    except csv.Error as error:
        faults.damage(lines.line_num, f"is no CSV ({error})", "the lines before are kept")


def observations(call: Sequence[str] | np.ndarray, time: Any, **known: Any) -> dict[str, np.ndarray]:
    """Make the columns of a profile's observations, a call with its time in s each.

    `known` has other variables of dimension ``obs``, one value for all or a column; the rest is blank.
    """
    blank = {"rank": -1, "call": call, "size": -1, "peer": -1, "region": "", "site": -1, "count": -1}

    def column(name: str, values: Any) -> np.ndarray:
        dtype = object if name in ("call", "region") else None
        return np.asarray(values, dtype) if np.ndim(values) else np.full(len(call), values, dtype)

    given = {**blank, "time": time, "bytes": np.nan, **known}
    return {name: column(name, values) for name, values in given.items()}


def profile_dataset(
    *,
    obs: Mapping[str, np.ndarray],
    ranks: Mapping[str, np.ndarray],
    tool: str,
    tool_version: str,
    ranks_expected: int,
    faults: Faults,
    extra: Mapping[str, tuple[tuple[str, ...], np.ndarray]] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Build the dataset that every MPI profile becomes.

    `obs` has ``rank call size peer region site`` and ``count time bytes``, and further declared variables.
    `ranks` has ``host app_time mpi_time memory`` in rank order, one entry per *expected* rank: NaN (or an
    empty host) where the file says nothing.
    """
    coordinates = ("rank", "call", "size", "peer", "region", "site")
    ds = xr.Dataset(
        {name: ("obs", values) for name, values in obs.items() if name not in coordinates}
        | {name: ("rank", values) for name, values in ranks.items() if name != "host"}
        | dict(extra or {}),
        coords={name: labelled("obs", obs[name]) for name in coordinates}
        | {"host": labelled("rank", ranks["host"])},
        attrs={
            "tool": tool,
            "tool_version": tool_version,
            "ranks_expected": int(ranks_expected),
            **dict(attrs or {}),
            **faults.attrs(),
        },
    )
    return registry.conform(ds, "profile")


def labelled(dim: str, values: np.ndarray) -> xr.Variable:
    """Make a variable along a dimension; labels are objects and stay as they are."""
    # Without its fast path xarray sends every single label through pandas and back.
    return xr.Variable((dim,), values, fastpath=values.dtype == object and isinstance(values, np.ndarray))


def is_utf16(head: bytes) -> bool:
    """Tell whether a text is UTF-16 by its mark: PowerShell's ``>`` writes it."""
    return head[:2] in (b"\xff\xfe", b"\xfe\xff")


def as_utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without its byte order mark, from UTF-16 or UTF-8."""
    if is_utf16(data):
        return data.decode("utf-16", errors="replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf")
