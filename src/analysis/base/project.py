"""The project's folders and its configuration: where things are, and what one build contains.

Snakemake reads this module at every start: nothing slow is imported.
"""

from __future__ import annotations

import copy
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue, StringConstraints

from analysis.base.errors import ConfigError, Fault
from analysis.base.models import Evidence, Maybe, Model, Name, Unique, check, known
from analysis.base.yaml import Where, line_at, read

CONFIG = Path("config/config.yaml")
NameList = Annotated[Unique[Name], Field(min_length=1, description="a list of names")]


def root(start: str | Path | None = None) -> Path:
    """Find the nearest folder with ``config/config.yaml``, upwards from the working folder or this file.

    `ConfigError` if there is none.
    """
    starts = [Path(start)] if start is not None else [Path.cwd(), Path(__file__).parent]
    for first in starts:
        first = first.resolve()
        for folder in (first, *first.parents):
            if (folder / CONFIG).is_file():
                return folder
    raise ConfigError.at(str(starts[0]), 0, f"no {CONFIG} here or above", "work inside a Benchbook project")


def raw(campaign: str, base: Path | None = None) -> Path:
    """Return the folder of a campaign's raw files."""
    return (base or root()) / "data" / "raw" / campaign


def truth(campaign: str, base: Path | None = None) -> Path:
    """Return the file that a synthetic campaign ``syn-<report>`` is built from; others have none."""
    return (base or root()) / "config" / "synthesis" / f"{campaign.removeprefix('syn-')}.yaml"


def processed(campaign: str, base: Path | None = None) -> Path:
    """Return the folder of a campaign's datasets."""
    return (base or root()) / "data" / "processed" / campaign


def claims(report: str, base: Path | None = None) -> Path:
    """Return the file that holds a report's claims."""
    return (base or root()) / "config" / "claims" / f"{report}.yaml"


def declaration(campaign: str, base: Path | None = None) -> Path:
    """Return the file that declares a campaign."""
    return (base or root()) / "config" / "campaigns" / f"{campaign}.yaml"


def load_yaml(path: str | Path) -> Any:
    """Read a YAML file; a ConfigError names the line of what is not YAML or of a key that is repeated."""
    return copy.deepcopy(read(str(path))[0])  # what was read stays as it was read


def line_of(path: str | Path, where: Where) -> int:
    """Return the line of a value of a YAML file, or of what encloses it; 0 where there is neither."""
    return line_at(read(str(path))[1], where)


class Page(Model):
    """A page has name, notebook and campaign or campaigns; it may have report or reports, and a title."""

    TOGETHER = (("exactly", "campaign", "campaigns", "evidence"), ("at most", "report", "reports"))

    name: Name
    notebook: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*\.ipynb$")] = Field(
        description="the name of a notebook in notebooks/"
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
    figure: bool = Field(
        True,
        description="true if a cell tagged figure draws the page's main figure, false if the page has none",
    )
    parameters: dict[str, JsonValue] = Field(
        {}, description="further papermill parameters, values of JSON's types"
    )


class ConfigFile(Model):
    """What one build contains."""

    campaigns: NameList = Field(description="a list of folders below data/raw")
    optional: Unique[Name] = Field(
        [], description="those of the campaigns that take part once they have been measured here"
    )
    reports: dict[Name, Annotated[Unique[Name], Field(description="a list of campaigns")]] = Field(
        description="for each report, the list of campaigns its claims are evaluated on"
    )
    pages: list[Page] = Field(description="a list of notebooks with what they are executed on")
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


def check_config(config: dict[str, Any], base: Path, path: Path | None = None) -> None:
    """Hold a configuration against its model and the files that it names; fill in the defaults, in place.

    `config` is as loaded, with what was overridden on the command line; the lines of faults are those of
    `path`. `ConfigError` with one fault for each entry that cannot be used.
    """
    path = path or base / CONFIG
    source = os.path.relpath(path)
    _, lines = read(str(path), source)
    config.update(check(ConfigFile, config, source, lines).model_dump(exclude_none=True))
    faults = [  # an entry of the wrong shape could not be followed to its files
        Fault(source, line_at(lines, where), found, remedy)
        for where, found, remedy in (*_missing_files(config, base), *_page_faults(config, base))
    ]
    if faults:
        raise ConfigError(*faults)


