"""``benchbook claim new``: from a sentence of a report to a claim with a verdict, written after a preview."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.words import displayed, table
from analysis.claims import Report, evaluate, load_report, sentence
from analysis.claims.model import ALONG_LEVELS
from analysis.cli import FINE, pasteable
from analysis.cli.built import built
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.contents import load_config
from analysis.estimates.groups import also_differ, measured
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import QUANTITIES
from analysis.estimates.question import Question
from analysis.schema.factors import TABLE, label

_CHOICES = 16  # words that a question lists
_FEW = 3  # campaigns that a preview builds
_USUAL = ("application_time", "figure_of_merit")  # what nearly every application prints
Check = Callable[[str], object]  # raises `ConfigError` with what is wrong with an answer


def claim(
    action: str, *, report: str, yes: bool, new: bool, campaigns: Sequence[str] | None, **given: Any
) -> int:
    """Make a claim from flags, on a terminal also from questions; show its verdicts; write it if wanted.

    With a title it is the first one of a new report.

    Raises `ConfigError`, with the nearest word, for each word that the report does not use; nothing is
    written then.
    """
    assert action == "new"
    project.here()  # what is found from now on is in the project of the working folder
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not yes
    if given["title"]:
        loaded, before = sentence.begun(report, *_facts(given, asking))
        path = project.claims(report)
    else:
        path = sentence.path_of(report)
        loaded, before = load_report(path), path.read_text(encoding="utf-8")
    entry = _entry(loaded, _asked(given, loaded, new=new) if asking else given)
    sentence.check_words(entry, loaded, new=new)
    text = sentence.as_text(entry)
    drafted = sentence.load_with(path, f"{before.rstrip()}\n\n{text}", [entry["id"]])
    head = f"{before}\n" if given["title"] else ""
    print(f"{os.path.relpath(path)} gets:\n\n{head}{text}")
    testing = _preview(drafted, entry["id"], campaigns or _campaigns(report))
    if asking and _ask("write it", "no").lower() not in ("y", "yes"):
        print("nothing written")
        return FINE
    if not (asking or yes):
        print("nothing written; --yes writes it")
        return FINE
    sentence.append(path, [text], [entry["id"]], before if given["title"] else None)
    print(pasteable(f"written; {_registered(report, testing)}then: benchbook verdicts --report {report}"))
    return FINE


def _registered(report: str, campaigns: Sequence[str]) -> str:
    """Name a new report in the configuration, with the campaigns that test it; say so, or what to do."""
    if report in load_config()["reports"]:
        return ""
    entry = f"`{report}: [{', '.join(campaigns)}]` under `reports`"
    if sentence.register(project.root() / "config" / "config.yaml", report, campaigns):
        return f"config/config.yaml now has {entry}; "
    return f"add {entry} in config/config.yaml, "


def _campaigns(report: str) -> list[str]:
    """List the campaigns of the build that are for a report; for one that the build lacks, all with data.

    Those that are still to be built are among them if they are few, as after an import.
    """
    config = load_config()
    if report in config["reports"]:
        return list(config["reports"][report])
    late = [one for one in config["campaigns"] if not (project.processed(one) / "campaign.nc").is_file()]
    return [one for one in config["campaigns"] if len(late) <= _FEW or one not in late]


def _facts(given: dict[str, Any], asking: bool) -> tuple[str, str, str]:
    for key, what in (("publisher", "who published the report"), ("date", "when, such as May 2026")):
        if not given[key] and asking:
            given[key] = _ask(what, "", _given)
    if missing := [f"--{key}" for key in ("publisher", "date") if not given[key]]:
        raise ConfigError.at(sentence.NEW, 0, f"a new report lacks {', '.join(missing)}", "give them")
    return given["title"], given["publisher"], given["date"]


def _entry(report: Report, given: dict[str, Any]) -> dict[str, Any]:
    """Make the entry of the file from what flags or answers say."""
    missing = [name for name in ("statement", "topic", "quantity", "expect") if not given[name]]
    if missing:
        flags = ", ".join(f"--{name}" for name in missing)
        raise ConfigError.at(
            sentence.NEW, 0, f"lacks {flags}", "give them, or start it on a terminal without --yes"
        )
    expect, aggregate = sentence.expectation(given["expect"])
    name = given["id"] or sentence.identifier(report, given["topic"], given["statement"])
    entry: dict[str, Any] = {"id": name, "topic": given["topic"], "statement": given["statement"]}
    source = {"section": given["section"]} if given["section"] else {}
    source |= {"lines": [int(one) for one in re.findall(r"\d+", given["lines"])]} if given["lines"] else {}
    entry |= {"source": source} if source else {}
    entry |= {"quantity": given["quantity"]} | ({"variable": given["variable"]} if given["variable"] else {})
    entry |= {"aggregate": aggregate} if aggregate != "all" else {}
    if select := dict(_pair(one) for one in given["select"] or ()):
        entry["select"] = select
    if given["factor"]:
        varying = {"varying": list(given["varying"])} if given["varying"] else {}
        entry["compare"] = {"factor": given["factor"], **_sides(given)} | varying
    return entry | {"expect": expect}


def _sides(given: dict[str, Any]) -> dict[str, Any]:
    if given["quantity"] in ALONG_LEVELS:
        return {"order": [_level(one) for one in given["order"].split(",") if one.strip()]}
    sides = {side: [_level(one) for one in given[side].split(",")] for side in ("treatment", "baseline")}
    return {side: levels[0] if len(levels) == 1 else levels for side, levels in sides.items()}


def _pair(text: str) -> tuple[str, Any]:
    name, equals, level = text.partition("=")
    if not equals:
        raise ConfigError.at("--select", 0, f"{text!r} is no FACTOR=LEVEL", "write it like nodes=32")
    levels = [_level(one) for one in level.split(",")]
    return name.strip(), levels[0] if len(levels) == 1 else levels


def _level(text: str) -> str | int | float:
    text = text.strip()
    if re.fullmatch(r"\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"\d+\.\d+", text) else text


def _preview(report: Report, name: str, campaigns: Sequence[str]) -> list[str]:
    """Print the verdict of the new claim on each campaign that has runs for it; return these campaigns."""
    built(campaigns)
    rows: list[list[str]] = []
    reasons: list[str] = []
    silent: list[str] = []
    for campaign in campaigns:
        print(f"reading {campaign}", file=sys.stderr)
        loaded = load_campaign(campaign)
        (found,) = (one for one in evaluate(report, loaded) if one.claim == name)
        reasons.append(f"  {campaign}: {found.reason.replace(f' of {campaign}', '')}")
        if found.verdict == "not tested":
            asked = report.claim(name).question
            silent.append(reasons.pop() + _differing(asked, loaded) + _measured(asked, loaded))
        else:
            reasons[-1] += _several(report.claim(name).question, loaded, found.runs)
            word = displayed(found.verdict)
            rows.append([campaign, found.expected_text, found.estimate_text, str(found.n or ""), word])
    if rows:
        print(table([["campaign", "expected", "estimate", "n", "verdict"], *rows]), *reasons, sep="\n")
    else:
        print(f"no campaign of this build tests it{':' * bool(silent)}", *silent[:_CHOICES], sep="\n")
    print()
    return [row[0] for row in rows]


def _several(question: Question, campaign: Campaign, runs: Sequence[str]) -> str:
    """Say which applications answered a claim that names none, and how it names one."""
    found = sorted(set(campaign.runs["application"][campaign.runs["run"].isin(runs)]))
    if len(found) < 2 or "application" in (question.select or {}):
        return ""
    return f"; it names no application, so {', '.join(found)} answered: --select application={found[0]}"


def _measured(question: Question, campaign: Campaign) -> str:
    """Say which measures the runs of a claim have, if they have none of its own."""
    if question.variable not in MEASURES or _has(question.variable, question, campaign):
        return ""
    found = [name for name in _USUAL if _has(name, question, campaign)]
    if not found:
        return ""
    return f"; they have {' and '.join(found)}: --variable {found[0]}"


def _has(variable: str, question: Question, campaign: Campaign) -> bool:
    try:
        return not measured(replace(question, variable=variable, members=()), campaign).empty
    except NotCoveredError:
        return False


def _differing(question: Question, campaign: Campaign) -> str:
    """Say which factors change with the compared one in all runs, and how the claim allows it."""
    names = also_differ(question, campaign)
    if not names:
        return ""
    listed, flags = ", ".join(map(label, names)), " ".join(f"--varying {name}" for name in names)
    return f"; its most similar runs also differ in {listed}: {flags} allows it"


def _asked(given: dict[str, Any], report: Report, *, new: bool) -> dict[str, Any]:
    """Ask on the terminal for what no flag gives, with the report's own words to choose from."""
    answers = dict(given)
    levels = sentence.vocabulary(report)

    def ask(
        key: str, what: str, check: Check = _given, words: Sequence[object] = (), otherwise: str = ""
    ) -> str:
        if not answers[key]:
            listed = ", ".join(map(str, words[:_CHOICES])) + (", …" if len(words) > _CHOICES else "")
            answers[key] = _ask(f"{what}{f' ({listed})' if listed else ''}", otherwise, check)
        return str(answers[key])

    def word(key: str) -> Check:
        return lambda text: sentence.check_words({key: _given(text)}, report, new=new)

    def selected(text: str) -> None:
        sentence.check_words({"select": dict(map(_pair, text.split()))}, report, new=new)

    def of_factor(level: str) -> None:  # or some, separated by commas
        selected(f"{factor}={_given(level).replace(' ', '')}")

    ask("statement", "the sentence, in your words")
    ask("section", "section or slide on which it is", str)
    ask("topic", "topic", word("topic"), sentence.topics(report))
    quantity = ask("quantity", "what is estimated", word("quantity"), list(QUANTITIES), "speedup")
    if quantity not in ("level", "set"):
        known = list(levels) or [row.name for row in TABLE]
        # A number is a level of every factor: only the factor's name can be wrong.
        factor = ask("factor", "the factor that is compared", lambda text: selected(f"{text}=0"), known)
        if quantity in ALONG_LEVELS:
            ask("order", "levels in order, separated by commas", of_factor, levels.get(factor, ()))
        else:
            ask("treatment", "the level that is ahead", of_factor, levels.get(factor, ()))
            ask("baseline", "the level that it is compared with", of_factor, levels.get(factor, ()))
    else:
        ask("variable", "which measure (docs/reference/measures.md)", word("variable"))
    if not answers["select"]:
        answers["select"] = _ask("only these runs, like nodes=32 case=3cars", "", selected).split()
    ask("expect", "the figure as printed: over 5, about 24 %, up to 135, rising", sentence.expectation)
    return answers


def _given(text: str) -> str:
    if not text:
        raise ConfigError.at(sentence.NEW, 0, "nothing is given", "answer, or end with Ctrl-C")
    return text


def _ask(what: str, otherwise: str, check: Check = str) -> str:
    """Ask until the answer passes; at the end of the input take what there is without one."""
    while True:
        try:
            text = input(f"{what}{f' [{otherwise}]' if otherwise else ''}: ").strip() or otherwise
        except EOFError:
            return otherwise
        try:
            check(text)
        except ConfigError as error:
            print(*(f"  {one.found}; {one.remedy}" for one in error.faults), sep="\n")
        else:
            return text
