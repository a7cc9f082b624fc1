"""Verdict records as the claims engine writes them, checked before anything is drawn from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from analysis.base.errors import ConfigError, Fault
from analysis.site.words import EVIDENCE, VERDICTS

SCALES = ("ratio", "share", "level", "set", "word")
_NUMBERS = ("estimate", "low", "high", "expected", "expected_low", "expected_high")


@dataclass(frozen=True, slots=True)
class Input:
    """A raw file that an estimate was computed from."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Record:
    """One verdict: one claim, judged on one campaign of one evidence class.

    Numbers are in `unit` (ratios have none) and None where there is none; `base` is the absolute
    value that a ratio refers to, e.g. ``(53.8, "GFLOP/s", "104³")``; `differs` names what is not as in the
    report, `note` what a reader should know of the claim.
    """

    claim: str
    statement: str
    verdict: str
    evidence: str = ""
    ids: tuple[str, ...] = ()
    report: str = ""
    report_title: str = ""
    topic: str = ""
    application: str = ""
    factor: str = ""
    section: str = ""
    quantity: str = ""
    scale: str = "word"
    campaign: str = ""
    cluster: str = ""
    reason: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    expected_low: float | None = None
    expected_high: float | None = None
    unit: str = ""
    estimate_text: str = ""
    expected_text: str = ""
    n: int | None = None
    n_baseline: int | None = None
    base: tuple[float, str, str] | None = None
    compared: str = ""
    arithmetic: str = ""
    differs: tuple[str, ...] = ()
    note: str = ""
    page: str = ""
    runs: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()

    @property
    def tested(self) -> bool:
        """True if anything was computed, whatever came of it."""
        return self.verdict != "not tested"

    @property
    def tone(self) -> str:
        """Tone of the verdict's word."""
        return VERDICTS[self.verdict].tone

    @property
    def sign(self) -> str:
        """Sign of the verdict's word."""
        return VERDICTS[self.verdict].sign


def read(records: Sequence[Mapping[str, Any]], pages: frozenset[str]) -> list[Record]:
    """Check verdict records.

    Parameters
    ----------
    records : sequence of mapping
        JSON objects of the claims engine; unknown keys are left alone.
    pages : frozenset of str
        Names of the pages that a record may point to.

    Returns
    -------
    list of Record
        In the order given.

    Raises
    ------
    ConfigError
        One fault for each word, scale, number or page that cannot be drawn, by position in the list.
    """
    faults: list[Fault] = []
    out: list[Record] = []
    for position, raw in enumerate(records, start=1):
        wrong = list(_wrong(raw, pages))
        if wrong:
            faults += [
                Fault("verdicts", position, f"{raw.get('claim', 'a record')!s}: {what}", todo)
                for what, todo in wrong
            ]
        else:
            out.append(_record(raw))
    if faults:
        raise ConfigError(*faults)
    return out


def _wrong(raw: Mapping[str, Any], pages: frozenset[str]) -> list[tuple[str, str]]:
    found = [
        (f"has no {key!r}", "every verdict needs it")
        for key in ("claim", "statement", "verdict")
        if not isinstance(raw.get(key), str) or not raw[key]
    ]
    verdict, evidence = raw.get("verdict"), raw.get("evidence") or ""
    if isinstance(verdict, str) and verdict and verdict not in VERDICTS:
        found.append((f"verdict {verdict!r} is not a word of verdicts", "use " + ", ".join(VERDICTS)))
    elif evidence not in EVIDENCE and (evidence or verdict != "not tested"):
        found.append((f"evidence {evidence!r} is not a class", "use " + ", ".join(EVIDENCE)))
    elif evidence and verdict and verdict not in EVIDENCE[evidence].words:
        words = ", ".join(sorted(EVIDENCE[evidence].words))
        found.append((f"verdict {verdict!r} is not a word for {evidence} evidence", f"use {words}"))
    if (raw.get("scale") or "word") not in SCALES:
        found.append((f"scale {raw['scale']!r} is not known", "use " + ", ".join(SCALES)))
    for key in _NUMBERS:
        value = raw.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            found.append((f"{key} is {value!r}, no number", "write a number or null"))
    if raw.get("page") and raw["page"] not in pages:
        found.append(
            (f"page {raw['page']!r} is not built", f"pages are {', '.join(sorted(pages)) or 'none'}")
        )
    return found


def _record(raw: Mapping[str, Any]) -> Record:
    names = {f.name for f in fields(Record)}
    values = {k: v for k, v in raw.items() if k in names and v is not None}
    source = raw.get("source") or {}
    section = source.get("section") or source.get("slide") or "" if isinstance(source, Mapping) else source
    base = raw.get("base")
    values |= {
        "ids": tuple(raw.get("ids") or (raw["claim"],)),
        "section": str(section),
        "base": (base["value"], base.get("unit") or "", base.get("label") or "") if base else None,
        "differs": tuple(map(str, raw.get("differs") or ())),
        "runs": tuple(raw.get("runs") or ()),
        "inputs": tuple(Input(i["path"], i.get("sha256") or "") for i in raw.get("inputs") or ()),
    }
    # An estimate that is not finite has no place on a scale and no meaning as a number.
    values |= {k: None for k in _NUMBERS if k in values and not math.isfinite(values[k])}
    return Record(**values)
