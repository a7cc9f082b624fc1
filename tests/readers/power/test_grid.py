"""Full logs folded without sorting: same table as row by row, whatever the order and the blocks."""

import datetime
import itertools
import random

import numpy as np
import pytest

from analysis.readers.power import csv
from analysis.readers.power import table as grid
from analysis.readers.power.formats import power_csv

START = 1772323200  # 2026-03-01T00:00:00Z
STAMPS = {
    "epoch": lambda t: f"{t}",
    "fraction": lambda t: f"{t}.250",
    "utc": lambda t: f"{clock(t):%Y-%m-%dT%H:%M:%S}Z",
    "offset": lambda t: f"{clock(t + 3600):%Y-%m-%dT%H:%M:%S}+01:00",
    "local": lambda t: f"{clock(t + 3600):%Y-%m-%d %H:%M:%S}",
}


def clock(t):
    return datetime.datetime.fromtimestamp(t, datetime.UTC)


def blocks(values, *ends):
    return np.split(np.array(values), ends)


def test_grid__rows_by_time_over_blocks_that_end_between_meters():
    time, code = blocks([5, 5, 6, 6, 9, 9], 1, 2, 5), blocks([0, 1, 0, 1, 0, 1], 1, 2, 5)
    stamps, table = grid.fold(time, code, [blocks([1.0, 2, 3, 4, 5, 6], 1, 2, 5)], 2)
    assert stamps.tolist() == [5, 6, 9]
    assert table.tolist() == [[1, 3, 5], [2, 4, 6]]


def test_grid__rows_by_time_over_pieces(monkeypatch):
    monkeypatch.setattr(grid, "_ROWS", 2)
    time, code = [np.repeat(np.arange(5), 3)], [np.tile([0, 1, 2], 5)]
    stamps, table = grid.fold(time, code, [[np.arange(15.0)]], 3)
    assert stamps.tolist() == [0, 1, 2, 3, 4]
    assert table.tolist() == [[0, 3, 6, 9, 12], [1, 4, 7, 10, 13], [2, 5, 8, 11, 14]]


def test_grid__rows_by_meter_with_two_columns():
    time, code = blocks([5, 6, 9, 5, 6, 9], 2), blocks([0, 0, 0, 1, 1, 1], 2)
    columns = [blocks([1.0, 2, 3, 4, 5, 6], 2), blocks([10.0, 20, 30, 40, 50, 60], 2)]
    stamps, table = grid.fold(time, code, columns, 2)
    assert stamps.tolist() == [5, 6, 9]
    assert table.tolist() == [[1, 2, 3], [10, 20, 30], [4, 5, 6], [40, 50, 60]]


@pytest.mark.parametrize(
    ("time", "code"),
    [
        ([5, 5, 6], [0, 1, 0]),  # one is missing
        ([5, 5, 5, 5], [0, 1, 0, 1]),  # doubled
        ([6, 6, 5, 5], [0, 1, 0, 1]),  # back
        ([5, 5, 6, 6], [0, 1, 1, 0]),  # another order
        ([5, 6, 6, 7], [0, 1, 0, 1]),  # stamps of their own
        ([5, 6, 5, 7], [0, 0, 1, 1]),
        ([5, 6, 7, 5], [0, 0, 0, 1]),
        ([6, 5, 6, 5], [0, 0, 1, 1]),
        ([5, 5, 5, 5], [0, 0, 1, 1]),
    ],
)
def test_grid__what_is_not_full_and_in_order_is_left_to_sorting(time, code):
    assert grid.fold([np.array(time)], [np.array(code)], [[np.zeros(len(time))]], 2) is None


def logged(draw, order):
    """Draw readings (t, meter, W) in an order of rows; some orders leave out or double some."""
    times = sorted(draw.sample(range(START, START + 40), draw.randint(2, 12)))
    meters = [f"n{i}" for i in range(draw.randint(1, 5))]
    by_time = list(itertools.product(times, meters))
    rows = [(t, m) for m in meters for t in times] if order == "meter" else by_time
    if order == "shuffled":
        draw.shuffle(rows)
    elif order == "gaps":
        rows = [row for row in rows if draw.random() < 0.8] or rows
    elif order == "doubled":
        rows = [row for row in rows for _ in range(draw.choice([1, 1, 2]))]
    return [(t, m, draw.choice([draw.randint(0, 900), round(draw.uniform(0, 900), 3)])) for t, m in rows]


