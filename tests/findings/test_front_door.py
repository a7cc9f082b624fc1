"""Mixtures, confoundings and schedules planted in folders of runs and taken through the ingest."""

# ruff: noqa: E501

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.cli import main
from analysis.datasets.campaign import ingest
from analysis.estimates import confounding
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.estimates.finding import IN_ORDER, ONE_AFTER_ANOTHER, OTHER_HOURS, SAME_FIRST
from analysis.findings.conclusion import CONFOUNDED, DIFFERS, SESSION, STANDING
from analysis.findings.search import conclusions
from tests.findings.planted import project
from tests.readers.merits.texts import HPL_CHECK, HPL_END, HPL_HEAD, HPL_TABLE

SEED = 71_193
FIRST, DAY = 1.78e9, 86_400.0
WORK = (2 / 3 * 20_000 + 1.5) * 20_000**2 / 1e9  # Gflop of N = 20000
DECLARED = "title: Planted\nevidence: measured\nhardware: planted\n"
ENGINES = {
    "hpl": "engine: hpl\nfigure_of_merit: Gflops\nunit: Gflop/s\nhigher_is_better: true\n",
    "plain": 'engine: ""\nfigure_of_merit: ""\nunit: ""\nhigher_is_better: false\n',
}
Rng = np.random.Generator
Run = dict[str, Any]  # a record, with the rate or the time under ``value`` and other files under ``beside``


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("campaigns: []\npages: []\n")
    for name, text in ENGINES.items():
        path = tmp_path / "config" / "applications" / f"{name}.yaml"
        path.write_text(f"title: {name}\n{text}fixed_time: false\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def built(base: Path, runs: Iterable[Run], declared: str = "") -> Campaign:
    """Write a campaign's folders with records and outputs, ingest it and load it."""
    (base / "config" / "campaigns" / "own.yaml").write_text(DECLARED + declared)
    for at, one in enumerate(runs):
        given = {
            "application": "hpl", "case": "run", "nodes": 2, "ranks": 8, "ranks_per_node": 4,
            "interconnect": "hdr", "mpi": "Open MPI 5.0", "build": "-O3", "command": "mpirun -np 8 xhpl",
            **one,
        }  # fmt: skip
        value, beside = given.pop("value"), given.pop("beside", {})
        fixed = {
            "campaign": "own",
            "evidence": "measured",
            "cluster": "ours",
            "exit_code": 0,
            "repeat": at + 1,
        }
        record = {"run": f"{at:05}", **given, **fixed}
        folder = base / "data" / "raw" / "own" / "runs" / record["run"]
        folder.mkdir(parents=True)
        took = value if record["application"] == "plain" else WORK / value + 2
        if record["application"] == "hpl":
            row = f"WR11C2R4       20000   192     2     4 {WORK / value:18.4f} {value:22.8e}\n"
            output = HPL_HEAD + HPL_TABLE + row + HPL_CHECK.format(word="PASSED") + HPL_END
            (folder / "stdout.txt").write_text(output)
        for name, text in beside.items():
            (folder / name).write_text(text)
        if "start" in record:
            record["end"] = record["start"] + took
        (folder / "run.json").write_text(json.dumps(record))
    summary = ingest(base / "data" / "raw" / "own", base / "data" / "processed" / "own")
    assert summary.valid == summary.runs
    return load_campaign("own", base)


def noise(rng: Rng, n: int, scatter: float = 0.02) -> np.ndarray:
    return 500 * np.exp(scatter * rng.normal(size=n))


def mixed(
    rng: Rng, sizes: Sequence[int], ratio: float, scatter: float, key: str, levels: Sequence[Any]
) -> list[Run]:
    """Plant groups, each as many times faster than the one before; of each run `key` states its group."""
    label = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = noise(rng, len(label), scatter) * ratio**label
    return [
        {"value": float(value)} | ({key: levels[group]} if key else {})
        for value, group in zip(values, label, strict=True)
    ]


def fact(name: str, *levels: str) -> list[Any]:
    return [{"facts": {name: {"value": level, "source": "/proc"}}} for level in levels]


def values_of(values: Iterable[float], **more: Sequence[Any]) -> list[Run]:
    return [
        {"value": float(value)} | {name: each[at] for name, each in more.items()}
        for at, value in enumerate(values)
    ]


def over_days(n: int) -> list[float]:
    return [FIRST + 40_000.0 * at for at in range(n)]


def crossed(rng: Rng) -> list[Run]:
    """Plant two facts with an effect of 15 % each, which hides the other's."""
    one, other = (rng.permutation(np.repeat([0, 1], 10)) for _ in range(2))
    return values_of(
        noise(rng, 20) * 1.15**one * 1.15**other,
        firmware=[f"f{x}" for x in one],
        switch=[f"s{x}" for x in other],
    )


# A kind, and the fact that the question names, empty where nothing is stated of it.
MIXTURES: dict[str, tuple[Callable[[Rng], list[Run]], str]] = {
    "kernel": (
        lambda rng: mixed(rng, (6, 6), 1.1, 0.02, "facts", fact("kernel.osrelease", "5.14", "6.6")), "kernel.osrelease",
    ),
    "firmware": (
        lambda rng: mixed(rng, (4, 4), 1.2, 0.02, "facts", fact("system.bios_version", "1", "2")), "system.bios_version",
    ),
    "environment": (
        lambda rng: mixed(rng, (7, 5), 1.12, 0.02, "environment", [{}, {"UCX_TLS": "rc"}]), "environment.UCX_TLS",
    ),
    "program": (
        lambda rng: mixed(rng, (8, 4), 1.12, 0.02, "binary", [{"sha256": "0a" * 32}, {"sha256": "0b" * 32}]),
        "binary.sha256",
    ),
    "input file": (
        lambda rng: mixed(rng, (6, 6), 1.12, 0.02, "beside", [{"HPL.dat": "192"}, {"HPL.dat": "256"}]), "file HPL.dat",
    ),
    "modules": (lambda rng: mixed(rng, (6, 6), 1.12, 0.02, "modules", [["mkl/1"], ["mkl/2"]]), "modules"),
    "own key, three levels": (lambda rng: mixed(rng, (9, 6, 3), 1.1, 0.02, "rack", ["a", "b", "c"]), "rack"),
    "3 % at 0.3 %": (lambda rng: mixed(rng, (10, 10), 1.03, 0.003, "", ()), ""),
    "3 % that a host explains": (
        lambda rng: mixed(rng, (8, 8), 1.03, 0.004, "nodelist", [["a1", "a2"], ["b1", "b2"]]), "node_list",
    ),
    "far on both sides": (lambda rng: values_of([*noise(rng, 14, 0.015), 300.0, 800.0]), ""),
    "slow ones, scattered": (lambda rng: values_of([*noise(rng, 9, 0.015), 250.0, 310.0, 375.0]), ""),
    "two facts": (crossed, "*"),
    "a disk that slows down": (
        lambda rng: values_of(noise(rng, 15) * np.geomspace(1, 0.75, 15), start=over_days(15)), "*",
    ),
    "whole seconds": (
        lambda rng: [
            one | {"application": "plain", "start": FIRST + round(rng.uniform(0, 4e5)), "value": round(one["value"] / 20)}
            for one in mixed(rng, (8, 8), 1.5, 0.02, "", ())
        ], "",
    ),
}  # fmt: skip


def shuffled(rng: Rng, cells: Mapping[str, Sequence[Run]]) -> list[Run]:
    """Give the runs of all cells starts in a shuffled order over six days, and any of forty hosts."""
    runs = [{"case": case, **one} for case, each in cells.items() for one in each]
    out = []
    for place, at in enumerate(rng.permutation(len(runs))):
        hosts = [f"n{host:02}" for host in sorted(rng.choice(40, 2, replace=False))]
        start = FIRST + DAY * (6 * place // len(runs)) + 60.0 * place
        out.append({"start": start, "nodelist": hosts, "order": place, **runs[at]})
    return out


def test_gate__no_mixture_of_other_kinds_is_pooled_in_silence(base: Path) -> None:
    """More than half of the cells are mixed: their scatter must not hide them from each other."""
    rng = np.random.default_rng(SEED)
    cells = {f"mixed {name}": plant(rng) for name, (plant, _) in MIXTURES.items()}
    cells |= {f"clean {at}": values_of(noise(rng, int(rng.integers(4, 20)))) for at in range(8)}
    own = built(base, shuffled(rng, cells))
    own.runs  # noqa: B018
    found = {one.cell["case"]: one for one in own.doubts}
    assert [case for case in cells if case.startswith("mixed") and case not in found] == []
    assert [case for case in found if case.startswith("clean")] == []
    for name, (_, expected) in MIXTURES.items():
        doubt = found[f"mixed {name}"]
        assert expected in ("*", doubt.split.fact), name
        if doubt.split.fact:
            assert re.search(rf"along with (the .*\()?{re.escape(doubt.split.fact)}[ :]", doubt.question)
            assert doubt.question.endswith("a factor, or are they repeats?")
    assert not [one for one in conclusions(own) if one.word in STANDING and "mixed" in one.sentence]


def test_gate__of_clean_cells_few_are_questioned(base: Path) -> None:
    """Scatter of five kinds, whole seconds among them: of 90 cells 4 at most."""
    rng = np.random.default_rng(SEED + 1)
    kinds: dict[str, Callable[[int], np.ndarray]] = {
        "normal": lambda n: noise(rng, n, 0.03),
        "t": lambda n: 500 * np.exp(0.02 * rng.standard_t(3, n)),
        "tail": lambda n: 500 / (1 + 0.04 * rng.exponential(size=n)),
        "wide": lambda n: noise(rng, n, 0.08),
        "seconds": lambda n: np.round(noise(rng, n, 0.02) / 30),
    }
    cells: dict[str, list[Run]] = {}
    for at in range(90):
        kind, n = list(kinds)[at % 5], int(rng.choice([3, 5, 8, 12, 20, 30]))
        runs = values_of(kinds[kind](n), firmware=rng.choice(["a", "b"], n).tolist())
        whole = {"application": "plain", "start": 0.0} if kind == "seconds" else {}
        cells[f"{kind} {at}"] = [
            one | whole | ({"start": FIRST + float(rng.integers(4e5))} if whole else {}) for one in runs
        ]
    own = built(base, shuffled(rng, cells))
    own.runs  # noqa: B018
    assert len(own.doubts) <= 4, [one.question for one in own.doubts]


def test_gate__the_answer_has_the_name_of_the_question(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word of a launch line has another place in the lines of another cell: each cell counts by itself."""
    rng = np.random.default_rng(SEED + 2)
    lines = [f"mpirun -np 8 --map-by {where} xhpl" for where in ("node", "core")]
    cells = {"one": mixed(rng, (6, 6), 1.3, 0.02, "command", lines)}
    cells |= {
        f"other {at}": [one | {"command": "srun xhpl"} for one in values_of(noise(rng, 8))] for at in range(4)
    }
    runs = shuffled(rng, cells)
    (doubt,) = built(base, runs).ungated().doubts or load_campaign("own", base).doubts
    assert "12 runs fall into groups of 6 and 6" in doubt.question
    assert "along with launch word 5 ('node', 'core')" in doubt.question.replace(
        "('core', 'node')", "('node', 'core')"
    )
    assert main(["findings", "own"]) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if "12 runs fall into groups of 6 and 6" in line]

    path = base / "config" / "campaigns" / "own.yaml"
    path.write_text(DECLARED + "repeats: { within: [launch word 5] }\n")
    answered = load_campaign("own", base)
    own = answered.runs
    assert answered.doubts == ()
    assert set(own.loc[own["case"] == "one", "options"]) == {"launch word 5=node", "launch word 5=core"}
    assert set(own.loc[own["case"] != "one", "options"]) == {""}


# ---- changed together


def test_confounding__a_quarter_of_a_factorial_needs_five_cells(base: Path) -> None:
    """Of five factors in eight cells two effects have four causes: five cells in a tree tell them, not six."""
    rng, runs = np.random.default_rng(SEED + 3), []
    for at in rng.permutation(48):
        a, b, c = (int(at) % 8 >> bit & 1 for bit in range(3))
        names = {
            "mpi": "AB"[a],
            "build": "CD"[b],
            "threads": (1, 4)[c],
            "tuning": "EF"[a ^ b],
            "cpu": "GH"[a ^ c],
        }
        rate = float(noise(rng, 1)[0]) * (1.25 if c else 1.0)
        runs.append({"value": rate, **names, "start": FIRST + 60.0 * len(runs), "order": len(runs)})
    found = [one for one in conclusions(built(base, runs)) if one.question.compare]
    effects = [one.finding.confounded for one in found if one.word == CONFOUNDED and one.finding.confounded]
    assert {frozenset(one.causes) for one in effects} == {
        frozenset({"mpi", "tuning", "threads"}), frozenset({"cpu", "threads"}),
    }  # fmt: skip
    assert not [one for one in found if one.word == DIFFERS]
    cells = [cell for cell, _ in confounding.to_tell(effects)]
    assert len(cells) == 5
    for cause in ("mpi", "tuning", "threads", "cpu"):
        alone = [
            {name for name in one if one[name] != other[name]} == {cause} for one in cells for other in cells
        ]
        assert any(alone), cause


# ---- sessions


def two(
    rng: Rng, sides: Iterable[int], starts: Iterable[float], effect: Callable[[int, float], float]
) -> list[Run]:
    rates = [
        (side, at, float(noise(rng, 1)[0]) * float(np.exp(effect(side, at))))
        for side, at in zip(sides, starts, strict=True)
    ]
    return [
        {"value": rate, "mpi": ("one", "other")[side], "start": FIRST + at, "order": place}
        for place, (side, at, rate) in enumerate(rates)
    ]


def cycle(_: int, at: float) -> float:
    """What a day does: 8 % by the hour."""
    return 0.08 * float(np.sin(2 * np.pi * at / DAY))


SCHEDULES: dict[str, tuple[Callable[[Rng], list[Run]], str]] = {
    "in turn, mornings and evenings": (
        lambda rng: two(rng, [0, 1] * 8, [DAY * (at // 2) + 21_600 * (1 + 2 * (at % 2)) for at in range(16)], cycle),
        IN_ORDER,
    ),
    "two each morning, two each afternoon": (
        lambda rng: two(
            rng, [0, 0, 1, 1] * 4, [DAY * (at // 4) + 3_600 * (3, 4, 15, 16)[at % 4] for at in range(16)], cycle
        ), OTHER_HOURS,
    ),
    "one side first and cold on seven days": (
        lambda rng: two(
            rng, [0, 1] * 7, [DAY * (at // 2) + 1_000 * (at // 2 * 7 % 40) + 600 * (at % 2) for at in range(14)],
            lambda side, _: -0.08 * (side == 0),
        ), SAME_FIRST,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_sessions__what_a_day_does_is_no_finding(base: Path, name: str) -> None:
    plant, why = SCHEDULES[name]
    found = [
        one
        for one in conclusions(built(base, plant(np.random.default_rng(SEED + 4))))
        if one.question.compare
    ]
    assert DIFFERS not in {one.word for one in found}
    assert why in {one.finding.session for one in found if one.word == SESSION}


def test_sessions__shuffled_over_days_keeps_its_word(base: Path) -> None:
    rng = np.random.default_rng(SEED + 5)
    sides = [int(side) for _ in range(4) for side in rng.permutation([0, 0, 1, 1])]
    starts = np.sort(rng.uniform(0, 4 * DAY, 16)).tolist()
    (one,) = conclusions(built(base, two(rng, sides, starts, lambda side, _: 0.10 * side)))
    assert (one.word, one.finding.session) == (DIFFERS, "")


@pytest.mark.parametrize(("order", "word"), [([0] * 8 + [1] * 8, "cannot tell"), ([0, 1] * 8, "better")])
def test_compare__parts_that_were_not_run_in_turn_have_no_word(
    base: Path, capsys: pytest.CaptureFixture[str], order: list[int], word: str
) -> None:
    rng = np.random.default_rng(SEED + 6)
    built(base, two(rng, order, [300.0 * at for at in range(16)], lambda side, _: 0.2 * side))
    main(["compare", "own:mpi=one", "own:mpi=other"])
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "figure of merit" in one]
    assert line.startswith(word)
    assert ("in that session: " + ONE_AFTER_ANOTHER in line) == (word != "better")


def test_compare__parts_whose_order_nobody_knows_have_a_limited_word(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(SEED + 6)
    runs = two(rng, [0, 1] * 8, [0.0] * 16, lambda side, _: 0.2 * side)
    built(base, [{key: run[key] for key in ("value", "mpi")} for run in runs])
    main(["compare", "own:mpi=one", "own:mpi=other"])
    first, *lines = capsys.readouterr().out.splitlines()
    (line,) = [one for one in lines if "figure of merit" in one]
    assert "; in runs whose order is not known" in first
    assert line.startswith("better")
    assert line.endswith("in runs whose order is not known")


# ---- two strata that differ in one factor alone


@pytest.mark.parametrize(
    ("factor", "levels"),
    [
        ("options", ["folder-1=run3", "folder-1=run4"]),
        ("host_group", ["hpc6a", "hpc7g"]),
        ("build", ["-O2", "-O3"]),
    ],
)
def test_words__what_is_opposite_in_two_strata_is_said_of_each(
    base: Path, factor: str, levels: list[str]
) -> None:
    """In one stratum eight nodes are faster, in the other two: no reader may take one for the other."""
    rng = np.random.default_rng(SEED + 9)
    runs = [
        {"value": float(seconds), "application": "plain", "nodes": nodes, "ranks": 4 * nodes, factor: level}
        | {"command": f"mpirun -np {4 * nodes} plain"}
        for at, level in enumerate(levels)
        for nodes in (2, 8)
        for seconds in noise(rng, 8) * (2 if (nodes == 8) == bool(at) else 1)
    ]
    starts = FIRST + 2000.0 * rng.permutation(len(runs))
    runs = [one | {"start": start} for one, start in zip(runs, starts.tolist(), strict=True)]
    said = [one.sentence for one in conclusions(built(base, runs)) if "nodes are" in one.sentence]
    assert len(said) == 2
    assert all(sum(level in one for one in said) == 1 for level in levels)
    assert not any(levels[0] in one and levels[1] in one for one in said)


@pytest.mark.parametrize(
    ("factor", "others", "said"),
    [
        ("options", ["-TCP"], "in runs that state no -TCP"),
        ("options", ["--bind-to=core", "--bind-to=socket"], "in runs that state no --bind-to"),
        ("options", ["-TCP", "-TCP -x=3"], "in runs that state no options"),
        ("build", ["O2-xHost"], "in runs that state no build"),
    ],
)
def test_words__what_compared_runs_do_not_state_and_others_do_is_said(
    base: Path, factor: str, others: list[str], said: str
) -> None:
    """Runs that state an option are on 16 nodes alone: of 8 and 32 nodes there are those without it."""
    rng = np.random.default_rng(SEED + 10)
    runs = [
        {"value": float(seconds), "application": "plain", "nodes": nodes, "ranks": 4 * nodes, factor: level}
        | {"command": f"mpirun -np {4 * nodes} plain"}
        for level in ("", *others)
        for nodes in ((16,) if level else (8, 32))
        for seconds in noise(rng, 8) * 32 / nodes
    ]
    starts = FIRST + 2000.0 * rng.permutation(len(runs))
    runs = [one | {"start": start} for one, start in zip(runs, starts.tolist(), strict=True)]
    campaign = built(base, runs)
    (one,) = [one.sentence for one in conclusions(campaign) if "32 nodes are" in one.sentence]
    assert f" in plain, {said} (" in one
    # Cells of the campaign never have both.
    own = campaign.runs
    assert len(own.groupby(["nodes", factor])) == 2 + len(others)


def test_words__where_a_difference_is_largest_may_be_where_nothing_is_stated(base: Path) -> None:
    rng = np.random.default_rng(SEED + 9)
    runs = [
        {
            "value": float(seconds),
            "application": "plain",
            "nodes": nodes,
            "ranks": 4 * nodes,
            "options": level,
        }
        | {"command": f"mpirun -np {4 * nodes} plain"}
        for at, level in enumerate(("", "-TCP", "-IBV"))
        for nodes in (2, 8)
        for seconds in noise(rng, 8) * (1 if nodes == 8 else 2) * (1 + at)
    ]
    starts = FIRST + 2000.0 * rng.permutation(len(runs))
    runs = [one | {"start": start} for one, start in zip(runs, starts.tolist(), strict=True)]
    found = [one.sentence for one in conclusions(built(base, runs)) if "8 nodes are" in one.sentence]
    assert ". The difference is largest in runs that state no options. " in found[0]
