"""The stamp of a campaign's raw files: it changes with their names and contents; no file is hashed twice."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.base import states


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for name in (
        "runs/001/run.json",
        "runs/001/out/log.txt",
        "runs/002/run.json",
        "power/a.csv",
        "sacct.txt",
    ):
        path = tmp_path / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"of {name}")
    return tmp_path / "raw"


def other_content(raw: Path) -> None:
    """Change a file, but neither its size nor its time."""
    path = raw / "runs/001/out/log.txt"
    state = path.stat()
    path.write_text(path.read_text().replace("of", "if"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": other_content,
    "new run": lambda raw: shutil.copytree(raw / "runs/001", raw / "runs/003"),
    "run gone": lambda raw: shutil.rmtree(raw / "runs/002"),
    "file gone": lambda raw: (raw / "runs/001/out/log.txt").unlink(),
    "renamed": lambda raw: (raw / "runs/001/run.json").rename(raw / "runs/001/ran.json"),
    "runs swapped": lambda raw: (raw / "runs/001").rename(raw / "runs/004"),
    "next to the runs": lambda raw: (raw / "sacct.txt").write_text("another"),
    "power": lambda raw: (raw / "power/b.csv").write_text(""),
}


@pytest.mark.parametrize("settled", [-1, states.SETTLED])
@pytest.mark.parametrize("change", CHANGES)
def test_stamp__changes_with_names_and_contents(
    raw: Path, tmp_path: Path, change: str, settled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SETTLED", settled)
    path = states.stamp(raw, tmp_path / "stamps/a.sha256")
    before = path.read_text()
    CHANGES[change](raw)
    assert states.stamp(raw, path).read_text() != before


def test_stamp__is_left_alone_by_a_new_date_and_hashes_no_settled_file_again(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    plain = states.sha256
    monkeypatch.setattr(states, "sha256", lambda path: hashed.append(path.name) or plain(path))
    monkeypatch.setattr(states, "SETTLED", -1)
    path = states.stamp(raw, tmp_path / "a.sha256")
    before = path.stat().st_ino, path.stat().st_mtime_ns
    assert sorted(hashed) == ["a.csv", "log.txt", "run.json", "run.json", "sacct.txt"]
    hashed.clear()
    states.stamp(raw, path)
    assert hashed == []
    (raw / "sacct.txt").touch()
    states.stamp(raw, path)
    assert hashed == ["sacct.txt"]
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before


def test_stamp__a_link_is_followed_each_time(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SETTLED", -1)
    (raw / "runs/002/far.txt").symlink_to(tmp_path / "far.txt")
    (tmp_path / "far.txt").write_text("one")
    path = states.stamp(raw, tmp_path / "a.sha256")
    before = path.read_text()
    (tmp_path / "far.txt").write_text("two")
    assert states.stamp(raw, path).read_text() != before


def test_stamp__of_no_folder_is_that_of_nothing(tmp_path: Path) -> None:
    assert len(states.stamp(tmp_path / "none", tmp_path / "a.sha256").read_text()) == 65
