"""Make systems.csv and lists.csv of TOP500's lists: ``python make.py top500-clean.csv``.

The original is ``data/top500-clean.csv`` of the repository and commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
FROM = "2006"  # lists before it have none of the processors or links that reports compare
SYSTEM = (
    "run", "application", "question", "cpu", "interconnect", "cores", "figure_of_merit",
    "figure_of_merit_unit", "peak", "mean_power", "reason",
)  # fmt: skip
SHARE = ("run", "application", "case", "interconnect", "figure_of_merit", "figure_of_merit_unit")
# The whole of a link's name, spaces apart; systems with two kinds of link are of neither.
LINKS = {
    r"inf(ini|in)band( (4x )?(sdr|ddr|qdr|fdr|fdr14|edr)(/\w+)?( 4x)?)?": "ib",
    r"infiniband qdr sun m9 / mellanox / partec|56g infiniband fdr|intel truescale.*": "ib",
    r"gigabit ethernet": "1gbe",
    r"(10|25|40|100)g ethernet": r"\1gbe",
    r".*omni-path.*": "omnipath-100",
}
MISFIT = "cores, peak and processor do not fit: accelerators, several processors or a later upgrade"
REPEATED = (
    "the share of the peak, to 0.1 %, of another system with this processor and link: perhaps extrapolated"
)

# Industry's systems are often one extrapolated Rmax under many numbers.
ALIKE = ("rmax", "rpeak", "cores", "processor", "interconnect")

Row = Mapping[str, str]


def link(name: str) -> str:
    """Return the kind of a link, empty if it is of no kind that is compared."""
    for pattern, kind in LINKS.items():
        if found := re.fullmatch(pattern, name.strip().lower()):
            return found.expand(kind)
    return ""


def operations(row: Row) -> float:
    """Return the peak in operations a core and clock; 0 where the clock is not said."""
    clock = re.search(r"([\d.]+) ?GHz", row["processor"])
    return float(row["rpeak"]) / float(row["cores"]) / float(clock[1]) if clock else 0.0


def systems(rows: Iterable[Row]) -> list[list[str]]:
    """Return each system once, as first listed; one of several that are `ALIKE`.

    What has accelerators is in no column. A processor does a power of two of operations a clock, the same
    in every system: one whose cores and peak say something else is marked. So is one with the same share of
    the peak as an earlier one: one rate per core, extrapolated to many sizes, is no sample of systems.
    """
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row["system_id"], row)
    alike: dict[tuple[str, ...], Row] = {}
    for row in first.values():
        if row["list"] >= FROM and link(row["interconnect"]) and re.search("Xeon|Opteron", row["processor"]):
            alike.setdefault(tuple(row[name] for name in ALIKE), row)
    usual: dict[str, Counter[float]] = {}
    for row in alike.values():
        usual.setdefault(row["processor"], Counter())[round(operations(row), 1)] += 1
    powers = {
        name: min((2.0, 4.0, 8.0, 16.0, 32.0), key=lambda power: abs(power - found.most_common(1)[0][0]))
        for name, found in usual.items()
    }
    found = [_system(row, powers[row["processor"]]) for row in alike.values()]
    shares = set[tuple[str, ...]]()
    for one in found:
        cpu, kind, rmax, peak, reason = (one[at] for at in (3, 4, 6, 8, 10))
        share = (cpu, kind, format(float(rmax) / float(peak), ".3f"))
        if not reason and share in shares:
            one[10] = REPEATED
        shares |= set() if reason else {share}
    return found


def _system(row: Row, power: float) -> list[str]:
    fits = abs(operations(row) / power - 1) < 0.02
    watts = "" if row["power"] == "NA" else format(1000 * float(row["power"]), ".10g")
    name = " ".join(row["processor"].removeprefix("Intel ").split())
    return [
        row["system_id"], "hpl", row["list"][:7], name, link(row["interconnect"]), row["cores"], row["rmax"],
        "Gflop/s", row["rpeak"], watts, "" if fits else MISFIT,
    ]  # fmt: skip


def lists(rows: Iterable[Row]) -> list[list[str]]:
    """Return how many of a list's systems have each kind of link."""
    found = Counter((row["list"][:7], link(row["interconnect"]) or "another") for row in rows)
    return [
        [f"{date} {kind}", "top500", date, kind, str(count), "systems"]
        for (date, kind), count in sorted(found.items())
        if date >= FROM
    ]


def write(path: Path, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a table with line ends of one byte."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main(original: str, out: Path = HERE) -> None:
    """Write both tables."""
    with Path(original).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    write(out / "systems.csv", SYSTEM, systems(rows))
    write(out / "lists.csv", SHARE, lists(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
