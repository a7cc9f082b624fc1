"""Levels in sentences: what a sentence is about has a noun, and a verb that agrees."""

from __future__ import annotations

import pytest

from analysis.estimates.spelling import ahead, noun, place
from tests.estimates.hand import campaign, repeats


@pytest.mark.parametrize(
    ("factor", "levels", "said"),
    [
        (
            "dimm",
            ("dual-rank", "single-rank"),
            "dual-rank modules are 1.05 times as fast as single-rank modules",
        ),
        ("target_time", (45, 10), "runs of 45 s reach 1.05 times the rate of runs of 10 s"),
        ("mpi", ("Open MPI 5", "MPICH 4"), "Open MPI 5 is 1.05 times as fast as MPICH 4"),
        ("nodes", (2, 1), "2 nodes are 1.05 times as fast as 1 node"),
        ("nodes", (1, 2), "1 node is 1.05 times as fast as 2 nodes"),
        ("build", ("-O3", "-O2"), "build -O3 is 1.05 times as fast as build -O2"),
    ],
)
def test_ahead__a_level_has_its_noun_and_the_verb_agrees(
    factor: str, levels: tuple[str | int, str | int], said: str
) -> None:
    own = campaign(repeats([1.0, 1.1]))
    names = noun(own, factor, levels[0]), noun(own, factor, levels[1])
    assert ahead("elapsed", factor, levels, names, "1.05") == said


def test_place__memory_has_its_noun_after_its_levels() -> None:
    own = campaign(repeats([1.0, 1.1]))
    assert place(own, "dimm", ["dual-rank"]) == "with dual-rank modules"
    assert place(own, "dimm", ["dual-rank", "single-rank"]) == "with dual-rank and single-rank modules"
    assert place(own, "dimm", list("abcdefgh")) == "with all memory modules (8)"
