"""NAS Parallel Benchmarks: a figure whose line holds more than its number."""

from __future__ import annotations

import pytest

from analysis import readers

from .apps import NPB


@pytest.mark.parametrize(
    "label",
    ["Mop/s total     =", "Mop/s/process   =", "Time in seconds ="],
    ids=lambda label: label.split()[0],
)
def test_npb__second_number_in_a_row_is_named(label: str) -> None:
    text = NPB
    start = text.index(label) + len(label)
    damaged = f"{text[: start + 6]}0{text[start + 7 :]}"
    line = text[:start].count("\n") + 1
    ds = readers.parse(damaged.encode(), "f", engine="npb")
    assert any(f"f:{line}: " in warning for warning in ds.attrs["warnings"]), ds.attrs["warnings"]
    assert not readers.parse(NPB.encode(), "f", engine="npb").attrs["warnings"]
