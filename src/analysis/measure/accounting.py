"""Slurm's records of a campaign's jobs: also of those that were killed, with or without a record of ours."""

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.base import files, slurm
from analysis.base.errors import ConfigError
from analysis.measure import folders
from analysis.measure.matrix import Run
from analysis.measure.record import TURN
from analysis.measure.workflow import COMMENT, plan
from analysis.schema.stated import job_of, section

FIELDS = (
    "JobID,JobName,Comment,State,ExitCode,Submit,Start,End,Elapsed,ElapsedRaw,NNodes,NCPUS,NodeList,"
    "MaxRSS,AveRSS,TotalCPU,ConsumedEnergyRaw,AllocTRES,Cluster"
)
SACCT = "sacct.txt"
FOREIGN = "sacct.foreign.txt"  # under the folder of what runs: rows of other jobs, or of a later end
PATIENCE = 300.0
INTERVAL = 30.0
# A command line has its limits.
_JOBS_AT_ONCE = 1000

# Under the folder of what runs: how long the end of a campaign waits.
WAITING = ".waiting"
# How far two clocks may differ, s; and how far a clock that was wrong, if the names leave no doubt.
_CLOCKS = 300.0
_WRONG_CLOCK = 26 * 3600.0
# How a job ends by a hand, a limit or a lost node: that says nothing of a run that had ended before.
_FROM_OUTSIDE = {"BOOT_FAIL", "CANCELLED", "DEADLINE", "NODE_FAIL", "PREEMPTED", "REVOKED", "TIMEOUT"}
LATE = 120.0  # s from the start of a job to its first command, where the disk stands still
_NAMES = {"Comment": "comment", "Cluster": "cluster", "JobName": "job_name"}  # -> key in a record's `slurm`
_REST = ""  # holds the cells of a row beyond its columns: a job's name can have the separator in it

Rows = list[dict[str, Any]]
Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Account:
    """Slurm's records of a campaign's jobs."""

    campaign: str
    jobs: Mapping[str, str] = field(default_factory=dict)  # -> its run; empty where only a record names it
    states: Mapping[str, str] = field(default_factory=dict)  # of the jobs whose record is final
    latest: Mapping[str, str] = field(default_factory=dict)  # may yet change; of all jobs that Slurm knows
    rows: Mapping[str, Rows] = field(default_factory=dict)  # of the same jobs: each job's own first

    def __str__(self) -> str:
        if not self.jobs:
            return f"{self.campaign}: no job of Slurm"
        left = sorted(set(self.jobs) - set(self.states), key=int)
        counts = f"{len(self.states)} of {len(self.jobs)} records of Slurm are final, in {SACCT}"
        return f"{self.campaign}: {counts}" + (f"; not final: {', '.join(left[:20])}" if left else "")


def account(
    base: Path,
    campaign: str,
    *,
    patience: float = PATIENCE,
    interval: float = INTERVAL,
    written: Callable[[], object] = lambda: None,
) -> Account:
    """Keep Slurm's records of a campaign's jobs in ``sacct.txt``, asking for all of them at once.

    For `patience` seconds the records may be on their way, or the accounting be away. `interval` seconds lie
    between two questions; a record is final when two answers are equal, and what was kept so long ago is one.
    What was kept of a job stays until Slurm says more about it; nobody waits for a job that Slurm has
    forgotten. `written` is called after each change of the file.
    """
    target = folders.finished(base, campaign).parent / SACCT
    records = recorded(base, campaign)
    known = dict.fromkeys(records, "") | submitted(base, campaign)
    jobs = sorted(known, key=int)
    readings: dict[str, list[Rows]] = defaultdict(list)
    idle = {
        job_of(note) for note in folders.noted(base, campaign).values() if note.get("state") == folders.IDLE
    }
    kept = _Kept(target, campaign, records, folders.running(base, campaign) / FOREIGN, idle)
    if kept.age >= interval:
        for job, rows in kept.rows.items():
            if not kept.doubt(job, rows):
                readings[job].append(rows)
    deadline = time.monotonic() + patience
    done, forgotten = list[str](), _Forgotten(jobs, records)
    try:
        while jobs:
            if text := _ask(jobs):
                if patience >= interval:
                    forgotten.look(by_job(text))
                for job, rows in kept.grown(text).items():
                    if not kept.doubt(job, rows):
                        readings[job].append(rows)
                if kept.changed:
                    kept.write()
                    written()
            done = [job for job in jobs if slurm.final([_states(rows) for rows in readings[job]])]
            left = deadline - time.monotonic()
            # Whose number is another's here is not waited for.
            waited = set(jobs) - set(done) - kept.foreign - forgotten.jobs
            if not waited or interval > left:
                break
            _announce(base, campaign, len(waited), left)
            time.sleep(interval)
    finally:
        (folders.running(base, campaign) / WAITING).unlink(missing_ok=True)
    rows_ = {job: readings[job][-1] for job in jobs if readings[job] and job in kept.rows}
    latest = {job: rows[0].get("State") or "" for job, rows in rows_.items()}
    return Account(campaign, known, {job: latest[job] for job in done}, latest, rows_)


