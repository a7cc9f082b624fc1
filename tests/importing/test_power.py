"""Power logs of several runs: found by time, with the nodes of their meters where names or runs tell."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import yaml

from analysis import cli

from ..readers.merits.texts import TEXTS
from . import trees
from .test_import import Imported, imported, project, runs

__all__ = ["imported", "project"]

NAMES = [name for name in trees.good() if len(trees.record(name)["nodelist"]) == 1][:4]
WATTS = 200.0


def log(path: Path, *, meters: str = "outlet 1", hours: float = 0, first: int = 0, last: int = -1) -> Path:
    """Write a log of a constant power, as of a rack, over the runs from the first to the last."""
    records = sorted((trees.record(name) for name in NAMES), key=lambda one: one["start"])
    begin, end = records[first]["start"], records[last]["end"] + 1
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["time,node,power_w"]
    for second in range(int(begin), int(end) + 1):
        stamp = datetime.fromtimestamp(second, UTC) + timedelta(hours=hours)
        lines += [f"{stamp:%Y-%m-%dT%H:%M:%SZ},{meter},{WATTS}" for meter in meters.split(";")]
    path.write_text("\n".join(lines) + "\n")
    return path


def declared(project: Path) -> dict[str, object]:
    """Return what the campaign's file states of power."""
    return dict(yaml.safe_load((project / "config/campaigns/mine.yaml").read_text()).get("power", {}))


