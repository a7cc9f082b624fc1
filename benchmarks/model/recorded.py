"""Steps of a real code that SimGrid's SMPI has recorded, so that they can be replayed over other networks.

The messages are those of the code: who sends how much to whom, in which order. The time of the network is put
in as in `benchmarks.model.traces`: the processor's own time is computing before a message to another node,
and such a message is longer by its header. A reduction is the messages of a tree in each node and of doubling
between nodes; over TCP it also waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.base.errors import ConfigError
from benchmarks.model.traces import BYTE, SPEED, Step, Wires

SIZES = {0: 8, 1: 4, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1}  # B of SimGrid's numbers of MPI types
REDUCTION = "allreduce"
_RANK = re.compile(r"rank-(\d+)\.txt$")

Action = tuple[str, ...]
Segment = tuple[Action, ...]  # what a rank does between two reductions, the second one included
PAYLOADS = ("irecv", "send", "isend")


@dataclass(frozen=True)
class Recording:
    """Some equal steps of a code: of each rank its segments, `reductions` of them for a step."""

    ranks: tuple[tuple[Segment, ...], ...]
    reductions: int

    @property
    def steps(self) -> int:
        """How many steps it holds."""
        return len(self.ranks[0]) // self.reductions

    def sent(self) -> tuple[int, int]:
        """Return the messages of a step of all ranks, and their bytes."""
        sizes = [
            int(one[3]) * SIZES[int(one[4])]
            for rank in self.ranks
            for segment in rank[: self.reductions]
            for one in segment
            if one[0] in ("send", "isend")
        ]
        return len(sizes), sum(sizes)


def load(listed: Path, reductions: int, steps: int) -> Recording:
    """Read the last `steps` equal steps of a trace, ``smpirun -trace-ti -trace-file``.

    `listed` is the file that lists those of the ranks. All ranks are cut at the same reductions: no message
    passes one. ConfigError if there are not so many steps that are equal on the first rank.
    """
    paths = [listed.parent / line for line in listed.read_text(encoding="utf-8").split()]
    paths.sort(key=lambda path: int(_number(path)))
    first = _segments(paths[0])
    width, least = reductions, steps * reductions
    shapes = [tuple(one for one in segment if one[0] != "compute") for segment in first]
    for end in range(len(first), least - 1, -1):
        part = shapes[end - least : end]
        if part == part[:width] * steps and any(one[0] in PAYLOADS for segment in part for one in segment):
            return Recording(tuple(_segments(path)[end - least : end] for path in paths), reductions)
    what = f"has no {steps} equal steps of {reductions} reductions"
    raise ConfigError.at(str(listed), 0, what, "record more steps, or check how many reductions a step has")


def _number(path: Path) -> str:
    found = _RANK.search(path.name)
    if found is None:
        raise ConfigError.at(str(path), 0, "is no trace of a rank", "use -trace-ti -trace-file of smpirun")
    return found[1]


def _segments(path: Path) -> tuple[Segment, ...]:
    found, current = [], list[Action]()
    for line in path.read_text(encoding="utf-8").splitlines():
        current.append(tuple(line.split()[1:]))
        if current[-1][0] == REDUCTION:
            found.append(tuple(current))
            current = []
    return tuple(found)


@dataclass(frozen=True)
class RecordedStep(Step):
    """The steps of a recording on nodes and ranks: `work` has the s of each rank at the start of a step.

    `rates` are the operations in a second of each rank, for what the code states itself; `waiting` are the s
    that a reduction between nodes waits in addition.
    """

    recording: Recording = Recording((), 1)
    rates: tuple[float, ...] = ()
    waiting: float = 0.0

    def lines(self, rank: int, wires: Wires) -> Iterator[str]:
        """Yield a rank's actions, without its number in front."""
        slow = wires
        if self.nodes > 1:
            rounds = (self.nodes - 1).bit_length()
            slow = replace(wires, own=wires.own + self.waiting / rounds)
        for number, segment in enumerate(self.recording.ranks[rank]):
            if number % self.recording.reductions == 0:
                yield f"compute {self.work[rank] * SPEED:.0f}"
            pending: list[str] = []
            for action in segment:
                yield from self._replayed(rank, action, wires, slow, pending)

    def _replayed(
        self, rank: int, action: Action, wires: Wires, slow: Wires, pending: list[str]
    ) -> Iterator[str]:
        kind = action[0]
        if kind == "compute":
            yield f"compute {float(action[1]) / self.rates[rank] * SPEED:.0f}"
        elif kind in PAYLOADS:
            other, payload = int(action[1]), int(action[3]) * SIZES[int(action[4])]
            outside = self._outside(rank, other)
            if outside and kind != "irecv":
                yield f"compute {(wires.own + payload / wires.copying) * SPEED:.0f}"
            yield f"{kind} {other} {action[2]} {wires.padded(payload) if outside else payload} {BYTE}"
            if kind == "isend":
                pending.append(f"wait {rank} {other} {action[2]}")
        elif kind == "waitall":  # SimGrid would wait for what is received too
            yield from pending
            pending.clear()
        elif kind == REDUCTION:
            yield from self._reduction(rank, float(action[1]) * SIZES[int(action[3])], slow)
        else:
            yield " ".join(action)


def tree(wires: Wires, nodes: int, cores: int, leaf: int = 16) -> str:
    """Return SimGrid's description of a fat tree: adapters, leaf switches of `leaf` nodes, spines above.

    Above the leaves there are as many links as nodes below, routes are fixed by the destination. A message
    within a leaf takes 0.8 of the latency, one over a spine 1.2 of it; with one leaf all take the latency.
    """
    leaves = -(-nodes // leaf)
    shape = f"2;1,{nodes};1,1;1,1" if leaves == 1 else f"3;1,{leaf},{leaves};1,1,{leaf};1,1,1"
    each = wires.latency / (4 if leaves == 1 else 5)
    return f"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node" suffix="" radical="0-{leaf * leaves - 1 if leaves > 1 else nodes - 1}"
           speed="{SPEED:.0f}f" core="{cores}" topology="FAT_TREE" topo_parameters="{shape}"
           bw="{wires.bandwidth!r}Bps" lat="{each!r}s" sharing_policy="SPLITDUPLEX"
           loopback_bw="{wires.inside_bandwidth!r}Bps" loopback_lat="{wires.inside_latency!r}s"/>
</platform>
"""


def slower(most: float, ranks: int) -> tuple[float, ...]:
    """Return how many times the mean work each rank has, evenly around 1; `most` is the greatest."""
    spread: Sequence[float] = [2 * (rank * 0.6180339887 % 1) - 1 for rank in range(ranks)]
    return tuple(1 + (most - 1) * part / max(spread) for part in spread)
