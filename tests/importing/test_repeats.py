"""Cells of an import whose runs are no repeats: asked about before anything is written."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from analysis.base import project
from analysis.base.facts import stated, told
from analysis.base.modes import split
from analysis.datasets.applications import load_applications
from analysis.importing import make
from analysis.importing.plan import ImportPlan, cell_name
from tests.findings.planted import rated
from tests.importing import trees

SOURCE = next(run for run in trees.good() if trees.record(run)["case"] == "nx16")


def tree(root: Path, factors: dict[str, list[float]]) -> ImportPlan:
    """Plan the import of copies of one result, scaled, each in a folder of its group's and its own name."""
    for group, each in factors.items():
        for at, factor in enumerate(each):
            folder = root / group / f"attempt{at}"
            folder.mkdir(parents=True)
            shutil.copy(trees.result(SOURCE), folder / "HPCG-Benchmark_3.1.txt")
            rated(folder, factor)
    return make(root, "tree", root / "raw", load_applications(project.root() / "config" / "applications"))


def clean(n: int, seed: int) -> list[float]:
    return np.exp(np.random.default_rng(seed).normal(0, 0.02, n)).tolist()


def test_repeats__groups_that_follow_a_folder_are_a_question(tmp_path: Path) -> None:
    slow, fast = clean(6, 1), [1.3 * one for one in clean(6, 2)]
    plan = tree(tmp_path, {"cn01": slow, "cn02": fast})

    (doubt,) = plan.doubts
    assert sorted(doubt.split.sizes) == [6, 6]
    assert doubt.split.fact == "folder 1"
    assert set(doubt.levels) == {"cn01", "cn02"}
    assert "12 runs fall into groups of 6 and 6" in doubt.question
    assert "('cn01', 'cn02'): a factor, or are they repeats?" in doubt.question
    assert len({cell_name(draft) for draft in plan.runs}) == 1

    doubt.take()

    assert len({cell_name(draft) for draft in plan.runs}) == 2
    assert {draft.value("options") for draft in plan.runs} == {"folder-1=cn01", "folder-1=cn02"}
    assert sorted(draft.value("repeat") for draft in plan.runs) == sorted([*range(1, 7)] * 2)


def test_repeats__a_number_of_the_names_that_groups_follow_is_a_question(tmp_path: Path) -> None:
    # As EPCCed/archer2-frequency-benchmarks names its outputs: the frequency in kHz, and the job.
    jobs = iter(range(3228000, 3228012))
    for khz, each in {"2000000": clean(6, 1), "2250000": [1.3 * one for one in clean(6, 2)]}.items():
        for factor in each:
            folder = tmp_path / f"log.{khz}.{next(jobs)}"
            folder.mkdir()
            shutil.copy(trees.result(SOURCE), folder / "HPCG-Benchmark_3.1.txt")
            rated(folder, factor)
    (doubt,) = make(
        tmp_path, "tree", tmp_path / "raw", load_applications(project.root() / "config" / "applications")
    ).doubts
    assert set(doubt.levels) == {"2000000", "2250000"}
    assert "('2000000', '2250000'): a factor, or are they repeats?" in doubt.question


def test_repeats__clean_runs_are_not_asked_about(tmp_path: Path) -> None:
    assert tree(tmp_path, {"cn01": clean(6, 3), "cn02": clean(6, 4)}).doubts == []


@pytest.mark.parametrize("fast", [[0.4], [0.4, 0.41]])
def test_repeats__a_run_far_from_the_rest_is_asked_about(tmp_path: Path, fast: list[float]) -> None:
    (doubt,) = tree(tmp_path, {"one": clean(10, 5) + fast}).doubts
    assert doubt.split.sizes == (len(fast), 10)
    assert doubt.question.endswith("what differs, or are they repeats?")
    assert doubt.split.fact == ""


# What a job states that is no factor: the fact, its two levels, and where a job prints it.
JOBS = {
    "directives.-R": ('"rusage[mem=2000]"', '"rusage[mem=4000]"', "#BSUB -n 8\n#BSUB -R {}\n"),
    "directives.-x": ("", "given", "#BSUB -n 8\n{}"),
    # Two builds of one release, which Spack tells by their digests; a release of its own is an option.
    "modules": (
        "blis/3.0-gcc-9.4.0-abcdef2",
        "blis/3.0-gcc-9.4.0-ghijkl3",
        "Currently Loaded Modulefiles:\n{}\n",
    ),
    "launch word 3": ("gcc-12.3", "oneapi-2024", "mpirun /apps/{}/hpcg/bin/xhpcg\n"),
    "directory": (
        "/home/eve/bench",
        "/scratch/eve/new",
        "Sender: LSF\n<{}> was used as the working directory.\n",
    ),
}


