"""What one campaign says about one claim: from the evaluation to the site, and as JSON in between.

Imports neither pandas nor xarray: a stage that only shows verdicts starts without them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from analysis.base.errors import ConfigError, Fault
from analysis.base.files import write_text
from analysis.base.words import percent

# Of the verdicts that pass as discoveries, so many may be false.
RATE = 0.05


@dataclass(frozen=True)
class Verdict:
    """The verdict of one campaign on one claim.

    The fields are those of ``benchbook verdicts --json``; numbers are in `unit`, None if there is no number.
    `sentence` states the result in words. `base` is the absolute value that a ratio refers to,
    ``value unit label``. `reading` states what a campaign's view pooled or asked instead, `note` what a
    reader should know about the claim. `source` has the ``section`` and ``lines`` of the report, `inputs`
    one ``path`` and ``sha256`` per raw file or run, `sources` the ``title`` and ``address`` of published
    figures.

    `distance` is the distance from the claim's conditions (same, scaled, analogue, out of reach; empty if
    no run tests the claim), `distances` that of each factor, ``factor wanted found distance why``. `bound` is
    the largest speed-up that the set-up could have shown; `about` is the subject of the claim, software or
    machine.

    `level` is the level of the interval; `days` is the number of days with runs, None if unknown. `p` is the
    p-value of the word, `q` the same after control of false discoveries; `discovery` marks a verdict that is
    not significant among all that were tested.
    """

    claim: str
    report: str
    evidence: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    expected: float | None
    unit: str
    n: int | None
    campaign: str
    ids: list[str] = field(default_factory=list)
    report_title: str = ""
    topic: str = ""
    application: str = ""
    factor: str = ""
    statement: str = ""
    note: str = ""
    source: dict[str, Any] = field(default_factory=dict)
    quantity: str = ""
    scale: str = "word"
    cluster: str = ""
    reason: str = ""
    expected_low: float | None = None
    expected_high: float | None = None
    estimate_text: str = ""
    sentence: str = ""
    expected_text: str = ""
    n_baseline: int | None = None
    base: dict[str, Any] | None = None
    compared: str = ""
    reading: list[str] = field(default_factory=list)
    arithmetic: str = ""
    page: str | None = None
    level: float | None = None
    days: int | None = None
    p: float | None = None
    q: float | None = None
    discovery: str = ""
    runs: list[str] = field(default_factory=list)
    inputs: list[dict[str, str]] = field(default_factory=list)
    distance: str = ""
    distances: list[dict[str, str]] = field(default_factory=list)
    bound: float | None = None
    about: str = ""
    report_publisher: str = ""
    report_date: str = ""
    report_url: str = ""
    sources: list[dict[str, str]] = field(default_factory=list)

    @property
    def tested(self) -> bool:
        """Whether anything was computed, whatever came of it."""
        return self.verdict != "not tested"

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], source: str) -> Verdict:
        """Make a verdict of a JSON object as `as_dict` returns it; fields with a default may be left out.

        Raises ConfigError with one line for each field that is missing, unknown or of another type; `source`
        is the file that the lines name.
        """
        faults = list(_faults(raw, source))
        if faults:
            raise ConfigError(*faults)
        return cls(**raw)


# Annotation of a field -> what JSON may hold there, and how that is called.
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"),
    "str | None": ((str, type(None)), "text or null"),
    "float | None": ((int, float, type(None)), "a number or null"),
    "int | None": ((int, type(None)), "a whole number or null"),
    "list[str]": ((list,), "a list of texts"),
    "list[dict[str, str]]": ((list,), "a list of objects"),
    "dict[str, Any]": ((dict,), "an object"),
    "dict[str, Any] | None": ((dict, type(None)), "an object or null"),
}
_ENTRIES: Mapping[str, type] = {"list[str]": str, "list[dict[str, str]]": dict}


def _faults(raw: Mapping[str, Any], source: str) -> Iterator[Fault]:
    name = f"verdict {raw.get('claim', 'without a claim')!s}"
    known = {f.name: f for f in fields(Verdict)}
    remedy = "make the verdicts again: `make datasets`"
    for key in raw:
        if key not in known:
            yield Fault(source, 0, f"{name} has an unknown field {key!r}", remedy)
    for key, declared in known.items():
        if key not in raw:
            if declared.default is MISSING and declared.default_factory is MISSING:
                yield Fault(source, 0, f"{name} has no {key!r}", remedy)
            continue
        value, kind = raw[key], str(declared.type)
        types, meaning = _TYPES[kind]
        whole = isinstance(value, types) and not isinstance(value, bool)
        if whole and kind in _ENTRIES:
            whole = all(isinstance(one, _ENTRIES[kind]) for one in value)
        if not whole:
            yield Fault(source, 0, f"{name}: {key!r} is {value!r}, not {meaning}", remedy)


def finite(value: float | None) -> float | None:
    """Return a number as verdicts store it: None if it is not finite."""
    return value if value is not None and math.isfinite(value) else None


def controlled(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Control false discoveries among the verdicts of each report and evidence class: of all its campaigns.

    `q` is the p-value by Benjamini and Hochberg (1995), over all that were tested, also those that cannot
    tell; above 5 % `discovery` says so. The word stays: it is that of the claim's own test, and which other
    verdicts it is read with is the reader's choice.
    """
    from analysis.estimates.family import adjusted

    families: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(verdicts):
        if one.p is not None:
            families.setdefault((one.report, one.evidence), []).append(at)
    out = [replace(one, q=None, discovery="") for one in verdicts]
    for family in families.values():
        p_values = [verdicts[at].p or 0.0 for at in family]
        for at, p, q in zip(family, p_values, adjusted(p_values), strict=True):
            text = f"not significant among {len(family)} tested at {percent(RATE)} false discoveries"
            out[at] = replace(out[at], q=q, discovery=text if p < 1 and q > RATE else "")
    return out


def write_verdicts(verdicts: Sequence[Verdict], out: Path) -> None:
    """Write verdicts as the workflow's stages exchange them: sorted JSON, the same bytes every time."""
    write_text(out, as_json(verdicts))
    print(f"{len(verdicts)} verdicts")


def as_json(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts as a JSON list, a field a line."""
    records = [verdict.as_dict() for verdict in verdicts]
    return json.dumps(records, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read_verdicts(path: Path) -> list[Verdict]:
    """Read verdicts as `write_verdicts` writes them; ConfigError if the file is no list of verdicts."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError.at(str(path), 0, f"cannot be read: {error}", "make the verdicts again") from None
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise ConfigError.at(str(path), 0, "is no list of objects", "make the verdicts again")
    return [Verdict.from_dict(one, str(path)) for one in records]
