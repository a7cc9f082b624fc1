"""What batch systems request and report, in the forms of real outputs; names and numbers are ours."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analysis import cli
from analysis.importing import scheduler
from analysis.importing.detect import job_of

from .test_import import Imported, imported, log, project

__all__ = ["imported", "project"]


def at(*when: int) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()  # type: ignore[misc]


def lsf(job: int, hosts: tuple[str, ...], *, group: str = "ivy", day: int = 7, end: str = "") -> str:
    """Return the report that LSF writes before an output: two slots on each host."""
    first, *others = (f"<2*{host}.hpc.example.org>" for host in hosts)
    more = "".join(f"\n{' ' * 28}{one}" for one in others)
    return (
        f"Sender: LSF System <lsfadmin@{hosts[0]}.hpc.example.org>\n"
        f"Subject: Job {job}: <lj> in cluster <birch> Done\n\n"
        "Job <lj> was submitted from host <login1> by user <ada> in cluster <birch>.\n"
        f"Job was executed on host(s) {first}, in queue <par-multi>, as user <ada> in cluster <birch>."
        f"{more}\n"
        "</home/ada> was used as the home directory.\n"
        f"Started at Thu Mar  {day} 11:31:20 2017\nTerminated at Thu Mar  {day} 11:41:50 2017\n"
        f"Results reported at Thu Mar  {day} 11:41:50 2017\n\nYour job looked like:\n\n{'-' * 60}\n"
        f'# LSBATCH: User input\n#BSUB -x\n#BSUB -n {2 * len(hosts)}\n#BSUB -R "span[ptile=2]"\n'
        f'#BSUB -J lj\n#BSUB -W 1:00\n#BSUB -m "{group}"\nmpirun -lsf ./lmp -in in.lj\n{"-" * 60}\n\n'
        f"{end or 'Successfully completed.'}\n\nResource usage summary:\n\n    CPU time :    2400.00 sec.\n"
        "    Max Memory :             1536 MB\n    Run time :               630 sec.\n\n"
        "The output (if any) follows:\n\n"
    )


def test_lsf__its_report_gives_hosts_slots_queue_and_times() -> None:
    facts, name = scheduler.reported(lsf(4711, ("cn056", "cn061")) + log(9.5))
    assert name == "LSF"
    assert facts == {
        "job": "4711",
        "job_name": "lj",
        "cluster": "birch",
        "nodes": 2,
        "node_list": "cn056.hpc.example.org,cn061.hpc.example.org",
        "slots": 4,
        "queue": "par-multi",
        "start": at(2017, 3, 7, 11, 31, 20),
        "end": at(2017, 3, 7, 11, 41, 50),
        "walltime": 630.0,
        "cpu_time": 2400.0,
        "memory": 1536 * 2.0**20,
        "exit_code": 0,
    }
    asked = scheduler.requested(lsf(4711, ("cn056", "cn061")))
    assert asked == {"slots": 4, "slots_per_node": 2, "nodes": 2, "job_name": "lj", "feature": "ivy"}


def test_lsf__a_job_that_failed_or_has_no_dates_says_so() -> None:
    text = lsf(
        1,
        ("cn056",),
        end="TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.",
    )
    facts, _ = scheduler.reported(text.replace("Started at Thu Mar  7 11:31:20 2017", "Started at "))
    assert (facts["exit_code"], facts["state"], facts["nodes"]) == (140, "TERM_RUNLIMIT", 1)
    assert facts["start"] == facts["end"] - 630


PROLOGUE = """----------------------------------------
Begin PBS Prologue Mon Jan 18 09:32:03 EST 2016 1453127523
Job ID:         335896.sched
Username:       ada
Nodes:          f109n001-ib0 f109n002-ib0
f109n003-ib0
End PBS Prologue Mon Jan 18 09:32:04 EST 2016 1453127524
----------------------------------------
"""
EPILOGUE = """Begin PBS Epilogue Mon Jan 18 09:42:10 EST 2016 1453128130
Job ID:         335896.sched
Limits:         neednodes=3:ppn=8,nodes=3:ppn=8,walltime=00:20:00
Resources:      cput=00:30:00,mem=2048kb,vmem=4096kb,walltime=00:10:02
Queue:          debug
Nodes:  f109n001-ib0 f109n002-ib0 f109n003-ib0
Killing leftovers...
"""


def test_pbs__prologue_and_epilogue_around_an_output() -> None:
    facts, name = scheduler.reported(PROLOGUE + log(9.5) + EPILOGUE)
    assert name == "PBS"
    assert facts == {
        "job": "335896",
        "queue": "debug",
        "nodes": 3,
        "node_list": "f109n001-ib0,f109n002-ib0,f109n003-ib0",
        "start": 1453127523.0,
        "end": 1453128130.0,
        "walltime": 602.0,
        "memory": 2048 * 1024.0,
    }


def test_pbs__a_usage_at_the_end_and_the_full_status_of_a_job() -> None:
    usage = """
                  Resource Usage on 2025-06-02 00:24:42:
   Job Id:             14211.gadi-pbs
   Exit Status:        0
   NCPUs Requested:    96                     NCPUs Used: 96
   Memory Requested:   600.0GB               Memory Used: 1.5GB
   Walltime requested: 12:00:00            Walltime Used: 01:02:03
"""
    facts, _ = scheduler.reported(usage)
    end = at(2025, 6, 2, 0, 24, 42)
    assert facts == {
        "job": "14211", "exit_code": 0, "end": end, "start": end - 3723, "walltime": 3723.0,
        "memory": 1.5 * 2**30,
    }  # fmt: skip
    status = "    resources_used.walltime = 00:01:40\n    exec_host = n1/0*36+n2/0*36+n3/0*36+\n\tn4/0*36\n"
    assert scheduler.reported(status)[0] == {"nodes": 4, "node_list": "n1,n2,n3,n4", "walltime": 100.0}


def qstat(job: int, hosts: tuple[str, ...], network: str) -> str:
    """Return a job as `qstat -x -f` of OpenPBS prints it, shortened."""
    return f"""Job Id: {job}.service1
    Job_Name = lj
    Job_Owner = ada@service1.ice.cluster
    resources_used.cput = 00:07:12
    resources_used.mem = 4718592kb
    resources_used.walltime = 00:00:28
    job_state = F
    queue = workq
    ctime = Mon Aug  8 23:16:52 2022
    exec_host = {"+".join(f"{host}/0*2" for host in hosts)}
    mtime = Mon Aug  8 23:19:00 2022
    Resource_List.nodect = {len(hosts)}
    stime = Mon Aug  8 23:18:32 2022
    obittime = Mon Aug  8 23:19:{job % 60:02} 2022
    Variable_List = PBS_O_HOME=/home/ada,PBS_O_LANG=en_US.UTF-8,PBS_O_WORKDIR=/home/ada/lj,
