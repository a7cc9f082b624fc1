"""Slurm's accounting: the table of ``sacct``, plain or ``--parsable2``, and the jobs of ``sacct --json``.

The JSON is read in the shapes of Slurm 22.05 (openapi/dbv0.0.38) and of its data parsers since, which
wrap numbers as ``{"set": true, "infinite": false, "number": 6}`` and states in a list.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.units import PREFIXES
from analysis.readers.base import Faults
from analysis.readers.format import Format
from analysis.readers.text import decode, integer, number, whole_lines
from analysis.schema import registry

FORMAT = Format(engine="sacct", marks=(b"JobID|",), near=r"(?i)\bJobID")
# Amounts of these are printed in MiB with the suffix M in AllocTRES.
_MEBIBYTES = {"mem", "vmem"}
_LAST_SECOND = 4_102_444_800  # the year 2100: anything later is a code, not a time
# Step ids from here on are Slurm's codes (no step, batch script, extern), never a numbered step.
RESERVED_STEP = 0xFFFFFFF0


def json_records(text: str, faults: Faults) -> tuple[list[dict[str, Any]], str]:
    """Read the whole jobs of sacct's JSON, and Slurm's release; what a job does not say is absent."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        jobs, version = _salvage(text, faults, error), ""
    else:
        jobs, version = document.get("jobs"), _version(document)
    if not isinstance(jobs, list):
        raise ReadError.at(faults.source, 0, "'jobs' is not a list", "give the output of sacct --json")
    whole = [job for job in jobs if isinstance(job, dict)]
    if whole and not any("job_id" in job for job in whole):  # as in fio's JSON
        raise ReadError.at(faults.source, 0, "no job has a 'job_id'", "give the output of sacct --json")
    out = []
    for job in jobs:
        if isinstance(job, dict):
            out += _job(job)
        else:
            faults.damage(0, f"a job is {str(job)[:40]!r}, not an object", "left out")
    for record in out:
        _check_exit(record, faults)
    return out, version


def _check_exit(record: dict[str, Any], faults: Faults) -> None:
    """Blank the exit code of a job that failed without one: 22.05 writes 0 where the table has 5:0."""
    if record["state"] == "FAILED" and record["exit_code"] == 0 and not record["exit_signal"] > 0:
        record["exit_code"] = -1
        name = ".".join(part for part in (record["job_id"], record.get("step", "")) if part)
        remedy = "exit code left blank; sacct --parsable2 may know it"
        faults.note(0, f"job {name} is FAILED with return code 0", remedy)


def _version(document: dict[str, Any]) -> str:
    for key in ("Slurm", "slurm"):
        release = _get(document, "meta", key, "release")
        if isinstance(release, str):
            return release
    return ""


def _salvage(text: str, faults: Faults, error: Exception) -> list[Any]:
    """Read the jobs that stand whole before the fault."""
    start = re.search(r'"jobs"\s*:\s*\[', text)
    jobs: list[Any] = []
    position = start.end() if start else len(text)
    decoder = json.JSONDecoder()
    while True:
        skip = re.compile(r"[\s,]*").match(text, position)
        position = skip.end() if skip else position
        try:
            job, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        jobs.append(job)
    line = text.count("\n", 0, getattr(error, "pos", position)) + 1
    faults.damage(
        line, f"broken JSON ({getattr(error, 'msg', error)})", f"kept the {len(jobs)} whole jobs before it"
    )
    return jobs


