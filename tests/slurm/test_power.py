"""Power beside jobs of a real Slurm: BMCs, a PDU, Redfish and local counters on two nodes."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.energy.own import own_logs
from analysis.readers import open as read
from analysis.schema import storage
from tests.measure.power import test_redfish
from tests.measure.power.helpers import Watcher
from tests.measure.power.test_sampler import replace

from . import jobs
from .campaigns import RESULT, begun, finish, ingest, job_of, records, start, use_factors, use_program
from .cluster import SlurmCluster
from .machine import until
from .meters import NODES, OUTLET, PDU, SECRETS, Meters, holders, searched_by_nobody, serving

pytestmark = pytest.mark.slurm

emulator = test_redfish.emulator

METERS = """\
power:
  period: 0.5
  timeout: 4
  longest_wait: 0.5
  meters:
    - type: snmp
      name: pdu
      host: pdu
      version: "3"
      user: bench
      auth: SHA-256
      auth_password: {{file: {place}/auth}}
      privacy: AES
      privacy_password: {{file: {place}/privacy}}
      accuracy: 0.01
      nodes: {{{outlets}}}
    - {{type: ipmitool, name: "bmc-{{node}}", host: "{{node}}-bmc", user: bench, cipher: 3,
       privilege: ADMINISTRATOR, password: {{file: {place}/bmc}}, accuracy: 0.02}}
    - {{type: redfish, name: "rf-{{node}}", url: "https://{{node}}-bmc:8443/redfish/v1/Chassis/1/Power",
       user: bench, password: {{env: RF_PASSWORD}}, ca: {place}/right-ca.pem}}
    - {{type: powercap, name: "cpu-{{node}}", root: "{place}/sys/{{node}}"}}
"""

# Rank 0 of a program that runs until the file `go` is there leaves a result as the proxy does.
PROGRAM = """\
#!/bin/sh
env >environment-on-$(hostname)
until [ -e {folder}/go ]; do sleep 0.1; done
[ "${{OMPI_COMM_WORLD_RANK:-0}}" = 0 ] || exit 0
"""
PROGRAM += RESULT

# A user's one password in a variable, which is not what the README advises.
OWN = {"RF_PASSWORD": SECRETS["redfish"]}


@pytest.fixture
def meters(cluster: SlurmCluster, tmp_path: Path, emulator: Path) -> Iterator[Meters]:
    with serving(cluster, tmp_path, emulator) as servers:
        yield servers


def lay_out(project: Path, place: Path, at_once: int = 1) -> None:
    """Make the campaign one of a single run on two nodes, on a cluster with meters."""
    outlets = ", ".join(f'{node}: "{OUTLET}.{number}"' for number, node in enumerate(NODES, 1))
    more = METERS.format(place=place, outlets=outlets)
    use_program(project, PROGRAM.format(folder=project, ranks=2), more=more)
    use_factors(project, nodes=2, jobs=at_once)


def rows(file: Path, meter: str, *, blank: bool = False) -> int:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    cells = [line.split(",") for line in lines if line.count(",") >= 3]
    return sum(one[1] == meter and (one[2] == "") == blank for one in cells)


def samplers(project: Path) -> list[bytes]:
    """Return the command lines of this project's samplers; clusters beside this one may run theirs."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            lines.append(file.read_bytes())
    return [line for line in lines if b"analysis.measure.power" in line and bytes(project) in line]


def ingested(project: Path) -> dict[str, dict[str, Any]]:
    ingest(project)
    runs = storage.read_tree(project / "processed/campaign.nc")["runs"].to_dataset()
    return {row["run"]: row for row in runs.to_dataframe().reset_index().to_dict("records")}


