"""What is put in comes out, and what is not put in does not; the rest of the files is in test_writers."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis import cli
from analysis.base.errors import ConfigError
from analysis.claims import Verdict
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.schema import storage
from analysis.site.words import LOOKED_UP
from analysis.synthesis.campaign import build
from analysis.synthesis.plan import cells, runs
from analysis.synthesis.truth import Truth, load_truth

ROOT = Path(__file__).parents[2]


def changed(truth: Truth, **changes: Any) -> Truth:
    return truth.model_copy(update=changes)


REPORTS = ("lsdyna2014", "lsdyna2009", "sharp2019", "hpcg2014", "openatom2010")
# The smallest campaign is for every few minutes.
SMALLEST_FIRST = (
    "sharp2019",
    *(pytest.param(one, marks=pytest.mark.slow) for one in REPORTS if one != "sharp2019"),
)
# Figures of products, which no run of the report shows.
OUT_OF_REACH = {"openatom2010-bg-ib-latency-1us", "openatom2010-bg-ib-gap-lowest-latency"}

Judge = Callable[..., dict[str, Verdict]]


def truth_of(report: str) -> Truth:
    return load_truth(ROOT / "config" / "synthesis" / f"{report}.yaml")


def checksum(folder: Path) -> str:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    parts = [f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in paths]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def planting(truth: Truth, claim: str, slower: Any) -> Truth:
    """Return the truth with another size of the effect that a claim is about."""
    planted = [claim in effect["plants"] for effect in truth.effects]
    assert sum(planted) == 1
    effects = [
        {**effect, "slower": slower} if mine else effect
        for effect, mine in zip(truth.effects, planted, strict=True)
    ]
    return changed(truth, effects=effects)


@pytest.mark.parametrize("report", SMALLEST_FIRST)
def test_synthesis__recovers_all_but_what_the_report_contradicts(report: str, judged: Judge) -> None:
    truth = truth_of(report)
    verdicts = judged(truth, report)
    assert {verdict.evidence for verdict in verdicts.values()} == {"synthetic"}
    missed = {claim for claim, verdict in verdicts.items() if verdict.verdict == "not recovered"}
    assert missed == set(truth.contradicted or {})
    ran = {claim: verdict for claim, verdict in verdicts.items() if verdict.application not in LOOKED_UP}
    untested = {claim for claim, verdict in ran.items() if verdict.verdict == "not tested"}
    assert untested <= OUT_OF_REACH


# Claim, the cells that it needs, and a size of its effect that the claim does not have.
FALSEHOODS: dict[str, tuple[str, list[dict[str, Any]], Any]] = {
    "lsdyna2014": (
        "lsdyna2014-ic-fdr-over-10gbe-almost-5x",
        [{"question": "interconnect", "interconnect": ["ib-fdr", "10gbe"], "nodes": 32}],
        3.0,
    ),
    "lsdyna2009": (
        "lsdyna2009-ic-3vc-gige-55pct-24n",
        [{"question": "interconnect", "interconnect": ["ib-ddr", "1gbe"], "nodes": 24}],
        1.5,  # a third less time
    ),
    "sharp2019": (
        "sharp2019-lsdyna-hdr100-over-opa-18pct",
        [
            {"question": "interconnect"},
            {"question": "interconnect", "interconnect": "omnipath-100", "mpi": "intel-mpi"},
        ],
        1.05,
    ),
    "hpcg2014": (
        "hpcg2014-size-135pct-over-104",
        [
            {"question": "problem size"},
            {"question": "problem size", "case": "104³", "local_size": 104},
        ],
        0.9,  # the other way round
    ),
    "openatom2010": (
        "openatom2010-mpi-mvapich2-15pct",
        [{"question": "MPI tuning", "mpi": "mvapich2", "tuning": ["tuned", "untuned"], "nodes": 16}],
        1.08,
    ),
}


@pytest.mark.parametrize("report", SMALLEST_FIRST)
def test_synthesis__planted_falsehood_is_not_recovered(report: str, judged: Judge) -> None:
    claim, runs, slower = FALSEHOODS[report]
    honest = changed(truth_of(report), runs=runs)
    assert judged(honest, report, claim)[claim].verdict == "recovered"
    verdict = judged(planting(honest, claim, slower), report, claim)[claim]
    assert verdict.verdict == "not recovered"
    assert verdict.reason != ""
    assert verdict.n == 6


def test_synthesis__estimates_are_those_of_the_truth(judged: Judge) -> None:
    honest = changed(truth_of("lsdyna2014"), runs=FALSEHOODS["lsdyna2014"][1])
    claim = FALSEHOODS["lsdyna2014"][0]
    # 4.9 times and 3 times by the declared effect.
    for slower in (4.9, 3.0):
        verdict = judged(planting(honest, claim, slower), "lsdyna2014", claim)[claim]
        assert verdict.estimate == pytest.approx(slower, rel=0.005)
        assert verdict.low is not None
        assert verdict.high is not None
        assert verdict.low < verdict.estimate < verdict.high


def test_synthesis__table_of_runs_says_how_fine_elapsed_is(tmp_path: Path) -> None:
    raw = tmp_path / "syn-lsdyna2014"
    build(changed(truth_of("lsdyna2014"), runs=[{"question": "x", "nodes": 32}]), raw)
    ingest(raw, tmp_path / "processed")
    runs = storage.read_tree(tmp_path / "processed" / "campaign.nc")["runs"].to_dataset()
    good = runs.isel(run=runs["valid"].values)
    assert good["figure_of_merit_resolution"].values.tolist() == [1.0] * 6
    assert (good["figure_of_merit"] % 1 == 0).all()


def test_synthesis__shares_no_code_with_the_readers() -> None:
    for path in sorted((ROOT / "src" / "analysis" / "synthesis").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in getattr(node, "names", [])] if isinstance(node, ast.Import) else []
            )
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            ours = [name for name in names if name.startswith("analysis")]
            allowed = (
                "analysis.synthesis",
                *(f"analysis.base.{name}" for name in ("errors", "models", "project")),
            )
            assert all(name == "analysis.base" or name.startswith(allowed) for name in ours), path
    code = "import analysis.synthesis, sys; print([m for m in sys.modules if m.startswith('analysis')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "analysis.synthesis.ipm" in done.stdout
    assert "readers" not in done.stdout


def test_synthesis__same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    truth = truth_of("sharp2019")
    build(truth, tmp_path / "a")
    build(truth, tmp_path / "b")
    build(changed(truth, seed=truth.seed + 1), tmp_path / "c")
    assert checksum(tmp_path / "a") == checksum(tmp_path / "b")
    assert checksum(tmp_path / "a") != checksum(tmp_path / "c")


def test_synthesis__an_effect_changes_only_the_runs_under_it() -> None:
    truth = changed(truth_of("lsdyna2014"), runs=FALSEHOODS["lsdyna2014"][1])
    other = planting(truth, FALSEHOODS["lsdyna2014"][0], 3.0)
    assert {run.factors["interconnect"] == "10gbe" for run in runs(truth)} == {True, False}
    for before, after in zip(runs(truth), runs(other), strict=True):
        slow = before.factors["interconnect"] == "10gbe"
        assert (before.name, before.factors) == (after.name, after.factors)
        assert (after.value / before.value == pytest.approx(3.0 / 4.9)) is slow
        assert (after.value == before.value) is not slow


@pytest.mark.parametrize("report", REPORTS)
def test_synthesis__every_cell_has_six_repeats(report: str) -> None:
    truth = truth_of(report)
    assert truth.repeats >= 6
    counts: dict[str, int] = {}
    for job in runs(truth):
        if not job.failed:
            key = repr(sorted((k, str(v)) for k, v in job.factors.items()))
            counts[key] = counts.get(key, 0) + 1
    concurrent = {repr(sorted((k, str(v)) for k, v in c.items())): c["concurrent_jobs"] for c in cells(truth)}
    assert counts == {key: truth.repeats * jobs_at_once for key, jobs_at_once in concurrent.items()}


@pytest.mark.parametrize("report", REPORTS)
def test_synthesis__names_claims_that_exist(report: str) -> None:
    truth = truth_of(report)
    known = {claim.id for claim in load_report(ROOT / "config" / "claims" / f"{report}.yaml").claims}
    named = {claim for effect in truth.effects for claim in effect["plants"]} | set(truth.contradicted or {})
    assert named <= known


def test_synthesis__jobs_at_once_start_together_and_share_the_nodes() -> None:
    truth = changed(
        truth_of("lsdyna2009"),
        runs=[
            {"question": "placement", "concurrent_jobs": 8, "placement": "core-per-job", "ranks_per_node": 1}
        ],
    )
    planned = [job for job in runs(truth) if not job.failed]
    assert len(planned) == 48
    first = [job for job in planned if job.order == planned[0].order]
    assert [job.name[-1] for job in first] == list("abcdefgh")
    assert len({job.job_id for job in first}) == 8
    assert {job.hosts for job in first} == {tuple(f"shanghai{i:02d}" for i in range(1, 25))}
    assert max(job.start for job in first) < min(job.end for job in first)


def test_synthesis__truth_with_gaps_is_refused_by_name(tmp_path: Path) -> None:
    truth = truth_of("lsdyna2014")
    with pytest.raises(ConfigError, match=r"lsdyna2014.yaml: no value for 3 nodes among those for 2, 4, 8"):
        build(changed(truth, runs=[{"question": "x", "interconnect": "1gbe", "nodes": 3}]), tmp_path / "out")
    with pytest.raises(ConfigError, match="no base for ls-dyna elsewhere; declare one"):
        build(changed(truth, runs=[{"question": "x", "case": "elsewhere"}]), tmp_path / "out")
    path = tmp_path / "bad.yaml"
    path.write_text("campaign: syn-x\nseed: 1\nrun: []\n")
    with pytest.raises(ConfigError) as caught:
        load_truth(path)
    assert str(caught.value.faults[-1]) == f"{path}:3: the file: unknown key 'run'; is 'runs' meant?"
    assert "bad.yaml:1: the file: 'start' is a required property; add it: begin of" in str(caught.value)
    path.write_text("- 1\n")
    with pytest.raises(ConfigError, match=r"the file: \[1\] is not of type 'object'"):
        load_truth(path)


def test_synthesis__old_campaign_stays_when_the_truth_has_gaps(tmp_path: Path) -> None:
    out = tmp_path / "syn-sharp2019"
    truth = truth_of("sharp2019")
    build(truth, out)
    before = checksum(out)
    with pytest.raises(ConfigError):
        build(changed(truth, runs=[{"question": "x", "case": "elsewhere"}]), out)
    assert checksum(out) == before


def test_synthesis__command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "raw"
    assert cli.main(["stage", "synthesis", "sharp2019", str(out)]) == 0
    assert (
        capsys.readouterr().out == f"{out}: 43 runs\n"
    )  # (1 + 1 + 2) + 3 OSU cells, 6 times, and a failed one
    assert len(list((out / "runs").iterdir())) == 43
    assert cli.main(["stage", "synthesis", str(tmp_path / "none.yaml"), str(out)]) == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path}/none.yaml: No such file or directory; ")


def test_synthesis__says_how_far_it_is_where_that_takes_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = changed(truth_of("sharp2019"), runs=[{"question": "interconnect"}])
    build(truth, tmp_path / "fast", progress=True)
    assert capsys.readouterr().err == ""
    ticks = iter(range(0, 1000, 3))
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("analysis.synthesis.campaign.time", clock)
    build(truth, tmp_path / "slow", progress=True)
    assert "syn-sharp2019: 3 of 7 runs" in capsys.readouterr().err
