"""Witnesses of power: what a node can draw, and two meters of the same watts."""

from collections.abc import Iterator, Mapping

import numpy as np

from analysis.base.errors import Fault
from analysis.base.files import RECORD
from analysis.datasets.witnesses.hearing import Hearing, Testimony, typical, witness

# W of a node at its inlet. The least that servers idle at is some 20 W; eight of the largest GPUs take 14 kW.
LEAST, MOST = 10.0, 16_000.0
# A socket of today takes up to 500 W, so that of two, memory, fans and links a node without GPUs has
MOST_CPU = 1_600.0
# Meters of one thing differ by their accuracy and by what is lost on the way, not by so much.
_DIFFER = 1.5
# Runs of one cell draw the same; so much more is another unit.
_CELL = 2.0
_FEWEST = 3
# Repeats draw the same to 1 % at least; an energy of another run is so many median distances away, or fits.
_SAME, _FAR, _FITS = 0.01, 8.0, 3.0
# Edges of a run are blurred by the interval of a meter, and by the second in which Slurm counts.
_READINGS, _SHORT = 5, 5.0
_UNITS = "is it in another unit, or of another node? correct the log"


def _each(case: Hearing, run: Testimony) -> float:
    """Return the mean W of a run's nodes, NaN for one that is too short for its meters."""
    own = [log.interval for log in run.logs]
    longest = max(own or (float(log.ds.attrs.get("interval", np.nan)) for log in case.logs), default=0.0)
    if float(run.row["elapsed"]) < max(_SHORT, _READINGS * np.nan_to_num(longest)):
        return np.nan
    return _mean(run)


def _mean(run: Testimony) -> float:
    return float(run.row.get("mean_power", np.nan)) / max(int(run.row["nodes"]), 1)


def _plain(case: Hearing, run: Testimony) -> bool:
    """Tell whether a run's nodes are known to have no GPU."""
    stated = run.section("facts", "facts")
    software = any("nvidia" in name or "rocm" in name for name in stated)
    resources = str(case.jobs.get(run.job, {}).get("resources", "")) if run.job else ""
    known = bool(resources) or "cpu.Socket(s)" in stated
    return known and not software and "gpu" not in resources


@witness("watts of a node", "what a node can draw")
def plausible_watts(case: Hearing) -> Iterator[Fault]:
    """Find nodes that draw less or more than a node can: 10 W to 16 kW, without GPUs up to 1.6 kW."""
    for run in case.ended:
        watts = _mean(run)
        inlet = "package" not in str(run.row.get("energy_location", "")).lower()
        most = MOST_CPU if _plain(case, run) else MOST
        if watts > most or (inlet and 0 <= watts < LEAST):
            what = f"its nodes drew {watts:.4g} W each, a node draws {LEAST:g} to {most:g} W"
            yield case.of_run(run, what, _UNITS, file=_log(run))


def _log(run: Testimony) -> str:
    return run.logs[0].source.partition("/")[2] if run.logs else RECORD


@witness("watts of a run", "watts of its repeats")
def watts_of_repeats(case: Hearing) -> Iterator[Fault]:
    """Find runs whose nodes drew a multiple of what they did in the other runs of their cell."""
    watts = {run.name: _each(case, run) for run in case.ended}
    for cell in case.cells(run for run in case.ended if np.isfinite(watts[run.name])):
        for run in cell if len(cell) >= _FEWEST else ():
            own = watts[run.name]
            middle, _ = typical(watts[other.name] for other in cell if other is not run)
            if middle > 0 and not 1 / _CELL <= own / middle <= _CELL:
                what = f"its nodes drew {own:.4g} W each, in its {len(cell) - 1} repeats {middle:.4g} W"
                yield case.of_run(run, what, _UNITS, file=_log(run))


@witness("energy of a run", "power of its repeats and of another run's")
def exchanged_energies(case: Hearing) -> Iterator[Fault]:
    """Find two runs whose energies fit the power of the other's repeats, and not that of their own."""
    usual: dict[str, tuple[float, float]] = {}
    known = [run for run in case.ended if float(run.row["elapsed"]) > _SHORT and _joules(run) > 0]
    for cell in case.cells(known):
        watts = [np.log(_joules(run) / float(run.row["elapsed"])) for run in cell]
        for at, run in enumerate(cell) if len(cell) > _FEWEST else ():
            middle, scatter = typical(watts[:at] + watts[at + 1 :])
            usual[run.name] = middle, max(scatter, _SAME)
    off = [run for run in known if run.name in usual and _away(run, run, usual) > _FAR]
    for at, run in enumerate(off):
        for other in off[at + 1 :]:
            if max(_away(run, other, usual), _away(other, run, usual)) < _FITS:
                what = f"has {_joules(run):.4g} J, which fits the repeats of run {other.name}"
                what = f"{what}, whose {_joules(other):.4g} J fit its own"
                yield case.of_run(run, what, "were the two exchanged? get them again", file=_log(run))


