"""An own profiled job on another network or node count: what of its time would change, as a band.

Computing is what the profile has outside of MPI, of the slowest rank. Messages are timed by the network's
model from the profile's own calls, sizes and partners. What a profile has in MPI beyond the model of its own
network is waiting: for other ranks, which goes as the computing, or for the network, which goes as the
messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.base.errors import ConfigError
from analysis.base.models import known
from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import Inputs, LinkFacts
from analysis.model.network import Network
from analysis.model.patterns import Exchanged, Pattern, Reduced, Transposed

DRAWS, SEED = 500, 1


@dataclass(frozen=True)
class Job:
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

    def pattern(self) -> Pattern:
        """Return all its messages as the phases of one step."""
        reduced = tuple(Reduced(count, size) for size, count in self.reductions.items())
        members = float(self.ranks)
        transposed = tuple(Transposed(count, size, members) for size, count in self.transposes.items())
        return Pattern((self.sent,), reduced, transposed)

    def on(self, nodes: int) -> Job:
        """Return the same work on another number of nodes, as full as now.

        Work per rank shrinks with their number, a message with the surface of its part; there are as many.
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
    """Move messages out of a node or into it where a job leaves its only node or comes to have only one.

    As many leave as are at the surface of a cube of a node's ranks, twice as many of a rank in its corner.
    """
    if nodes == 1:
        inside = sent.inside + sent.messages
        return Exchanged(sent.times, 0.0, 0.0, 0.0, 0.0, inside, sent.inside_payload + sent.payload)
    if before > 1:
        return sent
    outside = ranks_per_node ** (-1 / 3)
    corner = min(1.0, 2 * outside)
    return Exchanged(
        sent.times,
        sent.inside * corner,
        sent.inside_payload * corner,
        sent.inside * outside * ranks_per_node,
        sent.inside_payload * outside * ranks_per_node,
        sent.inside * (1 - outside),
        sent.inside_payload * (1 - outside),
    )


@dataclass(frozen=True)
class Forecast:
    """Times in s over draws and both readings of the order of messages, shape (2 n,), widened or not.

    `modelled` is that of the messages on the other network, `own` on the profiled one, `waiting` what the
    profile has in MPI beyond that.
    """

    total: Array
    speedup: Array
    modelled: Array
    own: Array
    waiting: Array


def forecast(
    inputs: Inputs, job: Job, profiled_on: str, link: str, *, nodes: int | None = None, faster: float = 1.0
) -> Forecast:
    """Forecast a job on another link and number of nodes; its cores compute `faster` times as fast.

    Of the order of messages a profile knows nothing: once every message has its latency (fine), once as many
    as there are collective calls between them (coarse). A draw by which the messages take longer than the
    profile has in MPI is scaled to that. What is left of the profile's MPI time is waiting: in even draws all
    of it is for other ranks and goes as the computing, in odd ones for the network and goes as the messages.
    """
    draws = draw(inputs.unknowns, DRAWS, SEED)
    kept = np.flatnonzero([not name for name in draws.swept])
    moved = job.on(nodes) if nodes and nodes != job.nodes else job
    parts = [_times(inputs, draws, job, moved, profiled_on, link, coarse=coarse) for coarse in (False, True)]
    own, new = (np.concatenate([part[at][kept] for part in parts]) for at in (0, 1))
    known = own > 0
    new = new * np.where(own > job.messaging, job.messaging / np.where(known, own, 1.0), 1.0)
    own = np.minimum(own, job.messaging)
    waiting = job.messaging - own
    computing = moved.computing / faster
    of_ranks = computing / job.computing if job.computing else 1.0
    # On one node nobody has waited for a network.
    of_network = np.where(known & (job.nodes > 1), new / np.where(known, own, 1.0), of_ranks)
    stays = waiting * np.where(np.arange(waiting.size) % 2 == 0, of_ranks, of_network)
    total = computing + new + stays
    return Forecast(total, (job.computing + job.messaging) / total, new, own, waiting)


def _times(
    inputs: Inputs, draws: Draws, job: Job, moved: Job, profiled_on: str, link: str, *, coarse: bool
) -> tuple[Array, Array]:
    found = []
    for one, name in ((job, profiled_on), (moved, link)):
        network = Network.drawn(inputs, draws, name)
        seconds = network.step(one.pattern(), one.nodes, one.ranks_per_node)
        rounds = one.collectives if coarse else float(np.max(one.sent.messages))
        found.append(seconds + max(rounds - 1, 0.0) * network.latency * (one.nodes > 1))
    return found[0], found[1]


def link_of(inputs: Inputs, name: str, source: str, line: int = 0) -> LinkFacts:
    """Return a link by its name; ConfigError at its `source` with the nearest name if there is none."""
    if name not in inputs.links:
        raise ConfigError.at(source, line, f"no link {name!r}", known(name, inputs.links))
    return inputs.links[name]
