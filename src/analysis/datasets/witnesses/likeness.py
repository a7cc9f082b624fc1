"""Witnesses of runs that are too much alike: a copy, a copy times a factor, a cell of two kinds."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import Fault, ReadError
from analysis.base.files import NOTED, RECORD, plain_name, read_bytes
from analysis.base.words import percent
from analysis.datasets.witnesses.hearing import Hearing, Testimony, typical, witness
from analysis.schema.stated import IMPORTED

# Repeats agree in some digits, not in so many of so many numbers.
_DIGITS, _NUMBERS = 12, 2
# Of a result with so few numbers all may follow from one, and runs may agree in that by chance: it is likely
# if so many pairs of runs are within so many of its last digits.
_FEW, _NEAR, _PAIRS = 4, 50, 5
# Runs that are each other's multiple: so many figures, equal ratios, and a ratio that is not one.
_RATIOS, _EVEN, _ROUGH, _OTHER = 4, 1e-4, 2.5e-3, 0.01
_MANY = 8
_COARSE = 10.0  # two decimals of smaller figures do not tell a ratio
# OSU prints two decimals: of larger figures they tell a ratio to two parts in a thousand.
_STEP, _TELLING = 0.0101, 5.0
# Outputs of a declared truth are all made from one number.
_DRAWN = "synthetic"
# A cell has two kinds of runs: each of so many runs, this far apart and by so many of their own widths.
_GROUP, _APART, _WIDTHS = 3, np.log(1.5), 6.0
_COPY = "remove the copy, or put back the run's own file"


def _digits(values: np.ndarray) -> int:
    """Count the digits of different numbers."""
    return sum(len(f"{value:.9g}".split("e")[0].replace(".", "").strip("0")) for value in np.unique(values))


@witness("figures of a result", "figures of other runs")
def equal_figures(case: Hearing) -> Iterator[Fault]:
    """Find results that are to the last digit those of another run."""
    seen: dict[tuple[str, bytes], Testimony] = {}
    crowded = {name for name, runs in _by(case.runs, "application").items() if _is_crowded(runs)}
    for run in case.runs:
        if run.result is None or run.row["evidence"] == _DRAWN:
            continue
        values = run.figures
        if (count := np.unique(values).size) < _NUMBERS or _digits(values) < _DIGITS:
            continue
        first = seen.setdefault((str(run.result.attrs["kind"]), values.tobytes()), run)
        if first is not run and not (count <= _FEW and run.row["application"] in crowded):
            what = f"has to the last digit the figures of run {first.name}"
            yield case.of_run(run, what, _COPY, file=run.file("result"))


def _is_crowded(runs: Iterable[Testimony]) -> bool:
    """Tell whether so many figures of merit nearly agree that some agree to the last digit by chance."""
    names = ("figure_of_merit", "figure_of_merit_resolution")
    results = [run.result for run in runs if run.result is not None and names[1] in run.result]
    figures = np.array([[float(ds[name]) for name in names] for ds in results]).reshape(-1, 2)
    value, step = figures[np.isfinite(figures).all(axis=1) & (figures[:, 1] > 0)].T
    order = np.argsort(value)
    value, step = value[order], step[order]
    within = np.searchsorted(value, value + (_NEAR + 0.5) * step) - np.searchsorted(value, value + step / 2)
    return int(within.clip(min=0).sum()) >= _PAIRS


@witness("figures of a result", "figures of other runs times a factor")
def scaled_figures(case: Hearing) -> Iterator[Fault]:
    """Find results whose figures are all the same multiple of those of another run."""
    groups: dict[tuple[str, ...], list[tuple[Testimony, np.ndarray]]] = defaultdict(list)
    for run in case.ended:
        if run.result is not None and run.row["evidence"] != _DRAWN:
            values = run.figures
            kind = str(run.result.attrs["kind"])
            if kind != "merits" and values.size >= _RATIOS:
                groups[kind, str(values.size), str(run.row["application"])].append((run, np.log(values)))
    for (kind, *_), members in groups.items():
        fine = kind in ("hpcg", "proxy")
        logs = np.array([values for _, values in members])
        for at in range(1, len(members)):
            shift = np.abs(logs[at] - logs[:at])  # of times and rates alike
            clear = (
                np.ones_like(shift, dtype=bool) if fine else np.minimum(logs[at], logs[:at]) > np.log(_COARSE)
            )
            high = np.where(clear, shift, -np.inf).max(axis=1)
            low = np.where(clear, shift, np.inf).min(axis=1)
            enough = clear.sum(axis=1) >= (_RATIOS if fine else 6)
            even = enough & (high - low < (_EVEN if fine else _ROUGH)) & (low > _OTHER)
            if not fine:
                even |= _multiples(np.exp(logs[at]), np.exp(logs[:at]))
            if fine and logs.shape[1] >= _MANY:  # noise leaves none of so many figures where it was
                even |= enough & (high < _EVEN) & (high > 0)
            if even.any():
                first = int(np.flatnonzero(even)[0])
                run, other = members[at][0], members[first][0]
                usual = float(np.median(shift[first][clear[first]]))
                off = f"off by less than {percent(_EVEN, 2)}"
                by = f"times or by {np.exp(usual):.4g}" if usual > _EVEN else off
                what = f"has the figures of run {other.name}, each {by}"
                yield case.of_run(run, what, _COPY, file=run.file("result"))


def _multiples(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Tell for each of other tables whether one is it times some factor, to the last of two decimals.

    Runs that measure the same differ by more than half a step in some of so many rows.
    """
    fine = np.minimum(one, others) > _TELLING
    found = (fine.sum(axis=1) >= _MANY) & (np.abs(one - others) > _STEP / 2).any(axis=1)
    both = np.zeros(len(others), dtype=bool)
    for top, bottom in ((one, others), (others, one)):
        least = np.where(fine, (top - _STEP / 2) / bottom, -np.inf).max(axis=1)
        most = np.where(fine, (top + _STEP / 2) / bottom, np.inf).min(axis=1)
        both |= least <= most
    return np.asarray(found & both)


