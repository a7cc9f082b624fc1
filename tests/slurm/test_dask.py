"""Dask's workers on a real Slurm read a campaign; they are killed, or never come."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from analysis.base.workers import PARALLEL_FROM
from analysis.datasets.campaign import ingest
from benchmarks import bench_ingest
from tests.findings import planted
from tests.importing import trees

from . import daemons
from .cluster import SlurmCluster
from .machine import BUSY, until

TESTBED = "config/clusters/testbed.yaml"
pytestmark = pytest.mark.slurm

RAW = Path(__file__).parents[2] / "data" / "raw" / "vm-hpcg"
WORKERS = """\
title: the test cluster
facts: []
dask:
  memory: 700MB
  minutes: 5
  most: 2
  least_work: 1
  partition: bench
  account: bench
  interface: eth0
  scheduler_interface: bridge
"""
# The first reader of run 009 notes its process and waits for ever; so it holds the task when it is killed.
SCRIPT = """\
import os, sys, time
from pathlib import Path
from analysis.datasets import campaign
plain = campaign.read_run
held = Path({held!r})

def slow(folder, **known):
    if folder.name == "009" and not held.exists():
        held.write_text(f"{{os.uname().nodename}} {{os.getpid()}} {{os.environ['SLURM_JOB_ID']}}")
        time.sleep(600)
    return plain(folder, **known)

campaign.read_run = slow
campaign.ingest(Path({raw!r}), Path({out!r}))
"""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A campaign of 40 runs in a project with the test cluster."""
    folder = tmp_path / "data/raw/vm-hpcg"
    for run in sorted((RAW / "runs").iterdir())[:40]:
        shutil.copytree(run, folder / "runs" / run.name)
    (tmp_path / "config/clusters").mkdir(parents=True)
    (tmp_path / "config/config.yaml").write_text("campaigns: []\n", encoding="utf-8")
    (tmp_path / "config/applications").symlink_to(RAW.parents[2] / "config/applications")
    (tmp_path / TESTBED).write_text(WORKERS, encoding="utf-8")
    return folder


ENVIRONMENT = os.environ | {"BENCHBOOK_DASK": "testbed"}


def queue(cluster: SlurmCluster) -> list[str]:
    return cluster.run(["squeue", "--noheader"]).stdout.splitlines()


def started(cluster: SlurmCluster, raw: Path, out: Path, held: Path) -> subprocess.Popen[str]:
    """Start an ingest by workers, and wait until one of them holds the task of run 009."""
    project = raw.parents[2]
    script = project / "plain.py"
    script.write_text(SCRIPT.format(held=str(held), raw=str(raw), out=str(out)), encoding="utf-8")
    process = cluster.popen([sys.executable, script], cwd=project, env=ENVIRONMENT)
    until(
        "a worker to hold the task", lambda: held.is_file() and held.read_text().count(" ") == 2, seconds=30
    )
    return process


def assert_whole(raw: Path, out: Path) -> None:
    """Compare what was written with what one process writes, byte for byte."""
    whole = raw.parents[2] / "whole"
    ingest(raw, whole)
    files = sorted(path.relative_to(whole) for path in whole.rglob("*.nc"))
    assert len(files) > 1
    assert sorted(path.relative_to(out) for path in out.rglob("*.nc")) == files
    assert [(out / name).read_bytes() for name in files] == [(whole / name).read_bytes() for name in files]


def test_dask__a_worker_killed_while_it_holds_a_task_leaves_equal_bytes(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    out, held = tmp_path / "grown", tmp_path / "held"
    process = started(cluster, raw, out, held)
    node, number, job = held.read_text().split()
    cluster.run(["kill", "-9", number], on=node)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert ("dashboard: http://" in err) == bool(find_spec("bokeh"))
    assert int(job) > 0
    assert_whole(raw, out)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("slurm-")) == []
    assert list((tmp_path / "results/logs/dask").glob(f"benchbook-worker-{job}.err"))
    until("the workers' jobs to end", lambda: not queue(cluster))


