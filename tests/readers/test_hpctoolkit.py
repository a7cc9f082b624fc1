"""HPCToolkit's databases as `hpcprof` of 2017 to 2020 and of 2023 lays them out, numbers our own."""

from __future__ import annotations

import io
import struct
import tarfile

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.datasets import profile

# main calls MPI_Init, by the library's symbol within HPCToolkit's wrapper, and a Fortran mpi_bcast_.
EXPERIMENT = b"""\
<?xml version="1.0"?>
<!DOCTYPE HPCToolkitExperiment [
  <!ELEMENT HPCToolkitExperiment (Header, (SecCallPathProfile|SecFlatProfile)*)>
]>
<HPCToolkitExperiment version="2.1">
<Header n="solver"><Info/></Header>
<SecCallPathProfile i="0" n="solver">
<SecHeader>
  <MetricTable>
    <Metric i="2" n="CPUTIME (usec):Sum (I)" v="derived-incr" t="inclusive" partner="3"/>
    <Metric i="3" n="CPUTIME (usec):Sum (E)" v="derived-incr" t="exclusive" partner="2"/>
  </MetricTable>
  <MetricDBTable>
    <MetricDB i="0" n="CPUTIME (usec) (I)" t="inclusive" db-id="0" db-num-metrics="2"/>
    <MetricDB i="1" n="CPUTIME (usec) (E)" t="exclusive" db-id="1" db-num-metrics="2"/>
  </MetricDBTable>
  <ProcedureTable>
    <Procedure i="7" n="main"/>
    <Procedure i="9" n="MPI_Init"/>
    <Procedure i="11" n="PMPI_Init"/>
    <Procedure i="13" n="mpi_bcast__"/>
  </ProcedureTable>
</SecHeader>
<SecCallPathProfileData>
<M n="2" v="9.5e+06"/>
<PF i="2" s="7" l="0" lm="1" f="1" n="7">
<M n="2" v="9.5e+06"/><M n="3" v="4e+06"/>
<C i="3" s="8" l="12">
<M n="2" v="2.5e+06"/>
<PF i="4" s="9" l="0" lm="1" f="1" n="9">
<M n="2" v="2.5e+06"/>
<C i="5" s="10" l="0">
<M n="2" v="2.5e+06"/>
<PF i="6" s="11" l="0" lm="1" f="1" n="11">
<M n="2" v="2.5e+06"/>
<S i="7" s="12" l="3"><M n="2" v="2.5e+06"/><M n="3" v="2.5e+06"/></S>
</PF>
</C>
</PF>
</C>
<S i="8" s="14" l="20"><M n="2" v="4e+06"/><M n="3" v="4e+06"/></S>
<C i="9" s="15" l="30">
<M n="2" v="3e+06"/>
<PF i="10" s="13" l="0" lm="1" f="1" n="13">
<M n="2" v="3e+06"/>
<S i="11" s="16" l="4"><M n="2" v="3e+06"/><M n="3" v="3e+06"/></S>
</PF>
</C>
</PF>
</SecCallPathProfileData>
</SecCallPathProfile>
</HPCToolkitExperiment>
"""
# Microseconds of nodes 1 to 11 by thread: all in all what the XML says.
FIRST = [5e6, 5e6, 1.5e6, 1.5e6, 1.5e6, 1.5e6, 1.5e6, 2.5e6, 1e6, 1e6, 1e6]
SECOND = [4.5e6, 4.5e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1.5e6, 2e6, 2e6, 2e6]


def metric_db(times: list[float]) -> bytes:
    head = struct.pack(">18s5scii", b"HPCPROF-metricdb__", b"00.10", b"b", len(times), 2)
    return head + b"".join(struct.pack(">dd", time, 0.0) for time in times)


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def database(**files: bytes) -> bytes:
    own = {
        "1.solver-000000-000-a8c00270-160443-0.metric-db": metric_db(FIRST),
        "1.solver-000001-000-a8c00270-160444-0.metric-db": metric_db(SECOND),
        "experiment.xml": EXPERIMENT,
    }
    return packed({f"hpctoolkit-solver-database/{name}": data for name, data in (own | files).items()})


