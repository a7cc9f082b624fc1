"""What every notebook begins and ends with: a book of campaign and claims, its answer, its verdicts."""

import html
import itertools
import math
import operator
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat
from typing import Any

import pandas as pd
from IPython import get_ipython
from IPython.display import Markdown

from analysis.base import models, project
from analysis.base.errors import BenchbookError, ReadError
from analysis.base.words import FIGURES, capitalised, counted, displayed, in_order
from analysis.claims import Verdict, evaluate, verdict_table
from analysis.claims.model import Report, load_report
from analysis.claims.verdicts import NOT_TESTED
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.contents import load_config
from analysis.estimates.selection import Select
from analysis.schema.campaigns import CampaignFile
from analysis.schema.factors import level_name


@dataclass(frozen=True)
class Book:
    """A campaign compared with reports, for the claims of the page's topics; without topics for all."""

    campaign: Campaign
    reports: tuple[Report, ...]
    topics: tuple[str, ...] = ()

    def verdicts(self) -> list[Verdict]:
        """Evaluate the claims of the page's topics."""
        topics = self.topics or None
        return [one for report in self.reports for one in evaluate(report, self.campaign, topics=topics)]

    def verdict(self, claim: str) -> Verdict:
        """Return the verdict on one claim, whatever its topic; `KeyError` if none of the reports has it."""
        for report in self.reports:
            for one in report.claims:
                if one.id == claim:
                    narrowed = Report(report.name, report.title, report.publisher, report.date, (one,))
                    return evaluate(narrowed, self.campaign)[0]
        raise KeyError(claim)

    def left_out(self, *selections: Select | None, along: str = "") -> str:
        """Say which of the selected runs are in doubt: no time on the page rests on them; empty if none is.

        `along` is the axis on which they are missing.
        """
        chosen = [self.campaign.select(one, timing=False)["run"] for one in selections]
        asked = {run for runs in chosen for run in runs}
        cells = [one for one in self.campaign.doubts if asked & set(one.runs)]
        if not cells:
            return ""
        levels = in_order({one.cell[along] for one in cells if along in one.cell})
        where = f" ({', '.join(level_name(along, one) for one in levels)})" if levels else ""
        runs = counted(sum(len(one.runs) for one in cells), "run")
        why = f"benchbook findings {self.campaign.name} says why"
        settings = counted(len(cells), "setting")
        return Caveat(f"{runs} of {settings}{where} may be no repeats and are left out; {why}.")


class Caveat(str):
    """A sentence that an answer never folds away."""


# A number with its sign, unit and interval, or nothing.
_NUMBER = re.compile(r"(|–|[-+−<>]?\d[\d.,]*×?%?( [^\s(]{1,12}){0,2}( \(.*\))?( to [\d.,]+)?)")
_SELFTEST = Path("config/selftest.yaml")  # the synthetic campaigns
_LEFT = ' style="text-align: left"'


@dataclass(frozen=True)
class TextTable:
    """A table of text that looks alike in JupyterLab, on a page and in a test."""

    frame: pd.DataFrame

    def __repr__(self) -> str:
        rows = [" | ".join(map(str, row)) for row in self.frame.itertuples(index=False)]
        return "\n".join([" | ".join(self.frame.columns), *rows])

    def _repr_html_(self) -> str:
        if self.frame.empty:
            return "<p>None.</p>"
        sides = [_LEFT if _of_words(self.frame[name]) else "" for name in self.frame]
        head = "".join(
            f"<th{side}>{html.escape(str(name))}</th>" for name, side in zip(self.frame, sides, strict=True)
        )
        body = "\n".join(
            "<tr>"
            + "".join(
                f"<td{side}>{html.escape(str(cell))}</td>" for cell, side in zip(row, sides, strict=True)
            )
            + "</tr>"
            for row in self.frame.itertuples(index=False)
        )
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _of_words(column: pd.Series) -> bool:
    """Whether a column is to be read and not to be compared digit by digit."""
    cells = column.astype(str)
    return not cells.str.fullmatch(_NUMBER).all()


def shown(frame: pd.DataFrame, digits: int = 3) -> TextTable:
    """Show a frame as a table without its index; `digits` are decimals of numbers that are not whole.

    A number has at most four significant figures, or its whole part. Missing values are dashes;
    underscores in the names of columns are spaces.
    """

    def spell(value: object, digits: int) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        if isinstance(value, float):
            size = math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
            places = min(digits, max(FIGURES - 1 - size, 0))
            return f"{value:,.{places}f}".rstrip("0").rstrip(".") if places else f"{value:,.0f}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    # A level of 0.95 is not 0.9, whatever the numbers beside it can do without.
    decimals = {name: max(digits, 2) if name == "confidence" else digits for name in frame}
    texts = {
        str(name).replace("_", " "): [spell(value, decimals[name]) for value in frame[name].tolist()]
        for name in frame
    }
    return TextTable(pd.DataFrame(texts))


def open_book(campaign: str, reports: Sequence[str], topics: Sequence[str] = ()) -> Book:
    """Open a campaign's datasets with the claims to test; `ReadError` if they are not built."""
    explain_refusals()
    loaded = tuple(load_report(project.claims(name)) for name in reports)
    return Book(load_campaign(campaign), loaded, tuple(topics))


