"""How runs were made in time: what was run in turn keeps its words, what was in blocks is of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.claims.rules import HOLDS
from analysis.decks.content import deck
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.finding import (
    AT_ONCE,
    IN_ORDER,
    LIMITED,
    ONE_AFTER_ANOTHER,
    SAME_FIRST,
    UNKNOWN_ORDER,
    at_once,
    places_in_time,
)
from analysis.estimates.sessions import _one_first, alternate, blocks, times
from analysis.estimates.tables import yearly_costs
from analysis.findings.conclusion import DIFFERS, SESSION, STANDING, UNORDERED
from analysis.findings.search import conclusions
from analysis.pages import cost_sentences
from tests.estimates.hand import campaign, claim, repeats, verdict
from tests.studies import loaded

FAST, SLOW = [100.0, 101.0, 99.0, 100.5, 98.5, 101.5], [80.0, 81.0, 79.0, 80.5, 78.5, 81.5]
TURNS, BLOCKS = range(12), [*range(0, 12, 2), *range(1, 12, 2)]
CLAIM = """quantity: speedup
variable: figure_of_merit
compare: {{ factor: mpi, treatment: a, baseline: b }}
expect: {{ relation: at-least, value: {value} }}
"""


def sides(
    order: Any = None,
    starts: Sequence[str] = ("NaT",) * 12,
    jobs: Sequence[str] = ("",) * 12,
    elapsed: float = np.nan,
) -> Campaign:
    """Make six runs of two libraries, by turns; `order` has their places in time, `starts` their times."""
    rows = [
        row
        for pair in zip(
            repeats(FAST, "figure_of_merit", mpi="a", figure_of_merit_unit="Gflop/s"),
            repeats(SLOW, "figure_of_merit", mpi="b", figure_of_merit_unit="Gflop/s"),
            strict=True,
        )
        for row in pair
    ]
    places = order if order is not None else [-1] * 12
    placed = [
        row
        | {"order": at, "start": np.datetime64(start), "job_id": job, "repeat": 1 + number // 2}
        | {"elapsed": elapsed}
        for number, (row, at, start, job) in enumerate(zip(rows, places, starts, jobs, strict=True))
    ]
    # A run that counts in no statistic keeps `campaign` from making an order.
    return campaign([*placed, *repeats([1.0], valid=False, order=99)])


def block_order() -> list[int]:
    """Put all runs of the first side before those of the other."""
    return [at // 2 if at % 2 == 0 else 6 + at // 2 for at in range(12)]


def test_blocks__of_two_sides_by_hand() -> None:
    codes = np.array([0, 0, 1, 1, 0, 1])
    assert blocks(codes, np.zeros(6)).tolist() == [2, 2]
    assert blocks(codes, np.array([0.0, 1, 1, 1, 1, 1])).tolist() == [3, 2]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([0, 1] * 6, True),
        ([0, 1, 1, 0] * 3, True),
        ([0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0], True),
        ([0] * 6 + [1] * 6, False),
        ([0] * 3 + [1] * 6 + [0] * 3, False),
        ([0] * 3 + [1] * 3 + [0] * 3 + [1] * 3, False),
        ([0] * 20 + [0, 1] * 2 + [1] * 20, False),
    ],
)
def test_alternate__by_the_order_of_the_sides(codes: list[int], *, expected: bool) -> None:
    assert alternate(np.array(codes), np.zeros(len(codes))) is expected


@pytest.mark.parametrize(
    ("order", "value", "word", "why"),
    [
        (TURNS, 1.0, HOLDS, ""),
        (block_order(), 1.0, "in that order of runs only", IN_ORDER),
        (block_order(), 2.0, "direction in that order of runs only, smaller", IN_ORDER),
        (None, 1.0, "agrees, order of runs not known", UNKNOWN_ORDER),
    ],
)
def test_verdict__of_sides_in_blocks_is_of_that_order(
    tmp_path: Path, order: Any, value: float, word: str, why: str
) -> None:
    found = verdict(claim(tmp_path, CLAIM.format(value=value)), sides(order))
    assert found.verdict == word
    assert why in found.reason
    said = LIMITED[why][0] if why else ""
    assert said in found.sentence
    assert "in that session" not in found.sentence  # their times are not known
    assert (found.p is None) == bool(why)


@pytest.mark.parametrize(
    ("clusters", "word"),
    [
        (("here", "there"), "agrees, systems differ"),
        (("here", "here"), "agrees, order of runs not known"),
        (("", ""), "agrees, order of runs not known"),
    ],
)
def test_verdict__of_sides_on_two_clusters_without_an_order(
    tmp_path: Path, clusters: tuple[str, str], word: str
) -> None:
    rows = [
        row
        for mpi, cluster, values in zip("ab", clusters, (FAST, SLOW), strict=True)
        for row in repeats(
            values, "figure_of_merit", mpi=mpi, cluster=cluster, figure_of_merit_unit="Gflop/s"
        )
    ]
    on = campaign([*rows, *repeats([1.0], valid=False, order=99)])
    here, there = (f"{{ cluster: '{one}' }}" for one in clusters)
    each = f"baseline: b, varying: [cluster], where: {{ treatment: {here}, baseline: {there} }}"
    found = verdict(claim(tmp_path, CLAIM.format(value=1.0).replace("baseline: b", each)), on)
    assert found.verdict == word


SWAPPED = [at ^ (at // 2 % 2) for at in TURNS]  # in every other pair the second is first


@pytest.mark.parametrize(
    ("order", "jobs", "word"),
    [
        (TURNS, [str(at // 2) for at in TURNS], "in that order of runs only"),
        (SWAPPED, [str(at // 2) for at in TURNS], HOLDS),
        (TURNS, [str(at) for at in TURNS], HOLDS),
        (TURNS, ["1"] * 12, HOLDS),
        (TURNS, [f"1:{1 + at}" for at in TURNS], "in that order of runs only"),  # each repeat, in one job
        (SWAPPED, [f"1:{1 + at}" for at in SWAPPED], HOLDS),
    ],
)
def test_verdict__of_jobs_that_all_ran_the_same_side_first(
    tmp_path: Path, order: Any, jobs: Sequence[str], word: str
) -> None:
    found = verdict(claim(tmp_path, CLAIM.format(value=1.0)), sides(order, jobs=jobs))
    assert found.verdict == word
    assert (SAME_FIRST in found.reason) == (word != HOLDS)


@pytest.mark.parametrize(
    ("start", "word"),
    [
        # A pair each hour, a quarter of a minute of work and five minutes from one start to the next.
        (lambda at: f"2020-09-10T{8 + at // 2:02d}:{at % 2 * 5:02d}:00", "in that order of runs only"),
        (lambda at: f"2020-09-10T{8 + at // 2:02d}:{SWAPPED[at] % 2 * 5:02d}:00", HOLDS),
        (lambda at: f"2020-09-10T08:{at * 5:02d}:00", HOLDS),  # one after another, without a pause
        (lambda at: f"2020-09-10T{8 + at // 2:02d}:00:00", HOLDS),  # both at once
    ],
)
def test_verdict__of_rounds_that_all_began_with_the_same_side(
    tmp_path: Path, start: Callable[[int], str], word: str
) -> None:
    known = sides(starts=[start(at) for at in TURNS], elapsed=15.0)
    found = verdict(claim(tmp_path, CLAIM.format(value=1.0)), known)
    assert found.verdict == word
    assert (SAME_FIRST in found.reason) == (word != HOLDS)


@pytest.mark.parametrize(
    ("most", "pairs", "one"),
    [(4, 4, True), (5, 6, False), (7, 8, True), (6, 8, False), (10, 12, True), (9, 12, False)],
)
def test_one_first__is_as_seldom_as_four_of_four(most: int, pairs: int, one: bool) -> None:
    """That is 2 / 16; of 8 pairs 7 or more are 18 / 256, of 12 pairs 9 or more 598 / 4096."""
    assert _one_first(pd.Series(["a"] * most + ["b"] * (pairs - most))) == one


@pytest.mark.parametrize(
    ("starts", "word"),
    [
        ([f"2020-09-10T08:00:{at // 2:02d}" for at in TURNS], HOLDS),  # a pair each second
        ([f"2020-09-10T{8 + at % 2:02d}:00:01" for at in TURNS], "in that session only"),
        # On each of two days one side after the other: no single session.
        (
            [f"2020-09-{10 + at // 2 % 2}T{8 + at % 2:02d}:{at // 4:02d}:00" for at in TURNS],
            "in that order of runs only",
        ),
        (["2020-09-10"] * 12, "agrees, order of runs not known"),  # of which only the day is known
    ],
)
def test_verdict__of_runs_that_began_at_once(tmp_path: Path, starts: list[str], word: str) -> None:
    known = sides(starts=starts)
    assert verdict(claim(tmp_path, CLAIM.format(value=1.0)), known).verdict == word


@pytest.mark.parametrize(("elapsed", "why"), [(300, ONE_AFTER_ANOTHER), (1500, AT_ONCE)])
def test_verdict__of_sides_that_ran_at_the_same_time_does_not_say_one_after_the_other(
    tmp_path: Path, elapsed: int, why: str
) -> None:
    """As VASP on ARCHER2: one side begins at 8:00, the other 10 minutes later, and runs take 5 or 25."""
    starts = [f"2020-09-10T08:{10 * (at % 2):02d}:{at // 2:02d}" for at in TURNS]
    found = verdict(claim(tmp_path, CLAIM.format(value=1.0)), sides(starts=starts, elapsed=elapsed))
    assert found.verdict == LIMITED[why][1]
    assert why in found.reason
    assert ("one after the other" in found.sentence) == (why == ONE_AFTER_ANOTHER)


@pytest.mark.parametrize(
    ("starts", "elapsed", "known"),
    [
        (["08:00:00", "08:00:10"], [11.5, 1.0], True),  # 1.5 s of 10 at once
        (["08:00:00", "08:00:10"], [10.9, 1.0], False),  # within the second that a clock leaves open
        (["08:00:00", "08:00:10"], [np.nan, 1.0], False),
        (["00:00:00", "00:00:00"], [90.0, 90.0], False),  # a day alone
        (["08:00:00", "08:00:10", "09:00:00", "10:00:00"], [20.0, 20.0, 5.0, 5.0], True),  # half of them
        (["08:00:00", "08:00:10", "09:00:00", "10:00:00", "11:00:00"], [20.0, 20.0, 5.0, 5.0, 5.0], False),
    ],
)
def test_at_once__by_starts_and_durations(starts: list[str], elapsed: list[float], *, known: bool) -> None:
    start = np.array([f"2020-09-10T{one}" for one in starts], dtype="datetime64[ns]")
    runs = pd.DataFrame({"start": start, "elapsed": elapsed})
    assert at_once(runs, np.arange(len(runs)) % 2) is known
    assert not at_once(runs, np.zeros(len(runs)))


def test_verdict__against_a_claim_is_of_that_order_too(tmp_path: Path) -> None:
    text = CLAIM.format(value=1).replace("treatment: a, baseline: b", "treatment: b, baseline: a")
    assert verdict(claim(tmp_path, text), sides(TURNS)).verdict == "does not hold"
    assert verdict(claim(tmp_path, text), sides(block_order())).verdict == "not in that order of runs"
    assert verdict(claim(tmp_path, text), sides()).verdict == "disagrees, order of runs not known"


def test_findings__of_an_unknown_order_say_so() -> None:
    """Nothing says that the sides were one session: the order is not known, with the same consequences."""
    unknown = sides()
    (one,) = [found for found in conclusions(unknown) if found.question.compare]
    assert one.word == UNORDERED
    assert UNORDERED not in STANDING
    assert ", in runs whose order is not known (" in one.sentence
    assert UNKNOWN_ORDER in one.footnote
    slides = deck(unknown).slides
    assert "No conclusion: what was seen is from runs whose order is not known" in slides[0].bullets
    (seen,) = [slide for slide in slides if slide.kind == "question"]
    assert " ".join([seen.headline, *seen.bullets]) == one.sentence
    assert UNKNOWN_ORDER in seen.footnote
    assert "summary" not in {slide.kind for slide in slides}
    assert "in that session" not in str(slides)


def test_findings__and_slides_of_sides_in_blocks_have_no_full_word() -> None:
    (one,) = [found for found in conclusions(sides(TURNS)) if found.question.compare]
    assert one.word == DIFFERS
    blocked = sides(block_order())
    (other,) = [found for found in conclusions(blocked) if found.question.compare]
    assert other.word == SESSION
    assert SESSION not in STANDING
    numbers = one.sentence[one.sentence.index("(") :]
    said = f"A against b: 1.249 times as fast in app, in that order of runs {numbers}. "
    assert other.sentence.startswith(said)
    assert "These runs cannot tell whether the MPI library or the order is the cause" in other.sentence
    assert IN_ORDER in other.footnote
    slides = deck(blocked).slides
    assert "No conclusion: what was seen is from runs that were not mixed" in slides[0].bullets
    (seen,) = [slide for slide in slides if slide.kind == "question"]
    assert " ".join([seen.headline, *seen.bullets]) == other.sentence
    assert IN_ORDER in seen.footnote
    assert "summary" not in {slide.kind for slide in slides}


@pytest.mark.datasets("vm-hpcg")
def test_findings__of_a_shuffled_campaign_keep_their_words() -> None:
    found = [one for one in conclusions(load_campaign("vm-hpcg")) if one.question.compare]
    assert SESSION not in {one.word for one in found}
    assert len([one for one in found if one.word == DIFFERS]) > 5


# ---- the study's rows, with fewer draws


@pytest.fixture(scope="module")
def study() -> Iterator[ModuleType]:
    with loaded("study_findings") as module:
        yield module


def test_study__no_schedule_gives_more_false_full_words_than_promised(study: ModuleType) -> None:
    """Of 8 campaigns a row, none of which has an effect, 5 % may have one: 3 come once in 200 rows."""
    chosen = [one for one in study.SCHEDULES if one.n <= 6]
    for schedule, full, session in study.parted(chosen, 8, 7):
        assert full * 8 < 3, schedule
        if schedule.order == "turns":
            assert session == 0, schedule
    ignoring = [session for one, _, session in study.parted(chosen[:1], 8, 8)]
    assert ignoring[0] > 0.3  # what would have had a full word


# ---- money


def metered(n: int) -> Campaign:
    rows = []
    for link, joules, seconds in (("fast", 3.6e6, 1000.0), ("slow", 7.2e6, 2000.0)):
        for at in range(n):
            scale = 1 + 0.01 * at
            rows += repeats(
                [seconds * scale], interconnect=link, nodes=2, energy=joules * scale,
                energy_low=joules * scale, energy_high=joules * scale, energy_location="node",
            )  # fmt: skip
    return campaign(rows)


def test_money__is_of_repeats_alone() -> None:
    """1 kWh every 1,000 s at 0.2 a kWh: 31,536 jobs per year, 6,307 a year; of a single run nothing."""
    table = yearly_costs(metered(2), "interconnect", price=0.2)
    assert table["cost_a_year"].iloc[0] == pytest.approx(0.2 * 365 * 86_400 / 1000, rel=0.02)
    assert cost_sentences(table, "interconnect", "slow", "USD")[0].endswith("USD.")
    with pytest.raises(NotCoveredError, match="carry no money"):
        yearly_costs(metered(1), "interconnect", price=0.2)


MONEY = """quantity: cost
variable: energy
compare: { factor: interconnect, treatment: fast, baseline: slow }
tariff: { price: 0.2, jobs_of: slow }
expect: { relation: at-least, value: 1, unit: USD/year }
"""


def test_money__no_verdict_turns_one_run_against_one_into_it(tmp_path: Path) -> None:
    one = verdict(claim(tmp_path, MONEY), metered(1))
    assert (one.verdict, one.estimate) == ("not tested", None)
    assert "a single run carries no money" in one.reason
    assert verdict(claim(tmp_path, MONEY), metered(2)).estimate is not None
    assert not [one for one in conclusions(metered(1)) if "USD" in one.sentence]


def test_places__the_clock_goes_before_the_order_of_execution() -> None:
    start = pd.to_datetime(["2026-11-02 03:00", "2026-11-02 01:00", "2026-11-02 02:00", "2026-11-02 02:00"])
    part = pd.DataFrame({"start": start, "order": [0, 1, 3, 2]})
    assert places_in_time(part).tolist() == [3, 0, 2, 1]


def test_sessions__need_a_pause_and_another_day() -> None:
    begun = [
        "2026-03-01T08:00:00",
        "2026-03-01T20:00:00",  # half a day later, on the same day
        "2026-03-01T23:30:00",
        "2026-03-02T00:30:00",  # an hour later, on the next day
        "2026-03-03T09:00:00",  # more than a day later
    ]
    runs = pd.DataFrame({"application": "hpl", "start": pd.to_datetime(begun), "order": range(5)})
    assert list(times(runs)["session"]) == [0, 0, 0, 0, 1]
