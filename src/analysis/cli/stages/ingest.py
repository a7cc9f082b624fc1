"""``python -m analysis.cli.stages.ingest RAW PROCESSED``: what the workflow's ingest rule calls."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.base.errors import BenchbookError
from analysis.datasets.campaign import ingest


def main(argv: list[str] | None = None) -> int:
    """Ingest one campaign; return 1 if it cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.cli.stages.ingest", description=__doc__)
    parser.add_argument("raw", type=Path, help="folder data/raw/<campaign>")
    parser.add_argument("processed", type=Path, help="folder data/processed/<campaign>")
    arguments = parser.parse_args(argv)
    try:
        summary = ingest(arguments.raw, arguments.processed, progress=sys.stderr.isatty())
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    print(summary)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
