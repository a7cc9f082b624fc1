"""How many planted effects `benchbook findings` finds, and how many of those that it reports are false.

`python benchmarks/study_findings.py` writes the table of docs/findings.md anew, in about five minutes;
`--rounds` and `--seed` try other draws, `--out -` prints it. Campaigns are made in memory, in the package's
own form, and searched by the command's own function.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.estimates.campaign import Campaign
from analysis.findings.conclusion import DIFFERS, EQUAL, GROWS, Conclusion
from analysis.findings.search import conclusions
from analysis.findings.trials import MARGIN
from analysis.schema.registry import blank, to_dataset

OUT = Path(__file__).parents[1] / "docs" / "findings.md"
SEED, ROUNDS = 20_261_122, 12
TABLES = ("calls", "messages", "ranks", "matrix", "micro", "files")
BEGIN, END = "<!-- study: made by benchmarks/study_findings.py -->", "<!-- end of the study -->"


@dataclass(frozen=True, slots=True)
class Design:
    """A kind of campaign: applications with two MPI libraries, a part of which differ by an effect."""

    effect: float
    applications: int = 20
    affected: int = 5
    n: int = 6
    noise: float = 0.03
    skewed: bool = False
    cases: int = 1  # of each application
    growing: bool = False  # the effect is there at the larger of two numbers of nodes alone

    @property
    def name(self) -> str:
        """The design in a few words."""
        what = f"{self.effect:.0%} in {self.affected} of {self.applications}"
        where = ", only at the larger of two numbers of nodes" if self.growing else ""
        return f"{what}{where}, n {self.n}, noise {self.noise:.0%}{', skewed' if self.skewed else ''}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was counted over many campaigns: shares, each with the number of campaigns behind it."""

    design: Design
    rounds: int
    power: float
    false_differences: float
    false_equalities: float
    equal: float


DESIGNS = (
    Design(0.10),
    Design(0.10, n=4),
    Design(0.10, n=10),
    Design(0.10, noise=0.06),
    Design(0.05, n=10),
    Design(0.10, affected=1),
    Design(0.10, skewed=True),
    Design(0.0, affected=0),
    Design(0.0, affected=0, n=20),
    Design(0.15, growing=True, n=8),
)


def simulated(design: Design, rng: np.random.Generator) -> Campaign:
    """Make a campaign: runs with a rate in Gflop/s, alike but for application and library."""
    rows: list[dict[str, Any]] = []
    for number in range(design.applications):
        for case, nodes in itertools.product(range(design.cases), (1, 8) if design.growing else (1,)):
            there = number < design.affected and (nodes > 1 or not design.growing)
            for mpi in ("one", "other"):
                factor = 1 + design.effect if there and mpi == "one" else 1.0
                for value in 10.0 * factor * np.exp(_noise(design, rng)):
                    rows.append(_run(f"app{number:02}", mpi, nodes, float(value)) | {"case": f"case{case}"})
    frame = pd.DataFrame([{**row, "run": f"r{at:04}"} for at, row in enumerate(rows)])
    groups = {"runs": to_dataset([frame], "runs")}
    groups |= {kind: to_dataset([pd.DataFrame()], kind) for kind in TABLES}
    return Campaign("simulated", xr.DataTree.from_dict(groups), "Simulated", "measured", "drawn numbers")


def _noise(design: Design, rng: np.random.Generator) -> np.ndarray:
    if design.skewed:  # a floor, and now and then a slow run
        drawn: np.ndarray = -design.noise * rng.exponential(size=design.n)
        return drawn
    return rng.normal(0.0, design.noise, size=design.n)


def _run(application: str, mpi: str, nodes: int, value: float) -> dict[str, Any]:
    common = {"valid": True, "timing": True, "concurrent_jobs": 1, "figure_of_merit_unit": "Gflop/s"}
    own = {"application": application, "mpi": mpi, "nodes": nodes, "ranks": nodes, "figure_of_merit": value}
    return {**blank("runs"), **common, **own}


def counted(design: Design, rounds: int, rng: np.random.Generator) -> Outcome:
    """Search many campaigns; shares of false discoveries are means over campaigns, none counts as 0."""
    power, differences, equalities, equal = [], [], [], []
    for _ in range(rounds):
        found = conclusions(simulated(design, rng))
        word = GROWS if design.growing else DIFFERS
        differ = [one for one in found if one.word in (DIFFERS, GROWS)]
        right = sum(one.word == word and _true(one, design) for one in differ)
        power.append(right / design.affected if design.affected else np.nan)
        differences.append(sum(not _true(one, design) for one in differ) / max(len(differ), 1))
        same = [one for one in found if one.word == EQUAL]
        unequal = sum(_planted(one, design) for one in same) if design.effect > MARGIN else 0
        equalities.append(unequal / max(len(same), 1))
        untouched = max(design.applications - design.affected, 1)
        equal.append(sum(not _planted(one, design) for one in same) / untouched)
    means = (float(np.mean(one)) for one in (power, differences, equalities, equal))
    return Outcome(design, rounds, *means)


def _planted(one: Conclusion, design: Design) -> bool:
    """Tell whether the two sides of a conclusion were made to differ."""
    compare, select = one.question.compare, one.question.select or {}
    assert compare is not None
    if int(str(select["application"])[3:]) >= design.affected:
        return False
    if compare.factor == "nodes":  # more nodes are faster with the library that gains from them
        return design.growing and select.get("mpi") == "one"
    return not design.growing or one.word == GROWS or select.get("nodes") != 1


def _true(one: Conclusion, design: Design) -> bool:
    """Tell whether a difference was planted, and with this side ahead."""
    assert one.question.compare is not None
    return _planted(one, design) and one.question.compare.levels[0] in ("one", 8)


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Write outcomes as a table in Markdown."""
    yield "| effect and runs | found | false among these | equal found | false among these |"
    yield "| --- | --- | --- | --- | --- |"
    for one in outcomes:
        found = "–" if np.isnan(one.power) else f"{one.power:.0%}"
        shares = f"{one.false_differences:.1%} | {one.equal:.0%} | {one.false_equalities:.1%}"
        yield f"| {one.design.name} | {found} | {shares} |"


def main() -> None:
    """Count all designs and put the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", default=str(OUT))
    given = parser.parse_args()
    outcomes = []
    for at, design in enumerate(DESIGNS):
        rng = np.random.default_rng([given.seed, at])
        outcomes.append(counted(design, given.rounds, rng))
        print(f"{at + 1} of {len(DESIGNS)}: {design.name}", file=sys.stderr)
    lines = "\n".join([f"{given.rounds} campaigns per row, q = 5 %.", "", *table(outcomes)])
    if given.out == "-":
        print(lines)
        return
    page = Path(given.out)
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{lines}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