\tOMPI_MCA_{network},UCX_TLS=rc,sm,KMP_AFFINITY=verbose\\,granularity=fine,OMP_NUM_THREADS=1,
\tPBS_O_QUEUE=workq,PBS_O_HOST=service1
    comment = Job run at Mon Aug 08 at 23:18 on ({hosts[0]}:ncpus=2) and finished
    Exit_status = 0

"""


def test_pbs__the_full_status_of_several_jobs() -> None:
    text = qstat(88101, ("r1i0n002",), "pml=ucx") + qstat(88105, ("r1i0n004", "r1i0n005"), "btl=tcp")
    jobs, name = scheduler.jobs(text)
    assert (name, list(jobs)) == ("PBS", ["88101", "88105"])
    assert jobs["88105"] == {
        "job": "88105", "batch": "PBS", "queue": "workq", "job_name": "lj", "exit_code": 0, "nodes": 2,
        "node_list": "r1i0n004,r1i0n005", "walltime": 28.0, "memory": 4718592 * 1024.0,
        "start": at(2022, 8, 8, 23, 18, 32), "end": at(2022, 8, 8, 23, 19, 25),
        "job_environment": {
            "OMPI_MCA_btl": "tcp", "UCX_TLS": "rc,sm", "KMP_AFFINITY": "verbose,granularity=fine",
            "OMP_NUM_THREADS": "1",
        },
    }  # fmt: skip


def test_import__the_full_status_of_several_jobs_of_pbs_is_joined_by_their_numbers(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    text = ""
    for number in range(4):
        job = 88101 + number
        (tmp_path / "tree" / f"lj.o{job}").write_text(log(9.5 + number / 10))
        text += qstat(job, ("r1i0n002", "r1i0n003"), "pml=ucx" if number % 2 else "btl=tcp")
    (tmp_path / "tree" / "qstat-xf.txt").write_text(text)
    found = imported(tmp_path / "tree").values()
    assert sorted((one["options"], one["nodes"], one["threads"], one["repeat"]) for one in found) == [
        (f"OMPI_MCA_{network}", 2, 1, repeat) for network in ("btl=tcp", "pml=ucx") for repeat in (1, 2)
    ]
    assert {one["imported"]["factors"]["nodes"] for one in found} == {"PBS"}


QACCT = """==============================================================
qname        long.q
hostname     compute-089.example.org
jobname      lj
jobnumber    {job}
taskid       undefined
start_time   Sat Sep  7 14:40:16 2019
end_time     Sat Sep  7 14:40:59 2019
granted_pe   mpi
slots        32
exit_status  0
maxvmem      2.000G
"""


def test_sge__accounting_of_several_jobs_and_a_file_of_hosts() -> None:
    jobs, name = scheduler.jobs(QACCT.format(job=92500) + QACCT.format(job=92501))
    assert name == "SGE"
    assert list(jobs) == ["92500", "92501"]
    assert jobs["92501"] == {
        "job": "92501", "queue": "long.q", "job_name": "lj", "slots": 32, "exit_code": 0, "batch": "SGE",
        "host": "compute-089.example.org",
        "start": at(2019, 9, 7, 14, 40, 16), "end": at(2019, 9, 7, 14, 40, 59), "memory": 2.0 * 2**30,
    }  # fmt: skip
    hosts = "node07.example.org 16 long.q@node07 UNDEFINED\nnode09.example.org 8 long.q@node09 UNDEFINED\n"
    found = {"nodes": 2, "node_list": "node07.example.org,node09.example.org", "slots": 24}
    assert scheduler.reported(hosts)[0] == found
    assert scheduler.requested("#$ -pe mpi 64\n#$ -N lj\n#$ -q long.q\n") == {
        "slots": 64, "job_name": "lj", "queue": "long.q",
    }  # fmt: skip


def test_import__the_first_host_of_a_job_of_sge_is_its_host_group_and_no_count(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """qacct names the host of the first process; the job had 32 slots on more of them."""
    (tmp_path / "tree").mkdir()
    rows = ""
    for number in range(4):
        job = 92500 + number
        (tmp_path / "tree" / f"lj.o{job}").write_text(log(9.5 + number / 10))
        rows += QACCT.format(job=job).replace("compute", "compute" if number < 2 else "bigmem")
    (tmp_path / "tree" / "qacct.txt").write_text(rows)
    found = imported(tmp_path / "tree").values()
    groups = [("bigmem", 1), ("bigmem", 2), ("compute", 1), ("compute", 2)]
    assert sorted((one["host_group"], one["repeat"]) for one in found) == groups
    assert not any("nodes" in one for one in found)


UGE = """[ada@login ~]$ qacct -j 9447715
==============================================================
qname        long.q
hostname     h01u07
jobname      lj
jobnumber    9447715
taskid       undefined
pe_taskid    1.h05u11
start_time   03/06/2017 17:49:52.110
end_time     03/06/2017 17:49:55.000
granted_pe   impi3
slots        64
exit_status  0
ru_wallclock 3.890
==============================================================
qname        long.q
hostname     h01u07
jobname      lj
jobnumber    9447715
taskid       undefined
pe_taskid    NONE
start_time   03/06/2017 17:49:50.505
end_time     03/06/2017 17:56:47.464
granted_pe   impi3
slots        64
failed       0
exit_status  0
ru_wallclock 416.959
maxvmem      322.164M
"""
CATCH = "-unique -catch_rsh /var/spool/uge814/h01u07/active_jobs/9447715.1/pe_hostfile\nh01u07\nh05u11\n"


def test_sge__dates_with_milliseconds_behind_a_prompt_and_the_row_of_the_whole_job() -> None:
    jobs, name = scheduler.jobs(UGE)
    assert (name, list(jobs)) == ("SGE", ["9447715"])
    job = jobs["9447715"]
    assert (job["start"], job["end"]) == (at(2017, 3, 6, 17, 49, 50), at(2017, 3, 6, 17, 56, 47))
    assert (job["slots"], job["walltime"], job["exit_code"]) == (64, 416.0, 0)


def test_sge__what_the_start_of_a_parallel_job_prints() -> None:
    found = {"job": "9447715", "nodes": 2, "node_list": "h01u07,h05u11"}
    assert scheduler.reported(CATCH) == (found, "SGE")
    every_slot = CATCH.replace("-unique ", "").replace("h01u07\n", "h01u07\nh01u07\n", 1)
    assert scheduler.reported(every_slot)[0] == {**found, "slots": 3}


def test_import__files_of_sge_pjm_and_cobalt_are_those_of_their_job(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    """No output states its job: the name of the file does, as each of the three names it."""
    tree = tmp_path / "tree"
    for folder in ("sge", "fugaku", "theta"):
        (tree / folder).mkdir(parents=True)
    (tree / "sge" / "lj.o9447715").write_text(log(9.5))
    (tree / "sge" / "lj.po9447715").write_text(CATCH)
    (tree / "sge" / "qacct.txt").write_text(UGE)
    (tree / "fugaku" / "lj.sh.43607196.out").write_text(log(9.6))
    (tree / "fugaku" / "lj.sh.43607196.stats").write_text(stats(43607196))
    (tree / "theta" / "11781.output").write_text(log(9.7))
    (tree / "theta" / "11781.cobaltlog").write_text(cobalt(11781))
    runs: dict[str, dict[str, Any]] = imported(tree)
    found = {source.partition("/")[0]: one for source, one in runs.items()}
    facts = {
        name: (one["job_id"], one["nodes"], one["end"] - one["start"], one["exit_code"])
        for name, one in found.items()
    }
    assert facts == {
        "sge": ("9447715", 2, 417.0, 0),
        "fugaku": ("43607196", 12, 54.0, 0),
        "theta": ("11781", 12, 67.0, 137),
    }
    assert found["sge"]["node_list"] == "h01u07,h05u11"
    where = {name: one["imported"]["factors"]["nodes"] for name, one in found.items()}
    assert where == {"sge": "SGE", "fugaku": "PJM", "theta": "Cobalt"}


def test_pbs__accounting_of_its_server() -> None:
    row = (
        "04/05/2017 13:06:53;E;45.master.example;user=ada group=ada jobname=lj queue=short ctime=1491390300 "
        "start=1491390307 exec_host=node2801.example/0-1+node2803.example/0-1 session=1 unique_node_count=2 "
        "end=1491390413 Exit_status=271 resources_used.mem=55048kb resources_used.walltime=00:01:44\n"
    )
    jobs, _ = scheduler.jobs(row)
    assert jobs == {
        "45": {
            "job": "45", "batch": "PBS", "nodes": 2, "node_list": "node2801.example,node2803.example",
            "queue": "short", "job_name": "lj", "start": 1491390307.0, "end": 1491390413.0, "walltime": 104.0,
            "memory": 55048 * 1024.0, "exit_code": 271,
        }
    }  # fmt: skip


FLUX = """START OF JOBSPEC
{"resources": [{"type": "node", "count": 2}], "tasks": [{"command": ["osu_bw", "-i", "50"], "slot": "task"}]}
START OF EVENTLOG
{"timestamp":1745009902.25,"name":"init"}
{"timestamp":1745009902.5,"name":"shell.init","context":{"service":"s","leader-rank":0,"size":2}}
{"timestamp":1745009902.75,"name":"shell.start","context":{"taskmap":{"version":1,"map":[[0,2,16,1]]}}}
{"timestamp":1745009906.5,"name":"complete","context":{"status":256}}
{"version": 1, "execution": {"R_lite": [{"rank": "0-1"}], "nodelist": ["flux-[001-002]"]}}
"""


def test_flux__jobspec_events_and_resources() -> None:
    facts, name = scheduler.reported(log(9.5) + FLUX)
    assert name == "Flux"
    assert facts == {
        "command": "osu_bw -i 50", "nodes": 2, "ranks": 32, "node_list": "flux-001,flux-002",
        "start": 1745009902.5, "end": 1745009906.5, "exit_code": 1,
    }  # fmt: skip
    asked = scheduler.requested("#flux: -N2\n#flux: -n 32\n#flux: --queue=pdebug\n")
    assert asked == {"nodes": 2, "ranks": 32, "queue": "pdebug"}


# What Flux's job list gives of a job in JSON, as flux-core 0.5x writes it.
LISTED = {
    "id": 11724136644608, "userid": 1000, "urgency": 16, "priority": 16, "t_submit": 1687735644.47,
    "t_depend": 1687735644.47, "t_run": 1687735644.5, "t_cleanup": 1687735671.75, "t_inactive": 1687735671.8,
    "state": "INACTIVE", "name": "lmp", "ntasks": 768, "duration": 0.0, "nnodes": 8, "ranks": "[0-7]",
    "nodelist": "flux-sample-[0-7]", "success": True, "exception_occurred": False, "result": "COMPLETED",
    "expiration": 4841335644.0, "waitstatus": 0, "returncode": 0, "runtime": 27.25,
    "exception": {"occurred": False, "severity": "", "type": "", "note": ""},
}  # fmt: skip


def test_flux__a_jobspec_and_the_events_of_a_job_say_how_it_ran(tmp_path: Path, imported: Imported) -> None:
    """What `flux job info` gives of a job: its jobspec, its own events, not those of its shell, and R."""
    tree = tmp_path / "tree"
    for at, (link, affinity) in enumerate((("rc", "per-task"), ("tcp", "per-task"), ("rc", "off"))):
        (tree / str(at)).mkdir(parents=True)
        (tree / str(at) / "stdout.txt").write_text(log(9.5 + at / 10))
        node = {"type": "node", "count": 2, "with": [{"type": "slot", "count": 2, "with": []}]}
        environment = {"UCX_TLS": link, "PATH": "/bin", "LOADEDMODULES": "gcc/12.2.0:openmpi/4.1.5"}
        system = {"environment": environment, "shell": {"options": {"cpu-affinity": affinity, "rlimit": {}}}}
        documents: list[dict[str, Any]] = [
            {
                "resources": [node],
                "tasks": [{"command": ["./lmp"], "slot": "task", "count": {"per_slot": 1}}],
                "attributes": {"system": system},
            },
            {"timestamp": 1e9 + 9, "name": "submit", "context": {"urgency": 16}},
            {"timestamp": 1e9 + 10, "name": "start"},
            {"timestamp": 1e9 + 25.5, "name": "finish", "context": {"status": 0}},
            {"version": 1, "execution": {"R_lite": [], "nodelist": [f"flux-00{at}", "flux-009"]}},
        ]
        (tree / str(at) / "job-info.txt").write_text("".join(f"{json.dumps(one)}\n" for one in documents))
    found = imported(tree)
    assert {name[0]: one["options"] for name, one in found.items()} == {
        "0": "UCX_TLS=rc -o=cpu-affinity=per-task",
        "1": "UCX_TLS=tcp -o=cpu-affinity=per-task",
        "2": "UCX_TLS=rc -o=cpu-affinity=off",
    }
    facts = [(one["nodes"], one["ranks"], one["mpi"], one["end"] - one["start"]) for one in found.values()]
    assert facts == [(2, 4, "Open MPI 4.1.5", 15.5)] * 3
    asked = json.dumps({**documents[0], "tasks": [{"command": ["./lmp"], "count": {"per_slot": 3}}]})
    assert scheduler.reported(f"{asked}\n")[0]["ranks"] == 12  # 2 nodes of 2 slots


def test_lsf__the_slot_of_the_script_is_no_node_where_whole_nodes_are_given() -> None:
    """As on Summit, whose nodes have 42 slots; elsewhere one slot may be left over on the first host."""
    mail = lsf(4711, ("batch2", "h14n01", "h14n02")).replace("<2*batch2", "<1*batch2")
    summit, _ = scheduler.reported(mail.replace("<2*h14", "<42*h14"))
    assert (summit["nodes"], summit["node_list"]) == (2, "h14n01.hpc.example.org,h14n02.hpc.example.org")
    assert "slots" not in summit
    assert (scheduler.reported(mail)[0]["nodes"], scheduler.reported(mail)[0]["slots"]) == (3, 5)


def test_flux__the_list_of_a_job_gives_nodes_dates_and_the_exit_code() -> None:
    facts, name = scheduler.reported(json.dumps(LISTED, indent=4))
    assert name == "Flux"
    assert facts["job"] == "11724136644608"
    assert (facts["nodes"], facts["ranks"], facts["exit_code"], facts["job_name"]) == (8, 768, 0, "lmp")
    assert facts["node_list"].split(",") == [f"flux-sample-{at}" for at in range(8)]
    assert facts["end"] - facts["start"] == 27.25
    runs = {**LISTED, "state": "RUN", "t_cleanup": 0.0, "returncode": ""}
    facts, _ = scheduler.reported(json.dumps(runs))
    assert "start" in facts
    assert not {"end", "exit_code"} & facts.keys()


def test_flux__several_jobs_of_a_list_are_a_table() -> None:
    two = {"jobs": [LISTED, {**LISTED, "id": 7, "nnodes": 2, "nodelist": "flux-sample-[0-1]"}]}
    found, name = scheduler.jobs(json.dumps(two))
    assert name == "Flux"
    assert {job: row["nodes"] for job, row in found.items()} == {"11724136644608": 8, "7": 2}
    assert scheduler.reported(json.dumps(two)) == ({}, "")
    assert scheduler.jobs('{"t_submit": 1, "nnodes": 2') == ({}, "")


def test_flux__a_number_in_base_58_is_that_of_the_list() -> None:
    table = (
        "       JOBID QUEUE    USER     NAME       ST NTASKS NNODES     TIME INFO\n"
        "     ƒPrPvwK pdebug   ada      lmp        CD      6      2    1.22m burst[64-65]\n"
        "     ƒPrPvwJ pdebug   ada      lmp         R      6      1   0.237s burst70\n"
    )
    jobs, name = scheduler.jobs(table)
    digits = (22, 49, 22, 53, 54, 18)
    known = sum(digit * 58**at for at, digit in enumerate(reversed(digits)))
    assert (name, list(jobs)) == ("Flux", [str(known), str(known - 1)])
    first, second = jobs.values()
    assert (first["nodes"], first["node_list"], first["walltime"]) == (2, "burst64,burst65", 1.22 * 60)
    assert (second["nodes"], "walltime" in second) == (1, False)
    assert {job_of(f"flux-{letter}PrPvwK.out") for letter in "ƒf"} == {str(known)}
    assert (job_of("flux-fast1.out"), job_of("fPrPvwK.out")) == ("", "")


def test_import__a_trace_and_the_list_of_flux_say_how_each_job_ran(
    tmp_path: Path, imported: Imported
) -> None:
    """The tasks of a job of a script are its slots; what its trace launches are ranks."""
    tree = tmp_path / "tree"
    tree.mkdir()
    rows = []
    for at, link in enumerate(("rc", "tcp") * 2):
        trace = f"+ module load gcc/12.2.0\n+ export UCX_TLS={link}\n+ flux run -N2 -n 4 ./lmp\n"
        (tree / f"flux-ƒPrPvw{'KLMN'[at]}.out").write_text(trace + log(9.5 + at / 10))
        row = {**LISTED, "ntasks": 2, "nnodes": 2, "nodelist": "flux-[0-1]", "t_run": 1687735644.5 + at}
        rows.append(row | {"id": int(job_of(f"flux-ƒPrPvw{'KLMN'[at]}.out"))})
    (tree / "jobs.json").write_text(json.dumps({"jobs": rows}))
    found = sorted(imported(tree).values(), key=lambda one: float(one["start"]))
    assert [(one["options"], one["repeat"]) for one in found] == [
        ("UCX_TLS=rc", 1), ("UCX_TLS=tcp", 1), ("UCX_TLS=rc", 2), ("UCX_TLS=tcp", 2),
    ]  # fmt: skip
    assert {(one["nodes"], one["ranks"], one["build"]) for one in found} == {(2, 4, "gcc-12.2.0")}


def test_import__the_list_of_a_flux_job_is_of_the_output_beside_it(
    tmp_path: Path, imported: Imported
) -> None:
    for at in range(2):
        (tmp_path / f"lammps-{at}.log").write_text(log(9.5 + at))
        row = {**LISTED, "id": at, "ntasks": 4, "nnodes": 2, "nodelist": "flux-[0-1]"}
        row |= {key: float(value) + 100 * at for key, value in LISTED.items() if key.startswith("t_")}
        (tmp_path / f"lammps-{at}-info.json").write_text(json.dumps(row, indent=4))
    found = imported(tmp_path)
    assert [(one["nodes"], one["ranks_per_node"], one["repeat"]) for one in found.values()] == [
        (2, 2, 1), (2, 2, 2),
    ]  # fmt: skip
    starts = [one["start"] for one in found.values()]
    assert starts[1] - starts[0] == 100


def test_flux__each_job_of_several_has_its_own_times(tmp_path: Path, imported: Imported) -> None:
    """`flux jobs -a` lists the last job of a loop first, and that of `hostname` too."""
    tree = tmp_path / "tree"
    tree.mkdir()
    asked = '{{"resources": [], "tasks": [{{"command": ["{}"], "slot": "task"}}]}}\n'
    events = (
        '{{"timestamp":{0}.5,"name":"shell.init","context":{{"size":{1}}}}}\n'
        '{{"timestamp":{0}.7,"name":"shell.start","context":{{"taskmap":{{"version":1,"map":[[0,{1},2,1]]}}}}}}\n'
        '{{"timestamp":{2}.5,"name":"complete","context":{{"status":0}}}}\n'
    )
    echoed = (
        "nodes=$(flux run -N4 hostname)\nflux run -N2 -n 4 --setattr=id=$i -o cpu-affinity=per-task ./lmp\n"
    )
    jobs = [(300, 2, 320), (200, 2, 230), (100, 2, 110)]
    records = [asked.format("./lmp") + events.format(10**9 + a, n, 10**9 + b) for a, n, b in jobs]
    records.append(asked.format("hostname") + events.format(10**9 + 50, 4, 10**9 + 51))
    (tree / "lj.out").write_text(echoed + "".join(log(one) for one in (10.0, 30.0, 20.0)) + "".join(records))
    found = imported(tree)
    times = sorted((one["start"] - 10**9, one["end"] - 10**9) for one in found.values())
    assert times == [(100.5, 110.5), (200.5, 230.5), (300.5, 320.5)]
    # All are repeats on the nodes of their own job: one options, whether the script is in sight or not.
    assert {one["nodes"] for one in found.values()} == {2}
    assert sorted(one["repeat"] for one in found.values()) == [1, 2, 3]


def amg(setup: float, solve: float) -> str:
    """Return what AMG2023 prints, shortened, its figures of merit worked out from its times."""
    nonzeros, iterations = 71_355_000_000.0, 30
    return (
        "Running with these driver parameters:\n  Problem ID    = 2\n\n"
        "  Laplacian_7pt:\n    (Nx, Ny, Nz) = (2048, 2048, 1408)\n    (Px, Py, Pz) = (1, 2, 2)\n\n"
        f"Problem 2: AMG Setup Time:\nPCG Setup:\n  wall clock time = {setup:.6f} seconds\n\n"
        f"FOM_Setup: nnz_AP / Setup Phase Time: {nonzeros / setup:.6e}\n\n"
        f"Problem 2: AMG-PCG Solve Time:\nPCG Solve:\n  wall clock time = {solve:.6f} seconds\n\n"
        f"Iterations = {iterations}\nFinal Relative Residual Norm = 8.320009e-09\n\n\n"
        f"FOM_Solve: nnz_AP * iterations / Solve Phase Time: {nonzeros * iterations / solve:.6e}\n\n\n\n"
        "Figure of Merit (FOM): nnz_AP / (Setup Phase Time + 3 * Solve Phase Time) "
        f"{nonzeros / (setup + 3 * solve):.6e}\n\n"
    )


def test_flux__a_result_that_is_shown_again_at_the_end_is_no_second_run(
    tmp_path: Path, imported: Imported
) -> None:
    """A job's log has the results of its loop, the records of the jobs, and the last result again."""
    (tmp_path / "tree").mkdir()
    events = (
        '{{"timestamp":{0}.5,"name":"shell.init","context":{{"size":2}}}}\n'
        '{{"timestamp":{0}.7,"name":"shell.start","context":{{"taskmap":{{"version":1,"map":[[0,2,2,1]]}}}}}}\n'
        '{{"timestamp":{1}.5,"name":"complete","context":{{"status":0}}}}\n'
    )
    results = [amg(57.0 + number / 7, 72.0 + number / 9) for number in range(3)]
    records = [events.format(10**9 + 200 * number, 10**9 + 200 * number + 140) for number in (2, 1, 0)]
    (tmp_path / "tree" / "amg.out").write_text("".join((*results, *records, results[-1])))
    found = imported(tmp_path / "tree").values()
    assert sorted(one["start"] - 10**9 for one in found) == [0.5, 200.5, 400.5]


