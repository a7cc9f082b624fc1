"""The gate before repeats: of clean cells few are questioned, of planted mixtures none is pooled in silence.

All draws have fixed seeds. A campaign has the cell in question and clean ones beside it, as campaigns have.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.base import modes
from analysis.base.errors import ConfigError
from analysis.base.modes import split
from analysis.claims.verdicts import NOT_TESTED
from analysis.decks.content import deck
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.groups import measured_level
from analysis.findings.conclusion import STANDING
from analysis.findings.search import conclusions
from analysis.pages.findings import finding_sentences, undecided_table
from analysis.schema.campaigns import Pooled, RunsAlike
from tests.estimates.hand import campaign, claim, repeats, verdict

Array = NDArray[np.float64]
SEED = 20_261_123
RATED = {"figure_of_merit_unit": "Gflop/s"}


def noise(rng: np.random.Generator, n: int, kind: str, scatter: float) -> Array:
    drawn = {
        "normal": lambda: 1 + scatter * rng.normal(size=n),
        "lognormal": lambda: np.exp(scatter * rng.normal(size=n)),
        "heavy": lambda: np.exp(scatter * rng.standard_t(5, n) / np.sqrt(5 / 3)),
    }
    found: Array = 100 * drawn[kind]()
    return found


def rows(values: Array, case: str, facts: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    out = repeats(values, "figure_of_merit", case=case, **RATED)
    for name, levels in (facts or {}).items():
        out = [row | {name: str(level)} for row, level in zip(out, levels, strict=True)]
    return out


def clean_rows(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    found = []
    for at in range(count):
        n, kind = int(rng.integers(3, 31)), ("normal", "lognormal", "heavy")[at % 3]
        hosts = rng.integers(0, 2, n)
        values = noise(rng, n, kind, rng.uniform(0.02, 0.05))
        found += rows(
            values, f"clean{at:03}", {"node_list": hosts, "command": [f"app -r {one}" for one in hosts]}
        )
    return found


def test_mixture__of_200_clean_cells_few_are_questioned() -> None:
    """A scatter of 2 to 5 %, 3 to 30 runs, hosts that make no difference: at most 5 % are questioned."""
    found = campaign(clean_rows(np.random.default_rng(SEED), 200)).doubts
    assert len(found) <= 10


def groups(
    rng: np.random.Generator, sizes: tuple[int, ...], apart: float, scatter: float
) -> tuple[Array, Array]:
    label = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype("f8")
    return noise(rng, len(label), "lognormal", scatter) * np.exp(np.log1p(apart) * label), label


def morning(day: int, at: int) -> np.datetime64:
    return np.datetime64(f"2026-03-{2 + day:02}", "ns") + np.timedelta64(600 * at, "s")


# What is stated of a run, as a column of its record: host, node list, option, date, file, and so on.
STATED = {
    "host": ("node_list", lambda g: [f"{'abc'[int(x)]}n01" for x in g]),
    "node list": ("node_list", lambda g: [f"cn{int(x)}1,cn{int(x)}2" for x in g]),
    "option": ("command", lambda g: [f"mpirun -x{int(x)} app" for x in g]),
    "longer line": ("command", lambda g: ["mpirun app" + " --bind core" * int(x) for x in g]),
    "version": ("command", lambda g: [f"/opt/app/{int(x) + 2}.1/bin/app" for x in g]),
    "threads": ("command", lambda g: [f"mpirun app -nt {8 * (int(x) + 1)}" for x in g]),
    "frequency": ("command", lambda g: [f"run --freq {2.1 + 0.5 * x:.1f}GHz app" for x in g]),
    "purpose": ("question", lambda g: [f"part {int(x)}" for x in g]),
    "source": ("source", lambda g: [f"s{int(x)}" for x in g]),
    "file name": ("run", lambda g: [f"out-{'xyz'[int(x)]}-{at:03}" for at, x in enumerate(g)]),
    "folder": ("run", lambda g: [f"{('old', 'new', 'next')[int(x)]}-{at:03}" for at, x in enumerate(g)]),
    "date": ("start", lambda g: [morning(int(x), at) for at, x in enumerate(g)]),
    "hours": ("start", lambda g: [morning(at % 5, at + 36 * int(x)) for at, x in enumerate(g)]),
}
# Two or three groups: sizes, distance, scatter; each kind of fact, with many runs and with few.
EXPLAINED = [
    *((name, (6, 6), 0.12, 0.03) for name in STATED),
    *((name, (10, 3), 0.15, 0.03) for name in ("host", "option", "file name", "date")),
    *((name, (5, 5, 4), 0.10, 0.03) for name in ("host", "version", "folder", "threads")),
    *((name, (2, 2), 0.25, 0.02) for name in ("host", "option", "folder")),
    *((name, (2, 1), 0.30, 0.02) for name in ("node list", "frequency")),
]
SILENT = [
    ((8, 8), 0.12, 0.02), ((15, 15), 0.10, 0.02), ((10, 3), 0.25, 0.03), ((20, 5), 0.15, 0.02),
    ((6, 6, 6), 0.15, 0.02), ((4, 4), 0.30, 0.03), ((12, 12), 0.20, 0.04), ((25, 4), 0.30, 0.04),
    ((5, 5, 5, 5), 0.15, 0.008), ((6,) * 6, 0.12, 0.008),
]  # fmt: skip


def in_doubt(planted: list[dict[str, Any]], rng: np.random.Generator) -> Campaign:
    return campaign([*planted, *clean_rows(rng, 12)])


@pytest.mark.parametrize(("name", "sizes", "apart", "scatter"), EXPLAINED)
def test_mixture__what_groups_follow_is_asked(
    name: str, sizes: tuple[int, ...], apart: float, scatter: float
) -> None:
    rng = np.random.default_rng([SEED, len(sizes), sum(sizes), sorted(STATED).index(name)])
    values, label = groups(rng, sizes, apart, scatter)
    column, stated = STATED[name]
    planted = rows(values, "planted")
    planted = [row | {column: level} for row, level in zip(planted, stated(label), strict=True)]

    (doubt,) = [one for one in in_doubt(planted, rng).doubts if one.cell["case"] == "planted"]

    assert len(doubt.runs) == sum(sizes)
    assert "a factor, or are they repeats?" in doubt.question
    assert "problem planted" in doubt.question
    assert len(set(doubt.levels)) == len(sizes) if column != "start" else doubt.split.fact == name


@pytest.mark.parametrize(("sizes", "apart", "scatter"), SILENT)
def test_mixture__groups_that_nothing_explains_are_asked_about(
    sizes: tuple[int, ...], apart: float, scatter: float
) -> None:
    rng = np.random.default_rng([SEED + 1, *sizes])
    values, _ = groups(rng, sizes, apart, scatter)
    (doubt,) = [one for one in in_doubt(rows(values, "planted"), rng).doubts if one.cell["case"] == "planted"]
    assert doubt.question.endswith("what differs, or are they repeats?")


def test_mixture__four_runs_alone_in_their_campaign_can_follow_a_fact() -> None:
    rows_ = [row | {"node_list": f"n{at % 2}"} for at, row in enumerate(rows([100, 125, 101, 124], "alone"))]
    (doubt,) = campaign(rows_).doubts
    assert (doubt.split.fact, doubt.split.sizes) == ("node_list", (2, 2))


@pytest.mark.parametrize(("n", "rise"), [(12, 0.25), (20, -0.21), (30, 0.12), (8, 0.40)])
def test_mixture__a_trend_along_time_is_asked_about(n: int, rise: float) -> None:
    rng = np.random.default_rng([SEED + 2, n])
    values = noise(rng, n, "lognormal", 0.02) * np.exp(np.log1p(rise) * np.linspace(0, 1, n))
    planted = [row | {"order": 1000 + at} for at, row in enumerate(rows(values, "planted"))]
    others = [row | {"order": at} for at, row in enumerate(clean_rows(rng, 12))]
    (doubt,) = [one for one in campaign([*planted, *others]).doubts if one.cell["case"] == "planted"]
    assert doubt.split.kind in ("trend", "groups")
    assert doubt.split.kind == "groups" or np.sign(doubt.split.apart) == np.sign(rise)


@pytest.mark.parametrize(("n", "far"), [(6, (0.4,)), (12, (0.7,)), (30, (1.5, 1.6)), (4, (0.4,))])
def test_mixture__runs_far_from_the_rest_are_asked_about(n: int, far: tuple[float, ...]) -> None:
    rng = np.random.default_rng([SEED + 3, n])
    values = noise(rng, n, "lognormal", 0.02)
    values[: len(far)] *= far
    found = in_doubt(rows(values, "planted"), rng).doubts
    assert "planted" in {one.cell["case"] for one in found}


FEW = [
    ((1, 27), "2 runs differ by 27.0 times"),
    ((10.6, 1, 1.02), "1 run of 3 differs by 10.5 times from the rest"),
    ((10.6, 10.5, 1), "1 run of 3 differs by 10.5 times from the rest"),
    ((1, 1.1, 5, 5.2, 5.1), "5 runs fall into groups of 2 and 3 that differ by 4.9 times"),
    ((1, 1.9), ""),
    ((1, 1.5, 1.95), ""),
]


@pytest.mark.parametrize(("values", "found"), FEW)
def test_mixture__a_few_runs_that_differ_as_no_repeats_do_are_asked_about(
    values: tuple[float, ...], found: str
) -> None:
    """More than twice; alone in their campaign, and with nothing that is stated of them."""
    told = [one.found for one in campaign(rows(np.array(values), "few")).doubts]
    assert told == ([f"{found}: what differs, or are they repeats?"] if found else [])


# ---- what a doubt does


def two_sides(bad: Array) -> list[dict[str, Any]]:
    rng = np.random.default_rng(SEED + 5)
    good = noise(rng, 12, "lognormal", 0.02)
    hosts = {"node_list": np.repeat(["cn1", "gn1"], 6)}
    sides = [({"mpi": "one"}, good, {}), ({"mpi": "other"}, bad, hosts)]
    out = [row | level for level, values, facts in sides for row in rows(values, "c", facts)]
    return [*out, *(row | {"mpi": "one"} for row in clean_rows(rng, 6))]


MIXED = np.concatenate(
    [
        noise(np.random.default_rng(1), 6, "normal", 0.02),
        noise(np.random.default_rng(2), 6, "normal", 0.02) * 1.5,
    ]
)
CLAIM = """quantity: speedup
variable: figure_of_merit
select: { case: c }
compare: { factor: mpi, treatment: other, baseline: one }
expect: { relation: at-least, value: 1 }
"""


def test_doubt__nothing_is_concluded_from_the_cell(tmp_path: Path) -> None:
    """A side of two host groups, half of it 1.5 times as fast: no finding, no verdict, no slide, one line."""
    mixed = campaign(two_sides(MIXED))
    (doubt,) = mixed.doubts
    assert "MPI library other" in doubt.question
    assert "the list of hosts (node_list: 'cn1', 'gn1')" in doubt.question

    found = conclusions(mixed)
    assert not [one for one in found if one.word in STANDING and set(one.finding.runs) & set(doubt.runs)]
    assert "1 cell whose runs may be no repeats" in finding_sentences(mixed, found, 0.05)[-1]
    asked = undecided_table(mixed, found).frame
    assert (doubt.found, doubt.name) in zip(asked["comparison"], asked["rests on"], strict=True)
    slides = deck(mixed).slides
    assert not [one for one in slides if one.kind == "question" and "other" in one.headline]
    assert any(doubt.name in row[0] for one in slides for row in one.table)
    judged = verdict(claim(tmp_path, CLAIM), mixed)
    assert (judged.verdict, judged.estimate) == (NOT_TESTED, None)
    assert doubt.question in judged.reason
    with pytest.raises(NotCoveredError, match=r"left out: .*12 runs fall into groups of 6 and 6"):
        measured_level(mixed, "figure_of_merit", {"mpi": "other"})


def test_doubt__benchmarks_with_other_sizes_are_asked_about_each_by_itself() -> None:
    """Latency has 0 B to 4 MiB, a barrier no size: no size is in nearly all runs of both."""
    sizes = {"osu_latency": [0, *(1 << power for power in range(23))], "osu_barrier": [-1]}
    runs, micro = [], []
    for case, own in sizes.items():
        for tuning in ("one", "other"):
            factors = noise(np.random.default_rng(len(case) + len(tuning)), 20, "normal", 0.02) / 100
            if (case, tuning) == ("osu_barrier", "other"):
                factors[7] *= 18
            for at, factor in enumerate(factors):
                name = f"{case}-{tuning}-{at:02}"
                runs += [repeats([1.0], case=case, tuning=tuning, application="osu")[0] | {"run": name}]
                rows = [{"run": name, "size": size, "latency": factor * (9 + size / 1e3)} for size in own]
                micro += [row | {"bandwidth": np.nan} for row in rows]

    (doubt,) = campaign(runs, micro=micro).doubts

    assert doubt.cell["case"] == "osu_barrier"
    assert (
        doubt.found == "1 run of 20 differs by 17.8 times from the rest: what differs, or are they repeats?"
    )
    last = np.log(factors)  # of the barrier with the other tuning
    assert doubt.split.apart == pytest.approx(last[7] - np.delete(last, 7).mean())


def test_doubt__an_answer_lets_the_cell_in_or_parts_it() -> None:
    mixed = campaign(two_sides(MIXED))
    pooled = Pooled(when={"case": "c", "mpi": "other"}, why="both groups of hosts are what users get")
    elsewhere = pooled.model_copy(update={"when": {"case": "c", "mpi": "one"}})
    answered = replace(mixed, repeats=RunsAlike(pooled=[pooled]), _doubts={})
    assert not answered.doubts
    assert len(measured_level(answered, "figure_of_merit", {"mpi": "other"})) == 12
    assert replace(mixed, repeats=RunsAlike(pooled=[elsewhere]), _doubts={}).doubts

    parted = replace(mixed, repeats=RunsAlike(within=["node_list"]), _doubts={})
    assert "c" not in {one.cell["case"] for one in parted.doubts}
    options = set(measured_level(parted, "figure_of_merit", {"mpi": "other"})["options"])
    assert options == {"node_list=cn1", "node_list=gn1"}
    with pytest.raises(ConfigError, match="no run states 'moon'"):
        replace(mixed, repeats=RunsAlike(within=["moon"]), _doubts={}).runs  # noqa: B018


def test_split__knows_values_by_hand() -> None:
    """Six values near 100 and six near 130: two groups, ln 1.3 apart; without the second six nothing."""
    near = [99.0, 101.0, 100.0, 98.0, 102.0, 100.5]
    found = split([*near, *(1.3 * one for one in near)])
    assert found is not None
    assert (found.kind, found.sizes) == ("groups", (6, 6))
    assert found.apart == pytest.approx(np.log(1.3))
    assert split(near) is None
    assert split([5.0] * 12) is None
    assert split(near, scatter=0.02, facts={"host": ["a", "b"] * 3}) is None


@pytest.mark.parametrize("kind", ["trend", "groups"])
def test_split__memory_does_not_grow_with_the_runs_of_a_cell(kind: str) -> None:
    rng = np.random.default_rng(12)
    n, places = 6_000, np.arange(6_000)
    step = 0.3 * places / n if kind == "trend" else 0.3 * rng.integers(3, size=n)
    tracemalloc.start()
    found = split(np.exp(rng.normal(0, 0.05, n) + step), places, {"fact": list(rng.integers(3, size=n))})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert found.kind == kind
    if kind == "trend":
        assert found.apart == pytest.approx(0.3, abs=0.01)
    else:
        assert found.sizes == pytest.approx([2000] * 3, rel=0.06)
    # All pairs of 6,000 values are 144 MB, 2,000 orders of them 96 MB.
    assert peak < 60e6


def test_split__farthest_of_many_values_is_as_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    known = modes._farthest(401)
    monkeypatch.setattr(modes, "_MANY", 401)
    modes._farthest.cache_clear()
    assert known == pytest.approx(modes._farthest(401), rel=0.05)
    modes._farthest.cache_clear()
