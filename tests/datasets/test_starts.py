"""What is left of a start whose runs were removed, and what was never measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.datasets.witnesses import hearing, starts
from analysis.schema.registry import blank

MATRIX: dict[str, Any] = {
    "repeats": 2,
    "factors": {"mpi": ["a", "b"]},
    "subsets": [
        {"name": "one", "factors": {"nodes": [1, 2]}},
        {
            "name": "two",
            "repeats": {"least": 3, "most": 9},
            "factors": {"nodes": [2, 4], "ranks_per_node": "all"},
        },
    ],
}


def case(runs: list[tuple[str, int, int]], matrix: Mapping[str, Any] = MATRIX) -> hearing.Hearing:
    """Runs of a question, on some nodes, with a repetition, in this order."""
    rows = [
        blank("runs") | {"run": f"r{at}", "question": one, "nodes": nodes, "repeat": repeat, "order": at}
        for at, (one, nodes, repeat) in enumerate(runs, 1)
    ]
    return hearing.Hearing(
        Path("c"), "c", [hearing.Testimony(row) for row in rows], declared={"matrix": matrix}
    )


WHOLE = [("one", nodes, repeat) for nodes in (1, 2) for repeat in (1, 2, 3)]
WHOLE += [("two", 4, repeat) for repeat in (1, 2, 3)]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (WHOLE, []),  # two nodes of the second subset are runs of the first
        (WHOLE[:-1], ["asks for 3 repetitions of two; its cell has 2"]),
        ([*WHOLE[:1], *WHOLE[3:]], ["asks for 2 repetitions of one; 1 of 2 cells have 1"]),
        (WHOLE[3:], ["asks for nodes 1 in one, and no run has it"]),
    ],
)  # fmt: skip
def test_runs_to_measure__names_what_the_matrix_asks_for(
    runs: list[tuple[str, int, int]], said: list[str]
) -> None:
    assert [fault.found for fault in starts.runs_to_measure(case(runs))] == said
    assert not list(starts.runs_of_matrix(case(runs)))  # there is no campaign.txt


def test_runs_to_measure__exclusions_leave_levels_open() -> None:
    excluding = {**MATRIX, "exclude": [{"when": {"nodes": 1}, "why": "too small"}]}
    assert not list(starts.runs_to_measure(case(WHOLE[3:], excluding)))


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ([1, 2, 3, 4, 8, 9], ["order goes up to 9, and no run has 5 to 7"]),
        ([1, 2, 4, 8, 9], []),  # single numbers and a block
        ([100, 101, 102], []),  # counted from somewhere else
        ([4, 5, 6, 7, 11, 12], ["order goes up to 12, and no run has 1 to 3 and 8 to 10"]),
        ([1, 2, 3, 4, 5, 6], []),
    ],
)
def test_blocks_in_order__names_a_start(order: list[int], said: list[str]) -> None:
    of_order = case([("one", 1, 1)] * len(order))
    of_order.runs = [
        hearing.Testimony({**run.row, "order": at}) for run, at in zip(of_order.runs, order, strict=True)
    ]
    assert [fault.found for fault in starts.blocks_in_order(of_order)] == said
