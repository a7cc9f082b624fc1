"""Slurm accounting: ``sacct --parsable2`` with any columns and delimiter, and ``sacct --json``.

The table prints local time without its zone, the JSON form epoch seconds. A cluster without power
meters reports an energy of 0 or none: the dataset cannot tell 0 from "no meter", so it says so when no
record has any. Slurm's K, M, G of memory are powers of 1024.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from analysis import schema
from analysis.errors import ReadError
from analysis.readers import sacct_json
from analysis.readers.base import Faults
from analysis.readers.textio import decode, integer, number, whole_lines

# A header of at least two fields of sacct, one of which identifies the record.
_HEADER = re.compile(rb"\s*(?:\w+(?:[^\w\s]+|\t))*?JobID(?:Raw)?(?:[^\w\s]|\t|\s*$)", re.MULTILINE)
_JSON = re.compile(rb'\s*\{.*"jobs"\s*:', re.DOTALL)
_SLURM = re.compile(rb'"(?:job_id|slurm|steps|allocation_nodes)"|slurm', re.IGNORECASE)
_SEPARATOR = re.compile(r"(?<=\w)([^\w\s]+|\t)(?=\w)")

_TIME = re.compile(r"(?:19[7-9]\d|20\d\d|21\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d")
_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:[.,]\d+)?)")
_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)([KMGTPE]?)")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
# NO_VAL64 and its like stand for "never measured".
_NO_VALUE = 1.8e19

_BLANKS: dict[str, Any] = {
    "job_id": "",
    "step": "",
    "job_name": "",
    "state": "",
    "exit_code": -1,
    "exit_signal": -1,
    "submit": np.datetime64("NaT", "ns"),
    "start": np.datetime64("NaT", "ns"),
    "end": np.datetime64("NaT", "ns"),
    "elapsed": math.nan,
    "nodes": -1,
    "cpus": -1,
    "node_list": "",
    "memory_max": math.nan,
    "memory_mean": math.nan,
    "cpu_time": math.nan,
    "energy": math.nan,
    "comment": "",
    "resources": "",
}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like sacct's output.

    Parameters
    ----------
    head : bytes
    name : str, optional
        Not used.
    """
    if _JSON.match(head):
        return _SLURM.search(head) is not None
    return _header(head.lstrip().split(b"\n", 1)[0])


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read accounting records.

    Parameters
    ----------
    data : bytes
    source : str, optional
        Name that faults carry.

    Returns
    -------
    Dataset
        Of kind ``sacct``, jobs and steps in the file's order; columns that were not asked for are blank.
        Attribute ``time_zone``: ``UTC`` for JSON, else ``as printed by sacct``.

    Raises
    ------
    ReadError
        If the bytes are neither a table with sacct's header nor its JSON.
    """
    faults = Faults(source)
    attrs = {"tool": "sacct", "tool_version": "", "time_zone": "UTC"}
    if _JSON.match(data):
        records, attrs["tool_version"] = sacct_json.records(decode(data), faults)
        fields = set(_BLANKS)
    else:
        attrs["time_zone"] = "as printed by sacct"
        records, fields = _table(data, faults)
    _check_energy(records, fields, faults)
    columns = {
        name: ("record", _column(variable.dtype, [record.get(name, _BLANKS[name]) for record in records]))
        for name, variable in schema.declared("sacct").items()
    }
    return schema.conform(xr.Dataset(columns, attrs={**attrs, **faults.attrs()}), "sacct")


def duration(text: str) -> float:
    """Read Slurm's durations.

    Parameters
    ----------
    text : str
        ``[days-][hours:]minutes:seconds[.fraction]``.

    Returns
    -------
    float
        Seconds; NaN for anything else (``INVALID``, ``UNLIMITED``, blank).
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        return math.nan
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    return days * 86_400 + hours * 3_600 + minutes * 60 + number(match[4])


def memory(text: str, base: int = 1024) -> float:
    """Read a quantity with Slurm's suffix.

    Parameters
    ----------
    text : str
        ``52064K``.
    base : int, optional
        1024 for memory, 1000 for energy.

    Returns
    -------
    float
        In B (or J); NaN where blank or not of that form.
    """
    match = _SIZE.fullmatch(text)
    return number(match[1]) * base ** _POWERS[match[2]] if match else math.nan


