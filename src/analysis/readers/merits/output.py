"""Shared by all readers of figures of merit: an output while it is read, and formats declared as patterns.

Every figure in a file is a row: its name and unit in the program's words, its result, and the step in which
it is printed. One of them, the format's `main`, is the main figure of the file.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers import search
from analysis.readers.base import Faults, as_utf8, labelled
from analysis.readers.format import Format
from analysis.readers.text import TAG, decode, integer, is_number, number
from analysis.schema import registry

COUNTS = ("ranks", "threads", "nodes")
GPUS = ("gpus", "gpus_per_node")  # of outputs that count them
PASSED, FAILED = "passed", "failed"
Which = Literal["last", "largest", "smallest"]
_TAGGED = re.compile(rf"^{TAG}", re.MULTILINE)


class FigureRow(NamedTuple):
    """One figure of merit as a file states it."""

    merit: str
    value: float
    unit: str
    resolution: float  # NaN where the text does not tell
    line: int
    result: int = 0
    case: str = ""
    problem: str = ""
    check: str = ""


def step(text: str) -> float:
    """Return the step of a number's last digit: 0.1 of ``12.5`` and ``1.250e+02``, or NaN."""
    try:
        exponent = Decimal(text.strip().replace(",", ".")).as_tuple().exponent
    except InvalidOperation:
        return float("nan")
    return float(f"1e{exponent}") if isinstance(exponent, int) else float("nan")


def agree(
    left: Sequence[str], right: Sequence[str] = (), *, factor: float = 1.0, slack: float = 1e-6
) -> bool:
    """Tell whether the product of some printed numbers is `factor` times that of others, within their digits.

    Each may be off by its last digit, and the whole by the fraction `slack`. What is no number, or not
    positive, cannot tell: then they agree. With a `factor` that is not positive they do not.
    """
    texts = (*left, *right)
    values = [number(text) for text in texts]
    if not all(0 < value < math.inf for value in values):
        return True
    room = math.log1p(slack) + sum(
        math.log1p(step(text) / value) for text, value in zip(texts, values, strict=True)
    )
    logs = [math.log(value) for value in values]
    return factor > 0 and abs(sum(logs[: len(left)]) - sum(logs[len(left) :]) - math.log(factor)) <= room


class Law(NamedTuple):
    """Numbers of one result that a program computes from each other, by the names of figures and facts.

    The product of those at the left is `factor` times that of those at the right; with `add`, their sums.
    """

    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    factor: float = 1.0
    slack: float = 1e-6
    add: bool = False

    def holds(self, left: Sequence[str], right: Sequence[str]) -> bool:
        """Tell whether some printed numbers obey the law, within their digits; what is blank obeys."""
        if not self.add:
            return agree(left, right, factor=self.factor, slack=self.slack)
        room = sum(map(step, (*left, *right)))
        sums = [sum(map(number, texts)) for texts in (left, right)]
        return not abs(sums[0] - sums[1]) > room + self.slack * abs(sums[0])


