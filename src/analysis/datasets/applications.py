"""Applications as data: which reader reads their result and what their figure of merit is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis.base import project


@dataclass(frozen=True, slots=True)
class Application:
    """One entry of ``config/applications/``.

    Attributes
    ----------
    name, title : str
    engine : str
        Reader of the result file.
    figure_of_merit : str
        Variable of that reader's dataset; empty if the application has no single one.
    unit : str
        Unit of the figure of merit.
    higher_is_better : bool
    fixed_time : bool
        True if a run lasts as long as it is told to: then its length is no time to solution.
    launch : mapping
        How it is run, for `analysis.measure`; empty if it cannot be run from here.
    """

    name: str
    title: str
    engine: str
    figure_of_merit: str
    unit: str
    higher_is_better: bool
    fixed_time: bool
    launch: Mapping[str, Any] = field(default_factory=dict)

    def facts(self, result: xr.Dataset) -> dict[str, Any]:
        """Take from a result what the table of runs holds."""
        out: dict[str, Any] = {"figure_of_merit_unit": self.unit}
        if self.figure_of_merit:
            out["figure_of_merit"] = float(result[self.figure_of_merit])
        if f"{self.figure_of_merit}_resolution" in result:
            out["figure_of_merit_resolution"] = float(result[f"{self.figure_of_merit}_resolution"])
        for name in ("benchmark_time", "data_memory", "official_time"):
            if name in result:
                out[name] = float(result[name])
        if "global_size" in result:
            product = result["local_size"].values * result["process_grid"].values
            whole = result["global_size"].values / np.where(product > 0, product, np.nan)
            out["grid_ratio"] = float(whole.mean())
        return out


def load_applications(folder: Path) -> Mapping[str, Application]:
    """Load ``config/applications/*.yaml``.

    Raises
    ------
    ConfigError
        If a file lacks a field or has an unknown one.
    """
    schema = project.root() / "workflow" / "schemas" / "application.schema.yaml"
    return {
        path.stem: Application(name=path.stem, **project.load_yaml(path, schema))
        for path in sorted(folder.glob("*.yaml"))
    }
