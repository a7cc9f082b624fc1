"""The points of a slide's figure: conclusions that share one, the order of names, readable units."""

import re
from collections.abc import Sequence

import pandas as pd

from analysis.estimates.campaign import Campaign
from analysis.estimates.numerals import of_bytes
from analysis.estimates.spelling import display
from analysis.findings.conclusion import POINTS, Conclusion
from analysis.schema.factors import SPOKEN

_SHARES = {"mpi_fraction": "MPI, of the time", "imbalance": "slowest rank, beyond the mean"}
_Natural = tuple[tuple[int, float, str], ...]


def natural(name: str) -> _Natural:
    """Return what to sort a name by, in the order in which people count: 2 before 10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    return tuple((0, float(one), "") if at % 2 else (1, 0.0, one) for at, one in enumerate(parts) if one)


def in_natural_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort points by the names along their axis."""
    place = {name: at for at, name in enumerate(sorted(set(table["x"]), key=natural))}
    found = table.sort_values("x", key=lambda names: names.map(place), kind="stable")
    found.attrs = table.attrs
    return found


def figure_of(found: Sequence[Conclusion], campaign: Campaign) -> pd.DataFrame | None:
    """Return what is drawn of conclusions: nothing where a single value is in the sentence already."""
    own = found[0].points[found[0].points["median"].notna()]
    table = own if len(own) > 1 else joined(found, campaign)
    if table is None:
        return None
    if not pd.api.types.is_numeric_dtype(table["x"]):
        table = in_natural_order(table)
    return in_bytes(table.reset_index(drop=True))


def joined(found: Sequence[Conclusion], campaign: Campaign) -> pd.DataFrame | None:
    """Return the common figure of conclusions that ask the same as the first; None if it has one value."""
    first = found[0]
    single = [one for one in found if one.points["median"].notna().sum() == 1]
    same = [one for one in single if one.question.variable == first.question.variable]
    shares = [one for one in single if one.points.attrs.get("unit") == "%"]
    labels: list[str] = [""] * len(same)
    if len(same) < 2 and len(shares) > 1 and first in shares:
        same = shares
        labels = [str(_SHARES.get(one.question.variable, one.points.attrs["ylabel"])) for one in shares]
    names = _names(same, labels, campaign)
    if len(same) < 2 or len(set(names)) < len(names) or "" in names:
        return None
    rows = [
        one.points[one.points["median"].notna()].assign(series="", x=name)
        for one, name in zip(same, names, strict=True)
    ]
    table: pd.DataFrame = pd.concat(rows, ignore_index=True)[list(POINTS)]
    table.attrs = {**first.points.attrs, "xlabel": ""} | ({"ylabel": "share"} if any(labels) else {})
    return table


def _names(found: Sequence[Conclusion], labels: Sequence[str], campaign: Campaign) -> list[str]:
    """Name values by their labels, their calls or sizes, and by as many places as distinguish them."""
    words = [
        [*filter(None, (label,)), *map(str, one.question.members)]
        for one, label in zip(found, labels, strict=True)
    ]
    for factor in SPOKEN:
        names = [", ".join(one) for one in words]
        if len(set(names)) == len(names) and "" not in names:
            break
        levels = [(one.question.select or {}).get(factor, "") for one in found]
        if len(set(map(str, levels))) < 2:
            continue
        for own, level in zip(words, levels, strict=True):
            own.extend([display(campaign, factor, level)] if isinstance(level, (str, int, float)) else [])
    return [", ".join(one) for one in words]


def in_bytes(points: pd.DataFrame) -> pd.DataFrame:
    """Return a figure of many bytes in MB or the like."""
    if points.attrs.get("unit") != "B" or points.empty:
        return points
    name, size = of_bytes(float(points["median"].max()))
    table = points.assign(**{column: points[column] / size for column in ("median", "low", "high")})
    table.attrs = {**points.attrs, "unit": name}
    return table