class Output:
    """One output while it is read: its text, what was found so far, what is wrong with it."""

    def __init__(self, data: bytes, source: str) -> None:
        self.source = source
        self.faults = Faults(source)
        self.rows: list[FigureRow] = []
        self.facts: dict[str, Any] = {}
        self.silent = ""  # why a whole output has no figure
        self._checks: dict[int, bool] = {}
        self._printed: dict[tuple[int, str], tuple[int, str]] = {}  # line and text by result and figure
        text = decode(as_utf8(data))
        first = [line for line in text[:4096].split("\n")[:20] if line.strip()]
        self.ranks: set[str] = set()  # that a launcher put before the lines
        if first and all(_TAGGED.match(line) for line in first):
            self.ranks = set(_TAGGED.findall(text))
            text = _TAGGED.sub("", text)
        end = text.rfind("\n") + 1
        self.text, self.rest = text[:end], text[end:]

    @cached_property
    def _ends(self) -> np.ndarray:
        characters = np.frombuffer(self.text.encode("utf-32-le"), dtype="<u4")
        return np.flatnonzero(characters == ord("\n"))

    def line(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return int(np.searchsorted(self._ends, offset)) + 1

    def find(self, pattern: str) -> Iterator[tuple[int, re.Match[str]]]:
        """Give each match of a pattern, whose ``^`` and ``$`` are those of lines, with its line."""
        for match in search.matches(pattern, self.text):
            yield self.line(match.start()), match

    def first(self, pattern: str) -> str:
        """Return what the first match of a pattern has in its first group that matched; empty without."""
        match = search.first(pattern, self.text)
        return next((group.strip() for group in match.groups() if group), "") if match else ""

    def add(self, merit: str, text: str, unit: str, line: int, **more: Any) -> None:
        """Take a figure as printed; what is no finite number is named and left blank."""
        value = number(text)
        if not np.isfinite(value):
            # That a program printed nan is no damage of the file.
            say = self.faults.note if is_number(text.strip()) else self.faults.damage
            say(line, f"{merit} is {text.strip()[:40]!r}, no finite number", "left blank")
            value = float("nan")
        self._printed[more.get("result", 0), merit] = line, text
        self.rows.append(FigureRow(merit, value, unit, step(text), line, **more))

    def check(self, result: int, passed: bool) -> None:
        """Write down whether a check of a result was passed; one that failed is not undone."""
        self._checks[result] = self._checks.get(result, True) and passed

    def verify(self, line: int, agrees: bool, found: str) -> None:
        """Report that numbers of an output contradict each other, unless they agree."""
        if not agrees:
            self.faults.damage(line, found, "a number is damaged: get the output again")

    def obey(
        self, laws: Sequence[Law], facts_of: Mapping[int, Mapping[str, str]] = MappingProxyType({})
    ) -> None:
        """Report each law that the numbers of a result break; `facts_of` has what a result states itself."""
        for result in sorted({result for result, _ in self._printed}):
            texts = {name: str(text) for name, text in {**self.facts, **facts_of.get(result, {})}.items()}
            # A count is exact: no last digit of it can be off.
            facts = {name: (0, f"{text}.{0:012}" if text.isdigit() else text) for name, text in texts.items()}
            own = {name: seen for (at, name), seen in self._printed.items() if at == result}
            for law in laws:
                seen = [[(facts | own).get(name, (0, "")) for name in names] for names in law[:2]]
                left, right = ([text for _, text in cells] for cells in seen)
                names = zip((*law.left, *law.right), (*left, *right), strict=True)
                found = ", ".join(f"{name} {text}" for name, text in names) + " contradict each other"
                self.verify(max(line for line, _ in (*seen[0], *seen[1])), law.holds(left, right), found)

    def paired(self, names: tuple[str, ...]) -> None:
        """Check that figures which a program always prints as a set are equally many."""
        counts = {name: sum(row.merit == name for row in self.rows) for name in names}
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{name} {count} times" for name, count in counts.items())
            self.faults.damage(0, f"lines are missing: {found}", "the file is damaged; kept what is whole")

    def ends(self, closing: str) -> int:
        """Count the lines that end an output; it may be the last line, without its end."""
        return sum(1 for _ in self.find(closing)) + (re.match(closing, self.rest) is not None)

    def close(self, closing: str, what: str, *, opening: str = "") -> None:
        """Check that an output has the line that ends it, as often as the line that begins it."""
        ends = self.ends(closing)
        begins = sum(1 for _ in self.find(opening)) if opening else 1
        if ends >= max(begins, 1):
            return
        at = self.text.count("\n") + bool(self.rest)
        self.faults.damage(
            at, f"no line {what}", "the run did not end or the file is cut; kept what is whole"
        )

    def only_merit(self) -> str:
        """Return the name of the figures if they are all of one, else nothing."""
        names = {row.merit for row in self.rows}
        return names.pop() if len(names) == 1 else ""

    def dataset(
        self, row: Format, *, main: str | None = None, which: Which = "last", time: str = ""
    ) -> xr.Dataset:
        """Make the dataset of kind ``merits`` of a format.

        `main` names the main figure of the file, by default the figure of merit; `which` selects one of
        several. `time` names the figure that is the time of the result by the program's own clock, s.
        """
        main = row.figure_of_merit if main is None else main
        words = {result: PASSED if passed else FAILED for result, passed in self._checks.items()}
        self.rows = [row._replace(check=words.get(row.result, row.check)) for row in self.rows]
        failed = sorted({row.line for row in self.rows if row.check == FAILED})
        if failed:
            count = len({one.result for one in self.rows if one.check == FAILED})
            found = f"{row.tool} says that the check of {count} result(s) failed"
            self.faults.note(failed[0], found, "do not use the run")
        if self.silent and not self.rows:
            self.faults.note(0, "no figure of merit", self.silent)
        elif not self.rows:
            self.faults.damage(0, "no figure of merit", "the run did not get so far; nothing to compare")
        each = dict(zip(FigureRow._fields, zip(*self.rows, strict=True), strict=True)) if self.rows else {}
        declared = registry.declared("merits")
        columns = {
            name: np.array(each.get(name, ()), dtype=_DTYPES[declared[name].dtype])
            for name in FigureRow._fields
        }
        chosen = _choose(columns, which, main) if self.faults.complete else None
        if chosen is not None and chosen.several > 1:
            found = f"{chosen.several} results in one file"
            self.faults.note(chosen.line, found, f"all are kept; the {which} is the main figure")
        took = _choose(columns, which, time, result=chosen.result) if chosen and time else None
        scalars: dict[str, Any] = {name: integer(str(self.facts.get(name, ""))) for name in COUNTS}
        scalars |= {"size": np.array(self.facts.get("size", ""), dtype=object)}
        scalars |= {"valid": bool(self.rows) and not failed}
        scalars |= {"figure_of_merit": chosen.value if chosen else np.nan}
        scalars |= {"figure_of_merit_unit": np.array(chosen.unit if chosen else "", dtype=object)}
        scalars |= {"figure_of_merit_resolution": chosen.resolution if chosen else np.nan}
        scalars |= {"benchmark_time": took.value if took else np.nan}
        attrs: dict[str, Any] = {"engine": row.engine, "tool": row.tool}
        attrs |= {"tool_version": self.facts.get("version", "")}
        numbers = {name: integer(str(self.facts.get(name, ""))) for name in (*GPUS, "target_time")}
        attrs |= {name: number for name, number in numbers.items() if number > 0}
        attrs |= {"main": main, "which": which, "problem_identity": row.identity(self.facts)}
        printed = {name: " ".join(str(self.facts.get(name, "")).split()) for name in row.settings}
        if stated := [f"{name}={value}" for name, value in printed.items() if value]:
            attrs["settings"] = "\n".join(stated)
        variables = {name: labelled("merit", values) for name, values in columns.items()}
        variables |= {name: xr.Variable((), np.asarray(one), fastpath=True) for name, one in scalars.items()}
        return registry.dataset(variables, "merits", attrs | self.faults.attrs())


_DTYPES = {"str": object, "f8": np.float64, "i8": np.int64}


class MainFigure(NamedTuple):
    """The figure that was asked for: of `several` of its name, the one that the format takes."""

    value: float
    unit: str
    resolution: float
    result: int
    line: int
    several: int


def figure(ds: xr.Dataset, name: str, *, case: str = "") -> MainFigure | None:
    """Return a named figure of a dataset of kind ``merits``; None if the file has none with a value.

    Of several it is the last, the largest or the smallest, as the format has it. With a `case` that the file
    knows, only figures of that; without, a file of several cases has no one figure.
    """
    names = ("merit", "case", "value", "unit", "resolution", "result", "line")
    columns = {key: ds.variables[key].values for key in names}
    return _choose(columns, ds.attrs["which"], name, case=case)


def _choose(
    columns: Mapping[str, np.ndarray], which: str, name: str, *, case: str = "", result: int | None = None
) -> MainFigure | None:
    mine = (columns["merit"] == name) & np.isfinite(columns["value"])
    cases = columns["case"]
    if case and (cases == case).any():
        mine &= cases == case
    if result is not None and (mine & (columns["result"] == result)).any():
        mine &= columns["result"] == result
    at = np.flatnonzero(mine)
    if not at.size or len(set(cases[at])) > 1:
        return None
    values = columns["value"][at]
    chosen = at[-1 if which == "last" else values.argmax() if which == "largest" else values.argmin()]
    value, unit, resolution, result, line = (columns[key][chosen] for key in MainFigure._fields[:-1])
    return MainFigure(float(value), unit, float(resolution), int(result), int(line), at.size)


@dataclass(frozen=True, slots=True)
class Merit:
    """A figure on its own line; the pattern's groups are ``value``, and ``unit`` if the line has one.

    `grouped` is for a program that writes ``4,125,212``: its commas group digits, elsewhere one is a point.
    """

    name: str
    pattern: str
    unit: str = ""
    grouped: bool = False


@dataclass(frozen=True, kw_only=True)
class TextFormat(Format):
    """A program's output, read by patterns of lines: the row of its format, and its functions.

    Attributes
    ----------
    marks
        A file that has none of them is not of the format.
    merits
        The figures, each in a line of its own.
    closing, closed_by, opening
        The line that ends a whole output, what a fault calls it, and the line that begins one, by default the
        program's first.
    facts
        Patterns by the names of ``version``, of scalars of kind ``merits`` and of `problem`.
    starts
        The line that begins a further result of one execution.
    passed, failed
        Lines that show whether the program's check passed.
    main
        Candidates for the main figure: the first that the file has; by default the figure of merit.
    which, time
        Which of several figures of that name counts; the figure that is a time by the program's own clock.
    paired
        Figures that a program always prints as a set.
    laws
        Numbers that the program computes from each other; those that break one are damaged.
    finish
        Code for what patterns cannot express: it adds figures and facts, and checks the numbers.
    test
        Returns whether the beginning of a file has the format, if the marks are not enough.
    given
        What you should give instead of a file that is not of the format.
    """

    kind: str = "merits"
    merits: tuple[Merit, ...] = ()
    closing: str = ""
    closed_by: str = ""
    opening: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    starts: str = ""
    passed: str = ""
    failed: str = ""
    main: tuple[str, ...] = ()
    which: Which = "last"
    time: str = ""
    paired: tuple[str, ...] = ()
    laws: tuple[Law, ...] = ()
    finish: Callable[[Output], None] | None = None
    test: Callable[[bytes], bool] | None = None
    given: str = ""

    @cached_property
    def _groups(self) -> tuple[tuple[bytes, ...], ...]:
        return tuple(self.groups())

    @cached_property
    def _firsts(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys(group[0] for group in self._groups))

    def sniff(self, head: bytes, name: str = "") -> bool:
        """Tell whether some bytes hold one of the program's marks."""
        if self.test:
            return self.test(head)
        for mark in self._firsts:  # a generator would take longer than the search
            if mark in head:
                break
        else:
            return False
        return any(all(mark in head for mark in group) for group in self._groups)

    def parse(self, data: bytes, source: str = "<memory>") -> xr.Dataset:
        """Read an output: kind ``merits``."""
        if not self.sniff(data):
            firsts = dict.fromkeys(mark.decode().strip() for mark in self._firsts)
            marks = " or ".join(map(repr, firsts))
            given = self.given or f"the output of {self.tool}"
            raise ReadError.at(source, 0, f"no {marks}", f"give {given}")
        output = Output(data, source)
        output.facts |= {name: output.first(pattern) for name, pattern in self.facts.items()}
        starts = [line for line, _ in output.find(self.starts)] if self.starts else []
        found = [(line, merit, match) for merit in self.merits for line, match in output.find(merit.pattern)]
        for line, merit, match in sorted(found, key=lambda one: one[0]):
            unit = match.groupdict().get("unit") or merit.unit
            if not unit and merit.name == self.figure_of_merit:
                unit = self.unit
            result = max(int(np.searchsorted(starts, line, side="right")) - 1, 0)
            text = match["value"].replace(",", "") if merit.grouped else match["value"]
            output.add(merit.name, text, unit, line, result=result)
        for pattern, passed in ((self.passed, True), (self.failed, False)):
            for line, _ in output.find(pattern) if pattern else ():
                output.check(max(int(np.searchsorted(starts, line, side="right")) - 1, 0), passed)
        output.paired(self.paired)
        output.obey(self.laws, self._facts_of_results(output, starts))
        if self.finish:
            self.finish(output)
        opening = self.first_line if self.opening is None else self.opening
        output.close(self.closing, self.closed_by, opening=opening)
        names = {row.merit for row in output.rows}
        main = next((name for name in self.main if name in names), None)
        return output.dataset(self, main=main, which=self.which, time=self.time)

    def _facts_of_results(self, output: Output, starts: Sequence[int]) -> dict[int, dict[str, str]]:
        """Return the facts of laws that each of several results states: runs of one job have other ranks."""
        out: dict[int, dict[str, str]] = defaultdict(dict)
        for name in {name for law in self.laws for names in law[:2] for name in names if name in self.facts}:
            for line, match in output.find(self.facts[name]) if len(starts) > 1 else ():
                result = max(int(np.searchsorted(starts, line, side="right")) - 1, 0)
                out[result].setdefault(name, next((group.strip() for group in match.groups() if group), ""))
        return out


# ---- results of peers, one JSON document each


def items(content: Any, key: str) -> list[Any]:
    """Return a list of an object; empty if there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, list) else []


def text_of(content: Any, key: str) -> str:
    """Return a text of an object; empty if there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, str) else ""


