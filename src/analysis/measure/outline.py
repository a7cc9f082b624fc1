"""A new campaign as files: its own, its cluster's and, of an unknown program, its application's."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.base.files import write_text
from analysis.base.models import known
from analysis.base.words import Level, meant
from analysis.datasets.applications import load_applications
from analysis.datasets.witnesses.marks import mpi_libraries
from analysis.measure import record
from analysis.measure.declare import Family
from analysis.measure.nodes import Kind, usual_counts
from analysis.schema.applications import Application, ApplicationLaunch, FolderBeside

# How the name of a library begins -> its family; any other is taken as the last.
_FAMILIES: dict[str, Family] = {
    "hpc": "hpcx", "mpich": "mpich", "intel": "intelmpi", "mvapich": "mvapich2", "platform": "platformmpi",
    "hp-mpi": "platformmpi", "ibverbs": "charm", "": "openmpi",
}  # fmt: skip
_CASE = "${case}"
_README_NAME = "README.md"
# What another way to start a known program keeps of its file.
_KEPT = ("threads", "link_inputs", "forward", "folder")
_CAMPAIGN = (
    "# The runs to measure: `benchbook plan {name}` lists them, docs/measure.md shows how to start them.\n"
)
_CLUSTER = """\
# {kind}
# Cores are numbered as on most machines, by socket, the first thread of each core first: `lscpu -e` on a node
# shows it. How a level of interconnect is chosen is in its environment, such as UCX_NET_DEVICES.
"""
_APPLICATION = "# How {name} is run. Without a figure of merit its speed is the time of a run.\n"
_README = """\
# {name}

