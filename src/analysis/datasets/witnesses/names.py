"""Witnesses of names: a library, a processor, a link that is called by one name and shows another."""

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from analysis.base.errors import Fault
from analysis.datasets.witnesses.hearing import Hearing, Testimony, witness
from analysis.datasets.witnesses.marks import mpi_libraries
from analysis.schema.stated import section

# Gbit/s by grade of InfiniBand, four lanes.
_GRADES = {"sdr": 8, "ddr": 16, "qdr": 32, "fdr": 56, "edr": 100, "hdr": 200, "ndr": 400, "xdr": 800}
_RATE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)[- ]?g(?:b|be|bps|bit|bits|bit/s)?(?![a-z])", re.IGNORECASE)
_GRADE = re.compile(rf"(?<![a-z])({'|'.join(_GRADES)})(\d{{2,3}})?(?![a-z])", re.IGNORECASE)
_OMNI = re.compile(r"omni-?path[- ]?(\d+)", re.IGNORECASE)
# A shaped link has a bucket, and a rate is a round number; none of them carries so much more than it says.
_OVER = 1.25
# A stream over TCP reaches a quarter of a fast link, a busy one less; not so little of it.
_UNDER = 1 / 16
_PORT = re.compile(r"infiniband\..*\.rate$|nic\..*\.speed$")


def _texts(run: Testimony) -> Iterator[tuple[str, str]]:
    """Give the texts of a run that can name a library, each with what it is."""
    yield "its command", str(run.row["command"])
    for key in ("mpi_library", "launcher"):
        if found := run.section(key):
            yield f"its {key}", f"{found.get('path', '')} {found.get('version', '')}"
    for key in ("modules", "libraries", "library_path"):
        if text := run.extra.get(key):
            yield f"its {key}", str(text)
    for variables in (run.section("environment"), run.section("facts", "environment")):
        if variables:
            yield "its environment", str(variables.get("LOADEDMODULES", ""))


@witness("MPI library of the record", "launcher, libraries, modules and output")
def libraries_named(case: Hearing) -> Iterator[Fault]:
    """Find runs whose command, modules, libraries or output name another library or version."""
    for run in case.runs:
        said = mpi_libraries(str(run.row["mpi"]))
        if len(said) != 1:
            continue
        (family, version), seen = said[0], list[tuple[str, str, str]]()
        for where, text in _texts(run):
            seen += [(where, *one) for one in mpi_libraries(text)]
        for file, mark in run.marks.items():
            seen += [(file, *one) for one in mark.libraries]
        by: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for where, other, number in seen:
            by[where].append((other, number))
        for where, found in by.items():
            if not any(other == family and _alike(number, version) for other, number in found):
                other, number = found[0]
                what = f"says {run.row['mpi']}, {where} {'names' if where[:3] == 'its' else 'says'}"
                yield case.of_run(run, f"{what} {other} {number}", "correct the record", key="mpi")


def _alike(one: str, other: str) -> bool:
    """Tell whether two versions are the same as far as both go."""
    return all(a == b for a, b in zip(one.split("."), other.split("."), strict=False))


@witness("processor of the record", "facts of its node")
def processors(case: Hearing) -> Iterator[Fault]:
    """Find runs whose processor has another number than that of the node that noted its facts."""
    for run in case.runs:
        model = str(run.section("facts", "facts", "cpu.Model name").get("value", ""))
        own = set(re.findall(r"\b[A-Z]?\d{4,5}\w*", str(run.row["cpu"])))
        seen = set(re.findall(r"\b[A-Z]?\d{4,5}\w*", model))
        if own and seen and not own & seen:
            what = f"says cpu {run.row['cpu']!r}, its node notes {model!r}"
            yield case.of_run(run, what, "correct the record", key="cpu")


def rate(label: str) -> float:
    """Return the rate in Gbit/s that the name of a link states, NaN if it states none."""
    if found := _GRADE.search(label):
        return float(found[2] or _GRADES[found[1].lower()])
    found = _OMNI.search(label) or _RATE.search(label)
    return float(found[1]) if found else float("nan")


@witness("name of a link", "bandwidth over it")
def rates_of_links(case: Hearing) -> Iterator[Fault]:
    """Find links that carry more than their name says, or next to nothing of it."""
    best: dict[str, list[tuple[float, Testimony]]] = defaultdict(list)
    for run in case.ended:
        stated = rate(str(run.row["interconnect"]))
        seen = _bandwidth(run)
        if run.row["nodes"] != 2 or not np.isfinite(stated) or not seen > 0:
            continue
        best[str(run.row["interconnect"])].append((seen / stated, run))
        if seen > _OVER * stated:
            what = f"says {run.row['interconnect']}, a link of {stated:g} Gbit/s, and moved {seen:.3g} Gbit/s"
            yield case.of_run(run, what, "it used another link: correct the record", key="interconnect")
    for link, seen_ in best.items():
        share, run = max(seen_, key=lambda one: one[0])
        if share < _UNDER:
            what = f"says {link}, over which no run moved more than {share * rate(link):.3g} Gbit/s"
            yield case.of_run(run, what, "they used another link: correct the records", key="interconnect")


def _bandwidth(run: Testimony) -> float:
    """Return the greatest bandwidth of one pair of ranks in one direction, Gbit/s; NaN without."""
    if run.result is None or "bandwidth" not in run.result:
        return float("nan")
    name = str(run.result.attrs.get("benchmark", ""))
    if name not in ("osu_bw", "osu_bibw"):
        return float("nan")
    values = run.result["bandwidth"].values.astype(float)
    return float(np.nanmax(values)) * 8e-3 / (2 if name == "osu_bibw" else 1) if values.size else float("nan")


@witness("name of a link", "ports of its node")
def ports_of_nodes(case: Hearing) -> Iterator[Fault]:
    """Find links that are faster than every port of the node that noted its facts."""
    for run in case.runs:
        noted = run.section("facts", "facts")
        ports = (section(noted, name) for name in noted if _PORT.search(name))
        rates = [_port(str(entry.get("value", "")), str(entry.get("unit", ""))) for entry in ports]
        known = [one for one in rates if np.isfinite(one) and one > 0]
        stated = rate(str(run.row["interconnect"]))
        if known and stated > _OVER * max(known) and run.row["nodes"] > 1:
            what = f"says {run.row['interconnect']}, its node has ports of at most {max(known):g} Gbit/s"
            yield case.of_run(run, what, "correct the record", key="interconnect")


def _port(text: str, unit: str) -> float:
    found = re.match(r"(\d+(?:\.\d+)?)(?: ?(G)b)?", text)
    if not found:
        return float("nan")
    return float(found[1]) * (1e-3 if unit.startswith("Mbit") and not found[2] else 1.0)


@witness("levels that the campaign's file names", "levels of runs")
def declared_names(case: Hearing) -> Iterator[Fault]:
    """Find levels that the campaign's file gives a name or pools, and that no run has."""
    names = case.declared.get("names")
    for factor, levels in names.items() if isinstance(names, dict) else ():
        have = {str(run.row[factor]) for run in case.runs if factor in run.row}
        for level in levels if have and isinstance(levels, dict) else ():
            if str(level) not in have:
                what = f"names {factor} {level!r}, which no run has; runs have {', '.join(sorted(have))}"
                file = f"config/campaigns/{case.folder.name}.yaml"
                yield Fault(file, 0, what, "were its runs renamed? correct the records or the name")
