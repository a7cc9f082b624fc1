"""How readers answer damaged files: cuts and flips over real files and samples, counted by outcome.

An outcome is *refused* (the reader says that it cannot read the file), *named* (it reads it and reports
a fault), *harmless* (no value differs), or *silent* (a value differs or is lost, and nothing is reported).
The last column counts figures of merit that are wrong without a word although other numbers of the file
contradict them. It must be 0. What contradicts a figure is decided here, by patterns that share no code
with the readers.

usage: study_damage.py [--seed N] [--cuts N] [--flips N] [--write docs/readers-damage.md] [FILE...]

Without a seed it is the week's, as 202648. With files, these are damaged instead of those of the project.
"""

from __future__ import annotations

import argparse
import datetime
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import xarray as xr

sys.path.insert(0, str(Path(__file__).parents[1]))

from analysis import readers
from analysis.base.errors import ReadError
from analysis.base.files import read_bytes
from tests.readers.samples import SAMPLES

ROOT = Path(__file__).parents[1]
OUTCOMES = ("refused", "named", "harmless", "silent")
_MOST_FILES, _MOST_BYTES = 4, 400_000
_REAL = ("tests/data", "data/raw/vm-hpcg/runs/00*", "data/raw/vm-profiles/runs/*")
_NUMBER = r"([\d.]+(?:[eE][+-]?\d+)?)"
Law = tuple[tuple[str, ...], Callable[..., float], float]
# Engine: patterns of numbers (the last match counts), what of them is 1, and how much that may be off.
LAWS: dict[str, Law] = {
    "amg2023": (
        (
            r"Time\) " + _NUMBER + r"$",
            r"FOM_Setup.*: " + _NUMBER,
            r"Setup:\n.*= " + _NUMBER,
            r"Solve:\n.*= " + _NUMBER,
        ),
        lambda whole, setup, first, second: whole * (first + 3 * second) / (setup * first),
        1e-4,
    ),
    "castep": (
        tuple(
            rf"^{name} time +=\s+" + _NUMBER
            for name in ("Total", "Initialisation", "Calculation", "Finalisation")
        ),
        lambda total, *parts: total / sum(parts),
        2e-3,
    ),
    "gromacs": (
        (r"^Performance: +" + _NUMBER, r"^Performance: +\S+ +" + _NUMBER),
        lambda rate, hours: rate * hours / 24,
        2e-3,
    ),
    "hpcg": (
        (r"rating of[=:] ?" + _NUMBER, r"and optimization phase overhead[=:] ?" + _NUMBER),
        lambda rating, total: rating / total,
        1e-4,
    ),
    "hpl": (
        (r"^W\S+ +(\d+)", r"^W.* " + _NUMBER + r" +\S+ *$", r"^W.* " + _NUMBER + r" *$"),
        lambda n, time, rate: rate * time * 1e9 / ((2 / 3 * n + 1.5) * n * n),
        5e-3,
    ),
    "hpl_mxp": (
        tuple(
            rf"^ *{name}GFLOPS = {before}{_NUMBER}"
            for name in ("", "LU ")
            for before in (" *", ".*per GPU = *")
        ),
        lambda whole, each, other, part: whole * part / (each * other),
        1e-3,
    ),
    "io500": (
        tuple(rf"^\[SCORE.*{name} {_NUMBER}" for name in ("TOTAL", "Bandwidth", "IOPS")),
        lambda score, bandwidth, rate: score**2 / (bandwidth * rate),
        1e-4,
    ),
    "ior": (
        (r"^Max Write: +" + _NUMBER, r"^Max Write: .*\(" + _NUMBER),
        lambda binary, decimal: binary * 2**20 / 1e6 / decimal,
        1e-3,
    ),
    "kripke": (
        (r"Throughput: +" + _NUMBER, r"Grind time : +" + _NUMBER),
        lambda rate, grind: rate * grind,
        1e-5,
    ),
    "laghos": (
        (r"^Major kernels total rate.*: " + _NUMBER, r"\| *" + _NUMBER + r"\| *[\d.]+\| *$"),
        lambda rate, shown: rate / shown,
        1e-4,
    ),
    "lammps": (
        (r"^Loop time of " + _NUMBER, r" for (\d+) steps", r"^Performance:.* " + _NUMBER + r" timesteps/s"),
        lambda time, steps, rate: rate * time / steps,
        2e-3,
    ),
    "lulesh": (
        (r"^FOM += +" + _NUMBER, r"^Grind time .*\) += +" + _NUMBER, r"MPI tasks += +(\d+)"),
        lambda rate, grind, ranks: rate * grind / (1e3 * ranks),
        1e-5,
    ),
    "minife": (
        tuple(rf"Total CG {name}: " + _NUMBER for name in ("Mflops", "Time", "Flops")),
        lambda rate, time, flops: rate * 1e6 * time / flops,
        1e-3,
    ),
    "npb": (
        (
            r"Mop/s total +=\s+" + _NUMBER,
            r"Mop/s/\w+ *=\s+" + _NUMBER,
            r"(?:Active processes|Total threads *)=\s+(\d+)",
        ),
        lambda total, each, workers: total / (each * workers),
        2e-2,  # of small classes two decimals are all there is
    ),
    "perftest": (
        (
            r"^ *(\d+) +\d+ +\S+ +\S+\s+\S+ *$",
            r"^ *\d+ +\d+ +\S+ +" + _NUMBER,
            r"^ *\d+ +\d+ +\S+ +\S+\s+" + _NUMBER,
        ),
        lambda size, mean, rate: mean * 2**20 / (size * rate * 1e6),
        5e-3,
    ),
    "stream": (
        (
            r"^Copy: +" + _NUMBER,
            r"^Copy: +\S+ +\S+ +" + _NUMBER,
            r"^Triad: +" + _NUMBER,
            r"^Triad: +\S+ +\S+ +" + _NUMBER,
        ),
        lambda copy, least, triad, its: triad * its / (1.5 * copy * least),
        5e-3,
    ),
}


