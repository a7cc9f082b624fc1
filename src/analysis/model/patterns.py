"""Patterns of communication: the messages of a job's ranks in a step, from a grid or from a structure."""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from analysis.model.draws import Array, Draws
from analysis.model.inputs import Exchange, Structure, Transpose

BYTES = 8.0  # of a double
# HPCG's multigrid has four levels; exchanges of an iteration by level: one of the product outside of it and,
# on each level but the last, one for the first smoothing, the residual and the second smoothing.
HPCG_EXCHANGES = (4, 3, 3, 1)
HPCG_REDUCTIONS = 3
# Partners around a part: how many come before, and how many there are, of faces, edges and corners.
AROUND = ((0, 6), (6, 12), (18, 8))


@dataclass(frozen=True)
class Exchanged:
    """Messages with neighbours in a step, times counted: arrays of one value a draw, or plain numbers.

    `messages` and `payload` (B) are those that one rank sends to other nodes, of the rank that sends most;
    `node_messages` and `node_payload` those of all ranks of the busiest node; `inside` and `inside_payload`
    are those that this rank sends within its node.
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
    """Exchanges of all with all in a step: `payload` in B over all ranks, in groups of `members`.

    The data from one rank to another is sent in `pieces` messages.
    """

    times: Array | float
    payload: Array | float
    members: Array | float
    pieces: Array | float = 1.0


@dataclass(frozen=True)
class MessagePattern:
    """All messages of a job's ranks in a step."""

    exchanged: tuple[Exchanged, ...] = ()
    reduced: tuple[Reduced, ...] = ()
    transposed: tuple[Transposed, ...] = ()


