"""The target `measure`: what is planned, what is not, and what is said."""

from __future__ import annotations

import json
import os
import pstats
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.base import files, project
from analysis.measure import accounting, finish, folders, layout, prepare, workflow
from analysis.measure.declare import load
from analysis.measure.matrix import expand
from analysis.provenance import manifest

from .conftest import ROOT, Changed, stand_in

SACCT = """\
#!/bin/sh
# The first answer is before the end of the job; all others are the same.
echo asked >>{log}
echo 'JobID|State|End'
if [ "$(wc -l <{log})" -eq 1 ]; then echo '7|RUNNING|Unknown'; exit; fi
echo '7|COMPLETED|2026-11-21T00:27:37'
echo '7.batch|COMPLETED|2026-11-21T00:27:37'
"""


def whole(base: Path) -> Path:
    """Add what the workflow needs to the project on paper."""
    for name in ("workflow", "slurm"):
        shutil.copytree(ROOT / name, base / name)
    for name in ("src/analysis/site/templates", "src/proxy", "data/raw/c/runs"):
        (base / name).mkdir(parents=True)
    shutil.copy(ROOT / "environment.yml", base)
    return base


def snakemake(base: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = subprocess.run(command, cwd=base, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def put(base: Path, name: str, **more: object) -> None:
    folder = folders.finished(base, "c") / name
    folder.mkdir(parents=True)
    head = {"run": name, "campaign": "c", "application": "alpha", "evidence": "measured"}
    (folder / "run.json").write_text(json.dumps({**head, **more}), encoding="utf-8")


@pytest.mark.slow
def test_measure__plans_only_what_is_missing_whatever_is_newer(base: Path) -> None:
    whole(base)
    names = [run.name for run in workflow.plan("c", base).runs]
    put(base, names[0])
    put(base, f"{names[1]}.failed-1", reason="exit code 5")
    os.utime(folders.finished(base, "c") / names[0] / "run.json", (0, 0))
    status, said = snakemake(base, "-n", "--profile", "slurm", "measure", "--config", "measure=c")
    assert status == 0, said
    planned = {line.split("run=")[1] for line in said.splitlines() if "wildcards: campaign=c, run=" in line}
    assert planned == set(names[1:])
    assert len(planned) == 29
    assert workflow.summary("c", base).splitlines()[0] == "c: 29 runs are missing, of 30 in the matrix"
    assert f"  failed attempt: {names[1]}.failed-1: exit code 5" in workflow.summary("c", base)


def requests(said: str) -> dict[str, dict[str, str]]:
    """Return what a dry run prints as the resources of each run, by name."""
    found = re.findall(r"wildcards: campaign=c, run=(\S+)\n.*\n +resources: (.*)", said)
    return {run: dict(one.split("=", 1) for one in text.split(", ")) for run, text in found}


@pytest.mark.slow
def test_measure__dry_run_expands_a_request_once_and_prints_each(base: Path, tmp_path: Path) -> None:
    whole(base)
    asked = {run.name: workflow.resources("c", run.name, base) for run in workflow.plan("c", base).runs}
    target = ("-m", "snakemake", "-n", "--profile", "slurm", "measure", "--config", "measure=c")

    def printed(*command: str) -> str:
        line = [sys.executable, *command]
        done = subprocess.run(line, cwd=base, capture_output=True, text=True, timeout=120, check=True)
        said = done.stdout + done.stderr
        assert requests(said).keys() == asked.keys()
        return said

    said = printed("-m", "cProfile", "-o", str(tmp_path / "calls"), *target)
    for run, shown in requests(said).items():
        assert shown | {name: str(value) for name, value in asked[run].items()} == shown
        assert shown["disk_mb"] == "1000"
    stats = pstats.Stats(str(tmp_path / "calls")).get_stats_profile().func_profiles
    calls = {name: int(str(one.ncalls).split("/")[0]) for name, one in stats.items()}
    alike = len({tuple(one.values()) for one in asked.values()})
    assert calls["expand_resources"] == alike + 1 < len(asked)  # one more for the target
    assert "analysis.measure.launch" not in said
    assert calls.get("format_wildcards", 0) < len(asked)
    # What an option says of each run is worked out for each, and commands that are asked for are printed.
    said = printed(*target, "-p", "--set-resources", "run:runtime=len(wildcards.run)")
    for run, shown in requests(said).items():
        assert shown["runtime"] == str(len(run))
        assert f"python -m analysis.measure.launch c {run} > results/logs/run/c/{run}.log 2>&1" in said


@pytest.mark.slow
def test_measure__without_a_name_or_with_a_bad_campaign_says_so(base: Path, changed: Changed) -> None:
    whole(base)
    status, said = snakemake(base, "-n", "measure")
    assert status == 1
    assert "measure what? Add: --config measure=NAME" in said
    changed(("mpi: [ompi, mpich]", "mpi: [ompi, impi]"))
    status, said = snakemake(base, "-n", "measure", "--config", "measure=c")
    assert status == 1
    assert "config/campaigns/c.yaml:14: unknown mpi 'impi'; is 'ompi' meant? known: ompi, mpich" in said


@pytest.mark.slow
def test_measure__only_where_the_campaign_is_at_home(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole(base)
    status, said = snakemake(base, "--cores", "1", "measure", "--config", "measure=c")
    assert status == 1
    assert "config/clusters/paper.yaml: scheduler: slurm, and no profile; add --profile slurm" in said
    # A login node without Slurm's commands, but with a shell and git.
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "bash", "which", "git"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    status, said = snakemake(base, "--profile", "slurm", "measure", "--config", "measure=c")
    assert status == 1
    remedy = "log in on the cluster and give the command there"
    assert f"Slurm: no Slurm on this machine (no command scontrol); {remedy}" in said
    assert not (base / "data/raw/.running").exists()


def test_workflow__what_all_runs_ask_alike_is_no_function(changed: Changed, base: Path) -> None:
    changed()
    workflow.plan.cache_clear()
    common = workflow.common("c", base)
    assert {"mem_mb", "runtime", "constraint", "slurm_account", "cpus_per_task"} <= set(common)
    assert "nodes" not in common
    for run in workflow.plan("c", base).runs:
        asked = workflow.resources("c", run.name, base)
        assert common.items() <= asked.items()


@pytest.mark.parametrize("build", [False, True])
def test_workflow__knows_if_any_run_needs_a_program_that_is_built(
    changed: Changed, base: Path, build: bool
) -> None:
    own = "{programs: {ompi: /opt/alpha/ompi, mpich: /opt/alpha/mpich}, "
    compilers = [(f"{name}: {{", f"{name}: {{compiler: mpicc, ") for name in ("ompi", "mpich")]
    changed(*([(own, "{build: proxy, "), *compilers] if build else []), file="clusters/paper")
    workflow.plan.cache_clear()
    assert workflow.builds("c", base) is build
    needed = [workflow.programs("c", run.name, base) for run in workflow.plan("c", base).runs]
    assert any(needed) is build


@pytest.mark.slow
def test_measure__fails_when_its_last_step_finds_a_run_missing(base: Path, changed: Changed) -> None:
    """The step's output goes through a pipe; a run that its own record calls failed is none."""
    whole(base)
    changed(("scheduler: slurm", "scheduler: none"), ("nodes: 4", "nodes: 1"), file="clusters/paper")
    changed(("nodes: [1, 2, 4]", "nodes: 1"), ("when: {case: large, nodes: 1}", "when: {mpi: mpich}"))
    names = [run.name for run in expand(load("c", base)).runs]
    for name in names[1:]:
        put(base, name, reason="")
    put(base, names[0], reason="left half-way")
    status, said = snakemake(base, "--cores", "1", "measure", "--config", "measure=c")
    assert "c: 1 runs are missing" in said
    assert status == 1


def test_workflow__priorities_follow_the_shuffled_order(changed: Changed) -> None:
    runs = expand(changed()).runs
    assert sorted(runs, key=workflow.priority, reverse=True) == list(runs)


def test_finish__missing_runs_fail_by_name(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(base)
    names = [run.name for run in workflow.plan("c", base).runs]
    for name in names[2:]:
        put(base, name)
    assert finish.main(["c"]) == 1
    said = capsys.readouterr().err
    assert [line for line in said.splitlines() if "missing: " in line] == [
        f"  missing: {n}" for n in names[:2]
    ]


def test_finish__keeps_records_when_two_answers_are_equal(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(base, "one", job_id="7")
    put(base, "local", job_id="")
    log = tmp_path / "log"
    stand_in(tmp_path, monkeypatch, "sacct", SACCT.format(log=log))
    said = accounting.account(base, "c", patience=30, interval=0.01)
    assert str(said) == "c: 1 of 1 records of Slurm are final, in sacct.txt"
    assert len(log.read_text().split()) == 3
    kept = (project.raw("c", base) / "sacct.txt").read_text(encoding="utf-8")
    assert kept.splitlines()[1] == "7|COMPLETED|2026-11-21T00:27:37"


def test_failures__slurms_word_of_a_job_counts_if_the_job_has_ended(base: Path) -> None:
    """Job 7 waits for its next start, and the accounting of job 8 is late."""
    states = {"7": "PENDING", "8": "RUNNING", "9": "OUT_OF_MEMORY", "10": "FAILED"}
    for job in states:
        put(base, f"run-{job}.failed-1", job_id=job, reason="exit code 5")
    assert workflow.failures("c", base, states) == [
        "  failed attempt: run-10.failed-1: exit code 5",
        "  failed attempt: run-7.failed-1: exit code 5",
        "  failed attempt: run-8.failed-1: exit code 5",
        "  failed attempt: run-9.failed-1: exit code 5; Slurm says OUT_OF_MEMORY",
    ]


CANCELLED = """\
#!/bin/sh
echo 'JobID|State|Start|End'
for job in 7 8 9; do echo "$job|CANCELLED by 0|2026-11-21T00:20:00|2026-11-21T00:27:37"; done
"""


def test_finish__run_whose_job_slurm_does_not_call_completed_is_measured_again(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Job 7 was cancelled after its records, 8 before it had one, 9 left a failed attempt."""
    monkeypatch.chdir(base)
    names = [run.name for run in workflow.plan("c", base).runs]
    for name in names[1:]:
        put(base, name, reason="")
    put(base, names[0], job_id="7", reason="")
    put(base, f"{names[0]}.2", job_id="7", reason="")
    put(base, f"{names[3]}.failed-1", job_id="9", reason="exit code 5")
    log = base / f"results/logs/slurm/rule_run/c_{names[2]}/8.log"
    log.parent.mkdir(parents=True)
    log.touch()
    stand_in(tmp_path, monkeypatch, "sacct", CANCELLED)
    line = f"job 8 of {names[2]} ended before it had the run: Slurm says CANCELLED by 0 (root)"
    # After a failure it is said at once, and nothing is done yet: one answer is not the last word.
    assert finish.unfinished("c", base).splitlines()[-1].strip() == line
    assert folders.measured(base, "c", names[0])

    monkeypatch.setattr(accounting.account, "__kwdefaults__", {"patience": 9.0, "interval": 0.01})
    assert finish.main(["c"]) == 1
    out, err = capsys.readouterr()
    assert "c: 3 of 3 records of Slurm are final" in out
    assert f"{names[2]}.failed-1: failed: it ended before it had the run: Slurm says CANCELLED by 0" in err
    assert "c: 1 runs are missing, of 30 in the matrix" in err
    assert f"missing: {names[0]}" in err
    there = folders.recorded(base, "c")
    failed = {
        f"{names[0]}.failed-1",
        f"{names[0]}.2.failed-1",
        f"{names[2]}.failed-1",
        f"{names[3]}.failed-1",
    }
    assert there == failed | {*names[1:]}
    path = folders.finished(base, "c") / f"{names[0]}.2.failed-1/run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["run"], record["attempt_at"]) == (f"{names[0]}.2.failed-1", f"{names[0]}.2")
    assert record["reason"] == "Slurm says CANCELLED by 0 (root)"

    path = folders.finished(base, "c") / f"{names[2]}.failed-1/run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["run"], record["job_id"]) == (f"{names[2]}.failed-1", "8")
    assert (record["application"], record["nodes"], record["ranks"]) == ("alpha", 1, 8)

    # Once is enough; and the kept records, a question ago, are an answer.
    put(base, names[0], job_id="", reason="")
    assert finish.main(["c"]) == 0
    # The manifest follows: of runs that became failed attempts, of sacct.txt, of what was measured again.
    assert manifest.check(project.raw("c", base), "data/raw/c") == (34 + 1, [])


def test_finish__what_was_measured_gets_a_manifest_also_of_a_campaign_that_is_not_whole(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(base)
    monkeypatch.setattr(finish, "account", lambda base, campaign, patience=0: accounting.Account(campaign))
    names = [run.name for run in workflow.plan("c", base).runs]
    put(base, names[0])
    assert finish.main(["c"]) == 1
    folder = project.raw("c", base)
    assert manifest.check(folder, "data/raw/c") == (1, [])
    (folder / f"runs/{names[0]}/run.json").write_text("{}", encoding="utf-8")
    put(base, names[1])
    assert finish.main(["c"]) == 1
    (told,) = manifest.check(folder, "data/raw/c")[1]
    assert "has changed since line" in told.found


def test_finish__leftovers_of_dead_jobs_are_recorded(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish, "account", lambda base, campaign, **_: accounting.Account(campaign))
    monkeypatch.chdir(base)
    names = [run.name for run in workflow.plan("c", base).runs]
    for name in names:
        put(base, name, reason="")
    left = folders.running(base, "c") / names[0]
    (left / "1").mkdir(parents=True)
    head = {"run": names[0], "command": ["true"], "environment": {}, "benchbook": {}, "ranks": 1}
    folders.write_json(left / "1" / folders.HEAD, head | {"campaign": "c", "profile": ""})
    (folders.running(base, "c") / ".half").mkdir()
    (folders.finished(base, "c") / "of-no-run-any-more").mkdir()
    prepare.keep(base, "c", names[:2])
    assert len(list((folders.running(base, "c") / layout.KEPT).iterdir())) == 2
    files.write_json(folders.running(base, "c") / workflow.TOGETHER / "x.json", {"runs": names[:1]})
    assert finish.main(["c"]) == 0
    assert not (folders.finished(base, "c") / "of-no-run-any-more").exists()
    assert list(folders.running(base, "c").iterdir()) == []
    assert folders.reason(base, "c", f"{names[0]}.failed-1").startswith("it ended without a record")


def test_finish__runs_of_a_copied_folder_count_for_nothing(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A measured campaign was copied under another name; `verify` named its runs, this command none."""
    monkeypatch.setattr(finish, "account", lambda base, campaign, **_: accounting.Account(campaign))
    monkeypatch.chdir(base)
    names = [run.name for run in workflow.plan("c", base).runs]
    for name in names:
        put(base, name, reason="", **({"campaign": "b"} if name == names[3] else {}))
    assert finish.main(["c"]) == 1
    out, err = capsys.readouterr()
    what = "says campaign 'b', and does not count here; put the run where it belongs, then measure again"
    assert err == f"data/raw/c/runs/{names[3]}/run.json: {what}\n"
    assert "all 30 runs" not in out
    shutil.rmtree(folders.finished(base, "c") / names[3])
    put(base, names[3], reason="")
    assert finish.main(["c"]) == 0


def test_finish__accounting_that_is_away_is_said_and_loses_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(base, "one", job_id="7")
    kept = project.raw("c", base) / "sacct.txt"
    kept.write_text("of the last time\n", encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    said = accounting.account(base, "c", patience=0.05, interval=0.02)
    assert str(said) == "c: 0 of 1 records of Slurm are final, in sacct.txt; not final: 7"
    assert kept.read_text(encoding="utf-8") == "of the last time\n"
