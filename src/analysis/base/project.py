"""The project's folders and its configuration: where things are, and what one build contains.

Only the standard library, PyYAML and jsonschema are used here: Snakemake reads this module at
every start, and a build that has nothing to do should say so at once.
"""

from __future__ import annotations

import copy
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from analysis.base.errors import ConfigError, Fault
from analysis.base.models import violations
from analysis.base.yaml import Where, line_at, read

CONFIG = Path("config/config.yaml")
SCHEMA = Path("workflow/schemas/config.schema.yaml")


def root(start: str | Path | None = None) -> Path:
    """Find the project's root: the nearest folder upwards that holds ``config/config.yaml``.

    Parameters
    ----------
    start : path, optional
        Where to begin; by default the working folder, then the checkout this package lies in.

    Returns
    -------
    Path
        Absolute.

    Raises
    ------
    ConfigError
        If no such folder is found.
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


def verdicts(report: str, campaign: str, base: Path | None = None) -> Path:
    """Return the file that holds the verdicts on a report's claims from one campaign."""
    return (base or root()) / "results" / "verdicts" / report / f"{campaign}.json"


def load_yaml(path: str | Path, schema: str | Path | None = None) -> Any:
    """Read a YAML file; every fault in it is named with its line.

    Parameters
    ----------
    path : path
    schema : path, optional
        JSON schema (itself in YAML) to hold the document against.

    Returns
    -------
    object
        Mappings, lists and scalars.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not YAML, repeats a key or does not follow the schema.
    """
    document, lines = read(str(path))
    if schema is not None:
        faults = list(violations(document, schema, str(path), lines))
        if faults:
            raise ConfigError(*faults)
    return copy.deepcopy(document)  # what was read stays as it was read


def line_of(path: str | Path, where: Where) -> int:
    """Return the line of a value of a YAML file, or of what encloses it; 0 where there is neither."""
    return line_at(read(str(path))[1], where)


def check_config(config: Mapping[str, Any], base: Path, path: Path | None = None) -> None:
    """Hold a configuration against its schema and against the files that it names.

    Parameters
    ----------
    config : mapping
        As loaded, with whatever was overridden on the command line.
    base : Path
        Root of the project.
    path : Path, optional
        File that the lines in the messages refer to; by default ``config/config.yaml``.

    Raises
    ------
    ConfigError
        One fault for each entry that cannot be used.
    """
    path = path or base / CONFIG
    source = os.path.relpath(path)
    _, lines = read(str(path), source)
    faults = list(violations(config, base / SCHEMA, source, lines))
    if not faults:  # an entry of the wrong shape cannot be followed to its files
        faults = [
            Fault(source, line_at(lines, where), found, remedy)
            for where, found, remedy in (*_missing_files(config, base), *_page_faults(config, base))
        ]
    if faults:
        raise ConfigError(*faults)


def load_config(base: Path | None = None, path: Path = CONFIG) -> dict[str, Any]:
    """Read and check the project's configuration.

    Parameters
    ----------
    base : Path, optional
        Root of the project.
    path : Path, optional
        What to build, relative to it.

    Returns
    -------
    dict
        Keys ``campaigns``, ``reports`` and ``pages``, see ``config/config.yaml``.

    Raises
    ------
    ConfigError
        One fault for each entry that cannot be used.
    """
    base = base or root()
    config: dict[str, Any] = load_yaml(base / path, base / SCHEMA)
    check_config(config, base, base / path)
    leave_out(config, base)
    return config


def leave_out(config: dict[str, Any], base: Path) -> None:
    """Take out of a configuration the optional campaigns that nobody has measured here.

    Reports and pages that then rest on no campaign go with them.

    Parameters
    ----------
    config : dict
        As checked; changed in place.
    base : Path
        Root of the project.
    """
    absent = {name for name in config.get("optional", ()) if not any(raw(name, base).glob("runs/*/run.json"))}
    if not absent:
        return
    config["optional"] = [name for name in config["optional"] if name not in absent]
    config["campaigns"] = [name for name in config["campaigns"] if name not in absent]
    reports = {
        report: [name for name in names if name not in absent] for report, names in config["reports"].items()
    }
    config["reports"] = {name: left for name, left in reports.items() if left or not config["reports"][name]}
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
    optional = config.get("optional", ())
    for index, name in enumerate(optional):
        if name not in config["campaigns"]:
            yield ("optional", index), f"unknown campaign {name!r}", _known(config["campaigns"])
    for index, name in enumerate(config["campaigns"]):
        if name not in optional and not raw(name, base).is_dir() and not truth(name, base).is_file():
            yield ("campaigns", index), f"no raw folder data/raw/{name}", "add it or drop the campaign"
    for report, names in config["reports"].items():
        if not claims(report, base).is_file():
            yield ("reports", report), f"no claims in config/claims/{report}.yaml", "write them or drop it"
        for index, name in enumerate(names):
            if name not in config["campaigns"]:
                yield ("reports", report, index), f"unknown campaign {name!r}", _known(config["campaigns"])


def _page_faults(config: Mapping[str, Any], base: Path) -> Iterator[tuple[Where, str, str]]:
    seen: set[str] = set()
    for index, page in enumerate(config["pages"]):
        if page["name"] in seen:
            yield ("pages", index, "name"), f"two pages are called {page['name']!r}", "rename one"
        seen.add(page["name"])
        if not (base / "notebooks" / page["notebook"]).is_file():
            yield ("pages", index, "notebook"), f"no notebooks/{page['notebook']}", "check the name"
        for singular, known in (("campaign", config["campaigns"]), ("report", config["reports"])):
            for name in as_list(page, singular):
                if name not in known:
                    key = singular if singular in page else f"{singular}s"
                    yield ("pages", index, key), f"unknown {singular} {name!r}", _known(known)


def _known(names: Sequence[str] | Mapping[str, Any]) -> str:
    return f"known: {', '.join(sorted(names)) or 'none'}"


try:
    VERSION = version("benchbook")
except PackageNotFoundError:  # a checkout that was never installed
    VERSION = "0+unknown"
