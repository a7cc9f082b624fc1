"""Verdicts by runs of LS-DYNA, OpenFOAM, CASTEP, VASP, GROMACS and HPCG, recomputed from their tables."""

from __future__ import annotations

import csv
import io
import lzma
from collections import defaultdict
from itertools import combinations, pairwise
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
    for name in (
        "published-openfoam", "published-plane-waves", "published-steps", "hpcg-outputs", "published-lsdyna",
    ):  # fmt: skip
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
    # Single runs: the word is of the four cells, and never a full one. 3 to 12 nodes rule out no 7 on 32.
    assert (one.distance, one.verdict) == ("scaled", "direction agrees, order of runs not known")
    less = [100 * (1 - 1 / lead) for lead in leads]
    assert told["lsdyna2009-ic-3vc-gige-55pct-24n"].estimate == pytest.approx(max(less))  # "up to"
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
    # All on 16 nodes ran on one day, and all but one on 1 node.
    assert [row["start"][:10] for row in rows if row["nodes"] in ("1", "16")].count("2019-07-03") == 1
    rows = [row for row in rows if row["start"].startswith("2019-07-04")]
    one, sixteen = (median(float(row["elapsed"]) for row in rows if row["nodes"] == n) for n in ("1", "16"))
    assert (one, sixteen) == (1948.43, 363.65)
    found = told["openatom2010-concl-linear-scalability"]
    assert found.estimate == pytest.approx(100 * one / sixteen / 16)
    # One size after the other, from an afternoon to the next morning; CASTEP does not overlap its messages.
    assert found.verdict == "cannot tell"
    assert found.reason.endswith("the application of these runs alone would make it smaller")


def test_evaluate__more_nodes_with_vasp_by_hand(told: dict[str, Verdict]) -> None:
    curves = defaultdict(list)
    for row in plane_waves():
        if row["application"] == "vasp" and row["ranks_per_node"] == "128":
            key = row["build"], row["version"], row["tuning"]
            curves[key].append((int(row["nodes"]), float(row["elapsed"])))
    # That with NCORE of 8 and LibSci 21.08 ran on 8 nodes alone; the others are faster on more nodes.
    curves = {key: curve for key, curve in curves.items() if len(curve) > 1}
    steps = [
        later < before
        for one in curves.values()
        for (fewer, before), (more, later) in pairwise(sorted(one))
        if fewer < more
    ]
    assert (len(curves), len(steps), all(steps)) == (5, 13, True)
    found = told["openatom2010-ic-ib-scales-with-size"]
    # Of one curve, tau-b of its runs is 0.80: five repeats on 8 nodes are ties of their level.
    assert (found.estimate, found.low, found.high, found.n) == (1, 1, 1, len(curves))
    assert "Kendall's tau 1, all 5 curves alike" in found.sentence
    assert found.verdict == "in runs at the same time only"


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
    # All run at the same time as one of the other side.
    assert found.verdict == "in runs at the same time only"


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


def taus(of: str) -> list[float]:
    """Return Kendall's tau over the nodes of each curve of GROMACS, straight from the table."""
    curves = defaultdict(list)
    with (project.raw("published-steps") / "runs.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["application"] == "gromacs":
                time, share = float(row["elapsed"]), float(row["mpi_fraction"])
                value = {"share": share, "mpi": time * share, "compute": time * (1 - share)}[of]
                curves[row["case"], row["cluster"]].append((int(row["nodes"]), value))
    return [
        sum((b > a) - (b < a) for (_, a), (_, b) in combinations(sorted(curve), 2))
        / (len(curve) * (len(curve) - 1) / 2)
        for curve in curves.values()
    ]


@pytest.mark.parametrize(
    ("claim", "of", "tau"),
    [
        ("lsdyna2014-prof-mpi-ratio-rises", "share", 1),
        ("lsdyna2014-prof-both-times-fall", "compute", -1),
        ("lsdyna2014-prof-mpi-time-falls", "mpi", -0.8),
    ],
)
def test_evaluate__shares_of_mpi_of_gromacs_by_hand(
    told: dict[str, Verdict], claim: str, of: str, tau: float
) -> None:
    assert len(taus(of)) == 9
    assert told[claim].estimate == pytest.approx(median(taus(of))) == pytest.approx(tau)
    assert (told[claim].distance, told[claim].verdict) == ("analogue", "agrees, order of runs not known")
    # Of the cases that stand for LS-DYNA's, these two are GROMACS's own; the third is OpenSBLI's.
    assert "in GROMACS, at 1400k-atoms and large, in runs" in told[claim].sentence


def test_evaluate__two_of_eight_runs_on_32_nodes_are_mostly_in_mpi(told: dict[str, Verdict]) -> None:
    with (project.raw("published-steps") / "runs.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["nodes"] == "32"]
    assert len(rows) == 8
    assert sorted(float(row["mpi_fraction"]) > 0.5 for row in rows).count(True) == 2
    assert told["lsdyna2014-prof-compute-dominates"].verdict == "cannot tell"


def test_evaluate__duration_of_hpcg_by_hand(told: dict[str, Verdict]) -> None:
    with lzma.open(project.raw("hpcg-outputs") / "runs.csv.xz") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")))
    wanted = {"cluster": "Ookami", "ranks": "1", "reason": ""}
    for threads, counts, ratio in ((10, (19, 6), 1.0023), (12, (16, 6), 0.9998)):
        cell = [
            row for row in rows if (wanted | {"tuning": f"{threads} threads a rank"}).items() <= row.items()
        ]
        sides = [
            [float(row["figure_of_merit"]) for row in cell if row["target_time"] == asked]
            for asked in ("300", "1810")
        ]
        assert tuple(map(len, sides)) == counts
        assert median(sides[1]) / median(sides[0]) == pytest.approx(ratio, abs=5e-5)
    assert told["hpcg2014-dur-no-effect"].verdict == "agrees, order of runs not known"
