"""The command ``benchbook``: inspect raw files, print verdicts, start a campaign."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from analysis.base.errors import BenchbookError
from analysis.cli import stages

FINE, BAD_INPUT, WRONG_USAGE = 0, 1, 2
_AS_JSON: dict[str, Any] = {"dest": "as_json", "action": "store_true"}
CAMPAIGN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")  # what a campaign may be called


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 fine, 1 the input is bad (one line a fault), 2 wrong usage."""
    given = vars(_parser().parse_args(argv))
    module, _, name = given.pop("command").partition(":")
    if given.get("force") and not given.get("write", True):
        print("benchbook verify: --force goes with --write", file=sys.stderr)
        return WRONG_USAGE
    try:
        # Only the chosen command is imported: `benchbook --help` should not wait for xarray.
        return int(getattr(importlib.import_module(module), name)(**given))
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE


class _Version(argparse.Action):
    """Prints the release: its look-up would slow every start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from analysis.base.project import VERSION

        print(f"benchbook {VERSION}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchbook", description=__doc__)
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="say which release this is"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    _reading(commands)
    _concluding(commands)
    _comparing(commands)
    _measuring(commands)
    _campaigns(commands)
    stage = commands.add_parser("stage", help="run a stage of the workflow; its rules do so")
    stages.declare(stage)
    stage.set_defaults(command="analysis.cli.stages:run")
    return parser


def _reading(commands: Any) -> None:
    """Declare what is asked of files and claims."""
    inspect = commands.add_parser("inspect", help="say what a raw file is, what is in it and what is wrong")
    inspect.add_argument("files", nargs="+", metavar="FILE")
    inspect.add_argument("--engine", help="read as this format instead of finding it from the content")
    inspect.add_argument("--json", help="a list of objects instead of text", **_AS_JSON)
    inspect.set_defaults(command="analysis.cli.inspect:inspect")

    verdicts = commands.add_parser("verdicts", help="evaluate the claims and print the scoreboard")
    verdicts.add_argument("--report", dest="reports", action="append", help="only this (may be repeated)")
    verdicts.add_argument("--campaign", dest="campaigns", action="append", help="only this (may be repeated)")
    verdicts.add_argument("--json", help="a list of objects instead of a table", **_AS_JSON)
    verdicts.set_defaults(command="analysis.cli.verdicts:verdicts")

    what = "forecast a profiled job on another link or number of nodes, as a band"
    whatif = commands.add_parser("whatif", help=what, description=what)
    whatif.add_argument("--profile", dest="path", required=True, metavar="FILE", help="of IPM or mpiP")
    whatif.add_argument(
        "--from", dest="profiled_on", default="", metavar="LINK",
        help="it was profiled on; else that of --on, and of a job on one node none",
    )  # fmt: skip
    whatif.add_argument("--link", metavar="LINK", help="the other one; else that of --on, or the same")
    whatif.add_argument("--nodes", type=_count, metavar="N", help="the other number of nodes")
    whatif.add_argument("--on", metavar="CLUSTER.yaml", help="a cluster: nodes, links, how fast it computes")
    whatif.add_argument("--json", help="an object instead of text", **_AS_JSON)
    whatif.set_defaults(command="analysis.cli.whatif:whatif")


def _concluding(commands: Any) -> None:
    """Declare what says a campaign's conclusions."""
    what = "say what a campaign shows: differences, equals, shares, ranked, with false discoveries controlled"
    findings = commands.add_parser("findings", help=what, description=what)
    findings.add_argument("name", metavar="CAMPAIGN")
    findings.add_argument("--topic", help="only this, such as interconnect")
    findings.add_argument("--top", type=int, default=0, metavar="N", help="only the first N")
    findings.add_argument("--q", type=float, default=0.05, help="rate of false discoveries (default 0.05)")
    findings.add_argument("--write", action="store_true", help="add them to config/claims/CAMPAIGN.yaml")
    findings.add_argument("--json", help="a list of objects instead of text", **_AS_JSON)
    findings.set_defaults(command="analysis.cli.findings:findings")

    what = "write the slides of a campaign: its conclusions as HTML, PowerPoint and PDF"
    report = commands.add_parser("report", help=what, description=what)
    report.add_argument("name", metavar="CAMPAIGN")
    report.add_argument("--out", default="", metavar="DIR", help="instead of results/reports/CAMPAIGN")
    report.add_argument("--title", default="", metavar="TEXT", help="on the first slide, else the campaign's")
    report.add_argument("--no-pdf", dest="pdf", action="store_false", help="leave out the PDF")
    report.set_defaults(command="analysis.cli.report:report")


def _comparing(commands: Any) -> None:
    """Declare what holds campaigns against each other."""
    what = "say what became better or worse from one campaign to the next; status 3 if anything became worse"
    compare = commands.add_parser("compare", help=what, description=what)
    compare.add_argument("before", metavar="BEFORE", help="a campaign, or a part: NAME:FACTOR=LEVEL")
    compare.add_argument("after", metavar="AFTER", help="the one that is held against it")
    compare.add_argument(
        "later",
        nargs="*",
        metavar="LATER",
        help="further ones, in order: then the steps of a history are found",
    )
    compare.add_argument(
        "--margin",
        type=_margin,
        default=0.05,
        metavar="5%",
        help="a smaller difference does not matter (5%%)",
    )
    compare.add_argument(
        "--ignore", dest="ignored", action="append", metavar="FACTOR", help="runs may differ in it"
    )
    compare.add_argument(
        "--across", dest="levels", action="append", metavar="FACTOR=BEFORE:AFTER",
        help="take a level of after for one of before",
    )  # fmt: skip
    compare.add_argument("--json", help="an object instead of text", **_AS_JSON)
    compare.add_argument(
        "--html", nargs="?", const="", default=None, metavar="OUT.html",
        help="write the page too, by default results/compare/BEFORE-AFTER.html",
    )  # fmt: skip
    compare.set_defaults(command="analysis.cli.compare:compare")


