"""How often `benchbook compare` is right, simulated with its own functions on made-up and on real scatter.

`python benchmarks/study_compare.py` prints the tables that docs/compare.md sums up, in about half an hour;
`--rounds` is for less.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.base.words import percent
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.compare import BETTER, WORSE, Difference, compare, difference, judged
from analysis.findings.history import CellHistory, Samples
from analysis.findings.history import judged as stepped
from analysis.schema.factors import FACTORS

SEED = 20_261_122
Array = NDArray[np.float64]
Generator = np.random.Generator


def even(rng: Generator, scatter: float, n: int) -> Array:
    """Draw from a lognormal distribution."""
    return np.exp(rng.normal(0, scatter, n))


def skewed(rng: Generator, scatter: float, n: int) -> Array:
    """Draw from a floor with an exponential tail."""
    return 1 + scatter * rng.exponential(1, n)


def bimodal(rng: Generator, scatter: float, n: int) -> Array:
    """Draw from two modes, five times their widths from each other, with 3 of 10 runs in the upper one."""
    return np.exp(rng.normal(0, scatter / 2.5, n) + 2 * scatter * (rng.random(n) < 0.3))


NOISES: dict[str, Callable[[Generator, float, int], Array]]
NOISES = {"even": even, "skewed": skewed, "bimodal": bimodal}


@dataclass(frozen=True, slots=True)
class Row:
    """What was counted in one setting, of how many."""

    setting: str
    counted: str
    found: int
    of: int

    def __str__(self) -> str:
        return f"| {self.setting} | {self.counted} | {self.found} of {self.of} |"


def frame(values: Array) -> pd.DataFrame:
    """Make runs of unknown days, as one cell has them."""
    names = [f"r{at}" for at in range(len(values))]
    return pd.DataFrame({"run": names, "value": values, "evidence": "measured"})


def made(
    rng: Generator, cells: int, n: int, noise: str, scatter: float, changes: Sequence[float], margin: float
) -> list[Difference]:
    """Compare two campaigns with `n` runs per side and cell; the first cells take `changes` times as long."""
    draw, found = NOISES[noise], []
    for at in range(cells):
        before, after = draw(rng, scatter, n), draw(rng, scatter, n)
        after = after * (changes[at] if at < len(changes) else 1.0)
        found.append(difference(at, "", ("elapsed", -1), frame(before), frame(after), margin))
    return judged(found, margin, 0.05)


def unchanged(rng: Generator, rounds: int, cells: int = 200) -> Iterator[Row]:
    """Two campaigns without a difference: how many have anything worse, with a margin that stops nothing."""
    for noise in NOISES:
        for n in (4, 6, 12):
            hits = sum(
                any(row.word == WORSE for row in made(rng, cells, n, noise, 0.03, (), 1e-4))
                for _ in range(rounds)
            )
            yield Row(
                f"{noise}, {n} runs per side, margin 0.01 %", "campaigns with anything worse", hits, rounds
            )


def planted(rng: Generator, rounds: int, cells: int = 40, changed: int = 4) -> Iterator[Row]:
    """Let some cells take longer: how many are found, and how many others are called so."""
    for scatter in (0.01, 0.03):
        for n in (4, 6):
            for change in (0.03, 0.05, 0.10, 0.20):
                margin = 0.05 if change > 0.05 else 0.02
                hits = wrong = 0
                for noise in NOISES:
                    for _ in range(math.ceil(rounds / len(NOISES))):
                        rows = made(rng, cells, n, noise, scatter, [1 + change] * changed, margin)
                        hits += sum(row.word == WORSE for row in rows if row.cell < changed)
                        wrong += sum(row.word in (WORSE, BETTER) for row in rows if row.cell >= changed)
                name = f"{percent(change)} slower, scatter {percent(scatter)}, {n} runs per side"
                setting = f"{name}, margin {percent(margin)}"
                tried = len(NOISES) * math.ceil(rounds / len(NOISES))
                yield Row(setting, "found", hits, tried * changed)
                yield Row(setting, "others called worse or better", wrong, tried * (cells - changed))


def drawn(campaign: Campaign, rng: Generator, n: int, *, again: bool) -> tuple[Campaign, Campaign]:
    """Draw two campaigns of `n` runs per cell from the cells of a real one.

    A run may be drawn again if `again`; without that, no run is on both sides, and cells of fewer than 2 n
    runs are left out.
    """
    campaign = campaign.ungated()
    runs = campaign.runs[campaign.runs["valid"]]
    chosen: tuple[list[int], list[int]] = ([], [])
    places = pd.Series(np.arange(len(runs)), index=runs.index)
    for _, part in runs.groupby(list(FACTORS), dropna=False):
        rows = places[part.index].to_numpy()
        if again and len(rows) >= 4:
            for side in chosen:
                side += rng.choice(rows, n).tolist()
        elif not again and len(rows) >= 2 * n:
            both = rng.permutation(rows)[: 2 * n].tolist()
            chosen[0].extend(both[:n])
            chosen[1].extend(both[n:])
    return _part(campaign, runs, chosen[0], "a"), _part(campaign, runs, chosen[1], "b")


def _part(campaign: Campaign, runs: pd.DataFrame, rows: Sequence[int], name: str) -> Campaign:
    own = runs.iloc[list(rows)].reset_index(drop=True)
    names = pd.Series([f"{name}{at}" for at in range(len(own))])
    out = replace(campaign, name=name)
    table = campaign.frame("micro")
    renamed = pd.DataFrame({"run": own["run"], "new": names})
    out._frames["micro"] = table.merge(renamed, on="run").drop(columns="run").rename(columns={"new": "run"})
    out._frames["runs"] = own.assign(run=names)
    return out


REAL = (("vm-hpcg", 6, True), ("cloud-study", 6, False), ("cloud-study", 20, False))


def real(rng: Generator, rounds: int) -> Iterator[Row]:
    """Both sides from the same runs of a real campaign; then a tenth of them slowed by what is planted."""
    for name, n, again in REAL:
        campaign = load_campaign(name)
        campaign = replace(campaign, name=name)
        how = f"{name}, {n} a side drawn {'with' if again else 'without'} replacement"
        campaigns = comparisons = failed = 0
        for _ in range(rounds):
            found = compare(*drawn(campaign, rng, n, again=again))
            campaigns += found.worse
            failed += found.counts[WORSE] + found.counts[BETTER]
            comparisons += len(found.rows)
        yield Row(how, "unchanged campaigns with anything worse", campaigns, rounds)
        yield Row(how, "unchanged comparisons called worse or better", failed, comparisons)
        for change in (0.05, 0.10, 0.20):
            yield from _slowed(rng, max(rounds // 4, 1), campaign, n, again=again, change=change, how=how)


def _slowed(
    rng: Generator, rounds: int, campaign: Campaign, n: int, *, again: bool, change: float, how: str
) -> Iterator[Row]:
    """Slow one cell of ten by a share: rates and bandwidths fall, times and latencies grow."""
    hits = of = wrong = others = 0
    for _ in range(rounds):
        before, after = drawn(campaign, rng, n, again=again)
        keys = after.runs[list(FACTORS)].apply(lambda row: str(tuple(row)), axis=1)
        cells = sorted(set(keys))
        slow = set(rng.choice(cells, max(len(cells) // 10, 1), replace=False))
        runs = set(after.runs.loc[keys.isin(slow), "run"])
        for group, columns in (
            ("runs", {"figure_of_merit": -1}),
            ("micro", {"latency": 1, "bandwidth": -1}),
        ):
            table = after._frames[group].copy()
            rows = table["run"].isin(runs)
            for column, sign in columns.items():
                table.loc[rows, column] *= (1 + change) ** sign
            after._frames[group] = table
        for row in compare(before, after).rows:
            if row.measure not in ("figure_of_merit", "latency", "bandwidth"):
                continue
            if runs & set(row.runs):
                hits, of = hits + (row.word == WORSE), of + 1
            else:
                wrong, others = wrong + (row.word in (WORSE, BETTER)), others + 1
    yield Row(how, f"comparisons slowed by {percent(change)} called worse", hits, of)
    yield Row(how, f"others called worse or better, beside {percent(change)}", wrong, others)


def histories(rng: Generator, rounds: int, campaigns: int = 10, cells: int = 40, n: int = 6) -> Iterator[Row]:
    """Ten campaigns without a step, then with one of 10 % in 4 of 40 cells."""
    for noise, draw in NOISES.items():
        for change in (0.0, 0.10):
            steps = hits = near = wrong = 0
            for _ in range(rounds):
                series = []
                for cell in range(cells):
                    parts = [draw(rng, 0.03, n) for _ in range(campaigns)]
                    parts = [part * (1 + change * (cell < 4 and at >= 6)) for at, part in enumerate(parts)]
                    track = CellHistory(str(cell), "elapsed", -1, "s", True, (), ())
                    series.append(Samples(track, tuple(range(campaigns)), tuple(map(frame, parts))))
                tracks = stepped(series, 0.05 if change else 1e-4, 0.05)
                steps += any(track.steps for track in tracks)
                hits += sum(any(step.at == 6 for step in track.steps) for track in tracks[:4])
                near += sum(any(abs(step.at - 6) < 2 for step in track.steps) for track in tracks[:4])
                wrong += sum(bool(track.steps) for track in tracks[4:])
            how = f"{noise}, {campaigns} campaigns of {n} runs, scatter 3 %"
            if not change:
                yield Row(f"{how}, margin 0.01 %", "unchanged histories with a step", steps, rounds)
            else:
                yield Row(how, "steps of 10 % found at their position", hits, 4 * rounds)
                yield Row(how, "found there or one campaign away", near, 4 * rounds)
                yield Row(how, "other series with a step", wrong, (cells - 4) * rounds)


STUDIES = {"unchanged": unchanged, "planted": planted, "real": real, "histories": histories}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("studies", nargs="*", default=list(STUDIES), choices=[*STUDIES, []])
    given = parser.parse_args()
    for name in given.studies or STUDIES:
        print(f"\n{name}\n\n| setting | counted | |\n|---|---|---|")
        for row in STUDIES[name](np.random.default_rng((given.seed, len(name))), given.rounds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
