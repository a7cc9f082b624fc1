"""A campaign over many dates: where it changed, what else changed then, last week, the best so far."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from analysis import cli
from analysis.base.errors import ConfigError
from analysis.cli.compare import _over_time as compared
from analysis.datasets import ingest
from analysis.decks.content import _over_time
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings import history as over
from analysis.findings import periods as split
from analysis.findings.compare import BETTER, UNKNOWN, WORSE
from analysis.findings.history import over_time
from analysis.findings.matching import match
from analysis.findings.periods import changed, period, periods, usual

ROOT = Path(__file__).parents[2]
FIRST = datetime(2026, 10, 1, 2, tzinfo=UTC).timestamp()
DAY = 86_400.0


def nightly(base: Path, levels: Sequence[float], *, runs: int = 4, name: str = "nightly") -> Path:
    """Write a project with a campaign of one job a night that takes so many seconds; kernels change at 5."""
    rng = np.random.default_rng(7)
    for night, level in enumerate(levels):
        for repeat in range(1, runs + 1):
            start = FIRST + night * DAY + repeat * 100
            elapsed = level * float(np.exp(rng.normal(0, 0.01)))
            record: dict[str, Any] = {
                "run": f"n{night:02}-{repeat}", "campaign": name, "evidence": "measured",
                "application": "app", "case": "a", "nodes": 1, "ranks": 8, "mpi": "Open MPI 4.1.4",
                "repeat": night * runs + repeat,
                "start": start, "end": start + elapsed, "exit_code": 0, "node_list": "n1",
                "facts": {"facts": {
                    "kernel.osrelease": {"value": "6.1.0-40" if night < 5 else "6.1.0-41"},
                    "clock.now": {"value": 2000 + night},
                }},
            }  # fmt: skip
            folder = base / "data" / "raw" / name / "runs" / record["run"]
            folder.mkdir(parents=True)
            (folder / "run.json").write_text(json.dumps(record))
    if not (base / "config").is_dir():
        shutil.copytree(ROOT / "config", base / "config")
    declared = {"title": "Nightly", "evidence": "measured", "hardware": "one node", "notes": [], "levels": {}}
    (base / "config" / "campaigns" / f"{name}.yaml").write_text(yaml.safe_dump(declared))
    application = {"title": "app", "engine": "", "figure_of_merit": "", "unit": "", "higher_is_better": False}
    (base / "config" / "applications" / "app.yaml").write_text(
        yaml.safe_dump(application | {"fixed_time": False})
    )
    ingest(base / "data/raw" / name, base / "data/processed" / name)
    return base


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return ten nights of 10 s, 12 s from the sixth on, 11 s in the last three."""
    monkeypatch.chdir(tmp_path)
    return nightly(tmp_path, [10.0] * 5 + [12.0] * 2 + [11.0] * 3)


def campaign(base: Path) -> Campaign:
    """Load the campaign."""
    return load_campaign("nightly", base)


def test_periods__days_weeks_and_months(project: Path) -> None:
    one = campaign(project)
    days = periods(one)
    assert list(days) == [f"2026-10-{day:02}" for day in range(1, 11)]
    assert [len(part.runs) for part in days.values()] == [4] * 10
    # 2026-10-01 is a Thursday: the weeks begin on Mondays.
    assert {name: len(part.runs) for name, part in periods(one, "week").items()} == {
        "2026-09-28": 16,
        "2026-10-05": 24,
    }
    assert list(periods(one, "month")) == ["2026-10"]
    with pytest.raises(ConfigError, match="'year' is no period; use day, week, month"):
        periods(one, "year")


