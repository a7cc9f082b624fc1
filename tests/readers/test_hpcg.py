"""Every number below was read off the raw file with grep."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from analysis.base.errors import ReadError
from analysis.readers import hpcg

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "data/raw/vm-hpcg/runs"
PLAIN = ROOT / "tests/data/hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt"

# The layout of 2.4: ruled headings, no memory section, no historical rating.
V24 = b"""\
HPCG-Benchmark version: 2.4
Release date: June 4, 2014
Machine Summary: \n\
  Distributed Processes: 64
  Threads per processes: 4
Global Problem Dimensions: \n\
  Global nx: 416
  Global ny: 416
  Global nz: 416
Processor Dimensions: \n\
  npx: 4
  npy: 4
  npz: 4
Local Domain Dimensions: \n\
  nx: 104
  ny: 104
  nz: 104
########## Problem Summary  ##########: \n\
Setup Information: \n\
  Setup Time: 1.25
Multigrid Information: \n\
  Number of coarse grid levels: 2
  Coarse Grids: \n\
    Grid Level: 1
    Number of Equations: 1000
    Grid Level: 2
    Number of Equations: 125
########## Iterations Summary  ##########: \n\
Iteration Count Information: \n\
  Total number of optimized iterations: 500
########## Performance Summary (times in sec) ##########: \n\
Benchmark Time Summary: \n\
  DDOT: 1.5
  WAXPBY: 2.5
  SpMV: 20
  MG: 100
  Total: 125
Floating Point Operations Summary: \n\
  Raw DDOT: 2e+10
  Total: 3e+11
GFLOP/s Summary: \n\
  Raw DDOT: 13.5
  Raw Total: 2.4
DDOT Timing Variations: \n\
  Min DDOT MPI_Allreduce time: 0.25
  Max DDOT MPI_Allreduce time: 0.75
  Avg DDOT MPI_Allreduce time: 0.5
********** Final Summary **********: \n\
  HPCG result is VALID with a GFLOP/s rating of: 2.36085
  Results are valid but execution time (sec) is: 125
  Official results execution time (sec) must be at least: 3600
"""


def as_indented(text: str) -> bytes:
    """Lay 3.1's lines out as 3.0 does: one key a line, two blanks a level, ruled last heading."""
    out = ["HPCG-Benchmark version: 3.0"]
    for line in text.splitlines()[2:]:
        key, _, value = line.partition("=")
        *parents, name = key.split("::")
        name = "__________ Final Summary __________" if name == "Final Summary" else name
        further = "    " if parents == ["Final Summary"] and "Official" in name else ""
        out.append("  " * len(parents) + further + f"{name}: {value}")
    return "\n".join([*out, ""]).encode()


def test_hpcg__reads_the_numbers_of_a_measured_run() -> None:
    path = next((CAMPAIGN / "001").glob("HPCG-*.txt"))
    ds = hpcg.parse(path.read_bytes(), path.name)
    assert ds.rating.item() == 5.78836
    assert ds.valid.item() is True
    assert (ds.ranks.item(), ds.threads.item()) == (2, 1)
    assert ds.data_memory.item() == 5_870_400.0
    assert ds.data_memory.attrs["units"] == "B"
    assert ds.setup_time.item() == 0.00445306
    assert ds.benchmark_time.item() == 6.12866
    assert ds.official_time.item() == 1800
    assert ds.iterations.item() == 13200
    assert ds.time.sel(kernel="MG").item() == 4.8905
    assert ds.flops.sel(kernel="Total").item() == 3.61554e10
    assert ds.gflops.values.tolist() == [1.15674, 25.5479, 8.30907, 6.03068, 5.89939]
    assert ds.allreduce_time.sel(statistic=["min", "max", "avg"]).values.tolist() == [
        0.478943,
        0.485054,
        0.481999,
    ]
    assert ds.local_size.values.tolist() == [16, 16, 16]
    assert ds.process_grid.values.tolist() == [2, 1, 1]
    assert ds.global_size.sel(axis="x").item() == 32
    assert (ds.tool_version, ds.release) == ("3.1", "March 28, 2019")
    assert ds.complete is True
    assert ds.warnings == []


def test_hpcg__reads_every_result_of_the_campaign() -> None:
    # grep -l "is VALID" runs/*/HPCG-* | wc -l, and awk's sum of the ratings
    read = [hpcg.values(path.read_bytes(), path.name) for path in sorted(CAMPAIGN.glob("*/HPCG-*.txt"))]
    assert sum(values["valid"] for values, _ in read) == len(read) == 135
    assert math.fsum(values["rating"] for values, _ in read) == pytest.approx(870.633930, abs=1e-6)
    assert [str(fault) for _, faults in read for fault in faults.faults] == []


def test_hpcg__leaves_its_log_alone() -> None:
    logs = sorted(CAMPAIGN.glob("*/hpcg2*.txt"))
    assert len(logs) == 135
    assert not any(hpcg.sniff(path.read_bytes(), path.name) for path in logs)
    with pytest.raises(ReadError, match=r"hpcg20261121T002731\.txt:0: no line is one of an HPCG result"):
        hpcg.parse(logs[0].read_bytes(), logs[0].name)


