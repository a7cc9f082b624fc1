"""Facts from batch systems: directives of scripts, headers and epilogues of outputs, records of jobs.

A fact that a script requests is kept separate from a fact that the batch system reports of the job.
"""

import contextlib
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Any

from analysis.base.errors import ConfigError
from analysis.base.slurm import node_names
from analysis.importing import flux, launch, lsf
from analysis.readers import search

Facts = dict[str, Any]


@dataclass(frozen=True)
class Scheduler:
    """A batch system: the mark of its directives, and fact -> pattern of the lines that request or report it.

    Each of its reports contains one of `signs`. The first non-empty group of a pattern is the fact.
    """

    name: str
    mark: str
    requests: Mapping[str, str]  # in a line behind the mark
    signs: tuple[str, ...]
    reports: Mapping[str, str]  # in the output, or in a file of its own


# A number and a word of an option, dates, a duration.
_N, _W = r"[ =]*\"?(\d+)\"?(?![\w-])", r"[ =]*[\"']?([^\s\"']+)"
_DATE = r"[ \t]*([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}(?: [-+]\d{4}| \d{10})?)"
_US = r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)"
_ISO, _HMS = r"(\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d)", r"(\d+:\d\d:\d\d)"
_USED = r"^(?:Resources|Rsrc Used|Used resources): .*\b"  # of PBS's epilogues
_STARTED = r"^(?:-unique )?-catch_rsh /\S*/active_jobs/"  # by SGE's start of a parallel job
_ENDED_AT = rf"^ +(?:obittime|comp_time) ={_DATE}"  # of PBS and Torque
_OF_JOB = r"^\*\*\* \S+ +Job: {} +{}: +{}"  # a job's number, what it did, when, on ARCHER
_BRITISH = r"(\d\d/\d\d/\d\d \d\d:\d\d:\d\d) "
_QSUB = r"^(?:\S*/)?qsub(?:\.py)? .*?(?<!\S)"  # of Cobalt's log

