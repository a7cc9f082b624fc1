"""The jobs of a run: program, container, input files and cores, launch lines, heads of the records."""

import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.slurm import ranges
from analysis.measure import cores as placing
from analysis.measure.declare import Declared, Installation, MpiLibrary
from analysis.measure.matrix import Run
from analysis.measure.mpi import OWN_BINDING_OFF, JobSize, built, charm_files, launch_line
from analysis.schema.factors import BY_NAME

BIND = Path(__file__).with_name("bind.sh")
# The profiler writes into the run's folder, and all that it can.
PROFILERS: dict[str, dict[str, str]] = {
    "ipm": {"IPM_REPORT": "full", "IPM_LOG": "full", "IPM_LOGDIR": "."},
    "mpip": {},
}
PROFILES = {"ipm": "*.ipm.xml", "mpip": "*.mpiP"}
# A case's values that are variables of the record; the others are in `values`.
RECORDED = ("local_size", "target_time")


@dataclass(frozen=True)
class Job:
    """One of the jobs that a run starts at once."""

    name: str  # of its record
    command: list[str]  # not quoted
    cores: list[str]  # of each local rank
    files: Mapping[str, str]  # input files that are written for it; one that begins with #! is a script
    links: str  # folder whose content is linked into the job's own; or empty
    head: Mapping[str, Any] = field(repr=False)  # what its record says whatever happens


@dataclass(frozen=True)
class Allocation:
    """A run on its nodes: modules, in the order in which they are loaded, exported variables, jobs."""

    modules: list[str]
    environment: Mapping[str, str]
    jobs: list[Job]


def allocate(declared: Declared, run: Run, hosts: Sequence[str]) -> Allocation:
    """Work out the jobs of a run on the nodes that it was given."""
    if len(hosts) != run.nodes:
        what = f"{run.name} needs {run.nodes} nodes and has {len(hosts)}: {','.join(hosts)}"
        remedy = "start it by the workflow, which asks for them"
        raise ConfigError.at(declared.campaign.source, 0, what, remedy)
    parts = _Parts(declared, run)
    environment = parts.environment()
    sets = declared.cores.jobs(run.factors["placement"], run.concurrent_jobs)
    jobs = [
        parts.job(number, name, own, hosts, environment)
        for number, (name, own) in enumerate(zip(run.records, sets, strict=True), 1)
    ]
    return Allocation(parts.modules(), environment, jobs)


