"""What a run of LS-DYNA leaves in its folder is one run: d3hsp, messages of each rank, its job's output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis import cli

from ..readers.test_lsdyna import BANNER, CLOSING, MODEL, TIMING


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
