"""Writes the site: every page from its template, nothing from the clock, nothing from the network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from analysis.base.errors import ConfigError, Fault
from analysis.site import board as scoreboard
from analysis.site import docs as documentation
from analysis.site import forest, records
from analysis.site import page as notebooks
from analysis.site import provenance as origins
from analysis.site.words import EVIDENCE, VERDICTS, digits

_GENERATOR = '<meta name="generator" content="Benchbook">'


def build(
    verdicts: list[dict[str, Any]],
    pages: list[notebooks.PageInput],
    provenance: dict[str, Any],
    out: Path,
    *,
    title: str = "Which conclusions hold",
    docs: Path | None = None,
) -> list[Path]:
    """Write the site into a folder.

    Parameters
    ----------
    verdicts : list of dict
        Records of the claims engine, see `analysis.site.records.Record`.
    pages : list of PageInput
        Executed notebooks, in the order of the navigation.
    provenance : dict
        ``versions``, ``commit``, ``campaigns``, ``inputs``: see `analysis.site.provenance.read`.
    out : Path
        Created if missing. Pages of an earlier build that are no longer built are removed; other
        files in it are left alone.
    title : str
        Heading of the index.
    docs : Path, optional
        Folder of the documentation, in Markdown; without it there are no such pages.

    Returns
    -------
    list of Path
        The files written: ``index.html``, a page for each notebook, ``provenance.html``,
        ``verdicts.json``. The same input gives the same bytes.

    Raises
    ------
    ConfigError
        If a record, page or notebook cannot be used: one fault each.
    BenchbookError
        If a notebook's output loads something from the network or runs in the reader's browser.
    """
    names = [p.name for p in pages]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise ConfigError(*(Fault("pages", 0, f"page {n!r} is there twice", "rename one") for n in twice))
    board = scoreboard.board(records.read(verdicts, frozenset(names)))
    read = [notebooks.read(p) for p in pages]
    shared: dict[str, Any] = {"pages": read, "board": board, "site_title": title}
    shared["documented"] = docs is not None and docs.is_dir()
    files = {"index.html": _render("index.html.j2", current="index", **shared)}
    for i, page in enumerate(read):
        around = {
            "previous": read[i - 1] if i else None,
            "following": read[i + 1] if i + 1 < len(read) else None,
        }
        rows = scoreboard.rows_of(board, page.name)
        files[f"{page.name}.html"] = _render(
            "page.html.j2", current=page.name, page=page, rows=rows, **around, **shared
        )
    facts = origins.read(provenance, verdicts)
    files["provenance.html"] = _render("provenance.html.j2", current="provenance", facts=facts, **shared)
    if docs is not None and docs.is_dir():
        files |= documentation.pages(docs, partial(_render, current="docs", **shared))
    files["verdicts.json"] = _json(verdicts)
    return _write(files, out)


def _write(files: Mapping[str, str], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    for stale in sorted([*out.glob("*.html"), *out.glob("docs/**/*.html")]):
        if (
            stale.relative_to(out).as_posix() not in files
            and _GENERATOR in stale.read_text(encoding="utf-8", errors="replace")[:1000]
        ):
            stale.unlink()
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.part")
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    return [out / name for name in files]


def _json(value: object) -> str:
    return json.dumps(_finite(value), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: object) -> object:
    # JSON has no NaN and no infinity; a missing number is null there.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(v) for v in value]
    return value


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.site", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["digits"] = digits
    environment.filters["number_text"] = scoreboard.number_text
    environment.globals.update(
        VERDICTS=VERDICTS, EVIDENCE=EVIDENCE, scale=forest.scale, generator=Markup(_GENERATOR)
    )
    for name in ("style.css", "board.js", "marks.svg"):
        text, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
        environment.globals[name.replace(".", "_")] = Markup(text)
    return environment


def _render(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(**context)
