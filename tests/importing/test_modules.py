"""Names of modules as Spack, EasyBuild, OpenHPC, Bright and Cray spell them; each was read by a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.importing import hardware, modules
from analysis.importing.vocabulary import other_builds

from .test_facts import cells
from .test_import import Imported, imported, log, project

__all__ = ["imported", "project"]

# The module, and the MPI library, the compiler and the release that its name states. Where a layout is from:
# flat names of Spack from VSC-4, VSC-5 and Metis (openmpi-...), Spack's `module loads` (12.2.0-none-none),
# EasyBuild's from IT4Innovations and Viking, OpenHPC's gnu12, Bright's gcc/64, Aurora's and LUMI's lists.
NAMES = [
    ("openmpi/4.1.4-gcc-12.2.0-xt53foa", "Open MPI 4.1.4", "gcc-12.2.0", {}),
    ("openmpi/4.1.4-aocc-4.0.0-x4jtiii", "Open MPI 4.1.4", "aocc-4.0.0", {}),
    ("openmpi-4.1.5-gcc-11.2", "Open MPI 4.1.5", "gcc-11.2", {}),
    ("openmpi/openmpi-4.0.7-gcc-9.5.0-cuda-11.8", "Open MPI 4.0.7", "gcc-9.5.0", {}),
    ("openmpi/4.1.5/gcc-12.2.0-dhnhqw4", "Open MPI 4.1.5", "gcc-12.2.0", {}),
    ("intel-oneapi-mpi/2021.10.0-gcc-9.5.0-jjk5krw", "Intel MPI 2021.10.0", "gcc-9.5.0", {}),
    ("OpenMPI/4.1.4-GCC-12.2.0", "Open MPI 4.1.4", "gcc-12.2.0", {}),
    ("mpi/OpenMPI/4.1.4-GCC-12.2.0", "Open MPI 4.1.4", "gcc-12.2.0", {}),
    ("OpenMPI/4.1.6-NVHPC-23.11-CUDA-12.2.0", "Open MPI 4.1.6", "nvhpc-23.11", {}),
    ("impi/2021.7.1-intel-compilers-2022.2.1", "Intel MPI 2021.7.1", "intel-2022.2.1", {}),
    ("openmpi/gcc/64/4.1.2", "Open MPI 4.1.2", "gcc", {}),
    ("mpi/openmpi/openmpi-4.1.5-gcc9.3.0", "Open MPI 4.1.5", "gcc-9.3.0", {}),
    ("mpich/opt/4.3.0rc3", "MPICH 4.3.0rc3", "", {}),
    ("openmpi4", "Open MPI 4", "", {}),
    ("cray-mpich/8.1.25", "Cray MPICH 8.1.25", "", {}),
    ("gnu12", "", "gcc-12", {}),
    ("gcc/12.2.0-none-none-6fx73gk", "", "gcc-12.2.0", {}),
    ("oneapi/release/2025.0.5", "", "intel-2025.0.5", {}),
    ("gompi/2022b", "", "gompi-2022b", {}),
    ("gcc-runtime/12.2.0-gcc-12.2.0-lbbfl34", "", "gcc-12.2.0", {"gcc-runtime": "12.2.0-gcc-12.2.0"}),
    ("gcc-runtime/12.2.0-267awrk", "", "", {"gcc-runtime": "12.2.0"}),
    ("intel-oneapi-mkl/2023.1", "", "", {"intel-oneapi-mkl": "2023.1"}),
    (
        "fftw/3.3.10/openmpi-4.1.5-gcc-12.2.0-gtdyd6q",
        "Open MPI 4.1.5", "gcc-12.2.0", {"fftw": "3.3.10/openmpi-4.1.5-gcc-12.2.0"},
    ),
    ("git/2.39", "", "", {}),
]  # fmt: skip


@pytest.mark.parametrize(("module", "mpi", "compiler", "releases"), NAMES, ids=[one[0] for one in NAMES])
def test_modules__name_library_compiler_and_release(
    module: str, mpi: str, compiler: str, releases: dict[str, str]
) -> None:
    assert (modules.libraries([module]), modules.compiler([module])) == ([mpi] if mpi else [], compiler)
    assert modules.releases([module]) == releases


def test_modules__of_several_the_own_names_count_and_gcc_is_what_another_compiler_needs() -> None:
    loaded = ["gcc-runtime/12.2.0-267awrk", "gcc/12.2.0", "oneapi/release/2025.0.5", "fftw/3-gcc-9.1"]
    assert modules.compiler(loaded) == "intel-2025.0.5"
    assert modules.compiler(["PrgEnv-gnu/8.3.3", "gcc/11.2.0"]) == "gcc-11.2.0"
    assert modules.libraries(["hdf5/1.14-openmpi-3.1", "openmpi/4.1.5", "openmpi"]) == ["Open MPI 4.1.5"]


def test_modules__what_is_unloaded_again_and_branches_of_a_script_state_nothing() -> None:
    assert modules.loaded("module load gcc/9 openmpi/4.1\nmodule swap gcc gcc/12.2 # newer\n") == [
        "openmpi/4.1",
        "gcc/12.2",
    ]
    assert modules.loaded("ml GCC/12.2.0 \\\n  OpenMPI/4.1.4-GCC-12.2.0\n") == [
        "GCC/12.2.0",
        "OpenMPI/4.1.4-GCC-12.2.0",
    ]
    assert modules.loaded("module load gcc/9\nmodule purge\nmodule add intel/19\n") == ["intel/19"]
    assert modules.loaded("spack load openmpi@4.1.5%gcc@12.2.0\n") == ["openmpi@4.1.5%gcc@12.2.0"]
    assert modules.compiler(["openmpi@4.1.5%gcc@12.2.0"]) == "gcc-12.2.0"
    branches = (
        "module load cuda/12\nif [ $1 = a ]; then\n  module load gcc/9\nelse\n  module load gcc/12\nfi\n"
    )
    assert modules.loaded(branches) == ["cuda/12"]


@pytest.mark.parametrize(
    "listed",
    [
        "Currently Loaded Modules:\n  1) gcc/12.2.0   2) openmpi/4.1.5 (D)\n\n",
        "Currently Loaded Modulefiles:\n 1) gcc/12.2.0  \n 2) openmpi/4.1.5(default)\n\n",
        "Currently Loaded Modulefiles:\ngcc/12.2.0\nopenmpi/4.1.5\n\nHPL 2.3\n",
    ],
)
def test_modules__lists_of_lmod_and_of_environment_modules(listed: str) -> None:
    assert modules.loaded(listed) == ["gcc/12.2.0", "openmpi/4.1.5"]
    assert hardware.stated(listed) == {
        "modules": "gcc/12.2.0 openmpi/4.1.5",
        "build": "gcc-12.2.0",
        "mpi": "Open MPI 4.1.5",
    }


def test_import__runs_with_other_libraries_compilers_or_releases_are_no_repeats(
    tmp_path: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    lists = (
        "openmpi/4.1.4-gcc-12.2.0-xt53foa",
        "openmpi/4.1.4-gcc-9.5.0-rbertc2",
        "mvapich2/2.3.7-gcc-12.2.0-abcdef2",
        "openmpi/4.1.4-gcc-12.2.0-xt53foa fftw/3.3.8-gcc-12.2.0-aaaaaa2",
    )
    for at in range(8):
        listed = "\n".join(f" {nth}) {one}" for nth, one in enumerate(lists[at // 2].split(), 1))
        text = f"Currently Loaded Modulefiles:\n{listed}\n\n{log(9.5 + at)}"
        (tmp_path / "tree" / f"lj.o{7000 + at}").write_text(text)
    assert cells(imported(tmp_path / "tree"), "mpi", "build", "options") == {
        ("Open MPI 4.1.4", "gcc-12.2.0", "default"): 2,
        ("Open MPI 4.1.4", "gcc-9.5.0", "default"): 2,
        ("MVAPICH2 2.3.7", "gcc-12.2.0", "default"): 2,
        ("Open MPI 4.1.4", "gcc-12.2.0", "module fftw=3.3.8-gcc-12.2.0"): 2,
    }


def test_modules__of_a_list_are_no_words_of_the_output_that_follows() -> None:
    box = "  orthogonal box = (0 0 0) to (33.6 33.6 33.6)\n  (1 1 1) to (2 2 2)\n"
    assert modules.loaded(f"Currently Loaded Modulefiles:\n 1) gcc/12.2   2) fftw/3.3.8\nLAMMPS\n{box}") == [
        "gcc/12.2", "fftw/3.3.8"
    ]  # fmt: skip


def test_import__the_release_of_a_library_that_follows_the_link_is_another_cause(
    tmp_path: Path, imported: Imported
) -> None:
    """All of 10GbE loaded FFTW 3.3.8 and all of HDR100 FFTW 3.3.10: the effect was that of the link."""
    for at in range(8):
        link, release = (("10gbe", "3.3.8"), ("hdr100", "3.3.10"))[at % 2]
        (tmp_path / "tree" / link).mkdir(parents=True, exist_ok=True)
        text = f"Currently Loaded Modulefiles:\n 1) gcc/12.2   2) fftw/{release}\n\n{log(9.5 + at)}"
        (tmp_path / "tree" / link / f"lj.o{7000 + at}").write_text(text)
    assert cells(imported(tmp_path / "tree"), "interconnect", "options") == {
        ("10gbe", "module fftw=3.3.8"): 4,
        ("ib-hdr100", "module fftw=3.3.10"): 4,
    }


def test_import__a_compiler_in_the_path_is_kept_beside_that_of_the_modules(
    tmp_path: Path, imported: Imported
) -> None:
    for at, name in enumerate(("gcc12", "gcc12", "icc", "icc")):
        (tmp_path / "tree" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name / f"lj.o{7000 + at}").write_text(f"module load gcc/12.2.0\n{log(9.5 + at)}")
    assert cells(imported(tmp_path / "tree"), "build") == {("gcc-12.2.0",): 2, ("gcc-12.2.0 icc",): 2}
    assert other_builds("gnu mkl gcc-9", "gcc-12.2.0") == "mkl gcc-9"
