"""Several comparisons of one claim, several days, several verdicts of one page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.claims.verdict import Verdict, controlled
from analysis.claims.verdicts import resolve
from analysis.estimates import stats
from analysis.estimates.family import adjusted
from analysis.estimates.finding import ONE_AFTER_ANOTHER, Finding, measuring_days
from tests.estimates.hand import campaign, claim, repeats, verdict

SPEEDUP = """quantity: speedup
variable: elapsed
aggregate: {aggregate}
compare: {{ factor: mpi, treatment: a, baseline: b }}
expect: {{ relation: {expect} }}"""
SIX = np.array([0.97, 0.98, 0.99, 1.01, 1.02, 1.03])


def ask(folder: Path, aggregate: str = "all", expect: str = "at-least, value: 1") -> Any:
    return claim(folder, SPEEDUP.format(aggregate=aggregate, expect=expect))


def finding(ratio: float, spread: float = 1.0, **stratum: str) -> Finding:
    values = ratio * (1 + spread * (SIX - 1))
    return Finding(stats.ratio_of_medians(values, SIX), "", "", ("r",), stratum=stratum)


def test_resolve__up_to_has_an_interval_for_all_strata_at_once(tmp_path: Path) -> None:
    found = [finding(2.0, case="x"), finding(3.0, case="y"), finding(1.0, case="z")]
    resolved = resolve(ask(tmp_path, "max", "at-least, value: 2.9"), found)
    alone = found[1].estimate
    assert resolved.finding.estimate.value == 3.0
    assert resolved.finding.estimate.low < alone.low
    assert resolved.finding.estimate.high == alone.high
    assert resolved.others == (found[0], found[2])
    assert resolved.reason.endswith(
        "(the largest of 3 comparisons, and an interval that holds for all of them at once)"
    )
    single = Finding(stats.ratio_of_medians([4.0], SIX), "", "", ("s",), stratum={"case": "w"})
    fewer = resolve(ask(tmp_path, "max"), [*found, single])
    assert fewer.reason.endswith("4 comparisons, and an interval that holds for the 3 that have one at once)")
    only = resolve(ask(tmp_path, "max"), [found[0], single])
    assert only.reason.endswith("(the largest of 2 comparisons, the only one with an interval)")
    least = resolve(ask(tmp_path, "min"), found)
    assert (least.finding.estimate.value, least.word) == (1.0, "cannot tell")


def test_resolve__where_a_scale_ended_it_did_not_stop(tmp_path: Path) -> None:
    body = "quantity: saturation\nvariable: elapsed\naggregate: min\nthreshold: 0%\n"
    body += "compare: { factor: nodes, order: { min: 1, max: 24 } }\n"
    body += "expect: { relation: at-most, value: 16, unit: nodes }"

    def scale(stop: float, *gains: float) -> Finding:
        steps = tuple(stats.Estimate(gain, gain - 1, gain + 1, 6, 6) for gain in gains)
        return Finding(stats.Estimate(stop, stop, stop, 6), "", "", ("r",), steps=steps)

    ended, stopped = scale(9.0, 80.0, 50.0), scale(12.0, 80.0, 50.0, -10.0)
    resolved = resolve(claim(tmp_path, body), [ended, stopped])
    assert (resolved.finding, resolved.others) == (stopped, (ended,))
    assert resolve(claim(tmp_path, body), [ended]).finding == ended


def test_resolve__one_of_many_is_against_a_claim_by_chance_more_often(tmp_path: Path) -> None:
    """The same finding is clear alone, and not as one of twenty."""
    weak = finding(0.965, 0.5)
    asked = ask(tmp_path)
    assert resolve(asked, [weak]).word == "does not hold"
    resolved = resolve(asked, [weak, *(finding(2.0) for _ in range(19))])
    assert resolved.word == "cannot tell"
    assert resolved.reason.startswith("against the claim, but not clear for one of 20 comparisons (1 of 20")
    # However far off it is, of ten ranges of six one misses its side in 1 - (63/64)^10 = 15 % of cases.
    assert resolve(asked, [finding(0.5), *(finding(2.0) for _ in range(9))]).word == "cannot tell"
    strong = resolve(asked, [finding(0.5), finding(2.0), finding(2.0)])
    assert strong.word == "does not hold"
    assert strong.p == pytest.approx(3 * 2**-6, rel=1e-4)
    assert resolve(asked, [finding(2.0), finding(3.0)]).p == pytest.approx(2**-6, rel=1e-4)


def record(claim: str, p: float | None, **more: Any) -> Verdict:
    blank: dict[str, Any] = dict.fromkeys(("estimate", "low", "high", "expected", "n"))
    fields = {"report": "one", "evidence": "measured", "verdict": "holds", "unit": "", "campaign": "c"}
    return Verdict(**{**blank, **fields, "claim": claim, "p": p, **more})


def test_adjusted__is_benjamini_hochberg_by_hand() -> None:
    # 4/1, 4/2, 4/3 and 4/4 times the p-values in their order; none more than one that comes after it.
    assert adjusted([0.04, 0.01, 0.5, 0.03]) == pytest.approx([0.16 / 3, 0.04, 0.5, 0.16 / 3])
    assert adjusted([]) == []


def test_controlled__says_which_verdicts_would_not_stand() -> None:
    found = [record("a", 0.001), record("b", 0.04), record("c", 1.0), record("d", None)]
    others = [record("e", 0.04, evidence="published"), record("f", 0.04, report="two")]
    a, b, c, d, e, f = controlled([*found, *others])
    assert (a.q, b.q, c.q, d.q) == (pytest.approx(0.003), pytest.approx(0.06), 1.0, None)
    assert b.discovery == "not significant among 3 tested at 5 % false discoveries"
    assert [one.discovery for one in (a, c, d, e, f)] == [""] * 5
    assert (e.q, f.q) == (0.04, 0.04)
    # Joined with others they are counted anew.
    again = controlled([replace(one, report="one", evidence="measured") for one in (a, b, c, d, e, f)])
    assert again[1].q == pytest.approx(0.04 * 5 / 4)


def runs(days: list[str], seconds: list[float], mpi: str) -> list[dict[str, Any]]:
    return [
        {**row, "start": pd.Timestamp(day)} for day, row in zip(days, repeats(seconds, mpi=mpi), strict=True)
    ]


def test_days__are_those_of_the_start_in_utc() -> None:
    stamps = ["1970-01-01T23:59:59", "1970-01-02T00:00:00", "NaT"]
    frame = pd.DataFrame({"start": pd.to_datetime(stamps), "evidence": "measured"})
    assert measuring_days(frame).tolist() == [0, 1, stats.NO_DAY]
    assert measuring_days(frame[[]]).tolist() == [stats.NO_DAY] * 3
    assert measuring_days(frame.assign(evidence="synthetic")).tolist() == [stats.NO_DAY] * 3


def test_days__that_all_runs_are_of_one_is_said(tmp_path: Path) -> None:
    one = ["2026-03-01T10:00"] * 6
    got = verdict(ask(tmp_path), campaign([*runs(one, list(SIX), "a"), *runs(one, list(2 * SIX), "b")]))
    assert (got.verdict, got.days, got.level) == ("holds", 1, 0.95)
    assert got.arithmetic.endswith("= 2; all runs are from one day: between days is not covered")
    unknown = verdict(ask(tmp_path), campaign([*repeats(SIX, mpi="a"), *repeats(2 * SIX, mpi="b")]))
    assert (unknown.verdict, unknown.days) == ("holds", None)
    assert "day" not in unknown.arithmetic


def test_days__of_which_each_side_has_its_own_cannot_tell(tmp_path: Path) -> None:
    first, second = ["2026-03-01T10:00"] * 6, ["2026-03-02T10:00"] * 6
    got = verdict(ask(tmp_path), campaign([*runs(first, list(SIX), "a"), *runs(second, list(2 * SIX), "b")]))
    assert (got.verdict, got.estimate, got.p) == ("cannot tell", pytest.approx(2.0), None)
    assert got.reason == "these runs cannot tell whether the MPI library or the day is the cause"


def test_days__six_of_them_count_once_each(tmp_path: Path) -> None:
    days = [f"2026-03-0{day}T10:00" for day in (1, 1, 2, 3, 4, 5, 6)]
    slow = [2.0, 2.02, 3.2, 2.4, 3.9, 2.8, 3.5]
    # The other side goes first on every second day.
    turns = [day.replace(":00", f":{at % 2}5") for at, day in enumerate(days)]
    fast = runs(turns, [one / 2 for one in slow], "a")
    days = [day.replace(":00", ":10") for day in days]
    got = verdict(ask(tmp_path), campaign([*fast, *runs(days, slow, "b")]))
    assert (got.verdict, got.estimate, got.level, got.days) == ("holds", pytest.approx(2.0), 0.95, 6)
    assert got.arithmetic.endswith("; by days 2; over 6 days, each of which counts once")
    got = verdict(ask(tmp_path), campaign([*fast, *runs(days[:5], slow[:5], "b")]))
    assert got.arithmetic.endswith(
        "; both sides ran on 4 days, and 2 other runs are left out: few to stand for other days"
    )
    # Five runs a side are left, whose middle ones are 2.4 and half of it: the ratio is that of what is shown.
    assert got.arithmetic.startswith("2.4 (n 5) / 1.2 (n 5) = 2; ")


def test_days__one_that_both_sides_share_is_that_day_alone(tmp_path: Path) -> None:
    """A quarter of each side is of a day of its own; the rest have medians 1 and 2, all 1.015 and 2.03."""
    first, middle = "2026-03-01T10:00", float(np.median(SIX))
    sides = [
        runs([first] * 6 + [f"2026-03-0{own}T10:00"] * 2, [*scale * SIX, 1.04 * scale, 1.05 * scale], mpi)
        for own, scale, mpi in ((2, 1, "a"), (3, 2, "b"))
    ]
    got = verdict(ask(tmp_path), campaign([*sides[0], *sides[1]]))
    left = "both sides ran on 1 day, and 4 other runs are left out: between days is not covered"
    assert got.arithmetic == f"{2 * middle:.4g} (n 6) / {middle:.4g} (n 6) = 2; {left}"
    assert (got.verdict, got.days, got.estimate) == ("holds", 1, pytest.approx(2.0))
    assert got.base["value"] == pytest.approx(2 * middle)


def test_days__a_run_without_one_is_left_out_and_does_not_hide_that_sides_ran_on_others(
    tmp_path: Path,
) -> None:
    first, second = ["2026-03-01T10:00"] * 5, ["2026-03-02T10:00"] * 6
    dated = [*runs([*first, "NaT"], list(SIX), "a"), *runs(second, list(2 * SIX), "b")]
    got = verdict(ask(tmp_path), campaign(dated))
    assert got.reason == "these runs cannot tell whether the MPI library or the day is the cause"


def test_days__a_few_are_said_with_what_they_cover(tmp_path: Path) -> None:
    days = [f"2026-03-0{day}T10:00" for day in (1, 2, 2, 1, 1, 2)]
    got = verdict(ask(tmp_path), campaign([*runs(days, list(SIX), "a"), *runs(days, list(2 * SIX), "b")]))
    assert (got.verdict, got.level, got.days) == ("holds", 0.95, 2)
    assert got.arithmetic.endswith("; all runs are from 2 days: few to stand for other days")


def test_resolve__in_that_session_one_of_many_disagrees_by_chance_too(tmp_path: Path) -> None:
    """A word of one session needs the same intervals, which hold for all comparisons at once."""
    asked = ask(tmp_path)
    weak = replace(finding(0.965, 0.5), session=ONE_AFTER_ANOTHER)
    assert resolve(asked, [weak]).word == "not in that session"
    assert resolve(asked, [weak, *(finding(2.0) for _ in range(19))]).word == "cannot tell"
