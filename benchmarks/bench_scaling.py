"""Bytes and seconds for each rank, run and claim, over three decades: what grows faster than the work.

- ranks: our own profiles of 64 ranks (IPM's and mpiP's), many times over, are read, summed to the tables that
  a campaign has, and written as netCDF;
- runs: copies of the shipped campaign's runs are ingested, those without a profile and those with one;
- claims: copies of the shipped reports' claims are tested on the shipped campaign, and written as a site.

Each size has a process of its own; its peak of resident memory is the kernel's. Prints a line for each size,
and asserts nothing.

usage: bench_scaling.py [--small] [--only PART...] [--sizes N...]

`--only ipm --sizes 15625` is a profile of a million ranks: it needs 21 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import bench_import, bench_ingest, bench_mpip
from benchmarks.bench_ipm import PROFILE

RANKS = 64  # of one copy
_SLOTS = re.compile(
    rb'mpi_rank="(?P<rank>\d+)" mpi_size="\d+"'
    rb'|(?P<key> key="\w{24})\w{8}(?P<call>" call="MPI_(?:Send|Irecv)" bytes="\d+" orank=")(?P<peer>\d+)'
)
Found = dict[str, float]


def ipm(copies: int, out: Path) -> None:
    """Write an IPM profile of 64 x `copies` ranks; each copy's ranks talk to each other, as in the first."""
    head, *tasks = (
        lzma.decompress(PROFILE.read_bytes()).removesuffix(b"</ipm_job_profile>\n").split(b"<task ")
    )
    parts = [_with_slots(b"<task " + task) for task in tasks]
    with out.open("wb") as file:
        file.write(head)
        for copy in range(copies):
            shift = RANKS * copy
            for text, slots in parts:
                file.write(text % tuple(RANKS * copies if slot is None else slot + shift for slot in slots))
        file.write(b"</ipm_job_profile>\n")


def _with_slots(task: bytes) -> tuple[bytes, list[int | None]]:
    """Return a task with a place for each rank that it names, and these ranks; None is their number."""
    slots: list[int | None] = []

    def placed(match: re.Match[bytes]) -> bytes:
        if match["rank"]:
            slots.extend((int(match["rank"]), None))
            return b'mpi_rank="%d" mpi_size="%d"'
        slots.extend((int(match["peer"]),) * 2)
        return match["key"] + b"%08X" + match["call"] + b"%d"

    return _SLOTS.sub(placed, task.replace(b"%", b"%%")), slots


def mpip(copies: int, out: Path) -> None:
    """Write an mpiP report of 64 x `copies` ranks."""
    out.write_text(bench_mpip.generate(copies))


def ranks(path: Path, engine: str, small: Path) -> Found:
    """Read a profile, sum it to tables, and write it."""
    from analysis import readers
    from analysis.datasets import profile
    from analysis.schema import storage

    tables = (profile.calls, profile.messages, profile.ranks, profile.matrix)
    first = readers.open(small, engine=engine)  # what is loaded once is no part of it
    for table in tables:
        table(first)
    clock = _Clock()
    ds = readers.open(path, engine=engine)
    found = {"ranks": ds.sizes["rank"], "reading": clock.lap(), "peak of reading": peak()}
    for table in tables:
        table(ds)
    found |= {"tables": clock.lap(), "peak of tables": peak()}
    written = path.with_suffix(".nc")
    storage.write(ds, written)
    found |= {"writing": clock.lap(), "peak": peak(), "raw": path.stat().st_size}
    return found | {"dataset": written.stat().st_size, "complete": bool(ds.complete)}


def runs(count: int, base: Path, *, profiled: bool) -> Found:
    """Ingest a campaign of so many runs, then the same with one run more."""
    folders = bench_ingest.sources()
    if profiled:
        folders = sorted(set(bench_ingest.RAW.iterdir()) - set(folders))
        bench_ingest.sources = lambda: folders
    raw, out = base / "data/raw/many", base / "data/processed/many"
    for at in range(count):
        bench_ingest.add(raw, at)
    os.chdir(base)
    from analysis.datasets.campaign import ingest

    found: Found = {"runs": count, "reading": bench_import.spent(lambda: ingest(raw, out))[0]}
    found |= {"raw": _size(raw), "store": (out / "fragments.sqlite").stat().st_size, "written": 0}
    found["dataset"] = sum(path.stat().st_size for path in out.rglob("*.nc"))
    found["campaign"] = (out / "campaign.nc").stat().st_size
    bench_ingest.add(raw, count)
    return found | {"more": bench_import.spent(lambda: ingest(raw, out))[0], "peak": peak()}


