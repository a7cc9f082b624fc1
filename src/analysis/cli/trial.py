"""``benchbook try CAMPAIGN``: one cheap run of a campaign goes first, and shows what the others can rely on.

It goes the way of every run, so it is one of the campaign. Its record is then asked for binding, link, power
meter and profiler: a line each of what is proved, or of what is missing with the remedy.
"""

import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis import readers
from analysis.base import files, project
from analysis.base.errors import BenchbookError
from analysis.base.words import counted
from analysis.measure import folders
from analysis.measure.cost import to_fill_in
from analysis.measure.declare import Declared
from analysis.measure.matrix import MatrixPlan, Run
from analysis.measure.workflow import on_slurm, plan

PROVED, MISSING = "proved", "missing"
_UNSTARTED = MISSING, "the run failed before its ranks were started"
_NOISE = 100_000  # B on a device that say nothing: daemons send so much
# As sbatch says it, and as Snakemake does, which looks for the account itself.
_REFUSAL = re.compile(
    r"sbatch: error: ([^'\n]+)|message: Job submission failed with exception: (.+\n.+?)For f"
)
Verdict = tuple[str, str, str]  # what, proved or missing, why with the remedy


def try_campaign(name: str) -> int:
    """Measure the cheapest run that can show the most, unless it is there; 1 if something is missing."""
    base = project.here()
    found = plan(name, base)
    run = cheapest(found)
    recorded, code = run.name, 0
    if not folders.measured(base, name, run.name):
        before, began = folders.recorded(base, name), time.time()
        if empty := to_fill_in(found.declared.cluster.path):
            print(f"job: {MISSING}: fill in {empty[0]}")
            return 1
        nodes = counted(run.nodes, "node")
        print(f"{name}: {run.name}, on {nodes}, is measured first", file=sys.stderr, flush=True)
        code = _measure(name, run, base)
    if not folders.measured(base, name, run.name):
        new = folders.recorded(base, name) - before
        failed = sorted(one for one in new if files.attempted(one) == run.name)
        if not failed:
            what = _refused(base, found.declared, began) or _not_built(base, began)
            what = what or f"Snakemake ended with {code} and no record was left; its output above says why"
            print(f"job: {MISSING}: {what}; put it right, then try again")
            return 1
        recorded = failed[-1]
    where = folders.finished(base, name) / recorded
    record = files.read_json(where / folders.RECORD)
    verdicts = list(verdicts_of(found.declared, run, record, where))
    for what, word, why in verdicts:
        print(f"{what}: {word}: {why}")
    return int(any(word == MISSING for _, word, _ in verdicts))


def cheapest(found: MatrixPlan) -> Run:
    """Return the run that shows the most, a profile and a link, and of those the one of least node time."""

    def price(run: Run) -> tuple[int, float, int]:
        shows = (str(run.factors["profiler"]) != "none", run.nodes > 1)
        seconds = 60.0 * run.minutes if math.isnan(run.seconds) else run.seconds
        return -sum(shows), run.nodes * seconds, run.order

    return min(found.runs, key=price)


def _measure(name: str, run: Run, base: Path) -> int:
    """Let the workflow measure one run, as it does all of them."""
    how = ["--profile", "slurm"] if on_slurm(name, base) else ["--cores", "all"]
    target = f"data/raw/{name}/runs/{run.name}/run.json"
    command = [sys.executable, "-m", "snakemake", *how, target, "--config", f"measure={name}"]
    with subprocess.Popen(command, cwd=base, stdout=sys.stderr) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The terminal has told Snakemake too: killed before it has ended its jobs, it leaves a lock.
                print(f"{name}: waiting until Snakemake has ended its job", file=sys.stderr, flush=True)


def _refused(base: Path, declared: Declared, began: float) -> str:
    """Return why Slurm took no job, by what Snakemake has logged since then; empty if it did."""
    logs = [path for path in (base / ".snakemake/log").glob("*.log") if path.stat().st_mtime >= began - 1]
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(logs))
    said = [files.one_line(found[1] or found[2]) for found in _REFUSAL.finditer(text)]
    if not said:
        return ""
    source = os.path.relpath(declared.cluster.path, declared.base)
    return f"Slurm refused the job: {'; '.join(dict.fromkeys(said))} (see 'launch' in {source})"


def _not_built(base: Path, began: float) -> str:
    """Return why the proxy was not built, by what its builds have logged since then; empty if it was."""
    logs, programs = base / "results/logs/proxy", base / "results/proxy"
    failed = [
        path
        for path in sorted(logs.rglob("*.log"))
        if path.stat().st_mtime >= began - 1
        and not (programs / path.relative_to(logs).with_suffix("") / "proxy").is_file()
    ]
    said = (path.read_text(encoding="utf-8", errors="replace").strip() for path in failed)
    return "; ".join(files.one_line(text.splitlines()[-1]) for text in said if text)


def verdicts_of(declared: Declared, run: Run, record: Mapping[str, Any], folder: Path) -> Iterator[Verdict]:
    """Yield each part of a recorded run, with whether it is proved and why."""
    log = f"see {os.path.relpath(folder)}/stderr.txt"
    if record.get("reason"):
        yield "job", MISSING, f"{record['reason']}; {log}"
    else:
        nodes = ",".join(record.get("node_list") or ())
        number = f"job {record['job_id']}" if record.get("job_id") else "the run"
        yield "job", PROVED, f"{number} on {nodes} ended well"
    yield ("binding", *_binding(record))
    yield ("link", *_link(run, record))
    yield ("power meter", *_power(declared, folder))
    yield ("profiler", *_profiler(declared, run, record, folder))


