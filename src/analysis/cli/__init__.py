"""The command ``benchbook``: inspect raw files, print verdicts, start a campaign."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from analysis.base.errors import BenchbookError
from analysis.base.project import VERSION
from analysis.cli import stages

FINE, BAD_INPUT, WRONG_USAGE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
        0 fine, 1 the input is bad (one line a fault), 2 wrong usage.
    """
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.command(arguments))
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchbook", description=__doc__)
    parser.add_argument("--version", action="version", version=f"benchbook {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    inspect = commands.add_parser("inspect", help="say what a raw file is, what is in it and what is wrong")
    inspect.add_argument("files", nargs="+", metavar="FILE")
    inspect.add_argument("--engine", help="read as this format instead of finding it from the content")
    inspect.add_argument("--json", action="store_true", help="a list of objects instead of text")
    inspect.set_defaults(command=_inspect)

    verdicts = commands.add_parser("verdicts", help="evaluate the claims and print the scoreboard")
    verdicts.add_argument("--report", action="append", help="only this report (may be repeated)")
    verdicts.add_argument("--campaign", action="append", help="only this campaign (may be repeated)")
    verdicts.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    verdicts.set_defaults(command=_verdicts)

    plan = commands.add_parser("plan", help="show the runs and the node hours of a campaign; start nothing")
    plan.add_argument("campaign", metavar="CAMPAIGN")
    plan.add_argument("--runs", action="store_true", help="every run, in the order of submission")
    plan.add_argument("--json", action="store_true", help="a list of objects, one a run")
    plan.set_defaults(command=_plan)

    progress = commands.add_parser("progress", help="say how far a campaign is that is being measured")
    progress.add_argument("campaign", metavar="CAMPAIGN")
    progress.add_argument("--json", action="store_true", help="an object instead of a line")
    progress.set_defaults(command=_progress)

    what = "ask each power meter of a cluster once: what it reads, or what is wrong"
    meters = commands.add_parser("meters", help=what, description=what)
    meters.add_argument("cluster", metavar="CLUSTER")
    meters.add_argument("--nodes", default="", help="nodes to ask for, like n[01-04]")
    meters.set_defaults(command=_meters)

    new = commands.add_parser("new-campaign", help="make the folders and the declaration of a campaign")
    new.add_argument("name", metavar="NAME")
    new.set_defaults(command=_new_campaign)

    verify = commands.add_parser("verify", help="hold a raw campaign against its manifest and its records")
    verify.add_argument("campaigns", nargs="+", metavar="CAMPAIGN")
    verify.add_argument("--write", action="store_true", help="write the manifest first")
    verify.add_argument("--force", action="store_true", help="with --write: replace a manifest that is there")
    verify.set_defaults(command=_verify)

    export = commands.add_parser("export", help="write a verified raw campaign as an RO-Crate")
    export.add_argument("campaign", metavar="CAMPAIGN")
    export.add_argument("out", metavar="OUT.zip")
    export.add_argument("--license", default="", metavar="SPDX", help="by default that of CITATION.cff")
    export.add_argument("--published", default="", metavar="YYYY-MM-DD", help="by default the last run's day")
    export.add_argument("--force", action="store_true", help="replace a file that is there")
    export.set_defaults(command=_export)

    stage = commands.add_parser("stage", help="run a stage of the workflow; its rules do so")
    stages.declare(stage)
    stage.set_defaults(command=_stage)
    return parser


# The commands import what they need: `benchbook --help` should not wait for xarray.


def _inspect(arguments: argparse.Namespace) -> int:
    from analysis.cli.inspect import inspect

    return inspect(arguments.files, engine=arguments.engine, as_json=arguments.json)


def _verdicts(arguments: argparse.Namespace) -> int:
    from analysis.cli.verdicts import verdicts

    return verdicts(arguments.report, arguments.campaign, as_json=arguments.json)


def _plan(arguments: argparse.Namespace) -> int:
    from analysis.measure.progress import print_plan

    return print_plan(arguments.campaign, runs=arguments.runs, as_json=arguments.json)


def _progress(arguments: argparse.Namespace) -> int:
    from analysis.measure.progress import print_progress

    return print_progress(arguments.campaign, as_json=arguments.json)


def _meters(arguments: argparse.Namespace) -> int:
    from analysis.cli.meters import meters

    return meters(arguments.cluster, arguments.nodes)


def _new_campaign(arguments: argparse.Namespace) -> int:
    from analysis.cli.new import new_campaign

    return new_campaign(arguments.name)


def _verify(arguments: argparse.Namespace) -> int:
    from analysis.cli.verify import verify

    if arguments.force and not arguments.write:
        print("benchbook verify: --force goes with --write", file=sys.stderr)
        return WRONG_USAGE
    return verify(arguments.campaigns, write=arguments.write, force=arguments.force)


def _export(arguments: argparse.Namespace) -> int:
    from analysis.cli.export import export

    return export(
        arguments.campaign,
        arguments.out,
        licence=arguments.license,
        published=arguments.published,
        force=arguments.force,
    )


def _stage(arguments: argparse.Namespace) -> int:
    given = {name: value for name, value in vars(arguments).items() if name != "command"}
    return stages.run(given.pop("stage"), given.pop("log"), given)
