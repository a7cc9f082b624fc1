"""``python -m analysis.cli.stages.verdicts CLAIMS CAMPAIGN OUT``: what the workflow's verdicts rule calls."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.base.errors import BenchbookError
from analysis.claims import evaluate, write_verdicts
from analysis.claims.model import load_report
from analysis.estimates.campaign import load_campaign


def main(argv: list[str] | None = None) -> int:
    """Evaluate one report on one campaign; return 1 if either cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.cli.stages.verdicts", description=__doc__)
    parser.add_argument("claims", type=Path, help="config/claims/<report>.yaml")
    parser.add_argument("campaign", help="name of a campaign whose datasets have been built")
    parser.add_argument("out", type=Path, help="JSON file for the verdicts")
    arguments = parser.parse_args(argv)
    try:
        verdicts = evaluate(load_report(arguments.claims), load_campaign(arguments.campaign))
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    write_verdicts(verdicts, arguments.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
