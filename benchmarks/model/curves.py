"""The model compared with published curves over numbers of nodes, and how far they widen its bands.

The model gets the time on the fewest nodes of each curve and predicts the others. A measured value is
compared with the band of the draws, as a claim is: its error is the distance beyond the nearer end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

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
# Links of the systems that OpenFOAM was run on. Left out: TSUBAME, whose times differ up to 22-fold.
SYSTEMS = {
    "AWS c4.8xlarge (10GbE)": "10gbe", "FOCUS H (10GbE)": "10gbe",
    "FOCUS A (QDR)": "ib-qdr", "Azure A9 (QDR)": "ib-qdr", "FOCUS D (FDR)": "ib-fdr",
    "FOCUS F (FDR)": "ib-fdr", "KNSC (FDR)": "ib-fdr", "Reedbush-U (EDR)": "ib-edr",
}  # fmt: skip
TCP, RDMA = "tcp", "rdma"
COMPARED = ("low", "predicted", "high", "measured", "error")


class PublishedCurve(Model):
    """A curve that no campaign has: ``config/model/validation.yaml``."""

    name: str
    code: Literal["stencil", "openfoam"] = Field("stencil", description="explicit stencils, or OpenFOAM")
    link: str
    points: Annotated[int, Field(ge=1)] = Field(description="of the grid, or cells of the mesh")
    ranks_per_node: Annotated[int, Field(ge=1)]
    seconds: dict[int, Positive] = Field(
        description="number of nodes -> s of a step or a run, median where several ran"
    )
    source: str


@dataclass(frozen=True)
class Curve:
    """Times of one case on one system by number of nodes, in s: measured ones, and those of each draw."""

    name: str
    link: str
    kind: str
    measured: Mapping[int, float]
    predicted: Mapping[int, Array]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the speedups: from the fewest nodes to each number, and from each number to the next."""
        counts = sorted(self.measured)
        pairs = {(counts[0], more): "first" for more in counts[2:]}
        pairs |= dict.fromkeys(itertools.pairwise(counts), "next")
        for (few, more), what in pairs.items():
            ratio = self.predicted[few] / self.predicted[more]
            found = band_error(ratio, self.measured[few] / self.measured[more])
            yield {"curve": self.name, "kind": self.kind, "step": what, "nodes": f"{few} to {more}", **found}


def band_error(predicted: Array, measured: float) -> dict[str, float]:
    """Compare a value with its band: ``low predicted high measured error``, the error from the nearer end."""
    (low, high), middle = central(predicted), float(np.median(predicted))
    error = float(np.clip(measured, low, high)) / measured - 1
    return {"low": low, "predicted": middle, "high": high, "measured": measured, "error": error}


def drawn(inputs: Inputs) -> Draws:
    """Draw the unknowns, without the sweeps."""
    return draw(inputs.unknowns, DRAWS, SEED, sweep=False)


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
        measured = {nodes: flop / rate[library, nodes] for nodes in counts}
        messages = {nodes: network.step(of_grid(104, nodes, 8), nodes, 8) for nodes in counts}
        few = counts[0]
        work = few * measured[few] - messages[few]
        predicted = {nodes: (work + messages[nodes]) / nodes for nodes in counts}
        yield Curve(f"HPCG 104³, Venus, {library}", "ib-qdr", RDMA, measured, predicted)


def openfoam(campaign: Campaign, inputs: Inputs, draws: Draws) -> Iterator[Curve]:
    """Yield OpenFOAM with PCG on each system, case and library: s for a step."""
    runs = campaign.runs
    runs = runs[runs["case"].isin(list(CELLS)) & runs["cluster"].isin(list(SYSTEMS))]
    several: dict[Any, int] = runs.groupby("cluster")["mpi"].nunique().to_dict()
    for (cluster, case, library), part in runs.groupby(["cluster", "case", "mpi"], sort=True):
        measured, ranks = _full(part)
        if len(measured) < 2:
            continue
        link = SYSTEMS[str(cluster)]
        kind = TCP if inputs.links[link].kind == TCP else RDMA
        name = f"OpenFOAM {str(case).split()[1]}, {cluster}" + (
            f", {library}" if several[cluster] > 1 else ""
        )
        predicted = _steps(inputs, draws, link, CELLS[str(case)], measured, ranks)
        yield Curve(name, link, kind, measured, predicted)


