"""The power logs in one run's folder: the sampler's with its summary, and those of others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import xarray as xr

from analysis.base.errors import Fault
from analysis.base.files import plain_name, read_json
from analysis.base.slurm import listed, named, short
from analysis.energy.meters import Log, chosen, measured, with_declared, without_overlaps
from analysis.energy.points import OF_ONE_NODE, layers, outermost

SUMMARY = ".summary.json"
AT_ONCE = "while several jobs of the run go on, each has an equal part of its meters"


@dataclass
class RunLogs:
    """The power logs in one run's folder that add up to its power; none where meters are missing.

    `jobs` has start and end, s since 1970, of the jobs that share them, `job` this run's position among them;
    empty for a job of its own. `sampled` tells whether the logs are the sampler's.
    """

    logs: list[Log] = field(default_factory=list)
    jobs: list[tuple[float | None, float | None]] = field(default_factory=list)
    job: int = 0
    sampled: bool = False
    faults: list[Fault] = field(default_factory=list)


def own_logs(
    folder: Path,
    found: Iterable[tuple[Path, xr.Dataset]],
    nodes: int = 1,
    power: Mapping[str, Any] = MappingProxyType({}),
    node_list: str = "",
) -> RunLogs:
    """Choose of the power logs in a run's folder those that make up its energy; as for `own_energy`."""
    out = RunLogs(faults=list(_failures(folder)))
    others: list[Log] = []
    sampled: list[Log] = []
    names: set[str] = set()
    for path, ds in found:
        name, summary = f"{folder.name}/{path.name}", _summary(path)
        ds, simulated = measured(ds, name)
        out.faults += simulated
        if simulated and not ds.sizes["meter"]:
            continue
        if not summary.get("meters"):
            others.append(Log(name, with_declared(without_overlaps(ds), power), {}, AT_ONCE))
            continue
        names |= {short(node) for node in summary.get("nodes", ())}
        sampled += _sampled(name, ds, summary, power)
        if "jobs" in summary:
            out.jobs = [(one["start"], one["end"]) for one in summary["jobs"]]
            out.job = int(summary["job"]) - 1
    out.sampled = bool(sampled)
    if not sampled:
        out.logs = _of_others(_of_one_tool(others, out.faults), nodes, folder.name, out.faults)
        if fault := _blind(out.logs, nodes, listed(node_list), folder.name):
            out.logs, out.faults = [], [*out.faults, fault]
        return out
    for log in others:
        what = "a power log in addition to the sampler's"
        out.faults.append(Fault(log.name, 0, what, "not added to it: same watts"))
    out.logs, reason = chosen(sampled, names)
    if reason:
        source = f"{folder.name}/power.csv"
        out.faults.append(Fault(source, 0, reason, "the run has no energy; see the sampler's log"))
    return out


def _of_one_tool(found: list[Log], faults: list[Fault]) -> list[Log]:
    """Leave out what a second tool read at a point of measurement: both show the same watts."""
    tools: dict[str, Counter[str]] = defaultdict(Counter)
    for log in found:
        tools[log.at][str(log.ds.attrs["tool"])] += 1
    first = {at: of.most_common(1)[0][0] for at, of in tools.items()}
    for log in found:
        if log.ds.attrs["tool"] != first[log.at]:
            what = f"a power log of {log.ds.attrs['tool']} in addition to that of {first[log.at]}"
            faults.append(Fault(log.name, 0, what, "not added to it: same watts"))
    return [log for log in found if log.ds.attrs["tool"] == first[log.at]]


def _blind(logs: list[Log], nodes: int, names: list[str], source: str) -> Fault | None:
    """Say that the logs of tools which see one node do not see all nodes of a run."""
    own = [log for log in logs if log.ds.attrs["tool"] in OF_ONE_NODE]
    by_point: dict[str, int] = defaultdict(int)
    for log in own:
        by_point[log.at] += len({node for meter in log.meters for node in named(meter, names)}) or 1
    if not own or len(own) < len(logs) or max(by_point.values()) >= nodes:
        return None
    tools = ", ".join(dict.fromkeys(str(log.ds.attrs["tool"]) for log in own))
    what = f"{tools}: power of {max(by_point.values())} of {nodes} nodes"
    return Fault(source, 0, what, "the run has no energy; log on each of its nodes")


