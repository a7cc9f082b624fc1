"""A project in a temporary folder: synthetic campaigns go in, verdicts come out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims import Verdict, evaluate
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.estimates.campaign import load_campaign
from analysis.synthesis.campaign import build
from analysis.synthesis.truth import Truth

ROOT = Path(__file__).parents[2]


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., dict[str, Verdict]]:
    """Return what takes a truth through synthesis, ingest and claims to verdicts by claim, all or some."""
    (tmp_path / "config" / "campaigns").mkdir(parents=True)
    shutil.copytree(ROOT / "workflow" / "schemas", tmp_path / "workflow" / "schemas")

    def run(truth: Truth, report: str, *claims: str) -> dict[str, Verdict]:
        name = truth.campaign
        declaration = f"config/campaigns/{name}.yaml"
        shutil.copy(ROOT / declaration, tmp_path / declaration)
        raw = tmp_path / "data" / "raw" / name
        runs = build(truth, raw)
        summary = ingest(raw, tmp_path / "data" / "processed" / name)
        assert (summary.runs, summary.valid) == (runs, runs - 1)  # one run fails on purpose
        asked = load_report(ROOT / "config" / "claims" / f"{report}.yaml")
        if claims:
            asked = replace(asked, claims=tuple(asked.claim(claim) for claim in claims))
        return {verdict.claim: verdict for verdict in evaluate(asked, load_campaign(name, tmp_path))}

    return run
