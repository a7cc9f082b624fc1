"""What a self-test has recovered: one line per report, and each exception by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.claims.verdict import Verdict
from analysis.site.words import LOOKED_UP

WORDS = ("recovered", "not recovered", "not tested")


def table(verdicts: Sequence[Verdict], known: Mapping[str, str]) -> str:
    """Count claims by report and word; below, the claims that were not recovered, each with the reason."""
    lines = [f"{'report':16}" + "".join(f"{word:>15}" for word in WORDS)]
    for report in dict.fromkeys(one.report for one in verdicts):
        lines.append(_line(report, [one for one in verdicts if one.report == report]))
    lines.append(_line("all", verdicts))
    for one in verdicts:
        if one.verdict != WORDS[0]:
            lines.append(f"{one.verdict}: {one.claim}: {_why(one, known)}")
    return "\n".join(lines) + "\n"


def _why(one: Verdict, known: Mapping[str, str]) -> str:
    # What a source states of a product is in no run, so no synthetic run can give it back.
    looked_up = "looked up" if one.application in LOOKED_UP else ""
    return known.get(one.claim) or looked_up or f"UNEXPECTED: {one.reason}"


def _line(name: str, verdicts: Sequence[Verdict]) -> str:
    counts = Counter(one.verdict for one in verdicts)
    return f"{name:16}" + "".join(f"{counts[word]:15}" for word in WORDS)


def check(verdicts: Sequence[Verdict], known: Mapping[str, str], config: str) -> None:
    """Raise `ConfigError` for a claim that is not recovered and not declared, and for one that is both."""
    if faults := list(_faults(verdicts, known, config)):
        raise ConfigError(*faults)


def _faults(verdicts: Sequence[Verdict], known: Mapping[str, str], config: str) -> Iterator[Fault]:
    verdicts = [one for one in verdicts if one.application not in LOOKED_UP]
    lost = {one.claim for one in verdicts if one.verdict != WORDS[0]}
    for one in verdicts:
        if one.verdict != WORDS[0] and one.claim not in known:
            what = f"{one.claim} is {one.verdict} from {one.campaign}: {one.reason}"
            yield Fault(
                config, 0, what, "correct the pipeline or the truth, or declare why under contradictions"
            )
    for claim in known:
        if claim not in lost:
            line = project.line_of(config, ("contradictions", claim))
            yield Fault(config, line, f"{claim} is declared a contradiction and was recovered", "remove it")
