"""Measures of tiny tables against values computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from analysis.estimates.groups import level_question, measured
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.ratios import median_of
from analysis.readers import published
from tests.estimates.hand import campaign, repeats

# One run of two ranks; MPI_Recv and MPI_Wait carry again what was sent.
CALLS = [
    {"run": "r00", "call": "MPI_Send", "count": 40, "time": 3.0, "bytes": 4000.0},
    {"run": "r00", "call": "MPI_Allreduce", "count": 20, "time": 5.0, "bytes": 160.0},
    {"run": "r00", "call": "MPI_Recv", "count": 40, "time": 1.0, "bytes": 4000.0},
    {"run": "r00", "call": "MPI_Wait", "count": 100, "time": 1.0, "bytes": 0.0},
    {"run": "r00", "call": "MPI_Comm_rank", "count": 500, "time": 0.0, "bytes": 0.0},
]
MESSAGES = [
    {"run": "r00", "call": "MPI_Send", "size": 64, "count": 30, "time": 1.0},
    {"run": "r00", "call": "MPI_Send", "size": 208, "count": 10, "time": 2.0},
    {"run": "r00", "call": "MPI_Allreduce", "size": 8, "count": 20, "time": 5.0},
    {"run": "r00", "call": "MPI_Recv", "size": 0, "count": 40, "time": 1.0},
    {"run": "r00", "call": "MPI_Wait", "size": 0, "count": 100, "time": 1.0},
]
RANKS = [
    {"run": "r00", "rank": 0, "app_time": 12.0, "mpi_time": 4.0},
    {"run": "r00", "rank": 1, "app_time": 12.0, "mpi_time": 6.0},
]
MATRIX = [
    {"run": "r00", "rank": 0, "peer": 1, "count": 3, "bytes": 600.0},
    {"run": "r00", "rank": 1, "peer": 0, "count": 1, "bytes": 100.0},
    {"run": "r00", "rank": 2, "peer": 0, "count": 1, "bytes": 300.0},
]


def by_hand(name: str, *members: Any, rows: list[dict[str, Any]] | None = None) -> pd.Series:
    here = campaign(
        rows or repeats([12.0], ranks=2), calls=CALLS, messages=MESSAGES, ranks=RANKS, matrix=MATRIX
    )
    return MEASURES[name].compute(here, here.runs, members)


@pytest.mark.parametrize(
    ("name", "members", "expected"),
    [
        ("distinct_calls", (), 5),
        ("count_share", ("MPI_Send",), 20.0),  # 40 of 200, housekeeping left out
        ("count_share", ("MPI_Bcast",), 0.0),
        ("calls_made", ("MPI_Send", "MPI_Recv"), 80),
        ("call_share", ("MPI_Allreduce",), 50.0),
        ("call_time", ("MPI_Allreduce",), 2.5),  # 5 s over two ranks
        ("call_time_ratio", ("MPI_Allreduce", "MPI_Send"), 5 / 3),
        ("message_count", (), 60),
        ("message_count", ("MPI_Send", 0, 64), 30),
        ("message_bytes", (), 30 * 64 + 10 * 208 + 20 * 8),
        ("message_bytes", (65, 1000), 2080),
        ("size_share", (0, 64), 100 * 50 / 60),
        ("size_share", ("MPI_Send", 0, 64), 75.0),
        ("size_share", ("MPI_Send", 0, 63), 0.0),
        ("size_share", ("MPI_Send", "MPI_Allreduce", 64, 208), 100 * 40 / 60),
        ("bytes_per_call", ("MPI_Send",), 100.0),
        ("total_bytes", (), 4160.0),
        ("rank_bytes", (), 2080.0),
        ("first_rank_excess", (), 3.0),  # 600 B against a median of 200
        ("mpi_time", (), 5.0),
        ("compute_time", (), 7.0),
        ("compute_over_mpi", (), 1.4),
    ],
)
def test_measures__of_a_profile(name: str, members: tuple[Any, ...], expected: float) -> None:
    assert by_hand(name, *members).to_dict() == {"r00": pytest.approx(expected)}


def test_measures__a_call_that_was_never_made_has_no_ratio_and_no_mean() -> None:
    assert by_hand("call_time_ratio", "MPI_Send", "MPI_Bcast").empty
    assert by_hand("bytes_per_call", "MPI_Bcast").empty


def test_measures__payload_that_the_tool_did_not_record_is_no_zero() -> None:
    calls = [{**row, "bytes": math.nan} for row in CALLS]
    here = campaign(repeats([12.0], ranks=2), calls=calls)
    assert MEASURES["total_bytes"].compute(here, here.runs, ()).empty
    assert MEASURES["rank_bytes"].compute(here, here.runs, ()).empty


def test_measures__payload_of_an_all_to_all_is_not_that_to_one_other_rank() -> None:
    more = {**CALLS[0], "call": "MPI_Alltoall"}
    here = campaign(repeats([12.0], ranks=2), calls=[*CALLS, more])
    assert MEASURES["total_bytes"].compute(here, here.runs, ()).empty
    assert MEASURES["rank_bytes"].compute(here, here.runs, ()).empty
    assert not MEASURES["bytes_per_call"].compute(here, here.runs, ("MPI_Alltoall",)).empty


def test_measures__the_calls_made_most_often() -> None:
    here = campaign(repeats([12.0], ranks=2), calls=CALLS)
    assert SETS["most_used_calls"](here, here.runs, ("a", "b", "c")) == {
        "r00": {"MPI_Wait", "MPI_Send", "MPI_Recv"}
    }
    assert SETS["most_used_calls"](here, here.runs, ("a",)) == {"r00": {"MPI_Wait"}}


def test_measures__a_time_is_the_applications_own_where_it_prints_one() -> None:
    own = repeats([100.0], figure_of_merit=96.0, figure_of_merit_unit="s")
    rate = repeats([100.0], figure_of_merit=8.8, figure_of_merit_unit="Gflop/s")
    assert by_hand("application_time", rows=[*own, *rate, *repeats([50.0])]).tolist() == [96.0, 100.0, 50.0]


def test_measures__jobs_at_once_add_up_in_a_day() -> None:
    """Two jobs of 960 s and 1080 s at once finish 90 + 80 jobs per day; half a set does not count."""
    rows = [
        *repeats([960.0, 1080.0], concurrent_jobs=2, order=7),
        *repeats([960.0], concurrent_jobs=2, order=8),
        *repeats([864.0, 432.0], order=-1),  # alone, and nobody noted when
        *repeats([960.0, 960.0], concurrent_jobs=2, order=-1),  # at once, but not known with whom
    ]
    assert by_hand("jobs_per_day", rows=rows).to_dict() == {"r00": 170.0, "r03": 100.0, "r04": 200.0}


def test_measures__energy_of_a_job() -> None:
    rows = repeats([1800.0], energy=7.2e6)
    assert by_hand("energy_per_job", rows=rows).to_dict() == {"r00": 2000.0}  # 4 kW for half an hour
    # In 600 s that it was asked for, a faster machine does more: this is no energy of the same job.
    asked = repeats([600.0], energy=7.2e6, target_time=600.0)
    assert by_hand("energy_per_job", rows=asked).isna().all()


def test_measures__a_micro_benchmark_is_read_at_one_size() -> None:
    micro = [
        {"run": "r00", "case": "osu_latency", "size": size, "latency": us}
        for size, us in ((8, 1.2), (16, 1.5))
    ]
    here = campaign(repeats([1.0]), micro=micro)
    assert MEASURES["latency"].compute(here, here.runs, (16,)).to_dict() == {"r00": 1.5}


def test_measures__only_selected_runs_are_measured() -> None:
    here = campaign(repeats([12.0, 12.0], ranks=2), calls=[*CALLS, {**CALLS[0], "run": "r01"}])
    runs = here.runs[here.runs["run"] == "r01"]
    assert MEASURES["distinct_calls"].compute(here, runs, ()).to_dict() == {"r01": 1}


def test_stated_figure__takes_what_stands_as_it_is() -> None:
    head = ",".join(published.COLUMNS)
    cells = dict.fromkeys(published.COLUMNS, "") | {"source": "s", "unit": "1", "metric": "ports"}
    lines = [
        cells | {"figure": "a", "run": "r00", "value": "40"},
        cells | {"figure": "b", "run": "r00", "value": "36", "metric": "other"},
        cells | {"figure": "c", "run": "r01", "value": "41", "qualifier": "about"},
    ]
    text = "\n".join([head, *(",".join(line.values()) for line in lines)]) + "\n"
    here = campaign(repeats([1.0, 1.0]))
    spec = MEASURES["stated_figure"]
    assert spec.compute(here, here.runs, ("ports",)).empty  # a campaign of runs states nothing
    here.tree["figures"] = published.parse(text.encode())
    assert spec.compute(here, here.runs, ("ports",)).to_dict() == {"r00": 40.0}
    assert spec.exact


def test_median_of__a_share_over_two_days_stays_within_its_whole() -> None:
    """Student's interval of 0.9 and 0.7 reaches from 0.16 to 3.9."""
    days = [*pd.to_datetime(["2026-01-01"] * 4 + ["2026-01-02"] * 4)]
    shares, zero = (repeats([0.9] * 4 + [other] * 4, "mpi_fraction", profiler="ipm") for other in (0.7, 0.0))
    here = campaign([row | {"start": day} for row, day in zip(shares, days, strict=True)])
    asked = level_question(here, "mpi_fraction", {"profiler": "ipm"})
    found, _ = median_of("mpi_fraction", measured(asked, here))
    assert (found.value, found.high, found.at(0.99).high) == (pytest.approx(0.8), 1.0, 1.0)
    assert found.low == pytest.approx(0.1608, abs=1e-4)
    # As a percentage, with one day without any: no less than nothing.
    here = campaign([row | {"start": day} for row, day in zip(zero, days, strict=True)])
    asked = level_question(here, "mpi_fraction", {"profiler": "ipm"}, scale=100)
    found, _ = median_of("mpi_fraction", measured(asked, here))
    assert (found.low, found.value, found.high) == (0.0, 45.0, 100.0)


def test_median_of__a_rate_above_the_nominal_peak_is_not_cut_at_it() -> None:
    """Six runs of 104 to 107 Gflop/s on a machine of 100: its clock was above the rated one."""
    rates = [104.0, 105.0, 105.0, 106.0, 106.0, 107.0]
    here = campaign(repeats(rates, "figure_of_merit", peak=100.0, figure_of_merit_unit="Gflop/s"))
    found, _ = median_of("peak_share", measured(level_question(here, "peak_share"), here))
    assert (found.low, found.value, found.high) == (104.0, 105.5, 107.0)
