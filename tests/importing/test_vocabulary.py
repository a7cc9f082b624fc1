"""What parts of paths say, each read by a person: names as other people's trees have them."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.base.errors import ConfigError
from analysis.importing import detect, hardware, launch, vocabulary
from analysis.importing.pattern import compile_pattern, parse_settings

PARTS: list[tuple[str, dict[str, Any], str]] = [
    ("openmpi-4.1.4", {"mpi": "Open MPI 4.1.4"}, ""),
    ("nodes16ppn28_201708301450_hpccoutf.txt", {"nodes": 16, "ranks_per_node": 28}, ""),
    (
        "benchmark_16nodes576tasks1threads_201810121258.log",
        {"nodes": 16, "ranks": 576, "threads": 1},
        "benchmark",
    ),
    ("IMB_Allgather_4nodes_CrayMPICH776", {"nodes": 4, "mpi": "Cray MPICH (CrayMPICH776)"}, "IMB-Allgather"),
    ("2omp80mpi", {"threads": 2, "ranks": 80}, ""),
    ("hdr100", {"interconnect": "ib-hdr100"}, ""),
    ("ib-fdr", {"interconnect": "ib-fdr"}, ""),
    ("10GbE", {"interconnect": "10gbe"}, ""),
    ("eth", {"interconnect": "ethernet"}, ""),
    ("size32-noefa", {"interconnect": "no-efa"}, ""),
    ("E5-2680v2", {"cpu": "E5-2680 v2"}, ""),
    ("run-3", {"repeat": 3}, ""),
    ("scale-16_intel-2019.out", {"build": "intel-2019"}, "scale"),
    ("node_arm-19.2", {"build": "arm-19.2"}, "node"),
    ("intel64-cce-8.7", {"build": "cce-8.7"}, "intel64"),
    (
        "f0972.nhr.fau.de-1ranks-18threads_HPCG-Benchmark_3.0_2022-10-20_10-05-28.txt",
        {"ranks": 1, "threads": 18},
        "Benchmark-3.0",
    ),
    ("qp4-node-005-16ranks-12threads", {"ranks": 16, "threads": 12}, ""),
    ("5min", {"target_time": 300}, ""),
    ("niagara", {"cluster": "Niagara"}, ""),
    ("m7g.16xlarge", {"host_group": "m7g.16xlarge"}, ""),
    ("hpc7a-96xlarge-nodes8", {"host_group": "hpc7a.96xlarge", "nodes": 8}, ""),
    ("c2d-standard-112-node-4", {"host_group": "c2d-standard-112", "nodes": 4}, ""),
    ("Standard_HB120rs_v3", {"host_group": "standard_hb120rs_v3"}, ""),
    ("hpc7g-efa-libfabric-1.14.x", {"host_group": "hpc7g", "interconnect": "efa"}, "libfabric-1.14.x"),
    ("c6gn-no-efa", {"host_group": "c6gn", "interconnect": "no-efa"}, ""),
    ("m7-mesh-r2d2", {}, "m7-mesh-r2d2"),
    ("standard_input2", {}, "standard-input2"),
    ("a1-large", {}, "a1-large"),
    ("job02.sh.7194279.mpi-cpu", {}, "job02-mpi-cpu"),
    ("gcc-8.1_omp.out", {"build": "gcc-8.1"}, "omp"),
    ("240213-152700_130740_vPTPepEmoRgH.cali", {}, ""),
    ("BabelStream-skl_intel-2018_omp.out", {"cpu": "skl", "build": "intel-2018"}, "BabelStream-omp"),
    ("stream-pwr9_pgi-18_omp.out", {"build": "pgi-18"}, "stream-pwr9-omp"),
    ("hpcg_gcc-8_4omp.out", {"build": "gcc-8", "threads": 4}, ""),
    ("NPB3.3-MPI", {}, "NPB3-MPI"),
    (
        "polyA20-no-wat.castep.1024nodes.2threads.201806072327",
        {"nodes": 1024, "threads": 2},
        "polyA20-no-wat-castep",
    ),
]


@pytest.mark.parametrize(("part", "wanted", "rest"), PARTS, ids=[part for part, *_ in PARTS])
def test_names__a_part_of_a_path_says_what_its_words_say(
    part: str, wanted: dict[str, Any], rest: str
) -> None:
    found = vocabulary.parse_name(part, application="hpcg", file="." in part and "mpi-" not in part)
    assert {name: value for name, (value, _) in found.values.items()} == wanted
    assert found.rest == rest


@pytest.mark.parametrize(
    ("part", "left"),
    [("job-114", []), ("hpcg_job_2041", []), ("job-2", [2]), ("jobs-128", [128])],
)
def test_names__the_number_of_a_job_counts_nothing(part: str, left: list[int]) -> None:
    """A small number, or one of jobs, may count what ran at once."""
    assert [number for number, *_ in vocabulary.parse_name(part, application="hpcg").vague] == left


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("slurm-5509072.out", "5509072"),
        ("slurm_3382445_104.out", "3382445_104"),
        ("app.o123", "123"),
        ("LAMMPS.o3018299.gz", "3018299"),
        ("job_42.txt", "42"),
        ("HPCG-Benchmark_3.1_2026-11-21_00-27-37.txt", ""),
        ("benchmark_201810121258.log", ""),
        ("output.txt", ""),
    ],
)
def test_detect__a_name_tells_its_job(name: str, job: str) -> None:
    assert detect.job_of(name) == job


SCRIPT = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=24   # all cores
#SBATCH -J HPCG_c
module load gcc/12 openmpi/4.1.4
# mpirun -np 7 ./old
srun --mpi=pmix ./xhpcg --nx=104
"""


