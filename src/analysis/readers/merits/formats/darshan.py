"""Darshan: a log, or text of `darshan-parser --total --perf`; bytes and rates of POSIX, MPI-IO, STDIO."""

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.format import Format
from analysis.readers.merits.output import Output

FORMAT = Format(engine="darshan", kind="merits", tool="Darshan", marks=(b"# darshan log version: ",))
_MODULE = r"^# (?P<module>POSIX|MPI-IO|STDIO) module data$"
_BYTES = r"^total_(?:POSIX|MPIIO|STDIO)_BYTES_(?P<what>READ|WRITTEN): (?P<value>\d+)$"
_TIME = r"^# agg_time_by_slowest: (?P<value>\S+) # seconds$"
_RATE = r"^# agg_perf_by_slowest: (?P<value>\S+) # MiB/s$"
_RATES = ("POSIX rate", "MPI-IO rate", "STDIO rate")
_LOG = re.compile(
    rb"3\.\d\d\x00{4}(?:75d\x00{5}|\x00{5}d57)"
)  # its version and its number, of either byte order
# In a process of its own: Darshan's library ends the process on some logs that are damaged.
_READER = Path(__file__).parents[1] / "darshan_log.py"
_LIMIT = 120.0  # s; a log of a thousand ranks takes some 3
_TEXT = "darshan-parser --total --perf"


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are a log of Darshan 3 or a text of darshan-parser."""
    return _LOG.match(head) is not None or b"# darshan log version: " in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read totals and rates of each module: kind ``merits``, the layer in the figure's name.

    The main figure of the log is the rate of POSIX, because MPI-IO goes through it; without it that of
    MPI-IO or STDIO. The package `darshan` first converts a log to text; line numbers of figures refer to
    this text.
    """
    if not sniff(data):
        raise ReadError.at(source, 0, "no '# darshan log version'", "give a log of Darshan 3 or its text")
    if is_log := _LOG.match(data) is not None:
        data = _text(data, source)
    output = Output(data, source)
    output.facts |= {"ranks": output.first(r"^# nprocs: (\d+)$")}
    modules = [(line, match["module"]) for line, match in output.find(_MODULE)]

    def module(line: int) -> str:
        return next((name for start, name in reversed(modules) if start < line), "")

    for line, match in output.find(r"^# run time: (?P<value>\S+)$"):
        output.add("run time", match["value"], "s", line)
    for line, match in output.find(_BYTES):
        output.add(f"{module(line)} bytes {match['what'].lower()}", match["value"], "B", line)
    for line, match in output.find(_TIME):
        output.add(f"{module(line)} time", match["value"], "s", line)
    for line, match in output.find(_RATE):
        output.add(f"{module(line)} rate", match["value"], "MiB/s", line)
    for line, match in output.find(r"^# \*(?:WARNING|ERROR)\*: The (.+) module contains incomplete data!$"):
        found = f"{match[1]} ran out of memory for records"
        output.faults.damage(line, found, "give it more by DARSHAN_MODMEM; kept what is there")
    ends = r"^# agg_perf_by_slowest: .*\n"
    if modules or not is_log:  # a program without input and output leaves a log without modules
        output.close(ends, "'agg_perf_by_slowest' of each module", opening=_MODULE)
    output.facts["version"] = output.first(r"^# metadata: lib_ver = (\S+)$")
    known = {row.merit for row in output.rows if row.value > 0}
    main = next((name for name in _RATES if name in known), _RATES[0])
    names = {"command": "exe", "job": "jobid", "started": "start_time", "stopped": "end_time"}
    states = {name: output.first(rf"^# {key}: (.+)$") for name, key in names.items()}
    if not re.match(r"\S*[A-Za-z]", states["command"]):  # a log without names has a number for it
        states["command"] = ""
    return output.dataset(FORMAT, main=main, time="run time").assign_attrs(states)


def _text(log: bytes, source: str) -> bytes:
    """Make of a log its text; a log that the library cannot read costs that process only."""
    if importlib.util.find_spec("darshan") is None:
        remedy = f"pip install 'benchbook[darshan]', or give its text by {_TEXT}"
        raise ReadError.at(source, 0, "a Darshan log takes the package darshan to read", remedy)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.darshan"
        path.write_bytes(log)
        # -P: the files beside the program are no packages of it.
        command = [sys.executable, "-P", str(_READER), str(path)]
        try:
            ended = subprocess.run(command, capture_output=True, cwd=folder, timeout=_LIMIT, check=False)
        except subprocess.TimeoutExpired as error:
            found = f"Darshan's library did not read the log in {_LIMIT:.0f} s"
            raise ReadError.at(source, 0, found, f"give its text by {_TEXT}") from error
    if ended.returncode:
        how = f"signal {-ended.returncode}" if ended.returncode < 0 else "an error"
        found = f"Darshan's library ended with {how} on the log"
        raise ReadError.at(
            source, 0, found, f"it is damaged or cut: copy it again, or give its text by {_TEXT}"
        )
    return ended.stdout
