"""More presets of ``new-campaign`` with programs of Debian: ``try`` proves one run, with no file by hand.

The packages are large: tests/slurm/install.sh has NWChem alone of them (19 MB to download). HPL, STREAM and
IOR have no package: their tests need programs from the sources that docs/measure.md names, in PATH. A test
whose program is missing is left out, and the end of the tests says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from analysis import readers
from analysis.datasets import doubts

from .cluster import SlurmCluster
from .test_presets import need

pytestmark = pytest.mark.slurm

WATER = "O 0.0 0.0 0.0\nH 0.0 0.757 0.587\nH 0.0 -0.757 0.587\n"
_MDP = "integrator = md\ndt = 0.001\nnsteps = 100\nrcoulomb = 0.7\nrvdw = 0.7\ntcoupl = no\ngen-vel = yes\n"
_TOP = """\
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
SOL 216
"""
_CP2K = """\
&GLOBAL
  PROJECT water
  RUN_TYPE ENERGY
&END GLOBAL
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME BASIS_SET
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 100
    &END MGRID
    &SCF
      SCF_GUESS ATOMIC
      EPS_SCF 1.0E-3
    &END SCF
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &SUBSYS
    &CELL
      ABC 5.0 5.0 5.0
    &END CELL
    &COORD
{water}    &END COORD
    &KIND H
      BASIS_SET DZVP-GTH-PADE
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET DZVP-GTH-PADE
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
"""
_SIDES = "movingWall {{ {lid} }} fixedWalls {{ {wall} }} frontAndBack {{ type empty; }}"
_FIELD = "dimensions {unit}; internalField uniform {zero}; boundaryField {{ {sides} }}\n"
# A square of 10 x 10 cells whose lid moves, in two parts.
_CAVITY = {
    "system/controlDict": "application icoFoam; startFrom startTime; startTime 0; stopAt endTime;\n"
    "endTime 0.1; deltaT 0.005; writeControl timeStep; writeInterval 20;\n",
    "system/blockMeshDict": "convertToMeters 0.1;\n"
    "vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 0.1) (1 0 0.1) (1 1 0.1) (0 1 0.1));\n"
    "blocks (hex (0 1 2 3 4 5 6 7) (10 10 1) simpleGrading (1 1 1)); edges ();\n"
    "boundary (movingWall { type wall; faces ((3 7 6 2)); }\n"
    "fixedWalls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0)); }\n"
    "frontAndBack { type empty; faces ((0 3 2 1) (4 5 6 7)); });\n",
    "system/fvSchemes": "ddtSchemes { default Euler; } gradSchemes { default Gauss linear; }\n"
    "divSchemes { default Gauss linear; } laplacianSchemes { default Gauss linear orthogonal; }\n"
    "interpolationSchemes { default linear; } snGradSchemes { default orthogonal; }\n",
    "system/fvSolution": "solvers { p { solver PCG; preconditioner DIC; tolerance 1e-6; relTol 0.05; }\n"
    "pFinal { $p; relTol 0; }\n"
    "U { solver smoothSolver; smoother symGaussSeidel; tolerance 1e-5; relTol 0; } }\n"
    "PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }\n",
    "system/decomposeParDict": "numberOfSubdomains 2; method simple;\n"
    "simpleCoeffs { n (2 1 1); delta 0.001; }\n",
    "constant/transportProperties": "nu nu [0 2 -1 0 0 0 0] 0.01;\n",
    "0/p": _FIELD.format(
        unit="[0 2 -2 0 0 0 0]",
        zero="0",
        sides=_SIDES.format(lid="type zeroGradient;", wall="type zeroGradient;"),
    ),
    "0/U": _FIELD.format(
        unit="[0 1 -1 0 0 0 0]",
        zero="(0 0 0)",
        sides=_SIDES.format(lid="type fixedValue; value uniform (1 0 0);", wall="type noSlip;"),
    ),
}


def water_box(folder: Path) -> Path:
    """Let GROMACS put its own box of 216 molecules of water into its input."""
    (folder / "md.mdp").write_text(_MDP, encoding="utf-8")
    (folder / "topol.top").write_text(_TOP, encoding="utf-8")
    box = "/usr/share/gromacs/top/spc216.gro"
    words = [
        "gmx",
        "grompp",
        "-f",
        "md.mdp",
        "-c",
        box,
        "-p",
        "topol.top",
        "-o",
        "water.tpr",
        "-maxwarn",
        "9",
    ]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder / "water.tpr"


def water_scf(folder: Path) -> Path:
    """Write the energy of a molecule of water for NWChem."""
    text = f"start h2o\ngeometry units angstrom\n{WATER}end\nbasis\n* library sto-3g\nend\ntask scf\n"
    (folder / "water.nw").write_text(text, encoding="utf-8")
    return folder / "water.nw"


def water_dft(folder: Path) -> Path:
    """Write the energy of a molecule of water for CP2K."""
    (folder / "water.inp").write_text(_CP2K.format(water=WATER), encoding="utf-8")
    return folder / "water.inp"


def cavity(folder: Path) -> Path:
    """Let OpenFOAM's own programs make the mesh of a cavity, and divide it in two."""
    for name, text in _CAVITY.items():
        head = "FoamFile { version 2.0; format ascii; class %s; object %s; }\n"
        kind = {"0/p": "volScalarField", "0/U": "volVectorField"}.get(name, "dictionary")
        path = folder / "cavity" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head % (kind, path.name) + text, encoding="utf-8")
    for program in ("blockMesh", "decomposePar"):
        environ = {**os.environ, "WM_PROJECT_DIR": "/usr/share/openfoam"}
        subprocess.run([program], cwd=folder / "cavity", check=True, capture_output=True, env=environ)
    return folder / "cavity"


