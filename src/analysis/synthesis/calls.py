"""What the ranks of a profiled run do in MPI: rows of calls with their counts, sizes, partners and times."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from analysis.synthesis import hpcg
from analysis.synthesis.plan import PlannedRun
from analysis.synthesis.truth import Truth

# Calls that send payload; others carry the same bytes again.
_SENDING = ("MPI_Send", "MPI_Isend", "MPI_Bcast", "MPI_Allreduce", "MPI_Reduce")
# Partners of a rank that exchanges with its neighbours in the numbering.
_NEIGHBOURS = (1, -1)
_BULK = "MPI_Send"
_TO_ONE = ("MPI_Send", "MPI_Isend")


class CallRow(NamedTuple):
    """Calls of one kind by one rank: all with the same size and partner."""

    call: str
    size: int  # B
    peer: int  # -1 without one
    calls: int
    time: float  # s


# Identity and size, which every rank asks for: no communication.
_QUIET = [CallRow(name, 0, -1, 2, 0.0) for name in ("MPI_Comm_rank", "MPI_Comm_size")]


@dataclass(frozen=True)
class RankCalls:
    """One rank: times in s, memory in B."""

    host: str
    app_time: float
    mpi_time: float
    memory: float
    rows: list[CallRow]


def profile_of(truth: Truth, run: PlannedRun) -> list[RankCalls]:
    """Lay out what every rank of a run does, by the shares, sizes and payload of the truth's ``profiles``."""
    entry = truth.first(truth.profiles, run.factors)
    if entry is None:
        raise truth.error(f"no profile for {run.factors['application']} {run.factors['case']}", "declare one")
    ranks = run.factors["ranks"]
    app = run.running
    random = run.random("profile")
    mpi = (
        app
        * truth.at(entry["mpi_fraction"], run.factors)
        * float(np.exp(truth.noise * random.standard_normal()))
    )
    # Work is spread unevenly; a rank with less of it waits longer.
    uneven = random.uniform(-1, 1, ranks)
    uneven -= uneven.mean()
    times = mpi + entry["imbalance"] * (app - mpi) * uneven
    memory = truth.at(entry["node_memory"], run.factors) / run.factors["ranks_per_node"]
    spread = 1 + 0.01 * (random.uniform(-1, 1, ranks))
    make = _halo_rows if "halo" in entry else _general_rows
    rows = make(truth, entry, run, times)
    hosts = [run.hosts[rank // run.factors["ranks_per_node"]] for rank in range(ranks)]
    return [
        RankCalls(hosts[rank], app, float(times[rank]), memory * float(spread[rank]), rows[rank])
        for rank in range(ranks)
    ]


# Calls of one kind before they have a time: call, size in B, partner (or its offset), number.
Counted = tuple[str, int, int, int]
Entry = Mapping[str, Any]


def _general_rows(truth: Truth, entry: Entry, run: PlannedRun, times: np.ndarray) -> list[list[CallRow]]:
    """Make the rows of an application that exchanges with neighbours and gets its data from rank 0."""
    ranks = run.factors["ranks"]
    bulk = _bulk(truth, entry, run)
    own = {first: _own_calls(truth, entry, run, bulk[first]) for first in (True, False)}
    receives = {size: name for name, sizes in entry["receives"].items() for size in sizes}
    found: list[list[Counted]] = [[] for _ in range(ranks)]
    for rank in range(ranks):
        for name, size, offset, count in own[rank == 0]:
            peer = (rank + offset) % ranks if offset else -1
            found[rank].append((name, size, peer, count))
            if offset:  # what one rank sends another one receives
                found[peer].append((receives[size], size, rank, count))
    shares = {name: call["time"] for name, call in entry["calls"].items()}
    out = [[*_timed(rows, shares, float(time)), *_QUIET] for rows, time in zip(found, times, strict=True)]
    # The rank that sets the run up makes calls of its own.
    out[0] += [CallRow(name, 0, -1, 1, 0.0) for name in entry.get("rare", ())]
    return out


def _timed(rows: list[Counted], shares: Mapping[str, float], time: float) -> list[CallRow]:
    """Spread a rank's time in MPI over its calls, and that of a call over its rows by their number."""
    totals: dict[str, int] = defaultdict(int)
    for name, _, _, count in rows:
        totals[name] += count
    second = time / sum(shares[name] for name in totals)
    return [
        CallRow(name, size, peer, count, second * shares[name] * count / totals[name])
        for name, size, peer, count in rows
    ]


def _own_calls(truth: Truth, entry: Entry, run: PlannedRun, bulk: int) -> list[Counted]:
    """List the calls that a rank makes by itself, each with the partner's offset."""
    out = []
    for name, call in entry["calls"].items():
        if "count" not in call:
            continue  # a receive: it follows from the others' sends
        total = truth.at(entry["calls_per_rank"], run.factors) * call["count"] / 100
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


def _bulk(truth: Truth, entry: Entry, run: PlannedRun) -> dict[bool, int]:
    """Return how many large messages make up the payload, for rank 0 and for the others."""
    ranks = run.factors["ranks"]
    own = _own_calls(truth, entry, run, 0)
    small = sum(size * count for name, size, _, count in own if name in _SENDING)
    wanted = truth.at(entry["rank_bytes"], run.factors) - small
    if wanted < 0:
        found = f"messages of {small:.3g} B where a rank hands over {wanted + small:.3g} B"
        raise truth.error(found, "lower calls_per_rank or raise rank_bytes")
    excess = entry["first_rank"]
    each = wanted * ranks / (ranks - 1 + excess) / entry["bulk_size"]
    return {True: round(each * excess), False: round(each)}


def _halo_rows(truth: Truth, entry: Entry, run: PlannedRun, times: np.ndarray) -> list[list[CallRow]]:
    """Make the rows of HPCG: exchanges of halos on every level, and sums over all ranks."""
    # So many iterations that the largest pair exchanges what is declared for a minute.
    iterations = round(entry["pair_bytes_a_minute"] / 60 * run.running / hpcg.FACE_BYTES)
    share = {name: part / sum(entry["halo"].values()) for name, part in entry["halo"].items()}
    out = []
    for messages, time in zip(hpcg.exchanges(run.factors["ranks"]), times.tolist(), strict=True):
        waits = defaultdict[int, int](int)
        for _, size, count in messages:
            waits[size] += count
        total = sum(waits.values())
        rows = [(name, *one) for name in ("MPI_Send", "MPI_Irecv") for one in messages]
        rows += [("MPI_Wait", -1, size, waits[size]) for size in sorted(waits)]
        timed = [
            CallRow(name, size, peer, count * iterations, time * share[name] * count / total)
            for name, peer, size, count in rows
        ]
        sums = CallRow("MPI_Allreduce", 8, -1, 3 * iterations, time * share["MPI_Allreduce"])
        out.append([*timed, sums, *_QUIET])
    return out
