"""Runs of benchmarks whose result is a table: their rows beside OSU's, and ranks that ran alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from analysis.datasets.run import RunFolder

from .folders import ROOT, read_folder

DATA = ROOT / "tests/data"


def read(folder: Path, application: str, case: str, ranks: int, output: Path) -> RunFolder:
    return read_folder(folder, application, output.read_bytes(), case=case, ranks=ranks, name=output.name)


def test_micro__a_run_of_imb_has_rows_as_one_of_osu(tmp_path: Path) -> None:
    imb = read(tmp_path / "a", "imb", "Sendrecv", 4, DATA / "imb/suite_openmpi_n4.txt")
    osu = read(tmp_path / "b", "osu", "bw", 2, DATA / "osu/bw_n2.txt")
    assert (imb.row["reason"], imb.faults, osu.row["reason"]) == ("", [], "")
    assert list(imb.sizes) == list(osu.sizes)
    table = pd.DataFrame(imb.sizes).set_index("size")
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
    assert found.row["reason"] == f"its result has {own} ranks, its record 8"
    assert read(tmp_path / "b", application, case, own, DATA / output).row["reason"] == ""
