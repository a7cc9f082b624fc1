"""Two rules for the tests: each asserts something, and not only in a loop that may have no turns."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
# What fails by itself: a block that must raise or warn, and what numpy, pandas and xarray compare with.
FAILING = {"raises", "warns", "deprecated_call", "fail"}
# These give something for each value that they are given.
KEEPING = {"enumerate", "sorted", "reversed", "list", "tuple", "set", "dict", "zip", "product"}
KEEPING |= {"items", "keys", "values", "permutations"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Reader:
    """Reads one test: the functions that it may call, and the names of values that are never empty."""

    def __init__(self, functions: Mapping[str, Function], filled: Iterable[str] = ()) -> None:
        self.functions, self.filled = functions, set(filled)

    def learn(self, node: ast.AST) -> None:
        """Note the names that a statement gives a value which is never empty."""
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            return
        for target in targets:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for to, given in pairs:
                if isinstance(to, ast.Name):
                    (self.filled.add if self.never_empty(given) else self.filled.discard)(to.id)

    def never_empty(self, node: ast.expr) -> bool:
        """Tell whether an expression has one value at least, whatever the code that is tested does."""
        match node:
            case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
                return any(not isinstance(one, ast.Starred) or self.never_empty(one.value) for one in elts)
            case ast.Dict(keys, values):
                pairs = zip(keys, values, strict=True)
                return any(key is not None or self.never_empty(value) for key, value in pairs)
            case ast.Constant(str() | bytes() as text):
                return bool(text)
            case ast.Name(name):
                return name in self.filled
            case ast.BinOp(left, ast.Add() | ast.BitOr(), right):
                return self.never_empty(left) or self.never_empty(right)
            case ast.ListComp(_, [one]) | ast.SetComp(_, [one]) | ast.DictComp(_, _, [one]):
                return not one.ifs and self.never_empty(one.iter)
            case ast.Call(function, arguments):
                return self._call(name_of(function), function, arguments)
        return False

    def _call(self, name: str, function: ast.expr, arguments: list[ast.expr]) -> bool:
        if name == "range":
            # From numbers to numbers: nobody writes a range with nothing in it.
            return all(isinstance(one, ast.Constant | ast.UnaryOp) for one in arguments)
        if name not in KEEPING:
            return False
        if isinstance(function, ast.Attribute) and not arguments:
            return self.never_empty(function.value)
        given = [one.value if isinstance(one, ast.Starred) else one for one in arguments]
        if name == "zip" and any(self.never_empty(one) for one in given):
            return True  # strict, as the linter wants it: the others are as long
        return bool(given) and all(self.never_empty(one) for one in given)

    def asserts(self, body: Iterable[ast.AST], seen: frozenset[str] = frozenset(), *, loops: bool) -> bool:
        """Tell whether statements assert something; what may have no turn counts with `loops` only."""
        return any(self._asserts(node, seen, loops) for node in body)

    def _asserts(self, node: ast.AST, seen: frozenset[str], loops: bool) -> bool:
        if isinstance(node, ast.Assert):
            return (loops or not self._hollow(node.test)) and not (seen and typing(node.test))
        if isinstance(node, Function | ast.Lambda | ast.ClassDef):
            return False  # counts where it is called
        if isinstance(node, ast.Raise):
            return name_of(node.exc) == "AssertionError"
        if isinstance(node, ast.Call) and self._call_asserts(node, seen, loops):
            return True
        self.learn(node)
        if isinstance(node, ast.If) and not loops:
            return self.asserts([node.test], seen, loops=False) or (
                self.asserts(node.body, seen, loops=False) and self.asserts(node.orelse, seen, loops=False)
            )
        if isinstance(node, ast.While) and not loops and not (isinstance(node.test, ast.Constant)):
            return self.asserts([node.test, *node.orelse], seen, loops=False)
        if isinstance(node, ast.For | ast.AsyncFor) and not loops and not self.never_empty(node.iter):
            return self.asserts([node.iter, *node.orelse], seen, loops=False)
        return self.asserts(ast.iter_child_nodes(node), seen, loops=loops)

    def _hollow(self, test: ast.expr) -> bool:
        """Tell whether it is ``all(... for one in ...)`` of what may be empty."""
        match test:
            case ast.Call(ast.Name("all"), [ast.GeneratorExp(_, [one, *_]) | ast.ListComp(_, [one, *_])]):
                return bool(one.ifs) or not self.never_empty(one.iter)
        return False

    def _call_asserts(self, call: ast.Call, seen: frozenset[str], loops: bool) -> bool:
        name = name_of(call.func)
        if name in FAILING or name.startswith("assert_"):
            return True
        if name in seen or name not in self.functions or isinstance(call.func, ast.Attribute):
            return False
        return self.asserts(self.functions[name].body, seen | {name}, loops=loops)


def typing(test: ast.expr) -> bool:
    """Tell whether an assertion of a helper is there for the types alone."""
    match test:
        case ast.Compare(_, [ast.IsNot()], [ast.Constant(None)]) | ast.Call(ast.Name("isinstance")):
            return True
    return False


def name_of(node: ast.AST | None) -> str:
    """Return the last part of a name, or of what is called."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@cache
