"""Questions whose measure, axis, baseline and runs are chosen where nobody has.

`analysis.estimates.selection` chooses. What is chosen is listed on the page; with a baseline, a selection or
an axis given nothing is chosen.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from analysis.base.words import Level
from analysis.estimates import selection, tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.selection import Select
from analysis.pages.comparison import Compared, Stratum, compare
from analysis.pages.scaling import scaling
from analysis.schema.factors import BY_NAME

_DRAWN = 3  # figures of one question; what is beyond is in the table
_SAID = 2  # sentences for each of them
_FEW = 3  # comparisons that need no order of their own


@dataclass(frozen=True)
class FactorAnswers:
    """What the levels of a factor show, application by application; `tied` differs along with the factor."""

    compared: tuple[Compared, ...]
    tied: tuple[str, ...] = ()
    most: int = 1000

    @property
    def drawn(self) -> list[tuple[Compared, Stratum]]:
        """The strata with the most to see, in the order of the table."""
        every = [(one, part) for one in self.compared for part in one.parts]
        kept = sorted(every, key=lambda pair: _weight(pair[1]), reverse=True)[: self.most]
        return [pair for pair in every if any(pair[1] is part for _, part in kept)]

    @property
    def sentences(self) -> list[str]:
        """What the strata that are drawn say, and how many more there are.

        Of more than three comparisons the clear ones come first, the largest before all.
        """
        said = [pair for one, part in self.drawn for pair in replace(one, parts=(part,)).said]
        every = sum(part.ratios[one.factor].nunique() for one in self.compared for part in one.parts)
        if len(said) > _FEW:
            said.sort(key=operator.itemgetter(0), reverse=True)
        out = [text for _, text in said[: _SAID * self.most]]
        left = every - len(out)
        if len(said) > _FEW:
            clear = sum(size > 0 for size, _ in said)
            many = f"{clear} of {len(said)} comparisons {'differs' if clear == 1 else 'differ'} clearly"
            curves = any(part.ratios[one.along].nunique() > 1 for one, part in self.drawn)
            out.insert(0, f"{many}{' at the last point of their curves' * curves}.")
        if left:
            out.append(f"{left} more comparison{'s are' if left > 1 else ' is'} in the table below.")
        if self.tied:
            names = ", ".join(name.replace("_", " ") for name in self.tied)
            change = "change" if len(self.tied) > 1 else "changes"
            out.append(f"No runs differ in this alone: {names} {change} with it, and may be what is seen.")
        return out

    @property
    def table(self) -> pd.DataFrame:
        """All ratios, below each other."""
        return tables.stacked(*(one.table for one in self.compared))


def _weight(part: Stratum) -> tuple[int, int]:
    return len(part.ratios), int(part.medians["n"].sum())


def comparisons(
    campaign: Campaign,
    factor: str,
    baseline: Level = "",
    *,
    along: str = "",
    variable: str = "",
    select: Select | None = None,
    varying: Sequence[str] = (),
    members: Sequence[Level] = (),
) -> FactorAnswers:
    """Compare the levels of a factor with a baseline, as `compare`; what is not given is chosen.

    Without a baseline each application's runs are compared by `variable`, or else its figure of merit, or
    else time, along the axis with the most points at which levels meet. Where no runs differ in the factor
    alone, those that are tied to it may differ too. Raises `NotCoveredError` if no runs can be compared,
    `ConfigError` if they are draws of a model.
    """
    campaign.need_runs()
    if baseline != "":
        along = along or "nodes"
        found = compare(
            campaign, factor, baseline, along=along, variable=variable or "application_time", select=select,
            varying=varying or selection.natural("", along), members=members,
        )  # fmt: skip
        return FactorAnswers((found,))
    asked = list(selection.applications(campaign, select, factor))
    for tied in ((), BY_NAME[factor].tied):
        chosen = [one for part in asked if (one := selection.comparison(part, factor, tied)) is not None]
        chosen = [replace(one, variable=variable or one.variable) for one in chosen]
        answers = [(one, answer) for one in chosen if (answer := _compared(one)) is not None]
        if answers:
            names = tuple(dict.fromkeys(name for one, _ in answers for name in one.tied))
            return FactorAnswers(tuple(answer for _, answer in answers), names, _DRAWN)
    name = factor.replace("_", " ")
    raise NotCoveredError(f"no two kinds of run differ in {name} alone, or have a value to compare")


def _compared(one: selection.Chosen) -> Compared | None:
    try:
        return compare(
            one.campaign, one.factor, one.baseline, along=one.along, variable=one.variable,
            select=one.select, varying=one.varying,
        )  # fmt: skip
    except NotCoveredError:
        return None


def scalings(
    campaign: Campaign,
    *,
    factor: str = "",
    along: str = "nodes",
    variable: str = "",
    select: Select | None = None,
    varying: Sequence[str] = (),
) -> pd.DataFrame:
    """Follow the speed along a count, as `scaling`; without a factor of the curves it is chosen.

    Raises `NotCoveredError` if no runs differ in the count alone, `ConfigError` if they are draws of a model.
    """
    campaign.need_runs()
    if factor:
        return scaling(
            campaign, factor=factor, along=along, variable=variable or "application_time", select=select,
            varying=varying or ("ranks",),
        )  # fmt: skip
    found = []
    for part in selection.applications(campaign, select, along):
        varied = [name for name in selection.CURVES if part.runs[name].nunique() > 1]
        for free in (("ranks",),) if along == "nodes" else (("nodes",), ("ranks_per_node",)):
            try:
                table = scaling(
                    part, factor=(*varied, "application")[0], along=along,
                    variable=selection.measure_of(part), select=selection.profilers(part), varying=free,
                )  # fmt: skip
            except NotCoveredError:
                continue
            found.append((str(part.runs["application"].iloc[0]), table))
            break
    if not found:
        raise NotCoveredError(f"no two kinds of run differ in {along} alone")
    if len(found) == 1:
        return found[0][1]
    return tables.stacked(*(_of(campaign.application_name(name), name, table) for name, table in found))


def _of(title: str, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Name the application of curves beside which are those of others; a sentence of a lone curve does so."""
    runs = (f"{name}, " + table["runs"]).str.removesuffix(", ")
    if len(table[["runs", "level"]].drop_duplicates()) == 1:
        return table.assign(runs=runs)
    said = {key: table[key].map(lambda text: text and f"{title}, {text}") for key in ("answer", "caveats")}
    return table.assign(runs=runs, **said)


def widest(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the kinds of run of a table of curves with the most points, at most so many."""
    sizes = table.groupby("runs", sort=False).size().sort_values(ascending=False, kind="stable")
    return table[table["runs"].isin(sizes.index[:_DRAWN])]
