"""``python -m analysis.cli.stages.published ingest RAW PROCESSED``; ``... verdicts CLAIMS OUT``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.base.errors import BenchbookError
from analysis.claims import evaluate, write_verdicts
from analysis.claims.model import load_report
from analysis.datasets.published import ingest
from analysis.estimates.campaign import load_campaign


def main(argv: list[str] | None = None) -> int:
    """Ingest the published figures, or evaluate a report on them; return 1 if that cannot be done."""
    parser = argparse.ArgumentParser(prog="analysis.cli.stages.published", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    read = commands.add_parser("ingest", help="make the datasets of the published figures")
    read.add_argument("raw", type=Path, help="folder data/raw/published")
    read.add_argument("processed", type=Path, help="folder data/processed/published")
    judge = commands.add_parser("verdicts", help="evaluate a report's claims on them")
    judge.add_argument("claims", type=Path, help="config/claims/<report>.yaml")
    judge.add_argument("out", type=Path, help="JSON file for the verdicts")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "ingest":
            print(ingest(arguments.raw, arguments.processed))
        else:
            write_verdicts(evaluate(load_report(arguments.claims), load_campaign("published")), arguments.out)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