@witness("a file of a run", "files of other runs")
def equal_files(case: Hearing) -> Iterator[Fault]:
    """Find results, profiles and power logs that two runs have, byte by byte."""
    seen: dict[str, tuple[Testimony, str]] = {}
    for run in case.runs:
        for file in run.files:
            name = str(file["path"]).removeprefix(f"runs/{run.name}/")
            if file["engine"] in ("", "run", "sacct") or not _tells(run, name):
                continue
            first, other = seen.setdefault(str(file["checksum"]), (run, name))
            shared = run.job and run.job == first.job and name not in run.sources.values()
            if first is not run and not shared:
                what = f"is byte by byte {other} of run {first.name}"
                yield case.of_run(run, what, _COPY, file=name)


def _tells(run: Testimony, name: str) -> bool:
    """Tell whether a file of a run has so many digits that two runs cannot both have written it."""
    for kind, ds in (("result", run.result), ("profile", run.profile)):
        if ds is not None and run.file(kind) == name:
            return kind == "profile" or _digits(run.figures) >= _DIGITS
    return any(any(log.series.values()) for log in run.logs if log.source.partition("/")[2] == name)


@witness("a file of a run", "its SHA-256 in the record")
def noted_files(case: Hearing) -> Iterator[Fault]:
    """Find files that are not those that the run left, by the checksums that Benchbook noted at its end.

    What is left of a failed attempt can go on writing after its record.
    """
    noted = {checksum: (run, name) for run in case.runs for name, checksum in run.section("outputs").items()}
    for run, file, name, checksum in _files(case):
        if checksum in (None, file["checksum"]) or checksum == (unpacked := _unpacked(case, file)):
            continue
        other, theirs = noted.get(unpacked, (run, name))
        whose = "" if other is run else f": it is {theirs} of run {other.name}"
        what = f"is not the file that the run left, by the SHA-256 in its record{whose}"
        yield case.of_run(run, what, "put back the run's own file", file=name)


@witness("files of a run", "files that its record names", grave=False)
def further_files(case: Hearing) -> Iterator[Fault]:
    """Find files of a run that the job did not leave, by the checksums that Benchbook noted at its end."""
    for run, file, name, checksum in _files(case):
        if checksum is None and int(file["bytes"]) <= NOTED and name != RECORD:
            what = "is none of the files that the run left, by its record"
            yield case.of_run(run, what, "who added it? say so in README.md", file=name)


