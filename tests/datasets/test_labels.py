"""Runs whose launch line is that of runs with another label."""

from __future__ import annotations

from dataclasses import replace
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


@pytest.mark.parametrize(
    ("where", "odd"), [("path: azure", False), ("output", False), ("hosts and queue of the job", True)]
)
def test_doubtful__a_program_may_be_started_alike_in_two_folders(where: str, odd: bool) -> None:
    """A folder or an output states the level itself; a record that says it could be another run's."""
    usual, other = {"cluster": "AWS"}, {"cluster": "Azure"}
    *others, last = runs("laghos -p 1", usual, usual, usual, other)
    assert bool(list(doubtful([*others, replace(last, origins={"cluster": where})]))) == odd


@pytest.mark.parametrize(
    ("where", "files", "named"),
    [
        ("path: mx", ("a", "a", "a", "a"), []),  # a file cannot have a wrong name for one of its results
        ("path: mx", ("a", "a", "a", "b"), ["r3"]),
        ("output", ("a", "a", "a", "b"), []),
        ("--set", ("a", "a", "a", "b"), ["r3"]),
    ],
)
def test_doubtful__a_result_of_a_file_has_the_place_of_its_neighbours(
    where: str, files: tuple[str, ...], named: list[str]
) -> None:
    levels = [{"interconnect": "mx"}] * 4 + [{"interconnect": "eth"}] * 3
    made = runs("", *levels)
    figures = [1.0, 1.001, 0.999, 2.001, 2.0, 2.001, 1.999]
    of_file = [*files, *"ccc"]
    found = doubtful(
        [
            replace(
                one,
                figures={0: figure},
                origins={"interconnect": where.replace("mx", one.row["interconnect"])},
                source=file,
            )
            for one, figure, file in zip(made, figures, of_file, strict=True)
        ]
    )
    assert [fault.source.partition("/")[0] for fault in found] == named


@pytest.mark.parametrize(
    ("slow", "fast", "named"),
    [
        ([1.0, 1.001, 0.999, 2.0], [2.001, 2.0, 1.999], ["r3"]),  # one of seven has a wrong record
        ([1.0, 1.001, 0.999, 2.0], [2.001, 2.0, 1.999, 2.0], []),  # both have their four: a slow run
        ([1.0, 1.001, 0.999, 2.0], [2.001, 2.0, 1.999, 1.0], ["r3", "r7"]),  # two were exchanged
    ],
)
def test_doubtful__a_wrong_record_leaves_a_run_too_many(
    slow: list[float], fast: list[float], named: list[str]
) -> None:
    made = runs("", *[{"interconnect": "mx"}] * len(slow), *[{"interconnect": "eth"}] * len(fast))
    found = doubtful(
        [replace(one, figures={0: figure}) for one, figure in zip(made, [*slow, *fast], strict=True)]
    )
    assert [fault.source.partition("/")[0] for fault in found] == named


def test_labelled_run__knows_where_an_imported_run_lay() -> None:
    record = {"imported": {"files": [{"sha256": "ab", "lines": [1, 9]}], "factors": {"cluster": "path: x"}}}
    row = runs("a", {})[0].row
    one = LabelledRun.of({**row, "figure_of_merit": 2.0}, extra=record)
    assert (one.source, one.is_of_place("cluster"), one.is_printed("cluster")) == ("ab", True, False)
    whole = {"imported": {"files": [{"sha256": "ab"}], "factors": {}}}
    assert LabelledRun.of(row, extra=whole).source == ""


def test_doubtful__one_word_of_paths_is_one_level() -> None:
    """Records of a whole folder `eth-n2` say InfiniBand, those of `eth-n1` Ethernet: both had it of `eth`."""
    links = ["ethernet"] * 4 + ["ib-hdr100"] * 3
    found = [
        replace(run, origins={"interconnect": "path: eth", "tuning": "path: eth"})
        for run in runs("", *({"interconnect": link, "tuning": link} for link in links))
    ]
    said = list(doubtful(found))
    assert [fault.source for fault in said] == ["r4/run.json", "r5/run.json", "r6/run.json"]
    assert (
        said[0].found == "says interconnect 'ib-hdr100', of 'eth' in its path, which is ethernet in 4 others"
    )
    assert not list(doubtful(found[:4]))
