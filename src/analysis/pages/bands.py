"""Bands of a model next to the claims, as a table and as a figure, for the notebook."""

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.base import project
from analysis.base.words import attached, displayed, number, significant
from analysis.claims import bands
from analysis.claims.distance import SPEEDUPS
from analysis.claims.model import Claim, Report
from analysis.claims.rules import expected_text, unit_of
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.stats import Estimate
from analysis.model.inputs import load
from analysis.pages.figures.points import wrapped
from analysis.pages.figures.style import GREY, HUES, INK, LINE, legend_above

_LOOKS = {bands.INSIDE: ("green", "o"), bands.TOO_WIDE: ("grey", "p"), bands.OUTSIDE: ("red", "X")}
# Quantities whose values are no ratios and stand in the table alone.
_LEVEL = 0.05  # of all pairs of claims together
_NO_RATIO = ("saturation", "trend", "cost")
# How what is no ratio otherwise becomes one.
_AS_RATIO: dict[str, Callable[[float], float]] = {**SPEEDUPS, "efficiency": lambda value: value / 100}


def table(reports: Iterable[Report], campaign: Campaign) -> pd.DataFrame:
    """Compare the claims of some reports with a modelled campaign, one row per claim that it has cells for.

    Columns ``report claim statement claimed band draws_that_reach_it word needed compared``, text, the band
    widened; and ``ratio ratio_low ratio_high claim_low claim_high`` on a common axis, NaN without a ratio.
    Raises NotCoveredError if it has cells for none.
    """
    rows = []
    for report in reports:
        for claim in report.claims:
            try:
                judged = bands.judge(claim, campaign)
            except NotCoveredError:
                continue
            rows.append({"report": report.name} | _row(claim, judged))
    if not rows:
        raise NotCoveredError(f"{campaign.name} has no cells of a model for these reports")
    return pd.DataFrame(rows)


def _row(claim: Claim, judged: bands.Judged) -> dict[str, object]:
    found: Estimate = judged.finding.estimate
    quantity = claim.question.quantity
    ratio = (lambda value: np.nan) if quantity in _NO_RATIO else _AS_RATIO.get(quantity, float)
    ends = {"ratio": found.value, "ratio_low": found.low, "ratio_high": found.high}
    ends |= {"claim_low": judged.low, "claim_high": judged.high}
    return {
        "claim": claim.id,
        "statement": claim.statement,
        "claimed": expected_text(claim),
        "band": number(found, unit_of(claim)),
        "draws_that_reach_it": f"{100 * judged.reached:.3g} %",
        "word": judged.word,
        "needed": _needed(judged.needed),
        "compared": judged.answers.compared,
        **{name: ratio(value) for name, value in ends.items()},
    }


def _needed(needed: dict[str, float] | None) -> str:
    if needed is None:
        return "nothing: the middle of all ranges reaches it"
    return "; ".join(f"{name} {value:.2g}" for name, value in needed.items()) or "no unknown by itself"


