"""Ingest of the shipped campaign and of folders with something wrong in them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis.base.errors import ConfigError
from analysis.datasets.campaign import ingest
from analysis.datasets.run import _best_profile, _Found
from analysis.schema import storage

ROOT = Path(__file__).parents[2]
RAW = ROOT / "data" / "raw" / "vm-hpcg"
FEW = ("001", "003a", "003b", "007", "009", "024", "073")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> xr.DataTree:
    out = tmp_path_factory.mktemp("processed")
    ingest(RAW, out)
    return storage.read_tree(out / "campaign.nc")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A small campaign that a test may damage."""
    folder = tmp_path / "raw" / "vm-hpcg"
    for run in FEW:
        shutil.copytree(RAW / "runs" / run, folder / "runs" / run)
    shutil.copy(RAW / "sacct.txt", folder)
    return folder


def _runs(raw: Path) -> pd.DataFrame:
    out = raw.parents[1] / "processed"
    ingest(raw, out)
    runs = storage.read_tree(out / "campaign.nc")["runs"].to_dataset()
    return pd.DataFrame({str(name): runs[name].values for name in runs.variables}).set_index("run")


@pytest.mark.slow
def test_ingest__keeps_all_runs_and_counts_the_failed_ones(tree: xr.DataTree) -> None:
    """The README of the campaign: 18 of 221 runs failed."""
    valid = tree["runs"]["valid"].values
    assert (len(valid), int((~valid).sum())) == (221, 18)


@pytest.mark.slow
def test_ingest__ratings_are_those_in_the_result_files(tree: xr.DataTree) -> None:
    printed = {
        path.parent.name: float(re.search(r"rating of=(\S+)", path.read_text())[1])  # type: ignore[index]
        for path in RAW.glob("runs/*/HPCG-Benchmark*.txt")
    }
    assert len(printed) == 135
    runs = tree["runs"].to_dataset()
    ratings = dict(zip(runs["run"].values, runs["figure_of_merit"].values, strict=True))
    assert {run: ratings[run] for run in printed} == printed
    assert np.isnan([value for run, value in ratings.items() if run not in printed]).all()


@pytest.mark.slow
def test_ingest__reasons_are_named(tree: xr.DataTree) -> None:
    runs = tree["runs"].to_dataset()
    reasons = dict(zip(runs["run"].values, runs["reason"].values, strict=True))
    assert reasons["009"] == "exit code 127"
    assert reasons["024"] == "no exit code was recorded"
    assert reasons["001"] == ""


@pytest.mark.slow
def test_ingest__joins_slurms_record(tree: xr.DataTree) -> None:
    """Job 28 in sacct.txt: 6 s; 52064K on n1 (batch) and 39280K on n2 (orted)."""
    run = tree["runs"].to_dataset().isel(run=0)
    assert str(run["run"].values) == "001"
    assert float(run["elapsed_slurm"]) == 6
    assert float(run["node_memory_slurm"]) == 52_064 * 1024
    assert str(run["state"].values) == "COMPLETED"


@pytest.mark.slow
def test_ingest__zero_joules_without_a_meter_are_no_measurement(tree: xr.DataTree) -> None:
    assert np.isnan(tree["runs"]["energy"].values).all()
    assert any("no meter" in fault for fault in tree.attrs["faults"])


@pytest.mark.slow
def test_ingest__checksums_are_those_of_the_files(tree: xr.DataTree) -> None:
    """sha256sum of one file, taken by hand."""
    files = tree["files"].to_dataset()
    row = list(files["path"].values).index("runs/001/run.json")
    assert int(files["bytes"].values[row]) == (RAW / "runs/001/run.json").stat().st_size
    assert re.fullmatch("[0-9a-f]{64}", str(files["checksum"].values[row]))
    assert len(files["path"]) == sum(path.is_file() for path in RAW.rglob("*"))


@pytest.mark.slow
def test_ingest__same_files_same_bytes(raw: Path) -> None:
    for name in ("a", "b"):
        ingest(raw, raw.parents[1] / name)
    first, second = raw.parents[1] / "a", raw.parents[1] / "b"
    assert (first / "campaign.nc").read_bytes() == (second / "campaign.nc").read_bytes()
    assert (first / "runs/073.nc").read_bytes() == (second / "runs/073.nc").read_bytes()


