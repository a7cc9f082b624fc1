"""A claim from a sentence: what a printed figure allows, the words of a report, an entry for its file."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.files import write_text
from analysis.base.models import known
from analysis.base.words import Spellings, meant
from analysis.claims.model import NOT_STATED, Report, load_report
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.quantities import QUANTITIES
from analysis.schema.factors import SPELLINGS, TABLE

_NUMBER = r"([+-]?\d+(?:\.\d+)?)"
_UNIT = r" ?(%|x|×|times|[A-Za-z]\S*)?"
# A printed figure with its words -> how it is expected.
_FIGURE = re.compile(
    rf"(?P<words>up to|at least|over|more than|at most|under|less than|almost|nearly|about|around|~)?"
    rf" ?{_NUMBER}(?: ?(?:to|-) ?{_NUMBER})?{_UNIT}"
)
NEW = "benchbook claim new"  # the source of what is wrong with a claim that is in no file yet
_NO_END = (
    "claims cannot be added at its end",
    "let `claims:` be its last key, in block style, or move it aside",
)
_ADDS = "; --new adds it"
_WORDS = ("equal", "different", "rising", "falling")
_AT_LEAST = ("at least", "over", "more than")
_AT_MOST = ("at most", "under", "less than")
_NEARLY = ("almost", "nearly")
_ABOUT = ("about", "around", "~")
_RELATIVE = ("%", "x", "×", "times")  # which the quantity implies


def expectation(text: str) -> tuple[dict[str, Any], str]:
    """Read a figure as a report prints it; return the entry ``expect`` and how strata are aggregated.

    A figure stands for every value that rounds to it; ``about`` and the like widen it by a whole unit of its
    last digit; ``almost 5`` is from what rounds to 5 up to 5; ``up to`` is the largest of all strata.

    Raises
    ------
    ConfigError
        If the text has no figure and is none of ``equal different rising falling``.

    Examples
    --------
    >>> expectation("about 24")
    ({'relation': 'range', 'value': 24, 'low': 23, 'high': 25}, 'all')
    >>> expectation("up to 135 %")
    ({'relation': 'range', 'value': 135, 'low': 134.5, 'high': 135.5}, 'max')
    >>> expectation("over 5 times")
    ({'relation': 'at-least', 'value': 5}, 'all')
    """
    if text in _WORDS:
        return {"relation": text} | ({"tolerance": "5%"} if text == "equal" else {}), "all"
    found = _FIGURE.fullmatch(" ".join(text.split()))
    if found is None:
        remedy = f"write it as printed: 'over 5', 'about 24 %', 'up to 135', '2 to 3', {', '.join(_WORDS)}"
        what = "is not understood" if re.search(r"\d", text) else "has no figure"
        raise ConfigError.at("--expect", 0, f"{text!r} {what}", remedy)
    words, first, last, unit = found["words"] or "", Decimal(found[2]), found[3], found[4] or ""
    tail = {"unit": unit} if unit and unit not in _RELATIVE else {}
    if words in (*_AT_LEAST, *_AT_MOST):
        return {
            "relation": "at-least" if words in _AT_LEAST else "at-most",
            "value": _plain(first),
        } | tail, "all"
    step = Decimal(1).scaleb(int(first.as_tuple().exponent))
    low, high = first - step / 2, first + step / 2
    if last is not None:
        low, high = first, Decimal(last)
        if low > high:
            remedy = f"write '{last} to {first}'"
            raise ConfigError.at("--expect", 0, f"{text!r} ends before it begins", remedy)
    elif words in _ABOUT:
        low, high = first - step, first + step
    elif words in _NEARLY:
        high = first
    entry: dict[str, Any] = {"relation": "range"} | ({} if last else {"value": _plain(first)})
    return entry | {"low": _plain(low), "high": _plain(high)} | tail, "max" if words == "up to" else "all"


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def topics(report: Report) -> list[str]:
    """Return the topics that a new claim can have: those of the report, then those of all factors."""
    own = [claim.topic for claim in report.claims]
    return list(dict.fromkeys([*own, *(topic for row in TABLE for topic in row.topics)]))


def vocabulary(report: Report) -> dict[str, list[Any]]:
    """Return the levels that the claims of a report use, by factor, as the report spells them."""
    found: dict[str, dict[Any, None]] = {}
    for claim in report.claims:
        compare = claim.question.compare
        named: list[tuple[str, Any]] = [*claim.conditions.items(), *(claim.question.select or {}).items()]
        if compare:
            named += [(compare.factor, level) for level in compare.levels]
            named += [(name, level) for one in compare.where for name, level in one.items()]
        for name, levels in named:
            for level in levels if isinstance(levels, list | tuple) else [levels]:
                if not isinstance(level, Mapping) and level != NOT_STATED:
                    found.setdefault(name, {})[level] = None
    return {name: list(levels) for name, levels in found.items()}


def check_words(entry: Mapping[str, Any], report: Report, *, new: bool) -> None:
    """Refuse an unknown quantity, measure or factor, and a topic or level that the report does not use.

    With `new`, new topics and levels are accepted. The entry may be in part. Raises `ConfigError` with one
    line for each such word, with the option that gave it and the nearest word.
    """
    levels, factors = vocabulary(report), [row.name for row in TABLE]
    faults = []
    measures = SETS if entry.get("quantity") == "set" else {**MEASURES, **SETS}
    for key, words in (("quantity", list(QUANTITIES)), ("variable", sorted(measures))):
        if key in entry and entry[key] not in words:
            what = "measure" if key == "variable" else key
            faults.append(_unknown(f"--{key}", what, entry[key], words))
    if "topic" in entry and entry["topic"] not in topics(report) and not new:
        faults.append(_unknown("--topic", "topic of this report", entry["topic"], topics(report), _ADDS))
    for name in (entry.get("compare") or {}).get("varying", ()):
        if name not in factors:
            faults.append(_unknown("--varying", "factor", name, factors, near=SPELLINGS))
    for option, name, level in _levels(entry):
        if name not in factors:
            place = option if option == "--select" else "--factor"
            faults.append(_unknown(place, "factor", name, factors, near=SPELLINGS))
        elif level in ("", None):
            faults.append(Fault(option, 0, f"no level of {name} is given", "give one"))
        elif level not in levels.get(name, [level]) and not isinstance(level, int | float) and not new:
            faults.append(_unknown(option, f"level of {name} in this report", level, levels[name], _ADDS))
    if faults:
        raise ConfigError(*dict.fromkeys(faults))  # a factor is named by each of its levels


def _levels(entry: Mapping[str, Any]) -> Iterable[tuple[str, str, Any]]:
    """Yield the levels of an entry, each with its option and its factor."""
    compare = entry.get("compare") or {}
    named = [("--select", *pair) for pair in entry.get("select", {}).items()]
    sides = [side for side in ("treatment", "baseline", "order") if side in compare]
    named += [(f"--{side}", compare["factor"], compare[side] or [""]) for side in sides]
    for option, name, levels in named:
        yield from ((option, name, level) for level in (levels if isinstance(levels, list) else [levels]))


def _unknown(
    option: str,
    what: str,
    word: object,
    known: Sequence[object],
    more: str = "",
    near: Spellings | None = None,
) -> Fault:
    listed = ", ".join(map(str, known[:12])) + (", …" if len(known) > 12 else "")
    asked = meant(str(word), known, spellings=near or {})
    return Fault(option, 0, f"{word!r} is no {what}", f"{asked} known: {listed}{more}".strip())


def as_text(entry: Mapping[str, Any]) -> str:
    """Return an entry as a file of claims has it, with its indentation."""
    text = yaml.safe_dump(
        dict(entry), sort_keys=False, allow_unicode=True, width=100, default_flow_style=None
    )
    return "  - " + "\n    ".join(text.rstrip().splitlines()) + "\n"


def append(path: Path, texts: Sequence[str], ids: Sequence[str], before: str | None = None) -> None:
    """Add entries at the end of a file of claims; what is there stays, byte for byte.

    `before` is the content of a file that is still to be made.

    Raises
    ------
    ConfigError
        If the file would not load with the new claims in it; nothing is written then.
    """
    content = path.read_text(encoding="utf-8") if before is None else before
    text = content + ("" if content.endswith("\n") else "\n") + "".join(f"\n{one}" for one in texts)
    load_with(path, text, ids)
    write_text(path, text)


def register(path: Path, report: str, campaigns: Sequence[str]) -> bool:
    """Add a report and the campaigns that test it to the ``reports`` of a configuration, whose rest stays.

    Returns whether it was possible: the key must be a mapping on one line, or one in block style.
    """
    text = path.read_text(encoding="utf-8")
    entry = f"{report}: [{', '.join(campaigns)}]"
    wanted = yaml.safe_load(text)
    wanted["reports"] = {**(wanted.get("reports") or {}), report: list(campaigns)}
    for found, put in (
        (r"^reports: *\{ *\}", rf"reports: {{ {entry} }}"),
        (r"^reports: *\{(.*?) *\}", rf"reports: {{\1, {entry} }}"),
        (r"^(reports:.*\n)( +)", rf"\1\2{entry}\n\2"),
    ):
        changed = re.sub(found, put, text, count=1, flags=re.MULTILINE)
        try:
            if changed != text and yaml.safe_load(changed) == wanted:
                write_text(path, changed)
                return True
        except yaml.YAMLError:
            continue
    return False


def load_with(path: Path, text: str, ids: Sequence[str]) -> Report:
    """Load the report that a file of claims would be with this text, and with these claims in it."""
    with TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_text(text, encoding="utf-8")
        try:
            report = load_report(trial)
        except ConfigError as error:
            if any(one.found.startswith("did not find") or "YAML" in one.remedy for one in error.faults):
                raise ConfigError.at(os.path.relpath(path), 0, *_NO_END) from None
            there = len(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else 0
            raise ConfigError(*(_placed(one, path, there, ids) for one in error.faults)) from None
    if not set(ids) <= {claim.id for claim in report.claims}:
        raise ConfigError.at(os.path.relpath(path), 0, *_NO_END)
    return report


def _placed(fault: Fault, path: Path, there: int, ids: Sequence[str]) -> Fault:
    """Name the file of a fault, or the command if it is in a claim that the file does not have yet."""
    found = re.sub(r"^claims\.\d+\.", "", fault.found)
    if fault.line > there or any(f"claim {name!r}" in found for name in ids):
        return Fault(NEW, 0, found, fault.remedy)
    return Fault(os.path.relpath(path), fault.line, fault.found, fault.remedy)


def identifier(report: Report, topic: str, statement: str) -> str:
    """Make an id that the report does not have yet, from the topic and the sentence's first words."""
    words = re.findall(r"\d+\.\d+|[a-z0-9]+", f"{topic} {statement}".lower())
    short = [word for word in dict.fromkeys(words) if word not in _STOP][:6]
    base = "-".join([report.name, *short]).replace(".", "-")
    there = {name for claim in report.claims for name in (claim.id, *claim.ids)}
    return next(one for one in (base, *(f"{base}-{n}" for n in range(2, 1000))) if one not in there)


