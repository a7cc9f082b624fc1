"""A campaign over time: its runs by day, week or month, and what else changed from one period to the next."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.files import RECORD, read_json
from analysis.estimates.campaign import Campaign
from analysis.schema.stated import facts_of, section

PERIODS = {"day": "D", "week": "W", "month": "M"}
LATEST, LAST_WEEK, BEST = WORDS = ("latest", "last-week", "best")
_MOST = 60  # days, then weeks, on one axis
_WEEK = pd.Timedelta(days=7)
# Facts of a node that are another each time they are read.
_VOLATILE = ("clock.now",)
_LISTED = 3  # values of a fact on each side; one with more is not the same on a side
_LONGEST = 60  # letters of a value


def periods(campaign: Campaign, unit: str = "day") -> dict[str, Campaign]:
    """Split a campaign by the days, weeks or months (UTC) on which runs started, in their order.

    Weeks are called by their first day. Runs without a date are in none. Raises `ConfigError` if the unit is
    none of `PERIODS`, or no run has a date.
    """
    runs, labels = _labelled(campaign, unit)
    form = "%Y-%m" if unit == "month" else "%Y-%m-%d"
    return {
        str(label.start_time.strftime(form)): campaign.own(runs[labels == label].reset_index(drop=True))
        for label in sorted(labels.unique())
    }


def usual(campaign: Campaign) -> str:
    """Return the shortest of `PERIODS` that splits a campaign into few enough parts for one axis."""
    few = [one for one in PERIODS if _labelled(campaign, one)[1].nunique() <= _MOST]
    return (few or [*PERIODS][-1:])[0]


def _labelled(campaign: Campaign, unit: str) -> tuple[pd.DataFrame, pd.Series]:
    if unit not in PERIODS:
        raise ConfigError.at("--by", 0, f"{unit!r} is no period", f"use {', '.join(PERIODS)}")
    runs = _dated(campaign)
    return runs, runs["start"].dt.to_period(PERIODS[unit])


def _dated(campaign: Campaign) -> pd.DataFrame:
    runs = campaign.runs[campaign.runs["start"].notna()]
    if runs.empty:
        what = "has no run with a date"
        raise ConfigError.at(campaign.name, 0, what, "import accounting, or outputs that print their date")
    return runs


def period(campaign: Campaign, word: str) -> Campaign:
    """Return the runs of the ``latest`` day, or of ``last-week``: the seven days before the latest one.

    Days are those of valid runs, not of the calendar: the same files give the same answer on any day.
    Raises `ConfigError` if there are no such runs.
    """
    runs = _dated(campaign)
    days = runs["start"].dt.floor("D")
    valid = days[runs["valid"]]
    last = (valid if len(valid) else days).max()
    chosen = days >= last if word == LATEST else (days < last) & (days >= last - _WEEK)
    if not chosen.any():
        what = f"has no run in the seven days before {last:%Y-%m-%d}, its latest"
        raise ConfigError.at(
            campaign.name, 0, what, "compare other parts, or its history: give its name alone"
        )
    return campaign.own(runs[chosen].reset_index(drop=True))


def changed(before: Campaign, after: Campaign) -> list[str]:
    """List what the records of runs state differently before and after: nodes, programs, system, settings.

    A fact changed if no value of one side is on the other. Facts that a side does not state are left out.
    """
    one, other = _facts(before), _facts(after)
    found = []
    for name in sorted(one.keys() & other.keys()):
        sides = one[name], other[name]
        if not sides[0] & sides[1] and max(map(len, sides)) <= _LISTED:
            old, new = (", ".join(map(_short, sorted(side))) for side in sides)
            found.append(f"{name} {old} → {new}")
    return found


def _facts(campaign: Campaign) -> dict[str, set[str]]:
    """Return the values of each fact of the valid runs of a campaign."""
    found: dict[str, set[str]] = {}
    runs = project.raw(campaign.name, project.root()) / "runs"
    valid = campaign.runs[campaign.runs["valid"]]
    for run, nodes in zip(valid["run"], valid["node_list"], strict=True):
        stated = {**_recorded(runs / str(run) / RECORD), **({"nodes": str(nodes)} if nodes else {})}
        for name, value in stated.items():
            found.setdefault(name, set()).add(value)
    return found


@cache
def _recorded(path: Path) -> Mapping[str, str]:
    return dict(_stated(read_json(path)))


def _stated(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Go through the facts of a run's node, its environment and its program."""
    yield from ((name, str(value)) for name, value in facts_of(record).items() if name not in _VOLATILE)
    yield from ((name, str(value)) for name, value in section(record, "facts", "environment").items())
    if digest := section(record, "binary").get("sha256"):
        yield "program, SHA-256", str(digest)[:12]


def _short(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
