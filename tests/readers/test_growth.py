"""No pattern of a reader tries the same text twice: a damaged line costs no more than its length."""

from __future__ import annotations

import ast
import re
import re._constants as op  # type: ignore[import-untyped]
import re._parser as parser  # type: ignore[import-untyped]
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import analysis.readers

FOLDER = Path(analysis.readers.__file__).parent
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")
LENGTH = 6000
# A linear pattern takes some 0.1 ms, a quadratic one half a second.
LIMIT = 0.05  # s
LETTERS = " 0a-#.,=:_/'\"[(<{x\t|e1+;"


def _used(source: str) -> Iterator[tuple[Any, str]]:
    """Yield each pattern in a module that is called by name or spelt out, and the method."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        method, owner = node.func.attr, node.func.value
        if method not in METHODS or not isinstance(owner, ast.Name):
            continue
        if owner.id == "re" and node.args and isinstance(node.args[0], ast.Constant):
            yield re.compile(node.args[0].value), method
        elif owner.id != "re":
            yield owner.id, method


def _patterns() -> Iterator[Any]:
    for path in sorted(FOLDER.rglob("*.py")):
        parts = path.relative_to(FOLDER).with_suffix("").parts
        name = ".".join(["analysis.readers", *parts]).removesuffix(".__init__")
        module = import_module(name)
        called: dict[str, set[str]] = {}
        for found, method in _used(path.read_text()):
            if isinstance(found, str):
                called.setdefault(found, set()).add(method)
            else:
                yield pytest.param(found, {method}, id=f"{name}:{found.pattern!s:.30}")
        for key, value in vars(module).items():
            held = (
                value
                if isinstance(value, list | tuple)
                else value.values()
                if isinstance(value, dict)
                else [value]
            )
            flat = [entry for part in held for entry in (part if isinstance(part, tuple) else (part,))]
            for pattern in flat:
                if isinstance(pattern, re.Pattern):
                    methods = called.get(key) or {"match", "fullmatch"}
                    yield pytest.param(pattern, methods, id=f"{name}:{key}:{pattern.pattern!s:.30}")


def _texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield texts that match so far and then repeat, up to a point at which nothing can match."""
    for before, unit, after in _repeats(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), ""):
        for end in ("\x00", after + "\x00", after):
            yield before + unit * (LENGTH // len(unit)) + end
    for letter in LETTERS:
        yield letter * LENGTH + "\x00"


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, str, str]]:
    items = list(tree)
    for at, (code, value) in enumerate(items):
        rest = "".join(_least(item) for item in items[at + 1 :])
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, inner = value
            if most > 50:
                for unit in dict.fromkeys([_least_all(inner) or " ", *_letters(inner)]):
                    yield before, unit, rest
            yield from ((b, u, a + rest) for b, u, a in _repeats(inner, before))
        elif code is op.SUBPATTERN:
            yield from ((b, u, a + rest) for b, u, a in _repeats(value[3], before))
        elif code is op.ATOMIC_GROUP:
            yield from ((b, u, a + rest) for b, u, a in _repeats(value, before))
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from ((b, u, a + rest) for b, u, a in _repeats(branch, before))
        before += _least((code, value))


def _letters(tree: Any) -> list[str]:
    """Return the letters that a repeated single class takes."""
    if len(tree) != 1 or tree[0][0] not in (op.IN, op.ANY, op.LITERAL, op.NOT_LITERAL, op.CATEGORY):
        return []
    return [letter for letter in LETTERS if _takes(tree[0], letter)]


def _takes(item: Any, letter: str) -> bool:
    pattern = parser.SubPattern(parser.State(), [item])
    import re._compiler as compiler  # type: ignore[import-untyped]

    return compiler.compile(pattern).match(letter) is not None


def _least_all(tree: Any) -> str:
    return "".join(_least(item) for item in tree)


def _least(item: tuple[Any, Any]) -> str:
    """Return a short text that an item of a pattern takes."""
    code, value = item
    if code is op.LITERAL:
        return chr(value)
    if code in (op.IN, op.ANY, op.NOT_LITERAL):
        return next((letter for letter in "a0 -:=#.,JWKSC" if _takes(item, letter)), "")
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return _least_all(value[2]) * value[0]
    if code is op.SUBPATTERN:
        return _least_all(value[3])
    if code is op.ATOMIC_GROUP:
        return _least_all(value)
    return _least_all(value[1][0]) if code is op.BRANCH else ""


def _seconds(call: Callable[..., object], *arguments: object) -> float:
    """Time a call that is ended when it takes ten times the limit."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 10 * LIMIT)
    begun = time.perf_counter()
    try:
        found = call(*arguments)
        if isinstance(found, Iterator):
            list(found)
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return time.perf_counter() - begun


@pytest.mark.parametrize(("pattern", "methods"), list(_patterns()))
def test_growth__pattern_is_linear(pattern: re.Pattern[Any], methods: set[str]) -> None:
    texts = list(dict.fromkeys(_texts(pattern)))
    assert texts
    assert methods
    for text in texts:
        given: Any = text.encode("iso-8859-1", "replace") if isinstance(pattern.pattern, bytes) else text
        for method in methods:
            arguments = (given[:0], given) if method == "sub" else (given,)
            # Another process may have the core for a while.
            tries = (_seconds(getattr(pattern, method), *arguments) for _ in range(3))
            assert any(seconds < LIMIT for seconds in tries), (method, text[:60], text[-20:])
