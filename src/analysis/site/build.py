"""Writes the site: every page from its template, without the clock and without the network."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from analysis.base.errors import ConfigError, Fault
from analysis.base.files import write_text
from analysis.base.words import significant
from analysis.claims.model import Report
from analysis.claims.verdict import Verdict, as_json
from analysis.site import board as scoreboard
from analysis.site import docs as documentation
from analysis.site import forest, front, passport, search
from analysis.site import page as notebooks
from analysis.site.parts import Parts, by_place, registered, sums, topics
from analysis.site.provenance import Provenance
from analysis.site.questions import question_pages
from analysis.site.words import EVIDENCE, VERDICTS

_GENERATOR = '<meta name="generator" content="Benchbook">'
# What the front page asks of reports, and of runs alone.
_OF_CLAIMS, _OF_RUNS = "Which conclusions of HPC benchmark reports hold?", "What do these runs show?"
DATA = "data"  # the folder of everything that pages read or link to


@dataclass(frozen=True, slots=True)
class Front:
    """What the front page asks, and how the menu is ordered.

    `questions` are the entries of ``front`` in the configuration, `prices` what testing a claim would cost,
    by its name, `topics` the topics of each page, by its name.
    """

    questions: Sequence[Mapping[str, Any]] = ()
    prices: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Sequence[str]] = field(default_factory=dict)


def build(
    verdicts: Sequence[Verdict],
    pages: Sequence[notebooks.PageInput],
    provenance: Provenance,
    out: Path,
    *,
    reports: Sequence[Report] = (),
    recovered: Sequence[Verdict] = (),
    selftest: Collection[str] = (),
    title: str = "",
    docs: Path | None = None,
    asked: Front | None = None,
    refuse_figures: bool = False,
) -> list[Path]:
    """Write the site into a folder and return the files written; the same input gives the same bytes.

    The site has `pages` in the order of the navigation, a page for each report with a row for each of its
    claims, one for each question of `asked`, which orders front page and menu, and the documentation in
    Markdown below `docs`.
    If the self-test's verdicts `recovered` are given,
    rows link to its site; if not, rows of the reports in `selftest` say that. Pages of an earlier build that
    are no longer built are removed, other files remain. Raises `ConfigError` if a verdict, page or notebook
    cannot be used, or with `refuse_figures` a figure has faults, one line each, and `BenchbookError` if a
    notebook's output loads something from the network or runs in the reader's browser.
    """
    title = title or (_OF_CLAIMS if verdicts else _OF_RUNS)
    names = [p.name for p in pages]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise ConfigError(*(Fault("pages", 0, f"page {n!r} is listed twice", "rename one") for n in twice))
    scoreboard.check(verdicts, frozenset(names))
    board = scoreboard.board(verdicts, reports, recovered, selftest)
    read = [notebooks.read(p, provenance.citation) for p in pages]
    front.distinguish(read)
    _check_figures(read, refuse=refuse_figures)
    asked = asked or Front()
    sections = [_section(report, board) for report in reports]
    described = documentation.read(docs) if docs is not None and docs.is_dir() else []
    shared: dict[str, Any] = {"pages": read, "board": board, "site_title": title, "reports": sections}
    menu = front.menu(asked.questions, read, asked.topics)
    cards = front.cards(asked.questions, board, asked.prices)
    about = question_pages(asked.questions, board, menu, cards)
    parts = Parts()
    shared |= {
        "parts": parts,
        "documented": bool(described),
        "facts": provenance,
        "menu": menu,
        "asked": {one.name: one for one in about},
        "passport": partial(passport.of_row, axis=board.axis, facts=provenance, marks=_source("marks.svg")),
    }
    told = {"cards": cards, "contradictions": front.contradictions(board)}
    files = {"index.html": _render("index.html.j2", current="index", **told, **shared)}
    files |= {name: _source(name) for name in ("site.js", "board.js")}
    files |= _data(board, shared)
    files |= {f"{DATA}/{name}": text for one in read for name, text in one.files.items()}
    files |= {f"{DATA}/{one.name}.ipynb": one.path.read_text(encoding="utf-8") for one in pages}
    files[f"{DATA}/search.js"] = registered(
        "search", search.index(board, read, menu, sections, described, about, asked.topics)
    )
    for previous, page, following in zip([None, *read][:-1], read, [*read, None][1:], strict=True):
        around = {"previous": previous, "following": following}
        rows = scoreboard.rows(board, page=page.name)
        files[f"{page.name}.html"] = _render(
            "page.html.j2", current=page.name, page=page, rows=rows, **around, **shared
        )
    for told_of in about:
        files[f"{told_of.page}.html"] = _render(
            "question.html.j2", current=told_of.page, question=told_of, **shared
        )
    for one in sections:
        files[f"{one.page}.html"] = _render("report.html.j2", current=one.page, section=one, **shared)
    places = by_place(provenance.inputs)
    files["provenance.html"] = _render("provenance.html.j2", current="provenance", places=places, **shared)
    files[f"{DATA}/sha256sums.txt"] = sums(provenance.inputs)
    files |= {f"{DATA}/{name}.js": registered(name, content) for name, content in parts.found.items()}
    files |= documentation.pages(described, partial(_render, current="docs", **shared))
    files["verdicts.json"] = as_json(verdicts)
    return _write(files, out)


def _check_figures(pages: Sequence[notebooks.PageContent], *, refuse: bool) -> None:
    """Say what is wrong with figures, a line each: as an error, or as a warning on standard error."""
    remedy = "change how it is drawn, or set `figure_faults: warn` in the configuration"
    faults = [Fault(f"page {page.name}", 0, fault, remedy) for page in pages for fault in page.faults]
    if faults and refuse:
        raise ConfigError(*faults)
    for fault in faults:
        print(f"warning: {fault.source}: {fault.found}", file=sys.stderr)


def _data(board: scoreboard.Board, shared: Mapping[str, Any]) -> dict[str, str]:
    """Return the scripts of the topics, by the file of each."""
    macros = _environment().get_template("_row.html.j2").make_module(dict(shared))
    named = [one.report.name for one in shared["reports"]]
    return {f"{DATA}/{name}.js": text for name, text in topics(board, macros, named)}


def single(page: notebooks.PageInput, out: Path) -> Path:
    """Write one page alone, without the rest of the site; errors as `build`."""
    shared = {"pages": (), "reports": (), "rows": (), "previous": None, "following": None, "passport": None}
    shared |= {"parts": None}
    read = notebooks.read(page)
    write_text(out, _render("page.html.j2", current=page.name, page=read, standalone=True, **shared))
    return out


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A report with its claims: rows by topic, counts by their evidence, and these counts in words."""

    report: Report
    groups: tuple[scoreboard.Group, ...]
    tallies: list[scoreboard.Tally]
    sentence: str

    @property
    def page(self) -> str:
        """Name of its page."""
        return f"report-{self.report.name}"


