"""The model beside what was seen: the token bucket by hand, and the widening that follows from the errors."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.base import models, project
from analysis.estimates.campaign import load_campaign
from analysis.schema.campaigns import CampaignFile, widened_by
from benchmarks.model import curves, validation

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/model-validation.md"
needs_datasets = pytest.mark.datasets(*validation.CAMPAIGNS)


def test_token_bucket__by_hand() -> None:
    # 10 steps of 1000 B in 1 µs each; at 1e8 B/s 10 µs each, less 4000 B that were in the bucket.
    assert validation.token_bucket(1e-6, 1000, 1e8) == pytest.approx(1e-5)
    assert validation.token_bucket(1e-6, 1000, 1e8, burst=4000, steps=10) == pytest.approx(6e-6)
    assert validation.token_bucket(1e-6, 1000, 1e8, burst=1e6, steps=10) == 1e-6
    assert validation.token_bucket(1e-3, 1000, 1e8) == 1e-3


def test_fitted__own_time_latency_and_copying_by_hand() -> None:
    # 2 x 3 + 4 µs and 26 x 3 + 4 µs; 2 x 32768 B at 1 GB/s, 2 x 3 and 4 µs.
    columns = pd.MultiIndex.from_tuples([("veth-open", 2), ("veth-open", 26)])
    times = pd.DataFrame([[10e-6, 82e-6], [75.536e-6, 1.0]], index=[8, 32768], columns=columns)
    found = validation.fitted(times)
    assert (found.own[0], found.latency[0]) == pytest.approx((3e-6, 4e-6))
    assert found.copying == pytest.approx([1e9])
    assert np.isinf(found.bandwidth)
    # Within a node 2 x 0.1 + 0.2 µs and 26 x 0.1 + 0.2 µs: a message takes 0.2 µs, and 2 x 32768 B at 8 GB/s.
    times["shared-memory", 2], times["shared-memory", 26] = [0.4e-6, 8.592e-6], [2.8e-6, 1.0]
    found = validation.fitted(times)
    assert (found.inside_latency[0], found.inside_bandwidth[0]) == pytest.approx((2e-7, 8e9))


def _curve(name: str, kind: str, *rows: tuple[str, float]) -> list[dict[str, object]]:
    return [{"curve": name, "kind": kind, "step": step, "error": error} for step, error in rows]


def test_band_error__the_error_is_from_the_nearer_end_of_the_band() -> None:
    drawn = np.array([1.0, 2.0, 4.0])
    assert curves.band_error(drawn, 3.0)["error"] == 0.0
    assert curves.band_error(drawn, 5.0)["error"] == pytest.approx(-0.2)
    assert curves.band_error(drawn, 0.5) == {
        "low": 1.0,
        "predicted": 2.0,
        "high": 4.0,
        "measured": 0.5,
        "error": 1.0,
    }


def test_widening__greatest_factor_beyond_a_band_rounded_up() -> None:
    steps = pd.DataFrame({"link": ["ib-fdr", "1gbe", "veth-1gbit"], "error": [1 / 1.12 - 1, 0.3, 0.0]})
    rows = _curve("a", "rdma", ("next", 0.51), ("first", -0.5)) + _curve("b", "tcp", ("next", -0.2))
    found = curves.widening(steps, pd.DataFrame(rows), ["1gbe"])
    assert found == {
        "default": 0.15, "1gbe": 0.3, "next": 0.55, "next.1gbe": 0.25, "nodes": 1.0, "nodes.1gbe": 0.25,
    }  # fmt: skip


def test_cross_validation__compares_a_curve_with_the_others_of_its_kind() -> None:
    rows = _curve("a", "rdma", ("next", 0.32), ("next", 0.1), ("first", 9.0))
    rows += (
        _curve("b", "rdma", ("next", 0.22))
        + _curve("c", "tcp", ("next", 0.4))
        + _curve("d", "tcp", ("next", 0))
    )
    found = curves.cross_validation(pd.DataFrame(rows)).set_index("curve")
    assert found["widened_by"].to_dict() == {"a": 0.25, "b": 0.35, "c": 0.0, "d": 0.4}
    assert found["covered"].to_dict() == {"a": 1, "b": 1, "c": 0, "d": 1}


def test_scores__bands_of_the_other_systems_and_the_distance_of_what_lies_outside_by_hand() -> None:
    """Of two systems each has the other's band: 2 is seen where both predict 2, and 1 from 16 nodes on."""
    rows = [
        {"curve": f"HPCG 16³, {system}", "kind": "rdma", "step": "next", "nodes": nodes,
         "predicted": predicted, "measured": measured}
        for system, nodes, predicted, measured in (
            ("A", "1 to 2", 2.0, 2.0), ("A", "2 to 4", 2.0, 2.0), ("B", "1 to 2", 2.0, 2.0),
            ("B", "16 to 32", 1.0, 1.0),
        )
    ]  # fmt: skip
    found = curves.scores(pd.DataFrame(rows)).set_index("rival")
    assert found["covered"].to_dict() == {"model": "4 of 4 (100 %)", "time ~ 1/nodes": "3 of 4 (75 %)"}
    assert found.loc["time ~ 1/nodes", "covered_from_16_nodes"] == "0 of 1 (0 %)"
    # Of 1/nodes: B's band for A is ln 2 wide and holds both; A's for B has no width and misses ln 2 once.
    assert found["score"].to_dict() == pytest.approx({"model": 0.0, "time ~ 1/nodes": 22 * np.log(2) / 4})


