"""A crate becomes a campaign that repeats its runs: levels of one's own; nothing of a bad crate is left."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import cli
from analysis.base import project
from analysis.cli import repeat
from analysis.measure.declare import load
from analysis.measure.matrix import expand
from analysis.provenance import manifest
from tests.measure.conftest import ALPHA, CLUSTER
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
    assert "c: 2 of 2 runs cannot be repeated; mine has no mpi 'Open MPI 4.1.4': " in said
    assert "give --level 'mpi=Open MPI 4.1.4:YOURS'" in said
    assert files(empty) == before
    assert cli.main([*command, "--level", "mpi=Open MPI 4.1.4"]) == 1
    assert "--level: 'mpi=Open MPI 4.1.4' is no level; write FACTOR=THEIRS:MINE" in capsys.readouterr().err
    assert cli.main([*command, "--level", "mpi=Open MPI 4.1.4:own"]) == 0
    runs = expand(load("again", empty)).runs
    assert {(run.factors["mpi"], run.factors["interconnect"]) for run in runs} == {("own", "ib")}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def changed(crate: Path, change: Callable[[str, bytes], tuple[str, bytes]]) -> Path:
    """Write a crate anew with changed members."""
    bad = crate.with_name("bad.zip")
    with zipfile.ZipFile(crate) as archive, zipfile.ZipFile(bad, "w") as target:
        for name in archive.namelist():
            target.writestr(*change(name, archive.read(name)))
    return bad


def refused(crate: Path, empty: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Repeat a bad crate, which leaves nothing; return what is said of it."""
    before = files(empty)
    capsys.readouterr()
    assert cli.main(["repeat", str(crate), "--cluster", "mine", "--as", "again"]) == 1
    assert files(empty) == before
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda name, data: (name, data + b"9" if name.endswith("a-r01/stdout.txt") else data),
            "bad.zip/runs/a-r01/stdout.txt: has changed since line ",
        ),
        (
            lambda name, data: (name.replace("runs/a-r01/stdout.txt", "../../../evil.txt"), data),
            "'../../../evil.txt' is no path within it; do not trust it",
        ),
        (
            lambda name, data: (name, b"{}" if name == "ro-crate-metadata.json" else data),
            "bad.zip: has no ro-crate-metadata.json that names a campaign; give a crate",
        ),
        (
            lambda name, data: (name, b"title: [" if name.endswith("alpha.yaml") else data),
            "bad.zip/benchbook/config/applications/alpha.yaml: is not the file of ro-crate-metadata.json; ",
        ),
        (  # by an application's file of another version, of which the metadata has the checksum
            lambda name, data: (
                name,
                b"title: ["
                if name.endswith("alpha.yaml")
                else data.replace(sha256(ALPHA).encode(), sha256("title: [").encode()),
            ),
            "config/applications/alpha.yaml:2:",
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
    assert said in refused(bad, empty, capsys)
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
        assert capsys.readouterr().err.startswith(f"{name}: ")
    assert files(empty) == {"config/clusters/mine.yaml", "config/config.yaml", "x.zip"}


@pytest.mark.parametrize("at", [0, -1])
def test_repeat__of_an_archive_with_a_flipped_bit_leaves_nothing(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    at: int,
) -> None:
    """The first byte of a compressed file is no deflate then; after the last one the checksum is another."""
    bad = crate_of(measured, tmp_path)
    with zipfile.ZipFile(bad) as archive:
        one = archive.getinfo("runs/a-r02/run.json")
    data = bytearray(bad.read_bytes())
    begin = one.header_offset + 30 + len(one.filename)
    data[begin if at == 0 else begin + one.compress_size - 3] ^= 0b110
    bad.write_bytes(data)
    monkeypatch.chdir(empty)
    (line,) = refused(bad, empty, capsys).splitlines()
    assert line.startswith(f"{bad}: cannot be unpacked: ")
    assert not (empty / "data/raw/c").exists()


def test_repeat__of_names_that_cannot_be_files_names_the_archive(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that has the name of a file, and a name of 300 letters; not a path that is gone again."""
    monkeypatch.chdir(empty)
    for name in ("runs/a-r01/run.json", "a" * 300):
        with zipfile.ZipFile("x.zip", "w") as archive:
            archive.writestr("runs", "a file")
            archive.writestr(name, "{}")
        assert cli.main(["repeat", "x.zip"]) == 1
        assert capsys.readouterr().err.startswith("x.zip: cannot be unpacked: ")


def ready(empty: Path, *changes: tuple[str, str]) -> list[str]:
    """Let the cluster run the crate's runs over its one link, but for some changes; return the command."""
    cluster = empty / "config/clusters/mine.yaml"
    text = cluster.read_text(encoding="utf-8").replace("{programs: {ompi:", "{programs: {own:")
    link = "    eth: {partition: slow, environment: {UCX_NET_DEVICES: eth0}}\n"
    for old, new in ((link, ""), *changes):
        assert old in text
        text = text.replace(old, new)
    cluster.write_text(text, encoding="utf-8")
    return ["repeat", "--cluster", "mine", "--as", "again"]


def test_repeat__another_campaign_of_the_name_is_not_compared(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The crate's own with one more run is its own; with another file of a run it is another one."""
    crate, own = crate_of(measured, tmp_path), empty / "data/raw/c"
    monkeypatch.chdir(empty)
    command = [*ready(empty), str(crate)]
    planned = empty / "config/campaigns/c.yaml"  # one of mine that is not measured yet
    planned.parent.mkdir(exist_ok=True)
    planned.write_text("title: mine\n", encoding="utf-8")
    assert cli.main(command) == 1
    assert "data/raw/c: is another campaign than the crate's" in capsys.readouterr().err
    assert planned.read_text(encoding="utf-8") == "title: mine\n"
    planned.unlink()
    shutil.copytree(measured / "data/raw/c", own)
    (own / "runs/a-r01/stdout.txt").write_text("proxy result: other\n", encoding="utf-8")
    manifest.write(own, "c", force=True)
    before = files(empty)
    assert cli.main(command) == 1
    why = "data/raw/c: is another campaign than the crate's: of its 6 files of runs 1 are not the same here"
    assert why in capsys.readouterr().err
    assert files(empty) == before
    shutil.copy(measured / "data/raw/c/runs/a-r01/stdout.txt", own / "runs/a-r01/stdout.txt")
    shutil.copytree(own / "runs/a-r01", own / "runs/a-r03")
    manifest.write(own, "c", force=True)
    assert cli.main([*command[:-3], "--as", "c", str(crate)]) == 1
    assert "c: is the crate's own campaign; give another with --as" in capsys.readouterr().err
    assert cli.main(command) == 0
    assert "wrote data/raw/c" not in capsys.readouterr().out
    assert cli.main(command) == 1
    assert "config/campaigns/again.yaml: exists already; " in capsys.readouterr().err


ALPHA_HERE = (
    "    alpha: {programs: {own: /opt/alpha/ompi, mpich: /opt/alpha/mpich}, environment: {LICENCE: host}}\n"
)
OPENMPI_HERE = "    own: {family: openmpi, name: Open MPI 4.1.4, start: mpirun, modules: [openmpi/4.1.4]}\n"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([('["0-3", "4-7"]', '["0"]')], "mine has 1 core on a node for 2 ranks and threads"),
        ([("nodes: 4", "nodes: 1")], "mine has no 2 nodes"),
        ([(ALPHA_HERE, "")], "mine has no program of 'alpha': name it in config/clusters/mine.yaml"),
        (
            [(OPENMPI_HERE, ""), ("own: /opt/alpha/ompi, ", "")],
            "mine has no mpi 'Open MPI 4.1.4': give --level 'mpi=Open MPI 4.1.4:YOURS'",
        ),
    ],
)
def test_repeat__what_the_cluster_has_not_is_named(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: list[tuple[str, str]],
    why: str,
) -> None:
    """Of the two runs one is on two nodes with two ranks each. The only other library is not taken for it."""
    path = measured / "data/raw/c/runs/a-r01/run.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"nodes": 2, "ranks_per_node": 2}
    path.write_text(json.dumps(record), encoding="utf-8")
    manifest.write(measured / "data/raw/c", "c", force=True)
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    before = files(empty)
    status = cli.main([*ready(empty, *changes), str(crate)])
    said = capsys.readouterr()
    if "node" in why:  # the other run can be repeated
        assert status == 0
        assert f"left out: 1 run: {why}" in said.out
    else:
        assert status == 1
        assert f"c: 2 of 2 runs cannot be repeated; {why}" in said.err
        assert files(empty) == before


def test_repeat__run_whose_record_cannot_be_read_may_have_ended_well(measured: Path) -> None:  # noqa: F811
    """Its first attempt failed; of the second nothing is known."""
    raw = measured / "theirs/raw"
    shutil.copytree(measured / "data/raw/c", raw)
    good = raw / "runs/a-r01"
    shutil.copytree(good, raw / "runs/z-r01.failed-1")
    path = raw / "runs/z-r01.failed-1/run.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"exit_code": 1}))
    (raw / "runs/z-r01").mkdir()
    (raw / "runs/z-r01/run.json").write_text("{")
    _, left = repeat._runs(measured / "theirs", "crate.zip")
    assert left == {"its record cannot be read": 1}


def test_repeat__runs_that_never_ended_well_are_counted(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The good run's failed attempt is none of them; the two attempts of another run are one."""
    runs = measured / "data/raw/c/runs"
    for name in ("a-r01.failed-1", "z-r01.failed-1", "z-r01.failed-2"):
        shutil.copytree(runs / "a-r01", runs / name)
        path = runs / name / "run.json"
        record = json.loads(path.read_text(encoding="utf-8")) | {"run": name, "exit_code": 1}
        path.write_text(json.dumps(record), encoding="utf-8")
    manifest.write(measured / "data/raw/c", "c", force=True)
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    capsys.readouterr()
    assert cli.main([*ready(empty), str(crate)]) == 0
    assert "left out: 1 run: none of its attempts ended well\n" in capsys.readouterr().out


@pytest.mark.parametrize(("jobs", "left"), [(1, False), (2, True)])
def test_repeat__jobs_at_once_need_a_core_each_where_ranks_share_them(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    jobs: int,
    left: bool,
) -> None:
    """Two ranks of one job may share the only core of a node here; two jobs have no core for the second."""
    path = measured / "data/raw/c/runs/a-r01/run.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"ranks_per_node": 2, "concurrent_jobs": jobs}
    path.write_text(json.dumps(record), encoding="utf-8")
    manifest.write(measured / "data/raw/c", "c", force=True)
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    shared = ('["0-3", "4-7"]', '["0"]'), ("nodes: 4", "oversubscribe: true\n  nodes: 4")
    assert cli.main([*ready(empty, *shared), str(crate)]) == 0
    why = "left out: 1 run: mine has 1 core on a node for 4 ranks and threads"
    assert (why in capsys.readouterr().out) == left


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("title: x\nfacts: []\n", "config/clusters/mine.yaml: has no part 'launch'; say there how"),
        ("- x\n", "config/clusters/mine.yaml:1: the file: ['x'] is not of type 'object'; "),
        ("", "config/clusters/mine.yaml: is no cluster; "),
    ],
)
def test_repeat__a_cluster_that_starts_nothing_is_named(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    why: str,
) -> None:
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    path = empty / "config/clusters/mine.yaml"
    path.write_text(text, encoding="utf-8") if text else path.unlink()
    before = files(empty)
    assert cli.main(["repeat", str(crate), "--cluster", "mine", "--as", "again"]) == 1
    assert why in capsys.readouterr().err
    assert files(empty) == before


