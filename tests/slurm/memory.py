"""The memory of each job, which the kernel keeps it to: control groups that Slurm makes on the host."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

ROOT = Path("/sys/fs/cgroup/memory")  # of the first version of control groups


class Limits:
    """Lets Slurm end a job that takes more memory than it asked for, as clusters do."""

    def __init__(self) -> None:
        # Slurm names the groups by node and job, so that jobs of two test clusters need other numbers.
        self._jobs = range(first := 1000 * (1 + os.getpid() % 60_000), first + 1000)
        able = (ROOT / "memory.limit_in_bytes").exists()
        self.slurm_conf = f"TaskPlugin=task/cgroup\nFirstJobId={first}\n" if able else ""
        self.cgroup_conf = "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\n" if able else ""

    def remove(self) -> None:
        """Remove the control groups of the jobs, which outlive their nodes."""
        for job in ROOT.glob("slurm_n*/uid_0/job_*"):
            if int(job.name.removeprefix("job_")) in self._jobs:
                folders = sorted((path for path in job.rglob("*") if path.is_dir()), reverse=True)
                _remove([*folders, job, job.parent])
        _remove(ROOT.glob("slurm_n*"))


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):  # another cluster's jobs are there
            folder.rmdir()
