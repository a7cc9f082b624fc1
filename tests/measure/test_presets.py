"""The launch lines of the applications that Benchbook starts without a file of yours."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import readers
from analysis.datasets.applications import load_applications, of_format

from . import test_applications
from .conftest import ROOT
from .test_applications import allocated, declare

LINES = {
    ("lammps", "lj-small"): ["-log", "none", "-in", "in.lj"],
    ("lammps", "input"): ["-log", "none", "-in", "/data/in"],
    ("gromacs", "input"): [
        *("mdrun", "-s", "/data/in", "-nsteps", "10000", "-resethway", "-noconfout", "-g", "md.log")
    ],
    ("namd", "apoa1"): ["apoa1.namd"],
    ("nwchem", "input"): ["/data/in"],
    ("openfoam", "decomposed"): ["-parallel"],
    ("quantum-espresso", "input"): ["-in", "/data/in"],
    ("cp2k", "input"): ["-i", "/data/in"],
    ("hpl", "n1000"): [],
    ("lulesh", "s30"): ["-s", "30", "-i", "200"],
    ("stream", "run"): [],
    ("ior", "posix-small"): ["-v", "-a", "POSIX", "-b", "16m", "-t", "1m", "-i", "3", "-o", "ior.data"],
}


@pytest.mark.parametrize(("application", "case"), sorted(LINES))
def test_presets__launch_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, application: str, case: str
) -> None:
    inputs = "{input: {path: /data/in}}" if case == "input" else str(tmp_path)
    entry = f"    {application}: {{program: /opt/run, inputs: {inputs}}}\n"
    if application in ("hpl", "lulesh", "stream", "ior") or case == "lj-small":
        entry = f"    {application}: {{program: /opt/run}}\n"
    text = test_applications.CLUSTER + entry.replace("{", "{{").replace("}", "}}")
    monkeypatch.setattr(test_applications, "CLUSTER", text)
    (job,) = allocated(declare(tmp_path, application, case, "nodes: 2, mpi: ompi")).jobs
    assert job.command[job.command.index("/opt/run") + 1 :] == LINES[application, case]


def test_presets__figures_are_those_of_the_formats() -> None:
    """A file says again what its format says; it must say the same."""
    declared = load_applications(ROOT / "config/applications")
    for name in {application for application, _ in LINES}:
        own = declared[name].model_dump(exclude={"launch", "options"})
        assert own == of_format(readers.row(declared[name].engine)).model_dump(exclude={"launch", "options"})
