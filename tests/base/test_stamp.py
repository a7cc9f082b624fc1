"""Stamps of folders: what changes them, and what is not read again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analysis.base import files
from analysis.base.files import stamp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("raw/a.txt", "raw/runs/1/out", "raw/runs/2/out"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_stamp__changes_with_content_name_and_number_and_not_with_a_date(folder: Path) -> None:
    raw, kept = folder / "raw", folder / "kept/raw.json"
    first = stamp(raw, kept)
    os.utime(raw / "a.txt", (1, 1))
    assert stamp(raw, kept) == first == stamp(raw, folder / "nothing kept.json")
    found = {first}
    (raw / "runs/1/out").write_text("raw/runs/9/out")  # as long as before
    found.add(stamp(raw, kept))
    (raw / "runs/3").mkdir()
    (raw / "runs/2/out").rename(raw / "runs/3/out")
    found.add(stamp(raw, kept))
    (raw / "runs/3/out").unlink()
    found.add(stamp(raw, kept))
    assert len(found) == 4


def test_stamp__reads_a_file_again_only_if_it_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, kept = folder / "raw", folder / "raw.json"
    read: list[str] = []

    def sha256(path: str) -> str:
        read.append(Path(path).relative_to(raw).as_posix())
        return Path(path).read_text()

    monkeypatch.setattr(files, "sha256", sha256)
    stamp(raw, kept)
    assert sorted(read) == ["a.txt", "runs/1/out", "runs/2/out"]
    read.clear()
    (raw / "runs/2/out").write_text("other")
    stamp(raw, kept)
    assert read == ["runs/2/out"]


def test_stamp__knows_a_large_file_by_size_and_date(folder: Path) -> None:
    raw, kept = folder / "raw", folder / "raw.json"
    (raw / "power.csv").write_bytes(bytes(2 << 20))
    first = stamp(raw, kept)
    os.utime(raw / "power.csv", (1, 1))
    assert stamp(raw, kept) != first


@pytest.mark.parametrize("noted", ["", "{", "[1]", '{"a.txt": 1}', '{"a.txt": ["x", "y", "z"]}'])
def test_stamp__a_damaged_note_costs_one_more_reading(folder: Path, noted: str) -> None:
    kept = folder / "raw.json"
    kept.write_text(noted)
    assert stamp(folder / "raw", kept) == stamp(folder / "raw", folder / "other.json")


def test_stamp__of_a_folder_that_is_not_there_is_that_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert stamp(tmp_path / "none", tmp_path / "k") == stamp(tmp_path / "empty", tmp_path / "k")


def test_stamp__goes_on_where_a_file_or_a_folder_cannot_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = folder / "raw"
    (raw / "round").symlink_to(raw)  # a folder in itself
    (raw / "gone").symlink_to("nowhere")
    os.mkfifo(raw / "pipe")
    whole = stamp(raw, folder / "a.json")

    def sha256(path: str) -> str:
        raise PermissionError(path)

    monkeypatch.setattr(files, "sha256", sha256)
    assert stamp(raw, folder / "b.json") != whole
    assert stamp(raw, folder / "a.json") == whole  # known by size and date


def test_stamp__reads_a_file_that_was_changed_behind_its_date(folder: Path) -> None:
    raw, kept = folder / "raw", folder / "raw.json"
    path = raw / "a.txt"
    first, before = stamp(raw, kept), path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # the file system's clock has ticks
        path.write_text("raw/z.txt")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert stamp(raw, kept) == stamp(raw, folder / "nothing kept.json") != first


def test_stamp__tries_what_it_could_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, kept = folder / "raw", folder / "raw.json"
    whole = stamp(raw, folder / "other.json")
    with monkeypatch.context() as patched:
        patched.setattr(files, "_digest", lambda path: "")
        assert stamp(raw, kept) == stamp(raw, kept) != whole
    assert stamp(raw, kept) == whole


def test_stamp__reads_a_large_record(folder: Path) -> None:
    raw = folder / "raw"
    (raw / "runs/1/run.json").write_bytes(b" " * (2 << 20))
    first = stamp(raw, folder / "a.json")
    os.utime(raw / "runs/1/run.json", (1, 1))
    assert stamp(raw, folder / "b.json") == first
