"""What the ranks of a profiled run do in MPI: rows of calls with their counts, sizes, partners and times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from analysis.synthesis import hpcg
from analysis.synthesis.plan import LAUNCH, Job
from analysis.synthesis.truth import Truth

# Calls that hand payload over; what others carry are the same bytes again.
_SENDING = ("MPI_Send", "MPI_Isend", "MPI_Bcast", "MPI_Allreduce", "MPI_Reduce")
# Ends and identity, which every rank asks for and which are no communication.
_ALWAYS = (("MPI_Comm_rank", 2), ("MPI_Comm_size", 2))
# Partners of a rank that exchanges with its neighbours in the numbering.
_NEIGHBOURS = (1, -1)
_BULK = "MPI_Send"
_TO_ONE = ("MPI_Send", "MPI_Isend")


class Row(NamedTuple):
    """Calls of one kind by one rank: all with the same size and partner."""

    call: str
    size: int  # B
    peer: int  # -1 without one
    calls: int
    time: float  # s


@dataclass(frozen=True)
class Rank:
    """One rank: times in s, memory in B."""

    host: str
    app_time: float
    mpi_time: float
    memory: float
    rows: list[Row]


def profile_of(truth: Truth, job: Job) -> list[Rank]:
    """Lay out what every rank of a run does, by the shares, sizes and payload of the truth's ``profiles``."""
    entry = truth.first(truth.profiles, job.factors)
    if entry is None:
        raise truth.error(f"no profile for {job.factors['application']} {job.factors['case']}", "declare one")
    ranks = job.factors["ranks"]
    app = job.seconds - LAUNCH
    random = job.random("profile")
    mpi = (
        app
        * truth.at(entry["mpi_fraction"], job.factors)
        * float(np.exp(truth.noise * random.standard_normal()))
    )
    # Work is spread unevenly; who has less of it waits longer.
    uneven = random.uniform(-1, 1, ranks)
    uneven -= uneven.mean()
    times = mpi + entry["imbalance"] * (app - mpi) * uneven
    memory = truth.at(entry["node_memory"], job.factors) / job.factors["ranks_per_node"]
    spread = 1 + 0.01 * (random.uniform(-1, 1, ranks))
    make = _halo_rows if "halo" in entry else _general_rows
    rows = make(truth, entry, job, times)
    hosts = [job.hosts[rank // job.factors["ranks_per_node"]] for rank in range(ranks)]
    return [
        Rank(hosts[rank], app, float(times[rank]), memory * float(spread[rank]), rows[rank])
        for rank in range(ranks)
    ]


def _general_rows(truth: Truth, entry: Mapping[str, Any], job: Job, times: np.ndarray) -> list[list[Row]]:
    """Make the rows of an application that talks to neighbours and is fed by rank 0."""
    ranks = job.factors["ranks"]
    bulk = _bulk(truth, entry, job)
    made = {first: _made(truth, entry, job, bulk[first]) for first in (True, False)}
    takers = {size: name for name, sizes in entry["receives"].items() for size in sizes}
    found: list[list[tuple[str, int, int, int]]] = [[] for _ in range(ranks)]
    for rank in range(ranks):
        for name, size, offset, count in made[rank == 0]:
            peer = (rank + offset) % ranks if offset else -1
            found[rank].append((name, size, peer, count))
            if offset:  # what one rank sends another one receives
                found[peer].append((takers[size], size, rank, count))
    shares = {name: call["time"] for name, call in entry["calls"].items()}
    out = [_timed(rows, shares, float(time)) for rows, time in zip(found, times, strict=True)]
    for rows in out:
        rows += [Row(name, 0, -1, count, 0.0) for name, count in _ALWAYS]
    # Who sets the run up calls what nobody else does.
    out[0] += [Row(name, 0, -1, 1, 0.0) for name in entry.get("rare", ())]
    return out


def _timed(rows: list[tuple[str, int, int, int]], shares: Mapping[str, float], time: float) -> list[Row]:
    """Spread a rank's time in MPI over its calls, and that of a call over its rows by their number."""
    totals: dict[str, int] = defaultdict(int)
    for name, _, _, count in rows:
        totals[name] += count
    second = time / sum(shares[name] for name in totals)
    return [
        Row(name, size, peer, count, second * shares[name] * count / totals[name])
        for name, size, peer, count in rows
    ]


def _made(truth: Truth, entry: Mapping[str, Any], job: Job, bulk: int) -> list[tuple[str, int, int, int]]:
    """List the calls that a rank makes of its own: (call, size, partner's offset, number)."""
    out = []
    for name, call in entry["calls"].items():
        if "count" not in call:
            continue  # a receive: it follows from the others' sends
        total = truth.at(entry["calls_per_rank"], job.factors) * call["count"] / 100
        sizes = call.get("sizes", {0: 1})
        weight = sum(sizes.values())
        counts = {size: max(round(total * part / weight), 2) for size, part in sizes.items()}
        if name == _BULK and bulk:
            smallest = min(counts)
            counts[smallest] = max(counts[smallest] - bulk, 2)
            counts[entry["bulk_size"]] = bulk
        offsets = _NEIGHBOURS if name in _TO_ONE else (0,)
        for size, count in counts.items():
            for i, offset in enumerate(offsets):
                number = count // len(offsets) + (i < count % len(offsets))
                out.append((name, size, offset, number))
    return [row for row in out if row[3]]


def _bulk(truth: Truth, entry: Mapping[str, Any], job: Job) -> dict[bool, int]:
    """Return how many large messages make up the payload, for rank 0 and for the others."""
    ranks = job.factors["ranks"]
    small = sum(size * count for name, size, _, count in _made(truth, entry, job, 0) if name in _SENDING)
    wanted = truth.at(entry["rank_bytes"], job.factors) - small
    if wanted < 0:
        found = f"messages of {small:.3g} B where a rank hands over {wanted + small:.3g} B"
        raise truth.error(found, "lower calls_per_rank or raise rank_bytes")
    excess = entry["first_rank"]
    each = wanted * ranks / (ranks - 1 + excess) / entry["bulk_size"]
    return {True: round(each * excess), False: round(each)}


def _halo_rows(truth: Truth, entry: Mapping[str, Any], job: Job, times: np.ndarray) -> list[list[Row]]:
    """Make the rows of HPCG: exchanges of halos on every level, and sums over all ranks."""
    seconds = job.seconds - LAUNCH
    # So many iterations that the largest pair exchanges what is declared for a minute.
    iterations = round(entry["pair_bytes_a_minute"] / 60 * seconds / hpcg.FACE_BYTES)
    share = {name: part / sum(entry["halo"].values()) for name, part in entry["halo"].items()}
    out = []
    for rank, messages in enumerate(hpcg.exchanges(job.factors["ranks"])):
        time = float(times[rank])
        total = sum(count for _, _, count in messages)
        sizes = sorted({size for _, size, _ in messages})
        rows = []
        for name in ("MPI_Send", "MPI_Irecv"):
            rows += [
                Row(name, size, peer, count * iterations, time * share[name] * count / total)
                for peer, size, count in messages
            ]
        for size in sizes:
            count = sum(c for _, s, c in messages if s == size)
            part = time * share["MPI_Wait"] * count / total
            rows.append(Row("MPI_Wait", size, -1, count * iterations, part))
        rows.append(Row("MPI_Allreduce", 8, -1, 3 * iterations, time * share["MPI_Allreduce"]))
        rows += [Row(name, 0, -1, count, 0.0) for name, count in _ALWAYS]
        out.append(rows)
    return out
