"""Kept layouts: what jobs would work out themselves, and nothing slow is imported for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from analysis.measure import folders, layout, prepare, workflow

HOSTS = ["node-01", "n2", "n3.cluster", "n4"]
# Starts a run as a job does, without its script; says what was imported.
CODE = """
import json, os, sys
os.execvp = lambda *_: None
from analysis.measure import launch
launch.main(["c", sys.argv[1]])
print(json.dumps(list(sys.modules)))
"""


def test_layout__kept_is_what_the_job_works_out(base: Path) -> None:
    runs = workflow.plan("c", base).runs
    assert len(runs) > 10
    assert {run.nodes for run in runs} == {1, 2, 4}
    prepare.keep(base, "c", [run.name for run in runs])
    for run in runs:
        hosts = HOSTS[: run.nodes]
        names = [one.name for one in runs]
        own = prepare.now(base, "c", run.name, hosts, names)
        found = layout.kept(base, "c", run.name, hosts)
        assert found == json.loads(json.dumps(own))
        assert [job["head"]["node_list"] for job in found["jobs"]] == [hosts]
        assert "@node" not in json.dumps(found)
        assert layout.kept(base, "c", run.name, [*hosts, "n5"]) == {}


def test_layout__is_not_taken_once_a_file_has_changed(base: Path) -> None:
    run = workflow.plan("c", base).runs[0]
    hosts = HOSTS[: run.nodes]
    for name in ("campaigns/c", "clusters/paper", "applications/alpha"):
        prepare.keep(base, "c", [run.name])
        assert layout.kept(base, "c", run.name, hosts)
        path = base / f"config/{name}.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}# changed\n", encoding="utf-8")
        assert layout.kept(base, "c", run.name, hosts) == {}
        path.unlink()
        assert layout.kept(base, "c", run.name, hosts) == {}
        path.write_text(text, encoding="utf-8")
    layout.path_of(base, "c", run.name).write_text("[]", encoding="ascii")
    assert layout.kept(base, "c", run.name, hosts) == {}


def test_layout__is_not_taken_if_a_file_has_changed_since_the_plan(base: Path) -> None:
    """Snakemake reads the files once, and keeps layouts for hours: a later edit is not in them."""
    path = base / "config/clusters/paper.yaml"
    before = path.read_text(encoding="utf-8")
    run = workflow.plan("c", base).runs[0]
    hosts = HOSTS[: run.nodes]
    assert before.count("memory: 2000") == 1
    path.write_text(before.replace("memory: 2000", "memory: 3000"), encoding="utf-8")
    prepare.keep(base, "c", [run.name])
    assert json.loads(layout.path_of(base, "c", run.name).read_text())["layout"]["asked"]["mem_mb"] == 2000
    assert layout.kept(base, "c", run.name, hosts) == {}
    path.write_text(before, encoding="utf-8")
    assert layout.kept(base, "c", run.name, hosts)["asked"]["mem_mb"] == 2000


def test_layout__is_not_kept_where_the_cores_are_those_of_the_node(base: Path) -> None:
    path = base / "config/clusters/paper.yaml"
    text = path.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.strip().startswith("cores:"))
    path.write_text(text.replace(line, "  cores: auto"), encoding="utf-8")
    run = workflow.plan("c", base).runs[0]
    prepare.keep(base, "c", [run.name])
    assert not layout.path_of(base, "c", run.name).exists()


def test_launch__imports_no_model_in_a_job(base: Path) -> None:
    """Models took a third of a second, and half of the job's memory, in each job."""
    run = next(run for run in workflow.plan("c", base).runs if run.nodes == 1)
    names = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n1",
        "BENCHBOOK_COMMIT": "",
        "BENCHBOOK_STARTED": "1000",
    }

    def imported() -> set[str]:
        command = [sys.executable, "-c", CODE, run.name]
        environment = {**os.environ, **names}
        done = subprocess.run(command, cwd=base, env=environment, capture_output=True, text=True, check=True)
        assert json.loads((folders.running(base, "c") / run.name / "1" / folders.HEAD).read_text())
        return set(json.loads(done.stdout.splitlines()[-1]))

    slow = {"pydantic", "yaml", "importlib.metadata", "numpy", "asyncio", "analysis.measure.declare"}
    prepare.keep(base, "c", [run.name])
    assert not imported() & slow
    layout.path_of(base, "c", run.name).unlink()
    work = folders.running(base, "c") / run.name
    kept = (work / "job.sh").read_text(), (work / "1" / folders.HEAD).read_text()
    work.rename(base / "before")
    assert "pydantic" in imported()  # it works the same layout out itself
    assert ((work / "job.sh").read_text(), (work / "1" / folders.HEAD).read_text()) == kept
