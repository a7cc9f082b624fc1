"""What one build contains: campaigns, the reports that they test, and the pages that they can fill.

A campaign takes part once it is declared and has runs. Its pages follow from its records
(`analysis.estimates.asking`) and from the table of questions, ``config/questions.yaml``; the configuration
lists the exceptions. Snakemake imports this module at every start, so it imports nothing slow.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, JsonValue, StringConstraints

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.models import Evidence, Maybe, Model, Name, Unique, check, known, load
from analysis.base.project import CONFIG, as_list, claims, declaration, load_yaml, raw, root, truth
from analysis.base.yaml import Where, line_at, read
from analysis.estimates.asking import PageQuestion, QuestionsFile, answerable, kept_answers

QUESTIONS = Path("config/questions.yaml")
NameList = Annotated[Unique[Name], Field(min_length=1, description="a list of names")]
# A page of the build has these, one that overrides another takes them from it.
_NEEDED = {
    "notebook": "the name of a notebook in notebooks/",
    "campaign": "the campaign or campaigns that it is about, or the evidence class of a page without any",
}


class SpecialPage(Model):
    """A page that is special: its name, and what it has instead of what would be made by itself.

    One of a name that no campaign has needs notebook or kind, and campaign, campaigns or evidence.
    """

    TOGETHER: ClassVar = (
        ("at most", "notebook", "kind"),
        ("at most", "campaign", "campaigns", "evidence"),
        ("at most", "report", "reports"),
    )

    name: Name
    notebook: Maybe[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*\.ipynb$")]] = (
        Field(None, description="the name of a notebook in notebooks/")
    )
    kind: Maybe[Name] = Field(
        None, description="kind of a question in config/questions.yaml whose notebook and parameters it has"
    )
    title: Maybe[str] = None
    campaign: Maybe[Name] = None
    campaigns: Maybe[NameList] = None
    evidence: Maybe[Evidence] = Field(
        None, description="the evidence class of a page that rests on no campaign"
    )
    report: Maybe[Name] = None
    reports: Maybe[NameList] = None
    topics: Maybe[Unique[str]] = Field(
        None, description="topics of the claims that this page answers; their verdicts link to it"
    )
    figure: Maybe[bool] = Field(
        None,
        description="true, as without it, if a cell tagged figure draws the page's main figure; false if the "
        "page has none",
    )
    parameters: Maybe[dict[str, JsonValue]] = Field(
        None, description="further papermill parameters, values of JSON's types"
    )
    instead: Unique[Name] = Field(
        [], description="pages that would be made by themselves and whose place this one takes"
    )
    leave_out: bool = Field(False, description="true if the page of this name is not to be made")


class FrontQuestion(Model):
    """A question by which the site is ordered: its group in the menu, and its card on the front page."""

    name: str = Field(description="its name in the menu, unique")
    question: str = Field("", description="the question as the heading of its card")
    topics: Annotated[Unique[str], Field(min_length=1, description="topics of the claims that it is about")]
    claim: str = Field("", description="the claim whose verdict is the card; without one there is no card")


class ConfigFile(Model):
    """What is special about one build; everything else follows from what is declared and has runs."""

    campaigns: Unique[Name] = Field(
        [], description="campaigns that come first, in this order; others that have runs follow by name"
    )
    discover: bool = Field(
        True, description="false if only those campaigns take part, with those pages, that are named here"
    )
    reports: dict[Name, Annotated[Unique[Name], Field(description="a list of campaigns")]] = Field(
        {},
        description="reports in their order, each with campaigns that test its claims in addition to those "
        "that name the report themselves",
    )
    pages: list[SpecialPage] = Field([], description="a list of the pages that are special")
    front: list[FrontQuestion] = Field(
        [], description="the questions of the front page and of the menu, in their order"
    )
    figure_faults: Literal["refuse", "warn"] = Field(
        "warn",
        description="what a fault of a figure does, such as texts that overlap: refuse stops the build, "
        "with a line for each figure",
    )
    contradictions: dict[str, str] = Field(
        {},
        description="of a self-test, for each claim that its runs cannot give back the reason; any other "
        "that is not recovered is an error",
    )
    build: Maybe[str] = Field(
        None,
        description="another file of this form to build, into results/<its name>; given on the command line",
    )
    measure: Maybe[Name] = Field(
        None,
        description="a campaign whose runs the target `measure` is to measure; given on the command line",
    )
    # Snakemake hands `yes` over as text.
    go_on: bool = Field(
        False,
        strict=False,
        description="true if three equal failures do not stop that campaign; given on the command line",
    )


def load_config(base: Path | None = None, path: Path = CONFIG) -> dict[str, Any]:
    """Read what to build and fill in what follows by itself: the keys of `ConfigFile`, and ``left_out``.

    Each page has ``name notebook figure parameters``, ``campaign``, ``campaigns`` or ``evidence``, and what
    else of `SpecialPage` there is; one that was made by itself has ``derived``, and ``group``, the campaign
    that it is listed under, unless the configuration names it. `ConfigError` with one fault for each entry
    that cannot be used.
    """
    base = base or root()
    config: dict[str, Any] = load_yaml(base / path) or {}
    complete(config, base, base / path)
    return config


def heading(notebook: Path) -> str:
    """Return the question that a notebook asks: the first line of its first cell; empty without cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]).strip().partition("\n")[0].lstrip("# ") if cells else ""


