"""``benchbook plan``: runs and cost of a campaign; with ``--claim``, of one that would test a claim."""

from __future__ import annotations

import sys

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.cli import WRONG_USAGE
from analysis.measure.progress import print_plan


def plan(name: str, *, claim: str, cluster: str, runs: bool, as_json: bool) -> int:
    """Print the plan of a campaign; write the campaign first if it is a claim's."""
    if bool(name) == bool(claim) or (cluster and not claim):
        print(
            "benchbook plan: give a CAMPAIGN, or --claim ID (with --cluster, if you have one)",
            file=sys.stderr,
        )
        return WRONG_USAGE
    if not claim:
        return print_plan(name, runs=runs, as_json=as_json)
    from analysis.measure.draft import draft

    files, todo = draft(claim, cluster)
    base = project.root()
    say = sys.stderr if as_json else sys.stdout
    for path in files:
        print(f"wrote {path.relative_to(base)}", file=say)
    for one in todo:
        print(f"fill in: {one}", file=say)
    try:
        return print_plan(files[0].stem, runs=runs, as_json=as_json)
    except ConfigError:
        if cluster:  # what it does not have, or calls otherwise, is the user's to say
            raise
        for path in files:
            path.unlink()
        raise
