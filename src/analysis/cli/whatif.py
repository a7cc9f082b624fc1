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
from analysis.base.words import significant
from analysis.cli import FINE
from analysis.datasets import profile as profiles
from analysis.model import whatif as model
from analysis.model.draws import central
from analysis.model.forecast import CLAIMED, SPREAD, forecast_error, inputs_of
from analysis.model.inputs import Inputs, WhatIfFile
from analysis.model.patterns import BYTES, Exchanged
from analysis.schema.campaigns import CampaignFile
from analysis.schema.factors import level_name

MODELLED = "modelled"  # the campaign whose errors a forecast shares; they are in docs/model.md
WAITING = 0.5  # of a job's time: with more of it a forecast says little


def whatif(
    path: str, *, on: str | None, profiled_on: str, link: str | None, nodes: int | None, as_json: bool
) -> int:
    """Forecast the job of an IPM or mpiP profile on another link and number of nodes."""
    inputs = inputs_of(project.root())
    given = WhatIfFile.model_validate({"title": ""}) if on is None else _cluster(on)
    inputs = inputs.with_links(given.links)
    for name, source in ((profiled_on, "--from"), (link, "--link")):
        _check_link(inputs, name, source)
    for key in ("profiled_on", "link"):
        _check_link(inputs, getattr(given, key), str(on), (key,))
    profiled_on = profiled_on or given.profiled_on
    job = _job(readers.open(path), path)
    nodes = nodes or given.nodes or job.nodes
    profiled_on, link = _links(inputs, job, path, profiled_on, link or given.link, nodes)
    if (link, nodes, given.faster) == (profiled_on, job.nodes, 1.0):
        what = f"ran on {_nodes(nodes)} over {link}" if nodes > 1 else "ran on one node, without a link"
        remedy = "name another number of --nodes, another --link, or a cluster's file with --on"
        raise ConfigError.at(path, 0, f"{what}: nothing would change", remedy)
    found = model.forecast(inputs, job, profiled_on, link, nodes=nodes, faster=given.faster)
    declared = models.load(CampaignFile, project.declaration(MODELLED)).model
    error = forecast_error(declared.widening if declared else {}, {profiled_on, link}, job.nodes, nodes)
    report = _report(inputs, job, found, profiled_on, link, nodes, error)
    print(json.dumps(report, indent=1) if as_json else _as_text(report))
    return FINE


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
    if job.nodes == 1 == nodes:
        link = profiled_on
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
        1.0,
        most(outside, "rank", "count"),
        most(outside, "rank", "bytes"),
        most(outside, node[away], "count"),
        most(outside, node[away], "bytes"),
        most(within, "rank", "count"),
        most(within, "rank", "bytes"),
    )


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
        "cautions": list(_cautions(job, found, nodes)),
    }


def _cautions(job: model.ProfiledJob, found: model.Forecast, nodes: int) -> Iterator[str]:
    """Yield the reasons why a forecast is less certain than its band."""
    share = float(np.median(found.waiting)) / (job.computing + job.messaging)
    if share > WAITING:
        yield (
            f"{share:.0%} of the time is waiting in MPI that no message explains: the band depends on that, "
            "not on the network"
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
        low, middle, high = (significant(report[name][end], 3) for end in ("low", "median", "high"))
        return f"{middle}{unit} ({low} to {high})"

    def placed(one: dict[str, Any]) -> str:
        return f"{one['ranks']} ranks on {_nodes(one['nodes'])}" + (
            f" over {one['link']}" if one["link"] else ""
        )

    was, title = report["profiled"], f" ({report['title']})" if report["title"] else ""
    return "\n".join(
        (
            f"{report['kind']}: bands over {2 * model.DRAWS} draws, widened "
            f"{significant(1 + report['widened_by'], 3)}-fold both ways",
            f"profiled  {placed(was)}: {significant(was['seconds'], 3)} s, "
            f"{significant(was['computing'], 3)} s computing, {significant(was['mpi'], 3)} s in MPI",
            f"forecast  {placed(report['on'])}{title}:",
            f"          {spelt('seconds', ' s')}, {spelt('speedup', ' times as fast')}",
            f"messages  {spelt('messages', ' s')} by the model, "
            f"{spelt('messages_as_profiled', ' s')} as profiled",
            f"waiting   {spelt('waiting', ' s')} of the profile's time in MPI, which no message explains: "
            "in half of the draws it changes with the computing, in half with the messages",
            *(f"caution   {one}" for one in report["cautions"]),
        )
    )