def _full(part: pd.DataFrame) -> tuple[dict[int, float], dict[int, int]]:
    """Return the time and the ranks of each number of nodes, with the usual number of ranks per node."""
    each = part["ranks"] / part["nodes"]
    part = part[each == each.mode().max()]
    by = part.groupby("nodes")
    measured: dict[Any, float] = by["figure_of_merit"].median().to_dict()
    ranks: dict[Any, int] = by["ranks"].first().astype(int).to_dict()
    return measured, ranks


def _steps(
    inputs: Inputs, draws: Draws, link: str, cells: int, times: Mapping[int, float], ranks: Mapping[int, int]
) -> dict[int, Array]:
    """Predict the s of a step of OpenFOAM: the work of the fewest nodes, shared, and the messages."""
    few = min(times)
    each = ranks[few] // few
    network = Network.drawn(inputs, draws, link)
    iterations = times[few] / (draws["cost.openfoam"] * cells / ranks[few])
    messages = {
        n: iterations * network.step(of_structure(_PCG, draws, cells, n, each), n, each) for n in times
    }
    # The time on one node includes the messages inside of it.
    work = times[few] - messages[few] * (few > 1)
    return {n: work * few / n + messages[n] * (n > 1) for n in times}


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
    """Return a curve: the work of the fewest nodes, shared, and a step's messages."""
    network, few, each = Network.drawn(inputs, draws, one.link), min(one.seconds), one.ranks_per_node
    kind = TCP if inputs.links[one.link].kind == TCP else RDMA
    if one.code == "openfoam":
        ranks = {n: n * each for n in one.seconds}
        predicted = _steps(inputs, draws, one.link, one.points, one.seconds, ranks)
        return Curve(one.name, one.link, kind, one.seconds, predicted)
    messages = {
        n: network.step(of_structure(_STENCIL, draws, one.points, n, each), n, each) * (n > 1)
        for n in one.seconds
    }
    work = one.seconds[few] - messages[few]
    predicted = {n: work * few / n + messages[n] for n in one.seconds}
    return Curve(one.name, one.link, kind, one.seconds, predicted)


def table(curves: Iterable[Curve]) -> pd.DataFrame:
    """List the speedups of each curve: columns ``curve kind step nodes`` and those of `band_error`."""
    return pd.DataFrame([row for one in curves for row in one.rows()])


# ---- how far bands are widened -------------------------------------------------------------------------


def factor(found: pd.DataFrame) -> pd.Series:
    """Return the factor less 1 by which a value lies beyond the nearer end of its band, 0 inside."""
    off = 1 + found["error"]
    return off.where(off > 1, 1 / off) - 1


def rounded_up(worst: float) -> float:
    """Round up to the next twentieth."""
    return float(np.ceil(20 * worst - 1e-9) / 20)


def widening(whole: pd.DataFrame, scaling: pd.DataFrame, tcp: Iterable[str]) -> dict[str, float]:
    """Find how far bands are widened: the greatest factor less 1 by which a value lies beyond its band.

    `whole` has ratios and times of whole steps on one number of nodes, for 1GbE and for all other links.
    `scaling` has speedups, for the links `tcp` and for all other links: from one number of nodes to the next
    (`next`) and from any to any (`nodes`). Rounded up to the next twentieth.
    """
    slow = whole["link"].isin(("1gbe", "veth-1gbit"))
    found = {"default": factor(whole[~slow]).max(), "1gbe": factor(whole).max()}
    for name, part in {"next": scaling[scaling["step"] == "next"], "nodes": scaling}.items():
        by = factor(part).groupby(part["kind"] == TCP).max()
        found[name] = by[False]
        found |= {f"{name}.{link}": by[True] for link in tcp}
    return {name: rounded_up(worst) for name, worst in found.items()}


