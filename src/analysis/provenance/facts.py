# ruff: noqa: UP006, UP035  -- the node's own Python may be 3.6, which has no other way to write these
"""Facts of the node that this runs on, as plain JSON: where each was read, and why others could not be.

This one file needs nothing but Python 3.6 or later: ``python3 facts.py`` on a compute node prints the same
as ``python -m analysis.provenance facts``. Serial numbers and network addresses are not read.
"""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

# For all commands together: a run should not wait for its description, and a shared file system can hang.
TIMEOUT = 2.0
CPU = "sys/devices/system/cpu/"
ALL_CPUS = CPU + "cpu[0-9]*/cpufreq/"
# Group of facts -> folder below the root, and the files in it; a fact is called by its group and its file.
# Where a pattern meets the files of several CPUs, equal values become one.
FILES = {
    "knob": (CPU, "smt/control cpufreq/boost intel_pstate/no_turbo cpuidle/current_driver"),
    "intel_pstate": (CPU + "intel_pstate/", "status"),
    "amd_pstate": (CPU + "amd_pstate/", "status"),
    "cpufreq": (ALL_CPUS, "scaling_driver scaling_governor energy_performance_preference"),
    "clock": (ALL_CPUS, "base_frequency cpuinfo_min_freq cpuinfo_max_freq scaling_min_freq scaling_max_freq"),
    "clocksource": ("sys/devices/system/clocksource/clocksource0/", "current_clocksource"),
    "kernel": ("proc/sys/kernel/", "osrelease version numa_balancing"),
    "vm": ("proc/sys/vm/", "nr_hugepages swappiness"),
    "transparent_hugepage": ("sys/kernel/mm/transparent_hugepage/", "enabled defrag"),
    "system": ("sys/class/dmi/id/", "bios_vendor bios_version bios_date sys_vendor product_name board_name"),
}
# Fact -> file, the line in it, unit.
LINES = (
    ("os.name", "etc/os-release", r'PRETTY_NAME="?([^"\n]+)', ""),
    ("memory.total", "proc/meminfo", r"MemTotal:\s*(\d+) kB", "KiB"),
    ("memory.per_numa_node", "sys/devices/system/node/node[0-9]*/meminfo", r"MemTotal:\s*(\d+) kB", "KiB"),
    ("cpu.microcode", "proc/cpuinfo", r"microcode\s*: (\S+)", ""),
    ("clock.now", "proc/cpuinfo", r"cpu MHz\s*: ([\d.]+)", "MHz"),
)
# The kernel's command line can hold addresses and keys: only what moves benchmarks is taken from it.
BOOT = re.compile(
    r"(?:(?:mitigations|isolcpus|nohz_full|rcu_nocbs|\w*hugepage\w*|numa_balancing|intel_pstate|amd_pstate|tsc|"
    r"idle|clocksource|iommu|intel_iommu|amd_iommu|maxcpus|nr_cpus|mem|(?:intel_idle|processor|cpuidle)[._]\w+)"
    r"=\S*|nosmt\S*|nopti|nospectre_v\d)$"
)
LSCPU = re.compile(r"^(?!Vulnerability|Byte Order)([\w() -]+?):[ \t]+(.+)$", re.MULTILINE)
DIMM_KEYS = "Locator|Size|Type|Speed|Configured (?:Memory|Clock) Speed|Rank|Manufacturer|Part Number"
DIMM = re.compile(r"^\s*(" + DIMM_KEYS + r"): *(.*?) *$", re.MULTILINE)
# Fact -> commands, the first of which that answers is taken; all others are their own names.
VERSIONS = {
    "slurm": ["sinfo --version", "srun --version", "slurmd -V"],
    "container": ["apptainer --version", "singularity --version"],
    "ucx_info": ["ucx_info -v"],
    "ofed_info": ["ofed_info -s"],
}
SOFTWARE = (
    "mpirun mpirun.openmpi mpirun.mpich mpiexec.hydra mpichversion mpicc mpicxx mpifort fi_info "
    "gcc g++ gfortran clang flang icc icx ifort ifx nvc nvfortran nvcc armclang"
)
# Commands are files called 0, 1, 2 and so on. Each worker takes the next that no other one has taken, so that
# one that hangs does not hold up the others.
WORKERS = """
work() {
    set -C
    for one in *; do
        case $one in *.*) continue ;; esac
        true 2>/dev/null >"$one.taken" || continue
        /bin/sh "./$one" >"$one.out" 2>&1
        echo $? >"$one.code"
    done
}
work & work & work &
wait
"""
VERSIONS.update((name, [name + " --version"]) for name in SOFTWARE.split())
TUNING = re.compile(
    r"((SLURM|OMP|GOMP|KMP|MKL|OPENBLAS|I_MPI|OMPI|PMIX_MCA|PRTE_MCA|MPIR|MPICH|MV2|HYDRA|UCX|UCC|FI|PSM[23]|"
    r"HCOLL|MXM|FCA|SHARP|MALLOC|IPM)_\w+|MPIP|GLIBC_TUNABLES|LD_PRELOAD|LD_BIND_NOW|LOADEDMODULES)$"
)
SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CRED|AUTH|JWT|COOKIE|PRECONDITION", re.IGNORECASE)
# A signed token, an address with a password in it, a long number in hexadecimal digits.
SECRET_VALUE = re.compile(r"\beyJ[\w-]{8,}\.|://[^/\s:@]*:[^/\s@]+@|\b[0-9a-fA-F]{32,}\b")

