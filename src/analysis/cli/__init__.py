"""The command ``benchbook``: read raw files, draw conclusions from campaigns, measure new ones."""

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
        print("benchbook verify: --force needs --write", file=sys.stderr)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchbook", description=__doc__)
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the release"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, target: str, what: str) -> Any:
        one = commands.add_parser(name, help=what, description=what)
        one.set_defaults(command=f"analysis.{target}")
        return one.add_argument

    for declare in (_reading, _concluding, _comparing, _measuring, _campaigns):
        declare(command)
    what = "write the files of a campaign: its own, its cluster's, its application's"
    _new_campaign(commands.add_parser("new-campaign", help=what, description=what))
    stage = commands.add_parser("stage", help="run a stage of the workflow; its rules do this")
    stages.declare(stage)
    stage.set_defaults(command="analysis.cli.stages:run")
    return parser


def _reading(command: Any) -> None:
    """Declare what is asked of files and claims."""
    add = command("inspect", "cli.inspect:inspect", "show what a raw file is, its content and its faults")
    add("files", nargs="+", metavar="FILE")
    add("--engine", help="read the file as this format instead of detecting it")
    add("--json", help="print a list of objects instead of text", **_AS_JSON)

    add = command("verdicts", "cli.verdicts:verdicts", "evaluate the claims and print the scoreboard")
    add("--report", dest="reports", action="append", help="only this report; may be repeated")
    add("--campaign", dest="campaigns", action="append", help="only this campaign; may be repeated")
    add("--json", help="print a list of objects instead of a table", **_AS_JSON)

    what = "forecast a profiled job on another link or number of nodes, as a range"
    add = command("whatif", "cli.whatif:whatif", what)
    add("--profile", dest="path", required=True, metavar="FILE", help="profile of IPM or mpiP")
    what = "link on which the job was profiled (default: from --on; none for a job on one node)"
    add("--from", dest="profiled_on", default="", metavar="LINK", help=what)
    add("--link", metavar="LINK", help="the other link (default: from --on, or the same)")
    add("--nodes", type=_count, metavar="N", help="the other number of nodes")
    add("--on", metavar="CLUSTER.yaml", help="a cluster: its nodes, its links, how fast it computes")
    add("--json", help="print an object instead of text", **_AS_JSON)


def _concluding(command: Any) -> None:
    """Declare what prints or writes a campaign's conclusions."""
    what = "list what a campaign shows, ranked, with false discoveries controlled"
    add = command("findings", "cli.findings:findings", what)
    add("name", metavar="CAMPAIGN")
    add("--topic", help="only this topic, such as interconnect")
    add("--top", type=int, default=0, metavar="N", help="only the first N")
    add("--q", type=float, default=0.05, help="rate of false discoveries (default: 0.05)")
    add("--write", action="store_true", help="add the findings to config/claims/CAMPAIGN.yaml")
    add("--json", help="print a list of objects instead of text", **_AS_JSON)

    what = "write the slides of a campaign: its conclusions as HTML, PowerPoint and PDF"
    add = command("report", "cli.findings:report", what)
    add("name", metavar="CAMPAIGN")
    add("--out", default="", metavar="DIR", help="folder (default: results/reports/CAMPAIGN)")
    add("--title", default="", metavar="TEXT", help="title of the first slide (default: the campaign's)")
    add("--no-pdf", dest="pdf", action="store_false", help="leave out the PDF")


def _comparing(command: Any) -> None:
    """Declare what compares campaigns."""
    what = "list what became better or worse from one campaign to the next; status 3 if anything became worse"
    add = command("compare", "cli.compare:compare", what)
    what = "a campaign, or a part of one: NAME:FACTOR=LEVEL, NAME:latest, NAME:last-week, NAME:best"
    add("before", metavar="BEFORE", help=what)
    what = "the campaign that is compared with it; without one, the days of BEFORE are its history"
    add("after", metavar="AFTER", nargs="?", default="", help=what)
    what = "further campaigns, in order: the steps of a history are found"
    add("later", nargs="*", metavar="LATER", help=what)
    what = "with one campaign: its history by day, week or month (default: day)"
    add("--by", dest="unit", choices=("day", "week", "month"), default="day", help=what)
    what = "ignore smaller differences (default: 5%%)"
    add("--margin", type=_margin, default=0.05, metavar="5%", help=what)
    add("--ignore", dest="ignored", action="append", metavar="FACTOR", help="runs may differ in it")
    what = "treat a level of AFTER as the successor of one of BEFORE"
    add("--across", dest="levels", action="append", metavar="FACTOR=BEFORE:AFTER", help=what)
    add("--json", help="print an object instead of text", **_AS_JSON)
    what = "write the page too (default: results/compare/BEFORE-AFTER.html)"
    add("--html", nargs="?", const="", default=None, metavar="OUT.html", help=what)


