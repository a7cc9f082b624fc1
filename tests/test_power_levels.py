from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import schema
from analysis.power_levels import Machine, levels

START = np.datetime64("2026-03-01T00:00:00", "ns")


def at(seconds: float) -> np.datetime64:
    return START + np.timedelta64(round(seconds * 1e9), "ns")


def power(seconds: np.ndarray, watts: float = 500.0, meters: int = 2, **attrs: object) -> xr.Dataset:
    """Make a log of meters at constant power."""
    table = np.full((meters, seconds.size), watts)
    ds = xr.Dataset(
        {"power": (("meter", "time"), table)},
        {"meter": [f"m{i}" for i in range(meters)], "time": [at(s) for s in seconds]},
        {"interval": 1.0, "accuracy": 0.02, "reading": "instantaneous", "location": "rack outlet"} | attrs,
    )
    if attrs.get("reading") == "interval mean":
        ds["energy_counter"] = ds["power"] * (seconds - seconds[0])
    return schema.conform(ds, "power")


def stated(table: pd.DataFrame) -> dict[str, int | None]:
    keys = ("interval", "span", "values", "idle", "fraction", "subsystems", "point", "accuracy")
    return {k: None if pd.isna(v) else int(v) for k, v in zip(keys, table["level"], strict=True)}


RUN = {"start": at(0), "end": at(100), "core": (at(10), at(90))}


def test_levels__each_aspect_has_its_own_and_what_nobody_declared_has_none():
    table = levels(power(np.arange(-10.0, 111.0)), **RUN)
    assert stated(table) == {
        "interval": 2,
        "span": 3,
        "values": 2,
        "idle": 3,
        "fraction": None,
        "subsystems": None,
        "point": None,
        "accuracy": 2,
    }
    found = table["found"].tolist()
    assert found[0].startswith("momentary readings at most 1 s apart")
    assert found[2].startswith("81 powers in the core phase")  # 10 s, 11 s … 90 s
    assert found[3].startswith("20 readings of each meter outside the run")  # -10 … -1 and 101 … 110
    assert found[6] == "not declared (rack outlet)"


def test_levels__counters_reach_the_third():
    table = levels(power(np.arange(-10.0, 111.0), reading="interval mean", accuracy=0.01), **RUN)
    assert [stated(table)[key] for key in ("interval", "values", "accuracy")] == [3, 3, 3]


def test_levels__a_gap_in_one_meter_costs_the_interval_and_the_span():
    ds = power(np.arange(-10.0, 111.0))
    lost = (ds["time"].values > at(40)) & (ds["time"].values < at(46))
    ds["power"][1, lost] = np.nan
    table = levels(ds, **RUN)
    assert [stated(table)[key] for key in ("interval", "span")] == [0, 0]
    assert "at most 6 s apart" in table["found"][0]
    # 6 of 80 s and 6 of 100 s of one meter
    assert table["found"][1] == "readings cover 92.5 % of the core phase and 94 % of the run"


def test_levels__readings_of_the_core_phase_alone():
    table = levels(power(np.arange(10.0, 91.0)), **RUN)
    assert [stated(table)[key] for key in ("span", "idle")] == [1, 1]


def test_levels__few_slow_readings():
    table = levels(power(np.arange(-20.0, 121.0, 20.0), interval=20.0), **RUN)
    assert [stated(table)[key] for key in ("interval", "span", "values")] == [0, 3, 1]


@pytest.mark.parametrize(
    ("nodes", "metered", "kilowatts", "level"),
    [
        (16, 16, 0.5, 3),  # the whole machine, however small
        (100, 15, 2.5, 1),  # 15 nodes, 2 kW, more than a tenth
        (100, 14, 2.5, 0),  # a tenth would be 10, but the largest of the three counts
        (100, 15, 1.9, 0),
        (200, 19, 5.0, 0),  # a tenth is 20
        (100, 15, 12.0, 2),  # more than an eighth (12.5) and 10 kW
        (100, 15, 9.9, 1),
    ],
)
def test_levels__fraction_of_the_machine(nodes, metered, kilowatts, level):
    ds = power(np.arange(-10.0, 111.0), watts=kilowatts * 500)  # two meters
    table = levels(ds, **RUN, machine=Machine(nodes=nodes, metered_nodes=metered))
    assert stated(table)["fraction"] == level


@pytest.mark.parametrize(("accuracy", "level"), [(0.01, 3), (0.02, 2), (0.021, 1), (0.06, 0), (np.nan, None)])
def test_levels__accuracy_of_the_meter(accuracy, level):
    assert stated(levels(power(np.arange(-10.0, 111.0), accuracy=accuracy), **RUN))["accuracy"] == level


def test_levels__what_is_declared():
    machine = Machine(subsystems="all, some estimated", conversion="by data sheet")
    table = levels(power(np.arange(-10.0, 111.0)), **RUN, machine=machine)
    assert [stated(table)[key] for key in ("subsystems", "point")] == [2, 1]
    odd = levels(power(np.arange(-10.0, 111.0)), **RUN, machine=Machine(conversion="somewhere"))
    assert stated(odd)["point"] is None
    assert "is none of upstream" in odd["found"][6]