def _unstarted(record: Mapping[str, Any]) -> bool:
    """Tell whether a run lacked its program or input, so that no launcher was started."""
    return str(record.get("reason")).startswith("no ")


def _binding(record: Mapping[str, Any]) -> tuple[str, str]:
    known = record.get("binding") or {}
    rows = [line.split() for line in known.get("ranks") or ()]
    if not rows and _unstarted(record):
        return _UNSTARTED
    if not rows:
        return MISSING, "no rank noted its cores: see stderr.txt; 'start' of the MPI library may be another"
    wrong = [row for row in rows if row[2] != row[3]]
    if not known.get("as_asked") and wrong:
        rank, node, asked, real = wrong[0]
        what = f"rank {rank} on {node} should have cores {asked} and has {real}"
        return MISSING, f"{what}; compare 'cores' of the cluster with what Slurm gives a job"
    if len(rows) != record.get("ranks"):
        return MISSING, f"{len(rows)} of {record.get('ranks')} ranks noted their cores; see stderr.txt"
    return (
        PROVED,
        f"{len(rows)} ranks have the cores that were asked for, rank 0 {rows[0][3]} on {rows[0][1]}",
    )


def _link(run: Run, record: Mapping[str, Any]) -> tuple[str, str]:
    if run.nodes < 2:
        return MISSING, "no run that was tried has two nodes; add one to the matrix if a link is compared"
    traffic = {device: count for device, count in (record.get("traffic") or {}).items() if count > _NOISE}
    if not traffic and _unstarted(record):
        return _UNSTARTED
    if not traffic:
        what = f"no device of the first node sent or received {_NOISE / 1e3:.0f} kB"
        if record.get("reason"):
            return MISSING, f"{what}, and the run failed: put that right first"
        return MISSING, f"{what}; its driver may count elsewhere: compare the times of two links by hand"
    device = max(traffic, key=lambda one: traffic[one])
    carried = f"{device} carried {traffic[device] / 1e6:.1f} MB at the first node, more than any other"
    environment = record.get("environment") or {}
    names = {
        other: variable
        for variable, text in sorted(environment.items())
        for other in record["traffic"]
        if re.search(rf"(?<![\w.]){re.escape(other.partition('/')[0])}(?![\w.])", str(text))
    }
    if device in names:
        return PROVED, f"{carried}; {names[device]} names it"
    if names:
        named = ", ".join(f"{variable} names {other}" for other, variable in names.items())
        return MISSING, f"{carried}, but {named}; does the MPI library know this variable?"
    what = "no variable of the run names a device"
    return MISSING, f"{carried}; {what}: give one in 'environment' of the link (docs/measure.md)"


def _power(declared: Declared, folder: Path) -> tuple[str, str]:
    source = os.path.relpath(declared.cluster.path, declared.base)
    if declared.cluster.content.power is None:
        return MISSING, f"{source} has no meter; docs/power.md has them, and a simulated one"
    readings: dict[str, int] = {}
    for path in sorted(folder.glob("power*.csv")):
        try:
            ds = readers.open(path)
        except BenchbookError:  # a log without a row
            continue
        for meter, values in zip(
            ds["meter"].values, ds["power"].transpose("meter", "time").values, strict=True
        ):
            readings[str(meter)] = readings.get(str(meter), 0) + sum(not math.isnan(one) for one in values)
    summary = files.read_json(folder / "power.summary.json")
    names = {str(one.get("name")) for one in summary.get("meters") or ()}
    # A meter of several parts has one of them behind its name: cpu-n1:package-0:0.
    spoken = {part for name, count in readings.items() if count for part in (name, name.partition(":")[0])}
    silent = sorted((names | readings.keys()) - spoken)
    if silent or not readings:
        what = f"no reading of {', '.join(silent) or 'any meter'} during the run"
        return MISSING, f"{what}; ask it: benchbook meters {declared.cluster_name} --nodes NODES"
    return PROVED, ", ".join(f"{name} {count} readings" for name, count in sorted(readings.items()))


def _profiler(declared: Declared, run: Run, record: Mapping[str, Any], folder: Path) -> tuple[str, str]:
    if not record.get("profile"):
        known = ", ".join(declared.launch.profilers)
        has = f"the cluster has {known}" if known else "declare one under 'launch'"
        return MISSING, f"no run has a profiler; {has}, then add it to the matrix (docs/measure.md)"
    for path in sorted(folder.glob(record["profile"])):
        try:
            ds = readers.open(path)
        except BenchbookError as error:
            return MISSING, f"{error}"
        ranks, calls = ds.sizes.get("rank", 0), ds.sizes.get("obs", 0)
        if ranks == record.get("ranks"):
            return PROVED, f"{path.name} of {record['profiler']} has {ranks} ranks and {calls} rows of calls"
        return (
            MISSING,
            f"{path.name} has {ranks} ranks, {record.get('ranks')} ran; which MPI library was it built with?",
        )
    library = (record.get("profiler_library") or {}).get("path") or record.get("preload")
    return (
        MISSING,
        f"{library} was preloaded and left no {record['profile']}; was it built with this MPI library?",
    )
