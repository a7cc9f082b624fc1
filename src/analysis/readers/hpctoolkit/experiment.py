"""HPCToolkit's databases 2.x: `experiment.xml`, and a `.metric-db` for each thread."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from xml.parsers import expat

import numpy as np

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.hpctoolkit.database import Database, Metric, function, metric

_SCOPES = frozenset(("PF", "Pr", "P", "C", "L", "S"))
_DIGITS = 2e-5  # values have six digits
_HEAD = struct.Struct(">18s5scii")
_MARK = b"HPCPROF-metricdb__"
_NAMED = re.compile(r"-(\d{1,7})-(\d{1,7})-[0-9a-f]+-\d+-\d+\.metric-db$")
_CUT = "the file is cut or damaged; kept what is whole"


class _Scope:
    """A scope that is open: its number, its time, that of the scopes in it, whether it is within MPI."""

    __slots__ = ("inner", "inside", "line", "node", "time")

    def __init__(self, node: int, line: int, inside: bool) -> None:
        self.node, self.line, self.inside = node, line, inside
        self.time, self.inner = 0.0, -1.0


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
        self.version = ""

    def entity(self, name: str, *_: object) -> None:
        raise ReadError.at(
            self.faults.source,
            self.parser.CurrentLineNumber,
            f"declares the entity {name[:40]!r}",
            "HPCToolkit writes none",
        )

    def start(self, tag: str, cells: dict[str, str]) -> None:
        if tag in _SCOPES and self.within:
            self._scope(tag, cells)
        elif tag == "M" and self.open and self.database:
            if cells.get("n") == str(self.database.metric.number):
                self._value(cells.get("v", ""))
        elif tag == "Metric" and cells.get("t") == "inclusive":
            self._metric(self.metrics, cells, ":Sum (I)", "(I)")
        elif tag == "MetricDB" and cells.get("t") == "inclusive":
            self._metric(self.columns, cells | {"i": cells.get("db-id", "")}, "(I)")
        elif tag == "Procedure":
            self.procedures[cells.get("i", "")] = cells.get("n", "")
        elif tag == "HPCToolkitExperiment":
            self.version = cells.get("version", "")
        elif tag == "SecCallPathProfile":
            self.program = cells.get("n", "")
        elif tag == "SecCallPathProfileData" and self.metrics:
            self.within = True
            self.database = Database(min(self.metrics), version=self.version, program=self.program)

    def _metric(self, into: list[Metric], cells: dict[str, str], *suffixes: str) -> None:
        number = cells.get("i", "")
        found = [
            metric(cells.get("n", ""), int(number), suffix=one) for one in suffixes if number.isdecimal()
        ]
        into += [one for one in found if one]

    def _scope(self, tag: str, cells: dict[str, str]) -> None:
        assert self.database is not None
        line = self.parser.CurrentLineNumber
        number = cells.get("i", "")
        node = int(number) if number.isdecimal() and len(number) < 10 else -1
        if node < 0:
            self.faults.damage(line, f"<{tag}> without a number", _CUT)
        outer = self.open[-1].inside if self.open else False
        # Before 2.0 procedures are not numbered: the name is the attribute's own.
        text = cells.get("n", "")
        name = "" if outer or tag not in ("PF", "Pr", "P") else function(self.procedures.get(text, text))
        if name:
            self.database.frames[node] = name
        if not self.open:
            self.database.roots.append(node)
        self.open.append(_Scope(node, line, outer or bool(name)))

    def _value(self, text: str) -> None:
        assert self.database is not None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1e300:
            found = f"time is {text[:40]!r}"
            self.faults.damage(self.parser.CurrentLineNumber, found, "left out; copy the file again")
            return
        self.open[-1].time = value * self.database.metric.unit

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


def read(data: bytes, source: str, faults: Faults) -> tuple[Database, Metric | None]:
    """Read `experiment.xml`: the sums over all threads, and which column of a `.metric-db` has the same time.

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
        found = "no sum of REALTIME, WALLCLOCK or CPUTIME"
        raise ReadError.at(
            source, 0, found, "measure one of these events; later databases: give all as a tar"
        )
    kind = reader.database.metric.event
    return reader.database, next((one for one in reader.columns if one.event == kind), None)


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
        database.threads[int(place[1]), int(place[2])] = dict(
            zip((at + 1).tolist(), own[at].tolist(), strict=True)
        )