class _Parts:
    """What the files of a campaign, its cluster and its application say of one run.

    `ConfigError` if the cluster has no program for the run's MPI library, its path has an unknown ``${...}``,
    or an input file is not found there, or with another digest than the application's.
    """

    def __init__(self, declared: Declared, run: Run) -> None:
        launch = declared.launch
        self.declared, self.run = declared, run
        self.place = ("launch", "applications", run.application)
        self.mpi = launch.mpi[run.factors["mpi"]]
        self.site = launch.applications[run.application]
        self.application = declared.application(run.application)
        self.case = self.application.cases[run.case]
        self.tuning = declared.tunings[run.factors["tuning"]]
        self.profiler = launch.profilers.get(run.factors["profiler"])
        self.library = self.profiler.library if self.profiler else ""
        self.levels = launch.chosen(run.factors)
        self.threads = int(run.factors["threads"])
        given = self.site.inputs
        self.folder = self.located(given) if given and isinstance(given, str) else ""
        self.program = self.program_of(self.site)
        self.inputs = dict(map(self.input, self.case.inputs))

    def fault(self, where: Sequence[str], found: str, remedy: str) -> ConfigError:
        return ConfigError(self.declared.cluster.fault((*self.place, *where), found, remedy))

    def located(self, path: str) -> str:
        """Make a path absolute; a bare name is left for PATH to find."""
        return str(self.declared.base / path) if "/" in path else path

    def program_of(self, site: Installation) -> str:
        """Return the program: that of the hybrid build where a rank has more than one thread."""
        mpi = self.run.factors["mpi"]
        if site.build:
            return str(built(self.declared.base, self.declared.cluster_name, mpi))
        hybrid = site.hybrid if self.threads > 1 else None
        named, where = (hybrid, ("hybrid",)) if hybrid else (site, ())
        found = named.program or named.programs.get(mpi)
        if found is None:
            what = f"no program for MPI {mpi!r}"
            raise self.fault((*where, "programs"), what, "add it or exclude the combination")
        try:
            return self.located(string.Template(found).substitute(case=self.run.case))
        except (KeyError, ValueError) as error:
            raise self.fault(where, f"{found!r}: {error}", "only ${case} is known") from None

    def input(self, name: str) -> tuple[str, str]:
        """Return path and SHA-256 of an input file of the case; an empty digest where none is declared."""
        digest, given = self.case.inputs[name], self.site.inputs or {}
        if isinstance(given, str):
            return f"{self.folder}/{name}", digest
        if name not in given:
            what = f"does not say where the input {name!r} is"
            raise self.fault(("inputs",), what, f"add '{name}: {{path: ...}}'")
        own = given[name].sha256
        if own and digest and own != digest:
            source = self.declared.applications[self.run.application].source
            what = f"{name}: SHA-256 {own} here, {digest} in {source}"
            raise self.fault(("inputs", name), what, "one of them is wrong")
        return self.located(given[name].path), own or digest

    def contained(self) -> list[str]:
        """Return the words that start the program in its container, with its profiler; none without one."""
        if not self.site.container:
            return []
        options = ["--env", f"LD_PRELOAD={self.library}"] if self.library else []
        # Apptainer shows a program the working directory and the home; inputs may be elsewhere.
        places = [self.folder, *(str(Path(path).parent) for path in self.inputs)]
        for place in dict.fromkeys(filter(None, places)):
            options += ["--bind", place]
        return ["apptainer", "exec", *options, self.located(self.site.container)]

    def modules(self) -> list[str]:
        return [name for part in (self.mpi, self.site, self.profiler) if part for name in part.modules]

    def environment(self) -> dict[str, str]:
        """Join the variables; what is more special comes later and wins."""
        parts: list[Mapping[str, Any]] = [{"OMP_NUM_THREADS": self.threads}, OWN_BINDING_OFF[self.mpi.family]]
        if self.declared.launch.scheduler == "slurm":
            # An mpirun starts its daemons by a step of srun. Without this a step takes the nodes for itself,
            # and jobs at once would be measured one after the other.
            parts.append({"SLURM_OVERLAP": 1})
        parts += [self.declared.launch.environment, self.mpi.environment]
        parts += [level.environment for level in self.levels]
        parts += [self.tuning.environment, self.site.environment, self.declared.matrix.environment]
        parts += [PROFILERS.get(self.run.factors["profiler"], {})]
        parts += [self.profiler.environment] if self.profiler else []
        return {name: _text(value) for part in parts for name, value in part.items()}

    def values(self, name: str) -> dict[str, str]:
        run = self.run
        own = {"run": name, "nodes": run.nodes, "ranks_per_node": run.ranks_per_node, "repeat": run.repeat}
        own |= {"ranks": run.nodes * run.ranks_per_node, "threads": self.threads}
        own |= {"inputs": self.folder, "input": next(iter(self.inputs), "")}
        return {key: _text(value) for key, value in {**self.case.values.given, **own}.items()}

    def job(
        self, number: int, name: str, own: list[int], hosts: Sequence[str], environment: Mapping[str, str]
    ) -> Job:
        values = self.values(name)
        per_node = self.run.ranks_per_node
        lists = [ranges(part) for part in placing.ranks(own, per_node)]
        shape = JobSize(tuple(hosts), per_node, per_node * self.threads > len(own))
        wrapper = ["sh", str(BIND), "/".join(lists)]
        inside = self.contained()
        wrapper += [self.library if self.library and not inside else "-", *inside]
        files = {
            file: string.Template(text).substitute(values)
            for part in (self.application, self.case)
            for file, text in part.files.items()
        }
        line = launch_line(self.launcher(), shape, environment, self.application.forward)
        if self.mpi.family == "charm":
            files |= charm_files(shape, wrapper)
        else:
            line += wrapper
        links = values["inputs"] if self.application.link_inputs else ""
        head = self.head(number, name, shape, values)
        return Job(name, [*line, self.program, *self.arguments(values)], lists, files, links, head)

    def launcher(self) -> MpiLibrary:
        """Return the MPI library with the options of the tuning and its launcher's whole path."""
        options = [*self.mpi.options, *self.tuning.options]
        return self.mpi.model_copy(update={"options": options, "launcher": self.located(self.mpi.launcher)})

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """Return the program's arguments; those of the cluster's file are unchanged."""
        threaded = self.application.thread_arguments if self.threads > 1 else []
        words = [*self.application.arguments, *self.case.arguments, *threaded]
        return [*(string.Template(word).substitute(values) for word in words), *self.site.arguments]

    def head(self, number: int, name: str, shape: JobSize, values: Mapping[str, str]) -> dict[str, Any]:
        """Say in the record's words what is known before the start."""
        run, declared = self.run, self.declared
        factors = {
            factor: None if level == "" and BY_NAME[factor].numeric else level
            for factor, level in run.factors.items()
        }
        case_values = self.case.values.given
        return {
            "run": name,
            "campaign": declared.name,
            "evidence": declared.campaign.content.evidence,
            "cluster": declared.cluster_name,
            "application": run.application,
            "case": run.case,
            **{key: case_values[key] for key in RECORDED if key in case_values},
            "question": run.subset,
            **factors,
            "ranks": shape.ranks,
            "mpi": self.mpi.name,
            "started_by": self.mpi.start,
            "build": self.site.variant,
            "profiler": None if factors["profiler"] == "none" else factors["profiler"],
            "job_of_run": number,
            "repeat": run.repeat,
            "order": run.order,
            # Ranks that wait for each other's cores are not timed.
            "timing": run.timed and not shape.oversubscribed,
            "values": case_values,
            "result": self.application.result.model_dump(exclude_unset=True),
            "profile": PROFILES.get(run.factors["profiler"], ""),
            "preload": self.library,
            "node_list": list(shape.hosts),
            "program": self.located(self.site.container) or self.program,
            "inputs": self.inputs,
            "forwarded": list(self.application.forward),
            "benchbook": {"python": sys.version.split()[0], "version": project.version()},
        }


def _text(value: object) -> str:
    """Write a value as a file would have it: 6.0 is 6."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
