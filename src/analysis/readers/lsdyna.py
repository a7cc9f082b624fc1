"""LS-DYNA's own account of a run: ``d3hsp``, ``mes0000`` or standard output, SMP, MPP and hybrid.

The important part is at the end: the timing table, problem time and cycle, CPU time, start, end and elapsed
time. Elapsed time is printed in whole seconds; `elapsed_resolution` passes this on to intervals. Problem time
has the unit of the input deck, which the file does not state. All three name the deck at the top; only d3hsp
counts its elements.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.format import Format
from analysis.readers.text import contains, integer, is_number, number, whole_lines
from analysis.schema import registry

FORMAT = Format(
    engine="lsdyna", tool="LS-DYNA", application="ls-dyna", marks=(b"Elapsed time",), near="(?i)ls-?dyna",
    first_line=r"^ +Date: +\d\d/\d\d/\d{4} +Time: +\d\d:\d\d:\d\d\s+_{20,}",
    figure_of_merit="elapsed", unit="s", higher_is_better=False,
    problem=("input", "elements", "endtim", "restart?"),
    of_ranks=r"(?:.*[^A-Za-z])?mes(?P<rank>\d{4,6})(?!\d).*",
)  # fmt: skip
# The banner stands at the top; a job's output that contains the end alone is known by that.
_SNIFF = re.compile(
    rb"LS-DYNA, A Program for Nonlinear Dynamic|^ T i m i n g   i n f o r m a t i o n"
    rb"|^ (?:N o r m a l|E r r o r) +t e r m i n a t i o n|^ Elapsed time +\S+ seconds?\b.*\bcycles?\b",
    re.MULTILINE,
)
_TERMINATION = re.compile(r"\s*(N o r m a l|E r r o r) +t e r m i n a t i o n\b")
_TABLE = re.compile(r"\s*T i m i n g +i n f o r m a t i o n")
_HEADING = re.compile(r"\s*CPU\(seconds\)\s+%CPU\s+Clock\(seconds\)\s+%Clock\s*")
_RULE = re.compile(r"\s*-{20,}\s*")
_TOTALS = "T o t a l s"
_ELAPSED = re.compile(r"\s*Elapsed time\s+(?P<elapsed>\S+?)\s+seconds?\s*(?P<rest>.*)")
_CYCLES = re.compile(r"\bfor\s+(?P<cycles>\d+)\s+cycles?\b")
_PROCESSES = re.compile(r"\b(\d+) MPP procs?\b")
_THREADS = re.compile(r"\b(\d+) SMP threads?\b")
_EXECUTION = re.compile(r"\s*MPP execution with\s+(\d+)\s+procs?\b")
_BANNER = re.compile(
    r"[\s|]*(?P<key>Version|Revision|SVN Version|Platform|Precision|Hostname)\s*:\s*(?P<value>[^|]*)"
)
_FIELD = re.compile(
    r"\s*(?P<key>Problem time|Problem cycle|Total CPU time|CPU time per zone cycle|Clock time per zone cycle)"
    r"\s*=\s*(?P<value>\S+)\s*(?P<unit>\w*)"
)
_STAMP = re.compile(
    r"\s*(?P<key>Start time|End time|Date:)\s+"
    r"(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4})(?: +Time:)? +(?P<clock>\d\d:\d\d:\d\d)\s*"
)
# An option has a line of its own, the first that of the heading; a run continues from such a dump.
_RESTART = re.compile(
    r"\s*(?:Command line options:\s*)?r=(?:.*[/\\])?(?P<name>[^/\\]*(?:d3dump|d3full|runrsf)\d*)\s*",
    re.IGNORECASE,
)
_INPUT = re.compile(r"\s*Input file:(?:.*[/\\])?\s*(?P<name>[^/\\]*?)(?:\.(?:k|key|dyn))?\s*", re.IGNORECASE)
# The model size of d3hsp; its other counts, as of elements with initial stress, go on behind the word.
_ELEMENTS = re.compile(
    r"\s*number of (?P<kind>solid elements|beam elements|shell elements|thick shell elements|SPH particles)"
    r"\.+\s*(?P<count>\S+)\s*"
)
_NANOSECONDS = {"nanoseconds": 1.0, "nanosecond": 1.0, "picoseconds": 1e-3, "microseconds": 1e3}

# Elapsed time is the difference of two clocks in whole seconds.
RESOLUTION = 1.0

_CLOSING = ("elapsed", "cycles", "problem_time", "problem_cycle", "cpu_total", "start", "end")
_TABLE_COLUMNS = ("section", "parent", "cpu_time", "cpu_share", "clock_time", "clock_share")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like LS-DYNA's account of a run."""
    return contains(head, _SNIFF, b"LS-DYNA", b"T i m i n g", b"t e r m i n a t i o n", b"Elapsed time")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an account: kind ``lsdyna``, `valid` after a normal termination with an elapsed time above 0 s."""
    if not sniff(data):
        found = "no line is one that LS-DYNA prints"
        raise ReadError.at(source, 0, found, "give d3hsp, mes0000 or the standard output")
    lines, rest = whole_lines(data)
    faults = Faults(source)
    account = _Account(faults)
    for at, line in enumerate(lines, 1):
        # Most of a d3hsp's many megabytes lists the model.
        if account.in_table or _HINT.match(line):
            account.read(line, at)
    account.close(len(lines), rest)
    read, banner = account.out, account.out["banner"]
    attrs = {"tool": FORMAT.tool, "tool_version": banner.pop("version", "")}
    attrs |= {"input": account.input, "restart": account.restart}
    return registry.of_values(read, "lsdyna", {**attrs, **banner, **faults.attrs()})


def problem(ds: xr.Dataset) -> str:
    """Spell the problem of an account: ``input=3cars elements=794780 endtim=0.15``; ``?`` for what it lacks.

    Many models end at one time: without deck and elements there is none.
    A run that continues from a dump is another problem than a whole one. The simulated time has three digits:
    the last step passes its end a little, on other ranks by another.
    """
    elements, reached = int(ds["elements"]), float(ds["problem_time"])
    known = {name: ds.attrs[name] for name in ("input", "restart")}
    known |= {"elements": str(elements) if elements >= 0 else ""}
    if not known["input"] and not known["elements"]:
        return ""
    return FORMAT.identity(known | {"endtim": f"{reached:.3g}" if reached == reached else ""})


def rows(ds: xr.Dataset) -> frozenset[tuple[str, float | str]]:
    """Return what d3hsp, mes0000 and the standard output repeat: the top, the numbers of the closing lines.

    Of a killed run the top is all: when it began, its host, its deck.
    """
    numbers = {name: ds[name].item() for name in _CLOSING if ds[name].notnull()}
    numbers |= {"clock": ds["clock_time"].values[-1]} if [*ds["section"].values[-1:]] == ["Totals"] else {}
    found = {(name, float(value)) for name, value in numbers.items() if value != -1}
    return frozenset(found | {(name, ds.attrs[name]) for name in ("hostname", "input") if ds.attrs.get(name)})


class _Account:
    """Collects what the lines say; the last statement of each kind counts, as after a restart."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.out: dict[str, Any] = registry.blank("lsdyna") | {"termination": "none", "banner": {}}
        self.out |= {name: [] for name in _TABLE_COLUMNS}
        self.input, self.restart, self._elements = "", "", dict[str, int]()
        self.in_table = False
        self._whole_table = True
        self._closed = False

    def read(self, line: str, at: int) -> None:
        if self.in_table:
            self._row(line, at)
            return
        text = line.lstrip(" |")
        for start, handle in _HANDLERS:
            if text.startswith(start):
                handle(self, line, at)
                return

    def termination(self, line: str, at: int) -> None:
        match = _TERMINATION.match(line)
        if match is None:
            return
        found = "normal" if match[1].startswith("N") else "error"
        if self.out["termination"] not in ("none", found):
            self.faults.note(
                at, f"a second end, {found} after {self.out['termination']}", "the last one counts"
            )
        self.out["termination"] = found
        self._closed = True

    def table(self, line: str, at: int) -> None:
        if _TABLE.match(line):
            if self.out["section"]:
                self.faults.note(at, "a second timing table", "the last one is kept")
            self.out |= {name: [] for name in _TABLE_COLUMNS}
            self.in_table, self._whole_table = True, False

    def _row(self, line: str, at: int) -> None:
        if _HEADING.fullmatch(line) or _RULE.fullmatch(line) or not line.strip():
            return
        name, cells = _row(line)
        if not any(map(is_number, cells)):
            # Whatever else it is, it is no row: the table ended without its totals.
            self.in_table, self._whole_table = False, True
            self.faults.damage(at, "the timing table ends without its totals", "kept the rows before")
            self.read(line, at)
            return
        self._keep(name, len(line) - len(line.lstrip(" ")), cells, at)
        if name == _TOTALS:
            self.in_table, self._whole_table = False, True
            self._check_shares(at)

    def _check_shares(self, at: int) -> None:
        """Hold each printed share of the timing table against the time and the totals: one note."""
        for kind, title in (("cpu", "CPU"), ("clock", "Clock")):
            times, shares = np.array(self.out[f"{kind}_time"]), np.array(self.out[f"{kind}_share"])
            # Two decimals of a percent of a number of five digits.
            off = np.flatnonzero(
                np.abs(100 * times - shares * times[-1]) > (0.0051 + 2e-4 * shares) * times[-1]
            )
            if shares[-1] == 100 and off.size:
                row = off[0]
                found = f"{times[row]:g} s of {times[-1]:g} s are not {shares[row]:g} % {title}"
                self.faults.note(
                    at,
                    f"{self.out['section'][row]}: {found}",
                    "one of the numbers is damaged; get the file again",
                )

    def _keep(self, name: str, indent: int, cells: list[str], at: int) -> None:
        if not all(map(is_number, cells)):
            self.faults.damage(
                at, f"the row of {name!r} has {' '.join(cells)!r}", "what is no number is blank"
            )
        sections, parents = self.out["section"], self.out["parent"]
        owners = [section for section, parent in zip(sections, parents, strict=True) if not parent]
        sections.append("Totals" if name == _TOTALS else re.sub(r"\s+", " ", name))
        parents.append(owners[-1] if indent > 2 and owners else "")
        for column, cell in zip(("cpu_time", "cpu_share", "clock_time", "clock_share"), cells, strict=True):
            self.out[column].append(number(cell))

    def field(self, line: str, at: int) -> None:
        match = _FIELD.match(line)
        if match is None:
            return
        key, text = match["key"], match["value"]
        if not is_number(text):
            self.faults.damage(at, f"{key!r} is {text!r}, not a number", "left blank")
        elif key == "Problem time":
            self.out["problem_time"] = number(text)
        elif key == "Problem cycle":
            self.out["problem_cycle"] = integer(text)
        elif key == "Total CPU time":
            self.out["cpu_total"] = number(text)
        else:
            name = "cpu_per_zone_cycle" if key.startswith("CPU") else "clock_per_zone_cycle"
            self.out[name] = number(text) * _NANOSECONDS.get(match["unit"], math.nan)

    def elapsed(self, line: str, at: int) -> None:
        self._closed = False  # the words that stand above are repeated below
        match = _ELAPSED.match(line)
        if match is None or not is_number(match["elapsed"]):
            self.faults.damage(at, f"{line.strip()!r} gives no seconds", "elapsed left blank")
            return
        self.out["elapsed"] = number(match["elapsed"])
        if self.out["elapsed"] == 0:
            self.faults.note(at, "the run took less than the second in which it is printed", "do not use it")
        self.out["elapsed_resolution"] = RESOLUTION
        cycles = _CYCLES.search(match["rest"])
        if cycles is None:
            self.faults.damage(at, "the elapsed time names no cycles", "cycles left blank")
        else:
            self.out["cycles"] = integer(cycles["cycles"])
        processes, threads = _PROCESSES.search(match["rest"]), _THREADS.search(match["rest"])
        if processes:
            self.out["ranks"] = integer(processes[1])
        if threads:
            self.out["threads"] = integer(threads[1])

    def stamp(self, line: str, at: int) -> None:
        match = _STAMP.fullmatch(line)
        try:
            if match is None:
                raise ValueError
            text = f"{match['year']}-{match['month']}-{match['day']}T{match['clock']}"
            self.out["end" if match["key"] == "End time" else "start"] = np.datetime64(text, "ns")
        except ValueError:
            self.faults.damage(at, f"{line.strip()!r} gives no time", "left blank")

    def execution(self, line: str, at: int) -> None:
        match = _EXECUTION.match(line)
        if match:
            self.out["ranks"] = integer(match[1])

    def deck(self, line: str, at: int) -> None:
        if match := _INPUT.fullmatch(line):
            self.input = match["name"]

    def option(self, line: str, at: int) -> None:
        if match := _RESTART.fullmatch(line):
            self.restart = match["name"]
            self.faults.note(at, f"continues from {self.restart}", "its time is that of the rest")

    def elements(self, line: str, at: int) -> None:
        match = _ELEMENTS.fullmatch(line)
        if match is None:
            return
        if (count := integer(match["count"])) < 0:
            self.faults.damage(at, f"{line.strip()!r} gives no number", "the model has no size")
        self._elements[match["kind"]] = count
        counts = self._elements.values()
        self.out["elements"] = sum(counts) if min(counts) >= 0 else -1

    def banner(self, line: str, at: int) -> None:
        match = _BANNER.match(line)
        if match and match["value"].strip():
            key = match["key"].lower().replace("svn version", "revision")
            # Older banners put date and time behind it on the same line.
            self.out["banner"].setdefault(key, re.split(r"\s{2,}", match["value"].strip())[0])

    def close(self, last: int, rest: str) -> None:
        """Name what is missing at the end of the file."""
        out, faults = self.out, self.faults
        # Nothing of worth can follow the closing line, which some platforms leave without a line end.
        if rest.strip():
            self.termination(rest, last + 1)
            if not _TERMINATION.match(rest):
                faults.damage(last + 1, "the last line has no end, its value may be cut", "left out")
        out["valid"] = out["termination"] == "normal" and out["elapsed"] > 0
        if out["termination"] == "none":
            faults.damage(last, "no termination is printed", "the run was killed or the file is cut")
        elif out["termination"] == "error":
            faults.note(last, "LS-DYNA ended with an error", "do not use the run")
        if not self._whole_table:
            faults.damage(last, "the timing table ends without its totals", "the file is cut")
        elif out["termination"] != "none" and not self._closed:
            faults.damage(last, "the closing line is missing", "the file is cut at its end")
        if out["termination"] == "normal" and out["elapsed"] != out["elapsed"]:
            faults.damage(last, "no elapsed time is printed", "the file is cut before its end")


