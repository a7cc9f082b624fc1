"""``python -m analysis.cli.stages.audit REPORT OUT.json``: hold a report's statements against each other."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.base.errors import BenchbookError
from analysis.claims import write_verdicts
from analysis.claims.audit import evaluate_report


def main(argv: list[str] | None = None) -> int:
    """Audit one report; return 1 if its relations cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.cli.stages.audit", description=__doc__)
    parser.add_argument("report", help="name of a report with a file config/audit/<report>.yaml")
    parser.add_argument("out", type=Path, help="JSON file for the verdicts")
    arguments = parser.parse_args(argv)
    try:
        verdicts = evaluate_report(arguments.report)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    write_verdicts(verdicts, arguments.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
