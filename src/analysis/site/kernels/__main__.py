"""Command line: ``python -m analysis.site.kernels run|call|commit``; see ``--help``."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from pathlib import Path

from analysis.site.kernels import SOCKET, Page


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit status: 0, 1 if a notebook failed, 2 wrong usage."""
    options = _parser().parse_args(arguments)
    if options.command == "run":
        return _run(options)
    if options.command == "call":
        return _call(options)
    if options.command == "serve":
        return _serve(options)
    if options.command == "alone":
        return _alone()
    from analysis.site.kernels.commit import commit

    faults = commit(options.notebooks, jobs=options.jobs)
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis.site.kernels", description="Execute notebooks.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="execute one notebook with parameters")
    run.add_argument("notebook")
    run.add_argument("out", help="executed notebook")
    run.add_argument("--figure", default="", help="file for the SVG of the cell tagged figure")
    run.add_argument("--parameters", type=_object, default={}, help="JSON object")
    run.add_argument("--log", default=os.devnull, help="file for output and traceback")
    run.add_argument("--server", default=str(SOCKET), help="socket of a running server")
    call = commands.add_parser("call", help="run a module of the package")
    call.add_argument("module")
    call.add_argument("arguments", nargs=argparse.REMAINDER)
    call.add_argument("--log", required=True, help="file for what it prints; shown if it fails")
    call.add_argument("--server", default=str(SOCKET), help="socket of a running server")
    serve = commands.add_parser("serve", help="execute pages until the standard input ends")
    serve.add_argument("listener", type=int, help="number of an open file: a listening socket")
    commands.add_parser("alone", help="execute the page given as JSON on the standard input")
    commit = commands.add_parser("commit", help="execute with defaults, keep verdict cells' outputs")
    commit.add_argument("notebooks", nargs="+", type=Path)
    commit.add_argument("--jobs", type=int, default=2, help="notebooks at once")
    return parser


def _object(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return found


def _run(options: argparse.Namespace) -> int:
    from analysis.site.kernels.client import request

    page = Page(options.notebook, options.out, options.figure, options.parameters)
    fault = request(page, options.log, server=options.server)
    if fault:
        print(fault, file=sys.stderr)
    return 1 if fault else 0


def _call(options: argparse.Namespace) -> int:
    from analysis.site.kernels.client import call

    fault = call(options.module, options.arguments, options.log, server=options.server)
    if fault:
        print(Path(options.log).read_text(encoding="utf-8", errors="replace"), end="", file=sys.stderr)
        print(fault, file=sys.stderr)
    return 1 if fault else 0


def _serve(options: argparse.Namespace) -> int:
    from analysis.site.kernels.server import serve

    return serve(socket.socket(fileno=options.listener))


def _alone() -> int:
    from analysis.site.kernels.server import preload, run

    page = Page(**json.load(sys.stdin))
    reply = os.dup(1)
    os.dup2(2, 1)  # what is printed belongs into the log
    preload()
    fault = run(page)
    os.write(reply, json.dumps({"fault": fault}).encode())
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
