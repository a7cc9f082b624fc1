"""The campaign that would test a claim: written, planned, and refused where it is no matrix."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from analysis.base import project
from analysis.claims.model import load_report
from analysis.claims.needed import needed
from analysis.cli import main, new
from analysis.datasets.applications import load_applications
from analysis.measure import draft
from analysis.measure.declare import load
from analysis.measure.matrix import expand
from analysis.measure.outline import Outline, Wanted
from tests.estimates.hand import campaign, repeats

ROOT = Path(__file__).parents[2]
LINKS = "lsdyna2014-ic-summary-over-5x-10-40gbe"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("applications", "claims"):
        shutil.copytree(ROOT / "config" / name, tmp_path / "config" / name)
    for name in ("campaigns", "clusters"):
        (tmp_path / "config" / name).mkdir()
    monkeypatch.setattr(project, "root", lambda start=None: tmp_path)
    return tmp_path


def test_plan__writes_what_would_test_a_claim(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--claim", LINKS]) == 0
    said = capsys.readouterr().out
    assert f"wrote config/campaigns/{LINKS}.yaml\nwrote config/clusters/{LINKS}.yaml\n" in said
    assert "fill in: config/clusters/" in said
    runs = expand(load(LINKS, place)).runs
    # Three links, six repeats, all at the node count of the sentence.
    assert sorted({str(run.factors["interconnect"]) for run in runs}) == ["10gbe", "40gbe", "ib-fdr"]
    assert (len(runs), {run.nodes for run in runs}, {run.case for run in runs}) == (18, {32}, {"3cars"})
    assert main(["plan", LINKS]) == 0
    assert main(["plan", "--claim", LINKS]) == 1
    assert "exists already; remove or rename it" in capsys.readouterr().err


def test_plan__a_claim_without_an_application_is_told_to_name_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "config" / "claims" / "lsdyna2014.yaml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(one for one in lines if not one.startswith("    application:")), encoding="utf-8")
    assert main(["plan", "--claim", LINKS]) == 1
    said = f"--claim: claim '{LINKS}' names no application; add it under its `select`, as in"
    assert capsys.readouterr().err.startswith(said)


def test_plan__spells_a_case_as_the_application_does(place: Path) -> None:
    assert main(["plan", "--claim", "hpcg2014-size-135pct-over-104"]) == 0
    path = place / "config" / "campaigns" / "hpcg2014-size-135pct-over-104.yaml"
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written["levels"]["case"] == {"16³": {"is": "nx16"}, "104³": {"is": "nx104"}}
    assert written["matrix"]["subsets"][0]["case"] == ["nx16", "nx104"]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("nobody-says-so", "no claim is called 'nobody-says-so'"),
        (
            "sharp2019-hdr-radix-40-80",
            "no run tests 'sharp2019-hdr-radix-40-80'; it needs a specification or",
        ),
        ("hpcg2014-cc-2pct", "compares build, which no matrix can vary"),
        ("lsdyna2009-bg-ib-zero-scalable-latency", "has no case for 'osu_multi_lat'"),
    ],
)
def test_plan__refuses_in_one_line(
    place: Path, claim: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--claim", claim]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert list((place / "config" / "campaigns").iterdir()) == []


def test_plan__a_cluster_of_ones_own_is_asked_for_what_it_lacks(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "config" / "clusters" / "local.yaml", place / "config" / "clusters")
    assert main(["plan", "--claim", LINKS, "--cluster", "local"]) == 1
    err = capsys.readouterr().err
    assert "unknown interconnect 'ib-fdr'" in err
    assert [path.name for path in (place / "config" / "clusters").iterdir()] == ["local.yaml"]


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plan", "local", "--claim", LINKS], ["plan", "x", "--cluster", "y"]]
)
def test_plan__wants_a_campaign_or_a_claim(arguments: list[str]) -> None:
    assert main(arguments) == 2


def test_plan__nearly_every_claim_is_a_matrix(place: Path) -> None:
    """What is not: a comparison of builds, target times or clusters, and cases that nobody has declared."""
    refused = []
    for report in ("hpcg2014", "lsdyna2009", "lsdyna2014", "openatom2010", "sharp2019"):
        for claim in load_report(project.claims(report)).claims:
            if not needed(claim).looked_up and main(["plan", "--claim", claim.id, "--json"]) != 0:
                refused.append(claim.id)
    assert len(refused) < 12, refused


@pytest.mark.parametrize(
    ("ranks", "jobs", "cores"),
    [
        ([1, 8], [1], ["0-9", "10-19"]),  # 20 cores are there at least
        ([21], [1], ["0-10", "11-21"]),  # an odd number needs a core more
        ([14], [1, 2], ["0-13", "14-27"]),  # both jobs need their own
    ],
)
def test_draft__a_cluster_has_the_cores_that_its_largest_run_needs(
    ranks: list[int], jobs: list[int], cores: list[str]
) -> None:
    factors = [
        {"nodes": [2, 4], "ranks_per_node": one, "concurrent_jobs": jobs, "interconnect": ["a", "b"]}
        for one in ranks
    ]
    program = load_applications(ROOT / "config" / "applications")["hpcg"].launch
    wanted = Wanted("x", application="hpcg", cases=["nx16"])
    launch = draft._cluster(wanted, factors, program, Outline(), "x.yaml")["launch"]
    assert (launch["cores"], launch["nodes"]) == (cores, 4)
    assert list(launch["interconnect"]) == ["a", "b"]


def test_plan__jobs_at_once_share_the_cores(place: Path) -> None:
    """One job on all 20 cores of a node, or two on ten each; never two on twenty."""
    claim = "lsdyna2014-place-two-jobs-77pct"
    assert main(["plan", "--claim", claim]) == 0
    runs = expand(load(claim, place)).runs
    assert {(run.concurrent_jobs, run.ranks_per_node) for run in runs} == {(1, 20), (2, 10)}


@pytest.fixture
def aliased(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a campaign in which library and link changed together, without data of its own."""
    rows = [
        row
        for mpi, link, rate in (("Open MPI 5.0", "25gbe", 12.0), ("Intel MPI 2021", "ib-hdr100", 10.0))
        for row in repeats(
            [rate * one for one in (0.98, 0.99, 0.995, 1.005, 1.01, 1.02)], "figure_of_merit",
            figure_of_merit_unit="Gflop/s", application="hpcg", case="nx16", nodes=2, ranks=16,
            ranks_per_node=8, threads=1, mpi=mpi, interconnect=link, tuning="default",
        )
    ]  # fmt: skip
    made = campaign(rows)
    (place / "config" / "campaigns" / "spring.yaml").write_text(
        "title: Spring\nevidence: measured\nhardware: two nodes\nnotes: []\n"
        "names: { interconnect: { 25gbe: the slow link } }\n"
    )
    monkeypatch.setattr(new, "load_campaign", lambda name: {"spring": made}[name])
    monkeypatch.setattr(new, "built", lambda names: None)
    return place


