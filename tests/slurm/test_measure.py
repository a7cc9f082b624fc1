"""The target `measure` on a real Slurm under faults: what it asks, what it loses, what it gives up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.measure.workflow import plan

from . import campaigns, daemons
from .campaigns import RESULT, accounted, finish, records, use_factors, use_program
from .cluster import SlurmCluster
from .daemons import CONTROL
from .machine import until

pytestmark = pytest.mark.slurm

# The run's name is that of the folder above.
PROGRAM = """\
#!/bin/sh
run=$(basename "$(dirname "$PWD")")
if [ ! -e {base}/go ]; then
    sleep {seconds}
    case $run in {cases} esac
fi
"""
PROGRAM += RESULT

# Notes who asks Slurm for what, and asks.
SHIM = """\
#!/bin/sh
echo "$(hostname) {tool} $*" >>{log}
exec {real} "$@"
"""

ASKING = ("squeue", "sacct", "sacctmgr", "sshare")


def lay_out(base: Path, repeats: int, cases: str = "", seconds: int = 6) -> list[str]:
    """Make the campaign one of some repeats of a program of the shell; return the runs' names."""
    text = PROGRAM.format(base=base, cases=cases, seconds=seconds, ranks=1)
    # All at once: two of the eight cores of a node each, and a little of its memory.
    small = (("partition: bench", "partition: batch\n  exclusive: false"), ("memory: 1000", "memory: 400"))
    use_program(base, text, *small, ("minutes: 3", "minutes: 10"))
    use_factors(base, repeats=repeats)
    plan.cache_clear()
    return sorted(run.name for run in plan("few", base).runs)


def shims(cluster: SlurmCluster, folder: Path) -> tuple[str, Path]:
    """Make commands that note each question; return the search path with them, and the notes."""
    log = folder / "asked"
    folder.mkdir()
    log.touch()
    for tool in ASKING:
        real = cluster.run(["sh", "-c", f"command -v {tool}"]).stdout.strip()
        (folder / tool).write_text(SHIM.format(tool=tool, log=log, real=real), encoding="utf-8")
        (folder / tool).chmod(0o755)
    path = cluster.run(["sh", "-c", "echo $PATH"]).stdout.strip()
    return f"{folder}:{path}", log


def start(
    cluster: SlurmCluster, base: Path, *options: str, path: str = "", on: str = CONTROL
) -> subprocess.Popen[str]:
    """Measure as a user does, only with less patience; what is said goes into the file ``said``."""
    words = campaigns.command(*options)
    script = 'exec "$@" 2>&1 | tee said'
    env = {"PATH": path} if path else None
    return cluster.popen(["bash", "-o", "pipefail", "-c", script, "-", *words], cwd=base, env=env, on=on)


@contextlib.contextmanager
def first_node_alone(cluster: SlurmCluster) -> Iterator[None]:
    """Take all nodes but the first away for a while."""
    cluster.run(["scontrol", "update", "nodename=n[2-4]", "state=drain", "reason=test"])
    try:
        yield
    finally:
        cluster.run(["scontrol", "update", "nodename=n[2-4]", "state=resume"])


def good_ones(base: Path) -> list[str]:
    """Return the names of the runs that are there and good."""
    return sorted(name for name, record in records(base).items() if not record["reason"])


def said_so(base: Path, text: str, count: int = 1, seconds: float = 90) -> None:
    """Wait until Snakemake has said something some times."""
    file = base / "said"
    until(text, lambda: file.exists() and file.read_text().count(text) >= count, seconds=seconds, every=0.1)


def test_measure__many_jobs_are_asked_for_at_once_and_what_fails_is_named_and_resumed(
    cluster: SlurmCluster,
    project: Path,
    tmp_path: Path,
) -> None:
    names = lay_out(project, 12, cases="*-r05) exit 0;; *-r06) echo half; exit 3;;")
    path, log = shims(cluster, tmp_path / "shims")
    status, said = finish(start(cluster, project, path=path), 200)
    assert status == 1
    found = records(project)
    good = {name for name, record in found.items() if not record["reason"]}
    assert good == set(names) - {names[4], names[5]}
    assert found[f"{names[4]}.failed-1"]["reason"].startswith("exit code 0, but no ")
    assert found[f"{names[5]}.failed-1"]["reason"] == "exit code 3"
    assert [line.split(": ")[1] for line in said.splitlines() if "  missing: " in line] == names[4:6]
    # Every question is about all jobs at once; a run asks once at its end whether Slurm has ended its job.
    every = [line.split(" ", 2) for line in log.read_text(encoding="utf-8").splitlines()]
    asked = [one for one in every if one[0] == "control"]
    of_nodes = [words for host, _, words in every if host != "control"]
    assert len(of_nodes) == len(set(of_nodes)) <= len(names)
    assert all(words.endswith(("--format=%T %r", "--format=%T %S %e")) for words in of_nodes)
    status_questions = [words for _, tool, words in asked if tool == "squeue"]
    assert all(
        words.startswith(("--noheader --me", "--noheader --states=all --format=%A|%T --jobs="))
        or "--states=all --noheader --name" in words
        for words in status_questions
    )
    # The executor submits by two threads, each of which may ask for the account.
    assert 1 <= sum(tool == "sacctmgr" for _, tool, _ in asked) <= 2
    sacct = [words for _, tool, words in asked if tool == "sacct"]
    assert all(words.count(",") >= 11 for words in (one.partition("--jobs=")[2] for one in sacct))
    assert not any(tool == "sshare" for _, tool, _ in asked)
    # The line of progress ends where the campaign does.
    lines = [line for line in said.splitlines() if line.startswith("few: ") and "node hours" in line]
    assert lines[0].startswith("few: 0 of 12 done, ")
    assert lines[-1].startswith("few: 10 of 12 done, 2 failed; ")

    (project / "go").touch()
    status, said = finish(start(cluster, project), 200)
    assert status == 0, said
    assert said.count("has been submitted with SLURM jobid") == 2
    assert sum(not record["reason"] for record in records(project).values()) == 12
    assert len(records(project)) == 14


