"""The model beside what was seen: exchanges and patterns on shaped links, HPCG there, published curves.

Nothing that is compared here has given the model a range: of a link of a machine the exchange of 8 B and of
64 KiB on the open one are taken, all else is predicted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.base import models
from analysis.base.models import Model
from analysis.estimates.campaign import Campaign
from analysis.model.draws import Array, Draws, draw
from analysis.model.inputs import FOLDER, Inputs, Range, Structure, load
from analysis.model.network import Network
from analysis.model.patterns import Exchanged, Pattern, Reduced, of_grid, of_structure
from analysis.pages.figures.style import HUES

DRAWS, SEED = 500, 1
OPEN = "veth-open"
# Rate in B/s, heads counted, and bucket in B of tbf at each end of a link.
BUCKETS = {"veth-1gbit": (1.25e8, 262144.0), "veth-10gbit": (1.25e9, 1048576.0)}
COUNTS = {2: 1000, 26: 500}  # exchanges asked for; of large messages src/proxy makes fewer, in ten batches
HEADER = 90.0  # B: Ethernet, IP and TCP with time stamps, and what Open MPI writes before a message
FLOPS = 290.0  # of HPCG for a point in an iteration
CELLS = 2_995_200  # of the OpenFOAM mesh "channel 3M"
SIZES = 65536  # B: up to here exchanges are compared; beyond, the load of the machine is


_Row = tuple[str, str, float, float, float]


class Further(Model):
    """``config/model/validation.yaml``: ranges of the applications with published curves."""

    ranges: dict[str, Range]


def further(base: Path, inputs: Inputs) -> Inputs:
    """Return the inputs with what only the validation needs."""
    found = models.load(Further, base / FOLDER / "validation.yaml")
    return replace(inputs, ranges={**inputs.ranges, **found.ranges})


def token_bucket(
    seconds: float, sent: float, rate: float, *, burst: float = 0.0, steps: float = np.inf
) -> float:
    """Return the s of one of `steps` equal steps through a token bucket of `burst` B filled at `rate` B/s.

    A step takes `seconds` at full speed and sends `sent` B. Until all that was sent exceeds what the bucket
    held and got, the steps run at full speed, then at the rate.
    """
    return max(seconds, (sent - burst / steps) / rate)


def fitted(times: pd.DataFrame) -> Network:
    """Take the open link from exchanges over it: `times` in s as `least` gives them."""
    times = times.loc[:, [OPEN]].droplevel(0, axis=1)
    few, many = int(min(times.columns)), int(max(times.columns))
    seen: dict[Any, dict[Any, float]] = times.to_dict()
    small = min(seen[few])
    own = (seen[many][small] - seen[few][small]) / (many - few)
    latency = max(seen[few][small] - few * own, 0.0)
    bandwidth = few * SIZES / (seen[few][SIZES] - latency)
    one = np.ones(1)
    return Network(own * one, 0 * one, bandwidth * one, latency * one, HEADER, 0 * one, np.inf * one)


def exchanges(campaign: Campaign) -> pd.DataFrame:
    """Predict every measured exchange: columns ``what link size predicted seen error``, in us."""
    seen = least(campaign)
    network = fitted(seen)
    rows = []
    cells: dict[Any, dict[Any, float]] = seen.to_dict()
    for (link, partners), column in cells.items():
        for size, value in column.items():
            sent = Exchanged(1.0, partners, partners * size, partners, partners * size, 0.0, 0.0)
            open_time = float(network.step(Pattern((sent,)), 2, 1)[0])
            batch = COUNTS[partners] // (1 + size * partners // 65536) // 10 + 1
            # The first batch after one to warm up is the least where the bucket still has something.
            found = _shaped(link, open_time, partners * (size + HEADER), 2 * batch)
            rows.append((f"{partners} messages each way", link, size, 1e6 * found, 1e6 * value))
    return _with_error(rows)


def least(campaign: Campaign) -> pd.DataFrame:
    """Return the least time of an exchange in s: rows by size, columns by link and messages each way."""
    runs = campaign.runs[campaign.runs["valid"]]
    table = campaign.frame("micro").merge(runs[["run", "interconnect"]], on="run")
    table["partners"] = table["case"].str.removeprefix("exchange-").astype(int)
    table = table[table["size"] <= SIZES]
    by = ["size", "interconnect", "partners"]
    found = table.groupby(by)["latency_least"].min().unstack(["interconnect", "partners"])
    return found.sort_index(axis=1) / 1e6


def patterns(campaign: Campaign) -> pd.DataFrame:
    """Predict the proxy's halo of 64 KiB and its reduction of 8 B on every link, us for a step."""
    network = fitted(least(campaign))
    runs = campaign.runs[campaign.runs["valid"] & (campaign.runs["question"] == "pattern")]
    steps = {"halo": 1000, "allreduce": 5000}
    seen: dict[Any, float] = runs.groupby(["case", "interconnect"])["figure_of_merit"].min().to_dict()
    alone = seen["halo", "shared-memory"] / steps["halo"]
    size = 65536.0
    sent = {"halo": 2 * (size + HEADER), "allreduce": 8 + HEADER}
    pattern = {
        "halo": Pattern((Exchanged(1.0, 2.0, 2 * size, 2.0, 2 * size, 0.0, 0.0),)),
        "allreduce": Pattern(reduced=(Reduced(1.0, 8.0),)),
    }
    rows = []
    for (case, link), value in seen.items():
        if link == "shared-memory":
            continue
        own = float(network.step(pattern[case], 2, 1)[0]) + (alone if case == "halo" else 0.0)
        found = _shaped(link, own, sent[case])
        rows.append((case, link, size if case == "halo" else 8, 1e6 * found, 1e6 * value / steps[case]))
    return _with_error(rows)


