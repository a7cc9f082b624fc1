from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.energy.attribution import integrated
from analysis.energy.own import own_logs
from analysis.measure.power.output import share

from .helpers import Sampler, powers, wait_for

RANGE = 262_143_328_850  # µJ, what current Xeons have


def zone(root: Path, name: str, label: str, energy: int) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{label}\n")
    (folder / "max_energy_range_uj").write_text(f"{RANGE}\n")
    (folder / "energy_uj").write_text(f"{energy}\n")
    return folder / "energy_uj"


def replace(path: Path, text: str) -> None:
    """Write as sysfs would show it: never half a number."""
    scratch = path.with_suffix(".part")
    scratch.write_text(text)
    scratch.replace(path)


def tool(folder: Path, name: str, body: str) -> Path:
    script = folder / name
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return script


def test_powercap__a_counter_that_wraps_reads_back_as_the_energy_it_counted(tmp_path):
    package = zone(tmp_path / "sys", "intel-rapl:0", "package-0", RANGE - 50_000_000)
    zone(tmp_path / "sys", "intel-rapl:0:0", "dram", 7)
    config = f"power: {{period: 0.1, meters: [{{type: powercap, name: n1, root: {tmp_path}/sys}}]}}\n"
    sampler = Sampler(config, tmp_path)
    log = tmp_path / "power.energy.csv"
    wait_for(
        lambda: log.exists() and log.read_text().count(f"package-0:0,{RANGE - 50_000_000},") >= 2, "readings"
    )
    replace(package, "25000000\n")  # 50 J to the end of the range, 25 J after it
    wait_for(lambda: log.read_text().count("package-0:0,25000000,") >= 2, "readings after the wrap")
    assert sampler.end() == 0
    with xr.open_dataset(log, engine="rapl") as ds:
        assert list(ds["meter"].values) == ["n1:package-0:0", "n1:dram:0:0"]
        counted = ds["energy_counter"].values[:, -1]
        assert ds.attrs["reading"] == "interval mean"
    np.testing.assert_allclose(counted, [75.0, 0.0], atol=1e-5)
    assert not sampler.out.exists()  # no meter of power, no empty log


@pytest.mark.slow
def test_sampler__counts_the_ticks_that_it_missed(tmp_path):
    # Every call takes 0.25 s: of the ticks at 0.2 s at least every second one is missed.
    scontrol = tool(tmp_path, "scontrol", 'sleep 0.25; echo "NodeName=$4 CurrentWatts=333 AveWatts=0"')
    meter = f"{{type: slurm, name: n1, node: n1, program: {scontrol}}}"
    sampler = Sampler(f"power: {{period: 0.2, meters: [{meter}]}}\n", tmp_path)
    sampler.await_rows(",n1,333,", 8)
    assert sampler.end() == 0
    assert set(powers(sampler.out, "n1")) == {333.0}
    [summary] = json.loads((tmp_path / "power.summary.json").read_text())["meters"]
    assert summary["missed"] >= summary["readings"] - 1 >= 6
    assert re.search(r"n1: a reading took \d periods, \d tick\(s\) missed", sampler.said())


@pytest.mark.slow
def test_sampler__a_meter_that_hangs_does_not_hold_up_another(tmp_path):
    hung = tool(tmp_path, "nvidia-smi", "exec sleep 60")
    good = tool(tmp_path, "scontrol", "echo CurrentWatts=120")
    meters = (
        f"{{type: nvidia-smi, name: g, program: {hung}}}, {{type: slurm, name: s, node: n, program: {good}}}"
    )
    sampler = Sampler(f"power: {{period: 0.1, timeout: 1, meters: [{meters}]}}\n", tmp_path)
    sampler.await_rows("gave no answer in 1 s", 1)
    begin = time.monotonic()
    assert sampler.end() == 0
    assert time.monotonic() - begin < 5
    assert sum(value == 120.0 for value in powers(sampler.out, "s")) >= 7
    assert all(map(math.isnan, powers(sampler.out, "g")))


