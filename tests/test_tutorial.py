"""docs/tutorial.md as a reader follows it: every block runs in order in a clone, and prints what is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
PARTS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
START = TEXT.partition("\n## ")[0]
_NOT_THE_READER_S = ("PYTHONPATH", "MAKE", "MFLAGS", "SLURM_")


def shell(script: str, folder: Path) -> str:
    """Run a block and return what it prints to stdout; any command of it that fails is a failure."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        # As from a shell of one's own: a make that was started by another names its folders.
        env={key: value for key, value in os.environ.items() if not key.startswith(_NOT_THE_READER_S)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout + (done.stderr if "make campaign" in script else "")  # Snakemake's log is its output


def as_printed(shown: str) -> re.Pattern[str]:
    """Return what a shown output stands for: ``...`` is any text, within its line or over whole lines."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else r".*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in shown.splitlines()
    ]
    return re.compile("^" + "".join(lines), re.MULTILINE)


def follow(text: str, folder: Path) -> None:
    printed = ""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    for language, block in blocks:
        if language == "sh":
            printed = shell(block, folder)
        else:
            assert as_printed(block).search(printed), f"shown:\n{block}\nprinted:\n{printed}"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone of the files as they stand, with the environment of the tests: `make env` finds it.

    Its stamp is the clone's own and younger than the lock, so that nothing is installed anew.
    """
    base = tmp_path_factory.mktemp("tutorial")
    origin = base / "origin"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git repository: there is nothing to clone")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # else deleted and not yet committed
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, origin / name)
    identity = "-c user.name=test -c user.email=test@localhost -c commit.gpgsign=false"
    shell(f"git init -q && git add -f . && git {identity} commit -qm tutorial", origin)
    get, make = re.findall(r"^```sh\n(.*)\n(.*)\n```$", START, re.MULTILINE)[0]
    shell(get.replace("ADDRESS", str(origin)), base)
    place = base / "benchbook"
    (place / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name != ".stamp":
            (place / ".venv" / path.name).symlink_to(path)
    (place / ".venv/.stamp").touch()
    shell(make, place)
    return place


def test_as_printed__holds_lines_and_leaves_out_what_differs() -> None:
    printed = "a 1\nb 2\nc 3\n"
    assert as_printed("a ...\n...\nc 3\n").search(printed)
    assert as_printed("b 2\n").search(printed)
    for wrong in ("b\n", " 2\n", "a 1\nc 3\n", "c 3\n...\na 1\n", "a 1...c 3\n"):
        assert not as_printed(wrong).search(printed), wrong


def test_tutorial__has_these_parts() -> None:
    names = ["A report of this machine", "From a folder of outputs to slides", "After an upgrade"]
    assert list(PARTS) == names


@pytest.mark.slow
def test_tutorial__report_of_this_machine(clone: Path) -> None:
    if (ROOT / ".venv-mpi").is_dir():
        (clone / ".venv-mpi").symlink_to(ROOT / ".venv-mpi")
    ready = ["bash", "workflow/scripts/local_mpi.sh", ".venv/bin/python"]
    done = subprocess.run(ready, cwd=clone, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no MPI for this machine: {done.stderr.strip().splitlines()[-1]}")
    follow(PARTS["A report of this machine"], clone)


@pytest.mark.slow
def test_tutorial__folder_of_outputs_to_slides_and_after_an_upgrade(clone: Path) -> None:
    follow(PARTS["From a folder of outputs to slides"], clone)
    assert (clone / "results/site/october-findings.html").is_file()
    follow(PARTS["After an upgrade"], clone)
