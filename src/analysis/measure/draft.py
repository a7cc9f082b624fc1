"""``benchbook plan --claim``: the campaign that would test a claim, and the cluster that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.base.files import write_text
from analysis.base.words import Level
from analysis.claims.model import Claim, load_report
from analysis.claims.needed import Needed, needed
from analysis.datasets.applications import load_applications
from analysis.measure.cores import PLACEMENTS
from analysis.measure.declare import PRESETS, Family, Presets
from analysis.schema.campaigns import Application

# How a report's name of a library begins -> the family that starts it; any other is taken as the last.
_FAMILIES: dict[str, Family] = {
    "hpc": "hpcx",
    "mpich": "mpich",
    "intel": "intelmpi",
    "mvapich": "mvapich2",
    "platform": "platformmpi",
    "hp-mpi": "platformmpi",
    "ibverbs": "charm",
    "": "openmpi",
}
# What "tuned" is for a family, of src/analysis/measure/presets.yaml.
_TUNED: dict[Family, str] = {
    "openmpi": "fca-mxm",
    "hpcx": "hcoll",
    "intelmpi": "shm-ofa",
    "mvapich2": "no-rdma-fast-path",
    "platformmpi": "xrc",
}
# Of a comparison in one matrix; other factors are of the program, or of another machine.
_FACTORS = ("interconnect", "mpi", "tuning", "cpu", "dimm", "nodes", "ranks_per_node", "concurrent_jobs")
_CORES = 20

_CAMPAIGN = """\
# Levels are called as in the report: a level of yours that only stands for one belongs under `levels`, with
# its distance and how it differs.
"""
_CLUSTER = """\
# The cluster that the campaign of the same name asks for. Fill in what is yours: cores of each socket, memory
# in MB, partition, each /path/to, names of libraries with their versions (then under `levels` of the campaign
# too), and by which partition, constraint or environment a level of interconnect, cpu or dimm is chosen.
"""


def draft(name: str, cluster: str = "") -> tuple[list[Path], list[str]]:
    """Write the campaign that would test a claim, called as the claim; return the files and what to fill in.

    Without a `cluster` that is there, a file of one with the same name is written beside it. Raises
    ConfigError if there is no such claim, if its runs are no matrix, or if a file is there already.
    """
    base = project.root()
    claim = find(name, base)
    wanted = needed(claim)
    applications = load_applications(base / "config" / "applications")
    cases = _cases(claim, wanted, applications)
    subsets = _subsets(wanted, cases)
    files = {
        project.declaration(claim.id, base): _campaign(claim, wanted, cases, subsets, cluster or claim.id)
    }
    todo = _beyond(wanted)
    if not cluster:
        application = applications[wanted.application]
        path = base / "config" / "clusters" / f"{claim.id}.yaml"
        files[path] = _cluster(claim, wanted, application, cases, subsets)
        todo.insert(
            0, f"config/clusters/{claim.id}.yaml: cores, memory, partition, launchers and each /path/to"
        )
        todo.insert(1, "how each level of interconnect, cpu and dimm is chosen: its partition or environment")
    else:
        todo.insert(0, f"levels that {cluster} calls otherwise, in the campaign's file")
    for path in files:
        if path.exists():
            raise ConfigError.at(str(path.relative_to(base)), 0, "exists already", "remove or rename it")
    for path, text in files.items():
        write_text(path, text)
    return list(files), todo


def find(name: str, base: Path) -> Claim:
    """Return a claim of any report by its id or one of those that it covers."""
    for path in sorted((base / "config" / "claims").glob("*.yaml")):
        if path.stem == "not_testable":
            continue
        for claim in load_report(path).claims:
            if name in (claim.id, *claim.ids):
                return claim
    raise ConfigError.at("--claim", 0, f"no claim is called {name!r}", "list them: benchbook verdicts")


def _beyond(wanted: Needed) -> list[str]:
    """Name what the runs need and no matrix says."""
    found = [
        f"what stands for {factor} {' and '.join(map(str, wanted.levels[factor]))}, under `levels`"
        for factor in ("cluster", "build", "target_time")
        if factor in wanted.levels
    ]
    if wanted.energy:
        found.append("a power meter of each node, `power` of the cluster's file")
    if "nodes" not in wanted.levels:
        found.append("the number of nodes, on which the report is silent")
    return found


def _cases(claim: Claim, wanted: Needed, applications: Mapping[str, Application]) -> dict[str, str]:
    """Find the application's case for each of the report's; refuse what cannot be a matrix."""
    if wanted.looked_up:
        raise ConfigError.at("--claim", 0, f"no run tests {claim.id!r}", f"it needs {wanted.line}")
    source = f"config/applications/{wanted.application}.yaml"
    application = applications.get(wanted.application)
    if application is None or application.launch is None:
        what = f"nothing says how to start {wanted.application!r}"
        raise ConfigError.at(source, 0, what, "declare its launch there")
    for factor in wanted.compared:
        if factor not in (*_FACTORS, "case"):
            what = f"claim {claim.id!r} compares {factor}, which no matrix can vary"
            raise ConfigError.at("--claim", 0, what, "measure a campaign for each level of it")
    known = {_plain(name): name for name in application.launch.cases}
    found = {}
    for case in wanted.cases or tuple(application.launch.cases)[:1]:
        if _plain(case) not in known:
            there = ", ".join(application.launch.cases)
            raise ConfigError.at(source, 0, f"has no case for {case!r}", f"declare one; there are {there}")
        found[case] = known[_plain(case)]
    return found


def _plain(case: str) -> str:
    text = re.sub(r"^(\d+)³$", r"nx\1", case.removeprefix("osu_"))
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _subsets(wanted: Needed, cases: Mapping[str, str]) -> list[dict[str, Any]]:
    """Make a subset for each MPI library: what tunes one is nothing to another."""
    levels = wanted.levels
    alike = _alike(wanted)
    found = []
    for mpi in as_names(levels.get("mpi") or [_library(levels.get("tuning", ()))]):
        tunings = [_tuning(str(level), mpi) for level in levels.get("tuning", ())]
        factors = {"mpi": [mpi], **alike, **({"tuning": list(dict.fromkeys(tunings))} if tunings else {})}
        found.append(
            {
                "name": mpi,
                "why": wanted.line,
                "application": wanted.application,
                "case": one_or_list(list(dict.fromkeys(cases.values()))),
                "factors": {factor: one_or_list(every) for factor, every in factors.items()},
            }
        )
    return found


def _alike(wanted: Needed) -> dict[str, list[Any]]:
    """Return the levels of the factors that every library has alike."""
    levels = wanted.levels
    found: dict[str, list[Any]] = {
        factor: as_names(levels[factor]) for factor in ("interconnect", "cpu", "dimm") if factor in levels
    }
    for factor in ("nodes", "ranks_per_node", "concurrent_jobs"):
        if factor in levels:
            found[factor] = _counts(levels[factor])
    if "ranks_per_node" in wanted.varying:  # all that a job has: half of them where two jobs run at once
        found["ranks_per_node"] = ["all"]
    found.setdefault("nodes", [2 if "interconnect" in wanted.compared else 1])
    if "ranks" in levels and "ranks_per_node" not in levels:
        # So many ranks in all, on the fewest nodes asked for.
        found["ranks_per_node"] = [max(1, -(-max(_counts(levels["ranks"])) // min(found["nodes"])))]
    if wanted.profile:
        found["profiler"] = ["ipm"]
    placements = levels.get("placement", ())
    if placements and set(placements) <= set(PLACEMENTS):
        found["placement"] = as_names(placements)
    return found


def _library(tunings: Iterable[Level]) -> str:
    """Return the library of a report that names none: one that its tuning is for."""
    known = models.load(Presets, PRESETS).tuning
    families = [family for level in map(str, tunings) if level in known for family in known[level].families]
    return families[0] if families else "openmpi"


def _tuning(level: str, mpi: str) -> str:
    return {"untuned": "default", "tuned": _TUNED.get(family_of(mpi), "default")}.get(level, level)


def family_of(mpi: str) -> Family:
    """Tell the family of an MPI library by how its name begins; what nobody knows is taken as Open MPI."""
    return next(family for head, family in _FAMILIES.items() if mpi.lower().startswith(head))


def as_names(levels: Iterable[Level]) -> list[str]:
    """Spell levels as a file may name them."""
    return [re.sub(r"[^A-Za-z0-9._-]+", "-", str(level)).strip("-.") for level in levels]


def _counts(levels: Iterable[Level]) -> list[int]:
    return sorted({int(level) for level in levels if isinstance(level, int | float)})


def one_or_list(levels: list[Any]) -> Any:
    """Write one level alone."""
    return levels[0] if len(levels) == 1 else levels


def _campaign(
    claim: Claim, wanted: Needed, cases: Mapping[str, str], subsets: list[dict[str, Any]], cluster: str
) -> str:
    spelt: dict[str, dict[str, Any]] = {}
    for case, own in cases.items():
        if case != own:
            spelt.setdefault("case", {})[case] = {"is": own}
    if "tuning" in wanted.levels:
        for level in map(str, wanted.levels["tuning"]):
            presets = list(dict.fromkeys(_tuning(level, one["factors"]["mpi"]) for one in subsets))
            if presets != [level]:
                spelt.setdefault("tuning", {})[level] = {"is": one_or_list(presets)}
    content: dict[str, Any] = {
        "title": claim.statement,
        "evidence": "measured",
        "hardware": "${machine}",
        "notes": [f"It would test {claim.id}: {wanted.line}."],
        "levels": spelt,
        **({"profiler": "ipm"} if wanted.profile else {}),
        "matrix": {"cluster": cluster, "seed": 1, "repeats": wanted.repeats, "subsets": subsets},
    }
    return _CAMPAIGN + as_yaml(content)


def _cluster(
    claim: Claim,
    wanted: Needed,
    application: Application,
    cases: Mapping[str, str],
    subsets: list[dict[str, Any]],
) -> str:
    factors = [one["factors"] for one in subsets]
    nodes, ranks, jobs = (
        max(_counts(_each(factors, name)), default=1)
        for name in ("nodes", "ranks_per_node", "concurrent_jobs")
    )
    half = -(-max(_CORES, ranks * jobs) // 2)
    launch: dict[str, Any] = {
        "scheduler": "slurm",
        "nodes": nodes,
        "cores": [f"0-{half - 1}", f"{half}-{2 * half - 1}"],
        "memory": 64000,
        "minutes": 60,
        "partition": "batch",
        "mpi": {one["mpi"]: library(one["mpi"]) for one in factors},
    }
    for factor in ("interconnect", "cpu", "dimm"):
        if levels := _each(factors, factor):
            launch[factor] = {level: {} for level in levels}
    if wanted.profile:
        launch["profilers"] = {"ipm": {"library": "/path/to/libipm.so"}}
    launch["applications"] = {wanted.application: _site(wanted, application, cases)}
    facts = [{"what": "CPU, memory, network", "value": "fill in", "source": "data sheet"}]
    return _CLUSTER + as_yaml({"title": f"A cluster for {claim.id}", "facts": facts, "launch": launch})


def library(name: str) -> dict[str, str]:
    """Write the entry of an MPI library in a cluster's file."""
    family = family_of(name)
    return {"family": family, "name": name, "start": "charmrun" if family == "charm" else "mpirun"}


def _site(wanted: Needed, application: Application, cases: Mapping[str, str]) -> dict[str, str]:
    """Say where the program and its input would lie."""
    program = f"/path/to/{wanted.application}" + "_${case}" * (wanted.application == "osu")
    launch = application.launch
    inputs = launch and (launch.link_inputs or any(launch.cases[one].inputs for one in cases.values()))
    return {"program": program, **({"inputs": "/path/to/inputs"} if inputs else {})}


def _each(factors: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    found: list[Any] = []
    for one in factors:
        level = one.get(name, [])
        found += level if isinstance(level, list) else [level]
    return list(dict.fromkeys(found))


def as_yaml(content: Mapping[str, Any]) -> str:
    """Write a file's content as YAML, in its order."""
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110))
