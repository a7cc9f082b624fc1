"""What is claimed of a crate holds: the validator of the profiles finds no REQUIRED check that fails."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.provenance import manifest
from tests.measure.conftest import ALPHA, CAMPAIGN, CLUSTER
from tests.provenance.test_crate import RECORD, write

ROOT = Path(__file__).parents[2]
VALIDATOR = Path(__file__).with_name("roc_validate.py")
MADE = {"benchbook": {"version": "0.1"}, "application": "alpha", "campaign": "c", "case": "small"}


def validated(crate: Path, profile: str) -> list[str]:
    """Return what the validator finds against a profile and those that it is based on."""
    if importlib.util.find_spec("rocrate_validator") is None:
        pytest.skip("no roc-validator: run `make env`")
    command = [sys.executable, VALIDATOR, crate, profile]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr == "" or done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def graph(crate: Path) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(crate) as archive:
        found = json.loads(archive.read("ro-crate-metadata.json"))["@graph"]
    return {one["@id"]: one for one in found}


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a campaign that Benchbook's workflow has measured: two good runs and a failed one."""
    base = tmp_path / "project"
    files = {
        "config/config.yaml": "campaigns: [c]\nreports: {}\npages: []\n",
        "config/clusters/paper.yaml": CLUSTER,
        "config/applications/alpha.yaml": ALPHA,
        "config/campaigns/c.yaml": CAMPAIGN,
        "CITATION.cff": "license: CC-BY-4.0\n",
    }
    for name, changes in {
        "a-r01": {"repeat": 1},
        "a-r02": {"repeat": 2},
        "a-r02.failed-1": {"repeat": 2, "exit_code": 5, "reason": "exit code 5"},
    }.items():
        record = RECORD | MADE | {"run": name, "cluster": "paper", "mpi": "Open MPI 4.1.4"} | changes
        files[f"data/raw/c/runs/{name}/run.json"] = json.dumps(record)
        files[f"data/raw/c/runs/{name}/stdout.txt"] = "proxy result: \n"
    write(base, files)
    shutil.copytree(ROOT / "workflow", base / "workflow", ignore=shutil.ignore_patterns("__pycache__"))
    manifest.write(base / "data/raw/c", "data/raw/c")
    monkeypatch.chdir(base)
    return base


def test_crate__of_a_measured_campaign_is_a_workflow_run_crate(measured: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.zip"
    assert cli.main(["export", "c", str(out)]) == 0
    found = graph(out)
    profiles = {one["@id"] for one in found["./"]["conformsTo"]}
    assert "https://w3id.org/ro/wfrun/workflow/0.5" in profiles
    snakefile = found[found["./"]["mainEntity"]["@id"]]
    assert snakefile["@id"] == "benchbook/workflow/Snakefile"
    assert {"@id": "benchbook/workflow/rules/measure.smk"} in snakefile["hasPart"]
    run = found["#workflow-run"]
    assert {one["@id"] for one in run["object"]} == {
        "benchbook/config/campaigns/c.yaml",
        "benchbook/config/clusters/paper.yaml",
        "benchbook/config/applications/alpha.yaml",
    }
    actions = [one for one in found.values() if one["@type"] == "CreateAction" and one is not run]
    assert len(actions) == 3
    assert {one["instrument"]["@id"] for one in actions} == {"#application/alpha"}
    assert found["#on/paper"]["valueReference"] == {"@id": "#cluster/paper"}
    assert validated(out, "workflow-run-crate") == []


def test_crate__of_a_campaign_measured_otherwise_claims_its_processes_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    out = tmp_path / "vm.zip"
    assert cli.main(["export", "vm-hpcg", str(out)]) == 0
    found = graph(out)
    assert found["./"]["conformsTo"] == [{"@id": "https://w3id.org/ro/wfrun/process/0.5"}]
    assert "mainEntity" not in found["./"]
    assert validated(out, "process-run-crate") == []


def test_crate__the_validator_finds_a_machine_that_is_called_an_instrument(
    measured: Path, tmp_path: Path
) -> None:
    """The check can fail: it is the fault that all actions of earlier crates had."""
    out, bad = tmp_path / "c.zip", tmp_path / "bad.zip"
    assert cli.main(["export", "c", str(out)]) == 0
    with zipfile.ZipFile(out) as archive, zipfile.ZipFile(bad, "w") as target:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "ro-crate-metadata.json":
                data = data.replace(b'"@id": "#application/alpha"\n   }', b'"@id": "#cluster/paper"\n   }')
                assert data != archive.read(name)
            target.writestr(name, data)
    assert any("MUST have an instrument" in line for line in validated(bad, "process-run-crate"))


def test_crate__a_cluster_file_with_a_secret_stays_at_home(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = measured / "config/clusters/paper.yaml"
    text = cluster.read_text(encoding="utf-8")
    cluster.write_text(text.replace("LICENCE: host", "LICENCE_TOKEN: abc"), encoding="utf-8")
    out = tmp_path / "c.zip"
    assert cli.main(["export", "c", str(out)]) == 0
    said = capsys.readouterr().err
    assert said == "config/clusters/paper.yaml: not in the crate: 'LICENCE_TOKEN' looks like a secret\n"
    with zipfile.ZipFile(out) as archive:
        assert b"abc" not in b"".join(map(archive.read, archive.namelist()))