def test_hpcg__keeps_every_line_and_repeated_keys() -> None:
    ds = hpcg.parse(PLAIN.read_bytes())
    # grep -c = ; all but the first line have the form
    assert ds.sizes["entry"] == 125
    levels = ds.value.values[ds.entry.values == "Multigrid Information::Coarse Grids::Number of Equations"]
    assert levels.tolist() == ["1024", "128", "16"]
    variance = ds.value.values[ds.entry.values == "Reproducibility Information::Scaled residual variance"]
    assert variance.tolist() == ["0"]


def test_hpcg__reads_the_indented_layout_of_30_alike() -> None:
    flat = hpcg.parse(PLAIN.read_bytes())
    indented = hpcg.parse(as_indented(PLAIN.read_text()))
    assert indented.tool_version == "3.0"
    assert indented.complete is True
    for name in flat.data_vars:
        if name != "value":
            np.testing.assert_array_equal(indented[name].values, flat[name].values, err_msg=str(name))
    # The blank heading lines and the keys below them are the same lines.
    assert indented.value.values.tolist()[2:] == flat.value.values.tolist()[2:]
    assert "Multigrid Information::Coarse Grids::Grid Level" in indented.entry.values


def test_hpcg__reads_24() -> None:
    assert hpcg.sniff(V24)
    ds = hpcg.parse(V24)
    assert (ds.rating.item(), ds.valid.item(), ds.complete) == (2.36085, True, True)
    assert (ds.ranks.item(), ds.threads.item(), ds.official_time.item()) == (64, 4, 3600)
    assert ds.time.values.tolist() == [1.5, 2.5, 20, 100, 125]
    assert ds.tool_version == "2.4"
    levels = ds.value.values[ds.entry.values == "Multigrid Information::Coarse Grids::Number of Equations"]
    assert levels.tolist() == ["1000", "125"]
    # What the version does not print is blank, never zero.
    assert math.isnan(ds.data_memory.item())
    assert math.isnan(ds.gflops.sel(kernel="MG").item())


def test_hpcg__finds_a_vendors_document_between_other_output() -> None:
    vendor = V24.replace(b"HPCG-Benchmark version: 2.4", b"n104-64p-4t version: V3.0")
    text = b"md5: 0123\nresult=none\n====== n104.yaml Start ======\n" + vendor
    text += b"====== n104.yaml End   ======\nTotal: 7\n"
    assert hpcg.sniff(text)
    ds = hpcg.parse(text)
    assert (ds.tool_version, ds.rating.item(), ds.complete) == ("3.0", 2.36085, True)
    assert "Total" not in ds.entry.values


def test_hpcg__invalid_result_has_no_rating() -> None:
    text = PLAIN.read_bytes()
    at = text.index(b"Final Summary::")
    text = text[:at] + (
        b"Final Summary::HPCG result is=INVALID.\n"
        b"Final Summary::Please review the YAML file contents=You may NOT submit these results.\n"
    )
    ds = hpcg.parse(text, "bad.txt")
    assert math.isnan(ds.rating.item())
    assert ds.valid.item() is False
    assert ds.complete is True
    assert ds.warnings == ["bad.txt:119: HPCG result is INVALID; the rating is blank; do not use the run"]
    assert ds.time.sel(kernel="Total").item() == 2.1594


def test_hpcg__missing_result_line_is_named() -> None:
    text = PLAIN.read_bytes()
    ds = hpcg.parse(text[: text.index(b"Final Summary=")], "cut.txt")
    assert math.isnan(ds.rating.item())
    assert ds.valid.item() is False
    assert ds.complete is False
    assert ds.warnings[0].startswith("cut.txt:0: the result line is missing; ")


def test_hpcg__number_cut_at_the_end_is_left_out() -> None:
    text = PLAIN.read_bytes()
    cut = text.index(b"rating of=1.70293") + len(b"rating of=1.7")
    ds = hpcg.parse(text[:cut], "cut.txt")
    assert math.isnan(ds.rating.item())
    assert ds.valid.item() is False
    assert ds.warnings[-1] == "cut.txt:119: the last line has no end, its value may be cut; left out"


def test_hpcg__reads_decimal_commas() -> None:
    text = PLAIN.read_bytes().replace(b"rating of=1.70293", b"rating of=1,70293")
    ds = hpcg.parse(text.replace(b"=0.0058685", b"=0,0058685"))
    assert ds.rating.item() == 1.70293
    assert ds.data_memory.item() == 5_868_500.0


def test_hpcg__value_that_is_no_number_is_named() -> None:
    text = PLAIN.read_bytes().replace(b"::MG=1.41207", b"::MG=1.4#207")
    ds = hpcg.parse(text, "x.txt")
    assert math.isnan(ds.time.sel(kernel="MG").item())
    assert ds.complete is False
    assert ds.warnings == ["x.txt:89: 'Benchmark Time Summary::MG' is '1.4#207', not a number; left blank"]


def test_hpcg__second_result_in_a_file_is_named() -> None:
    text = PLAIN.read_bytes()
    ds = hpcg.parse(text + text.replace(b"rating of=1.70293", b"rating of=9"), "two.txt")
    assert ds.rating.item() == 1.70293
    assert ds.warnings == ["two.txt:245: a second result; the first is used; split the file"]
