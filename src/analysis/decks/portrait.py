"""What a campaign is like, on slides: which of its shares and sizes come first, and their common figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.estimates.campaign import Campaign
from analysis.findings.conclusion import SHOWN, Conclusion
from analysis.findings.naming import PLACES, display

# The order of what is asked of runs; of one kind the largest comes first.
_ASPECTS = (
    "mpi_fraction", "imbalance", "call_share", "count_share", "distinct_calls", "size_share",
    "bytes_per_call", "message_sizes", "node_memory_slurm", "rank_memory", "energy_per_job", "jobs_per_day",
)  # fmt: skip
_SHARES = {"mpi_fraction": "MPI, of the time", "imbalance": "slowest rank, beyond the mean"}
_BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


@dataclass(frozen=True)
class _Natural:
    """A name in the order in which people count: 2 before 10."""

    key: tuple[tuple[int, float, str], ...]

    def __lt__(self, other: _Natural) -> bool:
        return self.key < other.key


def natural(name: str) -> _Natural:
    """Return what to sort a name by: its numbers as numbers."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    return _Natural(
        tuple((0, float(one), "") if at % 2 else (1, 0.0, one) for at, one in enumerate(parts) if one)
    )


def ordered(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Sort what was not compared: by what is asked, then the largest first."""

    def place(one: Conclusion) -> tuple[int, float, str]:
        variable = one.question.variable
        at = _ASPECTS.index(variable) if variable in _ASPECTS else len(_ASPECTS)
        value = one.finding.estimate.value
        return at, -value if value == value else 0.0, one.id

    return sorted(found, key=place)


def joined(found: Sequence[Conclusion], campaign: Campaign) -> pd.DataFrame | None:
    """Return the common figure of conclusions that ask the same as the first; None if it has one value."""
    first = found[0]
    single = [one for one in found if one.shown["median"].notna().sum() == 1]
    alike = [one for one in single if one.question.variable == first.question.variable]
    shares = [one for one in single if one.shown.attrs.get("unit") == "%"]
    if len(alike) > 1:
        return _together(alike, [""] * len(alike), first, campaign)
    if len(shares) > 1 and first in shares:
        names = [_SHARES.get(one.question.variable, one.shown.attrs["ylabel"]) for one in shares]
        return _together(shares, names, first, campaign)
    return None


def _together(
    alike: Sequence[Conclusion], labels: Sequence[str], first: Conclusion, campaign: Campaign
) -> pd.DataFrame | None:
    names = _names(alike, labels, campaign)
    if len(set(names)) < len(names) or "" in names:
        return None
    rows = [
        one.shown[one.shown["median"].notna()].assign(series="", x=name)
        for one, name in zip(alike, names, strict=True)
    ]
    table = pd.concat(rows, ignore_index=True)[list(SHOWN)]
    table.attrs = {**first.shown.attrs, "xlabel": ""}
    table.attrs |= {"ylabel": "share"} if any(labels) else {}
    return table


def _names(alike: Sequence[Conclusion], labels: Sequence[str], campaign: Campaign) -> list[str]:
    """Name values by their labels, their calls or sizes, and by as many places as tell them apart."""
    words = [
        [*filter(None, (label,)), *map(str, one.question.members)]
        for one, label in zip(alike, labels, strict=True)
    ]
    for factor in PLACES:
        names = [", ".join(one) for one in words]
        if len(set(names)) == len(names) and "" not in names:
            break
        levels = [(one.question.select or {}).get(factor, "") for one in alike]
        if len(set(map(str, levels))) < 2:
            continue
        for own, level in zip(words, levels, strict=True):
            own.extend([display(campaign, factor, level)] if isinstance(level, (str, int, float)) else [])
    return [", ".join(one) for one in words]


def in_bytes(shown: pd.DataFrame) -> pd.DataFrame:
    """Return a figure of many bytes in MB or the like."""
    if shown.attrs.get("unit") != "B" or shown.empty:
        return shown
    top = float(shown["median"].max())
    name, size = next(((name, size) for name, size in _BYTES if top >= size), ("B", 1.0))
    table = shown.assign(**{column: shown[column] / size for column in ("median", "low", "high")})
    table.attrs = {**shown.attrs, "unit": name}
    return table
