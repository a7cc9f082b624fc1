"""Graph500's reference code, 2.1 and 3.0: times, edges, TEPS of searches (bfs) and paths (sssp)."""

import itertools

from analysis.readers.merits.output import Output, TextFormat, agree
from analysis.readers.text import number

_LINE = r"^(?P<name>(?:bfs +|sssp +)?\w+_(?P<what>time|nedge|TEPS|validate)): +(?:! +)?(?P<value>\S+) *$"
_UNITS = {"time": "s", "nedge": "1", "TEPS": "TEPS", "validate": "s"}
_ORDER = ("min", "firstquartile", "median", "thirdquartile", "max")
_PROBLEM = ("SCALE", "edgefactor")


def _finish(output: Output) -> None:
    """Add the statistics; a validation that was skipped (-1) gives no time of its own."""
    size = [f"{name}={output.facts[name]}" for name in _PROBLEM if output.facts[name]]
    output.facts["size"] = " ".join(size) if len(size) == len(_PROBLEM) else ""
    for line, match in output.find(_LINE):
        if match["what"] != "validate" or match["value"] not in ("-1", "0"):
            output.add(" ".join(match["name"].split()), match["value"], _UNITS[match["what"]], line)
    _verify(output)
    invalid = next(output.find(r"^(?:Validation failed|No results printed for invalid run)"), None)
    if invalid:
        output.faults.damage(invalid[0], "the validation failed", "do not use the run")
        output.check(0, False)


def _verify(output: Output) -> None:
    """Compare the statistics with each other: in order, means between, rates as edges over times."""
    texts = {" ".join(match["name"].split()): (line, match["value"]) for line, match in output.find(_LINE)}
    for kind in ("", "bfs ", "sssp "):
        for what in ("time", "nedge", "TEPS"):
            known = [texts[name] for one in _ORDER if (name := f"{kind}{one}_{what}") in texts]
            for (_, low), (line, high) in itertools.pairwise(known):
                found = f"{kind}{what}: {low} and then {high}"
                output.verify(line, not number(low) > number(high), found)
            for mean in ("mean", "harmonic_mean"):
                line, text = texts.get(f"{kind}{mean}_{what}", (0, ""))
                outside = known and not number(known[0][1]) <= number(text) <= number(known[-1][1])
                found = f"{kind}{mean}_{what} {text} is outside of the others"
                output.verify(line, not (text and outside), found)
        _verify_rates(output, {name.removeprefix(kind): one for name, one in texts.items()})


def _verify_rates(output: Output, texts: dict[str, tuple[int, str]]) -> None:
    """Compare rates with times where every search saw as many edges."""
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
            output.verify(line, agree((text, texts[time][1]), (nedge,), slack=slack), found)


FORMAT = TextFormat(
    engine="graph500", tool="Graph500", marks=((b"SCALE:", b"edgefactor:"),),
    near=r"(?i:graph ?500)|\bTEPS\b",
    first_line="^SCALE:", opening="",
    closing=r"^(?:bfs +|sssp +)?harmonic_stddev_TEPS: .*\n|^No results printed",
    closed_by="'harmonic_stddev_TEPS:'",
    facts={
        "ranks": r"^num_mpi_processes: +(\d+)",
        **{name: rf"^{name}: +(\d+)" for name in _PROBLEM},
    },
    finish=_finish, figure_of_merit="bfs harmonic_mean_TEPS",
    main=("bfs harmonic_mean_TEPS", "harmonic_mean_TEPS"), unit="TEPS", problem=_PROBLEM,
)  # fmt: skip
