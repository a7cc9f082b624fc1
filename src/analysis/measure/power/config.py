"""The part ``power`` of a cluster: read, checked, and spelt out for the nodes of a job."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from analysis.base import models, project, slurm
from analysis.base.errors import ConfigError, Fault

SCHEMA = Path("workflow/schemas/power.schema.yaml")

# What these rules say names keys only; the others repeat the value, which may be a secret that
# somebody wrote where its place should stand.
_NAMES_ONLY = frozenset({"required", "additionalProperties", "dependentRequired"})

# What only the node itself can read: {node} is the node that the sampler runs on.
_LOCAL = frozenset({"powercap", "nvidia-smi"})


@dataclass(frozen=True, slots=True)
class MeterSpec:
    """One declared meter.

    Attributes
    ----------
    type, name : str
    options : mapping
        The entry as declared, ``{node}`` replaced.
    source, line : str, int
        Where it stands.
    node : str
        Node that it measures; empty if it feeds the whole job, or is told by reading.
    """

    type: str
    name: str
    options: Mapping[str, Any] = field(repr=False)
    source: str = ""
    line: int = 0
    node: str = ""

    def error(self, found: str, remedy: str) -> ConfigError:
        """Make an error at this meter's line."""
        return ConfigError(Fault(self.source, self.line, f"{self.name}: {found}", remedy))


@dataclass(frozen=True, slots=True)
class PowerConfig:
    """What a sampler does.

    Attributes
    ----------
    period : float
        s between readings.
    timeout : float
        s that a meter has to answer.
    longest_wait : float
        s, longest pause before a lost meter is asked again.
    meters : tuple of MeterSpec
    nodes : tuple of str
        Nodes of the job; empty where none were given.
    """

    period: float
    timeout: float
    longest_wait: float
    meters: tuple[MeterSpec, ...]
    nodes: tuple[str, ...] = ()


def load(path: str | Path, nodes: Sequence[str] = (), *, local: bool = False) -> PowerConfig:
    """Read the part ``power`` of a cluster's file.

    Parameters
    ----------
    path : path
        A cluster's file, or one with the part ``power`` alone.
    nodes : sequence of str, optional
        Nodes of the job; a meter whose entry says ``{node}`` becomes one for each, and one that
        names its node is left out of jobs that do not have it. Of a meter that only its own node
        can read there is the one of this node.
    local : bool, optional
        Take only the meters that only their own node can read.

    Returns
    -------
    PowerConfig

    Raises
    ------
    ConfigError
        One fault for each entry that cannot be used; no value is repeated in it that could be a secret.
    """
    part = _part(path)
    specs = [
        spec
        for index, entry in enumerate(part["meters"])
        if is_local(entry) or not local
        for spec in _of_nodes(entry, nodes, str(path), project.line_of(path, ("power", "meters", index)))
    ]
    names = [spec.name for spec in specs]
    for spec in specs:
        if names.count(spec.name) > 1:
            raise spec.error("two meters have this name", "rename one, or write {node} in the name")
    if not specs:
        found = f"no meter measures {', '.join(nodes) or here()}"
        raise ConfigError.at(str(path), project.line_of(path, ("power", "meters")), found, "declare one")
    period, timeout = float(part.get("period", 1.0)), float(part.get("timeout", 5.0))
    longest = float(part.get("longest_wait", max(60.0, period)))
    return PowerConfig(period, timeout, longest, tuple(specs), tuple(nodes))


def check(path: str | Path, *, several: bool) -> None:
    """Check the part ``power`` of a cluster's file before any job is there.

    Parameters
    ----------
    path : path
    several : bool
        Whether jobs of several nodes are run there.

    Raises
    ------
    ConfigError
        As `load` does.
    """
    part = _part(path)
    for index, entry in enumerate(part["meters"]):
        line = project.line_of(path, ("power", "meters", index))
        _of_nodes(entry, ("node1", "node2") if several else (here(),), str(path), line)