def printed(fact: str, level: str) -> str:
    return JOBS[fact][2].format("#BSUB -x\n" if level == "given" else level)


@pytest.mark.parametrize("fact", JOBS)
def test_repeats__what_a_job_states_is_asked_about_where_groups_follow_it(tmp_path: Path, fact: str) -> None:
    """Groups that are 5 % apart overlap, with a scatter of 2 %: their values alone tell of no groups."""
    levels = JOBS[fact][:2]
    for level, values in zip(levels, (clean(8, 1), [1.06 * one for one in clean(8, 2)]), strict=True):
        for at, factor in enumerate(values):
            folder = tmp_path / f"{2 * at + levels.index(level)}"
            folder.mkdir()
            path = folder / "HPCG-Benchmark_3.1.txt"
            shutil.copy(trees.result(SOURCE), path)
            rated(folder, factor)
            path.write_text(printed(fact, level) + path.read_text())
    (doubt,) = make(
        tmp_path, "tree", tmp_path / "raw", load_applications(project.root() / "config" / "applications")
    ).doubts
    assert doubt.split.fact == fact
    assert set(doubt.levels) == set(levels)


def test_repeats__racks_are_asked_about_by_the_numbers_of_their_hosts() -> None:
    found = stated({"node_list": ["cn101,cn117", "cn142,cn109", "cn311,cn350"]}, ["a", "a", "a"])
    assert found["hosts"] == ["cn1#", "cn1#", "cn3#"]


def test_repeats__all_pairs_of_some_hosts_are_places_and_not_repeats() -> None:
    """28 pairs of 8 hosts, with noise of 2 % alone: whether one pair is like another is the question."""
    pairs = [f"n{one},n{two}" for one in range(8) for two in range(one)]
    values = clean(28, 3)
    found = split(values, facts={"node_list": pairs})
    assert found is not None
    assert (found.kind, found.fact, len(found.sizes)) == ("pairs", "node_list", 28)
    assert told(found, 28).startswith("28 runs cover all 28 pairs of 8 hosts and differ by up to ")
    assert "along with the pair of hosts (node_list: 'n1,n0', 'n2,n0'):" in told(
        found, 28, ("n1,n0", "n2,n0")
    )
    groups = dataclasses.replace(found, kind="fact", sizes=(14, 14))
    assert "along with the list of hosts (node_list: 'n1', 'n2'):" in told(groups, 28, ("n1", "n2"))
    assert "(node_list: 'n1', 'n2', 'n3', 'n4'):" in told(groups, 28, ("n1", "n2", "n3", "n4"))
    assert "(node_list: 'n1', 'n2', 'n3', 'n4', …):" in told(groups, 28, ("n1", "n2", "n3", "n4", "n5"))
    many = dataclasses.replace(groups, sizes=(4,) * 7)
    assert told(many, 28).startswith("28 runs fall into 7 groups of 4 that differ by ")
    assert "into 6 groups of 3 to 5 that" in told(dataclasses.replace(many, sizes=(5, 4, 3, 4, 4, 4)), 24)
    # Jobs that Slurm put on pairs of hosts as these were free are repeats.
    assert split(values[:20], facts={"node_list": pairs[:20]}) is None


def test_repeats__the_minute_in_a_name_explains_nothing_but_the_day_may() -> None:
    names = [f"lj.2025:04:{day}-20:{minute}:57.log" for day in (18, 19) for minute in (52, 53)]
    assert [*stated({}, names).values()] == [("20250418",) * 2 + ("20250419",) * 2]
    assert stated({}, names[:2]) == {}


def test_repeats__the_digest_of_a_cut_name_has_no_words() -> None:
    """Names of import that are too long end with eight digits of a digest; its letters are no factor."""
    names = ["mini-3072-79eefd36", "mini-3072-22c82ef7", "maxi-3072-7e5c3a8e"]
    assert stated({}, names) == {"name word 1": ("mini", "mini", "maxi")}


def test_repeats__sweep_whose_numbers_were_taken_for_repeats_is_asked_about(tmp_path: Path) -> None:
    # HPCG's results have no date: 1.5 times as fast along the numbers of their names.
    (doubt,) = tree(tmp_path, {"one": [1 + at / 14 for at in range(8)]}).doubts
    assert doubt.split.kind == "names"
    assert "8 runs rise by" in doubt.question
    assert doubt.question.endswith("in the order of their names: what differs, or are they repeats?")
