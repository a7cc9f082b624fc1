"""Every number below was read off the raw file with grep."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers import hpcg

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "data/raw/vm-hpcg/runs"
PLAIN = ROOT / "tests/data/hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt"

# Own numbers in the lines of a real 2.4 file (ChristianKniep/hpcac-job-results, venus/omp-sys/16/180), as
# that release's ReportResults.cpp and YAML_Doc.cpp write them; releases 1.1 to 2.3 have the same head.
V24 = (ROOT / "tests/data/hpcg/HPCG-Benchmark-2.4_2026.11.22.10.00.00.yaml").read_bytes()


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
    read = [hpcg.values(path.read_bytes(), path.name)[0] for path in sorted(CAMPAIGN.glob("*/HPCG-*.txt"))]
    assert sum(values["valid"] for values, _ in read) == len(read) == 135
    assert math.fsum(values["rating"] for values, _ in read) == pytest.approx(870.633930, abs=1e-6)
    assert [str(fault) for _, faults in read for fault in faults.faults] == []


def test_hpcg__leaves_its_log_alone() -> None:
    logs = sorted(CAMPAIGN.glob("*/hpcg2*.txt"))
    assert len(logs) == 135
    assert not any(hpcg.sniff(path.read_bytes(), path.name) for path in logs)
    with pytest.raises(ReadError, match=r"hpcg20261121T002731\.txt: no line is one of an HPCG result"):
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
    assert readers.engines_of(V24, "x") == ["hpcg"]
    ds = hpcg.parse(V24)
    assert (ds.rating.item(), ds.valid.item(), ds.complete, ds.warnings) == (0.951591, True, True, [])
    assert (ds.ranks.item(), ds.threads.item(), ds.official_time.item()) == (8, 1, 3600)
    assert ds.time.values.tolist() == [0.25, 0.125, 1.6, 8, 10]
    assert ds.gflops.values.tolist() == [0.63334, 1.26668, 0.874522, 0.975, 0.951591]
    assert ds.allreduce_time.values.tolist() == [0.0625, 0.1875, 0.125]
    assert [ds[name].values.tolist() for name in ("local_size", "global_size")] == [[32] * 3, [64] * 3]
    assert (ds.tool_version, ds.release) == ("2.4", "June 3, 2014")
    assert ds.iterations.item() == 100
    levels = ds.value.values[ds.entry.values == "Multigrid Information::Coarse Grids::Number of Equations"]
    assert levels.tolist() == ["32768", "4096", "512"]
    # What the version does not print is blank, never zero.
    assert math.isnan(ds.data_memory.item())
    assert math.isnan(ds.setup_time.item())


def test_hpcg__long_run_of_24_asks_to_be_sent_in() -> None:
    text = V24[: V24.index(b"  Results are valid but")]
    assert hpcg.parse(text).complete is False
    text += b"  Please send the YAML file contents to: HPCG-Results@software.sandia.gov\n"
    ds = hpcg.parse(text)
    assert (ds.complete, ds.valid.item()) == (True, True)
    assert math.isnan(ds.official_time.item())


@pytest.mark.parametrize(
    ("head", "version", "release"),
    [  # the first lines of each release and of two derivatives, from their sources and real files
        ("HPCG-Benchmark\n1.1\nHPCG Benchmark: Version 1.1 November 26, 2013\n", "1.1", "November 26, 2013"),
        ("HPCG-Benchmark\n2.2\nHPCG Benchmark: Version 2.2 May 22, 2014\n", "2.2", "May 22, 2014"),
        ("HPCG-Benchmark version: 2.4\nRelease date: June 3, 2014\n", "2.4", "June 3, 2014"),
        ("HPCG-Benchmark version: 3.0\nRelease date: November 11, 2015\n", "3.0", "November 11, 2015"),
        ("n104-8p-1t version: V3.0\nRelease date: November 11, 2015\n", "3.0", "November 11, 2015"),
    ],
)
def test_hpcg__knows_the_head_of_an_indented_release(head: str, version: str, release: str) -> None:
    text = V24.replace(b"HPCG-Benchmark\n2.4\nHPCG Benchmark: Version 2.4 June 3, 2014\n", head.encode())
    ds = hpcg.parse(text)
    assert (ds.tool_version, ds.release, ds.rating.item()) == (version, release, 0.951591)
    assert (ds.complete, ds.warnings) == (True, [])


@pytest.mark.parametrize(
    "name", ["HPCG-Benchmark\nversion=3.1", "n1.x-1ranks-18threads\nversion=HPCG-Benchmark_3.1"]
)
def test_hpcg__knows_the_head_of_31_and_of_its_derivatives(name: str) -> None:
    text = PLAIN.read_text().replace("HPCG-Benchmark\nversion=3.1", name)
    ds = hpcg.parse(text.encode())
    assert (ds.tool_version, ds.release, ds.rating.item()) == ("3.1", "March 28, 2019", 1.70293)


def test_hpcg__finds_a_vendors_document_between_other_output() -> None:
    vendor = as_indented(PLAIN.read_text()).replace(
        b"HPCG-Benchmark version: 3.0", b"n16-2p-1t version: V3.0"
    )
    text = b"md5: 0123\nresult=none\nHPCG result is VALID with a GFLOP/s rating of 1.702930\n"
    text += b"====== n16-2p-1t-V3.0.yaml Start ======\n" + vendor
    text += b"====== n16-2p-1t-V3.0.yaml End   ======\nTotal: 7\n"
    assert hpcg.sniff(text)
    ds = hpcg.parse(text)
    assert (ds.tool_version, ds.rating.item(), ds.complete) == ("3.0", 1.70293, True)
    assert "Total" not in ds.entry.values


def test_hpcg__file_of_nvidia_has_no_local_nz() -> None:
    """`ReportResults.cpp` of NVIDIA's program writes nx and ny alone; nz follows from the global grid."""
    lines = PLAIN.read_bytes().splitlines(keepends=True)
    short = (
        b"Local Domain Dimensions::Lower",
        b"Local Domain Dimensions::Upper",
        b"Local Domain Dimensions::nz",
    )
    ds = hpcg.parse(b"".join(line for line in lines if not line.startswith(short)), "f")
    assert (ds.complete, ds.warnings) == (True, [])
    assert ds.local_size.values.tolist() == hpcg.parse(PLAIN.read_bytes()).local_size.values.tolist()
    # A file that lost the one line is damaged.
    lost = hpcg.parse(b"".join(line for line in lines if not line.startswith(short[2:])), "f")
    assert lost.complete is False
    assert lost.warnings[0].endswith("no line 'Local Domain Dimensions::nz'; left blank; get the whole file")


