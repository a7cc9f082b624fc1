"""The model compared with measurements: exchanges and patterns on shaped links, HPCG there, published curves.

None of these measurements has set a range of the model. A machine's link is known from the exchanges of 8 B
and of 32 KiB on the open one; everything else is predicted.

`snakemake --cores 2 model-validation` builds the datasets and writes docs/model-validation.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.base import models, project
from analysis.base.models import Model
from analysis.base.words import significant
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.model.inputs import FOLDER, Inputs, Range, load
from analysis.model.network import Network
from analysis.model.patterns import Exchanged, MessagePattern, Reduced, of_grid
from benchmarks.model import curves

CAMPAIGNS = ("vm-exchange", "vm-hpcg", "published", "published-openfoam")
OPEN, WITHIN = "veth-open", "shared-memory"
# Rate in B/s, headers included, and bucket in B of tbf at each end of a link.
BUCKETS = {"veth-1gbit": (1.25e8, 262144.0), "veth-10gbit": (1.25e9, 1048576.0)}
# Exchanges asked for, by messages each way; of large messages src/proxy makes fewer, in ten batches.
COUNTS = {2: 1000, 3: 1000, 24: 500, 26: 500}
HEADER = 90.0  # B: Ethernet, IP and TCP with time stamps, and what Open MPI writes before a message
# Questions of vm-exchange: one rank in each namespace; two, of whose partners a third is on their node.
ALONE, SHARED = "exchange", "shared"
COPIED = 32768  # B: the largest that Open MPI sends without asking first; the rate of copying is from it
SIZES = 65536  # B: exchanges are compared up to here; larger ones show the load of the machine


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

    A step takes `seconds` at full speed and sends `sent` B. Steps run at full speed until they have sent more
    than the bucket held and received; from then on they run at the rate.
    """
    return max(seconds, (sent - burst / steps) / rate)


def fitted(times: pd.DataFrame) -> Network:
    """Fit the open link, and messages within a node, to exchanges: `times` in s as `least` gives them.

    The link has no adapter and no wire: the processor moves all bytes.
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
    measured: dict[Any, dict[Any, float]] = times.to_dict()
    small = min(measured[few])
    each = (measured[many][small] - measured[few][small]) / (many - few)
    rest = max(measured[few][small] - few * each, 0.0)
    return each, rest, few * COPIED / (measured[few][COPIED] - rest - few * each)


def exchanges(campaign: Campaign, question: str = ALONE) -> pd.DataFrame:
    """Predict the exchanges of a question: columns ``what link size predicted measured error``, in µs."""
    measured = least(campaign, question)
    network, each = fitted(measured), 2 if question == SHARED else 1
    rows = []
    cells: dict[Any, dict[Any, float]] = measured.to_dict()
    for (link, partners), column in cells.items():
        if link == WITHIN or (question == SHARED and partners % 3):
            continue  # the network is fitted to them
        for size, value in column.items():
            sent = _sent(partners, size, each)
            open_time = float(network.step(MessagePattern((sent,)), 2, each)[0])
            batch = COUNTS[partners] // (1 + size * partners // 65536) // 10 + 1
            # The first batch after the warm-up is the least where the bucket still has tokens.
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
    """Predict the proxy's halo of 64 KiB and its reduction of 8 B on every link, µs for a step."""
    network = fitted(least(campaign))
    runs = campaign.runs[campaign.runs["valid"] & (campaign.runs["question"] == "pattern")]
    steps = {"halo": 1000, "allreduce": 5000}
    measured: dict[Any, float] = runs.groupby(["case", "interconnect"])["figure_of_merit"].min().to_dict()
    alone = measured["halo", WITHIN] / steps["halo"]
    size = 65536.0
    sent = {"halo": 2 * (size + HEADER), "allreduce": 8 + HEADER}
    pattern = {
        "halo": MessagePattern((Exchanged(1.0, 2.0, 2 * size, 2.0, 2 * size, 0.0, 0.0),)),
        "allreduce": MessagePattern(reduced=(Reduced(1.0, 8.0),)),
    }
    rows = []
    for (case, link), value in measured.items():
        if link == WITHIN:
            continue
        own = float(network.step(pattern[case], 2, 1)[0]) + (alone if case == "halo" else 0.0)
        found = _shaped(link, own, sent[case])
        rows.append((case, link, size if case == "halo" else 8, 1e6 * found, 1e6 * value / steps[case]))
    return _with_error(rows)


