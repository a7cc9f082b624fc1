"""The part ``power`` of a cluster: read, checked, and spelt out for the nodes of a job."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from analysis.base import models, project, slurm
from analysis.base.errors import ConfigError, Fault
from analysis.base.models import Line, Maybe, Model, Positive, Variable
from analysis.base.yaml import read, texts

OneLine = Annotated[Line, StringConstraints(min_length=1)]
MeterName = Annotated[
    str,
    StringConstraints(pattern="^[A-Za-z0-9_.:{}-]+$"),
    Field(description="name of the meter in the log, {node} is replaced by each node of the job"),
]
Host = Annotated[
    str,
    StringConstraints(pattern=r"^(?!-)[A-Za-z0-9_.:{}\[\]-]+$"),
    Field(description="host name or address"),
]
OfNode = Annotated[Host, Field(description="the node that it measures; jobs without that node leave it out")]
Word = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_.+][A-Za-z0-9_.+-]*$")]
Oid = Annotated[
    str, StringConstraints(pattern=r"^\.?[0-9]+(\.[0-9]+)+$"), Field(description="an OID in quotes")
]
Oids = Oid | Annotated[list[Oid], Field(min_length=1)]
Port = Annotated[int, Field(ge=1, le=65535)]


class SecretPlace(Model):
    """Env with the name of a variable, or file with the path of a file of mode 600; never the secret."""

    TOGETHER = (("exactly", "env", "file"),)

    env: Variable = ""
    file: OneLine = ""


class _Meter(Model):
    name: MeterName
    accuracy: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="limit of error as a fraction of the reading"
    )
    location: OneLine = Field("", description="where the meter measures")


class _Asked(_Meter):
    program: OneLine = Field("", description="path or name of the program")


class Ipmitool(_Asked):
    """A board management controller, by IPMI."""

    NEEDS: ClassVar = {"host": ("user", "password"), "user": ("password",), "password": ("user",)}

    type: Literal["ipmitool"]
    host: Host = Field("", description="the BMC; without it this node's own through its driver")
    port: Maybe[Port] = None
    user: Word = ""
    password: Maybe[SecretPlace] = None
    cipher: Maybe[Annotated[int, Field(ge=1, le=17)]] = Field(None, description="cipher suite of lanplus")
    privilege: Maybe[Literal["USER", "OPERATOR", "ADMINISTRATOR"]] = None
    node: OfNode = ""
    sensor: OneLine = Field("", description="name of a sensor in W, where the BMC has no DCMI")


class Redfish(_Meter):
    """A board management controller, by Redfish."""

    NEEDS: ClassVar = {"user": ("password",), "password": ("user",)}

    type: Literal["redfish"]
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^@\s]+$")] = Field(
        description="resource with the power over https, like https://bmc/redfish/v1/Chassis/1/Power"
    )
    user: OneLine = ""
    password: Maybe[SecretPlace] = None
    ca: OneLine = Field("", description="file with the certificates of the authority that signed the BMC's")
    node: OfNode = ""
    insecure: bool = Field(
        False, description="true sends the password to whoever answers; http and unverified certificates"
    )


class Snmp(_Asked):
    """A power distribution unit; give nodes or objects, and the secrets of the version."""

    TOGETHER = (("at least", "nodes", "objects"),)
    NEEDS: ClassVar = {"privacy": ("privacy_password",), "privacy_password": ("privacy",)}
    WHEN = (("version", ("2c",), ("community",)), ("version", ("3",), ("user", "auth", "auth_password")))

    type: Literal["snmp"]
    host: Host
    port: Maybe[Port] = None
    version: Literal["2c", "3"]
    community: Maybe[SecretPlace] = None
    user: Word = ""
    auth: Maybe[Literal["SHA", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "MD5"]] = None
    auth_password: Maybe[SecretPlace] = None
    privacy: Maybe[Literal["AES", "DES"]] = None
    privacy_password: Maybe[SecretPlace] = None
    nodes: Annotated[dict[Host, Oids], Field(min_length=1)] = Field(
        {}, description="nodes with the OID of each one's outlet, or a list of OIDs; a job reads its own only"
    )
    objects: Annotated[dict[MeterName, Oid], Field(min_length=1)] = Field(
        {}, description="names with OIDs of what is no single node's; every job reads all of them"
    )
    node: OfNode = ""
    unit: Annotated[str, StringConstraints(min_length=1)] = Field(
        "W", description="what a count is, like W, kW or '0.1 W'"
    )


class Powercap(_Meter):
    """Zones of the processor, by the kernel."""

    type: Literal["powercap"]
    root: OneLine = Field("", description="folder of the zones")


class NvidiaSmi(_Asked):
    """Graphics processors."""

    type: Literal["nvidia-smi"]
    field: Maybe[Literal["power.draw", "power.draw.instant", "power.draw.average"]] = None


class Slurm(_Asked):
    """Slurm's data on a node."""

    type: Literal["slurm"]
    node: Host = Field(description="node whose power Slurm is asked for")


