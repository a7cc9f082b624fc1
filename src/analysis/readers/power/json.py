"""Several JSON documents in one log, with the logger's time before or in them."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from analysis.base.errors import ReadError
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog
from analysis.readers.text import number

# Where a logger that wraps an answer puts the time, in lower case.
_KEYS = ("timestamp", "time", "datetime", "date", "collected")
_BEGIN = re.compile(r"\n[{\[]")
_TOO_MUCH = "a number too long or lists too deep"


def documents(log: MeterLog, clock: Stamps) -> Iterator[tuple[str, int, Any]]:
    """Give each whole document: its stamp (its own or on the line before; empty without), line, content."""
    text = log.data.decode("utf-8-sig", errors="replace")
    decoder = json.JSONDecoder()
    position, stamp, whole = 0, "", 0
    number, counted = 1, 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end]
        opening = min((i for i in (line.find("{"), line.find("[")) if i >= 0), default=-1)
        if opening < 0:
            stamp = line.strip() if clock.is_stamp(line) else stamp
            position = end + 1
            continue
        if clock.is_stamp(line[:opening].strip(" \t,:")):
            stamp = line[:opening].strip(" \t,:")
        number, counted = number + text.count("\n", counted, position), position
        try:
            document, position = decoder.raw_decode(text, position + opening)
        except (ValueError, RecursionError) as error:  # a number of 4,300 digits, lists a thousand deep
            at, what = getattr(error, "lineno", number), getattr(error, "msg", _TOO_MUCH)
            log.faults.damage(at, f"no JSON: {what}", "the document is not used")
            position = _next(text, end)
            continue
        whole += 1
        yield _own(document) or stamp, number, document
    if not whole and log.faults.faults:
        fault = log.faults.faults[0]
        raise ReadError.at(log.source, fault.line, fault.found, "no document could be saved")


def _own(document: Any) -> str:
    if not isinstance(document, dict):
        return ""
    lower = {str(key).lower(): value for key, value in document.items()}
    return next((str(lower[key]) for key in _KEYS if isinstance(lower.get(key), str | int | float)), "")


def _next(text: str, position: int) -> int:
    """Return where the next document begins at the left margin, after a broken one."""
    found = _BEGIN.search(text, position)
    return found.end() - 1 if found else len(text)


def numeric(value: Any) -> float:
    """Read a JSON number or a text with one; NaN for anything else."""
    if isinstance(value, str):
        return number(value)
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan
