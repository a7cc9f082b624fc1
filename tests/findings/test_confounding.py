"""Planted confoundings are named and called no single cause; the runs that are proposed tell the true one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import pages
from analysis.base.words import Level
from analysis.claims import Claim, Report, evaluate
from analysis.claims.model import Expectation
from analysis.decks.content import deck
from analysis.estimates import conditions, confounding, spelling
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import HOST, Confounded, Remark
from analysis.estimates.question import Comparison, Question
from analysis.estimates.stats import ratio_of_medians
from analysis.findings.conclusion import CONFOUNDED, SESSION, STANDING, Conclusion
from analysis.findings.search import conclusions
from analysis.pages.findings import finding_sentences
from analysis.schema.campaigns import Pooled, RunsAlike
from analysis.schema.factors import FACTORS
from tests.estimates.hand import campaign, repeats

SEED = 20_261_123
SCATTER = 0.02  # of a run, on logarithms
DAY = pd.Timestamp("2026-11-02 08:00")
LIBRARY = {"mpi": "Open MPI 5.0"}, {"mpi": "Intel MPI 2021"}
LINK = {"interconnect": "25gbe"}, {"interconnect": "ib-hdr100"}
THREADS = {"threads": 1}, {"threads": 4}
BUILD = {"build": "-O2"}, {"build": "-O3"}
TUNING = {"tuning": "default"}, {"tuning": "hcoll"}
CPU = {"cpu": "EPYC 9654"}, {"cpu": "Xeon 8480"}
MODULES = {"dimm": "DDR5-4800 1R"}, {"dimm": "DDR5-4800 2R"}
FILLED = ({"ranks_per_node": 8, "ranks": 16}, {"ranks_per_node": 16, "ranks": 32})  # ranks follow
Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Cause:
    """What makes runs slow in truth: a level of a factor, or a day, a place in the order, a host."""

    name: str
    level: Level
    effect: float = 0.8

    def of(self, run: Setting) -> float:
        return self.effect if run.get(self.name) == self.level else 1.0


@dataclass(frozen=True)
class Planted:
    """Cells of a design with how they were measured; the causes that must be named, each as a truth."""

    cells: Sequence[Setting]
    named: Sequence[str]
    truths: Sequence[Cause]
    n: int = 12
    single: Setting = field(default_factory=dict)  # a further cell, of one run


def runs_of(
    cells: Sequence[Setting], truth: Cause, n: int | Sequence[int], rng: np.random.Generator
) -> Campaign:
    """Simulate runs in mixed order; ``day``, ``order`` (a block) and ``host`` are how a cell was run."""
    counts = [n] * len(cells) if isinstance(n, int) else n
    whole = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
    rounds = [at for count in counts for at in range(count)]
    # As a plan orders them: each repeat of all cells before the next one.
    place = np.argsort(np.lexsort((rng.random(len(whole)), rounds)))
    rows = []
    for cell, at in zip(whole, place, strict=True):
        factors = {name: level for name, level in cell.items() if name not in ("day", "order", "host")}
        block = cell.get("order", 0) * 1000 + at
        start = DAY + pd.Timedelta(days=cell.get("day", 0), seconds=20 * int(block))
        host = cell.get("host", f"n{rng.integers(40):02}")
        rate = 100 * truth.of({**cell, "week": 1 + cell.get("day", 0) // 7}) * np.exp(rng.normal(0, SCATTER))
        given = {"nodes": 2, "cluster": "ours", "ranks": -1, **factors, "figure_of_merit_unit": "Gflop/s"}
        rows += repeats([rate], "figure_of_merit", **given, start=start, order=int(block), node_list=host)
    return campaign(rows)


def pairwise(*levels: tuple[Setting, Setting], **more: Any) -> list[Setting]:
    """Change all of some factors together, from the first level of each to the second."""
    return [{**more, **{k: v for pair in levels for k, v in pair[at].items()}} for at in (0, 1)]


def factor(of: tuple[Setting, Setting], at: int = 1) -> Cause:
    ((name, level),) = of[at].items()
    return Cause(name, level)


def split(cells: Sequence[Setting], name: str, *levels: Level) -> list[Setting]:
    return [{**cell, name: level} for cell, level in zip(cells, levels, strict=True)]


def both(cells: Sequence[Setting], name: str, levels: Sequence[Level]) -> list[Setting]:
    return [{**cell, name: level} for cell in cells for level in levels]


def together(*levels: tuple[Setting, Setting], n: int = 12, **apart: tuple[Level, Level]) -> Planted:
    """Plant that all of some factors change together, and how the two sides were measured apart."""
    cells = pairwise(*levels)
    for name, ends in apart.items():
        cells = split(cells, name, *ends)
    truths = [*map(factor, levels), *(Cause(name, ends[1]) for name, ends in apart.items())]
    named = sorted((next(iter(of[0])) for of in levels), key=FACTORS.index)
    return Planted(cells, (*named, *apart), truths, n)


LIBRARIES, LINKED = ("interconnect", "mpi"), (factor(LIBRARY), factor(LINK))
NODES, CLOCK = ({"nodes": 2}, {"nodes": 4}), ({"frequency": 2.4}, {"frequency": 1.8})
SMALL = {"nodes": 2, "ranks_per_node": 8, "ranks": 16}
LARGE = {"nodes": 4, "ranks_per_node": 16, "ranks": 64}
HALF = [  # the half fraction of 2^3: the third changes where one of the others does
    {**LIBRARY[a], **LINK[b], **THREADS[a ^ b]} for a, b in itertools.product((0, 1), repeat=2)
]
TWO_DAYS = [
    {**cell, "day": day} for cell, days in zip(pairwise(LINK), ((0, 1), (7, 8)), strict=True) for day in days
]
THREE_HOSTS = [{**LIBRARY[at], "host": f"n9{2 * k + at}"} for at in (0, 1) for k in (0, 1, 2)]
BROKEN = [*pairwise(LIBRARY, LINK), {**LIBRARY[1], **LINK[0]}, {"mpi": "MPICH 4.2", "interconnect": "100gbe"}]
NESTED = [{**LIBRARY[at], "threads": count} for at, count in ((0, 1), (1, 2), (1, 4))]
FOUR = [{"mpi": f"library {at}", "interconnect": f"link{at}"} for at in range(4)]
PLANTED = {
    "library and link": together(LIBRARY, LINK, n=24),
    "library and threads": together(LIBRARY, THREADS),
    "build and link": together(BUILD, LINK),
    "tuning and library": together(TUNING, LIBRARY),
    "processor and link": together(CPU, LINK),
    "clock and build": together(CLOCK, BUILD),
    "numbers of nodes and library": together(NODES, LIBRARY),
    "three factors": together(LIBRARY, LINK, THREADS),
    "three factors, one of software": together(BUILD, CPU, THREADS),
    "library and day": together(LIBRARY, day=(0, 3)),
    "library and order": together(LIBRARY, order=(0, 1)),
    "build and host": together(BUILD, host=("n90", "n91")),
    "library, link and day": together(LIBRARY, LINK, day=(0, 2)),
    "threads, day and host": together(THREADS, day=(0, 2), host=("n90", "n91")),
    "link and two days": Planted(TWO_DAYS, ("interconnect", "day"), (factor(LINK), Cause("week", 2)), 6),
    "library and several hosts": Planted(THREE_HOSTS, ("mpi", "host"), (factor(LIBRARY),), 6),
    "nested in several cells": Planted(both(pairwise(LIBRARY, LINK), "nodes", (2, 4)), LIBRARIES, LINKED, 8),
    "nested: threads within a library": Planted(NESTED, ("mpi", "threads"), (factor(LIBRARY),)),
    "half of a factorial": Planted(HALF, (*LIBRARIES, "threads"), (*LINKED, factor(THREADS))),
    "partly: one cell breaks one alias": Planted(
        BROKEN, LIBRARIES, (Cause("mpi", "MPICH 4.2"), Cause("interconnect", "100gbe"))
    ),
    "partly: one cell with one run": Planted(
        pairwise(LIBRARY, LINK), LIBRARIES, LINKED, single={**LIBRARY[1], **LINK[0]}
    ),
    "in each of three pairs": Planted(
        FOUR, LIBRARIES, (Cause("mpi", "library 3"), Cause("interconnect", "link3"))
    ),
    "more ranks on each of more nodes": Planted(
        [SMALL, LARGE], ("nodes", "ranks_per_node"), (Cause("nodes", 4), Cause("ranks_per_node", 16))
    ),
    "ranks on each node and build": Planted(
        pairwise(FILLED, BUILD),
        ("build", "ranks_per_node"),
        (factor(BUILD), Cause("ranks_per_node", 16)),
    ),
    "clock, order and host": together(CLOCK, order=(0, 1), host=("n90", "n91")),
    "memory modules and build in two numbers of threads": Planted(
        both(pairwise(MODULES, BUILD), "threads", (1, 4)),
        ("dimm", "build"),
        (factor(MODULES), factor(BUILD)),
        8,
    ),
}
CASES = [(name, number) for name, one in PLANTED.items() for number in range(len(one.truths))]


@cache
def searched(name: str, number: int) -> tuple[Planted, Cause, list[Conclusion]]:
    planted = PLANTED[name]
    truth, rng = planted.truths[number], np.random.default_rng((SEED, number, len(name)))
    cells, counts = list(planted.cells), [planted.n] * len(planted.cells)
    if planted.single:
        cells, counts = [*cells, planted.single], [*counts, 1]
    return planted, truth, conclusions(runs_of(cells, truth, counts, rng))


def compared(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Return what stands of comparisons."""
    return [one for one in found if one.word in STANDING and one.question.compare is not None]


