"""``benchbook compare``: a campaign after an upgrade against the one before, or a history of several."""

import itertools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.words import number
from analysis.claims.verdict import finite
from analysis.cli import FINE
from analysis.cli.built import built
from analysis.estimates.stats import Estimate
from analysis.findings.compare import BETTER, WORDS, WORSE, Difference, Differences, Watched, upgrade
from analysis.findings.history import CellHistory, ChangePoint, History, history, over_time
from analysis.findings.matching import LoneCell, Renamed, names, side
from analysis.findings.periods import BEST, LATEST

# The exit status of a comparison that found something worse.
IS_WORSE = 3
# A side of more cells that are not compared shows the first of them.
_LONE = 12
# Of what neither became better nor worse so many rows are shown.
_MANY = 15
# Of more campaigns, or days, the first line names the first and the last.
_CALLED = 6
NOTEBOOK = "13-compare.ipynb"
T = TypeVar("T")


def compare(
    before: str,
    after: str,
    later: Sequence[str],
    *,
    unit: str,
    margin: float,
    ignored: Sequence[str] | None,
    levels: Sequence[str] | None,
    as_json: bool,
    html: str | None,
) -> int:
    """Print what became better or worse; return `IS_WORSE` if anything became worse."""
    called = tuple(filter(None, (before, after, *later)))
    built(list(dict.fromkeys(text.partition(":")[0] for text in called)))
    ignored, levels = ignored or (), levels or ()
    if sys.stderr.isatty():
        print(f"comparing {' and '.join(called)}", file=sys.stderr)
    best = f":{BEST}" in before
    if best or len(called) != 2:
        if levels or html is not None:
            what = "--across and --html go with two campaigns"
            raise ConfigError.at(" ".join(called), 0, what, "leave them out, or compare two")
        found = _over_time(called, unit, margin, ignored)
        worse = found.lost if best else found.worse
        return _print(_history_data(found) if as_json else _history_text(found), worse=worse)
    compared = upgrade(before, after, margin=margin, ignore=ignored, across=levels)
    if html is not None:
        page = _page(before, after, margin, ignored, levels, html)
        print(f"{page} has it as a page", file=sys.stderr)
    return _print(_data(compared) if as_json else _text(compared), worse=compared.worse)


def _over_time(called: Sequence[str], unit: str, margin: float, ignored: Sequence[str]) -> History:
    """Find the history of several campaigns, or of the days, weeks or months of one."""
    name, _, part = called[0].partition(":")
    if part == BEST or len(called) == 1:
        if called[1:] not in ((), (f"{name}:{LATEST}",)):
            what = f"{called[0]} is compared with {name}:{LATEST} alone"
            raise ConfigError.at(" ".join(called), 0, what, f"write {name}:{BEST} {name}:{LATEST}")
        campaign = side(name if part == BEST else called[0])
        found = over_time(campaign, unit, margin=margin, ignore=ignored)
    else:
        found = history([side(text) for text in called], called=called, margin=margin, ignore=ignored)
    if not found.tracks:
        others = f"two others of {', '.join(called[1:])}" if called[1:] else f"three {unit}s"
        what = f"no cell of it has runs that count in {others}"
        raise ConfigError.at(called[0], 0, what, "name campaigns with runs alike in all factors")
    return found


def _print(out: str | dict[str, Any], *, worse: bool) -> int:
    print(out if isinstance(out, str) else json.dumps(out, indent=1, ensure_ascii=False))
    return IS_WORSE if worse else FINE


