"""The configuration: every fault is named with the line that it stands on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError

CONFIG = """\
campaigns: [one]
reports:
  hpcg2014: [one]
pages:
  - name: first
    notebook: a.ipynb
    campaign: one
    report: hpcg2014
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for folder in ("config/claims", "data/raw/one", "notebooks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "config/claims/hpcg2014.yaml").touch()
    (tmp_path / "notebooks/a.ipynb").touch()
    (tmp_path / project.CONFIG).write_text(CONFIG)
    return tmp_path


def test_project__reads_a_right_configuration_again_and_again(base: Path) -> None:
    first = project.load_config(base)
    assert first["pages"][0]["campaign"] == "one"
    first["pages"].clear()  # what a caller does to it stays with the caller
    assert len(project.load_config(base)["pages"]) == 1


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("campaigns: [one]", "campaigns: [one, two]", 1, "no raw folder data/raw/two"),
        ("  hpcg2014: [one]", "  hpcg2014: [eins]", 3, "unknown campaign 'eins'; known: one"),
        ("  hpcg2014: [one]", "  hpcg2014: [one]\n  hpcg2014: []", 4, "was given before (line 3)"),
        ("a.ipynb", "b.ipynb", 6, "no notebooks/b.ipynb"),
        ("    campaign: one", "    campaign: two", 7, "unknown campaign 'two'; known: one"),
        ("report: hpcg2014", "report: hpcg", 8, "unknown report 'hpcg'; known: hpcg2014"),
        ("    notebook: a.ipynb\n", "", 5, "'notebook' is a required property"),
        ("campaigns: [one]", "campaigns: [one]\noptional: [tow]", 2, "unknown campaign 'tow'; known: one"),
        ("campaigns: [one]", "campaigns: one", 1, "'one' is not of type 'array'; a list of folders"),
        ("    campaign: one", "    campaign: [one", 8, "expected ',' or ']'"),
    ],
)
def test_project__names_file_and_line(base: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in CONFIG
    (base / project.CONFIG).write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        project.load_config(base)
    assert said in str(error.value)
    assert f"config.yaml:{line}: " in str(error.value)


def test_project__optional_campaign_takes_part_once_it_has_a_run(base: Path) -> None:
    (base / "config/claims/own.yaml").touch()
    more = CONFIG.replace("[one]", "[one, here]", 1).replace("[one]\n", "[one, here]\n  own: [here]\n", 1)
    page = "  - {name: NAME, notebook: a.ipynb, campaign: CAMPAIGN, reports: [hpcg2014, own]}\n"
    pages = page.replace("NAME", "second").replace("CAMPAIGN", "here")
    pages += page.replace("NAME", "third").replace("CAMPAIGN", "one")
    pages += "  - {name: fourth, notebook: a.ipynb, campaigns: [one, here]}\n"
    (base / project.CONFIG).write_text(f"optional: [here]\n{more}{pages}")

    def built() -> tuple[list[str], dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
        config = project.load_config(base)
        campaigns, reports = (
            {page["name"]: project.as_list(page, kind) for page in config["pages"]}
            for kind in ("campaign", "report")
        )
        return config["campaigns"], config["reports"], campaigns, reports

    absent = (
        ["one"],
        {"hpcg2014": ["one"]},
        {"first": ["one"], "third": ["one"], "fourth": ["one"]},
        {"first": ["hpcg2014"], "third": ["hpcg2014"], "fourth": []},
    )
    assert built() == absent
    (base / "data/raw/here/runs/r1").mkdir(parents=True)  # a run that has not ended
    assert built() == absent
    (base / "data/raw/here/runs/r1/run.json").touch()
    assert built() == (
        ["one", "here"],
        {"hpcg2014": ["one", "here"], "own": ["here"]},
        {"first": ["one"], "second": ["here"], "third": ["one"], "fourth": ["one", "here"]},
        {"first": ["hpcg2014"], "second": ["hpcg2014", "own"], "third": ["hpcg2014", "own"], "fourth": []},
    )


def test_project__campaign_is_measured_without_a_raw_folder(base: Path) -> None:
    # After a full disk Snakemake has removed the empty folder, and the same command is to go on.
    path = base / project.CONFIG
    path.write_text(CONFIG.replace("campaigns: [one]", "campaigns: [one, two, three]", 1))
    declared = base / "config/campaigns"
    declared.mkdir()
    (declared / "two.yaml").write_text("title: two\n")
    (declared / "three.yaml").write_text("title: three\nmatrix: {}\n")

    def missing(**given: str) -> list[str]:
        with pytest.raises(ConfigError) as error:
            project.check_config(project.load_yaml(path) | given, base)
        return [fault.found for fault in error.value.faults]

    assert missing() == ["no raw folder data/raw/two", "no raw folder data/raw/three"]
    assert missing(measure="three") == ["no raw folder data/raw/two"]
    assert missing(measure="one") == ["no raw folder data/raw/two"]  # another that is yet to be measured
    project.check_config(project.load_yaml(path) | {"measure": "two"}, base)


def test_project__finds_its_root_from_below_and_says_if_there_is_none(base: Path) -> None:
    assert project.root(base / "data/raw/one") == base
    (base / project.CONFIG).unlink()
    with pytest.raises(ConfigError, match=r"no config/config\.yaml here or above"):
        project.root(base)


def test_project__starts_without_what_is_slow_to_import() -> None:
    code = "import sys, analysis.base.project, analysis.site.kernels.client; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "xarray", "papermill", "jsonschema"} & set(done.stdout.split())
