"""HPCG 2.4: its result, its process grid, and its messages at 16³ a rank, halos of four grids."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator

from analysis.synthesis.plan import PlannedRun, utc
from analysis.synthesis.truth import Truth

# Share of the floating-point operations, and of the time, of each kernel.
_KERNELS = (("DDOT", 0.018, 0.06), ("WAXPBY", 0.018, 0.02), ("SpMV", 0.149, 0.14), ("MG", 0.815, 0.78))
_OFFICIAL = 3600  # s, by the rules of 2.4
_SET = 50  # iterations
_FLOPS = 373.0  # an iteration and equation
_OPTIMIZATION = 2.1e-06  # s, of the reference code, which optimises nothing
_TESTS = [
    "********** Validation Testing Summary  ***********: ", "Spectral Convergence Tests: ",
    "  Result: PASSED", "  Unpreconditioned: ", "    Maximum iteration count: 11",
    "    Expected iteration count: 12", "  Preconditioned: ", "    Maximum iteration count: 2",
    "    Expected iteration count: 2", "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon: ",
    "  Result: PASSED", "  Departure for SpMV: 4.1e-10", "  Departure for MG: 6.6e-10",
]  # fmt: skip

_POINT = 8  # B, a double
_WIDTHS = (16, 8, 4, 2)  # of the grids
# Exchanges of each grid in one iteration: one before each sweep and product on it.
_EXCHANGES = (4, 3, 3, 1)

# What one rank sends to a neighbour that shares a face, in one iteration, B.
FACE_BYTES = sum(n * _POINT * width**2 for n, width in zip(_EXCHANGES, _WIDTHS, strict=True))


def process_grid(ranks: int) -> tuple[int, int, int]:
    """Return the three factors of a number of ranks that are nearest to each other, least first."""
    best = (1, 1, ranks)
    for x in range(1, round(ranks ** (1 / 3)) + 2):
        for y in range(x, ranks // x + 1):
            if ranks % (x * y) == 0 and ranks // (x * y) >= y:
                best = min(best, (x, y, ranks // (x * y)), key=lambda grid: grid[2] - grid[0])
    return best


def files(truth: Truth, run: PlannedRun) -> dict[str, str]:
    """Write the result of a run by file name; a failed run leaves none."""
    if run.failed:
        return {"stderr.txt": "xhpcg: killed by signal 9\n"}
    return {
        f"HPCG-Benchmark-2.4_{utc(run.end):%Y.%m.%d.%H.%M.%S}.yaml": "\n".join(
            [*_head(run), *_results(run), ""]
        )
    }


def _head(run: PlannedRun) -> Iterator[str]:
    size = run.factors["local_size"]
    grid = process_grid(run.factors["ranks"])
    # Not one line: the releases before 2015 write name, version and both again.
    yield "HPCG-Benchmark"
    yield "2.4"
    yield "HPCG Benchmark: Version 2.4 June 3, 2014"
    yield "Machine Summary: "
    yield f"  Distributed Processes: {run.factors['ranks']}"
    yield "  Threads per processes: 1"
    yield "Global Problem Dimensions: "
    yield from (f"  Global n{axis}: {size * count}" for axis, count in zip("xyz", grid, strict=True))
    yield "Processor Dimensions: "
    yield from (f"  np{axis}: {count}" for axis, count in zip("xyz", grid, strict=True))
    yield "Local Domain Dimensions: "
    yield from (f"  n{axis}: {size}" for axis in "xyz")
    yield "********** Problem Summary  ***********: "
    yield "Linear System Information: "
    yield from _system(size, grid, "  ")
    yield "Multigrid Information: "
    yield f"  Number of coarse grid levels: {len(_WIDTHS) - 1}"
    yield "  Coarse Grids: "
    for level in range(1, len(_WIDTHS)):
        yield f"    Grid Level: {level}"
        yield from _system(size >> level, grid, "    ")
        yield "    Number of Presmoother Steps: 1"
        yield "    Number of Postsmoother Steps: 1"
    yield from _TESTS


def _system(size: int, grid: tuple[int, int, int], indent: str) -> Iterator[str]:
    yield f"{indent}Number of Equations: {size**3 * math.prod(grid)}"
    # A point has 27 neighbours with itself, at the rim of the whole grid fewer.
    yield f"{indent}Number of Nonzero Terms: {math.prod(3 * size * count - 2 for count in grid)}"


def _results(run: PlannedRun) -> Iterator[str]:
    seconds = float(run.factors["target_time"])
    flops = run.value * 1e9 * seconds
    equations = run.factors["local_size"] ** 3 * run.factors["ranks"]
    done = _SET * max(1, round(flops / (_FLOPS * equations * _SET)))
    yield "********** Iterations Summary  ***********: "
    yield "Iteration Count Information: "
    yield "  Result: PASSED"
    yield from (f"  {kind} CG iterations per set: {_SET}" for kind in ("Reference", "Optimized"))
    yield from (f"  Total number of {kind} iterations: {done}" for kind in ("reference", "optimized"))
    yield "********** Reproducibility Summary  ***********: "
    yield "Reproducibility Information: "
    yield "  Result: PASSED"
    yield "  Scaled residual mean: 0.00435"
    yield "  Scaled residual variance: 0"
    yield from _performance(run, seconds, flops)
    yield "DDOT Timing Variations: "
    # On one rank a sum over ranks takes no time to speak of.
    waits = 0.05 * seconds * (1 - 1 / run.factors["ranks"])
    for name, factor in (("Min", 0.9), ("Max", 1.1), ("Avg", 1.0)):
        yield f"  {name} DDOT MPI_Allreduce time: {factor * waits:.6g}"
    yield "********** Final Summary **********: "
    yield f"  HPCG result is VALID with a GFLOP/s rating of: {run.value:.6g}"
    for part in ("DotProduct", "SPMV", "MG", "WAXPBY"):
        yield f"  Reference version of Compute{part} used: Performance results are most likely suboptimal"
    if seconds < _OFFICIAL:
        yield f"  Results are valid but execution time (sec) is: {seconds:.6g}"
        yield f"  Official results execution time (sec) must be at least: {_OFFICIAL}"
    else:
        yield "  Please send the YAML file contents to: HPCG-Results@software.sandia.gov"


def _performance(run: PlannedRun, seconds: float, flops: float) -> Iterator[str]:
    yield "********** Performance Summary (times in sec) ***********: "
    yield "Benchmark Time Summary: "
    yield f"  Optimization phase: {_OPTIMIZATION:g}"
    yield from (f"  {name}: {seconds * share:.6g}" for name, _, share in _KERNELS)
    yield f"  Total: {seconds:.6g}"
    yield "Floating Point Operations Summary: "
    yield from (f"  Raw {name}: {flops * share:.6g}" for name, share, _ in _KERNELS)
    yield f"  Total: {flops:.6g}"
    yield f"  Total with convergence overhead: {flops:.6g}"
    yield "GFLOP/s Summary: "
    yield from (f"  Raw {name}: {run.value * of / time:.6g}" for name, of, time in _KERNELS)
    yield f"  Raw Total: {run.value:.6g}"
    yield f"  Total with convergence overhead: {run.value:.6g}"
    yield f"  Total with convergence and optimization phase overhead: {run.value:.6g}"
    yield "User Optimization Overheads: "
    yield f"  Optimization phase time (sec): {_OPTIMIZATION:g}"
    yield f"  Optimization phase time vs reference SpMV+MG time: {2 * _OPTIMIZATION:g}"


def exchanges(ranks: int) -> list[list[tuple[int, int, int]]]:
    """List the messages of one iteration by rank: neighbour, size in B, messages.

    A neighbour shares a face, an edge or a corner.
    """
    nx, ny, nz = process_grid(ranks)
    out = []
    for rank in range(ranks):
        x, y, z = rank % nx, rank // nx % ny, rank // (nx * ny)
        messages: dict[tuple[int, int], int] = defaultdict(int)
        for dx, dy, dz in itertools.product((-1, 0, 1), repeat=3):
            there = (x + dx, y + dy, z + dz)
            inside = all(0 <= at < count for at, count in zip(there, (nx, ny, nz), strict=True))
            if (dx, dy, dz) == (0, 0, 0) or not inside:
                continue
            free = (dx, dy, dz).count(0)  # axes along which the shared points lie
            neighbour = there[0] + nx * (there[1] + ny * there[2])
            for width, count in zip(_WIDTHS, _EXCHANGES, strict=True):
                messages[neighbour, _POINT * width**free] += count
        out.append([(neighbour, size, count) for (neighbour, size), count in sorted(messages.items())])
    return out
