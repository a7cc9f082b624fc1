"""``benchbook verdicts``: the scoreboard as a table or as JSON."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.models import known
from analysis.base.processes import by_dask_wanted, in_parallel
from analysis.base.words import counted, displayed, table
from analysis.base.workers import kept
from analysis.claims import Verdict, evaluate
from analysis.claims.audit import audit_path, evaluate_report
from analysis.claims.counts import counts
from analysis.claims.model import load_report
from analysis.claims.verdict import controlled
from analysis.cli import FINE
from analysis.cli.built import built
from analysis.estimates.campaign import load_campaign
from analysis.estimates.contents import load_config
from analysis.site.words import VERDICTS

COLUMNS = ("claim", "campaign", "expected_text", "estimate_text", "n", "evidence", "distance", "verdict")
_NAMED = 4  # campaigns that a line names
# Code of a terminal's colour -> tones of verdicts. All others are faint.
_COLOURS = {
    "32": ("stands", "partly", "seen", "like", "agrees"),
    "31": ("fails", "unseen", "unlike", "odds"),
    "33": ("open",),
}


def verdicts(
    reports: Sequence[str] | None,
    campaigns: Sequence[str] | None,
    *,
    as_json: bool,
    as_counts: bool = False,
    topic: str | None = None,
) -> int:
    """Print every claim that a build evaluates, of the reports, campaigns and topic named or of all.

    If both a report and a campaign are named, they are compared, whether a build does so or not.
    Raises `ConfigError` if a report or campaign is not in the build, or no claim has the topic.
    """
    if topic is not None:
        _check_topic(topic, reports)
    with kept():
        records = list(_records(reports, campaigns))
    if not campaigns:  # a part of a family of verdicts has no rate of false discoveries
        records = controlled(records)
    if topic is not None:
        records = [one for one in records if one.topic == topic]
    if not records:
        remedy = "name one under `reports` in config/config.yaml, or give --campaign"
        raise ConfigError.at("benchbook verdicts", 0, "no campaign tests these claims", remedy)
    if as_counts:
        print(json.dumps(_counted(records), indent=1))
        return FINE
    if as_json:
        print(json.dumps([record.as_dict() for record in records], indent=1, ensure_ascii=False))
        return FINE
    records, folded = (records, []) if campaigns else _folded(records)
    values = (
        [*(getattr(record, name) for name in COLUMNS[:-1]), displayed(record.verdict)] for record in records
    )
    rows = [["" if value is None else str(value) for value in row] for row in values]
    lines = table([[name.removesuffix("_text") for name in COLUMNS], *rows]).splitlines()
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        lines[1:] = [_coloured(line, one.verdict) for line, one in zip(lines[1:], records, strict=True)]
    print("\n".join([*lines, *folded]))
    return FINE


def _folded(records: Sequence[Verdict]) -> tuple[list[Verdict], list[str]]:
    """Leave one row to a claim that nothing tests; a line names the campaigns that do not test others."""
    told = {one.claim for one in records if one.tested}
    shown, left = list[Verdict](), Counter[str]()
    for one in records:
        if one.tested or one.claim not in told:
            told.add(one.claim)
            shown.append(one)
        else:
            left[one.campaign] += 1
    if not left:
        return shown, []
    where = ", ".join(f"{name} ({number})" for name, number in left.items())
    where = where if len(left) <= _NAMED else f"{len(left)} campaigns"
    lead = f"claims not tested by {where}, {counted(left.total(), 'row')}"
    return shown, ["", f"left out: {lead}; --campaign NAME shows those of one, --json all"]


def _coloured(line: str, word: str) -> str:
    """Colour the verdict's word at the end of a line: green for it, red against it, yellow if open."""
    tone = VERDICTS[word].tone if word in VERDICTS else "open"
    colour = next((code for code, tones in _COLOURS.items() if tone in tones), "2")
    shown = displayed(word)
    return f"{line.removesuffix(shown)}\x1b[{colour}m{shown}\x1b[0m"


def _counted(records: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Count the claims of all reports and of each."""
    loaded = [load_report(project.claims(name)) for name in dict.fromkeys(one.report for one in records)]
    found = {"all": counts(records, loaded)} | {one.name: counts(records, [one]) for one in loaded}
    return {name: one.as_dict() for name, one in found.items()}


def _check_topic(topic: str, reports: Sequence[str] | None) -> None:
    """Refuse a topic that no claim has, before any campaign is read."""
    asked = [name for name in load_config()["reports"] if not reports or name in reports]
    topics = sorted({one.topic for name in asked for one in load_report(project.claims(name)).claims})
    if asked and topic not in topics:
        parts = [one for one in topics if topic.casefold() in one.casefold().split()]
        raise ConfigError.at("--topic", 0, f"no claim here is on {topic!r}", known(topic, parts or topics))


def _records(reports: Sequence[str] | None, campaigns: Sequence[str] | None) -> Iterator[Verdict]:
    config = load_config()
    for wanted, what in ((reports, "report"), (campaigns, "campaign")):
        there = config[f"{what}s"]
        for name in wanted or ():
            if name not in there:
                raise ConfigError.at("config/config.yaml", 0, f"has no {what} {name!r}", known(name, there))
    if campaigns:
        built(campaigns)
    asked = {
        name: [
            one for one in (campaigns if reports and campaigns else used) if not campaigns or one in campaigns
        ]
        for name, used in config["reports"].items()
        if not reports or name in reports
    }
    by_campaign: dict[str, list[str]] = {}
    for name, used in asked.items():
        for campaign in used:
            by_campaign.setdefault(campaign, []).append(name)
    told = _told(by_campaign)
    for name, used in asked.items():
        for campaign in used:
            yield from told[campaign][name]
        if not campaigns and audit_path(name).is_file():
            yield from evaluate_report(name)


def _told(asked: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[Verdict]]]:
    """Evaluate reports on campaigns: the names of the reports are given by campaign."""
    if by_dask_wanted():  # its workers share the claims of a campaign
        return dict(map(_on_campaign, asked.items()))
    return dict(in_parallel(_on_campaign, [*asked.items()], "campaigns read:", progress=True, chunk=1))


def _on_campaign(asked: tuple[str, Sequence[str]]) -> tuple[str, dict[str, list[Verdict]]]:
    campaign, reports = asked
    loaded = load_campaign(campaign)
    return campaign, {name: evaluate(load_report(project.claims(name)), loaded) for name in reports}
