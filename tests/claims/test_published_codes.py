"""Verdicts by runs of LS-DYNA, OpenFOAM, CASTEP and VASP, recomputed without reader or engine."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import pytest

from analysis.base import models, project
from analysis.claims import Verdict, evaluate
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.estimates.campaign import Campaign
from analysis.schema import storage
from analysis.schema.campaigns import CampaignFile


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    found = {}
    for name in ("published-openfoam", "published-plane-waves", "published-lsdyna"):
        folder = tmp_path_factory.mktemp(name)
        ingest(project.raw(name), folder)
        tree = storage.read_tree(folder / "campaign.nc")
        views = tuple(models.load(CampaignFile, project.declaration(name)).views)
        campaign = Campaign(name, tree, "", "published", "", views=views)
        for report in ("hpcg2014", "lsdyna2014", "lsdyna2009", "openatom2010"):
            verdicts = evaluate(load_report(project.claims(report)), campaign)
            found |= {one.claim: one for one in verdicts if one.tested}
    return found


def at(name: str, metric: str, **wanted: str) -> float:
    """Return the median of a metric, straight from a table."""
    path: Path = project.raw(name) / "figures.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == metric]
    return median(float(row["value"]) for row in rows if all(row[k] == v for k, v in wanted.items()))


def step(cluster: str, nodes: int, case: str = "channel 3M PCG", **wanted: str) -> float:
    return at("published-openfoam", "step_time", cluster=cluster, nodes=str(nodes), case=case, **wanted)


def seconds(server: str, ranks: int, link: str) -> float:
    """Return the median time of LS-DYNA, straight from the table."""
    with (project.raw("published-lsdyna") / "runs.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wanted = {"cluster": server, "ranks": str(ranks), "interconnect": link}
    return median(float(row["elapsed"]) for row in rows if wanted.items() <= row.items())


def test_evaluate__links_of_ls_dyna_by_hand(told: dict[str, Verdict]) -> None:
    leads = [
        seconds(server, ranks, "Ethernet") / seconds(server, ranks, "InfiniBand")
        for server, ranks in (("HS21 XM", 48), ("HS21 XM", 96), ("HS22", 24), ("HS22", 72))
    ]
    assert leads == [pytest.approx(one, abs=5e-4) for one in (1.3405, 1.6526, 1.0105, 1.506)]
    one = told["lsdyna2014-ic-fdr-over-1gbe-7x"]
    assert one.estimate == pytest.approx(leads[3])  # the weakest of the two servers
    assert (one.distance, one.verdict) == ("scaled", "cannot tell")  # single runs
    assert "too few runs" in one.reason
    assert told["lsdyna2009-ic-3vc-gige-55pct-24n"].estimate == pytest.approx(100 * (1 - 1 / leads[1]))
    assert told["lsdyna2014-ic-fdr-superior-scalability"].estimate == pytest.approx(leads[1] / leads[0])


def test_evaluate__scaling_of_ls_dyna_by_hand(told: dict[str, Verdict]) -> None:
    three, fourteen = seconds("HS22", 24, "InfiniBand"), seconds("HS22", 112, "InfiniBand")
    linear = told["lsdyna2009-place-near-linear-ib"]
    assert linear.estimate == pytest.approx(100 * 61700 / 17397 * 3 / 14) == pytest.approx(75.998, abs=1e-3)
    assert (three, fourteen, linear.verdict) == (61700, 17397, "cannot tell")
    # Over Ethernet 28 nodes are slower than 12.
    assert "12 to 28 -15 %" in told["lsdyna2014-ic-1gbe-saturates-4-nodes"].arithmetic


def test_evaluate__processors_of_openfoam_by_hand(told: dict[str, Verdict]) -> None:
    gains = [
        100 * (step("TSUBAME 2.5 (QDR)", nodes) / step("FOCUS D (FDR)", nodes) - 1) for nodes in (1, 2, 4, 8)
    ]
    assert gains[0] == pytest.approx(100 * (15.846 / 4.6516 - 1))
    for claim in ("lsdyna2014-cpu-ivb-over-wsm-70pct", "hpcg2014-cpu-athena-234pct"):
        assert told[claim].estimate == pytest.approx(max(gains))
        assert told[claim].distance == "analogue"


def test_evaluate__scaling_of_castep_by_hand(told: dict[str, Verdict]) -> None:
    one, sixteen = (
        at("published-plane-waves", "elapsed", application="castep", nodes=n) for n in ("1", "16")
    )
    assert (one, sixteen) == (pytest.approx(1950.12), 363.65)
    found = told["openatom2010-concl-linear-scalability"]
    assert found.estimate == pytest.approx(100 * one / sixteen / 16)
    assert found.verdict == "disagrees, order of runs not known"  # nobody printed when they ran


def test_evaluate__half_the_cores_with_vasp_by_hand(told: dict[str, Verdict]) -> None:
    # Two nodes against one, 128 ranks, each with the same release of VASP and NCORE: one run of each.
    half, full = (
        at(
            "published-plane-waves", "elapsed", application="vasp", ranks="128", nodes=n,
            transport="NCORE=4", environment="LibSci 21.08",
        )
        for n in ("2", "1")
    )  # fmt: skip
    assert (half, full) == (4470.07, 6125.487)
    assert f"{full:.4g} (n 1) / {half:.4g} (n 1) = {full / half:.4g}" in (
        told["openatom2010-place-half-cores-better"].arithmetic
    )


def test_evaluate__settings_of_vasp_are_no_repeats(told: dict[str, Verdict]) -> None:
    # 512 ranks on the halves of eight nodes against 1024 on all of them, NCORE=2 and the later release
    found = told["openatom2010-place-full-nodes-best-fixed-n"]
    assert found.estimate == pytest.approx(1191.8 / 1651.3, abs=1e-3)
    assert (found.n, found.verdict) == (1, "cannot tell")
