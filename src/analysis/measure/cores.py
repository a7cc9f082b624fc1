"""Which cores of a node a job has: by placement, by the jobs that run at once, by rank."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PLACEMENTS = ("all-cores", "half-sockets")


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of one node.

    Attributes
    ----------
    sockets : tuple of tuple of int
        Core numbers of each socket.
    """

    sockets: tuple[tuple[int, ...], ...]

    @classmethod
    def declared(cls, cores: str | Sequence[str]) -> Cores:
        """Take the cores as a cluster's file gives them: a list for each socket, or ``auto``."""
        if isinstance(cores, str):
            return cls.of_this_machine()
        return cls(tuple(tuple(expand(text)) for text in cores))

    @classmethod
    def of_this_machine(cls, root: Path = Path("/sys/devices/system/cpu")) -> Cores:
        """Find the cores that this process may use, the first hardware thread of each."""
        sockets: dict[int, list[int]] = {}
        allowed = (
            os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
        )
        for cpu in sorted(allowed):
            topology = root / f"cpu{cpu}" / "topology"
            siblings = set(expand(_read(topology / "thread_siblings_list", str(cpu)))) & allowed
            if cpu == min(siblings, default=cpu):
                sockets.setdefault(int(_read(topology / "physical_package_id", "0")), []).append(cpu)
        return cls(tuple(tuple(found) for _, found in sorted(sockets.items())))

    @property
    def count(self) -> int:
        """Cores of the node."""
        return sum(map(len, self.sockets))

    def placed(self, placement: str) -> list[list[int]]:
        """Return the cores of each socket that a placement uses; empty sockets are left out.

        Parameters
        ----------
        placement : str
            ``all-cores``, or ``half-sockets``: the first half of the cores of each socket.
        """
        if placement == "all-cores":
            return [list(socket) for socket in self.sockets]
        return [list(socket[: len(socket) // 2]) for socket in self.sockets if len(socket) > 1]

    def usable(self, placement: str) -> int:
        """Count the cores that a placement uses."""
        return sum(map(len, self.placed(placement)))

    def jobs(self, placement: str, concurrent: int) -> list[list[int]]:
        """Share the cores among jobs that run at once: whole sockets where that is possible.

        Parameters
        ----------
        placement : str
        concurrent : int
            Jobs; no more than there are usable cores.

        Returns
        -------
        list of list of int
            A core set for each job, all of one size; cores that are left over stay idle.
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
    """Share a job's cores among its ranks on a node.

    Parameters
    ----------
    cores : sequence of int
    ranks_per_node : int

    Returns
    -------
    list of list of int
        The cores of each local rank: blocks of one size, in order. With more ranks than cores the ranks
        take the cores by turns.
    """
    if ranks_per_node > len(cores):
        return [[cores[rank % len(cores)]] for rank in range(ranks_per_node)]
    share = len(cores) // ranks_per_node
    return [list(cores[rank * share : (rank + 1) * share]) for rank in range(ranks_per_node)]


def expand(text: str) -> list[int]:
    """Spell out a list of cores: ``0-2,8`` is 0, 1, 2, 8."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def compact(cores: Sequence[int]) -> str:
    """Write a list of cores as the kernel does: 0, 1, 2, 8 is ``0-2,8``."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def _read(path: Path, otherwise: str) -> str:
    try:
        return path.read_text(encoding="ascii").strip() or otherwise
    except OSError:
        return otherwise