def _announce(base: Path, campaign: str, jobs: int, left: float) -> None:
    """Say how long Slurm is waited for: on the screen, and to those who watch."""
    note = folders.running(base, campaign) / WAITING
    what = f"waiting for Slurm's last word on {jobs} job{'s' * (jobs != 1)}"
    with suppress(OSError):  # it is only news
        files.write_json(note, {"what": what, "until": time.time() + left})
    print(f"{campaign}: {what}, at most {left:.0f} s", file=sys.stderr, flush=True)


def waiting(base: Path, campaign: str, now: float) -> str:
    """Say what the end of a campaign waits for, and how long yet, at a moment in s since 1970; or nothing."""
    found = files.read_json(folders.running(base, campaign) / WAITING)
    left = float(found.get("until", 0)) - now
    return f"{found['what']}, at most {left:.0f} s" if left > 0 else ""


class _Kept:
    """The rows of ``sacct.txt`` by job, and the file: it only grows; one of another form is left alone.

    `records` has the records that name each job. Rows that none of them agrees with are written to `aside`,
    and so are those of what became of a job after its run had ended well; `idle` are jobs of which a start
    has measured nothing.
    """

    def __init__(
        self, path: Path, campaign: str, records: Mapping[str, Records], aside: Path, idle: Collection[str]
    ) -> None:
        self._path, self._campaign, self._records, self._aside = path, campaign, records, aside
        self._idle = idle
        self.foreign: set[str] = set()
        self._doubted: dict[str, Rows] = {}
        self.rows: dict[str, Rows] = {}
        self.age = math.inf
        self.changed = False
        self._ours = True
        self._columns = FIELDS.split(",")
        with suppress(FileNotFoundError):
            self.age = time.time() - path.stat().st_mtime
            text = self._whole(path.read_text(encoding="utf-8", errors="surrogateescape"))
            if self._table(text):
                self.rows = dict(by_job(text))
            else:
                self._ours = False
                what = "is no table of sacct and stays as it is: Slurm's records are not kept"
                print(f"{path}:1: {what}; give it another name", file=sys.stderr)

    def _whole(self, text: str) -> str:
        """Leave out a last line that somebody has cut: half a row would stay for ever."""
        lines, _, cut = text.rpartition("\n")
        if not (lines and cut):
            return text
        line = text.count("\n") + 1
        remedy = "Slurm is asked for this row and for those that were behind it, unless it has forgotten them"
        print(f"{self._path}:{line}: the file is cut here; {remedy}", file=sys.stderr)
        self.changed = True
        return f"{lines}\n"

    def doubt(self, job: str, rows: Rows) -> str:
        """Say why rows are not used: of another job than the records of its number, or of a later end."""
        known = self._records.get(job, ())
        doubts = [disagreement(record, rows[0], self._campaign) for record in known]
        if doubts and all(doubts):
            return f"Slurm's job {job} is not this campaign's job {job}: {doubts[0]}"
        # Where a run that shares the job failed, the row tells of that one.
        shared = any(shares(record) and record.get("reason") for record in known)
        good = (record for record in known if not (shared or record.get("reason")))
        again = job in self._idle
        later = [afterwards(self._path.parent, record, rows[0], again=again) for record in good]
        return f"Slurm's row of job {job} has a later end: {later[0]}" if later and all(later) else ""

    def grown(self, answer: str) -> dict[str, Rows]:
        """Take an answer of sacct in; return the rows of all jobs."""
        self._table(answer)
        for job, news in by_job(answer).items():
            if why := self.doubt(job, news):
                # After an outage the first rows of a job can lack its name: two answers have to be equal.
                if self._doubted.get(job) == news:
                    self._set_aside(job, news, why)
                self._doubted[job] = news
                continue
            kept = self.rows.get(job, [])
            rows = news if kept and self.doubt(job, kept) else merged(kept, news)
            self.changed |= rows != kept
            self.rows[job] = rows
        return self.rows

    def _set_aside(self, job: str, rows: Rows, why: str) -> None:
        """Keep rows of another job in a file of their own, and name them once."""
        if job in self.foreign:
            return
        self.foreign.add(job)
        text = self._aside.read_text(encoding="utf-8", errors="replace") if self._aside.exists() else ""
        lines = [f"{name}={value}" for row in rows for name, value in row.items() if name and value]
        entry = f"# {why}\n" + "".join(f"{line}\n" for line in lines)
        if entry not in text:
            files.write_text(self._aside, text + entry)
        print(f"{self._campaign}: {why}; not used, kept in {self._aside}", file=sys.stderr)
        kept = self.rows.get(job, [])
        # Of the job while it ran: no end will follow. Or taken before the record was there, of another start.
        if kept and (self.doubt(job, kept) or not slurm.terminal(kept[0].get("State") or "")):
            self.changed |= bool(self.rows.pop(job))

    def write(self) -> None:
        """Write the file, whole or not at all."""
        self.changed = False
        if not self._ours:
            return
        lines = ["|".join(self._columns)]
        for row in (row for rows in self.rows.values() for row in rows):
            cells = (row.get(name) or "" for name in self._columns)
            lines.append("|".join([*cells, *row.get(_REST, ())]))
        text = "".join(f"{line}\n" for line in lines)
        with files.replacing(self._path) as beside:
            beside.write_bytes(text.encode("utf-8", "surrogateescape"))

    def _table(self, text: str) -> bool:
        """Take the columns of a table, beside those that are known; tell whether it is one."""
        head = text.partition("\n")[0].split("|")
        if head[0] != "JobID":
            return False
        known = self._columns if self.rows else []
        self._columns = [*known, *(name for name in head if name not in known)]
        return True


