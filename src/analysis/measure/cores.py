"""Which cores of a node a job has: by placement, by the jobs that run at once, by rank."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.base.slurm import numbers

PLACEMENTS = ("all-cores", "half-sockets")


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of one node, by their numbers in each socket."""

    sockets: tuple[tuple[int, ...], ...]

    @classmethod
    def declared(cls, cores: str | Sequence[str]) -> Cores:
        """Take the cores as a cluster's file gives them: a list for each socket, or ``auto``."""
        if isinstance(cores, str):
            return cls.of_this_machine()
        return cls(tuple(tuple(numbers(text)) for text in cores))

    @classmethod
    def of_this_machine(cls, root: Path = Path("/sys/devices/system/cpu")) -> Cores:
        """Find the cores that this process may use, the first hardware thread of each."""
        sockets: dict[int, list[int]] = {}
        allowed = (
            os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
        )
        for cpu in sorted(allowed):
            topology = root / f"cpu{cpu}" / "topology"
            siblings = set(numbers(_read(topology / "thread_siblings_list", str(cpu)))) & allowed
            if cpu == min(siblings, default=cpu):
                sockets.setdefault(int(_read(topology / "physical_package_id", "0")), []).append(cpu)
        return cls(tuple(tuple(found) for _, found in sorted(sockets.items())))

    @property
    def count(self) -> int:
        """Cores of the node."""
        return sum(map(len, self.sockets))

    def placed(self, placement: str) -> list[list[int]]:
        """Return the cores of each socket that a placement uses: all, or the first half; none is empty."""
        if placement == "all-cores":
            return [list(socket) for socket in self.sockets]
        return [list(socket[: len(socket) // 2]) for socket in self.sockets if len(socket) > 1]

    def usable(self, placement: str) -> int:
        """Count the cores that a placement uses."""
        return sum(map(len, self.placed(placement)))

    def jobs(self, placement: str, concurrent: int) -> list[list[int]]:
        """Share the cores among jobs that run at once: sets of one size, whole sockets if possible.

        Cores that are left over stay idle. There are no more jobs than usable cores.
        """
        sockets = self.placed(placement)
        cores = [core for socket in sockets for core in socket]
        share = len(cores) // concurrent
        each = concurrent // max(len(sockets), 1)
        if each * len(sockets) == concurrent and all(len(socket) >= each * share for socket in sockets):
            # What a socket has left over stays idle: no job reaches into the next one.
            return [socket[job * share : (job + 1) * share] for socket in sockets for job in range(each)]
        return [cores[job * share : (job + 1) * share] for job in range(concurrent)]


def ranks(cores: Sequence[int], ranks_per_node: int) -> list[list[int]]:
    """Share a job's cores among its ranks on a node: blocks of one size, in order.

    With more ranks than cores the ranks take the cores by turns.
    """
    if ranks_per_node > len(cores):
        return [[cores[rank % len(cores)]] for rank in range(ranks_per_node)]
    share = len(cores) // ranks_per_node
    return [list(cores[rank * share : (rank + 1) * share]) for rank in range(ranks_per_node)]


def _read(path: Path, otherwise: str) -> str:
    try:
        return path.read_text(encoding="ascii").strip() or otherwise
    except OSError:
        return otherwise
