"""The explorer of JupyterLab: choose a campaign, a factor and a measure; see figure, table and claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ipywidgets as widgets
import pandas as pd
from IPython.display import SVG, Markdown, display

from analysis.base import project
from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.models import known
from analysis.base.words import capitalised, displayed
from analysis.claims.verdict import read_verdicts
from analysis.estimates import selection
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.contents import load_config
from analysis.estimates.measures import MEASURES
from analysis.estimates.spelling import measure_name
from analysis.pages import figures
from analysis.pages.choices import FactorAnswers, comparisons
from analysis.pages.drawing import draw
from analysis.pages.notebook import shown
from analysis.schema.factors import BY_NAME, FACTORS, label

ALL = "all"
OWN = "its own figure, or time"
_DRAWN = 2
_COMPARES = "21-compare.ipynb"
_VERDICTS = "results/verdicts.json"


def built() -> list[str]:
    """Names of the campaigns whose datasets are built, those that are evidence first."""
    paths = project.root().glob("data/processed/*/campaign.nc")
    return sorted((path.parent.name for path in paths), key=lambda name: (name.startswith("syn-"), name))


def comparing(names: Sequence[str]) -> list[str]:
    """Return those campaigns of which the build has a page that compares levels; all if it has none."""
    pages = [page for page in load_config()["pages"] if page["notebook"] == _COMPARES]
    able = {name for page in pages for name in project.as_list(page, "campaign")}
    return [name for name in names if name in able] or list(names)


def factors_of(campaign: Campaign, application: str = ALL) -> list[str]:
    """Factors with at least two known levels among the runs that count."""
    parts = list(_parts(campaign, application))
    found = []
    for factor in FACTORS:
        for part in parts:
            levels = set(part.runs[factor].dropna()) - {"", -1} if factor in part.runs else set()
            if len(levels) > 1:
                found.append(factor)
                break
    return [name for name in found if name not in ("application", "case")]


def _parts(campaign: Campaign, application: str) -> list[Campaign]:
    select = None if application == ALL else {"application": application}
    try:
        return list(selection.applications(campaign, select, ""))
    except NotCoveredError:  # no run has times that may be used
        return []


def applications_of(campaign: Campaign) -> list[str]:
    """Applications whose times count; micro-benchmarks have pages of their own."""
    return sorted({str(part.runs["application"].iloc[0]) for part in _parts(campaign, ALL)})


def measures_of(campaign: Campaign) -> list[str]:
    """Measures of a whole run that have a value for some run that counts."""
    found = []
    for name, spec in MEASURES.items():
        if spec.profile or name not in campaign.runs:
            continue
        if campaign.runs[name].notna().any():
            found.append(name)
    return found


@dataclass(frozen=True)
class Answer:
    """What the explorer shows of one choice; `refusal` is the reason if there is nothing to compare."""

    sentences: tuple[str, ...] = ()
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)
    found: FactorAnswers | None = None
    refusal: str = ""


def answer(campaign: Campaign, factor: str, application: str = ALL, measure: str = OWN) -> Answer:
    """Compare the levels of a factor, as the site's pages do.

    Parameters
    ----------
    campaign : Campaign
        An open campaign.
    factor : str
        A factor that varies.
    application : str
        One application of the campaign, or ``"all"``.
    measure : str
        A measure of a run, such as ``elapsed``; by default the application's own figure, or else its time.

    Returns
    -------
    Answer
        Sentences, a row for each ratio, the claims of the factor's topics that this campaign tests.
    """
    claims = claims_of(campaign, factor)
    select = None if application == ALL else {"application": application}
    try:
        found = comparisons(campaign, factor, select=select, variable="" if measure == OWN else measure)
        return Answer(tuple(found.sentences), found.table, claims, found)
    except (NotCoveredError, BenchbookError) as error:
        return Answer(claims=claims, refusal=f"{error}.")


def claims_of(campaign: Campaign, factor: str) -> pd.DataFrame:
    """Verdicts of the last build on this campaign, of the factor's topics; empty before `make report`."""
    path = project.root() / _VERDICTS
    columns = ["report", "statement", "verdict", "estimate"]
    if not path.is_file():
        return pd.DataFrame(columns=columns)
    topics = BY_NAME[factor].topics
    rows = [
        (one.report, one.statement, displayed(one.verdict), one.estimate_text)
        for one in read_verdicts(path)
        if one.campaign == campaign.name and one.topic in topics and one.tested
    ]
    return pd.DataFrame(rows, columns=columns)


