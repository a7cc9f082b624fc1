"""Names of files, and files that only look like outputs, as strangers' trees have them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.importing import scripts
from analysis.importing.words import _said_once

from .test_import import Imported, imported, log, project

__all__ = ["imported", "project"]

STREAM = (
    "STREAM version $Revision: 5.10 $\nArray size = 1000 (elements), Offset = 0 (elements)\n"
    "Copy:           38537.{0}     0.004284     0.004152     0.004460\n"
    "Scale:          38537.{0}     0.004284     0.004152     0.004460\n"
    "Add:            57805.{0}     0.004284     0.004152     0.004460\n"
    "Triad:          57805.{0}     0.004284     0.004152     0.004460\n"
    "Solution Validates: avg error less than 1.000000e-13 on all three arrays\n"
)
SCRIPT = "#!/bin/sh\n#SBATCH -N {nodes}\n#SBATCH -n {ranks}\nmodule load openmpi/4.1.4\nsrun lmp -i in.lj\n"


def lammps(ranks: int, seconds: float) -> str:
    return log(seconds).replace("4 MPI tasks", f"{ranks} MPI tasks")


def barrier(latency: str) -> str:
    return f"# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n            {latency}\n"


def flux(nodes: int, each: int) -> str:
    """What Flux writes of a job below its output."""
    shell = '{"timestamp":1724285075.5,"name":"shell.init","context":{"size":%d}}'
    tasks = (
        '{"timestamp":1724285075.6,"name":"shell.start",'
        '"context":{"taskmap":{"version":1,"map":[[0,%d,%d,1]]}}}'
    )
    return f"\n{shell % nodes}\n{tasks % (nodes, each)}\n"


@pytest.mark.parametrize("word", ["n", "N", "N="])
def test_import__a_number_behind_n_is_that_of_nodes_where_a_script_says_so(
    word: str, tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    for nodes in (1, 2, 4):
        folder = tmp_path / "tree" / f"ompi-{word}{nodes}"
        folder.mkdir(parents=True)
        (folder / "job.sh").write_text(f"#!/bin/bash\n#SBATCH -N {nodes}\nsrun lmp -in in.lj\n")
        (folder / "slurm-17.out").write_text(lammps(nodes * 16, 9.5 / nodes + 0.1))
    found = imported(tmp_path / "tree").values()
    assert sorted((one["nodes"], one["ranks_per_node"]) for one in found) == [(1, 16), (2, 16), (4, 16)]
    assert not any(one.get("tuning") for one in found)
    assert "not understood" not in capsys.readouterr().out


def test_import__numbers_that_go_with_ranks_tell_nothing_apart(
    tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes, ranks, repeat: `16-256-1`. Outputs state the second; the first is one with it."""
    tree = tmp_path / "tree"
    for at, (place, nodes, repeat) in enumerate(
        (place, nodes, repeat) for place in ("bare", "container") for nodes in (4, 8) for repeat in (1, 2, 3)
    ):
        (tree / place).mkdir(parents=True, exist_ok=True)
        name = f"lammps-{nodes}-{nodes * 16}-{repeat}.out"
        (tree / place / name).write_text(lammps(nodes * 16, 9.5 + at / 100))
        name = f"osu_barrier-{nodes}-{nodes * 16}-{repeat}.out"
        (tree / place / name).write_text(barrier(f"{30 + at}.25"))
    found = imported(tree)
    assert len(found) == 24
    assert {(one["application"], one["tuning"], one["ranks"]) for one in found.values()} == {
        (application, place, ranks)
        for application in ("lammps", "osu")
        for place in ("bare", "container")
        for ranks in (64, 128)
    }
    assert all(one["repeat"] == int(name.split("-")[-1].split(".")[0]) for name, one in found.items())
    assert not any("nodes" in one for one in found.values())  # 16 ranks each could be another thing
    asked = "4, 8 change with the number of ranks, and are not used; if they are nodes with 16 ranks each"
    out = capsys.readouterr().out
    assert asked in out
    assert "bare, container not understood, used as tuning" in out
    assert "to say what each folder means, give --pattern" in out


