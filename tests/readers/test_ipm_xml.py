import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.datasets import profile
from analysis.readers.ipm import parse_xml, records
from analysis.readers.ipm.records import Names

DATA = Path(__file__).parents[1] / "data/ipm"
FILES = sorted(path.name for path in DATA.glob("*.ipm.xml*"))


def load(name: str) -> xr.Dataset:
    return readers.open(DATA / name, engine="ipm")


def raw(name: str) -> bytes:
    return readers.read_bytes(DATA / name)


def total(ds: xr.Dataset, call: str, **where: object) -> int:
    mask = ds["call"] == call
    for name, value in where.items():
        mask &= ds[name] == value
    return int(ds["count"].where(mask, 0).sum())


def test_ipm_xml__numbers_of_the_file_by_hand():
    ds = load("hpcg_n2.ipm.xml")
    assert ds.sizes == {"obs": 34, "rank": 2}
    assert total(ds, "MPI_Send", size=2048, rank=0, peer=1) == 5720
    assert ds["app_time"].values.tolist() == [3.24488, 3.24480]
    assert ds["mpi_time"].values.tolist() == [2.42567, 2.42026]
    assert ds["memory"].values.tolist() == [0.018631 * 2**30] * 2
    assert ds["user_time"].values.tolist() == [0.459994, 0.454126]
    assert ds["host"].values.tolist() == ["vm", "vm"]
    row = ds.isel(obs=7)  # the eighth record of rank 0 is MPI_Init, before it MPI_Finalize
    assert row["call"].item() == "MPI_Init"
    row = ds.isel(obs=1)
    assert (row["time"].item(), row["time_min"].item(), row["time_max"].item()) == (
        1.0434,
        9.5367e-07,
        1.9235e-02,
    )
    assert row["bytes"].item() == 2048 * 5720
    assert ds.attrs["start"] == 1795216830.961340
    assert ds.attrs["stop"] == 1795216834.206333
    assert ds.attrs["command"] == "/opt/bench/build/hpcg-openmpi/bin/xhpcg --nx=16 --rt=3"
    assert (ds.attrs["nodes"], ds.attrs["tool_version"], ds.attrs["ranks_expected"]) == (1, "2.0.6", 2)
    assert ds.attrs["complete"]
    assert ds.attrs["warnings"] == []


def test_ipm_xml__sizes_of_halo_messages_are_exact():
    table = profile.messages(load("hpcg_n64.ipm.xml.xz"))
    sends = table[table["call"] == "MPI_Send"].set_index("size")["count"]
    # grep and awk on the raw file
    assert sends.to_dict() == {
        8: 401112,
        16: 71712,
        32: 262944,
        64: 215136,
        128: 443664,
        512: 143424,
        2048: 200160,
    }


def test_ipm_xml__matrix_of_communication():
    table = profile.matrix(load("hpcg_n64.ipm.xml.xz")).set_index(["rank", "peer"])
    rows = table["bytes"].groupby("rank").sum()
    # grep and awk on the raw file
    assert (rows[0], rows[21], rows[63], rows.sum()) == (5675304, 12276288, 5675304, 566688960)
    assert table.loc[(0, 1)].tolist() == [1857, 1747392]
    assert table.loc[(21, 42)].tolist() == [1857, 14856]


def test_ipm_xml__rounded_sizes_are_named():
    # Trap 1: the same program, 777 B per MPI_Isend, from the usual build and from one that keeps all bits.
    usual, exact = load("mix_n4.ipm.xml"), load("mix_exactbytes_n4.ipm.xml")
    assert total(usual, "MPI_Isend", size=768) == total(exact, "MPI_Isend", size=777) == 4
    assert usual.attrs["size_rounding"].startswith("down to 3 significant bits")
    assert exact.attrs["size_rounding"].startswith("exact")


@pytest.mark.parametrize("name", ["mix_n4.ipm.xml", "mix_terse_n4.ipm.xml", "mix_posixio_n4.ipm.xml"])
def test_ipm_xml__repeated_keys_are_summed(name):
    # Trap 2: 260 calls by the banner of the same run; the last rows alone give 45.
    ds = load(name)
    assert total(ds, "MPI_Sendrecv") == total(ds, "MPI_Sendrecv", region="solve phase") == 260
    assert total(ds, "MPI_Comm_rank") == 276