def test_power__two_nodes_with_a_meter_that_dies_and_no_secret_anywhere(
    cluster: SlurmCluster,
    project: Path,
    meters: Meters,
) -> None:
    meters.pdu()
    meters.bmcs()
    meters.redfish()
    lay_out(project, meters.place)
    watcher = Watcher()
    tried = [sys.executable, "-m", "analysis.cli", "meters", "testbed", "--nodes", "n[1-2]"]
    asked = cluster.run(tried, on="n1", cwd=project, env=OWN).stdout.splitlines()
    said = {line.split()[0]: float(line.split()[1]) for line in asked}
    assert said.pop("cpu-n1:core:0:0") == said.pop("cpu-n1:package-0:0") == 0  # counters that stand still
    assert (said.pop("pdu:n1"), said.pop("pdu:n2")) == (200.0, 300.0)
    assert said == {"bmc-n1": 151.0, "bmc-n2": 152.0, "rf-n1": 431.5, "rf-n2": 431.5}
    run = meters.processes["snakemake"] = start(cluster, project, OWN)
    work = begun(run, project, seconds=240)
    log = work / "1/power.csv"
    hosts = json.loads((work / "1/.job.json").read_text(encoding="utf-8"))["node_list"]
    local = {node: work / f"1/power{'' if node == hosts[0] else f'.{node}'}.energy.csv" for node in hosts}
    for node in hosts:
        until("rows", lambda n=node: rows(log, f"pdu:{n}") >= 3 and rows(log, f"bmc-{n}") >= 2, seconds=120)
        zoned = f"cpu-{node}:package-0:0"
        until("counters", lambda n=node, z=zoned: rows(local[n], z) >= 2, seconds=120)
        replace(meters.place / "sys" / node / "intel-rapl:0/energy_uj", "25000000\n")
        seen = rows(local[node], zoned)
        until("counters", lambda n=node, z=zoned, s=seen: rows(local[n], z) >= s + 2, seconds=60)
    assert len(samplers(project)) >= len(hosts)
    job = job_of(work)
    shown = (
        cluster.run(["scontrol", "show", "job", job]).stdout
        + cluster.run(["squeue", "-h", "-O", "ALL"]).stdout
    )
    assert f"JobId={job} " in shown
    assert searched_by_nobody("[a-z]+-s3cre[t]-77") == []
    meters.kill("pdu")
    until("the gap", lambda: rows(log, f"pdu:{hosts[0]}", blank=True) >= 3, seconds=120)
    meters.pdu(more=60)
    seen = rows(log, f"pdu:{hosts[0]}")
    until("the end of the gap", lambda: rows(log, f"pdu:{hosts[0]}") >= seen + 3, seconds=120)
    (project / "go").touch()
    status, said = finish(run, 400)
    assert status == 0, said
    jobs.ended(cluster, job)

    commands = watcher.end()
    assert b"ipmitool" in commands
    assert b"snmpget" in commands
    accounted = cluster.run(["sacct", "--parsable2", "--format=ALL", f"--jobs={job}"]).stdout
    assert job in accounted
    own = {str(meters.place / name) for name in SECRETS}
    for secret in SECRETS.values():
        assert secret.encode() not in commands
        assert secret not in shown + accounted + said
        assert holders(secret, project) == []  # nor did the program see any in its environment
        kept = holders(secret, cluster.base)
        # Slurm keeps the environment of submission, for root alone; so the README wants files.
        assert all(secret == SECRETS["redfish"] and Path(path).name == "environment" for path in kept), kept
        assert all(Path(path).stat().st_mode & 0o077 == 0 for path in kept)
        # Of the meters' own folder only the servers' files and the private ones have it.
        assert set(holders(secret, meters.place)) & own == {
            path for path in own if secret in Path(path).read_text()
        }

    ((name, record),) = records(project).items()
    assert record["reason"] == ""
    assert len(list(project.rglob("environment-on-n*"))) == 2  # there was something to search
    folder = project / "data/raw/few/runs" / name
    row = ingested(project)[name]
    seconds = record["end"] - record["start"]
    watts = sum(PDU[node] for node in hosts)
    # The outlets count, not the BMCs behind them nor the packages behind those.
    assert row["energy_location"] == "rack outlet, by the PDU"
    assert watts * seconds < row["energy_low"] < row["energy"] < row["energy_high"] < (watts + 120) * seconds
    assert 0 < row["energy_covered"] < 1
    assert row["energy_uncertainty"] == pytest.approx(row["energy"] * 0.01 / math.sqrt(3), rel=0.01)
    summary = json.loads((folder / "power.summary.json").read_text(encoding="utf-8"))
    states = {meter["name"]: meter for meter in summary["meters"]}
    [gap] = states["pdu"]["gaps"]
    assert gap["start"] < gap["end"]
    assert all(states[f"{kind}-{node}"]["gaps"] == [] for kind in ("bmc", "rf") for node in hosts)
    for node in hosts:
        energies = read(folder / local[node].name, engine="rapl")
        assert energies["energy_counter"].sel(meter=f"cpu-{node}:package-0:0").max() == pytest.approx(75.0)
        values = read(folder / "power.csv", engine="power_csv")["power"]
        assert set(values.sel(meter=f"bmc-{node}").dropna("time").values) == {150.0 + int(node[1:])}
        assert set(values.sel(meter=f"rf-{node}").dropna("time").values) == {431.5}
    other = json.loads((folder / f"power.{hosts[1]}.summary.json").read_text(encoding="utf-8"))
    assert (other["host"], [meter["type"] for meter in other["meters"]]) == (hosts[1], ["powercap"])
    assert not list(folder.glob("*.pid"))
    assert samplers(project) == []


