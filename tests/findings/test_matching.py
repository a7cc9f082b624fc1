"""What is compared with what: levels that took another's place, and those that did not."""

from __future__ import annotations

import pytest

from analysis.findings.matching import replaced
from analysis.schema.factors import TABLE


@pytest.mark.parametrize(
    ("factor", "before", "after", "pairs"),
    [
        ("cluster", {"old"}, {"new"}, [("old", "new")]),
        ("cluster", {"old", "both"}, {"new", "both"}, []),
        ("cluster", {"a", "b"}, {"c"}, []),
        ("cpu", {""}, {"EPYC 9654"}, [("", "EPYC 9654")]),
        ("interconnect", {"1gbe", "10gbe"}, {"10gbe", "100gbe"}, []),
        ("mpi", {"Open MPI 4", "MPICH 4"}, {"Open MPI 5", "MPICH 4"}, [("Open MPI 4", "Open MPI 5")]),
        ("mpi", {"A 4.1", "B 4.0"}, {"A 5.0", "B 4.2"}, [("A 4.1", "A 5.0"), ("B 4.0", "B 4.2")]),
        # Another library is no new version of one that is gone.
        ("mpi", {"Open MPI 4.1.4", "MPICH 4.0.2"}, {"Open MPI 4.1.4", "Intel MPI 2021"}, []),
        # If it is the only one, it is what changed.
        ("mpi", {"MPICH 4.0.2"}, {"Intel MPI 2021"}, [("MPICH 4.0.2", "Intel MPI 2021")]),
        ("build", {"-O3", "-O2"}, {"-O3 -g", "-O2"}, [("-O3", "-O3 -g")]),
        ("version", {"3.0"}, {"3.1"}, [("3.0", "3.1")]),
    ],
)  # fmt: skip
def test_replaced__only_where_one_level_can_be_meant(
    factor: str, before: set[str], after: set[str], pairs: list[tuple[str, str]]
) -> None:
    assert list(replaced(factor, before, after)) == pairs


def test_upgraded__are_factors_of_no_job() -> None:
    upgraded = {one.name for one in TABLE if one.upgrade}
    assert {"cluster", "mpi", "version"} < upgraded
    assert upgraded.isdisjoint({"application", "case", "nodes", "ranks", "target_time", "local_size"})
