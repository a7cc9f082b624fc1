"""``benchbook findings`` and ``report``: what a campaign shows, as sentences, JSON, claims or slides."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.models import known
from analysis.base.words import counted, percent
from analysis.cli import CAMPAIGN, FINE, pasteable
from analysis.cli.built import built

if TYPE_CHECKING:
    from analysis.estimates.campaign import Campaign

_LONG = 8  # conclusions of a topic
_SHORT = 5  # of what is not decided, or was seen in single runs, so many are named by topic


def findings(name: str, *, q: float, top: int, topic: str | None, write: bool, as_json: bool) -> int:
    """Print what a campaign shows; write it as claims if asked."""
    from analysis.findings.conclusion import TOPICS

    if topic is not None and topic not in TOPICS:
        raise ConfigError.at("--topic", 0, f"unknown topic {topic!r}", known(topic, TOPICS))
    if not 0 < q < 1:
        raise ConfigError.at("--q", 0, f"{q:g} is no rate", "a number between 0 and 1, like 0.05")
    built([name])
    from analysis.estimates.campaign import load_campaign
    from analysis.findings.saved import write as save
    from analysis.findings.search import conclusions

    campaign = load_campaign(name)
    print(f"searching {counted(len(campaign.runs), 'run')} of {name}", file=sys.stderr)
    _tell_lost(campaign)
    found = [one for one in conclusions(campaign, q=q) if topic in (None, one.topic)]
    listed = found[:top] if top else found
    for doubt in campaign.doubts if as_json else ():
        print(f"nothing is concluded from {doubt.question}", file=sys.stderr)
    if as_json:
        print(json.dumps([_record(one) for one in listed], indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(_lines(campaign, listed, q, len(found))))
    if write:
        path = project.claims(name)
        added, there = save(found, campaign, path)
        where = os.path.relpath(path)
        print(f"{where}: {counted(added, 'claim')} added, {there} were there already", file=sys.stderr)
    return FINE


def _tell_lost(campaign: "Campaign") -> None:
    """Say which lines of its tables are no runs: nothing else shows that they are missing."""
    if campaign.lost:
        print(pasteable(f"{campaign.lost}; `benchbook verify {campaign.name}` lists them"), file=sys.stderr)


def _record(one: Any) -> dict[str, Any]:
    """Return a conclusion as JSON can hold it."""
    from analysis.claims.verdict import finite
    from analysis.findings.saved import as_entry

    estimate = one.finding.estimate
    names = ("id", "topic", "word", "sentence", "footnote", "size", "p", "q", "page")
    numbers = {name: finite(getattr(estimate, name)) for name in ("value", "low", "high", "level")}
    counts = {"n": estimate.n, "n_baseline": estimate.n_baseline}
    base = dict(zip(("value", "unit", "label"), one.finding.base, strict=True)) if one.finding.base else None
    shown = [{key: _plain(value) for key, value in row.items()} for row in one.points.to_dict("records")]
    record = {name: getattr(one, name) for name in names} | numbers | counts
    return record | {
        "base": base,
        "runs": list(one.finding.runs),
        "shown": {**one.points.attrs, "rows": shown},
        "claim": as_entry(one),
    }


def _plain(value: Any) -> Any:
    from analysis.claims.verdict import finite

    return finite(value) if isinstance(value, float) else value


def _lines(campaign: Any, found: Sequence[Any], q: float, all_found: int) -> list[str]:
    """Group conclusions by topic, in the order of the reports; what is not decided comes last."""
    from analysis.findings.conclusion import (
        CONFOUNDED,
        SEEN,
        SESSION,
        STANDING,
        TOPICS,
        UNKNOWN,
        UNORDERED,
        reason,
    )
    from analysis.findings.plans import nothing

    sure = [one for one in found if one.word in STANDING]
    out = [
        f"{campaign.title}: {counted(len(sure), 'conclusion')} at {percent(q)} false discoveries, "
        f"{campaign.evidence}",
        f"  {campaign.hardware}",
    ]
    for topic, title in TOPICS.items():
        of_topic = [one for one in sure if one.topic == topic]
        out += [f"\n{title}"] if of_topic else []
        for one in of_topic[:_LONG]:
            out += [f"  {one.sentence}", f"    {_below(one)}"]
        if len(of_topic) > _LONG:
            out.append(f"  … and {len(of_topic) - _LONG} more: --topic {topic!r} --json has all")
    tell = pasteable(f"Changed together (benchbook new-campaign NEW --from {campaign.name} --to-tell)")
    titles = (
        (CONFOUNDED, tell),
        (SESSION, "In one session or at some times of day only"),
        (UNORDERED, "Of runs whose order is not known"),
        (UNKNOWN, "Not decided"),
        (SEEN, "Seen in too few runs to say"),
    )
    for word, title in titles:
        rest = [one for one in found if one.word == word]
        out += [f"\n{title}"] if rest else []
        out += [f"  {one.row}: {reason(one)}" for one in rest[:_SHORT]]
        if len(rest) > _SHORT:
            out.append(f"  … and {len(rest) - _SHORT} more: --json has all")
    if campaign.doubts:
        out += ["\nQuestions to you: nothing is concluded from these cells"]
        out += [f"  {one.question}" for one in campaign.doubts]
        out += [f"  Answer under repeats in config/campaigns/{campaign.name}.yaml"]
    if not found:
        out.append(f"\n{nothing(campaign)}")
    elif len(found) < all_found:
        out.append(f"\n{len(found)} of {all_found}: without --top all are shown")
    return out


def _below(one: Any) -> str:
    chance = f"; q {one.q:.2g}" if one.q is not None else ""
    page = f"; page {one.page}" if one.page else ""
    return f"{one.footnote}{chance}{page}"


def report(name: str, *, out: str, title: str, pdf: bool) -> int:
    """Write the slides of a campaign into a folder and print the files."""
    if not CAMPAIGN.fullmatch(name):
        raise ConfigError.at("CAMPAIGN", 0, f"{name!r} is no name of a campaign", "as in config/campaigns")
    folder = Path(out) if out else project.here() / "results" / "reports" / name
    built([name])
    print(f"reading {name} and searching it for conclusions", file=sys.stderr)
    from analysis.decks import html, pptx
    from analysis.decks.content import deck
    from analysis.estimates.campaign import load_campaign

    campaign = load_campaign(name)
    _tell_lost(campaign)
    content = deck(campaign, title=" ".join(title.split()))
    print(f"drawing {len(content.slides)} slides", file=sys.stderr)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{name}.{kind}" for kind in ("html", "pptx", "pdf")]
        html.write(content, files[0])
        pptx.write(content, files[1])
        why = html.print_pdf(files[0], files[2]) if pdf else "--no-pdf"
    except OSError as error:
        remedy = "give another folder with --out"
        raise ConfigError.at(str(folder), 0, error.strerror or str(error), remedy) from error
    if why:
        print(f"no PDF was made: {why}", file=sys.stderr)
    for path in files[: 2 if why else 3]:
        print(os.path.relpath(path))
    return FINE
