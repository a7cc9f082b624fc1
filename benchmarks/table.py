"""Run the benchmarks, write what they print into docs/scaling.md, and name what has moved.

A figure that differs by more than a third from the one in the page before is named with both values; so look
at a change before you commit the page. Only the rows of benchmarks that were run are replaced.

usage: python -m benchmarks.table [NAME...]    (all; `mpip ipm` runs those two)
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/scaling.md"
BEGIN, END = "<!-- bench -->\n", "<!-- end -->\n"
HEAD = "| benchmark | what it printed | when |\n| --- | --- | --- |\n"
MOVED = 1 / 3
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")
Rows = dict[str, list[tuple[str, str]]]  # by benchmark: lines with their dates


def names() -> list[str]:
    """Name the benchmarks: ``mpip`` is ``bench_mpip.py``."""
    return sorted(path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py"))


def rows_of(page: str) -> Rows:
    """Return the rows of a page's table; SystemExit without its marks."""
    if BEGIN not in page or END not in page.partition(BEGIN)[2]:
        raise SystemExit(f"{PAGE}: has no lines {BEGIN.strip()} and {END.strip()}; add them")
    found: Rows = {}
    for line in page.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]:
        name, text, when = (cell.strip() for cell in line.strip("|").split("|"))
        found.setdefault(name, []).append((text, when))
    return found


def written(page: str, rows: Rows) -> str:
    """Return a page with these rows as its table."""
    lines = [f"| {name} | {text} | {when} |\n" for name in sorted(rows) for text, when in rows[name]]
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + HEAD + "".join(lines) + END + rest.partition(END)[2]


def moved(before: list[str], after: list[str]) -> Iterator[str]:
    """Name the figures that moved by more than a third, of lines that are the same but for their figures.

    A benchmark prints several such lines in the same order each time: the n-th is compared with the n-th.
    """
    known: dict[str, list[str]] = {}
    for line in before:
        known.setdefault(_NUMBER.sub("#", line), []).append(line)
    for line in after:
        same = known.get(_NUMBER.sub("#", line), [])
        old = same.pop(0) if same else ""
        for one, other in zip(_NUMBER.finditer(old), _NUMBER.finditer(line), strict=bool(old)):
            was, now = (float(match[0].replace(",", "")) for match in (one, other))
            if abs(now - was) > MOVED * was:
                yield f"{one[0]} is now {other[0]}: {line}"


def run(name: str) -> list[str]:
    """Run a benchmark; return the lines that it prints, none if it fails."""
    command = [sys.executable, "-m", f"benchmarks.bench_{name}"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        print(f"benchmarks/bench_{name}.py: failed; its rows stay as they were", file=sys.stderr)
        return []
    return [line.removeprefix(f"{name}: ").replace("|", "/") for line in done.stdout.splitlines() if line]


def main() -> int:
    """Run the benchmarks asked for; status 1 if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*names(), []], metavar="NAME")
    wanted = parser.parse_args().names or names()
    when = f"{datetime.date.today()}, {len(os.sched_getaffinity(0))} cores"
    failed, changes = False, list[str]()
    for name in wanted:
        print(f"== {name}", flush=True)
        lines = run(name)
        failed |= not lines
        if lines:
            page = PAGE.read_text(encoding="utf-8")
            rows = rows_of(page)
            changes += (f"{name}: {what}" for what in moved([text for text, _ in rows.get(name, [])], lines))
            PAGE.write_text(written(page, rows | {name: [(line, when) for line in lines]}), encoding="utf-8")
    print("\n".join(f"moved by more than a third: {one}" for one in changes) or "nothing moved by a third")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