def title_of(page: Mapping[str, Any], base: Path) -> str:
    """Return the title of a page of the build: its own, or the heading of its notebook."""
    return str(page.get("title") or heading(base / "notebooks" / page["notebook"]))


def complete(
    config: dict[str, Any], base: Path, path: Path | None = None, stamped: Callable[[str], str] | None = None
) -> None:
    """Check a configuration against its model and its files, and fill in what follows by itself, in place.

    `config` is as loaded, with what was overridden on the command line; the lines of faults are those of
    `path`. ``left_out`` gets, page by page that was not made, the reason. `ConfigError` with one fault for
    each entry that cannot be used. With `stamped`, which gives the stamp of a campaign's raw folder, what a
    campaign can answer is kept from one build to the next.
    """
    path = path or base / CONFIG
    source = os.path.relpath(path)
    _, lines = read(str(path), source)
    config.update(check(ConfigFile, config, source, lines).model_dump(exclude_none=True))
    declared = _Declared(base)
    _raise(source, lines, _missing_files(config, declared))
    named = [name for name in config["campaigns"] if declared.has_runs(name, config.get("measure"))]
    more = declared.with_runs() if config["discover"] else []
    config["campaigns"] = [*named, *(name for name in more if name not in named)]
    config["reports"] = _reports(config, declared)
    table = questions(base)
    made, config["left_out"] = _derived(table if config["discover"] else [], config, base, stamped)
    given = [_Given(at, entry, table) for at, entry in enumerate(config["pages"])]
    _raise(source, lines, _page_faults(given, made, table, config, declared))
    pages = [_narrowed(page, "campaign", config["campaigns"]) for page in _merged(given, made)]
    pages = [_narrowed(page, "report", config["reports"]) for page in pages if page]
    config["pages"] = [page for page in pages if "notebook" in page]  # others wait for their campaign's runs


def _raise(source: str, lines: Mapping[Where, int], found: Iterable[tuple[Where, str, str]]) -> None:
    """Raise what is wrong with entries; one of the wrong shape could not be followed to its files."""
    faults = [Fault(source, line_at(lines, where), what, remedy) for where, what, remedy in found]
    if faults:
        raise ConfigError(*faults)


# ---- campaigns and reports


class _Declared:
    """The files of ``config/campaigns``: what they say of evidence, model, levels, views and reports."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.names = sorted(path.stem for path in (base / "config/campaigns").glob("*.yaml"))

    def content(self, name: str) -> Mapping[str, Any]:
        """Return a campaign's file as it stands; its reader says what is wrong with it, if anything is."""
        path = declaration(name, self.base)
        found = read(str(path))[0] if path.is_file() else None
        return found if isinstance(found, Mapping) else {}

    def with_runs(self) -> list[str]:
        """Name the campaigns that have runs or tables, or a model that makes them; none of the self-test."""
        return [
            name
            for name in self.names
            if self.content(name).get("evidence") != "synthetic"
            and (self.content(name).get("model") or _has_runs(raw(name, self.base)))
        ]

    def has_runs(self, name: str, measured: str | None) -> bool:
        """Tell whether a named campaign takes part: one that is to be measured waits for its runs."""
        return name == measured or "matrix" not in self.content(name) or _has_runs(raw(name, self.base))

    def reports(self, name: str, reports: Iterable[str]) -> list[str]:
        """Name the reports that a campaign answers: as it says, by its views, or all if it has stand-ins."""
        content = self.content(name)
        if isinstance(content.get("reports"), list):
            return list(map(str, content["reports"]))
        if isinstance(views := content.get("views"), list):
            return list(dict.fromkeys(str(view.get("report")) for view in views if isinstance(view, Mapping)))
        return list(reports) if content.get("levels") or content.get("apart") else []