def expected(rows, shift):
    """Return the mean of each meter's readings of a stamp, as {(meter, ns): W}."""
    found = {}
    for t, meter, watts in rows:
        found.setdefault((meter, t * 10**9 + shift), []).append(watts)
    return {key: sum(values) / len(values) for key, values in found.items()}


def told(ds):
    times = ds["time"].values.astype(np.int64).tolist()
    return {
        (str(meter), t): watts
        for meter, row in zip(ds["meter"].values, ds["power"].values, strict=True)
        for t, watts in zip(times, row.tolist(), strict=True)
        if not np.isnan(watts)
    }


@pytest.mark.parametrize("order", ["time", "meter", "shuffled", "gaps", "doubled"])
@pytest.mark.parametrize("stamp", STAMPS)
def test_grid__random_logs_are_the_same_both_ways(monkeypatch, order, stamp):
    draw = random.Random(f"{order} {stamp}")
    fast = csv._typed
    for _ in range(12):
        monkeypatch.setattr(csv, "_BLOCK", draw.randint(64, 300))
        rows = logged(draw, order)
        text = "timestamp,node,power_W\n" + "".join(f"{STAMPS[stamp](t)},{m},{w}\n" for t, m, w in rows)
        taken = []
        monkeypatch.setattr(csv, "_typed", lambda *given, taken=taken: taken.append(fast(*given)) or taken[0])
        options = {"tz": "Africa/Lagos"} if stamp == "local" else {}
        ds = power_csv.parse(text.encode(), "pdu.csv", **options)
        assert taken[0] is not None
        assert (taken[0].power.ndim == 2) or order not in ("time", "meter")
        assert told(ds) == pytest.approx(expected(rows, 250_000_000 if stamp == "fraction" else 0), rel=1e-15)
        monkeypatch.setattr(csv, "_typed", lambda *_: None)
        assert power_csv.parse(text.encode(), "pdu.csv", **options).identical(ds)


@pytest.mark.parametrize("broken", [False, True])
def test_grid__wide_logs_are_the_same_both_ways(monkeypatch, broken):
    draw = random.Random(int(broken))
    monkeypatch.setattr(csv, "_BLOCK", 200)
    times = [START + i for i in range(30)]
    if broken:
        times[7], times[20] = times[8], times[2]  # a doubled stamp, and one that goes back
    cells = [[draw.choice(["", "inf", f"{draw.uniform(0, 2):.4f}"]) for _ in range(3)] for _ in times]
    text = "time,a (kW),b (W),c (W)\n" + "".join(
        f"{t},{','.join(row)}\n" for t, row in zip(times, cells, strict=True)
    )
    ds = power_csv.parse(text.encode(), "pdu.csv")
    monkeypatch.setattr(csv, "_typed", lambda *_: None)
    assert power_csv.parse(text.encode(), "pdu.csv").identical(ds)
    column = [float(row[0]) * 1e3 if row[0] not in ("", "inf") else np.nan for row in cells]
    if not broken:
        assert ds["power"].values[0] == pytest.approx(column, nan_ok=True)
    assert ds.sizes["time"] == 30 - 2 * broken


def test_grid__two_columns_of_each_node_are_the_same_both_ways(monkeypatch):
    text = "time,node,cpu_W,gpu_W\n" + "".join(
        f"{START + s},n{m},{100 * m + s},{100 * m + s + 0.5}\n" for s in range(9) for m in range(3)
    )
    ds = power_csv.parse(text.encode(), "pdu.csv")
    assert ds["meter"].values.tolist()[2:4] == ["n1/cpu_W", "n1/gpu_W"]
    assert ds["power"].values[3].tolist() == [100.5 + s for s in range(9)]
    monkeypatch.setattr(csv, "_typed", lambda *_: None)
    assert power_csv.parse(text.encode(), "pdu.csv").identical(ds)
