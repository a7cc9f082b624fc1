"""One log for all jobs that a run starts at once: each gets a copy, and the windows to split it by."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from analysis.base.files import write_json


def share(out: Path, jobs: Sequence[Path]) -> None:
    """Give each of several jobs the log of their run, which lies in the folder of the first.

    The summaries get ``job`` (number of the folder's own) and ``jobs`` (``start`` and ``end`` of each in s
    since 1970, as the job script has noted them, or null): what the nodes drew while several ran is split in
    equal parts.
    """
    windows = [{"start": _seconds(job / ".start"), "end": _seconds(job / ".end")} for job in jobs]
    files = sorted(path for path in out.parent.glob(f"{out.stem}.*") if path.is_file())
    # The first folder comes last: from it the others are copied.
    for number, job in reversed(list(enumerate(jobs, 1))):
        for path in files:
            target = job / path.name
            if path.name.endswith(".summary.json"):
                summary = json.loads(path.read_text(encoding="utf-8"))
                write_json(target, {**summary, "job": number, "jobs": windows})
            elif target.resolve() != path.resolve():
                shutil.copyfile(path, target)


def _seconds(path: Path) -> float | None:
    try:
        return float(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
