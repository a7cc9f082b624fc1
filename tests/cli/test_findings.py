"""The command `findings`, and that datasets are built for a command only where they have to be."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.claims import load_report
from analysis.cli import built as building
from analysis.cli.built import built


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the datasets that are there: whether they are built is another test."""
    monkeypatch.setattr("analysis.cli.findings.built", lambda names: None)


@pytest.mark.datasets("vm-hpcg")
@pytest.mark.usefixtures("fresh")
def test_findings__sentences_by_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["findings", "vm-hpcg"]) == 0
    out = capsys.readouterr().out
    titles = [
        "Problem size",
        "Compiler and version",
        "Links",
        "Scaling",
        "MPI library",
        "Memory",
        "Not decided",
    ]
    assert [out.index(f"\n{title}\n") for title in titles] == sorted(
        out.index(f"\n{one}\n") for one in titles
    )
    assert "  Build -O3 is 1.373 times as fast as build -O3 -march=native" in out
    assert "n 6 / 6, base 6.43 Gflop/s, interval at 95 %" in out
    for identifier in ("veth-", "nx16", "mpip", "shared-memory", "target_time"):
        assert identifier not in out


@pytest.mark.datasets("vm-hpcg")
@pytest.mark.usefixtures("fresh")
def test_findings__json_has_what_a_figure_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["findings", "vm-hpcg", "--json", "--topic", "links", "--top", "2"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [one["topic"] for one in found] == ["links"] * 2
    first = found[0]
    assert first["word"] == "differs"
    assert first["low"] < first["value"] < first["high"]
    assert first["page"] == "interconnect"
    assert {row["series"] for row in first["shown"]["rows"]} == {""}
    assert {row["x"] for row in first["shown"]["rows"]} >= {"the open link", "the link of 1 Gbit/s"}
    assert first["shown"]["unit"] == "MB/s"
    assert first["claim"]["compare"]["factor"] == "interconnect"


@pytest.mark.datasets("vm-hpcg")
@pytest.mark.usefixtures("fresh")
def test_findings__written_as_claims_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(project, "claims", lambda name: tmp_path / f"{name}.yaml")
    assert cli.main(["findings", "vm-profiles", "--write", "--top", "1"]) == 0
    assert "0 were there already" in capsys.readouterr().err
    content = (tmp_path / "vm-profiles.yaml").read_bytes()
    assert len(load_report(tmp_path / "vm-profiles.yaml").claims) > 1  # --top is what is printed
    assert cli.main(["findings", "vm-profiles", "--write"]) == 0
    assert ": 0 claims added, " in capsys.readouterr().err
    assert (tmp_path / "vm-profiles.yaml").read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere"], "there is no such campaign; known: "),
        (["vm-hpcg", "--topic", "links and such"], "unknown topic 'links and such'; known: problem size, "),
        (["vm-hpcg", "--q", "5"], "5 is no rate; a number between 0 and 1, like 0.05"),
    ],
)
def test_findings__what_is_wrong_is_one_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["findings", *arguments]) == 1
    said = capsys.readouterr().err
    assert line in said
    assert len(said.splitlines()) == 1


@pytest.mark.datasets("modelled")
@pytest.mark.usefixtures("fresh")
def test_findings__a_model_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["findings", "modelled"]) == 1
    assert "its draws are no runs" in capsys.readouterr().err


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one campaign whose dataset is younger than all it is made of."""
    for path in ("config/config.yaml", "config/campaigns/one.yaml", "data/raw/one/runs/a/run.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    tree = tmp_path / "data/processed/one/campaign.nc"
    tree.parent.mkdir(parents=True)
    tree.touch()
    for path in tmp_path.rglob("*"):
        os.utime(path, (1_000, 1_000))
    os.utime(tree, (2_000, 2_000))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building.project, "PACKAGE", tmp_path / "src")
    return tmp_path


def test_built__asks_nobody_where_nothing_changed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a build was started"))
    built(["one"])


@pytest.mark.parametrize(
    "changed", ["data/raw/one/runs/a/run.json", "config/campaigns/one.yaml", "data/raw/one/runs"]
)
def test_built__asks_once_for_what_changed(
    base: Path, changed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    os.utime(base / changed, (3_000, 3_000))
    built(["one"])
    assert [command[-1] for command in asked] == ["data/processed/one/campaign.nc"]
    assert capsys.readouterr().err == "checking whether the datasets of one are up to date\n"
    built(["one"])  # the build found nothing to do, and that was younger
    assert len(asked) == 1


def test_built__names_what_was_built(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = base / "data/processed/one/campaign.nc"

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        tree.touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    tree.unlink()
    built(["one"])
    assert capsys.readouterr().err.splitlines()[1:] == ["built the datasets of one"]


def test_built__a_failed_build_is_told(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "data/raw/one/runs:0: holds no run")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    (base / "data/processed/one/campaign.nc").unlink()
    with pytest.raises(ConfigError, match="could not be made into datasets"):
        built(["one"])
    assert "holds no run" in capsys.readouterr().err
