"""The number of GPUs of a run: from outputs, scripts, launch lines, variables and names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.cli import main
from analysis.importing import launch, scheduler
from tests.readers.merits.texts import TEXTS

from .test_import import Imported, imported, log, project
from .test_names import SCRIPT

__all__ = ["imported", "project"]

BOUND = "Pe {0} physical rank {0} binding to CUDA device {1} on {2}: 'Tesla V100'  Mem: 16130MB  Rev: 7.0\n"
DEVICE = "Device {}: Tesla V100-SXM2-32GB, 80 CUs, 29/32 GB, 1.5 GHZ (Mixed Precision)\n"
HPL_ROW = ("5.0800e+02\n", "5.0800e+02 ( 1.2700e+02)\n")  # as NVIDIA's program adds it
# Of nodes that GROMACS, NAMD and LAMMPS print the first, or the first two.
OUTPUTS: dict[str, tuple[str, str, int]] = {
    "gromacs": ("Started mdrun", "On host n1 4 GPUs selected for this run.\nStarted mdrun", 8),
    "namd": ("Info: NAMD", BOUND.format(0, 0, "n1") + BOUND.format(1, 1, "n1") + "Info: NAMD", 4),
    "hpl": (*HPL_ROW, 4),
    "hpl_mxp": ("GFLOPS", "GFLOPS", 4),
    "nccl": ("Rank", "Rank", 2),
}  # fmt: skip


@pytest.mark.parametrize("engine", OUTPUTS)
def test_gpus__an_output_counts_them(tmp_path: Path, imported: Imported, engine: str) -> None:
    old, new, count = OUTPUTS[engine]
    assert old in TEXTS[engine]
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.out").write_text(TEXTS[engine].replace(old, new, 1))
    (record,) = imported(tmp_path / "tree").values()
    assert record["gpus"] == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("user-selected for this run.", "#0, #0", 2),  # two ranks on two GPUs
        ("user-selected for this run: #0, #0", "", None),  # one GPU, named twice, before 5.0
        ("auto-selected for this run: #0, #1", "", 2),
    ],
)
def test_gpus__gromacs_before_2018(
    tmp_path: Path, imported: Imported, old: str, new: str, count: int | None
) -> None:
    text = TEXTS["gromacs"].replace("on 2 nodes", "on 1 node")
    own = f"2 GPUs {old}\nMapping of GPUs to the 2 PP ranks in this node: {new}\n"
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "md.log").write_text(text.replace("Started", f"{own}Started"))
    (record,) = imported(tmp_path / "tree").values()
    assert record.get("gpus") == count


def on_gpus(count: int, seconds: float, *, printed: bool) -> str:
    """What LAMMPS writes on GPUs of a node: the command that it was given, and the list of them."""
    listed = "".join(map(DEVICE.format, range(count))) if printed else ""
    return log(seconds).replace("units", f"package gpu {0 if printed else count}\n{listed}units", 1)


@pytest.mark.parametrize("printed", [True, False])
def test_gpus__a_scaling_over_gpus_has_no_repeats(tmp_path: Path, imported: Imported, printed: bool) -> None:
    """Each has its own folder, as repeats have; the launch line differs in nothing but the GPUs."""
    for at, count in enumerate((1, 2, 4, 4)):
        folder = tmp_path / "tree" / f"run-{at + 1}"
        folder.mkdir(parents=True)
        (folder / "log.lammps").write_text(on_gpus(count, 9.5 + at / 10, printed=printed))
        line = f"mpirun -np 4 lmp -sf gpu -pk gpu {count} -in in.lj\n"
        (folder / "job.sh").write_text(SCRIPT.format(nodes=1, ranks=4).replace("srun lmp -i in.lj\n", line))
    found = imported(tmp_path / "tree")
    told = [(one["gpus"], one["repeat"], one.get("options")) for _, one in sorted(found.items())]
    assert told == [(1, 1, None), (2, 1, None), (4, 1, None), (4, 2, None)]


@pytest.mark.parametrize(
    ("asked", "nodes", "count"),
    [
        ("#SBATCH --gres=gpu:4\n", 2, 8),
        ("#SBATCH --gres=gpu\n", 2, 2),
        ("#SBATCH --gres=lustre,gpu:a100\n", 1, 1),
        ("#SBATCH --gpus-per-task=1\n", 2, 4),
        ("#SBATCH --gpus=v100:2\n", 1, 2),
        ("#SBATCH -G a100:8\n", 2, 8),
        ("export CUDA_VISIBLE_DEVICES=0,1,2\n", 1, 3),
        ("export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\n", 1, None),
        ("case $r in 0) CUDA_VISIBLE_DEVICES=0;; 1) CUDA_VISIBLE_DEVICES=1;; esac\n", 1, None),
    ],
)
def test_gpus__a_script_asks_for_them(
    tmp_path: Path, imported: Imported, asked: str, nodes: int, count: int | None
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "log.lammps").write_text(log(9.5))
    script = SCRIPT.format(nodes=nodes, ranks=4)
    (tree / "job.sh").write_text(script.replace("module load", f"{asked}module load"))
    (record,) = imported(tree).values()
    assert (record.get("gpus"), record.get("options")) == (count, None)


@pytest.mark.parametrize(
    ("line", "ranks", "gpus"),
    [
        ("jsrun -n 6 -a1 -g1 -c 7 ./lmp -in in.lj", 6, 6),
        ("jsrun -n2 -r 2 -a 21 -g 3 -c 21 ./lmp -k on g 3", 42, 6),
        ("jsrun --nrs=4 --tasks_per_rs 2 --gpu_per_rs 1 /opt/lmp", 8, 4),
        ("jsrun -n 4 ./perf -g 1", 4, None),
        ("srun --gres=gpu ./lmp", None, None),
    ],
)
def test_of_line__jsrun_counts_sets_of_tasks_and_gpus(line: str, ranks: int | None, gpus: int | None) -> None:
    found = launch.of_line(line)
    assert (found.get("ranks"), found.get("gpus")) == (ranks, gpus)
    assert found.get("gpus_per_node") == (1 if "gres" in line else None)


@pytest.mark.parametrize(
    ("engine", "old", "new", "option"),
    [
        ("hpl", "HPLinpack 2.3", "HPL-NVIDIA 25.4.0  -- NVIDIA\nHPLinpack 2.3", "HPL-NVIDIA=25.4.0"),
        ("babelstream", "NVIDIA A100-SXM4-40GB", "Tesla V100", "device=Tesla V100"),
        (
            "quantum_espresso",
            "     Program PWSCF",
            "     GPU acceleration is ACTIVE.  2 visible GPUs per MPI rank\n     Program PWSCF",
            "visible_gpus_per_rank=2",
        ),
        (
            "cp2k",
            " GLOBAL| Run type",
            " DBCSR| ACC: Number of devices/node  4\n GLOBAL| Run type",
            "visible_gpus_per_node=4",
        ),
    ],
)
def test_gpus__that_a_program_sees_are_an_option(
    engine: str, old: str, new: str, option: str, tmp_path: Path, project: Path
) -> None:
    """It need not use them: a rank may see those of all ranks of its node."""
    assert old in TEXTS[engine]
    for at, text in enumerate((TEXTS[engine], TEXTS[engine].replace(old, new, 1))):
        (tmp_path / "tree" / f"{at}").mkdir(parents=True)
        (tmp_path / "tree" / f"{at}" / "a.out").write_text(text + "\n" * at)
    assert main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes"]) == 0
    found = [json.loads(path.read_text()) for path in project.glob("data/raw/mine/runs/*/run.json")]
    assert any(option in one.get("options", "") for one in found)
    assert len({one.get("options") for one in found}) == 2


def test_gpus__of_a_node_without_nodes_keep_runs_apart(tmp_path: Path, imported: Imported) -> None:
    for count in (2, 4):
        folder = tmp_path / "tree" / f"run-{count // 2}"
        folder.mkdir(parents=True)
        (folder / "log.lammps").write_text(on_gpus(count, 9.5 + count / 10, printed=True))
    found = [one for _, one in sorted(imported(tmp_path / "tree").items())]
    assert [one.get("gpus") for one in found] == [None, None]
    assert [one["options"] for one in found] == ["gpus_per_node=2", "gpus_per_node=4"]


@pytest.mark.parametrize(
    ("names", "nodes", "facts"),
    [
        (("1gpu", "4gpus"), 1, [(1, None), (4, None)]),
        (("ngpus-1", "ngpus-4"), 1, [(1, None), (4, None)]),
        # Of each node, or of all: 4 ranks do not say it.
        (("2gpus", "4gpus"), 2, [(None, "gpus=2"), (None, "gpus=4")]),
    ],
)
def test_gpus__names_count_them(
    tmp_path: Path, imported: Imported, names: tuple[str, str], nodes: int, facts: list[Any]
) -> None:
    for at, name in enumerate(names):
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True)
        (folder / "log.lammps").write_text(log(9.5 + at))
    found = imported(tmp_path / "tree", "--set", f"nodes={nodes}")
    assert [(one.get("gpus"), one.get("options")) for _, one in sorted(found.items())] == facts


@pytest.mark.parametrize(
    ("line", "facts", "rest"),
    [
        ("srun --gres=gpu:a100:4 -n 8 ./lmp", {"gpus_per_node": 4}, "srun -n 8 ./lmp"),
        ("srun --gres=lscratch:10,gpu:1080ti:2 ./lmp", {"gpus_per_node": 2}, "srun ./lmp"),
        ("srun --gpus-per-task=1 -n 8 ./lmp", {"gpus_per_rank": 1}, "srun -n 8 ./lmp"),
        ("srun --gpus 8 ./lmp", {"gpus": 8}, "srun ./lmp"),
        ("mpirun lmp -k on t 2 g 4 -sf kk", {"gpus_per_node": 4}, "mpirun lmp -sf kk"),
        ("mpirun lmp -pk gpu 0 neigh no", {}, "mpirun lmp -pk gpu 0 neigh no"),
        ("mpirun ./all_reduce_perf -b 8 -g 8 -f 2", {}, "mpirun ./all_reduce_perf -b 8 -f 2"),
        ("mpirun ./miniFE -g 8", {}, "mpirun ./miniFE -g 8"),
        ("mpirun gmx_mpi mdrun -gpu_id 0123 -nb gpu", {}, "mpirun gmx_mpi mdrun -nb gpu"),
        ("mpirun gmx_mpi mdrun -gpu_id 23", {}, "mpirun gmx_mpi mdrun -gpu_id 23"),
        ("mpirun -x CUDA_VISIBLE_DEVICES=0,1 ./lmp", {}, "mpirun ./lmp"),
    ],
)  # fmt: skip
def test_gpus__of_a_launch_line(line: str, facts: dict[str, int], rest: str) -> None:
    stated = launch.of_line(line)
    assert {name: stated[name] for name in launch.GPUS if name in stated} == facts
    assert launch.without_gpus(line) == rest


def test_gpus__of_batch_systems() -> None:
    def asked(text: str) -> Any:
        return scheduler.requested(text).get("gpus_per_node")

    assert asked("#PBS -l select=2:ncpus=64:mpiprocs=4:ngpus=4:mem=1gb\n") == 4
    assert asked("#PBS -l nodes=2:ppn=16:gpus=2\n") == 2
    assert asked('#BSUB -gpu "num=4:mode=exclusive_process"\n') == 4
    assert asked('#BSUB -gpu "num=1/task"\n') is None
    tres = "JobId=12 JobName=a\n   NumNodes=2\n   AllocTRES=cpu=8,node=2,gres/gpu=8,gres/gpu:v100=8\n"
    assert scheduler.reported(f"{tres} NodeList=a[1-2]\n")[0]["gpus"] == 8
    assert scheduler.reported("SLURM_JOB_ID=7\nSLURM_GPUS_ON_NODE=4\n")[0]["gpus_per_node"] == 4
