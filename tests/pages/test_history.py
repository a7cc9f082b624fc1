"""The page and the slides of a campaign over time, on the synthetic nights whose truth is declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.decks.content import deck
from analysis.estimates.asking import records
from analysis.estimates.campaign import NotCoveredError, load_campaign
from analysis.findings.compare import BETTER, WORSE
from analysis.findings.history import History, over_time
from analysis.pages import history
from tests.findings.test_periods import ROOT, nightly

pytestmark = pytest.mark.datasets("syn-nightly")
# config/synthesis/nightly.yaml: cell -> first night of a change, and by how much times are longer then.
PLANTED = {
    "16³, nodes 1": [(9, 1.12)],
    "16³, nodes 2": [(9, 1.12)],
    "16³, nodes 4": [(9, 1.12), (22, 1.2)],
    "32³, nodes 1": [(9, 1.12), (15, 0.94)],
}


@pytest.fixture(scope="module")
def found() -> History:
    """Return the history of the synthetic nights."""
    return over_time(load_campaign("syn-nightly"))


def test_over_time__finds_what_was_planted_and_nothing_else(found: History) -> None:
    rated = {track.name: track for track in found.tracks if track.measure == "figure_of_merit"}
    assert rated.keys() == PLANTED.keys()
    for name, planted in PLANTED.items():
        steps = rated[name].steps
        assert [found.campaigns[step.at] for step in steps] == [f"2026-09-{night:02}" for night, _ in planted]
        for step, (_, slower) in zip(steps, planted, strict=True):
            assert step.ratio.low <= 1 / slower <= step.ratio.high
            assert step.word == (WORSE if slower > 1 else BETTER)
    # Runs of a fixed time take that time: their series has no step.
    assert not any(track.steps for track in found.tracks if track.measure != "figure_of_merit")


def test_step_table__says_what_else_changed(found: History) -> None:
    table = history.step_table(found)
    changed = dict(zip(table["since"], table["what else changed"], strict=True))
    assert changed["2026-09-09"] == "mpi Open MPI 4.1.4 → Open MPI 4.1.6"
    assert changed["2026-09-22"] == "nothing that the records state"


def test_answer_sentences__the_largest_step_for_the_worse_comes_first(found: History) -> None:
    first, step, *_ = history.answer_sentences(found)
    assert first == "8 series from 2026-09-01 to 2026-09-24: 5 steps for the worse, 1 for the better."
    assert step.startswith("Since 2026-09-22, the rate in HPCG, at 16³, on 4 nodes is 40.3")
    assert ", 0.83" in step
    with pytest.raises(NotCoveredError, match="no cell was measured on three of the 24 dates"):
        history.answer_sentences(replace(found, tracks=()))


def test_draw_history__draws_the_series_that_changed(found: History) -> None:
    fig = history.draw_history(found, evidence="synthetic", campaign="syn-nightly")
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert sorted(titles) == sorted(f"figure of merit of {name}" for name in PLANTED)
    steps = [line for ax in fig.axes for line in ax.lines if line.get_linestyle() not in ("-", "None")]
    assert len(steps) == sum(map(len, PLANTED.values()))


def test_deck__each_date_has_one_slide_with_its_curve(found: History) -> None:
    slides = [one for one in deck(load_campaign("syn-nightly")).slides if one.topic == "Over time"]
    assert [one.headline.split(",")[0] for one in slides] == [
        "Since 2026-09-22",
        "Since 2026-09-09",
        "Since 2026-09-15",
    ]
    assert slides[1].bullets[0].startswith("Also changed then: mpi Open MPI 4.1.4 → Open MPI 4.1.6.")
    for slide in slides:
        assert slide.points is not None
        assert slide.points["x"].max() == 23
        assert np.isfinite(slide.points["median"]).all()
        assert not any(text.endswith("…") for text in slide.bullets)
    assert slides[1].points["series"].nunique() == 4


def test_records__a_page_needs_the_same_runs_on_three_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not records("two", nightly(tmp_path, [1.0, 1.0], name="two")).days
    assert records("three", nightly(tmp_path, [1.0, 1.0, 1.0], name="three")).days
    assert not records("vm-hpcg", ROOT).days
