"""The parts of a campaign's RO-Crate: each run as an action, with its program, machine and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
from rocrate.model.contextentity import ContextEntity

RECORD = "run.json"

# Of a record, what an action says in words of its own; the rest are its parameters.
_ACTION = {"run", "campaign", "evidence", "application", "cluster", "command", "start", "end", "elapsed"}
_ACTION |= {"exit_code", "extra", "node_list", "job_id"}

# Property of a crate -> key in a record.
_FINGERPRINT = {"sha256": "sha256", "contentSize": "bytes"}

Reference = dict[str, str]


@dataclass(frozen=True)
class About:
    """What the crate says of the campaign as a whole.

    Attributes
    ----------
    name, title, description : str
    evidence : str
        Evidence class.
    licence : str
        SPDX identifier.
    published : str
        Day, ``YYYY-MM-DD``; by default the one on which the last run ended.
    hardware : str
        One line; describes clusters that have no facts.
    clusters : mapping of str to sequence of mapping
        Facts of each cluster: ``what``, ``value``, ``source``.
    applications : mapping of str to str
        Name -> title.
    """

    name: str
    title: str
    description: str
    evidence: str
    licence: str
    published: str = ""
    hardware: str = ""
    clusters: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    applications: Mapping[str, str] = field(default_factory=dict)


def entity(crate: Any, identifier: str, kind: str, name: str, /, **properties: Any) -> Reference:
    """Add a contextual entity once, and return a reference to it."""
    if identifier not in crate:  # `get` would look through all entities
        crate.add(ContextEntity(crate, identifier, {"@type": kind, "name": name, **properties}))
    return {"@id": identifier}


class Tools:
    """What the runs share: programs, machines, values of factors; each one entity."""

    def __init__(self, crate: Any, about: About) -> None:
        self._crate = crate
        self._about = about

    def application(self, name: str) -> Reference:
        """Return the program that ran."""
        title = self._about.applications.get(name, name)
        return entity(self._crate, _identifier("application", name), "SoftwareApplication", title)

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

    def property(self, name: str, value: Any, *, owner: str = "", source: str = "") -> Reference:
        """Return a named value."""
        identifier = _identifier(*(part for part in (owner, name, str(value)) if part))
        more = {"description": f"source: {source}"} if source else {}
        return entity(self._crate, identifier, "PropertyValue", name, value=value, **more)

    def input(self, path: str, facts: Mapping[str, Any]) -> Reference:
        """Return a file that a run was given and the campaign does not hold, such as its program."""
        more = {key: str(facts[name]) for key, name in _FINGERPRINT.items() if facts.get(name) is not None}
        return entity(self._crate, _identifier("input", path, *more.values()), "CreativeWork", path, **more)


def _identifier(*parts: str) -> str:
    return "#" + "/".join(quote(part, safe="") for part in parts)


def action(
    crate: Any, run: str, record: Mapping[str, Any], files: Mapping[str, Reference], tools: Tools
) -> Reference:
    """Describe one run: the command, what it was given, what it left, how it ended.

    Parameters
    ----------
    crate : ROCrate
        Gets the action.
    run : str
    record : mapping
        As `analysis.readers.run.records` returns it.
    files : mapping of str to Reference
        Files of the run's folder by name.
    tools : Tools

    Returns
    -------
    Reference
    """
    extra = json.loads(record["extra"])
    error = _error(record["exit_code"], extra.get("reason"))
    properties: dict[str, Any] = {
        "description": record["command"],
        "startTime": _time(record["start"]),
        "endTime": _time(record["end"]),
        "instrument": [tools.application(record["application"]), tools.cluster(record["cluster"])],
        "object": [tools.property(name, value) for name, value in sorted(_parameters(record).items())]
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
