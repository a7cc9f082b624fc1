"""perftest (``ib_write_bw``, ``ib_read_lat`` and the like): bandwidth or latency of each message size."""

import math
import re

from analysis.readers.merits.output import Output, TextFormat, agree
from analysis.readers.text import number

_HEAD = r"^ *#bytes +#iterations +(?P<names>\S.*?) *$"
_ROW = r"^ *(?P<bytes>\d+) +\d+(?P<cells>(?:[ \t]+\d[\d.]*)+)[ \t]*$"
# MB are 2^20 B here; since 2023 the heading says MiB.
_BYTES = {"MB/sec": 2**20, "MiB/sec": 2**20, "Gb/sec": 1e9 / 8}
_NAMES = r"(BW peak|BW average|MsgRate|t_[a-z]+|tps average|[\d.]+% percentile)(?:\[(.*?)\])?"
_TEST = r"^ *((?:RDMA_\w+|Send|Atomic\S*|Raw Ethernet\S*) .*(?:Test|Benchmark)) *$"
_RULER = 87  # dashes of the line that ends the rows


def _finish(output: Output) -> None:
    """Add each row, its size in ``case``; compare rates with sizes, and the order of latencies."""
    if output.rest.startswith("-") and len(output.rest) < _RULER:
        output.faults.damage(
            0, "the line of dashes does not end", "the file is cut; its last row may be whole"
        )
    rows = list(output.find(_ROW))
    for head, names in output.find(_HEAD):
        columns = re.findall(_NAMES, names["names"])
        after = next((at for at, _ in output.find(_HEAD) if at > head), 10**9)
        for line, row in ((line, row) for line, row in rows if head < line < after):
            cells = row["cells"].split()
            if len(cells) < len(columns):
                output.faults.damage(line, f"{len(cells)} numbers under {len(columns)} headings", "left out")
                continue
            case, of = f"{row['bytes']} B", {}
            for (name, unit), cell in zip(columns, cells, strict=False):
                output.add(name, cell, unit, line, case=case)
                of[name] = (cell, unit)
            _verify(output, line, number(row["bytes"]), of)


def _verify(output: Output, line: int, size: float, of: dict[str, tuple[str, str]]) -> None:
    if "MsgRate" in of and "BW average" in of:
        rate, (mean, unit) = of["MsgRate"][0], of["BW average"]
        found = f"{mean} {unit}, {rate} million messages per second of {size:.0f} B"
        factor = 1e6 * size / _BYTES.get(unit, math.nan)
        output.verify(line, not factor > 0 or agree((mean,), (rate,), factor=factor, slack=2e-3), found)
    low, middle, high = (number(of.get(name, ("", ""))[0]) for name in ("t_min", "t_avg", "t_max"))
    found = f"{low} to {high} us, {middle} us in the mean"
    output.verify(line, not (low > middle or middle > high), found)


FORMAT = TextFormat(
    engine="perftest", tool="perftest", marks=((b"#bytes", b"#iterations"),),
    near=r"\bib_\w+_(?:bw|lat)\b", first_line=_TEST, opening="", main=("BW average", "t_typical", "t_avg"),
    figure_of_merit="BW average", unit="MiB/sec", closing=_ROW + r"\n(?:-{20,}|$)",
    closed_by="of dashes after the rows",
    facts={
        "test": _TEST,
        "queue_pairs": r"^ *Number of qps +: +(\d+)",
        "transport": r"Transport type : (\S+)",
        "connection": r"^ *Connection type : (\S+)",
        "mtu": r"^ *Mtu +: +(\d+)",
        "link": r"^ *Link type +: +(\S+)",
    },
    settings=("link", "transport"),
    problem=("test", "queue_pairs", "connection", "mtu"), finish=_finish,
)  # fmt: skip
