"""Facts that distinguish runs: host groups, options and settings, dates, clusters; read by a person."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analysis import cli, readers
from analysis.importing import detect, hardware, launch
from analysis.importing.vocabulary import parse_name, system

from ..readers.merits.apps import APPS
from ..readers.merits.texts import TEXTS
from .test_import import Imported, imported, log, project, runs
from .test_scheduler import lsf

__all__ = ["imported", "project"]

LAUNCHES: list[tuple[str, dict[str, str]]] = [
    ("mpirun -lsf -prot -TCP /home/ada/xhpl", {"-lsf": "", "-prot": "", "-TCP": "", "program": "xhpl"}),
    ("mpirun -np 4 xhpl", {"-np": "4", "program": "xhpl"}),
    (
        "mpirun -np 8 --mca btl tcp,self -x UCX_TLS=rc --bind-to core ./xhpcg --nx=104",
        {
            "-np": "8", "--mca btl": "tcp,self", "UCX_TLS": "rc", "--bind-to": "core", "--nx": "104",
            "program": "xhpcg",
        },
    ),
    (
        "mpirun -prot numactl --cpunodebind=0 -- /opt/IMB-MPI1 -iter 100 -iter_policy off PingPong > out",
        {
            "-prot": "", "--cpunodebind": "0", "-iter": "100", "-iter_policy": "off", "program": "IMB-MPI1",
            "arguments": "PingPong",
        },
    ),
    (
        "flux run -N2 -n 32 -o cpu-affinity=per-task singularity exec /c/osu.sif osu_latency -i 50",
        {"-N2": "", "-n": "32", "-o": "cpu-affinity=per-task", "-i": "50", "program": "osu_latency"},
    ),
    (
        "flux mini submit -N 16 -n 1504 --quiet -ompi=openmpi@5 --watch -vvv lmp -v x 64 -in in.hns",
        {
            "-N": "16", "-n": "1504", "--quiet": "", "-ompi": "openmpi@5", "--watch": "", "-vvv": "",
            "-v": "x", "arguments": "64", "-in": "in.hns", "program": "lmp",
        },
    ),
    (
        "flux run --setattr=user.study_id=lj-$i -n 32 -o cpu-affinity=per-task -o gpu-affinity=off /opt/lmp",
        {
            "--setattr": "user.study_id=lj-$i", "-n": "32", "-o": "cpu-affinity=per-task,gpu-affinity=off",
            "program": "lmp",
        },
    ),
    (
        "mpirun -hostfile /tmp/pbs.1234/hosts -np 8 -wd /scratch/ada -x LD_PRELOAD=/opt/x.so ./xhpl -v /a/b",
        {
            "-hostfile": "/tmp/pbs.1234/hosts", "-np": "8", "-wd": "/scratch/ada", "LD_PRELOAD": "/opt/x.so",
            "-v": "/a/b", "program": "xhpl",
        },
    ),
    (
        "gmx mdrun -s topol.tpr -pin on",
        {"-s": "topol.tpr", "-pin": "on", "program": "gmx", "arguments": "mdrun"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("line", "wanted"), LAUNCHES, ids=[line[:30] for line, _ in LAUNCHES])
def test_options__are_all_kept_with_their_values(line: str, wanted: dict[str, str]) -> None:
    assert launch.options(line) == wanted


def test_varying__an_option_with_other_values_or_on_some_runs_but_no_counts_and_no_names_of_outputs() -> None:
    cells = [launch.options(f"mpirun -np {at} -TCP ./lmp -in in.lj -log out{at}.txt") for at in (1, 2, 3)]
    assert launch.varying(cells) == []
    cells.append(launch.options("mpirun -np 4 -IBV ./lmp -in in.eam -log out4.txt"))
    assert launch.varying(cells) == ["-TCP", "-in", "-IBV"]
    assert launch.level(cells[0], ["-TCP", "-in", "-IBV"]) == "-TCP -in=in.lj"
    assert launch.level(cells[0], ["-x"]) == "default"


def test_stated__settings_of_libraries_are_the_environment_of_a_run() -> None:
    script = "export I_MPI_FABRICS=shm:tcp\nsetenv OMP_NUM_THREADS 4\nexport UCX_TLS='rc'\nEDITOR=vi\n"
    assert launch.stated(script) == {
        "environment": {"I_MPI_FABRICS": "shm:tcp", "OMP_NUM_THREADS": "4", "UCX_TLS": "rc"},
        "threads": 4,
    }
    assert launch.stated("export UCX_TLS=rc\nexport UCX_TLS=tcp\n") == {}


PROSE = [
    "mpirun noticed that process rank 3 with PID 0 on node r2i7n011 exited on signal 9 (Killed).",
    "mpirun has exited due to process rank 0 with PID 12 on",
    "mpirun was unable to launch the specified application as it could not find an executable:",
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "Starting mpirun at Sat Jul 22 05:45:16 UTC 2023",
    "mpirun finished at Sat Jul 22 05:45:16 2023",
    "mpirun (Open MPI) 4.1.4",
    "echo Starting mpirun at $(date)",
    'echo "mpirun -np 8 ./xhpl" > again.sh',
]


@pytest.mark.parametrize("line", PROSE, ids=[line[:30] for line in PROSE])
def test_stated__a_sentence_about_a_launcher_is_no_launch_line(line: str) -> None:
    launch_line = "cd run; echo now; mpirun -np 4 ./xhpl"
    assert launch.stated(f"{line}\n") == {}
    assert launch.stated(f"{launch_line}\n{line}\n") == {"command": "mpirun -np 4 ./xhpl", "ranks": 4}
    assert launch.last(f"{launch_line}\n{line}\n") == "mpirun -np 4 ./xhpl"


def jobs(tree: Path, *, hosts: tuple[str, ...], groups: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Write three runs for each group of hosts and option, numbered, in one folder."""
    number = 100
    tree.mkdir()
    for at in range(3):
        for host, group in zip(hosts, groups, strict=True):
            for option in options:
                number += 1
                text = lsf(number, (f"{host}{at + 10}",), group=group, day=at + 1)
                text = text.replace("mpirun -lsf ./lmp", f"mpirun -lsf {option} /home/ada/lmp")
                (tree / f"{number}.out").write_text(text + log(9.5 + number / 100))


