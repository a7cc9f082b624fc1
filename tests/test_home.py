"""A project of one's own: `benchbook init`, a build from a wheel, and a newer release without a merge."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from analysis import cli
from benchbook import home

ROOT = Path(__file__).parents[1]
RUNS = ("001", "005", "007", "008", "011", "012", "016")


def test_init__the_next_command_is_found_from_the_new_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / ".venv/bin/benchbook"
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert cli.main(["init", "mine"]) == 0
    assert f"\n  {program} import FOLDER --as NAME    # or: {program} new-camp" in capsys.readouterr().out


def test_init__writes_a_project_and_refuses_a_folder_with_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["init", str(tmp_path / "mine")]) == 0
    base = tmp_path / "mine"
    assert "benchbook import FOLDER --as NAME" in capsys.readouterr().out
    assert not any((base / name).is_symlink() for name in ("config/config.yaml", "slurm/config.yaml"))
    assert (base / "notebooks/00-start.ipynb").readlink() == home.share("notebooks/00-start.ipynb")
    assert (base / "config/claims/lsdyna2014.yaml").is_symlink()
    assert not (base / "config/claims/house.yaml").exists()  # claims of the repository's own campaign
    kept = tmp_path / "full"
    kept.mkdir()
    (kept / "thesis.tex").write_text("five years")
    assert cli.main(["init", str(kept)]) == 1
    assert "full: is not empty; give a new folder; nothing was changed" in capsys.readouterr().err
    assert [path.name for path in kept.iterdir()] == ["thesis.tex"]


def test_link__a_release_changes_its_links_and_no_file_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = home.init(tmp_path / "mine")
    own = base / "notebooks/50-mpi-time.ipynb"
    own.unlink()
    own.write_text("mine")
    gone = base / "notebooks/99-gone.ipynb"
    gone.symlink_to(tmp_path / "no-longer-there")
    newer = tmp_path / "newer"
    (newer / "notebooks").mkdir(parents=True)
    for name in ("50-mpi-time.ipynb", "51-new.ipynb", "00-start.ipynb"):
        (newer / "notebooks" / name).write_text("newer")
    monkeypatch.setattr(home, "share", lambda path="": newer / path)
    changed = home.link(base)
    assert [path.name for path in changed] == ["00-start.ipynb", "51-new.ipynb"]
    assert own.read_text() == "mine"
    assert (base / "notebooks/00-start.ipynb").read_text() == "newer"
    assert not gone.is_symlink()
    assert home.link(base) == []


def test_init__a_makefile_of_an_earlier_release_follows_the_installed_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = home.init(tmp_path / "mine")
    makefile, now = base / "Makefile", (base / "Makefile").read_text()
    targets = (base / home.TARGETS).read_text().partition("\n")[2]
    old = "# `make report` builds results/site/index.html, `make lab` opens the notebooks.\n" + targets
    makefile.write_text(old)
    assert cli.main(["init", str(base)]) == 0
    assert makefile.read_text() == now
    assert capsys.readouterr().out == f"{base}: the links are those of the installed Benchbook\n"
    # What a user changed stays, and the user is told.
    makefile.write_text(old + "\nmine:\n")
    assert cli.main(["init", str(base)]) == 0
    assert makefile.read_text() == old + "\nmine:\n"
    assert "Makefile is yours: to follow each release, let it `include workflow" in capsys.readouterr().out
    # One that is gone is written again.
    makefile.unlink()
    capsys.readouterr()
    assert cli.main(["init", str(base)]) == 0
    assert capsys.readouterr().out == f"{base}: the links are those of the installed Benchbook\n"
    assert makefile.read_text() == now
    # Its targets are those of the release; without the links it says what to do.
    plan = subprocess.run(("make", "-n", "lab"), cwd=base, capture_output=True, text=True, check=True).stdout
    assert "--if-changed --cores all --one-line --whole --ri evidence" in plan
    (base / home.TARGETS).unlink()
    broken = subprocess.run(("make", "report"), cwd=base, capture_output=True, text=True, check=False)
    assert broken.returncode == 2
    assert "the links to Benchbook are broken: run benchbook init ." in broken.stdout.splitlines()


def test_link__leaves_the_repository_alone() -> None:
    assert home.link(ROOT) == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(release: Path, base: Path, *command: str) -> str:
    """Run a command with a release that was unpacked; it comes before the repository's own package."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=base, text=True, capture_output=True,
        env=os.environ | {"PYTHONPATH": str(release), "PATH": path, "PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def digests(base: Path) -> dict[str, str]:
    """Checksums of the user's files."""
    found = (path for path in sorted(base.rglob("*")) if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(base)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.relative_to(base).parts[0] not in ("results", ".snakemake") and "processed" not in path.parts
    }


@pytest.mark.slow
def test_wheel__a_project_imports_reports_and_takes_a_newer_release_as_it_is(
    wheel: Path, tmp_path: Path
) -> None:
    release = unpacked(wheel, tmp_path / "release")
    outputs = tmp_path / "outputs"
    for name in RUNS:
        (outputs / name).mkdir(parents=True)
        for path in (ROOT / "data/raw/vm-hpcg/runs" / name).glob("HPCG-Benchmark*.txt"):
            (outputs / name / path.name).write_bytes(path.read_bytes())
    benchbook = (sys.executable, "-m", "analysis.cli")
    run(release, tmp_path, *benchbook, "init", "mine")
    base = tmp_path / "mine"
    where = run(release, base, sys.executable, "-c", "import analysis; print(analysis.__file__)")
    assert where.startswith(str(release))
    run(release, base, *benchbook, "import", str(outputs), "--as", "october", "--yes")
    run(release, base, "make", "report")
    index = (base / "results/site/index.html").read_text()
    assert "october" in index
    assert (base / "results/site/october-holdings.html").is_file()
    assert (base / "results/site/docs/measure.html").is_file()
    mine = digests(base)
    # A newer release has another notebook and says something else in an old one.
    newer = unpacked(wheel, tmp_path / "newer")
    notebook = newer / "benchbook/share/notebooks/14-holdings.ipynb"
    text = notebook.read_text(encoding="utf-8")
    words = "This page lists every run of the campaign"
    assert words in text
    notebook.write_text(text.replace(words, "A newer page lists every run of it"), encoding="utf-8")
    run(newer, base, "make", "report")
    assert "A newer page lists every run of it" in (base / "results/site/october-holdings.html").read_text()
    assert digests(base) == mine
    # Built again, nothing changes.
    before = (base / "results/site/index.html").stat().st_mtime_ns
    run(newer, base, "make", "report")
    assert (base / "results/site/index.html").stat().st_mtime_ns == before