def mixed(found: Sequence[Conclusion]) -> list[Confounded]:
    # Of the order alone it is said that the effect is one of that session.
    open_ = [one for one in found if one.word in (CONFOUNDED, SESSION)]
    return [one.finding.confounded for one in open_ if one.finding.confounded]


def test_confounding__there_are_twenty() -> None:
    assert len(PLANTED) >= 20


@pytest.mark.parametrize(("name", "number"), CASES)
def test_confounding__is_named_and_called_no_single_cause(name: str, number: int) -> None:
    planted, truth, found = searched(name, number)
    assert truth.name in (*FACTORS, "day", "order", "host", "week")
    with_truth = [one for one in mixed(found) if truth.name.replace("week", "day") in one.causes]
    assert with_truth
    assert set(planted.named) >= set().union(*(one.causes for one in mixed(found)))
    if len(planted.cells) == 2:
        assert {one.causes for one in mixed(found)} == {tuple(planted.named)}
    for one in found:
        if one.word == CONFOUNDED:
            assert "hese runs cannot tell whether" in one.sentence
            assert " is " not in one.sentence.partition(". ")[0]  # nobody is ahead
            assert one.question.quantity == "speedup"
    # What stands is of a pair of cells that differ in one thing, and which has no effect on it.
    for one in compared(found):
        assert one.finding.confounded is None
        if one.word == "differs" and one.question.compare:
            assert one.question.compare.factor == truth.name


