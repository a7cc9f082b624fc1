"""The data of the model: sources of ranges, and which way a band moves when a fact is another one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis.base import models, project
from analysis.claims import bands
from analysis.claims.model import Claim, load_report
from analysis.datasets.campaign import TABLES, ingest
from analysis.estimates.campaign import Campaign
from analysis.model import ASSUMED
from analysis.model.campaign import Cell, runs, step
from analysis.model.draws import Draws, draw
from analysis.model.inputs import Inputs, LinkFacts, Range, load
from analysis.schema.campaigns import CampaignFile, ModelledCampaign
from analysis.schema.registry import to_dataset

BASE = project.root()
DECLARED = models.load(CampaignFile, project.declaration("modelled"))


@cache
def _inputs() -> Inputs:
    return load(BASE)


def _model() -> ModelledCampaign:
    assert DECLARED.model is not None
    return DECLARED.model


def _claim(report: str, name: str) -> Claim:
    return next(one for one in load_report(project.claims(report)).claims if one.id == f"{report}-{name}")


def _campaign(inputs: Inputs, *cells: int, draws: int = 100) -> Campaign:
    """Make the campaign of some groups of cells of the declared one."""
    declared = _model().model_copy(update={"draws": draws, "cells": [_model().cells[at] for at in cells]})
    found = runs(inputs, declared, "modelled")
    groups = {kind: to_dataset([], kind) for kind in TABLES} | found
    tree = xr.DataTree.from_dict(groups)
    return Campaign(
        "modelled", tree, "", "modelled", "", stand_ins=DECLARED.levels, widening=_model().widening
    )


def _groups(cluster: str, **factors: str | int) -> list[int]:
    """Find the groups of cells of a cluster with some levels."""
    return [
        at
        for at, group in enumerate(_model().cells)
        if cluster in group.cluster and all(group.factors.get(k) == v for k, v in factors.items())
    ]


def _with_link(name: str, **facts: float) -> Inputs:
    """Change facts of a link, each a range of one value."""
    known = _inputs()
    fixed = {k: Range(low=v, high=v, unit="", source="a test") for k, v in facts.items()}
    changed: LinkFacts = known.links[name].model_copy(update=fixed)
    return replace(known, links={**known.links, name: changed})


def _with_range(name: str, low: float, high: float) -> Inputs:
    known = _inputs()
    changed = known.ranges[name].model_copy(update={"low": low, "high": high})
    return replace(known, ranges={**known.ranges, name: changed})


# ---- sources ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(load(BASE).unknowns))
def test_ranges__each_has_a_source_with_a_number_or_says_why_it_is_assumed(name: str) -> None:
    one = _inputs().unknowns[name]
    assert one.low <= one.high
    if one.assumed:
        assert re.match(r"assumed: \w.{10,}", one.source)
    else:
        assert re.search(r"\d", one.source) or re.match(r"as [a-z0-9]", one.source)


@pytest.mark.parametrize("name", sorted(load(BASE).unknowns))
def test_ranges__none_is_from_a_report_that_is_held_against_them(name: str) -> None:
    said = _inputs().unknowns[name].source
    for words in ("HPC Advisory Council", "report of 20", "Performance Benchmark and Profiling"):
        assert words not in said


def test_ranges__each_moves_some_cell() -> None:
    inputs, asked = _inputs(), set[str]()
    campaign = _campaign(inputs, *range(len(_model().cells)))
    for text in campaign.runs["question"].unique():
        if text.startswith("sweep "):
            asked.add(text.split(" ")[1])
    still = {name for name, one in inputs.unknowns.items() if one.low == one.high}
    assert set(inputs.unknowns) - still == asked


# ---- a fact changed ---------------------------------------------------------------------------------


@cache
def _untouched(*cells: int) -> Campaign:
    return _campaign(_inputs(), *cells)


ATHENA = _groups("hpcg2014-athena")
IVB = _groups("lsdyna2014-ivb", concurrent_jobs=1)
SHANGHAI = _groups("lsdyna2009-c2", build="mpp971", concurrent_jobs=1)
ATOM = _groups("openatom2010", placement="all-cores")


@pytest.mark.parametrize(
    ("claim", "cells", "inputs", "way"),
    [
        # a faster Ethernet leaves InfiniBand less of a lead, a slower InfiniBand too
        (("hpcg2014", "ic-fdr-over-1gbe-5x"), ATHENA, lambda: _with_link("1gbe", bandwidth=1.1e9), -1),
        (("hpcg2014", "ic-fdr-over-10gbe-4-5x"), ATHENA, lambda: _with_link("ib-fdr", latency=3e-5), -1),
        (("lsdyna2014", "ic-fdr-over-10gbe-almost-5x"), IVB, lambda: _with_link("10gbe", latency=1e-4), 1),
        (("lsdyna2014", "ic-fdr-over-1gbe-7x"), IVB, lambda: _with_range("own.tcp", 3.5e-5, 9e-5), 1),
        # what costs more to compute hides the network
        (
            ("lsdyna2014", "ic-fdr-over-1gbe-7x"),
            IVB,
            lambda: _with_range("cost.ls-dyna.e5-2680v2", 3.5e-6, 3.3e-5),
            -1,
        ),
        (
            ("openatom2010", "ic-ib-over-gige-571pct"),
            ATOM,
            lambda: _with_range("transposed.openatom", 1e9, 4e9),
            1,
        ),
        # a node that draws as much in idle as at work saves by time alone
        (("openatom2010", "pwr-10400-vs-gige"), ATOM, lambda: _with_range("loaded.opteron", 516, 640), 1),
    ],
)
def test_bands__a_fact_changed_moves_the_band_the_right_way(
    claim: tuple[str, str], cells: list[int], inputs: Callable[[], Inputs], way: int
) -> None:
    asked = _claim(*claim)
    campaigns = (_untouched(*cells), _campaign(inputs(), *cells))
    before, after = (bands.judge(asked, one).finding.estimate.value for one in campaigns)
    assert np.sign(after - before) == way
    assert abs(after - before) > 0.02 * abs(before)


def test_draw__a_further_unknown_leaves_the_others_as_they_are() -> None:
    known = _inputs().unknowns
    before, after = (
        draw(known, 20, 1),
        draw({**known, "a.new.one": Range(low=1, high=2, unit="", source="a test")}, 20, 1),
    )
    for name in known:
        assert (before.values[name][:20] == after.values[name][:20]).all()
    # One value in each of twenty equal parts of the range, in the logarithm.
    part = 20 * np.log2(after.values["a.new.one"][:20])
    assert sorted(part.astype(int)) == list(range(20))


# ---- cells ------------------------------------------------------------------------------------------


def _cell(at: int, **changes: object) -> Cell:
    group, known = _model().cells[at], _inputs()
    cluster, case = np.atleast_1d(group.cluster)[0], np.atleast_1d(group.case)[0]
    machine = known.machines[cluster]
    each = int(np.atleast_1d(group.ranks_per_node or machine.cores_per_node)[0])
    cell = Cell(known.applications[group.model], machine, cluster, case, 1, each, "ib-fdr", group)
    return replace(cell, **changes)  # type: ignore[arg-type]


def test_step__one_rank_of_work_by_hand() -> None:
    """794,780 elements on 20 cores of a node, 1 µs each, a quarter more on the slowest."""
    values = {name: np.array([1.0]) for name in _inputs().unknowns}
    values |= {"cost.ls-dyna.e5-2680v2": np.array([1e-6]), "imbalance.ls-dyna": np.array([1.25])}
    one = step(_inputs(), Draws(values, ("",)), _cell(IVB[0]))
    assert one.computing == pytest.approx([794_780 / 20 * 1.25e-6])


def test_step__other_modules_and_processors_multiply_the_cost() -> None:
    draws = draw(_inputs().unknowns, 50, 1)
    (single,) = [at for at in IVB if _model().cells[at].slower]
    ratio = step(_inputs(), draws, _cell(single)).computing / step(_inputs(), draws, _cell(IVB[0])).computing
    assert ratio == pytest.approx(draws["ratio.ddr3-1866-single-rank.over.ddr3-1600-dual-rank"])


def test_step__jobs_at_once_share_the_adapter() -> None:
    """Each further job adds its part of the wire's time: half of it, all of it, three times all of it."""
    (at,) = _groups("lsdyna2014-ivb", concurrent_jobs=2)
    # One exchange over 1 mB/s: the wire takes far longer than all processors.
    values = {name: np.array([1.0]) for name in _inputs().unknowns} | {"bandwidth.1gbe": np.array([1e-3])}

    def messaging(jobs: int, sharing: float) -> float:
        group = _model().cells[at]
        group = group.model_copy(update={"factors": {**group.factors, "concurrent_jobs": jobs}})
        cell = _cell(at, declared=group, nodes=4, interconnect="1gbe")
        draws = Draws(values | {"sharing.jobs": np.array([sharing])}, ("",))
        return float(step(_inputs(), draws, cell).messaging[0])

    wire = messaging(2, 1.0) - messaging(1, 1.0)
    assert wire > 0
    assert messaging(2, 0.5) - messaging(1, 0.5) == pytest.approx(wire / 2)
    assert messaging(4, 1.0) - messaging(1, 1.0) == pytest.approx(3 * wire)


