"""Conclusions kept as claims: each comes out of the engine as it was found, and nobody's file is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.claims import evaluate, load_report
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.conclusion import STANDING
from analysis.findings.saved import as_entry, write
from analysis.findings.search import conclusions
from tests.estimates.hand import campaign
from tests.findings.test_search import SPREAD, rates

# Own runs, runs that all share cores, and other people's under views.
# Of campaigns whose order of execution is known; of others no comparison stands.
CAMPAIGNS = ("vm-hpcg", "vm-profiles", "vm-exchange")


def made() -> Campaign:
    rows = [
        row
        for nodes, by in ((1, 1.1), (2, 1.2), (4, 1.4))
        for row in (*rates(5.0 * nodes, mpi="a", nodes=nodes), *rates(5.0 * nodes * by, mpi="b", nodes=nodes))
    ]
    rows += [*rates(7.0, mpi="a", application="same"), *rates(7.0, mpi="b", application="same")]
    rows += [*rates(7.0, SPREAD[:1], mpi="a", application="single")]
    return campaign([*rows, *rates(9.0, SPREAD[:1], mpi="b", application="single")])


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.datasets(name)) for name in CAMPAIGNS],
)
def test_saved__every_claim_comes_out_as_it_was_found(tmp_path: Path, name: str) -> None:
    loaded = load_campaign(name)
    found = conclusions(loaded)
    path = tmp_path / f"{name}.yaml"
    added, stood = write(found, loaded, path)
    standing = {one.id: one for one in found if one.word in STANDING}
    assert (added, stood) == (len(standing), 0)
    assert added > 1
    report = load_report(path)
    assert report.own
    verdicts = {one.claim: one for one in evaluate(report, loaded)}
    assert verdicts.keys() == standing.keys()
    for key, verdict in verdicts.items():
        one = standing[key]
        assert verdict.verdict == "holds", (key, verdict.verdict, verdict.reason)
        assert verdict.statement == one.sentence
        assert set(one.finding.runs) <= set(verdict.runs)
        assert report.claim(key).question == one.question


def test_saved__what_is_there_stays_byte_for_byte(tmp_path: Path) -> None:
    loaded, path = made(), tmp_path / "hand.yaml"
    found = conclusions(loaded)
    assert write(found[:1], loaded, path) == (1, 0)
    edited = path.read_text(encoding="utf-8").replace("high: ", "high:   9") + "# our own words\n"
    path.write_text(edited, encoding="utf-8")
    added, stood = write(found, loaded, path)
    assert stood == 1
    assert added > 1
    assert path.read_text(encoding="utf-8").startswith(edited)
    again = path.read_bytes()
    assert write(found, loaded, path) == (0, added + 1)
    assert path.read_bytes() == again


def test_saved__only_what_stands(tmp_path: Path) -> None:
    loaded, path = made(), tmp_path / "hand.yaml"
    found = conclusions(loaded)
    assert "seen" in {one.word for one in found}
    write(found, loaded, path)
    assert "single" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "claims", ["claims: [{entry}]\n", "claims:\n- {entry}\ndefaults: {{ about: machine }}\n"]
)
def test_saved__a_file_whose_end_takes_no_claims_is_refused(tmp_path: Path, claims: str) -> None:
    expect = "{ relation: about, value: 1 }"
    entry = f"{{ id: mine, topic: t, statement: s, quantity: level, variable: elapsed, expect: {expect} }}"
    path = tmp_path / "hand.yaml"
    text = 'report: { title: Mine, publisher: us, date: "2026" }\n' + claims.format(entry=entry)
    path.write_text(text, encoding="utf-8")
    load_report(path)
    loaded = made()
    with pytest.raises(ConfigError, match="claims cannot be added at its end; let `claims:` be its last key"):
        write(conclusions(loaded), loaded, path)
    assert path.read_text(encoding="utf-8") == text


def test_saved__the_next_campaign_is_held_against_it(tmp_path: Path) -> None:
    """The claim that b leads by 1.2 holds again at 1.21, and fails where the lead is gone."""
    before = campaign([*rates(10.0, mpi="a"), *rates(12.0, mpi="b")])
    (one,) = conclusions(before)
    path = tmp_path / "hand.yaml"
    write([one], before, path)
    report = load_report(path)
    near = campaign([*rates(10.0, mpi="a"), *rates(12.1, mpi="b")])
    gone = campaign([*rates(10.0, mpi="a"), *rates(9.0, mpi="b")])
    assert [each.verdict for each in evaluate(report, near)] == ["holds"]
    assert [each.verdict for each in evaluate(report, gone)] == ["does not hold"]


def test_saved__an_entry_names_levels_not_numbers_of_numpy() -> None:
    found = conclusions(made())
    levels = [level for one in found for level in (one.question.select or {}).values()]
    assert len(found) == 6
    assert len(levels) >= 6
    assert [level for level in levels if type(level) not in (str, int, float, list)] == []
    assert [as_entry(one)["id"] for one in found] == [one.id for one in found]
