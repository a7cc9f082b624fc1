"""What an mpiP report says twice: times of ranks, of call sites, of its lists and histograms, compared."""

from collections import defaultdict
from datetime import datetime

import numpy as np

from analysis.readers.base import Faults
from analysis.readers.mpip.report import Bin, Entry, ReportText, Times
from analysis.readers.mpip.rows import distinct

Obs = dict[str, np.ndarray]
# Two figures of three printed digits can be 0.5 % off each.
_DIGITS = 0.0101
# With -e mpiP prints three decimals instead of three digits: of seconds, and of milliseconds a call.
_DECIMALS, _CALL_DECIMALS = 5e-4, 5e-7  # s


def timestamp(value: str) -> str:
    """Turn ``2026 11 20 23:34:42`` into ISO 8601 (no time zone is given); other text stays."""
    try:
        return datetime.strptime(value, "%Y %m %d %H:%M:%S").isoformat()
    except ValueError:
        return value


def _decimals(times: Times) -> float:
    """Return the rounding of a time in s, 0 where digits are printed instead of decimals."""
    printed = np.array([*times.app.values(), *times.mpi.values()]) * 1e3
    printed = printed[np.isfinite(printed)]
    return _DECIMALS if (np.abs(printed - np.round(printed)) < 1e-6).all() else 0.0


def _slack(times: Times, count: np.ndarray) -> float:
    """Return by how many s the sum of some rows may differ from a total, by decimals alone."""
    rounding = _decimals(times)
    return rounding + (_CALL_DECIMALS * float(np.maximum(count, 0).sum()) if rounding else 0.0)


def check_ranks(report: ReportText, times: Times, faults: Faults) -> list[str]:
    """Compare AppTime with MPITime and with the clock.

    ``mpi-time-over-app-time``: MPI_Pcontrol resets AppTime. ``app-time-over-elapsed``: AppTime is longer
    than the time between start and stop, as when mpiP counts it twice.
    """
    flags = []
    over = [rank for rank, percent in times.percent.items() if percent > 100.0]
    if over or times.percent_total > 100.0:
        most = max([*times.percent.values(), times.percent_total], key=lambda v: -1.0 if np.isnan(v) else v)
        where = f"on {len(over)} of {times.rows} ranks" if over else "in sum"
        faults.note(
            times.line,
            f"MPI time exceeds AppTime {where} (MPI% up to {most:g})",
            "AppTime was reset on the way, as MPI_Pcontrol does: use no share of AppTime",
        )
        flags.append("mpi-time-over-app-time")
    start, stop = (timestamp(report.header.get(key, "")) for key in ("Start time", "Stop time"))
    try:
        elapsed = (datetime.fromisoformat(stop) - datetime.fromisoformat(start)).total_seconds()
    except ValueError:
        return flags
    longest = max(times.app.values(), default=0.0)
    # Both stamps are cut to whole seconds.
    if elapsed >= 0 and longest * (1 - _DIGITS / 2) > elapsed + 1:
        found = f"AppTime of {longest:g} s in a job of {elapsed:g} s from start to stop"
        faults.note(times.line, found, "it may be counted twice: use no share of AppTime")
        flags.append("app-time-over-elapsed")
    return flags


def check_times(times: Times, faults: Faults) -> list[str]:
    """Compare shares and sums of the table of MPI Time: ``mpi-time-contradicts-itself``."""
    step = _decimals(times)
    odd = [
        f"rank {rank}: {times.mpi[rank]:g} s of {app:g} s are not {times.percent[rank]:g} %"
        for rank, app in times.app.items()
        if _differ(times.mpi[rank], app * times.percent[rank] / 100.0, app * 5e-5 + 2 * step)
    ]
    for name, ranks, total in (
        ("AppTime", times.app, times.app_total),
        ("MPITime", times.mpi, times.mpi_total),
    ):
        summed = sum(ranks.values())
        if len(ranks) == times.rows > 0 and _differ(summed, total, step * (times.rows + 1)):
            odd.append(f"{name} of the ranks is {summed:.4g} s in sum, its * row says {total:.4g} s")
    if odd:
        more = f" ({len(odd)} contradictions)" if len(odd) > 1 else ""
        faults.note(times.line, odd[0] + more, "one of the numbers is damaged; get the file again")
    return ["mpi-time-contradicts-itself"] if odd else []


