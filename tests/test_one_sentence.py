"""One answer has one sentence, with one value, interval and level: in verdict, page, finding and slide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analysis import pages
from analysis.claims import Claim, Report, Verdict, evaluate
from analysis.decks.content import deck
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.findings.conclusion import STANDING, Conclusion
from analysis.findings.search import conclusions
from tests.estimates.hand import campaign as by_hand
from tests.estimates.hand import repeats

SPREAD = (0.98, 0.99, 0.995, 1.005, 1.01, 1.02)


def as_claims(found: Sequence[Conclusion], name: str) -> Report:
    claims = (Claim(one.id, name, one.topic, one.sentence, one.question, one.expect) for one in found)
    return Report(name, "found", "us", "2026", tuple(claims))


def numbers(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.estimate, verdict.low, verdict.high, verdict.n, verdict.n_baseline, verdict.level


def on_slides(campaign: Campaign) -> set[str]:
    slides = deck(campaign).slides
    cells = {cell for slide in slides for row in slide.table for cell in row}
    return cells | {text for slide in slides for text in (slide.headline, *slide.bullets)}


def clause(sentence: str) -> tuple[str, str]:
    """Return who is ahead by how much, and the interval with its level."""
    return sentence.partition(" in ")[0], sentence.rpartition("(")[2].rstrip(").").partition(";")[0]


def on_page(one: Conclusion, campaign: Campaign) -> tuple[str, tuple[Any, ...]] | None:
    """Return the sentence and the numbers of a page that compares the same runs, None if it refuses them."""
    asked, compare = one.question, one.question.compare
    assert compare is not None
    level, base = compare.levels
    along = "nodes" if compare.factor != "nodes" else "interconnect"
    varying = [name for name in compare.varying if name != along]
    try:
        found = pages.compare(
            campaign, compare.factor, base, along=along, variable=asked.variable, varying=varying,
            select={**(asked.select or {}), compare.factor: [level, base]}, members=asked.members,
        )  # fmt: skip
    except NotCoveredError:
        return None
    for part in found.parts:
        for answer, row in zip(part.answers, part.ratios.to_dict("records"), strict=True):
            if set(answer.found[0].runs) == set(one.finding.runs):
                keys = ("ratio", "low", "high", "n", "n_baseline", "confidence")
                return answer.sentence, tuple(row[key] for key in keys)
    return None


def check(campaign: Campaign) -> tuple[int, int]:
    """Compare all places; return how many sentences were compared, and how many of them with a page."""
    found = [one for one in conclusions(campaign) if one.word in STANDING]
    verdicts = evaluate(as_claims(found, campaign.name), campaign)
    assert [one.sentence for one in verdicts] == [one.sentence for one in found]
    slides, with_page = on_slides(campaign), 0
    for one, verdict in zip(found, verdicts, strict=True):
        estimate = one.finding.estimate
        assert verdict.estimate == pytest.approx(estimate.value)
        assert verdict.level == (pytest.approx(estimate.level) if estimate.bounded else None)
        assert one.sentence in slides
        if one.question.quantity == "speedup" and len(verdict.compared.split(" | ")) == 1:
            page = on_page(one, campaign)
            if page is not None:
                assert clause(page[0]) == clause(verdict.sentence)
                assert page[1] == pytest.approx(numbers(verdict))
                with_page += 1
    return len(found), with_page


@pytest.mark.datasets("vm-hpcg")
def test_every_finding_of_a_campaign_has_one_sentence() -> None:
    sentences, with_page = check(load_campaign("vm-hpcg"))
    assert sentences > 20
    assert with_page >= 5


@pytest.mark.parametrize("n", [6, 5])
def test_five_runs_have_the_same_interval_everywhere(n: int) -> None:
    def rates(middle: float, mpi: str) -> list[dict[str, Any]]:
        values = [middle * one for one in SPREAD[:n]]
        return repeats(values, "figure_of_merit", figure_of_merit_unit="Gflop/s", mpi=mpi)

    made = by_hand([*rates(10.0, "slow"), *rates(12.0, "fast")])
    assert check(made) == (1, 1)
    (one,) = conclusions(made)
    assert one.sentence.startswith("fast is 1.2")
    assert ("at 94%" in one.sentence) == (n == 5)


def quantities() -> list[tuple[str, dict[str, Any], dict[str, Any], str]]:
    """A question of every quantity, with the sentence that its numbers make."""
    return [
        ("speedup", {"compare": ("mpi", "b", "a")}, {}, "b is 1.2 times as fast as a in app"),
        ("gain", {"compare": ("mpi", "b", "a")}, {}, "b is 1.2 times as fast as a in app"),
        ("gain", {"compare": ("mpi", "a", "b")}, {}, "b is 1.2 times as fast as a in app"),
        ("equality", {"compare": ("mpi", "c", "a")}, {"margin": 0.05}, "c and a are equal within 5% in app"),
        ("ordering", {"compare": ("mpi", "b", "a")}, {}, "b is ahead of a in app"),
        ("level", {}, {}, "The rate of app is"),
    ]


@pytest.mark.parametrize(("quantity", "compared", "more", "expected"), quantities())
def test_each_quantity_is_worded_once(
    quantity: str, compared: dict[str, Any], more: dict[str, Any], expected: str
) -> None:
    from analysis.estimates.quantities import findings
    from analysis.estimates.question import Comparison, Question
    from analysis.estimates.sentences import Statement

    def rates(middle: float, mpi: str) -> list[dict[str, Any]]:
        return repeats([middle] * 6, "figure_of_merit", figure_of_merit_unit="Gflop/s", mpi=mpi)

    made = by_hand([*rates(10.0, "a"), *rates(12.0, "b"), *rates(10.0, "c")])
    compare = None
    if "compare" in compared:
        factor, *levels = compared["compare"]
        compare = Comparison(factor, tuple(levels))
    asked = Question(quantity, "figure_of_merit", {"application": "app"}, compare, **more)
    found = findings(asked, made)
    assert Statement(asked, found, made).sentence.startswith(expected)
