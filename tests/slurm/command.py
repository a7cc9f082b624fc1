"""The command line of the test cluster: up, status, shape, exec, down."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .cluster import SlurmCluster
from .daemons import CONTROL
from .machine import ClusterError, environment

FOLDER = Path(tempfile.gettempdir()) / "benchbook-slurm"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; 0 fine, 1 not done (one line why), 2 wrong usage.

    The status of ``exec`` is that of the command it runs.
    """
    chosen = _parser().parse_args(argv)
    try:
        return _act(chosen)
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.slurm.cluster", description="A Slurm for tests.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it lies (%(default)s)")
    actions = parser.add_subparsers(dest="action", required=True)
    up = actions.add_parser("up", help="start a cluster that stays until 'down'")
    up.add_argument("--nodes", type=int, default=4)
    actions.add_parser("down", help="end it and remove its folder")
    actions.add_parser("status", help="show its nodes")
    actions.add_parser("shape", help="limit the links").add_argument(
        "rate", help="like 200mbit or 10gbit; off"
    )
    command = actions.add_parser("exec", help="run a command where users of the cluster log in")
    command.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def _act(chosen: argparse.Namespace) -> int:
    if chosen.action == "up":
        cluster = SlurmCluster(chosen.nodes, folder=chosen.folder, kept=True)
        cluster.up()
        print(*(f"{seconds:6.2f} s  {name}" for name, seconds in cluster.laps.items()), sep="\n")
        return 0
    cluster = SlurmCluster.load(chosen.folder)
    if chosen.action == "down":
        cluster.down()
    elif chosen.action == "shape":
        cluster.shape(None if chosen.rate == "off" else chosen.rate)
    elif chosen.action == "status":
        print(cluster.run(["sinfo", "-N", "-l"]).stdout, end="")
    else:
        command = cluster.machines[CONTROL].command(chosen.command, Path.cwd())
        return subprocess.call(command, env=environment(chosen.folder))
    return 0
