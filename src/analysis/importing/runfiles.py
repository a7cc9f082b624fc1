"""The files of one execution. Instances of a program that ran at once are one, and no repeats of each other.

Such are the partitions of one MPI job, and processes side by side on a host: the first has the files of the
others, and states how many there were.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.base.files import PACKED
from analysis.importing.detect import INSTANCE, Observation, ResultPart

_OPTION = "instances"
_ENDINGS = re.compile(
    r"(?:[._-](?:out|output|err|error|log|cobaltlog|stats?|info|txt|dat|sh|slurm|sbatch|pbs|job|xml|ipm|mpip|csv|json|o|e"
    rf"|stdout|stderr|power|{PACKED}|(?-i:p?[oe]|i)\d+))+$",  # not in capitals: `.O3` is no job
    re.IGNORECASE,
)


@dataclass
class RunFiles:
    """One execution: the file with its result (or profile), its part of that file, and the other files."""

    main: Observation
    part: ResultPart | None
    number: int = 0  # of the part in its file, from 1; 0 where the file is one
    files: list[Observation] = field(default_factory=list)
    shared: list[Observation] = field(default_factory=list)
    job: str = ""
    alone: bool = True  # whether no other run is of its job

    @property
    def engine(self) -> str:
        """The reader of its result, empty if it has none."""
        return self.part.engine if self.part else ""

    @property
    def of_job(self) -> list[Observation]:
        """The files of its job that it shares with the other results of its output."""
        job, name = self.main.job, stem(self.main.file.base)
        return [one for one in self.shared if (one.job == job if one.job else stem(one.file.base) == name)]

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.main.name} (part {self.number})" if self.number else self.main.name


def stem(name: str) -> str:
    """Return what files of one run have in common: a name without its endings."""
    return _ENDINGS.sub("", name) or name


def merge_instances(runs: Sequence[RunFiles], notes: list[str]) -> list[RunFiles]:
    """Merge the instances of each job, and those whose outputs show that they ran at once.

    On a cluster jobs run at once on nodes of their own. If no output says where, `notes` gets a line.
    """
    counts, others = dict[int, int](), set[int]()  # by identity
    for count, (head, *rest) in (
        *_numbered(runs),
        *_side_by_side(run for run in runs if "host" in _facts(run)),
    ):
        counts[id(head)] = count
        for one in rest:
            others.add(id(one))
            head.files += [one.main, *one.files]
    engines = {run.engine for run in runs if id(run) in counts}
    for run in runs:
        if run.engine in engines:  # one that is alone differs from them
            grid = _facts(run).get("grid", {})
            _facts(run)["grid"] = {**grid, _OPTION: str(counts.get(id(run), 1))}
    unknown = [one for _, one in _side_by_side(run for run in runs if "host" not in _facts(run))]
    if unknown:
        first, ran = unknown[0][0].main.name, f"{sum(map(len, unknown))} runs that went on at the same time"
        notes.append(f"{first}: is one of {ran}, whose hosts are not known; if they shared one, import one")
    return [run for run in runs if id(run) not in others]


def _facts(run: RunFiles) -> dict[str, Any]:
    return run.part.facts if run.part else {}


def _problem(run: RunFiles) -> tuple[Any, ...]:
    """Return in what two instances of one program agree."""
    return (run.engine, *(_facts(run).get(name) for name in ("problem", "case", "ranks", "threads")))


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
    """Give runs of one problem on one host that ran at once for more than half of the shorter one's time.

    Of those without a host, each folder counts as one.
    """
    dated = [run for run in runs if not run.number and {"date", "date_end"} <= _facts(run).keys()]
    last: dict[Any, list[RunFiles]] = {}
    families: list[list[RunFiles]] = []
    for run in sorted(dated, key=lambda run: (_facts(run)["date"], run.main.file.name)):
        if INSTANCE in _facts(run):
            continue
        key = *_problem(run), _facts(run).get("host", run.main.file.folder)
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
