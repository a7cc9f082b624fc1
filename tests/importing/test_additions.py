"""Files that come later join the run that was imported before; what contradicts it changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis import cli

from . import trees
from .test_import import Imported, imported, log, project, runs

__all__ = ["imported", "project"]

PROFILED = trees.PROFILES / "hpcg-ipm-n8"
OTHER = trees.PROFILES / "osu-allreduce-n8-ipm"


def state(project: Path) -> dict[str, tuple[bytes, int]]:
    """Return the bytes and the time of each file of the runs."""
    return {
        str(path.relative_to(project)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(project.glob("data/raw/mine/runs/*/*"))
    }


def again(tree: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Import a tree once more; return the status and what was printed."""
    capsys.readouterr()
    status = cli.main(["import", str(tree), "--as", "mine", "--yes", *options])
    out = capsys.readouterr()
    assert cli.main(["verify", "mine"]) == 0, capsys.readouterr().err
    return status, out.out, out.err


def only(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the record of the only run."""
    assert len(found) == 1
    return next(iter(found.values()))


def test_additions__a_profile_joins_the_run_of_its_result(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    trees.put(next(PROFILED.glob("HPCG*.txt")), tree / "a" / "hpcg.o77")
    trees.put(trees.result(trees.good()[0]), tree / "b" / "hpcg.o78")
    imported(tree)
    assert set(runs(project)["profiler"].values) == {"none"}
    before = state(project)
    trees.put(next(PROFILED.glob("*.ipm.xml.xz")), tree / "a" / "profile.o77.xml")
    status, out, _ = again(tree, capsys)
    assert status == 0
    assert "added to 1" in out
    after = state(project)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {f"data/raw/mine/runs/a/{name}" for name in ("profile.o77.xml", "run.json")}
    record = json.loads(after["data/raw/mine/runs/a/run.json"][0])
    assert (record["profiler"], record["ranks"], record["nodes"]) == ("ipm", 8, 1)
    assert record["imported"]["factors"]["nodes"] == "profile"
    assert [one["file"] for one in record["imported"]["files"]] == ["hpcg.o77", "profile.o77.xml"]
    table = runs(project)
    assert table["valid"].values.all()
    # The profile's own: grep -o 'mtime="[^"]*"' over wall time is between 0 and 1.
    assert sum(float(share) > 0 for share in table["mpi_fraction"].values) == 1
    assert again(tree, capsys)[2].startswith("nothing new: 2 runs")
    assert state(project) == after


def test_additions__a_profile_of_another_folder_is_found_by_its_job(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.put(next(PROFILED.glob("HPCG*.txt")), tmp_path / "results" / "hpcg.o77")
    imported(tmp_path / "results")
    trees.put(next(PROFILED.glob("*.ipm.xml.xz")), tmp_path / "profiles" / "ipm" / "job-77.xml")
    status, out, _ = again(tmp_path / "profiles", capsys)
    assert status == 0
    assert "0 new runs, 1 with new files or facts" in out
    assert "hpcg: ipm/job-77.xml" in out
    assert [path.name for path in project.glob("data/raw/mine/runs/*")] == ["hpcg"]
    assert float(runs(project)["mpi_fraction"].values[0]) > 0


def test_additions__accounting_gives_times_and_states_to_the_runs_of_its_jobs(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    names = trees.good()[:6]
    trees.folders(tmp_path / "tree", names, sacct=False)
    first = imported(tmp_path / "tree")
    assert not any("end" in one or "node_list" in one for one in first.values())
    trees.put(trees.SACCT, tmp_path / "later" / "accounting.txt")
    status, _, err = again(tmp_path / "later", capsys)
    assert status == 0, err
    records = [json.loads(path.read_text()) for path in project.glob("data/raw/mine/runs/*/run.json")]
    assert len(records) == len(names)
    for name in names:
        measured = trees.record(name)
        one = next(one for one in records if one["job_id"] == str(measured["job_id"]))
        assert abs((one["end"] - one["start"]) - (measured["end"] - measured["start"])) < 2.5
        assert one["node_list"] == ",".join(measured["nodelist"])
        assert (one["exit_code"], one["nodes"]) == (0, measured["nodes"])
    # At once or later: the same records, but for what the import notes of its sources.
    shutil.rmtree(project / "data/raw/mine")
    (project / "config/campaigns/mine.yaml").unlink()
    trees.folders(tmp_path / "tree", names)
    whole = imported(tmp_path / "tree").values()
    bare = [{key: value for key, value in one.items() if key != "imported"} for one in (*records, *whole)]
    text = sorted(json.dumps(one, sort_keys=True) for one in bare)
    assert text[::2] == text[1::2]


def test_additions__a_second_table_of_jobs_does_not_replace_the_first(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for name in trees.good() if trees.record(name)["job_id"]][:6]
    head, *rows = trees.SACCT.read_text().splitlines(keepends=True)
    one, two = (str(trees.record(name)["job_id"]) for name in (names[0], names[-1]))
    tables = {
        job: head + "".join(row for row in rows if row.split("|")[0].split(".")[0] == job)
        for job in (one, two)
    }
    trees.folders(tmp_path / "tree", [names[0], names[-1]], sacct=False)
    (tmp_path / "tree" / "jobs.txt").write_text(tables[one])
    imported(tmp_path / "tree")
    (tmp_path / "tree" / "jobs.txt").write_text(tables[two])
    assert again(tmp_path / "tree", capsys)[0] == 0
    raw = project / "data/raw/mine"
    assert {path.name: path.read_text() for path in raw.glob("sacct*.txt")} == {
        "sacct.txt": tables[one],
        "sacct-2.txt": tables[two],
    }
    records = [json.loads(path.read_text()) for path in raw.glob("runs/*/run.json")]
    assert all(record["end"] > record["start"] for record in records)
    # A table that has grown takes the place of the one that it continues.
    (tmp_path / "tree" / "jobs.txt").write_text(tables[one] + "".join(tables[two].splitlines(True)[1:]))
    assert again(tmp_path / "tree", capsys)[0] == 0
    assert (raw / "sacct.txt").read_text().startswith(tables[one])
    assert two in (raw / "sacct.txt").read_text()


def test_additions__a_profile_that_contradicts_its_run_changes_nothing(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    name = next(name for name in trees.good() if trees.record(name)["ranks"] == 2)
    trees.put(trees.result(name), tmp_path / "tree" / "hpcg.o77")
    imported(tmp_path / "tree")
    before = state(project)
    trees.put(next(OTHER.glob("*.xml")), tmp_path / "tree" / "job-77.xml")
    status, _, err = again(tmp_path / "tree", capsys)
    assert status == 1
    assert err.startswith("job-77.xml: output says 2 ranks, its profile 8; it is not joined to run hpcg: ")
    assert state(project) == before


def test_import__a_profile_of_other_counts_beside_a_result_is_a_run_of_its_own(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    name = next(name for name in trees.good() if trees.record(name)["ranks"] == 2)
    trees.put(trees.result(name), tmp_path / "tree" / "hpcg.txt")
    trees.put(next(OTHER.glob("*.xml")), tmp_path / "tree" / "allreduce.xml")
    found = imported(tmp_path / "tree").values()
    assert sorted((one["application"], one["ranks"]) for one in found) == [("hpcg", 2), ("osu_allreduce", 8)]


def test_additions__what_was_set_by_hand_stays(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.put(next(PROFILED.glob("HPCG*.txt")), tmp_path / "tree" / "hpcg.o77")
    imported(tmp_path / "tree", "--set", "cpu=EPYC 7551")
    trees.put(next(PROFILED.glob("*.ipm.xml.xz")), tmp_path / "tree" / "job-77.xml")
    assert again(tmp_path / "tree", capsys)[0] == 0
    record = json.loads((project / "data/raw/mine/runs/hpcg/run.json").read_text())
    assert (record["cpu"], record["profiler"]) == ("EPYC 7551", "ipm")
    assert record["imported"]["factors"]["cpu"] == "--set"


def test_additions__a_result_gives_a_profile_its_application(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.put(next(PROFILED.glob("*.ipm.xml.xz")), tmp_path / "tree" / "job-77.xml")
    assert only(imported(tmp_path / "tree"))["application"] == "xhpcg"
    trees.put(next(PROFILED.glob("HPCG*.txt")), tmp_path / "tree" / "hpcg.o77")
    assert again(tmp_path / "tree", capsys)[0] == 0
    table = runs(project)
    assert table["application"].values.tolist() == ["hpcg"]
    assert float(table["figure_of_merit"].values[0]) > 0
    assert float(table["mpi_fraction"].values[0]) > 0


def test_additions__a_log_that_grew_gives_its_new_results_only(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {trees.record(name)["case"]: name for name in trees.good("osu")}
    cases = [names[case] for case in ("osu_bw", "osu_allreduce", "osu_latency")]
    log = tmp_path / "tree" / "all.out"
    log.parent.mkdir()
    log.write_bytes(trees.several(*cases[:2]))
    assert len(imported(tmp_path / "tree")) == 2
    before = state(project)
    log.write_bytes(trees.several(*cases))
    assert again(tmp_path / "tree", capsys)[0] == 0
    after = state(project)
    assert len(list(project.glob("data/raw/mine/runs/*"))) == 3
    changed = {name for name in before if after[name] != before[name]}
    assert not changed - {f"data/raw/mine/runs/all-part2/{name}" for name in ("all.out", "run.json")}


def test_additions__the_output_of_a_job_that_ran_on_replaces_its_beginning(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    name, other = trees.good()[:2]
    whole = trees.result(name).read_bytes()
    output = tmp_path / "tree" / "hpcg.o77"
    trees.put(trees.result(other), tmp_path / "tree" / "hpcg.o78")
    output.write_bytes(whole[: len(whole) // 2])
    (tmp_path / "tree" / "job-77.sh").write_text("#!/bin/bash\n#SBATCH --nodes=1\nmpirun -np 2 ./xhpcg\n")
    imported(tmp_path / "tree")
    assert sorted(runs(project)["valid"].values.tolist()) == [False, True]
    output.write_bytes(whole)
    assert again(tmp_path / "tree", capsys)[0] == 0
    assert runs(project)["valid"].values.tolist() == [True, True]
    assert sorted(path.name for path in project.glob("data/raw/mine/runs/*")) == ["hpcg.o77", "hpcg.o78"]
    # A tree that lacks the script would lose it.
    output.write_bytes(whole + b"done\n")
    (tmp_path / "tree" / "job-77.sh").unlink()
    before = state(project)
    status, _, err = again(tmp_path / "tree", capsys)
    assert status == 1
    assert "hpcg.o77: goes on where run hpcg.o77 ends, and job-77.sh of that run is not in" in err
    assert state(project) == before


JOBS = "JobID|JobName|State|ExitCode|Start|End|Elapsed|NNodes|NodeList|AllocCPUS|NTasks\n"
JOB = "101|lj|{}|2024-03-01T10:00:00|{}|00:20:00|2|cn[01-02]|8|\n"


def test_additions__a_job_that_still_runs_has_no_exit_code(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "slurm-101.out").write_text(log(9.5))
    (tree / "sacct.txt").write_text(JOBS + JOB.format("RUNNING|0:0", "Unknown"))
    one = only(imported(tree))
    assert (one["exit_code"], one.get("tuning")) == (None, None)
    (tree / "sacct.txt").write_text(JOBS + JOB.format("FAILED|1:0", "2024-03-01T10:20:00"))
    assert again(tree, capsys)[0] == 0
    record = json.loads((project / "data/raw/mine/runs/slurm-101/run.json").read_text())
    assert (record["exit_code"], record["end"] - record["start"]) == (1, 1200)
    (tree / "slurm-101.out").unlink()
    status, _, err = again(tree, capsys)  # the table alone, again
    assert (status, err) == (0, "nothing new: 0 runs are in data/raw/mine\n")


def test_additions__what_a_cut_import_left_is_completed(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed before the declaration and the manifest; killed before a record names a new file."""
    tree = tmp_path / "tree"
    trees.put(next(PROFILED.glob("HPCG*.txt")), tree / "a" / "hpcg.o77")
    imported(tree)
    raw, declared = project / "data/raw/mine", project / "config/campaigns/mine.yaml"
    before, manifest = declared.read_text(), (raw / "MANIFEST.sha256").read_bytes()
    declared.unlink()
    (raw / "MANIFEST.sha256").unlink()
    assert again(tree, capsys)[0] == 0
    assert (declared.read_text(), (raw / "MANIFEST.sha256").read_bytes()) == (before, manifest)
    trees.put(next(PROFILED.glob("*.ipm.xml.xz")), tree / "a" / "profile.o77.xml")
    (raw / "runs/a/profile.o77.xml").write_text("half a copy")
    assert again(tree, capsys)[0] == 0
    assert sorted(path.name for path in raw.glob("runs/a/*")) == [
        "hpcg.o77",
        "profile.o77.xml",
        "run.json",
    ]


def test_additions__a_copy_that_was_cut_is_no_run_and_a_removed_run_can_be_another(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "lj.out").write_text(log(9.5))
    imported(tree)
    before = state(project)
    (tree / "lj.out").write_text(log(9.5)[:-30])
    assert again(tree, capsys)[0] == 0
    assert state(project) == before
    shutil.rmtree(project / "data/raw/mine/runs/lj")
    (tree / "lj.out").write_text(log(5.25))
    assert again(tree, capsys)[0] == 0  # which verifies
    assert runs(project)["figure_of_merit"].values.tolist() == [pytest.approx(100 / 5.25, abs=1e-3)]
