"""How sentences call applications, levels and places: never by an identifier where there is a name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from analysis.base.models import one_or_more
from analysis.base.words import Level, in_order
from analysis.estimates.campaign import Campaign
from analysis.schema.factors import level_name

# Spelt as in many records; what a campaign's `names` says goes before.
_KNOWN: Mapping[str, Mapping[str, str]] = {
    "case": {
        "osu_latency": "point-to-point latency", "osu_bw": "point-to-point bandwidth",
        "osu_bibw": "two-way bandwidth", "osu_allreduce": "Allreduce", "osu_alltoall": "Alltoall",
        "osu_bcast": "Bcast", "osu_allgather": "Allgather", "osu_barrier": "Barrier",
    },
    "interconnect": {
        "1gbe": "1GbE", "10gbe": "10GbE", "25gbe": "25GbE", "40gbe": "40GbE", "100gbe": "100GbE",
        "ib": "InfiniBand", "ib-sdr": "SDR InfiniBand", "ib-ddr": "DDR InfiniBand",
        "ib-qdr": "QDR InfiniBand", "ib-fdr": "FDR InfiniBand", "ib-edr": "EDR InfiniBand",
        "ib-hdr": "HDR InfiniBand", "ib-ndr": "NDR InfiniBand", "ethernet-tcp": "TCP over Ethernet",
        "shared-memory": "shared memory", "omnipath-100": "Omni-Path",
    },
    "mpi": {
        "open-mpi": "Open MPI", "openmpi": "Open MPI", "mpich": "MPICH", "intel-mpi": "Intel MPI",
        "platform-mpi": "Platform MPI", "mvapich2": "MVAPICH2", "hpc-x": "HPC-X",
    },
    "profiler": {"none": "no profiler", "ipm": "IPM", "mpip": "mpiP"},
}  # fmt: skip

_LISTED = 3  # levels are listed up to so many


def display(campaign: Campaign, factor: str, level: Level) -> str:
    """Name a level as sentences do: by the campaign's `names`, a case as a report spells it, or as it is."""
    text = str(level)
    if (given := campaign.names.get(factor, {}).get(text)) is not None:
        return given
    for name, one in campaign.stand_ins.get("case", {}).items() if factor == "case" else ():
        if one.distance == "same" and one_or_more(one.is_) == [level]:
            return name
    if factor == "application":
        return campaign.application_name(text)
    return _KNOWN.get(factor, {}).get(text, text if isinstance(level, str) else level_name(factor, level))


def noun(campaign: Campaign, factor: str, level: Level) -> str:
    """Name a level as the subject of a sentence: ``2 nodes``, ``runs of 45 s``, ``MPICH 4.0.2``."""
    name = display(campaign, factor, level)
    if factor == "concurrent_jobs" and not isinstance(level, str):
        return "1 job" if level == 1 else f"{level:g} jobs at once"
    if factor == "target_time":
        return f"runs of {name}"
    if factor in ("tuning", "build", "version", "placement", "dimm"):
        word = {"dimm": "memory modules"}.get(factor, factor)
        return f"{word} {name}" if name else f"no {word} named"
    return name or f"{factor.replace('_', ' ')} not stated"


def plural(factor: str, level: Level) -> bool:
    """Tell whether the noun of a level is a plural."""
    return factor == "target_time" or (not isinstance(level, str) and level != 1)


_BEFORE = {
    "case": "at", "nodes": "on", "interconnect": "over", "mpi": "with", "build": "built with", "cpu": "on",
    "cluster": "on", "tuning": "tuned as", "profiler": "under", "target_time": "in runs of",
    "placement": "placed as", "dimm": "with memory", "version": "in version",
}  # fmt: skip
# In this order they are said.
PLACES = (
    "case", "version", "nodes", "ranks", "ranks_per_node", "concurrent_jobs", "interconnect", "cpu",
    "cluster", "dimm", "mpi", "tuning", "placement", "build", "target_time", "profiler",
)  # fmt: skip
_MANY = {
    "case": "every case", "nodes": "all numbers of nodes", "ranks": "all numbers of ranks",
    "ranks_per_node": "all numbers of ranks per node", "cluster": "all clusters",
    "cpu": "all processors", "mpi": "all MPI libraries", "interconnect": "all links",
}  # fmt: skip


def place(campaign: Campaign, factor: str, levels: Sequence[Level]) -> str:
    """Say where something holds: ``at 16³ and 32³``, ``on 1 to 16 nodes (all 5)``, ``over 1GbE``."""
    before = _BEFORE.get(factor, "with")
    if factor == "profiler" and list(levels) == ["none"]:
        return "without a profiler"
    if factor == "case" and all(str(one).startswith("osu") for one in levels):
        before = "in"
    ordered = in_order(level for level in levels if level not in ("", -1))
    if not ordered:
        return f"{factor.replace('_', ' ')} not stated"
    names = [display(campaign, factor, one) for one in ordered]
    if len(names) > 1 and not any(isinstance(one, str) for one in ordered):
        numbers = [f"{one:g}" for one in ordered if not isinstance(one, str)]
        word = names[-1].split(" ", 1)[-1]
        many = f"{numbers[0]} to {numbers[-1]} {word} ({len(numbers)} of them)"
        return f"{before} {many if len(numbers) > _LISTED else f'{listed(numbers)} {word}'}"
    if len(names) > _LISTED:
        return f"{before} {_MANY.get(factor, f'all of {len(names)} levels of {factor}')} ({len(names)})"
    return f"{before} {listed(names)}"


def slug(*parts: Level) -> str:
    """Make an id that a claim may have: ``vm-hpcg-interconnect-veth-open``."""
    words = (part if isinstance(part, str) else f"{part:g}" for part in parts)
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def listed(names: Sequence[str]) -> str:
    """List names: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
