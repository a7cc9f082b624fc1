"""Traces of a step for SimGrid's replay: each rank's messages, one by one, and the platform they run on.

The analytic model adds messages up; here they are listed: who sends to whom, in which order. Nothing is
recorded. A message to another node is longer by its header and by the bytes that pass in the adapter's time
of a message. The processor's own time and copies, for sending it and for receiving one, are computing before
it. Where switches reduce, a rank of their own answers the first rank of each node. The format is SimGrid's
time-independent trace.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.model.inputs import ModelledApplication, Structure
from analysis.model.network import Network
from analysis.model.patterns import BYTES, process_grid

SPEED = 1e9  # flop/s of every simulated core: computing is given in seconds
# Levels of HPCG's exchanges in an iteration, in its order: smoothing and residual down the levels, smoothing
# up again; then, around the product with the matrix, the three scalar products.
SCALAR = -1
HPCG_ORDER = (0, 0, 1, 1, 2, 2, 3, 2, 1, 0, SCALAR, 0, SCALAR, SCALAR)
TAG, BYTE = 99, 6  # any tag; the number of MPI_BYTE in a trace

Halo = tuple[tuple[tuple[int, float], ...], ...]  # of each rank its partners, each with B
SWITCH = "switch"  # host of the rank that reduces where switches do


@dataclass(frozen=True)
class Wires:
    """One draw of a network: s, B/s and B, as in `Network`."""

    own: float
    nic: float
    bandwidth: float
    latency: float
    header: float
    inside_latency: float
    inside_bandwidth: float
    copying: float = math.inf

    @classmethod
    def of(cls, network: Network) -> Wires:
        """Take a network of a single draw."""
        given = {name: getattr(network, name) for name in cls.__dataclass_fields__}
        return cls(**{name: float(np.ravel(value)[0]) for name, value in given.items()})

    def padded(self, payload: float) -> int:
        """Return the bytes on the wire of a message to another node."""
        return round(payload + self.header + self.nic * self.bandwidth)

    def bundled(self, pieces: int) -> Wires:
        """Return these wires for a message that stands for `pieces` sent one after the other."""
        own, nic, header = (pieces * one for one in (self.own, self.nic, self.header))
        return replace(self, own=own, nic=nic, header=header)


@dataclass(frozen=True)
class AllWithAll:
    """An exchange of all ranks of each group; a message stands for the `pieces` of a pair's data."""

    halo: Halo
    pieces: int


Phase = Halo | AllWithAll | float  # a number is a reduction of so many B


