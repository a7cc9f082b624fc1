"""A campaign's declarations of levels, checked against the names in reports and in its runs."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from analysis.base import models, project
from analysis.base.errors import BenchbookError, Fault
from analysis.base.words import Level, in_order
from analysis.claims.model import Report, load_report
from analysis.estimates.campaign import unknown_factors
from analysis.schema.campaigns import CampaignFile
from analysis.schema.factors import FACTORS

Levels = Mapping[str, Collection[Level]]


_Held = tuple[tuple[str, ...], str, Level, Collection[Level]]


def misspelt(path: Path, source: str, reports: Sequence[Report], own: Levels) -> list[Fault]:
    """Find unknown factors and levels in a campaign's file, each with the nearest known name.

    `source` is the file's name in faults, `reports` are the reports whose claims the campaign tests, `own`
    has the levels of its runs by factor.
    """
    declared = models.load(CampaignFile, path, source)
    faults = unknown_factors(declared, path, source)
    asked: dict[str, set[Level]] = defaultdict(set)
    for question in (claim.question for one in reports for claim in one.claims):
        for factor, level in question.levels():
            asked[factor].add(level)
    for factor in set(declared.levels) & set(FACTORS):
        word = factor.replace("_", " ")
        for name, one in declared.levels[factor].items():
            held: list[_Held] = [(("levels", factor, name), "no claim names", name, asked[factor])]
            for level in models.one_or_more(one.is_):
                held.append((("levels", factor, name, "is"), "no run has", level, own.get(factor, ())))
            for where, what, level, found in held:
                there = [_spelt(each) for each in in_order(found) if each == each]  # NaN: none was asked for
                if there and _spelt(level) not in there:
                    remedy = models.known(_spelt(level), there)
                    line = project.line_of(path, where)
                    faults.append(Fault(source, line, f"{what} {word} {_spelt(level)!r}", remedy))
    return sorted(faults, key=lambda fault: fault.line)


def _spelt(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def reports_of(campaign: str, base: Path) -> list[Report]:
    """Load the reports whose claims a campaign tests, by the configuration; bad ones are left out."""
    path = base / project.CONFIG
    found = project.load_yaml(path) if path.is_file() else {}
    named = found.get("reports") if isinstance(found, dict) else {}
    reports = []
    for name, campaigns in (named or {}).items():
        if campaign in (campaigns or ()):
            with suppress(BenchbookError):  # who builds it is told
                reports.append(load_report(project.claims(name, base)))
    return reports