def test_ingest__profiled_run_has_its_long_form(raw: Path) -> None:
    ingest(raw, raw.parents[1] / "out")
    profile = storage.read(raw.parents[1] / "out" / "runs" / "073.nc", "profile")
    assert profile.attrs["tool"] == "IPM"
    assert profile.sizes["rank"] == 2


def test_ingest__cut_result_costs_its_run_only(raw: Path) -> None:
    path = next((raw / "runs/001").glob("HPCG*.txt"))
    path.write_bytes(path.read_bytes()[:3000])
    runs = _runs(raw)
    assert runs.loc["001", "reason"] == "its hpcg result is cut or damaged"
    assert runs.loc["003a", "valid"]


def test_ingest__run_that_its_own_record_calls_failed_does_not_count(raw: Path) -> None:
    """One job of a pair ends well while the other is killed: the attempt is repeated, and counts once."""
    path = raw / "runs/001/run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"reason": "another job of the run failed: 001.2"}))
    run = _runs(raw).loc["001"]
    assert (run["exit_code"], run["valid"]) == (0, False)
    assert run["reason"] == "another job of the run failed: 001.2"


def test_ingest__result_that_is_missing_in_spite_of_exit_0_fails_the_run(raw: Path) -> None:
    next((raw / "runs/001").glob("HPCG*.txt")).unlink()
    assert _runs(raw).loc["001", "reason"] == "left no hpcg result"


def test_ingest__profile_that_is_missing_fails_the_run(raw: Path) -> None:
    next((raw / "runs/007").glob("*.mpiP")).unlink()
    assert _runs(raw).loc["007", "reason"] == "left no mpip profile"


def test_ingest__banner_speaks_where_the_xml_is_missing(raw: Path) -> None:
    next((raw / "runs/073").glob("*.xml")).unlink()
    runs = _runs(raw)
    assert runs.loc["073", "valid"]
    tree = storage.read_tree(raw.parents[1] / "processed" / "campaign.nc")
    assert "073" in tree["calls"]["run"].values
    assert "073" not in tree["messages"]["run"].values  # a banner knows no sizes


def test_ingest__xml_is_preferred_to_a_banner_with_as_many_calls() -> None:
    """One rank that only sends and adds up: a call of each size and kind, in both."""
    shape = {"obs": ("obs", np.zeros(6))}
    xml, banner = (
        _Found(Path(), form, xr.Dataset(shape, attrs={"kind": "profile", "source_form": form}))
        for form in ("xml", "banner")
    )
    assert _best_profile([banner, xml]) is xml
    assert _best_profile([banner]) is banner
    assert _best_profile([]) is None


def test_ingest__cut_record_costs_its_run_only(raw: Path) -> None:
    path = raw / "runs/001/run.json"
    path.write_bytes(path.read_bytes()[:200])
    runs = _runs(raw)
    assert runs.loc["001", "reason"] == "run.json is incomplete"
    assert len(runs) == len(FEW)


def test_ingest__folder_without_a_record_is_kept_and_named(raw: Path) -> None:
    (raw / "runs/001/run.json").unlink()
    assert _runs(raw).loc["001", "reason"] == "no readable run.json"


def test_ingest__name_in_the_record_cannot_lead_elsewhere(raw: Path) -> None:
    path = raw / "runs/073/run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"run": "../../escaped"}))
    runs = _runs(raw)
    assert runs.loc["073", "valid"]
    assert not list(raw.parents[1].rglob("*escaped*"))


def _swap(raw: Path, first: str, second: str, pattern: str) -> None:
    a, b = (next((raw / "runs" / run).glob(pattern)) for run in (first, second))
    text = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(text)


def test_ingest__swapped_results_are_found_by_their_ranks(raw: Path) -> None:
    _swap(raw, "001", "003a", "HPCG*.txt")
    runs = _runs(raw)
    assert runs.loc["001", "reason"] == "its result has 1 ranks, its record 2"
    assert runs.loc["003a", "reason"] == "its result has 2 ranks, its record 1"


