"""Formats without code of yours: patterns of Ramble's and Benchpark's applications and of ReFrame's tests.

The Python files in ``config/formats`` of the project are parsed and never executed. What is not a constant, a
concatenation of constants or a loop over some is left out.
"""

import ast
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from analysis.base import project
from analysis.base.errors import ConfigError, ReadError
from analysis.readers.format import Format
from analysis.readers.merits.output import Output
from analysis.readers.text import is_number

_WORD = re.compile(rb"[A-Za-z][\w /:.-]{3,}[\w:]")
_TIMES = ("s", "ms", "us", "ns", "sec", "seconds", "min", "minutes", "h", "hours", "hours/ns", "s/step")


class Figure(NamedTuple):
    """A pattern of a figure: the group of its value, its unit, and which match counts (None: all)."""

    name: str
    pattern: re.Pattern[str]
    group: str | int
    unit: str
    item: int | None = None


@dataclass(frozen=True, kw_only=True)
class PatternFormat(Format):
    """An output read by patterns that were written for another tool."""

    kind: str = "merits"
    figures: tuple[Figure, ...] = ()
    closing: str = ""

    def sniff(self, head: bytes, name: str = "") -> bool:
        """Tell whether some bytes have a word of a pattern and a match of it; none if all are wordless."""
        marks = {mark for group in self.groups() for mark in group}
        return any(mark in head for mark in marks) and any(
            _matches(head.decode(errors="replace"), self.figures)
        )

    def parse(self, data: bytes, source: str = "<memory>") -> xr.Dataset:
        """Read an output: kind ``merits``; the main figure is the first that the file declares."""
        output = Output(data, source)
        for figure, line, text in sorted(_matches(output.text, self.figures), key=lambda one: one[1]):
            output.add(figure.name, text, figure.unit, line)
        if not output.rows and not self.sniff(data):
            raise ReadError.at(source, 0, f"no figure of {self.tool}", f"give the output of {self.tool}")
        output.close(self.closing, f"that matches {self.closing!r}")
        return output.dataset(self, main=self.figure_of_merit)


def _matches(text: str, figures: tuple[Figure, ...]) -> Iterator[tuple[Figure, int, str]]:
    lines = text.splitlines(keepends=True)
    for figure in figures:
        if figure.item is None:  # Ramble matches each line from its beginning
            found = [(at, match) for at, line in enumerate(lines, 1) if (match := figure.pattern.match(line))]
        else:
            found = [(text.count("\n", 0, m.start()) + 1, m) for m in figure.pattern.finditer(text)]
            found = found[figure.item :][:1]
        for at, match in found:
            value = match[figure.group]
            if value and is_number(value.strip()):
                yield figure, at, value.strip()


def _constant(node: ast.expr | None, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression of constants; None if it is another."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [_constant(node.left, known), _constant(node.right, known)]
        return "".join(parts) if all(isinstance(part, str) for part in parts) else None
    if isinstance(node, ast.JoinedStr):
        values = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        parts = [_constant(value, known) for value in values]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, ast.List | ast.Tuple):
        return [_constant(one, known) for one in node.elts]
    return None


