"""Questions to Slurm, and when its record of a job may be kept.

The accounting is written behind the job, piece by piece.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

# A requeued job goes back to pending; all of these stay, except where an administrator interferes.
TERMINAL = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)

# One reading: the job's row, or its row and those of its steps.
Reading = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def terminal(state: str) -> bool:
    """Tell whether a state is one that a job ends in.

    Parameters
    ----------
    state : str
        As sacct writes it: ``CANCELLED by 1000`` and ``CANCELLED+`` are ``CANCELLED``.
    """
    return (state.split() or [""])[0].rstrip("+") in TERMINAL


def ended(job: str) -> str:
    """Ask the accounting how a job ended.

    Parameters
    ----------
    job : str
        Number of the job.

    Returns
    -------
    str
        State as sacct writes it, of a job that was started several times that of the last start which
        has ended; empty if none has, or the accounting does not answer.
    """
    command = ["sacct", "--duplicates", "--allocations", "--noheader", "--parsable2", "--format=State"]
    states = (ask([*command, f"--jobs={job}"], 30) or "").splitlines()
    return next((state.strip() for state in reversed(states) if terminal(state)), "")


def ask(command: Sequence[str], timeout: float = 60) -> str | None:
    """Put a question to Slurm.

    Parameters
    ----------
    command : sequence of str
    timeout : float, optional
        s.

    Returns
    -------
    str or None
        What the command prints; None where Slurm does not answer. That it knows a job no more is an answer.
    """
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if asked.returncode and "Invalid job id" not in asked.stderr else asked.stdout


def final(records: Sequence[Reading]) -> bool:
    """Decide whether the last reading of a job's record can be kept as the final one.

    A job can be ``COMPLETED`` seconds before its end, its steps and their memory and energy are in the
    accounting, and a node failure can be followed by a requeue. So the state alone is not enough: the
    last two readings must be equal in everything. Take them at least one sampling interval of the
    accounting apart (30 s by default); readings taken at once are equal and prove nothing.

    Parameters
    ----------
    records : sequence
        Readings of one job from the oldest to the newest. Each is a mapping (the job's row, with the
        variable names of the kind ``sacct``) or a sequence of such (the job's row first, then its steps').

    Returns
    -------
    bool
        True if the last reading's state is terminal, its end is known where it has one, and it equals
        the reading before it.

    Examples
    --------
    >>> final([{"state": "RUNNING"}, {"state": "COMPLETED"}])
    False
    >>> final([{"state": "COMPLETED"}, {"state": "COMPLETED"}])
    True
    """
    if len(records) < 2:
        return False
    before, last = (_rows(reading) for reading in records[-2:])
    if not last or not terminal(str(last[0].get("state", ""))):
        return False
    if "end" in last[0] and _unknown(last[0]["end"]):
        return False
    return len(before) == len(last) and all(_equal(a, b) for a, b in zip(before, last, strict=True))


def _rows(reading: Reading) -> list[Mapping[str, Any]]:
    return [reading] if isinstance(reading, Mapping) else list(reading)


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)


def _same(one: Any, other: Any) -> bool:
    # NaN and NaT differ from themselves: blank in both readings is no change.
    return bool(one == other) or bool(one != one and other != other)


def _unknown(end: Any) -> bool:
    """Tell whether an end is blank: None, NaN, NaT, 0, or one of sacct's words for it."""
    if isinstance(end, str):
        try:
            return datetime.fromisoformat(end).year < 1971
        except ValueError:
            return not end.isdecimal() or int(end) == 0
    return end is None or bool(end != end) or (isinstance(end, int | float) and end <= 0)
