"""Caliper's profiles in the shape of `spot` of 2.10 (`CaliWriter.cpp`), numbers our own."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.datasets import profile

_HEAD = """\
__rec=node,id=12,attr=10,data=65,parent=5
__rec=node,id=13,attr=8,data=min#inclusive#sum#time.duration,parent=12
__rec=node,id=14,attr=8,data=max#inclusive#sum#time.duration,parent=12
__rec=node,id=15,attr=8,data=sum#inclusive#sum#time.duration,parent=12
__rec=node,id=20,attr=10,data=268,parent=3
__rec=node,id=21,attr=8,data=region,parent=20
__rec=node,id=23,attr=10,data=65,parent=2
__rec=node,id=24,attr=8,data=sum#region.count,parent=23
__rec=ctx,attr=13=14=15,data=0.000500=0.000500=0.001000
__rec=node,id=30,attr=21,data=main
__rec=ctx,ref=30,attr=13=14=15=24,data=4.000000=6.000000=10.000000=2
__rec=node,id=31,attr=21,data=solve\\,fast,parent=30
__rec=ctx,ref=31,attr=13=14=15=24,data=3.000000=3.500000=6.500000=20
"""
_MPI = """\
__rec=node,id=22,attr=8,data=mpi.function,parent=20
__rec=node,id=32,attr=22,data=MPI_Allreduce,parent=31
__rec=ctx,ref=32,attr=13=14=15=24,data=0.500000=1.000000=1.500000=40
__rec=node,id=33,attr=22,data=MPI_Finalize
__rec=ctx,ref=33,attr=13=14=15,data=0.002000=0.003000=0.005000
"""
_TAIL = """\
__rec=node,id=40,attr=10,data=1612,parent=3
__rec=node,id=41,attr=8,data=cali.caliper.version,parent=40
__rec=node,id=42,attr=41,data=2.10.0
__rec=node,id=43,attr=8,data=mpi.world.size,parent=40
__rec=node,id=44,attr=43,data=2,parent=42
__rec=globals,ref=44
"""
PROFILE = (_HEAD + _MPI + _TAIL).encode()
REGIONS = (_HEAD + _TAIL).encode()


def read(data: bytes = PROFILE) -> xr.Dataset:
    return readers.parse(data, "f")


def test_caliper__mpi_functions_over_all_ranks() -> None:
    ds = read()
    assert ds.complete
    assert (ds.kind, ds.tool, ds.tool_version, ds.ranks_expected) == ("profile", "Caliper", "2.10.0", 2)
    assert list(ds["call"].values) == ["MPI_Allreduce", "MPI_Finalize"]
    assert list(ds["region"].values) == ["main/solve,fast", ""]
    assert list(ds["rank"].values) == [-1, -1]
    assert list(ds["time"].values) == [1.5, 0.005]
    assert list(ds["count"].values) == [40, -1]
    # Outermost rows: 0.001 outside of all, main's 10 and MPI_Finalize's 0.005; what is in main is part of it.
    assert ds.attrs["app_time_total"] == pytest.approx(10.006)
    assert profile.mpi_fraction(ds) == pytest.approx(1.505 / 10.006)


def test_caliper__what_adiak_wrote_down_names_the_program_its_start_and_its_nodes() -> None:
    known = {"cmdline": "[./amg\\,-n\\,38]", "numhosts": "32", "launchdate": "1707863412"}
    told = "".join(
        f"__rec=node,id={at},attr=8,data={name},parent=40\n"
        f"__rec=node,id={at + 1},attr={at},data={value},parent={at - 1 if at > 50 else 44}\n"
        for at, (name, value) in zip((50, 52, 54), known.items(), strict=True)
    )
    ds = read(PROFILE.replace(b"__rec=globals,ref=44", told.encode() + b"__rec=globals,ref=55"))
    assert (ds.attrs["command"], ds.attrs["nodes"]) == ("./amg -n 38", 32)
    assert ds.attrs["start"] == 1707863412.0


def test_caliper__rows_of_ranks() -> None:
    own = "__rec=node,id=50,attr=8,data=mpi.rank,parent=12\n"
    rows = "".join(
        f"__rec=ctx,ref=32,attr=50=60,data={rank}={time}\n__rec=ctx,ref=30,attr=50=60,data={rank}=8\n"
        for rank, time in ((0, 1.0), (1, 3.0))
    )
    metric = "__rec=node,id=60,attr=8,data=inclusive#sum#time.duration.ns,parent=12\n".replace(".ns", "")
    lines = (_HEAD + _MPI).splitlines(keepends=True)
    nodes = "".join(line for line in lines if "__rec=node" in line)
    ds = read((nodes + own + metric + rows + _TAIL).encode())
    assert ds.complete
    assert list(ds["rank"].values) == [0, 1]
    np.testing.assert_array_equal(ds["mpi_time"], [1.0, 3.0])
    np.testing.assert_array_equal(ds["app_time"], [8.0, 8.0])
    assert profile.mpi_fraction(ds) == 4 / 16


def test_caliper__nanoseconds_are_scaled_once() -> None:
    plain = PROFILE.replace(b"time.duration", b"time.duration.ns")
    assert read(plain)["time"].values[0] == pytest.approx(1.5e-9)
    assert read(plain.replace(b"inclusive#sum", b"inclusive#scale#sum"))["time"].values[0] == 1.5


def test_caliper__regions_without_mpi_are_figures_of_the_slowest_rank() -> None:
    ds = read(REGIONS)
    assert (ds.kind, int(ds["ranks"]), readers.engine_of(ds)) == ("merits", 2, "caliper")
    assert dict(zip(ds["merit"].values, ds["value"].values, strict=True)) == {
        "main": 6.0,
        "main/solve,fast": 3.5,
    }
    assert float(ds["figure_of_merit"]) == 6.0
    assert str(ds["figure_of_merit_unit"].values) == "s"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b"=1.500000=40", b"=0.500000=40", "f:16: sum 0.5 s, smallest 0.5 s, largest 1 s"),
        (b"=1.500000=40", b"=1.5x=40", "time is '1.5x'"),
        (b"attr=13=14=15=24,data=4.0", b"attr=13=14=99=24,data=4.0", "f:11: "),
        (b"id=31,attr=21", b"id=31,attr=77", "f:12: "),
        (b"__rec=globals,ref=44\n", b"", "does not end with '__rec=globals'"),
    ],
)
def test_caliper__damage_is_said(old: bytes, new: bytes, found: str) -> None:
    ds = read(PROFILE.replace(old, new))
    assert not ds.complete
    assert any(found in warning for warning in ds.warnings), ds.warnings


def test_caliper__a_trace_is_refused() -> None:
    with pytest.raises(ReadError, match="no sum of time"):
        read(PROFILE.replace(b"time.duration", b"time.stamp"))


# `runtime-report,profile.mpi` of 2.8, whose times lack those of inner regions, in a program's output.
REPORT = """\
solver starts
Path              Min time/rank Max time/rank Avg time/rank Time %    
main                   0.500000      0.750000      0.625000 12.500000 
  solve fast           1.500000      2.500000      2.000000 40.000000 
    MPI_Allreduce      2.000000      2.750000      2.375000 47.500000 
