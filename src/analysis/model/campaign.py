"""A modelled campaign: every draw of a cell is a run, which claims and pages read like any other."""

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from analysis.base.models import one_or_more
from analysis.model import ASSUMED, DRAWN
from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import FOLDER, Inputs, MachineFacts, ModelledApplication, load
from analysis.model.network import Network
from analysis.model.patterns import MessagePattern, of_grid, of_structure
from analysis.schema.campaigns import ModelledCampaign, ModelledCells
from analysis.schema.factors import FACTORS
from analysis.schema.registry import blank, to_dataset

SHARING = "sharing.jobs"  # unknown: share of the time in which jobs at once use the adapter at once
WAITING = "power.waiting"  # unknown: power above idle while waiting, over that while computing
SMALL = 8  # B of the message whose latency a benchmark of calls has


@dataclass(frozen=True)
class Cell:
    """One run of the model; `declared` is the group that it belongs to."""

    application: ModelledApplication
    machine: MachineFacts
    cluster: str
    case: str
    nodes: int
    ranks_per_node: int
    interconnect: str
    declared: ModelledCells

    @property
    def jobs(self) -> int:
        """Jobs at once on the same nodes."""
        return int(self.declared.factors.get("concurrent_jobs", 1))

    @property
    def ranks(self) -> int:
        """Ranks of one job."""
        return self.nodes * self.ranks_per_node

    @property
    def row(self) -> dict[str, Any]:
        """The cell as values of kind ``runs``."""
        return {
            **self.declared.factors,
            **{name: getattr(self, name) for name in FACTORS if hasattr(self, name)},
            "cpu": self.machine.cpu,
            "application": self.application.application,
        }


@dataclass(frozen=True)
class StepTimes:
    """Times of one step in s, one value per draw: work of the slowest rank, and messages."""

    computing: Array
    messaging: Array

    @property
    def seconds(self) -> Array:
        """Return the whole step."""
        found: Array = self.computing + self.messaging
        return found


def step(inputs: Inputs, draws: Draws, cell: Cell) -> StepTimes:
    """Return the times of one step of a cell."""
    application, declared = cell.application, cell.declared
    pattern, share = _pattern(draws, cell)
    factors = application.cost.get(cell.cluster, [])
    cost = prod((draws[name] for name in factors), start=np.ones(len(draws))) if factors else 0.0
    cost = cost * draws[declared.slower] if declared.slower else cost
    if application.imbalance and cell.ranks > 1:
        cost = cost * draws[application.imbalance]
    if application.spread and 2 * cell.ranks_per_node * cell.jobs <= cell.machine.cores_per_node:
        cost = cost / draws[application.spread]
    link = cell.machine.links.get(cell.interconnect, cell.interconnect)
    network = Network.drawn(inputs, draws, link, cell.machine.copying)
    if cell.jobs > 1:
        network = replace(network, crowd=1 + (cell.jobs - 1) * draws[SHARING])
    if declared.in_switches:
        network = replace(network, in_switches=draws[declared.in_switches])
    messaging = network.step(pattern, cell.nodes, cell.ranks_per_node)
    return StepTimes(share * cost * np.ones(len(draws)), messaging)


def _pattern(draws: Draws, cell: Cell) -> tuple[MessagePattern, float]:
    """Return the messages of a step and the units of work of a rank."""
    application, work = cell.application, cell.application.cases[cell.case].work
    if application.grid is not None:  # every rank has this work
        return of_grid(round(work ** (1 / 3)), cell.nodes, cell.ranks_per_node), work
    assert application.structure is not None  # the model sees to it
    pattern = of_structure(application.structure, draws, work, cell.nodes, cell.ranks_per_node)
    return pattern, work / cell.ranks


def power(draws: Draws, cell: Cell, one: StepTimes) -> Array | None:
    """Return the mean power of a job's share of its nodes in W, None where their watts are not known.

    While it waits for messages a node draws between its idle and its loaded power.
    """
    if not cell.machine.idle:
        return None
    idle, loaded = draws[cell.machine.idle], draws[cell.machine.loaded]
    waiting = idle + (loaded - idle) * draws[WAITING]
    joules = one.computing * loaded + one.messaging * waiting
    found: Array = cell.nodes / cell.jobs * joules / one.seconds
    return found


