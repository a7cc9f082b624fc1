"""What befalls a campaign on the test cluster: jobs that run are hit, or their nodes, or what all share."""

from __future__ import annotations

import contextlib
import random
import subprocess
import time
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
    "fill the disk": 1,
    "stall the disk": 1,
    "slow disk": 1,
    "purge the accounting": 1,
    "another database": 1,
    "power of a node": 1,
    "controller": 1,
    "accounting": 1,
}
_STALL = 8  # s that no write to the disk ends
_SLOW = 12  # times that the disk stands still, 0.9 s each, with 0.1 s between
_MEMORY = Path("/sys/fs/cgroup/memory/benchbook-study")
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

    STEPS = (0, 5400, -7200)  # s that a clock is off: no study takes as long as they differ
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
        """Return the right time that a clock was read at: the clock was off by one of the steps."""
        return min((at - step for step in self.STEPS), key=lambda time_: abs(time_ - self._began))


class Disturbances:
    """The kinds of disturbances, of a campaign whose project lies on a disk of its own."""

    def __init__(self, cluster: SlurmCluster, disk: Path, clocks: Clocks, draw: random.Random) -> None:
        self.cluster, self._disk, self._clocks, self._draw = cluster, disk, clocks, draw

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
        node, pids = self._processes(job, what)
        if pids:
            self.cluster.run(["kill", "-KILL", pids[0]], on=node)
        return bool(pids)

    def _processes(self, job: str, what: str) -> tuple[str, list[str]]:
        """Return the node of a job, and its processes whose command line has a word."""
        node = self._node(job)
        listed = self.cluster.run(["scontrol", "listpids", job], on=node, check=False).stdout.splitlines()[1:]
        pids = [line.split()[0] for line in listed]
        said = {pid: self.cluster.run(["cat", f"/proc/{pid}/cmdline"], on=node, check=False) for pid in pids}
        return node, [pid for pid in pids if what in said[pid].stdout]

    def _take_memory(self, job: str) -> bool:
        """Leave a job's program no memory, so that the kernel kills it; tell whether it ran."""
        _MEMORY.mkdir(exist_ok=True)
        (_MEMORY / "memory.limit_in_bytes").write_text("0", encoding="ascii")
        node, pids = self._processes(job, "program.sh")
        programs = [pid for pid in pids if self._is_program(node, pid)]
        for pid in programs:
            self.cluster.run(["sh", "-c", f"echo {pid} >{_MEMORY}/cgroup.procs"], on=node)
        return bool(programs)

    def _is_program(self, node: str, pid: str) -> bool:
        """Tell whether a process is the program itself, and not what has started it."""
        words = self.cluster.run(["cat", f"/proc/{pid}/cmdline"], on=node, check=False).stdout.split("\0")
        return len(words) > 1 and words[0] == "/bin/sh" and words[1].endswith("program.sh")