def test_ingest__swapped_profiles_are_found_by_their_time(raw: Path) -> None:
    shutil.copytree(RAW / "runs" / "177", raw / "runs" / "177")
    _swap(raw, "073", "177", "*.xml")
    runs = _runs(raw)
    assert "outside the run" in runs.loc["073", "reason"]
    assert "outside the run" in runs.loc["177", "reason"]


def test_ingest__record_of_another_grid_is_found(raw: Path) -> None:
    path = raw / "runs/001/run.json"
    path.write_text(path.read_text().replace('"nx": 16', '"nx": 32'))
    assert _runs(raw).loc["001", "reason"] == "its result has a local grid of [16], its record of 32"


def test_ingest__unknown_application_is_named(raw: Path) -> None:
    path = raw / "runs/001/run.json"
    path.write_text(path.read_text().replace('"hpcg"', '"mpas"', 1))
    assert "unknown application 'mpas'" in _runs(raw).loc["001", "reason"]


def test_ingest__binary_rubbish_beside_the_output_is_no_fault(raw: Path) -> None:
    (raw / "runs/001/core.1234").write_bytes(bytes(range(256)) * 64)
    assert _runs(raw).loc["001", "valid"]


def test_ingest__removes_datasets_of_runs_that_are_gone(raw: Path) -> None:
    out = raw.parents[1] / "processed"
    ingest(raw, out)
    shutil.rmtree(raw / "runs/073")
    ingest(raw, out)
    assert not (out / "runs/073.nc").exists()


def test_ingest__empty_campaign_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(ConfigError, match="runs: holds no run"):
        ingest(tmp_path, tmp_path / "out")


def test_ingest__power_log_beside_the_output_gives_energy(raw: Path) -> None:
    """250 W held over the run's 6.6088862 s, read once a second from before to after it."""
    record = json.loads((raw / "runs/001/run.json").read_text())
    first, last = int(record["start"]) - 2, int(record["end"]) + 3
    lines = ["time,node n1 (W)"]
    lines += [f"{np.datetime64(second, 's')}Z,250.0" for second in range(first, last)]
    (raw / "runs/001/power.csv").write_text("\n".join(lines) + "\n")
    run = _runs(raw).loc["001"]
    assert run["energy"] == pytest.approx(250 * (record["end"] - record["start"]), rel=1e-6)
    assert run["energy_covered"] == pytest.approx(1.0)
    assert run["mean_power"] == pytest.approx(250.0, rel=1e-6)
    # The other node's log is refused: the sum would be that of one node.
    torn = "{}Z\n", "    Instantaneous power reading:   250 Watts\n"
    rows = [line.format(np.datetime64(first + 10 * i, "s")) for i in range(30) for line in torn]
    (raw / "runs/001/n2.log").write_text("".join(rows[::-1]))
    run = _runs(raw).loc["001"]
    assert np.isnan(run["energy"])
    assert re.match(r"001/n2.log: \d+ time stamps go back", run["energy_reason"])


def test_ingest__rows_of_an_earlier_start_of_a_job_do_not_count(raw: Path) -> None:
    """Job 28 was started again at 00:27:31; a step of its first start, 90 GiB, stands behind its rows."""
    with (raw / "sacct.txt").open("a", encoding="utf-8") as file:
        for job, state in (("28", "NODE_FAIL"), ("28.1", "CANCELLED")):
            times = "2026-11-21T00:20:30|2026-11-21T00:20:31|2026-11-21T00:21:31"
            file.write(f"{job}|job.sh||{state}|0:0|{times}|00:01:00|60|1|8|n1|90G|90G|00:06.264|0|\n")
    run = _runs(raw).loc["001"]
    assert run["node_memory_slurm"] == 52_064 * 1024
    assert (run["state"], run["elapsed_slurm"]) == ("COMPLETED", 6)


