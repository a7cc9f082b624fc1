"""Rows of formats: another package's joins by an entry point, and what a row says of a problem."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.format import Format

from .merits.texts import TEXTS
from .samples import SAMPLES
from .test_hpctoolkit import EXPERIMENT, FIRST, SECOND, metric_db
from .test_hpctoolkit import database as packed_database
from .test_lsdyna import ACCOUNT

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"

# A package of another site: its solver as a row, its meter as a module.
SOLVER = '''
"""The other site's solver."""

from analysis.readers.merits.output import Merit, TextFormat

ROW = TextFormat(
    engine="cp9k",
    tool="CP9K",
    marks=(b"CP9K version",),
    near="(?i)cp9k",
    first_line="^CP9K version",
    merits=(Merit("speed", r"^speed (?P<value>\\S+) steps/s", "1/s"),),
    facts={"version": r"^CP9K version (\\S+)", "ranks": r"^ranks (\\d+)", "atoms": r"^atoms (\\d+)"},
    closing="^end",
    closed_by="'end'",
    figure_of_merit="speed",
    unit="1/s",
    problem=("atoms",),
)
'''
METER = '''
"""The other site's meter."""

from analysis.readers.power.rows import Rows, reads


def sniff(head, name):
    return head.startswith(b"METER 9")


@reads("meter 9", "rack")
def parse(log):
    rows = Rows(log)
    for number, line in rows.lines():
        if not line.startswith("METER"):
            stamp, watts = line.split()
            rows.add(number, "rack", float(watts), stamp=stamp)
    return rows.readings("reading")
