"""Words of the OSU micro-benchmarks: column headings and titles over their versions."""

from __future__ import annotations

import re

# Heading without blanks, capitals and unit -> variable.
_COLUMNS = {
    "size": "size",
    "latency": "latency",
    "avglatency": "latency",
    "comm.latency": "latency",
    "avgcomm.latency": "latency",
    "overall": "latency",
    "minlatency": "latency_min",
    "mincomm.latency": "latency_min",
    "maxlatency": "latency_max",
    "maxcomm.latency": "latency_max",
    "p50taillat": "latency_p50",
    "p90taillat": "latency_p90",
    "p99taillat": "latency_p99",
    "compute": "compute_time",
    "purecomm.": "communication_time",
    "coll.init": "init_time",
    "init": "init_time",
    "mpi_test": "test_time",
    "mpi_wait": "wait_time",
    "overlap": "overlap",
    "bandwidth": "bandwidth",
    "mb/s": "bandwidth",
    "p50tailbw": "bandwidth_p50",
    "p90tailbw": "bandwidth_p90",
    "p99tailbw": "bandwidth_p99",
    "messages/s": "message_rate",
    "iterations": "iterations",
    "validation": "validation",
}
_UNIT = re.compile(r"\((?:us|mb/s|%)\)$")

# Titles whose program is not simply named after them.
_PROGRAMS = {
    "latency": "osu_latency",
    "bandwidth": "osu_bw",
    "bi-directional bandwidth": "osu_bibw",
    "multi latency": "osu_multi_lat",
    "multi-threaded latency": "osu_latency_mt",
    "multi-process latency": "osu_latency_mp",
    "multiple bandwidth / message rate": "osu_mbw_mr",
    "hello world": "osu_hello",
}


def column(heading: str) -> str | None:
    """Find the variable that a column holds.

    Parameters
    ----------
    heading : str
        ``Avg Latency(us)`` or ``Latency (us)``.

    Returns
    -------
    str or None
        Name of a variable of the kind ``osu``; None if the heading is not known.
    """
    return _COLUMNS.get(_UNIT.sub("", heading.lower().replace(" ", "")))


def program(title: str) -> str:
    """Name the program that prints a title.

    Parameters
    ----------
    title : str
        Without the version: ``OSU MPI Non-blocking Allreduce Latency Test``.

    Returns
    -------
    str
        ``osu_iallreduce``.
    """
    words = re.sub(
        r"^OSU (?:(?:MPI|OpenSHMEM|UPC\+\+|UPC|NCCL|XCCL)(?:-\w+)?[ _])?| Test$", "", title
    ).lower()
    if words in _PROGRAMS:
        return _PROGRAMS[words]
    prefix = ""
    if words.startswith("non-blocking "):
        prefix, words = "i", words.removeprefix("non-blocking ")
    words = (
        words.replace("all-to-all", "alltoall")
        .replace("broadcast", "bcast")
        .replace("personalized exchange", "")
    )
    # One-sided tests keep what they measure in the name, collectives do not.
    if re.match(r"(?:put|get|acc|fop|cas)", words):
        words = words.replace("accumulate", "acc").replace("bi-directional bandwidth", "bibw")
        words = words.replace("bandwidth", "bw")
    else:
        words = words.removesuffix(" latency")
    return "osu_" + prefix + "_".join(re.findall(r"\w+", words))
