"""Where Open MPI ran the ranks of each launch, as ``--report-bindings`` prints it on standard error.

PBS writes that into a file next to the output, and a job may launch many programs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# Releases 1.5 to 4 count the ranks of MCW, release 5 does not say so. With --tag-output a mark is before it.
_LINE = re.compile(
    r"^(?:\[\d+,\d+\]<std(?:err|out)>:[ \t]*)?\[([A-Za-z][\w.-]*):\d+\] (?:MCW rank|Rank) (\d+)"
    r" (?:is not bound|bound to )",
    re.MULTILINE,
)
SIGN = b"ank 0 "  # of the line of the first rank


class Bindings(NamedTuple):
    """A launch: its number of ranks, and the hosts on which they ran."""

    ranks: int
    hosts: frozenset[str]


def launches(text: str) -> list[Bindings]:
    """Return the launches whose ranks a text places, in their order, even if a rank is missing.

    A rank that comes again begins the next launch.
    """
    return [Bindings(max(ranks) + 1, frozenset(ranks.values())) for ranks in _placed(text)]


def _placed(text: str) -> Iterator[dict[int, str]]:
    """Yield rank -> host of each launch."""
    ranks: dict[int, str] = {}
    for host, number in _LINE.findall(text):
        rank = int(number)
        if rank in ranks:
            yield ranks
            ranks = {}
        ranks[rank] = host
    if ranks:
        yield ranks


def of_result(found: Sequence[Bindings], ranks: Sequence[int | None], at: int) -> dict[str, Any]:
    """Return nodes, hosts and ranks of one of the results of a job, as far as its launches agree on them.

    Parameters
    ----------
    found
        The launches of the job.
    ranks
        The ranks of each result, as it states them.
    at
        Which result is meant. If there are as many launches as results and their ranks fit, its own launch
        counts, else all with as many ranks.
    """
    fitting = [stated in (None, one.ranks) for one, stated in zip(found, ranks, strict=False)]
    own = len(found) == len(ranks) and all(fitting)
    chosen = [found[at]] if own else [one for one in found if ranks[at] in (None, one.ranks)]
    hosts = {one.hosts for one in chosen}
    if len(hosts) != 1:
        return {}
    names = sorted(hosts.pop())
    facts: dict[str, Any] = {"nodes": len(names), "node_list": ",".join(names)}
    counts = {one.ranks for one in chosen}
    return facts | ({"ranks": counts.pop()} if len(counts) == 1 else {})