def test_dask__a_worker_whose_node_loses_its_power_leaves_equal_bytes(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    out, held = tmp_path / "grown", tmp_path / "held"
    process = started(cluster, raw, out, held)
    node = held.read_text().split()[0]
    began = time.monotonic()
    cluster.kill_node(node)
    try:
        _, err = process.communicate(timeout=150 * BUSY)
    finally:
        cluster.start_node(node)
    assert process.returncode == 0, err
    assert time.monotonic() - began < 150 * BUSY
    assert_whole(raw, out)
    until("the workers' jobs to end", lambda: not queue(cluster))
    until("the node to be back", lambda: cluster.states() == ["idle"] * cluster.nodes, seconds=60)


def test_dask__an_ingest_that_is_killed_and_started_again_leaves_equal_bytes(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    out, held = tmp_path / "grown", tmp_path / "held"
    process = started(cluster, raw, out, held)
    begun = queue(cluster)
    os.killpg(process.pid, signal.SIGKILL)  # Dask's scheduler is a part of it
    process.communicate()
    assert begun
    assert not list(out.rglob("*.nc"))
    again = cluster.run([sys.executable, tmp_path / "plain.py"], cwd=tmp_path, env=ENVIRONMENT, timeout=240)
    assert "Traceback" not in again.stderr
    assert_whole(raw, out)
    # The workers of the first end by themselves: nobody gives them work any more.
    until("the workers' jobs to end", lambda: not queue(cluster), seconds=60)


def test_dask__a_full_disk_is_an_error_of_one_line_and_room_is_all_it_needs(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    cluster.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", out])
    command = [sys.executable, "-m", "analysis.cli", "stage", "ingest", raw, out]
    try:
        done = cluster.run(command, cwd=tmp_path, env=ENVIRONMENT, timeout=240, check=False)
        assert done.returncode == 1, done.stderr
        (line,) = [one for one in done.stderr.splitlines() if "dashboard" not in one]
        assert re.fullmatch(rf"{re.escape(str(out))}/\S+\.nc: No space left on device; make room", line)
        cluster.run(["mount", "-o", "remount,size=64m", out])
        cluster.run(command, cwd=tmp_path, env=ENVIRONMENT, timeout=240)
        cluster.run(["cp", "-r", out, tmp_path / "grown"])
    finally:
        cluster.run(["umount", out])
    assert_whole(raw, tmp_path / "grown")
    until("the workers' jobs to end", lambda: not queue(cluster))


# The first worker that has written a run holds it for ever; so it is lost with a run that is there.
WRITING = """\
import os, sys, time
from pathlib import Path
from analysis import cli
from analysis.importing import writing
plain = writing._write_run
held = Path({held!r})

def slow(draft, **known):
    found = plain(draft, **known)
    if not held.exists():
        held.write_text(f"{{os.uname().nodename}} {{os.getpid()}} {{os.environ['SLURM_JOB_ID']}}")
        time.sleep(600)
    return found

writing._write_run = slow
sys.exit(cli.main(["import", {tree!r}, "--as", "mine", "--yes"]))
"""


def _imports(path: Path) -> Path:
    """Make a project with the test cluster, and the outputs of 16 runs without records next to it."""
    base = path / "project"
    (base / "data/raw").mkdir(parents=True)
    shutil.copytree(RAW.parents[2] / "config", base / "config")
    (base / TESTBED).write_text(WORKERS, encoding="utf-8")
    trees.folders(path / "tree", trees.good()[:16])
    return base


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_dask__an_import_whose_worker_is_killed_has_the_files_of_one_process(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    base, alone = _imports(tmp_path), _imports(tmp_path / "alone")
    held, script = tmp_path / "held", tmp_path / "import.py"
    script.write_text(WRITING.format(held=str(held), tree=str(tmp_path / "tree")), encoding="utf-8")
    process = cluster.popen([sys.executable, script], cwd=base, env=ENVIRONMENT)
    until("a worker to hold a run", lambda: held.is_file() and held.read_text().count(" ") == 2, seconds=60)
    node, number, _ = held.read_text().split()
    cluster.run(["kill", "-9", number], on=node)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    command = [sys.executable, "-m", "analysis.cli", "import", tmp_path / "tree", "--as", "mine", "--yes"]
    cluster.run(command, cwd=alone)
    found = _files(base / "data/raw/mine")
    assert sum(name.endswith("/run.json") for name in found) == 16
    assert found == _files(alone / "data/raw/mine")
    until("the workers' jobs to end", lambda: not queue(cluster))


def _on_full_disks(
    cluster: SlurmCluster, folder: Path, raw: Path, full: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Ingest into ``out``, with workers whose folder has no room on some nodes."""
    scratch = folder / "scratch"
    scratch.mkdir()
    (folder / TESTBED).write_text(WORKERS + f"  folder: {scratch}\n", encoding="utf-8")
    for node in full:
        cluster.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs", scratch], on=node)
    command = [sys.executable, "-m", "analysis.cli", "stage", "ingest", raw, folder / "out"]
    try:
        return cluster.run(command, cwd=folder, env=ENVIRONMENT, timeout=300, check=False)
    finally:
        for node in full:
            cluster.run(["umount", scratch], on=node)


def test_dask__full_disks_of_the_workers_nodes_are_an_error_of_one_line(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    nodes = daemons.node_names(cluster.nodes)
    done = _on_full_disks(cluster, tmp_path, raw, nodes)
    assert done.returncode == 1, done.stderr
    *left_out, line = [one for one in done.stderr.splitlines() if "dashboard" not in one]
    file = re.escape(str(tmp_path / TESTBED))
    assert re.match(rf"{file}:3: no worker of Dask starts: job \d+: .*No space left", line)
    assert sorted(one.split()[1] for one in left_out) == nodes
    assert not list((tmp_path / "out").rglob("*.nc"))
    until("the workers' jobs to end", lambda: not queue(cluster))


def test_dask__nodes_whose_disks_are_full_are_left_out_and_the_work_ends_well(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    full = daemons.node_names(cluster.nodes)[:-1]  # Slurm gives the first ones first
    done = _on_full_disks(cluster, tmp_path, raw, full)
    assert done.returncode == 0, done.stderr
    lines = [one for one in done.stderr.splitlines() if "dashboard" not in one]
    said = r"node (n\d) gets no more workers of Dask: job \d+: .*No space left on device.*"
    matches = [re.fullmatch(said, line) for line in lines]
    assert sorted(match[1] for match in matches if match) == full, done.stderr
    assert len(lines) == len(full)
    assert_whole(raw, tmp_path / "out")
    until("the workers' jobs to end", lambda: not queue(cluster))


# Workers that read on n1 end; so the work is done only if n1 gets no more of them.
ENDING = """\
import os
from pathlib import Path
from analysis.datasets import campaign
plain = campaign.read_run

def ending(folder, **known):
    if os.uname().nodename == "n1":
        os._exit(3)
    return plain(folder, **known)

campaign.read_run = ending
campaign.ingest(Path({raw!r}), Path({out!r}))
"""


def test_dask__a_node_that_loses_its_workers_twice_is_left_out(
    cluster: SlurmCluster, tmp_path: Path, raw: Path
) -> None:
    out, script = tmp_path / "out", tmp_path / "ending.py"
    script.write_text(ENDING.format(raw=str(raw), out=str(out)), encoding="utf-8")
    file = tmp_path / TESTBED
    file.write_text(WORKERS.replace("most: 2", "most: 1"), encoding="utf-8")
    done = cluster.run([sys.executable, script], cwd=tmp_path, env=ENVIRONMENT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stderr.splitlines() if "dashboard" not in one]
    assert re.match(r"node n1 gets no more workers of Dask: job \d+: ", line)
    assert_whole(raw, out)
    until("the workers' jobs to end", lambda: not queue(cluster))


@pytest.mark.parametrize("workers", ["local", "slurm", "testbed"])
def test_dask__the_workflow_sends_an_ingest_to_workers(
    cluster: SlurmCluster, tmp_path: Path, workers: str
) -> None:
    base, scratch = planted.project(tmp_path / "project"), tmp_path / "scratch"
    (base / "config/config.yaml").write_text("campaigns: [many]\nreports: {}\npages: []\n", encoding="utf-8")
    (base / TESTBED).write_text(WORKERS, encoding="utf-8")
    shutil.copy(base / "config/campaigns/vm-exchange.yaml", base / "config/campaigns/many.yaml")
    for at in range(PARALLEL_FROM):
        bench_ingest.add(base / "data/raw/many", at)
    made = base / "data/processed/many/campaign.nc"
    build = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "all"]
    build += ["--", str(made.relative_to(base))]
    listed = ["squeue", "--noheader", "--states=all", "--name=benchbook-worker", "--format=%A"]
    cluster.run(build, cwd=base, timeout=300)
    alone = made.read_bytes()
    shutil.rmtree(made.parent)
    before = set(cluster.run(listed).stdout.split())
    own = {"DASK_TEMPORARY_DIRECTORY": str(scratch)}
    build[-2:-2] = ["--config", f"dask={workers}"]
    cluster.run(build, cwd=base, env=own, timeout=300)
    assert made.read_bytes() == alone
    assert list(scratch.iterdir())  # Dask's workers have been there
    assert bool(set(cluster.run(listed).stdout.split()) - before) == (workers != "local")
    until("the workers' jobs to end", lambda: not queue(cluster))


# Of a project: its folder, and what is printed of its campaign.
SEARCH = """\
import json, sys
from pathlib import Path
from analysis.base import processes
from analysis.base.workers import Workers
from analysis.estimates.campaign import load_campaign
from tests.findings.test_workers import judged, searched
own = dict(memory="700MB", minutes=5, most=2, least_work=1, partition="bench", account="bench")
own |= dict(interface="eth0", scheduler_interface="bridge")
processes.declared = lambda _: Workers(**own)
campaign = load_campaign("vm-hpcg", Path(sys.argv[1]))
print(json.dumps([*searched(campaign), *judged(campaign)]))
"""


def test_dask__findings_and_claims_are_those_of_one_process(cluster: SlurmCluster, tmp_path: Path) -> None:
    base = planted.project(tmp_path / "project")
    planted.campaign(base, "vm-hpcg", lambda *_: None, lambda record: record["application"] == "osu")
    command = [sys.executable, "-c", SEARCH, base]
    alone = cluster.run(command, cwd=planted.ROOT)
    assert alone.stdout.count('"claim": ') > 10
    listed = ["squeue", "--noheader", "--states=all", "--name=benchbook-worker", "--format=%A"]
    before = cluster.run(listed).stdout.split()
    found = cluster.run(command, cwd=planted.ROOT, env={"BENCHBOOK_DASK": "slurm"}, timeout=300)
    assert found.stdout == alone.stdout
    assert len(cluster.run(listed).stdout.split()) > len(before)
    until("the workers' jobs to end", lambda: not queue(cluster))


# What is wrong with the part `dask`, and what the one line then says.
HOPELESS = {
    "a partition that does not exist": (
        {"partition: bench": "partition: nowhere"},
        r"no worker of Dask starts: sbatch: error: .*[Ii]nvalid partition",
    ),
    "more minutes than the partition gives": (
        {"minutes: 5": "minutes: 500"},
        r"job \d+ of Dask never starts: Slurm says PartitionTimeLimit",
    ),
    "a network that the nodes lack": (
        {"interface: eth0": "interface: eth7"},
        r"no worker of Dask starts: job \d+: ValueError: 'eth7' is not a valid network interface",
    ),
}


@pytest.mark.parametrize("what", HOPELESS)
def test_dask__workers_that_never_come_are_an_error_of_one_line(
    cluster: SlurmCluster, tmp_path: Path, raw: Path, what: str
) -> None:
    wrong, said = HOPELESS[what]
    file = tmp_path / TESTBED
    text = WORKERS
    for right, other in wrong.items():
        text = text.replace(f"  {right}\n", f"  {other}\n")
    assert text != WORKERS
    file.write_text(text, encoding="utf-8")
    began = time.monotonic()
    command = [sys.executable, "-m", "analysis.cli", "stage", "ingest", raw, tmp_path / "out"]
    done = cluster.run(command, cwd=tmp_path, env=ENVIRONMENT, timeout=240, check=False)
    assert done.returncode == 1, done.stderr
    said_so = done.stderr.splitlines()
    line, *more = [one for one in said_so if "dashboard" not in one and "gets no more workers" not in one]
    assert re.match(rf"{re.escape(str(file))}:3: {said}", line), done.stderr
    assert line.endswith("; correct its part `dask`, or work without; nothing was written")
    assert more == []
    assert not list((tmp_path / "out").rglob("*.nc"))
    assert time.monotonic() - began < 60 * BUSY
    until("the workers' jobs to end", lambda: not queue(cluster))