def test_flux__records_in_the_middle_of_a_long_output_are_found(tmp_path: Path, imported: Imported) -> None:
    """What a program prints before and after them is longer than what is read of other files."""
    tree = tmp_path / "tree"
    tree.mkdir()
    records = (
        '{"timestamp":1000000100.5,"name":"shell.init","context":{"size":2}}\n'
        '{"timestamp":1000000100.7,"name":"shell.start","context":{"taskmap":{"version":1,"map":[[0,2,2,1]]}}}\n'
        '{"timestamp":1000000120.5,"name":"complete","context":{"status":0}}\n'
    )
    filler = "a line of the program\n" * 10_000
    (tree / "lj.out").write_text(log(10.0) + filler + records + filler)
    (found,) = imported(tree).values()
    assert (found["nodes"], found["start"], found["end"]) == (2, 1000000100.5, 1000000120.5)


def test_flux__a_record_without_a_number_is_of_the_output_that_was_written_at_its_time(
    tmp_path: Path, imported: Imported
) -> None:
    """Jobs without a pause, as of miniFE: 32 s are in two records, one of which has no other output."""
    tree = tmp_path / "tree"
    (tree / "results").mkdir(parents=True)
    ends = {"29": 4, "32": 3, "35": 2}
    for at, (second, nodes) in enumerate(ends.items()):
        (tree / "results" / f"lj.2025:04:18-20:53:{second}.log").write_text(log(1.0 + at / 10))
        end = datetime(2025, 4, 18, 20, 53, int(second), tzinfo=UTC).timestamp() + 0.3
        (tree / f"job-iter-{at}-12089494077{at}.txt").write_text(
            '{"resources": [], "tasks": [{"command": ["./lmp"], "slot": "task"}]}\n'
            f'{{"timestamp":{end - 2.9},"name":"shell.init","context":{{"size":{nodes}}}}}\n'
            f'{{"timestamp":{end},"name":"complete","context":{{"status":0}}}}\n'
        )
    found = imported(tree)
    assert {name[-7:-5]: one["nodes"] for name, one in found.items()} == ends
    assert {round(one["end"] - one["start"], 1) for one in found.values()} == {2.9}


