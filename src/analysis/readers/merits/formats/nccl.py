"""nccl-tests and rccl-tests: the mean bus bandwidth of a collective, and each size's times and bandwidths."""

from analysis.readers.merits.output import Output, TextFormat, agree
from analysis.readers.text import is_number, number

# Out of place and in place: time, bandwidth of the algorithm and of the bus, wrong elements.
_ROW = (
    r"^ *(?P<bytes>\d+) +\d+ +[a-z]\w+(?: +[a-z]\w*)?(?: +-?\d+)??"
    r"(?P<cells>(?:(?: +(?:\d[\d.]*|N/A)){3} +(?:\d\S*|N/A)){1,2})(?: +[A-Z]\w+.*)?$"
)
_RANK = r"^#? +Rank +\d+ .*? on +(?P<host>\S+) device +(?P<gpu>\d+ (?:\[\S+\])?)"
_MEAN = r"^# Avg bus bandwidth +: +(?P<value>\S+)"
_PLACES = ("out-of-place", "in-place")
_SIZES = r"#? ?nThread \d+ nGpus"
# Since 2.17 the version and the name of the test are printed before.
_FIRST = rf"^(?:# nccl-tests version .*\n(?:(?!# nccl-tests version|#? ?nThread ).*\n){{0,20}})?{_SIZES}"


def _finish(output: Output) -> None:
    """Add the rows; compare time with bandwidth, and the mean with the rows of its own collective."""
    before, rows = 0, list(output.find(_ROW))
    for result, (end, mean) in enumerate(output.find(_MEAN)):
        buses = []
        for line, row in ((line, row) for line, row in rows if before < line < end):
            cells, size = row["cells"].split(), float(row["bytes"])
            for at, place in enumerate(_PLACES[: len(cells) // 4]):
                time, algorithm, bus, _ = cells[4 * at : 4 * at + 4]
                if not is_number(time):
                    continue
                found = f"{size:.0f} B in {time} us are not {algorithm} GB/s"
                output.verify(line, agree((time, algorithm), factor=size / 1e3 or 1.0, slack=5e-3), found)
                for name, text, unit in (("time", time, "us"), ("busbw", bus, "GB/s")):
                    more = {"result": result, "case": f"{size:.0f} B"}
                    output.add(f"{name} {place}", text, unit, line, **more)
                buses.append(number(bus))
        output.add("Avg bus bandwidth", mean["value"], "GB/s", end, result=result)
        own = sum(buses) / len(buses) if buses else number(mean["value"])
        found = f"{mean['value']} GB/s in the mean, {own:g} GB/s of the rows"
        output.verify(end, not abs(own - number(mean["value"])) > 0.006 + 1e-4 * own, found)
        before = end
    ranks = [(match["host"], match["gpu"]) for _, match in output.find(_RANK)]
    if ranks and output.first(r"^#? +(size) +count"):  # else the list of ranks is cut
        hosts = {host for host, _ in ranks}
        output.facts |= {"nodes": len(hosts), "ranks": len(ranks), "gpus": len(set(ranks))}


FORMAT = TextFormat(
    engine="nccl", tool="NCCL tests", marks=((b"nThread ", b" nGpus ", b" minBytes "),),
    near=r"(?i)\b[nr]ccl\b|busbw", opening=rf"^{_SIZES}", first_line=_FIRST,
    figure_of_merit="Avg bus bandwidth", unit="GB/s", closing=_MEAN,
    closed_by="'# Avg bus bandwidth'", starts=rf"^{_SIZES}",
    facts={
        "version": r"^# nccl-tests version (\S+)",
        "test": r"^# Collective test starting: (\S+)",
        "bytes": r"minBytes (\d+ maxBytes \d+)",
        "operation": r"^ *\d+ +\d+ +[a-z]\w+ +([a-z]\w*)",
        "type": r"^ *\d+ +\d+ +([a-z]\w+) ",
    },
    problem=("test", "operation", "type", "bytes"), failed=r"^# Out of bounds values : [1-9]", finish=_finish,
)  # fmt: skip
