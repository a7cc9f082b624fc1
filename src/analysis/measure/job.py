"""What a cluster declares for an application: the program of a run, its container, its input files."""

from __future__ import annotations

import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.project import VERSION
from analysis.base.slurm import ranges
from analysis.measure import cores as placing
from analysis.measure.declare import Declared, MpiLibrary, Programs, Site
from analysis.measure.launchers import OWN_BINDING_OFF, Shape, charm_files, launch_line
from analysis.measure.matrix import Run
from analysis.schema.factors import BY_NAME


def built(base: Path, cluster: str, mpi: str) -> Path:
    """Return where the program in ``src/proxy`` is built for a cluster's MPI library."""
    return base / "results" / "proxy" / cluster / mpi / "proxy"


def located(base: Path, path: str) -> str:
    """Make a path absolute; a bare name is left for PATH to find."""
    return str(base / path) if "/" in str(path) else str(path)


def program(declared: Declared, run: Run) -> str:
    """Return the program of a run: that of the hybrid build where a rank has more than one thread.

    `ConfigError` if the cluster has none for the run's MPI library, or its path holds an unknown ``${...}``.
    """
    site = _site(declared, run)
    if site.build:
        return str(built(declared.base, declared.cluster_name, run.factors["mpi"]))
    where: tuple[str, ...] = ("launch", "applications", run.application)
    named: Programs = site
    if int(run.factors["threads"]) > 1 and site.hybrid is not None:
        named, where = site.hybrid, (*where, "hybrid")
    found = named.program or named.programs.get(run.factors["mpi"])
    if found is None:
        what = f"no program for MPI {run.factors['mpi']!r}"
        remedy = "add it or exclude the combination"
        raise ConfigError(declared.cluster.fault((*where, "programs"), what, remedy))
    try:
        return located(declared.base, string.Template(found).substitute(case=run.case))
    except (KeyError, ValueError) as error:
        what = f"{found!r}: {error}"
        raise ConfigError(declared.cluster.fault(where, what, "only ${case} is known")) from None


def contained(declared: Declared, run: Run, preload: str) -> list[str]:
    """Return the words that start a program in the application's container; none without one.

    `preload` is a library that is loaded before the program, inside the container; or empty.
    """
    image = _site(declared, run).container
    if not image:
        return []
    options = ["--env", f"LD_PRELOAD={preload}"] if preload else []
    # Apptainer shows a program the working directory and the home; inputs may lie elsewhere.
    places = [folder(declared, run), *(str(Path(path).parent) for path in inputs(declared, run))]
    for place in dict.fromkeys(filter(None, places)):
        options += ["--bind", place]
    return ["apptainer", "exec", *options, located(declared.base, image)]


def folder(declared: Declared, run: Run) -> str:
    """Return the folder of the application's input files; empty if the cluster names none."""
    inputs = _site(declared, run).inputs
    return located(declared.base, inputs) if inputs and isinstance(inputs, str) else ""


def inputs(declared: Declared, run: Run) -> dict[str, str]:
    """Return the input files of a run's case: path -> SHA-256, empty where none is declared.

    `ConfigError` if the cluster does not say where one lies, or says another digest than the application.
    """
    site = _site(declared, run).inputs or {}
    found = {}
    for name, digest in declared.application(run.application).cases[run.case].inputs.items():
        if isinstance(site, str):
            found[f"{located(declared.base, site)}/{name}"] = digest
            continue
        where = ("launch", "applications", run.application, "inputs")
        if name not in site:
            what = f"does not say where the input {name!r} lies"
            raise ConfigError(declared.cluster.fault(where, what, f"add '{name}: {{path: ...}}'"))
        own = site[name].sha256
        if own and digest and own != digest:
            what = f"{name}: SHA-256 {own} here, {digest} in {declared.applications[run.application].source}"
            raise ConfigError(declared.cluster.fault((*where, name), what, "one of them is wrong"))
        found[located(declared.base, site[name].path)] = own or digest
    return found


def _site(declared: Declared, run: Run) -> Site:
    return declared.launch.applications[run.application]


BIND = Path(__file__).with_name("bind.sh")
# The profiler writes into the run's folder, and all that it can.
PROFILERS: dict[str, dict[str, str]] = {
    "ipm": {"IPM_REPORT": "full", "IPM_LOG": "full", "IPM_LOGDIR": "."},
    "mpip": {},
}
PROFILES = {"ipm": "*.ipm.xml", "mpip": "*.mpiP"}
# A case's values that are variables of the record; the others are told in `values`.
RECORDED = ("local_size", "target_time")
_OWN = {"python": sys.version.split()[0], "version": VERSION}


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
    def __init__(self, declared: Declared, run: Run) -> None:
        launch = declared.launch
        self.declared, self.run = declared, run
        self.mpi = launch.mpi[run.factors["mpi"]]
        self.site = launch.applications[run.application]
        self.application = declared.application(run.application)
        self.case = self.application.cases[run.case]
        self.tuning = declared.tunings[run.factors["tuning"]]
        self.profiler = launch.profilers.get(run.factors["profiler"])
        self.library = self.profiler.library if self.profiler else ""
        self.levels = launch.chosen(run.factors)
        self.threads = int(run.factors["threads"])
        self.program = program(declared, run)
        self.inputs = inputs(declared, run)

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
        parts += [self.tuning.environment, self.site.environment]
        parts += [PROFILERS.get(self.run.factors["profiler"], {})]
        parts += [self.profiler.environment] if self.profiler else []
        return {name: _text(value) for part in parts for name, value in part.items()}

    def values(self, name: str) -> dict[str, str]:
        run = self.run
        own = {"run": name, "nodes": run.nodes, "ranks_per_node": run.ranks_per_node, "repeat": run.repeat}
        own |= {"ranks": run.nodes * run.ranks_per_node, "threads": self.threads}
        own |= {"inputs": folder(self.declared, run), "input": next(iter(self.inputs), "")}
        return {key: _text(value) for key, value in {**self.case.values.given, **own}.items()}

    def job(
        self, number: int, name: str, own: list[int], hosts: Sequence[str], environment: Mapping[str, str]
    ) -> Job:
        values = self.values(name)
        per_node = self.run.ranks_per_node
        lists = [ranges(part) for part in placing.ranks(own, per_node)]
        shape = Shape(tuple(hosts), per_node, per_node * self.threads > len(own))
        wrapper = ["sh", str(BIND), "/".join(lists)]
        inside = contained(self.declared, self.run, self.library)
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
        where = located(self.declared.base, self.mpi.launcher)
        return self.mpi.model_copy(update={"options": options, "launcher": where})

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """Return the program's arguments; those of the cluster's file are taken as they stand."""
        threaded = self.application.thread_arguments if self.threads > 1 else []
        words = [*self.application.arguments, *self.case.arguments, *threaded]
        return [*(string.Template(word).substitute(values) for word in words), *self.site.arguments]

    def head(self, number: int, name: str, shape: Shape, values: Mapping[str, str]) -> dict[str, Any]:
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
            "timing": not shape.oversubscribed,
            "values": case_values,
            "result": self.application.result.model_dump(exclude_unset=True),
            "profile": PROFILES.get(run.factors["profiler"], ""),
            "preload": self.library,
            "node_list": list(shape.hosts),
            "program": located(declared.base, self.site.container) or self.program,
            "inputs": self.inputs,
            "forwarded": list(self.application.forward),
            "benchbook": {"commit": project.commit(declared.base), **_OWN},
        }


def _text(value: object) -> str:
    """Write a value as a file would have it: 6.0 is 6."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
