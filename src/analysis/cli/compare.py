"""``benchbook compare``: a campaign after an upgrade against the one before, or a history of several."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.words import number, significant
from analysis.cli import FINE
from analysis.cli.built import built
from analysis.findings import compare as before_after
from analysis.findings import history as changes
from analysis.findings.compare import Difference, Differences
from analysis.findings.history import History, Step, Track
from analysis.findings.matching import LoneCell, names, side
from analysis.findings.moved import Moved
from analysis.findings.upgrade import upgrade

# The exit status of a comparison that found something worse.
IS_WORSE = 3
# A side of more cells that are not compared shows the first of them.
_LONE = 12
# Of what neither became better nor worse so many rows are shown.
_MANY = 15
NOTEBOOK = "13-compare.ipynb"
T = TypeVar("T")
STEP_COLUMNS = ("", "measure", "cell", "step at", "from", "to", "to / from", "q", "campaigns")
COLUMNS = ("", "measure", "cell", "before", "after", "after / before", "q", "n", "")


def compare(
    before: str,
    after: str,
    later: Sequence[str],
    *,
    margin: float,
    ignored: Sequence[str] | None,
    levels: Sequence[str] | None,
    as_json: bool,
    html: str | None,
) -> int:
    """Print what became better or worse; return `IS_WORSE` if anything became worse."""
    called = (before, after, *later)
    built(list(dict.fromkeys(text.partition(":")[0] for text in called)))
    ignored, levels = ignored or (), levels or ()
    if sys.stderr.isatty():
        print(f"comparing {' and '.join(called)}", file=sys.stderr)
    if later:
        if levels or html is not None:
            what = "--across and --html go with two campaigns"
            raise ConfigError.at(" ".join(called), 0, what, "leave them out, or compare two")
        return _over_time(called, margin, ignored, as_json=as_json)
    compared = upgrade(before, after, margin=margin, ignore=ignored, across=levels)
    found, beside = compared.found, compared.moved
    if html is not None:
        page = _page(before, after, margin, ignored, levels, html)
        print(f"{page} has it as a page", file=sys.stderr)
    print(json.dumps(_told(found, beside), indent=1, ensure_ascii=False) if as_json else _text(found, beside))
    return IS_WORSE if found.worse else FINE


def _page(
    before: str, after: str, margin: float, ignored: Sequence[str], levels: Sequence[str], html: str
) -> Path:
    """Execute the notebook on two campaigns and write its page, by itself."""
    from analysis.site.build import single
    from analysis.site.kernels import NotebookRun
    from analysis.site.kernels.client import request
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


def _text(found: Differences, beside: Sequence[Moved]) -> str:
    lines = [f"{found.before} → {found.after}: {found.summary}"]
    lines += [f"changed: {one}" for one in found.matching.renamed]
    lines += [f"every cell, unless it says otherwise: {found.usual}"] if found.usual else []
    lines += ["", *_table(found.rows)]
    if beside:
        lines += ["", "What moved with it (medians, not tested):", *(f"  {one}" for one in beside)]
    for name, cells in found.lone:
        lines += ["", f"Only in {name}, not compared:", *_lone(cells)] if cells else []
    lines += ["", *(f"note: {one}" for one in found.notes)] if found.notes else []
    return "\n".join(lines)


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
    groups = _grouped(rows, lambda row: (row.word, row.measure, row.cell, row.reason))
    left = Counter(group[0].word for group in groups)
    shown: list[list[Difference]] = []
    for group in groups:
        word = group[0].word
        if (
            word in (before_after.WORSE, before_after.BETTER)
            or sum(one[0].word == word for one in shown) < _MANY
        ):
            shown.append(group)
    out = _aligned([COLUMNS, *((*_cells(group), group[0].reason) for group in shown)])
    left.subtract(group[0].word for group in shown)
    return [*out, *(f"and {n} more rows: {word}; --json has them all" for word, n in left.items() if n)]


def _grouped(rows: Sequence[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Put rows of one key together, in the order of the first of each."""
    groups: dict[Hashable, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _cells(group: Sequence[Difference]) -> tuple[str, ...]:
    row = group[0]  # the one that moved most
    measure = _measure(row.measure, [one.size for one in group])
    values = [f"{significant(value)} {row.unit}".strip() for value in (row.before, row.after)]
    n = f"{row.ratio.n_baseline}, {row.ratio.n}"
    q = "" if row.q is None else f"{row.q:.2g}"
    return row.word, measure, row.name, *values, number(row.ratio, "×"), q, n


def _measure(name: str, sizes: Sequence[int]) -> str:
    """Name a measure with the size of its first row, and the range of all."""
    word = name.replace("_", " ")
    if sizes[0] < 0:
        return word
    among = f" (of {len(sizes)}: {_bytes(min(sizes))} to {_bytes(max(sizes))})" if len(sizes) > 1 else ""
    return f"{word} {_bytes(sizes[0])}{among}"


def _bytes(size: int) -> str:
    for step, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= step and size % step == 0:
            return f"{size // step} {unit}"
    return f"{size} B"


def _told(found: Differences, beside: Sequence[Moved]) -> dict[str, Any]:
    return {
        "before": found.before,
        "after": found.after,
        "summary": found.summary,
        "counts": {word: found.counts[word] for word in before_after.WORDS},
        "margin": found.margin,
        "changed": [_plain(one, "factor", "before", "after") for one in found.matching.renamed],
        "differences": [_row(found, row) for row in found.rows],
        "moved": [_moved(one) for one in beside],
        **{
            key: [{"factors": dict(one.factors), "runs": one.runs, "reason": one.reason} for one in cells]
            for key, (_, cells) in zip(("only_before", "only_after"), found.lone, strict=True)
        },
        "notes": found.notes,
    }


def _plain(one: Any, *fields: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in fields}


def _row(found: Differences, row: Difference) -> dict[str, Any]:
    said = ("name", "measure", "unit", "less_is_better", "before", "after", "p", "q", "word", "reason")
    ratio = {name: _finite(getattr(row.ratio, name)) for name in ("value", "low", "high", "level")}
    counts = {"n_before": row.ratio.n_baseline, "n_after": row.ratio.n}
    size = {"size": row.size if row.size >= 0 else None}
    factors = {"factors": dict(found.cells[row.cell].factors)}
    return _plain(row, *said) | size | {"ratio": ratio.pop("value")} | ratio | counts | factors


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _moved(one: Moved) -> dict[str, Any]:
    calls = [_plain(call, "call", "time", "share", "count") for call in one.calls]
    return {"name": one.name, "profiled": one.profiled, "totals": dict(one.totals), "calls": calls}


def _over_time(called: Sequence[str], margin: float, ignored: Sequence[str], *, as_json: bool) -> int:
    sides = [side(text) for text in called]
    found = changes.history(sides, called=called, margin=margin, ignore=ignored)
    if not found.tracks:
        what = f"no cell of it is in two others of {', '.join(called[1:])}"
        raise ConfigError.at(called[0], 0, what, "name campaigns with runs alike in all factors")
    print(json.dumps(_history(found), indent=1, ensure_ascii=False) if as_json else _history_text(found))
    return IS_WORSE if found.worse else FINE


def _history_text(found: History) -> str:
    lines = [f"{' → '.join(found.campaigns)}: {found.summary}"]
    lines += [f"changed: {one}" for one in found.renamed]
    lines += [f"every cell, unless it says otherwise: {found.usual}"] if found.usual else []
    steps = [(track, step) for track in found.tracks for step in track.steps]
    groups = _grouped(steps, lambda one: (one[1].word, one[0].measure, one[0].name, one[1].at))
    rows = [STEP_COLUMNS, *(_step(found, group) for group in groups)]
    lines += ["", *_aligned(rows)] if groups else []
    return "\n".join([*lines, "", *(f"note: {one}" for one in found.notes)])


def _step(found: History, group: Sequence[tuple[Track, Step]]) -> tuple[str, ...]:
    track, step = group[0]
    where = f"{found.campaigns[step.at - 1]} → {found.campaigns[step.at]}"
    values = [f"{significant(value)} {track.unit}".strip() for value in (step.before, step.after)]
    measure = _measure(track.measure, [one.size for one, _ in group])
    ratio, sides = number(step.ratio, "×"), f"{step.campaigns[0]}, {step.campaigns[1]}"
    return step.word, measure, track.name, where, *values, ratio, f"{track.q:.2g}", sides


def _history(found: History) -> dict[str, Any]:
    def told(track: Track) -> dict[str, Any]:
        said = ("name", "measure", "unit", "less_is_better", "counts", "p", "q", "word")
        medians = [_finite(value) for value in track.medians]
        size = track.size if track.size >= 0 else None
        steps = [
            _plain(step, "before", "after", "campaigns", "word")
            | {"at": found.campaigns[step.at], "ratio": step.ratio.value}
            | {end: _finite(getattr(step.ratio, end)) for end in ("low", "high", "level")}
            for step in track.steps
        ]
        return _plain(track, *said) | {"size": size, "medians": medians, "steps": steps}

    changed = [_plain(one, "factor", "before", "after") for one in found.renamed]
    out = {"campaigns": found.campaigns, "summary": found.summary, "margin": found.margin}
    return out | {"changed": changed, "tracks": [told(one) for one in found.tracks], "notes": found.notes}
