"""What a run of LS-DYNA leaves in its folder is one run: d3hsp, messages of each rank, its job's output."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from analysis import cli

from ..readers.test_lsdyna import BANNER, CLOSING, MODEL, TIMING
from .test_import import project, runs  # noqa: F401


def lay_out(run: Path, elapsed: int, deck: str = "3cars", model: str = MODEL) -> None:
    """Write a run's folder: the second rank has times of its own, the third was cut, the job kept the end."""
    run.mkdir(parents=True)
    banner = BANNER + model.replace("D:\\Modified_Wing\\Scripts\\WingLattice_v2.k", f"/home/x/{deck}.k")
    closing = CLOSING.replace("1521 seconds", f"{elapsed} seconds").replace(
        "09:12:01", f"08:{elapsed % 60}:01"
    )
    (run / "d3hsp").write_text(banner + TIMING + closing)
    messages = "\n".join(line for line in banner.splitlines() if "number of" not in line) + "\n" + TIMING
    (run / "mes0000").write_text(messages + closing)
    (run / "mes0001").write_text(
        messages.replace("1.5000E+03", "1.4900E+03") + closing.replace("1500 s", "1490 s")
    )
    (run / "mes0002").write_text(f"{messages} cut after {elapsed} s")
    (run / "job.o123").write_text("starting\n" + TIMING + closing)


def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    """Return what would be imported of the tree."""
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--json", *options]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return found


def test_lsdyna__files_of_all_ranks_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, elapsed in enumerate((1521, 1525), 1):
        lay_out(tmp_path / f"tree/{number}", elapsed)
    found = imported(tmp_path, capsys)
    problems = {"input=3cars elements=104933 endtim=0.15"}
    assert ([one["repeat"] for one in found], {one["problem"] for one in found}) == ([1, 2], problems)
    left = ["d3hsp", "job.o123", "mes0000", "mes0001", "mes0002"]
    assert [one["files"] for one in found] == [[f"{at}/{name}" for name in left] for at in (1, 2)]


def test_lsdyna__message_files_alone_are_those_of_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path / "tree/1", 1521)
    for name in ("d3hsp", "job.o123"):
        (tmp_path / "tree/1" / name).unlink()
    (one,) = imported(tmp_path, capsys)
    assert (one["problem"], len(one["files"])) == ("input=3cars elements=? endtim=0.15", 3)


def test_lsdyna__another_deck_or_model_is_another_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path / "tree/a", 1521)
    lay_out(tmp_path / "tree/b", 1525, deck="neon")
    lay_out(tmp_path / "tree/c", 1531, model=MODEL.replace("104621", "535000"))
    found = imported(tmp_path, capsys)
    assert [(one["problem"].partition(" endtim")[0], one["repeat"]) for one in found] == [
        ("input=3cars elements=104933", 1),
        ("input=neon elements=104933", 1),
        ("input=3cars elements=535312", 1),
    ]


def account(elapsed: int, minute: int, *, end: bool = True, model: bool = False) -> str:
    """Return an account of a run that began at 08:`minute`:00."""
    size = MODEL[MODEL.index("    CONTROL CARD") :] if model else ""
    top = (BANNER + " Input file: 3cars.k\n" + size).replace("09:12:01", f"08:{minute:02}:00")
    closing = CLOSING.replace("1521 seconds", f"{elapsed} seconds").replace("09:12:01", f"08:{minute:02}:00")
    return top + TIMING + closing if end else top + " killed\n"


def write(tmp_path: Path, **texts: str) -> None:
    """Write files of the tree: ``/`` for ``__``, ``.`` for ``_0``."""
    for name, text in texts.items():
        path = tmp_path / "tree" / name.replace("__", "/").replace("_0", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def test_lsdyna__killed_run_is_no_part_of_the_good_one_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, d3hsp_good=account(1521, 1), d3hsp_killed=account(0, 40, end=False))
    found = imported(tmp_path, capsys)
    assert [one["files"] for one in found] == [["d3hsp_good"], ["d3hsp_killed"]]


def test_lsdyna__files_of_a_killed_run_are_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = account(0, 40, end=False)
    write(tmp_path, d3hsp=killed + "1", mes0000=killed + "2", job_0out=killed + "3")
    assert [one["files"] for one in imported(tmp_path, capsys)] == [["d3hsp", "job.out", "mes0000"]]


