"""How sentences of the LS-DYNA reports are read: what each word and each printed digit lets through."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.base import project
from analysis.claims.model import Claim, load_report
from analysis.claims.rules import judge
from analysis.estimates.finding import Finding
from analysis.estimates.stats import Estimate
from tests.estimates.hand import campaign, repeats, verdict

REPORTS = {name: load_report(project.claims(name)) for name in ("lsdyna2014", "lsdyna2009")}
SCATTER = (0.999, 0.9995, 1.0, 1.0002, 1.0005, 1.001)


def read(name: str) -> Claim:
    return REPORTS[name.partition("-")[0]].claim(name)


def word(claim: Claim, value: float) -> str:
    """Judge an estimate whose interval is a point."""
    return judge(claim, Finding(Estimate(value, value, value, 6, 6), "", "", ("r",)))[0]


def test_readings__almost_five_is_five_at_most() -> None:
    claim = read("lsdyna2014-ic-fdr-over-10gbe-almost-5x")
    assert [word(claim, x) for x in (4.5, 4.8, 5.0)] == ["holds"] * 3
    smaller, larger = "holds in direction, smaller", "holds in direction, larger"
    assert [word(claim, x) for x in (4.4, 5.01, 5.3, 5.5)] == [smaller, larger, larger, larger]
    # The summary of the same report cannot hold with it.
    assert word(read("lsdyna2014-ic-summary-over-5x-10-40gbe"), 4.8) == smaller


def test_readings__over_and_up_to_have_their_side() -> None:
    over = read("lsdyna2014-ic-fdr-over-1gbe-7x")
    assert [word(over, x) for x in (6.9, 7.0, 12.0)] == ["holds in direction, smaller", "holds", "holds"]
    up_to = read("lsdyna2014-cpu-ivb-over-snb-20pct")
    assert [word(up_to, x) for x in (19.0, 20.4, 21.0)] == [
        "holds in direction, smaller", "holds", "holds in direction, larger",
    ]  # fmt: skip


def links(**slower: float) -> list[dict[str, Any]]:
    """Make runs over FDR and the three Ethernets, each at 2 and 32 nodes as many times slower as given."""
    report = dict(read("lsdyna2014-ic-fdr-superior-scalability").question.select or {})
    rows = []
    for link in ("ib-fdr", "1gbe", "10gbe", "40gbe"):
        for nodes, base in ((2, 1000.0), (32, 100.0)):
            times = 1.0 if link == "ib-fdr" else slower[f"at_{nodes}"]
            factors = report | {"interconnect": link, "nodes": nodes, "ranks": 20 * nodes}
            rows += repeats([base * times * x for x in SCATTER], **factors, ranks_per_node=20)
    return rows


def test_readings__to_scale_better_is_more_than_to_be_ahead() -> None:
    claim = read("lsdyna2014-ic-fdr-superior-scalability")
    ahead = verdict(claim, campaign(links(at_2=3.0, at_32=3.0), "synthetic"))
    assert ahead.verdict == "not recovered"
    better = verdict(claim, campaign(links(at_2=1.5, at_32=3.0), "synthetic"))
    assert (better.verdict, better.estimate) == ("recovered", pytest.approx(2.0))


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        ({8: 100, 16: 60, 20: 62, 24: 70}, "recovered"),
        ({8: 100, 16: 105, 20: 104, 24: 103}, "recovered"),  # stops before 16: none beyond
        ({8: 100, 16: 60, 20: 50, 24: 45}, "not recovered"),
    ],
)
def test_readings__no_scaling_beyond_sixteen_is_sixteen_at_most(seconds: dict[int, float], word: str) -> None:
    claim = read("lsdyna2009-ic-ethernet-saturates-16")
    report = dict(claim.question.select or {})
    rows = [
        row
        for case in ("3cars", "neon-refined-revised")
        for link in ("10gbe", "1gbe")
        for nodes, time in seconds.items()
        for row in repeats(
            [time * x for x in SCATTER],
            **(report | {"case": case, "interconnect": link}),
            nodes=nodes,
            ranks=8 * nodes,
            ranks_per_node=8,
        )
    ]
    assert verdict(claim, campaign(rows, "synthetic")).verdict == word


def test_readings__the_axis_of_a_chart_is_no_claim() -> None:
    assert "lsdyna2009-pwr-chart-axis-0-4500" not in {one.id for one in REPORTS["lsdyna2009"].claims}


def test_readings__what_the_report_does_not_say_stays_unsaid() -> None:
    # Line 124 gives no number of nodes, line 346 does; no line of either names the library of the links.
    assert read("lsdyna2014-ic-fdr-over-10gbe-almost-5x").conditions["nodes"] == "not stated"
    assert read("lsdyna2014-ic-summary-over-5x-10-40gbe").conditions["nodes"] == 32
    assert read("lsdyna2014-ic-summary-over-5x-10-40gbe").conditions["mpi"] == "not stated"
    # Lines 138 to 158 are of Open MPI, the record list of another release.
    assert read("lsdyna2014-mpi-fca-mxm-18pct").conditions["mpi"] == "open-mpi"
    assert read("lsdyna2014-tc-9-to-27pct").conditions["version"] == "R3.2.1"
    # The energy figure has 24 nodes in its caption and 16 in the text.
    assert read("lsdyna2009-pwr-ib-60pct-per-job").conditions["nodes"] == [16, 24]
