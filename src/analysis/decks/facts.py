"""The cluster under test: what its runs and the facts of their nodes say, and what they do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.base import project
from analysis.base.words import in_order
from analysis.estimates.campaign import KIB_PER_GIB, Campaign
from analysis.findings.naming import display, listed

Values = Mapping[str, Sequence[Any]]  # fact -> its different values over all runs

_LISTED = 4  # names of a row, the others are counted
_COMPILERS = ("gcc", "icx", "icc", "ifx", "ifort", "nvc", "armclang", "clang", "gfortran")
_LAUNCHERS = ("mpirun", "mpirun.openmpi", "mpirun.mpich", "mpichversion")
_NAMES = ("CPU", "MPI", "Slurm")  # spelt so within a sentence too
_NO_LEVEL = ("", "none", -1)


@dataclass(frozen=True)
class Tested:
    """The cluster under test: rows of name and value, and the names of what is not known."""

    rows: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


def under_test(campaign: Campaign, base: Path | None = None) -> Tested:
    """Return what is known of the machines of a campaign in a project, and the names of what is not.

    The factors of the runs go before the facts of their nodes, ``facts`` in each ``run.json``; nothing is
    taken from elsewhere, and a fact that no run states is not known.
    """
    facts = _facts(project.raw(campaign.name, base) / "runs")
    runs = campaign.runs
    found = {name: find(campaign, runs, facts) for name, find in _ROWS.items()}
    rows = [("Machine", campaign.hardware)] if campaign.hardware else []
    rows += [(name, value) for name, value in found.items() if value]
    unknown = (name for name, value in found.items() if not value)
    return Tested(tuple(rows), tuple(name if name in _NAMES else name.lower() for name in unknown))


def _facts(runs: Path) -> Values:
    """Return the different values of each fact over the runs in a folder, in the order of the runs."""
    found: dict[str, list[Any]] = {}
    for path in sorted(runs.glob("*/run.json")):
        try:
            facts = json.loads(path.read_bytes())["facts"]["facts"]
            values = {name: fact["value"] for name, fact in facts.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # a record without facts of its node, or a broken one, which the ingest names
        for name, value in values.items():
            known = found.setdefault(name, [])
            if value not in known and value not in (None, ""):
                known.append(value)
    return found


def some(names: Sequence[str], most: int = _LISTED) -> str:
    """List names, and count those beyond so many: ``a, b and 7 more``."""
    mark = "; " if any("," in name for name in names) else ", "
    if len(names) <= most:
        return mark.join(names)
    return f"{mark.join(names[:most])} and {len(names) - most:,} more"


def _levels(campaign: Campaign, factor: str) -> list[str]:
    levels = in_order(level for level in campaign.runs[factor].unique() if level not in _NO_LEVEL)
    return list(dict.fromkeys(display(campaign, factor, level) for level in levels))


def _nodes(_: Campaign, runs: pd.DataFrame, __: Values) -> str:
    counts = sorted({int(n) for n in runs["nodes"] if n > 0})
    if not counts:
        return ""
    each = sorted({int(n) for n in runs["ranks_per_node"] if n > 0})
    ranks = f"; {_span(each)} rank{'s' if each[-1] > 1 else ''} on each" if each else ""
    return f"{_span(counts)}{ranks}"


def _span(numbers: Sequence[int]) -> str:
    if len(numbers) <= _LISTED:
        return listed([f"{one:,}" for one in numbers])
    return f"{numbers[0]:,} to {numbers[-1]:,} ({len(numbers)} numbers)"


def _cpu(campaign: Campaign, _: pd.DataFrame, facts: Values) -> str:
    if own := _levels(campaign, "cpu"):
        return some(own)
    models = [str(one) for one in facts.get("cpu.Model name", ())]
    sockets, cores = facts.get("cpu.Socket(s)", ()), facts.get("cpu.Core(s) per socket", ())
    if len(models) == len(sockets) == len(cores) == 1:
        return f"{models[0]}, {sockets[0]} socket{_s(sockets[0])} with {cores[0]} core{_s(cores[0])}"
    return some(models)


def _s(number: Any) -> str:
    return "" if str(number) == "1" else "s"


def _memory(_: Campaign, __: pd.DataFrame, facts: Values) -> str:
    kib = [one for one in facts.get("memory.total", ()) if isinstance(one, (int, float))]
    return some([f"{size} GiB" for size in sorted({round(one / KIB_PER_GIB) for one in kib})])


def _modules(campaign: Campaign, _: pd.DataFrame, facts: Values) -> str:
    if own := _levels(campaign, "dimm"):
        return some(own)
    fitted = [_dimms(one) for one in facts.get("memory.dimms", ()) if isinstance(one, list)]
    return some(list(dict.fromkeys(filter(None, fitted))))


def _dimms(slots: Sequence[Any]) -> str:
    """Count the modules of a node by their kind: ``8 × 16 GB DDR4 3200 MT/s``."""
    kinds: dict[str, int] = {}
    for slot in slots:
        words = [str(slot[key]) for key in ("Size", "Type", "Speed") if slot.get(key)]
        kinds[" ".join(words)] = kinds.get(" ".join(words), 0) + 1
    return " + ".join(f"{count} × {kind}" for kind, count in kinds.items() if kind)


def _links(campaign: Campaign, _: pd.DataFrame, facts: Values) -> str:
    rates = [
        str(rate)
        for name, values in sorted(facts.items())
        if name.startswith("infiniband.") and name.endswith(".rate")
        for rate in values
    ]
    own = _levels(campaign, "interconnect")
    return some(own or list(dict.fromkeys(f"InfiniBand at {rate}" for rate in rates)), 7)


def _mpi(campaign: Campaign, _: pd.DataFrame, facts: Values) -> str:
    return some(_levels(campaign, "mpi") or _software(facts, _LAUNCHERS), 6)


def _compiler(_: Campaign, __: pd.DataFrame, facts: Values) -> str:
    found = _software(facts, _COMPILERS)
    return f"on the nodes: {some(found, 3)}" if found else ""


def _software(facts: Values, names: Sequence[str]) -> list[str]:
    lines = [str(one) for name in names for one in facts.get(f"software.{name}", ())]
    return list(dict.fromkeys(lines))


def _system(_: Campaign, __: pd.DataFrame, facts: Values) -> str:
    kernels = [f"Linux {one}" for one in facts.get("kernel.osrelease", ())]
    return some([*map(str, facts.get("os.name", ())), *kernels])


def _slurm(_: Campaign, __: pd.DataFrame, facts: Values) -> str:
    return some(_software(facts, ("slurm",)))


def _applications(campaign: Campaign, runs: pd.DataFrame, _: Values) -> str:
    pairs = runs[["application", "version"]].drop_duplicates().sort_values(["application", "version"])
    words: dict[str, list[str]] = {}
    for application, version in pairs.itertuples(index=False):
        name = display(campaign, "application", application).removeprefix("the ")
        words.setdefault(name, []).extend([str(version)] if version else [])
    return some([" ".join([name, some(versions)]).strip() for name, versions in words.items() if name], 6)


def _dates(_: Campaign, runs: pd.DataFrame, __: Values) -> str:
    first, last = dates(runs)
    return first if first == last else f"{first} to {last}"


def dates(runs: pd.DataFrame) -> tuple[str, str]:
    """Return the first and the last day of runs, ISO in UTC; both empty if no start is known."""
    starts = runs["start"].dropna()
    if starts.empty or (runs["evidence"] == "synthetic").any():  # the dates of generated runs are made up
        return "", ""
    return f"{starts.min():%Y-%m-%d}", f"{starts.max():%Y-%m-%d}"


def _of(factor: str, most: int = _LISTED) -> Callable[[Campaign, pd.DataFrame, Values], str]:
    return lambda campaign, _, __: some(_levels(campaign, factor), most)


_ROWS: Mapping[str, Callable[[Campaign, pd.DataFrame, Values], str]] = {
    "Clusters": _of("cluster", 5),
    "Nodes": _nodes,
    "CPU": _cpu,
    "Memory": _memory,
    "Memory modules": _modules,
    "Links": _links,
    "MPI": _mpi,
    "Compiler": _compiler,
    "Builds": _of("build"),
    "System": _system,
    "Slurm": _slurm,
    "Applications": _applications,
    "Dates": _dates,
}


def clusters(campaign: Campaign) -> Iterator[tuple[str, ...]]:
    """Give a row a cluster, headings first: its processor, nodes at most, links, libraries, valid runs."""
    yield "Cluster", "Processor", "Nodes", "Link", "MPI", "Runs"
    runs = campaign.runs
    for name, part in runs[runs["cluster"] != ""].groupby("cluster", sort=True):
        own = campaign.only("cluster", str(name))
        most = int(part["nodes"].max())
        texts = [some(_levels(own, factor), 2) for factor in ("cpu", "interconnect", "mpi")]
        nodes = f"up to {most:,}" if most > 1 else "1" if most == 1 else ""
        shown = display(campaign, "cluster", str(name))
        yield shown, texts[0], nodes, texts[1], texts[2], f"{int(part['valid'].sum()):,}"
