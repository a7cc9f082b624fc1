"""The matrix of a campaign: application x case x factors x repeats, expanded to runs."""

import hashlib
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from analysis.base.errors import ConfigError
from analysis.base.models import one_or_more
from analysis.base.yaml import Where
from analysis.measure.checks import Checker
from analysis.measure.declare import Declared, level_of
from analysis.schema.campaigns import DEFAULTS, OF_MACHINE, AdaptiveRepeats, Exclusion, Subset

# Other factors of the machine came later: where no level is chosen, runs keep the names that they had before.
_FIRST = ("cpu", "dimm", "interconnect")


@dataclass(frozen=True, slots=True)
class Run:
    """One allocation of the campaign: one job, or several at once on the same nodes."""

    name: str  # of the factors alone, so that it stays the same when the matrix grows
    subset: str
    application: str
    case: str
    factors: Mapping[str, Any] = field(hash=False)  # level of each factor in DEFAULTS
    repeat: int  # from 1
    order: int  # in the shuffled order, from 1
    seconds: float  # that the application is expected to take; NaN where its file does not say
    minutes: int  # time limit
    timed: bool = True  # false: it is for its profile alone

    @property
    def nodes(self) -> int:
        """Nodes of the allocation."""
        return int(self.factors["nodes"])

    @property
    def ranks_per_node(self) -> int:
        """Ranks on each node, of each job."""
        return int(self.factors["ranks_per_node"])

    @property
    def concurrent_jobs(self) -> int:
        """Jobs at once."""
        return int(self.factors["concurrent_jobs"])

    @property
    def cell(self) -> str:
        """The run's name without its repeat: what the repeats have in common."""
        return self.name.rpartition("-r")[0]

    @property
    def records(self) -> tuple[str, ...]:
        """Names of the runs that are recorded, one for each job; the first is the run's own."""
        return (self.name, *(f"{self.name}.{job}" for job in range(2, self.concurrent_jobs + 1)))


@dataclass(frozen=True)
class MatrixPlan:
    """An expanded matrix."""

    declared: Declared
    runs: tuple[Run, ...]  # in the order in which they are submitted
    excluded: list[tuple[int, str]]  # how many combinations each exclusion took out, and why
    shared: int  # combinations that more than one subset names; they run once
    # Cells that are repeated until their median is known -> within what share of it, and at most how often.
    adaptive: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    @cached_property
    def _by_name(self) -> dict[str, Run]:
        return {run.name: run for run in self.runs}

    def run(self, name: str) -> Run:
        """Return a run by its name: one of `runs`, or a further repeat of an adaptive cell."""
        if name in self._by_name:
            return self._by_name[name]
        cell, _, number = name.rpartition("-r")
        if cell in self.adaptive and number.isdecimal() and 1 < int(number) <= self.adaptive[cell][1]:
            first, order = self._by_name[f"{cell}-r01"], len(self.runs) + int(number)
            return replace(first, name=name, repeat=int(number), order=order)
        source = self.declared.campaign.source
        raise ConfigError.at(source, 0, f"the matrix has no run {name!r}", "list them: benchbook plan --runs")


class Rules:
    """Exclusions of one place, a subset's or the matrix's, and how many combinations each takes out."""

    def __init__(self, rules: list[Exclusion], where: Where) -> None:
        self._rules, self._where = rules, where
        self._used: Counter[int] = Counter()
        self._idle = set(range(len(rules)))

    def exclude(self, combination: Mapping[str, Any]) -> bool:
        """Tell whether a rule takes a combination out; the first counts it."""
        found = [
            at
            for at, rule in enumerate(self._rules)
            if all(combination.get(name) in one_or_more(levels) for name, levels in rule.when.items())
        ]
        self._used.update(found[:1])
        self._idle -= set(found)
        return bool(found)

    @property
    def counted(self) -> list[tuple[int, str]]:
        """How many combinations each rule that took any has taken out, and why."""
        return [(self._used[at], self._rules[at].why) for at in sorted(self._used)]

    @property
    def idle(self) -> list[Where]:
        """The places of the rules that took nothing out."""
        return [(*self._where, at) for at in sorted(self._idle)]


