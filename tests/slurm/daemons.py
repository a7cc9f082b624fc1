"""The daemons of the test cluster: configuration, munge, MariaDB, slurmdbd, slurmctld, slurmd."""

from __future__ import annotations

import os
import re
import shutil
import string
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from .machine import ClusterError, until

TEMPLATES = Path(__file__).with_name("templates")
CONTROL = "control"
NETWORK = "10.77.0"
CONTROL_ADDRESS = f"{NETWORK}.254"
ACCOUNT = "bench"

# Two CPU generations by two kinds of DIMM, to have something to choose by --constraint.
CPUS = ("ivybridge", "haswell")
DIMMS = ("dualrank", "singlerank")

MARIADB_OPTIONS = (
    "--skip-networking",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=8M",
    # The database lives as long as the tests: waiting for the disk would only cost time.
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-lock-wait-timeout=900",
)


TROUBLE = re.compile(r"error|fatal|fail|denied|cannot", re.IGNORECASE)

# `SlurmCluster.run`: runs a command where the daemons live.
Run = Callable[..., subprocess.CompletedProcess[str]]


def node_names(nodes: int) -> list[str]:
    """Name the nodes: ``n1`` to ``n<nodes>``."""
    return [f"n{number}" for number in range(1, nodes + 1)]


def features(number: int, nodes: int) -> str:
    """Return the features of node `number`, of 1 to `nodes`: CPU by turns, DIMMs by halves."""
    return f"{CPUS[(number - 1) % 2]},{DIMMS[0 if number <= nodes / 2 else 1]}"


def write_configuration(base: Path, *, nodes: int, cores: int, memory: int) -> None:
    """Write every configuration file and make the folders that they name.

    Parameters
    ----------
    base : path
    nodes, cores : int
        Nodes, and cores that each declares; in two sockets.
    memory : int
        MB that each node declares.
    """
    for folder in ("etc", "run", "log", "state", "spool", "tmp"):
        (base / folder).mkdir(parents=True, exist_ok=True)
    names = node_names(nodes)
    for name in names:
        (base / "spool" / name).mkdir(exist_ok=True)
        (base / "tmp" / name).mkdir(exist_ok=True)
    lines = [
        f"NodeName={name} NodeAddr={NETWORK}.{number} Sockets=2 CoresPerSocket={cores // 2} ThreadsPerCore=1 "
        f"RealMemory={memory} Feature={features(number, nodes)} State=UNKNOWN"
        for number, name in enumerate(names, 1)
    ]
    values = {
        "base": str(base),
        "nodes": str(nodes),
        "control_name": CONTROL,
        "control_address": CONTROL_ADDRESS,
        "node_lines": "\n".join(lines),
        "node_range": f"n[1-{nodes}]",
    }
    for template in TEMPLATES.iterdir():
        _fill(template, base / "etc" / template.name, values)
    addresses = {"localhost": "127.0.0.1", CONTROL: CONTROL_ADDRESS}
    addresses |= {name: f"{NETWORK}.{number}" for number, name in enumerate(names, 1)}
    hosts = "".join(f"{address} {name}\n" for name, address in addresses.items())
    (base / "etc" / "hosts").write_text(hosts, encoding="ascii")


def _fill(template: Path, target: Path, values: Mapping[str, str]) -> None:
    text = string.Template(template.read_text(encoding="utf-8")).substitute(values)
    # slurmdbd refuses a configuration that others can read.
    target.touch(mode=0o600 if target.name == "slurmdbd.conf" else 0o644)
    target.write_text(text, encoding="utf-8")


def start_munge(run: Run, base: Path) -> None:
    """Start munged with a key and a socket of its own."""
    folder = base / "run"
    key = folder / "munge.key"
    with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
        file.write(os.urandom(1024))
    places = {
        "--key-file": key,
        "--socket": folder / "munge.socket",
        "--pid-file": folder / "munged.pid",
        "--seed-file": folder / "munged.seed",
        "--log-file": base / "log" / "munged.log",
    }
    # --force: munged would rather have these in folders that belong to the user munge.
    run(["munged", "--force", *(f"{option}={place}" for option, place in places.items())])


