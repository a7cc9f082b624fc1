"""What workers of Dask find of a campaign is what one process finds, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.base import processes, project
from analysis.base.workers import Workers
from analysis.claims import evaluate
from analysis.claims.model import load_report
from analysis.cli.findings import _record
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.search import conclusions
from tests.findings import planted


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the runs of OSU of vm-hpcg."""
    folder = planted.project(tmp_path_factory.mktemp("project"))
    planted.campaign(folder, "vm-hpcg", lambda *_: None, lambda record: record["application"] == "osu")
    return folder


def searched(campaign: Campaign) -> list[dict[str, Any]]:
    return [_record(one) for one in conclusions(campaign)]


def judged(campaign: Campaign) -> list[dict[str, Any]]:
    return [one.as_dict() for one in evaluate(load_report(project.claims("hpcg2014")), campaign)]


@pytest.mark.parametrize("question", [searched, judged])
def test_workers__find_what_one_process_finds(
    base: Path, monkeypatch: pytest.MonkeyPatch, question: Callable[[Campaign], list[dict[str, Any]]]
) -> None:
    alone = question(load_campaign("vm-hpcg", base))
    assert len(alone) > 5
    sent: list[int] = []
    by_dask = processes.by_dask

    def counted(work: Any, things: Sequence[Any], *given: Any) -> Any:
        sent.append(len(things))
        return by_dask(work, things, *given)

    monkeypatch.setattr(processes, "by_dask", counted)
    monkeypatch.setattr(processes, "declared", lambda _: Workers(least_work=1, memory="1GB"))
    monkeypatch.setenv(processes.VARIABLE, "local")
    found = question(load_campaign("vm-hpcg", base))
    assert sum(sent) >= len(alone)
    assert json.dumps(found) == json.dumps(alone)
