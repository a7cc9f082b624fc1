from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.base.errors import BenchbookError
from analysis.base.units import amount, price_per_kwh
from analysis.energy.money import cost, emissions, energy_at_power, implied_node_power
from analysis.estimates.conclusions import energy_per_job, jobs_per_day, pareto_front, yearly_cost


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("250 W", "W", 250.0),
        ("0.25 kW", "W", 250.0),
        (250, "W", 250.0),
        ("1 kWh", "J", 3.6e6),
        ("400 g/kWh", "kg/kWh", 0.4),
        ("400 g CO2e/kWh", "kg/kWh", 0.4),
        ("0.4 kgCO2e/kWh", "kg/kWh", 0.4),
        ("2 h", "s", 7200.0),
    ],
)
def test_amounts__are_converted(text, unit, value):
    assert amount(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["250 V", "250", "much", "", "nan W", "1 W + 1 s", "250 W; 3"])
def test_amounts__what_is_no_power_is_refused(text):
    with pytest.raises(BenchbookError, match=r"amount:0: .* write it like '1 W'"):
        amount(text, "W")


def test_amounts__a_tariff_has_a_currency_and_currencies_do_not_mix():
    assert price_per_kwh("200 USD/MWh") == (pytest.approx(0.2), "USD")
    assert price_per_kwh("0.31 EUR/kWh") == (pytest.approx(0.31), "EUR")
    assert price_per_kwh(0.2) == (0.2, "")
    with pytest.raises(BenchbookError, match="names no currency"):
        price_per_kwh("0.2 XYZ/kWh")
    with pytest.raises(BenchbookError, match="'3200 EUR' is no amount in USD"):
        implied_node_power("3200 EUR", tariff="0.2 USD/kWh", nodes=16, speedup=2.0)


def runs(level: str, energies: list[float], elapsed: float, uncertainty: float = 360.0) -> pd.DataFrame:
    return pd.DataFrame(
        {"interconnect": level, "energy": energies, "elapsed": elapsed, "energy_uncertainty": uncertainty}
    )


def test_energy_per_job__repeats_do_not_make_the_meter_better():
    frame = pd.concat([runs("ib", [36_000.0] * 6, 100.0), runs("1gbe", [72_000.0] * 2, 200.0, np.nan)])
    table = energy_per_job(frame, "interconnect").set_index("interconnect")
    ib = table.loc["ib"]
    # 36 kJ are 10 Wh; 360 J are 0.1 Wh, of which 1.96 make 95 %.
    assert ib[["energy", "low", "high", "uncertainty", "n"]].tolist() == [10.0, 10.0, 10.0, 0.1, 6.0]
    assert (ib["low_total"], ib["high_total"]) == (pytest.approx(9.804), pytest.approx(10.196))
    assert table.loc["1gbe", "energy"] == 20.0
    assert np.isnan(table.loc["1gbe", "low_total"])  # an unknown meter is not a perfect one


def test_energy_per_job__both_parts_of_the_interval_add_in_squares():
    frame = runs("ib", [3600.0 * wh for wh in (10, 11, 12, 13, 14, 15, 16)], 100.0, 3600.0 * 3 / 1.96)
    row = energy_per_job(frame, "interconnect").iloc[0]
    assert row["energy"] == 13.0
    assert 10.0 <= row["low"] < 13.0 < row["high"] <= 16.0
    assert row["low_total"] == pytest.approx(13 - ((13 - row["low"]) ** 2 + 9) ** 0.5)
    few = energy_per_job(frame.head(5), "interconnect").iloc[0]
    assert np.isnan(few[["low", "low_total", "high_total"]].astype(float)).all()


def test_energy_per_job__bounds_of_gaps_come_in_full():
    frame = runs("ib", [36_000.0] * 6, 100.0, 0.0).assign(energy_low=32_400.0, energy_high=36_000.0)
    row = energy_per_job(frame, "interconnect").iloc[0]
    assert (row["energy"], row["low"], row["low_total"], row["high_total"]) == (10.0, 10.0, 9.0, 10.0)


def test_yearly_cost__holds_the_meters_uncertainty():
    # 100 s a job: 315,360 jobs a year of 0.02 and 0.01 kWh at 0.2 USD: 1261.44 and 630.72 USD.
    frame = pd.concat([runs("1gbe", [72_000.0] * 6, 100.0, 720.0), runs("ib", [36_000.0] * 6, 50.0, 360.0)])
    row = yearly_cost(frame, "interconnect", tariff=0.2, jobs_of="1gbe").set_index("interconnect").loc["ib"]
    assert (row["cost"], row["saving"]) == (pytest.approx(630.72), pytest.approx(630.72))
    # 1 % each: 1.96 x 6.3072 of the cost; 1.96 x sqrt(6.3072² + 12.6144²) of the saving
    assert row["cost_high"] - row["cost"] == pytest.approx(1.96 * 6.3072)
    assert row["saving"] - row["saving_low"] == pytest.approx(1.96 * (6.3072**2 + 12.6144**2) ** 0.5)


def test_jobs_per_day__by_level_with_pauses_and_several_at_once():
    frame = pd.concat([runs("ib", [1.0] * 6, 864.0), runs("1gbe", [1.0] * 6, 1728.0)])
    table = jobs_per_day(frame, "interconnect").set_index("interconnect")
    assert table["jobs_per_day"].to_dict() == {"1gbe": 50.0, "ib": 100.0}
    # Two at once, each 864 s and 136 s until the next: 2 x 86.4.
    assert jobs_per_day(frame, "interconnect", concurrent=2, pause=136.0)["jobs_per_day"].iloc[1] == 172.8