def test_power__constant_watts_are_watts_by_time_and_jobs_at_once_share_them(
    cluster: SlurmCluster,
    project: Path,
    meters: Meters,
) -> None:
    meters.pdu()
    lay_out(project, meters.place, at_once=2)
    shutil.rmtree(meters.place / "sys")
    text = (project / "config/clusters/testbed.yaml").read_text(encoding="utf-8")
    text = text.partition("    - {type: ipmitool")[0]  # the PDU alone
    (project / "config/clusters/testbed.yaml").write_text(text, encoding="utf-8")
    run = meters.processes["snakemake"] = start(cluster, project, OWN)
    log = begun(run, project, seconds=240) / "1/power.csv"
    until("rows", lambda: any(rows(log, f"pdu:{node}") >= 3 for node in NODES), seconds=120)
    (project / "go").touch()
    status, said = finish(run, 400)
    assert status == 0, said
    found = records(project)
    assert len(found) == 2
    rows_of = ingested(project)
    watts = sum(PDU[node] for node in next(iter(found.values()))["node_list"])
    began, ended = min(r["start"] for r in found.values()), max(r["end"] for r in found.values())
    joules = [rows_of[name]["energy"] for name in found]
    assert sum(joules) == pytest.approx(watts * (ended - began), rel=1e-6)
    assert [rows_of[name]["energy_covered"] for name in found] == pytest.approx([1.0, 1.0])
    for name, record in found.items():
        folder = project / "data/raw/few/runs" / name
        part = rows_of[name]["energy"] / (watts * (record["end"] - record["start"]))
        assert 0.5 - 1e-6 <= part < 1.0
        chosen = own_logs(folder, [(folder / "power.csv", read(folder / "power.csv", engine="power_csv"))])
        assert (chosen.logs[0].ds.attrs["accuracy"], chosen.job + 1) == (0.01, record["job_of_run"])


def test_power__a_cancelled_job_leaves_whole_lines_and_no_sampler(
    cluster: SlurmCluster,
    project: Path,
    meters: Meters,
) -> None:
    meters.pdu()
    lay_out(project, meters.place)
    run = meters.processes["snakemake"] = start(cluster, project, OWN)
    work = begun(run, project, seconds=240)
    until("rows", lambda: any(rows(work / "1/power.csv", f"pdu:{node}") >= 3 for node in NODES), seconds=120)
    job = job_of(work)
    assert samplers(project)
    cluster.run(["scancel", job])
    status, _ = finish(run, 400)
    assert status == 1
    jobs.ended(cluster, job)
    ((name, record),) = records(project).items()
    assert "the job was ended by " in record["reason"]
    folder = project / "data/raw/few/runs" / name
    text = (folder / "power.csv").read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert {line.count(",") for line in text.splitlines() if '"' not in line} == {3}
    assert json.loads((folder / "power.summary.json").read_text(encoding="utf-8"))["ended"]
    assert samplers(project) == []
