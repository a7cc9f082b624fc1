"""Import of profiles: IPM's banner and its file, profiles without a result, their names and dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from analysis.base import project
from analysis.datasets.applications import load_applications
from analysis.datasets.run import read_run
from analysis.importing import make
from analysis.importing.plan import ImportPlan
from tests.importing import trees
from tests.readers.test_tau import PROFILE as TAU

LULESH = [trees.RAW / "vm-lulesh" / "runs" / f"lulesh-s20-1x1-deb8d7a2-r0{at}" for at in range(1, 9)]
CLOCK = "%a %b %d %H:%M:%S %Y"


def began(file: str) -> float:
    """Return the start that IPM wrote into a file's name: s and microseconds, without leading zeros."""
    _, seconds, micro, *_ = file.split(".")
    return int(seconds) + int(micro) / 1e6


def planned(root: Path) -> ImportPlan:
    """Plan the import of a tree."""
    return make(root, "tree", root / "raw", load_applications(project.root() / "config" / "applications"))


def tree(root: Path, *, hours: dict[int, float] | None = None) -> ImportPlan:
    """Plan the import of the outputs and the files of IPM of eight runs in one folder, apart by their names.

    The clocks of the outputs are ahead of UTC by `hours`: number of a run -> h, by default none.
    """
    for at, run in enumerate(LULESH, 1):
        text = (run / "stdout.txt").read_text()
        ahead = timedelta(hours=(hours or {}).get(at, 0))
        for shown in set(re.findall(r"(?:start|stop) +: (\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4})", text)):
            text = text.replace(shown, (datetime.strptime(shown, CLOCK) + ahead).strftime(CLOCK) + "#")
        (root / f"lulesh-{at}.out").write_text(text.replace("2026#", "2026"))
        for file in run.glob("*.ipm.xml"):
            trees.put(file, root / file.name)
    return planned(root)


def files_of(plan: ImportPlan) -> dict[str, list[str]]:
    """Return the names of the files of each run."""
    return {draft.run.main.file.base: [one.file.base for one in draft.run.files] for draft in plan.runs}


TRUE = {f"lulesh-{at}.out": [file.name for file in run.glob("*.ipm.xml")] for at, run in enumerate(LULESH, 1)}


@pytest.mark.parametrize(
    "hours",
    [
        {},
        dict.fromkeys(range(1, 9), -5.0),
        dict.fromkeys(range(1, 9), 5.75),  # Nepal
        {1: 1.0, 2: 1.0, **dict.fromkeys(range(3, 9), 2.0)},  # the end of winter
    ],
)
def test_profiles__a_file_of_ipm_is_of_the_run_whose_banner_began_with_it(
    tmp_path: Path, hours: dict[int, float]
) -> None:
    plan = tree(tmp_path, hours=hours)

    assert len(TRUE) == 8
    assert files_of(plan) == TRUE
    assert not plan.unplaced
    starts = {draft.run.main.file.base: draft.value("start") for draft in plan.runs}
    assert starts == {name: pytest.approx(began(file), abs=1e-3) for name, (file,) in TRUE.items()}


def test_profiles__two_outputs_that_began_together_keep_no_file(tmp_path: Path) -> None:
    tree(tmp_path)
    twin = (tmp_path / "lulesh-3.out").read_text()
    (tmp_path / "other.out").write_text(twin + "\n# copied by hand\n")

    plan = planned(tmp_path)

    files = files_of(plan)
    (lost,) = TRUE["lulesh-3.out"]
    assert files["lulesh-1.out"] == TRUE["lulesh-1.out"]
    assert all(lost not in names for names in files.values())
    assert "no file says which" in plan.unplaced[lost]


def test_profiles__outputs_of_a_program_without_a_reader_have_their_files_too(tmp_path: Path) -> None:
    for run in ("051", "071", "136"):  # what HPCG prints beside its report
        folder = trees.HPCG / run
        trees.put(folder / "stdout.txt", tmp_path / f"job-{run}" / "printed.out")
        for file in folder.glob("*.ipm.xml*"):
            trees.put(file, tmp_path / "profiles" / file.name.removesuffix(".xz"))

    plan = planned(tmp_path)

    assert [draft.run.main.name for draft in plan.runs] == [
        f"job-{run}/printed.out" for run in ("051", "071", "136")
    ]
    assert [len(draft.run.files) for draft in plan.runs] == [1, 1, 1]
    for draft in plan.runs:
        assert draft.value("start") == pytest.approx(began(draft.run.files[0].file.base), abs=0.2)


def test_profiles__files_of_ipm_alone_are_runs_with_dates(tmp_path: Path) -> None:
    for run in LULESH:
        for file in run.glob("*.ipm.xml"):
            trees.put(file, tmp_path / file.name)

    plan = planned(tmp_path)

    assert len(plan.runs) == 8
    assert not plan.unplaced
    assert {draft.run.main.file.base: draft.value("start") for draft in plan.runs} == {
        name: pytest.approx(began(name), abs=1e-6) for (name,) in TRUE.values()
    }
    assert sorted(draft.value("repeat") for draft in plan.runs) == list(range(1, 9))
    assert {draft.value("tuning") for draft in plan.runs} == {None}


