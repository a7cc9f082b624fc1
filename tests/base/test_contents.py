"""What a build contains: what follows by itself, what is special, and the line of every fault."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.estimates import contents
from analysis.schema.factors import FACTORS

ROOT = Path(__file__).parents[2]
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
QUESTIONS = """\
questions:
  - { kind: holds, notebook: a.ipynb, title: What is it?, times: false }
  - kind: links
    notebook: a.ipynb
    title: Which link?
    topics: [interconnect]
    varies: interconnect
    without: [osu]
    parameters: { baseline: "" }
  - { kind: machine, notebook: a.ipynb, title: Which machine?, varies: cluster }
  - { kind: scaling, notebook: a.ipynb, title: How far?, varies: nodes }
  - { kind: by-ranks, notebook: a.ipynb, title: How far by ranks?, varies: ranks, unless: [scaling] }
  - { kind: bare, notebook: a.ipynb, title: How fast?, applications: [osu] }
  - { kind: again, notebook: a.ipynb, title: How far apart?, needs: [repeats] }
  - { kind: calls, notebook: a.ipynb, title: Which calls?, needs: [profiles], times: false }
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for folder in ("config/claims", "config/campaigns", "data/raw/one", "notebooks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "config/claims/hpcg2014.yaml").touch()
    (tmp_path / "notebooks/a.ipynb").touch()
    (tmp_path / project.CONFIG).write_text(CONFIG)
    return tmp_path


def declare(base: Path, name: str, *runs: dict[str, Any], **more: Any) -> None:
    """Write a campaign with runs whose records say no more than is given."""
    said = {"title": name, "evidence": "measured", "hardware": "-", **more}
    (base / f"config/campaigns/{name}.yaml").write_text(json.dumps(said))
    for number, record in enumerate(runs):
        folder = base / "data/raw" / name / "runs" / f"r{number}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"application": "hpcg", **record}))


def named(base: Path, key: str = "name") -> list[Any]:
    return [page.get(key) for page in contents.load_config(base)["pages"]]


def test_contents__reads_a_right_configuration_again_and_again(base: Path) -> None:
    first = contents.load_config(base)
    assert first["pages"][0]["campaign"] == "one"
    first["pages"].clear()  # what a caller does to it stays with the caller
    assert len(contents.load_config(base)["pages"]) == 1


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("campaigns: [one]", "campaigns: [one, two]", 1, "no raw folder data/raw/two"),
        ("  hpcg2014: [one]", "  hpcg2014: [eins]", 3, "unknown campaign 'eins'; known: one"),
        ("  hpcg2014: [one]", "  hpcg2014: [one]\n  hpcg2014: []", 4, "was given before (line 3)"),
        ("  hpcg2014: [one]", "  hpcg2014: [one]\n  other: [one]", 4, "no claims in config/claims/other"),
        ("a.ipynb", "b.ipynb", 6, "no notebooks/b.ipynb"),
        ("    campaign: one", "    campaign: two", 7, "unknown campaign 'two'; known: one"),
        (
            "report: hpcg2014",
            "report: hpcg",
            8,
            "unknown report 'hpcg'; is 'hpcg2014' meant? known: hpcg2014",
        ),
        ("    notebook: a.ipynb\n", "", 5, "'notebook' is a required property"),
        ("    campaign: one\n", "", 5, "'campaign' is a required property"),
        ("campaigns: [one]", "campaigns: one", 1, "'one' is not of type 'array'; campaigns that come"),
        ("    campaign: one", "    campaign: [one", 8, "expected ',' or ']'"),
    ],
)
def test_contents__names_file_and_line(base: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in CONFIG
    (base / project.CONFIG).write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        contents.load_config(base)
    assert said in str(error.value)
    assert f"config.yaml:{line}: " in str(error.value)


def test_contents__a_declared_campaign_takes_part_once_it_has_a_run(base: Path) -> None:
    (base / "config/claims/here.yaml").touch()
    declare(base, "here")
    declare(base, "there", evidence="synthetic")
    page = "  - {name: NAME, notebook: a.ipynb, campaign: CAMPAIGN, reports: [hpcg2014, here]}\n"
    pages = page.replace("NAME", "second").replace("CAMPAIGN", "here")
    pages += page.replace("NAME", "third").replace("CAMPAIGN", "one")
    pages += "  - {name: fourth, notebook: a.ipynb, campaigns: [one, here]}\n"
    (base / project.CONFIG).write_text(CONFIG + pages)

    def built() -> tuple[list[str], dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
        config = contents.load_config(base)
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
    for name in ("here", "there"):
        (base / f"data/raw/{name}/runs/r1").mkdir(parents=True)  # a run that has not ended
    assert built() == absent
    for name in ("here", "there"):  # what is generated takes part in the self-test alone
        (base / f"data/raw/{name}/runs/r1/run.json").touch()
    # Its own claims are evaluated on it, and those of others only if it says what stands for their levels.
    assert built() == (
        ["one", "here"],
        {"hpcg2014": ["one"], "here": ["here"]},
        {"first": ["one"], "second": ["here"], "third": ["one"], "fourth": ["one", "here"]},
        {"first": ["hpcg2014"], "second": ["hpcg2014", "here"], "third": ["hpcg2014", "here"], "fourth": []},
    )
    (base / project.CONFIG).write_text("discover: false\n" + CONFIG)
    assert contents.load_config(base)["campaigns"] == ["one"]


@pytest.mark.parametrize(
    ("said", "reports"),
    [
        ({}, []),
        ({"levels": {"case": {"16³": {"is": "small"}}}}, ["hpcg2014", "lsdyna2014"]),
        ({"apart": {"cpu": {"distance": "scaled", "why": "newer"}}}, ["hpcg2014", "lsdyna2014"]),
        (
            {"views": [{"report": "lsdyna2014"}, {"report": "lsdyna2014"}], "levels": {"cpu": {}}},
            ["lsdyna2014"],
        ),
        ({"reports": ["house"], "levels": {"cpu": {}}}, ["house"]),
    ],
    ids=["nothing declared", "levels", "apart", "views", "as it says"],
)
def test_contents__a_campaign_says_what_it_speaks_to(
    base: Path, said: dict[str, Any], reports: list[str]
) -> None:
    for name in ("lsdyna2014", "house"):
        (base / f"config/claims/{name}.yaml").touch()
    (base / project.CONFIG).write_text("reports: { hpcg2014: [], lsdyna2014: [] }\n")
    declare(base, "mine", {}, **said)
    found = contents.load_config(base)["reports"]
    assert [report for report, names in found.items() if "mine" in names] == reports
    assert list(found)[:2] == ["hpcg2014", "lsdyna2014"]


LINKS = [{"interconnect": link, "nodes": 2, "ranks": 4, "case": "a"} for link in ("ib", "eth")]


def made(base: Path, *runs: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    (base / contents.QUESTIONS).write_text(QUESTIONS)
    (base / project.CONFIG).write_text("{}\n")
    declare(base, "Mine.1", *runs)
    config = contents.load_config(base)
    short = {name.removeprefix("mine-1-"): why for name, why in config["left_out"].items()}
    return [page["name"].removeprefix("mine-1-") for page in config["pages"]], short


@pytest.mark.parametrize(
    ("runs", "pages"),
    [
        (LINKS, ["holds", "links"]),
        (LINKS[:1], ["holds"]),
        ([*LINKS, *LINKS], ["holds", "links", "again"]),
        ([{**run, "exit_code": at} for at, run in enumerate(LINKS)], ["holds"]),
        ([{**run, "timing": False} for run in LINKS], ["holds"]),
        ([{**run, "case": run["interconnect"]} for run in LINKS], ["holds"]),
        ([{**run, "mpi": run["interconnect"]} for run in LINKS], ["holds", "links"]),
        ([{**run, "application": "osu"} for run in LINKS], ["holds", "bare"]),
        ([{"nodes": n, "ranks": 2 * n} for n in (1, 2)], ["holds", "scaling"]),
        ([{"nodes": 1, "ranks": n} for n in (1, 2)], ["holds", "by-ranks"]),
        ([{"profiler": "ipm", "timing": False}], ["holds", "calls"]),
        ([{"exit_code": 1}], ["holds"]),
        ([{"interconnect": {"a": 1}, "nodes": [1, 2]}], ["holds"]),
    ],
    ids=[
        "two links", "one run", "repeats", "a failed run", "no times", "never alike", "with the library",
        "bare benchmarks", "nodes", "ranks", "profiles", "nothing but failures", "no levels",
    ],
)  # fmt: skip
def test_contents__pages_follow_from_the_records(
    base: Path, runs: list[dict[str, Any]], pages: list[str]
) -> None:
    found, left_out = made(base, *runs)
    assert found == pages
    kinds = [one.kind for one in contents.questions(base)]
    assert sorted([*left_out, *found]) == sorted(kinds)


def test_contents__says_why_a_page_was_not_made(base: Path) -> None:
    _, why = made(base, *({**run, "cluster": run["interconnect"]} for run in LINKS))
    assert why["machine"] == "cluster and interconnect divide the runs alike: one page for both"
    assert why["scaling"] == "one nodes: 2"
    assert why["again"] == "no two runs are alike: nothing was repeated"
    assert why["calls"] == "no run has an MPI profile"
    assert why["bare"] == "no run of osu"


def test_contents__a_profile_is_known_by_the_name_of_its_file(base: Path) -> None:
    declare(base, "Mine.1", {})
    (base / "data/raw/Mine.1/runs/r0/APP.123.IPM.xml.xz").touch()
    shutil.move(base / "data/raw/Mine.1/runs/r0", base / "data/raw/r0")
    shutil.rmtree(base / "data/raw/Mine.1")
    assert "calls" not in made(base, {})[0]
    shutil.move(base / "data/raw/r0", base / "data/raw/Mine.1/runs/r1")
    (base / project.CONFIG).write_text("{}\n")
    assert "mine-1-calls" in named(base)


def test_contents__the_configuration_overrides_renames_and_leaves_out(base: Path) -> None:
    found, _ = made(base, *LINKS, *LINKS)
    assert found == ["holds", "links", "again"]
    (base / project.CONFIG).write_text(
        "pages:\n"
        "  - { name: ahead, instead: [mine-1-links], title: Which is ahead?, parameters: { along: nodes } }\n"
        "  - { name: mine-1-again, leave_out: true }\n"
        "  - { name: local-links, title: of a campaign that has no runs yet }\n"
        "  - { name: more, notebook: a.ipynb, campaign: Mine.1, figure: false }\n"
    )
    declare(base, "local")
    pages = {page["name"]: page for page in contents.load_config(base)["pages"]}
    assert list(pages) == ["ahead", "more", "mine-1-holds"]
    ahead = pages["ahead"]
    assert (ahead["notebook"], ahead["campaign"], ahead["topics"]) == ("a.ipynb", "Mine.1", ["interconnect"])
    assert ahead["title"] == "Which is ahead?"
    assert ahead["parameters"] == {"baseline": "", "along": "nodes"}
    assert pages["more"]["figure"] is False
    assert pages["more"].get("derived") is None
    assert pages["mine-1-holds"]["group"] == "Mine.1"
    assert "group" not in ahead
    for wrong in ("{ name: mine-1-lnks, title: a typo }", "{ name: x, instead: [mine-1-lnks] }"):
        (base / project.CONFIG).write_text(f"pages:\n  - {wrong}\n")
        with pytest.raises(ConfigError, match=r"config\.yaml:2: "):
            contents.load_config(base)


def test_contents__campaign_is_measured_without_a_raw_folder(base: Path) -> None:
    # After a full disk Snakemake has removed the empty folder, and the same command is to go on.
    path = base / project.CONFIG
    path.write_text(CONFIG.replace("campaigns: [one]", "campaigns: [one, two, three]", 1))
    declare(base, "two")
    declare(base, "three", matrix={})

    def found(**given: str) -> list[str]:
        config = project.load_yaml(path) | given
        contents.complete(config, base)
        return list(config["campaigns"])

    with pytest.raises(ConfigError, match=r"^.*config\.yaml:1: no raw folder data/raw/two"):
        found()
    path.write_text(path.read_text().replace("two, ", ""))
    assert found() == ["one"]  # three waits for its runs
    assert found(measure="three") == ["one", "three"]


@pytest.mark.parametrize(
    ("given", "goes_on"), [({}, False), ({"go_on": "yes"}, True), ({"go_on": "no"}, False)]
)
def test_contents__a_word_of_the_command_line_lets_a_campaign_go_on(
    base: Path, given: dict[str, str], goes_on: bool
) -> None:
    """Snakemake hands over `--config go_on=yes` as text, and `no` is no yes."""
    config = project.load_yaml(base / project.CONFIG) | given
    contents.complete(config, base)
    assert config["go_on"] is goes_on


def test_contents__the_shipped_questions_have_their_notebooks_and_parameters() -> None:
    table = contents.questions(ROOT)
    kinds = [one.kind for one in table]
    assert len(set(kinds)) == len(kinds)
    assert {one.varies for one in table if one.varies} <= set(FACTORS)
    for one in table:
        cells = json.loads((ROOT / "notebooks" / one.notebook).read_text())["cells"]
        (source,) = (
            "".join(cell["source"]) for cell in cells if "parameters" in cell["metadata"].get("tags", ())
        )
        assert one.given.keys() <= {line.partition(" =")[0] for line in source.splitlines()}, one.kind
