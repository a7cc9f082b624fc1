"""``benchbook repeat``: a campaign that repeats on your cluster what an RO-Crate was measured by."""

import errno
import json
import lzma
import os
import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import yaml

from analysis.base import models, project
from analysis.base.errors import ConfigError, Fault, ReadError
from analysis.base.files import RECORD, attempted, read_bytes, sha256, write_text
from analysis.base.words import counted
from analysis.cli import CAMPAIGN, FINE, pasteable
from analysis.cli.measure import cluster_file
from analysis.cli.new import refuse_there, written
from analysis.measure.draft import repeated
from analysis.provenance import manifest
from analysis.provenance.crate import METADATA, SOURCES
from analysis.readers.run import records, succeeded
from analysis.schema.applications import Application
from analysis.schema.campaigns import DEFAULTS
from analysis.schema.stated import section

# Variables by which a shell, a loader or an interpreter finds what it runs; values that begin with a path.
_OF_A_MACHINE = re.compile(r"^(LD_|PYTHON|PERL|SLURM|SBATCH|BASH_|ENV$|IFS$)|PATH")
_A_PATH = re.compile(r"(^|[^\w.])[~/]")
_MOST = 4 << 30  # B that a crate may expand to
_GIVE = "give a crate that benchbook export has written"
_AGAIN = "get the crate again from where it came from"
# Of names that cannot be those of files, such as a folder's that is a file's too.
_OF_NAMES = (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG)
# What the library raises for an archive that is damaged, encrypted or compressed in another way.
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)


def repeat(crate: str, *, cluster: str, name: str, levels: Sequence[str] | None) -> int:
    """Write the campaign that repeats a crate's runs, and the crate's own campaign if it is not here.

    Of a stranger's files those of the campaign and its applications are used, which hold names, numbers and
    arguments, and the variables of its runs; programs and paths are those of your cluster. `levels` are
    ``FACTOR=THEIRS:MINE``.
    """
    base = project.here()
    renamed = dict(map(_renamed, levels or ()))
    if cluster:
        cluster_file(cluster, base)
    with TemporaryDirectory(prefix=".repeat-", dir=base) as scratch:
        theirs = Path(scratch)
        source = _expand(crate, theirs)
        name = name or f"{source}-on-{cluster or 'mine'}"
        if not CAMPAIGN.fullmatch(name) or name == source:
            what = "is the crate's own campaign" if name == source else "is no name for a campaign"
            raise ConfigError.at(name, 0, what, "give another with --as")
        refuse_there(name, base)
        runs, left = _runs(theirs, crate)
        here = _is_here(theirs, source, base)
        made: list[Path] = []
        try:
            notes = _applications(theirs, base, {str(run["application"]) for run in runs}, made)
            if not here:
                _bring(theirs, source, base, made)
            variables = _variables(theirs, source, {str(run["application"]) for run in runs})
            out, others = repeated(name, source, runs, cluster, renamed, variables)
            written(name, out, base)
        except BaseException:
            for path in made:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            raise
    print("\n".join([*(f"wrote {path.relative_to(base)}" for path in made), *notes, out.report(base)]))
    for why, count in sorted((left + others).items()):
        print(f"left out: {counted(count, 'run')}: {why}")
    print(pasteable(f"then: benchbook plan {name}; measured: benchbook compare {source} {name}"))
    return FINE


def _renamed(text: str) -> tuple[tuple[str, str], str]:
    factor, _, rest = text.partition("=")
    theirs, colon, mine = rest.rpartition(":")
    if factor not in DEFAULTS or not (colon and mine):
        raise ConfigError.at("--level", 0, f"{text!r} is no level", "write FACTOR=THEIRS:MINE")
    return (factor, theirs), mine


def _expand(crate: str, folder: Path) -> str:
    """Expand a crate, check each of its files, and return the name of its campaign.

    The raw files are in the folder ``raw`` then, how they were measured in `SOURCES`.
    """
    raw = folder / "raw"
    try:
        with zipfile.ZipFile(crate) as archive:
            _refuse(archive, crate)
            archive.extractall(raw)
    except (*_DAMAGED, OSError) as error:
        code = getattr(error, "errno", None)
        if isinstance(error, ConfigError) or (code and code not in _OF_NAMES):
            raise  # ours, or the system's
        why = os.strerror(code) if code else error
        raise ConfigError.at(crate, 0, f"cannot be unpacked: {why}", _GIVE) from error
    graph, name = _described(raw / METADATA)
    if not CAMPAIGN.fullmatch(name):
        raise ConfigError.at(crate, 0, f"has no {METADATA} that names a campaign", _GIVE)
    (raw / METADATA).unlink()
    if (raw / SOURCES).exists():
        (raw / SOURCES).rename(folder / SOURCES)
    faults = [replace(fault, remedy=_AGAIN) for fault in manifest.check(raw, crate)[1]]
    if faults := [*faults, *_changed(folder, crate, graph)]:
        raise ConfigError(*faults)
    return name


def _refuse(archive: zipfile.ZipFile, crate: str) -> None:
    """Refuse an archive that would fill the disk or write elsewhere."""
    if sum(one.file_size for one in archive.infolist()) > _MOST:
        raise ConfigError.at(crate, 0, f"expands to more than {_MOST >> 30} GiB", "unpack it by hand")
    for member in archive.namelist():
        path = PurePosixPath(member)
        if path.is_absolute() or ".." in path.parts or "\\" in member:
            raise ConfigError.at(crate, 0, f"{member!r} is no path within it", "do not trust it")


