"""Published figures that are shipped: each feeds a verdict or stands on a page."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.base import models, project
from analysis.claims import evaluate
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.estimates import contents
from analysis.estimates.campaign import Campaign
from analysis.estimates.groups import measured_level as measured
from analysis.schema import storage
from analysis.schema.campaigns import CampaignFile

CONFIG = project.load_yaml(project.root() / project.CONFIG)
contents.complete(CONFIG, project.root())
NAMES = [name for name in CONFIG["campaigns"] if name.startswith("published")]
# Measure -> the metrics of the table of figures that it is made of; of the first two what a run has.
READS = {
    "figure_of_merit": ("rating", "step_time"),
    "application_time": ("step_time", "elapsed"),
    "jobs_per_day": ("elapsed",),
    "latency": ("latency",),
    "official_time": ("official_time",),
    "reduction_share": ("allreduce_time", "benchmark_time"),
}


@pytest.mark.parametrize("name", NAMES)
def test_figures__each_feeds_a_verdict_or_a_page(name: str, tmp_path: Path) -> None:
    assert idle(name, project.raw(name), tmp_path) == []


def test_figures__one_that_feeds_nothing_is_found(tmp_path: Path) -> None:
    raw = tmp_path / "published"
    shutil.copytree(project.raw(raw.name), raw)
    lines = (raw / "figures.csv").read_text().splitlines(keepends=True)
    lines.append(lines[1].replace("f0001,venus-hpcg-001", "f9999,nowhere").replace(",hpcg,", ",another,"))
    (raw / "figures.csv").write_text("".join(lines))
    assert idle(raw.name, raw, tmp_path / "out") == ["f9999"]


def idle(name: str, raw: Path, folder: Path) -> list[str]:
    """Return the figures of a campaign that neither a verdict nor a page rests on."""
    declared = models.load(CampaignFile, project.declaration(name))
    ingest(raw, folder)
    tree = storage.read_tree(folder / "campaign.nc")
    views = tuple(declared.views)
    repeats = declared.repeats
    campaign = Campaign(
        name, tree, "", declared.evidence, "", apart=declared.apart, views=views, repeats=repeats
    )
    doubted = {run for one in campaign.doubts for run in one.runs}  # they feed a question to the user
    if not (raw / "figures.csv").is_file():  # a table of runs
        used = {run for run, _ in _verdicts(campaign)} | _drawn(campaign)
        return sorted(set(campaign.runs["run"]) - used - doubted)
    fed = {(run, metric) for run, metrics in [*_verdicts(campaign), *_pages(campaign)] for metric in metrics}
    runs = {run for run, _ in fed}
    with (raw / "figures.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # The length that was asked for sets apart what is compared.
    return [
        row["figure"]
        for row in rows
        if (row["run"], row["metric"]) not in fed
        and row["run"] not in doubted
        and not (row["metric"] == "target_time" and row["run"] in runs)
    ]


def _verdicts(campaign: Campaign) -> list[tuple[str, tuple[str, ...]]]:
    """Return the runs of every verdict, each with the metrics that its measure reads."""
    found = []
    for report in (
        load_report(project.claims(one)) for one, used in CONFIG["reports"].items() if campaign.name in used
    ):
        for verdict in evaluate(report, campaign):
            view = campaign.view_for(report.name, verdict.topic, verdict.claim)
            question = report.claim(verdict.claim).question
            variable = view.asks.variable if view is not None and view.asks else question.variable
            # A figure that is looked up is the metric that the claim names.
            reads = READS.get(variable) or tuple(map(str, question.members))
            found += [(run, reads) for run in verdict.runs]
    return found


def _pages(campaign: Campaign) -> list[tuple[str, tuple[str, ...]]]:
    """Return the runs that the campaign's pages show, by the parameters of their notebooks."""
    found = []
    for page in (one for one in CONFIG["pages"] if one.get("campaign") == campaign.name):
        given = _parameters(page["notebook"]) | page.get("parameters", {})
        if "variable" in given:
            variable = given["variable"] or "application_time"  # as a page chooses it next to a baseline
            shown = measured(campaign, variable, given["select"])
            found += [(run, READS[variable]) for run in shown["run"]]
        else:  # 95-published shows every run of HPCG 2.4 by its rate, and every share of the reductions
            runs = campaign.runs
            found += [
                (run, READS["figure_of_merit"]) for run in runs.loc[runs["question"] == "hpcg 2.4", "run"]
            ]
            found += [
                (run, READS["reduction_share"]) for run in runs.loc[runs["reduction_time"].notna(), "run"]
            ]
    return found


def _drawn(campaign: Campaign) -> set[str]:
    """Return the runs of a table of runs that a page draws along nodes or cases, or in panels."""
    found: set[str] = set()
    for page in (one for one in CONFIG["pages"] if one.get("campaign") == campaign.name):
        given = _parameters(page["notebook"]) | page.get("parameters", {})
        if given.get("along") == "case":
            found |= set(measured(campaign, given["variable"], given["select"])["run"])
        elif page["notebook"].endswith("scaling.ipynb"):
            found |= set(measured(campaign, "application_time", given["select"])["run"])
        for panel in page.get("parameters", {}).get("panels", ()):
            found |= set(measured(campaign, panel["variable"], panel.get("select"))["run"])
    return found


def _parameters(notebook: str) -> dict[str, Any]:
    cells = json.loads((project.root() / "notebooks" / notebook).read_text())["cells"]
    (source,) = ["".join(one["source"]) for one in cells if "parameters" in one["metadata"].get("tags", [])]
    names: dict[str, Any] = {}
    exec(source, names)
    return names
