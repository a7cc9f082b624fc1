"""Suites leave a result in several files: each run counts once, with what any of them states."""

from __future__ import annotations

from pathlib import Path

from analysis.estimates.asking import records

from ..readers.merits import suites
from ..readers.merits.texts import TEXTS
from .test_executions import look
from .test_import import Imported, imported, project, runs

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


def test_import__summary_settings_and_meter_of_an_inference_are_one_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    # Readings of three channels, with the sum of a row in front: 600 W, from 08:41:35.935 to 08:43:35.096.
    row = (
        "Time,08-05-2021 08:4{},Watts,600.0,Volts,-1,Amps,-1,PF,-1,Mark,x,"
        "Ch1,Watts,250.0,Volts,206.0,Ch2,Watts,350.0\n"
    )
    run = "resnet50/Offline/performance/run_1"
    files = {
        f"{run}/mlperf_log_summary.txt": suites.MLPERF_INFERENCE,
        f"{run}/mlperf_log_detail.txt": suites.LOADGEN,
        f"{run}/spl.txt": "".join(row.format(f"{at // 60}:{at % 60:02}.500") for at in range(60, 240)),
        "resnet50/Offline/accuracy/mlperf_log_detail.txt": suites.LOADGEN.replace(
            "PerformanceOnly", "AccuracyOnly"
        ),
    }
    for name, text in files.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    (found,) = imported(tmp_path / "tree", "--set", "nodes=1").values()
    assert (round(found["end"] - found["start"], 3), found["version"]) == (119.161, "1.1")
    read = runs(project)
    assert (float(read["figure_of_merit"][0]), round(float(read["energy"][0]))) == (14442.9, 71_497)
    # It asks for 600 s, so that its energy is that of as many samples as fit: none of a job.
    assert found["target_time"] == 600
    # Its page on power follows from what import took for a power log, as that has no name of ours.
    assert [one["file"] for one in found["imported"]["files"] if one.get("role")] == ["spl.txt"]
    assert records("mine", project).meters
