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
    for alike in (
        [one for one in found if one.question.variable == first.question.variable],
        [one for one in found if _unit(one) == _unit(first) and len(one.shown) == 1],
    ):
        if len(alike) > 1 and (table := _together(alike, campaign)) is not None:
            return table
    return None


def _unit(one: Conclusion) -> str:
    return str(one.shown.attrs.get("unit", ""))


def _together(alike: Sequence[Conclusion], campaign: Campaign) -> pd.DataFrame | None:
    variables = {one.question.variable for one in alike}
    if len(variables) > 1 and not _unit(alike[0]):
        return None
    rows = []
    for one in alike:
        own = one.shown[one.shown["median"].notna()]
        if len(own) != 1:  # several places in one conclusion: no single name fits
            return None
        label = str(one.shown.attrs.get("ylabel", "")) if len(variables) > 1 else ""
        rows.append(own.assign(series="", x=", ".join(filter(None, (label, _name(one, alike, campaign))))))
    table = pd.concat(rows, ignore_index=True)[list(SHOWN)]
    if table["x"].duplicated().any():
        return None
    table.attrs = dict(alike[0].shown.attrs) | ({"ylabel": "value"} if len(variables) > 1 else {})
    return table


def _name(one: Conclusion, alike: Sequence[Conclusion], campaign: Campaign) -> str:
    """Name a value by its call or size, and by where it holds if others hold elsewhere."""
    words = [str(member) for member in one.question.members]
    select = one.question.select or {}
    for factor in PLACES:
        levels = {str((other.question.select or {}).get(factor, "")) for other in alike}
        if factor in select and len(levels) > 1 and isinstance(select[factor], (str, int, float)):
            words.append(display(campaign, factor, select[factor]))
    return ", ".join(words)


def in_bytes(shown: pd.DataFrame) -> pd.DataFrame:
    """Return a figure of many bytes in MB or the like."""
    if shown.attrs.get("unit") != "B" or shown.empty:
        return shown
    top = float(shown["median"].max())
    name, size = next(((name, size) for name, size in _BYTES if top >= size), ("B", 1.0))
    table = shown.assign(**{column: shown[column] / size for column in ("median", "low", "high")})
    table.attrs = {**shown.attrs, "unit": name}
    return table
