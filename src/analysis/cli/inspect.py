"""``benchbook inspect``: what a file is, what is in it, what is wrong with it."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from analysis import readers
from analysis.base.errors import BenchbookError, ReadError
from analysis.base.models import known
from analysis.cli import BAD_INPUT, FINE

MOST_FIGURES = 40  # of one file that are shown
# What may be added up over the entries of a file. A rate, a latency or a power has no sum, the kernels of
# HPCG have their total among them, and a job's record holds what its steps have.
_ADDITIVE = {("profile", name) for name in ("count", "time", "bytes", "app_time", "mpi_time")}
_ADDITIVE |= {("openatom", "iteration_time")}


def inspect(files: Sequence[str], *, engine: str | None, as_json: bool) -> int:
    """Describe files, by their content or as read by `engine`; return 1 if one is damaged or unknown."""
    if engine is not None and engine not in readers.ENGINES:
        raise ReadError.at("--engine", 0, f"{engine!r} is no engine", known(engine, sorted(readers.ENGINES)))
    described = [_describe(name, engine) for name in files]
    if as_json:
        print(json.dumps(described, indent=1, ensure_ascii=False))
    for one in described:
        if not as_json and one["engine"]:
            print(_as_text(one))
        for fault in one["faults"] if not as_json else ():
            print(fault, file=sys.stderr)
    return FINE if all(one["complete"] for one in described) else BAD_INPUT


def _describe(name: str, engine: str | None) -> dict[str, Any]:
    try:
        ds = readers.open(name, engine=engine)
    except BenchbookError as error:
        return {"file": name, "engine": "", "complete": False, "faults": [str(f) for f in error.faults]}
    return {
        "file": name,
        "engine": readers.engine_of(ds) if ds.attrs["kind"] != "profile" else ds.attrs["tool"],
        "complete": bool(ds.attrs.get("complete", True)),
        "dims": {str(dim): size for dim, size in ds.sizes.items()},
        "facts": {str(k): v for k, v in ds.attrs.items() if k not in ("warnings", "complete", "kind")},
        "variables": _variables(ds),
        "faults": list(ds.attrs.get("warnings", [])),
    }


def _variables(ds: xr.Dataset) -> dict[str, str]:
    """Say what each variable holds; of figures of merit what each of them is."""
    if ds.attrs["kind"] != "merits":
        return {str(n): _range(ds[n], ds.attrs["kind"]) for n in ds.data_vars}
    shown = {str(n): _range(ds[n], "merits") for n in ds.data_vars if not ds[n].dims}
    columns = (ds[n].values for n in ("merit", "case", "result", "value", "unit", "check"))
    rows = list(zip(*columns, strict=True))
    several, units = len({row[2] for row in rows}) > 1, ds["unit"].values
    for at, (merit, case, result, value, unit, check) in enumerate(rows[:MOST_FIGURES]):
        number = f" ({result})" if several else ""
        name = f"{case + ': ' if case else ''}{merit}{number}"
        shown[name if name not in shown else f"{name} #{at}"] = f"{value:.12g} {unit} {check}".rstrip()
    if len(rows) > MOST_FIGURES:
        shown["..."] = f"{len(rows) - MOST_FIGURES} more of {len(units)} figures"
    return shown


def _range(array: xr.DataArray, kind: str) -> str:
    values, unit = array.values, array.attrs.get("units", "")
    unit = "" if unit in ("", "1") else f" {unit}"
    if array.dtype.kind not in "fiuM":
        shown = sorted(set(map(str, values.ravel())))
        return ", ".join(shown[:4]) + (f", ... ({len(shown)})" if len(shown) > 4 else "")
    if array.dtype.kind == "M":
        good = values[~np.isnat(values)]
    else:  # a whole number that is not known is -1, in a registry that has no negative ones
        good = values[np.isfinite(values) & ((values != -1) | (array.dtype.kind == "f"))]
    if good.size == 0:
        return "nothing known"
    if array.ndim == 0:
        return f"{values}{unit}"
    missing = f", {values.size - good.size} unknown" if good.size < values.size else ""
    if array.dtype.kind == "M":
        days = dict.fromkeys(str(stamp.astype("datetime64[s]")) for stamp in (good.min(), good.max()))
        return f"{' to '.join(days)}{missing}"
    total = f", sum {good.sum():g}" if (kind, array.name) in _ADDITIVE else ""
    ends = dict.fromkeys(f"{end:g}" for end in (good.min(), good.max()))
    return f"{' to '.join(ends)}{unit}{total}{missing}"


def _as_text(one: dict[str, Any]) -> str:
    whole = "whole" if one["complete"] else "NOT WHOLE"
    dims = ", ".join(f"{size} {dim}" for dim, size in one["dims"].items())
    lines = [f"{one['file']}: {one['engine']}, {whole}" + (f" ({dims})" if dims else "")]
    for key, value in one["facts"].items():
        text = str(value).replace("\n", " ")
        lines.append(f"  {key:<18} {text if len(text) <= 100 else text[:97] + '...'}")
    lines += [f"  {name:<18} {text}" for name, text in one["variables"].items()]
    return "\n".join(lines)
