"""A campaign from a hostile hand: it costs itself, starts nothing, and changes no byte of a good one."""

from __future__ import annotations

import html as escapes
import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.datasets.campaign import ingest
from analysis.decks import html, pptx
from analysis.decks.content import deck
from analysis.estimates.asking import answerable
from analysis.estimates.campaign import load_campaign, machines
from analysis.estimates.contents import questions as table
from analysis.schema import storage

from .test_damage import FACTORS, PROXY, START

ROOT = Path(__file__).parents[2]
DECLARATION = "title: {}\nevidence: measured\nhardware: ${{machine}}\n"
# A formula, tags, what a shell would run, half a character, a text that turns the direction.
NAMES = (
    "=cmd|'calc'!A1",
    "@SUM(1+1)*cmd|'calc'!A1",
    "+1+1",
    "\t=1+1\x01\n",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "$(touch pwned)`touch pwned`; touch pwned",
    "{{7*7}}${HOME}",
    "\u202eexe.gnp",
    "https://x.test/?a=1",
)
BROKEN: dict[str, str] = {
    "nested": "[" * 300_000,
    "deep": '{"run": "deep", "campaign": ' + '{"a":' * 100_000,
    "number": '{"run": "number", "nodes": ' + "9" * 5000 + "}",
    "infinite": '{"run": "infinite", "campaign": "bad", "start": 1e400, "nodes": 1e400}',
    "list": '[{"run": "list"}]',
    "half": '{"run": "half", "campaign": "bad", "application": "proxy", "mpi": "\\ud800"}',
    "typed": '{"run": "typed", "campaign": "bad", "nodes": "two", "mpi": {"a": 1}, "ranks": true}',
    "facts": json.dumps({"run": "facts", "facts": {"facts": {
        "cpu.Model name": {"value": ["<b>"]}, "cpu.CPU(s)": {"value": "many"}, "memory.total": {"value": -1},
        "cpu.Thread(s) per core": {"value": "0"}, "memory.dimms": {"value": [1, None]}, "x": 5,
    }}}),
    "counted": json.dumps({"run": "counted", "facts": {"facts": {
        "cpu.Model name": {"value": "EPYC"}, "cpu.CPU(s)": {"value": "9" * 5000},
        "cpu.Socket(s)": {"value": "none"}, "cpu.Core(s) per socket": {"value": "-1"},
    }}}),
    "imported": '{"run": "imported", "imported": {"key": 1, "files": []}}',
    "empty": "",
}  # fmt: skip


def write(raw: Path, name: str, time: float, at: int, **more: Any) -> None:
    folder = raw / "runs" / name
    folder.mkdir(parents=True)
    record = {"run": name, "application": "proxy", "case": "x", **FACTORS, "campaign": raw.name}
    record |= {"repeat": at, "order": at, "start": START + 100 * at, "end": START + 100 * at + 10, **more}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "stdout.txt").write_text(PROXY.format(time), encoding="utf-8")


def good(raw: Path) -> None:
    for at in range(8):
        write(raw, f"g{at}", (1.5, 2.5)[at % 2] + 0.001 * at, at, mpi=("Open MPI", "MPICH")[at % 2])


