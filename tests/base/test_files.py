"""Files that are whole or not there, of any compression, and locks that end with their process."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from analysis import readers
from analysis.base import files
from analysis.base.errors import ReadError

TEXT = b"rank 0 of 4\n" * 100


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstandard.compress, bz2.compress])
def test_read_bytes__knows_a_compression_by_its_first_bytes(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(pack(TEXT))  # type: ignore[operator]
    assert files.read_bytes(path) == TEXT
    assert files.plain_head(path, 4) == (TEXT[:4] if pack is bytes else b"")


# The last byte alone: a sum or a mark of the end, without which all of the text may still be there.
@pytest.mark.parametrize("kept", [12, -1])
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress, bz2.compress])
def test_read_bytes__broken_compression_is_named(tmp_path: Path, pack: object, kept: int) -> None:
    path = tmp_path / "cut"
    path.write_bytes(pack(TEXT)[:kept])  # type: ignore[operator]
    with pytest.raises(ReadError, match=r"cut: broken compression .*; copy it again"):
        files.read_bytes(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress, bz2.compress])
def test_read_bytes__parts_compressed_by_themselves_are_read_as_one(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "both"
    path.write_bytes(pack(TEXT) + pack(b"rank 1\n"))  # type: ignore[operator]
    assert files.read_bytes(path) == TEXT + b"rank 1\n"
    path.write_bytes((pack(TEXT) + pack(b"rank 1\n"))[:-3])  # type: ignore[operator]
    with pytest.raises(ReadError, match=r"broken compression .*; copy it again"):
        files.read_bytes(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress, bz2.compress])
def test_read_bytes__no_cut_is_whole(pack: Callable[[bytes], bytes]) -> None:
    text = b"".join(b"%d\n" % (n * n % 977) for n in range(3000))
    packed = pack(text)
    for cut in range(8, len(packed)):
        with pytest.raises(ReadError, match="broken compression"):
            files.unpacked(packed[:cut], "x")
    assert files.unpacked(packed, "x") == text
    assert files.unpacked(packed + bytes(8), "x") == text  # as tar and tape pad it


def _zeros(pack: str, size: int) -> bytes:
    """Compress many zeros without holding them."""
    compress: Any = {
        "gzip": lambda: zlib.compressobj(9, zlib.DEFLATED, 31),
        "xz": lambda: lzma.LZMACompressor(preset=0),
        "zstd": lambda: zstandard.ZstdCompressor().compressobj(),
    }[pack]()
    piece = bytes(1 << 22)
    return b"".join([compress.compress(piece) for _ in range(size >> 22)]) + bytes(compress.flush())


@pytest.mark.parametrize("pack", ["gzip", "xz", "zstd"])
def test_read_bytes__expands_up_to_a_limit_that_can_be_raised(
    pack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = _zeros(pack, 320 << 20)
    assert len(packed) < 1 << 20
    begun = time.monotonic()
    with pytest.raises(ReadError, match=r"x: \d+ bytes expand to more than 268435456; .*BENCHBOOK_UNPACKED"):
        files.unpacked(packed, "x")
    assert time.monotonic() - begun < 10
    monkeypatch.setenv(files.UNPACKED, "1000000")
    with pytest.raises(ReadError, match="expand to more than 1000000"):
        files.unpacked(packed, "x")
    monkeypatch.setenv(files.UNPACKED, str(1 << 30))
    assert len(files.unpacked(packed, "x")) == 320 << 20


def test_read_bytes__pipe_and_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "linked").symlink_to("/dev/zero")
    # Who reads the kernel's messages waits for the next one, and takes it from other readers.
    (tmp_path / "kmsg").symlink_to("/proc/kmsg")
    for name, kind in (("pipe", "a pipe"), ("linked", "a device"), ("kmsg", "one of the kernel's")):
        with pytest.raises(ReadError, match=f"{name}: is {kind}, not a stored file"):
            files.read_bytes(tmp_path / name)
        assert files.plain_head(tmp_path / name, 4) == b""
        assert files.read_json(tmp_path / name) == {}
        with pytest.raises(ReadError, match=f"{name}: is {kind}, not a stored file"):
            readers.open(tmp_path / name)
    with (tmp_path / "long").open("wb") as file:
        file.truncate(5 << 30)  # and takes no room
    with pytest.raises(
        ReadError, match=r"long: has 5,369 MB, more than the 4,295 MB that are read; give a part of it"
    ):
        files.read_bytes(tmp_path / "long")
    assert files.read_json(tmp_path / "long") == {}


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


def test_naming__a_write_that_fails_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device") as found, files.naming(tmp_path / "f"):
        Path("/dev/full").write_text("a" * 100_000, encoding="ascii")  # the system's error names no file
    assert files.refusal(found.value) == f"{tmp_path}/f: No space left on device; make room"
    with pytest.raises(OSError, match="No such file") as found, files.naming(tmp_path / "f"):
        (tmp_path / "none").read_bytes()
    assert files.refusal(found.value) == f"{tmp_path}/none: No such file or directory; check the path"


def test_replacing__an_error_names_the_file_and_not_what_stands_for_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as found, files.replacing(tmp_path / "none" / "f") as beside:
        beside.write_bytes(b"")
    assert files.refusal(found.value).startswith(f"{tmp_path}/none/f: No such file")


def test_refusal__of_a_copy_is_on_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(b"a")
    with pytest.raises(OSError, match="No such file") as found:
        (tmp_path / "from").rename(tmp_path / "none" / "to")
    assert files.refusal(found.value).startswith(f"{tmp_path}/none/to: ")
    (tmp_path / "from").unlink()
    (tmp_path / "from").symlink_to("nowhere")
    with pytest.raises(shutil.Error) as found:
        shutil.copytree(tmp_path, tmp_path.with_name("copy"))
    line = files.refusal(found.value)
    assert line.startswith(f"{tmp_path.with_name('copy')}/from: [Errno 2] No such file or directory")
    assert files.refusal(OSError("a defect of ours")) == ""


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
from analysis import readers
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


@pytest.mark.parametrize("size", [0, 65_535, 65_536, 65_537, 300_000])
def test_sha256__of_small_and_large_files(tmp_path: Path, size: int) -> None:
    data = bytes(number % 251 for number in range(size))
    (tmp_path / "f").write_bytes(data)
    assert files.sha256(tmp_path / "f") == hashlib.sha256(data).hexdigest()
