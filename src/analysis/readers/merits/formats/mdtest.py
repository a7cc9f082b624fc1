"""mdtest 1.8 to 4.1: rates of creating, reading, removing files and directories over its iterations."""

import math

from analysis.readers.merits.output import Output, TextFormat
from analysis.readers.text import integer, number

_ROW = r"^ {2,}(?P<name>(?:File|Directory|Tree) \w+(?: \w+)?) *:? +(?P<values>[-\d].*|[+-]?(?:nan|inf)\b.*)$"
# 4.1.0 heads its times, which are in s, with "(in ops/sec)".
_TIMES = r"^SUMMARY time(?: \(in (?:(?P<unit>ms)/op|ops/sec)\))?:"
_ITERATIONS = r"^SUMMARY.*\(of (\d+) iterations\)"
_STEP = 2e-3  # three decimals
_LAUNCHED = r"was launched with +(\d+) total task\(s\)"


def _finish(output: Output) -> None:
    """Add the summary of rates, operations per second.

    A phase that did not run is printed as zeros; it has no figure. Of columns over ranks and columns over
    iterations (4.x) the latter are read.
    """
    summaries = [line for line, _ in output.find(r"^SUMMARY")]
    runs = max((integer(match[1]) for _, match in output.find(_ITERATIONS)), default=1)
    many = runs * max(integer(output.first(_LAUNCHED)), 1)
    times = {line: match["unit"] or "s" for line, match in output.find(_TIMES)}
    for line, row in output.find(_ROW):
        heads = [head for head in summaries if head < line]
        if not heads:
            continue
        values = row["values"].split()
        if len(values) not in (4, 7):
            output.faults.damage(line, f"{len(values)} numbers in a row of 4 or 7", "left out")
            continue
        if bad := [value for value in values[-4:] if not 0 <= number(value) < math.inf]:
            output.faults.damage(line, f"{row['name']} is {', '.join(bad)}, no rate or time", "left out")
            continue
        if not any(number(value) for value in values):
            continue
        largest, least, mean, spread = map(number, values[-4:])
        # Of n numbers two lie at the ends; the others deviate least at the middle.
        widest = (spread + _STEP) * math.sqrt(2 * max(many, 1)) + _STEP
        fits = least - _STEP <= mean <= largest + _STEP and spread <= largest - least + _STEP
        if not (fits and largest - least <= widest):
            found = f"mean {values[-2]} and deviation {values[-1]} do not fit {values[-3]} to {values[-4]}"
            output.faults.damage(line, found, "one of the numbers is damaged; get the file again")
        unit = times.get(heads[-1], "1/s")
        result = max(sum(head not in times for head in heads) - 1, 0)
        of = f"{row['name']}{' time' * (heads[-1] in times)}"
        for name, value in zip((" max", " min", ""), values[-4:-1], strict=True):
            output.add(of + name, value, unit, line, result=result)


FORMAT = TextFormat(
    engine="mdtest", tool="mdtest", marks=((b"mdtest-", b"was launched with"),), near=r"(?i)\bmdtest\b",
    first_line=r"^(?:-- started at[^\n]*\n\n)?mdtest-\d[^\n]*was launched", opening=_LAUNCHED,
    main=("File creation", "File stat", "File read", "File removal"),
    closing=r"^-- finished at", closed_by="'-- finished at'",
    facts={
        "version": r"^mdtest-(\S+) was launched",
        "ranks": _LAUNCHED,
        "nodes": r"total task\(s\) on (\d+) node",
        "size": r"^Command line used: (.*)$",
        "files": r"^\d+ tasks, (\d+) files",
    },
    finish=_finish, figure_of_merit="File creation", unit="1/s", problem=("files",),
)  # fmt: skip
