"""How far repeats of a run lie apart."""

from __future__ import annotations

import pytest

from analysis import pages
from tests.estimates.hand import campaign, repeats


def test_repeats__are_held_against_the_median_of_their_kind() -> None:
    # Around 4 s: -25, 0 and +50 %; around 10 s: -10, -4, 0, 0, 0, +1 %.
    rows = repeats([3.0, 4.0, 6.0], "figure_of_merit", case="a", figure_of_merit_unit="s", load_before=0.5)
    rows += repeats(
        [9.0, 9.6, 10.0, 10.0, 10.0, 10.1],
        "figure_of_merit",
        case="b",
        figure_of_merit_unit="s",
        load_before=2.0,
    )
    bad = repeats([99.0], "figure_of_merit", case="b", figure_of_merit_unit="s", load_before=9.0)
    made = campaign([*rows, *({**row, "valid": False} for row in bad)])
    table = pages.repeats(made)
    assert table["runs"].tolist() == ["a"] * 3 + ["b"] * 6
    assert table["deviation"].tolist() == pytest.approx([-25, 0, 50, -10, -4, 0, 0, 0, 1])

    found = pages.spread(table).set_index("runs")
    assert found.loc["a", ["median", "n", "lowest", "highest"]].tolist() == pytest.approx([4, 3, -25, 50])
    assert found.loc["b", ["median", "n", "lowest", "highest"]].tolist() == pytest.approx([10, 6, -10, 1])
    assert found["confidence"].tolist() == pytest.approx([0.75, 0.95])
    assert pages.spread_sentences(made, table) == [
        "The repeats of a lie −25.0 to +50.0 % from their median of 4 s, n = 3; "
        "those of b, the closest, −10.0 to +1.0 %.",
        "The machine's load when they began was 0.5 to 2.0, that of the runs before them included.",
        "1 run counts in no statistic.",
    ]
    # What contradicts itself did not fail.
    reasons = zip(rows, "bab", strict=False)
    lost = campaign([*rows, *({**row, "valid": False, "reason": why} for row, why in reasons)])
    assert pages.spread_sentences(lost, table)[-1] == "3 runs count in no statistic (b, a)."
    axes = pages.draw_repeats(made, table).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a\nn = 3", "b\nn = 6"]
    assert axes.get_ylabel() == "deviation from the median (%)"


def test_repeats__a_single_run_is_never_the_closest() -> None:
    merit = "figure_of_merit"
    once, twice = (repeats([4.0], merit, case=case, figure_of_merit_unit="s") for case in ("a", "c"))
    pair = repeats([9.0, 11.0], merit, case="b", figure_of_merit_unit="s")
    made = campaign([*once, *pair, *twice])
    assert pages.spread_sentences(made, pages.repeats(made)) == [
        "The repeats of b lie −10.0 to +10.0 % from their median of 10 s, n = 2.",
        "2 kinds of run were measured once, which says nothing of repeats.",
    ]
    made = campaign(once)
    said = ["1 kind of run was measured once, which says nothing of repeats."]
    assert pages.spread_sentences(made, pages.repeats(made)) == said


def test_repeats__of_one_kind_without_a_known_load() -> None:
    made = campaign(repeats([3.0, 4.0, 5.0], "figure_of_merit", figure_of_merit_unit="Gflop/s"))
    table = pages.repeats(made)
    assert pages.spread_sentences(made, table) == [
        "The repeats of all runs lie −25.0 to +25.0 % from their median of 4 Gflop/s, n = 3."
    ]
