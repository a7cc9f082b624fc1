"""Steps that SMPI recorded, their replay over other links, and the tables that are shipped."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.model.inputs import load
from benchmarks.model import codes, recorded, replay, traces
from benchmarks.model.traces import Wires

from .test_replay import needs_simgrid

ROOT = Path(__file__).parents[2]
DECLARED = models.load(codes.Simulation, ROOT / codes.DECLARED)
RAW = ROOT / codes.TABLE
RUNS = pd.read_csv(RAW / "runs.csv")
# 1 GB/s, 10 µs; 2 µs of a core for a message; 50 B of header.
WIRES = Wires(2e-6, 0.0, 1e9, 1e-5, 50.0, 5e-7, 4e9)
# A rank's trace as SMPI writes it: 1,000 doubles there and back, between reductions.
PING = ["init", "allreduce 1 0 7 ", *["send 1 5 1000 0", "recv", "compute 7000000", "allreduce 1 0 0 "] * 3]


def trace(folder: Path, ranks: list[list[str]]) -> Path:
    """Write a trace as ``smpirun -trace-ti -trace-file`` does."""
    names = []
    for rank, lines in enumerate(ranks):
        names.append(f"files/1.5_rank-{rank}.txt")
        (folder / "files").mkdir(exist_ok=True)
        (folder / names[-1]).write_text("".join(f"{rank} {line}\n" for line in lines))
    listed = folder / "trace"
    listed.write_text("".join(f"{name}\n" for name in reversed(names)))
    return listed


def one_way(ranks: int, source: int, target: int) -> recorded.Recording:
    """Return a step in which one rank sends 1,000 doubles to another."""
    found: list[tuple[recorded.Segment, ...]] = [((),)] * ranks
    found[source] = ((("send", str(target), "5", "1000", "0"),),)
    found[target] = ((("irecv", str(source), "5", "1000", "0"), ("wait", str(source), str(target), "5")),)
    return recorded.Recording(tuple(found), 1)


def seconds(nodes: int, recording: recorded.Recording, waiting: float = 0.0) -> float:
    """Replay a recording with a rank on each node."""
    ranks = len(recording.ranks)
    step = recorded.RecordedStep(nodes, 1, (0.0,) * ranks, (), 0.0, recording, (1e9,) * ranks, waiting)
    return replay.replay(step, WIRES, 1e-2, recorded.tree)


def test_load__takes_the_last_equal_steps_of_all_ranks(tmp_path: Path) -> None:
    other = ["init", "allreduce 1 0 7 ", *["irecv 0 5 1000 0", "wait 0 1 5", "allreduce 1 0 0 "] * 3]
    found = recorded.load(trace(tmp_path, [[*PING, "finalize"], [*other, "finalize"]]), 1, 2)
    assert found.steps == 2
    assert found.sent() == (1, 8000)
    assert [len(rank) for rank in found.ranks] == [2, 2]
    assert found.ranks[1][0][0] == ("irecv", "0", "5", "1000", "0")


def test_load__says_what_is_wrong_where_steps_are_not_equal(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no 4 equal steps of 1 reductions"):
        recorded.load(trace(tmp_path, [PING]), 1, 4)


def test_lines__waits_for_what_was_sent_alone_and_scales_the_work() -> None:
    rank = (
        (
            ("irecv", "1", "5", "10", "0"),
            ("isend", "1", "5", "10", "0"),
            ("waitall", "26"),
            ("compute", "4e6"),
        ),
    )
    step = recorded.RecordedStep(2, 1, (1e-3, 1e-3), (), 0.0, recorded.Recording((rank, rank), 1), (2e9, 1e9))
    assert list(step.lines(0, WIRES)) == [
        "compute 1000000",
        "irecv 1 5 130 6",  # 80 B and the header
        "compute 2000",
        "isend 1 5 130 6",
        "wait 0 1 5",
        "compute 2000000",
    ]


@needs_simgrid
def test_tree__a_message_takes_latency_and_size_over_bandwidth() -> None:
    """By hand: 2 µs of the core, 10 µs of latency, 8,050 B at 1 GB/s; 0.8 and 1.2 of it with two leaves."""
    empty = seconds(2, recorded.Recording((((),), ((),)), 1))
    assert seconds(2, one_way(2, 0, 1)) - empty == pytest.approx(2e-6 + 1e-5 + 8.05e-6, abs=1.1e-6)
    for target, share in ((1, 0.8), (17, 1.2)):
        found = seconds(32, one_way(32, 0, target)) - empty
        assert found == pytest.approx(2e-6 + share * 1e-5 + 8.05e-6, abs=1.1e-6)


@needs_simgrid
def test_waiting__is_added_to_each_reduction() -> None:
    four = recorded.Recording(((((recorded.REDUCTION, "1", "0", "0"),) * 3,),) * 8, 1)
    assert seconds(8, four, 3e-4) - seconds(8, four) == pytest.approx(3 * 3e-4, rel=1e-2)


def test_messages__are_those_of_the_grid() -> None:
    """An independent path: the formula of HPCG's exchanges against what SMPI recorded."""
    table = pd.read_csv(RAW / "messages.csv").set_index(["application", "ranks"])
    for ranks in (40, 80):
        halos = [one for one in traces.hpcg(16, ranks) if not isinstance(one, float)]
        sent = [size for halo in halos for rank in halo for _, size in rank]
        assert table.loc[("hpcg", ranks), ["messages", "payload"]].tolist() == [len(sent), sum(sent)]
    assert table.loc[("hpcg", 80), ["messages", "payload"]].tolist() == [13_420, 4_218_560]


def test_waiting__grows_as_published() -> None:
    """What LAMMPS needs more over TCP than over EFA, fitted by hand over numbers of nodes."""
    runs = pd.read_csv(ROOT / "data/raw/published-lammps/runs.csv")
    median = runs.groupby(["nodes", "interconnect"])["elapsed"].median().unstack()
    more = median["Ethernet (TCP)"] - median["EFA"]
    assert more.round(1).tolist() == [15.9, 33.4, 57.9, 83.2]
    slope = np.polyfit(np.log(more.index.to_numpy(dtype=float)), np.log(more.to_numpy()), 1)[0]
    assert pytest.approx(slope, abs=0.005) == DECLARED.waiting.growth


def test_tables__are_those_of_the_declared_cells_and_ranges() -> None:
    """A changed range, seed or cell makes the shipped tables old: `snakemake simulated` makes them anew."""
    assert RUNS["run"].tolist() == [one.name for one in codes.runs(DECLARED)]
    assert RUNS["elapsed"].between(1e-4, 1e-1).all()
    found = codes.used(DECLARED, load(ROOT)).astype({"value": float})
    pd.testing.assert_frame_equal(found, pd.read_csv(RAW / "draws.csv"), check_dtype=False)
    for line in (RAW / "MANIFEST.sha256").read_text().splitlines():
        checksum, name = line.split()
        assert hashlib.sha256((RAW / name).read_bytes()).hexdigest() == checksum


def test_main__asks_for_a_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert codes.main([]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "hpcg: has no program" in said
