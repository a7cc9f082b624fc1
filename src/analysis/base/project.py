"""The project's folders and files: where things are.

Snakemake reads this module at every start: nothing slow is imported.
"""

import copy
import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.base.errors import ConfigError

if TYPE_CHECKING:
    from analysis.base.yaml import Where

CONFIG = Path("config/config.yaml")
PACKAGE = Path(__file__).parents[1]
READ = ("base", "schema", "readers", "energy", "model", "datasets")  # rooms that decide what a dataset holds
# What a build of all evidence leaves, when it was, and what it is made from beside the raw files.
_BUILT = ("data/processed/*/campaign.nc", "results/verdicts/**/*.json", "results/verdicts.json")
STAMP = Path("results", "logs", "evidence.built")
_SOURCES = ("config", "workflow", "src")


def code_files(room: Path) -> list[Path]:
    """List the files of a room or a module, those that are no Python too; `site/kernels` is its own room."""
    if room.is_file():
        return [room]
    out = {"__pycache__"} | ({"kernels"} if room.name == "site" else set())
    found = (path for path in room.rglob("*") if path.is_file())
    return sorted(path for path in found if not out & set(path.relative_to(room).parts))


def code_digest(package: Path, room: str) -> bytes:
    """Digest the names and the contents of the `code_files` of a room or a module of the package."""
    digest = hashlib.sha256()
    for path in code_files(package / room):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package)}\0{len(content)}\0".encode() + content)
    return digest.digest()


def root(start: str | Path | None = None) -> Path:
    """Find the nearest folder with ``config/config.yaml``, upwards from the working folder or this file.

    `ConfigError` if there is none.
    """
    starts = [Path(start)] if start is not None else [Path.cwd(), Path(__file__).parent]
    for first in starts:
        first = first.resolve()
        for folder in (first, *first.parents):
            if (folder / CONFIG).is_file():
                return folder
    remedy = "work in a Benchbook project; `benchbook init FOLDER` makes one"
    raise ConfigError.at(str(starts[0]), 0, f"no {CONFIG} here or above", remedy)


def here() -> Path:
    """Find the project of the working folder, for what writes files: never that of the package itself.

    `ConfigError` if there is none.
    """
    return root(Path.cwd())


def raw(campaign: str, base: Path | None = None) -> Path:
    """Return the folder of a campaign's raw files."""
    return (base or root()) / "data" / "raw" / campaign


def own_table(folder: Path) -> Path | None:
    """Return the table ``runs.csv`` that a raw folder has in place of runs; none with sources."""
    table = folder / "runs.csv"
    if not table.is_file() or (folder / "sources.csv").exists() or any((folder / "runs").glob("*")):
        return None
    return table


def truth(campaign: str, base: Path | None = None) -> Path:
    """Return the file that a synthetic campaign ``syn-<report>`` is built from; others have none."""
    return (base or root()) / "config" / "synthesis" / f"{campaign.removeprefix('syn-')}.yaml"


def processed(campaign: str, base: Path | None = None) -> Path:
    """Return the folder of a campaign's datasets."""
    return (base or root()) / "data" / "processed" / campaign


def claims(report: str, base: Path | None = None) -> Path:
    """Return the file that holds a report's claims."""
    return (base or root()) / "config" / "claims" / f"{report}.yaml"


def declaration(campaign: str, base: Path | None = None) -> Path:
    """Return the file that declares a campaign."""
    return (base or root()) / "config" / "campaigns" / f"{campaign}.yaml"


def load_yaml(path: str | Path) -> Any:
    """Read a YAML file; a ConfigError names the line of what is not YAML or of a key that is repeated."""
    from analysis.base.yaml import read

    return copy.deepcopy(read(str(path))[0])  # what was read stays as it was read


def document(path: Path) -> dict[str, Any]:
    """Return what a YAML file says; empty without one, or if it is no mapping."""
    found = load_yaml(path) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def line_of(path: str | Path, where: "Where") -> int:
    """Return the line of a value of a YAML file, or of what encloses it; 0 where there is neither."""
    from analysis.base.yaml import line_at, read

    return line_at(read(str(path))[1], where)


def commit(base: Path | None = None) -> str:
    """Return the commit that is checked out, with ``-dirty`` if tracked files differ; empty without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=base or root(), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""  # an unpacked archive is a project too
    return done.stdout.strip()


def date_of(commit: str) -> str:
    """Return the date of a commit as ``2026-03-01``; empty if git does not know it."""
    command = ["git", "show", "--no-patch", "--format=%cs", commit.removesuffix("-dirty") or "HEAD"]
    try:
        done = subprocess.run(command, cwd=root(), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def as_list(entry: Mapping[str, Any], singular: str) -> list[str]:
    """Return what a page names under ``campaign`` or ``campaigns`` (``report`` or ``reports``)."""
    names = entry.get(f"{singular}s", ())
    return [entry[singular]] if singular in entry else list(names)


@cache
def version() -> str:
    """Return the version of the package."""
    from importlib import metadata

    try:
        return metadata.version("benchbook")
    except metadata.PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"


def changed_since_build(base: Path) -> bool:
    """Tell whether a source of a project is younger than its last whole build, or an output is missing.

    Times of the file system count too: a copy or an installed release may keep old times of change.
    """
    stamp = base / STAMP
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != _outputs(base):
        return True
    since = stamp.stat().st_mtime_ns
    return any(max(one.st_mtime_ns, one.st_ctime_ns) > since for one in _sources(base))


def note_build(base: Path, since: int) -> None:
    """Note that all is built from sources as they were at a time, in ns since 1970."""
    stamp = base / STAMP
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(_outputs(base), encoding="utf-8")
    os.utime(stamp, ns=(since, since))


def _outputs(base: Path) -> str:
    return "\n".join(sorted(str(path.relative_to(base)) for one in _BUILT for path in base.glob(one)))


def _sources(base: Path) -> Iterator[os.stat_result]:
    data = [path for path in (base / "data").glob("*") if path.name != "processed"]
    for top in (*(base / name for name in _SOURCES), *data, PACKAGE):
        for folder, inside, files in os.walk(top, followlinks=True):
            inside[:] = [name for name in inside if name != "__pycache__"]
            for name in ("", *files):
                path = Path(folder, name)
                if path.exists():  # no link to nowhere
                    yield path.stat()
