"""Lists of jobs by LSF's ``bjobs -l``, ``bhist -l`` and ``bacct -l``, with lines that are folded anywhere."""

import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

Facts = dict[str, Any]

SIGN = "Submitted from host"
_FOLD = re.compile(r"\n {20,}")
_JOB = re.compile(r"^ *Job ?<(\d+(?:\[\d+\])?)>, ?(.*)$", re.MULTILINE)
# What happened when: Fri Mar  1 11:00:12 2024: Started 48 Task(s) on Host(s) <24*cn001> <24*cn002>, ...
_EVENT = re.compile(r"^ *([A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d)( \d{4})?: (.*)$", re.MULTILINE)
_HOSTS = re.compile(r"(?:Started|Dispatched) ?(?:\d+ ?Task\(s\) ?)?on ?Host\(s\) ?((?:<[^>]+> ?)+)")
_FIELD = r"(?:^|, ?){} ?<([^>]*)>"
_FIELDS = {"job_name": "Job Name", "state": "Status", "queue": "Queue"}
_EXITED = re.compile(r"Exited with exit code (\d+)|(?:Exited|Completed <exit>)()")
_MEMORY = re.compile(r"MAX MEM: ([\d.]+ \w)bytes")
_LEAP = "2024"  # a year for dates without one, to compare them


def jobs(text: str, convert: Callable[[str, str], Facts]) -> dict[str, Facts]:
    """Return the facts of each job that a text lists, by its number; `convert` makes a fact of its text.

    LSF prints the year of a date only on request. Without one the length of a job is known alone.
    """
    found: dict[str, Facts] = {}
    for texts in _listed(text):
        facts: Facts = {}
        for name, one in texts.items():
            facts |= convert(name, one) if name != "year" else {}
        if {"start", "end"} <= facts.keys():
            facts["walltime"] = facts["end"] - facts["start"]
        if "year" not in texts:
            facts = {name: value for name, value in facts.items() if name not in ("start", "end")}
        found[texts["job"]] = facts
    return found


def _listed(text: str) -> Iterator[dict[str, str]]:
    """Give the texts of each job by the names of facts; ``year`` if its dates have one."""
    if SIGN not in text:
        return
    plain = _FOLD.sub("", text)
    matches = list(_JOB.finditer(plain))
    for match, after in zip_longest(matches, matches[1:]):
        block = plain[match.start() : after.start() if after else len(plain)]
        if SIGN in block:
            yield _of_job(match, block)


def _of_job(match: re.Match[str], block: str) -> dict[str, str]:
    facts = {"job": match[1]}
    for name, label in _FIELDS.items():
        if found := re.search(_FIELD.format(label), match[2]):
            facts[name] = found[1]
    for day, year, what in _EVENT.findall(block):
        at = f"{day}{year or f' {_LEAP}'}"
        if hosts := _HOSTS.match(what):  # a job that was started again has its last hosts
            facts |= {"hosts": re.sub(r"\s", "", hosts[1]).replace("><", "> <"), "start": at, "year": year}
        elif re.match(r"Done successfully|Completed <done>", what):
            facts |= {"end": at, "exit_code": "0"}
        elif exited := _EXITED.match(what):
            facts |= {"end": at, "exit_code": exited[1] or "1"}
        if directory := re.search(r"Execution ?CWD ?<([^>]+)>", what):
            facts["directory"] = directory[1]
    if memory := _MEMORY.search(block):
        facts["memory"] = memory[1]
    return {name: value.strip() for name, value in facts.items() if value.strip()}
