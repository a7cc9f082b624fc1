"""A campaign whose jobs are killed at random, held against what was killed and what Slurm itself says."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.measure import folders
from analysis.schema import storage

from .campaigns import CAMPAIGN, RUNNING, accounted, finish, ingest, job_of, records, start, use_program
from .cluster import SlurmCluster
from .machine import until

pytestmark = pytest.mark.slurm

SEED = 20140317
RUNS = 9
SUBSETS = """\
    - name: alone
      why: any of them may be the one that is killed
      application: proxy
      case: short
      repeats: 3
      factors: {nodes: 1, ranks_per_node: 2, mpi: openmpi}
    - name: pairs
      why: of two jobs at once both are lost with one
      application: proxy
      case: short
      repeats: 3
      factors: {nodes: 1, concurrent_jobs: 2, ranks_per_node: 1, mpi: openmpi}
    - name: apart
      why: a second node can be lost too
      application: proxy
      case: short
      repeats: 3
      factors: {nodes: 2, ranks_per_node: 1, mpi: openmpi}
"""

# The site's program: it waits to be killed until a file `go` is there, its run's or all runs', then it is the
# real one.
PROGRAM = """\
#!/bin/sh
[ -e {folder}/go ] || echo "$(uname -n) $$" >>waiting
while ! [ -e {folder}/go ] && ! [ -e ../go ]; do sleep 0.2; done
exec {folder}/proxy "$@"
"""

# What each kill may leave as the reason of the attempt. Slurm gives a cancelled job three seconds for its
# record here; a job that loses its second node may see that itself, and so may mpirun.
WORDLESS = "it ended without a record: Slurm says "
# What Slurm adds depends on whether it answers in time; without a signal mpirun had ended before the shell.
TERM = tuple(
    f"the job was ended by {one}"
    for one in ("TERM (cancelled", "TERM (Slurm says COMPLETING", "Slurm (it says ")
)
SAID = re.compile(r"Slurm says [^:]+: ")  # by its accounting, put before the job's own words later
REASONS = {
    "scancel": (*TERM, f"{WORDLESS}CANCELLED"),
    "scancel --signal=KILL --full": (WORDLESS, *TERM, "exit code "),
    "kill -9 of a rank": ("exit code 137 (signal KILL)",),
    "power of a node": (f"{WORDLESS}NODE_FAIL", *TERM, "exit code "),
}


@pytest.fixture
def campaign(project: Path) -> Path:
    """Nine runs of a program that waits."""
    compile_ = ["mpicc.openmpi", "-O1", "-o", project / "proxy", project / "src/proxy/proxy.c"]
    subprocess.run(compile_, check=True)
    use_program(project, PROGRAM.format(folder=project))
    text = CAMPAIGN.partition("    - name: launchers")[0] + SUBSETS
    (project / "config/campaigns/few.yaml").write_text(text, encoding="utf-8")
    return project


class Killer:
    """Kills what runs, and keeps books of its own.

    Attributes
    ----------
    killed : dict of str to str
        Job -> how.
    runs : dict of str to str
        Job -> run that it measured.
    """

    def __init__(self, cluster: SlurmCluster, project: Path) -> None:
        self._cluster, self._project = cluster, project
        self._random = random.Random(SEED)
        self.killed: dict[str, str] = {}
        self.runs: dict[str, str] = {}

    def waiting(self) -> Iterator[tuple[str, Path]]:
        """Look for runs all of whose ranks wait, of jobs that are still to be killed."""
        for owner in sorted((self._project / RUNNING).glob("*/.owner.json")):
            job = job_of(owner.parent)
            heads = [path.parent for path in owner.parent.glob(f"*/{folders.HEAD}")]
            ranks = sum(json.loads((head / folders.HEAD).read_text())["ranks"] for head in heads)
            begun = sum(len(path.read_text().splitlines()) for path in owner.parent.glob("*/waiting"))
            if job not in self.killed and heads and begun == ranks:
                yield job, owner.parent

    def one(self, how: str) -> None:
        """Wait until something runs, and kill one of what does."""
        found: list[tuple[str, Path]] = []

        def some() -> bool:
            found[:] = self.waiting()
            return bool(found)

        until(f"a run to kill by {how}", some, seconds=120, every=0.3)
        job, work = self._random.choice(found)
        self.killed[job], self.runs[job] = how, work.name
        if how.startswith("scancel"):
            self._cluster.run([*how.split(), job])
        elif how == "kill -9 of a rank":
            self._kill_rank(work)
        else:
            node = self._random.choice(json.loads((work / "1" / folders.HEAD).read_text())["node_list"])
            self._cluster.kill_node(node)
            # Back at once: Slurm finds its job lost there.
            self._cluster.start_node(node)

    def _kill_rank(self, work: Path) -> None:
        lines = [line for path in sorted(work.glob("*/waiting")) for line in path.read_text().splitlines()]
        node, pid = self._random.choice(lines).split()
        self._cluster.run(["kill", "-KILL", pid], on=node)
        # The other job of a pair does not know, and ends well in vain.
        (work / "go").touch()


def jobs_of(cluster: SlurmCluster, project: Path) -> dict[str, tuple[str, str]]:
    """Return job -> run and final state by Slurm's own books, of all jobs of this campaign."""
    command = [
        "sacct",
        "-X",
        "-a",
        "-n",
        "-P",
        "--starttime=now-1hour",
        "--format=JobID,State,Comment,WorkDir",
    ]
    rows = [line.split("|") for line in cluster.run(command).stdout.splitlines()]
    head = "rule_run_wildcards_few_"
    return {
        job: (note.removeprefix(head), state)
        for job, state, note, folder in rows
        if note.startswith(head) and folder == str(project)
    }


