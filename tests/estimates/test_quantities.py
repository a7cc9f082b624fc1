"""Quantities of small campaigns against values computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.base.errors import ConfigError
from analysis.estimates.campaign import NotCoveredError
from analysis.estimates.quantities import findings
from tests.estimates.hand import campaign, claim, question, repeats, verdict

PAIR = "compare: { factor: mpi, treatment: a, baseline: b }\nexpect: { relation: about, value: 1 }\n"


def timed(**seconds: float) -> list[dict[str, Any]]:
    """Six equal repeats an MPI library: intervals of no width."""
    return [row for mpi, value in seconds.items() for row in repeats([value] * 6, mpi=mpi)]


def one(folder: Path, text: str, rows: list[dict[str, Any]], **tables: Any) -> Any:
    (found,) = findings(question(folder, text), campaign(rows, **tables))
    return found


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [("speedup", 2.5), ("gain", 150.0), ("reduction", 60.0)],
)
def test_quantities__a_job_of_4_s_against_one_of_10_s(tmp_path: Path, quantity: str, expected: float) -> None:
    found = one(tmp_path, f"quantity: {quantity}\nvariable: elapsed\n{PAIR}", timed(a=4.0, b=10.0))
    estimate = found.estimate
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(expected),) * 3
    assert (estimate.n, estimate.n_baseline, found.base) == (6, 6, (10.0, "s", "b"))
    assert len(found.runs) == 12


@pytest.mark.parametrize("variable", ["elapsed", "figure_of_merit"])
def test_quantities__n_is_that_of_the_treatment(tmp_path: Path, variable: str) -> None:
    rows = [*repeats([4.0] * 6, variable, mpi="a"), *repeats([10.0] * 8, variable, mpi="b")]
    estimate = one(tmp_path, f"quantity: speedup\nvariable: {variable}\n{PAIR}", rows).estimate
    assert (estimate.n, estimate.n_baseline) == (6, 8)


def test_quantities__a_rate_is_better_when_higher(tmp_path: Path) -> None:
    rows = [*repeats([12.0] * 6, "figure_of_merit", mpi="a"), *repeats([8.0] * 6, "figure_of_merit", mpi="b")]
    assert one(tmp_path, f"quantity: gain\n{PAIR}", rows).estimate.value == pytest.approx(50.0)
    # Less of a rate is not better: 12 is 50 % more than 8, not less.
    assert one(tmp_path, f"quantity: reduction\n{PAIR}", rows).estimate.value == pytest.approx(-50.0)


def test_quantities__efficiency_is_speedup_over_ranks(tmp_path: Path) -> None:
    rows = [*repeats([30.0] * 6, nodes=4, ranks=8), *repeats([90.0] * 6, nodes=1, ranks=2)]
    text = "quantity: efficiency\nvariable: elapsed\nexpect: { relation: at-least, value: 70 }\n"
    text += "compare: { factor: nodes, treatment: 4, baseline: 1, varying: [ranks] }"
    assert one(tmp_path, text, rows).estimate.value == pytest.approx(75.0)  # 3 times on 4 times the ranks


def test_quantities__every_treatment_meets_every_baseline(tmp_path: Path) -> None:
    text = "quantity: speedup\nvariable: elapsed\nexpect: { relation: at-least, value: 1 }\n"
    text += "compare: { factor: mpi, treatment: [a, b], baseline: [c, d] }"
    found = findings(question(tmp_path, text), campaign(timed(a=1.0, b=2.0, c=4.0, d=10.0)))
    assert sorted(finding.estimate.value for finding in found) == [2.0, 4.0, 5.0, 10.0]


def test_quantities__a_side_that_mixes_is_refused(tmp_path: Path) -> None:
    rows = [*repeats([1.0], mpi="a", ranks=1), *repeats([1.0], mpi="a", ranks=2), *repeats([1.0], mpi="b")]
    text = f"quantity: speedup\nvariable: elapsed\n{PAIR}".replace(
        "baseline: b", "baseline: b, varying: [ranks]"
    )
    with pytest.raises(NotCoveredError, match="a would mix ranks 1, 2: narrow the claim's select or where"):
        one(tmp_path, text, rows)
    text = text.replace("[ranks]", "[ranks], where: { treatment: { ranks: 2 }, baseline: {} }")
    assert one(tmp_path, text, rows).estimate.value == 1.0


def test_quantities__what_is_missing_is_named(tmp_path: Path) -> None:
    text = f"quantity: speedup\nvariable: elapsed\n{PAIR}"
    with pytest.raises(NotCoveredError, match="no run of hand stands for mpi b"):
        one(tmp_path, text, timed(a=1.0))
    with pytest.raises(NotCoveredError, match="hand has no comparable runs for mpi a, b"):
        one(tmp_path, text, [*repeats([1.0], mpi="a", nodes=2), *repeats([1.0], mpi="b", nodes=1)])
    with pytest.raises(NotCoveredError, match="no selected run of hand has a value for energy"):
        one(tmp_path, text.replace("elapsed", "energy"), timed(a=1.0, b=1.0))


def test_quantities__all_missing_levels_are_named_at_once(tmp_path: Path) -> None:
    wanted = "select: { cpu: [z80, m68k] }\n"
    text = f"quantity: speedup\nvariable: elapsed\n{wanted}{PAIR}".replace(
        "baseline: b", "baseline: b, varying: [ranks], where: { treatment: { ranks: 2 }, baseline: {} }"
    )
    with pytest.raises(NotCoveredError) as error:
        one(tmp_path, text, timed(a=1.0))
    assert str(error.value) == "no run of hand stands for cpu z80, m68k; mpi b; ranks 2"


def test_quantities__times_that_may_not_be_used_are_said_beside_missing_levels(tmp_path: Path) -> None:
    text = f"quantity: speedup\nvariable: elapsed\n{PAIR}"
    rows = [row | {"timing": False} for row in timed(a=1.0)]
    with pytest.raises(NotCoveredError) as error:
        one(tmp_path, text, rows)
    assert str(error.value) == "no run of hand stands for mpi b, and the times of its runs may not be used"
    # Memory rests on no times.
    with pytest.raises(NotCoveredError, match=r"stands for mpi b$"):
        one(tmp_path, text.replace("elapsed", "node_memory_slurm"), rows)


def test_quantities__the_mean_is_of_costs_and_not_of_ratios(tmp_path: Path) -> None:
    rows = [
        *repeats([8.0] * 6, mpi="a", case="x"),
        *repeats([10.0] * 6, mpi="b", case="x"),
        *repeats([60.0] * 6, mpi="a", case="y"),
        *repeats([100.0] * 6, mpi="b", case="y"),
    ]
    text = f"quantity: reduction\nvariable: elapsed\naggregate: mean\n{PAIR}"
    found = one(tmp_path, text, rows)
    assert found.estimate.value == pytest.approx(100 * (1 - 68 / 110))  # 38.2 %, where 20 and 40 give 30
    assert found.estimate.low == found.estimate.high == found.estimate.value
    assert found.base[0] == 55.0
    gained = one(tmp_path, text.replace("reduction", "gain"), rows)
    assert gained.estimate.value == pytest.approx(100 * (110 / 68 - 1))
    # A view may put a rate in the place of a time: of 1/8 and 1/10, 1/60 and 1/100 the costs are those above.
    rates = campaign([{**row, "figure_of_merit": 1 / row["elapsed"]} for row in rows])
    (rate,) = findings(replace(question(tmp_path, text), variable="figure_of_merit"), rates)
    assert rate.estimate.value == pytest.approx(100 * (1 - 68 / 110))
    assert rate.base[0] == pytest.approx(1 / 55)
    with pytest.raises(ConfigError, match="takes the mean of figure_of_merit for a reduction; only costs"):
        one(
            tmp_path,
            text.replace("variable: elapsed\n", ""),
            [{**row, "figure_of_merit": 1.0} for row in rows],
        )


@pytest.mark.parametrize(
    ("aggregate", "estimate"),
    [("all", 4.0), ("max", 5.0), ("min", 2.0), ("max\nover: [case]", 4.0), ("min\nover: [case]", 2.0)],
)
def test_quantities__aggregates_choose_among_strata(tmp_path: Path, aggregate: str, estimate: float) -> None:
    """Speedups of 2 and 4 on one node (cases x, y), of 5 and 4.5 on two; three or more are claimed."""
    rows = []
    for nodes, case, seconds in ((1, "x", 2.0), (1, "y", 4.0), (2, "x", 5.0), (2, "y", 4.5)):
        rows += repeats([1.0] * 6, mpi="a", case=case, nodes=nodes)
        rows += repeats([seconds] * 6, mpi="b", case=case, nodes=nodes)
    text = f"quantity: speedup\nvariable: elapsed\naggregate: {aggregate}\n{PAIR}"
    text = text.replace(
        "about, value: 1",
        "about, value: 2" if estimate == 4.0 and aggregate == "all" else "at-least, value: 3",
    )
    assert verdict(claim(tmp_path, text), campaign(rows)).estimate == estimate


def test_quantities__up_to_prefers_a_stratum_with_an_interval(tmp_path: Path) -> None:
    rows = [*timed(a=1.0, b=2.0), *repeats([1.0], mpi="a", nodes=2), *repeats([9.0], mpi="b", nodes=2)]
    text = f"quantity: speedup\nvariable: elapsed\naggregate: max\n{PAIR}".replace("value: 1", "value: 2")
    got = verdict(claim(tmp_path, text), campaign(rows))
    assert (got.estimate, got.verdict) == (2.0, "holds")


def test_quantities__each_member_by_itself(tmp_path: Path) -> None:
    rows = repeats([1.0], ranks=2)
    calls = [{"run": "r00", "call": name, "count": n} for name, n in (("MPI_Send", 30), ("MPI_Recv", 10))]
    text = "quantity: level\nvariable: calls_made\nmembers: [MPI_Send, MPI_Recv, MPI_Isend]\neach: true\n"
    text += "expect: { relation: at-least, value: 1 }"
    here = campaign(rows, calls=calls)
    found = findings(question(tmp_path, text), here)
    assert [finding.estimate.value for finding in found] == [30.0, 10.0, 0.0]
    (together,) = findings(question(tmp_path, text.replace("each: true", "each: false")), here)
    assert together.estimate.value == 40.0


def test_quantities__an_order_of_present_levels(tmp_path: Path) -> None:
    """The campaign has 1, 2 and 8 nodes between 1 and 16; 32 nodes lie beyond."""
    rows = [row for n, s in ((1, 8.0), (2, 4.0), (8, 2.0), (32, 9.0)) for row in repeats([s] * 6, nodes=n)]
    text = "quantity: trend\nvariable: elapsed\nexpect: { relation: falling }\n"
    text += "compare: { factor: nodes, order: { min: 1, max: 16 } }"
    found = one(tmp_path, text, rows)
    assert found.estimate.value == pytest.approx(-1.0)
    assert found.compared == "along nodes 1, nodes 2, nodes 8; nodes 1, 2, 8, 1 rank"


def test_quantities__a_mixed_equality_is_the_ratio_of_medians(tmp_path: Path) -> None:
    text = f"quantity: equality\nvariable: elapsed\n{PAIR}".replace("about, value: 1", "equal, tolerance: 5%")
    rows = [
        *repeats([10.0, 10.1, 10.2, 9.9, 9.8, 10.05], mpi="a"),
        *repeats([10.0, 10.15, 10.1, 9.95, 9.9, 9.85], mpi="b"),
    ]
    found = one(tmp_path, text, rows)
    assert found.estimate.value == pytest.approx(10.025 / 9.975)
    assert found.equivalence.equivalent
