"""Options, environment and modules: the settings in which runs of a cell differ distinguish them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import Any

from analysis.base.words import STAMPS
from analysis.importing import launch, modules
from analysis.importing.draft import Draft, cell
from analysis.importing.runfiles import stem
from analysis.schema.factors import OF_SYSTEM

_Member = tuple[Draft, dict[str, str]]  # a run and its settings
_Parse = Callable[[str], Mapping[str, str]]
_SOURCE = "launch line and environment"
# Where these are alike, nothing else explains that a library has another release.
_SAME = tuple(name for name in OF_SYSTEM if name != "interconnect")


def distinguish_by_options(drafts: Sequence[Draft]) -> list[str]:
    """Distinguish runs by the options and settings in which runs of a cell differ; say so, a line each."""
    given: dict[str, list[_Member]] = defaultdict(list)
    parse = cache(launch.options)  # jobs of one script have its line in common
    releases = cache(lambda loaded: modules.releases(loaded.split()))
    for draft in drafts:
        settings = _settings(draft, parse, releases)
        if settings or draft.value("modules"):
            draft.add({"settings": settings}, _SOURCE)
        given[draft.application].append((draft, settings))
    return [line for application, members in given.items() for line in _distinguish(application, members)]


def _distinguish(application: str, members: Sequence[_Member]) -> Iterator[str]:
    cells: dict[tuple[Any, ...], list[_Member]] = defaultdict(list)
    for draft, settings in members:
        cells[cell(draft)].append((draft, settings))
    # What a table states by hand is a factor wherever it varies, other settings only within a cell.
    by_hand = [draft.value("given_options") or {} for draft, _ in members]
    # Of a run without any setting it is not known which it had: those that its program prints it had not.
    printed = {name for draft, _ in members for name in draft.value("grid") or {}}
    found = launch.varying(by_hand)
    for one in cells.values():
        known_of = [settings for draft, settings in one if settings or draft.value("modules")]
        found += launch.varying(known_of)
        found += [name for name in launch.varying([settings for _, settings in one]) if name in printed]
    found += _releases(members)
    if not found:
        return
    names = list(dict.fromkeys(found))
    lines_of = {_launch_line(draft) for draft, _ in members}
    launchers = {name for line in lines_of for name in launch.options(line, of_launcher=True)}
    # A run of which it is not known whether it had these options has no default.
    known = [
        (draft, settings)
        for draft, settings in members
        if settings.keys() & {*names} or {*names} - _open(draft, names, launchers)
    ]
    levels = {launch.level(settings, names) for _, settings in known}
    for draft, settings in known:
        draft.add({"options": launch.level(settings, names)}, _SOURCE)
    yield f"{application}: options are {', '.join(sorted(levels)[:6])}, which vary between runs"


def _releases(members: Sequence[_Member]) -> Iterator[str]:
    """Name the libraries of which runs of the same program and machine loaded several releases.

    If a release follows a factor throughout, as the link, it may be the cause of what that seems to do.
    """
    alike: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for draft, settings in members:
        loaded = {name: one for name, one in settings.items() if name.startswith(launch.MODULE) and one}
        alike[tuple(str(draft.value(name)) for name in _SAME)].append(loaded)
    for each in alike.values():
        both = set(each[0]).intersection(*each)
        yield from (name for name in sorted(both) if len({one[name] for one in each}) > 1)


def _settings(draft: Draft, parse: _Parse, releases: _Parse) -> dict[str, str]:
    """Return all options and settings of a run, and the releases of the modules that it loaded."""
    line = _launch_line(draft)
    line = launch.without_gpus(line) if draft.value("gpus") is not None else line
    stated = parse(line) if line else {}
    # Outputs that have the name of the run's own file, or a date in their name, only count.
    own = {stem(draft.run.main.file.base), *draft.run.main.file.folder.split("/")} - {""}
    settings = {
        name: value
        for name, value in stated.items()
        if name == "program" or (stem(value.rpartition("/")[2]) not in own and not STAMPS.search(value))
    }
    for name in ("environment", "grid", "given_options"):
        settings |= draft.value(name) or {}
    if draft.value("frequency") is not None:  # what says it is no second difference
        settings = {name: value for name, value in settings.items() if name not in launch.FREQUENCY_SETTINGS}
    loaded = releases(str(draft.value("modules") or ""))
    return settings | {f"{launch.MODULE}{name}": release for name, release in loaded.items()}


def _launch_line(draft: Draft) -> str:
    """Return how a run was started: as recorded, else as its profile, its output or its script says."""
    stated_by = ("program", "launch", "command")
    return str(draft.certain("command") or next(filter(None, map(draft.value, stated_by)), ""))


def _open(draft: Draft, names: Sequence[str], launchers: Set[str]) -> Set[str]:
    """Return the settings of which it is not known whether a run had them.

    A program's own command, as in a jobspec of Flux, says nothing of its launcher.
    """
    line = _launch_line(draft)
    of_modules = {name for name in names if name.startswith(launch.MODULE)}
    unknown = set() if draft.value("modules") else of_modules
    if draft.value("given_options") or launch.has_launcher(line):
        return unknown
    if line:
        return unknown | launchers
    stated = of_modules
    if draft.value("environment"):
        stated = stated | {name for name in names if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)}
    return unknown | ({*names} - stated)
