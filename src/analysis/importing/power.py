"""Power logs of several runs: found by time, with the nodes that their meters feed as far as names tell."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from analysis.base import slurm
from analysis.importing.detect import Observation
from analysis.importing.draft import Draft
from analysis.importing.groups import Grouping
from analysis.importing.words import first_of

_COVERED = 0.9  # of a run; a log that starts with the job may lack the first reading
_HOUR = 3600.0
_DATED = 24 * 366 * _HOUR  # s since 1970, from which logs without a date count
_ZONES = tuple(sign * hours for hours in range(1, 15) for sign in (1, -1))
_REMEDY = "name the nodes that its meters feed under power.logs in the campaign's file (docs/power.md)"


@dataclass
class CampaignLog:
    """A log of several runs: meter -> nodes where that is known, what is known of it, where it is written."""

    source: Observation
    feeds: dict[str, list[str]] = field(default_factory=dict)
    text: str = ""
    file: str = ""

    @property
    def entry(self) -> dict[str, Any]:
        """What the campaign's file states of it, under ``power.logs``."""
        return {"files": self.file, "meters": self.feeds}


def place(groups: Grouping, drafts: Sequence[Draft]) -> list[CampaignLog]:
    """Give the log of one run to that run; return the others, each with the runs that it covers.

    A log covers a run whose time is at least 90 % within that of the log. A log of one meter that covers
    one run on one node is that run's own, if the times of all runs are known.
    """
    dated = [draft for draft in drafts if draft.value("start") and draft.value("end")]
    logs = []
    for source in groups.power:
        covered = [draft for draft in dated if _covers(source, draft)]
        lone = len(covered) == 1 and len(dated) == len(drafts)
        if lone and len(_meters(source)) == 1 and covered[0].value("nodes") in (None, 1):
            covered[0].run.files.append(source)
        else:
            logs.append(_log(source, covered, dated))
    groups.power = [one.source for one in logs]
    groups.notes += _undated(drafts)
    return logs


def _undated(drafts: Sequence[Draft]) -> Iterator[str]:
    """Say whose energy is not known because a log lies beside a run without times."""
    having = [draft for draft in drafts if any(one.role == "power" for one in draft.run.files)]
    names = [draft.run.name for draft in having if not (draft.value("start") and draft.value("end"))]
    if names:
        yield f"{first_of(names)}: has a power log, but no start and end: no energy; sacct has both"


def _covers(source: Observation, draft: Draft, shift: float = 0.0) -> bool:
    start, end = float(draft.value("start")), float(draft.value("end"))
    first, last = (source.facts[name] + shift for name in ("first", "last"))
    if isnan(first):
        return False
    return bool(end > start and min(end, last) - max(start, first) >= _COVERED * (end - start))


def _meters(source: Observation) -> list[str]:
    return list(source.facts["meters"])


def _log(source: Observation, covered: Sequence[Draft], dated: Sequence[Draft]) -> CampaignLog:
    """Say of a log which runs it covers, and find which nodes its meters feed."""
    if isnan(source.facts["first"]):
        return CampaignLog(source, text="has no reading with a time")
    if source.facts["first"] < _DATED:
        return CampaignLog(source, text="has no dates: declare options: {start: ...} under power.logs")
    if not dated:
        return CampaignLog(source, text=f"no run has a start and an end; {_REMEDY}")
    if not covered:
        found = next(_shifts(source, dated), "")
        return CampaignLog(source, text=f"no run is in its time; {found or 'is its date right?'}")
    log = CampaignLog(source)
    time = f"covers {len(covered)} of {len(dated)} runs with known times"
    everywhere = {tuple(slurm.listed(str(draft.value("node_list") or ""))) for draft in covered}
    nodes = sorted(set().union(*everywhere))
    meters = _meters(source)
    # As the ingest reads names; what only looks like one is declared.
    clear, likely = ([find(meter, nodes) for meter in meters] for find in (slurm.named, _in_name))
    if _one_each(clear):
        log.text = f"{time}; its meters have the names of nodes"
    elif _one_each(likely):
        log.feeds = dict(zip(meters, likely, strict=True))
        log.text = f"{time}; the names of its meters have those of nodes"
    elif len(meters) == 1 and (file := _in_name(source.name, nodes)):
        log.feeds, log.text = {meters[0]: file}, f"{time}; its name says {', '.join(file)}"
    elif len(meters) == 1 and nodes and len(everywhere) == 1:
        log.feeds, log.text = {meters[0]: nodes}, f"{time}, all on {', '.join(nodes)}"
    else:
        unknown = "" if nodes else ", whose nodes are not known"
        log.text = f"{time}{unknown}; {_REMEDY}"
    return log


def _one_each(found: Sequence[Sequence[str]]) -> bool:
    """Tell whether each meter has one node, and each its own."""
    single = [one[0] for one in found if len(one) == 1]
    return len(single) == len(found) == len(set(single))


def _in_name(name: str, nodes: Sequence[str]) -> list[str]:
    """Return the nodes that a part of a meter's or a file's name is: ``bmc-n1``, ``n1.csv``."""
    parts = set(re.split(r"[:/.\-_()\[\] ]", name))
    return [node for node in nodes if node in parts]


def _shifts(source: Observation, dated: Sequence[Draft]) -> Iterator[str]:
    """Say which whole-hour shift brings a log over all runs that one shift can: a time zone."""
    counts = {hours: sum(_covers(source, one, hours * _HOUR) for one in dated) for hours in _ZONES}
    most = max(counts.values())
    best = [hours for hours, count in counts.items() if count == most]
    if most and len(best) == 1:
        way = f"{abs(best[0])} h {'later' if best[0] > 0 else 'earlier'}"
        remedy = f"options: {{tz: ...}} with its zone, or clock: {{offset: {best[0] * 3600}}}"
        yield f"{way} it covers {most} of {len(dated)}: declare under power.logs {remedy}"