def test_profiles__names_that_mpip_made_state_nothing(tmp_path: Path) -> None:
    reports = sorted(trees.PROFILES.rglob("*.mpiP*"))[:4]
    for at, file in enumerate(reports):
        trees.put(file, tmp_path / f"run{at}" / file.name.removesuffix(".xz"))

    plan = planned(tmp_path)

    assert len(plan.runs) == len(reports) == 4
    assert {draft.value("tuning") for draft in plan.runs} == {None}
    for draft in plan.runs:
        text = draft.run.main.file.path.read_text(errors="replace")
        (started,) = re.findall(r"^@ Start time +: (.+?) *$", text, re.MULTILINE)
        assert (
            draft.value("start")
            == datetime.strptime(started, "%Y %m %d %H:%M:%S").replace(tzinfo=UTC).timestamp()
        )


def test_profiles__of_two_executions_none_is_that_of_the_only_output(tmp_path: Path) -> None:
    """A folder in which a program ran twice, and the second overwrote the output of the first."""
    (run,) = trees.PROFILES.glob("osu-alltoall-n8-mpip")
    (report,) = run.glob("*.mpiP")
    trees.put(report, tmp_path / report.name)
    (tmp_path / "stdout.txt").write_text((run / "stdout.txt").read_text())
    assert [len(names) for names in files_of(planned(tmp_path)).values()] == [1]

    later = report.read_text().replace("23:38:4", "23:49:0")
    (tmp_path / report.name.replace("20456", "20611")).write_text(later)

    plan = planned(tmp_path)
    assert files_of(plan) == {"stdout.txt": []}
    assert [draft.value("start") for draft in plan.runs] == [None]
    assert {why.partition(";")[0] for why in plan.unplaced.values()} == {
        "is a profile of one of several executions"
    }


def test_profiles__what_the_program_of_a_profile_printed_goes_with_it(tmp_path: Path) -> None:
    (file,) = LULESH[0].glob("*.ipm.xml")
    trees.put(file, tmp_path / "one" / file.name)
    (tmp_path / "one" / "stdout.txt").write_text("step 1\nstep 2\n")

    plan = planned(tmp_path)

    assert [[one.file.base for one in draft.run.files] for draft in plan.runs] == [["stdout.txt"]]


def of_ranks(folder: Path, *shares: float, host: str = "n07") -> None:
    """Write what TAU leaves: a file of each rank with its share of 5 s in MPI; two ranks are on a node."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, share in enumerate(shares):
        data = re.sub(rb'(Allreduce\(\)  " 1050 0) 1500000 1500000', rb"\1 %d %d" % ((share * 5e6,) * 2), TAU)
        data = data.replace(b"n07", f"n0{rank // 2}".encode())
        (folder / f"profile.{rank}.0.0").write_bytes(data)


def test_import__files_of_the_ranks_are_one_profile(tmp_path: Path) -> None:
    """Four ranks were four repeats with an interval; of 5 s each, 0.49998 s are in other calls."""
    of_ranks(tmp_path / "tree" / "one", 0.1, 0.2, 0.3, 0.4)
    plan = planned(tmp_path / "tree")
    (run,) = plan.runs
    assert {name: run.value(name) for name in ("ranks", "nodes", "node_list")} == {
        "ranks": 4,
        "nodes": 2,
        "node_list": "n00,n01",
    }
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    for path in (tmp_path / "tree" / "one").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    read = read_run(folder, {})
    assert read.row["mpi_fraction"] == pytest.approx((1.0 * 5 + 4 * 0.49998) / 20)
    counts = read.frames["calls"].set_index("call")["count"]
    assert (counts["MPI_Allreduce"], counts["MPI_Init"]) == (4200, 4)
    assert read.frames["ranks"]["rank"].tolist() == [0, 1, 2, 3]


def test_import__a_missing_rank_leaves_their_number_unknown(tmp_path: Path) -> None:
    of_ranks(tmp_path / "tree", 0.1, 0.2, 0.3)
    (tmp_path / "tree" / "profile.1.0.0").unlink()
    (run,) = planned(tmp_path / "tree").runs
    assert run.value("ranks") is None
    assert run.value("nodes") is None


def test_read_run__a_profile_without_a_number_of_ranks_contradicts_none(tmp_path: Path) -> None:
    """TAU's file said -1 ranks, and the run of two ranks did not count."""
    source = trees.RAW / "vm-hpcg" / "runs" / "001"
    for path in source.iterdir():
        (tmp_path / "001").mkdir(exist_ok=True)
        (tmp_path / "001" / path.name).write_bytes(path.read_bytes())
    of_ranks(tmp_path / "001", 0.1)
    assert "-1 ranks" not in read_run(tmp_path / "001", {}).row["reason"]
