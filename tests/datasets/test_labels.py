"""Runs whose launch line is that of runs with another label."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.datasets.labels import FACTORS, LabelledRun, doubtful


def runs(command: str, *levels: dict[str, Any]) -> list[LabelledRun]:
    """Runs of one launch line, without figures of merit."""
    blank: dict[str, Any] = dict.fromkeys(FACTORS, "") | {"command": command, "figure_of_merit": 0.0}
    known = {"application": "lammps", "nodes": 32}
    return [LabelledRun({**blank, **known, **one, "run": f"r{at}"}, {}) for at, one in enumerate(levels)]


@pytest.mark.parametrize(
    ("command", "usual", "odd", "said"),
    [
        ("srun -n 64 lmp", {"tuning": "one"}, {"tuning": "two"}, "says tuning 'two'"),
        ("srun -N 32 lmp -in x", {"nodes": 32}, {"nodes": 64}, "says nodes '64'"),
        ("mpirun --map-by ppr:8:node a", {"ranks_per_node": 8}, {"ranks_per_node": 4}, "says ranks_per_node"),
        ("lmp -v x 64 -v z 32", {"nodes": 32}, {"nodes": 64}, ""),  # no option of a launcher
        ("srun lmp", {"interconnect": ""}, {"interconnect": "no-efa"}, ""),  # the others are not known
    ],
)  # fmt: skip
def test_doubtful__one_run_differs_from_all_others_with_its_command(
    command: str, usual: dict[str, Any], odd: dict[str, Any], said: str
) -> None:
    found = list(doubtful(runs(command, usual, usual, usual, odd)))
    assert [fault.source for fault in found] == (["r3/run.json"] if said else [])
    for what in (said, "; all 3 other runs with its command say ") if said else ():
        assert what in found[0].found


def test_doubtful__others_that_do_not_agree_say_nothing_of_a_run() -> None:
    """On two machines a third is nothing odd; the same runs on one machine make it so."""
    machines = [{"tuning": name} for name in ("aws", "aws", "azure", "azure", "google")]
    assert not list(doubtful(runs("srun lmp", *machines)))
    assert len(list(doubtful(runs("srun lmp", *machines[:2] * 2, machines[4])))) == 1
