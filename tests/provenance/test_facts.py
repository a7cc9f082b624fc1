from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from analysis.provenance import facts as module
from analysis.provenance.facts import facts

FILE = Path(module.__file__)
OLD_PYTHONS = ("3.6", "3.7", "3.8")

# Made by hand after the layout of dmidecode 3.x.
DMIDECODE = """\
# dmidecode 3.3
Handle 0x0020, DMI type 17, 92 bytes
Memory Device
\tTotal Width: 72 bits
\tSize: 32 GB
\tLocator: A1
\tBank Locator: NODE 1
\tType: DDR4
\tType Detail: Synchronous Registered
\tSpeed: 3200 MT/s
\tSerial Number: 12345678
\tRank: 2
\tConfigured Memory Speed: 2933 MT/s

Handle 0x0021, DMI type 17, 92 bytes
Memory Device
\tSize: No Module Installed
\tLocator: A2
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def command(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a node made of files, with a PATH of its own and no tuning in the environment."""
    root = tmp_path / "root"
    cpus = "sys/devices/system/cpu/"
    write(
        root,
        {
            "etc/os-release": 'NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n',
            "proc/meminfo": "MemTotal:       263714568 kB\nMemFree: 1 kB\n",
            "proc/cpuinfo": "cpu MHz\t\t: 2400.000\nmicrocode\t: 0xd0003b9\ncpu MHz\t\t: 3100.5\n",
            "proc/cmdline": "root=/dev/sda1 mitigations=off ip=10.0.0.7 nosmt secret=hunter2 isolcpus=1-3\n",
            cpus + "smt/control": "off\n",
            cpus + "intel_pstate/no_turbo": "1\n",
            cpus + "cpu0/cpufreq/scaling_governor": "performance\n",
            cpus + "cpu1/cpufreq/scaling_governor": "powersave\n",
            cpus + "cpu2/cpufreq/scaling_governor": "performance\n",
            cpus + "cpu0/cpufreq/cpuinfo_max_freq": "3600000\n",
            cpus + "cpu1/cpufreq/cpuinfo_max_freq": "3600000\n",
            cpus + "vulnerabilities/meltdown": "Vulnerable\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/class/dmi/id/product_name": "ThinkSystem SR650 -[7X06CTO1WW]-\n",
            "sys/class/dmi/id/product_serial": "J10000AB\n",
            "sys/class/dmi/id/bios_version": "\n",
            "sys/class/net/lo/mtu": "65536\n",
            "sys/class/net/veth0/mtu": "1500\n",
            "sys/class/net/veth0/speed": "10000\n",
            "sys/class/net/eno1/mtu": "9000\n",
            "sys/class/net/eno1/speed": "25000\n",
            "sys/class/net/eno1/address": "de:ad:be:ef:00:01\n",
            "sys/class/net/eno2/mtu": "1500\n",
            "sys/class/net/eno2/speed": "-1\n",
            "sys/class/net/eno1/device/vendor": "0x15b3\n",
            "sys/class/net/eno2/device/vendor": "0x15b3\n",
            "sys/class/infiniband/mlx5_0/fw_ver": "16.28.2006\n",
            "sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)\n",
            "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
            "sys/bus/pci/drivers/mlx5_core/bind": "",
        },
    )
    (root / "sys/class/net/eno1/device/driver").symlink_to(root / "sys/bus/pci/drivers/mlx5_core")
    commands = tmp_path / "bin"
    command(
        commands, "lscpu", 'echo "Model name:   Xeon [x]"; echo "CPU(s):  64"; echo "Vulnerability Mds: Not"'
    )
    command(commands, "mpirun", 'echo "HYDRA build details:"; echo "    Version:      4.0.2"')
    monkeypatch.setenv("PATH", str(commands))
    for name in [name for name in os.environ if module.TUNING.match(name)]:
        monkeypatch.delenv(name)
    return root


def value(found: dict[str, Any], name: str) -> Any:
    return found["facts"][name]["value"]


def test_facts__reads_each_with_its_source_and_unit(node: Path) -> None:
    found = facts(str(node))
    assert found["facts"]["clock.cpuinfo_max_freq"] == {
        "value": 3600000,
        "unit": "kHz",
        "source": "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq",
    }
    assert found["facts"]["memory.total"] == {"value": 263714568, "unit": "KiB", "source": "/proc/meminfo"}
    assert value(found, "os.name") == "Rocky Linux 9.4 (Blue Onyx)"
    assert value(found, "cpufreq.scaling_governor") == {"performance": 2, "powersave": 1}
    assert value(found, "clock.now") == {"lowest": 2400.0, "highest": 3100.5}
    assert (value(found, "knob.smt.control"), value(found, "knob.intel_pstate.no_turbo")) == ("off", 1)
    assert value(found, "transparent_hugepage.enabled") == "madvise"
    assert value(found, "kernel.mitigations") == {"meltdown": "Vulnerable"}
    assert value(found, "cpu.CPU(s)") == 64
    assert not [name for name in found["facts"] if "Vulnerability" in name]


