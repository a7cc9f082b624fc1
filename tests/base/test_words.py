"""Levels as words."""

from __future__ import annotations

import pytest

from analysis.base.words import exact, nearest, number
from analysis.estimates.stats import Estimate
from analysis.schema.factors import labelled, level_name


@pytest.mark.parametrize(
    ("factor", "level", "word"),
    [
        ("nodes", 1, "1 node"),
        ("ranks_per_node", 1, "1 rank per node"),
        ("target_time", 6.0, "6 s"),
        ("mpi", "MPICH", "MPICH"),
    ],
)
def test_level_name__in_a_sentence(factor: str, level: str | float, word: str) -> None:
    assert level_name(factor, level) == word


def test_labelled__a_level_that_nobody_stated_is_no_blank() -> None:
    assert labelled("tuning", "") == "not stated"
    assert labelled("nodes", 8) == "nodes 8"


@pytest.mark.parametrize(
    ("value", "spelt"),
    [
        (99.999, "99.999"),
        (0.382897, "0.3829"),
        (12_345.6, "12,350"),
        (11_656, "11,656"),
        (1_234_567, "1,234,567"),
        (-3, "−3"),
        (86.363636, "86.36"),
        (0.25, "0.25"),
    ],
)
def test_exact__a_count_keeps_every_digit(value: float, spelt: str) -> None:
    assert exact(value) == spelt
    same = Estimate(value, value, value, 6)
    assert number(same, "messages") == f"{spelt} messages (exact)"


def test_number__has_no_figure_that_nobody_printed() -> None:
    """OSU prints 0.01 us: medians of 1.57 and 1.58 have no third decimal."""
    assert number(Estimate(1.57, 1.57, 1.58, 280), "us") == "1.57 us (1.57 to 1.58)"
    assert number(Estimate(1.0, 0.4, 1.0, 26), "τ") == "1.0 τ (0.4 to 1.0)"
    assert number(Estimate(1.0014706, 1.0, 1.0469136, 7), "×") == "1.001× (1.000 to 1.047)"
    assert number(Estimate(15.0, 14.999, 15.0003, 6), "%") == "15.00 % (within 0.01)"


NAMES = ["published", "published-lammps", "vm-hpcg", "vm-lulesh", "figure_of_merit", "Open MPI 4.1.4"]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("vm-hpgc", "vm-hpcg"),
        ("VM_HPCG", "vm-hpcg"),
        ("Figure of merit", "figure_of_merit"),
        ("lulesh", "vm-lulesh"),  # a part of one name alone
        ("openmpi", "Open MPI 4.1.4"),
        ("published-", "published"),  # a part of two names, and like one of them
        ("im", ""),  # too short for a part
        ("gromacs", ""),
    ],
)
def test_nearest__capitals_and_hyphens_do_not_count(word: str, name: str) -> None:
    assert nearest(word, NAMES) == name


def test_nearest__parts_name_nothing_where_much_likeness_is_asked_for() -> None:
    assert nearest("lulesh", ["lulesh-with-26-million-elements"], 0.85) == ""
    assert nearest("mpi library", ["mpi", "cpu"], spellings={"MPI library": "mpi"}) == "mpi"
