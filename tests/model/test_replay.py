"""Generated traces, the platform they run on, and their replay in SimGrid."""

from __future__ import annotations

import hashlib
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.claims import load_report
from analysis.model.draws import Draws, draw
from analysis.model.inputs import load
from analysis.model.network import Network
from analysis.model.patterns import of_grid, of_structure
from benchmarks.model import replay, traces
from benchmarks.model.traces import Step, Wires

ROOT = Path(__file__).parents[2]
INPUTS = load(ROOT)
DECLARED = models.load(replay.CampaignFile, ROOT / "config/campaigns/modelled.yaml").model
assert DECLARED is not None
CHECKS = models.load(replay.Checks, ROOT / replay.CHECKS).checks
TABLE = pd.read_csv(ROOT / "data/model/whatif-check.csv")
# 1 GB/s, 5 µs; 2 µs of a core and 100 ns, worth 100 B, of the adapter a message; 50 B of header.
WIRES = Wires(2e-6, 1e-7, 1e9, 5e-6, 50.0, 5e-7, 4e9)
FREE = Wires(0.0, 0.0, 1e9, 0.0, 0.0, 0.0, 1e9)
needs_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason=f"there is no SimGrid: {replay.INSTALL}"
)

# HPCG 3.1 at 16 cubed on 8 ranks, recorded by SimGrid 3.32 (smpicxx, smpirun -trace-ti, 0 s): messages of the
# last iteration of every rank, `RANK irecv|send PARTNER BYTES`, `RANK wait PARTNER` and `RANK reduce`.
RECORDED_LINES = 1872
RECORDED = "29026849284d0a9a68855e5dec1bc2e90b0e5478f92151041a56f9b9ebf746da"


def sent(step: Step, rank: int, phase: traces.Halo, wires: Wires = FREE) -> Iterator[list[str]]:
    alone = Step(step.nodes, step.ranks_per_node, step.work, (phase,))
    yield from (line.split() for line in list(alone.lines(rank, wires))[1:])


def test_hpcg__equals_a_recorded_trace_line_by_line() -> None:
    step = Step(1, 8, (0.0,) * 8, traces.hpcg(16, 8))
    lines = []
    for rank in range(8):
        for phase in step.phases:
            if isinstance(phase, float):
                lines.append(f"{rank} reduce")
                continue
            for words in sent(step, rank, phase):
                kept = words[:2] if words[0] == "wait" else [words[0], words[1], words[3]]
                lines.append(" ".join([str(rank), *kept]))
    assert lines[:8] == [f"0 irecv {p} {b}" for p, b in zip(range(1, 8), (2048, 2048, 128, 2048, 128, 128, 8),
                                                            strict=True)] + ["0 send 1 2048"]  # fmt: skip
    assert len(lines) == RECORDED_LINES
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == RECORDED


def test_hpcg__sends_what_the_pattern_adds_up() -> None:
    nodes, each = 4, 20
    step = Step(nodes, each, (0.0,) * 80, traces.hpcg(16, 80))
    halos = [phase for phase in step.phases if not isinstance(phase, float)]
    pattern = of_grid(16, nodes, each)
    assert len(step.phases) - len(halos) == pattern.reduced[0].times
    assert len(halos) == sum(float(one.times) for one in pattern.exchanged)
    sums = np.zeros((2, 4))  # messages and bytes away of the busiest node; the same of the busiest rank
    for halo in halos:
        rows = np.zeros((80, 2))
        for rank in range(80):
            for words in sent(step, rank, halo):
                if words[0] == "send" and int(words[1]) // each != rank // each:
                    rows[rank] += 1, int(words[3])
        sums[0] += [*rows.reshape(nodes, each, 2).sum(axis=1).max(axis=0), *rows.max(axis=0)]
    for one in pattern.exchanged:
        given = (one.node_messages, one.node_payload, one.messages, one.payload)
        sums[1] += [float(one.times) * float(value) for value in given]
    assert sums[0] == pytest.approx(sums[1])
    assert sums[0, 0] > 0