def hpcg(campaign: Campaign, exchanged: Campaign) -> pd.DataFrame:
    """Predict HPCG with 16 cubed on two nodes of a rank each, us for an iteration.

    The work is that of two ranks in a node; the link's times are those of `exchanged`, another machine's.
    """
    runs = campaign.runs
    runs = runs[runs["valid"] & (runs["application"] == "hpcg") & (runs["case"] == "nx16")]
    runs = runs[(runs["build"] == "-O3") & (runs["profiler"] == "none") & (runs["mpi"] == "Open MPI 4.1.4")]
    by = runs[runs["ranks"] == 2].groupby(["question", "interconnect"])["figure_of_merit"].median()
    rate: dict[Any, float] = by.to_dict()
    flop = 2 * FLOPS * 16**3
    work = flop / rate["problem-size", "shared-memory"] / 1e9
    pattern = of_grid(16, 2, 1)
    messages = float(fitted(least(exchanged)).step(pattern, 2, 1)[0])
    sent = sum(float(one.times * (one.node_payload + HEADER)) for one in pattern.exchanged)
    rows = [
        ("HPCG 16³", link, 0, 1e6 * _shaped(link, work + messages, sent), 1e6 * flop / value / 1e9)
        for (question, link), value in rate.items()
        if question == "interconnect"
    ]
    return _with_error(rows)


def venus(campaign: Campaign, inputs: Inputs) -> pd.DataFrame:
    """Predict how the rating of HPCG with 104 cubed grows with the nodes of Venus, 8 ranks each, over QDR."""
    runs = campaign.runs
    runs = runs[(runs["application"] == "hpcg") & (runs["cluster"] == "venus") & (runs["case"] == "104³")]
    rate: dict[Any, float] = runs.groupby(["mpi", "nodes"])["figure_of_merit"].median().to_dict()
    draws = drawn(inputs)
    network = Network.drawn(inputs, draws, "ib-qdr")
    rows = []
    for library, members in itertools.groupby(sorted(rate), key=lambda one: one[0]):
        for low, high in itertools.pairwise(nodes for _, nodes in members):
            flop = low * 8 * FLOPS * 104**3 / 1e9
            first = network.step(of_grid(104, low, 8), low, 8)
            second = network.step(of_grid(104, high, 8), high, 8)
            before = flop / rate[library, low]
            ratio = high / low * before / (before - first + second)
            what = f"HPCG 104³, {low} to {high} nodes, {library}"
            rows.append(
                (what, "ib-qdr", 0, float(np.median(ratio)), rate[library, high] / rate[library, low])
            )
    return _with_error(rows)


