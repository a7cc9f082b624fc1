"""A claim from a sentence: the figure as printed, the words of the report, the file that takes it."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.claims import load_report, sentence
from analysis.cli.claims import _campaigns, _measured, _several
from analysis.estimates.campaign import load_campaign
from analysis.estimates.contents import load_config

ROOT = Path(__file__).parents[2]


# Each range by hand, from the rule at the top of config/claims/hpcg2014.yaml.
@pytest.mark.parametrize(
    ("text", "relation", "low", "high", "aggregate"),
    [
        ("135", "range", 134.5, 135.5, "all"),
        ("about 24 %", "range", 23, 25, "all"),
        ("~4 GB", "range", 3, 5, "all"),
        ("4.5 times", "range", 4.45, 4.55, "all"),
        ("almost 5", "range", 4.5, 5, "all"),
        ("up to 135 %", "range", 134.5, 135.5, "max"),
        ("2 to 3", "range", 2, 3, "all"),
        ("0.5 to 0.7×", "range", 0.5, 0.7, "all"),
    ],
)
def test_expectation__a_printed_figure_stands_for_what_rounds_to_it(
    text: str, relation: str, low: float, high: float, aggregate: str
) -> None:
    found, how = sentence.expectation(text)
    assert (found["relation"], found["low"], found["high"], how) == (relation, low, high, aggregate)


def test_expectation__bounds_words_and_units() -> None:
    assert sentence.expectation("over 5 times") == ({"relation": "at-least", "value": 5}, "all")
    assert sentence.expectation("under 12 calls") == (
        {"relation": "at-most", "value": 12, "unit": "calls"},
        "all",
    )
    assert sentence.expectation("rising") == ({"relation": "rising"}, "all")
    with pytest.raises(ConfigError, match="'much' has no figure; write it as printed"):
        sentence.expectation("much")
    with pytest.raises(ConfigError, match="'at lest 90 %' is not understood; write it as printed"):
        sentence.expectation("at lest 90 %")


def test_identifier__keeps_a_figure_whole() -> None:
    report = load_report(ROOT / "config/claims/house.yaml")
    named = sentence.identifier(report, "placement", "Two jobs are 1.4 times as fast as one")
    assert named == "house-placement-two-jobs-are-1-4-one"


@pytest.mark.parametrize(("printed", "claim"), [("up to 135 %", "hpcg2014-size-135pct-over-104")])
def test_expectation__equals_that_of_a_claim_written_by_hand(printed: str, claim: str) -> None:
    by_hand = load_report(ROOT / "config/claims/hpcg2014.yaml").claim(claim)
    found, how = sentence.expectation(printed)
    assert (found["low"], found["high"]) == by_hand.expect.band
    assert how == by_hand.question.aggregate


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the reports of this one that has no data."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "config/config.yaml").write_text("campaigns: []\nreports: { hpcg2014: [] }\npages: []\n")
    for campaign in (tmp_path / "config/campaigns").iterdir():
        campaign.unlink()
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    monkeypatch.chdir(tmp_path)
    return tmp_path


GOOD: dict[str, Any] = {
    "report": "hpcg2014",
    "statement": "FDR InfiniBand is about 3 times as fast as 10GbE",
    **{"topic": "interconnect", "quantity": "speedup", "factor": "interconnect"},
    **{"treatment": "ib-fdr", "baseline": "10gbe", "expect": "about 3"},
}


def run(*more: str, **changed: str) -> int:
    flags = [word for key, value in (GOOD | changed).items() if value for word in (f"--{key}", value)]
    return cli.main(["claim", "new", *flags, *more])


def test_claim__is_shown_and_then_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "config/claims/hpcg2014.yaml"
    before = path.read_text(encoding="utf-8")
    assert run() == 0
    shown = capsys.readouterr().out
    assert "nothing written; --yes writes it" in shown
    assert path.read_text(encoding="utf-8") == before
    assert run("--yes") == 0
    after = path.read_text(encoding="utf-8")
    assert after.startswith(before)
    claim = load_report(path).claims[-1]
    assert claim.statement == GOOD["statement"]
    assert claim.question.compare is not None
    assert claim.question.compare.levels == ("ib-fdr", "10gbe")
    assert claim.expect.band == (2, 4)
    assert run("--yes") == 0  # a second one like it gets an id of its own
    assert load_report(path).claims[-1].id == f"{claim.id}-2"


def test_claim__an_unknown_factor_is_named_once_and_new_does_not_add_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--yes", factor="interconect") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "is 'interconnect' meant?" in line
    assert "--new" not in line


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"report": "hpcg2104"}, "there is no such report; is 'hpcg2014' meant. known: "),
        ({"topic": "interconect"}, "is no topic of this report; is 'interconnect' meant"),
        ({"treatment": "ib-fdrr"}, "is no level of interconnect in this report; is 'ib-fdr' meant"),
        ({"baseline": "10GbE"}, "is no level of interconnect in this report; is '10gbe' meant"),
        ({"factor": "interconect"}, "^--factor: 'interconect' is no factor; is 'interconnect' meant"),
        ({"quantity": "speed-up"}, "^--quantity: 'speed-up' is no quantity; is 'speedup' meant"),
        ({"baseline": ""}, "^--baseline: no level of interconnect is given; give one\n$"),
        # What only the file's model knows is no line of a file that has no such line.
        ({"quantity": "trend", "order": "ib-fdr"}, "^benchbook claim new: compare.order: .* is too short"),
        ({"expect": "much faster"}, "'much faster' has no figure"),
        ({"expect": "3 to 2"}, "^--expect: '3 to 2' ends before it begins; write '2 to 3'"),
        ({"statement": ""}, "lacks --statement"),
        ({"select": "nodes:4"}, "is no FACTOR=LEVEL"),
        ({"select": "node=4"}, "^--select: 'node' is no factor; is 'nodes' meant"),
        ({"varying": "rank-per-node"}, "^--varying: .* is no factor; is 'ranks_per_node' meant"),
        ({"variable": "wats"}, "'wats' is no measure"),
        ({"variable": "thoughput"}, "'thoughput' is no measure; is 'throughput' meant?"),
        ({"id": "hpcg2014-ic-fdr-over-1gbe-5x"}, "is used twice"),
    ],
)
def test_claim__a_wrong_word_is_caught_before_anything_is_written(
    changed: dict[str, str], message: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in (place / "config/claims").iterdir()}
    assert run("--yes", **changed) == 1
    err = capsys.readouterr().err
    assert re.search(message, err), err
    assert "Traceback" not in err
    assert {path: path.read_bytes() for path in (place / "config/claims").iterdir()} == before


ANSWERS = (
    ("", "nothing is given; answer, or end with Ctrl-C"),
    ("FDR InfiniBand is about 3 times as fast as 10GbE", ""),
    ("Interconnect comparison", ""),
    ("interconect", "'interconect' is no topic of this report; is 'interconnect' meant?"),
    ("interconnect", ""),
    ("speed-up", "'speed-up' is no quantity; is 'speedup' meant?"),
    ("", ""),  # the default
    ("interconect", "'interconect' is no factor; is 'interconnect' meant?"),
    ("interconnect", ""),
    ("ib-fdrr", "'ib-fdrr' is no level of interconnect in this report; is 'ib-fdr' meant?"),
    ("ib-fdr", ""),
    ("10gbe", ""),
    ("node=4", "'node' is no factor; is 'nodes' meant?"),
    ("nodes:4", "'nodes:4' is no FACTOR=LEVEL; write it like nodes=32"),
    ("nodes=4", ""),
    ("much faster", "'much faster' has no figure"),
    ("about 3", ""),
    ("yes", ""),
)


def test_claim__a_wrong_answer_is_asked_again_and_the_others_are_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(answer for answer, _ in ANSWERS)
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert cli.main(["claim", "new", "--report", "hpcg2014"]) == 0
    assert next(answers, None) is None
    out = capsys.readouterr().out
    refused = [said for _, said in ANSWERS if said]
    assert [one for one in refused if one not in out] == []
    assert out.count("meant?") == sum("meant?" in one for one in refused)
    claim = load_report(place / "config/claims/hpcg2014.yaml").claims[-1]
    assert claim.question.compare is not None
    assert claim.question.compare.levels == ("ib-fdr", "10gbe")
    assert claim.question.select is not None
    assert claim.question.select["nodes"] == 4
    assert claim.expect.band == (2, 4)


def test_claim__new_words_can_be_accepted(place: Path) -> None:
    assert run("--yes", "--new", treatment="ib-ndr") == 0
    claim = load_report(place / "config/claims/hpcg2014.yaml").claims[-1]
    assert claim.question.compare is not None
    assert claim.question.compare.levels[0] == "ib-ndr"


FACTS = {"report": "mine2026", "title": "Our new cluster: a test", "publisher": "Our centre", "date": "2026"}


def test_claim__begins_a_new_report_with_a_title(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "config/claims/mine2026.yaml"
    assert run("--yes", **FACTS) == 0
    out = capsys.readouterr().out
    assert "config/config.yaml now has `mine2026: []` under `reports`; then:" in out
    assert load_config(place)["reports"]["mine2026"] == []
    report = load_report(path)
    assert (report.title, report.publisher, report.date) == ("Our new cluster: a test", "Our centre", "2026")
    assert [claim.statement for claim in report.claims] == [GOOD["statement"]]
    assert run("--yes", report="mine2026", baseline="1gbe") == 1  # no level of this report
    assert run("--yes", "--new", report="mine2026", baseline="1gbe") == 0
    assert len(load_report(path).claims) == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# ours\nreports: {}\nfront: []\n", "# ours\nreports: { a: [b, c] }\nfront: []\n"),
        ("reports: { x: [], y: [z] } # all\n", "reports: { x: [], y: [z], a: [b, c] } # all\n"),
        ("reports:\n  x: []\n  y: [z]\n", "reports:\n  a: [b, c]\n  x: []\n  y: [z]\n"),
        ("front: []\n", None),
        ("reports: {\n  x: [] }\n", None),
    ],
)
def test_register__adds_a_report_and_nothing_else(before: str, after: str | None, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(before)
    assert sentence.register(path, "a", ["b", "c"]) == (after is not None)
    assert path.read_text() == (after or before)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"publisher": "", "date": ""}, "a new report lacks --publisher, --date"),
        ({"report": "hpcg2014"}, "there is such a report; leave out --title"),
        ({"report": "../mine"}, "is no name of a report; use a-z 0-9 -"),
        ({"expect": "much"}, "'much' has no figure"),
    ],
)
def test_claim__a_new_report_that_cannot_be_is_not_written(
    changed: dict[str, str], message: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in place.rglob("*.yaml")}
    assert run("--yes", **{**FACTS, **changed}) == 1
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in place.rglob("*.yaml")} == before


def test_report__a_topic_that_looks_misspelt_is_refused(place: Path) -> None:
    path = place / "config/claims/house.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("topic: placement", "topic: placment", 1), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"^config/claims/house\.yaml: topic 'placment' is used once; is 'placement' meant"
    ):
        load_report(project.claims("house", place))


@pytest.mark.datasets("vm-hpcg")
def test_claim__what_changes_with_the_factor_is_named_and_can_be_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = "--report house --statement x --topic scaling --quantity speedup --factor ranks --treatment 2"
    flags += " --baseline 1 --select nodes=1 --select profiler=none --campaign vm-hpcg"
    assert cli.main(["claim", "new", *flags.split(), "--expect", "about 1.9"]) == 0
    out = capsys.readouterr().out
    assert "; its most similar runs also differ in ranks per node: --varying ranks_per_node allows it" in out
    more = ["--expect", "about 1.9", "--varying", "ranks_per_node"]
    assert cli.main(["claim", "new", *flags.split(), *more]) == 0
    out = capsys.readouterr().out
    assert "varying: [ranks_per_node]" in out
    # As the finding of the same runs has it, by a path of its own.
    (row,) = (line for line in out.splitlines() if line.startswith("vm-hpcg"))
    assert "1.884× (1.849 to 1.934)" in row


@pytest.mark.datasets("vm-hpcg")
def test_claim__without_an_application_says_which_answered() -> None:
    campaign = load_campaign("vm-hpcg")
    asked = replace(load_report(project.claims("house")).claims[0].question, select={})
    runs = campaign.runs["run"].tolist()
    said = "; it names no application, so hpcg, osu answered: --select application=hpcg"
    assert _several(asked, campaign, runs) == said
    assert _several(replace(asked, select={"application": "hpcg"}), campaign, runs) == ""
    assert _several(asked, campaign, runs[:1]) == ""


@pytest.mark.datasets("vm-hpcg")
def test_claim__measures_that_the_runs_have_are_named() -> None:
    campaign = load_campaign("vm-hpcg")
    first = load_report(project.claims("house")).claims[0].question
    asked = replace(first, select={}, variable="peak_share")
    assert _measured(asked, campaign) == (
        "; they have application_time and figure_of_merit: --variable application_time"
    )
    assert _measured(replace(asked, variable="figure_of_merit"), campaign) == ""


@pytest.mark.datasets("vm-hpcg")
def test_claim__preview_is_the_verdict_of_the_claim_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    report = load_report(ROOT / "config/claims/house.yaml")
    assert {"house-placement-77pct"} <= {claim.id for claim in report.claims}
    flags = ["--topic", "links", "--quantity", "equality", "--factor", "interconnect", "--expect", "equal"]
    sides = ["--treatment", "veth-1gbit", "--baseline", "veth-open", "--new", "--campaign", "vm-hpcg"]
    assert cli.main(["claim", "new", "--report", "house", "--statement", "x", *flags, *sides]) == 0
    out = capsys.readouterr().out
    (row,) = (line for line in out.splitlines() if line.startswith("vm-hpcg"))
    assert row.endswith("holds")
    assert "  vm-hpcg: equal within 5 %" in out  # the reason


def test_campaigns__of_a_new_report_are_those_with_data_and_a_few_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        project, "processed", lambda name: ROOT / ("data" if name.startswith("new") else "src")
    )
    monkeypatch.setattr(
        "analysis.cli.claims.load_config", lambda: {"reports": {"old": ["a"]}, "campaigns": names}
    )
    monkeypatch.setattr(Path, "is_file", lambda path: "src" in path.parts)
    names = ["built", "new1", "new2", "new3"]
    assert _campaigns("mine") == names
    names.append("new4")
    assert _campaigns("mine") == ["built"]
    assert _campaigns("old") == ["a"]
