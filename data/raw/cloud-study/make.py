"""Make runs.csv and sizes.csv.xz of the cloud study's OSU tables: ``python make.py FOLDER``.

The originals are ``paper/osu-benchmarks/data/osu_*-cpu-dataframe.csv`` of the repository and commit that
README.md names.
"""

from __future__ import annotations

import csv
import io
import lzma
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
RUN = (
    "run", "application", "case", "cluster", "cpu", "interconnect", "nodes", "ranks", "ranks_per_node",
    "question",
)  # fmt: skip
SIZE = ("run", "case", "size", "latency", "bandwidth")
# The value's column in the original, and whether it is a latency.
VALUES = {"osu_latency": "latency_us", "osu_bw": "bandwidth_mb_s", "osu_allreduce": "avg_latency_us"}
# Powers of eight, and 4 MiB.
SIZES = {8**power for power in range(1, 7)} | {4 * 2**20}
# Environment -> machine, cores of a node that have ranks, link, by the study's protocols, which lack Dane.
PLACES = {
    "google/gke": ("c2d-standard-112", 56, "ethernet-tcp"),
    "google/compute-engine": ("c2d-standard-112", 56, "ethernet-tcp"),
    "aws/eks": ("hpc6a.48xlarge", 96, "efa"),
    "aws/parallel-cluster": ("hpc6a.48xlarge", 96, "efa"),
    "azure/aks": ("HB120-96rs_v3", 96, "ib-hdr"),
    "azure/cyclecloud": ("HB120-96rs_v3", 96, "ib-hdr"),
    "on-premises/dane": ("", 0, ""),
}

Row = Mapping[str, str]


def runs(rows: Iterable[Row], case: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the runs of one table and their sizes: where sizes fall, another run begins."""
    found: list[list[str]] = []
    sizes: list[list[str]] = []
    last, counts = ("", "", 0), dict[str, int]()
    for row in rows:
        place, size = f"{row['cloud']}/{row['env']}", int(float(row["size"]))
        if (place, row["nodes"]) != last[:2] or size <= last[2]:
            counts[place] = counts.get(place, 0) + 1
            name = f"{place.replace('/', '-')} {row['nodes']} {case} {counts[place]}"
            found.append([name, "osu", case, *_where(place, int(row["nodes"]), case)])
        last = (place, row["nodes"], size)
        if size in SIZES:
            value = row[VALUES[case]]
            sizes.append([found[-1][0], case, str(size), *(("", value) if case == "osu_bw" else (value, ""))])
    return found, sizes


def _where(place: str, cluster: int, case: str) -> list[str]:
    machine, cores, link = PLACES[place]
    nodes, each = (cluster, cores) if case == "osu_allreduce" else (2, 1)
    ranks, per_node = (str(nodes * each), str(each)) if each else ("", "")
    return [place, machine, link, str(nodes), ranks, per_node, f"a cluster of {cluster} nodes"]


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> bytes:
    """Write a table with line ends of one byte."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().encode()


def main(folder: str, out: Path = HERE) -> None:
    """Write both tables."""
    all_runs, all_sizes = [], []
    for case in VALUES:
        for nodes in (32, 64, 128, 256):
            with (Path(folder) / f"{case}-{nodes}-cpu-dataframe.csv").open(
                encoding="utf-8", newline=""
            ) as file:
                found, sizes = runs(csv.DictReader(file), case)
            all_runs += found
            all_sizes += sizes
    (out / "runs.csv").write_bytes(table(RUN, all_runs))
    (out / "sizes.csv.xz").write_bytes(lzma.compress(table(SIZE, all_sizes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