def test_runs__jobs_at_once_are_runs_that_count_once() -> None:
    """Two jobs at once finish twice the jobs of each: 2 x 86400 s over the time of one."""
    (at,) = _groups("lsdyna2014-ivb", concurrent_jobs=2)
    campaign = _campaign(_inputs(), *IVB, at)
    frame = campaign.runs
    pairs = frame[(frame["concurrent_jobs"] == 2) & (frame["nodes"] == 32)].groupby("order")
    assert (pairs.size() == 2).all()
    assert (pairs["elapsed"].nunique() == 1).all()
    held = bands.judge(_claim("lsdyna2014", "place-two-jobs-77pct"), campaign)
    alone = frame[(frame["nodes"] == 32) & (frame["concurrent_jobs"] == 1)]
    alone = alone[(alone["interconnect"] == "ib-fdr") & (alone["question"] == ASSUMED)]
    both = pairs.first()[pairs.first()["question"] == ASSUMED]
    gain = 100 * (2 * alone["elapsed"].to_numpy() / both["elapsed"].to_numpy() - 1)
    assert np.sort(held.answers.values) == pytest.approx(np.sort(gain))


def test_runs__power_lies_between_idle_and_loaded() -> None:
    frame = _untouched(*SHANGHAI).runs
    drawn = frame[frame["question"] == ASSUMED]
    a_node = drawn["mean_power"] / drawn["nodes"]
    assert a_node.between(121, 320).all()
    assert drawn["energy"].to_numpy() == pytest.approx((drawn["mean_power"] * drawn["elapsed"]).to_numpy())
    # The rest has no watts, so that no claim on energy is answered from it.
    assert _untouched(*IVB).runs["energy"].isna().all()


