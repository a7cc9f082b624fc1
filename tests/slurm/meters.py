"""Meters of the test cluster: servers of BMCs, a PDU and Redfish, and the search for their secrets."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.measure.power import test_redfish
from tests.measure.power.helpers import need
from tests.measure.power.test_ipmi import BMC, LAN, MODULE
from tests.measure.power.test_sampler import RANGE, zone

from .cluster import SlurmCluster
from .machine import until

SECRETS = {name: f"{name}-s3cret-77" for name in ("bmc", "auth", "privacy", "redfish")}
OUTLET = "1.3.6.1.4.1.99999.1"
NODES = ("n1", "n2", "n3", "n4")
PDU = {"n1": 200, "n2": 300, "n3": 200, "n4": 300}

AGENT = """\
agentaddress udp:10.77.0.254:161
createUser bench SHA-256 "{auth}" AES "{privacy}"
rouser bench priv
"""


class Meters:
    """Servers on the control machine, at addresses that the nodes reach."""

    def __init__(self, cluster: SlurmCluster, place: Path, python: Path) -> None:
        self.cluster, self.place, self.python = cluster, place, python
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def run(self, name: str, argv: list[str | Path]) -> None:
        log = self.place / f"{name}.log"
        words = ["sh", "-c", 'exec "$@" >>"$0" 2>&1', log, *argv]
        self.processes[name] = self.cluster.popen(words)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def pdu(self, more: int = 0) -> None:
        """Serve the outlets' watts, each with some more."""
        text = AGENT.format(**SECRETS)
        for number, node in enumerate(NODES, 1):
            text += f"override {OUTLET}.{number} integer {PDU[node] + more}\n"
        (self.place / "snmpd.conf").write_text(text)
        own = [f"SNMP_PERSISTENT_DIR={self.place}/kept", f"SNMPCONFPATH={self.place}", "MIBS="]
        self.run("pdu", ["env", *own, "snmpd", "-f", "-Lo", "-C", "-c", self.place / "snmpd.conf"])

    def bmcs(self) -> None:
        module = self.place / "dcmi.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", module, MODULE], check=True)
        (self.place / "bmc.emu").write_text(BMC)
        for number, node in enumerate(NODES, 1):
            (self.place / f"{node}.watts").write_text(str(150 + number))
            text = LAN.format(
                module=module, watts=self.place / f"{node}.watts", port=623, password=SECRETS["bmc"]
            )
            text = text.replace("127.0.0.1", f"10.77.0.10{number}")
            (self.place / f"{node}.lan").write_text(text)
            files = {"-c": f"{node}.lan", "-f": "bmc.emu", "-s": node}
            conf = [word for flag, name in files.items() for word in (flag, self.place / name)]
            self.run(f"{node}-bmc", ["ipmi_sim", "-n", *conf])

    def redfish(self) -> None:
        folder = self.place / "emulator"
        folder.mkdir()
        (folder / "watts").write_text("431.5")
        (folder / "password").write_text(SECRETS["redfish"])
        test_redfish.certificate(self.place, "right", ",".join(f"DNS:{node}-bmc" for node in NODES))
        files = [f"{self.place}/right.pem", f"{self.place}/right.key", folder, "0.0.0.0"]
        self.run("redfish", [self.python, test_redfish.PROGRAM, "8443", *files])
        probe = ["bash", "-c", "exec 3<>/dev/tcp/10.77.0.101/8443"]
        until("Redfish", lambda: self.cluster.run(probe, check=False).returncode == 0, seconds=120, every=0.5)


@contextlib.contextmanager
def serving(cluster: SlurmCluster, tmp_path: Path, emulator: Path) -> Iterator[Meters]:
    """Prepare the servers, their addresses and their secrets; each is started by the test."""
    need("ipmitool", "ipmi_sim", "gcc", "snmpget", "snmpd", "openssl")
    place = tmp_path / "meters"
    place.mkdir()
    for name, secret in SECRETS.items():
        (place / name).write_text(f"{secret}\n")
        (place / name).chmod(0o600)
    hosts = "10.77.0.254 pdu\n"
    for number, node in enumerate(NODES, 1):
        hosts += f"10.77.0.10{number} {node}-bmc\n"
        address = ["ip", "address", "replace", f"10.77.0.10{number}/24", "dev", "bridge"]
        cluster.run(address)
        # A tree like that of sysfs: this machine has no RAPL.
        zone(place / "sys" / node, "intel-rapl:0", "package-0", RANGE - 50_000_000)
        zone(place / "sys" / node, "intel-rapl:0:0", "core", 5)
    file = cluster.base / "etc" / "hosts"
    before = file.read_text(encoding="ascii")
    file.write_text(before + hosts, encoding="ascii")
    servers = Meters(cluster, place, emulator)
    try:
        yield servers
    finally:
        for name in list(servers.processes):
            servers.kill(name)
        file.write_text(before, encoding="ascii")


_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def searched_by_nobody(pattern: str) -> list[str]:
    """Search every environment and command line that a user without rights can read.

    The pattern must not match itself: it stands in the command line of the search. A process of the
    same user that it shall find, and then leaves out, shows that it sees what is open.
    """
    search = f"grep -alE '{pattern}|canary-in-vie[w]' /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null"
    canary = subprocess.Popen(
        [*_NOBODY, "sleep", "600"], env={"C": "canary-in-view", "PATH": "/usr/bin:/bin"}
    )
    seen = f"/proc/{canary.pid}/environ"
    found: list[str] = []

    def sees() -> bool:
        argv = [*_NOBODY, "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", search]
        found[:] = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()
        return seen in found

    try:
        until("the search to see what is open", sees, every=0.2)
    finally:
        canary.kill()
        canary.wait()
    return [path for path in found if path != seen]


def holders(secret: str, *folders: Path) -> list[str]:
    found = subprocess.run(
        ["grep", "-rlaF", "-e", secret, *folders], capture_output=True, text=True, check=False
    )
    return found.stdout.split()
