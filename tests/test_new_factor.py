"""A factor is one row of the table: from a folder of outputs over import, finding and page to a slide."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.findings.planted import project, rated
from tests.importing import trees

ROOT = Path(__file__).parents[1]
# Six repeats of each level, spread by 2 % around a median of 1, no trend; the second level is 15 % faster.
SPREAD = (0.99, 1.01, 0.98, 1.005, 1.02, 0.995)
FASTER = 1.15
NEW_ROW = """\
    Factor(
        "governor", "machine", "what sets the clock of the CPU", upgrade=True, label="CPU governor",
        before="under", every="all governors", level="governor {}", topics={"CPU governor": ()},
    ),
)  # fmt: skip

BY_NAME"""

# What somebody does who has a folder of outputs, in a process that may have another table of factors.
WALK = """\
import json, sys
from analysis import cli
from analysis.datasets import ingest
from analysis.decks.content import deck
from analysis.estimates.campaign import load_campaign
from analysis.estimates.contents import load_config
from analysis.findings.search import conclusions

tree, factor, *pattern = sys.argv[1:]
options = ["--set", "case=nx16", "--set", "nodes=1", *(["--pattern", *pattern] if pattern else [])]
assert cli.main(["import", tree, "--as", "mine", "--yes", *options]) == 0
assert cli.main(["verify", "mine"]) == 0
ingest(*map(__import__("pathlib").Path, ("data/raw/mine", "data/processed/mine")))
campaign = load_campaign("mine")
runs = campaign.runs
found = [one for one in conclusions(campaign) if one.question.compare]
pages = [one for one in load_config()["pages"] if one.get("group") == "mine"]
(page,) = (one for one in pages if one["parameters"].get("factor") == factor)
given = {"campaign": "mine", "reports": page["reports"], **page["parameters"]}
arguments = [f"notebooks/{page['notebook']}", "page.ipynb", "--figure=figure.svg", "--derived=yes"]
assert cli.main(["stage", "--log", "log", "page", *arguments, f"--parameters={json.dumps(given)}"]) == 0
slides = deck(campaign).slides
print("WALKED", json.dumps({
    "cells": sorted(runs.groupby(factor).size().items(), key=str),
    "found": [(one.question.compare.factor, one.word, one.sentence, one.topic, one.page) for one in found],
    "page": {"name": page["name"], "title": page["title"]},
    "factors": sorted(one["parameters"]["factor"] for one in pages if "factor" in one["parameters"]),
    "slides": [(slide.topic, slide.headline) for slide in slides],
}))
"""


def outputs(tree: Path, *levels: str, threads: tuple[int, int] = (1, 1)) -> None:
    """Write outputs of HPCG into ``LEVEL/run-1/`` and so on, those of the second level 15 % faster."""
    source = trees.result(trees.good()[0])
    for at, (level, count, factor) in enumerate(zip(levels, threads, (1.0, FASTER), strict=True)):
        for number, scatter in enumerate(SPREAD, start=1):
            # HPCG names its output by the time: both levels were run in turn.
            name = re.sub(r"\d\d-\d\d-\d\d(?=\.txt)", f"02-{number:02}-{30 * at:02}", source.name)
            path = trees.put(source, tree / level / f"run-{number}" / name)
            text, found = re.subn(r"(Threads per processes)=1", rf"\1={count}", path.read_text())
            assert found == 1
            path.write_text(text)
            rated(path.parent, factor * scatter)


def walk(base: Path, *arguments: str, source: Path | None = None) -> dict[str, Any]:
    """Import a tree, search it, make its page and its slides in a process of its own."""
    paths = {"PYTHONPATH": str(source)} if source else {}
    done = subprocess.run(
        [sys.executable, "-c", WALK, *arguments], cwd=base, env={**os.environ, **paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout.split("WALKED ")[1])
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "folders", "levels", "names", "topic", "title"),
    [
        ("threads", ("threads-1", "threads-4"), [1, 4],
         "4 threads per rank are 1.150 times as fast as 1 thread per rank",
         "threads", "How do runs compare by threads per rank?"),
        ("frequency", ("freq-2.0", "freq-2.5"), [2.0, 2.5],
         "Runs at 2.5 GHz are 1.150 times as fast as runs at 2 GHz",
         "CPU frequency", "How do runs compare by CPU frequency?"),
        ("gpus", ("gpus-1", "gpus-4"), [1, 4],
         "4 GPUs are 1.150 times as fast as 1 GPU", "GPUs", "How do runs compare by GPUs?"),
        ("governor", ("gov-powersave", "gov-performance"), ["performance", "powersave"],
         "governor performance is 1.150 times as fast as governor powersave in HPCG", "CPU governor",
         "How do runs compare by CPU governor?"),
    ],
)  # fmt: skip
def test_new_factor__goes_from_a_folder_to_a_slide(
    tmp_path: Path,
    factor: str,
    folders: tuple[str, str],
    levels: list[Any],
    names: str,
    topic: str,
    title: str,
) -> None:
    base, tree, source = project(tmp_path / "project"), tmp_path / "tree", None
    (base / "notebooks").unlink()
    shutil.copytree(ROOT / "notebooks", base / "notebooks")  # a page's kernel starts in this folder
    shutil.rmtree(base / "config" / "campaigns")
    (base / "config" / "config.yaml").write_text("{}\n")
    outputs(tree, *folders, threads=(1, 4) if factor == "threads" else (1, 1))
    pattern = []
    if factor == "governor":  # no row of ours: somebody adds it to the table, and nothing else
        source = tmp_path / "source"
        shutil.copytree(ROOT / "src/analysis", source / "analysis")
        table = source / "analysis/schema/factors.py"
        text = table.read_text(encoding="utf-8")
        assert text.count(")  # fmt: skip\n\nBY_NAME") == 1
        table.write_text(text.replace(")  # fmt: skip\n\nBY_NAME", NEW_ROW), encoding="utf-8")
        pattern = ["gov-{governor}/run-{repeat}/*"]
    said = walk(base, str(tree), factor, *pattern, source=source)
    assert said["cells"] == [[level, 6] for level in levels]
    (about,) = (one for one in said["found"] if one[0] == factor)
    assert names in about[2]
    assert about[1] == "differs"
    assert (about[3], about[4]) == (topic, f"mine-{factor}")
    assert said["page"] == {"name": f"mine-{factor}", "title": title}
    assert said["factors"] == [factor]
    assert any(names in headline for _, headline in said["slides"])
    cells = json.loads((base / "page.ipynb").read_text())["cells"]
    (answer,) = (cell for cell in cells if "answer" in cell["metadata"].get("tags", ()))
    text = "".join(answer["outputs"][0]["data"]["text/markdown"])
    assert "1.150 times" in text
    assert "<svg" in (base / "figure.svg").read_text()
