"""Files next to outputs: job scripts, environments, modules, lscpu, ibstat, lists of hosts.

Each is recognised by its content, and gives factors only where it states them as numbers or names.
"""

import re
from typing import Any

from analysis.importing import launch, modules, scheduler, vocabulary
from analysis.readers.text import may_match

Facts = dict[str, Any]

_LSCPU = re.compile(r"^Model name:[ \t]*(\S.*)$", re.MULTILINE)
_CPUINFO = re.compile(r"^model name[ \t]*: (.+)$", re.MULTILINE)
_BRAND = re.compile(r"^[ \t]*(?:Vendor: \S+[ \t]+)?Brand:[ \t]+(\S.*)$", re.MULTILINE)  # GROMACS
_ENVIRONMENT = re.compile(
    r"^(?:(?:SLURM|PBS|LSB|PJM|COBALT|FLUX|LOADL)_\w+|PATH|HOME|LOADEDMODULES)=", re.MULTILINE
)
_MODULES = re.compile(r"Currently Loaded Mod", re.IGNORECASE)
_INSTANCE = re.compile(r"(?i:instance[-_ ]?type)[\"']?[ \t]*[:=][ \t]*[\"']?([\w.-]+)")
_IB_RATE = re.compile(r"^\s*Rate:\s*(\d+)|rate:\s+(\d+) Gb/sec|^\s*link_layer:\s*(\w+)", re.MULTILINE)
_IB = re.compile(r"^CA '|^Infiniband device '|^hca_id:", re.MULTILINE)
# A report of SPEC: `            CPU Name: Xeon Gold 6148`, in CSV `"CPU Name","Xeon Gold 6148"`.
_REPORT = r'^[ \t]*"?CPU Name(?:: |",)'
_REPORTED = {"cpu": "CPU Name", "dimm": "Memory", "build": "Compiler", "cluster": "Hardware Model:"}
_SYSTEM = re.compile(r"^ *SPEC.* (?:Result|Summary) *\n *\S.*\n *(\S.*)$", re.MULTILINE)  # below its vendor
_HOSTS = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9.-]*(?::\d+|[ \t]+slots=\d+)?[ \t]*\n){1,5000}")
_ANY = (
    "(?m)"
    + "|".join(one.pattern for one in (scheduler.SCRIPT, _LSCPU, _CPUINFO, _IB, _ENVIRONMENT))
    + "|(?i:Currently Loaded Mod)"
)
# What must be in a text that states hardware, modules or directives.
_STATED = "|".join(
    (
        *(_ANY, modules.SIGN, vocabulary.LIBRARY, _REPORT),
        *(one.pattern for one in (_BRAND, _INSTANCE, scheduler.DIRECTIVE)),
    )
)
# Gb/s of a port of four lanes -> the name of its generation.
_RATES = {10: "ib-sdr", 20: "ib-ddr", 40: "ib-qdr", 56: "ib-fdr", 100: "ib-edr", 200: "ib-hdr", 400: "ib-ndr"}


def kind(text: str, name: str) -> str:
    """Return what a text next to outputs is; empty if it is nothing known."""
    if may_match(_ANY, text) and (known := _kind(text)):
        return known
    hosts = re.search(r"host|nodes?list|machine", name, re.IGNORECASE)
    return "list of hosts" if hosts and _HOSTS.fullmatch(text) else ""


def _kind(text: str) -> str:
    if scheduler.SCRIPT.search(text):
        return "job script"
    if _LSCPU.search(text) and "CPU(s):" in text:
        return "lscpu"
    if _CPUINFO.search(text) and "processor" in text:
        return "cpuinfo"
    if _IB.search(text):
        return "InfiniBand ports"
    if _MODULES.search(text[:65_536]):
        return "list of modules"
    return "environment" if len(_ENVIRONMENT.findall(text)) > 1 else ""


def stated(text: str) -> Facts:
    """Return what a text states: a script, a dump, or what a job printed before its output."""
    if not may_match(_STATED, text):
        return launch.stated(text)
    facts = scheduler.requested(text)
    asked = scheduler.directives(text)
    facts |= {"directives": asked} if asked else {}
    loaded = modules.loaded(text)
    if loaded:
        facts["modules"] = " ".join(loaded)
    if compiler := modules.compiler(loaded):
        facts["build"] = compiler
    if found := _LSCPU.search(text) or _CPUINFO.search(text) or _BRAND.search(text):
        facts |= {"cpu": name} if (name := cpu(found[1])) else {}
    if re.search(_REPORT, text, re.MULTILINE):
        facts |= _reported(text)
    if len(instances := set(_INSTANCE.findall(text))) == 1:
        known = vocabulary.parse_name(instances.pop()).values.get("host_group")
        facts |= {"host_group": known[0]} if known else {}
    if link := _link(text):
        facts["interconnect"] = link
    libraries = modules.libraries(loaded)
    if mpi := libraries[0] if len(libraries) == 1 else "" if libraries else _library(text):
        facts["mpi"] = mpi
    return facts | launch.stated(text)


def software(text: str) -> Facts:
    """Return what modules, MPI library and compiler a text states."""
    found = stated(text)
    return {name: found[name] for name in ("modules", "mpi", "build") if name in found}


def cpu(text: str) -> str:
    """Shorten a CPU's brand to its model: ``Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz`` is Xeon Gold 6148.

    It is empty for a brand that says that it is unknown.
    """
    text = re.sub(r"\((?:R|TM|r|tm)\)|@.*|\bCPU\b|\bProcessor\b|\d+-Core\b|^Intel\b|^AMD\b", " ", text)
    name = " ".join(text.split())
    return "" if re.match(r"-?$|unknown\b", name, re.IGNORECASE) else name  # as on Arm


def _reported(text: str) -> Facts:
    """Return the machine of a report of SPEC: its processor, memory, compiler and model."""
    facts: Facts = {"cluster": found[1].strip()} if (found := _SYSTEM.search(text)) else {}
    for name, label in _REPORTED.items():
        if found := re.search(rf'^[ \t]*"?{label}"?[:,][ \t]*"?([^\s"][^"\n]*)', text, re.MULTILINE):
            stated = " ".join(found[1].partition(" fixme")[0].split())
            facts[name] = cpu(stated) if name == "cpu" else stated
    return facts


def _library(text: str) -> str:
    """Return the MPI library of lines with the word module, as of a job that tells what it loads."""
    lines = "\n".join(
        line
        for line in text.splitlines()
        if re.search(r"module|LOADEDMODULES|^\s*\d+\) ", line) and "unload" not in line
    )
    if found := _MODULES.search(text):
        lines += text[found.start() : found.start() + 8192]
    names = set(vocabulary.libraries(lines))
    return names.pop() if len(names) == 1 else ""


def _link(text: str) -> str:
    if not _IB.search(text) or re.search(r"[Ll]ink[ _][Ll]ayer:\s*Ethernet", text):
        return ""
    rates = {int(match[1] or match[2] or 0) for match in _IB_RATE.finditer(text)} - {0}
    return _RATES.get(max(rates), "") if rates else ""
