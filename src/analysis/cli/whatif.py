"""``benchbook whatif``: an own profiled job on another network or number of nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import models, project
from analysis.base.campaigns import CampaignFile, widened_by
from analysis.base.errors import ReadError
from analysis.base.words import significant
from analysis.cli import FINE
from analysis.datasets import profile as profiles
from analysis.model import whatif as model
from analysis.model.inputs import Inputs, WhatIfFile, load
from analysis.model.patterns import Exchanged

MODELLED = "modelled"  # the campaign whose errors a forecast shares; they are in docs/model.md


def whatif(
    path: str, *, on: str | None, profiled_on: str, link: str | None, nodes: int | None, as_json: bool
) -> int:
    """Forecast the job of an IPM or mpiP profile on another link and number of nodes."""
    inputs = load(project.root())
    faster = 1.0
    if on is not None:
        given = models.load(WhatIfFile, Path(on))
        inputs = inputs.with_links(given.links)
        faster, nodes = given.faster, nodes or given.nodes
        link = link or given.link
    link = link or profiled_on
    for name in (profiled_on, link):
        model.link_of(inputs, name)
    job = _job(readers.open(path), path)
    found = model.forecast(inputs, job, profiled_on, link, nodes=nodes, faster=faster)
    declared = models.load(CampaignFile, project.declaration(MODELLED)).model
    error = widened_by(
        declared.widening if declared else {},
        (profiled_on, link),
        shared_work=(nodes or job.nodes) != job.nodes,
    )
    told = _told(inputs, job, found, profiled_on, link, nodes or job.nodes, error)
    print(json.dumps(told, indent=1) if as_json else _as_text(told))
    return FINE


def _job(ds: xr.Dataset, source: str) -> model.Job:
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
    return model.Job(nodes, len(table) // nodes, computing, messaging, sent, reductions, transposes)


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


def _told(
    inputs: Inputs,
    job: model.Job,
    found: model.Forecast,
    profiled_on: str,
    link: str,
    nodes: int,
    error: float,
) -> dict[str, Any]:
    return {
        "profiled": {"nodes": job.nodes, "ranks": job.ranks, "link": profiled_on}
        | {"seconds": job.computing + job.messaging, "computing": job.computing, "mpi": job.messaging},
        "on": {"nodes": nodes, "ranks": nodes * job.ranks_per_node, "link": link},
        "title": inputs.links[link].title,
        "seconds": _band(found.total, error),
        "speedup": _band(found.speedup, error),
        "messages": _band(found.modelled, error),
        "messages_as_profiled": _band(found.own, error),
        "waiting": _band(found.waiting, error),
        "widened_by": error,
    }


def _band(values: np.ndarray, error: float) -> dict[str, float]:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return {"low": float(low / (1 + error)), "median": float(middle), "high": float(high * (1 + error))}


def _as_text(told: dict[str, Any]) -> str:
    def spelt(name: str) -> str:
        low, middle, high = (significant(told[name][end]) for end in ("low", "median", "high"))
        return f"{middle} ({low} to {high})"

    was, now = told["profiled"], told["on"]
    return "\n".join(
        (
            f"profiled  {was['ranks']} ranks on {was['nodes']} nodes over {was['link']}: "
            f"{significant(was['seconds'])} s, {significant(was['computing'])} s computing, "
            f"{significant(was['mpi'])} s in MPI",
            f"forecast  {now['ranks']} ranks on {now['nodes']} nodes over {now['link']} ({told['title']}):",
            f"          {spelt('seconds')} s, {spelt('speedup')} times as fast",
            f"messages  {spelt('messages')} s, as profiled {spelt('messages_as_profiled')} s, by the model",
            f"waiting   {spelt('waiting')} s of the profile's MPI time are not explained by messages: "
            "they go as the computing, or as the messages",
            f"          bands over {2 * model.DRAWS} draws, widened by {told['widened_by']:.0%}; "
            "a forecast, no measurement",
        )
    )