def test_repeat__runs_that_were_only_profiled_are_not_timed_here(
    measured: Path,  # noqa: F811
    empty: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And an application that is started otherwise here is named, with what differs."""
    for path in (measured / "data/raw/c/runs").glob("*/run.json"):
        record = json.loads(path.read_text(encoding="utf-8")) | {"profiler": "ipm", "timing": False}
        path.write_text(json.dumps(record), encoding="utf-8")
    manifest.write(measured / "data/raw/c", "c", force=True)
    crate = crate_of(measured, tmp_path)
    monkeypatch.chdir(empty)
    text = ALPHA.replace("--price", "--cost").replace("seconds: 10,", "seconds: 11,")
    (empty / "config/applications/alpha.yaml").write_text(text, encoding="utf-8")
    assert cli.main([*ready(empty), str(crate)]) == 0
    said = capsys.readouterr().out
    assert "took: your config/applications/alpha.yaml; the crate's differs in arguments, case 'small'" in said
    runs = expand(load("again", empty)).runs
    assert {(run.factors["profiler"], run.timed) for run in runs} == {("ipm", False)}


def test_repeat__of_published_figures_starts_nothing(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crate = tmp_path / "cloud.zip"
    monkeypatch.chdir(ROOT)
    assert cli.main(["export", "cloud-study", str(crate), "--published", "2026-11-30"]) == 0
    monkeypatch.chdir(empty)
    before = files(empty)
    assert cli.main(["repeat", str(crate)]) == 1
    assert "cloud.zip: has no record of a run: its figures were published" in capsys.readouterr().err
    assert files(empty) == before
