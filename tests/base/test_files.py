"""Files that are whole or not there, of any compression, and locks that end with their process."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from analysis.base import files
from analysis.base.errors import ReadError

TEXT = b"rank 0 of 4\n" * 100


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstandard.compress])
def test_read_bytes__knows_a_compression_by_its_first_bytes(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(pack(TEXT))  # type: ignore[operator]
    assert files.read_bytes(path) == TEXT
    assert files.plain_head(path, 4) == (TEXT[:4] if pack is bytes else b"")


# The last byte alone: a sum or a mark of the end, without which all of the text may still be there.
@pytest.mark.parametrize("kept", [12, -1])
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_read_bytes__broken_compression_is_named(tmp_path: Path, pack: object, kept: int) -> None:
    path = tmp_path / "cut"
    path.write_bytes(pack(TEXT)[:kept])  # type: ignore[operator]
    with pytest.raises(ReadError, match=r"cut:0: broken compression .*; copy it again"):
        files.read_bytes(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_read_bytes__parts_compressed_by_themselves_are_read_as_one(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "both"
    path.write_bytes(pack(TEXT) + pack(b"rank 1\n"))  # type: ignore[operator]
    assert files.read_bytes(path) == TEXT + b"rank 1\n"
    path.write_bytes((pack(TEXT) + pack(b"rank 1\n"))[:-3])  # type: ignore[operator]
    with pytest.raises(ReadError, match=r"broken compression .*; copy it again"):
        files.read_bytes(path)


def test_read_bytes__file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file or directory; check the path"):
        files.read_bytes(tmp_path / "none")
    assert files.plain_head(tmp_path / "none", 4) == b""


def test_sha256__is_of_the_file_as_stored(tmp_path: Path) -> None:
    (tmp_path / "f.gz").write_bytes(packed := gzip.compress(TEXT))
    assert files.sha256(tmp_path / "f.gz") == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("durable", [False, True])
def test_replacing__file_is_whole_or_as_it_was(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "result.txt"
    files.write_text(path, "first\n", durable=durable)

    def cut() -> None:
        with files.replacing(path, durable=durable) as beside:
            beside.write_text("half of the sec", encoding="utf-8")
            assert path.read_text(encoding="utf-8") == "first\n"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut()
    assert path.read_text(encoding="utf-8") == "first\n"
    assert [left.name for left in tmp_path.iterdir()] == ["result.txt"]


def test_replacing__link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("kept", encoding="utf-8")
    (tmp_path / "link").symlink_to("elsewhere")
    files.write_text(tmp_path / "link", "new")
    assert (tmp_path / "elsewhere").read_text(encoding="utf-8") == "kept"
    assert not (tmp_path / "link").is_symlink()


def test_write_json__is_read_back_and_anything_else_is_an_empty_object(tmp_path: Path) -> None:
    files.write_json(tmp_path / "f", {"unit": "µJ"})
    assert (tmp_path / "f").read_text(encoding="utf-8") == '{\n "unit": "µJ"\n}\n'
    assert files.read_json(tmp_path / "f") == {"unit": "µJ"}
    for text in ("[1]", "{", ""):
        files.write_text(tmp_path / "f", text)
        assert files.read_json(tmp_path / "f") == {}
    assert files.read_json(tmp_path / "none") == {}


HOLD = """
import sys
from analysis.base import files
held = files.lock(sys.argv[1], "me")
print("held", flush=True)
sys.stdin.read()
"""


def test_lock__ends_with_the_process_that_has_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    with pytest.raises(files.LockedError, match=r"^me$"):
        files.lock(tmp_path / "lock", "another")
    first.kill()  # no chance to clean up
    first.communicate()
    with files.lock(tmp_path / "lock", "another"):
        assert (tmp_path / "lock").read_text(encoding="utf-8") == "another"


def test_files__need_the_standard_library_alone() -> None:
    """A job's last act imports them: neither what is slow nor what an environment may lack."""
    slow = {"zstandard", "dataclasses", "yaml", "numpy"}
    code = f"import sys; from analysis.base import files; print({slow} & {{*sys.modules}})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
