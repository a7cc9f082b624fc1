"""One run's folder: read every file in it, decide whether the run counts, make its tables."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base.errors import Fault, ReadError, sparing
from analysis.base.files import MOST, RECORD, entries_below, printable, sha256, stored, unpacked
from analysis.datasets import micro
from analysis.datasets import profile as metrics
from analysis.datasets.applications import facts
from analysis.datasets.contradictions import contradictions, stated, stated_gpus
from analysis.datasets.witnesses.marks import Marks, marks
from analysis.datasets.witnesses.readings import LogDigest, digest
from analysis.energy.attribution import RunEnergy, counted_by_slurm, own_energy
from analysis.readers.run import ended_well, records
from analysis.schema.applications import Application
from analysis.schema.registry import Columns, blank

# A reader that can do without a number still says that it is wrong.
_WRONG = re.compile(r"contradict|is damaged")
# Of an application that no reader knows: its runs have their times and profiles alone.
NO_RESULT = xr.Dataset(attrs={"kind": "", "complete": True})


class Read(NamedTuple):
    """What an engine read of a file: a dataset for each result."""

    engine: str
    each: list[xr.Dataset]


# What is known of a file by its SHA-256 and its name.
Known = Callable[[str, str], Sequence[Read] | None]


def unknown(digest: str, name: str) -> None:
    """Know nothing of any file."""


@dataclass
class RunFolder:
    """The content of one run's folder.

    `row` is of kind ``runs``, without its energy; `energy` is that of the power logs in the folder; `frames`
    has the tables ``calls messages ranks matrix`` of a profile, `sizes` the columns of ``micro``; `files` has
    the rows of the table of files; `datasets` the long forms as read, ``profile`` and ``result`` where there
    are any, each read from one of `sources`; `repeats` the differences in the rows of further executions in
    the same job; `faults` one line for each fault of a file; `extra` the rest of the record; `contradiction`
    the reason if the run's own output is the reason; `damage` the faults of files that are not whole. Only
    witnesses have use for `marks`, what each file says in passing, and `logs`, the power logs in short.
    """

    row: dict[str, Any]
    energy: RunEnergy = field(default_factory=RunEnergy)
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    sizes: Columns = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    datasets: dict[str, xr.Dataset] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    repeats: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    contradiction: str = ""
    damage: list[str] = field(default_factory=list)
    marks: dict[str, Marks] = field(default_factory=dict)
    logs: list[LogDigest] = field(default_factory=list)


@dataclass
class _Found:
    """A dataset that one file of a run's folder was read as; faults call the file by its source."""

    path: Path
    source: str
    ds: xr.Dataset

    @property
    def kind(self) -> str:
        return str(self.ds.attrs["kind"])


def read_run(
    folder: Path,
    applications: Mapping[str, Application],
    power: Mapping[str, Any] = MappingProxyType({}),
    *,
    witnessed: bool = False,
    known: Known = unknown,
) -> RunFolder:
    """Read one run, ``data/raw/<campaign>/runs/<run>``; a bad file costs only itself.

    `power` is what the campaign declares of its meters. The row says by ``valid`` and ``reason`` whether the
    run may enter a statistic. With `witnessed` it has what witnesses ask for, which takes a third longer.
    Files that are `known` are not parsed again; their faults then have the names under which they were read.
    """
    name = printable(folder.name)
    out = RunFolder(blank("runs") | {"run": name, "timing": True})
    record, found, refused = _read_files(folder, name, out, known, witnessed=witnessed)
    if out.row["run"] != name:  # the folder is what joins the tables, and is a safe file name
        out.faults.append(f"{name}/{RECORD}: says run {out.row['run']!r}; the folder's name is used")
        out.row["run"] = name
    application = applications.get(out.row["application"])
    results = _results(found, application)
    result = results[0] if results else None
    profile = _best_profile(found)
    if result is not None and application is not None:
        _use(result, out, lambda one: _take_result(out, application, one))
        out.datasets["result"], out.sources["result"] = result.ds, result.source
    if profile is not None:
        _use(profile, out, lambda one: _take_profile(out, one))
        out.datasets["profile"], out.sources["profile"] = profile.ds, profile.source
    meters = [one for one in found if one.kind == "power"]
    out.logs = [digest(one.ds, one.source) for one in meters] if witnessed else []
    with sparing(meters[0].source if meters else name) as faults:
        out.energy = RunEnergy(reason="its power logs cannot be used")
        logs = ((one.path, one.ds) for one in meters)
        out.energy, found_faults = own_energy(folder, logs, out.row, refused=refused, power=power)
        faults += found_faults
    out.faults += map(str, faults)
    if result is not None and not meters and not refused:
        out.energy = counted_by_slurm(result.ds.attrs, out.row)
    for other in results[1:]:
        reason = _reason(out, record, application, other)
        with sparing(other.source) as faults:
            out.repeats.append({**(facts(application, other.ds) if application else {}), "reason": reason})
        out.faults += map(str, faults)
    out.row["reason"] = _reason(out, record, application, result)
    return out


