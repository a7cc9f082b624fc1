"""HPL (High-Performance Linpack), also NVIDIA's and Intel's: a row of the table for each result."""

import math
import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from analysis.readers.merits.output import Output, TextFormat, agree
from analysis.readers.text import integer, number

# NVIDIA adds the rate of one GPU in brackets, Intel a column of its own after the variant.
_ROW = (
    r"^\s*(?P<variant>W[RC]\w+)(?: +\d+)?(?P<problem>(?: +\d+){4}) +(?P<time>\d+\.\d+) +(?P<rate>\d\S*)"
    r"(?: +\( *(?P<each>\S+?) *\))? *$"
)
_CHECK = r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. (?P<word>PASSED|FAILED) *$"
_CLOCK = r"^HPL_pdgesv\(\) (?P<what>start|end) time +\w+ +(?P<time>\w+ +\d+ +[\d:]+ +\d{4})"
_FINISHED = r"^\s*(?P<tests>\d+) tests completed and "
_PROBLEM = ("N", "NB", "P", "Q", "variant")


def _is_hpl(head: bytes) -> bool:
    """Tell whether some bytes hold HPL's banner; HPCC, which runs it too, has a reader of its own."""
    return b"HPLinpack " in head and b"parameter values will be used" in head and b"HPC Challenge" not in head


def _finish(output: Output) -> None:
    """Add the rows, each with its problem and its check; compare rate and time with the operations."""
    problems: list[dict[str, str]] = []
    rows = list(output.find(_ROW))
    for result, (line, row) in enumerate(rows):
        problem = dict(zip(_PROBLEM, (*row["problem"].split(), row["variant"]), strict=True))
        problems.append(problem)
        numbers = (f"{name}={value}" for name, value in problem.items() if name != "variant")
        case = " ".join([*numbers, row["variant"]])
        n = float(problem["N"])
        work = (2 / 3 * n + 3 / 2) * n**2 / 1e9 or 1.0
        found = f"{row['rate']} Gflops in {row['time']} s, N = {problem['N']} takes {work:.6g} Gflop"
        output.verify(line, agree((row["rate"], row["time"]), factor=work, slack=1e-4), found)
        output.add("Gflops", row["rate"], "Gflop/s", line, result=result, problem=case)
        output.add("Time", row["time"], "s", line, result=result, problem=case)
    lines = [line for line, _ in rows]
    _compare_clocks(output, rows, lines)
    for line, check in output.find(_CHECK):
        at = sum(start < line for start in lines) - 1
        if at >= 0:
            output.check(at, check["word"] == "PASSED")
    finished = sum(integer(match["tests"]) for _, match in output.find(_FINISHED))
    if finished > len(rows):
        found = f"{len(rows)} rows of {finished} tests that HPL says it finished"
        output.faults.damage(lines[-1] if lines else 0, found, "the file is damaged; kept what is whole")
    grids = {integer(problem["P"]) * integer(problem["Q"]) for problem in problems}
    output.facts["ranks"] = grids.pop() if len(grids) == 1 else -1
    pairs = [(number(row["rate"]), number(row["each"] or "")) for _, row in rows]
    counts = {round(rate / each) for rate, each in pairs if 0 < rate < math.inf and each >= 1e-3}
    output.facts["gpus"] = counts.pop() if len(counts) == 1 else -1
    # Of a sweep the sizes are the problem, in their order.
    for name in _PROBLEM:
        values = dict.fromkeys(problem[name] for problem in problems)
        output.facts[name] = ",".join(values) if len(values) == 1 or name in ("N", "NB") else ""


def _compare_clocks(output: Output, rows: Sequence[tuple[int, re.Match[str]]], lines: Sequence[int]) -> None:
    """Compare each time with the start and the end that HPL prints below it, in whole seconds."""
    clocks: dict[int, dict[str, str]] = defaultdict(dict)  # by how many rows are above them
    for at, found in output.find(_CLOCK):
        clocks[bisect(lines, at)][found["what"]] = found["time"]
    for count, (line, row) in enumerate(rows, 1):
        own = clocks[count]
        with suppress(ValueError, KeyError):
            start, end = (datetime.strptime(own[what], "%b %d %H:%M:%S %Y") for what in ("start", "end"))
            passed, took = (end - start).total_seconds(), float(row["time"])
            what = f"{row['time']} s, from its start to its end {passed:.0f} s"
            output.verify(line, not abs(passed - took) > 2 + 0.005 * took, what)


FORMAT = TextFormat(
    engine="hpl", tool="HPL", marks=((b"HPLinpack ", b"parameter values will be used"),), test=_is_hpl,
    near=r"HPLinpack|HPL_pdgesv|\bWR\d\d[LCR]\d", first_line=r"^HPLinpack \d",
    opening=r"^\s*HPLinpack \S+ +--", closing=r"^\s*End of Tests\.", closed_by="'End of Tests.'",
    facts={
        "version": r"^\s*HPLinpack (\S+)",
        "HPL-NVIDIA": r"^HPL-NVIDIA (\d\S*) ",
    },
    settings=("HPL-NVIDIA",), finish=_finish, figure_of_merit="Gflops", unit="Gflop/s",
    which="largest", time="Time", problem=_PROBLEM, given="the output of xhpl",
)  # fmt: skip
