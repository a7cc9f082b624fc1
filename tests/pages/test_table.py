"""Tables of a notebook: numbers stand under each other, words begin at the left."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.pages.notebook import shown

LEFT = ' style="text-align: left"'


@pytest.mark.parametrize(
    "cell", ["1.07× (1.02 to 1.14)", "0.66 to 1.8", "2,048", "–", "", "12 s", "−5 %", "6 / 6", "0.91 Gflop/s"]
)
def test_table__numbers_stay_at_the_right(cell: str) -> None:
    html = shown(pd.DataFrame({"value": [cell, "3"]}))._repr_html_()
    assert LEFT not in html
    assert f"<td>{cell}</td>" in html


@pytest.mark.parametrize("cell", ["proxy (198)", "16³ over 104³", "n 6 / 6, base 2 s", "2 nodes over 1 node"])
def test_table__words_begin_at_the_left(cell: str) -> None:
    html = shown(pd.DataFrame({"what": [cell, "3"], "n": [1, 2]}))._repr_html_()
    assert f"<td{LEFT}>{cell}</td><td>1</td>" in html
    assert html.count(LEFT) == 3  # the heading, too


def test_table__without_rows_is_none() -> None:
    assert shown(pd.DataFrame({"run": []}))._repr_html_() == "<p>None.</p>"


def test_shown__a_level_keeps_its_second_digit() -> None:
    html = shown(pd.DataFrame({"median": [48.64], "confidence": [0.95]}), 1)._repr_html_()
    assert "48.6<" in html
    assert "0.95<" in html


def test_shown__a_number_has_at_most_four_figures_or_its_whole_part() -> None:
    values = [97.836, 1950.12, 14133.58, 0.0374, 0.1234567]
    assert shown(pd.DataFrame({"value": values})).frame["value"].tolist() == [
        "97.84", "1,950", "14,134", "0.037", "0.123"
    ]  # fmt: skip
