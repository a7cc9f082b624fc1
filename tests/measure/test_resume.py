"""What is adopted from an earlier start, what is given up, and who may measure."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.base.errors import ConfigError
from analysis.measure import executor, resume, workflow
from analysis.measure.executor import patch_executor
from analysis.measure.matrix import expand

from .conftest import Changed, squeue, stand_in

HOLD = """
import sys
from pathlib import Path
from analysis.measure.resume import lock
held = lock("c", Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_resume__second_workflow_is_refused_until_the_first_is_dead(base: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(base)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    with pytest.raises(ConfigError, match=rf'c: is being measured by another .*"pid": {first.pid}'):
        resume.lock("c", base)
    first.kill()  # no chance to clean up
    first.communicate()
    with resume.lock("c", base):
        said = json.loads((base / "data/raw/.running/c/.workflow").read_text(encoding="utf-8"))
        assert said["pid"] == os.getpid()


def test_resume__without_slurm_a_machine_measures_one_campaign_at_a_time(base: Path) -> None:
    config = base / "config"
    text = (config / "campaigns/c.yaml").read_text(encoding="utf-8")
    (config / "campaigns/d.yaml").write_text(text, encoding="utf-8")
    with resume.lock("c", base), resume.lock("d", base):
        pass  # Slurm gives each its own nodes
    workflow.plan.cache_clear()
    path = config / "clusters/paper.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("scheduler: slurm", "scheduler: none"))
    with (
        resume.lock("c", base),
        pytest.raises(ConfigError, match=r'd: would share this machine .*"campaign": "c"'),
    ):
        resume.lock("d", base)
    resume.lock("d", base).close()


def test_resume__jobs_of_this_campaign_and_folder_are_adopted(
    changed: Changed, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three, *_ = expand(changed()).runs
    rows = [
        f"11|rule_run_wildcards_c_{one.name}|{base}",
        f"12|rule_run_wildcards_c_{two.name}|{base}/elsewhere",
        f"13|rule_run_wildcards_d_{three.name}|{base}",
        f"14|rule_run_wildcards_c_{one.name}-not|{base}",
        "15|(null)|/home",
        "",
    ]
    log = squeue(tmp_path, monkeypatch, "\n".join(rows))
    assert resume.queued("c", base) == {one.name: "11"}
    assert len(log.read_text().splitlines()) == 1


def test_resume__silent_slurm_is_not_an_empty_queue(
    changed: Changed, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed()
    stand_in(tmp_path, monkeypatch, "squeue", "#!/bin/sh\nexit 1\n")
    assert resume.queued("c", base) is None


class Executor:
    """The executor's part that is asked for jobs, as its version 2.8 behaves."""

    answers: list[dict[str, str] | None]

    def __init__(self, plugin: Any) -> None:
        self.plugin, self.good, self.bad = plugin, [], []

    async def check_active_jobs(self, active_jobs: list[Any]) -> Any:
        states, _ = await self.plugin.query_job_status("squeue", None)
        for job in active_jobs:
            if states is None or states.get(job.external_jobid) != "COMPLETED":
                yield job

    def report_job_success(self, job: Any) -> None:
        self.good.append(job.external_jobid)

    def report_job_error(self, job: Any, msg: str) -> None:
        self.bad.append(msg)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the executor, in s, as a list of one number."""
    now = [0.0]
    monkeypatch.setattr(executor, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_executor__job_that_slurm_has_lost_is_given_up_after_two_answers(
    tmp_path: Path, clock: list[float]
) -> None:
    answers: list[dict[str, str] | None] = [
        {"1": "RUNNING", "2": "RUNNING", "3": "RUNNING"},
        {"1": "RUNNING"},  # 2 and 3 are gone
        None,  # no answer says nothing
        {"1": "RUNNING", "3": "RUNNING"},  # the controller had only begun to read its state
        {"1": "COMPLETED"},
        {},
    ]
    asked: list[str] = []

    async def query_job_status(command: str, logger: object) -> tuple[dict[str, str] | None, float]:
        clock[0] += 10
        return answers.pop(0), 0.1

    def validate_account(account: str, logger: object) -> str:
        asked.append(account)
        return account

    class Mended(Executor):
        pass

    plugin = SimpleNamespace(
        Executor=Mended, query_job_status=query_job_status, validate_account=validate_account
    )
    patch_executor(plugin)
    (tmp_path / "run.json").touch()
    outputs = {"1": [], "2": [str(tmp_path / "none")], "3": [str(tmp_path / "run.json")]}
    active = [
        SimpleNamespace(external_jobid=job, job=SimpleNamespace(output=output))
        for job, output in outputs.items()
    ]
    asking = plugin.Executor(plugin)

    async def rounds() -> list[list[str]]:
        seen, left = [], active
        while answers:
            left = [job async for job in asking.check_active_jobs(left)]
            seen.append([job.external_jobid for job in left])
        return seen

    assert asyncio.run(rounds()) == [["1", "2", "3"], ["1", "2", "3"], ["1", "2", "3"], ["1", "3"], ["3"], []]
    assert asking.bad == ["Slurm does not know job 2 any more. The same command measures its run again. "]
    assert asking.good == ["3"]  # its record is there
    assert [plugin.validate_account("bench", None) for _ in range(3)] == ["bench"] * 3
    assert asked == ["bench"]


def test_executor__preempted_job_that_is_not_started_again_is_given_up(clock: list[float]) -> None:
    """Job 2 waits for its next start when Slurm is asked again."""
    answers = [{"1": "PREEMPTED", "2": "PREEMPTED"}, {"1": "PREEMPTED", "2": "PENDING"}, {"2": "COMPLETED"}]

    async def query_job_status(command: str, logger: object) -> tuple[dict[str, str], float]:
        clock[0] += 10
        return answers.pop(0), 0.1

    class Mended(Executor):
        pass

    plugin = SimpleNamespace(Executor=Mended, query_job_status=query_job_status)
    patch_executor(plugin)
    asking = plugin.Executor(plugin)
    active = [SimpleNamespace(external_jobid=job, job=SimpleNamespace(output=["none"])) for job in "12"]

    async def rounds() -> list[list[str]]:
        seen, left = [], active
        while answers:
            left = [job async for job in asking.check_active_jobs(left)]
            seen.append([job.external_jobid for job in left])
        return seen

    assert asyncio.run(rounds()) == [["1", "2"], ["2"], []]
    assert asking.bad == ["Slurm says PREEMPTED of job 1. The same command measures its run again. "]


def test_executor__job_that_two_answers_at_once_miss_is_not_lost(clock: list[float]) -> None:
    jobs = executor.Lost()
    for seconds, lost in ((5, False), (4.5, False), (0.5, False), (0, True)):
        jobs.note({})
        assert jobs.lost("1") is lost
        clock[0] += seconds
    jobs.note({"1": "RUNNING"})
    assert not jobs.lost("1")
    jobs.note({})
    assert not jobs.lost("1")


def asked(pace: executor.Pace, clock: list[float], jobs: int, until: float) -> list[float]:
    """Return when Slurm is asked for so many jobs, of each quarter of a second."""
    found = []
    while clock[0] < until:
        if pace.ask(jobs, 20):
            found.append(clock[0])
        clock[0] += 0.25
    return found


def test_executor__one_job_is_asked_for_soon_then_ever_less_often(tmp_path: Path, clock: list[float]) -> None:
    pace = executor.Pace(tmp_path)
    assert asked(pace, clock, 0, 100) == []
    assert asked(pace, clock, 1, 180) == [100, 102, 106, 114, 130, 150, 170]
    (tmp_path / "run").mkdir()  # its record arrives
    assert asked(pace, clock, 1, 184) == [180, 182]
    assert asked(pace, clock, 0, 300) == []
    assert asked(pace, clock, 1, 301) == [300]  # the next one


def test_executor__many_jobs_are_asked_for_as_seldom_as_without_it(
    tmp_path: Path, clock: list[float]
) -> None:
    pace, found = executor.Pace(tmp_path), []
    for number in range(100):  # a record each second
        (tmp_path / str(number)).mkdir()
        os.utime(tmp_path, ns=(0, number))
        found += asked(pace, clock, 200, number + 1)
    assert found == [20, 40, 60, 80]
    assert asked(pace, clock, 4, 110) == [100, 104, 108]  # the last ones


def test_executor__sleep_ends_with_snakemake(tmp_path: Path) -> None:
    class Asking(Executor):
        wait, active_jobs, next_seconds_between_status_checks = True, ("1",), 180

        async def sleep(self) -> None: ...

    patch_executor(SimpleNamespace(Executor=Asking, query_job_status=None), tmp_path, "c")
    asking: Any = Asking(None)

    async def end() -> None:
        await asking.sleep()  # the first question, a second after the submission
        asking.active_jobs = ()
        sleeping = asyncio.ensure_future(asking.sleep())
        await asyncio.sleep(0)
        asking.wait = False
        await asyncio.wait_for(sleeping, 5)

    begun = time.monotonic()
    asyncio.run(end())
    assert time.monotonic() - begun < 10  # s, of the 180 that it would wait


def test_executor__version_that_cannot_be_patched_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    patch_executor(SimpleNamespace(Executor=Executor))
    assert "this version hangs on a job that Slurm has lost" in capsys.readouterr().err