def test_hardware__a_job_script_states_what_it_asks_for() -> None:
    assert hardware.kind(SCRIPT, "run.sh") == "job script"
    assert hardware.stated(SCRIPT) == {
        "nodes": 4,
        "ranks_per_node": 24,
        "job_name": "HPCG_c",
        "mpi": "Open MPI 4.1.4",
        "build": "gcc-12",
        "command": "srun --mpi=pmix ./xhpcg --nx=104",
        # What no factor has can explain groups of repeats.
        "directives": {"--nodes": "4", "--ntasks-per-node": "24", "-J": "HPCG_c"},
        "modules": "gcc/12 openmpi/4.1.4",
    }


def test_hardware__two_values_of_one_fact_state_none() -> None:
    text = SCRIPT.replace("#SBATCH -J", "#SBATCH --nodes=8\n#SBATCH -J") + "mpirun -np 3 ./other\n"
    assert not hardware.stated(text).keys() & {"nodes", "command", "ranks"}


def test_hardware__n_is_of_nodes_for_srun_and_of_ranks_on_each_for_mpirun() -> None:
    line = "srun -N 4 -n 64 ./lmp"
    assert launch.of_line(f"{line}\n") == {"command": line, "ranks": 64, "step_nodes": 4}
    assert launch.of_line("srun --cpu-freq=2000000 -n 8 ./lmp\n")["frequency"] == 2.0
    assert launch.of_line("srun --cpu-freq '900000' -n 8 ./lmp\n")["frequency"] == 0.9
    assert "frequency" not in launch.of_line("srun --cpu-freq=medium -n 8 ./lmp\n")
    found = launch.of_line("mpirun -N 4 -n 64 ./lmp\n")
    assert (found["ranks"], found["ranks_per_node"]) == (64, 4)


def test_hardware__n_is_of_nodes_for_flux_too() -> None:
    line = "flux run --setattr=user.study_id=hpcg-iter-1 -N1 -n 64 -o cpu-affinity=per-task /opt/hpcg/xhpcg"
    assert {name: value for name, value in launch.of_line(line).items() if value != line} == {
        "ranks": 64,
        "step_nodes": 1,
    }
    assert launch.of_line("flux run -N2 --tasks-per-node=4 ./lmp")["ranks_per_node"] == 4
    assert launch.of_line("aprun -n 48 -N 24 ./lmp")["ranks_per_node"] == 24


def test_vocabulary__the_target_of_a_compiler_is_no_processor() -> None:
    assert vocabulary.parse_name("haswell-O2").values.keys() & {"cpu", "nodes"} == set()
    assert "haswell" in vocabulary.parse_name("haswell-gcc9-O2").rest
    assert vocabulary.parse_name("haswell-intel").values["cpu"][0] == "haswell"
    assert not vocabulary.parse_name("neoverse-n2-O3-arm").vague
    assert "neoversen2" in vocabulary.parse_name("neoverse-n2").rest


