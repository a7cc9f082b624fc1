"""How often intervals contain the truth and verdicts are false, simulated with the package's own functions.

`python benchmarks/study_statistics.py` rewrites docs/statistics-study.md in about two minutes; `--seed`
and `--rounds` try other draws, `--out -` prints them.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from analysis.claims.model import Claim, Expectation
from analysis.claims.rules import (
    DIRECTION_LARGER,
    DIRECTION_OPEN,
    DIRECTION_SMALLER,
    FAILS,
    HOLDS,
    judge,
    p_value,
)
from analysis.estimates import stats
from analysis.estimates.differences import trend
from analysis.estimates.family import adjusted, extreme
from analysis.estimates.finding import Finding
from analysis.estimates.question import Comparison, Question
from analysis.estimates.stats import Estimate

OUT = Path(__file__).parents[1] / "docs" / "statistics-study.md"
SEED, ROUNDS = 20_260_301, 2_000

Array = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Row:
    """What was counted in one setting: `found` of `rounds`, a share, and what it may be `least` or `most`."""

    setting: str
    counted: str
    found: float
    rounds: int
    least: float | None = None
    most: float | None = None

    @property
    def error(self) -> float:
        """Standard error of a share at the bound, or of the one found where there is none."""
        share = self.found if self.least is None and self.most is None else (self.least or self.most or 0.0)
        return math.sqrt(max(share * (1 - share), 1e-4) / self.rounds)

    @property
    def missed(self) -> float:
        """By how many standard errors the share is on the wrong side of its bound."""
        below = 0.0 if self.least is None else self.least - self.found
        above = 0.0 if self.most is None else self.found - self.most
        return max(below, above, 0.0) / self.error


# --- noise: factors on the true value, whose median is 1 -----------------------------------------


def even(rng: Generator, shape: Sequence[int]) -> Array:
    """Draw from a lognormal distribution, 10 % wide."""
    return np.exp(rng.normal(0, 0.1, shape))


def skewed(rng: Generator, shape: Sequence[int]) -> Array:
    """Draw from a floor with an exponential tail of 20 %, as times of a shared machine have."""
    return (1 + 0.2 * rng.exponential(1, shape)) / (1 + 0.2 * math.log(2))


def bimodal(rng: Generator, shape: Sequence[int]) -> Array:
    """Draw from two modes that differ by 30 %, with 7 runs of 10 in the lower one."""
    high = rng.random(shape) < 0.3
    return np.exp(rng.normal(0, 0.02, shape) + 0.3 * high - _BIMODAL_MIDDLE)


def _middle(low: float) -> float:
    """Return the median of two modes; the lower one has the share `low` of the runs."""

    def below(x: float) -> float:
        return float(low * special.ndtr(x / 0.02) + (1 - low) * special.ndtr((x - 0.3) / 0.02) - 0.5)

    return float(optimize.brentq(below, -0.1, 0.2))


_BIMODAL_MIDDLE, _UNEQUAL_MIDDLE = _middle(0.7), _middle(0.6)

Noise = Callable[[Generator, Sequence[int]], Array]


def unequal(rng: Generator, shape: Sequence[int]) -> Array:
    """Draw from two modes that differ by 30 %, with 6 runs of 10 in the lower one, so near the gap."""
    high = rng.random(shape) < 0.4
    return np.exp(rng.normal(0, 0.02, shape) + 0.3 * high - _UNEQUAL_MIDDLE)


NOISES: dict[str, Noise] = {"even": even, "skewed": skewed, "bimodal": bimodal}


def share(hits: Iterable[bool]) -> float:
    """Return the share of rounds in which something was so."""
    return float(np.mean(list(hits)))


def holds(estimate: Estimate, truth: float) -> bool:
    """Tell whether an interval holds the truth, but for rounding."""
    slack = 1e-12 * abs(truth)
    return estimate.bounded and estimate.low - slack <= truth <= estimate.high + slack


# --- the rules -----------------------------------------------------------------------------------


def medians(rng: Generator, rounds: int, counts: Sequence[int] = (3, 4, 5, 6, 7, 9, 12, 20)) -> Iterator[Row]:
    """Count how often the interval of a median holds it."""
    for name, noise in NOISES.items():
        for n in counts:
            found = [stats.median(x) for x in noise(rng, (rounds, n))]
            yield _covered(f"{name}, n = {n}", found, 1.0)


def ratios(rng: Generator, rounds: int, counts: Sequence[int] = (3, 4, 5, 6, 7, 9, 12, 20)) -> Iterator[Row]:
    """Count how often the interval of a ratio holds it, both sides alike or one without scatter."""
    for name, noise in NOISES.items():
        for n in counts:
            sides = zip(noise(rng, (rounds, n)), noise(rng, (rounds, n)), strict=True)
            yield _covered(f"{name}, n = {n} and {n}", [stats.ratio_of_medians(x, y) for x, y in sides], 1.0)
    for name, noise in (("skewed", skewed), ("bimodal 6:4", unequal)):
        for n in counts:
            found = [stats.ratio_of_medians(x, np.ones(n)) for x in noise(rng, (rounds, n))]
            yield _covered(f"{name} and no scatter, n = {n} and {n}", found, 1.0)
    for n, m in ((3, 10), (6, 20)):
        sides = zip(skewed(rng, (rounds, n)), bimodal(rng, (rounds, m)), strict=True)
        found = [stats.ratio_of_medians(x, y) for x, y in sides]
        yield _covered(f"skewed and bimodal, n = {n} and {m}", found, 1.0)


def _covered(setting: str, found: Sequence[Estimate], truth: float) -> Row:
    return Row(
        setting, "contains the truth", share(holds(one, truth) for one in found), len(found), found[0].level
    )


def equality(rng: Generator, rounds: int, counts: Sequence[int] = (6, 10, 20)) -> Iterator[Row]:
    """Count words of "equal within 5 %", for sides just that far apart and for equal ones; scatter 2 %."""
    claim = _claim("equality", "equal", tolerance=0.05)
    for truth, counted, most in ((1.05, "holds although not equal", 0.05), (1.0, "holds", None)):
        for n in counts:
            x = truth * even(rng, (rounds, n)) ** 0.2
            y = even(rng, (rounds, n)) ** 0.2
            words = [_equal(claim, *pair) for pair in zip(x, y, strict=True)]
            yield Row(
                f"true ratio {truth:g}, n = {n} and {n}",
                counted,
                share(word == "holds" for word in words),
                rounds,
                most=most,
            )
    for n in counts:
        x = np.where(rng.random((rounds, n)) < 0.3, 0.2, 1.0) * even(rng, (rounds, n)) ** 0.02
        words = [_equal(claim, one, np.ones(n)) for one in x]
        found = share(word == "does not hold" for word in words)
        yield Row(
            f"3 runs of 10 at a fifth, equal medians, n = {n}", "does not hold", found, rounds, most=0.05
        )


def _equal(claim: Claim, x: Array, y: Array) -> str:
    test = stats.equivalence(x, y, claim.question.margin)
    return judge(claim, Finding(stats.ratio_of_medians(x, y), "", "", ("r",), equivalence=test))[0]


def trends(
    rng: Generator, rounds: int, shapes: Sequence[tuple[int, int]] = ((3, 2), (4, 3))
) -> Iterator[Row]:
    """Count words of "rising" where the levels make no difference, and where each adds 10 %."""
    claim = _claim("trend", "rising")
    for levels, repeats in shapes:
        few = rounds if levels * repeats < 10 else max(rounds // 5, 1)
        for name, noise in NOISES.items():
            words = [_trend(claim, levels, x) for x in noise(rng, (few, levels * repeats))]
            found = share(word in ("holds", "does not hold") for word in words)
            setting = f"{name}, {levels} levels of {repeats} runs"
            yield Row(f"{setting}, no trend", "a trend, either way", found, few, most=0.05)
        rise = np.repeat(1.1 ** np.arange(levels), repeats)
        words = [_trend(claim, levels, x * rise) for x in even(rng, (few, levels * repeats))]
        yield Row(
            f"even, {levels} levels of {repeats} runs, +10 % each", "holds", _share(words, "holds"), few
        )

    for levels, count in ((3, 2), (3, 3), (4, 2), (4, 3)):
        few, setting = max(rounds // 5, 1), f"even, {levels} levels of 4 runs on each of {count} days"
        level, day = (np.repeat(one.ravel(), 4) for one in np.mgrid[:levels, :count])
        for rise, name in ((0.0, "no trend, each with its own day effect of 30 %"), (0.1, "+10 % each")):
            own = rng.normal(0, 0.0 if rise else 0.3, (few, levels, count))
            runs = even(rng, (few, len(level))) * np.exp(rise * level + own[:, level, day])
            words = [_trend(claim, levels, x, day) for x in runs]
            if rise:
                yield Row(f"{setting}, {name}", "holds", _share(words, "holds"), few)
            else:
                found = share(word in ("holds", "does not hold") for word in words)
                yield Row(f"{setting}, {name}", "a trend, either way", found, few, most=0.05)


def _trend(claim: Claim, levels: int, values: Array, days: ArrayLike | None = None) -> str:
    found, chance = trend(np.repeat(np.arange(levels), len(values) // levels), values, days)
    return judge(claim, Finding(found, "", "", ("r",), chance=chance))[0]


def extremes(rng: Generator, rounds: int, counts: Sequence[int] = (1, 2, 3, 4, 6, 8)) -> Iterator[Row]:
    """Count how often "up to" holds the largest of k true ratios or medians."""
    for name, truths in (("equal", lambda k: np.ones(k)), ("10 % steps", lambda k: 1.1 ** np.arange(k))):
        for n in (6, 10):
            for k in counts:
                found = []
                naive = []
                for _ in range(rounds):
                    pairs = [(t * skewed(rng, (n,)), skewed(rng, (n,))) for t in truths(k)]
                    strata = [stats.ratio_of_medians(x, y) for x, y in pairs]
                    found.append(extreme(strata, 1.0))
                    naive.append(max(strata, key=lambda one: one.value))
                most = float(truths(k).max())
                setting = f"skewed, {_strata(k)} {name}, n = {n} and {n}"
                yield _covered(setting, found, most)
                if k > 1:
                    alone = share(holds(one, most) for one in naive)
                    yield Row(setting, "(the interval of the largest alone)", alone, rounds)
    for k in counts:
        found = [extreme([stats.median(x) for x in skewed(rng, (k, 6))], 1.0) for _ in range(rounds)]
        yield _covered(f"skewed, {_strata(k)} of medians, n = 6", found, 1.0)


def _strata(k: int) -> str:
    return "1 stratum" if k == 1 else f"{k} strata"


SHOWN = (HOLDS, DIRECTION_SMALLER, DIRECTION_OPEN, DIRECTION_LARGER)


def directions(rng: Generator, rounds: int, counts: Sequence[int] = (6, 10, 20)) -> Iterator[Row]:
    """Count words of "about 20 % more", tolerance 10 % of it, for other true gains; scatter of 3 %."""
    claim = _claim("gain", "about", value=20.0, tolerance=0.1)
    for gain in (0.0, 5.0, 20.0, 40.0):
        for n in counts:
            x = (1 + gain / 100) * even(rng, (rounds, n)) ** 0.3
            y = even(rng, (rounds, n)) ** 0.3
            words = [_gained(claim, *pair) for pair in zip(x, y, strict=True)]
            yield from _directions(f"true gain {gain:g} %, n = {n} and {n}", gain, words)


def _directions(setting: str, gain: float, words: Sequence[str]) -> Iterator[Row]:
    """Count each word, and those that are false for the true gain."""
    false = {
        0.0: SHOWN,
        5.0: (HOLDS, DIRECTION_OPEN, DIRECTION_LARGER),
        20.0: (DIRECTION_SMALLER, DIRECTION_LARGER, FAILS),
        40.0: (HOLDS, DIRECTION_SMALLER, FAILS),
    }[gain]
    yield Row(setting, "a false word", share(word in false for word in words), len(words), most=0.05)
    for word in SHOWN:
        if any(one == word for one in words):
            yield Row(setting, word, _share(words, word), len(words))


def _gained(claim: Claim, x: Array, y: Array) -> str:
    found = stats.ratio_of_medians(x, y).transformed(lambda ratio: 100 * (ratio - 1))
    return judge(claim, Finding(found, "", "", ("r",)))[0]


OWN = "a ratio, days shared, each side with its own day effect"
STRONG = f"{OWN} of 40 %"


def days(rng: Generator, rounds: int, counts: Sequence[int] = (1, 2, 3, 4, 5, 6, 10)) -> Iterator[Row]:
    """Count hits where the day does as much as the scatter of runs, 10 %; 12 runs per side."""
    for count in counts:
        day = np.arange(12) * count // 12
        for name in ("a median", "a ratio, days shared", OWN, STRONG):
            with_days, without = [], []
            for _ in range(rounds):
                effects = np.exp(rng.normal(0, 0.1, (3, count)))
                own = effects[1:] ** {OWN: 1, STRONG: 4}.get(name, 0)
                x, y = (even(rng, (12,)) * (effects[0] * side)[day] for side in own)
                if name == "a median":
                    with_days.append(stats.median(x, day))
                    without.append(stats.median(x))
                else:
                    with_days.append(stats.ratio_of_medians(x, y, (day, day)))
                    without.append(stats.ratio_of_medians(x, y))
            setting = f"{name}, {count} day{'s' if count > 1 else ''}"
            least = _between(count) if name != "a ratio, days shared" else with_days[0].level
            yield Row(setting, "contains the truth of any day", _held(with_days), rounds, least=least)
            yield Row(setting, "(ignoring the days)", _held(without), rounds)
    for count in counts[1:]:
        day = np.arange(12) * count // 12
        found = []
        for _ in range(rounds):
            x, y = (even(rng, (12,)) * np.exp(rng.normal(0, 0.1, count))[day] for _ in range(2))
            found.append(stats.ratio_of_medians(x, y, (day, day + count)))
        setting = f"a ratio, {count} days for each side, none shared"
        yield Row(setting, "contains the truth of any day", _held(found), rounds, least=found[0].level)
    yield from overlaps(rng, rounds)


def overlaps(rng: Generator, rounds: int) -> Iterator[Row]:
    """Count sides that are alike and look clearly unlike, where each has days that the other has not."""
    for count, shared in ((2, 1), (3, 1), (3, 2), (4, 1), (4, 2)):
        first, day, clear = count - shared, np.repeat(np.arange(count), 8), []
        for own in (0.0, 0.2):
            for _ in range(rounds):
                effect = rng.normal(0, 0.2, 2 * count)
                x, y = (
                    even(rng, (len(day),)) * np.exp((effect + rng.normal(0, own, 2 * count))[day + start])
                    for start in (0, first)
                )
                found = stats.ratio_of_medians(x, y, (day, day + first))
                clear.append(found.settles and not found.low <= 1 <= found.high)
        setting = f"a ratio, {count} days for each side, {shared} shared, day effects of 20 %"
        yield Row(setting, "a difference, either way", share(clear), len(clear), most=0.05)


def _between(count: int) -> float:
    """Return what an interval over some days says to cover of any day, whose effect is normal."""
    return 0.95 if count > 1 else 0.0


def _held(found: Sequence[Estimate]) -> float:
    return share(holds(one, 1.0) for one in found)


def discoveries(rng: Generator, rounds: int, tested: int = 30) -> Iterator[Row]:
    """Count false verdicts on a page of 30 claims "faster", some of which are true by 20 %."""
    claim = _claim("speedup", "at-least", value=1.0)
    pages = max(rounds // 20, 10)
    for true in (0, 5, 15):
        plain, kept, any_plain = [], [], []
        for _ in range(pages):
            gains = np.where(np.arange(tested) < true, 1.2, 1.0)
            sides = zip(gains[:, None] * even(rng, (tested, 9)), even(rng, (tested, 9)), strict=True)
            found = [Finding(stats.ratio_of_medians(x, y), "", "", ("r",)) for x, y in sides]
            words = [judge(claim, one)[0] for one in found]
            p = [p_value(claim, one, word) or 1.0 for one, word in zip(found, words, strict=True)]
            p = [1.0 if word == "does not hold" else one for one, word in zip(p, words, strict=True)]
            stands = [q <= 0.05 for q in adjusted(p)]
            claimed = [word == "holds" for word in words]
            plain.append(_false(claimed, true))
            any_plain.append(any(claimed[true:]))
            kept.append(_false([a and b for a, b in zip(claimed, stands, strict=True)], true))
        setting = f"{tested} claims, {true} true"
        yield Row(setting, "false among those that pass", float(np.mean(kept)), pages, most=0.05)
        yield Row(setting, "(false among all that hold)", float(np.mean(plain)), pages)
        yield Row(setting, "(pages with a false one)", share(any_plain), pages)


def _false(claimed: Sequence[bool], true: int) -> float:
    return sum(claimed[true:]) / max(sum(claimed), 1)


def _share(words: Sequence[str], word: str) -> float:
    return share(one == word for one in words)


def _claim(quantity: str, relation: str, **expect: float) -> Claim:
    expected = Expectation.model_validate({"relation": relation, **expect})
    question = Question(quantity, compare=Comparison("mpi", ("a", "b")))
    if quantity == "equality":
        question = replace(question, margin=expected.tolerance)
    return Claim("study", "study", "study", "study", question, expected)


# --- the page ------------------------------------------------------------------------------------

Rule = Callable[[Generator, int], Iterator[Row]]
RULES: dict[str, tuple[str, Rule]] = {
    "Medians": (
        "The interval of a median comes from order statistics. With fewer than six repeats it is the range "
        "of the values.",
        medians,
    ),
    "Ratios of medians": (
        "With six repeats or more, the interval of a ratio combines the intervals of both medians by "
        "squares, on logarithms. With fewer, it divides the ends of the two ranges: the least by the "
        "greatest, and the greatest by the least.",
        ratios,
    ),
    "Equality": (
        "Two sides are equal if both one-sided rank tests pass at 5 % and the whole interval of the ratio is "
        "within 5 % of 1. The noise is even, 2 % wide.",
        equality,
    ),
    "Trends": (
        "There is a trend if a permutation test passes at 5 % and the interval excludes no trend. Over "
        "several days the medians of each level and day are permuted within the day.",
        trends,
    ),
    "The largest of several values": (
        'A claim of "up to" is about the largest of several values. The lower end of its interval is the '
        "largest of lower ends that hold for all strata at once. The upper end is the largest of the upper "
        "ends, each at its own level.",
        extremes,
    ),
    "Holds in direction": (
        "The claim is a gain of 18 to 22 %. A *false word* is a verdict that contradicts the true gain. The "
        "noise is even, 3 % wide.",
        directions,
    ),
    "Days": (
        "Runs scatter by 10 % within a day, and days scatter as much. If all runs have the same day, the "
        "interval does not cover the difference between days. With two to five days it includes Student's "
        "interval of the days' values, which takes the effects of days to be normal. The last rows have "
        "sides that share some of their days; in half of the rounds each side has day effects of its own.",
        days,
    ),
    "False discoveries": (
        "The procedure of Benjamini and Hochberg is applied to all claims of a page, at 5 %. The noise is "
        "even.",
        discoveries,
    ),
}

HEAD = """\
# A study of the statistics

