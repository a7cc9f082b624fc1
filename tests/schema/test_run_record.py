"""The model of a run's record: which values a key may have."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from analysis.schema.records import RunRecord
from analysis.schema.stated import count_of

GIVEN = {"run": "r1", "campaign": "c", "application": "app", "evidence": "measured"}


@pytest.mark.parametrize("count", [-(2**31), -1, 0, 2**31 - 1, None])
def test_record__has_counts_of_32_bits(count: int | None) -> None:
    assert RunRecord.model_validate({**GIVEN, "order": count}).order == count


@pytest.mark.parametrize("count", [2**31, -(2**31) - 1])
def test_record__refuses_what_no_table_can_store(count: int) -> None:
    with pytest.raises(ValidationError, match="order"):
        RunRecord.model_validate({**GIVEN, "order": count})


def test_record__refuses_a_moment_before_1970() -> None:
    assert RunRecord.model_validate({**GIVEN, "start": 0.0}).start == 0.0
    with pytest.raises(ValidationError, match="start"):
        RunRecord.model_validate({**GIVEN, "start": -1.0})


@pytest.mark.parametrize(
    ("fact", "count"), [("128", 128), (64, 64), ("999999999", 999_999_999), ("1000000000", 0), ("-4", 0)]
)
def test_count__is_one_of_nine_digits_or_none(fact: object, count: int) -> None:
    assert count_of(fact) == count
    assert count_of("64-bit") == count_of(None) == 0
