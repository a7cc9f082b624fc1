"""Tables of a profile against counts made with line tools on the raw XML."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import readers
from analysis.base.files import read_bytes
from analysis.datasets import profile

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "data" / "raw" / "vm-profiles" / "runs"
HENT = re.compile(
    r'<hent key="\w+" call="(\w+)" bytes="(\d+)" orank="(\d+)" region="\d+" callsite="\d+" count="(\d+)"'
    r"[^>]*>(\S+)"
)


def _xml(run: str) -> Path:
    return next((RUNS / run).glob("*.ipm.xml.xz"))


@cache
def _profile(run: str) -> xr.Dataset:
    return readers.open(_xml(run))


@cache
def _hents(run: str) -> list[tuple[int, str, int, int, int, float]]:
    """Every hash entry as (rank, call, bytes, orank, count, seconds), by regular expression alone."""
    rank, found = -1, []
    for line in read_bytes(_xml(run)).decode().splitlines():
        if task := re.match(r'<task .*?mpi_rank="(\d+)"', line):
            rank = int(task[1])
        elif hent := HENT.match(line):
            found.append((rank, hent[1], int(hent[2]), int(hent[3]), int(hent[4]), float(hent[5])))
    return found


def test_calls__counts_of_eight_ranks_are_those_of_the_banner() -> None:
    """IPM's own banner of the same run, see stdout.txt beside the profile."""
    counts = profile.calls(_profile("hpcg-ipm-n8")).set_index("call")["count"]
    assert counts["MPI_Send"] == 319_984
    assert counts["MPI_Allreduce"] == 12_896
    assert counts["MPI_Wait"] == 319_984
    assert counts.sum() == 1_064_304


@pytest.mark.parametrize("run", ["hpcg-ipm-n8", "hpcg-ipm-n64"])
def test_calls__times_and_payload_are_sums_of_the_raw_records(run: str) -> None:
    """Sums of times are rounded once, as those of Python's `math.fsum` are."""
    table = profile.calls(_profile(run)).set_index("call")
    times, sent = defaultdict(list), Counter()
    for _, call, size, _, count, seconds in _hents(run):
        times[call].append(seconds)
        sent[call] += size * count
    for call in ("MPI_Send", "MPI_Wait", "MPI_Allreduce"):
        assert table.loc[call, "time"] == math.fsum(times[call])
    assert table.loc["MPI_Send", "bytes"] == sent["MPI_Send"]


def test_messages__halo_of_hpcg_has_its_seven_sizes() -> None:
    """Faces, edges and corners of 16, 8, 4 and 2 points at 8 B a point."""
    sides = (16, 8, 4, 2)
    expected = {8 * n**power for n in sides for power in (0, 1, 2)}
    table = profile.messages(_profile("hpcg-ipm-n8"))
    assert set(table.loc[table["call"] == "MPI_Send", "size"]) == expected == {8, 16, 32, 64, 128, 512, 2048}


@pytest.mark.parametrize("run", ["hpcg-ipm-n8", "hpcg-ipm-n64"])
def test_messages__counts_are_those_of_the_raw_records(run: str) -> None:
    counted: Counter[tuple[str, int]] = Counter()
    times = defaultdict(list)
    for _, call, size, _, count, seconds in _hents(run):
        counted[call, size] += count
        times[call, size].append(seconds)
    table = profile.messages(_profile(run)).set_index(["call", "size"])
    for size in (8, 16, 32, 64, 128, 512, 2048):
        for call in ("MPI_Send", "MPI_Irecv"):
            assert table.loc[(call, size), "count"] == counted[call, size]
            assert table.loc[(call, size), "time"] == math.fsum(times[call, size])  # rounded once


