import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers import ipm
from analysis.readers.ipm import parse_xml

DATA = Path(__file__).parents[1] / "data/ipm"
STEP = 97


def raw(name: str) -> bytes:
    return readers.read_bytes(DATA / name)


def values(ds: xr.Dataset) -> pd.DataFrame:
    # Without the regions: a damaged label cannot be told from another label.
    names = ["rank", "call", "size", "peer", "count", "time", "bytes", "time_min", "time_max"]
    return pd.DataFrame({name: ds[name].values for name in names})


def assert_part_of(ds: xr.Dataset, whole: xr.Dataset) -> None:
    """What is kept of a damaged file is what the whole file has for the same ranks."""
    kept = np.flatnonzero(np.isfinite(ds["mpi_time"].values))
    expected = values(whole)
    expected = expected[expected["rank"].isin(kept)].reset_index(drop=True)
    pd.testing.assert_frame_equal(values(ds), expected, check_dtype=False)
    assert ds["mpi_time"].values[kept].tolist() == whole["mpi_time"].values[kept].tolist()
    if kept.size < whole.sizes["rank"]:
        assert not ds.attrs["complete"]
        assert any(f"{kept.size} of " in warning for warning in ds.attrs["warnings"])


@pytest.mark.parametrize(
    ("name", "step"),
    [("hpcg_n2.ipm.xml", STEP), ("mix_n4.ipm.xml", 8 * STEP), ("mix_terse_n4.ipm.xml", 4 * STEP)],
)
def test_ipm_damage__cut_anywhere(name, step):
    data = raw(name)
    whole = ipm.parse(data)
    for at in [*range(0, len(data) - 1, step), len(data) - 2]:
        piece = data[:at]
        if b"<ipm_job_profile" not in piece:
            with pytest.raises(ReadError):
                ipm.parse(piece)
            continue
        ds = ipm.parse(piece)
        assert not ds.attrs["complete"], at
        assert_part_of(ds, whole)


def test_ipm_damage__garbled_anywhere():
    data = raw("hpcg_n2.ipm.xml")
    whole = ipm.parse(data)
    garbage = itertools.cycle([b"\x00", b"\xff", b"<", b'"', b"\n", b"\xc3\xa4 >"])
    assert len(data) == 11_830
    for at in range(1, len(data), 37):
        assert_part_of(ipm.parse(data[:at] + next(garbage) + data[at + 1 :]), whole)


def test_ipm_damage__changed_digits_are_never_an_exception():
    data = raw("hpcg_n2.ipm.xml")
    digits = [at for at in range(len(data)) if data[at : at + 1].isdigit()][::67]
    assert len(digits) == 45
    for at in digits:
        digit = b"7" if data[at : at + 1] != b"7" else b"1"
        ds = ipm.parse(data[:at] + digit + data[at + 1 :])
        assert (ds.sizes["obs"], ds.sizes["rank"]) == (34, 2), at


def test_ipm_damage__time_without_its_first_digit_is_no_time():
    data = raw("hpcg_n2.ipm.xml")
    for old, new in (
        (b">1.0434e+00 ", b"> .0434e+00 "),
        (b" 9.5367e-07 ", b" .5367e-07 "),
        (b"e-02<", b"e 02<"),
    ):
        ds = ipm.parse(data.replace(old, new, 1))
        assert np.isnan(ds["mpi_time"].values).tolist() == [True, False], new


def test_ipm_damage__fault_names_the_line():
    data = raw("hpcg_n2.ipm.xml").replace(b'bytes="128" orank="1"', b'bytes="1z8" orank="1"', 1)
    line = data[: data.index(b"1z8")].count(b"\n") + 1
    ds = parse_xml(data, "run/x.ipm.xml")
    first, second = ds.attrs["warnings"]
    assert first.startswith(f"run/x.ipm.xml:{line}: rank 0: a <hent> without call, bytes")
    assert "1 of 2 ranks" in second
    assert not ds.attrs["complete"]
    assert np.isnan(ds["mpi_time"].values).tolist() == [True, False]


def test_ipm_damage__lost_tags_cost_one_rank():
    data = raw("mix_n4.ipm.xml")
    for tag in (b"</hash>\n", b"</task>\n", b"<hash "):
        at = data.index(tag, data.index(b'mpi_rank="1"'))
        ds = ipm.parse(data[:at] + data[at + len(tag) :])
        assert_part_of(ds, ipm.parse(data))
        assert np.isfinite(ds["mpi_time"].values).tolist() == [True, False, True, True]


def test_ipm_damage__rank_that_comes_twice_counts_once():
    data = raw("hpcg_n2.ipm.xml")
    begin, end = data.index(b"<task "), data.index(b"</ipm_job_profile>")
    ds = ipm.parse(data[:end] + data[begin:])
    assert ds.sizes["obs"] == 34
    assert any("rank 0 appears twice" in warning for warning in ds.attrs["warnings"])


def test_ipm_damage__impossible_number_of_ranks():
    data = raw("hpcg_n2.ipm.xml").replace(b'mpi_size="2"', b'mpi_size="987654321"')
    ds = ipm.parse(data)
    assert ds.sizes["obs"] == 0
    assert not ds.attrs["complete"]


def test_ipm_damage__not_ipm():
    for data in (b"", b"<?xml version=", b"@ mpiP\n", b"\x00" * 100):
        with pytest.raises(ReadError, match=r"x\.xml: has neither"):
            ipm.parse(data, "x.xml")


def test_ipm_damage__windows_line_ends():
    data = raw("hpcg_n2.ipm.xml")
    xr.testing.assert_identical(ipm.parse(data.replace(b"\n", b"\r\n")), ipm.parse(data))


def test_ipm__shortest_call_that_is_longer_than_all_is_blank():
    """IPM's tmin starts at 1e15 s (ipm_introspect.c) and stays there where a call was not timed."""
    data = (DATA / "hpcg_n2.ipm.xml").read_bytes()
    whole = ipm.parse(data)
    lines = data.split(b"\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(b"<hent") and b'call="MPI_Send"' in line)
    head, _, times = lines[at].rpartition(b" >")
    total, _, longest = times.removesuffix(b"</hent>").split()
    lines[at] = head + b" >" + b" ".join([total, b"1.0000e+15", longest]) + b"</hent>"
    ds = ipm.parse(b"\n".join(lines), "x")
    assert np.isnan(ds.time_min.values).sum() == np.isnan(whole.time_min.values).sum() + 1
    assert np.nanmax(ds.time_min.values) < 1
    assert ds.attrs["complete"]
    assert ds.attrs["warnings"] == [
        "x: 1 records have a shortest call that is longer than all their calls together;"
        " IPM timed none of them; time_min is left blank"
    ]


def test_ipm__name_that_is_not_in_the_list_of_calls_is_a_fault():
    data = (DATA / "mix_n4.ipm.xml").read_bytes()
    at = data.index(b"<hent")
    flipped = data[:at] + data[at:].replace(b'call="MPI_Comm_rank"', b'call="MPI_Colm_rank"', 1)
    ds = ipm.parse(flipped, "x")
    assert not ds.attrs["complete"]
    assert any("'MPI_Colm_rank' of the records is not in the list" in w for w in ds.attrs["warnings"])
