"""``benchbook plan``, ``meters``, ``meter-simulator``: a campaign's runs, power meters, a simulated one."""

import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.models import known
from analysis.base.slurm import node_names
from analysis.cli import BAD_INPUT, FINE
from analysis.cli.parser import WRONG_USAGE
from analysis.measure.cost import print_plan
from analysis.measure.power.bmc import LOOPBACK
from analysis.measure.power.kinds import MeterCheck, trials


def cluster_file(cluster: str, base: Path) -> Path:
    """Return the file of a cluster; `ConfigError` if there is none."""
    path = base / "config" / "clusters" / f"{cluster}.yaml"
    if not path.is_file():
        there = sorted(one.stem for one in path.parent.glob("*.yaml"))
        raise ConfigError.at(f"config/clusters/{cluster}.yaml", 0, "is no cluster", known(cluster, there))
    return path


def meters(cluster: str, nodes: str) -> int:
    """Print one line for each reading, for nodes as Slurm writes them; return 1 if a meter has none.

    Raises `ConfigError` if there is no such cluster, or its meters or their secrets cannot be used.
    """
    path = cluster_file(cluster, project.root())
    # A dump of this process, or of a tool that it runs, would hold the secrets.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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


def simulate_meter(*, address: str, port: int, idle: float, busy: float) -> int:
    """Serve this machine's load as watts until a signal ends it; `idle` and `busy` in W.

    Raises `ConfigError` if the port is taken or the machine does not tell its load.
    """
    from analysis.measure.power import simulator

    if not 0 <= idle <= busy:
        what = f"{idle:g} W when idle and {busy:g} W when busy"
        raise ConfigError.at("--idle", 0, what, "give --busy not less than --idle")
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell that starts it beside others ignores Ctrl-C
        signal.signal(number, signal.default_int_handler)
    power = simulator.SimulatedPower(idle, busy)
    with simulator.server(address, port, power.watts) as service, suppress(KeyboardInterrupt):
        url = f"http://{address}:{service.server_address[1]}{simulator.RESOURCE}"
        open_ = "" if address in LOOPBACK else ", insecure: true"
        print("simulated power, from this machine's load; no energy is made of it. In the cluster's file:\n")
        print(f'power:\n  meters:\n    - {{type: redfish, name: simulator, url: "{url}"{open_}}}\n')
        print("Ctrl-C ends it", flush=True)
        service.serve_forever()
    return FINE


def plan(name: str, *, claim: str, cluster: str, runs: bool, as_json: bool) -> int:
    """Print the plan of a campaign; write the campaign first if it is a claim's."""
    if bool(name) == bool(claim) or (cluster and not claim):
        print(
            "benchbook plan: give a CAMPAIGN, or --claim ID (with --cluster, if you have one)",
            file=sys.stderr,
        )
        return WRONG_USAGE
    if not claim:
        return print_plan(name, runs=runs, as_json=as_json)
    from analysis.measure.draft import draft

    made = draft(claim, cluster)
    print(made.report(project.root()), file=sys.stderr if as_json else sys.stdout)
    try:
        return print_plan(next(iter(made.files)).stem, runs=runs, as_json=as_json)
    except ConfigError:
        if not cluster:  # else the user has to say what it does not have, or calls otherwise
            made.remove()
        raise
