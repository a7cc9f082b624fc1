"""Instances of a program that ran at once: partitions of one MPI job, or processes side by side on a host.

They are one measurement, and no repeats of each other: the first has the files of the others, and states
how many there were.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analysis.importing.detect import INSTANCE
from analysis.importing.runfiles import RunFiles

OPTION = "instances"


def merge(runs: Sequence[RunFiles]) -> list[RunFiles]:
    """Merge the instances of each job, and those whose outputs show that they ran at once."""
    counts, others = dict[int, int](), set[int]()  # by identity
    for count, (head, *rest) in (*_numbered(runs), *_side_by_side(runs)):
        counts[id(head)] = count
        for one in rest:
            others.add(id(one))
            head.files += [one.main, *one.files]
    engines = {run.engine for run in runs if id(run) in counts}
    for run in runs:
        if run.engine in engines:  # one that is alone differs from them
            grid = _facts(run).get("grid", {})
            _facts(run)["grid"] = {**grid, OPTION: str(counts.get(id(run), 1))}
    return [run for run in runs if id(run) not in others]


def _facts(run: RunFiles) -> dict[str, Any]:
    return run.part.facts if run.part else {}


def _problem(run: RunFiles) -> tuple[Any, ...]:
    """Return in what two instances of one program agree."""
    return (run.engine, *(_facts(run).get(name) for name in ("problem", "case", "ranks", "threads", "nodes")))


def _numbered(runs: Iterable[RunFiles]) -> Iterator[tuple[int, list[RunFiles]]]:
    """Give the instances of each job whose outputs have their numbers, and how many there were."""
    families: dict[Any, list[dict[int, RunFiles]]] = defaultdict(list)
    for run in runs:
        if run.number or INSTANCE not in _facts(run):
            continue
        number, _ = _facts(run)[INSTANCE]
        known = families[_problem(run), _place(run, number)]
        free = next((one for one in known if number not in one), None)
        if free is None:
            known.append(free := {})
        free[number] = run
    for family in (one for known in families.values() for one in known):
        stated = max(_facts(run)[INSTANCE][1] for run in family.values())
        yield max(stated, max(family) + 1, 2), [family[number] for number in sorted(family)]


def _place(run: RunFiles, number: int) -> str:
    """Return the path of an output without its number, which may be that of a folder."""
    name = run.main.file.name
    found = [*re.finditer(rf"(?<!\d)0*{number}(?!\d)", name)]
    if not found:
        return f"{run.main.file.folder.rpartition('/')[0]}/*/{run.main.file.base}"
    return f"{name[: found[-1].start()]}*{name[found[-1].end() :]}"


def _side_by_side(runs: Iterable[RunFiles]) -> Iterator[tuple[int, list[RunFiles]]]:
    """Give runs of one problem on one host that ran at once for more than half of the shorter one's time."""
    dated = [run for run in runs if not run.number and {"date", "date_end", "host"} <= _facts(run).keys()]
    last: dict[Any, list[RunFiles]] = {}
    families: list[list[RunFiles]] = []
    for run in sorted(dated, key=lambda run: (_facts(run)["date"], run.main.file.name)):
        if INSTANCE in _facts(run):
            continue
        key = *_problem(run), _facts(run)["host"]
        if key in last and _together(last[key][0], run):
            last[key].append(run)
        else:
            families.append([run])
            last[key] = families[-1]
    yield from ((len(one), one) for one in families if len(one) > 1)


def _together(one: RunFiles, other: RunFiles) -> bool:
    """Tell whether two runs, the first of which began first, ran at once; those of two jobs are apart."""
    jobs = {run.job or run.main.job for run in (one, other)} - {""}
    (begun, ended), (begin, end) = ((_facts(run)["date"], _facts(run)["date_end"]) for run in (one, other))
    shorter = min(ended - begun, end - begin)
    return len(jobs) < 2 and shorter > 0 and min(ended, end) - begin > shorter / 2
