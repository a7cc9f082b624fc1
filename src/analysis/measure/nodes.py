"""The nodes that a campaign can have: as Slurm lists them (`scontrol show node`), or this machine."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from analysis.base import shell
from analysis.base.errors import ConfigError
from analysis.base.slurm import ranges
from analysis.provenance.facts import facts

COMMAND = ("scontrol", "show", "node")
_FIELD = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z]*)=(.*?)(?=\s+[A-Z][A-Za-z]*=|\s*$)", re.M)
_OUT = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "UNKNOWN", "FUTURE", "INVAL")
_NOTHING = ("", "(null)", "N/A", "n/a")
KIB_PER_GIB = 2**20
# A word in the answer of a launcher -> its library.
_LIBRARIES = {"Open MPI": "Open MPI", "Intel": "Intel MPI", "HYDRA": "MPICH", "Version": "MPICH"}


@dataclass(frozen=True)
class Kind:
    """Nodes of one kind: how many, sockets, cores, threads, memory in MB, and how to ask for them.

    `facts` are what is known of them, each with value and source; `libraries` the names of MPI libraries
    that were found, of this machine alone.
    """

    nodes: int
    sockets: int
    cores: int  # of a socket
    threads: int  # of a core
    memory: int
    features: tuple[str, ...] = ()
    gres: str = ""
    partitions: tuple[str, ...] = ()
    facts: tuple[dict[str, Any], ...] = ()
    libraries: tuple[str, ...] = ()
    slurm: bool = True

    def __str__(self) -> str:
        parts = [
            f"{self.nodes} node{'s' if self.nodes > 1 else ''}",
            self.layout,
            f"{self.memory} MB",
            f"features {','.join(self.features)}" if self.features else "",
            f"gres {self.gres}" if self.gres else "",
            f"partition {','.join(self.partitions)}" if self.partitions else "",
        ]
        return ", ".join(filter(None, parts))

    @property
    def layout(self) -> str:
        """Sockets, cores and threads in words."""
        return f"{self.sockets} x {self.cores} cores" + f", {self.threads} threads each" * (self.threads > 1)

    @property
    def numbers(self) -> list[str]:
        """Core numbers of each socket, as most machines number them: first threads first, by socket."""
        each = range(self.sockets)
        return [ranges(range(at * self.cores, (at + 1) * self.cores)) for at in each]


def from_slurm() -> str:
    """Ask Slurm for its nodes; ConfigError if it does not answer."""
    answer = shell.run(COMMAND, 60)
    if answer.code or not answer.out.strip():
        why = (answer.err or answer.out or "no node").strip().splitlines()[0]
        remedy = "run it on a login node, or give --scontrol FILE with its output"
        raise ConfigError.at("scontrol show node", 0, why, remedy)
    return answer.out


def kinds(text: str, source: str, partition: str = "", feature: str = "") -> list[Kind]:
    """Read what ``scontrol show node``, also with ``-o``, printed; nodes that do not differ make one kind.

    Those of a partition and with a feature, if these are given, that are not down or drained; the most first.
    ConfigError with the line of a node without its cores or memory, and if no node is left.
    """
    found: Counter[Kind] = Counter()
    there: set[str] = set()
    out = 0
    for line, block in _blocks(text):
        node = {name: value.strip() for name, value in _FIELD.findall(block)}
        partitions, features = _listed(node, "Partitions"), _listed(node, "AvailableFeatures", "Features")
        there |= {*partitions, *features}
        if (partition and partition not in partitions) or (feature and feature not in features):
            continue
        if any(word in node.get("State", "") for word in _OUT):
            out += 1
            continue
        number = partial(_number, node, source=source, line=line)
        reserved = number("MemSpecLimit", 0)
        found[
            Kind(
                0, number("Sockets"), number("CoresPerSocket"), number("ThreadsPerCore", 1),
                max(number("RealMemory") - reserved, 1), (feature,) if feature else features,
                "" if node.get("Gres", "") in _NOTHING else node["Gres"],
                (partition,) if partition else partitions,
            )
        ] += 1  # fmt: skip
    if not found:
        asked = " and ".join(
            filter(None, (partition and f"partition {partition!r}", feature and f"feature {feature!r}"))
        )
        what = f"{out} nodes, all down or drained" if out else f"no node{' with ' + asked if asked else ''}"
        remedy = (
            f"there are {', '.join(sorted(there))}" if there else "give the output of `scontrol show node`"
        )
        raise ConfigError.at(source, 0, what, remedy)
    listed = [_counted(kind, count) for kind, count in found.items()]
    return sorted(listed, key=lambda kind: -kind.nodes)


def _blocks(text: str) -> list[tuple[int, str]]:
    """Split the listing into nodes, each with its line; both forms begin a node with its name."""
    starts = [match.start() for match in re.finditer(r"^[ \t]*NodeName=", text, re.MULTILINE)]
    ends = [*starts[1:], len(text)][: len(starts)]
    return [
        (text.count("\n", 0, start) + 1, text[start:end]) for start, end in zip(starts, ends, strict=True)
    ]


def _listed(node: dict[str, str], *names: str) -> tuple[str, ...]:
    text = next((node[name] for name in names if name in node), "")
    return () if text in _NOTHING else tuple(text.split(","))


def _number(node: dict[str, str], name: str, otherwise: int | None = None, *, source: str, line: int) -> int:
    text = node.get(name, "")
    if text.isdecimal():
        return int(text)
    if otherwise is not None:
        return otherwise
    what = f"node {node.get('NodeName', '?')} has no {name}"
    raise ConfigError.at(source, line, what, "give the whole output of `scontrol show node`")


def _counted(kind: Kind, nodes: int) -> Kind:
    values = {
        "CPU": kind.layout,
        "memory": f"{kind.memory} MB for jobs",
        "features": ",".join(kind.features),
        "gres": kind.gres,
    }
    facts = (
        {"what": what, "value": value, "source": " ".join(COMMAND)} for what, value in values.items() if value
    )
    return replace(kind, nodes=nodes, facts=tuple(facts))


def here() -> Kind:
    """Describe this machine by its own facts, in the cluster's file: cores are found at each run."""
    known = facts()["facts"]

    def value(name: str) -> Any:
        return known.get(name, {}).get("value")

    sockets, total = value("cpu.Socket(s)"), value("memory.total")
    rows = [
        ("CPU", "cpu.Model name", value("cpu.Model name")),
        ("CPUs", "cpu.CPU(s)", value("cpu.CPU(s)")),
        ("sockets", "cpu.Socket(s)", sockets),
        ("memory", "memory.total", f"{total / KIB_PER_GIB:.0f} GiB" if isinstance(total, int) else None),
    ]
    rates = sorted(name for name in known if re.fullmatch(r"infiniband\..*\.rate", name))
    rows += [(f"{name.split('.')[1]} rate", name, value(name)) for name in rates]
    listed = tuple(
        {"what": what, "value": value, "source": str(known[name].get("source", "this machine"))}
        for what, name, value in rows
        if isinstance(value, (str, int)) and value != ""
    )
    memory = int(total / 1024) if isinstance(total, int) else 1000
    return Kind(1, int(sockets or 1), 1, 1, memory, facts=listed, libraries=_libraries(known), slurm=False)


def _libraries(known: dict[str, Any]) -> tuple[str, ...]:
    """Name the MPI libraries whose launchers answered, as records are to have them."""
    found = []
    for launcher in ("mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra"):
        text = str(known.get(f"software.{launcher}", {}).get("value", ""))
        version = re.search(r"\d+(\.\d+)+", text)
        names = [name for word, name in _LIBRARIES.items() if word in text]
        if names and version:
            found.append(f"{names[0]} {version[0]}")
    return tuple(dict.fromkeys(found))


def usual_counts(most: int) -> Sequence[int]:
    """Double the nodes from one to as many as there are."""
    return [2**power for power in range(most.bit_length()) if 2**power <= most]
