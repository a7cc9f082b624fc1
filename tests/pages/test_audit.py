"""The audit's tables and figure."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.base import project
from analysis.claims import load_report
from analysis.pages import audit, figures

REPORTS = ["lsdyna2014", "lsdyna2009", "sharp2019", "hpcg2014", "openatom2010"]


def test_tables__count_every_relation_once() -> None:
    table = audit.relations(REPORTS)
    counted = audit.counts(table)
    titles = [f"{one.title}, {one.date}" for one in (load_report(project.claims(name)) for name in REPORTS)]
    assert list(counted.index) == titles
    assert list(counted.columns) == ["consistent", "could not fail", "not checkable", "inconsistent"]
    assert int(counted.to_numpy().sum()) == len(table) == 87
    assert counted.loc[titles[REPORTS.index("hpcg2014")]].tolist() == [3, 1, 4, 2]
    margin = table.set_index("relation")["margin"]
    assert margin["two-jobs-and-scaling"] == pytest.approx(101 / 77 - 1)
    assert np.isnan(margin["seven-times-percent"])


def test_tables__agreements_are_relative_to_the_printed_right_side() -> None:
    same = audit.agreements(audit.relations(["lsdyna2009"])).set_index("relation")
    one = same.loc["run-time-and-jobs"]
    # 25 (24.22 to 25.79) against 20 (19.5 to 20.5)
    assert one["ratio"] == pytest.approx(25 / 20)
    assert one["low"] == pytest.approx((100 / 0.805 - 100) / 20)
    assert (one["band_low"], one["band_high"]) == pytest.approx((19.5 / 20, 20.5 / 20))
    # Orders and one-sided figures have no place on this axis.
    assert "eight-jobs-in-a-node" not in same.index
    assert (
        "almost-and-over-five" not in audit.agreements(audit.relations(["lsdyna2014"]))["relation"].tolist()
    )


def test_tables__draws_one_mark_a_relation() -> None:
    same = audit.agreements(audit.relations(REPORTS))
    fig, ax = figures.new_figure("reported")
    audit.draw_agreements(same, ax=ax)
    assert next(label.get_text() for label in ax.get_yticklabels()) == figures.wrapped(
        str(same["statement"].iloc[0]), 62
    )
    assert len(ax.get_yticks()) == len(same)
    assert "consistent" in figures.svg(fig, description="Both sides of each relation")