def _get(value: Any, *path: str) -> Any:
    """Follow keys; None where one is missing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _numeric(value: Any) -> float:
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    # NO_VAL64 and its like stand for "not known".
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2.0**63
    return float(value) if usable else math.nan


def _integer(value: Any) -> int:
    number = _numeric(value)
    return int(number) if 0 <= number < 2**31 else -1


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _state(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("current")
    if isinstance(value, list):
        value = value[0] if value else ""
    return (_text(value).split() or [""])[0]


def _json_time(value: Any) -> np.datetime64:
    seconds = _numeric(value)
    # Slurm writes 0 for what has not happened yet.
    known = 0 < seconds < _LAST_SECOND
    return np.datetime64(int(seconds), "s").astype("datetime64[ns]") if known else np.datetime64("NaT", "ns")


def _seconds(value: Any) -> float:
    return _numeric(_get(value, "seconds")) + _numeric(_get(value, "microseconds")) / 1e6


def _json_exit(value: Any) -> tuple[int, int]:
    if not isinstance(value, dict):
        return -1, -1
    signal = value.get("signal")
    if isinstance(signal, dict):
        number = _integer(signal.get("id", signal.get("signal_id")))
        return _integer(value.get("return_code")), max(number, 0)
    return _integer(value.get("return_code")), 0


def _amount(tres: Any, kind: str) -> float:
    for entry in tres if isinstance(tres, list) else []:
        if isinstance(entry, dict) and entry.get("type") == kind:
            return _numeric(entry.get("count"))
    return math.nan


def _resources(tres: Any) -> str:
    """Print a list of resources as sacct's AllocTRES does: by name, memory in M."""
    parts = []
    for entry in tres if isinstance(tres, list) else []:
        count = _numeric(_get(entry, "count"))
        if not math.isnan(count):
            name = "/".join(part for part in (_text(_get(entry, "type")), _text(_get(entry, "name"))) if part)
            parts.append(f"{name}={count:.0f}{'M' if name in _MEBIBYTES else ''}")
    return ",".join(sorted(parts))


def _common(record: dict[str, Any], tres: Any) -> dict[str, Any]:
    """Read what jobs and steps share."""
    code, signal = _json_exit(record.get("exit_code"))
    cpus = _amount(tres, "cpu")
    return {
        "state": _state(record.get("state")),
        "exit_code": code,
        "exit_signal": signal,
        "start": _json_time(_get(record, "time", "start")),
        "end": _json_time(_get(record, "time", "end")),
        "elapsed": _numeric(_get(record, "time", "elapsed")),
        "cpus": -1 if math.isnan(cpus) else _integer(cpus),
        "cpu_time": _seconds(_get(record, "time", "total")),
        "resources": _resources(tres),
    }


def _job_id(job: dict[str, Any]) -> str:
    array, task = _integer(_get(job, "array", "job_id")), _integer(_get(job, "array", "task_id"))
    het, offset = _integer(_get(job, "het", "job_id")), _integer(_get(job, "het", "job_offset"))
    if array > 0 and task >= 0:
        return f"{array}_{task}"
    if het > 0 and offset >= 0:
        return f"{het}+{offset}"
    number = _integer(job.get("job_id"))
    return "" if number < 0 else str(number)


def _job(job: dict[str, Any]) -> list[dict[str, Any]]:
    name = _job_id(job)
    record = _common(job, _get(job, "tres", "allocated"))
    comment = job.get("comment")
    record |= {
        "job_id": name,
        "job_name": _text(job.get("name")),
        "submit": _json_time(_get(job, "time", "submission")),
        "nodes": _integer(job.get("allocation_nodes")),
        "node_list": _text(job.get("nodes")),
        "comment": _text(comment) or _text(_get(comment, "job")),
    }
    listed = job.get("steps")
    steps = (
        [_step(step, name) for step in listed if isinstance(step, dict)] if isinstance(listed, list) else []
    )
    # 22.05 writes 0 for the job; sacct's own table sums the steps.
    if steps and not record["cpu_time"] > 0:
        record["cpu_time"] = math.fsum(step["cpu_time"] for step in steps)
    return [record, *steps]


def _step(step: dict[str, Any], job: str) -> dict[str, Any]:
    identity = _get(step, "step", "id")
    if isinstance(identity, dict):
        identity = identity.get("step_id")
    label = "" if identity is None else str(identity).rpartition(".")[2]
    if label.isdecimal() and integer(label) >= RESERVED_STEP:
        label = ""
    used = _get(step, "tres", "requested")
    start = _json_time(_get(step, "time", "start"))
    return _common(step, _get(step, "tres", "allocated")) | {
        "job_id": job,
        "step": label,
        "job_name": _text(_get(step, "step", "name")),
        "submit": start,  # sacct prints the start of a step as its submission
        "nodes": _integer(_get(step, "nodes", "count")),
        "node_list": _text(_get(step, "nodes", "range")),
        "memory_max": _amount(_get(used, "max"), "mem"),
        "memory_mean": _amount(_get(used, "average"), "mem"),
        "energy": _numeric(_get(step, "statistics", "energy", "consumed")),
    }