def _row(line: str) -> tuple[str, list[str]]:
    """Split a row into its name, filled up with dots, and four cells; the first may touch the dots."""
    head, *cells = line.rsplit(None, 3) or [""]
    if len(cells) < 3 or not head.startswith(" "):
        return "", []
    name, _, first = head.rpartition(" ") if " " in head.strip() else head.partition(".")
    first = first.lstrip(".")
    return (name.strip(" ").rstrip(" .") or ".", [first, *cells]) if first else ("", [])


# First words of a line -> who reads it.
_HANDLERS: tuple[tuple[str, Callable[[_Account, str, int], None]], ...] = (
    ("N o r m a l", _Account.termination),
    ("E r r o r", _Account.termination),
    ("T i m i n g", _Account.table),
    ("Problem ", _Account.field),
    ("Total CPU time", _Account.field),
    ("CPU time per zone", _Account.field),
    ("Clock time per zone", _Account.field),
    ("Elapsed time", _Account.elapsed),
    ("Start time", _Account.stamp),
    ("End time", _Account.stamp),
    ("Date:", _Account.stamp),  # at the top; the start in the closing lines counts
    ("MPP execution", _Account.execution),
    ("Input file:", _Account.deck),
    *((word, _Account.option) for word in ("Command line options:", "r=", "R=")),
    ("number of ", _Account.elements),
    *(
        (word, _Account.banner)
        for word in ("Version", "Revision", "SVN Version", "Platform", "Precision", "Hostname")
    ),
)
_HINT = re.compile(r"[ |\t]*(?:" + "|".join(re.escape(start) for start, _ in _HANDLERS) + ")")