@pytest.mark.parametrize(
    ("part", "build", "rest"),
    [
        ("O3-xHost-ipo", "O3-xHost-ipo", ""),
        ("O2_march_native", "O2_march_native", ""),
        ("lj-Ofast-march=native", "Ofast-march=native", "lj"),
        ("gcc-12.2-O3-march=znver3", "gcc-12.2 O3-march=znver3", ""),
        ("intel-2019-O3-xCORE-AVX512", "intel-2019 O3-xCORE-AVX512", ""),
        ("neoverse-n2-O3", "neoverse-n2-O3", ""),
        ("stream_O3-funroll-loops", "O3-funroll-loops", "stream"),
        ("ozone-O3", "", "ozone-O3"),
        ("Al2O3", "", "Al2O3"),
        ("O3-fast-ions", "", "O3-fast-ions"),
        ("H2O-O2", "", "H2O-O2"),
        ("native", "", "native"),
        ("stream.O3", "", "stream-O3"),  # no job of PBS
    ],
)
def test_vocabulary__flags_of_a_compiler_are_its_build_by_their_own_name(
    part: str, build: str, rest: str
) -> None:
    found = vocabulary.parse_name(part, file="stream." in part)
    assert found.values.get("build", ("",))[0] == build
    assert found.rest == rest


def test_vocabulary__fortran_compilers_and_myrinet_are_known() -> None:
    found = vocabulary.parse_name("bt_mpi_mx_gfortran_431.o714941", file=True)
    assert {name: value for name, (value, _) in found.values.items()} == {
        "interconnect": "myrinet",
        "build": "gfortran",
    }
    assert [number for number, *_ in found.vague] == [431]
    assert vocabulary.parse_name("gfortran-9.4").values["build"][0] == "gfortran-9.4"
    assert not vocabulary.parse_name("mx").values  # may be a matrix
    assert not vocabulary.other_builds("gfortran", "gcc-5.3.0")


def test_hardware__ports_and_processors_are_named() -> None:
    ports = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n\t\tLink layer: InfiniBand\n"
    assert hardware.stated(ports) == {"interconnect": "ib-hdr"}
    assert hardware.stated(ports.replace("InfiniBand", "Ethernet")) == {}
    assert hardware.cpu("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz") == "Xeon Gold 6148"
    assert hardware.cpu("AMD EPYC 7763 64-Core Processor") == "EPYC 7763"


def test_hardware__a_label_names_the_type_of_the_instance() -> None:
    label = "node.kubernetes.io/instance-type=hpc7g.16xlarge\n"
    assert hardware.stated(label) == {"host_group": "hpc7g.16xlarge"}
    assert hardware.stated('"InstanceType": "c6a.48xlarge",') == {"host_group": "c6a.48xlarge"}
    assert hardware.stated(label + label.replace("7g", "7a")) == {}
    assert hardware.stated("instance-type: two") == {}


def test_pattern__placeholders_stand_within_parts() -> None:
    pattern = compile_pattern("{mpi}/n{nodes}_{ppn}/{}/*")
    assert pattern.read("openmpi/n8_16/x/y/file") == {
        "mpi": ("openmpi", "openmpi"),
        "nodes": (8, "n8_16"),
        "ranks_per_node": (16, "n8_16"),
    }
    assert pattern.read("openmpi/n8/x/y") is None
    assert [pattern.settled(at) for at in range(5)] == [True, True, True, False, True]


@pytest.mark.parametrize("given", ["nodes=many", "nodes", "color=blue"])
def test_pattern__a_setting_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_settings([given])


@pytest.mark.parametrize(
    ("name", "values", "rest"),
    [
        (
            "2014-08-31_n_thread_per_gpu_01.txt",
            {},
            "n-thread-per-gpu-01",
        ),  # no repeat, and no threads of a rank
        ("threads_per_node_4.out", {}, "threads-per-node-4"),  # not 4 nodes
        ("threads_per_rank_8.out", {"threads": 8}, ""),
        ("ranks-per-node4.out", {"ranks_per_node": 4}, ""),  # no host called per-node4
        ("n_core-12.out", {}, ""),  # not placed by cores
    ],
)
def test_vocabulary__a_count_of_each_of_something_is_its_own(
    name: str, values: dict[str, int], rest: str
) -> None:
    found = vocabulary.parse_name(name, application="hpl", file=True)
    assert ({key: value for key, (value, _) in found.values.items()}, found.rest) == (values, rest)
