"""``benchbook whatif``: your own profiled job on another network or number of nodes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import models, project
from analysis.base.errors import ConfigError, ReadError
from analysis.base.words import percent, significant
from analysis.cli import FINE
from analysis.datasets import profile as profiles
from analysis.model import whatif as model
from analysis.model.draws import central
from analysis.model.forecast import CLAIMED, SPREAD, forecast_error, inputs_of
from analysis.model.inputs import Inputs, Range, WhatIfFile
from analysis.model.patterns import BYTES, Exchanged
from analysis.schema.campaigns import CampaignFile
from analysis.schema.factors import level_name

MODELLED = "modelled"  # the campaign whose errors a forecast shares; they are in docs/model.md
WAITING = 0.5  # of a job's time: with more of it a forecast says little


def whatif(
    path: str,
    *,
    on: str | None,
    profiled_on: str,
    links: list[str] | None,
    nodes: list[int] | None,
    as_json: bool,
) -> int:
    """Forecast the job of an IPM or mpiP profile on other links and numbers of nodes."""
    inputs = inputs_of(project.root())
    given = WhatIfFile.model_validate({"title": ""}) if on is None else _cluster(on)
    inputs = inputs.with_links(given.links)
    for name, source in ((profiled_on, "--from"), *((link, "--link") for link in links or [])):
        _check_link(inputs, name, source)
    for key in ("profiled_on", "link"):
        _check_link(inputs, getattr(given, key), str(on), (key,))
    profiled_on = profiled_on or given.profiled_on
    job = _job(readers.open(path), path)
    counts = nodes or [given.nodes or job.nodes]
    if max(counts) > SPREAD**3 * job.nodes:
        what = f"ran on {_nodes(job.nodes)}: of {max(counts):,} nodes it says nothing"
        raise ConfigError.at(path, 0, what, f"forecasts end at {SPREAD**3 * job.nodes:,} nodes")
    asked = [(count, link) for count in counts for link in links or [given.link]]
    if job.nodes == 1:  # one node uses no link, whatever its name
        asked = [one for at, one in enumerate(asked) if one[0] > 1 or one[0] not in dict(asked[:at])]
    pairs = [(count, *_links(inputs, job, path, profiled_on, link, count)) for count, link in asked]
    reports = [_forecast(inputs, given, job, path, *pair, alone=len(pairs) == 1) for pair in pairs]
    if as_json:
        print(json.dumps(reports[0] if len(reports) == 1 else reports, indent=1))
    else:
        print(_as_text(reports[0]) if len(reports) == 1 else _as_table(reports))
    return FINE


def _forecast(
    inputs: Inputs,
    given: WhatIfFile,
    job: model.ProfiledJob,
    path: str,
    nodes: int,
    profiled_on: str,
    link: str,
    *,
    alone: bool,
) -> dict[str, Any]:
    """Forecast one number of nodes and one link; of one alone something must change."""
    same = (link, nodes, given.faster) == (profiled_on, job.nodes, 1.0)
    if alone and same:
        what = f"ran on {_nodes(nodes)} over {link}" if nodes > 1 else "ran on one node, without a link"
        remedy = "name another number of --nodes, another --link, or a cluster's file with --on"
        raise ConfigError.at(path, 0, f"{what}: nothing would change", remedy)
    found = model.forecast(inputs, job, profiled_on, link, nodes=nodes, faster=given.faster)
    declared = models.load(CampaignFile, project.declaration(MODELLED)).model
    error = forecast_error(declared.widening if declared else {}, {profiled_on, link}, job.nodes, nodes)
    report = _report(inputs, job, found, profiled_on, link, nodes, 0.0 if same else error)
    for name, each, unit in (("energy", given.watts, "Wh"), ("cost", given.price, "")):
        if each is not None:
            report[name] = _of_nodes(report["seconds"], each, nodes) | {"unit": unit or each.unit}
    return report


def _of_nodes(seconds: dict[str, float], each: Range, nodes: int) -> dict[str, float]:
    """Return what a job takes of something that each node takes in an hour, over both ranges."""
    middle = float(np.sqrt(each.low * each.high))
    factors = {"low": each.low, "median": middle, "high": each.high}
    return {end: seconds[end] * factor * nodes / 3600 for end, factor in factors.items()}


def _as_table(reports: list[dict[str, Any]]) -> str:
    """Lay out forecasts, a row for each number of nodes and link, with their cautions below."""

    def spelt(report: dict[str, Any], name: str) -> str:
        return _range(report[name], "", headline=report["headline"])

    titles = {"seconds": "s", "speedup": "times as fast", "energy": "Wh per job", "cost": "cost per job"}
    rows = [
        {"nodes": str(one["on"]["nodes"]), "link": one["on"]["link"] or "none"}
        | {title: spelt(one, name) for name, title in titles.items() if name in one}
        for one in reports
    ]
    cautions: dict[str, list[str]] = {}
    for one in reports:
        for text in one["cautions"]:
            cautions.setdefault(text, []).append(_place(one["on"]))
    told = [f"caution   {text}: {', '.join(places)}" for text, places in cautions.items()]
    unit = next(
        (f"cost in the unit of the price, {one['cost']['unit']}" for one in reports if "cost" in one), ""
    )
    table = pd.DataFrame(rows).to_string(index=False)
    return "\n".join(filter(None, (f"{reports[0]['kind']}: bands, widened", table, unit, *told)))


def _range(one: dict[str, float], unit: str, *, headline: bool) -> str:
    """Spell a band; without its middle where waiting decides it."""
    low, middle, high = (significant(one[end], 3) for end in ("low", "median", "high"))
    return f"{middle}{unit} ({low} to {high})" if headline else f"{low} to {high}{unit}"


def _place(on: dict[str, Any]) -> str:
    return _nodes(on["nodes"]) + (f" over {on['link']}" if on["link"] else "")


def _cluster(path: str) -> WhatIfFile:
    """Load a cluster's file; ConfigError where a range of a link is upside down or of another unit."""
    given = models.load(WhatIfFile, Path(path))
    for name, facts in given.links.items():
        for key, one, unit in (("bandwidth", facts.bandwidth, "B/s"), ("latency", facts.latency, "s")):
            if one.low <= one.high and one.unit == unit:
                continue
            what = f"low {one.low:g} is above high {one.high:g}" if one.unit == unit else f"is in {one.unit}"
            line = project.line_of(path, ("links", name, key))
            raise ConfigError.at(path, line, f"links.{name}.{key}: {what}", f"give low and high in {unit}")
    return given


