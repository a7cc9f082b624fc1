"""Speed of the IPM reader beside ``xmllint --stream`` on the same file of 4,096 ranks.

The file is our own profile of 64 ranks, 64 times over with other ranks and other times, in a
temporary directory. Prints the ratio of the wall times (ours over xmllint's, alternating runs), for
the first read of it in a process and for later ones, and the peak of resident memory.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
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
    begin = time.perf_counter()
    ds = readers.open(sys.argv[1], engine="ipm")
    times.append(time.perf_counter() - begin)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"first": times[0], "later": min(times[1:]), "peak": peak, "obs": ds.sizes["obs"],
                  "ranks": ds.sizes["rank"], "complete": bool(ds.attrs["complete"]),
                  "warnings": len(ds.attrs["warnings"])}))
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
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def main() -> None:
    if shutil.which("xmllint") is None:
        print("ipm: xmllint is not installed (package libxml2-utils); nothing to compare with")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "4096.ipm.xml"
        path.write_bytes(generate(lzma.decompress(PROFILE.read_bytes()), COPIES, SEED))
        ours, theirs = [], []
        for _ in range(RUNS):
            theirs.append(_seconds(["xmllint", "--stream", "--noout", str(path)]))
            text = subprocess.run(
                [sys.executable, "-c", _OURS, str(path), str(PROFILE)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            ours.append(json.loads(text))
        size = path.stat().st_size / 1e6
    peer = statistics.median(theirs)
    last = ours[-1]
    print(f"ipm: {last['ranks']} ranks, {last['obs']} records, {size:.1f} MB, complete {last['complete']}")
    for what in ("first", "later"):
        mine = statistics.median(run[what] for run in ours)
        print(f"ipm: {what} read / xmllint --stream = {mine / peer:.2f} ({mine:.3f} s / {peer:.3f} s)")
    print(f"ipm: peak resident memory {max(run['peak'] for run in ours):.0f} MB")


if __name__ == "__main__":
    main()