def test_flux__hosts_that_a_job_asked_for_are_its_own_if_it_has_no_more_nodes() -> None:
    asked = (
        '{{"resources": [], "tasks": [{{"command": ["./osu"]}}], '
        '"attributes": {{"system": {{"constraints": {{"hostlist": ["flux-001,flux-004"]}}}}}}}}\n'
        '{{"timestamp":5.5,"name":"shell.init","context":{{"size":{}}}}}\n'
    )
    facts, _ = scheduler.reported(asked.format(2))
    assert (facts["nodes"], facts["node_list"]) == (2, "flux-001,flux-004")
    facts, _ = scheduler.reported(asked.format(3))
    assert (facts["nodes"], facts.get("node_list")) == (3, None)


def test_flux__nodes_given_by_hand_stay(tmp_path: Path, imported: Imported) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "lj.out").write_text("flux run -N 2 -n 4 ./lmp -in in.lj\n" + log(10.0))
    (found,) = imported(tree, "--set", "nodes=4").values()
    assert (found["nodes"], found["ranks"]) == (4, 4)


def test_pjm__its_statistics_and_its_directives() -> None:
    text = """ Job Statistical Information
 JOB ID                      : 390031
 JOB NAME                    : lj
 STATE                       : EXT
 EXIT CODE                   : 0
 NODE NUM (REQUIRE)          : 2x3x2
 NODE NUM (ALLOC)            : 12
 ELAPSE TIME (USE)           : 01:00:05 (3605)
 JOB START DATE              : 2016/07/29 21:11:29
 JOB END DATE                : 2016/07/29 22:11:34
 RESOURCE GROUP              : fx-small
"""
    facts, _ = scheduler.reported(text)
    assert facts == {
        "job": "390031", "job_name": "lj", "queue": "fx-small", "nodes": 12, "walltime": 3605.0,
        "exit_code": 0, "start": at(2016, 7, 29, 21, 11, 29), "end": at(2016, 7, 29, 22, 11, 34),
        "state": "EXT",
    }  # fmt: skip
    script = '#PJM -L "rscgrp=small,node=4x8x8:torus,freq=2200"\n#PJM --mpi "proc=1024,max-proc-per-node=4"\n'
    assert scheduler.requested(script) == {
        "nodes": 256, "ranks": 1024, "ranks_per_node": 4, "frequency": 2.2, "queue": "small",
    }  # fmt: skip


