"""Detects what a file is by its content, and extracts what it states of a run; no dataset is kept."""

import contextlib
import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice, pairwise
from typing import Any, Literal

import xarray as xr

from analysis import readers
from analysis.base.errors import BenchbookError
from analysis.base.files import plain_name, unpacked
from analysis.datasets.run import Read
from analysis.importing import bindings, documents, flux, hardware, launch, modules, scheduler, stated
from analysis.importing.parsed import ParsedFiles
from analysis.importing.tree import File, display_name
from analysis.readers import search, unknown
from analysis.readers.base import as_utf8
from analysis.readers.merits.formats import openfoam
from analysis.readers.text import decode, may_match

UTILITY_LOG = "log of"  # what a file is that belongs beside the runs of its folder
Role = Literal["result", "profile", "power", "sacct", "record", "beside", "text", "nothing"]
# What quotes outputs, or is a program: never an output itself.
_QUOTES = set(
    ".md .rst .tex .html .htm .ipynb .pdf .py .c .h .cc .cpp .cxx .hpp .f90 .f .js .css .java .rs .go "  # noqa: SIM905
    ".svg .patch .diff .docx .xlsx .pptx .odt .ods .odp".split()
)
# Files of a program's sources that show what it prints.
_DOCUMENT = re.compile(r"(?:README|INSTALL|CHANGES|CHANGELOG|NEWS)(?:\.(?:txt|install))?$")
_BESIDE = 131_072  # B at the beginning of a file in which a job prints where it runs
_TAIL = 16_384  # B at its end in which the batch system reports how it ended
# More results of one benchmark than this in a file are those of processes that ran at the same time.
_MOST_PIECES = 40
AT_ONCE = 60.0  # s within which the processes of a launch begin, by the clocks of their nodes
# What unpacks an archive, by its first bytes; import runs nothing and writes no files into the tree.
_TAR = "tar -xf {0} -C {1}"
_ARCHIVES = {b"PK\x03\x04": "unzip {0} -d {1}", b"7z\xbc\xaf": "7z x {0} -o{1}", b"Rar!": "unrar x {0} {1}/"}
_PROGRAM = b"\x7fELF"
_SWAP = b"b0VIM "  # what Vim keeps of a file that is open: lines of it, in no order
_JOBS = (
    r"slurm[-_](\d+(?:_\d+)?)",
    r"\.(?:p?[oe]|i)(\d{2,})(?:[.-]\d+)?(?=$|\.)",
    r"(?:^|[-_.])(?:job[-_.]?(?:id)?|j[Ii][Dd])[-_.]?(\d{2,})",
    r"(?:^|[-_.])(\d{4,10})(?=\.(?:out(?:put)?|err(?:or)?|log|cobaltlog|stats?|o|e|txt)$)",
    r"^(\d{4,10})$",
)
_STAMP = re.compile(
    r"((?:19|20)\d\d)[-_:]?([01]\d)[-_:]?([0-3]\d)[-_T]?([0-2]\d)[-_:h]?([0-5]\d)(?:[-_:m]?([0-5]\d))?"
)


