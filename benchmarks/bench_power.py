"""Speed of power logs: a day of 32 nodes at 1 Hz to a dataset, and the energy of 1,000 jobs in it.

The yardstick is pandas' pyarrow engine reading the same file in the same run (alternating, each in
a fresh process, imports done). The file (2,764,800 readings) is made in a
temporary directory. Prints ratios of processor times (all threads) and the peak of resident memory; nothing
is asserted.

usage: bench_power.py [REPEATS [SECONDS]]    (7, of a day of 86400 s)
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

NODES, SECONDS, JOBS, RUNS, SEED = 32, 86_400, 1000, 7, 20

_PANDAS = """
import json, sys, time
import pandas, pyarrow, pyarrow.csv
times = []
for _ in range(3):
    begin = time.process_time()
    table = pandas.read_csv(sys.argv[1], engine="pyarrow")
    times.append(time.process_time() - begin)
print(json.dumps({"first": times[0], "later": min(times[1:]), "rows": len(table)}))
"""

_OURS = """
import json, resource, sys, time
import numpy, pandas, pyarrow, pyarrow.csv
from analysis import readers
from analysis.energy import energy
readers.engines_of(b"")
draw = numpy.random.default_rng(20)
start = draw.uniform(0, 80_000, int(sys.argv[2]))
stop = start + draw.uniform(10, 6_000, start.size)
windows = [numpy.datetime64("2026-03-01", "ns") + (t * 1e9).astype("timedelta64[ns]") for t in (start, stop)]
options = json.loads(sys.argv[3])
times, parts = [], []
for _ in range(3):
    begin = time.process_time()
    ds = readers.open(sys.argv[1], **options)
    middle = time.process_time()
    found = energy(ds, *windows)
    times.append(time.process_time() - begin)
    parts.append(middle - begin)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
joules = found["energy"].values
print(json.dumps({"first": times[0], "later": min(times[1:]), "read": min(parts[1:]), "peak": peak,
                  "shape": list(joules.shape), "readings": int(ds["power"].size),
                  "joules": float(joules.sum()), "covered": float(found["covered"].min())}))
"""


def generate(path: Path, kind: str, seconds: int = SECONDS) -> None:
    """Write a day of all nodes, or its first seconds, rows by time.

    Parameters
    ----------
    path : Path
    kind : str
        ``utc`` (ISO with Z), ``offset`` (ISO with +01:00), ``local`` (ISO without a zone), ``epoch``
        (seconds), ``nodes`` (ISO with Z, one node after the other), ``wide`` (a column per node) or
        ``holes`` (as ``utc``, with one row in a thousand missing).
    seconds : int
    """
    draw = np.random.default_rng(SEED)
    stamp = np.datetime64("2026-03-01T00:00:00", "s") + np.arange(seconds)
    text = stamp.astype(np.int64).astype(str) if kind == "epoch" else np.datetime_as_string(stamp)
    text = np.char.add(text, {"epoch": "", "local": "", "offset": "+01:00"}.get(kind, "Z"))
    watts = np.round(300 + 50 * draw.standard_normal((seconds, NODES)), 1)
    names = np.array([f"node{i:02d}" for i in range(NODES)])
    headings = ["time", "node", "power_W"]
    if kind == "wide":
        headings = ["time", *(f"{name} (W)" for name in names)]
        columns = [text, *watts.T]
    elif kind == "nodes":
        columns = [np.tile(text, NODES), np.repeat(names, seconds), watts.T.reshape(-1)]
    else:
        columns = [np.repeat(text, NODES), np.tile(names, seconds), watts.reshape(-1)]
    if kind == "holes":
        kept = draw.random(columns[0].size) >= 0.001
        columns = [column[kept] for column in columns]
    table = pa.table(dict(zip(headings, columns, strict=True)))
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(quoting_style="none"))


def run(script: str, *arguments: str) -> dict[str, float]:
    """Run a script in a fresh Python and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def compare(path: Path, options: dict[str, str], runs: int) -> None:
    """Alternate both readers and print the least and the median of their ratios."""
    pairs = []
    for _ in range(runs):
        yardstick = run(_PANDAS, str(path))
        ours = run(_OURS, str(path), str(JOBS), json.dumps(options))
        pairs.append((ours, yardstick))
    for which, of_peer in (("first", "first"), ("later", "later"), ("read", "later")):
        ratios = [ours[which] / other[of_peer] for ours, other in pairs]
        seconds = statistics.median(ours[which] for ours, _ in pairs)
        least, median = min(ratios), statistics.median(ratios)
        what = "later read alone" if which == "read" else f"{which} read and energy"
        print(f"  {what} / pandas: {least:.2f} to median {median:.2f}  ({seconds:.3f} s)")
    ours = pairs[-1][0]
    peak = max(one["peak"] for one, _ in pairs)
    print(f"  {ours['readings']} readings, {ours['shape']} energies, peak {peak:.0f} MiB")


def main() -> None:
    """Make each kind of file and compare."""
    if sys.argv[1:2] == ["generate"]:
        generate(Path(sys.argv[3]), sys.argv[2], int(sys.argv[4]))
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    seconds = sys.argv[2] if len(sys.argv) > 2 else str(SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("utc", "offset", "local", "epoch", "nodes", "wide", "holes"):
            options = {"tz": "Europe/Berlin"} if kind == "local" else {}
            path = Path(folder) / "power.csv"
            # In a child: Linux hands a parent's peak of memory down to what it starts.
            command = [sys.executable, __file__, "generate", kind, str(path), seconds]
            subprocess.run(command, check=True)
            print(f"{kind}: {path.stat().st_size / 1e6:.0f} MB")
            compare(path, options, runs)


if __name__ == "__main__":
    main()
