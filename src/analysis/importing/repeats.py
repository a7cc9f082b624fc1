"""Runs that agree in every factor and do not look like repeats: what they follow becomes a factor, if asked.

The gate is that of a built campaign (`analysis.base.modes`). A cell is asked about before anything is
written: if its groups follow a stated fact, this can become a factor, among the options of its runs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.base.facts import WORD, differing, stated, told
from analysis.base.modes import FEWEST, Split, scatter_beside, split
from analysis.importing.draft import Draft, Sourced, cell
from analysis.importing.resolution import number_repeats
from analysis.schema.applications import Application
from analysis.schema.factors import FACTORS, is_known, level_name

_STATED = ("node_list", "queue", "feature", "job_name", "directory", "modules")
_SOURCE = "groups of its repeats"


@dataclass(frozen=True)
class CellDoubt:
    """A cell of an import whose runs may be no repeats; `levels` has each run's level of the fact."""

    drafts: tuple[Draft, ...] = field(repr=False)
    split: Split
    levels: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """What is asked of the user, in one line with the cell."""
        first = self.drafts[0]
        names = [first.application]
        names += [level_name(name, first.value(name)) for name in FACTORS if is_known(first.value(name))]
        each = tuple(dict.fromkeys(self.levels))
        return f"{', '.join(dict.fromkeys(names))}: {told(self.split, len(self.drafts), each)}"

    def take(self) -> None:
        """Make the fact a factor: its level is added to the options of each run."""
        for draft, level in zip(self.drafts, self.levels, strict=True):
            known = draft.value("options")
            text = f"{self.split.fact.replace(' ', '-')}={level}"
            draft.facts["options"] = Sourced(f"{known} {text}" if known else text, _SOURCE)
        number_repeats(self.drafts)


def doubts(drafts: Sequence[Draft], applications: Mapping[str, Application]) -> list[CellDoubt]:
    """Find the cells of an import whose runs may be no repeats, by their figures of merit or their times."""
    cells: dict[tuple[Any, ...], list[tuple[Draft, float]]] = defaultdict(list)
    for draft in drafts:
        value = _value(draft, applications.get(draft.application))
        if value is not None and not draft.faults:
            cells[cell(draft)].append((draft, value))
    members = [one for one in cells.values() if len(one) >= FEWEST]
    values = [[value for _, value in one] for one in members]
    beside = scatter_beside(values, [one[0][0].application for one in members])
    return list(_doubted(members, values, beside))


def _doubted(
    members: Sequence[Sequence[tuple[Draft, float]]],
    values: Sequence[Sequence[float]],
    beside: Sequence[float | None],
) -> Iterator[CellDoubt]:
    for pairs, each, scatter in zip(members, values, beside, strict=True):
        drafts = tuple(draft for draft, _ in pairs)
        facts = _facts(drafts)
        starts = [draft.value("start") for draft in drafts]
        dated = None not in starts and len(set(starts)) == len(starts)
        # A sweep whose numbers were taken for those of repeats rises or falls along its names.
        places = starts if dated else [draft.value("repeat") for draft in drafts]
        found = split(each, np.array(places, dtype="f8"), facts, scatter)
        if found is not None and found.kind == "trend" and not dated:
            found = replace(found, kind="names")
        if found is not None:
            yield CellDoubt(drafts, found, tuple(facts.get(found.fact, ())))


def _value(draft: Draft, application: Application | None) -> float | None:
    """Return the figure of merit that an output prints, else the time of the job; None if not known."""
    if application is not None and application.figure_of_merit:
        value = (draft.value("figures") or {}).get(application.figure_of_merit)
        return value if value is not None and np.isfinite(value) else None
    start, end = draft.value("start"), draft.value("end")
    return float(end) - float(start) if start and end and end > start else None


def _facts(drafts: Sequence[Draft]) -> dict[str, Sequence[str]]:
    """Return what is stated of runs and is no factor: a level of each run, by the name of the fact."""
    levels: dict[str, Sequence[str]] = {
        name: [str(draft.value(name) or "") for draft in drafts] for name in _STATED
    }
    # Some accounts know the first host alone.
    hosts = zip(levels["node_list"], drafts, strict=True)
    levels["node_list"] = [listed or str(draft.value("host") or "") for listed, draft in hosts]
    settings = [draft.value("settings") or {} for draft in drafts]
    for name in sorted({name for one in settings for name in one}):
        levels[name.strip("-")] = [str(one.get(name, "")) for one in settings]
    asked = [draft.value("directives") or {} for draft in drafts]
    for name in sorted({name for one in asked for name in one}):
        levels[f"directives.{name}"] = [one.get(name, "") for one in asked]
    lines = [str(draft.value("command") or draft.value("launch") or "") for draft in drafts]
    levels |= differing("launch word", [WORD.findall(line) for line in lines])
    files = [draft.run.main.file for draft in drafts]
    levels["job"] = [draft.run.job for draft in drafts]
    # One folder says more than all of a path, and comes first: of facts that part runs alike it is named.
    levels |= differing("folder", [file.folder.split("/") for file in files])
    levels["folder"] = [file.folder for file in files]
    starts = [draft.value("start") for draft in drafts]
    times = np.array(starts, dtype="f8").astype("datetime64[s]") if all(starts) else None
    return stated(levels, [f"{file.folder} {file.base}" for file in files], times)
