"""Saturation, interaction, crossover and cost against values computed by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from analysis.base import project
from analysis.claims.model import load_report
from analysis.estimates import stats
from analysis.estimates.campaign import NotCoveredError
from analysis.estimates.quantities import findings
from tests.estimates.hand import campaign, claim, question, repeats, verdict

STOPS = "quantity: saturation\nvariable: elapsed\ncompare: { factor: nodes, order: { min: 1, max: 64 } }\n"


def scan(seconds: dict[int, float | list[float]]) -> list[dict[str, Any]]:
    rows = []
    for nodes, value in seconds.items():
        rows += repeats(value if isinstance(value, list) else [value] * 6, nodes=nodes)
    return rows


@pytest.mark.parametrize(
    ("seconds", "value", "low", "high"),
    [
        # Gains of 100 %, 92.3 % and 2.0 %: the third falls short of 5 %.
        ({1: 100.0, 2: 50.0, 4: 26.0, 8: 25.5}, 4.0, 4.0, 4.0),
        ({1: 100.0, 2: 50.0, 4: 25.0}, 4.0, 4.0, math.inf),
        ({1: 100.0, 2: 120.0, 4: 25.0}, 1.0, 1.0, 1.0),
        # From 26 s to a median of 25 s, 4 %, anywhere between nothing and 13 %; then a clear stop.
        ({1: 50.0, 2: 26.0, 4: [23.0, 24.0, 25.0, 25.0, 26.0, 26.5], 8: 40.0}, 2.0, 2.0, 4.0),
        ({1: 50.0, 2: [25.0, 26.0]}, 2.0, 1.0, math.inf),  # too few repeats for an interval
    ],
)
def test_scaling__where_it_stops(
    tmp_path: Path, seconds: dict[int, float | list[float]], value: float, low: float, high: float
) -> None:
    text = STOPS + "expect: { relation: equal, value: 4, unit: nodes }"
    (found,) = findings(question(tmp_path, text), campaign(scan(seconds)))
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (value, low, high)


def test_scaling__a_case_of_one_size_has_no_scaling(tmp_path: Path) -> None:
    """Of two cases one ran on 4 nodes alone: nothing is said of it, and it does not hide the other."""
    rows = [*scan({1: 100.0, 2: 50.0, 4: 49.0}), *(row | {"case": "single"} for row in scan({4: 10.0}))]
    text = STOPS + "expect: { relation: equal, value: 2, unit: nodes }"
    (found,) = findings(question(tmp_path, text), campaign(rows))
    assert (found.estimate.value, found.estimate.high) == (2.0, 2.0)
    with pytest.raises(NotCoveredError, match="no comparable runs for nodes"):
        findings(question(tmp_path, text), campaign(scan({4: 10.0})))


def test_scaling__steps_by_medians_alone_are_said_to_be_unclear(tmp_path: Path) -> None:
    """The only step gains 9 % by medians, and its interval holds 0 %: up to 1 node nothing is clear."""
    rows = scan({1: [100.0, 90.0, 110.0, 95.0, 105.0, 101.0], 2: [90.0, 85.0, 99.0, 100.0, 80.0, 94.0]})
    said = verdict(
        claim(tmp_path, STOPS + "expect: { relation: equal, value: 2, unit: nodes }"), campaign(rows)
    )
    assert "every step up to 2 nodes brings more than 5 %" in said.sentence.lower()
    assert said.sentence.endswith("(by medians; no step is clear)")


def test_scaling__the_threshold_is_the_claims(tmp_path: Path) -> None:
    rows = scan({1: 100.0, 2: 50.0, 4: 49.0, 8: 51.0})
    text = STOPS + "expect: { relation: equal, value: 4, unit: nodes }"
    assert findings(question(tmp_path, text), campaign(rows))[0].estimate.value == 2.0  # 2 % is short of 5 %
    text += "\nthreshold: 0%"
    assert findings(question(tmp_path, text), campaign(rows))[0].estimate.value == 4.0  # and clear of 0 %


@pytest.mark.parametrize(
    ("expect", "word", "text"),
    [
        ("equal, value: 4", "holds", "4 nodes"),
        ("equal, value: 2", "does not hold", "4 nodes"),
        ("equal, value: 8", "does not hold", "4 nodes"),
        ("at-least, value: 8", "does not hold", "4 nodes"),
        ("range, low: 2, high: 4", "holds", "4 nodes"),
    ],
)
def test_scaling__verdicts_on_a_clear_stop(tmp_path: Path, expect: str, word: str, text: str) -> None:
    one = claim(tmp_path, STOPS + f"expect: {{ relation: {expect}, unit: nodes }}")
    got = verdict(one, campaign(scan({1: 100.0, 2: 50.0, 4: 26.0, 8: 25.5})))
    assert (got.verdict, got.estimate_text, got.estimate, got.scale) == (word, text, 4.0, "level")


@pytest.mark.parametrize(
    ("expect", "word", "reason"),
    [
        ("at-least, value: 4", "holds", "no step up to 4 is short of a gain of 5 %"),
        ("equal, value: 2", "does not hold", "further on"),
        ("equal, value: 8", "cannot tell", "every step is clear of a gain of 5 %, and the runs end at 4"),
    ],
)
def test_scaling__verdicts_where_nothing_stops(tmp_path: Path, expect: str, word: str, reason: str) -> None:
    one = claim(tmp_path, STOPS + f"expect: {{ relation: {expect}, unit: nodes }}")
    got = verdict(one, campaign(scan({1: 100.0, 2: 50.0, 4: 25.0})))
    assert (got.verdict, got.estimate_text, got.high) == (word, "not before 4 nodes", None)
    assert reason in got.reason


def test_scaling__an_open_step_cannot_tell(tmp_path: Path) -> None:
    one = claim(tmp_path, STOPS + "expect: { relation: equal, value: 2, unit: nodes }")
    noisy = {1: 50.0, 2: 26.0, 4: [23.0, 24.0, 25.0, 25.0, 26.0, 26.5], 8: 40.0}
    got = verdict(one, campaign(scan(noisy)))
    assert (got.verdict, got.estimate_text) == ("cannot tell", "2 nodes (2 to 4)")
    assert got.reason.startswith(
        "not every step is clear of a gain of 5 %, and none is clearly short of it by"
    )
    few = verdict(one, campaign(scan({1: [50.0], 2: [26.0]})))
    assert few.verdict == "cannot tell"
    assert few.reason.startswith("too few runs for an interval: 1")


LEAD = """quantity: interaction
variable: elapsed
compare:
  factor: mpi
  treatment: a
  baseline: b
  varying: [ranks]
  along: { factor: nodes, high: 16, low: 2 }