def _margin(text: str) -> float:
    """Read a relative margin, ``5%`` or ``0.05``."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no margin between 0 and 100 %: write 5% or 0.05")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1,000,000")
    return int(text)


def _measuring(commands: Any) -> None:
    """Declare what goes with measuring."""
    plan = commands.add_parser("plan", help="show the runs and the node hours of a campaign; start nothing")
    plan.add_argument("name", metavar="CAMPAIGN", nargs="?", default="")
    plan.add_argument(
        "--claim", default="", metavar="ID", help="write the campaign that would test this claim"
    )
    plan.add_argument("--cluster", default="", help="with --claim: one of yours; else a file to fill in")
    plan.add_argument("--runs", action="store_true", help="every run, in the order of submission")
    plan.add_argument("--json", help="a list of objects, one a run", **_AS_JSON)
    plan.set_defaults(command="analysis.cli.plan:plan")

    progress = commands.add_parser("progress", help="say how far a campaign is that is being measured")
    progress.add_argument("name", metavar="CAMPAIGN")
    progress.add_argument("--json", help="an object instead of a line", **_AS_JSON)
    progress.set_defaults(command="analysis.measure.progress:print_progress")

    what = "ask each power meter of a cluster once: what it reads, or what is wrong"
    meters = commands.add_parser("meters", help=what, description=what)
    meters.add_argument("cluster", metavar="CLUSTER")
    meters.add_argument("--nodes", default="", help="nodes to ask for, like n[01-04]")
    meters.set_defaults(command="analysis.cli.meters:meters")


def _new_campaign(commands: Any) -> None:
    """Declare what a new campaign can be told; on a terminal it asks for what is not."""
    what = "write the files of a campaign: its own, its cluster's, its application's"
    new = commands.add_parser("new-campaign", help=what, description=what)
    new.add_argument("name", metavar="NAME")
    new.add_argument("--by-hand", dest="manual", action="store_true", help="its runs were measured otherwise")
    new.add_argument("--yes", action="store_true", help="ask nothing; take the usual for what is not said")
    nodes = new.add_mutually_exclusive_group()
    nodes.add_argument("--from-slurm", action="store_true", help="the nodes that Slurm lists here")
    nodes.add_argument(
        "--scontrol", default="", metavar="FILE", help="the nodes in saved output of scontrol show node"
    )
    listed = {
        "title": "one line", "application": "of config/applications, or a new one", "nodes": "like 1,2,4",
        "ranks-per-node": "numbers, all or half", "binary": "path of the program",
        "engine": "of a new application: the reader of its output",
        "arguments": "of a new application, as one text",
        "done": "of a new application: a text in the output of a good run",
        "cluster": "one of config/clusters, or the name of the new one", "partition": "of Slurm",
        "feature": "of nodes in Slurm", "account": "in Slurm",
    }  # fmt: skip
    for flag, told in listed.items():
        new.add_argument(f"--{flag}", default="", metavar=flag.upper().replace("-", "_"), help=told)
    several = {"case": "cases", "mpi": "mpi", "interconnect": "interconnect"}
    for flag, name in several.items():
        text = "name, or names joined by commas; may be repeated"
        new.add_argument(f"--{flag}", dest=name, action="append", metavar=flag.upper(), help=text)
    new.add_argument("--repeats", type=int, default=6, metavar="N", help="of each run (6)")
    new.add_argument("--minutes", type=int, default=60, metavar="N", help="time limit of a job (60)")
    new.set_defaults(command="analysis.cli.new:new_campaign")


def _campaigns(commands: Any) -> None:
    """Declare what makes and checks campaigns."""
    _new_campaign(commands)

    what = "make a raw campaign of a folder of job output, from no tool of ours"
    imports = commands.add_parser("import", help=what, description=what)
    imports.add_argument("folder", metavar="DIR")
    imports.add_argument(
        "--as", dest="name", required=True, metavar="NAME", help="what the campaign is called"
    )
    imports.add_argument(
        "--pattern", default="", help="factors by parts of the path, like '{mpi}/{case}/n{nodes}/{}'"
    )
    imports.add_argument(
        "--set",
        dest="given",
        action="append",
        default=[],
        metavar="FACTOR=VALUE",
        help="of all runs; repeatable",
    )
    imports.add_argument("--yes", action="store_true", help="write without asking")
    imports.add_argument("--json", help="an object instead of tables", **_AS_JSON)
    imports.set_defaults(command="analysis.cli.imports:import_folder")

    verify = commands.add_parser("verify", help="hold a raw campaign against its manifest and its records")
    verify.add_argument("campaigns", nargs="+", metavar="CAMPAIGN")
    verify.add_argument("--write", action="store_true", help="write the manifest first")
    verify.add_argument("--force", action="store_true", help="with --write: replace a manifest that is there")
    verify.set_defaults(command="analysis.cli.verify:verify")

    export = commands.add_parser("export", help="write a verified raw campaign as an RO-Crate")
    export.add_argument("campaign", metavar="CAMPAIGN")
    export.add_argument("out", metavar="OUT.zip")
    export.add_argument(
        "--license", dest="licence", default="", metavar="SPDX", help="else that of CITATION.cff"
    )
    export.add_argument("--published", default="", metavar="YYYY-MM-DD", help="by default the last run's day")
    export.add_argument("--force", action="store_true", help="replace a file that is there")
    export.set_defaults(command="analysis.cli.export:export")
