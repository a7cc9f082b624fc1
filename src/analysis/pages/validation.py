"""The model beside what was seen: exchanges and patterns on shaped links, HPCG there, published curves.

Nothing that is compared here has given the model a range: of a link of a machine the exchange of 8 B and of
32 KiB on the open one are taken, all else is predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.base import models
from analysis.base.models import Model
from analysis.estimates.campaign import Campaign
from analysis.model.inputs import FOLDER, Inputs, Range, load
from analysis.model.network import Network
from analysis.model.patterns import Exchanged, Pattern, Reduced, of_grid
from analysis.pages import curves
from analysis.pages.figures.style import HUES

OPEN, WITHIN = "veth-open", "shared-memory"
# Rate in B/s, heads counted, and bucket in B of tbf at each end of a link.
BUCKETS = {"veth-1gbit": (1.25e8, 262144.0), "veth-10gbit": (1.25e9, 1048576.0)}
COUNTS = {
    2: 1000,
    3: 1000,
    24: 500,
    26: 500,
}  # exchanges asked for; of large messages src/proxy makes fewer, in ten batches
HEADER = 90.0  # B: Ethernet, IP and TCP with time stamps, and what Open MPI writes before a message
# Questions of vm-exchange: one rank in each namespace, and two, of whose partners a third is on their node.
ALONE, SHARED = "exchange", "shared"
COPIED = 32768  # B: the largest that Open MPI sends without asking first, which the rate of copying is from
SIZES = 65536  # B: up to here exchanges are compared; beyond, the load of the machine is


_Row = tuple[str, str, float, float, float]


class Further(Model):
    """``config/model/validation.yaml``: ranges of the applications with published curves, and more curves."""

    ranges: dict[str, Range]
    curves: list[curves.PublishedCurve]


def further(base: Path, inputs: Inputs) -> tuple[Inputs, list[curves.PublishedCurve]]:
    """Return the inputs with what only the validation needs, and the curves that no campaign has."""
    found = models.load(Further, base / FOLDER / "validation.yaml")
    return replace(inputs, ranges={**inputs.ranges, **found.ranges}), found.curves


def token_bucket(
    seconds: float, sent: float, rate: float, *, burst: float = 0.0, steps: float = np.inf
) -> float:
    """Return the s of one of `steps` equal steps through a token bucket of `burst` B filled at `rate` B/s.

    A step takes `seconds` at full speed and sends `sent` B. Until all that was sent exceeds what the bucket
    held and got, the steps run at full speed, then at the rate.
    """
    return max(seconds, (sent - burst / steps) / rate)


def fitted(times: pd.DataFrame) -> Network:
    """Take the open link, and messages within a node, from exchanges: `times` in s as `least` gives them.

    The link has no adapter and no wire: the processor moves all.
    """
    own, latency, rate = _line(times, OPEN)
    one = np.ones(1)
    nothing, endless = 0 * one, np.inf * one
    within = (nothing, endless)
    if WITHIN in times:
        own_within, rest, rate_within = _line(times, WITHIN)
        few = int(min(times.xs(WITHIN, axis=1).columns))
        within = ((own_within + rest / few) * one, rate_within * one)
    return Network(own * one, nothing, endless, latency * one, HEADER, *within, copying=rate * one)


def _line(times: pd.DataFrame, link: str) -> tuple[float, float, float]:
    """Return s of each message, s of an exchange and B/s from exchanges of few and of many messages."""
    times = times.loc[:, [link]].droplevel(0, axis=1)
    few, many = int(min(times.columns)), int(max(times.columns))
    seen: dict[Any, dict[Any, float]] = times.to_dict()
    small = min(seen[few])
    each = (seen[many][small] - seen[few][small]) / (many - few)
    rest = max(seen[few][small] - few * each, 0.0)
    return each, rest, few * COPIED / (seen[few][COPIED] - rest - few * each)


def exchanges(campaign: Campaign, question: str = ALONE) -> pd.DataFrame:
    """Predict the exchanges of a question: columns ``what link size predicted seen error``, in us."""
    seen = least(campaign, question)
    network, each = fitted(seen), 2 if question == SHARED else 1
    rows = []
    cells: dict[Any, dict[Any, float]] = seen.to_dict()
    for (link, partners), column in cells.items():
        if link == WITHIN or (question == SHARED and partners % 3):
            continue  # what the network is taken from
        for size, value in column.items():
            sent = _sent(partners, size, each)
            open_time = float(network.step(Pattern((sent,)), 2, each)[0])
            batch = COUNTS[partners] // (1 + size * partners // 65536) // 10 + 1
            # The first batch after one to warm up is the least where the bucket still has something.
            wire = float(sent.node_payload + sent.node_messages * HEADER)
            found = _shaped(link, open_time, wire, 2 * batch)
            rows.append((f"{partners} messages each way", link, size, 1e6 * found, 1e6 * value))
    return _with_error(rows)


def _sent(partners: int, size: int, ranks_per_node: int) -> Exchanged:
    """Return an exchange of each rank of two nodes with all others in turn."""
    away = partners * ranks_per_node / (2 * ranks_per_node - 1)
    node, within = ranks_per_node * away, partners - away
    return Exchanged(1.0, away, away * size, node, node * size, within, within * size)


def least(campaign: Campaign, question: str = ALONE) -> pd.DataFrame:
    """Return the least time of an exchange in s: rows by size, columns by link and messages each way."""
    runs = campaign.runs[campaign.runs["valid"] & (campaign.runs["question"] == question)]
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
    flop = 2 * curves.FLOPS * 16**3
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


def _shaped(link: str, seconds: float, sent: float, steps: float = np.inf) -> float:
    if link not in BUCKETS:
        return seconds
    rate, burst = BUCKETS[link]
    return token_bucket(seconds, sent, rate, burst=burst, steps=steps)


@dataclass(frozen=True)
class Held:
    """All that the model is held against: exchanges and patterns, whole steps, and numbers of nodes.

    `shared` are exchanges of two ranks on each adapter, `steps` times and ratios of whole steps on one number
    of nodes, `scaling` what more nodes bring, `tcp` the links over TCP.
    """

    exchanges: pd.DataFrame
    shared: pd.DataFrame
    patterns: pd.DataFrame
    steps: pd.DataFrame
    scaling: pd.DataFrame
    tcp: tuple[str, ...]

    @property
    def widening(self) -> dict[str, float]:
        """How far bands are to be widened."""
        return curves.widening(self.steps, self.scaling, self.tcp)


def hold(campaigns: Mapping[str, Campaign], base: Path) -> Held:
    """Hold the model against ``vm-exchange vm-hpcg published published-openfoam`` of a project."""
    inputs, others = further(base, load(base))
    draws = curves.drawn(inputs)
    measured = campaigns["vm-exchange"]
    times = hpcg(campaigns["vm-hpcg"], measured)
    links = ratios(times).assign(what="HPCG 16³, over the open link")
    foam = list(curves.openfoam(campaigns["published-openfoam"], inputs, draws))
    steps = pd.concat([times, links, pd.DataFrame(curves.links(foam))], ignore_index=True)
    steps = steps.reindex(columns=["what", "link", *curves.HELD])
    hpcgs = curves.venus(campaigns["published"], inputs, draws)
    scaling = curves.table([*hpcgs, *foam, *(curves.published(one, inputs, draws) for one in others)])
    older = {name for machine in inputs.machines.values() for name in machine.links.values()}
    of_tcp = tuple(n for n, one in inputs.links.items() if one.kind == curves.TCP and n not in older)
    return Held(exchanges(measured), exchanges(measured, SHARED), patterns(measured), steps, scaling, of_tcp)


def draw_exchanges(found: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw predicted exchanges as lines and seen ones as marks, by size, link and messages each way."""
    looks = {"veth-1gbit": ("red", "o"), "veth-10gbit": ("green", "s"), "veth-open": ("blue", "^")}
    for (what, link), part in found.groupby(["what", "link"], sort=True):
        hue, mark = looks[str(link)]
        colour = HUES[hue]
        few = int(str(what).split()[0]) < 10
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


