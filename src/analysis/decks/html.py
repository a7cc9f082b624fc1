"""A deck as one self-contained HTML file that loads nothing, and printed as PDF, a slide a page."""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from analysis.base.files import write_text
from analysis.decks import figure
from analysis.decks.slide import Deck, Slide, cut, shares
from analysis.estimates.numerals import spell
from analysis.estimates.stats import Estimate
from analysis.findings.conclusion import POINTS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LONGEST = 120  # s, of a print
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-extensions",
    "--no-first-run", "--no-pdf-header-footer",
)  # fmt: skip

_BESIDE = 7  # values next to a figure
# Letters of a headline from which on it is set smaller.
_SIZES = ((215, "longest"), (130, "long"), (70, "middle"))


def write(deck: Deck, path: Path) -> None:
    """Write a deck as HTML; the same deck gives the same bytes."""
    styles = figure.styles(deck)
    slides = []
    for slide in deck.slides:
        drawn = ""
        if slide.points is not None:
            drawn = figure.drawn(
                slide.points, slide.label, styles, wide=not (slide.bullets or _values(slide)),
                description=figure.described(slide.points, slide.headline),
            )  # fmt: skip
        slides.append((slide, Markup(drawn), _values(slide)))
    template = _environment().get_template("deck.html.j2")
    write_text(path, template.render(deck=deck, slides=slides))


def _values(slide: Slide) -> list[tuple[str, str, str, str]]:
    """Return what is next to a figure without other text: name, median, interval and n."""
    if slide.points is None or slide.bullets or len(slide.points) > _BESIDE:
        return []
    unit = str(slide.points.attrs.get("unit", ""))
    rows = [(str(slide.points.attrs.get("xlabel", "")), unit or "median", "interval", "n")]
    for series, x, median, low, high, n, level in slide.points[list(POINTS)].itertuples(index=False):
        name = ", ".join(filter(None, (series, x if isinstance(x, str) else f"{x:g}")))
        value, ends = spell(Estimate(median, low, high, n, level=level))
        ends = "none" if ends == "no interval" else ends.removesuffix(" interval")
        rows.append((cut(name, 60), value, ends, f"{n:,}"))
    return rows


@cache
def _environment() -> jinja2.Environment:
    own = jinja2.PackageLoader("analysis.decks", "templates")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([own, jinja2.PackageLoader("analysis.site", "templates")]),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    names = ("colours.css", "deck.css")
    texts = [environment.loader.get_source(environment, name)[0] for name in names]  # type: ignore[union-attr]
    environment.globals.update(style=Markup("".join(texts)), parted=_parted, length=_length, shares=shares)
    return environment


def _parted(sentence: str) -> tuple[str, str]:
    """Part a sentence from the interval in brackets at its end."""
    main, mark, rest = sentence.rpartition(" (")
    return (main, f"({rest}") if mark and rest.endswith(")") and "(" not in rest else (sentence, "")


def _length(headline: str) -> str:
    return next((name for letters, name in _SIZES if len(headline) > letters), "short")


def browser() -> str:
    """Return the path of the first of `BROWSERS` that is there, empty if none is."""
    return next(filter(None, map(shutil.which, BROWSERS)), "")


def print_pdf(html: Path, path: Path) -> str:
    """Print an HTML file with Chromium; return why there is no PDF, empty if there is one."""
    program = browser()
    if not program:
        return f"none of {', '.join(BROWSERS)} is installed; open the HTML file and print it"
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        where = [f"--user-data-dir={profile}", f"--print-to-pdf={path}", html.resolve().as_uri()]
        try:
            done = subprocess.run(
                [program, *OPTIONS, *where], capture_output=True, text=True, check=False, timeout=_LONGEST
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{program}: {error}"
    if done.returncode or not path.is_file():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return f"{program} ended with {done.returncode}: {lines[-1] if lines else 'no word'}"
    return ""
