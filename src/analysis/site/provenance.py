"""What the site rests on: versions, commit, campaigns with their failed runs, checksums of the inputs."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version

from analysis.claims.verdict import Verdict
from analysis.estimates.campaign import Campaign

# What the numbers and the figures depend on.
TOOLS = (
    *("benchbook", "numpy", "scipy", "pandas", "xarray", "dask", "h5netcdf", "pyarrow"),
    *("matplotlib", "seaborn", "papermill", "ipykernel", "nbconvert", "snakemake"),
)

# Columns of the runs that describe the set-up; one value in all runs is a fact of the campaign.
FACTS = ("application", "cluster", "cpu", "interconnect", "mpi", "build", "profiler", "nodes", "ranks")


@dataclass(frozen=True, slots=True)
class Facts:
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
    versions: tuple[tuple[str, str], ...] = ()
    campaigns: tuple[Facts, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()


def gather(campaigns: Iterable[Campaign], verdicts: Iterable[Verdict], commit: str) -> Provenance:
    """Gather what is known of campaigns and of what verdicts rest on."""
    campaigns = list(campaigns)
    inputs = {(one["path"], one["sha256"]) for verdict in verdicts for one in verdict.inputs}
    for campaign in campaigns:
        files = campaign.frame("files")
        paths = (f"data/raw/{campaign.name}/{path}" for path in files["path"])
        inputs.update(zip(paths, map(str, files["checksum"]), strict=True))
    versions = (("python", platform.python_version()), *((tool, version(tool)) for tool in TOOLS))
    return Provenance(commit, versions, tuple(map(_facts, campaigns)), tuple(sorted(inputs)))


def _facts(campaign: Campaign) -> Facts:
    runs = campaign.runs
    levels = {
        name: ", ".join(sorted({str(level) for level in runs[name]} - {""})) for name in FACTS if name in runs
    }
    failed = runs.loc[~runs["valid"], ["run", "reason"]]
    return Facts(
        name=campaign.name,
        evidence=campaign.evidence,
        cluster=levels.pop("cluster", ""),
        description=". ".join([campaign.title, campaign.hardware]),
        runs=len(runs),
        levels=tuple((name.replace("_", " "), found) for name, found in levels.items() if found),
        failed=tuple(zip(failed["run"], failed["reason"], strict=True)),
    )