# Dates that programs print: of their start, and of their end if it is that of the whole program.
_DAY = r"([A-Z][a-z]{2}[, ] ?[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: [A-Z]{2,5})? \d{4})"
# A line of MLPerf's log, its time in ms.
_ENTRY = (
    r':::MLLOG {{"namespace": "[^"\n]*", "time_ms": (\d{{10}})\d{{3}}(?:\.\d+)?, '
    r'"event_type": "\w+", "key": "{}"'
)
_STARTS = (
    rf"^HPL_pdgesv\(\) start time +{_DAY}",
    rf"^# Date +: +{_DAY}",  # IMB
    rf"^Log file opened on {_DAY}",  # GROMACS before 2020
    rf"^Started mdrun on (?:rank|node) 0 {_DAY}",  # behind its setup
    rf"^(?:Run b|B)egan *: +{_DAY}",  # IOR
    rf"^Current time \(\d+\) is {_DAY}",  # HPCC
    rf"^ +date += +{_DAY}",  # NWChem
    r"^ Run started: +([A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [-+]\d{4})",  # CASTEP
    r"^-- started at (\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)",  # mdtest
    r"PROGRAM STARTED AT +(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)",  # CP2K
    r"^Date   : ([A-Z][a-z]{2} \d\d \d{4}\nTime   : \d\d:\d\d:\d\d)",  # OpenFOAM
    r"^ +Program \S+ v\S+(?: \([^)]*\))? +starts on +(\d+[A-Z][a-z]{2}\d{4} at +\d+: ?\d+: ?\d+)",  # QE
    _ENTRY.format("run_start"),
    # MLPerf's LoadGen: the other is local time, which it marks as UTC.
    r'^:::MLLOG {"key": "power_begin", "value": "([\d-]{10} [\d:.]{8,12})"',
    r'^:::MLLOG {"key": "test_datetime", "value": "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z',
    r"^; START (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$",  # IO500
    r'^(?: *Tested with SPEC .* on |"Result run on",")(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[-+]\d{4})',
    r"^ +Today is (\d+[A-Z][a-z]{2}\d{4} at +\d+: ?\d+: ?\d+)",  # QE before 4.2
    rf"^{_DAY}$",  # what `date` prints
)
_ENDS = (
    rf"^Finished mdrun on (?:rank|node) 0 {_DAY}",
    rf"^(?:Run f|F)inished *: +{_DAY}",
    r"^-- finished at (\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)",
    _ENTRY.format("run_stop"),
    r'^:::MLLOG {"key": "power_end", "value": "([\d-]{10} [\d:.]{8,12})"',
    r"^; END (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$",
    r"PROGRAM ENDED AT +(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)",
)
# The host of a program's first process, as programs print it.
_HOSTS = (
    r'^Host   : "([^"]+)"',  # OpenFOAM
    r"^Machine +: \S+ (\S+)",  # IOR
    r"^Host: +(\S+) +pid:",  # GROMACS
    r"^Hostname: '([^']+)'",  # HPCC
    r"PROGRAM (?:RAN|STARTED) ON +([A-Za-z]\S*)$",  # CP2K
    r"^ +hostname += (\S+)",  # NWChem
    r"^taskid: 0 hostname: (\S+)",  # WRF
)
# The number of an instance of several in one job, and how many there are if it says so.
INSTANCE = "instance"
_INSTANCES = (
    r"^Processor partition = (\d+)()$",  # LAMMPS with -partition
    r"^This is simulation (\d+) out of (\d+) running as a composite",  # GROMACS with -multidir
)
_PRINTED = "(?m)" + "|".join((*_STARTS, *_ENDS, *_HOSTS, *_INSTANCES))


@dataclass
class ResultPart:
    """The output of one execution within a file: its bytes, what it states, and whether it is complete."""

    engine: str
    facts: dict[str, Any]
    complete: bool = True
    begin: int = 0
    end: int = -1  # the file's end
    rows: frozenset[Any] = frozenset()
    note: str = ""
    brief: bool = False  # so few numbers that two executions print the same
    content: bytes = b""  # its own document, cut from one with several cases
    identity: str = ""  # of its case in such a document
    launched: str = ""  # the launch line before it


@dataclass
class Observation:
    """What a file is: its role, the parts of a result, what else it states, why it belongs to no run."""

    file: File
    digest: str = ""
    role: Role = "nothing"
    what: str = ""
    parts: list[ResultPart] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    job: str = ""
    stamp: str = ""
    why: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    reported: dict[str, Any] = field(default_factory=dict)  # by the batch system, of its job
    batch: str = ""  # the batch system
    traced: list[dict[str, Any]] = field(default_factory=list)  # what a trace of the shell launches, in order
    launches: list[bindings.Bindings] = field(default_factory=list)  # whose ranks it places on hosts
    cut: bool = False  # whether results of programs that are no benchmark were left out of it
    kept: bool = False  # whether it is in the campaign already, and not in the tree

    @property
    def several(self) -> bool:
        """Whether its results are parts of it, and none is the whole file."""
        return len(self.parts) > 1 or self.cut

    @property
    def name(self) -> str:
        """Its name below the root, on one line."""
        return display_name(self.file.name)


def detect(file: File, parsed: ParsedFiles | None = None) -> Observation:
    """Detect what a file is; a defect of one file affects no other. What was `parsed` is kept there."""
    source = Observation(file, job=job_of(file.base), stamp=stamp_of(file.base))
    try:
        stored = file.content()
        source.digest = hashlib.sha256(stored).hexdigest()
        _detect(unpacked(stored, file.base), source, parsed)
    except BenchbookError as error:
        source.role, source.why = "nothing", "; ".join(f"{one.found}; {one.remedy}" for one in error.faults)
    except OSError as error:
        source.why = f"{error.strerror or error}; make it readable"
    except Exception as error:  # a reader's own defect is a fault of one file
        source.role, source.why = "nothing", f"cannot be used ({type(error).__name__}: {str(error)[:80]})"
    return source


