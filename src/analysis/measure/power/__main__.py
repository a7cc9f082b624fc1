"""``python -m analysis.measure.power start|stop|run``: sample power while a job runs."""

import argparse
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis.base import files, slurm
from analysis.base.errors import BenchbookError
from analysis.base.shell import born
from analysis.measure.power import config, control
from analysis.measure.power.meters import Commands, Context, Meter
from analysis.measure.power.output import ENERGY, POWER, LogFile, beside, share, stamp
from analysis.measure.power.sampler import Sampler


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 fine, 1 the input is bad, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m analysis.measure.power", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (
        ("start", "start a sampler on each node of the job; returns when they sample"),
        ("run", "sample until SIGTERM or SIGINT"),
    ):
        one = commands.add_parser(name, help=what, description=what)
        one.add_argument("config", help="a cluster's file with the part power")
        one.add_argument("out", type=Path, help="CSV file to write; it must not exist")
        one.add_argument("--nodes", default="", help="the job's nodes, as Slurm writes them")
        one.add_argument("--until-pid", type=int, help="end by itself when this process is gone")
        if name == "run":
            what = "only meters that no other node can read; {node} in OUT is this node's name"
            one.add_argument("--local", action="store_true", help=what)
    what = "stop the sampler of a log and wait until its files are complete"
    one = commands.add_parser("stop", help=what, description=what)
    one.add_argument("out", type=Path, help="the CSV file")
    one.add_argument("--patience", type=float, default=control.PATIENCE, help="s (%(default)g)")
    one.add_argument("--jobs", type=Path, nargs="*", default=[], help="folders of jobs that share the log")
    given = parser.parse_args(arguments)
    try:
        if given.command == "stop":
            _stop(given.out, given.patience, given.jobs)
        elif given.command == "start":
            pid = control.start(given.config, given.out, given.nodes, given.until_pid)
            print(f"sampling into {given.out}, process {pid}")
        else:
            out = given.out.with_name(given.out.name.replace("{node}", config.here()))
            run(given.config, out, given.nodes, given.until_pid, local=given.local)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _stop(out: Path, patience: float, jobs: list[Path]) -> None:
    try:
        control.stop(out, patience=patience)
    finally:
        if len(jobs) > 1:
            share(out, jobs)


def run(path: str, out: Path, nodes: str = "", until_pid: int | None = None, *, local: bool = False) -> None:
    """Sample the meters of a cluster's file into `out` until a signal, or the end of a process, ends it.

    With `local` only the meters that no other node can read.
    """
    from analysis.measure.power.kinds import make_all  # start and stop ask no meter

    stop = threading.Event()
    # Of this process and the tools that it runs: a core file would hold their secrets.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_by_signal(stop)
    wanted = config.load(path, slurm.node_names(nodes), local=local)
    context = Context(Commands(), wanted.timeout)
    meters = make_all(wanted.meters, context)
    announced: list[Path] = []
    try:
        sampler = Sampler(wanted, meters, _open(meters, out), context, _say)
        for line in context.warnings:
            _say(line)
        # Here already, so that the readers know the meters even if the sampler is killed.
        files.write_json(beside(out, "summary.json"), sampler.summary())
        if until_pid is not None:
            threading.Thread(target=_watch, args=(until_pid, stop.set, stop), daemon=True).start()
        _say(f"{len(meters)} meter(s), every {wanted.period:g} s")
        summary = sampler.run(stop, lambda: announced.append(control.announce(out)))
        files.write_json(beside(out, "summary.json"), summary)
    finally:
        for meter in meters:
            meter.close()
        for pid_file in announced:
            pid_file.unlink(missing_ok=True)
    _say("ended")


def _end_by_signal(stop: threading.Event) -> None:
    """Set `stop` at the first signal to end.

    A handler alone would do so only once the main thread is back from its wait: never, if the signal comes
    just before it, or to another thread. It could also meet that thread with the event's lock in hand.
    """
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    # srun hands USR1 over to the tasks; TERM it takes as a wish to kill them.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)

    def wait() -> None:
        os.read(told, 1)
        stop.set()

    threading.Thread(target=wait, daemon=True).start()


def _open(meters: list[Meter], out: Path) -> dict[bool, LogFile]:
    """Open the file of powers, and that of counters beside it, as far as there are such meters."""
    logs: dict[bool, LogFile] = {}
    ranges = {name: value for meter in meters for name, value in meter.ranges().items()}
    if any(meter.counts for meter in meters):
        logs[True] = LogFile(beside(out, "energy.csv"), ENERGY, ranges)
    if any(not meter.counts for meter in meters):
        logs[False] = LogFile(out, POWER)
    return logs


def _watch(pid: int, end: Callable[[], None], stop: threading.Event) -> None:
    while not stop.wait(1.0):
        if born(pid) is None:
            _say(f"process {pid} is gone")
            end()


def _say(line: str) -> None:
    print(f"{stamp(time.time_ns())} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
