"""Witnesses of what was run and when: jobs, orders, repeats and names that go on from one to the next."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from analysis.base.errors import Fault
from analysis.base.files import attempted
from analysis.base.slurm import listed as slurm_nodes
from analysis.base.slurm import terminal
from analysis.datasets.witnesses.accounts import shared_by, waits, wrong_clocks
from analysis.datasets.witnesses.hearing import Hearing, Testimony, listed, witness
from analysis.schema.stated import IMPORTED

# If more of the accounted jobs have no run, the accounting covers more than the campaign,
_OWN_SHARE = 0.5
# and what holds for so many of the runs is a rule, from which the rest departs.
_RULE = 0.9
# A cell that is mostly left out is left out for a reason of its own.
_SOME = 0.5
_FEWEST = 4
# Fewer names that are numbers can be numbers of nodes.
_NUMBERED = 10
# Jobs start out of turn by the seconds that Slurm takes; s.
_TURN = 2.0
# Edges of runs are those of Slurm's seconds, s.
_BLUR = 1.0
# From the start of a job to that of its run, at most, s.
_LAUNCH = 60.0
# An accounting that was asked for while the last job still ran lacks it; s.
_LATE = 600.0
# Exit codes from here on are those of time limits and signals, which can meet a run that has its result.
_STOPPED = 124
_REMOVED = "put back what was removed, or say in README.md why it is missing"


@witness("jobs in Slurm's records", "runs")
def jobs_without_runs(case: Hearing) -> Iterator[Fault]:
    """Find jobs that ran without leaving a run."""
    named = {run.account for run in case.runs}
    # The jobs of one start of Benchbook have one name: a first try whose runs are elsewhere is no hole.
    starts = {run.section("slurm").get("job_name") for run in case.runs}
    ran = {
        name: row
        for name, row in case.jobs.items()
        if not pd.isna(row["start"])
        and row["elapsed"] != 0
        and (None in starts or row.get("job_name") in starts)
    }
    lone = [name for name in ran if name not in named]
    if not named & set(case.jobs) or len(lone) > _OWN_SHARE * len(ran):
        return
    for name in lone:
        row = ran[name]
        what = f"lists job {name} ({row['state']}, {row['elapsed']:.0f} s), without a run"
        yield case.beside(row["file"], what, _REMOVED, text=f"{name}|")


@witness("number of runs of a job by a record", "its runs")
def runs_of_jobs(case: Hearing) -> Iterator[Fault]:
    """Find jobs that ended well, and that fewer runs name than shared them by a record."""
    shared: dict[str, list[Testimony]] = defaultdict(list)
    for run in case.runs:
        if run.account != run.job and case.jobs.get(run.account, {}).get("state") == "COMPLETED":
            shared[run.account].append(run)
    short_of = {}
    for job, runs in shared.items():
        wanted = {str(number) for number in range(1, 1 + max(map(shared_by, runs)))}
        if lacking := wanted - {run.job.partition(":")[2] for run in runs}:
            short_of[job] = len(wanted), sorted(lacking, key=int)
    # A run that another job has measured meanwhile is one of that job.
    if len(short_of) <= max((1 - _RULE) * len(shared), 1):
        for job, (told, numbers) in short_of.items():
            there = listed(f"{job}:{number}" for number in numbers)
            what = f"says that {told} runs shared job {job}, and there is no run {there}"
            yield case.of_run(shared[job][0], what, _REMOVED, key="runs")


@witness("job of a run", "the jobs in Slurm's records", grave=False)
def jobs_without_row(case: Hearing) -> Iterator[Fault]:
    """Find jobs that Slurm's records lack: some of a campaign, or all that Benchbook has measured."""
    # Slurm is asked when there is a manifest: not after a first try of one run.
    asked = any(case.folder.glob("MANIFEST*"))
    own = [
        run
        for run in case.ended
        if run.account and (case.jobs or (asked and run.section("slurm").get("job_name")))
    ]
    named = dict.fromkeys(run.account for run in own)
    each = {run.account for run, _ in _unlisted(case)}
    if gone := [job for job in named if job not in case.jobs and job not in each]:
        file = max(case.accounts, key=lambda name: len(case.accounts[name]), default="sacct.txt")
        what = f"has no row of {len(gone)} of the {len(named)} jobs that measured runs, {gone[0]} the first"
        remedy = "Slurm had forgotten them, or rows were taken out: put them back if you have a copy"
        yield case.beside(file, what, remedy)


