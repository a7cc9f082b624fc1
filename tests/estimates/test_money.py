from __future__ import annotations

import pytest

from analysis.base.errors import BenchbookError
from analysis.base.units import amount, price_per_kwh
from analysis.estimates.cost import cost, emissions


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
    with pytest.raises(BenchbookError, match=r"amount: .* write it like '1 W'"):
        amount(text, "W")


def test_amounts__a_tariff_has_a_currency_and_currencies_do_not_mix():
    assert price_per_kwh("200 USD/MWh") == (pytest.approx(0.2), "USD")
    assert price_per_kwh("0.31 EUR/kWh") == (pytest.approx(0.31), "EUR")
    assert price_per_kwh(0.2) == (0.2, "")
    with pytest.raises(BenchbookError, match="names no currency"):
        price_per_kwh("0.2 XYZ/kWh")
    with pytest.raises(BenchbookError, match="'3200 EUR' is no amount in USD"):
        amount("3200 EUR", "USD")


def test_cost__of_a_year_at_constant_power():
    # 24 nodes at 440 W: 92,505.6 kWh in 8760 h.
    joules = 24 * 440 * 8760 * 3600
    assert cost(joules, "0.10 USD/kWh") == pytest.approx(9_250.56)
    assert cost(joules, "0.20 USD/kWh", pue=1.5) == pytest.approx(27_751.68)
    assert cost("2 kWh", 0.2, jobs=1000) == pytest.approx(400.0)


def test_cost__a_pue_below_one_is_refused():
    with pytest.raises(BenchbookError, match=r"pue: a PUE of 0\.9; "):
        cost("1 kWh", 0.2, pue=0.9)


def test_emissions__at_a_declared_intensity():
    # 1 kWh x 10 jobs x 1.5 x 0.4 kg
    assert emissions("1 kWh", "400 g CO2e/kWh", pue=1.5, jobs=10) == pytest.approx(6.0)
