"""Records that lie, planted in copies of the shipped campaign: one fact changed, the outputs as they were."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analysis.base import project
from analysis.base.errors import Fault
from analysis.cli import main
from analysis.datasets import doubts
from analysis.datasets.applications import load_applications
from analysis.datasets.run import read_run

ROOT = Path(__file__).parents[2]
RAW = ROOT / "data" / "raw" / "vm-hpcg"
APPLICATIONS = load_applications(ROOT / "config" / "applications")

Record = dict[str, Any]


def change(folder: Path, **values: Any) -> None:
    path = folder / "run.json"
    record = json.loads(path.read_text())
    later = {name: value(record) if callable(value) else value for name, value in values.items()}
    path.write_text(json.dumps(record | later))


def later(name: str, seconds: float) -> Callable[[Record], float]:
    return lambda record: float(record[name]) + seconds


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(RAW / "runs" / request.param, tmp_path / request.param))


# 001: HPCG, 16³, 6 s, two nodes, Open MPI; 012: 45 s; 007: under mpiP; 015: under IPM; 013: osu_allreduce
LIES = [
    ("001", {"case": "nx64"}, "its result has a local grid of [16], its case 'nx64' of 64"),
    ("001", {"nx": 64}, "its result has a local grid of [16], its record of 64"),
    ("001", {"ranks": 4}, "its result has 2 ranks, its record 4"),
    ("001", {"mpi": "MPICH 4.0.2"}, "its command is from Open MPI, its record says MPICH 4.0.2"),
    ("001", {"target_seconds": 60}, "its result ran 6.13 s, its record asked for 60 s"),
    ("001", {"target_seconds": 9}, "its command says --rt=6, its record target_time 9"),
    ("001", {"threads": 2}, "its result has 1 threads per rank, its record 2"),
    ("012", {"end": later("start", 5)}, "its result took 45.19 s, its record says 5 s"),
    (
        "001",
        {"start": later("start", 400), "end": later("end", 400)},
        "its result was written at 2026-11-21T00:27:37 by its own clock, outside the run in any time zone",
    ),
    ("007", {"nodelist": ["n1", "n3"]}, "its profile is from n1, n2, its record from n1, n3"),
    ("007", {"command": lambda r: r["command"] + " --dry"}, "its profile is from xhpcg --nx=16"),
    ("015", {"nodes": 2}, "its profile has 1 nodes, its record 2"),
    ("013", {"case": "osu_latency"}, "its result is from osu_allreduce, its case is 'osu_latency'"),
    ("013", {"ranks": 3}, "its command starts 2 ranks, its record says 3"),
    (
        "013",
        {"command": "srun --mpi=pmix -n 3 ./osu_allreduce -n 9"},
        "its command starts 3 ranks, its record says 2",
    ),
    ("013", {"case": "allreduce", "benchbook": {}}, "its command has no -f, which its case 'allreduce'"),
]


@pytest.mark.parametrize(("run", "lie", "said"), LIES, indirect=["run"])
def test_read_run__a_lie_that_the_output_contradicts_does_not_count(
    run: Path, lie: Record, said: str
) -> None:
    assert read_run(run, APPLICATIONS).row["reason"] == ""
    change(run, **lie)
    found = read_run(run, APPLICATIONS)
    assert found.row["reason"].startswith(said)
    assert found.contradiction == found.row["reason"]


@pytest.mark.parametrize("run", ["001"], indirect=True)
def test_read_run__another_time_zone_is_no_lie(run: Path) -> None:
    """The node's clock shows Berlin's time, of which the record, in UTC, knows nothing."""
    change(run, start=later("start", -3600), end=later("end", -3600))
    assert read_run(run, APPLICATIONS).row["reason"] == ""


@pytest.mark.parametrize("run", ["013"], indirect=True)
def test_read_run__a_programs_own_number_is_not_the_launchers(run: Path) -> None:
    change(run, command="srun --exclusive ./osu_allreduce -n 9")
    assert read_run(run, APPLICATIONS).row["reason"] == ""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """The campaign's runs of OSU and those of HPCG at 16³ in one node, and Slurm's records."""
    folder = tmp_path / "data" / "raw" / "vm-hpcg"
    for path in sorted((RAW / "runs").iterdir()):
        record = json.loads((path / "run.json").read_text())
        inside = record["interconnect"] == "shared-memory" and record["case"] == "nx16"
        if record["application"] == "osu" or inside:
            shutil.copytree(path, folder / "runs" / path.name)
    shutil.copy(RAW / "sacct.txt", folder)
    return folder


def test_doubts__the_campaign_as_it_was_measured_has_none() -> None:
    wrong, odd = doubts(RAW)
    assert wrong == []
    # It ended when sacct had been asked.
    said = "belongs to job 248, the one after the last that Slurm's records have"
    assert [(fault.source, fault.found) for fault in odd] == [("data/raw/vm-hpcg/runs/215/run.json", said)]


def doubted(campaign: Path) -> tuple[list[Fault], list[Fault]]:
    """Return what is doubted of single runs: of the others, which were not copied, there are holes."""
    wrong, odd = doubts(campaign)
    holes = ("its cell has the repetitions", "belongs to job 248")
    own = (
        [replace(one, source=one.source.removeprefix("data/raw/vm-hpcg/runs/"), line=0) for one in found]
        for found in (wrong, odd)
    )
    faults, notes = (
        [one for one in found if "/run.json" in one.source and not one.found.startswith(holes)]
        for found in own
    )
    return faults, notes


def first(campaign: Path, **wanted: Any) -> Path:
    """Return the first run that ended well and has some factors."""
    for path in sorted((campaign / "runs").iterdir()):
        record = json.loads((path / "run.json").read_text())
        if record["exit_code"] == 0 and all(record[name] == value for name, value in wanted.items()):
            return path
    raise LookupError(wanted)


@pytest.mark.parametrize("case", ["osu_latency", "osu_bw", "osu_allreduce"])
def test_doubts__a_link_is_told_by_what_runs_over_it(campaign: Path, case: str) -> None:
    """No output names the link; 1 Gbit/s is a twentieth of the open one."""
    run = first(campaign, case=case, interconnect="veth-open")
    change(run, interconnect="veth-1gbit")
    wrong, odd = doubted(campaign)
    # 1 Gbit/s is what the name states: a bandwidth beyond it needs no other runs.
    assert {fault.found.partition(", and moved")[0] for fault in wrong} == (
        {"says veth-1gbit, a link of 1 Gbit/s"} if case == "osu_bw" else set()
    )
    assert [fault.source for fault in odd] == [f"{run.name}/run.json"]
    assert "off those with interconnect 'veth-open' by" in odd[0].found


def test_doubts__a_build_is_told_by_its_command(campaign: Path) -> None:
    tuned = "-O3 -march=native -funroll-loops -ffast-math -flto"
    run = first(campaign, application="hpcg", build=tuned)
    change(run, build="-O3")
    wrong, odd = doubted(campaign)
    assert {fault.source for fault in wrong} == {f"{run.name}/run.json"}  # of its program, by the other runs
    assert {fault.found.partition(" ")[0] for fault in wrong} == {"starts", "says"}
    said = f"says build '-O3'; all 5 other runs with its command say {tuned}"
    assert [(fault.source, fault.found) for fault in odd] == [(f"{run.name}/run.json", said)]


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"end": later("end", 60)}, "its record says 60.48 s, Slurm 0 s of its whole job"),
        ({"nodelist": ["n7"]}, "its record names n7, its job ran on n1"),
        ({"start": later("start", 7200), "end": later("end", 7200)}, "it began at 2026-11-21T0"),
    ],
)
def test_doubts__slurm_knows_when_and_where(campaign: Path, lie: Record, said: str) -> None:
    """The third is of another time zone, but the other runs are not."""
    run = first(campaign, case="osu_bw", interconnect="shared-memory")
    change(run, **lie)
    wrong, _ = doubted(campaign)
    # A run that is said to end later overlaps the next one, which is named too.
    wrong = [fault for fault in wrong if "another of its cluster overlaps it" not in fault.found]
    assert {fault.source for fault in wrong} == {f"{run.name}/run.json"}
    assert wrong[0].found.startswith(said)


def accounted(campaign: Path, run: Path) -> tuple[Record, dict[str, str], float]:
    """Return the record of a run, Slurm's row of its job, and when that began, s since 1970."""
    record = json.loads((run / "run.json").read_text())
    head, *lines = (line.split("|") for line in (campaign / "sacct.txt").read_text().splitlines())
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    (job,) = (row for row in rows if row["JobID"] == str(record["job_id"]))
    return record, job, datetime.fromisoformat(f"{job['Start']}+00:00").timestamp()


