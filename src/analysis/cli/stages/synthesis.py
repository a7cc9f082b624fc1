"""``python -m analysis.cli.stages.synthesis REPORT OUT``: what the workflow's synthesis rule calls."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.base import project
from analysis.base.errors import BenchbookError
from analysis.synthesis.campaign import build
from analysis.synthesis.truth import load_truth


def main(argv: list[str] | None = None) -> int:
    """Write the synthetic campaign of one report; return 1 if its truth cannot be used."""
    parser = argparse.ArgumentParser(prog="analysis.cli.stages.synthesis", description=__doc__)
    parser.add_argument("report", help="name of config/synthesis/<report>.yaml, or a path of such a file")
    parser.add_argument("out", type=Path, help="folder of the campaign, data/raw/<campaign>; made anew")
    arguments = parser.parse_args(argv)
    path = Path(arguments.report)
    if path.suffix != ".yaml":
        path = project.root() / "config" / "synthesis" / f"{arguments.report}.yaml"
    try:
        runs = build(load_truth(path), arguments.out, progress=sys.stderr.isatty())
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{arguments.out}: {runs} runs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
