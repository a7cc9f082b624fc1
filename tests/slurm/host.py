"""What the test cluster needs from its host, and what it says where the host lacks it.

``python -m tests.slurm.host`` prints the reason and ends with status 3 where no cluster can be started;
with ``--bare`` it does not ask for what tests/slurm/install.sh would install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = (
    "slurmctld", "slurmd", "slurmdbd", "sbatch", "srun", "sacct", "munged", "mariadbd", "mariadb-install-db",
    "mpicc.openmpi", "mpirun.openmpi", "mpicc.mpich", "mpirun.mpich", "ip", "tc", "nsenter", "unshare",
)  # fmt: skip

# Everything that `cluster` asks of the kernel, in namespaces that end with this shell.
KERNEL_PROBE = """
ip link add name probe type bridge &&
ip link add name left type veth peer name right &&
tc qdisc add dev left root tbf rate 1gbit burst 16kb latency 20ms &&
mount -t tmpfs tmpfs /dev/shm
"""

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])


def hopeless() -> str:
    """Say why no package would help to start a test cluster here, in one line; empty where one might."""
    return _no_root_on_debian() or _refusal("true", "namespaces")


def missing() -> str:
    """Say why no test cluster can be started here, in one line; empty where one can.

    Returns
    -------
    str
        What is missing and what to do about it.
    """
    if reason := _no_root_on_debian():
        return reason
    absent = [program for program in PROGRAMS if shutil.which(program, path=SEARCH_PATH) is None]
    if absent:
        return f"no {', '.join(absent)} on this host; run tests/slurm/install.sh"
    if not Path("/etc/slurm").is_dir():
        return "no folder /etc/slurm to mount the configuration on; run tests/slurm/install.sh"
    return _refusal(KERNEL_PROBE, "namespaces, bridge, veth, tbf or tmpfs")


def _no_root_on_debian() -> str:
    if os.geteuid() != 0:
        return "not root: namespaces and a bridge need it; run the Slurm tests as root"
    if not Path("/etc/debian_version").exists():
        return "not Debian: the test cluster is made from Debian's packages"
    return ""


def _refusal(script: str, what: str) -> str:
    """Run a shell script in namespaces of its own, and say what the kernel has against it."""
    flags = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc"]
    probe = subprocess.run(
        ["unshare", *flags, "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": SEARCH_PATH, "LC_ALL": "C"},
    )
    if probe.returncode == 0:
        return ""
    said = (probe.stderr.strip() or f"exit status {probe.returncode}").splitlines()[0]
    return f"the kernel refuses {what} ({said}); use a virtual machine or a privileged container"


if __name__ == "__main__":
    if reason := hopeless() if sys.argv[1:] == ["--bare"] else missing():
        print(reason)
        sys.exit(3)
