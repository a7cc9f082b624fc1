"""A campaign as an RO-Crate: each run as an action, with its program, machine and parameters."""

import contextlib
import json
import os
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from analysis.base.errors import ConfigError, Fault, ReadError
from analysis.base.files import RECORD, read_bytes, replacing, sha256
from analysis.provenance import manifest
from analysis.readers.run import records

METADATA = "ro-crate-metadata.json"
# Each run is an execution of a program; what Benchbook's workflow has measured is one of the workflow, too.
PROCESS = {"https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5")}
WORKFLOW = {
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
# What the campaign was measured by lies in the crate under this folder: declarations, workflow.
SOURCES = "benchbook"
SNAKEFILE = f"{SOURCES}/workflow/Snakefile"
_SNAKEMAKE = "https://snakemake.github.io"
# The earliest time that a zip archive can hold.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_FORMATS = {
    ".json": "application/json",
    ".xml": "application/xml",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".xz": "application/x-xz",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
    ".bz2": "application/x-bzip2",
    ".h5": "application/x-hdf5",
} | dict.fromkeys((".txt", ".out", ".err", ".log", ".mpip", ".sha256"), "text/plain")

# Values of a record that an action has properties for; the rest are its parameters.
_ACTION = {"run", "campaign", "evidence", "application", "cluster", "command", "start", "end", "elapsed"}
_ACTION |= {"exit_code", "extra", "node_list", "job_id"}

# Property of a crate -> key in a record.
_FINGERPRINT = {"sha256": "sha256", "contentSize": "bytes"}

Reference = dict[str, str]


@dataclass(frozen=True)
class About:
    """The crate's description of the campaign as a whole."""

    name: str
    title: str
    description: str
    evidence: str
    licence: str  # SPDX identifier
    published: str = ""  # YYYY-MM-DD; by default the day on which the last run ended
    hardware: str = ""  # one line; describes clusters that have no facts
    # Facts of each cluster: what, value, source.
    clusters: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    applications: Mapping[str, str] = field(default_factory=dict)  # name -> title
    # Files that say how it was measured, by their paths in the project.
    sources: Mapping[str, Path] = field(default_factory=dict)
    version: str = ""  # of Benchbook


def entity(crate: Any, identifier: str, kind: str, name: str, /, **properties: Any) -> Reference:
    """Add a contextual entity once, and return a reference to it."""
    if identifier not in crate:  # `get` would look through all entities
        crate.add(ContextEntity(crate, identifier, {"@type": kind, "name": name, **properties}))
    return {"@id": identifier}


class Tools:
    """Entities that the runs share: programs, machines, values of factors."""

    def __init__(self, crate: Any, about: About) -> None:
        self._crate = crate
        self._about = about

    def application(self, name: str) -> Reference:
        """Return the program that ran."""
        title = self._about.applications.get(name, name)
        declared = f"{SOURCES}/config/applications/{name}.yaml"
        more = {"subjectOf": {"@id": declared}} if declared in self._crate else {}
        return entity(self._crate, _identifier("application", name), "SoftwareApplication", title, **more)

    def cluster(self, name: str) -> Reference:
        """Return the machine that it ran on, with the facts that are known of it."""
        facts = self._about.clusters.get(name, ())
        properties: dict[str, Any] = {"description": self._about.hardware}
        if facts:
            properties["additionalProperty"] = [
                self.property(str(fact["what"]), fact["value"], owner=name, source=str(fact["source"]))
                for fact in facts
            ]
        return entity(self._crate, _identifier("cluster", name), "IndividualProduct", name, **properties)

    def machine(self, name: str) -> Reference:
        """Return a parameter of a run that names its machine, which is no program and so no instrument."""
        where = {"valueReference": self.cluster(name)}
        return entity(self._crate, _identifier("on", name), "PropertyValue", "cluster", value=name, **where)

    def property(self, name: str, value: Any, *, owner: str = "", source: str = "") -> Reference:
        """Return a named value."""
        identifier = _identifier(*(part for part in (owner, name, str(value)) if part))
        more = {"description": f"source: {source}"} if source else {}
        return entity(self._crate, identifier, "PropertyValue", name, value=value, **more)

    def input(self, path: str, facts: Mapping[str, Any]) -> Reference:
        """Return a file that a run was given and the campaign does not contain, such as its program."""
        more = {key: str(facts[name]) for key, name in _FINGERPRINT.items() if facts.get(name) is not None}
        return entity(self._crate, _identifier("input", path, *more.values()), "CreativeWork", path, **more)