def claims(count: int, base: Path) -> Found:
    """Test so many claims on the shipped campaign, and write the site of their verdicts."""
    from analysis.claims.evaluation import evaluate
    from analysis.claims.model import load_report
    from analysis.claims.verdict import as_json
    from analysis.site.build import build
    from analysis.site.provenance import Provenance
    from benchmarks import bench_claims  # its imports are no part of the other peaks

    campaign = bench_claims.loaded(base)
    report = load_report(bench_claims.ROOT / "config/claims/hpcg2014.yaml")
    evaluate(report, replace(campaign))  # what is loaded once
    own = report.claims
    many = tuple(replace(own[at % len(own)], id=f"{own[at % len(own)].id}-{at}") for at in range(count))
    report, clock = replace(report, claims=many), _Clock()
    verdicts = evaluate(report, replace(campaign))
    found: Found = {"claims": len(verdicts), "testing": clock.lap(), "verdicts": len(as_json(verdicts))}
    clock.lap()
    build(verdicts, [], Provenance(), base / "site", reports=[report])
    pages = sorted((path.stat().st_size for path in (base / "site").rglob("*.html")), reverse=True)
    found |= {"site": _size(base / "site"), "largest page": pages[0], "writing": clock.lap()}
    return found | {"peak": peak()}


class _Clock:
    """Processor time of this process, in laps."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        last, self._last = self._last, time.process_time()
        return self._last - last


def peak() -> float:
    """Return the peak of this process's resident memory in B, without its parent's, unlike ``ru_maxrss``."""
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) * 1024.0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _profile(engine: str, write: Callable[[int, Path], None], suffix: str) -> Callable[[int, Path], Found]:
    def measured(copies: int, base: Path) -> Found:
        small, path = base / f"small{suffix}", base / f"large{suffix}"
        for at, size in ((small, 1), (path, copies)):
            # In a process of its own: what writing takes is no part of the peak.
            if not (pid := os.fork()):
                write(size, at)
                os._exit(0)
            if os.waitpid(pid, 0)[1]:
                raise SystemExit(f"{at}: cannot be written")
        return ranks(path, engine, small)

    return measured


def _each(found: Found, names: tuple[str, ...], scale: float, places: int = 2) -> str:
    return ", ".join(f"{scale * found[name]:.{places}f}" for name in names)


def _ranks_said(found: Found) -> str:
    n = found["ranks"]
    times = _each(found, ("reading", "tables", "writing"), 1e6 / n, 1)
    peaks = _each(found, ("peak of reading", "peak of tables", "peak"), 1e-6, 0)
    return (
        f"{n:.0f} ranks: {found['raw'] / n:.0f} B per rank raw, {found['dataset'] / n:.0f} B as netCDF; "
        f"reading, tables, writing: {times} us of processor time per rank; "
        f"peaks {peaks} MB"
    )


def _runs_said(found: Found) -> str:
    n = found["runs"]
    sizes = _each(found, ("raw", "store", "dataset", "campaign"), 1e-3 / n)
    return (
        f"{n:.0f} runs: kB per run raw, in the store, as netCDF, of this in campaign.nc: {sizes}; "
        f"{1e3 * found['reading'] / n:.2f} ms of processor time per run, one run more {found['more']:.2f} s; "
        f"peak {found['peak'] / 1e6:.0f} MB"
    )


def _claims_said(found: Found) -> str:
    n = found["claims"]
    sizes = _each(found, ("verdicts", "site", "largest page"), 1e-3 / n)
    times = _each(found, ("testing", "writing"), 1e3 / n)
    return (
        f"{n:.0f} claims: kB per claim of verdicts, of the site, of its largest page: {sizes}; "
        f"testing, site: {times} ms of processor time per claim; peak {found['peak'] / 1e6:.0f} MB"
    )


# Of each part: what measures one size in a folder, what is said of it, and the sizes.
PARTS: dict[str, tuple[Callable[[int, Path], Found], Callable[[Found], str], tuple[int, ...]]] = {
    "ipm": (_profile("ipm", ipm, ".ipm.xml"), _ranks_said, (1, 10, 100, 1000)),
    "mpip": (_profile("mpip", mpip, ".mpiP"), _ranks_said, (1, 10, 100, 1000)),
    "runs": (lambda n, base: runs(n, _project(base), profiled=False), _runs_said, (10, 100, 1000, 10_000)),
    "profiled": (lambda n, base: runs(n, _project(base), profiled=True), _runs_said, (10, 100, 1000)),
    "claims": (claims, _claims_said, (20, 200, 2000, 20_000)),
}


def _project(base: Path) -> Path:
    return bench_import.project(base / "project")


def lines(parts: list[str], sizes: list[int], *, small: bool) -> Iterator[str]:
    """Measure each size of some parts in a process of its own; say what came out."""
    for part in parts:
        _, said, own = PARTS[part]
        for size in sizes or own[: 1 if small else None]:
            command = [sys.executable, "-m", "benchmarks.bench_scaling", "--one", part, str(size)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"scaling: {part} of size {size} ended with status {done.returncode}")
            yield f"scaling: {part} {said(json.loads(done.stdout.splitlines()[-1]))}"


def main() -> None:
    """Print a line for each size of each part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="the smallest size of each part")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="PART")
    parser.add_argument("--sizes", nargs="+", type=int, default=[], help="copies of 64 ranks, runs or claims")
    parser.add_argument("--one", nargs=2, metavar=("PART", "SIZE"), help=argparse.SUPPRESS)
    given: Any = parser.parse_args()
    if given.one:
        part, size = given.one
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(PARTS[part][0](int(size), Path(folder))))
        return
    for line in lines(given.only, given.sizes, small=given.small):
        print(line, flush=True)


if __name__ == "__main__":
    main()
