"""Hold the claims of a report against published runs, through the engine that judges our own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.base import project
from analysis.claims.allreduce import CLAIM, allreduce_verdict
from analysis.claims.evaluation import evaluate as judge_all
from analysis.claims.model import Report
from analysis.claims.verdict import Verdict
from analysis.claims.verdicts import NOT_TESTED
from analysis.datasets.published import FIGURES
from analysis.datasets.run import fingerprint
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.estimates.views import load_views, seen

NAME = "published"


def evaluate(report: Report, campaign: Campaign | None = None, base: Path | None = None) -> list[Verdict]:
    """Evaluate a report's claims on the published runs.

    Parameters
    ----------
    report : Report
    campaign : Campaign, optional
        The built campaign; loaded if not given.
    base : Path, optional
        Root of the project.

    Returns
    -------
    list of Verdict
        One a claim, in the report's order, in the words of published evidence. A claim whose topic no
        view of ``config/published.yaml`` answers is not tested.

    Raises
    ------
    ReadError
        If the datasets have not been built.
    ConfigError
        If the declaration cannot be used.
    """
    base = base or project.root()
    campaign = campaign or load_campaign(NAME, base)
    found = {one.claim: one for one in judge_all(report, seen(campaign, None))}
    found = {name: _without_view(one) for name, one in found.items()}
    for view in load_views(report.name, base):
        for one in judge_all(report, seen(campaign, view), topics=view.topics):
            told = one.verdict != NOT_TESTED and view.why
            put = [f"{' and '.join(view.alike)} put together: {view.why}".replace("_", " ")]
            found[one.claim] = replace(one, differs=[*one.differs, *put]) if told else one
    if CLAIM in found:
        found[CLAIM] = allreduce_verdict(found[CLAIM], campaign)
    source = _input(base)
    return [
        replace(found[claim.id], inputs=source if found[claim.id].runs else []) for claim in report.claims
    ]


def _without_view(verdict: Verdict) -> Verdict:
    return replace(verdict, reason="no published run that we have speaks to it")


def _input(base: Path) -> list[dict[str, str]]:
    """Return the one file that all published runs stand in, with its checksum."""
    path = project.raw(NAME, base) / FIGURES
    return [{"path": f"data/raw/{NAME}/{FIGURES}", "sha256": str(fingerprint(path)["checksum"])}]