What was measured, on what, when, and what the reader must know. Each run is a folder
`runs/<run>/` with `run.json` (see `vm-hpcg` for the keys) and the job's output, unchanged;
`sacct --parsable2` output next to `runs/` is joined by job id. A table `runs.csv` may take the
place of `runs/` (docs/campaigns.md).
"""
_BY_HAND = """\
title: {title}
evidence: measured # measured, published, simulated, modelled, reported or synthetic
hardware: not described # one line that names the CPUs, memory and network of the nodes
notes: []
# Which of this campaign's levels stands for a report's level, and how it differs from it.
# levels:
#   interconnect:
#     ib-fdr: {{ is: hdr100, distance: scaled, differs: "HDR100 InfiniBand" }}
levels: {{}}
"""


@dataclass(frozen=True)
class Wanted:
    """Your wishes for a campaign; empty fields are chosen from the nodes and the application."""

    name: str
    title: str = ""
    application: str = ""
    cases: Sequence[str] = ()
    nodes: Sequence[int] = ()
    ranks_per_node: Sequence[int | str] = ()
    mpi: Sequence[str] = ()
    interconnect: Sequence[str] = ()
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of other factors of the machine
    repeats: int = 6
    minutes: int = 60
    binary: str = ""
    input: str = ""  # its input file, or the folder of its input files
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # variables of all runs
    done: str = ""  # a text in the output of a good run, of an unknown program
    engine: str = ""  # the reader of its output
    cluster: str = ""
    partition: str = ""
    feature: str = ""
    account: str = ""
    search: bool = False  # whether the programs in PATH here are those of the nodes
    flags: bool = True  # whether what is missing can be given by a flag


@dataclass
class Outline:
    """The files of a new campaign, path -> text, and what is left to fill in."""

    files: dict[Path, str] = field(default_factory=dict)
    todo: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was chosen for you

    def write(self, base: Path) -> None:
        """Write all files; ConfigError, before any is written, if one is there already."""
        for path in self.files:
            if path.exists():
                raise ConfigError.at(str(path.relative_to(base)), 0, "exists already", "remove or rename it")
        for path, text in self.files.items():
            write_text(path, text)

    def remove(self) -> None:
        """Take the files away again, and the raw folder that was made for one of them."""
        for path in self.files:
            path.unlink()
            if path.name == _README_NAME:
                with suppress(OSError):  # there are runs in it
                    path.parent.rmdir()

    def report(self, base: Path) -> str:
        """Name the files that were written and what is left to fill in, a line each."""
        written = [f"wrote {path.relative_to(base)}" for path in self.files]
        return "\n".join([*written, *self.notes, *(f"fill in: {one}" for one in dict.fromkeys(self.todo))])


def by_hand(wanted: Wanted, base: Path) -> Outline:
    """Outline a campaign whose runs were measured otherwise: Benchbook starts nothing."""
    text = _BY_HAND.format(title=wanted.title or wanted.name)
    out = Outline({project.declaration(wanted.name, base): text, **_readme(wanted, base)})
    out.todo.append(f"runs in data/raw/{wanted.name}/runs/, hardware in config/campaigns/{wanted.name}.yaml")
    return out


def _readme(wanted: Wanted, base: Path) -> dict[Path, str]:
    return {project.raw(wanted.name, base) / _README_NAME: _README.format(name=wanted.name)}


def outline(wanted: Wanted, kind: Kind, base: Path) -> Outline:
    """Outline a campaign, with a cluster of `kind` unless it names one that is there.

    ConfigError if the application cannot be started or has no such case.
    """
    out = Outline()
    wanted, of = _own(wanted, base)
    launch, cases = _application(wanted, of, base, out)
    path = base / "config" / "clusters" / f"{wanted.cluster or wanted.name}.yaml"
    if wanted.search and not (wanted.cluster and path.is_file()):
        wanted, kind = _found(wanted, kind, of, base, out)
    libraries = list(wanted.mpi or kind.libraries[:1] or ["Open MPI"])
    if wanted.cluster and path.is_file():
        if unused := [flag for flag in ("binary", "input") if getattr(wanted, flag)]:
            what = f"{_source(path)} has the program and its input, and stays as it is"
            raise ConfigError.at(f"--{unused[0]}", 0, what, "leave the flag out, or --cluster")
        there = project.load_yaml(path).get("launch", {})
        libraries = list(wanted.mpi or list(there.get("mpi", {}))[:1])
        kind = replace(kind, nodes=int(there.get("nodes", 1)))
    else:
        if not (wanted.mpi or kind.libraries):
            out.todo.append(f"{_source(path)}: the MPI library with its version, and how it is started")
        content = cluster(replace(wanted, mpi=libraries, cases=cases), kind, launch, out, _source(path))
        out.files[path] = _CLUSTER.format(kind=str(kind) if kind.slurm else "This machine") + as_yaml(content)
    content = campaign(
        wanted.title or f"{wanted.application} on {path.stem}",
        path.stem,
        wanted.repeats,
        [_subset(wanted, kind, cases, libraries)],
    )
    content["matrix"] |= {"environment": dict(wanted.environment)} if wanted.environment else {}
    text = _CAMPAIGN.format(name=wanted.name) + as_yaml(content)
    out.files = {project.declaration(wanted.name, base): text, **out.files, **_readme(wanted, base)}
    return out


def _found(wanted: Wanted, kind: Kind, of: str, base: Path, out: Outline) -> tuple[Wanted, Kind]:
    """Take the program in PATH if no path is given, and the MPI library that it is linked to."""
    path = _application_file(of, base)
    launch = models.load(Application, path, _source(path)).launch if path.is_file() else None
    case = (wanted.cases or cases_of(of, base) or [""])[0]
    names = names_of(of, launch, wanted)
    if not wanted.binary and (program := in_path([name.replace(_CASE, case) for name in names], wanted.mpi)):
        if _CASE in names[0]:  # a program for each case
            program = str(Path(program).with_name(names[0]))
        out.notes.append(f"took: {program}, which is in PATH; --binary gives another")
        wanted = replace(wanted, binary=program)
    library = library_of(wanted.binary.replace(_CASE, case)) if wanted.binary else ""
    if library and not wanted.mpi:
        out.notes.append(f"took: {library}, to which it is linked; --mpi gives another")
        kind = replace(kind, libraries=(library,))
    for other in wanted.mpi if library else ():
        if family_of(other) != family_of(library):
            out.notes.append(f"check: {wanted.binary} is linked to {library}, and {other} is to start it")
    return wanted, kind


def names_of(application: str, launch: ApplicationLaunch | None, wanted: Wanted) -> list[str]:
    """Return what the program of an application may be called in PATH: by its file, or by an input of it."""
    if launch is None:
        return [application]
    names = list(launch.programs)
    if launch.named_in and wanted.input:
        with suppress(OSError):
            text = (Path(wanted.input) / launch.named_in.file).read_text(encoding="utf-8", errors="replace")
            names += re.findall(rf"^\s*{re.escape(launch.named_in.word)}\s+(\w+)", text, re.MULTILINE)
    return names or [application]


def folder_of(program: str, wanted: FolderBeside) -> str:
    """Return the folder next to a program, or next to one above it, that a variable has to name; or nothing.

    What the variable is where the command is given, the job gets from there.
    """
    if "/" not in program or wanted.variable in os.environ:
        return ""
    above = Path(program).resolve().parents
    folders = ((one / place).resolve() for one in above for place in wanted.places)
    return next((str(one) for one in folders if (one / wanted.holds).is_file()), "")


def in_path(names: Iterable[str], libraries: Sequence[str] = ()) -> str:
    """Return the path of the first of some programs that is in PATH; empty if none is.

    Debian adds the library to the name where it has several builds: ``nwchem.openmpi``. One of `libraries`
    goes first.
    """
    ends = [f".{family_of(one)}" for one in libraries] + ["", ".openmpi", ".mpich"]
    paths = (shutil.which(name + end) for name in names for end in ends)
    return next((path for path in paths if path), "")


def library_of(program: str) -> str:
    """Return name and version of the MPI library that a program is linked to; empty if it has none."""
    path = shutil.which(program) or ""
    said = (record.mpi_library(record.linked(path, ""), "") or {}).get("version", "") if path else ""
    return " ".join(next(iter(mpi_libraries(said)), ()))


def _application_file(name: str, base: Path) -> Path:
    return base / "config" / "applications" / f"{name}.yaml"


def _source(path: Path) -> str:
    """Name a file of the configuration as messages do."""
    return "/".join(path.parts[-3:])


def _applications(base: Path) -> dict[str, Any]:
    paths = sorted((base / "config" / "applications").glob("*.yaml"))
    return {path.stem: project.load_yaml(path) for path in paths}


def applications(base: Path) -> list[str]:
    """Name the applications that Benchbook can start."""
    return [name for name, content in _applications(base).items() if "launch" in content]


def engines(base: Path) -> list[str]:
    """Name the readers of the applications that are known."""
    known = load_applications(base / "config" / "applications")
    return sorted({one.engine for one in known.values()} - {""})


def cases_of(application: str, base: Path) -> list[str]:
    """Name the cases of an application; none of an unknown one."""
    return list(_applications(base).get(application, {}).get("launch", {}).get("cases", {}))


def _own(wanted: Wanted, base: Path) -> tuple[Wanted, str]:
    """Give a known application a file of its own if flags say how it is run; return its known name too."""
    flags = wanted.arguments or wanted.done or wanted.engine
    if flags and _application_file(wanted.application, base).is_file():
        return replace(wanted, application=f"{wanted.application}-{wanted.name}"), wanted.application
    return wanted, wanted.application


def _application(wanted: Wanted, of: str, base: Path, out: Outline) -> tuple[ApplicationLaunch, list[str]]:
    """Load the application with the cases to run, or outline an unknown one, or another way to run `of`."""
    path = _application_file(wanted.application, base)
    source = _source(path)
    if not path.is_file():
        made = _new_application(wanted, of, base)
        out.files[path] = _APPLICATION.format(name=wanted.application) + as_yaml(made)
        missing = "" if wanted.arguments else "its arguments"
        if of == wanted.application:
            missing = "its figure of merit" if wanted.arguments else "its arguments, and its figure of merit"
        out.todo += [f"{source}: {missing}"] if missing else []
        return ApplicationLaunch.model_validate(made["launch"]), list(wanted.cases) or ["run"]
    launch = models.load(Application, path, source).launch
    if launch is None:
        what = f"nothing says how to start {wanted.application!r}"
        raise ConfigError.at(source, 0, what, f"declare its launch there; {_can_start(base)}")
    for case in wanted.cases:
        if case not in launch.cases:
            what = f"{wanted.application} has no case {case!r}"
            raise ConfigError.at("--case", 0, what, known(case, launch.cases))
    takes = [name for name, case in launch.cases.items() if case.inputs or launch.link_inputs]
    cases = list(wanted.cases) or (takes if wanted.input and takes else list(launch.cases))[:1]
    if wanted.input and not set(cases) & set(takes):
        what = f"{wanted.application} takes no input" + (f" for {', '.join(cases)}" if takes else "")
        remedy = f"give --case {takes[0]}" if takes else "leave it out, or name it in --arguments"
        raise ConfigError.at("--input", 0, what, remedy)
    return launch, cases


def _can_start(base: Path) -> str:
    return f"Benchbook can start {', '.join(applications(base))}"


def _new_application(wanted: Wanted, of: str, base: Path) -> dict[str, Any]:
    declared = load_applications(base / "config" / "applications")
    known = declared.get(of)
    engine = wanted.engine or (known.engine if known else "")
    there = known.launch if known else None
    done = wanted.done or (there.result.text if there else "")
    if len(done) < 3:
        what = "nothing says how to start" if known else "no application is called"
        asked = "" if known else meant(wanted.application, declared)
        remedy = f"{asked} if not, " if asked else ""
        remedy += (
            "give --done TEXT, a text in its output after a good run, and --engine READER if one of these "
        )
        remedy += f"reads its output: {', '.join(engines(base))}; {_can_start(base)}"
        raise ConfigError.at("--application", 0, f"{what} {wanted.application!r}", remedy)
    cases: dict[str, Any] = {case: {} for case in wanted.cases or ["run"]}
    arguments = [text.replace("$", "$$") for text in wanted.arguments]
    kept = there.model_dump(include=set(_KEPT), exclude_defaults=True) if there else {}
    if wanted.input and Path(wanted.input).is_dir():
        kept["link_inputs"] = True
    elif wanted.input and not kept.get("link_inputs"):
        called = (wanted.input, Path(wanted.input).name)
        if not set(called) & set(wanted.arguments):
            remedy = f"name {called[1]} there, or give the folder, whose files the job finds in its own"
            raise ConfigError.at("--input", 0, "no word of --arguments is this file", remedy)
        arguments = ["${input}" if text in called else text for text in arguments]
        cases = {case: {"inputs": {"input": ""}} for case in cases}
    file = "stdout.txt" if wanted.done or not there else there.result.file
    launch = {"arguments": arguments, **kept, "result": {"file": file, "text": done}, "cases": cases}
    if known and known.engine == engine:
        return known.model_dump(exclude={"options", "launch"}) | {"launch": launch}
    head = {"title": wanted.application, "engine": engine, "figure_of_merit": "", "unit": ""}
    return {**head, "higher_is_better": False, "fixed_time": False, "launch": launch}


def campaign(title: str, on: str, repeats: int, subsets: Sequence[Any], **more: Any) -> dict[str, Any]:
    """Make the content of a campaign's file, for a campaign that you measure on a cluster."""
    head = {"title": title, "evidence": "measured", "hardware": "${machine}", "notes": [], **more}
    return {**head, "matrix": {"cluster": on, "seed": 1, "repeats": repeats, "subsets": list(subsets)}}


