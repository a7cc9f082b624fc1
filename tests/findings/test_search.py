"""What the search concludes of small campaigns made by hand, with the numbers known beforehand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from analysis.base.errors import ConfigError
from analysis.estimates.campaign import load_campaign
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.stats import Estimate
from analysis.findings.conclusion import (
    CONFOUNDED,
    CROSSES,
    DIFFERS,
    EQUAL,
    GROWS,
    IS,
    ORDERED,
    POINTS,
    SEEN,
    STOPS,
    TOPICS,
    UNKNOWN,
    WORDS,
    Conclusion,
    ConclusionDraft,
    _band,
    _expected,
    _expected_level,
    _rounded,
)
from analysis.findings.plans import (
    NOTHING,
    PARTS,
    Measured,
    Plan,
    _whole_machines,
    nothing,
    performance,
    plans,
)
from analysis.findings.search import _once, _ranked, conclusions, controlled
from analysis.findings.shapes import _p_of_stop
from analysis.findings.trials import Series, Trial
from tests.estimates.hand import campaign, repeats

Rows = list[dict[str, Any]]
# Six values around 1 with 1.0 as their median, spread by 2 %.
SPREAD = (0.98, 0.99, 0.995, 1.005, 1.01, 1.02)


def rates(middle: float, spread: Sequence[float] = SPREAD, **factors: Any) -> Rows:
    """Runs with a rate in Gflop/s."""
    values = [middle * one for one in spread]
    return repeats(values, "figure_of_merit", figure_of_merit_unit="Gflop/s", **factors)


def of(rows: Iterable[dict[str, Any]], **more: Any) -> list[Conclusion]:
    found = conclusions(campaign(list(rows)), **more)
    assert len({one.id for one in found}) == len(found)
    for one in found:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", one.id)
        assert one.topic in TOPICS
        assert one.word in WORDS
        assert list(one.points.columns) == list(POINTS)
        assert len(one.points)
        assert {"unit", "xlabel", "ylabel"} <= one.points.attrs.keys()
        assert "nan" not in one.sentence + one.footnote
    return found


def words(found: Iterable[Conclusion]) -> list[str]:
    return [one.word for one in found]


def test_search__winner_first_with_the_ratio_of_medians() -> None:
    (one,) = of([*rates(10.0, mpi="MPICH 4.0"), *rates(12.0, mpi="Open MPI 5.0")])
    assert one.word == DIFFERS
    assert one.sentence.startswith("Open MPI 5.0 is 1.200 times as fast as MPICH 4.0 in app (1.1")
    assert one.finding.estimate.value == pytest.approx(1.2)
    assert one.finding.base == (10.0, "Gflop/s", "MPICH 4.0")
    # No run of one side beats the other: 2 of the 924 ways to share twelve runs out are as extreme.
    assert one.p == pytest.approx(2 / 924)
    assert one.q == pytest.approx(2 / 924)  # the only difference that was tested
    assert one.footnote.startswith("n 6 / 6, base 10 Gflop/s, interval at 95 %")
    assert one.topic == "MPI library"
    assert one.size == pytest.approx(np.log(one.finding.estimate.low))
    table = one.points.set_index("x")
    assert table.loc["Open MPI 5.0", "median"] == pytest.approx(12.0)
    assert table.loc["MPICH 4.0", ["low", "high", "n"]].tolist() == pytest.approx([9.8, 10.2, 6])
    assert one.points.attrs["unit"] == "Gflop/s"


def test_search__of_times_the_smaller_wins() -> None:
    rows = [
        *repeats([10 * one for one in SPREAD], figure_of_merit_unit="s", mpi="slow"),
        *repeats([8 * one for one in SPREAD], figure_of_merit_unit="s", mpi="fast"),
    ]
    (one,) = (one for one in of(rows) if one.word == DIFFERS)
    assert one.sentence.startswith("fast is 1.250 times as fast as slow in app")
    assert one.finding.base == (10.0, "s", "slow")


def test_search__equal_within_the_margin() -> None:
    (one,) = of([*rates(10.0, mpi="a"), *rates(10.01, mpi="b")])
    assert one.word == EQUAL
    assert one.size == 0.0
    assert one.sentence.startswith("b and a are equal within 5 % in app (1.001 times, 0.9")
    assert one.question.margin == 0.05


@pytest.mark.parametrize(("n", "word"), [(1, SEEN), (2, UNKNOWN), (3, UNKNOWN), (5, DIFFERS)])
def test_search__few_runs_are_never_more_than_they_are(n: int, word: str) -> None:
    (one,) = of([*rates(10.0, SPREAD[:n], mpi="a"), *rates(20.0, SPREAD[:n], mpi="b")])
    assert one.word == word
    assert (one.p is None) == (n < 4)
    if n == 1:
        assert one.sentence == "b is 2.00 times as fast as a in app, from one value each"
    if n == 5:
        assert "94 % interval" in one.sentence


def test_search__four_runs_a_side_cannot_be_told_from_chance_at_five_percent_of_many() -> None:
    rows = [row for app in "abc" for row in rates(10.0, SPREAD[:4], mpi="x", application=app)]
    rows += [row for app in "abc" for row in rates(10.1, SPREAD[:4], mpi="y", application=app)]
    rows += rates(10.0, SPREAD[:4], mpi="x", application="d") + rates(
        20.0, SPREAD[:4], mpi="y", application="d"
    )
    # 2 of 70 ways are as extreme, and four are tested.
    (last,) = (one for one in of(rows) if "in d" in one.sentence)
    assert last.word == UNKNOWN
    assert last.p == pytest.approx(2 / 70)
    assert last.q == pytest.approx(min(4 * 2 / 70, 1.0))


def test_search__strata_that_agree_are_one_statement() -> None:
    rows = [
        row
        for nodes, by in ((1, 1.1), (2, 1.2), (4, 1.4))
        for row in (*rates(5.0 * nodes, mpi="a", nodes=nodes), *rates(5.0 * nodes * by, mpi="b", nodes=nodes))
    ]
    found = [one for one in of(rows) if one.topic == "MPI library"]
    assert words(found) == [GROWS, DIFFERS]
    grows, differs = found
    assert (
        "b is 1.100 to 1.400 times as fast as a in app, on 1, 2 and 4 nodes (intervals from "
        in differs.sentence
    )
    assert differs.finding.estimate.value == pytest.approx(1.1)  # the weakest speaks
    assert set(differs.points["x"]) == {1.0, 2.0, 4.0}
    assert set(differs.points["series"]) == {"a", "b"}
    assert "The lead of b over a grows from 1.10 times on 1 node to 1.40 times on 4 nodes" in grows.sentence
    assert grows.finding.estimate.value == pytest.approx(1.4 / 1.1)


def test_search__a_statement_is_of_the_strata_that_bear_it() -> None:
    rows = [
        *rates(5.0, mpi="a", nodes=1),
        *rates(5.0, mpi="b", nodes=1),
        *rates(9.0, mpi="a", nodes=2),
        *rates(13.5, mpi="b", nodes=2),
    ]
    found = {one.word: one for one in of(rows) if one.topic == "MPI library"}
    assert found[DIFFERS].question.select is not None
    assert found[DIFFERS].question.select["nodes"] == 2
    assert "b is 1.500 times as fast as a in app, on 2 nodes (1.4" in found[DIFFERS].sentence
    assert "equal within 5 % in app, on 1 node" in found[EQUAL].sentence


@pytest.mark.parametrize(("slow", "fast"), [("1GbE", "FDR"), ("FDR", "1GbE")])
def test_search__a_difference_is_what_its_question_finds(slow: str, fast: str) -> None:
    """It is taken from the test of the pair; its claim asks the campaign, and must find the same."""
    rows = [
        row
        for nodes in (2, 4)
        for link, middle in ((slow, 100.0), (fast, 150.0 * nodes))
        for row in rates(middle, interconnect=link, nodes=nodes)
    ]
    own = campaign(rows)
    found = [one for one in conclusions(own) if one.word == DIFFERS and one.question.compare is not None]
    assert len(found) >= 1
    for one in found:
        assert one.finding in findings(one.question, own)


def test_search__three_levels_in_order() -> None:
    rows = [*rates(10.0, mpi="a"), *rates(12.0, mpi="b"), *rates(15.0, mpi="c")]
    found = of(rows)
    assert sorted(words(found)) == sorted([DIFFERS, DIFFERS, ORDERED])
    (order,) = (one for one in found if one.word == ORDERED)
    assert order.sentence == "c is ahead of b, then of a in app (by 1.250, then 1.200 times)"
    assert order.p == pytest.approx(3 * 2 / 924)  # the order was read off: three pairs


def test_search__how_far_a_system_scales() -> None:
    speeds = {1: 1.0, 2: 1.9, 4: 3.0, 8: 3.02}
    found = of(row for nodes, by in speeds.items() for row in rates(10 * by, nodes=nodes, ranks=4 * nodes))
    (ends,) = (one for one in found if one.word == DIFFERS)
    assert ends.sentence.startswith("8 nodes are 3.020 times as fast as 1 node in app (")
    assert ends.sentence.endswith("). The efficiency is 37.75 %")
    (stop,) = (one for one in found if one.word == STOPS)
    assert stop.sentence == "Beyond 4 nodes the next step brings less than 5 % in app"
    assert stop.finding.estimate.value == 4
    assert list(stop.points["x"]) == [1.0, 2.0, 4.0, 8.0]


def test_search__a_larger_problem_is_not_slower() -> None:
    sizes = [("nx16", 16, 12.0), ("nx64", 64, 8.0)]
    rows = [row for case, size, rate in sizes for row in rates(rate, case=case, local_size=size, nodes=1)]
    (one,) = of(rows)
    assert one.sentence.startswith("nx16 reaches 1.500 times the rate of nx64")
    times = [
        row
        for case, size, _ in sizes
        for row in repeats([size * s for s in SPREAD], figure_of_merit_unit="s", case=case, local_size=size)
    ]
    assert [one for one in of(times) if one.topic == "problem size"] == []
    # Steps a second of 1,000 and of a million atoms: the output states the sizes, the case is one.
    atoms = [
        row for size, rate in ((1000, 9e3), (1000000, 9.0)) for row in rates(rate, problem=f"atoms={size}")
    ]
    assert of(atoms) == []


def test_search__how_long_a_run_is_told_to_be_is_no_speed() -> None:
    rows = [
        row
        for seconds in (10, 60)
        for row in repeats([seconds * one for one in SPREAD], "elapsed", target_time=seconds)
    ]
    assert of(rows) == []


def test_search__profiled_runs_stand_apart() -> None:
    rows = [
        *rates(10.0, mpi="a", profiler="none"),
        *rates(10.0, mpi="b", profiler="none"),
        *rates(5.0, mpi="a", profiler="ipm"),
    ]
    found = {one.topic: one for one in of(rows)}
    assert found["MPI library"].word == EQUAL
    assert found["profilers"].sentence.startswith("a run without a profiler is 2.000 times as fast as") or (
        found["profilers"].sentence.startswith(
            "A run without a profiler is 2.000 times as fast as a run under IPM"
        )
    )


@pytest.mark.parametrize("column", ["valid", "timing"])
def test_search__failed_and_oversubscribed_runs_say_nothing(column: str) -> None:
    bad = [{**row, column: False} for row in rates(99.0, mpi="a")]
    (one,) = of([*rates(10.0, mpi="a"), *rates(12.0, mpi="b"), *bad])
    assert one.sentence.startswith("b is 1.200 times as fast as a")
    assert one.finding.estimate.n_baseline == 6


def test_search__sides_of_different_days_have_no_single_cause() -> None:
    day = [pd.Timestamp(f"2026-11-0{one} 10:00") for one in (1, 2)]
    (one,) = of([*rates(10.0, mpi="a", start=day[0]), *rates(12.0, mpi="b", start=day[1])])
    assert one.word == CONFOUNDED
    (same,) = of([*rates(10.0, mpi="a", start=day[0]), *rates(12.0, mpi="b", start=day[0])])
    assert same.word == DIFFERS
    assert "between days is not covered" in same.footnote


def test_search__days_of_one_setting_are_not_those_of_all() -> None:
    day = [pd.Timestamp(f"2026-11-0{one} 10:00") for one in (1, 2)]

    def footnote(second: pd.Timestamp) -> str:
        rows = [
            row
            for nodes, start in ((1, day[0]), (2, second))
            for mpi, rate in (("a", 10.0), ("b", 12.0))
            for row in rates(rate, mpi=mpi, nodes=nodes, ranks=2 * nodes, start=start)
        ]
        return next(one.footnote for one in of(rows) if one.topic == "MPI library")

    assert "; all runs are from one day: " in footnote(day[0])
    assert "; these runs are from one day: " in footnote(day[1])


def test_search__a_baseline_is_chosen_before_the_values_are_seen() -> None:
    def asked(first: float, second: float) -> list[tuple[Any, ...]]:
        rows = [*rates(first, mpi="a"), *rates(second, mpi="b"), *rates(3.0, mpi="a", nodes=2)]
        return [(one.factor, *one.pairs) for one in plans(campaign(rows))]

    assert asked(1.0, 2.0) == asked(2.0, 1.0)
    assert ("mpi", ("b", "a")) in asked(1.0, 2.0)  # more runs have a


def test_search__on_one_node_no_link_is_used() -> None:
    def run(link: str, nodes: int, rate: float) -> Rows:
        return rates(rate, interconnect=link, nodes=nodes)

    rows = [*run("1gbe", 1, 5), *run("ib-fdr", 1, 6), *run("1gbe", 2, 9), *run("ib-fdr", 2, 12)]
    found = [one for one in of(rows) if one.topic == "interconnect"]
    assert words(found) == [DIFFERS]
    assert found[0].sentence.startswith("FDR InfiniBand is 1.333 times as fast as 1GbE in app, on 2 nodes")


def test_search__clusters_that_differ_with_a_link_are_named() -> None:
    rows = [
        *rates(10.0, interconnect="1gbe", cluster="A", nodes=2),
        *rates(12.0, interconnect="10gbe", cluster="B", nodes=2),
    ]
    (one,) = of(rows)
    assert one.topic == "interconnect"
    assert "other too: cluster A and B" in one.footnote
    # No run states a processor.
    assert "These runs cannot tell whether the cluster or the link is the cause." in one.sentence
    (known,) = of([{**row, "cpu": "EPYC"} for row in rows])
    assert (known.word, known.sentence[:42]) == (DIFFERS, "10GbE is 1.200 times as fast as 1GbE in ap")


def test_search__clusters_node_for_node() -> None:
    old = {"cluster": "old", "cpu": "Westmere", "interconnect": "ib-qdr"}
    new = {"cluster": "new", "cpu": "Ivy Bridge"}
    rows = [
        *rates(10.0, **old, nodes=2, ranks_per_node=12, ranks=24),
        *rates(7.0, **old, nodes=2, ranks_per_node=6, ranks=12),  # half of its cores
        *rates(20.0, **new, interconnect="ib-fdr", nodes=2, ranks_per_node=20, ranks=40),
        *rates(15.0, SPREAD[:5], **new, interconnect="1gbe", nodes=2, ranks_per_node=20, ranks=40),
    ]
    (one,) = (each for each in of(rows) if each.topic == "hardware")
    assert one.sentence.startswith("new is 2.000 times as fast as old, node for node, in app (1.9")
    assert "processor Ivy Bridge and Westmere" in one.footnote
    assert "ranks per node 12 and 20" in one.footnote


def test_search__nodes_over_a_link_against_one_node() -> None:
    rows = [
        *rates(10.0, nodes=1, ranks=1, interconnect="shared-memory"),
        *rates(12.0, nodes=2, ranks=2, interconnect="1gbe"),
        *rates(19.0, nodes=2, ranks=2, interconnect="ib-fdr"),
    ]
    said = [one.sentence for one in of(rows) if one.topic == "scaling"]
    assert said[0].startswith("2 nodes over FDR InfiniBand are 1.900 times as fast as 1 node in app (")
    assert said[0].endswith("). The efficiency is 95.0 %")
    assert said[1].startswith("2 nodes over 1GbE are 1.200 times as fast as 1 node in app (")
    assert said[1].endswith("). The efficiency is 60.0 %")


def test_search__energy_of_a_job() -> None:
    def metered(watt_hours: float, mpi: str) -> Rows:
        joules = [3600 * watt_hours * one for one in SPREAD]
        return [
            {**row, "energy": joule, "energy_location": "outlet"}
            for row, joule in zip(rates(5.0, mpi=mpi), joules, strict=True)
        ]

    (one,) = (each for each in of([*metered(10.0, "a"), *metered(8.0, "b")]) if each.word == DIFFERS)
    assert one.sentence.startswith("b does 1.250 times as many jobs per kWh as a in app (1.2")
    assert one.footnote.startswith("n 6 / 6, base 10 Wh")


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_search__of_nothing_there_is_no_ratio(bad: float) -> None:
    rows = [*rates(10.0, mpi="a"), *rates(10.0, (bad, *SPREAD[1:]), mpi="b")]
    assert [one for one in of(rows) if one.topic == "MPI library"] == []


def test_search__jobs_at_once_against_one_on_as_many_ranks() -> None:
    rows = [
        *rates(10.0, ranks=2, ranks_per_node=2, concurrent_jobs=1),
        *rates(9.0, ranks=1, ranks_per_node=1, concurrent_jobs=1),
    ]
    pairs = [
        {**row, "order": order}
        for order, value in enumerate(SPREAD[at] for at in (2, 5, 0, 4, 1, 3))
        for row in rates(6.0, (value, value), ranks=1, ranks_per_node=1, concurrent_jobs=2)
    ]
    (one,) = (one for one in of([*rows, *pairs]) if one.question.variable == "throughput")
    assert "2 jobs at once do 1.200 times the work of 1 job on as many ranks" in one.sentence
    assert one.finding.base == (10.0, "", "concurrent jobs 1")
    assert "base 10 Gflop/s" in one.footnote


def test_search__ranked_by_what_is_sure_and_large() -> None:
    rows = [
        *rates(10.0, mpi="a", application="small"), *rates(11.5, mpi="b", application="small"),
        *rates(10.0, mpi="a", application="large"), *rates(20.0, mpi="b", application="large"),
        *rates(10.0, mpi="a", application="same"), *rates(10.0, mpi="b", application="same"),
        *rates(1.0, SPREAD[:1], mpi="a", application="single"),
        *rates(9.0, SPREAD[:1], mpi="b", application="single"),
    ]  # fmt: skip
    found = of(rows)
    assert words(found) == [DIFFERS, DIFFERS, EQUAL, SEEN]
    assert [("in large" in one.sentence, "in small" in one.sentence) for one in found[:2]] == [
        (True, False),
        (False, True),
    ]
    assert [one.id for one in of(rows)] == [one.id for one in found]


def test_search__a_stricter_rate_finds_less() -> None:
    rows = [*rates(10.0, mpi="a"), *rates(12.0, mpi="b")]
    assert words(of(rows, q=0.05)) == [DIFFERS]
    assert words(of(rows, q=0.001)) == [UNKNOWN]


def test_search__draws_of_a_model_are_no_runs() -> None:
    with pytest.raises(ConfigError, match="its draws are no runs"):
        conclusions(campaign(rates(1.0, mpi="a"), evidence="modelled"))


def test_search__of_two_equal_sizes_the_surer_is_first() -> None:
    found = [one for one in of([*rates(5.0, mpi="a"), *rates(6.0, mpi="b")]) if one.word == DIFFERS][:1]
    (one,) = found
    unsure, sure, none = (replace(one, id=name, q=q) for name, q in (("a", 0.04), ("b", 0.001), ("c", None)))
    assert [each.id for each in _ranked([none, unsure, sure])] == ["b", "a", "c"]
    assert [each.id for each in _ranked([sure, replace(unsure, size=one.size + 0.1)])] == ["a", "b"]


def test_search__differences_and_shapes_are_one_family_equalities_another() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0]})
    plan = Plan(Measured("app", "elapsed", {}), "mpi", "MPI library", (), frame)
    finding = Finding(Estimate(1.1, 1.05, 1.15, 6), "", "", ())
    trials = [Trial(finding, frame, frame, p, p_equal) for p, p_equal in ((0.04, 0.03), (0.5, 0.02))]
    (series,), others = controlled([Series(plan, "a", "b", tuple(trials))], [0.001, 0.9], 0.05)
    # By Benjamini and Hochberg by hand: of 0.001, 0.04, 0.5, 0.9 times 4/1, 4/2, 4/3, 4/4.
    assert others == pytest.approx([0.004, 0.9])
    assert [one.q for one in series.trials] == pytest.approx([0.08, 2 / 3])


def test_search__names_why_runs_do_not_count_if_nothing_can_be_compared() -> None:
    alike = repeats([1.0] * 6, mpi="a")
    assert nothing(campaign(alike)) == NOTHING
    bad = [{**row, "mpi": "b", "valid": False, "reason": "its rate is in 'GB/s'"} for row in alike]
    apart = [{**one, "nodes": -1, "ranks_per_node": -1, "ranks": 2 + at % 2} for at, one in enumerate(alike)]
    assert nothing(campaign(apart)).startswith(
        "Nothing can be compared: runs differ in their ranks, and the nodes"
    )
    assert nothing(campaign([{**one, "nodes": 1} for one in apart])) == NOTHING
    text = nothing(campaign([*alike, *bad, {**bad[0], "reason": "exit code 1"}]))
    why = "7 of 13 runs count in no statistic, most often: its rate is in 'GB/s'"
    assert text == f"{NOTHING}; {why}"


def test_search__where_each_side_is_ahead_somewhere_the_weaker_side_has_the_p_value() -> None:
    eight = (*SPREAD, 0.997, 1.003)
    found = of(
        [
            *rates(12.0, mpi="a", case="x"),
            *rates(10.0, mpi="b", case="x"),
            *rates(10.0, eight, mpi="a", case="y"),
            *rates(12.0, eight, mpi="b", case="y"),
        ]
    )
    (one,) = (one for one in found if one.word == CROSSES)
    assert one.sentence == "b is ahead at y, a at x in app"
    # Six against six have 924 rearrangements, eight against eight 12,870; two of them are as extreme.
    assert one.p == pytest.approx(2 / 924)


def test_search__of_undecided_strata_the_side_ahead_more_often_is_first() -> None:
    wide = (0.8, 0.9, 0.99, 1.01, 1.1, 1.2)
    sides = [("x", 10.0, 10.4), ("y", 10.0, 10.4), ("z", 10.4, 10.0)]
    rows = [
        row
        for size, (case, a, b) in enumerate(sides, start=8)
        for mpi, middle in (("a", a), ("b", b))
        for row in rates(middle, wide, mpi=mpi, case=case, local_size=size)
    ]
    (one,) = (one for one in of(rows) if one.word == UNKNOWN and one.question.compare.factor == "mpi")
    assert one.question.compare.levels == ("b", "a")


def test_search__one_effect_is_said_once_by_the_factor_that_comes_first() -> None:
    first, *_ = of([*rates(12.0, mpi="a"), *rates(10.0, mpi="b")])
    assert _once([first, replace(first, id="another-name")]) == [first]


def test_expected__has_room_for_the_next_sample_and_stays_clear_of_one() -> None:
    # 1.05^(1/2) is half of what is clear now; 1.5 x (2 / 1.5)^2 is two half widths above.
    assert _band(Estimate(1.5, 1.05, 2.0, 6)) == (1.024, 2.667)
    assert _rounded(1.000234567, math.floor) == 1.00023
    draft = ConclusionDraft(IS, Question("level", "elapsed", {"application": "app"}), ("app",), unit="s")
    level = _expected_level(draft, [Finding(Estimate(11.0, 10.0, 12.0, 6, level=0.95), "", "", ())])
    assert (level.low, level.high, level.unit) == (9.0, 13.0, "s")


def test_expected__of_growth_where_one_side_has_no_interval_is_that_there_is_some() -> None:
    """Two clusters were used on one day each at one number of nodes, on several at another."""
    pairs = ((1.2, 1.1, 1.3), (1.03, math.nan, math.nan))
    found = [Finding(Estimate(*values, 10), "", "", ()) for values in pairs]
    draft = ConclusionDraft(GROWS, Question("level", "elapsed", {}), ("app",), plan=cast("Any", NOTHING))
    for estimates in (found, found[::-1]):
        assert _expected(draft, estimates).value == 1.0


def test_search__the_best_order_of_four_is_one_of_six_pairs() -> None:
    middles = {"a": 10.0, "b": 12.0, "c": 14.0, "d": 16.0}
    found = of([row for mpi, middle in middles.items() for row in rates(middle, mpi=mpi)])
    (one,) = (one for one in found if one.word == ORDERED)
    assert one.p == pytest.approx(6 * 2 / 924)


def test_stop__the_step_that_is_short_is_one_of_all_steps() -> None:
    parts = [pd.DataFrame(rates(middle, nodes=n)) for n, middle in ((1, 10.0), (2, 20.0), (4, 20.1))]
    parts = [one.assign(value=one["figure_of_merit"]) for one in parts]
    asked = Question("saturation", "figure_of_merit", {"application": "app"})
    # Of 924 rearrangements one is as far: the gain has 1/924, the short step, one of two, 2/924.
    assert _p_of_stop(asked, parts, 2.0, (1, 2, 4)) == pytest.approx(2 / 924)


def test_plans__messages_of_the_largest_size_up_to_eight_bytes_are_compared() -> None:
    rows = [{**row, "run": f"r{at}", "case": "osu_latency"} for at, row in enumerate(repeats([1.0] * 2))]
    sizes = (1, 4, 64)
    table = [
        {"run": row["run"], "case": "osu_latency", "size": size, "latency": 1.0, "bandwidth": math.nan}
        for row in rows
        for size in sizes
    ]
    (one,) = performance(campaign(rows, micro=table))
    assert (one.variable, one.members) == ("latency", (4,))


def test_search__a_barrier_is_worded_without_a_size() -> None:
    rows = [
        {**row, "run": f"{tuning}{at}"}
        for tuning in ("one", "other")
        for at, row in enumerate(repeats([1.0] * 8, case="osu_barrier", tuning=tuning))
    ]
    times = {"one": 10.0, "other": 20.0}
    table = [
        {"run": row["run"], "case": "osu_barrier", "size": -1, "bandwidth": math.nan}
        | {"latency": times[row["tuning"]] + int(row["run"][-1]) / 100}
        for row in rows
    ]
    (found,) = [one for one in conclusions(campaign(rows, micro=table)) if one.question.compare is not None]
    assert "messages" not in found.sentence
    assert "-1" not in found.sentence


def test_plans__machines_alike_in_all_parts_are_compared_and_those_unlike_in_one_are_not() -> None:
    frame = pd.DataFrame({"cluster": ["a", "b", "c"], **{part: ["x", "x", "x"] for part in PARTS}})
    frame.loc[2, PARTS[0]] = "y"
    assert _whole_machines(frame, "a", "b")
    assert not _whole_machines(frame, "a", "c")


@pytest.mark.datasets("vm-lulesh")
def test_search__one_rank_says_nothing_of_how_ranks_communicate() -> None:
    # s20 ran with one rank, s10 with eight.
    found = conclusions(load_campaign("vm-lulesh"))
    talk = [
        one.sentence for one in found if one.topic in ("MPI calls", "message sizes", "compute and MPI time")
    ]
    assert any("s10" in one for one in talk)
    assert not [one for one in talk if "s20" in one]
    assert [one for one in found if "s20" in one.sentence and "jobs per day" in one.sentence]
