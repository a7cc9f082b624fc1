"""Documents of ReFrame, JUBE and Ramble: each of their cases is a run with its facts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analysis import cli, readers

from ..readers.merits.texts import TEXTS
from .test_facts import cells
from .test_import import Imported, imported, project, runs

__all__ = ["imported", "project"]


def case(job: int, threads: int, rate: float, **more: Any) -> dict[str, Any]:
    """Return a case as ReFrame 4 writes it, names and numbers ours."""
    return {
        "name": "TriadTest", "display_name": f"TriadTest %num_threads={threads} %pages=huge",
        "system": "birch", "partition": "cn", "environ": "gnu", "num_tasks": 4, "num_tasks_per_node": 2,
        "jobid": str(job), "job_nodelist": ["cn01", "cn02"], "job_completion_time_unix": 1700000000.0 + job,
        "result": "pass",
        "perfvalues": {"birch:cn:triad_bw": [rate, 95000, -0.05, None, "MB/s", "pass"]},
    } | more  # fmt: skip


def report(*tests: dict[str, Any]) -> str:
    session = {"data_version": "4.1", "version": "4.7.2", "num_cases": len(tests)}
    return json.dumps({"session_info": session, "runs": [{"testcases": list(tests)}]})


def test_import__each_case_of_a_reframe_report_is_a_run_with_its_facts(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    tests = [case(at, 4 if at < 3 else 8, 98000.5 + at) for at in (1, 2, 3, 4)]
    (tree / "run-report.json").write_text(report(*tests))
    found = sorted(_records(project, imported, tree), key=lambda one: int(one["job_id"]))
    assert [one["application"] for one in found] == ["triadtest"] * 4
    assert [one["threads"] for one in found] == [4, 4, 8, 8]
    assert [one["repeat"] for one in found] == [1, 2, 1, 2]
    one = found[0]
    assert (one["cluster"], one["build"], one["ranks"], one["ranks_per_node"], one["nodes"]) == (
        "birch", "gnu", 4, 2, 2,
    )  # fmt: skip
    assert (one["node_list"], one["start"]) == ("cn01,cn02", 1700000001.0)
    declared = (project / "config/applications/triadtest.yaml").read_text()
    assert 'engine: "reframe"' in declared
    assert "higher_is_better: true" in declared
    table = runs(project)
    assert sorted(table["figure_of_merit"].values) == [98001.5, 98002.5, 98003.5, 98004.5]
    assert table["valid"].values.all(), table["reason"].values


def test_import__the_document_of_a_job_by_hpcbench_is_a_run_with_the_facts_of_its_environment(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    other = {
        "81743.0": "1403180.0",
        "4711": "4712",
        "7.98": "0.51",
        "216.566": "3388.71",
        "184396": "2900112",
    }
    for folder, changes in (("82k-atoms", {}), ("1400k-atoms", other)):
        path = tmp_path / "tree" / folder / "gmx.json"
        path.parent.mkdir(parents=True)
        text = TEXTS["hpcbench"]
        for old, new in changes.items():
            text = text.replace(old, new)
        path.write_text(text)
    one, two = sorted(_records(project, imported, tmp_path / "tree"), key=lambda one: int(one["job_id"]))
    assert (one["case"], two["case"]) == ("81743-atoms", "1403180-atoms")
    # The folders name the cases in other words; these are no tuning.
    assert "tuning" not in one
    assert (one["application"], one["cluster"], one["cpu"]) == ("gromacs-hpcbench", "birch", "EPYC 7742")
    assert (one["nodes"], one["ranks"], one["ranks_per_node"], one["threads"]) == (2, 32, 16, 8)
    assert (one["node_list"], one["frequency"]) == ("nid000011,nid000012", 2.25)
    assert (one["mpi"], one["build"], one["version"]) == ("Cray MPICH 8.1.23", "gcc-11.2.0", "2022.4")
    # The CPUs that Slurm gave to a rank are no threads; runs with other GPUs are no repeats.
    assert "cpus-per-task=16" not in str(one.get("options", ""))  # the same in all runs
    assert list(runs(project)["figure_of_merit"].values) == [0.51, 7.98]


def test_import__the_energy_that_slurm_counted_for_a_job_of_hpcbench_is_that_of_its_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """Of one whole node alone: of more it may be that of the first, of a part it is that of others too."""
    one = {"SLURM_JOB_NUM_NODES=2": "SLURM_JOB_NUM_NODES=1", "nid[000011-000012]": "nid000011", '"2"': '"1"'}
    cores = {'"CPU(s)": "256"': '"CPU(s)": "256", "Core(s) per socket": "64", "Socket(s)": "2"'}
    energy = {'"ConsumedEnergyRaw": "0"': '"ConsumedEnergyRaw": "184396"'}
    whole, part = ({"SLURM_JOB_ID=": f'SLURM_JOB_CPUS_PER_NODE={n}", "SLURM_JOB_ID='} for n in (256, 4))
    other = {"184396.0": "90000.0"}
    wanted = [one | cores | energy | whole, one | cores | energy | part, cores | energy | whole, one | other]
    for at, changes in enumerate(wanted):
        path = tmp_path / "tree" / f"job{at}" / "gmx.json"
        path.parent.mkdir(parents=True)
        text = TEXTS["hpcbench"].replace("4711", str(4711 + at)).replace("7.98", f"7.9{at}")
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
    _records(project, imported, tmp_path / "tree")
    table = runs(project).ds.sortby("job_id")
    assert table["job_id"].values.tolist() == ["4711", "4712", "4713", "4714"]
    found = table["energy"].values
    assert found[0] == 184396.0
    assert not any(one == one for one in found[1:])
    reasons = table["energy_reason"].values
    assert "a part of its cores" in reasons[1]
    assert "first node alone" in reasons[2]
    assert reasons[3] == "no power log"
    said = json.loads((tmp_path / "tree/job3/gmx.json").read_text())
    ds = readers.parse(json.dumps(said).encode(), "gmx.json")
    assert "its energy is 90000 J, the accounting of job 4714 has 0 J" in "".join(ds.attrs["warnings"])


def test_import__jobs_on_other_gpus_are_no_repeats_and_a_program_without_totals_is_not_damaged(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """As hpcbench logs NVIDIA's GPUs, by name, and AMD's, by a number."""
    for name, gpu, rate in (
        ("a", {"name": ["Tesla V100"]}, 7.98),
        ("b", {"Device ID": ["0x7408"]}, 9.51),
        ("c", {}, None),
    ):
        content = json.loads(TEXTS["hpcbench"])
        content["sysinfo"]["GPU"] = {"0": gpu, "1": gpu}
        content["slurm"]["slurm"]["gres"] = "gpu:2"
        content["run"]["Totals"] |= {"ns/day": rate, "Wall Clock Time (s)": 100 / (rate or 1)}
        if rate is None:
            del content["run"]
        (tmp_path / "tree").mkdir(exist_ok=True)
        text = json.dumps(content).replace("4711", str(4711 + ord(name)))
        (tmp_path / "tree" / f"{name}.json").write_text(text)
    found = {name[0]: one for name, one in imported(tmp_path / "tree").items()}
    assert found["a"]["options"].endswith("gpu=Tesla V100")
    assert found["b"]["options"].endswith("gpu=0x7408")
    assert {one["repeat"] for one in found.values()} == {1}
    reasons = runs(project)["reason"].values
    assert "has no figure 'ns/day'" in str(reasons)
    assert "damaged" not in str(reasons)


def test_import__a_governor_of_the_cpu_frequency_is_an_option_where_it_is_no_number(
    tmp_path: Path, imported: Imported
) -> None:
    asked = ("2250000", "2000000", "2000000-2250000:Performance", "Performance")
    for at, value in enumerate(asked):
        folder = tmp_path / "tree" / f"run{at}"
        folder.mkdir(parents=True)
        text = TEXTS["hpcbench"].replace("2250000", value).replace("4711", str(4711 + at))
        (folder / "gmx.json").write_text(text.replace("7.98", f"7.9{at}").replace("216.566", f"21{at}.5"))
    found = [one for _, one in sorted(imported(tmp_path / "tree").items())]
    assert [one.get("frequency") for one in found] == [2.25, 2.0, None, None]
    own = [one.get("options", "") for one in found]
    assert [one.count("FREQ") for one in own] == [0, 0, 1, 1]
    assert "Performance" in own[3]
    assert own[2] != own[3]
    assert {one["repeat"] for one in found} == {1}  # none is a repeat of another


def test_import__a_folder_that_names_the_case_and_more_keeps_the_rest(
    tmp_path: Path, imported: Imported
) -> None:
    names = ("82k-atoms-hugepages", "82k-atoms-nopages", "82k-atoms", "95k-atoms")
    for at, name in enumerate(names):
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True)
        text = TEXTS["hpcbench"].replace("4711", str(4711 + at)).replace("7.98", f"7.9{at}")
        (folder / "gmx.json").write_text(text.replace("216.566", f"21{at}.5"))
    found = [one.get("tuning") for _, one in sorted(imported(tmp_path / "tree").items())]
    # 95,000 is no rounded 81,743.
    assert found == ["hugepages", "nopages", None, "95k-atoms"]


def test_import__a_second_import_of_a_tools_documents_finds_the_application_of_the_first(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    for name, job in (("first", 1), ("second", 2)):
        tree = tmp_path / name
        tree.mkdir()
        (tree / "run-report.json").write_text(report(case(job, 4, 98000.5 + job)))
        found = {one["application"] for one in _records(project, imported, tree)}
        assert found == {"triadtest"}


def _records(project: Path, imported: Imported, tree: Path) -> list[dict[str, Any]]:
    imported(tree)
    return [json.loads(path.read_text()) for path in project.glob("data/raw/mine/runs/*/run.json")]


def test_import__a_case_that_failed_is_a_run_that_does_not_count(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    text = report(case(1, 4, 98000.5), case(2, 4, 97000.5, result="fail"))
    (tmp_path / "tree" / "report.json").write_text(text)
    assert len(_records(project, imported, tmp_path / "tree")) == 2
    assert sorted(runs(project)["valid"].values.tolist()) == [False, True]


def test_import__a_report_that_has_grown_adds_only_its_new_cases(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    tests = [case(at, 4, 98000.5 + at) for at in (1, 2, 3)]
    (tmp_path / "tree" / "report.json").write_text(report(*tests[:2]))
    first = _records(project, imported, tmp_path / "tree")
    (tmp_path / "tree" / "report.json").write_text(report(*tests))
    second = _records(project, imported, tmp_path / "tree")
    assert (len(first), sorted(one["repeat"] for one in second)) == (2, [1, 2, 3])
    (tmp_path / "tree" / "copy.json").write_text(report(tests[1], tests[2]))
    assert len(_records(project, imported, tmp_path / "tree")) == 3


def test_import__each_line_of_a_reframe_log_is_a_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    head = "job_completion_time|version|name|system|partition|environ|jobid|num_tasks|bw_value|bw_unit"
    rows = [
        f"2024-05-06T07:08:0{at}|4.4|TriadTest|birch|cn|gnu|{at}|{4 * at}|{100.5 + at}|MB/s" for at in (1, 2)
    ]
    (tmp_path / "tree" / "perf.log").write_text("\n".join([head, *rows, ""]))
    found = sorted(_records(project, imported, tmp_path / "tree"), key=lambda one: one["ranks"])
    assert [(one["ranks"], one["job_id"], one["cluster"]) for one in found] == [
        (4, "1", "birch"),
        (8, "2", "birch"),
    ]
    assert found[1]["start"] - found[0]["start"] == 1.0
    assert sorted(runs(project)["figure_of_merit"].values) == [101.5, 102.5]


def test_import__each_row_of_a_jube_table_is_a_run(tmp_path: Path, project: Path, imported: Imported) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "result.dat").write_text(
        "stream:\n| nodes | taskspernode | library | bandwidth[GB/s] |\n|-------|---|-----|-----------|\n"
        "|     1 |     4 |   mpich |           12.25 |\n|     2 |     4 |   mpich |           24.75 |\n"
        "|     1 |            4 | openmpi |           11.25 |\n"
    )
    found = {str(at): one for at, one in enumerate(_records(project, imported, tmp_path / "tree"))}
    assert {one["application"] for one in found.values()} == {"stream-jube"}  # STREAM has a reader of its own
    assert cells(found, "nodes", "ranks", "options") == {
        (1, 4, "library=mpich"): 1, (2, 8, "library=mpich"): 1, (1, 4, "library=openmpi"): 1,
    }  # fmt: skip
    table = runs(project)
    assert table["valid"].values.all(), table["reason"].values
    assert sorted(table["figure_of_merit"].values) == [11.25, 12.25, 24.75]


def experiment(nodes: int, rate: str, name: str) -> dict[str, Any]:
    """Return an experiment as Ramble writes it."""
    better = {"name": "MEASURE", "better_direction": "HIGHER"}
    return {
        "name": f"lj.standard.{name}", "RAMBLE_STATUS": "SUCCESS", "application_name": "lj",
        "workload_name": "standard", "n_nodes": nodes, "n_ranks": str(4 * nodes), "processes_per_node": 4,
        "RAMBLE_VARIABLES": {"n_threads": "1", "experiment_run_dir": f"/scratch/{name}", "repeat_index": "1"},
        "CONTEXTS": [
            {"name": "null", "foms": [{"name": "Rate", "value": rate, "units": "1/s", "fom_type": better}]}
        ],
    }  # fmt: skip


def test_import__each_experiment_of_ramble_is_a_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    experiments = [experiment(1, "10.5", "a"), experiment(2, "20.5", "b"), experiment(2, "21.5", "c")]
    (tmp_path / "tree" / "results.json").write_text(json.dumps({"experiments": experiments}))
    found = {str(at): one for at, one in enumerate(_records(project, imported, tmp_path / "tree"))}
    assert cells(found, "application", "case", "nodes", "ranks", "threads", "options") == {
        ("lj", "standard", 1, 4, 1, None): 1,
        ("lj", "standard", 2, 8, 1, None): 2,
    }
    assert sorted(runs(project)["figure_of_merit"].values) == [10.5, 20.5, 21.5]


def test_import__a_damaged_document_costs_only_itself(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "report.json").write_text(report(case(1, 4, 98000.5)))
    (tmp_path / "tree" / "cut.json").write_text(report(case(2, 4, 98000.5))[:-40])
    assert any(
        one["job_id"] == "1" for one in _records(project, imported, tmp_path / "tree") if "job_id" in one
    )


# In the layout of ReFrame 3.0's performance logs (stackhpc/hpc-tests): no headings, a line for each figure.
PLAIN_LOG = (
    "2020-10-09T08:00:03+01:00|reframe 3.3-dev0 (rev: 3b375092)|Box_5km_birch_{0}_{1}_{2} on birch:{3} using "
    "box|jobid={4}|{5}={6}|{7}|ref=0 (l=None, u=None)|num_procs={1},num_nodes=2,5km,run\n"
)
# The same of 3.9, which has the unit at the end.
LATER_LOG = (
    "2022-06-23T20:18:19|reframe 3.9.2|StreamTest on birch:q1h-20p using builtin-gcc-7.2.0|jobid=926963|"
    "{}={}|ref=0 (l=null, u=null)|MB/s\n"
)


def test_import__a_plain_log_of_reframe_has_a_run_for_each_test_and_its_partition_is_several_factors(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    for partition in ("pine-roce-icc19-impi19-ucx", "pine-ib-gcc9-openmpi4-verbs"):
        lines = []
        for job in (1, 2):
            for name, value, unit in (
                ("runtime", 100.5 + job + len(partition), "s"),
                ("gflops", 270.1, "/s"),
            ):
                own = (partition.replace("-", "_"), 112, 56, partition, 7000 + job, name, value, unit)
                lines.append(PLAIN_LOG.format(*own).replace(":03+", f":{10 + job}+"))
        file = tmp_path / "tree" / "perflogs" / "birch" / partition / "box.log"
        file.parent.mkdir(parents=True)
        file.write_text("".join(lines))
    found = _records(project, imported, tmp_path / "tree")
    assert {(one["application"], one["cluster"], one["ranks"], one["nodes"]) for one in found} == {
        ("box_5km", "birch", 112, 2)
    }
    assert cells(
        {one["run"]: one for one in found}, "interconnect", "mpi", "build", "tuning", "host_group"
    ) == {
        ("roce", "Intel MPI 19", "icc19 box", "ucx", "pine"): 2,
        ("ib", "Open MPI 4", "gcc9 box", "verbs", "pine"): 2,
    }
    assert sorted(one["start"] for one in found)[0] == 1602226811.0
    declared = (project / "config/applications/box_5km.yaml").read_text()
    assert 'figure_of_merit: "runtime"' in declared
    assert "higher_is_better: false" in declared


def test_reframe__lines_of_one_test_are_one_result_and_a_cut_line_is_none() -> None:
    text = LATER_LOG.format("Copy", 6606.1) + LATER_LOG.format("Scale", 6447.7) + LATER_LOG[:60]
    found = readers.parse(text.encode(), "StreamTest.log")
    assert [*zip(found["merit"].values, found["value"].values, found["unit"].values, strict=True)] == [
        ("Copy", 6606.1, "MB/s"),
        ("Scale", 6447.7, "MB/s"),
    ]
    assert set(found["result"].values) == {0}
    assert not found.attrs["complete"]


def _output(rate: float) -> str:
    """Return STREAM's output with a rate of Triad, whose least time agrees with it."""
    took = 3 * 8 * 80_000_000 / (rate * 1e6)
    row = f"Triad:      {rate:9.1f}     {took:.6f}     {took:.6f}     {took:.6f}"
    return re.sub(r"(?m)^Triad:.*$", row, TEXTS["stream"])


