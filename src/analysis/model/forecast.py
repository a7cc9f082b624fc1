"""The reports' applications on more nodes and on faster links: bands that nothing was compared with.

A forecast has the steps of the model's own cells with another link or number of nodes, and the report's
processors. There is none where the parts of a rank become too small for the pattern to make sense.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.base import models
from analysis.model.campaign import Cell, cells, step
from analysis.model.draws import Array, Draws, central, draw
from analysis.model.inputs import FOLDER, Inputs, Links, load
from analysis.schema.campaigns import ModelledCells, widened_by

DRAWS, SEED = 300, 1
# Nodes up to which claims use the error of links, which was measured on two; the greatest ratio of two
# numbers of nodes whose speedup was compared; how many times more nodes apply the factor of links again.
CLAIMED, SPREAD, FURTHER = 32, 32, 8
# The least part that makes sense: one with something inside its surface; one value.
INSIDE, VALUE = 27.0, 16.0


def inputs_of(base: Path) -> Inputs:
    """Load the model's inputs of a project with the links that only forecasts use."""
    return load(base).with_links(models.load(Links, base / FOLDER / "forecast.yaml").links)


def forecast_error(widening: Mapping[str, float], links: Iterable[str], before: int, nodes: int) -> float:
    """Return the relative error of a forecast from one number of nodes to another.

    Within the range of claims it is theirs. Beyond `CLAIMED` nodes the factor of links applies once more with
    every further factor of `FURTHER` in nodes; the factor of numbers of nodes with every further factor of
    `SPREAD`. The greater of both is used. This growth is assumed.
    """
    links = list(links)
    further = max(0.0, math.log(max(before, nodes) / CLAIMED) / math.log(FURTHER))
    of_links = math.pow(1 + widened_by(widening, links), 1 + further)
    if before == nodes:
        return of_links - 1
    times = max(1.0, abs(math.log(nodes / before)) / math.log(SPREAD))
    of_nodes = math.pow(1 + widened_by(widening, links, shared_work=True), times)
    return max(of_links, of_nodes) - 1


def forecast(
    inputs: Inputs,
    widening: Mapping[str, float],
    reports: Sequence[Mapping[str, Any]],
    links: Sequence[str],
    nodes: Sequence[int],
) -> pd.DataFrame:
    """Forecast the cells of some reports on other links and numbers of nodes, a row per report, link, count.

    Each of `reports` is one cell with the report's link and its number of nodes, as in a modelled campaign.
    Columns ``model cluster case report_link report_nodes link nodes ranks part unit sense``, and of `ratio`,
    how many times as fast the link is as the report's on as many nodes, and of `speedup`, how many times as
    fast (weak scaling: as much work in the time) it is as the report's link on the report's nodes: the median
    of the draws, the ends of the central ones ``_low _high``, and these widened, ``_least _most``. Where
    `sense` is false, the part of a rank being too small, they are NaN.
    """
    draws = draw(inputs.unknowns, DRAWS, SEED, sweep=False)
    rows: list[dict[str, Any]] = []
    for given in reports:
        (base,) = cells(inputs, [ModelledCells.model_validate(given)])
        rows += _rows(inputs, draws, widening, base, links, nodes)
    return pd.DataFrame(rows)


def _rows(
    inputs: Inputs,
    draws: Draws,
    widening: Mapping[str, float],
    base: Cell,
    links: Sequence[str],
    nodes: Sequence[int],
) -> Iterator[dict[str, Any]]:
    def seconds(count: int, link: str) -> Array:
        given = base.declared.model_copy(update={"nodes": count, "interconnect": link})
        (cell,) = cells(inputs, [given])
        return step(inputs, draws, cell).seconds

    report: dict[str, Any] = {"model": base.declared.model, "cluster": base.cluster, "case": base.case}
    report |= {"report_link": base.interconnect, "report_nodes": base.nodes}
    first = seconds(base.nodes, base.interconnect)
    for count in nodes:
        part, unit, least = part_of(base, draws, count)
        sense = part >= least
        slow = seconds(count, base.interconnect) if sense else first
        more = count / base.nodes if base.application.grid else 1.0
        for link in links:
            fast = seconds(count, link) if sense else np.full(DRAWS, np.nan)
            both = (base.interconnect, link)
            # As much work on each rank as in the report: no caches come into play.
            before = count if base.application.grid else base.nodes
            yield {
                **report, "link": link, "nodes": count, "ranks": count * base.ranks_per_node,
                "part": part, "unit": unit, "sense": sense,
                **_band("ratio", slow / fast, forecast_error(widening, both, count, count)),
                **_band("speedup", more * first / fast, forecast_error(widening, both, before, count)),
            }  # fmt: skip


def _band(name: str, values: Array, error: float) -> dict[str, float]:
    (low, high), middle = central(values), np.median(values)
    ends = {"": middle, "_low": low, "_high": high, "_least": low / (1 + error), "_most": high * (1 + error)}
    return {f"{name}{end}": float(value) for end, value in ends.items()}


def part_of(base: Cell, draws: Draws, nodes: int) -> tuple[float, str, float]:
    """Return how much of a case a rank has on a number of nodes, the unit, and the least that makes sense.

    Points of a grid, elements of a mesh, or for transposed data the B of a message in the least draw; a
    benchmark of calls has no case.
    """
    application, ranks = base.application, nodes * base.ranks_per_node
    work = application.cases[base.case].work
    if application.grid is not None:
        return work, "points", INSIDE
    one = application.structure
    if one is not None and one.transpose is not None:
        members = np.maximum(2.0, draws[one.transpose.group] * ranks)
        return float(np.min(draws[one.transpose.bytes] / ranks / members)), "B in a message", VALUE
    if one is not None and one.exchange is not None:
        return work / ranks, application.unit, INSIDE
    return 1.0, "", 1.0