SYSTEMS = {
    "FOCUS A (QDR)": "ib-qdr", "FOCUS C (1GbE)": "1gbe", "AWS c4.8xlarge (10GbE)": "10gbe",
    "FOCUS D (FDR)": "ib-fdr",
}  # fmt: skip


def openfoam(campaign: Campaign, inputs: Inputs) -> pd.DataFrame:
    """Predict OpenFOAM with PCG by nodes from its time on one: how many times as fast, and link over link.

    The two systems with the same processor, one with QDR and one with 1GbE, give the ratio of links; the
    other rows hold the model against curves in which caches take part, which it does not know.
    """
    runs = campaign.runs
    runs = runs[(runs["case"] == "channel 3M PCG") & runs["cluster"].isin(list(SYSTEMS))]
    by = runs.groupby(["cluster", "nodes", "ranks"])["figure_of_merit"].median()
    seen: dict[Any, float] = by.to_dict()
    first = {cluster: (ranks, value) for (cluster, nodes, ranks), value in seen.items() if nodes == 1}
    draws = drawn(inputs)
    steps: dict[tuple[str, int], tuple[Array, float]] = {}
    for (cluster, nodes, ranks), value in seen.items():
        found = _cells(inputs, draws, SYSTEMS[cluster], *first[cluster], nodes, ranks)
        steps[cluster, nodes] = (found, value)
    return _with_error([*_speedups(steps), *_links(steps)])


def _cells(inputs: Inputs, draws: Draws, link: str, each: int, first: float, nodes: int, ranks: int) -> Array:
    """Predict the s of a step of OpenFOAM: the work of one node shared, and each iteration's messages."""
    iterations = first / (draws["cost.openfoam"] * CELLS / each)
    messages: Array = np.zeros(len(draws))
    if nodes > 1:
        pattern = of_structure(_PCG, draws, CELLS, nodes, each)
        messages = iterations * Network.drawn(inputs, draws, link).step(pattern, nodes, each)
    found: Array = first * each / ranks + messages
    return found


_PCG = Structure.model_validate(
    {
        "exchange": {
            "partners": "partners.openfoam",
            "rounds": "rounds.openfoam",
            "bytes_per_surface": "surface.openfoam",
        },
        "allreduce": {"count": "reductions.openfoam", "bytes": "reduced.openfoam"},
    }
)
_Steps = Mapping[tuple[str, int], tuple[Array, float]]


def _speedups(steps: _Steps) -> Iterator[_Row]:
    for (cluster, nodes), (found, value) in steps.items():
        if nodes == 1:
            continue
        first = steps[cluster, 1][1]
        link = SYSTEMS[cluster]
        what = f"OpenFOAM, {cluster}, 1 to {nodes} nodes"
        yield what, link, nodes, float(np.median(first / found)), first / value


def _links(steps: _Steps) -> Iterator[_Row]:
    quick, slow = "FOCUS A (QDR)", "FOCUS C (1GbE)"
    for (cluster, nodes), (found, value) in steps.items():
        if cluster == slow and nodes > 1:
            other, seen = steps[quick, nodes]
            what = f"OpenFOAM, QDR over 1GbE, {nodes} nodes"
            yield what, "1gbe", nodes, float(np.median(found / other)), value / seen


def drawn(inputs: Inputs) -> Draws:
    """Draw what is not known, without the sweeps."""
    whole = draw(inputs.unknowns, DRAWS, SEED)
    return Draws({name: values[:DRAWS] for name, values in whole.values.items()}, whole.swept[:DRAWS])


def _shaped(link: str, seconds: float, sent: float, steps: float = np.inf) -> float:
    if link not in BUCKETS:
        return seconds
    rate, burst = BUCKETS[link]
    return token_bucket(seconds, sent, rate, burst=burst, steps=steps)


