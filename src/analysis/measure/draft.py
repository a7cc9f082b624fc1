"""The campaign that would test a claim, or show which of several causes it is, and its cluster."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.base import models, project
from analysis.base.errors import ConfigError, Fault
from analysis.base.words import Level, counted, meant
from analysis.claims.model import Claim, load_report
from analysis.claims.needed import Needed, needed
from analysis.datasets.applications import load_applications
from analysis.estimates import confounding
from analysis.estimates.finding import Cell, Confounded
from analysis.estimates.stats import MIN_REPEATS
from analysis.measure.cores import PLACEMENTS, Cores
from analysis.measure.cost import Cost, cost
from analysis.measure.declare import PRESETS, ClusterFile, Family, Launch, Presets, load
from analysis.measure.matrix import expand
from analysis.measure.nodes import Kind
from analysis.measure.outline import (
    Outline,
    Wanted,
    as_names,
    as_yaml,
    campaign,
    cluster,
    family_of,
    one_or_list,
)
from analysis.schema.applications import Application, ApplicationLaunch
from analysis.schema.campaigns import DEFAULTS, OF_MACHINE, CampaignFile
from analysis.schema.factors import BY_NAME, is_known, label

# What "tuned" is for a family, of src/analysis/measure/presets.yaml.
_TUNED: dict[Family, str] = {
    "openmpi": "fca-mxm", "hpcx": "hcoll", "intelmpi": "shm-ofa", "mvapich2": "no-rdma-fast-path",
    "platformmpi": "xrc",
}  # fmt: skip
_COUNTED = tuple(name for name in DEFAULTS if BY_NAME[name].dtype == "i4")
_CORES = 20

_CAMPAIGN = """\
# Levels are called as in the report: a level of yours that only stands for one belongs under `levels`, with
# its distance and how it differs.
"""
_TELLING = """\
# The fewest runs that show which of several causes it is: `benchbook plan {name}` shows them, in mixed order.
# Measure them in one go; which of the causes it is, `benchbook findings {name}` says then.
"""
_REPEATING = """\
# The runs of another campaign, as often as they were good there: `benchbook plan {name}` shows them.
"""
_CLUSTER = """\
# The cluster that the campaign of the same name asks for. Fill in what is yours: cores of each socket, memory
# in MB, partition, each /path/to, names of libraries with their versions (then under `levels` of the campaign
# too), and the partition, constraint or environment by which each level is chosen.
"""


def draft(name: str, own: str = "", base: Path | None = None) -> Outline:
    """Outline the campaign that would test a claim, called as the claim; write its files.

    Without a cluster of your `own`, a file of one with the same name is among them. Raises ConfigError if
    there is no such claim, if its runs are no matrix, or if a file is there already.
    """
    base = base or project.root()
    claim = find(name, base)
    wanted = needed(claim)
    applications = load_applications(base / "config" / "applications")
    cases = _cases(claim, wanted, applications)
    subsets = _subsets(wanted, cases)
    content = _campaign(claim, wanted, cases, subsets, own or claim.id)
    out = Outline({project.declaration(claim.id, base): _CAMPAIGN + as_yaml(content)})
    if own:
        out.todo.append(f"levels that {own} calls otherwise, in the campaign's file")
    else:
        place = f"config/clusters/{claim.id}.yaml"
        out.todo.append(f"{place}: cores, memory, partition and launchers")
        like = Wanted(claim.id, application=wanted.application, cases=tuple(cases.values()))
        factors = [one["factors"] for one in subsets]
        content = _cluster(like, factors, applications[wanted.application].launch, out, place)
        out.files[base / place] = _CLUSTER + as_yaml(content)
    out.todo += _beyond(wanted)
    out.write(base)
    return out


def price(claim: str, base: Path | None = None) -> Cost:
    """Work out what the campaign that would test a claim costs, and leave no file; errors as `draft`."""
    config = (base or project.root()) / "config"
    with TemporaryDirectory() as scratch:
        there = Path(scratch)
        (there / "config").mkdir()
        for folder in ("claims", "applications"):
            (there / "config" / folder).symlink_to(config.resolve() / folder)
        files = draft(claim, base=there).files
        plan = expand(load(next(iter(files)).stem, there))
        return cost(plan, plan.runs)


def to_tell(name: str, source: str, found: Sequence[tuple[Confounded, str]], own: str = "") -> Outline:
    """Outline the campaign of the fewest runs that show which of several causes effects of another one have.

    `found` are these effects, each with its sentence. Without a cluster of your `own` it is that of the other
    campaign; if that has none, a file of one is outlined too. Raises ConfigError if there is no such effect,
    or a matrix cannot vary the causes.
    """
    base = project.root()
    if not found:
        what = "no effect has several causes that changed together"
        raise ConfigError.at(source, 0, what, "see benchbook findings: there is nothing to find out")
    varied = [(mixed, sentence) for mixed, sentence in found if not _fixed(mixed)]
    if not varied:
        what = f"changed together with {label(_fixed(found[0][0]))}, which no matrix can vary"
        raise ConfigError.at(source, 0, what, "measure a campaign for each level of it")
    cells = confounding.to_tell([mixed for mixed, _ in varied])
    declared = models.load(CampaignFile, project.declaration(source, base))
    on = own or (declared.matrix.cluster if declared.matrix else name)
    place = base / "config" / "clusters" / f"{on}.yaml"
    called = _called(_launch(place))
    subsets = [_cell_subset(at, cell, count, called) for at, (cell, count) in enumerate(cells, 1)]
    notes = [f"To find out, from {source}: {sentence}." for _, sentence in varied]
    more = {"notes": notes, **({"names": declared.names} if declared.names else {})}
    content = campaign(f"What changed together in {source}", on, MIN_REPEATS, subsets, **more)
    out = Outline({project.declaration(name, base): _TELLING.format(name=name) + as_yaml(content)})
    if not place.is_file():
        file = f"config/clusters/{on}.yaml"
        out.todo.append(f"{file}: cores, memory, partition and launchers")
        libraries = list(dict.fromkeys(str(cell["mpi"]) for cell, _ in cells if is_known(cell["mpi"])))
        content = _cluster_of(subsets, libraries, base, out, file)
        out.files[place] = _CLUSTER + as_yaml(content)
    return out


def repeated(
    name: str,
    source: str,
    runs: Sequence[Mapping[str, Any]],
    own: str = "",
    renamed: Mapping[tuple[str, str], str] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> tuple[Outline, Counter[str]]:
    """Outline the campaign that repeats runs of another one; return it, and what it leaves out and why.

    `renamed` has your own levels, by factor and level of the records, `variables` those that its runs had:
    one that your cluster's file sets stays as it is there. Without a cluster of your `own` a file of one is
    outlined too. Raises ConfigError if no run can be repeated.
    """
    base = project.root()
    on = own or name
    place = base / "config" / "clusters" / f"{on}.yaml"
    fit = _Fit(place, runs, renamed or {}, load_applications(base / "config" / "applications"))
    cells, left = dict[str, list[bool]](), Counter[str]()
    for run in runs:
        cell, why = fit.cell(run)
        if why:
            left[why] += 1
        else:
            cells.setdefault(json.dumps(cell), []).append(run["timing"])
    if not cells:
        of = f"of {counted(len(runs), 'run')} cannot be repeated"
        raise ConfigError(*(Fault(source, 0, f"{count:,} {of}", why) for why, count in left.items()))
    subsets = []
    for number, (text, timed) in enumerate(cells.items(), 1):
        cell = json.loads(text)
        # Jobs at once are one run of a matrix, and leave a record each.
        repeats = math.ceil(len(timed) / int(cell["concurrent_jobs"] or 1))
        subset = {**_cell_subset(number, cell, repeats, {}), "why": f"as it was measured in {source}"}
        if "profiler" in subset["factors"] and not any(timed):  # its times counted there neither
            subset["profiled"] = subset["factors"].pop("profiler")
        subsets.append(subset)
    content = campaign(f"{source} repeated on {on}", on, MIN_REPEATS, subsets)
    mine = _set_in(project.load_yaml(place)) if place.is_file() else set()
    carried = {variable: value for variable, value in (variables or {}).items() if variable not in mine}
    content["matrix"] |= {"environment": carried} if carried else {}
    out = Outline({project.declaration(name, base): _REPEATING.format(name=name) + as_yaml(content)})
    out.notes += [f"took: {variable}={value}, as the runs had it" for variable, value in carried.items()]
    if not place.is_file():
        file = f"config/clusters/{on}.yaml"
        out.todo.append(f"{file}: cores, memory, partition and launchers")
        libraries = list(dict.fromkeys(str(run["mpi"]) for run in runs if is_known(run["mpi"])))
        out.files[place] = _CLUSTER + as_yaml(_cluster_of(subsets, libraries, base, out, file))
    return out, left


def _set_in(content: Any) -> set[str]:
    """Return the variables that a cluster's file sets, anywhere in it."""
    if not isinstance(content, dict):
        return set()
    own = content.get("environment")
    found = set(map(str, own)) if isinstance(own, dict) else set()
    return found.union(*(_set_in(value) for value in content.values()))


