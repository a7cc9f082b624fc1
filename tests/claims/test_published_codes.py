"""Verdicts by runs of LS-DYNA, OpenFOAM, CASTEP and VASP, recomputed from tables without reader or engine."""

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
    assert one.estimate == pytest.approx(median(leads))
    # Single runs: the word is of the four cells, and never a full one.
    assert (one.distance, one.verdict) == ("scaled", "direction agrees, order of runs not known")
    less = [100 * (1 - 1 / lead) for lead in leads]
    assert told["lsdyna2009-ic-3vc-gige-55pct-24n"].estimate == pytest.approx(median(less))
    growing = told["lsdyna2014-ic-fdr-superior-scalability"]
    assert growing.estimate == pytest.approx(leads[1] / leads[0])
    # The nodes that were run, not the 32 and 2 of the claim for which they stand.
    assert growing.arithmetic.startswith("at 12: ")
    assert "; at 6: " in growing.arithmetic


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
    rows = [row for row in plane_waves() if row["application"] == "castep"]
    one, sixteen = (median(float(row["elapsed"]) for row in rows if row["nodes"] == n) for n in ("1", "16"))
    assert (one, sixteen) == (pytest.approx(1950.12), 363.65)
    found = told["openatom2010-concl-linear-scalability"]
    assert found.estimate == pytest.approx(100 * one / sixteen / 16)
    # One size after the other, from an afternoon to the next morning.
    assert found.verdict == "not in that session"


def test_evaluate__half_the_cores_with_vasp_by_hand(told: dict[str, Verdict]) -> None:
    # Two nodes against one, 128 ranks, each with the same release of VASP and NCORE: one run of each.
    wanted = {"application": "vasp", "ranks": "128", "tuning": "NCORE=4", "build": "LibSci 21.08"}
    half, full = (
        next(float(row["elapsed"]) for row in plane_waves() if (wanted | {"nodes": n}).items() <= row.items())
        for n in ("2", "1")
    )
    assert (half, full) == (4470.07, 6125.487)
    found = told["openatom2010-place-half-cores-better"]
    leads = vasp("ranks")
    assert full / half in leads
    assert (found.estimate, found.n) == (pytest.approx(median(leads)), len(leads))
    # Full nodes some seconds before half-filled ones, of two releases months apart.
    assert found.verdict == "in that order of runs only"


def plane_waves() -> list[dict[str, str]]:
    """Return the runs of CASTEP and VASP, straight from the table."""
    with (project.raw("published-plane-waves") / "runs.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def vasp(alike: str) -> list[float]:
    """Return how many times as fast half-filled nodes are, of as many ranks or of as many nodes."""
    rows = [row for row in plane_waves() if row["application"] == "vasp"]
    times: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for row in rows:
        key = row["build"], row["version"], row["tuning"], row[alike]
        each = int(row["ranks"]) // int(row["nodes"])
        times.setdefault(key, {}).setdefault(each, []).append(float(row["elapsed"]))
    return [median(one[128]) / median(one[64]) for one in times.values() if {64, 128} <= one.keys()]


def test_evaluate__full_nodes_with_vasp_by_hand(told: dict[str, Verdict]) -> None:
    # 512 ranks on the halves of eight nodes against 1024 on all of them, NCORE=2 and the later release
    leads = [1 / one for one in vasp("nodes")]
    assert min(leads) == pytest.approx(1191.8 / 1651.3, abs=1e-3)
    found = told["openatom2010-place-full-nodes-best-fixed-n"]
    assert (found.estimate, found.n) == (pytest.approx(median(leads)), len(leads))
