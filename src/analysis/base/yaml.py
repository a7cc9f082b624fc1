"""YAML with the line of every value."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from analysis.base.errors import ConfigError, Fault

try:
    from yaml import CSafeLoader  # libyaml: a tenth of the time
except ImportError:
    from yaml import SafeLoader as CSafeLoader  # type: ignore[assignment]

# Position of a value in a YAML document: the keys and indices that lead to it.
Where = tuple[str | int, ...]

# More values than any configuration has: aliases of aliases multiply, and a small file fills the memory.
_MOST = 200_000
# Deeper than any configuration. libyaml's binding composes level by level on the stack, unguarded: some
# twenty thousand end the process.
_DEEPEST = 2_000
_REMEDIES = {
    r"'\t'": "indent with blanks, not with tabs",
    "tab character": "indent with blanks, not with tabs",
    "mapping values are not allowed": "put text that has ': ' in quotes, and indent keys of one level alike",
    "for the tag": "take the tag out: no objects are made from YAML",
}


def read(path: str, source: str | None = None) -> tuple[Any, dict[Where, int]]:
    """Read a file: the document, which callers must not change, and the line of every value.

    Faults carry the name `source`, by default the path from here. `ConfigError` if the file cannot be read,
    is not YAML, repeats a key or holds itself.
    """
    source = source or from_here(path)
    try:
        return _parse(path, Path(path).stat().st_mtime_ns, source)
    except OSError as error:
        raise ConfigError.at(source, 0, error.strerror or str(error), "check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigError.at(source, 0, "is not UTF-8 text", "save it as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or "is not YAML")
        line = 0 if mark is None else mark.line + 1
        remedies = (remedy for part, remedy in _REMEDIES.items() if part in what)
        remedy = next(remedies, "fix the YAML syntax here or just above")
        raise ConfigError.at(source, line, what, remedy) from error
    except RecursionError:
        raise ConfigError.at(source, 0, "is nested too deeply", "write it with fewer levels") from None


def from_here(path: str | Path) -> str:
    """Return how a file is called from the working folder: in full unless it is in or below it."""
    path = Path(path)
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def line_at(lines: Mapping[Where, int], where: Where) -> int:
    """Return the line of the nearest enclosing value in the file, or 0."""
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where, 0)


def texts(value: Any, where: Where = ()) -> Iterator[tuple[Where, str]]:
    """Walk through all texts of a document, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield (*where, key), str(key)
            yield from texts(item, (*where, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*where, index))


class _Marking(yaml.constructor.SafeConstructor):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct a value; the library names neither file nor line of a date that does not exist."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            raise yaml.MarkedYAMLError(
                problem=f"is no value: {error}", problem_mark=node.start_mark
            ) from error


class _Quick(_Marking, CSafeLoader):
    pass


class _Guarded(_Marking, yaml.SafeLoader):
    pass


# YAML 1.1 takes 3e9, 2.4e10 and 6e-7 for text. The hash of a commit, such as 9201e45, stays text: it has no
# dot, no sign and at least seven digits.
for _loader in (_Quick, _Guarded):
    _loader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?\d+(\.\d*[eE][-+]?|[eE][-+])\d+$|[-+]?\d{1,3}[eE]\d{1,2}$"),
        list("-+0123456789"),
    )


@lru_cache(maxsize=128)
def _parse(path: str, stamp: int, source: str) -> tuple[Any, dict[Where, int]]:
    text = Path(path).read_text(encoding="utf-8-sig")
    try:
        loader = (_Guarded if _may_be_deep(text) else _Quick)(text)
        node = loader.get_single_node()
        if node is None:
            raise ConfigError.at(source, 0, "is empty", "see the documentation for what it should hold")
        walk = _Walk(source)
        walk.down(node, ())
        if walk.faults:
            raise ConfigError(*walk.faults)
        return loader.construct_document(node), walk.lines
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, text.index(chr(error.character))) + 1
        what = f"holds the character U+{error.character:04X}"
        raise ConfigError.at(source, line, what, "take it out: YAML has no such characters") from None
    except yaml.MarkedYAMLError as error:
        error.problem = _in_full(error, text)
        raise


def _may_be_deep(text: str) -> bool:
    """Bound the levels of a document: brackets open one each, and others stand to the right of the one above.

    A list may stand right below its key, so a column has two at most.
    """
    return text.count("[") + text.count("{") + 2 * max(map(len, text.split("\n"))) > _DEEPEST


def _in_full(error: yaml.MarkedYAMLError, text: str) -> str | None:
    """Return what is wrong with the characters that it is about, which libyaml does not repeat."""
    problem, mark = error.problem, error.problem_mark
    if problem == "found character that cannot start any token" and mark:
        return f"found character {text[mark.index]!r} that cannot start any token"
    if problem == "found undefined alias" and mark and (name := re.match(r"\*([\w-]+)", text[mark.index :])):
        return f"found undefined alias {name[1]!r}"
    return problem


class _Walk:
    """Notes the line of every value; a repeated key would otherwise silently win over the first."""

    def __init__(self, source: str) -> None:
        self.lines: dict[Where, int] = {}
        self.faults: list[Fault] = []
        self._source = source
        self._above: set[int] = set()

    def down(self, node: yaml.Node, where: Where) -> None:
        line = node.start_mark.line + 1
        if len(self.lines) > _MOST:
            what = f"holds more than {_MOST} values, its anchors counted wherever they are used"
            raise ConfigError.at(self._source, line, what, "write out what is needed")
        if id(node) in self._above:
            self._note(line, "this anchor holds itself", "take the alias out of it")
            return
        self.lines[where] = line
        self._above.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.down(item, (*where, index))
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._entry(key, value, where)
        self._above.discard(id(node))

    def _entry(self, key: yaml.Node, value: yaml.Node, where: Where) -> None:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            self._note(line, "a list or a mapping stands for a key", "write a name")
            return
        place = (*where, key.value)
        if place in self.lines:
            found = f"key {key.value!r} was given before (line {self.lines[place]})"
            self._note(line, found, "keep one of the two")
        self.down(value, place)
        self.lines[place] = line

    def _note(self, line: int, found: str, remedy: str) -> None:
        self.faults.append(Fault(self._source, line, found, remedy))