'''
POINTS = """
[benchbook.formats]
cp9k = othersite.solver:ROW
meter9 = othersite.meter
broken = othersite.missing
"""
RUN = "CP9K version 1.5\natoms 6400\nranks 8\nspeed {rate} steps/s\nend\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder in which a package is installed that adds formats."""
    site = tmp_path / "site"
    (site / "othersite").mkdir(parents=True)
    for name, text in (("__init__", ""), ("solver", SOLVER), ("meter", METER)):
        (site / f"othersite/{name}.py").write_text(text)
    info = site / "othersite-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: othersite\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    return site


def run(site: Path, folder: Path, *command: str) -> tuple[str, str]:
    """Run Python in a folder with a package; return what it prints to either stream."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_formats__another_package_adds_formats_by_entry_points(package: Path, tmp_path: Path) -> None:
    (tmp_path / "one.out").write_text(RUN.format(rate=12.5))
    (tmp_path / "meter.log").write_text("METER 9\n2026-03-01T10:00:00Z 100\n2026-03-01T10:01:00Z 200\n")
    (tmp_path / "near.txt").write_text("a CP9k input\n")
    inspect = ("-m", "analysis.cli", "inspect")
    shown, warned = run(package, tmp_path, *inspect, "one.out", "meter.log")
    assert "one.out: cp9k, whole (1 merit)" in shown
    assert "speed              12.5 1/s" in shown
    assert "meter.log: power, whole (1 meter, 2 time)" in shown
    assert "the format 'broken' of othersite.missing cannot be used: ModuleNotFoundError" in warned
    code = (
        "import numpy as np\nfrom analysis import readers\nfrom analysis.readers import engines\n"
        "ds = readers.open('one.out')\nprint(readers.engine_of(ds), readers.problem(ds), ds.attrs['tool'])\n"
        "print(readers.is_power('meter9'), engines.cp9k.description, list(readers.ENGINES)[-2:])\n"
        "try:\n    readers.open('near.txt')\nexcept ValueError as error:\n    print(error)\n"
    )
    lines = run(package, tmp_path, "-W", "ignore", "-c", code)[0].splitlines()
    assert lines[:2] == ["cp9k atoms=6400 CP9K", "True The other site's solver ['power_csv', 'ipm']"]
    assert "near cp9k: has 'CP9k' without 'CP9K version'" in lines[2]


def test_formats__another_packages_output_is_imported_and_called_by_its_title(
    package: Path, tmp_path: Path
) -> None:
    base = tmp_path / "project"
    shutil.copytree(ROOT / "config", base / "config")
    (base / "data/raw").mkdir(parents=True)
    # A file with two executions is cut where the program begins to print.
    for nodes, rates in ((1, (12.5, 12.7)), (2, (24.5, 24.9))):
        path = base / f"jobs/nodes{nodes}/job.out"
        path.parent.mkdir(parents=True)
        path.write_text("".join(RUN.format(rate=rate) for rate in rates))
    options = ("import", "jobs", "--as", "mine", "--yes")
    printed, _ = run(package, base, "-W", "ignore", "-m", "analysis.cli", *options)
    assert "wrote 4 runs to data/raw/mine" in printed
    assert not (base / "config/applications/cp9k.yaml").exists()
    code = """
from pathlib import Path
from analysis.datasets.campaign import ingest
from analysis.estimates.campaign import load_campaign
from analysis.estimates.spelling import display
ingest(Path("data/raw/mine"), Path("data/processed/mine"))
campaign = load_campaign("mine")
runs = campaign.frame("runs").sort_values("figure_of_merit")
print(*runs["figure_of_merit"], *set(runs["application"]), *set(runs["figure_of_merit_unit"]))
print(runs["valid"].all())
print(display(campaign, "application", "cp9k"), display(campaign, "application", "osu"))
"""
    lines = run(package, base, "-W", "ignore", "-c", code)[0].splitlines()
    assert lines == ["12.5 12.7 24.5 24.9 cp9k 1/s", "True", "CP9K the OSU benchmarks"]


def test_formats__a_title_of_a_project_goes_before_the_formats(tmp_path: Path) -> None:
    from analysis.datasets.applications import application_name, own_titles

    folder = tmp_path / "config/applications"
    folder.mkdir(parents=True)
    (folder / "siesta.yaml").write_text("title: SIESTA\n")
    (folder / "osu.yaml").write_text("title: OSU micro-benchmarks\n")
    assert own_titles(tmp_path) == {"siesta": "SIESTA"}
    names = ("osu", "ls-dyna", "lsdyna", "hpl-mxp", "vasp", "other")
    expected = ["the OSU benchmarks", "LS-DYNA", "LS-DYNA", "HPL-MxP", "VASP", "other"]
    assert list(map(application_name, names)) == expected


PROBLEMS = {
    "hpl": "N=20000 NB=192 P=2 Q=4 variant=WR11C2R4",
    "graph500": "SCALE=22 edgefactor=16",
    "stream": "elements=80000000",
    "gromacs": "atoms=? nsteps=10000",
    "lammps": "atoms=32000 steps=200",
    "namd": "atoms=92224 timestep=?",
    "ior": "api=MPIIO access=? xfersize=? blocksize=? aggregate_filesize=?",
    "mdtest": "files=32768",
    "openfoam": "",
}


@pytest.mark.parametrize("engine", sorted(PROBLEMS))
def test_formats__a_result_says_its_problem(engine: str) -> None:
    assert readers.problem(readers.parse(TEXTS[engine].encode(), "f")) == PROBLEMS[engine]


def test_formats__problems_that_differ_are_told() -> None:
    assert readers.problem(readers.parse(SAMPLES["hpcg"], "f")) == "nx=16 ny=16 nz=16"
    assert readers.problem(readers.parse(SAMPLES["mpip"], "f")) == ""
    ior = TEXTS["ior"].replace(
        "nodes  ", "xfersize            : 1 MiB\nblocksize           : 64 MiB\nnodes  ", 1
    )
    found = readers.problem(readers.parse(ior.encode(), "f"))
    assert found == "api=MPIIO access=? xfersize=1MiB blocksize=64MiB aggregate_filesize=?"
    row = TEXTS["hpl"].index("WR11C2R4")
    second = (
        TEXTS["hpl"][:row]
        + "WR11C2R4       40000   192     2     4              84.00             5.0800e+02\n"
    )
    # The sizes of a sweep are its problem.
    found = readers.problem(readers.parse((second + TEXTS["hpl"][row:]).encode(), "f"))
    assert found == "N=40000,20000 NB=192 P=2 Q=4 variant=WR11C2R4"


def problem(text: str, engine: str | None = None) -> str:
    return readers.problem(readers.parse(text.encode(), "f", engine=engine))


def test_lammps__its_interaction_tells_benchmarks_of_32000_atoms_apart() -> None:
    """Its five benchmarks have 32,000 atoms and 100 steps each; lines as it writes them, also for GPUs."""
    melt = (DATA / "lammps/melt_n1.txt").read_text()
    assert problem(melt) == "pair=lj/cut atoms=500 steps=20"
    line = "  (1) pair lj/cut, perpetual\n"
    assert problem(melt.replace(line, "  (1) pair eam, perpetual\n")) == "pair=eam atoms=500 steps=20"
    # A package computes the same; its end of the name goes. A GPU has no list of neighbours, and its log, in
    # which commands stand, has not even the line of its screen.
    for other in ("  (1) pair lj/cut/kk, perpetual\n", "- Using acceleration for lj/cut:\n"):
        assert problem(melt.replace(line, other)) == "pair=lj/cut atoms=500 steps=20"
    on_gpus = "package gpu 1\npair_style ${p} 2.5\npair_style lj/cut 2.5\n"
    assert problem(melt.replace(line, on_gpus)) == "pair=lj/cut atoms=500 steps=20"
    # Sums over a mesh are none. The log of an old release has the command alone, its screen not even that.
    mesh = f"{line}- Using acceleration for pppm:\n"
    assert problem(melt.replace(line, mesh)) == "pair=lj/cut atoms=500 steps=20"
    assert problem(melt.replace(line, "pair_style lj/cut 2.5\n")) == "pair=lj/cut atoms=500 steps=20"
    assert problem(melt.replace(line, "")) == "atoms=500 steps=20"
    assert problem(melt.replace("lj/cut,", "reax/c,")) == problem(melt.replace("lj/cut,", "reaxff,"))
    # A sum of interactions is in the list by its terms, and the sum's name says nothing of them.
    hybrid = f"{line}  (2) pair hybrid/overlay, perpetual\n"
    assert problem(melt.replace(line, hybrid)) == "pair=lj/cut atoms=500 steps=20"
    of_terms = "package gpu 1\npair_style hybrid lj/cut 2.5 coul/cut 5.0\n"
    assert problem(melt.replace(line, of_terms)) == "atoms=500 steps=20"
    for package in ("gpu", "intel", "omp", "opt", "kk/device", "kk/host"):
        packaged = melt.replace("pair lj/cut,", f"pair lj/cut/{package},")
        assert problem(packaged) == "pair=lj/cut atoms=500 steps=20"
    # Until 2013 a line for each part of the time: "Bond  time (%) = 0.1 (2.5)".
    old = melt.replace("Neigh  ", "Bond  time (%) = 0.1 (2.5)\nNeigh  ")
    assert problem(old) == "pair=lj/cut+bonds atoms=500 steps=20"
    bonds = melt.replace("Neigh  ", "Bond    | 0.1        | 0.1        | 0.1        |   0.0 |  1.00\nNeigh  ")
    assert problem(bonds) == "pair=lj/cut+bonds atoms=500 steps=20"
    assert problem(melt.replace(line, "")) == "atoms=500 steps=20"


def test_nwchem__method_and_basis_are_its_problem() -> None:
    text = (DATA / "nwchem/water_n2.txt").read_text()
    assert problem(text) == "modules=DFT functional=B3LYP atoms=3 functions=13"
    # Each output begins with the module that reads the input, which computes nothing.
    begin = f"{' ' * 41}NWChem Input Module\n{' ' * 41}-------------------\n"
    assert problem(text.replace("\n", f"\n{begin}", 1)) == problem(text)
    # Without a method's name its parts are the functional.
    parts = text.replace("B3LYP Method XC Potential", "Becke 1988 Exchange Functional  1.000")
    assert "functional=Becke1988Exchange+Hartree-Fock(Exact)Exchange+Slater" in problem(parts)
    scf = text.replace("NWChem DFT Module", "NWChem SCF Module").replace(
        "No. of atoms     :", "atoms           = "
    )
    scf = scf.replace("XC Information", "Information")
    assert problem(scf) == "modules=SCF atoms=3 functions=13"


def test_fio__options_of_a_single_job_are_its_problem() -> None:
    """Options as fio 3.33 writes them: of the file, and of the job."""
    document = json.loads(TEXTS["fio"])
    assert problem(json.dumps(document)) == ""
    document["global options"] = {"bs": "64k", "size": "4m", "filename": "/scratch/f"}
    document["jobs"][0]["job options"] = {"name": "w", "rw": "write"}
    assert problem(json.dumps(document)) == "rw=write bs=65536 size=4194304"
    document["jobs"][0]["job options"] |= {"bs": "65536", "direct": "1", "rwmixread": "30"}
    assert problem(json.dumps(document)) == "rw=write rwmixread=30 bs=65536 size=4194304 direct=1"
    document["jobs"][0]["job options"]["bs"] = "128k"  # an option of the job is the one that counts
    assert "bs=131072" in problem(json.dumps(document))
    document["jobs"] *= 2
    assert problem(json.dumps(document)) == ""


def test_hpl_mxp__its_grid_is_its_problem() -> None:
    banner, rest = TEXTS["hpl_mxp"].split("\n", 1)
    whole = f"{banner}\nN = 258048, NB = 1024, NPROW = 2, NPCOL = 2, SLOPPY-TYPE = 2\n{rest}"
    assert problem(whole) == "N=258048 NB=1024 P=2 Q=2"
    assert problem(whole + whole.replace("258048", "129024")) == ""


def test_hpcc__its_matrix_is_its_problem_and_its_ranks_are_none() -> None:
    assert problem((DATA / "hpcc/n2.txt").read_text()) == "HPL_N=400 HPL_NB=80"


def test_problem__what_states_no_size_is_none() -> None:
    """Decks and meshes of all sizes can end at one time, and a solver that converges at any."""
    assert problem(ACCOUNT.decode()) == ""
    assert problem(TEXTS["openfoam"]) == ""


def test_formats__a_row_fills_in_what_it_does_not_say() -> None:
    row = Format(engine="my_code", figure_of_merit="rate", unit="1/s")
    assert (row.kind, row.tool, row.application, row.title) == ("my_code", "my_code", "my-code", "my_code")
    assert Format(engine="log", tool="Log").application == ""
    engines = [row.engine for row in readers.rows()]
    assert engines == list(readers.ENGINES)
    assert len(set(engines)) == 80


def folder(at: Path) -> Path:
    """Write HPCToolkit's database of two ranks as the folder that `hpcprof` makes."""
    at.mkdir(parents=True)
    (at / "experiment.xml").write_bytes(EXPERIMENT)
    for rank, times in enumerate((FIRST, SECOND)):
        name = f"1.solver-00000{rank}-000-a8c00270-160443-0.metric-db"
        (at / name).write_bytes(metric_db(times))
    (at / "1.solver-000000-000.hpctrace").write_bytes(b"not read")
    return at


def test_formats__the_folder_of_a_database_opens(tmp_path: Path) -> None:
    ds = readers.open(folder(tmp_path / "hpctoolkit-solver-database"))
    whole = readers.parse(packed_database(), str(tmp_path / "hpctoolkit-solver-database"))
    assert ds.identical(whole)
    assert ds["app_time"].values.tolist() == [5.0, 4.5]
    (tmp_path / "site").mkdir()
    with pytest.raises(ReadError, match=r"site: is a folder, and no database; one has a file experiment"):
        readers.open(tmp_path / "site")


def test_formats__a_database_of_a_run_is_imported_as_a_whole(tmp_path: Path) -> None:
    base = tmp_path / "project"
    shutil.copytree(ROOT / "config", base / "config")
    (base / "data/raw").mkdir(parents=True)
    folder(base / "jobs/run-1/hpctoolkit-solver-database")
    two = TEXTS["hpl"].replace("192     2     4  ", "192     1     2  ")
    (base / "jobs/run-1/out.txt").write_text(two)
    shown, _ = run(base, base, "-m", "analysis.cli", "inspect", "jobs/run-1/hpctoolkit-solver-database")
    assert "HPCToolkit, whole (4 obs, 2 rank)" in shown
    command = ("-m", "analysis.cli", "import", "jobs", "--as", "mine", "--yes")
    printed, _ = run(base, base, *command)
    assert "wrote 1 runs to data/raw/mine" in printed
    (record,) = base.glob("data/raw/mine/runs/*/run.json")
    assert (record.parent / "hpctoolkit-solver-database.tar").is_file()
    ds = readers.open(record.parent / "hpctoolkit-solver-database.tar")
    assert ds.ranks_expected == 2
    assert run(base, base, *command)[1].startswith("nothing new: 1 runs are in data/raw/mine")
