"""Jobs that run in Slurm's books alone: a controller that dies forgets its last news.

Slurm itself finds such a job when its node registers again, or its limit of time is over. A campaign would
wait for it until then.
"""

import re
import time
from collections.abc import Mapping
from pathlib import Path

from analysis.base import shell
from analysis.measure import accounting, folders, waiting
from analysis.schema.stated import section

_LOOK = 30.0  # s between two looks
_SETTING = re.compile(r"^(BOOT_TIME|BatchStartTimeout|MessageTimeout) *= (\S+)", re.MULTILINE)
_UNKNOWN = "not found running"  # the controller has forgotten the step too: that is no word of the node


class Ghosts:
    """Ends those jobs of a campaign that began before Slurm's controller did, and that their node lacks.

    Nodes are asked after a restart of the controller only, for a question costs the program that is measured
    there some time. A job counts as lost if its node lacks it for as long as Slurm lets a job take to begin.
    """

    def __init__(self, campaign: str, base: Path) -> None:
        self._campaign, self._base = campaign, base
        self._looked, self._boot = float("-inf"), ""
        self._missed: dict[str, float | None] = {}  # job to ask for -> since when its node lacks it

    def end(self) -> list[str]:
        """Look, unless the last look was just now, and cancel what is lost; a line for each."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return []
        self._looked = now
        known = dict(_SETTING.findall(shell.run(["scontrol", "show", "config"], 60).text))
        boot = known.get("BOOT_TIME", self._boot)
        if boot == self._boot and not self._missed:
            return []
        rows = waiting.queue(self._campaign, self._base, "%S", states="RUNNING")
        if rows is None:
            return []
        runs = {job: (run, began) for run, job, began in rows if began < boot}  # both as Slurm writes a time
        asked = self._missed if boot == self._boot else dict.fromkeys(runs)
        self._boot, self._missed = boot, {job: at for job, at in asked.items() if job in runs}
        self._ask(now, runs)
        seconds = [int(known.get(name, 0)) for name in ("BatchStartTimeout", "MessageTimeout")]
        return [
            self._cancel(job, runs[job][0])
            for job, at in self._missed.items()
            if at is not None and now - at >= max(_LOOK, sum(seconds))
        ]

    def _ask(self, now: float, runs: Mapping[str, tuple[str, str]]) -> None:
        """Ask the nodes: a job that is there is not asked for again; a node that is silent says nothing.

        Of a step that has ended `sstat` prints nothing, of one that it cannot ask for why.
        """
        found = dict[str, float | None]()
        for job, at in self._missed.items():
            command = ["sstat", "--noheader", "--parsable2", "--format=JobID", f"--jobs={job}.batch"]
            answer = shell.run(command, 30)
            if not answer.out:
                silent = answer.code == 0 and not answer.err
                lost = silent and folders.begun(self._base, self._campaign, job)  # else its prolog may run
                if silent or _UNKNOWN in answer.err:
                    lost = lost or self._recorded(job, runs[job][1])
                found[job] = (now if at is None else at) if lost else None
        self._missed = found

    def _recorded(self, job: str, began: str) -> bool:
        """Tell whether the start of a job at this time has the record of its only run."""
        found = accounting.recorded(self._base, self._campaign).get(job, ())
        starts = [section(one, "slurm").get("start") for one in found if not accounting.shares(one)]
        at = accounting.moments(began)
        numbers = [one for one in starts if isinstance(one, int | float)]
        return any(abs(one - other) <= accounting.LATE for one in numbers for other in at)

    def _cancel(self, job: str, run: str) -> str:
        done = shell.run(["scancel", job], 60).code == 0
        what = (
            "Slurm's controller was restarted and calls it running, but its node has no such job: it is over"
        )
        then = "cancelled" if done else f"scancel {job}"
        return f"{self._campaign}: job {job} of {run}: {what}; {then}"