def test_import__a_case_of_reframe_and_the_output_that_it_reports_are_one_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """By folder and figure, or by the number of the job; a folder has the output of its last case alone."""
    place, rates = "birch/cn/gnu/TriadTest_0a1b", (98001.5, 97001.5, 96001.5)
    folder = tmp_path / "tree" / "output" / place
    folder.mkdir(parents=True)
    (folder / "rfm_job.out").write_text(_output(rates[1]))
    (tmp_path / "tree/slurm-3.out").write_text(_output(rates[2]))
    where = {"outputdir": f"/home/ada/rfm/output/{place}", "job_stdout": "rfm_job.out"}
    tests = [case(at, 4, rate, **(where if at < 3 else {})) for at, rate in enumerate(rates, 1)]
    (tmp_path / "tree/run-report.json").write_text(report(*tests))
    found = _records(project, imported, tmp_path / "tree")
    assert sorted((one["application"], one["job_id"], one["repeat"]) for one in found) == [
        ("triadtest", "1", 1), ("triadtest", "2", 2), ("triadtest", "3", 3),
    ]  # fmt: skip
    files = {one["job_id"]: [file["from"] for file in one["imported"]["files"]] for one in found}
    assert files == {
        "1": ["run-report.json"],
        "2": ["run-report.json", f"output/{place}/rfm_job.out"],
        "3": ["run-report.json", "slurm-3.out"],
    }
    assert len(_records(project, imported, tmp_path / "tree")) == 3  # once more, nothing is new


