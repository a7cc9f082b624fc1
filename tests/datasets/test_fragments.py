"""Fragments: what was read of each run is kept; a campaign grown run by run equals one read at once."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import lzma
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import readers
from analysis.base import files
from analysis.datasets import campaign, fragments
from analysis.datasets.campaign import ingest
from analysis.readers import core

RAW = Path(__file__).parents[2] / "data" / "raw" / "vm-hpcg"
SAMPLES = Path(__file__).parents[1] / "data"
# Of HPCG and OSU, with profiles of IPM and mpiP, one that failed.
FEW = ("001", "003a", "003b", "007", "009", "024", "073")


def add(raw: Path, *runs: str) -> None:
    for run in runs:
        shutil.copytree(RAW / "runs" / run, raw.parent / f".{run}")
        (raw / "runs").mkdir(parents=True, exist_ok=True)
        (raw.parent / f".{run}").replace(raw / "runs" / run)


def content(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*.nc"))}


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw" / "vm-hpcg"
    folder.mkdir(parents=True)
    shutil.copy(RAW / "sacct.txt", folder)
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return the runs that were read since the last call."""
    seen: list[str] = []
    plain = campaign.read_run

    def noting(folder: Path, **known: object) -> object:
        seen.append(folder.name)
        return plain(folder, **known)  # type: ignore[arg-type]

    def since() -> list[str]:
        found, seen[:] = list(seen), []
        return found

    monkeypatch.setattr(campaign, "read_run", noting)
    return since


def test_ingest__a_campaign_grown_by_runs_has_the_bytes_of_one_ingested_at_once(
    raw: Path, tmp_path: Path, read: Callable[[], list[str]]
) -> None:
    grown, whole = tmp_path / "grown", tmp_path / "whole"
    add(raw, "003a", "024", "073")
    ingest(raw, grown)
    assert read() == ["003a", "024", "073"]
    add(raw, "001", "003b", "007", "009")
    ingest(raw, grown)
    assert read() == ["001", "003b", "007", "009"]
    shutil.rmtree(raw / "runs/024")
    ingest(raw, grown)
    assert read() == []
    ingest(raw, whole)
    found = content(grown)
    assert {"campaign.nc"} < found.keys()
    assert found == content(whole)


@pytest.mark.parametrize("sample", ["ipm/hpcg_n64.ipm.xml.xz", "mpip/hpcg_aslr_64.mpiP.xz"])
@pytest.mark.parametrize("pack", [bytes, lzma.compress, gzip.compress])
def test_ingest__a_large_profile_is_never_held_as_a_whole(
    sample: str, pack: Callable[[bytes], bytes], raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(raw, "001", "009")
    for path in (raw / "runs/009").iterdir():
        if path.name != "run.json":
            path.unlink()
    whole = readers.read_bytes(SAMPLES / sample)
    profile = raw / "runs/009" / sample.partition("/")[2].removesuffix(".xz")
    profile.write_bytes(pack(whole))
    ingest(raw, tmp_path / "whole")
    read: list[str] = []

    def noting(path: Path, *most: int) -> bytes:
        read.append(Path(path).name)
        return files.stored(path, *most)

    monkeypatch.setattr("analysis.datasets.run.stored", noting)
    monkeypatch.setattr(readers, "LEAST", 1 << 10)  # as of 0.4 MB
    monkeypatch.setattr(core, "LEAST", 1 << 10)
    ingest(raw, tmp_path / "streamed")
    assert profile.name not in read
    assert content(tmp_path / "streamed") == content(tmp_path / "whole")
    # And what the store keeps of it, written in pieces, is what was written.
    kept = sqlite3.connect(tmp_path / "streamed/fragments.sqlite")
    written = (tmp_path / "streamed/runs/009.nc").read_bytes()
    with contextlib.closing(kept):
        rows = kept.execute("SELECT profile, digest FROM runs WHERE run = '009'").fetchall()
    assert rows == [(written, hashlib.sha256(written).hexdigest())]


def test_ingest__a_change_that_keeps_size_and_time_is_read(
    raw: Path, tmp_path: Path, read: Callable[[], list[str]]
) -> None:
    add(raw, "001", "009")
    ingest(raw, tmp_path / "out")
    record = raw / "runs/009/run.json"
    before, state = record.read_bytes(), record.stat()
    record.write_bytes(before.replace(b'"repeat": 1', b'"repeat": 7').replace(b'"repeat": 2', b'"repeat": 7'))
    assert record.read_bytes() != before
    assert len(record.read_bytes()) == len(before)
    os.utime(record, ns=(state.st_atime_ns, state.st_mtime_ns))
    read()
    ingest(raw, tmp_path / "out")
    assert read() == ["009"]


def test_ingest__a_settled_file_is_not_hashed_and_a_touched_one_is_hashed_but_not_read(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[], list[str]]
) -> None:
    hashed: list[str] = []
    plain = fragments.sha256
    monkeypatch.setattr(fragments, "_SETTLED", -1)

    def noting(path: Path) -> str:
        if path.parent.parent.name == "runs":
            hashed.append(path.parent.name)
        return plain(path)

    monkeypatch.setattr(fragments, "sha256", noting)
    add(raw, "001", "009")
    ingest(raw, tmp_path / "out")
    ingest(raw, tmp_path / "out")
    assert (read(), hashed) == (["001", "009"], [])
    (raw / "runs/009/run.json").touch()
    ingest(raw, tmp_path / "out")
    assert (read(), set(hashed)) == ([], {"009"})
    hashed.clear()
    ingest(raw, tmp_path / "out")
    assert hashed == []


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_ingest__without_its_store_or_with_a_damaged_one_the_datasets_are_the_same(
    raw: Path, tmp_path: Path, damage: bytes, read: Callable[[], list[str]]
) -> None:
    add(raw, "001", "009")
    out = tmp_path / "out"
    ingest(raw, out)
    before = content(out)
    (out / fragments.NAME).write_bytes(damage)
    read()
    ingest(raw, out)
    assert (read(), content(out)) == (["001", "009"], before)
    ingest(raw, out)
    assert read() == []


