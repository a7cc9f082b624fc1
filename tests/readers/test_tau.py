"""TAU's profiles: in the shape that TAU 2.18 to 2.34 write, numbers our own."""

# ruff: noqa: W291

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.datasets import profile

# MPI_Finalize opens and closes a file, as TAU's own wrapper does: 30 us of it are MPI_File_open's.
PROFILE = b"""\
9 templated_functions_MULTI_TIME
# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute><name>Metric Name</name><value>TIME</value>\
</attribute><attribute><name>Command Line</name><value>./app &lt;in.dat</value></attribute><attribute>\
<name>Hostname</name><value>login</value></attribute><attribute><name>MPI Processor Name</name>\
<value>n07</value></attribute><attribute><name>Starting Timestamp</name><value>1796032800500000</value>\
</attribute><attribute><name>TAU Version</name><value>2.34</value></attribute></metadata>
".TAU application" 1 1 20 5000000 0 GROUP="TAU_DEFAULT" 
"int main(int, char **) C [{app.c} {26,1}-{473,1}]  " 1 1052 3000000 4999980 0 GROUP="TAU_USER" 
".TAU application => int main(int, char **) C [{app.c} {26,1}-{473,1}]  " 1 1052 3000000 4999980 0 \
GROUP="TAU_CALLPATH|TAU_USER" 
"MPI_Init()  " 1 0 400000 400000 0 GROUP="MPI" 
"MPI_Allreduce()  " 1050 0 1500000 1500000 0 GROUP="MPI" 
"int main(int, char **) C [{app.c} {26,1}-{473,1}]   => MPI_Allreduce()  " 1050 0 1500000 1500000 0 \
GROUP="TAU_CALLPATH|MPI" 
"MPI_Finalize()  " 1 1 99950 99980 0 GROUP="MPI" 
"MPI_Finalize()   => MPI_File_open()" 1 0 30 30 0 GROUP="TAU_CALLPATH|MPI" 
"MPI_File_open()" 1 0 30 30 0 GROUP="MPI" 
0 aggregates
"""
ALLREDUCE = b"1050 0 1500000 1500000 "
EVENTS = b"""\
1 userevents
# eventname numevents max min mean sumsqr
"Message size for all-reduce" 1050 8 8 8 67200
"""

# Two ranks, the second written first, and the sums over both, as TAU_PROFILE_FORMAT=merged has it.
_RANK = """\
<profile_xml>

<thread id="{node}.0.0.4711" node="{node}" context="0" thread="0">
<metadata>
<attribute>
<name>MPI Processor Name</name>
<value>n0{node}</value>
</attribute>
<attribute>
<name>Starting Timestamp</name>
<value>179603280{node}500000</value>
</attribute>
</metadata>
</thread>

<definitions thread="{node}.0.0.4711">
<metric id="0"><name>TIME</name>
<units>unknown</units>
</metric>
</definitions>

<profile thread="{node}.0.0.4711">
<timestamp>1796032805500000</timestamp>
<interval_data metrics="0 ">
0 1 1 20 5000000 
1 1 {calls} {own} 4999980 
2 {calls} 0 {mpi} {mpi} 
3 {calls} 0 {mpi} {mpi} 
</interval_data>
<atomic_data>
</atomic_data>
</profile>

</profile_xml>
"""
MERGED = (
    """\
<profile_xml>

<definitions thread="*">
<metric id="0"><name>TIME</name>
<units>unknown</units>
</metric>
<event id="0"><name>.TAU application</name><group>TAU_USER</group></event>
<event id="1"><name><![CDATA[int main(int, char **) <C>]]></name><group>TAU_USER</group></event>
<event id="2"><name>MPI_Allreduce()</name><group>MPI</group></event>
<event id="3"><name>int main(int, char **) =&gt; MPI_Allreduce()</name><group>MPI|TAU_CALLPATH</group></event>

</definitions>
</profile_xml>
"""
    + _RANK.format(node=1, calls=1050, own=3499980, mpi=1500000)
    + _RANK.format(node=0, calls=1050, own=3999980, mpi=1000000)
    + """\
<profile_xml>
<derivedentity id="total">
</derivedentity>
<derivedprofile derivedentity="total">
<derivedinterval_data metrics="0 ">
0 2 2 40 10000000 
1 2 2100 7499960 9999960 
2 2100 0 2500000 2500000 
3 2100 0 2500000 2500000 
</derivedinterval_data>
</derivedprofile>

</profile_xml>
"""
).encode()


def read(data: bytes = PROFILE, name: str = "profile.3.0.0") -> xr.Dataset:
    return readers.parse(data, name)


def test_tau__calls_of_one_rank() -> None:
    ds = read()
    assert ds.complete
    assert (ds.kind, ds.tool, ds.tool_version, ds.ranks_expected) == ("profile", "TAU", "2.34", -1)
    assert list(ds["call"].values) == ["MPI_Init", "MPI_Allreduce", "MPI_Finalize", "MPI_File_open"]
    assert set(ds["rank"].values) == {3}
    assert list(ds["count"].values) == [1, 1050, 1, 1]
    np.testing.assert_allclose(ds["time"], [0.4, 1.5, 0.09998, 0.00003])
    np.testing.assert_allclose(ds["exclusive_time"], [0.4, 1.5, 0.09995, 0.00003])
    assert np.isnan(ds["bytes"]).all()


