"""Flux: the jobspecs, resources and events of its jobs in a text, and its own list of jobs in JSON."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Facts = dict[str, Any]
Convert = Callable[[str, str], Facts]  # makes a fact of its name and its text

_DOCUMENTS = ('"tasks"', '"shell.start"', '"finish"')  # in its jobspecs and events
_OF_JOB = ('"t_submit"', '"nnodes"')  # in what it lists of a job
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # of a job's number, as Flux writes it
NUMBER = re.compile(rf"[ƒf][{_DIGITS}]{{1,12}}")  # f without UTF-8
NAMED = re.compile(rf"(?:^|[-_.])(ƒ[{_DIGITS}]{{1,12}}|(?<=^flux-)f[{_DIGITS}]{{5,12}})(?=$|[-_.])")  # a file
# Lines of `flux jobs`: number, queue, user, name, state, tasks, nodes, time, hosts.
_TABLE = re.compile(r"^ *JOBID .*\bST +NTASKS +NNODES +TIME INFO *$", re.MULTILINE)
_ROW = re.compile(
    rf"^ *({NUMBER.pattern}) +(?:(\S+) +)?\S+ +(\S+) +(CD|F|CA|TO|R) +\d+ +(\d+) +([\d.]+)([smhd]) +(\S+) *$",
    re.MULTILINE,
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SIGNS = (*_DOCUMENTS, _OF_JOB[0], " NTASKS ")
_LINE = re.compile(r"^\{\"(?:resources|timestamp|version)\": ?.*\}$", re.MULTILINE)
# Of the list of jobs: key of Flux -> fact.
_KEYS = {
    **{"nnodes": "nodes", "ntasks": "ranks", "t_run": "start", "t_cleanup": "end"},
    **{"returncode": "exit_code", "name": "job_name", "queue": "queue", "result": "state"},
}


def jobs(text: str, convert: Convert) -> dict[str, Facts]:
    """Return the facts of each job in what Flux lists of jobs in JSON, by its number; of one or of several.

    A job that has not ended has no end and no exit code.
    """
    if _TABLE.search(text):
        return {number(row[0]): _of_row(row, convert) for row in _ROW.findall(text)}
    if not all(sign in text for sign in _OF_JOB):
        return {}
    with contextlib.suppress(ValueError, TypeError):
        document = json.loads(text)
        rows = document.get("jobs", [document]) if isinstance(document, dict) else document
        return {str(row["id"]): _listed(row, convert) for row in rows if _is_job(row)}
    return {}


def number(text: str) -> str:
    """Return the decimal number of a job that Flux writes as ``ƒPrPvwK``; any other text as it is."""
    digits = text[1:] if NUMBER.fullmatch(text) else ""
    found = 0
    for digit in digits:
        found = 58 * found + _DIGITS.index(digit)
    return str(found) if digits else text


def _of_row(row: Sequence[str], convert: Convert) -> Facts:
    """Return the facts of a line of `flux jobs`; its tasks are slots, as those of a batch job."""
    job, queue, name, state, nodes, took, unit, hosts = row
    facts = {"job": number(job), "job_name": name, "state": state, **({"queue": queue} if queue else {})}
    ended = {} if state == "R" else {"walltime": float(took) * _SECONDS[unit]}
    found = convert("hosts", hosts)
    return facts | ended | (found if found.get("nodes") == int(nodes) else {"nodes": int(nodes)})


def _is_job(row: object) -> bool:
    return isinstance(row, dict) and {"id", "t_submit", "nnodes"} <= row.keys()


def _listed(row: Mapping[str, Any], convert: Convert) -> Facts:
    """Return the facts of a job that Flux lists; what is empty or zero is not known yet."""
    left = {"returncode", "t_cleanup"} if row.get("state") != "INACTIVE" else set()
    facts: Facts = {"job": str(row["id"])}
    for key, name in _KEYS.items():
        value = row.get(key)
        known = isinstance(value, str) if key in ("name", "queue", "result") else _is_number(value)
        if known and key not in left and (value or key == "returncode"):
            facts[name] = value
    if isinstance(row.get("nodelist"), str):
        facts = convert("hosts", row["nodelist"]) | facts
    return facts


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def steps(text: str, convert: Convert) -> list[Facts]:
    """Return the jobs of Flux whose jobspecs, resources and events are in a text, by their starts."""
    found: list[Facts] = [{}]
    seen: set[str] = set()
    for document in _documents(text):
        kind, facts = _of_document(document, convert)
        if kind in seen:  # of the next job
            found.append({})
            seen.clear()
        seen |= {kind} - {""}
        found[-1] |= facts
    for one in found:
        hosts = one.pop("asked_hosts", {})
        if hosts and hosts.get("nodes") == one.get("nodes"):  # no others can have been given
            one.update(hosts | one)
    return sorted(filter(None, found), key=lambda one: float(one.get("start", 0.0)))


def agreed(text: str, convert: Convert) -> Facts:
    """Return what the jobs of Flux in a text agree in, from the first start to the last end."""
    found = steps(text, convert)
    facts = {
        name: value
        for name, value in (found[0] if found else {}).items()
        if all(one.get(name) == value for one in found)
    }
    starts, ends = ([one[name] for one in found if name in one] for name in ("start", "end"))
    if len(found) > 1 and len(starts) == len(ends) == len(found):
        facts |= {"start": min(starts), "end": max(ends)}
    return facts


def _of_document(document: Mapping[str, Any], convert: Convert) -> tuple[str, Facts]:
    """Return of what kind a document of a Flux job is, empty if it says nothing, and its facts."""
    name, context = str(document.get("name", "")), document.get("context")
    if name == "shell.start" and isinstance(context, dict):
        blocks = context["taskmap"]["map"]
        return name, {"ranks": sum(nodes * each * times for _, nodes, each, times in blocks)}
    if name == "shell.init" and isinstance(context, dict) and "size" in context:
        return name, {"nodes": int(context["size"]), "start": float(document["timestamp"])}
    if name == "start" and "timestamp" in document:
        return name, {"start": float(document["timestamp"])}
    if name in ("complete", "finish") and isinstance(context, dict):
        status = int(context.get("status", 0))
        return name, {"end": float(document["timestamp"]), "exit_code": status >> 8 or status}
    if isinstance(document.get("execution"), dict):
        return "resources", convert("hosts", ",".join(map(str, document["execution"].get("nodelist", []))))
    if isinstance(document.get("tasks"), list) and document["tasks"]:
        facts: Facts = {"command": " ".join(map(str, document["tasks"][0].get("command", [])))}
        if ranks := _tasks(document["tasks"][0], document.get("resources", [])):
            facts["ranks"] = ranks
        asked = document.get("attributes", {}).get("system", {}).get("constraints", {})
        hosts = asked.get("hostlist") if isinstance(asked, dict) else None
        listed = ",".join(map(str, hosts)) if hosts else ""
        facts |= _given(document["attributes"]["system"], convert) if "attributes" in document else {}
        return "jobspec", facts | ({"asked_hosts": convert("hosts", listed)} if listed else {})
    return "", {}


def _tasks(task: Mapping[str, Any], resources: Sequence[Mapping[str, Any]]) -> int:
    """Return how many tasks a jobspec asks for, 0 if unknown; those of a script are brokers."""
    count = task.get("count", {})
    if task.get("command", [""])[0] == "flux":
        return 0
    return int(count.get("total", 0)) or int(count.get("per_slot", 0)) * _slots(resources)


def _slots(resources: Sequence[Mapping[str, Any]]) -> int:
    """Return the slots among the resources of a jobspec, of all nodes together; 0 for a range or for none."""
    for one in resources:
        count = one.get("count")
        if isinstance(count, int) and (
            each := 1 if one.get("type") == "slot" else _slots(one.get("with", []))
        ):
            return count * each
    return 0


def _given(system: Mapping[str, Any], convert: Convert) -> Facts:
    """Return the environment of a jobspec and the options of its shell, as ``-o`` of Flux gives them."""
    environment = system.get("environment") or {}
    facts = convert("variables", "\n".join(f"{name}={value}" for name, value in environment.items()))
    options = (system.get("shell") or {}).get("options") or {}
    plain = [f"{name}={value}" for name, value in options.items() if isinstance(value, str | int)]
    own = {"-o": ",".join(sorted(plain))} if plain else {}
    settings = facts.get("job_environment", {}) | own
    return {"job_environment": settings} if settings else {}


def _documents(text: str) -> Iterator[dict[str, Any]]:
    for match in _LINE.finditer(text) if any(sign in text for sign in _DOCUMENTS) else ():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            document = json.loads(match[0])
            if isinstance(document, dict):
                yield document