@dataclass(frozen=True)
class Step:
    """A step of a job: work of each rank in s, then phases.

    `switches` are the s that switches take for a reduction between nodes, 0 where messages reduce.
    """

    nodes: int
    ranks_per_node: int
    work: tuple[float, ...]
    phases: tuple[Phase, ...]
    switches: float = 0.0

    @property
    def hosts(self) -> list[str]:
        """The host of each rank, that of the switches last."""
        found = [f"node{rank // self.ranks_per_node}" for rank in range(self.nodes * self.ranks_per_node)]
        return [*found, SWITCH] if self.switches else found

    def lines(self, rank: int, wires: Wires) -> Iterator[str]:
        """Yield a rank's actions, without its number in front."""
        if rank == len(self.work):
            yield from self._in_switches(rank, wires)
            return
        yield f"compute {self.work[rank] * SPEED:.0f}"
        for phase in self.phases:
            if isinstance(phase, float):
                yield from self._reduction(rank, phase, wires)
            elif isinstance(phase, AllWithAll):
                yield from self._all_with_all(rank, phase.halo[rank], wires.bundled(phase.pieces))
            else:
                yield from self._exchange(rank, phase[rank], wires)

    def _outside(self, rank: int, other: int) -> bool:
        return rank // self.ranks_per_node != other // self.ranks_per_node

    def _send(self, rank: int, other: int, payload: float, wires: Wires) -> Iterator[str]:
        outside = self._outside(rank, other)
        if outside:
            yield f"compute {(wires.own + payload / wires.copying) * SPEED:.0f}"
        yield f"send {other} {TAG} {wires.padded(payload) if outside else round(payload)} {BYTE}"

    def _receive(self, rank: int, other: int, payload: float, wires: Wires) -> str:
        size = wires.padded(payload) if self._outside(rank, other) else round(payload)
        return f"irecv {other} {TAG} {size} {BYTE}"

    def _exchange(self, rank: int, halo: Sequence[tuple[int, float]], wires: Wires) -> Iterator[str]:
        for other, payload in halo:
            yield self._receive(rank, other, payload, wires)
        for other, payload in halo:
            yield from self._send(rank, other, payload, wires)
        for other, _ in halo:
            yield f"wait {other} {rank} {TAG}"

    def _all_with_all(self, rank: int, halo: Sequence[tuple[int, float]], wires: Wires) -> Iterator[str]:
        """Exchange without waiting for one message before the next is sent, however large they are."""
        for line in self._exchange(rank, halo, wires):
            yield f"i{line}" if line.startswith("send") else line
        for other, _ in halo:
            yield f"wait {rank} {other} {TAG}"

    def _reduction(self, rank: int, payload: float, wires: Wires) -> Iterator[str]:
        """Reduce in each node to its first rank, among these in ceil(log2 nodes) rounds, and back."""
        each, (node, place) = self.ranks_per_node, divmod(rank, self.ranks_per_node)
        tree = [1 << level for level in range((each - 1).bit_length())]
        joins = next((far for far in tree if place & far), each)  # where the rank gives its part away
        for far in tree:
            if far == joins:
                yield from self._send(rank, rank - far, payload, wires)
            elif far < joins and place + far < each:
                yield from self._received(rank, rank + far, payload, wires)
        if place == 0 and self.switches:
            yield f"irecv {len(self.work)} {TAG} {payload:.0f} {BYTE}"
            yield f"compute {wires.own * SPEED:.0f}"
            yield f"send {len(self.work)} {TAG} {payload:.0f} {BYTE}"
            yield f"wait {len(self.work)} {rank} {TAG}"
        elif place == 0:
            for far in (1 << level for level in range((self.nodes - 1).bit_length())):
                source, target = ((node + by) % self.nodes * each for by in (-far, far))
                yield self._receive(rank, source, payload, wires)
                yield from self._send(rank, target, payload, wires)
                yield f"wait {source} {rank} {TAG}"
        for far in reversed(tree):
            if far == joins:
                yield from self._received(rank, rank - far, payload, wires)
            elif far < joins and place + far < each:
                yield from self._send(rank, rank + far, payload, wires)

    def _in_switches(self, rank: int, wires: Wires) -> Iterator[str]:
        """Answer the first rank of each node once all have sent; both ways together take the latency."""
        first = range(0, rank, self.ranks_per_node)
        for payload in (phase for phase in self.phases if isinstance(phase, float)):
            yield from (f"irecv {one} {TAG} {payload:.0f} {BYTE}" for one in first)
            yield from (f"wait {one} {rank} {TAG}" for one in first)
            yield f"compute {max(self.switches - wires.latency, 0.0) * SPEED:.0f}"
            yield from (f"send {one} {TAG} {payload:.0f} {BYTE}" for one in first)

    def _received(self, rank: int, other: int, payload: float, wires: Wires) -> Iterator[str]:
        yield self._receive(rank, other, payload, wires)
        yield f"wait {other} {rank} {TAG}"


def step_of(
    application: ModelledApplication,
    known: Mapping[str, float],
    size: float,
    seconds: float,
    nodes: int,
    ranks_per_node: int,
    switches: float = 0.0,
) -> Step:
    """Make a step of an application.

    `known` has one draw with whole counts; `size` is the case's work, `seconds` that of the mean rank. The
    work of ranks is spread around the mean by the imbalance; neighbouring ranks differ.
    """
    ranks = nodes * ranks_per_node
    more = known[application.imbalance] - 1 if application.imbalance else 0.0
    # The golden section puts ranks evenly between the ends, whatever their number.
    spread = [2 * (rank * 0.6180339887 % 1) - 1 for rank in range(ranks)]
    top = max(spread)
    work = tuple(seconds * (1 + more * part / top) for part in spread)
    if application.grid is not None:
        return Step(nodes, ranks_per_node, work, hpcg(round(size ** (1 / 3)), ranks))
    assert application.structure is not None  # the model sees to it
    phases = tuple(_phases(application.structure, known, size, nodes, ranks_per_node))
    return Step(nodes, ranks_per_node, work, phases, switches)


def _phases(
    one: Structure, known: Mapping[str, float], size: float, nodes: int, ranks_per_node: int
) -> Iterator[Phase]:
    ranks = nodes * ranks_per_node
    if one.exchange is not None:
        side = (size / ranks) ** (1 / 3)
        partners = int(known[one.exchange.partners])
        total = (
            known[one.exchange.bytes] * partners
            if one.exchange.bytes
            else known[one.exchange.bytes_per_surface] * side**2
        )
        found = blocks(nodes, ranks_per_node, partners, total, side)
        yield from itertools.repeat(found, int(known[one.exchange.rounds]))
    if one.pairs is not None:
        yield pairs(nodes, ranks_per_node, known[one.pairs.bytes])
    if one.transpose is not None:
        members = round(known[one.transpose.group] * ranks)
        pieces = int(known[one.transpose.pieces]) if one.transpose.pieces else 1
        spread = groups(ranks, members, known[one.transpose.bytes] / ranks / members)
        yield from itertools.repeat(AllWithAll(spread, pieces), int(known[one.transpose.count]))
    if one.allreduce is not None:
        yield from itertools.repeat(float(known[one.allreduce.bytes]), int(known[one.allreduce.count]))


