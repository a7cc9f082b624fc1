"""What a cluster declares for an application: the program of a run, its container, its input files."""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.campaign.declarations import Declared
from analysis.campaign.matrix import Run
from analysis.errors import ConfigError


def built(base: Path, cluster: str, mpi: str) -> Path:
    """Return where the program in ``src/proxy`` is built for a cluster's MPI library."""
    return base / "results" / "proxy" / cluster / mpi / "proxy"


def located(base: Path, path: str) -> str:
    """Make a path absolute; a bare name is left for PATH to find."""
    return str(base / path) if "/" in str(path) else str(path)


def program(declared: Declared, run: Run) -> str:
    """Return the program of a run: that of the hybrid build where a rank has more than one thread.

    Raises
    ------
    ConfigError
        If the cluster has no program for the run's MPI library, or its path holds an unknown ``${...}``.
    """
    site = _site(declared, run)
    if "build" in site:
        return str(built(declared.base, declared.cluster_name, run.factors["mpi"]))
    where: tuple[str, ...] = ("launch", "applications", run.application)
    if int(run.factors["threads"]) > 1 and "hybrid" in site:
        site, where = site["hybrid"], (*where, "hybrid")
    found = site.get("program") or site["programs"].get(run.factors["mpi"])
    if found is None:
        what = f"no program for MPI {run.factors['mpi']!r}"
        remedy = "add it or exclude the combination"
        raise ConfigError(declared.cluster.fault((*where, "programs"), what, remedy))
    try:
        return located(declared.base, string.Template(found).substitute(case=run.case))
    except (KeyError, ValueError) as error:
        what = f"{found!r}: {error}"
        raise ConfigError(declared.cluster.fault(where, what, "only ${case} is known")) from None


def contained(declared: Declared, run: Run, preload: str) -> list[str]:
    """Return the words that start a program in the application's container; none without one.

    Parameters
    ----------
    declared : Declared
    run : Run
    preload : str
        Library that is loaded before the program, inside the container; or empty.
    """
    image = _site(declared, run).get("container")
    if image is None:
        return []
    options = ["--env", f"LD_PRELOAD={preload}"] if preload else []
    # Apptainer shows a program the working directory and the home; inputs may lie elsewhere.
    places = [folder(declared, run), *(str(Path(path).parent) for path in inputs(declared, run))]
    for place in dict.fromkeys(filter(None, places)):
        options += ["--bind", place]
    return ["apptainer", "exec", *options, located(declared.base, image)]


def folder(declared: Declared, run: Run) -> str:
    """Return the folder of the application's input files; empty if the cluster names none."""
    inputs = _site(declared, run).get("inputs", "")
    return located(declared.base, inputs) if inputs and isinstance(inputs, str) else ""


def inputs(declared: Declared, run: Run) -> dict[str, str]:
    """Return the input files of a run's case: path -> SHA-256, empty where none is declared.

    Raises
    ------
    ConfigError
        If the cluster does not say where a file lies, or says another digest than the application.
    """
    site = _site(declared, run).get("inputs", {})
    case: Mapping[str, Any] = declared.applications[run.application].document["launch"]["cases"][run.case]
    found = {}
    for name, digest in case.get("inputs", {}).items():
        if isinstance(site, str):
            found[f"{located(declared.base, site)}/{name}"] = str(digest)
            continue
        where = ("launch", "applications", run.application, "inputs")
        if name not in site:
            what = f"does not say where the input {name!r} lies"
            raise ConfigError(declared.cluster.fault(where, what, f"add '{name}: {{path: ...}}'"))
        own = site[name].get("sha256", "")
        if own and digest and own != digest:
            what = f"{name}: SHA-256 {own} here, {digest} in {declared.applications[run.application].source}"
            raise ConfigError(declared.cluster.fault((*where, name), what, "one of them is wrong"))
        found[located(declared.base, site[name]["path"])] = str(own or digest)
    return found


def _site(declared: Declared, run: Run) -> Mapping[str, Any]:
    site: Mapping[str, Any] = declared.launch["applications"][run.application]
    return site
