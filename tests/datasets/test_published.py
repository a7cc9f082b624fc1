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
from analysis.datasets.published import is_published
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
    assert questions["hpcg 3.1"] == sum(r["version"] == "3.1" and r["metric"] == "rating" for r in rows) == 4
    assert questions["osu 4.4.1"] == 24


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
    raw = copied(tmp_path)
    text = (raw / "figures.csv").read_text()
    line = next(one for one in text.splitlines() if ",osu_alltoall," in one)
    (raw / "figures.csv").write_text(text.replace(line, line.replace(",us,,", ",us,suspect,")))
    for source, name in ((RAW, "whole"), (raw, "doubtful")):
        ingest(source, tmp_path / name)
    whole, doubtful = (
        storage.read_tree(tmp_path / name / "campaign.nc")["micro"].to_dataset().to_dataframe()
        for name in ("whole", "doubtful")
    )
    assert whole[whole["run"] == "venus-alltoall-001"].set_index("size")["latency"].to_dict() == {8: 1.51}
    assert set(whole["run"]) - set(doubtful["run"]) == {line.split(",")[1]}


def test_ingest__takes_the_time_of_a_step_for_a_figure_of_merit(tmp_path: Path) -> None:
    ingest(project.raw("published-openfoam"), tmp_path)
    runs = storage.read_tree(tmp_path / "campaign.nc")["runs"].to_dataset().set_index(run="run")
    one = runs.sel(run="openfoam-knsc-001")  # KNSC-mesh_3M-No1/all.csv, line 2: GAMG-DIC on one node
    assert (float(one["figure_of_merit"]), str(one["figure_of_merit_unit"].item())) == (2.7144, "s")
    assert (float(one["elapsed"]), float(one["target_time"])) == (142, 0)
    assert [int(one[name]) for name in ("nodes", "ranks", "ranks_per_node")] == [1, 20, 20]
    assert (str(one["version"].item()), str(one["case"].item())) == ("4.1", "channel 3M GAMG")


def test_ingest__writes_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ingest(RAW, tmp_path / name)
    first, second = ((tmp_path / name / "campaign.nc").read_bytes() for name in ("a", "b"))
    assert first == second


def test_ingest__refuses_a_figure_without_its_source(tmp_path: Path) -> None:
    raw = copied(tmp_path)
    path = raw / "sources.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("isc21-scc,")))
    with pytest.raises(ConfigError, match=r"figures\.csv: figure f1006 names source 'isc21-scc'; add it"):
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


OWN = """run,application,case,nodes,interconnect,elapsed,start
a1,myapp,big,2,hdr100,197.1,2026-05-04T09:00:00
a2,myapp,big,2,eth0,246.9,2026-05-04T09:10:00
a3,myapp,big,2,eth0,,2026-05-04T09:20:00
"""


def test_ingest__a_table_of_ones_own_is_measured_and_needs_no_source(tmp_path: Path) -> None:
    raw = tmp_path / "mine"
    (raw / "runs").mkdir(parents=True)
    (raw / "runs.csv").write_text(OWN)
    declared = tmp_path / "mine.yaml"
    declared.write_text("title: Mine\nevidence: measured\nhardware: two nodes\nnotes: []\nlevels: {}\n")
    assert ingest(raw, tmp_path / "out", declaration=declared).runs == 3
    runs = storage.read_tree(tmp_path / "out/campaign.nc")["runs"].to_dataset().to_dataframe()
    assert runs["elapsed"].tolist()[:2] == [197.1, 246.9]
    assert set(runs["evidence"]) == {"measured"}
    (raw / "runs.csv").write_text(OWN.replace("interconnect", "interconect"))
    with pytest.raises(ConfigError, match=r"'interconect' is no variable of a run; is 'interconnect' meant"):
        ingest(raw, tmp_path / "other", declaration=declared)
    (raw / "runs.csv").write_text(OWN.replace(",", ";"))
    with pytest.raises(
        ConfigError, match=r"runs.csv:1: its columns are not separated by commas; save it with"
    ):
        ingest(raw, tmp_path / "other", declaration=declared)
    (raw / "runs/a1").mkdir()
    assert not is_published(raw)  # with a run of its own