@dataclass(frozen=True)
class Held:
    """All that the model is held against: exchanges and patterns, whole steps, and numbers of nodes.

    `steps` are times and ratios of whole steps on one number of nodes, `scaling` speedups between numbers.
    """

    exchanges: pd.DataFrame
    patterns: pd.DataFrame
    steps: pd.DataFrame
    scaling: pd.DataFrame

    @property
    def widening(self) -> dict[str, float]:
        """How far bands are to be widened."""
        return widening(self.steps, self.scaling)


def hold(campaigns: Mapping[str, Campaign], base: Path) -> Held:
    """Hold the model against ``vm-exchange vm-hpcg published published-openfoam`` of a project."""
    inputs = further(base, load(base))
    measured = campaigns["vm-exchange"]
    times = hpcg(campaigns["vm-hpcg"], measured)
    curves = openfoam(campaigns["published-openfoam"], inputs)
    between = curves["what"].str.contains(" to ")
    links = ratios(times).assign(what="HPCG 16³, over the open link")
    steps = pd.concat([times, links, curves[~between]], ignore_index=True)
    scaling = pd.concat([venus(campaigns["published"], inputs), curves[between]], ignore_index=True)
    return Held(exchanges(measured), patterns(measured), steps, scaling)


def draw_exchanges(found: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw predicted exchanges as lines and seen ones as marks, by size, link and messages each way."""
    looks = {"veth-1gbit": ("red", "o"), "veth-10gbit": ("green", "s"), "veth-open": ("blue", "^")}
    for (what, link), part in found.groupby(["what", "link"], sort=True):
        hue, mark = looks[str(link)]
        colour = HUES[hue]
        few = str(what).startswith("2 ")
        ax.plot(part["size"], part["predicted"], color=colour, linestyle="-" if few else "--", linewidth=1.4)
        ax.plot(
            part["size"], part["seen"], color=colour, marker=mark, linestyle="none", markersize=5,
            markerfacecolor=colour if few else "none", label=f"{link}, {what}",
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel="size of a message (B)", ylabel="time of an exchange (µs)")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


def widening(whole: pd.DataFrame, scaling: pd.DataFrame) -> dict[str, float]:
    """Find how far a band is to be widened: the greatest factor between predicted and seen, less 1.

    `whole` are ratios and times of whole steps on one number of nodes, for 1GbE and for all other links;
    `scaling` are speedups between numbers of nodes. Rounded up to the next twentieth.
    """
    slow = whole["link"].isin(("1gbe", "veth-1gbit"))
    parts = {"default": whole[~slow], "1gbe": whole, "nodes": scaling}
    return {name: float(np.ceil(20 * spread(part).max() - 1e-9) / 20) for name, part in parts.items()}


def as_table(wide: Mapping[str, float]) -> pd.DataFrame:
    """List the widenings: columns ``of widened_by``, the second as a text."""
    named = {"default": "steps over a link", "1gbe": "where 1 Gbit/s takes part", "nodes": "between nodes"}
    rows = [(named[name], f"{100 * value:.0f} %") for name, value in wide.items()]
    return pd.DataFrame(rows, columns=["of", "widened_by"])


def spread(found: pd.DataFrame) -> pd.Series:
    """Return the factor between predicted and seen less 1, whichever is greater."""
    factor = found["predicted"] / found["seen"]
    return factor.where(factor > 1, 1 / factor) - 1


def _with_error(rows: Iterable[_Row]) -> pd.DataFrame:
    found = pd.DataFrame(list(rows), columns=["what", "link", "size", "predicted", "seen"])
    return found.assign(error=found["predicted"] / found["seen"] - 1)


def ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Turn times by link into ratios over the open link, which is what claims ask for; as columns before."""
    plain = times[times["link"] == OPEN].set_index(["what", "size"])
    others = times[times["link"] != OPEN].set_index(["what", "size"])
    over = others[["predicted", "seen"]] / plain[["predicted", "seen"]].reindex(others.index)
    found = others.assign(**over).reset_index()
    return found.assign(error=found["predicted"] / found["seen"] - 1)[list(times)]
