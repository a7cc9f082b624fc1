"""What one run proves of binding, link, meter and profiler, by its record and its files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from analysis.cli import trial
from analysis.measure import declare, record
from analysis.measure.matrix import expand

from .conftest import ROOT, Changed

PROFILED = ROOT / "data/raw/vm-profiles/runs"


def a_record(**more: Any) -> dict[str, Any]:
    """Return the record of a run of two ranks that went well."""
    binding = {"ranks": ["0 n1 0 0", "1 n2 0 0"], "as_asked": True}
    found: dict[str, Any] = {"job_id": "7", "node_list": ["n1", "n2"], "ranks": 2, "binding": binding}
    found |= {"traffic": {"eth0": 5_000_000, "mlx5_0:1": 900_000_000}, "environment": {}, "profile": ""}
    return found | more


def said(base: Path, folder: Path, **more: Any) -> dict[str, tuple[str, str]]:
    declared = declare.load("c", base)
    run = next(run for run in expand(declared).runs if run.nodes > 1)
    found = trial.verdicts_of(declared, run, a_record(**more), folder)
    return {what: (word, why) for what, word, why in found}


def test_verdicts__the_device_that_carried_the_messages_is_compared_with_what_the_run_names(
    base: Path, tmp_path: Path
) -> None:
    (word, why) = said(base, tmp_path, environment={"UCX_NET_DEVICES": "mlx5_0:1"})["link"]
    assert word == "proved"
    assert why.startswith("mlx5_0:1 carried 900.0 MB at the first node")
    (word, why) = said(base, tmp_path, environment={"UCX_NET_DEVICES": "eth0"})["link"]
    assert word == "missing"
    assert "but UCX_NET_DEVICES names eth0" in why
    # A longer name is another device.
    (word, why) = said(base, tmp_path, environment={"UCX_NET_DEVICES": "eth01,mlx5_01:1"})["link"]
    assert "no variable of the run names a device" in why
    (word, why) = said(base, tmp_path, traffic={"eth0": 4000})["link"]
    assert (word, why.partition(";")[0]) == (
        "missing",
        "no device of the first node sent or received 100 kB",
    )


def test_verdicts__a_run_that_was_not_started_shows_no_fault_of_launcher_or_link(
    base: Path, tmp_path: Path
) -> None:
    """Without a program there was no launcher to blame, and no driver that counts elsewhere."""
    none: dict[str, Any] = {"binding": {}, "traffic": {}}
    found = said(base, tmp_path, reason="no program /path/to/xhpl", **none)
    assert found["binding"] == ("missing", "the run failed before its ranks were started")
    assert found["link"] == ("missing", "the run failed before its ranks were started")
    # Its ranks ran, and the driver may count elsewhere: when it failed is not known.
    why = said(base, tmp_path, reason="exit code 1", traffic={})["link"][1]
    assert (
        why == "no device of the first node sent or received 100 kB, and the run failed: put that right first"
    )
    found = said(base, tmp_path, reason="exit code 1", **none)
    assert "'start' of the MPI library may be another" in found["binding"][1]
    assert "compare the times of two links by hand" in said(base, tmp_path, traffic={})["link"][1]


def test_verdicts__a_rank_with_other_cores_is_named(base: Path, tmp_path: Path) -> None:
    binding = {"ranks": ["0 n1 0 0", "1 n2 4-7 0-7"], "as_asked": False}
    word, why = said(base, tmp_path, binding=binding)["binding"]
    assert word == "missing"
    assert why.startswith("rank 1 on n2 should have cores 4-7 and has 0-7; ")
    word, why = said(base, tmp_path, ranks=3)["binding"]
    assert (word, why) == ("missing", "2 of 3 ranks noted their cores; see stderr.txt")
    assert said(base, tmp_path)["binding"][0] == "proved"


def test_verdicts__a_real_profile_proves_the_profiler(base: Path, tmp_path: Path) -> None:
    """IPM's file of 8 ranks is of a run of 8 ranks, and not of one of 2."""
    (profile,) = (PROFILED / "hpcg-ipm-n8").glob("*.ipm.xml.xz")
    shutil.copy(profile, tmp_path)
    asked = {"profile": "*.ipm.xml.xz", "profiler": "ipm"}
    word, why = said(base, tmp_path, ranks=8, **asked)["profiler"]
    assert word == "proved"
    assert " of ipm has 8 ranks and " in why
    word, why = said(base, tmp_path, **asked)["profiler"]
    assert word == "missing"
    assert " has 8 ranks, 2 ran; " in why
    word, why = said(base, tmp_path, profile="*.mpiP", preload="/opt/libmpiP.so")["profiler"]
    assert (word, why.partition(";")[0]) == ("missing", "/opt/libmpiP.so was preloaded and left no *.mpiP")


def test_verdicts__a_meter_without_a_reading_is_named(base: Path, tmp_path: Path) -> None:
    cluster = base / "config/clusters/paper.yaml"
    assert said(base, tmp_path)["power meter"][1].startswith("config/clusters/paper.yaml has no meter")
    meters = 'power:\n  meters:\n    - {type: powercap, name: "cpu-{node}"}\n'
    cluster.write_text(cluster.read_text(encoding="utf-8") + meters, encoding="utf-8")
    (tmp_path / "power.summary.json").write_text(
        json.dumps({"meters": [{"name": "cpu-n1"}]}), encoding="utf-8"
    )
    word, why = said(base, tmp_path)["power meter"]
    assert (word, why.partition(";")[0]) == ("missing", "no reading of cpu-n1 during the run")


def test_not_built__is_the_last_line_of_a_build_that_left_no_program(tmp_path: Path) -> None:
    """The log of one that did, with a warning of its compiler, is of no fault."""
    for mpi in ("Open-MPI-4.1.4", "MPICH-4.2"):
        log = tmp_path / f"results/logs/proxy/mine/{mpi}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"warning: unused\nconfig/clusters/mine.yaml:23: {mpi} names no compiler; add it\n")
    built = tmp_path / "results/proxy/mine/MPICH-4.2/proxy"
    built.parent.mkdir(parents=True)
    built.touch()
    said = "config/clusters/mine.yaml:23: Open-MPI-4.1.4 names no compiler; add it"
    assert trial._not_built(tmp_path, 0.0) == said
    assert trial._not_built(tmp_path, log.stat().st_mtime + 60) == ""


def test_cheapest__of_the_runs_that_show_the_most(changed: Changed) -> None:
    found = expand(changed())
    run = trial.cheapest(found)
    assert run.nodes == min(one.nodes for one in found.runs if one.nodes > 1)


def test_traffic__counts_bytes_of_interfaces_and_ports(tmp_path: Path) -> None:
    # As Linux 6.1 prints them, here with other numbers.
    dev = "Inter-|   Receive                                                |  Transmit\n"
    dev += " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo\n"
    dev += "    lo:    5    1    0    0    0     0          0         0     5       1    0    0    0     0\n"
    dev += "  eth0:  100    2    0    0    0     0          0         0    20       1    0    0    0     0\n"
    port = "sys/class/infiniband/mlx5_{}/ports/1/counters/port_{}_data"
    files = {"proc/net/dev": dev, port.format(0, "rcv"): "10\n", port.format(0, "xmit"): "30\n"}
    files[port.format(1, "xmit")] = "N/A\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    # A port counts words of four bytes.
    assert record.traffic(tmp_path) == {"eth0": 120, "mlx5_0:1": 160}
