"""Verdicts by published runs, recomputed from the table without reader, dataset or engine."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from statistics import median

import pytest

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.claims import Verdict, evaluate
from analysis.claims.model import load_report
from analysis.cli import main
from analysis.datasets.campaign import ingest
from analysis.datasets.published import references
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.schema import storage
from analysis.schema.campaigns import CampaignFile, StandIn
from analysis.site.board import check

RAW = project.raw("published")
VIEWS = tuple(models.load(CampaignFile, project.declaration("published")).views)
DISTRIBUTION = "Open MPI of the distribution"
SYSTEMS = (
    "bare metal CentOS 7, gcc 4.8.2",
    "container CentOS 6.5, gcc 4.4.7",
    "container CentOS 7.0, gcc 4.8.2",
    "container Ubuntu 12.04, gcc 4.6.3",
)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("published")
    ingest(RAW, folder)
    tree = storage.read_tree(folder / "campaign.nc")
    return Campaign(
        "published", tree, "Published", "published", "Venus", views=VIEWS, references=references(RAW)
    )


@pytest.fixture(scope="module")
def hpcg(campaign: Campaign) -> dict[str, Verdict]:
    return {one.claim: one for one in evaluate(load_report(project.claims("hpcg2014")), campaign)}


def values(metric: str, **wanted: str) -> list[float]:
    """Values of a metric on Venus with HPCG 2.4, straight from the table."""
    wanted = {"version": "2.4", "cluster": "venus", "transport": "self,openib", **wanted}
    with (RAW / "figures.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == metric]
    return [float(row["value"]) for row in rows if all(row[k] == v for k, v in wanted.items())]


def test_evaluate__problem_size_by_hand(hpcg: dict[str, Verdict]) -> None:
    # Ubuntu 12.04: median of 13.4956, 11.0299, 13.0837 over median of four results at 104³
    large = [5.60467, 5.56223, 5.61802, 5.62386]
    assert (
        values(
            "rating",
            case="104³",
            nodes="8",
            mpi=DISTRIBUTION,
            environment="container Ubuntu 12.04, gcc 4.6.3",
        )
        == large
    )
    gain = 100 * (13.0837 / median(large) - 1)
    one = hpcg["hpcg2014-size-135pct-over-104"]
    assert one.estimate == pytest.approx(gain) == pytest.approx(133.165, abs=1e-3)
    # The other systems of Venus have one result at 16³ each. "Up to" is the largest.
    gains = [gain]
    for rate, system in (
        (8.19482, "bare metal CentOS 7, gcc 4.8.2"),
        (11.2185, "container CentOS 6.5, gcc 4.4.7"),
        (7.61164, "container CentOS 7.0, gcc 4.8.2"),
    ):
        base = median(values("rating", case="104³", nodes="8", mpi=DISTRIBUTION, environment=system))
        gains.append(100 * (rate / base - 1))
    assert one.arithmetic == "of each cell: 51.9, 62.6, 73.7, 74.2, 110, 133"  # two on other clusters
    assert [f"{each:.3g}" for each in sorted(gains)] == ["62.6", "74.2", "110", "133"]
    assert (one.low, one.high) == (pytest.approx(51.893, abs=1e-3), None)
    assert (one.n, one.verdict) == (6, "direction agrees, order of runs not known")
    assert any(text.startswith("target time pooled: ") for text in one.reading)


def test_evaluate__small_grids_on_six_systems_by_hand(hpcg: dict[str, Verdict]) -> None:
    # In each the median at 16³ over that at 104³: Niagara, NSCC, and four systems on the nodes of Venus.
    leads = [170.108 / 97.9312, 89.5424 / 58.9508]
    for system in SYSTEMS:
        wanted = {"nodes": "8", "mpi": DISTRIBUTION, "environment": system}
        small, large = (median(values("rating", case=case, **wanted)) for case in ("16³", "104³"))
        leads.append(small / large)
    assert [f"{lead:.2f}" for lead in sorted(leads)] == ["1.52", "1.63", "1.74", "1.74", "2.10", "2.33"]
    one = hpcg["hpcg2014-size-small-is-faster"]
    assert one.estimate == pytest.approx(median(leads))
    assert (one.low, one.high) == pytest.approx((min(leads), max(leads)))  # six cells, all of their range
    assert (one.n, one.distance, one.verdict) == (6, "scaled", "agrees, order of runs not known")
    assert len(one.runs) == 6 + 6 + 6 + 4 + 6 + 4


def test_evaluate__scaling_by_hand(hpcg: dict[str, Verdict]) -> None:
    at = {n: values("rating", case="104³", nodes=str(n), mpi="Open MPI 1.8.3") for n in (2, 4, 6, 8)}
    assert {n: len(found) for n, found in at.items()} == {2: 1, 4: 3, 6: 4, 8: 10}
    efficiency = {n: 100 * median(at[8]) / median(at[n]) / (8 / n) for n in (2, 4, 6)}
    one = hpcg["hpcg2014-obj-nearly-linear"]
    assert one.estimate == pytest.approx(efficiency[4]) == pytest.approx(min(efficiency.values()))
    assert efficiency[4] == pytest.approx(98.97, abs=0.005)
    assert one.verdict == "cannot tell"
    # From 6 nodes, ten results against four, it is clear at 88 %; from 4 and 2 there are three and one.
    scale = hpcg["hpcg2014-cpu-athena-fdr-enable-scale"]
    assert scale.estimate == pytest.approx(median(at[8]) / median(at[4]))
    assert (scale.level, scale.verdict) == (0.75, "cannot tell")


def test_evaluate__allreduce_by_hand(hpcg: dict[str, Verdict]) -> None:
    times, totals = (values(metric, case="16³") for metric in ("allreduce_time", "benchmark_time"))
    shares = sorted(100 * a / b for a, b in zip(times, totals, strict=True))
    assert len(shares) == 6
    assert (shares[0], shares[-1]) == (pytest.approx(13.213, abs=1e-3), pytest.approx(23.276, abs=1e-3))
    one = hpcg["hpcg2014-prof-allreduce-24pct"]
    # The weakest is shown, Niagara; on Venus Ubuntu 12.04 has 20.34, 21.40, 20.11 %.
    assert one.estimate == pytest.approx(100 * 172.214 / 1977.7)
    assert "20.11, 20.34, 21.4" in one.arithmetic
    assert (one.n, one.low, one.verdict, one.distance) == (1, None, "cannot tell", "scaled")
    # 24 % of 28 %, each about so much: 23 % of 27 % to 25 % of 29 %
    assert (one.expected_low, one.expected_high) == pytest.approx((0.23 * 27, 0.25 * 29))
    assert any(text.startswith("asked: reduction share, of the run time") for text in one.reading)
    assert len(one.runs) == 6 + 2
    assert {source["address"] for source in one.sources} == {
        "https://github.com/ChristianKniep/hpcac-job-results",
        "https://github.com/shivunchinniah/isc21-scc",
    }


def test_evaluate__the_official_run_of_the_version_at_hand(hpcg: dict[str, Verdict]) -> None:
    one = hpcg["hpcg2014-dur-official-3600s"]
    assert (one.estimate, one.verdict, one.runs) == (3600, "a source confirms it", ["hpcg-rule-2.4"])
    assert one.distance == "looked-up"


def test_evaluate__latency_of_the_link_by_hand(campaign: Campaign) -> None:
    report = load_report(project.claims("lsdyna2009"))
    one = next(v for v in evaluate(report, campaign) if v.claim == "lsdyna2009-bg-ib-1us")
    with (RAW / "figures.csv").open(newline="", encoding="utf-8") as file:
        found = [
            float(row["value"])
            for row in csv.DictReader(file)
            if row["case"] == "osu_alltoall" and row["size"] == "8" and row["ranks"] == "2"
        ]
    assert one.n == len(found) == 24
    assert one.estimate == pytest.approx(median(found)) == pytest.approx(1.485)
    assert one.verdict == "cannot tell"
    assert one.low is not None
    assert one.high is not None
    assert one.low < 1.5 < one.high


def test_evaluate__claims_without_a_view_are_not_tested(campaign: Campaign) -> None:
    report = load_report(project.claims("openatom2010"))
    viewed = {topic for view in VIEWS if view.report == report.name for topic in view.topics}
    topics = sorted({claim.topic for claim in report.claims} - viewed)
    assert len(topics) == 9
    found = evaluate(report, campaign, topics=topics)
    assert [one.claim for one in found] == [claim.id for claim in report.claims if claim.topic in topics]
    assert {one.verdict for one in found} == {"not tested"}
    assert {one.reason for one in found} == {"no published run that we have can test it"}


def test_evaluate__the_site_can_draw_every_record(hpcg: dict[str, Verdict]) -> None:
    found = list(hpcg.values())
    check(found, frozenset())
    sha = hashlib.sha256((RAW / "figures.csv").read_bytes()).hexdigest()
    told = [one for one in found if one.tested]
    assert {(i["path"], i["sha256"]) for one in told for i in one.inputs} == {
        ("data/raw/published/figures.csv", sha)
    }


def test_evaluate__a_planted_number_changes_the_verdict(tmp_path: Path) -> None:
    raw = tmp_path / "published"
    raw.mkdir()
    (raw / "sources.csv").write_bytes((RAW / "sources.csv").read_bytes())
    lines = (RAW / "figures.csv").read_text().splitlines(keepends=True)
    # Every exchange of two ranks a fifth shorter: all of the interval lies below 1.5 µs, which is no bound.
    with_it = [i for i, line in enumerate(lines) if ",osu_alltoall," in line]
    for i in with_it:
        cells = next(csv.reader([lines[i]]))
        lines[i] = lines[i].replace(f",{cells[17]},,us", f",{0.8 * float(cells[17]):.3f},,us")
    (raw / "figures.csv").write_text("".join(lines))
    ingest(raw, tmp_path / "out")
    tree = storage.read_tree(tmp_path / "out" / "campaign.nc")
    planted = Campaign("published", tree, "Published", "published", "Venus", views=VIEWS)
    found = {one.claim: one for one in evaluate(load_report(project.claims("lsdyna2009")), planted)}
    assert len(with_it) == 24
    one = found["lsdyna2009-bg-ib-1us"]
    assert one.high is not None and one.high < 1.5  # noqa: PT018
    assert (one.verdict, one.p) == ("cannot tell", None)
    assert "the limits are ours" in one.reason


def test_views__put_levels_together_only_as_declared(campaign: Campaign) -> None:
    view = campaign.view_for("hpcg2014", "problem size", "hpcg2014-size-135pct-over-104")
    assert view is not None
    shown = campaign.seen(view)
    assert set(shown.runs["target_time"]) == {-1}
    assert shown.resolve("target_time", "standard") == [-1]
    assert len(set(shown.runs["build"])) == 4 + 1
    # A length of run that is not declared is not put together with the others.
    narrower = view.model_copy(
        update={"levels": {**view.levels, "target_time": {"standard": StandIn.model_validate({"is": 180})}}}
    )
    assert set(campaign.seen(narrower).runs["local_size"]) == {16}
    assert campaign.view_for("hpcg2014", "no topic") is None


def test_views__refuse_what_is_no_factor(tmp_path: Path) -> None:
    path = project.declaration("published", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(project.declaration("published").read_text().replace("[target_time]", "[colour]"))
    with pytest.raises(ConfigError, match=r"published.yaml:21: views: unknown factor 'colour'; known: "):
        load_campaign("published", tmp_path)


def test_main__ingests_or_says_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stage", "ingest", str(RAW), str(tmp_path / "out")]) == 0
    with (RAW / "figures.csv").open(newline="", encoding="utf-8") as file:
        runs = len({row["run"] for row in csv.DictReader(file) if row["qualifier"] != "suspect"} - {""})
    assert capsys.readouterr().out.startswith(f"published: {runs} runs, {runs} valid, 0 faults")
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "figures.csv").touch()
    assert main(["stage", "ingest", str(tmp_path / "published"), str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "figures.csv:1: does not begin with the columns" in said


def test_main__writes_verdicts(
    tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("analysis.estimates.campaign.load_campaign", lambda name: campaign)
    out = tmp_path / "deep" / "published.json"
    assert main(["stage", "verdicts", "published", str(out), str(project.claims("hpcg2014"))]) == 0
    found = json.loads(out.read_text())
    assert capsys.readouterr().out == f"{len(found)} verdicts\n"
    assert {one["evidence"] for one in found} == {"published"}