def test_curve__steps_to_the_next_and_from_the_fewest() -> None:
    measured = {1: 8.0, 2: 4.0, 4: 1.0}
    predicted = {1: np.array([8.0]), 2: np.array([4.0]), 4: np.array([2.0])}
    rows = curves.table([curves.Curve("x", "ib-fdr", "rdma", measured, predicted)])
    found = rows[["step", "nodes", "predicted", "measured"]].itertuples(index=False, name=None)
    assert list(found) == [
        ("first", "1 to 4", 4.0, 8.0),
        ("next", "1 to 2", 2.0, 2.0),
        ("next", "2 to 4", 2.0, 4.0),
    ]


def test_widened_by__the_worst_link_and_shared_work() -> None:
    known = {"default": 0.2, "1gbe": 0.4, "nodes": 0.9}
    assert widened_by(known, ["ib-fdr"]) == 0.2
    assert widened_by(known, ["ib-fdr", "1gbe"]) == 0.4
    assert widened_by(known, ["ib-fdr"], shared_work=True) == 0.9
    assert widened_by({}, ["ib-fdr"]) == 0.0
    assert widened_by(known | {"nodes.1gbe": 2.5}, ["ib-fdr", "1gbe"], shared_work=True) == 2.5


@needs_datasets
def test_validate__gives_the_declared_widening_and_the_page() -> None:
    found = validation.validate({name: load_campaign(name) for name in validation.CAMPAIGNS}, project.root())
    declared = models.load(CampaignFile, project.declaration("modelled")).model
    assert declared is not None
    assert {name: declared.widening[name] for name in found.widening} == found.widening
    # `snakemake model-validation` makes the page anew.
    assert validation.page(found) == PAGE.read_text(encoding="utf-8")


def test_page__has_the_declared_widening() -> None:
    declared = models.load(CampaignFile, project.declaration("modelled")).model
    assert declared is not None
    rows = dict(re.findall(r"^\| ([^|]+) \| (\d+) % \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert rows == {
        text: f"{100 * declared.widening[name]:.0f}" for name, text in validation._WIDENED.items()
    }


def test_exchange_table__a_row_per_size() -> None:
    rows = [("2 messages each way", "open", 8, 7.0, 7.25), ("2 messages each way", "open", 16, 8.0, 9.0),
            ("26 messages each way", "open", 8, 75.06, 1234.5)]  # fmt: skip
    table = validation.exchange_table(validation._with_error(rows))
    assert list(validation.markdown(table.fillna("")))[:3] == [
        "| size (B) | open, 2 | open, 26 |",
        "|---|---|---|",
        "| 8 | 7, 7.25 | 75.1, 1,230 |",
    ]


@needs_datasets
def test_exchanges__small_ones_on_the_open_link_are_predicted() -> None:
    found = validation.exchanges(load_campaign("vm-exchange"))
    small = found[(found["link"] == "veth-open") & (found["size"] <= 1024)]
    assert small["error"].between(-0.1, 0.1).all()
    assert len(found) == 2 * 3 * 14


@needs_datasets
def test_exchanges__four_ranks_that_share_a_slow_link_are_predicted() -> None:
    found = validation.exchanges(load_campaign("vm-exchange"), validation.SHARED)
    assert len(found) == 2 * 3 * 14
    slow = found[(found["link"] == "veth-1gbit") & found["size"].between(2048, 32768)]
    fast = found[(found["link"] == "veth-10gbit") & found["size"].between(8192, 65536)]
    assert slow["error"].between(-0.1, 0.05).all()
    assert fast["error"].between(-0.15, 0.1).all()


def test_sent__two_ranks_a_node_have_a_third_of_their_messages_within() -> None:
    sent = validation._sent(24, 100, 2)
    assert (sent.messages, sent.payload, sent.inside) == (16, 1600, 8)
    assert (sent.node_messages, sent.node_payload) == (32, 3200)