def _measuring(command: Any) -> None:
    """Declare what goes with measuring."""
    add = command("plan", "cli.measure:plan", "show the runs and the node hours of a campaign; start nothing")
    add("name", metavar="CAMPAIGN", nargs="?", default="")
    add("--claim", default="", metavar="ID", help="write the campaign that would test this claim")
    add("--cluster", default="", help="with --claim: a cluster of yours (default: a file to fill in)")
    add("--runs", action="store_true", help="list every run, in the order of submission")
    add("--json", help="print a list of objects, one for each run", **_AS_JSON)

    what = "show the progress of a campaign that is being measured"
    add = command("progress", "measure.progress:print_progress", what)
    add("name", metavar="CAMPAIGN")
    add("--json", help="print an object instead of a line", **_AS_JSON)

    what = "read each power meter of a cluster once; print what it reads, or what is wrong"
    add = command("meters", "cli.measure:meters", what)
    add("cluster", metavar="CLUSTER")
    add("--nodes", default="", help="nodes whose meters are read, like n[01-04]")


def _new_campaign(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of a new campaign; on a terminal it asks for what no flag gives."""
    parser.set_defaults(command="analysis.cli.new:new_campaign")
    add = parser.add_argument
    add("name", metavar="NAME")
    add("--by-hand", dest="manual", action="store_true", help="its runs were measured by other means")
    add("--yes", action="store_true", help="do not ask; use defaults for what no flag gives")
    what = "with --to-tell: the campaign in which causes changed together"
    add("--from", dest="source", default="", metavar="CAMPAIGN", help=what)
    what = "the fewest runs that show which of these causes it is, in mixed order"
    add("--to-tell", dest="telling", action="store_true", help=what)
    nodes = parser.add_mutually_exclusive_group()
    nodes.add_argument("--from-slurm", action="store_true", help="use the nodes that Slurm lists here")
    what = "use the nodes in a saved output of scontrol show node"
    nodes.add_argument("--scontrol", default="", metavar="FILE", help=what)
    listed = {
        "title": "one line", "application": "one of config/applications, or a new one",
        "nodes": "numbers like 1,2,4", "ranks-per-node": "numbers, all or half",
        "binary": "path of the program", "engine": "of a new application: the reader of its output",
        "arguments": "of a new application, as one text",
        "done": "of a new application: a text in the output of a good run",
        "cluster": "one of config/clusters, or the name of a new one", "partition": "in Slurm",
        "feature": "of nodes in Slurm", "account": "in Slurm",
    }  # fmt: skip
    for flag, what in listed.items():
        add(f"--{flag}", default="", metavar=flag.upper().replace("-", "_"), help=what)
    what = "a name, or names separated by commas; may be repeated"
    for flag, name in (("case", "cases"), ("mpi", "mpi"), ("interconnect", "interconnect")):
        add(f"--{flag}", dest=name, action="append", metavar=flag.upper(), help=what)
    add("--repeats", type=int, default=6, metavar="N", help="of each run (default: 6)")
    add("--minutes", type=int, default=60, metavar="N", help="time limit of a job (default: 60)")


def _campaigns(command: Any) -> None:
    """Declare what makes and checks raw campaigns."""
    what = "make a raw campaign from a folder of job output written by other tools"
    add = command("import", "cli.imports:import_folder", what)
    add("folder", metavar="DIR")
    add("--as", dest="name", required=True, metavar="NAME", help="name of the campaign")
    add("--pattern", default="", help="factors in parts of the path, like '{mpi}/{case}/n{nodes}/{}'")
    what = "a factor of all runs; may be repeated"
    add("--set", dest="given", action="append", default=[], metavar="FACTOR=VALUE", help=what)
    what = "CSV of facts: a row for each file or job, a column for each factor or option"
    add("--table", default="", metavar="FILE", help=what)
    add("--yes", action="store_true", help="write without asking")
    add("--json", help="print an object instead of tables", **_AS_JSON)

    what = "check a raw campaign against its manifest, its records and its declaration"
    add = command("verify", "cli.verify:verify", what)
    add("campaigns", nargs="+", metavar="CAMPAIGN")
    add("--write", action="store_true", help="write the manifest first")
    add("--force", action="store_true", help="with --write: replace an existing manifest")
    add("--json", help="print a list of objects instead of lines", **_AS_JSON)

    add = command("export", "cli.verify:export", "write a verified raw campaign as an RO-Crate")
    add("campaign", metavar="CAMPAIGN")
    add("out", metavar="OUT.zip")
    add("--license", dest="licence", default="", metavar="SPDX", help="default: that of CITATION.cff")
    add("--published", default="", metavar="YYYY-MM-DD", help="default: the day of the last run")
    add("--force", action="store_true", help="replace an existing file")
