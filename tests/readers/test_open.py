"""All readers through their common doors, and the five of text output and records under damage."""

from __future__ import annotations

import gzip
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zstandard

from analysis import readers, schema
from analysis.base.errors import ReadError
from analysis.base.files import read_bytes

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "data/raw/vm-hpcg"
DATA = ROOT / "tests/data"

SAMPLES = {
    "hpcc": DATA / "hpcc/n2.txt",
    "hpcg": DATA / "hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt",
    "imb": DATA / "imb/suite_openmpi_n4.txt",
    "ipm": min((CAMPAIGN / "runs").glob("*/*.ipm.xml*")),
    "mpip": min((CAMPAIGN / "runs").glob("*/*.mpiP*")),
    "osu": DATA / "osu/allreduce_n4.txt",
    "run": CAMPAIGN / "runs/001/run.json",
    "sacct": CAMPAIGN / "sacct.txt",
}
# Small enough to be read some hundred times.
TEXTS = {
    engine: SAMPLES[engine].read_bytes()[: 6000 if engine == "sacct" else None]
    for engine in ("hpcc", "hpcg", "osu", "run", "sacct")
}
TEXTS["sacct"] = TEXTS["sacct"][: TEXTS["sacct"].rindex(b"\n") + 1]
TEXTS["json"] = (CAMPAIGN / "sacct-one-job.json").read_bytes()
TEXTS["hpcc"] = TEXTS["hpcc"][TEXTS["hpcc"].index(b"Begin of Summary") :]
CASES = sorted(TEXTS)


def parse(case: str, data: bytes) -> xr.Dataset:
    return readers.parse(data, "f", engine={"json": "sacct"}.get(case, case))


def table(ds: xr.Dataset) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a dataset as its labels and values, blanks as None."""
    for name in map(str, ds.variables):
        for at, value in np.ndenumerate(ds[name].values):
            blank = value in (-1, "") or value != value
            yield name, at, None if blank else value


def test_open__each_engine_has_a_module_an_entry_and_a_kind() -> None:
    for engine in SAMPLES:
        assert engine in xr.backends.list_engines()
        module = readers.reader(engine)
        assert callable(module.parse)
        assert callable(module.sniff)


@pytest.mark.parametrize("engine", sorted(SAMPLES))
def test_open__content_decides(engine: str) -> None:
    ds = readers.open(SAMPLES[engine])
    schema.check(ds)
    assert ds.attrs["kind"] == ("profile" if engine in ("ipm", "mpip") else engine)
    assert ds.identical(readers.open(SAMPLES[engine], engine=engine))


@pytest.mark.parametrize("engine", sorted(SAMPLES))
def test_open__only_its_own_engine_knows_a_file(engine: str) -> None:
    data = read_bytes(SAMPLES[engine])
    assert readers.engines_of(data) == [engine]


@pytest.mark.parametrize("engine", sorted(SAMPLES))
def test_open__xarray_opens_it(engine: str) -> None:
    with xr.open_dataset(SAMPLES[engine], engine=engine) as ds:
        schema.check(ds)
        assert ds.complete is True
        dropped = sorted(map(str, ds.data_vars))[0]
    with xr.open_dataset(SAMPLES[engine], engine=engine, drop_variables=dropped) as ds:
        assert dropped not in ds


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
@pytest.mark.parametrize("engine", ["hpcg", "osu", "hpcc", "run", "sacct"])
def test_open__compression_makes_no_difference(engine: str, suffix: str, tmp_path: Path) -> None:
    data = SAMPLES[engine].read_bytes()
    packed = {
        "gz": gzip.compress(data),
        "xz": lzma.compress(data),
        "zst": zstandard.ZstdCompressor().compress(data),
    }[suffix]
    # The name must not matter.
    path = tmp_path / "file"
    path.write_bytes(packed)
    ds = readers.open(path)
    plain = readers.open(SAMPLES[engine])
    xr.testing.assert_equal(ds, plain)


def test_open__broken_compression_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(TEXTS["hpcg"])[:-20])
    with pytest.raises(ReadError, match=r"a\.gz:0: broken compression \("):
        readers.open(path)


@pytest.mark.parametrize("data", [b"", b" \n", b"hello\n", b"\x00\xff" * 200, b"{}", b"a|b\n1|2\n"])
def test_open__unknown_content_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(
        ReadError, match=r"x:0: is (empty|of no format known here); known formats: .*hpcc, hpcg, "
    ):
        readers.open(path)


def test_open__missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"none:0: No such file or directory; check the path"):
        readers.open(tmp_path / "none")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["hpcc", "hpcg", "osu", "run", "sacct"])
def test_open__another_readers_file_is_refused(case: str, engine: str) -> None:
    if engine == {"json": "sacct"}.get(case, case):
        return
    with pytest.raises(ReadError, match=r"^f:\d+: .+; .+"):
        readers.parse(TEXTS[case], "f", engine=engine)


@pytest.mark.parametrize("case", CASES)
def test_open__cut_file_keeps_what_is_whole_and_says_so(case: str) -> None:
    text = TEXTS[case]
    whole = {key[:2]: key[2] for key in table(parse(case, text))}
    step = max(1, len(text) // 60)
    refused = 0
    for cut in range(step, len(text) - 2, step):
        try:
            ds = parse(case, text[:cut])
        except ReadError:
            refused += 1
            continue
        # A table may end at any line end, and HPCC's summary is whole before its file is.
        may_end = case in ("osu", "sacct") and text[cut - 1 : cut] == b"\n"
        may_end |= b"End of Summary section.\n" in text[:cut]
        assert ds.complete is False or may_end, cut
        assert ds.complete or ds.warnings, cut
        for name, at, value in table(ds):
            if name == "valid":
                assert bool(value) is not np.isnan(ds.rating.item())
            elif value is not None and name != "extra":
                assert value == whole[name, at], (cut, name, at)
    # Only a head without its first whole line is of no format.
    assert refused <= 3


@pytest.mark.parametrize("case", CASES)
def test_open__garbled_file_never_raises_anything_else(case: str) -> None:
    rng = random.Random(20261121)
    text = TEXTS[case]
    outcomes = set()
    for _ in range(60):
        data = bytearray(text)
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(data))
            what = rng.randrange(3)
            if what == 0:
                data[at] = rng.randrange(256)
            elif what == 1:
                del data[at : at + rng.randint(1, 40)]
            else:
                data[at:at] = rng.choice(
                    [b"\n", b"\x00", b"=", b"1e999", b"-", b'"', b"|", b"\xff\xfe", b"9" * 30]
                )
        try:
            ds = parse(case, bytes(data))
        except ReadError:
            outcomes.add("refused")
            continue
        schema.check(ds)
        outcomes.add("read" if ds.complete else "incomplete")
    # The damage is of all degrees: if one outcome were missing, this test would try less than it says.
    assert {"read", "incomplete"} <= outcomes
