"""Patterns of lines: a text that each match contains is looked for first, which is ten times as fast.

The results are those of `re.finditer` with `re.MULTILINE`; `tests/readers/test_search.py` compares them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, AnyStr

# Python's own parser of patterns: its trees say what a match contains.
_PARSER: Any = import_module("re._parser")
_NEWLINE = 10
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WITH_NEWLINE = ("CATEGORY_SPACE", "CATEGORY_NOT_DIGIT", "CATEGORY_NOT_WORD")
# A shorter text is in too many lines.
_LEAST = 3


def matches(pattern: AnyStr, text: AnyStr) -> Iterator[re.Match[AnyStr]]:
    """Give the matches of a pattern in a text; its ``^`` and ``$`` are those of lines."""
    compiled, needed, within = _prepared(pattern)
    if not within:
        if not needed or any(one in text for one in needed):
            yield from compiled.finditer(text)
        return
    at = text.find(needed[0])
    newline = text[:0] + ("\n" if isinstance(text, str) else b"\n")
    while at >= 0:
        begin, end = text.rfind(newline, 0, at) + 1, text.find(newline, at)
        end = len(text) if end < 0 else end
        yield from compiled.finditer(text, begin, end + 1)
        at = text.find(needed[0], end)


def first(pattern: AnyStr, text: AnyStr) -> re.Match[AnyStr] | None:
    """Return the first match of a pattern in a text, whose ``^`` and ``$`` are those of lines."""
    return next(matches(pattern, text), None)


@lru_cache(4096)
def _prepared(pattern: AnyStr) -> tuple[re.Pattern[AnyStr], Sequence[AnyStr], bool]:
    """Return a pattern, texts of which each match contains one, and whether a match is within a line.

    The end of its line may be a part of the match.
    """
    compiled = re.compile(pattern, re.MULTILINE)
    tree = list(_PARSER.parse(pattern, re.MULTILINE))
    if compiled.flags & (re.IGNORECASE | re.DOTALL | re.VERBOSE | re.LOCALE):
        return compiled, (), False
    inner = tree[:-1] if tree and str(tree[-1][0]) == "LITERAL" and tree[-1][1] == _NEWLINE else tree
    needed = _needed(inner)
    if any(len(one) < _LEAST or "\n" in one for one in needed):
        return compiled, (), False
    texts: Any = [one if isinstance(pattern, str) else one.encode("latin-1") for one in needed]
    return compiled, texts, len(texts) == 1 and not _leaves(inner)


def _needed(tree: Sequence[Any]) -> list[str]:
    """Return the longest text that each match of a tree contains, or that of each of its alternatives."""
    longest = max(_texts(tree), key=len, default="")
    branches = [value for kind, value in _flat(tree) if str(kind) == "BRANCH"]
    if len(longest) >= _LEAST or not branches:
        return [longest]
    return [max(_texts(one), key=len, default="") for one in branches[0][1]]


def _flat(tree: Iterable[Any]) -> Iterator[Any]:
    """Give the parts of a tree, those of its groups in their place."""
    for kind, value in tree:
        if str(kind) == "SUBPATTERN" and not (value[1] or value[2]):
            yield from _flat(value[3])
        else:
            yield kind, value


def _texts(tree: Iterable[Any]) -> Iterator[str]:
    """Give the texts of which each match of a tree contains every one."""
    run = ""
    for kind, value in _flat(tree):
        name = str(kind)
        if name == "LITERAL":
            run += chr(value)
            continue
        if name in _REPEATS and value[0] > 0:
            yield from _texts(value[2])
        yield run
        run = ""
    yield run


def _leaves(tree: Iterable[Any]) -> bool:
    """Tell whether a match may have, or look at, an end of a line within it; true where that is not known."""
    return any(_may_leave(str(kind), value) for kind, value in tree)


def _may_leave(name: str, value: Any) -> bool:
    if name == "LITERAL":
        return bool(value == _NEWLINE)
    if name == "IN":
        return _holds_newline(value)
    if name == "SUBPATTERN":
        return bool(value[1] or value[2]) or _leaves(value[3])
    if name in _REPEATS:
        return _leaves(value[2])
    if name == "BRANCH":
        return any(map(_leaves, value[1]))
    if name in ("ASSERT", "ASSERT_NOT"):
        return _leaves(value[1])
    if name == "AT":
        return str(value) not in ("AT_BEGINNING", "AT_END", "AT_BOUNDARY", "AT_NON_BOUNDARY")
    return name != "ANY"  # a line's end is none, without DOTALL


def _holds_newline(items: Iterable[Any]) -> bool:
    """Tell whether a set of characters has the end of a line."""
    negated = found = False
    for kind, value in items:
        name = str(kind)
        negated |= name == "NEGATE"
        found |= name == "LITERAL" and value == _NEWLINE
        found |= name == "RANGE" and value[0] <= _NEWLINE <= value[1]
        found |= name == "CATEGORY" and str(value) in _WITH_NEWLINE
    return found != negated