def test_ingest__a_run_of_an_earlier_start_of_its_job_has_what_that_start_took(raw: Path) -> None:
    """Job 28 ran from 00:27:31 for 6 s; its later start, an hour on, found the run and took 1 s and 7 J."""
    path = raw / "sacct.txt"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    names = head.split("|")
    first = next(dict(zip(names, line.split("|"), strict=True)) for line in lines if line.startswith("28|"))
    times = dict(zip(("Submit", "Start", "End"), ("01:20:00", "01:27:31", "01:27:32"), strict=True))
    later = first | {name: f"2026-11-21T{time}" for name, time in times.items()} | {"Elapsed": "00:00:01"}
    energy = next(name for name in names if name.startswith("ConsumedEnergy"))
    rows = ["|".join((later | {energy: "7"}).values())]
    rows += ["|".join((first | {energy: "1234"}).values())]
    rest = [line for line in lines if not line.startswith("28|")]
    path.write_text("\n".join([head, *rows, *rest]) + "\n", encoding="utf-8")
    run = _runs(raw).loc["001"]
    assert (run["state"], run["elapsed_slurm"], run["energy"]) == ("COMPLETED", 6, 1234)
    assert run["valid"]


@pytest.mark.parametrize("ended", [True, False])
def test_ingest__a_job_that_runs_for_ever_by_slurm_denies_no_end_of_its_own(raw: Path, ended: bool) -> None:
    """As sacct lists a job whose controller was killed at its end; without an own end the row counts."""
    path = raw / "sacct.txt"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(head.split("|"), line.split("|"), strict=True)) for line in lines]
    rows = [row | {"State": "RUNNING", "End": "Unknown"} if row["JobID"] == "28" else row for row in rows]
    path.write_text("\n".join([head, *("|".join(row.values()) for row in rows)]) + "\n", encoding="utf-8")
    record = json.loads((raw / "runs/001/run.json").read_text(encoding="utf-8"))
    (raw / "runs/001/run.json").write_text(
        json.dumps(record if ended else record | {"end": None}), encoding="utf-8"
    )
    run = _runs(raw).loc["001"]
    assert (run["state"], run["valid"]) == ("RUNNING", ended)
    assert np.isnan(run["elapsed_slurm"])  # 6 s is what it had taken when Slurm was asked
    assert run["reason"] == ("" if ended else "Slurm says RUNNING")


def test_ingest__record_that_names_another_campaign_is_refused(raw: Path) -> None:
    path = raw / "runs/003a/run.json"
    path.write_text(path.read_text().replace('"vm-hpcg"', '"vm-hpgc"'))
    runs = _runs(raw)
    assert runs.loc["003a", "reason"] == "its record names another campaign, 'vm-hpgc'"
    assert runs["valid"].to_dict() == {run: run not in ("003a", "009", "024") for run in FEW}
    tree = storage.read_tree(raw.parents[1] / "processed/campaign.nc")
    wanted = "003a/run.json: says campaign 'vm-hpgc', but it lies in the campaign 'vm-hpcg'"
    assert [fault.partition(";")[0] for fault in tree.attrs["faults"] if "says campaign" in fault] == [wanted]


def test_ingest__each_result_that_a_job_left_is_a_repeat(raw: Path) -> None:
    """A job that ran the program three times and printed its files; its own file has the first again."""
    run = raw / "runs" / "001"
    text = next(run.glob("HPCG-*.txt")).read_text()
    printed = [
        text.replace("rating of=5.78836", f"rating of={rate}") for rate in ("5.78836", "5.7883", "5.78832")
    ]
    (run / "job.txt").write_text("".join(printed))
    runs = _runs(raw)
    rates = runs.figure_of_merit[["001", "001.2", "001.3"]].tolist()
    assert sorted(rates) == [5.7883, 5.78832, 5.78836]
    assert runs.valid[["001", "001.2", "001.3"]].all()
    assert runs.interconnect["001.3"] == runs.interconnect["001"]
    assert runs.repeat[["001.2", "001.3"]].tolist() == [runs.repeat[list(FEW)].max() + n for n in (1, 2)]
    # Time and energy are those of the job.
    assert runs.elapsed[["001", "001.2", "001.3"]].isna().all()
    assert runs.elapsed["007"] > 0
    faults = storage.read_tree(raw.parents[1] / "processed" / "campaign.nc").attrs["faults"]
    assert any(fault.startswith("001: its job left 3 results; each is a repeat") for fault in faults)
