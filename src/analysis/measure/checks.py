"""Whether a matrix fits its cluster and its applications: every level known, every job small enough."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.base.campaigns import AdaptiveRepeats, Application, ApplicationLaunch, Exclusion, Matrix, Subset
from analysis.base.errors import Fault
from analysis.base.models import known
from analysis.base.yaml import Where
from analysis.measure.cores import PLACEMENTS
from analysis.measure.declare import Declaration, Declared
from analysis.measure.folders import OURS

# What ${...} can stand for beside a case's own values.
BUILT_IN = ("run", "nodes", "ranks", "ranks_per_node", "threads", "repeat", "inputs", "input")
_SIZES = ("nodes", "ranks_per_node", "threads", "concurrent_jobs")
MAX_FAULTS = 30
READERS = Path(__file__).parents[1] / "readers"


class Rules:
    """Exclusions of one place, a subset's or the matrix's, and how many combinations each takes out."""

    def __init__(self, rules: list[Exclusion], where: Where) -> None:
        self._rules, self._where = rules, where
        self._used = [0] * len(rules)
        self._idle = set(range(len(rules)))

    def take(self, combination: Mapping[str, Any]) -> bool:
        """Tell whether a rule takes a combination out; the first counts it."""
        found = [
            at
            for at, rule in enumerate(self._rules)
            if all(combination.get(name) in as_list(levels) for name, levels in rule.when.items())
        ]
        for at in found[:1]:
            self._used[at] += 1
        self._idle -= set(found)
        return bool(found)

    @property
    def counted(self) -> list[tuple[int, str]]:
        """How many combinations each rule that took any has taken out, and why."""
        pairs = zip(self._used, self._rules, strict=True)
        return [(used, rule.why) for used, rule in pairs if used]

    @property
    def idle(self) -> list[Where]:
        """Where the rules stand that took nothing out."""
        return [(*self._where, at) for at in sorted(self._idle)]


class Checker:
    """Collects what is wrong with a matrix; each fault is told once, however many runs it touches."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._known = {
            "placement": list(PLACEMENTS),
            "tuning": list(declared.tunings),
            "profiler": ["none", *declared.launch.profilers],
            "mpi": list(declared.launch.mpi),
            **{name: list(declared.launch.levels(name)) for name in ("interconnect", "cpu", "dimm")},
        }
        self._fitting: dict[tuple[Any, ...], bool] = {}
        self.faults: list[Fault] = []

    def note(self, where: Where, found: str, remedy: str) -> bool:
        """Add a fault of the campaign's file; return False."""
        fault = self._declared.campaign.fault(where, found, remedy)
        if fault not in self.faults and len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)
        return False

    def _unknown(self, where: Where, what: str, name: str, names: Iterable[str], none: str = "none") -> None:
        """Note a name that there is not, with those that there are."""
        self.note(where, what, known(name, names, none))

    def rules(self, rules: Rules) -> None:
        """Name rules that take nothing out: a level in them is likely misspelt."""
        for where in rules.idle:
            self.note(where, "excludes nothing", "check its levels or drop it")

    def subset(self, index: int) -> bool:
        """Check what a subset names; return whether its combinations can be looked at."""
        where: Where = ("matrix", "subsets", index)
        matrix = self._declared.matrix
        subset = matrix.subsets[index]
        before = len(self.faults)
        if subset.name in [other.name for other in matrix.subsets[:index]]:
            self.note((*where, "name"), f"two subsets are called {subset.name!r}", "rename one")
        parts: tuple[tuple[Where, Subset | Matrix], ...] = ((where, subset), (("matrix",), matrix))
        self._application(subset, where)
        for place, part in parts:
            self._repeats(part.repeats, (*place, "repeats"))
            for factor, levels in part.factors.given.items():
                self._levels(factor, levels, (*place, "factors", factor))
            for at, rule in enumerate(part.exclude):
                self._rule(rule, (*place, "exclude", at, "when"))
        return len(self.faults) == before

    def _repeats(self, asked: int | AdaptiveRepeats | None, where: Where) -> None:
        if isinstance(asked, AdaptiveRepeats) and asked.least > asked.most:
            what = f"at least {asked.least} repeats, and at most {asked.most}"
            self.note(where, what, "raise 'most' or lower 'least'")

    def _rule(self, rule: Exclusion, where: Where) -> None:
        factors = (*self._known, *_SIZES, "application", "case")
        for factor in rule.when:
            if factor not in factors:
                self._unknown((*where, factor), f"{factor!r} is no factor", factor, factors)

    def _levels(self, factor: str, levels: Any, where: Where) -> None:
        if factor not in self._known:
            return
        for level in as_list(levels):
            if level not in self._known[factor]:
                none = "none; the cluster's file declares none"
                self._unknown(where, f"unknown {factor} {level!r}", level, self._known[factor], none)

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
            self.note((*where, "application"), f"the cluster has no program for {name!r}", remedy)
        for case in as_list(subset.case):
            needs = launch.link_inputs or (case in launch.cases and launch.cases[case].inputs)
            if case not in launch.cases:
                self._unknown((*where, "case"), f"{name} has no case {case!r}", case, launch.cases)
            elif needs and not (name in site and site[name].inputs):
                remedy = f"name the folder under 'inputs' of {name} in {self._declared.cluster.source}"
                self.note((*where, "case"), f"case {case!r} needs input files", remedy)
            else:
                self._templates(launch, case, (*where, "case"), name)

    def _names(self, application: Declaration[Application], launch: ApplicationLaunch) -> None:
        """Check what an application's file calls things; a reader that is not there is found too late."""
        engine = application.content.engine
        # Importing the readers, which know their names, would take longer than the whole plan.
        if not (READERS / f"{engine}.py").is_file():
            remedy = "name a module of src/analysis/readers"
            self._in_file(application, ("engine",), f"there is no reader {engine!r}", remedy)
        parts: list[tuple[Where, Iterable[str], Iterable[str]]] = [(("launch", "files"), launch.files, OURS)]
        for name, case in launch.cases.items():
            place = ("launch", "cases", name)
            parts += [
                ((*place, "files"), case.files, OURS),
                ((*place, "values"), case.values.given, BUILT_IN),
            ]
        for where, names, taken in parts:
            for name in sorted(set(names) & set(taken)):
                what, remedy = f"{name!r} is Benchbook's own name", "choose another"
                self._in_file(application, (*where, name), what, remedy)

    def _templates(self, launch: ApplicationLaunch, case: str, where: Where, name: str) -> None:
        entry = launch.cases[case]
        given = {*BUILT_IN, *entry.values.given}
        texts = [*launch.arguments, *entry.arguments, *launch.thread_arguments]
        texts += [*launch.files.values(), *entry.files.values()]
        for text in texts:
            for unknown in sorted(set(string.Template(text).get_identifiers()) - given):
                what = f"{name} needs ${{{unknown}}}, which case {case!r} does not give"
                self._unknown(where, what, unknown, sorted(given))

    def combination(self, index: int, combination: Mapping[str, Any]) -> bool:
        """Check whether a job of this size can be started on the cluster."""
        names = ("nodes", "ranks_per_node", "threads", "concurrent_jobs", "placement", "mpi", "interconnect")
        key = (index, *(combination[name] for name in (*names, "tuning", "profiler")))
        if key not in self._fitting:
            self._fitting[key] = self._fits(("matrix", "subsets", index), combination)
        return self._fitting[key]

    def cells(self, found: Iterable[Mapping[str, Any]]) -> None:
        """Refuse cells whose runs would leave records with the same factors: they would count as repeats.

        A record has the library's name instead of the level of `mpi`, and no threads beside the ranks.
        """
        libraries, seen = self._declared.launch.mpi, dict[tuple[Any, ...], Mapping[str, Any]]()
        for cell in found:
            told = {**cell, "mpi": libraries[cell["mpi"]].name, "threads": None, "subset": None}
            other = seen.setdefault(tuple(told.values()), cell)
            if cell["mpi"] != other["mpi"]:
                ways = " and ".join(
                    f"{mpi!r} ({libraries[mpi].start})" for mpi in (other["mpi"], cell["mpi"])
                )
                what = f"{ways} are both called {told['mpi']!r}: their runs would be repeats of one cell"
                self._in_cluster(("launch", "mpi", cell["mpi"], "name"), what, "name them apart")
            elif cell is not other:
                what = f"cells of {cell['application']} differ in threads alone, which records do not tell"
                remedy = "let ranks_per_node follow (all), or measure them in campaigns of their own"
                self.note(("matrix",), what, remedy)

    def _fits(self, where: Where, job: Mapping[str, Any]) -> bool:
        launch = self._declared.launch
        if job["nodes"] > launch.nodes:
            return self.note(where, f"{job['nodes']} nodes; the cluster has {launch.nodes}", "ask for fewer")
        for factor in ("mpi", "interconnect"):
            if not job[factor] and self._known[factor]:
                remedy = f"choose: {', '.join(self._known[factor])}"
                return self.note(where, f"does not say which {factor}", remedy)
        families = self._declared.tunings[job["tuning"]].families
        family = launch.mpi[job["mpi"]].family
        if families and family not in families:
            what = f"tuning {job['tuning']!r} is not for {family}"
            return self.note(where, what, f"it is for {', '.join(families)}: exclude the others")
        if job["profiler"] != "none" and not self._declared.application(job["application"]).preload:
            return self.note(where, f"{job['application']} takes no profiler", "use profiler: none")
        return self._fits_cores(where, job) and self._fits_launcher(where, job)

    def _fits_launcher(self, where: Where, job: Mapping[str, Any]) -> bool:
        mpi, site = self._declared.launch.mpi[job["mpi"]], self._declared.launch.applications
        if (mpi.family == "charm") != mpi.start.startswith("charmrun"):
            what = f"{job['mpi']!r} is of the family {mpi.family} and started by {mpi.start}"
            remedy = "charmrun is for the family charm, and nothing else starts that"
            self._in_cluster(("launch", "mpi", job["mpi"], "start"), what, remedy)
        if mpi.family == "charm" and job["application"] in site and site[job["application"]].container:
            what = f"{job['application']} is in a container, and {job['mpi']!r} starts it by charmrun"
            return self.note(where, what, "charmrun looks for the program outside: give its path there")
        secret = self._declared.application(job["application"]).forward
        for place, named in self._environments(job):
            for name in sorted(set(secret) & set(named)):
                remedy = "set it where you submit from: what stands in this file is written into records"
                self._in_cluster((*place, "environment", name), f"{name} is not to be written down", remedy)
        return True

    def _environments(self, job: Mapping[str, Any]) -> Iterator[tuple[Where, Mapping[str, Any]]]:
        launch = self._declared.launch
        yield ("launch",), launch.environment
        yield ("launch", "mpi", job["mpi"]), launch.mpi[job["mpi"]].environment
        if (name := job["application"]) in launch.applications:
            yield ("launch", "applications", name), launch.applications[name].environment

    def _in_cluster(self, where: Where, found: str, remedy: str) -> None:
        self._in_file(self._declared.cluster, where, found, remedy)

    def _in_file(self, file: Declaration[Any], where: Where, found: str, remedy: str) -> None:
        fault = file.fault(where, found, remedy)
        if fault not in self.faults:
            self.faults.append(fault)

    def _fits_cores(self, where: Where, job: Mapping[str, Any]) -> bool:
        cores = self._declared.cores.usable(job["placement"])
        wanted = job["ranks_per_node"] * job["threads"] * job["concurrent_jobs"]
        if cores < job["concurrent_jobs"]:
            what = f"{job['concurrent_jobs']} jobs at once on {cores} cores ({job['placement']})"
            return self.note(where, what, "each needs a core of its own: exclude it or ask for fewer")
        if wanted > cores and not self._declared.launch.oversubscribe:
            what = f"{wanted} ranks and threads on a node; {job['placement']} gives it {cores} cores"
            return self.note(where, what, "ask for fewer, or set 'oversubscribe' for the cluster")
        return True


def as_list(value: Any) -> list[Any]:
    """Take one level as a list of one."""
    return list(value) if isinstance(value, list) else [value]