def test_jobs_per_day__the_longest_time_is_the_lower_end():
    frame = pd.DataFrame({"nodes": 4, "elapsed": [100.0, 110.0, 120.0, 130.0, 140.0, 150.0]})
    row = jobs_per_day(frame, "nodes").iloc[0]
    assert row["jobs_per_day"] == 86_400 / 125
    assert 86_400 / 150 <= row["low"] < row["jobs_per_day"] < row["high"] <= 86_400 / 100


def test_pareto_front__keeps_what_nothing_beats():
    frame = pd.DataFrame(
        {"elapsed": [10, 20, 30, 30, 40, 20, np.nan], "energy": [9, 5, 4, 6, 4, 5, 1]},
        index=list("abcdefg"),
    )
    # b and f are the same point; d is beaten by b, e by c.
    assert frame.index[pareto_front(frame)].tolist() == ["a", "b", "c", "f"]


def test_cost__of_a_year_at_constant_power():
    # 24 nodes at 440 W: 92,505.6 kWh in 8760 h.
    joules = energy_at_power("440 W", "8760 h", nodes=24)
    assert joules == pytest.approx(92_505.6 * 3.6e6)
    assert cost(joules, "0.10 USD/kWh") == pytest.approx(9_250.56)
    assert cost(joules, "0.20 USD/kWh", pue=1.5) == pytest.approx(27_751.68)
    assert cost("2 kWh", 0.2, jobs=1000) == pytest.approx(400.0)


def test_cost__energy_at_a_fixed_number_of_nodes_falls_as_the_run_time_does():
    slow, fast = (energy_at_power("440 W", seconds, nodes=16) for seconds in (1000.0, 400.0))
    assert slow == 7_040_000.0  # J: 16 x 440 W x 1000 s, 1955.6 Wh
    assert 1 - fast / slow == pytest.approx(0.6)  # the 60 % of LS-DYNA 2009 is 2.5 times the speed


def test_cost__a_pue_below_one_is_refused():
    with pytest.raises(BenchbookError, match=r"pue:0: a PUE of 0\.9; "):
        cost("1 kWh", 0.2, pue=0.9)


def test_emissions__at_a_declared_intensity():
    # 1 kWh x 10 jobs x 1.5 x 0.4 kg
    assert emissions("1 kWh", "400 g CO2e/kWh", pue=1.5, jobs=10) == pytest.approx(6.0)


def test_implied_node_power__of_openatoms_two_savings():
    common = {"tariff": "0.20 USD/kWh", "nodes": 16, "speedup": 6.71}
    # 10400 / (0.2 x 8760 x 16 x (1 - 1/6.71)) and 3200 / (0.2 x 8760 x 16 x (1/2.45 - 1/6.71)), in kW
    assert implied_node_power(10_400, **common) == pytest.approx(435.98, abs=0.01)
    assert implied_node_power(3_200, baseline_speedup=2.45, **common) == pytest.approx(440.53, abs=0.01)
    with pytest.raises(BenchbookError, match="not faster"):
        implied_node_power(1, tariff=0.2, nodes=1, speedup=1.0)


def openatom() -> pd.DataFrame:
    """Runs at 16 x 436 W, one job in an hour over GigE, 2.45 and 6.71 times faster over the others."""
    times = {"1gbe": 3600.0, "10gbe": 3600 / 2.45, "ib": 3600 / 6.71}
    return pd.concat([runs(level, [16 * 436.0 * t] * 6, t) for level, t in times.items()])


def test_yearly_cost__openatoms_rule_gives_its_savings_back():
    table = yearly_cost(openatom(), "interconnect", tariff="0.20 USD/kWh", jobs_of="1gbe")
    table = table.set_index("interconnect")
    assert table["jobs"].unique().tolist() == [8760.0]
    # 6.976 kW x 8760 h x 0.2 USD = 12,221.952 USD over GigE
    assert table.loc["1gbe", "cost"] == pytest.approx(12_221.952)
    assert table.loc["1gbe", "saving"] == 0.0
    assert table.loc["ib", "saving"] == pytest.approx(10_400.5, abs=0.1)
    assert table.loc["10gbe", "cost"] - table.loc["ib", "cost"] == pytest.approx(3_167.1, abs=0.1)
    # Repeats without spread: what is left is the meters' 360 J of 3 to 25 MJ.
    assert table.loc["ib", "saving_high"] - table.loc["ib", "saving_low"] < 1.0
    assert set(table["currency"]) == {"USD"}


def test_yearly_cost__has_an_interval_only_from_six_repeats():
    frame = openatom()
    frame["energy"] *= np.tile([0.95, 0.97, 0.99, 1.01, 1.03, 1.05], 3)
    table = yearly_cost(frame, "interconnect", tariff=0.2, jobs_of="1gbe", pue=1.25).set_index("interconnect")
    row = table.loc["ib"]
    assert row["saving"] == pytest.approx(1.25 * 10_400.5, rel=1e-4)
    assert row["saving_low"] < row["saving"] < row["saving_high"]
    few = yearly_cost(frame.groupby("interconnect").head(5), "interconnect", tariff=0.2, jobs_of="1gbe")
    assert few.set_index("interconnect")["saving_low"].isna()["ib"]
    with pytest.raises(BenchbookError, match="no run with interconnect 'fdr'; known: 10gbe, 1gbe, ib"):
        yearly_cost(frame, "interconnect", tariff=0.2, jobs_of="fdr")
