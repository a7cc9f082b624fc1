"""The search: everything that can be compared is tested, and significant results become conclusions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from analysis.base import project
from analysis.base.processes import by_dask_wanted, in_parallel
from analysis.base.workers import kept
from analysis.estimates.campaign import Campaign
from analysis.estimates.contents import load_config
from analysis.estimates.family import adjusted
from analysis.findings.conclusion import (
    CONFOUNDED,
    CROSSES,
    DIFFERS,
    EQUAL,
    GROWS,
    IS,
    ORDERED,
    SEEN,
    SESSION,
    STOPS,
    UNKNOWN,
    UNORDERED,
    Conclusion,
    ConclusionDraft,
    concluded,
)
from analysis.findings.inference import of_measures, of_pairs, of_shapes
from analysis.findings.plans import Plan, plans
from analysis.findings.shapes import Shape, growths, orders, stops
from analysis.findings.trials import Series, Trial, judged, tried

Thing = TypeVar("Thing")
Result = TypeVar("Result")
LIMIT = 0.05  # of what is concluded, so much may be false
_RANKS = (
    *((DIFFERS, GROWS, CROSSES, ORDERED, STOPS), (EQUAL,), (CONFOUNDED,), (IS,)),
    *((SESSION, UNORDERED), (UNKNOWN,), (SEEN,)),
)


def conclusions(campaign: Campaign, *, q: float = LIMIT) -> list[Conclusion]:
    """Search a campaign for conclusions, ranked: decided before undecided, large before small.

    `q` is the rate of false discoveries among the differences, over all tests of the search, including those
    without a clear result; and the same among the equalities. ConfigError for a modelled or simulated
    campaign, because its runs are draws from ranges.
    """
    campaign.need_runs()
    with kept():
        series, shapes, shape_q = tested(campaign, q)
        drafts = [one for each in series for one in of_pairs(each, campaign)]
        drafts += [*of_shapes(shapes, shape_q, q), *of_measures(campaign)]
        work = partial(_concluded, campaign=campaign, pages=_pages(campaign.name))
        done = _each(work, drafts, "comparisons worded:")
    return _once(_ranked([one for found in done for one in found]))


def tested(campaign: Campaign, q: float) -> tuple[list[Series], list[Shape], list[float]]:
    """Test everything that can be compared: pairs of levels with their words, shapes with their q."""
    done = _each(partial(_of_plan, campaign=campaign), list(plans(campaign)), "comparisons tested:")
    series = [one for pairs, _, _ in done for one in pairs]
    shapes = [one for _, growing, _ in done for one in growing] + [one for *_, rest in done for one in rest]
    words, shape_q = controlled(series, [shape.p for shape in shapes], q)
    return words, shapes, shape_q


def _each(work: Callable[[Thing], Result], things: Sequence[Thing], what: str) -> list[Result]:
    """Do the same for many things: here, where one process is fast enough, or by workers of Dask."""
    return in_parallel(work, things, what, progress=by_dask_wanted(), cores=1)


def _concluded(draft: ConclusionDraft, campaign: Campaign, pages: Mapping[str, str]) -> list[Conclusion]:
    return list(concluded(draft, campaign, pages))


def _of_plan(plan: Plan, campaign: Campaign) -> tuple[list[Series], list[Shape], list[Shape]]:
    """Test what one plan asks for: its pairs, what grows between them, where it stops and its order."""
    series = list(tried(plan, campaign))
    growing = list(growths(series, campaign))
    return series, growing, [*stops(plan, campaign), *orders(plan, campaign)]


def controlled(
    series: Sequence[Series], others: Sequence[float], limit: float
) -> tuple[list[Series], list[float]]:
    """Give every trial its word and every other test its q, with false discoveries counted over the search.

    Differences and shapes are one family, equalities another: many true equalities, counted with them, would
    let more false differences pass. So are differences that have no single cause.
    """
    every = [trial for one in series for trial in one.trials if trial.p is not None]
    asked = [trial for trial in every if not trial.finding.confounded]
    mixed = [trial for trial in every if trial.finding.confounded]
    q_values = adjusted([*(trial.p for trial in asked if trial.p is not None), *others])
    q_equal = adjusted([trial.p_equal for trial in asked if trial.p_equal is not None])
    q_mixed = adjusted([trial.p for trial in mixed if trial.p is not None])
    pairs = [*zip(q_values, q_equal, strict=False), *((q, 1.0) for q in q_mixed)]
    known = {id(one): pair for one, pair in zip([*asked, *mixed], pairs, strict=True)}

    def word(trial: Trial) -> Trial:
        own, equal = known.get(id(trial), (None, None))
        return judged(trial, own, equal, limit)

    out = [replace(one, trials=tuple(map(word, one.trials))) for one in series]
    return out, q_values[len(asked) :]


def _pages(campaign: str) -> Mapping[str, str]:
    """Return the first page of each topic that shows a campaign, by the configuration."""
    found: dict[str, str] = {}
    for page in load_config()["pages"]:
        if campaign in project.as_list(page, "campaign"):
            for topic in page.get("topics", ()):
                found.setdefault(topic, str(page["name"]))
    return found


def _once(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Keep one conclusion of each effect: factors that change together have the same runs on both sides."""
    kept: dict[object, Conclusion] = {}
    for one in found:
        estimate, asked = one.finding.estimate, one.question
        effect = (one.word, asked.variable, asked.members, frozenset(one.finding.runs), estimate.value)
        kept.setdefault(effect if asked.compare is not None else one.id, one)
    return list(kept.values())


def _ranked(found: Sequence[Conclusion]) -> list[Conclusion]:
    place = {word: at for at, group in enumerate(_RANKS) for word in group}
    return sorted(
        found, key=lambda one: (place[one.word], -one.size, 1.0 if one.q is None else one.q, one.id)
    )
