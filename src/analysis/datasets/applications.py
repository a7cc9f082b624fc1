"""Applications: which reader reads their result, and what the table of runs takes from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis.base import models
from analysis.base.campaigns import Application


def facts(application: Application, result: xr.Dataset) -> dict[str, Any]:
    """Take from a result, as the application's reader returns it, what variables of kind ``runs`` hold."""
    out: dict[str, Any] = {"figure_of_merit_unit": application.unit}
    merit = application.figure_of_merit
    if merit:
        out["figure_of_merit"] = float(result[merit])
    if f"{merit}_resolution" in result:
        out["figure_of_merit_resolution"] = float(result[f"{merit}_resolution"])
    for name in ("benchmark_time", "data_memory", "official_time"):
        if name in result:
            out[name] = float(result[name])
    if "global_size" in result:
        product = result["local_size"].values * result["process_grid"].values
        whole = result["global_size"].values / np.where(product > 0, product, np.nan)
        out["grid_ratio"] = float(whole.mean())
    return out


def load_applications(folder: Path) -> Mapping[str, Application]:
    """Load ``config/applications/*.yaml``; ConfigError where a file lacks a field or has an unknown one."""
    return {path.stem: models.load(Application, path) for path in sorted(folder.glob("*.yaml"))}
