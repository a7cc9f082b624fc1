"""Speed of the mpiP reader against a loop that splits every line of the same file.

The report of 4,096 ranks is made by replicating a real one of 64 ranks (HPCG under address
randomisation, so each rank has call sites of its own) with times redrawn by a seed. Ratios are
printed, nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SEED_REPORT = Path(__file__).parents[1] / "tests/data/mpip/hpcg_aslr_64.mpiP.xz"
SMALL = SEED_REPORT.with_name("mix_350.mpiP")
RULE = "-" * 75
RANKS, SITES = 64, 4608
GOAL, GOAL_PEAK = 0.5, 250  # of 4,096 ranks: times the loop, MB


def generate(copies: int, seed: int = 20) -> str:
    """Return a report of ``64 * copies`` ranks: ranks and sites renumbered, times scaled by rank."""
    lines = lzma.decompress(SEED_REPORT.read_bytes()).decode().splitlines()
    rng = random.Random(seed)
    scale = [rng.uniform(0.8, 1.0) for _ in range(RANKS * copies)]
    header = [line for line in lines[:15] if "Task Assignment" not in line]
    out = header + [
        f"@ MPI Task Assignment      : {rank} node{rank // RANKS:03d}" for rank in range(len(scale))
    ]
    out.append("")
    out += _times(_section(lines, "MPI Time"), scale)
    out += _callsites(_section(lines, "Callsites"), copies)
    for name in ("Aggregate Time", "Aggregate Sent"):
        heading, columns, _ = _section(lines, name)
        out += [RULE, heading, RULE, columns]
    out += _statistics(_section(lines, "Callsite Time"), copies, scale)
    out += _statistics(_section(lines, "Callsite Message"), copies, [])
    return "\n".join([*out, RULE, f"@--- {'End of Report ':-<70}", RULE, ""])


def _section(lines: list[str], title: str) -> tuple[str, str, list[str]]:
    at = next(i for i, line in enumerate(lines) if line.startswith(f"@--- {title}"))
    end = next(i for i in range(at + 2, len(lines)) if lines[i] == RULE)
    return lines[at], lines[at + 2], lines[at + 3 : end]


def _times(section: tuple[str, str, list[str]], scale: list[float]) -> list[str]:
    heading, columns, rows = section
    numbers = [[float(cell) for cell in row.split()[1:3]] for row in rows[:RANKS]]
    out = [RULE, heading, RULE, columns]
    totals = [0.0, 0.0]
    for rank, factor in enumerate(scale):
        app, mpi = (value * factor for value in numbers[rank % RANKS])
        totals = [totals[0] + app, totals[1] + mpi]
        out.append(f"{rank:4d} {app:10.3g} {mpi:10.3g}    {100 * mpi / app:5.2f}")
    return [*out, f"   * {totals[0]:10.3g} {totals[1]:10.3g}    {100 * totals[1] / totals[0]:5.2f}"]


def _callsites(section: tuple[str, str, list[str]], copies: int) -> list[str]:
    _, columns, rows = section
    parts = [(int(row[:4]), row[4:]) for row in rows]
    out = [RULE, f"@--- Callsites: {SITES * copies} {'':-<50}", RULE, columns]
    return out + [f"{site + SITES * copy:3d}{rest}" for copy in range(copies) for site, rest in parts]


def _statistics(section: tuple[str, str, list[str]], copies: int, scale: list[float]) -> list[str]:
    """Renumber the rows of a statistics section; scale its times by rank where `scale` is given."""
    heading, columns, rows = section
    out = [RULE, heading.replace(str(SITES), str(SITES * copies)), RULE, columns]
    by_call: dict[str, list[list[str]]] = {}
    for row in rows:
        if cells := row.split():
            by_call.setdefault(cells[0], []).append(cells)
    for call, sites in by_call.items():
        for copy in range(copies):
            rank = 0
            for cells in sites:
                star = cells[2] == "*"
                rank = rank if star else int(cells[2]) + RANKS * copy
                factor = scale[rank] if scale else 1.0
                label = "   *" if star else f"{rank:4d}"
                numbers = [float(cell) * factor for cell in cells[4:7]]
                head = f"{call:17s} {int(cells[1]) + SITES * copy:4d} {label}"
                if scale:
                    body = " ".join(f"{value:8.3g}" for value in numbers)
                    out.append(f"{head} {cells[3]:>6s} {body} {float(cells[7]):6.2f} {float(cells[8]):6.2f}")
                else:
                    body = " ".join(f"{value:9.4g}" for value in [*numbers, float(cells[7])])
                    out.append(f"{head} {cells[3]:>7s} {body}")
                if star:
                    out.append("")
    return out[:-1]


def split_loop(path: str) -> int:
    """Split every line, as the simplest reader would."""
    fields = 0
    for line in Path(path).read_text().splitlines():
        fields += len(line.split())
    return fields


def read(path: str) -> int:
    """Read the report into the full dataset."""
    from analysis import readers

    ds = readers.open(path, engine="mpip")
    assert ds.attrs["complete"], ds.attrs["warnings"]
    return int(ds.sizes["obs"])


def _one(what: str, path: str) -> None:
    """Give the processor time of one run here, after imports and a small file: only reading counts."""
    task: Callable[[str], int] = {"read": read, "split": split_loop}[what]
    if what == "read":
        from analysis import readers

        readers.open(SMALL, engine="mpip")
    start = time.process_time()
    result = task(path)
    spent = time.process_time() - start
    # Not ru_maxrss: that has the memory of the parent, which made the file.
    status = Path("/proc/self/status").read_text().split()
    peak = int(status[status.index("VmHWM:") + 1]) * 1024
    print(json.dumps({"spent": spent, "peak": peak, "result": result}))


def _run(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", what, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4096, help="a multiple of 64")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--one", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _one(*options.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"xhpcg.{options.ranks}.1.1.mpiP"
        path.write_text(generate(options.ranks // RANKS))
        runs = [(_run("split", path), _run("read", path)) for _ in range(options.repeats)]
        size = path.stat().st_size
    loop, ours = (statistics.median(run[i]["spent"] for run in runs) for i in (0, 1))
    ratio = statistics.median(run[1]["spent"] / run[0]["spent"] for run in runs)
    print(
        f"mpip: {options.ranks} ranks, {size / 1e6:.0f} MB, {runs[0][1]['result']:.0f} observations: "
        f"{ours:.2f} s of processor time, line-splitting loop {loop:.2f} s, ratio {ratio:.2f} (goal {GOAL}); "
        f"peak {max(run[1]['peak'] for run in runs) / 1e6:.0f} MB (goal {GOAL_PEAK})"
    )


if __name__ == "__main__":
    main()
