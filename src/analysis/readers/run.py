"""The record of a run, ``run.json``, next to its output: one object of factors and facts.

`records` reads it into a plain dict, to build campaigns of thousands of runs; `parse` makes the dataset of
one. Unknown keys are kept in the attribute ``extra``.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.files import RECORD, plain_name, printable
from analysis.base.models import Evidence
from analysis.base.words import meant
from analysis.readers.base import Faults
from analysis.readers.text import decode
from analysis.schema import registry
from analysis.schema.factors import ALIASES
from analysis.schema.records import RunRecord
from analysis.schema.stated import IMPORTED

EVIDENCE = get_args(Evidence)
REQUIRED = ("run", "campaign", "application", "evidence")

_SNIFF = re.compile(rb'\s*\{.*"(?:run|campaign)"\s*:', re.DOTALL)
_FACTOR = re.compile(rb'"(?:run|campaign|evidence|application)"\s*:')
_PAIR = re.compile(r'\s*("(?:[^"\\\n]|\\.)*")\s*:\s*')
_AFTER = re.compile(r"\s*[,}]")
_LAST_SECOND = 7_258_118_400  # the year 2200: beyond it stands a number that is no time

# The record's own words for some variables.
_ALIASES = {**ALIASES, "nodelist": "node_list"}
_TIMES = ("start", "end")


def _declared(dtype: str) -> list[str]:
    return [name for name, variable in registry.declared("run").items() if variable.dtype == dtype]


_TEXTS, _COUNTS = _declared("str"), _declared("i4")
_NUMBERS = [name for name in _declared("f8") if name != "elapsed"]  # that comes of start and end
_NOT_A_TIME = np.datetime64("NaT", "ns")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like a run's record."""
    if not head.lstrip().startswith(b"{"):
        return False
    return plain_name(name) == RECORD or bool(_SNIFF.match(head) and len(set(_FACTOR.findall(head))) > 1)


def ended_well(exit_code: int, extra: Mapping[str, Any]) -> bool:
    """Tell whether a job ended well by its exit code; the record of an imported one need not have any."""
    return exit_code == 0 or (exit_code < 0 and IMPORTED in extra)


def succeeded(exit_code: int, extra: Mapping[str, Any]) -> bool:
    """Tell whether a run ended well, and its record has no other reason why it cannot count."""
    return ended_well(exit_code, extra) and not extra.get("reason")


