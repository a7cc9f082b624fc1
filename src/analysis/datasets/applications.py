"""Applications: the reader of their result, and its values in the table of runs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis import readers
from analysis.base import models, project
from analysis.readers.format import Format
from analysis.readers.merits.output import figure
from analysis.schema.applications import Application

# Applications of published figures, whose output no reader reads.
_UNREAD = {
    "cloverleaf": "CloverLeaf", "laghos": "Laghos", "lbm": "LBM D2Q37", "miniweather": "miniWeather",
    "openradioss": "OpenRadioss", "opensbli": "OpenSBLI", "pennant": "PENNANT", "radioss": "Radioss",
    "spec-cpu2006": "SPEC CPU2006", "specpower": "SPECpower", "sph-exa": "SPH-EXA",
}  # fmt: skip


def facts(
    application: Application, result: xr.Dataset, *, case: str = "", reason: str = ""
) -> dict[str, Any]:
    """Return the variables of kind ``runs`` that a result of the application's reader has.

    `case` chooses among a file's results of several cases; `reason` is a known fault of the run.
    """
    if result.attrs["kind"] == "merits":
        return _merit(application, result, case, reason)
    out: dict[str, Any] = {"figure_of_merit_unit": application.unit}
    # Variables, not arrays with coordinates: a campaign of 10,000 runs asks for 70,000 of them.
    held, merit = result.variables, application.figure_of_merit
    if merit:
        out["figure_of_merit"] = float(held[merit])
    if f"{merit}_resolution" in held:
        out["figure_of_merit_resolution"] = float(held[f"{merit}_resolution"])
    for name in ("benchmark_time", "data_memory", "official_time"):
        if name in held:
            out[name] = float(held[name])
    if "global_size" in held:
        product = held["local_size"].values * held["process_grid"].values
        whole = held["global_size"].values / np.where(product > 0, product, np.nan)
        out["grid_ratio"] = float(whole.mean())
    return out


def _merit(application: Application, result: xr.Dataset, case: str, reason: str) -> dict[str, Any]:
    """Return the figure that the application names; one in another unit is another quantity."""
    out: dict[str, Any] = {"figure_of_merit_unit": application.unit}
    out["benchmark_time"] = float(result["benchmark_time"])
    name = application.figure_of_merit
    if not name or not result.attrs["complete"]:  # the run's reason says what is not complete
        return out
    found = figure(result, name, case=case)
    if found is None:
        wrong = f"its {application.engine} result has no figure {name!r} of the run's case"
    elif found.unit != application.unit:
        wrong = f"its {name} is in {found.unit!r}, that of other runs in {application.unit!r}"
    else:
        return out | {"figure_of_merit": found.value, "figure_of_merit_resolution": found.resolution}
    return out | {"reason": reason or wrong}


def load_applications(folder: Path) -> Mapping[str, Application]:
    """Return the applications by name: those of the formats, and those of ``config/applications/*.yaml``.

    A file goes before the format. ConfigError where one lacks a field or has an unknown one.
    """
    found = {row.application: of_format(row) for row in readers.rows() if row.application}
    found |= {path.stem: models.load(Application, path) for path in folder.glob("*.yaml")}
    return dict(sorted(found.items()))


def of_format(row: Format) -> Application:
    """Declare the application of a format, from the format's row."""
    names = ("title", "engine", "figure_of_merit", "unit", "higher_is_better", "fixed_time")
    return Application(**{name: getattr(row, name) for name in names})


def application_name(name: str) -> str:
    """Return what a sentence calls an application, given by its name or its engine's."""
    return _subjects().get(name, name)


@cache
def _subjects() -> Mapping[str, str]:
    known = (row for row in readers.rows() if row.application)
    return _UNREAD | {name: row.subject for row in known for name in (row.engine, row.application)}


def own_titles(base: Path) -> dict[str, str]:
    """Return the titles that a project's ``config/applications`` has and the formats have not."""
    found = {path.stem: path for path in (base / "config" / "applications").glob("*.yaml")}
    given = {name: str(project.load_yaml(path).get("title", "")) for name, path in found.items()}
    known = {row.title for row in readers.rows() if row.application}
    return {name: title for name, title in given.items() if title and title not in known}
