"""fio 2.x and 3.x: bandwidth, operations per second, latency of each job, from its JSON or terse output."""

import re
from typing import Any

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import as_utf8
from analysis.readers.format import Format
from analysis.readers.merits.output import Document, Output, agree, integer_of, items, text_of
from analysis.readers.text import contains, number

FORMAT = Format(
    engine="fio", kind="merits", tool="fio", marks=((b'"fio version"', b'"jobs"'), (b";fio-",)),
    near=r"\bfio\b", first_line=r'^\{\s*"fio version"', figure_of_merit="write", unit="B/s",
    problem=("rw?", "rwmixread?", "bs?", "size?", "direct?", "ioengine?", "iodepth?", "numjobs?"),
)  # fmt: skip
_Of = tuple[int, str, str]  # result, case, check
_ACCESSES = ("read", "write", "trim")
# Terse 3 to 5: total KiB, KiB/s, operations per second, time in ms of reads and of writes.
_TERSE = re.compile(rb"^[345];fio-\d", re.MULTILINE)
_WRITE = {"3": 46, "4": 46, "5": 52}
_LINE = r"^(?P<kind>[345]);fio-(?P<version>[^;]+);(?P<job>[^;]*);\d+;(?P<error>-?\d+);.*$"


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold fio's JSON, also after its warnings, or a line of its terse output."""
    return (b'"fio version"' in head and b'"jobs"' in head) or contains(head, _TERSE, b";fio-")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read every job: kind ``merits``, the job's name in ``case``; a job with an error failed its check."""
    data = as_utf8(data)
    if not sniff(data):
        raise ReadError.at(source, 0, "no 'fio version' and no terse line", "give fio's JSON or terse output")
    return _terse(data, source) if _TERSE.search(data) else _json(data, source)


def _json(data: bytes, source: str) -> xr.Dataset:
    end = data.rfind(b"}")  # it may print warnings before and after
    document = Document(data[data.find(b"{") : end + 1] if end >= 0 else data, source, "jobs")
    version = text_of(document.content, "fio version").removeprefix("fio-")
    major = number(version.split("-")[0].partition(".")[0])
    jobs = [one for one in items(document.content, "jobs") if isinstance(one, dict)]
    if len(jobs) == 1:  # several have no one problem
        for options in (document.content.get("global options"), jobs[0].get("job options")):
            stated = options.items() if isinstance(options, dict) else ()
            document.output.facts |= {
                name: _in_bytes(str(value)) for name, value in stated if f"{name}?" in FORMAT.problem
            }
    for result, job in enumerate(jobs):
        check = "passed" if integer_of(job, "error") == 0 else "failed"
        case = text_of(job, "jobname")
        for access in _ACCESSES:
            found = job.get(access)
            if isinstance(found, dict) and found.get("io_bytes"):
                _access(document, access, found, (result, case, check), 1 if major >= 3 else 1024)
    return document.dataset(FORMAT, version)


def _in_bytes(text: str) -> str:
    """Spell a size in bytes, ``4k`` and ``4096`` alike; any other option as it is."""
    size = re.fullmatch(r"(\d+)([kmgt]?)(?:i?b)?", text, re.IGNORECASE)
    return str(int(size[1]) << 10 * " kmgt".index(size[2].lower() or " ")) if size else text


def _access(document: Document, access: str, found: dict[str, Any], of: _Of, unit: int) -> None:
    # Until 2.99 its bytes are KiB, and its latencies microseconds.
    def of_json(name: str) -> float:
        return number(str(found.get(name)))

    rate = of_json("bw_bytes") if "bw_bytes" in found else of_json("bw") * 1024
    document.add(access, {"rate": rate}, "rate", "B/s", *of)
    document.add(f"{access} iops", found, "iops", "1/s", *of)
    latency, scale = (found["lat_ns"], "ns") if "lat_ns" in found else (found.get("lat"), "us")
    document.add(f"{access} latency", latency, "mean", scale, *of)
    took = of_json("runtime") / 1e3
    for what, each, total, slack in (
        ("B", rate, of_json("io_bytes") * unit, 1024 * unit),
        ("operations", of_json("iops"), of_json("total_ios"), 2),
    ):
        wrong = took > 0 and abs(each * took - total) > 0.02 * total + slack
        text = f"{of[1]}: {each:.7g} {what} per second in {took:g} s are not {total:.7g} of {access}"
        document.output.verify(0, not wrong, text)


def _terse(data: bytes, source: str) -> xr.Dataset:
    output, result = Output(data, source), -1
    for line, match in output.find(_LINE):
        cells, result = match[0].split(";"), result + 1
        output.facts["version"] = match["version"]
        for access, at in (("read", 5), ("write", _WRITE[match["kind"]])):
            if len(cells) < at + 4 or not number(cells[at]) > 0:
                continue
            moved, rate, iops, took = cells[at : at + 4]
            more = {"result": result, "case": match["job"]}
            found = f"{match['job']}: {rate} KiB/s in {took} ms are not {moved} KiB of {access}"
            output.verify(line, agree((rate, took), (moved,), factor=1e3, slack=2e-2), found)
            output.add(access, str(number(rate) * 1024), "B/s", line, **more)
            output.add(f"{access} iops", iops, "1/s", line, **more)
        output.check(result, match["error"] == "0")
    if output.rest.strip() and _TERSE.match(output.rest.encode()):
        output.faults.damage(0, "the last line does not end", "the file is cut; the line is not used")
    return output.dataset(FORMAT, main=output.only_merit())
