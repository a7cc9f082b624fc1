"""What the site rests on: versions, commit, campaigns with their failed runs, checksums of the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_KNOWN = frozenset({"versions", "commit", "campaigns", "inputs"})


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign's facts: number of runs, factors and machine as pairs, failed runs as (run, reason)."""

    name: str
    evidence: str
    cluster: str
    description: str
    runs: int | None
    facts: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the provenance page shows; pairs are in the order of the record."""

    commit: str
    versions: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    campaigns: tuple[Campaign, ...]
    inputs: tuple[tuple[str, str], ...]


def read(record: Mapping[str, Any], verdicts: Iterable[Mapping[str, Any]]) -> Provenance:
    """Read a provenance record.

    Parameters
    ----------
    record : mapping
        ``versions`` {name: version}, ``commit``, ``campaigns`` [{name, evidence, cluster, description,
        runs, facts {name: value}, failed [{run, reason}]}], ``inputs`` [{path, sha256}]; every other
        key is shown as a fact. All may be missing.
    verdicts : iterable of mapping
        Their ``inputs`` join the list.

    Returns
    -------
    Provenance
        Inputs sorted by path, each once.
    """
    inputs = {
        (str(i["path"]), str(i.get("sha256") or ""))
        for source in (record, *verdicts)
        for i in source.get("inputs") or ()
    }
    return Provenance(
        commit=str(record.get("commit") or ""),
        versions=_pairs(record.get("versions")),
        facts=_pairs({k: v for k, v in record.items() if k not in _KNOWN}),
        campaigns=tuple(_campaign(c) for c in record.get("campaigns") or ()),
        inputs=tuple(sorted(inputs)),
    )


def _campaign(raw: Mapping[str, Any]) -> Campaign:
    runs = raw.get("runs")
    return Campaign(
        name=str(raw.get("name") or "unnamed"),
        evidence=str(raw.get("evidence") or ""),
        cluster=str(raw.get("cluster") or ""),
        description=str(raw.get("description") or ""),
        runs=len(runs) if isinstance(runs, list | tuple) else runs,
        facts=_pairs(raw.get("facts")),
        failed=tuple(
            (str(f["run"]), str(f.get("reason") or "no reason recorded")) for f in raw.get("failed") or ()
        ),
    )


def _pairs(facts: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple((str(k), _text(v)) for k, v in (facts or {}).items() if v is not None)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {_text(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(v) for v in value)
    return str(value)
