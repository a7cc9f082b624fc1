"""docs/extend.md as a reader follows it: a format, a factor, a question and a meter, in a copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from .test_tutorial import as_printed

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/extend.md").read_text(encoding="utf-8")
PARTS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
# Where a block that no sentence gives a new file goes: the part -> the file, and what it is put before.
TABLES = {
    "Add a factor": ("src/analysis/schema/factors.py", ")  # fmt: skip\n"),
    "Add a question": ("config/questions.yaml", ""),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project whose source may be changed; its environment is that of the tests."""
    base = tmp_path_factory.mktemp("extend") / "project"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "config", "docs", "workflow"):
        shutil.copytree(ROOT / name, base / name, ignore=ignored)
    (base / "data/raw").mkdir(parents=True)
    for path in (ROOT / "data/raw").iterdir():
        (base / "data/raw" / path.name).symlink_to(path)
    for name in ("notebooks", "pyproject.toml", "environment.yml"):
        (base / name).symlink_to(ROOT / name)
    (base / ".venv").symlink_to(sys.prefix)
    return base


def shell(script: str, folder: Path) -> str:
    """Run a block with the source of the copy; return what it prints."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def add(part: str, said: str, block: str, folder: Path) -> None:
    """Put a block where the sentence before it, or the table of its part, has it."""
    named = re.findall(r"`((?:src|config)/[\w/.-]+\.\w+)`", said.strip().rpartition("\n")[2])
    file, end = TABLES.get(part) or (named[-1], None)
    path = folder / file
    if end is None:
        assert not path.exists()
        path.write_text(block, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    at = text.index(end) if end else len(text)
    row = indent(block.rstrip(), "    ") + ",\n" if path.suffix == ".py" else block
    path.write_text(text[:at] + row + text[at:], encoding="utf-8")


def follow(part: str, folder: Path) -> int:
    """Follow a part block by block; return how many there were."""
    printed, at, count = "", 0, 0
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", PARTS[part], re.DOTALL | re.MULTILINE):
        said, at, count = PARTS[part][at : found.start()], found.end(), count + 1
        if found[1] == "sh":
            printed = shell(found[2], folder)
        elif found[1] == "text":
            assert as_printed(found[2]).search(printed), f"shown:\n{found[2]}\nprinted:\n{printed}"
        else:
            add(part, said, found[2], folder)
    return count


QUESTIONS = """
from analysis.estimates.contents import load_config
print(*(page["name"] for page in load_config()["pages"] if page.get("campaign") == "governors"))
"""


@pytest.mark.slow
def test_extend__a_format_a_factor_a_question_and_a_meter(copy: Path) -> None:
    assert list(PARTS) == [
        "The example",
        "Add a format",
        "Add a factor",
        "Add a question",
        "Add a meter",
        "Test what you added",
    ]
    counts = [follow(part, copy) for part in ("The example", "Add a format", "Add a factor")]
    before = shell(f"{sys.executable} -c '{QUESTIONS}'", copy).split()
    counts += [follow(part, copy) for part in ("Add a question", "Add a meter")]
    after = shell(f"{sys.executable} -c '{QUESTIONS}'", copy).split()
    assert counts == [1, 3, 7, 1, 3]
    assert {"governors-findings", "governors-governor"} <= set(before)
    assert set(after) - set(before) == {"governors-steadiness"}
    assert shell(".venv/bin/benchbook verify governors", copy).startswith("governors: ")
