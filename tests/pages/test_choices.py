"""What is chosen where nobody has chosen: every number is known by hand from the runs that are made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from analysis import pages
from analysis.base.errors import ConfigError
from analysis.estimates import selection, tables
from analysis.estimates.campaign import NotCoveredError
from analysis.pages import holdings
from analysis.pages.links import _named, _shown, _title
from analysis.pages.notebook import Caveat, answer
from analysis.schema.factors import FACTORS

from .test_pages import campaign, profiled, runs, two_links


def rates(values: list[float], **factors: Any) -> list[dict[str, Any]]:
    """Make runs of an application that prints a rate."""
    return [
        {**row, "application": "hpcg", "figure_of_merit_unit": "Gflop/s"} for row in runs(values, **factors)
    ]


def test_choices__the_slowest_level_is_the_base_and_the_longest_axis_taken() -> None:
    found = pages.comparisons(two_links(), "interconnect")
    assert [(one.baseline, one.along, one.variable) for one in found.compared] == [
        ("10gbe", "nodes", "application_time")
    ]
    assert found.sentences == pages.compare(two_links(), "interconnect", "10gbe").sentences
    assert found.table["ratio"].tolist() == [1.0, 2.0, 4.0]


def test_choices__a_given_baseline_leaves_nothing_to_choose() -> None:
    found = pages.comparisons(two_links(), "interconnect", "ib-fdr", along="nodes", varying=["ranks"])
    assert found.sentences == pages.compare(two_links(), "interconnect", "ib-fdr").sentences


def test_choices__each_application_is_asked_for_what_it_prints() -> None:
    rows = runs([100.0] * 6, mpi="a") + runs([50.0] * 6, mpi="b")
    rows += rates([3.0] * 6, mpi="a") + rates([6.0] * 6, mpi="b")
    found = pages.comparisons(campaign(rows), "mpi")
    assert {one.variable: one.table["ratio"].tolist() for one in found.compared} == {
        "application_time": [2.0],
        "figure_of_merit": [2.0],
    }
    assert {one.baseline for one in found.compared} == {"a"}  # the slower by both


def test_choices__of_numbers_the_least_is_the_base_and_of_tunings_the_plain_one() -> None:
    rows = rates([8.0] * 6, target_time=6.0) + rates([4.0] * 6, target_time=60.0)
    assert pages.comparisons(campaign(rows), "target_time").compared[0].baseline == 6.0
    rows = rates([8.0] * 6, tuning="") + rates([4.0] * 6, tuning="hcoll")
    (found,) = pages.comparisons(campaign(rows), "tuning").compared
    assert found.baseline == "untuned"
    assert found.table["ratio"].tolist() == [0.5]


def test_choices__what_changes_with_a_factor_is_said() -> None:
    rows = runs([100.0] * 6, cpu="old", cluster="A") + runs([50.0] * 6, cpu="new", cluster="B")
    found = pages.comparisons(campaign(rows), "cpu")  # another processor comes with another machine
    assert found.table["ratio"].tolist() == [2.0]
    assert found.sentences[-1].startswith("No runs differ in this alone: cluster changes with it")
    rows = runs([100.0] * 6, dimm="a", cluster="A") + runs([50.0] * 6, dimm="b", cluster="B")
    with pytest.raises(NotCoveredError, match="no two kinds of run differ in dimm alone"):
        pages.comparisons(campaign(rows), "dimm")


def test_choices__other_amounts_of_work_are_never_compared() -> None:
    rows = runs([100.0] * 6, interconnect="a", nodes=1) + runs([50.0] * 6, interconnect="b", nodes=2)
    with pytest.raises(NotCoveredError):
        pages.comparisons(campaign(rows), "interconnect")


def test_choices__jobs_at_once_have_the_same_cores_in_all() -> None:
    rows = rates([10.0] * 6, ranks=2)
    rows += [
        {**row, "order": at // 2} for at, row in enumerate(rates([6.0] * 12, ranks=1, concurrent_jobs=2))
    ]
    rows += rates([5.5] * 6, ranks=1)  # half of the cores idle: no such job is meant
    found = pages.comparisons(campaign(rows), "concurrent_jobs")
    assert found.table[["concurrent_jobs", "ratio"]].to_numpy().tolist() == [[2, 1.2]]


def test_choices__most_is_drawn_of_what_has_most_and_the_rest_is_counted() -> None:
    rows = []
    for at, case in enumerate("abcde"):
        for nodes in (1, 2)[: 1 + (case == "e")]:
            rows += runs([100.0] * 6, case=case, nodes=nodes, mpi="x", build=f"{at}")
            rows += runs([50.0] * 6, case=case, nodes=nodes, mpi="y", build=f"{at}")
    found = pages.comparisons(campaign(rows), "mpi")
    assert len(found.drawn) == 3
    assert "e" in found.drawn[-1][1].name
    assert found.sentences[-1] == "2 more comparisons are in the table below."
    assert len(found.table) == 6


def test_choices__unknown_levels_and_bare_benchmarks_are_no_levels() -> None:
    rows = runs([100.0] * 6, mpi="") + runs([50.0] * 6, mpi="y")
    with pytest.raises(NotCoveredError):
        pages.comparisons(campaign(rows), "mpi")
    rows = [{**row, "application": "osu"} for row in runs([9.0] * 6, mpi="x") + runs([9.0] * 6, mpi="y")]
    with pytest.raises(NotCoveredError):
        pages.comparisons(campaign(rows), "mpi")


def test_choices__scaling_has_a_curve_for_each_kind() -> None:
    table = pages.scalings(two_links())
    ends = table.groupby("level")["speedup"].max().to_dict()
    assert ends == {"10GbE": 1.0, "FDR InfiniBand": 4.0}
    rows = runs([100.0] * 6, nodes=1, ranks=2, ranks_per_node=2) + runs(
        [40.0] * 6, ranks=8, ranks_per_node=8, nodes=1
    )
    assert pages.scalings(campaign(rows), along="ranks")["speedup"].tolist() == [1.0, 2.5]
    with pytest.raises(NotCoveredError, match="no two kinds of run differ in nodes alone"):
        pages.scalings(campaign(rows))


def test_choices__curves_of_several_programs_name_program_and_problem() -> None:
    rows = [
        row
        for cluster, application, case in (("a", "gromacs", "large"), ("b", "opensbli", "tgv512"))
        for n, time in ((1, 100.0), (2, 50.0))
        for row in runs([time] * 6, cluster=cluster, application=application, case=case, nodes=n, ranks=n)
    ]
    varying = ["ranks", "application", "case"]
    table = pages.scalings(campaign(rows), factor="cluster", varying=varying)
    named = {one.partition(":")[0] for one in table["answer"]}
    assert named == {"a, GROMACS, large", "b, OpenSBLI, tgv512"}
    assert set(table["runs"]) == {""}  # one figure has them all


def test_choices__a_curve_that_begins_later_names_what_it_is_over() -> None:
    times = {"a": {1: 100.0, 2: 50.0, 4: 25.0}, "b": {2: 60.0, 4: 30.0}}
    rows = [
        row
        for tuning, each in times.items()
        for n, time in each.items()
        for row in runs([time] * 6, tuning=tuning, nodes=n, ranks=n)
    ]
    table = pages.scalings(campaign(rows))
    ends = pages.named_by_base(table, "nodes").groupby("level")["speedup"].max()
    assert ends.to_dict() == {"a": 4.0, "b, over 2 nodes": 2.0}


def test_choices__alike_curves_of_several_programs_name_their_program() -> None:
    rows = [
        {**row, "application": application}
        for application, half in (("gromacs", 60.0), ("lammps", 50.0))
        for tuning in ("plain", "tl")
        for n, time in ((1, 100.0), (2, half))
        for row in runs([time] * 6, tuning=tuning, nodes=n, ranks=n)
    ]
    table = pages.scalings(campaign(rows))
    named = {one.partition(":")[0] for one in table["answer"]}
    assert named == {"GROMACS, plain", "GROMACS, tl", "LAMMPS, plain", "LAMMPS, tl"}


@pytest.mark.parametrize("ask", [pages.comparisons, pages.links])
def test_choices__draws_of_a_model_are_refused(ask: Callable[..., object]) -> None:
    modelled = replace(two_links(), evidence="modelled")
    with pytest.raises(ConfigError, match="is modelled: its draws are no runs"):
        ask(modelled, "interconnect")
    with pytest.raises(ConfigError, match="is modelled: its draws are no runs"):
        pages.scalings(modelled)


def test_choices__profiles_of_one_kind_are_shown_and_named() -> None:
    one, axis, said = pages.kind_of_run(profiled(), "distinct_calls")
    assert axis == "nodes"
    assert one.runs["nodes"].nunique() == 1
    assert said.startswith("Shown: ")
    whole = profiled()
    assert pages.kind_of_run(whole, "distinct_calls", {"nodes": 2}) == (whole, "nodes", "")


def test_choices__bytes_are_shown_in_a_unit_that_can_be_read() -> None:
    table = pd.DataFrame({"median": [5e4, 2e5], "low": [4e4, 1e5], "high": [6e4, 3e5]})
    shown, unit = pages.in_bytes(table, "GB")
    assert unit == "MB"
    assert shown["median"].tolist() == [0.05, 0.2]
    assert pages.in_bytes(table * 1e4, "GB")[1] == "GB"


def test_choices__bounds_of_sizes_lie_around_what_was_sent() -> None:
    assert pages.size_bounds(pd.DataFrame({"size": [8, 32, 2048]})) == [16, 64, 256, 1024]
    assert pages.size_bounds(pd.DataFrame({"size": [8]})) == [16]
    assert pages.size_bounds(pd.DataFrame({"size": [-1, 0]})) == []


def test_holdings__counts_runs_levels_and_what_was_recorded() -> None:
    rows = runs([100.0] * 6, mpi="a") + runs([50.0, 51.0], mpi="b")
    rows[0] |= {"valid": False, "reason": "it failed"}
    made = campaign(rows, calls=[{"run": "001", "call": "MPI_Send", "count": 1, "time": 1.0}])
    said = " ".join(holdings.holding_sentences(made))
    assert said.startswith("8 runs (8 of LS-DYNA); 7 may enter statistics. They differ in MPI library (2).")
    assert said.endswith("Of them 1 has an MPI profile.")
    table = selection.kinds(made)
    assert table[["runs", "n"]].to_numpy().tolist() == [["a", 5], ["b", 2]]
    assert table["median"].iloc[1] == "50.5 s (50.0 to 51.0, 50 % interval)"
    levels = holdings.factor_table(made).set_index("factor")["runs of each"]
    assert levels["MPI library"] == "a (6), b (2)"
    named = replace(made, names={"mpi": {"a": "the old library"}})
    levels = holdings.factor_table(named).set_index("factor")["runs of each"]
    assert levels["MPI library"] == "the old library (6), b (2)"
    assert selection.kinds(named)["runs"].tolist() == ["b", "the old library"]


def test_failed__names_levels_as_the_campaign_does() -> None:
    rows = runs([100.0], interconnect="veth-open") + runs([100.0], interconnect="10gbe")
    made = campaign([{**row, "valid": False, "reason": "exit code 1"} for row in rows])
    named = replace(made, names={"interconnect": {"veth-open": "the open link"}})
    assert tables.failed(named)["interconnect"].tolist() == ["the open link", "10gbe"]


def test_answer__a_level_is_text_whatever_markdown_would_make_of_it() -> None:
    assert answer("a <b> *c* `d` [e](f)").data == r"A \<b> \*c\* \`d\` \[e](f)"


def test_answer__a_long_one_begins_with_its_first_sentences_and_lists_the_others() -> None:
    short = [f"{name} {'is long ' * 30}" for name in "abc"]
    assert answer(*short).data.count("\n") == 0  # three sentences are no list
    many = answer(*(f"{name} {'is long ' * 35}." for name in "abcdef")).data
    head, count, *rows = [line for line in many.splitlines() if line]
    assert (head[:1], count, [row[:3] for row in rows]) == ("A", "4 more:", ["- C", "- D", "- E", "- F"])
    told = [*(f"{name} {'is long ' * 35}." for name in "abcde"), Caveat("6 runs are left out.")]
    assert answer(*told).data.splitlines()[0].endswith("6 runs are left out.")  # nothing folds it
    assert "\n3 more:" in answer(*told).data


def test_drawing__words_stand_at_one_place_in_both_panels() -> None:
    rows = []
    for link, speed in (("a", 1.0), ("b", 2.0), ("c", 4.0)):
        rows += rates([8.0] * 6, mpi="x", interconnect=link)
        if link != "b":  # has nothing to be held against
            rows += rates([8.0 * speed] * 6, mpi="y", interconnect=link)
    (one,) = pages.comparisons(campaign(rows), "mpi", along="").compared
    assert one.along == "interconnect"
    top, bottom = pages.draw(one, one.parts[0]).axes[:2]
    assert [label.get_text() for label in bottom.get_xticklabels()] == ["a", "c"]
    assert top.get_xlim() == bottom.get_xlim()
    places = sorted({float(x) for line in top.lines for x in line.get_xdata()} - set(top.get_xlim()))
    assert max(places) < 1.5  # the ratio at c is above c, at 1


def test_links__name_a_benchmark_and_its_curve_as_people_do() -> None:
    kinds = pd.DataFrame({name: ["one", "one"] for name in FACTORS})
    named = {"osu_bw": "point-to-point bandwidth", "osu_gather": "osu gather"}
    for case, name in named.items():
        assert _shown(case) == name
        assert set(_named(kinds, _shown(case))["series"]) == {name}
    assert _title("the OSU benchmarks", "osu_bw") == "The OSU benchmarks, point-to-point bandwidth"
