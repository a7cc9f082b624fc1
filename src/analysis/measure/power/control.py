"""Start and stop of a sampler from a job script, by a file that names its process."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.base import files, slurm
from analysis.base.errors import BenchbookError, Fault
from analysis.base.shell import born
from analysis.measure.power import config
from analysis.measure.power.output import beside

PATIENCE = 20.0  # s for the last readings; then the sampler is killed, since the job has ended
_LONGEST_START = 60.0  # s; a busy file system may take its time over Python's imports
_NODES = "nodes"  # what srun's own files are called, next to the log


def start(path: str, out: Path, nodes: str = "", until_pid: int | None = None) -> int:
    """Start samplers that outlive this process, wait until they sample, return the one ``.pid`` names.

    One on this node asks all meters that it can reach. Where meters can be read by their own node only, srun
    starts one on each other node of the job, with the log ``<out>.<node>.csv``. ``.log`` takes what the
    sampler says. `BenchbookError` if it ends instead, with what it printed, which the summary keeps, too.
    """
    more = ["--nodes", nodes] if nodes else []
    step = None
    try:
        wanted = config.load(path, slurm.node_names(nodes))
        others = [node for node in wanted.nodes if slurm.short(node) != slurm.short(config.here())]
        if not any(config.is_local(meter.options) for meter in wanted.meters):
            others = []
        step = _srun(path, more, out, others) if others and "SLURM_JOB_ID" in os.environ else None
        until = ["--until-pid", str(until_pid)] if until_pid else []
        argv = [sys.executable, "-m", "analysis.measure.power", "run", path, str(out)]
        process = _background([*argv, *more, *until], beside(out, "log"))
        _await(process, out)
    except BenchbookError as error:
        # A run without power among others that have it has to say why.
        if not beside(out, "summary.json").exists():
            files.write_json(beside(out, "summary.json"), {"error": str(error), "meters": []})
        if step is not None:
            step.send_signal(signal.SIGUSR1)
        raise
    if step is not None:
        _await_step(step, out, others)
    return process.pid


def _srun(path: str, more: Sequence[str], out: Path, others: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start a sampler of local meters on each of some nodes, in a step beside the job's."""
    size = [f"--nodes={len(others)}", f"--ntasks={len(others)}", "--ntasks-per-node=1"]
    argv = ["srun", "--overlap", *size, f"--nodelist={','.join(others)}", "--cpu-bind=none", "--mpi=none"]
    argv += ["--input=none", "--label", "--kill-on-bad-exit=0", "--job-name=power"]
    own = str(out.with_name(f"{out.stem}.{{node}}{out.suffix}").resolve())
    argv += [sys.executable, "-m", "analysis.measure.power", "run", str(Path(path).resolve()), own]
    # Local meters have no secret, and the environment of a step goes over the network.
    hidden = {*config.variables(path), "SLURMD_NODENAME"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    try:
        step = _background([*argv, *more, "--local"], beside(out, f"{_NODES}.log"), environment)
    except OSError as error:
        print(f"{out}: no srun ({error.strerror}): {', '.join(others)} sample nothing", file=sys.stderr)
        return None
    _write_pid(beside(out, f"{_NODES}.pid"), step.pid)
    return step


def _background(
    argv: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    try:
        handle = log.open("xb")
    except FileExistsError:
        raise BenchbookError.at(str(log), 0, "exists", "choose another name for the readings") from None
    except OSError as error:
        found = f"cannot be made: {error.strerror}"
        raise BenchbookError.at(str(log), 0, found, "check the path") from None
    with handle:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env=environment,
            start_new_session=True,  # a signal to the job script's group is not for the sampler
        )


def _await(process: subprocess.Popen[bytes], out: Path) -> None:
    """Wait until the sampler of this node has announced itself."""
    log = beside(out, "log")
    latest = time.monotonic() + _LONGEST_START
    while not beside(out, "pid").exists():
        if process.poll() is not None:
            printed = log.read_text(encoding="utf-8", errors="replace").strip()
            log.unlink()
            raise BenchbookError.at(str(out), 0, "the sampler did not start", printed or "it printed nothing")
        if time.monotonic() > latest:
            process.terminate()
            raise BenchbookError.at(str(out), 0, f"no sampling after {_LONGEST_START:g} s", f"see {log}")
        time.sleep(0.05)
    process.returncode = 0  # it is meant to go on: no warning when this object goes


def _await_step(step: subprocess.Popen[bytes], out: Path, others: Sequence[str]) -> None:
    """Wait for the samplers of other nodes, but not forever: the job comes first."""

    def absent() -> list[str]:
        return [node for node in others if not beside(out, f"{node}.pid").exists()]

    latest = time.monotonic() + _LONGEST_START
    while absent() and step.poll() is None and time.monotonic() < latest:
        time.sleep(0.05)
    if nodes := absent():
        hint = f"see {beside(out, f'{_NODES}.log')}; the job goes on"
        print(f"{out}: no sampler on {', '.join(nodes)}; {hint}", file=sys.stderr)
    step.returncode = 0


def stop(out: Path, *, patience: float = PATIENCE) -> None:
    """Stop the samplers of a log and wait until their files are complete.

    One that takes longer than `patience` s is killed, and its whole lines are good. `BenchbookError` then, or
    if no sampler writes that log.
    """
    file = beside(out, "pid")
    own, step = _named(file), _named(beside(out, f"{_NODES}.pid"))
    named = [(one, number) for one, number in ((own, signal.SIGTERM), (step, signal.SIGUSR1)) if one]
    faults = []
    if own is None:
        faults.append(Fault(str(file), 0, "names no sampler", "start one, or see the log"))
    for (pid, since), number in named:
        if born(pid) == since:  # else the number may belong to another process by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        else:
            remedy = f"see {beside(out, 'log')}; whole lines are good"
            faults.append(Fault(str(out), 0, "its sampler has ended already, without a summary", remedy))
    latest = time.monotonic() + patience
    for (pid, since), _ in named:
        if not _ended(pid, since, latest):
            what = f"its sampler, process {pid}, did not end in {patience:g} s"
            faults.append(Fault(str(out), 0, what, "killed; whole lines are good"))
    for left in (file, *out.parent.glob(f"{out.stem}.*.pid")):
        left.unlink(missing_ok=True)
    if faults:
        raise BenchbookError(*faults)


def _ended(pid: int, since: int, latest: float) -> bool:
    """Wait for the end of a process; kill it when it takes too long."""
    while born(pid) == since:
        if time.monotonic() > latest:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            return False
        time.sleep(0.05)
    return True


def _named(file: Path) -> tuple[int, int] | None:
    try:
        pid, since = map(int, file.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return pid, since


def announce(out: Path) -> Path:
    """Write the file that names this process as the sampler of a log; return its path."""
    file = beside(out, "pid")
    _write_pid(file, os.getpid())
    return file


def _write_pid(file: Path, pid: int) -> None:
    files.write_text(file, f"{pid} {born(pid)}\n")
