"""Verdicts by runs of NEMO and GROMACS over two transport layers, recomputed from their table."""

from __future__ import annotations

import csv
from collections import defaultdict
from statistics import median

import pytest

from analysis.base import models, project
from analysis.claims import Verdict, evaluate
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.estimates.campaign import Campaign
from analysis.schema import storage
from analysis.schema.campaigns import CampaignFile

NAME = "published-transports"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (project.raw(NAME) / "runs.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp(NAME)
    ingest(project.raw(NAME), folder)
    views = tuple(models.load(CampaignFile, project.declaration(NAME)).views)
    campaign = Campaign(NAME, storage.read_tree(folder / "campaign.nc"), "", "published", "", views=views)
    verdicts = evaluate(load_report(project.claims("lsdyna2014")), campaign)
    return {one.claim: one for one in verdicts if one.tested}


def sides(rows: list[dict[str, str]], value: str, *by: str, **of: str) -> dict[tuple[str, ...], list[float]]:
    """Return the values of rows with some levels, by the columns that tell cells apart."""
    found = defaultdict(list)
    for row in rows:
        if row.items() >= of.items():
            found[tuple(row[name] for name in by)].append(float(row[value]))
    return found


def test_evaluate__transports_on_32_nodes_by_hand(
    told: dict[str, Verdict], rows: list[dict[str, str]]
) -> None:
    """One code shows it and the other does not: all have to, and none is chosen for what it shows."""
    found = sides(rows, "elapsed", "build", "tuning", nodes="32")
    assert {key: len(times) for key, times in found.items()} == {
        ("CCE12", "OFI"): 10, ("CCE12", "UCX"): 13, ("GCC11", "OFI"): 10, ("GCC11", "UCX"): 13,
        ("GCC", "OFI"): 5, ("GCC", "UCX"): 5,
    }  # fmt: skip
    builds = ("CCE12", "GCC11", "GCC")  # two of NEMO, one of GROMACS
    cce, gcc, gromacs = (median(found[one, "OFI"]) / median(found[one, "UCX"]) for one in builds)
    assert (cce, gcc, gromacs) == pytest.approx((1.063, 1.028, 0.985), abs=5e-4)
    helps, size = (told[f"lsdyna2014-mpi-fca-mxm-{name}"] for name in ("help-at-scale", "18pct"))
    assert {one.distance for one in (helps, size)} == {"analogue"}
    assert helps.estimate == pytest.approx(gromacs)  # the least of the three
    assert size.estimate == pytest.approx(100 * (gromacs - 1))
    assert helps.verdict == size.verdict == "cannot tell"


def test_evaluate__shares_of_mpi_of_gromacs_on_2_to_32_nodes(
    told: dict[str, Verdict], rows: list[dict[str, str]]
) -> None:
    cells = sides(rows, "mpi_fraction", "nodes", "tuning", application="gromacs")
    assert sorted(map(len, cells.values())) == [5] * 10
    found = told["lsdyna2014-prof-compute-dominates"]
    # The share hangs on the problem: of two others it is up to 61 % on 32 nodes, in published-steps.
    assert found.verdict == "cannot tell"
    assert max(map(max, cells.values())) < 0.5
    assert 100 * max(map(median, cells.values())) == pytest.approx(found.estimate)  # the weakest
