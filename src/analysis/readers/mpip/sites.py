"""Holds the rows of each call site against its ``*`` row, and keeps what no rank row has."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.readers.base import Faults
from analysis.readers.mpip.report import Report
from analysis.readers.mpip.rows import Rows

Columns = dict[str, np.ndarray]


def settle(
    report: Report, time: Rows, ranks: int, threshold: bool, faults: Faults
) -> tuple[Columns, Columns]:
    """Check counts site by site; rows of unknown ranks, rows out of place and sums that differ are faults.

    Returned are the rank rows and ``*`` rows that are kept, and ``Name Site Count Time`` (ms) of what a
    ``*`` row has beyond the rank rows of its site. With `threshold`, option ``-t`` may have left out rank
    rows: then a rest is none.
    """
    if not _orderly(time.columns, ranks):
        time = _without_strays(report, time, ranks, faults)
    sites = _totals(time.columns)
    _name_faults(report, time, sites, threshold, faults)
    _check_extremes(report, time, sites, faults)
    rest = sites[sites["rest"] > 0]
    return time.columns, {
        "Name": rest["name"].to_numpy(np.int32),
        "Site": rest["site"].to_numpy(np.int64),
        "Count": rest["rest"].to_numpy(np.int64),
        # Both are products of printed means: the difference can round below nothing.
        "Time": (rest["star_time"] - rest["time"]).clip(lower=0.0).to_numpy(np.float64),
    }


def _orderly(columns: dict[str, np.ndarray], ranks: int) -> bool:
    """Tell whether every run of rows with one site has one name, known ranks and a ``*`` row last."""
    site, name, rank = columns["Site"], columns["Name"], columns["Rank"]
    if not len(site):
        return True
    last = np.append(site[1:] != site[:-1], True)
    same_name = (name[1:] == name[:-1]) | last[:-1]
    known = not ranks or int(rank.max()) < ranks
    return bool(known and same_name.all() and ((rank < 0) == last).all())


def _without_strays(report: Report, time: Rows, ranks: int, faults: Faults) -> Rows:
    """Leave out rows whose site, call or rank was damaged into another one."""
    site, name, rank = (time.columns[key] for key in ("Site", "Name", "Rank"))
    inner = np.zeros(len(site), dtype=bool)
    inner[1:-1] = (site[:-2] == site[2:]) & (site[1:-1] != site[2:]) & (name[:-2] == name[2:])
    usual = _usual_name(site, name)
    reasons = (
        (inner, "its site differs from the rows around it"),
        (~inner & (name != usual), "its call differs from the other rows of the site"),
        ((rank >= ranks) & bool(ranks), f"its rank is not among the {ranks} of the job"),
    )
    stray = np.zeros(len(site), dtype=bool)
    for mask, reason in reasons:
        for row in np.flatnonzero(mask & ~stray):
            found = f"row of {time.section.title!r}: {reason}"
            faults.damage(time.line(report, int(row)), found, "the row is left out")
        stray |= mask
    return time.keep(~stray, report) if stray.any() else time


def _usual_name(site: np.ndarray, name: np.ndarray) -> np.ndarray:
    """Return for each row the name that most rows of its site have."""
    pairs = pd.DataFrame({"site": site, "name": name}).value_counts().reset_index()
    usual = pairs.sort_values(["count", "name"]).drop_duplicates("site", keep="last")
    names: np.ndarray = usual.set_index("site")["name"].reindex(site).to_numpy()
    return names


def _totals(columns: dict[str, np.ndarray]) -> pd.DataFrame:
    """Sum up each site: ``site name row stars count time star_count star_time rest``."""
    site = columns["Site"]
    star = columns["Rank"] < 0
    first = np.flatnonzero(np.append(True, site[1:] != site[:-1])) if len(site) else np.empty(0, np.intp)
    time = columns["Count"] * columns["Mean"]

    def runs(values: np.ndarray) -> np.ndarray:
        sums: np.ndarray = np.add.reduceat(values, first) if len(first) else values[:0]
        return sums

    totals = pd.DataFrame(
        {
            "site": site[first],
            "name": columns["Name"][first],
            "row": first,
            "stars": runs(star.astype(np.int64)),
            "count": runs(np.where(star, 0, columns["Count"])),
            "time": runs(np.where(star, 0.0, time)),
            "star_count": runs(np.where(star, columns["Count"], 0)),
            "star_time": runs(np.where(star, time, 0.0)),
        }
    )
    if totals["site"].duplicated().any():  # only in a damaged file
        how = dict.fromkeys(totals.columns[3:], "sum") | {"name": "first", "row": "first"}
        totals = totals.groupby("site", sort=False, as_index=False).agg(how)
    totals["rest"] = np.where(totals["stars"] == 1, totals["star_count"] - totals["count"], 0)
    return totals


def _name_faults(report: Report, time: Rows, sites: pd.DataFrame, threshold: bool, faults: Faults) -> None:
    odd = sites[(sites["stars"] != 1) | (sites["rest"] != 0)]
    cut = not time.section.closed or "end" not in report.sections
    last = int(sites["site"].iloc[-1]) if len(sites) else -1
    columns = ("site", "name", "row", "stars", "count", "star_count", "rest")
    for site, name, row, stars, count, total, rest in zip(*(odd[c].tolist() for c in columns), strict=True):
        head = f"{time.names[name]} at site {site}"
        if stars == 1 and rest > 0 and not threshold:
            found = f"{head}: {rest} of {total} calls are in no row of a rank"
            faults.damage(time.line(report, row), found, "they are kept as a row of rank -1")
        elif stars == 1 and rest < 0:
            found = f"{head}: its rows hold {count} calls, its * row {total}"
            faults.damage(time.line(report, row), found, "the rows of the ranks are kept as they are")
        elif stars == 0 and not (cut and site == last):
            faults.damage(time.line(report, row), f"{head} has no * row", "its rows could not be checked")
        elif stars > 1:
            faults.damage(
                time.line(report, row), f"{head} has {stars} * rows", "its rows could not be checked"
            )


# Two products of numbers of three printed digits, or of three decimals of a ms with option -e.
_DIGITS, _DECIMALS = 0.0101, 5e-4
_BYTES = 1.1e-3  # two sums of four printed digits


def _check_extremes(report: Report, time: Rows, sites: pd.DataFrame, faults: Faults) -> None:
    """Hold largest, mean and least time of each ``*`` row against the rows of its ranks: one fault a site.

    A single call has one time.
    """
    columns = time.columns
    star, site = columns["Rank"] < 0, columns["Site"]
    order = np.searchsorted(site_ids := np.sort(pd.unique(site)), site)
    largest, least = np.full(len(site_ids), -np.inf), np.full(len(site_ids), np.inf)
    np.maximum.at(largest, order[~star], columns["Max"][~star])
    np.minimum.at(least, order[~star], columns["Min"][~star])
    whole = sites[(sites["stars"] == 1) & (sites["rest"] == 0) & (sites["count"] > 0)]
    at = np.searchsorted(site_ids, whole["site"])
    own = np.full(len(site_ids), -1)
    own[order[star]] = np.flatnonzero(star)
    row = own[at]
    once = (columns["Count"] == 1) & (columns["Max"] != columns["Min"])
    off = np.bincount(order[once], minlength=len(site_ids))[at] > 0
    off |= (columns["Max"][row] != largest[at]) | (columns["Min"][row] != least[at])
    sums, stated = whole["time"].to_numpy(), whole["star_time"].to_numpy()
    slack = _DIGITS * np.maximum(sums, stated) + _DECIMALS * 2 * whole["count"].to_numpy()
    exact = _DIGITS * np.maximum(sums, stated)
    off |= np.abs(sums - stated) > np.where(_has_decimals(columns["Mean"]), slack, exact)
    for name, number, first in whole.loc[off, ["name", "site", "row"]].itertuples(index=False):
        found = f"{time.names[name]} at site {number}: its * row contradicts the rows of its ranks"
        faults.damage(time.line(report, int(first)), found, "one of the numbers is damaged; all are kept")


def check_bytes(report: Report, rows: Rows, threshold: bool, faults: Faults) -> None:
    """Hold the bytes of each ``*`` row against the sum of its ranks: one fault a site."""
    columns = rows.columns
    star, (site, order) = columns["Rank"] < 0, np.unique(columns["Site"], return_inverse=True)
    sums, stated, counts, own, stars = (
        np.bincount(order, weights, len(site))
        for weights in (
            np.where(star, 0.0, columns["Sum"]),
            np.where(star, columns["Sum"], 0.0),
            np.where(star, -1.0, 1.0) * columns["Count"],
            np.where(star, 0.0, 1.0),
            star.astype(np.float64),
        )
    )
    off = (stars == 1) & (own > 0) & (np.abs(sums - stated) > _BYTES * np.maximum(sums, stated))
    # Option -t leaves out the rows of some ranks.
    off &= (counts == 0) | (sums > stated)
    if not threshold and rows.whole:
        off |= (stars != 1) | (counts != 0)
    for number in site[off]:
        first = int(np.flatnonzero(columns["Site"] == number)[0])
        found = f"site {number} of {rows.section.title!r}: its * row is not the sum of its ranks"
        faults.damage(rows.line(report, first), found, "one of the numbers is damaged; all are kept")


def _has_decimals(means: np.ndarray) -> bool:
    """Tell whether times have three decimals (option ``-e``) instead of three digits."""
    thousands = means * 1e3
    return bool(np.all(np.abs(thousands - np.round(thousands)) < 1e-6))