def _results(found: list[_Found], application: Application | None) -> list[_Found]:
    """Return the results of the run, the first one alone where its reader knows no others.

    A file without figures, with the settings of the run alone, comes after those that have any. A program
    that ran several times in the job left several; a job that printed the file has each twice.
    """
    own = [one for one in found if application and readers.engine_of(one.ds) == application.engine]
    own.sort(key=lambda one: one.ds.sizes.get("merit") == 0)
    if len(own) < 2 or not (application and hasattr(readers.reader(application.engine), "parse_each")):
        return own[:1]
    distinct: list[_Found] = []
    for one in own:
        numbers = one.ds[[name for name in one.ds.data_vars if "entry" not in one.ds[name].dims]]
        if not any(numbers.equals(other.ds[list(numbers.data_vars)]) for other in distinct):
            distinct.append(one)
    return distinct


def _use(found: _Found, out: RunFolder, take: Callable[[xr.Dataset], None]) -> None:
    """Add a dataset to the run; it is damaged if the run's values cannot be made from it."""
    with sparing(found.source) as faults:
        take(found.ds)
    if faults:
        out.faults += map(str, faults)
        found.ds = found.ds.assign_attrs(complete=False)


def _read_files(
    folder: Path, run: str, out: RunFolder, known: Known, *, witnessed: bool
) -> tuple[bool | None, list[_Found], list[Fault]]:
    """Read every file of a run: whether its record is whole, None without; datasets; refused power logs."""
    files: list[dict[str, Any]] = []
    found: list[_Found] = []
    refused: list[Fault] = []
    record: bool | None = None
    for below, path in _files(folder):
        source = printable(f"{run}/{below}")
        entry, content = file_entry(path, f"runs/{source}", run)
        content = cache(content)
        tried: list[str] = []
        with sparing(source) as faults:
            if source == f"{run}/{RECORD}":
                entry["engine"] = "run"
                entry["complete"] = record = _take_record(content(), source, out)
            else:
                for ds in _datasets(path, content, source, entry, tried, known):
                    found.append(_Found(path, source, ds))
                    out.faults += ds.attrs.get("warnings", [])
                    whole = bool(ds.attrs.get("complete", True))
                    out.damage += [
                        one for one in ds.attrs.get("warnings", []) if not whole or _WRONG.search(one)
                    ]
                if witnessed and (found_marks := marks(content(), path.name)):
                    out.marks[source.partition("/")[2]] = found_marks
        if faults:
            entry["complete"] = False
            out.faults += map(str, faults)
            out.damage += map(str, faults)
            refused += faults if tried and readers.is_power(tried[-1]) else []
        files.append(entry)
    out.files = files
    out.row["checksum"] = checksum((entry["path"], entry["checksum"]) for entry in files)
    return record, found, refused


def _take_record(data: bytes, source: str, out: RunFolder) -> bool:
    """Add the record's values to the row; return whether the record is whole."""
    record, faults = records(data, source)
    if record["elapsed"] == 0:
        faults.note(0, "'start' and 'end' are the same moment", "no run takes no time: it does not count")
    out.faults += faults.attrs()["warnings"]
    out.row |= {name: value for name, value in record.items() if name in out.row}
    out.extra = json.loads(record["extra"])
    if isinstance(why := out.extra.get("reason"), str):
        out.row["reason"] = printable(why)
    elif record["elapsed"] == 0:
        out.row["reason"] = "took no time, by its record"
    return faults.complete


def _datasets(
    path: Path,
    content: Callable[[], bytes],
    source: str,
    entry: dict[str, Any],
    tried: list[str],
    known: Known,
) -> Iterator[xr.Dataset]:
    """Read a file by every engine that knows it, and note the result in its row."""
    name = source.rpartition("/")[2]
    before = known(entry["checksum"], name)
    if before is None and entry["bytes"] >= readers.LEAST and (one := readers.streamed(path, source)):
        before = [Read(one[0], [one[1]])]
    found = {one.engine: one.each for one in before or ()}
    engines = readers.engines_of(content(), name) if before is None else found
    for engine in readers.without_second_power(engines):
        tried.append(engine)
        each = found[engine] if found else readers.parse_each(content(), source, engine=engine)
        entry["engine"] = entry["engine"] or engine
        entry["complete"] &= all(bool(ds.attrs.get("complete", True)) for ds in each)
        yield from each


