"""Processor time and memory of `benchbook findings`' own search on campaigns of many runs, made in memory.

`--runs 1000` is the small form. Nothing stands next to it: no peer searches a campaign.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys


def _one(runs: int, side: int) -> None:
    """Search one campaign in this process; it and what is imported come first."""
    import resource
    import time

    import numpy as np
    from study_findings import Design, simulated

    from analysis.findings.search import conclusions

    side = min(side, runs // 4)
    kinds = max(runs // (2 * side), 1)
    design = Design(0.1, applications=kinds, affected=max(kinds // 4, 1), n=side)
    conclusions(simulated(Design(0.1, applications=2, affected=1), np.random.default_rng(1)))
    campaign = simulated(design, np.random.default_rng(20))
    began = time.process_time()
    found = conclusions(campaign)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"runs": len(campaign.runs), "found": len(found), "spent": spent, "peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--sides", type=int, nargs="+", default=[1000, 10, 3], help="runs on a side")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _one(options.runs, options.one)
        return
    for side in options.sides:
        command = [sys.executable, __file__, "--runs", str(options.runs), "--one", str(side)]
        done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"findings: {done['runs']} runs, {side} on a side, {done['found']} conclusions: "
            f"{done['spent']:.1f} s of processor time, peak {done['peak']:.0f} MB"
        )


if __name__ == "__main__":
    main()
