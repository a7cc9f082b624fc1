"""``benchbook meters`` on a folder of a project, with programs that stand in for scontrol and RAPL."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.cli import main

TOOL = "#!/bin/sh\nif [ $4 = n2 ]; then echo down >&2; exit 3; fi\necho NodeName=$4 CurrentWatts=212\n"
METER = '    - {{type: slurm, name: "{{node}}", node: "{{node}}", accuracy: 0.05, program: {}/scontrol}}\n'


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config/clusters").mkdir(parents=True)
    (tmp_path / "config/config.yaml").touch()
    (tmp_path / "scontrol").write_text(TOOL)
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)  # this process runs other tests too
    path = tmp_path / "config/clusters/mine.yaml"
    path.write_text("power:\n  meters:\n" + METER.format(tmp_path))
    return path


def test_meters__each_is_read_once(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meters", "mine", "--nodes", "n[1,3]"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:3] for line in lines] == [["n1", "212.0", "W"], ["n3", "212.0", "W"]]
    assert " ".join(lines[0][5:]) == "slurm, node, by Slurm's energy plugin, ± 5 %"


def test_meters__one_that_is_silent_is_named_with_its_line(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["meters", "mine", "--nodes", "n[1-2]"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("n1 ")
    assert said.err.startswith("config/clusters/mine.yaml:3: n2: ")
    assert "ended with 3: down; it would be blank in every run" in said.err


def test_meters__mistakes_are_one_line(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meters", "yours"]) == 1
    assert capsys.readouterr().err == "config/clusters/yours.yaml: is no cluster; known: mine\n"
    assert main(["meters", "mine"]) == 1
    assert "none are given; pass --nodes" in capsys.readouterr().err
    cluster.write_text(cluster.read_text().replace("node: ", "knot: "))
    assert main(["meters", "mine", "--nodes", "n1"]) == 1
    assert "mine.yaml:3: power.meters.0" in capsys.readouterr().err


def test_meters__a_counter_is_read_twice(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A counter that stands still has counted 0 W; a tree that looks like that of sysfs."""
    zone = cluster.parents[2] / "rapl/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, text in (("name", "package-0"), ("energy_uj", "7000"), ("max_energy_range_uj", "9000")):
        (zone / name).write_text(f"{text}\n")
    cluster.write_text(f"power: {{meters: [{{type: powercap, name: c, root: {zone.parent}}}]}}\n")
    assert main(["meters", "mine"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["c:package-0:0", "0.0", "W"]


def test_meters__no_tool_may_leave_a_dump_with_its_secret(cluster: Path) -> None:
    tool = cluster.parents[2] / "scontrol"
    tool.write_text(TOOL.replace("echo NodeName", "ulimit -c > limit\necho NodeName"))
    command = "from analysis.cli import main; main(['meters', 'mine', '--nodes', 'n1'])"
    shell = f'ulimit -c 1000 && "{sys.executable}" -c "{command}"'
    subprocess.run(["bash", "-c", shell], check=True, capture_output=True)
    assert (cluster.parents[2] / "limit").read_text() == "0\n"