def test_import__an_output_with_the_figure_of_a_case_and_nothing_that_joins_them_is_named(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "stream.out").write_text(_output(98001.5))
    (tree / "run-report.json").write_text(report(case(1, 4, 98001.5)))
    cli.main(["import", str(tree), "--as", "mine"])
    assert (
        "note: stream.out: figures of cases of run-report.json, but neither a job" in capsys.readouterr().out
    )
    (tree / "stream.out").write_text(_output(95001.5))
    cli.main(["import", str(tree), "--as", "mine"])
    assert "note:" not in capsys.readouterr().out


def _darshan(program: str, job: int, start: int) -> str:
    """Return the text of a log, with the lines of its head that `darshan-parser` prints."""
    times = f"# start_time: {start}\n# end_time: {start + 90}\n"
    head = f"# exe: /home/ada/bin/{program} -n 4\n# jobid: {job}\n{times}"
    text = TEXTS["darshan"].replace("0.2578", f"0.{job}78")
    return text.replace("# exe: ./io\n# nprocs", f"{head}# nprocs")


def test_import__a_darshan_log_names_its_program_also_where_that_of_another_is_known(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    for at, program in enumerate(("macsio", "vpic")):
        tree = tmp_path / f"tree{at}"
        tree.mkdir()
        (tree / f"ada_{program}_id7{at}.txt").write_text(_darshan(program, 70 + at, 1700000000))
        found = _records(project, imported, tree)
    assert sorted((one["application"], one["start"]) for one in found) == [
        ("macsio-posix-rate", 1700000000.0), ("vpic-posix-rate", 1700000000.0),
    ]  # fmt: skip


def test_import__the_output_of_a_job_and_its_darshan_log_are_one_run(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "slurm-4711.out").write_text(TEXTS["stream"])
    (tree / "log.txt").write_text(_darshan("stream", 4711, 1700000000))
    (one,) = _records(project, imported, tree)
    assert (one["application"], one["job_id"], one["start"], one["end"]) == (
        "stream", "4711", 1700000000.0, 1700000090.0,
    )  # fmt: skip
    assert [file["from"] for file in one["imported"]["files"]] == ["slurm-4711.out", "log.txt"]


def test_import__a_table_in_the_folder_of_its_case_is_one_run_with_it(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder has the output of the last of several cases: the one whose number is in the table."""
    folder = tmp_path / "tree" / "output" / "birch" / "fast" / "gnu" / "Osu_bw"
    folder.mkdir(parents=True)
    table = "# OSU MPI Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n1  0.82\n1048576  10596.31\n"
    jobs = {("2020-08-19T16:25:17+01:00", 4960): 10865.84, ("2020-09-11T15:09:16+01:00", 6613): 10596.31}
    (folder / "rfm_Osu_bw_job.out").write_text(table)
    (tmp_path / "tree" / "perflogs").mkdir()
    (tmp_path / "tree" / "perflogs" / "Osu_bw.log").write_text("".join(
        f"{date}|reframe 3.0|Osu_bw on birch:fast using gnu|jobid={job}|max_bandwidth={best}|MB/s|"
        "ref=0 (l=None, u=None)|omb\n"
        for (date, job), best in jobs.items()
    ))  # fmt: skip
    found = _records(project, imported, tmp_path / "tree")
    kept = {one["job_id"]: [file["from"] for file in one["imported"]["files"]] for one in found}
    assert sorted(kept["6613"]) == sorted([*kept["4960"], "output/birch/fast/gnu/Osu_bw/rfm_Osu_bw_job.out"])
    assert "import the outputs alone for their tables" in capsys.readouterr().out


def test_import__a_case_that_reports_one_number_of_a_table_is_named_as_its_double(
    tmp_path: Path, project: Path, imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """ReFrame keeps the largest bandwidth of OSU's table: two tests, in a line."""
    for test, best in (("Osu_bw_1", 10865.8), ("Osu_bw_2", 10596.3)):
        folder = tmp_path / "tree" / "output" / test
        folder.mkdir(parents=True)
        rows = f"1  0.82\n1048576  {best:.2f}\n"
        table = f"# OSU MPI Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n{rows}"
        (folder / f"rfm_{test}_job.out").write_text(table)
        line = LATER_LOG.format("max_bandwidth", best).replace("StreamTest", test)
        (folder / f"{test}.log").write_text(line)
    imported(tmp_path / "tree")
    (note,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert note.startswith("note: output/Osu_bw_1/rfm_Osu_bw_1_job.out and 1 more: figures of cases of ")
    assert note.endswith("which report one number of their tables; each counts as two: import one of the two")
