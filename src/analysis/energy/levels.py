"""Which level of the EE HPC WG power measurement methodology a measurement reaches, aspect by aspect.

The limits are those of the text of 2024: Energy Efficient High Performance Computing Working Group,
*Energy Efficient High Performance Computing Power Measurement Methodology*, version 3.0, working copy of
8 November 2024 (github.com/EEHPCWG/PowerMeasurementMethodology, commit ff1d705), summary of aspects and
quality levels in section 3.2 with the rules of sections 3.1 and 3.3 to 3.7. The working group calls that
copy internal; it is the newest that is public.

It has four aspects and three levels; here some aspects are split, so that each row is one fact. A
measurement as a whole has no level here: the methodology grants one only if all aspects reach it, and
some of them are not in the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.base.units import SECOND
from analysis.base.words import percent
from analysis.energy.integral import energy, instants
from analysis.energy.jobs import idle_power
from analysis.energy.track import time_stamps
from analysis.schema import registry

SOURCE = "EE HPC WG power measurement methodology, version 3.0, working copy of 8 November 2024"

INTERVAL = 1.0  # s between samples, levels 1 and 2; level 3 integrates without a break
READINGS = 0.1  # of the core phase: the longest time between readings that average over an interval
CORE = 60.0  # s that a core phase lasts at least
ENDS = 5.0  # s at each end of the core phase that a level 3 energy may leave out
VALUES = 10  # equally spaced values in the core phase, levels 2 and 3
# Level -> share of the machine, W and nodes, all three of them, unless the machine as a whole is metered.
FRACTION = {1: (1 / 10, 2_000.0, 15), 2: (1 / 8, 10_000.0, 15)}
LARGE = 40_000.0  # W that are enough for level 1 whatever the share
ACCURACY = {1: 0.05, 2: 0.02, 3: 0.01}  # limit of error as a fraction of the reading

# A window counts as covered if readings stand for all of it but the ends of an interval.
_COVERED = 0.99
# A tick is late by what starting a tool takes; that does not make a period of 1 s a longer one.
_TOLERANCE = 1.05

# How the loss of a conversion upstream of the meter is accounted for, and the level that it gives.
CONVERSION = {"upstream": 3, "measured at once": 3, "measured off-line": 2, "data sheet": 1, "ignored": 0}
SUBSYSTEMS = {
    "all measured": 3,
    "all, some estimated": 2,
    "compute nodes and interconnect": 1,  # the interconnect may be estimated
    "compute nodes": 0,
}

_ASPECTS = {
    "interval": "1 granularity: time between readings",
    "span": "1 timespan: core phase or full run",
    "values": "1 reported values in the core phase",
    "idle": "1 idle power",
    "fraction": "2 fraction of the machine metered",
    "subsystems": "3 subsystems included",
    "point": "4 point of measurement",
    "accuracy": "4 accuracy of the meter",
}


@dataclass(frozen=True, slots=True)
class MeteredMachine:
    """Facts of a measurement that are not in the data; None where they are not declared.

    `subsystems` is one of `SUBSYSTEMS`; `conversion` one of `CONVERSION`: whether the meter is upstream of
    the power conversion, or how the loss between was found.
    """

    nodes: int | None = None  # compute nodes
    metered_nodes: int | None = None  # that the meters feed
    subsystems: str | None = None
    conversion: str | None = None


def methodology_levels(
    ds: xr.Dataset,
    start: Any,
    end: Any,
    *,
    core: tuple[Any, Any] | None = None,
    machine: MeteredMachine | None = None,
    jobs: tuple[Any, Any] | None = None,
) -> pd.DataFrame:
    """State the level that each aspect of a measurement reaches: columns ``aspect level found``.

    The level is 0 for none, 1 to 3, or missing if it cannot be stated. `start` and `end` are the ends of the
    full run, which is the core phase without `core`. `jobs` has starts and ends of all jobs on these meters;
    between them the meters are not idle. The interval is the longest between readings of any meter, not the
    nominal one, so that a gap counts. A device with an energy counter is assumed to integrate without a
    break, and a momentary reading to be a single sample, because the data show the internal rate of neither.
    The lower accuracy that the methodology allows for several meters of equal parts is not applied.
    """
    registry.check(ds)
    machine = machine or MeteredMachine()
    first, last = core if core is not None else (start, end)
    times = [_times(ds, meter, first, last) for meter in range(ds.sizes["meter"])]
    mean_power = float(energy(ds, first, last)["mean_power"].sum("meter", skipna=False))
    rows = {
        "interval": _interval(ds, times, first, last),
        "span": _span(ds, (start, end), (first, last)),
        "values": _values(ds, times),
        "idle": _idle(ds, *(jobs or (start, end))),
        "fraction": _fraction(machine, mean_power),
        "subsystems": _declared(machine.subsystems, SUBSYSTEMS),
        "point": _declared(machine.conversion, CONVERSION, str(ds.attrs.get("location", ""))),
        "accuracy": _accuracy(float(ds.attrs.get("accuracy", np.nan))),
    }
    table = pd.DataFrame(
        [{"aspect": _ASPECTS[key], "level": level, "found": found} for key, (level, found) in rows.items()]
    )
    return table.astype({"level": "Int64"})


Stated = tuple[int | None, str]


def _times(ds: xr.Dataset, meter: int, start: Any, end: Any) -> np.ndarray:
    """Return the times in s, from the start, at which a meter read something in a window."""
    stamps = time_stamps(ds)
    begin, stop = int(instants(start)[0]), int(instants(end)[0])
    good = np.isfinite(ds["power"].values[meter]) & (stamps >= begin) & (stamps <= stop)
    seconds: np.ndarray = np.sort(stamps[good] - begin) / SECOND
    return seconds


def _counts(ds: xr.Dataset) -> bool:
    return ds.attrs.get("reading") == "interval mean"


def _interval(ds: xr.Dataset, times: list[np.ndarray], start: Any, end: Any) -> Stated:
    length = _length(start, end)
    longest = max(float(np.diff(t, prepend=0.0, append=length).max()) for t in times)
    if not _counts(ds):
        level = 2 if longest <= INTERVAL * _TOLERANCE else 0
        asked = f"levels 1 and 2 ask for {INTERVAL:g} s"
        return level, f"momentary readings at intervals of at most {longest:.3g} s; {asked}"
    ends = max((max(float(t[0]), length - float(t[-1])) for t in times if t.size), default=length)
    found = f"energy counters, read every {longest:.3g} s or less, {ends:.3g} s from an end of the core phase"
    if longest > READINGS * length * _TOLERANCE:
        return 0, f"{found}; levels 1 and 2 ask for {percent(READINGS)} of it"
    return (3 if ends <= ENDS else 2), f"{found}; level 3 asks for {ENDS:g} s"


def _length(start: Any, end: Any) -> float:
    return float(instants(end)[0] - instants(start)[0]) / SECOND


def _span(ds: xr.Dataset, run: tuple[Any, Any], core: tuple[Any, Any]) -> Stated:
    whole, part = (float(energy(ds, *window)["covered"].min()) for window in (run, core))
    found = f"readings cover {100 * part:.3g} % of the core phase and {100 * whole:.3g} % of the run"
    length = _length(*core)
    if length < CORE:
        return 0, f"{found}; the core phase lasts {length:.3g} s, {CORE:g} s are asked for"
    return (3 if whole >= _COVERED else 1 if part >= _COVERED else 0), found


def _values(ds: xr.Dataset, times: list[np.ndarray]) -> Stated:
    fewest = min(t.size for t in times)
    kind, best = ("energies", 3) if _counts(ds) else ("powers", 2)
    level = best if fewest >= VALUES else 1 if fewest else 0
    return level, f"{fewest} {kind} in the core phase; levels 2 and 3 ask for {VALUES}"


def _idle(ds: xr.Dataset, start: Any, end: Any) -> Stated:
    found = idle_power(ds, start, end)
    count, watts = int(found["readings"].min()), float(found["idle"].sum(skipna=False))
    if not count:
        return 1, "no reading of each meter is known to be without a job; level 1 asks for none"
    return 3, f"{watts:.4g} W, {count} readings of each meter or more without a job"


def _fraction(machine: MeteredMachine, watts: float) -> Stated:
    if machine.nodes is None or machine.metered_nodes is None:
        return None, "how many of the machine's nodes the meters feed is not declared"
    found = f"{machine.metered_nodes} of {machine.nodes} nodes, {watts / 1000:.3g} kW"
    if machine.metered_nodes >= machine.nodes:
        return 3, found
    reached = 1 if watts >= LARGE else 0
    for level, (share, power, nodes) in FRACTION.items():
        enough = machine.metered_nodes >= max(share * machine.nodes, nodes) and watts >= power
        reached = level if enough else reached
    return reached, found


def _declared(given: str | None, known: dict[str, int], more: str = "") -> Stated:
    note = f" ({more})" if more else ""
    if given is None:
        return None, f"not declared{note}"
    if given not in known:
        return None, f"{given!r} is none of {', '.join(known)}"
    return known[given], f"{given}{note}"


def _accuracy(limit: float) -> Stated:
    if not np.isfinite(limit):
        return None, "the meter's limit of error is not known"
    level = max((level for level, most in ACCURACY.items() if limit <= most), default=0)
    return level, f"limit of error {100 * limit:.3g} %"
