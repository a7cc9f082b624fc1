"""What applications print: LS-DYNA's ``d3hsp``, OpenAtom's standard output, tables of the OSU benchmarks."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.synthesis.plan import LAUNCH, PlannedRun, utc
from analysis.synthesis.truth import Truth

# ---- LS-DYNA: banner, timing table and closing lines of a parallel run

# Share of the elapsed time, in percent, of each section; indented rows are parts of the one above.
_SECTIONS = (
    ("  Keyword Processing", 0.4), ("    KW Reading", 0.3), ("  MPP Decomposition", 0.6),
    ("  Initialization", 1.0), ("  Element processing", 57.0), ("    Shells", 52.0), ("    Solids", 4.0),
    ("  Binary databases", 0.8), ("  ASCII database", 0.2), ("  Contact algorithm", 27.0),
    ("    Interf. ID         1", 26.5), ("  Rigid Bodies", 6.0), ("  Other", 7.0),
)  # fmt: skip
# Cycles of a case, and seconds that it simulates.
_CASES = {"3cars": (150_000, 0.15), "neon-refined-revised": (47_000, 0.03)}
_ZONES = 800_000
_VERSIONS = {
    "r7.0.0": "mpp s R7.0.0",
    "r3.2.1": "mpp971s R3.2.1",
    "mpp971": "mpp971s R3.1",
    "r11": "mpp s R11.0",
}


def lsdyna(truth: Truth, run: PlannedRun) -> dict[str, str]:
    """Write the account of a run by file name; a failed run ends with an error termination."""
    return {"d3hsp": "\n".join([*_banner(run), *_timing(run), *_closing(run), ""])}


def _banner(run: PlannedRun) -> Iterator[str]:
    factors = run.factors
    version = _VERSIONS.get(factors["build"], factors["build"])
    yield ""
    yield f"     Date: {run.began:%m/%d/%Y}      Time: {run.began:%H:%M:%S}"
    yield "      ___________________________________________________"
    yield "     |                                                   |"
    for text in (
        "LS-DYNA, A Program for Nonlinear Dynamic",
        "Analysis of Structures in Three Dimensions",
        f"Version : {version}",
        f"Hostname   : {run.hosts[0]}",
        "Precision  : Single precision (I4R4)",
    ):
        yield f"     |  {text:<49}|"
    yield "     |___________________________________________________|"
    yield ""
    yield f" Input file: {factors['case']}.k"
    yield f" MPP execution with {factors['ranks']:7d} procs"
    yield ""


def _timing(run: PlannedRun) -> Iterator[str]:
    yield f" {_end(run)}"
    yield ""
    yield " T i m i n g   i n f o r m a t i o n"
    yield "                        CPU(seconds)   %CPU  Clock(seconds) %Clock"
    yield "  " + "-" * 64
    yield from (_row(name, share, run.running) for name, share in _SECTIONS)
    yield "  " + "-" * 64
    yield _row("  T o t a l s", 100.0, run.running, fill=" ")
    yield ""


def _row(name: str, share: float, clock: float, fill: str = ".") -> str:
    # The processor waits in MPI too: its time is nearly that of the clock.
    seconds = clock * share / 100
    head = name if len(name) >= 24 else f"{name} ".ljust(24, fill)
    return f"{head} {0.99 * seconds:.4E}{share:8.2f}     {seconds:.4E}{share:8.2f}"


def _closing(run: PlannedRun) -> Iterator[str]:
    elapsed = round(run.running)
    cycles, simulated = _CASES.get(run.factors["case"], (100_000, 0.1))
    cpu = round(0.99 * elapsed)
    yield f" Problem time       =    {simulated:.4E}"
    yield f" Problem cycle      = {cycles:9d}"
    yield f" Total CPU time     = {cpu:9d} seconds ({_hours(cpu)})"
    # Per zone and cycle; nobody asks how many zones a case has.
    yield f" CPU time per zone cycle  ={cpu / cycles * 1e9 / _ZONES:10.0f} nanoseconds"
    yield f" Clock time per zone cycle={elapsed / cycles * 1e9 / _ZONES:10.0f} nanoseconds"
    yield f" Start time   {run.began:%m/%d/%Y %H:%M:%S}  "
    yield f" End time     {utc(run.start + LAUNCH + elapsed):%m/%d/%Y %H:%M:%S}  "
    ranks = run.factors["ranks"]
    yield f" Elapsed time {elapsed:7d} seconds for {cycles:7d} cycles using {ranks:5d} MPP procs"
    yield f"             ({_hours(elapsed)})"
    yield ""
    yield f" {_end(run)}"


def _end(run: PlannedRun) -> str:
    words = "E r r o r   t e r m i n a t i o n " if run.failed else "N o r m a l    t e r m i n a t i o n"
    return f"{words:<62}{utc(run.end):%m/%d/%y %H:%M:%S}"


def _hours(seconds: int) -> str:
    return f"{seconds // 3600:4d} hours {seconds // 60 % 60:2d} minutes {seconds % 60:2d} seconds"


# ---- OpenAtom: standard output after the banner of Charm++

_STEPS = 25
# Share of the run that its start-up takes, and how much longer the first iterations are.
_STARTUP = 0.08
_SLOW_STEPS = (1.8, 1.2)


def openatom(truth: Truth, run: PlannedRun) -> dict[str, str]:
    """Write the output of a run by file name; a failed run stops among its iterations."""
    return {"stdout.txt": "\n".join([*_iterations(truth, run), ""])}


def _iterations(truth: Truth, run: PlannedRun) -> Iterator[str]:
    factors = run.factors
    if factors["mpi"] == "ibverbs":
        yield "Charmrun> IBVERBS version of charmrun"
    else:
        yield "Charm++> Running on MPI version: 2.1 multi-thread support: 0 (max supported: 1)"
    yield f"Charm++> Running on {factors['nodes']} unique compute nodes (8-way SMP)."
    yield "=" * 79
    yield "Executing OpenAtom: BINARY - ./OpenAtom"
    yield f"  Cpaimd-Charm-Driver running on {factors['ranks']} processors. "
    yield f"Total time to finish all start up phases {_STARTUP * run.running:g} "
    times = _times(truth, run, (1 - _STARTUP) * run.running)
    if run.failed:
        yield from (f"Iteration time (GSP) : {time:g}" for time in times[:5])
        yield "------------- Processor 0 Exiting: Caught Signal ------------"
        return
    # The last iteration is in the list alone.
    yield from (f"Iteration time (GSP) : {time:g}" for time in times[:-1])
    yield "-" * 79
    yield "Wall Times from within GSP"
    yield ""
    yield from (f"{time:g}" for time in times)
    yield f"Total Wall Time: {sum(times):g}"
    yield "-" * 79


def _times(truth: Truth, run: PlannedRun, seconds: float) -> list[float]:
    """Return the times of all iterations in s, which add up to `seconds`."""
    scatter = 1 + truth.noise * run.random("iterations").standard_normal(_STEPS)
    scatter[: len(_SLOW_STEPS)] *= _SLOW_STEPS
    return [float(time) for time in seconds * scatter / scatter.sum()]


# ---- OSU micro-benchmarks: a table over message sizes

_TITLES = {
    "osu_latency": "OSU MPI Latency Test",
    "osu_multi_lat": "OSU MPI Multi Latency Test",
    "osu_bw": "OSU MPI Bandwidth Test",
    "osu_allreduce": "OSU MPI Allreduce Latency Test",
    "osu_bcast": "OSU MPI Broadcast Latency Test",
}
_COLLECTIVES = ("osu_allreduce", "osu_bcast")
# Where a test begins; sizes double, and after 0 comes 1.
_FIRST = {"osu_latency": 0, "osu_multi_lat": 0, "osu_allreduce": 4}
_SIZES = [0, *(1 << i for i in range(23))]


def osu(truth: Truth, run: PlannedRun) -> dict[str, str]:
    """Write the table of a run by file name; a failed run ends after its heading."""
    entry = truth.first(truth.micro, run.factors)
    if entry is None:
        found = f"no micro entry for {run.factors['case']} on {run.factors['interconnect']}"
        raise truth.error(found, "add it")
    return {"stdout.txt": "\n".join([*_table(truth, run, entry), ""])}


def _table(truth: Truth, run: PlannedRun, entry: Mapping[str, Any]) -> Iterator[str]:
    case = run.factors["case"]
    bandwidth = case == "osu_bw"
    heading = "Bandwidth (MB/s)" if bandwidth else "Latency (us)"
    if case in _COLLECTIVES:
        heading = "Avg Latency(us)"
        yield ""
    yield f"# {_TITLES[case]} v5.3"
    yield f"{'# Size':<10}{heading:>18}"
    random = run.random("table")
    for size in () if run.failed else _SIZES:
        if size < _FIRST.get(case, 1):
            continue
        # A message takes its latency and the time of its bytes.
        us = entry["latency"] + size / entry["bandwidth"]
        value = size / us if bandwidth else us
        value *= 1 + truth.noise * float(random.standard_normal())
        yield f"{size:<10d}{value:>18.2f}"
