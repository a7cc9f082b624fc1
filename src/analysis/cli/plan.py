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

    made = draft(claim, cluster)
    print(made.report(project.root()), file=sys.stderr if as_json else sys.stdout)
    try:
        return print_plan(next(iter(made.files)).stem, runs=runs, as_json=as_json)
    except ConfigError:
        if not cluster:  # else the user has to say what it does not have, or calls otherwise
            made.remove()
        raise
