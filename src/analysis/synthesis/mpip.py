"""mpiP 3.5's report in its verbose form: times by rank, call sites, time and payload by site and rank."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from analysis.synthesis.calls import RankCalls
from analysis.synthesis.plan import PlannedRun, utc

_RULE = "-" * 75
_TIME = "{name:<17} {site:4d} {rank:>4} {count:6d} {most:8.3g} {mean:8.3g} {least:8.3g} {app:6.2f} {mpi:6.2f}"
_SENT = "{name:<17} {site:4d} {rank:>4} {count:7d} {most:9.4g} {mean:9.4g} {least:9.4g} {total:9.4g}"
_SENDING = ("MPI_Send", "MPI_Isend", "MPI_Bcast", "MPI_Allreduce", "MPI_Reduce")
_QUIET = ("MPI_Comm_rank", "MPI_Comm_size")


class Site(NamedTuple):
    """What a rank, or all ranks, did at one call site: calls, time in s, payload and its extremes in B."""

    calls: int
    time: float
    payload: int
    least: int
    most: int

    @classmethod
    def total(cls, parts: Iterable[Site]) -> Site:
        """Add up the ranks."""
        calls, time, payload, least, most = zip(*parts, strict=True)
        return cls(sum(calls), sum(time), sum(payload), min(least), max(most))


Sites = dict[str, list[Site]]  # one call site a call: what each rank did


def files(run: PlannedRun, ranks: list[RankCalls]) -> dict[str, str]:
    """Write the report of a run by file name."""
    sites = _sites(ranks)
    app, mpi = sum(rank.app_time for rank in ranks), sum(rank.mpi_time for rank in ranks)
    lines = [
        *_head(run, ranks), *_times(ranks, app, mpi), *_list(sites), *_aggregate(sites, app, mpi),
        *_sent(sites), *_by_rank(ranks, sites, app, mpi), *_message_sizes(sites), *_title("End of Report"),
        "",
    ]  # fmt: skip
    return {f"{run.factors['application']}.{len(ranks)}.{3000 + run.order}.1.mpiP": "\n".join(lines)}


def _title(text: str) -> list[str]:
    return [_RULE, f"@--- {text} ".ljust(75, "-"), _RULE]


def _head(run: PlannedRun, ranks: list[RankCalls]) -> Iterator[str]:
    yield "@ mpiP"
    yield f"@ Command : /opt/{run.factors['application']} "
    for key, value in (
        ("Version", "3.5.0"),
        ("MPIP Build date", "Nov 20 2014, 12:00:00"),
        ("Start time", f"{run.began:%Y %m %d %H:%M:%S}"),
        ("Stop time", f"{utc(run.end):%Y %m %d %H:%M:%S}"),
        ("Timer Used", "PMPI_Wtime"),
        ("MPIP env var", "[null]"),
        ("Collector Rank", "0"),
        ("Collector PID", str(3000 + run.order)),
        ("Final Output Dir", "."),
        ("Report generation", "Single collector task"),
        *(("MPI Task Assignment", f"{number} {rank.host}") for number, rank in enumerate(ranks)),
    ):
        yield f"@ {key:<25}: {value}"
    yield ""


def _sites(ranks: list[RankCalls]) -> Sites:
    found: Sites = {}
    for name in dict.fromkeys(row.call for rank in ranks for row in rank.rows if row.call not in _QUIET):
        found[name] = []
        for rank in ranks:
            rows = [row for row in rank.rows if row.call == name]
            each = (Site(row.calls, row.time, row.calls * row.size, row.size, row.size) for row in rows)
            found[name].append(Site.total(each) if rows else Site(0, 0, 0, 0, 0))
    return found


def _times(ranks: list[RankCalls], app: float, mpi: float) -> Iterator[str]:
    yield from (*_title("MPI Time (seconds)"), "Task    AppTime    MPITime     MPI%")
    rows = [(str(number), rank.app_time, rank.mpi_time) for number, rank in enumerate(ranks)]
    for name, whole, part in (*rows, ("*", app, mpi)):
        yield f"{name:>4} {whole:10.3g} {part:10.3g} {_percent(part, whole):8.2f}"


def _list(sites: Sites) -> Iterator[str]:
    yield from _title(f"Callsites: {len(sites)}")
    yield " ID Lev File/Address        Line Parent_Funct             MPI_Call"
    for site, name in enumerate(sites, 1):
        yield f"{site:3d}   0 solver.cpp       {40 + site:8d} exchange                 {_short(name)}"


def _top(sites: Sites, key: Callable[[Site], float], calls: Container[str]) -> list[tuple[str, Site]]:
    """Return the twenty sites of some calls with most of something: name and number, total over the ranks."""
    totals = [
        (f"{_short(name):<17} {number:7d}", Site.total(parts))
        for number, (name, parts) in enumerate(sites.items(), 1)
        if name in calls
    ]
    return sorted(totals, key=lambda one: -key(one[1]))[:20]


def _aggregate(sites: Sites, app: float, mpi: float) -> Iterator[str]:
    yield from _title("Aggregate Time (top twenty, descending, milliseconds)")
    yield "Call                 Site       Time    App%    MPI%      Count    COV"
    for name, whole in _top(sites, lambda site: site.time, sites):
        shares = f"{_percent(whole.time, app):7.2f} {_percent(whole.time, mpi):7.2f}"
        yield f"{name} {1e3 * whole.time:10.3g} {shares} {whole.calls:10d} {0.05:6.2f}"


def _sent(sites: Sites) -> Iterator[str]:
    yield from _title("Aggregate Sent Message Size (top twenty, descending, bytes)")
    yield "Call                 Site      Count      Total       Avrg  Sent%"
    everything = sum(site.payload for name in _SENDING for site in sites.get(name, ()))
    for name, whole in _top(sites, lambda site: site.payload, _SENDING):
        sizes = f"{whole.payload:10.3g} {whole.payload / whole.calls:10.3g}"
        yield f"{name} {whole.calls:10d} {sizes} {_percent(whole.payload, everything):6.2f}"


def _by_rank(ranks: list[RankCalls], sites: Sites, app: float, mpi: float) -> Iterator[str]:
    lines = sum(len(by_rank) + 1 for by_rank in sites.values())
    yield from _title(f"Callsite Time statistics (all, milliseconds): {lines}")
    yield "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%"
    wholes = [(rank.app_time, rank.mpi_time) for rank in ranks]
    for number, (name, by_rank) in enumerate(sites.items(), 1):
        means = [1e3 * site.time / site.calls for site in by_rank]
        # The longest call takes four times the mean, the shortest a quarter of it.
        for rank, site, most, least, (own_app, own_mpi) in zip(
            [*range(len(ranks)), "*"],
            [*by_rank, Site.total(by_rank)],
            [*means, max(means)],
            [*means, min(means)],
            [*wholes, (app, mpi)],
            strict=True,
        ):
            yield _TIME.format(
                name=_short(name), site=number, rank=rank, count=site.calls, most=4 * most,
                mean=1e3 * site.time / site.calls, least=least / 4, app=_percent(site.time, own_app),
                mpi=_percent(site.time, own_mpi),
            )  # fmt: skip
        yield ""


def _message_sizes(sites: Sites) -> Iterator[str]:
    yield from _title("Callsite Message Sent statistics (all, sent bytes)")
    yield "Name              Site Rank   Count       Max      Mean       Min       Sum"
    for number, (name, by_rank) in enumerate(sites.items(), 1):
        if name in _SENDING:
            for rank, site in (*enumerate(by_rank), ("*", Site.total(by_rank))):
                yield _SENT.format(
                    name=_short(name), site=number, rank=rank, count=site.calls, most=site.most,
                    mean=site.payload / site.calls, least=site.least, total=site.payload,
                )  # fmt: skip
            yield ""


def _short(name: str) -> str:
    return name.removeprefix("MPI_")


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole
