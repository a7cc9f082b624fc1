"""Generated files: the committed ones are what their declarations say now."""

from __future__ import annotations

from pathlib import Path

from analysis.base import models
from analysis.cli import reference
from analysis.estimates.contents import load_config

ROOT = Path(__file__).parents[2]


def test_reference__committed_files_are_those_that_would_be_made() -> None:
    made = reference.generated()
    differing = [name for name, text in made.items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert not differing, "run `make schemas` and commit"
    folders = (ROOT / "workflow/schemas", ROOT / "docs/reference")
    there = {str(path.relative_to(ROOT)) for folder in folders for path in folder.iterdir()}
    assert there == set(made)


def test_reference__says_what_may_stand_in_a_file() -> None:
    text = reference.generated()["docs/reference/configuration.md"]
    nodes = "| `nodes` | integer from 1 to 100000 | needed | nodes that a campaign can have at once |"
    assert nodes in text.splitlines()
    assert "Exactly one of `program`, `programs`, `build`." in text
    assert "`quantity` of cost needs `tariff`." in text
    assert (
        "| `memory` | integer from 1 to 1000000000 | `1000` | MB that a job asks for on each node |" in text
    )


def test_reference__every_file_of_the_project_follows_its_model() -> None:
    checked = 0
    for model, pattern in reference.MODELS.values():
        # Records are JSON, of which tests/readers/test_run.py has all.
        for path in ROOT.glob(pattern if "," not in pattern and pattern.startswith("config/") else "none"):
            if path.name != "not_testable.yaml":  # reasons why claims are none
                models.load(model, path)
                checked += 1
    assert checked > 30
    assert load_config(ROOT)["campaigns"]
