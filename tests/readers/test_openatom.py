"""Outputs of made-up runs in the layout of OpenAtom and Charm++; the numbers asserted stand below."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.datasets.applications import facts, load_applications
from analysis.readers import openatom, search

ROOT = Path(__file__).parents[2]

BANNER = """Charm++> Running on MPI version: 2.1 multi-thread support: 0 (max supported: 1)
Charm++> Running on 16 unique compute nodes (8-way SMP).
Converse/Charm++ Commit ID: v6.1.3
===============================================================================
Cpaimd-Charm-Driver running on 128 processors.
Executing OpenAtom: BINARY - ./OpenAtom
Total time to finish all start up phases 12.5
"""
TIMES = [2.5, 1.75, 1.0, 1.02, 0.98, 1.04]
STEPS = "".join(f"Iteration time (GSP) : {time:g}\n" for time in TIMES)
RULE = "-" * 79 + "\n"
LIST = RULE + "Wall Times from within GSP\n\n" + "".join(f"{time:g}\n" for time in TIMES)
OUTPUT = (BANNER + STEPS + LIST + "Total Wall Time: 8.29\n" + RULE).encode()


def test_openatom__reads_times_and_banner() -> None:
    ds = openatom.parse(OUTPUT)
    assert ds.iteration_time.values.tolist() == TIMES
    assert ds.step.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert (ds.total_time.item(), ds.startup_time.item()) == (8.29, 12.5)
    assert (ds.ranks.item(), ds.charm_nodes.item(), ds.charm_version) == (128, 16, "v6.1.3")
    assert ds.complete is True
    assert ds.warnings == []


def test_openatom__leaves_the_first_iterations_out_of_the_mean() -> None:
    ds = openatom.parse(OUTPUT)
    # (1.00 + 1.02 + 0.98 + 1.04) / 4
    assert ds.step_time.item() == pytest.approx(1.01, rel=1e-14)
    assert ds.startup_steps.item() == 2
    short = BANNER + LIST.replace("0.98\n1.04\n", "") + "Total Wall Time: 6.27\n" + RULE
    ds = openatom.parse(short.encode())
    assert (ds.startup_steps.item(), ds.step_time.item()) == (1, pytest.approx((1.75 + 1.0 + 1.02) / 3))


def test_openatom__counts_an_iteration_that_is_printed_and_listed_once() -> None:
    assert openatom.parse(OUTPUT).sizes["step"] == 6


def test_openatom__reads_steps_of_born_oppenheimer_dynamics() -> None:
    steps = "".join(f"BOMD step time (GSP) : {3 + i % 2:g}\n" for i in range(40))
    ds = openatom.parse((BANNER + steps).encode(), "out")
    assert (ds.mode, ds.sizes["step"], ds.step_time.item()) == ("BOMD", 40, 3.5)
    assert np.isnan(ds.total_time.item())
    assert ds.complete is True
    assert ds.warnings == [
        "out:47: no closing line; from 30 iterations on there may be none; check the number"
    ]


def test_openatom__closing_words_of_charm_end_a_long_run() -> None:
    steps = "Iteration time (GSP) : 0.5\n" * 40
    ds = openatom.parse((BANNER + steps + "[Partition 0][Node 0] End of program\n").encode())
    assert (ds.complete, ds.warnings, ds.step_time.item()) == (True, [], 0.5)


@pytest.mark.parametrize(
    ("line", "ranks"),
    [
        ("Charm++> Running in non-SMP mode: numPes 64", 64),
        ("Charm++> Running in non-SMP mode: 64 processes (PEs)", 64),
        (
            "Charm++> Running in SMP mode: 8 processes, 7 worker threads per process (56 PEs total)",
            56,
        ),
    ],
)
def test_openatom__takes_processors_from_the_banner_of_charm(line: str, ranks: int) -> None:
    text = OUTPUT.replace(b"Cpaimd-Charm-Driver running on 128 processors.", line.encode())
    assert openatom.parse(text).ranks.item() == ranks


def test_openatom__own_count_of_processors_wins() -> None:
    assert openatom.parse(b"Charm++> Running in non-SMP mode: numPes 64\n" + OUTPUT).ranks.item() == 128


def test_openatom__instances_put_their_number_before_a_line() -> None:
    text = OUTPUT.replace(b"Iteration time", b"{0} Iteration time").replace(b"Total Wall", b"{0} Total Wall")
    ds = openatom.parse(text)
    assert (ds.total_time.item(), ds.sizes["step"]) == (8.29, 6)


def test_openatom__run_that_died_is_named() -> None:
    ds = openatom.parse((BANNER + STEPS).encode(), "out")
    assert ds.complete is False
    assert ds.warnings == ["out:13: 6 iterations and no list of times; the run was killed or the file is cut"]
    ds = openatom.parse(BANNER.encode(), "out")
    assert np.isnan(ds.step_time.item())
    assert ds.warnings == ["out:7: no iteration is timed; the run ended before its first one"]


def test_openatom__garbled_time_is_blank_and_named() -> None:
    ds = openatom.parse(OUTPUT.replace(b"\n0.98\n", b"\n0.9#\n"), "out")
    assert np.isnan(ds.iteration_time.values[4])
    assert ds.step_time.item() == pytest.approx((1.0 + 1.02 + 1.04) / 3)
    assert ds.complete is False
    assert ds.warnings[0] == "out:21: the time of an iteration is '0.9#', not a number; left blank"


def test_openatom__list_that_does_not_add_up_is_named() -> None:
    ds = openatom.parse(OUTPUT.replace(b"8.29", b"9.29"), "out")
    assert ds.warnings == ["out:24: the times listed do not add up to the total of 9.29 s; check the file"]


def test_openatom__refuses_other_text() -> None:
    with pytest.raises(ReadError, match=r"^x.txt: no line is one that OpenAtom prints; "):
        openatom.parse(b"Charm++> Running in non-SMP mode: numPes 64\nInfo: NAMD 2.14\n", "x.txt")


def test_openatom__figure_of_merit_is_a_time() -> None:
    application = load_applications(ROOT / "config" / "applications")["openatom"]
    found = facts(application, openatom.parse(OUTPUT))
    assert (found["figure_of_merit"], found["figure_of_merit_unit"]) == (pytest.approx(1.01), "s")
    assert application.higher_is_better is False


def test_openatom__states_atoms_states_and_cutoff_of_its_problem() -> None:
    """An output of vm-openatom, of which grep says 96 atoms, nstates=128 and Ecut= 70.000000 Ryd."""
    (first, *_) = sorted((ROOT / "data/raw/vm-openatom/runs").glob("*/stdout.txt"))
    ds = openatom.parse(first.read_bytes())
    assert (ds.atoms.item(), ds.states.item(), ds.cutoff.item()) == (96, 128, 70.0)
    assert readers.problem(ds) == "atoms=96 states=128 cutoff=70 method=minimization"


@pytest.mark.parametrize(
    ("printed", "method"), [("Dynamics", "dynamics"), ("Dynamiics", "dynamics"), ("BOMD Dynamics", "bomd")]
)
def test_openatom__steps_in_time_are_another_problem_than_a_minimization(printed: str, method: str) -> None:
    """As its source prints the method; one release misspelt it."""
    text = f"{BANNER}There are 96 atoms\n{{0}} Running Open Atom CP {printed}: \n{STEPS}{LIST}"
    assert readers.problem(openatom.parse(text.encode())) == f"atoms=96 states=? cutoff=? method={method}"


def test_openatom__output_of_a_job_is_cut_where_each_run_begins() -> None:
    """Each of them has the lines of Charm++ that come before its first."""
    runs = sorted((ROOT / "data/raw/vm-openatom/runs").glob("*/stdout.txt"))[:2]
    texts = [path.read_bytes() for path in runs]
    starts = [one.start() for one in search.matches(openatom.FORMAT.first_line.encode(), b"".join(texts))]
    assert starts == [texts[0].index(b"Charm++> Running on MPI"), len(texts[0])]


def test_openatom__what_it_does_not_state_of_its_problem_is_open() -> None:
    assert readers.problem(openatom.parse(OUTPUT)) == ""
    some = BANNER + "There are 96 atoms\n" + STEPS + LIST
    assert readers.problem(openatom.parse(some.encode())) == "atoms=96 states=? cutoff=?"