def job_of(name: str) -> str:
    """Return the job number in a file's name, as in ``slurm-123.out`` and ``app.o123``; empty without."""
    bare = plain_name(name)
    if found := flux.NAMED.search(bare):
        return flux.number(found[1])
    for pattern in _JOBS:
        match = re.search(pattern, bare)
        if match and not _STAMP.fullmatch(match[1]):
            return match[1]
    return ""


def stamp_of(text: str) -> str:
    """Return a date and time in a name, digits alone; empty without."""
    match = _STAMP.search(text)
    digits = "".join(group or "00" for group in match.groups()) if match else ""
    with contextlib.suppress(ValueError):
        return datetime.strptime(digits, "%Y%m%d%H%M%S").strftime("%Y%m%d%H%M%S")
    return ""


def _detect(data: bytes, source: Observation, parsed: ParsedFiles | None) -> None:
    suffix = source.file.path.suffix.lower()
    head = data[:65_536]
    if not data.strip():
        source.why = "is empty"
        return
    if data.startswith(_PROGRAM):  # it contains the texts that it would print
        source.why = unknown.found(data)
        return
    if data.startswith(_SWAP):
        source.why = "is what Vim keeps of a file that is being edited"
        return
    engines = list(readers.without_second_power(engines_of(data, source.file.base)))
    tar = data[257:262] == b"ustar"  # of a folder that is a database; in another one are texts as well
    engines = [one for one in engines if not tar or readers.row(one).folder]
    quotes = suffix in _QUOTES or _DOCUMENT.match(source.file.base) is not None
    if engines and quotes:
        source.why = f"quotes an output of {engines[0]}, but is not one itself"
    elif engines:
        _read(data, engines, source, parsed)
        if source.role == "result" and not _states_a_run(data, source):
            source.role, source.what, source.parts = "nothing", "", []
            _text(data, source)
            source.why = source.why and f"has words of {engines[0]}, but states nothing of a run"
    elif quotes:
        source.why = "is a document or a program, no output"
    elif tar or data[:4] in _ARCHIVES:
        path, command = source.file.path, _TAR if tar else _ARCHIVES[data[:4]]
        command = command.format(*(shlex.quote(display_name(str(one))) for one in (path, path.parent)))
        source.why = f"is an archive; unpack it and import again: {command}"
    elif b"\0" in head:
        source.why = unknown.found(data)
    else:
        _text(data, source)
        # An ingest searches a longer text for power logs too, also further down.
        if parsed and len(data) <= readers.HEAD_BYTES:
            parsed.put(source.digest, source.file.base, [])


def _states_a_run(data: bytes, source: Observation) -> bool:
    """Tell whether a result has figures, or facts that neither a script nor a document can name.

    A source has what the program prints, but no number.
    """
    if any(part.rows or part.content for part in source.parts):
        return True
    names = data.startswith(b"#!") or source.file.path.suffix.lower() == ".json"
    facts = any(part.facts.keys() - {"figures", "extremes"} for part in source.parts)
    return not names and (facts or bool(source.job))


def engines_of(data: bytes, name: str) -> list[str]:
    """Name the engines that recognise a file; power logs are recognised by the beginning alone.

    Their heading is at the top, and to search every megabyte for all of them takes most of the time.
    """
    found = readers.engines_of(data[: readers.HEAD_BYTES], name)
    if found or len(data) <= readers.HEAD_BYTES:
        return found
    head = as_utf8(data[: readers.LONG_HEAD_BYTES])
    engines = (row.engine for row in readers.rows() if row.kind != "power")
    return [engine for engine in engines if readers.reader(engine).sniff(head, name)]


def _text(data: bytes, source: Observation) -> None:
    text, whole = decode(as_utf8(data[:_BESIDE])), decode(as_utf8(data))
    what = hardware.kind(text, source.file.base)
    _report(data, source)
    source.jobs, table = scheduler.jobs(whole)
    batch = table or source.batch
    what = f"record of {batch}" if batch and not what else what
    source.traced = launch.launches(whole) if not what or source.job else []
    source.facts = hardware.stated(text) if what or source.job or source.traced else {}
    source.role, source.what = ("beside", what) if what else ("text", "")
    source.why = "" if what else unknown.found(data)