def _unlisted(case: Hearing) -> Iterator[tuple[Testimony, bool]]:
    """Give the runs whose job Slurm's records lack, and whether they ended after it was asked.

    Not those that Slurm has forgotten: of a wrong number a row that no run names has the comment.
    """
    own = [run for run in case.runs if run.account and run.account in case.jobs]
    lone = [run for run in case.runs if run.account and run.account not in case.jobs]
    if len(own) < _FEWEST or len(lone) > (1 - _RULE) * len(case.runs):
        return
    ends = [run.row["end"] for run in own if run.dated]
    last = max(ends, default=np.datetime64("NaT"))
    numbers = [int(name) for name in case.jobs if name.isdecimal()]
    named = {run.account for run in case.runs}
    comments = {"", *(row.get("comment", "") for name, row in case.jobs.items() if name not in named)}
    for run in lone:
        after = run.dated and 0 <= (run.row["start"] - last) / np.timedelta64(1, "s") < _LATE
        newer = run.account.isdecimal() and bool(numbers) and int(run.account) == max(numbers) + 1
        if (after and newer) or run.section("slurm").get("comment", "") in comments:
            yield run, bool(after and newer)


def _holes(numbers: Collection[int]) -> list[int]:
    """Return the numbers that are missing between others; none if most are: those do not count anything."""
    first, last = min(numbers, default=0), max(numbers, default=0)
    if last - first > 10 * len(numbers) + 10:
        return []
    return sorted({*range(first, last)} - {*numbers})


@witness("number of one job", "numbers of the others", grave=False)
def holes_in_jobs(case: Hearing) -> Iterator[Fault]:
    """Find numbers that are missing among those of accounted jobs; they may be those of others."""
    for name, frame in case.accounts.items():
        numbers = {int(job) for job in frame["job_id"] if str(job).isdecimal()}
        lacking = _holes(numbers)
        if len(numbers) >= _NUMBERED and 0 < len(lacking) <= (1 - _RULE) * len(numbers):
            what = f"has the jobs {min(numbers)} to {max(numbers)} without {listed(map(str, lacking))}"
            yield case.beside(name, what, "were they jobs of others? if not, put their runs back")


@witness("runs", "jobs in Slurm's records")
def runs_without_jobs(case: Hearing) -> Iterator[Fault]:
    """Find runs whose job Slurm's records do not have, though they have those of the other runs."""
    for run, late in _unlisted(case):
        if not late:
            what = (
                f"belongs to job {run.job}, which Slurm's records do not have; those of other runs they have"
            )
            yield case.of_run(run, what, "ask sacct again, or correct job_id", key="job_id")


@witness("the last run", "jobs in Slurm's records", grave=False)
def last_jobs_unlisted(case: Hearing) -> Iterator[Fault]:
    """Find the run after the last accounted job, which ended when Slurm had been asked."""
    for run, late in _unlisted(case):
        if late:
            what = f"belongs to job {run.job}, the one after the last that Slurm's records have"
            yield case.of_run(run, what, "was sacct asked too early? ask it again", key="job_id")


@witness("order of one run", "order of the others")
def holes_in_order(case: Hearing) -> Iterator[Fault]:
    """Find positions in the order of execution that no run has."""
    # The order of imported runs is that of the times in their names.
    have = {int(run.row["order"]) for run in case.runs if IMPORTED not in run.extra} - {-1}
    if len(have) < _FEWEST:
        return
    first = min(1, min(have))
    lacking = [one for one in _holes({first - 1, *have}) if one >= first]
    if lacking and len(lacking) <= (1 - _RULE) * max(have) + 1:
        holes = listed(map(str, lacking))
        what = f"order goes from {first} to {max(have)}, and no run has {holes}"
        yield Fault(f"{case.label}/runs", 0, what, _REMOVED)


@witness("order", "start")
def order_and_start(case: Hearing) -> Iterator[Fault]:
    """Find runs that began before one that goes before them, where the others follow their order.

    The jobs of one start of Benchbook have one name, and begin in turn; those of another are measured again.
    Where no name is known and some were, the runs that share a job are compared with each other.
    """
    wrong = wrong_clocks(case)
    own = [run for run in case.runs if IMPORTED not in run.extra]  # of others it is that of times in names
    runs = [run for run in own if run.row["order"] >= 0 and run.dated and run.account not in wrong]
    runs.sort(key=lambda run: (run.row["order"], run.row["start"]))
    for run, other in _out_of_turn(*_of_one_start(case, runs)) or _out_of_turn(*_sharing(runs)):
        began, before = (str(one.row["start"].astype("datetime64[s]")) for one in (run, other))
        what = f"is number {run.row['order']} in order and began at {began} UTC"
        what = f"{what}, number {other.row['order']} (run {other.name}) at {before}"
        yield case.of_run(run, what, "one of order and start is wrong", key="start")


