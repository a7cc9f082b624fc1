"""What befalls a campaign on the test cluster: jobs that run are hit, or their nodes, or what all share."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from . import daemons
from .cluster import SlurmCluster
from .machine import ClusterError, until

# Kind -> how often it is drawn. A lost node and a dead controller cost the most time.
KINDS = {
    "cancel": 4,
    "kill the job": 4,
    "kill the program": 3,
    "kill at its start": 3,
    "requeue": 3,
    "hold": 1,
    "preempt with requeue": 2,
    "preempt with cancel": 2,
    "clock of its node": 3,
    "clock of the login": 2,
    "drain its node": 1,
    "out of memory": 2,
    "shortened limit": 2,
    "suspend": 2,
    "kill its shell": 1,
    "fill the disk": 1,
    "stall the disk": 1,
    "slow disk": 1,
    "purge the accounting": 1,
    "another database": 1,
    "power of a node": 1,
    "killed slurmd": 1,
    "lost slurmd": 1,
    "controller": 1,
    "accounting": 1,
}
_GOES_ON = ("RUNNING", "COMPLETING", "")
_SECONDS = 2.0  # s by which whole seconds and two clocks differ
# Kinds that are in each other's way, each a group of its own: only one of a group happens at a time.
GROUPS = (
    ("fill the disk", "stall the disk", "slow disk"),
    ("drain its node", "power of a node", "killed slurmd", "lost slurmd", "controller", "accounting"),
    ("purge the accounting", "another database"),
    ("preempt with requeue", "preempt with cancel"),
)
_STALL = 8  # s that no write to the disk ends
_SLOW = 12  # times that the disk stands still, 0.9 s each, with 0.1 s between
# It says in a trace which job has come to it and when, and does what files in a folder tell it: take all
# memory (eat), wait for what is to befall it (wait: all jobs or one), wait no longer (go).
PROGRAM = """\
#!/bin/sh
echo "$SLURM_JOB_ID $(date +%s)" >>{told}/trace
left={seconds}
told() {{ [ -e "{told}/$1" ]; }}
job=$SLURM_JOB_ID
while [ "$left" -gt 0 ] || {{ ! told "go.$job" && {{ told wait || told "wait.$job"; }}; }}; do
    ! told "eat.$job" || exec tail /dev/zero
    sleep 1
    left=$((left - 1))
done
"""
# What a purge takes from Slurm's database, and what a new one says: of all jobs that have ended.
PURGE = "delete from testbed_job_table where time_end > 0"
_OTHERS = "update testbed_job_table set job_name='payroll', derived_es='', state=5 where time_end > 0"
# Jobs of the partition `urgent` take the nodes of others.
_PREEMPTION = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=urgent Nodes=n[1-4] MaxTime=2 PriorityTier=10 PreemptMode=OFF
"""


class Clocks:
    """Wall clocks of the login and of each node's jobs that can be set; Slurm's own are right."""

    STEPS = (0, 5400, -7200)  # s that a clock is off: a study takes less than the least that they differ by
    LOGIN = "login"

    def __init__(self, folder: Path) -> None:
        self._folder, self._began = folder, time.time()
        self._library = folder / "clock.so"
        source = Path(__file__).with_name("programs") / "clock.c"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", self._library, source], check=True)
        prolog = folder / "prolog.sh"
        exports = (f"{name}={value}" for name, value in self.environment("$(hostname)").items())
        prolog.write_text(
            "#!/bin/sh\n" + "".join(f'echo "export {one}"\n' for one in exports), encoding="ascii"
        )
        prolog.chmod(0o755)
        self.slurm_conf = f"{_PREEMPTION}TaskProlog={prolog}\n"

    def environment(self, name: str = LOGIN) -> dict[str, str]:
        """Return what gives a process the clock of the login or of a node."""
        return {"LD_PRELOAD": str(self._library), "TEST_CLOCK": str(self._folder / name)}

    def step(self, name: str, draw: random.Random) -> None:
        """Set a clock to another of the steps."""
        file = self._folder / name
        now = int(file.read_text(encoding="ascii")) if file.exists() else 0
        beside = file.with_suffix(".new")
        beside.write_text(str(draw.choice([one for one in self.STEPS if one != now])), encoding="ascii")
        beside.replace(file)

    def true(self, at: float) -> float:
        """Return the right time that a clock was read at: the clock was off by one of the steps.

        Only one of them makes it a time since the study began.
        """
        first, last = self._began - _SECONDS, time.time() + _SECONDS
        return next((at - step for step in self.STEPS if first <= at - step <= last), at)


