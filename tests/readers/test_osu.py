"""Numbers of our own tables were read off the raw files; other headings are written out here."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base.errors import ReadError
from analysis.readers import osu
from analysis.readers import osu as osu_names

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data/osu"
CAMPAIGN = ROOT / "data/raw/vm-hpcg/runs"


def table(title: str, heading: str, *rows: str) -> bytes:
    return "\n".join([f"# {title}", heading, *rows, ""]).encode()


def test_osu__reads_latency() -> None:
    ds = osu.parse((DATA / "latency_n2.txt").read_bytes())
    assert (ds.benchmark, ds.version, ds.title) == ("osu_latency", "5.3", "OSU MPI Latency Test")
    assert ds.sizes == {"size": 24}
    assert ds.latency.sel(size=0).item() == 0.36
    assert ds.latency.sel(size=4194304).item() == 2801.52
    assert ds.latency.attrs["units"] == "us"
    assert set(ds.data_vars) == {"latency"}
    assert ds.complete is True
    assert ds.warnings == []


def test_osu__reads_bandwidth() -> None:
    ds = osu.parse((DATA / "bw_n2.txt").read_bytes())
    assert ds.benchmark == "osu_bw"
    assert ds.bandwidth.sel(size=131072).item() == 61549.45
    assert ds.bandwidth.attrs["units"] == "MB/s"


def test_osu__reads_full_columns_of_a_collective() -> None:
    ds = osu.parse((DATA / "allreduce_n4.txt").read_bytes())
    assert ds.benchmark == "osu_allreduce"
    row = ds.sel(size=16)
    assert (row.latency.item(), row.latency_min.item(), row.latency_max.item()) == (28.47, 9.04, 36.14)
    assert ds.iterations.values.tolist() == [100] * 15


def test_osu__stops_at_the_banner_of_a_profiler() -> None:
    ds = osu.parse((DATA / "allreduce_n8_ipm.txt").read_bytes())
    assert ds.size.values.tolist() == [4 << i for i in range(15)]
    assert ds.latency.sel(size=65536).item() == 1796.81
    ds = osu.parse((DATA / "alltoall_n8_mpip.txt").read_bytes())
    assert (ds.benchmark, ds.sizes["size"]) == ("osu_alltoall", 15)
    assert ds.complete is True


def test_osu__reads_every_table_of_the_campaign() -> None:
    # grep -l "^# OSU" runs/*/stdout.txt | wc -l
    paths = [path for path in CAMPAIGN.glob("*/stdout.txt") if osu.sniff(path.read_bytes())]
    read = [osu.parse(path.read_bytes(), path.name) for path in paths]
    assert len(read) == 69
    assert [warning for ds in read for warning in ds.warnings] == []
    assert {ds.benchmark for ds in read} == {"osu_latency", "osu_bw", "osu_allreduce"}


def test_osu__reads_message_rate_and_its_settings() -> None:
    text = table(
        "OSU MPI Multiple Bandwidth / Message Rate Test v5.6.3",
        "# [ pairs: 4 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s",
        "1                       4.25        4235302.84",
        "2                       8.82        4409629.80",
    )
    ds = osu.parse(text)
    assert (ds.benchmark, ds.pairs, ds.window_size) == ("osu_mbw_mr", 4, 64)
    assert ds.bandwidth.values.tolist() == [4.25, 8.82]
    assert ds.message_rate.sel(size=2).item() == 4409629.80


def test_osu__reads_version_7_with_datatype_tails_and_validation() -> None:
    text = table(
        "OSU MPI-CUDA Latency Test v7.5",
        "# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  "
        "P99 Tail Lat(us)        Validation",
        "1                       2.50   2.25   2.75   9.50              Pass",
        "2                       2.60   2.35   2.85   9.60              Fail",
    )
    ds = osu.parse(text, "gpu.out")
    assert (ds.benchmark, ds.datatype) == ("osu_latency", "MPI_CHAR")
    assert ds.latency_p50.values.tolist() == [2.25, 2.35]
    assert ds.latency_p99.sel(size=2).item() == 9.6
    assert ds.validation.values.tolist() == ["Pass", "Fail"]
    assert ds.warnings == ["gpu.out:1: validation failed at size 2; do not use these rows"]


def test_osu__reads_a_non_blocking_collective() -> None:
    text = table(
        "OSU MPI Non-blocking All-to-All Latency Test v5.6.3",
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)",
        "1                      11.09              6.10              5.18              3.46",
        "2                       9.98              5.87              4.93             16.62",
    )
    ds = osu.parse(text)
    assert ds.benchmark == "osu_ialltoall"
    row = ds.sel(size=2)
    assert (row.latency.item(), row.compute_time.item(), row.communication_time.item()) == (9.98, 5.87, 4.93)
    assert row.overlap.item() == 16.62
    assert ds.complete is True


def test_osu__reads_all_columns_of_a_non_blocking_collective() -> None:
    text = table(
        "OSU MPI Non-blocking Broadcast Latency Test v5.9",
        "# Size           Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)"
        "    Pure Comm.(us)        Overlap(%)",
        "1      9.50      4.25      0.75      0.25      1.25      3.50      12.5",
    )
    ds = osu.parse(text)
    assert ds.warnings == []
    assert (ds.init_time.item(), ds.test_time.item(), ds.wait_time.item()) == (0.75, 0.25, 1.25)
    assert (ds.communication_time.item(), ds.overlap.item()) == (3.5, 12.5)


def test_osu__table_without_sizes_has_size_minus_one() -> None:
    ds = osu.parse(table("OSU MPI Barrier Latency Test v5.8", "# Avg Latency(us)", "             8.32"))
    assert (ds.benchmark, ds.size.values.tolist(), ds.latency.values.tolist()) == (
        "osu_barrier",
        [-1],
        [8.32],
    )
    text = b"# OSU MPI Init Test v7.5\nnprocs: 144, min: 2032 ms, max: 2054 ms, avg: 2048 ms\n"
    ds = osu.parse(text)
    assert (ds.benchmark, ds.ranks, ds.size.values.tolist()) == ("osu_init", 144, [-1])
    assert (ds.latency_min.item(), ds.latency_max.item(), ds.latency.item()) == (2032e3, 2054e3, 2048e3)


def test_osu__ignores_what_a_job_prints_around_and_inside() -> None:
    text = (
        b"job 7 starts\n3 processes\n"
        + table(
            "OSU MPI Bandwidth Test v5.8",
            "# Size      Bandwidth (MB/s)",
            "1                       0.37",
            "[node1] UCX WARN slow transport",
            "2                       0.70",
        )
        + b'{"resources": [{"count": 2}]}\n{"timestamp":17.08,"name":"init"}\n\n8 9.5\n'
    )
    ds = osu.parse(text)
    assert ds.bandwidth.values.tolist() == [0.37, 0.70]
    assert ds.complete is True


@pytest.mark.parametrize("tag", ["[1,0]<stdout>: ", "[1,0]<stdout>:", "0: "])
def test_osu__drops_the_rank_before_each_line(tag: str) -> None:
    plain = (DATA / "bw_n2.txt").read_text()
    tagged = "".join(tag + line for line in plain.splitlines(keepends=True))
    assert osu.sniff(tagged.encode())
    assert osu.parse(tagged.encode()).identical(osu.parse(plain.encode()))


def test_osu__number_cut_at_the_end_is_left_out() -> None:
    text = (DATA / "bw_n2.txt").read_bytes()
    ds = osu.parse(text[:-4], "cut.txt")
    assert ds.size.values[-1] == 2097152
    assert ds.complete is False
    assert ds.warnings == ["cut.txt:25: the last row has no line end, its number may be cut; left out"]


def test_osu__garbled_row_is_left_out_and_named() -> None:
    text = (DATA / "bw_n2.txt").read_bytes().replace(b"7389.92", b"73#9.92")
    ds = osu.parse(text, "x.txt")
    assert 512 not in ds.size.values
    assert ds.sizes["size"] == 22
    assert ds.complete is False
    assert ds.warnings == [
        "x.txt:12: '512                  73#9.92' is not a row of the table above; left out"
    ]


def test_osu__title_without_rows_is_named() -> None:
    ds = osu.parse(b"# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n", "died.out")
    assert ds.sizes["size"] == 0
    assert ds.complete is False
    assert ds.warnings[0].startswith("died.out:1: no row follows the title OSU MPI Latency Test; ")


def test_osu__several_tables_in_one_output() -> None:
    text = (DATA / "latency_n2.txt").read_bytes() + (DATA / "bw_n2.txt").read_bytes()
    ds = osu.parse(text, "all.out")
    assert (ds.benchmark, ds.sizes["size"]) == ("osu_latency", 24)
    assert ds.warnings == [
        "all.out:27: a further table, OSU MPI Bandwidth Test; left out; osu.tables reads them all"
    ]
    both = osu.tables(text)
    assert [(ds.benchmark, ds.sizes["size"]) for ds in both] == [("osu_latency", 24), ("osu_bw", 23)]
    assert both[1].bandwidth.sel(size=4194304).item() == 7294.12


def test_osu__unknown_column_is_named() -> None:
    text = table("OSU MPI Latency Test v8.0", "# Size       Avg Latency(us)   Jitter(us)", "1   2.5   0.5")
    ds = osu.parse(text, "new.out")
    assert ds.latency.values.tolist() == [2.5]
    assert ds.warnings == ["new.out:2: column 'Jitter(us)' is not known; left out"]


def test_osu__reads_decimal_commas() -> None:
    ds = osu.parse(table("OSU MPI Latency Test v5.3", "# Size          Latency (us)", "0     0,36"))
    assert ds.latency.values.tolist() == [0.36]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("OSU MPI Bi-Directional Bandwidth Test", "osu_bibw"),
        ("OSU MPI Multi Latency Test", "osu_multi_lat"),
        ("OSU MPI Broadcast Latency Test", "osu_bcast"),
        ("OSU MPI Reduce_scatter Latency Test", "osu_reduce_scatter"),
        ("OSU MPI All-to-Allv Personalized Exchange Latency Test", "osu_alltoallv"),
        ("OSU MPI Non-blocking Barrier Latency Test", "osu_ibarrier"),
        ("OSU MPI_Put Latency Test", "osu_put_latency"),
        ("OSU MPI_Get Bandwidth Test", "osu_get_bw"),
        ("OSU MPI_Accumulate latency Test", "osu_acc_latency"),
    ],
)
def test_osu__names_the_program_of_a_title(title: str, name: str) -> None:
    assert osu_names.program(title) == name


def test_osu__other_text_is_refused() -> None:
    with pytest.raises(ReadError, match=r"^log: no title of an OSU micro-benchmark; "):
        osu.parse(b"1 2.5\n2 3.5\n", "log")


@pytest.mark.parametrize("wrong", ["inf", "-nan", "nan", "-0.50", "-inf"])
def test_osu__what_can_be_no_time_and_no_rate_is_named_and_left_out(wrong: str) -> None:
    rows = ("# Size      Bandwidth (MB/s)", "1   2.50", f"2   {wrong}", "4   9.00")
    ds = osu.parse(table("OSU MPI Bandwidth Test v5.8", *rows), "x")
    assert (ds.complete, ds["size"].values.tolist(), ds.bandwidth.values.tolist()) == (
        False, [1, 4], [2.5, 9.0],
    )  # fmt: skip
    assert ds.warnings == [f"x:4: {wrong} is no time and no rate; the row is left out; measure it again"]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b"\n1024 ", b"\n1024 x ", "2048 B follow 512 B"),
        (b"\n2048 ", b"\n2048 7.5 ", "is not a row of the table above"),
        (b"\n4096 ", b"\n\x004096 ", "is not a row of the table above"),
        (b"\n0 ", b"\np ", "is not a row of the table above"),
        (b"\n65536 ", b"\nS", "is not a row of the table above"),
        (b"\n1024 ", b"\n1025 ", "1025 B follow 512 B"),
    ],
)
def test_osu__row_that_cannot_be_read_is_named(old: bytes, new: bytes, found: str) -> None:
    data = (DATA / "latency_n2.txt").read_bytes()
    assert osu.parse(data).complete
    assert old in data
    ds = osu.parse(data.replace(old, new, 1), "x")
    assert ds.complete is False
    assert any(found in warning for warning in ds.warnings)


def test_osu__row_with_a_word_more_is_named() -> None:
    data = (DATA / "latency_n2.txt").read_bytes()
    lines = data.split(b"\n")
    lines[5] += b" srun: warning"
    ds = osu.parse(b"\n".join(lines), "x")
    assert ds.complete is False
    assert ds.warnings[0].startswith("x:6: ")


def test_osu__mean_outside_its_bounds_is_named() -> None:
    text = (
        b"# OSU MPI Allreduce Latency Test v5.3\n"
        b"# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
        b"4                       1.52              1.40              1.64        1000\n"
        b"8                       1.53              1.41              1.65        1000\n"
    )
    assert osu.parse(text).complete is True
    ds = osu.parse(text.replace(b"1.53 ", b"7.53 "), "x")
    assert ds.warnings == [
        "x:1: numbers of a row of OSU MPI Allreduce Latency Test contradict each other;"
        " one of them is damaged; get the output again"
    ]


def test_osu__indented_table_is_read() -> None:
    data = (DATA / "latency_n2.txt").read_bytes()
    indented = b"".join(b"    " + line for line in data.splitlines(keepends=True))
    assert osu.sniff(indented)
    assert osu.parse(indented).identical(osu.parse(data))


def test_osu__numbers_of_other_output_below_the_table_are_no_row() -> None:
    """Sizes grow: what comes back to a smaller one, or repeats the last, is of something else."""
    rows = ["1  1.5", "2  1.6", "4  1.7"]
    whole = osu.parse(table("OSU MPI Latency Test v5.8", "# Size  Latency (us)", *rows, "# done"))
    assert (whole.size.values.tolist(), whole.warnings) == ([1, 2, 4], [])
    for other in ("2  99.5", "4  99.5"):
        ds = osu.parse(table("OSU MPI Latency Test v5.8", "# Size  Latency (us)", *rows, other))
        assert ds.size.values.tolist() == [1, 2, 4]
        assert ds.latency.values.tolist() == [1.5, 1.6, 1.7]
        assert f"{other!r} is not a row of the table above" in ds.warnings[0]