def test_measure__killed_workflow_is_resumed_by_the_same_command_and_nothing_runs_twice(
    cluster: SlurmCluster,
    project: Path,
) -> None:
    names = lay_out(project, 3, seconds=20)
    # One at a time on each node, three of which are taken away: one runs, two wait.
    clusters = project / "config/clusters/testbed.yaml"
    clusters.write_text(clusters.read_text().replace("memory: 400", "memory: 3000"), encoding="utf-8")
    with first_node_alone(cluster):
        first = start(cluster, project)
        said_so(project, "has been submitted with SLURM jobid", 3)
        running = project / campaigns.RUNNING
        until("a run", lambda: any(running.glob("*/1")), seconds=90, every=0.1)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    status, said = finish(start(cluster, project), 200)
    assert status == 0, said
    assert "has been submitted" not in said
    assert "runs that an earlier start has submitted: " in said
    found = records(project)
    assert sorted(found) == names
    assert {record["reason"] for record in found.values()} == {""}
    kept = set(accounted(project))
    assert kept == {record["job_id"] for record in found.values()}
    assert len(kept) == 3


def test_measure__jobs_that_a_crashed_controller_had_not_saved_are_given_up_and_measured_again(
    cluster: SlurmCluster,
    project: Path,
) -> None:
    names = lay_out(project, 2, seconds=1)
    run = start(cluster, project)
    try:
        said_so(project, "has been submitted with SLURM jobid", 2)
        cluster.stop_controller("KILL")
        # What it had saved was older than the submission: it does so every few seconds.
        until("no slurmctld", lambda: cluster.states() == [])
        for file in (cluster.base / "state").glob("job_state*"):
            file.unlink()
        cluster.start_controller()
        status, said = finish(run, 150)
    finally:
        cluster.run(["scontrol", "update", "nodename=n[1-4]", "state=resume"], check=False)
    assert status == 1, said
    assert said.count("any more. The same command measures its run again.") == 2
    assert [line.split(": ")[1] for line in said.splitlines() if "  missing: " in line] != []
    until("idle nodes", lambda: cluster.states() == ["idle"] * 4, seconds=60)
    again = start(cluster, project)
    until("the runs", lambda: good_ones(project) == names, seconds=120, every=0.2)
    # Slurm's last word on the lost jobs will never come, and is not waited for here.
    os.killpg(again.pid, signal.SIGKILL)
    again.communicate()


def test_measure__accounting_that_is_away_costs_nothing(
    cluster: SlurmCluster,
    project: Path,
) -> None:
    names = lay_out(project, 2, seconds=1)
    run = start(cluster, project)
    said_so(project, "has been submitted with SLURM jobid", 2)
    daemons.stop(cluster.run, cluster.base, "slurmdbd")
    try:
        # All runs are there before it comes back, and what is left is its own word on them.
        until("both runs", lambda: sorted(records(project)) == names, seconds=120, every=0.2)
        said_so(project, "localrule measure:", seconds=120)
        assert cluster.run(["sacct"], check=False).returncode != 0
    finally:
        daemons.start_slurmdbd(cluster.run, cluster.base)
    status, said = finish(run, 200)
    assert status == 0, said
    assert "few: 2 of 2 records of Slurm are final, in sacct.txt" in said


def test_measure__full_disk_is_said_and_resumed_when_there_is_room(
    cluster: SlurmCluster,
    project: Path,
) -> None:
    # The program prints its good result, and half of what comes behind it is lost.
    (name,) = lay_out(project, 1, seconds=0)
    program = project / "program.sh"
    text = program.read_text(encoding="utf-8")
    more = f"[ -e {project}/go ] || head -c 20000000 /dev/zero\nexit 0\n"
    program.write_text(text + more, encoding="utf-8")
    # Submitted from a node to itself, so that one machine sees the small disk.
    raw = project / "data/raw"
    with first_node_alone(cluster):
        cluster.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", raw], on="n1")
        try:
            cluster.run(["mkdir", "-p", raw / "few"], on="n1")
            status, said = finish(start(cluster, project, on="n1"), 150)
            assert status == 1
            log = (project / f"results/logs/run/few/{name}.log").read_text(encoding="utf-8")
            assert "cannot be recorded ([Errno 28] No space left on device); make room" in log, said
            cluster.run(["test", "!", "-e", raw / f"few/runs/{name}/run.json"], on="n1")
            cluster.run(["rm", raw / f".running/few/{name}/1/stdout.txt"], on="n1")
            # Snakemake has taken the empty folder away; the same command goes on.
            (project / "go").touch()
            status, said = finish(start(cluster, project, on="n1"), 150)
            assert status == 0, said
            record = cluster.run(["cat", raw / f"few/runs/{name}.failed-1/run.json"], on="n1").stdout
            assert '"reason": "it ended without a record: ' in record
            record = cluster.run(["cat", raw / f"few/runs/{name}/run.json"], on="n1").stdout
            assert '"reason": ""' in record
        finally:
            cluster.run(["umount", "-l", raw], on="n1", check=False)


def test_measure__job_arrays_of_runs_are_refused(cluster: SlurmCluster, project: Path) -> None:
    lay_out(project, 2)
    status, said = finish(start(cluster, project, "--slurm-array-jobs", "run"), 60)
    assert status == 1
    assert "slurm-array-jobs: the executor gives every job of an array of MPI jobs the command" in said
    assert "has been submitted" not in said
