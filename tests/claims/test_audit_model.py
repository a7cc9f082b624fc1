"""Audits that cannot be used are refused, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.claims.audit import audit_path
from analysis.claims.relations import load_audit

REPORTS = sorted(path.stem for path in (project.root() / "config" / "audit").glob("*.yaml"))

HEAD = "report: { title: A report, publisher: Us, date: today }\nrelations:\n"
GOOD = """\
  - id: one
    topic: things
    statement: Two things are the same
    figures:
      a: { printed: 20, lines: [3] }
      b: { printed: 21, lines: [4] }
    left: { is: a, meaning: the first }
    relation: equal
    right: { is: b, meaning: the second }
"""


def load(folder: Path, text: str) -> object:
    path = folder / "some.yaml"
    path.write_text(HEAD + text)
    return load_audit(path)


def test_model__every_report_has_an_audit() -> None:
    assert REPORTS == ["hpcg2014", "lsdyna2009", "lsdyna2014", "openatom2010", "sharp2019"]


def test_model__every_relation_names_a_line_of_its_report_or_says_what_is_missing() -> None:
    found = {report: load_audit(audit_path(report)).relations for report in REPORTS}
    # grep -c '^  - id:' config/audit/*.yaml
    assert [len(relations) for relations in found.values()] == [10, 24, 32, 12, 9]
    for relation in (relation for relations in found.values() for relation in relations):
        assert relation.missing or relation.lines or relation.figures, relation.id
        # A figure of another report is evidence beside a statement, never all there is of a claim.
        assert {one.report for one in relation.figures.values()} <= {"", *REPORTS}


def test_model__a_sentence_without_a_figure_has_its_own_line() -> None:
    """Line 226 of the report says "without adding overheads", line 210 has the 77 %."""
    relations = {one.id: one for one in load_audit(audit_path("lsdyna2014")).relations}
    assert relations["two-jobs-and-overhead"].lines == [210, 226]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("is: a,", "is: a ** 2,", "'a ** 2' is not one of"),
        ("is: a,", "is: c,", "'c' is no figure"),
        ("is: b,", "is: a + b,", "'a' occurs 2 times"),
        ("is: b,", "is: 21,", "figure 'b' is not used"),
        ("printed: 20", "printed: twenty", "could not convert"),
        ("    left: { is: a, meaning: the first }\n", "", "no left or no right side"),
        ("relation: equal", "relation: like", "'like' is not one of"),
        ("    statement: Two things are the same\n", "", "'statement' is a required property"),
    ],
)
def test_model__refuses_what_cannot_be_computed(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(ConfigError, match=said.replace("*", r"\*")) as error:
        load(tmp_path, GOOD.replace(old, new))
    # The relation begins on the third line of the file, under the two of the head.
    assert all(fault.line >= 3 for fault in error.value.faults)


def test_model__refuses_an_id_twice(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    with pytest.raises(ConfigError, match="id 'one' is used twice"):
        load(tmp_path, GOOD + GOOD)
