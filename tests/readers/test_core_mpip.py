"""The core and the reader in Python give the same dataset of every mpiP report, whole or damaged."""

from __future__ import annotations

import gzip
import io
import lzma
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers import core, mpip
from analysis.schema.registry import is_lazy
from benchmarks.study_damage import flipped

from .test_property import for_damages

DATA = Path(__file__).parents[1] / "data/mpip"
SAMPLES = {path.name: readers.read_bytes(path) for path in sorted(DATA.glob("*.mpiP*"))}
# Without statistics by rank there is nothing for the core: concise, top twenty only.
USUAL = set(SAMPLES) - {"mix_350_c.mpiP", "mix_350_d.mpiP"}
SMALL = ["hpcg_mpich_2.mpiP", "mix_341.mpiP", "mix_350.mpiP"]
NAME = "exe.4.1.1.mpiP"


def reference(data: bytes) -> xr.Dataset:
    """Read by the reader in Python alone, as it reads what is small."""
    assert len(data) < core.LEAST
    return mpip.parse(data, NAME)


def compare(data: bytes) -> str:
    """Read by both; the same bytes must be read, refused and warned of alike."""
    assert core.instance() is not None
    found = mpip._fast(io.BytesIO(data), NAME)
    try:
        expected = reference(data)
    except ReadError:
        assert found is None
        return "refused"
    if found is None:
        return "left to the reference"
    xr.testing.assert_identical(found, expected)
    assert list(found.attrs.items()) == list(expected.attrs.items())
    assert {name: array.dtype for name, array in found.variables.items()} == {
        name: array.dtype for name, array in expected.variables.items()
    }
    return "read"


@pytest.mark.parametrize("name", SAMPLES)
def test_core_mpip__reads_every_sample_as_the_reference(name: str) -> None:
    assert compare(SAMPLES[name]) == ("read" if name in USUAL else "left to the reference")


@pytest.mark.parametrize("name", SMALL)
def test_core_mpip__reads_a_cut_report_as_the_reference(name: str) -> None:
    data, outcomes = SAMPLES[name], Counter[str]()
    for at in range(300, len(data), 397):
        outcomes[compare(data[:at])] += 1
    assert outcomes["left to the reference"] > 10


@pytest.mark.parametrize("name", SMALL)
def test_core_mpip__reads_a_flipped_report_as_the_reference(name: str) -> None:
    data, draw, outcomes = SAMPLES[name], random.Random(name), Counter[str]()
    for _ in range(100):
        outcomes[compare(flipped(data, [], draw))] += 1
    assert min(outcomes["read"], outcomes["left to the reference"]) > 10


@pytest.mark.parametrize("name", SMALL)
def test_core_mpip__reads_a_damaged_report_as_the_reference(name: str) -> None:
    assert for_damages(SAMPLES[name], compare, examples=60) > 30


@pytest.mark.parametrize("step", [5000, 30_000, 1 << 20])
def test_core_mpip__reads_in_windows_of_any_size(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "STEP", step)
    assert compare(SAMPLES["hpcg_aslr_64.mpiP.xz"]) == "read"


@pytest.mark.parametrize("pack", [bytes, lzma.compress, gzip.compress])
def test_core_mpip__opens_a_compressed_report_as_a_plain_one(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, path = SAMPLES["hpcg_mpich_2.mpiP"], tmp_path / NAME
    expected = mpip.parse(data, str(path))
    monkeypatch.setattr(core, "LEAST", 0)
    path.write_bytes(pack(data))
    found = readers.open(path)
    assert is_lazy(found.variables["call"])
    xr.testing.assert_identical(found, expected)
    if pack is not bytes:
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(ReadError, match="broken compression"):
            readers.open(path)


def test_core_mpip__is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data, path = SAMPLES["mix_350.mpiP"], tmp_path / NAME
    expected = mpip.parse(data, str(path))
    monkeypatch.setattr(core, "LEAST", 0)
    monkeypatch.setattr(core, "_module", lambda: None)
    path.write_bytes(data)
    xr.testing.assert_identical(readers.open(path), expected)


def test_core__works_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/none")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    core._module.cache_clear()
    try:
        assert core.instance() is not None
    finally:
        core._module.cache_clear()


def test_mpip__a_column_of_a_small_report_can_be_changed() -> None:
    ds = mpip.parse(SAMPLES["mix_350.mpiP"], NAME)
    for name in ("size", "peer", "region"):
        assert ds[name].values.flags.writeable


def test_core_mpip__leaves_two_lists_of_call_sites_to_the_reference() -> None:
    # The reader keeps the first, which has no rows; those that the core took are of the second.
    whole = SAMPLES["hpcg_mpich_2.mpiP"]
    heading = b"@--- MPI Time (seconds) -"
    assert whole.count(heading) == 1
    assert compare(whole) == "read"
    assert compare(whole.replace(heading, b"@--- Callsites: 3\n" + heading)) == "left to the reference"
