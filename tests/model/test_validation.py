"""The model beside what was seen: the token bucket by hand, and the widening that follows from the errors."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.base import models, project
from analysis.base.campaigns import CampaignFile, widened_by
from analysis.estimates.campaign import load_campaign
from analysis.pages import validation

NAMES = ("vm-exchange", "vm-hpcg", "published", "published-openfoam")
needs_datasets = pytest.mark.skipif(
    not all((project.processed(name) / "campaign.nc").is_file() for name in NAMES),
    reason="no datasets: run make datasets",
)


def test_token_bucket__by_hand() -> None:
    # 10 steps of 1000 B in 1 µs each; at 1e8 B/s 10 µs each, less 4000 B that were in the bucket.
    assert validation.token_bucket(1e-6, 1000, 1e8) == pytest.approx(1e-5)
    assert validation.token_bucket(1e-6, 1000, 1e8, burst=4000, steps=10) == pytest.approx(6e-6)
    assert validation.token_bucket(1e-6, 1000, 1e8, burst=1e6, steps=10) == 1e-6
    assert validation.token_bucket(1e-3, 1000, 1e8) == 1e-3


def test_fitted__own_time_latency_and_bandwidth_by_hand() -> None:
    # 2 x 3 + 4 µs and 26 x 3 + 4 µs; 2 x 65536 B at 1 GB/s and 4 µs.
    columns = pd.MultiIndex.from_tuples([("veth-open", 2), ("veth-open", 26)])
    times = pd.DataFrame([[10e-6, 82e-6], [135.072e-6, 1.0]], index=[8, 65536], columns=columns)
    found = validation.fitted(times)
    assert (found.own[0], found.latency[0]) == pytest.approx((3e-6, 4e-6))
    assert found.bandwidth[0] == pytest.approx(1e9)


def test_widening__greatest_factor_either_way_rounded_up() -> None:
    def table(*rows: tuple[str, float, float]) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=["link", "predicted", "seen"])

    steps = table(("ib-fdr", 1.0, 1.12), ("1gbe", 1.3, 1.0), ("veth-1gbit", 1.0, 1.0))
    scaling = table(("ib-fdr", 1.0, 1.51), ("1gbe", 1.2, 1.0))
    assert validation.widening(steps, scaling) == {"default": 0.15, "1gbe": 0.3, "nodes": 0.55}


def test_widened_by__the_worst_link_and_shared_work() -> None:
    known = {"default": 0.2, "1gbe": 0.4, "nodes": 0.9}
    assert widened_by(known, ["ib-fdr"]) == 0.2
    assert widened_by(known, ["ib-fdr", "1gbe"]) == 0.4
    assert widened_by(known, ["ib-fdr"], shared_work=True) == 0.9
    assert widened_by({}, ["ib-fdr"]) == 0.0


@needs_datasets
def test_hold__declared_widening_is_what_was_seen() -> None:
    held = validation.hold({name: load_campaign(name) for name in NAMES}, project.root())
    declared = models.load(CampaignFile, project.declaration("modelled")).model
    assert declared is not None
    assert {name: declared.widening[name] for name in held.widening} == held.widening


@needs_datasets
def test_exchanges__small_ones_on_the_open_link_are_foretold() -> None:
    found = validation.exchanges(load_campaign("vm-exchange"))
    small = found[(found["link"] == "veth-open") & (found["size"] <= 1024)]
    assert small["error"].between(-0.2, 0.05).all()
    assert len(found) == 2 * 3 * 14
