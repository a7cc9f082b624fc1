"""A Slurm cluster of several nodes on one Debian host, for tests.

Every node, and one more for the control daemons and the login, is a set of namespaces of its own
(network, UTS, PID, IPC, mount); a bridge inside the control machine joins them. So nothing of it is
to be seen on the host but processes and one folder, and it goes when its processes go.

On the command line, as root: ``python -m tests.slurm.cluster up|status|shape RATE|exec COMMAND|down``.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from . import daemons, host
from .daemons import CONTROL, CONTROL_ADDRESS, NETWORK
from .machine import ClusterError, Machine, environment, until

JANITOR = Path(__file__).with_name("janitor.sh")

BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class SlurmCluster:
    """A running Slurm; a context manager that takes it down without a trace.

    Parameters
    ----------
    nodes : int
        Nodes, called ``n1``, ``n2`` and so on.
    cores, memory : int
        Cores and MB of memory that each node declares, whatever the host has.
    folder : path, optional
        Where data, sockets and logs lie; by default a new temporary folder. Removed by `down`.
    kept : bool
        Whether the cluster outlives the process that starts it.
    more, cgroup : str
        Lines at the end of slurm.conf; the file cgroup.conf, if there is to be one.
    """

    def __init__(
        self,
        nodes: int = 4,
        *,
        cores: int = 8,
        memory: int = 4000,
        folder: Path | None = None,
        kept: bool = False,
        more: str = "",
        cgroup: str = "",
    ) -> None:
        self.nodes, self.cores, self.memory, self.kept = nodes, cores, memory, kept
        self.more, self.cgroup = more, cgroup
        self.base = (
            folder or Path(tempfile.gettempdir()) / f"benchbook-slurm-{os.getpid()}-{time.time_ns():x}"
        )
        self.machines: dict[str, Machine] = {}
        self.laps: dict[str, float] = {}
        self.janitor: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SlurmCluster:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def up(self) -> None:
        """Start everything and wait until every node is idle.

        Raises
        ------
        ClusterError
            If the host lacks something or a daemon does not start; nothing is left then.
        """
        if reason := host.missing():
            raise ClusterError(reason)
        daemons.make_folder(self.base)
        try:
            if not self.kept:
                # It removes the folder when this process ends without `down`, whatever ended it.
                janitor = ["sh", JANITOR, self.base]
                self.janitor = subprocess.Popen(janitor, stdin=subprocess.PIPE, start_new_session=True)
            self._up(time.monotonic())
        except BaseException as error:
            said = daemons.log_tail(self.base)
            self.down()
            if isinstance(error, ClusterError):
                raise ClusterError(f"{error}\n{said}") from error
            raise

    def _up(self, begin: float) -> None:
        def lap(name: str) -> None:
            self.laps[name] = time.monotonic() - begin

        daemons.write_configuration(self.base, nodes=self.nodes, cores=self.cores, memory=self.memory)
        with (self.base / "etc/slurm.conf").open("a", encoding="utf-8") as file:
            file.write(self.more)
        if self.cgroup:
            (self.base / "etc/cgroup.conf").write_text(self.cgroup, encoding="ascii")
        self._boot([CONTROL, *daemons.node_names(self.nodes)])
        self.run(["ip", "link", "add", "name", "bridge", "type", "bridge"])
        self.run(["ip", "address", "add", f"{CONTROL_ADDRESS}/24", "dev", "bridge"])
        self.run(["ip", "link", "set", "bridge", "up"])
        lap("machines")
        with ThreadPoolExecutor(1) as pool:
            database = pool.submit(daemons.start_database, self.run, self.base)
            daemons.start_munge(self.run, self.base)
            for name in daemons.node_names(self.nodes):
                self._connect(name)
            database.result()
        lap("munge, MariaDB, network")
        daemons.start_accounting(self.run, self.base)
        lap("slurmdbd")
        self.start_controller()
        lap("slurmctld")
        for name in daemons.node_names(self.nodes):
            self.run(["slurmd"], on=name)
        until("all nodes to be idle", lambda: self.states() == ["idle"] * self.nodes)
        lap("all nodes idle")

    def _boot(self, names: Sequence[str]) -> None:
        self.machines |= {name: Machine.boot(name, self.base, kept=self.kept) for name in names}
        for name in names:
            self.machines[name].settle(self.base)
        self._save()

    def _connect(self, name: str) -> None:
        """Lay a cable from the bridge to a node."""
        inside, number = self.machines[name].init[0], name[1:]
        # The peer is named by the process that the host sees, so this is said from the host's side.
        control = ["nsenter", f"--target={self.machines[CONTROL].init[0]}", "--net"]
        # The hardware address is the node's own for ever, so that nobody looks for it in vain when it
        # comes back after a loss of power.
        hardware = f"02:00:0a:4d:00:{int(number):02x}"
        cable = f"link add name {name} type veth peer name eth0 address {hardware} netns {inside}\n"
        cable += f"link set {name} master bridge up\n"
        far_end = f"address add {NETWORK}.{number}/24 dev eth0\nlink set eth0 up\n"
        for enter, batch in ((control, cable), (["nsenter", f"--target={inside}", "--net"], far_end)):
            subprocess.run(
                [*enter, "ip", "-batch", "-"], input=batch, text=True, check=True, capture_output=True
            )

    def down(self) -> None:
        """End every process of the cluster and remove its folder."""
        for machine in self.machines.values():
            machine.stop()
        self.machines.clear()
        if self.base.is_dir():
            daemons.remove_folder(self.base)
        if self.janitor is not None:
            self.janitor.communicate()
            self.janitor = None

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        on: str = CONTROL,
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
        timeout: float = 120,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a machine of the cluster, by default where users log in.

        Raises
        ------
        ClusterError
            If it fails and `check`, or does not end within `timeout` seconds.
        """
        process = self.popen(argv, on=on, cwd=cwd, env=env)
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException as error:
            # The group, because nsenter's child inside is what holds the pipes.
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                what = f"{' '.join(map(str, argv))}: no end after {timeout:g} s"
                raise ClusterError(f"{what}; so far: {out.strip()} {err.strip()}") from None
            raise
        if check and process.returncode:
            raise ClusterError(
                f"{' '.join(map(str, argv))}: status {process.returncode}: {err.strip() or out.strip()}"
            )
        return subprocess.CompletedProcess(list(argv), process.returncode, out, err)

    def popen(
        self,
        argv: Sequence[str | Path],
        *,
        on: str = CONTROL,
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start a command on a machine, with pipes for its output, as the leader of a process group."""
        return subprocess.Popen(
            self.machines[on].command(argv, cwd),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(self.base, env),
            start_new_session=True,
        )

    def states(self) -> list[str]:
        """Return Slurm's state of each node, in the order of their names; empty without a controller."""
        shown = self.run(["sinfo", "-h", "-N", "-p", "batch", "-o", "%T"], check=False)
        return shown.stdout.split() if shown.returncode == 0 else []

    def start_controller(self) -> None:
        """Start slurmctld and wait until it answers."""
        self.run(["slurmctld"])
        until("slurmctld", self._controller_answers)

    def _controller_answers(self) -> bool:
        if self.run(["scontrol", "ping"], check=False).returncode == 0:
            return True
        # It goes into the background before it reads its state, so its exit status tells little.
        if self.run(["pgrep", "-x", "slurmctld"], check=False).returncode != 0:
            raise ClusterError("slurmctld ended right after its start")
        return False

    def stop_controller(self, with_signal: str = "TERM") -> None:
        """End slurmctld: in order with TERM, which saves its state, or by KILL as in a crash."""
        daemons.stop(self.run, self.base, "slurmctld", with_signal)

    def kill_node(self, name: str) -> None:
        """Cut a node's power: slurmd, the jobs' processes and the cable are gone at once."""
        self.machines[name].stop()

    def kill_slurmd(self, name: str) -> None:
        """Kill a node's slurmd alone: the steps of its jobs go on."""
        pid = (self.base / f"run/slurmd.{name}.pid").read_text(encoding="ascii").strip()
        self.run(["kill", "-KILL", pid], on=name)

    def start_slurmd(self, name: str) -> None:
        """Start a node's slurmd again after `kill_slurmd`."""
        self.run(["slurmd"], on=name)

    def start_node(self, name: str) -> None:
        """Switch a node on again after `kill_node`."""
        self._boot([name])
        self._connect(name)
        self.run(["slurmd"], on=name)

    def shape(self, rate: str | None) -> None:
        """Limit what each node may send, by a token bucket; None takes the limit away.

        Parameters
        ----------
        rate : str or None
            Like ``200mbit`` or ``10gbit``.
        """
        for name in daemons.node_names(self.nodes):
            if rate is None:
                self.run(["tc", "qdisc", "delete", "dev", "eth0", "root"], on=name, check=False)
            else:
                limit = ["tbf", "rate", rate, "burst", burst(rate), "latency", "20ms"]
                self.run(["tc", "qdisc", "replace", "dev", "eth0", "root", *limit], on=name)

    def _save(self) -> None:
        machines = {name: [machine.keeper, machine.init] for name, machine in self.machines.items()}
        state = {"nodes": self.nodes, "cores": self.cores, "memory": self.memory, "machines": machines}
        (self.base / "cluster.json").write_text(json.dumps(state), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> SlurmCluster:
        """Take hold of a cluster that another process started with `kept`.

        Raises
        ------
        ClusterError
            If there is none in `folder`.
        """
        try:
            # In a folder for all, what says which processes to end must be root's own word.
            if (folder / "cluster.json").stat().st_uid != 0:
                raise ClusterError(f"{folder}: not made by root; remove it by hand")
            state = json.loads((folder / "cluster.json").read_text(encoding="utf-8"))
        except OSError:
            raise ClusterError(f"{folder}: no cluster there; start one with 'up'") from None
        cluster = cls(state["nodes"], cores=state["cores"], memory=state["memory"], folder=folder, kept=True)
        for name, (keeper, init) in state["machines"].items():
            cluster.machines[name] = Machine(name, tuple(keeper), tuple(init))
        return cluster


def burst(rate: str) -> str:
    """Return the bucket for a rate: small at 1 Gb/s and below, where a larger one lets messages overshoot."""
    match = re.fullmatch(r"(\d+)([kmg]bit)", rate)
    if not match:
        raise ClusterError(f"rate {rate!r} is none; write it like 200mbit or 10gbit, or off")
    gigabits = int(match[1]) * BITS[match[2]] / 1e9
    return f"{16 if gigabits <= 1 else round(51.2 * gigabits)}kb"


if __name__ == "__main__":
    from .command import main

    sys.exit(main())
