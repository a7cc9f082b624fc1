"""The site of a project: its verdicts, its executed notebooks, what is known of its campaigns."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.site.build import build
from analysis.site.page import PageInput

# What the numbers and the figures depend on.
TOOLS = (
    *("benchbook", "numpy", "scipy", "pandas", "xarray", "dask", "h5netcdf", "pyarrow"),
    *("matplotlib", "seaborn", "papermill", "ipykernel", "nbconvert", "snakemake"),
)

# Columns of the runs that describe the set-up; one value in all runs is a fact of the campaign.
FACTS = ("application", "cluster", "cpu", "interconnect", "mpi", "build", "profiler", "nodes", "ranks")


def facts(campaign: Campaign) -> dict[str, Any]:
    """Describe a campaign for the provenance page."""
    runs = campaign.runs
    levels = {name: sorted({str(level) for level in runs[name]} - {""}) for name in FACTS if name in runs}
    failed = runs.loc[~runs["valid"], ["run", "reason"]]
    return {
        "name": campaign.name,
        "evidence": campaign.evidence,
        "cluster": ", ".join(levels.pop("cluster", ())),
        "description": ". ".join([campaign.title, campaign.hardware]),
        "runs": len(runs),
        "facts": {name.replace("_", " "): ", ".join(found) for name, found in levels.items() if found},
        "failed": [
            {"run": run, "reason": why} for run, why in zip(failed["run"], failed["reason"], strict=True)
        ],
    }


def inputs(campaign: Campaign) -> list[dict[str, str]]:
    """List the raw files of a campaign with their checksums."""
    files = campaign.frame("files")
    return [
        {"path": f"data/raw/{campaign.name}/{path}", "sha256": checksum}
        for path, checksum in zip(files["path"], files["checksum"], strict=True)
    ]


def pages(config: dict[str, Any], campaigns: dict[str, Campaign]) -> list[PageInput]:
    """Name the executed notebooks with what they rest on, in the order of the configuration."""
    found = []
    for page in config["pages"]:
        names = project.as_list(page, "campaign")
        classes = list(dict.fromkeys(campaigns[name].evidence for name in names)) or [page["evidence"]]
        path = Path("results/notebooks", f"{page['name']}.ipynb")
        found.append(
            PageInput(page["name"], path, ", ".join(classes), ", ".join(names), page.get("title", ""))
        )
    return found


def build_project(verdicts: Path, out: Path, commit: str) -> None:
    """Build the site of the project in the working folder."""
    config = project.load_config(Path.cwd())
    campaigns = {name: load_campaign(name, Path.cwd()) for name in config["campaigns"]}
    provenance = {
        "commit": commit,
        "versions": {"python": platform.python_version()} | {tool: version(tool) for tool in TOOLS},
        "campaigns": [facts(campaign) for campaign in campaigns.values()],
        "inputs": [entry for campaign in campaigns.values() for entry in inputs(campaign)],
    }
    build(json.loads(verdicts.read_text(encoding="utf-8")), pages(config, campaigns), provenance, out)
