"""Each benchmark of `benchmarks/` in its smallest form: it runs and prints what it measures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.base import project

# The smallest form of each, and what its output has of the work that it did.
SMALLEST = {
    "bench_build": (["--small"], "build: cold build / plain papermill of its pages = "),
    "bench_findings": (["--runs", "240", "--sides", "10"], "findings: 240 runs, 10 on a side"),
    "bench_import": (["--files", "60"], "runs of 60 files"),
    "bench_ingest": (["--small"], "20 runs"),
    "bench_ipm": (["--ranks", "64", "--repeats", "1"], "ipm: 64 ranks"),
    "bench_mpip": (["--ranks", "64", "--repeats", "1"], "mpip: 64 ranks"),
    "bench_plan": (["--repeats", "1"], "snakemake -n measure"),
    "bench_power": (["1", "600"], "19200 readings"),  # 600 s of 32 nodes
}
# Studies of which other tests run a part.
STUDIES = {
    "study_compare": "findings/test_study.py",
    "study_damage": "readers/test_damage.py",
    "study_disturbances": "slurm/test_disturbances.py",
    "study_findings": "findings/test_simulation.py",
    "study_statistics": "test_study.py",
}
PEERS = {"bench_ipm": "xmllint"}  # programs that no Python package brings


def test_benchmarks__each_is_run_by_a_test() -> None:
    names = {path.stem for path in (project.root() / "benchmarks").glob("*.py")}
    assert names == {*SMALLEST, *STUDIES}
    for study, test in STUDIES.items():
        assert f'loaded("{study}")' in (project.root() / "tests" / test).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_benchmarks__smallest_form(name: str, tmp_path: Path) -> None:
    if (peer := PEERS.get(name)) and shutil.which(peer) is None:
        pytest.skip(f"no {peer} (Debian's libxml2-utils) to compare with")
    arguments, expected = SMALLEST[name]
    command = [sys.executable, str(project.root() / "benchmarks" / f"{name}.py"), *arguments]
    own = os.environ | {"PYTHONPATH": str(project.root())}  # one uses another
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 0, done.stderr[-2000:]
    assert expected in done.stdout
