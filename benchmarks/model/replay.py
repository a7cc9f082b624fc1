"""The analytic model compared with a simulation: generated traces replayed in SimGrid, the same unknowns.

Of each checked ratio three draws are simulated: those with the lowest, the middle and the highest analytic
ratio. Broken counts (1.7 exchanges in a step) are made whole for both sides.

`snakemake --cores 2 whatif-check` runs it; docs/model-check.md says what came out.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from analysis.base import models, project
from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.models import Model, Name
from analysis.model.campaign import Cell, cells, step
from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import Inputs, load
from analysis.model.network import Network
from analysis.schema.campaigns import CampaignFile, ModelledCampaign
from benchmarks.model.traces import Step, Wires, platform, step_of

CHECKS = Path("config/whatif-check.yaml")
INSTALL = "install SimGrid 3.32 or later: as root on Debian `apt-get install libsimgrid-dev`"
LEAST = 1e-3  # s that repeated steps take at least: a simulation prints its time to a microsecond
# Events less than this part of a step, or this many s, from each other count as simultaneous: a finer
# simulation would cost hours.
PRECISION, FINEST = 1e-4, 1e-7
# Facts are payload rates: no factors for protocols, for answers or for small messages. `compute` lines count
# however short they are.
OPTIONS = (
    "network/crosstraffic:0", "network/TCP-gamma:0", "network/weight-S:0",
    "smpi/bw-factor:0:1", "smpi/lat-factor:0:1", "smpi/os:0:0:0", "smpi/or:0:0:0", "smpi/ois:0:0:0",
    "smpi/simulate-computation:yes", "smpi/cpu-threshold:-1", "smpi/host-speed:1Gf",
    "contexts/stack-size:256",
)  # fmt: skip
ENDS = ("lowest", "middle", "highest")


class Check(Model):
    """A ratio of two cells, how many times as fast the first is, as a claim compares them."""

    claim: Name
    model: Name
    cluster: Name
    case: str
    nodes: int
    treatment: Name = Field(description="the link of the first cell")
    baseline: Name = Field(description="the link of the other")
    ranks_per_node: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="of the first and of the other; all cores by default"
    )
    in_switches: bool = Field(False, description="whether the switches reduce in the first cell")


class Checks(Model):
    """What is simulated."""

    checks: list[Check]


@dataclass(frozen=True)
class Point:
    """A check at one draw: which end of the band it is, and the ratio of the model."""

    check: Check
    fast: Cell
    slow: Cell
    end: str
    draw: int
    ratio: float
    draws: Draws


def simgrid() -> str:
    """Return the path of SimGrid's launcher; ConfigError that says what to install."""
    found = shutil.which("smpirun")
    if found is None:
        raise ConfigError.at("smpirun", 0, "is not there", INSTALL)
    return found