def _joules(run: Testimony) -> float:
    return float(run.row.get("energy", np.nan))


def _away(run: Testimony, owner: Testimony, usual: Mapping[str, tuple[float, float]]) -> float:
    """Return how far a run's power is from that of its repeats if it had the energy of another one."""
    middle, scatter = usual[run.name]
    return float(abs(np.log(_joules(owner) / float(run.row["elapsed"])) - middle) / scatter)


@witness("energy of a meter", "energy of Slurm's counter")
def energies_of_meters(case: Hearing) -> Iterator[Fault]:
    """Find runs whose meter and Slurm's counter differ by a factor, or by another than in other runs."""
    ratios = {}
    for run in case.ended:
        counted, metered = case.counted.get(run.name, np.nan), float(run.row.get("energy", np.nan))
        own = str(run.row.get("energy_location", "")) and "Slurm" not in str(run.row["energy_location"])
        if counted > 0 and metered > 0 and own and np.isfinite(_each(case, run)):
            ratios[run.name] = metered / counted
    usual, _ = typical(ratios.values()) if len(ratios) >= _FEWEST else (1.0, 0.0)
    usual = usual if 1 / (2 * _DIFFER) < usual < 2 * _DIFFER else 1.0
    for run in case.ended:
        ratio = ratios.get(run.name, usual) / usual
        if not 1 / (2 * _DIFFER) < ratio < 2 * _DIFFER:
            joules = float(run.row["energy"])
            what = f"its meter has {joules:.4g} J, Slurm's counter {case.counted[run.name]:.4g} J"
            yield case.of_run(run, what, _UNITS, file=_log(run))


@witness("one meter of a run", "another of the same nodes")
def two_meters(case: Hearing) -> Iterator[Fault]:
    """Find logs of one run that differ by a factor, or a part that draws more than the whole."""
    for run in case.ended:
        sums = [(log, sum(mean for mean, *_ in log.watts.values())) for log in run.logs if log.watts]
        for at, (log, watts) in enumerate(sums):
            for other, more in sums[at + 1 :]:
                same = log.location == other.location and len(log.watts) == len(other.watts)
                room = _DIFFER if same else 10 * _DIFFER
                if min(watts, more) > 0 and not 1 / room < watts / more < room:
                    what = f"has {watts:.4g} W, {other.source} {more:.4g} W"
                    yield case.of_run(run, what, _UNITS, file=log.source.partition("/")[2])


@witness("one meter of a log", "the others of it")
def meters_of_a_log(case: Hearing) -> Iterator[Fault]:
    """Find a meter that reads a multiple of what all the like meters of its log read."""
    for log in case.logs:
        rows = (row[np.isfinite(row)] for row in log.ds["power"].values)
        means = [row.mean() if row.size else np.nan for row in rows]
        nodes = [name for name in log.meters if name not in log.switches]
        values = {name: float(mean) / max(len(log.nodes[name]), 1)
                  for name, mean in zip(log.meters, means, strict=True) if name in nodes}  # fmt: skip
        for name in [name for name, mean in values.items() if np.isnan(mean)]:
            del values[name]
            yield case.beside(log.name, f"meter {name} has no reading that is a power", _UNITS)
        middle, _ = typical(values.values())
        for name, mean in values.items():
            if len(values) > _FEWEST and not 1 / 5 < mean / middle < 5:
                what = f"meter {name} reads {mean:.4g} W per node, the others {middle:.4g} W"
                yield case.beside(log.name, what, _UNITS)
        if len(values) == 2 and not 1 / 5 < mean / min(values.values()) < 5:
            (one, low), (other, high) = sorted(values.items(), key=lambda item: item[1])
            what = f"meter {other} reads {high:.4g} W per node, {one} {low:.4g} W"
            yield case.beside(log.name, what, _UNITS)


@witness("readings of a meter", "each other", grave=False)
def frozen_meters(case: Hearing) -> Iterator[Fault]:
    """Find meters that read one value only while a run went on."""
    for run in case.ended:
        for log in run.logs:
            for meter, (mean, low, high, number) in log.watts.items():
                if low == high and number > 60 and mean > 0:
                    what = f"{meter} read {mean:.6g} W {number} times, and nothing else"
                    yield case.of_run(run, what, "does the meter work?", file=log.source.partition("/")[2])
