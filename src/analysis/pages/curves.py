"""The model beside published curves over numbers of nodes, and how far its bands are widened because of them.

Of each curve the time on the fewest nodes is taken and all else predicted. What was seen is held against the
band that the draws give, as a claim is: an error is how far it lies beyond the nearer end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from analysis.base.models import Model, Positive
from analysis.estimates.campaign import Campaign
from analysis.model.draws import Array, Draws, central, draw
from analysis.model.inputs import Inputs, Structure
from analysis.model.network import Network
from analysis.model.patterns import of_grid, of_structure

DRAWS, SEED = 500, 1
FLOPS = 290.0  # of HPCG for a point in an iteration
CELLS = {"channel 3M PCG": 2_995_200, "channel 24M PCG": 23_961_600}  # of OpenFOAM's meshes
# Links of the systems that OpenFOAM was run on. Left out: TSUBAME, whose times lie up to 22-fold apart.
SYSTEMS = {
    "AWS c4.8xlarge (10GbE)": "10gbe", "FOCUS H (10GbE)": "10gbe", "FOCUS C (1GbE)": "1gbe",
    "FOCUS A (QDR)": "ib-qdr", "Azure A9 (QDR)": "ib-qdr", "FOCUS D (FDR)": "ib-fdr",
    "FOCUS F (FDR)": "ib-fdr", "KNSC (FDR)": "ib-fdr", "Reedbush-U (EDR)": "ib-edr",
}  # fmt: skip
ONE_PROCESSOR = ("FOCUS A (QDR)", "FOCUS C (1GbE)")  # the same processor and library, two links
TCP, RDMA = "tcp", "rdma"
HELD = ("low", "predicted", "high", "seen", "error")


class PublishedCurve(Model):
    """A curve of explicit stencils that no campaign has: ``config/model/validation.yaml``."""

    name: str
    link: str
    points: Annotated[int, Field(ge=1)] = Field(description="of the grid")
    ranks_per_node: Annotated[int, Field(ge=1)]
    seconds: dict[int, Positive] = Field(
        description="number of nodes -> s of a step, median where several ran"
    )
    source: str


@dataclass(frozen=True)
class Curve:
    """Times of one case on one system: what was seen in s by number of nodes, and what each draw predicts."""

    name: str
    link: str
    kind: str
    seen: Mapping[int, float]
    predicted: Mapping[int, Array]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield what more nodes bring: from the fewest to each number, and from each number to the next."""
        counts = sorted(self.seen)
        pairs = {(counts[0], more): "first" for more in counts[2:]}
        pairs |= dict.fromkeys(itertools.pairwise(counts), "next")
        for (few, more), what in pairs.items():
            ratio = self.predicted[few] / self.predicted[more]
            found = against(ratio, self.seen[few] / self.seen[more])
            yield {"curve": self.name, "kind": self.kind, "step": what, "nodes": f"{few} to {more}", **found}


def against(predicted: Array, seen: float) -> dict[str, float]:
    """Hold a value against its band: ``low predicted high seen error``, the error from the nearer end."""
    (low, high), middle = central(predicted), float(np.median(predicted))
    nearer = float(np.clip(seen, low, high))
    return {"low": low, "predicted": middle, "high": high, "seen": seen, "error": nearer / seen - 1}


def drawn(inputs: Inputs) -> Draws:
    """Draw what is not known, without the sweeps."""
    whole = draw(inputs.unknowns, DRAWS, SEED)
    return Draws({name: values[:DRAWS] for name, values in whole.values.items()}, whole.swept[:DRAWS])


def venus(campaign: Campaign, inputs: Inputs, draws: Draws) -> Iterator[Curve]:
    """Yield HPCG with 104 cubed on nodes of Venus, 8 ranks each, over QDR: s for the work of one node."""
    runs = campaign.runs
    runs = runs[(runs["application"] == "hpcg") & (runs["cluster"] == "venus") & (runs["case"] == "104³")]
    rate: dict[Any, float] = runs.groupby(["mpi", "nodes"])["figure_of_merit"].median().to_dict()
    network = Network.drawn(inputs, draws, "ib-qdr")
    for library, members in itertools.groupby(sorted(rate), key=lambda one: one[0]):
        counts = [nodes for _, nodes in members]
        if len(counts) < 2:
            continue
        flop = 8 * FLOPS * 104**3 / 1e9
        seen = {nodes: flop / rate[library, nodes] for nodes in counts}
        messages = {nodes: network.step(of_grid(104, nodes, 8), nodes, 8) for nodes in counts}
        few = counts[0]
        work = few * seen[few] - messages[few]
        predicted = {nodes: (work + messages[nodes]) / nodes for nodes in counts}
        yield Curve(f"HPCG 104³, Venus, {library}", "ib-qdr", RDMA, seen, predicted)


def openfoam(campaign: Campaign, inputs: Inputs, draws: Draws) -> Iterator[Curve]:
    """Yield OpenFOAM with PCG on each system, case and library: s for a step."""
    runs = campaign.runs
    runs = runs[runs["case"].isin(list(CELLS)) & runs["cluster"].isin(list(SYSTEMS))]
    several: dict[Any, int] = runs.groupby("cluster")["mpi"].nunique().to_dict()
    for (cluster, case, library), part in runs.groupby(["cluster", "case", "mpi"], sort=True):
        seen, ranks = _full(part)
        if len(seen) < 2:
            continue
        link = SYSTEMS[str(cluster)]
        kind = TCP if inputs.links[link].kind == TCP else RDMA
        name = f"OpenFOAM {str(case).split()[1]}, {cluster}" + (
            f", {library}" if several[cluster] > 1 else ""
        )
        predicted = _steps(inputs, draws, link, CELLS[str(case)], seen, ranks)
        yield Curve(name, link, kind, seen, predicted)