def test_ingest__with_nothing_new_the_files_are_written_as_they_were_and_nothing_is_joined(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[], list[str]]
) -> None:
    add(raw, "001", "003a", "009")
    out = tmp_path / "out"
    summary, before = ingest(raw, out), content(tmp_path / "out")
    joined: list[Path] = []
    plain = campaign.join
    monkeypatch.setattr(campaign, "join", lambda folder, *rest: joined.append(folder) or plain(folder, *rest))
    read()
    (out / "campaign.nc").write_bytes(b"damaged")
    shutil.rmtree(out / "runs")
    assert ingest(raw, out) == summary
    assert (content(out), read(), joined) == (before, [], [])
    with (raw / "sacct.txt").open("a") as file:  # next to the runs: they are joined anew, and not read
        file.write("\n")
    ingest(raw, out)
    assert (read(), joined) == ([], [raw])
    assert content(out)["campaign.nc"] != before["campaign.nc"]
    ingest(raw, tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


def test_ingest__damaged_tables_in_its_store_are_read_again(
    raw: Path, tmp_path: Path, read: Callable[[], list[str]]
) -> None:
    add(raw, "001", "009")
    out = tmp_path / "out"
    ingest(raw, out)
    before = content(out)
    with contextlib.closing(sqlite3.connect(out / fragments.NAME)) as store, store:
        assert store.execute("UPDATE tables SET content = x'00' WHERE kind = 'micro'").rowcount == 1
        store.execute("DELETE FROM campaign")
    read()
    ingest(raw, out)
    assert (read(), content(out)) == (["001", "009"], before)


@pytest.mark.parametrize(
    ("table", "where", "again"),
    [
        ("campaign", "1 = 1", []),
        ("runs", "run = '007'", ["007"]),
        ("tables", "kind = 'micro'", ["001", "007", "009"]),
    ],
)
def test_ingest__a_flipped_bit_in_its_store_is_named_in_one_line_and_read_again(
    raw: Path,
    tmp_path: Path,
    read: Callable[[], list[str]],
    capsys: pytest.CaptureFixture[str],
    table: str,
    where: str,
    again: list[str],
) -> None:
    add(raw, "001", "007", "009")
    out = tmp_path / "out"
    ingest(raw, out)
    before = content(out)
    column = "profile" if table == "runs" else "content"
    with contextlib.closing(sqlite3.connect(out / fragments.NAME)) as store, store:
        ((kept,),) = store.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchall()
        flipped = bytearray(kept)
        flipped[len(flipped) // 2] ^= 4
        store.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (bytes(flipped),))
        if table != "campaign":  # else the campaign's own file is taken, and no table is needed
            store.execute("DELETE FROM campaign")
    read()
    capsys.readouterr()
    ingest(raw, out)
    assert (read(), content(out)) == (again, before)
    (line,) = capsys.readouterr().err.splitlines()
    assert "fragments.sqlite: " in line
    assert "is not what was kept; read again" in line
    ingest(raw, out)
    assert (read(), content(out), capsys.readouterr().err) == ([], before, "")


def test_ingest__only_the_run_with_a_value_that_cannot_be_kept_is_read_each_time(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[], list[str]]
) -> None:
    noting = campaign.read_run

    def odd(folder: Path, **known: object) -> object:
        run = noting(folder, **known)  # type: ignore[arg-type]
        if folder.name == "009":
            run.extra["unlike JSON"] = {1j}
        return run

    monkeypatch.setattr(campaign, "read_run", odd)
    add(raw, "001", "003a", "009", "073")
    ingest(raw, tmp_path / "out")
    assert read() == ["001", "003a", "009", "073"]
    before = content(tmp_path / "out")
    for _ in range(2):
        ingest(raw, tmp_path / "out")
        assert (read(), content(tmp_path / "out")) == (["009"], before)


