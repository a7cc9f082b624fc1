"""Small campaigns made by hand, in memory: rows of factors and values, tables of profiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.claims import Verdict, evaluate
from analysis.claims.model import Claim, Report, load_report
from analysis.estimates.campaign import Campaign
from analysis.estimates.question import Question
from analysis.schema.factors import FACTORS
from analysis.schema.frames import blank, to_dataset

TABLES = ("calls", "messages", "ranks", "matrix", "micro", "files")

HEAD = """report: { title: A report, publisher: us, date: "2026" }
claims:
"""


def repeats(values: Iterable[float], variable: str = "elapsed", **factors: Any) -> list[dict[str, Any]]:
    """Make one row a value, alike in every factor."""
    common = {
        "application": "app",
        "valid": True,
        "timing": True,
        "concurrent_jobs": 1,
        "nodes": 1,
        "ranks": 1,
    }
    return [{**blank("runs"), **common, **factors, variable: value} for value in values]


def in_turn(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give runs an order in which their cells take turns, each with its repeats shuffled."""
    cells: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        cells.setdefault(str([row.get(name) for name in FACTORS]), []).append(at)
    turns = [np.random.default_rng(len(members)).permutation(members) for members in cells.values()]
    order = [int(at) for turn in itertools.zip_longest(*turns) for at in turn if at is not None]
    return [{**row, "order": order.index(at)} for at, row in enumerate(rows)]


def campaign(
    rows: Sequence[Mapping[str, Any]], evidence: str = "measured", **tables: Sequence[Mapping[str, Any]]
) -> Campaign:
    """Put rows of runs, named r00, r01 ... where they have no name, and tables into a campaign.

    Where no row has a place in the order of execution, cells take turns, each with its repeats shuffled.
    """
    number = itertools.count()
    rows = rows if any(row.get("order", -1) >= 0 for row in rows) else in_turn(rows)
    named = [{**row, "run": row["run"] or f"r{next(number):02}"} for row in rows]
    groups = {"runs": to_dataset([pd.DataFrame(named)], "runs")}
    for kind in TABLES:
        groups[kind] = to_dataset([pd.DataFrame(tables.get(kind, ()))], kind)
    return Campaign("hand", xr.DataTree.from_dict(groups), "By hand", evidence, "a sheet of paper")


def claim(folder: Path, text: str) -> Claim:
    """Load a single claim from its YAML, given without its id, topic and statement."""
    lines = [
        "  - id: one",
        "    topic: t",
        "    statement: s",
        *(f"    {line}" for line in text.splitlines()),
    ]
    path = folder / "one.yaml"
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return load_report(path).claims[0]


def question(folder: Path, text: str) -> Question:
    """Load the question of a single claim."""
    return claim(folder, text).question


def verdict(one: Claim, on: Campaign) -> Verdict:
    """Evaluate a single claim."""
    return evaluate(Report("one", "A report", "us", "2026", (one,)), on)[0]