@pytest.mark.slow
def test_nvidia_smi__each_gpu_is_a_meter_and_one_without_a_sensor_is_blank(tmp_path):
    smi = tool(
        tmp_path,
        "nvidia-smi",
        'echo "$@" >"$(dirname $0)/asked"; printf "0, 61.93\\n1, [N/A]\\n2, 300.00\\n"',
    )
    meter = f"{{type: nvidia-smi, name: n1, field: power.draw.instant, program: {smi}}}"
    sampler = Sampler(f"power: {{period: 0.1, meters: [{meter}]}}\n", tmp_path)
    sampler.await_rows("n1:gpu2,300,", 2)
    assert sampler.end() == 0
    assert powers(sampler.out, "n1:gpu0")[0] == 61.93
    assert not any("gpu1" in line for line in sampler.lines())
    asked = "--query-gpu=index,power.draw.instant --format=csv,noheader,nounits\n"
    assert (tmp_path / "asked").read_text() == asked


@pytest.mark.slow
@pytest.mark.parametrize("said", ["CurrentWatts=0 AveWatts=0", "CurrentWatts=n/s AveWatts=n/s"])
def test_slurm__a_node_without_energy_plugin_is_blank_not_zero(tmp_path, said):
    program = tool(tmp_path, "scontrol", f'echo "NodeName=n1 {said}"')
    sampler = Sampler(
        f"power: {{period: 0.1, meters: [{{type: slurm, name: n1, node: n1, program: {program}}}]}}\n",
        tmp_path,
    )
    sampler.await_rows("no energy plugin on this node", 1)
    assert sampler.end() == 0
    assert all(map(math.isnan, powers(sampler.out, "n1")))


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "analysis.measure.power", *arguments]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_control__a_job_script_starts_and_stops_it(tmp_path):
    program = tool(tmp_path, "scontrol", "echo CurrentWatts=120")
    meter = f'{{type: slurm, name: "{{node}}", node: "{{node}}", program: {program}}}'
    (tmp_path / "c.yaml").write_text(f"power: {{period: 0.1, meters: [{meter}]}}\n")
    started = command(tmp_path, "start", "c.yaml", "p.csv", "--nodes", "n[1-2]")
    assert started.returncode == 0, started.stderr
    pid = int((tmp_path / "p.pid").read_text().split()[0])
    assert f"process {pid}" in started.stdout
    wait_for(lambda: (tmp_path / "p.csv").read_text().count(",n2,120,") >= 2, "readings")
    again = command(tmp_path, "start", "c.yaml", "p.csv", "--nodes", "n1")
    assert (again.returncode, "p.log: exists" in again.stderr) == (1, True)
    stopped = command(tmp_path, "stop", "p.csv")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert (tmp_path / "p.csv").read_text().endswith(",\n")
    assert [m["name"] for m in json.loads((tmp_path / "p.summary.json").read_text())["meters"]] == [
        "n1",
        "n2",
    ]
    assert not (tmp_path / "p.pid").exists()
    twice = command(tmp_path, "stop", "p.csv")
    assert (twice.returncode, "names no sampler" in twice.stderr) == (1, True)


def test_control__a_bad_configuration_is_said_at_the_start(tmp_path):
    (tmp_path / "c.yaml").write_text("power:\n  meters:\n    - {type: nothing, name: a}\n")
    done = command(tmp_path, "start", "c.yaml", "p.csv")
    assert done.returncode == 1
    assert "c.yaml:3: power.meters.0.type" in done.stderr
    # A run without power among others that have it says why.
    assert [path.name for path in tmp_path.glob("p.*")] == ["p.summary.json"]
    assert json.loads((tmp_path / "p.summary.json").read_text())["error"] in done.stderr


@pytest.mark.slow
def test_control__ends_with_the_job_script_that_forgot_to_stop_it(tmp_path):
    program = tool(tmp_path, "scontrol", "echo CurrentWatts=120")
    (tmp_path / "c.yaml").write_text(
        f"power: {{period: 0.1, meters: [{{type: slurm, name: a, node: a, program: {program}}}]}}\n"
    )
    script = f"{sys.executable} -m analysis.measure.power start c.yaml p.csv --until-pid $$"
    subprocess.run(["sh", "-c", script + "; true"], cwd=tmp_path, check=True, capture_output=True)
    wait_for(lambda: json.loads((tmp_path / "p.summary.json").read_text())["ended"], "the end")
    assert "is gone" in (tmp_path / "p.log").read_text()


