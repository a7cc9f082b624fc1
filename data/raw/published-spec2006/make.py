"""Make results.csv of SPEC CPU2006 rates: ``python make.py REPOSITORY``, its git directory.

The original is a table of SPEC's results as R has cached it, at the commit that README.md names. It is read
with `rdata`, which the project does not need otherwise: ``pip install rdata``.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = "SPECCPU2006_cache/html/get_data_afd1466e5faef15ec610ef2e4685d5d8.rdb"
START, END = 89, 483613  # of its zlib stream
HEADER = (
    "run", "application", "case", "cluster", "cpu", "dimm", "nodes",
    "figure_of_merit", "figure_of_merit_unit", "source",
)  # fmt: skip
# Two of these processors a system, and the compilers that are taken for each: those of several generations.
CPUS = {
    "Intel Xeon E5-2680 v2": "14", "Intel Xeon E5-2680": "12|13|14", "Intel Xeon X5670": "12",
    "Intel Xeon X5570": "11|12", "AMD Opteron 2384": "7", "AMD Opteron 2356": "7",
}  # fmt: skip
# Families of one maker with a single-rank and a dual-rank system: system, processors, compiler, memory and
# release of the operating system. Where these are equal, only the ranks differ, and the model of the server.
FAMILIES = {
    "Altos": (r"Altos (R360|R380|T350) F2", r"E5-26[235]0", "13.0.0.133", r"8 x 8 GB|16 x 8 GB", "6.3"),
    "V2": (r"Huawei .* V2", r"E5-24(30L|40)", "12.1.0.225", r"12 x 8 GB", "6.2"),
    "Actina": (r"ACTINA SOLAR 1[012]0 [SX]5", r"E3-1220 v2", "13.1.1.163", r"4 x 4 GB", "6.4"),
    "GA-880GMA": (r"GA-880GMA-USB3", r"Phenom II X4 955", "4.2.4", r"4 x 4 GB", "11 SP1"),
}
VERSION = re.compile(r"(?:Version |Compiler (?:Professional )?|Compiler, )?(\d+\.\d+(?:\.\d+)*)")
RANKS = {"1": "single rank", "2": "dual rank"}


def results(repository: str) -> Iterator[Mapping[str, Any]]:
    """Return the rows of the table."""
    import rdata

    git = ["git", "-C", repository, "show", f"HEAD:{TABLE}"]
    raw = subprocess.run(git, capture_output=True, check=True).stdout
    frame = rdata.conversion.convert(rdata.parser.parse_data(zlib.decompress(raw[START:END])))
    yield from frame[frame["Benchmark"] == "CFP2006rate"].to_dict("records")


def compiler(one: Mapping[str, Any]) -> str:
    """Return the version of the first compiler that a result names."""
    found = VERSION.search(str(one["Compiler"]))
    return found[1] if found else ""


def rank(one: Mapping[str, Any]) -> str:
    """Return how many ranks the memory modules have, empty where it is not stated."""
    found = re.search(r"\b([12])Rx", str(one["Memory"]))
    return RANKS[found[1]] if found else ""


def row(one: Mapping[str, Any], cluster: str, dimm: str) -> list[str]:
    """Return the row of a result."""
    chips, version = int(one["X..Chips."]), compiler(one)
    cpu = f"{chips} x " * (chips > 1) + str(one["Processor."]).removeprefix("Intel ").removeprefix("AMD ")
    said = (one["Hardware.Vendor."], one["System"], one["Test.Date"], one["Memory"], f"compiler {version}")
    name = " ".join(map(str, said))
    rate = f"{float(one['Baseline']):g}"
    return [" ".join(name.split()), "spec-cpu2006", "CFP2006rate", cluster, cpu, dimm, "1", rate,
            "SPECrate base", "spec"]  # fmt: skip


def chosen(one: Mapping[str, Any]) -> list[str]:
    """Return the row of a result that is taken, none of another."""
    version, system, cpu = compiler(one), str(one["System"]), str(one["Processor."])
    if not float(one["Baseline"]) > 0:  # a result that was withdrawn
        return []
    for family, (pattern, of, wanted, memory, release) in FAMILIES.items():
        alike = (
            version == wanted
            and re.search(memory, str(one["Memory"]))
            and release in str(one["Operating.System"])
        )
        if (
            re.search(pattern, f"{one['Hardware.Vendor.']} {system}")
            and re.search(of + "$", cpu)
            and alike
            and rank(one)
        ):
            return row(one, family, rank(one))
    majors = CPUS.get(cpu)
    told = majors and re.fullmatch(rf"(?:{majors})\..*", version)
    return row(one, "", "") if told and int(one["X..Chips."]) == 2 else []


def main(repository: str) -> None:
    """Write the table; results with one name are numbered."""
    seen: dict[str, int] = {}
    rows = [found for found in map(chosen, results(repository)) if found]
    both = {(one[3], one[4]) for one in rows if one[5] == "single rank"}
    both &= {(one[3], one[4]) for one in rows if one[5] == "dual rank"}
    with (HERE / "results.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(HEADER)
        for found in (one for one in rows if not one[3] or (one[3], one[4]) in both):
            seen[found[0]] = seen.get(found[0], 0) + 1
            number = f" #{seen[found[0]]}" * (seen[found[0]] > 1)
            out.writerow([found[0] + number, *found[1:]])


if __name__ == "__main__":
    main(*sys.argv[1:])