@pytest.mark.parametrize(("nodes", "each"), [(1, 1), (1, 20), (3, 5), (4, 20), (32, 20)])
def test_step__every_message_is_received_and_a_reduction_reaches_all(nodes: int, each: int) -> None:
    ranks = nodes * each
    halo = traces.blocks(nodes, each, 18, 1e5, 10.0)
    step = Step(nodes, each, (0.0,) * ranks, (halo, 8.0))
    sends, receives = [], []
    for rank in range(ranks):
        for words in (line.split() for line in step.lines(rank, WIRES)):
            if words[0] == "send":
                sends.append((rank, int(words[1]), words[3]))
            elif words[0] == "irecv":
                receives.append((int(words[1]), rank, words[3]))
    assert sorted(sends) == sorted(receives)
    if ranks == 640:  # inside of the block all have as many partners, and the payload is shared out
        assert max(len(one) for one in halo) == 18
        assert {round(sum(size for _, size in one)) for one in halo if len(one) == 18} == {100_000}
        assert min(len(one) for one in halo) == 6  # three faces and three edges of a corner
    reduction = [(a, b) for a, b, size in sends if size in ("8", str(WIRES.padded(8.0)))]
    known = [{rank} for rank in range(ranks)]
    for _ in range(ranks.bit_length() * 3):
        before = [set(one) for one in known]
        for a, b in reduction:
            known[b] |= before[a]
    assert all(len(one) == ranks for one in known)


def test_send__away_is_padded_and_takes_a_core() -> None:
    step = Step(2, 1, (1e-3, 2e-3), ((((1, 1000.0),), ((0, 1000.0),)),))
    assert list(step.lines(0, WIRES)) == [
        "compute 1000000",
        "irecv 1 99 1150 6",
        "compute 2000",
        "send 1 99 1150 6",
        "wait 1 0 99",
    ]
    within = Step(1, 2, step.work, step.phases)
    assert "send 1 99 1000 6" in list(within.lines(0, WIRES))
    assert sum(line.startswith("compute") for line in within.lines(0, WIRES)) == 1


@pytest.mark.parametrize("link", ["1gbe", "ib-fdr"])
def test_platform__holds_the_facts(link: str) -> None:
    draws = draw(INPUTS.unknowns, 100, 1)
    wires = Wires.of(Network.drawn(INPUTS, draws, link))
    cluster = ET.fromstring(traces.platform(wires, 32, 20)).find("zone/cluster")
    assert cluster is not None
    assert (cluster.get("radical"), cluster.get("core")) == ("0-31", "20")
    facts = INPUTS.links[link]
    bandwidth = float(cluster.get("bw", "").removesuffix("Bps"))
    assert bandwidth == draws[f"bandwidth.{link}"][0]
    assert facts.bandwidth.low <= bandwidth <= facts.bandwidth.high
    # Both adapters are passed, so each has half.
    assert 2 * float(cluster.get("lat", "").removesuffix("s")) == draws[f"latency.{link}"][0]
    assert float(cluster.get("loopback_lat", "").removesuffix("s")) == draws["latency.shared-memory"][0]
    assert float(cluster.get("loopback_bw", "").removesuffix("Bps")) == draws["bandwidth.shared-memory"][0]


def test_points__are_the_ends_of_the_band_with_whole_counts() -> None:
    assert DECLARED is not None
    draws = draw(INPUTS.unknowns, DECLARED.draws, DECLARED.seed)
    assert len(CHECKS) == 16
    for check in CHECKS[:3]:
        low, middle, high = replay.points(INPUTS, DECLARED, check)
        ratios = replay._ratios(draws, INPUTS, low.fast, low.slow)[: DECLARED.draws]
        assert (low.draw, high.draw) == (int(np.argmin(ratios)), int(np.argmax(ratios)))
        assert ratios[middle.draw] == pytest.approx(np.median(ratios), rel=0.01)
        if check.model == "hpcg":  # nothing there is made whole
            assert [one.ratio for one in (low, high)] == pytest.approx([ratios.min(), ratios.max()])
        else:
            assert high.draws["partners.ls-dyna"][0] % 2 == 0
            assert high.draws["rounds.ls-dyna"][0] % 1 == 0