def _has_runs(folder: Path) -> bool:
    """Tell whether a raw folder has a run with its record, or tables in place of runs."""
    if project.own_table(folder):
        return True
    if (folder / "runs").is_dir():
        return any(folder.glob("runs/*/run.json"))
    return any(folder.glob("*.csv")) or any(folder.glob("*.csv.xz"))


def _reports(config: Mapping[str, Any], declared: _Declared) -> dict[str, list[str]]:
    """Say which campaigns each report's claims are evaluated on, the reports in the configuration's order.

    A campaign's own claims, ``config/claims/<campaign>.yaml``, are evaluated on it. What is named for a
    report and takes no part is left out; a report that then rests on no campaign goes with it.
    """
    there = config["campaigns"]
    found = {report: [name for name in names if name in there] for report, names in config["reports"].items()}
    emptied = {report for report, names in config["reports"].items() if names and not found[report]}
    for name in there if config["discover"] else ():
        own = [name] if claims(name, declared.base).is_file() else []
        for report in dict.fromkeys([*declared.reports(name, config["reports"]), *own]):
            if name not in (campaigns := found.setdefault(report, [])):
                campaigns.append(name)
    order = {name: at for at, name in enumerate(there)}
    kept = {report: names for report, names in found.items() if names or report not in emptied}
    if not config["discover"]:
        return kept
    return {
        report: sorted(names, key=order.__getitem__) if not config["reports"].get(report) else names
        for report, names in kept.items()
    }


def _missing_files(config: Mapping[str, Any], declared: _Declared) -> Iterator[tuple[Where, str, str]]:
    # Measuring makes the folder, and Snakemake takes it away empty when nothing could be written into it.
    base = declared.base
    there = {*config["campaigns"], *(declared.names if config["discover"] else ())}
    for index, name in enumerate(config["campaigns"]):
        if name == config.get("measure") or raw(name, base).is_dir() or truth(name, base).is_file():
            continue
        if "matrix" not in declared.content(name):
            yield ("campaigns", index), f"no raw folder data/raw/{name}", "add it or drop the campaign"
    for report, names in config["reports"].items():
        if not claims(report, base).is_file():
            yield ("reports", report), f"no claims in config/claims/{report}.yaml", "write them or drop it"
        for index, name in enumerate(names):
            if name not in there:
                yield ("reports", report, index), f"unknown campaign {name!r}", known(name, sorted(there))


# ---- pages


