"""Campaigns whose slides are tested: a planted effect, names that are too long, single runs."""

from __future__ import annotations

from analysis.estimates.campaign import Campaign
from tests.estimates.hand import campaign, repeats

_WORD = "<b>unbroken-name-of-a-library-that-somebody-built-with-everything-in-it</b>&"
LONG = [
    f"{level} {_WORD * 3} and more words of it, {'so many that no line holds them, ' * 8}" for level in "ABC"
]
SPREAD = (0.0, 0.004, -0.004, 0.008, -0.008, 0.002)


def planted() -> Campaign:
    """Make a campaign in which MPICH takes twice the time, in two cases, and one run failed."""
    rows = [
        row
        for mpi, factor in (("Open MPI 4.1.4", 1.0), ("MPICH 4.0.2", 2.0))
        for case, time in (("small", 10.0), ("large", 80.0))
        for row in repeats(
            [time * factor * (1 + one) for one in SPREAD], "figure_of_merit",
            figure_of_merit_unit="s", mpi=mpi, case=case, cluster="two", cpu="EPYC 9654",
        )
    ]  # fmt: skip
    failed = {**rows[0], "valid": False, "reason": "exit code 1"}
    return campaign([*rows, failed])


def hostile(evidence: str = "synthetic") -> Campaign:
    """Make a campaign whose libraries, cases and clusters have names of hundreds of letters."""
    rows = [
        row
        for at, mpi in enumerate(LONG)
        for place, case in enumerate([*LONG, *(f"case {n}" for n in range(5))])
        for row in repeats(
            [(10.0 + at + place) * (1 + one) for one in SPREAD], "figure_of_merit",
            figure_of_merit_unit="s", mpi=mpi, case=case, cluster=LONG[place % 3], cpu=LONG[0],
        )
    ]  # fmt: skip
    return campaign(rows, evidence)


def single() -> Campaign:
    """Make a campaign of which each setting ran once."""
    rows = [
        row
        for nodes in (1, 2, 4)
        for row in repeats(
            [80.0 / nodes], "figure_of_merit", figure_of_merit_unit="s", nodes=nodes, ranks=nodes
        )
    ]
    return campaign(rows)
