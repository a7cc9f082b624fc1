"""Graph500's reference code, 2.1 and 3.0: times, edges, TEPS of searches (bfs) and paths (sssp)."""

from __future__ import annotations

import itertools

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output, agree
from analysis.readers.text import number

_LINE = r"^(?P<name>(?:bfs +|sssp +)?\w+_(?P<what>time|nedge|TEPS|validate)): +(?:! +)?(?P<value>\S+) *$"
_UNITS = {"time": "s", "nedge": "1", "TEPS": "TEPS", "validate": "s"}
_SIZE = {name: rf"^{name}: +(\d+)" for name in ("SCALE", "edgefactor")}

_ORDER = ("min", "firstquartile", "median", "thirdquartile", "max")


def _hold(output: Output) -> None:
    """Hold the statistics against each other: in order, means between, rates as edges over times."""
    texts = {" ".join(match["name"].split()): (line, match["value"]) for line, match in output.find(_LINE)}
    for kind in ("", "bfs ", "sssp "):
        for what in ("time", "nedge", "TEPS"):
            known = [texts[name] for one in _ORDER if (name := f"{kind}{one}_{what}") in texts]
            for (_, low), (line, high) in itertools.pairwise(known):
                found = f"{kind}{what}: {low} and then {high}"
                output.hold(line, not number(low) > number(high), found)
            for mean in ("mean", "harmonic_mean"):
                line, text = texts.get(f"{kind}{mean}_{what}", (0, ""))
                outside = known and not number(known[0][1]) <= number(text) <= number(known[-1][1])
                output.hold(
                    line, not (text and outside), f"{kind}{mean}_{what} {text} is outside of the others"
                )
        _hold_rates(output, {name.removeprefix(kind): one for name, one in texts.items()})


def _hold_rates(output: Output, texts: dict[str, tuple[int, str]]) -> None:
    """Hold rates against times where every search saw as many edges."""
    edges = {text for name, (_, text) in texts.items() if name in ("min_nedge", "max_nedge")}
    if len(edges) != 1:
        return
    (nedge,) = edges
    pairs = {f"{one}_TEPS": f"{other}_time" for one, other in zip(_ORDER, reversed(_ORDER), strict=True)}
    for rate, time in (pairs | {"harmonic_mean_TEPS": "mean_time"}).items():
        if rate in texts and time in texts:
            line, text = texts[rate]
            found = f"{rate} {text} and {time} {texts[time][1]}, {nedge} edges"
            # A quartile of 64 lies between two searches, of rates and of times.
            slack = 1e-4 if rate in ("min_TEPS", "max_TEPS", "harmonic_mean_TEPS") else 0.05
            output.hold(line, agree((text, texts[time][1]), (nedge,), slack=slack), found)


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
    _hold(output)
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