# ---- quantities -------------------------------------------------------------------------------------


def _changed(campaign: Campaign, elapsed: Callable[[pd.DataFrame], pd.Series]) -> Campaign:
    """Give all runs of a campaign other times."""
    frame = campaign.runs
    frame["elapsed"] = elapsed(frame)
    frame["figure_of_merit"] = frame["elapsed"]
    groups = {str(name): node.to_dataset() for name, node in campaign.tree.children.items()}
    return replace(campaign, tree=xr.DataTree.from_dict(groups | {"runs": to_dataset([frame], "runs")}))


def test_judge__scaling_stops_where_the_next_count_brings_too_little() -> None:
    # Twice the nodes bring 100, 100, 8, -10 and 100 %: with 5 % off, 8 % may be less than 5 %.
    seconds = {1: 8.0, 2: 4.0, 4: 2.0, 8: 2 / 1.08, 16: 2 / 1.08 / 0.9, 32: 1 / 1.08 / 0.9}
    campaign = _changed(_campaign(_inputs(), IVB[0]), lambda frame: frame["nodes"].map(seconds))
    campaign = replace(campaign, widening={"next": 0.05})
    held = bands.judge(_claim("lsdyna2014", "ic-10gbe-saturates-8-nodes"), campaign)
    assert set(held.answers.values) == {8.0}
    assert held.answers.band == (4.0, 8.0)
    assert (held.word, held.reached) == (bands.INSIDE, 1.0)
    never = bands.judge(_claim("lsdyna2014", "ic-only-fdr-continuous-gain"), campaign)
    assert (never.word, never.answers.band) == (bands.OUTSIDE, (4.0, 8.0))


