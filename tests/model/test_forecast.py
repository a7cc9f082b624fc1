"""Forecasts: a reduction by hand, which way they move, how far they are widened, where they stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.base.models import one_or_more
from analysis.estimates.campaign import load_campaign
from analysis.model.forecast import CLAIMED, SPREAD, forecast, forecast_error, inputs_of
from analysis.model.inputs import Inputs, LinkFacts, MachineFacts, ModelledApplication, Range
from analysis.pages import forecast as page
from analysis.schema.campaigns import CampaignFile
from benchmarks.model import validation

INPUTS = inputs_of(project.root())
DECLARED = models.load(CampaignFile, project.declaration("modelled")).model
assert DECLARED is not None
WIDENING = {"default": 0.3, "1gbe": 0.4, "nodes": 0.95}
IVB = {
    "model": "ls-dyna",
    "cluster": "lsdyna2014-ivb",
    "case": "3cars",
    "nodes": 32,
    "interconnect": "ib-fdr",
}
ATOM = {"model": "openatom", "cluster": "openatom2010", "case": "water-32m-70ry", "nodes": 16} | {
    "interconnect": "ib-ddr"
}
COUNTS = [128, 256, 512, 1024, 2048]


def _fixed(value: float) -> Range:
    return Range(low=value, high=value, unit="", source="a test")


def _link(bandwidth: float, latency: float) -> LinkFacts:
    facts = {"bandwidth": _fixed(bandwidth), "latency": _fixed(latency)}
    return LinkFacts(title="a link", kind="rdma", header=42, source="a test", **facts)


def _by_hand() -> Inputs:
    """Reductions of 8 B, 0.4 µs own, 0.1 µs adapter; a link of 1 µs and 1 GB/s, one of 0.5 µs and 2 GB/s."""
    ranges = {"own.rdma": 4e-7, "nic.rdma": 1e-7, "latency.shared-memory": 5e-7, "one": 1, "eight": 8}
    ranges |= {"bandwidth.shared-memory": 1e9}
    machine = MachineFacts(
        title="a cluster", report="none", nodes=32, sockets=1, cores_per_node=1, cpu="one", source="a test"
    )
    reduction = ModelledApplication.model_validate(
        {
            "application": "osu",
            "unit": "calls",
            "cost": {},
            "cases": {"call": {"work": 1, "source": "a test"}},
            "structure": {"allreduce": {"count": "one", "bytes": "eight"}},
        }
    )
    links = {"old": _link(1e9, 1e-6), "new": _link(2e9, 5e-7)}
    return Inputs(
        {name: _fixed(value) for name, value in ranges.items()}, links, {"here": machine}, {"osu": reduction}
    )


def test_forecast__a_reduction_by_hand() -> None:
    cell = {"model": "osu", "cluster": "here", "case": "call", "nodes": 32, "interconnect": "old"}
    (row,) = forecast(_by_hand(), WIDENING, [cell], ["new"], [2048]).to_dict("records")
    # A hop: 0.4 + 0.1 + 1 + 50 B at 1 GB/s = 1.55 µs; 0.4 + 0.1 + 0.5 + 0.025 = 1.025 µs. 5 hops become 11.
    assert row["ratio"] == pytest.approx(1.55 / 1.025)
    assert row["speedup"] == pytest.approx(5 * 1.55 / (11 * 1.025))
    # 2048 nodes are 64 times 32: 8 twice, so 1.3 three times over.
    assert row["ratio_most"] == pytest.approx(1.3**3 * 1.55 / 1.025)
    assert row["ratio_least"] == pytest.approx(1.55 / 1.025 / 1.3**3)


def test_forecast_error__as_claims_up_to_32_nodes_and_then_with_distance() -> None:
    def error(before: int, nodes: int, *links: str) -> float:
        return forecast_error(WIDENING, links or ("ib-fdr", "ib-hdr"), before, nodes)

    assert error(4, 4) == error(32, 32) == pytest.approx(0.3)
    assert error(8, 8, "ib-fdr", "1gbe") == pytest.approx(0.4)
    assert error(256, 256) == pytest.approx(1.3**2 - 1)
    # Between numbers of nodes the greater of both: 0.95 up to 32 times as many, then again.
    assert error(1, 32) == error(32, 1) == pytest.approx(0.95)
    assert error(2, 2 * 32**2) == pytest.approx(1.95**2 - 1)
    grows = [error(16, nodes) for nodes in (32, *COUNTS)]
    assert grows == sorted(grows)
    assert grows[-1] > grows[0]


@pytest.mark.datasets(*validation.CAMPAIGNS)
def test_forecast_error__begins_where_the_validation_ends() -> None:
    """Steps over links were compared on two nodes, speedups over InfiniBand to 32 times as many nodes."""
    campaigns = {name: load_campaign(name) for name in validation.CAMPAIGNS}
    found = validation.validate(campaigns, project.root())
    assert set(found.steps["what"]) == {"HPCG 16³", "HPCG 16³, over the open link"}
    assert load_campaign("vm-hpcg").runs["nodes"].max() == 2
    rdma = found.scaling["kind"] == "rdma"
    nodes = found.scaling.loc[rdma, "nodes"].str.split(" to ", expand=True).astype(int)
    assert (nodes[1] / nodes[0]).max() == SPREAD
    assert max(max(one_or_more(group.nodes)) for group in DECLARED.cells) == CLAIMED


@pytest.mark.parametrize("cell", [IVB, ATOM])
def test_forecast__a_faster_link_and_more_nodes_move_it_the_right_way(cell: dict[str, Any]) -> None:
    old = INPUTS.links[cell["interconnect"]]
    better = {"bandwidth": _fixed(2 * old.bandwidth.high), "latency": _fixed(old.latency.low / 2)}
    worse = {"bandwidth": _fixed(old.bandwidth.low / 2), "latency": _fixed(2 * old.latency.high)}
    links = {"better": old.model_copy(update=better), "worse": old.model_copy(update=worse)}
    found = forecast(INPUTS.with_links(links), WIDENING, [cell], list(links), COUNTS)
    some = found[found["sense"]].set_index("link")
    assert (some.loc["better", "ratio_low"] >= 1).all()
    assert (some.loc["worse", "ratio_high"] <= 1).all()
    assert (some.loc["better", "ratio"] > some.loc["worse", "ratio"].to_numpy()).all()
    # More nodes share the work: in the middle faster, but less than in proportion.
    middle = some.loc["better", "speedup"].to_numpy()
    assert (np.diff(middle) > 0).all()
    assert (middle[1:] / middle[:-1] < 2).all()


def test_forecast__stops_where_parts_are_too_small() -> None:
    found = forecast(INPUTS, WIDENING, [IVB, ATOM], ["ib-ndr"], COUNTS)
    elements, waves = found[found["model"] == "ls-dyna"], found[found["model"] == "openatom"]
    # 794,780 elements on 20 cores per node: 38.8 on 1,024 nodes, 19.4 on 2,048, less than 3 cubed.
    assert elements["part"].iloc[-2:].tolist() == pytest.approx([794_780 / 20_480, 794_780 / 40_960])
    assert elements["sense"].tolist() == [True] * 4 + [False]
    # At least 1e8 B among at most all of 8 ranks per node: 95 B on 128 nodes, 24 on 256, 6 on 512.
    assert waves["sense"].tolist() == [True, True, False, False, False]
    assert waves["part"].iloc[0] == pytest.approx(1e8 / 1024**2, rel=0.25)
    values = [column for column in found if str(column).startswith(("ratio", "speedup"))]
    assert found.loc[~found["sense"], values].isna().all(axis=None)
    assert found.loc[found["sense"], values].notna().all(axis=None)


def test_forecast__widened_ends_lie_outside_of_the_draws_and_twice_is_the_same() -> None:
    first, again = (
        forecast(INPUTS, DECLARED.widening, [IVB], ["ib-hdr", "ib-ndr"], COUNTS) for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    some = first[first["sense"]]
    for name in ("ratio", "speedup"):
        ends = some[[f"{name}{end}" for end in ("_least", "_low", "", "_high", "_most")]].to_numpy()
        assert (np.diff(ends, axis=1) > 0).all()


def test_page__of_a_campaign_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="vm-hpcg: is not modelled"):
        page.forecasts("vm-hpcg", {"LS-DYNA": list(IVB.values())}, ["ib-hdr"], COUNTS)


def test_page__says_that_it_is_a_forecast_and_what_the_bands_decide() -> None:
    cells = {"LS-DYNA": list(IVB.values()), "OpenAtom": list(ATOM.values())}
    found = page.forecasts("modelled", cells, ["ib-hdr", "ib-ndr"], COUNTS)
    text = " ".join(page.sentences(found))
    assert text.startswith("This is a forecast, not evidence: no verdict rests on it.")
    assert "of 12 widened bands" in text
    assert "8 of 20 cells" in text
    assert len(page.table(found)) == 8
    fig = page.draw(found)
    assert any(page.MARK in one.get_text() for one in fig.texts)
    ahead = found.assign(ratio_least=1.01)
    assert "12 put the newer link ahead" in " ".join(page.sentences(ahead))