This study simulates campaigns whose true values are known. It calls the functions that make the verdicts, \
and counts how often an interval contains the true value and how often a verdict is false.

The noise is *even* (lognormal, 10 % wide), *skewed* (a least time plus an exponential tail of 20 %) or \
*bimodal* (two modes that differ by 30 %). The *bound* is what the package promises: an interval contains \
the truth at least as often as its level says, and a test is false at most as often as its level says. Rows \
in brackets show another rule, for comparison.

If a row counts {rounds} rounds, the standard error of a share near 95 % is {error:.1f} %. Of {bounds} \
bounds, {far} are missed by more than two standard errors; the largest miss is {most:.1f}. A true share that \
is exactly at its bound would miss it by more than two in 2 of 100 cases.

`python benchmarks/study_statistics.py` makes this page. A test repeats a part of the study with other draws.
"""


def page(seed: int, rounds: int) -> str:
    """Simulate every rule and put what was counted into a page."""
    text, bounds = "", []
    for number, (title, (what, rule)) in enumerate(RULES.items()):
        rows = list(rule(np.random.default_rng([seed, number]), rounds))
        print(f"{title}: {len(rows)} settings", file=sys.stderr)
        bounds += [row for row in rows if row.least is not None or row.most is not None]
        text += f"\n## {title}\n\n{what}\n\n| setting | counted | share | bound |\n|---|---|---|---|\n"
        text += "".join(
            f"| {row.setting} | {row.counted} | {100 * row.found:.1f} % | {_bound(row)} |\n" for row in rows
        )
    far = [row for row in bounds if row.missed > 2]
    head = HEAD.format(
        rounds=f"{rounds:,}",
        error=100 * math.sqrt(0.05 * 0.95 / rounds),
        bounds=len(bounds),
        far=len(far),
        most=max(row.missed for row in bounds),
    )
    return head + text


def _bound(row: Row) -> str:
    if row.least is not None:
        return f"at least {100 * row.least:.1f} %"
    return f"at most {100 * row.most:.1f} %" if row.most is not None else ""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", default=str(OUT))
    given = parser.parse_args()
    text = page(given.seed, given.rounds)
    if given.out == "-":
        print(text)
    else:
        Path(given.out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