@pytest.mark.parametrize(("name", "number"), CASES)
def test_confounding__the_proposed_runs_tell(name: str, number: int) -> None:
    _, truth, found = searched(name, number)
    cells = confounding.to_tell(mixed(found))
    assert cells
    rng = np.random.default_rng((SEED, 7, number, len(name)))
    # Measured on another day, mixed, on any host: neither of these is a cause then.
    settings = [{"day": 30, **{k: v for k, v in cell.items() if v not in ("", -1)}} for cell, _ in cells]
    # That they are repeats, which the gate asks of one clean cell in fifty, is answered.
    answer = RunsAlike(within=[], pooled=[Pooled(when={}, why="made as repeats")])
    more = runs_of(settings, truth, [count for _, count in cells], rng)
    told = conclusions(replace(more, repeats=answer))
    causes = {
        one.question.compare.factor
        for one in compared(told)
        if one.word == "differs" and one.question.compare
    }
    assert mixed(told) == []
    assert causes == ({truth.name} if truth.name in FACTORS else set())


# ---- designs in which every cause can be told


def grid(**levels: Sequence[Level]) -> list[Setting]:
    return [dict(zip(levels, one, strict=True)) for one in itertools.product(*levels.values())]


MPI, LINKS = ("Open MPI 5.0", "Intel MPI 2021"), ("25gbe", "ib-hdr100")
CLEAN: dict[str, tuple[list[Setting], str]] = {
    "two levels": (grid(mpi=MPI), "mpi"),
    "three levels": (grid(mpi=(*MPI, "MPICH 4.2")), "mpi"),
    "two factors crossed": (grid(mpi=MPI, interconnect=LINKS), "mpi"),
    "three factors crossed": (grid(mpi=MPI, interconnect=LINKS, threads=(1, 4)), "mpi"),
    "one factor at a time": (
        [{**LIBRARY[0], **LINK[0]}, {**LIBRARY[1], **LINK[0]}, {**LIBRARY[0], **LINK[1]}], "mpi",
    ),
    "a chain": (
        [{**LIBRARY[0], **LINK[0]}, {**LIBRARY[1], **LINK[0]}, {**LIBRARY[1], **LINK[1]},
         {**LIBRARY[1], **LINK[1], **THREADS[1]}], "mpi",
    ),
    "a missing corner": (grid(mpi=MPI, interconnect=LINKS, threads=(1, 4))[:-1], "mpi"),
    "more nodes have more ranks": (
        [{"nodes": n, "ranks": 8 * n, "ranks_per_node": 8, **one} for n in (2, 4) for one in LIBRARY], "mpi",
    ),
    "threads instead of ranks": (
        [{"threads": t, "ranks_per_node": 16 // t, "ranks": 32 // t} for t in (1, 4)], "threads",
    ),
    "a machine with all its parts": (
        [{"cluster": "old", "cpu": "Westmere", "interconnect": "ib-qdr", "ranks_per_node": 12},
         {"cluster": "new", "cpu": "Ivy Bridge", "interconnect": "ib-fdr", "ranks_per_node": 20}], "cluster",
    ),
    "two days, both with both": (both(grid(mpi=MPI), "day", (0, 1)), "mpi"),
    "on one node no link is used": (
        [{"nodes": 1, "interconnect": "shared-memory", **one} for one in LIBRARY]
        + [{"nodes": 2, "interconnect": "25gbe", **one} for one in LIBRARY], "mpi",
    ),
    "the same few hosts": (both(grid(mpi=MPI), "host", ("n1", "n2")), "mpi"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_confounding__clean_designs_are_not_called_so(name: str) -> None:
    cells, factor_of = CLEAN[name]
    level = cells[-1][factor_of]
    rng = np.random.default_rng((SEED, 3, len(name)))
    found = conclusions(runs_of(cells, Cause(factor_of, level), 8, rng))
    assert mixed(found) == []
    assert "cannot tell" not in " ".join(one.sentence for one in found)
    differs = {one.question.compare.factor for one in found if one.word == "differs" and one.question.compare}
    assert differs == {factor_of}


# ---- by hand


SPREAD = (0.98, 0.99, 0.995, 1.005, 1.01, 1.02)


def rates(middle: float, **factors: Any) -> list[dict[str, Any]]:
    values = [middle * one for one in SPREAD]
    return repeats(values, "figure_of_merit", figure_of_merit_unit="Gflop/s", nodes=2, **factors)


def test_sentence__both_causes_and_the_runs_that_would_tell() -> None:
    rows = [
        *rates(12.0, mpi="Open MPI", interconnect="25gbe"),
        *rates(10.0, mpi="Intel MPI", interconnect="ib-hdr100"),
    ]
    (one,) = conclusions(campaign(rows))
    assert one.finding.estimate.value == pytest.approx(1.2)
    assert one.p == pytest.approx(2 / 924)  # no run of one side beats the other, six runs each
    assert re.sub(r" \(1\.1.*?\)", "", one.sentence) == (
        "Open MPI over 25GbE against Intel MPI over HDR100 InfiniBand: 1.200 times as fast in app. "
        "These runs cannot tell whether the link or the MPI library is the cause. "
        "Six runs of Intel MPI over 25GbE, mixed with six of each side, would tell"
    )
    assert one.id == "hand-app-mpi-open-mpi-with-intel-mpi-25gbe-ib-hdr100"


def test_sentence__another_day() -> None:
    starts = [pd.Timestamp(f"2026-11-0{day} 10:00") for day in (1, 2)]
    (one,) = conclusions(
        campaign([*rates(10.0, mpi="a", start=starts[0]), *rates(12.0, mpi="b", start=starts[1])])
    )
    assert one.word == CONFOUNDED
    assert one.sentence.endswith(
        "These runs cannot tell whether the MPI library or the day is the cause. "
        "All of b was measured on another day. "
        "Six runs of each in mixed order would tell"
    )


@pytest.mark.parametrize(("own", "named"), [(8, True), (9, True), (7, False), (5, False)])
def test_confounding__sides_mostly_on_hosts_of_their_own(own: int, named: bool) -> None:
    """8 of 10 runs a side on its own of two hosts: Cramér's V is 0.6, and Fisher's exact p 0.023."""
    rng = np.random.default_rng((SEED, 13, own))
    hosts = ["n1"] * own + ["n2"] * 10 + ["n1"] * (10 - own)
    values = 100 * np.exp(rng.normal(0, SCATTER, 20)) * np.repeat([1.2, 1.0], 10)
    made = repeats(values, "figure_of_merit", figure_of_merit_unit="Gflop/s", nodes=2)
    sides = [*({"mpi": "a"},) * 10, *({"mpi": "b"},) * 10]
    found = conclusions(
        campaign(
            [{**row, **side, "node_list": host} for row, side, host in zip(made, sides, hosts, strict=True)]
        )
    )
    assert [one.finding.confounded is not None for one in found if one.question.compare] == [named]
    assert ["mostly ran on different hosts" in one.sentence for one in found if one.question.compare] == [
        named
    ]


@pytest.mark.parametrize(("hosts", "named"), [(("n1", "n2"), False), (("n3", "n4"), True)])
def test_confounding__more_nodes_are_the_hosts_of_fewer_with_others(
    hosts: tuple[str, str], named: bool
) -> None:
    """Two nodes n1 and n2 over runs on n1 or n2: hosts are no cause; over runs on n3 or n4 they are."""
    rng = np.random.default_rng((SEED, 14))
    values = 100 * np.exp(rng.normal(0, SCATTER, 12)) * np.repeat([1.8, 1.0], 6)
    made = repeats(values, "figure_of_merit", figure_of_merit_unit="Gflop/s")
    wide = {"nodes": 2, "ranks": 2, "ranks_per_node": 1, "interconnect": "x", "node_list": "n1,n2"}
    sides = [dict(wide) for _ in range(6)]
    sides += [
        {"nodes": 1, "ranks": 1, "ranks_per_node": 1, "interconnect": "shared-memory", "node_list": host}
        for host in hosts * 3
    ]
    found = conclusions(campaign([{**row, **side} for row, side in zip(made, sides, strict=True)]))
    (one,) = (one for one in found if one.question.compare and one.question.compare.factor == "nodes")
    confounded = one.finding.confounded
    assert (confounded is not None and HOST in confounded.causes) is named


def test_claim__a_confounded_effect_does_not_hold() -> None:
    rows = [*rates(12.0, mpi="a", interconnect="x"), *rates(10.0, mpi="b", interconnect="y")]
    compare = Comparison("mpi", ("a", "b"), ("interconnect",))
    asked = Question("speedup", "figure_of_merit", {"application": "app"}, compare)
    expect = Expectation(relation="at-least", value=1.1)
    claim = Claim("one", "hand", "t", "a is faster", asked, expect)
    (verdict,) = evaluate(Report("hand", "by hand", "us", "2026", (claim,)), campaign(rows))
    assert (verdict.verdict, verdict.reason) == (
        "cannot tell", "these runs cannot tell whether the link or the MPI library is the cause",
    )  # fmt: skip
    (found,) = conclusions(campaign(rows))
    assert verdict.sentence == found.sentence
    # The same on slides, where it is no headline, and on the page, which has its base value too.
    slides = deck(campaign(rows)).slides
    why = "the cause may be the link or the MPI library; new-campaign --to-tell"
    assert [slide.topic for slide in slides if (found.row, why) in slide.table] == ["Open"]
    assert found.sentence not in {slide.headline for slide in slides}
    assert finding_sentences(campaign(rows), [found], 0.05) == [f"{found.sentence}."]
    page = pages.compare(campaign(rows), "mpi", "b", variable="figure_of_merit", varying=["interconnect"])
    (said,) = page.sentences
    assert said.replace("; b: 10 Gflop/s)", ")") == f"{found.sentence}."


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("mpi", "mpi"),
        ("nodes ranks", "nodes"),
        ("nodes ranks_per_node ranks", "nodes ranks_per_node"),
        ("ranks_per_node nodes", "ranks_per_node"),  # as many ranks on more nodes
        ("threads ranks ranks_per_node", "threads"),
        ("cluster cpu interconnect dimm", "cluster"),
        ("cluster cpu", "cpu"),
        ("cluster interconnect mpi", "interconnect mpi"),
        ("build version mpi", "mpi build"),
        ("case local_size problem", "case"),
    ],
)
def test_causes__what_follows_by_nature_is_none(changed: str, expected: str) -> None:
    assert confounding.causes(frozenset(changed.split())) == tuple(expected.split())


def test_repeats__follow_from_scatter_and_effect() -> None:
    """Median deviation 0.02 and effect 0.05 on logarithms: π (3.6 × 1.4826 × 0.02 / 0.05)² = 14.3."""
    away = np.array([-0.04, -0.02, -0.02, 0.0, 0.02, 0.02, 0.04])
    sides = [pd.DataFrame({"value": np.exp(middle + away)}) for middle in (0.05, 0.0)]
    assert np.pi * (3.6 * 1.4826 * 0.02 / 0.05) ** 2 == pytest.approx(14.3, abs=0.05)
    assert confounding.repeats(*sides) == 15
    assert confounding.repeats(sides[0] * 4, sides[1]) == 6  # as few as an interval at 95 % needs


def test_repeats__are_enough_nine_times_of_ten() -> None:
    """An effect of 4 % with a scatter of 3 %: so many runs, drawn anew, have an interval clear of 1."""
    rng = np.random.default_rng(SEED)
    middles = (np.log(1.04), 0.0)
    sides = [pd.DataFrame({"value": np.exp(rng.normal(middle, 0.03, 4001))}) for middle in middles]
    n = confounding.repeats(*sides)
    assert 20 <= n <= 27  # π (3.6 × 0.03 / 0.039)² = 24
    drawn = (np.exp(rng.normal(middle, 0.03, (300, n))) for middle in middles)
    clear = [ratio_of_medians(x, y).low > 1 for x, y in zip(*drawn, strict=True)]
    assert np.mean(clear) > 0.87


def test_to_tell__of_no_effect_needs_no_runs() -> None:
    assert confounding.to_tell([]) == []


def test_to_tell__is_the_least() -> None:
    """Two aliased factors need one further cell, three need two; half of a 2^3 factorial needs one."""
    expected = {"library and link": (0, 3, 1), "three factors": (0, 4, 2), "half of a factorial": (2, 4, 1)}
    for name, (number, cells, new) in expected.items():
        planted, _, found = searched(name, number)
        chosen = [cell for cell, _ in confounding.to_tell(mixed(found))]
        run = [one for one in planted.cells if any(one.items() <= cell.items() for cell in chosen)]
        assert (len(chosen), len(chosen) - len(run)) == (cells, new)


# ---- what a reader must know of the runs


def dated(
    middle: float, days: Sequence[float], values: Sequence[float] = (), **factors: Any
) -> list[dict[str, Any]]:
    """Make a run on each of some days, evenly scattered unless their values are given."""
    values = values or [1 + 0.01 * (-1) ** at for at in range(len(days))]
    rows = repeats(
        [middle * one for one in values], "figure_of_merit", figure_of_merit_unit="Gflop/s", **factors
    )
    starts = [DAY + pd.Timedelta(days=day) for day in days]
    return [{**row, "start": start} for row, start in zip(rows, starts, strict=True)]


def pooled(rows: Sequence[Mapping[str, Any]]) -> Campaign:
    """Make a campaign whose file states that its runs are repeats although they drift or lie far away."""
    answer = Pooled(when={}, why="the test plants a drift")
    return replace(campaign(rows), repeats=RunsAlike(within=[], pooled=[answer]))


def test_remarks__a_drift_is_said() -> None:
    """From 1 to 0.79 in equal steps of the logarithm over 20 days: minus 21 %."""
    days = [at + 0.3 for at in range(21)]
    falling = [0.79 ** (at / 20) for at in range(21)]
    # The other side goes first on every second day.
    others = [day + 0.01 * (-1) ** at for at, day in enumerate(days)]
    rows = [*dated(10.0, others, mpi="a"), *dated(15.0, days, falling, mpi="b")]
    (one,) = conclusions(pooled(rows))
    assert one.word == "differs"
    assert one.sentence.endswith("). The rate of b fell by 21 % over 20 days")
    assert conditions.drift(campaign(rows).runs.iloc[21:].assign(value=falling)) == pytest.approx(
        (-0.21, 20.0)
    )


def test_remarks__a_far_run_is_said() -> None:
    days = [0.01 * at for at in range(8)]
    values = [1.01, 0.99, 1.01, 0.4, 0.99, 1.01, 0.99, 1.0]
    rows = [*dated(10.0, days, mpi="a"), *dated(15.0, days, values, mpi="b")]
    (one,) = conclusions(pooled(rows))
    # The median of b's values is 0.995: 0.4 / 0.995 = 0.402.
    assert one.sentence.endswith(". One run of b is at 0.4 times the median")
    assert conditions.far_runs(pd.DataFrame({"value": values})) == pytest.approx((0.4 / 0.995, 1))
    # Of eight runs two can be far; more are no runs far from the rest.
    for many, found in ((2, (3.0, 2)), (3, None)):
        far = pd.DataFrame({"value": [1.0, 0.99, 1.0, 1.01, 1.0, 1.0, 1.0, 1.0][many:] + [3.0] * many})
        assert conditions.far_runs(far) == found
    slow = Remark("far", "b", 0.13, count=3)
    fast = Remark("far", "b", 2.4, count=2)
    assert spelling._remark("b", "rate", slow) == "3 runs of b are at as little as 0.13 times the median"
    assert spelling._remark("b", "rate", fast) == "2 runs of b are at up to 2.4 times the median"


def test_remarks__most_of_one_side_on_other_days_is_said() -> None:
    rows = [
        *dated(10.0, [0, 0.1, 1, 1.1, 2, 2.1, 3, 3.1], mpi="a"),
        *dated(15.0, [3.01 + at / 50 for at in range(8)], mpi="b"),
    ]
    (one,) = conclusions(campaign(rows))
    assert one.sentence.endswith(". Most of a was measured on other days")


@pytest.mark.parametrize("seed", range(20))
def test_remarks__plain_scatter_is_none(seed: int) -> None:
    rng = np.random.default_rng((SEED, seed))
    days = sorted(rng.uniform(0, 3, 24))
    values = np.exp(rng.normal(0, 0.03, 24)).tolist()
    runs = campaign(dated(10.0, days, values, mpi="a")).runs
    side = runs.assign(value=runs["figure_of_merit"])
    assert list(conditions.remarks("mpi", side.iloc[::2], side.iloc[1::2])) == []


@pytest.mark.parametrize(("runs", "separate"), [(5, False), (6, True)])
def test_conditions__hosts_that_chance_divides_once_in_twenty_are_no_cause(runs: int, separate: bool) -> None:
    """Of n + n runs one is on the other side's host: Fisher's p is 0.048 of 5 + 5, 0.015 of 6 + 6."""
    first, second = [["n1"]] * runs, [["n1"], *[["n2"]] * (runs - 1)]
    assert conditions._mostly_apart(first, second) is separate
