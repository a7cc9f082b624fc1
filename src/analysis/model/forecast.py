"""The reports' applications on more nodes and on faster links: bands that nothing was held against.

What is forecast are steps of the model's own cells with another link or number of nodes, processors as in the
report. Where parts become smaller than what makes sense of a pattern there is no forecast.
"""

from __future__ import annotations

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
# Nodes up to which the model was held against steps over several links, up to which claims take that error as
# it is, and the greatest ratio of two numbers of nodes whose speedup it was held against.
SEEN, CLAIMED, SPREAD = 4, 32, 32
# The least part that makes sense: one with something inside that is not at its surface; one value.
INSIDE, VALUE = 27.0, 16.0


def inputs_of(base: Path) -> Inputs:
    """Load what the model knows of a project with the links that only forecasts ask for."""
    return load(base).with_links(models.load(Links, base / FOLDER / "forecast.yaml").links)


def widened(widening: Mapping[str, float], links: Iterable[str], before: int, nodes: int) -> float:
    """Return the relative error of a forecast from one number of nodes to another.

    As far as claims go it is theirs. Beyond `CLAIMED` nodes that of links grows by as much again with every
    further factor of nodes as great as the one from where it was seen to there; that of numbers of nodes with
    every further factor of `SPREAD`. The greater of both counts. That errors go on growing so is assumed.
    """
    links = list(links)
    most = max(before, nodes)
    further = max(0.0, math.log(most / CLAIMED) / math.log(CLAIMED / SEEN))
    of_links = math.pow(1 + widened_by(widening, links), 1 + further)
    if before == nodes:
        return of_links - 1
    apart = max(1.0, abs(math.log(nodes / before)) / math.log(SPREAD))
    of_nodes = math.pow(1 + widened_by(widening, links, shared_work=True), apart)
    return max(of_links, of_nodes) - 1


def forecast(
    inputs: Inputs,
    widening: Mapping[str, float],
    reports: Sequence[Mapping[str, Any]],
    links: Sequence[str],
    nodes: Sequence[int],
) -> pd.DataFrame:
    """Forecast the cells of some reports on other links and numbers of nodes, a row a report, link and count.

    Each of `reports` is one cell with the report's link and its number of nodes, as in a modelled campaign.
    Columns ``model cluster case report_link report_nodes link nodes ranks part unit sense``, and of `ratio`,
    how many times as fast the link is as the report's on as many nodes, and of `speedup`, how many times as
    fast (weak scaling: as much work in the time) it is as the report's link on the report's nodes: the median
    of the draws, the ends of the central ones ``_low _high``, and these widened, ``_least _most``. Where
    `sense` is false, the part of a rank being too small, they are NaN.
    """
    draws = draw(inputs.unknowns, DRAWS, SEED, sweep=False)
    rows = []
    for given in reports:
        (base,) = cells(inputs, [ModelledCells.model_validate(given)])
        rows += list(_rows(inputs, draws, widening, base, links, nodes))
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

    first = seconds(base.nodes, base.interconnect)
    for count in nodes:
        part, unit, least = part_of(base, draws, count)
        slow = seconds(count, base.interconnect) if part >= least else first
        more = count / base.nodes if base.application.grid else 1.0
        for link in links:
            row = {
                "model": base.declared.model,
                "cluster": base.cluster,
                "case": base.case,
                "report_link": base.interconnect,
                "report_nodes": base.nodes,
                "link": link,
                "nodes": count,
                "ranks": count * base.ranks_per_node,
                "part": part,
                "unit": unit,
                "sense": part >= least,
            }
            fast = seconds(count, link) if part >= least else np.full(DRAWS, np.nan)
            both = (base.interconnect, link)
            alike = widened(widening, both, count, count)
            # As much work on each rank as in the report leaves no caches to come into play.
            apart = alike if base.application.grid else widened(widening, both, base.nodes, count)
            ratio, speedup = slow / fast, more * first / fast
            yield row | _band("ratio", ratio, alike) | _band("speedup", speedup, apart)


def _band(name: str, values: Array, error: float) -> dict[str, float]:
    (low, high), middle = central(values), np.median(values)
    ends = {"": middle, "_low": low, "_high": high, "_least": low / (1 + error), "_most": high * (1 + error)}
    return {f"{name}{end}": float(value) for end, value in ends.items()}


def part_of(base: Cell, draws: Draws, nodes: int) -> tuple[float, str, float]:
    """Return how much of a case a rank has on a number of nodes, the unit, and the least that makes sense.

    Of a grid its points, of elements their number, of transposed data the B of a message of the least draw;
    a benchmark of calls has no case.
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
