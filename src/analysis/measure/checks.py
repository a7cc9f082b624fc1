"""Whether a matrix fits its cluster and its applications: every level known, every job small enough."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.base.errors import Fault
from analysis.base.yaml import Where
from analysis.measure.cores import PLACEMENTS
from analysis.measure.declare import Declaration, Declared
from analysis.measure.folders import OURS

# What ${...} can stand for beside a case's own values.
BUILT_IN = ("run", "nodes", "ranks", "ranks_per_node", "threads", "repeat", "inputs", "input")
_SIZES = ("nodes", "ranks_per_node", "threads", "concurrent_jobs")
MAX_FAULTS = 30
READERS = Path(__file__).parents[1] / "readers"


class Checker:
    """Collects what is wrong with a matrix; each fault is told once, however many runs it touches.

    Parameters
    ----------
    declared : Declared

    Attributes
    ----------
    faults : list of Fault
    """

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._known = {
            "placement": list(PLACEMENTS),
            "tuning": list(declared.tunings),
            "profiler": ["none", *declared.launch.get("profilers", {})],
            **{name: list(declared.launch.get(name, {})) for name in ("interconnect", "mpi", "cpu", "dimm")},
        }
        self._fitting: dict[tuple[Any, ...], bool] = {}
        self.faults: list[Fault] = []

    def note(self, where: Where, found: str, remedy: str) -> bool:
        """Add a fault of the campaign's file; return False."""
        fault = self._declared.campaign.fault(where, found, remedy)
        if fault not in self.faults and len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)
        return False

    def subset(self, index: int) -> bool:
        """Check what a subset names; return whether its combinations can be looked at."""
        where: Where = ("matrix", "subsets", index)
        subset = self._declared.matrix["subsets"][index]
        before = len(self.faults)
        names = [other["name"] for other in self._declared.matrix["subsets"][:index]]
        if subset["name"] in names:
            self.note((*where, "name"), f"two subsets are called {subset['name']!r}", "rename one")
        for place in (where, ("matrix",)):
            self._repeats(subset if place == where else self._declared.matrix, (*place, "repeats"))
        self._application(subset, where)
        for place, factors in (((*where, "factors"), subset.get("factors", {})), self._general):
            for factor, levels in factors.items():
                self._levels(factor, levels, (*place, factor))
        for place, rule in self._rules(index, where):
            for factor in rule["when"]:
                if factor not in (*self._known, *_SIZES, "application", "case"):
                    self.note((*place, "when", factor), f"{factor!r} is no factor", "see the schema")
        return len(self.faults) == before

    def _repeats(self, part: Mapping[str, Any], where: Where) -> None:
        asked = part.get("repeats")
        if isinstance(asked, dict) and asked.get("least", 6) > asked.get("most", 30):
            what = f"at least {asked.get('least', 6)} repeats, and at most {asked.get('most', 30)}"
            self.note(where, what, "raise 'most' or lower 'least'")

    @property
    def _general(self) -> tuple[Where, Mapping[str, Any]]:
        return ("matrix", "factors"), self._declared.matrix.get("factors", {})

    def _rules(self, index: int, where: Where) -> Iterator[tuple[Where, Mapping[str, Any]]]:
        for at, rule in enumerate(self._declared.matrix["subsets"][index].get("exclude", [])):
            yield (*where, "exclude", at), rule
        for at, rule in enumerate(self._declared.matrix.get("exclude", [])):
            yield ("matrix", "exclude", at), rule

    def _levels(self, factor: str, levels: Any, where: Where) -> None:
        if factor not in self._known:
            return
        for level in levels if isinstance(levels, list) else [levels]:
            if level not in self._known[factor]:
                known = ", ".join(self._known[factor]) or "none; the cluster's file declares none"
                self.note(where, f"unknown {factor} {level!r}", f"known: {known}")

    def _application(self, subset: Mapping[str, Any], where: Where) -> None:
        name = subset["application"]
        application = self._declared.applications.get(name)
        if application is None or "launch" not in application.document:
            what = "unknown application" if application is None else "no part 'launch' in application"
            folder = self._declared.base / "config/applications"
            known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
            self.note((*where, "application"), f"{what} {name!r}", f"known: {known}")
            return
        self._names(application)
        site = self._declared.launch["applications"]
        if name not in site:
            remedy = f"name its program in {self._declared.cluster.source}"
            self.note((*where, "application"), f"the cluster has no program for {name!r}", remedy)
        cases = application.document["launch"]["cases"]
        for case in subset["case"] if isinstance(subset["case"], list) else [subset["case"]]:
            if case not in cases:
                self.note((*where, "case"), f"{name} has no case {case!r}", f"known: {', '.join(cases)}")
            elif self._needs_inputs(application.document["launch"], case) and "inputs" not in site.get(
                name, {}
            ):
                remedy = f"name the folder under 'inputs' of {name} in {self._declared.cluster.source}"
                self.note((*where, "case"), f"case {case!r} needs input files", remedy)
            else:
                self._templates(application.document["launch"], case, (*where, "case"), name)

    def _names(self, application: Declaration) -> None:
        """Check what an application's file calls things; a reader that is not there is found too late."""
        engine = application.document["engine"]
        # Importing the readers, which know their names, would take longer than the whole plan.
        if not (READERS / f"{engine}.py").is_file():
            remedy = "name a module of src/analysis/readers"
            self._in_file(application, ("engine",), f"there is no reader {engine!r}", remedy)
        launch = application.document["launch"]
        parts: list[tuple[Where, Mapping[str, Any]]] = [(("launch",), launch)]
        parts += [(("launch", "cases", name), case) for name, case in launch["cases"].items()]
        for where, part in parts:
            for key, taken in (("files", OURS), ("values", BUILT_IN)):
                for name in sorted(set(part.get(key, {})) & set(taken)):
                    what, remedy = f"{name!r} is Benchbook's own name", "choose another"
                    self._in_file(application, (*where, key, name), what, remedy)

    def _needs_inputs(self, launch: Mapping[str, Any], case: str) -> bool:
        return bool(launch["cases"][case].get("inputs") or launch.get("link_inputs"))

    def _templates(self, launch: Mapping[str, Any], case: str, where: Where, name: str) -> None:
        entry = launch["cases"][case]
        known = {*BUILT_IN, *entry.get("values", {})}
        texts = [*launch["arguments"], *entry.get("arguments", []), *launch.get("thread_arguments", [])]
        texts += [*launch.get("files", {}).values(), *entry.get("files", {}).values()]
        for text in texts:
            for unknown in sorted(set(string.Template(text).get_identifiers()) - known):
                remedy = f"known: {', '.join(sorted(known))}"
                self.note(where, f"{name} needs ${{{unknown}}}, which case {case!r} does not give", remedy)

    def combination(self, index: int, combination: Mapping[str, Any]) -> bool:
        """Check whether a job of this size can be started on the cluster."""
        names = ("nodes", "ranks_per_node", "threads", "concurrent_jobs", "placement", "mpi", "interconnect")
        key = (index, *(combination[name] for name in (*names, "tuning", "profiler")))
        if key not in self._fitting:
            self._fitting[key] = self._fits(("matrix", "subsets", index), combination)
        return self._fitting[key]

    def _fits(self, where: Where, job: Mapping[str, Any]) -> bool:
        launch = self._declared.launch
        if job["nodes"] > launch["nodes"]:
            return self.note(
                where, f"{job['nodes']} nodes; the cluster has {launch['nodes']}", "ask for fewer"
            )
        for factor in ("mpi", "interconnect"):
            if not job[factor] and self._known[factor]:
                remedy = f"choose: {', '.join(self._known[factor])}"
                return self.note(where, f"does not say which {factor}", remedy)
        families = self._declared.tunings[job["tuning"]].get("families")
        family = launch["mpi"][job["mpi"]]["family"]
        if families and family not in families:
            what = f"tuning {job['tuning']!r} is not for {family}"
            return self.note(where, what, f"it is for {', '.join(families)}: exclude the others")
        preload = self._declared.applications[job["application"]].document["launch"].get("preload", True)
        if job["profiler"] != "none" and not preload:
            return self.note(where, f"{job['application']} takes no profiler", "use profiler: none")
        return self._fits_cores(where, job) and self._fits_launcher(where, job)

    def _fits_launcher(self, where: Where, job: Mapping[str, Any]) -> bool:
        mpi, site = self._declared.launch["mpi"][job["mpi"]], self._declared.launch["applications"]
        if (mpi["family"] == "charm") != mpi["start"].startswith("charmrun"):
            what = f"{job['mpi']!r} is of the family {mpi['family']} and started by {mpi['start']}"
            remedy = "charmrun is for the family charm, and nothing else starts that"
            self._in_cluster(("launch", "mpi", job["mpi"], "start"), what, remedy)
        if mpi["family"] == "charm" and "container" in site.get(job["application"], {}):
            what = f"{job['application']} is in a container, and {job['mpi']!r} starts it by charmrun"
            return self.note(where, what, "charmrun looks for the program outside: give its path there")
        secret = self._declared.applications[job["application"]].document["launch"].get("forward", [])
        for place, named in self._environments(job):
            for name in sorted(set(secret) & set(named)):
                remedy = "set it where you submit from: what stands in this file is written into records"
                self._in_cluster((*place, "environment", name), f"{name} is not to be written down", remedy)
        return True

    def _environments(self, job: Mapping[str, Any]) -> Iterator[tuple[Where, Mapping[str, Any]]]:
        launch = self._declared.launch
        yield ("launch",), launch.get("environment", {})
        for part, key in (("mpi", job["mpi"]), ("applications", job["application"])):
            yield ("launch", part, key), launch[part].get(key, {}).get("environment", {})

    def _in_cluster(self, where: Where, found: str, remedy: str) -> None:
        self._in_file(self._declared.cluster, where, found, remedy)

    def _in_file(self, file: Declaration, where: Where, found: str, remedy: str) -> None:
        fault = file.fault(where, found, remedy)
        if fault not in self.faults:
            self.faults.append(fault)

    def _fits_cores(self, where: Where, job: Mapping[str, Any]) -> bool:
        cores = self._declared.cores.usable(job["placement"])
        wanted = job["ranks_per_node"] * job["threads"] * job["concurrent_jobs"]
        if cores < job["concurrent_jobs"]:
            what = f"{job['concurrent_jobs']} jobs at once on {cores} cores ({job['placement']})"
            return self.note(where, what, "each needs a core of its own: exclude it or ask for fewer")
        if wanted > cores and not self._declared.launch.get("oversubscribe", False):
            what = f"{wanted} ranks and threads on a node; {job['placement']} gives it {cores} cores"
            return self.note(where, what, "ask for fewer, or set 'oversubscribe' for the cluster")
        return True
