"""The proxy's result line: a real one, and what can be wrong with it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers import proxy

# Open MPI 4.1.4, four ranks, --pattern=halo --bytes=4096 --count=200.
LINE = (
    b"proxy result: version=1 pattern=halo ranks=4 bytes=4096 count=200 work=0 time=0.008585976 "
    b"time_min=0.008561569 io_time=0.000000000 checksum=c6e68e526636c034 errors=0\n"
)


def test_proxy__reads_the_result_line() -> None:
    ds = proxy.parse(b"some warning of the library\n" + LINE, "stdout.txt")
    assert (ds["pattern"].item(), ds["checksum"].item()) == ("halo", "c6e68e526636c034")
    counts = ("ranks", "bytes", "count", "work")
    assert [ds[name].item() for name in counts] == [4, 4096, 200, 0]
    assert [ds[name].item() for name in ("time", "time_min", "io_time")] == [0.008585976, 0.008561569, 0.0]
    assert ds.attrs["complete"] is True
    assert ds.attrs["warnings"] == []


def test_proxy__is_found_by_content_and_as_an_engine(tmp_path: Path) -> None:
    (tmp_path / "stdout.txt").write_bytes(b"[1,0]<stdout>:" + LINE)
    assert readers.engines_of(LINE) == ["proxy"]
    with xr.open_dataset(tmp_path / "stdout.txt", engine="proxy") as ds:
        assert ds["time"].item() == 0.008585976


def test_proxy__cut_line_is_damage_and_its_last_value_is_left_out() -> None:
    ds = proxy.parse(LINE[: LINE.index(b"8561569")], "cut.txt")
    assert ds["time"].item() == 0.008585976
    assert math.isnan(ds["time_min"].item())
    assert ds["checksum"].item() == ""
    assert ds.attrs["complete"] is False
    assert ds.attrs["warnings"] == [
        "cut.txt:1: the result line has no end; its last value is left out",
        "cut.txt:1: no value of time_min, io_time, checksum; left blank",
    ]


def test_proxy__last_of_two_results_counts() -> None:
    ds = proxy.parse(LINE + LINE.replace(b"ranks=4", b"ranks=8"), "two.txt")
    assert ds["ranks"].item() == 8
    assert ds.attrs["warnings"] == [
        "two.txt:1: a result of an earlier run; left out; the last one, line 2, is read"
    ]


def test_proxy__wrong_blocks_are_damage() -> None:
    ds = proxy.parse(LINE.replace(b"errors=0", b"errors=3"), "bad.txt")
    assert ds.attrs["complete"] is False


# Open MPI 4.1.4, two ranks, --pattern=exchange --partners=2 --bytes=16 --count=2000.
EXCHANGE = (
    b"proxy exchange: bytes=8 partners=2 count=2010 time=0.000000393 time_min=0.000000378\n"
    b"proxy exchange: bytes=16 partners=2 count=2010 time=0.000000356 time_min=0.000000349\n"
    b"proxy result: version=1 pattern=exchange ranks=2 bytes=16 count=2000 work=0 time=0.581710720 "
    b"time_min=0.581633855 io_time=0.000000000 checksum=984c2455dc3f708a errors=0\n"
)


def test_proxy__reads_the_sizes_of_an_exchange_in_microseconds() -> None:
    ds = proxy.parse(EXCHANGE, "stdout.txt")
    assert ds["size"].values.tolist() == [8, 16]
    assert ds["latency"].values == pytest.approx([0.393, 0.356])
    assert ds["latency_least"].values == pytest.approx([0.378, 0.349])
    assert ds["partners"].values.tolist() == [2, 2]
    assert "size" not in proxy.parse(LINE)


def test_proxy__an_exchange_without_its_end_is_damage_and_keeps_its_sizes() -> None:
    ds = proxy.parse(EXCHANGE[: EXCHANGE.index(b"proxy result")], "cut.txt")
    assert ds.attrs["complete"] is False
    assert ds["size"].values.tolist() == [8, 16]
    blank = proxy.parse(EXCHANGE.replace(b"partners=2 count=2010 time=0.000000356", b"count=2010"), "bad.txt")
    assert blank["size"].values.tolist() == [8]
    assert blank.attrs["complete"] is False


def test_proxy__sizes_of_an_earlier_result_are_left_out() -> None:
    ds = proxy.parse(EXCHANGE + EXCHANGE.replace(b"=0.000000393", b"=0.000000500"), "two.txt")
    assert ds["latency"].values == pytest.approx([0.5, 0.356])


def test_proxy__other_text_is_refused() -> None:
    with pytest.raises(ReadError, match=r"x.txt: no line 'proxy result: ...'; give"):
        proxy.parse(b"result: 3\n", "x.txt")
