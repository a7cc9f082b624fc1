"""Jobs that have started: each has a note from its first moment, and a record whatever became of it."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.base import files, slurm
from analysis.measure import executor, finish, folders, launch, record, workflow
from analysis.measure.executor import patch_executor, start_command

from .conftest import Changed, squeue, stand_in
from .test_workflow_rules import put

JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NAME": "5f3a",
    "SLURM_CLUSTER_NAME": "testbed",
    "SLURM_JOB_NODELIST": "n[1-2]",
}


def begin(base: Path, run: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Start a job as Slurm does, whose Python is killed at once."""
    killer = base.parent / "bin/killer"
    killer.parent.mkdir(exist_ok=True)
    killer.write_text("#!/bin/sh\necho out of breath\nkill -KILL $$\n", encoding="utf-8")
    killer.chmod(0o755)
    log = f"results/logs/run/c/{run}.log"
    words = shlex.split(start_command(base, "c", run, log))
    words[words.index(sys.executable)] = str(killer)
    environ = {"PATH": os.environ["PATH"], **JOB, **more}
    return subprocess.run(words, capture_output=True, text=True, env=environ, check=False)


def test_started__a_job_that_is_killed_at_once_has_a_record_with_its_reason(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = workflow.plan("c", base).runs[0]
    assert begin(base, run.name).returncode == -9
    note = folders.running(base, "c") / ".started/7.0.json"
    found = files.read_json(note)
    assert (found["state"], found["run"], found["node_list"]) == ("started", run.name, "n[1-2]")
    assert found["slurm"]["comment"] == f"rule_run_wildcards_c_{run.name}"
    # While it is in the queue nothing is known; what tidies leaves the note alone.
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    finish.tidy(base, "c")
    assert finish.started(base, "c") == []
    assert note.exists()
    squeue(tmp_path, monkeypatch, "7|CANCELLED\n")
    rows = f"CANCELLED by 0|rule_run_wildcards_c_{run.name}|5f3a|testbed"
    foreign = "FAILED|rule_run_wildcards_c_another|77aa|testbed"
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\necho '{rows}'; echo '{foreign}'\n")
    (line,) = finish.started(base, "c")
    why = "it ended before it had the run: Slurm says CANCELLED by 0 (root): out of breath"
    assert line == f"{run.name}.failed-1: failed: {why}"
    kept = files.read_json(folders.finished(base, "c") / f"{run.name}.failed-1" / "run.json")
    assert (kept["job_id"], kept["state"], kept["exit_code"]) == ("7", "failed", None)
    assert (kept["attempt_at"], kept["node_list"], kept["ranks"]) == (
        run.name,
        ["n1", "n2"],
        run.ranks_per_node * run.nodes,
    )
    assert kept["slurm"]["job_name"] == "5f3a"
    assert not note.exists()


def test_started__each_start_of_a_job_is_an_attempt_and_a_recorded_one_is_none(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm lost a node and started the job again, which has measured the run."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    begin(base, run, SLURM_RESTART_COUNT="1")
    put(base, run, job_id="7", reason="", slurm={"restarts": "1"})
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    (folders.running(base, "c") / ".started/7.1.json").touch()
    notes = folders.noted(base, "c")
    assert len(notes) == 2
    # The first start is over once there is a second one: but only a note tells, and that one has its record.
    finish.started(base, "c")
    assert [path.name for path in folders.noted(base, "c")] == ["7.0.json"]
    squeue(tmp_path, monkeypatch, "7|COMPLETED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    (line,) = finish.started(base, "c")
    assert line.startswith(f"{run}.failed-1: failed: it ended before it had the run")
    assert folders.noted(base, "c") == {}
    assert folders.measured(base, "c", run)


def test_started__silent_slurm_decides_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(base, workflow.plan("c", base).runs[0].name)
    stand_in(tmp_path, monkeypatch, "squeue", "#!/bin/sh\nexit 1\n")
    assert finish.started(base, "c") == []
    assert len(folders.noted(base, "c")) == 1


def test_executor__a_run_starts_without_a_second_snakemake(base: Path) -> None:
    class Mended:
        def format_job_exec(self, job: object) -> str:
            return "python -m snakemake"

    async def query_job_status() -> None: ...

    plugin = SimpleNamespace(Executor=Mended, query_job_status=query_job_status)
    Mended.check_active_jobs = query_job_status  # type: ignore[attr-defined]
    patch_executor(plugin, base)
    run = workflow.plan("c", base).runs[0].name
    job = SimpleNamespace(
        is_group=lambda: False,
        rule=SimpleNamespace(name="run"),
        wildcards=SimpleNamespace(campaign="c", run=run),
        log=["a log"],
    )
    words = shlex.split(Mended().format_job_exec(job))
    assert words[:3] == ["sh", str(executor.START), str(base)]
    assert words[3:] == [sys.executable, "c", run, f"rule_run_wildcards_c_{run}", "a log"]
    job.rule.name = "page"
    assert Mended().format_job_exec(job) == "python -m snakemake"


def test_job__imports_no_tables_and_no_snakemake() -> None:
    """What runs inside the exclusive allocation: a library of tables takes 300 MB and seconds."""
    script = "import json, sys; import analysis.measure.launch, analysis.measure.record; "
    script += "print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "analysis" in loaded
    assert loaded & {"pandas", "xarray", "numpy", "scipy", "snakemake", "matplotlib", "netCDF4"} == set()


def test_launch__programs_that_start_ranks_get_no_defaults_of_the_batch_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        **JOB,
        "SLURM_NTASKS_PER_NODE": "2",
        "SRUN_DEBUG": "3",
        "SBATCH_X": "1",
        "SLURM_MEM_PER_CPU": "9",
    }
    for name in [name for name in os.environ if name.startswith(("SLURM_", "SRUN_", "SBATCH_"))]:
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    job = launch._Slurm.of_this_job()
    assert (job.number, job.nodes, job.names["job_name"]) == ("7", "n[1-2]", "5f3a")
    left = {name for name in os.environ if name.startswith(("SLURM_", "SRUN_", "SBATCH_"))}
    assert left == {"SLURM_JOB_ID", "SLURM_CLUSTER_NAME"}


@pytest.mark.parametrize(
    ("clock", "start", "end", "known"),
    [
        ("10.50\n16.75\n0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n", 100.0, 106.25, (6.25, 0.0, 62.5, 0.25)),
        ("10.50\n16.75\n0m0.001s 0m0.002s\n1m2,500s 0m0,250s\n", 100.0, 3706.25, (6.25, 3600.0, 62.5, 0.25)),
        ("10.50\n", 100.0, None, (None, None, None, None)),
        ("", 100.0, 106.25, (None, None, None, None)),
    ],
)
def test_record__accounts_for_itself_by_a_clock_that_nobody_sets(
    tmp_path: Path,
    clock: str,
    start: float,
    end: float | None,
    known: tuple[float | None, ...],
) -> None:
    (tmp_path / ".clock").write_text(clock, encoding="ascii")
    found = record._accounting(tmp_path / ".clock", start, end)
    assert tuple(found[name] for name in ("elapsed", "clock_step", "user", "system")) == known


def test_slurm__who_cancelled_a_job_has_a_name() -> None:
    assert slurm.named_user("CANCELLED by 0") == "CANCELLED by 0 (root)"
    assert slurm.named_user("CANCELLED by 999999999") == "CANCELLED by 999999999"
    assert slurm.named_user("NODE_FAIL") == "NODE_FAIL"


def test_shared_job__runs_that_ask_for_the_same_share_one_in_their_order(
    base: Path, changed: Changed
) -> None:
    declared = changed(("  minutes: 10\n", "  minutes: 10\n  runs_per_job: 4\n"), file="clusters/paper")
    workflow.plan.cache_clear()
    workflow.resources.cache_clear()
    workflow.common.cache_clear()
    assert declared.launch.runs_per_job == 4
    runs = list(workflow.plan("c", base).runs)
    first = workflow.leaders("c", runs, base)
    shared = {run.name: [run.name, *workflow.share_job("c", run.name, base)] for run in first}
    assert sorted(name for names in shared.values() for name in names) == sorted(run.name for run in runs)
    assert max(map(len, shared.values())) == 4
    alike = Counter(json.dumps(workflow.requested(declared, run)) for run in runs)
    assert len(first) == sum(math.ceil(count / 4) for count in alike.values())
    order = {run.name: run.order for run in runs}
    by_name = {run.name: run for run in runs}
    for name, names in shared.items():
        assert [order[one] for one in names] == sorted(order[one] for one in names)
        asked = [workflow.requested(declared, by_name[one]) for one in names]
        assert all(one == asked[0] for one in asked)
        assert workflow.resources("c", name, base)["runtime"] == 10 * len(names)
        assert workflow.sharing("c", name, base) == names[1:]
    assert "runtime" not in workflow.common("c", base)
    # Without the option each has its own, and a note of an earlier start is taken away.
    workflow._shared.clear()
    assert workflow.share_job("c", first[0].name, base) == []
    assert workflow.sharing("c", first[0].name, base) == []
    workflow.resources.cache_clear()
    workflow.common.cache_clear()
