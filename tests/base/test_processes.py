"""Work on many things by processes or Dask's workers: the same results, in order, for any script."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from analysis.base import processes, workers
from analysis.base.errors import ConfigError

# As a user writes it: no main guard.
SCRIPT = """\
import sys
from analysis.base.processes import in_parallel
print(sum(in_parallel(abs, range(-700, 0), "numbers:", progress=False)))
print(sorted({"dask", "distributed", "dask_jobqueue"} & sys.modules.keys()))
"""


def run(folder: Path, dask: str) -> subprocess.CompletedProcess[str]:
    script = folder / "plain.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {processes.VARIABLE: dask}
    command = [sys.executable, str(script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(("dask", "imported"), [("", "[]"), ("local", "['dask', 'distributed']")])
def test_in_parallel__a_script_without_a_main_guard_has_its_results(
    tmp_path: Path, dask: str, imported: str
) -> None:
    done = run(tmp_path, dask)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(700 * 701 // 2), imported]
    assert ("dashboard: http://" in done.stderr) == bool(dask and find_spec("bokeh"))


def test_in_parallel__few_things_start_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processes.VARIABLE, "slurm")
    assert processes.in_parallel(abs, [-3, -1], "numbers:", progress=False) == [3, 1]


@pytest.mark.parametrize(("chunk", "elsewhere"), [(processes.CHUNK, False), (1, True)])
def test_in_parallel__few_things_that_take_long_have_a_process_each(chunk: int, elsewhere: bool) -> None:
    things = list(range(40))
    found = processes.in_parallel(_with_process, things, "things:", progress=False, cores=2, chunk=chunk)
    assert [thing for thing, _ in found] == things
    assert (os.getpid() not in {process for _, process in found}) == elsewhere


def _with_process(thing: int) -> tuple[int, int]:
    return thing, os.getpid()


@pytest.mark.parametrize(
    ("text", "fault"), [("title: a\n", "has no part `dask`"), ("dask: {most: 0}\n", "dask.most")]
)
def test_in_parallel__a_cluster_without_workers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    (tmp_path / "config/clusters").mkdir(parents=True)
    (tmp_path / "config/clusters/ours.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(workers.project, "root", lambda: tmp_path)
    monkeypatch.setenv(processes.VARIABLE, "ours")
    with pytest.raises(ConfigError, match=fault):
        processes.in_parallel(abs, [-3, -1], "numbers:", progress=False)
