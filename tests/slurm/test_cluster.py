from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from . import campaigns, daemons, host, jobs, traces
from .cluster import SlurmCluster, burst
from .daemons import CONTROL
from .machine import ClusterError, until

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).parents[2]
# Starts a cluster of one node and waits for the signal that ends it.
OWNER = """
import sys, time
from pathlib import Path
from tests.slurm.cluster import SlurmCluster

with SlurmCluster(1, folder=Path(sys.argv[1])) as cluster:
    cluster.run(["sbatch", "--wrap=sleep 600"], cwd=cluster.base)
    print("up", flush=True)
    time.sleep(600)
"""


def test_cluster__is_up(cluster: SlurmCluster, record_property: Callable[[str, object], None]) -> None:
    until("all nodes to be idle", lambda: cluster.states() == ["idle"] * 4)
    assert list(cluster.laps)[-1] == "all nodes idle"
    # The number is for the log: no test can hold a time on a machine that it shares.
    record_property(
        "Slurm up", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in cluster.laps.items())
    )


def test_cluster__gives_each_machine_namespaces_and_an_address(cluster: SlurmCluster) -> None:
    numbers = [set(machine.namespaces().values()) for machine in cluster.machines.values()]
    numbers.append(
        {(Path("/proc/self/ns") / name).stat().st_ino for name in ("net", "uts", "ipc", "mnt", "pid")}
    )
    assert len(set.union(*numbers)) == 6 * 5
    for number in range(1, 5):
        where = f"n{number}"
        assert cluster.run(["hostname"], on=where).stdout == f"n{number}\n"
        address = cluster.run(["ip", "-brief", "-4", "address", "show", "dev", "eth0"], on=where).stdout
        assert address.split()[2] == f"10.77.0.{number}/24"


def test_cluster__leaves_no_zombies_of_jobs(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "(sleep 0.2 &)\nsrun true", "--nodes=2")
    jobs.ended(cluster, job)

    def zombies() -> list[str]:
        listed = [cluster.run(["ps", "-eo", "stat="], on=name).stdout.split() for name in ("n1", "n2")]
        return [state for states in listed for state in states if state.startswith("Z")]

    until("zombies to be reaped", lambda: not zombies(), seconds=5)
    assert zombies() == []


def test_cluster__twice_one_after_another_leaves_nothing(able: None, tmp_path: Path) -> None:
    folder = Path(tempfile.gettempdir()) / f"benchbook-slurm-twice-{os.getpid()}"
    before = traces.on_host(folder)
    for _ in range(2):
        with SlurmCluster(2, folder=folder) as cluster:
            job = jobs.submit(cluster, tmp_path, "exec sleep 600")
            jobs.running(cluster, job)
            inside = traces.of_namespaces(cluster)
            names = {Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() for pid, _ in inside}
            assert names >= {"slurmctld", "slurmdbd", "slurmd", "slurmstepd", "munged", "mariadbd", "sleep"}
            assert traces.of_folder(folder) >= inside
            assert traces.on_host(folder)["files"] != before["files"]
        assert traces.on_host(folder) == before
        assert traces.alive(inside) == set()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_cluster__leaves_nothing_when_its_owner_is_ended(able: None, sign: signal.Signals) -> None:
    folder = Path(tempfile.gettempdir()) / f"benchbook-slurm-owner-{os.getpid()}"
    before = traces.on_host(folder)
    command = [sys.executable, "-c", OWNER, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as owner:
        try:
            assert owner.stdout is not None
            assert owner.stdout.readline() == b"up\n", owner.communicate()
            inside = traces.of_folder(folder)
            assert len(inside) > 10  # two machines, five daemons, the job's processes
        finally:
            owner.send_signal(sign)
            owner.communicate()
    until("the end of all that was started", lambda: traces.on_host(folder) == before, seconds=20)
    assert traces.alive(inside) == set()


def test_cluster__says_which_daemon_does_not_start_and_leaves_nothing(
    able: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(daemons.TEMPLATES, templates)
    conf = templates / "slurm.conf"
    conf.write_text(
        conf.read_text(encoding="utf-8").replace("select/cons_tres", "select/none_such"), encoding="utf-8"
    )
    monkeypatch.setattr(daemons, "TEMPLATES", templates)
    folder = Path(tempfile.gettempdir()) / f"benchbook-slurm-wrong-{os.getpid()}"
    before = traces.on_host(folder)
    with pytest.raises(ClusterError, match=r"^slurmctld ended right after(.|\n)*select/none_such"):
        SlurmCluster(1, folder=folder).up()
    assert traces.on_host(folder) == before


def test_cluster__command_line(able: None) -> None:
    folder = Path(tempfile.gettempdir()) / f"benchbook-slurm-cli-{os.getpid()}"
    before = traces.on_host(folder)

    def command(*words: str) -> tuple[int, str, str]:
        line = [sys.executable, "-m", "tests.slurm.cluster", "--folder", str(folder), *words]
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert command("status") == (1, "", f"cluster: {folder}: no cluster there; start one with 'up'\n")
    try:
        status, said, _ = command("up", "--nodes=1")
        assert (status, said.splitlines()[-1].split(maxsplit=2)[2]) == (0, "all nodes idle")
        assert command("up") == (
            1,
            "",
            f"cluster: {folder}: exists; take it down first, or name another --folder\n",
        )
        assert command("exec", "srun", "hostname") == (0, "n1\n", "")
        assert command("shape", "1gbit") == (0, "", "")
        refusal = "cluster: rate '1' is none; write it like 200mbit or 10gbit, or off\n"
        assert command("shape", "1") == (1, "", refusal)
    finally:
        assert command("down") == (0, "", "")
    assert traces.on_host(folder) == before


@pytest.mark.parametrize(("rate", "expected"), [("200mbit", "16kb"), ("1gbit", "16kb"), ("10gbit", "512kb")])
def test_cluster__bucket_follows_the_rate(rate: str, expected: str) -> None:
    assert burst(rate) == expected


def test_host__says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert host.missing().startswith("not root")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    if Path("/etc/debian_version").exists():
        monkeypatch.setattr(host, "SEARCH_PATH", "/nonexistent")
        assert host.missing().startswith("no slurmctld, slurmd, slurmdbd")
        assert host.missing().endswith("run tests/slurm/install.sh")


def test_campaigns__a_failed_test_shows_reasons_and_ends_of_outputs(tmp_path: Path) -> None:
    folder = tmp_path / "data/raw/few/runs/a.failed-1"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"reason": "exit code 1"}', encoding="utf-8")
    (folder / "stderr.txt").write_text("x" * 20 + "File exists\n", encoding="utf-8")
    (tmp_path / "data/raw/few/runs/b").mkdir()
    (tmp_path / "data/raw/few/runs/b/run.json").write_text('{"reason": ""}', encoding="utf-8")
    expected = "data/raw/few/runs/a.failed-1: exit code 1\n--- stderr.txt, the end\nFile exists"
    assert campaigns.why(tmp_path, 11) == expected
    work = tmp_path / campaigns.RUNNING / "c/1"
    work.mkdir(parents=True)
    (work / "stdout.txt").write_text("step 1\n", encoding="utf-8")
    assert f"{work.relative_to(tmp_path)}: still measured" in campaigns.why(tmp_path, 11)


def test_machine__refuses_commands_once_it_is_off(cluster: SlurmCluster) -> None:
    gone = type(cluster.machines[CONTROL])("gone", (0, 0), (os.getpid(), 1))
    with pytest.raises(ClusterError, match="machine gone does not run"):
        gone.command(["true"])
