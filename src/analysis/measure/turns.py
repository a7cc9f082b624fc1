"""``python -m analysis.measure.turns CAMPAIGN RUN RUN...``: the runs that share a job of Slurm, one by one.

Each is started by a process of its own (`launch`), which becomes the run's script. Memory counts for the
whole job: this process, which stays while programs are measured, imports next to nothing.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

ENDED = 143  # as a shell gives it for TERM
SHELL = "BENCHBOOK_SHELL"  # number of the job's own shell, see start.sh
ORPHANED = "not begun: the shell of this job was killed"
_RUN = f"{os.path.dirname(__file__)}/run.sh"  # noqa: PTH120 - pathlib costs memory too
_BUSY = 75  # of `launch`, whose modules would stay in memory
_GRACE = 30.0  # s that a run has for its record after its time


def main(argv: Sequence[str] | None = None) -> int:
    """Start each run after the one before; return the status of the first."""
    campaign, *runs = sys.argv[1:] if argv is None else argv
    codes = list[int]()
    shell = os.environ.get(SHELL, "")
    for run in runs:
        if is_orphan(shell):
            print(f"{run}: {ORPHANED}", flush=True)
            return ENDED
        command = ["sh", _RUN, sys.executable, campaign, run]
        codes.append(supervise(command, ["--sharing", *runs]))
        if codes[-1] == ENDED:
            break
    if set(codes) <= {0, _BUSY}:  # those that this job has measured have their records
        _note_idle(campaign, runs[0])
    return codes[0]


def is_orphan(shell: str) -> bool:
    """Tell whether the job's shell, this process's parent, was killed; the number is empty without a job."""
    return bool(shell) and os.getppid() != int(shell)


def _note_idle(campaign: str, run: str) -> None:
    from analysis.base import project  # these cost memory: not while a program is measured
    from analysis.measure import folders

    base = project.root()
    note = folders.note_of(base, campaign, os.environ.get("SLURM_JOB_ID", ""), folders.of_slurm())
    folders.note_idle(note, base, campaign, run)


def supervise(command: Sequence[str], more: Sequence[str] = (), grace: float = _GRACE) -> int:
    """Run a command and end it after its time, for the next run of the job has its own; return its status.

    It gets the number of a file behind ``--tell``, in which it says how many s it may take from then on.
    The status is `ENDED` if this job itself got a signal to end.
    """
    told: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: object) -> None:
        told.append(number)
        for process in started:
            process.send_signal(number)

    # Before the command starts: a signal in between would end this process and leave the command behind.
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        reading, writing = os.pipe()
        words = [*command, "--tell", str(writing), *more]
        with (
            open(reading, encoding="ascii") as answer,  # noqa: PTH123 - a number of a file is no path
            subprocess.Popen(words, pass_fds=(writing,), start_new_session=True) as process,
        ):
            os.close(writing)
            started.append(process)
            if told:
                process.send_signal(told[-1])
            code = _wait(process, answer.read(), grace)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return ENDED if told else code


def _wait(process: subprocess.Popen[bytes], seconds: str, grace: float) -> int:
    """Wait for a process, if it has said so at most some s: it is told to end then, and killed at last."""
    try:
        return process.wait(float(seconds) if seconds else None)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(grace)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