def _section(report: Report, board: scoreboard.Board) -> ReportSection:
    rows = scoreboard.rows(board, report=report.name)
    of_claims = {claim.id for claim in report.claims}
    tallies = scoreboard.tally([row for row in rows if row.claim.claim in of_claims])
    return ReportSection(report, scoreboard.grouped(rows), tallies, scoreboard.sentence(tallies))


def _write(files: Mapping[str, str], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    for stale in sorted(out.glob(f"{DATA}/*")):
        if stale.relative_to(out).as_posix() not in files:
            stale.unlink()
    for stale in sorted([*out.glob("*.html"), *out.glob("docs/**/*.html")]):
        if (
            stale.relative_to(out).as_posix() not in files
            and _GENERATOR in stale.read_text(encoding="utf-8", errors="replace")[:1000]
        ):
            stale.unlink()
    for name, text in files.items():
        write_text(out / name, text)
    return [out / name for name in files]


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
    environment.filters["significant"] = significant
    environment.filters["section"] = scoreboard.section
    environment.filters["grouped"] = scoreboard.grouped
    environment.globals.update(
        VERDICTS=VERDICTS, EVIDENCE=EVIDENCE, scale=forest.scale, generator=Markup(_GENERATOR)
    )
    for name in ("colours.css", "style.css", "marks.svg"):
        environment.globals[name.replace(".", "_")] = Markup(_source(name))
    return environment


@cache
def _source(name: str) -> str:
    """Return a file of the site that is no template."""
    return resources.files("analysis.site").joinpath("templates", name).read_text(encoding="utf-8")


def compile_templates() -> None:
    """Compile all templates: once in a process that others are forked from."""
    for name in _environment().list_templates(extensions=["j2"]):
        _environment().get_template(name)


def _render(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(**context)
