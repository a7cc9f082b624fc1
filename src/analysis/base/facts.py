"""What is stated of runs and differs between them, and the question that it raises."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.base.modes import Split
from analysis.base.words import STAMPS, counted, percent

_LISTED = 4  # levels of a fact that a question names


def _spelt(apart: float) -> str:
    """Spell a distance on logarithms: ``12 %``, ``2.4 times``."""
    ratio = math.exp(abs(apart))
    return percent(ratio - 1) if ratio < 2 else f"{ratio:.1f} times"


def _range(numbers: Sequence[int]) -> str:
    """Spell the smallest and the largest of some numbers: ``5``, ``3 to 5``."""
    return " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))


def told(found: Split, n: int, levels: Sequence[str] = ()) -> str:
    """Say how n runs fail to be repeats, and ask what that is."""
    by = _spelt(found.apart)
    if found.kind in ("trend", "names"):
        along = "along time" if found.kind == "trend" else "in the order of their names"
        text = f"{n} runs {'rise' if found.apart > 0 else 'fall'} by {by} {along}"
    elif found.kind == "far":
        few = min(found.sizes)
        text = f"{counted(few, 'run')} of {n} {'differs' if few == 1 else 'differ'} by {by} from the rest"
    elif found.kind == "pairs":
        hosts = (1 + math.isqrt(1 + 8 * len(found.sizes))) // 2
        text = f"{n} runs cover all {len(found.sizes)} pairs of {hosts} hosts and differ by up to {by}"
    elif n == len(found.sizes):
        text = f"{n} runs differ by {by}"
    else:
        sizes = sorted({*found.sizes})
        few = len(found.sizes) <= _LISTED
        each = " and ".join(map(str, found.sizes)) if few else _range(sizes)
        groups = "groups" if few else f"{len(found.sizes)} groups"
        text = f"{n} runs fall into {groups} of {each} that differ by {by}"
    if not found.fact:
        return f"{text}: what differs, or are they repeats?"
    names = [f"{one!r}" for one in levels[:_LISTED]] + ["…"] * (len(levels) > _LISTED)
    said = "the pair of hosts" if found.kind == "pairs" else _SAID.get(found.fact, "")
    fact = f"{said} ({found.fact}: " if said else f"{found.fact} ("  # the answer has to name it
    return f"{text}, along with {fact}{', '.join(names)}): a factor, or are they repeats?"


# Facts that a record has under another name than a sentence.
_SAID = {
    "node_list": "the list of hosts",
    "job_name": "the name of the job",
    "hosts": "the names of the hosts",
}

WORD = re.compile(r"[^\s=,;:/]+")  # of a launch line

_LAST = re.compile(r"\d{1,2}(?=\D*$)")

# Longer numbers that a dot joins are two: `log.2250000.3228001` has a frequency and a job.
_PART = re.compile(r"[A-Za-z]+|\d{1,4}\.\d{1,4}(?!\d)|\d+")
# The digest at the end of a long name that import has cut; its letters are no words.
_DIGEST = re.compile(r"-(?=\d*[a-f])[0-9a-f]{8}$")


def stated(
    levels: Mapping[str, Sequence[str]], names: Sequence[str], starts: NDArray[np.datetime64] | None = None
) -> dict[str, Sequence[str]]:
    """Return what is stated of runs and differs: given levels, the day and its part, words in their names."""
    own = dict(levels)
    if hosts := levels.get("node_list"):  # racks, by all but the last two digits
        own["hosts"] = [" ".join(sorted({_LAST.sub("#", one) for one in each.split(",")})) for each in hosts]
    if starts is not None:
        days = starts.astype("datetime64[D]")
        quarters = (starts - days).astype("m8[h]").astype(int) // 6 * 6
        own |= {"date": days.astype(str).tolist(), "hours": [f"{one}-{one + 6}" for one in quarters]}
        own["weekend"] = ["no" if one else "yes" for one in np.is_busday(days)]
    # Of a date with a time the day may explain something; its minutes are those of one execution.
    days_alone = [STAMPS.sub(lambda found: f" {_day(found[0])} ", _DIGEST.sub("", name)) for name in names]
    words = differing("name word", [_PART.findall(name) for name in days_alone])
    return {key: each for key, each in own.items() if len(set(each)) > 1} | words


def _day(stamp: str) -> str:
    digits = re.sub(r"\D", "", stamp)
    return digits[:8] if len(digits) >= 8 else ""


def differing(name: str, lists: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return facts of lists of words that differ: the word at each place, or which are there at all."""
    found: dict[str, Sequence[str]]
    if len({len(one) for one in lists}) == 1:
        found = {f"{name} {at}": levels for at, levels in enumerate(zip(*lists, strict=True), 1)}
    else:
        every = dict.fromkeys(word for one in lists for word in one if not word.isdigit())
        found = {f"{name} {word}": [word if word in one else "" for one in lists] for word in every}
    return {key: levels for key, levels in found.items() if len(set(levels)) > 1}
