"""Who sends how much to whom in HPCG at 16³ a rank: halos of four grids, each half as wide."""

from __future__ import annotations

import itertools
from collections import defaultdict

from analysis.synthesis.hpcg import process_grid

_POINT = 8  # B, a double
_WIDTHS = (16, 8, 4, 2)
# Exchanges of each grid in one iteration: one before each sweep and product on it.
_EXCHANGES = (4, 3, 3, 1)

# What one rank sends to a neighbour that shares a face, in one iteration, B.
FACE_BYTES = sum(n * _POINT * width**2 for n, width in zip(_EXCHANGES, _WIDTHS, strict=True))


def exchanges(ranks: int) -> list[list[tuple[int, int, int]]]:
    """List the messages of one iteration by rank: neighbour, size in B, messages.

    A neighbour shares a face, an edge or a corner.
    """
    nx, ny, nz = process_grid(ranks)
    out = []
    for rank in range(ranks):
        x, y, z = rank % nx, rank // nx % ny, rank // (nx * ny)
        messages: dict[tuple[int, int], int] = defaultdict(int)
        for dx, dy, dz in itertools.product((-1, 0, 1), repeat=3):
            there = (x + dx, y + dy, z + dz)
            if (dx, dy, dz) == (0, 0, 0) or not _inside(there, (nx, ny, nz)):
                continue
            free = (dx, dy, dz).count(0)  # axes along which the shared points lie
            neighbour = there[0] + nx * (there[1] + ny * there[2])
            for width, count in zip(_WIDTHS, _EXCHANGES, strict=True):
                messages[neighbour, _POINT * width**free] += count
        out.append([(neighbour, size, count) for (neighbour, size), count in sorted(messages.items())])
    return out


def _inside(place: tuple[int, ...], grid: tuple[int, ...]) -> bool:
    return all(0 <= at < count for at, count in zip(place, grid, strict=True))
