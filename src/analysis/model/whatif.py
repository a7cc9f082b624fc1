"""An own profiled job on another network or node count: what of its time would change, as a band.

Computing is what the profile has outside of MPI, of the slowest rank. Messages are timed by the network's
model from the profile's own calls, sizes and partners. What a profile has in MPI beyond the model of its own
network is waiting, for others or for noise: between none and all of it stays.
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

    `computing` and `messaging` are s outside and inside of MPI, of the rank with most of the first and of
    the mean rank. `sent` has messages and bytes of the rank that sends most and of the busiest node to
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
        surface = share ** (2 / 3)
        one = self.sent
        alone = one.node_messages == 0 and nodes > 1
        if alone:  # from one node to many: as many leave as are at the surface of a cube of its ranks
            outside = self.ranks_per_node ** (-1 / 3)
            one = replace(
                one,
                messages=one.inside * min(1.0, 2 * outside),
                payload=one.inside_payload * min(1.0, 2 * outside),
                node_messages=one.inside * outside * self.ranks_per_node,
                node_payload=one.inside_payload * outside * self.ranks_per_node,
            )
        sent = replace(
            one,
            payload=one.payload * surface,
            node_payload=one.node_payload * surface,
            inside_payload=one.inside_payload * surface,
        )
        return replace(self, nodes=nodes, computing=self.computing * share, sent=sent)


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
    as there are collective calls between them (coarse).
    """
    draws = draw(inputs.unknowns, DRAWS, SEED)
    kept = np.flatnonzero([not name for name in draws.swept])
    moved = job.on(nodes) if nodes else job
    parts = [_times(inputs, draws, job, moved, profiled_on, link, coarse=coarse) for coarse in (False, True)]
    own, new = (np.concatenate([part[at][kept] for part in parts]) for at in (0, 1))
    waiting = np.maximum(0.0, job.messaging - own)
    # Even draws keep all of the waiting, odd ones none: nobody knows which part a network causes.
    stays = np.where(np.arange(waiting.size) % 2 == 0, waiting, 0.0)
    total = moved.computing / faster + new + stays * (moved.computing / job.computing if job.computing else 1)
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


def link_of(inputs: Inputs, name: str, source: str = "config/model/links.yaml") -> LinkFacts:
    """Return a link by its name; ConfigError with the nearest name if there is none."""
    if name not in inputs.links:
        raise ConfigError.at(source, 0, f"no link {name!r}", known(name, inputs.links))
    return inputs.links[name]
