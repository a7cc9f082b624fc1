"""The books of a campaign on a real Slurm: each started job has a record, and no other job's row counts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.base import project as project_
from analysis.measure import workflow
from analysis.measure.executor import start_command

from . import campaigns, daemons, disturbances, jobs
from .campaigns import (
    RESULT,
    ROOT,
    accounted,
    begun,
    finish,
    ingest,
    job_of,
    records,
    start,
    use_factors,
    use_program,
)
from .cluster import SlurmCluster
from .machine import until
from .test_measure import first_node_alone

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


def test_books__nobody_waits_for_jobs_that_were_all_purged(cluster: SlurmCluster, project: Path) -> None:
    """Slurm's database has no later job, but its controller has nothing more to tell it."""
    use_program(project, "#!/bin/sh\n" + RESULT.format(ranks=1))
    use_factors(project, repeats=2)
    status, said = finish(start(cluster, project), 150)
    assert status == 0, said
    numbers = set(accounted(project))
    (project / "data/raw/few/sacct.txt").unlink()
    listed = ["sacct", "-n", "-X", "--format=JobID", f"--jobs={','.join(sorted(numbers))}"]
    for number in numbers:  # which is only after the controller has told their end
        assert jobs.ended(cluster, number)["State"] == "COMPLETED"
    daemons.ask_database(cluster.run, cluster.base, disturbances.PURGE)
    assert cluster.run(listed).stdout == ""
    begin = time.monotonic()
    done = cluster.run(
        [sys.executable, "-m", "analysis.measure.finish", "few"], cwd=project, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    waits = [line for line in done.stderr.splitlines() if "waiting for Slurm's last word" in line]
    assert waits == ["few: waiting for Slurm's last word on 2 jobs, at most 300 s"]
    assert 30 <= time.monotonic() - begin < 200  # of which this machine takes what is above 30 s
    assert len(records(project)) == 2
    assert {record["reason"] for record in records(project).values()} == {""}


def test_books__a_job_that_dies_before_its_first_line_has_a_record(
    cluster: SlurmCluster, project: Path, tmp_path: Path
) -> None:
    """Its Python is killed at once; Slurm's row, the note of its start and its log make the record."""
    use_program(project, "#!/bin/sh\n" + RESULT.format(ranks=1))
    use_factors(project)
    (run,) = workflow.plan("few", project).runs
    killer = tmp_path / "killer"
    killer.write_text("#!/bin/sh\necho it is dark\nkill -KILL $$\n", encoding="utf-8")
    killer.chmod(0o755)
    command = start_command(project, "few", run.name, f"results/logs/run/few/{run.name}.log")
    comment = f"--comment=rule_run_wildcards_few_{run.name}"
    script = command.replace(sys.executable, str(killer))
    job = jobs.submit(cluster, tmp_path, script, comment, "--job-name=5f3a", "--partition=batch")
    assert jobs.ended(cluster, job)["State"] == "FAILED"
    finish_ = [sys.executable, "-m", "analysis.measure.finish", "few"]
    done = cluster.run(finish_, cwd=project, timeout=200, check=False)
    assert done.returncode == 1
    ((name, record),) = records(project).items()
    assert name == f"{run.name}.failed-1"
    assert (record["job_id"], record["slurm"]["job_name"]) == (job, "5f3a")
    assert record["reason"] == "it ended before it had the run: Slurm says FAILED: it is dark"
    assert accounted(project) == {job: "FAILED"}


def test_books__a_campaign_that_cannot_run_stops_after_three_equal_failures(
    cluster: SlurmCluster, project: Path
) -> None:
    """On one node, one at a time: of twelve runs the later ones are taken out of the queue."""
    text = "#!/bin/sh\necho 'x: error while loading shared libraries: libmkl.so: cannot open' >&2\nexit 127\n"
    big = (("partition: bench", "partition: batch"), ("memory: 1000", "memory: 3000"))
    use_program(project, text, *big)
    use_factors(project, repeats=12)
    with first_node_alone(cluster):
        status, said = finish(start(cluster, project), 300)
    assert status == 1
    why = (
        "exit code 127: a library is missing: x: error while loading shared libraries: libmkl.so: cannot open"
    )
    assert f"few: stopped after 3 equal failures: proxy with Open MPI: {why}; put it right, or go on" in said
    found = records(project)
    assert 3 <= len(found) < 12
    assert {record["reason"] for record in found.values()} == {why}
    assert "no backup found" not in said
    # The manifest needed no orderly end.
    done = cluster.run([sys.executable, "-m", "analysis.cli", "verify", "few"], cwd=project, check=False)
    assert "is not in MANIFEST.sha256" not in done.stdout + done.stderr


def test_books__a_full_disk_is_the_reason(cluster: SlurmCluster, project: Path) -> None:
    """The program's own file is on a device that is always full; nothing that it computed was wrong."""
    use_factors(project)
    clusters = project / "config/clusters/testbed.yaml"
    (project / "config/applications/proxy.yaml").write_text(
        (project / "config/applications/proxy.yaml")
        .read_text(encoding="utf-8")
        .replace('arguments: ["--bytes=${bytes}"', 'arguments: ["--file=/dev/full", "--bytes=${bytes}"'),
        encoding="utf-8",
    )
    assert "proxy: {build: proxy}" in clusters.read_text(encoding="utf-8")
    status, _ = finish(start(cluster, project), 150)
    assert status == 1
    (record,) = records(project).values()
    assert record["exit_code"] == 4
    assert record["reason"].startswith(
        "exit code 4: the disk is full: proxy: cannot write /dev/full: No space"
    )


@pytest.mark.parametrize(("repeats", "per_job"), [(24, 8)])
def test_books__many_short_runs_share_a_job(
    cluster: SlurmCluster,
    project: Path,
    repeats: int,
    per_job: int,
    record_property: Callable[[str, object], None],
) -> None:
    """One of them fails; all others are as good as alone, and none costs more memory or processor time."""
    bad_one = "*-r11) exit 5;;"
    text = f'#!/bin/sh\ncase $(basename "$(dirname "$PWD")") in {bad_one} esac\n' + RESULT.format(ranks=1)
    some = (("partition: bench", f"partition: batch\n  exclusive: false\n  runs_per_job: {per_job}"),)
    use_program(project, text, *some, ("memory: 1000", "memory: 400"))
    use_factors(project, repeats=repeats)
    status, said = finish(start(cluster, project), 300)
    assert said.count("has been submitted with SLURM jobid") == repeats // per_job
    found = records(project)
    bad = {name: record["reason"] for name, record in found.items() if record["reason"]}
    assert list(bad.values()) == ["exit code 5"]
    assert len(found) == repeats
    assert status == 1
    assert "few: 1 runs are missing, of 24 in the matrix" in said
    numbers = [record["job_id"] for record in found.values()]
    assert len(set(numbers)) == repeats
    shared = {number.partition(":")[0] for number in numbers}
    assert len(shared) == repeats // per_job
    steps = batch_steps(cluster, shared)
    each = ", ".join(f"{spent / per_job:.2f} s a run, {memory:.1f} MB" for spent, memory in steps)
    record_property(f"batch steps of {per_job} runs", each)
    assert max(spent for spent, _ in steps) < per_job
    assert max(memory for _, memory in steps) < 60
    # One limit of 3 min, and twice 0.1 s and the 5 s to start of each other run: 72 s.
    assert {record["allocation"]["runtime"] for record in found.values()} == {3 + 2}
    # In each job one after another, in the shuffled order.
    for job in shared:
        mine = [record for record in found.values() if record["job_id"].startswith(f"{job}:")]
        mine.sort(key=lambda record: int(record["job_id"].partition(":")[2]))
        assert [record["order"] for record in mine] == sorted(record["order"] for record in mine)
        ends = [record["end"] for record in mine]
        assert all(end <= record["start"] for end, record in zip(ends, mine[1:], strict=False))
    assert f"{repeats} runs, {repeats - 1} valid" in ingest(project)
    status, said = finish(start(cluster, project), 200)
    assert said.count("has been submitted with SLURM jobid") == 1


def test_books__of_a_shared_job_that_was_suspended_one_run_is_measured_again(
    cluster: SlurmCluster, project: Path
) -> None:
    """Of three runs in one job the second was stopped for some seconds; the others have not noticed."""
    some = (("partition: bench", "partition: batch\n  exclusive: false\n  runs_per_job: 3"),)
    use_program(project, "#!/bin/sh\nsleep 8\n" + RESULT.format(ranks=1), *some)
    use_factors(project, repeats=3)
    process = start(cluster, project)

    def begun() -> set[str]:
        return {path.parents[2].name for path in (project / campaigns.RUNNING).glob("*/1/.binding/0")}

    until("the first run", lambda: bool(records(project)), seconds=90)
    ((first, record),) = records(project).items()
    until("the second run", lambda: begun() - {first}, seconds=30, every=0.2)
    (second,) = begun() - {first}
    job = record["job_id"].partition(":")[0]
    cluster.run(["scontrol", "suspend", job])
    time.sleep(6)
    cluster.run(["scontrol", "resume", job])
    status, said = finish(process, 200)
    assert status == 1
    found = records(project)
    assert {name: one["reason"] for name, one in found.items() if one["reason"]} == {
        f"{second}.failed-1": "its job was suspended while it ran"
    }
    assert f"failed attempt: {second}.failed-1: its job was suspended while it ran" in said
    status, said = finish(start(cluster, project), 200)
    assert status == 0, said
    again = records(project)
    assert {name: one for name, one in again.items() if name in found} == found
    assert set(again) - set(found) == {second}


@pytest.mark.parametrize("per_job", [1, 2])
def test_books__a_run_that_outlives_the_shell_of_its_job_is_measured_again(
    cluster: SlurmCluster, project: Path, per_job: int
) -> None:
    """It goes on, and Slurm gives its cores away; the run notices it itself, whatever Slurm's books have."""
    some = (("partition: bench", f"partition: batch\n  exclusive: false\n  runs_per_job: {per_job}"),)
    use_program(project, "#!/bin/sh\nsleep 8\n" + RESULT.format(ranks=1), *some)
    use_factors(project, repeats=per_job)
    process = start(cluster, project)

    def begun() -> set[str]:
        return {path.parents[2].name for path in (project / campaigns.RUNNING).glob("*/1/.binding/0")}

    until("the runs before it", lambda: len(records(project)) == per_job - 1, seconds=90)
    before = records(project)
    until("the last run", lambda: begun() - set(before), seconds=60, every=0.2)
    (last,) = begun() - set(before)
    job = job_of(project / campaigns.RUNNING / last).partition(":")[0]
    (node,) = json.loads((project / campaigns.RUNNING / last / "1/.job.json").read_text())["node_list"]
    # Whoever looks while the run goes on sees that its job is gone, and makes it a failed attempt.
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    cluster.run(["pkill", "-KILL", "-f", f"job{int(job):05d}/slurm_script"], on=node)
    until("the end of what goes on", lambda: len(records(project)) == per_job, seconds=30)
    why = "it went on after the shell of its job was killed: Slurm may have given its cores to others"
    assert {name: one["reason"] for name, one in records(project).items()} == {
        **dict.fromkeys(before, ""),
        f"{last}.failed-1": why,
    }
    status, said = finish(start(cluster, project), 100)
    assert status == 0, said
    found = records(project)
    assert {name: found[name] for name in before} == before
    assert set(found) == {*before, last, f"{last}.failed-1"}


def test_books__a_run_whose_node_does_not_know_that_its_job_is_over_is_measured_again(
    cluster: SlurmCluster, project: Path
) -> None:
    """It ends as if nothing were, and Slurm may have given its cores away; its own shell is still there."""
    use_program(project, "#!/bin/sh\nsleep 12\n" + RESULT.format(ranks=1))
    use_factors(project)
    process = start(cluster, project)
    work = begun(process, project)
    job, (node,) = job_of(work), json.loads((work / "1/.job.json").read_text())["node_list"]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    cluster.kill_slurmd(node)
    try:
        cluster.run(["scancel", job])
        until("the end of the run", lambda: len(records(project)) == 1, seconds=60)
    finally:
        cluster.start_slurmd(node)
    ((name, record),) = records(project).items()
    assert record["exit_code"] == 0
    assert re.search(r"it ended \d+ s after its job, and its node did not know", record["reason"])
    finish(start(cluster, project), 100)  # waits for what is there
    status, said = finish(start(cluster, project), 100)
    assert status == 0, said
    found = records(project)
    assert {one: found[one]["reason"] for one in found} == {
        name: f"Slurm says CANCELLED by 0 (root): {record['reason']}",
        name.removesuffix(".failed-1"): "",
    }


def test_books__nobody_waits_for_a_job_whose_end_the_controller_forgot(
    able: None, project: Path, tmp_path: Path
) -> None:
    """It was cancelled just before the controller died, and runs in its books until its limit is over.

    The controller saves its state every few seconds; here it finds the one from before the cancellation.
    When a node registers, which it does seldom, it looks for jobs that began longer ago than one may take.
    """
    use_program(project, "#!/bin/sh\nsleep 600\n", ("minutes: 3", "minutes: 30"))
    use_factors(project)
    with SlurmCluster(1, more="BatchStartTimeout=30\nSlurmdTimeout=300\n") as cluster:
        process = start(cluster, project)
        job = job_of(begun(process, project))
        changed = time.time()
        cluster.run(["scontrol", "update", f"jobid={job}", "timelimit=29"])  # any change is saved
        state = cluster.base / "state/job_state"
        until("the saved state", lambda: state.stat().st_mtime > changed, seconds=20)
        unnamed = shutil.ignore_patterns("*.new")  # the controller is about to rename these
        saved = shutil.copytree(cluster.base / "state", tmp_path / "state", ignore=unnamed)
        os.killpg(process.pid, signal.SIGSTOP)  # it does not see the end that will be forgotten
        cluster.run(["scancel", job])
        ask = ["squeue", "-h", "-t", "all", "-o", "%T"]
        until("its end", lambda: cluster.run(ask).stdout == "CANCELLED\n", seconds=10, every=0.2)
        cluster.stop_controller("KILL")
        shutil.copytree(saved, cluster.base / "state", dirs_exist_ok=True)
        cluster.start_controller()
        assert cluster.run(["squeue", "-h", "-o", "%A %T"]).stdout.split() == [job, "RUNNING"]
        for _ in range(5):  # nsenter, before it, stops itself if it learns of the stop when it goes on
            os.killpg(process.pid, signal.SIGCONT)
            time.sleep(1)
        status, said = finish(process, 60)
        until("an empty queue", lambda: cluster.run(["squeue", "-h"]).stdout == "", seconds=10)
    assert status == 1
    why = "Slurm's controller was restarted and calls it running, but its node has no such job: it is over"
    assert f"few: job {job} of {workflow.plan('few', project).runs[0].name}: {why}; cancelled" in said
    (record,) = records(project).values()
    assert record["job_id"] == job
    # If mpirun ended before the shell was told: what Slurm says is of the second cancellation.
    told = r"^(Slurm says CANCELLED.*: )?the job was ended by \w+ \(cancelled|^exit code 1$"
    assert re.search(told, record["reason"])


def batch_steps(cluster: SlurmCluster, jobs_: set[str]) -> list[tuple[float, float]]:
    """Return the processor time (s) and the peak memory (MB) of the batch steps of some jobs, by Slurm.

    Slurm samples the memory once a second here, and adds up what each process has resident.
    """
    command = ["sacct", "-n", "-P", f"--jobs={','.join(sorted(jobs_))}", "--format=JobID,TotalCPU,MaxRSS"]

    def rows() -> list[list[str]]:
        lines = [line.split("|") for line in cluster.run(command).stdout.splitlines()]
        return [row for row in lines if row[0].endswith(".batch") and row[2]]

    until("the accounting of the batch steps", lambda: len(rows()) == len(jobs_), seconds=30, every=1)
    found = []
    for _, spent, memory in rows():
        hours, minutes, seconds = map(float, ["0", *spent.split(":")][-3:])
        found.append((3600 * hours + 60 * minutes + seconds, int(memory.rstrip("K")) * 1024 / 1e6))
    return found


def test_books__the_batch_step_of_a_run_costs_little(
    cluster: SlurmCluster, project: Path, record_property: Callable[[str, object], None]
) -> None:
    """Under 1 s and 60 MB, where a second Snakemake took 13 s and 455 MB."""
    use_program(project, "#!/bin/sh\nsleep 2\nexit 9\n", ("partition: bench", "partition: batch"))
    use_factors(project)
    finish(start(cluster, project), 150)
    (record,) = records(project).values()
    ((spent, memory),) = batch_steps(cluster, {record["job_id"]})
    record_property("batch step of a run", f"{spent:.2f} s, {memory:.1f} MB")
    assert spent < 1
    assert memory < 60


def benchbook(base: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis.cli", *words]
    return subprocess.run(command, cwd=base, capture_output=True, text=True, timeout=900, check=False)


def test_books__a_crate_is_repeated_on_another_cluster_and_compared(
    cluster: SlurmCluster, project: Path, tmp_path: Path
) -> None:
    """Four runs on two nodes; the other cluster has two nodes, and calls its MPI library otherwise.

    Variables of the first go with them, but for a path and for one that the other cluster sets itself.
    """
    use_factors(project, 2, repeats=4)
    path, own = project / "config/campaigns/few.yaml", "OMPI_MCA_btl_tcp_if_include: 10.77.0.0/24"
    mine = "{NOTE: it's mine, ROUNDS: 7, TABLE: /opt/table, PYTHONNOTE: 1, " + own + "}"
    path.write_text(path.read_text().replace("matrix:", f"matrix:\n  environment: {mine}"))
    shutil.copy(ROOT / "CITATION.cff", project)
    status, said = finish(start(cluster, project), 200)
    assert status == 0, said
    crate = tmp_path / "few.zip"
    done = benchbook(project, "export", "few", str(crate))
    assert done.returncode == 0, done.stderr
    validator = [sys.executable, ROOT / "tests/provenance/roc_validate.py", crate, "workflow-run-crate"]
    assert subprocess.run(validator, capture_output=True, text=True, check=False).stdout == ""

    other = campaigns.make_project(tmp_path / "other")
    shutil.rmtree(other / "data/raw/few")
    (other / "config/campaigns/few.yaml").unlink()
    (other / "config/config.yaml").write_text("campaigns: []\nreports: {}\npages: []\n", encoding="utf-8")
    text = campaigns.CLUSTER.replace("    openmpi:\n", "    ompi-here:\n").replace("nodes: 4", "nodes: 2")
    (other / "config/clusters/testbed.yaml").rename(other / "config/clusters/second.yaml")
    (other / "config/clusters/second.yaml").write_text(text, encoding="utf-8")
    done = benchbook(other, "repeat", str(crate), "--cluster", "second")
    assert done.returncode == 0, done.stderr
    assert "wrote config/campaigns/few-on-second.yaml" in done.stdout
    assert "measured: 0 of 4 runs" in benchbook(other, "plan", "few-on-second").stdout
    with SlurmCluster(2) as second:
        words = ["--profile", "slurm", "measure", "--config", "measure=few-on-second", *campaigns.SMALLER]
        run = second.popen([sys.executable, "-m", "snakemake", *words], cwd=other)
        status, said = finish(run, 300)
    assert status == 0, said
    assert "few-on-second: all 4 runs of the matrix are there" in said
    done = benchbook(other, "compare", "few", "few-on-second", "--json")
    assert done.returncode in (0, 3), done.stderr
    carried = {"NOTE": "it's mine", "ROUNDS": 7}
    content = project_.load_yaml(other / "config/campaigns/few-on-second.yaml")
    assert content["matrix"]["environment"] == carried
    for record in campaigns.records(other, "few-on-second").values():
        assert record["environment"].items() >= {"NOTE": "it's mine", "ROUNDS": "7"}.items()
        assert not {"TABLE", "PYTHONNOTE"} & set(record["environment"])
    assert "in 1 cell)" in json.loads(done.stdout)["summary"]


def test_waiting__real_slurm_says_why_each_job_waits(cluster: SlurmCluster, project: Path) -> None:
    """A held job, one whose node is drained, and one for later."""
    run = workflow.plan("few", project).runs[0].name
    comment = f"--comment={workflow.COMMENT}few_{run}"
    cluster.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=a fan"])
    waits = {
        "--hold": "JobHeldUser: you, or an operator, hold it; scontrol release {job}",
        "--nodelist=n4": "ReqNodeNotAvail, UnavailableNodes:n4: the nodes that it may use are down, "
        "drained or reserved; sinfo -R shows which nodes and why; an administrator can resume them",
        "--begin=now+1hour": "BeginTime: it starts at ",
    }
    try:
        numbers = [jobs.submit(cluster, project, "true", comment, option) for option in waits]
        expected = [
            f"  job {job} of {run} waits: Slurm says {text.format(job=job)}"
            for job, text in zip(numbers, waits.values(), strict=True)
        ]

        def said() -> list[str]:
            command = [sys.executable, "-m", "analysis.cli", "progress", "few"]
            return cluster.run(command, cwd=project).stdout.splitlines()[1:]

        def agree() -> bool:  # until Slurm has looked at a job, its reason is another
            found = said()
            return len(found) == 3 and all(map(str.startswith, found, expected))

        until("Slurm's reasons", agree, seconds=60, every=2)
        found = said()
        assert len(found) == 3
        assert [line[: len(text)] for line, text in zip(found, expected, strict=True)] == expected
        cluster.run(["scancel", *numbers])
        until("an empty queue", lambda: said() == [], seconds=30)
    finally:
        cluster.run(["scancel", "--user=root"], check=False)
        cluster.run(["scontrol", "update", "nodename=n4", "state=resume"])