SCHEDULERS = (
    Scheduler(
        "Slurm",
        "#SBATCH",
        {
            "nodes": rf"(?:--nodes|(?<!\S)-N){_N}|(?:--nodes|(?<!\S)-N)[ =]*(\d+)-\2(?!\S)",
            "ranks": rf"(?:--ntasks|(?<!\S)-n){_N}",
            "ranks_per_node": rf"--ntasks-per-node{_N}",
            "threads": rf"(?:--cpus-per-task|(?<!\S)-c){_N}",
            "frequency": launch.CPU_FREQUENCY,
            **launch.ASKED_GPUS,
            # Of a program, -G can be anything.
            "gpus": rf"{launch.ASKED_GPUS['gpus']}|(?<!\S)-G ?{launch.TYPED}",
            "job_name": rf"(?:--job-name|(?<!\S)-J){_W}",
            "queue": rf"(?:--partition|(?<!\S)-p){_W}",
            "feature": rf"(?:--constraint|(?<!\S)-C){_W}",
        },
        ("SLURM_", " NodeList="),
        {
            "nodes": r"^(?:export )?SLURM_(?:JOB_NUM_NODES|NNODES)=(\d+)|^ +NumNodes=(\d+)(?!-)",
            "ranks": r"^(?:export )?SLURM_NTASKS=(\d+)",
            "ranks_per_node": r"^SLURM_NTASKS_PER_NODE=(\d+)",
            "frequency": r"^SLURM_CPU_FREQ_REQ=(\d{3,4})\d{3}$",
            "gpus": r"^ +(?:Alloc)?TRES=\S*\bgres/gpu=([1-9]\d*)|^SLURM_GPUS=(?:\w+:)?([1-9]\d*)$",
            "gpus_per_node": r"^SLURM_GPUS_(?:ON|PER)_NODE=(?:\w+:)?([1-9]\d*)$"
            r"|^ +(?:TresPerNode|Gres)=(?:gres[:/])?gpu:(?:[\w.-]*[A-Za-z][\w.-]*[:=])?([1-9]\d*)(?!\S)",
            "job": r"^SLURM_JOB_?ID=(\d+)|^JobId=(\d+) ",
            "directory": r"^SLURM_SUBMIT_DIR=(\S+)|^ +WorkDir=(\S+)",
            "cluster": r"^SLURM_CLUSTER_NAME=([\w.-]+)",
            "hosts": r"^SLURM_(?:JOB_)?NODELIST=(\S+)|^ +NodeList=(\S+)",
            "queue": r"^SLURM_JOB_PARTITION=(\S+)|^ +Partition=(\S+)",
            "start": rf"^ +StartTime={_ISO}",
            "feature": r"^ +Features=(?!\(null\))(\S+)",
        },
    ),
    Scheduler(
        "LSF",
        "#BSUB",
        {
            "slots": rf"(?<!\S)-n{_N}",
            "nodes": rf"(?<!\S)-nnodes{_N}",
            "slots_per_node": r"span\[ptile=(\d+)\]",
            "queue": rf"(?<!\S)-q{_W}",
            "job_name": rf"(?<!\S)-J{_W}",
            "feature": r"(?<!\S)-m[ =]*[\"']?([\w.+-]+)|select\[\(?(\w+)[\])]",
            "gpus_per_node": r"(?<!\S)-gpu[ \t]+[\"']?(?:\S+:)?num=([1-9]\d*)(?![\w/])",
        },
        ("Sender: LSF", "LSB_"),
        {
            "job": r"^Subject: Job (\d+(?:\[\d+\])?):|^LSB_JOBID=(\d+)",
            "job_name": r"^Subject: Job \S+: <([^>]*)>",
            "cluster": r"^Subject: Job .* in cluster <([^>]+)>",
            "hosts": r"^Job was executed on host\(s\) (<[^>]+>.*(?:\n +<[^>]+>.*)*)|^LSB_HOSTS=(.+)",
            "queue": r"^Job was executed on .*?, in queue <([^>]+)>|^LSB_QUEUE=(\S+)",
            "directory": r"^<([^>]+)> was used as the working directory",
            "start": rf"^Started at{_DATE}",
            "end": rf"^Terminated at{_DATE}|^Results reported (?:at|on){_DATE}",
            "walltime": r"^ +Run time : +(\d+) sec",
            "cpu_time": r"^ +CPU time : +([\d.]+) sec",
            "memory": r"^ +Max Memory : +([\d.]+ \w+)",
            "exit_code": r"^Exited (?:with exit code|by signal) (\d+)|^(Successfully completed)\.",
            "state": r"^(TERM_\w+)",
        },
    ),
    Scheduler(
        "PBS",
        "#PBS",
        {
            "nodes": r"-l[ \t]+(?:\S*,)?(?:select|nodes)=(\d+)(?!\w)(?!\S*\+)",
            "ranks_per_node": r":mpiprocs=(\d+)",
            "slots_per_node": r"nodes=\d+\S*?:ppn=(\d+)",
            "gpus_per_node": r"(?:select|nodes)=\d+(?!\S*\+):\S*?\bn?gpus=([1-9]\d*)",
            "threads": r":ompthreads=(\d+)",
            "job_name": rf"(?<!\S)-N{_W}",
            "queue": rf"(?<!\S)-q{_W}",
        },
        ("PBS", "exec_host", "resources_used", "Resource Usage on 2", "Resources allocated: "),
        {
            "job": r"^PBS_JOBID=(\d+)|^ *Job I[Dd]: +(\d+)[.\s]|"
            + _OF_JOB.format(r"(\d+)\.\S+", "started", ""),
            "nodes": r"^PBS_NUM_NODES=(\d+)",
            "queue": r"^PBS_QUEUE=(\S+)|^Queue: +(\S+)|^ +queue = (\S+)|"
            + _OF_JOB.format(r"\S+", "ended", r".* queue: (\S+) \*"),
            "job_name": r"^ +Job_Name = (\S+)",
            "directory": r"^PBS_O_WORKDIR=(\S+)",
            "variables": r"^ +Variable_List = (.+(?:\n\t.+)*)",
            "hosts": r"^Nodes: +([\w.-]+(?:[ \n]+[\w.-]*\d[\w.-]*(?=\s))*)|\bexec_host ?= ?(\S+(?:\n\t\S+)*)",
            "start": rf"^Begin PBS Prologue{_DATE}|^ +(?:stime|start_time) ={_DATE}|"
            + _OF_JOB.format(r"\S+", "started", _BRITISH),
            "end": rf"^Begin PBS Epilogue{_DATE}|^ +Resource Usage on {_ISO}|{_ENDED_AT}|"
            + _OF_JOB.format(r"\S+", "ended", _BRITISH),
            "walltime": rf"{_USED}walltime={_HMS}|^Resources allocated: .*walltime={_HMS}|"
            + rf"\bWalltime Used: *{_HMS}|_used.walltime ?= ?{_HMS}",
            "memory": rf"{_USED}mem=(\w+)|\bMemory Used: *([\d.]+ ?\w+)|_used.mem ?= ?(\w+)",
            "exit_code": r"\b[Ee]xit[_ ][Ss]tatus ?[:=] *(-?\d+)",
        },
    ),
    Scheduler(
        "SGE",
        r"#\$",
        {
            "slots": r"(?<!\S)-pe[ \t]+\S+[ \t]+(\d+)(?!\S)",
            "job_name": rf"(?<!\S)-N{_W}",
            "queue": r"(?<!\S)-q[ \t]+(\S+)",
            "feature": rf"(?<!\S)-l[ \t]+(?:\S*,)?(?:cputype|cpu_type|feature)={_W}",
        },
        ("NSLOTS=", "jobnumber ", " UNDEFINED\n", "-catch_rsh /"),
        {
            "job": rf"^JOB_ID=(\d+)|^jobnumber +(\d+)|{_STARTED}(\d+)\.",
            "nodes": r"^NHOSTS=(\d+)",
            "slots": r"^NSLOTS=(\d+)|^slots +(\d+)",
            "queue": r"^QUEUE=(\S+)|^qname +(\S+)",
            "job_name": r"^jobname +(\S+)",
            "host": r"^hostname +(\S+)",  # of the first process; there may be more
            # A file of hosts of a parallel job, or what its start printed of it.
            "hosts": rf"^((?:[\w.-]+ \d+ \S+@\S+ \S+\n)+)|{_STARTED}\S+\n((?:[A-Za-z][\w.-]*\n)+)",
            "start": rf"^start_time +(?:{_DATE}|{_US})",
            "end": rf"^end_time +(?:{_DATE}|{_US})",
            "walltime": r"^ru_wallclock +(\d+)",
            "memory": r"^maxvmem +([\d.]+ ?\w+)",
            "exit_code": r"^exit_status +(\d+)",
        },
    ),
    Scheduler(
        "Flux",
        "#(?:flux|FLUX):",
        {
            "nodes": rf"(?:--nodes|(?<!\S)-N){_N}",
            "ranks": rf"(?:--ntasks|(?<!\S)-n){_N}",
            "ranks_per_node": rf"--tasks-per-node{_N}",
            "threads": rf"(?:--cores-per-task|(?<!\S)-c){_N}",
            **launch.ASKED_GPUS,
            "job_name": rf"--job-name{_W}",
            "queue": rf"(?:--queue|(?<!\S)-q){_W}",
            "feature": rf"--requires{_W}",
        },
        ("FLUX_JOB_",),
        {"job": r"^FLUX_JOB_ID=(\S+)", "nodes": r"^FLUX_JOB_NNODES=(\d+)", "ranks": r"^FLUX_JOB_SIZE=(\d+)"},
    ),
    Scheduler(
        "PJM",
        "#PJM",
        {
            "nodes": r"(?<![\w-])node=(\d[\dx]*)(?=[^\w-]|$)",
            "ranks": r"\bproc=(\d+)",
            "ranks_per_node": r"\bmax-proc-per-node=(\d+)",
            "frequency": r"\bfreq=(\d{4})\b",
            "job_name": rf"(?:--name|(?<!\S)-N){_W}",
            "queue": r"\brscgrp=([\w-]+)",
            "feature": r"\brscunit=([\w-]+)",
        },
        ("PJM_", "NODE NUM ("),
        {
            "job": r"^ *JOB ID +: (\d+)|^PJM_JOBID=(\d+)",
            "job_name": r"^ *JOB NAME +: (\S+)",
            "queue": r"^ *RESOURCE GROUP +: (\S+)",
            "nodes": r"^ *NODE NUM \((?:ALLOC|USE)\) +: (\d[\dx]*)|^ *NODE NUM \(REQUIRE\) +: (\d[\dx]*)",
            "start": rf"^ *JOB START DATE +: {_ISO}",
            "end": rf"^ *JOB END DATE +: {_ISO}",
            "walltime": r"^ *ELAPSE TIME \(USE\) +: \S+ \((\d+)\)",
            "memory": r"^ *MAX MEMORY SIZE \(USE\) +: ([\d.]+ \w+)",
            "exit_code": r"^ *EXIT CODE +: (\d+)",
            "state": r"^ *STATE +: (\S+)",
        },
    ),
    Scheduler(
        "Cobalt",
        "#COBALT",
        {
            "nodes": rf"(?<!\S)-n{_N}",
            "ranks": rf"--proccount{_N}",
            "job_name": rf"--jobname{_W}",
            "queue": rf"(?<!\S)-q{_W}",
        },
        ("COBALT_", "with cwd set to"),
        {
            "job": r"^Jobid: (\d+)|(?:^|\) |')COBALT_JOBID=(\d+)",
            "nodes": rf"^COBALT_JOBSIZE=(\d+)|{_QSUB}-n (\d+)",
            "ranks": r"Command: .*'--np' '(\d+)'",
            "ranks_per_node": r"Command: .*'--ranks-per-node' '(\d+)'",
            "queue": rf"{_QSUB}-q (\S+)",
            "start": rf"^{_DATE}.*(?:Initiating boot|Starting Resource_Prologue)",
            "begun": rf"^{_DATE}.*\) Command: '",  # a script is not booted
            "end": rf"^{_DATE}.*task completed",
            "exit_code": r"task completed \w+ with an exit code of (\d+)",
        },
    ),
    Scheduler(
        "LoadLeveler",
        r"#[ \t]*@",
        {
            "nodes": r"^\s*node\s*=\s*(\d+)\s*$",
            "ranks": r"^\s*total_tasks\s*=\s*(\d+)",
            "ranks_per_node": r"^\s*tasks_per_node\s*=\s*(\d+)",
            "threads": r"^\s*cpus_per_task\s*=\s*(\d+)",
            "job_name": r"^\s*job_name\s*=\s*(\S+)",
            "queue": r"^\s*class\s*=\s*(\S+)",
            "feature": r"^\s*requirements\s*=.*Feature == \"(\w+)\"",
        },
        ("LOADL_", "Job Step Id:"),
        {
            "job": r"^LOADL_STEP_ID=\S+?\.(\d+)\.\d+\s*$|^ *Job Step Id: +\S+?\.(\d+)\.\d+",
            "ranks": r"^LOADL_TOTAL_TASKS=(\d+)",
            "hosts": r"^LOADL_PROCESSOR_LIST=(.+)",
            "queue": r"^LOADL_STEP_CLASS=(\S+)|^ *Class: +(\S+)",
            "start": rf"^ *(?:Dispatch Time|Started at):{_DATE}",
            "end": rf"^ *(?:Completion Date|Exited at):{_DATE}",
            "exit_code": r"^ *(?:Completion Code|Exited status): +(\d+)",
        },
    ),
)
_MARKS = "|".join(one.mark for one in SCHEDULERS if one.name != "LoadLeveler")
SCRIPT = re.compile(rf"^(?:(?:{_MARKS})[ \t]*-|#[ \t]*@[ \t]*\w+[ \t]*=)", re.MULTILINE)  # of a job script
DIRECTIVE = re.compile(rf"^(?:{_MARKS})[ \t]*(--?[A-Za-z][\w-]*)[ \t=]*(.*)$", re.MULTILINE)
_TEXTS = {"directory", "job_name", "queue", "cluster", "feature", "state", "host"}
_FORMS = (
    *("%a %b %d %H:%M:%S %Y", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M:%S"),
    *("%m-%d-%Y %H:%M:%S", "%m-%d-%Y %H:%M:%S.%f"),  # LoadGen
    "%a %d %b %Y %H:%M:%S",  # CASTEP
    *("%d/%m/%y %H:%M:%S", "%b %d %Y %H:%M:%S", "%d%b%Y %H:%M:%S"),  # OpenFOAM, Quantum ESPRESSO
)
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_JOBS = re.compile(r"^={20,}\n(qname .*?)(?=^={20,}$|\Z)", re.MULTILINE | re.DOTALL)  # of qacct
# The beginning of what is reported of a job, where one text has those of several.
_BEGINS = {
    "LSF": r"^Sender: LSF System",
    "PBS": r"^Job Id: +\d",
    "PJM": r"^ *JOB ID +: \d",
    "Cobalt": r"^Jobid: \d",
}
_WHOLE = 40  # slots of a node
_ABOVE = "The output (if any) is above this job summary"  # of LSF
_ENDED = re.compile(r"^\d\d/\d\d/\d{4} [\d:]+;E;(\d+)\S*?;(.*)$", re.MULTILINE)  # of PBS's accounting
_HOST = re.compile(r"(?:(\d+)\*)?([A-Za-z][\w.-]*(?:\[[\d,-]+\][\w.-]*)*)(?:/[\d*-]+| (\d+) \S+@\S+ \S+)?")
_SIGNS = (*flux.SIGNS, lsf.SIGN, *(sign for one in SCHEDULERS for sign in one.signs))


def requested(text: str) -> Facts:
    """Return what the directives of a job script request."""
    facts: Facts = {}
    for scheduler in SCHEDULERS if SCRIPT.search(text) else ():
        lines = re.findall(rf"^{scheduler.mark}(.*)$", text, re.MULTILINE)
        facts |= _facts("\n".join(lines), scheduler.requests) if lines else {}
    return facts


def directives(text: str) -> dict[str, str]:
    """Return the options of all directives of a job script, as they are written; those given twice joined."""
    found: dict[str, list[str]] = {}
    for name, value in DIRECTIVE.findall(text):
        found.setdefault(name, []).append(re.sub(r"\s+#.*", "", value).strip() or "given")
    return {name: " ".join(values) for name, values in found.items()}


def reported(text: str) -> tuple[Facts, str]:
    """Return what a batch system reports of a job, and the name of the batch system."""
    if not any(sign in text for sign in _SIGNS):
        return {}, ""
    for scheduler in SCHEDULERS:
        signed = any(sign in text for sign in scheduler.signs)
        if signed and (facts := _facts(text, scheduler.reports)):
            return facts, scheduler.name
    if len(listed := lsf.jobs(text, _converted)) == 1:
        return next(iter(listed.values())), "LSF"
    if len(listed := flux.jobs(text, _converted)) == 1:
        return next(iter(listed.values())), "Flux"
    facts = flux.agreed(text, _converted)
    return facts, "Flux" if facts else ""


def jobs(text: str) -> tuple[dict[str, Facts], str]:
    """Return the jobs of a table or of several reports of a batch system, and the name of that."""
    found: dict[str, Facts] = {}
    name = ""
    if "\nqname " in text and (blocks := _JOBS.findall(text)):
        reports = next(one.reports for one in SCHEDULERS if one.name == "SGE")
        rows, name = [_facts(block, reports) for block in blocks], "SGE"
        # Of a job whose ranks are accounted too, the row of the job is the longest.
        rows.sort(key=lambda row: float(row.get("end", 0.0)) - float(row.get("start", 0.0)))
        found = {str(row["job"]): row for row in rows if "job" in row}
    elif listed := lsf.jobs(text, _converted):
        found, name = listed, "LSF"
    elif listed := flux.jobs(text, _converted):
        found, name = listed, "Flux"
    elif several := reports_of_jobs(text):
        name = several[0].batch
        for one in several:
            found.setdefault(one.job, one.facts)
    elif ";E;" in text and (ended := _ENDED.findall(text)):
        reports = next(one.reports for one in SCHEDULERS if one.name == "PBS")
        times = {"start": r"\bstart=(\d{9,})", "end": r"\bend=(\d{9,})", "queue": r"\bqueue=(\S+)"}
        times |= {"job_name": r"\bjobname=(\S+)", "nodes": r"unique_node_count=(\d+)"}
        found, name = {job: _facts(row, {**reports, **times}) | {"job": job} for job, row in ended}, "PBS"
    return {job: row | {"batch": name} for job, row in found.items()}, name


@dataclass(frozen=True)
class JobReport:
    """What a batch system reports of one of several jobs, and where in the text the output of the job is."""

    batch: str
    job: str
    facts: Facts
    begin: int
    end: int


def reports_of_jobs(text: str) -> list[JobReport]:
    """Return the reports in a text that has those of several jobs; none if there is only one job.

    LSF writes its report before the output of a job or, if that goes to the file at once, behind it.
    """
    for scheduler in (one for one in SCHEDULERS if one.name in _BEGINS):
        starts = [match.start() for match in search.matches(_BEGINS[scheduler.name], text)]
        if len(starts) < 2:
            continue
        blocks = list(pairwise([*starts, len(text)]))
        above = _ABOVE in text
        found = []
        for at, (begin, end) in enumerate(blocks):
            facts = _facts(text[begin:end], scheduler.reports)
            output = (blocks[at - 1][0] if at else 0, begin) if above else (begin, end)
            if "job" in facts:
                found.append(JobReport(scheduler.name, str(facts["job"]), facts, *output))
        if len({one.job for one in found}) > 1:
            return found
    return []


def _facts(text: str, patterns: Mapping[str, str]) -> Facts:
    """Return the facts that a text states once; two values of one fact are no fact."""
    facts: Facts = {}
    for name, pattern in patterns.items():
        matches = re.finditer(pattern, text, re.MULTILINE)
        texts = {next((one for one in match.groups() if one), "") for match in matches} - {""}
        values = {repr(value): value for value in map(partial(_converted, name), texts) if value}
        facts |= next(iter(values.values())) if len(values) == 1 else {}
    if begun := facts.pop("begun", 0.0):
        facts.setdefault("start", begun)
    if "start" not in facts and "end" in facts and "walltime" in facts:
        facts["start"] = facts["end"] - facts["walltime"]
    elif "end" not in facts and "start" in facts and "walltime" in facts:
        facts["end"] = facts["start"] + facts["walltime"]
    if "slots" in facts and "slots_per_node" in facts:
        facts.setdefault("nodes", math.ceil(facts["slots"] / facts["slots_per_node"]))
    return facts


def _converted(name: str, text: str) -> Facts:
    """Convert the text of a fact: hosts to nodes and slots, dates to seconds, sizes to bytes."""
    if name == "hosts":
        return _of_hosts(text)
    if name == "variables":
        lines = _variables(text)
        listed = re.search(r"^LOADEDMODULES=.+", lines, re.MULTILINE)
        found = launch.settings(lines) | ({"LOADEDMODULES": listed[0]} if listed else {})
        return {"job_environment": found} if found else {}
    if name in ("start", "end", "begun"):
        return {name: seconds} if (seconds := moment(text)) else {}
    if name == "walltime":
        parts = [int(part) for part in text.split(":")]
        return {name: float(sum(part * 60**at for at, part in enumerate(reversed(parts))))}
    if name == "memory":
        number, unit = re.fullmatch(r"([\d.]+) ?(\w*)", text).groups()  # type: ignore[union-attr]
        return {name: float(number) * _UNITS.get(unit[:1].lower(), 1)}
    if name == "cpu_time":
        return {name: float(text)}
    if name == "frequency":
        return {name: int(text) / 1000}
    if name == "exit_code":
        return {name: int(text) if text.lstrip("-").isdecimal() else 0}
    if name == "job":
        return {name: flux.number(text) if text[0] in "ƒf" else text}
    if name in _TEXTS:
        return {name: text}
    if text == "gpu":
        return {name: 1}
    return {name: math.prod(int(side) for side in text.split("x") if side)}


def _variables(text: str) -> str:
    """Return the variables that PBS lists, a line each: it folds the list, and values may have commas."""
    lines = re.sub(r"(?<!\\),(?=[A-Za-z_]\w*=)", "\n", text.replace("\n\t", ""))
    return lines.replace("\\,", ",")


def _of_hosts(text: str) -> Facts:
    """Return the nodes and their names from a list of hosts, and the slots where it counts them."""
    slots: Counter[str] = Counter()
    listed = _HOST.findall(re.sub(r", in queue <.*", "", text))
    # Where LSF gives whole nodes, the script has a slot on another one.
    if listed[1:] and listed[0][0] == "1" and all(int(count or 0) >= _WHOLE for count, *_ in listed[1:]):
        return {name: value for name, value in _of_hosts(text.split(">", 1)[1]).items() if name != "slots"}
    for count, hosts, of_sge in listed:
        with contextlib.suppress(ConfigError):
            for host in node_names(hosts):
                slots[host] += int(count or of_sge or 1)
    facts: Facts = {"nodes": len(slots), "node_list": ",".join(slots)} if slots else {}
    # Behind a slash are processors of PBS, which need not be ranks.
    counted = "<" in text or "@" in text or max(slots.values(), default=1) > 1
    return facts | ({"slots": slots.total()} if slots and counted and "/" not in text else {})


def moment(text: str) -> float | None:
    """Return a date in seconds since 1970, None if it cannot be read; unknown time zones count as UTC."""
    if epoch := re.search(r"(?:^|\s)(\d{9,10})$", text):
        return float(epoch[1])
    zone = re.search(r"(?: |(?<=:\d\d))([-+])(\d\d)(\d\d)$", text)
    offset = (int(zone[2]) * 60 + int(zone[3])) * (60 if zone[1] == "+" else -60) if zone else 0
    text = text[: zone.start()] if zone else text
    plain = re.sub(r"(?<=:\d\d) [A-Z]{2,5}(?= \d{4})|,|\bat |Time *: |(?<=:) ", "", text)
    plain = re.sub(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T]", r"\1-\2-\3 ", " ".join(plain.split()))
    for form in _FORMS:
        with contextlib.suppress(ValueError):
            return datetime.strptime(plain, form).replace(tzinfo=UTC).timestamp() - offset
    return None


def steps(text: str) -> list[Facts]:
    """Return the jobs of Flux whose jobspecs, resources and events are in a text, by their starts."""
    return flux.steps(text, _converted)
