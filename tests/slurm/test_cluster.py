from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from . import daemons, host, jobs
from .cluster import SlurmCluster, burst
from .daemons import CONTROL
from .machine import ClusterError, start_time, until

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).parents[2]
DAEMONS = {"slurmctld", "slurmscriptd", "slurmdbd", "slurmd", "slurmstepd", "munged", "mariadbd", "unshare"}
OURS = ("benchbook-slurm", "ompi.", "pmix", "hydra", "openmpi-sessions", "slurm", "munge", "mysql")
FOLDERS = ("/tmp", "/run", "/run/netns", "/var/log", "/var/spool", "/var/run", "/dev/shm", "/etc/slurm")


def processes() -> set[tuple[int, int]]:
    """Return process id and start time of every daemon of the kinds that a cluster has."""
    found = set()
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = comm.read_text(encoding="utf-8").strip()
        except OSError:
            continue
        pid = int(comm.parent.name)
        if name in DAEMONS and (started := start_time(pid)):
            found.add((pid, started))
    return found


def traces() -> dict[str, object]:
    """Return all of the host that a cluster might leave something in."""
    places = {Path(folder) for folder in FOLDERS} | {Path(tempfile.gettempdir())}
    entries = (entry for folder in places if folder.is_dir() for entry in folder.iterdir())
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    return {
        "processes": processes(),
        "links": sorted(line.split()[0] for line in links.splitlines()),
        "mounts": Path("/proc/mounts").read_text(encoding="utf-8"),
        "files": sorted(str(entry) for entry in entries if entry.name.startswith(OURS)),
    }


def namespaces() -> set[int]:
    listed = subprocess.run(["lsns", "-n", "-o", "NS"], capture_output=True, text=True, check=True).stdout
    return {int(number) for number in listed.split()}


def test_cluster__is_up_within_a_minute(cluster: SlurmCluster, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\nSlurm up:", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in cluster.laps.items()))
    assert cluster.states() == ["idle"] * 4
    # 4 s on two cores; the limit only tells a slow machine from a start that waits for something.
    assert cluster.laps["all nodes idle"] < 60


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


def test_cluster__twice_one_after_another_leaves_nothing(able: None, tmp_path: Path) -> None:
    before = traces()
    for _ in range(2):
        with SlurmCluster(2) as cluster:
            numbers = {
                number for machine in cluster.machines.values() for number in machine.namespaces().values()
            }
            job = jobs.submit(cluster, tmp_path, "exec sleep 600")
            jobs.running(cluster, job)
            assert traces()["processes"] != before["processes"]
            assert Path(cluster.base).is_dir()
        assert traces() == before
        assert not numbers & namespaces()


def test_cluster__ends_when_its_owner_is_killed(able: None, tmp_path: Path) -> None:
    before = processes()
    program = (
        "import sys, time; from pathlib import Path; from tests.slurm.cluster import SlurmCluster\n"
        "SlurmCluster(1, folder=Path(sys.argv[1])).up(); print('up', flush=True); time.sleep(600)"
    )
    folder = Path(tempfile.mkdtemp(prefix="benchbook-slurm-")) / "cluster"
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout is not None
            assert owner.stdout.readline() == "up\n"
            assert processes() > before
        finally:
            os.kill(owner.pid, signal.SIGKILL)
    until("the end of all daemons", lambda: processes() == before, seconds=20)
    shutil.rmtree(folder.parent)


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
    before = traces()
    with pytest.raises(ClusterError, match=r"^slurmctld ended right after(.|\n)*select/none_such"):
        SlurmCluster(1).up()
    assert traces() == before


def test_cluster__command_line(able: None) -> None:
    before = traces()
    folder = Path(tempfile.gettempdir()) / f"benchbook-slurm-cli-{os.getpid()}"

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
    assert traces() == before


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


def test_machine__refuses_commands_once_it_is_off(cluster: SlurmCluster) -> None:
    gone = type(cluster.machines[CONTROL])("gone", (0, 0), (os.getpid(), 1))
    with pytest.raises(ClusterError, match="machine gone does not run"):
        gone.command(["true"])
