"""The meter to try without hardware: its watts by hand, and the walk of docs/power.md with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from analysis.base.errors import ConfigError
from analysis.claims.evaluation import evaluate
from analysis.claims.model import load_report
from analysis.claims.verdict import Verdict
from analysis.cli import main
from analysis.estimates.campaign import load_campaign
from analysis.measure.power import simulator
from analysis.schema import storage

from ..test_launch import RESULT, lay_out, written
from ..test_workflow_rules import whole

# Of proc(5): user, nice, system, idle, iowait, irq, softirq, steal, and guest, which user has too.
STAT = "cpu  {user} 10 {system} {idle} {wait} 0 5 0 {guest} 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"


def stat(path: Path, **ticks: int) -> Path:
    path.write_text(STAT.format(**{"user": 100, "system": 50, "idle": 800, "wait": 35, "guest": 90, **ticks}))
    return path


def test_simulator__watts_follow_the_load_since_the_last_reading(tmp_path: Path) -> None:
    file = stat(tmp_path / "stat")
    meter = simulator.SimulatedPower(100.0, 300.0, file)
    assert meter.watts() == 100.0  # no time has passed
    stat(file, user=160, system=65, idle=820, wait=40, guest=150)  # busy 75 of 100 ticks
    assert meter.watts() == 250.0
    assert meter.watts() == 250.0
    stat(file, user=160, system=65, idle=920, wait=40)
    assert meter.watts() == 100.0
    with pytest.raises(ConfigError, match=r"nothing: tells no load of this machine; start it on a Linux"):
        simulator.SimulatedPower(1.0, 2.0, tmp_path / "nothing")


@pytest.fixture
def served() -> Iterator[str]:
    """A simulated meter of 180 W."""
    with simulator.server("127.0.0.1", 0, lambda: 180.0) as service:
        thread = threading.Thread(target=service.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{service.server_address[1]}"
        service.shutdown()
        thread.join()


def test_simulator__serves_redfish_and_says_that_it_is_none(served: str, tmp_path: Path) -> None:
    with urllib.request.urlopen(served + simulator.RESOURCE) as answer:
        content = answer.read()
    (control,) = json.loads(content)["PowerControl"]
    assert (control["PowerConsumedWatts"], control["MemberId"], control["Name"]) == (
        180.0,
        *["simulated"] * 2,
    )
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(served + "/redfish/v1/Systems")
    port = int(served.rpartition(":")[2])
    with pytest.raises(ConfigError, match=rf"127.0.0.1:{port}: cannot be served at: Address already in use"):
        simulator.server("127.0.0.1", port, lambda: 1.0)


def test_simulator__watts_when_idle_are_not_more_than_when_busy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meter-simulator", "--idle", "200", "--busy", "100"]) == 1
    assert "--idle: 200 W when idle and 100 W when busy" in capsys.readouterr().err


CLAIM = """\
report: {title: ours, publisher: us, date: November 2026}
claims:
  - id: threads-energy
    topic: threads
    statement: With two threads a job takes less energy
    source: {section: none}
    quantity: reduction
    variable: energy_per_job
    compare: {factor: threads, treatment: 2, baseline: 1}
    expect: {relation: at-least, value: 0, unit: "%"}
"""


def project(base: Path) -> Path:
    """Lay out a project whose program works for three seconds, with one thread and with two."""
    work = "end=$(($(date +%s) + 3))\nwhile [ $(date +%s) -lt $end ]; do :; done"
    files = written(base, f"{work}\necho '{RESULT}'", factors="nodes: 1, threads: [1, 2]")
    for name, old, new in (
        ("clusters/here", "cores: auto", 'cores: ["0", "1"]\n  oversubscribe: true'),
        ("applications/alpha", "launch:\n", "launch:\n  threads: true\n"),
        ("campaigns/c", "repeats: 1", "repeats: 2"),
    ):
        files[f"config/{name}.yaml"] = files[f"config/{name}.yaml"].replace(old, new)
    lay_out(base, files | {"config/claims/ours.yaml": CLAIM})
    return whole(base)


def command(base: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=base, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_simulator__a_campaign_that_used_it_gets_no_verdict_on_energy(tmp_path: Path) -> None:
    base = project(tmp_path / "project")
    argv = [sys.executable, "-m", "analysis.cli", "meter-simulator", "--port", "0"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as service:
        try:
            lines = []
            assert service.stdout is not None
            for line in service.stdout:
                lines.append(line)
                if "Ctrl-C" in line:
                    break
            part = "".join(lines[1:-1])
            assert "insecure" not in part  # on this machine alone
            with (base / "config/clusters/here.yaml").open("a", encoding="utf-8") as file:
                file.write(part)
            name = yaml.safe_load(part)["power"]["meters"][0]["name"]
            said = command(base, "analysis.cli", "meters", "here").stdout
            assert said.startswith(f"{name}:simulated ")
            command(base, "snakemake", "--cores", "1", "measure", "--config", "measure=c")
        finally:
            service.send_signal(signal.SIGINT)
            assert service.wait(30) == 0

    logs = sorted((base / "data/raw/c/runs").glob("*/power.csv"))
    assert len(logs) == 4
    for log in logs:  # every row says what it is
        rows = [line.split(",") for line in log.read_text().splitlines()[1:]]
        assert {row[1] for row in rows} == {"simulator:simulated"}
        assert all(100 <= float(row[2]) <= 300 for row in rows)

    verdict, runs, faults = judged(base)
    assert runs["valid"].values.all()
    assert np.isnan(runs["energy"].values).all()
    why = "the power of simulator:simulated is simulated"
    assert set(runs["energy_reason"].values) == {why}
    assert sum(f"{why}; no energy is made of it" in fault for fault in faults) == 4
    assert (verdict.verdict, verdict.estimate) == ("not tested", None)
    command(base, "analysis.cli", "verify", "c")

    # Nothing else is wrong with these logs: with the name of a meter they are energies.
    for log in logs:
        log.write_text(log.read_text().replace(":simulated", ""))
    verdict, runs, _ = judged(base)
    assert (runs["energy"].values > 3 * 100).all()
    assert verdict.estimate is not None


def judged(base: Path) -> tuple[Verdict, xr.Dataset, list[str]]:
    """Ingest the campaign and evaluate its claim."""
    command(base, "analysis.cli", "stage", "ingest", "data/raw/c", "data/processed/c")
    tree = storage.read_tree(base / "data/processed/c/campaign.nc")
    (verdict,) = evaluate(load_report(base / "config/claims/ours.yaml"), load_campaign("c", base))
    return verdict, tree["runs"].to_dataset(), tree.attrs["faults"]