def hpcg(campaign: Campaign, exchanged: Campaign) -> pd.DataFrame:
    """Predict HPCG with 16 cubed on two nodes of a rank each, µs for an iteration.

    The work is that of two ranks in a node; the link's times are those of `exchanged`, another machine's.
    """
    runs = campaign.runs
    runs = runs[runs["valid"] & (runs["application"] == "hpcg") & (runs["case"] == "nx16")]
    runs = runs[(runs["build"] == "-O3") & (runs["profiler"] == "none") & (runs["mpi"] == "Open MPI 4.1.4")]
    by = runs[runs["ranks"] == 2].groupby(["question", "interconnect"])["figure_of_merit"].median()
    rate: dict[Any, float] = by.to_dict()
    flop = 2 * curves.FLOPS * 16**3
    work = flop / rate["problem-size", WITHIN] / 1e9
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


def _with_error(rows: Iterable[_Row]) -> pd.DataFrame:
    found = pd.DataFrame(list(rows), columns=["what", "link", "size", "predicted", "measured"])
    # Nothing is drawn here: the band is the prediction.
    band = {"low": found["predicted"], "high": found["predicted"]}
    return found.assign(error=found["predicted"] / found["measured"] - 1, **band)


def ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Turn times by link into ratios over the open link, as claims ask for; same columns."""
    plain = times[times["link"] == OPEN].set_index(["what", "size"])
    others = times[times["link"] != OPEN].set_index(["what", "size"])
    over = others[["predicted", "measured"]] / plain[["predicted", "measured"]].reindex(others.index)
    found = others.assign(**over).reset_index()
    columns = ["what", "link", "size", "predicted", "measured"]
    return _with_error(found[columns].itertuples(index=False, name=None))


@dataclass(frozen=True)
class Validation:
    """All comparisons: exchanges and patterns, whole steps, and numbers of nodes.

    `shared` has exchanges of two ranks on each adapter, `steps` times and ratios of whole steps on one number
    of nodes, `scaling` speedups over numbers of nodes, `tcp` the links over TCP.
    """

    exchanges: pd.DataFrame
    shared: pd.DataFrame
    patterns: pd.DataFrame
    steps: pd.DataFrame
    scaling: pd.DataFrame
    tcp: tuple[str, ...]

    @property
    def widening(self) -> dict[str, float]:
        """By how much bands are widened."""
        return curves.widening(self.steps, self.scaling, self.tcp)


def validate(campaigns: Mapping[str, Campaign], base: Path) -> Validation:
    """Compare the model with `CAMPAIGNS` of a project."""
    inputs, others = further(base, load(base))
    draws = curves.drawn(inputs)
    measured = campaigns["vm-exchange"]
    times = hpcg(campaigns["vm-hpcg"], measured)
    links = ratios(times).assign(what="HPCG 16³, over the open link")
    foam = list(curves.openfoam(campaigns["published-openfoam"], inputs, draws))
    steps = pd.concat([times, links], ignore_index=True)
    steps = steps.reindex(columns=["what", "link", *curves.COMPARED])
    hpcgs = curves.venus(campaigns["published"], inputs, draws)
    scaling = curves.table([*hpcgs, *foam, *(curves.published(one, inputs, draws) for one in others)])
    older = {name for machine in inputs.machines.values() for name in machine.links.values()}
    of_tcp = tuple(n for n, one in inputs.links.items() if one.kind == curves.TCP and n not in older)
    return Validation(
        exchanges(measured), exchanges(measured, SHARED), patterns(measured), steps, scaling, of_tcp
    )


# ---- the page --------------------------------------------------------------------------------------------

_WIDENED = {
    "default": "steps over a link",
    "1gbe": "where 1 Gbit/s takes part",
    "next": "from one number of nodes to the next, InfiniBand",
    "next.10gbe": "from one number of nodes to the next, TCP",
    "nodes": "from any number of nodes to any other, InfiniBand",
    "nodes.10gbe": "from any number of nodes to any other, TCP",
}


def widening_table(wide: Mapping[str, float]) -> pd.DataFrame:
    """List the widenings: columns ``of widened by``."""
    rows = [(text, f"{100 * wide[name]:.0f} %") for name, text in _WIDENED.items()]
    return pd.DataFrame(rows, columns=["of", "widened by"])


def exchange_table(found: pd.DataFrame) -> pd.DataFrame:
    """Put exchanges into a row per size, "predicted, measured" in µs by link and messages each way."""
    cells = [
        f"{significant(one, 3)}, {significant(other, 3)}"
        for one, other in zip(found["predicted"], found["measured"], strict=True)
    ]
    what = found["what"].str.removesuffix(" messages each way")
    wide = found.assign(cell=cells, column=found["link"] + ", " + what)
    table = wide.pivot(index="size", columns="column", values="cell")[list(dict.fromkeys(wide["column"]))]
    return table.rename_axis(index="size (B)", columns=None).reset_index()


def markdown(table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table; numbers with three figures, an ``error`` in per cent."""
    names = [str(name) for name in table]
    yield "| " + " | ".join(name.replace("_", " ") for name in names) + " |"
    yield "|" + "---|" * len(names)
    for row in table.itertuples(index=False):
        cells = zip(names, row, strict=True)
        yield "| " + " | ".join(_cell(name, value) for name, value in cells) + " |"