def test_tables__are_the_same_of_parts_and_of_any_order_of_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = (profile.calls, profile.messages, profile.matrix)
    ds = _profile("hpcg-ipm-n64")
    expected = [table(ds) for table in tables]
    monkeypatch.setattr(profile, "_PART", 500)
    assert len(list(profile._parts(ds, "call"))) == pytest.approx(ds.sizes["obs"] / 500, abs=2)
    turned = ds.isel(obs=np.argsort(ds["rank"].values < 60, kind="stable"))  # ranks 60 to 63 come first
    mixed = ds.isel(obs=np.argsort(ds["call"].values, kind="stable"))  # no part holds a whole rank
    assert len(list(profile._parts(mixed, "call"))) == 1
    for one in (ds, turned, mixed):
        for table, whole in zip(tables, expected, strict=True):
            # Sums of a rank are pandas', whose last digit depends on the order.
            pd.testing.assert_frame_equal(table(one), whole, check_exact=one is ds, rtol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_sums__are_those_of_fsum(size: int) -> None:
    draw = np.random.default_rng(size)
    values = np.append(draw.choice([-1, 1], size) * 10 ** draw.uniform(-320, 300, size), [1e300, 1, -1e300])
    sums = profile._Sums(int)
    for part in (values[::2], values[1::2]):
        profile._add(sums, ["x"], np.zeros(len(part), int), part)
    assert sums["x"] / profile._UNIT == math.fsum(values)


@pytest.mark.parametrize("run", ["hpcg-ipm-n8", "hpcg-ipm-n64"])
def test_matrix__is_the_sum_of_sends_by_pair(run: str) -> None:
    sent: Counter[tuple[int, int]] = Counter()
    for rank, call, size, peer, count, _ in _hents(run):
        if call == "MPI_Send":
            sent[rank, peer] += size * count
    table = profile.matrix(_profile(run))
    assert {(r, p): b for r, p, b in zip(table["rank"], table["peer"], table["bytes"], strict=True)} == sent


def test_matrix__of_a_cube_of_ranks_has_every_pair() -> None:
    """In a 2x2x2 grid of ranks each is a neighbour of all seven others."""
    table = profile.matrix(_profile("hpcg-ipm-n8"))
    assert len(table) == 8 * 7
    assert table["bytes"].max() == 5_312_128
    assert table["bytes"].min() == 45_712 / 8 * 8  # corners send 8 B at a time


def test_mpi_fraction__is_mpi_over_wall_clock_time_of_all_ranks() -> None:
    """By hand from the eight <perf> lines: 31.83593 s of 39.51378 s."""
    text = read_bytes(_xml("hpcg-ipm-n8")).decode()
    wall = sum(map(float, re.findall(r'<perf wtime="([^"]+)"', text)))
    mpi = sum(map(float, re.findall(r'<perf [^>]*mtime="([^"]+)"', text)))
    assert (wall, mpi) == (pytest.approx(39.51378), pytest.approx(31.83593))
    assert profile.mpi_fraction(_profile("hpcg-ipm-n8")) == pytest.approx(31.83593 / 39.51378)


def test_memory__is_that_of_the_banner() -> None:
    rank, node = profile.memory(_profile("hpcg-ipm-n8"))
    assert node / 2**30 == pytest.approx(0.17, abs=0.005)
    assert node == pytest.approx(8 * rank)


def test_imbalance__of_a_made_up_profile() -> None:
    ds = xr.Dataset({"app_time": ("rank", [10.0, 10.0, 10.0]), "mpi_time": ("rank", [4.0, 1.0, np.nan])})
    assert profile.imbalance(ds) == pytest.approx(9 / 7.5 - 1)


def test_imbalance__needs_two_ranks() -> None:
    ds = xr.Dataset({"app_time": ("rank", [10.0]), "mpi_time": ("rank", [4.0])})
    assert np.isnan(profile.imbalance(ds))


def test_mpi_fraction__of_a_concise_report_is_that_of_its_totals() -> None:
    """`mpiP -c` has no row a rank; its aggregate line says 0.002464 s, 0.040706 s, 1651.94 %."""
    ds = readers.open(ROOT / "tests" / "data" / "mpip" / "mix_350_c.mpiP")
    assert 100 * profile.mpi_fraction(ds) == pytest.approx(1651.94, rel=1e-3)


def test_calls__a_count_that_is_not_given_is_no_number() -> None:
    """`mpiP -c` counts calls in its top-twenty list and where they send: not MPI_Irecv here."""
    ds = readers.open(ROOT / "tests" / "data" / "mpip" / "mix_350_c.mpiP")
    counts = profile.calls(ds).set_index("call")["count"]
    assert counts["MPI_Irecv"] == -1
    assert counts["MPI_Sendrecv"] == 260


def test_calls__ipm_and_mpip_count_the_same_calls_of_lulesh() -> None:
    """8 ranks, 100 cycles: 99 times the least time step, and the messages of 7 neighbours of each rank."""
    folders = sorted((ROOT / "data" / "raw" / "vm-lulesh" / "runs").glob("lulesh-s10-*"))
    assert len(folders) == 15
    for folder in folders:
        (path,) = (*folder.glob("*.ipm.xml*"), *folder.glob("*.mpiP*"))
        ds = readers.open(path)
        called = {call: int(ds["count"].values[ds["call"].values == call].sum()) for call in LULESH}
        assert called == LULESH, folder.name


# By grep and awk in the first mpiP file: rows of "Callsite Message Sent statistics" and of the times.
LULESH = {
    "MPI_Allreduce": 8 * 99,
    "MPI_Isend": 10856,
    "MPI_Irecv": 10856,
    "MPI_Waitall": 2408,
    "MPI_Reduce": 8,
}
