from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis import cli
from analysis.provenance import manifest

ROOT = Path(__file__).parents[2]
DECLARATION = "title: X\nevidence: measured\nhardware: two nodes\n"
MATRIX = """\
matrix:
  cluster: ours
  repeats: 1
  subsets: [{name: all, why: what is to be run, application: hpcg, case: nx16}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the campaign x of one run, and work in it."""
    shutil.copytree(ROOT / "data/raw/vm-hpcg/runs/001", tmp_path / "data/raw/x/runs/001")
    record = tmp_path / "data/raw/x/runs/001/run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"campaign": "x"}))
    (tmp_path / "config/campaigns").mkdir(parents=True)
    (tmp_path / "config/config.yaml").write_text("campaigns: []\n")
    (tmp_path / "config/campaigns/x.yaml").write_text(DECLARATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    code = cli.main(["verify", *arguments])
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err.splitlines()


def test_verify__writes_a_manifest_and_agrees_with_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "--write", "x") == (
        0,
        ["data/raw/x/MANIFEST.sha256: wrote 3 files", "x: 3 files, 1 run, 0 faults, 0 notes"],
        [],
    )
    assert run(capsys, "x") == (0, ["x: 3 files, 1 run, 0 faults, 0 notes"], [])


@pytest.mark.parametrize(("repeated", "lines"), [(3, 3), (5, 1)])
def test_verify__more_than_three_notes_that_are_alike_are_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], repeated: int, lines: int
) -> None:
    runs = project / "data/raw/x/runs"
    record = json.loads((runs / "001/run.json").read_text())
    for number in range(2, 2 + repeated):
        shutil.copytree(runs / "001", runs / f"r{number}")
        times = {key: record[key] + 1000 * number for key in ("start", "end")}
        changed = {"run": f"r{number}", "job_id": f"{70000 + number}", **times}
        (runs / f"r{number}/run.json").write_text(json.dumps(record | changed))
    run(capsys, "--write", "x")
    noted = json.loads("".join(run(capsys, "--json", "x")[1]))[0]["notes"]
    err = run(capsys, "x")[2]
    alike = [line for line in err if "both count" in line]
    assert len([one for one in noted if "both count" in one["remedy"]]) == repeated
    assert len(alike) == lines
    assert ("(4 more like this: --json lists them)" in alike[0]) == (lines == 1)


def test_verify__one_line_a_fault_and_status_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--write", "x")
    folder = project / "data/raw/x"
    (folder / "new").write_text("")
    record = folder / "runs/001/run.json"
    record.write_text(record.read_text().replace('"measured"', '"synthetic"'))
    code, out, err = run(capsys, "x")
    assert (code, out) == (1, ["x: 4 files, 1 run, 3 faults, 0 notes"])
    assert [line.split(";")[0] for line in err] == [
        "data/raw/x/runs/001/run.json: has changed since line 3 of MANIFEST.sha256",
        "data/raw/x/new: is not in MANIFEST.sha256",
        "data/raw/x/runs/001/run.json: says evidence 'synthetic', but the campaign declares 'measured'",
    ]


def test_verify__does_not_overwrite_a_manifest_without_force(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "--write", "x")
    before = (project / "data/raw/x" / manifest.NAME).read_bytes()
    (project / "data/raw/x/new").write_text("")
    code, out, err = run(capsys, "--write", "x")
    assert (code, out) == (1, [])
    assert err == ["data/raw/x/MANIFEST.sha256: exists already; check against it, or --force"]
    assert (project / "data/raw/x" / manifest.NAME).read_bytes() == before
    assert run(capsys, "--write", "--force", "x")[0] == 0


def test_verify__force_alone_is_wrong_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--force", "x") == (2, [], ["benchbook verify: --force needs --write"])


@pytest.mark.parametrize("name", ["y", "../raw/x", "..", "x/runs", ".running"])
def test_verify__what_is_no_campaign_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (project / "data/raw/.running").mkdir()
    assert run(capsys, name) == (1, [], [f"data/raw/{name}: is no raw campaign; known: x"])