def _named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _arguments(call: ast.Call, names: tuple[str, ...], known: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(zip(names, call.args, strict=False)) | {
        one.arg: one.value for one in call.keywords if one.arg
    }
    return {name: _constant(node, known) for name, node in given.items()}


def _ramble(body: list[ast.stmt], known: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the calls that describe figures and success, of a class's body and of its loops over constants."""
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _constant(node.value, known)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            for value in _constant(node.iter, known) or ():
                yield from _ramble(node.body, {**known, node.target.id: value})
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            names = {
                "figure_of_merit": ("name", "fom_regex", "group_name", "log_file", "units"),
                "success_criteria": ("name", "mode", "match"),
            }.get(_named(node.value.func))
            if names:
                yield _named(node.value.func), _arguments(node.value, names, known)


def _reframe(tree: ast.Module) -> Iterator[dict[str, Any]]:
    """Give the figures of ``extractsingle``: of performance functions, and of dictionaries of variables."""
    units = {}
    for node in ast.walk(tree):
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            name, row = _constant(key, {}), _constant(value, {})
            if isinstance(row, list) and len(row) == 4 and isinstance(row[3], str):
                units[name] = row[3]
    for node in ast.walk(tree):
        owners: list[tuple[Any, Any, ast.AST]] = []
        if isinstance(node, ast.FunctionDef):
            for mark in (one for one in node.decorator_list if isinstance(one, ast.Call)):
                if _named(mark.func) == "performance_function":
                    given = _arguments(mark, ("units", "perf_key"), {})
                    owners.append((given.get("perf_key") or node.name, given.get("units"), node))
        elif isinstance(node, ast.Dict):
            owners += [
                (_constant(key, {}), None, value) for key, value in zip(node.keys, node.values, strict=True)
            ]
        for name, unit, owner in owners:
            for call in ast.walk(owner):
                if (
                    isinstance(call, ast.Call)
                    and _named(call.func) == "extractsingle"
                    and isinstance(name, str)
                ):
                    given = _arguments(call, ("regex", "file", "group", "conv", "item"), {})
                    given["group"] = given.get("tag", given.get("group"))
                    yield {**given, "regex": given.get("patt", given.get("regex")), "name": name} | {
                        "units": unit or units.get(name, "")
                    }


def _figures(calls: list[tuple[str, dict[str, Any]]], tree: ast.Module) -> Iterator[Figure]:
    for kind, one in calls:
        texts = [one.get(key) for key in ("name", "fom_regex", "group_name", "units")]
        if kind == "figure_of_merit" and all(isinstance(text, str) for text in texts[:3]):
            name, pattern, group = map(str, texts[:3])
            yield Figure(name, re.compile(pattern), group, str(texts[3] or ""))
    for one in _reframe(tree):
        if isinstance(one["regex"], str):
            searched = re.compile(one["regex"], re.MULTILINE)
            yield Figure(one["name"], searched, one["group"] or 0, one["units"], one.get("item") or 0)


def read(path: Path, engine: str) -> PatternFormat:
    """Read the patterns of a file by its syntax tree; ConfigError if it is no Python or has none."""
    try:
        tree = ast.parse(path.read_text(errors="replace"))
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        calls = [call for node in classes for call in _ramble(node.body, {})]
        found = dict.fromkeys(_figures(calls, tree))
    except (SyntaxError, ValueError, RecursionError, re.error, OSError) as error:
        raise ConfigError.at(
            str(path), 0, f"no patterns: {str(error)[:80]}", "correct or remove it"
        ) from error
    figures = tuple(
        one for one in found if one.group in (*range(one.pattern.groups + 1), *one.pattern.groupindex)
    )
    if not figures:
        missing = "no figure_of_merit and no extractsingle with a constant pattern"
        raise ConfigError.at(str(path), 0, missing, "remove it")
    words = [max(_WORD.findall(one.pattern.pattern.encode()), key=len, default=b"") for one in figures]
    success = [one for kind, one in calls if kind == "success_criteria" and one.get("mode") == "string"]
    first = figures[0]
    return PatternFormat(
        engine=engine, tool=engine, marks=tuple(sorted({word for word in words if word})), figures=figures,
        closing=next((one["match"] for one in success if isinstance(one.get("match"), str)), ""),
        figure_of_merit=first.name, unit=first.unit, higher_is_better=first.unit not in _TIMES,
    )  # fmt: skip


@cache
def formats() -> dict[str, PatternFormat]:
    """Return the formats of ``config/formats`` by engine; a file without patterns costs a warning."""
    try:
        folder = project.root() / "config" / "formats"
    except ConfigError:
        return {}
    found: dict[str, PatternFormat] = {}
    for path in sorted(itertools.chain(folder.glob("*.py"), folder.glob("*/*.py"))):
        name = path.parent.name if path.name == "application.py" else path.stem
        engine = re.sub(r"\W", "_", name)
        if engine == "__init__":
            continue
        try:
            found[engine] = read(path, engine)
        except ConfigError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return found


def __getattr__(name: str) -> PatternFormat:
    """Return a format by its engine's name, as `analysis.readers` looks it up."""
    if name in formats():
        return formats()[name]
    raise AttributeError(f"no format {name!r} in config/formats")