def pairs(nodes: int, ranks_per_node: int, payload: float) -> Halo:
    """Return an exchange of each rank with its like on another node, nodes two by two."""
    other = [node + 1 - node % 2 * 2 for node in range(nodes)]
    return tuple(
        ((other[rank // ranks_per_node] * ranks_per_node + rank % ranks_per_node, payload),)
        for rank in range(nodes * ranks_per_node)
    )


def groups(ranks: int, members: int, payload: float) -> Halo:
    """Return an exchange of all with all in groups of `members`, `payload` B to each; a divisor of `ranks`.

    A group is spread over the whole job; each rank sends to the next one of its group first.
    """
    stride = ranks // members
    return tuple(
        tuple(((rank + far * stride) % ranks, payload) for far in range(1, members)) for rank in range(ranks)
    )


def neighbours(rank: int, grid: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    """Yield a rank's neighbours in the grid, each with the number of axes along which it differs."""
    nx, ny, nz = grid
    x, y, z = rank % nx, rank // nx % ny, rank // (nx * ny)
    for dx, dy, dz in itertools.product((-1, 0, 1), repeat=3):
        a, b, c = x + dx, y + dy, z + dz
        if (dx, dy, dz) != (0, 0, 0) and 0 <= a < nx and 0 <= b < ny and 0 <= c < nz:
            yield a + nx * (b + ny * c), abs(dx) + abs(dy) + abs(dz)


def hpcg(edge: int, ranks: int) -> tuple[Halo | float, ...]:
    """Return the phases of an iteration of HPCG with a local grid of `edge` cubed on each rank."""
    grid = process_grid(ranks)
    near = [sorted(neighbours(rank, grid)) for rank in range(ranks)]

    def halo(level: int) -> Halo:
        side = max(edge >> level, 1)
        return tuple(tuple((other, BYTES * side ** (3 - far)) for other, far in one) for one in near)

    return tuple(BYTES if level == SCALAR else halo(level) for level in HPCG_ORDER)


def blocks(nodes: int, ranks_per_node: int, partners: int, payload: float, side: float) -> Halo:
    """Return an exchange between parts of a block: a node holds a block of parts, and nodes make up a block.

    Each rank has `partners` of the 26 around it, faces first, then edges and corners, in pairs of opposite
    ones, which share `payload` (B) as side², side and 1; at the ends of the block those beyond are missing.
    """
    inner, outer = process_grid(ranks_per_node), process_grid(nodes)[::-1]
    grid = [a * b for a, b in zip(inner, outer, strict=True)]
    around = [one for one in itertools.product((-1, 0, 1), repeat=3) if one > (0, 0, 0)]
    around.sort(key=lambda one: sum(map(abs, one)))
    offsets = [tuple(sign * by for by in one) for one in around[: partners // 2] for sign in (-1, 1)]
    share = [side ** (3 - sum(map(abs, one))) for one in offsets]

    def rank_at(place: Sequence[int]) -> int:
        node = rank = 0
        for axis in range(3):
            node = node * outer[axis] + place[axis] // inner[axis]
            rank = rank * inner[axis] + place[axis] % inner[axis]
        return node * ranks_per_node + rank

    halo: dict[int, tuple[tuple[int, float], ...]] = {}
    for place in itertools.product(*map(range, grid)):
        near = []
        for one, part in zip(offsets, share, strict=True):
            other = [at + by for at, by in zip(place, one, strict=True)]
            if all(0 <= at < size for at, size in zip(other, grid, strict=True)):
                near.append((rank_at(other), payload * part / sum(share)))
        halo[rank_at(place)] = tuple(sorted(near))
    return tuple(halo[rank] for rank in range(len(halo)))


def platform(wires: Wires, nodes: int, cores: int) -> str:
    """Return SimGrid's description of a cluster: an adapter a node, both ways at once, under one switch.

    A message passes the adapters of both ends, each with half of the latency. The switch is a host too; only
    the adapter of the other end limits a message to it.
    """
    return f"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <cluster id="cluster" prefix="node" suffix="" radical="0-{nodes - 1}" speed="{SPEED:.0f}f" core="{cores}"
             bw="{wires.bandwidth!r}Bps" lat="{wires.latency / 2!r}s" sharing_policy="SPLITDUPLEX"
             loopback_bw="{wires.inside_bandwidth!r}Bps" loopback_lat="{wires.inside_latency!r}s"
             router_id="router"/>
    <zone id="above" routing="Full"><host id="{SWITCH}" speed="{SPEED:.0f}f"/></zone>
    <link id="inside" bandwidth="1e15Bps" latency="0s" sharing_policy="FATPIPE"/>
    <zoneRoute src="cluster" dst="above" gw_src="router" gw_dst="{SWITCH}"><link_ctn id="inside"/></zoneRoute>
  </zone>
</platform>
"""