def test_ipm_xml__records_of_one_key_become_one_row():
    ds = load("mix_n4.ipm.xml")
    assert ds.sizes["obs"] == 114  # 122 records; MPI_Comm_rank and MPI_Comm_size come twice on 4 ranks
    row = ds.isel(obs=(ds["call"] == "MPI_Comm_rank") & (ds["rank"] == 0) & (ds["region"] == "solve phase"))
    assert row["count"].values.tolist() == [65]
    assert row["time"].values.tolist() == [4.7684e-06]
    assert row["time_max"].values.tolist() == [9.5367e-07]


def test_ipm_xml__mpi_time_is_the_ranks_own():
    # Trap 3: <module time> says 0.154868 on every rank.
    ds = load("mix_n4.ipm.xml")
    assert ds["mpi_time"].values.tolist()[:2] == [0.154868, 0.163601]
    summed = ds["time"].groupby(ds["rank"]).sum()
    np.testing.assert_allclose(summed, ds["mpi_time"], rtol=1e-4)


def test_ipm_xml__unescaped_command_line():
    # Trap 4: no XML parser reads this file.
    data = raw("mix_n4.ipm.xml")
    with pytest.raises(ET.ParseError):
        ET.fromstring(data)
    ds = parse_xml(data)
    assert ds.attrs["complete"]
    assert ds.attrs["command"] == '/opt/bench/mix_ompi arg<1>&"q"'


def test_ipm_xml__killed_while_writing():
    # Trap 5
    ds = load("hpcg_n256_cut.ipm.xml.xz")
    assert not ds.attrs["complete"]
    assert ds.attrs["ranks_expected"] == ds.sizes["rank"] == 256
    assert np.isfinite(ds["mpi_time"]).sum() == 84
    assert any(":12091: 84 of 256 ranks" in warning for warning in ds.attrs["warnings"])


def edited(name: str, old: bytes, new: bytes) -> xr.Dataset:
    data = raw(name)
    assert data.count(old) == 1
    return parse_xml(data.replace(old, new))


def test_ipm_xml__receive_with_ignored_status_is_unknown_not_zero():
    # Trap 6
    old = b'call="MPI_Recv" bytes="320" orank="2" region="2" callsite="0" count="3"'
    ds = edited("mix_n4.ipm.xml", old, old.replace(b'bytes="320" orank="2"', b'bytes="0" orank="0"'))
    row = ds.isel(obs=(ds["call"] == "MPI_Recv") & (ds["size"] == -1))
    assert row["count"].values.tolist() == [3]
    assert row["peer"].values.tolist() == [-1]
    assert np.isnan(row["bytes"].values).all()


def test_ipm_xml__any_source_is_no_rank_0():
    old = b'key="03800400000000000000030000000003" call="MPI_Irecv" bytes="768" orank="3"'
    new = b'key="0380040000000000000003003FFFFFFD" call="MPI_Irecv" bytes="768" orank="0"'
    ds = edited("mix_n4.ipm.xml", old, new)
    row = ds.isel(obs=(ds["call"] == "MPI_Irecv") & (ds["rank"] == 0))
    assert (row["size"].item(), row["peer"].item(), row["bytes"].item()) == (768, -1, 768.0)


def test_ipm_xml__peer_of_rooted_and_rankless_calls():
    ds = load("mix_n4.ipm.xml")

    def peers(call: str) -> set[int]:
        return set(ds["peer"].values[ds["call"].values == call].tolist())

    assert peers("MPI_Reduce") == {3}
    assert peers("MPI_Bcast") == {2, 3}
    for call in ("MPI_Barrier", "MPI_Waitall", "MPI_Comm_split", "MPI_Init"):
        assert peers(call) == {-1}
    assert set(load("hpcg_n2.ipm.xml")["peer"].values.tolist()) == {-1, 0, 1}


def test_ipm_xml__regions_join_by_label():
    # Trap 7: on rank 1 the ids of two regions change places; nothing but ids may follow from that.
    head, zero, one, *rest = raw("mix_n4.ipm.xml").split(b"<task ")
    for old, new in ((b'id="1"', b'id="9"'), (b'id="2"', b'id="1"'), (b'id="9"', b'id="2"')):
        one = one.replace(old, new)
    for old, new in (
        (b'region="1"', b'region="9"'),
        (b'region="2"', b'region="1"'),
        (b'region="9"', b'region="2"'),
    ):
        one = one.replace(old, new)
    swapped = parse_xml(b"<task ".join([head, zero, one, *rest]), "mix")
    xr.testing.assert_identical(swapped, parse_xml(raw("mix_n4.ipm.xml"), "mix"))
    assert set(swapped["region"].values) == {"solve phase", "io", "ipm_noregion"}