def stats(job: int) -> str:
    """Return what Fugaku writes of a job into its file of statistics, shortened."""
    return f"""Job Statistical Information

 JOB ID                       : {job}
 HOST NAME                    : fn02sv05
 JOB NAME                     : lj.sh
 JOB TYPE                     : BATCH
 STATE                        : RUN
 EXIT CODE                    : 0
 RESOURCE UNIT                : rscunit_ft01
 RESOURCE GROUP               : small
 NODE NUM (REQUIRE)           : 12
 NODE NUM (ALLOC)             : 12:2x3x2
 ELAPSE TIME (LIMIT)          : 00:10:00 (600)
 ELAPSE TIME (USE)            : 00:00:54 (54)
 JOB START DATE               : 2021/04/05 11:03:33
 JOB END DATE                 : 2021/04/05 11:04:27
"""


def cobalt(job: int, day: int = 24, code: int = 137) -> str:
    """Return the log that Cobalt keeps of a script on Theta, shortened."""
    stamp = f"Wed Aug {day} 02:48:58 2016 +0000 (UTC)"
    return f"""Jobid: {job}
qsub --mode script -A Performance -n 12 -t 0:20 -O topo -q cache-quad lj.sh
Wed Aug {day} 02:47:40 2016 +0000 (UTC) submitted with cwd set to: /home/ada
jobid {job} submitted from terminal /dev/pts/13
{stamp} Command: '/home/ada/lj.sh'
{stamp} Environment:
{stamp} COBALT_PARTNAME=3276-3287
{stamp} COBALT_JOBID={job}
{stamp} COBALT_JOBSIZE=12
{stamp} Info: stdin received from /dev/null
Wed Aug {day} 02:50:05 2016 +0000 (UTC) Info: task completed normally with an exit code of {code}; initiating
"""


