"""HPC Challenge output (``hpccoutf.txt``): the ``key=value`` lines of its summary section.

HPCC appends, so one file can contain several runs. The last summary is read, the others are listed. Units
are part of the keys (``HPL_Tflops``, ``PTRANS_GBs``, ``..._usec``) and are not converted.
"""

import math
import re

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.format import Format
from analysis.readers.text import contains, integer, number, whole_lines
from analysis.schema import registry

FORMAT = Format(
    engine="hpcc", tool="HPCC", application="hpcc", title="HPC Challenge", subject="HPCC",
    marks=((b"HPC Challenge Benchmark version", b"Begin of Summary section."),),
    near="HPC Challenge|hpccinf",
    first_line="^This is the DARPA/DOE HPC Challenge Benchmark|^HPC Challenge Benchmark version",
    problem=("HPL_N", "HPL_NB"),
)  # fmt: skip
_SNIFF = re.compile(rb"HPC Challenge Benchmark version|^Begin of Summary section\.", re.MULTILINE)
_BEGIN, _END = "Begin of Summary section.", "End of Summary section."
_DIGITS = 2e-5  # three numbers of six printed digits
_KEY = re.compile(r"(?P<key>\w+)=(?P<value>.*)")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like HPCC's output."""
    return contains(head, _SNIFF, b"HPC Challenge", b"Summary section")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the last summary of an output: kind ``hpcc``, one entry per key, in the file's order.

    Attributes ``ranks`` and ``success`` (1, 0, or -1 where the summary does not say).
    """
    if not sniff(data):
        raise ReadError.at(source, 0, "neither HPCC's banner nor its summary", "give its hpccoutf.txt")
    lines, rest = whole_lines(data)
    faults = Faults(source)
    entries = _summary(lines, rest, faults)
    _check(lines, entries, faults)
    success = integer(entries.get("Success", ""))
    if success == 0:
        at = next(at for at, line in enumerate(lines, 1) if line.strip() == "Success=0")
        faults.note(at, "HPCC reports Success=0", "a test failed; do not use its results")
    version = ".".join(entries.get(f"Version{part}", "") for part in ("Major", "Minor", "Micro"))
    attrs = {
        "tool": FORMAT.tool,
        "tool_version": (version + entries.get("VersionRelease", "")).strip("."),
        "ranks": integer(entries.get("CommWorldProcs", "")),
        "success": success,
        "problem_identity": FORMAT.identity(entries),
        **faults.attrs(),
    }
    texts = list(entries.values())
    columns = {"entry": list(entries), "text": texts, "value": [number(text) for text in texts]}
    return registry.of_values(columns, "hpcc", attrs)


def _check(lines: list[str], entries: dict[str, str], faults: Faults) -> None:
    """Hold rates against operations and times, and means of the ping-pong tests between their bounds."""
    value = {key: number(text) for key, text in entries.items()}

    def of(key: str) -> float:
        return value.get(key, math.nan)

    size = of("HPL_N")
    work = {"HPL_Tflops": ("HPL_time", (2 / 3 * size + 3 / 2) * size * size / 1e12)}
    work |= {
        f"{test}_GUPs": (f"{test}_time", of(f"{test}_ExeUpdates") / 1e9)
        for test in ("MPIRandomAccess", "MPIRandomAccess_LCG")
    }
    odd = [
        (rate, f"{operations:.6g} in {time} of {of(time):g} s are not {of(rate):g}")
        for rate, (time, operations) in work.items()
        if of(time) > 0 and abs(of(rate) * of(time) - operations) > _DIGITS * operations
    ]
    for test in ("PingPongLatency_usec", "PingPongBandwidth_GBytes"):
        least, mean, largest = (of(f"{bound}{test}") for bound in ("Min", "Avg", "Max"))
        if mean < least - _DIGITS * abs(least) or mean > largest + _DIGITS * abs(largest):
            odd.append((f"Avg{test}", f"{mean:g} is not between {least:g} and {largest:g}"))
    for key, found in odd:
        at = max(at for at, line in enumerate(lines, 1) if line.strip().startswith(f"{key}="))
        faults.damage(at, f"{key}: {found}", "one of the numbers is damaged; get the file again")


def _summary(lines: list[str], rest: str, faults: Faults) -> dict[str, str]:
    begins = [at for at, line in enumerate(lines, 1) if line.strip() == _BEGIN]
    if not begins:
        faults.damage(len(lines), "no summary section", "the run did not get so far; nothing kept")
        return {}
    for at in begins[:-1]:
        faults.note(at, "a summary of an earlier run", f"left out; the last one, line {begins[-1]}, is read")
    later = [at for at, line in enumerate(lines, 1) if at > begins[-1] and re.match(FORMAT.first_line, line)]
    if later:
        what = "a later run began and left no summary"
        faults.damage(later[0], what, f"it did not end; that of the run before, line {begins[-1]}, is read")
    entries: dict[str, str] = {}
    for at, line in enumerate(lines[begins[-1] :], begins[-1] + 1):
        if line.strip() == _END:
            return entries
        match = _KEY.fullmatch(line.strip())
        if match is None:
            if line.strip():
                faults.damage(at, f"{line.strip()[:60]!r} is no key=value line", "left out")
        elif match["key"] in entries:
            faults.note(at, f"{match['key']} is given twice", "the first value is kept")
        else:
            entries[match["key"]] = match["value"]
    if rest.strip() == _END:
        return entries
    what = "the summary has no end" + (" and its last line may be cut" if rest.strip() else "")
    faults.damage(len(lines) + bool(rest), what, "kept the whole lines")
    return entries