def _meta() -> bytes:
    """Write contexts entry 1 > main 2 > PMPI_Allreduce 3 > inner 4, the time as metric 0, its sum as 1."""
    names = ("solver", "REALTIME (sec)", "execution", "main", "PMPI_Allreduce [libmpi]", "inner")
    kinds = ("SUMMARY", "NODE", "RANK", "THREAD")
    texts = "".join(f"{one}\0" for one in (*names, *kinds)).encode()
    at = {one: 144 + texts.index(one.encode()) for one in (*names, *kinds)}
    solver, realtime, execution, *procedures = (at[one] for one in names)
    out = bytearray(b"HPCTOOLKITmeta\x04\x00" + bytes(128) + texts)
    out += bytes(-len(out) % 8)

    def put(data: bytes) -> int:
        out.extend(bytes(-len(out) % 8))
        out.extend(data)
        return len(out) - len(data)

    general = put(struct.pack("<QQ", solver, solver))
    ids = put(struct.pack("<QB", put(struct.pack("<4Q", *(at[one] for one in kinds))), 4))
    scope = put(struct.pack("<Q", execution))
    scopes = put(struct.pack("<QH6x", scope, 0))
    sums = put(struct.pack("<QQBBH4x", scope, 0, 0, 0, 1))
    metrics = put(struct.pack("<QQQHH4x", realtime, scopes, sums, 1, 1))
    table = put(struct.pack("<QIBBB", metrics, 1, 32, 16, 24))
    functions = [put(struct.pack("<QQQQI", name, 0, 0, 0, 0)) for name in procedures]
    inner = put(struct.pack("<QQIHBB8xQ", 0, 0, 4, 0, 0, 1, functions[2]))
    reduce = put(struct.pack("<QQIHBB8xQ", 40, inner, 3, 0, 0, 1, functions[1]))
    main = put(struct.pack("<QQIHBB8xQ", 40, reduce, 2, 0, 0, 1, functions[0]))
    entries = put(struct.pack("<QQIH10x", 40, main, 1, 1))
    contexts = put(struct.pack("<QHB", entries, 1, 32))
    for place, section in enumerate((general, ids, table, contexts)):
        struct.pack_into("<QQ", out, 16 + 16 * place, 64, section)
    return bytes(out) + bytes(64)


def _profile(times: dict[tuple[int, int] | None, list[tuple[int, float]]]) -> bytes:
    """Write a profile for each rank and thread, None for the sum, of contexts with their s."""
    out = bytearray(b"HPCTOOLKITprof\x04\x00" + bytes(64))
    rows = []
    for place, own in times.items():
        ids = len(out)
        if place:
            out += struct.pack("<H6x", 2) + struct.pack("<BBHIQ", 2, 0, 0, place[0], place[0])
            out += struct.pack("<BBHIQ", 3, 0, 0, place[1], place[1])
        values = len(out)
        out += b"".join(struct.pack("<Hd", 0 if place else 1, time) for _, time in own)
        index = len(out)
        out += b"".join(struct.pack("<IQ", context, at) for at, (context, _) in enumerate(own))
        rows.append(struct.pack("<QQI4xQQI4x", len(own), values, len(own), index, ids, 0 if place else 1))
    infos = len(out) + 16
    struct.pack_into("<QQ", out, 16, 16 + 48 * len(rows), len(out))
    return bytes(out) + struct.pack("<QIB3x", infos, len(rows), 48) + b"".join(rows)


TIMES = {
    None: [(1, 9.0), (2, 9.0), (3, 2.5), (4, 1.0)],
    (0, 0): [(1, 5.0), (2, 5.0), (3, 1.5), (4, 1.0)],
    (1, 0): [(1, 4.0), (2, 4.0), (3, 1.0)],
}
SPARSE = packed({"db/meta.db": _meta(), "db/profile.db": _profile(TIMES)})


def read(data: bytes) -> xr.Dataset:
    ds = readers.parse(data, "f")
    assert (ds.kind, ds.tool) == ("profile", "HPCToolkit")
    return ds


def test_hpctoolkit__sums_of_the_xml_alone() -> None:
    ds = read(EXPERIMENT)
    assert ds.complete
    assert list(ds["call"].values) == ["MPI_Bcast", "MPI_Init"]
    assert list(ds["time"].values) == [3.0, 2.5]
    assert set(ds["rank"].values) == set(ds["count"].values) == {-1}
    assert (ds.ranks_expected, ds.sizes["rank"]) == (-1, 0)
    assert profile.mpi_fraction(ds) == pytest.approx(5.5 / 9.5)
    assert "CPUTIME was sampled" in ds.warnings[0]