def helpers() -> dict[str, Function]:
    """Return the functions of the tests' own modules that others import."""
    found: dict[str, Function] = {}
    for path in FOLDER.rglob("*.py"):
        if not path.name.startswith("test_"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, Function):
                    found[node.name] = node
    return found


def weak(text: str, others: Mapping[str, Function] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the tests of a module that assert nothing, or in loops that may have no turns alone."""
    tree = ast.parse(text)
    own = {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
    functions = {**(others or {}), **own}
    top = Reader(functions)
    for node in tree.body:
        top.learn(node)
    for name, test in own.items():
        if name.startswith("test_"):
            if not Reader(functions, top.filled).asserts(test.body, loops=True):
                yield name, "asserts nothing"
            elif not Reader(functions, top.filled).asserts(test.body, loops=False):
                yield name, "asserts only in a loop that may have no turns"


def test_tests__assert_something_and_not_only_in_a_loop_that_may_have_no_turns() -> None:
    files = sorted(FOLDER.rglob("test_*.py"))
    assert len(files) > 100
    found = {
        f"{path.relative_to(FOLDER)}::{name}": why
        for path in files
        for name, why in weak(path.read_text(encoding="utf-8"), helpers())
    }
    assert found == {}


def test_weak__finds_what_it_should() -> None:
    text = """
    import pytest
    LEVELS, CASES, NONE = found(), ("a", "b"), ()

    def held(x):
        assert x

    def each(xs):
        for x in xs:
            assert x

    def test_nothing(): call(1)
    def test_nested():
        def inner(): assert True
    def test_loop():
        for x in found(): assert x
    def test_empty():
        for x in NONE: assert x
    def test_helper_in_loop():
        for x in LEVELS: held(x)
    def test_loop_in_helper(): each(LEVELS)
    def test_changed():
        xs = [1]
        xs = found()
        for x in xs: assert x
    def test_all(): assert all(x for x in LEVELS)
    def test_while():
        while found(): assert True
    def test_if():
        if found(): assert True
    def test_types():
        def made():
            x = found()
            assert x is not None
        made()
    """
    loop = "asserts only in a loop that may have no turns"
    assert dict(weak(textwrap.dedent(text))) == {
        "test_nothing": "asserts nothing",
        "test_nested": "asserts nothing",
        "test_types": "asserts nothing",
        **dict.fromkeys(("test_loop", "test_empty", "test_helper_in_loop", "test_loop_in_helper"), loop),
        **dict.fromkeys(("test_changed", "test_all", "test_while", "test_if"), loop),
    }


def test_weak__finds_nothing_where_something_is_asserted() -> None:
    text = """
    import pytest
    import numpy as np
    CASES, MORE = {"a": 1}, [*"ab"]

    def held(x):
        assert x

    def test_plain(): assert True
    def test_raises():
        with pytest.raises(ValueError): call()
    def test_close(): np.testing.assert_allclose(call(), 1.0)
    def test_helper(): held(call())
    def test_literal():
        for x in CASES.items(): assert x
    def test_zip():
        for x, y in zip(MORE, found(), strict=True): assert x
    def test_range():
        for x in range(3): assert x
    def test_local():
        xs = [call(x) for x in CASES]
        for x in xs: assert x
    def test_length():
        xs = found()
        assert len(xs) == 2
        for x in xs: assert x
    def test_all(): assert all(x for x in CASES)
    def test_branches():
        if found(): assert True
        else: assert False
    """
    assert dict(weak(textwrap.dedent(text))) == {}


@pytest.mark.parametrize(
    ("ci", "counts"), [("", "1 passed, 2 skipped"), ("true", "1 passed, 2 errors")], ids=["by hand", "CI"]
)
def test_datasets__that_are_not_built_are_named_and_a_failure_in_ci(
    tmp_path: Path, ci: str, counts: str
) -> None:
    for name in ("config/config.yaml", "data/processed/there/campaign.nc"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "tests").mkdir()
    shutil.copy(FOLDER / "conftest.py", tmp_path / "tests")
    head = "[pytest]\naddopts = -ra --strict-markers\nmarkers = datasets(name): reads built ones\n"
    (tmp_path / "pytest.ini").write_text(head)
    marks = ('"there"', '"absent"', '"there", "absent", "gone"')
    tests = [f"@mark.datasets({names})\ndef test_{at}(): assert True\n" for at, names in enumerate(marks)]
    (tmp_path / "tests/test_it.py").write_text("from pytest import mark\n" + "".join(tests))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path,
        env={**os.environ, "CI": ci, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == (not ci)
    assert counts in done.stdout
    assert "datasets of absent are not built: run `make datasets`" in done.stdout
    assert "datasets of absent, gone are not built: run `make datasets`" in done.stdout
    said = "! 2 tests were left out: their datasets are not built: run `make datasets` !"
    assert (said in done.stdout) == (not ci)
