"""Operations of an HPCG result, counted by hand from its grid."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import readers
from analysis.datasets.witnesses import arithmetic
from analysis.datasets.witnesses.marks import marks
from analysis.datasets.witnesses.names import rate

RAW = Path(__file__).parents[2] / "data" / "raw" / "vm-hpcg"


def said(*changes: tuple[str, str]) -> list[str]:
    (path,) = (RAW / "runs/001").glob("HPCG*.txt")
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return list(arithmetic.contradictions(readers.parse(text.encode(), path.name, engine="hpcg")))


def test_contradictions__a_result_as_it_was_printed_has_none() -> None:
    assert said() == []


def test_contradictions__operations_follow_from_the_grid_and_the_iterations() -> None:
    """32×16×16 rows, 94 × 46 × 46 terms; 13200 iterations in 264 sets of 50.

    SpMV: (13200 + 264) × 2 × 198904. MG: 13200 × (10 × (198904 + 22264 + 2200) + 4 × 160).
    """
    assert 13464 * 2 * 198904 == 5_356_086_912
    assert 13200 * (10 * (198904 + 22264 + 2200) + 640) == 29_493_024_000
    wanted = ", 13200 iterations in 264 sets on its grid are "
    assert said(("Raw SpMV=5.35609e+09", "Raw SpMV=5.35709e+09")) == [
        f"its result counts 5.35709e+09 operations of SpMV{wanted}5.35609e+09"
    ]
    assert said(("Raw MG=2.9493e+10", "Raw MG=2.9593e+10")) == [
        f"its result counts 2.9593e+10 operations of MG{wanted}2.9493e+10"
    ]


def test_contradictions__the_overhead_is_of_rates_and_bandwidths_alike() -> None:
    found = said(
        ("phase overhead=5.78836", "phase overhead=5.88836"), ("rating of=5.78836", "rating of=5.88836")
    )
    assert found == ["its result rates 5.88836 of 5.89939 Gflop/s, but 44.0343 of 44.879 GB/s"]


@pytest.mark.parametrize(
    ("text", "stamps"),
    [
        ("# start     : Fri Nov 20 23:20:37 2026   host", (("start", "2026-11-20T23:20:37"),)),
        ("Finished at 2026-11-20 23:20:37", (("finished", "2026-11-20T23:20:37"),)),
        ("compiled, date: 2026-11-20 23:20:37", ()),
        ("started on Fri Nov 31 23:20:37 2026", ()),  # no such day
    ],
)
def test_marks__dates_of_a_run_and_not_of_a_build(text: str, stamps: tuple[tuple[str, str], ...]) -> None:
    assert marks(f"{text}\n".encode(), "out.txt").stamps == stamps


@pytest.mark.parametrize(
    ("link", "gbits"),
    [("veth-10gbit", 10), ("25GbE", 25), ("ib-fdr", 56), ("ib-hdr100", 100), ("EDR InfiniBand", 100),
     ("omnipath-100", 100), ("100gbe-roce", 100)],
)  # fmt: skip
def test_rate__is_what_the_name_of_a_link_states(link: str, gbits: float) -> None:
    assert rate(link) == gbits


@pytest.mark.parametrize("link", ["", "shared-memory", "veth-open", "ethernet-tcp", "within-a-node"])
def test_rate__of_another_name_is_unknown(link: str) -> None:
    assert rate(link) != rate(link)