class _Cells:
    """The combinations that no exclusion takes out, by the name of their cell, and their repeats."""

    def __init__(self, declared: Declared, usable: Callable[[int], bool]) -> None:
        matrix = declared.matrix
        self.jobs: list[tuple[int, dict[str, Any]]] = []
        self.found: dict[str, tuple[dict[str, Any], int]] = {}
        self.adaptive: dict[str, tuple[float, int]] = {}
        self.shared = 0
        self.general = Rules(matrix.exclude, ("matrix", "exclude"))
        self.own: list[Rules] = []
        for index, subset in enumerate(matrix.subsets):
            if not usable(index):
                continue
            own = Rules(subset.exclude, ("matrix", "subsets", index, "exclude"))
            self.own.append(own)
            for combination in _combinations(declared, subset):
                # Both are asked: a rule that agrees with another is not idle.
                if not own.exclude(combination) + self.general.exclude(combination):
                    self.jobs.append((index, combination))
                    self._add(combination, subset.repeats or matrix.repeats)

    def _add(self, combination: dict[str, Any], asked: int | AdaptiveRepeats) -> None:
        cell = _cell_name(combination)
        self.shared += cell in self.found
        if isinstance(asked, AdaptiveRepeats):
            self.adaptive.setdefault(cell, (asked.share, asked.most))
            asked = asked.least
        first, repeats = self.found.get(cell, (combination, 0))
        self.found[cell] = (first, max(repeats, asked))

    @property
    def excluded(self) -> list[tuple[int, str]]:
        """How many combinations each exclusion took out, and why."""
        return [counted for rules in (*self.own, self.general) for counted in rules.counted]


def expand(declared: Declared) -> MatrixPlan:
    """Expand a campaign's matrix to runs, shuffled by its seed; of adaptive repeats the least number.

    Raises ConfigError with all that does not fit the cluster or the applications.
    """
    checker = Checker(declared)
    cells = _Cells(declared, checker.usable)
    combinations = [combination for combination, _ in cells.found.values()]
    idle = [where for rules in cells.own for where in rules.idle]
    checker.require(cells.jobs, combinations, idle, cells.general.idle)
    runs = [
        _run(declared, cell, combination, repeat)
        for cell, (combination, repeats) in cells.found.items()
        for repeat in range(1, repeats + 1)
    ]
    shuffled = _shuffled(runs, declared.matrix.seed)
    return MatrixPlan(declared, shuffled, cells.excluded, cells.shared, cells.adaptive)


def _combinations(declared: Declared, subset: Subset) -> Iterator[dict[str, Any]]:
    levels = {**DEFAULTS, **declared.matrix.factors.given, **subset.factors.given}
    if subset.profiled:
        levels["profiler"] = subset.profiled
    for factor in (name for name, level in levels.items() if level is None):
        known = list(declared.launch.levels(factor))
        levels[factor] = level_of(factor, known[0]) if len(known) == 1 else ""
    chosen = [one_or_more(levels[factor]) for factor in DEFAULTS]
    distinct = set()
    for case in one_or_more(subset.case):
        for values in itertools.product(*chosen):
            factors = dict(zip(DEFAULTS, values, strict=True))
            _count(declared, factors)
            head = {"subset": subset.name, "application": subset.application, "case": case}
            if (key := (case, *factors.values())) not in distinct:  # `all` and 8 can be the same
                distinct.add(key)
                yield {**head, **factors}


def _count(declared: Declared, factors: dict[str, Any]) -> None:
    """Replace the words ``all`` and ``half`` by the numbers of ranks that they stand for."""
    if isinstance(factors["ranks_per_node"], str):
        share = factors["concurrent_jobs"] * factors["threads"]
        usable = declared.cores.usable(factors["placement"]) // share
        factors["ranks_per_node"] = max(1, usable if factors["ranks_per_node"] == "all" else usable // 2)


def _cell_name(combination: Mapping[str, Any]) -> str:
    absent = {"subset", *(name for name in OF_MACHINE if name not in _FIRST and combination[name] == "")}
    factors = {name: value for name, value in combination.items() if name not in absent}
    digest = hashlib.sha256(json.dumps(factors, sort_keys=True).encode()).hexdigest()[:8]
    size = f"{combination['nodes']}x{combination['ranks_per_node']}"
    return f"{combination['application']}-{combination['case']}-{size}-{digest}"


def _run(declared: Declared, cell: str, combination: dict[str, Any], repeat: int) -> Run:
    subset = next(each for each in declared.matrix.subsets if each.name == combination["subset"])
    application, case = combination["application"], combination["case"]
    seconds = declared.application(application).cases[case].seconds or float("nan")
    limit = subset.minutes or declared.matrix.minutes or declared.launch.minutes
    factors = {name: combination[name] for name in DEFAULTS}
    name = f"{cell}-r{repeat:02d}"
    timed = not subset.profiled
    return Run(name, combination["subset"], application, case, factors, repeat, 0, seconds, limit, timed)


def _shuffled(runs: list[Run], seed: int) -> tuple[Run, ...]:
    """Shuffle the runs, each repeat of all cells before the next one, so that no cell lies in one block.

    The order does not change for the others when a run is added or taken away.
    """
    keyed = sorted(runs, key=lambda run: (run.repeat, random.Random(f"{seed}/{run.name}").random()))
    return tuple(replace(run, order=order) for order, run in enumerate(keyed, 1))