def test_ipm_xml__negative_region_times_do_not_matter():
    ds = edited("hpcg_n2.ipm.xml", b'wtime="3.20988e+00"', b'wtime="-3.20988e+00"')
    assert ds.attrs["complete"]


def test_ipm_xml__posix_calls():
    # Trap 7
    ds = load("mix_posixio_n4.ipm.xml")
    row = ds.isel(obs=ds["call"] == "write")
    assert (row["count"].item(), row["size"].item(), row["bytes"].item()) == (1, 40, 40.0)
    assert (row["region"].item(), row["peer"].item()) == ("io", -1)
    assert total(ds, "open") == 20
    assert "write" not in profile.calls(ds)["call"].tolist()


def test_ipm_xml__decimal_commas():
    # Trap 9: the same file as written under a German locale.
    data = raw("hpcg_n2.ipm.xml")
    lines = data.split(b"\n")
    for i, line in enumerate(lines):
        if line.startswith((b"<task ", b"<perf", b"<region ", b"<func", b"<hent")):
            lines[i] = line.replace(b'version="2.0.6"', b'version="2_0_6"').replace(b".", b",")
    german = b"\n".join(lines).replace(b"2_0_6", b"2.0.6")
    assert b">1,0434e+00 9,5367e-07 1,9235e-02<" in german
    xr.testing.assert_identical(parse_xml(german), parse_xml(data))


def test_ipm_xml__without_records_there_are_no_sizes():
    ds = load("mix_terse_n4.ipm.xml")
    assert ds.attrs["complete"]
    assert not ds.attrs["has_sizes"]
    assert set(ds["size"].values) == set(ds["peer"].values) == {-1}
    assert any("IPM_LOG=full" in warning for warning in ds.attrs["warnings"])
    row = ds.isel(obs=(ds["call"] == "MPI_Sendrecv") & (ds["rank"] == 0))
    assert row["bytes"].item() == 6.1678e05 + 1.4848e04
    assert profile.matrix(ds).empty


@pytest.mark.parametrize("name", ["hpcg_n64.ipm.xml.xz", "mix_n4.ipm.xml", "mix_exactbytes_n4.ipm.xml"])
def test_ipm_xml__unusual_blanks_change_nothing(name):
    data = raw(name)
    # Tasks without a record of the usual form are read line by line, those beside them in columns.
    unusual = data.replace(b'" >', b'"  >')
    at = len(data) // 2
    assert records.read_tables(unusual, [(0, unusual.index(b"<hent"), unusual.index(b"</hash>"))], Names())[1]
    for mixed in (unusual, data[:at] + data[at:].replace(b'" >', b'"  >')):
        xr.testing.assert_identical(parse_xml(mixed), parse_xml(data))


def test_ipm_xml__unusual_records_among_usual_ones(monkeypatch):
    # Long numbers, a time above 10^4 s, other orders of attributes, in tasks among usual ones.
    monkeypatch.setattr("analysis.readers.ipm.CHUNK", 3000)
    data = raw("mix_n4.ipm.xml")
    for old, new in (
        (b'count="50"', b'count="123456789012"'),
        (b'bytes="81920"', b'bytes="2147483647"'),
        (b">2.1458e-06 2.1458e-06 2.1458e-06<", b">9.8765e+12 1.0000e-22 3.0000e-101<"),
        (b'bytes="896" orank="3"', b'orank="3" bytes="896"'),
    ):
        assert old in data
        data = data.replace(old, new)
    ds = parse_xml(data)
    assert ds.attrs["complete"]
    assert total(ds, "MPI_Comm_rank", rank=2, size=0, region="solve phase") == 123456789012 + 15
    assert 2147483647 in ds["size"].values
    assert 9.8765e12 in ds["time"].values
    assert 3e-101 in ds["time_max"].values


def test_ipm_xml__mpi_time_that_is_not_the_sum_warns():
    ds = edited("hpcg_n2.ipm.xml", b'mtime="2.42567e+00" gflop', b'mtime="3.42567e+00" gflop')
    (warning,) = ds.attrs["warnings"]
    assert ":76: rank 0 states 3.4257 s in MPI, its calls sum to 2.4257 s (1 of 2 ranks differ)" in warning
    assert ds.attrs["complete"]