def _subset(wanted: Wanted, kind: Kind, cases: Sequence[str], libraries: Sequence[str]) -> dict[str, Any]:
    nodes = list(wanted.nodes) or list(usual_counts(kind.nodes))
    factors: dict[str, Any] = {
        "nodes": one_or_list(nodes),
        "ranks_per_node": one_or_list(list(wanted.ranks_per_node) or ["all"]),
        "mpi": one_or_list(as_names(libraries)),
    }
    if wanted.interconnect:
        factors["interconnect"] = one_or_list(as_names(wanted.interconnect))
    varied = [name for name, level in factors.items() if isinstance(level, list)]
    why = f"what {wanted.application} does by {' and '.join(varied).replace('_', ' ')}" if varied else ""
    return {
        "name": wanted.application,
        "why": why or f"how fast {wanted.application} is, and how much its repeats scatter",
        "application": wanted.application,
        "case": one_or_list(list(cases)),
        "factors": factors,
    }


def cluster(
    wanted: Wanted, kind: Kind, program: ApplicationLaunch | None, out: Outline, place: str, **more: Any
) -> dict[str, Any]:
    """Make the content of a cluster's file; what you must fill in there, in `place`, goes to `out`."""
    launch: dict[str, Any] = {"scheduler": "slurm" if kind.slurm else "none", "nodes": kind.nodes}
    launch["cores"] = kind.numbers if kind.slurm else "auto"
    if kind.slurm:
        launch |= {"memory": kind.memory, "minutes": wanted.minutes}
        partition = wanted.partition or (kind.partitions[0] if kind.partitions else "")
        launch |= {name: text for name, text in _chosen(wanted, kind, partition).items() if text}
    named = zip(as_names(wanted.mpi), wanted.mpi, strict=True)
    launch["mpi"] = {name: _library(text, search=wanted.search) for name, text in named}
    if wanted.application == "proxy" and not wanted.binary:  # built where it runs
        for entry in launch["mpi"].values():
            names = (f"mpicc.{entry['family']}", "mpicc") if wanted.search else ()
            entry["compiler"] = next(filter(None, map(shutil.which, names)), "/path/to/mpicc")
            if entry["compiler"].startswith("/path/to"):
                out.todo.append(f"{place}: where the compiler of {entry['name']} is, for /path/to/mpicc")
    for factor, levels in {"interconnect": as_names(wanted.interconnect), **wanted.levels}.items():
        if levels:
            launch[factor] = {level: {} for level in levels}
            out.todo.append(f"{place}: how each {factor} is chosen, its environment or partition")
    launch |= more
    site = _site(wanted, program, place, out)
    if program and program.folder and (found := folder_of(wanted.binary, program.folder)):
        out.notes.append(f"took: {program.folder.variable}={found}, which is next to the program")
        site["environment"] = {program.folder.variable: found}
    launch["applications"] = {wanted.application: site}
    facts = list(kind.facts) or [{"what": "CPU, memory, network", "value": "fill in", "source": "data sheet"}]
    return {"title": f"The cluster of {wanted.name}", "facts": facts, "launch": launch}


