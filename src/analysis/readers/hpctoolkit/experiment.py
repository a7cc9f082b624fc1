"""Databases of 2.x: sums in `experiment.xml`, and a `.metric-db` of each thread."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat

import numpy as np

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.hpctoolkit.database import EVENTS, Database, Metric, function_of, metric_of

_SCOPES = frozenset(("PF", "Pr", "P", "C", "L", "S"))
_DIGITS = 2e-5  # values have six digits
_HEAD = struct.Struct(">18s5scii")
_MARK = b"HPCPROF-metricdb__"
_NAMED = re.compile(r"-(\d{1,7})-(\d{1,7})-[0-9a-f]+-\d+-\d+\.metric-db$")
_CUT = "the file is cut or damaged; kept what is whole"


@dataclass(slots=True)
class _Scope:
    """An open scope: its number and line, whether it is within MPI, its time, that of what is in it."""

    node: int
    line: int
    inside: bool
    time: float = 0.0
    inner: float = -1.0


class _Reader:
    """Takes `experiment.xml` apart while expat reads it."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self.entity
        self.metrics: list[Metric] = []
        self.columns: list[Metric] = []
        self.procedures: dict[str, str] = {}
        self.open: list[_Scope] = []
        self.database: Database | None = None
        self.within = False
        self.program = ""

    def entity(self, name: str, *_: object) -> None:
        found = f"declares the entity {name[:40]!r}"
        line = self.parser.CurrentLineNumber
        raise ReadError.at(self.faults.source, line, found, "HPCToolkit writes none")

    def start(self, tag: str, cells: dict[str, str]) -> None:
        if tag in _SCOPES and self.within and self.database:
            self._scope(tag, cells, self.database)
        elif tag == "M" and self.open and self.database:
            if cells.get("n") == str(self.database.metric.number):
                self._value(cells.get("v", ""), self.database)
        elif tag == "Metric" and cells.get("t") == "inclusive":
            self._metric(self.metrics, cells, "i", ":Sum (I)", "(I)")
        elif tag == "MetricDB" and cells.get("t") == "inclusive":
            self._metric(self.columns, cells, "db-id", "(I)")
        elif tag == "Procedure":
            self.procedures[cells.get("i", "")] = cells.get("n", "")
        elif tag == "SecCallPathProfile":
            self.program = cells.get("n", "")
        elif tag == "SecCallPathProfileData" and self.metrics:
            self.within = True
            self.database = Database(min(self.metrics), self.program)

    def _metric(self, into: list[Metric], cells: dict[str, str], key: str, *suffixes: str) -> None:
        name, number = cells.get("n", ""), cells.get(key, "")
        found = [metric_of(name, int(number), suffix=one) for one in suffixes if number.isdecimal()]
        into += [one for one in found if one]

    def _scope(self, tag: str, cells: dict[str, str], database: Database) -> None:
        line = self.parser.CurrentLineNumber
        number = cells.get("i", "")
        node = int(number) if number.isdecimal() and len(number) < 10 else -1
        if node < 0:
            self.faults.damage(line, f"<{tag}> without a number", _CUT)
        outer = self.open[-1].inside if self.open else False
        # Before 2.0 procedures are not numbered: the name is the attribute's own.
        text = cells.get("n", "")
        name = "" if outer or tag not in ("PF", "Pr", "P") else function_of(self.procedures.get(text, text))
        if name:
            database.frames[node] = name
        if not self.open:
            database.roots.append(node)
        self.open.append(_Scope(node, line, outer or bool(name)))

    def _value(self, text: str, database: Database) -> None:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if 0 <= value < 1e300:
            self.open[-1].time = value * database.metric.unit
        else:
            found = f"time is {text[:40]!r}"
            self.faults.damage(self.parser.CurrentLineNumber, found, "left out; copy the file again")

    def end(self, tag: str) -> None:
        if tag == "SecCallPathProfileData":
            self.within = False
        if tag not in _SCOPES or not self.open or self.database is None:
            return
        scope = self.open.pop()
        if scope.time:
            self.database.total[scope.node] = scope.time
        # Samples fall on statements alone: a scope's time is that of the scopes in it.
        if scope.inner >= 0 and abs(scope.inner - scope.time) > _DIGITS * max(scope.inner, scope.time):
            found = f"node {scope.node} took {scope.time:.6g} s, what is in it {scope.inner:.6g} s"
            self.faults.damage(scope.line, found, "a number is damaged: copy the file again")
        if self.open:
            self.open[-1].inner = max(self.open[-1].inner, 0.0) + scope.time


def read(data: bytes, faults: Faults) -> tuple[Database, Metric | None]:
    """Read the sums over all threads, and which column of a `.metric-db` has the same time.

    Of a file that is cut what is whole is kept.
    """
    reader = _Reader(faults)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        faults.damage(error.lineno, f"broken XML ({expat.ErrorString(error.code)})", _CUT)
        for scope in reader.open:
            if scope.time and reader.database:
                reader.database.total.setdefault(scope.node, scope.time)
    if reader.database is None:
        found = f"no sum of {', '.join(EVENTS[:2])} or {EVENTS[2]}"
        remedy = "measure one of these events; later databases: give the whole folder"
        raise ReadError.at(faults.source, 0, found, remedy)
    kind = reader.database.metric.place
    return reader.database, next((one for one in reader.columns if one.place == kind), None)


def add_threads(
    database: Database, column: Metric | None, files: Mapping[str, bytes], faults: Faults
) -> None:
    """Read the `.metric-db` of each thread: the times of all nodes, in the order of their numbers."""
    for name, data in sorted(files.items()):
        place = _NAMED.search(name)
        if place is None or column is None:
            continue
        try:
            mark, _, order, nodes, metrics = _HEAD.unpack_from(data)
            if mark != _MARK or order != b"b" or not 0 <= column.number < metrics:
                raise ValueError
            table = np.frombuffer(data, ">f8", nodes * metrics, _HEAD.size).reshape(nodes, metrics)
            own = table[:, column.number] * column.unit
            if len(data) != _HEAD.size + table.nbytes or not (np.isfinite(own) & (own >= 0)).all():
                raise ValueError
        except (struct.error, ValueError):
            faults.damage(0, f"{name[-60:]} is no table of metrics, or cut", "left out; copy it again")
            continue
        at = np.flatnonzero(own)
        # The first node is number 1.
        times = dict(zip((at + 1).tolist(), own[at].tolist(), strict=True))
        database.threads[int(place[1]), int(place[2])] = times
