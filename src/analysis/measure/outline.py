"""A new campaign as files: its own, its cluster's and, of a program that nobody knows, its application's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.base.files import write_text
from analysis.base.models import known as nearest
from analysis.datasets.applications import load_applications
from analysis.measure.draft import as_names, as_yaml, library, one_or_list
from analysis.measure.nodes import Kind, usual_counts
from analysis.schema.campaigns import Application, ApplicationLaunch

_CAMPAIGN = (
    "# What is to be run: `benchbook plan {name}` shows the runs, docs/measure.md how they are started.\n"
)
_CLUSTER = """\
# {kind}
# Cores are numbered as on most machines, by socket, the first thread of each core first: `lscpu -e` on a node
# shows it. How a level of interconnect is chosen stands in its environment, as UCX_NET_DEVICES.
"""
_PROGRAM = "/path/to/{application}"
_README = """\
# {name}

What was measured, on what, when, and what the reader must know. Each run is a folder
`runs/<run>/` with `run.json` (see `vm-hpcg` for the keys) and the job's output as it came;
`sacct --parsable2` output beside `runs/` is joined by job id.
"""
_BY_HAND = """\
title: {title}
evidence: measured # measured, published, reported, modelled or synthetic
hardware: one line that names the CPUs, memory and network of the nodes
notes: []
# Which of this campaign's levels stands for a report's level, and how it differs from it.
# levels:
#   interconnect:
#     ib-fdr: {{ is: hdr100, distance: scaled, differs: "HDR100 InfiniBand" }}
levels: {{}}
"""


@dataclass(frozen=True)
class Wanted:
    """What a campaign is to be; what is left empty is chosen from the nodes and the application."""

    name: str
    title: str = ""
    application: str = ""
    cases: Sequence[str] = ()
    nodes: Sequence[int] = ()
    ranks_per_node: Sequence[int | str] = ()
    mpi: Sequence[str] = ()
    interconnect: Sequence[str] = ()
    repeats: int = 6
    minutes: int = 60
    binary: str = ""
    arguments: Sequence[str] = ()
    done: str = ""  # a text in the output of a good run, of a program that nobody knows
    engine: str = ""  # the reader of its output
    cluster: str = ""
    partition: str = ""
    feature: str = ""
    account: str = ""


@dataclass
class Outline:
    """The files of a new campaign, path -> text, and what is left to fill in."""

    files: dict[Path, str] = field(default_factory=dict)
    todo: list[str] = field(default_factory=list)

    def write(self, base: Path) -> None:
        """Write all files; ConfigError, before any is written, if one is there already."""
        for path in self.files:
            if path.exists():
                raise ConfigError.at(str(path.relative_to(base)), 0, "exists already", "choose another name")
        for path, text in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)


def by_hand(wanted: Wanted, base: Path) -> Outline:
    """Outline a campaign whose runs were measured otherwise: nothing is to be started."""
    said = _BY_HAND.format(title=wanted.title or wanted.name)
    out = Outline({project.declaration(wanted.name, base): said, **_readme(wanted, base)})
    out.todo.append(f"runs in data/raw/{wanted.name}/runs/, hardware in config/campaigns/{wanted.name}.yaml")
    return out


def _readme(wanted: Wanted, base: Path) -> dict[Path, str]:
    return {project.raw(wanted.name, base) / "README.md": _README.format(name=wanted.name)}


def outline(wanted: Wanted, kind: Kind, base: Path) -> Outline:
    """Outline a campaign, with a cluster of `kind` unless it names one that is there.

    ConfigError if the application cannot be started or has no such case.
    """
    out = Outline()
    launch, cases = _application(wanted, base, out)
    cluster = wanted.cluster or wanted.name
    cluster_file = base / "config" / "clusters" / f"{cluster}.yaml"
    libraries = list(wanted.mpi or kind.libraries[:1] or ["Open MPI"])
    if wanted.cluster and cluster_file.is_file():
        there = project.load_yaml(cluster_file).get("launch", {})
        libraries = list(wanted.mpi or list(there.get("mpi", {}))[:1])
        kind = Kind(**{**kind.__dict__, "nodes": int(there.get("nodes", 1))})
    else:
        out.files[cluster_file] = _cluster(wanted, kind, launch, cases, libraries, out)
    out.files = {
        project.declaration(wanted.name, base): _campaign(wanted, kind, cases, cluster, libraries),
        **out.files,
        **_readme(wanted, base),
    }
    return out


def applications(base: Path) -> list[str]:
    """Name the applications that Benchbook can start."""
    found = []
    for path in sorted((base / "config" / "applications").glob("*.yaml")):
        if "launch" in project.load_yaml(path):
            found.append(path.stem)
    return found


def engines(base: Path) -> list[str]:
    """Name the readers of the applications that are known."""
    known = load_applications(base / "config" / "applications")
    return sorted({one.engine for one in known.values()} - {""})


def cases_of(application: str, base: Path) -> list[str]:
    """Name the cases of an application, empty if nobody knows it."""
    path = base / "config" / "applications" / f"{application}.yaml"
    launch = project.load_yaml(path).get("launch", {}) if path.is_file() else {}
    return list(launch.get("cases", {}))


def _application(wanted: Wanted, base: Path, out: Outline) -> tuple[ApplicationLaunch | None, list[str]]:
    """Load the application with the cases to run, or outline one that nobody knows."""
    path = base / "config" / "applications" / f"{wanted.application}.yaml"
    source = f"config/applications/{wanted.application}.yaml"
    if not path.is_file():
        text = as_yaml(_new_application(wanted, base))
        out.files[path] = (
            f"# How {wanted.application} is run. Without a figure of merit its speed is the time of a run.\n"
            + text
        )
        out.todo.append(f"{source}: its arguments, and its figure of merit")
        return None, list(wanted.cases) or ["run"]
    application = models.load(Application, path, source)
    if application.launch is None:
        what = f"nothing says how to start {wanted.application!r}"
        raise ConfigError.at(source, 0, what, f"declare its launch there; {_can_start(base)}")
    there = list(application.launch.cases)
    for case in wanted.cases:
        if case not in there:
            raise ConfigError.at(
                "--case", 0, f"{wanted.application} has no case {case!r}", nearest(case, there)
            )
    return application.launch, list(wanted.cases) or there[:1]


def _can_start(base: Path) -> str:
    return f"Benchbook can start {', '.join(applications(base))}"


def _new_application(wanted: Wanted, base: Path) -> dict[str, Any]:
    known = load_applications(base / "config" / "applications").get(wanted.application)
    engine = wanted.engine or (known.engine if known else "")
    if len(wanted.done) < 3 or not engine:
        what = f"no application is called {wanted.application!r}"
        what = f"nothing says how to start {wanted.application!r}" if known else what
        remedy = "give --done TEXT, what stands in its output after a good run, and --engine READER, one of "
        remedy += f"{', '.join(engines(base))}; {_can_start(base)}"
        raise ConfigError.at("--application", 0, what, remedy)
    cases: dict[str, Any] = {case: {} for case in wanted.cases or ["run"]}
    launch = {
        "arguments": [text.replace("$", "$$") for text in wanted.arguments],
        "result": {"file": "stdout.txt", "text": wanted.done},
        "cases": cases,
    }
    if known and known.engine == engine:
        return known.model_dump(exclude={"options", "launch"}) | {"launch": launch}
    head = {"title": wanted.application, "engine": engine, "figure_of_merit": "", "unit": ""}
    return {**head, "higher_is_better": False, "fixed_time": False, "launch": launch}


def _campaign(
    wanted: Wanted, kind: Kind, cases: Sequence[str], cluster: str, libraries: Sequence[str]
) -> str:
    nodes = list(wanted.nodes) or list(usual_counts(kind.nodes))
    factors: dict[str, Any] = {
        "nodes": one_or_list(nodes),
        "ranks_per_node": one_or_list(list(wanted.ranks_per_node) or ["all"]),
        "mpi": one_or_list(as_names(libraries)),
    }
    if wanted.interconnect:
        factors["interconnect"] = one_or_list(as_names(wanted.interconnect))
    varied = [name for name, level in factors.items() if isinstance(level, list)]
    why = f"what {wanted.application} does by {' and '.join(varied).replace('_', ' ')}" if varied else ""
    subset = {
        "name": wanted.application,
        "why": why or f"how fast {wanted.application} is, and how far its repeats lie apart",
        "application": wanted.application,
        "case": one_or_list(list(cases)),
        "factors": factors,
    }
    content = {
        "title": wanted.title or f"{wanted.application} on {cluster}",
        "evidence": "measured",
        "hardware": "${machine}",
        "notes": [],
        "matrix": {"cluster": cluster, "seed": 1, "repeats": wanted.repeats, "subsets": [subset]},
    }
    return _CAMPAIGN.format(name=wanted.name) + as_yaml(content)


def _cluster(
    wanted: Wanted,
    kind: Kind,
    program: ApplicationLaunch | None,
    cases: Sequence[str],
    libraries: Sequence[str],
    out: Outline,
) -> str:
    place = f"config/clusters/{wanted.cluster or wanted.name}.yaml"
    launch: dict[str, Any] = {"scheduler": "slurm" if kind.slurm else "none", "nodes": kind.nodes}
    launch["cores"] = kind.numbers if kind.slurm else "auto"
    if kind.slurm:
        launch |= {"memory": kind.memory, "minutes": wanted.minutes}
        partition = wanted.partition or (kind.partitions[0] if kind.partitions else "")
        launch |= {name: text for name, text in _chosen(wanted, kind, partition).items() if text}
    launch["mpi"] = {name: library(text) for name, text in zip(as_names(libraries), libraries, strict=True)}
    if wanted.interconnect:
        launch["interconnect"] = {level: {} for level in as_names(wanted.interconnect)}
        out.todo.append(f"{place}: how each interconnect is chosen, its environment or partition")
    launch["applications"] = {wanted.application: _site(wanted, program, cases, place, out)}
    facts = list(kind.facts) or [{"what": "CPU, memory, network", "value": "fill in", "source": "data sheet"}]
    text = as_yaml({"title": f"The cluster of {wanted.name}", "facts": facts, "launch": launch})
    if not (wanted.mpi or kind.libraries):
        out.todo.append(f"{place}: the MPI library with its version, and how it is started")
    return _CLUSTER.format(kind=str(kind) if kind.slurm else "This machine") + text


def _chosen(wanted: Wanted, kind: Kind, partition: str) -> Mapping[str, str]:
    """Say how nodes of this kind alone are asked for: by partition, account and features."""
    feature = wanted.feature or "&".join(kind.features)
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._:&|,*-]*", feature)
    return {"partition": partition, "account": wanted.account, "constraint": feature if plain else ""}


def _site(
    wanted: Wanted, launch: ApplicationLaunch | None, cases: Sequence[str], place: str, out: Outline
) -> dict[str, str]:
    """Say where the program lies, and its input files if it has some."""
    if wanted.application == "proxy" and not wanted.binary:
        return {"build": "proxy", "variant": "-O2"}
    if not wanted.binary:
        out.todo.append(f"{place}: where the program lies, for /path/to (or give --binary)")
    program = wanted.binary or _PROGRAM.format(application=wanted.application)
    if wanted.application == "osu" and "${case}" not in program:
        program += "/osu_${case}"
    inputs = launch is not None and (launch.link_inputs or any(launch.cases[case].inputs for case in cases))
    if inputs:
        out.todo.append(f"{place}: the folder of the input files, for /path/to/inputs")
    return {"program": program, **({"inputs": "/path/to/inputs"} if inputs else {})}