class _Forgotten:
    """Finds jobs that Slurm has forgotten: an answer lacks them, or their end, though it could only be there.

    That is so if an earlier answer lacked them too and had a job that began well after them: the controller
    tells the accounting of one start after the other. Or if the controller said since then that the job is
    not there, or has ended, and that it has told the accounting everything.
    """

    def __init__(self, jobs: Collection[str], records: Mapping[str, Records]) -> None:
        found = {
            job: [section(record, "slurm").get("start") for record in mine] for job, mine in records.items()
        }
        numbers = {job: [at for at in mine if isinstance(at, int | float)] for job, mine in found.items()}
        self._began = {job: max(mine) for job, mine in numbers.items() if mine}
        self._all = set(jobs)
        self._told = set[str]()
        self.jobs: set[str] = set()

    def look(self, listed: Mapping[str, Rows]) -> None:
        """Take an answer in: the rows of each job."""
        missing = self._all - set(listed)
        # The end of one that runs there for ever was lost: with a controller, or in a purge.
        ended = {job for job, rows in listed.items() if slurm.terminal(rows[0].get("State") or "")}
        self.jobs = (self._all - ended) & self._told
        last = max(
            (at for rows in listed.values() for at in moments(rows[0].get("Start"))), default=-math.inf
        )
        late = {job for job in missing if self._began.get(job, math.inf) + _CLOCKS < last}
        self._told = self.jobs | late | _all_told(self._all - ended - late - self.jobs)


def _all_told(jobs: Collection[str]) -> set[str]:
    """Return those of some jobs of which the controller has told the accounting all that it ever will."""
    asked = sorted(jobs, key=int)
    states: dict[str, str] = {}
    try:
        for at in range(0, len(asked), _JOBS_AT_ONCE):
            states |= slurm.states(asked[at : at + _JOBS_AT_ONCE])
    except slurm.NoAnswerError:
        return set()
    # After the states: the end of a job is on its way as soon as it has ended.
    over = {job for job in asked if slurm.terminal(states.get(job, "COMPLETED"))}
    return over if over and slurm.untold() == 0 else set()