@pytest.mark.slow
def test_control__without_srun_the_other_nodes_cost_only_themselves(tmp_path):
    zone(tmp_path / "sys", "intel-rapl:0", "package-0", 7)
    meter = f'{{type: powercap, name: "{{node}}", root: {tmp_path}/sys}}'
    (tmp_path / "c.yaml").write_text(f"power: {{period: 0.1, meters: [{meter}]}}\n")
    job = os.environ | {"SLURM_JOB_ID": "1", "SLURMD_NODENAME": "n1", "PATH": str(tmp_path)}
    argv = [sys.executable, "-m", "analysis.measure.power", "start", "c.yaml", "p.csv", "--nodes", "n[1-2]"]
    done = subprocess.run(
        argv, cwd=tmp_path, env=job, capture_output=True, text=True, check=False, timeout=90
    )
    assert command(tmp_path, "stop", "p.csv").returncode == 0
    assert (done.returncode, "no srun (No such file or directory): n2" in done.stderr) == (0, True)
    assert ",n1:package-0:0,7," in (tmp_path / "p.energy.csv").read_text()


@pytest.mark.slow
def test_control__another_process_with_the_number_is_left_alone(tmp_path):
    (tmp_path / "p.pid").write_text(f"{os.getpid()} 1\n")
    done = command(tmp_path, "stop", "p.csv")
    assert (done.returncode, "has ended already" in done.stderr) == (1, True)


@pytest.mark.slow
def test_control__what_is_sampled_reads_back_as_watts_by_time(tmp_path):
    program = tool(tmp_path, "scontrol", "echo CurrentWatts=200")
    meter = f'{{type: slurm, name: "{{node}}", node: "{{node}}", accuracy: 0.03, program: {program}}}'
    (tmp_path / "c.yaml").write_text(f"power: {{period: 0.3, meters: [{meter}]}}\n")
    assert command(tmp_path, "start", "c.yaml", "power.csv", "--nodes", "n1").returncode == 0
    start = np.datetime64(time.time_ns(), "ns")  # as soon as the job may begin
    time.sleep(1.0)
    end = np.datetime64(time.time_ns(), "ns")
    assert command(tmp_path, "stop", "power.csv").returncode == 0
    log = tmp_path / "power.csv"
    found = integrated(own_logs(tmp_path, [(log, readers.open(log))]), {"start": start, "end": end})
    row = found.columns()
    joules = 200 * float((end - start) / np.timedelta64(1, "s"))
    assert row["energy"] == pytest.approx(joules, rel=1e-9)
    assert row["energy_covered"] == pytest.approx(1.0)  # the readings reach over both ends
    assert row["energy_uncertainty"] == pytest.approx(joules * 0.03 / math.sqrt(3))
    assert row["energy_location"] == "node, by Slurm's energy plugin"
    summary = json.loads((tmp_path / "power.summary.json").read_text())
    assert (summary["nodes"], summary["meters"][0]["node"]) == (["n1"], "n1")
    assert summary["cpu_seconds"] > 0


@pytest.mark.slow
def test_control__a_sampler_that_does_not_end_is_killed(tmp_path):
    program = tool(tmp_path, "scontrol", "echo CurrentWatts=120")
    meter = f"{{type: slurm, name: a, node: a, program: {program}}}"
    (tmp_path / "c.yaml").write_text(f"power: {{period: 0.1, meters: [{meter}]}}\n")
    command(tmp_path, "start", "c.yaml", "p.csv")
    pid = int((tmp_path / "p.pid").read_text().split()[0])
    os.kill(pid, signal.SIGSTOP)
    done = command(tmp_path, "stop", "p.csv", "--patience", "0.5")
    assert (done.returncode, f"process {pid}, did not end in 0.5 s; killed" in done.stderr) == (1, True)
    assert (tmp_path / "p.csv").read_text().endswith(",a,120,\n")
    assert not list(tmp_path.glob("*.pid"))
    # The readers know the meters all the same.
    assert json.loads((tmp_path / "p.summary.json").read_text())["meters"][0]["node"] == "a"


