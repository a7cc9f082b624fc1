"""Documents of ReFrame, JUBE, Ramble and hpcbench: each of their cases becomes a document with its facts."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from analysis.base.errors import ConfigError
from analysis.base.slurm import node_names
from analysis.importing import hardware, scheduler
from analysis.importing.pattern import FACTORS, parse_value
from analysis.importing.vocabulary import parse_name
from analysis.readers.merits.formats import fio, hpcbench
from analysis.readers.merits.formats.reframe import LINE
from analysis.readers.text import decode, is_number
from analysis.schema.factors import ALIASES, OF_SYSTEM

Facts = dict[str, Any]
# What the tools call a fact, without case and underscores.
_NAMES = {
    **{"numtasks": "ranks", "tasks": "ranks", "ntasks": "ranks", "nprocs": "ranks", "nranks": "ranks"},
    **{"numtaskspernode": "ranks_per_node", "taskspernode": "ranks_per_node"},
    **{"processespernode": "ranks_per_node", "numcpuspertask": "threads", "threadspertask": "threads"},
    **{
        "numprocs": "ranks",
        "procspernode": "ranks_per_node",
        "nthreads": "threads",
        "nnodes": "nodes",
        "numnodes": "nodes",
        "system": "cluster",
    },
    **dict.fromkeys(("numgpuspernode", "gpuspernode", "ngpuspernode"), "gpus_per_node"),
    **{"systemname": "cluster", "environ": "build", "partition": "queue", "queue": "queue"},
    **{"jobid": "job", "jobnodelist": "node_list", "nodelist": "node_list", "jobexitcode": "exit_code"},
    **{"applicationname": "application", "workloadname": "case", "jobcompletiontimeunix": "date"},
    **{"jobcompletiontime": "date", "completiontime": "date"},
}
# Variables of Ramble that are of one experiment alone.
_OWN = re.compile(r"(?:dir|path|name|index|seed|hash|command|id|namespace)$", re.IGNORECASE)
_INTEGERS = ("exit_code", "gpus_per_node")
_DEEP = 4  # folders that tell one case from others: system, partition, environment, test
_PARAMETER = re.compile(r"%([\w.]+)=(\S+)")  # in the name of a test of ReFrame
_OF_PARTITION = tuple(name for name in OF_SYSTEM if name != "cluster")
_TIMES = {"s", "sec", "secs", "second", "seconds", "ms", "us", "usec", "ns", "min", "h"}


class DocumentCase(NamedTuple):
    """A document with one case alone, the facts of that case, and the text of the case by itself."""

    content: bytes
    facts: Facts
    text: str


def cases(data: bytes, engine: str) -> list[DocumentCase]:
    """Return the cases of a document; none if it is from another tool, or damaged: its reader says how."""
    split = {
        "reframe": _of_reframe, "jube": _of_jube, "ramble": _of_ramble, "hpcbench": _of_hpcbench,
        "fio": _of_fio,
    }.get(engine)  # fmt: skip
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
        return list(split(decode(data))) if split else []
    return []


def _facts(given: Mapping[str, Any]) -> Facts:
    """Return the facts that a case's keys name; its other texts and counts are options."""
    facts: Facts = {}
    options: dict[str, str] = {}
    for key, value in given.items():
        plain = re.sub(r"[\W_]", "", key).lower()
        name = _NAMES.get(plain) or ALIASES.get(key.lower(), key.lower())
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()
        if value is None or text in ("", "null", "None"):
            continue
        if name == "date":
            facts |= {"date": seconds} if (seconds := _moment(text)) else {}
        elif name in (*_INTEGERS, *FACTORS):
            if (number := _number(name, text)) is not None:
                facts[name] = number
        elif name == "node_list":
            with contextlib.suppress(ConfigError):  # as None assigned
                facts[name] = ",".join(node_names(text))
        elif plain in _NAMES:
            facts[name] = text
        else:
            options[key] = text
    return facts | ({"given_options": options} if options else {})


