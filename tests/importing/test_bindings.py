"""The standard error of PBS beside its output: where Open MPI placed the ranks; names of hosts are ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.importing import bindings
from analysis.importing.bindings import Bindings

from .test_import import Imported, imported, log, project

__all__ = ["imported", "project"]


def bound(ranks: int, *hosts: str, process: int = 4711) -> str:
    """Return what ``mpirun --report-bindings`` of Open MPI 4.1.4 prints of ranks that go round the hosts."""
    return "".join(
        f"[{hosts[rank % len(hosts)]}:{process + rank % len(hosts):05}] MCW rank {rank} bound to "
        f"socket 0[core {rank // len(hosts)}[hwt 0]]: [B/.]\n"
        for rank in range(ranks)
    )


def several(*ranks: int) -> str:
    """Return the output of a job that ran LAMMPS with these numbers of ranks, one after the other."""
    texts = (log(9.5 + at / 10) for at in range(len(ranks)))
    return "".join(
        text.replace("on 4 procs", f"on {count} procs").replace("with 4 MPI", f"with {count} MPI")
        for text, count in zip(texts, ranks, strict=True)
    )


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[cn01.local:19639] MCW rank 0 bound to socket 0[core 0[hwt 0-1]]: [BB/..][../..]", 0),
        ("[cn01.local:12049] MCW rank 0 is not bound (or bound to all available processors)", 0),
        ("[cn01.local:730888] Rank 0 bound to package[0][core:0]", 0),  # Open MPI 5
        ("[1,0]<stderr>:[cn01.local:04744] MCW rank 0 bound to socket 0[core 0-1]: [B B][. .]", 0),
    ],
)
def test_launches__each_form_of_the_line_names_host_and_rank(line: str, rank: int) -> None:
    assert bindings.launches(f"make: warning\n{line}\n") == [Bindings(rank + 1, frozenset({"cn01.local"}))]


def test_launches__a_rank_that_comes_again_begins_the_next_and_lines_of_two_hosts_mix() -> None:
    lines = bound(4, "cn01", "cn02").splitlines(keepends=True)
    text = "".join((lines[0], lines[2], lines[3], lines[1])) + bound(2, "cn03")
    assert bindings.launches(text) == [
        Bindings(4, frozenset({"cn01", "cn02"})),
        Bindings(2, frozenset({"cn03"})),
    ]


def test_of_result__without_its_own_launch_all_of_as_many_ranks_must_agree() -> None:
    pair, single, other = (
        Bindings(4, frozenset({"a", "b"})),
        Bindings(4, frozenset({"a"})),
        Bindings(2, frozenset({"b"})),
    )
    assert bindings.of_result([pair, single], [4, 4], 1) == {"nodes": 1, "node_list": "a", "ranks": 4}
    assert bindings.of_result([pair, single, other], [4, 2], 0) == {}
    assert bindings.of_result([pair, pair, other], [4, 2], 0) == {"nodes": 2, "node_list": "a,b", "ranks": 4}
    assert bindings.of_result([pair, pair], [8], 0) == {}


def test_import__results_of_one_job_of_pbs_have_the_hosts_of_its_standard_error(
    tmp_path: Path, imported: Imported
) -> None:
    """A job has two launches; of those on one node and on two, the output says the ranks alone."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "lj.o714843").write_text(several(4, 4, 8))
    (tree / "lj.e714843").write_text(
        bound(4, "cn01") + bound(4, "cn01", "cn02") + bound(8, "cn01", "cn02") + "=>> PBS: job killed\n"
    )
    (tree / "lj.o714850").write_text(log(9.9))
    (tree / "lj.e714850").write_text(bound(4, "gpu7"))
    found = sorted(imported(tree).values(), key=lambda one: str(one["run"]))
    facts = [(one["nodes"], one["node_list"], one["ranks"], one["host_group"]) for one in found]
    assert facts == [
        (1, "cn01", 4, "cn"),
        (2, "cn01,cn02", 4, "cn"),
        (2, "cn01,cn02", 8, "cn"),
        (1, "gpu7", 4, "gpu"),
    ]
    assert {one["imported"]["factors"]["nodes"] for one in found} == {"launcher"}
    assert {one["repeat"] for one in found} == {1}


def test_import__what_pbs_reports_in_the_standard_error_is_of_all_results_of_the_job(
    tmp_path: Path, imported: Imported
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "lj.o335896").write_text(several(4, 8))
    (tree / "lj.e335896").write_text(
        "Job ID:         335896.sched\nQueue:          debug\nPBS: Nodes:\nNodes:  f109n001 f109n002\n"
    )
    found = imported(tree).values()
    assert [(one["nodes"], one["node_list"]) for one in found] == [(2, "f109n001,f109n002")] * 2
    assert not any("start" in one for one in found)