def _page(
    before: str, after: str, margin: float, ignored: Sequence[str], levels: Sequence[str], html: str
) -> Path:
    """Execute the notebook on two campaigns and write its page, by itself."""
    from analysis.site.build import single
    from analysis.site.kernels.client import NotebookRun, request
    from analysis.site.page import PageInput

    base = project.root()
    stem = re.sub(r"[^a-z0-9]+", "-", f"{before}-{after}".lower()).strip("-")
    folder = base / "results" / "compare"
    out = Path(html) if html else folder / f"{stem}.html"
    parameters = {"before": before, "after": after, "margin": margin}
    parameters |= {"ignore": list(ignored), "across": list(levels)}
    executed = folder / f"{stem}.ipynb"
    page = NotebookRun(str(base / "notebooks" / NOTEBOOK), str(executed), parameters=parameters)
    fault = request(page, folder / f"{stem}.log")
    if fault:
        raise ConfigError.at(f"notebooks/{NOTEBOOK}", 0, fault, f"see {os.path.relpath(folder / stem)}.log")
    evidence = ", ".join(dict.fromkeys(side(one).evidence for one in (before, after)))
    title = f"What changed from {before} to {after}?"
    single(PageInput(stem, executed, evidence, f"{before}, {after}", title), out)
    return out


# ---- as text


def _text(found: Differences) -> str:
    lone = [[f"Only in {name}, not compared:", *_lone(cells)] for name, cells in found.lone if cells]
    changes = ["What changed with it (medians, not tested):", *(f"  {one}" for one in found.changes)]
    blocks = [_table(found.rows), changes if found.changes else [], *lone]
    return _blocks((found.before, found.after), found, found.matching.renamed, blocks)


def _blocks(
    called: Sequence[str],
    found: Differences | History,
    renamed: Sequence[Renamed],
    blocks: Sequence[Sequence[str]],
) -> str:
    head = [f"{' → '.join(called)}: {found.summary}", *(f"changed: {one}" for one in renamed)]
    head += [f"every cell, unless it says otherwise: {found.usual}"] if found.usual else []
    notes = [f"note: {one}" for one in found.notes]
    return "\n\n".join("\n".join(block) for block in (head, *blocks, notes) if block)


def _lone(cells: Sequence[LoneCell]) -> Iterator[str]:
    spelt, usual = names(cells)
    if usual:
        yield f"  (unless it says otherwise: {usual})"
    for name, cell in itertools.islice(zip(spelt, cells, strict=True), _LONE):
        yield f"  {name} (n {len(cell.runs)}): {cell.reason}"
    if len(cells) > _LONE:
        yield f"  and {len(cells) - _LONE} more: --json has them all"


def _table(rows: Sequence[Difference]) -> list[str]:
    """Make the table: sizes of one table that have the same word are one row, of the worst of them."""
    printed: list[dict[str, str]] = []
    left: Counter[str] = Counter()
    for group in _grouped(rows, lambda row: (row.word, row.measure, row.cell, row.reason)):
        word = group[0].word
        if word in (WORSE, BETTER) or sum(one[""] == word for one in printed) < _MANY:
            sizes = [row.size for row in group]
            printed.append(group[0].texts | {"measure": group[0].measure_text(sizes)})
        else:
            left[word] += 1
    out = _aligned(printed, untitled="why")
    return [*out, *(f"and {n} more rows: {word}; --json has them all" for word, n in left.items())]