def _check_link(inputs: Inputs, name: str | None, source: str, where: tuple[str, ...] = ()) -> None:
    """Refuse the name of a link that is not there; `where` is its place in a file."""
    if name and name not in inputs.links:
        line = project.line_of(source, where) if where else 0
        raise ConfigError.at(source, line, f"no link {name!r}", models.known(name, inputs.links))


def _links(
    inputs: Inputs, job: model.ProfiledJob, path: str, profiled_on: str, link: str, nodes: int
) -> tuple[str, str]:
    """Return the links before and after; a job on one node uses none, so any link will do."""
    names = f"known: {', '.join(inputs.links)}"
    if job.nodes > 1 and not profiled_on:
        what = f"ran on {_nodes(job.nodes)}, and no profile says over which link"
        raise ConfigError.at(path, 0, what, f"give --from, or profiled_on in the file of --on; {names}")
    link = link or profiled_on
    if not link and nodes > 1:
        what = f"ran on one node, and nothing says which link joins {nodes}"
        raise ConfigError.at(path, 0, what, f"give --link; {names}")
    if job.nodes == 1 == nodes:  # no message uses it
        link = profiled_on = profiled_on or link or next(iter(inputs.links))
    return profiled_on or link, link


def _nodes(count: int) -> str:
    return level_name("nodes", count)


