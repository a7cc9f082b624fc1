"""Patterns of communication: what the ranks of a job send in a step, from a grid or from a structure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.model.draws import Array, Draws
from analysis.model.inputs import Exchange, Structure, Transpose

BYTES = 8.0  # of a double
# HPCG's multigrid has four levels; exchanges of an iteration by level: one of the product outside of it and,
# on each level but the last, one for the first smoothing, the residual and the second smoothing.
HPCG_EXCHANGES = (4, 3, 3, 1)
HPCG_REDUCTIONS = 3


@dataclass(frozen=True)
class Exchanged:
    """Messages with neighbours in a step, times counted: arrays of one value a draw, or plain numbers.

    `messages` and `payload` (B) are those that one rank sends to other nodes, of the rank that sends most;
    `node_messages` and `node_payload` those of all ranks of the busiest node; `inside` and `inside_payload`
    are of one rank within its node.
    """

    times: Array | float
    messages: Array | float
    payload: Array | float
    node_messages: Array | float
    node_payload: Array | float
    inside: Array | float
    inside_payload: Array | float


@dataclass(frozen=True)
class Reduced:
    """Reductions over all ranks in a step."""

    times: Array | float
    payload: Array | float


@dataclass(frozen=True)
class Transposed:
    """Exchanges of everybody with everybody in a step: `payload` in B over all ranks, among `members`.

    What one rank sends to another goes in `pieces` messages.
    """

    times: Array | float
    payload: Array | float
    members: Array | float
    pieces: Array | float = 1.0


@dataclass(frozen=True)
class Pattern:
    """All that the ranks of a job send in a step."""

    exchanged: tuple[Exchanged, ...] = ()
    reduced: tuple[Reduced, ...] = ()
    transposed: tuple[Transposed, ...] = ()


def process_grid(ranks: int) -> tuple[int, int, int]:
    """Put ranks into the three factors that are nearest to each other, the least first."""
    found = [
        (a, b, ranks // (a * b))
        for a in range(1, ranks + 1)
        if ranks % a == 0
        for b in range(a, ranks // a + 1)
        if ranks // a % b == 0 and ranks // (a * b) >= b
    ]
    return min(found, key=sum)


def of_grid(edge: int, nodes: int, ranks_per_node: int) -> Pattern:
    """Make the pattern of an iteration of HPCG with a local grid of `edge` cubed on each rank.

    A rank exchanges faces, edges and corners with up to 26 others: n², n or 1 values of 8 B. Ranks are
    numbered along the first axis first, nodes filled one after the other.
    """
    ranks = nodes * ranks_per_node
    grid = process_grid(ranks)
    near = [list(neighbours(rank, grid)) for rank in range(ranks)]
    exchanged = []
    for level, times in enumerate(HPCG_EXCHANGES):
        side = max(edge >> level, 1)
        sent = np.zeros((ranks, 4))  # messages and bytes to other nodes, and within the node
        for rank, others in enumerate(near):
            for other, dimensions in others:
                outside = rank // ranks_per_node != other // ranks_per_node
                sent[rank, 0 if outside else 2] += 1
                sent[rank, 1 if outside else 3] += BYTES * side ** (3 - dimensions)
        node = sent.reshape(nodes, ranks_per_node, 4).sum(axis=1)
        most, busiest = sent.max(axis=0), node.max(axis=0)
        exchanged.append(Exchanged(float(times), most[0], most[1], busiest[0], busiest[1], most[2], most[3]))
    return Pattern(tuple(exchanged), (Reduced(float(HPCG_REDUCTIONS), BYTES),))


def neighbours(rank: int, grid: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    """Yield a rank's neighbours in the grid, each with the number of axes along which it differs."""
    nx, ny, nz = grid
    x, y, z = rank % nx, rank // nx % ny, rank // (nx * ny)
    for dx, dy, dz in itertools.product((-1, 0, 1), repeat=3):
        a, b, c = x + dx, y + dy, z + dz
        if (dx, dy, dz) != (0, 0, 0) and 0 <= a < nx and 0 <= b < ny and 0 <= c < nz:
            yield a + nx * (b + ny * c), abs(dx) + abs(dy) + abs(dz)


def of_structure(
    structure: Structure, draws: Draws, elements: float, nodes: int, ranks_per_node: int
) -> Pattern:
    """Make the pattern of a step from an assumed structure, one value a draw.

    The partners of a rank are taken to be spread as parts of a cube are: a node holds a cube of its ranks'
    parts, whose surface is what leaves it.
    """
    ranks = nodes * ranks_per_node
    exchanged: tuple[Exchanged, ...] = ()
    if structure.exchange is not None and ranks > 1:
        exchanged += (_with_neighbours(structure.exchange, draws, elements, nodes, ranks_per_node),)
    if structure.pairs is not None and nodes > 1:
        size = draws[structure.pairs.bytes]
        exchanged += (Exchanged(1.0, 1.0, size, ranks_per_node, ranks_per_node * size, 0.0, 0.0),)
    reduced, transposed = structure.allreduce, structure.transpose
    return Pattern(
        exchanged,
        (Reduced(draws[reduced.count], draws[reduced.bytes]),) if reduced else (),
        (_over_all(transposed, draws, ranks),) if transposed and ranks > 1 else (),
    )


def _with_neighbours(
    one: Exchange, draws: Draws, elements: float, nodes: int, ranks_per_node: int
) -> Exchanged:
    ranks = nodes * ranks_per_node
    partners = np.minimum(draws[one.partners], ranks - 1.0)
    each = (
        draws[one.bytes]
        if one.bytes
        else draws[one.bytes_per_surface] * (elements / ranks) ** (2 / 3) / partners
    )
    # Of the parts in a node those at its surface have partners outside.
    outside = 0.0 if nodes == 1 else min(1.0, ranks_per_node ** (-1 / 3) * (1 - 1 / nodes) ** (1 / 3))
    away, within = partners * outside, partners * (1 - outside)
    # A rank in the corner of its node has most of its partners outside.
    most = np.minimum(partners, 2 * away) if nodes > 1 else 0.0
    busiest = away * ranks_per_node
    return Exchanged(draws[one.rounds], most, most * each, busiest, busiest * each, within, within * each)


def _over_all(one: Transpose, draws: Draws, ranks: int) -> Transposed:
    members = np.maximum(2.0, draws[one.group] * ranks)
    return Transposed(draws[one.count], draws[one.bytes], members, draws[one.pieces] if one.pieces else 1.0)