def load_config(base: Path | None = None, path: Path = CONFIG) -> dict[str, Any]:
    """Read and check what to build, the keys of `ConfigFile`, without what nobody has measured here.

    `ConfigError` with one fault for each entry that cannot be used.
    """
    base = base or root()
    config: dict[str, Any] = load_yaml(base / path)
    check_config(config, base, base / path)
    leave_out(config, base)
    return config


def leave_out(config: dict[str, Any], base: Path) -> None:
    """Take the optional campaigns that nobody has measured here out of a checked configuration, in place.

    Reports and pages that then rest on no campaign go with them.
    """
    absent = {name for name in config["optional"] if not any(raw(name, base).glob("runs/*/run.json"))}
    if not absent:
        return
    config["optional"] = [name for name in config["optional"] if name not in absent]
    config["campaigns"] = [name for name in config["campaigns"] if name not in absent]
    left = {name: [each for each in names if each not in absent] for name, names in config["reports"].items()}
    config["reports"] = {name: names for name, names in left.items() if names or not config["reports"][name]}
    pages = [_narrowed(page, "campaign", config["campaigns"]) for page in config["pages"]]
    pages = [_narrowed(page, "report", config["reports"]) for page in pages if page]
    config["pages"] = [page for page in pages if page]


def _narrowed(
    page: dict[str, Any], singular: str, known: Sequence[str] | Mapping[str, Any]
) -> dict[str, Any]:
    """Return a page with only what is known of its campaigns or reports; empty if nothing is left."""
    named = as_list(page, singular)
    left = [name for name in named if name in known]
    if left == named:
        return page
    return {**page, f"{singular}s": left} if left else {}


def commit(base: Path | None = None) -> str:
    """Return the commit that is checked out, with ``-dirty`` if tracked files differ; empty without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=base or root(), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""  # an unpacked archive is a project too
    return done.stdout.strip()


def as_list(entry: Mapping[str, Any], singular: str) -> list[str]:
    """Return what a page names under ``campaign`` or ``campaigns`` (``report`` or ``reports``)."""
    names = entry.get(f"{singular}s", ())
    return [entry[singular]] if singular in entry else list(names)


def _missing_files(config: Mapping[str, Any], base: Path) -> Iterator[tuple[Where, str, str]]:
    # Measuring makes the folder, and Snakemake takes it away empty when nothing could be written into it.
    spared = (config.get("measure"), *config["optional"])
    for index, name in enumerate(config["optional"]):
        if name not in config["campaigns"]:
            yield ("optional", index), f"unknown campaign {name!r}", known(name, sorted(config["campaigns"]))
    for index, name in enumerate(config["campaigns"]):
        if name not in spared and not raw(name, base).is_dir() and not truth(name, base).is_file():
            if "measure" in config and _declares_runs(name, base):
                continue
            yield ("campaigns", index), f"no raw folder data/raw/{name}", "add it or drop the campaign"
    for report, names in config["reports"].items():
        if not claims(report, base).is_file():
            yield ("reports", report), f"no claims in config/claims/{report}.yaml", "write them or drop it"
        for index, name in enumerate(names):
            if name not in config["campaigns"]:
                remedy = known(name, sorted(config["campaigns"]))
                yield ("reports", report, index), f"unknown campaign {name!r}", remedy


def _declares_runs(campaign: str, base: Path) -> bool:
    path = declaration(campaign, base)
    declared = read(str(path))[0] if path.is_file() else None
    return isinstance(declared, dict) and "matrix" in declared


def _page_faults(config: Mapping[str, Any], base: Path) -> Iterator[tuple[Where, str, str]]:
    seen: set[str] = set()
    for index, page in enumerate(config["pages"]):
        if page["name"] in seen:
            yield ("pages", index, "name"), f"two pages are called {page['name']!r}", "rename one"
        seen.add(page["name"])
        if not (base / "notebooks" / page["notebook"]).is_file():
            yield ("pages", index, "notebook"), f"no notebooks/{page['notebook']}", "check the name"
        for singular, names in (("campaign", config["campaigns"]), ("report", config["reports"])):
            for name in as_list(page, singular):
                if name not in names:
                    key = singular if singular in page else f"{singular}s"
                    yield ("pages", index, key), f"unknown {singular} {name!r}", known(name, sorted(names))


try:
    VERSION = version("benchbook")
except PackageNotFoundError:  # a checkout that was never installed
    VERSION = "0+unknown"