def _header(line: bytes) -> bool:
    return _HEADER.match(line.strip()) is not None


def _table(data: bytes, faults: Faults) -> tuple[list[dict[str, Any]], set[str]]:
    lines, rest = whole_lines(data)
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None or not _header(lines[first].encode()):
        found = "the first line has no column JobID"
        raise ReadError.at(faults.source, (first or 0) + 1, found, "use sacct --parsable2 with its header")
    separators = Counter(_SEPARATOR.findall(lines[first]))
    delimiter = separators.most_common(1)[0][0] if separators else "|"
    # --parsable ends each line with a delimiter, --parsable2 does not.
    trailing = lines[first].rstrip().endswith(delimiter)
    names = [name.strip() for name in lines[first].split(delimiter)][: -1 if trailing else None]
    records = []
    for at, line in enumerate(lines[first + 1 :], first + 2):
        cells = line.split(delimiter)[: -1 if trailing else None]
        if len(cells) == len(names):
            records.append(_record(dict(zip(names, cells, strict=True)), at, faults))
        elif line.strip():
            faults.damage(
                at,
                f"{len(cells)} cells under {len(names)} columns",
                "record left out; use another --delimiter",
            )
    if rest.strip():
        faults.damage(len(lines) + 1, "the last line has no end, its cells may be cut", "record left out")
    return records, {name for name, (columns, _) in _COLUMNS.items() if set(columns) & set(names)}


def _record(cells: dict[str, str], at: int, faults: Faults) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, (columns, read) in _COLUMNS.items():
        column, text = next(((c, cells[c].strip()) for c in columns if cells.get(c, "").strip()), ("", ""))
        if not text:
            continue
        record[name] = read(text)
        # NaN and NaT differ from themselves.
        if record[name] in (-1, None) or record[name] != record[name]:
            record[name] = _BLANKS[name]
            if text not in ("Unknown", "None", "N/A", "INVALID", "UNLIMITED", str(2**64 - 1), str(2**64 - 2)):
                faults.damage(at, f"{column} is {text!r}", "left blank")
    record["job_id"], _, step = record.get("job_id", "").partition(".")
    record["step"] = "" if integer(step) >= sacct_json.RESERVED_STEP else step
    return record


def _time(text: str) -> np.datetime64 | None:
    if not _TIME.fullmatch(text):
        return None
    try:
        return np.datetime64(text, "ns")
    except ValueError:
        return None


def _exit(position: int) -> Callable[[str], int]:
    return lambda text: integer(text.split(":")[position], bits=32) if text.count(":") == 1 else -1


def _energy(text: str) -> float:
    value = memory(text, 1000)
    return value if value < _NO_VALUE else math.nan


def _word(text: str) -> str:
    return text.split()[0]


def _count(text: str) -> int:
    return integer(text, bits=32)


# Variable -> columns in order of preference, and how a cell that is not blank is read.
_COLUMNS: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "job_id": (("JobID", "JobIDRaw"), str),
    "job_name": (("JobName",), str),
    "state": (("State",), _word),
    "exit_code": (("ExitCode",), _exit(0)),
    "exit_signal": (("ExitCode",), _exit(1)),
    "submit": (("Submit",), _time),
    "start": (("Start",), _time),
    "end": (("End",), _time),
    "elapsed": (("ElapsedRaw", "Elapsed"), lambda text: duration(text) if ":" in text else number(text)),
    "nodes": (("NNodes", "AllocNodes"), _count),
    "cpus": (("NCPUS", "AllocCPUS"), _count),
    "node_list": (("NodeList",), str),
    "memory_max": (("MaxRSS",), memory),
    "memory_mean": (("AveRSS",), memory),
    "cpu_time": (("TotalCPU",), duration),
    "energy": (("ConsumedEnergyRaw", "ConsumedEnergy"), _energy),
    "comment": (("Comment",), str),
    "resources": (("AllocTRES",), str),
}


def _check_energy(records: list[dict[str, Any]], fields: set[str], faults: Faults) -> None:
    if records and "energy" in fields and not any(record.get("energy", math.nan) > 0 for record in records):
        faults.note(
            0, "no meter: energy 0 everywhere", f"none of {len(records)} records has any; do not use it"
        )


def _column(dtype: str, values: list[Any]) -> np.ndarray:
    return np.array(values, dtype=object if dtype == "str" else dtype)
