"""Claims files: what is read, and what is refused by line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.claims.model import Expectation, load_report
from tests.estimates.hand import HEAD, claim

GAIN = """quantity: gain
compare: { factor: mpi, treatment: a, baseline: b }
expect: { relation: about, value: 20, tolerance: 10% }"""


def written(folder: Path, text: str) -> Path:
    path = folder / "report.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_model__reads_a_claim_with_its_defaults(tmp_path: Path) -> None:
    one = claim(tmp_path, GAIN)
    assert (one.id, one.report, one.ids, one.question.variable, one.question.aggregate) == (
        "one", "one", ("one",), "figure_of_merit", "all",
    )  # fmt: skip
    assert one.question.compare is not None
    compare = one.question.compare
    assert (compare.levels, compare.span, compare.along) == (("a", "b"), None, None)
    assert one.expect.band == (18.0, 22.0)


def test_model__a_missing_field_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(
        tmp_path, HEAD + "  - id: one\n    topic: t\n    statement: s\n    expect: { relation: equal }\n"
    )
    with pytest.raises(ConfigError, match=r"report\.yaml:3: claims\.0: 'quantity' is a required property"):
        load_report(path)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (GAIN.replace("gain", "growth"), 6, "'growth' is not one of"),
        (GAIN.replace("factor: mpi", "factor: colour"), 7, "'colour' is not one of"),
        (GAIN.replace("10%", "ten"), 8, "'ten' does not match"),
        ("quantity: interaction\n" + GAIN.split("\n", 1)[1], 7, "'along' is a required property"),
        ("quantity: cost\n" + GAIN.split("\n", 1)[1], 3, "'tariff' is a required property"),
        (GAIN.replace("gain", "ordering"), 7, "'order' is a required property"),
        (GAIN.replace("treatment: a, baseline: b", "order: [a, b]"), 7, "'treatment' is a required property"),
        ("quantity: level\nexpect: { relation: equal, value: 1 }", 3, "'variable' is a required property"),
        (GAIN + "\ntariff: { price: 0 }", 9, "0 is less than or equal to the minimum of 0"),
    ],
)
def test_model__a_field_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        claim(tmp_path, text)
    assert any(f"one.yaml:{line}: " in str(fault) and what in str(fault) for fault in caught.value.faults)


def test_model__an_id_belongs_to_one_claim(tmp_path: Path) -> None:
    rest = "ids: [x], topic: t, statement: s, quantity: level, variable: elapsed, expect: { relation: equal }"
    text = HEAD + "".join(f"  - {{ id: {name}, {rest} }}\n" for name in ("a", "b"))
    with pytest.raises(ConfigError, match="id 'x' is used twice"):
        load_report(written(tmp_path, text))


def test_model__a_variable_must_be_a_measure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"claim 'one': 'elapsd' is no measure; is 'elapsed' meant"):
        claim(tmp_path, "quantity: level\nvariable: elapsd\nexpect: { relation: equal, value: 1 }")
    with pytest.raises(ConfigError, match="take one of message_sizes, most_used_calls"):
        claim(tmp_path, "quantity: set\nvariable: elapsed\nexpect: { relation: equal, members: [1] }")


def test_model__null_and_comparing_lift_a_default(tmp_path: Path) -> None:
    defaults = "defaults: { select: { mpi: a, nodes: 2, cpu: x, ranks: 4 } }\nclaims:\n"
    head = HEAD.replace("claims:\n", defaults)
    body = "".join(f"    {line}\n" for line in GAIN.splitlines())
    text = head + "  - id: one\n    topic: t\n    statement: s\n    select: { cpu: null }\n" + body
    text = text.replace("baseline: b }", "baseline: b, varying: [ranks] }")
    assert load_report(written(tmp_path, text)).claims[0].question.select == {"nodes": 2}


def test_model__an_order_may_be_a_span_and_an_interaction_has_two_ends(tmp_path: Path) -> None:
    span = claim(
        tmp_path,
        "quantity: trend\nexpect: { relation: rising }\n"
        "compare: { factor: nodes, order: { min: 2, max: 32 } }",
    )
    assert span.question.compare is not None
    assert (span.question.compare.span, span.question.compare.levels) == ((2.0, 32.0), ())
    text = GAIN.replace("gain", "interaction").replace(
        "baseline: b", "baseline: b, along: { factor: nodes, high: 8, low: 2 }"
    )
    along = claim(tmp_path, text).question.compare
    assert along is not None
    assert along.along == ("nodes", 8, 2)


@pytest.mark.parametrize(
    ("expect", "band"),
    [
        (Expectation(relation="about", value=50.0, tolerance=0.1), (45.0, 55.0)),
        (Expectation(relation="about", value=-50.0, tolerance=0.1), (-55.0, -45.0)),
        (Expectation(relation="at-least", value=5.0), (5.0, math.inf)),
        (Expectation(relation="at-most", value=5.0), (-math.inf, 5.0)),
        (Expectation(relation="equal", value=16.0), (16.0, 16.0)),
        (Expectation(relation="range", low=9.0, high=27.0), (9.0, 27.0)),
        (Expectation(relation="range", tolerance=0.1, low=10.0, high=20.0), (9.0, 22.0)),
        (Expectation(relation="range", low=9.0), (9.0, math.inf)),
        (Expectation(relation="rising"), (-math.inf, math.inf)),
    ],
)
def test_model__what_an_expectation_allows(expect: Expectation, band: tuple[float, float]) -> None:
    assert expect.band == band
