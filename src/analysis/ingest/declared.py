"""What a campaign's declaration says about its power meters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis import project
from analysis.amounts import amount
from analysis.energy_point import UNSAID


def declared_power(campaign: str, base: Path | None = None, path: Path | None = None) -> dict[str, Any]:
    """Load the part ``power`` of a campaign's declaration.

    Parameters
    ----------
    campaign : str
    base : Path, optional
        Root of the project.
    path : Path, optional
        By default ``config/campaigns/<campaign>.yaml``, which need not be there.

    Returns
    -------
    dict
        Empty without a declaration.

    Raises
    ------
    ConfigError
        If it does not follow ``workflow/schemas/campaign.schema.yaml``.
    """
    base = base or project.root()
    place = path or base / "config" / "campaigns" / f"{campaign}.yaml"
    if path is None and not place.is_file():
        return {}
    schema = base / "workflow" / "schemas" / "campaign.schema.yaml"
    return dict(project.load_yaml(place, schema).get("power", {}))


def state(ds: xr.Dataset, power: Mapping[str, Any]) -> xr.Dataset:
    """Say of a log in a run's folder what it does not say itself: where it measures, how exactly."""
    given = power.get("runs", {})
    location = ds.attrs.get("location") or given.get("location", "")
    accuracy = float(ds.attrs.get("accuracy", np.nan))
    if np.isnan(accuracy) and "accuracy" in given:
        accuracy = amount(given["accuracy"], "1")
    return ds.assign_attrs(location=location, accuracy=accuracy)


def state_row(row: dict[str, Any], power: Mapping[str, Any]) -> None:
    """Say the same of a run whose own log has given its energy."""
    given = power.get("runs", {})
    if np.isnan(row["energy"]):
        return
    if "location" in given:
        parts = row["energy_location"].split(" + ")
        named = (given["location"] if part in ("", UNSAID) else part for part in parts)
        row["energy_location"] = " + ".join(dict.fromkeys(named))
    if "accuracy" in given and np.isnan(row["energy_accuracy"]):
        row["energy_accuracy"] = amount(given["accuracy"], "1")
        limit = row["energy_accuracy"] * row["energy"] / np.sqrt(3)
        row["energy_uncertainty"] = float(np.hypot(np.nan_to_num(row["energy_uncertainty"]), limit))
