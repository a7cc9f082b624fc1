"""``python -m analysis.audit REPORT OUT.json``: hold a report's statements against each other."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from analysis.audit.evaluate import evaluate_report
from analysis.errors import BenchbookError


def main(argv: list[str] | None = None) -> int:
    """Audit one report; return 1 if its relations cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.audit", description=__doc__)
    parser.add_argument("report", help="name of a report with a file config/audit/<report>.yaml")
    parser.add_argument("out", type=Path, help="JSON file for the verdicts")
    arguments = parser.parse_args(argv)
    try:
        verdicts = evaluate_report(arguments.report)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    records = [verdict.as_dict() for verdict in verdicts]
    text = json.dumps(records, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text + "\n", encoding="utf-8")
    print(f"{len(records)} verdicts")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