def _report(data: bytes, source: Observation) -> None:
    """Add what a batch system reports at the beginning and at the end of a file."""
    whole = len(data) <= _BESIDE + _TAIL or b'"shell.start"' in data  # jobs of Flux have long records
    ends = data if whole else data[:_BESIDE] + b"\n" + data[-_TAIL:]
    source.reported, source.batch = scheduler.reported(decode(as_utf8(ends)))
    source.job = source.job or str(source.reported.get("job", ""))
    source.launches = bindings.launches(decode(as_utf8(data))) if bindings.SIGN in data else []


def _read(data: bytes, engines: list[str], source: Observation, parsed: ParsedFiles | None) -> None:
    """Read a file with all engines that recognise it; the first result decides what it is."""
    fault, base = "", source.file.base
    pieces = _pieces(data) if readers.row(engines[0]).first_line else []
    kinds = Counter((engine, data[begin : data.find(b"\n", begin)]) for engine, begin, _ in pieces)
    pieces = pieces if max(kinds.values(), default=0) <= _MOST_PIECES else []
    whole = [(engine, 0, -1) for engine in engines]
    read = []
    for engine, begin, end in pieces if len(pieces) > 1 else whole:
        try:
            read.append(Read(engine, _parse(data, engine, begin, end, source)))
        except BenchbookError as error:
            fault = fault or f"{error.faults[0].found}; {error.faults[0].remedy}"
    at_once = len(pieces) < 2 and not fault and all(one.each for one in read)
    # Further down, an ingest looks for power logs as well.
    if parsed and at_once and readers.reader(engines[0]).sniff(as_utf8(data[: readers.HEAD_BYTES]), base):
        parsed.put(source.digest, base, read)
    if source.role == "nothing":
        source.why = source.why or fault or f"is from {engines[0]}, which alone is not a run"
    if source.role in ("result", "profile"):
        _report(data, source)
        if _are_copies(source.parts, source.reported.get("ranks")):
            source.parts = []
            _parse(data, engines[0], 0, -1, source)
        source.parts = _assign_steps(data, source.parts)
        _assign_jobs(data, source)
        end = source.parts[0].begin if source.parts else 0
        before = decode(as_utf8(data[: min(end or _BESIDE, _BESIDE)]))
        source.facts = hardware.stated(before) | source.facts
        if len(source.parts) > 1:
            _follow_trace(data, source)
        _leave_out_utilities(data, source)


def _follow_trace(data: bytes, source: Observation) -> None:
    """Give each result of a file what a trace of the shell sets before it: a loop may change it."""
    begins = [0, *(part.begin for part in source.parts)]
    between = [decode(as_utf8(data[one:other])) for one, other in pairwise(begins)]
    commands = [launch.TRACE.findall(text) for text in between]
    if not any(commands):
        return
    known = launch.variables(chain.from_iterable(commands))
    settings, now, loads = dict[str, str](), dict[str, Any](), list[str]()
    for part, own in zip(source.parts, commands, strict=True):
        *_, settings = settings, *islice(known, len(own))
        if more := [one for one in own if "module" in one or re.search(modules.SIGN, one)]:
            loads += more
            now = hardware.software("".join(f"+ {one}\n" for one in loads))
        environment = source.facts.get("environment", {}) | settings
        own_settings = {"environment": environment} | launch.threads_of(environment) if environment else {}
        part.facts = now | own_settings | part.facts


def _leave_out_utilities(data: bytes, source: Observation) -> None:
    """Leave out what programs of OpenFOAM print that prepare a case; a log of these alone is no result.

    Each solver of a job's output has the mesh of its case that was made before it.
    """
    own, programs, made = list[ResultPart](), list[str](), list[openfoam.MeshStep]()
    for part in source.parts:
        programs.append(str(part.facts.get("grid", {}).get("program", "")))
        end, began = len(data) if part.end < 0 else part.end, float(part.facts.get("date", 0))
        if programs[-1] in openfoam.UTILITIES:
            made += openfoam.steps(programs[-1], decode(data[part.begin : end]), began)
            continue
        own.append(part)
        if programs[-1]:
            solver = openfoam.start(decode(data[part.begin : min(end, part.begin + _BESIDE)]), began)
            part.facts |= {"solver": solver} | openfoam.problem(made, solver)
    if len(own) < len(source.parts):
        source.cut, source.parts = bool(own), own
    if source.parts or not programs:
        return
    source.role, source.facts = "beside", {"mesh": made} if made else {}
    source.what = f"{UTILITY_LOG} {', '.join(dict.fromkeys(programs))} of OpenFOAM, which prepares a case"


