"""Documents held against a JSON schema: every violation with its line, in the words of the file."""

from __future__ import annotations

import datetime
import difflib
import importlib
import math
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from analysis.base.errors import Fault
from analysis.base.yaml import Where, line_at, read

_LONGEST = 200  # characters of a value that a message repeats


def violations(document: Any, schema: str | Path, source: str, lines: Mapping[Where, int]) -> Iterator[Fault]:
    """Hold a document against a schema.

    Parameters
    ----------
    document : object
        Mappings, lists and scalars.
    schema : path
        JSON schema in YAML. A ``description`` in it becomes the remedy of what it describes.
    source : str
        Name that faults carry.
    lines : mapping
        Line of every value, as `analysis.base.yaml.read` gives them.

    Yields
    ------
    Fault
        In the order of the places in the document.
    """
    rules = read(str(schema))[0]  # plain dicts: Snakemake hands its own mapping type over
    for where in _odd_keys(document, ()):
        name, key = ".".join(map(str, where[:-1])) or "the file", where[-1]
        what = f"{name}: the key {_shown(key)} is no text"
        yield Fault(source, line_at(lines, (*where[:-1], str(key))), what, "put it in quotes")
    for error in sorted(_validator(rules).iter_errors(document), key=lambda error: str(error.absolute_path)):
        where = tuple(error.absolute_path)
        name = ".".join(map(str, where)) or "the file"
        hint = error.schema.get("description") if isinstance(error.schema, dict) else None
        hint = " ".join(str(hint or f"see {schema}").split())
        for place, found, remedy in _told(error, where, hint):
            yield Fault(source, line_at(lines, place), f"{name}: {found}", remedy)


def _odd_keys(value: Any, where: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Find keys that YAML reads as numbers, dates or booleans: no rule of a schema speaks of them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _odd_keys(item, (*where, key))
            else:
                yield (*where, key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _odd_keys(item, (*where, index))


def _told(error: Any, where: Where, hint: str) -> Iterator[tuple[Where, str, str]]:
    """Say what an error of the library means: place, finding, remedy."""
    value, rule = error.instance, error.validator
    if rule == "additionalProperties" and error.validator_value is False:
        known = error.schema.get("properties", {})
        for key in [key for key in value if key not in known and isinstance(key, str)]:
            near = difflib.get_close_matches(key, known, 1, 0.7)
            yield (*where, key), f"unknown key {key!r}", _meant(near, known)
    elif rule == "required":
        key = next(key for key in error.validator_value if error.message.startswith(repr(key)))
        about = error.schema.get("properties", {}).get(key, {})
        told = about.get("description") if isinstance(about, Mapping) else None
        yield where, error.message, f"add it: {' '.join(told.split())}" if told else hint
    elif rule == "oneOf" and (names := _alternatives(error.validator_value)):
        if isinstance(value, Mapping):  # that it is none is told anyway
            yield where, f"needs exactly one of {', '.join(names)}", hint
    elif rule in ("anyOf", "oneOf"):
        yield where, f"{_shown(value)} cannot stand here", hint
    elif rule == "type" and not isinstance(value, str | list | Mapping):
        wanted = error.validator_value
        texts = "string" in ([wanted] if isinstance(wanted, str) else wanted)
        quoted = "put it in quotes, if it is meant as text: " if texts and value is not None else ""
        yield where, f"{_shown(value)} is not of type {_types(wanted)}", quoted + hint
    else:
        yield where, _cut(error.message), hint


def _meant(near: list[str], known: Mapping[str, Any]) -> str:
    return f"is {near[0]!r} meant?" if near else f"known: {', '.join(known) or 'none'}"


def _alternatives(rules: list[Mapping[str, Any]]) -> list[str]:
    """Return the keys of which one is needed, where that is all that the rules say."""
    return [rule["required"][0] for rule in rules if set(rule) == {"required"}]


def _types(wanted: str | list[str]) -> str:
    return ", ".join(repr(each) for each in ([wanted] if isinstance(wanted, str) else wanted))


def _shown(value: Any) -> str:
    """Write a value as YAML does, on one line and not endlessly."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, datetime.date):
        return f"{value.isoformat()} (a date)"
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"


@cache
def _types_of_yaml() -> Any:
    """Return the library's notion of types but for numbers: 3.0 is no integer, and NaN is no number."""
    checker = jsonschema().Draft202012Validator.TYPE_CHECKER
    checker = checker.redefine("integer", lambda _, value: type(value) is int)
    return checker.redefine(
        "number", lambda _, value: type(value) is int or (type(value) is float and math.isfinite(value))
    )


def _validator(rules: Any) -> Any:
    library = jsonschema()
    kind = library.validators.extend(library.Draft202012Validator, type_checker=_types_of_yaml())
    return kind(rules)


@cache
def jsonschema() -> ModuleType:
    """Import jsonschema without its check of URIs.

    Where the package for that check is installed, which JupyterLab sees to, jsonschema compiles a
    grammar when it is imported: 1.5 s at every start of Snakemake, and no schema here asks for it.
    """
    unwanted = "rfc3987_syntax"
    if unwanted in sys.modules or "jsonschema" in sys.modules:
        return importlib.import_module("jsonschema")
    sys.modules[unwanted] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("jsonschema")
    finally:
        del sys.modules[unwanted]
