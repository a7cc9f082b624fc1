"""Campaigns before and after: changes planted in raw files are found, what was not planted is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis import cli
from analysis.cli.compare import IS_WORSE
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.compare import BETTER, EQUAL, UNKNOWN, WORSE, Difference, Differences, compare
from tests.findings import planted
from tests.findings.planted import Record

pytestmark = pytest.mark.slow  # four copies of a real campaign are ingested

LINK = "veth-1gbit"


def plain(record: Record) -> bool:
    """Take HPCG at 16³ for 6 s, two ranks, of both libraries and all profilers, and the OSU latencies."""
    hpcg = record["case"] == "nx16" and record["ranks"] == 2 and record.get("target_seconds") == 6
    return (hpcg and record["build"] == "-O3") or record["case"] == "osu_latency"


def slow(factor: float) -> planted.Plant:
    """Scale the rating over one link, under Open MPI without a profiler."""

    def plant(folder: Path, record: Record) -> None:
        plain_run = record["application"] == "hpcg" and not record["profiler"]
        if record["interconnect"] == LINK and plain_run and record["mpi"].startswith("Open"):
            planted.rated(folder, factor)

    return plant


def renamed(folder: Path, record: Record) -> None:
    record["mpi"] = record["mpi"].replace("Open MPI 4.1.4", "Open MPI 5.0.2")


def few(folder: Path, record: Record) -> bool:
    """One run of each cell, and nothing over 10GbE."""
    return record["repeat"] == 1 and record["interconnect"] != "veth-10gbit"


def longer(folder: Path, record: Record) -> None:
    if record["interconnect"] == LINK and record["application"] == "hpcg":
        record["end"] = record["start"] + 1.3 * (record["end"] - record["start"])


PLANTS = {
    "same": lambda folder, record: None,
    "slow90": slow(0.90),
    "slow97": slow(0.97),
    "fast": slow(1.20),
    "renamed": renamed,
    "few": few,
    "longer": longer,
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = planted.project(tmp_path_factory.mktemp("compare"))
    for name, plant in PLANTS.items():
        planted.campaign(base, name, plant, plain)
    return base


@pytest.fixture(scope="module")
def loaded(base: Path) -> dict[str, Campaign]:
    return {name: load_campaign(name, base) for name in PLANTS}


def of(found: Differences, word: str) -> list[Difference]:
    return [row for row in found.rows if row.word == word]


def test_compare__finds_a_planted_regression_and_nothing_else(
    loaded: dict[str, Campaign],
) -> None:
    found = compare(loaded["same"], loaded["slow90"])
    (row,) = of(found, WORSE)
    assert (row.measure, row.less_is_better, row.ratio.n, row.ratio.n_baseline) == (
        "figure_of_merit", False, 6, 6,
    )  # fmt: skip
    factors = found.cells[row.cell].factors
    assert (factors["interconnect"], factors["profiler"], factors["mpi"]) == (LINK, "none", "Open MPI 4.1.4")
    # Six digits are printed.
    assert row.ratio.value == pytest.approx(0.90, rel=1e-5)
    assert row.ratio.low < 0.90 < row.ratio.high < 1
    assert row.after == pytest.approx(0.9 * row.before, rel=1e-5)
    assert row.q is not None
    assert row.q < 0.05
    assert not of(found, BETTER)
    assert found.worse
    assert found.summary.startswith("1 worse, 0 better, ")


def test_compare__a_gain_is_better_and_the_other_way_round_a_loss(loaded: dict[str, Campaign]) -> None:
    found = compare(loaded["same"], loaded["fast"])
    assert [(row.word, row.measure) for row in found.rows if row.word in (WORSE, BETTER)] == [
        (BETTER, "figure_of_merit")
    ]
    assert not found.worse
    back = compare(loaded["fast"], loaded["same"])
    assert [row.ratio.value for row in of(back, WORSE)] == [pytest.approx(1 / 1.2, rel=1e-5)]


def test_compare__nothing_is_worse_in_a_copy(loaded: dict[str, Campaign]) -> None:
    found = compare(loaded["same"], loaded["same"])
    assert {row.word for row in found.rows} == {EQUAL, UNKNOWN}
    assert {row.ratio.value for row in found.rows} == {1.0}
    assert not found.worse
    assert found.lone == (("same", ()), ("same", ()))
    # HPCG's rate of one link scatters little, so that a copy is equal and not only unknown.
    assert any(row.word == EQUAL and row.measure == "figure_of_merit" for row in found.rows)


def test_compare__what_is_smaller_than_the_margin_is_not_worse(loaded: dict[str, Campaign]) -> None:
    assert not compare(loaded["same"], loaded["slow97"]).worse
    assert not compare(loaded["same"], loaded["slow90"], margin=0.12).worse


def test_compare__a_longer_time_is_worse(loaded: dict[str, Campaign]) -> None:
    found = compare(loaded["same"], loaded["longer"])
    worse = of(found, WORSE)
    assert {row.measure for row in worse} == {"elapsed"}
    assert {found.cells[row.cell].factors["interconnect"] for row in worse} == {LINK}
    assert all(row.less_is_better and row.ratio.value == pytest.approx(1.3, rel=1e-6) for row in worse)
    assert len(worse) == 2  # of two MPI libraries; three runs under a profiler are too few


def test_compare__a_new_version_is_taken_for_the_old_one_and_said(loaded: dict[str, Campaign]) -> None:
    found = compare(loaded["same"], loaded["renamed"])
    assert [str(one) for one in found.matching.renamed] == ["mpi Open MPI 4.1.4 → Open MPI 5.0.2"]
    assert len(found.cells) == len(compare(loaded["same"], loaded["same"]).cells)
    assert not found.worse


def test_compare__one_run_cannot_tell_and_missing_cells_are_listed(loaded: dict[str, Campaign]) -> None:
    found = compare(loaded["same"], loaded["few"])
    assert {row.word for row in found.rows} == {UNKNOWN}
    assert {row.q for row in found.rows} == {None}
    lone = found.matching.only_before
    gone = [cell for cell in lone if cell.factors["interconnect"] == "veth-10gbit"]
    runs = loaded["same"].runs
    there = runs["valid"] & (runs["interconnect"] == "veth-10gbit")
    assert sum(len(cell.runs) for cell in gone) == there.sum()
    assert {cell.reason for cell in gone} == {"no such run on the other side"}
    # Of one cell the first repeat had failed, and its output says no version.
    (failed,) = [cell for cell in lone if cell not in gone]
    assert failed.reason.startswith("none of 1 such runs on the other side counts: ")
    assert "1 cell" not in found.summary
    assert f"{len(lone)} cells only in same" in found.summary


def test_compare__runs_that_failed_are_no_missing_ones(loaded: dict[str, Campaign]) -> None:
    after = replace(loaded["same"])
    runs = after.runs
    failed = runs["case"].eq("osu_latency") & runs["interconnect"].eq("veth-open")
    reason = runs["reason"].where(~failed, "exit status 1")
    after._frames["runs"] = runs.assign(valid=runs["valid"] & ~failed, reason=reason)
    (lone,) = compare(loaded["same"], after).matching.only_before
    assert lone.reason == f"none of {failed.sum()} such runs on the other side counts: exit status 1"


def test_compare__sides_of_a_day_each_are_compared_and_it_is_said(loaded: dict[str, Campaign]) -> None:
    after = replace(loaded["slow90"])
    runs = after.runs
    after._frames["runs"] = runs.assign(start=runs["start"] + pd.Timedelta(days=90))
    found = compare(loaded["same"], after)
    (row,) = of(found, WORSE)
    assert row.ratio.value == pytest.approx(0.90, rel=1e-5)
    assert row.days == "the groups share no day: between days is not covered"
    assert any(note.startswith(row.days) for note in found.notes)


def test_compare__from_six_days_on_a_day_counts_once(loaded: dict[str, Campaign]) -> None:
    """Six days each, on which all that was measured in a day is alike: six values a side, no more."""
    sides = []
    for name, first in (("same", 0), ("slow90", 100)):
        one = replace(loaded[name])
        runs = one.runs
        runs = runs[runs["application"].eq("hpcg") & runs["profiler"].eq("none")]
        days = pd.to_timedelta(first + runs["repeat"], unit="D")
        again = pd.concat([runs, runs.assign(run=runs["run"] + "b")], ignore_index=True)
        again["start"] = again["start"] + pd.concat([days, days], ignore_index=True)
        one._frames["runs"] = again
        sides.append(one)
    found = compare(*sides)
    rated = [row for row in found.rows if row.measure == "figure_of_merit" and row.ratio.n == 12]
    assert rated
    assert {row.ratio.days for row in rated} == {(6, 6)}
    # Of six days on each side there are 924 ways, twice as many runs notwithstanding.
    assert min(row.p for row in rated if row.p is not None) >= 2 / 924 / len(rated)
    assert [row.word for row in rated].count(WORSE) == 1


def test_compare__calls_that_took_longer_are_named(loaded: dict[str, Campaign]) -> None:
    before, after = loaded["same"], replace(loaded["slow90"])
    calls = before.frame("calls")
    slow = calls["call"] == "MPI_Allreduce"
    after._frames["calls"] = calls.assign(time=calls["time"].where(~slow, 3 * calls["time"]))
    found = compare(before, after)
    (one,) = found.changes
    assert one.profiled in ("ipm", "mpip")
    assert one.calls[0].call == "MPI_Allreduce"
    was, now = one.calls[0].time
    assert now == pytest.approx(3 * was)
    assert one.calls[0].count[0] == one.calls[0].count[1]
    assert one.calls[0].share[1] > one.calls[0].share[0]
    assert one.totals["messages"][0] == one.totals["messages"][1]


def test_compare__watts_and_joules_are_costs(loaded: dict[str, Campaign]) -> None:
    before, after = replace(loaded["same"]), replace(loaded["same"])
    for one, factor in ((before, 1.0), (after, 1.15)):
        runs = one.runs
        watts = factor * (200 + runs["repeat"])
        joules = watts * runs["benchmark_time"]
        one._frames["runs"] = runs.assign(mean_power=watts, energy=joules, energy_location="node inlet")
    found = compare(before, after)
    worse = of(found, WORSE)
    assert {row.measure for row in worse} == {"energy", "mean_power"}
    assert all(row.ratio.value == pytest.approx(1.15, rel=1e-6) for row in worse)
    # Both are in the table, in the units of the pages; what is tested there is no side effect.
    assert {row.value_text(row.before).split()[1] for row in worse} == {"Wh", "W"}
    assert not found.changes or "mean power" not in str(found.changes[0])
    other = replace(after)
    other._frames["runs"] = after.runs.assign(energy_location="CPU package")
    assert {row.measure for row in compare(before, other).rows}.isdisjoint({"energy", "mean_power"})


@pytest.fixture
def inside(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work inside the project, with its datasets as they are."""
    monkeypatch.chdir(base)
    monkeypatch.setattr("analysis.cli.compare.built", lambda names: None)