def _are_copies(parts: Sequence[ResultPart], ranks: int | None) -> bool:
    """Tell whether results are those of a job's ranks, each of which ran the program by itself."""
    alone = all("ranks" not in part.facts and not part.content for part in parts)
    alike = len({(part.engine, part.facts.get("problem"), part.facts.get("case")) for part in parts}) == 1
    begun = [part.facts.get("date", 0) for part in parts]
    together = len(parts) > 1 and max(begun) - min(begun) <= AT_ONCE
    return len(parts) == ranks and alone and alike and together


def _assign_steps(data: bytes, parts: list[ResultPart]) -> list[ResultPart]:
    """Give each result of a file the job of Flux that made it; jobs of other programs do not count.

    If there are more or fewer jobs than results, it is not known which made which. A result that the file
    shows again, as at its end what the last job left, is left out if then each job has one.
    """
    steps = scheduler.steps(decode(as_utf8(data))) if len(parts) > 1 and b'"shell.start"' in data else []
    if len(steps) != len(parts):
        programs = Counter(str(one.get("command", "")).partition(" ")[0] for one in steps)
        common = programs.most_common(1)[0][0] if programs else ""
        steps = [one for one in steps if str(one.get("command", "")).partition(" ")[0] == common]
    first: dict[tuple[str, frozenset[Any]], ResultPart] = {}
    for part in parts:
        first.setdefault((part.engine, part.rows), part)
    parts = list(first.values()) if len(first) == len(steps) else parts
    for part, step in zip(parts, steps, strict=True) if len(steps) == len(parts) else ():
        dates = {"date": "start", "date_end": "end"}
        part.facts |= {name: step[of] for name, of in dates.items() if of in step}
        part.facts |= {name: step[name] for name in ("nodes", "node_list", "exit_code") if name in step}
        part.facts = {"ranks": step["ranks"]} | part.facts if "ranks" in step else part.facts
    return parts


def _assign_jobs(data: bytes, source: Observation) -> None:
    """Give each result of a file the job that reports it, if the file has the reports of several jobs."""
    if len(source.parts) < 2 or b"Sender: LSF" not in data:
        return
    text = data.decode("utf-8", errors="surrogateescape")
    for one in scheduler.reports_of_jobs(text):
        source.jobs[one.job] = {**one.facts, "batch": one.batch}
        begin, end = (len(text[:at].encode("utf-8", errors="surrogateescape")) for at in (one.begin, one.end))
        for part in source.parts:
            if begin <= part.begin < end:
                part.facts["job"] = one.job


def _parse(data: bytes, engine: str, begin: int, end: int, source: Observation) -> list[xr.Dataset]:
    """Read a file, or the piece of it from `begin` to `end`, with one engine; cases have no dataset."""
    cases = documents.cases(data, engine) if end < 0 else []
    for case in cases:
        own = readers.parse_each(case.content, source.file.base, engine=engine)
        part = _part(own, engine, 0, -1, "")
        part.facts.pop("version", None)  # of the tool that wrote the document, and not of the program
        part.facts, part.content = part.facts | case.facts, case.content
        part.identity = hashlib.sha256(case.text.encode()).hexdigest()
        source.role, source.what = "result", source.what or engine
        source.parts.append(part)
    if cases:
        return []
    each = readers.parse_each(data[begin : end if end >= 0 else None], source.file.base, engine=engine)
    kind = str(each[0].attrs["kind"])
    if kind == "profile":
        source.role = source.role if source.role == "result" else "profile"
        source.what = source.what or engine
        source.facts |= stated.facts_of_profile(each[0], engine)
    elif kind == "power":  # of a job whose output has it, or a log by itself
        if source.role not in ("result", "profile"):
            source.role, source.what = "power", engine
            source.facts |= stated.facts_of_power(each[0])
    elif kind == "sacct":
        source.role, source.what, source.jobs = "sacct", engine, stated.jobs(each[0])
    elif kind == "run":
        source.role, source.what, source.facts = "record", "record of a run", stated.record(each[0])
    elif kind in ("published", "runs", "micro") or engine == "table":
        source.why = "is a table of many runs; docs/campaigns.md says how tables become a campaign"
    else:
        name = engine if end >= 0 else readers.engine_of(each[0])
        command = launch.last(decode(data[max(begin - 4096, 0) : begin])) if begin else ""
        before = source.parts[-1] if source.parts and source.parts[-1].engine == name else None
        # A script that is echoed once launches all results of a loop.
        command = command or (before.launched if before is not None else "")
        source.role, source.what = "result", source.what or name
        part = _part(each, name, begin, end, command)
        part.launched = command
        inside = data[begin : end if end >= 0 else None]
        if may_match(_PRINTED, decode(as_utf8(inside[:_BESIDE] + inside[_BESIDE:][-_TAIL:]))):
            part.facts |= printed_dates(inside) | printed_host(inside) | _printed_instance(inside)
        source.parts.append(part)
    return each