def test_import__a_benchmark_in_two_words_is_no_other_word(tmp_path: Path, imported: Imported) -> None:
    table = "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n4    {}\n8    12.25\n"
    for at, place in enumerate(("bare", "container")):
        (tmp_path / "tree" / place).mkdir(parents=True)
        (tmp_path / "tree" / place / "all_reduce-4.out").write_text(table.format(10.5 + at))
        (tmp_path / "tree" / place / "osu-barrier-8.out").write_text(barrier(f"{30 + at}.25"))
    tunings = {(one["case"], one["tuning"]) for one in imported(tmp_path / "tree").values()}
    assert {(case, text.split("/")[0]) for case, text in tunings} == {
        (case, place) for case in ("osu_allreduce", "osu_barrier") for place in ("bare", "container")
    }
    assert not any("reduce" in text for _, text in tunings)


def test_import__a_barrier_that_took_as_long_is_no_copy(tmp_path: Path, imported: Imported) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for at, latency in enumerate(("94.15", "94.15", "94.16", "94.15")):
        (tree / f"osu_barrier-{at + 1}.out").write_text(barrier(latency))
    (tree / "kept").mkdir()
    (tree / "kept" / "osu_barrier-1.out").write_text(barrier("94.15"))
    names = {name.rpartition("/")[2] for name in imported(tree)}
    assert names == {f"osu_barrier-{at}.out#" for at in (1, 2, 3, 4)}  # the file kept twice once


def test_import__a_barrier_of_another_folder_with_other_files_is_no_copy(
    tmp_path: Path, imported: Imported
) -> None:
    for place, latencies in (("bare", ("94.15", "94.20")), ("container", ("94.15", "95.20"))):
        for at, latency in enumerate(latencies, 1):
            path = tmp_path / "tree" / place / f"osu_barrier-4-64-{at}.out"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(barrier(latency))
    assert len(imported(tmp_path / "tree")) == 4


@pytest.mark.parametrize(("nodes", "taken"), [(4, None), (1, 1)])
def test_import__a_script_with_other_ranks_does_not_place_an_output(
    nodes: int, taken: int | None, tmp_path: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "bench.sh").write_text(SCRIPT.format(nodes=nodes, ranks=16))
    (tree / "slurm-101.out").write_text(lammps(16, 9.5))
    (tree / "slurm-102.out").write_text(lammps(8, 9.7))
    found = imported(tree)
    same, other = found["slurm-101.out#"], found["slurm-102.out#"]
    assert (same["nodes"], same["ranks"], same["mpi"]) == (nodes, 16, "Open MPI 4.1.4")
    assert (other.get("nodes"), other["ranks"], other["mpi"]) == (taken, 8, "Open MPI 4.1.4")


