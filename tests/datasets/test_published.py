"""Published figures as a campaign: rows, tables and refusals."""

from __future__ import annotations

import csv
import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError, ReadError
from analysis.datasets.campaign import ingest
from analysis.schema import storage

RAW = project.raw("published")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (RAW / "figures.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def copied(folder: Path) -> Path:
    raw = folder / "published"
    shutil.copytree(RAW, raw)
    return raw


def test_ingest__makes_a_run_of_each_name(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    summary = ingest(RAW, tmp_path)
    runs = storage.read_tree(tmp_path / "campaign.nc")["runs"].to_dataset()
    names = {row["run"] for row in rows if row["run"] and row["qualifier"] != "suspect"}
    assert summary.runs == len(names) > 100
    assert set(runs["run"].values) == names
    assert set(runs["evidence"].values) == {"published"}
    questions = Counter(map(str, runs["question"].values))
    assert questions["hpcg 2.4"] == 94 + 1  # the rule for an official run is a figure of 2.4 too
    assert questions["hpcg 3.0"] == sum(r["version"] == "3.0" and r["metric"] == "rating" for r in rows) == 31
    assert questions["osu 4.4.1"] == 25


def test_ingest__takes_over_what_the_table_says(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    ingest(RAW, tmp_path)
    tree = storage.read_tree(tmp_path / "campaign.nc")
    runs = tree["runs"].to_dataset().set_index(run="run")
    one = runs.sel(run="venus-hpcg-021")  # centos/6, distribution's MPI, 16³, 180 s
    assert (float(one["figure_of_merit"]), str(one["figure_of_merit_unit"].item())) == (11.2185, "Gflop/s")
    assert (float(one["benchmark_time"]), float(one["target_time"])) == (195.337, 180)
    counts = [int(one[name]) for name in ("nodes", "ranks", "ranks_per_node", "local_size")]
    assert counts == [8, 64, 8, 16]
    assert str(one["build"].item()) == "container CentOS 6.5, gcc 4.4.7"
    assert str(one["checksum"].item()) == hashlib.sha256((RAW / "figures.csv").read_bytes()).hexdigest()
    assert tree["figures"].sizes["figure"] == len(rows)


def test_ingest__message_tables_leave_suspect_figures_out(tmp_path: Path) -> None:
    ingest(RAW, tmp_path)
    micro = storage.read_tree(tmp_path / "campaign.nc")["micro"].to_dataset().to_dataframe()
    tcp = micro[micro["run"] == "ompi-users-1.7.3-latency"]
    assert sorted(tcp["size"]) == [0, 8, 64, 256, 1024, 4096]
    assert micro[micro["run"] == "venus-alltoall-001"].set_index("size")["latency"][8] == 1.51


def test_ingest__writes_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ingest(RAW, tmp_path / name)
    first, second = ((tmp_path / name / "campaign.nc").read_bytes() for name in ("a", "b"))
    assert first == second


def test_ingest__refuses_a_figure_without_its_source(tmp_path: Path) -> None:
    raw = copied(tmp_path)
    path = raw / "sources.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("akrr,")))
    with pytest.raises(ConfigError, match=r"figures\.csv:0: figure f0918 names source 'akrr'; add it"):
        ingest(raw, tmp_path / "out")


def test_ingest__refuses_a_run_that_has_a_figure_twice(tmp_path: Path) -> None:
    raw = copied(tmp_path)
    path = raw / "figures.csv"
    again = path.read_text().splitlines(keepends=True)[1].replace("f0001", "f9999")
    path.write_text(path.read_text() + again)
    with pytest.raises(ConfigError, match="figure f9999: run venus-hpcg-001 has its rating twice"):
        ingest(raw, tmp_path / "out")


def test_ingest__refuses_a_table_of_sources_with_other_columns(tmp_path: Path) -> None:
    raw = copied(tmp_path)
    (raw / "sources.csv").write_text("source,title\na,b\n")
    with pytest.raises(ReadError, match=r"sources\.csv:1: columns source, title"):
        ingest(raw, tmp_path / "out")
