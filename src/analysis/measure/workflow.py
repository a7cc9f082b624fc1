"""What the rules of Snakemake ask about a campaign that is measured."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from analysis.base import files, slurm
from analysis.base.errors import ConfigError
from analysis.measure import folders
from analysis.measure.declare import Declared, load
from analysis.measure.matrix import MatrixPlan, Run, expand
from analysis.measure.mpi import built

# More than any machine has: without Slurm a run has the machine for itself.
ALL_CORES = 1_000_000
COMMENT = "rule_run_wildcards_"  # how the executor names what a job is for, with campaign and run
TOGETHER = ".together"  # a folder with the runs that share a job, by the first of them

_shared: dict[str, list[str]] = {}  # run that gets a job -> those that run after it in the same job


@lru_cache(maxsize=4)
def plan(campaign: str, base: Path) -> MatrixPlan:
    """Expand a campaign, once a process."""
    return expand(load(campaign, base))


def all_runs(campaign: str, base: Path) -> list[Run]:
    """Return the runs of a campaign, the further repeats included that what was measured asks for."""
    found = plan(campaign, base)
    if not found.adaptive:
        return list(found.runs)
    from analysis.measure.rounds import more  # reads results, which takes the whole package

    return [*found.runs, *more(found)]


def missing(campaign: str, base: Path) -> list[Run]:
    """Return the runs that are not there, in order; one that is there is never measured again."""
    there = folders.recorded(base, campaign)
    return [run for run in all_runs(campaign, base) if run.name not in there]


def run_of(campaign: str, name: str, base: Path) -> Run:
    """Return a run by name."""
    return plan(campaign, base).run(name)


def priority(run: Run) -> int:
    """Return a priority for Snakemake: of the runs that wait, the first in the shuffled order goes first.

    With Slurm, Snakemake hands over as many runs at once as its profile allows (``jobs``) in a random order
    of its own; the records tell when each started.
    """
    return 1_000_000 - run.order


def on_slurm(campaign: str, base: Path) -> bool:
    """Tell whether a campaign's runs are jobs of Slurm."""
    return plan(campaign, base).declared.launch.scheduler == "slurm"


def leaders(campaign: str, runs: Sequence[Run], base: Path) -> list[Run]:
    """Return the runs that get a job of Slurm; the others run in the job of one that asks for the same.

    `runs_per_job` of the cluster says how many share one, in the shuffled order. A repeat of all cells is not
    parted among jobs if it fits into one, so that two of them are a pair on the same nodes.
    """
    most = plan(campaign, base).declared.launch.runs_per_job if on_slurm(campaign, base) else 1
    _shared.clear()
    resources.cache_clear()
    open_: dict[str, Run] = {}
    rounds: dict[tuple[str, int], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.order):
        asked = json.dumps(requested(plan(campaign, base).declared, run), sort_keys=True) if most > 1 else ""
        rounds[asked, run.repeat].append(run)
    found = []
    for (asked, _), mine in rounds.items():
        whole = len(mine) <= most
        for at, run in enumerate(mine):
            first, more = open_.get(asked), len(mine) if whole and not at else 1
            if first is None or len(_shared[first.name]) + 1 + more > most:
                open_[asked] = first = run
                _shared[run.name] = []
                found.append(run)
            else:
                _shared[first.name].append(run.name)
    return sorted(found, key=lambda run: run.order)


def share_job(campaign: str, first: str, base: Path) -> list[str]:
    """Return the runs that come after a run in its job, and note them for who finds the job in the queue."""
    others = _shared.get(first, [])
    note = folders.running(base, campaign) / TOGETHER / f"{first}.json"
    if others:
        files.write_json(note, {"runs": others})
    else:
        note.unlink(missing_ok=True)
    return others


def sharing(campaign: str, first: str, base: Path) -> list[str]:
    """Return the runs that were submitted in one job with a run."""
    note = folders.running(base, campaign) / TOGETHER / f"{first}.json"
    return list(map(str, files.read_json(note).get("runs", ())))


def threads(campaign: str, base: Path) -> int:
    """Return the threads of a run for Snakemake: one on Slurm, where tasks are counted, else all cores."""
    return 1 if on_slurm(campaign, base) else ALL_CORES


@lru_cache(maxsize=16_384)  # Snakemake asks for each of them several times
def resources(campaign: str, name: str, base: Path) -> dict[str, str | int]:
    """Return what a run asks of Slurm, see `requested`."""
    declared, run = plan(campaign, base).declared, run_of(campaign, name, base)
    others = [run_of(campaign, other, base) for other in _shared.get(name, ())]
    return {**requested(declared, run), "runtime": minutes(declared, [run, *others])}


def minutes(declared: Declared, runs: Sequence[Run]) -> int:
    """Return the time limit of the job of some runs: of one its own, of more what they are expected to take.

    Twice that, and one whole limit; never more than all limits. A limit beyond that of the partition would
    never start, and what a job has no time for is measured by the next.
    """
    limits = [run.minutes for run in runs]
    expected = [run.seconds + declared.launch.start_up for run in runs[1:]]
    if any(math.isnan(seconds) for seconds in expected):
        return sum(limits)
    return min(sum(limits), max(limits) + math.ceil(2 * sum(expected) / 60))