def _of_one_start(case: Hearing, runs: Sequence[Testimony]) -> Iterator[list[Testimony]]:
    """Give the runs whose jobs were submitted together and began once, in the order given."""
    found: dict[str, list[Testimony]] = defaultdict(list)
    for run in runs:
        if not run.restarted:
            found[run.section("slurm").get("job_name") or ""].append(run)
    if any(attempted(run.name) for run in case.runs):
        found.pop("", None)
    yield from found.values()


def _sharing(runs: Sequence[Testimony]) -> Iterator[list[Testimony]]:
    """Give the runs that share one start of a job, in the order given."""
    found: dict[tuple[str, str], list[Testimony]] = defaultdict(list)
    for run in runs:
        if run.account != run.job:
            found[run.account, run.restarts].append(run)
    yield from found.values()


@witness("number of a job", "start")
def jobs_and_start(case: Hearing) -> Iterator[Fault]:
    """Find runs whose job has a number that others began with long before or after."""
    # A job may have waited while later ones ran; in the queues of others each waits for nodes of its own.
    late, wrong = waits(case), wrong_clocks(case)
    # A job of several runs was started again, or all of them share its number.
    shares = Counter(run.job for run in case.runs)
    for cluster in sorted({str(run.row["cluster"]) for run in case.runs}):
        runs = [
            run
            for run in case.runs
            if run.row["cluster"] == cluster and run.job.isdecimal() and run.dated and not run.restarted
            if run.job not in wrong and shares[run.job] == 1 and IMPORTED not in run.extra
        ]
        runs.sort(key=lambda run: int(run.job))
        for run, other in _out_of_turn(runs, slack=_LAUNCH if _overlap(runs) else _TURN):
            if -_TURN <= late.get(run.name, np.inf) < _LAUNCH:
                continue
            began = f"began {_ago(run, other)} job {other.job} of run {other.name}"
            what = f"belongs to job {run.job}, which {began}"
            yield case.of_run(run, what, "Slurm numbers on: correct job_id or start", key="job_id")


def _ago(run: Testimony, other: Testimony) -> str:
    seconds = (run.row["start"] - other.row["start"]) / np.timedelta64(1, "s")
    return f"{abs(seconds):.0f} s {'before' if seconds < 0 else 'after'}"


def _overlap(runs: Sequence[Testimony]) -> bool:
    """Tell whether some runs ran at once: then a job can wait for its nodes while later ones begin."""
    times = sorted((run.row["start"], run.row["end"]) for run in runs)
    return any(later < end for (_, end), (later, _) in pairwise(times))


def _out_of_turn(*groups: Sequence[Testimony], slack: float = _TURN) -> list[tuple[Testimony, Testimony]]:
    """Return the runs that did not begin in the order of their group, each with a neighbour.

    Those outside the longest rising chain of each; none if they are many.
    """
    found = []
    for runs in groups:
        values = [_seconds(run.row["start"]) for run in runs]
        kept = _rising(values, slack)
        for at in sorted({*range(len(runs))} - {*kept}):
            place = bisect_right(kept, at)
            late = place > 0 and values[kept[place - 1]] > values[at] + slack
            found.append((runs[at], runs[kept[place - 1] if late or place == len(kept) else kept[place]]))
    whole = sum(map(len, groups))
    return found if whole >= _FEWEST and len(found) <= max((1 - _RULE) * whole, 1) else []


def _rising(values: Sequence[float], slack: float) -> list[int]:
    """Return the positions of the longest chain of values that rise, but for the slack."""
    tails: list[int] = []
    keys: list[float] = []
    parents: list[int] = []
    for at, value in enumerate(values):
        place = bisect_right(keys, value + slack)
        parents.append(tails[place - 1] if place else -1)
        tails[place : place + 1] = [at]
        keys[place : place + 1] = [value]
    chain, at = [], tails[-1] if tails else -1
    while at >= 0:
        chain.append(at)
        at = parents[at]
    return chain[::-1]


def _seconds(moment: np.datetime64) -> float:
    return float(moment.astype("datetime64[ns]").astype(np.int64)) / 1e9


@witness("repeat of one run", "repeats of its cell")
def holes_in_repeats(case: Hearing) -> Iterator[Fault]:
    """Find repetitions that are missing between those that a cell of equal factors has."""
    for cell in case.cells(case.runs, "version", "problem"):
        have = {int(run.row["repeat"]) for run in cell} - {-1}
        lacking = _holes(have)
        lacking = ([1] if min(have, default=1) == 2 else []) + lacking
        if lacking:
            first = cell[0]
            what = f"its cell has the repetitions {listed(map(str, sorted(have)), 12)} and lacks"
            yield case.of_run(first, f"{what} {listed(map(str, lacking))}", _REMOVED, key="repeat")


