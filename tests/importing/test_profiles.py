"""Import of profiles: IPM's banner and its file, profiles without a result, their names and dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from analysis.base import project
from analysis.datasets.applications import load_applications
from analysis.importing import make
from analysis.importing.plan import ImportPlan
from tests.importing import trees

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
