"""Whatever is done to a file, a reader gives a dataset or says in one line why not, and soon."""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import xarray as xr
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis import readers
from analysis.base.errors import ReadError
from analysis.base.files import unpacked
from analysis.schema import registry

from .merits.test_merits import IOR_ROWS, ior_json
from .samples import DATA, JSON, SAMPLES
from .test_caliper import REPORT
from .test_hpctoolkit import SPARSE, database
from .test_tau import MERGED

# A sample takes some milliseconds. What hangs, or grows with the square of a line, takes minutes.
LIMIT = 5.0  # s
EXAMPLES = 30
FILES = {
    **SAMPLES,
    "hpcg 2.4": (DATA / "hpcg/HPCG-Benchmark-2.4_2026.11.22.10.00.00.yaml").read_bytes(),
    "ipm banner": (DATA / "ipm/mix_n4.banner.txt").read_bytes(),
    "mpip verbose": (DATA / "mpip/mix_350.mpiP").read_bytes(),
    "mpip concise": (DATA / "mpip/mix_350_c.mpiP").read_bytes(),
    "imb suite": (DATA / "imb/suite_openmpi_n4.txt").read_bytes(),
    "sacct json": JSON,
    "hpctoolkit tar": database(),
    "hpctoolkit 4": SPARSE,
    "tau merged": MERGED,
    "caliper report": REPORT.encode(),
    "ior csv": IOR_ROWS.encode(),
    "ior json": json.dumps(ior_json()).encode(),
}
# Where it hurts: long runs of one letter, numbers that are none, marks of other formats, deep nests.
STRAY = (
    *(
        letter * 3000
        for letter in (b" ", b"\t", b"-", b"#", b"9", b"[", b'{"a":', b"a", b".", b"=", b",", b"\n")
    ),
    *(
        b"",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"nan",
        b"-inf",
        b"1e999",
        b"-1",
        b"0",
        b'"',
        b"<",
        b">",
        b"|",
    ),
    *(
        b"9" * 4301,
        b"9" * 400,
        b"18446744073709551615",
        b"99999999999999999999",
        b"2026-13-45T99:99:99Z",
        b"0x10",
    ),
)


def for_damages(data: bytes, check: Callable[[bytes], object], examples: int = EXAMPLES) -> int:
    """Check many damages of a file, the same in each run, and return how many differ."""
    checked = set()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(data))
    def each(changed: bytes) -> None:
        check(changed)
        checked.add(changed)

    each()
    return len(checked)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Flip bytes, cut, double, drop and put in: one to six times."""
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.sampled_from((0, 1, 2, 7, 60, 800))))
        what = draw(st.sampled_from(("flip", "flip", "cut", "drop", "double", "put", "put", "line")))
        if what == "flip" and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 :]
        elif what == "cut":
            data = data[:at]
        elif what == "drop":
            data = data[:at] + data[end:]
        elif what == "double":
            data = data[:end] + data[at:end] + data[end:]
        elif what == "put":
            data = data[:at] + draw(st.sampled_from(STRAY)) + data[end:]
        elif what == "line":
            lines = data.split(b"\n")
            one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[one], lines[other] = lines[other], lines[one]
            data = b"\n".join(lines)
    return data


def attempt(data: bytes, engine: str | None, **options: Any) -> xr.Dataset | None:
    begun = time.process_time()
    refusal = ""
    ds = None
    try:
        ds = readers.parse(data, "f", engine=engine, **options)
    except ReadError as error:
        refusal = str(error)
    assert time.process_time() - begun < LIMIT
    if ds is not None:
        registry.check(ds)
        assert ds.complete or ds.warnings
    else:
        assert re.fullmatch(r"f(:\d+)?: .+", refusal)
    return ds


@pytest.mark.parametrize("name", FILES)
def test_property__damaged_file_is_read_or_refused(name: str) -> None:
    engine = {"sacct json": "sacct"}.get(name, name.split()[0])

    def hold(data: bytes) -> None:
        attempt(data, engine)
        attempt(data, None)

    assert for_damages(FILES[name], hold) > EXAMPLES // 2


@pytest.mark.parametrize("name", ["hpcg", "ipm", "sacct"])
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_property__damaged_compression_is_read_or_refused(name: str, pack: Any) -> None:
    packed = pack(FILES[name][:4000])

    def hold(data: bytes) -> None:
        with contextlib.suppress(ReadError):
            attempt(unpacked(data, "f"), None)

    assert for_damages(packed, hold) > EXAMPLES // 2


@pytest.mark.parametrize("engine", ["run", "sacct", "redfish", "rocm_smi", "amd_smi", "perf"])
@pytest.mark.parametrize(
    "value", ["9" * 4301, "[" * 100_000, '{"a":' * 100_000], ids=["digits", "lists", "objects"]
)
def test_property__json_beyond_what_python_reads(engine: str, value: str) -> None:
    data = JSON if engine == "sacct" else FILES[engine]
    at = data.index(b"{") + 1 if b"{" in data else 0
    for text in (f'{{"run": {value}}}', f'{{"jobs": [{{"job_id": {value}}}]}}', f"[{value}"):
        attempt(text.encode(), engine)
        attempt(data[:at] + f'"x": {value},'.encode() + data[at:], engine)
