"""Benchbook: read raw files, draw conclusions from campaigns, measure new ones."""

import argparse
import contextlib
import importlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from analysis.base.errors import BenchbookError
from analysis.base.files import refusal
from analysis.cli import stages
from analysis.cli.parser import INTERNAL, WRONG_USAGE, Parser, Version, count, count_list, margin, name_list

FINE, BAD_INPUT = 0, 1
_AS_JSON: dict[str, Any] = {"dest": "as_json", "action": "store_true"}
CAMPAIGN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")  # what a campaign may be called


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 fine, 1 the input is bad (one line a fault), 2 wrong usage."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    given = vars(parser.parse_args(argv))
    module, _, name = given.pop("command").partition(":")
    if given.get("force") and not given.get("write", True):
        print("benchbook verify: --force needs --write", file=sys.stderr)
        return WRONG_USAGE
    try:
        # Only the chosen command is imported: `benchbook --help` should not wait for xarray.
        return int(getattr(importlib.import_module(module), name)(**given))
    except BenchbookError as error:
        print(pasteable(str(error), parser.names), file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as error:
        if not (line := refusal(error)):
            raise  # of no file: a defect of ours, shown where it is
        print(line, file=sys.stderr)
        return BAD_INPUT


def pasteable(text: str, commands: Sequence[str] = (), *, moved: bool = False) -> str:
    """Let the commands in a text start as this one was: ``.venv/bin/benchbook`` where no shell finds it.

    `commands` are the names that follow ``benchbook`` in a command; by default any word does. With `moved`
    they are for another folder.
    """
    program = sys.argv[0]
    if Path(program).name != "benchbook" or shutil.which("benchbook") == os.path.abspath(program):  # noqa: PTH100
        return text
    name = "|".join(map(re.escape, commands)) or "[a-z-]+"
    path = os.path.abspath(program) if moved else os.path.relpath(program)  # noqa: PTH100
    return re.sub(rf"(?<![\w/.-])benchbook (?=(?:{name})\b)", f"{path} ", text)


def _names_of(kind: str) -> Callable[..., list[str]]:
    """Make the completer of an argument that names campaigns, reports, claims or clusters."""

    def complete(**_: Any) -> list[str]:
        with contextlib.suppress(BenchbookError, OSError):  # a shell shows nothing of what is wrong
            return list(importlib.import_module("analysis.cli.names").names(kind))
        return []

    return complete


def _parser() -> Parser:
    parser = Parser(prog="benchbook", examples=_EXAMPLES[""])
    parser.add_argument(
        "--version", action=Version, nargs=0, default=argparse.SUPPRESS, help="print the release"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = [__doc__, ""]

    def command(name: str, target: str, what: str) -> Any:
        listed.append(f"  {name:<17}{what}")
        one = commands.add_parser(name, description=what, examples=_EXAMPLES.get(name, ""))
        one.set_defaults(command=f"analysis.{target}")
        return one.add_argument

    for title, groups in _GROUPS.items():
        listed.append(f"{title}:")
        for declare in groups:
            declare(command)
        listed.append("")
    listed.append("`benchbook COMMAND --help` has the options of a command, with examples.")
    parser.description = "\n".join(listed)
    stage = commands.add_parser(INTERNAL, description="run a stage of the workflow; its rules do this")
    stages.declare(stage)
    stage.set_defaults(command="analysis.cli.stages:run")
    return parser


def command_names() -> list[str]:
    """Return the commands, in the order in which the help lists them."""
    return [name for name in _parser().names if name != INTERNAL]


def help_of(command: str) -> str:
    """Return what ``benchbook COMMAND --help`` prints, or ``benchbook --help`` without a name."""
    parser = _parser()
    return next((one.choices[command] for one in parser.commands() if command), parser).format_help()


def _reading(command: Any) -> None:
    """Declare what is asked of files and claims."""
    what = "list campaigns, reports, claims, pages or notebooks by name"
    add = command("list", "cli.names:print_names", what)
    add("kind", choices=("campaigns", "reports", "claims", "pages", "notebooks", "clusters"))
    add("--json", help="print a list of objects instead of a table", **_AS_JSON)

    add = command("inspect", "cli.inspect:inspect", "show what a raw file is, its content and its faults")
    add("files", nargs="+", metavar="FILE")
    add("--engine", help="read the file as this format instead of detecting it")
    add("--json", help="print a list of objects instead of text", **_AS_JSON)

    add = command("verdicts", "cli.verdicts:verdicts", "evaluate the claims and print the scoreboard")
    what = "only this report; may be repeated"
    add("--report", dest="reports", action="append", help=what).completer = _names_of("reports")
    what = "only this campaign; may be repeated"
    add("--campaign", dest="campaigns", action="append", help=what).completer = _names_of("campaigns")
    add("--json", help="print a list of objects instead of a table", **_AS_JSON)
    add("--topic", help="only claims on this, such as 'interconnect'")
    what = "print how many claims of each report have a word, and from how many sets of runs, as JSON"
    add("--counts", dest="as_counts", action="store_true", help=what)

    what = "forecast a profiled job on another link or number of nodes, as a range"
    add = command("whatif", "cli.whatif:whatif", what)
    add("--profile", dest="path", required=True, metavar="FILE", help="profile of IPM or mpiP")
    what = "link on which the job was profiled (default: from --on; none for a job on one node)"
    add("--from", dest="profiled_on", default="", metavar="LINK", help=what)
    what = "the other link (default: from --on, or the same); several, separated by commas, make a table"
    add("--link", dest="links", type=name_list, metavar="LINK[,LINK…]", help=what)
    what = "the other number of nodes; several, separated by commas, make a table"
    add("--nodes", type=count_list, metavar="N[,N…]", help=what)
    add("--on", metavar="CLUSTER.yaml", help="a cluster: its nodes, its links, how fast it computes")
    add("--json", help="print an object instead of text", **_AS_JSON)


def _concluding(command: Any) -> None:
    """Declare what prints or writes a campaign's conclusions."""
    what = "list what a campaign shows, ranked, with false discoveries controlled"
    add = command("findings", "cli.findings:findings", what)
    add("name", metavar="CAMPAIGN").completer = _names_of("campaigns")
    add("--topic", help="only this topic, such as interconnect")
    add("--top", type=count, default=0, metavar="N", help="only the first N")
    add("--q", type=float, default=0.05, help="rate of false discoveries (default: 0.05)")
    add("--write", action="store_true", help="add the findings to config/claims/CAMPAIGN.yaml")
    add("--json", help="print a list of objects instead of text", **_AS_JSON)

    what = "write the slides of a campaign: its conclusions as HTML, PowerPoint and PDF"
    add = command("report", "cli.findings:report", what)
    add("name", metavar="CAMPAIGN").completer = _names_of("campaigns")
    add("--out", default="", metavar="DIR", help="folder (default: results/reports/CAMPAIGN)")
    add("--title", default="", metavar="TEXT", help="title of the first slide (default: the campaign's)")
    add("--no-pdf", dest="pdf", action="store_false", help="leave out the PDF")


def _comparing(command: Any) -> None:
    """Declare what compares campaigns."""
    what = "list what became better or worse from one campaign to the next; status 3 if anything became worse"
    add = command("compare", "cli.compare:compare", what)
    what = "a campaign, or a part of one: NAME:FACTOR=LEVEL, NAME:latest, NAME:last-week, NAME:best"
    add("before", metavar="BEFORE", help=what).completer = _names_of("campaigns")
    what = "the campaign that is compared with it; without one, the days of BEFORE are its history"
    add("after", metavar="AFTER", nargs="?", default="", help=what).completer = _names_of("campaigns")
    what = "further campaigns, in order: the steps of a history are found"
    add("later", nargs="*", metavar="LATER", help=what)
    what = "with one campaign: its history by day, week or month (default: day)"
    add("--by", dest="unit", choices=("day", "week", "month"), default="day", help=what)
    what = "ignore smaller differences (default: 5%%)"
    add("--margin", type=margin, default=0.05, metavar="5%", help=what)
    add("--ignore", dest="ignored", action="append", metavar="FACTOR", help="runs may differ in it")
    what = "treat a level of AFTER as the successor of one of BEFORE"
    add("--across", dest="levels", action="append", metavar="FACTOR=BEFORE:AFTER", help=what)
    add("--json", help="print an object instead of text", **_AS_JSON)
    what = "write the page too (default: results/compare/BEFORE-AFTER.html)"
    add("--html", nargs="?", const="", default=None, metavar="OUT.html", help=what)


def _measuring(command: Any) -> None:
    """Declare what goes with measuring."""
    add = command("plan", "cli.measure:plan", "show the runs and the node hours of a campaign; start nothing")
    add("name", metavar="CAMPAIGN", nargs="?", default="").completer = _names_of("campaigns")
    what = "write the campaign that would test this claim"
    add("--claim", default="", metavar="ID", help=what).completer = _names_of("claims")
    what = "with --claim: a cluster of yours (default: a file to fill in)"
    add("--cluster", default="", help=what).completer = _names_of("clusters")
    add("--runs", action="store_true", help="list every run, in the order of submission")
    add("--json", help="print a list of objects, one for each run", **_AS_JSON)

    what = "measure the cheapest run first; say what it proves of binding, link, meter and profiler"
    add = command("try", "cli.trial:try_campaign", what)
    add("name", metavar="CAMPAIGN").completer = _names_of("campaigns")

    what = "show the progress of a campaign that is being measured"
    add = command("progress", "measure.progress:print_progress", what)
    add("name", metavar="CAMPAIGN").completer = _names_of("campaigns")
    add("--json", help="print an object instead of a line", **_AS_JSON)

    what = "read each power meter of a cluster once; print what it reads, or what is wrong"
    add = command("meters", "cli.measure:meters", what)
    add("cluster", metavar="CLUSTER").completer = _names_of("clusters")
    add("--nodes", default="", help="nodes whose meters are read, like n[01-04]")

    what = "serve this machine's load as the power of a meter, to try the rest without one"
    add = command("meter-simulator", "cli.measure:simulate_meter", what)
    add("--address", default="127.0.0.1", help="where it listens (default: 127.0.0.1, this machine only)")
    add("--port", type=int, default=8017, help="0: any that is free (default: 8017)")
    add("--idle", type=float, default=100.0, metavar="W", help="without load (default: 100)")
    add("--busy", type=float, default=300.0, metavar="W", help="with all processors busy (default: 300)")


def _own_project(command: Any) -> None:
    """Declare what makes a project."""
    what = "start a project of your own in a new folder; it follows each release without a merge"
    add = command("init", "cli.new:new_project", what)
    add("folder", metavar="FOLDER")


def _new_campaign(command: Any) -> None:
    """Declare the flags of a new campaign; on a terminal it asks for what no flag gives."""
    what = "write the files of a campaign: its own, its cluster's, its application's"
    add = command("new-campaign", "cli.new:new_campaign", what)
    add("name", metavar="NAME")
    add("--by-hand", dest="manual", action="store_true", help="its runs were measured by other means")
    add("--yes", action="store_true", help="do not ask; use defaults for what no flag gives")
    add("--try", dest="trying", action="store_true", help="then measure one run, as benchbook try does")
    what = "with --to-tell: the campaign in which causes changed together"
    add("--from", dest="source", default="", metavar="CAMPAIGN", help=what).completer = _names_of("campaigns")
    what = "the fewest runs that show which of these causes it is, in mixed order"
    add("--to-tell", dest="telling", action="store_true", help=what)
    add("--from-slurm", action="store_true", help="use the nodes that Slurm lists here")
    what = "use the nodes in a saved output of scontrol show node"
    add("--scontrol", default="", metavar="FILE", help=what)
    listed = {
        "title": "one line", "application": "one of config/applications, or a new one",
        "nodes": "numbers like 1,2,4", "ranks-per-node": "numbers, all or half",
        "binary": "path of the program, if not that in PATH",
        "input": "its input file, or the folder of its input files",
        "engine": "the reader of its output, of a program that Benchbook cannot start; if none, times alone",
        "arguments": "its arguments, as one text", "done": "a text in the output of a good run",
        "cluster": "one of config/clusters, or the name of a new one", "partition": "in Slurm",
        "feature": "of nodes in Slurm", "account": "in Slurm",
    }  # fmt: skip
    for flag, what in listed.items():
        add(f"--{flag}", default="", metavar=flag.upper().replace("-", "_"), help=what)
    what = "a name, or names separated by commas; may be repeated"
    for flag, name in (("case", "cases"), ("mpi", "mpi"), ("interconnect", "interconnect")):
        add(f"--{flag}", dest=name, action="append", metavar=flag.upper(), help=what)
    what = "a variable of the environment of all runs; may be repeated"
    add("--env", dest="environment", action="append", default=[], metavar="NAME=VALUE", help=what)
    add("--repeats", type=count, default=6, metavar="N", help="of each run (default: 6)")
    add("--minutes", type=count, default=60, metavar="N", help="time limit of a job (default: 60)")


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
    add("campaigns", nargs="+", metavar="CAMPAIGN").completer = _names_of("campaigns")
    add("--write", action="store_true", help="write the manifest first")
    add("--force", action="store_true", help="with --write: replace an existing manifest")
    add("--json", help="print a list of objects instead of lines", **_AS_JSON)

    add = command("export", "cli.verify:export", "write a verified raw campaign as an RO-Crate")
    add("campaign", metavar="CAMPAIGN").completer = _names_of("campaigns")
    add("out", metavar="OUT.zip")
    add("--license", dest="licence", default="", metavar="SPDX", help="default: that of CITATION.cff")
    add("--published", default="", metavar="YYYY-MM-DD", help="default: the day of the last run")
    add("--force", action="store_true", help="replace an existing file")

    what = "write the campaign that repeats an RO-Crate's measurement on a cluster of yours"
    add = command("repeat", "cli.repeat:repeat", what)
    add("crate", metavar="CRATE.zip")
    what = "one of config/clusters (default: a file to fill in)"
    add("--cluster", default="", metavar="CLUSTER", help=what).completer = _names_of("clusters")
    add("--as", dest="name", default="", metavar="NAME", help="default: CAMPAIGN-on-CLUSTER")
    what = "your level for one of the crate; may be repeated"
    add("--level", dest="levels", action="append", metavar="FACTOR=THEIRS:MINE", help=what)


def _shell(command: Any) -> None:
    """Declare what completes the words of a command line."""
    what = "print the lines that make your shell complete commands, options and names"
    command("completion", "cli.names:print_completion", what)("shell", choices=("bash", "zsh", "fish"))


def _claims(command: Any) -> None:
    """Declare what makes a claim from a sentence; on a terminal it asks for what no flag gives."""
    add = command(
        "claim", "cli.claims:claim", "make a claim from a sentence of a report, with a preview of its verdict"
    )
    add("action", choices=("new",))
    what = "the report that has the sentence"
    add("--report", required=True, metavar="REPORT", help=what).completer = _names_of("reports")
    flags = {
        "statement": "the sentence, in your words", "section": "where the report has it",
        "lines": "the same, as lines of its text", "topic": "such as interconnect",
        "id": "default: from the words",
        "quantity": "speedup, gain, reduction, level, ... (docs/claims.md); a gain is in percent",
        "variable": "a measure (default: the figure of merit)",
        "factor": "what is compared, such as interconnect",
        "treatment": "the level that is ahead", "baseline": "the level that it is compared with",
        "order": "of a trend: levels in order, separated by commas",
        "expect": "the figure as printed: 'over 5', 'about 24 %%', 'up to 135', '2 to 3', rising",
        "title": "begin a new report of this title with the claim",
        "publisher": "of a new report, with --title", "date": "of a new report, such as 'May 2026'",
    }  # fmt: skip
    for flag, what in flags.items():
        add(f"--{flag}", default="", metavar=flag.upper(), help=what)
    add("--select", action="append", metavar="FACTOR=LEVEL", help="only these runs; may be repeated")
    what = "a factor that changes with the compared one, as ranks do with nodes; may be repeated"
    add("--varying", action="append", metavar="FACTOR", help=what)
    what = "preview it on this campaign; may be repeated (default: those of the build)"
    add("--campaign", dest="campaigns", action="append", help=what).completer = _names_of("campaigns")
    add("--new", action="store_true", help="accept a topic or levels that the report does not use yet")
    add("--yes", action="store_true", help="do not ask; write it")


_GROUPS: dict[str, tuple[Callable[[Any], None], ...]] = {
    "read and judge": (_reading,),
    "draw conclusions": (_concluding, _comparing),
    "test a sentence": (_claims,),
    "bring or make a campaign": (_own_project, _campaigns, _new_campaign),
    "measure": (_measuring,),
    "your shell": (_shell,),
}
# Command -> lines of its examples, without ``benchbook``.
_EXAMPLES = {
    "": "list campaigns\nimport last-month --as october\nfindings october",
    "list": "list campaigns\nlist claims --json",
    "inspect": "inspect app.ipm.xml run.mpiP.xz\ninspect power.csv --json",
    "verdicts": "verdicts --topic interconnect\nverdicts --report lsdyna2014 --campaign mine --json",
    "whatif": "whatif --profile app.ipm.xml --link fdr --nodes 16 --on config/clusters/mine.yaml",
    "findings": "findings vm-hpcg\nfindings vm-hpcg --topic interconnect --top 5\nfindings vm-hpcg --write",
    "report": "report vm-hpcg\nreport vm-hpcg --title 'HPCG on our cluster' --no-pdf",
    "compare": "compare october november\ncompare october:mpi=openmpi november --margin 3%\n"
    "compare nightly:last-week nightly:latest\ncompare nightly --by week",
    "init": "init mycluster",
    "import": "import last-month --as october\n"
    "import results --as october --pattern '{mpi}/{case}/n{nodes}/{}' --set cluster=mine",
    "verify": "verify october\nverify --write october",
    "export": "export october october.zip --license CC-BY-4.0",
    "repeat": "repeat october.zip --cluster mine\n"
    "repeat october.zip --cluster mine --level 'mpi=Open MPI 4.1.4:openmpi' --as october-here",
    "new-campaign": "new-campaign mine\nnew-campaign mine --by-hand\n"
    "new-campaign mine --from-slurm --application hpcg --nodes 1,2,4 --yes",
    "claim": "claim new --report lsdyna2014\n"
    "claim new --report mine2026 --title 'Benchmarks of our new cluster' --publisher 'Our centre'"
    " --date 'May 2026'\n"
    "claim new --report hpcg2014 --statement 'FDR is 3 times as fast as 10GbE' --topic interconnect"
    " --quantity speedup --factor interconnect --treatment ib-fdr --baseline 10gbe --expect 'about 3'",
    "plan": "plan mine\nplan mine --runs\nplan --claim hpcg2014-ic-fdr-over-1gbe-5x",
    "try": "try mine",
    "progress": "progress mine",
    "meters": "meters mine --nodes 'n[01-04]'",
    "meter-simulator": "meter-simulator\nmeter-simulator --idle 80 --busy 450",
    "completion": "completion bash >> ~/.bashrc",
}
