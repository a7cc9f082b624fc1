"""LS-DYNA's ``d3hsp``: banner, timing table and closing lines of a parallel run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from analysis.synthesis.plan import LAUNCH, Job
from analysis.synthesis.truth import Truth

# Share of the elapsed time, in percent, of each section; indented rows are parts of the one above.
_SECTIONS = (
    ("Keyword Processing", 0.4, (("KW Reading", 0.3),)),
    ("MPP Decomposition", 0.6, ()),
    ("Initialization", 1.0, ()),
    ("Element processing", 57.0, (("Shells", 52.0), ("Solids", 4.0))),
    ("Binary databases", 0.8, ()),
    ("ASCII database", 0.2, ()),
    ("Contact algorithm", 27.0, (("Interf. ID         1", 26.5),)),
    ("Rigid Bodies", 6.0, ()),
    ("Other", 7.0, ()),
)
# Cycles of a case, and seconds that it simulates.
_CASES = {"3cars": (150_000, 0.15), "neon-refined-revised": (47_000, 0.03)}
_ZONES = 800_000
_VERSIONS = {
    "r7.0.0": "mpp s R7.0.0",
    "r3.2.1": "mpp971s R3.2.1",
    "mpp971": "mpp971s R3.1",
    "r11": "mpp s R11.0",
}


def files(truth: Truth, job: Job) -> dict[str, str]:
    """Write the account of a run by file name; a failed run ends with an error termination."""
    return {"d3hsp": "\n".join([*_head(job), *_timing(job), *_closing(job), ""])}


def _head(job: Job) -> Iterator[str]:
    factors = job.factors
    begin = datetime.fromtimestamp(job.start + LAUNCH, UTC)
    version = _VERSIONS.get(factors["build"], factors["build"])
    yield ""
    yield f"     Date: {begin:%m/%d/%Y}      Time: {begin:%H:%M:%S}"
    yield "      ___________________________________________________"
    yield "     |                                                   |"
    for text in (
        "LS-DYNA, A Program for Nonlinear Dynamic",
        "Analysis of Structures in Three Dimensions",
        f"Version : {version}",
        f"Hostname   : {job.hosts[0]}",
        "Precision  : Single precision (I4R4)",
    ):
        yield f"     |  {text:<49}|"
    yield "     |___________________________________________________|"
    yield ""
    yield f" Input file: {factors['case']}.k"
    yield f" MPP execution with {factors['ranks']:7d} procs"
    yield ""


def _timing(job: Job) -> Iterator[str]:
    yield f" {_end(job)}"
    yield ""
    yield " T i m i n g   i n f o r m a t i o n"
    yield "                        CPU(seconds)   %CPU  Clock(seconds) %Clock"
    yield "  " + "-" * 64
    clock = _seconds(job)
    for name, share, parts in _SECTIONS:
        yield _row("  ", name, share, clock)
        for part, part_share in parts:
            yield _row("    ", part, part_share, clock)
    yield "  " + "-" * 64
    yield _row("  ", "T o t a l s", 100.0, clock, fill=" ")
    yield ""


def _row(indent: str, name: str, share: float, clock: float, fill: str = ".") -> str:
    # The processor waits in MPI too: its time is nearly that of the clock.
    seconds = clock * share / 100
    head = f"{indent}{name}"
    head = head if len(head) >= 24 else f"{head} ".ljust(24, fill)
    return f"{head} {0.99 * seconds:.4E}{share:8.2f}     {seconds:.4E}{share:8.2f}"


def _closing(job: Job) -> Iterator[str]:
    elapsed = round(_seconds(job))
    cycles, simulated = _CASES.get(job.factors["case"], (100_000, 0.1))
    begin = job.start + LAUNCH
    cpu = round(0.99 * elapsed)
    yield f" Problem time       =    {simulated:.4E}"
    yield f" Problem cycle      = {cycles:9d}"
    yield f" Total CPU time     = {cpu:9d} seconds ({_parts(cpu, 'minutes', 'seconds')})"
    # Per zone and cycle; how many zones a case has nobody asks.
    yield f" CPU time per zone cycle  ={cpu / cycles * 1e9 / _ZONES:10.0f} nanoseconds"
    yield f" Clock time per zone cycle={elapsed / cycles * 1e9 / _ZONES:10.0f} nanoseconds"
    yield f" Start time   {datetime.fromtimestamp(begin, UTC):%m/%d/%Y %H:%M:%S}  "
    yield f" End time     {datetime.fromtimestamp(begin + elapsed, UTC):%m/%d/%Y %H:%M:%S}  "
    ranks = job.factors["ranks"]
    yield f" Elapsed time {elapsed:7d} seconds for {cycles:7d} cycles using {ranks:5d} MPP procs"
    yield f"             ({_parts(elapsed, 'minutes', 'seconds')})"
    yield ""
    yield f" {_end(job)}"


def _seconds(job: Job) -> float:
    return job.seconds - LAUNCH


def _end(job: Job) -> str:
    stamp = datetime.fromtimestamp(job.end, UTC)
    words = "E r r o r   t e r m i n a t i o n " if job.failed else "N o r m a l    t e r m i n a t i o n"
    return f"{words:<62}{stamp:%m/%d/%y %H:%M:%S}"


def _parts(seconds: int, minutes: str, rest: str) -> str:
    return f"{seconds // 3600:4d} hours {seconds // 60 % 60:2d} {minutes} {seconds % 60:2d} {rest}"
