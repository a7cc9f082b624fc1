"""One execution is one run: files of several executions are cut, and what is no output makes no run."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from analysis.importing import detect
from analysis.importing.tree import File

from ..readers.merits.texts import TEXTS
from . import trees
from .test_import import Imported, imported, project

__all__ = ["imported", "project"]

# As `gmx grompp` of GROMACS 2021 writes it: a banner, and parameters at the beginning of their lines.
MDOUT = """\
;
;	File 'mdout.mdp' was generated
;	By user: unknown (1000)
;	On host: n1
;	At date: Sun Mar  1 09:59:00 2026
;
;	Created by:
;	             :-) GROMACS - gmx grompp, 2021.1 (-:
;	
;	Command line:
;	  gmx grompp -f md.mdp -c npt.gro -p topol.top -o md.tpr

; RUN CONTROL PARAMETERS
integrator               = md
nsteps                   = 10000
"""  # noqa: W291
# A job of pw.x and ph.x (7.0), which prints its time so far at each point.
PHONONS = """\
     Program PWSCF v.7.0 starts on 28Jun2022 at  0:48:29 
     Parallel version (MPI), running on    16 processors
     MPI processes distributed on     1 nodes
     unit-cell volume          =     264.5151 (a.u.)^3
     number of atoms/cell      =            2
     number of electrons       =         8.00
     kinetic-energy cutoff     =      70.0000  Ry
     number of k points=    28
     PWSCF        :      1.68s CPU      2.01s WALL
   JOB DONE.

     Program PHONON v.7.0 starts on 28Jun2022 at  0:48:33 
     Parallel version (MPI), running on    16 processors
     MPI processes distributed on     1 nodes
     (  16 q-points):
     unit-cell volume          =     264.5151 (a.u.)^3
     number of atoms/cell      =            2
     kinetic-energy cut-off    =      70.0000  Ry
     number of k points=    28
     PHONON       :      0.24s CPU      1.00s WALL
     PHONON       :  32m54.11s CPU  36m39.93s WALL
   JOB DONE.
"""  # noqa: W291
SCRIPT = """\
#!/usr/bin/env bash
usage() { echo "    --xhpl-ai    use the HPL-AI-NVIDIA 1.0.0 benchmark"; }
mpirun -np 4 ./hpl.sh --dat HPL.dat
"""
SOURCE = r"""
    printf( "\n\n NAS Parallel Benchmarks (NPB3.3-SER) - IS Benchmark\n\n" );
    printf( " Size:  %ld  (class %c)\n", (long)TOTAL_KEYS, CLASS );
"""
DOCUMENT = """\
## Running
HPL-AI-NVIDIA expects one GPU per MPI process.
"""


def look(folder: Path, name: str, text: str) -> detect.Observation:
    """Write a file and say what import takes it for."""
    path = folder / name
    path.write_text(text)
    return detect.detect(File(path, name, len(text)))


@pytest.mark.parametrize(
    "engine",
    [
        *("nccl", "hpl_mxp", "nwchem", "kripke", "laghos", "minife", "quicksilver"),
        *("vasp", "perftest", "fio", "castep"),
    ],
)
def test_detect__executions_that_were_appended_to_a_file_are_its_parts(tmp_path: Path, engine: str) -> None:
    (alone,) = look(tmp_path, "one.out", TEXTS[engine]).parts
    parts = look(tmp_path, "two.out", "first\n" + TEXTS[engine] + "second\n" + TEXTS[engine]).parts
    assert [part.facts for part in parts] == [alone.facts, alone.facts]
    assert all(part.complete and part.rows == alone.rows for part in parts)


@pytest.mark.parametrize("engine", TEXTS)
def test_detect__an_output_of_one_execution_is_not_cut(engine: str) -> None:
    assert len(detect._pieces(TEXTS[engine].encode())) <= 1


# As a part of IO500 leaves it (mdtest 3.3).
STAT = """\
-- started at 11/12/2019 15:43:54 --

mdtest-3.3.0+dev was launched with 260 total task(s) on 26 node(s)
Command line used: ./mdtest '-T' '-F' '-P' '-d' './mdt_easy' '-n' '900000' '-u' '-L' '-N' '1'
260 tasks, 234000000 files

SUMMARY rate: (of 1 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation             :          0.000          0.000          0.000          0.000
   File stat                 :     882768.143     882767.547     882767.892          0.129
   File read                 :          0.000          0.000          0.000          0.000
-- finished at 11/12/2019 15:45:41 --
"""


def test_import__a_result_that_has_another_figure_than_usual_is_another_application(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "stat.txt").write_text(STAT)
    (tmp_path / "tree" / "all.txt").write_text(TEXTS["mdtest"])
    found = imported(tmp_path / "tree").values()
    assert {one["application"] for one in found} == {"mdtest", "mdtest-file-stat"}
    (stat,) = (one for one in found if one["application"] == "mdtest-file-stat")
    assert (stat["end"] - stat["start"], stat["nodes"], stat["ranks"]) == (107, 26, 260)
    declared = (project / "config" / "applications" / "mdtest-file-stat.yaml").read_text()
    assert 'figure_of_merit: "File stat"\nunit: "1/s"\nhigher_is_better: true' in declared


@pytest.mark.parametrize("head", ["", "# nccl-tests version 2.17.6\n# Collective test starting: {test}\n"])
def test_detect__each_test_of_nccl_has_its_own_problem_and_ranks(tmp_path: Path, head: str) -> None:
    body = TEXTS["nccl"][TEXTS["nccl"].index("# nThread") :].partition("#\n# Collective test concluded")[0]
    text = "".join(head.format(test=test) + body for test in ("all_reduce_perf", "sendrecv_perf"))
    parts = look(tmp_path, "nccl.log", text).parts
    assert [(part.facts["ranks"], part.facts["nodes"]) for part in parts] == [(2, 2), (2, 2)]
    tests = ["test=all_reduce_perf", "test=sendrecv_perf"] if head else ["test=?", "test=?"]
    assert [part.facts["problem"].split()[0] for part in parts] == tests


def test_import__hpcg_of_other_ranks_in_a_file_is_a_run_of_its_own(
    tmp_path: Path, imported: Imported
) -> None:
    (one, *_) = trees.good()
    text = trees.put(trees.result(one), tmp_path / "one.txt").read_text()
    more = re.sub("(Distributed Processes=)2", r"\g<1>4", text)
    assert text != more
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "all.txt").write_text(text + text + more)
    found = imported(tree, copies=True)
    assert {name: run["ranks"] for name, run in found.items()} == {
        "all.txt#[1, 252]": 2,
        "all.txt#[253, 378]": 4,
    }


def test_import__sweeps_of_hpl_over_other_sizes_are_no_repeats(tmp_path: Path, imported: Imported) -> None:
    tree, row = tmp_path / "tree", TEXTS["hpl"].index("WR11C2R4")
    tree.mkdir()
    for name, nb, time in (
        ("1.txt", 256, "21.00             2.5400e+02"),
        ("2.txt", 384, "42.00             1.2700e+02"),
    ):
        other = f"WR11C2R4       20000   {nb}     4     2              {time}\n"
        (tree / name).write_text(TEXTS["hpl"][:row] + other + TEXTS["hpl"][row:])
    found = imported(tree)
    assert sorted(run["case"] for run in found.values()) == ["N=20000 NB=256,192", "N=20000 NB=384,192"]
    assert {(run["ranks"], run["repeat"]) for run in found.values()} == {(8, 1)}


def test_import__what_grompp_was_given_is_no_run_of_gromacs(tmp_path: Path, imported: Imported) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "mdout.mdp").write_text(MDOUT)
    half = TEXTS["gromacs"].replace("7680.128      120.002", "3840.064       60.001")
    (tree / "npt.log").write_text(half.replace("= 10000", "= 5000"))
    (tree / "md.log").write_text(TEXTS["gromacs"])
    assert sorted(imported(tree)) == ["md.log#", "npt.log#"]


def test_detect__a_log_of_mdrun_that_ended_before_its_steps_is_a_run_that_failed(tmp_path: Path) -> None:
    head = TEXTS["gromacs"].partition("Running on")[0]
    (part,) = look(tmp_path, "md.log", f"{head}Command line:\n  gmx mdrun -nsteps 500 -ntmpi 5\n").parts
    assert (part.engine, part.complete) == ("gromacs", False)


def test_detect__a_script_and_a_document_that_name_a_program_are_no_outputs(tmp_path: Path) -> None:
    texts = (("hpl.save", SCRIPT), ("RUNNING", DOCUMENT), ("is.c.orig", SOURCE))
    found = [look(tmp_path, name, text) for name, text in texts]
    assert [one.role for one in found] == ["text"] * 3
    assert found[2].why == "has words of npb, but states nothing of a run"
    assert look(tmp_path, "hpl.out", SCRIPT + TEXTS["hpl_mxp"]).role == "result"  # `cat $0`


def test_detect__an_archive_of_sources_and_a_spreadsheet_are_no_outputs(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "npb.tar.bz2", "w:bz2") as archive:
        about = tarfile.TarInfo("is.c")
        about.size = len(SOURCE)
        archive.addfile(about, io.BytesIO(SOURCE.encode()))
    (tmp_path / "results.xlsx").write_bytes(b"PK\x03\x04\x14\0\x06\0")
    names = ("npb.tar.bz2", "results.xlsx")
    assert [detect.detect(File(tmp_path / name, name, 1)).why for name in names] == [
        f"is an archive; unpack it and import again: tar -xf {tmp_path}/npb.tar.bz2 -C {tmp_path}",
        "is a document or a program, no output",
    ]


def test_detect__json_that_has_an_output_as_a_text_is_no_output(tmp_path: Path) -> None:
    found = look(tmp_path, "jobs.json", json.dumps({"id": 7, "stdout": TEXTS["quicksilver"]}))
    assert (found.role, found.parts) == ("text", [])


def test_detect__jid_in_a_name_is_the_number_of_its_job() -> None:
    assert detect.job_of("ex2_1x7_jID5771541.log") == "5771541"
    assert detect.job_of("grid5771.log") == ""


def test_detect__what_vim_keeps_of_an_open_file_is_no_output(tmp_path: Path) -> None:
    found = look(tmp_path, ".HPL.out.swp", "b0VIM 8.1\0\0" + TEXTS["hpl"])
    assert (found.role, found.why) == ("nothing", "is what Vim keeps of a file that is being edited")


def test_detect__phonons_are_a_run_besides_that_of_their_electrons(tmp_path: Path) -> None:
    electrons, phonons = look(tmp_path, "si.o3071248", PHONONS).parts
    times = [part.facts["benchmark_time"] for part in (electrons, phonons)]
    assert times == [2.01, pytest.approx(36 * 60 + 39.93)]
    assert electrons.facts["problem"] == "atoms=2 electrons=8.00 cutoff=70.0000 kpoints=28 volume=264.5151"
    assert phonons.facts["problem"] == (
        "program=PHONON atoms=2 cutoff=70.0000 kpoints=28 qpoints=16 volume=264.5151"
    )
    assert {(part.facts["nodes"], part.facts["ranks"], part.complete) for part in (electrons, phonons)} == {
        (1, 16, True)
    }


def test_import__images_of_phonons_are_one_run_whose_time_no_image_states(
    tmp_path: Path, imported: Imported
) -> None:
    image = PHONONS.partition("JOB DONE.\n\n")[2].replace(
        "16 processors\n", "16 processors\n     path-images division:  nimage    =       2\n"
    )
    (tmp_path / "tree").mkdir()
    for at in (0, 1):
        (tmp_path / "tree" / f"out.{at}_0").write_text(image.replace("36m39.93s", f"{at + 3}m39.93s"))
    (run,) = imported(tmp_path / "tree").values()
    assert (run["ranks"], run["nodes"]) == (16, 1)
    assert len(run["imported"]["files"]) == 2


@pytest.mark.parametrize(
    ("asked", "nodes"),
    [("10:ncpus=64:mpiprocs=64", {640: 10, 768: None, 64: None}), ("1:mpiprocs=64", {64: 1, 1472: None})],
)
def test_import__a_script_of_other_ranks_than_an_output_states_no_nodes_of_it(
    asked: str, nodes: dict[int, int | None], tmp_path: Path, imported: Imported
) -> None:
    """A script was changed for each size, and the last one lies next to all outputs."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "job.sh").write_text(f"#!/bin/bash\n#PBS -l select={asked}\nmpirun ./pw.x\n")
    for ranks in nodes:
        text = PHONONS.partition("JOB DONE.\n\n")[0].replace("16 processors", f"{ranks} processors")
        text = text.replace("     MPI processes distributed on     1 nodes\n", "") + "JOB DONE.\n"
        (tmp_path / "tree" / f"pw_{ranks}.out").write_text(text.replace("2.01s", f"{ranks}.01s"))
    found = imported(tmp_path / "tree").values()
    assert {one["ranks"]: one.get("nodes") for one in found} == nodes