def test_to_tell__writes_precisely_the_runs_that_tell(
    aliased: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-campaign", "summer", "--from", "spring", "--to-tell"]) == 0
    said = capsys.readouterr().out
    assert "wrote config/campaigns/summer.yaml\nwrote config/clusters/summer.yaml\n" in said
    assert "fill in: config/clusters/summer.yaml: cores" in said
    runs = expand(load("summer", aliased)).runs
    cells = {(run.factors["mpi"], run.factors["interconnect"]) for run in runs}
    assert cells == {
        ("Open-MPI-5.0", "25gbe"), ("Intel-MPI-2021", "25gbe"), ("Intel-MPI-2021", "ib-hdr100"),
    }  # fmt: skip
    kinds = {(run.case, run.nodes, run.ranks_per_node, run.factors["threads"]) for run in runs}
    assert (len(runs), kinds) == (18, {("nx16", 2, 8, 1)})
    # In mixed order: of the first nine runs some are of each cell.
    assert {run.cell for run in runs[:9]} == {run.cell for run in runs}
    written = yaml.safe_load((aliased / "config/campaigns/summer.yaml").read_text(encoding="utf-8"))
    assert (
        "Six runs of Intel MPI 2021 over 25GbE, mixed with six of each side, would tell"
        in written["notes"][0]
    )
    assert written["names"] == {"interconnect": {"25gbe": "the slow link"}}
    names = load("summer", aliased).launch.mpi
    assert {one.name for one in names.values()} == {"Open MPI 5.0", "Intel MPI 2021"}


def test_to_tell__on_the_cluster_of_the_other_campaign(aliased: Path) -> None:
    assert main(["new-campaign", "first", "--from", "spring", "--to-tell"]) == 0
    path = aliased / "config" / "clusters" / "first.yaml"
    text = path.read_text(encoding="utf-8").replace("Open-MPI-5.0:", "ompi:")
    (aliased / "config" / "clusters" / "ours.yaml").write_text(text, encoding="utf-8")
    assert main(["new-campaign", "summer", "--from", "spring", "--to-tell", "--cluster", "ours"]) == 0
    assert not (aliased / "config" / "clusters" / "summer.yaml").exists()
    libraries = {run.factors["mpi"] for run in expand(load("summer", aliased)).runs}
    assert libraries == {"ompi", "Intel-MPI-2021"}  # as the file calls what records call Open MPI 5.0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--from", "spring"], "--to-tell: goes with --from; give --from CAMPAIGN --to-tell"),
        (["--to-tell"], "--to-tell: goes with --from; give --from CAMPAIGN --to-tell"),
        (["--from", "winter", "--to-tell"], "winter: no effect has several causes that changed together"),
        (
            ["--from", "autumn", "--to-tell"],
            "autumn: changed together with cluster, which no matrix",
        ),
    ],
)
def test_to_tell__refuses_and_leaves_nothing(
    aliased: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    said: str,
) -> None:
    spring = new.load_campaign("spring")
    runs = spring.runs
    cluster = (runs["mpi"] == "Open MPI 5.0").map({True: "old", False: "new"})
    autumn = spring.own(runs.assign(cluster=cluster, interconnect="25gbe"))
    known = {"spring": spring, "winter": spring.own(runs.assign(interconnect="25gbe")), "autumn": autumn}
    monkeypatch.setattr(new, "load_campaign", known.__getitem__)
    before = sorted(aliased.rglob("*.yaml"))
    assert main(["new-campaign", "summer", *flags]) == 1
    assert said in capsys.readouterr().err
    assert sorted(aliased.rglob("*.yaml")) == before