def _pieces(data: bytes) -> list[tuple[str, int, int]]:
    """Cut a text where programs begin to print: engine, first byte, byte after the last.

    HPCC prints the openings of others; results of HPCG in a row that agree in what ran are read as repeats.
    """
    starts = sorted(
        (match.start(), row.engine)
        for row in readers.rows()
        if row.first_line
        for match in search.matches(row.first_line.encode(), data)
    )
    if not starts or any(engine == "hpcc" for _, engine in starts):
        return []
    ends = [_before_trace(data, at) for at, _ in starts[1:]] + [len(data)]
    pieces: list[tuple[str, int, int]] = []
    ran: tuple[int, ...] | None = None
    for (begin, engine), end in zip(starts, ends, strict=True):
        before, ran = ran, _ran(data[begin:end]) if engine == "hpcg" and len(starts) > 1 else None
        if pieces and pieces[-1][0] == engine == "hpcg" and (ran is None or before in (None, ran)):
            ran, begin = ran or before, pieces.pop()[1]
        pieces.append((engine, begin, end))
    return pieces


def _ran(data: bytes) -> tuple[int, ...] | None:
    """Return ranks, threads and grid of a result of HPCG; None if it does not state all of them."""
    with contextlib.suppress(BenchbookError):
        ds = readers.reader("hpcg").parse(data)
        counts = (int(ds["ranks"]), int(ds["threads"]), *ds["local_size"].values.tolist())
        return counts if min(counts) > 0 else None
    return None


def _before_trace(data: bytes, end: int) -> int:
    """Return where a trace of the shell begins that ends at `end`: it is of the next launch."""
    while (start := data.rfind(b"\n", 0, max(end - 1, 0)) + 1) and data.startswith(b"+", start):
        end = start
    return end


def _part(each: list[xr.Dataset], engine: str, begin: int, end: int, command: str) -> ResultPart:
    facts = stated.facts_of_result(each[0], engine)
    if command:
        facts = launch.of_line(command) | {"command": command} | facts
    complete = all(bool(one.attrs.get("complete", True)) for one in each)
    note = f"holds {len(each)} results, each a repeat" if len(each) > 1 else ""
    brief = each[0].sizes.get("size") == 1  # a table of one line, as of a barrier
    return ResultPart(engine, facts, complete, begin, end, stated.rows(each[0]), note, brief)


def printed_dates(data: bytes) -> dict[str, float]:
    """Return the dates that a program prints, in seconds since 1970."""
    facts: dict[str, float] = {}
    for name, patterns, part in (("date", _STARTS, data[:_BESIDE]), ("date_end", _ENDS, data[-_TAIL:])):
        text = decode(as_utf8(part))
        found = (search.first(pattern, text) for pattern in patterns)
        match = next((one for one in found if one), None)
        if match and (seconds := scheduler.moment(match[1])):
            facts[name] = seconds
    return facts


def printed_host(data: bytes) -> dict[str, str]:
    """Return the host of a program's first process, if the program prints it."""
    text = decode(as_utf8(data[:_BESIDE]))
    found = (search.first(pattern, text) for pattern in _HOSTS)
    return next(({"host": match[1]} for match in found if match), {})


def _printed_instance(data: bytes) -> dict[str, tuple[int, int]]:
    text = decode(as_utf8(data[:_BESIDE]))
    found = (search.first(pattern, text) for pattern in _INSTANCES)
    return next(({INSTANCE: (int(match[1]), int(match[2] or 0))} for match in found if match), {})
