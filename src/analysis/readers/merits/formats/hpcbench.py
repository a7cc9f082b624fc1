"""hpcbench's collated document (JSON) of one job: the totals of a molecular dynamics program's log."""

import math
from typing import Any

import xarray as xr

from analysis.readers.format import Format
from analysis.readers.merits.output import Document, integer_of, items, text_of
from analysis.readers.text import number

FORMAT = Format(
    engine="hpcbench", kind="merits", tool="hpcbench", marks=((b'"sysinfo"', b'"kernel-release"'),),
    near=r"(?i)\bhpcbench\b",
)  # fmt: skip
# The totals that its readers of logs give in one unit each; the others follow from them.
_TOTALS = {"ns/day": "ns/day", "Wall Clock Time (s)": "s", "Consumed Energy (J)": "J"}
_NO_VALUE = 4.29e9  # J; what Slurm writes for "never measured" is larger
# How Slurm's options for nodes, ranks on each and ranks may be written.
_ASKED = (("nodes", "N"), ("ntasks-per-node", "tasks-per-node"), ("ntasks", "n"))


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are a JSON object with hpcbench's log of a system."""
    return head.lstrip().startswith(b"{") and b'"sysinfo"' in head and b'"kernel-release"' in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the totals of one job: kind ``merits``; an energy of 0 J was not counted and is left out."""
    document = Document(data, source, "sysinfo")
    totals = part(document.content, "run", "Totals")
    state = text_of(part(document.content, "accounting"), "State")
    check = "failed" if state and state != "COMPLETED" else ""
    for name, unit in _TOTALS.items():
        if unit != "J" or str(totals.get(name)) not in ("0", "0.0"):
            document.add(name, totals, name, unit, 0, check=check)
    if not totals:
        document.output.silent = "it reads no log of this program"
    job, other = str(part(document.content, "accounting").get("JobID", "")), _dumped(document.content)
    if not environment(document.content) and other:
        found = f"the accounting belongs to job {job}, the environment to job {other.get('SLURM_JOB_ID')}"
        document.output.faults.note(0, found, "collate files of one job; the environment is not used")
    document.output.facts |= counts(document.content)
    joules, reason = energy(document.content)
    figure = number(str(totals.get("Consumed Energy (J)", "")))
    known = number(str(part(document.content, "accounting").get("ConsumedEnergyRaw", "")))
    if figure > 0 and abs(figure - known) > 1:
        found = f"its energy is {figure:g} J, the accounting of job {job} has {known:g} J"
        document.output.faults.note(0, found, "the figure comes from a GPU's log or another count of Slurm")
    ds = document.dataset(FORMAT, text_of(document.content, "version"), main="ns/day")
    return ds.assign_attrs(energy_slurm=joules, energy_reason=reason)


def energy(content: dict[str, Any]) -> tuple[float, str]:
    """Return the J that Slurm counted for the job, NaN without, and why they are not those of the run.

    hpcbench keeps the first count that sacct prints: of the job, or of its batch step on the first node.
    """
    variables, machine = environment(content), part(content, "sysinfo", "CPU")
    joules = number(str(part(content, "accounting").get("ConsumedEnergyRaw", "")))
    if not variables or not 0 < joules < _NO_VALUE:
        return math.nan, ""
    if integer_of(variables, "SLURM_JOB_NUM_NODES") != 1:
        return math.nan, "Slurm's count in the document may be that of the first node alone"
    cores = integer_of(machine, "Core(s) per socket") * integer_of(machine, "Socket(s)")
    if integer_of(variables, "SLURM_JOB_CPUS_PER_NODE") < cores:
        return math.nan, "Slurm counts a node whole, and the job had a part of its cores"
    return joules, ""


def part(content: Any, *keys: str) -> dict[str, Any]:
    """Return a part of a document that is an object; empty if it is missing or another thing."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}


def counts(content: dict[str, Any]) -> dict[str, int]:
    """Return nodes and ranks as they were asked for, and threads as the environment sets them.

    Slurm's ``cpus-per-task`` is no number of threads: a program without OpenMP's variable may start one.
    """
    asked = part(content, "slurm", "slurm")
    nodes, each, ranks = (max(integer_of(asked, name) for name in names) for names in _ASKED)
    found = {"nodes": nodes, "ranks": nodes * each if min(nodes, each) > 0 else ranks}
    return found | {"threads": integer_of(environment(content), "OMP_NUM_THREADS")}


def gpus(content: dict[str, Any]) -> str:
    """Return the names of the GPUs that the job saw, each once; the device's number where it has no name."""
    each = [one for one in part(content, "sysinfo", "GPU").values() if isinstance(one, dict)]
    names = (one.get("name") or one.get("Device ID") for one in each)
    return ", ".join(sorted({str(name[0]) for name in names if isinstance(name, list) and name}))


def environment(content: dict[str, Any]) -> dict[str, str]:
    """Return the variables of the job; empty if the accounting belongs to another job."""
    found = _dumped(content)
    job = str(part(content, "accounting").get("JobID", "")).partition("_")[0]  # 301_2 is a part of 301
    known = {found[name] for name in ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID") if name in found}
    return found if not job or not known or job in known else {}


def _dumped(content: dict[str, Any]) -> dict[str, str]:
    pairs = (str(line).partition("=") for line in items(part(content, "sysinfo"), "env"))
    return {name: value for name, _, value in pairs}
