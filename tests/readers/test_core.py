"""The core and the readers in Python give the same dataset of everything, whole or damaged."""

from __future__ import annotations

import lzma
import tracemalloc
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers import core, ipm
from analysis.schema import storage
from analysis.schema.registry import is_lazy
from benchmarks import bench_ipm

from .test_property import for_damages

DATA = Path(__file__).parents[1] / "data"
IPM = {path.name: readers.read_bytes(path) for path in sorted((DATA / "ipm").glob("*.xml*"))}
USUAL = set(IPM) - {"hpcg_n256_cut.ipm.xml.xz", "mix_terse_n4.ipm.xml"}  # cut; no records


@pytest.fixture(autouse=True)
def _every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert core.instance() is not None
    monkeypatch.setattr(core, "LEAST", 0)


def fast(data: bytes) -> xr.Dataset | None:
    """Read by the core alone."""
    import io

    return ipm._fast(io.BytesIO(data), "f", lambda: io.BytesIO(data))


def compare(data: bytes) -> str:
    """Read by both; the same bytes must be read, refused and warned of alike."""
    try:
        expected = ipm.parse_xml(data, "f")
    except ReadError:
        return "refused"
    found = fast(data)
    if found is None:
        return "left to the reference"
    xr.testing.assert_identical(found, expected)
    assert found.attrs == expected.attrs
    assert {name: array.dtype for name, array in found.variables.items()} == {
        name: array.dtype for name, array in expected.variables.items()
    }
    return "read"


def test_core__is_compiled_from_its_source() -> None:
    """`make core` was run after the last change."""
    instance = core.instance()
    assert instance is not None
    assert instance.call("source") & 0xFFFFFFFF == zlib.crc32(core.SOURCE.read_bytes())


@pytest.mark.parametrize("name", IPM)
def test_core__reads_every_sample_of_ipm_as_the_reference(name: str) -> None:
    assert compare(IPM[name]) == ("read" if name in USUAL else "left to the reference")


@pytest.mark.parametrize("name", ["hpcg_n2.ipm.xml", "mix_n4.ipm.xml"])
def test_core__reads_a_cut_file_as_the_reference(name: str) -> None:
    data = IPM[name]
    for at in range(700, len(data), 397):
        assert compare(data[:at]) == "left to the reference"
    assert compare(data.rstrip(b"\n")) == "read"


@pytest.mark.parametrize("name", ["hpcg_n2.ipm.xml", "mix_n4.ipm.xml"])
def test_core__reads_a_file_with_another_digit_as_the_reference(name: str) -> None:
    data, outcomes = IPM[name], Counter[str]()
    start = data.index(b"<task")
    for at in [at for at in range(start, len(data)) if data[at : at + 1].isdigit()][::41]:
        for digit in b"09":
            outcomes[compare(data[:at] + bytes([digit]) + data[at + 1 :])] += 1
    assert min(outcomes["read"], outcomes["left to the reference"]) > 10


@pytest.mark.parametrize("name", ["hpcg_n2.ipm.xml", "mix_n4.ipm.xml", "mix_terse_n4.ipm.xml"])
def test_core__reads_a_damaged_file_as_the_reference(name: str) -> None:
    assert for_damages(IPM[name], compare, examples=60) > 30


def test_core__reads_in_windows_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    data = IPM["hpcg_n64.ipm.xml.xz"]
    for step in (997, 30_000, 1 << 20):
        monkeypatch.setattr(core, "STEP", max(step, 4096))
        assert compare(data) == "read"


def test_core__opens_a_compressed_file_as_a_plain_one(tmp_path: Path) -> None:
    data = IPM["hpcg_n64.ipm.xml.xz"]
    plain, packed = tmp_path / "a.ipm.xml", tmp_path / "a.ipm.xml.xz"
    plain.write_bytes(data)
    packed.write_bytes(lzma.compress(data))
    expected = ipm.parse_xml(data, str(plain))
    for path in (plain, packed):
        assert is_lazy(readers.open(path).variables["time"])
        xr.testing.assert_identical(readers.open(path), expected)
    packed.write_bytes(packed.read_bytes()[:-100])
    with pytest.raises(ReadError, match="broken compression"):
        readers.open(packed)


def test_core__columns_are_indexed_like_arrays() -> None:
    ds, expected = fast(IPM["mix_n4.ipm.xml"]), ipm.parse_xml(IPM["mix_n4.ipm.xml"])
    assert ds is not None
    for pick in (3, -1, slice(2, 90, 3), [5, 1, 1], [-1, 7], slice(0, 0), slice(None, None, -2)):
        xr.testing.assert_equal(ds.isel(obs=pick), expected.isel(obs=pick))
    xr.testing.assert_equal(
        ds.isel(obs=ds["call"] == "MPI_Send"), expected.isel(obs=expected["call"] == "MPI_Send")
    )


def test_core__columns_are_written_in_parts_as_they_are_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not one of the columns, of 8 B per observation, is in memory whole, and the file has the same bytes."""
    ds = fast(bench_ipm.generate(IPM["hpcg_n64.ipm.xml.xz"], 10, seed=1))
    assert ds is not None
    storage.write(ds.compute(), tmp_path / "whole.nc")
    monkeypatch.setattr(storage, "_AT_ONCE", 5000)
    tracemalloc.start()
    storage.write(ds, tmp_path / "parts.nc")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "parts.nc").read_bytes() == (tmp_path / "whole.nc").read_bytes()
    assert peak < ds["time"].nbytes == 8 * 69_600


def test_core__a_column_is_kept_in_the_bytes_that_it_needs() -> None:
    numbers = np.array([0, 7, -128, 127, 128, -32768, 40000, -1, 2**31 - 1, -(2**31)], "i4")
    for end, size in ((2, 1), (4, 1), (5, 2), (6, 2), (7, 4), (10, 4)):
        blocks = core.Blocks("i4", narrow=True)
        blocks.add(numbers[:end])
        kept = blocks.joined()
        assert (kept.itemsize, kept.tolist()) == (size, numbers[:end].tolist())


def test_core__is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(core, "_module", lambda: None)
    path = tmp_path / "a.ipm.xml"
    path.write_bytes(IPM["mix_n4.ipm.xml"])
    xr.testing.assert_identical(readers.open(path), ipm.parse_xml(IPM["mix_n4.ipm.xml"], str(path)))


_NUMBERS = st.tuples(st.integers(0, 33_554_431), st.integers(-22, 22))


@given(_NUMBERS)
def test_core__a_kept_number_is_the_printed_one(number: tuple[int, int]) -> None:
    mantissa, places = number
    code = np.array([mantissa << 6 | (places + core.PLACES)], dtype="i4")
    assert core.decoded(code)[0] == float(f"{mantissa}e{-places}")
