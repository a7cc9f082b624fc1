"""The books of a campaign on a real Slurm: each started job has a record, and no other job's row counts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from . import jobs
from .campaigns import RESULT, accounted, finish, records, start, use_factors, use_program
from .cluster import SlurmCluster

pytestmark = pytest.mark.slurm


def test_books__a_second_database_with_the_same_job_numbers_retracts_nothing(
    cluster: SlurmCluster, project: Path, tmp_path: Path
) -> None:
    """A copy of a measured campaign is finished on another cluster, whose jobs of the same numbers failed."""
    use_program(project, "#!/bin/sh\n" + RESULT.format(ranks=1))
    use_factors(project, repeats=2)
    status, said = finish(start(cluster, project), 150)
    assert status == 0, said
    before = records(project)
    numbers = {record["job_id"] for record in before.values()}
    table = (project / "data/raw/few/sacct.txt").read_text(encoding="utf-8")
    assert accounted(project) == dict.fromkeys(numbers, "COMPLETED")

    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    (copy / "data/raw/few/sacct.txt").unlink()
    with SlurmCluster(1) as other:
        last = "0"
        while int(last) < max(map(int, numbers)):
            last = jobs.submit(other, tmp_path, "exit 3", "--job-name=payroll")
        for number in numbers:
            assert jobs.ended(other, number)["State"] == "FAILED"
        command = [sys.executable, "-m", "analysis.measure.finish", "few"]
        done = other.run(command, cwd=copy, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    for number in numbers:
        assert f"few: Slurm's job {number} is not this campaign's job {number}: its JobName is" in done.stderr
    assert records(copy) == before
    assert not (copy / "data/raw/few/sacct.txt").exists()
    aside = (copy / "data/raw/.running/few/sacct.foreign.txt").read_text(encoding="utf-8")
    assert aside.count("JobName=payroll") == len(numbers)
    # The campaign itself is as it was.
    assert (project / "data/raw/few/sacct.txt").read_text(encoding="utf-8") == table
