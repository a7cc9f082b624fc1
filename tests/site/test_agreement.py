"""Every claim says the same wherever it stands: the same value, interval, level and word."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis import pages
from analysis.base import project
from analysis.base.words import displayed
from analysis.claims import Claim, load_report, verdict_table
from analysis.claims.evaluation import _asked
from analysis.claims.verdict import Verdict, read_verdicts
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.contents import load_config
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import findings
from analysis.estimates.ratios import inverse, upright
from analysis.estimates.sentences import Statement
from analysis.estimates.stats import Estimate
from analysis.site import build, front, passport
from analysis.site.board import ClaimRow, board, rows
from analysis.site.provenance import Provenance

ROOT = Path(__file__).parents[2]
CONFIG = load_config(ROOT)
COMPARISONS = [page for page in CONFIG["pages"] if page["notebook"] == "21-compare.ipynb"]
CAMPAIGNS = sorted({name for page in COMPARISONS for name in project.as_list(page, "campaign")})
KEYS = ("factor", "baseline", "along", "variable", "select", "varying", "members")
FACTS = Provenance(commit="0123456", date="2026-01-01")


# ---- the places that show verdicts: board, report, card, CSV, citation, the table that closes a page


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    path = ROOT / "results/verdicts.json"
    if not path.is_file():
        pytest.skip("not built: run `make datasets`")
    return read_verdicts(path)


@pytest.fixture(scope="module")
def site(verdicts: list[Verdict], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    reports = [load_report(project.claims(name, ROOT)) for name in CONFIG["reports"]]
    asked = build.Front(CONFIG["front"])
    without = [Verdict(**{**one.as_dict(), "page": None}) for one in verdicts]
    build.build(without, [], FACTS, out, reports=reports, asked=asked)
    return out


def plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_verdict__level_and_interval_are_in_its_text(verdicts: list[Verdict]) -> None:
    checked = 0
    for one in (one for one in verdicts if one.tested):
        if one.level is None or one.scale in ("set", "stop") or one.low == one.high:
            continue
        assert (" % interval)" in one.estimate_text) == (one.level < 0.95 - 1e-9), one
        checked += one.low is not None and " to " in one.estimate_text
    assert checked > 100


def test_every_claim_is_the_same_on_board_report_and_in_its_csv(verdicts: list[Verdict], site: Path) -> None:
    details: dict[str, str] = {}
    for path in site.glob("data/topic-*.js"):
        text = path.read_text(encoding="utf-8")
        value = json.loads(text[text.index(", {") + 2 : text.rindex(")")])
        details |= {anchor: plain(each) for anchor, each in value["details"].items()}
    on_reports = {path.stem: plain(path.read_text("utf-8")) for path in site.glob("report-*.html")}
    every = rows(
        board(verdicts, [load_report(project.claims(n, ROOT)) for n in CONFIG["reports"]]), every=True
    )
    checked = 0
    for row in every:
        table = {
            (one["campaign"], one["evidence"]): one for one in passport.read(passport.row_csv(row, FACTS))
        }
        assert row.lead.verdict in {one["verdict"] for one in table.values()}
        for one in (one for one in row.verdicts if one.tested and one.evidence):
            _check_csv(one, table[one.campaign, one.evidence])
            assert one.estimate_text in details[row.anchor]
            assert displayed(one.verdict) in details[row.anchor]
            report = on_reports.get(f"report-{one.report}", "")
            assert not report or one.estimate_text in report
            checked += 1
        assert displayed(row.lead.verdict) in passport.cite(row, FACTS)
    assert checked > 300


def _check_csv(one: Verdict, row: dict[str, str]) -> None:
    for name in ("estimate", "low", "high", "level", "n"):
        value = getattr(one, name)
        assert row[name] == ("" if value is None else str(value)), (one.claim, name)
    assert row["verdict"] == one.verdict
    closing = verdict_table([one]).iloc[0]
    assert (closing["estimate"], closing["verdict"]) == (one.estimate_text or "–", displayed(one.verdict))


def test_every_card_shows_the_verdict_of_its_row(verdicts: list[Verdict], site: Path) -> None:
    first = plain((site / "index.html").read_text(encoding="utf-8"))
    reports = [load_report(project.claims(name, ROOT)) for name in CONFIG["reports"]]
    cards = front.cards(CONFIG["front"], board(verdicts, reports), {})
    assert len(cards) >= 7
    for card in cards:
        assert isinstance(card.row, ClaimRow)
        if card.number:
            said = (displayed(card.lead.verdict), card.amount, card.lead.estimate_text)
            assert " ".join(filter(None, said)) in first


# ---- the pages that compare levels, as they are configured


def compared(page: dict[str, Any]) -> list[tuple[pages.Compared, dict[str, Any], Statement]]:
    given = page.get("parameters", {})
    campaign = load_campaign(page["campaign"])
    found = pages.comparisons(campaign, **{key: given[key] for key in KEYS if key in given})
    return [
        (one, row, said)
        for one in found.compared
        for part in one.parts
        for row, said in zip(part.ratios.to_dict("records"), part.answers, strict=True)
    ]


def asked(campaign: Campaign) -> Iterator[tuple[Claim, list[Finding], Campaign]]:
    """Give the claims on ratios that a campaign answers, as its views ask for them."""
    for name in CONFIG["reports"]:
        report = load_report(project.claims(name, ROOT))
        for claim in report.claims:
            view = campaign.view_for(report.name, claim.topic, claim.id)
            part = campaign if view is None else campaign.seen(view)
            claim = claim if view is None else _asked(claim, view)
            if claim.question.quantity in ("speedup", "gain", "reduction", "interaction", "ordering"):
                try:
                    yield claim, findings(claim.question, part), part
                except NotCoveredError:
                    continue


def numbers(one: Estimate) -> tuple[float, float, float]:
    return one.value, one.low, one.high


def close(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a == pytest.approx(b, rel=1e-9, nan_ok=True) for a, b in zip(one, other, strict=True))


@pytest.mark.datasets(*CAMPAIGNS)
def test_every_ratio_of_a_page_is_that_of_the_verdict_on_the_same_runs() -> None:
    checked = set()
    for page in COMPARISONS:
        campaign = load_campaign(page["campaign"])
        shown = compared(page)
        for claim, found, _ in asked(campaign):
            for finding, (one, row, said) in ((f, s) for f in found for s in shown):
                same = set(said.found[0].runs) == set(finding.runs)
                if not same or one.variable != claim.question.variable or finding.steps:
                    continue
                ratio = upright(claim.question.quantity, finding.estimate)
                ends = (row["ratio"], row["low"], row["high"])
                assert close(numbers(ratio), ends) or close(numbers(inverse(ratio)), ends), claim.id
                assert close((ratio.level if ratio.bounded else math.nan,), (row["confidence"],)), claim.id
                checked.add((page["name"], claim.id))
    assert len({name for name, _ in checked}) >= 6
    assert len(checked) >= 20


@pytest.mark.datasets(*CAMPAIGNS)
def test_no_page_says_that_a_level_is_ahead_and_that_none_is() -> None:
    said = []
    for page in COMPARISONS:
        given = page.get("parameters", {})
        found = pages.comparisons(
            load_campaign(page["campaign"]), **{key: given[key] for key in KEYS if key in given}
        )
        said += found.sentences
        for one in found.compared:
            for part in one.parts:
                text = one.description(part)
                weak = part.medians["confidence"].max() < 0.85 or part.medians["confidence"].isna().all()
                if weak and not (part.ratios["confidence"] >= 0.85).any():
                    assert "% intervals" not in text, (page["name"], text)
    assert len(said) > 20
    for sentence in said:
        ahead = re.search(r"(is|are) [\d.,]+ times as fast", sentence)
        assert not (ahead and "no clear difference anywhere" in sentence), sentence
        assert not ("from one value each" in sentence and re.search(r"\d+%", sentence)), sentence
