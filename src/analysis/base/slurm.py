"""Slurm: questions to it, how it writes nodes and numbers, and when its record of a job may be kept."""

import contextlib
import itertools
import pwd
import re
import signal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from analysis.base import shell
from analysis.base.errors import ConfigError

# What its commands say of a job that Slurm has given up, or has forgotten.
UNKNOWN_JOB = "Invalid job id"

# A requeued job goes back to pending; all of these stay, except where an administrator interferes.
TERMINAL = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"}
TERMINAL |= {"OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"}
QUARTER = 900.0  # s; time zones differ by multiples of it
_SUMMER = 4  # quarters of an hour
# So many runs by another clock mean a change to summer time; fewer are runs of another time.
_CHANGED = 3
# The job name that slurmdbd writes into a row before, or without, the message that has the job's own.
_UNNAMED = "allocation"

_NODES = re.compile(r"[A-Za-z0-9_.-]+(\[[0-9,-]+\][A-Za-z0-9_.-]*)*")
# One reading: the job's row, or its row and those of its steps.
Reading = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def usual_zones(zones: Iterable[int]) -> list[int]:
    """Return by how many quarters of an hour two clocks differ: first for most runs, then in summer."""
    found = Counter(zones)
    if not found:
        return []
    most = max(found, key=lambda zone: (found[zone], -abs(zone)))
    return [most, *(zone for zone in (most - _SUMMER, most + _SUMMER) if found[zone] >= _CHANGED)]


def terminal(state: str) -> bool:
    """Tell whether a job ends in a state, as sacct writes it: ``CANCELLED by 1000``, ``CANCELLED+``."""
    return (state.split() or [""])[0].rstrip("+") in TERMINAL


class NoAnswerError(Exception):
    """Slurm does not answer; the message is why."""


def ask(command: Sequence[str], timeout: float = 60) -> str:
    """Put a question to Slurm, with `timeout` in s, and return what the command prints.

    `NoAnswerError` if Slurm does not answer; that it knows a job no more is an answer.
    """
    answer = shell.run(command, timeout)
    if answer.code is None or (answer.code and UNKNOWN_JOB not in answer.err):
        raise NoAnswerError((answer.err or answer.out).strip() or "no answer")
    return answer.out


def states(jobs: Iterable[str], timeout: float = 60) -> dict[str, str]:
    """Ask for the states of some jobs in one question: job -> state, of those that Slurm still knows.

    `NoAnswerError` if Slurm does not answer.
    """
    wanted = ",".join(sorted(set(jobs), key=int))
    if not wanted:
        return {}
    command = ["squeue", "--noheader", "--states=all", "--format=%A|%T", f"--jobs={wanted}"]
    rows = (line.partition("|") for line in ask(command, timeout).splitlines())
    return {job.strip(): state.strip() for job, _, state in rows}


def untold(timeout: float = 60) -> int | None:
    """Return how many messages the controller has yet to tell the accounting; None if it does not say."""
    found = re.search(r"DBD Agent queue size:\s*(\d+)", shell.run(["sdiag"], timeout).text)
    return int(found[1]) if found else None


def ended(job: str, names: Mapping[str, Any] | None = None) -> str:
    """Ask for the state in which a job's last start ended; empty if that is not known.

    First the accounting, which can be purged or late, then the controller, which forgets jobs after minutes.
    Of one that failed by a signal, as a process of its own gave it or Slurm, it is named: ``FAILED (KILL)``.
    With `names` (comment, job_name, cluster) only rows count that have the same, where both are known.
    """
    sacct = ["sacct", "--duplicates", "--allocations", "--noheader", "--parsable2"]
    squeue = ["squeue", "--noheader", "--states=all", "--format=%T|%k|%j"]
    wanted = [str((names or {}).get(key) or "") for key in ("comment", "job_name", "cluster")]
    for command in ([*sacct, "--format=State,Comment,JobName,Cluster,ExitCode"], squeue):
        try:
            listed = ask([*command, f"--jobs={job}"], 30).splitlines()
        except NoAnswerError:
            continue
        for line in reversed(listed):
            state, *found = (cell.strip() for cell in line.split("|"))
            if terminal(state) and all(map(same_name, wanted, found)):
                return named_user(state) + (_by_signal(found[-1]) if state == "FAILED" and found else "")
    return ""


