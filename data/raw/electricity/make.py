"""Make prices.csv of prices of electricity in the United States: ``python make.py Table_9.8_….csv``.

The original is ``data/Table_9.8_Average_Retail_Prices_of_Electricity.csv`` of the repository and commit that
README.md names.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).parent
FROM, TO = "2006-01-01", "2019-12-01"  # around the reports
HEADER = (
    "run", "question", "application", "case", "cluster", "figure_of_merit", "figure_of_merit_unit",
)  # fmt: skip
CUSTOMERS = {"Commercial": 2, "Industrial": 3}  # columns of the original


def prices(lines: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return a row a month and kind of customer, in USD per kWh; the original has cents, taxes included."""
    out = []
    for cells in lines:
        try:
            date = datetime.strptime(cells[0], "%Y %B").strftime("%Y-%m-%d")
        except ValueError:  # headings, units
            continue
        for name, column in CUSTOMERS.items():
            if FROM <= date <= TO and cells[column] != "Not Available":
                dollars = str(Decimal(cells[column]).scaleb(-2))
                line = [f"{date[:7]} {name.lower()}", date[:4], "electricity", name.lower(), "United States"]
                out.append([*line, dollars, "USD/kWh"])
    return out


def main(original: str, out: Path = HERE) -> None:
    """Write the table."""
    with Path(original).open(encoding="utf-8-sig", newline="") as file:
        rows = prices(csv.reader(file))
    with (out / "prices.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


if __name__ == "__main__":
    main(*sys.argv[1:])