def cross_validation(scaling: pd.DataFrame) -> pd.DataFrame:
    """Leave each curve out and compare it with bands that the other curves of its kind have widened.

    Columns ``curve kind steps widened_by own covered``: steps from one number of nodes to the next, the
    widening from the other curves, the widening that the curve itself needs, and the steps inside.
    """
    steps = scaling[scaling["step"] == "next"].assign(off=lambda one: factor(one))
    rows = []
    for (curve, kind), part in steps.groupby(["curve", "kind"], sort=False):
        others = steps[(steps["kind"] == kind) & (steps["curve"] != curve)]
        wide = rounded_up(others["off"].max())
        covered = int((part["off"] <= wide + 1e-9).sum())
        rows.append((curve, kind, len(part), wide, part["off"].max(), covered))
    return pd.DataFrame(rows, columns=["curve", "kind", "steps", "widened_by", "own", "covered"])


# ---- the model scored against "time ~ 1/nodes" ---------------------------------------------------------

MISSES = 0.1  # of the values may lie outside of a calibrated band
MANY = 16  # nodes from which a step starts where networks break down
RIVALS = {"model": "predicted", "time ~ 1/nodes": "null"}


def steps(scaling: pd.DataFrame) -> pd.DataFrame:
    """Return the steps from one number of nodes to the next: with ``system few null``, what 1/nodes predicts.

    Libraries and meshes of one system are one source: they share its network.
    """
    found = scaling[scaling["step"] == "next"].reset_index(drop=True)
    nodes = found["nodes"].str.split(" to ", expand=True).astype(int)
    names = found["curve"].str.split(" ", n=2, expand=True)
    system = names[0] + " " + names[2].str.split(",").str[0]
    return found.assign(system=system, few=nodes[0], null=nodes[1] / nodes[0])


def scores(scaling: pd.DataFrame) -> pd.DataFrame:
    """Score the model and "time ~ 1/nodes" by their calibrated 90 % bands, each system left out in turn.

    A band has the 5 % and 95 % quantiles of ln(measured / predicted) on the other systems. The interval score
    is its width, and 20 times the distance of what lies outside (Gneiting and Raftery, 2007): less is better.
    Columns ``kind rival steps systems median_error covered covered_from_16_nodes score``.
    """
    rows = []
    for kind, part in steps(scaling).groupby("kind", sort=False):
        many = part["few"] >= MANY
        for rival, column in RIVALS.items():
            off = pd.Series(np.log(part["measured"] / part[column]), index=part.index)
            each = pd.concat([_left_out(off, part["system"] == one) for one in part["system"].unique()])
            row = (kind, rival, len(part), part["system"].nunique(), off.abs().median())
            inside = each["inside"].reindex(part.index)
            counts = (_of(inside), _of(inside[many]))
            rows.append((*row, *counts, each["score"].mean()))
    names = ["kind", "rival", "steps", "systems", "median_error", "covered"]
    return pd.DataFrame(rows, columns=[*names, f"covered_from_{MANY}_nodes", "score"])


def _left_out(off: pd.Series, out: pd.Series) -> pd.DataFrame:
    others, own = np.sort(off[~out]), off[out]
    last, rank = len(others) - 1, (len(others) + 1) * MISSES / 2
    low, high = others[max(int(rank) - 1, 0)], others[min(last, last + 1 - int(rank))]
    beyond = np.maximum(low - own, 0) + np.maximum(own - high, 0)
    return pd.DataFrame({"inside": beyond == 0, "score": high - low + 2 / MISSES * beyond})


def _of(inside: pd.Series) -> str:
    share = f" ({100 * inside.mean():.0f} %)" if len(inside) else ""
    return f"{inside.sum()} of {len(inside)}{share}"
