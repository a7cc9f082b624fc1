"""Each benchmark of `benchmarks/` in its smallest form: it runs and prints what it measures."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.base import project
from benchmarks import bench_ipm, bench_scaling, table

# The smallest form of each, and what its output has of the work that it did.
SMALLEST = {
    "bench_build": (["--small"], "build: cold build / plain papermill of its pages = "),
    "bench_claims": (["--runs", "221"], "claims: 221 runs, all reports: "),
    "bench_findings": (["--runs", "240", "--sides", "10"], "findings: 240 runs, 10 on a side"),
    "bench_graph": (["--runs", "20"], "graph: nothing new      20 runs"),
    "bench_import": (["--files", "60"], "runs of 60 files"),
    "bench_ingest": (["--small"], "20 runs"),
    "bench_ipm": (["--ranks", "64", "--repeats", "1"], "ipm: 64 ranks"),
    "bench_mpip": (["--ranks", "64", "--repeats", "1"], "mpip: 64 ranks"),
    "bench_plan": (["--repeats", "1"], "snakemake -n measure"),
    "bench_power": (["1", "600"], "19200 readings"),  # 600 s of 32 nodes
    "bench_scaling": (["--small"], "scaling: claims 20 claims"),
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
    names = {path.stem for path in (project.root() / "benchmarks").glob("*.py")} - {"table"}
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


def test_scaling__writes_the_profile_that_the_benchmark_of_ipm_makes(tmp_path: Path) -> None:
    path, profile = tmp_path / "x.ipm.xml", lzma.decompress(bench_ipm.PROFILE.read_bytes())
    bench_scaling.ipm(1, path)
    assert path.read_bytes() == profile
    bench_scaling.ipm(3, path)
    times = re.compile(rb"-?[\d.]+e[+-]\d\d")  # the other's are multiplied by a factor of each rank
    assert times.sub(b"", path.read_bytes()) == times.sub(b"", bench_ipm.generate(profile, 3, 1))


BEFORE = "4,096 ranks, 176 MB: 0.90 s of processor time, ratio 0.45 (goal 0.5); SHA-256"


@pytest.mark.parametrize(
    ("figure", "expected"),
    [("0.45", []), ("0.59", []), ("0.61", ["0.45 is now 0.61"]), ("0.29", ["0.45 is now 0.29"])],
)
def test_table__names_what_moved_by_more_than_a_third(figure: str, expected: list[str]) -> None:
    after = BEFORE.replace("0.45", figure)
    other = "nothing new 20 runs: 7.00 s"
    found = list(table.moved([BEFORE, "first 20 runs: 1.00 s"], [other, after]))
    assert found == [f"{one}: {after}" for one in expected]


def test_table__compares_lines_that_differ_in_figures_in_their_order() -> None:
    before = ["10000 runs, 1000 on a side: 0.9 s", "10000 runs, 10 on a side: 15.0 s"]
    assert list(table.moved(before, before)) == []
    slower = [before[0].replace("0.9", "1.9"), before[1].replace("15.0", "12.0")]
    assert list(table.moved(before, slower)) == [f"0.9 is now 1.9: {slower[0]}"]
    assert list(table.moved(before[:1], before)) == []  # what was not there before has not moved


def test_table__replaces_the_rows_of_what_was_run() -> None:
    page = f"# Scaling\n\n{table.BEGIN}{table.HEAD}{table.END}\nMore.\n"
    first = table.written(page, {"mpip": [("ratio 0.45", "one")], "ipm": [("ratio 0.2", "one")]})
    rows = table.rows_of(first)
    assert rows == {"ipm": [("ratio 0.2", "one")], "mpip": [("ratio 0.45", "one")]}
    second = table.written(first, rows | {"mpip": [("ratio 0.7", "two"), ("peak 1 MB", "two")]})
    assert second.count("| mpip |") == 2
    assert second == page.replace(
        table.HEAD,
        f"{table.HEAD}| ipm | ratio 0.2 | one |\n| mpip | ratio 0.7 | two |\n| mpip | peak 1 MB | two |\n",
    )


def test_table__of_the_page_has_benchmarks_that_exist() -> None:
    rows = table.rows_of(table.PAGE.read_text(encoding="utf-8"))
    assert rows
    assert set(rows) <= set(table.names())
