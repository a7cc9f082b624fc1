"""The bare links: tables of micro-benchmarks over the message size, benchmark by benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.base.words import capitalised
from analysis.estimates import tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.numerals import medians
from analysis.estimates.selection import Select
from analysis.estimates.spelling import strata_names
from analysis.pages.scaling import size_sentence, sizes
from analysis.schema.factors import FACTORS, display_name

_UNITS = {"latency": "µs", "bandwidth": "MB/s"}
_SAID = 4  # benchmarks that the answer names
_CURVES = 8  # of one figure


@dataclass(frozen=True)
class Link:
    """A benchmark and one of its measures; `table` has ``series size median low high n``."""

    title: str
    value: str
    table: pd.DataFrame

    @property
    def ylabel(self) -> str:
        """The measure with its unit."""
        return f"{self.value} ({_UNITS[self.value]})"

    @property
    def description(self) -> str:
        """Say what the figure shows."""
        head = f"{self.title}: {self.value}" if self.title else capitalised(self.value)
        return f"{head} against message size, {medians(self.table)}"

    @property
    def sentence(self) -> str:
        """Name each curve at its telling end."""
        said = size_sentence(self.table, self.value, _UNITS[self.value])
        return f"{self.title}: {said[:1].lower()}{said[1:]}" if self.title else said


def links(
    campaign: Campaign, value: str = "", select: Select | None = None, *, by: Sequence[str] = ()
) -> list[Link]:
    """Follow micro-benchmarks over the message size.

    With a `value`, ``latency`` or ``bandwidth``, one table of the selected runs, with a curve for each case
    and level of the factors `by`; without one a table for each benchmark and measure that there is, with a
    curve for each kind of run. Raises `NotCoveredError` if no run has such a table, `ConfigError` if runs are
    draws of a model.
    """
    campaign.need_runs()
    if value:
        return [Link("", value, sizes(campaign, value, select, by=["case", *by]))]
    runs = tables.counted(campaign)
    micro = campaign.frame("micro").merge(runs, on="run", suffixes=("", "_run"))
    micro = micro[micro["size"] > 0]
    found = []
    for (application, case), part in micro.groupby(["application", "case"], sort=True):
        named = _named(part, _shown(str(case)))
        title = _title(campaign.application_name(str(application)), str(case))
        for measure in _UNITS:
            rows = named[named[measure].notna()]
            if len(rows):
                curves = tables.summary(rows, ["series", "size"], measure)
                found.append(Link(title, measure, curves))
    if not found:
        raise NotCoveredError(f"no run of {campaign.name} has a table over message sizes")
    return found


def _shown(case: str) -> str:
    """Return the name of a benchmark as people write it; one without a name is no identifier either."""
    return display_name("case", case).replace("_", " ")


def _title(suite: str, case: str) -> str:
    """Name a benchmark of a suite: ``The OSU benchmarks, point-to-point bandwidth``."""
    return f"{capitalised(suite)}, {_shown(case)}"


def _named(part: pd.DataFrame, case: str) -> pd.DataFrame:
    """Name the curve of each row: what sets its kind of run apart; of too many kinds the most repeated."""
    by = [name for name in FACTORS if name not in ("application", "case") and part[name].nunique() > 1]
    if not by:
        return part.assign(series=case)
    kinds = list(part.groupby(by, sort=True))
    kinds = sorted(kinds, key=lambda kind: -kind[1]["run"].nunique())[:_CURVES]
    names = strata_names([{name: one[name].iloc[0] for name in by} for _, one in kinds])
    rows = zip(names, kinds, strict=True)
    return tables.stacked(*(one.assign(series=name or case) for name, (_, one) in rows))


def link_sentences(found: Sequence[Link]) -> list[str]:
    """Say what the benchmarks show, the first few of them."""
    left = len(found) - _SAID
    more = [f"{left} more {'are' if left > 1 else 'is'} shown below."] if left > 0 else []
    return [*(one.sentence for one in found[:_SAID]), *more]