def test_power__the_meter_of_one_node_is_declared_and_gives_each_run_its_energy(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {tuple(trees.record(name)["nodelist"]) for name in NAMES} == {("n1",)}
    trees.folders(tmp_path / "tree", NAMES)
    log(tmp_path / "tree" / "pdu" / "rack.csv")
    imported(tmp_path / "tree")
    assert "covers 4 of 4 runs with known times, all on n1" in capsys.readouterr().out
    assert declared(project) == {"logs": [{"files": "power/pdu--rack.csv", "meters": {"outlet 1": ["n1"]}}]}
    table = runs(project)
    seconds = (table["end"] - table["start"]).values / np.timedelta64(1, "s")
    assert table["energy"].values == pytest.approx(WATTS * seconds, rel=0.01)


def test_power__a_log_whose_name_says_its_node(tmp_path: Path, project: Path, imported: Imported) -> None:
    two = [name for name in trees.good() if len(trees.record(name)["nodelist"]) == 2][:1]
    trees.folders(tmp_path / "tree", [*NAMES, *two])
    log(tmp_path / "tree" / "bmc-n1.csv", meters="input")
    imported(tmp_path / "tree")
    logs = declared(project)["logs"]
    assert logs == [{"files": "power/bmc-n1.csv", "meters": {"input": ["n1"]}}]


def test_power__the_log_of_one_run_is_that_runs(tmp_path: Path, project: Path, imported: Imported) -> None:
    trees.folders(tmp_path / "tree", NAMES)
    log(tmp_path / "tree" / "pdu" / "rack.csv", first=1, last=1)
    found = imported(tmp_path / "tree")
    having = [
        one for one in found.values() if any(file["file"] == "rack.csv" for file in one["imported"]["files"])
    ]
    starts = sorted(trees.record(name)["start"] for name in NAMES)
    assert [one["start"] for one in having] == pytest.approx([starts[1]], abs=2.5)
    assert declared(project) == {}
    assert np.isfinite(runs(project)["energy"].values).sum() == 1


def test_power__a_shift_by_hours_is_named_and_nothing_is_guessed(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", NAMES)
    log(tmp_path / "tree" / "pdu" / "rack.csv", hours=2)
    imported(tmp_path / "tree")
    out = capsys.readouterr().out
    assert "no run is in its time; 2 h earlier it covers 4 of 4: " in out
    assert "clock: {offset: -7200}" in out
    assert declared(project) == {}


def test_power__meters_whose_nodes_nobody_knows_are_not_guessed(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", NAMES)
    log(tmp_path / "tree" / "pdu" / "rack.csv", meters="outlet 1;outlet 2")
    imported(tmp_path / "tree")
    assert (
        "covers 4 of 4 runs with known times; name the nodes that its meters feed" in capsys.readouterr().out
    )
    assert declared(project) == {}


@pytest.mark.parametrize(
    ("meters", "entry"),
    [
        ("n1", None),
        ("n1.cluster", None),
        ("bmc-n1", {"bmc-n1": ["n1"]}),
        ("n1-psu1;n1-psu2", None),
    ],
)
def test_power__what_is_said_of_the_names_of_meters_is_what_the_ingest_makes_of_them(
    tmp_path: Path,
    project: Path,
    imported: Imported,
    capsys: pytest.CaptureFixture[str],
    meters: str,
    entry: dict[str, list[str]] | None,
) -> None:
    trees.folders(tmp_path / "tree", NAMES)
    log(tmp_path / "tree" / "pdu" / "rack.csv", meters=meters)
    imported(tmp_path / "tree")
    clear = "its meters have the names of nodes" in capsys.readouterr().out
    logs = declared(project).get("logs")
    assert logs == ([{"files": "power/pdu--rack.csv", "meters": entry}] if entry else None)
    metered = np.isfinite(runs(project)["energy"].values)
    assert metered.all() == (clear or entry is not None)
    assert metered.any() == metered.all()


def test_power__a_log_that_comes_later_is_found_too_and_its_entry_is_printed(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", NAMES)
    imported(tmp_path / "tree")
    log(tmp_path / "tree" / "pdu" / "rack.csv")
    capsys.readouterr()
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes"]) == 0
    out = capsys.readouterr().out
    entry = yaml.safe_load(out.partition("the new power logs:\n")[2].partition("next:")[0])
    assert entry == {"power": {"logs": [{"files": "power/pdu--rack.csv", "meters": {"outlet 1": ["n1"]}}]}}
    assert cli.main(["verify", "mine"]) == 0
    with (project / "config/campaigns/mine.yaml").open("a") as file:
        file.write(yaml.safe_dump(entry))
    assert np.isfinite(runs(project)["energy"].values).all()
    # A log of one run joins it, when the campaign has the other runs already.
    shutil.rmtree(tmp_path / "tree" / "pdu")
    log(tmp_path / "tree" / "pdu" / "one.csv", first=2, last=2)
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes"]) == 0
    assert len(list(project.glob("data/raw/mine/runs/*/one.csv"))) == 1


def test_import__an_output_at_whose_end_perf_printed_the_energy_is_a_run_and_no_power_log(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    energy = "\n Performance counter stats for 'system wide':\n\n  850.00 Joules power/energy-pkg/\n\n"
    (tree / "stream.out").write_text(f"{TEXTS['stream']}{energy}  10.0 seconds time elapsed\n\n")
    assert len(imported(tree)) == 1
    table = runs(project)
    assert table["figure_of_merit"].values.tolist() == [111220.9]
    assert table["energy_reason"].values.tolist() == ["it has a power log, but no start and end"]


def test_power__a_log_without_dates_is_told_to_be_dated(
    tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.folders(tmp_path / "tree", NAMES)
    (tmp_path / "tree" / "pdu").mkdir()
    head = "# gpu    pwr  gtemp\n# Idx      W      C\n"  # `nvidia-smi dmon -s p` without -o T
    (tmp_path / "tree" / "pdu" / "dmon.log").write_text(head + "    0     40     35\n    0    140     36\n")
    imported(tmp_path / "tree")
    assert "dmon.log has no dates: declare options: {start: ...} under power.logs" in capsys.readouterr().out


def test_power__a_log_beside_a_run_without_times_gives_no_energy_and_that_is_said(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `perf stat -a -o perf.txt` leaves it next to the output of a program that prints no dates."""
    (tmp_path / "tree" / "run1").mkdir(parents=True)
    (tmp_path / "tree" / "run1" / "stream.out").write_text(TEXTS["stream"])
    (tmp_path / "tree" / "run1" / "perf.txt").write_text(
        "# started on Tue Mar  3 10:00:00 2026\n\n\n Performance counter stats for 'system wide':\n\n"
        "          5,581.00 Joules power/energy-pkg/                                           \n\n"
        "      33.100000000 seconds time elapsed\n\n"
    )
    assert len(imported(tmp_path / "tree")) == 1
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert [one.partition(": ")[2].partition(":")[0] for one in notes] == ["run1/stream.out"]
    assert "has a power log, but no start and end: no energy" in notes[0]