def _number(name: str, text: str) -> Any:
    """Return a value of a factor, None if it is not of its type or says that it is not known."""
    try:
        value = int(text) if name in _INTEGERS else parse_value(name, text)
    except ValueError:
        return None
    return None if isinstance(value, int | float) and value < 0 else value


def _moment(text: str) -> float | None:
    try:
        if is_number(text):
            return float(text)
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None


def figure(name: str, unit: str, higher: bool | None = None) -> Facts:
    """Return the figure of merit of a case: larger is better, unless it is a time or the tool differs."""
    higher = unit.strip().lower() not in _TIMES if higher is None else higher
    return {"figure": {"figure_of_merit": name, "unit": unit, "higher_is_better": higher}}


def _of_reframe(text: str) -> Iterator[DocumentCase]:
    if not text.lstrip().startswith("{"):
        yield from _of_reframe_log(text)
        return
    report = json.loads(text)
    keys = (
        *("system", "partition", "environ", "num_tasks", "num_tasks_per_node", "num_cpus_per_task"),
        "num_gpus_per_node",
        *("jobid", "nodelist", "job_nodelist", "job_exitcode", "job_completion_time_unix"),
    )
    for run in report.get("runs", []):
        for test in run.get("testcases", []):
            alone = report | {"runs": [run | {"testcases": [test]}]}
            facts = _of_test(test) | _facts({key: test.get(key) for key in keys})
            facts |= _place((test.get("outputdir"), test.get("stagedir")))
            for name, entry in (test.get("perfvalues") or {}).items():
                low, high, unit = entry[2:5]
                better = None if (low is None) == (high is None) else high is None
                facts.setdefault("figure", figure(name.rpartition(":")[2], unit or "", better)["figure"])
            for entry in test.get("perfvars") or []:
                facts.setdefault("figure", figure(entry["name"], entry.get("unit") or "")["figure"])
            yield DocumentCase(json.dumps(alone).encode(), _with_parameters(test, facts), json.dumps(test))


def _of_test(test: Mapping[str, Any]) -> Facts:
    words = re.split(r"[\s%@]", str(test.get("name") or test.get("display_name") or test.get("info") or ""))
    name = re.sub(r"[^a-z0-9._-]", "-", words[0].lower()).strip("-")
    return {"application": name} if name else {}


def _place(folders: Iterable[Any]) -> Facts:
    """Return where a case ran: the end of the first folder that is stated."""
    first = next((str(folder).strip("/") for folder in folders if folder), "")
    return {"place": "/".join(first.split("/")[-_DEEP:])} if first else {}


def _with_parameters(test: Mapping[str, Any], facts: Facts) -> Facts:
    """Add the parameters in the name of a test of ReFrame: ``StreamTest %num_threads=16``."""
    found = dict(
        _PARAMETER.findall(str(test.get("display_name") or test.get("info") or test.get("name") or ""))
    )
    found = {"threads" if name == "num_threads" else name: value for name, value in found.items()}
    more = _facts(found)
    options = facts.get("given_options", {}) | more.pop("given_options", {})
    return more | facts | ({"given_options": options} if options else {})


def _of_reframe_log(text: str) -> Iterator[DocumentCase]:
    """Split a performance log: a line of headings, then a line for each case."""
    keys = {"system", "partition", "environ", "num_tasks", "num_tasks_per_node", "num_cpus_per_task", "jobid"}
    keys |= {"job_nodelist", "job_completion_time", "completion_time", "job_exitcode"}
    if LINE.match(text):
        yield from _of_plain_log(text)
        return
    heads: list[str] = []
    head = ""
    for line in text.splitlines():
        cells = line.split("|")
        if any(f"{cell.removesuffix('_value')}_unit" in cells for cell in cells if cell.endswith("_value")):
            heads, head = cells, line
        elif heads and len(cells) == len(heads):
            row = dict(zip(heads, cells, strict=True))
            facts = _of_test(row) | _facts({key: row[key] for key in heads if key in keys})
            levels = [row.get(key) for key in ("system", "partition", "environ", "short_name")]
            facts |= _place(["/".join(map(str, levels))] if all(levels) else [])
            values = [name for name in heads if name.endswith("_value") and is_number(row[name])]
            if values:
                name = values[0].removesuffix("_value")
                facts |= figure(name, row.get(f"{name}_unit", ""))
            yield DocumentCase(f"{head}\n{line}\n".encode(), _with_parameters(row, facts), f"{head}\n{line}")