def process_grid(ranks: int) -> tuple[int, int, int]:
    """Return the three factors of a number of ranks that are nearest to each other, the least first."""
    found = [
        (a, b, ranks // (a * b))
        for a in range(1, ranks + 1)
        if ranks % a == 0
        for b in range(a, ranks // a + 1)
        if ranks // a % b == 0 and ranks // (a * b) >= b
    ]
    return min(found, key=sum)


def of_grid(edge: int, nodes: int, ranks_per_node: int) -> MessagePattern:
    """Make the pattern of an iteration of HPCG with a local grid of `edge` cubed on each rank.

    A rank exchanges faces, edges and corners with up to 26 others: n², n or 1 values of 8 B. Ranks are
    numbered along the first axis first, nodes filled one after the other.
    """
    ranks = nodes * ranks_per_node
    grid = process_grid(ranks)
    sides = _sides(grid, np.arange(ranks) // ranks_per_node)
    exchanged = []
    for level, times in enumerate(HPCG_EXCHANGES):
        side = max(edge >> level, 1)
        size = BYTES * float(side) ** np.array([2.0, 1.0, 0.0])
        exchanged.append(_exchanged(sides, ranks_per_node, float(times), np.ones(3), size))
    return MessagePattern(tuple(exchanged), (Reduced(float(HPCG_REDUCTIONS), BYTES),))


def _sides(grid: tuple[int, int, int], node: NDArray[np.int_]) -> Array:
    """Count the faces, edges and corners that each part of a grid shares with others: shape (parts, 2, 3).

    `node` has the node of each part, along the first axis first. Sides shared with other nodes come first,
    then sides shared within a node.
    """
    place = node.reshape(grid[::-1])
    found = np.zeros((*place.shape, 2, 3))
    for offset in itertools.product((-1, 0, 1), repeat=3):
        if offset == (0, 0, 0):
            continue
        pairs = zip(offset, place.shape, strict=True)
        here = tuple(slice(max(-by, 0), size - max(by, 0)) for by, size in pairs)
        there = tuple(slice(one.start + by, one.stop + by) for one, by in zip(here, offset, strict=True))
        same, kind = place[here] == place[there], sum(map(abs, offset)) - 1
        found[here][..., 0, kind] += ~same
        found[here][..., 1, kind] += same
    return found.reshape(-1, 2, 3)


def _exchanged(
    sides: Array, ranks_per_node: int, times: Array | float, messages: Array, size: Array
) -> Exchanged:
    """Make the exchange over shared sides.

    `messages` and `size` (B) are of a face, an edge and a corner: shape (3,) or (3, draws).
    """
    away, within = sides[:, 0], sides[:, 1]
    nodes = np.unique(away.reshape(-1, ranks_per_node, 3).sum(axis=1), axis=0)
    # The rank with most partners on other nodes; of several the one with the larger sides to them.
    most = int(np.lexsort((within.sum(axis=1), *away.T[::-1], away.sum(axis=1)))[-1])
    counts = (away[most], within[most])
    sent = [(one @ messages, one @ (messages * size)) for one in counts]
    busiest = ((nodes @ messages).max(axis=0), (nodes @ (messages * size)).max(axis=0))
    return Exchanged(times, *sent[0], *busiest, *sent[1])


def of_structure(
    structure: Structure, draws: Draws, elements: float, nodes: int, ranks_per_node: int
) -> MessagePattern:
    """Make the pattern of a step from an assumed structure, one value a draw.

    The parts on each node form a block as near to a cube as possible, and the nodes form a block of such
    blocks. A rank has the drawn number of the 26 partners around it, faces first, then edges and corners.
    """
    ranks = nodes * ranks_per_node
    exchanged: tuple[Exchanged, ...] = ()
    if structure.exchange is not None and ranks > 1:
        exchanged += (_with_neighbours(structure.exchange, draws, elements, nodes, ranks_per_node),)
    if structure.pairs is not None and nodes > 1:
        size = draws[structure.pairs.bytes]
        exchanged += (Exchanged(1.0, 1.0, size, ranks_per_node, ranks_per_node * size, 0.0, 0.0),)
    reduced, transposed = structure.allreduce, structure.transpose
    return MessagePattern(
        exchanged,
        (Reduced(draws[reduced.count], draws[reduced.bytes]),) if reduced else (),
        (_over_all(transposed, draws, ranks),) if transposed and ranks > 1 else (),
    )


def _with_neighbours(
    one: Exchange, draws: Draws, elements: float, nodes: int, ranks_per_node: int
) -> Exchanged:
    partners = draws[one.partners]
    # The part of the 6 faces, 12 edges and 8 corners that there are partners for.
    messages = np.array([np.clip((partners - before) / all_, 0, 1) for before, all_ in AROUND])
    edge = (elements / (nodes * ranks_per_node)) ** (1 / 3)
    share = messages * edge ** np.array([[2.0], [1.0], [0.0]])
    if one.bytes:
        size = np.broadcast_to(draws[one.bytes], messages.shape)
    else:
        whole = sum(all_ * part for (_, all_), part in zip(AROUND, share, strict=True))
        size = draws[one.bytes_per_surface] * edge**2 / whole * edge ** np.array([[2.0], [1.0], [0.0]])
    return _exchanged(_of_blocks(nodes, ranks_per_node), ranks_per_node, draws[one.rounds], messages, size)


@cache
def _of_blocks(nodes: int, ranks_per_node: int) -> Array:
    """Count shared sides with a block of parts on each node, and the nodes in a block: as `_sides`."""
    inner, outer = process_grid(ranks_per_node), process_grid(nodes)[::-1]
    nx, ny, nz = (a * b for a, b in zip(inner, outer, strict=True))
    z, y, x = np.indices((nz, ny, nx)).reshape(3, -1)
    node = x // inner[0] + outer[0] * (y // inner[1] + outer[1] * (z // inner[2]))
    return _sides((nx, ny, nz), node)[np.argsort(node, kind="stable")]  # nodes one after the other


def _over_all(one: Transpose, draws: Draws, ranks: int) -> Transposed:
    members = np.maximum(2.0, draws[one.group] * ranks)
    return Transposed(draws[one.count], draws[one.bytes], members, draws[one.pieces] if one.pieces else 1.0)
