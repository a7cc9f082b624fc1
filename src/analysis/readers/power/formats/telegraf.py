"""Telegraf's files in InfluxDB's line protocol: ``nvidia_smi,host=n1,index=0 power_draw=67.03 <ns>``."""

import re

from analysis.base.units import SECOND
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import is_number

# A blank or comma that belongs to a name has a backslash.
_LINE = re.compile(
    r"(?:\\.|[^,\s\\])+(?P<tags>(?:,(?:\\.|[^,\s\\])+)*+) "
    r"(?P<fields>(?:[^\s\"]|\"[^\"]*\")++) (?P<ns>\d{16,19})"
)
_FIELD = re.compile(r"(?:^|,)(?P<key>[\w.]+)=(?P<value>-?[\d.eE+]+)i?(?=,|$)")
_POWER = re.compile(r"power_draw|power|(?:.*_)?watts?")
_LIMIT = re.compile(r"limit|max|min|cap|average|avg|thermal")
_TAGS = ("host", "index", "package_id", "name", "address", "source", "member_id")


def _is_power(field: str) -> bool:
    return _POWER.fullmatch(field) is not None and not _LIMIT.search(field)


def _points(text: str) -> list[tuple[dict[str, str], str, float, int]]:
    """Return the powers of a line: tags, field, W, ns since 1970; none if it is another line."""
    found = _LINE.fullmatch(text)
    if found is None:
        return []
    tags = dict(part.split("=", 1) for part in re.split(r"(?<!\\),", found["tags"]) if "=" in part)
    watts = tags.get("unit", "").lower() in ("watts", "w")
    return [
        (tags, field["key"], float(field["value"]), int(found["ns"]))
        for field in _FIELD.finditer(found["fields"])
        if is_number(field["value"]) and (_is_power(field["key"]) or (watts and field["key"] == "value"))
    ]


def sniff(head: bytes, name: str) -> bool:
    """Tell whether one of the first lines has a power, in the line protocol."""
    lines = head[:16_384].split(b"\n", 50)[:50]
    # Its time ends a line; most lines of other texts end otherwise.
    return any(_points(line.decode(errors="replace")) for line in lines if line[-16:].isdigit())


@reads("Telegraf", "as the plugin has it")
def parse(log: MeterLog) -> MeterReadings:
    """Parse every point with a power; host and index, or the sensor's name, name the meter."""
    rows = Rows(log)
    for number, line in enumerate(log.lines(), 1):
        points = _points(line.strip())
        if not points and line.strip() and not _LINE.fullmatch(line.strip()):
            log.faults.damage(number, "no line in the protocol", "the line is not used")
        for tags, field, watts, ns in points:
            names = [tags[name] for name in _TAGS if name in tags]
            meter = "/".join([*names, *([field] if len(points) > 1 else [])]) or field
            rows.add(number, meter.replace("\\", ""), watts, stamp=f"{ns / SECOND:.3f}")
    return rows.readings("point with a power")
