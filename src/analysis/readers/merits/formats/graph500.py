"""Graph500's reference code, 2.1 and 3.0: times, edges, TEPS of searches (bfs) and paths (sssp)."""

from __future__ import annotations

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output

_LINE = r"^(?P<name>(?:bfs +|sssp +)?\w+_(?P<what>time|nedge|TEPS|validate)): +(?:! +)?(?P<value>\S+) *$"
_UNITS = {"time": "s", "nedge": "1", "TEPS": "TEPS", "validate": "s"}
_SIZE = {name: rf"^{name}: +(\d+)" for name in ("SCALE", "edgefactor")}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes have the lines that begin Graph500's results."""
    return b"edgefactor:" in head and b"SCALE:" in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the statistics: kind ``merits``; a validation that was skipped (-1) gives no time of its own."""
    if not sniff(data):
        raise ReadError.at(source, 0, "no 'SCALE:' and 'edgefactor:'", "give the output of Graph500")
    output = Output(data, source)
    sizes = {name: output.first(pattern) for name, pattern in _SIZE.items()}
    if all(sizes.values()):
        output.facts["size"] = " ".join(f"{name}={value}" for name, value in sizes.items())
    output.facts["ranks"] = output.first(r"^num_mpi_processes: +(\d+)")
    for line, match in output.find(_LINE):
        if match["what"] == "validate" and match["value"] in ("-1", "0"):
            continue
        unit = _UNITS[match["what"]]
        output.add(" ".join(match["name"].split()), match["value"], unit, line)
    invalid = next(output.find(r"^(?:Validation failed|No results printed for invalid run)"), None)
    if invalid:
        output.faults.damage(invalid[0], "the validation failed", "do not use the run")
        output.check(0, False)
    output.close(
        r"^(?:bfs +|sssp +)?harmonic_stddev_TEPS: .*\n|^No results printed", "'harmonic_stddev_TEPS:'"
    )
    bfs = any(row.merit.startswith("bfs ") for row in output.rows)
    main = "bfs harmonic_mean_TEPS" if bfs else "harmonic_mean_TEPS"
    return output.dataset("graph500", "Graph500", "", main=main)
