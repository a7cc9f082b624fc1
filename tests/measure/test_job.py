"""Launch lines, cores and environment of a run, against what stands in the libraries' manuals."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.base.slurm import ranges
from analysis.measure import cores
from analysis.measure.cores import Cores
from analysis.measure.declare import PRESETS, MpiLibrary, Presets, load
from analysis.measure.job import BIND, Allocation, allocate
from analysis.measure.matrix import expand
from analysis.measure.mpi import JobSize, launch_line
from analysis.measure.workflow import resources

from .conftest import Changed

TWO = JobSize(("n1", "n2"), 4)
SRUN = "--distribution=block --cpu-bind=none --overlap"
NODE = Cores((tuple(range(4)), tuple(range(4, 8))))


def library(family: str, start: str) -> MpiLibrary:
    return MpiLibrary.model_validate({"family": family, "name": family, "start": start})


def only(changed: Changed, factors: str, *more: tuple[str, str], case: str = "small") -> Allocation:
    """Make the campaign one of a single run and allocate it."""
    old = "factors: {nodes: [1, 2, 4], ranks_per_node: all, mpi: [ompi, mpich]}"
    rule = "{when: {case: large, nodes: 1}, why: the large case does not fit one node}"
    exclude = f"      exclude:\n        - {rule}\n"
    changes = ((old, f"factors: {{{factors}}}"), (exclude, ""), ("case: [small, large]", f"case: {case}"))
    declared = changed(*changes, *more)
    run = expand(declared).runs[0]
    return allocate(declared, run, [f"n{number}" for number in range(1, run.nodes + 1)])


@pytest.mark.parametrize(
    ("family", "start", "expected"),
    [
        ("openmpi", "mpirun", "mpirun -np 8 --map-by ppr:4:node --bind-to none -x UCX_TLS"),
        ("hpcx", "mpirun", "mpirun -np 8 --map-by ppr:4:node --bind-to none -x UCX_TLS"),
        ("mpich", "mpirun", "mpiexec -n 8 -ppn 4"),
        ("intelmpi", "mpirun", "mpiexec.hydra -n 8 -ppn 4"),
        ("mvapich2", "mpirun", "mpiexec.hydra -n 8 -ppn 4"),
        (
            "platformmpi",
            "mpirun",
            "mpirun -np 8 -hostlist n1:4,n2:4 -e UCX_TLS=rc,sm -e OMPI_MCA_pml=ob1",
        ),
        (
            "charm",
            "charmrun",
            "charmrun ++p 8 ++runscript ./start-rank.sh ++no-scalable-start ++nodelist nodelist",
        ),
        (
            "charm",
            "charmrun-srun",
            "charmrun ++p 8 ++runscript ./start-rank.sh ++mpiexec ++remote-shell srun --mpi=none --nodes=2 "
            "--ntasks=8 --ntasks-per-node=4 " + SRUN,
        ),
        (
            "openmpi",
            "srun-pmix",
            "srun --mpi=pmix --nodes=2 --ntasks=8 --ntasks-per-node=4 " + SRUN,
        ),
        (
            "mvapich2",
            "srun-pmi2",
            "srun --mpi=pmi2 --nodes=2 --ntasks=8 --ntasks-per-node=4 " + SRUN,
        ),
    ],
)
def test_launchers__launch_line(family: str, start: str, expected: str) -> None:
    environment = {"UCX_TLS": "rc,sm", "OMPI_MCA_pml": "ob1"}
    assert " ".join(launch_line(library(family, start), TWO, environment)) == expected


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("openmpi", "-x LSTC_LICENSE_SERVER"),
        ("platformmpi", "-envlist LSTC_LICENSE_SERVER"),
        ("mpich", "mpiexec -n 8 -ppn 4"),  # Hydra hands all variables over
    ],
)
def test_launchers__variables_from_elsewhere_are_named_without_value(family: str, expected: str) -> None:
    assert " ".join(launch_line(library(family, "mpirun"), TWO, {}, ["LSTC_LICENSE_SERVER"])).endswith(
        expected
    )


# A node of two sockets with eight cores each; what each job has, written down by hand.
@pytest.mark.parametrize(
    ("placement", "concurrent", "expected"),
    [
        ("all-cores", 1, ["0-15"]),
        ("all-cores", 2, ["0-7", "8-15"]),
        ("all-cores", 4, ["0-3", "4-7", "8-11", "12-15"]),
        ("all-cores", 8, ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"]),
        ("half-sockets", 1, ["0-3,8-11"]),
        ("half-sockets", 2, ["0-3", "8-11"]),
        ("half-sockets", 4, ["0-1", "2-3", "8-9", "10-11"]),
        ("half-sockets", 8, ["0", "1", "2", "3", "8", "9", "10", "11"]),
    ],
)
def test_cores__two_sockets_of_eight(placement: str, concurrent: int, expected: list[str]) -> None:
    node = Cores.declared(["0-7", "8-15"])
    found = node.jobs(placement, concurrent)
    assert [ranges(own) for own in found] == expected
    used = [core for own in found for core in own]
    assert len(used) == len(set(used))
    for own in found:  # no job of several lies across both sockets
        assert concurrent == 1 or len({core // 8 for core in own}) == 1


@pytest.mark.parametrize(
    ("placement", "concurrent", "expected"),
    [
        ("all-cores", 1, ["0-7"]),
        ("all-cores", 2, ["0-3", "4-7"]),
        ("all-cores", 4, ["0-1", "2-3", "4-5", "6-7"]),
        ("all-cores", 8, ["0", "1", "2", "3", "4", "5", "6", "7"]),
        ("half-sockets", 1, ["0-1,4-5"]),
        ("half-sockets", 2, ["0-1", "4-5"]),
    ],
)
def test_cores__each_job_has_its_own(placement: str, concurrent: int, expected: list[str]) -> None:
    assert [ranges(own) for own in NODE.jobs(placement, concurrent)] == expected


def test_cores__odd_core_of_a_socket_stays_idle() -> None:
    found = Cores.declared(["0-6", "7-13"]).jobs("all-cores", 4)
    assert [ranges(own) for own in found] == ["0-2", "3-5", "7-9", "10-12"]
    # Sockets of different size: sets of one size come before sets within a socket.
    found = Cores.declared(["0-3", "4-11"]).jobs("all-cores", 4)
    assert [ranges(own) for own in found] == ["0-2", "3-5", "6-8", "9-11"]


def test_cores__ranks_share_them_in_blocks() -> None:
    assert cores.ranks([0, 1, 4, 5], 2) == [[0, 1], [4, 5]]
    assert cores.ranks([0, 1, 2, 3, 4, 5, 6, 7], 3) == [[0, 1], [2, 3], [4, 5]]
    assert cores.ranks([0, 1], 3) == [[0], [1], [0]]


def test_cores__of_this_machine_leaves_second_threads_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for cpu, (package, siblings) in enumerate([(0, "0,2"), (1, "1,3"), (0, "0,2"), (1, "1,3")]):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n")
        (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    assert Cores.of_this_machine(tmp_path).sockets == ((0,), (1,))


def test_jobs__command_environment_and_head(changed: Changed) -> None:
    found = only(changed, "nodes: 2, ranks_per_node: 2, mpi: ompi, profiler: ipm")
    (job,) = found.jobs
    assert found.modules == ["openmpi/4.1.4", "ipm"]
    assert found.environment == {
        "OMP_NUM_THREADS": "1",
        # A second mpirun of a run would wait for the end of the first: its step takes the nodes alone.
        "SLURM_OVERLAP": "1",
        "UCX_NET_DEVICES": "mlx5_0:1",
        "LICENCE": "host",
        "IPM_REPORT": "full",
        "IPM_LOG": "full",
        "IPM_LOGDIR": ".",
    }
    at = job.command.index("sh")
    assert job.command[at:] == [
        "sh", str(BIND), "0-3/4-7", "/opt/ipm/lib/libipm.so", "/opt/alpha/ompi",
        "--size=3", "--ranks=4", "--price=$5",
    ]  # fmt: skip
    assert job.files == {"alpha.in": "size 3\n"}
    keys = (
        "application",
        "case",
        "nodes",
        "ranks",
        "mpi",
        "interconnect",
        "profiler",
        "local_size",
        "timing",
    )
    assert [job.head[key] for key in keys] == [
        "alpha", "small", 2, 4, "Open MPI 4.1.4", "ib", "ipm", 16, True,
    ]  # fmt: skip


def test_jobs__concurrent_jobs_have_records_and_cores_of_their_own(changed: Changed) -> None:
    found = only(changed, "concurrent_jobs: 2, ranks_per_node: 2, mpi: mpich")
    first, second = found.jobs
    assert second.name == f"{first.name}.2"
    assert (first.cores, second.cores) == (["0-1", "2-3"], ["4-5", "6-7"])
    assert (first.head["job_of_run"], second.head["concurrent_jobs"]) == (1, 2)


def test_jobs__container_and_inputs(changed: Changed) -> None:
    found = only(changed, "mpi: ompi", ("application: alpha", "application: beta"), case="only")
    (job,) = found.jobs
    at = job.command.index("apptainer")
    assert job.command[at - 1 :] == [
        "-",
        "apptainer",
        "exec",
        "--bind",
        "/data/beta",
        "/images/beta.sif",
        "/opt/beta",
        "i=/data/beta/in.k",
    ]
    assert list(job.head["inputs"]) == ["/data/beta/in.k"]


def test_jobs__profiler_is_refused_where_it_cannot_be_preloaded(changed: Changed) -> None:
    more = (("application: alpha", "application: beta"),)
    with pytest.raises(ConfigError, match="beta takes no profiler; use profiler: none"):
        only(changed, "mpi: ompi, profiler: ipm", *more, case="only")


def test_jobs__tuning_of_the_lsdyna_report(changed: Changed) -> None:
    found = only(changed, "mpi: ompi, tuning: fca-mxm")
    # As printed: -mca mtl mxm -mca pml cm -mca mtl_mxm_np 0 -x MXM_TLS=ud,shm,self, -mca coll_fca_enable 1
    assert found.environment["OMPI_MCA_mtl"] == "mxm"
    assert found.environment["OMPI_MCA_mtl_mxm_np"] == "0"
    assert found.environment["OMPI_MCA_coll_fca_enable"] == "1"
    assert found.environment["MXM_SHM_RNDV_THRESH"] == "32768"
    command = found.jobs[0].command
    assert "MXM_TLS" in command[command.index("-x") :]


def test_jobs__every_preset_says_why_and_for_whom() -> None:
    tunings = models.load(Presets, PRESETS).tuning
    assert len(tunings) == 13
    assert all(preset.why for preset in tunings.values())
    assert all(preset.families for name, preset in tunings.items() if name != "default")
    # What each family reads: a variable of another one would change nothing and be taken for a tuning.
    read = {
        "openmpi": ("OMPI_MCA_", "MXM_", "fca_"),
        "hpcx": ("OMPI_MCA_", "MXM_", "fca_", "HCOLL_", "UCX_"),
        "mvapich2": ("MV2_",),
        "intelmpi": ("I_MPI_",),
        "platformmpi": (),
    }
    for name, preset in tunings.items():
        for family in preset.families:
            own = [variable.startswith(read[family]) for variable in preset.environment]
            assert all(own), (name, family)


@pytest.mark.parametrize("tuning", ["no-rdma-fast-path", "shm-ofa", "xrc", "sharp", "hcoll", "no-hcoll"])
def test_jobs__preset_of_another_library_is_refused(changed: Changed, tuning: str) -> None:
    with pytest.raises(ConfigError, match=f"tuning '{tuning}' is not for openmpi; it is for"):
        only(changed, f"mpi: ompi, tuning: {tuning}")


def test_jobs__two_profilers_in_one_run_are_refused(changed: Changed) -> None:
    with pytest.raises(ConfigError, match="never two in one run, for each would measure the other"):
        only(changed, "mpi: ompi, profiler: ipm+mpip")


def test_workflow__resources_of_a_run(changed: Changed, base: Path) -> None:
    declared = changed(("nodes: [1, 2, 4]", "nodes: [1, 4]"), ("interconnect: ib", "interconnect: eth"))
    run = next(r for r in expand(declared).runs if r.factors["mpi"] == "ompi" and r.nodes == 4)
    assert resources("c", run.name, base) == {
        "nodes": 4,
        "tasks": 32,
        "cpus_per_task": 1,
        "mem_mb": 2000,
        "runtime": 10,
        "slurm_extra": "--exclusive --ntasks-per-node=8",
        "constraint": "quiet&haswell",
        "slurm_partition": "slow",
        "slurm_account": "",
    }


def test_declarations__campaign_without_matrix_is_named(base: Path) -> None:
    path = base / "config/campaigns/c.yaml"
    path.write_text("title: t\nevidence: measured\nhardware: h\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"c.yaml:1: has no matrix; declare the runs"):
        load("c", base)


def test_cores__half_of_a_socket_of_two_is_one_and_of_one_is_none() -> None:
    assert Cores(((0, 1), (2, 3))).placed("half-sockets") == [[0], [2]]
    assert Cores(((0, 1, 2), (3,))).placed("half-sockets") == [[0]]
    assert Cores(((0, 1), (2,))).placed("all-cores") == [[0, 1], [2]]