def _full(part: pd.DataFrame) -> tuple[dict[int, float], dict[int, int]]:
    """Return the time and the ranks of each number of nodes, of the usual ranks a node."""
    each = part["ranks"] / part["nodes"]
    part = part[each == each.mode().max()]
    by = part.groupby("nodes")
    seen: dict[Any, float] = by["figure_of_merit"].median().to_dict()
    ranks: dict[Any, int] = by["ranks"].first().astype(int).to_dict()
    return seen, ranks


def _steps(
    inputs: Inputs, draws: Draws, link: str, cells: int, seen: Mapping[int, float], ranks: Mapping[int, int]
) -> dict[int, Array]:
    """Predict the s of a step of OpenFOAM: the work of the fewest nodes, shared, and iterations' messages."""
    few = min(seen)
    each = ranks[few] // few
    network = Network.drawn(inputs, draws, link)
    iterations = seen[few] / (draws["cost.openfoam"] * cells / ranks[few])
    messages = {
        n: iterations * network.step(of_structure(_PCG, draws, cells, n, each), n, each) for n in seen
    }
    # What the ranks of one node say to each other is in its time.
    work = seen[few] - messages[few] * (few > 1)
    return {n: work * few / n + messages[n] * (n > 1) for n in seen}


_PCG = Structure.model_validate(
    {
        "exchange": {
            "partners": "partners.openfoam",
            "rounds": "rounds.openfoam",
            "bytes_per_surface": "surface.openfoam",
        },
        "allreduce": {"count": "reductions.openfoam", "bytes": "reduced.openfoam"},
    }
)


_STENCIL = Structure.model_validate(
    {
        "exchange": {
            "partners": "partners.stencil",
            "rounds": "rounds.stencil",
            "bytes_per_surface": "surface.stencil",
        }
    }
)


def published(one: PublishedCurve, inputs: Inputs, draws: Draws) -> Curve:
    """Return a curve of explicit stencils: the work of the fewest nodes shared, and a step's messages."""
    network, few, each = Network.drawn(inputs, draws, one.link), min(one.seconds), one.ranks_per_node
    messages = {
        n: network.step(of_structure(_STENCIL, draws, one.points, n, each), n, each) * (n > 1)
        for n in one.seconds
    }
    work = one.seconds[few] - messages[few]
    predicted = {n: work * few / n + messages[n] for n in one.seconds}
    kind = TCP if inputs.links[one.link].kind == TCP else RDMA
    return Curve(one.name, one.link, kind, one.seconds, predicted)


def links(curves: Iterable[Curve]) -> Iterator[dict[str, Any]]:
    """Yield link over link on the same processor and number of nodes."""
    found = {name: one for one in curves for name in ONE_PROCESSOR if one.name.endswith(f"3M, {name}")}
    quick, slow = (found[name] for name in ONE_PROCESSOR)
    for nodes in sorted(set(quick.seen) & set(slow.seen) - {1}):
        ratio = slow.predicted[nodes] / quick.predicted[nodes]
        what = f"OpenFOAM, QDR over 1GbE, {nodes} nodes"
        yield {"what": what, "link": slow.link, **against(ratio, slow.seen[nodes] / quick.seen[nodes])}


def table(curves: Iterable[Curve]) -> pd.DataFrame:
    """List what more nodes bring on each curve: columns ``curve kind step nodes`` and those of `against`."""
    return pd.DataFrame([row for one in curves for row in one.rows()])


# ---- how far bands are widened -------------------------------------------------------------------------


def factor(found: pd.DataFrame) -> pd.Series:
    """Return by what factor less 1 what was seen lies beyond the nearer end of its band, 0 within it."""
    off = 1 + found["error"]
    return off.where(off > 1, 1 / off) - 1


def rounded_up(worst: float) -> float:
    """Round up to the next twentieth."""
    return float(np.ceil(20 * worst - 1e-9) / 20)


def widening(whole: pd.DataFrame, scaling: pd.DataFrame, tcp: Iterable[str]) -> dict[str, float]:
    """Find how far a band is to be widened: the greatest factor beyond a band that was seen, less 1.

    `whole` are ratios and times of whole steps on one number of nodes, for 1GbE and for all other links;
    `scaling` is what more nodes bring, for the links `tcp` and for all other links: from one number to the
    next (`next`) and from any to any (`nodes`). Rounded up to the next twentieth.
    """
    slow = whole["link"].isin(("1gbe", "veth-1gbit"))
    found = {"default": factor(whole[~slow]).max(), "1gbe": factor(whole).max()}
    for name, part in {"next": scaling[scaling["step"] == "next"], "nodes": scaling}.items():
        by = factor(part).groupby(part["kind"] == TCP).max()
        found[name] = by[False]
        found |= {f"{name}.{link}": by[True] for link in tcp}
    return {name: rounded_up(worst) for name, worst in found.items()}


def left_out(scaling: pd.DataFrame) -> pd.DataFrame:
    """Leave each curve out and hold it against bands widened by the others of its kind.

    Columns ``curve kind steps widened_by own covered``: steps from one number of nodes to the next, the
    widening from the other curves, the factor less 1 that the curve itself would take, and the steps within.
    """
    steps = scaling[scaling["step"] == "next"].assign(off=lambda one: factor(one))
    rows = []
    for (curve, kind), part in steps.groupby(["curve", "kind"], sort=False):
        others = steps[(steps["kind"] == kind) & (steps["curve"] != curve)]
        wide = rounded_up(others["off"].max())
        covered = int((part["off"] <= wide + 1e-9).sum())
        rows.append((curve, kind, len(part), wide, part["off"].max(), covered))
    return pd.DataFrame(rows, columns=["curve", "kind", "steps", "widened_by", "own", "covered"])