def _identifier(*parts: str) -> str:
    return "#" + "/".join(quote(part, safe="") for part in parts)


def action(
    crate: Any, run: str, record: Mapping[str, Any], files: Mapping[str, Reference], tools: Tools
) -> Reference:
    """Describe one run: the command, its inputs, its outputs (files of its folder), how it ended."""
    extra = json.loads(record["extra"])
    error = _error(record["exit_code"], extra.get("reason"))
    properties: dict[str, Any] = {
        "description": record["command"],
        "startTime": _time(record["start"]),
        "endTime": _time(record["end"]),
        "instrument": tools.application(record["application"]),
        "object": [tools.machine(record["cluster"])]
        + [tools.property(name, value) for name, value in sorted(_parameters(record).items())]
        + [tools.input(path, facts) for path, facts in sorted(_inputs(extra).items())],
        "result": [reference for name, reference in files.items() if name != RECORD],
        "subjectOf": files[RECORD],
        "actionStatus": f"http://schema.org/{'Failed' if error else 'Completed'}ActionStatus",
        "error": error,
        "identifier": record["job_id"] and f"Slurm job {record['job_id']}",
    }
    given = {key: value for key, value in properties.items() if value not in ("", [])}
    return entity(crate, _identifier("run", run), "CreateAction", f"run {run}", **given)


def _error(code: int, reason: Any) -> str:
    """Return why a run failed, by the job's own record; empty if it did not."""
    if reason and isinstance(reason, str):
        return reason
    if code < 0:
        return "no exit code was recorded"
    return f"exit code {code}" if code else ""


def _inputs(extra: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return path -> fingerprint of the program and the input files, where the record has them."""
    given = extra.get("input_files")
    found = dict(given) if isinstance(given, dict) else {}
    program = extra.get("binary")
    if isinstance(program, dict) and isinstance(program.get("path"), str):
        found[program["path"]] = program
    return {path: facts for path, facts in found.items() if isinstance(facts, dict)}


def _parameters(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the factors that the record gives."""
    blank: tuple[Any, ...] = ("", -1)
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in record.items()
        if name not in _ACTION
        and not isinstance(value, np.datetime64)
        and value not in blank
        and value == value
    }


def _time(time: np.datetime64) -> str:
    return "" if np.isnat(time) else f"{np.datetime_as_string(time, unit='ms')}Z"


def export(folder: Path, label: str, out: Path, about: About, *, force: bool = False) -> tuple[int, int]:
    """Write a campaign with its manifest as a zipped RO-Crate; return how many files and runs are in it.

    The archive appears only when it is whole. `ConfigError` if the campaign does not agree with its manifest,
    no day of publication is known, or `out` lies among the raw files or, without `force`, is there already.
    """
    if os.path.lexists(out) and not force:
        raise ConfigError.at(str(out), 0, "exists already", "choose another name, or --force")
    if out.resolve().is_relative_to(folder.resolve()):
        raise ConfigError.at(str(out), 0, "lies among the raw files", "write it elsewhere")
    faults = manifest.check(folder, label)[1]
    files = manifest.scan(folder, label).files
    if METADATA in files:
        faults.append(Fault(f"{label}/{METADATA}", 0, "has the name of the crate's own file", "rename it"))
    if faults:
        raise ConfigError(*faults)
    files[manifest.NAME] = folder / manifest.NAME
    if taken := [name for name in files if name.partition("/")[0] == SOURCES]:
        what = f"lies where the crate keeps how it was measured ({SOURCES}/)"
        raise ConfigError.at(f"{label}/{taken[0]}", 0, what, "rename it")
    files |= {f"{SOURCES}/{name}": path for name, path in about.sources.items()}
    metadata, runs = describe(files, label, about)
    try:
        _write(out, json.dumps(metadata, indent=1, sort_keys=True, ensure_ascii=False) + "\n", files)
    except OSError as error:
        raise ConfigError.at(str(out), 0, error.strerror or str(error), "choose another place") from error
    return len(files) - len(about.sources), runs