def requested(declared: Declared, run: Run) -> dict[str, str | int]:
    """Return what a run asks of Slurm, in the words of Snakemake's resources; empty for nothing."""
    launch = declared.launch
    per_node = run.ranks_per_node * run.concurrent_jobs
    if launch.oversubscribe:
        per_node = min(per_node, declared.cores.count)
    parts = (launch, *launch.chosen(run.factors))
    constraints = [part.constraint for part in parts if part.constraint]
    partitions = [part.partition for part in parts if part.partition]
    extra = "--exclusive " if launch.exclusive else ""
    extra += f"--ntasks-per-node={max(2, per_node) if run.nodes == 1 else per_node}"
    # By its own resource for GPUs, Snakemake would count the tasks for each of them.
    if gpus := run.factors["gpus"]:
        extra += f" --gpus-per-node={gpus // run.nodes}"
    return {
        "nodes": run.nodes,
        # An MPI rule of one task is refused, and other rules lose Slurm's environment.
        "tasks": max(2, run.nodes * per_node),
        "cpus_per_task": int(run.factors["threads"]),
        "mem_mb": launch.memory,
        "runtime": run.minutes,
        "slurm_extra": extra,
        "constraint": "&".join(constraints),
        "slurm_partition": partitions[-1] if partitions else "",
        "slurm_account": launch.account,
    }


@lru_cache(maxsize=4)
def common(campaign: str, base: Path) -> dict[str, str | int]:
    """Return what all runs of a campaign ask of Slurm in the same way, in the words of `resources`.

    Snakemake asks functions of every job several times: without them thousands of runs are planned in half
    the time.
    """
    asked = [resources(campaign, run.name, base) for run in plan(campaign, base).runs]
    if plan(campaign, base).declared.launch.runs_per_job > 1:
        asked = [{name: value for name, value in one.items() if name != "runtime"} for one in asked]
    return {name: value for name, value in asked[0].items() if all(one[name] == value for one in asked)}


def quicken(rule: Any, campaign: str, base: Path, *, printed: bool) -> None:
    """Leave out of a dry run what nobody sees: it prints the same in half the time.

    Runs that ask for the same share one expansion of their resources, unless an option gives one an
    expression; commands are made if they are `printed`.
    """
    rule.shellcmd = rule.shellcmd if printed else ""
    if any(one.is_evaluable() and one.raw not in (None, "system_tmpdir") for one in rule.resources.values()):
        return
    expand, kept = rule.expand_resources, dict[Any, Any]()

    def shared(wildcards: Mapping[str, str], *arguments: Any, **options: Any) -> Any:
        asked = tuple(resources(campaign, wildcards["run"], base).values())
        if asked not in kept:
            kept[asked] = expand(wildcards, *arguments, **options)
        return kept[asked]

    rule.expand_resources = shared


def builds(campaign: str, base: Path) -> bool:
    """Tell whether a program has to be built before any run of a campaign."""
    found = plan(campaign, base)
    return any(found.declared.launch.applications[run.application].build for run in found.runs)


def programs(campaign: str, name: str, base: Path) -> list[str]:
    """Return the programs that have to be built before a run."""
    declared, run = plan(campaign, base).declared, run_of(campaign, name, base)
    if not declared.launch.applications[run.application].build:
        return []
    return [str(built(base, declared.cluster_name, run.factors["mpi"]).relative_to(base))]


def summary(campaign: str, base: Path, states: Mapping[str, str] | None = None) -> str:
    """Say how far a campaign is, what is missing and why attempts failed; `states` as for `failures`."""
    try:
        left = missing(campaign, base)
    except ConfigError as error:
        return str(error)
    total = len(plan(campaign, base).runs)
    lines = [f"{campaign}: {len(left)} runs are missing, of {total} in the matrix" if left else ""]
    lines += [f"  missing: {run.name}" for run in left[:50]]
    lines += [f"  and {len(left) - 50} more" if len(left) > 50 else ""]
    lines += failures(campaign, base, states)
    lines += ["  the same command measures what is missing" if left else ""]
    return "\n".join(line for line in lines if line)


def failures(campaign: str, base: Path, states: Mapping[str, str] | None = None) -> list[str]:
    """Print why attempts failed, one line each, for at most the last twenty by name.

    `states` are Slurm's of jobs: what the job itself did not see, like a lack of memory.
    """
    failed = sorted(filter(files.attempted, folders.recorded(base, campaign)))
    lines = []
    for name in failed[-20:]:
        record = folders.record_of(base, campaign, name)
        why = str(record.get("reason", "")) if record else "its record cannot be read"
        state = (states or {}).get(str(record.get("job_id", "")), "")
        told = slurm.terminal(state) and state.split()[0] not in ("COMPLETED", "FAILED")
        more = state if told else ""  # of a job that is started again it is not this attempt's end
        more = f"; Slurm says {slurm.named_user(more)}" if more and more.split()[0] not in why else ""
        lines.append(f"  failed attempt: {name}: {why}{more}")
    return lines