AnyMeter = Annotated[Ipmitool | Redfish | Snmp | Powercap | NvidiaSmi | Slurm, Field(discriminator="type")]


class PowerPart(Model):
    """The part `power` of a cluster, what measures its power and how it is asked."""

    period: Positive = Field(1.0, description="seconds between readings")
    timeout: Positive = Field(5.0, description="seconds that a meter has to answer")
    longest_wait: Maybe[Positive] = Field(
        None, description="longest pause in seconds before a lost meter is asked again"
    )
    meters: Annotated[list[AnyMeter], Field(min_length=1)] = Field(
        description="a list of meters, each with type and name"
    )


# What only the node itself can read: {node} is the node that the sampler runs on.
_LOCAL = frozenset({"powercap", "nvidia-smi"})


@dataclass(frozen=True, slots=True)
class MeterSpec:
    """One declared meter, and its place in the file."""

    type: str
    name: str
    options: Mapping[str, Any] = field(repr=False)  # the entry as declared, {node} replaced
    source: str = ""
    line: int = 0
    node: str = ""  # that it measures; empty if it feeds the whole job, or only a reading tells

    def error(self, found: str, remedy: str) -> ConfigError:
        """Make an error at this meter's line."""
        return ConfigError(Fault(self.source, self.line, f"{self.name}: {found}", remedy))


@dataclass(frozen=True, slots=True)
class PowerConfig:
    """What a sampler does; times in s."""

    period: float  # between readings
    timeout: float  # that a meter has to answer
    longest_wait: float  # before a lost meter is asked again
    meters: tuple[MeterSpec, ...]
    nodes: tuple[str, ...] = ()  # of the job; empty where none were given


def load(path: str | Path, nodes: Sequence[str] = (), *, local: bool = False) -> PowerConfig:
    """Read the part ``power`` of a cluster's file, for the nodes of a job.

    A meter whose entry says ``{node}`` becomes one for each node, one that names its node is left out of jobs
    that do not have it, and of one that only its own node can read there is that of this node; `local` takes
    those alone. `ConfigError` with one fault an entry, which repeats no value that could be a secret.
    """
    part, meters = _part(path)
    specs = [
        spec
        for index, entry in enumerate(meters)
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
    longest = part.longest_wait or max(60.0, part.period)
    return PowerConfig(part.period, part.timeout, longest, tuple(specs), tuple(nodes))


def check(path: str | Path, *, several: bool) -> None:
    """Check the part ``power`` of a cluster's file as `load` does, before there is a job."""
    for index, entry in enumerate(_part(path)[1]):
        line = project.line_of(path, ("power", "meters", index))
        _of_nodes(entry, ("node1", "node2") if several else (here(),), str(path), line)


def variables(path: str | Path) -> list[str]:
    """Name the environment variables, sorted, that hold the meters' secrets: no other program needs them."""
    entries = (value for meter in _part(path)[1] for value in meter.values())
    return sorted({entry["env"] for entry in entries if isinstance(entry, Mapping) and set(entry) == {"env"}})


def is_local(entry: Mapping[str, Any]) -> bool:
    """Tell whether a declared meter can only be read by its own node."""
    return entry["type"] in _LOCAL or (entry["type"] == "ipmitool" and "host" not in entry)


def here() -> str:
    """Return this node's name: Slurm's, or the short host name."""
    return os.environ.get("SLURMD_NODENAME") or slurm.short(socket.gethostname())


def _part(path: str | Path) -> tuple[PowerPart, list[dict[str, Any]]]:
    """Return the part ``power`` of a file, and its meters as they are declared."""
    document, lines = read(str(path))
    if not isinstance(document, dict) or not isinstance(document.get("power"), dict):
        found = "has no part 'power'"
        raise ConfigError.at(str(path), 0, found, "declare the meters under power.meters")
    part = document["power"]
    # A value may be a secret that somebody wrote where its place should stand.
    return models.check(PowerPart, part, str(path), lines, ("power",), secret=True), part["meters"]


def _of_nodes(entry: Mapping[str, Any], nodes: Sequence[str], source: str, line: int) -> list[MeterSpec]:
    if is_local(entry):
        if len(nodes) > 1 and "{node}" not in entry["name"]:
            found = f"{entry['name']}: every node of a job has one of its own"
            raise ConfigError.at(source, line, found, "write {node} in the name")
        one = _replace(entry, here())
        return [MeterSpec(one["type"], one["name"], one, source, line, here())]
    if not any("{node}" in text for _, text in texts(entry)):
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


def _replace(value: Any, node: str) -> Any:
    if isinstance(value, str):
        return value.replace("{node}", node)
    if isinstance(value, Mapping):
        return {_replace(key, node): _replace(one, node) for key, one in value.items()}
    return value
