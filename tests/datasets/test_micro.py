"""Runs of benchmarks whose result is a table: their rows beside OSU's, and ranks that ran alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from analysis.datasets.applications import load_applications
from analysis.datasets.run import RunFolder, read_run

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"


def read(folder: Path, application: str, case: str, ranks: int, output: Path) -> RunFolder:
    record = {
        "run": folder.name,
        "campaign": "x",
        "evidence": "measured",
        "application": application,
        "case": case,
        "nodes": 1,
        "ranks": ranks,
        "concurrent_jobs": 1,
        "start": 1795220000.0,
        "end": 1795220010.0,
        "exit_code": 0,
        "profiler": None,
    }
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    shutil.copy(output, folder)
    return read_run(folder, load_applications(ROOT / "config/applications"))


def test_micro__a_run_of_imb_has_rows_as_one_of_osu(tmp_path: Path) -> None:
    imb = read(tmp_path / "a", "imb", "Sendrecv", 4, DATA / "imb/suite_openmpi_n4.txt")
    osu = read(tmp_path / "b", "osu", "bw", 2, DATA / "osu/bw_n2.txt")
    assert (imb.row["reason"], imb.faults, osu.row["reason"]) == ("", [], "")
    assert list(imb.frames["micro"]) == list(osu.frames["micro"])
    table = imb.frames["micro"].set_index("size")
    # grep ' 65536 ' below "Benchmarking Sendrecv", "#processes = 4"
    assert table.loc[65536, ["latency", "bandwidth"]].tolist() == [901.69, 144.85]


@pytest.mark.parametrize(
    ("application", "case", "output", "own"),
    [("imb", "Sendrecv", "imb/suite_openmpi_n4.txt", 4), ("hpcc", "tiny", "hpcc/n2.txt", 2)],
)
def test_reason__ranks_that_ran_alone_are_seen(
    tmp_path: Path, application: str, case: str, output: str, own: int
) -> None:
    # What becomes of a library that does not know its launcher: each rank is a world of its own.
    found = read(tmp_path / "a", application, case, 8, DATA / output)
    assert found.row["reason"] == f"its result is of {own} ranks, its record of 8"
    assert read(tmp_path / "b", application, case, own, DATA / output).row["reason"] == ""
