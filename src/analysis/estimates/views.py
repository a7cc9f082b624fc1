"""Views of the published runs: which of them speak to which claims, and what their levels stand for.

The runs were made by others for other questions; each question of a report is put to those that
bear on it, under a reading of their levels that is declared and shown with the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.datasets.published import load_declaration
from analysis.estimates.campaign import FACTORS, Campaign
from analysis.schema.frames import to_dataset


@dataclass(frozen=True, slots=True)
class View:
    """One question put to the published runs.

    Attributes
    ----------
    report : str
    topics : tuple of str
        Of the claims that it answers.
    select : mapping
        Column of the table of runs -> value or values.
    alike : tuple of str
        Factors whose levels are put together.
    why : str
        Reason for that.
    levels : mapping
        As a campaign's: factor -> the report's level -> ``{"is": ..., "differs": ...}``.
    """

    report: str
    topics: tuple[str, ...]
    select: Mapping[str, Any]
    alike: tuple[str, ...] = ()
    why: str = ""
    levels: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)


def load_views(report: str, base: Path | None = None) -> list[View]:
    """Load the views for the claims of one report.

    Raises
    ------
    ConfigError
        If ``config/published.yaml`` cannot be used or puts together what is no factor.
    """
    base = base or project.root()
    found = []
    for entry in load_declaration(base)["views"]:
        alike = entry.get("alike", {})
        view = View(
            entry["report"],
            tuple(entry["topics"]),
            entry["select"],
            tuple(alike.get("factors", ())),
            alike.get("why", ""),
            entry.get("levels", {}),
        )
        for name in {*view.alike, *view.levels} - set(FACTORS):
            path = str(base / "config" / "published.yaml")
            raise ConfigError.at(path, 0, f"{name!r} is no factor", f"factors: {', '.join(FACTORS)}")
        if view.report == report:
            found.append(view)
    return found


def seen(campaign: Campaign, view: View | None) -> Campaign:
    """Show a campaign as a view has it.

    Parameters
    ----------
    campaign : Campaign
    view : View or None
        None for claims that no view answers: no run is left.

    Returns
    -------
    Campaign
        With the runs that the view selects; a factor whose levels are put together is blank in all of
        them, and every level that the view declares for it stands for the blank.
    """
    runs = campaign.runs
    if view is None:
        return replace(campaign, tree=_with(campaign.tree, runs.iloc[:0]))
    for name, wanted in view.select.items():
        runs = runs[runs[name].isin(wanted if isinstance(wanted, list) else [wanted])]
    levels = dict(view.levels)
    for factor in view.alike:
        declared = view.levels.get(factor, {})
        own = [level for one in declared.values() for level in np.atleast_1d(one["is"]).tolist()]
        runs = runs[runs[factor].isin(own)] if own else runs
        nothing: str | int = "" if pd.api.types.is_string_dtype(runs[factor].dtype) else -1
        runs = runs.assign(**{factor: nothing})
        levels[factor] = {name: {**one, "is": nothing} for name, one in declared.items()}
    return replace(campaign, tree=_with(campaign.tree, runs), stand_ins=levels)


def _with(tree: xr.DataTree, runs: pd.DataFrame) -> xr.DataTree:
    groups = {str(name): node.to_dataset() for name, node in tree.children.items() if name != "runs"}
    return xr.DataTree.from_dict({**groups, "runs": to_dataset([runs], "runs")})
