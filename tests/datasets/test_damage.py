"""Damage of any kind to any file of a campaign costs that file and no more."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.datasets.campaign import ingest
from analysis.schema import storage

DATA = Path(__file__).parents[1] / "data"
START = 1_795_220_851
FACTORS = {"campaign": "small", "evidence": "measured", "cluster": "x", "nodes": 1, "ranks": 4}
FACTORS |= {"ranks_per_node": 4, "interconnect": "e", "mpi": "M", "repeat": 1, "order": 1, "exit_code": 0}
# As src/proxy/proxy.c prints it.
PROXY = "proxy result: version=1 pattern=halo ranks=4 bytes=8 count=10 work=0 time={} time_min=1.250000000 "
PROXY += "io_time=0.000000000 checksum=00000000000002bb errors=0\n"
WORDS = (b"nan", b"-1", b"1e400", b"inf", b",,", b"|", b"\n", b"\xff")
DECLARATION = """\
title: Small
evidence: measured
hardware: three nodes
power: {logs: [{files: pdu.csv, meters: {meter: [n2]}}]}
"""
SACCT = """\
JobID|State|Submit|Start|End|ElapsedRaw|NodeList|MaxRSS
7|COMPLETED|2026-11-21T00:27:30|2026-11-21T00:27:31|2026-11-21T00:27:41|10|n1|
7.0|COMPLETED|2026-11-21T00:27:31|2026-11-21T00:27:31|2026-11-21T00:27:41|10|n1|1024K
"""
FILES = (
    *("runs/a/run.json", "runs/a/stdout.txt", "runs/a/power.csv", "runs/b/run.json", "runs/b/stdout.txt"),
    *("runs/c/run.json", "runs/c/stdout.txt", "runs/c/mix.4.11.1.mpiP", "sacct.txt", "pdu.csv"),
)


def readings(meter: str, start: int, watts: float) -> str:
    """Write a reading a second, from before a run of 10 s to after it."""
    rows = (f"{np.datetime64(start + second, 's')}Z,{watts}\n" for second in range(-2, 14))
    return f"time,{meter} (W)\n{''.join(rows)}"


def lay_out(raw: Path) -> Path:
    """Make a campaign of three runs: with a power log of its own, with a meter beside the runs, profiled."""
    told = (
        ("a", "proxy", PROXY.format(1.5), {"power.csv": readings("n1", START, 250)}, {"job_id": "7"}),
        ("b", "osu", (DATA / "osu/allreduce_n4.txt").read_text(), {}, {}),
        ("c", "proxy", PROXY.format(2.5), {}, {"profiler": "mpip"}),
    )
    for number, (name, application, stdout, files, more) in enumerate(told):
        folder = raw / "runs" / name
        folder.mkdir(parents=True)
        start = START + 100 * number
        record = {"run": name, "application": application, "case": "x", **FACTORS, **more}
        # The profile was made on a node of that name.
        node = "vm" if name == "c" else f"n{number + 1}"
        record |= {"node_list": [node], "start": start, "end": start + 10}
        files = {"run.json": json.dumps(record, indent=1), "stdout.txt": stdout, **files}
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
    report = (DATA / "mpip/mix_350_d.mpiP").read_text().replace("11 20 23:34:38", "11 21 00:30:52")
    (raw / "runs/c/mix.4.11.1.mpiP").write_text(report, encoding="utf-8")
    (raw / "sacct.txt").write_text(SACCT, encoding="ascii")
    (raw / "pdu.csv").write_text(readings("n2", START + 100, 100), encoding="ascii")
    return raw


def tables(raw: Path) -> tuple[pd.DataFrame, dict[str, bool], list[str]]:
    """Ingest; return the runs by name, whether each file was whole, and the faults."""
    with tempfile.TemporaryDirectory() as out:
        declaration = Path(out) / "small.yaml"
        declaration.write_text(DECLARATION, encoding="ascii")
        ingest(raw, Path(out), declaration=declaration)
        tree = storage.read_tree(Path(out) / "campaign.nc")
    runs, files = (tree[group].to_dataset().to_dataframe().reset_index() for group in ("runs", "files"))
    whole = dict(zip(files["path"], files["complete"], strict=True))
    return runs.set_index("run"), whole, list(tree.attrs["faults"])


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("good") / "small")


@pytest.fixture(scope="module")
def undamaged(good: Path) -> pd.DataFrame:
    return tables(good)[0]


def damaged(data: bytes, how: str, at: float, bit: int) -> bytes:
    """Damage some bytes, in one of eight ways, at a place that is a share of their length."""
    place = int(at * len(data))
    ways = {
        "cut": data[:place],
        "flip": data[:place] + bytes([data[min(place, len(data) - 1)] ^ (1 << bit)]) + data[place + 1 :],
        "zeros": data[:place] + bytes(len(data) - place),
        "rubbish": data[:place] + bytes(range(256)) + data[place:],
        "number": data[:place] + b"9" * 5000 + data[place:],
        "word": data[:place] + WORDS[bit] + data[place:],
        "nested": b'{"run": "a", "campaign": ' + b"[" * 100_000,
        "torn": bytes(gzip.compress(data, mtime=0)[: 12 + int(at * 20)]),
    }
    return ways[how]


HOW = st.sampled_from(("cut", "flip", "zeros", "rubbish", "number", "word", "nested", "torn"))
PLACE = st.floats(0, 1, exclude_max=True)


def test_damage__without_any_all_runs_count_and_have_their_energy(undamaged: pd.DataFrame) -> None:
    """250 W and 100 W held over 10 s."""
    assert undamaged["valid"].all(), undamaged["reason"].tolist()
    assert undamaged["energy"].tolist()[:2] == pytest.approx([2500, 1000])
    assert undamaged.loc["a", "node_memory_slurm"] == 1024 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@settings(max_examples=6, deadline=None, derandomize=True, database=None)
@given(how=HOW, at=PLACE, bit=st.integers(0, 7))
def test_damage__costs_its_file_and_no_more(
    good: Path, undamaged: pd.DataFrame, name: str, how: str, at: float, bit: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(shutil.copytree(good, Path(folder) / "small"))
        (raw / name).write_bytes(damaged((raw / name).read_bytes(), how, at, bit))
        runs, whole, faults = tables(raw)
    assert list(runs.index) == ["a", "b", "c"]
    mine = name.split("/")[1] if "/" in name else {"sacct.txt": "a", "pdu.csv": "b"}[name]
    others = [run for run in runs.index if run != mine]
    pd.testing.assert_frame_equal(runs.loc[others], undamaged.loc[others])
    naming = [fault for fault in faults if fault.startswith(f"{name.removeprefix('runs/')}:")]
    assert whole[name] or naming, f"{how}: {name} is not whole, and nothing says why"
    if how == "torn":
        assert not whole[name]
        assert len(naming) == 1
        assert "broken compression" in naming[0]


@pytest.mark.parametrize("run", ["a", "b", "c"])
def test_damage__a_run_that_took_no_time_does_not_count(
    good: Path, undamaged: pd.DataFrame, run: str, tmp_path: Path
) -> None:
    raw = Path(shutil.copytree(good, tmp_path / "small"))
    path = raw / "runs" / run / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(record | {"end": record["start"]}), encoding="utf-8")
    runs, _, faults = tables(raw)
    others = [name for name in runs.index if name != run]
    pd.testing.assert_frame_equal(runs.loc[others], undamaged.loc[others])
    assert runs.loc[run, "reason"] == "took no time, by its record"
    assert [fault for fault in faults if fault.startswith(f"{run}/run.json: 'start' and 'end' are")] != []


def test_damage__a_name_that_is_no_utf8_ends_nothing(
    good: Path, undamaged: pd.DataFrame, tmp_path: Path
) -> None:
    raw = Path(shutil.copytree(good, tmp_path / "small"))
    Path(f"{raw}/runs/b/odd\udcff.txt").write_bytes(b"x")
    path = raw / "runs/a/run.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"M"', '"\\ud800"'), encoding="utf-8")
    runs, whole, faults = tables(raw)
    pd.testing.assert_frame_equal(
        runs.loc[["b", "c"]].drop(columns="checksum"), undamaged.loc[["b", "c"]].drop(columns="checksum")
    )
    assert "runs/b/odd\\udcff.txt" in whole
    assert runs.loc["a", "mpi"] == "\\ud800"
    assert [fault for fault in faults if fault.startswith("a/run.json: 'mpi' holds half a character")] != []


def cut(raw: Path, name: str, lines: int) -> None:
    """Leave the first lines of a file, whole ones."""
    path = raw / name
    path.write_text(
        "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]), encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        # A reading a second from -2 s to 13 s of a run of 10 s: the sixth is at 3 s, 7 s before its end.
        ("runs/a/power.csv", 7, "a/power.csv: its last reading is 7 s before the end"),
        ("pdu.csv", 7, "pdu.csv: its last reading is 7 s before the end"),
        # Readings up to 7 s: three of their intervals is no more than a late one.
        ("runs/a/power.csv", 11, ""),
    ],
)
def test_damage__a_log_that_ends_too_early_says_what_is_missing(
    good: Path, undamaged: pd.DataFrame, tmp_path: Path, name: str, lines: int, said: str
) -> None:
    raw = Path(shutil.copytree(good, tmp_path / "small"))
    cut(raw, name, lines)
    runs, whole, faults = tables(raw)
    assert whole[name]
    assert [fault.partition(";")[0] for fault in faults if "reading is" in fault] == [said] * bool(said)
    assert runs["valid"].all()


def test_damage__a_log_that_begins_too_late_says_what_is_missing(good: Path, tmp_path: Path) -> None:
    raw = Path(shutil.copytree(good, tmp_path / "small"))
    head, *rows = (raw / "runs/a/power.csv").read_text().splitlines(keepends=True)
    (raw / "runs/a/power.csv").write_text("".join([head, *rows[8:]]))
    faults = [fault for fault in tables(raw)[2] if "reading is" in fault]
    assert [fault.partition(";")[0] for fault in faults] == [
        "a/power.csv: its first reading is 6 s after the start"
    ]


def test_damage__a_table_of_sizes_that_is_cut_is_found_by_its_cell_or_its_command(
    good: Path, tmp_path: Path
) -> None:
    """OSU 5.3 writes a row for each of 15 sizes, 4 B to 64 KiB, and no footer; the last eight are gone."""
    raw = Path(shutil.copytree(good, tmp_path / "small"))
    shutil.copytree(raw / "runs/b", raw / "runs/d")
    path = raw / "runs/d/run.json"
    record = json.loads(path.read_text())
    record |= {"run": "d", "repeat": 2, "start": START + 300, "end": START + 310}
    path.write_text(json.dumps(record))
    assert not [fault for fault in tables(raw)[2] if "sizes" in fault]
    cut(raw, "runs/d/stdout.txt", 10)
    (fault,) = (fault for fault in tables(raw)[2] if "sizes" in fault)
    said = "d/stdout.txt: has 7 sizes, and none from 512 to 65536 B, "
    assert fault.startswith(f"{said}which others of its cell have;")
    # Alone in its cell, it is held against its own command.
    shutil.rmtree(raw / "runs/b")
    for asked, found in (
        ("-m 4:65536", 1),
        ("-m 65536", 1),
        ("--message-size=65536", 1),
        ("-m 500", 0),
        ("", 0),
    ):
        command = {"command": f"mpirun -np 4 /opt/osu/osu_allreduce -f {asked}"}
        path.write_text(json.dumps(record | command))
        faults = [fault for fault in tables(raw)[2] if "sizes" in fault]
        assert [fault.startswith(f"{said}for which its command asked;") for fault in faults] == [True] * found