@pytest.mark.slow
def test_commands__a_tool_whose_child_holds_the_pipe_costs_its_time_limit_only(tmp_path):
    hung = tool(tmp_path, "scontrol", "sleep 600")  # no exec: the shell is killed, what it started as well
    meter = f"{{type: slurm, name: a, node: a, program: {hung}}}"
    sampler = Sampler(
        f"power: {{period: 0.2, timeout: 0.4, longest_wait: 0.2, meters: [{meter}]}}\n", tmp_path
    )
    sampler.await_rows("gave no answer in 0.4 s", 3)
    assert sampler.end() == 0


@pytest.mark.slow
def test_sampler__a_signal_that_another_thread_gets_ends_it_too(tmp_path):
    program = tool(tmp_path, "scontrol", "echo CurrentWatts=120")
    meter = f"{{type: slurm, name: good, node: n, program: {program}}}"
    sampler = Sampler(f"power: {{period: 0.1, meters: [{meter}]}}\n", tmp_path)
    sampler.await_rows(",good,120,", 3)
    assert sampler.end(by_another_thread=True) == 0
    assert sampler.said().rstrip().endswith(" ended")


@pytest.mark.slow
def test_sampler__a_meter_without_its_secret_costs_its_own_readings_only(tmp_path):
    program = tool(tmp_path, "scontrol", "echo CurrentWatts=120")
    file = tmp_path / "pw"
    file.write_text("hunter2\n")
    file.chmod(0o640)
    meters = f"{{type: slurm, name: good, node: n, program: {program}}},\n"
    meters += f"  {{type: ipmitool, name: bad, host: h, user: u, password: {{file: {file}}}}}"
    sampler = Sampler(f"power: {{period: 0.1, meters: [{meters}]}}\n", tmp_path)
    sampler.await_rows(",good,120,", 3)
    assert sampler.end() == 0
    assert f"bad: cluster.yaml:2: {file} has mode 640: others can read it or change it" in sampler.said()
    assert any(",bad,," in line and f"chmod 600 {file}" in line for line in sampler.lines())
    assert "hunter2" not in sampler.said() + "".join(sampler.lines())
    faults = [str(fault) for fault in own_logs(tmp_path, []).faults]
    assert len(faults) == 1
    assert "bad was lost, gaps: 1, first at" in faults[0]


def test_sharing__jobs_at_once_get_the_log_and_each_others_windows(tmp_path):
    for number, text in (("1", "100.5"), ("2", "101.0")):
        (tmp_path / number).mkdir()
        (tmp_path / number / ".start").write_text(f"{text}\n")
    (tmp_path / "1/.end").write_text("110.25 0\n")
    (tmp_path / "1/power.csv").write_text("time,meter,power_W,note\n")
    (tmp_path / "1/power.summary.json").write_text('{"meters": []}')
    share(tmp_path / "1/power.csv", [tmp_path / "1", tmp_path / "2"])
    windows = [{"start": 100.5, "end": 110.25}, {"start": 101.0, "end": None}]
    for number in (1, 2):
        summary = json.loads((tmp_path / f"{number}/power.summary.json").read_text())
        assert summary == {"meters": [], "job": number, "jobs": windows}
        assert (tmp_path / f"{number}/power.csv").read_text() == "time,meter,power_W,note\n"


def test_output__readings_are_never_overwritten(tmp_path):
    (tmp_path / "power.csv").write_text("time,power\n")
    sampler = Sampler("power: {meters: [{type: slurm, name: a, node: a}]}\n", tmp_path)
    assert sampler.wait() == 1
    assert "power.csv: exists; choose another name" in sampler.said()
    assert sampler.out.read_text() == "time,power\n"