# A header of at least two fields of sacct, one of which identifies the record.
_HEADER = re.compile(rb"\s*(?:\w+(?:[^\w\s]+|\t))*?JobID(?:Raw)?(?:[^\w\s]|\t|\s*$)", re.MULTILINE)
# With a group of its own if jobs are no list, but have names, as other programs keep them.
_JSON = re.compile(rb'\s*\{.*?"jobs"\s*:\s*(\{)?', re.DOTALL)
_SLURM = re.compile(rb'"(?:job_id|slurm|steps|allocation_nodes)"|slurm', re.IGNORECASE)
_SEPARATOR = re.compile(r"(?<=\w)([^\w\s]+|\t)(?=\w)")

# The plain table: names, and a line of dashes that says how wide each column is.
_PLAIN = re.compile(
    rb"(?:[^\n]*\n){0,3}?(?P<names>[ \w]*\bJobID(?:Raw)?\b[ \w]*)\r?\n(?P<dashes>-+(?: +-+)* *)\r?\n"
)
_CUT = "+"  # ends a cell that was wider than its column
# Steps with a name, which the plain table may cut: `.ba+`, `.exte+`, `.b+`.
_NAMED_STEPS = ("batch", "extern", "interactive")

_TIME = re.compile(r"(?:19[7-9]\d|20\d\d|21\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d")
_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:[.,]\d+)?)")
_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)([KMGTPE]?)")
# NO_VAL64 and its like stand for "never measured".
_NO_VALUE = 1.8e19

_BLANKS = registry.blank("sacct")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like sacct's output."""
    if found := _JSON.match(head):
        return _SLURM.search(head) is not None and not found[1]
    return _PLAIN.match(head) is not None or _header(head.lstrip().split(b"\n", 1)[0])


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read accounting records: kind ``sacct``, jobs and steps in the file's order.

    Columns that were not asked for are blank. Attribute ``time_zone``: ``UTC`` for JSON, else ``as printed
    by sacct``.
    """
    faults = Faults(source)
    attrs = {"tool": "sacct", "tool_version": "", "time_zone": "UTC"}
    if _JSON.match(data):
        records, attrs["tool_version"] = json_records(decode(data), faults)
        for record in records:
            _check_elapsed(record, 0, {}, faults)
        fields = set(_BLANKS)
    else:
        attrs["time_zone"] = "as printed by sacct"
        plain = _PLAIN.match(data)
        records, fields = _plain(data, plain, faults) if plain else _table(data, faults)
    _check_energy(records, fields, faults)
    columns = {name: [record.get(name, blank) for record in records] for name, blank in _BLANKS.items()}
    return registry.of_values(columns, "sacct", {**attrs, **faults.attrs()})


def duration(text: str) -> float:
    """Read ``[days-][hours:]minutes:seconds[.fraction]`` in s; NaN for anything else, like ``UNLIMITED``."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return math.nan
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    return days * 86_400 + hours * 3_600 + minutes * 60 + number(match[4])


def memory(text: str, base: int = 1024) -> float:
    """Read a quantity like ``52064K`` in B, or in J with base 1000; NaN if it is not one."""
    match = _SIZE.fullmatch(text)
    return number(match[1]) * base ** PREFIXES[match[2]] if match else math.nan


def _header(line: bytes) -> bool:
    """Tell whether a line names JobID and another field of sacct; a table of one's own has other names."""
    words = set(re.findall(r"\w+", decode(line)))
    return _HEADER.match(line.strip()) is not None and (len(words) == 1 or len(words & _FIELDS) > 1)


