"""Your own profiled job on another network or node count: how its time would change, as a band.

Computing is the time outside of MPI in the profile, of the slowest rank. Messages are timed by the network's
model from the profile's own calls, sizes and partners. The rest of the profile's MPI time is waiting: for
other ranks, which changes with the computing, or for the network, which changes with the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import Inputs
from analysis.model.network import Network
from analysis.model.patterns import Exchanged, MessagePattern, Reduced, Transposed

DRAWS, SEED = 500, 1


@dataclass(frozen=True)
class ProfiledJob:
    """A profiled job, as counts over its whole run.

    `computing` and `messaging` are s outside and inside of MPI of the rank with most of the first; together
    the time of the job. `sent` has messages and bytes of the rank that sends most and of the busiest node to
    others, and within a node; `reductions` and `transposes` calls with their B: of a reduction's payload, of
    a transpose over all ranks.
    """

    nodes: int
    ranks_per_node: int
    computing: float
    messaging: float
    sent: Exchanged
    reductions: Mapping[float, float]
    transposes: Mapping[float, float]

    @property
    def ranks(self) -> int:
        """Ranks of the job."""
        return self.nodes * self.ranks_per_node

    @property
    def collectives(self) -> float:
        """Number of collective calls of a rank."""
        return sum(self.reductions.values()) + sum(self.transposes.values())

    def pattern(self) -> MessagePattern:
        """Return all its messages as the phases of one step."""
        reduced = tuple(Reduced(count, size) for size, count in self.reductions.items())
        members = float(self.ranks)
        transposed = tuple(Transposed(count, size, members) for size, count in self.transposes.items())
        return MessagePattern((self.sent,), reduced, transposed)

    def on(self, nodes: int) -> ProfiledJob:
        """Return the same work on another number of nodes, with as many ranks on each.

        Work per rank shrinks with their number, a message with the surface of its part; a rank sends as many.
        """
        share = self.nodes / nodes
        sent = _spread(self.sent, self.nodes, nodes, self.ranks_per_node)
        surface = share ** (2 / 3)
        sent = replace(
            sent,
            payload=sent.payload * surface,
            node_payload=sent.node_payload * surface,
            inside_payload=sent.inside_payload * surface,
        )
        return replace(self, nodes=nodes, computing=self.computing * share, sent=sent)


def _spread(sent: Exchanged, before: int, nodes: int, ranks_per_node: int) -> Exchanged:
    """Move messages out of a node, or into it, where a job grows from one node or shrinks to one.

    The share that leaves is the surface of a cube of a node's ranks; twice that of a rank in its corner.
    """
    if nodes == 1:
        inside = sent.inside + sent.messages
        return Exchanged(sent.times, 0.0, 0.0, 0.0, 0.0, inside, sent.inside_payload + sent.payload)
    if before > 1:
        return sent
    outside = ranks_per_node ** (-1 / 3)
    corner = min(1.0, 2 * outside)
    return Exchanged(
        sent.times, sent.inside * corner, sent.inside_payload * corner,
        sent.inside * outside * ranks_per_node, sent.inside_payload * outside * ranks_per_node,
        sent.inside * (1 - outside), sent.inside_payload * (1 - outside),
    )  # fmt: skip


@dataclass(frozen=True)
class Forecast:
    """Times in s over draws and both orders of messages, shape (2 n,), not widened.

    `modelled` is the time of the messages on the other network, `own` on the profiled one, `waiting` the rest
    of the profile's MPI time.
    """

    total: Array
    speedup: Array
    modelled: Array
    own: Array
    waiting: Array


def forecast(
    inputs: Inputs,
    job: ProfiledJob,
    profiled_on: str,
    link: str,
    *,
    nodes: int | None = None,
    faster: float = 1.0,
) -> Forecast:
    """Forecast a job on another link and number of nodes; its cores compute `faster` times as fast.

    A profile does not have the order of messages: once every message has its latency (fine), once as many as
    there are collective calls between them (coarse). If a draw gives the messages more time than the profile
    has in MPI, they are scaled to that. The rest of the profile's MPI time is waiting: in even draws for
    other ranks, so it changes with the computing; in odd ones for the network, with the messages.
    """
    draws = draw(inputs.unknowns, DRAWS, SEED, sweep=False)
    moved = job.on(nodes) if nodes and nodes != job.nodes else job
    own, new = (
        np.concatenate([_messaging(inputs, draws, one, name, coarse=coarse) for coarse in (False, True)])
        for one, name in ((job, profiled_on), (moved, link))
    )
    known = own > 0
    new = new * np.where(own > job.messaging, job.messaging / np.where(known, own, 1.0), 1.0)
    own = np.minimum(own, job.messaging)
    waiting = job.messaging - own
    computing = moved.computing / faster
    of_ranks = computing / job.computing if job.computing else 1.0
    # On one node no rank has waited for a network.
    of_network = np.where(known & (job.nodes > 1), new / np.where(known, own, 1.0), of_ranks)
    stays = waiting * np.where(np.arange(waiting.size) % 2 == 0, of_ranks, of_network)
    total = computing + new + stays
    return Forecast(total, (job.computing + job.messaging) / total, new, own, waiting)


def _messaging(inputs: Inputs, draws: Draws, job: ProfiledJob, link: str, *, coarse: bool) -> Array:
    """Return the s of a job's messages over a link; `coarse` sends them between its collective calls."""
    network = Network.drawn(inputs, draws, link)
    rounds = job.collectives if coarse else float(np.max(job.sent.messages))
    waits = max(rounds - 1, 0.0) * network.latency * (job.nodes > 1)
    found: Array = network.step(job.pattern(), job.nodes, job.ranks_per_node) + waits
    return found
