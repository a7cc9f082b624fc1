"""HPL (High-Performance Linpack), also NVIDIA's and Intel's: a row of the table for each result."""

from __future__ import annotations

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output, agree
from analysis.readers.text import integer

# NVIDIA adds the rate of one GPU in brackets, Intel a column of its own after the variant.
_ROW = (
    r"^\s*(?P<variant>W[RC]\w+)(?: +\d+)?(?P<problem>(?: +\d+){4}) +(?P<time>\d+\.\d+) +(?P<rate>\d\S*)"
    r"(?: +\( *\S+ *\))? *$"
)
_CHECK = r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. (?P<word>PASSED|FAILED) *$"

_FINISHED = r"^\s*(?P<tests>\d+) tests completed and "


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold HPL's banner; HPCC, which runs it too, has a reader of its own."""
    return b"HPLinpack " in head and b"parameter values will be used" in head and b"HPC Challenge" not in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read every result: kind ``merits``; the largest rate speaks for the file."""
    if not sniff(data):
        raise ReadError.at(source, 0, "no banner of HPLinpack", "give the output of xhpl")
    output = Output(data, source)
    grids = set()
    rows = list(output.find(_ROW))
    for result, (line, row) in enumerate(rows):
        n, nb, p, q = row["problem"].split()
        case = f"N={n} NB={nb} P={p} Q={q} {row['variant']}"
        grids.add(integer(p) * integer(q))
        work = (2 / 3 * float(n) + 3 / 2) * float(n) ** 2 / 1e9 or 1.0
        found = f"{row['rate']} Gflops in {row['time']} s, N = {n} takes {work:.6g} Gflop"
        output.hold(line, agree((row["rate"], row["time"]), factor=work, slack=1e-4), found)
        output.add("Gflops", row["rate"], "Gflop/s", line, result=result, problem=case)
        output.add("Time", row["time"], "s", line, result=result, problem=case)
    lines = [line for line, _ in rows]
    for line, check in output.find(_CHECK):
        at = sum(start < line for start in lines) - 1
        if at >= 0:
            output.check(at, check["word"] == "PASSED")
    told = sum(integer(match["tests"]) for _, match in output.find(_FINISHED))
    if told > len(rows):
        found = f"{len(rows)} rows of {told} tests that HPL says it finished"
        output.faults.damage(lines[-1] if lines else 0, found, "the file is damaged; kept what is whole")
    output.facts["ranks"] = grids.pop() if len(grids) == 1 else -1
    output.close(r"^\s*End of Tests\.", "'End of Tests.'", opening=r"^\s*HPLinpack \S+ +--")
    version = output.first(r"^\s*HPLinpack (\S+)")
    return output.dataset("hpl", "HPL", version, main="Gflops", which="largest", time="Time")
