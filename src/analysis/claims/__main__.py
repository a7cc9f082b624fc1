"""``python -m analysis.claims CLAIMS CAMPAIGN OUT``: what the workflow's verdicts rule calls."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.claims import evaluate, load_campaign, load_report
from analysis.claims.evaluate import write_verdicts
from analysis.errors import BenchbookError


def main(argv: list[str] | None = None) -> int:
    """Evaluate one report on one campaign; return 1 if either cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.claims", description=__doc__)
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
