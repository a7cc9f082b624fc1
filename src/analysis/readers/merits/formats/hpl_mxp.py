"""HPL-MxP (once HPL-AI) as NVIDIA's program prints it: ``GFLOPS``, ``per GPU`` and ``LU GFLOPS``."""

import math
import re

from analysis.readers.merits.output import Merit, Output, TextFormat, agree
from analysis.readers.text import contains, number

# NVIDIA's scripts and documents name the program without its version.
_BANNER = r"^[ \t]*HPL-(?:MxP|AI)-NVIDIA(?= +v?\d)"
_TITLED = re.compile(rb"HPL-(?:MxP|AI)-NVIDIA +v?\d")

_PAIR = r"^\s*(?P<lu>LU )?GFLOPS = *(?P<whole>[^\s,]+), +per GPU = *(?P<each>[^\s,]+)"
_GRID = r"^\s*N = *(?P<N>\d+), NB = *(?P<NB>\d+), NPROW = *(?P<P>\d+), NPCOL = *(?P<Q>\d+)"


def _finish(output: Output) -> None:
    """Compare each rate with that per GPU: a grid has one GPU a process, and no grid a part of one."""
    problems = list(output.find(_GRID))
    grids = [(line, int(grid["P"]) * int(grid["Q"])) for line, grid in problems]
    if len({grid.groups() for _, grid in problems}) == 1:  # else the file has no one problem
        output.facts |= problems[0][1].groupdict()
    gpus = 0
    for line, pair in output.find(_PAIR):
        stated = [gpus for at, gpus in grids if at < line]
        ratio = number(pair["whole"]) / (number(pair["each"]) or math.nan)
        if stated:
            gpus = stated[-1]
        elif not (gpus and pair["lu"]):  # LU's rate is of as many as the rate above it
            gpus = round(ratio) if 0 < ratio < math.inf else 1
        output.facts["gpus"] = str(gpus)
        found = f"{pair['whole']} Gflop/s and {pair['each']} of each GPU"
        agrees = agree((pair["whole"],), (pair["each"],), factor=max(gpus, 1), slack=1e-4)
        output.verify(line, agrees, f"{found}, {gpus} of them" if stated else found)
    output.facts["ranks"] = str(grids[-1][1]) if grids else ""


FORMAT = TextFormat(
    engine="hpl_mxp", tool="HPL-MxP", marks=(b"HPL-MxP-NVIDIA", b"HPL-AI-NVIDIA"),
    test=lambda head: contains(head, _TITLED, b"-NVIDIA"), near=r"HPL-(?:MxP|AI)",
    merits=(
        Merit("GFLOPS", r"^\s*GFLOPS = *(?P<value>[^\s,]+)", "Gflop/s"),
        Merit("GFLOPS per GPU", r"^\s*GFLOPS = *\S+ +per GPU = *(?P<value>[^\s,]+)", "Gflop/s"),
        Merit("LU GFLOPS", r"^\s*LU GFLOPS = *(?P<value>[^\s,]+)", "Gflop/s"),
    ),
    figure_of_merit="GFLOPS", unit="Gflop/s", closing=r"^\s*LU GFLOPS = .*\n",
    closed_by="'LU GFLOPS = ...'", opening=_BANNER, facts={"version": rf"{_BANNER} +(\S+)"}, starts=_BANNER,
    first_line=_BANNER, problem=("N", "NB", "P", "Q"), finish=_finish,
    passed=r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. PASSED", failed=r"^\s*\|\|Ax-b\|\|_oo.*\.\.\. FAILED",
)  # fmt: skip