def _of_others(found: list[Log], nodes: int, source: str, faults: list[Fault]) -> list[Log]:
    """Choose among logs whose meters have no declared nodes; those of one layer add up."""
    meters: dict[str, int] = defaultdict(int)
    for log in found:
        meters[log.at] += log.ds.sizes["meter"]
    found_layers = layers(meters)
    if len(found_layers) < 2:
        return found
    layer = outermost(meters, lambda at: meters[at] >= nodes)
    if not layer:
        names = ", ".join(at for one in found_layers for at in one)
        what = f"its power logs measure at several points ({names}), none with {nodes} meters"
        faults.append(Fault(source, 0, what, "the run has no energy; leave the logs of one point"))
    else:
        what = f"a power log in addition to those of the point {' + '.join(layer)!r}"
        left = (log for one in found_layers if one != layer for at in one for log in found if log.at == at)
        faults += [Fault(log.name, 0, what, "not added to them: same watts") for log in left]
    return [log for log in found if log.at in layer]


def _failures(folder: Path) -> Iterator[Fault]:
    """Yield the faults in the samplers' summaries: not started, killed, meters lost."""
    for path in sorted(folder.glob(f"*{SUMMARY}")):
        summary, source = _read(path), f"{folder.name}/{path.name}"
        if summary.get("error"):
            found = f"the sampler did not start: {summary['error']}"
            yield Fault(source, 0, found, "the run has no energy")
        elif "ended" in summary and summary["ended"] is None:
            yield Fault(source, 0, "the sampler was killed", "its readings up to then are used")
        for meter in summary.get("meters", ()):
            if gaps := meter.get("gaps"):
                lost = f"{meter['name']} was lost, gaps: {len(gaps)}, first at {gaps[0]['start']}"
                rest = f"{meter['blank']} readings are blank, {meter['readings']} are not"
                yield Fault(source, 0, f"{lost}: {gaps[0]['reason']}", rest)


def _summary(path: Path) -> dict[str, Any]:
    """Return a sampler's summary of its log; nothing for logs of others."""
    stem = plain_name(path.name).removesuffix(".csv").removesuffix(".energy")
    return _read(path.parent / f"{stem}{SUMMARY}")


def _read(path: Path) -> dict[str, Any]:
    found = read_json(path)
    return found if isinstance(found.get("meters"), list) else {}


def _sampled(
    source: str, ds: xr.Dataset, summary: Mapping[str, Any], power: Mapping[str, Any]
) -> Iterator[Log]:
    """Split a log of the sampler's by the kind of its meters; each part has their accuracy and location."""
    names = list(map(str, ds["meter"].values))
    groups: dict[tuple[str, str, float], dict[int, str]] = defaultdict(dict)
    for position, name in enumerate(names):
        own = [m for m in summary["meters"] if name == m["name"] or name.startswith(f"{m['name']}:")]
        meter = max(own, key=lambda one: len(one["name"]), default=None)
        if meter is None or name in meter["apart"]:
            continue
        if name == meter["name"] and any(other.startswith(f"{name}:") for other in names):
            continue  # blanks of a meter before it had said what it is made of
        node = short(meter["feeds"].get(name, meter["node"]))
        accuracy = float("nan") if meter["accuracy"] is None else float(meter["accuracy"])
        groups[meter["type"], str(meter["location"]), accuracy][position] = node
    for (kind, location, accuracy), members in groups.items():
        part = ds.isel(meter=list(members))
        part.attrs = {**ds.attrs, "location": location, "accuracy": accuracy}
        nodes = {names[position]: [node] for position, node in members.items()}
        yield Log(source, with_declared(part, power), nodes, AT_ONCE, kind)
