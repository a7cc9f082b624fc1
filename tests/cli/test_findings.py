"""The command `findings`, and that datasets are built for a command only where they have to be."""

from __future__ import annotations

import json
import os
import shutil
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
from analysis.datasets.campaign import ingest
from analysis.decks.content import deck
from analysis.estimates.campaign import load_campaign


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
    (tmp_path / "config/campaigns/one.yaml").write_text("title: One\nevidence: measured\nhardware: none\n")
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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "title: One\nnotes:\n\t- a\n",
            ":3: found character '\\t' that cannot start any token; indent with blanks",
        ),
        (
            "title: a: b\n",
            ":1: mapping values are not allowed in this context; put text that has ': ' in quotes",
        ),
        (
            "titel: One\nevidence: measured\nhardware: h\n",
            ":1: the file: unknown key 'titel'; is 'title' meant?",
        ),
    ],
)
def test_built__a_mistake_in_the_campaigns_file_is_named_before_anything_is_built(
    base: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: str
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a build was started"))
    (base / "config/campaigns/one.yaml").write_text(text)
    with pytest.raises(ConfigError, match="config") as error:
        built(["one"])
    assert str(error.value).splitlines()[-1].startswith(f"config/campaigns/one.yaml{line}")


def test_built__the_chatter_of_a_failed_build_is_left_out(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    err = (
        'WorkflowError in file "/x/workflow/rules/common.smk", line 73:\n'
        "/x/config/campaigns/other.yaml:21: found a tab character; indent with blanks\n"
        '  File "/x/workflow/Snakefile", line 16, in <module>\n'
    )
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "", err))
    (base / "data/processed/one/campaign.nc").unlink()
    with pytest.raises(ConfigError):
        built(["one"])
    assert capsys.readouterr().err.splitlines()[1:] == [err.splitlines()[1]]


def test_built__a_part_of_a_campaign_is_for_compare(base: Path) -> None:
    with pytest.raises(ConfigError, match=r"^one:nodes=2: is a part of a campaign; give one; "):
        built(["one:nodes=2"])


def test_findings__a_line_of_a_table_that_is_no_run_is_named_here_and_on_the_slides(
    base: Path, fresh: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A decimal comma gives a line one cell more."""
    raw = project.raw("one", base)
    shutil.rmtree(raw / "runs")
    (base / "config/config.yaml").write_text("campaigns: []\nreports: {}\n")
    lines = [f"a{i},app,2,19{i}.5" for i in range(3)] + ["b,app,2,200,1"]
    (raw / "runs.csv").write_text("\n".join(["run,application,nodes,elapsed", *lines]) + "\n")
    ingest(raw, project.processed("one", base))
    assert cli.main(["findings", "one"]) == 0
    first = "1 line of its tables left out, the first: runs.csv:5: 5 cells, the table has 4 columns"
    assert f"{first}; `benchbook verify one` lists them" in capsys.readouterr().err
    bullets = [text for slide in deck(load_campaign("one", base)).slides for text in slide.bullets]
    assert f"{first}." in bullets
    assert "No run was left out." not in bullets


def test_verify__counts_the_runs_of_a_table_and_knows_their_levels(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = project.raw("one", base)
    shutil.rmtree(raw / "runs")
    (base / "config/config.yaml").write_text("campaigns: []\nreports: {}\n")
    (raw / "runs.csv").write_text("run,application,interconnect,elapsed\na,app,hdr100,1\nb,app,eth0,2\n")
    declared = base / "config/campaigns/one.yaml"
    declared.write_text(declared.read_text() + "levels:\n  interconnect:\n    ib-fdr: { is: hdr10 }\n")
    assert cli.main(["verify", "one", "--write"]) == 1
    told = capsys.readouterr()
    assert "one: 1 file, 2 runs, 1 fault, 0 notes" in told.out
    line = "config/campaigns/one.yaml:6: no run has link 'hdr10'; is 'hdr100' meant? known: eth0, hdr100"
    assert told.err.replace("interconnect 'hdr10'", "link 'hdr10'").splitlines() == [line]


def test_built__a_failed_build_is_told(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "data/raw/one/runs: holds no run")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    (base / "data/processed/one/campaign.nc").unlink()
    with pytest.raises(ConfigError, match="could not be made into datasets"):
        built(["one"])
    assert "holds no run" in capsys.readouterr().err