def _plain(data: bytes, found: re.Match[bytes], faults: Faults) -> tuple[list[dict[str, Any]], set[str]]:
    """Read the table that sacct prints without an option; what it has cut is left blank."""
    names = decode(found["names"]).split()
    columns = [one.span() for one in re.finditer("-+", decode(found["dashes"]))]
    lines, rest = whole_lines(data[found.end() :])
    records = []
    for at, line in enumerate([*lines, rest], decode(data[: found.end()]).count("\n") + 1):
        cells = [line[low:high].strip() for low, high in columns]
        row = {name: cell for name, cell in zip(names, cells, strict=False) if not cell.endswith(_CUT)}
        job = cells[names.index("JobID")] if "JobID" in names else row.get("JobIDRaw", "")
        stem, dot, step = job.partition(".")
        step = dot + _step_name(step, row.get("JobName", ""))
        if not re.match(r"\d", stem) or _CUT in stem + step:
            if line.strip():
                faults.damage(at, f"{line.strip()[:40]!r} begins with no whole job", "record left out")
            continue
        records.append(_record(row | {"JobID": stem + step}, at, faults))
        _check_elapsed(records[-1], at, row, faults)
    return records, _read_of(names)


def _step_name(cell: str, job_name: str) -> str:
    """Return the name of a step whose cell is cut; a step that is cut to nothing has its name as JobName."""
    if not cell.endswith(_CUT):
        return cell
    begun = cell.removesuffix(_CUT)
    whole = (name.startswith(begun) if begun else name == job_name for name in _NAMED_STEPS)
    return next((name for name, found in zip(_NAMED_STEPS, whole, strict=True) if found), cell)


def _read_of(names: list[str]) -> set[str]:
    return {name for name, (columns, _) in _COLUMNS.items() if set(columns) & set(names)}


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
            row = dict(zip(names, cells, strict=True))
            records.append(_record(row, at, faults))
            _check_elapsed(records[-1], at, row, faults)
        elif line.strip():
            faults.damage(
                at,
                f"{len(cells)} cells under {len(names)} columns",
                "record left out; use another --delimiter",
            )
    if rest.strip():
        faults.damage(len(lines) + 1, "the last line has no end, its cells may be cut", "record left out")
    return records, _read_of(names)


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
    record["step"] = "" if integer(step) >= RESERVED_STEP else step
    return record


def _check_elapsed(record: dict[str, Any], at: int, cells: Mapping[str, str], faults: Faults) -> None:
    """Hold the time that a record took against its start and end, and against the other ways of saying it.

    It lacks the time for which a job was suspended; local times jump by an hour twice a year.
    """
    elapsed = record.get("elapsed", math.nan)
    both = [cells.get(name, "").strip() for name in ("ElapsedRaw", "Elapsed")]
    if all(both) and abs(number(both[0]) - duration(both[1])) >= 1:
        faults.damage(
            at, f"ElapsedRaw is {both[0]}, Elapsed {both[1]}", "one of them is damaged: ask sacct again"
        )
    start, end = record.get("start"), record.get("end")
    if start is None or end is None or np.isnat(start) or np.isnat(end) or not math.isfinite(elapsed):
        return
    span = float((end - start) / np.timedelta64(1, "s"))
    if abs(span - elapsed) <= 1 or abs(abs(span - elapsed) - 3600) <= 1:
        return
    found = f"took {elapsed:g} s, from start to end {span:g} s"
    if span < elapsed:
        faults.damage(at, found, "a number is damaged: ask sacct again")
    else:
        faults.note(at, found, "it was suspended, or a number is damaged")


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


_FIELDS = {column for columns, _ in _COLUMNS.values() for column in columns} | {
    "Account", "AveCPU", "CPUTime", "CPUTimeRAW", "Cluster", "Eligible", "Group", "JobIDRaw", "NTasks",
    "Partition", "QOS", "ReqCPUFreq", "ReqMem", "ReqTRES", "SystemCPU", "Timelimit", "User", "UserCPU",
}  # fmt: skip


def _check_energy(records: list[dict[str, Any]], fields: set[str], faults: Faults) -> None:
    if records and "energy" in fields and not any(record.get("energy", math.nan) > 0 for record in records):
        faults.note(
            0, "no meter: energy 0 everywhere", f"none of {len(records)} records has any; do not use it"
        )