def test_facts__brackets_in_a_name_are_no_switch(node: Path) -> None:
    found = facts(str(node))
    assert value(found, "system.product_name") == "ThinkSystem SR650 -[7X06CTO1WW]-"
    assert value(found, "cpu.Model name") == "Xeon [x]"


def test_facts__links_have_driver_speed_and_rate(node: Path) -> None:
    found = facts(str(node))
    assert found["facts"]["nic.eno1.speed"] == {
        "value": 25000,
        "unit": "Mbit/s",
        "source": "/sys/class/net/eno1/speed",
    }
    assert value(found, "nic.eno1.driver") == "mlx5_core"
    assert value(found, "infiniband.mlx5_0.port1.rate") == "100 Gb/sec (4X EDR)"
    assert value(found, "infiniband.mlx5_0.fw_ver") == "16.28.2006"


def test_facts__what_cannot_be_read_is_named_with_its_reason(node: Path) -> None:
    unread = facts(str(node))["unread"]
    assert unread["nic.eno2.speed"]["reason"] == "the driver says -1: unknown"
    assert unread["nic.veth0.speed"]["reason"] == "a virtual interface, no device behind it"
    assert unread["system.bios_version"]["reason"] == "the file is empty"
    assert unread["clock.base_frequency"]["reason"] == "no such file"
    assert unread["infiniband.mlx5_0.port1.link_layer"]["reason"] == "no such file"
    assert unread["software.icx"] == {"source": "icx --version", "reason": "not in PATH"}


def test_facts__no_fact_is_both_read_and_unread(node: Path) -> None:
    found = facts(str(node))
    assert not found["facts"].keys() & found["unread"].keys()


def test_facts__takes_no_serial_number_address_or_boot_secret(node: Path) -> None:
    command(node.parent / "bin", "dmidecode", f"cat <<'END'\n{DMIDECODE}END")
    (node.parent / "bin/cat").symlink_to("/bin/cat")
    found = facts(str(node))
    assert value(found, "kernel.boot_options") == ["mitigations=off", "nosmt", "isolcpus=1-3"]
    assert value(found, "memory.slots") == 2
    text = json.dumps(found)
    for private in ("J10000AB", "12345678", "de:ad", "hunter2", "10.0.0.7"):
        assert private not in text


def test_facts__memory_modules_have_type_speed_and_rank(node: Path) -> None:
    command(node.parent / "bin", "dmidecode", f"cat <<'END'\n{DMIDECODE}END")
    (node.parent / "bin/cat").symlink_to("/bin/cat")
    (module_,) = value(facts(str(node)), "memory.dimms")
    assert module_ == {
        "Size": "32 GB",
        "Locator": "A1",
        "Type": "DDR4",
        "Speed": "3200 MT/s",
        "Rank": "2",
        "Configured Memory Speed": "2933 MT/s",
    }


def test_facts__a_command_that_fails_is_named_with_what_it_said(node: Path) -> None:
    command(node.parent / "bin", "dmidecode", 'echo "/dev/mem: Permission denied" >&2; exit 1')
    unread = facts(str(node))["unread"]["memory.dimms"]
    assert unread["reason"] == "/dev/mem: Permission denied (exit code 1)"
    assert unread["source"].endswith("/bin/dmidecode --type 17")


def test_facts__version_is_the_first_line_with_a_number(node: Path) -> None:
    assert value(facts(str(node)), "software.mpirun") == "Version: 4.0.2"


def test_facts__slurm_is_asked_until_one_command_answers(node: Path) -> None:
    command(node.parent / "bin", "sinfo", "echo 'sinfo: fatal: no configuration'; exit 1")
    found = facts(str(node))
    command(node.parent / "bin", "slurmd", "echo slurm 23.11.1")
    if "software.slurm" in found["unread"]:  # /usr/sbin is looked into too: a slurmd may answer from there
        assert found["unread"]["software.slurm"]["reason"] == "sinfo: fatal: no configuration (exit code 1)"
    assert value(facts(str(node)), "software.slurm") == "slurm 23.11.1"