def test_ingest__other_code_applications_or_power_read_all_runs_again(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[], list[str]]
) -> None:
    add(raw, "001")
    ingest(raw, tmp_path / "out")
    read()
    monkeypatch.setattr(campaign, "reader_digest", lambda *_: "of other code")
    ingest(raw, tmp_path / "out")
    assert read() == ["001"]
    plain = fragments.reader_digest({}, {})
    assert fragments.reader_digest({}, {"logs": [{"file": "power/a.csv"}]}) != plain
    assert fragments.reader_digest({}, {}) == plain
    (tmp_path / "config/formats").mkdir(parents=True)
    (tmp_path / "config/formats/mine.py").write_text("figure_of_merit = 1")
    with monkeypatch.context() as patch:
        patch.setattr(fragments.project, "root", lambda: tmp_path)
        assert fragments.reader_digest({}, {}) != plain
    with monkeypatch.context() as patch:  # the compiled core counts as code does
        files = fragments.project.code_files
        patch.setattr(
            fragments.project, "code_files", lambda room: [f for f in files(room) if f.suffix != ".wasm"]
        )
        assert fragments.reader_digest({}, {}) != plain


def _add_and_ingest(raw: Path, out: Path, runs: tuple[str, ...], start: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    for run in runs:
        add(raw, run)
        ingest(raw, out)


def test_ingest__two_writers_at_once_lose_nothing(raw: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    out, start = tmp_path / "out", context.Barrier(2)
    parts = (FEW[:4], FEW[4:])
    writers = [context.Process(target=_add_and_ingest, args=(raw, out, part, start)) for part in parts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    ingest(raw, tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


def test_ingest__a_file_next_to_the_runs_that_changes_while_they_are_read_is_read_the_next_time(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(raw, "001", "009")
    plain = campaign._written

    def late(*given: object) -> object:
        (raw / "power.txt").write_text("arrives when all files have been read\n")
        return plain(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(campaign, "_written", late)
        ingest(raw, tmp_path / "out")
    ingest(raw, tmp_path / "out")
    ingest(raw, tmp_path / "whole")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


# As a user writes it: no main guard. A process that is started anew would run it from its first line.
PLAIN = """\
import sys
from pathlib import Path
from analysis.datasets.campaign import ingest
from analysis.readers import core
print("begun", flush=True)
print(ingest(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.mark.parametrize("dask", ["", pytest.param("local", marks=pytest.mark.slow)])
def test_ingest__a_script_without_a_main_guard_reads_more_than_500_runs(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dask: str
) -> None:
    for number in range(520):
        shutil.copytree(RAW / "runs" / "009", raw / "runs" / f"{number:03}")
    script = tmp_path / "plain.py"
    script.write_text(PLAIN, encoding="utf-8")
    command = [sys.executable, str(script), str(raw), str(tmp_path / "plain")]
    environment = os.environ | {"BENCHBOOK_DASK": dask}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    begun, summary = done.stdout.splitlines()
    assert (begun, summary[:18]) == ("begun", "vm-hpcg: 520 runs,")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # in this process alone
    ingest(raw, tmp_path / "alone")
    assert content(tmp_path / "plain") == content(tmp_path / "alone")
