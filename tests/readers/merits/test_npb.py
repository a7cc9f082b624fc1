"""NAS Parallel Benchmarks: a figure whose line holds more than its number."""

from __future__ import annotations

import pytest

from analysis import readers

from .apps import NPB


@pytest.mark.parametrize(
    "label",
    ["Mop/s total     =", "Mop/s/process   =", "Time in seconds ="],
    ids=lambda label: label.split()[0],
)
def test_npb__second_number_in_a_row_is_named(label: str) -> None:
    text = NPB
    start = text.index(label) + len(label)
    damaged = f"{text[: start + 6]}0{text[start + 7 :]}"
    line = text[:start].count("\n") + 1
    ds = readers.parse(damaged.encode(), "f", engine="npb")
    assert any(f"f:{line}: " in warning for warning in ds.attrs["warnings"]), ds.attrs["warnings"]
    assert not readers.parse(NPB.encode(), "f", engine="npb").attrs["warnings"]


# NPB 3.3-MZ on two nodes, as its processes with OpenMP print it, and its serial form.
HYBRID = """\


 NAS Parallel Benchmarks (NPB3.3-MZ-MPI) - BT-MZ MPI+OpenMP Benchmark

 Number of zones:   8 x   8
 Iterations: 200    dt:   0.000300
 Number of active processes:     {processes}

 Use the default load factors with threads
 Total number of threads:     48  ( 24.0 threads/process)

 Verification Successful


 BT-MZ Benchmark Completed.
 Class           =                        B
 Size            =            304x  208x 17
 Iterations      =                      200
 Time in seconds =                   123.73
 Total processes =                        {processes}
 Total threads   =                       48
 Mop/s total     =                  {total}
 Mop/s/thread    =                   {each}
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                    3.3.1
 Compile date    =              18 Apr 2020
"""
SERIAL = """\


 NAS Parallel Benchmarks (NPB3.3-MZ-SER) - LU-MZ Serial Benchmark

 Number of zones:   4 x   4
 Iterations: 250    dt:   2.000000


 LU-MZ Benchmark Completed.
 Class           =                        B
 Size            =            304x  208x 17
 Iterations      =                      250
 Time in seconds =                  1340.49
 Mop/s total     =                   334.89
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                    3.3.1
 Compile date    =              12 Apr 2020
"""


@pytest.mark.parametrize(("processes", "threads"), [(2, 24), (4, 12), (5, -1)])
def test_npb__threads_of_a_hybrid_are_those_of_a_rank(processes: int, threads: int) -> None:
    text = HYBRID.format(processes=processes, total="4858.94", each="101.23")
    ds = readers.parse(text.encode(), "f", engine="npb")
    assert (int(ds["ranks"]), int(ds["threads"])) == (processes, threads)
    assert ds.attrs["problem_identity"] == "benchmark=BT-MZ class=B"
    assert not ds.attrs["warnings"]
    damaged = HYBRID.format(processes=processes, total="4858.94", each="109.23")
    warned = readers.parse(damaged.encode(), "f", engine="npb").attrs["warnings"]
    assert "contradict each other" in str(warned)


def test_npb__serial_program_has_one_rank_and_thread() -> None:
    ds = readers.parse(SERIAL.encode(), "f", engine="npb")
    assert (int(ds["ranks"]), int(ds["threads"])) == (1, 1)
    assert ds.attrs["problem_identity"] == "benchmark=LU-MZ class=B"


def test_npb__each_result_of_a_file_has_its_own_workers() -> None:
    banner = " NAS Parallel Benchmarks (NPB3.3-MZ-OMP) - SP-MZ OpenMP Benchmark\n"
    result = (
        " SP-MZ Benchmark Completed.\n Class           =                        B\n"
        " Time in seconds =                    10.00\n Total threads   =                        {}\n"
        " Mop/s total     =                  {:.2f}\n Mop/s/thread    =                   100.00\n"
        " Verification    =               SUCCESSFUL\n Version         =                    3.3.1\n"
    )
    text = "".join(banner + result.format(threads, 100.0 * threads) for threads in (2, 4))
    assert readers.parse(text.encode(), "f", engine="npb").attrs["complete"]
    wrong = text.replace("400.00", "200.00")  # what two threads would make
    warned = str(readers.parse(wrong.encode(), "f", engine="npb").attrs["warnings"])
    assert "f:16: Mop/s total 200.00" in warned
