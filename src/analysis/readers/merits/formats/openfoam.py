"""OpenFOAM: the log of a solver; the clock after the last time step, and what a step takes."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from analysis.readers.merits.output import FigureRow, Output, TextFormat
from analysis.readers.text import contains, number

# Programs that make, divide, check and convert what a solver reads and writes: no benchmark by themselves.
UTILITIES = set(
    "addLayers applyBoundaryLayer autoPatch blockMesh cartesianMesh changeDictionary "  # noqa: SIM905
    "checkMesh collapseEdges combinePatchFaces createBaffles createPatch createZones "
    "decomposePar deformedGeom extrudeMesh extrudeToRegionMesh flattenMesh "
    "fluent3DMeshToFoam fluentMeshToFoam foamDictionary foamListTimes foamToEnsight "
    "foamToVTK gmshToFoam ideasUnvToFoam insideCells makeFaMesh mapFields mapFieldsPar "
    "mergeMeshes mergeOrSplitBaffles mirrorMesh moveDynamicMesh objToVTK orientFaceZone "
    "patchSummary polyDualMesh postProcess reconstructPar reconstructParMesh "
    "redistributePar refineHexMesh refineMesh refineWallLayer renumberMesh rotateMesh "
    "sample setExprFields setFields setSet setsToZones singleCellMesh snappyHexMesh "
    "splitCells splitMeshRegions stitchMesh subsetMesh surfaceAutoPatch surfaceCheck "
    "surfaceConvert surfaceFeatureExtract surfaceFeatures surfaceGenerateBoundingBox "
    "surfaceOrient surfaceSubset surfaceTransformPoints topoSet transformPoints zipUpMesh".split()
)
# Of these, what makes a mesh says how many cells it has; what changes one otherwise does not.
_SAYS = ("blockMesh", "snappyHexMesh", "checkMesh")
_KEEPS = set(
    "changeDictionary decomposePar foamDictionary mapFields patchSummary postProcess reconstructPar "  # noqa: SIM905
    "reconstructParMesh redistributePar renumberMesh sample setFields surfaceCheck surfaceConvert "
    "surfaceFeatureExtract surfaceFeatures surfaceTransformPoints topoSet transformPoints".split()
)
_CELLS = re.compile(
    r"^ +(?:nC|c)ells: +(\d+)\s*$|^(?:Refined|Snapped|Layer) mesh : cells:(\d+)", re.MULTILINE
)
_CASE = re.compile(r"^Case +: +(.*\S)", re.MULTILINE)
_REGION = re.compile(r"^Exec +: .*-(?:allR|r)egion", re.MULTILINE)
_EXEC = re.compile(rb"\bExec +: ")
_CLOCK = r"^ExecutionTime = (?P<cpu>\S+) s +ClockTime = (?P<clock>\S+) s"
_HOST = r'^Host +: +"(?P<host>[^"]+)"'
# The hosts of all processes: with their counts, or with a process number each (not that of the first one).
_HOSTS = r"^(?:Hosts|Slaves) +: *\n(?:\d+\n)?\((?P<hosts>[^\0]+?)\n\)"
_END = r"^(?:End|Finalising parallel run)\s*$"


def _is_log(head: bytes) -> bool:
    """Tell whether some bytes are what an OpenFOAM program prints first; its files have no ``Exec``.

    A part of a job's output has no banner if it begins below it.
    """
    return (b"OpenFOAM" in head or b"\nnProcs : " in head) and contains(head, _EXEC, b"Exec ")


class ProgramStart(NamedTuple):
    """Where a program of OpenFOAM began, and when, in s since 1970; empty and 0 if it does not print it."""

    case: str
    began: float


class MeshStep(NamedTuple):
    """What a utility did to the mesh of a case: its cells, -1 if it does not say how many."""

    start: ProgramStart
    program: str
    cells: int


def start(text: str, began: float) -> ProgramStart:
    """Return where a program began, by its first lines, with the time that these print."""
    case = _CASE.search(text)
    return ProgramStart(case[1] if case else "", began)


def steps(program: str, text: str, began: float) -> list[MeshStep]:
    """Return what a utility did to a mesh: one step, or none if it keeps the mesh.

    Of a region, or of several, the cells are not those of the mesh.
    """
    if program in _KEEPS:
        return []
    printed = [int(one or other) for one, other in _CELLS.findall(text)]
    printed = printed[-1:] if program == "snappyHexMesh" else printed
    said = program in _SAYS and len(set(printed)) == 1 and not _REGION.search(text)
    return [MeshStep(start(text, began), program, printed[0] if said else -1)]


def in_order(made: Iterable[MeshStep]) -> list[MeshStep]:
    """Return the steps of several logs by their starts; of one second, a mesh is made first, checked last."""
    own = set(made)
    counts = Counter((one.start, one.program) for one in own)
    known = {one if counts[one.start, one.program] == 1 else one._replace(cells=-1) for one in own}
    rank = {"blockMesh": 0, "checkMesh": 2}
    return sorted(known, key=lambda one: (one.start.began, rank.get(one.program, 1), one.program))


def problem(made: Iterable[MeshStep], solver: ProgramStart) -> dict[str, str]:
    """Return the problem of a solver, its cells, by the steps of its case before it; empty if unknown."""
    known, after = dict[str, int](), set[int]()
    for one in made:
        if one.start.case != solver.case:
            continue
        if solver.began and one.start.began > solver.began:
            if one.program != "checkMesh":
                break
            after.add(one.cells)  # of the solver's mesh too, unless it refined it
            continue
        if one.program != "checkMesh":  # a check before it says nothing of the mesh after it
            known.pop("checkMesh", None)
        known = ({} if one.program == "blockMesh" else known) | {one.program: one.cells}
    if not known.keys() <= {*_SAYS} and "checkMesh" not in known:
        return {}
    last = {known[program] for program in _SAYS[1:] if program in known} or {known.get("blockMesh", -1)}
    last |= after
    return {"problem": f"cells={last.pop()}"} if len(last) == 1 and -1 not in last else {}


def _nodes(output: Output) -> int:
    """Return the number of hosts that a log lists, -1 if it lists none."""
    listed = output.first(_HOSTS)
    hosts = set(re.findall(r'^ *(?:\((\S+) \d+\)|"(.+)\.\d+")', listed, re.MULTILINE))
    names = {one or other for one, other in hosts} | {output.first(_HOST)} - {""}
    return len(names) if hosts else -1


def _finish(output: Output) -> None:
    """Add the nodes, and the last clock of a log that ended; before that it is no time to solution.

    ``ExecutionTime`` is processor time of rank 0.
    """
    output.facts["nodes"] = str(_nodes(output))
    ended = output.ends(_END)
    clocks = list(output.find(_CLOCK)) if ended else []
    printed = [line for line, _ in output.find(r"^ExecutionTime = ")]
    if clocks and printed[-1] > clocks[-1][0]:
        output.faults.damage(printed[-1], "the last clock is garbled", "the one before is no time of the run")
        clocks = []
    _verify(output, [(line, number(row["cpu"]), number(row["clock"])) for line, row in clocks])
    if clocks:
        line, last = clocks[-1]
        output.add("ClockTime", last["clock"], "s", line)
        output.add("ExecutionTime", last["cpu"], "s", line)
    if len(clocks) > 1:
        # The first step has reading the case in it.
        span = number(clocks[-1][1]["cpu"]) - number(clocks[0][1]["cpu"])
        row = FigureRow("ExecutionTime per step", span / (len(clocks) - 1), "s", float("nan"), clocks[-1][0])
        output.rows.append(row)
    if ended and not printed:
        output.silent = "it ended, and states no time: the log of a utility"


def _verify(output: Output, clocks: list[tuple[int, float, float]]) -> None:
    """Compare processor time of one rank with the clock, in whole s: it is no longer, and both only grow."""
    behind = len(clocks) == 1  # where threads count too, all are ahead
    for (_, cpu, clock), (line, later, end) in itertools.pairwise([(0, 0.0, 0.0), *clocks]):
        found = f"ClockTime = {end:g} s after {clock:g} s, ExecutionTime = {later:g} s after {cpu:g} s"
        restarted = later < cpu and end < clock
        ahead = later > 1.02 * end + 1
        output.verify(line, restarted or not (later < cpu or end < clock or (behind and ahead)), found)
        behind = not ahead
        if not restarted and end - clock > 10 * (later - cpu) + 0.1 * end + 10:
            output.faults.note(line, found, "the run waited, or a number is damaged: look at the log")


FORMAT = TextFormat(
    engine="openfoam", tool="OpenFOAM", marks=((b"OpenFOAM", b"Exec   : "),), test=_is_log,
    near="OpenFOAM|FoamFile", first_line=r"^(?:Build  : .*\n(?:Arch   : .*\n)?)?Exec   : ", opening="",
    closing=_END, closed_by="'End'",
    facts={
        "version": r"^Build +: .*version=(\S+)|Version: +(\S+)|^Build +: +(\S+)",
        "ranks": r"^nProcs +: +(\d+)",
        "size": r"^Exec +: +(?:\S*/)?(\S+)",
    },
    finish=_finish, figure_of_merit="ClockTime", unit="s", higher_is_better=False, time="ClockTime",
    given="the log of a solver",
)  # fmt: skip
