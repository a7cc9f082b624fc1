"""YAML with the line that every value stands on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from analysis.errors import ConfigError, Fault

# Position of a value in a YAML document: the keys and indices that lead to it.
Where = tuple[str | int, ...]


def read(path: str, source: str | None = None) -> tuple[Any, dict[Where, int]]:
    """Read a file, once until it changes.

    Parameters
    ----------
    path : str
    source : str, optional
        Name that faults carry; by default `path`.

    Returns
    -------
    object, dict
        The document, which callers must not change, and the line of every value.

    Raises
    ------
    ConfigError
        If it cannot be read, is not YAML or repeats a key.
    """
    source = source or path
    try:
        return _parse(path, Path(path).stat().st_mtime_ns, source)
    except OSError as error:
        raise ConfigError.at(source, 0, error.strerror or str(error), "check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigError.at(source, 0, "is not UTF-8 text", "save it as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "is not YAML"
        line = 0 if mark is None else mark.line + 1
        raise ConfigError.at(source, line, str(what), "mend the YAML syntax here or just above") from error


def line_at(lines: Mapping[Where, int], where: Where) -> int:
    """Return the line of the nearest enclosing value that stands in the file, or 0."""
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where, 0)


@lru_cache(maxsize=32)
def _parse(path: str, stamp: int, source: str) -> tuple[Any, dict[Where, int]]:
    loader = yaml.SafeLoader(Path(path).read_text(encoding="utf-8"))
    try:
        node = loader.get_single_node()
        lines: dict[Where, int] = {}
        faults: list[Fault] = []
        if node is None:
            raise ConfigError.at(source, 0, "is empty", "see the documentation for what it should hold")
        _walk(node, (), lines, faults, source)
        if faults:
            raise ConfigError(*faults)
        return loader.construct_document(node), lines
    finally:
        loader.dispose()


def _walk(node: yaml.Node, where: Where, lines: dict[Where, int], faults: list[Fault], source: str) -> None:
    """Note the line of every value; a repeated key would otherwise silently win over the first."""
    lines[where] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*where, index), lines, faults, source)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*where, key.value)
            if place in lines:
                line = key.start_mark.line + 1
                found = f"key {key.value!r} was given before (line {lines[place]})"
                faults.append(Fault(source, line, found, "keep one of the two"))
            _walk(value, place, lines, faults, source)
            lines[place] = key.start_mark.line + 1