def test_doubts__a_row_that_lost_its_start_knows_no_elapsed_time(campaign: Path) -> None:
    """As sacct printed it of a good run, whose job began while the database was replaced."""
    run = first(campaign, application="hpcg")
    record, job, _ = accounted(campaign, run)
    assert record["end"] - record["start"] > 5
    row = job | {"Start": "None", "Elapsed": "00:00:00", "ElapsedRaw": "0", "NodeList": "None assigned"}
    table = campaign / "sacct.txt"
    table.write_text(table.read_text().replace("|".join(job.values()), "|".join(row.values())))
    assert "|None|" in table.read_text()
    assert doubted(campaign)[0] == []


@pytest.mark.parametrize("key", ["start", "clock"])
@pytest.mark.parametrize(
    ("step", "noted", "name", "said"),
    [
        (5400, 5400, "", ""),  # of 300 disturbed runs at least 48 did not count for such a clock
        (-7200, -7200, "", ""),
        (5400, 0, "", "it began at 2026-11-2"),  # the record was moved, not the clock
        (5400, 5400, "another", "it began at 2026-11-2"),
    ],
)
def test_doubts__a_run_on_a_node_with_a_wrong_clock_counts(
    campaign: Path, step: int, noted: int, name: str, said: str, key: str
) -> None:
    """Its job is known by its names, and it lies in it by what that clock said as the job began."""
    run = first(campaign, case="osu_bw", interconnect="shared-memory")
    record, job, right = accounted(campaign, run)
    own = {"job_name": name or job["JobName"], "comment": job["Comment"], "start": right, key: right + noted}
    change(run, start=record["start"] + step, end=record["end"] + step, slurm=own)
    wrong, odd = doubted(campaign)
    wrong = [one for one in wrong if one.source.startswith(run.name) and "no accounting" not in one.found]
    assert any(one.found.startswith(said) for one in wrong) if said else wrong == []
    off = [one.found for one in odd if "the clock of" in one.found]
    what = f"the clock of n1 was {step:+d} s off Slurm's as job {job['JobID']} began"
    assert off == ([] if said else [what])