# Words that no id needs.
_STOP = frozenset(
    re.findall(r"\w+", "a an and as at by for in is it of on or than that the to with times fast faster")
)


def begun(name: str, title: str, publisher: str, date: str) -> tuple[Report, str]:
    """Begin a new report: return it without a claim, and the head of its file.

    Raises
    ------
    ConfigError
        If a report of this name is there, or the name cannot be one.
    """
    path = project.claims(name)
    where = os.path.relpath(path)
    if path.exists():
        raise ConfigError.at(where, 0, "there is such a report", "leave out --title, or take another name")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ConfigError.at(where, 0, f"{name!r} is no name of a report", "use a-z 0-9 -")
    facts = {"title": title, "publisher": publisher, "date": date}
    head = yaml.safe_dump({"report": facts}, sort_keys=False, allow_unicode=True, width=100)
    return Report(name, title, publisher, date, ()), f"{head}\nclaims:"


def path_of(report: str) -> Path:
    """Return the file of a report's claims; `ConfigError` with the nearest name if there is none."""
    path = project.claims(report)
    if not path.is_file():
        there = sorted(one.stem for one in path.parent.glob("*.yaml") if one.stem != "not_testable")
        remedy = f"{known(report, there)}; --title begins a new report"
        raise ConfigError.at(os.path.relpath(path), 0, "there is no such report", remedy)
    return path