def points(inputs: Inputs, declared: ModelledCampaign, check: Check) -> Iterator[Point]:
    """Yield a check at the draws of a campaign with the lowest, the middle and the highest ratio."""
    count = declared.draws
    draws = draw(inputs.unknowns, count, declared.seed)
    pair = [_cell(inputs, declared, check, side) for side in (0, 1)]
    order = np.argsort(_ratios(draws, inputs, *pair)[:count], kind="stable")
    for end, at in zip(ENDS, (order[0], order[(count - 1) // 2], order[-1]), strict=True):
        whole = _whole(pair[0], draws, int(at))
        one = Draws({name: np.array([value]) for name, value in whole.items()}, ("",))
        yield Point(check, pair[0], pair[1], end, int(at), float(_ratios(one, inputs, *pair)[0]), one)


def _ratios(draws: Draws, inputs: Inputs, fast: Cell, slow: Cell) -> Array:
    ratios: Array = step(inputs, draws, slow).seconds / step(inputs, draws, fast).seconds
    return ratios


def _cell(inputs: Inputs, declared: ModelledCampaign, check: Check, side: int) -> Cell:
    """Return a side's cell of a campaign, with one job on unchanged nodes."""
    link = (check.treatment, check.baseline)[side]
    for cell in cells(inputs, declared.cells):
        each = check.ranks_per_node[side] if check.ranks_per_node else cell.machine.cores_per_node
        given = (cell.declared.model, cell.cluster, cell.case, cell.nodes, cell.interconnect)
        plain = cell.jobs == 1 and not cell.declared.slower
        fits = plain and bool(cell.declared.in_switches) == (check.in_switches and side == 0)
        wanted = (check.model, check.cluster, check.case, check.nodes, link)
        if given == wanted and fits and cell.ranks_per_node == each:
            return cell
    what = f"{check.claim}: the campaign has no such cell over {link}"
    raise ConfigError.at(CHECKS.as_posix(), 0, what, "name cells of config/campaigns/modelled.yaml")


def _whole(cell: Cell, draws: Draws, at: int) -> dict[str, float]:
    """Take one draw with whole counts; partners come in pairs, groups share the ranks."""
    found = {name: float(values[at]) for name, values in draws.values.items()}
    one = cell.application.structure
    counts: list[str] = []
    if one is not None and one.exchange is not None:
        counts.append(one.exchange.rounds)
        found[one.exchange.partners] = min(26.0, max(2.0, 2.0 * round(found[one.exchange.partners] / 2)))
    if one is not None and one.transpose is not None:
        counts += [one.transpose.count, *([one.transpose.pieces] if one.transpose.pieces else [])]
        wanted = max(2.0, found[one.transpose.group] * cell.ranks)
        fits = [count for count in range(2, cell.ranks + 1) if cell.ranks % count == 0]
        members = min(fits, key=lambda count: abs(np.log(count / wanted)))
        found[one.transpose.group] = members / cell.ranks
    if one is not None and one.allreduce is not None:
        counts.append(one.allreduce.count)
    return found | {name: max(1.0, round(found[name])) for name in counts}


def simulated(inputs: Inputs, point: Point, cell: Cell) -> float:
    """Return the simulated seconds of a step of one of a point's cells."""
    application, draws = cell.application, point.draws
    known = {name: float(values[0]) for name, values in draws.values.items()}
    modelled = step(inputs, draws, cell)
    mean = float(modelled.computing[0]) / known.get(application.imbalance, 1.0)
    size = application.cases[cell.case].work
    switches = known.get(cell.declared.in_switches, 0.0)
    trace = step_of(application, known, size, mean, cell.nodes, cell.ranks_per_node, switches)
    link = cell.machine.links.get(cell.interconnect, cell.interconnect)
    wires = Wires.of(Network.drawn(inputs, draws, link, cell.machine.copying))
    return replay(trace, wires, float(modelled.seconds[0]))


def replay(
    trace: Step,
    wires: Wires,
    about: float,
    describe: Callable[[Wires, int, int], str] = platform,
    finest: float = FINEST,
) -> float:
    """Replay a step of `about` so many seconds in SimGrid, as often as its clock needs; return its s.

    `describe` writes the platform; events less than `finest` s from each other count as simultaneous.
    """
    steps, precision = math.ceil(LEAST / about), min(PRECISION * about, finest)
    launcher, hosts = simgrid(), trace.hosts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(describe(wires, trace.nodes, trace.ranks_per_node))
        (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        for rank in range(len(hosts)):
            actions = ["init", *list(trace.lines(rank, wires)) * steps, "finalize"]
            (folder / f"{rank}.txt").write_text("".join(f"{rank} {one}\n" for one in actions))
        # SimGrid looks for the files of a list where it was started, unless their paths are whole.
        (folder / "list").write_text("".join(f"{folder / str(rank)}.txt\n" for rank in range(len(hosts))))
        command = [launcher, "-np", str(len(hosts)), "-platform", "platform.xml", "-hostfile", "hosts"]
        options = (f"surf/precision:{precision:g}", *OPTIONS)
        command += ["-replay", str(folder / "list"), *(f"--cfg={option}" for option in options)]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    output = ended.stdout + ended.stderr
    time = re.search(r"Simulation time ([0-9.]+)", output)
    if ended.returncode or time is None:
        last = " ".join(output.split())[-300:] or "it printed nothing"
        raise ConfigError.at("smpirun", 0, f"ended with {ended.returncode}: {last}", INSTALL)
    return float(time[1]) / steps


def check(inputs: Inputs, base: Path, declared: ModelledCampaign, workers: int) -> pd.DataFrame:
    """Simulate every check of a project at three draws, `workers` at a time; a line of progress for each.

    Columns ``claim treatment baseline end draw analytic simulated difference``: both ratios, and the relative
    difference of the simulated one from the analytic one.
    """
    simgrid()
    checks = models.load(Checks, base / CHECKS).checks
    found = [point for one in checks for point in points(inputs, declared, one)]
    links = [(point, cell) for point in found for cell in (point.fast, point.slow)]
    times = []
    with ThreadPoolExecutor(workers) as pool:
        for (point, cell), seconds in zip(
            links, pool.map(lambda given: simulated(inputs, *given), links), strict=True
        ):
            times.append(seconds)
            what = f"{point.check.claim}, {point.end} draw over {cell.interconnect}"
            print(f"{len(times)} of {len(links)}: {what}", file=sys.stderr, flush=True)
    rows = []
    for point, fast, slow in zip(found, times[::2], times[1::2], strict=True):
        one, ratio = point.check, slow / fast
        rows.append(
            {
                "claim": one.claim,
                "treatment": one.treatment,
                "baseline": one.baseline,
                "end": point.end,
                "draw": point.draw,
                "analytic": round(point.ratio, 3),
                "simulated": round(ratio, 3),
                "difference": round(ratio / point.ratio - 1, 3),
            }
        )
    return pd.DataFrame(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table of a project's checks; 1 with one line if that is not possible."""
    parser = argparse.ArgumentParser(prog="benchmarks.model.replay", description=__doc__)
    parser.add_argument("campaign", help="whose draws are taken")
    parser.add_argument("table")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(argv)
    base = project.root()
    try:
        declared = models.load(CampaignFile, project.declaration(given.campaign, base)).model
        if declared is None:
            raise ConfigError.at(given.campaign, 0, "is not modelled", "name a campaign that has `model:`")
        found = check(load(base), base, declared, given.workers)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    Path(given.table).parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(given.table, index=False)
    print(found.to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
