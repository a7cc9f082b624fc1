"""A modelled campaign: every draw of a cell is a run, which claims and pages read like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.base.campaigns import ModelledCampaign, ModelledCells
from analysis.base.models import as_list
from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import FOLDER, Inputs, ModelledApplication, load
from analysis.model.network import Network
from analysis.model.patterns import of_grid, of_structure
from analysis.schema.frames import blank, to_dataset

ASSUMED = "draw, assumed structure"  # of an application whose messages nobody has profiled
DRAWN = "draw"  # `question` of a random draw; of a sweep ``sweep <unknown> <value>``


def seconds(
    inputs: Inputs, draws: Draws, application: ModelledApplication, case: str, cell: Mapping[str, Any]
) -> Array:
    """Return the seconds of one step of a cell, one value a draw: work of the slowest rank, then messages.

    `cell` has ``cluster interconnect nodes ranks_per_node``.
    """
    nodes, each = cell["nodes"], cell["ranks_per_node"]
    work = application.cases[case].work
    cost = draws[application.cost[cell["cluster"]]]
    if application.grid is not None:  # so much on every rank
        edge = round(work ** (1 / 3))
        pattern, share = of_grid(edge, nodes, each), work
    else:
        assert application.structure is not None  # the model sees to it
        pattern = of_structure(application.structure, draws, work, nodes, each)
        share = work / (nodes * each)
    computing = share * cost * (draws[application.imbalance] if nodes * each > 1 else 1.0)
    network = Network.drawn(inputs, draws, cell["interconnect"])
    found: Array = computing + network.step(pattern, nodes, each)
    return found


def runs(inputs: Inputs, declared: ModelledCampaign, name: str) -> xr.Dataset:
    """Make the runs of a modelled campaign, kind ``runs``: a row for each draw of each cell.

    `elapsed` is the time of one step and `figure_of_merit`, where more is better, steps in a second; `repeat`
    counts the draws, the same for all cells; `question` tells draws from sweeps.
    """
    draws = draw(inputs.unknowns, declared.draws, declared.seed)
    swept = [f"sweep {one} {draws[one][at]:.6g}" if one else "" for at, one in enumerate(draws.swept)]
    frames = []
    for number, (application, cell) in enumerate(_cells(inputs, declared.cells)):
        found = seconds(inputs, draws, application, cell["case"], cell)
        row = blank("runs") | {key: value for key, value in cell.items() if key in blank("runs")}
        row |= {"campaign": name, "evidence": "modelled", "valid": True, "timing": True, "exit_code": 0}
        row |= {"ranks": cell["nodes"] * cell["ranks_per_node"], "application": application.application}
        frame = pd.DataFrame({key: [value] * len(draws) for key, value in row.items()})
        frame["run"] = [f"{number:03d}-{at:04d}" for at in range(len(draws))]
        frame["repeat"] = np.arange(len(draws))
        drawn = DRAWN if application.grid else ASSUMED
        frame["question"] = [one or drawn for one in swept]
        frame["elapsed"] = found
        frame["figure_of_merit"] = 1 / found if application.grid else found
        frame["figure_of_merit_unit"] = "1/s" if application.grid else "s"
        frames.append(frame)
    return to_dataset(frames, "runs")


def _cells(
    inputs: Inputs, declared: Sequence[ModelledCells]
) -> Iterator[tuple[ModelledApplication, dict[str, Any]]]:
    for group in declared:
        application = inputs.applications[group.model]
        for cluster in as_list(group.cluster):
            machine = inputs.machines[cluster]
            for case in as_list(group.case):
                for nodes in as_list(group.nodes):
                    for link in as_list(group.interconnect):
                        yield (
                            application,
                            {
                                **group.factors,
                                "cluster": cluster,
                                "cpu": machine.cpu,
                                "case": case,
                                "nodes": nodes,
                                "ranks_per_node": group.ranks_per_node or machine.cores_per_node,
                                "interconnect": link,
                            },
                        )


def modelled(base: Path, declared: ModelledCampaign, name: str) -> dict[str, xr.Dataset]:
    """Make the datasets of a modelled campaign of a project: runs, and the files that they follow from."""
    paths = sorted((base / FOLDER).rglob("*.yaml"))
    files = [
        {
            "path": path.relative_to(base).as_posix(),
            "complete": True,
            "bytes": path.stat().st_size,
            "checksum": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in paths
    ]
    return {"runs": runs(load(base), declared, name), "files": to_dataset([pd.DataFrame(files)], "files")}