def integer_of(content: Any, key: str) -> int:
    """Return a whole number of an object, also from a text; -1 if there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**31:
        return found
    return int(found) if isinstance(found, str) and found.isdecimal() and len(found) < 10 else -1


class Document:
    """A JSON object with figures; one that does not parse is refused, for half of it says nothing."""

    def __init__(self, data: bytes, source: str, key: str) -> None:
        try:
            content = json.loads(as_utf8(data))
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 0)
            found = f"broken JSON ({getattr(error, 'msg', 'too deep or a number too long')})"
            raise ReadError.at(source, line, found, "the file is cut or damaged; copy it again") from error
        if not isinstance(content, dict) or key not in content:
            raise ReadError.at(source, 1, f"no JSON object with {key!r}", "give the file of results")
        self.content: dict[str, Any] = content
        self.output = Output(b"", source)

    def add(
        self, name: str, entry: Any, key: str, unit: str, result: int, case: str = "", check: str = ""
    ) -> None:
        """Take a figure that is a number or a text with one; of anything else nothing."""
        value = entry.get(key) if isinstance(entry, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            # The step of a number in JSON is that of a double: nothing to widen an interval with.
            self.output.rows.append(
                FigureRow(name, float(value), unit, math.nan, -1, result, case, "", check)
            )
        elif isinstance(value, str) and is_number(value):
            self.output.rows.append(
                FigureRow(name, number(value), unit, math.nan, -1, result, case, "", check)
            )

    def dataset(self, row: Format, version: str = "", main: str = "") -> xr.Dataset:
        """Make the dataset; the main figure is the one named, or the only one in the document."""
        self.output.facts["version"] = version
        return self.output.dataset(row, main=main or self.output.only_merit())