def records(data: bytes, source: str = "<memory>") -> tuple[dict[str, Any], Faults]:
    """Read one record into plain values: every variable of the kind ``run``, blank where it is silent.

    Values are str, int, float, bool or datetime64[ns] (UTC); ``extra`` has the other keys as JSON text.
    """
    text = decode(data)
    faults = Faults(source)
    given = _load(text, faults)
    # Documents of other tools have objects by these names.
    if all(name not in given or isinstance(given[name], dict) for name in REQUIRED):
        found = f"a JSON object with none of {', '.join(REQUIRED)}"
        raise ReadError.at(source, 1, found, "give the run.json of a run")
    known = {_ALIASES.get(key, key): (key, value) for key, value in given.items() if value is not None}
    take = _Fields(text, known, faults)
    record: dict[str, Any] = {name: take.text(name) for name in _TEXTS}
    record |= {name: take.count(name) for name in _COUNTS}
    record |= {name: take.number(name) for name in _NUMBERS}
    record |= _times(take)
    record["timing"] = take.flag("timing", True)
    # A record that says null ran without a profiler; one that is silent may be older than the key.
    if "profiler" in given and given["profiler"] is None:
        record["profiler"] = "none"
    _require(record, take)
    _misspelt(given, known, take)
    record["extra"] = json.dumps(
        {key: value for key, value in given.items() if _ALIASES.get(key, key) not in record}, sort_keys=True
    )
    return record, faults


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read one record: kind ``run``, dimension ``run`` of size 1."""
    record, faults = records(data, source)
    attrs = {"tool": "benchbook", "tool_version": "", "extra": record["extra"], **faults.attrs()}
    return registry.of_values({name: [value] for name, value in record.items()}, "run", attrs)


class _Fields:
    """Takes values of a declared type out of a record; a value of another type is a fault."""

    def __init__(self, text: str, known: dict[str, tuple[str, Any]], faults: Faults) -> None:
        self._text = text
        self._known = known
        self._faults = faults

    def line(self, name: str) -> int:
        """Return the line of a key, 0 where it is missing."""
        key = json.dumps(self._known.get(name, (name, None))[0])
        at = self._text.find(key)
        return self._text.count("\n", 0, at) + 1 if at >= 0 else 0

    def note(self, name: str, found: str, remedy: str) -> None:
        self._faults.note(self.line(name), found, remedy)

    def damage(self, name: str, wanted: str, remedy: str = "left blank") -> None:
        key, value = self._known.get(name, (name, None))
        shown = json.dumps(value)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        self._faults.damage(self.line(name), f"{key!r} is {shown}, not {wanted}", remedy)

    def missing(self, name: str) -> None:
        self._faults.damage(self.line(name), f"{name!r} is missing or empty", "add it: a record needs it")

    def text(self, name: str) -> str:
        value = self._known.get(name, ("", ""))[1]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = ",".join(value)
        if isinstance(value, str):
            if (text := printable(value)) != value:
                self._faults.damage(0, f"{name!r} holds half a character", "written as an escape")
            return text
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
            return str(value)
        self.damage(name, "a text")
        return ""

    def count(self, name: str) -> int:
        value = self._known.get(name, ("", -1))[1]
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
            return value
        self.damage(name, "a whole number of 32 bits")
        return -1

    def number(self, name: str) -> float:
        if name not in self._known:
            return math.nan
        value = self._known[name][1]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
            return float(value)
        # NaN is what the record may say for "not known"; infinity is not.
        if not (isinstance(value, float) and math.isnan(value)):
            self.damage(name, "a finite number")
        return math.nan

    def flag(self, name: str, default: bool) -> bool:
        value = self._known.get(name, ("", default))[1]
        if isinstance(value, bool):
            return value
        self.damage(name, "true or false", "taken as false")
        return False


def _times(take: _Fields) -> dict[str, Any]:
    """Read start and end, epoch seconds, and the time between."""
    seconds = {}
    for name in _TIMES:
        seconds[name] = take.number(name)
        if not (math.isnan(seconds[name]) or 0 <= seconds[name] < _LAST_SECOND):
            take.damage(name, "a time in epoch seconds")
            seconds[name] = math.nan
    elapsed = seconds["end"] - seconds["start"]
    if elapsed < 0:
        take.damage("end", "a time after 'start'", "elapsed left blank")
        elapsed = math.nan
    return {name: _time(value) for name, value in seconds.items()} | {"elapsed": elapsed}


def _time(seconds: float) -> np.datetime64:
    if math.isnan(seconds):
        return _NOT_A_TIME
    # A double resolves an epoch time to a quarter of a microsecond: more digits would be noise.
    return np.datetime64(round(seconds * 1e6) * 1000, "ns")


def _require(record: dict[str, Any], take: _Fields) -> None:
    for name in REQUIRED:
        if not record[name]:
            take.missing(name)
    if record["evidence"] and record["evidence"] not in EVIDENCE:
        take.damage("evidence", f"one of {', '.join(EVIDENCE)}")
        record["evidence"] = ""


def _misspelt(given: dict[str, Any], known: dict[str, Any], take: _Fields) -> None:
    """Name keys that are all but the name of something on which the record is silent."""
    silent = sorted(set(registry.declared("run")) - set(known))
    for key in given:
        if key not in RunRecord.model_fields and (near := meant(key, silent, 0.8)):
            take.note(key, f"unknown key {key!r}", near)


def _load(text: str, faults: Faults) -> dict[str, Any]:
    doubled: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            keys = [key for key, _ in pairs]
            doubled.extend(key for key in out if keys.count(key) > 1)
        return out

    try:
        given = json.loads(text, object_pairs_hook=collect)
    except (ValueError, RecursionError) as error:
        given = _salvage(text, faults, error)
    for key in doubled:
        at = text.rfind(json.dumps(key))
        faults.note(text.count("\n", 0, max(at, 0)) + 1, f"{key!r} is given twice", "the last value is kept")
    if not isinstance(given, dict):
        raise ReadError.at(faults.source, 1, "not a JSON object", "give the run.json of a run")
    return given


def _salvage(text: str, faults: Faults, error: Exception) -> dict[str, Any]:
    """Read the pairs of a broken object that stand whole: followed by a comma or the closing brace."""
    decoder = json.JSONDecoder()
    given: dict[str, Any] = {}
    start = text.find("{") + 1
    position = start if start and not text[: start - 1].strip() else len(text)
    while position < len(text):
        pair = _PAIR.match(text, position)
        try:
            if pair is None:
                raise ValueError("no key")
            key = json.loads(pair[1])
            value, end = decoder.raw_decode(text, pair.end())
            after = _AFTER.match(text, end)
            if after is None:
                raise ValueError("no end")
        except (ValueError, RecursionError):
            # The next line may be whole again.
            position = text.find("\n", (pair.end() if pair else position)) + 1 or len(text)
            continue
        given[key] = value
        position = after.end()
    if not given:
        raise ReadError.at(faults.source, 1, "not a JSON object", "give the run.json of a run") from error
    at = text.count("\n", 0, getattr(error, "pos", 0)) + 1
    faults.damage(
        at, f"broken JSON ({getattr(error, 'msg', 'a number too long')})", f"kept {len(given)} whole keys"
    )
    return given
