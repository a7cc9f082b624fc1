"""One file of the tree: what it is by its content, and what it states of a run; no dataset outlives this."""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
import xarray as xr

from analysis import readers
from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.files import unpacked
from analysis.base.slurm import node_names
from analysis.importing import hardware
from analysis.importing.tree import File, shown
from analysis.readers import unknown
from analysis.readers.base import as_utf8
from analysis.readers.text import decode
from analysis.schema.frames import blank

Role = Literal["result", "profile", "power", "sacct", "record", "beside", "text", "nothing"]
# What quotes outputs, or is a program: never an output itself.
_QUOTES = {
    ".md",
    ".rst",
    ".tex",
    ".html",
    ".htm",
    ".ipynb",
    ".pdf",
    ".py",
    ".c",
    ".h",
    ".cpp",
    ".hpp",
    ".f90",
    ".f",
}
_QUOTES |= {".js", ".css", ".java", ".rs", ".go", ".svg", ".patch", ".diff"}
_BESIDE = 131_072  # B at the beginning of a file in which a job says what it runs on
# More results of one program than a job makes are those of processes that ran side by side.
_MOST_PIECES = 40
_TAR = (b"PK\x03\x04", b"7z\xbc\xaf", b"Rar!")
_PROGRAM = b"\x7fELF"
_JOBS = (
    r"slurm[-_](\d+(?:_\d+)?)",
    r"\.[oe](\d{2,})(?:[.-]\d+)?(?=$|\.)",
    r"(?:^|[-_.])job[-_.]?(?:id)?[-_.]?(\d{2,})",
    r"(?:^|[-_.])(\d{4,10})(?=\.(?:out|err|log|o|e|txt)$)",
    r"^(\d{4,10})$",
)
_STAMP = re.compile(
    r"((?:19|20)\d\d)[-_]?([01]\d)[-_]?([0-3]\d)[-_T]?([0-2]\d)[-_:h]?([0-5]\d)(?:[-_:m]?([0-5]\d))?"
)


@dataclass
class Part:
    """One execution's output within a file: the bytes it has, what it states, and whether it is whole."""

    engine: str
    facts: dict[str, Any]
    complete: bool = True
    begin: int = 0
    end: int = -1  # the file's end
    rows: frozenset[Any] = frozenset()
    note: str = ""
    brief: bool = False  # so few numbers that two executions print the same


@dataclass
class Sight:
    """What a file is: its role, the parts of a result, what it states beside them, why it has no place."""

    file: File
    digest: str = ""
    role: Role = "nothing"
    what: str = ""
    parts: list[Part] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    job: str = ""
    stamp: str = ""
    why: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name below the root, on one line."""
        return shown(self.file.name)


def look(file: File) -> Sight:
    """Recognise a file; whatever is wrong with it costs only itself."""
    sight = Sight(file, job=job_of(file.base), stamp=stamp_of(file.base))
    try:
        stored = file.content()
        sight.digest = hashlib.sha256(stored).hexdigest()
        _see(unpacked(stored, file.base), sight)
    except BenchbookError as error:
        sight.role, sight.why = "nothing", "; ".join(f"{one.found}; {one.remedy}" for one in error.faults)
    except OSError as error:
        sight.why = f"{error.strerror or error}; make it readable"
    except Exception as error:  # a reader's own defect is a fault of one file
        sight.role, sight.why = "nothing", f"cannot be used ({type(error).__name__}: {str(error)[:80]})"
    return sight


def job_of(name: str) -> str:
    """Return the job that a file's name tells, as in ``slurm-123.out`` and ``app.o123``; empty without."""
    bare = re.sub(r"\.(?:gz|xz|zst)$", "", name)
    for pattern in _JOBS:
        match = re.search(pattern, bare)
        if match and not _STAMP.fullmatch(match[1]):
            return match[1]
    return ""


def stamp_of(text: str) -> str:
    """Return a date and time in a name, digits alone; empty without."""
    match = _STAMP.search(text)
    digits = "".join(group or "00" for group in match.groups()) if match else ""
    with contextlib.suppress(ValueError):
        return datetime.strptime(digits, "%Y%m%d%H%M%S").strftime("%Y%m%d%H%M%S")
    return ""


def _see(data: bytes, sight: Sight) -> None:
    suffix = sight.file.path.suffix.lower()
    head = data[:65_536]
    if not data.strip():
        sight.why = "is empty"
        return
    if data.startswith(_PROGRAM):  # it has the words that it would print
        sight.why = unknown.found(data)
        return
    engines = list(readers.without_second_power(engines_of(data, sight.file.base)))
    if engines and suffix in _QUOTES:
        sight.why = f"quotes an output of {engines[0]}, and is none itself"
    elif engines:
        _read(data, engines, sight)
    elif data.startswith(_TAR) or data[257:262] == b"ustar":
        sight.why = "is an archive; unpack it and import again"
    elif b"\0" in head:
        sight.why = unknown.found(data)
    elif suffix in _QUOTES:
        sight.why = "is a document or a program, no output"
    else:
        _text(data, sight)


def engines_of(data: bytes, name: str) -> list[str]:
    """Name the engines that know a file; further than its beginning none is looked for that reads power.

    A log of power has its heading above; to look for all of them in every megabyte takes most of the time.
    """
    found = readers.engines_of(data[: readers.HEAD_BYTES], name)
    if found or len(data) <= readers.HEAD_BYTES:
        return found
    head = as_utf8(data[: readers.LONG_HEAD_BYTES])
    engines = (row.engine for row in readers.rows() if row.kind != "power")
    return [engine for engine in engines if readers.reader(engine).sniff(head, name)]


def _text(data: bytes, sight: Sight) -> None:
    text = decode(as_utf8(data[:_BESIDE]))
    what = hardware.kind(text, sight.file.base)
    sight.facts = hardware.stated(text) if what or sight.job else {}
    sight.role, sight.what = ("beside", what) if what else ("text", "")
    sight.why = "" if what else unknown.found(data)
    if what == "environment" and not sight.job:
        sight.job = str(sight.facts.get("job", ""))


def _read(data: bytes, engines: list[str], sight: Sight) -> None:
    """Read a file by all engines that know it; the first result decides what it is."""
    told = ""
    # Several results of a reader of repeats are left together.
    whole = not readers.row(engines[0]).first_line or hasattr(readers.reader(engines[0]), "parse_each")
    pieces = [] if whole else _pieces(data)
    pieces = pieces if len(pieces) <= _MOST_PIECES else []
    for engine in engines if len(pieces) < 2 else ():
        try:
            _take(data, engine, sight)
        except BenchbookError as error:
            told = told or f"{error.faults[0].found}; {error.faults[0].remedy}"
    for engine, begin, end in pieces if len(pieces) > 1 else ():
        try:
            each = readers.parse_each(data[begin:end], sight.file.base, engine=engine)
            _result(each, engine, sight, begin, end, data)
        except BenchbookError as error:
            told = told or f"{error.faults[0].found}; {error.faults[0].remedy}"
    if sight.role == "nothing":
        sight.why = sight.why or told or f"is of {engines[0]}, of which no run is made"
    if sight.role in ("result", "profile"):
        end = sight.parts[0].begin if sight.parts else 0
        before = decode(as_utf8(data[: min(end or _BESIDE, _BESIDE)]))
        sight.facts = hardware.stated(before) | sight.facts
        sight.job = sight.job or str(sight.facts.get("job", ""))


def _take(data: bytes, engine: str, sight: Sight) -> None:
    each = readers.parse_each(data, sight.file.base, engine=engine)
    kind = str(each[0].attrs["kind"])
    if kind == "profile":
        sight.role = sight.role if sight.role == "result" else "profile"
        sight.what = sight.what or engine
        sight.facts |= of_profile(each[0], engine)
    elif kind == "power":
        sight.role, sight.what = "power", engine
    elif kind == "sacct":
        sight.role, sight.what, sight.jobs = "sacct", engine, _jobs(each[0])
    elif kind == "run":
        sight.role, sight.what = "record", "record of a run"
        sight.facts = _record(each[0])
    elif kind in ("published", "runs", "micro") or engine == "table":
        sight.why = "is a table of many runs; docs/campaigns.md says how tables become a campaign"
    else:
        _result(each, readers.engine_of(each[0]), sight)


def _pieces(data: bytes) -> list[tuple[str, int, int]]:
    """Cut a text where programs begin to print: engine, first byte, byte behind the last.

    HPCC prints the openings of others; several results of HPCG are read as repeats where they stand.
    """
    starts = sorted(
        (match.start(), row.engine)
        for row in readers.rows()
        if row.first_line
        for match in re.finditer(row.first_line.encode(), data, re.MULTILINE)
    )
    if not starts or any(engine == "hpcc" for _, engine in starts):
        return []
    distinct = [
        one for at, one in enumerate(starts) if one[1] != "hpcg" or not at or starts[at - 1][1] != "hpcg"
    ]
    ends = [at for at, _ in distinct[1:]] + [len(data)]
    return [(engine, begin, end) for (begin, engine), end in zip(distinct, ends, strict=True)]


def _result(
    each: list[xr.Dataset], engine: str, sight: Sight, begin: int = 0, end: int = -1, data: bytes = b""
) -> None:
    ds = each[0]
    facts = of_result(ds, engine)
    if begin and (command := hardware.last_launch(decode(data[max(begin - 4096, 0) : begin]))):
        facts["command"] = facts.get("command", command)
        facts |= {name: value for name, value in hardware.launched(command).items() if name not in facts}
    note = f"holds {len(each)} results, each a repeat" if len(each) > 1 else ""
    complete = all(bool(one.attrs.get("complete", True)) for one in each)
    sight.role, sight.what = "result", sight.what or engine
    sight.parts.append(Part(engine, facts, complete, begin, end, _rows(ds), note, _brief(ds)))


def of_result(ds: xr.Dataset, engine: str) -> dict[str, Any]:
    """Take what a result states of its run: ranks, nodes, threads, grid, version, benchmark, size."""
    facts: dict[str, Any] = {}
    for name, names in {
        "ranks": ("ranks",),
        "nodes": ("nodes", "charm_nodes"),
        "threads": ("threads",),
    }.items():
        values = [int(ds[one]) for one in names if one in ds and not ds[one].dims]
        values += [int(ds.attrs[one]) for one in names if isinstance(ds.attrs.get(one), int)]
        if known := [value for value in values if value > 0]:
            facts[name] = known[0]
    if "benchmark_time" in ds and float(ds["benchmark_time"]) > 0:
        facts["benchmark_time"] = float(ds["benchmark_time"])
    if "local_size" in ds:
        grid = [int(size) for size in ds["local_size"].values]
        if min(grid) > 0:
            facts["case"] = f"nx{grid[0]}" if len(set(grid)) == 1 else "x".join(map(str, grid))
            if len(set(grid)) == 1:
                facts["local_size"] = grid[0]
    if benchmark := str(ds.attrs.get("benchmark", "")):
        facts["case"] = benchmark
    if engine == "imb" and "benchmark" in ds:
        printed = sorted(set(map(str, ds["benchmark"].values)))
        facts |= {"case": printed[0]} if len(printed) == 1 else {}
    if engine == "proxy":
        facts["case"] = str(ds["pattern"].values)
    if "size" in ds and not ds["size"].dims and str(ds["size"].values):
        facts["problem"] = str(ds["size"].values)
    if version := str(ds.attrs.get("tool_version", "")):
        facts["version"] = version
    if engine == "osu" and str(ds.attrs.get("benchmark", "")) in ("osu_latency", "osu_bw", "osu_bibw"):
        facts["pair"] = True  # these run between two ranks, and do not print it
    return facts


def of_profile(ds: xr.Dataset, engine: str) -> dict[str, Any]:
    """Take what a profile states: ranks, nodes, command, hosts, start and stop."""
    attrs = ds.attrs
    facts: dict[str, Any] = {"profiler": engine, "profile_complete": bool(attrs.get("complete", True))}
    for name, key in (("ranks", "ranks_expected"), ("nodes", "nodes")):
        if isinstance(attrs.get(key), int | np.integer) and int(attrs[key]) > 0:
            facts[name] = int(attrs[key])
    hosts = sorted({str(host) for host in ds["host"].values} - {""}) if "host" in ds else []
    if hosts:
        facts |= {"node_list": ",".join(hosts)}
        facts.setdefault("nodes", len(hosts))
    if command := str(attrs.get("command", "")):
        facts["program"] = command
    for name in ("start", "stop"):
        if isinstance(attrs.get(name), float) and np.isfinite(attrs[name]):
            facts[f"profile_{name}"] = attrs[name]
    return facts


def _rows(ds: xr.Dataset) -> frozenset[Any]:
    """Return the numbers by which the same result is known again in another file."""
    if ds.attrs["kind"] == "merits":
        rows = zip(ds["merit"].values, ds["value"].values, ds["unit"].values, strict=True)
        return frozenset((str(merit), float(value), str(unit)) for merit, value, unit in rows)
    numbers = sorted(str(name) for name in ds.variables if ds[name].dtype.kind in "fi" and ds[name].size)
    if not numbers:
        return frozenset()
    digest = hashlib.sha256()
    for name in numbers:
        digest.update(name.encode() + np.ascontiguousarray(ds[name].values).tobytes())
    return frozenset({digest.hexdigest(), str(ds.attrs.get("benchmark", ds.attrs["kind"]))})


def _brief(ds: xr.Dataset) -> bool:
    """Tell whether a result is a table of one line, as of a barrier."""
    return ds.sizes.get("size") == 1


def _record(ds: xr.Dataset) -> dict[str, Any]:
    empty = blank("run")
    row = {str(name): ds[name].values[0] for name in ds.variables}
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
    return {
        name: value
        for name, value in plain.items()
        if value not in ("", -1) and value == value and name in empty and not isinstance(value, np.datetime64)
    } | {name: _seconds(row[name]) for name in ("start", "end") if not np.isnat(row[name])}


def _jobs(ds: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return what Slurm says of each job of a table of its records."""
    out: dict[str, dict[str, Any]] = {}
    names = ("state", "exit_code", "exit_signal", "start", "end", "elapsed", "nodes", "node_list", "job_name")
    columns = {name: ds[name].values for name in names}
    for at in np.flatnonzero(ds["step"].values == ""):
        row = {name: column[at] for name, column in columns.items()}
        job: dict[str, Any] = {"state": str(row["state"]), "job_name": str(row["job_name"])}
        job |= {name: int(row[name]) for name in ("exit_code", "nodes") if int(row[name]) >= 0}
        job |= {name: _seconds(row[name]) for name in ("start", "end") if not np.isnat(row[name])}
        with contextlib.suppress(ConfigError):  # "None assigned"
            job["node_list"] = ",".join(node_names(str(row["node_list"])))
        out[str(ds["job_id"].values[at])] = job
    return out


def _seconds(moment: Any) -> float:
    return float((np.datetime64(moment, "ns") - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