def test_facts__a_command_that_hangs_costs_its_time_limit_once(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.3)
    # Both hang, one through a child that holds the output open.
    command(node.parent / "bin", "mpirun", "/bin/sleep 30 & /bin/sleep 30")
    command(node.parent / "bin", "gcc", "exec /bin/sleep 30")
    start = time.monotonic()
    unread = facts(str(node))["unread"]
    assert time.monotonic() - start < 5
    assert unread["software.mpirun"]["reason"] == "no answer within 0.3 s"
    assert unread["software.gcc"]["reason"] == "no answer within 0.3 s"


def test_facts__those_that_hang_do_not_hold_up_others_until_all_workers_hang(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 2.0)
    for name in ("mpirun", "mpicc"):
        command(node.parent / "bin", name, "exec /bin/sleep 30")
    command(node.parent / "bin", "gcc", "echo 12.2")
    assert value(facts(str(node)), "software.gcc") == "12.2"
    command(node.parent / "bin", "mpicxx", "exec /bin/sleep 30")
    unread = facts(str(node))["unread"]
    reasons = {name: unread[f"software.{name}"]["reason"] for name in ("mpirun", "mpicc", "mpicxx", "gcc")}
    assert reasons.pop("gcc") == "not asked: others gave no answer within 2.0 s"
    assert set(reasons.values()) == {"no answer within 2.0 s"}


def test_facts__environment_is_an_allow_list_without_secrets(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"SLURM_JOB_ID": "7", "OMP_NUM_THREADS": "2", "OMPI_MCA_btl": "tcp,self", "UCX_TLS": "rc"}
    kept |= {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "verbs", "MV2_USE_RDMA_CM": "1"}
    kept |= {"MPIR_CVAR_POLL_FREQ": "8", "OPENBLAS_NUM_THREADS": "4", "LD_PRELOAD": "libjemalloc.so"}
    kept |= {"LOADEDMODULES": "gcc/12.2:openmpi/4.1.4"}  # with the versions that `module load gcc` has chosen
    kept |= {"MPIP": "-k 2 -t 5.0", "IPM_LOG": "terse", "PMIX_MCA_gds": "hash", "MALLOC_ARENA_MAX": "1"}
    secret = {"SLURM_JWT": "a", "OMPI_MCA_x_PASSWORD": "b", "UCX_api_key": "c", "FI_TOKEN": "d"}
    secret |= {"MV2_PROXY": "http://me:pw1@host", "SLURM_X": "eyJhbGciOiJI.abc", "OMPI_Y": "0f" * 16}
    other = {"HOME": "/home/me", "AWS_REGION": "x", "MPIPE": "y", "PMIX_SERVER_URI": "z"}
    for name, text in {**kept, **secret, **other}.items():
        monkeypatch.setenv(name, text)
    found = facts(str(node))
    assert found["environment"] == dict(sorted(kept.items()))
    withheld = [name for name in found["unread"] if name.startswith("environment.")]
    assert withheld == sorted(f"environment.{name}" for name in secret)
    text = json.dumps(found)
    assert "pw1" not in text
    assert "/home/me" not in text


def test_facts__commands_do_not_get_the_preloaded_profiler(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(node.parent / "bin", "gcc", 'echo "1.0 preload=<$LD_PRELOAD> locale=$LC_ALL"')
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setattr(os, "environ", {**os.environ, "LD_PRELOAD": "/opt/ipm/libipm.so"})
    assert value(facts(str(node)), "software.gcc") == "1.0 preload=<> locale=C"


def test_facts__this_node_in_under_two_seconds() -> None:
    start = time.monotonic()
    found = facts()
    assert time.monotonic() - start < 2 * module.TIMEOUT  # 0.2 s on an idle machine
    assert value(found, "kernel.osrelease") == os.uname().release
    json.dumps(found)


def test_facts__module_prints_them() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "analysis.provenance", "facts"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["facts"]["software.python"]["source"] == sys.executable


def old_python(version: str) -> str | None:
    candidates = [*Path("/usr/bin").glob(f"python{version}"), *Path("/usr/libexec").glob("platform-python")]
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in candidates:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
        if said == version:
            return str(path)
    return None


@pytest.mark.parametrize("version", OLD_PYTHONS)
def test_facts__file_runs_alone_on_an_old_python(version: str, tmp_path: Path) -> None:
    python = old_python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    alone = tmp_path / "facts.py"
    alone.write_bytes(FILE.read_bytes())
    done = subprocess.run(
        [python, "-I", str(alone)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    found = json.loads(done.stdout)
    assert found["facts"]["software.python"]["value"].startswith(f"{version}.")
    assert done.stderr == ""
    assert found["facts"].keys() | found["unread"].keys() >= facts()["facts"].keys()
