"""Suites leave a result in several files: each run counts once, with what any of them states."""

from __future__ import annotations

from pathlib import Path

from ..readers.merits import suites
from ..readers.merits.texts import TEXTS
from .test_executions import look
from .test_import import Imported, imported, project

__all__ = ["imported", "project"]


def test_import__files_of_one_result_are_one_run(tmp_path: Path, project: Path, imported: Imported) -> None:
    tree = tmp_path / "tree"
    files = {
        "io500/2024.05.03-09.25.44/result_summary.txt": suites.IO500,
        "io500/2024.05.03-09.25.44/result.txt": suites.IO500_INI,
        "spec/CPU2017.001.fprate.txt": suites.SPEC,
        "spec/CPU2017.001.fprate.csv": suites.SPEC_CSV,
        "wrf/rsl.out.0000": suites.WRF,
        "wrf/rsl.error.0000": suites.WRF.replace("taskid: 0", " taskid: 0"),
        "wrf/rsl.out.0001": "taskid: 1 hostname: n01\n",
    }
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    found = {one["application"]: one for one in imported(tree).values()}
    assert len(list(project.glob("data/raw/mine/runs/*"))) == len(found) == 3
    assert (found["io500"]["ranks"], found["io500"]["end"] - found["io500"]["start"]) == (64, 3085)
    assert (found["spec"]["cpu"], found["spec"]["ranks"]) == ("Xeon Gold 6148", 64)
    assert (found["wrf"]["ranks"], found["wrf"]["threads"]) == (8, 2)


def test_detect__text_of_fio_is_cut_before_the_names_of_its_jobs(tmp_path: Path) -> None:
    parts = look(tmp_path, "two.out", suites.FIO_TEXT + TEXTS["fio"] + "\n" + suites.FIO_OLD).parts
    assert [part.facts.get("version") for part in parts] == ["3.1", "3.26", "1.57"]
    assert len(parts[2].rows) == 2
