"""``benchbook meters``: read each power meter of a cluster once; print what it reads or what is wrong."""

from __future__ import annotations

import resource
import sys

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.slurm import node_names
from analysis.cli import BAD_INPUT, FINE
from analysis.measure.power.kinds import MeterCheck, trials


def meters(cluster: str, nodes: str) -> int:
    """Print one line for each reading, for nodes as Slurm writes them; return 1 if a meter has none.

    Raises `ConfigError` if there is no such cluster, or its meters or their secrets cannot be used.
    """
    # A dump of this process, or of a tool that it runs, would hold the secrets.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    path = project.root() / "config" / "clusters" / f"{cluster}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in path.parent.glob("*.yaml"))) or "none"
        raise ConfigError.at(f"config/clusters/{cluster}.yaml", 0, "is no cluster", f"known: {known}")
    silent = 0
    for trial in trials(path, node_names(nodes)):
        for line in _lines(trial):
            print(line, flush=True)
        for warning in trial.warnings:
            print(warning, file=sys.stderr)
        if trial.fault:
            source, found = f"config/clusters/{cluster}.yaml", f"{trial.name}: {trial.fault}"
            print(Fault(source, trial.line, found, "it would be blank in every run"), file=sys.stderr)
            silent += 1
    return BAD_INPUT if silent else FINE


def _lines(trial: MeterCheck) -> list[str]:
    limit = "accuracy not declared" if trial.accuracy is None else f"± {100 * trial.accuracy:g} %"
    return [
        f"{name:<24} {watts:8.1f} W  {trial.seconds:5.2f} s  {trial.type}, {trial.location}, {limit}"
        for name, watts in trial.watts.items()
    ]