def _cell(name: str, value: Any) -> str:
    if name == "size":
        return f"{value:,.0f}"
    if name == "error":
        share = round(100 * value)
        return f"{share:+} %".replace("-", "−") if share else "0 %"
    return significant(value, 3) if isinstance(value, float) else str(value)


def answer(found: Validation, cross: pd.DataFrame) -> str:
    """Say in three sentences how far off the model is."""
    wide, small = found.widening, 100 * found.exchanges[found.exchanges["size"] <= 1024]["error"]
    return (
        f"Whole steps are within a factor of {1 + wide['default']:.3g} of the model, and within "
        f"{1 + wide['1gbe']:.3g} over 1 Gbit/s. The model is bad at predicting the effect of more nodes. "
        "From one number of nodes to the next it was wrong by a factor of up to "
        f"{1 + wide['next']:.3g} over InfiniBand and {1 + wide['next.10gbe']:.3g} over TCP. Bands that are "
        f"widened by the errors of the other curves of their kind contain {cross['covered'].sum()} of "
        f"{cross['steps'].sum()} such steps. For single exchanges of up to 1 KiB, the error is "
        f"{small.min():.0f} % to {small.max():+.0f} %."
    ).replace("-", "−")


def rule(scored: pd.DataFrame) -> str:
    """Say by how much the model is better than "time ~ 1/nodes", and why bands stay as wide as they are."""
    model, null = (scored[scored["rival"] == rival].set_index("kind") for rival in curves.RIVALS)
    better = 100 * (1 - model["score"] / null["score"])
    far = model[f"covered_from_{curves.MANY}_nodes"].to_dict()
    return (
        f"The model's score is {better[curves.RDMA]:.0f} % lower over InfiniBand and "
        f"{better[curves.TCP]:.0f} % lower over TCP, but its median error is no lower: on a single step it "
        "hardly knows more than the rule. "
        f"Of the steps that start from {curves.MANY} nodes or more, the model's bands contain "
        f"{far[curves.RDMA]} over InfiniBand and {far[curves.TCP]} over TCP. That is too few. So the bands "
        "of claims are not narrowed to 90 %; they are widened by the greatest error that was measured."
    )


def page(found: Validation) -> str:
    """Fill the numbers into the page of the study."""
    cross = curves.cross_validation(found.scaling)
    tables = {
        "answer": [answer(found, cross)],
        "steps": markdown(found.steps),
        "scaling": markdown(found.scaling),
        "cross": markdown(cross),
        "scores": markdown(curves.scores(found.scaling)),
        "rule": [rule(curves.scores(found.scaling))],
        "exchanges": markdown(exchange_table(found.exchanges)),
        "patterns": markdown(found.patterns[["what", "link", "size", "predicted", "measured", "error"]]),
        "shared": markdown(exchange_table(found.shared)),
        "widening": markdown(widening_table(found.widening)),
    }
    text = Path(__file__).with_name("validation.md").read_text(encoding="utf-8")
    for name, lines in tables.items():
        text = text.replace(f"{{{name}}}", "\n".join(lines))
    return text


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", type=Path, help="file to write; printed without it")
    given = parser.parse_args()
    base = project.root()
    text = page(validate({name: load_campaign(name) for name in CAMPAIGNS}, base))
    if given.page is None:
        print(text, end="")
    else:
        given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
