from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from analysis import cli
from analysis.base.errors import ConfigError
from analysis.provenance import crate, manifest
from analysis.provenance.crate import About

RAW = Path(__file__).parents[2] / "data/raw"
ABOUT = About(
    name="x",
    title="A campaign",
    description="What was measured.",
    evidence="measured",
    licence="CC-BY-4.0",
    hardware="two nodes",
    clusters={"c 1": [{"what": "fabric", "value": "FDR", "source": "ibstat, 2026-01-02"}]},
    applications={"hpcg": "HPCG"},
)
RECORD = {
    "run": "001",
    "campaign": "x",
    "evidence": "measured",
    "application": "hpcg",
    "case": "nx16",
    "cluster": "c 1",
    "interconnect": "ib/fdr",
    "repeat": 1,
    "job_id": 28,
    "command": "srun ./xhpcg --nx=16 > out",
    "start": 1795220851.25,
    "end": 1795220857.5,
    "exit_code": 0,
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Return a campaign of three runs: one that went well, one that failed, one with a damaged record."""
    folder = tmp_path / "x"
    failed = RECORD | {"run": "002", "exit_code": None, "end": None, "job_id": 29}
    write(
        folder,
        {
            "README.md": "# x\n",
            "runs/001/run.json": json.dumps(RECORD),
            "runs/001/out put #1.txt": "result\n",
            "runs/002/run.json": json.dumps(failed),
            "runs/003/run.json": "[]",
        },
    )
    manifest.write(folder, "x")
    return folder


def exported(folder: Path, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the entities of a crate by identifier."""
    out = folder.parent / "x.zip"
    crate.export(folder, "x", out, About(**(vars(ABOUT) | changes)), force=True)
    with zipfile.ZipFile(out) as archive:
        graph = json.loads(archive.read(crate.METADATA))["@graph"]
    assert len({entity["@id"] for entity in graph}) == len(graph)
    return {entity["@id"]: entity for entity in graph}


def test_crate__a_run_is_an_action_with_command_times_and_files(campaign: Path) -> None:
    action = exported(campaign)["#run/001"]
    assert action == {
        "@id": "#run/001",
        "@type": "CreateAction",
        "name": "run 001",
        "description": "srun ./xhpcg --nx=16 > out",
        # date -u -d @1795220851
        "startTime": "2026-11-21T00:27:31.250Z",
        "endTime": "2026-11-21T00:27:37.500Z",
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "identifier": "Slurm job 28",
        "instrument": {"@id": "#application/hpcg"},
        "object": [
            {"@id": "#on/c%201"},
            {"@id": "#case/nx16"},
            {"@id": "#interconnect/ib%2Ffdr"},
            {"@id": "#repeat/1"},
            {"@id": "#timing/True"},
        ],
        "result": [{"@id": "runs/001/out%20put%20%231.txt"}],
        "subjectOf": {"@id": "runs/001/run.json"},
    }


def test_crate__a_failed_run_says_so_and_gives_no_end_that_was_not_recorded(campaign: Path) -> None:
    action = exported(campaign)["#run/002"]
    assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert action["error"] == "no exit code was recorded"
    assert "endTime" not in action
    assert "result" not in action


def test_crate__inputs_and_reason_of_a_run_come_from_its_record(campaign: Path) -> None:
    more = {
        "reason": "left no ipm profile",
        "binary": {"path": "/opt/xhpcg", "sha256": "ab" * 32, "bytes": 7},
        "input_files": {"in put.k": {"path": "/d/in put.k", "sha256": "cd" * 32, "bytes": 9}, "gone": None},
    }
    (campaign / "runs/001/run.json").write_text(json.dumps(RECORD | more))
    manifest.write(campaign, "x", force=True)
    entities = exported(campaign)
    action = entities["#run/001"]
    assert (action["error"], action["actionStatus"][-18:]) == ("left no ipm profile", "FailedActionStatus")
    inputs = [entities[one["@id"]] for one in action["object"] if one["@id"].startswith("#input/")]
    assert [(one["name"], one["sha256"], one["contentSize"]) for one in inputs] == [
        ("/opt/xhpcg", "ab" * 32, "7"),
        ("in put.k", "cd" * 32, "9"),
    ]


def test_crate__a_damaged_record_is_a_file_without_an_action(campaign: Path) -> None:
    entities = exported(campaign)
    assert "#run/003" not in entities
    assert entities["runs/003/run.json"]["contentSize"] == "2"


def test_crate__root_names_campaign_licence_evidence_and_day(campaign: Path) -> None:
    entities = exported(campaign)
    root = entities["./"]
    assert (root["name"], root["description"]) == ("A campaign", "What was measured.")
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert root["datePublished"] == "2026-11-21"
    assert entities[root["additionalProperty"]["@id"]]["value"] == "measured"
    assert root["mentions"] == [{"@id": "#run/001"}, {"@id": "#run/002"}]
    assert exported(campaign, published="2027-02-03")["./"]["datePublished"] == "2027-02-03"


def test_crate__the_cluster_carries_its_facts_with_their_sources(campaign: Path) -> None:
    entities = exported(campaign)
    cluster = entities["#cluster/c%201"]
    assert cluster["description"] == "two nodes"
    (fact,) = cluster["additionalProperty"]
    assert entities[fact["@id"]] == {
        "@id": "#c%201/fabric/FDR",
        "@type": "PropertyValue",
        "name": "fabric",
        "value": "FDR",
        "description": "source: ibstat, 2026-01-02",
    }


def test_crate__every_reference_leads_to_an_entity(campaign: Path) -> None:
    entities = exported(campaign)

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [value["@id"]]
        return [one for item in value for one in references(item)] if isinstance(value, list) else []

    values = (value for one in entities.values() for key, value in one.items() if key[0] != "@")
    found = {reference for value in values for reference in references(value)}
    # The metadata, the programs, the machines, the runs and their files; the context is that of RO-Crate.
    assert len(found) > 10
    assert found - entities.keys() == {"https://w3id.org/ro/crate/1.1"}


def test_crate__bytes_do_not_depend_on_time_owner_or_mode(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = campaign.parent / "a.zip", campaign.parent / "b.zip"
    assert crate.export(campaign, "x", one, ABOUT) == (6, 2)
    (campaign / "README.md").chmod(0o600)
    os.utime(campaign / "README.md", (1, 1))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        crate.export(campaign, "x", other, ABOUT)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        names = archive.namelist()
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names == [crate.METADATA, *sorted(names[1:])]


def test_crate__a_campaign_that_differs_from_its_manifest_is_not_exported(campaign: Path) -> None:
    (campaign / "README.md").write_text("# y\n")
    with pytest.raises(ConfigError, match=r"README\.md: has changed"):
        crate.export(campaign, "x", campaign.parent / "x.zip", ABOUT)
    assert sorted(path.name for path in campaign.parent.iterdir()) == ["x"]


def test_crate__a_place_that_cannot_be_used_is_refused(campaign: Path) -> None:
    out = campaign.parent / "x.zip"
    out.write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        crate.export(campaign, "x", out, ABOUT)
    assert out.read_text() == "mine"
    with pytest.raises(ConfigError, match="lies among the raw files"):
        crate.export(campaign, "x", campaign / "runs/x.zip", ABOUT)
    with pytest.raises(ConfigError, match="No such file or directory"):
        crate.export(campaign, "x", campaign.parent / "no/x.zip", ABOUT)


def test_crate__without_any_end_the_day_must_be_given(campaign: Path) -> None:
    (campaign / "runs/001/run.json").write_text(json.dumps(RECORD | {"end": None}))
    manifest.write(campaign, "x", force=True)
    with pytest.raises(ConfigError, match="no run says when it ended; give the day with --published"):
        exported(campaign)
    assert exported(campaign, published="2027-02-03")["./"]["datePublished"] == "2027-02-03"


def test_crate__a_file_with_the_name_of_the_metadata_is_refused(campaign: Path) -> None:
    (campaign / crate.METADATA).write_text("{}")
    manifest.write(campaign, "x", force=True)
    with pytest.raises(ConfigError, match="has the name of the crate's own file"):
        exported(campaign)


def test_crate__names_with_blanks_read_back(campaign: Path) -> None:
    exported(campaign)
    found = ROCrate(campaign.parent / "x.zip").get("runs/001/out%20put%20%231.txt")
    assert Path(found.source).read_text() == "result\n"


def test_crate__the_shipped_campaign_reads_back_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "vm-profiles.zip"
    assert cli.main(["export", "vm-profiles", str(out)]) == 0
    raw = [path for path in (RAW / "vm-profiles").rglob("*") if path.is_file()]
    assert capsys.readouterr().out == f"{out}: {len(raw)} files, 11 runs\n"
    found = ROCrate(out)
    assert found.root_dataset["license"].id == "https://spdx.org/licenses/BSD-3-Clause"
    entities = {entity.id: entity for entity in found.data_entities}
    declared = {name for name in entities if name.startswith("benchbook/")}
    programs = ("hpcc", "hpcg", "osu")
    assert declared == {
        "benchbook/config/campaigns/vm-profiles.yaml",
        *(f"benchbook/config/applications/{name}.yaml" for name in programs),
    }
    assert len(entities) == len(raw) + len(declared)
    for path in raw:
        entity = entities[path.relative_to(RAW / "vm-profiles").as_posix()]
        stored = Path(entity.source).read_bytes()
        assert stored == path.read_bytes()
        assert entity["sha256"] == hashlib.sha256(stored).hexdigest()
    actions = found.get_by_type("CreateAction")
    assert len(actions) == 11
    # hpcg-ipm-n256 ran into its time limit
    failed = [a for a in actions if a["actionStatus"].endswith("FailedActionStatus")]
    assert [(a["name"], a["error"]) for a in failed] == [("run hpcg-ipm-n256", "exit code 124")]