def _by_signal(code: str) -> str:
    """Return the signal in an exit code of sacct, ``137:0`` or ``0:9``, as a part of a sentence."""
    status, _, given = code.partition(":")
    if status.isdecimal() and given.isdecimal():
        with contextlib.suppress(ValueError):
            return f" ({signal.Signals(int(given) or int(status) - 128).name.removeprefix('SIG')})"
    return ""


def same_name(one: str, other: str) -> bool:
    """Tell whether two names of a job, a comment or a cluster may be the same: one of them can be unknown."""
    return one == other or not {one, other}.isdisjoint({"", _UNNAMED})


def named_user(state: str) -> str:
    """Return a state with the name of the user that a job was cancelled by: ``CANCELLED by 0 (root)``."""
    _, by, uid = state.partition(" by ")
    try:
        return f"{state} ({pwd.getpwuid(int(uid)).pw_name})" if by else state
    except (KeyError, ValueError, OverflowError):
        return state


def short(node: str) -> str:
    """Return a node's name without its domain: Slurm and the host may differ in that."""
    return node.partition(".")[0]


def listed(nodes: str) -> list[str]:
    """Return the short names in a list of nodes with commas."""
    return [short(node.strip()) for node in nodes.split(",") if node.strip()]


def named(text: str, nodes: Iterable[str]) -> list[str]:
    """Return the nodes that the name of a meter has as a word: ``n1``, ``n1.cluster``, ``bmc: n1 power``."""
    words = {text.partition(".")[0], *text.replace(":", " ").replace("/", " ").split()}
    return [node for node in nodes if node in words]


def node_names(text: str) -> list[str]:
    """Split nodes as Slurm writes them, ``n[01-03,7],login``; ConfigError if it is no such list."""
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text.strip()) if text else ():
        if not _NODES.fullmatch(part.strip()):
            raise ConfigError.at("--nodes", 0, f"{part[:60]!r} is no node", "write them like n[01-04],n7")
        pieces = re.split(r"\[([0-9,-]+)\]", part.strip())
        # Between the brackets is what is counted, around them what stays.
        choices = [_padded(piece) if at % 2 else [piece] for at, piece in enumerate(pieces)]
        names += map("".join, itertools.product(*choices))
    return names


def _padded(ranges: str) -> list[str]:
    parts = (one.partition("-") for one in ranges.split(","))
    return [
        str(number).zfill(len(first))
        for first, _, last in parts
        for number in range(int(first), int(last or first) + 1)
    ]


def numbers(text: str) -> list[int]:
    """Spell out a list of numbers, as of cores: ``0-2,8`` is 0, 1, 2, 8."""
    return [int(number) for number in _padded(text.strip())]


def ranges(values: Iterable[int]) -> str:
    """Write numbers as Slurm and the kernel do: 0, 1, 2, 8 is ``0-2,8``."""
    parts: list[list[int]] = []
    for value in sorted(values):
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def final(records: Sequence[Reading]) -> bool:
    """Decide whether the last of some readings of a job's record, oldest first, can be kept as the final one.

    Its state must be terminal, its end known, and it equal to the one before in everything: steps, memory and
    energy come late, and a lost node can be followed by a requeue. Read them at
    an interval of the accounting's sampling (30 s by default): readings at once prove nothing.
    """
    if len(records) < 2:
        return False
    before, last = ([one] if isinstance(one, Mapping) else list(one) for one in records[-2:])
    if not last or not terminal(str(last[0].get("state", ""))):
        return False
    if "end" in last[0] and _unknown(last[0]["end"]):
        return False
    return len(before) == len(last) and all(_equal(a, b) for a, b in zip(before, last, strict=True))


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    # NaN and NaT differ from themselves: blank in both readings is no change.
    pairs = [(one[key], other.get(key)) for key in one]
    return one.keys() == other.keys() and all(a == b or (a != a and b != b) for a, b in pairs)


def _unknown(end: Any) -> bool:
    """Tell whether an end is blank: None, NaN, NaT, 0, or one of sacct's words for it."""
    if isinstance(end, str):
        try:
            return datetime.fromisoformat(end).year < 1971
        except ValueError:
            return not end.isdecimal() or int(end) == 0
    return end is None or bool(end != end) or (isinstance(end, int | float) and end <= 0)
