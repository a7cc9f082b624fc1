"""The distance of comparisons from their claims, against what was declared by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.base import models, project
from analysis.claims import Verdict
from analysis.claims.distance import LevelDistance, worst
from analysis.estimates.campaign import Campaign
from analysis.schema.campaigns import CampaignFile, FactorDistance, StandIn
from tests.estimates.hand import campaign, claim, repeats, verdict

ASKED = """quantity: speedup
variable: elapsed
about: {about}
conditions: {conditions}
compare: {{ factor: interconnect, treatment: fast, baseline: slow }}
expect: {{ relation: at-least, value: {value} }}
"""


def links(**factors: Any) -> Campaign:
    """Six runs a link: 10 s over the fast one, 20 s over the slow one, of which half is MPI under IPM."""
    common = {"cluster": "own", "mpi": "Open MPI", "profiler": "none", **factors}
    rows = repeats([10.0] * 6, interconnect="fast", **common)
    rows += repeats([20.0] * 6, interconnect="slow", **common)
    rows += repeats([21.0], interconnect="slow", mpi_fraction=0.5, **common | {"profiler": "ipm"})
    rows += repeats([29.0], interconnect="slow", mpi_fraction=0.9, **common | {"profiler": "mpip"})
    return replace(campaign(rows), profiler="ipm")


def told(
    folder: Path, on: Campaign, conditions: str = "{}", about: str = "machine", value: float = 1.5
) -> Verdict:
    text = ASKED.format(about=about, conditions=conditions, value=value)
    return verdict(claim(folder, "select: { profiler: none }\n" + text), on)


def away(found: Verdict) -> dict[str, str]:
    return {one["factor"]: one["distance"] for one in found.distances}


def test_distance__what_the_claim_names_is_the_same(tmp_path: Path) -> None:
    got = told(tmp_path, links(), "{ cluster: own, nodes: 1, mpi: [MPICH, Open MPI] }")
    assert away(got) == {"interconnect": "same", "cluster": "same", "nodes": "same", "mpi": "same"}
    assert (got.distance, got.verdict, got.estimate) == ("same", "holds", 2.0)


def test_distance__another_count_is_scaled_and_the_worst_factor_counts(tmp_path: Path) -> None:
    got = told(tmp_path, links(), "{ cluster: own, nodes: 32 }")
    assert (got.distance, got.verdict) == ("scaled", "seen at this scale")
    stands = {"interconnect": {"fast": StandIn.model_validate(
        {"is": "fast", "distance": "analogue", "differs": "a wire"}, strict=True
    )}}  # fmt: skip
    got = told(tmp_path, replace(links(), stand_ins=stands), "{ cluster: own, nodes: 32 }")
    assert away(got) == {"interconnect": "analogue", "cluster": "same", "nodes": "scaled"}
    assert (got.distance, got.verdict) == ("analogue", "an analogue shows it")


def test_distance__a_range_of_counts_is_met_or_scaled(tmp_path: Path) -> None:
    assert told(tmp_path, links(nodes=4), "{ nodes: { min: 2, max: 4 } }").distance == "same"
    assert told(tmp_path, links(nodes=8), "{ nodes: { min: 2, max: 4 } }").distance == "scaled"


def test_distance__what_the_report_does_not_say_is_never_the_same(tmp_path: Path) -> None:
    got = told(tmp_path, links(), "{ nodes: not stated }")
    assert got.distances[1]["why"] == "the report does not state it"
    assert got.distance == "scaled"


def test_distance__names_every_level_that_is_as_far(tmp_path: Path) -> None:
    stands = {"interconnect": {
        wanted: StandIn.model_validate({"is": wanted, "distance": "analogue", "differs": why}, strict=True)
        for wanted, why in (("fast", "a wire"), ("slow", "a string"))
    }}  # fmt: skip
    (link, *_) = told(tmp_path, replace(links(), stand_ins=stands), "{ cluster: own }").distances
    assert (link["found"], link["wanted"]) == ("fast, slow", "fast, slow")
    assert link["why"] == "a wire; a string"


def test_distance__calls_a_level_as_the_campaign_does(tmp_path: Path) -> None:
    own = replace(links(), names={"interconnect": {"fast": "the open link"}})
    (link, *_) = told(tmp_path, own, "{ cluster: own }").distances
    assert (link["found"], link["distance"]) == ("the open link, slow", "same")


@pytest.mark.parametrize(
    "path", sorted(project.declaration("x").parent.glob("*.yaml")), ids=lambda one: one.stem
)
def test_campaigns__what_no_source_states_is_never_the_same(path: Path) -> None:
    declared = models.load(CampaignFile, path)
    parts = [declared.levels, *(view.levels for view in declared.views)]
    unknown = [
        (factor, wanted, stand_in.distance)
        for levels in parts
        for factor, by_level in levels.items()
        for wanted, stand_in in by_level.items()
        if stand_in.is_ == ""
    ]
    assert [one for one in unknown if one[2] == "same"] == []


def test_distance__nothing_may_be_undeclared(tmp_path: Path) -> None:
    got = told(tmp_path, links(), "{ cluster: theirs }")
    assert (got.verdict, got.distance) == ("not tested", "")
    assert got.reason == (
        "nothing declares how far cluster own of hand is from theirs: "
        "declare it under `apart` or `levels` of the campaign"
    )
    apart = {"cluster": FactorDistance(distance="analogue", why="a drawing of theirs")}
    got = told(tmp_path, replace(links(), apart=apart), "{ cluster: theirs }")
    assert (got.distance, got.distances[1]["why"]) == ("analogue", "a drawing of theirs")


@pytest.mark.parametrize(("ranks", "distance"), [(1, "same"), (2, "scaled")])
def test_distance__any_machine_shows_what_software_does(tmp_path: Path, ranks: int, distance: str) -> None:
    # The cluster is declared nowhere: for a claim about software it does not matter; the ranks do.
    conditions = f"{{ cluster: theirs, nodes: {ranks}, ranks_per_node: 1 }}"
    assert told(tmp_path, links(), conditions, about="software").distance == distance


def test_bound__half_of_the_time_in_mpi_bounds_a_link_by_two(tmp_path: Path) -> None:
    # 1 / (1 - 0.5); the profiler that is not the campaign's own would give 10.
    got = told(tmp_path, links(), value=3)
    assert (got.bound, got.distance, got.verdict) == (2.0, "out of reach", "out of reach here")
    assert got.reason.startswith("without any time in MPI a run would be 2 times as fast here")


def test_bound__does_not_excuse_what_could_have_been_shown(tmp_path: Path) -> None:
    slower = replace(links(), stand_ins={"interconnect": {
        "fast": StandIn.model_validate({"is": "slow"}, strict=True),
        "slow": StandIn.model_validate({"is": "fast"}, strict=True),
    }})  # fmt: skip
    got = told(tmp_path, slower, value=1.9)
    assert (got.bound, got.distance, got.verdict) == (2.0, "same", "does not hold")


def test_bound__only_where_mpi_is_what_the_factor_moves(tmp_path: Path) -> None:
    text = ASKED.format(about="machine", conditions="{}", value=3).replace("interconnect", "placement")
    rows = repeats([10.0] * 6, placement="fast") + repeats([20.0] * 6, placement="slow", mpi_fraction=0.5)
    got = verdict(claim(tmp_path, text), campaign(rows))
    assert (got.bound, got.verdict) == (None, "holds in direction, smaller")


def told_with(
    folder: Path,
    effect: str,
    value: float,
    fast: tuple[float, ...] = (10.0,) * 6,
    slow: tuple[float, ...] = (20.0,) * 6,
) -> Verdict:
    stands = {"interconnect": {"slow": StandIn.model_validate(
        {"is": "slow", "distance": "analogue", "differs": "a faster string", "effect": effect}, strict=True
    )}}  # fmt: skip
    sides = (("fast", fast), ("slow", slow))
    rows = [row for link, of in sides for row in repeats(of, interconnect=link, profiler="none")]
    return told(folder, replace(campaign(rows), stand_ins=stands), value=value)


@pytest.mark.parametrize(
    ("effect", "value", "word"),
    [
        # The slow link is twice as slow: short of 3 times, and more than 1.5.
        ("", 3, "an analogue shows the direction, smaller"),
        ("smaller", 3, "an analogue shows the direction"),
        ("larger", 3, "an analogue shows the direction, smaller"),
        ("smaller", 1.5, "an analogue shows it"),
        ("larger", 1.5, "an analogue shows the direction"),
        ("either", 1.5, "an analogue shows the direction"),
        ("larger", 1, "an analogue shows it"),
    ],
)
def test_effect__of_a_substitute_is_no_size_of_the_claim(
    tmp_path: Path, effect: str, value: float, word: str
) -> None:
    got = told_with(tmp_path, effect, value)
    assert got.verdict == word
    way = "smaller" if value > 2 else "larger"
    alone = f"the interconnect of these runs alone {'could' if effect == 'either' else 'would'} make it {way}"
    assert got.reason.endswith(alone) == (word == "an analogue shows the direction")


@pytest.mark.parametrize(
    ("effect", "word", "turned"),
    [
        ("", "an analogue does not show it", "an analogue does not show it"),
        ("smaller", "cannot tell", "an analogue does not show it"),
        ("either", "cannot tell", "cannot tell"),
    ],
)
def test_effect__rules_no_claim_out(tmp_path: Path, effect: str, word: str, turned: str) -> None:
    alike = (20.0, 20.1, 19.9, 20.2, 19.8, 20.0)
    assert told_with(tmp_path, effect, 3, alike, alike).verdict == word
    # An effect that is turned round is no weaker one; only a substitute that can do both turns it.
    assert told_with(tmp_path, effect, 3, (20.0,) * 6, (10.0,) * 6).verdict == turned


@pytest.mark.parametrize(
    ("effect", "expect", "word"),
    [
        # A share of 64 %; a value beyond a bound shows nothing if the substitute alone puts it there.
        ("", "at-least, value: 50", "an analogue shows it"),
        ("smaller", "at-least, value: 50", "an analogue shows it"),
        ("larger", "at-least, value: 50", "cannot tell"),
        ("either", "at-least, value: 50", "cannot tell"),
        ("larger", "at-most, value: 70", "an analogue shows it"),
        ("smaller", "at-most, value: 70", "cannot tell"),
        ("larger", "range, low: 60, high: 70", "an analogue shows it"),
        ("larger", "range, low: 19, high: 21", "cannot tell"),
        ("smaller", "range, low: 19, high: 21", "an analogue does not show it"),
    ],
)
def test_effect__of_a_substitute_shows_no_bound(tmp_path: Path, effect: str, expect: str, word: str) -> None:
    text = f"""quantity: level
