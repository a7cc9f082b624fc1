"""What one run of the matrix comes to on its nodes: environment, command of each job, head of its record."""

from __future__ import annotations

import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis import project
from analysis.campaign import cores as placing
from analysis.campaign.declarations import Declared
from analysis.campaign.launchers import OWN_BINDING_OFF, Shape, launch_line
from analysis.campaign.matrix import Run
from analysis.errors import ConfigError

BIND = Path(__file__).with_name("bind.sh")
# The profiler writes into the run's folder, and all that it can.
PROFILERS: dict[str, dict[str, str]] = {
    "ipm": {"IPM_REPORT": "full", "IPM_LOG": "full", "IPM_LOGDIR": "."},
    "mpip": {},
}
PROFILES = {"ipm": "*.ipm.xml", "mpip": "*.mpiP"}
# A case's values that are variables of the record; the others are told in `values`.
RECORDED = ("local_size", "target_time")


@dataclass(frozen=True)
class Job:
    """One of the jobs that a run starts at once.

    Attributes
    ----------
    name : str
        Name of its record.
    command : list of str
        Launch line, not quoted.
    cores : list of str
        Cores of each local rank.
    files : mapping of str to str
        Input files that are written for it.
    head : mapping
        What its record says whatever happens.
    """

    name: str
    command: list[str]
    cores: list[str]
    files: Mapping[str, str]
    head: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Allocation:
    """A run on its nodes.

    Attributes
    ----------
    modules : list of str
        Environment modules, in the order in which they are loaded.
    environment : mapping of str to str
        Variables that the script exports.
    jobs : list of Job
    """

    modules: list[str]
    environment: Mapping[str, str]
    jobs: list[Job]