Answer = Tuple[str, bool, str]  # the command, whether it answered, and what it said or why not


class _Collector:
    """The facts and the gaps found so far, below a root folder."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        self.facts = {}  # type: Dict[str, Dict[str, Any]]
        self.unread = {}  # type: Dict[str, Dict[str, str]]

    def add(self, name: str, value: Any, source: str, unit: str = "") -> None:
        self.facts[name] = dict({"unit": unit} if unit else {}, value=value, source=source)

    def miss(self, name: str, source: str, reason: str) -> None:
        self.unread[name] = {"source": source, "reason": reason}

    def texts(self, name: str, pattern: str) -> Dict[str, str]:
        """Return path -> text of the files that a pattern meets; name the gap if there is none."""
        found, reason = {}, "no such file"
        for path in sorted(self.root.glob(pattern)):
            try:
                found[str(path)] = path.read_bytes().decode("utf-8", "replace").strip("\0 \n\t")
            except OSError as error:
                reason = error.strerror or str(error)
        if not any(found.values()):
            self.miss(name, "/" + pattern, "the file is empty" if found else reason)
        return {key: text for key, text in found.items() if text}

    def file(self, name: str, pattern: str, unit: str = "") -> None:
        values = [_value(text) for text in self.texts(name, pattern).values()]
        if values == [-1]:
            self.miss(name, "/" + pattern, "the driver says -1: unknown")
        elif values:
            self.add(name, _summary(values), "/" + pattern, unit)


def facts(root: str = "/") -> Dict[str, Any]:
    """Describe the node that this runs on, by ``proc``, ``sys`` and ``etc`` below a root and by commands.

    Returns ``format`` (1), ``host``, ``time`` (epoch s), ``uptime`` (s since the node's start, by a clock
    that nobody sets; None if unread), ``facts`` {name: {value, unit (where it has one), source}}, ``unread``
    {name: {source, reason}} and ``environment`` {variable: value}: the tuning of Slurm, MPI, libraries and
    profilers, without what looks like a secret. A fact is in ``facts`` as it was read, or in ``unread``.
    """
    found = _Collector(root)
    answers = _ask()
    for group, (folder, names) in FILES.items():
        for name in names.split():
            unit = "kHz" if name.endswith(("_freq", "_frequency")) else ""
            found.file(group + "." + name.replace("/", "."), folder + name, unit)
    _lines(found)
    _cpu(found, answers)
    _dimms(found, answers)
    _network(found)
    _versions(found, answers)
    return {
        "format": 1,
        "host": platform.node(),
        "time": round(time.time(), 3),
        "uptime": _uptime(root),
        "environment": _environment(found),
        "facts": {name: found.facts[name] for name in sorted(found.facts)},
        "unread": {name: found.unread[name] for name in sorted(found.unread)},
    }


def _uptime(root: str) -> Optional[float]:  # noqa: UP045 - an older Python runs this
    try:
        return float(Path(root, "proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _value(text: str) -> Any:
    """Return a number as a number, and of a switch that lists its settings the one in brackets."""
    switch = re.match(r"(?:[a-z_+]+ )*\[([a-z_+]+)\](?: [a-z_+]+)*$", text)
    text = switch.group(1) if switch else text
    return int(text) if re.match(r"-?\d{1,15}$", text) else text


def _summary(values: List[Any]) -> Any:
    """Return the one value that all CPUs have, or each value with how many have it."""
    counts = {str(value): values.count(value) for value in values}
    return values[0] if len(counts) == 1 else counts


def _lines(found: _Collector) -> None:
    for name, pattern, line, unit in LINES:
        texts = found.texts(name, pattern)
        matches = [_value(text) for text in re.findall(line, "\n".join(texts.values()))]
        if matches and unit == "MHz":
            clocks = sorted(map(float, matches))
            found.add(name, {"lowest": clocks[0], "highest": clocks[-1]}, "/" + pattern, unit)
        elif matches:
            found.add(name, _summary(matches), "/" + pattern, unit)
        elif texts:
            found.miss(name, "/" + pattern, "no such line")
    weak = found.texts("kernel.mitigations", CPU + "vulnerabilities/*")
    if weak:
        values = {Path(key).name: text for key, text in weak.items()}
        found.add("kernel.mitigations", values, "/" + CPU + "vulnerabilities/*")
    for text in found.texts("kernel.boot_options", "proc/cmdline").values():
        found.add("kernel.boot_options", [word for word in text.split() if BOOT.match(word)], "/proc/cmdline")


def _ask() -> Dict[str, Answer]:
    """Run all commands, a few at once; return command -> (source, whether it answered, text or reason).

    A shell starts them, which is small: while this process starts another, its memory counts twice.
    """
    commands = ["lscpu", "dmidecode --type 17"] + [line for lines in VERSIONS.values() for line in lines]
    # The folders of system commands are missing from many users' PATH.
    folders = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    paths = {line: shutil.which(line.split()[0], path=folders) for line in commands}
    found = {line: (line, False, "not in PATH") for line in commands}
    try:
        with tempfile.TemporaryDirectory() as folder:
            there = {line: path for line, path in paths.items() if path}
            for number, (line, path) in enumerate(there.items()):
                words = [path] + line.split()[1:]  # noqa: RUF005
                Path(folder, str(number)).write_text("exec " + " ".join(map(shlex.quote, words)) + "\n")
            _run(folder)
            for number, (line, path) in enumerate(there.items()):
                source = " ".join([path] + line.split()[1:])  # noqa: RUF005
                found[line] = (source, *_answer(Path(folder, str(number))))
    except OSError as error:
        reason = error.strerror or str(error)
        found.update((line, (line, False, reason)) for line, path in paths.items() if path)
    return found


def _run(folder: str) -> None:
    # A preloaded profiler belongs to the application, and messages should not be translated.
    environment = dict(os.environ, LC_ALL="C", LD_PRELOAD="")
    # Files instead of pipes: a pipe stays open while some grandchild lives.
    process = subprocess.Popen(
        ["/bin/sh", "-c", WORKERS], cwd=folder, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        process.wait(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()


def _answer(command: Path) -> Tuple[bool, str]:
    """Return whether a command answered, and what it said or why not."""
    if not command.with_suffix(".taken").exists():
        return False, "not asked: others gave no answer within " + str(TIMEOUT) + " s"
    status = command.with_suffix(".code")
    code = status.read_text().strip() if status.exists() else ""
    if not code:
        return False, "no answer within " + str(TIMEOUT) + " s"
    with command.with_suffix(".out").open("rb") as out:
        text = out.read(1000000).decode("utf-8", "replace").strip()
    if code != "0" or not text:
        return False, (text.splitlines() or ["no output"])[0][:200] + " (exit code " + code + ")"
    return True, text


def _cpu(found: _Collector, answers: Dict[str, Answer]) -> None:
    source, answered, text = answers["lscpu"]
    if not answered:
        found.miss("cpu", source, text)
    for key, value in LSCPU.findall(text) if answered else ():
        found.add("cpu." + key, _value(value), source)


def _dimms(found: _Collector, answers: Dict[str, Answer]) -> None:
    source, answered, text = answers["dmidecode --type 17"]
    slots = [dict(DIMM.findall(block)) for block in text.split("Memory Device")[1:] if answered]
    if slots:
        fitted = [slot for slot in slots if slot.get("Size", "No")[:1].isdigit()]
        found.add("memory.dimms", fitted, source)
        found.add("memory.slots", len(slots), source)
    else:
        found.miss("memory.dimms", source, "lists no memory device" if answered else text)


def _network(found: _Collector) -> None:
    """Read network interfaces; a virtual one says a speed that no link has, so that is not read."""
    folders = (path.parent for path in found.root.glob("sys/class/net/*/mtu"))
    interfaces = sorted(path for path in folders if path.name != "lo")
    for path in interfaces:
        name, place = "nic." + path.name, "sys/class/net/" + path.name
        found.file(name + ".mtu", place + "/mtu", "B")
        found.file(name + ".state", place + "/operstate")
        if (path / "device").exists():
            _driver(found, name, place)
            found.file(name + ".speed", place + "/speed", "Mbit/s")
        else:
            found.miss(name + ".speed", "/" + place, "a virtual interface, no device behind it")
    if not interfaces:
        found.miss("nic", "/sys/class/net", "no interface but the loopback")
    ports = sorted((found.root / "sys/class/infiniband").glob("*/ports/*"))
    for path in ports:
        device = path.parent.parent
        name, place = "infiniband." + device.name, "sys/class/infiniband/" + device.name
        _driver(found, name, place)
        for fact in ("fw_ver", "hca_type", "board_id"):
            found.file(name + "." + fact, place + "/" + fact)
        for fact in ("rate", "state", "link_layer"):
            found.file(name + ".port" + path.name + "." + fact, place + "/ports/" + path.name + "/" + fact)
    if not ports:
        found.miss("infiniband", "/sys/class/infiniband", "no port, or no driver loaded")


def _driver(found: _Collector, name: str, place: str) -> None:
    source = place + "/device/driver"
    if (found.root / source).exists():
        found.add(name + ".driver", (found.root / source).resolve().name, "/" + source)
    else:
        found.miss(name + ".driver", "/" + source, "no such link")


def _versions(found: _Collector, answers: Dict[str, Answer]) -> None:
    """Take the first line with a version in it: MPICH's launcher begins with a heading."""
    for name, commands in VERSIONS.items():
        # One that is there but fails says more than one that is not.
        tried = sorted((answers[command] for command in commands), key=lambda one: one[2] == "not in PATH")
        source, answered, text = next((one for one in tried if one[1]), tried[0])
        lines = [" ".join(line.split()) for line in text.splitlines() if re.search(r"\d\.\d", line)]
        if answered and lines:
            found.add("software." + name, lines[0][:200], source)
        else:
            found.miss("software." + name, source, "no version in its answer" if answered else text)
    found.add("software.python", platform.python_version(), sys.executable)
    found.add("software.libc", " ".join(platform.libc_ver()), "platform.libc_ver of Python")


def _environment(found: _Collector) -> Dict[str, str]:
    kept = {name: os.environ[name] for name in sorted(filter(TUNING.match, os.environ))}
    for name in [one for one in kept if SECRET_NAME.search(one) or SECRET_VALUE.search(kept[one])]:
        found.miss("environment." + name, "environment", "looks like a secret")
        del kept[name]
    return kept


if __name__ == "__main__":
    print(json.dumps(facts(), indent=1))