expect: { relation: at-least, value: 1 }"""


def leads(high: float, low: float) -> list[dict[str, Any]]:
    rows = [
        *repeats([10.0] * 6, mpi="a", nodes=16, ranks=128),
        *repeats([20.0] * 6, mpi="a", nodes=2, ranks=16),
    ]
    rows += repeats([10.0 * high] * 6, mpi="b", nodes=16, ranks=128)
    return rows + repeats([20.0 * low] * 6, mpi="b", nodes=2, ranks=16)


def test_scaling__an_interaction_is_a_ratio_of_speedups(tmp_path: Path) -> None:
    (found,) = findings(question(tmp_path, LEAD), campaign(leads(1.3, 1.1)))
    assert found.estimate.value == pytest.approx(1.3 / 1.1)
    assert (found.estimate.n, found.estimate.n_baseline) == (6, 6)
    assert verdict(claim(tmp_path, LEAD), campaign(leads(1.3, 1.1))).verdict == "holds"
    assert verdict(claim(tmp_path, LEAD), campaign(leads(1.1, 1.3))).verdict == "does not hold"


def test_scaling__an_interaction_of_rates_goes_the_other_way(tmp_path: Path) -> None:
    rows = [{**row, "figure_of_merit": row["elapsed"]} for row in leads(1.3, 1.1)]
    text = LEAD.replace("elapsed", "figure_of_merit")
    assert findings(question(tmp_path, text), campaign(rows))[0].estimate.value == pytest.approx(1.1 / 1.3)


def test_scaling__an_interaction_needs_both_ends(tmp_path: Path) -> None:
    rows = [row for row in leads(1.3, 1.1) if row["nodes"] == 16 or row["mpi"] == "a"]
    with pytest.raises(NotCoveredError, match="hand has no comparable runs at both nodes 16 and 2"):
        findings(question(tmp_path, LEAD), campaign(rows))


@pytest.mark.parametrize(
    ("x", "y", "word"),
    [
        ((1.0, 2.0), (2.0, 1.0), "holds"),
        ((1.0, 2.0), (1.0, 3.0), "does not hold"),
        ((1.0, 2.0), (1.0, 1.0), "cannot tell"),
    ],
)
def test_scaling__a_crossover_needs_a_clear_lead_on_each_side(
    tmp_path: Path, x: tuple[float, float], y: tuple[float, float], word: str
) -> None:
    rows = []
    for case, pair in (("x", x), ("y", y)):
        for mpi, seconds in zip("ab", pair, strict=True):
            rows += repeats([seconds] * 6, mpi=mpi, case=case)
    text = "quantity: crossover\nvariable: elapsed\nexpect: { relation: different }\n"
    text += "compare: { factor: mpi, treatment: a, baseline: b }"
    assert verdict(claim(tmp_path, text), campaign(rows)).verdict == word


POWER = 7008.0  # W: 16 nodes of 438 W
SECONDS = {"ib-ddr": 1000.0, "10gbe": 2740.0, "1gbe": 6710.0}  # 174 % and 571 % faster


def openatom(nodes: int = 16, **seconds: float) -> list[dict[str, Any]]:
    factors = {
        "application": "openatom", "case": "water-32m-70ry", "cpu": "Opteron-2382", "mpi": "open-mpi",
        "tuning": "tuned", "build": "openatom-1.0", "placement": "all-cores", "profiler": "none",
        "nodes": nodes, "ranks": 8 * nodes, "ranks_per_node": 8, "cluster": "openatom2010", "version": "1.0",
    }  # fmt: skip
    rows = []
    for link, time in {**SECONDS, **seconds}.items():
        more = {"energy": POWER * nodes / 16 * time, "interconnect": link}
        rows += repeats([time] * 6, **factors, **more)
    return rows


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        # A year over 1GbE is 7.008 kW x 8760 h x 0.20 = 12 278.016; the same jobs take 1000 / 6710 and
        # 2740 / 6710 of its energy over the other links.
        ("openatom2010-pwr-10400-vs-gige", 12_278.016 * (6710 - 1000) / 6710),
        ("openatom2010-pwr-3200-vs-10gige", 12_278.016 * (2740 - 1000) / 6710),
    ],
)
def test_cost__openatoms_savings_follow_from_438_w_a_node(name: str, saved: float) -> None:
    one = load_report(project.claims("openatom2010")).claim(name)
    got = verdict(one, campaign(openatom()))
    assert got.estimate == pytest.approx(saved)
    assert (got.verdict, got.unit, got.n, got.n_baseline) == ("seen at this scale", "USD/year", 6, 6)
    assert len(got.runs) == (18 if name.endswith("10gige") else 12)


def test_cost__a_saving_at_half_the_size_is_smaller() -> None:
    one = load_report(project.claims("openatom2010")).claim("openatom2010-pwr-saving-grows-with-size")
    # On 8 nodes 1GbE takes 5000 s and InfiniBand 2000 s: 3504 W x 8760 h x 0.2 x 3 / 5 = 3683.40.
    rows = [*openatom(), *openatom(8, **{"ib-ddr": 2000.0, "1gbe": 5000.0})]
    got = verdict(one, campaign(rows))
    assert got.estimate == pytest.approx(12_278.016 * 5710 / 6710 / 3683.4048)
    assert (got.verdict, got.unit) == ("seen at this scale", "×")


COST = "quantity: cost\nvariable: energy\nexpect: { relation: at-least, value: 100, unit: EUR/year }\n"


def test_cost__of_a_machine_that_never_rests(tmp_path: Path) -> None:
    rows = repeats([3600.0] * 6, energy=3.6e9)  # 1000 kWh an hour
    text = COST + "tariff: { price: 0.1, pue: 1.5 }"
    (found,) = findings(question(tmp_path, text), campaign(rows))
    assert found.estimate.value == pytest.approx(8760 * 1000 * 0.1 * 1.5)


def test_cost__equal_power_saves_nothing_if_each_side_does_its_own_jobs(tmp_path: Path) -> None:
    rows = [*repeats([10.0] * 6, mpi="a", energy=5000.0), *repeats([30.0] * 6, mpi="b", energy=15000.0)]
    text = COST + "tariff: { price: 0.1 }\ncompare: { factor: mpi, treatment: a, baseline: b }"
    assert findings(question(tmp_path, text), campaign(rows))[0].estimate.value == pytest.approx(0.0)
    text = text.replace("price: 0.1", "price: 0.1, jobs_of: b")
    # 500 W x 8760 h x 0.1 = 438 a year; a third of it does the same jobs.
    assert findings(question(tmp_path, text), campaign(rows))[0].estimate.value == pytest.approx(438 * 2 / 3)


def test_cost__without_a_meter_nothing_is_said() -> None:
    one = load_report(project.claims("openatom2010")).claim("openatom2010-pwr-10400-vs-gige")
    got = verdict(one, campaign([{**row, "energy": math.nan} for row in openatom()]))
    assert (got.verdict, got.reason) == ("not tested", "no selected run of hand has a value for energy")


def test_of_medians__is_the_ratio_of_medians_for_a_quotient() -> None:
    """Another path to the same numbers: value, interval and counts."""
    x, y = [9.0, 9.4, 8.8, 9.1, 9.3, 8.7, 9.9], [3.0, 3.2, 2.9, 3.1, 3.4, 3.05]
    got = stats.of_medians(lambda a, b: a / b, x, y)
    assert got == stats.ratio_of_medians(x, y)
    assert got.value == 9.1 / 3.075
    assert (got.n, got.n_baseline) == (7, 6)
