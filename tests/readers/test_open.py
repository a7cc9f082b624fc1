"""All readers through their common doors, and the five of text output and records under damage."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
import zstandard

from analysis import readers
from analysis.base.errors import ReadError
from analysis.schema import registry

from .samples import SAMPLES as WHOLE

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


@pytest.mark.parametrize("engine", sorted(SAMPLES))
def test_open__content_decides(engine: str) -> None:
    ds = readers.open(SAMPLES[engine])
    registry.check(ds)
    assert ds.attrs["kind"] == ("profile" if engine in ("ipm", "mpip") else engine)
    assert ds.identical(readers.open(SAMPLES[engine], engine=engine))


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
@pytest.mark.parametrize("engine", ["hpcg", "ipm"])
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
    with pytest.raises(ReadError, match=r"a\.gz: broken compression \("):
        readers.open(path)


@pytest.mark.parametrize("data", [b"", b" \n", b"hello\n", b"\x00\xff" * 200, b"{}", b"a|b\n1|2\n"])
def test_open__unknown_content_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(
        ReadError, match=r"x: (is empty|has no known format: .+); docs/formats.md says what is read"
    ):
        readers.open(path)


def test_open__missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"none: No such file or directory; check the path"):
        readers.open(tmp_path / "none")


@pytest.mark.parametrize("engine", ["hpl", "osu", "stream", "tau"])
def test_open__a_benchmark_after_a_long_prologue_is_found(engine: str, tmp_path: Path) -> None:
    """A job's output begins with its modules; a profile has no such beginning."""
    modules = b"".join(b"Loading module library/%d\n" % number for number in range(8000))
    assert len(modules) > 3 * readers.HEAD_BYTES
    data = modules + WHOLE[engine]
    assert readers.engines_of(data) == ([] if engine == "tau" else [engine])
    path = tmp_path / "slurm-4711.out"
    path.write_bytes(data)
    if engine != "tau":
        assert readers.open(path).identical(readers.parse(data, str(path), engine=engine))


_THREADS = """
import os, sys
import pyarrow.csv
from analysis import readers
before = len(os.listdir("/proc/self/task"))
read = readers.open(sys.argv[1])
print(len(os.listdir("/proc/self/task")) - before, read.sizes)
"""


@pytest.mark.parametrize("kind", ["power.csv.gz", "mpiP"])
def test_open__leaves_no_pool_of_threads_that_holds_bytes_as_the_process_ends(
    tmp_path: Path, kind: str
) -> None:
    """It asks for Python's lock to let go of them: of 800 processes that read and ended, 15 aborted."""
    path = SAMPLES["mpip"] if kind == "mpiP" else tmp_path / kind
    if kind != "mpiP":
        rows = "".join(f"{1_700_000_000 + at},n1,{200 + at % 9}.5\n" for at in range(5000))
        path.write_bytes(gzip.compress(f"time,node,power (W)\n{rows}".encode()))
    command = [sys.executable, "-c", _THREADS, str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    more, sizes = printed.split(maxsplit=1)
    assert int(more) <= 1
    assert ("5000" in sizes) == (kind != "mpiP")