def test_cobalt__a_script_is_not_booted() -> None:
    assert scheduler.reported(cobalt(11781)) == (
        {
            "job": "11781", "nodes": 12, "queue": "cache-quad", "exit_code": 137,
            "start": at(2016, 8, 24, 2, 48, 58), "end": at(2016, 8, 24, 2, 50, 5),
        },
        "Cobalt",
    )  # fmt: skip


def test_jobs__several_reports_in_one_file() -> None:
    """Cobalt and pjstat append; LSF's mails are saved in one folder's file."""
    both = cobalt(11781) + cobalt(11795, 25, 0)
    jobs, name = scheduler.jobs(both)
    assert (name, [(job, one["exit_code"], one["nodes"]) for job, one in jobs.items()]) == (
        "Cobalt",
        [("11781", 137, 12), ("11795", 0, 12)],
    )
    assert scheduler.reported(both)[0].get("job") is None
    jobs, name = scheduler.jobs(stats(7) + stats(8).replace(":27", ":37"))
    assert (name, [one["end"] - one["start"] for one in jobs.values()]) == ("PJM", [54.0, 64.0])
    jobs, name = scheduler.jobs(lsf(481, ("cn056",)) + lsf(482, ("cn061", "cn080")))
    assert (name, [(job, one["nodes"]) for job, one in jobs.items()]) == ("LSF", [("481", 1), ("482", 2)])
    assert scheduler.jobs(cobalt(11781)) == scheduler.jobs(lsf(481, ("cn056",))) == ({}, "")


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("Run time :               630", "Run time :               63", "says 63 s, its record 630 s"),
        ("Successfully completed.", "Exited with exit code 2.", "says exit 2, its record exit code 0"),
        ("<2*cn056", "<2*cn099", "says that the job ran on cn099.hpc.example.org, its record on cn056"),
        ("with 4000 atoms", "with 9000 atoms", "a number is wrong: the run does not count"),
    ],
)
def test_verify__compares_the_report_of_lsf_with_the_record(
    was: str, now: str, said: str, tmp_path: Path, project: Path, imported: Imported,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The output of an imported run was edited afterwards, and its manifest written anew."""
    (tmp_path / "tree").mkdir()
    rate = f"Performance: {100 / 9.5:.3f} timesteps/s, {400 / 9.5:.3f} katom-step/s\n"
    text = re.sub("Performance.*\n", rate, log(9.5))
    (tmp_path / "tree" / "481.out").write_text(lsf(481, ("cn056",)) + text)
    imported(tmp_path / "tree")
    (output,) = project.glob("data/raw/mine/runs/*/*.out")
    edited = output.read_text().replace(was, now)
    assert edited != output.read_text()
    output.write_text(edited)
    cli.main(["verify", "mine", "--write", "--force"])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("above", [False, True])
def test_import__each_result_of_several_mails_of_lsf_has_its_own_job(
    above: bool, tmp_path: Path, project: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    text = ""
    for number, hosts in enumerate((("cn056", "cn061"), ("cn080",), ("cn081",)), 1):
        mail, own = lsf(480 + number, hosts, day=number), log(9.5 + number)
        said = "The output (if any) is above this job summary."
        text += own + mail.replace("The output (if any) follows:", said) if above else mail + own
    (tree / "all.out").write_text(text)
    runs = imported(tree)
    assert sorted((one["job_id"], one["nodes"], one["start"]) for one in runs.values()) == [
        ("481", 2, at(2017, 3, 1, 11, 31, 20)),
        ("482", 1, at(2017, 3, 2, 11, 31, 20)),
        ("483", 1, at(2017, 3, 3, 11, 31, 20)),
    ]


def test_cobalt__its_log() -> None:
    text = """Jobid: 603816
qsub -n 32 -t 30 -q prod --mode script run.sh
Thu Sep 10 17:35:17 2015 +0000 (UTC) submitted with cwd set to: /home/ada
Thu Sep 10 17:35:58 2015 -0500 (CDT) ada/603816: Initiating boot at location CET-20400-31731-128.
Thu Sep 10 17:36:01 2015 -0500 (CDT) Command: '/bin/runjob' '--np' '512' '--ranks-per-node' '16' ':' './lmp'
Thu Sep 10 17:36:56 2015 -0500 (CDT) Info: task completed normally with an exit code of 0; initiating removal
"""
    facts, name = scheduler.reported(text)
    assert name == "Cobalt"
    assert facts == {
        "job": "603816", "nodes": 32, "ranks": 512, "ranks_per_node": 16, "queue": "prod", "exit_code": 0,
        "start": at(2015, 9, 10, 22, 35, 58), "end": at(2015, 9, 10, 22, 36, 56),
    }  # fmt: skip
    assert scheduler.requested("#COBALT -n 2 -q full-node\n") == {"nodes": 2, "queue": "full-node"}


def test_loadleveler__directives_and_environment() -> None:
    script = "# @ job_name   = lj\n# @ class = n002\n# @ node = 2\n# @ tasks_per_node = 20\n# @ queue\n"
    assert scheduler.requested(script) == {
        "nodes": 2,
        "ranks_per_node": 20,
        "job_name": "lj",
        "queue": "n002",
    }
    text = "LOADL_STEP_ID=p01.example.org.4711.0\nLOADL_PROCESSOR_LIST=p01 p01 p02 p02 \n"
    found = {"job": "4711", "nodes": 2, "node_list": "p01,p02", "slots": 4}
    assert scheduler.reported(text)[0] == found
    assert scheduler.requested("# a comment with @ node = 3\n") == {}


def test_slurm__a_job_as_scontrol_prints_it() -> None:
    text = (
        "JobId=77 JobName=lj\n   NumNodes=3 NumCPUs=96 \n   StartTime=2024-05-06T07:08:09 EndTime=\n"
        "   Partition=hdr Features=genoa\n   NodeList=cn[07-09]\n"
    )
    facts, _ = scheduler.reported(text)
    assert (facts["job"], facts["node_list"]) == ("77", "cn07,cn08,cn09")
    assert (facts["nodes"], facts["start"]) == (3, at(2024, 5, 6, 7, 8, 9))
    asked = scheduler.requested("#SBATCH --nodes=4-4 --ntasks-per-node=24  # all\n#SBATCH -C genoa -p hdr\n")
    assert asked == {"nodes": 4, "ranks_per_node": 24, "feature": "genoa", "queue": "hdr"}
    assert "nodes" not in scheduler.requested("#SBATCH --nodes=2-4\n")
    # Slurm has the frequency in kHz; a range or the name of a governor is no one frequency.
    assert scheduler.requested("#SBATCH --cpu-freq=2250000\n")["frequency"] == 2.25
    assert scheduler.reported("SLURM_JOB_ID=7\nSLURM_CPU_FREQ_REQ=2000000\n")[0]["frequency"] == 2.0
    for asked in ("1500000-2250000:Performance", "Performance", "high"):
        assert "frequency" not in scheduler.requested(f"#SBATCH --cpu-freq={asked}\n")
        assert "frequency" not in scheduler.reported(f"SLURM_JOB_ID=7\nSLURM_CPU_FREQ_REQ={asked}\n")[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Thu Mar 23 11:31:20 2017", at(2017, 3, 23, 11, 31, 20)),
        ("Thu Mar  7 11:31:20 CET 2017", at(2017, 3, 7, 11, 31, 20)),
        ("Thu Mar 23 11:31:20 2017 +0530", at(2017, 3, 23, 6, 1, 20)),
        ("Mon Jan 18 09:32:03 EST 2016 1453127523", 1453127523.0),
        ("2016/07/29 21:11:29", at(2016, 7, 29, 21, 11, 29)),
        ("2016-07-29T21:11:29", at(2016, 7, 29, 21, 11, 29)),
        ("Thu Mar 99 11:31:20 2017", None),
        ("soon", None),
    ],
)
def test_moment__reads_the_dates_of_batch_systems(text: str, wanted: float | None) -> None:
    assert scheduler.moment(text) == wanted


def test_import__reports_of_lsf_make_nodes_dates_and_ranks_per_node(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number, hosts in enumerate((("cn056", "cn061"), ("cn080",)), 1):
        (tree / f"48{number}.out").write_text(lsf(480 + number, hosts, day=number) + log(9.5 + number))
    found = {source.partition("#")[0]: one for source, one in imported(tree).items()}
    one, other = found["481.out"], found["482.out"]
    assert (one["nodes"], one["ranks"], one["ranks_per_node"], one["cluster"]) == (2, 4, 2, "birch")
    assert (other["nodes"], other["ranks"], other["ranks_per_node"]) == (1, 4, 4)
    assert (one["start"], one["end"], one["exit_code"]) == (
        at(2017, 3, 1, 11, 31, 20),
        at(2017, 3, 1, 11, 41, 50),
        0,
    )
    assert one["imported"]["factors"]["nodes"] == "LSF"
    assert one["job_id"] == "481"


def test_import__a_table_of_accounts_is_joined_by_the_number_of_the_job(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "lj.o92500").write_text(log(9.5))
    (tree / "a" / "lj.o92501").write_text(log(9.6))
    (tree / "accounting.txt").write_text(QACCT.format(job=92500) + QACCT.format(job=92501))
    runs: dict[str, dict[str, Any]] = imported(tree)
    assert {one["job_id"] for one in runs.values()} == {"92500", "92501"}
    assert {one["end"] - one["start"] for one in runs.values()} == {43.0}
    assert (project / "data/raw/mine/beside/accounting.txt").is_file()
    assert not (project / "data/raw/mine/sacct.txt").exists()


# As `bjobs -l` folds its lines, and `bacct -l` with a year; names ours.
BJOBS = """
Job <6009>, Job Name <lj>, User <ada>, Project <default>, Status <DONE>, Queue <
                     normal>, Command <mpirun ./lmp>, Share group charged </ada
                     >
Fri Mar  1 11:00:00: Submitted from host <login1>, CWD <$HOME/bench>, Output Fi
                     le <out.%J>, 48 Task(s), Requested Resources <span[ptile=2
                     4]>;
Fri Mar  1 11:00:12: Started 48 Task(s) on Host(s) <24*cn001> <24*cn0
                     02>, Allocated 48 Slot(s) on Host(s) <24*cn001> <24*cn002>
                     , Execution Home </home/ada>, Execution CWD </home/ada/ben
                     ch>;
Fri Mar  1 11:10:12: Done successfully. The CPU time used is 1234.5 seconds.

 MEMORY USAGE:
 MAX MEM: 12 Gbytes;  AVG MEM: 9 Gbytes
------------------------------------------------------------------------------
"""
LATER = """
Job <6010>, User <ada>, Status <EXIT>, Queue <normal>
Fri Mar  1 11:00:00 2024: Submitted from host <login1>;
Fri Mar  1 11:00:12 2024: Started 1 Task(s) on Host(s) <cn003>, Allocated 1 S
                          lot(s) on Host(s) <cn003>;
Fri Mar  1 11:00:42 2024: Exited with exit code 3. The CPU time used is 1 seconds.
"""


def test_lsf__the_long_list_of_jobs_is_unfolded() -> None:
    """LSF prints a year only on request; without one the length of the job is known alone."""
    facts = {
        "job": "6009", "job_name": "lj", "state": "DONE", "queue": "normal", "directory": "/home/ada/bench",
        "nodes": 2, "node_list": "cn001,cn002", "slots": 48, "exit_code": 0, "memory": 12.0 * 2**30,
        "walltime": 600.0,
    }  # fmt: skip
    assert scheduler.reported(BJOBS) == (facts, "LSF")
    found, name = scheduler.jobs(BJOBS + LATER)
    assert (name, found["6009"]) == ("LSF", {**facts, "batch": "LSF"})
    assert found["6010"] == {
        "job": "6010", "state": "EXIT", "queue": "normal", "nodes": 1, "node_list": "cn003", "slots": 1,
        "start": 1709290812.0, "end": 1709290842.0, "walltime": 30.0, "exit_code": 3, "batch": "LSF",
    }  # fmt: skip


def test_import__the_long_list_of_jobs_of_lsf_is_joined_by_their_numbers(
    tmp_path: Path, imported: Imported
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "bjobs.txt").write_text(BJOBS)
    (tmp_path / "tree" / "lj.o6009").write_text(log(9.5))
    (one,) = imported(tmp_path / "tree").values()
    assert (one["nodes"], one["node_list"], one["job_id"]) == (2, "cn001,cn002", "6009")


def test_pbs__the_prologue_and_epilogue_of_archer() -> None:
    """In the layout of hpc-uk/archer-benchmarks: days come before months, and lines are repeated."""
    line = "*** ada   Job: 5605431.sdb   started: 10/09/18 18:04:50   host: mom3 ***\n"
    end = "*** ada   Job: 5605431.sdb   ended: 10/09/18 18:06:44   queue: standard ***\n"
    text = (
        f"{'-' * 80}\n{line * 4}{log(9.5)}{'-' * 80}\n\n"
        "Resources requested: ncpus=24576,place=free,walltime=00:10:00\n"
        "Resources allocated: cpupercent=0,cput=00:00:07,mem=9696kb,ncpus=24576,walltime=00:01:55\n\n"
        f"{end * 4}{'-' * 80}\n"
    )
    job = {"job": "5605431", "queue": "standard", "walltime": 115.0}
    assert scheduler.reported(text) == ({**job, "start": 1536602690.0, "end": 1536602804.0}, "PBS")