def _grouped(rows: Sequence[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Group rows by a key, in the order of the first of each."""
    groups: dict[Hashable, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _aligned(rows: Sequence[dict[str, str]], untitled: str = "") -> list[str]:
    lines = [dict(zip(row, row, strict=True)) | {untitled: ""} for row in rows[:1]] + list(rows)
    widths = {name: max(len(line[name]) for line in lines) for name in rows[0]} if rows else {}
    return ["  ".join(line[name].ljust(width) for name, width in widths.items()).rstrip() for line in lines]


def _history_text(found: History) -> str:
    steps = [(track, step) for track in found.tracks for step in track.steps]
    groups = _grouped(steps, lambda one: (one[1].word, one[0].measure, one[0].name, one[1].at))
    table = _aligned([_step(found, group) for group in groups])
    lost = [track for track in found.tracks if track.best]
    rows = [_from_best(found, group) for group in _grouped(lost, lambda one: (one.measure, one.name))]
    best = ["Worse than the best so far:", *_aligned(rows)] if rows else []
    called = found.campaigns if len(found.campaigns) <= _CALLED else (found.campaigns[0], found.campaigns[-1])
    return _blocks(called, found, found.renamed, [table, _changes(found), best])


def _changes(found: History) -> list[str]:
    """List what else changed at each step, as the records state it."""
    places = {step.at: step.changed for track in found.tracks for step in track.steps}
    lines = [
        f"  {found.campaigns[at]}: {'; '.join(what) or 'the records state nothing else that changed'}"
        for at, what in sorted(places.items())
    ]
    return ["What else changed at the steps:", *lines] if lines else []


def _from_best(found: History, group: Sequence[CellHistory]) -> dict[str, str]:
    track = group[0]
    best = track.best
    assert best is not None
    return {
        "": best.word,
        "measure": track.measure_text([one.size for one in group]),
        "cell": track.name,
        "best": track.value_text(best.before),
        "when": found.best_date(best),
        "now": track.value_text(best.after),
        "now / best": number(best.ratio, "×"),
    }


def _step(found: History, group: Sequence[tuple[CellHistory, ChangePoint]]) -> dict[str, str]:
    track, step = group[0]
    return {
        "": step.word,
        "measure": track.measure_text([one.size for one, _ in group]),
        "cell": track.name,
        "step at": f"{found.campaigns[step.last]} → {found.campaigns[step.at]}",
        "from": track.value_text(step.before),
        "to": track.value_text(step.after),
        "to / from": number(step.ratio, "×"),
        "q": f"{track.q:.2g}",
        "campaigns": f"{step.campaigns[0]}, {step.campaigns[1]}",
    }


# ---- as data


def _data(found: Differences) -> dict[str, Any]:
    return {
        "before": found.before,
        "after": found.after,
        "summary": found.summary,
        "counts": {word: found.counts[word] for word in WORDS},
        "margin": found.margin,
        "changed": [asdict(one) for one in found.matching.renamed],
        "differences": [_row(found, row) for row in found.rows],
        "moved": [
            _fields(one, "name", "profiled", "totals") | {"calls": [asdict(call) for call in one.calls]}
            for one in found.changes
        ],
        "only_before": [asdict(one) for one in found.matching.only_before],
        "only_after": [asdict(one) for one in found.matching.only_after],
        "notes": found.notes,
    }


def _row(found: Differences, row: Difference) -> dict[str, Any]:
    counts = {"n_before": row.ratio.n_baseline, "n_after": row.ratio.n}
    own = _watched(row, "before", "after", "p", "q", "word", "reason") | _interval(row.ratio) | counts
    return own | {"factors": dict(found.cells[row.cell].factors)}


def _watched(one: Watched, *more: str) -> dict[str, Any]:
    named = _fields(one, "name", "measure", "unit", "less_is_better", *more)
    return named | {"size": one.size if one.size >= 0 else None}


def _fields(one: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _interval(ratio: Estimate) -> dict[str, float | None]:
    ends = {name: finite(getattr(ratio, name)) for name in ("low", "high", "level")}
    return {"ratio": finite(ratio.value), **ends}


def _history_data(found: History) -> dict[str, Any]:
    return {
        "campaigns": found.campaigns,
        "summary": found.summary,
        "margin": found.margin,
        "changed": [asdict(one) for one in found.renamed],
        "tracks": [
            _watched(track, "counts", "p", "q", "word")
            | {"medians": [finite(value) for value in track.medians]}
            | {"ranges": [[finite(end) for end in ends] for ends in track.ranges]}
            | {"steps": [_change_point(found, step) for step in track.steps]}
            | {"best": _change_point(found, track.best) if track.best else None}
            for track in found.tracks
        ],
        "notes": found.notes,
    }


def _change_point(found: History, step: ChangePoint) -> dict[str, Any]:
    own = {"at": found.campaigns[step.at], "before": step.before, "after": step.after}
    return (
        own
        | {"campaigns": step.campaigns, "word": step.word, "changed": step.changed}
        | _interval(step.ratio)
    )
