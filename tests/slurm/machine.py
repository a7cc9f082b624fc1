"""One machine of the test cluster: a network, UTS, PID, IPC and mount namespace kept by its PID 1."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .host import SEARCH_PATH

INIT = Path(__file__).with_name("init.sh")

# Set by a Slurm job or a Snakemake around the tests; they would steer the commands inside.
FOREIGN = (
    "SLURM_",
    "SBATCH_",
    "SRUN_",
    "SALLOC_",
    "SACCT_",
    "SQUEUE_",
    "SNAKEMAKE_",
    "OMPI_",
    "PMIX_",
    "PMI_",
)

# What is waited for is given its time on an idle machine with two cores. A busy one takes longer, and only
# what never comes costs that patience.
BUSY = 4


class ClusterError(RuntimeError):
    """The test cluster cannot do what was asked of it."""


def until(what: str, probe: Callable[[], object], *, seconds: float = 30, every: float = 0.05) -> None:
    """Wait until `probe` is true.

    Raises
    ------
    ClusterError
        After `BUSY` times `seconds`, naming `what` was waited for.
    """
    seconds *= BUSY
    end = time.monotonic() + seconds
    while not probe():
        if time.monotonic() > end:
            raise ClusterError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(every)


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 where there is no such process.

    With the process id it names one process for ever: ids come round again.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    state, *rest = stat.rpartition(")")[2].split()
    return 0 if state in "ZX" else int(rest[18])


@dataclass
class Machine:
    """A machine that runs, or ran.

    Attributes
    ----------
    name : str
        Host name inside.
    keeper : (int, int)
        Process id and start time of the ``unshare`` that holds the namespaces.
    init : (int, int)
        The same of the machine's PID 1, as the host sees it.
    """

    name: str
    keeper: tuple[int, int]
    init: tuple[int, int] = (0, 0)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def boot(cls, name: str, base: Path, *, kept: bool) -> Machine:
        """Start a machine; `settle` waits until it is there.

        Parameters
        ----------
        name : str
        base : path
            The cluster's folder, with ``etc``, ``run`` and ``log``.
        kept : bool
            Whether the machine outlives the calling process.
        """
        (base / "run" / f"{name}.ready").unlink(missing_ok=True)
        flags = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
        with (base / "log" / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                ["unshare", *flags, "bash", INIT, name, base, "kept" if kept else "owned"],
                stdin=subprocess.DEVNULL if kept else subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment(base),
                start_new_session=True,
            )
        return cls(name, (process.pid, start_time(process.pid)), process=process)

    def settle(self, base: Path) -> None:
        """Wait until the machine has its face, and learn its PID 1."""
        until(f"machine {self.name}", lambda: (base / "run" / f"{self.name}.ready").exists(), seconds=20)
        keeper = self.keeper[0]
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text(encoding="ascii").split()
        self.init = (int(children[0]), start_time(int(children[0])))

    @property
    def alive(self) -> bool:
        """Whether the machine runs."""
        pid, started = self.init
        return started > 0 and start_time(pid) == started

    def command(self, argv: Sequence[str | Path], cwd: str | Path = "/") -> list[str]:
        """Return the command line that runs `argv` inside the machine.

        Raises
        ------
        ClusterError
            If the machine does not run: its process id may be another's by now.
        """
        if not self.alive:
            raise ClusterError(f"machine {self.name} does not run")
        enter = ["nsenter", f"--target={self.init[0]}", "--net", "--uts", "--ipc", "--mount", "--pid"]
        # A working directory is of one mount namespace, so it is entered on the other side.
        return [*enter, "sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *map(str, argv)]

    def stop(self) -> None:
        """Cut the power: every process inside ends at once, and the namespaces with them."""
        # Its keeper ends with PID 1, which it reaps; it is killed only where there is no PID 1 yet.
        pid, started = self.init if self.alive else self.keeper
        if started and start_time(pid) == started:
            os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait(timeout=20)
            if self.process.stdin:
                self.process.stdin.close()
        until(f"the end of machine {self.name}", lambda: start_time(self.keeper[0]) != self.keeper[1])
        until(f"the end of machine {self.name}", lambda: not self.alive)

    def namespaces(self) -> dict[str, int]:
        """Return the inode number of each of the machine's own namespaces."""
        folder = Path(f"/proc/{self.init[0]}/ns")
        return {name: (folder / name).stat().st_ino for name in ("net", "uts", "ipc", "mnt", "pid")}


def environment(base: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of commands inside: the caller's, without what a job would bring."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {
        **kept,
        "PATH": SEARCH_PATH,
        # MPI libraries leave their session folders here when a job is killed.
        "TMPDIR": str(base / "tmp"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # All nodes share the host's cores: binding would put a rank of each on the same one,
        # and a waiting rank must let the others have it.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        **(more or {}),
    }
