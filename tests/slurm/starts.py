"""Slurm's starts of jobs compared with a campaign's records: what is lost, doubled or without a reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

HEAD = "rule_run_wildcards_few_"  # how the comments of the campaign's jobs begin
Start = tuple[str, int]  # a job, and when it began, in s since 1970
_FINE = (
    "COMPLETED",
    "RUNNING",
)  # a crashed controller can forget a job, which then runs in its books for ever
_REFUSED = "refused"
_AGAIN = ("REQUEUED", "NODE_FAIL", "PREEMPTED", _REFUSED)  # how a start ends that Slurm takes back
_LONG = 1800  # s that no run takes, and less than any step of a clock
_NEAR = 5.0  # s in which a program begins after its job
_LATE = 120.0  # s from Slurm's word that a job has begun to the job's own: its disk may stand still


def starts(accounted: Iterable[str]) -> dict[Start, str]:
    """Return the starts of jobs by sacct's rows, job|state|start|end|comment: start -> state.

    A start that ended within a second is `_REFUSED`: "already running", "job credential revoked".
    """
    found: dict[Start, str] = {}
    for row in accounted:
        job, state, began, end, comment = row.split("|")
        if comment.startswith(HEAD) and _known(began):
            at = datetime.fromisoformat(began).timestamp()
            short = _known(end) and datetime.fromisoformat(end).timestamp() - at <= 1
            found[job, int(at)] = _REFUSED if short else state
    return found


def _known(time_: str) -> bool:
    return time_ not in ("Unknown", "None", "")


def ends(accounted: Iterable[str]) -> dict[Start, float]:
    """Return when the starts of jobs ended, by the rows that `starts` takes."""
    found: dict[Start, float] = {}
    for row in accounted:
        job, _, began, end, comment = row.split("|")
        if comment.startswith(HEAD) and _known(began) and _known(end):
            at = int(datetime.fromisoformat(began).timestamp())
            found[job, at] = datetime.fromisoformat(end).timestamp()
    return found


def start_of(record: Mapping[str, Any]) -> Start:
    """Return a record's job and when it began; Slurm's count of starts is lost with a killed controller."""
    job = str(record["job_id"]).partition(":")[0]
    return job, int((record.get("slurm") or {}).get("start") or 0)


def nearest(one: Start, known: Iterable[Start]) -> Start:
    """Return the start in Slurm's books that a record or note is of, the last before; itself if none."""
    return max(
        (other for other in known if other[0] == one[0] and -1 <= one[1] - other[1] <= _LATE), default=one
    )


def without(started: Mapping[Start, str], known: Iterable[Start]) -> set[Start]:
    """Return the starts in Slurm's books that no record and no note is of."""
    return started.keys() - {nearest(one, started) for one in known}


def unborn(started: Mapping[Start, str], missing: Iterable[Start], ran: Iterable[Start]) -> set[Start]:
    """Return those of some starts that Slurm itself took back, and whose program never ran.

    After a crash of the controller a refused start can be all that its books have of a job.
    """
    found, ran = set(), list(ran)
    for one in missing:
        job, at = one
        others = [other for name, other in started if name == job and other != at]
        again = min((other for other in others if other > at), default=None)
        if started[one] == _REFUSED or (started[one] in _AGAIN and again is not None):
            until = again if again is not None else at + _NEAR
            found |= {one} if not any(name == job and at <= time_ < until for name, time_ in ran) else set()
    return found


def counted(
    started: Mapping[Start, str],
    records: Iterable[Mapping[str, Any]],
    idle: Iterable[Start],
    ran: Iterable[Start] = (),
    ended_well: Iterable[str] = (),
    ended: Mapping[Start, float] | None = None,
) -> dict[str, list[str]]:
    """Hold Slurm's starts against the records, see above; `ended_well` are jobs by the controller's log.

    `ended` has when starts ended by Slurm, as its books say.
    """
    records = list(records)
    there = Counter(map(start_of, records))
    missing = without(started, [*there, *idle])
    lost = missing - unborn(started, missing, ran)
    good = [record for record in records if not record["reason"]]
    runs = Counter(record["run"] for record in good)
    claimed = [record for record in records if record["reason"].endswith("Slurm says COMPLETED")]
    # A controller that is killed forgets that a job has ended, and can end it again: cancelled, say.
    doubted = [record for record in good if start_of(record)[0] not in set(ended_well)]
    doubted = [one for one in doubted if not _over(one, ended or {})]
    ways = {one["run"]: started.get(nearest(start_of(one), started), "no start") for one in doubted}
    taken = [one for one in records if one.get("retracted") and one.get("exit_code") == 0]
    # Slurm's word of a job that has not ended, in the reason of an attempt that has.
    open_ = re.compile(r"Slurm says (PENDING|RUNNING|REQUEUED|SUSPENDED|COMPLETING)")
    return {
        "lost": [f"job {job}, started at {at}" for job, at in sorted(lost)],
        "doubled": [str(one) for one, count in [*there.items(), *runs.items()] if count > 1],
        "retracted": [record["run"] for record in claimed],
        "wrong": [f"{run}: {state}" for run, state in ways.items() if state not in _FINE],
        "ghosts": [one["run"] for one in taken if start_of(one)[0] in set(ended_well)],
        "unnamed": [one["run"] for one in records if ".failed-" in one["run"] and not one["reason"]],
        "not ended": [one["run"] for one in records if open_.search(one["reason"])],
        "mistimed": [one["run"] for one in good if not 0 <= _seconds(one) < _LONG],
    }