variable: mpi_fraction
scale: 100
about: machine
conditions: {{ interconnect: slow }}
expect: {{ relation: {expect} }}
"""
    stand_in = {"is": "string", "distance": "analogue", "differs": "a string", "effect": effect}
    rows = repeats([10.0] * 6, interconnect="string", mpi_fraction=0.64)
    stands = {"interconnect": {"slow": StandIn.model_validate(stand_in, strict=True)}}
    got = verdict(claim(tmp_path, text), replace(campaign(rows), stand_ins=stands))
    assert (got.verdict, got.estimate) == (word, pytest.approx(64))


def test_distance__a_range_of_nodes_that_the_runs_do_not_reach(tmp_path: Path) -> None:
    text = (
        "quantity: trend\nvariable: elapsed\nabout: machine\n"
        "compare: { factor: nodes, order: { min: 1, max: 32 }, varying: [ranks] }\n"
        "expect: { relation: falling }\n"
    )
    for last, factors in ((16, {"nodes": "scaled"}), (32, {})):
        rows = [row for n in (4, 8, last) for row in repeats([100.0 / n] * 6, nodes=n, ranks=n)]
        got = verdict(claim(tmp_path, text), campaign(rows))
        assert away(got) == factors
    rows = [row for n in (4, 8, 16) for row in repeats([100.0 / n] * 6, nodes=n, ranks=n)]
    (short,) = verdict(claim(tmp_path, text), campaign(rows)).distances
    assert (short["wanted"], short["found"], short["why"]) == (
        "up to 32 nodes", "up to 16 nodes", "the runs end before"
    )  # fmt: skip


def test_worst__no_condition_is_no_distance() -> None:
    far = [LevelDistance("nodes", "1", "2", one, "") for one in ("same", "analogue", "scaled")]
    assert [worst(far[:n]) for n in range(4)] == ["same", "same", "analogue", "analogue"]
