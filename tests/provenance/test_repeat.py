"""A crate becomes a campaign that repeats its runs: levels of one's own; nothing of a bad crate is left."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import cli
from analysis.base import project
from analysis.measure.declare import load
from analysis.measure.matrix import expand
from tests.measure.conftest import CLUSTER
from tests.provenance.test_workflow_crate import measured  # noqa: F401  # a fixture

ROOT = Path(__file__).parents[2]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own with nothing but a cluster."""
    base = tmp_path / "here"
    for name in ("config/campaigns", "config/clusters", "config/applications", "data/raw"):
        (base / name).mkdir(parents=True)
    (base / "config/config.yaml").write_text("campaigns: []\nreports: {}\npages: []\n", encoding="utf-8")
    (base / "config/clusters/mine.yaml").write_text(CLUSTER.replace("ompi:", "own:", 1), encoding="utf-8")
    return base


def files(base: Path) -> set[str]:
    return {str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()}


def test_repeat__of_the_shipped_campaign_passes_plan(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counted in its records by hand: 35 combinations of the usual build, 191 runs of one job or two."""
    crate = tmp_path / "vm.zip"
    monkeypatch.chdir(ROOT)
    assert cli.main(["export", "vm-hpcg", str(crate)]) == 0
    monkeypatch.chdir(empty)
    assert cli.main(["repeat", str(crate)]) == 0
    said = capsys.readouterr().out
    assert "wrote config/campaigns/vm-hpcg-on-mine.yaml\n" in said
    assert "left out: 6 runs: hpcg of build '-O3 -march=native -funroll-loops -ffast-math -flto': " in said
    plan = expand(load("vm-hpcg-on-mine", empty))
    assert (len({run.cell for run in plan.runs}), len(plan.runs)) == (35, 191)
    assert {run.application for run in plan.runs} == {"hpcg", "osu"}
    assert "latency" in {run.case for run in plan.runs}  # which its records call osu_latency
    # What it is compared with is here, whole, and no plan of a cluster that is not.
    assert cli.main(["verify", "vm-hpcg"]) == 0
    assert "matrix" not in project.load_yaml(empty / "config/campaigns/vm-hpcg.yaml")


def crate_of(base: Path, tmp_path: Path) -> Path:
    out = tmp_path / "c.zip"
    assert cli.main(["export", "c", str(out)]) == 0
    return out


def test_repeat__on_a_cluster_with_names_of_its_own(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its library has the crate's name under another key; which of its two links it is has to be said."""
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    command = ["repeat", str(crate), "--cluster", "mine", "--as", "again"]
    before = files(empty)
    cluster = empty / "config/clusters/mine.yaml"
    text = cluster.read_text(encoding="utf-8")
    text = text.replace("{programs: {ompi:", "{programs: {own:")
    cluster.write_text(text, encoding="utf-8")
    assert cli.main(command) == 1
    why = "mine has no interconnect 'ib/fdr': give --level 'interconnect=ib/fdr:YOURS'"
    assert why in capsys.readouterr().err
    assert files(empty) == before
    assert cli.main([*command, "--level", "interconnect=ib/fdr:eth"]) == 0
    runs = sorted(expand(load("again", empty)).runs, key=lambda run: run.repeat)
    found = [(run.factors["mpi"], run.factors["interconnect"], run.case, run.repeat) for run in runs]
    assert found == [("own", "eth", "small", 1), ("own", "eth", "small", 2)]
    assert files(empty) - before >= {
        "config/campaigns/again.yaml",
        "config/campaigns/c.yaml",
        "config/applications/alpha.yaml",
        "data/raw/c/runs/a-r02.failed-1/run.json",
    }
    assert capsys.readouterr().out.endswith(
        "then: benchbook plan again; measured: benchbook compare c again\n"
    )


def test_repeat__a_level_that_the_cluster_lacks_is_asked_for(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    cluster = empty / "config/clusters/mine.yaml"
    text = cluster.read_text(encoding="utf-8").replace("Open MPI 4.1.4", "Open MPI 5.0.1")
    # Of one link there is nothing to choose.
    text = text.replace("    eth: {partition: slow, environment: {UCX_NET_DEVICES: eth0}}\n", "")
    cluster.write_text(text.replace("{programs: {ompi:", "{programs: {own:"), encoding="utf-8")
    before = files(empty)
    command = ["repeat", str(crate), "--cluster", "mine", "--as", "again"]
    assert cli.main(command) == 1
    said = capsys.readouterr().err
    assert "no run can be repeated: mine has no mpi 'Open MPI 4.1.4': " in said
    assert "give --level 'mpi=Open MPI 4.1.4:YOURS'" in said
    assert files(empty) == before
    assert cli.main([*command, "--level", "mpi=Open MPI 4.1.4"]) == 1
    assert "--level: 'mpi=Open MPI 4.1.4' is no level; write FACTOR=THEIRS:MINE" in capsys.readouterr().err
    assert cli.main([*command, "--level", "mpi=Open MPI 4.1.4:own"]) == 0
    runs = expand(load("again", empty)).runs
    assert {(run.factors["mpi"], run.factors["interconnect"]) for run in runs} == {("own", "ib")}


def changed(crate: Path, change: Callable[[str, bytes], tuple[str, bytes]]) -> Path:
    """Write a crate anew with changed members."""
    bad = crate.with_name("bad.zip")
    with zipfile.ZipFile(crate) as archive, zipfile.ZipFile(bad, "w") as target:
        for name in archive.namelist():
            target.writestr(*change(name, archive.read(name)))
    return bad


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda name, data: (name, data + b"9" if name.endswith("a-r01/stdout.txt") else data),
            "data/raw/c/runs/a-r01/stdout.txt:0: has changed since line ",
        ),
        (
            lambda name, data: (name.replace("runs/a-r01/stdout.txt", "../../../evil.txt"), data),
            "'../../../evil.txt' is no path within it; do not trust it",
        ),
        (
            lambda name, data: (name, b"{}" if name == "ro-crate-metadata.json" else data),
            "bad.zip:0: has no ro-crate-metadata.json that names a campaign; give a crate",
        ),
        (
            lambda name, data: (name, b"title: [" if name.endswith("alpha.yaml") else data),
            "config/applications/alpha.yaml:",
        ),
    ],
)
def test_repeat__of_a_bad_crate_leaves_nothing(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[str, bytes], tuple[str, bytes]],
    said: str,
) -> None:
    bad = changed(crate_of(measured, tmp_path), change)
    monkeypatch.chdir(empty)
    before = files(empty)
    assert cli.main(["repeat", str(bad), "--cluster", "mine", "--as", "again"]) == 1
    assert said in capsys.readouterr().err
    assert files(empty) == before
    assert not (tmp_path / "evil.txt").exists()


def test_repeat__what_is_no_crate_is_one_line(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(empty)
    (empty / "x.zip").write_text("no zip", encoding="utf-8")
    assert cli.main(["repeat", "x.zip", "--level", "color=red:blue"]) == 1
    assert "'color=red:blue' is no level" in capsys.readouterr().err
    for name in ("x.zip", "none.zip"):
        assert cli.main(["repeat", name]) == 1
        assert capsys.readouterr().err.startswith(f"{name}:0: ")
    assert files(empty) == {"config/clusters/mine.yaml", "config/config.yaml", "x.zip"}