class Explorer(widgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """Four choices and what they show; each choice offers only what the campaign has."""

    def __init__(
        self, campaign: str = "", factor: str = "", application: str = ALL, measure: str = OWN
    ) -> None:
        names = built()
        if not names:
            raise ConfigError.at("data/processed", 0, "no campaign is built", "run `make datasets`")
        if campaign and campaign not in names:
            raise ConfigError.at(campaign, 0, "there is no such built campaign", known(campaign, names))
        style = {"description_width": "6em"}
        self.campaign = widgets.Dropdown(
            options=names, value=campaign or names[0], description="Campaign", style=style
        )
        self.application = widgets.Dropdown(description="Application", style=style)
        self.factor = widgets.Dropdown(description="Factor", style=style)
        self.measure = widgets.Dropdown(description="Measure", style=style)
        self.shown = widgets.Output()
        self.last = Answer()
        self._opened: dict[str, Campaign] = {}
        self._quiet = False
        self._choices(application, factor, measure)
        self.campaign.observe(self._on(lambda: self._choices()), names="value")
        self.application.observe(self._on(lambda: self._factors(self.factor.value)), names="value")
        for one in (self.factor, self.measure):
            one.observe(self._on(lambda: None), names="value")
        row = widgets.Layout(flex_flow="row wrap")
        super().__init__(
            [
                widgets.Box([self.campaign, self.application, self.factor, self.measure], layout=row),
                self.shown,
            ]
        )
        self._show()

    def _on(self, change: Callable[[], None]) -> Callable[[Any], None]:
        """Return what a choice does: the other choices follow in silence, then all is shown once."""

        def changed(_: object) -> None:
            if not self._quiet:
                change()
                self._show()

        return changed

    @property
    def opened(self) -> Campaign:
        """The campaign that is chosen; each is read once."""
        name = str(self.campaign.value)
        if name not in self._opened:
            self._opened[name] = load_campaign(name)
        return self._opened[name]

    def _choices(self, application: str = ALL, factor: str = "", measure: str = OWN) -> None:
        self._quiet = True
        names = [ALL, *applications_of(self.opened)]
        self.application.options = names
        self.application.value = application if application in names else ALL
        found = measures_of(self.opened)
        self.measure.options = [(OWN, OWN), *((measure_name(name), name) for name in found)]
        self.measure.value = measure if measure in found else OWN
        self._factors(factor)
        self._quiet = False

    def _factors(self, wanted: str | None) -> None:
        quiet, self._quiet = self._quiet, True
        found = factors_of(self.opened, str(self.application.value))
        self.factor.options = [(label(name), name) for name in found]
        # After a campaign without factors the widget itself chooses none.
        self.factor.value = wanted if wanted in found else next(iter(found), None)
        self._quiet = quiet

    def _show(self) -> None:
        with self.shown:
            self.shown.clear_output(wait=True)
            display(*self.contents())

    def contents(self) -> list[Any]:
        """Return what is shown: sentences, figures, the table, the claims."""
        if not self.factor.value:
            others = ", ".join(f"`{name}`" for name in comparing(self.campaign.options))
            what = (
                f"No factor of {self.campaign.value} has two levels among runs with times that may be used."
            )
            return [Markdown(f"{what} Choose another campaign: {others}.")]
        name = str(self.factor.value)
        one = answer(self.opened, name, str(self.application.value), str(self.measure.value))
        self.last = one
        refused = f"{capitalised(one.refusal)} Choose another factor or measure."
        out: list[Any] = [
            Markdown(refused if one.refusal else "\n".join(f"- {text}" for text in one.sentences))
        ]
        if one.found is not None:
            out += [_figure(part, stratum) for part, stratum in one.found.drawn[:_DRAWN]]
            out.append(shown(one.table))
        if not one.claims.empty:
            out += [Markdown(f"**Claims of {label(name)} that this campaign tests**"), shown(one.claims)]
        return out


def _figure(compared: Any, part: Any) -> Any:
    return SVG(figures.svg(draw(compared, part), description=compared.description(part)))