def _job(ds: xr.Dataset, source: str) -> model.ProfiledJob:
    if ds.attrs.get("kind") != "profile" or not bool(ds.attrs.get("has_sizes", True)):
        what = "is no profile with message sizes"
        raise ReadError.at(source, 0, what, "take an IPM XML file, or mpiP run with -p or its histograms")
    table = profiles.ranks(ds)
    if table["app_time"].isna().any():
        raise ReadError.at(source, 0, "does not hold all ranks", "take the profile of a whole job")
    hosts = table["host"].to_numpy()
    on_each = table["host"].value_counts()
    nodes = len(on_each)
    if on_each.nunique() != 1:
        what = f"{len(table)} ranks on {nodes} nodes, not as many on each"
        raise ReadError.at(source, 0, what, "take a job that fills its nodes alike")
    computing = float((table["app_time"] - table["mpi_time"]).max())
    reductions, transposes = profiles.collectives(ds)
    sent = _sent(profiles.matrix(ds), hosts)
    messaging = float(table["app_time"].max()) - computing
    return model.ProfiledJob(nodes, len(table) // nodes, computing, messaging, sent, reductions, transposes)


def _sent(matrix: pd.DataFrame, hosts: np.ndarray) -> Exchanged:
    away = hosts[matrix["rank"]] != hosts[matrix["peer"]]
    node = hosts[matrix["rank"]]
    outside, within = matrix[away], matrix[~away]

    def most(part: pd.DataFrame, by: Any, column: str) -> float:
        return float(part.groupby(by)[column].sum().max()) if len(part) else 0.0

    return Exchanged(
        1.0, most(outside, "rank", "count"), most(outside, "rank", "bytes"),
        most(outside, node[away], "count"), most(outside, node[away], "bytes"), most(within, "rank", "count"),
        most(within, "rank", "bytes"),
    )  # fmt: skip


def _report(
    inputs: Inputs,
    job: model.ProfiledJob,
    found: model.Forecast,
    profiled_on: str,
    link: str,
    nodes: int,
    error: float,
) -> dict[str, Any]:
    return {
        "kind": "a forecast, no evidence",
        "profiled": {"nodes": job.nodes, "ranks": job.ranks, "link": profiled_on if job.nodes > 1 else ""}
        | {"seconds": job.computing + job.messaging, "computing": job.computing, "mpi": job.messaging},
        "on": {"nodes": nodes, "ranks": nodes * job.ranks_per_node, "link": link if nodes > 1 else ""},
        "title": inputs.links[link].title if nodes > 1 else "",
        "seconds": _band(found.total, error),
        "speedup": _band(found.speedup, error),
        "messages": _band(found.modelled, error),
        # The profile's own messages and waiting are not widened.
        "messages_as_profiled": _band(found.own, 0.0),
        "waiting": _band(found.waiting, 0.0),
        "widened_by": error,
        "headline": _unexplained(job, found) <= WAITING,
        "cautions": list(_cautions(job, found, nodes)),
    }


def _unexplained(job: model.ProfiledJob, found: model.Forecast) -> float:
    """Return the share of the job's time that is waiting in MPI which no message explains."""
    return float(np.median(found.waiting)) / (job.computing + job.messaging)


def _cautions(job: model.ProfiledJob, found: model.Forecast, nodes: int) -> Iterator[str]:
    """Yield the reasons why a forecast is less certain than its band."""
    share = _unexplained(job, found)
    if share > WAITING:
        yield (
            f"{percent(share)} of the time is waiting in MPI that no message explains: the band depends on "
            "that, not on the network"
        )
    if nodes > SPREAD * job.nodes or job.nodes > SPREAD * nodes:
        yield f"the model was never compared with more than {SPREAD} times as many nodes"
    if nodes > CLAIMED:
        yield f"nor with more than {CLAIMED} nodes: the growth of the widening is assumed"
    sent = job.on(nodes).sent
    parts = ((sent.messages, sent.payload), (sent.inside, sent.inside_payload))
    if any(count and size / count < BYTES for count, size in parts) and nodes > job.nodes:
        yield "messages would have less than one value: on so many nodes the job is too small"


def _band(values: np.ndarray, error: float) -> dict[str, float]:
    (low, high), middle = central(values), np.median(values)
    return {"low": float(low / (1 + error)), "median": float(middle), "high": float(high * (1 + error))}


def _as_text(report: dict[str, Any]) -> str:
    def spelt(name: str, unit: str) -> str:
        return _range(report[name], unit, headline=report["headline"])

    was, on, title = report["profiled"], report["on"], f" ({report['title']})" if report["title"] else ""
    return "\n".join(
        (
            f"{report['kind']}: bands over {2 * model.DRAWS} draws, widened "
            f"{significant(1 + report['widened_by'], 3)}-fold both ways",
            f"profiled  {was['ranks']} ranks on {_place(was)}: {significant(was['seconds'], 3)} s, "
            f"{significant(was['computing'], 3)} s computing, {significant(was['mpi'], 3)} s in MPI",
            f"forecast  {on['ranks']} ranks on {_place(on)}{title}:",
            f"          {spelt('seconds', ' s')}, {spelt('speedup', ' times as fast')}",
            f"messages  {spelt('messages', ' s')} by the model, "
            f"{spelt('messages_as_profiled', ' s')} as profiled",
            f"waiting   {spelt('waiting', ' s')} of the profile's time in MPI, which no message explains: "
            "in half of the draws it changes with the computing, in half with the messages",
            *(f"caution   {one}" for one in report["cautions"]),
        )
    )
