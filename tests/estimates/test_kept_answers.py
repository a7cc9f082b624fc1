"""What a campaign can answer is kept between builds, and worked out again when anything behind it changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.base import project
from analysis.base.files import stamp
from analysis.estimates import asking, contents
from analysis.estimates.asking import PageQuestion, QuestionsFile, answerable, kept_answers

QUESTIONS: list[dict[str, Any]] = [
    {"kind": "holds", "title": "What is it?", "times": False},
    {"kind": "links", "title": "Which link?", "varies": "interconnect"},
    {"kind": "again", "title": "How far apart?", "needs": ["repeats"]},
    {"kind": "calls", "title": "Which calls?", "needs": ["profiles"], "times": False},
    {"kind": "power", "title": "How much power?", "needs": ["meters"]},
]
FILE = {"questions": [{**one, "notebook": "a.ipynb"} for one in QUESTIONS]}
TABLE = QuestionsFile.model_validate(FILE).table()
FIRST = {
    "holds": "",
    "links": "",
    "again": "no two runs are alike: nothing was repeated",
    "calls": "no run has an MPI profile",
    "power": "no run has a power log",
}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "config/campaigns").mkdir(parents=True)
    declare(tmp_path)
    for number, link in enumerate(("ib", "eth")):
        add(tmp_path, f"r{number}", interconnect=link)
    return tmp_path


def declare(base: Path, **more: Any) -> None:
    said = {"title": "one", "evidence": "measured", "hardware": "-", **more}
    (base / "config/campaigns/one.yaml").write_text(json.dumps(said))


def add(base: Path, name: str, **record: Any) -> Path:
    folder = base / "data/raw/one/runs" / name
    folder.mkdir(parents=True, exist_ok=True)
    said = {"application": "hpcg", "nodes": 2, "ranks": 2, **record}
    (folder / "run.json").write_text(json.dumps(said))
    return folder


def kept(base: Path, table: list[PageQuestion] = TABLE) -> dict[str, str]:
    """Ask as a build does, and compare with what the records say."""
    now = stamp(project.raw("one", base), base / ".snakemake/raw-files/one.json")
    found = kept_answers(table, "one", base, now)
    assert found == list(answerable(table, "one", base))
    return {question.kind: why for question, why in found}


def file_of(base: Path) -> Path:
    return base / ".snakemake/answers/one.json"


def test_kept_answers__are_those_of_the_records_which_are_read_once(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(base) == FIRST
    written = file_of(base).read_bytes()

    def records(campaign: str, base: Path) -> None:
        raise AssertionError(f"read the records of {campaign}")

    monkeypatch.setattr(asking, "records", records)
    now = stamp(project.raw("one", base), base / "elsewhere.json")
    assert {question.kind: why for question, why in kept_answers(TABLE, "one", base, now)} == FIRST
    assert file_of(base).read_bytes() == written


def add_folder(base: Path) -> None:
    (base / "data/raw/one/runs/r0/power").mkdir()  # empty: no file for a stamp


def add_link(base: Path) -> None:
    (base / "data/raw/one/runs/r0/app.mpip").symlink_to("nowhere")


POWER, CALLS, LINKS = {"power": ""}, {"calls": ""}, {"links": "one interconnect: ib"}


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (lambda base: add(base, "r1", interconnect="ib"), {**LINKS, "again": ""}),
        (lambda base: add(base, "r1", interconnect="eth", exit_code=1), LINKS),
        (lambda base: add(base, "r2", interconnect="ib"), {"again": ""}),
        (lambda base: shutil.rmtree(base / "data/raw/one/runs/r1"), LINKS),
        (lambda base: (base / "data/raw/one/runs/r0/app.mpip.xz").touch(), CALLS),
        (lambda base: declare(base, power=[{"meter": "rapl"}]), POWER),
        (add_folder, POWER),
        (add_link, CALLS),
    ],
    ids=["record", "failed", "run added", "run removed", "profile", "meter", "empty folder", "broken link"],
)
def test_kept_answers__change_with_what_they_follow_from(
    base: Path, change: Callable[[Path], object], changed: dict[str, str]
) -> None:
    assert kept(base) == FIRST
    change(base)
    assert kept(base) == {**FIRST, **changed}


def test_kept_answers__change_with_a_question(base: Path) -> None:
    assert kept(base) == FIRST
    other = [one.model_copy(update={"needs": []}) if one.kind == "calls" else one for one in TABLE]
    assert kept(base, other) == {**FIRST, "calls": ""}
    assert kept(base, TABLE[::-1]) == FIRST


def test_kept_answers__of_other_code_are_worked_out_again(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(base)
    monkeypatch.setattr(asking, "_code", lambda: "another version")
    monkeypatch.setattr(asking, "_missing", lambda question, runs: "not today")
    assert set(kept(base).values()) == {"not today"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-9],
        lambda text: "[]",
        lambda text: text.replace('"no run has a power log"', "1"),
        lambda text: text.replace('  "",\n', "", 1),
        lambda text: text.replace('"key": "', '"key": "0').replace("no run has", "each run has"),
        lambda text: json.dumps({"key": None, "answers": None}),
    ],
    ids=["empty", "cut", "list", "number", "one less", "another key", "nothing"],
)
def test_kept_answers__a_damaged_file_is_replaced(base: Path, damage: Callable[[str], str]) -> None:
    kept(base)
    whole = file_of(base).read_text()
    file_of(base).write_text(damage(whole))
    assert file_of(base).read_text() != whole
    assert kept(base) == FIRST
    assert file_of(base).read_text() == whole


def test_kept_answers__where_nothing_can_be_written_are_those_of_the_records(base: Path) -> None:
    (base / ".snakemake").write_text("no folder")
    assert kept(base) == FIRST
    add(base, "r2", interconnect="ib")
    assert kept(base) == {**FIRST, "again": ""}


@pytest.mark.parametrize("linked", ["runs", "runs/r1"])
def test_kept_answers__of_linked_runs_are_not_kept(base: Path, linked: str) -> None:
    path, elsewhere = base / "data/raw/one" / linked, base / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere, target_is_directory=True)
    assert kept(base) == FIRST
    assert not file_of(base).exists()
    add(base, "r1", interconnect="ib")
    assert kept(base) == {**FIRST, **LINKS, "again": ""}


def test_kept_answers__make_the_same_build(base: Path) -> None:
    (base / "notebooks").mkdir()
    (base / "notebooks/a.ipynb").touch()
    (base / contents.QUESTIONS).write_text(json.dumps(FILE))
    (base / project.CONFIG).write_text("campaigns: [one]\nreports: {}\npages: []\n")
    plain = contents.load_config(base)
    assert [page["name"] for page in plain["pages"]] == ["one-holds", "one-links"]
    for _ in range(2):  # worked out, and kept
        config = project.load_yaml(base / project.CONFIG)
        contents.complete(config, base, stamped=lambda name: stamp(project.raw(name, base), base / "note"))
        assert json.dumps(config) == json.dumps(plain)
    assert file_of(base).is_file()


def test_records__equal_runs_have_one_row(base: Path) -> None:
    (base / "data/raw/one/runs/r1/run.json").unlink()
    for number in range(2, 5):
        add(base, f"r{number}", interconnect="ib", start=86_400.0 * number, timing=number == 4)
    runs = asking.records("one", base)
    assert (len(runs.rows), runs.number, runs.twice, runs.repeats) == (4, 4, False, True)
    add(base, "r5", interconnect="ib", start=86_400.0 * 2, timing=False)
    assert (len(asking.records("one", base).rows), asking.records("one", base).twice) == (4, False)
    add(base, "r6", interconnect="ib").rename(base / "data/raw/one/runs/a0")
    runs = asking.records("one", base)
    assert (len(runs.rows), runs.number, runs.twice, runs.repeats) == (4, 6, True, True)