class Disturbances:
    """The kinds of disturbances, of a campaign whose project lies on a disk of its own."""

    def __init__(
        self, cluster: SlurmCluster, disk: Path, told: Path, clocks: Clocks, draw: random.Random
    ) -> None:
        self.cluster, self._disk, self._told = cluster, disk, told
        self._clocks, self._draw = clocks, draw
        self.touched = set[str]()  # jobs that were hit, also where Slurm did not do what it was told

    def do(self, kind: str, job: str) -> bool:
        """Disturb; false if that was not possible, as the job is not so far."""
        run = self.cluster.run
        match kind:
            case "cancel":
                run(["scancel", job])
            case "kill the job":
                run(["scancel", "--signal=KILL", "--full", job])
            case "requeue":
                run(["scontrol", "requeue", job])
            case "hold":
                run(["scontrol", "requeuehold", job])
            case "preempt with requeue" | "preempt with cancel":
                self._preempt(job, kind.rpartition(" ")[2])
            case "clock of its node":
                self._clocks.step(self._node(job), self._draw)
            case "clock of the login":
                self._clocks.step(Clocks.LOGIN, self._draw)
            case "drain its node":
                run(["scontrol", "update", f"nodename={self._node(job)}", "state=drain", "reason=study"])
                run(["scontrol", "requeue", job])
            case "out of memory":
                return self._take_memory(job)
            case "shortened limit":
                return self._shorten(job)
            case "suspend":
                return self._suspend(job)
            case "kill its shell":
                run(["scancel", "--signal=KILL", "--batch", job])
            case "fill the disk":
                self._fill()
            case "stall the disk":
                self._stand_still(_STALL)
            case "slow disk":
                for _ in range(_SLOW):
                    self._stand_still(0.9)
                    time.sleep(0.1)
            case "purge the accounting" | "another database":
                statement = PURGE if kind.startswith("purge") else _OTHERS
                daemons.ask_database(run, self.cluster.base, statement)
            case "kill the program":
                return self._kill(job, "program.sh")
            case "kill at its start":
                return self._kill(job, "analysis.measure.launch")
            case _:
                self._end_daemon(kind, job)
        return True

    def _end_daemon(self, kind: str, job: str) -> None:
        run = self.cluster.run
        match kind:
            case "power of a node":
                node = self._node(job)
                self.cluster.kill_node(node)
                self.cluster.start_node(node)
            case "killed slurmd" | "lost slurmd":
                self._end_slurmd(job, lost=kind.startswith("lost"))
            case "accounting":
                daemons.stop(run, self.cluster.base, "slurmdbd", "KILL")
                time.sleep(3)
                daemons.start_slurmdbd(run, self.cluster.base)
            case "controller":
                self.cluster.stop_controller("KILL")
                time.sleep(3)
                self.cluster.start_controller()
            case _:
                raise ValueError(kind)

    def _node(self, job: str) -> str:
        node = self.cluster.run(["squeue", "-h", "-j", job, "-o", "%N"]).stdout.strip()
        if not node:
            raise ClusterError(f"job {job} has no node now")
        return node

    def _preempt(self, job: str, mode: str) -> None:
        """Let a job of two seconds take the node of a job; Slurm requeues or cancels what runs there."""
        run = self.cluster.run
        node = self._node(job)
        run(["scontrol", "update", "partitionname=batch", f"preemptmode={mode}"])
        words = ["--partition=urgent", f"--nodelist={node}", "--exclusive", "--mem=0", "--time=1"]
        asked = ["sbatch", "--parsable", "--output=/dev/null", *words, "--wrap=sleep 2"]
        urgent = run(asked).stdout.strip()
        try:
            until("the urgent job", lambda: not run(["squeue", "-h", "-j", urgent], check=False).stdout)
        finally:
            run(["scancel", urgent], check=False)

    def _fill(self) -> None:
        filling = self._disk / "filling"
        with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
            while file.write(bytes(1 << 16)):
                pass
        time.sleep(6)
        filling.unlink()

    def _stand_still(self, seconds: float) -> None:
        """Let no write to the disk end for so long."""
        subprocess.run(["fsfreeze", "-f", self._disk], check=True)
        try:
            time.sleep(seconds)
        finally:
            subprocess.run(["fsfreeze", "-u", self._disk], check=True)

    def _kill(self, job: str, what: str) -> bool:
        """Kill a process of a job whose command line has a word; tell whether there was one."""
        pids = self._processes(job, what)
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pids[0], signal.SIGKILL)
        return bool(pids)

    def _processes(self, job: str, what: str) -> list[int]:
        """Return the processes of a job whose command line has a word, as the host sees them."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it may end just now
                if what.encode() in (path / "cmdline").read_bytes():
                    variables = (path / "environ").read_bytes().split(b"\0")
                    here = str((path / "cwd").readlink()).startswith(str(self._disk))
                    found += [int(path.name)] if here and f"SLURM_JOB_ID={job}".encode() in variables else []
        return sorted(found)

    def _take_memory(self, job: str) -> bool:
        """Let a job's program take more memory than the job has; tell whether Slurm ended it for that."""
        if not (self.cluster.cgroup and self._processes(job, "program.sh")):
            return False
        with self._telling("eat", job), contextlib.suppress(ClusterError):
            until("the kernel", lambda: self._state(job) != "RUNNING", seconds=8, every=0.2)
        return self._state(job) == "OUT_OF_MEMORY"

    def _shorten(self, job: str) -> bool:
        """Set a job's limit to nothing; tell whether Slurm, which looks every 30 s, ended it for that."""
        if not self._processes(job, "program.sh"):
            return False
        with self._telling("wait", job), contextlib.suppress(ClusterError):
            self.cluster.run(["scontrol", "update", f"jobid={job}", "timelimit=0"])
            until("the limit", lambda: self._state(job) not in _GOES_ON, seconds=12, every=0.2)
        return self._state(job) == "TIMEOUT"

    def _suspend(self, job: str) -> bool:
        """Stop a job whose program runs, and let it go on; its program ends afterwards."""
        if not self._processes(job, "program.sh"):
            return False
        seen = False
        with self._telling("wait", job):
            self.cluster.run(["scontrol", "suspend", job])
            for _ in range(20):
                seen = seen or self._is_stopped(job)
                time.sleep(0.2)
            self.cluster.run(["scontrol", "resume", job])
            time.sleep(1)
        return seen

    def _is_stopped(self, job: str) -> bool:
        """Tell whether a job's program is stopped: Slurm may have suspended it in its books alone."""
        for pid in self._processes(job, "program.sh"):
            with contextlib.suppress(OSError):
                return (Path("/proc") / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"T"
        return False

    def _end_slurmd(self, job: str, *, lost: bool) -> None:
        """Kill the slurmd of a job, whose steps go on; if `lost`, until Slurm has given its node up."""
        node = self._node(job)
        self.cluster.kill_slurmd(node)
        try:
            if lost:
                with self._telling("wait", job):
                    until("Slurm to miss the node", lambda: self._state(job) != "RUNNING", seconds=15)
            else:
                time.sleep(3)
        finally:
            self.cluster.start_slurmd(node)

    @contextlib.contextmanager
    def _telling(self, what: str, job: str) -> Iterator[None]:
        """Tell a job's program what to do meanwhile."""
        file = self._told / f"{what}.{job}"
        file.touch()
        self.touched.add(job)
        try:
            yield
        finally:
            file.unlink()

    def _state(self, job: str) -> str:
        asked = ["squeue", "-h", "-t", "all", "-j", job, "-o", "%T"]
        return self.cluster.run(asked, check=False).stdout.strip()