def test_structure__of_a_trace_has_the_pattern_s_bytes() -> None:
    """With all 26 partners the busiest node sends what the pattern says; with fewer, in pairs, nearly."""
    point = list(replay.points(INPUTS, DECLARED, CHECKS[2]))[1]
    application = INPUTS.applications["ls-dyna"]
    assert application.structure is not None
    elements = application.cases["3cars"].work
    for partners, near in ((26.0, 1e-9), (18.0, 0.15), (6.0, 0.15)):
        draws = Draws({**point.draws.values, "partners.ls-dyna": np.array([partners])}, ("",))
        pattern = of_structure(application.structure, draws, elements, 32, 20).exchanged[0]
        known = {name: float(values[0]) for name, values in draws.values.items()}
        step = traces.step_of(application, known, elements, 1e-3, 32, 20)
        halo = step.phases[0]
        assert isinstance(halo, tuple)
        away = np.zeros((32, 2))
        for rank, one in enumerate(halo):
            for other, size in one:
                away[rank // 20] += (1, size) if other // 20 != rank // 20 else (0, 0)
        found = [float(np.asarray(one)[0]) for one in (pattern.node_messages, pattern.node_payload)]
        assert away.max(axis=0) == pytest.approx(found, rel=near)
    # The slowest rank has the imbalance, the mean one the mean work.
    assert max(step.work) == pytest.approx(1e-3 * known["imbalance.ls-dyna"])
    assert np.mean(step.work) == pytest.approx(1e-3, rel=0.01)


def test_check__says_what_to_install_where_there_is_no_simgrid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="apt-get install libsimgrid-dev"):
        replay.simgrid()
    monkeypatch.chdir(ROOT)
    assert replay.main(["modelled", str(tmp_path / "table.csv")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "install SimGrid" in said


@needs_simgrid
def test_replay__takes_the_time_that_the_facts_say() -> None:
    # A message each way at once: 1 ms of work, 2 µs of the core, 1150 B at 1 GB/s, 5 µs.
    both = Step(2, 1, (1e-3, 1e-3), ((((1, 1000.0),), ((0, 1000.0),)),))
    assert replay.replay(both, WIRES, 1e-5) == pytest.approx(1e-3 + 2e-6 + 1.15e-6 + 5e-6, abs=0.05e-6)
    # Two ranks of a node share its adapter: 2 MB at 1 GB/s, where one alone takes half.
    halo = (((2, 1e6),), ((3, 1e6),), ((0, 1e6),), ((1, 1e6),))
    shared = Step(2, 2, (0.0,) * 4, (halo,))
    assert replay.replay(shared, WIRES, 2e-3) == pytest.approx(2e-3, rel=0.02)
    apart = Step(4, 1, (0.0,) * 4, (halo,))
    assert replay.replay(apart, WIRES, 1e-3) == pytest.approx(1e-3, rel=0.02)
    # A reduction over four nodes: two rounds of 2 µs of a core, 5 µs and 158 ns.
    reduced = Step(4, 1, (0.0,) * 4, (8.0,))
    assert replay.replay(reduced, WIRES, 1e-5) == pytest.approx(2 * (2e-6 + 5e-6 + 0.158e-6), abs=0.05e-6)


@pytest.mark.parametrize(("ranks", "members"), [(8, 8), (128, 16), (64, 2)])
def test_groups__send_what_the_pattern_adds_up(ranks: int, members: int) -> None:
    """Each sends to all others of his group: together the pattern's payload less what stays with them."""
    whole = 3.2e6
    halo = traces.groups(ranks, members, whole / ranks / members)
    pairs = {(rank, other) for rank, one in enumerate(halo) for other, _ in one}
    assert len(pairs) == ranks * (members - 1)
    assert pairs == {(b, a) for a, b in pairs}
    together = {frozenset({rank, *(other for other, _ in one)}) for rank, one in enumerate(halo)}
    assert {len(group) for group in together} == {members}
    assert len(together) == ranks // members
    assert sum(size for one in halo for _, size in one) == pytest.approx(whole * (members - 1) / members)


def test_step_of__transposes_pairs_and_reductions_as_they_are_counted() -> None:
    atom, pairs = INPUTS.applications["openatom"], INPUTS.applications["osu-pairs"]
    known = {name: one.low for name, one in INPUTS.unknowns.items()}
    known |= {"transposes.openatom": 5.0, "group.openatom": 0.25, "pieces.openatom": 3.0}
    step = traces.step_of(atom, known, 1.0, 0.1, 2, 8)
    lines = [line.split() for line in step.lines(0, WIRES)]
    # Four in a group, 5 times three messages of 1e8 B / 16 / 4; of one node's 8 ranks two are in a group.
    sends = [words for words in lines if words[0] == "isend"]
    assert len(sends) == 15
    outside = [int(words[3]) for words in sends if int(words[1]) >= 8]
    assert outside == [round(1e8 / 64 + 3 * (50 + 100))] * 10  # three heads, and the adapter three times
    assert [words for words in lines if words[0] == "compute"][1:] == [["compute", "6000"]] * 10
    assert sum(words[0] == "wait" for words in lines) == 30
    one = traces.step_of(pairs, known, 1.0, 0.0, 2, 3)
    assert one.phases == (tuple((((rank + 3) % 6, 8.0),) for rank in range(6)),)


def test_switches__answer_the_first_rank_of_each_node() -> None:
    step = Step(2, 2, (0.0,) * 4, (8.0,), switches=7e-6)
    assert step.hosts == ["node0", "node0", "node1", "node1", traces.SWITCH]
    assert list(step.lines(4, WIRES)) == [
        "irecv 0 99 8 6",
        "irecv 2 99 8 6",
        "wait 0 4 99",
        "wait 2 4 99",
        "compute 2000",  # 7 µs less the 5 µs there and back
        "send 0 99 8 6",
        "send 2 99 8 6",
    ]
    assert not [line for line in step.lines(1, WIRES) if " 4 " in line]


@needs_simgrid
def test_replay__switches_and_groups_take_the_time_that_the_facts_say() -> None:
    # 2 µs of a core, 7 µs of the switches; within each node nothing, for it has one rank.
    switched = Step(8, 1, (0.0,) * 8, (8.0,), switches=7e-6)
    assert replay.replay(switched, WIRES, 1e-5) == pytest.approx(9e-6, abs=0.05e-6)
    # Four nodes, 1 MB to each of three others at 1 GB/s, all at once.
    spread = traces.AllWithAll(traces.groups(4, 4, 1e6), 1)
    assert replay.replay(Step(4, 1, (0.0,) * 4, (spread,)), FREE, 3e-3) == pytest.approx(3e-3, rel=0.02)


@needs_simgrid
def test_check__gives_the_shipped_table_again() -> None:
    """The lowest draw of HPCG over 10GbE: a second of simulation."""
    point = next(replay.points(INPUTS, DECLARED, CHECKS[1]))
    fast, slow = (replay.simulated(INPUTS, point, cell) for cell in (point.fast, point.slow))
    row = TABLE[(TABLE["claim"] == CHECKS[1].claim) & (TABLE["end"] == "lowest")].iloc[0]
    assert (row["draw"], row["analytic"]) == (point.draw, pytest.approx(point.ratio, abs=1e-3))
    assert slow / fast == pytest.approx(row["simulated"], abs=2e-3)


def test_table__is_of_the_checks_and_of_today_s_model() -> None:
    """A changed fact makes the shipped table old: `snakemake whatif-check` makes it anew."""
    reports = sorted({check.claim.partition("-")[0] for check in CHECKS})
    named = {claim.id for name in reports
             for claim in load_report(ROOT / f"config/claims/{name}.yaml").claims}  # fmt: skip
    rows = []
    for check in CHECKS:
        assert check.claim in named
        rows += [
            (check.claim, one.end, one.draw, round(one.ratio, 3))
            for one in replay.points(INPUTS, DECLARED, check)
        ]
    shipped = TABLE[["claim", "end", "draw", "analytic"]].itertuples(index=False, name=None)
    assert list(shipped) == [(*row[:3], pytest.approx(row[3], abs=1e-3)) for row in rows]
    ratio = TABLE["simulated"] / TABLE["analytic"] - 1
    assert TABLE["difference"].to_numpy() == pytest.approx(ratio.to_numpy(), abs=2e-3)


def test_docs__have_the_table_s_numbers() -> None:
    """The table of docs/model-check.md is that of data/model, row by row."""
    text = (ROOT / "docs/model-check.md").read_text(encoding="utf-8")
    told = re.findall(r"([\d.]+), ([\d.]+) \(([+−]? ?\d+) %\)", text)
    found = [tuple(float(one.replace("− ", "-").replace("+ ", "")) for one in row) for row in told]
    wanted = [
        (float(f"{row.analytic:.3g}"), float(f"{row.simulated:.3g}"), round(100 * row.difference))
        for row in TABLE.itertuples()
    ]
    assert found == wanted
