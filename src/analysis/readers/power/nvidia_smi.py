"""nvidia-smi: ``--query-gpu=timestamp,…,power.draw --format=csv`` and ``-q -x`` (XML), repeated."""

from __future__ import annotations

import re
from typing import Any

import xarray as xr

from analysis.readers.power import csvtable, snapshots, units
from analysis.readers.power.base import PowerLog, Readings
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import Headings

_INSTANT = Headings(
    time=(r"^timestamp",),
    power=r"^power\.draw\.instant",
    energy="",
    meter=r"^(gpu_)?(index|uuid|pci\.bus_id|gpu)$",
    unit="",
)
_DRAW = Headings(
    time=(r"^timestamp",),
    power=r"^power\.draw(?!\.(average|instant))|^power\.draw\.average",
    energy="",
    meter=_INSTANT.meter,
    unit="",
)
_TAG = re.compile(r"<(?P<tag>timestamp|(?:average_|instant_)?power_draw)>\s*(?P<text>[^<]*?)\s*</")
_GPU = re.compile(r'<gpu id="([^"]*)"')


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is nvidia-smi's XML or a CSV with power.draw."""
    return (
        b"<nvidia_smi_log" in head
        or re.search(rb"(?m)^.*timestamp.*power\.draw|^.*power\.draw.*timestamp", head) is not None
    )


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse readings per GPU; ``N/A`` is a blank.

    Where the driver gives an instant and an average power, the instant one is taken. Polling
    faster than the sensor (about 0.1 s) repeats its value.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per GPU.

    Raises
    ------
    ReadError
        If there is no reading.
    """
    log = PowerLog(data, source, options)
    if b"<nvidia_smi_log" in log.data:
        readings = _xml(log)
    else:
        instant = b"power.draw.instant" in log.data[:2000]
        readings = csvtable.read(log, _INSTANT if instant else _DRAW, short=False)
    return log.dataset(readings, tool="nvidia-smi", location="GPU board", attrs={"meter_kind": "gpu"})


def _xml(log: PowerLog) -> Readings:
    """Read line by line: repeated documents and a cut one are no XML."""
    rows: list[tuple[str, int, str, float]] = []
    stamp, gpu, section, rank = "", "", "", -1
    ranks = {"average_power_draw": 0, "power_draw": 1, "instant_power_draw": 2}
    for number, line in enumerate(log.lines(), 1):
        begin, tag = _GPU.search(line), _TAG.search(line)
        opened = re.search(r"<(\w*power_readings)>", line)
        if "<nvidia_smi_log" in line:
            stamp = ""
        elif begin:
            gpu, rank = begin[1], -1
        elif opened:
            section = opened[1]
        elif tag and tag["tag"] == "timestamp":
            stamp = tag["text"]
        elif tag and section in ("power_readings", "gpu_power_readings") and ranks[tag["tag"]] > rank:
            value = units.quantity(tag["text"])[0]
            if rank >= 0:
                if value != value:
                    continue
                rows.pop()
            rank = ranks[tag["tag"]]
            rows.append((stamp, number, gpu, value))
    return snapshots.readings(log, Clock(log), rows, "power_draw")