def test_import__a_program_is_no_output(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    words = b"#      Intel(R) MPI Benchmarks 2019\n# Benchmarking PingPong\n"
    (tree / "IMB-MPI1").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(64) + words)
    cli.main(["import", str(tree), "--as", "mine", "--json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "ELF program" in json.dumps(told["unplaced"])


def test_import__halves_in_names_are_no_repeats(tmp_path: Path, imported: Imported) -> None:
    """`0_5` is a half of a node: its zero counts nothing."""
    tree = tmp_path / "tree"
    for at, part in enumerate(("1", "2", "4", "0_25", "0_5", "1_0")):
        (tree / f"Biband_{part}").mkdir(parents=True)
        (tree / f"Biband_{part}" / "job.out").write_text(lammps(64, 9.5 + at / 10))
    found = imported(tree)
    assert {one["repeat"] for one in found.values()} == {1}
    assert len({one["tuning"] for one in found.values()}) == 6


def test_import__a_number_that_the_output_contradicts_is_another_thing(
    tmp_path: Path, imported: Imported
) -> None:
    """`lj-2018` was run on 2 nodes: a year, and no reason to lose the run."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for ranks in (4, 8, 16, 32, 64):
        (tree / f"lj-{ranks}.out").write_text(lammps(ranks, 9.5 + ranks / 100))
    (tree / "lj-2018.out").write_text(lammps(2, 7.25))
    found = imported(tree)
    assert {one["ranks"] for one in found.values()} == {2, 4, 8, 16, 32, 64}
    odd = found["lj-2018.out#"]  # lj is a case of LAMMPS
    assert (odd["case"], odd["tuning"]) == ("lj", "2018")


def test_import__the_count_that_all_outputs_confirm_is_meant(tmp_path: Path, imported: Imported) -> None:
    """Pairs have 2 ranks on 2 nodes, collectives 16 on each: `osu-8` is 8 nodes."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for at in range(1, 17):
        text = f"# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0 1.{at + 20}\n8 2.{at + 20}\n"
        (tree / f"osu-2-iter-{at}.out").write_text(text + flux(2, 1))
    for nodes in (8, 16):
        text = barrier(f"{30 + nodes}.25") + flux(nodes, 16)
        (tree / f"osu-{nodes}-iter-1.out").write_text(text)
    found = imported(tree)
    assert len(found) == 18
    assert {(one["nodes"], one["ranks"]) for one in found.values()} == {(2, 2), (8, 128), (16, 256)}


def test_import__a_size_is_nodes_only_with_one_number_of_ranks_each(
    tmp_path: Path, imported: Imported
) -> None:
    """In `size8/lj-8n` 128 ranks are 16 a node; `stream-1n` in the same folder ran on one node."""
    for at, nodes in enumerate((8, 16)):
        folder = tmp_path / "tree" / f"size{nodes}"
        folder.mkdir(parents=True)
        (folder / f"lj-{nodes}n.out").write_text(lammps(nodes * 16, 9.5 + at))
        (folder / f"cn-stream-1n-{at}.out").write_text(STREAM.format(at))
    found = imported(tmp_path / "tree")
    assert {one["nodes"] for one in found.values() if one["application"] == "stream"} == {1}
    counts = {(one["nodes"], one["ranks"]) for one in found.values() if one["application"] == "lammps"}
    assert counts == {(8, 128), (16, 256)}


def test_import__a_pair_in_a_folder_of_another_size_is_kept(tmp_path: Path, imported: Imported) -> None:
    """`size-4/` may be the cluster: OSU's pair in it ran on 2 nodes, as its record of Flux says."""
    for size in (4, 8, 16, 32, 64):
        folder = tmp_path / "tree" / f"size-{size}"
        folder.mkdir(parents=True)
        (folder / "all.out").write_text(barrier(f"{30 + size}.25") + flux(size, 16))
    pair = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0 1.20\n8 2.20\n"
    (tmp_path / "tree" / "size-4" / "pair.out").write_text(pair + flux(2, 1))
    found = imported(tmp_path / "tree")
    counts = {one["case"]: (one["nodes"], one["ranks"]) for name, one in found.items() if "size-4/" in name}
    assert counts == {"osu_barrier": (4, 64), "osu_latency": (2, 2)}


def test_import__a_folder_that_seems_to_count_ranks_tells_pairs_apart(
    tmp_path: Path, imported: Imported
) -> None:
    """`task01` is an exercise: OSU's pairs have two ranks, and two exercises are no repeats."""
    for task in (1, 2, 3):
        folder = tmp_path / "tree" / f"task0{task}"
        folder.mkdir(parents=True)
        pair = f"# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0 1.{task}0\n8 2.2{task}\n"
        (folder / "latency.log").write_text(pair)
        (folder / "README.install").write_text(pair)  # shows what the program prints
    found = imported(tmp_path / "tree")
    assert sorted((one["tuning"], one["ranks"], one["repeat"]) for one in found.values()) == [
        ("task01", 2, 1), ("task02", 2, 1), ("task03", 2, 1),
    ]  # fmt: skip


def test_import__a_loop_of_a_script_gives_each_output_the_values_in_its_name(
    tmp_path: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    loop = 'for f in 1500000 2000000; do\nsrun --cpu-freq=$f -n 4 ./lmp -in in.lj > "lj-${f}_$t.txt"\ndone\n'
    (tree / "job.sh").write_text(SCRIPT.format(nodes=1, ranks=4).replace("srun lmp -i in.lj\n", loop))
    for at, frequency in enumerate((1500000, 2000000)):
        for t in (1, 2):
            (tree / f"lj-{frequency}_{t}.txt").write_text(log(9.5 + at + t / 100))
    found = {name: (one["frequency"], one["repeat"]) for name, one in imported(tree).items()}
    assert found == {
        "lj-1500000_1.txt#": (1.5, 1), "lj-1500000_2.txt#": (1.5, 2),
        "lj-2000000_1.txt#": (2.0, 1), "lj-2000000_2.txt#": (2.0, 2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "file", "command"),
    [
        ("mpirun -np $n ./a > out.$n", "out.8", "mpirun -np 8 ./a > out.8"),
        ("mpirun -np $n ./a $s > r/$s-$n.txt", "lj-8.txt", "mpirun -np 8 ./a lj > r/lj-8.txt"),
        # Which part of the name is whose is not known; or the output is another's.
        ("mpirun -np $n ./a $s > $s$n.txt", "lj8.txt", None),
        ("mpirun -np $n ./a $s > $s-$n.txt", "a-b-8.txt", None),
        ("mpirun -np $n ./a > out.$n", "err.8", None),
    ],
)
def test_scripts__variables_of_a_launch_line_are_in_the_name_of_its_output(
    line: str, file: str, command: str | None
) -> None:
    facts = {"launch": line, "nodes": 2}
    found = scripts.of_file(facts, file)
    assert found == (facts if command is None else {"nodes": 2, "command": command, "ranks": 8})


def test_import__a_log_that_comes_with_lammps_was_not_made_by_the_script_next_to_it(
    tmp_path: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "bench.sh").write_text(SCRIPT.format(nodes=1, ranks=4))
    for at, name in enumerate(("log.26Jun12.lj.4", "log.6Oct2016.lj.4", "slurm-7.out", "log.lammps")):
        (tree / name).write_text(log(9.5 + at))
    found = {name: one.get("mpi") for name, one in imported(tree).items()}
    assert found == {
        "log.26Jun12.lj.4#": None, "log.6Oct2016.lj.4#": None,
        "slurm-7.out#": "Open MPI 4.1.4", "log.lammps#": "Open MPI 4.1.4",
    }  # fmt: skip


def test_import__a_number_that_goes_with_the_repetition_counts_jobs(
    tmp_path: Path, imported: Imported
) -> None:
    for folder, first in (("one", 35), ("two", 16)):
        (tmp_path / "tree" / folder).mkdir(parents=True)
        for at in range(4):
            name = f"lj-{first + at}-iter-{at + 1}.out"
            (tmp_path / "tree" / folder / name).write_text(log(9.5 + at / 100 + first))
    found = imported(tmp_path / "tree")
    assert sorted((one["tuning"], one["repeat"]) for one in found.values()) == [
        (folder, at) for folder in ("one", "two") for at in (1, 2, 3, 4)
    ]


def test_import__a_rerun_does_not_make_numbers_of_jobs_a_setting(tmp_path: Path, imported: Imported) -> None:
    """Jobs 44 to 46 are repetitions 1 to 3 and 47 is the first once more; Flux writes letters."""
    for folder, jobs in (("one", "35-1 36-2 37-3"), ("two", "44-1 45-2 46-3 47-1"), ("three", "13-1 14-2")):
        (tmp_path / "tree" / folder).mkdir(parents=True)
        for job, repeat in (one.split("-") for one in jobs.split()):
            path = tmp_path / "tree" / folder / f"lj-{job}-iter-{repeat}.out"
            path.write_text(log(9.5 + int(job) / 100))
    (tmp_path / "tree" / "one" / "lj-iter-4-ƒ7UbR7vmd.out").write_text(log(9.25))
    found = imported(tmp_path / "tree")
    assert Counter(one["tuning"] for one in found.values()) == {"one": 4, "two": 4, "three": 2}
    assert sorted(one["repeat"] for one in found.values() if one["tuning"] == "two") == [1, 2, 3, 4]


def test_import__outputs_confirm_a_number_for_names_of_their_own_form(
    tmp_path: Path, imported: Imported
) -> None:
    """`lj-8-iter-1` ran on 8 nodes; in `osu-8n-14-iter-1` 14 is another thing."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for nodes in (8, 16):
        for at in range(1, 6):
            seconds = 9.5 + nodes + at / 100
            (tree / f"lj-{nodes}-iter-{at}.out").write_text(lammps(nodes * 16, seconds) + flux(nodes, 16))
    for at, (nodes, job) in enumerate(((8, 14), (8, 15), (16, 20))):
        (tree / f"lj-{nodes}n-{job}-iter-{at + 1}.out").write_text(lammps(nodes * 16, 30.5 + at))
        (tree / f"osu-{nodes}n-{job}-iter-{at + 1}.out").write_text(barrier(f"{at + 20}.25"))
    found = imported(tree)
    counts = Counter((one["application"], one["nodes"]) for one in found.values())
    assert counts == {("lammps", 8): 7, ("lammps", 16): 6, ("osu", 8): 2, ("osu", 16): 1}


def test_import__folders_of_clouds_are_clusters_and_what_is_in_them_a_setting(
    tmp_path: Path, imported: Imported
) -> None:
    for at, folder in enumerate(("aws/eks", "aws/hpc", "azure/aks")):
        (tmp_path / "tree" / folder).mkdir(parents=True)
        (tmp_path / "tree" / folder / "lj.out").write_text(log(9.5 + at))
    found = imported(tmp_path / "tree")
    levels = sorted((one["cluster"], one["tuning"]) for one in found.values())
    assert levels == [("AWS", "eks"), ("AWS", "hpc"), ("Azure", "aks")]


def test_import__many_benchmarks_in_one_file_are_runs_and_copies_at_once_are_one(
    tmp_path: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    table = "# OSU MPI {} Test v5.8\n# Size      us\n4    {}.25\n8    {}.5\n"
    pairs = [table.format(what, at + 10, at + 12) for at in range(30) for what in ("Latency", "Bandwidth")]
    (tree / "pairs.out").write_text("".join(pairs))
    record = '{"timestamp":1.5,"name":"shell.start","context":{"taskmap":{"version":1,"map":[[0,1,3,1]]}}}\n'
    (tree / "flux.out").write_text("".join(STREAM.format(at) for at in (1, 2, 3)) + record)
    found = imported(tree)
    assert len(found) == 61
    assert [one["ranks"] for one in found.values() if one["application"] == "stream"] == [3]


def test_import__of_two_equal_files_the_one_with_the_fitting_name_counts(
    tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other one, first by its name, states 8 ranks where the output states 4."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("lj-8ranks.out", "other-4ranks.out"):
        (tree / name).write_text(log(9.5))
    found = imported(tree)
    assert [(name, one["ranks"]) for name, one in found.items()] == [("other-4ranks.out#", 4)]
    told = capsys.readouterr()
    why = "its path says ranks 8 ('8ranks'), its output 4; it is a copy of other-4ranks.out"
    assert f"lj-8ranks.out: {why}" in told.out


def test_import__a_word_between_two_numbers_is_of_the_second_if_the_first_has_one(
    tmp_path: Path, imported: Imported
) -> None:
    """`stream-1-iter-3-node-2` is the third repetition on the second node."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for repeat in (1, 2, 3):
        for node in (1, 2, 3, 4):
            text = STREAM.format(f"{repeat}{node}") + flux(1, 88)
            (tree / f"stream-1-iter-{repeat}-node-{node}-11240399175{repeat}{node}.out").write_text(text)
    found = imported(tree)
    assert Counter(one["node_list"] for one in found.values()) == {f"node-{node}": 3 for node in (1, 2, 3, 4)}
    assert sorted(one["repeat"] for one in found.values()) == [*range(1, 13)]
    assert all(f"iter-{(one['repeat'] + 3) // 4}-" in name for name, one in found.items())
    assert {one["nodes"] for one in found.values()} == {1}


def test_import__a_second_word_for_a_factor_that_is_known_distinguishes_runs(
    tmp_path: Path, imported: Imported
) -> None:
    """A path with two words for settings, and one dump in the root for folders of two processors."""
    for folder in ("tuned/rome/ucx", "tuned/rome/verbs", "tuned/skylake/ucx", "tuned/skylake/verbs"):
        for at in (1, 2):
            file = tmp_path / "tree" / folder / f"lj-run{at}.out"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(log(9.5 + at + len(folder) / 100))
    (tmp_path / "tree" / "lscpu.txt").write_text("CPU(s):   48\nModel name:   Xeon(R) Gold 6148\n")
    found = imported(tmp_path / "tree")
    counts = Counter((one["cpu"], one["tuning"]) for one in found.values())
    assert counts == {(cpu, f"tuned/{how}"): 2 for cpu in ("rome", "skylake") for how in ("ucx", "verbs")}


def test_import__a_folder_that_denies_the_folder_above_is_named(
    tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    for link, numbers in (("c5n-efa", range(3)), ("c5n-no-efa", range(3, 6))):
        for at in numbers:
            folder = tmp_path / "tree" / link / "size-64-efa"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"lj-{at}.log").write_text(log(9.5 + at / 10))
    found = imported(tmp_path / "tree")
    assert Counter(one["interconnect"] for one in found.values()) == {"efa": 3, "no-efa": 3}
    assert {one["host_group"] for one in found.values()} == {"c5n"}
    out = capsys.readouterr().out
    assert "level 2 of the path: efa contradicts no-efa in the paths of 3 runs: check it" in out


def test_import__words_for_the_processor_that_outputs_state_are_no_tuning(
    tmp_path: Path, imported: Imported
) -> None:
    for name, brand in (("skylake", "Xeon(R) Gold 6148"), ("rome", "EPYC 7742")):
        for at in (1, 2):
            file = tmp_path / "tree" / name / f"lj-run{at}.out"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"CPU(s): 48\nModel name:   {brand}\n{log(9.5 + at + len(name) / 100)}")
    found = imported(tmp_path / "tree").values()
    assert Counter((one["cpu"], one.get("tuning")) for one in found) == {
        ("Xeon Gold 6148", None): 2,
        ("EPYC 7742", None): 2,
    }


def bandwidth(first: float) -> str:
    """Return what osu_bw prints: neither ranks nor nodes."""
    rows = (f"{2**at:<10}{first * (at + 1):.2f}\n" for at in range(23))
    return f"# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n{''.join(rows)}"


@pytest.mark.parametrize(
    ("script", "nodes"),
    [
        ("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\nsrun ./osu_bw\n", 2),
        ("#SBATCH --ntasks=2\n#SBATCH --ntasks-per-node=1\nsrun ./osu_bw\n", 2),
        ("#SBATCH --ntasks-per-node=2\nsrun ./osu_bw\n", 1),
        ("#SBATCH --nodes=4\nmpirun -np 2 --map-by ppr:1:node ./osu_bw\n", 2),
        ("#SBATCH --nodes=4\nsrun ./osu_allreduce\nsrun -N2 --ntasks-per-node=1 ./osu_bw\n", 2),
        ("#SBATCH --nodes=4\nsrun ./$b\nsrun -N2 -n2 ./$b -m 4:8 > ../out/bw.txt\n", 2),
    ],
)
def test_import__the_nodes_of_a_pair_of_ranks_are_those_of_its_launch(
    tmp_path: Path, imported: Imported, script: str, nodes: int
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "bw.txt").write_text(bandwidth(3.1))
    (tmp_path / "tree" / "job.sh").write_text(f"#!/bin/bash\n{script}")
    (one,) = imported(tmp_path / "tree").values()
    assert (one["nodes"], one["ranks"], one["ranks_per_node"]) == (nodes, 2, 2 // nodes)
    assert "tuning" not in one


def cp2k(project: str, ranks: int, seconds: float) -> str:
    """Return what CP2K prints of its problem and its time, in the layout of its standard output."""
    return (
        "  **** ****  PROGRAM STARTED AT               2024-05-14 11:01:33.100\n"
        " CP2K| version string:                                       CP2K version 2023.1\n"
        f" GLOBAL| Project name {project:>59}\n"
        f" GLOBAL| Total number of message passing processes {ranks:>30}\n"
        " GLOBAL| Number of threads for this process                                     2\n"
        f" CP2K                                 1  1.0    0.013    0.052  {seconds:.3f}  {seconds:.3f}\n"
        "  **** ****  PROGRAM ENDED AT                 2024-05-14 11:02:33.100\n"
    )


def test_import__cores_and_compilers_in_a_project_are_no_other_problem(
    tmp_path: Path, imported: Imported
) -> None:
    for build in ("gcc12", "aocc"):
        for ranks in (32, 64):
            for at in (1, 2):
                name = f"H2O-256-{2 * ranks}cores_{build}"
                file = tmp_path / "tree" / f"{name}-run{at}.out"
                file.parent.mkdir(exist_ok=True)
                file.write_text(cp2k(name, ranks, 40.0 + ranks / 100 + at + len(build) / 10))
    found = imported(tmp_path / "tree").values()
    assert {one["case"] for one in found} == {"task=? project=H2O-256 atoms=? functions=? electrons=?"}
    assert not any("tuning" in one or "options" in one for one in found)
    assert Counter((one["build"], one["ranks"]) for one in found) == {
        (build, ranks): 2 for build in ("gcc12", "aocc") for ranks in (32, 64)
    }


def test_import__a_queue_in_a_path_is_said_once(tmp_path: Path, imported: Imported) -> None:
    """As `case_gcc12_cpu-short`, where Slurm has the partition cpu-short."""
    for queue in ("cpu-short", "bigmem_long"):
        for at in (1, 2):
            file = tmp_path / "tree" / f"case_gcc12_{queue}" / f"run{at}.out"
            file.parent.mkdir(parents=True, exist_ok=True)
            job = f"SLURM_JOB_ID=12{at}{len(queue)}\nSLURM_JOB_PARTITION={queue}\n"
            file.write_text(job + log(9.5 + at + len(queue) / 100))
    found = imported(tmp_path / "tree").values()
    assert Counter((one["host_group"], one["build"], one.get("tuning")) for one in found) == {
        ("cpu-short", "gcc12", None): 2,
        ("bigmem_long", "gcc12", None): 2,
    }


def test_import__a_file_called_after_the_case_of_its_folder_has_no_tuning(
    tmp_path: Path, imported: Imported
) -> None:
    """As apps/CASTEP/al3x3/results/Athena/al3x3_16nodes.castep of hpc-uk/archer-benchmarks."""
    for case, atoms in (("al3x3", 4000), ("tin", 32000)):
        for at, file in enumerate((f"{case}_run1.out", f"{case}_run2.out", "results_run3.out")):
            path = tmp_path / "tree" / case / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(log(9.5 + at + atoms / 1e5).replace("4000 atoms", f"{atoms} atoms"))
    found = imported(tmp_path / "tree").values()
    assert Counter((one["case"], one.get("tuning")) for one in found) == {
        ("al3x3", None): 3,
        ("tin", None): 3,
    }


def test_import__nodes_that_ran_alone_are_hosts(tmp_path: Path, imported: Imported) -> None:
    """`node-12` counts nothing where Flux says one node; the node is no tuning, and no host group."""
    for node in range(5):
        for repeat in (1, 2):
            text = STREAM.format(10 * node + repeat) + (flux(1, 8) if node < 4 else "")
            (tmp_path / f"stream-1-iter-{repeat}-node-{node}.out").write_text(text)
    found = imported(tmp_path).values()
    assert not any("tuning" in one or "host_group" in one for one in found)
    assert Counter(one["node_list"] for one in found) == {f"node-{node}": 2 for node in range(5)}
    assert sorted(one["repeat"] for one in found if "ranks" in one) == [*range(1, 9)]


def test_import__few_numbers_of_nodes_are_no_hosts(tmp_path: Path, imported: Imported) -> None:
    for nodes in (1, 2, 4):
        (tmp_path / f"stream-node-{nodes}.out").write_text(STREAM.format(nodes) + flux(1, 8))
    assert not any("node_list" in one for one in imported(tmp_path).values())


def test_import__numbers_of_runs_on_two_nodes_are_no_hosts(tmp_path: Path, imported: Imported) -> None:
    """Five files `…-node-11` to `-15`: each program ran on two nodes, by Flux."""
    for node in range(11, 16):
        (tmp_path / f"stream-1-iter-1-node-{node}.out").write_text(STREAM.format(node) + flux(2, 8))
    found = imported(tmp_path).values()
    assert len(found) == 5
    assert not any("node_list" in one for one in found)


def test_import__a_level_says_each_word_once(tmp_path: Path, imported: Imported) -> None:
    """Words of a folder come back in the names below it; a denied word is another one."""
    places = ("mpi/bt/bt_mpi_a", "mpi/bt/bt_mpi_b", "mpi/no-warm/bt_mpi_warm", "omp/bt/bt_omp_a")
    for at, place in enumerate(places):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{place}.out").write_text(STREAM.format(10 + at))
    found = imported(tmp_path).values()
    assert sorted(one["tuning"] for one in found) == [
        "mpi/bt/a",
        "mpi/bt/b",
        "mpi/no-warm/bt-warm",
        "omp/bt/a",
    ]


def test_said_once__levels_stay_distinct() -> None:
    assert _said_once([("a", "a-b"), ("a", "b"), ("a", "a")]) == {
        ("a", "a-b"): "a/a-b",
        ("a", "b"): "a/b",
        ("a", "a"): "a",
    }


def build_of(runs: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str, int]]:
    return {
        name.partition("#")[0]: (one.get("build", ""), one.get("tuning", ""), one["repeat"])
        for name, one in runs.items()
    }


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("O3-xHost-ipo/a", "O2_march_native/a"), [("O3-xHost-ipo", ""), ("O2_march_native", "")]),
        (("gcc9/O2/a", "gcc9/O3/a"), [("gcc9 O2", ""), ("gcc9 O3", "")]),
        (("a-O0", "a-O2", "b-O2"), [("O0", "a"), ("O2", "a"), ("O2", "b")]),
        (("O3/a", "O3-xHost-ipo/a"), [("O3", ""), ("O3-xHost-ipo", "")]),
        (("a.O2", "a.O3", "a.Os"), [("O2", ""), ("O3", ""), ("Os", "")]),
        # Gases, and gases beside a compiler: no levels of optimisation.
        (("O2/a", "O3/a"), [("", "O2"), ("", "O3")]),
        (("gcc9/H2O/a", "gcc9/O2/a", "gcc9/O3/a"), [("gcc9", "H2O"), ("gcc9", "O2"), ("gcc9", "O3")]),
        (("gcc9/oxygen-O2", "gcc9/ozone-O3"), [("gcc9", "oxygen-O2"), ("gcc9", "ozone-O3")]),
    ],
)
def test_import__flags_of_compilers_are_builds_and_molecules_are_not(
    tmp_path: Path, imported: Imported, names: tuple[str, ...], wanted: list[tuple[str, str]]
) -> None:
    for at, name in enumerate(names):
        file = tmp_path / "tree" / (name if "." in name else f"{name}.log")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(log(9.5 + at / 10))
    found = build_of(imported(tmp_path / "tree"))
    order = [name if "." in name else f"{name}.log" for name in names]
    assert [found[name] for name in order] == [(*one, 1) for one in wanted]


def test_import__hosts_of_other_kinds_in_names_of_files_are_groups(
    tmp_path: Path, imported: Imported
) -> None:
    """In the layout of a loop over a list of nodes: each output has the name of the other node alone."""
    names = ("compute001", "compute002", "gpu001", "bigmem001", "gpuv100001", "gpuh100001", "gpuh200002")
    for at, host in enumerate(names):
        (tmp_path / "tree").mkdir(exist_ok=True)
        (tmp_path / "tree" / f"{host}.log").write_text(barrier(f"{at + 30}.25"))
    found = imported(tmp_path / "tree")
    groups = {"compute": 2, "gpu": 1, "bigmem": 1, "gpuv100": 1, "gpuh100": 1, "gpuh200": 1}
    assert Counter(one.get("host_group") for one in found.values()) == groups
    assert sorted(one["repeat"] for one in found.values()) == [1, 1, 1, 1, 1, 1, 2]