def test_hpctoolkit__a_tar_of_the_database_knows_the_ranks() -> None:
    ds = read(database())
    assert ds.complete
    assert list(zip(ds["rank"].values, ds["call"].values, ds["time"].values, strict=True)) == [
        (0, "MPI_Bcast", 1.0),
        (0, "MPI_Init", 1.5),
        (1, "MPI_Bcast", 2.0),
        (1, "MPI_Init", 1.0),
    ]
    np.testing.assert_array_equal(ds["app_time"], [5.0, 4.5])
    np.testing.assert_array_equal(ds["mpi_time"], [2.5, 3.0])
    assert ds.ranks_expected == 2


def test_hpctoolkit__version_4() -> None:
    ds = read(SPARSE)
    assert ds.complete
    assert list(zip(ds["rank"].values, ds["call"].values, ds["time"].values, strict=True)) == [
        (0, "MPI_Allreduce", 1.5),
        (1, "MPI_Allreduce", 1.0),
    ]
    np.testing.assert_array_equal(ds["app_time"], [5.0, 4.0])
    assert profile.mpi_fraction(ds) == 2.5 / 9
    assert not ds.warnings


def test_hpctoolkit__threads_count_in_the_sum_only() -> None:
    times = TIMES | {(0, 1): [(1, 1.0)], None: [(1, 10.0), (2, 9.0), (3, 2.5)]}
    ds = read(packed({"db/meta.db": _meta(), "db/profile.db": _profile(times)}))
    assert ds.complete
    assert ds.attrs["app_time_total"] == 10.0
    np.testing.assert_array_equal(ds["app_time"], [5.0, 4.0])
    assert "more than one thread per rank" in ds.warnings[0]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b'n="13">\n<M n="2" v="3', b'n="13">\n<M n="2" v="7', "node 10 took 7 s"),
        (b'v="9.5e+06"/><M', b'v="8.5e+06"/><M', "node 2 took 8.5 s, what is in it 9.5 s"),
        (b'l="4"><M n="2" v="3e+06"/>', b'l="4"><M n="2" v="3e+x6"/>', "time is '3e+x6'"),
        (b"</HPCToolkitExperiment>\n", b"", "broken XML"),
    ],
)
def test_hpctoolkit__damage_is_said(old: bytes, new: bytes, found: str) -> None:
    assert EXPERIMENT.count(old) == 1
    ds = read(EXPERIMENT.replace(old, new))
    assert not ds.complete
    assert any(found in warning for warning in ds.warnings), ds.warnings


@pytest.mark.parametrize("times", [[*FIRST[:9], 1.1e6, 1.1e6], FIRST[:9]])
def test_hpctoolkit__ranks_are_held_against_the_sums(times: list[float]) -> None:
    ds = read(database(**{"1.solver-000000-000-a8c00270-160443-0.metric-db": metric_db(times)}))
    assert not ds.complete
    assert "their sum is" in ds.warnings[0]


def test_hpctoolkit__sums_of_version_4_are_held_too() -> None:
    times = TIMES | {(1, 0): [(1, 4.0), (2, 4.0), (3, 3.0)]}
    ds = read(packed({"db/meta.db": _meta(), "db/profile.db": _profile(times)}))
    assert not ds.complete
    assert "node 3 (MPI_Allreduce): threads took 4.5 s, their sum is 2.5 s" in ds.warnings[0]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (EXPERIMENT.replace(b"CPUTIME", b"PAPI_TOT_CYC"), "no sum of REALTIME"),
        (EXPERIMENT.replace(b"<!ELEMENT HPC", b'<!ENTITY a "aaaa"><!ELEMENT HPC'), "declares the entity 'a'"),
        (packed({"db/meta.db": _meta()}), "no experiment.xml, and no meta.db with profile.db"),
        (packed({"db/meta.db": _meta()[:300], "db/profile.db": _profile(TIMES)}), "outside the file"),
    ],
)
def test_hpctoolkit__what_cannot_be_read_is_refused(data: bytes, found: str) -> None:
    with pytest.raises(ReadError, match=found):
        readers.parse(data, "f")


def test_hpctoolkit__contexts_that_contain_each_other_end() -> None:
    meta = bytearray(_meta())
    size = struct.pack("<Q", 40)  # of what is below, as the contexts 3, 2 and the entry have it
    main = meta.index(size, meta.index(size) + 8)
    struct.pack_into("<Q", meta, main + 8, main)
    with pytest.raises(ReadError, match="damaged"):
        readers.parse(packed({"db/meta.db": bytes(meta), "db/profile.db": _profile(TIMES)}), "f")


def test_hpctoolkit__a_part_of_a_database_says_how_to_give_the_whole() -> None:
    for part in (_meta(), metric_db(FIRST)):
        with pytest.raises(ReadError, match=r"give (its folder|the folder of its database)"):
            readers.parse(part, "f")
