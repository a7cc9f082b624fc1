"""Output of the Intel MPI Benchmarks (IMB-MPI1, -NBC, -EXT, -P2P, -RMA; 3.x to 2021): all of its tables.

One run prints a table for each benchmark and number of processes, so the dataset is in long form. Columns
are named by the heading, never by position. Times are in microseconds. IMB up to 4.x counts 2^20 B to its
Mbyte, later ones 10^6 B: which, the file's own times say, and the dataset is always in 10^6 B.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, labelled, typed
from analysis.readers.format import Format
from analysis.readers.text import contains, integer, is_number, untagged, whole_lines
from analysis.schema import registry

FORMAT = Format(
    engine="imb", tool="Intel MPI Benchmarks", application="imb", subject="Intel's MPI benchmarks",
    marks=(b"#      Intel(R) MPI Benchmarks",), near="IMB-|#bytes #repetitions",
    first_line=r"^.{0,40}?#[ \t]+Intel ?\(R\) MPI Benchmark", higher_is_better=False,
)  # fmt: skip
_SNIFF = re.compile(rb"^.{0,40}?#[ \t]+Intel ?\(R\) MPI Benchmark|[ \t]#repetitions[ \t]", re.MULTILINE)
_TITLE = re.compile(r"# +Intel ?\(R\) MPI Benchmarks?(?: Suite)? V?(?P<version>[^,]+), *(?P<part>\S+) part.*")
_BENCHMARK = re.compile(r"# Benchmarking (?P<name>\S+)\s*")
_PROCESSES = re.compile(r"# #processes = (?P<processes>\d+)\b.*")
_GROUPS = re.compile(r"# \( (?P<groups>\d+) groups of (?P<processes>\d+) processes each running .*")
_IDLE = re.compile(r"# \( (?P<idle>\d+) additional process(?:es)? waiting in MPI_Barrier\)\s*")
_MODE = re.compile(r"# +MODE: (?P<mode>\S+)\s*")
_SKIPPED = re.compile(r"\s*(?:\d+ +)?(?P<size>\d+) +(?P<why>(?:out-of-mem|time-out|int-overflow)\.?;.*)")
_END = "# All processes entering MPI_Finalize"
_COLUMNS = {
    "Group": "group", "#bytes": "size", "#repetitions": "iterations", "t[usec]": "latency",
    "t_avg[usec]": "latency", "t_min[usec]": "latency_min", "t_max[usec]": "latency_max",
    "t_ovrl[usec]": "latency", "t_pure[usec]": "communication_time", "t_CPU[usec]": "compute_time",
    "overlap[%]": "overlap", "Mbytes/sec": "bandwidth", "Msg/sec": "message_rate", "defects": "defect",
}  # fmt: skip
_WHOLE = ("group", "size", "iterations")
# Messages that IMB counts for a bandwidth: printed = count x size / longest time.
_COUNTED = {"PingPong": 1, "PingPing": 1, "Sendrecv": 2, "Exchange": 4}
_STEP = 0.01  # us, in which times are printed
MEBI = 2**20 / 1e6


@dataclass
class _Table:
    benchmark: str
    line: int
    processes: int = -1
    groups: int = 1
    idle: int = 0
    mode: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    skipped: bool = False

    @property
    def ranks(self) -> int:
        """Processes of the whole job; -1 where the table does not say."""
        return self.processes * self.groups + self.idle if self.processes > 0 else -1


@dataclass
class _Output:
    title: dict[str, str] = field(default_factory=dict)
    tables: list[_Table] = field(default_factory=list)
    open: bool = False


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold IMB's title or the heading of one of its tables."""
    return contains(head, _SNIFF, b"MPI Benchmark", b"#repetitions")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read all tables of an output: kind ``imb``, a row a benchmark, number of processes, group and size.

    Sizes that IMB skipped, because it lacked time or memory, are listed in ``warnings`` and have no row.
    """
    if not sniff(data):
        raise ReadError.at(source, 0, "no title and no table of IMB", "give the output that has its tables")
    faults = Faults(source)
    lines, rest = whole_lines(data)
    output = _Output()
    for at, line in enumerate(lines, 1):
        _read_line(output, untagged(line), at, faults)
    if output.open:
        cut = " and its last line may be cut" if rest.strip() else ""
        faults.damage(len(lines), f"no closing line{cut}", "the run was killed or the file is cut")
    if not output.tables:
        faults.damage(len(lines), "no benchmark was run", "it may need more processes than it had")
    for table in output.tables:
        if not table.rows and not table.skipped:
            faults.damage(table.line, f"no row follows {table.benchmark}", "the benchmark did not get so far")
    return _dataset(output, faults)


def _read_line(output: _Output, line: str, at: int, faults: Faults) -> None:
    if title := _TITLE.fullmatch(line):
        if output.open:
            faults.damage(at, "a further run begins before the last one has closed", "kept what is whole")
        output.title, output.open = title.groupdict(), True
    elif benchmark := _BENCHMARK.fullmatch(line):
        output.tables.append(_Table(benchmark["name"], at))
        output.open = True
    elif line.startswith(_END):
        output.open = False
    elif line.startswith("# !!"):
        faults.note(at, line.strip("# !"), "see the manual of IMB")
    elif output.tables and output.open:
        _read_table_line(output.tables[-1], line, at, faults)


def _read_table_line(table: _Table, line: str, at: int, faults: Faults) -> None:
    """Put a line where it belongs in a table; the program's other output belongs nowhere."""
    cells = line.split()
    if "#repetitions" in cells:  # first: behind a rank it may begin the line, as a remark does
        columns = [_COLUMNS.get(cell, cell) for cell in cells]
        if table.rows and columns != table.columns:
            faults.damage(at, "a second heading with other columns in one table", "left out, with its rows")
            return
        table.columns = columns
        for cell in cells:
            if cell not in _COLUMNS:
                faults.note(at, f"column {cell!r} is not known", "left out")
    elif line.startswith("#"):
        for pattern in (_PROCESSES, _GROUPS, _IDLE):
            if match := pattern.fullmatch(line):
                for name, text in match.groupdict().items():
                    setattr(table, name, integer(text))
        if mode := _MODE.fullmatch(line):
            table.mode = mode["mode"]
    elif table.columns and _may_be_row(table, cells):
        _read_row(table, line, cells, at, faults)


