"""Levels as words."""

from __future__ import annotations

import pytest

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
