"""What a campaign is made from: its own file, its cluster's and its applications', checked together."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.slurm import numbers
from analysis.base.yaml import Where
from analysis.measure.cores import Cores
from analysis.measure.power import config as power

PRESETS = Path(__file__).with_name("presets.yaml")
# These may have line ends, input files whatever they need; nothing else that reaches a job may.
_LONG_TEXTS = ("notes", "why", "hardware", "title")


_LINES = str.maketrans("", "", "\n\t")


@dataclass(frozen=True)
class Declaration:
    """A YAML file that was read and checked, with the lines of its values.

    Attributes
    ----------
    path : Path
    source : str
        Name that messages carry.
    document : mapping
    """

    path: Path
    source: str
    document: Mapping[str, Any] = field(repr=False)

    def fault(self, where: Where, found: str, remedy: str) -> Fault:
        """Make a fault at the line of a value."""
        return Fault(self.source, project.line_of(self.path, where), found, remedy)


@dataclass(frozen=True)
class Declared:
    """A campaign with everything that its runs need.

    Attributes
    ----------
    name : str
    base : Path
        Root of the project.
    campaign, cluster : Declaration
    applications : mapping of str to Declaration
        Those that the matrix names and that exist.
    """

    name: str
    base: Path
    campaign: Declaration
    cluster: Declaration
    applications: Mapping[str, Declaration]

    @property
    def matrix(self) -> Mapping[str, Any]:
        """The campaign's matrix as written."""
        found: Mapping[str, Any] = self.campaign.document["matrix"]
        return found

    @property
    def launch(self) -> Mapping[str, Any]:
        """The part ``launch`` of the cluster."""
        found: Mapping[str, Any] = self.cluster.document["launch"]
        return found

    @property
    def cluster_name(self) -> str:
        """The cluster's name."""
        return self.cluster.path.stem

    @cached_property
    def cores(self) -> Cores:
        """Cores of one node."""
        return Cores.declared(self.launch["cores"])

    @cached_property
    def tunings(self) -> Mapping[str, Any]:
        """Tuning presets by name."""
        presets: Mapping[str, Any] = project.load_yaml(PRESETS)["tuning"]
        return presets


def load(name: str, base: Path | None = None) -> Declared:
    """Load a campaign with its cluster and its applications.

    Parameters
    ----------
    name : str
        Campaign: ``config/campaigns/<name>.yaml``.
    base : Path, optional
        Root of the project.

    Returns
    -------
    Declared

    Raises
    ------
    ConfigError
        If a file cannot be used; one fault for each thing wrong with it. Whether the matrix fits the
        cluster is for `analysis.measure.matrix.expand` to say.
    """
    base = base or project.root()
    campaign = _declaration("campaign", name, base)
    if "matrix" not in campaign.document:
        raise ConfigError(campaign.fault((), "has no matrix", "declare what is to be run under 'matrix'"))
    wanted = str(campaign.document["matrix"]["cluster"])
    if not (base / f"config/clusters/{wanted}.yaml").is_file():
        known = ", ".join(sorted(p.stem for p in (base / "config/clusters").glob("*.yaml"))) or "none"
        raise ConfigError(
            campaign.fault(("matrix", "cluster"), f"unknown cluster {wanted!r}", f"known: {known}")
        )
    cluster = _declaration("cluster", wanted, base)
    if "launch" not in cluster.document:
        raise ConfigError(cluster.fault((), "has no part 'launch'", "say there how jobs are started"))
    _check_cores(cluster)
    if "power" in cluster.document:  # found now, not by the first job that samples nothing
        power.check(cluster.path, several=cluster.document["launch"]["nodes"] > 1)
    names = {subset["application"] for subset in campaign.document["matrix"]["subsets"]}
    applications = {
        each: _declaration("application", each, base)
        for each in sorted(names)
        if (base / f"config/applications/{each}.yaml").is_file()
    }
    return Declared(name, base, campaign, cluster, applications)


def _declaration(kind: str, name: str, base: Path) -> Declaration:
    path = base / "config" / f"{kind}s" / f"{name}.yaml"
    source = str(path.relative_to(base))
    document = project.load_yaml(path, base / "workflow" / "schemas" / f"{kind}.schema.yaml")
    out = Declaration(path, source, document)
    faults = [
        out.fault(where, f"{'.'.join(map(str, where))}: holds a control character", "write it in one line")
        for where, text in _texts(document, ())
        if "files" not in where
        and not (text.translate(_LINES) if set(where) & set(_LONG_TEXTS) else text).isprintable()
    ]
    faults += [
        out.fault(where, f"{where[-1]!r}: {message}", "write ${name}, and $$ for a dollar sign")
        for where, message in _broken_templates(document)
    ]
    if faults:
        raise ConfigError(*faults)
    return out


def _check_cores(cluster: Declaration) -> None:
    cores = cluster.document["launch"]["cores"]
    faults, seen = [], dict[int, int]()
    for index, text in enumerate([] if isinstance(cores, str) else cores):
        where = ("launch", "cores", index)
        parts = [part.partition("-") for part in text.split(",")]
        if any(last and int(last) < int(first) for first, _, last in parts):
            faults.append(cluster.fault(where, f"{text!r} runs backwards", "write it like 0-9"))
        for core in numbers(text):
            if core in seen:
                what = f"core {core} was given before (socket {seen[core]})"
                faults.append(cluster.fault(where, what, "a core belongs to one socket, once"))
                break
            seen[core] = index
    if faults:
        raise ConfigError(*faults)


def _texts(value: Any, where: Where) -> Iterator[tuple[Where, str]]:
    """Walk through all texts of a document, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield (*where, key), str(key)
            yield from _texts(item, (*where, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*where, index))


def _broken_templates(document: Mapping[str, Any]) -> Iterator[tuple[Where, str]]:
    launch = document.get("launch", {})
    if "cases" not in launch:
        return
    places: list[tuple[Where, str]] = []
    for part, at in (
        (launch, ("launch",)),
        *((case, ("launch", "cases", name)) for name, case in launch["cases"].items()),
    ):
        for key in ("arguments", "thread_arguments"):
            places += _texts(part.get(key, []), (*at, key))
        places += [((*at, "files", name), text) for name, text in part.get("files", {}).items()]
    for where, text in places:
        if not string.Template(text).is_valid():
            yield where, "a dollar sign that stands for nothing"
