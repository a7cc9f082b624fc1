"""Patterns of Ramble's applications and of ReFrame's tests, read by their syntax and never executed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.readers.merits import borrowed

# In the form of Ramble's `application.py`, with the ways in which its builtin applications write patterns.
RAMBLE = """
from ramble.appkit import *
raise SystemExit("executed")

class Solver(ExecutableApplication):
    name = "solver"
    rate_regex = r"Overall rate:\\s+(?P<rate>[0-9.]+) " + r"(?P<unit>\\S+)"
    figure_of_merit("Rate", fom_regex=rate_regex, group_name="rate", log_file="{out}", units="Mcell/s")
    for phase in ["setup", "solve"]:
        figure_of_merit(f"{phase} time", fom_regex=phase + r" phase took (?P<t>\\S+)",
            group_name="t", units="s")
    figure_of_merit(name_of(), fom_regex=computed(), group_name="t", units="s")
    success_criteria("ended", mode="string", match=r"solver ended", file="{out}")
"""
REFRAME = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class SolverTest(rfm.RunOnlyRegressionTest):
    reference = {"*": {"Solve": (0, None, None, "s")}}

    @performance_function("Mcell/s", perf_key="Rate")
    def rate(self):
        return sn.extractsingle(r"^Overall rate:\\s+(\\S+)", self.stdout, 1, float)

    @run_before("performance")
    def more(self):
        self.perf_patterns = {
            "Solve": sn.extractsingle(r"solve phase took (?P<t>\\S+)", self.stdout, "t", float)
        }
"""
OUTPUT = b"solver 1\nsetup phase took 0.5\nsolve phase took 12.25\nOverall rate: 98.5 Mcell/s\nsolver ended\n"


def put(base: Path, name: str, text: str) -> Path:
    path = base / "config/formats" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "units"),
    [
        ("solver/application.py", RAMBLE, {"Rate": "Mcell/s", "setup time": "s", "solve time": "s"}),
        ("solver.py", REFRAME, {"Rate": "Mcell/s", "Solve": "s"}),
    ],
)
def test_borrowed__figures_are_those_of_the_patterns(
    tmp_path: Path, name: str, text: str, units: dict[str, str]
) -> None:
    row = borrowed.read(put(tmp_path, name, text), "solver")
    assert {figure.name: figure.unit for figure in row.figures} == units
    assert row.sniff(OUTPUT)
    assert not row.sniff(b"nothing of the kind\n")
    ds = row.parse(OUTPUT, "f")
    found = dict(zip(ds.merit.values.tolist(), ds.value.values.tolist(), strict=True))
    expected = {"Rate": 98.5, "setup time": 0.5, "solve time": 12.25, "Solve": 12.25}
    assert found == {figure: expected[figure] for figure in units}
    assert (float(ds.figure_of_merit), str(ds.figure_of_merit_unit.values)) == (98.5, "Mcell/s")
    assert (row.application, row.higher_is_better) == ("solver", True)


def test_borrowed__output_without_the_line_of_success_is_cut(tmp_path: Path) -> None:
    row = borrowed.read(put(tmp_path, "solver/application.py", RAMBLE), "solver")
    assert row.parse(OUTPUT, "f").complete is True
    cut = row.parse(OUTPUT.replace(b"solver ended\n", b""), "f")
    assert cut.complete is False
    assert "no line that matches 'solver ended'" in cut.warnings[0]


@pytest.mark.parametrize("text", ["class Broken(\n", "x = 1\n", RAMBLE.replace("[0-9.]+) ", "[0-9.+) ")])
def test_borrowed__what_has_no_patterns_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"no patterns|no figure_of_merit"):
        borrowed.read(put(tmp_path, "x.py", text), "x")


def test_borrowed__project_with_patterns_has_a_format(tmp_path: Path) -> None:
    put(tmp_path, "solver/application.py", RAMBLE)
    put(tmp_path, "broken.py", "class Broken(\n")
    put(tmp_path, "../config.yaml", "{}\n")
    (tmp_path / "job.out").write_bytes(OUTPUT)
    code = (
        "from analysis import readers; a = readers.open('job.out'); print(a.engine, float(a.figure_of_merit))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["solver", "98.5"]
    assert "broken.py: no patterns" in done.stderr