def contradicted(engine: str, text: str) -> bool:
    """Tell whether numbers of a file contradict each other, by a law that shares no code with its reader."""
    patterns, law, room = LAWS.get(engine, ((), lambda: 1.0, 1.0))
    found = [re.findall(pattern, text, re.MULTILINE)[-1:] for pattern in patterns]
    if not all(found):
        return False
    try:
        return not abs(law(*(float(numbers[0]) for numbers in found)) - 1) <= room
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


def real_files(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Give files with the engine that reads them whole, a few for each engine."""
    seen: Counter[str] = Counter()
    for path in files:
        try:
            data = read_bytes(path)
        except (ReadError, OSError):
            continue
        engine = next(iter(readers.engines_of(data, path.name)), "") if len(data) < _MOST_BYTES else ""
        if engine and seen[engine] < _MOST_FILES and whole(engine, data) is not None:
            seen[engine] += 1
            yield engine, data


def whole(engine: str, data: bytes) -> xr.Dataset | None:
    """Read a file; None if it is refused or already damaged."""
    try:
        ds: xr.Dataset = readers.parse(data, "f", engine=engine)
    except ReadError:
        return None
    return ds if ds.attrs["complete"] else None


def merit(engine: str, ds: xr.Dataset) -> float:
    """Return the figure of merit of a dataset; NaN if it has none."""
    name = "figure_of_merit" if "figure_of_merit" in ds else readers.row(engine).figure_of_merit
    value = ds[name].values if name and name in ds else np.float64("nan")
    return float(value) if np.ndim(value) == 0 else math.nan


def flipped(data: bytes, lines: list[int], draw: random.Random) -> bytes:
    """Change one digit, mostly of a line with a figure; or a bit, or a line that is lost or doubled."""
    kind = draw.choice(("digit", "digit", "digit", "bit", "lost", "doubled"))
    rows = data.split(b"\n")
    at = draw.choice(lines) - 1 if lines and draw.random() < 0.7 else draw.randrange(len(rows))
    at = min(max(at, 0), len(rows) - 1)
    if kind == "lost":
        del rows[at]
    elif kind == "doubled":
        rows.insert(at, rows[at])
    else:
        row = bytearray(rows[at])
        places = (
            [i for i, byte in enumerate(row) if chr(byte).isdigit()]
            if kind == "digit"
            else list(range(len(row)))
        )
        if places:
            i = draw.choice(places)
            row[i] = ord(draw.choice("0123456789")) if kind == "digit" else row[i] ^ 1 << draw.randrange(8)
        rows[at] = bytes(row)
    return b"\n".join(rows)


def outcome(engine: str, before: xr.Dataset, data: bytes) -> tuple[str, bool]:
    """Return the outcome for a damaged file, and whether its figure of merit is wrong without a word."""
    try:
        ds: xr.Dataset = readers.parse(data, "f", engine=engine)
    except ReadError:
        return "refused", False
    if not ds.attrs["complete"] or set(ds.attrs["warnings"]) - set(before.attrs["warnings"]):
        return "named", False
    unnamed = {"line", "entry"}
    same = ds.drop_vars(unnamed, errors="ignore").equals(before.drop_vars(unnamed, errors="ignore"))
    one, other = merit(engine, before), merit(engine, ds)
    return "harmless" if same else "silent", not (one == other or math.isnan(one))


def score(files: Iterable[tuple[str, bytes]], seed: int, cuts: int, flips: int) -> dict[str, Counter[str]]:
    """Damage files; count by engine ``files``, ``cut <outcome>``, ``flip <outcome>`` and ``wrong``."""
    found: dict[str, Counter[str]] = {}
    numbers: Counter[str] = Counter()  # of an engine: a new format changes no other format's damages
    for engine, data in files:
        draw = random.Random(f"{seed} {engine} {numbers[engine]}")
        numbers[engine] += 1
        before = whole(engine, data)
        if before is None:
            continue
        count = found.setdefault(engine, Counter())
        count["files"] += 1
        lines = [int(line) for line in before["line"].values if line > 0] if "line" in before else []
        for kind, times in (("cut", cuts), ("flip", flips)):
            for _ in range(times):
                after = data[: draw.randrange(1, len(data))] if kind == "cut" else flipped(data, lines, draw)
                if after == data:
                    continue
                word, wrong = outcome(engine, before, after)
                count[f"{kind} {word}"] += 1
                count["wrong"] += wrong and contradicted(engine, after.decode(errors="replace"))
    return dict(sorted(found.items()))


def table(found: dict[str, Counter[str]]) -> str:
    """Return the counts as a table, an engine each line."""
    kinds = [f"{kind} {word}" for kind in ("cut", "flip") for word in OUTCOMES]
    heads = ["engine", "files", *kinds, "figure wrong, unnamed, contradicted"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for engine, count in found.items():
        cells = [
            f"`{engine}`",
            str(count["files"]),
            *(str(count[kind]) for kind in kinds),
            str(count["wrong"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    total = sum(found.values(), Counter())
    cells = ["all", str(total["files"]), *(str(total[kind]) for kind in kinds), str(total["wrong"])]
    return "\n".join([*lines, f"| {' | '.join(cells)} |", ""])


def own_files() -> Iterator[tuple[str, bytes]]:
    """Give the samples of the tests and real files of the project."""
    yield from ((engine, data) for engine, data in SAMPLES.items() if len(data) < _MOST_BYTES)
    paths = (
        path
        for pattern in _REAL
        for folder in sorted(ROOT.glob(pattern))
        for path in sorted(folder.rglob("*"))
    )
    yield from real_files(path for path in paths if path.is_file())


def main() -> int:
    """Run the study; status 1 if a figure was wrong without a word though contradicted."""
    year, week, _ = datetime.date.today().isocalendar()
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=year * 100 + week)
    options.add_argument("--cuts", type=int, default=20)
    options.add_argument("--flips", type=int, default=60)
    options.add_argument("--write", type=Path)
    options.add_argument("files", nargs="*", type=Path)
    given = options.parse_args()
    print(f"seed {given.seed}, {given.cuts} cuts and {given.flips} flips of each file", flush=True)
    files = real_files(given.files) if given.files else own_files()
    found = score(files, given.seed, given.cuts, given.flips)
    print(table(found))
    if given.write:
        head, _, rest = given.write.read_text().partition("<!-- table -->\n")
        rest = rest.partition("<!-- end -->\n")[2]
        text = (
            f"Seed {given.seed}, {given.cuts} cuts and {given.flips} flips of each file.\n\n{table(found)}\n"
        )
        given.write.write_text(f"{head}<!-- table -->\n{text}<!-- end -->\n{rest}")
    return int(any(count["wrong"] for count in found.values()))


if __name__ == "__main__":
    sys.exit(main())
