"""Time of a build beside its peers: plain papermill for the pages, ``snakemake --version`` for the no-op.

Works on a copy of the tracked files in a temporary folder, with the environment that runs it; prints
medians and ratios and asserts nothing.

usage: bench_build.py [--small] [REPEATS]    (1; about 3 minutes each on two cores)

With ``--small`` two pages of one campaign are built, as a test does; about 40 s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from analysis.estimates.contents import load_config

ROOT = Path(__file__).resolve().parents[1]
# As the Makefile starts it.
SNAKEMAKE = [sys.executable, "workflow/scripts/snakemake_local.py", "--cores", "all", "--quiet", "all"]
# What is built with --small: one campaign, two pages.
SMALL = """\
campaigns: [vm-profiles]
reports: { hpcg2014: [] }
discover: false
pages:
  - name: calls
    notebook: 57-mpi-calls.ipynb
    campaign: vm-profiles
    reports: [hpcg2014]
    parameters: { select: {} }
  - name: sizes
    notebook: 62-message-sizes.ipynb
    campaign: vm-profiles
    reports: [hpcg2014]
    parameters: { along: "", bounds: [], select: {}, at: {} }
"""
MORE = 3  # pages that a build has more than another, to time one


def seconds(command: list[str], folder: Path) -> float:
    """Run a command in `folder`, on the copy's own sources; return its wall-clock time in s."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the Makefile takes it out too
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
    return time.perf_counter() - began


def copy(folder: Path, *, small: bool) -> Path:
    """Copy what git tracks into `folder`; if `small`, with a configuration of two pages."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, target)
    if small:
        (folder / "config/config.yaml").write_text(SMALL, encoding="utf-8")
    return folder


def papermill(base: Path, page: dict[str, Any], out: Path) -> float:
    """Execute a page's notebook with the plain papermill command: a kernel start of its own."""
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(base / "notebooks")]
    given = {
        key: page[key] for key in ("campaign", "campaigns", "report", "reports", "topics") if key in page
    }
    parameters = out.with_suffix(".yaml")
    parameters.write_text(repr({**given, **page["parameters"]}))  # of plain values: YAML too
    notebook = base / "notebooks" / page["notebook"]
    return seconds([*command, "-f", str(parameters), str(notebook), str(out)], base)


def again(base: Path, pages: list[dict[str, Any]]) -> float:
    """Build after the given pages were removed, and the site that shows them."""
    (base / "results/site/index.html").unlink()
    for page in pages:
        for made in (base / "results").glob(f"*/{page['name']}.*"):
            if made.parent.name in ("notebooks", "figures"):
                made.unlink()
    return seconds(SNAKEMAKE, base)


def once(folder: Path, *, small: bool) -> dict[str, float]:
    """Time everything once, peers between ours."""
    base = copy(folder / "project", small=small)
    cold = seconds(SNAKEMAKE, base)
    pages = list(load_config(base)["pages"])
    (folder / "out").mkdir()
    plain = [papermill(base, page, folder / "out" / f"{page['name']}.ipynb") for page in pages]
    more = plain[1 : 1 + MORE]
    one, several = again(base, pages[:1]), again(base, pages[: 1 + len(more)])
    times = 1 if small else 3
    version = [seconds([sys.executable, "-m", "snakemake", "--version"], base) for _ in range(times)]
    noop = [seconds(SNAKEMAKE, base) for _ in range(times)]
    print(f"cold {cold:.1f} s, {len(pages)} pages by papermill {sum(plain):.1f} s", file=sys.stderr)
    return {
        "cold build / plain papermill of its pages": cold / sum(plain),
        "one page more / the same by papermill": (several - one) / sum(more),
        "no-op / snakemake --version": statistics.median(noop) / statistics.median(version),
    }


def main() -> None:
    """Print the medians of the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repeats", type=int, nargs="?", default=1)
    parser.add_argument("--small", action="store_true", help="build two pages only")
    given = parser.parse_args()
    found = []
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory() as name:
            found.append(once(Path(name), small=given.small))
    for name in found[0]:
        values = sorted(one[name] for one in found)
        print(f"build: {name} = {statistics.median(values):.2f} ({values[0]:.2f} to {values[-1]:.2f})")


if __name__ == "__main__":
    main()
