"""IMB's tables, of our own runs of IMB 2021.11 with Open MPI 4.1.4 and MPICH 4.0.2 on two cores."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.datasets.micro import micro
from analysis.readers import imb

DATA = Path(__file__).parents[2] / "tests/data/imb"
SUITE = (DATA / "suite_openmpi_n4.txt").read_bytes()
OLD = b"""#---------------------------------------------------
#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part
#---------------------------------------------------
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.50         0.00
        65536          640        90.26       %b
# All processes entering MPI_Finalize
"""


def read(name: str) -> xr.Dataset:
    return imb.parse((DATA / f"{name}.txt").read_bytes(), name)


def rows(ds: xr.Dataset, benchmark: str, processes: int) -> xr.Dataset:
    return ds.isel(row=(ds["benchmark"].values == benchmark) & (ds["processes"].values == processes))


def test_imb__reads_every_row_of_every_table() -> None:
    ds = imb.parse(SUITE)
    assert (ds.attrs["tool_version"], ds.attrs["part"], ds.attrs["complete"]) == ("2021.11", "MPI-1", True)
    assert ds["ranks"].item() == 4
    # awk '$2==100 && NF>=4 || $1==100 && NF==4' FILE | wc -l
    assert ds.sizes["row"] == 124
    # awk over the column t[usec] of PingPong and t_avg[usec] of the others, summed
    assert ds["latency"].sum().item() == pytest.approx(17546.21, abs=0.005)
    tables = dict.fromkeys(zip(ds["benchmark"].values, ds["processes"].values.tolist(), strict=True))
    assert list(tables) == [
        ("PingPong", 2), ("Sendrecv", 2), ("Sendrecv", 4), ("Allreduce", 2), ("Allreduce", 4),
        ("Bcast", 2), ("Bcast", 4), ("Barrier", 2), ("Barrier", 4),
    ]  # fmt: skip


def test_imb__columns_go_by_their_heading() -> None:
    ds = imb.parse(SUITE)
    row = rows(ds, "PingPong", 2).sel(row=17)
    assert (row["size"].item(), row["latency"].item(), row["bandwidth"].item()) == (65536, 90.26, 726.10)
    assert math.isnan(row["latency_max"].item())
    row = rows(ds, "Sendrecv", 4).set_index(row="size").sel(row=8192)
    values = ("latency_min", "latency_max", "latency", "bandwidth")
    assert [row[name].item() for name in values] == [39.81, 40.06, 39.95, 408.95]
    row = rows(ds, "Barrier", 4)
    assert (row["size"].item(), row["iterations"].item(), row["latency"].item()) == (-1, 100, 5.42)


def test_imb__left_out_sizes_are_named_and_cost_nothing_else() -> None:
    ds = read("mem_openmpi_n4")
    assert ds.attrs["complete"] is True
    # awk 'NF==5 && $1~/^[0-9]+$/ {s+=$5} END {print s}' FILE
    assert ds["latency"].sum().item() == pytest.approx(13654.41, abs=0.005)
    remedy = "IMB measured no such size; see its options -time and -mem"
    assert ds.attrs["warnings"] == [
        f"mem_openmpi_n4:41: Alltoall on 2 processes: out-of-mem at 2097152 B; {remedy}",
        f"mem_openmpi_n4:54: Allreduce on 2 processes: out-of-mem at 4194304 B; {remedy}",
    ]
    late = read("timeout_openmpi_n4")
    assert (late.sizes["row"], late.attrs["complete"]) == (1, True)
    assert [": time-out at " in warning for warning in late.attrs["warnings"]] == [True, True]


def test_imb__groups_that_run_at_once() -> None:
    ds = read("multi1_mpich_n4")
    assert set(ds["benchmark"].values) == {"Multi-PingPong"}
    assert (set(ds["groups"].values), set(ds["processes"].values), ds["ranks"].item()) == ({2}, {2}, 4)
    assert ds["group"].values.tolist() == [0, 1] * 6
    assert ds["size"].values.tolist() == [0, 0, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64]
    assert ds["latency"].values[-2:].tolist() == [0.66, 1.02]


def test_imb__message_rates_and_overlap() -> None:
    row = rows(read("multi_mpich_n4"), "Uniband", 4).set_index(row="size").sel(row=32)
    assert (row["bandwidth"].item(), row["message_rate"].item()) == (212.83, 6650996)
    assert math.isnan(row["latency"].item())
    row = rows(read("nbc_openmpi_n2"), "Iallreduce", 2).set_index(row="size").sel(row=2048)
    values = ("latency", "communication_time", "compute_time", "overlap")
    assert [row[name].item() for name in values] == [102283.83, 92781.32, 59215.79, 53.58]


def test_imb__one_sided_modes_are_told_apart() -> None:
    ds = read("ext_openmpi_n2")
    assert list(dict.fromkeys(ds["mode"].values)) == ["AGGREGATE", "NON-AGGREGATE"]
    assert set(ds["benchmark"].values) == {"Unidir_Put"}


@pytest.mark.parametrize(("printed", "said"), [(b"692.45", 0), (b"726.08", 0), (b"100.00", 1)])
def test_imb__bandwidth_is_in_powers_of_ten_whatever_the_version_printed(printed: bytes, said: int) -> None:
    # 65536 B in 90.26 us are 726.08 MB/s of 10^6 B and 692.45 of 2^20 B.
    ds = imb.parse(OLD % printed)
    assert ds.attrs["tool_version"] == "3.2"
    assert ds["bandwidth"].values[-1] == pytest.approx(100.0 if said else 726.08, abs=0.01)
    assert len(ds.attrs["warnings"]) == said


def test_imb__is_found_by_content_behind_ranks_and_as_an_engine(tmp_path: Path) -> None:
    tagged = b"".join(b"[1,0]<stdout>:" + line for line in SUITE.splitlines(keepends=True))
    (tmp_path / "stdout.txt").write_bytes(tagged)
    assert readers.engines_of(tagged) == ["imb"]
    with xr.open_dataset(tmp_path / "stdout.txt", engine="imb") as ds:
        assert ds.identical(imb.parse(SUITE))


def test_imb__cut_anywhere_it_keeps_the_whole_rows_and_says_so() -> None:
    whole = imb.parse(SUITE)
    first = SUITE.index(b"#repetitions")
    end = SUITE.rindex(b"# All processes")
    for cut in [*range(first + 20, end, 211), end]:
        ds = imb.parse(SUITE[:cut], "cut")
        assert ds.attrs["complete"] is False
        count = ds.sizes["row"]
        assert count == 0 or np.array_equal(ds["latency"].values, whole["latency"].values[:count])
    assert count == 124


def test_imb__line_that_is_no_row_is_named() -> None:
    bad = SUITE.replace(b"         2.46         1.63", b"         2.4x         1.63")
    ds = imb.parse(bad, "f")
    assert (ds.sizes["row"], ds.attrs["complete"]) == (123, False)
    (warning,) = ds.attrs["warnings"]
    at = bad[: bad.index(b"2.4x")].count(b"\n") + 1
    assert (
        warning
        == f"f:{at}: '4          100         2.4x         1.63' is not a row of the table above; left out"
    )


def test_imb__output_without_a_benchmark_is_no_result() -> None:
    # What each rank prints that runs alone, as MPICH's does under a launcher that it does not know.
    alone = SUITE[: SUITE.index(b"#---", 200)] + b"# !! Benchmark PingPong invalid for 1 processes !!\n"
    ds = imb.parse(2 * (alone + SUITE[SUITE.rindex(b"# All processes") :]), "f")
    assert (ds.sizes["row"], ds["ranks"].item(), ds.attrs["complete"]) == (0, -1, False)
    assert "f:72: no benchmark was run; it may need more processes than it had" in ds.attrs["warnings"]


def test_imb__other_text_is_refused() -> None:
    with pytest.raises(ReadError, match="f: no title and no table of IMB"):
        imb.parse(b"hello\n", "f")


def test_micro__takes_the_table_of_the_case_on_the_most_processes() -> None:
    ds = imb.parse(SUITE)
    columns, faults = micro(ds, {"run": "r", "case": "allreduce"})
    assert faults == []
    frame = pd.DataFrame(columns)
    assert frame["size"].tolist() == [0, *(4 << i for i in range(15))]
    assert frame.loc[frame["size"] == 65536, "latency"].tolist() == [159.48]
    assert frame["bandwidth"].isna().all()


@pytest.mark.parametrize(
    ("name", "case", "said"),
    [
        ("suite_openmpi_n4", "all", "name the case after one of them"),
        ("multi1_mpich_n4", "Multi-PingPong", "run it without -multi 1"),
        ("ext_openmpi_n2", "Unidir_Put", "in one mode"),
    ],
)
def test_micro__tables_that_cannot_be_told_apart_are_not_mixed(name: str, case: str, said: str) -> None:
    columns, (fault,) = micro(read(name), {"run": "r", "case": case})
    assert columns == {}
    assert said in fault


def test_imb__row_with_stray_bytes_is_named() -> None:
    data = (DATA / "suite_openmpi_n4.txt").read_bytes()
    assert imb.parse(data).complete is True
    rows = [n for n, line in enumerate(data.split(b"\n")) if line.split()[:1] == [b"1024"]]
    for stray in (b"\x00", b"\xff", b"#"):
        lines = data.split(b"\n")
        lines[rows[0]] = lines[rows[0]].replace(b"1024", stray + b"1024" if stray != b"#" else b"1#24")
        ds = imb.parse(b"\n".join(lines), "x")
        assert ds.complete is False
        assert ds.warnings[0].startswith(f"x:{rows[0] + 1}: ")


def test_imb__numbers_that_contradict_each_other_are_named() -> None:
    data = (DATA / "suite_openmpi_n4.txt").read_bytes()
    at = data.index(b"# Benchmarking Sendrecv")
    line = next(line for line in data[at:].split(b"\n") if line.split()[:1] == [b"65536"])
    rate = line.split()[-1]
    changed = line.replace(rate, (b"1" if rate[:1] != b"1" else b"9") + rate[1:])
    ds = imb.parse(data.replace(line, changed, 1), "x")
    assert ds.complete is False
    assert "contradict each other" in ds.warnings[0]


def test_imb__second_heading_in_a_table_is_a_fault() -> None:
    lines = (DATA / "suite_openmpi_n4.txt").read_bytes().split(b"\n")
    heads = [n for n, line in enumerate(lines) if b"#repetitions" in line]
    other = next(lines[n] for n in heads if lines[n].split() != lines[heads[0]].split())
    lines.insert(heads[0] + 4, other)
    ds = imb.parse(b"\n".join(lines), "x")
    assert ds.complete is False
    assert ds.warnings[0].startswith(f"x:{heads[0] + 5}: a second heading with other columns")
