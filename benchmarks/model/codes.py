"""Real codes under SimGrid's SMPI: what a step takes over the links of the reports, at their nodes.

A code runs once under SMPI for each number of ranks and its messages are recorded. They are replayed over
each link at twenty draws of latency, bandwidth, own time and speed of a core, the same for all links. Nothing
depends on the speed or the load of the machine that simulates.

`snakemake --cores 2 simulated` runs it; docs/simulated.md says what to build first.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field

from analysis.base import models, project
from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.models import Model, Name, Positive, Several, one_or_more
from analysis.model.draws import Draws, draw
from analysis.model.inputs import Inputs, Range, load
from analysis.model.network import Network
from benchmarks.model import recorded
from benchmarks.model.replay import FINEST, INSTALL, replay, simgrid
from benchmarks.model.traces import Wires

DECLARED = Path("config/simulation.yaml")
TABLE = Path("data/raw/simulated")
WAITING = "waiting.tcp"
TCP = "tcp"
ABOUT = 0.01  # s of the steps of a replay: it is long enough for the clock of the simulation


class Waiting(Model):
    """What a reduction over TCP waits in addition: `level` on `nodes` nodes, growing with their number."""

    nodes: Annotated[int, Field(ge=1)]
    growth: Annotated[float, Field(ge=0)]
    level: Range
    source: str


class Code(Model):
    """A code: how it is run, and how its trace is cut into steps."""

    version: str
    reductions: Annotated[int, Field(ge=1)] = Field(description="in a step")
    arguments: list[str]
    operations: Positive = Field(
        1.0, description="of a unit of work: what the code states, over those of a range"
    )
    title: str
    address: str


class Cells(Model):
    """Cells of one code: every combination of nodes and link."""

    code: Name
    case: str
    edge: Annotated[int, Field(ge=0)] = Field(
        0, description="elements along an edge of a rank's cube, where the code states no operations"
    )
    cluster: Name
    nodes: Several[int]
    ranks_per_node: int
    interconnect: Several[Name]
    steps: Annotated[int, Field(ge=1)] = Field(description="that are replayed")
    finest: Positive = Field(FINEST, description="s: events that are nearer than that count as simultaneous")
    cost: str = Field(description="range: s for a unit of work on one core")
    imbalance: str = Field(description="range: the slowest rank's work over the mean")


class Simulation(Model):
    """What is simulated."""

    draws: Annotated[int, Field(ge=1)]
    seed: int
    waiting: Waiting
    codes: dict[Name, Code]
    cells: list[Cells]


@dataclass(frozen=True)
class Run:
    """One replay: a cell over one link at one draw."""

    cells: Cells
    nodes: int
    link: str
    draw: int

    @property
    def ranks(self) -> int:
        """Ranks of the job."""
        return self.nodes * self.cells.ranks_per_node

    @property
    def name(self) -> str:
        """The cell and the draw, divided by the only dash."""
        cell = f"{self.cells.code} {self.nodes}x{self.cells.ranks_per_node} {self.link}".replace("-", "_")
        return f"{cell}-{self.draw:02d}"


def runs(declared: Simulation) -> Iterator[Run]:
    """Yield the replays, in the order of the table."""
    for cells in declared.cells:
        for nodes, link in itertools.product(one_or_more(cells.nodes), one_or_more(cells.interconnect)):
            for at in range(declared.draws):
                yield Run(cells, nodes, link, at)


def record(program: Path, code: Code, one: Run, folder: Path) -> Path:
    """Run a code under SMPI once and return the list of its ranks' traces, made already or now."""
    name = f"{one.cells.code}-{one.ranks}-{one.cells.case.removesuffix('³')}"
    listed = folder / name
    if listed.is_file():
        return listed
    folder.mkdir(parents=True, exist_ok=True)
    nothing = Wires(0, 0, 1e9, 1e-6, 0, 1e-6, 1e9)
    (folder / f"{name}.xml").write_text(recorded.tree(nothing, one.nodes, one.cells.ranks_per_node))
    hosts = [f"node{rank // one.cells.ranks_per_node}\n" for rank in range(one.ranks)]
    (folder / f"{name}.hosts").write_text("".join(hosts))
    command = [simgrid(), "-np", str(one.ranks), "-platform", f"{name}.xml", "-hostfile", f"{name}.hosts"]
    command += ["-trace-ti", "-trace-file", name, "--cfg=smpi/simulate-computation:no"]
    arguments = [*code.arguments, *([str(one.cells.edge)] if one.cells.edge else [])]
    print(f"{name} is recorded", file=sys.stderr, flush=True)
    ended = subprocess.run(
        [*command, str(program.resolve()), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode or not listed.is_file():
        last = " ".join((ended.stdout + ended.stderr).split())[-300:] or "it printed nothing"
        raise ConfigError.at(str(program), 0, f"ended with {ended.returncode}: {last}", INSTALL)
    return listed


def drawn(inputs: Inputs, declared: Simulation) -> Draws:
    """Draw what is not known; a range of the model has its own stream of draws, whatever others there are."""
    unknowns = {**inputs.unknowns, WAITING: declared.waiting.level}
    return draw(unknowns, declared.draws, declared.seed, sweep=False)


def step_of(
    recording: recorded.Recording, declared: Simulation, draws: Draws, one: Run, *, tcp: bool
) -> recorded.RecordedStep:
    """Put a draw's work to recorded messages: what the code states, or so many s for each element."""
    cells, code, waiting = one.cells, declared.codes[one.cells.code], declared.waiting
    cost, most, level = (float(draws[name][one.draw]) for name in (cells.cost, cells.imbalance, WAITING))
    factors = recorded.slower(most, one.ranks)
    work = tuple(cells.edge**3 * cost * factor for factor in factors)
    rates = tuple(code.operations / cost / factor for factor in factors)
    waits = level * (one.nodes / waiting.nodes) ** waiting.growth if tcp else 0.0
    return recorded.RecordedStep(one.nodes, cells.ranks_per_node, work, (), 0.0, recording, rates, waits)


def simulated(
    inputs: Inputs, declared: Simulation, draws: Draws, recording: recorded.Recording, one: Run
) -> float:
    """Return the simulated s of a step."""
    own = {name: values[one.draw : one.draw + 1] for name, values in draws.values.items()}
    machine = inputs.machines[one.cells.cluster]
    link = machine.links.get(one.link, one.link)
    wires = Wires.of(Network.drawn(inputs, Draws(own, ("",)), link, machine.copying))
    step = step_of(recording, declared, draws, one, tcp=inputs.links[link].kind == TCP)
    return replay(step, wires, ABOUT, recorded.tree, one.cells.finest) / recording.steps


def table(
    inputs: Inputs, declared: Simulation, programs: Mapping[str, Path], traces: Path, workers: int
) -> pd.DataFrame:
    """Simulate all runs, `workers` at a time; one row each, the s of a step with four digits."""
    draws, wanted, rows = drawn(inputs, declared), list(runs(declared)), list[dict[str, object]]()
    with ThreadPoolExecutor(workers) as pool:
        for (code, _, _), group in itertools.groupby(
            wanted, lambda one: (one.cells.code, one.ranks, one.cells.case)
        ):
            part, declaration = list(group), declared.codes[code]
            listed = record(programs[code], declaration, part[0], traces)
            recording = recorded.load(listed, declaration.reductions, part[0].cells.steps)
            messages, sent = recording.sent()
            times = pool.map(lambda one, kept=recording: simulated(inputs, declared, draws, kept, one), part)
            for one, seconds in zip(part, times, strict=True):
                rows.append(_row(one, declaration, seconds) | {"messages": messages, "payload": sent})
                print(
                    f"{len(rows)} of {len(wanted)}: {one.name} {seconds:.4g} s", file=sys.stderr, flush=True
                )
    return pd.DataFrame(rows)


def _row(one: Run, code: Code, seconds: float) -> dict[str, object]:
    cells, rate = one.cells, not one.cells.edge
    return {
        "run": one.name,
        "application": cells.code,
        "version": code.version,
        "case": cells.case,
        "cluster": cells.cluster,
        "interconnect": one.link,
        "nodes": one.nodes,
        "ranks": one.ranks,
        "ranks_per_node": cells.ranks_per_node,
        "elapsed": f"{seconds:.4g}",
        "figure_of_merit": f"{1 / seconds if rate else seconds:.4g}",
        "figure_of_merit_unit": "1/s" if rate else "s",
        "source": cells.code,
    }


def used(declared: Simulation, inputs: Inputs) -> pd.DataFrame:
    """List the draws: columns ``draw unknown value unit``, of what the cells use."""
    draws = drawn(inputs, declared)
    draws.asked.clear()
    for cells in declared.cells:
        machine = inputs.machines[cells.cluster]
        for name in (cells.cost, cells.imbalance, WAITING):
            draws[name]
        for link in one_or_more(cells.interconnect):
            Network.drawn(inputs, draws, machine.links.get(link, link), machine.copying)
    ranges = {**inputs.unknowns, WAITING: declared.waiting.level}
    rows = [
        (at, name, f"{draws.values[name][at]:.6g}", ranges[name].unit)
        for name in sorted(draws.asked)
        for at in range(declared.draws)
    ]
    return pd.DataFrame(rows, columns=["draw", "unknown", "value", "unit"])


def write(found: pd.DataFrame, declared: Simulation, inputs: Inputs, folder: Path) -> None:
    """Write the runs, what they send, the draws and the sources as tables into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    own = ["application", "case", "ranks", "messages", "payload"]
    rows = [(name, one.title, one.address) for name, one in declared.codes.items()]
    tables = {
        "runs.csv": found.drop(columns=["messages", "payload"]),
        "messages.csv": found[own].drop_duplicates(),
        "draws.csv": used(declared, inputs),
        "sources.csv": pd.DataFrame(rows, columns=["source", "title", "address"]),
    }
    for name, one in tables.items():
        one.to_csv(folder / name, index=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables of a project's simulation; 1 with one line if that is not possible."""
    parser = argparse.ArgumentParser(prog="benchmarks.model.codes", description=__doc__)
    parser.add_argument("--program", action="append", default=[], metavar="CODE=PATH", help="built for SMPI")
    parser.add_argument("--traces", type=Path, help="folder that keeps what was recorded")
    parser.add_argument("--table", type=Path, default=TABLE, help="folder of the tables")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(argv)
    base = project.root()
    try:
        declared, inputs = models.load(Simulation, base / DECLARED), load(base)
        programs = {name: Path(path) for name, _, path in (one.partition("=") for one in given.program)}
        for name in declared.codes:
            if not programs.get(name, Path()).is_file():
                remedy = f"build it for SMPI as docs/simulated.md says, and give --program {name}=PATH"
                raise ConfigError.at(name, 0, "has no program", remedy)
        with tempfile.TemporaryDirectory() as folder:
            found = table(inputs, declared, programs, given.traces or Path(folder), given.workers)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    write(found, declared, inputs, given.table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
