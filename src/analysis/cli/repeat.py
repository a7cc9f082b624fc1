"""``benchbook repeat``: a campaign that repeats on your cluster what an RO-Crate was measured by."""

import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from analysis.base import models, project
from analysis.base.errors import ConfigError, ReadError
from analysis.base.files import RECORD, write_text
from analysis.cli import CAMPAIGN, FINE, pasteable
from analysis.cli.new import written
from analysis.measure.draft import repeated
from analysis.provenance import manifest
from analysis.provenance.crate import METADATA, SOURCES
from analysis.readers.run import ended_well, records
from analysis.schema.applications import Application
from analysis.schema.campaigns import DEFAULTS
from analysis.schema.stated import section

# Variables by which a shell, a loader or an interpreter finds what it runs; values that begin with a path.
_OF_A_MACHINE = re.compile(r"^(LD_|PYTHON|PERL|SLURM|SBATCH|BASH_|ENV$|IFS$)|PATH")
_A_PATH = re.compile(r"(^|[^\w.])[~/]")
_MOST = 4 << 30  # B that a crate may expand to


def repeat(crate: str, *, cluster: str, name: str, levels: Sequence[str] | None) -> int:
    """Write the campaign that repeats a crate's runs, and the crate's own campaign if it is not here.

    Of a stranger's files those of the campaign and its applications are used, which hold names, numbers and
    arguments, and the variables of its runs; programs and paths are those of your cluster. `levels` are
    ``FACTOR=THEIRS:MINE``.
    """
    base = project.here()
    renamed = dict(map(_renamed, levels or ()))
    try:
        with zipfile.ZipFile(crate) as archive:
            return _repeat(archive, crate, base, cluster, name, renamed)
    except (OSError, zipfile.BadZipFile) as error:
        raise ConfigError.at(
            crate, 0, str(error), "give a crate that benchbook export has written"
        ) from error


def _repeat(
    archive: zipfile.ZipFile,
    crate: str,
    base: Path,
    cluster: str,
    name: str,
    renamed: Mapping[tuple[str, str], str],
) -> int:
    source = _name_of(archive, crate)
    name = name or f"{source}-on-{cluster or 'mine'}"
    if not CAMPAIGN.fullmatch(name):
        raise ConfigError.at(name, 0, "is no name for a campaign", "give another with --as")
    runs = list(_runs(archive, crate))
    made: list[Path] = []
    try:
        made += _applications(archive, base, {str(run["application"]) for run in runs})
        made += _unpack(archive, crate, source, base)
        variables = _variables(archive, source, {str(run["application"]) for run in runs})
        out, left = repeated(name, source, runs, cluster, renamed, variables)
        written(name, out, base)
    except ConfigError:
        for path in made:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        raise
    print("\n".join([*(f"wrote {path.relative_to(base)}" for path in made), out.report(base)]))
    for why, count in sorted(left.items()):
        print(f"left out: {count} run{'s' * (count != 1)}: {why}")
    print(pasteable(f"then: benchbook plan {name}; measured: benchbook compare {source} {name}"))
    return FINE


def _renamed(text: str) -> tuple[tuple[str, str], str]:
    factor, _, rest = text.partition("=")
    theirs, colon, mine = rest.rpartition(":")
    if factor not in DEFAULTS or not (colon and mine):
        raise ConfigError.at("--level", 0, f"{text!r} is no level", "write FACTOR=THEIRS:MINE")
    return (factor, theirs), mine


def _name_of(archive: zipfile.ZipFile, crate: str) -> str:
    """Return the name of a crate's campaign; refuse what is no crate, or would fill the disk."""
    if sum(one.file_size for one in archive.infolist()) > _MOST:
        raise ConfigError.at(crate, 0, f"expands to more than {_MOST >> 30} GiB", "unpack it by hand")
    try:
        graph = json.loads(archive.read(METADATA))["@graph"]
        name = str(next(one for one in graph if one.get("@id") == "./").get("identifier", ""))
    except (KeyError, ValueError, TypeError, AttributeError, StopIteration, RecursionError):
        name = ""
    if not CAMPAIGN.fullmatch(name):
        what = f"has no {METADATA} that names a campaign"
        raise ConfigError.at(crate, 0, what, "give a crate that benchbook export has written")
    return name


def _runs(archive: zipfile.ZipFile, crate: str) -> Iterator[dict[str, Any]]:
    """Read the records of the runs that ended well."""
    for member in archive.namelist():
        parts = member.split("/")
        if len(parts) == 3 and parts[0] == "runs" and parts[2] == RECORD:
            try:
                record, _ = records(archive.read(member), f"{crate}/{member}")
            except ReadError:
                continue
            extra = json.loads(record["extra"])
            if ended_well(record["exit_code"], extra) and not extra.get("reason"):
                yield record


def _variables(archive: zipfile.ZipFile, source: str, names: set[str]) -> dict[str, Any]:
    """Return the variables that a crate's campaign, and its cluster for these applications, set for its runs.

    None that chooses programs or libraries, and no path: those are of your cluster.
    """
    matrix = section(_document(archive, f"campaigns/{source}.yaml"), "matrix")
    launch = section(_document(archive, f"clusters/{matrix.get('cluster')}.yaml"), "launch")
    sites = [section(launch, "applications", name, "environment") for name in sorted(names)]
    given = {name: value for part in (*sites, section(matrix, "environment")) for name, value in part.items()}
    return {
        name: value
        for name, value in given.items()
        if not (_OF_A_MACHINE.search(str(name)) or _A_PATH.search(str(value)))
    }


def _document(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """Return what a file of the configuration in a crate says; empty without one."""
    try:
        found = yaml.safe_load(archive.read(f"{SOURCES}/config/{name}"))
    except (KeyError, ValueError, yaml.YAMLError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _applications(archive: zipfile.ZipFile, base: Path, names: set[str]) -> list[Path]:
    """Write the files of applications that the crate has and this project has not."""
    made = []
    for name in sorted(filter(CAMPAIGN.fullmatch, names)):
        path, member = base / f"config/applications/{name}.yaml", f"{SOURCES}/config/applications/{name}.yaml"
        if path.exists() or member not in archive.namelist():
            continue
        write_text(path, archive.read(member).decode(errors="replace"))
        try:
            models.load(Application, path)
        except ConfigError:
            path.unlink()
            raise
        made.append(path)
    return made


def _unpack(archive: zipfile.ZipFile, crate: str, source: str, base: Path) -> list[Path]:
    """Bring the crate's own campaign here, to be compared with, unless one of its name is here."""
    raw, declaration = project.raw(source, base), project.declaration(source, base)
    if raw.exists() or declaration.exists():
        return []
    for member in archive.namelist():
        path = PurePosixPath(member)
        if path.is_absolute() or ".." in path.parts or "\\" in member:
            raise ConfigError.at(crate, 0, f"{member!r} is no path within it", "do not trust it")
    for member in archive.namelist():
        if not member.endswith("/") and member != METADATA and not member.startswith(f"{SOURCES}/"):
            target = raw / member
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(member))
    if faults := manifest.check(raw, f"data/raw/{source}")[1]:
        shutil.rmtree(raw)
        raise ConfigError(*faults)
    member = f"{SOURCES}/config/campaigns/{source}.yaml"
    if member not in archive.namelist():
        return [raw]
    write_text(declaration, archive.read(member).decode(errors="replace"))
    # Its matrix names the cluster it was measured on, which is not here; its runs are.
    content = {key: value for key, value in project.load_yaml(declaration).items() if key != "matrix"}
    write_text(declaration, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return [raw, declaration]
