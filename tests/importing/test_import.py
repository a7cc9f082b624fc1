"""A folder of job output becomes a campaign: held against what we wrote down when we measured its runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis import cli, readers
from analysis.datasets import ingest
from analysis.importing import writing
from analysis.schema import storage

from . import trees

ROOT = Path(__file__).parents[2]
Imported = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project without campaigns of its own, in which the commands run."""
    base = tmp_path / "project"
    shutil.copytree(ROOT / "config", base / "config")
    (base / "data" / "raw").mkdir(parents=True)
    monkeypatch.chdir(base)
    return base


@pytest.fixture
def imported(project: Path, capsys: pytest.CaptureFixture[str]) -> Imported:
    """Return a function that imports a tree as `mine`, verifies it, and returns its records by source."""

    def run(tree: Path, *options: str, status: int = 0, copies: bool = False) -> dict[str, dict[str, Any]]:
        assert cli.main(["import", str(tree), "--as", "mine", "--yes", *options]) == status
        printed = capsys.readouterr()
        assert cli.main(["verify", "mine"]) == copies, capsys.readouterr().err
        assert ("to the last digit the figures" in capsys.readouterr().err) == copies
        # What import printed is for the test to look at.
        print(printed.out, end="")
        print(printed.err, end="", file=sys.stderr)
        records = [json.loads(path.read_text()) for path in project.glob("data/raw/mine/runs/*/run.json")]
        return {
            f"{one['imported']['files'][0]['from']}#{one['imported']['files'][0].get('lines', '')}": one
            for one in records
        }

    return run


def runs(project: Path) -> Any:
    """Ingest the campaign and return its table of runs."""
    ingest(project / "data/raw/mine", project / "data/processed/mine")
    return storage.read_tree(project / "data/processed/mine/campaign.nc")["runs"]


