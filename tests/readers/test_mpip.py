"""The mpiP reader on real reports: numbers taken from the raw files with awk or by eye."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.base.files import read_bytes
from analysis.readers import mpip
from analysis.readers.base import Faults
from analysis.readers.mpip.checks import check_collectives
from analysis.readers.mpip.report import Bin, Times
from analysis.schema import registry

DATA = Path(__file__).parents[1] / "data/mpip"
FILES = sorted(path.name for path in DATA.iterdir())


def raw(name: str) -> bytes:
    return read_bytes(DATA / name)


def load(name: str) -> xr.Dataset:
    return mpip.parse(raw(name), name)


def by_call(ds: xr.Dataset) -> pd.DataFrame:
    frame = pd.DataFrame({name: ds[name].values for name in ("call", "count", "time", "bytes")})
    return frame.groupby("call").sum()


def row(ds: xr.Dataset, site: int, rank: int) -> xr.Dataset:
    return ds.isel(obs=np.flatnonzero((ds.site.values == site) & (ds["rank"].values == rank))).squeeze("obs")


def edit(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) >= 1, old
    return data.replace(old, new, 1)


def test_mpip__sites_split_by_address_randomisation_are_summed_by_call():
    ds = load("hpcg_aslr_64.mpiP.xz")
    assert ds.attrs["complete"]
    assert ds.sizes == {"obs": 4608, "rank": 64, "callsite": 4608}
    # awk over the rank rows of the two callsite sections
    calls = by_call(ds)
    assert calls["count"].to_dict() == {
        "MPI_Allreduce": 35520,
        "MPI_Irecv": 1738152,
        "MPI_Send": 1738152,
        "MPI_Wait": 1738152,
    }
    times = {"MPI_Allreduce": 460.721763, "MPI_Irecv": 4.40940356, "MPI_Send": 941.205441}
    for call, seconds in (times | {"MPI_Wait": 1123.31426}).items():
        assert calls.loc[call, "time"] == pytest.approx(seconds, rel=1e-8)
    assert calls["bytes"].tolist() == [284160.0, 0.0, 566663920.0, 0.0]
    assert ds.attrs["flags"] == ["sites-split"]
    # The twenty largest sites: 7.16 + 6.95 + 6.78 + 6.6 + ... s of 2.53e3 s
    assert ds.attrs["aggregate_share"] == pytest.approx(0.0506, abs=5e-5)


def test_mpip__rank_variables_come_from_mpi_time():
    ds = load("hpcg_aslr_64.mpiP.xz")
    assert ds.app_time.values[[0, 2, 3]].tolist() == [39.7, 39.8, 39.6]
    assert ds.mpi_time.values[[0, 1]].tolist() == [39.5, 39.6]
    assert np.isnan(ds.memory.values).all()
    assert set(ds.host.values) == {"vm"}
    assert ds.attrs["ranks_expected"] == 64
    assert ds.app_time.attrs["units"] == "s"


def test_mpip__header_becomes_attributes():
    ds = load("mix_350.mpiP")
    assert ds.attrs["tool_version"] == "3.5.0"
    assert ds.attrs["command"] == '/opt/bench/mix_ompi arg<1>&"q"'
    assert ds.attrs["start"] == ds.attrs["stop"] == "2026-11-20T23:34:34"
    assert ds.attrs["mpip_options"] == "-k 2 -p -y"
    assert (ds.attrs["app_time_total"], ds.attrs["mpi_time_total"]) == (0.00176, 0.0247)


def test_mpip__a_row_joins_time_and_payload_of_its_site_and_rank():
    # Sendrecv 16 1 50 0.205 0.0237 0.00178 ms; sent 6.641e+05 B
    sendrecv = row(load("mix_341.mpiP"), 16, 1)
    assert str(sendrecv.call.values) == "MPI_Sendrecv"
    assert int(sendrecv["count"]) == 50
    assert float(sendrecv.time) == pytest.approx(50 * 0.0237e-3, rel=1e-12)
    assert float(sendrecv.time_min) == pytest.approx(0.00178e-3, rel=1e-12)
    assert float(sendrecv.time_max) == pytest.approx(0.205e-3, rel=1e-12)
    assert float(sendrecv.bytes) == 664100.0
    assert (int(sendrecv["size"]), int(sendrecv.peer), str(sendrecv.region.values)) == (-1, -1, "")


def test_mpip__files_and_one_sided_calls_carry_the_bytes_they_moved():
    calls = by_call(load("mix_341.mpiP"))["bytes"]
    # 4 x 4006 B read, 4 x 1.638e+04 B written, 4 x 512 B got, 4 x 1024 B put
    assert calls["MPI_File_read_at"] == 16024.0
    assert calls["MPI_File_write_at"] == 65520.0
    assert calls["MPI_Get"] == 2048.0
    assert calls["MPI_Put"] == 4096.0
    assert calls["MPI_File_open"] == 0.0


def test_mpip__version_3_5_does_not_record_get_which_is_unknown_not_zero():
    ds = load("mix_350.mpiP")
    get = ds.bytes.values[ds.call.values == "MPI_Get"]
    assert len(get) == 4
    assert np.isnan(get).all()
    assert by_call(ds).loc["MPI_Put", "bytes"] == 4096.0


@pytest.mark.parametrize(
    ("name", "site", "call", "milliseconds"),
    [
        ("mix_341.mpiP", 19, "MPI_File_open", 8.53),  # header: Time App% MPI% COV
        ("mix_350_d.mpiP", 20, "MPI_File_open", 8.25),  # Time App% MPI% Count COV
    ],
)
def test_mpip__aggregate_time_is_read_by_its_header(name, site, call, milliseconds):
    ds = load(name)
    at = (ds.site.values == site) & (ds.call.values == call)
    assert ds.time.values[at].sum() == pytest.approx(milliseconds * 1e-3, rel=0.005)
    assert "aggregate-time-differs" not in ds.attrs["flags"]


def test_mpip__a_wrong_aggregate_is_flagged_with_its_line():
    data = edit(
        raw("mix_341.mpiP"), b"Waitall                13       1.49", b"Waitall                13       9.49"
    )
    ds = mpip.parse(data, "a.mpiP")
    assert "aggregate-time-differs" in ds.attrs["flags"]
    assert any(
        w.startswith("a.mpiP:80: MPI_Waitall at site 13: 0.00949 s in this list")
        for w in ds.attrs["warnings"]
    ), ds.attrs["warnings"]
    assert ds.attrs["complete"]


def test_mpip__mpi_time_over_app_time_is_a_warning_not_damage():
    ds = load("mix_341.mpiP")
    assert ds.attrs["complete"]
    assert ds.attrs["flags"] == ["mpi-time-over-app-time"]
    assert ds.attrs["warnings"] == [
        "mix_341.mpiP:19: MPI time exceeds AppTime on 4 of 4 ranks (MPI% up to 1217.57); "
        "AppTime was reset on the way, as MPI_Pcontrol does: use no share of AppTime"
    ]


def test_mpip__app_time_counted_twice_is_flagged():
    # 2 s from start to stop; AppTime 2.04 and 2.05 s
    data = raw("hpcg_mpich_2.mpiP")
    assert mpip.parse(data).attrs["flags"] == []
    doubled = data.replace(b"      2.04       1.42    69.84", b"      4.08       1.42    34.80")
    doubled = doubled.replace(b"4.08       2.85    69.91", b"6.13       2.85    46.49")
    assert mpip.parse(doubled).attrs["flags"] == ["app-time-over-elapsed"]


def test_mpip__collective_histogram_is_held_against_the_sites():
    data = raw("osu_alltoall_8.mpiP")
    assert mpip.parse(data).attrs["flags"] == []
    # 48 % in the report; 3.52 + 0.101 + 0.037 s of 7.64 s
    wrong = edit(data, b"Barrier                      48 ", b"Barrier                      24 ")
    ds = mpip.parse(wrong, "osu.mpiP")
    assert ds.attrs["flags"] == ["collective-time-differs"]
    assert (
        "MPI_Barrier: 24 % of MPI time in this histogram, 48 % at its call sites" in ds.attrs["warnings"][0]
    )


@pytest.mark.parametrize(("rows", "flags"), [(19, ["collective-time-differs"]), (20, [])])
def test_mpip__a_histogram_of_twenty_rows_may_lack_some(rows: int, flags: list[str]) -> None:
    """Half of 10 s is in the histogram, all at the call sites; mpiP prints twenty rows at most."""
    bins = [Bin(at, "MPI_Barrier", "collective", 50 / rows, (0, 1, 0, 7)) for at in range(rows)]
    obs = {"call": np.array(["MPI_Barrier"], dtype=object), "time": np.array([10.0]), "count": np.array([1])}
    times = Times(app={0: 12.5}, mpi={0: 10.0}, mpi_total=10.0)
    assert check_collectives(bins, obs, times, Faults("report.mpiP")) == flags


def test_mpip__sites_are_held_against_mpi_time():
    data = edit(
        raw("osu_alltoall_8.mpiP"), b"2    0   3560     5.89    0.109", b"2    0   3560     5.89    0.999"
    )
    # Its site in all: (8 x 0.139 - 0.109 + 0.999) / 8 ms a call.
    data = edit(data, b"2    *  28480     6.78    0.139", b"2    *  28480     6.78    0.250")
    flags = mpip.parse(data).attrs["flags"]
    assert "callsite-time-differs" in flags
    assert "aggregate-time-differs" in flags


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b"2    0   3560     5.89    0.109", b"2    0   3560     5.89    0.999", "Alltoall at site 2"),
        (b"2    0   3560     5.89    0.109", b"2    0   3560     7.89    0.109", "Alltoall at site 2"),
        (b"2    4   3560     5.54   0.0551  0.00273", b"2    4   3560     5.54   0.0551  0.00173", "site 2"),
        (b"2    *  28480     6.78", b"2    *  28480     6.98", "Alltoall at site 2"),
        (
            b"2    5    3560 1.638e+04      1427         1 5.079e+06",
            b"2    5    3560 1.638e+04      1427         1 5.279e+06",
            "site 2 of 'Callsite Message Sent",
        ),
        (
            b"\nAlltoall             2    5    3560 1.638",
            b"\nAlltoall             7    5    3560 1.638",
            "site 7 of 'Callsite Message Sent",
        ),
    ],
)
def test_mpip__rows_of_ranks_are_held_against_their_star(old, new, found):
    """Largest, least and sum of eight rows by eye in the report; one digit of one row is another."""
    ds = mpip.parse(edit(raw("osu_alltoall_8.mpiP"), old, new))
    assert not ds.attrs["complete"]
    assert any(found in warning and " its * row " in warning for warning in ds.attrs["warnings"])


def test_mpip__a_single_call_has_one_time():
    single = b"Comm_split          12    0      1    0.328    0.328    0.328"
    ds = mpip.parse(edit(raw("mix_350.mpiP"), single, single.replace(b"0.328", b"0.329", 1)))
    assert any("Comm_split at site 12: its * row contradicts" in w for w in ds.attrs["warnings"])


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            b"   0       2.04       1.42",
            b"   0       2.14       1.42",
            "rank 0: 1.42 s of 2.14 s are not 69.84 %",
        ),
        (
            b"   1       2.05       1.43    69.98",
            b"   1       2.05       1.43    64.98",
            "rank 1: 1.43 s of 2.05 s are not",
        ),
        (
            b"   *       4.08       2.85",
            b"   *       4.08       2.95",
            "MPITime of the ranks is 2.85 s in sum, its * row says 2.95 s",
        ),
        (
            b"   *       4.08",
            b"   *       6.08",
            "AppTime of the ranks is 4.09 s in sum, its * row says 6.08 s",
        ),
    ],
)
def test_mpip__times_are_held_against_shares_and_sums(old, new, found):
    ds = mpip.parse(edit(raw("hpcg_mpich_2.mpiP"), old, new))
    assert "mpi-time-contradicts-itself" in ds.attrs["flags"]
    assert any(found in warning for warning in ds.attrs["warnings"]), ds.attrs["warnings"]


def test_mpip__edges_of_bins_are_powers_of_two():
    data = raw("osu_alltoall_8.mpiP")
    size = re.search(rb"4096 -     8191", data)[0]
    ds = mpip.parse(edit(data, size, size.replace(b"4096", b"6096")))
    assert any("edges are no powers of two" in warning for warning in ds.attrs["warnings"])
    assert not ds.attrs["complete"]


def test_mpip__histograms_have_exact_bins():
    ds = load("osu_alltoall_8.mpiP")
    assert ds.sizes["histogram"] == 15  # "No point to point operations to report"
    # Alltoall  7.69  8 - 15  8192 - 16383
    bins = ds.isel(histogram=2)
    assert str(bins.histogram_call.values) == "MPI_Alltoall"
    assert str(bins.histogram_kind.values) == "collective"
    edges = [int(bins[name]) for name in ("comm_low", "comm_high", "size_low", "size_high")]
    assert edges == [8, 15, 8192, 16383]
    assert float(bins.share) == 7.69
    assert ds.share.attrs["units"] == "percent"


def test_mpip__point_to_point_histogram_has_its_kind():
    ds = load("mix_341.mpiP")
    point = ds.histogram_kind.values == "point-to-point"
    assert point.sum() == 13
    assert ds.share.values[point][:2].tolist() == [64.9, 21.6]
    assert ds.size_low.values[point][:2].tolist() == [65536, 16384]


def test_mpip__callsites_keep_source_lines_and_stacks():
    ds = load("mix_350.mpiP")
    assert ds.callsite.values.tolist() == list(range(1, 23))
    assert ds.callsite_name.values[2] == "mix.c:7 ring < mix.c:15 main"
    assert ds.callsite_name.values[21] == "mix.c:10 anysrc < libc-start.c:58 __libc_start_call_main"
    assert ds.callsite_call.values[2] == "MPI_Sendrecv"


def test_mpip__address_rows_have_no_line_and_ids_over_999_shift_the_columns():
    assert load("mix_341.mpiP").callsite_name.values[15] == "0x555555555370 < 0x5555555554a1"
    ds = load("hpcg_aslr_64.mpiP.xz")
    assert ds.callsite.values[[0, 999, 4607]].tolist() == [1, 1000, 4608]
    assert ds.callsite_name.values[1].startswith("ExchangeHalo.cpp:102 _Z12ExchangeHalo")
    assert " < ComputeSPMV_ref.cpp:53 " in ds.callsite_name.values[1]
    assert ds.callsite_call.values[1] == "MPI_Wait"


def test_mpip__four_levels_of_stack():
    ds = load("hpcc_2.mpiP.xz")
    assert ds.sizes["callsite"] == 425
    assert ds.callsite_name.values[0] == ("0x555555583656 < 0x555555583b5e < 0x55555558418f < 0x555555584b90")
    calls = by_call(ds)
    assert calls.loc["MPI_Testany", "count"] == 1060070
    assert calls.loc["MPI_Isend", "bytes"] == 796221292.0


def test_mpip__without_depth_a_site_is_an_operation():
    ds = load("mix_350_k0.mpiP")
    assert "callsite" not in ds
    assert ds.sizes["obs"] == 72
    assert set(ds.site.values[ds.call.values == "MPI_Sendrecv"]) == {150}
    assert by_call(ds).loc["MPI_Sendrecv", "count"] == 260


def test_mpip__concise_rows_stand_for_all_ranks():
    ds = load("mix_350_c.mpiP")
    assert ds.attrs["complete"]
    assert ds.attrs["detail"] == "task"
    assert set(ds["rank"].values) == {-1}
    # Sendrecv 11: 4 tasks, mean 1.986 ms and 6.641e+05 B; 200 calls in Aggregate Time
    sendrecv = row(ds, 11, -1)
    assert float(sendrecv.time) == pytest.approx(4 * 1.986e-3, rel=1e-12)
    assert float(sendrecv.bytes) == 2656400.0
    assert int(sendrecv["count"]) == 200
    # Put is the only one-sided site, so its section is missing; Aggregate RMA has 4.1e+03 B
    assert float(row(ds, 3, -1).bytes) == 4100.0
    # Get is in no list: no count, and its payload is not recorded
    get = row(ds, 7, -1)
    assert int(get["count"]) == -1
    assert np.isnan(get.bytes)
    assert any("not counted at 2 of 22 sites" in w for w in ds.attrs["warnings"])


def test_mpip__concise_mode_says_nothing_of_single_ranks():
    ds = load("mix_350_c.mpiP")
    assert ds.attrs["ranks_expected"] == 4  # 0.002464 s in all / 0.000616 s on average
    assert np.isnan(ds.app_time.values).all()
    assert ds.attrs["mpi_time_total"] == 0.040706
    assert set(ds.host.values) == {""}


def test_mpip__without_details_the_top_twenty_are_what_there_is():
    ds = load("mix_350_d.mpiP")
    assert ds.attrs["complete"]
    assert ds.attrs["detail"] == "top"
    assert ds.sizes["obs"] == 20
    sendrecv = row(ds, 11, -1)
    assert float(sendrecv.time) == pytest.approx(4.01e-3, rel=1e-12)
    assert (int(sendrecv["count"]), float(sendrecv.bytes)) == (200, 2.66e6)
    assert float(ds.mpi_time.values[2]) == 0.00598


@pytest.mark.parametrize("name", FILES)
def test_mpip__unusual_blanks_change_nothing(name):
    # Neither tabs among the rows nor blank lines in the list of call sites are what Arrow is given.
    data = raw(name)
    unusual = re.sub(rb"(?m)^(\w+ +\d+) (?= *[\d*])", rb"\1\t", data)
    unusual = re.sub(rb"(?m)^( +\d+ +0 .*)$", rb"\1\n  ", unusual)
    assert unusual != data
    assert mpip.parse(unusual, name).drop_attrs().identical(mpip.parse(data, name).drop_attrs())


@pytest.mark.parametrize("name", FILES)
def test_mpip__real_reports_are_complete_and_conform(name):
    ds = readers.parse(raw(name), name, engine="mpip")
    registry.check(ds)
    assert ds.attrs["complete"], ds.attrs["warnings"]
    total = ds.attrs["mpi_time_total"]
    assert float(ds.time.sum()) == pytest.approx(total, rel=0.01)


def test_mpip__opens_as_an_xarray_engine(tmp_path):
    path = tmp_path / "mix.4.1.1.mpiP"
    path.write_bytes(raw("mix_341.mpiP"))
    ds = xr.open_dataset(path, engine="mpip")
    assert ds.attrs["tool"] == "mpiP"
    assert int(ds["count"].sum()) == 370  # awk over the * rows


@pytest.mark.parametrize("data", [b"", b"\n\n", b"HPCG benchmark\nVersion=3.1\n", b"<ipm_job_profile>\n"])
def test_mpip__other_bytes_are_refused(data):
    with pytest.raises(ReadError, match=r"^x: is (empty|no mpiP report)"):
        mpip.parse(data, "x")
    assert not mpip.sniff(data, "x.mpiP")


def test_mpip__sniffs_by_content():
    assert mpip.sniff(raw("mix_341.mpiP")[:65536], "renamed.txt")
