"""The analytic model held against a simulation: generated traces replayed in SimGrid, the same unknowns.

Of each checked ratio the draws with the lowest, the middle and the highest analytic one are simulated. Counts
that are drawn broken (1.7 exchanges in a step) are made whole, for both sides.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.base import models, project
from analysis.base.campaigns import CampaignFile
from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.models import Model, Name
from analysis.model.campaign import seconds
from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import Inputs, ModelledApplication, load
from analysis.model.network import Network
from analysis.model.traces import Step, Wires, platform, step_of

CHECKS = Path("config/whatif-check.yaml")
INSTALL = "install SimGrid 3.32 or later: as root on Debian `apt-get install libsimgrid-dev`"
STEPS = 3  # in a row: a simulation tells its time to a microsecond
# Facts are payload rates: nothing is taken off them for protocols or for answers the other way, and small
# messages are no slower. `compute` lines count whatever they are worth.
OPTIONS = (
    "surf/precision:1e-12", "network/crosstraffic:0", "network/TCP-gamma:0", "network/weight-S:0",
    "smpi/bw-factor:0:1", "smpi/lat-factor:0:1", "smpi/os:0:0:0", "smpi/or:0:0:0", "smpi/ois:0:0:0",
    "smpi/simulate-computation:yes", "smpi/cpu-threshold:-1", "smpi/host-speed:1Gf",
    "contexts/stack-size:256",
)  # fmt: skip
ENDS = ("lowest", "middle", "highest")


class Check(Model):
    """A ratio of two networks, how many times as fast the first is, for the cells of a claim."""

    claim: Name
    model: Name
    cluster: Name
    case: str
    nodes: int
    treatment: Name
    baseline: Name


class Checks(Model):
    """What is simulated."""

    checks: list[Check]


@dataclass(frozen=True)
class Point:
    """A check at one draw: which end of the band it is, and the ratio of the model."""

    check: Check
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


def points(inputs: Inputs, check: Check, count: int, seed: int) -> Iterator[Point]:
    """Yield a check at the draws of a campaign with the lowest, the middle and the highest ratio."""
    draws = draw(inputs.unknowns, count, seed)
    ratios = _ratios(inputs, draws, check)[:count]
    order = np.argsort(ratios, kind="stable")
    for end, at in zip(ENDS, (order[0], order[(count - 1) // 2], order[-1]), strict=True):
        application = inputs.applications[check.model]
        whole = {name: float(value) for name, value in _whole(application, draws, int(at)).items()}
        one = Draws({name: np.array([value]) for name, value in whole.items()}, ("",))
        yield Point(check, end, int(at), float(_ratios(inputs, one, check)[0]), one)


def _ratios(inputs: Inputs, draws: Draws, check: Check) -> Array:
    fast, slow = (_seconds(inputs, draws, check, link) for link in (check.treatment, check.baseline))
    ratios: Array = slow / fast
    return ratios


def _seconds(inputs: Inputs, draws: Draws, check: Check, link: str) -> Array:
    cell = {
        "cluster": check.cluster,
        "interconnect": link,
        "nodes": check.nodes,
        "ranks_per_node": inputs.machines[check.cluster].cores_per_node,
    }
    return seconds(inputs, draws, inputs.applications[check.model], check.case, cell)


def _whole(application: ModelledApplication, draws: Draws, at: int) -> dict[str, float]:
    """Take one draw with whole counts; partners come in pairs."""
    found = {name: float(values[at]) for name, values in draws.values.items()}
    one = application.structure
    if one is not None and one.exchange is not None:
        found[one.exchange.rounds] = max(1.0, round(found[one.exchange.rounds]))
        found[one.exchange.partners] = min(26.0, max(2.0, 2.0 * round(found[one.exchange.partners] / 2)))
    if one is not None and one.allreduce is not None:
        found[one.allreduce.count] = max(1.0, round(found[one.allreduce.count]))
    return found


def simulated(inputs: Inputs, point: Point, link: str) -> float:
    """Return the simulated seconds of a step of a point over one of its networks."""
    check, application = point.check, inputs.applications[point.check.model]
    each = inputs.machines[check.cluster].cores_per_node
    known = {name: float(values[0]) for name, values in point.draws.values.items()}
    size = application.cases[check.case].work
    share = size if application.grid else size / (check.nodes * each)
    mean = share * known[application.cost[check.cluster]]
    step = step_of(application, known, size, mean, check.nodes, each)
    return replay(step, Wires.of(Network.drawn(inputs, point.draws, link)))


def replay(step: Step, wires: Wires) -> float:
    """Replay a step `STEPS` times in SimGrid; return the seconds of one."""
    ranks, launcher = step.nodes * step.ranks_per_node, simgrid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(platform(wires, step.nodes, step.ranks_per_node))
        hosts = [f"node{rank // step.ranks_per_node}\n" for rank in range(ranks)]
        (folder / "hosts").write_text("".join(hosts))
        for rank in range(ranks):
            actions = ["init", *list(step.lines(rank, wires)) * STEPS, "finalize"]
            (folder / f"{rank}.txt").write_text("".join(f"{rank} {one}\n" for one in actions))
        # SimGrid looks for the files of a list where it was started, unless their paths are whole.
        (folder / "list").write_text("".join(f"{folder / str(rank)}.txt\n" for rank in range(ranks)))
        command = [launcher, "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
        command += ["-replay", str(folder / "list"), *(f"--cfg={option}" for option in OPTIONS)]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = ended.stdout + ended.stderr
    told = re.search(r"Simulation time ([0-9.]+)", said)
    if ended.returncode or told is None:
        last = " ".join(said.split())[-300:] or "it said nothing"
        raise ConfigError.at("smpirun", 0, f"ended with {ended.returncode}: {last}", INSTALL)
    return float(told[1]) / STEPS


def check(inputs: Inputs, base: Path, count: int, seed: int, workers: int) -> pd.DataFrame:
    """Simulate every check of a project at three draws, `workers` at a time.

    Columns ``claim treatment baseline end draw analytic simulated difference``: ratios, and what the
    simulated one is more than the analytic, relative.
    """
    simgrid()
    declared = models.load(Checks, base / CHECKS).checks
    found = [point for one in declared for point in points(inputs, one, count, seed)]
    links = [(point, link) for point in found for link in (point.check.treatment, point.check.baseline)]
    with ThreadPoolExecutor(workers) as pool:
        times = list(pool.map(lambda given: simulated(inputs, *given), links))
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
    parser = argparse.ArgumentParser(prog="analysis.model.replay", description=__doc__)
    parser.add_argument("campaign", help="whose draws are taken")
    parser.add_argument("table")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(argv)
    base = project.root()
    try:
        declared = models.load(CampaignFile, project.declaration(given.campaign, base)).model
        if declared is None:
            raise ConfigError.at(given.campaign, 0, "is not modelled", "name a campaign that has `model:`")
        found = check(load(base), base, declared.draws, declared.seed, given.workers)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    Path(given.table).parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(given.table, index=False)
    print(found.to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