def runs(inputs: Inputs, declared: ModelledCampaign, name: str) -> dict[str, xr.Dataset]:
    """Make the runs of a modelled campaign, kinds ``runs micro``: a row for each draw of each cell.

    `elapsed` is the time of one step and `figure_of_merit`, where more is better, steps per second; `repeat`
    counts the draws, the same for all cells; `question` separates draws from sweeps. Each of jobs at once is
    a run. Unknowns that change no cell of an application and a report are not swept there.
    """
    draws = draw(inputs.unknowns, declared.draws, declared.seed)
    swept = [f"sweep {one} {draws.values[one][at]:.6g}" if one else "" for at, one in enumerate(draws.swept)]
    drawn = []
    asked: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for cell in cells(inputs, declared.cells):
        draws.asked.clear()
        one = step(inputs, draws, cell)
        drawn.append((cell, one, power(draws, cell, one)))
        asked[cell.application.application, cell.machine.report] |= draws.asked
    parts, micro = [], []
    for number, (cell, one, watts) in enumerate(drawn):
        known = {"", *asked[cell.application.application, cell.machine.report]}
        kept = np.flatnonzero([unknown in known for unknown in draws.swept])
        profiled = cell.application.grid or not cell.application.cost  # what a benchmark calls is known
        labels = np.array([text or (DRAWN if profiled else ASSUMED) for text in swept], dtype=object)
        values = {"elapsed": one.seconds[kept], "repeat": kept, "question": labels[kept]}
        if watts is not None:
            values |= {"mean_power": watts[kept], "energy": (watts * one.seconds)[kept]}
        parts += [_part(name, number, cell, job, values) for job in range(cell.jobs)]
        if not cell.application.cost:
            micro.append(_calls(parts[-1][1], cell))
    return {"runs": to_dataset([_frame(parts)], "runs"), "micro": to_dataset(micro, "micro")}


_Part = tuple[dict[str, Any], dict[str, NDArray[Any]]]  # what all runs of a job share, and what each has


def _part(name: str, number: int, cell: Cell, job: int, values: dict[str, NDArray[Any]]) -> _Part:
    """Return the runs of one job of a cell; jobs at once have one position in the order of execution."""
    repeat, elapsed = values["repeat"], values["elapsed"]
    shared = cell.row | {"campaign": name, "evidence": "modelled", "valid": True, "timing": True}
    shared |= {"exit_code": 0, "figure_of_merit_unit": "1/s" if cell.application.grid else "s"}
    each = {
        "run": np.array([f"{number:03d}-{at:04d}-{job}" for at in repeat], dtype=object),
        "order": number * 100_000 + repeat if cell.jobs > 1 else np.full(len(repeat), -1),
        "figure_of_merit": 1 / elapsed if cell.application.grid else elapsed,
    }
    return shared, values | each


def _frame(parts: Sequence[_Part]) -> pd.DataFrame:
    """Put the runs of all jobs below each other, column by column: a frame of each would take a second."""
    known = blank("runs")
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(key for part in parts for side in part for key in side if key in known):
        columns[name] = np.concatenate(
            [
                np.asarray(each[name], dtype=object)
                if name in each
                else np.full(len(each["run"]), shared.get(name, known[name]), dtype=object)
                for shared, each in parts
            ]
        )
    return pd.DataFrame(columns, dtype=object)


def _calls(each: dict[str, NDArray[Any]], cell: Cell) -> pd.DataFrame:
    """Return the table that a benchmark of calls prints, in µs."""
    table = pd.DataFrame({"run": each["run"], "latency": 1e6 * each["elapsed"]})
    return table.assign(case=cell.case, size=SMALL)


def cells(inputs: Inputs, declared: Sequence[ModelledCells]) -> Iterator[Cell]:
    """Yield the cells of a modelled campaign."""
    for group in declared:
        application = inputs.applications[group.model]
        for cluster in one_or_more(group.cluster):
            machine = inputs.machines[cluster]
            counts = one_or_more(group.ranks_per_node or machine.cores_per_node)
            for case, nodes, each, link in itertools.product(
                one_or_more(group.case), one_or_more(group.nodes), counts, one_or_more(group.interconnect)
            ):
                yield Cell(application, machine, cluster, case, nodes, each, link, group)


def modelled(base: Path, declared: ModelledCampaign, name: str) -> dict[str, xr.Dataset]:
    """Make the datasets of a modelled campaign of a project: runs, and the files that they are made from."""
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
    return {**runs(load(base), declared, name), "files": to_dataset([pd.DataFrame(files)], "files")}