def explain_refusals() -> None:
    """In JupyterLab, let a campaign that a cell cannot use be one line, and one that names those it can.

    Of a campaign that is not built it names those that are. Parameters to set follow, a line each.
    """
    shell = get_ipython()
    notebook = Path(os.environ.get("JPY_SESSION_NAME", "")).name
    if shell is None or not notebook:
        return  # a build wants the error itself

    def explain(
        _: object, _kind: object, error: Exception, _tb: object, tb_offset: int | None = None
    ) -> None:
        lines = (f"{error}.", _remedy(error, notebook, shell.user_ns))
        print(*filter(None, lines), file=sys.stderr, sep="\n")

    shell.set_custom_exc((BenchbookError, NotCoveredError), explain)


_TEXTS = ("question", "about", "method", "unanswered")  # parameters that change no result


def _remedy(error: Exception, notebook: str, cell: Mapping[str, Any]) -> str:
    """Say what to change in the first cell of a notebook: its parameters, or the campaign."""
    campaign = cell.get("campaign")
    pages = [
        page
        for config in (project.CONFIG, _SELFTEST)
        if (project.root() / config).is_file()
        for page in load_config(path=config)["pages"]
        if page["notebook"] == notebook
    ]
    able = [name for page in pages for name in project.as_list(page, "campaign")]
    if not able and "campaign" not in cell:
        return ""  # of two campaigns, or of reports
    unbuilt = isinstance(error, ReadError)
    if campaign in able and not unbuilt:
        page = next(page for page in pages if campaign in project.as_list(page, "campaign"))
        wanted = {
            **{name: page[name] for name in ("reports", "topics") if name in page},
            **page["parameters"],
        }
        other = {
            name: value for name, value in wanted.items() if name not in _TEXTS and cell.get(name) != value
        }
        if other:
            lines = [
                f"{name} = {pformat(value, width=100, sort_dicts=False)}" for name, value in other.items()
            ]
            return "\n".join([f"For {campaign}, set these in the first cell, too:", *lines])
    if unbuilt:
        every = able or sorted(path.stem for path in project.declaration("any").parent.glob("*.yaml"))
        able = [name for name in every if (project.processed(name) / "campaign.nc").is_file()]
    names = ", ".join(name for name in dict.fromkeys(able) if name != campaign)
    which = "is built" if unbuilt else "has them" if isinstance(error, NotCoveredError) else "can be used"
    if names:
        return f"Set `campaign` in the first cell to one that {which}: {names}."
    return "No other campaign here has a page of this notebook." if pages else ""


def notes(campaign: Campaign) -> Markdown:
    """List the facts in a campaign's declaration."""
    declared = models.load(CampaignFile, project.declaration(campaign.name))
    return Markdown("\n".join(f"- {' '.join(one.split())}" for one in declared.notes))


def closing(verdicts: Iterable[Verdict]) -> TextTable | Markdown:
    """Make the table that closes a notebook; claims that were not tested are left to the scoreboard."""
    tested = [one for one in verdicts if one.verdict != "not tested"]
    if not tested:
        return Markdown("None of these runs is evidence for a claim.")
    return TextTable(verdict_table(tested))


def sentence(verdict: Verdict) -> str:
    """Say what became of a claim: the verdict, what was found and what the report expects."""
    claim = f"“{verdict.statement}”: {displayed(verdict.verdict)}"
    if verdict.verdict == NOT_TESTED:
        claim = f"“{verdict.statement}” is not tested"
    if verdict.verdict == "cannot tell":
        claim = f"It is not clear whether “{verdict.statement}”"
    if not verdict.estimate_text:
        why, *_, left_out = verdict.reason.partition("; left out:")
        said = "; " if "”: " in claim else ": "
        return f"{claim}{said}{why}{'; runs that may be no repeats are left out' if left_out else ''}."
    n = f"n = {verdict.n}" + (f" and {verdict.n_baseline}" if verdict.n_baseline is not None else "")
    found = verdict.sentence or verdict.estimate_text
    return f"{claim}. {found}, {n}; the report expects {verdict.expected_text}."


def opening(question: str, about: str) -> Markdown:
    """Show the question of a notebook that answers several, with what to know before the answer."""
    return Markdown(f"# {question}\n\n{about}")


def more(text: str) -> Markdown | None:
    """Show a paragraph that a notebook is given; nothing if it is given none."""
    return Markdown(text) if text else None


_LONG, _SHOWN = 800, 600  # characters of a long answer, and of what comes before its list


def answer(*sentences: str) -> Markdown:
    """Show the answer of a notebook; what a level is called is text, whatever Markdown would make of it.

    A long answer of many sentences begins with the first two of them or more, and each `Caveat`; the others
    follow as a list, which a page folds.
    """
    said = [one for one in sentences if one]
    told = [capitalised(re.sub(r"([*`<\[])", r"\\\1", one)) for one in said]
    lengths = list(itertools.accumulate(map(len, told)))
    if len(told) <= 3 or lengths[-1] <= _LONG:
        return Markdown(" ".join(told))
    first = max(sum(length <= _SHOWN for length in lengths), 2)  # the first one may be a count alone
    seen = [i < first or isinstance(one, Caveat) for i, one in enumerate(said)]
    rest = [f"- {one}" for one in itertools.compress(told, map(operator.not_, seen))]
    more = f"\n\n{len(rest)} more:\n\n" + "\n".join(rest) if rest else ""
    return Markdown(" ".join(itertools.compress(told, seen)) + more)