# The factors of which a matrix has to name a level where the cluster has any.
_CHOSEN = ("mpi", "interconnect")


class _Fit:
    """Finds for runs of another cluster the levels of one's own."""

    def __init__(
        self,
        place: Path,
        runs: Sequence[Mapping[str, Any]],
        renamed: Mapping[tuple[str, str], str],
        applications: Mapping[str, Application],
    ) -> None:
        self._own, self._name = _launch(place), place.stem
        self._renamed, self._applications = renamed, applications
        self._called = _called(self._own)
        self._seen = {
            factor: {str(run[factor]) for run in runs if is_known(run[factor])} for factor in DEFAULTS
        }
        builds = Counter((run["application"], run["build"]) for run in runs)
        self._builds = {app: build for (app, build), _ in reversed(builds.most_common())}

    def cell(self, run: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the cell of a run as a matrix of this cluster names it, or why it has none."""
        name = str(run["application"])
        launch = self._applications[name].launch if name in self._applications else None
        declare = f"declare it in config/applications/{name}.yaml"
        if launch is None:
            return {}, f"nothing says how to start {name!r}: {declare}"
        if run["build"] != self._builds[name]:
            return {}, f"{name} of build {run['build']!r}: a matrix has one build, {self._builds[name]!r}"
        case = {_plain(known): known for known in launch.cases}.get(_plain(str(run["case"])))
        if case is None:
            return {}, f"{name} has no case {run['case']!r}: {declare}"
        inputs = bool(launch.link_inputs or launch.cases[case].inputs)
        if self._own and (why := self._lacks(self._own, run, inputs)):
            return {}, why
        cell: dict[str, Any] = {**dict.fromkeys(DEFAULTS, ""), "application": name, "case": case}
        for factor in (one for one in DEFAULTS if is_known(run[one]) or one in _CHOSEN):
            theirs = str(run[factor]) if is_known(run[factor]) else ""
            level, fits = self._level(factor, run, self._renamed.get((factor, theirs), run[factor]))
            if not fits:
                what = (
                    f"no {factor} {theirs!r}"
                    if theirs
                    else f"several levels of {factor}, the crate names none"
                )
                return {}, f"{self._name} has {what}: give --level '{factor}={theirs}:YOURS'"
            cell[factor] = level
        return cell, ""

    def _lacks(self, own: Launch, run: Mapping[str, Any], inputs: bool) -> str:
        """Say what a run needs that this cluster has not; empty if it has all."""
        site = own.applications.get(str(run["application"]))
        if site is None or (inputs and not site.inputs):
            what = "program" if site is None else "input files"
            file = f"config/clusters/{self._name}.yaml"
            return f"{self._name} has no {what} of {run['application']!r}: name it in {file}"
        if int(run["nodes"]) > own.nodes:
            return f"{self._name} has no {run['nodes']} nodes"
        cores = Cores.declared(own.cores).usable(str(run["placement"] or DEFAULTS["placement"]))
        jobs = max(1, int(run["concurrent_jobs"]))
        wanted = max(1, int(run["ranks_per_node"])) * max(1, int(run["threads"])) * jobs
        if jobs > cores or (wanted > cores and not own.oversubscribe):
            return f"{self._name} has {counted(cores, 'core')} on a node for {wanted} ranks and threads"
        return ""

    def _level(self, factor: str, run: Mapping[str, Any], level: Any) -> tuple[Any, bool]:
        """Return a level by its own name here, and whether there is one; a blank is the factor's default."""
        named = factor in (*_CHOSEN, *OF_MACHINE, "profiler") and not BY_NAME[factor].numeric
        if self._own is None or not named or (factor == "profiler" and level == DEFAULTS[factor]):
            return level, True
        there = self._own.profilers if factor == "profiler" else self._own.levels(factor)
        level = self._called.get(str(level), level) if factor == "mpi" else level
        if level in there:
            return level, True
        # One level of all runs is what their machine is, and was not chosen, but for a library of MPI that
        # they name; no link is used on one node.
        alike = len(self._seen[factor]) < (1 if factor == "mpi" else 2)
        alike = alike or (factor == "interconnect" and run["nodes"] == 1)
        if factor in _CHOSEN and there:
            return next(iter(there)), alike and len(there) == 1
        return "", alike and factor in OF_MACHINE


def _launch(path: Path) -> Launch | None:
    """Return how a cluster's file starts jobs; nothing without a file."""
    if not path.is_file():
        return None
    launch = models.load(ClusterFile, path).launch
    if launch is None:
        what = "has no part 'launch'"
        raise ConfigError.at(f"config/clusters/{path.name}", 0, what, "say there how jobs are started")
    return launch


def _fixed(mixed: Confounded) -> str:
    """Name a cause that no matrix can vary, empty if a matrix can vary all of them."""
    causes = (name for name in mixed.causes if name in BY_NAME and name not in (*DEFAULTS, "case"))
    return next(causes, "")


def _called(launch: Launch | None) -> Mapping[str, str]:
    """Return what a cluster's file, if there is one, calls each MPI library, by the name of the records."""
    return {library.name: key for key, library in launch.mpi.items()} if launch else {}


def _cell_subset(number: int, cell: Cell, count: int, called: Mapping[str, str]) -> dict[str, Any]:
    """Make a subset of one cell, as often as it is to be run."""
    factors: dict[str, Any] = {}
    for factor in (name for name in DEFAULTS if is_known(cell[name])):
        level = cell[factor]
        if isinstance(level, str):
            level = called.get(level) or as_names([level])[0]
        if level != DEFAULTS[factor]:
            factors[factor] = level
    head = {"name": f"cell-{number}", "why": "differs in one cause from another cell"}
    work = {"application": cell["application"], "case": cell["case"] or "run"}
    return {**head, **work, "factors": factors, "repeats": count}


def _cluster_of(
    subsets: Sequence[Mapping[str, Any]], libraries: Sequence[str], base: Path, out: Outline, place: str
) -> dict[str, Any]:
    """Make the content of the file of a cluster on which all subsets can run."""
    known, content = load_applications(base / "config" / "applications"), dict[str, Any]()
    for name in dict.fromkeys(str(one["application"]) for one in subsets):
        if name not in known or (program := known[name].launch) is None:
            what = f"nothing says how to start {name!r}"
            raise ConfigError.at(f"config/applications/{name}.yaml", 0, what, "declare its launch there")
        cases = tuple(dict.fromkeys(str(one["case"]) for one in subsets if one["application"] == name))
        wanted = Wanted(Path(place).stem, application=name, cases=cases, mpi=libraries)
        factors = [{"profiler": one.get("profiled", []), **one["factors"]} for one in subsets]
        made = _cluster(wanted, factors, program, out, place)
        content = content or made
        content["launch"]["applications"].update(made["launch"]["applications"])
    return content


def find(name: str, base: Path) -> Claim:
    """Return a claim of any report by its id or one of those that it covers."""
    there: dict[str, Claim] = {}
    for path in sorted((base / "config" / "claims").glob("*.yaml")):
        if path.stem == "not_testable":
            continue
        for claim in load_report(path).claims:
            there |= dict.fromkeys((claim.id, *claim.ids), claim)
        if name in there:
            return there[name]
    remedy = f"{meant(name, there)} `benchbook list claims` lists them".strip()
    raise ConfigError.at("--claim", 0, f"no claim is called {name!r}", remedy)


def _beyond(wanted: Needed) -> list[str]:
    """Name what the runs need and no matrix says."""
    found = [
        f"what stands for {factor} {' and '.join(map(str, wanted.levels[factor]))}, under `levels`"
        for factor in ("cluster", "build", "target_time")
        if factor in wanted.levels
    ]
    if wanted.energy:
        found.append("a power meter of each node, `power` of the cluster's file")
    if "nodes" not in wanted.levels:
        found.append("the number of nodes, on which the report is silent")
    return found


def _cases(claim: Claim, wanted: Needed, applications: Mapping[str, Application]) -> dict[str, str]:
    """Find the application's case for each of the report's; refuse what cannot be a matrix."""
    if wanted.looked_up:
        raise ConfigError.at("--claim", 0, f"no run tests {claim.id!r}", f"it needs {wanted.line}")
    if not wanted.application:
        remedy = "add it under its `select`, as in `application: hpcg`"
        raise ConfigError.at("--claim", 0, f"claim {claim.id!r} names no application", remedy)
    source = f"config/applications/{wanted.application}.yaml"
    application = applications.get(wanted.application)
    if application is None or application.launch is None:
        what = f"nothing says how to start {wanted.application!r}"
        raise ConfigError.at(source, 0, what, "declare its launch there")
    for factor in wanted.compared:
        if factor not in (*DEFAULTS, "case") or (factor == "placement" and not _placements(wanted)):
            what = f"claim {claim.id!r} compares {factor}, which no matrix can vary"
            raise ConfigError.at("--claim", 0, what, "measure a campaign for each level of it")
    known = {_plain(name): name for name in application.launch.cases}
    found = {}
    for case in wanted.cases or tuple(application.launch.cases)[:1]:
        if _plain(case) not in known:
            there = ", ".join(application.launch.cases)
            raise ConfigError.at(source, 0, f"has no case for {case!r}", f"declare one; there are {there}")
        found[case] = known[_plain(case)]
    return found


def _plain(case: str) -> str:
    text = re.sub(r"^(\d+)³$", r"nx\1", case.removeprefix("osu_"))
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _subsets(wanted: Needed, cases: Mapping[str, str]) -> list[dict[str, Any]]:
    """Make a subset for each MPI library: what tunes one is nothing to another."""
    levels = wanted.levels
    alike = _alike(wanted)
    found = []
    for mpi in as_names(levels.get("mpi") or [_library(levels.get("tuning", ()))]):
        tunings = [_tuning(str(level), mpi) for level in levels.get("tuning", ())]
        factors = {"mpi": [mpi], **alike, **({"tuning": list(dict.fromkeys(tunings))} if tunings else {})}
        found.append(
            {
                "name": mpi,
                "why": wanted.line,
                "application": wanted.application,
                "case": one_or_list(list(dict.fromkeys(cases.values()))),
                "factors": {factor: one_or_list(every) for factor, every in factors.items()},
            }
        )
    return found


def _alike(wanted: Needed) -> dict[str, list[Any]]:
    """Return the levels of the factors that every library has alike."""
    levels = wanted.levels
    found: dict[str, list[Any]] = {
        factor: list(levels[factor]) if BY_NAME[factor].numeric else as_names(levels[factor])
        for factor in OF_MACHINE
        if factor in levels
    }
    found |= {factor: _counts(levels[factor]) for factor in _COUNTED if factor in levels}
    if "ranks_per_node" in wanted.varying:  # all that a job has: half of them where two jobs run at once
        found["ranks_per_node"] = ["all"]
    found.setdefault("nodes", [2 if "interconnect" in wanted.compared else 1])
    if "ranks" in levels and "ranks_per_node" not in levels:
        # So many ranks in all, on the fewest nodes asked for.
        found["ranks_per_node"] = [max(1, -(-max(_counts(levels["ranks"])) // min(found["nodes"])))]
    if wanted.profile:
        found["profiler"] = ["ipm"]
    if placements := _placements(wanted):
        found["placement"] = placements
    return found


def _placements(wanted: Needed) -> list[str]:
    """Return the placements that the runs need, where a job can be placed so."""
    placements = as_names(wanted.levels.get("placement", ()))
    return placements if set(placements) <= set(PLACEMENTS) else []


def _library(tunings: Iterable[Level]) -> str:
    """Return the library of a report that names none: one that its tuning is for."""
    known = models.load(Presets, PRESETS).tuning
    families = [family for level in map(str, tunings) if level in known for family in known[level].families]
    return families[0] if families else "openmpi"


def _tuning(level: str, mpi: str) -> str:
    return {"untuned": "default", "tuned": _TUNED.get(family_of(mpi), "default")}.get(level, level)


def _counts(levels: Iterable[Level]) -> list[int]:
    return sorted({int(level) for level in levels if isinstance(level, int | float)})


def _campaign(
    claim: Claim, wanted: Needed, cases: Mapping[str, str], subsets: list[dict[str, Any]], on: str
) -> dict[str, Any]:
    called = {case: {"is": own} for case, own in cases.items() if case != own}
    tunings = {}
    for level in map(str, wanted.levels.get("tuning", ())):
        presets = list(dict.fromkeys(_tuning(level, one["factors"]["mpi"]) for one in subsets))
        if presets != [level]:
            tunings[level] = {"is": one_or_list(presets)}
    more: dict[str, Any] = {"notes": [f"It would test {claim.id}: {wanted.line}."]}
    more["levels"] = {name: levels for name, levels in (("case", called), ("tuning", tunings)) if levels}
    more |= {"profiler": "ipm"} if wanted.profile else {}
    return campaign(claim.statement, on, wanted.repeats, subsets, **more)


def _cluster(
    wanted: Wanted, factors: Sequence[Any], program: ApplicationLaunch | None, out: Outline, place: str
) -> dict[str, Any]:
    size = ("nodes", "ranks_per_node", "concurrent_jobs")
    nodes, ranks, jobs = (max(_counts(_each(factors, name)), default=1) for name in size)
    half = -(-max(_CORES, ranks * jobs) // 2)
    kind = Kind(nodes, 2, half, 1, 64000, partitions=("batch",))
    levels = {factor: list(map(str, _each(factors, factor))) for factor in OF_MACHINE}
    library = {"ipm": "/path/to/libipm.so", "mpip": "/path/to/libmpiP.so"}
    profilers = {name: {"library": library[name]} for name in _each(factors, "profiler") if name in library}
    more = {"profilers": profilers} if profilers else {}
    wanted = replace(wanted, mpi=wanted.mpi or _each(factors, "mpi"), levels=levels, flags=False)
    return cluster(wanted, kind, program, out, place, **more)


def _each(factors: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    return list(dict.fromkeys(level for one in factors for level in models.one_or_more(one.get(name, []))))
