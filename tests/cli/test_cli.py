"""The command line as a user meets it: what it prints and how it exits."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import cli
from analysis.base import models, project
from analysis.claims.model import load_report
from analysis.cli import trial, verdicts
from analysis.measure import nodes
from analysis.schema.campaigns import CampaignFile
from tests.site import mock

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "data" / "raw" / "vm-profiles" / "runs"


def test_inspect__says_what_a_file_is(capsys: pytest.CaptureFixture[str]) -> None:
    path = next((RUNS / "hpcg-ipm-n8").glob("*.ipm.xml.xz"))
    assert cli.main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "IPM, whole" in out
    assert "8 rank" in out


def test_inspect__json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    path = next((RUNS / "hpcg-ipm-n8").glob("*.ipm.xml.xz"))
    assert cli.main(["inspect", "--json", str(path)]) == 0
    (described,) = json.loads(capsys.readouterr().out)
    assert described["complete"] is True
    assert described["dims"]["rank"] == 8


def test_inspect__cut_file_is_named_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = next((RUNS / "osu-allreduce-n8-ipm").glob("*.xml")).read_bytes()
    (tmp_path / "cut.xml").write_bytes(text[: len(text) // 2])
    assert cli.main(["inspect", str(tmp_path / "cut.xml")]) == 1
    captured = capsys.readouterr()
    assert "NOT WHOLE" in captured.out
    assert f"{tmp_path}/cut.xml:" in captured.err


def test_inspect__a_bad_file_costs_only_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").touch()
    good = next((RUNS / "hpcg-ipm-n8").glob("HPCG*.txt"))
    assert cli.main(["inspect", str(tmp_path / "empty"), str(tmp_path / "none"), str(good)]) == 1
    captured = capsys.readouterr()
    assert "hpcg, whole" in captured.out
    assert captured.err.splitlines()[0].startswith(f"{tmp_path}/empty: is empty; ")
    assert captured.err.splitlines()[1].startswith(f"{tmp_path}/none: No such file or directory; ")


def test_inspect__sums_what_has_a_sum_and_no_sentinels(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", "--json", str(ROOT / "data/raw/vm-hpcg/sacct.txt")]) == 0
    records = json.loads(capsys.readouterr().out)[0]["variables"]
    # -1 stands for no exit code, as of a step that is still running.
    assert not any("sum" in text or text.startswith("-1 ") for text in records.values())
    assert cli.main(["inspect", "--json", str(ROOT / "tests/data/osu/latency_n2.txt")]) == 0
    assert "sum" not in json.loads(capsys.readouterr().out)[0]["variables"]["latency"]
    assert cli.main(["inspect", "--json", str(ROOT / "tests/data/ipm/hpcg_n2.ipm.xml")]) == 0
    profile = json.loads(capsys.readouterr().out)[0]["variables"]
    assert "s, sum " in profile["time"]
    assert "sum" not in profile["memory"]


def test_inspect__one_value_is_no_range(capsys: pytest.CaptureFixture[str]) -> None:
    path = next((ROOT / "data/raw/vm-hpcg/runs/001").glob("HPCG*.txt"))
    assert cli.main(["inspect", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)[0]["variables"]
    assert (found["local_size"], found["process_grid"]) == ("16", "1 to 2")


def test_inspect__unknown_engine_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", "--engine", "perl", "x"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_main__wrong_usage_exits_with_2() -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["inspect"])
    assert exit_.value.code == 2


def test_main__a_level_may_begin_with_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    given = cli._parser().parse_args(
        ["claim", "new", "--report", "r", "--treatment", "-O3", "--baseline", "-Os"]
    )
    assert (given.treatment, given.baseline) == ("-O3", "-Os")
    with pytest.raises(SystemExit):
        cli.main(["claim", "new", "--report", "r", "--treatmint", "-O3"])
    assert "unknown option --treatmint (is '--treatment' meant?)" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "try", "progress", "findings"])
def test_main__a_campaign_that_is_not_there_is_named_alike(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, "vm-hpgc"]) == 1
    line = "config/campaigns/vm-hpgc.yaml: there is no such campaign; is 'vm-hpcg' meant? known: "
    assert capsys.readouterr().err.startswith(line)


@pytest.mark.slow
def test_main__what_the_system_refuses_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    raw = project.root() / "data" / "raw" / "vm-profiles"
    assert cli.main(["stage", "ingest", str(raw), str(tmp_path / "file" / "out")]) == 1
    assert capsys.readouterr().err == f"{tmp_path}/file/out: Not a directory; put it right\n"
    log = tmp_path / "log"
    stage = ["stage", "--log", str(log), "ingest", str(raw), str(tmp_path / "file" / "out")]
    assert cli.main(stage) == 1
    assert log.read_text(encoding="utf-8") == f"{tmp_path}/file/out: Not a directory; put it right\n"


def test_main__an_error_of_the_system_about_no_file_is_shown_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(**_: object) -> int:
        raise ConnectionResetError("gone")

    monkeypatch.setattr("analysis.cli.stages.run", wrong)
    with pytest.raises(ConnectionResetError):
        cli.main(["stage", "ingest", "a", "b"])


def test_main__output_into_a_closed_pipe_is_no_traceback() -> None:
    path = next((RUNS / "hpcg-ipm-n8").glob("*.ipm.xml.xz"))
    command = f"'{sys.executable}' -m analysis.cli inspect {path} {path} {path} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.datasets("vm-hpcg", "vm-profiles")
class TestVerdicts:
    def test_json_has_the_promised_fields(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["verdicts", "--json", "--report", "hpcg2014", "--campaign", "vm-hpcg"]) == 0
        records = json.loads(capsys.readouterr().out)
        promised = {"claim", "report", "evidence", "distance", "verdict", "campaign"}
        promised |= {"estimate", "low", "high", "expected", "unit", "n"}
        assert all(promised <= set(record) for record in records)
        found = {record["claim"]: record for record in records}
        assert found["hpcg2014-cc-2pct"]["verdict"] == "cannot tell"
        assert found["hpcg2014-size-135pct-over-104"]["verdict"] == "seen, size open"
        assert found["hpcg2014-mpi-comparable"]["verdict"] == "cannot tell"

    def test_table_has_a_row_a_claim(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["verdicts", "--report", "house"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == [
            *("claim", "campaign", "expected", "estimate", "n", "evidence", "distance", "verdict")
        ]
        assert sum("house-placement-77pct" in line for line in lines) == 1

    @pytest.mark.slow
    def test_all_evidence_classes_of_the_scoreboard_are_there(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["verdicts", "--json", "--report", "hpcg2014"]) == 0
        records = json.loads(capsys.readouterr().out)
        told = {one["evidence"] for one in records if one["verdict"] != "not tested"}
        assert told == {"measured", "published", "simulated", "modelled", "reported"}
        # As the site says it: the largest of six systems that ran 16³ and 104³.
        key = ("hpcg2014-size-135pct-over-104", "published")
        (found,) = [one for one in records if (one["claim"], one["campaign"]) == key]
        word = "direction agrees, order of runs not known"
        assert (found["n"], found["n_baseline"], found["verdict"]) == (6, None, word)

    def test_a_report_is_held_against_a_campaign_that_no_build_holds_it_against(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        # A build holds the claims of the house against vm-hpcg alone.
        assert cli.main(["verdicts", "--json", "--report", "house", "--campaign", "vm-profiles"]) == 0
        records = json.loads(capsys.readouterr().out)
        assert {one["campaign"] for one in records} == {"vm-profiles"}
        assert [one["claim"] for one in records] == [
            one.id for one in load_report(project.claims("house")).claims
        ]

    def test_topic_chooses_claims_and_an_unknown_one_is_told(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["verdicts", "--report", "house", "--topic", "placement"]) == 0
        found = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
        assert found == ["house-placement-77pct", "house-placement-pays"]
        assert cli.main(["verdicts", "--report", "house", "--topic", "placment"]) == 1
        assert "no claim here is on 'placment'; is 'placement' meant?" in capsys.readouterr().err

    def test_claims_that_a_campaign_does_not_test_are_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        common = {"topic": "scaling", "statement": "s", "reason": "r"}
        told = [
            mock.tell("a-one", verdict="holds", estimate=1.0, campaign="vm-a", **common),
            *(
                mock.tell(name, campaign=where, **common)
                for where in ("vm-b", "vm-c")
                for name in ("a-one", "a-two")
            ),
        ]
        monkeypatch.setattr(verdicts, "_records", lambda *_: told)
        assert cli.main(["verdicts"]) == 0
        lines = capsys.readouterr().out.splitlines()
        # One row for a claim that runs test, and one for a claim that nothing tests.
        assert [line.split()[:2] for line in lines[1:3]] == [["a-one", "vm-a"], ["a-two", "vm-b"]]
        said = (
            "claims not tested by vm-b (1), vm-c (2), 3 rows; --campaign NAME shows those of one, --json all"
        )
        assert lines[3:] == ["", f"left out: {said}"]
        assert cli.main(["verdicts", "--campaign", "vm-b"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 6
        told.clear()
        assert cli.main(["verdicts"]) == 1
        assert "no campaign tests these claims; name one under `reports`" in capsys.readouterr().err

    def test_unknown_report_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["verdicts", "--report", "nobody"]) == 1
        assert "has no report 'nobody'" in capsys.readouterr().err


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_campaign__makes_what_the_readme_promises(elsewhere: Path) -> None:
    assert cli.main(["new-campaign", "mine", "--by-hand"]) == 0
    assert models.load(CampaignFile, elsewhere / "config/campaigns/mine.yaml").evidence == "measured"
    assert (elsewhere / "data/raw/mine/runs").is_dir()


def test_new_campaign__overwrites_nothing(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["new-campaign", "mine", "--by-hand"]) == 0
    (elsewhere / "config/campaigns/mine.yaml").write_text("mine\n")
    assert cli.main(["new-campaign", "mine", "--by-hand"]) == 1
    assert (elsewhere / "config/campaigns/mine.yaml").read_text() == "mine\n"
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["new-campaign", "mine", "--yes"],
        ["import", str(RUNS.parent), "--as", "mine", "--yes"],
        ["try", "vm-hpcg"],
        ["claim", "new", "--report", "hpcg2014", "--statement", "x", "--yes"],
        ["claim", "new", "--report", "mine", "--title", "x", "--publisher", "x", "--date", "x", "--yes"],
        ["report", "vm-hpcg", "--no-pdf"],
    ],
)
def test_what_writes_files__needs_a_project_in_the_working_folder(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It wrote into the project of the package's own checkout."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(command) == 1
    remedy = "work in a Benchbook project; `benchbook init FOLDER` makes one"
    assert capsys.readouterr().err == f"{tmp_path}: no config/config.yaml here or above; {remedy}\n"
    assert list(tmp_path.iterdir()) == []
    assert not (ROOT / "config/campaigns/mine.yaml").exists()


def test_new_campaign__tries_what_it_has_written_and_nothing_else(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []
    monkeypatch.setattr(trial, "try_campaign", lambda name: tried.append(name) or 7)
    monkeypatch.setattr(nodes, "here", lambda: nodes.Kind(1, 1, 1, 1, 1000, slurm=False))
    assert cli.main(["new-campaign", "mine", "--yes", "--try"]) == 7
    assert tried == ["mine"]
    assert (elsewhere / "config/campaigns/mine.yaml").is_file()
    assert cli.main(["new-campaign", "mine", "--yes", "--try"]) == 1  # it is there
    assert cli.main(["new-campaign", "other", "--by-hand", "--try"]) == 2
    assert "--try measures a run" in capsys.readouterr().err
    assert tried == ["mine"]
    assert not (elsewhere / "config/campaigns/other.yaml").exists()


@pytest.mark.parametrize("name", ["../evil", "a b", "", "-x", "."])
def test_new_campaign__refuses_names_that_are_no_folder(elsewhere: Path, name: str) -> None:
    before = sorted(elsewhere.rglob("*"))
    assert cli.main(["new-campaign", "--", name]) == 1
    assert sorted(elsewhere.rglob("*")) == before


def test_inspect__adds_up_only_what_a_sum_says_something_of(capsys: pytest.CaptureFixture[str]) -> None:
    """awk '{s += $2}' over the table's latencies is no latency; calls of a profile add up."""
    table = ROOT / "tests/data/osu/latency_n2.txt"
    profile = next((RUNS / "hpcg-ipm-n8").glob("*.ipm.xml.xz"))
    assert cli.main(["inspect", "--json", str(table), str(profile)]) == 0
    latency, calls = (one["variables"] for one in json.loads(capsys.readouterr().out))
    assert latency["latency"] == "0.33 to 2801.52 us"
    assert ", sum " in calls["count"]
    assert ", sum " in calls["mpi_time"]


def test_collect__a_build_needs_neither_a_claim_nor_the_page_that_an_audit_names(tmp_path: Path) -> None:
    """The report's audit says that it stands on the page `audit`; here is one campaign with one page."""
    page = "{name: only, notebook: 15-repeats.ipynb, campaign: vm-hpcg, report: hpcg2014, topics: [networks]}"
    config = tmp_path / "one.yaml"
    config.write_text(f"campaigns: [vm-hpcg]\nreports: {{hpcg2014: [vm-hpcg]}}\npages: [{page}]\n")
    out, audit = tmp_path / "out.json", tmp_path / "audit.json"
    assert cli.main(["stage", "verdicts", "audit", str(audit), "config/claims/hpcg2014.yaml"]) == 0
    assert {one["page"] for one in json.loads(audit.read_text())} == {"audit"}
    assert cli.main(["stage", "collect", str(out), str(audit), f"--config={config}"]) == 0
    assert {one["page"] for one in json.loads(out.read_text())} == {None}
    assert cli.main(["stage", "collect", str(out), f"--config={config}"]) == 0
    assert json.loads(out.read_text()) == []