def _seconds(record: Mapping[str, Any]) -> float:
    """Return how long a run took by its record; without a start or an end an impossible time."""
    return float((record.get("end") or 0) - (record.get("start") or 0))


def _over(record: Mapping[str, Any], ended: Mapping[Start, float]) -> bool:
    """Tell whether a run had ended by its record before Slurm ended its start."""
    at = ended.get(nearest(start_of(record), ended))
    return at is not None and record.get("ended") is not None and record["ended"] <= at + 1


# What a failed attempt says if its job was ended by the kernel or at its limit, and no other attempt.
_SAYS = {
    "out of memory": re.compile(r"out of memory|OUT_OF_MEMORY"),
    "shortened limit": re.compile(r"limit of time was over|TIMEOUT"),
}


PERHAPS = "perhaps "  # before a kind that was not seen to happen
Hits = Mapping[str, tuple[str, float]]  # job -> what has befallen it, and when, in s since 1970


def of_starts(hits: Hits, records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the runs whose start was hit -> kind: of a job's starts the last that had begun by then."""
    found: dict[str, tuple[int, str]] = {}
    for record in records:
        job, at = start_of(record)
        when = hits.get(job, ("", 0.0))[1]
        if at <= when and at >= found.get(job, (0, ""))[0]:
            found[job] = at, record["run"]
    return {run: hits[job][0] for job, (_, run) in found.items()}


def untrue(hits: Hits, records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the failed attempts whose reason is not what their start was hit by."""
    found, records = [], list(records)
    kinds = of_starts(hits, records)
    for record in records:
        reason = record["reason"]
        kind = kinds.get(record["run"]) or _still_short(hits, *start_of(record))
        said = {name for name, pattern in _SAYS.items() if pattern.search(reason)}
        right = {kind.removeprefix(PERHAPS)} & _SAYS.keys()
        if reason and said != right and not (kind.startswith(PERHAPS) and not said):
            found.append(f"{record['run']}: {reason}, hit by {kind or 'nothing'}")
    return found


def _still_short(hits: Hits, job: str, at: int) -> str:
    """Tell that a start may have the limit to which an earlier one was shortened: Slurm keeps it."""
    hit, when = hits.get(job, ("", 0.0))
    return f"{PERHAPS}shortened limit" if hit.endswith("shortened limit") and at > when else ""


def stopped(hits: Hits, records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the good runs whose start was suspended while it ran."""
    good = [record for record in records if not record["reason"]]
    kinds = of_starts(hits, good)
    return [
        one["run"]
        for one in good
        if kinds.get(one["run"]) == "suspend" and hits[start_of(one)[0]][1] < one.get("ended", 0)
    ]


# Kinds by which Slurm ends a job, and how its failed attempt does not say so.
_BY_SLURM = ("cancel", "requeue", "hold", "preempt with requeue", "preempt with cancel", "drain its node")
_BARE = re.compile(r"exit code \d+( \(signal \w+\))?$")
_TOGETHER = re.compile(r"runs/([^/]+)/run\.json: ran on \S+ for .* together with run (\S+);")


def bare(hits: Hits, records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the failed attempts of jobs that Slurm ended whose reason is an exit code."""
    found = [(record, hits.get(start_of(record)[0], ("", 0.0))[0]) for record in records]
    return [
        f"{record['run']}: {record['reason']}, hit by {kind}"
        for record, kind in found
        if kind in _BY_SLURM and _BARE.match(record["reason"])
    ]


def false_alarms(faults: Iterable[str], records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the faults that name a good run; runs that shared a node by the right time were together."""
    known = {one["run"]: one for one in records}

    def together(one: str, other: str) -> bool:
        mine, theirs = known[one], known[other]
        begun = [each["ended"] - (each["end"] - each["start"]) for each in (mine, theirs)]
        return min(mine["ended"], theirs["ended"]) > max(begun)

    found = []
    for fault in faults:
        pair = _TOGETHER.search(fault)
        good = any(f"runs/{name}/" in fault for name, one in known.items() if not one["reason"])
        if good and not (pair and together(pair[1], pair[2])):
            found.append(fault)
    return found