def cells(found: dict[str, dict[str, Any]], *factors: str) -> dict[tuple[Any, ...], int]:
    """Count the runs with each level of some factors; their repeats have to be numbered from 1."""
    members: dict[tuple[Any, ...], list[int]] = {}
    for one in found.values():
        members.setdefault(tuple(one.get(name) for name in factors), []).append(one["repeat"])
    assert all(sorted(repeats) == list(range(1, len(repeats) + 1)) for repeats in members.values())
    return {key: len(repeats) for key, repeats in members.items()}


def test_import__runs_on_other_host_groups_or_transports_are_no_repeats(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    jobs(tmp_path / "tree", hosts=("cn", "cn"), groups=("ivy", "haswell"), options=("-TCP", "-IBV"))
    found = imported(tmp_path / "tree")
    assert cells(found, "host_group", "options") == {
        (group, option): 3 for group in ("ivy", "haswell") for option in ("-TCP", "-IBV")
    }
    assert {one["cluster"] for one in found.values()} == {"birch"}
    assert not any("tuning" in one for one in found.values())


def test_import__without_a_feature_hosts_are_grouped_by_the_pattern_of_their_names(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    jobs(tmp_path / "tree", hosts=("cn", "r1i0n"), groups=("cn10", "r1i0n10"), options=("",))
    for path in (tmp_path / "tree").iterdir():  # a host is no group
        path.write_text(path.read_text().replace('#BSUB -m "cn10"', "").replace('#BSUB -m "r1i0n10"', ""))
    assert cells(imported(tmp_path / "tree"), "host_group") == {("cn",): 3, ("r#i#n",): 3}


def test_import__where_the_cpu_is_stated_there_is_no_host_group(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    jobs(tmp_path / "tree", hosts=("cn", "cn"), groups=("ivy", "haswell"), options=("",))
    found = imported(tmp_path / "tree", "--set", "cpu=EPYC 7763")
    assert not any("host_group" in one for one in found.values())


def test_import__a_setting_of_the_environment_that_varies_is_an_option(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    for at in range(4):
        folder = tmp_path / "tree" / f"run{at}"
        folder.mkdir(parents=True)
        transport = "tcp" if at < 2 else "rc"
        script = f"#!/bin/sh\n#SBATCH -n 4\nexport UCX_TLS={transport}\nsrun ./lmp -in in.lj\n"
        (folder / "job.sh").write_text(script)
        (folder / "out.txt").write_text(log(9.5 + at / 10))
    assert cells(imported(tmp_path / "tree"), "options") == {("UCX_TLS=tcp",): 2, ("UCX_TLS=rc",): 2}


def test_import__what_the_launch_line_of_a_runs_own_script_says_of_the_network_is_an_option(
    tmp_path: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    for at, network in enumerate(("pml ucx", "btl tcp,self") * 2):
        script = f"#!/bin/bash\n#SBATCH -N 2\n#SBATCH -n 4\nmpirun -mca {network} -np 4 /opt/lmp -in in.lj\n"
        (tmp_path / "tree" / f"job-{9000 + at}.sh").write_text(script)
        (tmp_path / "tree" / f"slurm-{9000 + at}.out").write_text(log(9.5 + at / 10))
    found = imported(tmp_path / "tree")
    assert cells(found, "options") == {("-mca pml=ucx",): 2, ("-mca btl=tcp,self",): 2}
    assert {(one["nodes"], one["ranks_per_node"]) for one in found.values()} == {(2, 2)}


def test_launch__a_broker_of_flux_tells_what_it_has_run() -> None:
    """As the broker's log of flux-core 0.44 has it, behind the line that starts the instance."""
    line = "flux mini submit -N 16 -n 1504 --watch lmp -in in.hns"
    text = f"flux start -o --config /etc/flux/config -Stbon.fanout=256 {line}\n"
    text += f"broker.info[0]: rc2.0: /usr/bin/time -f FLUXTIME wall time %E {line} Exited (rc=0) 105.4s\n"
    assert launch.stated(text) == {"command": line, "ranks": 1504, "step_nodes": 16}


def test_import__a_label_is_no_option_and_a_run_whose_launch_is_unknown_has_no_default(
    tmp_path: Path, imported: Imported
) -> None:
    """A jobspec of Flux has the program's command, but not the options of `flux run`."""
    (tmp_path / "tree").mkdir()
    job = '{{"resources": [], "tasks": [{{"command": ["/opt/lmp", "-in", "in.lj"], "slot": "task"}}]}}\n'
    job += '{{"timestamp":{}.5,"name":"shell.init","context":{{"size":2}}}}\n'
    affinity = "-o cpu-affinity=per-task -o gpu-affinity=off "
    for at, options in enumerate((affinity, affinity, "", "", None)):
        echoed = f"flux run --setattr=user.study_id=lj-{at} -n 4 {options}/opt/lmp -in in.lj\n"
        text = (echoed if options is not None else "") + log(9.5 + at / 10)
        (tmp_path / "tree" / f"lj-{at}.out").write_text(text + job.format(10**9 + 100 * at))
    found = imported(tmp_path / "tree")
    assert cells(found, "options") == {
        ("-o=cpu-affinity=per-task,gpu-affinity=off",): 2, ("default",): 2, (None,): 1,
    }  # fmt: skip


def test_import__a_program_with_the_name_of_its_output_is_known(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "lmp.out").write_text("mpirun -np 4 -TCP /opt/lmp -log lmp.log\n" + log(9.5))
    (one,) = imported(tmp_path / "tree").values()
    assert one["imported"]["facts"]["settings"] == {"-np": "4", "-TCP": "", "program": "lmp"}


def test_import__a_folder_with_the_number_of_the_runs_job_is_no_tuning(
    tmp_path: Path, imported: Imported
) -> None:
    for at in range(3):
        folder = tmp_path / "tree" / f"job{88101 + at}"
        folder.mkdir(parents=True)
        (folder / f"lj.o{88101 + at}").write_text(log(9.5 + at / 10))
    found = imported(tmp_path / "tree").values()
    assert sorted((one["repeat"], one["job_id"], one.get("tuning")) for one in found) == [
        (1, "88101", None),
        (2, "88102", None),
        (3, "88103", None),
    ]


DATES = [
    ("HPL_pdgesv() start time Thu Mar 23 11:31:20 2017\n", (2017, 3, 23, 11, 31, 20)),
    ("# Date                  : Thu Mar  2 09:08:07 2017\n", (2017, 3, 2, 9, 8, 7)),
    ("Log file opened on Mon Aug 13 15:31:08 2018\n", (2018, 8, 13, 15, 31, 8)),
    ("Started mdrun on rank 0 Sun Dec  7 17:48:53 2025\n", (2025, 12, 7, 17, 48, 53)),
    (
        ':::MLLOG {"namespace": "", "time_ms": 1635900526340, "event_type": "INTERVAL_START", '
        '"key": "run_start", "value": null, "metadata": {"lineno": 301}}\n',
        (2021, 11, 3, 0, 48, 46),
    ),
    ("Began               : Wed Mar 10 12:10:10 2021\n", (2021, 3, 10, 12, 10, 10)),
    (" Run started: Wed, 12 Aug 2020 13:36:38 +0100\n", (2020, 8, 12, 12, 36, 38)),
    ("-- started at 03/10/2021 12:10:10 --\n", (2021, 3, 10, 12, 10, 10)),
    (
        " **** **** ******  PROGRAM STARTED AT               2021-03-10 12:10:10.123\n",
        (2021, 3, 10, 12, 10, 10),
    ),
    ("Date   : Mar 10 2021\nTime   : 12:10:10\n", (2021, 3, 10, 12, 10, 10)),
    ("     Program PWSCF v.6.4 starts on 10Mar2021 at 12:10: 9 \n", (2021, 3, 10, 12, 10, 9)),
    ("     Today is 17Oct2008 at 12:28:10 \n", (2008, 10, 17, 12, 28, 10)),
    ("Thu Mar 23 11:31:20 GMT 2017\n", (2017, 3, 23, 11, 31, 20)),
]


@pytest.mark.parametrize(("line", "when"), DATES, ids=[line.strip()[:24] for line, _ in DATES])
def test_dates__are_read_as_programs_print_them(line: str, when: tuple[int, ...]) -> None:
    start = datetime(*when, tzinfo=UTC).timestamp()  # type: ignore[misc]
    assert detect.printed_dates(f"head\n{line}tail\n".encode()) == {"date": start}


def test_import__a_date_that_the_output_prints_is_the_start_of_the_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    line = "Log file opened on Mon Aug 13 15:31:08 2018\n"
    (tmp_path / "tree" / "log.lammps").write_text(log(9.5).replace("units lj\n", f"units lj\n{line}"))
    (one,) = imported(tmp_path / "tree").values()
    assert one["start"] == datetime(2018, 8, 13, 15, 31, 8, tzinfo=UTC).timestamp()
    assert "end" not in one
    assert one["imported"]["factors"]["start"] == "output"


@pytest.mark.parametrize(("real", "status"), [("2m40.570s", 0), ("2m9.250s", 1)])
def test_verify__a_launcher_takes_longer_than_its_program_and_never_shorter(
    real: str, status: int, tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`time srun gmx_mpi` counts what is before the log is opened and after the program's last date."""
    (tmp_path / "tree").mkdir()
    dates = (
        "Log file opened on Thu Mar 18 21:37:26 2021\n",
        "Finished mdrun on rank 0 Thu Mar 18 21:39:54 2021\n",
    )
    text = log(9.5).replace("units lj\n", f"units lj\n{dates[0]}") + dates[1]
    (tmp_path / "tree" / "lj.out").write_text(text)
    (tmp_path / "tree" / "lj.err").write_text(f"\nreal\t{real}\nuser\t0m0.020s\nsys\t0m0.020s\n")
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes"]) == 0
    assert cli.main(["verify", "mine"]) == status
    assert ("says 129.2 s, its record 148 s" in capsys.readouterr().err) == bool(status)


def test_import__the_job_of_a_batch_system_has_the_start_and_the_end(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    text = lsf(7, ("cn1",)) + log(9.5).replace("units lj\n", "units lj\nThu Mar 23 11:31:20 2017\n")
    (tmp_path / "tree" / "7.out").write_text(text)
    (one,) = imported(tmp_path / "tree").values()
    assert (one["end"] - one["start"], one["imported"]["factors"]["start"]) == (630.0, "LSF")


def test_names__of_systems_are_clusters() -> None:
    assert parse_name("results-ARCHER2").values["cluster"] == ("ARCHER2", "ARCHER2")
    assert parse_name("piz_daint").values["cluster"][0] == "Piz-Daint"
    assert "cluster" not in parse_name("searcher").values
    assert (system("scarf"), system("hazelhen"), system("cn056")) == ("SCARF", "Hazel-Hen", "")


def test_import__where_names_of_systems_are_the_other_names_are_clusters_too(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    for at, name in enumerate(("ARCHER", "Cirrus", "Elm", "ARCHER", "Cirrus", "Elm")):
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"run-{at // 3}.txt").write_text(log(9.5 + at / 10))
    assert cells(imported(tmp_path / "tree"), "cluster", "tuning") == {
        (name, None): 2 for name in ("ARCHER", "Cirrus", "Elm")
    }


@pytest.mark.parametrize("brand", ["Vendor: Intel  Brand: Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz\n", ""])
def test_import__where_names_of_systems_are_a_word_for_a_processor_is_one_too(
    brand: str, tmp_path: Path, project: Path, imported: Imported
) -> None:
    """Of another processor than the output states, or where it states none."""
    for at, name in enumerate(("ARCHER", "Cirrus", "Grace", "ARCHER", "Cirrus", "Grace")):
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"run-{at // 3}.txt").write_text(brand + log(9.5 + at / 10))
    found = imported(tmp_path / "tree")
    assert cells(found, "cluster", "tuning") == {(name, None): 2 for name in ("ARCHER", "Cirrus", "Grace")}
    assert {one.get("cpu") for one in found.values()} == {"Xeon E5-2630 v3" if brand else None}


def test_import__a_host_with_the_name_of_a_system_names_the_cluster(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    text = lsf(7, ("cn1",)).replace("hpc.example.org", "scarf.example.org")
    (tmp_path / "tree" / "7.out").write_text(text + log(9.5))
    (one,) = imported(tmp_path / "tree").values()
    assert (one["cluster"], one["imported"]["factors"]["cluster"]) == ("SCARF", "names of hosts")


def hpl(n: int, p: int, q: int, seconds: float, variant: str = "WR11C2R4") -> str:
    """Return what HPL prints, its rate worked out from its operations."""
    rate = (2 / 3 * n**3 + 3 / 2 * n**2) / seconds / 1e9
    line = f"{variant} {n:>12} {192:>5} {p:>5} {q:>5} {seconds:>18.2f} {rate:>22.4e}"
    double, single = "=" * 80, "-" * 80
    return (
        f"{double}\nHPLinpack 2.3  --  High-Performance Linpack benchmark  --   December, 2018\n{double}\n\n"
        "The following parameter values will be used:\n\n"
        f"N      : {n:>8}\nNB     :      192\nP      : {p:>8}\nQ      : {q:>8}\n\n{double}\n"
        f"T/V                N    NB     P     Q               Time                 Gflops\n{single}\n"
        f"{line}\n{single}\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.21e-03 ...... PASSED\n"
        f"{double}\n\nFinished      1 tests with the following results:\n"
        "              1 tests completed and passed residual checks,\n"
        "              0 tests completed and failed residual checks,\n"
        "              0 tests skipped because of illegal input values.\n"
        f"{single}\n\nEnd of Tests.\n{double}\n"
    )


def test_import__problems_of_other_sizes_and_other_grids_of_processes_are_no_repeats(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    runs = [(n, p, q) for n, p, q in ((20000, 2, 2), (80000, 2, 2), (20000, 1, 4)) for _ in range(2)]
    for at, (n, p, q) in enumerate(runs):
        (tmp_path / "tree" / f"hpl.o{700 + at}").write_text(hpl(n, p, q, 100.0 + at))
    assert cells(imported(tmp_path / "tree"), "problem", "options") == {
        ("N=20000 NB=192", "P=2 Q=2"): 2,
        ("N=80000 NB=192", "P=2 Q=2"): 2,
        ("N=20000 NB=192", "P=1 Q=4"): 2,
    }


def test_import__two_results_of_few_equal_digits_are_two_runs(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "hpl.out").write_text(hpl(20000, 2, 2, 12.29) * 2)
    assert sorted(one["repeat"] for one in imported(tmp_path / "tree").values()) == [1, 2]


def test_import__variants_of_one_program_are_no_repeats(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    for at, variant in enumerate(("WR11C2R4", "WC00L2L2", "WR11C2R4", "WC00L2L2")):
        (tmp_path / "tree" / f"hpl.o{700 + at}").write_text(hpl(20000, 2, 2, 100.0 + at, variant))
    assert cells(imported(tmp_path / "tree"), "problem", "options") == {
        ("N=20000 NB=192", "variant=WR11C2R4"): 2,
        ("N=20000 NB=192", "variant=WC00L2L2"): 2,
    }


def test_import__an_option_with_the_name_of_the_runs_own_file_splits_no_repeats(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    for at, name in enumerate(("first_2024", "second_2025", "third_2026")):
        command = f"Command line:\n  gmx mdrun -s topol.tpr -g {name}\n\n"
        (tmp_path / "tree" / f"{name}.log").write_text(command + log(9.5 + at))
    found = imported(tmp_path / "tree")
    assert len(found) == 3
    assert not any("options" in one for one in found.values())


def test_import__a_longer_name_than_that_of_a_cluster_is_that_cluster_and_a_word(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    for at, name in enumerate(("ARCHER", "Cirrus", "Elm", "Elm-patched")):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "run.txt").write_text(log(9.5 + at / 10))
    assert cells(imported(tmp_path / "tree"), "cluster", "tuning") == {
        ("ARCHER", None): 1,
        ("Cirrus", None): 1,
        ("Elm", None): 1,
        ("Elm", "patched"): 1,
    }


def openfoam(program: str, hosts: tuple[str, ...], *, clock: float, slaves: bool = False) -> str:
    """Return the log of a program of OpenFOAM with 4 processes on each host."""
    if slaves:
        each = [f'"{host}.{at}"' for host in hosts for at in range(4)][1:]
        listed = f"Slaves : \n{len(each)}\n(\n" + "\n".join(each) + "\n)\n"
    else:
        listed = "Hosts  :\n(\n" + "".join(f"    ({host} 4)\n" for host in hosts) + ")\n"
    parallel = f"nProcs : {4 * len(hosts)}\n{listed}" if len(hosts) > 1 else "nProcs : 1\n"
    return (
        f"| =========  OpenFOAM: The Open Source CFD Toolbox |\nBuild  : v1712\nArch   : LSB\n"
        f'Exec   : {program}\nDate   : Sep 01 2019\nTime   : 11:01:33\nHost   : "{hosts[0]}"\nPID    : 877\n'
        f"Case   : /lustre/ada/box\n{parallel}\n"
        f"Time = 1\n\nExecutionTime = {clock} s  ClockTime = {clock:.0f} s\n\nEnd\n\n"
    )


@pytest.mark.parametrize("slaves", [False, True])
def test_openfoam__its_log_lists_the_hosts_of_all_processes(
    tmp_path: Path, imported: Imported, slaves: bool
) -> None:
    (tmp_path / "tree").mkdir()
    text = openfoam("simpleFoam -parallel", ("nid00073", "nid00074"), clock=104.0, slaves=slaves)
    (tmp_path / "tree" / "box.log").write_text(text)
    (one,) = imported(tmp_path / "tree").values()
    assert (one["nodes"], one["ranks"], one["ranks_per_node"], one["host_group"]) == (2, 8, 4, "nid")


def test_openfoam__its_programs_are_no_repeats_of_each_other(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "tree").mkdir()
    steps = [openfoam(name, ("n1",), clock=9.5) for name in ("potentialFoam", "simpleFoam")]
    (tmp_path / "tree" / "slurm-77.out").write_text("".join(steps))
    found = imported(tmp_path / "tree").values()
    assert {(one["options"], one["repeat"], one["version"]) for one in found} == {
        (f"program={name}", 1, "v1712") for name in ("potentialFoam", "simpleFoam")
    }


# What programs of OpenFOAM v2406 and 12 say of their mesh.
BLOCKS = (
    "Mesh Information\n----------------\n  boundingBox: (-5 -4 0) (15 4 8)\n  nPoints: 1701\n  nCells: 1280\n"
)
SNAPPED = """\
Initial mesh : cells:1280  faces:4224  points:1701
Refined mesh : cells:3255211  faces:10331071  points:3883377
Snapped mesh : cells:3213298  faces:10208666  points:3843899
"""
CHECKED = """\
Mesh stats
    points:           705077
    faces:            1772761
    internal faces:   1614690
    cells:            541787
    faces per cell:   6.25237

    Number of cells:  541787
"""


def test_fio__numbers_of_jobs_and_queues_are_options_of_one_problem(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """Two numbers of jobs, twice each, and a longer queue; blocks of another size are another problem."""
    (tmp_path / "tree").mkdir()
    series = [("1", "8", "4k", 1000), ("1", "8", "4k", 1010), ("4", "8", "4k", 3500), ("4", "8", "4k", 3600)]
    series += [("4", "32", "4k", 3700), ("4", "32", "1m", 3900)]
    for at, (jobs, depth, block, operations) in enumerate(series):
        content = json.loads(TEXTS["fio"])
        options = {"rw": "write", "bs": block, "size": "1g", "iodepth": depth, "numjobs": jobs}
        content["jobs"][0]["job options"] = options
        content["jobs"][0]["write"] |= {"runtime": 8000 + at, "total_ios": operations, "iops": operations / 8}
        (tmp_path / "tree" / f"run{at}.json").write_text(json.dumps(content))
    found = [one for _, one in sorted(imported(tmp_path / "tree").items())]
    stated = [dict(word.split("=") for word in one["options"].split()) for one in found]
    assert stated == [{"iodepth": depth, "numjobs": jobs} for jobs, depth, *_ in series]
    assert [one["repeat"] for one in found] == [1, 2, 1, 2, 1, 1]
    assert len(set(runs(project)["problem"].values)) == 2


def test_fio__jobs_one_after_the_other_are_runs_and_those_at_once_are_one(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """A writer of 125 MiB/s; then two readers, each at that rate."""
    content = json.loads(TEXTS["fio"])
    (job,) = content["jobs"]
    reader = job | {"jobname": "scan", "groupid": 1, "read": job["write"], "write": job["read"]}
    content["jobs"] = [job | {"groupid": 0}, reader, reader]
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "all.json").write_text(json.dumps(content))
    imported(tmp_path / "tree")
    table = runs(project)
    names = ("application", "case", "figure_of_merit")
    assert {*zip(*(table[name].values.tolist() for name in names), strict=True)} == {
        ("fio", "seqwrite", 131072000.0), ("fio-read", "scan", 2 * 131072000.0),
    }  # fmt: skip
    assert table["valid"].values.all()


def _tools(**said: str) -> dict[str, str]:
    logs = {name: openfoam(name, ("n1",), clock=9.5) for name in said}
    return {name: log.replace("Time = 1\n", said[name] + "\n") for name, log in logs.items()}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"blockMesh": BLOCKS, "decomposePar": ""}, "cells=1280"),
        ({"blockMesh": BLOCKS, "snappyHexMesh": SNAPPED, "decomposePar": ""}, "cells=3213298"),
        ({"blockMesh": BLOCKS, "snappyHexMesh": ""}, ""),  # it was killed before it said how many
        ({"blockMesh": BLOCKS, "refineMesh": ""}, ""),
        ({"blockMesh": BLOCKS, "refineMesh": "", "checkMesh": CHECKED}, "cells=541787"),
        ({"snappyHexMesh": SNAPPED, "checkMesh": CHECKED}, ""),  # which of them was last is not known
        ({"checkMesh": CHECKED, "decomposePar": ""}, "cells=541787"),
    ],
)
def test_openfoam__the_logs_of_a_mesh_say_how_many_cells_the_solver_had(
    tmp_path: Path, project: Path, imported: Imported, said: dict[str, str], problem: str
) -> None:
    """Two cases with logs of their own, one of them without any of the mesh."""
    for name, logs in (("box", _tools(**said)), ("other", {})):
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True)
        clock = 104.0 + len(logs)
        (folder / "log.simpleFoam").write_text(openfoam("simpleFoam -parallel", ("n1", "n2"), clock=clock))
        for program, text in logs.items():
            (folder / f"log.{program}").write_text(text)
    imported(tmp_path / "tree")
    assert sorted(runs(project)["problem"].values) == sorted(["", problem])


def _began(program: str, said: str, at: str = "11:01:33", case: str = "box") -> str:
    text = openfoam(program, ("n1",), clock=9.5).replace("Time = 1\n", said + "\n")
    return text.replace("11:01:33", at).replace("/ada/box", f"/ada/{case}")


def _solved(clock: float, at: str = "11:01:33", case: str = "box") -> str:
    text = openfoam("simpleFoam -parallel", ("n1", "n2"), clock=clock)
    return text.replace("11:01:33", at).replace("/ada/box", f"/ada/{case}")


FINE = BLOCKS.replace("1280", "10240")


@pytest.mark.parametrize(
    ("logs", "problems"),
    [
        (  # two cases whose logs are in one folder
            {
                "log.blockMesh.a": _began("blockMesh", BLOCKS, case="a"),
                "log.blockMesh.b": _began("blockMesh", FINE, case="b"),
                "log.simpleFoam.a": _solved(11, case="a"),
                "log.simpleFoam.b": _solved(99, case="b"),
            },
            ["cells=1280", "cells=10240"],
        ),
        (  # one case that was made again, finer
            {
                "log.blockMesh.1": _began("blockMesh", BLOCKS),
                "log.blockMesh.2": _began("blockMesh", FINE, "12:01:00"),
                "log.simpleFoam.1": _solved(11, "11:02:00"),
                "log.simpleFoam.2": _solved(99, "12:02:00"),
            },
            ["cells=1280", "cells=10240"],
        ),
        (  # the same without times that differ
            {
                "log.blockMesh.1": _began("blockMesh", BLOCKS),
                "log.blockMesh.2": _began("blockMesh", FINE),
                "log.simpleFoam.1": _solved(11),
                "log.simpleFoam.2": _solved(99),
            },
            ["", ""],
        ),
        (  # a check before the mesh was refined; one of the other mesh, after the solver
            {
                "log.checkMesh.1": _began("checkMesh", CHECKED),
                "log.refineMesh": _began("refineMesh", "", "11:02:00"),
                "log.simpleFoam": _solved(11, "11:03:00"),
                "log.checkMesh.2": _began("checkMesh", CHECKED, "11:04:00"),
            },
            [""],
        ),
        (  # a check after the solver that contradicts what was made, as in a tree of others
            {
                "log.snappyHexMesh": _began("snappyHexMesh", SNAPPED),
                "log.simpleFoam": _solved(11, "11:03:00"),
                "log.checkMesh": _began("checkMesh", CHECKED, "11:04:00"),
            },
            [""],
        ),
        (  # the same, with the parts of the mesh joined before the check
            {
                "log.snappyHexMesh": _began("snappyHexMesh", SNAPPED),
                "log.simpleFoam": _solved(11, "11:03:00"),
                "log.reconstructParMesh": _began("reconstructParMesh", "", "11:04:00"),
                "log.checkMesh": _began("checkMesh", CHECKED, "11:04:00"),
            },
            [""],
        ),
        (  # two regions
            {
                "log.checkMesh": _began("checkMesh -allRegions", CHECKED + CHECKED.replace("541787", "900")),
                "log.simpleFoam": _solved(11),
            },
            [""],
        ),
        (
            {
                "log.checkMesh": _began("checkMesh -region air", CHECKED),
                "log.simpleFoam": _solved(11),
            },
            [""],
        ),
        (  # a job: two cases, the second of which has no log of its mesh
            {"slurm-7.out": _began("blockMesh", BLOCKS, case="a") + _solved(11, case="a") + _solved(99)},
            ["cells=1280", ""],
        ),
        (  # a job that refines the mesh after its check
            {
                "slurm-7.out": _began("checkMesh", CHECKED)
                + _solved(11)
                + _began("refineMesh", "")
                + _solved(99)
            },
            ["cells=541787", ""],
        ),
    ],
)
def test_openfoam__the_mesh_of_another_case_or_of_another_time_is_not_the_solvers(
    tmp_path: Path, project: Path, imported: Imported, logs: dict[str, str], problems: list[str]
) -> None:
    (tmp_path / "tree").mkdir()
    for name, text in logs.items():
        (tmp_path / "tree" / name).write_text(text)
    imported(tmp_path / "tree")
    by_time = dict(zip(runs(project)["figure_of_merit"].values, runs(project)["problem"].values, strict=True))
    assert [by_time[time] for time in sorted(by_time)] == problems


def test_openfoam__each_solver_of_a_jobs_output_has_the_mesh_before_it(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    said = [""]
    for cells, clock in ((1280, 11.0), (10240, 99.0)):
        said += _tools(blockMesh=BLOCKS.replace("1280", str(cells)), decomposePar="").values()
        said += [openfoam("simpleFoam -parallel", ("n1", "n2"), clock=clock)]
    (tmp_path / "tree" / "slurm-77.out").write_text("".join(said))
    imported(tmp_path / "tree")
    by_time = dict(zip(runs(project)["figure_of_merit"].values, runs(project)["problem"].values, strict=True))
    assert by_time == {11.0: "cells=1280", 99.0: "cells=10240"}


def test_openfoam__programs_that_prepare_a_case_are_no_runs(
    tmp_path: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """The logs of a case as `runApplication` names them, one file of a whole job, and a mesh alone."""
    case, mesh = tmp_path / "tree" / "motorbike-8ranks", tmp_path / "tree" / "mesh"
    for folder in (case, mesh):
        folder.mkdir(parents=True)
    for name in ("blockMesh", "snappyHexMesh", "decomposePar"):
        (case / f"log.{name}").write_text(openfoam(name, ("n1",), clock=9.5))
    (case / "log.simpleFoam").write_text(openfoam("simpleFoam -parallel", ("n1", "n2"), clock=104.0))
    (mesh / "log.checkMesh").write_text(openfoam("checkMesh", ("n1",), clock=3.0))
    solved = openfoam("pimpleFoam -parallel", ("n1", "n2"), clock=55.0)
    before = openfoam("blockMesh", ("n1",), clock=9.5)
    begin = before.count("\n") + 1  # below the banner
    job = before + solved + openfoam("reconstructPar", ("n1",), clock=2.0)
    (tmp_path / "tree" / "slurm-77.out").write_text(job)
    found = imported(tmp_path / "tree")
    assert {(one["run"], one["ranks"], one["nodes"]) for one in found.values()} == {
        ("motorbike-8ranks", 8, 2),
        ("slurm-77-part1", 8, 2),
    }
    said = capsys.readouterr().out
    assert "mesh/log.checkMesh" in said
    assert "is a log of checkMesh of OpenFOAM, which prepares a case, and no output is in its folder" in said
    by_run = {one["run"]: one["imported"] for one in found.values()}
    assert "motorbike-8ranks/log.decomposePar" in by_run["motorbike-8ranks"]["beside"]
    assert by_run["slurm-77-part1"]["files"][0]["lines"] == [begin + 1, begin + solved.count("\n")]


def test_cpu__a_brand_that_is_unknown_leaves_what_the_path_says(tmp_path: Path, imported: Imported) -> None:
    """GROMACS and lscpu on Arm."""
    assert hardware.stated("    Vendor: ARM\n    Brand:  Unknown CPU brand\n") == {}
    assert hardware.stated("Model name:          -\nCPU(s): 64\n") == {}
    (tmp_path / "tree" / "tx2").mkdir(parents=True)
    (tmp_path / "tree" / "tx2" / "a.out").write_text(f"Brand:  Unknown CPU brand\n{log(9.5)}")
    (one,) = imported(tmp_path / "tree").values()
    assert one["cpu"] == "tx2"


def test_json__is_one_object_also_where_the_campaign_is_written(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "lj.out").write_text(log(9.5))
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes", "--json"]) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)["runs"]) == 1
    assert "wrote 1 runs" in printed.err


def test_script__of_a_job_that_ran_on_parts_of_its_nodes_gives_no_counts(
    tmp_path: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "all.sh").write_text("#!/bin/sh\n#BSUB -nnodes 8\n#BSUB -q pbatch\n./each.sh\n")
    for ranks in (4, 16):
        text = log(9.5 + ranks).replace("4 MPI tasks", f"{ranks} MPI tasks")
        (tmp_path / "tree" / f"lj_{ranks}.out").write_text(text)
    found = imported(tmp_path / "tree").values()
    assert {(one["ranks"], one.get("nodes"), one["host_group"]) for one in found} == {
        (4, None, "pbatch"),
        (16, None, "pbatch"),
    }


def test_quantum_espresso__of_2008_states_its_ranks_and_its_date() -> None:
    text = (  # the first lines of the reference output of CNT10POR8 in QEF/benchmarks
        "     Program PWSCF     v.4.1CVS starts ...\n     Today is 17Oct2008 at 12:28:10 \n\n"
        "     Parallel version (MPI)\n\n     Number of processors in use:     800\n"
        "     number of atoms/cell      =         1532\n"
        "     PWSCF        :     2h13m CPU time,     2h20m wall time\n"
    )
    ds = readers.parse(text.encode(), engine="quantum_espresso")
    assert detect.stated.facts_of_result(ds, "quantum_espresso")["ranks"] == 800
    assert detect.printed_dates(text.encode()) == {
        "date": datetime(2008, 10, 17, 12, 28, 10, tzinfo=UTC).timestamp()
    }


def test_quantum_espresso__states_its_problem_and_its_date() -> None:
    text = (
        "     Program PWSCF v.6.2 (svn rev. 14038) starts on 18Jan2022 at 18: 9:56 \n"
        "     Parallel version (MPI), running on    40 processors\n"
        "     unit-cell volume          =    2500.5000 (a.u.)^3\n     number of atoms/cell    =    32\n"
        "     number of electrons       =       192.20\n     kinetic-energy cutoff  =    90.0000  Ry\n"
        "     number of k points=    40\n     PWSCF  : 2m 3.50s CPU  2m10.25s WALL\n   JOB DONE.\n"
    )
    ds = readers.parse(text.encode(), engine="quantum_espresso")
    assert readers.problem(ds) == "atoms=32 electrons=192.20 cutoff=90.0000 kpoints=40 volume=2500.5000"
    wanted = datetime(2022, 1, 18, 18, 9, 56, tzinfo=UTC).timestamp()
    assert detect.printed_dates(text.encode()) == {"date": wanted}


def test_import__a_run_that_its_name_contradicts_leaves_no_hole_among_the_repeats(
    tmp_path: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    for at, name in enumerate(("run1_64ranks", "run2", "run3")):
        text = TEXTS["gromacs"].replace("10:0", f"1{at}:0").replace("120.002", f"{120 + at / 100:.3f}")
        text = text.replace("7680.128", f"{7680 + 0.64 * at:.3f}")
        (tmp_path / "tree" / f"{name}.log").write_text(text)
    found = imported(tmp_path / "tree", status=1).values()
    assert sorted(one["repeat"] for one in found) == [1, 2]


def test_import__a_folder_of_failed_runs_is_no_case(tmp_path: Path, imported: Imported) -> None:
    head = TEXTS["gromacs"].partition("Running on")[0]
    for at in range(3):
        for folder in ("", "failed/"):
            path = tmp_path / "tree" / f"{folder}run_{at}" / "md.log"
            path.parent.mkdir(parents=True)
            good = TEXTS["gromacs"].replace("10:0", f"1{at}:0").replace("120.002", f"{120 + at / 100:.3f}")
            good = good.replace("Using 32", "There are: 90116 Atoms\nUsing 32", 1)
            good = good.replace("7680.128", f"{7680 + 0.64 * at:.3f}")
            path.write_text(f"{head}\n  gmx mdrun -nsteps 500 -ntmpi {at}\n" if folder else good)
    found = imported(tmp_path / "tree").values()
    assert {(one.get("case"), one.get("tuning")) for one in found} == {
        ("atoms=90116 nsteps=10000", None),
        (None, "failed"),
    }


def test_verify__runs_of_others_may_differ_in_version_and_begin_in_any_order(
    tmp_path: Path, imported: Imported
) -> None:
    """Names have the time at which a job was submitted, and queues let them begin later."""
    (tmp_path / "tree").mkdir()
    for at in range(9):
        text = TEXTS["gromacs"].replace("10:00:00", f"10:{(at + 5) % 9:02}:00")
        text = text.replace("120.002", f"{120 + at / 100:.3f}").replace("7680.128", f"{7680 + 0.64 * at:.3f}")
        text = text.replace("10:02:00", f"10:{(at + 5) % 9 + 2:02}:00")
        text = text.replace("2021.1", "2018.1") if at == 8 else text
        (tmp_path / "tree" / f"md_2026030109{at}0.log").write_text(text)
    assert len(imported(tmp_path / "tree")) == 9


def test_import__what_outputs_print_of_the_settings_tells_runs_apart(
    tmp_path: Path, imported: Imported
) -> None:
    """Numbered folders, no script: Kripke alone says in which order its data lay, and OSU in which memory."""
    rates = (("0.50000", "8.192000e+07", "1.220703e-08"), ("0.51200", "8.000000e+07", "1.250000e-08"))
    rates += (("0.64000", "6.400000e+07", "1.562500e-08"),)
    for at, layout in enumerate(("DGZ", "DGZ", "GZD")):
        text = APPS["kripke"].replace("  Timer  ", f"    Data Layout:           {layout}\n\n  Timer  ")
        for one, other in zip(rates[0], rates[at], strict=True):
            text = text.replace(one, other)
        (tmp_path / "tree" / f"run{at + 1}").mkdir(parents=True)
        (tmp_path / "tree" / f"run{at + 1}" / "kripke.out").write_text(text)
        on = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n" if at else ""
        table = f"{on}# Size          Latency (us)\n0 1.{at + 2}0\n8 2.5{at}\n"
        title = f"# OSU MPI{'-CUDA' if at else ''} Latency Test v5.8\n"
        (tmp_path / "tree" / f"run{at + 1}" / "latency.out").write_text(title + table)
    found = imported(tmp_path / "tree")
    assert cells(found, "application", "options") == {
        ("kripke", "--layout=DGZ"): 2, ("kripke", "--layout=GZD"): 1,
        ("osu", "buffers=host"): 1, ("osu", "buffers=CUDA DEVICE-DEVICE"): 2,
    }  # fmt: skip


def test_verify__two_jobs_on_one_node_at_a_time_are_noted(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eleven jobs of LSF on days of their own, and one on the node and at the time of another."""
    (tmp_path / "tree").mkdir()
    for at, day in enumerate((*range(1, 12), 4)):
        text = lsf(480 + at, ("cn056",), day=day) + log(9.5 + at / 100)
        (tmp_path / "tree" / f"lj-{480 + at}.out").write_text(text)
    assert cli.main(["import", str(tmp_path / "tree"), "--as", "mine", "--yes"]) == 0
    assert cli.main(["verify", "mine"]) == 0
    said = [
        line for line in capsys.readouterr().err.splitlines() if "ran on cn056 while the job of run" in line
    ]
    assert [line.partition("/run.json")[0].rpartition("/")[2] for line in said] == ["lj-491"]


@pytest.mark.parametrize(
    ("was", "lie", "said"),
    [
        ("N=20000", "N=40000", "its result says N 20000, its record 40000"),
        ('"version": "2.3"', '"version": "2.2"', "its result says version 2.3, its record 2.2"),
    ],
)
def test_verify__a_record_with_another_problem_or_version_than_its_output_does_not_count(
    was: str,
    lie: str,
    said: str,
    tmp_path: Path,
    project: Path,
    imported: Imported,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "hpl.out").write_text(hpl(20000, 2, 4, 10.5))
    imported(tmp_path / "tree")
    (path,) = (project / "data/raw/mine/runs").glob("*/run.json")
    path.write_text(path.read_text().replace(was, lie))
    assert cli.main(["verify", "--write", "--force", "mine"]) == 1
    assert said in capsys.readouterr().err
