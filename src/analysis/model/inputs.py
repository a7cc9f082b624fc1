"""Inputs of the model, ``config/model``: machines, links, ranges of what is not known, applications.

Every number has its source, or is marked as assumed. None is from a claim that the model is compared with,
nor from another result of the same report; sizes and counts of a report may be used and are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from analysis.base import models
from analysis.base.models import Maybe, Model, Name, Positive
from analysis.schema.campaigns import Count

Source = Annotated[
    str,
    StringConstraints(min_length=3),
    Field(description="where the number is from; it begins with 'assumed' where nobody has published one"),
]
Kind = Literal["tcp", "rdma", "onload"]
FOLDER = Path("config/model")


class Range(Model):
    """The least and the greatest value of an unknown, drawn evenly in its logarithm."""

    low: Positive
    high: Positive
    unit: str
    source: Source

    @property
    def assumed(self) -> bool:
        """Whether nobody has published it."""
        return self.source.startswith("assumed")


class LinkFacts(Model):
    """A network: payload bandwidth of a node's adapter in one direction, and what it carries in addition.

    Latency is that of one small message one way between two nodes, the own time of both ends left out.
    """

    title: str
    kind: Kind = Field(
        description="tcp: the kernel moves the bytes; rdma: the adapter does; onload: the library does"
    )
    bandwidth: Range
    latency: Range
    header: Annotated[float, Field(ge=0)] = Field(description="bytes that go with each message")
    source: Source


class MachineFacts(Model):
    """A cluster as its report or its maker describes it."""

    title: str
    report: Name = Field(description="the report that has it; comparisons stay within one report")
    nodes: Annotated[int, Field(ge=1)]
    sockets: Annotated[int, Field(ge=1)]
    cores_per_node: Annotated[int, Field(ge=1)]
    cpu: str
    idle: str = Field("", description="range: W of a node that does nothing")
    loaded: str = Field("", description="range: W of a node whose cores all compute")
    copying: str = Field("copying.tcp", description="range: B/s that a core sends and receives over TCP")
    links: dict[str, str] = Field(
        {}, description="level of a link -> its facts here, where the cluster has an older or a newer one"
    )
    source: Source


class Exchange(Model):
    """Point-to-point messages of a step with neighbours; without a count of bytes they follow a surface."""

    TOGETHER: ClassVar[tuple[tuple[str, ...], ...]] = (("exactly", "bytes", "bytes_per_surface"),)

    partners: str = Field(description="range: neighbours of a rank")
    rounds: str = Field(description="range: exchanges in a step")
    bytes: str = Field("", description="range: bytes to one neighbour")
    bytes_per_surface: str = Field(
        "", description="range: bytes for each element of a part's surface, which is (elements/ranks)^(2/3)"
    )


class Collective(Model):
    """Reductions of a step over all ranks."""

    count: str = Field(description="range: calls in a step")
    bytes: str = Field(description="range: bytes of each")


class Pairs(Model):
    """A message from every rank to its like on another node, and one back."""

    bytes: str = Field(description="range: bytes of each")


class Transpose(Model):
    """An exchange of everybody with everybody: transposed data of a step."""

    count: str = Field(description="range: transposes in a step")
    bytes: str = Field(description="range: bytes of all ranks together in one")
    group: str = Field(description="range: share of all ranks that take part in one")
    pieces: str = Field("", description="range: messages that the data of a pair of ranks goes in")


class Structure(Model):
    """What a rank does in a step where no profile and no formula gives it: assumed, and marked so."""

    exchange: Maybe[Exchange] = None
    pairs: Maybe[Pairs] = None
    allreduce: Maybe[Collective] = None
    transpose: Maybe[Transpose] = None


class CaseFacts(Model):
    """The size of a case."""

    work: Positive = Field(description="units of work in a step of all ranks, or of each rank for a grid")
    source: Source


class ModelledApplication(Model):
    """An application: its work and its pattern of communication."""

    TOGETHER: ClassVar[tuple[tuple[str, ...], ...]] = (("exactly", "grid", "structure"),)

    application: Name
    unit: str = Field(description="of the work")
    cost: dict[str, list[str]] = Field(
        description="cluster -> ranges whose product is the seconds for a unit of work on one core"
    )
    imbalance: str = Field("", description="range: the slowest rank's work over the mean")
    spread: str = Field(
        "", description="range: how many times as fast a core is where half of its node's cores are idle"
    )
    cases: Annotated[dict[str, CaseFacts], Field(min_length=1)]
    grid: Maybe[Literal["hpcg"]] = Field(None, description="hpcg: its pattern follows from the grid")
    structure: Maybe[Structure] = None
    note: str = ""


class Ranges(Model):
    """What is not known, by name."""

    ranges: dict[str, Range]


class Links(Model):
    """Networks by the name of their level."""

    links: dict[str, LinkFacts]


class WhatIfFile(Model):
    """A cluster for which a profiled job is forecast."""

    title: str
    nodes: Maybe[Count] = Field(None, description="nodes of the job")
    link: str = Field("", description="a link of this file, or of config/model/links.yaml or forecast.yaml")
    profiled_on: str = Field("", description="the link that the job was profiled on, named as `link`")
    faster: Positive = Field(
        1.0, description="how many times as fast a core computes as where the job was profiled"
    )
    watts: Maybe[Range] = Field(
        None, description="W of a node that runs the job: the energy of a job follows"
    )
    price: Maybe[Range] = Field(None, description="of a node for an hour: the cost of a job follows")
    links: dict[str, LinkFacts] = Field({})


class Machines(Model):
    """Clusters by name."""

    machines: dict[str, MachineFacts]


@dataclass(frozen=True)
class Inputs:
    """All that the model knows."""

    ranges: Mapping[str, Range]
    links: Mapping[str, LinkFacts]
    machines: Mapping[str, MachineFacts]
    applications: Mapping[str, ModelledApplication]

    def with_links(self, links: Mapping[str, LinkFacts]) -> Inputs:
        """Return these inputs with further links, which win over those of the same name."""
        return replace(self, links={**self.links, **links})

    @property
    def unknowns(self) -> dict[str, Range]:
        """Every range by the name of its unknown: those of the links as ``latency.ib-fdr`` and so on."""
        found = dict(self.ranges)
        for name, link in self.links.items():
            found |= {f"bandwidth.{name}": link.bandwidth, f"latency.{name}": link.latency}
        return found


def load(base: Path) -> Inputs:
    """Load ``config/model`` of a project; ConfigError with each fault at its line."""
    folder = base / FOLDER
    applications = {
        path.stem: models.load(ModelledApplication, path)
        for path in sorted((folder / "applications").glob("*.yaml"))
    }
    return Inputs(
        models.load(Ranges, folder / "ranges.yaml").ranges,
        models.load(Links, folder / "links.yaml").links,
        models.load(Machines, folder / "machines.yaml").machines,
        applications,
    )
