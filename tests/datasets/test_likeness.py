"""Results that agree to the last digit: by chance in a crowd, else one is a copy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from analysis import readers
from analysis.datasets.witnesses import hearing
from analysis.datasets.witnesses.likeness import equal_figures

# One result of NPB: the time and the rate of a thread follow from the rate.
NPB = """\
 NAS Parallel Benchmarks (NPB3.3-OMP) - BT Benchmark

 BT Benchmark Completed.
 Class           =                        B
 Time in seconds = {seconds:24.2f}
 Total threads   =                       48
 Mop/s total     = {rate:24.2f}
 Mop/s/thread    = {each:24.2f}
 Verification    =               SUCCESSFUL
 Version         =                    3.3.1
"""


def run(name: str, rate: float) -> hearing.Testimony:
    text = NPB.format(seconds=601185.0 / rate, rate=rate, each=rate / 48)
    row = {"run": name, "application": "npb", "evidence": "measured"}
    return hearing.Testimony(row, result=readers.parse(text.encode(), name, engine="npb"))


def copies(rates: Sequence[float]) -> list[str]:
    case = hearing.Hearing(Path(), "x", [run(f"r{at}", rate) for at, rate in enumerate(rates)])
    return [fault.found for fault in equal_figures(case)]


def test_equal_figures__three_numbers_that_follow_from_one_are_equal_by_chance_in_a_crowd() -> None:
    apart = [4858.94, 4790.31, 4901.12, 4858.94]
    assert copies(apart) == ["has to the last digit the figures of run r0"]
    # 200 runs within 4 Mop/s that are printed to 0.01: a pair that is equal is expected.
    crowd = np.random.default_rng(7).uniform(4856, 4860, 200).round(2)
    assert len(crowd) - len(set(crowd)) > 10
    assert copies(crowd) == []


@pytest.mark.parametrize("rates", [[], [4858.94], [4858.94, 4858.95]])
def test_equal_figures__few_runs_say_nothing(rates: list[float]) -> None:
    assert copies(rates) == []