def _chosen(wanted: Wanted, kind: Kind, partition: str) -> Mapping[str, str]:
    """Say how nodes of this kind alone are asked for: by partition, account and features."""
    feature = wanted.feature or "&".join(kind.features)
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._:&|,*-]*", feature)
    return {"partition": partition, "account": wanted.account, "constraint": feature if plain else ""}


def _site(wanted: Wanted, launch: ApplicationLaunch | None, place: str, out: Outline) -> dict[str, Any]:
    """Say where the program is, and its input files if it has some."""
    if wanted.application == "proxy" and not wanted.binary:
        return {"build": "proxy", "variant": "-O2"}
    if not wanted.binary:
        out.todo.append(f"{place}: where the program is, for /path/to{' (or give --binary)' * wanted.flags}")
    program = wanted.binary or f"/path/to/{wanted.application}"
    if wanted.application == "osu" and _CASE not in program:
        program += "/osu_${case}"
    cases = [] if launch is None else [launch.cases[case] for case in wanted.cases]
    names = sorted({name for case in cases for name in case.inputs})
    if not names and not (launch and launch.link_inputs):
        return {"program": program}
    if not wanted.input:
        flag = " (or give --input)" * wanted.flags
        out.todo.append(f"{place}: the folder of the input files, for /path/to/inputs{flag}")
        return {"program": program, "inputs": "/path/to/inputs"}
    path = Path(wanted.input).absolute()
    if not path.exists():
        raise ConfigError.at("--input", 0, f"there is no {wanted.input}", "give the path of a file or folder")
    if not (path.is_dir() or names):
        what = f"{wanted.input} is a file, and {wanted.application} needs its folder"
        raise ConfigError.at("--input", 0, what, "give the folder: the job finds its files in its own")
    return {
        "program": program,
        "inputs": str(path) if path.is_dir() else {n: {"path": str(path)} for n in names},
    }


def _library(name: str, *, search: bool = False) -> dict[str, str]:
    """Write the entry of an MPI library in a cluster's file, with the launcher that is called as it."""
    family = family_of(name)
    entry = {"family": family, "name": name, "start": "charmrun" if family == "charm" else "mpirun"}
    launcher = f"mpirun.{family}"
    return entry | ({"launcher": launcher} if search and shutil.which(launcher) else {})


def family_of(mpi: str) -> Family:
    """Tell the family of an MPI library by how its name begins; an unknown one is taken as Open MPI."""
    return next(family for head, family in _FAMILIES.items() if mpi.lower().startswith(head))


def as_names(levels: Iterable[Level]) -> list[str]:
    """Spell levels as a file may name them."""
    return [re.sub(r"[^A-Za-z0-9._-]+", "-", str(level)).strip("-.") for level in levels]


def one_or_list(levels: list[Any]) -> Any:
    """Write one level alone."""
    return levels[0] if len(levels) == 1 else levels


def as_yaml(content: Mapping[str, Any]) -> str:
    """Write a file's content as YAML, in its order."""
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110))
