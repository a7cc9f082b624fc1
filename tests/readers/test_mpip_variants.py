"""Variants that other versions, options and locales write, and damaged reports."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.files import read_bytes
from analysis.readers import mpip
from analysis.readers.mpip.rows import squeeze
from analysis.schema import registry

DATA = Path(__file__).parents[1] / "data/mpip"
RULE = "-" * 75
NUMBERS = ("count", "time", "time_min", "time_max", "bytes")


def raw(name: str) -> bytes:
    return read_bytes(DATA / name)


def section(title: str, *rows: str) -> str:
    return "\n".join([RULE, f"@--- {title} ".ljust(75, "-"), RULE, *rows, ""])


def report(*sections: str, header: str = "", ranks: int = 2) -> bytes:
    """Write a small report of our own."""
    head = f"@ mpiP\n@ Command : ./app \n@ Version                  : 2.5\n{header}"
    head += "".join(f"@ MPI Task Assignment      : {rank} n{rank}\n" for rank in range(ranks))
    return "".join([head, "\n", *sections, section("End of Report"), RULE, "\n"]).encode()


TIMES = section(
    "MPI Time (seconds)",
    "Task    AppTime    MPITime     MPI%",
    "   0         10       0.02     0.20",
    "   1         10       0.04     0.40",
    "   *         20       0.06     0.30",
)
COLUMNS = "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%"
SENT_COLUMNS = "Name              Site Rank   Count       Max      Mean       Min       Sum"
OLD_TIME = section(
    "Callsite statistics (all, milliseconds): 3",
    COLUMNS,
    "Isend                1    0     10        3        1      0.5   0.10  50.00",
    "Isend                1    1     20        2        1      0.5   0.20  50.00",
    "Isend                1    *     30        3        1      0.5   0.15  50.00",
    "",
    "Waitany           1234    1     10        3        2      0.5   0.20  50.00",
    "Waitany           1234    *     10        3        2      0.5   0.10  33.33",
)
OLD_SENT = section(
    "Callsite statistics (all, sent bytes)",
    SENT_COLUMNS,
    "Isend                1    0      10        80        80        80       800",
    "Isend                1    *      10        80        80        80       800",
)


def test_mpip__titles_of_version_2_5():
    top = section(
        "Aggregate Time (top twenty, descending, milliseconds)",
        "Call                 Site       Time    App%    MPI%",
        "Isend                   1         30    0.15   50.00",
        "Waitany              1234         20    0.10   33.33",
    )
    sites = section(
        "Callsites: 2",
        " ID Lev File/Address                 Line Parent_Funct          MPI_Call",
        "  1   0 src/a wrapper.c   435 .MPI_Isend_Wrapper   Isend",
        "  1   1 src/main.c         32 .main                     ",
        "1234   0 src/b.c          12 std::vector<int, A>::f(int) const Waitany",
    )
    times = TIMES.replace("0.02     0.20", "0.01     0.10").replace("0.06     0.30", "0.05     0.25")
    ds = mpip.parse(report(times, sites, top, OLD_TIME, OLD_SENT))
    assert ds.attrs["warnings"] == []
    assert ds.attrs["complete"]
    assert ds["count"].values.tolist() == [10, 20, 10]
    assert ds.time.values.tolist() == pytest.approx([0.01, 0.02, 0.02])
    assert ds.bytes.values.tolist() == [800.0, 0.0, 0.0]
    assert ds.callsite_name.values.tolist() == [
        "src/a wrapper.c:435 .MPI_Isend_Wrapper < src/main.c:32 .main",
        "src/b.c:12 std::vector<int, A>::f(int) const",
    ]
    assert ds.host.values.tolist() == ["n0", "n1"]


def test_mpip__rows_below_a_threshold_become_a_rest_of_rank_minus_one():
    # -t 60 leaves the rows of rank 0 out; its payload is listed all the same
    kept = OLD_TIME.replace(
        "Isend                1    0     10        3        1      0.5   0.10  50.00\n", ""
    )
    data = report(TIMES, kept, OLD_SENT, header="@ MPIP env var             : -t 60\n")
    ds = mpip.parse(data)
    assert ds.attrs["complete"]
    rest = ds.isel(obs=2)
    assert (int(rest["rank"]), int(rest.site), int(rest["count"])) == (-1, 1, 10)
    assert float(rest.time) == pytest.approx(0.01)
    assert np.isnan(rest.time_min)
    assert float(rest.bytes) == 800.0
    assert int(ds["count"].sum()) == 30 + 10  # the * rows


def test_mpip__a_missing_row_without_threshold_is_damage():
    kept = OLD_TIME.replace(
        "Isend                1    0     10        3        1      0.5   0.10  50.00\n", ""
    )
    ds = mpip.parse(report(TIMES, kept, OLD_SENT), "a")
    assert not ds.attrs["complete"]
    assert "MPI_Isend at site 1: 10 of 30 calls are in no row of a rank" in ds.attrs["warnings"][0]
    assert int(ds["count"].sum()) == 40


def test_mpip__collective_report_ends_sites_with_blank_lines():
    name = "mix_341.mpiP"
    data = re.sub(rb"(?m)^(\S+ +\d+ +\* .*)$", rb"\1\n\n", raw(name))
    assert data.count(b"\n") > raw(name).count(b"\n") + 18
    assert mpip.parse(data, name).drop_attrs().identical(mpip.parse(raw(name), name).drop_attrs())


@pytest.mark.parametrize("name", ["mix_341.mpiP", "mix_350_c.mpiP", "hpcg_mpich_2.mpiP"])
def test_mpip__decimal_commas(name):
    head, dashes, body = raw(name).partition(RULE.encode())
    german = head + dashes + re.sub(rb"(?<=\d)\.(?=\d)", b",", body)
    assert german.count(b",") > 50
    assert mpip.parse(german, name).identical(mpip.parse(raw(name), name))


def test_mpip__line_ends_of_windows():
    name = "mix_350.mpiP"
    assert mpip.parse(raw(name).replace(b"\n", b"\r\n"), name).identical(mpip.parse(raw(name), name))


def test_mpip__garbage_in_the_command_costs_nothing(tmp_path):
    name = "mix_341.mpiP"
    for garbage in (b"", b"/a \xff\x00\x07 b", b"one\ntwo"):
        data = raw(name).replace(b"/opt/bench/mix_ompi ", garbage, 1)
        ds = mpip.parse(data, name)
        assert ds.attrs["complete"]
        assert int(ds["count"].sum()) == 370
        assert "\x00" not in ds.attrs["command"]
    assert ds.attrs["command"] == "one"


def test_mpip__task_assignment_without_a_host():
    data = raw("mix_341.mpiP").replace(b": 2 vm\n", b": 2 \n")
    ds = mpip.parse(data)
    assert ds.attrs["complete"]
    assert ds.host.values.tolist() == ["vm", "vm", "", "vm"]


def test_mpip__absent_payload_is_unknown_not_zero():
    ds = mpip.parse(report(TIMES, OLD_TIME))
    assert ds.attrs["complete"]
    assert np.isnan(ds.bytes.values).all()


def test_mpip__a_heading_that_is_damaged_costs_its_section_and_is_named():
    data = raw("mix_341.mpiP").replace(b"@--- Callsite Time", b"@--- Callsit3 Time")
    ds = mpip.parse(data, "m")
    assert not ds.attrs["complete"]
    assert ds.sizes["obs"] == 0
    assert ds.attrs["detail"] == "none"
    assert ds.attrs["warnings"][0].startswith("m:144: section 'Callsit3 Time statistics")


def test_mpip__a_damaged_row_is_named_and_its_calls_stay_counted():
    data = raw("mix_341.mpiP").replace(
        b"Bcast                8    1      1   0.0266", b"Bcast                8    1      x   0.0266"
    )
    ds = mpip.parse(data, "m")
    assert not ds.attrs["complete"]
    assert (
        "m:154: row of 'Callsite Time statistics (all, milliseconds): 80': 'x' is no whole number; "
        in (ds.attrs["warnings"][0])
    )
    assert int(ds["count"].sum()) == 370


@pytest.mark.parametrize(("old", "new"), [(b"Min       Sum", b"Min       Sxm"), (b"Name    ", b"N me    ")])
def test_mpip__a_damaged_column_header(old, new):
    data = raw("mix_341.mpiP")
    at = data.index(b"@--- Callsite Message")
    ds = mpip.parse(data[:at] + data[at:].replace(old, new), "m")
    assert not ds.attrs["complete"]
    sendrecv = ds.bytes.values[(ds.call.values == "MPI_Sendrecv") & (ds.site.values == 16)]
    if new == b"Min       Sxm":
        assert sendrecv.tolist() == [664100.0] * 4
    else:
        assert np.isnan(sendrecv).all()
    assert any(w.startswith("m:271: ") for w in ds.attrs["warnings"]), ds.attrs["warnings"]


def test_mpip__not_a_number_in_a_column_that_is_used():
    data = raw("mix_341.mpiP").replace(b"   0.0266   0.0266   0.0266", b"   0.0266     -nan   0.0266")
    ds = mpip.parse(data)
    assert not ds.attrs["complete"]
    assert not np.isnan(ds.time).any()


def test_mpip__infinite_shares_are_harmless():
    # AppTime 0 makes App% infinite; the column is not used
    data = raw("mix_341.mpiP").replace(b"   5.02   0.52", b"    inf   -nan")
    assert mpip.parse(data, "m").identical(mpip.parse(raw("mix_341.mpiP"), "m"))


def test_mpip__ranks_of_a_cut_header_come_from_the_file_name():
    data = raw("hpcg_aslr_64.mpiP.xz")
    cut = data[: data.index(b"@ MPI Task Assignment      : 30")]
    assert mpip.parse(cut, "d/xhpcg.64.30874.1.mpiP").attrs["ranks_expected"] == 64
    assert mpip.parse(cut, "renamed").attrs["ranks_expected"] == 30
    assert mpip.parse(data, "xhpcg.4.30874.1.mpiP").attrs["ranks_expected"] == 64


def test_mpip__numbers_that_damage_makes_huge_cost_no_memory():
    rows = OLD_TIME.replace("Isend                1    1 ", "Isend       2147483647 2147483647 ")
    ds = mpip.parse(report(rows, ranks=0))
    assert ds.sizes["rank"] <= 3
    assert not ds.attrs["complete"]


def test_mpip__of_two_reports_in_one_file_the_first_is_read():
    data = raw("mix_341.mpiP")
    ds = mpip.parse(data + raw("mix_350.mpiP"), "m")
    assert not ds.attrs["complete"]
    assert int(ds["count"].sum()) == 370
    assert any("sections follow 'End of Report'" in warning for warning in ds.attrs["warnings"])


def keyed(ds: xr.Dataset) -> dict[tuple[str, int, int], tuple[float, ...]]:
    columns = [ds[name].values.tolist() for name in ("call", "site", "rank", *NUMBERS)]
    return {(call, site, rank): tuple(rest) for call, site, rank, *rest in zip(*columns, strict=True)}


def agrees(ours: tuple[float, ...], whole: tuple[float, ...]) -> bool:
    """Tell whether a kept row is the row of the whole file; its payload may have become unknown."""
    same = [a == b or (np.isnan(a) and np.isnan(b)) for a, b in zip(ours, whole, strict=True)]
    return all(same[:-1]) and (same[-1] or bool(np.isnan(ours[-1])))


@pytest.mark.parametrize("name", ["mix_341.mpiP", "mix_350_c.mpiP", "mix_350_k0.mpiP"])
def test_mpip__cut_anywhere_keeps_what_is_whole(name):
    data = raw(name)
    whole = mpip.parse(data, name)
    rows = keyed(whole)
    kept = []
    for at in [*range(1, len(data) - 200, 397), *range(len(data) - 200, len(data) - 160, 3)]:
        if at < 7:  # "@ mpiP" itself
            with pytest.raises(ReadError):
                mpip.parse(data[:at], name)
            continue
        ds = mpip.parse(data[:at], name)
        registry.check(ds)
        assert ds.attrs["complete"] is False, at
        assert any("without 'End of Report'" in warning for warning in ds.attrs["warnings"]), at
        assert len(ds.attrs["warnings"]) <= 3, ds.attrs["warnings"]
        for key, values in keyed(ds).items():
            if name != "mix_350_c.mpiP":
                assert agrees(values, rows[key]), (at, key)
            else:  # the counts come from other sections, which stand above
                assert values[1] == rows[key][1], (at, key)
        for rank, seconds in enumerate(ds.app_time.values):
            assert np.isnan(seconds) or seconds == whole.app_time.values[rank]
        kept.append(ds.sizes["obs"])
    assert kept == sorted(kept)
    assert kept[-1] == whole.sizes["obs"]


@pytest.mark.parametrize("name", ["mix_341.mpiP", "mix_350_c.mpiP", "mix_350_d.mpiP", "hpcg_mpich_2.mpiP"])
def test_mpip__garbled_bytes_never_fail_and_leave_other_rows_alone(name):
    data = raw(name)
    rows = keyed(mpip.parse(data, name))
    rng = random.Random(7)
    starts = range(0, len(data), 97 * 6)
    assert len(starts) >= 8
    for start in starts:
        at = start + rng.randrange(97)
        garbled = bytearray(data)
        garbled[at : at + 3] = rng.choice(
            [b"\x00\xff\xfe", b"\n\n\n", b"   ", b"@--", b"9,9", b"*-*", b"\r0x"]
        )
        try:
            ds = mpip.parse(bytes(garbled), name)
        except ReadError:
            pytest.fail(f"refused with damage at byte {at}")
        registry.check(ds)
        if ds.attrs["detail"] == "rank":
            wrong = [
                key
                for key, values in keyed(ds).items()
                if key[2] >= 0 and not agrees(values, rows.get(key, values))
            ]
            # Three bytes touch two rows at most, and a payload row beside them.
            assert len(wrong) <= 2, (at, wrong)


def test_mpip__squeeze_keeps_one_blank_across_chunks():
    rng = random.Random(1)
    text = "".join(rng.choice(["a", " ", "   ", "\n", "12.5"]) for _ in range(300_000)).encode()
    assert squeeze(text) == re.sub(rb" +", b" ", text)
    assert squeeze(b"x  y", 1, 4) == b" y"
    assert squeeze(b"") == b""


def test_mpip__three_decimals_of_option_e_are_no_contradiction():
    """With -e mpiP prints %.3f for %.3g (report.c of 3.5): 1.4 ms of MPI time are 0.001 s."""
    times = section(
        "MPI Time (seconds)",
        "Task    AppTime    MPITime     MPI%",
        "   0      0.250      0.001     0.56",
        "   1      0.250      0.001     0.56",
        "   *      0.500      0.003     0.56",
    )
    aggregate = section(
        "Aggregate Time (top twenty, descending, milliseconds)",
        "Call                 Site       Time    App%    MPI%      Count    COV",
        "Isend                   1      2.800    0.56  100.00         20   0.00",
    )
    sites = section(
        "Callsite Time statistics (all, milliseconds): 3",
        COLUMNS,
        "Isend                1    0     10    0.200    0.140    0.100   0.56 100.00",
        "Isend                1    1     10    0.200    0.140    0.100   0.56 100.00",
        "Isend                1    *     20    0.200    0.140    0.100   0.56 100.00",
    )
    ds = mpip.parse(report(times, aggregate, sites), "x")
    assert (ds.attrs["flags"], ds.attrs["warnings"]) == ([], [])
    # What decimals cannot explain is still a contradiction.
    wrong = mpip.parse(report(times, aggregate, sites.replace("0.200    0.140", "0.400    0.340")), "x")
    assert any("call sites take" in warning for warning in wrong.attrs["warnings"])


def test_mpip__option_l_prints_0_for_ranks_that_never_came_to_a_site() -> None:
    """The Send of mix.c at site 22 is of ranks 1 to 3, the Bcast at site 14 of all four."""
    text = raw("mix_350.mpiP")
    send = b"   22    *      9      1.1    0.141  0.00702"
    bcast = b"   14    *      4   0.0328   0.0199  0.00635"
    assert text.count(send) == text.count(bcast) == 1
    whole = mpip.parse(text.replace(send, send.replace(b"0.00702", b"      0")), "x")
    assert (whole.complete, whole.warnings) == (mpip.parse(text).complete, mpip.parse(text, "x").warnings)
    wrong = mpip.parse(text.replace(bcast, bcast.replace(b"0.00635", b"      0")), "x")
    assert wrong.complete is False