def _of_plain_log(text: str) -> Iterator[DocumentCase]:
    """Split a log of ReFrame 2.x or 3.x: lines of one test with one date are one case."""
    lines: dict[str, list[tuple[str, re.Match[str]]]] = {}
    for line in text.splitlines():
        if found := LINE.match(line):
            lines.setdefault(line[: found.start("name")], []).append((line, found))
    for each in lines.values():
        line, found = each[0]
        facts = _of_line(line, found)
        facts |= figure(found["name"], found["unit"] or found["last"] or "")
        content = "".join(f"{one}\n" for one, _ in each)
        yield DocumentCase(content.encode(), facts, content)


def _of_line(line: str, found: re.Match[str]) -> Facts:
    """Return the facts of a line: a partition may be called after its link, its compiler and its library."""
    stated = [cell.partition("=") for cell in re.split(r"[|,]", line) if "=" in cell]
    given = {name: value for name, _, value in stated if re.sub(r"[\W_]", "", name).lower() in _NAMES}
    parsed = parse_name(found["partition"])
    software = {name: parsed.values[name][0] for name in _OF_PARTITION if name in parsed.values}
    named = {"system": found["system"], "date": found["date"], "environ": found["environ"]}
    facts = _facts(given | named)
    if software:
        if parsed.rest:
            facts["queue"] = parsed.rest
        if "build" in software:
            software["build"] = f"{software['build']} {found['environ']}"
    else:
        facts["queue"] = found["partition"]
    place = _place([f"{found['system']}/{found['partition']}/{found['environ']}/{found['test']}"])
    return (
        place
        | _of_test({"name": _bare(found["test"], found["system"], found["partition"], facts)})
        | facts
        | software
    )


