"""What Snakemake's Slurm executor (2.8) lacks for measuring, added to it while a campaign is measured.

It checks the account before each submission, and hangs on a job that Slurm does not know: one that a
crashed controller had not saved, or that ended during an outage as long as ``MinJobAge``. It waits for a job
that was preempted and is not started again. In each job it starts a second Snakemake, which costs more than
many programs that are measured. And it asks for jobs every 20 to 180 s, however short they are.
"""

import asyncio
import contextlib
import functools
import logging
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.measure import folders, prepare, workflow

# A job is known from its submission on, so that an answer without it means that it is gone. One answer, or
# two at once, may come from a controller that is just starting: s between the first and the last.
_MISSING = 10.0
# The first pause before a question to Slurm, in s; each one is twice as long as the one before.
_FIRST = 1.0
_LOOK = 0.25  # between two looks at the folder of runs and at what Snakemake wants
# How a job can end that the executor takes for one that goes on. Before a new start it waits (PENDING).
_ENDED = ("PREEMPTED", "REVOKED", "LAUNCH_FAILED")
START = Path(__file__).with_name("start.sh")


def quieten(logger: logging.Logger) -> None:
    """Leave out what Snakemake says three times of each failed run, whose record has its reason."""
    logger.addFilter(lambda record: "no backup found" not in record.getMessage())


def start_command(base: Path, campaign: str, run: str, log: str, others: Sequence[str] = ()) -> str:
    """Return the command of a job of Slurm that measures a run, and others after it."""
    comment = f"{workflow.COMMENT}{campaign}_{run}"
    return shlex.join(["sh", str(START), str(base), sys.executable, campaign, run, comment, log, *others])


def patch_executor(plugin: Any, base: Path | None = None, campaign: str = "") -> None:
    """Add to ``snakemake_executor_plugin_slurm`` what it lacks; nothing where it is made otherwise.

    With `base`, the root of the project, jobs of the rule ``run`` start without Snakemake. With `campaign`
    too, Slurm is asked soon after a record of it has arrived. Call it before Snakemake makes its executor,
    which begins to wait at once.
    """
    if base is not None and hasattr(getattr(plugin, "Executor", None), "format_job_exec"):
        _start_without_snakemake(plugin, base)
    if base is not None and campaign and hasattr(getattr(plugin, "Executor", None), "sleep"):
        _ask_in_time(plugin, folders.finished(base, campaign))
    if hasattr(getattr(plugin, "Executor", None), "report_job_submission"):
        _note_submissions(plugin)
    if hasattr(plugin, "validate_account"):
        plugin.validate_account = functools.cache(plugin.validate_account)
    if hasattr(plugin, "query_job_status") and hasattr(plugin, "Executor"):
        _give_up_lost_jobs(plugin)
    else:
        what = "this version hangs on a job that Slurm has lost; a newer one is patched"
        print(f"snakemake-executor-plugin-slurm: {what}", file=sys.stderr)


class Lost:
    """Counts how often Slurm has answered without a job, or that it is not started again."""

    def __init__(self) -> None:
        self._answer: Mapping[str, str] | None = None
        self._since: dict[str, float] = {}  # when each missed job was first missed

    def note(self, answer: Mapping[str, str] | None) -> None:
        """Note the answer about all jobs: job id -> state; None where there was none."""
        self._answer = answer

    def lost(self, job: str) -> bool:
        """Tell, once after each answer, whether a job that should be there is lost."""
        if self._answer is None:
            return False
        if self._answer.get(job, _ENDED[0]) not in _ENDED:
            self._since.pop(job, None)
            return False
        now = time.monotonic()
        return now - self._since.setdefault(job, now) >= _MISSING

    def why(self, job: str) -> str:
        """Say what Slurm's last answer makes of a lost job."""
        state = (self._answer or {}).get(job)
        return f"Slurm says {state} of job {job}" if state else f"Slurm does not know job {job} any more"


class Pace:
    """Says when to ask Slurm next: soon after a submission or an arrival, then ever less often.

    `runs` is the folder that gets the records. With n jobs in the queue at least n s lie between two
    questions, so that many short ones cost Slurm no more than they did.
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._seen = self._mark()
        self._jobs = 0
        self._pause = _FIRST
        self._asked = time.monotonic()

    def ask(self, jobs: int, longest: float) -> bool:
        """Tell whether to ask now for so many jobs; `longest` is the executor's own pause in s."""
        mark = self._mark()
        if mark != self._seen or (jobs and not self._jobs):
            self._pause = _FIRST
        self._seen, self._jobs = mark, jobs
        pause = min(longest, max(self._pause, jobs))
        if not jobs or time.monotonic() - self._asked < pause:
            return False
        self._pause = min(longest, 2 * self._pause)
        self._asked = time.monotonic()
        return True

    def _mark(self) -> int:
        """Return what changes when a record arrives: a look at a folder, and no question to Slurm."""
        try:
            return self._runs.stat().st_mtime_ns
        except OSError:
            return 0


def _ask_in_time(plugin: Any, runs: Path) -> None:
    pace = Pace(runs)

    async def sleep(self: Any) -> None:
        while self.wait and not pace.ask(len(self.active_jobs), self.next_seconds_between_status_checks):
            await asyncio.sleep(_LOOK)

    plugin.Executor.sleep = sleep


def _start_without_snakemake(plugin: Any, base: Path) -> None:
    whole = plugin.Executor.format_job_exec

    def format_job_exec(self: Any, job: Any) -> str:
        if job.is_group() or job.rule.name != "run":
            return str(whole(self, job))
        campaign, run = job.wildcards.campaign, job.wildcards.run
        others = workflow.share_job(campaign, run, base)
        prepare.keep(base, campaign, [run, *others])
        return start_command(base, campaign, run, str(job.log[0]), others)

    plugin.Executor.format_job_exec = format_job_exec


def _note_submissions(plugin: Any) -> None:
    """Make the log of each submitted job: one whose node dies before its first line leaves nothing else."""
    report = plugin.Executor.report_job_submission

    def report_job_submission(self: Any, job_info: Any, *arguments: Any, **options: Any) -> None:
        report(self, job_info, *arguments, **options)
        if log := (getattr(job_info, "aux", None) or {}).get("slurm_logfile"):
            with contextlib.suppress(OSError):  # on a full disk the job is known by its own note
                Path(log).parent.mkdir(parents=True, exist_ok=True)
                Path(log).touch()

    plugin.Executor.report_job_submission = report_job_submission


def _give_up_lost_jobs(plugin: Any) -> None:
    ask, check, jobs = plugin.query_job_status, plugin.Executor.check_active_jobs, Lost()

    async def query_job_status(*arguments: Any, **options: Any) -> Any:
        answer = await ask(*arguments, **options)
        jobs.note(answer[0])
        return answer

    async def check_active_jobs(self: Any, active_jobs: Sequence[Any]) -> AsyncIterator[Any]:
        jobs.note(None)
        async for job in check(self, active_jobs):
            if not jobs.lost(job.external_jobid):
                yield job
            elif all(os.path.exists(file) for file in job.job.output):  # noqa: PTH110
                self.report_job_success(job)
            else:
                what = f"{jobs.why(job.external_jobid)}. The same command measures its run again. "
                self.report_job_error(job, msg=what)

    plugin.query_job_status = query_job_status
    plugin.Executor.check_active_jobs = check_active_jobs
