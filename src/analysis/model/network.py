"""Time of a step over a network: LogGP with an adapter that serialises and ranks that share it.

A phase takes max(processor, adapter) + L. The processor of the rank that sends most needs its own messages x
o, its copied bytes / b, and the messages within its node; the adapter needs C x (node's bytes / B + node's
messages x g). Here o is the processor's time for a message sent and one received, b the rate at which it
copies both, g the adapter's time for each, B its payload bandwidth, C how many jobs' messages the adapter
carries at once and L the latency. A reduction takes ceil(log2 nodes) small messages, one after the other, and
ceil(log2 ranks per node) within a node; where switches reduce, it takes their time instead of the messages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.model.draws import Array, Draws
from analysis.model.inputs import Inputs
from analysis.model.patterns import Exchanged, MessagePattern, Reduced, Transposed

INSIDE = "shared-memory"  # unknowns of messages within a node


@dataclass(frozen=True)
class Network:
    """A network as it is drawn: one value per draw, s and B/s."""

    own: Array
    nic: Array
    bandwidth: Array
    latency: Array
    header: float
    inside_latency: Array
    inside_bandwidth: Array
    copying: Array | float = np.inf  # B/s; infinite where the adapter moves the bytes
    crowd: Array | float = 1.0
    in_switches: Array | None = None  # s of a reduction

    @classmethod
    def drawn(cls, inputs: Inputs, draws: Draws, link: str, copying: str = "copying.tcp") -> Network:
        """Return a link's draws; own and adapter's time of a message are those of its kind.

        `copying` is the range of the rate at which a core copies TCP data.
        """
        facts = inputs.links[link]
        return cls(
            draws[f"own.{facts.kind}"], draws[f"nic.{facts.kind}"], draws[f"bandwidth.{link}"],
            draws[f"latency.{link}"], facts.header, draws[f"latency.{INSIDE}"], draws[f"bandwidth.{INSIDE}"],
            draws[copying] if facts.kind == "tcp" else np.inf,
        )  # fmt: skip

    def step(self, pattern: MessagePattern, nodes: int, ranks_per_node: int) -> Array:
        """Return the seconds that a step's messages take, one value per draw."""
        total: Array = np.zeros_like(self.own)
        for exchanged in pattern.exchanged:
            total = total + exchanged.times * self._exchange(exchanged)
        for reduced in pattern.reduced:
            total = total + reduced.times * self._reduce(reduced, nodes, ranks_per_node)
        for transposed in pattern.transposed:
            total = total + transposed.times * self._transpose(transposed, nodes, ranks_per_node)
        return total

    def _exchange(self, sent: Exchanged) -> Array:
        within = sent.inside * self.inside_latency + sent.inside_payload / self.inside_bandwidth
        busy = sent.messages * self.own + sent.payload / self.copying + within
        wire = (sent.node_payload + sent.node_messages * self.header) / self.bandwidth
        wire = (wire + sent.node_messages * self.nic) * self.crowd
        away = np.maximum(busy, wire) + self.latency
        found: Array = np.where(np.asarray(sent.node_messages) > 0, away, within)
        return found

    def _reduce(self, one: Reduced, nodes: int, ranks_per_node: int) -> Array:
        hop = self.own + self.nic + self.latency + (one.payload + self.header) / self.bandwidth
        hop = hop + one.payload / self.copying
        across = _rounds(nodes) * hop
        if self.in_switches is not None and nodes > 1:
            across = self.own + self.in_switches
        found: Array = across + _rounds(ranks_per_node) * self.inside_latency
        return found

    def _transpose(self, one: Transposed, nodes: int, ranks_per_node: int) -> Array:
        """All send to all of a group, pair by pair; messages within the node need no wire."""
        ranks = nodes * ranks_per_node
        partners = one.members - 1.0
        outside = 0.0 if nodes == 1 else (ranks - ranks_per_node) / (ranks - 1)
        each = one.payload / ranks / one.members  # B of one message
        away, pieces = partners * outside, one.pieces
        sent = Exchanged(
            1.0, away * pieces, away * each, away * ranks_per_node * pieces, away * ranks_per_node * each,
            (partners - away) * pieces, (partners - away) * each,
        )  # fmt: skip
        return self._exchange(sent)


def _rounds(members: int) -> int:
    return math.ceil(math.log2(members)) if members > 1 else 0
