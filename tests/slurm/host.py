"""What the test cluster needs from its host, and what it says where the host lacks it."""

from __future__ import annotations

import os
import shutil
import subprocess
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


def missing() -> str:
    """Say why no test cluster can be started here, in one line; empty where one can.

    Returns
    -------
    str
        What is missing and what to do about it.
    """
    if os.geteuid() != 0:
        return "not root: namespaces and a bridge need it; run the Slurm tests as root"
    if not Path("/etc/debian_version").exists():
        return "not Debian: the test cluster is made from Debian's packages"
    absent = [program for program in PROGRAMS if shutil.which(program, path=SEARCH_PATH) is None]
    if absent:
        return f"no {', '.join(absent)} on this host; run tests/slurm/install.sh"
    if not Path("/etc/slurm").is_dir():
        return "no folder /etc/slurm to mount the configuration on; run tests/slurm/install.sh"
    return _kernel_refusal()


def _kernel_refusal() -> str:
    command = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "sh", "-c", KERNEL_PROBE]
    probe = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": SEARCH_PATH, "LC_ALL": "C"}
    )
    if probe.returncode == 0:
        return ""
    said = (probe.stderr.strip() or f"exit status {probe.returncode}").splitlines()[0]
    return f"the kernel refuses namespaces, bridge, veth or tbf ({said}); use a virtual machine or privileges"
