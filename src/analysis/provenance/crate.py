"""A campaign as an RO-Crate: its raw files with checksums, and each run as an action that made them.

The metadata follow RO-Crate 1.1 and its profile for runs of programs (Process Run Crate 0.5), so that
repositories and other people's tools can read what was measured, when, on what and by which command. The
archive is reproducible: the same raw files and declarations give the same bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rocrate.rocrate import ROCrate

from analysis.errors import ConfigError, Fault, ReadError
from analysis.provenance import manifest
from analysis.provenance.actions import RECORD, About, Reference, Tools, action, entity
from analysis.readers.base import read_bytes
from analysis.readers.run import records

METADATA = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"

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
    ".h5": "application/x-hdf5",
} | dict.fromkeys((".txt", ".out", ".err", ".log", ".mpip", ".sha256"), "text/plain")


def export(folder: Path, label: str, out: Path, about: About, *, force: bool = False) -> tuple[int, int]:
    """Write a campaign as a zipped RO-Crate.

    Parameters
    ----------
    folder : Path
        ``data/raw/<campaign>``, with its manifest.
    label : str
        What faults call it.
    out : Path
        The archive; appears only when it is whole.
    about : About
    force : bool, optional
        Replace a file that is there.

    Returns
    -------
    files, runs : int

    Raises
    ------
    ConfigError
        If the campaign does not agree with its manifest, no day of publication is known, or `out` is there
        already or lies among the raw files.
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
    metadata, runs = describe(files, label, about)
    try:
        _write(out, json.dumps(metadata, indent=1, sort_keys=True, ensure_ascii=False) + "\n", files)
    except OSError as error:
        raise ConfigError.at(str(out), 0, error.strerror or str(error), "choose another place") from error
    return len(files), runs


def describe(files: Mapping[str, Path], label: str, about: About) -> tuple[dict[str, Any], int]:
    """Make the metadata of a crate.

    Parameters
    ----------
    files : mapping of str to Path
        Path within the crate -> file.
    label : str
        What faults call the campaign.
    about : About

    Returns
    -------
    metadata : dict
        What ``ro-crate-metadata.json`` holds.
    runs : int
        Number of actions in it: run folders with a record that can be read.

    Raises
    ------
    ConfigError
        If no run says when it ended and no day of publication is given.
    """
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
    root["license"] = entity(
        crate, f"https://spdx.org/licenses/{about.licence}", "CreativeWork", about.licence
    )
    root["conformsTo"] = entity(crate, PROFILE, "CreativeWork", "Process Run Crate", version="0.5")
    root["additionalProperty"] = tools.property("evidence", about.evidence)
    root["mentions"] = actions
    metadata: dict[str, Any] = crate.metadata.generate()
    # The library keeps the order of its calls; by identifier a change of one run moves nothing else.
    metadata["@graph"].sort(key=lambda entity: (entity["@id"] not in (METADATA, "./"), entity["@id"]))
    return metadata, len(actions)


def _file(crate: Any, name: str, path: Path) -> Reference:
    properties = {
        "name": name.rpartition("/")[2],
        "contentSize": str(path.stat().st_size),
        "sha256": manifest.digest(path),
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
    new = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            archive.writestr(_member(METADATA), metadata)
            for name, path in sorted(files.items()):
                with path.open("rb") as source, archive.open(_member(name), "w") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        new.replace(out)
    finally:
        new.unlink(missing_ok=True)


def _member(name: str) -> zipfile.ZipInfo:
    """Describe a member without what differs between machines: time, owner, permissions."""
    info = zipfile.ZipInfo(name, _ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o100644 << 16
    return info