def _files(case: Hearing) -> Iterator[tuple[Testimony, Mapping[str, Any], str, Any]]:
    """Give the files of runs that ended well, each with its name and the checksum that its run noted.

    Of runs that noted any; None is the checksum of a file that the run did not leave.
    """
    for run in case.ended:
        outputs = run.section("outputs")
        for file in run.files if outputs else ():
            name = str(file["path"]).partition(f"{run.name}/")[2]
            yield run, file, name, outputs.get(name, outputs.get(plain_name(name)))


def _unpacked(case: Hearing, file: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a file holds: it may have been compressed since; empty if it is damaged."""
    try:
        return hashlib.sha256(read_bytes(case.folder / str(file["path"]))).hexdigest()
    except (OSError, ReadError):
        return ""


@witness("a profile", "profiles of other runs")
def equal_profiles(case: Hearing) -> Iterator[Fault]:
    """Find profiles whose times are to the last digit those of another run."""
    seen: dict[bytes, Testimony] = {}
    for run in case.runs:
        if run.profile is None or "time" not in run.profile:
            continue
        times = run.profile["time"].values.astype(float)
        times = times[np.isfinite(times) & (times > 0)]
        if _digits(times[:64]) < _DIGITS:
            continue
        first = seen.setdefault(times.tobytes(), run)
        if first is not run:
            what = f"has the profile of run {first.name}: all of its times"
            yield case.of_run(run, what, _COPY, file=run.file("profile"))


@witness("readings of a power log", "readings of other runs")
def equal_readings(case: Hearing) -> Iterator[Fault]:
    """Find power logs with the readings of another run's, at whatever times."""
    seen: dict[str, tuple[Testimony, str]] = {}
    for run in case.runs:
        for log in run.logs:
            for meter, series in log.series.items():
                first, other = seen.setdefault(series, (run, meter)) if series else (run, meter)
                if first is not run and not (run.job and run.job == first.job):
                    what = f"has for {meter} the readings of {other} in run {first.name}"
                    yield case.of_run(run, what, _COPY, file=log.source.partition("/")[2])


@witness("runs of one cell", "each other")
def mixed_cells(case: Hearing) -> Iterator[Fault]:
    """Find cells whose runs fall into two narrow groups that differ by a factor: one name for two things."""
    counting = [run for run in case.ended if run.row["timing"] and run.result is not None]
    counting = [run for run in counting if IMPORTED not in run.extra]  # import asks what splits a cell
    for cell in case.cells(counting):
        values = {id(run): _merit(run) for run in cell}
        known = sorted((run for run in cell if np.isfinite(values[id(run)])), key=lambda run: values[id(run)])
        if len(known) < 2 * _GROUP + 1:
            continue
        row = np.array([values[id(run)] for run in known])
        gaps = np.diff(row)
        at = int(gaps[_GROUP - 1 : len(gaps) - _GROUP + 1].argmax()) + _GROUP
        width = max(float(np.ptp(row[:at])), float(np.ptp(row[at:])))
        if row[at] - row[at - 1] > max(_APART, _WIDTHS * width / 2):
            low, high = known[:at], known[at:]
            few = min(low, high, key=len)
            factor = np.exp(np.median(row[at:]) - np.median(row[:at]))
            others = ", ".join(run.name for run in few)
            what = (
                f"its cell of {len(known)} runs falls into two groups that differ by a factor of {factor:.3g}"
            )
            remedy = "two things have one name: give each its own level of a factor, or correct the records"
            yield case.of_run(few[0], f"{what}; {others} are one of them", remedy)


def _merit(run: Testimony) -> float:
    """Return the logarithm of a run's figure of merit, or of the middle of its table."""
    value = float(run.row.get("figure_of_merit", np.nan))
    if not value > 0 and run.result is not None:
        for name in ("latency", "bandwidth"):
            if name in run.result and run.result[name].size:
                table = run.result[name].values.astype(float).ravel()
                value = float(table[-1])
    return float(np.log(value)) if value > 0 else np.nan


# What the same output states of its subject, as the rows of runs have it.
_STATES = ("problem", "version", "threads")


@witness("problem and version of an output", "those of its repeats")
def other_problems(case: Hearing) -> Iterator[Fault]:
    """Find outputs of another problem or version than those of the other runs of their case."""
    # Those of imported runs are what their outputs state: no one decided that they be the same.
    runs = [run for run in case.ended if run.row["case"] and IMPORTED not in run.extra]
    for name in _STATES:
        for cell in case.cells(runs, *_STATES, "local_size"):
            levels: Mapping[str, list[Testimony]] = _by(cell, name)
            if len(levels) < 2:
                continue
            most = max(levels, key=lambda level: len(levels[level]))
            rest = [run for level, runs in levels.items() if level != most for run in runs]
            if len(rest) <= 0.25 * len(cell):
                for run in rest:
                    yield _other(case, run, name, len(levels[most]), most)


def _other(case: Hearing, run: Testimony, name: str, repeats: int, usual: str) -> Fault:
    """Name the side that states it: the threads of a row are those of the record, if it has any."""
    result = run.result if run.result is not None else xr.Dataset()
    alone = name in result.variables and result[name].size == 1
    held = result[name].item() if alone else result.attrs.get(name)
    if name == "threads" and isinstance(held, int) and held != run.row[name]:
        what = f"its record says threads {run.row[name]}, its output {held}"
        what = f"{what}, the records of {repeats} repeats {usual}"
        return case.of_run(run, what, "correct the record", key=name)
    what = f"its output has {name} {run.row[name]}, those of {repeats} repeats of {usual}"
    remedy = "is it the output of another run, or is the case another one?"
    return case.of_run(run, what, remedy, file=run.file("result"))


def _by(runs: Iterable[Testimony], name: str) -> dict[str, list[Testimony]]:
    found: dict[str, list[Testimony]] = defaultdict(list)
    for run in runs:
        if str(run.row[name]) not in ("", "-1"):
            found[str(run.row[name])].append(run)
    return found


# Noise adds time: a row that is faster than in all repeats by so much, and alone in its table, was edited.
_SINGLE, _SPIKE = 12.0, np.log(1.5)


@witness("digits of a table", "digits of its repeats")
def rounded_tables(case: Hearing) -> Iterator[Fault]:
    """Find tables whose numbers all end in a zero, where those of their repeats do not."""
    tables = [run for run in case.ended if run.result is not None and "size" in run.result.dims]
    for cell in case.cells(tables):
        zeros = {run.name: _rounded(run) for run in cell}
        if len(cell) >= _GROUP and 1 <= sum(zeros.values()) <= len(cell) / 2:
            for run in cell:
                if zeros[run.name]:
                    what = "the last printed digit of all its rows is 0, in its repeats it is any"
                    yield case.of_run(run, what, "get the output again", file=run.file("result"))


def _rounded(run: Testimony) -> bool:
    """Tell whether a table's two decimals are one: by chance one in ten of the rows is."""
    values = run.table() * 10
    return values.size >= _MANY and bool(np.all(np.abs(values - np.rint(values)) < 1e-6 * values))


@witness("a row of a table", "the same row of its repeats")
def lone_rows(case: Hearing) -> Iterator[Fault]:
    """Find tables with a single row that is much faster than in all repeats."""
    tables = [run for run in case.ended if run.result is not None and "size" in run.result.dims]
    for cell in case.cells(tables):
        for run, size, factor in _spikes(cell):
            what = (
                f"its row of {size} B is {factor:.3g} times as fast as in its repeats, no other row of it is"
            )
            yield case.of_run(run, what, "get the output again", file=run.file("result"))


def _spikes(cell: Sequence[Testimony]) -> Iterator[tuple[Testimony, int, float]]:
    """Give the rows of tables that stand alone."""
    found = []
    for run in cell:
        assert run.result is not None  # the caller has asked
        name = next((one for one in ("latency", "bandwidth") if one in run.result), "")
        values = run.result[name].values.astype(float) if name else np.array([])
        if values.size >= 6 and np.isfinite(values).all() and (values > 0).all():
            faster = -1 if name == "latency" else 1
            found.append((run, run.result["size"].values, faster * np.log(values)))
    shapes = {sizes.tobytes() for _, sizes, _ in found}
    if len(found) < 4 or len(shapes) > 1:
        return
    table = np.array([values for _, _, values in found])
    away = table - np.median(table, axis=0)
    for at, (run, sizes, _) in enumerate(found):
        others = np.delete(np.abs(away), at, axis=0)
        usual = np.maximum(np.median(others, axis=0), typical(np.abs(away[at]))[0])
        far = away[at] > np.maximum(_SPIKE, _SINGLE * np.maximum(usual, others.max(axis=0) / 2))
        if far.sum() == 1:
            one = int(np.flatnonzero(far)[0])
            yield run, int(sizes[one]), float(np.exp(away[at][one]))
