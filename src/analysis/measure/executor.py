"""What Snakemake's Slurm executor (2.8) lacks for measuring, added to it while a campaign is measured.

It checks the account before each submission, and hangs on a job that Slurm does not know: one that a
crashed controller had not saved, or that ended during an outage as long as ``MinJobAge``.
"""

import functools
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

# A job is known from its submission on, so that an answer without it means that it is gone; one answer may
# come from a controller that is just starting.
_MISSES = 2


def patch_executor(plugin: Any) -> None:
    """Add to ``snakemake_executor_plugin_slurm`` what it lacks; nothing where it is made otherwise."""
    if hasattr(plugin, "validate_account"):
        plugin.validate_account = functools.cache(plugin.validate_account)
    if hasattr(plugin, "query_job_status") and hasattr(plugin, "Executor"):
        _give_up_lost_jobs(plugin)
    else:
        what = "this version hangs on a job that Slurm has lost; a newer one is patched"
        print(f"snakemake-executor-plugin-slurm: {what}", file=sys.stderr)


class Lost:
    """Counts how often Slurm has answered without a job."""

    def __init__(self) -> None:
        self._answer: Mapping[str, str] | None = None
        self._missed: Counter[str] = Counter()

    def note(self, answer: Mapping[str, str] | None) -> None:
        """Note the answer about all jobs: job id -> state; None where there was none."""
        self._answer = answer

    def lost(self, job: str) -> bool:
        """Tell, once after each answer, whether a job that should be there is lost."""
        if self._answer is None:
            return False
        if job in self._answer:
            del self._missed[job]
            return False
        self._missed[job] += 1
        return self._missed[job] >= _MISSES


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
                what = f"Slurm does not know job {job.external_jobid} any more. "
                self.report_job_error(job, msg=f"{what}The same command measures its run again. ")

    plugin.query_job_status = query_job_status
    plugin.Executor.check_active_jobs = check_active_jobs