def start_database(run: Run, base: Path) -> None:
    """Make a MariaDB with an empty database for accounting; it listens on its socket only."""
    data, log = f"--datadir={base}/mysql", base / "log" / "mariadb.log"
    root = ["--no-defaults", "--user=root", data]
    run(["mariadb-install-db", *root, "--auth-root-authentication-method=socket", "--skip-test-db"])
    options = [*root, f"--socket={_socket(base)}", f"--pid-file={base}/run/mariadb.pid", *MARIADB_OPTIONS]
    # mariadbd does not go into the background by itself.
    run(["setsid", "--fork", "sh", "-c", 'exec "$@" >"$0" 2>&1', str(log), "mariadbd", *options])
    client = ["mariadb", "--no-defaults", f"--socket={_socket(base)}"]
    until("MariaDB", lambda: run([*client, "-e", "select 1"], check=False).returncode == 0)
    run([*client, "-e", "create database accounting"])


def ask_database(run: Run, base: Path, statement: str) -> str:
    """Execute a statement of SQL in the accounting's database; return what it prints."""
    client = ["mariadb", "--no-defaults", f"--socket={_socket(base)}", "accounting", "-N", "-e", statement]
    return run(client).stdout


def _socket(base: Path) -> Path:
    return base / "run" / "mysql.socket"


def start_slurmdbd(run: Run, base: Path) -> None:
    """Start slurmdbd and wait until it answers."""
    # slurmdbd.conf has no word for the database's socket; the client library takes it from here.
    run(["slurmdbd"], env={"MYSQL_UNIX_PORT": str(_socket(base))})
    until("slurmdbd", lambda: run(["sacctmgr", "-n", "show", "cluster"], check=False).returncode == 0)


def start_accounting(run: Run, base: Path) -> None:
    """Start slurmdbd and declare cluster, account and user."""
    start_slurmdbd(run, base)
    for entity in (["cluster", "testbed"], ["account", ACCOUNT], ["user", "root", f"account={ACCOUNT}"]):
        run(["sacctmgr", "--immediate", "add", *entity])


def stop(run: Run, base: Path, daemon: str, with_signal: str = "TERM") -> None:
    """End slurmctld or slurmdbd and wait until it is gone."""
    pid = (base / "run" / f"{daemon}.pid").read_text(encoding="ascii").strip()
    run(["kill", f"-{with_signal}", pid])
    until(f"the end of {daemon}", lambda: run(["kill", "-0", pid], check=False).returncode != 0)


def log_tail(base: Path, lines: int = 3) -> str:
    """Return the last lines that tell of trouble, of every log, for the message of a failed start."""
    found: list[str] = []
    for log in sorted((base / "log").glob("*.log")):
        text = log.read_text(encoding="utf-8", errors="replace").splitlines()
        wrong = [line for line in text if TROUBLE.search(line)]
        found += [f"{log.name}: {line}" for line in wrong[-lines:]]
    return "\n".join(found)


def make_folder(base: Path) -> None:
    """Make the cluster's folder; one that is there already belongs to somebody.

    Raises
    ------
    ClusterError
        If it exists, or its path is too long for a socket in it.
    """
    if len(str(base)) > 80:
        raise ClusterError(f"{base}: too long a path for sockets (80 characters); set TMPDIR")
    try:
        base.mkdir(mode=0o755)
    except FileExistsError:
        raise ClusterError(f"{base}: exists; take it down first, or name another --folder") from None
    base.chmod(0o755)


def remove_folder(base: Path) -> None:
    """Remove the cluster's folder with its database, logs and job scripts."""
    shutil.rmtree(base)
