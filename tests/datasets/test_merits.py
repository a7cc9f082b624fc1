"""Runs of programs whose readers give figures of merit: what the table of runs takes of them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis import readers
from analysis.datasets.applications import of_format
from analysis.datasets.run import RunFolder, read_run

from ..readers.merits.texts import TEXTS
from .folders import APPLICATIONS, ROOT, read_folder

ALL = {name: one for name, one in APPLICATIONS.items() if one.engine in TEXTS}


def read(folder: Path, application: str, text: str, *, case: str = "a", ranks: int = -1) -> RunFolder:
    return read_folder(folder, application, text.encode(), case=case, ranks=ranks)


@pytest.mark.parametrize("application", sorted(ALL))
def test_merits__a_run_has_the_figure_in_the_applications_unit(application: str, tmp_path: Path) -> None:
    text = TEXTS[ALL[application].engine]
    ds = readers.parse(text.encode())
    found = read(tmp_path / "a", application, text, ranks=int(ds.ranks))
    assert (found.row["reason"], found.faults) == ("", [])
    assert found.row["figure_of_merit"] == float(ds.figure_of_merit)
    step = pytest.approx(float(ds.figure_of_merit_resolution), rel=0, nan_ok=True)  # fio's is computed
    assert found.row["figure_of_merit_resolution"] == step
    assert found.row["figure_of_merit_unit"] == str(ds.figure_of_merit_unit.values) != ""


def test_merits__every_format_of_one_figure_is_an_application() -> None:
    # Results of peers and profiles of files hold any application's figures: whoever has them declares it.
    assert {one.engine for one in ALL.values()} == set(TEXTS) - {
        "darshan",
        "hpcbench",
        "jube",
        "ramble",
        "reframe",
    }
    assert ALL
    for one in ALL.values():
        assert one.higher_is_better is (one.unit != "s")


def test_merits__a_file_of_an_application_says_what_its_format_says() -> None:
    files = sorted((ROOT / "config/applications").glob("*.yaml"))
    assert {"hpcc", "hpcg", "imb", "ls-dyna", "openatom", "osu", "proxy"} <= {path.stem for path in files}
    formats = {row.application: of_format(row) for row in readers.rows() if row.application}
    for path in files:
        declared = APPLICATIONS[path.stem].model_copy(update={"options": {}, "launch": None})
        assert declared == formats[path.stem]


def test_merits__run_that_failed_its_check_or_is_cut_does_not_count(tmp_path: Path) -> None:
    failed = TEXTS["hpl"].replace("PASSED", "FAILED")
    assert read(tmp_path / "a", "hpl", failed, ranks=8).row["reason"] == "hpl calls its result invalid"
    cut = read(tmp_path / "b", "hpl", TEXTS["hpl"].replace("End of Tests.", ""), ranks=8)
    assert cut.row["reason"] == "its hpl result is cut or damaged"
    assert math.isnan(cut.row["figure_of_merit"])
    assert read(tmp_path / "c", "hpl", TEXTS["hpl"], ranks=4).row["reason"] == (
        "its result has 8 ranks, its record 4"
    )


def test_merits__another_unit_or_no_such_figure_is_a_reason(tmp_path: Path) -> None:
    no_rate = TEXTS["lammps"].replace("16.000 timesteps/s", "16.000 steps/s")
    row = read(tmp_path / "a", "lammps", no_rate, ranks=32).row
    assert row["reason"] == "its lammps result has no figure 'timesteps/s' of the run's case"
    assert math.isnan(row["figure_of_merit"])
    application = APPLICATIONS["ior"].model_copy(update={"unit": "GB/s"})
    folder = tmp_path / "b"
    read(folder, "ior", TEXTS["ior"], ranks=16)
    row = read_run(folder, {"ior": application}).row
    assert row["reason"] == "its Max Write is in 'MiB/sec', that of other runs in 'GB/s'"


def test_merits__of_several_cases_the_runs_own_is_taken(tmp_path: Path) -> None:
    application = APPLICATIONS["hpl"].model_copy(
        update={"engine": "jube", "figure_of_merit": "bandwidth", "unit": "GB/s"}
    )
    folder = tmp_path / "a"
    read(folder, "hpl", TEXTS["jube"], case="nodes=2 library=mpich")
    row = read_run(folder, {"hpl": application}).row
    assert (row["reason"], row["figure_of_merit"]) == ("", 24.75)