def test_verify__runs_that_the_matrix_declares_and_that_are_missing_are_named(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "--write", "x")
    (project / "config/campaigns/x.yaml").write_text(DECLARATION + MATRIX)
    shutil.copytree(project / "data/raw/x/runs/001", project / "data/raw/x/runs/b-r01.failed-1")
    # What a matrix expands to is tested with the matrix; here only its runs' names matter.
    runs = [SimpleNamespace(records=names) for names in (("001",), ("b-r01", "b-r01.2"), ("a-r01",))]
    asked = SimpleNamespace(all_runs=lambda campaign, base: runs)
    monkeypatch.setitem(sys.modules, "analysis.measure.workflow", asked)
    _, _, err = run(capsys, "x")
    assert [line for line in err if "matrix" in line] == [
        f"data/raw/x/runs/{said}: the matrix declares it; "
        "measure the campaign again: only what is missing will run"
        for said in ("a-r01: is missing", "b-r01: is missing (1 failed)", "b-r01.2: is missing")
    ]


def test_verify__runs_that_the_matrix_no_longer_declares_are_a_note(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "--write", "x")
    (project / "config/campaigns/x.yaml").write_text(DECLARATION + MATRIX)
    asked = SimpleNamespace(all_runs=lambda campaign, base: [])
    monkeypatch.setitem(sys.modules, "analysis.measure.workflow", asked)
    code, out, err = run(capsys, "x")
    assert (code, out) == (0, ["x: 3 files, 1 run, 0 faults, 1 note"])
    assert err == [
        "config/campaigns/x.yaml: 1 runs are not in the matrix, 001 the first; "
        "they count like the others: move them to a campaign of their own if they should not"
    ]


@pytest.mark.parametrize(
    ("campaign", "said"),
    [
        # find -type f | wc -l, less the manifest; ls runs | wc -l; 13 OSU repetitions were numbered twice,
        # and sacct was asked before its last job, 248, had ended
        ("vm-hpcg", "vm-hpcg: 651 files, 221 runs, 0 faults, 14 notes"),
        ("vm-profiles", "vm-profiles: 62 files, 11 runs, 0 faults, 0 notes"),
    ],
)
def test_verify__the_shipped_campaigns_are_as_they_were(
    campaign: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    code, out, err = run(capsys, campaign)
    assert (code, out) == (0, [said]), err


CLAIMS = """\
report: {title: R, publisher: P, date: "2014"}
claims:
  - id: r-ib
    topic: networks
    statement: InfiniBand is faster than Ethernet
    quantity: speedup
    compare: {factor: interconnect, treatment: ib-fdr, baseline: 1gbe}
    select: {nodes: 2}
    expect: {relation: at-least, value: 1}
"""


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("{interconnect: {ib-fdr: {is: veth-1gbit}}, nodes: {'2': {is: 2}}}", []),
        (
            "\n  interconect:\n    ib-fdr: {is: veth-1gbit}",
            [
                "5: levels: unknown factor 'interconect'; is 'interconnect' meant? known: application, case",
            ],
        ),
        (
            "\n  interconnect:\n    ib-edr: {is: veth-1gbit}",
            ["6: no claim names interconnect 'ib-edr'; is 'ib-fdr' meant? known: 1gbe, ib-fdr"],
        ),
        (
            "\n  interconnect:\n    1gbe:\n      is: veth-1gbti",
            ["7: no run has interconnect 'veth-1gbti'; is 'veth-1gbit' meant? known: veth-1gbit"],
        ),
    ],
)
def test_verify__what_nobody_knows_in_a_declaration_is_named_with_the_nearest(
    project: Path, capsys: pytest.CaptureFixture[str], levels: str, said: list[str]
) -> None:
    (project / "config/claims").mkdir()
    (project / "config/claims/r.yaml").write_text(CLAIMS)
    (project / "config/config.yaml").write_text("campaigns: [x]\nreports: {r: [x]}\npages: []\n")
    path = project / "config/campaigns/x.yaml"
    path.write_text(f"{DECLARATION}levels: {levels}\n")
    code, _, err = run(capsys, "--write", "x")
    assert (code, len(err)) == (1 if said else 0, len(said[:1]))
    assert all(part in err[0] for part in said)
    assert not said or err[0].startswith("config/campaigns/x.yaml:")


def test_verify__misspelt_key_of_a_record_is_a_fault(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "data/raw/x/runs/001/run.json"
    path.write_text(path.read_text().replace('"interconnect"', '"interconect"'))
    code, _, err = run(capsys, "--write", "x")
    wanted = "data/raw/x/runs/001/run.json:1: unknown key 'interconect'; is 'interconnect' meant?"
    assert (code, err) == (1, [wanted])