def as_table(wide: Mapping[str, float]) -> pd.DataFrame:
    """List the widenings: columns ``of widened_by``, the second as a text."""
    named = {
        "default": "steps over a link",
        "1gbe": "where 1 Gbit/s takes part",
        "next": "from one number of nodes to the next, InfiniBand",
        "next.10gbe": "from one number of nodes to the next, TCP",
        "nodes": "from any number of nodes to any, InfiniBand",
        "nodes.10gbe": "from any number of nodes to any, TCP",
    }
    rows = [(named[name], f"{100 * wide[name]:.0f} %") for name in named]
    return pd.DataFrame(rows, columns=["of", "widened_by"])


def _with_error(rows: Iterable[_Row]) -> pd.DataFrame:
    found = pd.DataFrame(list(rows), columns=["what", "link", "size", "predicted", "seen"])
    # Nothing is drawn here: the band is the prediction.
    band = {"low": found["predicted"], "high": found["predicted"]}
    return found.assign(error=found["predicted"] / found["seen"] - 1, **band)


def ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Turn times by link into ratios over the open link, which is what claims ask for; as columns before."""
    plain = times[times["link"] == OPEN].set_index(["what", "size"])
    others = times[times["link"] != OPEN].set_index(["what", "size"])
    over = others[["predicted", "seen"]] / plain[["predicted", "seen"]].reindex(others.index)
    found = others.assign(**over).reset_index()
    return _with_error(
        found[["what", "link", "size", "predicted", "seen"]].itertuples(index=False, name=None)
    )
