"""Dask's workers on a real Slurm read a campaign; one of them is killed while it holds a task."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from analysis.datasets.campaign import ingest

from .cluster import SlurmCluster
from .machine import until

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


def test_dask__a_worker_killed_while_it_holds_a_task_leaves_equal_bytes(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    raw, out, held = tmp_path / "data/raw/vm-hpcg", tmp_path / "grown", tmp_path / "held"
    for run in sorted((RAW / "runs").iterdir())[:40]:
        shutil.copytree(run, raw / "runs" / run.name)
    (tmp_path / "config/clusters").mkdir(parents=True)
    (tmp_path / "config/config.yaml").write_text("campaigns: []\n", encoding="utf-8")
    (tmp_path / "config/applications").symlink_to(RAW.parents[2] / "config/applications")
    (tmp_path / "config/clusters/testbed.yaml").write_text(WORKERS, encoding="utf-8")
    script = tmp_path / "plain.py"
    script.write_text(SCRIPT.format(held=str(held), raw=str(raw), out=str(out)), encoding="utf-8")
    environment = os.environ | {"BENCHBOOK_DASK": "testbed"}
    process = cluster.popen([sys.executable, script], cwd=tmp_path, env=environment)
    until("a worker to hold the task", held.is_file, seconds=20)
    node, number, job = held.read_text().split()
    cluster.run(["kill", "-9", number], on=node)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert ("dashboard: http://" in err) == bool(find_spec("bokeh"))
    assert int(job) > 0
    ingest(raw, tmp_path / "whole")
    files = sorted(path.relative_to(out) for path in out.rglob("*.nc"))
    assert len(files) > 1
    assert [(out / name).read_bytes() for name in files] == [
        (tmp_path / "whole" / name).read_bytes() for name in files
    ]
    until("the workers' jobs to end", lambda: not cluster.run(["squeue", "--noheader"]).stdout.strip())