@pytest.mark.parametrize("form", ["{}_0gz", "a_0{}", "{}_16n"])
def test_lsdyna__files_of_ranks_keep_together_under_other_names(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compressed, with the identifier of a job before them, with nodes behind them; another run is beside."""
    texts = {"d3hsp": account(1521, 1), "mes0000": account(1521, 1) + " 0", "mes0001": account(1520, 1)}
    write(tmp_path, **{form.format(name): text for name, text in texts.items()})
    write(tmp_path, **{f"other_{name}": account(1400 + at, 40) for at, name in ((0, "d3hsp"),)})
    names = [form.format(name).replace("_0", ".") for name in texts]
    assert sorted(one["files"] for one in imported(tmp_path, capsys)) == sorted([names, ["other_d3hsp"]])


def test_lsdyna__message_files_without_the_first_are_those_of_each_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Renamed after their nodes, they are of other executions."""
    write(tmp_path, mes0001=account(1520, 1), mes0002=account(1519, 1), mes0032=account(800, 40))
    assert [one["files"] for one in imported(tmp_path, capsys)] == [["mes0001", "mes0002"], ["mes0032"]]


def test_lsdyna__output_above_the_folders_of_its_runs_is_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first job left one run, the second two; before them lies what was printed."""
    times = {"1": (1521, 1), "2": (1525, 31), "3": (1531, 59)}
    for run, when in times.items():
        write(tmp_path, **{f"run{run}__d3hsp": account(*when, model=True)})
        write(tmp_path, **{f"run{run}__mes0000": account(*when)})
    first, second, third = (account(*when) for when in times.values())
    write(tmp_path, job_0o11=f"{first}bye", job_0o12=second + third)
    found = imported(tmp_path, capsys)
    files = [[f"run{run}/d3hsp", f"run{run}/mes0000"] for run in times]
    assert [sorted(one["files"]) for one in found] == [["job.o11", *files[0]], *files[1:]]
    assert [one["repeat"] for one in found] == [1, 2, 3]


def test_lsdyna__run_has_its_own_time_where_an_output_has_several(
    tmp_path: Path,
    project: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The output comes before the runs by its name, and its last time is that of the second run."""
    for run, when in enumerate([(1521, 1), (1525, 31)], 1):
        write(tmp_path, **{f"run{run}__d3hsp": account(*when, model=True)})
    write(tmp_path, a_0out=account(1521, 1) + account(1525, 31))
    options = [f"--set={one}=x" for one in ("cluster", "cpu", "interconnect", "mpi")] + ["--set=nodes=2"]
    imported(tmp_path, capsys, *options, "--yes")
    table = runs(project)
    assert table["figure_of_merit"].values.tolist() == [1521, 1525]
    assert [path.name for path in project.glob("data/raw/mine/beside/*")] == ["a.out"]


def test_lsdyna__runs_of_threads_are_no_processes_of_one_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job has two tasks and ran twice; an account of threads alone states no ranks."""
    text = "SLURM_NTASKS=2\n" + account(1521, 1) + account(1525, 31)
    for of_ranks in (" MPP execution with     640 procs\n", " using   640 MPP procs"):
        text = text.replace(of_ranks, "")
    write(tmp_path, job_0o11=text)
    assert [one["start"] % 3600 for one in imported(tmp_path, capsys)] == [60, 31 * 60]


def test_lsdyna__continued_file_has_each_of_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A restart appends to d3hsp; the second job's output is that of the second run."""
    rest = account(800, 40).replace(" Input file", " Command line options: r=d3dump01\n Input file")
    write(tmp_path, d3hsp=account(700, 1) + rest, job_0o11=account(700, 1) + "1", job_0o12=rest + "2")
    found = imported(tmp_path, capsys)
    assert [(one["problem"], one["job_id"], one["files"]) for one in found] == [
        ("input=3cars elements=? endtim=0.15", "11", ["d3hsp", "job.o11"]),
        ("input=3cars elements=? endtim=0.15 restart=d3dump01", "12", ["d3hsp", "job.o12"]),
    ]
