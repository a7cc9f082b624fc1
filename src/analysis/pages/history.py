"""A campaign over time, as pages and slides have it: sentences, figure of the series, tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from analysis.base.words import counted, number
from analysis.estimates.campaign import NotCoveredError
from analysis.estimates.numerals import spell
from analysis.estimates.spelling import measure_name
from analysis.findings.compare import BETTER, RATING, WORSE
from analysis.findings.history import CellHistory, ChangePoint, History
from analysis.pages.drawing import panels
from analysis.pages.figures.style import GREY, HUES, INK

_SERIES = 8  # panels
_SPACE = 1.9  # inches a panel


def clear_steps(found: History) -> list[tuple[CellHistory, ChangePoint]]:
    """Return the steps that are for the worse or the better: the worse first, the largest of each first."""
    steps = [(track, step) for track in found.tracks for step in track.steps if step.word in (WORSE, BETTER)]
    return sorted(steps, key=lambda one: (one[1].word == BETTER, -abs(np.log(one[1].ratio.value))))


def history_sentences(found: History) -> list[str]:
    """Say where the series changed, the largest step first, and what is worse than at its best."""
    clear = clear_steps(found)
    first, last = found.campaigns[0], found.campaigns[-1]
    whole = f"{len(found.tracks)} series from {first} to {last}"
    if not clear:
        return [f"No change is shown in {whole}"]
    worse = sum(step.word == WORSE for _, step in clear)
    out = [f"{whole}: {counted(worse, 'step')} for the worse, {len(clear) - worse} for the better"]
    out += [step_sentence(found, *one) for one in clear[:2]]
    lost = [(track, track.best) for track in found.tracks if track.best and track.best.word == WORSE]
    if lost:
        out.append(best_sentence(found, *max(lost, key=lambda one: abs(np.log(one[1].ratio.value)))))
    return out


def answer_sentences(found: History) -> list[str]:
    """Return the sentences of the answer, each with its full stop.

    Raises `NotCoveredError` of a history without a series.
    """
    if not found.tracks:
        raise NotCoveredError(f"no cell was measured on three of the {len(found.campaigns)} dates")
    return [f"{one}." for one in history_sentences(found)]


def step_sentence(found: History, track: CellHistory, step: ChangePoint) -> str:
    """Say what a measure of a cell is since a change, and what it was before."""
    ratio, interval = spell(step.ratio, "times")
    now, before = track.value_text(step.after), track.value_text(step.before)
    since = f"Since {found.campaigns[step.at]}, the {_measure(track)} is {now}"
    return f"{since}, {ratio} the {before} before ({interval})"


def also_sentence(track: CellHistory, step: ChangePoint) -> str:
    """Say by how much another series changed on the same date."""
    ratio, interval = spell(step.ratio, "times")
    return f"The {_measure(track)} changed too, to {ratio} its value before ({interval})"


def _measure(track: CellHistory) -> str:
    """Name a measure and its cell: ``rate in HPCG, at 16³, on 4 nodes``."""
    size = f" of {track.measure_text().rpartition(' ')[2]}" if track.size >= 0 else ""
    return f"{measure_name(track.measure)}{size} {track.place}"


def best_sentence(found: History, track: CellHistory, best: ChangePoint) -> str:
    """Say how far a series is from its best, and when that was."""
    ratio, interval = spell(best.ratio, "times")
    when = found.best_date(best)
    return f"The {_measure(track)} is now {ratio} its best so far, that of {when} ({interval})"


def change_sentence(step: ChangePoint) -> str:
    """Say what else changed at a step, as far as the records state it."""
    if not step.changed:
        return "The records state nothing else that changed then."
    return (
        f"Also changed then: {'; '.join(step.changed)}. Whether that was the cause, these runs cannot tell."
    )


def step_table(found: History) -> pd.DataFrame:
    """List the steps: word, measure, cell, when, values, ratio with interval, what else changed then."""
    rows = [
        {
            "": step.word,
            "measure": track.measure_text(),
            "cell": track.name,
            "since": found.campaigns[step.at],
            "from": track.value_text(step.before),
            "to": track.value_text(step.after),
            "to / from": number(step.ratio, "×"),
            "what else changed": "; ".join(step.changed) or "nothing that the records state",
        }
        for track in found.tracks
        for step in track.steps
    ]
    return pd.DataFrame(rows)


def series_table(found: History) -> pd.DataFrame:
    """List all series: measure, cell, number of runs, first and last median, what became of it."""
    rows = []
    for track in found.tracks:
        known = [value for value in track.medians if np.isfinite(value)]
        rows.append(
            {
                "": track.word,
                "measure": track.measure_text(),
                "cell": track.name,
                "n": sum(track.counts),
                "first": track.value_text(known[0]),
                "last": track.value_text(known[-1]),
                "steps": len(track.steps),
            }
        )
    return pd.DataFrame(rows)


def draw_history(found: History, *, evidence: str, campaign: str) -> Figure:
    """Draw the series that changed, a panel each: medians with intervals, and the steps.

    Where none changed some of those that did not are drawn.
    """
    tracks = drawn(found)[:_SERIES]
    fig, axes = panels(evidence, campaign, len(tracks), 0.9 + _SPACE * len(tracks))
    dates = pd.to_datetime(pd.Series(found.campaigns), errors="coerce")
    places = dates.to_numpy() if dates.notna().all() else np.arange(len(dates))
    for ax, track in zip(axes, tracks, strict=True):
        _panel(ax, track, places)
        ax.set_title(f"{track.measure_text()} of {track.name}", loc="left", size=10.5)
        ax.set_ylabel(track.unit)
    if dates.notna().all():
        locator = AutoDateLocator(maxticks=9)  # type: ignore[no-untyped-call]
        axes[-1].xaxis.set_major_locator(locator)
        axes[-1].xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        axes[-1].set_xticks(places, found.campaigns)
    return fig


def drawn(found: History) -> list[CellHistory]:
    """Return the series that changed, else the figures of merit, else all."""
    changed = [track for track in found.tracks if track.steps]
    rated = [track for track in found.tracks if track.measure == RATING]
    return changed or rated or list(found.tracks)


def _panel(ax: Axes, track: CellHistory, places: np.ndarray) -> None:
    known = np.isfinite(track.medians)
    middles, ends = np.array(track.medians)[known], np.array(track.ranges)[known]
    ends = np.where(np.isfinite(ends), ends, middles[:, None])
    # matplotlib's error bars take numbers of days, as its date axis does.
    at = places[known].astype("datetime64[D]") if places.dtype.kind == "M" else places[known]
    ax.plot(at, middles, color=GREY, linewidth=1.0, zorder=2)
    ax.vlines(at, ends[:, 0], ends[:, 1], color=INK, linewidth=1.4, zorder=3)
    ax.plot(at, middles, color=INK, marker="o", markersize=4.5, linestyle="none", zorder=4)
    for step in track.steps:
        hue = {WORSE: "red", BETTER: "blue"}.get(step.word, "grey")
        ax.axvline(places[step.at], color=HUES[hue], linestyle=(0, (5, 3)), linewidth=1.4, zorder=1)
        ax.annotate(
            f"{step.word}, {step.ratio.value:.3g}×", (places[step.at], 1), xycoords=("data", "axes fraction"),
            xytext=(4, -3), textcoords="offset points", va="top", size=9, color=HUES[hue],
        )  # fmt: skip


def history_points(found: History, tracks: Sequence[CellHistory]) -> pd.DataFrame:
    """Return series as a slide draws them: ``series x median low high n``, `x` in days from the first."""
    dates = pd.to_datetime(pd.Series(found.campaigns))
    tables = [
        pd.DataFrame(
            {
                "series": track.name if len(tracks) > 1 else "",
                "x": (dates - dates.iloc[0]).dt.days.astype(float),
                "median": track.medians,
                "low": [low for low, _ in track.ranges],
                "high": [high for _, high in track.ranges],
                "n": track.counts,
            }
        )
        for track in tracks
    ]
    table = pd.concat(tables, ignore_index=True)
    table = table[table["median"].notna()].reset_index(drop=True)
    since = f"days since {found.campaigns[0]}"
    first = tracks[0]
    table.attrs = {"unit": first.unit, "ylabel": measure_name(first.measure), "xlabel": since}
    return table