def test_judge__a_trend_is_tau_over_all_pairs_of_counts() -> None:
    # 8 nodes are slower than 4 by 20 %: of 15 pairs one is the other way, (14 - 1) / 15.
    seconds = {1: 16.0, 2: 8.0, 4: 4.0, 8: 5.0, 16: 2.0, 32: 1.0}
    campaign = _changed(_campaign(_inputs(), IVB[0]), lambda frame: frame["nodes"].map(seconds))
    campaign = replace(campaign, widening={"next": 0.05})
    held = bands.judge(_claim("lsdyna2014", "cpu-ivb-fdr-enable-scaling"), campaign)
    assert held.answers.values == pytest.approx(13 / 15)
    assert (held.word, held.reached) == (bands.OUTSIDE, 0.0)


def test_judge__a_saving_by_hand() -> None:
    """1GbE: a step in 2 s at 300 W per node; InfiniBand in 1 s. 16 nodes save half of 4.8 kW in a year."""
    times = {"1gbe": 2.0, "10gbe": 1.5, "ib-ddr": 1.0}
    campaign = _changed(_campaign(_inputs(), *ATOM), lambda frame: frame["interconnect"].map(times))
    frame = campaign.runs
    frame["energy"] = 300 * frame["nodes"] * frame["elapsed"]
    groups = {str(name): node.to_dataset() for name, node in campaign.tree.children.items()}
    campaign = replace(campaign, tree=xr.DataTree.from_dict(groups | {"runs": to_dataset([frame], "runs")}))
    held = bands.judge(_claim("openatom2010", "pwr-10400-vs-gige"), campaign)
    assert held.answers.values == pytest.approx(2.4 * 8766 * 0.20, rel=2e-3)
    # 30 % off: InfiniBand is 1.54 to 2.6 times as good, and saves 1 - 1/1.54 to 1 - 1/2.6 of 4.8 kW
    low, high = held.answers.band
    assert low == pytest.approx(4.8 * 8766 * 0.20 * (1 - 1.3 / 2), rel=2e-3)
    assert high == pytest.approx(4.8 * 8766 * 0.20 * (1 - 1 / 2.6), rel=2e-3)


def test_judge__a_mean_is_of_sums_of_times() -> None:
    seconds = {"3cars": {"Opteron-2382": 4.0, "Opteron-2358": 5.0}}
    seconds["neon-refined-revised"] = {"Opteron-2382": 1.0, "Opteron-2358": 3.0}
    cells = (*SHANGHAI, *_groups("lsdyna2009-c1"))
    campaign = _changed(
        _campaign(_inputs(), *cells),
        lambda frame: pd.Series([seconds[c][p] for c, p in zip(frame["case"], frame["cpu"], strict=True)]),
    )
    held = bands.judge(_claim("lsdyna2009", "cpu-shanghai-20pct-runtime"), campaign)
    assert held.answers.values == pytest.approx(100 * (1 - 5 / 8))  # (4 + 1) over (5 + 3) at each count


@pytest.mark.parametrize(
    ("claim", "cells", "error"),
    [
        (("lsdyna2014", "ic-fdr-over-1gbe-7x"), IVB, 0.3),
        (("lsdyna2014", "ic-fdr-over-10gbe-almost-5x"), IVB, 0.3),
        (("lsdyna2014", "ic-1gbe-saturates-4-nodes"), IVB, 3.45),
        (("lsdyna2014", "ic-10gbe-saturates-8-nodes"), IVB, 3.45),
        (("lsdyna2014", "ic-only-fdr-continuous-gain"), IVB, 2.15),
        (("lsdyna2009", "place-near-linear-ib"), SHANGHAI, 5.4),
        (("lsdyna2014", "mem-dual-rank-better"), IVB, 0.05),
        # A mean over several counts, of the same count on both sides.
        (("lsdyna2009", "cpu-shanghai-20pct-runtime"), (*SHANGHAI, *_groups("lsdyna2009-c1")), 0.05),
        (("lsdyna2009", "pwr-energy-proportional-runtime"), SHANGHAI, 0.05),
    ],
)
def test_judge__bands_are_widened_by_what_both_sides_do_not_share(
    claim: tuple[str, str], cells: list[int], error: float
) -> None:
    assert bands.judge(_claim(*claim), _untouched(*cells)).answers.error == error


# ---- the same bytes ---------------------------------------------------------------------------------


def test_ingest__twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ingest(project.raw("modelled"), tmp_path / name)
    assert (tmp_path / "a/campaign.nc").read_bytes() == (tmp_path / "b/campaign.nc").read_bytes()