def merged(kept: Rows, news: Rows) -> Rows:
    """Join the kept records of a job with Slurm's present ones, its last start first; nothing is lost.

    Slurm gives each start of a job its own time of submission. For one start, a final row stays final, and
    a cell keeps its value if Slurm no longer lists one. Rows with another name belong to another job, which
    has the same number in another database.
    """
    if not kept or not news:
        return kept or news
    pairs = [[rows[0].get(name) or "" for rows in (kept, news)] for name in ("JobName", "Comment")]
    if not all(slurm.same_name(*pair) for pair in pairs):
        return kept
    old = {(row["JobID"], row.get("Submit")): row for row in kept}
    new = [_joined(old.pop((row["JobID"], row.get("Submit")), {}), row) for row in news]
    rest = list(old.values())
    earlier = str(news[0].get("Submit")) < str(kept[0].get("Submit"))
    return [*rest, *new] if earlier else [*new, *rest]


def _joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    if slurm.terminal(old.get("State", "")) and not slurm.terminal(new.get("State", "")):
        return old
    return {name: new.get(name) or old.get(name) for name in {**old, **new}}


def recorded(base: Path, campaign: str) -> dict[str, Records]:
    """Return the Slurm jobs that a campaign's records name -> those records."""
    found: dict[str, Records] = defaultdict(list)
    for name in sorted(folders.recorded(base, campaign)):
        record = folders.record_of(base, campaign, name)
        if (job := job_of(record)).isdecimal():
            found[job].append(record)
    return found


def disagreement(record: Mapping[str, Any], row: Mapping[str, Any], campaign: str) -> str:
    """Say why an accounting row with a record's job number belongs to another job; empty if it does not.

    Numbers come again: in another database, after a rebuild, on another cluster of the same home. Comment,
    cluster, job name, submission and start have to agree, where both sides know them.
    """
    known = record.get("slurm")
    own: dict[str, Any] = dict(known) if isinstance(known, dict) else {}
    if str(row.get("Comment") or "").startswith(COMMENT) and not own.get("comment"):
        own["comment"] = f"{COMMENT}{campaign}_{_run_of(record)}"
    sure = True
    for column, key in _NAMES.items():
        mine, theirs = str(own.get(key) or ""), str(row.get(column) or "")
        if not slurm.same_name(mine, theirs):
            return f"its {column} is {theirs!r}, not {mine!r}"
        sure &= bool(mine) and mine == theirs
    slack = _WRONG_CLOCK if sure else _CLOCKS
    began, first = own.get("start"), record.get("start")
    submit, start, end = (moments(row.get(name)) for name in ("Submit", "Start", "End"))
    at = next((time_ for time_ in (began, first) if isinstance(time_, int | float)), None)
    if at is None:
        return ""
    if submit and min(submit) > at + slack:
        return f"it was submitted at {row['Submit']}, after this job had begun"
    if start and began is not None and min(abs(one - at) for one in start) > slack:
        return (
            f"it began at {row['Start']}, {min(abs(one - at) for one in start):.0f} s from this job's start"
        )
    if (start and min(start) > at + slack) or (end and max(end) < at - slack):
        return f"it ran from {row.get('Start')} to {row.get('End')}, and this run began at another time"
    return ""


def afterwards(raw: Path, record: Mapping[str, Any], row: Mapping[str, Any], *, again: bool = False) -> str:
    """Say what became of a job after its run had ended well; empty if a row tells of the run itself.

    `raw` is the campaign's folder; `again` says that a later start of the job has found its run measured. A
    controller that is killed as a job ends can forget it: the job runs on in its books until somebody cancels
    it, its limit is over, or it is started again as if its node had failed. What the record says for itself
    counts then (`folders.ended_well`). A row of a job that failed, or lacked memory, or that ended before the
    run did, tells of the run.
    """
    state = str(row.get("State") or "")
    begin, end = (moments(row.get(name)) for name in ("Start", "End"))
    outside = (state.split() or [""])[0].rstrip("+") in _FROM_OUTSIDE
    if not (end and (outside or again)):
        return ""
    if not folders.ended_well(raw / "runs" / str(record.get("run", "")), record):
        return ""
    ended, own = record["end"], section(record, "slurm").get("start")
    late = end[0] >= ended - TURN
    if begin and isinstance(own, int | float) and begin[0] < ended - TURN:
        took = end[0] - begin[0]
        if not outside:  # of a later start, by the clock of a node that is ahead
            late = took < ended - own - TURN
        elif abs(begin[0] - own) > LATE:  # the node's clock is another: as long as the run took, by both
            late = took >= ended - own - TURN
    return f"{slurm.named_user(state)} at {row['End']}, after this run had ended well" if late else ""


def shares(record: Mapping[str, Any]) -> bool:
    """Tell whether a record's run shares its job with others: ``7:3`` is the third run in job 7."""
    return ":" in str(record.get("job_id", ""))


