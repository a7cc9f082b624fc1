"""The study of the statistics, a small part of it with other draws: what the package says of itself holds."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.studies import loaded


@pytest.fixture(scope="module")
def study() -> Iterator[ModuleType]:
    with loaded("study_statistics") as module:
        yield module


def rows(study: ModuleType, rule: str, rounds: int, *arguments: Any) -> list[Any]:
    found = list(getattr(study, rule)(np.random.default_rng(71), rounds, *arguments))
    assert found
    return found


@pytest.mark.parametrize(
    ("rule", "rounds", "settings"),
    [
        ("medians", 400, (3, 5, 6, 9)),
        ("ratios", 400, (4, 6, 7)),
        ("equality", 200, (6,)),
        ("trends", 200, ((3, 2),)),
        ("extremes", 150, (1, 4)),
        ("directions", 300, (6,)),
        ("days", 150, (1, 2, 3, 4, 6)),
    ],
)
def test_study__what_is_said_holds_with_other_draws(
    study: ModuleType, rule: str, rounds: int, settings: Any
) -> None:
    """Within 3.5 standard errors of the share: one false alarm in some thousands of rows."""
    for row in rows(study, rule, rounds, settings):
        if row.least is not None:
            assert row.found >= row.least - 3.5 * row.error, row
        if row.most is not None:
            assert row.found <= row.most + 3.5 * row.error, row


def test_study__sees_what_covers_too_little(study: ModuleType) -> None:
    """One day of several: an interval of 95 % holds the truth of any day in about half of all cases."""
    by_setting = {(row.setting, row.counted): row for row in rows(study, "days", 200, (1, 2))}
    alone = by_setting["a median, 1 day", "(ignoring the days)"]
    assert alone.found < 0.7
    assert alone.found < 0.95 - 3.5 * alone.error


def test_study__a_true_5_percent_earns_smaller_and_nothing_more(study: ModuleType) -> None:
    found = {(row.setting, row.counted): row.found for row in rows(study, "directions", 200, (20,))}
    assert found["true gain 5 %, n = 20 and 20", "holds in direction, smaller"] > 0.9
    assert found["true gain 5 %, n = 20 and 20", "a false word"] < 0.05


def test_study__fewer_false_among_those_that_stand(study: ModuleType) -> None:
    found = rows(study, "discoveries", 400)
    stand, plain = ([row.found for row in found if row.counted == name] for name in (
        "false among those that pass", "(false among all that hold)",
    ))  # fmt: skip
    assert all(a <= b for a, b in zip(stand, plain, strict=True))
    assert plain[0] > 0.05
    assert max(stand) <= 0.05 + 3.5 * (0.05 * 0.95 / 20) ** 0.5


@pytest.mark.slow
def test_study__page_is_what_the_study_makes(study: ModuleType) -> None:
    page = study.OUT.read_text(encoding="utf-8")
    assert [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")] == list(
        study.RULES
    )
    for number, (_, rule) in list(enumerate(study.RULES.values()))[:2]:
        for row in rule(np.random.default_rng([study.SEED, number]), study.ROUNDS):
            assert f"| {row.setting} | {row.counted} | {100 * row.found:.1f} % |" in page
