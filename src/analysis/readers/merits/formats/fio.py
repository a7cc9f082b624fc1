"""fio 1.x to 3.x: bandwidth and operations per second of each job, from its text, JSON or terse output."""

import math
import re
from collections.abc import Iterable
from typing import Any

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import as_utf8
from analysis.readers.format import Format
from analysis.readers.merits.output import (
    Document,
    FigureRow,
    Output,
    agree,
    integer_of,
    items,
    step,
    text_of,
)
from analysis.readers.text import contains, number

FORMAT = Format(
    engine="fio", kind="merits", tool="fio",
    marks=((b'"fio version"', b'"jobs"'), (b";fio-",), (b": (groupid=", b"): err=")), near=r"\bfio\b",
    # A job is named in a line before the version, and so are its copies.
    first_line=r'^\{\s*"fio version"|^(?:.*\(g=\d+\): rw=.*\n(?:\.\.\.\n)?)+fio[- ]\d',
    figure_of_merit="write", unit="B/s",
    problem=("rw?", "rwmixread?", "bs?", "size?", "direct?", "ioengine?", "iodepth?", "numjobs?"),
)  # fmt: skip
_Of = tuple[int, str, str]  # result, case, check
ACCESSES = ("write", "read", "trim")  # the first that was done counts
# Terse 3 to 5: total KiB, KiB/s, operations per second, time in ms of reads and of writes.
_TERSE = re.compile(rb"^[345];fio-\d", re.MULTILINE)
_WRITE = {"3": 46, "4": 46, "5": 52}
# Of the text: what is asked of a job, what it did, and what its group did in all.
_ASKED = (
    r"^\S.*?: \(g=\d+\): rw=(?P<rw>\S+), bs=(?P<bs>.*), ioengine=(?P<ioengine>\S+), iodepth=(?P<iodepth>\d+)"
)
_JOB = r"^(?P<job>\S.*?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= *(?P<error>\d+)"
_DID = r"^ +(?P<access>read|write|trim) ?: .*?(?:IOPS|iops)=(?P<iops>[\d.]+)(?P<prefix>[kMG]?)"
_GROUP = r"^Run status group (?P<group>\d+) \(all jobs\):"
_AMOUNT = r"(?P<{0}>[\d.]+) ?(?P<{0}_unit>[kKMGTP]?i?B)"
_ALL = (
    rf"^ +(?P<access>READ|WRITE|TRIM): (?:bw={_AMOUNT.format('bw')}/s.*, io={_AMOUNT.format('io')} ?\(.*"
    rf"|io={_AMOUNT.format('old_io')}, aggrb={_AMOUNT.format('old_bw')}/s,.*) ?"
    r"(?:run|maxt)=(?:\d+-)?(?P<run>\d+)(?:msec)?"
)
_LINE = r"^(?P<kind>[345]);fio-(?P<version>[^;]+);(?P<job>[^;]*);\d+;(?P<error>-?\d+);.*$"


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold fio's text, its JSON, also after warnings, or a terse line."""
    return _is_json(head) or _is_text(head) or contains(head, _TERSE, b";fio-")


def _is_json(head: bytes) -> bool:
    return b'"fio version"' in head and b'"jobs"' in head


def _is_text(head: bytes) -> bool:
    return b": (groupid=" in head and b"): err=" in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read every job: kind ``merits``, the job's name in ``case``; a job with an error failed its check."""
    data = as_utf8(data)
    if not sniff(data):
        found = "no 'fio version', no 'groupid' of a job and no terse line"
        raise ReadError.at(source, 0, found, "give fio's text, JSON or terse output")
    if _is_json(data):
        return _json(data, source)
    return (_terse if _TERSE.search(data) else _text)(data, source)


def _main(output: Output) -> str:
    """Return the figure that counts: that of writing, unless nothing was written."""
    names = {row.merit for row in output.rows}
    return next((access for access in ACCESSES if access in names), "")


