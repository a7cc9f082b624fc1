"""Make results.csv of SPECpower's published results: ``python make.py SPECpower-2026-03-09.csv``.

The original is ``data/SPECpower-2026-03-09.csv`` of the repository and commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).parent
HEADER = (
    "run", "application", "question", "cluster", "cpu", "cores", "figure_of_merit", "figure_of_merit_unit",
    "mean_power", "idle_power", "reason",
)  # fmt: skip
# What makers write around a processor's name.
AROUND = re.compile(r"\((r|tm)\)|\b(intel|amd|cpu|processor|processors)\b|@.*|,.*|\(.*\)", re.IGNORECASE)


def cpu(description: str, chips: str) -> str:
    """Return how many of which processor, like ``2 x Xeon X5670``."""
    return f"{chips} x {' '.join(AROUND.sub(' ', description).split())}"


def results(rows: Iterable[Mapping[str, str]]) -> list[list[str]]:
    """Return a row a result."""
    out = []
    for row in rows:
        watts, idle = row["avg. watts @ 100%"], row["avg. watts @ active idle"]
        whole = bool(watts and idle and row["Result"])
        date = datetime.strptime(row["Published"], "%b-%Y").strftime("%Y-%m")
        system = f"{row['Hardware Vendor']}, {row['System']}"
        processors = cpu(row["CPU Description"], row["Chips"])
        line = [f"result {row['']}", "specpower", date, system, processors, row["# Cores"], row["Result"]]
        out.append([*line, "ssj_ops/W", watts, idle, "" if whole else "no power is given"])
    return out


def main(original: str, out: Path = HERE) -> None:
    """Write the table."""
    with Path(original).open(encoding="utf-8", newline="") as file:
        rows = results(csv.DictReader(file))
    with (out / "results.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


if __name__ == "__main__":
    main(*sys.argv[1:])