@witness("repeats of one cell", "repeats of the others", grave=False)
def short_cells(case: Hearing) -> Iterator[Fault]:
    """Find a cell with fewer repetitions than all other cells of its question have."""
    questions: dict[str, list[list[Testimony]]] = defaultdict(list)
    for cell in case.cells(case.runs, "version", "problem"):
        questions[str(cell[0].row["question"])].append(cell)
    for cells in questions.values():
        counts = Counter(len(cell) for cell in cells)
        most = max(counts)
        if len(cells) > _FEWEST and counts[most] == len(cells) - 1:
            cell = min(cells, key=len)
            what = f"its cell has {len(cell)} runs, each of the {len(cells) - 1} others {most}"
            yield case.of_run(cell[0], what, _REMOVED)


@witness("names of runs", "each other")
def holes_in_names(case: Hearing) -> Iterator[Fault]:
    """Find numbers that are missing among runs whose names are numbers."""
    found = [re.fullmatch(r"(\d+)[a-z]?(?:\.failed-\d+)?", run.name) for run in case.runs]
    numbers = {int(one[1]) for one in found if one}
    if None in found or len(numbers) < _NUMBERED or any(IMPORTED in run.extra for run in case.runs):
        return
    lacking = _holes(numbers)
    if lacking and len(lacking) <= (1 - _RULE) * len(numbers) + 1:
        what = f"runs are numbered from {min(numbers)} to {max(numbers)}, and {listed(map(str, lacking))}"
        verb = "is" if len(lacking) == 1 else "are"
        yield Fault(f"{case.label}/runs", 0, f"{what} {verb} missing", _REMOVED)


@witness("concurrent_jobs", "runs at one time")
def lone_partners(case: Hearing) -> Iterator[Fault]:
    """Find runs that say how many ran at once, where fewer did."""
    crowded = [run for run in case.ended if run.row["concurrent_jobs"] > 1 and run.dated]
    beside = _beside(crowded, case.runs)
    short_of = [run for run in crowded if beside[id(run)] + 1 < run.row["concurrent_jobs"]]
    if len(short_of) > (1 - _RULE) * len(crowded) + 1:
        return
    for run in short_of:
        what = f"says that {run.row['concurrent_jobs']} jobs ran at once; {beside[id(run)] + 1} did"
        yield case.of_run(run, what, _REMOVED, key="concurrent_jobs")


def _beside(crowded: Sequence[Testimony], runs: Sequence[Testimony], blur: float = 0.0) -> dict[int, int]:
    """Count the other runs of each run's cluster while it ran, but for so many s at its edges.

    Nodes may be parts of one machine.
    """
    edges: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for run in (one for one in runs if one.dated):
        for times, edge in zip(edges[str(run.row["cluster"])], ("start", "end"), strict=True):
            times.append(_seconds(run.row[edge]))
    for both in edges.values():
        for times in both:
            times.sort()
    found = {}
    for run in crowded:
        starts, ends = edges[str(run.row["cluster"])]
        start, end = _seconds(run.row["start"]) + blur, _seconds(run.row["end"]) - blur
        if blur and end <= start:
            found[id(run)] = 0
            continue
        itself = 1 if start < end else -1
        found[id(run)] = bisect_left(starts, end) - bisect_right(ends, start) - itself
    return found


@witness("concurrent_jobs", "runs that ran alone")
def unnamed_partners(case: Hearing) -> Iterator[Fault]:
    """Find runs that say they ran alone and that another of their cluster overlaps, where most do not."""
    alone = [run for run in case.ended if run.row["concurrent_jobs"] == 1 and run.dated]
    alone = [run for run in alone if IMPORTED not in run.extra]
    beside = _beside(alone, case.runs, _BLUR)
    crowded = [run for run in alone if beside[id(run)] > 0]
    if len(crowded) <= (1 - _RULE) * len(alone):
        for run in crowded:
            what = "says that one job ran at once; another of its cluster overlaps it"
            yield case.of_run(run, what, "correct concurrent_jobs, or start and end", key="concurrent_jobs")


