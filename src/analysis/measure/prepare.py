"""What a run's folder holds, worked out from the files of its campaign, its cluster and its application."""

import contextlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.base import files
from analysis.base.errors import BenchbookError
from analysis.measure import folders, layout
from analysis.measure.declare import PRESETS, Declaration, Declared
from analysis.measure.job import BIND, allocate
from analysis.measure.matrix import Run
from analysis.measure.script import render
from analysis.measure.workflow import minutes, plan, requested

# What decides beside the files of a campaign what a layout holds, as it was when this process read it.
_MODULES = ("cores", "declare", "job", "matrix", "mpi", "prepare", "script", "workflow")
_CODE = {
    str(path): files.sha256(path)
    for path in (PRESETS, BIND, *(Path(__file__).with_name(f"{name}.py") for name in _MODULES))
}


def made(declared: Declared, run: Run, hosts: Sequence[str], runs: Sequence[Run] = ()) -> dict[str, Any]:
    """Work out the layout of a run on some nodes; `runs` are all that share its job of Slurm.

    `ConfigError` if the files do not say enough for the run.
    """
    allocation = allocate(declared, run, hosts)
    meters = declared.cluster.path if declared.cluster.content.power is not None else None
    return {
        "nodes": run.nodes,
        "tasks": run.ranks_per_node * run.concurrent_jobs,
        "minutes": run.minutes,
        "script": render(allocation, declared.launch, meters),
        "modules": allocation.modules,
        "environment": dict(allocation.environment),
        "asked": {**requested(declared, run), "runtime": minutes(declared, runs or [run])},
        "jobs": [asdict(job) for job in allocation.jobs],
    }


def now(base: Path, campaign: str, run: str, hosts: Sequence[str], sharing: Sequence[str]) -> dict[str, Any]:
    """Work out the layout of a run from its files as they are; `sharing` are the runs in its job."""
    found = plan(campaign, base)
    return made(found.declared, found.run(run), hosts, [found.run(name) for name in sharing])


def keep(base: Path, campaign: str, runs: Sequence[str]) -> None:
    """Keep the layouts of the runs of a job that is about to be submitted, where that is possible.

    A job without one works it out itself: where the cores are those of its node, or files have changed.
    """
    declared = plan(campaign, base).declared
    if declared.launch.cores == "auto":
        return
    read: list[Declaration[Any]] = [declared.campaign, declared.cluster, *declared.applications.values()]
    sources = _CODE | {str(one.path): one.sha256 for one in read}
    for name in runs:
        with contextlib.suppress(BenchbookError, OSError):  # the job says what is wrong
            hosts = [layout.host(number) for number in range(1, plan(campaign, base).run(name).nodes + 1)]
            found = now(base, campaign, name, hosts, runs)
            path = layout.path_of(base, campaign, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.write_json(path, {"sources": sources, "layout": found})