def _may_be_row(table: _Table, cells: list[str]) -> bool:
    """Tell a row, whole or damaged, from the words of some other output."""
    numbers = sum(map(is_number, cells))
    return bool(cells) and (cells[0].isdecimal() or (numbers > 1 and 2 * numbers >= len(table.columns)))


def _read_row(table: _Table, line: str, cells: list[str], at: int, faults: Faults) -> None:
    if skipped := _SKIPPED.fullmatch(line):
        table.skipped = True
        why = skipped["why"].partition(";")[0].rstrip(".")
        what = f"{table.benchmark} on {table.processes} processes: {why} at {skipped['size']} B"
        faults.note(at, what, "IMB measured no such size; see its options -time and -mem")
        return
    fits = len(cells) == len(table.columns) and all(
        integer(cell) >= 0 if name in _WHOLE else is_number(cell)
        for name, cell in zip(table.columns, cells, strict=True)
    )
    if fits:
        table.rows.append(cells)
    else:
        faults.damage(at, f"{line.strip()[:60]!r} is not a row of the table above", "left out")


def _dataset(output: _Output, faults: Faults) -> xr.Dataset:
    tables = [table for table in output.tables if table.rows]
    counts = [len(table.rows) for table in tables]
    per_table: dict[str, list[Any]] = {
        name: [getattr(table, name) for table in tables]
        for name in ("benchmark", "processes", "groups", "mode")
    }
    columns: dict[str, np.ndarray] = {
        name: np.repeat(np.array(values, dtype=object if name in ("benchmark", "mode") else np.int64), counts)
        for name, values in per_table.items()
    }
    variables = registry.declared("imb")
    present = {name for table in tables for name in table.columns} | {"size", "group"}
    for name in [name for name in variables if name in present]:
        texts = [_cell(table, row, name) for table in tables for row in table.rows]
        columns[name] = typed(variables[name].dtype, texts)
    _to_decimal(columns, output.title, faults)
    ranks = {table.ranks for table in output.tables}
    attrs = {
        "tool": FORMAT.tool,
        "tool_version": output.title.get("version", "").strip(),
        "part": output.title.get("part", ""),
        **faults.attrs(),
    }
    row = {name: labelled("row", values) for name, values in columns.items()}
    row["ranks"] = xr.Variable((), ranks.pop() if len(ranks) == 1 else -1)
    return registry.dataset(row, "imb", attrs)


def _cell(table: _Table, row: list[str], name: str) -> str:
    return row[table.columns.index(name)] if name in table.columns else ""


def _to_decimal(columns: dict[str, np.ndarray], title: dict[str, str], faults: Faults) -> None:
    """Bring bandwidths to 10^6 B/s, by what sizes and times of the same rows come to."""
    if "bandwidth" not in columns:
        _check(columns, np.array([]), faults)
        return
    slowest = columns["latency_max"] if "latency_max" in columns else np.full(columns["size"].size, np.nan)
    slowest = np.where(np.isnan(slowest), columns.get("latency", slowest), slowest)
    names = [str(name).removeprefix("Multi-") for name in columns["benchmark"]]
    counted = np.array([_COUNTED.get(name, np.nan) for name in names])
    # Printed with two digits behind the point: below 10 that is too coarse to tell 5 % apart.
    exact = (columns["bandwidth"] >= 10) & (slowest >= 10) & np.isfinite(counted)
    share = counted[exact] * columns["size"][exact] / slowest[exact] / columns["bandwidth"][exact]
    _check(columns, share, faults)
    if not exact.any():
        if not re.match(r"20[12]\d", title.get("version", "")):
            faults.note(0, "no row tells whether Mbytes are 2^20 or 10^6 B", "taken as 10^6 B")
        return
    found = float(np.median(share))
    if abs(found / MEBI - 1) < 0.01:
        columns["bandwidth"] = columns["bandwidth"] * MEBI
    elif abs(found - 1) >= 0.01:
        what = f"bandwidths differ from sizes over times by a factor of {found:.3g}"
        faults.note(0, what, "taken as 10^6 B/s; compare with the manual of this version")


def _check(columns: dict[str, np.ndarray], share: np.ndarray, faults: Faults) -> None:
    """Hold the numbers of the rows against each other: `share` of a size and time in the bandwidth is one."""
    apart = int((np.abs(share / np.median(share) - 1) > 0.02).sum()) if share.size else 0
    low, mean, high = (columns.get(name) for name in ("latency_min", "latency", "latency_max"))
    if low is not None and mean is not None and high is not None:
        apart += int(((low > mean + _STEP) | (mean > high + _STEP)).sum())
    if apart:
        what = f"{apart} rows with numbers that contradict each other"
        faults.damage(0, what, "one of them is damaged; get the output again")