def test_tau__rank_is_the_node_of_the_name_and_the_others_are_blank() -> None:
    ds = read()
    assert ds.sizes["rank"] == 4
    assert np.isnan(ds["app_time"].values[:3]).all()
    assert list(ds["host"].values) == ["", "", "", "n07"]
    # 0.4 + 1.5 + 0.09995 + 0.00003: what MPI_Finalize spent in MPI_File_open counts once.
    assert float(ds["mpi_time"][3]) == pytest.approx(1.99998)
    assert float(ds["app_time"][3]) == pytest.approx(5.0)
    assert profile.mpi_fraction(ds) == pytest.approx(1.99998 / 5)
    assert ds.attrs["start"] == pytest.approx(1796032800.5, abs=1e-6)
    assert ds.attrs["command"] == "./app <in.dat"
    table = profile.calls(ds).set_index("call")
    assert table.loc["MPI_Allreduce", "time_rank_min"] == table.loc["MPI_Allreduce", "time_rank_max"] == 1.5


def test_tau__without_a_rank_in_the_name_there_are_totals() -> None:
    ds = read(name="f")
    assert ds.sizes["rank"] == 0
    assert set(ds["rank"].values) == {-1}
    assert profile.mpi_fraction(ds) == pytest.approx(1.99998 / 5)


def test_tau__events_are_no_calls_and_their_loss_is_seen() -> None:
    assert read(PROFILE + EVENTS).complete
    assert read(PROFILE + EVENTS).identical(read())
    assert not read(PROFILE + EVENTS[:-1]).complete


def test_tau__thread_is_named() -> None:
    assert any("profile of thread 2" in warning for warning in read(name="profile.0.0.2").warnings)


def test_tau__throttled_call_has_no_count_and_no_time() -> None:
    ds = read(PROFILE.replace(b'"MPI_Allreduce()  " ', b'"MPI_Allreduce() [THROTTLED]" '))
    assert int(ds["count"][1]) == -1
    assert np.isnan(ds["time"][1])
    assert np.isnan(ds["mpi_time"][3])
    assert ds.complete
    assert "first calls only" in ds.warnings[0]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (ALLREDUCE, b"1050 0 1900000 1900000 ", "timers took 5.4"),
        (ALLREDUCE, b"1054 0 1500000 1500000 ", "1054 calls and were called 1058 times"),
        (ALLREDUCE, b"105O 0 1500000 1500000 ", "no row of a timer"),
        (b"0 aggregates\n", b"", "no line 'aggregates'"),
        (b"9 templ", b"12 templ", "12 timers announced"),
    ],
)
def test_tau__damage_is_said(old: bytes, new: bytes, found: str) -> None:
    ds = read(PROFILE.replace(old, new))
    assert not ds.complete
    assert any(found in warning for warning in ds.warnings), ds.warnings


@pytest.mark.parametrize("metric", [b"PAPI_L2_TCM", b"CPU_TIME"])
def test_tau__what_counts_no_wall_clock_time_is_refused(metric: bytes) -> None:
    with pytest.raises(ReadError, match=f"profile.3.0.0:1: counts {metric.decode()}"):
        read(PROFILE.replace(b"MULTI_TIME", b"MULTI_" + metric))


def test_tau__merged_file_has_all_ranks() -> None:
    ds = read(MERGED, "tauprofile.xml")
    assert ds.complete
    assert ds.ranks_expected == 2
    assert list(ds["call"].values) == ["MPI_Allreduce"] * 2
    assert list(ds["rank"].values) == [0, 1]
    assert list(ds["count"].values) == [1050, 1050]
    np.testing.assert_allclose(ds["time"], [1.0, 1.5])
    np.testing.assert_allclose(ds["app_time"], [5.0, 5.0])
    assert list(ds["host"].values) == ["n00", "n01"]
    assert profile.mpi_fraction(ds) == pytest.approx(2.5 / 10)
    assert ds.attrs["start"] == pytest.approx(1796032800.5, abs=1e-6)


def test_tau__of_snapshots_the_last_counts() -> None:
    early = _RANK.format(node=0, calls=3, own=4999000, mpi=980)
    ds = read(
        MERGED.replace(b'<profile_xml>\n\n<thread id="0', early.encode() + b'<profile_xml>\n\n<thread id="0')
    )
    assert ds.complete
    assert list(ds["count"].values) == [1050, 1050]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b"2 1050 0 1500000 1500000", b"2 1050 0 1600000 1600000", "timers took 5.1"),
        (b"2 1050 0 1500000 1500000", b"2 1050 0 1500000 1600000", "all in all 2100, 2.5"),
        (b"2 1050 0 1500000 1500000", b"2 1O50 0 1500000 1500000", "no row of an event"),
        (b"2 2100 0 2500000 2500000", b"2 2101 0 2500000 2500000", "2100 calls, 2.500000 s, all in all 2101"),
        (b'<event id="2"', b'<event id="Z"', "is no event"),
        (b'node="1"', b'node="5"', "2 ranks, the last is 5"),
    ],
)
def test_tau__damage_of_a_merged_file_is_said(old: bytes, new: bytes, found: str) -> None:
    assert MERGED.count(old) == 1
    ds = read(MERGED.replace(old, new))
    assert not ds.complete
    assert any(found in warning for warning in ds.warnings), ds.warnings


def test_tau__merged_file_that_is_cut_is_not_whole() -> None:
    clock = MERGED.index(b"TIME</name>") + len(b"TIME</name>")
    with pytest.raises(ReadError, match="counts nothing, no time"):
        read(MERGED[: clock - 1])
    for at in range(clock, len(MERGED) - 1, 31):
        assert not read(MERGED[:at]).complete


def test_tau__merged_file_without_a_clock_is_refused() -> None:
    with pytest.raises(ReadError, match="counts PAPI_L2_TCM, no time"):
        read(MERGED.replace(b"<name>TIME<", b"<name>PAPI_L2_TCM<"))
