"""What profiles show: shares of calls and what the reports claim of them, and measures along a factor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.base.words import capitalised
from analysis.claims.model import Report
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.numerals import medians
from analysis.estimates.selection import Select, kind_of_run
from analysis.pages.scaling import series, series_sentences

_BYTES = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Curves:
    """Measures along a factor: `table` has ``series median low high n`` and the factor, medians in `unit`."""

    table: pd.DataFrame
    along: str
    unit: str
    ylabel: str
    description: str

    @property
    def drawn(self) -> bool:
        """Whether there is a figure of them: they have an axis, and more than one point along it."""
        return bool(self.ylabel) and self.table[self.along].nunique() > 1

    @property
    def sentences(self) -> list[str]:
        """Where each curve begins and ends, and whether it goes one way."""
        return series_sentences(self.table, self.unit, along=self.along)


def profile_curves(
    campaign: Campaign,
    measures: Sequence[Mapping[str, Any]],
    *,
    along: str = "",
    select: Select | None = None,
) -> tuple[list[Curves], str]:
    """Follow measures of a profile along a factor; without one its runs are chosen, and listed in a sentence.

    Each of the `measures` has ``curves``, names and `analysis.estimates.measures.MEASURES`, their ``unit``
    (bytes are shown in a smaller one if need be), ``ylabel`` and ``scale`` if its figure is drawn, with
    ``what`` it shows, and ``optional`` if runs may do without. The first chooses the runs. Raises
    `NotCoveredError` if no run has one of them.
    """
    first = next(iter(measures[0]["curves"].values()))
    runs, along, kind = kind_of_run(campaign, measures[0].get("of", first), select, along)
    found = []
    for one in measures:
        try:
            table = series(runs, one["curves"], along=along, select=select, scale=one.get("scale", 1.0))
        except NotCoveredError:
            if one.get("optional"):
                continue
            raise
        unit = one["unit"]
        if unit in _BYTES:
            table, unit = in_bytes(table, unit)
        label = f"{one['ylabel']} ({unit})" if "ylabel" in one else ""
        what = f"{one.get('what', label)} along {along}; {medians(table)}"
        found.append(Curves(table, along, unit, label, capitalised(what)))
    return found, kind


def in_bytes(table: pd.DataFrame, unit: str) -> tuple[pd.DataFrame, str]:
    """Show the medians of a table, in B, in a unit, or in a smaller one if they are below a tenth of it."""
    largest = float(table["median"].max())
    at = _BYTES.index(unit)
    while at and largest < 0.1 * 1000.0**at:
        at -= 1
    scaled = {name: table[name] / 1000.0**at for name in ("median", "low", "high")}
    return table.assign(**scaled), _BYTES[at]


def claimed(reports: Iterable[Report], variable: str) -> dict[str, float]:
    """Return the ``call_share`` or ``count_share`` in percent that the reports claim of single calls."""
    return {
        str(claim.question.members[0]): float(claim.expect.value)
        for report in reports
        for claim in report.claims
        if claim.question.variable == variable
        and len(claim.question.members) == 1
        and claim.expect.value is not None
    }


def call_sentences(table: pd.DataFrame, whole: str) -> str:
    """Name the largest shares: ``MPI_Recv 36.1 %, MPI_Allreduce 27.0 % of MPI time``.

    An empty table is that of runs whose times may not be used.
    """
    if table.empty:
        return (
            f"There are no shares of {whole}: the times of these runs must not be used, as their records say."
        )
    rows = table[table["call"] != "other"].head(3)
    listed = ", ".join(f"{row.call} {row.median:.1f} %" for row in rows.itertuples())
    return f"{listed} of {whole} (n = {int(table['n'].min())})."
