"""Patterns of communication against numbers by hand and against a real profile."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from analysis import readers
from analysis.base import project
from analysis.datasets import profile
from analysis.model.draws import Draws
from analysis.model.inputs import Exchange, Pairs, Structure
from analysis.model.patterns import of_grid, of_structure, process_grid

EXTRA = 38  # products with the matrix that HPCG makes outside of its iterations, at these settings
ITERATIONS = 516


def _given(**values: float) -> Draws:
    return Draws({name: np.array([value]) for name, value in values.items()}, ("",))


def test_process_grid__is_as_near_to_a_cube_as_can_be() -> None:
    assert [process_grid(n) for n in (1, 8, 80, 7)] == [(1, 1, 1), (2, 2, 2), (4, 4, 5), (1, 1, 7)]


def test_of_grid__a_cube_of_eight_by_hand() -> None:
    """Each of 2x2x2 ranks has 3 faces, 3 edges and a corner: 3 n² + 3 n + 1 values of 8 B."""
    exchanged = of_grid(16, 1, 8).exchanged
    assert [one.inside for one in exchanged] == [7, 7, 7, 7]
    assert [one.inside_payload for one in exchanged] == [8 * (3 * n * n + 3 * n + 1) for n in (16, 8, 4, 2)]
    assert all(one.messages == one.node_messages == 0 for one in exchanged)


def test_of_grid__two_nodes_of_four_share_a_plane_of_the_cube() -> None:
    # Across the plane: 1 face, 2 edges and the corner, of each of a node's four ranks.
    first = of_grid(16, 2, 4).exchanged[0]
    assert (first.messages, first.payload) == (4, 8 * (256 + 2 * 16 + 1))
    assert (first.node_messages, first.node_payload) == (16, 4 * 8 * 289)
    assert (first.inside, first.inside_payload) == (3, 8 * (2 * 256 + 16))


def test_of_grid__messages_are_those_of_a_profiled_run() -> None:
    """Sends by size of HPCG 16³ on eight ranks, as IPM counted them: all but 38 products are iterations."""
    run = project.raw("vm-profiles") / "runs/hpcg-ipm-n8"
    table = profile.messages(readers.open(next(run.glob("*.ipm.xml.xz"))))
    seen = dict(table.loc[table["call"] == "MPI_Send", ["size", "count"]].itertuples(index=False))
    expected: Counter[int] = Counter()
    for level, one in enumerate(of_grid(16, 1, 8).exchanged):
        side = 16 >> level
        times = one.times * ITERATIONS + (EXTRA if level == 0 else 0)
        for size, messages in ((side * side, 3), (side, 3), (1, 1)):
            expected[8 * size] += round(8 * messages * times)
    assert seen == dict(expected)
    reductions = table.loc[table["call"] == "MPI_Allreduce", "count"].sum() / 8
    assert of_grid(16, 1, 8).reduced[0].times * ITERATIONS == reductions - 64  # 64 outside of iterations


def test_of_structure__a_part_of_a_cube_by_hand() -> None:
    # 8 nodes of 8 ranks: parts of 1000 elements, 100 x 12 B over 6 partners, 200 B each. Of the parts in a
    # node's cube half are at its surface: 8^(-1/3) x (7/8)^(1/3) = 0.4782.
    structure = Structure(exchange=Exchange(partners="p", rounds="r", bytes_per_surface="b"))
    draws = _given(p=6.0, r=2.0, b=12.0)
    (one,) = of_structure(structure, draws, 64_000, 8, 8).exchanged
    outside = 0.5 * (7 / 8) ** (1 / 3)
    assert one.times == pytest.approx([2.0])
    assert one.messages == pytest.approx([12 * outside])  # the corner has twice the mean
    assert one.node_messages == pytest.approx([8 * 6 * outside])
    assert one.node_payload == pytest.approx([8 * 6 * outside * 200])
    assert one.inside_payload == pytest.approx([6 * (1 - outside) * 200])


def test_of_structure__pairs_send_one_message_each() -> None:
    (one,) = of_structure(Structure(pairs=Pairs(bytes="b")), _given(b=8.0), 1, 2, 8).exchanged
    assert (one.messages, one.node_messages) == (1, 8)
    assert one.node_payload == pytest.approx([64.0])


def test_of_structure__one_rank_sends_nothing() -> None:
    structure = Structure(exchange=Exchange(partners="p", rounds="r", bytes="b"))
    assert of_structure(structure, _given(p=6.0, r=2.0, b=12.0), 1, 1, 1).exchanged == ()