@witness("nodes of imported jobs", "those of jobs at that time", grave=False)
def shared_nodes(case: Hearing) -> Iterator[Fault]:
    """Find imported jobs that had a node while another job of the campaign ran there, where few did."""
    of_node: dict[tuple[str, str], list[Testimony]] = defaultdict(list)
    runs = [run for run in case.ended if IMPORTED in run.extra and run.dated and run.job]
    for run in sorted(runs, key=lambda one: _seconds(one.row["start"])):
        for node in slurm_nodes(str(run.row["node_list"])):
            of_node[str(run.row["cluster"]), node].append(run)
    found: dict[str, tuple[Testimony, str, Testimony]] = {}
    for (_, node), users in of_node.items():
        for other, run in pairwise(users):
            both = _seconds(other.row["end"]) - _seconds(run.row["start"])
            if other.job != run.job and both > 2 * _BLUR:
                found[run.name] = run, node, other
    for run, node, other in found.values() if len(found) <= (1 - _RULE) * len(runs) + 1 else ():
        what = f"ran on {node} while the job of run {other.name} did"
        yield case.of_run(run, what, "one of the two has wrong times or nodes, or each took the other's time")


@witness("exit code of a run", "its result")
def failed_with_results(case: Hearing) -> Iterator[Fault]:
    """Find runs that failed by their record and left a whole and valid result.

    The exit code of an imported run is that of its job, which can fail after its program.
    """
    for run in (one for one in case.runs if IMPORTED not in one.extra):
        code, result = int(run.row["exit_code"]), run.result
        limited = code == _STOPPED and not _longer(run, case)
        if (
            not (0 < code < _STOPPED or limited)
            or run.extra.get("reason")
            or result is None
            or not result.attrs["complete"]
        ):
            continue
        if bool(result.get("valid", True)):
            what = f"says exit code {code}, but its result is whole and valid"
            what += ", and runs of its cell that ended well took longer" if limited else ""
            yield case.of_run(run, what, "correct exit_code, or give a reason", key="exit_code")


def _longer(run: Testimony, case: Hearing) -> bool:
    """Tell whether a run took longer than those of its cell that ended well, as one at its limit does."""
    took = [float(one.row["elapsed"]) for one in case.ended if one.cell() == run.cell()]
    return len(took) < _FEWEST or float(run.row["elapsed"]) >= max(took)


def _ended_otherwise(case: Hearing, run: Testimony) -> bool:
    """Tell whether a second place says that a run was disturbed: its count of stops, or Slurm."""
    state = str(case.jobs.get(run.account, {}).get("state", ""))
    return bool(run.section("accounting").get("resumed")) or (terminal(state) and state != "COMPLETED")


@witness("runs that a record leaves out", "runs of their cell", grave=False)
def left_out_by_hand(case: Hearing) -> Iterator[Fault]:
    """Find whole runs whose record leaves them or their times out, where those of their cell count."""
    whole = [run for run in case.runs if run.row["exit_code"] == 0 and run.result is not None and run.dated]
    for cell in case.cells(run for run in whole if IMPORTED not in run.extra):
        out = [run for run in cell if run.extra.get("reason") or not run.row["timing"]]
        if len(cell) < _FEWEST or len(out) > _SOME * len(cell):
            continue
        beside = _beside(out, case.runs)
        for run in (run for run in out if not _ended_otherwise(case, run)):
            alone = "" if beside[id(run)] else "timing is false, and nothing else ran then"
            if why := str(run.extra.get("reason", "")) or alone:
                what = f"is left out by its record ({why}), though its result is whole"
                what = f"{what}; {len(cell) - len(out)} runs of its cell count"
                yield case.of_run(run, what, "say in README.md why", key="reason")


@witness("numbers of jobs", "times of their submission")
def jobs_and_submission(case: Hearing) -> Iterator[Fault]:
    """Find jobs that were submitted out of the order of their numbers."""
    for name, frame in case.accounts.items():
        again = {run.job for run in case.runs if run.restarted}
        rows = [
            (int(row["job_id"]), row)
            for row in frame[frame["step"] == ""].to_dict("records")
            if str(row["job_id"]).isdecimal() and not pd.isna(row["submit"]) and row["job_id"] not in again
        ]
        rows.sort(key=lambda one: one[0])
        values = [row["submit"].timestamp() for _, row in rows]
        kept = set(_rising(values, 1.0))
        away = [row for at, (_, row) in enumerate(rows) if at not in kept]
        if len(rows) >= _FEWEST and len(away) <= (1 - _RULE) * len(rows):
            for row in away:
                # Slurm dates a job that it queued again by that moment.
                others = max((one["end"] for _, one in rows if one is not row), default=row["submit"])
                if others > row["submit"] > min(one["submit"] for _, one in rows):
                    continue
                what = f"job {row['job_id']} was submitted at {row['submit']}, out of the order of its number"
                yield case.beside(name, what, "ask sacct again", text=f"{row['job_id']}|")
