"""What the numbers of one output say together: operations that follow from a grid, a set, a size and a time.

Readers compare the sums and rates that an output prints. Here the operations themselves are computed, so that
a rate that was changed with all of its sums contradicts the grid and the iterations.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np
import xarray as xr

from analysis.readers.hpcg import plain
from analysis.readers.text import is_number, number

# Six digits are printed; a product of three of them is off by this much.
_DIGITS = 3e-5
# Of a set's time and the pieces of it: clocks are read at other moments.
_CLOCKS = 1e-2
_FLOPS = "Floating Point Operations Summary"
_SYSTEM = "Linear System Information"
_COARSE = "Multigrid Information::Coarse Grids"
_SETS = "Iteration Count Information"
_KERNELS = ("DDOT", "WAXPBY", "SpMV", "MG")

Values = Mapping[str, list[float]]


def contradictions(result: xr.Dataset) -> Iterator[str]:
    """Yield where the numbers of a result cannot be true together."""
    if result.attrs["kind"] == "hpcg":
        values = _values(result)
        yield from _of_grid(result, values)
        yield from _of_operations(values)
        yield from _of_overheads(values)
        yield from _of_reductions(result, values)
    yield from _of_bounds(result)


def calls(result: xr.Dataset) -> float:
    """Return the sets of iterations of an HPCG result, NaN if it does not state them."""
    return _sets(_values(result))[1]


def _values(result: xr.Dataset) -> Values:
    """Return the numbers of an HPCG result by their keys, in their order: coarse grids share theirs."""
    found: dict[str, list[float]] = defaultdict(list)
    for key, text in zip(*(result.variables[name].values for name in ("entry", "value")), strict=True):
        if (value := _stated(text)) is not None:
            found[plain(key)].append(value)
    return found


@lru_cache(1 << 14)  # the greater part is in other results too
def _stated(text: str) -> float | None:
    """Return the number that a text is, not-a-number too; None if it is none."""
    value = number(text)
    return None if math.isnan(value) and not is_number(text) else value


def _first(values: Values, key: str) -> float:
    return values[key][0] if key in values else math.nan


def _sets(values: Values) -> tuple[float, float]:
    """Return the iterations that were timed, and in how many sets; NaN where the result does not say."""
    total = _first(values, f"{_SETS}::Total number of optimized iterations")
    each = _first(values, f"{_SETS}::Optimized CG iterations per set")
    return total, total / each if each > 0 else math.nan


def _of_grid(result: xr.Dataset, values: Values) -> Iterator[str]:
    """Compare the equations and the terms of each level with the grid: 27 terms a row, fewer at the rim."""
    whole = [int(size) for size in result.variables["global_size"].values]
    if min(whole) <= 0:
        return
    levels = [(_SYSTEM, 0, whole)]
    coarse = values.get(f"{_COARSE}::Number of Equations", [])
    levels += [(_COARSE, at, [size >> at + 1 for size in whole]) for at in range(len(coarse))]
    for table, at, grid in levels:
        for name, wanted in (
            ("Number of Equations", math.prod(grid)),
            ("Number of Nonzero Terms", math.prod(3 * size - 2 for size in grid)),
        ):
            stated = values.get(f"{table}::{name}", [])
            if at < len(stated) and stated[at] != wanted:
                shape = "×".join(map(str, grid))
                yield f"its result has {stated[at]:.0f} as {name}, a grid of {shape} has {wanted}"


def _of_operations(values: Values) -> Iterator[str]:
    """Compare the operations of each kernel with those of the iterations on the levels of the grid."""
    iterations, sets = _sets(values)
    rows, terms = (_first(values, f"{_SYSTEM}::Number of {name}") for name in ("Equations", "Nonzero Terms"))
    vectors = (3 * iterations + sets) * 2 * rows
    wanted = [vectors, vectors, (iterations + sets) * 2 * terms, iterations * _cycle(values, terms)]
    for kernel, count in zip(_KERNELS, wanted, strict=True):
        stated = _first(values, f"{_FLOPS}::Raw {kernel}")
        if stated > 0 and abs(stated - count) > _DIGITS * count:
            what = f"its result counts {stated:.6g} operations of {kernel}"
            yield f"{what}, {iterations:.0f} iterations in {sets:.0f} sets on its grid are {count:.6g}"


def _cycle(values: Values, terms: float) -> float:
    """Return the operations of one multigrid cycle: a sweep takes 4 a term, a residual 2."""
    coarse = values.get(f"{_COARSE}::Number of Nonzero Terms", [])
    before = values.get(f"{_COARSE}::Number of Presmoother Steps", [])
    after = values.get(f"{_COARSE}::Number of Postsmoother Steps", [])
    if not coarse or not len(coarse) == len(before) == len(after):
        return math.nan
    fine = [terms, *coarse[:-1]]
    swept = sum(count * (4 * (one + two) + 2) for count, one, two in zip(fine, before, after, strict=True))
    return swept + 4 * coarse[-1]


def _of_overheads(values: Values) -> Iterator[str]:
    """Compare the parts of the time with the whole, and bandwidths with rates."""
    times, rates, bytes_ = "Benchmark Time Summary", "GFLOP/s Summary", "GB/s Summary"
    parts, total = (
        math.fsum(_first(values, f"{times}::{kernel}") for kernel in _KERNELS),
        _first(values, f"{times}::Total"),
    )
    if parts > total * (1 + _CLOCKS):
        yield f"the kernels of its result took {parts:.6g} s, all of it {total:.6g} s"
    late = "Total with convergence and optimization phase overhead"
    raw, rated = _first(values, f"{rates}::Raw Total"), _first(values, f"{rates}::{late}")
    moved, used = _first(values, f"{bytes_}::Raw Total B/W"), _first(values, f"{bytes_}::{late}")
    if raw > 0 and moved > 0 and abs(raw * used - rated * moved) > 2 * _DIGITS * rated * moved:
        what = f"its result rates {rated:.6g} of {raw:.6g} Gflop/s"
        yield f"{what}, but {used:.6g} of {moved:.6g} GB/s"
    read, write = (_first(values, f"{bytes_}::Raw {name} B/W") for name in ("Read", "Write"))
    if abs(read + write - moved) > _DIGITS * moved:
        yield f"its result reads {read:.6g} and writes {write:.6g} GB/s, together {moved:.6g} GB/s"
    memory = _first(values, "Memory Use Information::Total memory used for data (Gbytes)")
    each = next((of[0] for key, of in values.items() if "::Bytes per equation" in key), math.nan)
    wanted = each * _first(values, f"{_SYSTEM}::Number of Equations") / 1e9
    if abs(memory - wanted) > _DIGITS * wanted:
        yield f"its result uses {memory:.6g} GB, {each:.6g} B an equation are {wanted:.6g} GB"


def _of_reductions(result: xr.Dataset, values: Values) -> Iterator[str]:
    """Compare the times of DDOT's Allreduce with DDOT, with the whole and with each other.

    Least, greatest and mean are over the ranks, DDOT and the total are of rank 0. Its own Allreduce is a part
    of its DDOT, and no smaller than the least; another rank can wait longer, but not longer than the whole.
    The mean of n ranks is least that of one greatest and n - 1 least, and most the reverse.
    """
    times = "Benchmark Time Summary"
    low, high, mean = (float(time) for time in result.variables["allreduce_time"].values)
    dot, total = (_first(values, f"{times}::{name}") for name in ("DDOT", "Total"))
    if low > dot * (1 + _CLOCKS):
        yield f"its Allreduce took at least {low:.6g} s on every rank, all of DDOT {dot:.6g} s"
    if high > total * (1 + _CLOCKS):
        yield f"its Allreduce took up to {high:.6g} s on a rank, the whole benchmark {total:.6g} s"
    ranks = int(result.variables["ranks"])
    least, most = ((one + (ranks - 1) * other) / max(ranks, 1) for one, other in ((high, low), (low, high)))
    if (
        ranks > 0
        and not least * (1 - _DIGITS) <= mean <= most * (1 + _DIGITS)
        and not math.isnan(low + high + mean)
    ):
        what = f"its Allreduce took {mean:.6g} s on the mean of {ranks} ranks"
        yield f"{what}, from {low:.6g} to {high:.6g} s are {least:.6g} to {most:.6g} s"


# Latencies of OSU and IMB are printed in steps of this, us.
_STEP = 0.01
# Least, mean and greatest of the same, as kinds of datasets call them.
_BOUNDS = (("latency_min", "latency", "latency_max"), ("time_min", "time"), ("latency_least", "latency"))


def _of_bounds(result: xr.Dataset) -> Iterator[str]:
    """Compare a mean with the least and the greatest that an output states next to it."""
    for names in _BOUNDS:
        for low, high in pairwise(names):
            if low in result and high in result:
                one, other = (
                    np.atleast_1d(result.variables[name].values).astype(float) for name in (low, high)
                )
                room = _STEP if names[0] == "latency_min" else 0.0
                if (bad := np.flatnonzero(one > other * (1 + _DIGITS) + room)).size:
                    at = bad[0]
                    yield f"its result has a {low} of {one[at]:.6g} and a {high} of {other[at]:.6g}"