def resumed(cluster: SlurmCluster, campaign: Path) -> str:
    """Give the same command until the campaign is complete, as often as a user would."""
    for _ in range(4):
        status, said = finish(start(cluster, campaign), 300)
        if status == 0:
            return said
        assert "the same command measures what is missing" in said
    pytest.fail(f"it does not become complete:\n{said}")


def test_kills__campaign_ends_complete_with_every_attempt_accounted_for(
    cluster: SlurmCluster, campaign: Path
) -> None:
    killer = Killer(cluster, campaign)
    run = start(cluster, campaign)
    order = [*REASONS, "scancel"]
    random.Random(SEED).shuffle(order)
    for how in order:
        killer.one(how)
    # Snakemake itself is killed while jobs run, which go on without it.
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    subprocess.run(["rm", "-rf", str(campaign / ".snakemake/locks")], check=True)
    (campaign / "go").touch()
    said = resumed(cluster, campaign)
    assert f"all {RUNS} runs of the matrix are there" in said

    found, slurm = records(campaign), jobs_of(cluster, campaign)
    good = {name: record for name, record in found.items() if ".failed-" not in name}
    failed = {name: record for name, record in found.items() if ".failed-" in name}
    # Nothing is lost or doubled: six runs of one job, three of two; each by a job that ended well.
    assert Counter(record["question"] for record in good.values()) == {"alone": 3, "pairs": 6, "apart": 3}
    assert len({(record["job_id"], record["job_of_run"]) for record in good.values()}) == len(good)
    assert {slurm[record["job_id"]] for record in good.values()} == {
        (name.partition(".")[0], "COMPLETED") for name in good
    }
    # What was killed is recorded with its reason, and nothing else has failed.
    assert {record["job_id"] for record in failed.values()} == set(killer.killed)
    for job, how in killer.killed.items():
        attempts = [record for record in failed.values() if record["job_id"] == job]
        assert {record["attempt_at"].partition(".")[0] for record in attempts} == {killer.runs[job]}
        assert len(attempts) == attempts[0]["concurrent_jobs"]
        assert any(SAID.sub("", record["reason"]).startswith(REASONS[how]) for record in attempts), (
            how,
            [record["reason"] for record in attempts],
        )
    assert not list((campaign / RUNNING).glob("*-r*"))
    # Slurm's record of every job is kept, whatever became of it.
    assert set(accounted(campaign)) == set(slurm)

    ingest(campaign)
    runs = storage.read_tree(campaign / "processed/campaign.nc")["runs"].to_dataset()
    valid = dict(zip(runs["run"].values, runs["valid"].values, strict=True))
    assert valid == {name: name in good for name in found}
    command = [sys.executable, "-m", "analysis.cli", "verify", "few"]
    verified = subprocess.run(command, cwd=campaign, check=False, capture_output=True, text=True)
    assert verified.returncode == 0, verified.stderr