def _json(data: bytes, source: str) -> xr.Dataset:
    end = data.rfind(b"}")  # it may print warnings before and after
    document = Document(data[data.find(b"{") : end + 1] if end >= 0 else data, source, "jobs")
    version = text_of(document.content, "fio version").removeprefix("fio-")
    major = number(version.split("-")[0].partition(".")[0])
    jobs = [one for one in items(document.content, "jobs") if isinstance(one, dict)]
    unit = 1 if major >= 3 else 1024
    found, asked = groups(jobs), [_options(document.content, job) for job in jobs]
    if len(found) == 1 and all(one == asked[0] for one in asked):  # others have no one problem
        document.output.facts |= {"numjobs": str(len(jobs))} | asked[0] if len(jobs) > 1 else asked[0]
    for result, (case, group) in enumerate(found):
        check = "passed" if all(integer_of(job, "error") == 0 for job in group) else "failed"
        for access in ACCESSES:
            did = [one for job in group if isinstance(one := job.get(access), dict) and one.get("io_bytes")]
            for one in did:
                _verify(document, access, one, case, unit)
            if did:
                _access(
                    document, access, did[0] if len(group) == 1 else _sum(did, unit), (result, case, check)
                )
    return document.dataset(FORMAT, version, _main(document.output))


def groups(jobs: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the jobs that fio ran at once, each group under their name, as fio's text sums them up."""
    found: dict[int, list[dict[str, Any]]] = {}
    for at, job in enumerate(jobs):
        group = integer_of(job, "groupid")
        found.setdefault(group if group >= 0 else -1 - at, []).append(job)
    names = [dict.fromkeys(text_of(job, "jobname") for job in own) for own in found.values()]
    titles = ["+".join(one) for one in names]
    return list(zip(titles, found.values(), strict=True))


def _options(document: dict[str, Any], job: dict[str, Any]) -> dict[str, str]:
    given = (document.get("global options"), job.get("job options"))
    stated = (item for one in given if isinstance(one, dict) for item in one.items())
    return {name: _in_bytes(str(value)) for name, value in stated if f"{name}?" in FORMAT.problem}


def _sum(did: list[dict[str, Any]], unit: int) -> dict[str, Any]:
    """Return what several jobs did at once: all of it in the time of the longest, as fio has it."""
    took = max(number(str(one.get("runtime"))) for one in did) / 1e3
    moved, operations = (sum(number(str(one.get(name))) for one in did) for name in ("io_bytes", "total_ios"))
    return {"bw_bytes": moved * unit / took, "iops": operations / took} if took > 0 else {}


def _in_bytes(text: str) -> str:
    """Spell a size in bytes, ``4k`` and ``4096`` alike; any other option as it is."""
    size = re.fullmatch(r"(\d+)([kmgt]?)(?:i?b)?", text, re.IGNORECASE)
    return str(int(size[1]) << 10 * " kmgt".index(size[2].lower() or " ")) if size else text


def _rate(found: dict[str, Any]) -> float:
    # Until 2.99 its bytes are KiB, and its latencies microseconds.
    return number(str(found.get("bw_bytes"))) if "bw_bytes" in found else number(str(found.get("bw"))) * 1024


def _access(document: Document, access: str, found: dict[str, Any], of: _Of) -> None:
    document.add(access, {"rate": _rate(found)}, "rate", "B/s", *of)
    document.add(f"{access} iops", found, "iops", "1/s", *of)
    latency, scale = (found["lat_ns"], "ns") if "lat_ns" in found else (found.get("lat"), "us")
    document.add(f"{access} latency", latency, "mean", scale, *of)


def _verify(document: Document, access: str, found: dict[str, Any], case: str, unit: int) -> None:
    """Compare the rates of one job with what it did in its time."""
    moved, iops, operations, took = (
        number(str(found.get(name))) for name in ("io_bytes", "iops", "total_ios", "runtime")
    )
    took /= 1e3
    for what, each, total, slack in (
        ("B", _rate(found), moved * unit, 1024 * unit),
        ("operations", iops, operations, 2),
    ):
        wrong = took > 0 and abs(each * took - total) > 0.02 * total + slack
        text = f"{case}: {each:.7g} {what} per second in {took:g} s are not {total:.7g} of {access}"
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
    return output.dataset(FORMAT, main=_main(output))


def _text(data: bytes, source: str) -> xr.Dataset:
    """Read the text: of several processes it has what they did in all."""
    output = Output(data, source)
    output.facts["version"] = output.first(r"^fio[- ](\d\S*)")
    jobs = [(line, match) for line, match in output.find(_JOB)]
    groups = {match["group"]: line for line, match in output.find(_GROUP)}
    for group in dict.fromkeys(match["group"] for _, match in jobs):
        own = [match for _, match in jobs if match["group"] == group]
        names = dict.fromkeys(match["job"] for match in own)
        of = int(group), next(iter(names)) if len(names) == 1 else f"group {group}"
        output.check(of[0], all(match["error"] == "0" for match in own))
        if group not in groups:
            output.faults.damage(
                jobs[-1][0], f"no status of group {group}", "the run did not end or the file is cut"
            )
            continue
        after = min((line for line in groups.values() if line > groups[group]), default=math.inf)
        for line, match in output.find(_ALL):
            if groups[group] < line < after:
                _in_all(output, line, match, of)
    output.facts |= _asked(match for _, match in output.find(_ASKED))
    if len(jobs) == 1:
        for line, match in output.find(_DID):
            iops = f"{number(match['iops']) * 1000 ** ' kMG'.index(match['prefix'] or ' '):.10g}"
            output.add(f"{match['access']} iops", iops, "1/s", line, case=jobs[0][1]["job"])
    did = {match["access"] for _, match in output.find(_DID)}
    output.verify(
        0, did == {row.merit for row in output.rows} & {*ACCESSES}, f"no sum of {', '.join(sorted(did))}"
    )
    return output.dataset(FORMAT, main=_main(output))


def _asked(jobs: Iterable[re.Match[str]]) -> dict[str, str]:
    """Return the options of all jobs, if they agree; how many processes there are is not stated."""
    options = [{name: match[name] for name in ("rw", "bs", "ioengine", "iodepth")} for match in jobs]
    return options[0] if options and all(one == options[0] for one in options) else {}


def _in_all(output: Output, line: int, match: re.Match[str], of: tuple[int, str]) -> None:
    """Add what the jobs of a group did in all, as a rate or as so much in so long, whichever has more digits.

    Before 2.99 its KB are 1,024 B. Later, 20.99 MiB/s may be printed as 20.0: such a rate is not used.
    """
    old = "old_" if match["old_bw"] else ""
    each, all_of = (_bytes(match[f"{old}{name}_unit"], 1024 if old else 1000) for name in ("bw", "io"))
    moved, printed, seconds = match[f"{old}io"], match[f"{old}bw"], number(match["run"]) / 1e3
    access, rate = match["access"].lower(), number(printed) * each
    if not seconds > 0:
        return
    found = f"{printed} x {each} B/s in {seconds} s are not {moved} x {all_of} B of {access}"
    own, resolution = number(moved) * all_of / seconds, step(moved) * all_of / seconds
    output.verify(line, abs(rate - own) <= each + resolution + 0.01 * own, found)
    if "." not in printed and step(printed) * each < resolution:
        own, resolution = rate, step(printed) * each
    output.rows.append(FigureRow(access, own, "B/s", resolution, line, *of))


def _bytes(unit: str, base: int) -> int:
    """Return the bytes of a unit as ``MiB``, or ``MB`` of 1,000 or 1,024 KB."""
    return int((1024 if "i" in unit else base) ** " KMGTP".index(unit[:-1].rstrip("i").upper() or " "))