def _described(metadata: Path) -> tuple[list[Any], str]:
    """Return the entities of a crate and the name of its campaign; empty without one."""
    try:
        graph = json.loads(metadata.read_bytes())["@graph"]
        return graph, str(next(one for one in graph if one.get("@id") == "./").get("identifier", ""))
    except (OSError, KeyError, ValueError, TypeError, AttributeError, StopIteration, RecursionError):
        return [], ""


def _changed(folder: Path, crate: str, graph: Sequence[Any]) -> list[Fault]:
    """Compare the files that say how it was measured, which no manifest names, with the crate's metadata."""
    entities = [one for one in graph if isinstance(one, dict) and one.get("sha256")]
    listed = {unquote(str(one.get("@id"))): one["sha256"] for one in entities}
    listed = {name: digest for name, digest in listed.items() if name.startswith(f"{SOURCES}/")}
    paths = [path for path in (folder / SOURCES).rglob("*") if path.is_file()]
    there = {path.relative_to(folder).as_posix(): sha256(path) for path in paths}
    names = sorted(name for name in listed.keys() | there.keys() if listed.get(name) != there.get(name))
    return [Fault(f"{crate}/{name}", 0, f"is not the file of {METADATA}", _AGAIN) for name in names]


def _is_here(theirs: Path, source: str, base: Path) -> bool:
    """Tell whether the crate's own campaign is here; refuse another of its name, which would be compared."""
    raw = project.raw(source, base)
    if not (raw.exists() or project.declaration(source, base).exists()):
        return False
    files = _entries(theirs / "raw")
    if missing := files - _entries(raw):
        what = f"is another campaign than the crate's: of its {counted(len(files), 'file')} of runs "
        what += f"{len(missing):,} are not the same here"
        raise ConfigError.at(f"data/raw/{source}", 0, what, "repeat the crate in another project")
    return True


def _entries(raw: Path) -> set[tuple[str, str]]:
    """Return the files of a campaign's runs by its manifest, each with its digest."""
    known, _ = manifest.read(raw, raw.name)
    return {(name, digest) for name, (digest, _) in known.items() if name.startswith("runs/")}


def _runs(theirs: Path, crate: str) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Read the records of the runs that ended well; count those that never did, or cannot be read."""
    found, left = [], Counter[str]()
    good, bad = set[str](), set[str]()
    paths = sorted((theirs / "raw" / "runs").glob(f"*/{RECORD}"))
    for path in paths:
        try:
            record, _ = records(read_bytes(path), str(path))
        except ReadError:
            left["its record cannot be read"] += 1
            good.add(path.parent.name)  # for all that is known
            continue
        if succeeded(record["exit_code"], json.loads(record["extra"])):
            found.append(record)
            good.add(path.parent.name)
        else:
            bad.add(attempted(path.parent.name) or path.parent.name)
    if failed := bad - good:
        left["none of its attempts ended well"] = len(failed)
    if not paths:
        what = "has no record of a run: its figures were published or computed"
        raise ConfigError.at(crate, 0, what, "nothing can be repeated by a command")
    if not found:
        raise ConfigError.at(crate, 0, "has no run that ended well", "nothing can be repeated")
    return found, left


def _variables(theirs: Path, source: str, names: set[str]) -> dict[str, Any]:
    """Return the variables that a crate's campaign, and its cluster for these applications, set for its runs.

    None that chooses programs or libraries, and no path: those are of your cluster.
    """
    config = theirs / SOURCES / "config"
    matrix = section(project.document(config / f"campaigns/{source}.yaml"), "matrix")
    launch = section(project.document(config / f"clusters/{matrix.get('cluster')}.yaml"), "launch")
    sites = [section(launch, "applications", name, "environment") for name in sorted(names)]
    given = {name: value for part in (*sites, section(matrix, "environment")) for name, value in part.items()}
    return {
        name: value
        for name, value in given.items()
        if not (_OF_A_MACHINE.search(str(name)) or _A_PATH.search(str(value)))
    }


def _applications(theirs: Path, base: Path, names: set[str], made: list[Path]) -> list[str]:
    """Write the files of applications that the crate has and this project has not; name those that differ."""
    notes = []
    for name in sorted(filter(CAMPAIGN.fullmatch, names)):
        place = f"config/applications/{name}.yaml"
        path, given = base / place, theirs / SOURCES / place
        if not given.is_file():
            continue
        if not path.exists():
            made.append(path)
            write_text(path, given.read_text(encoding="utf-8", errors="replace"))
            models.load(Application, path)
        elif differs := _differences(
            section(project.document(path), "launch"), section(project.document(given), "launch")
        ):
            notes.append(f"took: your {place}; the crate's differs in {', '.join(differs)}")
    return notes


def _differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Name what two files start an application by, where they differ; cases only where both have them."""
    names = sorted((mine.keys() | theirs.keys()) - {"cases"})
    found = [name for name in names if mine.get(name) != theirs.get(name)]
    cases, others = section(mine, "cases"), section(theirs, "cases")
    return found + [f"case {name!r}" for name in cases if others.get(name, cases[name]) != cases[name]]


def _bring(theirs: Path, source: str, base: Path, made: list[Path]) -> None:
    """Bring the crate's own campaign here, to be compared with."""
    raw, declaration = project.raw(source, base), project.declaration(source, base)
    raw.parent.mkdir(parents=True, exist_ok=True)
    made.append(raw)
    shutil.move(theirs / "raw", raw)
    # Its matrix names the cluster it was measured on, which is not here; its runs are.
    declared = project.document(theirs / SOURCES / f"config/campaigns/{source}.yaml")
    if content := {key: value for key, value in declared.items() if key != "matrix"}:
        made.append(declaration)
        write_text(declaration, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