class _Given:
    """A page of the configuration and where it stands there."""

    def __init__(self, index: int, entry: Mapping[str, Any], table: Sequence[PageQuestion]) -> None:
        self.where: Where = ("pages", index)
        self.entry = {key: one for key, one in entry.items() if key not in ("instead", "leave_out", "kind")}
        self.name: str = entry["name"]
        self.kind: str = entry.get("kind", "")
        self.asked = next((_entry(one) for one in table if one.kind == self.kind), None)
        self.instead: list[str] = entry["instead"]
        self.leave_out: bool = entry["leave_out"]

    def over(self, made: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Lay it over its question, or over the page that would be made by itself, if there is one."""
        by_itself = next((made[name] for name in (self.name, *self.instead) if name in made), {})
        below = {**by_itself, **(self.asked or {})}
        dropped = {"group"}  # it has a place of its own
        if "notebook" in self.entry and self.entry["notebook"] != below.get("notebook"):
            dropped |= {"parameters", "derived"}
        for keys in ({"campaign", "campaigns", "evidence"}, {"report", "reports"}):
            dropped |= keys if keys & self.entry.keys() else set()
        below = {key: value for key, value in below.items() if key not in dropped}
        parameters = {**below.get("parameters", {}), **self.entry.get("parameters", {})}
        return {"figure": True, **below, **self.entry, "parameters": parameters}


def questions(base: Path) -> list[PageQuestion]:
    """Read the table of questions, in the order of their pages; a project without one has none."""
    path = base / QUESTIONS
    if not path.is_file():
        return []
    found = load(QuestionsFile, path, str(QUESTIONS))
    missing = [
        Fault(
            str(QUESTIONS),
            project.line_of(path, ("questions", at)),
            f"no notebooks/{one.notebook}",
            "check the name",
        )
        for at, one in enumerate(found.questions)
        if not (base / "notebooks" / one.notebook).is_file()
    ]
    if missing:
        raise ConfigError(*missing)
    return found.table()


def _derived(
    table: list[PageQuestion], config: Mapping[str, Any], base: Path, stamped: Callable[[str], str] | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Make the pages that the records of the campaigns' runs can fill, and say why others were not made."""
    pages, left_out = [], dict[str, str]()
    for campaign in config["campaigns"] if table else ():
        folder = raw(campaign, base)
        own = project.own_table(folder)
        if not (own or (folder / "runs").is_dir()) or truth(campaign, base).is_file():
            continue
        reports = [report for report, names in config["reports"].items() if campaign in names]
        if stamped and not own:
            answers = kept_answers(table, campaign, base, stamped(campaign))
        else:
            answers = list(answerable(table, campaign, base))
        left_out |= {question.page(campaign): why for question, why in answers if why}
        unanswered = {question.title: why for question, why in answers if why}
        of_campaign = {"campaign": campaign, "reports": reports, "derived": True, "group": campaign}
        pages += [
            {"name": question.page(campaign), **_entry(question, unanswered), **of_campaign}
            for question, why in answers
            if not why
        ]
    return pages, left_out


def _entry(question: PageQuestion, unanswered: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Write what the page of a question has; a notebook may list what has no page, and why."""
    entry: dict[str, Any] = {
        "notebook": question.notebook,
        "title": question.title,
        "figure": question.figure,
        "parameters": question.given,
    }
    if unanswered is not None and "unanswered" in entry["parameters"]:
        entry["parameters"]["unanswered"] = dict(unanswered)
    return {**entry, "topics": question.topics} if question.topics else entry


def _merged(given: list[_Given], made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the pages of the configuration first, in their order, each over what it takes the place of."""
    by_name = {page["name"]: page for page in made}
    taken = {name for one in given for name in (one.name, *one.instead)}
    special = [one.over(by_name) for one in given if not one.leave_out]
    return [*special, *(page for page in made if page["name"] not in taken)]


def _narrowed(page: dict[str, Any], singular: str, there: Iterable[str]) -> dict[str, Any]:
    """Return a page with only what is there of its campaigns or reports; empty if nothing is left."""
    named = as_list(page, singular)
    left = [name for name in named if name in there]
    if left == named:
        return page
    return {**page, f"{singular}s": left} if left else {}


def _page_faults(
    given: list[_Given],
    made: list[dict[str, Any]],
    table: list[PageQuestion],
    config: Mapping[str, Any],
    declared: _Declared,
) -> Iterator[tuple[Where, str, str]]:
    base, by_name = declared.base, {page["name"]: page for page in made}
    # What waits for its runs may be named; a page of it is made once it has some.
    waiting = declared.names if config["discover"] else []
    campaigns = sorted({*config["campaigns"], *waiting})
    reports = sorted({*config["reports"], *(name for name in waiting if claims(name, base).is_file())})
    possible = {question.page(name) for question in table for name in campaigns} if waiting else set()
    seen: set[str] = set()
    for one in given:
        if one.name in seen:
            yield (*one.where, "name"), f"two pages are called {one.name!r}", "rename one"
        seen.add(one.name)
        if one.kind and one.asked is None:
            yield (*one.where, "kind"), f"unknown kind {one.kind!r}", known(one.kind, [q.kind for q in table])
        for at, name in enumerate(one.instead):
            if name not in possible:
                what = f"no page {name!r} is ever made"
                yield (*one.where, "instead", at), what, known(name, sorted(by_name))
        waits = one.name in possible and one.name not in by_name
        if one.leave_out or (waits and not {"notebook", "campaign", "campaigns"} & one.entry.keys()):
            continue
        yield from _own_faults(one, one.over(by_name), base)
        for singular, names in (("campaign", campaigns), ("report", reports)):
            key = singular if singular in one.entry else f"{singular}s"
            for name in as_list(one.entry, singular):
                if name not in names:
                    yield (*one.where, key), f"unknown {singular} {name!r}", known(name, names)


def _own_faults(one: _Given, page: Mapping[str, Any], base: Path) -> Iterator[tuple[Where, str, str]]:
    for key, told in _NEEDED.items():
        if not {key, *(("campaigns", "evidence") if key == "campaign" else ())} & page.keys():
            where = f"pages.{one.where[1]}"
            yield one.where, f"{where}: {key!r} is a required property", f"add it: {told}"
    if "notebook" in page and not (base / "notebooks" / page["notebook"]).is_file():
        yield (*one.where, "notebook"), f"no notebooks/{page['notebook']}", "check the name"
