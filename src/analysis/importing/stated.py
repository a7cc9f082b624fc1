"""What the dataset of a file states of its run: counts, problem, times, the records of jobs."""

import contextlib
import hashlib
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr

from analysis import readers
from analysis.base.errors import ConfigError
from analysis.base.slurm import node_names
from analysis.importing import launch
from analysis.importing.documents import figure
from analysis.schema.registry import blank

# As IPM 2 prints times, IPM 0.9x, and mpiP as its reader gives them.
_CLOCKS = ("%a %b %d %H:%M:%S %Y", "%m/%d/%y/%H:%M:%S", "%Y-%m-%dT%H:%M:%S")
# Numbers in what an output states of its problem that say how it is worked off.
_WORKERS = ("P", "Q", "variant", "numjobs", "iodepth")


def facts_of_result(ds: xr.Dataset, engine: str) -> dict[str, Any]:
    """Return what a result states of its run: ranks, nodes, threads, grid, version, benchmark, size."""
    facts: dict[str, Any] = {}
    for name in ("ranks", "nodes", "threads", "target_time", *launch.GPUS):
        names = (name, f"charm_{name}")
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
    problem = readers.problem(ds).split()
    own = (one.split("=", 1) for one in problem if one.partition("=")[0] in _WORKERS)
    processes = dict(one for one in own if one[1] != "?")  # a sweep has no one grid
    # Nor is the program of a suite: its tools have clocks too.
    processes |= {"program": str(ds["size"].values)} if engine == "openfoam" else {}
    processes |= dict(one.split("=", 1) for one in str(ds.attrs.get("settings", "")).splitlines())
    facts |= {"grid": processes} if processes else {}
    if identity := " ".join(one for one in problem if one.partition("=")[0] not in _WORKERS):
        facts["problem"] = identity
    if version := str(ds.attrs.get("tool_version", "")):
        facts["version"] = version
    for name, moment in (("date", "start"), ("date_end", "end")):
        if moment in ds and not ds[moment].dims and not np.isnat(ds[moment].values):
            facts[name] = seconds(ds[moment].values)
    facts |= _of_log(ds.attrs) if engine == "darshan" else {}
    facts["figures"] = _figures(ds)
    if ds.attrs["kind"] != "merits":  # which of a table a document may report
        held = [ds.variables[name] for name in ds.data_vars]
        columns = [one.values for one in held if one.dims and one.dtype == "f8"]
        ends = [end for one in columns if np.isfinite(one).any() for end in (np.nanmin(one), np.nanmax(one))]
        facts["extremes"] = list(map(float, ends))
    facts |= _own_figure(ds, readers.row(engine).figure_of_merit)
    if engine == "osu" and str(ds.attrs.get("benchmark", "")) in ("osu_latency", "osu_bw", "osu_bibw"):
        facts["pair"] = True  # these run between two ranks, and do not print it
    return facts


def _of_log(attrs: dict[Any, Any]) -> dict[str, Any]:
    """Return program and times of a Darshan log, and its job: without a batch system that of a process."""
    texts = {name: str(attrs.get(key, "")) for name, key in (("program", "command"), ("logged_job", "job"))}
    times = {name: str(attrs.get(key, "")) for name, key in (("date", "started"), ("date_end", "stopped"))}
    facts: dict[str, Any] = {name: text for name, text in texts.items() if text}
    return facts | {name: float(text) for name, text in times.items() if text.isdecimal()}


def _own_figure(ds: xr.Dataset, usual: str) -> dict[str, Any]:
    """Return the main figure of a result that has not the usual one: of a part of IO500 that only reads."""
    main = str(ds.attrs.get("main", usual))
    if ds.attrs["kind"] != "merits" or main == usual or usual in ds["merit"].values:
        return {}
    units = {str(unit) for unit in ds["unit"].values[ds["merit"].values == main]}
    return figure(main, units.pop()) if len(units) == 1 else {}


def _figures(ds: xr.Dataset) -> dict[str, float]:
    """Return the numbers that a result prints once, by their names; of figures of merit the first of each."""
    if ds.attrs["kind"] == "merits":
        pairs = list(zip(ds["merit"].values, ds["value"].values, strict=True))
        return {str(name): float(value) for name, value in reversed(pairs)}
    own = ((str(name), ds.variables[name]) for name in ds.data_vars)
    return {name: float(array) for name, array in own if not array.dims and array.dtype == "f8"}


def facts_of_profile(ds: xr.Dataset, engine: str) -> dict[str, Any]:
    """Return what a profile states: ranks, nodes, command, hosts, start and stop.

    IPM's banner and mpiP print times without a time zone: `profile_clock` is that of the start, in s since
    1970 as if it were in UTC, and `profile_length` is the time from start to stop, in s.
    """
    attrs = ds.attrs
    facts: dict[str, Any] = {"profiler": engine, "profile_complete": bool(attrs.get("complete", True))}
    for name, key in (("ranks", "ranks_expected"), ("nodes", "nodes")):
        if isinstance(attrs.get(key), int | np.integer) and int(attrs[key]) > 0:
            facts[name] = int(attrs[key])
    hosts = sorted({str(host) for host in ds["host"].values} - {""}) if "host" in ds else []
    if hosts and ("ranks" in facts or "nodes" in facts):
        facts |= {"node_list": ",".join(hosts)}
        facts.setdefault("nodes", len(hosts))
    elif hosts:  # of one rank among others: their nodes are not known
        facts["profile_hosts"] = hosts
    if command := str(attrs.get("command", "")):
        facts["program"] = command
    for name in ("start", "stop"):
        if isinstance(attrs.get(name), float) and np.isfinite(attrs[name]):
            facts[f"profile_{name}"] = attrs[name]
    printed = (("started", "start"), ("stopped", "stop"))  # of IPM's banner, of mpiP
    begin, end = (_clock(str(attrs.get(one) or attrs.get(other, ""))) for one, other in printed)
    if begin is not None and end is not None:
        facts |= {"profile_clock": begin, "profile_length": end - begin}
    return facts


def _clock(text: str) -> float | None:
    """Return the time that a clock showed, in s since 1970 as if it were UTC; None if the text has none."""
    for form in _CLOCKS:
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
    return None


def facts_of_power(ds: xr.Dataset) -> dict[str, Any]:
    """Return the times of a power log's first and last reading, in s since 1970, and its meters."""
    readings = ds["energy_counter" if "energy_counter" in ds else "power"]
    stamps = ds["time"].values[np.isfinite(readings.values).any(axis=readings.get_axis_num("meter"))]
    stamps = stamps[~np.isnat(stamps)]
    times = [seconds(stamp) for stamp in (stamps.min(), stamps.max())] if stamps.size else [np.nan, np.nan]
    return {"first": times[0], "last": times[1], "meters": [str(meter) for meter in ds["meter"].values]}


def rows(ds: xr.Dataset) -> frozenset[Any]:
    """Return the numbers by which the same result is recognised in another file."""
    if own := readers.own_function(ds, "rows"):
        return frozenset(own(ds))
    if ds.attrs["kind"] == "merits":
        rows = zip(ds["merit"].values, ds["value"].values, ds["unit"].values, strict=True)
        return frozenset((str(merit), float(value), str(unit)) for merit, value, unit in rows)
    numbers = sorted(str(name) for name, one in ds.variables.items() if one.dtype.kind in "fi" and one.size)
    if not numbers:
        return frozenset()
    digest = hashlib.sha256()
    for name in numbers:
        digest.update(name.encode() + np.ascontiguousarray(ds.variables[name].values).tobytes())
    return frozenset({digest.hexdigest(), str(ds.attrs.get("benchmark", ds.attrs["kind"]))})


def record(ds: xr.Dataset) -> dict[str, Any]:
    """Return the facts of a record of a run that are known."""
    empty = blank("run")
    row = {str(name): ds[name].values[0] for name in ds.variables}
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
    return {
        name: value
        for name, value in plain.items()
        if value not in ("", -1) and value == value and name in empty and not isinstance(value, np.datetime64)
    } | {name: seconds(row[name]) for name in ("start", "end") if not np.isnat(row[name])}


def jobs(ds: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return what Slurm's accounting states of each job."""
    out: dict[str, dict[str, Any]] = {}
    names = ("state", "exit_code", "exit_signal", "start", "end", "elapsed", "nodes", "node_list", "job_name")
    columns = {name: ds[name].values for name in names}
    for at in np.flatnonzero(ds["step"].values == ""):
        row = {name: column[at] for name, column in columns.items()}
        job: dict[str, Any] = {name: str(row[name]) for name in ("state", "job_name")} | {"batch": "Slurm"}
        # Of a job that still runs the exit code is no result.
        counts = ("nodes",) if np.isnat(row["end"]) else ("exit_code", "nodes")
        job |= {name: int(row[name]) for name in counts if int(row[name]) >= 0}
        job |= {name: seconds(row[name]) for name in ("start", "end") if not np.isnat(row[name])}
        with contextlib.suppress(ConfigError):  # "None assigned"
            job["node_list"] = ",".join(node_names(str(row["node_list"])))
        out[str(ds["job_id"].values[at])] = job
    return out


def seconds(moment: Any) -> float:
    """Return the s since 1970 of a moment."""
    return float((np.datetime64(moment, "ns") - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
