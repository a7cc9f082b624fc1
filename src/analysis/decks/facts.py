"""The cluster under test: what its runs and the facts of their nodes say, and what they do not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.base import project
from analysis.base.words import counted, in_order
from analysis.decks.slide import Slide, head, tabled
from analysis.estimates.campaign import KIB_PER_GIB, Campaign
from analysis.estimates.spelling import display, listed, nameable
from analysis.schema.stated import count_of, node_facts

_CLUSTERS = 24  # of a table
_LISTED = 4  # names of a row, the others are counted
_COMPILERS = ("gcc", "icx", "icc", "ifx", "ifort", "nvc", "armclang", "clang", "gfortran")
_LAUNCHERS = ("mpirun", "mpirun.openmpi", "mpirun.mpich", "mpichversion")
_NAMES = ("CPU", "MPI", "Slurm")  # spelt so within a sentence too


@dataclass(frozen=True)
class Tested:
    """The cluster under test: rows of name and value, and the names of what is not known."""

    rows: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class _Sources:
    """Where rows come from: the runs, and the different values of each fact over their records."""

    campaign: Campaign
    facts: Mapping[str, Sequence[Any]]

    def levels(self, factor: str) -> list[str]:
        """Name the levels of a factor that runs state."""
        known = (one for one in self.campaign.runs[factor].unique() if nameable(one) and one != "none")
        return list(dict.fromkeys(display(self.campaign, factor, level) for level in in_order(known)))

    def of(self, *names: str) -> list[str]:
        """Return the values of some facts."""
        return list(dict.fromkeys(str(one) for name in names for one in self.facts.get(name, ())))

    def counts(self, column: str) -> list[int]:
        """Return the different counts of a column."""
        return sorted({int(n) for n in self.campaign.runs[column] if n > 0})


def under_test(campaign: Campaign, base: Path | None = None) -> Tested:
    """Return what is known of the machines of a campaign in a project, and the names of what is not.

    The factors of the runs go before the facts of their nodes, ``facts`` in each ``run.json``; nothing comes
    from elsewhere, and a fact that no run states is not known.
    """
    sources = _Sources(campaign, _facts(project.raw(campaign.name, base) / "runs"))
    found = {name: find(sources) for name, find in _ROWS.items()}
    rows = [("Machine", campaign.hardware)] if campaign.hardware else []
    rows += [(name, value) for name, value in found.items() if value]
    unknown = (name for name, value in found.items() if not value)
    return Tested(tuple(rows), tuple(name if name in _NAMES else name.lower() for name in unknown))


def _facts(runs: Path) -> dict[str, list[Any]]:
    """Return the different values of each fact over the runs in a folder, in the order of the runs."""
    found: dict[str, list[Any]] = {}
    for path in sorted(runs.glob("*/run.json")):
        for name, value in node_facts(path).items():
            known = found.setdefault(name, [])
            if value not in known and value != "":
                known.append(value)
    return found


def some(names: Sequence[str], most: int = _LISTED) -> str:
    """List names, and count those beyond so many: ``a, b and 7 more``."""
    mark = "; " if any("," in name for name in names) else ", "
    if len(names) <= most:
        return mark.join(names)
    return f"{mark.join(names[:most])} and {len(names) - most:,} more"


def _nodes(known: _Sources) -> str:
    nodes, each = known.counts("nodes"), known.counts("ranks_per_node")
    ranks = f"; {_span(each)} rank{'s' if each[-1] > 1 else ''} on each" if each else ""
    return f"{_span(nodes)}{ranks}" if nodes else ""


def _span(numbers: Sequence[int]) -> str:
    if len(numbers) <= _LISTED:
        return listed([f"{one:,}" for one in numbers])
    return f"{numbers[0]:,} to {numbers[-1]:,} ({len(numbers)} numbers)"


def _cpu(known: _Sources) -> str:
    models = known.of("cpu.Model name")
    sockets, cores = known.of("cpu.Socket(s)"), known.of("cpu.Core(s) per socket")
    numbers = [count_of(one) for one in (*sockets, *cores)]
    if not known.levels("cpu") and len(models) == len(sockets) == len(cores) == 1 and min(numbers) > 0:
        return f"{models[0]}, {counted(numbers[0], 'socket')} with {counted(numbers[1], 'core')}"
    return some(known.levels("cpu") or models)


def _memory(known: _Sources) -> str:
    kib = [one for one in known.facts.get("memory.total", ()) if isinstance(one, (int, float)) and one > 0]
    return some([f"{size} GiB" for size in sorted({round(one / KIB_PER_GIB) for one in kib})])


def _modules(known: _Sources) -> str:
    fitted = [_dimms(one) for one in known.facts.get("memory.dimms", ()) if isinstance(one, list)]
    return some(known.levels("dimm") or list(dict.fromkeys(filter(None, fitted))))


def _dimms(slots: Sequence[Any]) -> str:
    """Count the modules of a node by their kind: ``8 × 16 GB DDR4 3200 MT/s``."""
    kinds: dict[str, int] = {}
    for slot in slots:
        words = [str(slot[key]) for key in ("Size", "Type", "Speed") if slot.get(key)]
        kinds[" ".join(words)] = kinds.get(" ".join(words), 0) + 1
    return " + ".join(f"{count} × {kind}" for kind, count in kinds.items() if kind)


def _links(known: _Sources) -> str:
    names = (one for one in sorted(known.facts) if one.startswith("infiniband.") and one.endswith(".rate"))
    return some(known.levels("interconnect") or [f"InfiniBand at {rate}" for rate in known.of(*names)], 7)


def _software(*names: str) -> Callable[[_Sources], str]:
    return lambda known: some(known.of(*(f"software.{name}" for name in names)), 3)


def _compiler(known: _Sources) -> str:
    found = _software(*_COMPILERS)(known)
    return f"on the nodes: {found}" if found else ""


def _system(known: _Sources) -> str:
    return some([*known.of("os.name"), *(f"Linux {one}" for one in known.of("kernel.osrelease"))])


def _applications(known: _Sources) -> str:
    pairs = known.campaign.runs[["application", "version"]].drop_duplicates()
    words: dict[str, list[str]] = {}
    for application, version in pairs.sort_values(["application", "version"]).itertuples(index=False):
        name = display(known.campaign, "application", application).removeprefix("the ")
        words.setdefault(name, []).extend([str(version)] if version else [])
    return some([" ".join([name, some(versions)]).strip() for name, versions in words.items() if name], 6)


def dates(runs: pd.DataFrame) -> tuple[str, str]:
    """Return the first and the last day of runs, ISO in UTC; both empty if no start is known."""
    starts = runs["start"].dropna()
    if starts.empty or (runs["evidence"] == "synthetic").any():  # the dates of generated runs are made up
        return "", ""
    return f"{starts.min():%Y-%m-%d}", f"{starts.max():%Y-%m-%d}"


def _when(runs: pd.DataFrame) -> str:
    return " to ".join(dict.fromkeys(filter(None, dates(runs))))


_ROWS: Mapping[str, Callable[[_Sources], str]] = {
    "Clusters": lambda known: some(known.levels("cluster"), 5), "Nodes": _nodes, "CPU": _cpu,
    "Memory": _memory, "Memory modules": _modules, "Links": _links,
    "MPI": lambda known: some(known.levels("mpi"), 6) or _software(*_LAUNCHERS)(known), "Compiler": _compiler,
    "Builds": lambda known: some(known.levels("build")), "System": _system, "Slurm": _software("slurm"),
    "Applications": _applications, "Dates": lambda known: _when(known.campaign.runs),
}  # fmt: skip


def clusters(campaign: Campaign) -> Iterator[tuple[str, ...]]:
    """Give a row a cluster, headings first: its processor, nodes at most, links, libraries, valid runs."""
    yield "Cluster", "Processor", "Nodes", "Link", "MPI", "Runs"
    runs = campaign.runs
    for name, part in runs[runs["cluster"] != ""].groupby("cluster", sort=True):
        own = _Sources(campaign.only("cluster", str(name)), {})
        most = int(part["nodes"].max())
        cpu, link, mpi = (some(own.levels(factor), 2) for factor in ("cpu", "interconnect", "mpi"))
        nodes = f"up to {most:,}" if most > 1 else "1" if most == 1 else ""
        cluster = display(campaign, "cluster", str(name))
        yield cluster, cpu, nodes, link, mpi, f"{int(part['valid'].sum()):,}"


def opening(campaign: Campaign, title: str, counts: str) -> Iterator[Slide]:
    """Make the first slides: title, the cluster under test, the clusters where there are several."""
    runs, label = campaign.runs, campaign.evidence
    of_all = f"{int(runs['valid'].sum()):,} valid runs of {len(runs):,}"
    lines = [", ".join(filter(None, (of_all, _when(runs)))), counts]
    if label == "synthetic":
        lines.append("Generated runs: a test of the pipeline, no evidence")
    first_line, rest = head(title, 110)
    known, table = under_test(campaign), list(clusters(campaign))
    note = f"No run states: {', '.join(known.unknown)}." if known.unknown else ""
    topic = "Performance benchmark and profiling"
    yield Slide("title", first_line, topic, (*rest, *lines), label=label)
    rows = [("Part", "As recorded"), *known.rows]
    yield from tabled(rows, "facts", "Cluster under test", "Set-up", footnote=note, label=label)
    if 3 <= len(table) <= _CLUSTERS + 1:
        yield from tabled(table, "facts", f"The {len(table) - 1} clusters", "Set-up", label=label)
