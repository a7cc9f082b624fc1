"""``python -m analysis.cli.stages.site VERDICTS OUT``: what the workflow's site rule calls.

Builds the site of the project in the working folder from the verdicts, the executed notebooks and
the campaigns' datasets.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import BenchbookError
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


def main(argv: list[str] | None = None) -> int:
    """Build the site; return 1 if an input cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.cli.stages.site", description=__doc__)
    parser.add_argument("verdicts", type=Path, help="results/verdicts.json")
    parser.add_argument("out", type=Path, help="folder of the site")
    parser.add_argument("--commit", default="", help="commit that the build was made from")
    arguments = parser.parse_args(argv)
    try:
        config = project.load_config(Path.cwd())
        campaigns = {name: load_campaign(name, Path.cwd()) for name in config["campaigns"]}
        provenance = {
            "commit": arguments.commit,
            "versions": {"python": platform.python_version()} | {tool: version(tool) for tool in TOOLS},
            "campaigns": [facts(campaign) for campaign in campaigns.values()],
            "inputs": [entry for campaign in campaigns.values() for entry in inputs(campaign)],
        }
        verdicts = json.loads(arguments.verdicts.read_text(encoding="utf-8"))
        build(verdicts, pages(config, campaigns), provenance, arguments.out, docs=Path("docs"))
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
