"""Names that commands take: listed, completed, and the nearest one for a misspelt one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import cli
from analysis.cli import verdicts
from analysis.cli.names import names

ROOT = Path(__file__).parents[2]


def test_list__campaigns_are_those_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "campaigns"]) == 0
    lines = capsys.readouterr().out.splitlines()
    files = [path.stem for path in (ROOT / "config" / "campaigns").glob("*.yaml")]
    assert sorted(line.split()[0] for line in lines) == sorted(files)
    title = "HPCG on two small nodes of one virtual machine"
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("vm-hpcg ")] == [title]


def test_list__claims_have_their_statements(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "claims", "--json"]) == 0
    listed = {one["name"]: one["title"] for one in json.loads(capsys.readouterr().out)}
    assert listed["house-placement-77pct"].startswith("Two jobs side by side do 77 % more work")
    text = (ROOT / "config/claims/hpcg2014.yaml").read_text(encoding="utf-8")
    own = {one for one in listed if one.startswith("hpcg2014-")}
    assert len(own) == len(re.findall(r"^  - id: ", text, re.MULTILINE)) > 20
    assert set(names("claims")) == set(listed)  # completion reads them in another way


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("reports", "lsdyna2014"),
        ("pages", "interconnect"),
        ("notebooks", "14-holdings"),
        ("clusters", "local"),
    ],
)
def test_list__every_kind_has_names_and_titles(
    kind: str, one: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["list", kind, "--json"]) == 0
    listed = {each["name"]: each["title"] for each in json.loads(capsys.readouterr().out)}
    assert listed[one]
    assert "not_testable" not in listed


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["comapre", "a", "b"], "is 'compare' meant?"),
        (["list", "campigns"], "is 'campaigns' meant?"),
        (["findings", "x", "--topci", "y"], "is '--topic' meant?"),
        (["list", "reports", "--topic", "y"], "--topic is an option of verdicts, findings, claim"),
        (["--versoin"], "unknown option --versoin (is '--version' meant?)"),
        (["findings", "--topp"], "benchbook findings: unknown option --topp (is '--top' meant?)"),
        (["meters"], "benchbook meters: lacks CLUSTER (local); see"),
        (["findings", "x", "--top", "-1"], "--top: '-1' is not a whole number from 1 to 1,000,000"),
        (["claim"], "benchbook claim: lacks action (new), --report (archer2022, house, "),
        (["list"], "lacks kind (campaigns, reports, claims, pages, notebooks, clusters); see"),
        ([], "benchbook: lacks COMMAND; see benchbook --help"),
        (["import", "x", "--as", "y", "--dry-run"], "unknown option --dry-run; see benchbook import --help"),
        (["new-campaign", "x", "--repeats", "0"], "--repeats: '0' is not a whole number from 1 to 1,000,000"),
        (["import", "x", "--as", "y", "--set", "a=1", "b=2"], "repeat it, as in --set a=1 --set b=2"),
        (
            ["verdicts", "--campaign", "vm-hpcg", "foo"],
            "'foo' has no option before it: repeat it, as in --campaign vm-hpcg --campaign foo",
        ),
        (["verdicts", "lsdyna2014"], "'lsdyna2014' has no option before it: write --report lsdyna2014"),
        (
            ["import", "my", "results", "--as", "y"],
            "'results' is one word too many: benchbook import takes DIR; a name with spaces needs quotes",
        ),
        (
            ["import", "my", "last results", "--as", "n"],
            "'last results' is one word too many: benchbook import takes DIR",
        ),
    ],
)
def test_usage__the_nearest_word_is_named_in_one_line(
    given: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(given)
    assert exit_.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert meant in line
    assert "stage" not in line


def test_usage__without_a_campaign_the_campaigns_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["findings"])
    files = sorted(path.stem for path in (ROOT / "config/campaigns").glob("*.yaml"))
    (line,) = capsys.readouterr().err.splitlines()
    assert sorted(line.partition("CAMPAIGN (")[2].partition(")")[0].split(", ")) == files


# What was typed -> what is meant.
NEW_CLAIM = (
    "claim new --report hpcg2014 --statement x --topic {topic} --quantity {quantity} --variable {variable} "
    "--factor {factor} --treatment {level} --baseline 10gbe --expect 3"
)
TYPOS = {
    "finding vm-hpcg": "findings",
    "insepct f": "inspect",
    "newcampaign x": "new-campaign",
    "what-if": "whatif",
    "FINDINGS vm-hpcg": "findings",
    "complete bash": "completion",
    "verdicts --reprot house": "--report",
    "findings vm-hpcg --writ": "--write",
    "findings vm-hpgc": "vm-hpcg",
    "findings VM_HPCG": "vm-hpcg",
    "findings lulesh": "vm-lulesh",
    "report archer2": "archer2-frequency",
    "verify top5000": "top500",
    "verdicts --report LSDYNA-2014": "lsdyna2014",
    "verdicts --report hpcg2104": "hpcg2014",
    "verdicts --campaign published-lamps": "published-lammps",
    "plan --claim hpcg2014-ic-fdr-over-1gb-5x": "hpcg2014-ic-fdr-over-1gbe-5x",
    "plan --claim ic-fdr-over-1gbe-5x": "hpcg2014-ic-fdr-over-1gbe-5x",
    "findings vm-hpcg --topic interconect": "interconnect",
    "inspect --engine IPM-XML f": "ipm",
    "meters locl": "local",
    "new-campaign x --application hpgc --yes": "hpcg",
    "topic=Interconect": "interconnect",
    "quantity=speed_up": "speedup",
    "variable=figure-of-merit": "figure_of_merit",
    "variable=Energie": "energy",
    "factor=mpi_library": "mpi",
    "factor=ranks-per-node": "ranks_per_node",
    "level=FDR": "ib-fdr",
    "level=IB-FDR": "ib-fdr",
}


@pytest.mark.parametrize(("typed", "meant"), TYPOS.items(), ids=TYPOS)
def test_usage__thirty_typos_have_the_nearest_word(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right = {"topic": "interconnect", "quantity": "speedup", "variable": "", "factor": "interconnect"}
    key, equals, word = typed.partition("=")
    given = NEW_CLAIM.format_map(right | {"level": "ib-fdr", key: word}) if equals else typed
    with contextlib.suppress(SystemExit):
        cli.main([one.strip("'") for one in given.split(" ")])
    assert f"is {meant!r} meant?" in capsys.readouterr().err


def test_usage__are_thirty_typos() -> None:
    assert len(TYPOS) == 30


@pytest.mark.parametrize("command", [one for one in cli._EXAMPLES if one])
def test_help__examples_are_accepted_by_the_parser(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in cli._EXAMPLES[command].splitlines() if ">>" not in line]
    for line in lines or [cli._EXAMPLES[command].partition(" >>")[0]]:
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)]
        assert words[0] == command
        assert cli._parser().parse_args(words).command
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    assert f"benchbook {cli._EXAMPLES[command].splitlines()[0]}" in capsys.readouterr().out


def test_help__every_command_has_an_example_and_a_line() -> None:
    commands = set(cli._parser().names) - {"stage"}
    assert commands == set(cli._EXAMPLES) - {""}
    assert all(re.search(rf"^  {one} +\w", cli._parser().format_help(), re.MULTILINE) for one in commands)


def test_verdicts__words_are_coloured_by_what_they_say() -> None:
    green = verdicts._coloured("claim  holds", "holds")
    assert green == "claim  \x1b[32mholds\x1b[0m"
    assert "\x1b[31m" in verdicts._coloured("x  does not hold", "does not hold")
    assert "\x1b[33m" in verdicts._coloured("x  cannot tell", "cannot tell")
    assert "\x1b[2m" in verdicts._coloured("x  not tested", "not tested")


def completed(line: str) -> list[str]:
    """Return what a shell offers behind a line, as argcomplete is asked by bash."""
    environment = os.environ | {
        **{"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"},
        **{"_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout", "_ARGCOMPLETE_SHELL": "bash"},
    }
    command = [sys.executable, "-m", "analysis.cli"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return [one.strip() for one in done.stdout.splitlines()]


def test_completion__offers_commands_options_and_names() -> None:
    assert completed("benchbook comp") == ["compare", "completion"]
    assert "vm-hpcg" in completed("benchbook findings vm-")
    assert completed("benchbook verdicts --report lsdyna20") == ["lsdyna2009", "lsdyna2014"]
    assert "hpcg2014-cc-2pct" in completed("benchbook plan --claim hpcg2014-cc")
    assert completed("benchbook import --pat") == ["--pattern"]


def test_completion__is_printed_for_each_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "bash"]) == 0
    assert "complete -o nospace" in capsys.readouterr().out
    assert cli.main(["completion", "fish"]) == 0
    assert "complete --command benchbook" in capsys.readouterr().out


def test_hint__starts_as_the_command_was_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv/bin/benchbook")])
    text = "make it with: benchbook verify --write x; benchbook is a name, results/benchbook plan too"
    wanted = text.replace(": benchbook", ": .venv/bin/benchbook")
    assert cli.pasteable(text, ["verify", "plan"]) == wanted
    monkeypatch.setenv("PATH", str(tmp_path / ".venv/bin"))
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/benchbook").touch(mode=0o755)
    assert cli.pasteable(text) == text  # a shell finds it by its name