def _bare(test: str, system: str, partition: str, facts: Facts) -> str:
    """Return a test's name without system, partition and, at its end, the counts that other facts state."""
    ranks, nodes = facts.get("ranks", 0), facts.get("nodes", 0)
    each = facts.get("ranks_per_node") or (ranks // nodes if nodes else 0)
    words = test
    for name in (system, partition):
        pattern = "[-_.]?".join(map(re.escape, re.findall(r"[A-Za-z0-9]+", name)))
        words = re.sub(rf"[-_ ]?(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])", "", words, flags=re.IGNORECASE)
    # The number before may be that of the problem: H2O_256_8.
    numbers = [one for one in (ranks, nodes, each) if one]
    ends = [rf"_{ranks}_{each}", *(f"_{one}" for one in numbers)]
    end = next((one for one in ends if words.endswith(one)), "")
    return words.removesuffix(end).strip("-_ ") or test


def _of_ramble(text: str) -> Iterator[DocumentCase]:
    results = json.loads(text)
    for one in results.get("experiments", []):
        variables = one.get("RAMBLE_VARIABLES") or {}
        plain = {
            key: value for key, value in variables.items() if "/" not in str(value) and not _OWN.search(key)
        }
        keys = ("application_name", "workload_name", "n_nodes", "n_ranks", "n_threads", "processes_per_node")
        facts = _facts(plain | {key: one[key] for key in keys if key in one})
        foms = [(context, fom) for context in one.get("CONTEXTS", []) for fom in context.get("foms", [])]
        for context, fom in foms:
            if is_number(str(fom.get("value"))):
                where = context.get("name", "null")
                name = fom["name"] if where in ("null", "") else f"{where}: {fom['name']}"
                kind = fom.get("fom_type") if isinstance(fom.get("fom_type"), dict) else {}
                better = {"HIGHER": True, "LOWER": False}.get(str(kind.get("better_direction")))
                facts |= figure(name, fom.get("units") or "", better)
                break
        facts |= _place([variables.get("experiment_run_dir")])
        if "application" not in facts and foms:
            facts["application"] = str(foms[0][1].get("origin") or "ramble")
        yield DocumentCase(json.dumps(results | {"experiments": [one]}).encode(), facts, json.dumps(one))


def _of_hpcbench(text: str) -> Iterator[DocumentCase]:
    """Return the one job of a document, with what its environment and ``lscpu`` state."""
    content = json.loads(text)
    variables = "\n".join(f"{name}={value}" for name, value in hpcbench.environment(content).items())
    machine = hpcbench.part(content, "sysinfo", "CPU")
    facts = scheduler.reported(variables)[0] | hardware.stated(variables)
    facts |= hardware.stated("\n".join(f"{name}: {value}" for name, value in machine.items()))
    facts |= {name: count for name, count in hpcbench.counts(content).items() if count > 0}
    totals, asked = hpcbench.part(content, "run", "Totals"), hpcbench.part(content, "slurm")
    given = hpcbench.part(asked, "slurm")
    accounted = hpcbench.part(content, "accounting")
    facts |= _facts(
        {
            "application": str(asked.get("program", "")).lower(),
            "case": f"{float(totals['Number of atoms']):.0f}-atoms" if "Number of atoms" in totals else None,
            "steps": totals.get("Number of steps"),
            "cpus-per-task": given.get("cpus-per-task"),
            "gpus-per-node": str(given.get("gres") or given.get("gpus-per-node") or "").rpartition(":")[2],
            "gpu": hpcbench.gpus(content),
            "job_id": accounted.get("JobID"),
            "node_list": accounted.get("NodeList"),
            "date": asked.get("date"),
        }
    )
    version = hpcbench.part(content, "run", "Gromacs info").get("GROMACSversion")
    facts |= {"version": str(version)} if version else {}
    yield DocumentCase(text.encode(), facts | figure("ns/day", "ns/day"), text)


def _of_fio(text: str) -> Iterator[DocumentCase]:
    """Split a document in which jobs ran one after the other; those that ran at once are one case."""
    content = json.loads(text[text.find("{") : text.rfind("}") + 1])
    groups = fio.groups(content["jobs"])
    for case, jobs in groups if len(groups) > 1 else ():
        alone = json.dumps(content | {"jobs": jobs})
        if access := next((one for one in fio.ACCESSES if any(job[one].get("io_bytes") for job in jobs)), ""):
            name = {"application": f"fio-{access}"} | figure(access, "B/s") if access != "write" else {}
            yield DocumentCase(alone.encode(), {"case": case} | name, alone)


def _of_jube(text: str) -> Iterator[DocumentCase]:
    """Split a result table: its title and headings, then a line for each case."""
    lines = [line for line in text.splitlines() if line.strip()]
    pretty = len(lines) > 2 and "|" in lines[1]
    mark = "|" if pretty else ";" if lines and ";" in lines[0] else ","
    top = 3 if pretty else 1
    title = lines[0].rstrip().removesuffix(":") if pretty else ""
    heads = [cell.strip() for cell in lines[top - 2 if pretty else 0].strip().strip("|").split(mark)]
    for line in lines[top:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split(mark)]
        if len(cells) != len(heads):
            continue
        row = dict(zip(heads, cells, strict=True))
        known = {name: cell for name, cell in row.items() if not (is_number(cell) and not cell.isdigit())}
        facts = _facts({name: cell for name, cell in known.items() if "[" not in name and "jube" not in name})
        figures = [(name, cell) for name, cell in row.items() if is_number(cell) and name not in known]
        units = [(name, cell) for name, cell in row.items() if "[" in name and is_number(cell)]
        for name, _ in (units or figures)[:1]:
            bare, _, unit = name.partition("[")
            facts |= figure(bare.strip(), unit.rstrip("]"))
        generic = title.lower() in ("", "result", "results", "table", "result_table")
        facts.setdefault("application", "jube" if generic else title.lower())
        own = "\n".join([*lines[:top], line, ""])
        yield DocumentCase(own.encode(), facts, own)