def test_periods__of_many_days_weeks_are_usual(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = campaign(project)  # of 10 days in 2 weeks of a month
    assert usual(one) == "day"
    for most, unit in ((10, "day"), (9, "week"), (2, "week"), (1, "month"), (0, "month")):
        monkeypatch.setattr(split, "_MOST", most)
        assert usual(one) == unit


def test_periods__the_latest_day_and_the_seven_days_before_it(project: Path) -> None:
    one = campaign(project)
    assert sorted(period(one, "latest").runs["run"]) == [f"n09-{n}" for n in (1, 2, 3, 4)]
    week = period(one, "last-week").runs["run"]
    assert (len(week), min(week), max(week)) == (28, "n02-1", "n08-4")
    with pytest.raises(ConfigError, match="no run in the seven days before 2026-10-10"):
        period(period(one, "latest"), "last-week")


def test_over_time__steps_and_what_else_changed(project: Path) -> None:
    found = over_time(campaign(project))
    (track,) = found.tracks
    assert track.measure == "elapsed"
    assert [found.campaigns[step.at] for step in track.steps] == ["2026-10-06", "2026-10-08"]
    assert [step.word for step in track.steps] == [WORSE, BETTER]
    assert track.steps[0].changed == ("kernel.osrelease 6.1.0-40 → 6.1.0-41",)
    assert track.steps[1].changed == ()
    # Four runs give a range, not an interval at 95 %: it is drawn as far as it goes.
    for middle, (low, high) in zip(track.medians, track.ranges, strict=True):
        assert low < middle < high < 1.06 * low
    assert track.best is not None
    assert (found.campaigns[track.best.at], track.best.campaigns) == ("2026-10-01", (5, 3))
    assert track.best.ratio.value == pytest.approx(1.1, rel=0.01)
    assert track.best.word == WORSE
    assert (found.worse, found.lost) == (False, True)


def test_over_time__a_cell_may_begin_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    base = nightly(tmp_path, [10.0] * 3 + [12.0] * 3)
    one = campaign(base)
    late = one.runs["start"] >= one.runs["start"].min() + np.timedelta64(2, "D")
    part = one.own(one.runs[late | (one.runs["repeat"] % 2 == 0)].reset_index(drop=True))
    runs = part.runs
    part._frames["runs"] = runs.assign(case=np.where(runs["repeat"] % 2 == 0, "a", "b"))
    counts = {track.name: track.counts for track in over_time(part).tracks}
    assert counts == {"a": (2, 2, 2, 2, 2, 2), "b": (0, 0, 2, 2, 2, 2)}


def test_over_time__an_invalid_run_a_day_costs_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days whose runs are all used by an earlier series, but for invalid ones, begin no series."""
    one, asked = campaign(project), []
    one.frame("runs")
    one._frames["runs"] = one.runs.assign(valid=~one.runs["run"].str.endswith("-4"))
    monkeypatch.setattr(over, "match", lambda *given: asked.append(given) or match(*given))
    assert len(over_time(one).tracks) == 1
    # Ten days of the one series, and what else changed at its two steps.
    assert len(asked) == 10 + 2


def test_over_time__of_two_days_is_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="its runs started on 2 days; a history needs 3"):
        over_time(campaign(nightly(tmp_path, [10.0, 10.0])))


def test_over_time__of_runs_none_of_which_counts_there_is_none(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = campaign(project)
    one.frame("runs")
    one._frames["runs"] = one.runs.assign(valid=False)
    assert over_time(one).tracks == ()
    assert not list(_over_time(one))  # no slide
    monkeypatch.setattr("analysis.cli.compare.side", lambda _: one)
    with pytest.raises(ConfigError, match="nightly: no cell of it has runs that count in three days; name"):
        compared(("nightly",), "day", 0.05, ())


def test_changed__what_scatters_on_a_side_did_not_change(project: Path) -> None:
    days = list(periods(campaign(project)).values())
    assert changed(days[0], days[1]) == []
    assert changed(days[4], days[5]) == ["kernel.osrelease 6.1.0-40 → 6.1.0-41"]


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["nightly"], 0, "1 step for the worse, 1 for the better; in the end 0 worse, 1 better"),
        (["nightly:best", "nightly:latest"], 3, "Worse than the best so far:"),
        (["nightly:last-week", "nightly:latest"], 0, "1 cannot tell"),
        (["nightly:last week", "nightly:latest"], 0, "1 cannot tell"),
    ],
)
def test_compare__exit_status(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, line: str
) -> None:
    assert cli.main(["compare", *arguments]) == status
    assert line in capsys.readouterr().out


def test_compare__a_regression_of_last_night_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nightly(tmp_path, [10.0] * 8 + [12.0], runs=6)
    assert cli.main(["compare", "nightly"]) == 3
    assert cli.main(["compare", "nightly:last-week", "nightly:latest"]) == 3
    assert cli.main(["compare", "nightly:best", "nightly:latest"]) == 3
    nightly(tmp_path, [10.0] * 9, runs=6, name="still")
    assert cli.main(["compare", "still"]) == 0
    assert cli.main(["compare", "still:best", "still:latest"]) == 0


def test_compare__best_goes_with_latest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "nightly:best", "nightly"]) == 1
    assert (
        "is compared with nightly:latest alone; write nightly:best nightly:latest" in capsys.readouterr().err
    )


def test_compare__json_has_ranges_changes_and_the_best(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["compare", "nightly", "--json"])
    (track,) = json.loads(capsys.readouterr().out)["tracks"]
    assert track["best"]["at"] == "2026-10-01"
    assert track["steps"][0]["changed"] == ["kernel.osrelease 6.1.0-40 → 6.1.0-41"]
    assert len(track["ranges"]) == 10


def test_over_time__unknown_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (track,) = over_time(campaign(nightly(tmp_path, [10.0, 10.0, 12.0, 12.0], runs=1))).tracks
    assert (track.word, track.steps, track.best) == (UNKNOWN, (), None)
    assert np.isnan(track.ranges).all()
