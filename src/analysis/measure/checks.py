"""Whether a matrix fits its cluster and its applications: every level known, every job small enough.

Faults are noted where they are found and looked up in their files at the end, all at once.
"""

import string
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from analysis.base.errors import ConfigError, Fault
from analysis.base.models import known, one_or_more
from analysis.base.words import counted
from analysis.base.yaml import Where
from analysis.measure.cores import PLACEMENTS
from analysis.measure.declare import Declaration, Declared, level_of
from analysis.measure.folders import OURS
from analysis.schema.applications import Application, ApplicationLaunch
from analysis.schema.campaigns import DEFAULTS, OF_MACHINE, AdaptiveRepeats, Exclusion, Matrix, Subset

# What ${...} can stand for beside a case's own values.
BUILT_IN = ("run", "nodes", "ranks", "ranks_per_node", "threads", "repeat", "inputs", "input")
MAX_FAULTS = 30
READERS = Path(__file__).parents[1] / "readers"


class Checker:
    """Collects what is wrong with a matrix; each fault is listed once, however many runs it touches."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._known: dict[str, list[Any]] = {
            "placement": list(PLACEMENTS),
            "tuning": list(declared.tunings),
            "profiler": ["none", *declared.launch.profilers],
            **{
                name: [level_of(name, key) for key in declared.launch.levels(name)]
                for name in ("mpi", *OF_MACHINE)
            },
        }
        self._notes: list[Callable[[], Fault]] = []  # lines are looked up at the end
        self._usable = [index for index in range(len(declared.matrix.subsets)) if self._subset(index)]

    def usable(self, index: int) -> bool:
        """Tell whether what a subset names is there, so that its combinations can be looked at."""
        return index in self._usable

    def require(
        self,
        jobs: Collection[tuple[int, Mapping[str, Any]]],
        cells: Collection[Mapping[str, Any]],
        idle: Iterable[Where],
        idle_in_all: Iterable[Where],
    ) -> None:
        """Raise ConfigError with all that is wrong, if anything is.

        `jobs` are the combinations with the number of their subset, `cells` those of the runs, `idle` the
        places of the rules that took nothing out: of a subset, and of the whole matrix.
        """
        fitting: set[tuple[Any, ...]] = set()
        for index, job in jobs:
            key = (index, *(job[name] for name in DEFAULTS))
            if key not in fitting:
                fitting.add(key)
                self._fits(("matrix", "subsets", index), job)
        self._timed_or_not(jobs)
        self._idle(idle)
        if not self._notes:  # of a subset that cannot be used nothing was asked
            self._alike(cells)
            self._idle(idle_in_all)
        if not self._notes and not cells:
            self._note(("matrix",), "has no runs", "its exclusions leave nothing")
        if faults := dict.fromkeys(note() for note in self._notes):
            raise ConfigError(*list(faults)[:MAX_FAULTS])

    def _note(self, where: Where, found: str, remedy: str, file: Declaration[Any] | None = None) -> None:
        """Note a fault of a file, by default the campaign's."""
        self._notes.append(lambda: (file or self._declared.campaign).fault(where, found, remedy))

    def _unknown(self, where: Where, found: str, name: str, names: Iterable[Any], none: str = "none") -> None:
        """Note a name that there is not, with those that there are."""
        there = list(map(str, names))
        self._notes.append(lambda: self._declared.campaign.fault(where, found, known(name, there, none)))

    def _idle(self, places: Iterable[Where]) -> None:
        """Name rules that take nothing out: a level in them is likely misspelt."""
        for where in places:
            self._note(where, "excludes nothing", "check its levels or drop it")

    def _subset(self, index: int) -> bool:
        """Check what a subset names; return whether all of it is there."""
        where: Where = ("matrix", "subsets", index)
        matrix = self._declared.matrix
        subset = matrix.subsets[index]
        before = len(self._notes)
        if subset.name in [other.name for other in matrix.subsets[:index]]:
            self._note((*where, "name"), f"two subsets are called {subset.name!r}", "rename one")
        parts: tuple[tuple[Where, Subset | Matrix], ...] = ((where, subset), (("matrix",), matrix))
        self._application(subset, where)
        if subset.profiled:
            self._profiled(subset, where)
        for place, part in parts:
            self._repeats(part.repeats, (*place, "repeats"))
            for factor, levels in part.factors.given.items():
                self._levels(factor, levels, (*place, "factors", factor))
            for at, rule in enumerate(part.exclude):
                self._rule(rule, (*place, "exclude", at, "when"))
        return len(self._notes) == before

    def _profiled(self, subset: Subset, where: Where) -> None:
        self._levels("profiler", subset.profiled, (*where, "profiled"))
        if "profiler" in subset.factors.given:
            what = "both 'profiled' and the factor 'profiler'"
            self._note((*where, "profiled"), what, "keep the factor if you want times")

    def _repeats(self, asked: int | AdaptiveRepeats | None, where: Where) -> None:
        if isinstance(asked, AdaptiveRepeats) and asked.least > asked.most:
            what = f"at least {asked.least} repeats, and at most {asked.most}"
            self._note(where, what, "raise 'most' or lower 'least'")

    def _rule(self, rule: Exclusion, where: Where) -> None:
        factors = (*self._known, *DEFAULTS.keys() - self._known, "application", "case")
        for factor in rule.when:
            if factor not in factors:
                self._unknown((*where, factor), f"{factor!r} is no factor", factor, factors)

    def _levels(self, factor: str, levels: Any, where: Where) -> None:
        if factor not in self._known:
            return
        for level in one_or_more(levels):
            if level not in self._known[factor]:
                none = "none; the cluster's file declares none"
                self._unknown(where, f"unknown {factor} {level!r}", str(level), self._known[factor], none)

    def _application(self, subset: Subset, where: Where) -> None:
        name = subset.application
        application = self._declared.applications.get(name)
        launch = application.content.launch if application else None
        if application is None or launch is None:
            what = "unknown application" if application is None else "no part 'launch' in application"
            folder = self._declared.base / "config/applications"
            there = sorted(path.stem for path in folder.glob("*.yaml"))
            self._unknown((*where, "application"), f"{what} {name!r}", name, there)
            return
        self._names(application, launch)
        site = self._declared.launch.applications
        if name not in site:
            remedy = f"name its program in {self._declared.cluster.source}"
            self._note((*where, "application"), f"the cluster has no program for {name!r}", remedy)
        for case in one_or_more(subset.case):
            needs = launch.link_inputs or (case in launch.cases and launch.cases[case].inputs)
            if case not in launch.cases:
                self._unknown((*where, "case"), f"{name} has no case {case!r}", case, launch.cases)
            elif needs and not (name in site and site[name].inputs):
                remedy = f"name the folder under 'inputs' of {name} in {self._declared.cluster.source}"
                self._note((*where, "case"), f"case {case!r} needs input files", remedy)
            else:
                self._templates(launch, case, (*where, "case"), name)

    def _names(self, application: Declaration[Application], launch: ApplicationLaunch) -> None:
        """Check what an application's file calls things; a reader that is not there is found too late."""
        engine = application.content.engine
        # Importing the readers, which know their names, would take longer than the whole plan.
        places = (f"{engine}.py", f"{engine}/__init__.py", f"merits/formats/{engine}.py")
        if engine and not any((READERS / place).is_file() for place in places):
            remedy = "name a module of src/analysis/readers"
            self._note(("engine",), f"there is no reader {engine!r}", remedy, application)
        parts: list[tuple[Where, Iterable[str], Iterable[str]]] = [(("launch", "files"), launch.files, OURS)]
        for name, case in launch.cases.items():
            place = ("launch", "cases", name)
            parts += [
                ((*place, "files"), case.files, OURS),
                ((*place, "values"), case.values.given, BUILT_IN),
            ]
        for where, names, taken in parts:
            for name in sorted(set(names) & set(taken)):
                what = f"{name!r} is Benchbook's own name"
                self._note((*where, name), what, "choose another", application)

    def _templates(self, launch: ApplicationLaunch, case: str, where: Where, name: str) -> None:
        entry = launch.cases[case]
        given = {*BUILT_IN, *entry.values.given}
        texts = [*launch.arguments, *entry.arguments, *launch.thread_arguments]
        texts += [*launch.files.values(), *entry.files.values()]
        for text in texts:
            for unknown in sorted(set(string.Template(text).get_identifiers()) - given):
                what = f"{name} needs ${{{unknown}}}, which case {case!r} does not give"
                self._unknown(where, what, unknown, sorted(given))

    def _alike(self, found: Iterable[Mapping[str, Any]]) -> None:
        """Refuse cells that do not differ in any recorded factor: their runs would count as repeats.

        A record has the library's name instead of the level of `mpi`.
        """
        cluster, libraries = self._declared.cluster, self._declared.launch.mpi
        seen = dict[tuple[Any, ...], str]()
        for cell in found:
            own, name = cell["mpi"], libraries[cell["mpi"]].name
            other = seen.setdefault(tuple({**cell, "mpi": name, "subset": None}.values()), own)
            if own != other:
                ways = " and ".join(f"{mpi!r} ({libraries[mpi].start})" for mpi in (other, own))
                what = f"{ways} are both called {name!r}: their runs would be repeats of one cell"
                self._note(("launch", "mpi", own, "name"), what, "give each a name of its own", cluster)

    def _timed_or_not(self, jobs: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Refuse a cell that one subset profiles and another times: it runs once, so either would be lost."""
        seen = dict[tuple[Any, ...], int]()
        subsets = self._declared.matrix.subsets
        for index, job in jobs:
            first = subsets[
                seen.setdefault((job["application"], job["case"], *(job[name] for name in DEFAULTS)), index)
            ]
            if bool(first.profiled) != bool(subsets[index].profiled):
                what = f"subsets {first.name!r} and {subsets[index].name!r} share runs, one is 'profiled'"
                self._note(("matrix", "subsets", index), what, "exclude these runs from one of them")

    def _fits(self, where: Where, job: Mapping[str, Any]) -> None:
        """Check whether a job of this size can be started on the cluster; the first fault of it counts."""
        found = self._unfit(job) or self._unfit_cores(job) or self._unfit_launcher(job)
        if found:
            self._note(where, *found)

    def _unfit(self, job: Mapping[str, Any]) -> tuple[str, str] | None:
        launch = self._declared.launch
        if job["nodes"] > launch.nodes:
            return f"{job['nodes']} nodes; the cluster has {launch.nodes}", "ask for fewer"
        for factor in ("mpi", "interconnect"):
            if not job[factor] and self._known[factor]:
                return f"does not say which {factor}", f"choose: {', '.join(self._known[factor])}"
        families = self._declared.tunings[job["tuning"]].families
        family = launch.mpi[job["mpi"]].family
        if families and family not in families:
            what = f"tuning {job['tuning']!r} is not for {family}"
            return what, f"it is for {', '.join(families)}: exclude the others"
        if job["profiler"] != "none" and not self._declared.application(job["application"]).preload:
            return f"{job['application']} takes no profiler", "use profiler: none"
        return None

    def _unfit_launcher(self, job: Mapping[str, Any]) -> tuple[str, str] | None:
        launch, cluster, name = self._declared.launch, self._declared.cluster, job["application"]
        mpi, site = launch.mpi[job["mpi"]], launch.applications.get(name)
        own: Where = ("launch", "mpi", job["mpi"])
        if (mpi.family == "charm") != mpi.start.startswith("charmrun"):
            what = f"{job['mpi']!r} has the family {mpi.family} and is started by {mpi.start}"
            remedy = "charmrun is for the family charm, which nothing else starts"
            self._note((*own, "start"), what, remedy, cluster)
        if site and site.build and not mpi.compiler:
            self._note(own, f"{job['mpi']} names no compiler", "add 'compiler: .../mpicc'", cluster)
        if mpi.family == "charm" and site and site.container:
            what = f"{name} is in a container, and {job['mpi']!r} starts it by charmrun"
            return what, "charmrun looks for the program outside: give its path there"
        application = self._declared.application(name)
        # The path of a folder is written down where it is known.
        secret = set(application.forward) - {application.folder.variable if application.folder else ""}
        parts: list[tuple[Declaration[Any], Where, Mapping[str, Any]]]
        parts = [(cluster, ("launch",), launch.environment), (cluster, own, mpi.environment)]
        parts += [(cluster, ("launch", "applications", name), site.environment)] if site else []
        parts += [(self._declared.campaign, ("matrix",), self._declared.matrix.environment)]
        for file, place, environment in parts:
            for variable in sorted(secret & set(environment)):
                what = f"{variable} is not to be written down"
                remedy = "set it where you submit from: records contain what is in this file"
                self._note((*place, "environment", variable), what, remedy, file)
        return None

    def _unfit_cores(self, job: Mapping[str, Any]) -> tuple[str, str] | None:
        cores = self._declared.cores.usable(job["placement"])
        wanted = job["ranks_per_node"] * job["threads"] * job["concurrent_jobs"]
        if cores < job["concurrent_jobs"]:
            what = f"{job['concurrent_jobs']} jobs at once on {cores} cores ({job['placement']})"
            return what, "each needs a core of its own: exclude it or ask for fewer"
        if job["gpus"] and job["gpus"] % job["nodes"]:
            what = f"{counted(job['gpus'], 'GPU')} on {job['nodes']} nodes"
            return what, "give each node as many, or exclude it"
        if wanted > cores and not self._declared.launch.oversubscribe:
            what = f"{wanted} ranks and threads on a node; {job['placement']} gives it {cores} cores"
            return what, "ask for fewer, or set 'oversubscribe' for the cluster"
        return None
