"""How many planted effects `benchbook findings` finds, and how many of those that it reports are false.

A second table counts false words by how the runs were made: in blocks, in turn, on two days, while the
machine drifts.

`python benchmarks/study_findings.py` writes the tables of docs/findings.md anew, in about ten minutes;
`--rounds` and `--seed` try other draws, `--out -` prints it. Campaigns are made in memory, in the package's
own form, and searched by the command's own function.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.base.words import percent
from analysis.claims.model import Claim, Expectation
from analysis.claims.rules import FAILS, HOLDS
from analysis.claims.verdicts import AGREES, DISAGREES, resolve
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.differences import MARGIN
from analysis.estimates.quantities import findings
from analysis.estimates.question import Comparison, Question
from analysis.findings.conclusion import DIFFERS, EQUAL, GROWS, SESSION, Conclusion
from analysis.findings.search import LIMIT, conclusions, tested
from analysis.schema.registry import blank, to_dataset

OUT = Path(__file__).parents[1] / "docs" / "findings.md"
SEED, ROUNDS = 20_261_122, 12
FULL = "a full word"
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
        what = f"{percent(self.effect)} in {self.affected} of {self.applications}"
        where = ", only at the larger of two numbers of nodes" if self.growing else ""
        return f"{what}{where}, n {self.n}, noise {percent(self.noise)}{', skewed' if self.skewed else ''}"


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
                for repeat, value in enumerate(10.0 * factor * np.exp(_noise(design, rng))):
                    own = {"case": f"case{case}", "repeat": repeat + 1}
                    rows.append(_run(f"app{number:02}", mpi, nodes, float(value)) | own)
    # As a plan has it: each repeat of all cells before the next one, in a shuffled order.
    order = np.argsort(np.lexsort((rng.random(len(rows)), [row["repeat"] for row in rows])))
    frame = pd.DataFrame([{**row, "run": f"r{at:04}", "order": order[at]} for at, row in enumerate(rows)])
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
        found = "–" if np.isnan(one.power) else percent(one.power)
        shares = (
            f"{percent(one.false_differences, 1)} | {percent(one.equal)} | {percent(one.false_equalities, 1)}"
        )
        yield f"| {one.design.name} | {found} | {shares} |"


# ---- how it was run


@dataclass(frozen=True, slots=True)
class Schedule:
    """How runs of some levels, all alike, were made: in which order, with what effect of time.

    `order` is ``blocks`` (a level after another), ``days`` (so on each of two days) or ``turns``; `session`
    the standard deviation of what a block does to its runs, `drift` the slope over all runs, both relative.
    """

    name: str
    order: str
    n: int
    levels: int = 2
    session: float = 0.0
    drift: float = 0.0
    noise: float = 0.02


SCHEDULES = (
    *(Schedule("one day, each side in one block", "blocks", n, session=0.05) for n in (6, 12)),
    *(Schedule("two days, each side in one block a day", "days", n, session=0.05) for n in (6, 12)),
    *(Schedule("slow drift, all of one side first", "blocks", n, drift=0.04) for n in (4, 6, 12, 20)),
    *(Schedule("the same drift, in turn", "turns", n, drift=0.04) for n in (4, 6, 12, 20)),
    *(Schedule("a trend, each level in its own session", "blocks", n, k, 0.05) for k, n in ((4, 3), (3, 4))),
)
PARTED_ROUNDS = 100


def scheduled(schedule: Schedule, rng: np.random.Generator) -> Campaign:
    """Make a campaign of levels that are alike, run as the schedule has it; levels are numbers of threads."""
    each, count = np.arange(schedule.levels), schedule.levels * schedule.n
    if schedule.order == "turns":
        level = np.concatenate([rng.permutation(each) for _ in range(schedule.n)])
    else:
        parts = 2 if schedule.order == "days" else 1
        level = np.concatenate([np.repeat(rng.permutation(each), schedule.n // parts) for _ in range(parts)])
    block = np.cumsum(np.diff(level, prepend=level[0]) != 0)
    day = np.arange(count) * (2 if schedule.order == "days" else 1) // count
    effect = schedule.session * rng.normal(size=(2, count))[day, block]
    drift = schedule.drift * np.linspace(-1.0, 1.0, count)
    values = 10.0 * np.exp(effect + drift + rng.normal(0.0, schedule.noise, count))
    start = np.datetime64("2026-03-02T08:00:00", "ns") + (day * 86_400 + np.arange(count) * 300).astype(
        "timedelta64[s]"
    )
    rows = [
        {**_run("app00", "one", 1, float(value)), "threads": int(one) + 1, "order": at, "run": f"r{at:04}"}
        for at, (value, one) in enumerate(zip(values, level, strict=True))
    ]
    groups = {"runs": to_dataset([pd.DataFrame(rows).assign(start=start)], "runs")}
    groups |= {kind: to_dataset([pd.DataFrame()], kind) for kind in TABLES}
    return Campaign("simulated", xr.DataTree.from_dict(groups), "Simulated", "measured", "drawn numbers")


def word_of(schedule: Schedule, rng: np.random.Generator) -> str:
    """Return what is said of levels that are alike: a full word, that of a session, or nothing."""
    campaign = scheduled(schedule, rng)
    if schedule.levels == 2:
        series, _, _ = tested(campaign, LIMIT)
        words = [trial.word for one in series for trial in one.trials]
        return next((FULL for word in words if word == DIFFERS), SESSION if SESSION in words else "")
    expect = Expectation(relation="rising")
    compare = Comparison("threads", tuple(range(1, schedule.levels + 1)))
    question = Question("trend", "figure_of_merit", {"application": "app00"}, compare)
    claim = Claim("study", "study", "study", "study", question, expect)
    try:
        word = resolve(claim, findings(question, campaign)).word
    except NotCoveredError:
        return ""
    return FULL if word in (HOLDS, FAILS) else SESSION if word in (*AGREES, *DISAGREES) else ""


def parted(schedules: Sequence[Schedule], rounds: int, seed: int) -> Iterator[tuple[Schedule, float, float]]:
    """Count words over many campaigns: the share of full ones, all false, and of those of a session."""
    for at, schedule in enumerate(schedules):
        rng = np.random.default_rng([seed, 100 + at])
        words = [word_of(schedule, rng) for _ in range(rounds)]
        yield schedule, words.count(FULL) / rounds, words.count(SESSION) / rounds


def schedule_table(found: Iterable[tuple[Schedule, float, float]]) -> Iterator[str]:
    """Write the shares of words as a table in Markdown."""
    yield "| how it was run | runs | false with a full word | for that session only |"
    yield "| --- | --- | --- | --- |"
    for one, full, session in found:
        yield f"| {one.name} | {one.levels} × {one.n} | {percent(full, 1)} | {percent(session)} |"


def main() -> None:
    """Count all designs and put the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--parted", type=int, default=PARTED_ROUNDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", default=str(OUT))
    given = parser.parse_args()
    outcomes = []
    for at, design in enumerate(DESIGNS):
        rng = np.random.default_rng([given.seed, at])
        outcomes.append(counted(design, given.rounds, rng))
        print(f"{at + 1} of {len(DESIGNS)}: {design.name}", file=sys.stderr)
    lines = "\n".join([f"{given.rounds} campaigns per row, q = 5 %.", "", *table(outcomes)])
    runs = "\n".join(schedule_table(parted(SCHEDULES, given.parted, given.seed)))
    lines += f"\n\nNo level differs; {given.parted} campaigns per row, noise 2 %, sessions 5 %, drift 8 %."
    lines += f"\n\n{runs}"
    if given.out == "-":
        print(lines)
        return
    page = Path(given.out)
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{lines}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