def test_import__a_run_that_a_lost_worker_began_or_wrote_is_written_once(
    tmp_path: Path, project: Path, imported: Imported, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask gives the work of a lost worker to another, wherever it was lost."""
    trees.folders(tmp_path / "tree", trees.good()[:4])
    plain = writing._write_run

    def twice(draft: Any, raw: Path, **known: Any) -> str:
        begun = raw / writing.STAGED / draft.name / "stdout.txt"
        begun.parent.mkdir(parents=True)
        begun.write_text("half", encoding="utf-8")
        assert plain(draft, raw, **known) == ""
        return plain(draft, raw, **known)

    monkeypatch.setattr(writing, "_write_run", twice)
    once = imported(tmp_path / "tree")
    assert len(once) == 4
    assert not (project / "data/raw/mine" / writing.STAGED).exists()
    assert imported(tmp_path / "tree") == once


def test_import__a_run_on_one_node_lacks_no_interconnect(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (ROOT / "tests/data/mpip/mix_350.mpiP").read_text().splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.startswith("@ MPI Task Assignment")]
    for name, many in (("one", 1), ("two", 2)):
        said = lines.copy()
        for rank, i in enumerate(places):
            said[i] = f"@ MPI Task Assignment      : {rank} node{rank % many}\n"
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "app.mpiP").write_text("".join(said))
    for names, shown in (("one", ""), ("one two", "1")):
        tree = tmp_path / names.replace(" ", "-")
        for name in names.split():
            shutil.copytree(tmp_path / "tree" / name, tree / name)
        assert cli.main(["import", str(tree), "--as", "mine", "--yes"]) == 0
        rows = [
            line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("interconnect")
        ]
        assert [row[-1] for row in rows] == ([shown] if shown else [])
        said_hardware = (project / "config/campaigns/mine.yaml").read_text()
        assert ("network unknown" in said_hardware) == bool(shown)
        shutil.rmtree(project / "data/raw/mine")
        (project / "config/campaigns/mine.yaml").unlink()


def test_import__folders_and_slurm_give_the_factors_that_we_wrote_down(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    names = trees.good()[:40]
    trees.folders(tmp_path / "tree", names)
    found = imported(tmp_path / "tree")
    assert len(found) == len(names)
    by_job = {one["job_id"]: one for one in found.values()}
    for name in names:
        said = trees.record(name)
        one = by_job[str(said["job_id"])]
        for factor in ("application", "case", "nodes", "ranks", "ranks_per_node"):
            assert one[factor] == said[factor], (name, factor)
        assert one["local_size"] == said["nx"]
        assert one["mpi"] == said["mpi"].split(" 4")[0]
        assert one["node_list"] == ",".join(said["nodelist"])
        assert one["exit_code"] == 0
        assert abs((one["end"] - one["start"]) - (said["end"] - said["start"])) < 2.5  # Slurm: whole seconds
        assert one["imported"]["factors"]["nodes"] == "Slurm"
        assert one["imported"]["factors"]["ranks"] == "output"
    links = {one["interconnect"] for one in found.values() if "interconnect" in one}
    assert links == {"1gbe", "10gbe", "ethernet"}
    table = runs(project)
    assert table["valid"].values.all(), table["reason"].values
    rating = {
        str(job): float(value)
        for job, value in zip(table["job_id"].values, table["figure_of_merit"].values, strict=True)
    }
    # grep "VALID with" HPCG-Benchmark_3.1_2026-11-21_00-27-37.txt
    assert rating["28"] == pytest.approx(
        float(trees.result("001").read_text().split("VALID with a GFLOP/s rating of=")[1].split("\n")[0])
    )


def test_import__repeats_are_numbered_in_the_order_of_start(tmp_path: Path, imported: Imported) -> None:
    names = [name for name in trees.good() if trees.record(name)["case"] == "nx64"]
    trees.folders(tmp_path / "tree", names)
    cells: dict[tuple[Any, ...], list[tuple[float, int]]] = {}
    for one in imported(tmp_path / "tree").values():
        cells.setdefault((one["mpi"], one.get("interconnect"), one.get("tuning")), []).append(
            (one["start"], one["repeat"])
        )
    assert sum(map(len, cells.values())) == len(names) > 1
    assert max(map(len, cells.values())) > 1
    for members in cells.values():
        assert [repeat for _, repeat in sorted(members)] == list(range(1, len(members) + 1))


def test_import__a_pattern_says_what_parts_of_the_path_are(tmp_path: Path, imported: Imported) -> None:
    trees.folders(tmp_path / "tree", trees.good()[:6], sacct=False)
    found = imported(
        tmp_path / "tree", "--pattern", "{mpi}/{case}/{interconnect}/run-{repeat}", "--set", "cpu=EPYC"
    )
    assert len(found) == 6
    for source, one in found.items():
        mpi, case, link, _ = source.split("/")[:4]
        assert (one["mpi"], one["case"], one["interconnect"], one["cpu"]) == (mpi, case, link, "EPYC")
        assert one["imported"]["factors"]["mpi"] == f"path: {mpi}"
        assert "nodes" not in one
        assert one["ranks"] in (1, 2)


def test_import__says_that_the_times_in_names_order_the_runs(
    tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """HPCG names its output by the time of the run, and prints no start."""
    for run in ("050", "052"):
        shutil.copytree(ROOT / "data/raw/vm-hpcg/runs" / run, tmp_path / "tree" / run)
        (tmp_path / "tree" / run / "run.json").unlink()
    assert len(imported(tmp_path / "tree")) == 2
    line = next(one for one in capsys.readouterr().out.splitlines() if one.startswith("dates: "))
    assert line == "dates: 2 runs ordered by the times in the names of their files"


def test_import__a_word_that_is_no_factor_is_named(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", trees.good()[:1])
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--pattern", "{interconect}"]) == 1
    assert capsys.readouterr().err == "--pattern: 'interconect' is no factor; is 'interconnect' meant?\n"
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--pattern", "{mpi/{case}"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        line == "--pattern: '{mpi/{case}' has a brace that is no placeholder; write a factor in two: {nodes}"
    )
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--pattern", "{x}/{repeat}"]) == 1
    assert capsys.readouterr().err == "--pattern: 'x' is no factor; write {} for a part to ignore\n"


def test_import__a_pattern_of_no_path_is_one_line(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", trees.good()[:5], sacct=False)
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--pattern", "{mpi}/x"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert ": is not of the pattern '{mpi}/x'; " in line
    assert line.endswith("(4 more files have the same fault)")


def test_import__a_path_that_its_output_contradicts_costs_its_run(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for name in trees.good() if trees.record(name)["case"] == "nx16"][:5]
    trees.folders(tmp_path / "tree", names, sacct=False)
    wrong = tmp_path / "tree" / "openmpi" / "nx64" / "1gbe" / "run-9" / trees.result(names[0]).name
    wrong.parent.mkdir(parents=True)
    wrong.write_bytes(trees.result(names[0]).read_bytes().replace(b"VALID", b"VALID "))
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes"]) == 1
    fault = capsys.readouterr().err
    assert fault.startswith(
        f"openmpi/nx64/1gbe/run-9/{wrong.name}: its path says case nx64 ('nx64'), its output nx16; "
    )
    assert fault.count("\n") == 1
    assert len(list(project.glob("data/raw/mine/runs/*/run.json"))) == 5
    assert cli.main(["verify", "mine"]) == 0


def test_import__files_of_a_flat_folder_are_told_apart_by_their_names(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    names = trees.good("osu")[:8]
    trees.flat(tmp_path / "tree", names, "osu_{nodes}nodes_{repeat}.o{job_id}")
    found = imported(tmp_path / "tree")
    assert len(found) == 8
    by_job = {one["job_id"]: one for one in found.values()}
    for name in names:
        said, one = trees.record(name), by_job[str(trees.record(name)["job_id"])]
        assert one["case"] == said["case"]
        assert one["nodes"] == said["nodes"]
        assert one["imported"]["factors"]["nodes"] == f"path: {said['nodes']}nodes"
    assert runs(project)["valid"].values.all()


def test_import__results_of_several_programs_in_one_file_are_runs(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    osu = {trees.record(name)["case"]: name for name in trees.good("osu")}
    cases = [osu["osu_bw"], osu["osu_allreduce"], osu["osu_bw"]]
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "job.out").write_bytes(trees.several(*cases))
    found = list(imported(tmp_path / "tree", copies=True).values())
    assert sorted(one["case"] for one in found) == ["osu_allreduce", "osu_bw", "osu_bw"]
    assert sorted(one["repeat"] for one in found) == [1, 1, 2]
    for one in found:
        assert (one["mpi"], one["nodes"], one["ranks"]) == ("Open MPI 4.1.4", 2, 2)
        assert one["command"] == f"mpirun -np 2 ./{one['case']}"
        # The job's time and state are of all three, so none has its number.
        assert "job_id" not in one
        assert one["imported"]["job"] == "77"
    whole = (project / "data/raw/mine/beside/job.out").read_bytes()
    assert whole == (tmp_path / "tree" / "job.out").read_bytes()
    table = runs(project)
    assert table["valid"].values.all(), table["reason"].values


def test_import__hpcc_prints_the_openings_of_its_parts_and_is_one_run(
    tmp_path: Path, imported: Imported
) -> None:
    """HPL and STREAM are parts of HPCC: no run of either is made of its output."""
    tree, text = tmp_path / "tree", (ROOT / "tests/data/hpcc/n2.txt").read_text()
    assert re.findall(r"^(?:HPLinpack|STREAM version)", text, re.M) == ["HPLinpack", "HPLinpack"]
    tree.mkdir()
    (tree / "hpccoutf.txt").write_text(text)
    (one,) = imported(tree).values()
    assert (one["application"], one["ranks"]) == ("hpcc", 2)


def test_import__profile_result_and_dumps_of_one_job_are_one_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    source = trees.PROFILES / "hpcg-ipm-n8"
    folder = tmp_path / "tree" / "results" / "8-ranks"
    trees.put(next(source.glob("HPCG*.txt")), folder / "HPCG-Benchmark_3.1.txt")
    trees.put(next(source.glob("*.ipm.xml.xz")), folder / "profile.xml")
    trees.put(trees.RAW / "vm-hpcg" / "system.txt", tmp_path / "tree" / "lscpu.txt")
    (folder / "job.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=1\nmodule load openmpi/4.1.4\nmpirun -np 8 ./xhpcg\n"
    )
    (folder / "power.csv").write_text(
        "time,node,power_w\n2026-11-20T23:20:38Z,vm,100\n2026-11-20T23:20:43Z,vm,110\n"
    )
    found = imported(tmp_path / "tree")
    assert len(found) == 1
    one = next(iter(found.values()))
    assert sorted(file["file"] for file in one["imported"]["files"]) == [
        "HPCG-Benchmark_3.1.txt",
        "job.sh",
        "power.csv",
        "profile.xml",
    ]
    assert (one["ranks"], one["nodes"], one["cpu"], one["mpi"]) == (8, 1, "EPYC", "Open MPI 4.1.4")
    where = one["imported"]["factors"]
    assert (where["ranks"], where["nodes"], where["cpu"], where["mpi"]) == (
        "output",
        "profile",
        "lscpu.txt",
        "job.sh",
    )
    table = runs(project)
    assert table["valid"].values.tolist() == [True], table["reason"].values
    assert 0 < float(table["mpi_fraction"].values[0]) < 1


def test_import__a_profile_alone_is_a_run(tmp_path: Path, project: Path, imported: Imported) -> None:
    source = trees.PROFILES / "osu-allreduce-n8-ipm"
    trees.put(next(source.glob("*.xml")), tmp_path / "tree" / "app.xml")
    one = next(iter(imported(tmp_path / "tree").values()))
    assert (one["application"], one["ranks"], one["profiler"]) == ("osu_allreduce", 8, "ipm")
    assert (project / "config/applications/osu_allreduce.yaml").is_file()
    table = runs(project)
    assert table["valid"].values.tolist() == [True], table["reason"].values
    assert table["mpi_fraction"].values[0] > 0


def test_import__a_job_that_slurm_knows_is_a_run_without_a_reader(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "solver.o28").write_text("iteration 1 residual 3e-4\n")
    trees.put(trees.SACCT, tmp_path / "tree" / "sacct.txt")
    found = imported(tmp_path / "tree")
    one = found["solver.o28#"]
    assert (one["job_id"], one["nodes"], one["exit_code"], one["end"] - one["start"]) == ("28", 2, 0, 6)
    assert runs(project)["valid"].values.tolist() == [True]


def test_import__again_adds_only_what_is_new(tmp_path: Path, project: Path, imported: Imported) -> None:
    names = trees.good()
    trees.folders(tmp_path / "tree", names[:4])
    first = imported(tmp_path / "tree")
    stamps = {path: path.stat().st_mtime_ns for path in project.glob("data/raw/mine/runs/*/*")}
    assert imported(tmp_path / "tree") == first
    trees.folders(tmp_path / "tree", names[4:8])
    second = imported(tmp_path / "tree")
    assert len(second) == 8
    assert {source: second[source] for source in first} == first
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_import__repeats_go_on_where_a_campaign_ended(tmp_path: Path, imported: Imported) -> None:
    names = [name for name in trees.good() if trees.record(name)["case"] == "nx64"][:3]
    trees.flat(tmp_path / "tree", names[:1], "hpcg.o{job_id}")
    imported(tmp_path / "tree")
    trees.flat(tmp_path / "tree", names, "hpcg.o{job_id}")
    assert sorted(one["repeat"] for one in imported(tmp_path / "tree").values()) == [1, 2, 3]


def test_import__the_source_stays_as_it_was(tmp_path: Path, imported: Imported) -> None:
    trees.folders(tmp_path / "tree", trees.good()[:3])
    before = {
        path: hashlib.sha256(path.read_bytes()).digest()
        for path in (tmp_path / "tree").rglob("*")
        if path.is_file()
    }
    imported(tmp_path / "tree")
    after = {
        path: hashlib.sha256(path.read_bytes()).digest()
        for path in (tmp_path / "tree").rglob("*")
        if path.is_file()
    }
    assert after == before


def test_import__without_a_terminal_nothing_is_written(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", trees.good()[:3])
    before = sorted(project.rglob("*"))
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine"]) == 0
    said = capsys.readouterr()
    assert "give --yes" in said.err
    assert "3 new runs" in said.out
    assert sorted(project.rglob("*")) == before


def test_import__json_says_where_each_factor_is_from(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", trees.good()[:2])
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["where"]["ranks"] for one in found["runs"]] == ["output", "output"]
    assert found["files"] == 5
    assert found["placed"] == 5


def test_import__other_peoples_names_and_files_cost_only_themselves(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    name = trees.good()[0]
    trees.put(trees.result(name), tree / "a b\nc" / "Ergebnis ü (1).txt")
    trees.put(trees.result(trees.good()[1]), tree / "deep" / "x.txt")
    (tree / "loop").symlink_to(tree)
    (tree / "nowhere").symlink_to("gone")
    (tree / "deep" / "program").write_bytes(b"\x7fELF\0\0" * 100)
    (tree / "empty.out").write_bytes(b"")
    (tree / "cut.gz").write_bytes(b"\x1f\x8b\x08\0\0")
    os.mkfifo(tree / "pipe")
    (tree / "results.zip").write_bytes(b"PK\x03\x04" + bytes(60))
    found = imported(tree)
    assert sorted(found) == ["a b\\x0ac/Ergebnis ü (1).txt#", "deep/x.txt#"]
    out = capsys.readouterr().out
    for text in (
        "loop: is a link to what is in the tree",
        "nowhere: is a link that leads nowhere",
        "an archive; unpack",
        "pipe: is a pipe",
    ):
        assert text in out


@pytest.mark.parametrize("size", [0, 10, 300, 2000])
def test_import__a_cut_output_is_kept_and_does_not_count(
    size: int, tmp_path: Path, project: Path, imported: Imported
) -> None:
    first, second = trees.good()[:2]
    trees.put(trees.result(first), tmp_path / "tree" / "1" / "HPCG.txt")
    (tmp_path / "tree" / "2").mkdir()
    (tmp_path / "tree" / "2" / "HPCG.txt").write_bytes(trees.result(second).read_bytes()[:size])
    imported(tmp_path / "tree")
    assert runs(project)["valid"].values.sum() == 1


def test_import__of_two_dumps_each_speaks_for_the_runs_that_share_its_name(
    tmp_path: Path, imported: Imported
) -> None:
    dump = "Architecture: x86_64\nCPU(s): 4\nModel name: {}\nSocket(s): 1\n"
    for at, model in (
        ("genoa", "AMD EPYC 9654 96-Core Processor"),
        ("skylake", "Intel(R) Xeon(R) Gold 6148 CPU"),
    ):
        (tmp_path / "tree").mkdir(exist_ok=True)
        (tmp_path / "tree" / f"{at}-lscpu.txt").write_text(dump.format(model))
    first, second, third = trees.good()[:3]
    for name, run in (("a_genoa.txt", first), ("b_skylake.txt", second), ("c.txt", third)):
        trees.put(trees.result(run), tmp_path / "tree" / name)
    found = imported(tmp_path / "tree")
    cpus = {source.partition("#")[0]: one.get("cpu") for source, one in found.items()}
    # The path's own word counts less than the dump; of the third nothing is known.
    assert cpus == {"a_genoa.txt": "EPYC 9654", "b_skylake.txt": "Xeon Gold 6148", "c.txt": None}


def test_import__a_log_and_what_was_printed_are_one_run(tmp_path: Path, imported: Imported) -> None:
    run = trees.good()[0]
    trees.put(trees.result(run), tmp_path / "tree" / "1" / "HPCG-Benchmark.txt")
    printed = b"starting\n" + trees.result(run).read_bytes() + b"done\n"
    (tmp_path / "tree" / "1" / "slurm-99.out").write_bytes(printed)
    one = next(iter(imported(tmp_path / "tree").values()))
    assert len(one["imported"]["files"]) == 2
    assert one["job_id"] == "99"


def loop(seconds: float) -> str:
    """Return the line with which LAMMPS ends a loop."""
    return f"Loop time of {seconds} on 4 procs for 100 steps with 4000 atoms\n"


def log(seconds: float) -> str:
    """Return what LAMMPS prints, as far as its reader looks at it."""
    rate = f"Performance: {43200 / seconds:.3f} tau/day, {100 / seconds:.3f} timesteps/s\n"
    end = "99.9% CPU use with 4 MPI tasks x 1 OpenMP threads\nTotal wall time: 0:00:10\n"
    return f"LAMMPS (17 Apr 2024)\nunits lj\n{loop(seconds)}\n{rate}{end}"


def test_import__a_file_of_lines_that_grep_found_is_no_run(tmp_path: Path, imported: Imported) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for at in (1, 2, 3):
        (tree / f"log.{at}").write_text(log(9.5 + at / 100))
    (tree / "all.txt").write_text("".join(f"log.{at}:\n{loop(9.5 + at / 100)}" for at in (1, 2, 3)))
    found = imported(tree)
    assert sorted(found) == ["log.1#", "log.2#", "log.3#"]
    assert {one["ranks"] for one in found.values()} == {4}


@pytest.mark.slow
def test_import__many_files_are_read_in_several_processes(tmp_path: Path, imported: Imported) -> None:
    text = trees.result(trees.good()[0]).read_text()
    for at in range(310):
        folder = tmp_path / "tree" / f"run{at}"
        folder.mkdir(parents=True)
        (folder / "out.txt").write_text(f"{text}\n# {at}\n")
    found = imported(tmp_path / "tree", copies=True)
    assert sorted(one["repeat"] for one in found.values()) == list(range(1, 311))


def test_import__files_that_differ_in_a_word_nobody_knows_are_no_repeats(
    tmp_path: Path, imported: Imported
) -> None:
    names = [name for name in trees.good() if trees.record(name)["case"] == "nx64"][:8]
    for at, name in enumerate(names):
        trees.put(trees.result(name), tmp_path / "tree" / f"setting{'abcdefgh'[at]}.txt")
    found = imported(tmp_path / "tree")
    assert sorted(one["tuning"] for one in found.values()) == [f"setting{at}" for at in "abcdefgh"]
    assert {one["repeat"] for one in found.values()} == {1}


@pytest.mark.parametrize(
    ("words", "repeats"),
    [
        (("64", "128", "256", "512"), [1, 1, 1, 1]),
        (("211", "212", "214", "215"), [1, 2, 3, 4]),
        (("r1", "r2", "r3", "r4"), [1, 2, 3, 4]),  # the outputs state their ranks
        (("r01", "r02", "r04", "r08"), [1, 1, 1, 1]),
    ],
)
def test_import__sizes_in_names_are_no_repeats_and_what_counts_is(
    words: tuple[str, ...], repeats: list[int], tmp_path: Path, imported: Imported
) -> None:
    names = [name for name in trees.good() if trees.record(name)["case"] == "nx64"]
    for name, word in zip(names, words, strict=False):
        trees.put(trees.result(name), tmp_path / "tree" / f"x_{word}.txt")
    found = imported(tmp_path / "tree")
    assert [found[f"x_{word}.txt#"]["repeat"] for word in words] == repeats


@pytest.mark.parametrize(("stated", "repeats"), [(True, [1, 2, 3]), (False, [1, 1, 1])])
def test_import__r_may_be_the_ranks_that_no_output_states(
    stated: bool, repeats: list[int], tmp_path: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    for at in (1, 2, 3):
        text = log(2.0 + at)
        for ranks in () if stated else (" on 4 procs", " with 4 MPI tasks x 1 OpenMP threads"):
            text = text.replace(ranks, "")
        (tmp_path / "tree" / f"lmp_r{at}.log").write_text(text)
    found = imported(tmp_path / "tree")
    assert [found[f"lmp_r{at}.log#"]["repeat"] for at in (1, 2, 3)] == repeats


def test_import__runs_with_other_options_are_no_repeats(tmp_path: Path, imported: Imported) -> None:
    names = [name for name in trees.good() if trees.record(name)["case"] == "nx64"][:4]
    for at, name in enumerate(names):
        pinned = "on" if at < 2 else "off"
        head = f"Command line:\n  solver -o out{at}.txt -pin {pinned}\n\n"
        target = trees.put(trees.result(name), tmp_path / "tree" / f"run{at}" / "out.txt")
        target.write_text(head + target.read_text())
    found = imported(tmp_path / "tree").values()
    assert sorted((one["options"], one["repeat"]) for one in found) == [
        ("-pin=off", 1),
        ("-pin=off", 2),
        ("-pin=on", 1),
        ("-pin=on", 2),
    ]


def test_import__what_was_read_once_is_not_parsed_again(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = trees.good()[:3]
    for name in names:
        trees.put(trees.result(name), tmp_path / "tree" / name / "out.txt")
    parsed: list[str] = []
    parse = readers.parse_each

    def counted(data: bytes, source: str, *, engine: str) -> Any:
        parsed.append(source)
        return parse(data, source, engine=engine)

    monkeypatch.setattr(readers, "parse_each", counted)
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "once", "--yes"]) == 0
    assert parsed == ["out.txt"] * 3
    # If what was kept is lost, as on another node, the same bytes come of reading twice.
    monkeypatch.setattr("analysis.importing.parsed.ParsedFiles.put", lambda *given: None)
    shutil.move(project / "data/raw/once", tmp_path / "once")
    (project / "config/campaigns/once.yaml").unlink()
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "once", "--yes"]) == 0
    assert len(parsed) == 3 + 2 * 3
    one, other = (
        {path.relative_to(base): path.read_bytes() for path in sorted(base.rglob("*")) if path.is_file()}
        for base in (tmp_path / "once", project / "data/raw/once")
    )
    assert one == other


def test_import__a_kept_result_that_contradicts_its_record_is_refused_as_before(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = trees.good()[0]
    trees.put(trees.result(name), tmp_path / "tree" / "out.txt")
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "wrong", "--yes", "--set", "ranks=999"]) == 1
    assert "999" in capsys.readouterr().err
    assert not list(project.glob("data/raw/wrong/runs/*"))