def file_entry(path: Path, name: str, run: str = "") -> tuple[dict[str, Any], Callable[[], bytes]]:
    """Return the row of kind ``files`` of a file, with the SHA-256 of what is stored; and its content.

    The content is what it holds uncompressed; asked for it, a file that cannot be read raises ReadError.
    """
    row = {"path": name, "run": run, "engine": "", "complete": True, "bytes": -1, "checksum": ""}
    source = name.removeprefix("runs/")
    try:
        size = path.stat().st_size
        if size >= readers.LEAST:  # its content may never be asked for
            row |= {"bytes": size, "checksum": sha256(path, MOST)}
            return row, lambda: unpacked(stored(path), source)
        data = stored(path)
    except OSError as error:
        return row, partial(_refused, Fault(source, 0, error.strerror or str(error), "replace it by a file"))
    row |= {"bytes": len(data), "checksum": hashlib.sha256(data).hexdigest()}
    return row, partial(unpacked, data, source)


def _refused(fault: Fault) -> bytes:
    raise ReadError(fault)


def files_of(folder: Path) -> list[Path]:
    """List the files of a run in their order."""
    return [path for _, path in _files(folder)]


def _files(folder: Path) -> list[tuple[str, Path]]:
    """List the files of a run in their order, each with its path from there."""
    names = [name for name, entry in entries_below(folder, tolerant=True) if entry.is_file()]
    return [(name, folder / name) for name in sorted(names, key=lambda name: name.split("/"))]


def checksum(files: Iterable[tuple[str, str]]) -> str:
    """Return the checksum of a run: SHA-256 over the paths in the campaign and the SHA-256 of its files."""
    text = "".join(f"{own}  {path}\n" for path, own in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _best_profile(found: Iterable[_Found]) -> _Found | None:
    """Prefer a file to the banner of the same run, which can have as many observations and knows no ranks.

    Files of one rank each are one profile.
    """

    def rank(one: _Found) -> tuple[bool, int]:
        return one.ds.attrs.get("source_form") != "banner", one.ds.sizes["obs"]

    profiles = [one for one in found if one.kind == "profile"]
    ranks: dict[int, _Found] = {}
    for one in profiles:  # of the threads of a rank the first
        held = one.ds["app_time"].values if one.ds.attrs.get("ranks_expected", 0) < 0 else np.array([])
        if len(known := np.flatnonzero(np.isfinite(held))) == 1:
            ranks.setdefault(int(known[0]), one)
    if len(ranks) > 1:
        first = ranks[min(ranks)]
        return _Found(first.path, first.source, metrics.joined({at: ranks[at].ds for at in sorted(ranks)}))
    return max(profiles, key=rank, default=None)


def _take_result(out: RunFolder, application: Application, result: xr.Dataset) -> None:
    out.row |= facts(application, result, case=out.row["case"], reason=out.row["reason"])
    counts = {"threads": stated(result, "threads"), "gpus": stated_gpus(result, out.row["nodes"])}
    out.row |= {name: count for name, count in counts.items() if out.row[name] < 0 < count}
    out.row["problem"] = out.row["problem"] or readers.problem(result)
    out.row["version"] = out.row["version"] or printable(str(result.attrs.get("tool_version", "")))
    if application.engine in micro.ENGINES:
        table, unclear = micro.micro(result, out.row)
        out.faults += unclear
        if table:
            out.sizes = table


def _take_profile(out: RunFolder, profile: xr.Dataset) -> None:
    name = out.row["run"]
    for table in (metrics.calls, metrics.messages, metrics.ranks, metrics.matrix):
        out.frames[table.__name__] = table(profile).assign(run=name)
    out.row["mpi_fraction"] = metrics.mpi_fraction(profile)
    out.row["imbalance"] = metrics.imbalance(profile)
    out.row["rank_memory"], out.row["node_memory"] = metrics.memory(profile)


def _reason(
    out: RunFolder, record: bool | None, application: Application | None, found: _Found | None
) -> str:
    """Say why a run may not enter a statistic with a result; empty if it may."""
    row, profile = out.row, out.datasets.get("profile")
    if record is None:
        return f"no readable {RECORD}"
    if not record:
        return f"{RECORD} is incomplete"
    if row["reason"]:  # a record can know more than the files: one of a pair can end well in vain
        return str(row["reason"])
    if application is None:
        return f"unknown application {row['application']!r}: no config/applications/{row['application']}.yaml"
    if not ended_well(row["exit_code"], out.extra):
        return "no exit code was recorded" if row["exit_code"] < 0 else f"exit code {row['exit_code']}"
    if found is None and application.engine:
        return f"left no {application.engine} result"
    result = found.ds if found is not None else NO_RESULT
    if not result.attrs["complete"]:
        return f"its {application.engine} result is cut or damaged"
    if "valid" in result and not bool(result.variables["valid"]):
        return f"{application.engine} calls its result invalid"
    if row["profiler"] not in ("", "none") and profile is None:
        return f"left no {row['profiler']} profile"
    if profile is not None and not profile.attrs["complete"]:
        return "its profile is cut or damaged"
    source = found.source if found is not None else ""
    out.contradiction = next(contradictions(row, application, result, source, profile, out.extra), "")
    return out.contradiction