@pytest.mark.parametrize(
    ("books", "up", "said"),
    [
        (False, 100.25, ""),
        (False, 5500.25, "noted its facts 1.5 h before"),
        (True, 100.25, ""),  # three of 90 disturbed runs did not count for it
        (True, 5500.25, "it began at 2026-11-2"),
    ],
)
def test_doubts__a_clock_that_is_set_before_a_start_is_no_moved_record(
    campaign: Path, books: bool, up: float, said: str
) -> None:
    """By the clock that nobody sets 0.25 s went by, by the other 1.5 h more."""
    run = first(campaign, case="osu_bw", interconnect="shared-memory")
    record, job, right = accounted(campaign, run)
    facts = {"host": "n1", "time": right, "uptime": 100.0, "facts": {}}
    own = {
        "job_name": job["JobName"],
        "comment": job["Comment"],
        "start": right,
        "clock": right,
        "uptime": 100.0,
    }
    start = right + 5400.25
    if not books:
        (campaign / "sacct.txt").unlink()
        own = {}
    spent = {"facts": facts, "slurm": own, "accounting": {"uptime": up}}
    change(run, start=start, end=start + record["end"] - record["start"], **spent)
    wrong, odd = ([one for one in found if one.source.startswith(run.name)] for found in doubted(campaign))
    found = [one.found for one in wrong if "no accounting" not in one.found]
    assert any(one.startswith(said) for one in found) if said else found == []
    clock = [one.found for one in odd if "the clock of" in one.found]
    of = "off Slurm's" if books else "off what it was"
    assert clock == ([] if said else [f"the clock of n1 was +5400 s {of} as job {job['JobID']} began"])


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_doubts__slurms_row_of_a_job_that_has_not_ended_denies_nothing(campaign: Path, state: str) -> None:
    """It was kept while the campaign went on: no end yet, and of a job in the queue no start and no node."""
    run = first(campaign, case="osu_bw", interconnect="shared-memory")
    job = json.loads((run / "run.json").read_text())["job_id"]
    path = campaign / "sacct.txt"
    head, *lines = path.read_text().splitlines()
    changed = {"State": state, "Elapsed": "00:00:00", "ElapsedRaw": "0", "End": "Unknown"}
    changed |= {"Start": "Unknown", "NodeList": "None assigned"} if state == "PENDING" else {}
    rows = [dict(zip(head.split("|"), line.split("|"), strict=True)) for line in lines]
    rows = [row | changed if row["JobID"] == str(job) else row for row in rows]
    assert sum(row["State"] == state for row in rows) == 1
    path.write_text("\n".join([head, *("|".join(row.values()) for row in rows)]) + "\n")
    assert [fault for fault in doubted(campaign)[0] if fault.source.startswith(run.name)] == []


def test_verify__names_the_run_that_does_not_count(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = first(campaign, application="hpcg", case="nx16")
    change(run, case="nx32")
    monkeypatch.setattr(project, "root", lambda: campaign.parents[2])
    shutil.copytree(ROOT / "config" / "applications", campaign.parents[2] / "config" / "applications")
    assert main(["verify", "vm-hpcg", "--write"]) == 1
    line = f"data/raw/vm-hpcg/runs/{run.name}/run.json: its result has a local grid of [16], its case"
    assert line in capsys.readouterr().err