def suspended(row: Mapping[str, Any]) -> float:
    """Return for how many s a job was suspended: Elapsed lacks that time."""
    begin, end = (moments(row.get(name)) for name in ("Start", "End"))
    if not (begin and end and str(took := row.get("ElapsedRaw")).isdecimal()):
        return 0.0
    return max(0.0, min(last - first - int(str(took)) for first in begin for last in end))


def outlived(record: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    """Return how many s after its job a run ended that shares the job; 0 if two clocks can make that.

    Where Slurm does not find all processes of a job whose shell was killed, a run goes on, and nothing holds
    its allocation any more. Slurm's times are whole seconds by the controller's clock. The job itself notes
    its start by its node's clock, never before Slurm does if the two clocks agree.
    """
    ended, own = record.get("end"), section(record, "slurm").get("start")
    begin, end = (moments(row.get(name)) for name in ("Start", "End"))
    if not (end and isinstance(ended, int | float)):
        return 0.0
    late = ended - max(end)
    if begin and isinstance(own, int | float):
        ahead = own - max(begin)
        late -= ahead if not 0 <= ahead <= LATE else max(0.0, ahead - 1)  # a second is none
    return late if late > TURN else 0.0


def _run_of(record: Mapping[str, Any]) -> str:
    """Return the run that a record's job was submitted for: jobs at once have the name of the first."""
    name = str(record.get("attempt_at") or record.get("run", ""))
    name = files.attempted(name) or name
    first, _, number = name.rpartition(".")
    return first if number.isdecimal() and int(record.get("job_of_run") or 0) > 1 else name


def moments(text: Any) -> list[float]:
    """Return a time of sacct in s since 1970: two where clocks were set back; none where it is unknown."""
    try:
        moment = datetime.fromisoformat(str(text))
        return [moment.replace(fold=fold).timestamp() for fold in (0, 1)]
    except (ValueError, OverflowError, OSError):
        return []


def submitted(base: Path, campaign: str) -> dict[str, str]:
    """Return the Slurm jobs started for a campaign -> its run, by their logs: a killed one leaves no more."""
    found = {}
    for log in (base / folders.LOGS).glob(f"{campaign}_*/*.log"):
        name = log.parent.name.removeprefix(f"{campaign}_")
        with suppress(ConfigError):  # another campaign's, or no longer in the matrix
            if log.stem.isdecimal():
                found[log.stem] = plan(campaign, base).run(name).name
    return found


def without_record(base: Path, found: Account, states: Mapping[str, str]) -> dict[str, Run]:
    """Return the jobs that ended badly before they had their run -> that run; by final or latest states.

    One that was cancelled while it waited has not started.
    """
    mine = set(recorded(base, found.campaign))
    mine |= {job_of(note) for note in folders.noted(base, found.campaign).values()}  # idle, or said of each
    return {
        job: plan(found.campaign, base).run(found.jobs[job])
        for job in sorted(states, key=int)
        if job not in mine and slurm.terminal(states[job]) and states[job] != "COMPLETED"
        if found.jobs[job] and any(moments(row.get("Start")) for row in found.rows.get(job, ()))
    }


def _ask(jobs: Sequence[str]) -> str:
    """Ask sacct for the records of some jobs; empty while it does not answer."""
    parts = []
    for at in range(0, len(jobs), _JOBS_AT_ONCE):
        chosen = f"--jobs={','.join(jobs[at : at + _JOBS_AT_ONCE])}"
        try:
            text = slurm.ask(["sacct", "--parsable2", f"--format={FIELDS}", chosen], 120)
        except slurm.NoAnswerError:
            return ""
        parts.append(text if at == 0 else text.partition("\n")[2])
    return "".join(parts)


def by_job(text: str) -> Mapping[str, Rows]:
    """Sort the rows of sacct's answer by job: the job's own row first, then its steps'."""
    found: dict[str, Rows] = defaultdict(list)
    head, *lines = (line.rstrip("\r").split("|") for line in text.split("\n"))
    for cells in lines:
        row: dict[str, Any] = dict.fromkeys(head) | dict(zip(head, cells, strict=False))
        row |= {_REST: cells[len(head) :]} if len(cells) > len(head) else {}
        if cells != [""]:
            found[row["JobID"].partition(".")[0]].append(row)
    return found


def _states(rows: Rows) -> Rows:
    return [{key.lower(): value for key, value in row.items() if value is not None} for row in rows]
