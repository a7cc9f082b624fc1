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


STRUCTURE = Structure(exchange=Exchange(partners="p", rounds="r", bytes_per_surface="b"))


def test_of_structure__faces_of_a_block_by_hand() -> None:
    # 8 nodes of 8 ranks, 2 x 2 x 2 each: parts of 1000 elements, 100 x 12 B over 6 faces, 200 B each. Every
    # node is a corner of the mesh, so three of its sides, 4 faces each, go to others, as do three of a rank.
    (one,) = of_structure(STRUCTURE, _given(p=6.0, r=2.0, b=12.0), 64_000, 8, 8).exchanged
    assert one.times == pytest.approx([2.0])
    assert (one.messages, one.payload) == (pytest.approx([3.0]), pytest.approx([600.0]))
    assert (one.node_messages, one.node_payload) == (pytest.approx([12.0]), pytest.approx([2400.0]))
    assert (one.inside, one.inside_payload) == (pytest.approx([3.0]), pytest.approx([600.0]))


def test_of_structure__edges_and_corners_are_messages_but_few_bytes() -> None:
    # Along an axis the outer part of a node sees one other and the inner one two: of three planes 3 x 3 edges
    # twice, less 8 x 3 within; 3 x 3 x 3 corners less 8 within. Shares of 1200 B: 6 x 100, 12 x 10 and 8.
    (one,) = of_structure(STRUCTURE, _given(p=26.0, r=1.0, b=12.0), 64_000, 8, 8).exchanged
    face = 1200 * 100 / 728
    faces, edges, corners = 12, 30, 19
    # The rank in the middle of the mesh: 3 + 9 + 7 of 26 to other nodes, 3 + 3 + 1 within.
    assert (one.messages, one.inside) == (pytest.approx([19.0]), pytest.approx([7.0]))
    assert one.payload == pytest.approx([face * (3 + 9 / 10 + 7 / 100)])
    assert one.node_messages == pytest.approx([faces + edges + corners])
    assert one.node_payload == pytest.approx([face * (faces + edges / 10 + corners / 100)])


def test_of_structure__a_node_of_twenty_in_the_middle_of_a_large_mesh() -> None:
    """2 x 2 x 5 parts: of 2 x 4 + 2 x 2 x 10 = 48 outer faces of 120 all leave it."""
    (one,) = of_structure(STRUCTURE, _given(p=6.0, r=1.0, b=12.0), 64_000, 27, 20).exchanged
    assert one.node_messages == pytest.approx([48.0])
    assert one.messages == pytest.approx([3.0])
    # Where there are three partners to six faces, half of each is counted.
    (few,) = of_structure(STRUCTURE, _given(p=3.0, r=1.0, b=12.0), 64_000, 27, 20).exchanged
    assert few.node_messages == pytest.approx([24.0])
    assert few.node_payload == pytest.approx(one.node_payload)


def test_of_structure__pairs_send_one_message_each() -> None:
    (one,) = of_structure(Structure(pairs=Pairs(bytes="b")), _given(b=8.0), 1, 2, 8).exchanged
    assert (one.messages, one.node_messages) == (1, 8)
    assert one.node_payload == pytest.approx([64.0])


def test_of_structure__one_rank_sends_nothing() -> None:
    structure = Structure(exchange=Exchange(partners="p", rounds="r", bytes="b"))
    assert of_structure(structure, _given(p=6.0, r=2.0, b=12.0), 1, 1, 1).exchanged == ()
