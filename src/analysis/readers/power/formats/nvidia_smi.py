"""nvidia-smi: ``--query-gpu=timestamp,…,power.draw --format=csv`` and ``-q -x`` (XML), repeated."""

import re

import numpy as np

from analysis.base.errors import ReadError
from analysis.readers.format import Format
from analysis.readers.power import csv as csvtable
from analysis.readers.power.headings import Headings
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import contains, quantity

FORMAT = Format(engine="nvidia_smi", kind="power", marks=((b"power.draw", b"timestamp"),), near="(?i)nvidia")
_TIME, _METER = (r"^timestamp",), r"^(gpu_)?(index|uuid|pci\.bus_id|gpu)$"
_INSTANT = Headings(_TIME, r"^power\.draw\.instant", "", _METER, "")
_DRAW = Headings(_TIME, r"^power\.draw(?!\.(average|instant))|^power\.draw\.average", "", _METER, "")
_CSV = re.compile(rb"timestamp.*power\.draw|power\.draw.*timestamp")
_TAG = re.compile(r"<(?P<tag>timestamp|(?:average_|instant_)?power_draw)>(?P<text>[^<]*+)</")
_GPU = re.compile(r'<gpu id="([^"]*)"')
# Where the driver gives several, the later in this list goes before.
_RANKS = {"average_power_draw": 0, "power_draw": 1, "instant_power_draw": 2}


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is nvidia-smi's XML or a CSV with power.draw."""
    return b"<nvidia_smi_log" in head or contains(head, _CSV, b"power.draw")


@reads("nvidia-smi", "GPU board", meter_kind="gpu")
def parse(log: MeterLog) -> MeterReadings:
    """Parse readings per GPU; ``N/A`` is a blank, and an instant power goes before an average."""
    # Polling faster than the sensor (about 0.1 s) repeats its value.
    if b"<nvidia_smi_log" in log.data:
        return _xml(log)
    instant = b"power.draw.instant" in log.data[:2000]
    readings = csvtable.read(log, _INSTANT if instant else _DRAW, short=False)
    if len(readings.names) == 1 and bursts(readings.time):
        found = "rows of several GPUs without a column that identifies the GPU"
        raise ReadError.at(log.source, 1, found, "log with index in --query-gpu")
    return readings


def bursts(time: np.ndarray) -> bool:
    """Tell whether rows come in groups of one size: a GPU after the other, then a pause."""
    gaps = np.diff(time)
    pauses = np.flatnonzero(gaps > 10 * np.median(gaps)) if gaps.size else gaps
    sizes = np.diff(pauses)
    return bool(sizes.size and sizes[0] > 1 and (sizes == sizes[0]).all() and pauses[0] == sizes[0] - 1)


def _xml(log: MeterLog) -> MeterReadings:
    """Read line by line: repeated documents and a cut one are no XML."""
    rows = Rows(log)
    stamp, gpu, section, rank = "", "", "", -1
    for number, line in enumerate(log.lines(end="</nvidia_smi_log>"), 1):
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
        elif tag and section in ("power_readings", "gpu_power_readings") and _RANKS[tag["tag"]] > rank:
            value = quantity(tag["text"])[0]
            if rank >= 0:
                if value != value:
                    continue
                rows.drop()
            rank = _RANKS[tag["tag"]]
            rows.add(number, gpu, value, stamp=stamp)
    return rows.readings("power_draw", loose=True)
