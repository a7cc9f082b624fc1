from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis.energy.levels import MeteredMachine, methodology_levels
from analysis.schema import registry

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
    return registry.conform(ds, "power")


def stated(table: pd.DataFrame) -> dict[str, int | None]:
    keys = ("interval", "span", "values", "idle", "fraction", "subsystems", "point", "accuracy")
    return {k: None if pd.isna(v) else int(v) for k, v in zip(keys, table["level"], strict=True)}


RUN = {"start": at(0), "end": at(100), "core": (at(10), at(90))}


def test_levels__each_aspect_has_its_own_and_what_nobody_declared_has_none():
    table = methodology_levels(power(np.arange(-10.0, 111.0)), **RUN)
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
    assert found[0].startswith("momentary readings at intervals of at most 1 s")
    assert found[2].startswith("81 powers in the core phase")  # 10 s, 11 s … 90 s
    assert found[3].startswith("1000 W, 20 readings of each meter")  # -10 … -1 and 101 … 110, two meters
    assert found[6] == "not declared (rack outlet)"
    assert found[7] == "limit of error 2 %"


@pytest.mark.parametrize(
    ("first", "step", "level", "found"),
    [
        (-10.0, 1.0, 3, "read every 1 s or less, 0 s from an end"),
        (-4.0, 7.0, 3, "read every 7 s or less, 3 s from an end"),  # 10 … 87
        (-8.0, 8.0, 2, "read every 8 s or less, 6 s from an end"),  # 16 … 88
        (-10.0, 12.0, 0, "read every 12 s or less"),  # a tenth of 80 s are 8 s
    ],
)
def test_levels__counters(first, step, level, found):
    table = methodology_levels(
        power(np.arange(first, 121.0, step), reading="interval mean", accuracy=0.01), **RUN
    )
    assert stated(table)["interval"] == level
    assert table["found"][0].startswith(f"energy counters, {found}")
    assert stated(table)["accuracy"] == 3
    assert stated(table)["values"] == (3 if step <= 8 else 1)


def test_levels__a_core_phase_under_a_minute_reaches_none():
    table = methodology_levels(power(np.arange(-10.0, 111.0)), at(0), at(100), core=(at(10), at(69.5)))
    assert stated(table)["span"] == 0
    assert "lasts 59.5 s, 60 s are asked for" in table["found"][1]


def test_levels__power_while_another_job_runs_is_not_idle():
    ds = power(np.arange(-10.0, 111.0))
    table = methodology_levels(ds, **RUN, jobs=([at(-20), at(0)], [at(0), at(120)]))
    assert stated(table)["idle"] == 1
    assert "no reading of each meter is known to be without a job" in table["found"][3]


def test_levels__a_gap_in_one_meter_costs_the_interval_and_the_span():
    ds = power(np.arange(-10.0, 111.0))
    lost = (ds["time"].values > at(40)) & (ds["time"].values < at(46))
    ds["power"][1, lost] = np.nan
    table = methodology_levels(ds, **RUN)
    assert [stated(table)[key] for key in ("interval", "span")] == [0, 0]
    assert "intervals of at most 6 s" in table["found"][0]
    # 6 of 80 s and 6 of 100 s of one meter
    assert table["found"][1] == "readings cover 92.5 % of the core phase and 94 % of the run"


def test_levels__readings_of_the_core_phase_alone():
    table = methodology_levels(power(np.arange(10.0, 91.0)), **RUN)
    assert [stated(table)[key] for key in ("span", "idle")] == [1, 1]


def test_levels__few_slow_readings():
    table = methodology_levels(power(np.arange(-20.0, 121.0, 20.0), interval=20.0), **RUN)
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
        (100, 14, 12.0, 0),  # level 2 asks for 15 nodes as well
        (1000, 20, 41.0, 1),  # a fiftieth, but more than 40 kW
        (1000, 20, 39.0, 0),
        (100, 15, 9.9, 1),
    ],
)
def test_levels__fraction_of_the_machine(nodes, metered, kilowatts, level):
    ds = power(np.arange(-10.0, 111.0), watts=kilowatts * 500)  # two meters
    table = methodology_levels(ds, **RUN, machine=MeteredMachine(nodes=nodes, metered_nodes=metered))
    assert stated(table)["fraction"] == level


@pytest.mark.parametrize(("accuracy", "level"), [(0.01, 3), (0.02, 2), (0.021, 1), (0.06, 0), (np.nan, None)])
def test_levels__accuracy_of_the_meter(accuracy, level):
    assert (
        stated(methodology_levels(power(np.arange(-10.0, 111.0), accuracy=accuracy), **RUN))["accuracy"]
        == level
    )


def test_levels__what_is_declared():
    machine = MeteredMachine(subsystems="all, some estimated", conversion="data sheet")
    table = methodology_levels(power(np.arange(-10.0, 111.0)), **RUN, machine=machine)
    assert [stated(table)[key] for key in ("subsystems", "point")] == [2, 1]
    alone = methodology_levels(
        power(np.arange(-10.0, 111.0)), **RUN, machine=MeteredMachine(subsystems="compute nodes")
    )
    assert stated(alone)["subsystems"] == 0  # the interconnect is to be measured or estimated
    odd = methodology_levels(
        power(np.arange(-10.0, 111.0)), **RUN, machine=MeteredMachine(conversion="somewhere")
    )
    assert stated(odd)["point"] is None
    assert "is none of upstream" in odd["found"][6]
