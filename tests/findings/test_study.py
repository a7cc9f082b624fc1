"""The study of comparisons, a small part of it with other draws: what docs/compare.md says holds."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from analysis.estimates.campaign import load_campaign
from analysis.findings.compare import BETTER, WORSE, compare
from tests.studies import loaded


@pytest.fixture(scope="module")
def study() -> Iterator[ModuleType]:
    with loaded("study_compare") as module:
        yield module


@pytest.mark.parametrize("noise", ["even", "skewed", "bimodal"])
def test_study__an_unchanged_campaign_does_not_fail(study: ModuleType, noise: str) -> None:
    rng = np.random.default_rng(71)
    found = [study.made(rng, 60, 6, noise, 0.03, (), 1e-4) for _ in range(8)]
    wrong = [any(row.word in (WORSE, BETTER) for row in rows) for rows in found]
    # At 5 % of campaigns 4 of 8 come by chance once in 2,700 times.
    assert sum(wrong) < 4


@pytest.mark.parametrize("noise", ["even", "skewed", "bimodal"])
def test_study__ten_percent_are_found_among_forty(study: ModuleType, noise: str) -> None:
    rng = np.random.default_rng(72)
    for n in (4, 6):
        rows = [row for _ in range(4) for row in study.made(rng, 40, n, noise, 0.01, [1.1] * 4, 0.05)]
        assert sum(row.word == WORSE for row in rows if row.cell < 4) >= 15
        assert sum(row.word in (WORSE, BETTER) for row in rows if row.cell >= 4) == 0


@pytest.mark.slow
@pytest.mark.datasets("cloud-study")
def test_study__halves_of_a_real_campaign_are_not_worse(study: ModuleType) -> None:
    campaign = load_campaign("cloud-study")
    rng = np.random.default_rng(73)
    found = [compare(*study.drawn(campaign, rng, 6, again=False)) for _ in range(4)]
    rows = [row for one in found for row in one.rows]
    assert len(rows) > 300
    assert sum(row.word in (WORSE, BETTER) for row in rows) < 0.01 * len(rows)