def _differ(one: float, other: float, slack: float) -> bool:
    """Tell whether two times in s differ by more than is printed; one that is not known differs from none."""
    return abs(one - other) > _DIGITS * max(one, other) + slack


def check_sites(report: ReportText, times: Times, obs: Obs, detail: str, faults: Faults) -> list[str]:
    """Compare the time of the call sites with the MPI time of the ranks: ``callsite-time-differs``.

    ``sites-split``: every site belongs to one rank, which is what address randomisation does.
    """
    flags = []
    total = float(np.nansum(obs["time"]))
    excess = total - times.mpi_total
    most = _DIGITS * times.mpi_total + _slack(times, obs["count"])
    if excess > most or (detail != "top" and -excess > most):
        found = f"call sites take {total:.4g} s, MPI time is {times.mpi_total:.4g} s"
        faults.note(times.line, found, "one of the two tables is wrong: trust neither without a second run")
        flags.append("callsite-time-differs")
    elif detail == "rank" and times.mpi and (obs["rank"] >= 0).all():
        sums = np.bincount(obs["rank"], obs["time"], minlength=1 + max(times.mpi))
        worst = max(times.mpi, key=lambda rank: abs(sums[rank] - times.mpi[rank]) / (times.mpi[rank] or 1.0))
        slack = _slack(times, obs["count"][obs["rank"] == worst])
        if abs(sums[worst] - times.mpi[worst]) > _DIGITS * times.mpi[worst] + slack:
            found = f"rank {worst}: call sites take {sums[worst]:.4g} s, MPI time is {times.mpi[worst]:.4g} s"
            faults.note(times.line, found, "one of the two tables is wrong")
            flags.append("callsite-time-differs")
    if detail == "rank" and _split(obs):
        section = report.sections["time"]
        faults.note(
            report.line(section.heading),
            f"each of the {len(obs['site'])} call sites belongs to one rank, as address randomisation does",
            "sum by call, never by site; the top-twenty lists cover a part only",
        )
        flags.append("sites-split")
    return flags


def _split(obs: Obs) -> bool:
    site = obs["site"]
    return (
        len(site) > 1
        and bool((obs["rank"] != obs["rank"][0]).any())
        and bool((site[1:] != site[:-1]).all())
        and distinct(site)
    )


def check_entries(entries: list[Entry], obs: Obs, times: Times, faults: Faults) -> list[str]:
    """Compare Aggregate Time with the observations of the same sites: ``aggregate-time-differs``."""
    for entry in entries:
        listed = entry.values.get("Time", np.nan) * 1e-3
        own = obs["site"] == entry.site
        summed = float(obs["time"][own].sum())
        if abs(listed - summed) > _DIGITS * max(listed, summed) + _slack(times, obs["count"][own]):
            found = (
                f"{entry.call} at site {entry.site}: {listed:.4g} s in this list, {summed:.4g} s in its rows"
            )
            faults.note(entry.line, found, "the rows were used")
            return ["aggregate-time-differs"]
    return []


def check_collectives(bins: list[Bin], obs: Obs, times: Times, faults: Faults) -> list[str]:
    """Compare the collective histogram with the call sites, call by call: ``collective-time-differs``.

    A call's bins must not add up to more than its sites do or, where the list is short of its twenty
    rows and so has all of them, to less.
    """
    collective = [entry for entry in bins if entry.kind == "collective"]
    shares: dict[str, float] = defaultdict(float)
    lines: dict[str, int] = {}
    for entry in collective:
        shares[entry.call] += entry.share
        lines.setdefault(entry.call, entry.line)
    flags = []
    for call, share in shares.items():
        own = obs["call"] == call
        summed = 100.0 * float(obs["time"][own].sum()) / times.mpi_total
        slack = (
            2 * _DIGITS * max(share, summed)
            + 0.01
            + 100.0 * _slack(times, obs["count"][own]) / times.mpi_total
        )
        if share - summed > slack or (len(collective) < 20 and summed - share > slack):
            found = f"{call}: {share:.3g} % of MPI time in this histogram, {summed:.3g} % at its call sites"
            faults.note(lines[call], found, "use the call sites; the histogram only for proportions")
            flags = ["collective-time-differs"]
    return flags
