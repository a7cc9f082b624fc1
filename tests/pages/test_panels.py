"""Panels on data in bulk: medians by hand, words with the best first, figures of both kinds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import pages
from analysis.datasets.published import read_published
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.schema import storage
from tests.estimates.hand import campaign as by_hand
from tests.estimates.hand import claim, repeats, verdict

RUNS = """\
run,application,cpu,interconnect,nodes,figure_of_merit,figure_of_merit_unit,peak,mean_power,reason
1,hpl,A,ib,4,80,Gflop/s,100,40,
2,hpl,A,ib,4,90,Gflop/s,100,,
3,hpl,A,1gbe,4,50,Gflop/s,100,50,
4,hpl,A,1gbe,4,99,Gflop/s,100,50,is marked
5,hpl,B,ib,8,60,Gflop/s,80,30,
6,osu,A,ib,2,,,,,
"""
COMPARED = """\
quantity: speedup
variable: figure_of_merit
select: { application: app }
compare: { factor: mpi, treatment: b, baseline: a }
expect: { relation: at-least, value: 1 }
"""
SIZES = "run,case,size,latency\n6,osu_latency,8,1.5\n6,osu_latency,4194304,180\n"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    raw = tmp_path_factory.mktemp("raw")
    (raw / "runs.csv").write_text(RUNS)
    (raw / "sizes.csv").write_text(SIZES)
    (raw / "sources.csv").write_text("source,title,address\ns,A source,https://example.org\n")
    declaration = raw / "declared.yaml"
    declaration.write_text(
        "title: t\nevidence: published\nhardware: h\nassumed: { source: s, profiler: none }\n"
    )
    groups, faults = read_published(raw, declaration)
    assert not faults
    path = Path(raw) / "campaign.nc"
    storage.write_tree(groups, path, {"campaign": "bulk", "faults": []})
    return Campaign("bulk", storage.read_tree(path), "t", "published", "h")


def test_panel__medians_of_what_is_not_marked(campaign: Campaign) -> None:
    found = pages.panel(
        campaign, title="HPL", variable="peak_share", x="cpu", by="interconnect",
        select={"application": "hpl"}, order=["B", "A"], names={"ib": "InfiniBand"},
    )  # fmt: skip
    rows = found.table[["cpu", "series", "median", "n"]].to_numpy().tolist()
    assert rows == [["B", "InfiniBand", 75.0, 1], ["A", "1GbE", 50.0, 1], ["A", "InfiniBand", 85.0, 2]]
    assert found.unit == "%"
    assert found.sentence == ("HPL: B InfiniBand 75 % (n = 1); A InfiniBand 85 % (n = 2), 1GbE 50 % (n = 1).")
    assert pages.draw_panel(found, campaign).axes


def test_panel__work_for_a_watt_is_of_runs_that_state_their_power(campaign: Campaign) -> None:
    found = pages.panel(campaign, title="W", variable="rate_per_watt", x="cpu", by="interconnect")
    assert found.table["median"].tolist() == [1.0, 2.0, 2.0]


def test_panel__along_numbers_and_per_node(campaign: Campaign) -> None:
    found = pages.panel(
        campaign, title="Rate", variable="figure_of_merit", x="nodes", by="interconnect", per="nodes",
        select={"interconnect": "ib", "application": "hpl"},
    )  # fmt: skip
    assert found.table["median"].tolist() == [21.25, 7.5]
    assert found.sentence == "Rate: InfiniBand 21.2 Gflop/s at 4 nodes, 7.5 Gflop/s at 8 nodes."


def test_panel__along_the_message_size(campaign: Campaign) -> None:
    found = pages.panel(campaign, title="Latency", variable="latency", x="size", by="interconnect")
    assert found.table["median"].tolist() == [1.5, 180.0]
    assert found.sentence == "Latency: InfiniBand 1.5 µs at 8 B."
    assert pages.draw_panel(found, campaign).axes


def test_panel__without_a_run_says_so(campaign: Campaign) -> None:
    with pytest.raises(NotCoveredError, match="has a idle_power for Idle"):
        pages.panel(campaign, title="Idle", variable="idle_power", x="cpu", by="interconnect")


def test_look_ups__are_counted_and_the_contradicted_ones_are_named(tmp_path: Path) -> None:
    rows = [*repeats([10.0] * 6, mpi="a"), *repeats([12.0] * 6, mpi="b")]
    asked = claim(tmp_path, COMPARED)
    base = verdict(asked, by_hand(rows))
    words = ("a source confirms it", "a blog confirms it", "a source contradicts it", "cannot tell")
    found = [
        replace(base, distance="looked-up", verdict=word, statement=f"s{at}") for at, word in enumerate(words)
    ]
    first, *wrong = pages.look_up_sentences([*found, base])
    assert first == "Of 4 statements that were looked up, sources confirm 2, contradict 1 and leave 1 open."
    assert len(wrong) == 1
    assert wrong[0].startswith("“s2”: a source contradicts it; no selected run")
    assert pages.look_up_sentences([base]) == []


def test_stated_tables__are_those_of_a_campaign_of_figures(campaign: Campaign) -> None:
    assert pages.stated_tables(campaign) == []


@pytest.mark.datasets("published-specifications")
def test_stated_tables__have_a_source_for_every_figure() -> None:
    stated, sources = pages.stated_tables(load_campaign("published-specifications"))
    assert len(stated) >= 20
    assert set(stated["source"]) <= set(sources["source"])