MPI_Finalize           0.000020      0.000030      0.000025  0.000500 
solver ends
"""  # noqa: W291


def test_caliper__report_has_the_slowest_rank() -> None:
    ds = read(REPORT.encode())
    assert (ds.complete, ds.kind, readers.engine_of(ds)) == (True, "merits", "caliper")
    assert dict(zip(ds["merit"].values, ds["value"].values, strict=True)) == {
        "main alone": 0.75,
        "main/solve fast alone": 2.5,
        "main/solve fast/MPI_Allreduce alone": 2.75,
        "MPI_Finalize alone": 0.00003,
    }
    assert float(ds["figure_of_merit"]) == 0.75


def test_caliper__report_with_inner_regions() -> None:
    text = REPORT.replace("0.500000      0.750000      0.625000", "4.000000      6.000000      5.000000")
    text = text.replace("1.500000      2.500000      2.000000", "3.500000      5.250000      4.375000")
    ds = read(text.encode())
    assert list(ds["merit"].values)[:2] == ["main", "main/solve fast"]
    titles = b"Path     Time (E) Time (I) Time % (E) Time % (I) \n"
    serial = read(titles + b"main     0.500000 4.250000  12.500000  99.500000 \n")
    assert dict(zip(serial["merit"].values, serial["value"].values, strict=True)) == {"main": 4.25}


def test_caliper__two_reports_are_two_results() -> None:
    ds = read((REPORT + REPORT.replace("0.750000", "0.800000")).encode())
    assert list(ds["result"].values) == [0] * 4 + [1] * 4
    assert float(ds["figure_of_merit"]) == 0.8


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("0.625000", "0.825000", "f:3: main: 0.5 to 0.75 s, 0.825 s in the mean"),
        (" 2.500000", " 2.50x000", "f:4: main/solve fast alone is '2.50x000', no finite number"),
        (" \nsolver ends\n", "", "f:6: the last line does not end"),
    ],
)
def test_caliper__damage_of_a_report_is_said(old: str, new: str, found: str) -> None:
    assert REPORT.count(old) == 1
    ds = read(REPORT.replace(old, new).encode())
    assert not ds.complete
    assert any(found in warning for warning in ds.warnings), ds.warnings
