"""Darshan's logs: what becomes of one whose library fails, and that log and text give the same figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.merits.formats import darshan

from .texts import DARSHAN

# How logs begin: version and magic number, little-endian and big-endian.
LITTLE = b"3.41\x00\x00\x00\x0075d\x00\x00\x00\x00\x00" + b"\x00" * 1312
BIG = b"3.10\x00\x00\x00\x00\x00\x00\x00\x00\x00d57" + b"\x00" * 1312


def library(monkeypatch: pytest.MonkeyPatch, folder: Path, program: str) -> None:
    """Put a program in the place of that which reads a log; it gets the log's path."""
    path = folder / "program.py"
    path.write_text(program)
    monkeypatch.setattr(darshan, "_READER", path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)


def test_darshan__log_is_found_by_its_first_bytes() -> None:
    assert readers.engines_of(LITTLE) == readers.engines_of(BIG) == ["darshan"]
    assert readers.engines_of(b"3.41 75d") == []


def test_darshan__without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ReadError, match=r"^f: .*pip install 'benchbook\[darshan\]', or .*darshan-parser"):
        readers.parse(LITTLE, "f")


def test_darshan__what_the_process_prints_is_read_as_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check = f"import sys; assert open(sys.argv[1], 'rb').read() == {LITTLE!r}; print({DARSHAN!r}, end='')"
    library(monkeypatch, tmp_path, check)
    assert readers.parse(LITTLE, "f").identical(readers.parse(DARSHAN.encode(), "f"))


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import os; print('# nprocs: 1', flush=True); os.abort()", "ended with signal 6"),
        ("raise SystemExit('no')", "ended with an error"),
        ("import time; time.sleep(60)", "did not read the log in 1 s"),
    ],
)
def test_darshan__library_that_fails_costs_the_log_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, found: str
) -> None:
    monkeypatch.setattr(darshan, "_LIMIT", 1.0)
    library(monkeypatch, tmp_path, program)
    with pytest.raises(ReadError, match=f"^f: .*{found}"):
        readers.parse(LITTLE, "f")


def test_darshan__records_that_did_not_fit_are_said() -> None:
    warning = "# *WARNING*: The POSIX module contains incomplete data!\n"
    mark = "# POSIX module data\n"
    ds = readers.parse(DARSHAN.replace(mark, mark + warning).encode(), "f")
    assert not ds.complete
    assert "POSIX ran out of memory" in ds.warnings[0]


def test_darshan__log_of_the_package() -> None:
    package = pytest.importorskip("darshan", reason="package darshan is not installed")
    log = next(Path(package.__file__).parent.rglob("example_logs/example.darshan"))
    ds = readers.open(log)
    assert ds.complete
    assert (int(ds["ranks"]), ds.tool_version, float(ds["benchmark_time"])) == (2048, "3.1.3", 117.0)
    figures = dict(zip(ds["merit"].values, ds["value"].values, strict=True))
    # As darshan-parser --total --perf prints them of this log.
    assert figures["POSIX bytes written"] == figures["MPI-IO bytes written"] == 2199023259968
    assert (figures["POSIX rate"], figures["STDIO bytes written"]) == (24535.281934, 3309)
    with pytest.raises(ReadError, match="library ended with"):
        readers.parse(log.read_bytes()[:700], "f")


def test_darshan__without_posix_the_rate_is_that_of_what_there_is() -> None:
    text = DARSHAN.replace("POSIX", "STDIO")
    ds = readers.parse(text.encode(), "f")
    assert (ds.complete, ds.attrs["main"], float(ds.figure_of_merit)) == (True, "STDIO rate", 2410.51954)


def test_darshan__a_log_of_a_program_without_io_is_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "# darshan log version: 3.41\n# nprocs: 2\n# run time: 1.5000\n# metadata: lib_ver = 3.5.0\n"
    library(monkeypatch, tmp_path, f"print({text!r}, end='')")
    ds = readers.parse(LITTLE, "f")
    assert (ds.complete, ds["merit"].values.tolist(), ds["value"].values.tolist()) == (
        True,
        ["run time"],
        [1.5],
    )
    assert readers.parse(text.encode(), "f").complete is False  # a text may be cut