def draw(found: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw each claim's band with its median on a logarithmic axis, and what the claim allows as a bar.

    Answers that are no ratios, such as numbers of nodes or dollars, are left out.
    """
    found = found[found["ratio"].notna()]
    ends = found[["ratio", "ratio_low", "ratio_high", "claim_low", "claim_high"]].to_numpy(dtype=float)
    left, right = 0.9 * np.nanmin(ends[:, 1]), 1.1 * np.nanmax(ends[:, 2])
    claimed = ends[:, 3:][np.isfinite(ends[:, 3:])]
    right = max(right, 1.15 * claimed.max(initial=0))
    for place, (ratio, low, high, *allowed) in enumerate(ends):
        hue, mark = _LOOKS[str(found["word"].iloc[place])]
        bar = np.clip(np.nan_to_num(allowed, neginf=left, posinf=right), left, right)
        ax.plot(bar, (place, place), color=LINE, linewidth=11, solid_capstyle="butt", zorder=1)
        ax.errorbar(
            [ratio], [place], xerr=[[ratio - low], [high - ratio]], color=HUES[hue], marker=mark,
            markersize=7, capsize=3.5, elinewidth=1.8, linestyle="none", zorder=3,
        )  # fmt: skip
    ax.set_yticks(range(len(found)), [wrapped(one, 64) for one in found["statement"]], color=INK, size=8)
    ax.set_ylim(len(found) - 0.4, -0.6)
    ax.set_xscale("log", base=2)
    ticks = [tick for tick in (0.25, 0.5, 1, 2, 5, 10, 20, 50) if left <= tick <= right]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlim(left, right)
    ax.axvline(1.0, color=GREY, linestyle=(0, (5, 3)), linewidth=1.3, zorder=0)
    ax.set(xlabel="ratio (1)", ylabel="")
    for word, (hue, mark) in _LOOKS.items():
        ax.plot([], [], color=HUES[hue], marker=mark, linestyle="none", markersize=8, label=displayed(word))
    ax.plot([], [], color=LINE, linewidth=9, label="what the claim allows")
    legend_above(ax)
    return ax


def unknowns() -> pd.DataFrame:
    """List the unknowns: columns ``unknown low high unit source``, in the order of their names."""
    found = load(project.root()).unknowns
    rows = [{"unknown": name, **found[name].model_dump()} for name in sorted(found)]
    return pd.DataFrame(rows)


def simulated() -> pd.DataFrame:
    """Read the results of `snakemake whatif-check`: ratios of both models at three draws of each band.

    Columns ``claim treatment baseline end draw analytic simulated difference``, the last relative.
    """
    return pd.read_csv(project.root() / "data/model/whatif-check.csv")


def simulated_words(checked: pd.DataFrame, campaign: Campaign, reports: Iterable[Report]) -> pd.DataFrame:
    """List the word of each simulated claim, and the word that the simulated ratios would give it.

    Columns ``claim statement claimed band word band_by_simulation word_by_simulation``.
    """
    claims = {claim.id: claim for report in reports for claim in report.claims}
    rows = []
    for name, part in checked.groupby("claim", sort=False):
        claim = claims[str(name)]
        judged, unit = bands.judge(claim, campaign), unit_of(claim)
        word, (low, high) = bands.simulated(claim, campaign, part["difference"].tolist())
        least, most = judged.answers.band
        rows.append(
            {
                "claim": claim.id,
                "statement": claim.statement,
                "claimed": expected_text(claim),
                "band": f"{significant(least, 3)} to {attached(significant(most, 3), unit)}",
                "word": judged.word,
                "band_by_simulation": f"{significant(low, 3)} to {attached(significant(high, 3), unit)}",
                "word_by_simulation": word,
            }
        )
    return pd.DataFrame(rows)


def contradicted(words: pd.DataFrame) -> str:
    """Return a sentence on the words that the simulation contradicts."""
    other = words[words["word"] != words["word_by_simulation"]]
    if other.empty:
        return f"With the simulated ratios none of these {len(words)} claims has another word."
    named = "; ".join(
        f"“{row.statement}” is {row.word} by the model and {row.word_by_simulation} by the simulation"
        for row in other.itertuples()
    )
    return f"The simulation contradicts {len(other)} of {len(words)} words: {named}."


def overlaps(found: pd.DataFrame, campaign: Campaign, reports: Iterable[Report]) -> pd.DataFrame:
    """Compare the claims of a report that are each inside in pairs, draw by draw, rarest overlap first.

    Columns ``report first second draws_of_first draws_of_second draws_of_both by_chance chance excluded``:
    numbers of draws; how many would reach both if the claims were independent; the probability of no draw of
    both then; and whether the model excludes the pair: no draw of both, less probable than 5 % over all
    pairs. Rare claims have no common draw by mere chance.
    """
    from scipy.stats import hypergeom

    rows = []
    for report in reports:
        inside = [c for c in report.claims if c.id in set(found.loc[found["word"] == bands.INSIDE, "claim"])]
        reached = {claim.id: _reached(claim, campaign) for claim in inside}
        for (first, one), (second, other) in itertools.combinations(reached.items(), 2):
            some, more, both = int(one.sum()), int(other.sum()), int((one & other).sum())
            if some and more:
                chance = float(hypergeom.pmf(0, one.size, some, more))
                rows.append((report.name, first, second, some, more, both, some * more / one.size, chance))
    columns = ["report", "first", "second", "draws_of_first", "draws_of_second", "draws_of_both"]
    pairs = pd.DataFrame(rows, columns=[*columns, "by_chance", "chance"])
    pairs["excluded"] = (pairs["draws_of_both"] == 0) & (pairs["chance"] * len(pairs) < _LEVEL)
    return pairs.sort_values("chance", kind="stable", ignore_index=True)


def overlap_sentences(pairs: pd.DataFrame) -> list[str]:
    """Return sentences on the pairs of permitted claims: which exclude each other, which are undecided."""
    out, none = pairs[pairs["excluded"]], pairs[(pairs["draws_of_both"] == 0) & ~pairs["excluded"]]
    first = f"Of {len(pairs)} pairs of permitted claims of a report the model reaches " + (
        f"{len(out)} not together: " + "; ".join(f"{row.first} and {row.second}" for row in out.itertuples())
        if len(out)
        else "none less often together than chance allows"
    )
    rare = "because at least one of them is rare: they decide nothing"
    return [f"{first}.", *([f"{len(none)} pairs have no draw in common {rare}."] if len(none) else [])]


def _reached(claim: Claim, campaign: Campaign) -> np.ndarray:
    return bands.judge(claim, campaign).reaching