def variables(path: str | Path) -> list[str]:
    """Name the environment variables that hold the meters' secrets.

    Parameters
    ----------
    path : path
        A cluster's file.

    Returns
    -------
    list of str
        Sorted; what else runs on the nodes has no need of them.
    """
    entries = (value for meter in _part(path)["meters"] for value in meter.values())
    return sorted({entry["env"] for entry in entries if isinstance(entry, Mapping) and set(entry) == {"env"}})


def is_local(entry: Mapping[str, Any]) -> bool:
    """Tell whether a declared meter can only be read by its own node."""
    return entry["type"] in _LOCAL or (entry["type"] == "ipmitool" and "host" not in entry)


def here() -> str:
    """Return this node's name: Slurm's, or the short host name."""
    return os.environ.get("SLURMD_NODENAME") or slurm.short(socket.gethostname())


def _part(path: str | Path) -> dict[str, Any]:
    document = project.load_yaml(path)
    if not isinstance(document, dict) or not isinstance(document.get("power"), dict):
        found = "has no part 'power'"
        raise ConfigError.at(str(path), 0, found, "declare the meters under power.meters")
    part: dict[str, Any] = document["power"]
    faults = list(_violations(part, path, _schema()))
    if faults:
        raise ConfigError(*faults)
    return part


def _schema() -> Path:
    beside = Path(__file__).parents[4] / SCHEMA  # the checkout that this package lies in
    return beside if beside.is_file() else project.root() / SCHEMA


def _violations(part: Any, path: str | Path, schema: Path) -> Iterator[Fault]:
    # The project's way to it: imported as usual, jsonschema takes 1.5 s where JupyterLab is installed.
    validator = models.jsonschema().Draft202012Validator(yaml.safe_load(schema.read_text(encoding="utf-8")))
    for error in sorted(validator.iter_errors(part), key=lambda error: str(error.absolute_path)):
        where = ("power", *error.absolute_path)
        name = ".".join(map(str, where))
        if error.validator in _NAMES_ONLY:
            found = f"{name}: {error.message}"
        else:
            found = f"{name}: does not fit {error.validator} {error.validator_value!r}"
        hint = error.schema.get("description") if isinstance(error.schema, dict) else None
        yield Fault(str(path), project.line_of(path, where), found, str(hint or f"see {SCHEMA}"))


def _of_nodes(entry: Mapping[str, Any], nodes: Sequence[str], source: str, line: int) -> list[MeterSpec]:
    if is_local(entry):
        if len(nodes) > 1 and "{node}" not in entry["name"]:
            found = f"{entry['name']}: every node of a job has one of its own"
            raise ConfigError.at(source, line, found, "write {node} in the name")
        one = _replace(entry, here())
        return [MeterSpec(one["type"], one["name"], one, source, line, here())]
    if not any("{node}" in text for text in _texts(entry)):
        fed = {entry["node"]} if "node" in entry else set(entry.get("nodes", {}))
        if fed and nodes and not fed & set(nodes) and "objects" not in entry:
            return []  # other nodes' power is nothing of this job's
        own = dict(entry)
        if nodes and "nodes" in own:
            own["nodes"] = {node: oid for node, oid in own["nodes"].items() if node in nodes}
        return [MeterSpec(own["type"], own["name"], own, source, line, str(own.get("node", "")))]
    if not nodes:
        found = f"{entry['name']} stands for the job's nodes, and none are given"
        raise ConfigError.at(source, line, found, "pass --nodes")
    replaced = [(_replace(entry, node), node) for node in nodes]
    return [MeterSpec(one["type"], one["name"], one, source, line, node) for one, node in replaced]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in (*value.keys(), *value.values()):
            yield from _texts(one)


def _replace(value: Any, node: str) -> Any:
    if isinstance(value, str):
        return value.replace("{node}", node)
    if isinstance(value, Mapping):
        return {_replace(key, node): _replace(one, node) for key, one in value.items()}
    return value
