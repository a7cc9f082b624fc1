"""Questions: every number here is known by hand from the few runs that the tests make up."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest
import xarray as xr

from analysis import pages
from analysis.base import project
from analysis.base.words import significant
from analysis.claims.model import load_report
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.finding import Remark
from analysis.estimates.groups import measured
from analysis.estimates.quantities import findings_of
from analysis.estimates.question import Comparison, Question
from analysis.estimates.sentences import Statement
from analysis.estimates.spelling import remarked
from analysis.pages.figures.svg import svg
from analysis.pages.notebook import Book, open_book
from analysis.schema.factors import at_level
from analysis.schema.registry import blank, to_dataset
from tests.estimates.hand import in_turn

RAW = Path(__file__).parents[2] / "data" / "raw" / "vm-hpcg" / "runs"
ALIKE = {"application": "ls-dyna", "case": "3cars", "profiler": "none", "valid": True, "timing": True}


def runs(seconds: list[float], **factors: Any) -> list[dict[str, Any]]:
    """Make runs that differ in nothing but their times."""
    extra = {"concurrent_jobs": 1, "figure_of_merit_unit": "s", "ranks": 8 * factors.get("nodes", 1)}
    return [
        {**blank("runs"), **ALIKE, **extra, **factors, "figure_of_merit": time, "elapsed": time}
        for time in seconds
    ]


def campaign(rows: list[dict[str, Any]], **tables: list[dict[str, Any]]) -> Campaign:
    rows = rows if any(row["order"] >= 0 for row in rows) else in_turn(rows)
    for number, row in enumerate(rows):
        row["run"] = row["run"] or f"{number:03d}"
    groups = {"runs": to_dataset([pd.DataFrame(rows)], "runs")}
    for kind in ("calls", "messages", "ranks", "matrix", "micro", "files"):
        groups[kind] = to_dataset([pd.DataFrame(tables.get(kind, []))], kind)
    return Campaign("made-up", xr.DataTree.from_dict(groups), "", "synthetic", "", profiler="ipm")


def two_links() -> Campaign:
    """Times of 10gbe over those of ib-fdr: 1 at 1 node, 2 at 2 nodes, 4 at 4 nodes."""
    rows = []
    for nodes, fast, slow in ((1, 800.0, 800.0), (2, 400.0, 800.0), (4, 200.0, 800.0)):
        rows += runs([fast] * 6, nodes=nodes, interconnect="ib-fdr")
        rows += runs([slow] * 6, nodes=nodes, interconnect="10gbe")
    return campaign(rows)


def test_questions__a_ratio_of_times_is_a_speed() -> None:
    found = pages.compare(two_links(), "interconnect", "10gbe")
    table = found.table
    assert table["ratio"].tolist() == [1.0, 2.0, 4.0]
    assert table["base"].tolist() == [800.0] * 3
    assert table["base_unit"].tolist() == ["s"] * 3
    assert found.sentences == [
        "FDR InfiniBand is 4 times as fast as 10GbE in LS-DYNA, on 4 nodes (exact; 10GbE: 800 s); "
        "FDR InfiniBand is ahead from 2 nodes on."
    ]


def test_questions__from_the_other_side_the_winner_is_the_same() -> None:
    found = pages.compare(two_links(), "interconnect", "ib-fdr")
    assert found.table["ratio"].tolist() == [1.0, 0.5, 0.25]
    assert found.sentences == [
        "FDR InfiniBand is 4 times as fast as 10GbE in LS-DYNA, on 4 nodes (exact; FDR InfiniBand: 200 s); "
        "FDR InfiniBand is ahead from 2 nodes on."
    ]


def test_questions__a_ratio_of_energies_is_how_much_more_a_kilowatt_hour_does() -> None:
    rows = runs([100.0] * 6, nodes=2, interconnect="10gbe", energy=7200.0)
    rows += runs([100.0] * 6, nodes=2, interconnect="ib-fdr", energy=1800.0)
    found = pages.compare(campaign(rows), "interconnect", "10gbe", variable="energy_per_job")
    assert found.table["ratio"].tolist() == [4.0]
    assert found.table["base"].tolist() == [2.0]  # Wh
    assert found.sentences == [
        "FDR InfiniBand does 4 times as many jobs per kWh as 10GbE in LS-DYNA (exact; 10GbE: 2 Wh)."
    ]


def test_questions__below_four_runs_there_is_no_side() -> None:
    rows = runs([10.0, 11.0, 12.0], nodes=2, interconnect="ib-fdr")
    rows += runs([20.0, 22.0, 24.0], nodes=2, interconnect="10gbe")
    found = pages.compare(campaign(rows), "interconnect", "10gbe")
    # All of 20 to 24 over all of 10 to 12, at 1 - 2^-2.
    assert found.sentences == [
        "There are too few runs to compare FDR InfiniBand with 10GbE in LS-DYNA "
        "(2.00 times, 1.67 to 2.40, 75 % interval; 10GbE: 22 s)."
    ]
    assert found.table[["low", "high", "confidence"]].iloc[0].tolist() == pytest.approx([20 / 12, 2.4, 0.75])


def test_questions__of_points_without_an_interval_none_stands_for_all() -> None:
    rows = []
    for cpu, slow in (("E5-2680", 10.0), ("E5-2690", 12.0), ("X5570", 15.0)):
        rows += runs([10.0], nodes=2, cpu=cpu, interconnect="ib-fdr")
        rows += runs([slow], nodes=2, cpu=cpu, interconnect="10gbe")
    found = pages.compare(campaign(rows), "interconnect", "10gbe", along="cpu")
    assert found.sentences == [
        "FDR InfiniBand is 1.00 to 1.50 times as fast as 10GbE in 3 comparisons by processor "
        "(1.20 in the middle); each has too few runs for an interval."
    ]


def test_questions__a_caption_keeps_the_case_of_names() -> None:
    rows = runs([10.0] * 6, nodes=2, frequency=2.0, case="TGV 1024³")
    rows += runs([20.0] * 6, nodes=2, frequency=2.25, case="TGV 1024³")
    rows += runs([20.0] * 6, nodes=2, frequency=2.25, case="ethanol")
    rows += runs([11.0] * 6, nodes=2, frequency=2.0, case="ethanol")
    found = pages.compare(campaign(rows), "frequency", 2.25)
    captions = [found.description(part) for part in found.parts]
    assert all(one.startswith("Time by the application by CPU frequency, every run; ") for one in captions)
    assert "; TGV 1024³; " in captions[0]


@pytest.mark.datasets("published-openfoam")
def test_questions__runs_that_no_cluster_can_make_are_not_asked_for() -> None:
    """Processors change with clusters: none has Westmere on FOCUS F, whose nodes are Broadwell."""
    source, westmere = load_campaign("published-openfoam"), "Westmere (X5670)"
    varying = ("cluster", "interconnect", "mpi", "build", "ranks", "ranks_per_node")
    clusters = ["TSUBAME 2.5 (QDR)", "FOCUS F (FDR)"]
    select = {"version": "2.3.0", "case": "channel 3M PCG", "cluster": clusters, "nodes": [8]}
    found = pages.compare(source, "cpu", westmere, select=select, varying=varying)
    (text,) = found.sentences
    assert text.endswith("These runs cannot tell whether the cluster or the build is the cause.")


def test_questions__five_runs_have_an_interval_and_its_level() -> None:
    rows = runs([10.0, 10.5, 11.0, 11.5, 12.0], nodes=2, interconnect="ib-fdr")
    rows += runs([20.0, 21.0, 22.0, 23.0, 24.0], nodes=2, interconnect="10gbe")
    found = pages.compare(campaign(rows), "interconnect", "10gbe")
    assert found.sentences == [
        "FDR InfiniBand is 2.00 times as fast as 10GbE in LS-DYNA (1.67 to 2.40, 94 % interval; 10GbE: 22 s)."
    ]
    assert found.description(found.parts[0]).endswith("medians of 5 runs with 94 % intervals")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([(50, 100), (100, 50)], "10GbE is ahead from 2 nodes on, FDR InfiniBand is ahead at 1 node"),
        ([(50, 100), (100, 100)], "FDR InfiniBand is ahead at 1 node, no clear difference at 2 nodes"),
        ([(100, 100), (100, 100)], "no clear difference at 1 node"),
    ],
)
def test_questions__says_where_sides_change(times: list[tuple[float, float]], said: str) -> None:
    rows = []
    for nodes, (fast, slow) in enumerate(times, start=1):
        rows += runs([fast] * 6, nodes=nodes, interconnect="ib-fdr")
        rows += runs([slow] * 6, nodes=nodes, interconnect="10gbe")
    assert pages.compare(campaign(rows), "interconnect", "10gbe").sentences[0].endswith(f"; {said}.")


def test_questions__strata_are_named_by_what_sets_them_apart() -> None:
    rows = []
    for case, slow in (("3cars", 20.0), ("neon", 30.0)):
        rows += runs([10.0] * 6, nodes=2, case=case, interconnect="ib-fdr")
        rows += runs([slow] * 6, nodes=2, case=case, interconnect="10gbe")
    found = pages.compare(campaign(rows), "interconnect", "10gbe")
    assert [(part.name, part.ratios["ratio"].tolist()) for part in found.parts] == [
        ("3cars", [2.0]),
        ("neon", [3.0]),
    ]
    assert found.sentences[1].startswith("FDR InfiniBand is 3 times as fast as 10GbE in LS-DYNA, at neon")


def test_questions__what_differs_by_no_more_than_the_margin_is_equal_and_what_is_not_sure_is_not_clear() -> (
    None
):
    near = runs([10.0, 10.1, 10.2, 10.0, 10.1, 10.2], nodes=2, interconnect="ib-fdr")
    near += runs([10.1, 10.2, 10.1, 10.0, 10.2, 10.1], nodes=2, interconnect="10gbe")
    (said,) = pages.compare(campaign(near), "interconnect", "10gbe").sentences
    assert said.startswith("FDR InfiniBand and 10GbE are equal within 5 % in LS-DYNA (1.00")
    wide = runs([8.0, 9.0, 10.0, 11.0, 12.0, 13.0], nodes=2, interconnect="ib-fdr")
    wide += runs([8.1, 9.1, 10.1, 11.1, 12.1, 12.9], nodes=2, interconnect="10gbe")
    (said,) = pages.compare(campaign(wide), "interconnect", "10gbe").sentences
    assert said.startswith("There is no clear difference between FDR InfiniBand and 10GbE in LS-DYNA (1.0")


def test_questions__of_many_comparisons_the_clear_ones_come_first() -> None:
    rows = []
    for case, slow in (("a", 10.0), ("b", 20.0), ("c", 10.0), ("d", 30.0)):
        rows += runs([10.0] * 6, nodes=2, case=case, interconnect="ib-fdr")
        rows += runs([slow] * 6, nodes=2, case=case, interconnect="10gbe")
    many, *said = pages.comparisons(campaign(rows), "interconnect", "10gbe").sentences
    assert many == "2 of 4 comparisons differ clearly."
    assert [re.search("at ([abcd]) ", one)[1] for one in said] == ["d", "b", "a", "c"]  # type: ignore[index]


def test_questions__a_median_mixes_nothing() -> None:
    rows = runs([10.0] * 6, nodes=2, cpu="new", ranks=40)
    rows += runs([20.0] * 6, nodes=2, cpu="old", ranks=16) + runs([30.0] * 6, nodes=2, cpu="old", ranks=8)
    with pytest.raises(NotCoveredError, match="old, 2 would mix ranks 8, 16: narrow the parameter select"):
        pages.compare(campaign(rows), "cpu", "old")


def test_questions__profiled_runs_do_not_speak_of_time() -> None:
    rows = runs([10.0] * 6, nodes=2, interconnect="ib-fdr") + runs([20.0] * 6, nodes=2, interconnect="10gbe")
    rows += runs([90.0] * 6, nodes=2, interconnect="ib-fdr", profiler="ipm")
    assert pages.compare(campaign(rows), "interconnect", "10gbe").table["ratio"].tolist() == [2.0]


def test_questions__without_the_baseline_there_is_nothing_to_compare() -> None:
    made = campaign(runs([10.0] * 6, nodes=2, interconnect="ib-fdr"))
    with pytest.raises(NotCoveredError, match="no comparable runs for interconnect ib-fdr and another level"):
        pages.compare(made, "interconnect", "ib-fdr")
    with pytest.raises(ValueError, match=r"'speed' is no measure; take one of .*elapsed"):
        pages.compare(made, "interconnect", "ib-fdr", variable="speed")


def test_questions__scaling_stops_where_more_nodes_bring_little() -> None:
    rows = []
    for nodes, seconds in ((1, 80.0), (2, 40.0), (4, 20.0), (8, 19.5)):
        rows += runs([seconds] * 6, nodes=nodes, interconnect="1gbe")
    table = pages.scaling(campaign(rows))
    assert table["speedup"].tolist() == pytest.approx([1, 2, 4, 80 / 19.5])
    assert table["efficiency"].tolist() == pytest.approx([100, 100, 100, 100 * 80 / 19.5 / 8])
    assert set(table["stops"]) == {"4 nodes"}
    assert pages.scaling_sentences(table) == [
        "8 nodes are 4.103 times as fast as 1 node in LS-DYNA (exact; 1 node: 80 s). The efficiency is "
        "51.28 %. Beyond 4 nodes the next step brings less than 5 %."
    ]


def test_scaling_sentences__of_many_curves_the_steepest_and_the_flattest_come_first() -> None:
    rows = []
    for case, last in (("a", 30.0), ("b", 20.0), ("c", 39.0), ("d", 25.0)):
        for nodes, seconds in ((1, 40.0), (2, last)):
            rows += runs([seconds] * 6, nodes=nodes, case=case, interconnect="1gbe")
    first, *said = pages.scaling_sentences(pages.scaling(campaign(rows)))
    assert first == "Of 4 curves, first those of the highest and the lowest efficiency at the end."
    assert [re.search(", ([abcd]): ", one)[1] for one in said] == ["b", "c", "a", "d"]  # type: ignore[index]


def test_scaling_sentences__what_else_may_be_the_cause_follows_all_answers() -> None:
    rows = []
    for app in ("ls-dyna", "hpcg"):
        for nodes, seconds in ((1, 80.0), (2, 40.0)):
            rows += runs([seconds + 0.1 * step for step in range(6)], nodes=nodes, application=app)
    made = campaign([{**row, "order": at} for at, row in enumerate(rows)])  # one count after the other
    said = pages.scaling_sentences(pages.scaling(made, factor="application"))
    assert [one.partition(":")[0] for one in said] == ["HPCG", "LS-DYNA"] * 2
    assert ["cannot tell" in one for one in said] == [False, False, True, True]


def profiled(*, timing: bool = True) -> Campaign:
    """Two node counts; MPI_Send makes 75 % of the calls and 25 % of the time."""
    rows, calls, messages = [], [], []
    for nodes in (2, 4):
        for repeat in range(6):
            row = runs([10.0], nodes=nodes, profiler="ipm", mpi_fraction=0.1 * nodes, timing=timing)[0]
            row["run"] = f"{nodes}-{repeat}"
            rows.append(row)
            for call, count, time in (
                ("MPI_Send", 75, 1.0),
                ("MPI_Recv", 25, 3.0),
                ("MPI_Comm_rank", 900, 0.0),
            ):
                calls.append({"run": row["run"], "call": call, "count": count, "time": time, "bytes": 1.0})
            for call, size, count in (("MPI_Send", 8, 60), ("MPI_Send", 4096, 40), ("MPI_Recv", 8, 100)):
                messages.append({"run": row["run"], "call": call, "size": size, "count": count, "time": 0.0})
    return campaign(rows, calls=calls, messages=messages)


def test_questions__shares_of_calls_and_of_time_differ() -> None:
    counts = pages.mean_shares(profiled(), "count", {"nodes": 4})
    times = pages.mean_shares(profiled(), "time", {"nodes": 4})
    assert dict(zip(counts["call"], counts["median"], strict=True)) == {"MPI_Send": 75.0, "MPI_Recv": 25.0}
    assert times["median"].tolist() == [75.0, 25.0, 0.0]
    assert pages.call_sentences(times, "MPI time") == "MPI_Recv 75.0 %, MPI_Send 25.0 % of MPI time (n = 6)."


def test_questions__times_that_must_not_be_used_have_no_shares() -> None:
    book = profiled(timing=False)
    times = pages.mean_shares(book, "time", {"nodes": 4})
    assert times.empty
    assert pages.mean_shares(book, "count", {"nodes": 4})["median"].tolist() == [75.0, 25.0]
    assert pages.call_sentences(times, "MPI time") == (
        "There are no shares of MPI time: the times of these runs must not be used, as their records say."
    )


def test_medians__counts_that_repeat_exactly_have_no_spread() -> None:
    table = pages.mean_shares(profiled(), "count", {"nodes": 4})
    assert pages.medians(table) == "medians of 6 runs that show no spread"
    table.loc[0, "high"] += 0.1
    assert pages.medians(table) == "medians of 6 runs with 95 % intervals"


def test_questions__shares_of_different_node_counts_are_not_put_together() -> None:
    with pytest.raises(NotCoveredError, match="would mix nodes 2, 4"):
        pages.mean_shares(profiled(), "count")


def test_questions__messages_are_counted_where_they_are_sent() -> None:
    table = pages.size_shares(profiled(), [8, 4096], {"nodes": 2})
    assert table["call"].tolist() == ["MPI_Send", "all"]
    assert table["messages"].tolist() == [100, 100]
    assert table["up to 8 B"].tolist() == [60.0, 60.0]
    assert table["up to 4096 B"].tolist() == [100.0, 100.0]


def test_questions__a_series_says_its_ends_and_its_way() -> None:
    table = pages.series(profiled(), {"share of MPI": "mpi_fraction"}, scale=100.0)
    assert table["median"].tolist() == pytest.approx([20.0, 40.0])
    assert pages.series_sentences(table, "%") == ["Share of MPI: 20 % at 2 nodes, 40 % at 4 nodes."]
    longer = pd.concat([table, table.tail(1).assign(nodes=8, median=30.0, low=30.0, high=30.0)])
    assert pages.series_sentences(longer, "%")[0].endswith("30 % at 8 nodes, not in one direction.")
    bytes_of = table.assign(median=[0.08230804, 0.458176], low=[0.08230804, 0.458176])
    bytes_of["high"] = bytes_of["low"]
    assert pages.series_sentences(bytes_of, "GB") == [
        "Share of MPI: 82.31 MB at 2 nodes, 458.2 MB at 4 nodes."
    ]


def test_questions__claims_of_single_calls_are_the_reports() -> None:
    report = load_report(project.claims("lsdyna2014"))
    assert pages.claimed([report], "call_share") == {
        "MPI_Recv": 36.0,
        "MPI_Allreduce": 27.0,
        "MPI_Bcast": 24.0,
    }


def test_questions__a_kilowatt_hour_an_hour_costs_its_price_8760_times() -> None:
    rows = runs([3600.0] * 6, nodes=2, interconnect="1gbe", energy=3.6e6)
    rows += runs([1800.0] * 6, nodes=2, interconnect="ib-ddr", energy=1.8e6)
    made = campaign(rows)
    own = pages.yearly_costs(made, "interconnect", price=0.2).set_index("interconnect")
    assert own["cost_a_year"].to_dict() == pytest.approx({"1gbe": 1752.0, "ib-ddr": 1752.0})
    same = pages.yearly_costs(made, "interconnect", price=0.2, pue=1.5, jobs_of="1gbe", carbon=0.4)
    assert same["cost_a_year"].tolist() == pytest.approx([2628.0, 1314.0])
    assert same["kg_CO2e_a_year"].tolist() == pytest.approx([0.4 * 1.5 * 8760, 0.4 * 1.5 * 4380])
    assert pages.cost_sentences(same, "interconnect", "1gbe", "USD") == [
        "As many jobs cost 2,630 USD a year with 1gbe; saved with ib-ddr: 1,310 USD."
    ]


def test_questions__power_is_summed_over_meters_and_gaps_stay(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "raw" / "made-up" / "runs" / "000"
    folder.mkdir(parents=True)
    lines = ["time,n1_W,n2_W", *(f"2026-03-01T10:00:{s:02d}Z,{100 + s},200" for s in (0, 1, 2, 3, 7, 8, 9))]
    (folder / "power.csv").write_text("\n".join(lines).replace("101,200", "101,") + "\n")
    times = {"start": pd.Timestamp("2026-03-01T10:00:01"), "end": pd.Timestamp("2026-03-01T10:00:09")}
    joules = {"energy": 3600.0, "energy_low": 3240.0, "energy_high": 3960.0, "energy_covered": 0.5}
    rows = runs([8.0], nodes=2, interconnect="ib-ddr", mean_power=450.0, **times, **joules)
    log = {"path": "runs/000/power.csv", "run": "000", "engine": "power_csv"}
    made = campaign(rows, files=[log, {"path": "runs/000/out.txt", "run": "000", "engine": "lsdyna"}])
    table = pages.power(made, "000", tmp_path)
    known = table.dropna(subset=["power"])
    assert known["seconds"].tolist() == [-1.0, 0.0, 1.0, 2.0, 6.0, 7.0, 8.0]
    assert known["power"].tolist() == [300.0, 301.0, 302.0, 303.0, 307.0, 308.0, 309.0]
    assert table["power"].isna().sum() == 3  # four seconds without a reading are a gap
    assert pages.metered(made, "interconnect") == {"ib-ddr, 2 nodes": "000"}
    assert pages.power_sentences(made, {"ib-ddr": "000"}) == [
        "ib-ddr: 1 Wh (gaps leave 0.9 to 1.1 open) in 8 s, 450 W on average; readings cover 50.0 %; "
        "metered at: not stated."
    ]
    assert pages.meters({"ib-ddr": table})["missing_percent"].tolist() == [35.0]  # 7 of 20
    rate = {"figure_of_merit": 900.0, "figure_of_merit_unit": "samples/s"}
    (said,) = pages.power_sentences(campaign([rows[0] | rate]), {"ib-ddr": "000"})
    assert "in 8 s, 450 W on average; at 900 samples/s, 2 samples for a joule; readings" in said


def test_questions__powers_of_a_kind_share_an_axis_and_others_have_their_own() -> None:
    logs = {
        f"{watts} W, 1 node": pd.DataFrame({"seconds": [0.0, 1.0], "power": [0.9 * watts, watts]})
        for watts in (3000.0, 2500.0, 400.0)
    }
    shown = {}
    for few in (2, 3):
        some = dict(list(logs.items())[:few])
        fig = pages.draw_power(some, dict.fromkeys(some, 1.0), evidence="measured", campaign="made-up")
        shown[few] = [axes.get_ylim() for axes in fig.axes]
    assert shown[2] == [(0, pytest.approx(3.3))] * 2
    assert shown[3] == [(0, pytest.approx(top)) for top in (3.3, 2.75, 0.44)]


def test_questions__a_figure_shows_ratios_values_and_its_evidence() -> None:
    found = pages.compare(two_links(), "interconnect", "10gbe")
    fig = pages.draw(found, found.parts[0])
    top, bottom = fig.axes
    assert top.get_ylabel() == "times as fast as\n10GbE"
    assert bottom.get_ylabel() == "time by the application (s)"
    assert bottom.get_xlabel() == "nodes"
    drawn = svg(fig, description=found.description(found.parts[0]))
    assert "1× = 800 s (10GbE, at 4 nodes)" in drawn
    assert "synthetic: a test of the pipeline, no evidence" in drawn
    assert "medians of 6 runs that show no spread" in drawn


@pytest.mark.parametrize("base", ["-O2", "-O3"])
def test_questions__a_level_looks_the_same_above_and_below(base: str) -> None:
    """Both levels begin with one colour, and the baseline is not drawn above."""
    rows = [
        one
        for nodes in (1, 2)
        for level in ("-O2", "-O3")
        for one in runs([9.0] * 6, nodes=nodes, build=level)
    ]
    found = pages.compare(campaign(rows), "build", base)
    top, bottom = (
        {(one[0].get_color(), one[0].get_marker()) for one in ax.containers}
        for ax in pages.draw(found, found.parts[0]).axes
    )
    assert (len(top), len(bottom)) == (1, 2)
    other = pages.draw(found, found.parts[0]).axes[1]
    named = {text.get_text(): text.look for text in other.texts}
    assert top == {named["-O3" if base == "-O2" else "-O2"]}


def test_questions__one_point_of_an_axis_shows_every_run() -> None:
    rows = runs([10.0] * 6, nodes=1, dimm="dual") + runs([11.0] * 6, nodes=1, dimm="single")
    found = pages.compare(campaign(rows), "dimm", "single")
    (ax,) = pages.draw(found, found.parts[0]).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["single\nn = 6", "dual\nn = 6"]
    assert ax.get_xlabel() == "memory modules, at 1 node"


@pytest.mark.parametrize(
    ("value", "text"), [(11910.4, "11,910"), (0.25, "0.25"), (2.0, "2"), (123456.0, "123,500"), (0.0, "0")]
)
def test_questions__numbers_have_no_powers_of_ten(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("along", "value", "text"),
    [("nodes", 1, "at 1 node"), ("nodes", 32, "at 32 nodes"), ("case", "16³", "at 16³"),
     ("ranks_per_node", 1, "at 1 rank per node"), ("concurrent_jobs", 2, "at 2 jobs at once")],
)  # fmt: skip
def test_questions__places_are_named(along: str, value: Any, text: str) -> None:
    assert at_level(along, value) == text


@pytest.mark.datasets("vm-hpcg")
def test_questions__the_same_ratio_as_from_the_raw_files() -> None:
    select = {"application": "hpcg", "case": "nx16", "build": "-O3", "target_time": 6.0, "nodes": 2}
    found = pages.compare(
        load_campaign("vm-hpcg"),
        "mpi",
        "MPICH 4.0.2",
        along="interconnect",
        variable="figure_of_merit",
        select={**select, "interconnect": "veth-open"},
    )
    rated: dict[str, list[float]] = {"Open MPI 4.1.4": [], "MPICH 4.0.2": []}
    alike = ['"nx16"', '"veth-open"', '"-O3"', '"target_seconds": 6,', '"nodes": 2,', '"profiler": null']
    for path in sorted(RAW.glob("*/run.json")):
        record = path.read_text()
        library = next((name for name in rated if f'"{name}"' in record), "")
        if library and all(part in record for part in [*alike, '"concurrent_jobs": 1,', '"exit_code": 0']):
            text = next(path.parent.glob("HPCG-Benchmark*.txt")).read_text()
            rated[library].append(float(re.search(r"GFLOP/s rating of=(\S+)", text)[1]))  # type: ignore[index]
    assert [len(values) for values in rated.values()] == [6, 6]
    ratio = median(rated["Open MPI 4.1.4"]) / median(rated["MPICH 4.0.2"])
    assert found.table["ratio"].tolist() == pytest.approx([ratio])
    assert ratio == pytest.approx(0.9886, abs=1e-4)


def test_sentences__a_trend_ends_where_its_runs_do() -> None:
    rows = []
    for nodes, seconds in ((1, 80.0), (2, 40.0), (4, 20.0)):
        rows += runs([seconds * (1 + 0.001 * step) for step in range(6)], nodes=nodes, interconnect="1gbe")
    along = Comparison("nodes", (), ("ranks",), span=(1, 32))
    asked = Question("trend", "elapsed", select={"application": "ls-dyna"}, compare=along)
    said = worded(asked, campaign(rows))
    assert said.startswith("The time falls from 1 node to 4 nodes in LS-DYNA")


def test_remarked__the_worst_is_said_with_its_place() -> None:
    pairs = [
        (Remark("far", "ib-fdr", value), there) for value, there in ((1.5, "on 2 nodes"), (3.0, "on 4 nodes"))
    ]
    said = remarked(two_links(), "interconnect", "time", pairs)
    assert said == ["one run of FDR InfiniBand on 4 nodes is at 3 times the median"]


def test_sentences__of_several_scalings_the_weakest_is_named_alone() -> None:
    rows = []
    for case, last in (("3cars", 20.0), ("neon", 39.0)):
        for nodes, seconds in ((1, 80.0), (2, 40.0), (4, last)):
            rows += runs([seconds + 0.01 * step for step in range(6)], nodes=nodes, case=case)
    asked = Question(
        "saturation",
        "elapsed",
        select={"application": "ls-dyna"},
        compare=Comparison("nodes", (), ("ranks",), span=(1, 4)),
        threshold=0.05,
    )
    assert worded(asked, campaign(rows)) == (
        "Beyond 2 nodes the next step brings less than 5 % in LS-DYNA, at neon, the weakest of 2 scalings"
    )


def worded(asked: Question, made: Campaign) -> str:
    """Word what a campaign answers."""
    return Statement(asked, findings_of(asked, made, measured(asked, made)), made).sentence


def test_left_out__runs_in_doubt_are_counted_with_their_place() -> None:
    alike, mixed = [10.0, 10.1, 10.2, 9.9, 10.0, 10.1], [5.0, 5.1, 5.0, 9.0, 9.1, 9.0]
    one = campaign([*runs(alike, nodes=1), *runs(mixed, nodes=2), *runs([3.0, 3.1, 6.0, 6.1], nodes=4)])
    book = Book(one, ())
    why = f"may be no repeats and are left out; benchbook findings {one.name} says why."
    assert book.left_out({}, along="nodes") == f"10 runs of 2 settings (2 nodes, 4 nodes) {why}"
    assert book.left_out({"nodes": 2}, {"nodes": [1, 2]}) == f"6 runs of 1 setting {why}"
    assert book.left_out({"nodes": 1}) == book.left_out() == ""


@pytest.mark.datasets("published-plane-waves")
def test_left_out__castep_says_which_nodes_its_curve_lacks() -> None:
    # Ten rows each of runs.csv of that cluster at 4 and 8 nodes, and none of these on the curve.
    book = open_book("published-plane-waves", [])
    said = book.left_out({"application": "castep"}, along="nodes")
    assert said.startswith("20 runs of 2 settings (4 nodes, 8 nodes) may be no repeats and are left out")
