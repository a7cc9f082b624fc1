"""mpiP 3.5's report in its verbose form: times by rank, call sites, time and payload by site and rank."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from analysis.synthesis.calls import Rank
from analysis.synthesis.plan import LAUNCH, Job

_RULE = "-" * 75
_SITE = "{name:<17} {site:4d} {rank:>4} {count:6d} {most:8.3g} {mean:8.3g} {least:8.3g} {app:6.2f} {mpi:6.2f}"
_SENT = "{name:<17} {site:4d} {rank:>4} {count:7d} {most:9.4g} {mean:9.4g} {least:9.4g} {total:9.4g}"
_SENDING = ("MPI_Send", "MPI_Isend", "MPI_Bcast", "MPI_Allreduce", "MPI_Reduce")
_QUIET = ("MPI_Comm_rank", "MPI_Comm_size")

# One call site a call: rank -> (count, time in s, payload in B, least and largest message in B).
Sites = dict[str, list[tuple[int, float, int, int, int]]]


def files(job: Job, ranks: list[Rank]) -> dict[str, str]:
    """Write the report of a run by file name."""
    sites = _sites(ranks)
    sections = (_times(ranks), _list(sites), _aggregate(ranks, sites), _sent(sites), _by_rank(ranks, sites))
    lines = [*_head(job, ranks)]
    for section in sections:
        lines += section
    lines += [*_message_sizes(sites), _RULE, _title("End of Report"), _RULE, ""]
    return {f"{job.factors['application']}.{len(ranks)}.{3000 + job.order}.1.mpiP": "\n".join(lines)}


def _title(text: str) -> str:
    return f"@--- {text} ".ljust(75, "-")


def _head(job: Job, ranks: list[Rank]) -> Iterator[str]:
    start = datetime.fromtimestamp(job.start + LAUNCH, UTC)
    stop = datetime.fromtimestamp(job.end, UTC)
    yield "@ mpiP"
    yield f"@ Command : /opt/{job.factors['application']} "
    for key, value in (
        ("Version", "3.5.0"),
        ("MPIP Build date", "Nov 20 2014, 12:00:00"),
        ("Start time", f"{start:%Y %m %d %H:%M:%S}"),
        ("Stop time", f"{stop:%Y %m %d %H:%M:%S}"),
        ("Timer Used", "PMPI_Wtime"),
        ("MPIP env var", "[null]"),
        ("Collector Rank", "0"),
        ("Collector PID", str(3000 + job.order)),
        ("Final Output Dir", "."),
        ("Report generation", "Single collector task"),
    ):
        yield f"@ {key:<25}: {value}"
    for number, rank in enumerate(ranks):
        yield f"@ {'MPI Task Assignment':<25}: {number} {rank.host}"
    yield ""


def _sites(ranks: list[Rank]) -> Sites:
    found: Sites = {}
    names = dict.fromkeys(row.call for rank in ranks for row in rank.rows if row.call not in _QUIET)
    for name in names:
        found[name] = []
        for rank in ranks:
            rows = [row for row in rank.rows if row.call == name]
            count = sum(row.calls for row in rows)
            payload = sum(row.calls * row.size for row in rows)
            sizes = [row.size for row in rows] or [0]
            found[name].append((count, sum(row.time for row in rows), payload, min(sizes), max(sizes)))
    return found


def _times(ranks: list[Rank]) -> Iterator[str]:
    yield from (_RULE, _title("MPI Time (seconds)"), _RULE, "Task    AppTime    MPITime     MPI%")
    for number, rank in enumerate(ranks):
        share = _percent(rank.mpi_time, rank.app_time)
        yield f"{number:4d} {rank.app_time:10.3g} {rank.mpi_time:10.3g} {share:8.2f}"
    app, mpi = sum(rank.app_time for rank in ranks), sum(rank.mpi_time for rank in ranks)
    yield f"   * {app:10.3g} {mpi:10.3g} {_percent(mpi, app):8.2f}"


def _list(sites: Sites) -> Iterator[str]:
    yield from (_RULE, _title(f"Callsites: {len(sites)}"), _RULE)
    yield " ID Lev File/Address        Line Parent_Funct             MPI_Call"
    for site, name in enumerate(sites, 1):
        yield f"{site:3d}   0 solver.cpp       {40 + site:8d} exchange                 {_short(name)}"


def _aggregate(ranks: list[Rank], sites: Sites) -> Iterator[str]:
    app, mpi = sum(rank.app_time for rank in ranks), sum(rank.mpi_time for rank in ranks)
    yield from (_RULE, _title("Aggregate Time (top twenty, descending, milliseconds)"), _RULE)
    yield "Call                 Site       Time    App%    MPI%      Count    COV"
    sums = {name: sum(entry[1] for entry in by_rank) for name, by_rank in sites.items()}
    numbers = {name: site for site, name in enumerate(sites, 1)}
    for name in sorted(sums, key=lambda name: -sums[name])[:20]:
        time, count = sums[name], sum(entry[0] for entry in sites[name])
        yield (
            f"{_short(name):<17} {numbers[name]:7d} {1e3 * time:10.3g} {_percent(time, app):7.2f}"
            f" {_percent(time, mpi):7.2f} {count:10d} {0.05:6.2f}"
        )


def _sent(sites: Sites) -> Iterator[str]:
    yield from (_RULE, _title("Aggregate Sent Message Size (top twenty, descending, bytes)"), _RULE)
    yield "Call                 Site      Count      Total       Avrg  Sent%"
    sums = {name: sum(entry[2] for entry in by_rank) for name, by_rank in sites.items() if name in _SENDING}
    everything = sum(sums.values())
    numbers = {name: site for site, name in enumerate(sites, 1)}
    for name in sorted(sums, key=lambda name: -sums[name])[:20]:
        count = sum(entry[0] for entry in sites[name])
        yield (
            f"{_short(name):<17} {numbers[name]:7d} {count:10d} {sums[name]:10.3g} {sums[name] / count:10.3g}"
            f" {_percent(sums[name], everything):6.2f}"
        )


def _by_rank(ranks: list[Rank], sites: Sites) -> Iterator[str]:
    lines = sum(len(by_rank) + 1 for by_rank in sites.values())
    yield from (_RULE, _title(f"Callsite Time statistics (all, milliseconds): {lines}"), _RULE)
    yield "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%"
    app, mpi = sum(rank.app_time for rank in ranks), sum(rank.mpi_time for rank in ranks)
    for site, (name, by_rank) in enumerate(sites.items(), 1):
        means = [1e3 * time / count for count, time, *_ in by_rank]
        rows = [
            (
                str(number),
                count,
                mean,
                4 * mean,
                mean / 4,
                time,
                ranks[number].app_time,
                ranks[number].mpi_time,
            )
            for number, ((count, time, *_), mean) in enumerate(zip(by_rank, means, strict=True))
        ]
        calls, times = sum(row[1] for row in rows), sum(row[5] for row in rows)
        rows.append(("*", calls, 1e3 * times / calls, 4 * max(means), min(means) / 4, times, app, mpi))
        for rank, count, mean, most, least, time, own_app, own_mpi in rows:
            yield _SITE.format(
                name=_short(name), site=site, rank=rank, count=count, most=most, mean=mean,
                least=least, app=_percent(time, own_app), mpi=_percent(time, own_mpi),
            )  # fmt: skip
        yield ""


def _message_sizes(sites: Sites) -> Iterator[str]:
    yield from (_RULE, _title("Callsite Message Sent statistics (all, sent bytes)"), _RULE)
    yield "Name              Site Rank   Count       Max      Mean       Min       Sum"
    for site, (name, by_rank) in enumerate(sites.items(), 1):
        if name not in _SENDING:
            continue
        rows = [(str(number), *entry) for number, entry in enumerate(by_rank)]
        count, payload = sum(row[1] for row in rows), sum(row[3] for row in rows)
        least, most = min(row[4] for row in rows), max(row[5] for row in rows)
        rows.append(("*", count, 0.0, payload, least, most))
        for rank, number, _, total, low, high in rows:
            yield _SENT.format(
                name=_short(name), site=site, rank=rank, count=number, most=high, mean=total / number,
                least=low, total=total,
            )  # fmt: skip
        yield ""


def _short(name: str) -> str:
    return name.removeprefix("MPI_")


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole
