from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analysis import readers
from analysis.datasets import profile as metrics
from analysis.readers import ipm
from analysis.readers.ipm import banner as ipm_banner

DATA = Path(__file__).parents[1] / "data/ipm"

# The layout of IPM 0.9x, with numbers of our own.
OLD = b"""hello
##IPMv0.983####################################################################
#
# command : ./a.out -x : y (completed)
# host    : n1/x86_64_Linux                mpi_tasks : 4 on 2 nodes
# start   : 04/30/10/13:09:19              wallclock : 2.500000 sec
# stop    : 04/30/10/13:09:22              %comm     : 20.00
# gbytes  : 2.00000e+00 total              gflop/sec : 0.00000e+00 total
#
##############################################################################
# region  : *       [ntasks] =      4
#
#                           [total]         <avg>           min           max
# entries                          4             1             1             1
# wallclock                       10           2.5           2.4           2.6
# mpi                              2           0.5          0.25          0.75
# %comm                                         20            10            30
# gbytes                           2           0.5           0.5           0.5
#
#                            [time]       [calls]        <%mpi>      <%wall>
# MPI_Allreduce                 1.5           400         75.00        15.00
# MPI_Comm_rank         5.00000e-01             4         25.00         5.00
###############################################################################
done
"""


def test_ipm_banner__numbers_of_the_file_by_hand():
    ds = readers.open(DATA / "osu_allreduce_n8.stdout.txt", engine="ipm")
    assert ds.attrs["source_form"] == "banner"
    table = ds.set_index(obs="call")
    assert (int(table["count"].sel(obs="MPI_Allreduce")), float(table["time"].sel(obs="MPI_Allreduce"))) == (
        28480,
        16.12,
    )
    assert int(ds["count"].sum()) == 57592  # the banner's own total of calls
    assert ds.sizes["rank"] == ds.attrs["ranks_expected"] == 8
    assert set(ds["rank"].values) == set(ds["size"].values) == set(ds["peer"].values) == {-1}
    for name in ("app_time", "mpi_time", "memory"):
        assert np.isnan(ds[name].values).all()
    assert (ds.attrs["wall_time_max"], ds.attrs["mpi_time_mean"], ds.attrs["comm_percent"]) == (
        3.48,
        2.85,
        82.93,
    )
    assert ds.attrs["memory_total"] == 0.14 * 2**30
    assert ds.attrs["command"].endswith("osu_allreduce -m 65536 -i 50")
    assert (ds.attrs["started"], ds.attrs["nodes"]) == ("Fri Nov 20 23:38:39 2026", 1)
    assert ds.attrs["complete"]
    assert ds.attrs["warnings"] == []


def test_ipm_banner__regions_replace_the_total():
    ds = readers.open(DATA / "mix_n4.banner.txt", engine="ipm")
    counts = ds.set_index(obs=["region", "call"])["count"].to_series()
    assert counts[("solve phase", "MPI_Comm_rank")] == 260
    assert counts[("io", "MPI_Comm_rank")] == 12
    assert counts[("ipm_noregion", "MPI_Comm_rank")] == 4
    assert counts.sum() == 866
    assert metrics.calls(ds).set_index("call")["count"]["MPI_Comm_rank"] == 276
    assert ds.attrs["command"] == '/opt/bench/mix_ompi arg<1>&"q"'


def test_ipm_banner__agrees_with_the_profile_of_the_same_run():
    banner = metrics.calls(readers.open(DATA / "mix_posixio_n4.banner.txt", engine="ipm")).set_index("call")
    profile = metrics.calls(readers.open(DATA / "mix_posixio_n4.ipm.xml", engine="ipm")).set_index("call")
    assert banner["count"].to_dict() == profile["count"].to_dict()
    # Two decimals a region, three regions.
    np.testing.assert_allclose(banner["time"], profile["time"], atol=0.015)


def test_ipm_banner__terse_has_no_calls():
    ds = readers.open(DATA / "mix_terse_n4.banner.txt", engine="ipm")
    assert ds.sizes["obs"] == 0
    assert ds.attrs["mpi_time_total"] == 2.29
    assert any("IPM_REPORT=full" in warning for warning in ds.attrs["warnings"])


def test_ipm_banner__version_0_9():
    ds = ipm_banner.parse(OLD)
    assert ds["call"].values.tolist() == ["MPI_Allreduce", "MPI_Comm_rank"]
    assert ds["count"].values.tolist() == [400, 4]
    assert ds["time"].values.tolist() == [1.5, 0.5]
    assert (ds.attrs["tool_version"], ds.attrs["nodes"], ds.sizes["rank"]) == ("0.983", 2, 4)
    assert ds.attrs["command"] == "./a.out -x : y (completed)"
    assert (ds.attrs["wall_time_min"], ds.attrs["mpi_time_max"], ds.attrs["memory_total"]) == (
        2.4,
        0.75,
        2.0**31,
    )
    assert ds.attrs["comm_percent"] == 20.0
    assert ds.attrs["complete"]
    assert ds.attrs["warnings"] == []


def test_ipm_banner__counts_of_a_million_and_more():
    """0.9x prints every number of a row with %g; the layout is that of a published 0.982 banner."""
    data = OLD.replace(b"           400         75.00", b"   1.23457e+06         75.00")
    ds = ipm_banner.parse(data, "x")
    assert ds["count"].values.tolist() == [1234570, 4]
    assert float(ds["time"].sum()) == 2.0
    assert (ds.attrs["complete"], ds.attrs["warnings"]) == (True, [])
    assert "six digits" in ds.attrs["caveats"]
    assert "six digits" not in ipm_banner.parse(OLD).attrs["caveats"]


def test_ipm_banner__calls_are_held_against_the_totals():
    lost = ipm_banner.parse(
        OLD.replace(b"# MPI_Comm_rank         5.00000e-01", b"# MPI_Comm_rank         5.0#000e-01"), "x"
    )
    assert not lost.attrs["complete"]
    assert [warning.split(";")[0] for warning in lost.attrs["warnings"]] == [
        "x:22: no line of a banner: '# MPI_Comm_rank         5.0#000e-01             4         25'",
        "x:20: the calls of region '*' add up to 1.5 of 2 s",
    ]
    data = (DATA / "mix_n4.banner.txt").read_bytes()
    flipped = ipm_banner.parse(data.replace(b"0.50            260", b"0.90            260", 1), "x")
    assert any("the calls add up to 1.06 of 0.65 s" in warning for warning in flipped.attrs["warnings"])
    # grep: the run's own row '#calls / MPI : 866'
    flipped = ipm_banner.parse(data.replace(b"0.50            260", b"0.50            261", 1), "x")
    assert any("the calls add up to 867 of 866 calls" in warning for warning in flipped.attrs["warnings"])
    assert not flipped.attrs["complete"]


def test_ipm_banner__means_are_totals_by_ranks_between_their_bounds():
    data = (DATA / "osu_allreduce_n8.stdout.txt").read_bytes()
    # 27.53 s by 8 ranks are 3.44 s; the shortest and the longest are 3.41 and 3.48 s.
    for old, new in (
        (b"27.53         3.44", b"29.53         3.44"),
        (b"3.44         3.41", b"3.44         3.51"),
    ):
        assert data.count(old) == 1
        ds = ipm_banner.parse(data.replace(old, new), "x")
        assert not ds.attrs["complete"]
        assert any("wallclock: 3.44 is no mean of" in warning for warning in ds.attrs["warnings"])
    row = b"mpi                              2           0.5"
    assert OLD.count(row) == 1
    ds = ipm_banner.parse(OLD.replace(row, row.replace(b"0.5", b"0.7")), "x")
    assert any("mpi: 0.7 is no mean of 2 in all" in warning for warning in ds.attrs["warnings"])


def test_ipm_banner__regions_that_a_cut_took_are_named():
    """Of 866 calls of the run 780 and 32 are in the first two regions: grep '#calls' -A1."""
    data = (DATA / "mix_n4.banner.txt").read_bytes()
    rule = b"#" * 67 + b"\n"
    first, _, third = _places(data, rule * 2)
    assert ipm_banner.parse(data).attrs["complete"]
    cut = ipm_banner.parse(data[: third + len(rule)], "x")
    assert not cut.attrs["complete"]
    assert any("the regions hold 812 of 866 calls" in warning for warning in cut.attrs["warnings"])
    assert int(cut["count"].sum()) == 866  # those of the run, whose table is whole
    # A second rule, or half of one, is the beginning of a region.
    for at in (first + 2 * len(rule), first + len(rule) - 20):
        cut = ipm_banner.parse(data[:at], "x")
        assert cut.attrs["warnings"][0].endswith("the banner is cut short; what is whole was kept")
        assert not cut.attrs["complete"]


def _places(data: bytes, text: bytes) -> list[int]:
    return [at for at in range(len(data)) if data.startswith(text, at)]


def test_ipm_banner__decimal_commas():
    data = (DATA / "osu_allreduce_n8.stdout.txt").read_bytes()
    at = data.index(b"##IPM")
    german = data[:at] + data[at:].replace(b".", b",").replace(b"2,0,6", b"2.0.6")
    ds = ipm_banner.parse(german)
    assert ds["time"].values[0] == 16.12
    assert ds.attrs["wall_time_max"] == 3.48


def test_ipm_banner__other_output_before_and_after():
    data = b"x\n" * 70_000 + OLD + b"# a comment of the program\n# 1 2 3 4\n"
    ds = ipm.parse(data)
    assert ds.sizes["obs"] == 2
    assert ds.attrs["warnings"] == []


def test_ipm_banner__two_runs_warn():
    ds = ipm.parse(OLD + OLD, "out.txt")
    assert ds.sizes["obs"] == 2
    assert any(warning.startswith("out.txt:2: more than one banner") for warning in ds.attrs["warnings"])


@pytest.mark.parametrize("name", ["mix_n4.banner.txt", "osu_allreduce_n8.stdout.txt"])
def test_ipm_banner__cut_anywhere(name):
    data = (DATA / name).read_bytes()
    whole = ipm.parse(data)
    counts = {call: int(n) for call, n in metrics.calls(whole).set_index("call")["count"].items()}
    cuts = range(data.index(b"##IPM") + 20, data.rstrip().rindex(b"\n"), 197)
    assert len(cuts) >= 7
    for at in cuts:
        ds = ipm.parse(data[:at])
        assert not ds.attrs["complete"] or b"# region" in data[at:], at
        got = metrics.calls(ds).set_index("call")["count"].to_dict() if ds.sizes["obs"] else {}
        # A table that is cut within a line can lose digits of the last field only, not of the count.
        assert got.items() <= counts.items(), at


def test_ipm_banner__garbled_anywhere():
    data = (DATA / "mix_n4.banner.txt").read_bytes()
    counts = metrics.calls(ipm.parse(data)).set_index("call")["count"].to_dict()
    assert len(counts) == 14
    left = []
    for garbage in (b"\x00", b"\xff", b"\n", b"9" * 30):
        for at in range(20, len(data), 197):
            ds = ipm.parse(data[:at] + garbage + data[at + 1 :])
            got = metrics.calls(ds).set_index("call")["count"].to_dict() if ds.sizes["obs"] else {}
            assert got.items() <= counts.items(), (garbage, at)
            left.append(len(got))
    # A byte costs its row; five of these 108 hit the head of the table or of the banner.
    assert Counter(left) == {14: 87, 13: 16, 0: 5}
