"""Energy and money of a job, by hand; OpenAtom's rule gives its printed savings back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import pages
from analysis.estimates import stats
from analysis.estimates.campaign import NotCoveredError
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import findings
from analysis.estimates.question import Comparison, Question, Tariff
from analysis.estimates.tables import pareto_front
from tests.estimates.hand import campaign, repeats

Rows = list[dict[str, Any]]


def runs(level: str, joules: list[float], elapsed: float, uncertainty: float = 360.0, **known: float) -> Rows:
    known = {"energy_uncertainty": uncertainty, **known}
    return repeats(joules, "energy", interconnect=level, elapsed=elapsed, **known)


def energy(rows: Rows) -> Finding:
    (found,) = findings(Question("level", "energy_per_job"), campaign(rows))
    return found


def saving(rows: Rows, treatment: str, baseline: str = "1gbe", **tariff: Any) -> Finding:
    compare = Comparison("interconnect", (treatment, baseline))
    asked = Question("cost", "energy", compare=compare, tariff=Tariff(price=0.2, jobs_of="1gbe", **tariff))
    (found,) = findings(asked, campaign(rows))
    return found


def test_energy__repeats_do_not_make_the_meter_better() -> None:
    # 36 kJ are 10 Wh; 360 J are 0.1 Wh, of which 1.96 make 95 %.
    found = energy(runs("ib", [36_000.0] * 6, 100.0)).estimate
    assert (found.value, found.n) == (10.0, 6)
    assert (found.low, found.high) == (pytest.approx(9.804), pytest.approx(10.196))
    unknown = energy(runs("1gbe", [72_000.0] * 2, 200.0, np.nan))
    assert unknown.estimate.value == 20.0
    assert "not their accuracy, which is not stated" in unknown.arithmetic


def test_energy__both_parts_of_the_interval_add_in_squares() -> None:
    wh = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]
    found = energy(runs("ib", [3600.0 * one for one in wh], 100.0, 3600.0 * 3 / 1.96)).estimate
    alone = stats.median(wh)
    assert found.value == 13.0
    assert 10.0 <= alone.low < 13.0 < alone.high <= 16.0
    assert found.low == pytest.approx(13 - ((13 - alone.low) ** 2 + 9) ** 0.5)
    few = energy(runs("ib", [3600.0 * one for one in wh[:5]], 100.0, 0.0)).estimate
    assert (few.low, few.high, few.level) == (10.0, 14.0, 0.9375)


def test_energy__bounds_of_gaps_come_in_full() -> None:
    ends = {"energy_low": 32_400.0, "energy_high": 36_000.0}
    found = energy(runs("ib", [36_000.0] * 6, 100.0, 0.0, **ends)).estimate
    assert (found.value, found.low, found.high) == (10.0, 9.0, 10.0)


def test_cost__holds_the_meters_uncertainty() -> None:
    # 100 s per job: 315,360 jobs per year of 0.02 and 0.01 kWh at 0.2 USD: 1261.44 and 630.72 USD.
    rows = [*runs("1gbe", [72_000.0] * 6, 100.0, 720.0), *runs("ib", [36_000.0] * 6, 50.0, 360.0)]
    saved = saving(rows, "ib").estimate
    table = pages.yearly_costs(campaign(rows), "interconnect", price=0.2, jobs_of="1gbe")
    spent = table.set_index("interconnect").loc["ib"]
    assert (spent["cost_a_year"], saved.value) == (pytest.approx(630.72), pytest.approx(630.72))
    # 1 % each: 1.96 x 6.3072 of the cost; 1.96 x sqrt(6.3072² + 12.6144²) of the saving
    assert spent["high"] - spent["cost_a_year"] == pytest.approx(1.96 * 6.3072)
    assert saved.value - saved.low == pytest.approx(1.96 * (6.3072**2 + 12.6144**2) ** 0.5)


def test_jobs_a_day__the_longest_time_is_the_lower_end() -> None:
    rows = repeats([100.0, 110.0, 120.0, 130.0, 140.0, 150.0], nodes=4)
    (found,) = findings(Question("level", "jobs_per_day"), campaign(rows))
    assert found.estimate.value == pytest.approx((86_400 / 120 + 86_400 / 130) / 2)
    assert 86_400 / 150 <= found.estimate.low < found.estimate.value < found.estimate.high <= 86_400 / 100


def test_pareto_front__keeps_what_nothing_beats() -> None:
    frame = pd.DataFrame(
        {"elapsed": [10, 20, 30, 30, 40, 20, np.nan], "energy": [9, 5, 4, 6, 4, 5, 1]},
        index=list("abcdefg"),
    )
    # b and f are the same point; d is beaten by b, e by c.
    assert frame.index[pareto_front(frame, "elapsed", "energy")].tolist() == ["a", "b", "c", "f"]


def openatom(scatter: tuple[float, ...] = (1.0,) * 6) -> Rows:
    """Runs at 16 x 436 W, one job in an hour over GigE, 2.45 and 6.71 times faster over the others."""
    times = {"1gbe": 3600.0, "10gbe": 3600 / 2.45, "ib": 3600 / 6.71}
    return [
        row for level, t in times.items() for row in runs(level, [16 * 436.0 * t * one for one in scatter], t)
    ]


def test_cost__openatoms_rule_gives_its_savings_back() -> None:
    rows = openatom()
    table = pages.yearly_costs(campaign(rows), "interconnect", price=0.2, jobs_of="1gbe")
    # 6.976 kW x 8760 h x 0.2 USD = 12,221.952 USD over GigE
    assert table.set_index("interconnect").loc["1gbe", "cost_a_year"] == pytest.approx(12_221.952)
    saved = saving(rows, "ib").estimate
    assert saved.value == pytest.approx(10_400.5, abs=0.1)
    assert saving(rows, "ib", "10gbe").estimate.value == pytest.approx(3_167.1, abs=0.1)
    # Repeats without spread: what is left is the meters' 360 J of 2 to 25 MJ.
    assert saved.high - saved.low < 1.0


def test_cost__has_its_interval_at_95_percent_from_six_repeats_on() -> None:
    scatter = (0.95, 0.97, 0.99, 1.01, 1.03, 1.05)
    saved = saving(openatom(scatter), "ib", pue=1.25).estimate
    assert saved.value == pytest.approx(1.25 * 10_400.5, rel=1e-4)
    assert saved.low < saved.value < saved.high
    # Two energies and a time of five runs: each range may miss in 1 of 16.
    assert saving(openatom(scatter[:5]), "ib").estimate.level == 1 - 3 / 16
    with pytest.raises(NotCoveredError, match="no run of hand stands for interconnect fdr"):
        saving(openatom(), "ib", "fdr")
