"""What a file of a run says in passing: dates, jobs, files that it wrote, libraries, how long it took."""

import contextlib
import re
from dataclasses import dataclass
from datetime import datetime

from analysis.base.errors import ConfigError
from analysis.base.slurm import node_names

# Programs say who and when at their beginning and at their end.
_PART = 1 << 16
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_C_TIME = (
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:{_MONTHS}) +\d{{1,2}} \d\d:\d\d:\d\d (?:[A-Z]{{3,5}} )?\d{{4}}"
)
_ISO = r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
_WORD = r"(?:start|begin|began|launch|run|stop|end|finish|complet|terminat|dat|time|today)"
# The words of the line tell a moment of the run from that of a build.
_STAMP = re.compile(
    rf"^[^\n]{{0,40}}?\b(?P<word>{_WORD}\w*)\b[^\n\d]{{0,40}}?(?P<stamp>{_C_TIME}|{_ISO})",
    re.MULTILINE | re.IGNORECASE,
)
_BUILT = re.compile(r"built|build|compil|releas|version|copyright|licen|submi|queue|eligib", re.IGNORECASE)
_JOB = re.compile(
    r"\bSLURM_JOB_?ID\s*[=:]\s*\"?(\d+)|\*\*\* JOB (\d+) ON\b|\bJobId=(\d+)\b|\bJob ID\s*[:=]\s*(\d+)\b"
)
_JOB_FILE = re.compile(r"slurm-(\d+)(?:_\d+)?\.(?:out|err)(?:\.\w+)?|\w+\.[oe](\d{2,})")
_WROTE = re.compile(r"^mpiP: Storing mpiP output in \[(?:\./)?([^\]\n]+)\]", re.MULTILINE)
_CALL = re.compile(r"^Call \[(\d+)\] Scaled Residual \[", re.MULTILINE)
_TOOK = re.compile(r"^exit (\d+) +seconds ([\d.]+)$|^real\s+(?:(\d+)m)?([\d.]+)s?$", re.MULTILINE)
# Of LSF's mail and PJM's statistics: how long the job ran, how it ended, on which hosts it was.
_RAN = re.compile(r"^ +Run time : +(\d+) sec|^ *ELAPSE TIME \(USE\) +: \S+ \((\d+)\)", re.MULTILINE)
_ENDED = re.compile(
    r"^Exited (?:with exit code|by signal) (\d+)|^(Successfully completed)\.|^ *EXIT CODE +: (\d+)",
    re.MULTILINE,
)
_ON = re.compile(r"^Job was executed on host\(s\) (<[^>]+>.*(?:\n +<[^>]+>.*)*)", re.MULTILINE)
_NODES = re.compile(
    r"^(?:export |declare -x )?SLURM_(?:JOB_)?NODELIST=\"?([^\s\"$]+)|^ +NodeList=([^\s(]+)", re.MULTILINE
)
_HOST = re.compile(r"<(?:\d+\*)?([\w.-]+)>")
# Of the run's own script; a launch line without a number says nothing of the others.
_LAUNCH = re.compile(r"^(?!\s*#)[^\n]*?\b(?:mpirun|mpiexec|orterun|aprun|srun)[.\w]*[ \t](.*)$", re.MULTILINE)
_RANKS = re.compile(r"(?<!\S)(?:-np?|--ntasks)[ =]?(\d+)(?!\S)")
_THREADS = re.compile(r"^[ \t]*(?:export[ \t]+)?OMP_NUM_THREADS=(\d+)[ \t]*$", re.MULTILINE)
_LIBRARIES = (
    ("Open MPI", re.compile(r"(?:Open MPI[ )/:v-]{1,4}|openmpi[-/]|\bompi[-/])v?(\d+\.\d+(?:\.\d+)?)", re.I)),
    ("MPICH", re.compile(r"(?<![a-z])mpich(?:2?[-/_ ]| Version:\s+)v?(\d+\.\d+(?:\.\d+)?)", re.I)),
    ("MVAPICH", re.compile(r"mvapich2?(?:[-/_ ]| Version\s*:\s*)v?(\d+\.\d+(?:\.\d+)?)", re.I)),
    ("Intel MPI", re.compile(r"(?:intel ?mpi|impi)[-/_ ]v?(\d{1,4}\.\d+(?:\.\d+)?)|Intel\(R\) MPI Library (?:for \S+ OS, )?(?:Version )?(\d{4}\.\d+|\d{4} Update \d+)", re.I)),  # noqa: E501
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Marks:
    """What a file says: local times with their words, jobs, written files, calls, libraries, seconds.

    `stamps` has pairs of a word and a time in ISO form; `libraries` pairs of a family and a version; `calls`
    the highest number of a set in HPCG's log, -1 without; `took` is exit code and s, as a shell printed them.
    Of a script `ranks` has those of its launch lines, none if one does not state them, and `threads` what it
    sets. `hosts` are those on which LSF executed the job, or that Slurm lists.
    """

    stamps: tuple[tuple[str, str], ...] = ()
    jobs: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    libraries: tuple[tuple[str, str], ...] = ()
    calls: int = -1
    took: tuple[int, float] | None = None
    ranks: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Marks()


def marks(data: bytes, name: str) -> Marks:
    """Read what a file says in passing; of a long one its beginning and its end."""
    text = (data if len(data) <= 2 * _PART else data[:_PART] + b"\n" + data[-_PART:]).decode(errors="replace")
    stamps = (
        (found["word"].lower(), moment)
        for found in _STAMP.finditer(text)
        if not _BUILT.search(found[0]) and (moment := _moment(found["stamp"]))
    )
    named = _JOB_FILE.fullmatch(name)
    jobs = [next(filter(None, found.groups())) for found in _JOB.finditer(text)]
    jobs += [next(filter(None, named.groups()))] if named else []
    calls = [int(call) for call in _CALL.findall(text)]
    return Marks(
        tuple(dict.fromkeys(stamps)),
        tuple(dict.fromkeys(jobs)),
        tuple(dict.fromkeys(_WROTE.findall(text))),
        tuple(mpi_libraries(text)),
        max(calls, default=-1) if calls.count(0) < 2 else -1,  # of several results there is no number
        _took(text),
        *(_launched(text) if text.startswith("#!") else ((), ())),
        _hosts(text),
    )


def _launched(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ranks that the launch lines of a script start, and the threads that it sets."""
    counts = [_RANKS.search(line) for line in _LAUNCH.findall(text)]
    ranks = {int(found[1]) for found in counts if found} if all(counts) else set()
    return tuple(sorted(ranks)), tuple(sorted(map(int, set(_THREADS.findall(text)))))


def mpi_libraries(text: str) -> list[tuple[str, str]]:
    """Return the families and versions of MPI libraries that a text names."""
    found = [
        (family, next(filter(None, match.groups())))
        for family, pattern in _LIBRARIES
        for match in pattern.finditer(text)
    ]
    return list(dict.fromkeys(found))


def _moment(text: str) -> str:
    """Return a printed time in ISO form, empty if there is no such moment."""
    words = text.replace(",", "").split()
    try:
        if len(words) < 4:
            return datetime.fromisoformat(text).isoformat()
        day = datetime.strptime(" ".join([*words[1:4], words[-1]]), "%b %d %H:%M:%S %Y")
        return day.isoformat()
    except ValueError:
        return ""


def _hosts(text: str) -> tuple[str, ...]:
    """Return the hosts in LSF's report or in Slurm's list, if there is one."""
    reports, lists = _ON.findall(text), {one or other for one, other in _NODES.findall(text)}
    if not reports and len(lists) == 1:
        with contextlib.suppress(ConfigError):
            return tuple(node_names(lists.pop()))
    return tuple(_HOST.findall(re.sub(r", in queue <.*", "", reports[0]))) if len(reports) == 1 else ()


def _took(text: str) -> tuple[int, float] | None:
    found = _TOOK.search(text)
    if found is None:
        ran, ended = _RAN.findall(text), _ENDED.findall(text)
        if not len(ran) == len(ended) == 1:
            return None
        lsf, _, pjm = ended[0]
        return int(lsf or pjm or 0), float("".join(ran[0]))
    code, plain, minutes, seconds = found.groups()
    if plain is not None:
        return int(code), float(plain)
    return -1, 60 * int(minutes or 0) + float(seconds)