def describe(files: Mapping[str, Path], label: str, about: About) -> tuple[dict[str, Any], int]:
    """Make the metadata of a crate of files by their paths in it; return it and its number of actions."""
    crate = ROCrate(version="1.1")
    # RO-Crate 1.1 stands on a schema.org without this property.
    crate.metadata.extra_terms["sha256"] = "https://schema.org/sha256"
    made: dict[str, dict[str, Reference]] = defaultdict(dict)
    for name, path in sorted(files.items()):
        parts = name.split("/", 2)
        run = parts[1] if len(parts) == 3 and parts[0] == "runs" else ""
        made[run][parts[-1]] = _file(crate, name, path)
    runs = _records(files, label)
    tools = Tools(crate, about)
    actions = [action(crate, run, record, made[run], tools) for run, record in sorted(runs.items())]
    ends = [str(record["end"])[:10] for record in runs.values() if not np.isnat(record["end"])]
    published = about.published or max(ends, default="")
    if not published:
        raise ConfigError.at(label, 0, "no run says when it ended", "give the day with --published")
    root = crate.root_dataset
    root["identifier"] = about.name
    root["name"] = about.title
    root["description"] = about.description
    root["datePublished"] = published
    licence = f"https://spdx.org/licenses/{about.licence}"
    root["license"] = entity(crate, licence, "CreativeWork", about.licence)
    root["additionalProperty"] = tools.property("evidence", about.evidence)
    profiles = PROCESS
    if SNAKEFILE in files:
        profiles = PROCESS | WORKFLOW
        actions = [_workflow(crate, files, about, runs), *actions]
    root["conformsTo"] = [
        entity(crate, profile, "CreativeWork", name, version=version)
        for profile, (name, version) in profiles.items()
    ]
    root["mentions"] = actions
    metadata: dict[str, Any] = crate.metadata.generate()
    # The library keeps the order of its calls; by identifier a change of one run moves nothing else.
    metadata["@graph"].sort(key=lambda entity: (entity["@id"] not in (METADATA, "./"), entity["@id"]))
    return metadata, len(runs)


def _workflow(
    crate: Any, files: Mapping[str, Path], about: About, runs: Mapping[str, Mapping[str, Any]]
) -> Reference:
    """Describe the workflow as the crate's main entity, and that it was executed: from first to last run."""
    language = entity(
        crate, "#snakemake", "ComputerLanguage", "Snakemake", identifier={"@id": _SNAKEMAKE},
        url={"@id": _SNAKEMAKE},
    )  # fmt: skip
    entity(crate, _SNAKEMAKE, "WebSite", "Snakemake")
    snakefile = crate.get(SNAKEFILE)
    snakefile._jsonld["@type"] = ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    snakefile["name"] = "Benchbook's workflow: measure"
    snakefile["programmingLanguage"] = language
    snakefile["version"] = about.version
    others = [name for name in sorted(files) if name.startswith(f"{SOURCES}/workflow/") and name != SNAKEFILE]
    snakefile["hasPart"] = [{"@id": quote(name)} for name in others]
    crate.root_dataset["mainEntity"] = {"@id": SNAKEFILE}
    moments = [record[name] for record in runs.values() for name in ("start", "end")]
    times = sorted(time for time in moments if not np.isnat(time))
    properties: dict[str, Any] = {
        "instrument": {"@id": SNAKEFILE},
        "object": [{"@id": quote(name)} for name in sorted(files) if name.startswith(f"{SOURCES}/config/")],
        "result": [{"@id": quote(name)} for name in (manifest.NAME, "sacct.txt") if name in files],
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    if times:
        properties |= {"startTime": _time(times[0]), "endTime": _time(times[-1])}
    return entity(crate, "#workflow-run", "CreateAction", f"measured {about.name}", **properties)


def _file(crate: Any, name: str, path: Path) -> Reference:
    properties = {
        "name": name.rpartition("/")[2],
        "contentSize": str(path.stat().st_size),
        "sha256": sha256(path),
    }
    if path.suffix.lower() in _FORMATS:
        properties["encodingFormat"] = _FORMATS[path.suffix.lower()]
    return {"@id": crate.add_file(path, name, properties=properties).id}


def _records(files: Mapping[str, Path], label: str) -> dict[str, dict[str, Any]]:
    """Read the records that can be read; ``benchbook verify`` names the others."""
    found = {}
    for name, path in files.items():
        parts = name.split("/")
        if len(parts) == 3 and parts[0] == "runs" and parts[2] == RECORD:
            with contextlib.suppress(ReadError):
                found[parts[1]] = records(read_bytes(path), f"{label}/{name}")[0]
    return found


def _write(out: Path, metadata: str, files: Mapping[str, Path]) -> None:
    with (
        replacing(out) as beside,
        zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
    ):
        archive.writestr(_member(METADATA), metadata)
        for name, path in sorted(files.items()):
            with path.open("rb") as source, archive.open(_member(name), "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def _member(name: str) -> zipfile.ZipInfo:
    """Describe a member without what differs between machines: time, owner, permissions."""
    info = zipfile.ZipInfo(name, _ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o100644 << 16
    return info