def hostile(raw: Path) -> None:
    """Runs with hostile names, without a number of nodes; broken records; what is no file at all."""
    varied = [(factor, level) for factor in ("mpi", "interconnect", "variant") for level in range(len(NAMES))]
    for at, (factor, level) in enumerate(varied * 5):
        given = {"mpi": "Open MPI", "interconnect": "", "ranks_per_node": -1, "nodes": (None, -1)[level % 2]}
        time = 1.5 + level + 0.001 * (at // len(varied))
        write(raw, f"b{at:03}", time, at, **(given | {factor: NAMES[level], "case": factor}))
    for name, text in BROKEN.items():
        (raw / "runs" / name).mkdir()
        (raw / "runs" / name / "run.json").write_text(text, encoding="utf-8")
        (raw / "runs" / name / "stdout.txt").write_text(PROXY.format(1.0), encoding="utf-8")
    for name, target in (("pipe", None), ("zero", "/dev/zero"), ("kernel", "/proc/kmsg")):
        (raw / "runs" / name).mkdir()
        path = raw / "runs" / name / "run.json"
        os.mkfifo(path) if target is None else path.symlink_to(target)
    os.mkfifo(raw / "sacct.txt")


def made(name: str, base: Path, out: Path) -> dict[str, bytes]:
    """Ingest a campaign and write its slides; return all bytes."""
    ingest(base / "data/raw" / name, base / "data/processed" / name)
    content = deck(load_campaign(name))
    out.mkdir()
    html.write(content, out / "deck.html")
    pptx.write(content, out / "deck.pptx")
    return {path.name: path.read_bytes() for path in out.iterdir()}


def questions(name: str, base: Path) -> list[tuple[str, str]]:
    return [(one.kind, why) for one, why in answerable(table(base), name, base)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("hostile")
    for folder in ("config/applications", "config/campaigns"):
        (base / folder).mkdir(parents=True)
    for name in ("config/applications/proxy.yaml", "config/questions.yaml"):
        shutil.copyfile(ROOT / name, base / name)
    (base / "notebooks").symlink_to(ROOT / "notebooks")
    (base / "config/config.yaml").write_text("campaigns: []\n", encoding="utf-8")
    for name in ("good", "bad"):
        path = base / "config/campaigns" / f"{name}.yaml"
        path.write_text(DECLARATION.format(name), encoding="utf-8")
    before = Path.cwd()
    os.chdir(base)
    yield base
    os.chdir(before)


def text_of(page: bytes) -> str:
    """Return what a reader of a page sees."""
    body = re.sub(r"(?s)<(style|script)\b.*?</\1>|<[^>]+>", " ", page.decode())
    return escapes.unescape(body)


def test_hostile__costs_itself_and_a_good_campaign_keeps_every_byte(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good(base / "data/raw/good")
    first, asked = made("good", base, tmp_path / "first"), questions("good", base)
    hostile(base / "data/raw/bad")
    bad = made("bad", base, tmp_path / "bad")
    assert made("good", base, tmp_path / "second") == first
    assert questions("good", base) == asked
    assert {kind for kind, why in questions("bad", base) if not why} >= {
        "findings",
        "mpi-library",
        "interconnect",
    }
    assert machines(base / "data/raw/bad/runs") == "a machine that its runs do not name"
    runs = storage.read_tree(base / "data/processed/bad/campaign.nc")["runs"].to_dataset().to_dataframe()
    broken = {*BROKEN, "pipe", "zero", "kernel"}
    assert set(runs.index[~runs["valid"]]) == broken
    assert set(runs.loc[sorted(broken), "reason"]) == {"no readable run.json", "run.json is incomplete"}
    assert cli.main(["verify", "bad"]) == 1
    said = capsys.readouterr().err
    assert "data/raw/bad/runs/nested/run.json:1: not a JSON object; " in said
    assert "data/raw/bad/runs/kernel/run.json: is one of the kernel's, not a stored file; " in said
    assert "Traceback" not in said
    page, seen = bad["deck.html"], text_of(bad["deck.html"])
    assert [name for name in NAMES if name.strip("\t\n\x01") not in seen] == []
    assert not re.search(rb"<script[^>]*>alert|<img src=x", page)
    assert not re.search(r"(?<![\w.(+-])[-−]1(?![\w.])", seen)
    with zipfile.ZipFile(io.BytesIO(bad["deck.pptx"])) as deck_:
        books = [deck_.read(name) for name in deck_.namelist() if name.endswith(".xlsx")]
    assert books
    for book in books:
        with zipfile.ZipFile(io.BytesIO(book)) as parts:
            assert b"<f" not in parts.read("xl/worksheets/sheet1.xml")
    assert not list(base.rglob("pwned"))


def test_hostile__tree_is_imported_and_nothing_of_it_is_started(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no file is named at once, names start nothing, and a second import finds nothing new."""
    tree = tmp_path / "tree"
    for at, name in enumerate((*(name.replace("/", "_") for name in NAMES), "-rf", "--yes", "*")):
        (tree / name).mkdir(parents=True)
        (tree / name / "out.txt").write_text(PROXY.format(1.5 + at), encoding="utf-8")
    for name, text in BROKEN.items():
        (tree / f"{name}.json").write_text(text, encoding="utf-8")
        (tree / name).mkdir()
        (tree / name / "run.json").write_text(text, encoding="utf-8")
    (tree / "long.csv").write_text('time,"power (W)' + "x" * 200_000, encoding="utf-8")
    os.mkfifo(tree / "power.csv")
    (tree / "kernel").symlink_to("/proc/kmsg")
    assert cli.main(["inspect", "/proc/kmsg", "/dev/zero", str(tree / "power.csv")]) == 1
    kinds = ("one of the kernel's", "a device", "a pipe")
    said = capsys.readouterr().err.splitlines()
    assert [f"is {kind}, not a stored file" in line for kind, line in zip(kinds, said, strict=True)] == [
        True
    ] * 3
    assert cli.main(["inspect", *map(str, sorted(tree.glob("*.json"))), str(tree / "long.csv")]) == 1
    assert len(capsys.readouterr().err.splitlines()) >= len(BROKEN)
    assert cli.main(["import", str(tree), "--as", "tree", "--yes"]) == 0
    runs = list((base / "data/raw/tree/runs").iterdir())
    assert len(runs) == len(NAMES) + 3
    assert all(re.fullmatch(r"[\w.-]+", run.name, re.ASCII) and run.name[0] != "-" for run in runs)
    assert cli.main(["verify", "tree"]) == 0
    assert cli.main(["import", str(tree), "--as", "tree", "--yes"]) == 0
    assert list((base / "data/raw/tree/runs").iterdir()) == runs
    assert not [path for folder in (base, tree) for path in folder.rglob("pwned")]
    assert "Traceback" not in capsys.readouterr().err