@pytest.mark.usefixtures("inside")
def test_compare_command__its_status_is_three_if_anything_became_worse(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["compare", "same", "slow90"]) == IS_WORSE == 3
    out = capsys.readouterr().out
    assert out.startswith("same → slow90: 1 worse, 0 better, ")
    assert "0.900× (" in out
    assert "What changed with it" in out
    assert cli.main(["compare", "same", "fast"]) == 0
    assert cli.main(["compare", "slow90", "same", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert told["counts"]["better"] == 1
    assert told["differences"][0]["ratio"] == pytest.approx(1 / 0.9, rel=1e-5)


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["same", "same:mpi=MPICH"],
            "same: no run has mpi 'MPICH'; is 'MPICH 4.0.2' meant? known: MPICH 4.0.2, Open MPI 4",
        ),
        (["same", "same:mpl=x"], "same: unknown factor 'mpl'; is 'mpi' meant? known: application, "),
        (["same", "same", "--across", "mpi=a"], "--across: 'mpi=a' names no two levels; write FACTOR="),
        (["same", "same", "--ignore", "node"], "--ignore: unknown factor 'node'; is 'nodes' meant? known: "),
        (["same:case=nx16", "same:case=osu_latency"], "; measure the same jobs"),
    ],
)
def test_compare_command__a_bad_name_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *arguments]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("inside")
def test_compare_command__parts_and_levels_across(capsys: pytest.CaptureFixture[str]) -> None:
    libraries = ["same:mpi=Open MPI 4.1.4", "same:mpi=MPICH 4.0.2"]
    assert cli.main(["compare", *libraries, "--json"]) in (0, IS_WORSE)
    told = json.loads(capsys.readouterr().out)
    change = {"factor": "mpi", "before": "Open MPI 4.1.4", "after": "MPICH 4.0.2"}
    assert told["changed"] == [change]
    across = ["--across", "interconnect=veth-open:veth-1gbit"]
    assert cli.main(["compare", "same:interconnect=veth-open", "same", *across, "--json"]) in (0, IS_WORSE)
    told = json.loads(capsys.readouterr().out)
    assert {one["factors"]["interconnect"] for one in told["differences"]} == {"veth-open"}
    # The part has its own level and the one that is taken for it.
    assert all("would mix interconnect" in one["reason"] for one in told["only_before"])
