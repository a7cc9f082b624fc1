"""One answer has one sentence, with one value, interval and level: in verdict, page, finding and slide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest

from analysis import pages
from analysis.claims import Claim, Report, Verdict, evaluate
from analysis.claims.model import Expectation
from analysis.cli.findings import _lines, _record
from analysis.decks.content import deck
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.quantities import QUANTITIES, findings
from analysis.estimates.question import Comparison, Question, Tariff
from analysis.estimates.sentences import Statement
from analysis.findings.conclusion import OPEN, STANDING, Conclusion, reason
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
    texts = ((slide.headline, *slide.bullets, slide.footnote) for slide in slides)
    return cells | {text for one in texts for text in one}


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


def has(texts: Collection[str], sentence: str) -> bool:
    """Tell whether a sentence is among texts, of which long ones are cut with an ellipsis."""
    beginnings = (text.removesuffix(" …") for text in texts if text.endswith(" …"))
    return sentence in texts or any(sentence.startswith(one) for one in beginnings if len(one) > 60)


def check_open(campaign: Campaign, every: Sequence[Conclusion], slides: Collection[str]) -> None:
    """Compare what is not decided, in a line on its page, the command line and a slide; the page has all."""
    rest = [one for one in every if one.word in OPEN]
    table = pages.undecided_table(campaign, every).frame.set_index("comparison")
    cut = any(text.endswith("--json has all.") for text in slides)  # a table of very many rows
    for one in rest:
        row = table.loc[[one.row]]
        assert reason(one) in set(row["why, and remedy"])
        assert any(text.startswith(f"{one.sentence}; ") for text in row["rests on"])
        # A campaign without a sure conclusion shows some of these on slides of their own.
        assert cut or {one.row, reason(one)} <= {*slides} or has(slides, one.sentence)
        assert len(one.row) < len(one.sentence) or one.row == one.sentence


def check(campaign: Campaign) -> tuple[int, int]:
    """Compare all places; return how many sentences were compared, and how many of them with a page."""
    every = conclusions(campaign)
    found = [one for one in every if one.word in STANDING]
    verdicts = evaluate(as_claims(found, campaign.name), campaign)
    assert set(pages.findings_table(every).frame["conclusion"]) == {one.sentence for one in found}
    printed = "\n".join(_lines(campaign, every, 0.05, len(every)))
    records = {one["id"]: one for one in map(_record, every)}
    assert len(records) == len(every)
    assert [one.sentence for one in verdicts] == [one.sentence for one in found]
    slides, with_page = on_slides(campaign), 0
    check_open(campaign, every, slides)
    for one, verdict in zip(found, verdicts, strict=True):
        estimate = one.finding.estimate
        assert verdict.estimate == pytest.approx(estimate.value)
        assert verdict.level == (pytest.approx(estimate.level) if estimate.bounded else None)
        record = records[one.id]
        assert record["sentence"] == verdict.sentence
        assert (record["value"], record["low"], record["high"]) == pytest.approx(numbers(verdict)[:3])
        assert f"  {one.sentence}\n" in printed or " more: --topic" in printed
        assert has(slides, one.sentence)
        if one.question.quantity == "speedup" and len(verdict.compared.split(" | ")) == 1:
            page = on_page(one, campaign)
            if page is not None:
                assert clause(page[0]) == clause(verdict.sentence)
                assert page[1] == pytest.approx(numbers(verdict))
                with_page += 1
    return len(found), with_page


@pytest.mark.datasets("vm-hpcg", "vm-exchange")
@pytest.mark.parametrize(("name", "least", "pages_too"), [("vm-hpcg", 20, 5), ("vm-exchange", 4, 0)])
def test_every_finding_of_a_campaign_has_one_sentence(name: str, least: int, pages_too: int) -> None:
    sentences, with_page = check(load_campaign(name))
    assert sentences >= least
    assert with_page >= pages_too


def built(*names: str, slow: bool = True) -> Iterator[Any]:
    for name in names:
        marks = [pytest.mark.datasets(name), *[pytest.mark.slow] * slow]
        yield pytest.param(name, id=name, marks=marks)


# What stands, and with how many of it a page; the other campaigns have undecided sentences only.
DECIDED = {"archer2-frequency": (14, 2), "syn-nightly": (4, 2), "vm-exchange": (5, 0), "vm-profiles": (4, 0)}
# The runs of others: their order is mostly not known.
MANY = (
    "hpcg-outputs",
    "published",
    "published-lsdyna",
    "published-openfoam",
    "syn-lsdyna2009",
    "syn-lsdyna2014",
)


@pytest.mark.parametrize(
    "name",
    [
        *built("cloud-study", "published-plane-waves", "top500", "vm-profiles", "vm-exchange", slow=False),
        *built("archer2-frequency", "syn-nightly", *MANY),
    ],
)
def test_every_campaign_has_one_sentence(name: str) -> None:
    sentences, with_page = check(load_campaign(name))
    least, on_pages = DECIDED.get(name, (0, 0))
    assert sentences >= least
    assert with_page >= on_pages


@pytest.mark.parametrize("n", [6, 5])
def test_five_runs_have_the_same_interval_everywhere(n: int) -> None:
    def rates(middle: float, mpi: str) -> list[dict[str, Any]]:
        values = [middle * one for one in SPREAD[:n]]
        return repeats(values, "figure_of_merit", figure_of_merit_unit="Gflop/s", mpi=mpi)

    made = by_hand([*rates(10.0, "slow"), *rates(12.0, "fast")])
    assert check(made) == (1, 1)
    (one,) = conclusions(made)
    assert one.sentence.startswith("fast is 1.2")
    assert ("94 % interval" in one.sentence) == (n == 5)


APP = {"application": "app"}


def flat(middle: float, variable: str = "figure_of_merit", **factors: Any) -> list[dict[str, Any]]:
    """Six runs without scatter, so that every number is known."""
    return repeats([middle] * 6, variable, figure_of_merit_unit="Gflop/s", **factors)


LIBRARIES = by_hand([*flat(10.0, mpi="a"), *flat(12.0, mpi="b"), *flat(10.0, mpi="c")])
# On 1 node b is 1.1 times as fast, on 2 nodes 1.4 times: 1.4 / 1.1 = 1.273.
GROWING = by_hand([row for nodes, a, b in ((1, 10.0, 11.0), (2, 10.0, 14.0)) for row in (
    *flat(a, mpi="a", nodes=nodes), *flat(b, mpi="b", nodes=nodes))])  # fmt: skip
CROSSING = by_hand([row for nodes, a, b in ((1, 10.0, 11.0), (2, 14.0, 10.0)) for row in (
    *flat(a, mpi="a", nodes=nodes), *flat(b, mpi="b", nodes=nodes))])  # fmt: skip
SPEEDS = {1: 10.0, 2: 19.0, 4: 30.0, 8: 30.2}
SCALING = by_hand([row for n, rate in SPEEDS.items() for row in flat(rate, nodes=n, ranks=n)])
YEAR = by_hand([
    {**row, "energy": 3600.0 * watt_hours, "energy_location": "outlet"}
    for mpi, watt_hours in (("a", 10.0), ("b", 8.0))
    for row in flat(100.0, "elapsed", mpi=mpi)
])  # fmt: skip
MESSAGES = by_hand(
    [{**row, "run": f"r{at}", "profiler": "ipm"} for at, row in enumerate(flat(10.0))],
    messages=[
        {"run": f"r{at}", "call": "MPI_Send", "size": size, "count": 1, "time": 0.0}
        for at in range(6) for size in (8, 1024)
    ],
)  # fmt: skip
PAIR = Comparison("mpi", ("b", "a"))
NODES = Comparison("nodes", (1, 2, 4, 8), ("ranks",))
QUESTIONS = {
    "speedup": (
        LIBRARIES, Question("speedup", select=APP, compare=PAIR),
        "b is 1.2 times as fast as a in app (exact)",
    ),
    "gain": (
        LIBRARIES, Question("gain", select=APP, compare=PAIR), "b is 1.2 times as fast as a in app (exact)",
    ),
    "reduction": (
        YEAR, Question("reduction", "energy_per_job", APP, PAIR),
        "b does 1.25 times as many jobs per kWh as a in app",
    ),
    "efficiency": (
        SCALING, Question("efficiency", select=APP, compare=Comparison("nodes", (4, 1), ("ranks",))),
        "4 nodes reach an efficiency of 75 % over 1 node in app (exact)",
    ),
    "equality": (
        LIBRARIES, Question("equality", select=APP, compare=Comparison("mpi", ("c", "a")), margin=0.05),
        "c and a are equal within 5 % in app (1 times, exact)",
    ),
    "ordering": (
        LIBRARIES, Question("ordering", select=APP, compare=PAIR), "b is ahead of a in app (by 1.2 times)",
    ),
    "trend": (
        SCALING, Question("trend", select=APP, compare=NODES),
        "The rate rises from 1 node to 8 nodes in app (Kendall's tau 1, p = 0.0001)",
    ),
    "saturation": (
        SCALING, Question("saturation", select=APP, compare=NODES),
        "Beyond 4 nodes the next step brings less than 5 % in app",
    ),
    "interaction": (
        GROWING,
        Question("interaction", select=APP, compare=Comparison("mpi", ("b", "a"), along=("nodes", 2, 1))),
        "The lead of b over a grows from 1.10 times on 1 node to 1.40 times on 2 nodes in app "
        "(by 1.273 times, exact)",
    ),
    "crossover": (
        CROSSING, Question("crossover", select=APP, compare=PAIR),
        "b is ahead on 1 node, a on 2 nodes in app",
    ),
    # 8760 h of jobs of 100 s: 315,360 jobs, 2 Wh less each, at 0.2 a kWh.
    "cost": (
        YEAR, Question("cost", "energy", APP, PAIR, tariff=Tariff(price=0.2, jobs_of="a")),
        "b saves 126.1 USD a year over a in app (exact)",
    ),
    "level": (MESSAGES, Question("level", select=APP), "The rate of app is 10"),
    "set": (
        MESSAGES, Question("set", "message_sizes", APP, members=(8, 1024)),
        "The messages of app have 8 and 1,024 B",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("scale", "unit", "sentence"),
    [
        (1e-6, "MB", "A rank of app takes 30 MB of memory (exact)"),
        (2e-5, "MB", "20 times the memory of a rank of app is 600 MB (exact)"),
    ],
)
def test_a_multiple_of_a_measure_is_called_one(scale: float, unit: str, sentence: str) -> None:
    runs = flat(10.0, rank_memory=30e6, profiler="ipm")
    asked = Question("level", "rank_memory", {"application": "app"}, scale=scale)
    campaign = by_hand([{**row, "run": f"r{at}"} for at, row in enumerate(runs)])
    assert Statement(asked, findings(asked, campaign), campaign, unit).sentence == sentence


def test_a_saving_that_may_be_none_is_not_stated_as_one() -> None:
    rows = []
    for mpi, watt_hours in (("a", 10.0), ("b", 9.9)):
        for at, row in enumerate(flat(100.0, "elapsed", mpi=mpi)):
            rows.append({**row, "energy": 3600.0 * (watt_hours + at / 5), "energy_location": "outlet"})
    campaign = by_hand(rows)
    asked = Question("cost", "energy", APP, PAIR, tariff=Tariff(price=0.2, jobs_of="a"))
    sentence = Statement(asked, findings(asked, campaign), campaign, "USD/year").sentence
    assert sentence == "It is not clear whether b saves money over a in app: 6 USD a year (−32 to 45)"


def test_every_quantity_has_a_sentence() -> None:
    assert set(QUESTIONS) == set(QUANTITIES)


@pytest.mark.parametrize("quantity", QUESTIONS)
def test_each_quantity_is_worded_once(quantity: str) -> None:
    campaign, asked, expected = QUESTIONS[quantity]
    unit = "USD/year" if quantity == "cost" else ""
    sentence = Statement(asked, findings(asked, campaign), campaign, unit).sentence
    assert sentence.startswith(expected)
    expect = Expectation(relation="at-least", value=0.0, unit=unit)
    report = Report("r", "a report", "us", "2026", (Claim("one", "r", "t", "s", asked, expect),))
    assert evaluate(report, campaign)[0].sentence == sentence
