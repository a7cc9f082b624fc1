"""Speed of the IPM reader beside ``xmllint --stream`` on the same file of 4,096 ranks.

The file is our own profile of 64 ranks, many times over with other ranks and other times, in a temporary
directory. Prints the ratio of processor seconds (ours over xmllint's, alternating runs), for the first read
in a process, which loads the core, for later ones, and for all columns as numbers; the same of the compressed
file over its decompression and the plain read; and the peak of resident memory.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROFILE = Path(__file__).parents[1] / "tests/data/ipm/hpcg_n64.ipm.xml.xz"
COPIES = 64
RUNS = 7
SEED = 20

_OURS = """
import json, resource, sys, time
import analysis.readers as readers
readers.open(sys.argv[2], engine="ipm")  # imports, of xarray's own parts too, are no part of a read
times = []
for _ in range(3):
    begin = time.process_time()
    ds = readers.open(sys.argv[1], engine="ipm")
    times.append(time.process_time() - begin)
begin = time.process_time()
loaded = ds.load()
loading = time.process_time() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"first": times[0], "later": min(times[1:]), "loading": loading, "peak": peak,
                  "obs": ds.sizes["obs"], "ranks": ds.sizes["rank"], "complete": bool(ds.complete)}))
"""


def generate(profile: bytes, copies: int, seed: int) -> bytes:
    """Replicate a profile: other ranks, and every time multiplied by a factor of its rank.

    Parameters
    ----------
    profile : bytes
        IPM XML of n ranks.
    copies : int
    seed : int

    Returns
    -------
    bytes
        IPM XML of n x copies ranks: copy c of rank r is rank c n + r and talks to ranks of its copy.
    """
    head, *tasks = profile.removesuffix(b"</ipm_job_profile>\n").split(b"<task ")
    ranks = len(tasks)
    generator = random.Random(seed)
    out = [head]
    for copy in range(copies):
        out += [b"<task " + _task(task, copy * ranks, ranks * copies, generator) for task in tasks]
    return b"".join([*out, b"</ipm_job_profile>\n"])


def _task(task: bytes, shift: int, size: int, generator: random.Random) -> bytes:
    factor = generator.uniform(0.8, 1.2)
    total = 0.0
    pattern = rb'(<hent key="\w{24})\w{8}" call="(\w+)" bytes="(\d+)" orank="(\d+)"([^>]*)>([^<]*)<'

    def line(match: re.Match[bytes]) -> bytes:
        nonlocal total
        key, call, length, partner, rest, times = match.groups()
        seconds = [float(text) * factor for text in times.split()]
        total += seconds[0]
        rank = int(partner) + (shift if call in (b"MPI_Send", b"MPI_Irecv") else 0)
        text = " ".join(f"{value:.4e}" for value in seconds).encode()
        return b'%s%08X" call="%s" bytes="%s" orank="%d"%s>%s<' % (key, rank, call, length, rank, rest, text)

    task = re.sub(pattern, line, task)
    number = int(re.search(rb'mpi_rank="(\d+)"', task)[1])  # type: ignore[index]
    task = re.sub(
        rb'mpi_rank="\d+" mpi_size="\d+"', b'mpi_rank="%d" mpi_size="%d"' % (number + shift, size), task
    )
    return re.sub(rb'(<(?:perf|region) [^>]*mtime=")[^"]*', rb"\g<1>%s" % f"{total:.5e}".encode(), task)


def _seconds(command: list[str]) -> float:
    """Return the processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _ours(path: Path) -> dict[str, float]:
    command = [sys.executable, "-c", _OURS, str(path), str(PROFILE)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4096, help="a multiple of 64")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if shutil.which("xmllint") is None:
        print("ipm: xmllint is not installed (package libxml2-utils); nothing to compare with")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.ipm.xml"
        path.write_bytes(generate(lzma.decompress(PROFILE.read_bytes()), options.ranks // 64, SEED))
        size = path.stat().st_size / 1e6
        subprocess.run(["gzip", "-k", str(path)], check=True)
        packed = path.with_name(path.name + ".gz")
        commands = (["xmllint", "--stream", "--noout", str(path)], ["gzip", "-dc", str(packed)])
        peers, ours = [], []
        for _ in range(options.repeats):
            peers.append([_seconds(command) for command in commands])
            ours.append([_ours(path), _ours(packed)])
    xmllint, gunzip = (statistics.median(one[at] for one in peers) for at in (0, 1))
    last = ours[-1][0]
    print(f"ipm: {last['ranks']} ranks, {last['obs']} records, {size:.1f} MB, complete {last['complete']}")
    for what in ("first", "later", "loading"):
        mine = statistics.median(run[0][what] for run in ours)
        named = "all columns as numbers" if what == "loading" else f"{what} read"
        print(f"ipm: {named} / xmllint --stream = {mine / xmllint:.2f} ({mine:.3f} s / {xmllint:.3f} s)")
    plain, both = (statistics.median(run[at]["later"] for run in ours) for at in (0, 1))
    parts = f"({both:.3f} s / {gunzip:.3f} s + {plain:.3f} s)"
    print(f"ipm: compressed / gzip -dc and plain read = {both / (gunzip + plain):.2f} {parts}")
    print(f"ipm: peak resident memory {max(run[0]['peak'] for run in ours):.0f} MB")


if __name__ == "__main__":
    main()
