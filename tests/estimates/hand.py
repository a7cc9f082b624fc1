"""Small campaigns made by hand, in memory: rows of factors and values, tables of profiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from analysis.claims import Verdict, evaluate
from analysis.claims.model import Claim, Report, load_report
from analysis.estimates.campaign import Campaign
from analysis.estimates.question import Question
from analysis.schema.registry import blank, to_dataset

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


def campaign(
    rows: Sequence[Mapping[str, Any]], evidence: str = "measured", **tables: Sequence[Mapping[str, Any]]
) -> Campaign:
    """Put rows of runs, named r00, r01 ... where they have no name, and tables into a campaign."""
    number = itertools.count()
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