@pytest.mark.parametrize(
    "test", [b"Spectral Convergence Tests", b"Iteration Count Information", b"Reproducibility Information"]
)
def test_hpcg__a_valid_result_has_no_test_that_failed(test: bytes) -> None:
    text = PLAIN.read_bytes()
    changed = text.replace(test + b"::Result=PASSED", test + b"::Result=FAILED")
    assert changed != text
    ds = hpcg.parse(changed, "odd.txt")
    assert "::Result' is FAILED, which contradicts a rating that is VALID" in ds.warnings[0]
    assert ds.complete is False


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
    assert ds.warnings[0].startswith("cut.txt: the result line is missing; ")


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


@pytest.mark.parametrize(
    ("old", "new", "complete"),
    [
        (b"rating of=1.70293", b"rating of=inf", True),
        (b"rating of=1.70293", b"rating of=-nan", True),
        (b"rating of=1.70293", b"rating of=-1.70293", False),
        (b"Summary::Raw DDOT=0.225753", b"Summary::Raw DDOT=inf", True),
    ],
)
def test_hpcg__what_no_number_can_be_is_named_with_its_line(old: bytes, new: bytes, complete: bool) -> None:
    ds = hpcg.parse(PLAIN.read_bytes().replace(old, new), "x.txt")
    line = 119 if b"rating" in old else 104
    assert any(one.startswith(f"x.txt:{line}: ") and "no number that can be" in one for one in ds.warnings)
    assert ds.complete is complete
    assert math.isnan(ds.rating.item()) == (not bool(ds["valid"])) == (b"rating" in old)


def test_hpcg__each_result_of_a_file_is_read() -> None:
    text = PLAIN.read_bytes()
    # As a job prints that runs the program and its files three times over; the last was another release.
    text = b"FLUX-RUN START\n" + text + text.replace(b"rating of=1.70293", b"rating of=1.70292") + V24
    first = hpcg.parse(text, "x.txt")
    assert first.warnings == ["x.txt:3: the first of 3 results; a campaign takes each as a repeat"]
    found = hpcg.parse_each(text, "x.txt")
    assert [ds.rating.item() for ds in found] == [1.70293, 1.70292, 0.951591]
    assert [ds.tool_version for ds in found] == ["3.1", "3.1", "2.4"]
    assert all(ds.complete and not ds.warnings for ds in found)
    assert first.identical(found[0].assign_attrs(warnings=first.warnings))
    # What is lost in one costs the others nothing.
    cut = hpcg.parse_each(text.replace(b"Official results execution time", b"#", 1), "x.txt")
    assert [ds.complete for ds in cut] == [False, True, True]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            b"Raw MG: 0.975",
            b"Raw MG: 0.995",
            "Raw MG' is 0.995, which contradicts 7.8e+09 operations",
        ),
        (b"rating of: 0.951591", b"rating of: 0.351591", "which contradicts a total of 0.951591"),
        (b"Total: 9.51591e+09", b"Total: 9.51591e+03", "which contradicts"),
        (b"Processes: 8", b"Processes: 9", "is 9, which contradicts a grid of [2, 2, 2]"),
        (
            b"  Raw SpMV: 0",
            b"  Raw SpNV: 0",
            "no line 'GFLOP/s Summary::Raw SpMV'",
        ),
        (b"Threads per", b"Threats per", "no line 'Machine Summary::Threads per processes'"),
        (
            b"Processor Dim",
            b"Professor Dim",
            "no line 'Processor Dimensions::npx', 'Processor Dimensions::npy'",
        ),
        (b"DDOT Timing", b"DDOT Taming", "no line 'DDOT Timing Variations::Min DDOT MPI_Allreduce time'"),
        (b"Global ny: 64", b"Global ny: 65", "is 65, which contradicts 2 times 32"),
    ],
)
def test_hpcg__numbers_that_contradict_each_other_are_named(old: bytes, new: bytes, found: str) -> None:
    ds = hpcg.parse(V24.replace(old, new, 1), "x.yaml")
    assert ds.complete is False
    assert any(found in warning for warning in ds.warnings)