def allocate(declared: Declared, run: Run, hosts: Sequence[str]) -> Allocation:
    """Work out the jobs of a run.

    Parameters
    ----------
    declared : Declared
    run : Run
    hosts : sequence of str
        The nodes that the run was given.

    Returns
    -------
    Allocation

    Raises
    ------
    ConfigError
        If there are not as many nodes as the run needs.
    """
    if len(hosts) != run.nodes:
        what = f"{run.name} needs {run.nodes} nodes and has {len(hosts)}: {','.join(hosts)}"
        raise ConfigError.at(
            declared.campaign.source, 0, what, "start it by the workflow, which asks for them"
        )
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
        self.mpi = launch["mpi"][run.factors["mpi"]]
        self.site = launch["applications"][run.application]
        self.application = declared.applications[run.application].document["launch"]
        self.case = self.application["cases"][run.case]
        self.tuning = declared.tunings[run.factors["tuning"]]
        self.profiler = launch.get("profilers", {}).get(run.factors["profiler"], {})
        self.levels = [
            launch[factor][run.factors[factor]]
            for factor in ("cpu", "dimm", "interconnect")
            if run.factors[factor]
        ]
        self.threads = int(run.factors["threads"])

    def modules(self) -> list[str]:
        return [
            str(name) for part in (self.mpi, self.site, self.profiler) for name in part.get("modules", [])
        ]

    def environment(self) -> dict[str, str]:
        """Join the variables; what is more special comes later and wins."""
        parts: list[Mapping[str, Any]] = [
            {"OMP_NUM_THREADS": self.threads},
            OWN_BINDING_OFF[self.mpi["family"]],
        ]
        parts += [part.get("environment", {}) for part in (self.declared.launch, self.mpi, *self.levels)]
        parts += [part.get("environment", {}) for part in (self.tuning, self.site)]
        parts += [PROFILERS.get(self.run.factors["profiler"], {}), self.profiler.get("environment", {})]
        return {name: _text(value) for part in parts for name, value in part.items()}

    def program(self) -> list[str]:
        base = self.declared.base
        if "build" in self.site:
            return [str(built(base, self.declared.cluster_name, self.run.factors["mpi"]))]
        program = self.site.get("program") or self.site["programs"].get(self.run.factors["mpi"])
        if program is None:
            where = ("launch", "applications", self.run.application, "programs")
            what = f"no program for MPI {self.run.factors['mpi']!r}"
            raise ConfigError(self.declared.cluster.fault(where, what, "add it or exclude the combination"))
        try:
            program = string.Template(program).substitute(case=self.run.case)
        except (KeyError, ValueError) as error:
            place = ("launch", "applications", self.run.application)
            raise ConfigError(
                self.declared.cluster.fault(place, f"{program!r}: {error}", "only ${case} is known")
            ) from None
        if "container" not in self.site:
            return [_path(base, program)]
        preload = ["--env", f"LD_PRELOAD={self.profiler['library']}"] if self.profiler else []
        return ["apptainer", "exec", *preload, _path(base, self.site["container"]), str(program)]

    def values(self, name: str) -> dict[str, str]:
        run = self.run
        own = {"run": name, "nodes": run.nodes, "ranks_per_node": run.ranks_per_node, "repeat": run.repeat}
        own |= {"ranks": run.nodes * run.ranks_per_node, "threads": self.threads}
        own |= {"inputs": _path(self.declared.base, self.site["inputs"]) if "inputs" in self.site else ""}
        return {key: _text(value) for key, value in {**self.case.get("values", {}), **own}.items()}

    def job(
        self, number: int, name: str, own: list[int], hosts: Sequence[str], environment: Mapping[str, str]
    ) -> Job:
        values = self.values(name)
        per_node = self.run.ranks_per_node
        lists = [placing.compact(part) for part in placing.ranks(own, per_node)]
        shape = Shape(tuple(hosts), per_node, per_node * self.threads > len(own))
        mpi = {**self.mpi, "options": [*self.mpi.get("options", []), *self.tuning.get("options", [])]}
        if "/" in str(mpi.get("launcher", "")):
            mpi["launcher"] = _path(self.declared.base, mpi["launcher"])
        contained = "container" in self.site
        preload = str(self.profiler["library"]) if self.profiler and not contained else "-"
        words = [*self.application["arguments"], *self.case.get("arguments", [])]
        arguments = [string.Template(word).substitute(values) for word in words]
        command = [*launch_line(mpi, shape, environment), "sh", str(BIND), "/".join(lists), preload]
        command += [*self.program(), *arguments]
        texts = self.application.get("files", {})
        files = {file: string.Template(text).substitute(values) for file, text in texts.items()}
        return Job(name, command, lists, files, self.head(number, name, shape, values))

    def head(self, number: int, name: str, shape: Shape, values: Mapping[str, str]) -> dict[str, Any]:
        """Say in the record's words what is known before the start."""
        run, declared, factors = self.run, self.declared, self.run.factors
        case_values = self.case.get("values", {})
        return {
            "run": name,
            "campaign": declared.name,
            "evidence": declared.campaign.document["evidence"],
            "cluster": declared.cluster_name,
            "application": run.application,
            "case": run.case,
            **{key: case_values[key] for key in RECORDED if key in case_values},
            "question": run.subset,
            "nodes": run.nodes,
            "ranks": shape.ranks,
            "ranks_per_node": shape.ranks_per_node,
            "threads": self.threads,
            **{key: factors[key] for key in ("interconnect", "cpu", "dimm", "tuning", "placement")},
            "mpi": self.mpi["name"],
            "build": self.site.get("variant", ""),
            "profiler": None if factors["profiler"] == "none" else factors["profiler"],
            "concurrent_jobs": run.concurrent_jobs,
            "job_of_run": number,
            "repeat": run.repeat,
            "order": run.order,
            # Ranks that wait for each other's cores are not timed.
            "timing": not shape.oversubscribed,
            "values": dict(case_values),
            "result": dict(self.application["result"]),
            "profile": PROFILES.get(factors["profiler"], ""),
            "preload": str(self.profiler.get("library", "")),
            "node_list": list(shape.hosts),
            "program": _path(declared.base, self.site["container"])
            if "container" in self.site
            else self.program()[-1],
            "inputs": {
                f"{values['inputs']}/{file}": digest for file, digest in self.case.get("inputs", {}).items()
            },
            "benchbook": {"commit": project.commit(declared.base), "python": sys.version.split()[0]},
        }


def built(base: Path, cluster: str, mpi: str) -> Path:
    """Return where the program in ``src/proxy`` is built for a cluster's MPI library."""
    return base / "results" / "proxy" / cluster / mpi / "proxy"


def _path(base: Path, path: str) -> str:
    """Make a path absolute; a bare name is left for PATH to find."""
    return str(base / path) if "/" in str(path) else str(path)


def _text(value: object) -> str:
    """Write a value as a file would have it: 6.0 is 6."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