def test_ipm_xml__sends_that_were_not_received_warn():
    old = b'call="MPI_Send" bytes="512" orank="1" region="0" callsite="0" count="4248"'
    ds = edited("hpcg_n2.ipm.xml", old, old.replace(b"4248", b"4249"))
    own, warning = ds.attrs["warnings"]
    assert ":76: rank 0 states 15632 calls of MPI_Send with" in own
    assert "its records 15633 with" in own
    assert "rank 0 sent 15633 messages" in warning
    assert "to rank 1, which received 15632" in warning


def test_ipm_xml__heads_are_held_against_records_and_stamps():
    """One digit of a file of three regions whose inner regions are folded: 50 + 15 calls are 65."""
    record = b'call="MPI_Bcast" bytes="768" orank="2" region="0" callsite="0" count="1" tid="0" >2.1458e-06'
    for old, new, words in (
        (
            b'count="1" tid',
            b'count="7" tid',
            "1 calls of MPI_Bcast with 768 B in 2.1458e-06 s, its records 7",
        ),
        (
            b'bytes="768"',
            b'bytes="798"',
            "1 calls of MPI_Bcast with 768 B in 2.1458e-06 s, its records 1 with 798 B",
        ),
        (
            b">2.1458e-06",
            b">9.1458e-06",
            "1 calls of MPI_Bcast with 768 B in 2.1458e-06 s, its records 1 with 768 B in 9.1458e-06 s",
        ),
    ):
        ds = edited("mix_n4.ipm.xml", record, record.replace(old, new))
        assert any(f"rank 0 states {words}" in warning for warning in ds.attrs["warnings"]), old
    func = b'<func name="MPI_Comm_rank" count="50" bytes="0.0000e+00" > 4.7684e-06'
    ds = edited("mix_n4.ipm.xml", func, func.replace(b"50", b"60"))
    assert "rank 0 states 79 calls of MPI_Comm_rank" in ds.attrs["warnings"][0]
    assert "its records 69" in ds.attrs["warnings"][0]
    ds = edited("mix_n4.ipm.xml", b'<perf wtime="8.57450e-01"', b'<perf wtime="8.87450e-01"')
    (warning,) = ds.attrs["warnings"]
    assert "rank 0 states 0.88745 s of wall time, its stamps span 0.85745 s (1 of 4 ranks" in warning


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'bytes="768" orank="2"', b'bytes="768" orank="3"'),
        (b'bytes="768" orank="2"', b'bytes="769" orank="2"'),
        (b'orank="2" region="0" callsite="0"', b'orank="2" region="0" callsite="4"'),
    ],
)
@pytest.mark.parametrize("odd", [b"", b" "])
def test_ipm_xml__records_are_held_against_their_keys(old: bytes, new: bytes, odd: bytes) -> None:
    """Read as columns, and line by line where a record of the task has a form of its own."""
    record = b'call="MPI_Bcast" bytes="768" orank="2" region="0" callsite="0" count="1" tid="0" >2.1458e-06'
    changed = record.replace(old, new).replace(b" >", odd + b" >")
    ds = edited("mix_n4.ipm.xml", record, changed)
    assert any("1 records have another size, partner or call site than their key" in w for w in ds.warnings)
    assert not any("than their key" in w for w in edited("mix_n4.ipm.xml", record, record).warnings)


def test_ipm_xml__longest_and_shortest_call_fit_the_time_of_a_record():
    record = (
        b'call="MPI_Sendrecv" bytes="10" orank="1" region="1" callsite="0" count="5" tid="0" >1.3341e-02 '
    )
    times = b"9.5367e-07 7.0682e-03"
    for other in (b"9.5367e-07 7.0682e-02", b"9.5367e-07 1.0682e-03", b"9.5367e-03 7.0682e-03"):
        ds = edited("mix_n4.ipm.xml", record + times, record + other)
        (warning,) = ds.attrs["warnings"]
        assert "rank 0: 5 calls of MPI_Sendrecv in 0.013341 s, the longest 0.0" in warning
        assert "(1 such records)" in warning


def test_ipm_xml__opens_as_an_engine():
    ds = xr.open_dataset(DATA / "hpcg_n64.ipm.xml.xz", engine="ipm")
    assert ds.sizes == {"obs": 6960, "rank": 64}
    assert readers.engines_of(raw("mix_n4.ipm.xml")) == ["ipm"]
