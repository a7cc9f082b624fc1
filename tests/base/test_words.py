"""Levels as words."""

from __future__ import annotations

import pytest

from analysis.base.words import exact, number
from analysis.estimates.stats import Estimate
from analysis.schema.factors import labelled, level_name


@pytest.mark.parametrize(
    ("factor", "level", "word"),
    [
        ("nodes", 1, "1 node"),
        ("ranks_per_node", 1, "1 rank per node"),
        ("target_time", 6.0, "6 s"),
        ("mpi", "MPICH", "MPICH"),
    ],
)
def test_level_name__in_a_sentence(factor: str, level: str | float, word: str) -> None:
    assert level_name(factor, level) == word


def test_labelled__a_level_that_nobody_stated_is_no_blank() -> None:
    assert labelled("tuning", "") == "not stated"
    assert labelled("nodes", 8) == "nodes 8"


@pytest.mark.parametrize(
    ("value", "spelt"),
    [(11_656, "11,656"), (1_234_567, "1,234,567"), (-3, "−3"), (86.363636, "86.3636"), (0.25, "0.25")],
)
def test_exact__a_count_keeps_every_digit(value: float, spelt: str) -> None:
    assert exact(value) == spelt
    same = Estimate(value, value, value, 6)
    assert number(same, "messages") == f"{spelt} messages (exact)"