@dataclass(frozen=True)
class Known:
    """A preset, its program, its input or case, the nodes, and where its figure stands in its output."""

    application: str
    program: str
    input_: Callable[[Path], Path] | None
    file: str
    figure: str
    nodes: int = 2
    ranks: int = 1
    variables: tuple[str, ...] = ()
    case: str = ""


PRESETS = (
    Known("gromacs", "gmx_mpi", water_box, "md.log", r"^Performance: +(\S+)"),
    # Without UCX one-sided memory of two nodes fails over TCP ("ARMCI assert fail in gmr_create").
    Known(
        *("nwchem", "nwchem", water_scf, "stdout.txt", r"^ Total times +cpu: .*wall: +(\S+)s"),
        variables=(
            *("OMPI_MCA_pml=ucx", "OMPI_MCA_osc=ucx", "OMPI_MCA_pml_ucx_tls=any"),
            *("OMPI_MCA_pml_ucx_devices=any", "UCX_TLS=tcp,self"),
        ),
    ),
    Known("cp2k", "cp2k", water_dft, "stdout.txt", r"^ CP2K +1 .* (\S+)$"),
    Known("openfoam", "icoFoam", cavity, "stdout.txt", r"^ExecutionTime = .* ClockTime = (\S+) s"),
    Known("hpl", "xhpl", None, "stdout.txt", r"^W\w+ +1000 .* (\S+)$", case="n1000"),
    Known("stream", "stream_c.exe", None, "stdout.txt", r"^Triad: +(\S+)", 1),
    Known("ior", "ior", None, "stdout.txt", r"^Max Write: +(\S+) MiB/sec", case="posix-small"),
)


@pytest.fixture(scope="module")
def small(able: None) -> Iterator[SlurmCluster]:
    """Four nodes that declare the cores that the host has, so that ranks are bound as in real life."""
    with SlurmCluster(4, cores=2) as running:
        yield running


@pytest.mark.parametrize("known", PRESETS, ids=[one.application for one in PRESETS])
def test_debian__try_proves_a_run_of_the_preset(
    small: SlurmCluster, project: Path, tmp_path: Path, known: Known
) -> None:
    source = "docs/measure.md names its source" if known.input_ is None else "Debian's package {} has it"
    need(known.program, source.format(known.application))
    given = f"--input={known.input_(tmp_path)}" if known.input_ else f"--case={known.case or 'run'}"
    command = [sys.executable, "-m", "analysis.cli", "new-campaign", "x", "--yes", "--from-slurm"]
    size = [
        f"--nodes={known.nodes}",
        f"--ranks-per-node={known.ranks}",
        "--partition=bench",
        "--feature=ivybridge",
    ]
    variables = [f"--env={one}" for one in known.variables]
    flags = [*size, *variables, f"--application={known.application}", given]
    done = small.run([*command, *flags, "--try"], cwd=project, check=False, timeout=500)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert lines["job"].startswith("proved: "), done.stdout + done.stderr
    assert lines["binding"].startswith(f"proved: {known.nodes * known.ranks} ranks"), done.stdout
    (folder,) = (project / "data/raw/x/runs").iterdir()
    path = folder / known.file
    printed = re.findall(known.figure, path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    ds = readers.open(path)
    assert ds["figure_of_merit"].item() == float(printed[-1])
    assert int(ds["ranks"]) in (known.nodes * known.ranks, -1)
    assert doubts(folder.parents[1]) == ([], [])
    recorded = json.loads((folder / "run.json").read_text(encoding="utf-8"))["environment"]
    assert {f"{name}={value}" for name, value in recorded.items()} >= set(known.variables)
