"""Datasets brought up to date before a command reads them, without a build where nothing has changed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.models import load, named
from analysis.schema.campaigns import CampaignFile

_LINES = 12  # of a failed build that are repeated
# Where Snakemake was when it found a fault, and how far it had come.
_CHATTER = re.compile(r"WorkflowError in |\s+File \"|\d+ of \d+ steps$")


def built(names: Sequence[str]) -> None:
    """Bring the datasets of campaigns up to date, ``data/processed/<name>/campaign.nc``.

    Snakemake is asked only where a source is younger than the dataset, or than the last time that it found
    nothing to do. `ConfigError` if there is no such campaign, or its datasets cannot be built.
    """
    base = project.root()
    for name in names:
        load(CampaignFile, named(project.declaration(name, base), "campaign"))
    late = [name for name in names if _outdated(name, base)]
    if not late:
        return
    trees = [project.processed(name, base) / "campaign.nc" for name in late]
    before = [_changed(path) for path in trees]
    print(f"checking whether the datasets of {', '.join(late)} are up to date", file=sys.stderr)
    targets = [os.path.relpath(path, base) for path in trees]
    script = base / "workflow" / "scripts" / "snakemake_local.py"
    command = [sys.executable, str(script), "--cores", "2", "--one-line", "--show-failed-logs"]
    done = subprocess.run(
        [*command, "--rerun-incomplete", "--", *targets], cwd=base, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        print(*[one for one in lines if not _CHATTER.match(one)][-_LINES:], sep="\n", file=sys.stderr)
        remedy = "see above, and `benchbook verify` for its raw files"
        raise ConfigError.at(f"data/raw/{late[0]}", 0, "could not be made into datasets", remedy)
    if made := [name for name, path, at in zip(late, trees, before, strict=True) if _changed(path) != at]:
        print(f"built the datasets of {', '.join(made)}", file=sys.stderr)
    for name in late:
        stamp = _stamp(name, base)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()


def _stamp(name: str, base: Path) -> Path:
    return base / "results" / "logs" / "ingest" / f"{name}.checked"


def _changed(path: Path) -> int:
    """Return when a file was written, in ns; 0 if it is not there."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def _outdated(name: str, base: Path) -> bool:
    tree = project.processed(name, base) / "campaign.nc"
    if not tree.is_file():
        return True
    times = [path.stat().st_mtime for path in (tree, _stamp(name, base)) if path.is_file()]
    return any(path.stat().st_mtime > max(times) for path in _sources(name, base))


def _sources(name: str, base: Path) -> Iterator[Path]:
    yield project.declaration(name, base)
    yield from (base / "config" / "applications").glob("*.yaml")
    yield from (base / "config" / "model").rglob("*.yaml")
    raw = project.raw(name, base)
    yield from (path for path in (raw, *raw.rglob("*")) if path.exists())
    for room in project.READ:
        yield from project.code_files(project.PACKAGE / room)
