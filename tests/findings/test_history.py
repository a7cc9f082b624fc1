"""A history of campaigns: a planted step is found where it is, an unchanged history has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.compare import BETTER, EQUAL, UNKNOWN, WORSE
from analysis.findings.history import CellHistory, History, Samples, history, judged
from tests.estimates.hand import campaign, repeats


def series(*values: list[float], measure: str = "elapsed") -> Samples:
    frames = tuple(
        pd.DataFrame({"run": [f"r{i}" for i in range(len(one))], "value": one, "evidence": "measured"})
        for one in values
    )
    track = CellHistory("cell", measure, -1, "s", measure == "elapsed", (), ())
    return Samples(track, tuple(range(len(values))), frames)


def around(middle: float, seed: int, n: int = 6) -> list[float]:
    return (middle * np.exp(np.random.default_rng(seed).normal(0, 0.01, n))).tolist()


def one_track(*values: list[float], measure: str = "elapsed") -> CellHistory:
    (track,) = judged([series(*values, measure=measure)], 0.05, 0.05)
    return track


def test_judged__two_steps_and_where_they_are() -> None:
    levels = [10.0, 10.0, 10.0, 12.0, 12.0, 12.0, 11.0, 11.0]
    track = one_track(*(around(x, seed) for seed, x in enumerate(levels)))
    assert [step.at for step in track.steps] == [3, 6]
    assert [step.word for step in track.steps] == [WORSE, BETTER]
    assert [step.campaigns for step in track.steps] == [(3, 3), (3, 2)]
    first = track.steps[0].ratio
    assert first.low < 1.2 < first.high
    assert track.steps[0].before == pytest.approx(10, rel=0.01)
    assert track.steps[1].after == pytest.approx(11, rel=0.01)
    assert track.word == BETTER


def test_judged__three_campaigns_are_enough_and_less_is_worse_for_a_rate() -> None:
    track = one_track(around(5, 1), around(5, 2), around(4, 3), measure="figure_of_merit")
    assert [(step.at, step.word) for step in track.steps] == [(2, WORSE)]


def test_judged__a_step_within_the_margin_is_none() -> None:
    track = one_track(*(around(x, i) for i, x in enumerate([10, 10, 10, 10.3, 10.3, 10.3])))
    assert track.q is not None
    assert track.q < 0.05
    assert (track.steps, track.word) == ((), EQUAL)


def test_judged__single_runs_tell_nothing() -> None:
    track = one_track([10.0], [10.0], [20.0], [20.0])
    assert (track.q, track.steps, track.word) == (None, (), UNKNOWN)


def slower(campaign: Campaign, factor: float) -> Campaign:
    out = replace(campaign)
    runs = campaign.runs
    out._frames["runs"] = runs.assign(figure_of_merit=runs["figure_of_merit"] / factor)
    out._frames["micro"] = campaign.frame("micro")
    return out


@pytest.mark.datasets("vm-hpcg")
def test_history__of_real_campaigns() -> None:
    one = load_campaign("vm-hpcg").only("application", "hpcg").only("case", "nx16")
    before = slower(one, 1.0)

    def found(*factors: float) -> History:
        called = [f"c{i}" for i in range(len(factors))]
        return history([slower(before, factor) for factor in factors], called=called)

    still = found(1, 1, 1, 1)
    assert not any(track.steps for track in still.tracks)
    assert not still.worse
    worse = found(1, 1, 1.2, 1.2, 1.2)
    moved = [track for track in worse.tracks if track.steps]
    assert {(track.measure, step.at, step.word) for track in moved for step in track.steps} == {
        ("figure_of_merit", 2, WORSE)
    }
    # Every cell of six runs or more; of three runs per campaign they are fifteen in all.
    assert len(moved) == sum(track.measure == "figure_of_merit" for track in worse.tracks)
    assert worse.worse
    assert "steps for the worse" in worse.summary
    assert not found(1, 1.2, 1.2, 1, 1).worse


def test_history__begins_where_the_first_campaign_measured() -> None:
    """The first campaign has the rating of case a alone: of case b there is no history of ratings."""
    rated = {"variable": "figure_of_merit", "figure_of_merit_unit": "Gflop/s"}

    def of(seed: int, *, both: bool) -> Campaign:
        rows = repeats(around(5, seed), **rated, case="a")
        return campaign([*rows, *repeats(around(7, seed + 9), **(rated if both else {}), case="b")])

    campaigns = [of(0, both=False), *(of(seed, both=True) for seed in (1, 2, 3))]
    tracks = history(campaigns, called=["c0", "c1", "c2", "c3"]).tracks
    assert [track.counts for track in tracks if track.measure == "figure_of_merit"] == [(6, 6, 6, 6)]


def test_history__campaigns_that_lack_the_cell_are_named_in_no_step() -> None:
    """The cell is in campaigns 0, 1, 3, 4, 6 and 7: 10 s in the first three, 12 s from 4 on."""
    levels = [10.0, 10.0, None, 10.0, 12.0, None, 12.0, 12.0]
    other = repeats(around(7, 99), case="b")
    campaigns = [
        campaign([*other, *(repeats(around(level, seed), case="a") if level else [])])
        for seed, level in enumerate(levels)
    ]
    found = history(campaigns, called=[f"c{at}" for at in range(8)])
    (track,) = (one for one in found.tracks if "a" in one.name.split() and one.steps)
    assert [(step.last, step.at, step.campaigns) for step in track.steps] == [(3, 4, (3, 3))]
    assert track.best is not None
    assert (track.best.at, track.best.last) == (0, 3)
    assert found.best_date(track.best) == "c0 to c3"


@pytest.mark.datasets("vm-hpcg")
def test_history__says_that_the_dates_disagree() -> None:
    first = load_campaign("vm-hpcg").only("case", "nx16")
    later = replace(first)
    later._frames["runs"] = first.runs.assign(start=first.runs["start"] + pd.Timedelta(days=30))
    later._frames["micro"] = first.frame("micro")
    said = history([later, first, first], called=["later", "first", "again"]).notes
    assert said[0] == (
        "the order given is not that of the dates of their first runs, which is first again later"
    ) or said[0].endswith("again first later")
    assert not any("order given" in note for note in history([first, first, later]).notes)
