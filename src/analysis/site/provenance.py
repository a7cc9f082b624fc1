"""Provenance of the site: versions, commit, campaigns with their failed runs, checksums of the inputs."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import PurePosixPath

import pandas as pd

from analysis.base.words import capitalised, in_order
from analysis.claims.verdict import Verdict
from analysis.estimates.campaign import Campaign
from analysis.schema.factors import TABLE, Factor, label

# What the numbers and the figures depend on.
TOOLS = (
    *("benchbook", "numpy", "scipy", "pandas", "xarray", "dask", "h5netcdf", "pyarrow"),
    *("matplotlib", "seaborn", "papermill", "ipykernel", "nbconvert", "snakemake"),
)


@dataclass(frozen=True, slots=True)
class CampaignFacts:
    """A campaign: its runs counted, its levels as (name, values), its failed runs as (run, reason)."""

    name: str
    evidence: str
    cluster: str
    description: str
    runs: int
    levels: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the provenance page shows; inputs as (path, SHA-256), sorted, each once."""

    commit: str = ""
    date: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    campaigns: tuple[CampaignFacts, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()

    @property
    def citation(self) -> str:
        """How to cite the site: its commit and the date of that."""
        return ", ".join(filter(None, ("Benchbook", self.commit and f"commit {self.commit[:12]}", self.date)))


def gather(
    campaigns: Iterable[Campaign], verdicts: Iterable[Verdict], commit: str, date: str = ""
) -> Provenance:
    """Collect the facts of campaigns, and the inputs of verdicts; `date` is that of the commit."""
    campaigns = list(campaigns)
    inputs = {one for campaign in campaigns for one in _files(campaign)}
    folders = {str(parent) for path, _ in inputs for parent in PurePosixPath(path).parents}
    named = {(one["path"], one["sha256"]) for verdict in verdicts for one in verdict.inputs}
    inputs |= {(path, digest) for path, digest in named if path not in folders}  # a run is its files
    versions = (("python", platform.python_version()), *((tool, version(tool)) for tool in TOOLS))
    return Provenance(commit, date, versions, tuple(map(_facts, campaigns)), tuple(sorted(inputs)))


def _files(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Name the files of a campaign from the project's folder; a modelled one is made of configuration."""
    for one in campaign.files_read():
        own = one["path"].startswith("config/")
        yield one["path"] if own else f"data/raw/{campaign.name}/{one['path']}", str(one["sha256"])


def _facts(campaign: Campaign) -> CampaignFacts:
    runs = campaign.runs
    given = campaign.names
    levels = {one.name: _levels(runs, one, given.get(one.name, {})) for one in TABLE if one.name in runs}
    failed = runs.loc[~runs["valid"], ["run", "reason"]]
    return CampaignFacts(
        name=campaign.name,
        evidence=campaign.evidence,
        cluster=levels.pop("cluster", ""),
        description=". ".join(map(capitalised, (campaign.title, campaign.hardware))),
        runs=len(runs),
        levels=tuple((label(name), found) for name, found in levels.items() if found),
        failed=tuple(zip(failed["run"], failed["reason"], strict=True)),
    )


def _levels(runs: pd.DataFrame, factor: Factor, names: Mapping[str, str]) -> str:
    known = {level for level in runs[factor.name] if level != factor.unknown and level == level}
    spelt = {level: level if isinstance(level, str) else f"{level:g}" for level in known}
    return ", ".join(names.get(str(level), spelt[level]) for level in in_order(known))
