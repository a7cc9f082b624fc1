"""Conclusions kept as claims in ``config/claims/<campaign>.yaml``, to compare later campaigns with them.

The content of the file stays unchanged, byte for byte: an id keeps its first expectation whatever is found
today, and your edits stay. Only new ids are added, at the end.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from analysis.claims.model import ALONG_LEVELS, load_report
from analysis.claims.sentence import append, as_text
from analysis.estimates.campaign import Campaign
from analysis.estimates.question import Comparison
from analysis.findings.conclusion import STANDING, Conclusion

_HEAD = """\
# Findings of `benchbook findings {name} --write`, as claims: later campaigns are compared with them.
# Edit as you like: existing lines are never changed, new findings are added at the end.
report:
{report}
claims:
"""


def write(found: Sequence[Conclusion], campaign: Campaign, path: Path) -> tuple[int, int]:
    """Add the significant conclusions to a file of claims; return how many are new, and how many are not.

    ConfigError if the file cannot be loaded or appended to; nothing is written then.
    """
    standing = [one for one in found if one.word in STANDING]
    known: set[str] = set()
    if path.is_file():
        known = {claim.id for claim in load_report(path).claims}
        before = path.read_text(encoding="utf-8")
    else:
        facts = {
            "title": f"Findings of {campaign.title}",
            "publisher": "us",
            "date": _days(campaign),
            "own": True,
        }
        before = _HEAD.format(name=campaign.name, report=_indented(facts))
    new = [one for one in standing if one.id not in known]
    if new:
        append(path, [as_text(as_entry(one)) for one in new], [one.id for one in new], before)
    return len(new), len(standing) - len(new)


def _days(campaign: Campaign) -> str:
    starts = campaign.runs["start"].dropna()
    return str(starts.max().date()) if len(starts) else "not known"


def _indented(content: Any) -> str:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None)
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines())


def as_entry(one: Conclusion) -> dict[str, Any]:
    """Return a conclusion as an entry of a file of claims (`analysis.claims.model.ClaimEntry`)."""
    asked, expect = one.question, one.expect
    entry: dict[str, Any] = {"id": one.id, "topic": one.topic, "statement": one.sentence}
    entry |= {"note": one.footnote, "quantity": asked.quantity, "variable": asked.variable}
    if asked.members and asked.quantity != "set":
        entry["members"] = list(asked.members)
    if asked.scale != 1:
        entry["scale"] = asked.scale
    entry["select"] = dict(asked.select or {})
    if asked.compare is not None:
        entry["compare"] = _compare(asked.compare, asked.quantity)
    if asked.quantity == "saturation":
        entry["threshold"] = asked.threshold
    entry["expect"] = expect.model_dump(exclude_unset=True, exclude_none=True)
    return entry


def _compare(compare: Comparison, quantity: str) -> dict[str, Any]:
    out: dict[str, Any] = {"factor": compare.factor}
    if quantity not in ALONG_LEVELS:
        out |= {"treatment": compare.levels[0], "baseline": compare.levels[1]}
    else:
        out["order"] = list(compare.levels)
    if compare.along:
        out["along"] = dict(zip(("factor", "high", "low"), compare.along, strict=True))
    if compare.varying:
        out["varying"] = list(compare.varying)
    if compare.where and not compare.mixed:  # a claim on one of several causes cannot hold
        out["where"] = dict(zip(("treatment", "baseline"), map(dict, compare.where), strict=True))
    return out
