"""Launch lines: what they state of ranks, and every option of launcher and program, with the environment."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.readers import search

Facts = dict[str, Any]

_COMMAND = r"^Command line:[ \t]*\n[ \t]+(\S.*)$"  # GROMACS
_FLUX_RUN = r"flux(?: mini)? (?:run|submit)"  # the older releases had them under mini
_LAUNCHER = re.compile(
    r"(?<![\w./-])(?:[\w./-]*/)?(?:mpirun|mpiexec|orterun|srun|aprun|ibrun|jsrun|lrun|prun|runjob|poe|ccc_mprun"
    rf"|{_FLUX_RUN})(?:[.\w-]*)(?=[ \t])"
)
# What makes a line no launch line: a comment or an echo before the launcher, a word of a sentence behind it.
_NO_LAUNCH = re.compile(r"#|(?<![\w./-])(?:echo|printf?)\b[^;&|]*$")
_PROSE = (
    "a an and aborted as at before by called cannot command completed could crashed detected did died does "
    "done ended exited failed finished for found from got had has have in into is killed noticed of on or "
    "process received returned should started starting stopped terminated that the then to took unable "
    "used using version via was were will with would"
)
_LAUNCHED = re.compile(rf"[ \t]+(?!(?i:{_PROSE.replace(' ', '|')})[,.:;]?(?:\s|$))[\w./~$%@{{\"'\\-]")
_LONGEST = 4000  # characters of a line that may launch a program
_NP = re.compile(r"(?<!\S)--?(?:np|n|ntasks)[ =]?(\d+)(?!\S)")
_PPR = re.compile(r"(?:ppr:(\d+):node|(?<!\S)-ppn[ =](\d+)|--n?tasks-per-node[ =](\d+))(?!\S)")
# What -N counts: nodes for the launchers of Slurm, Flux and LLNL's lrun, ranks on each node for others.
_PER_NODE = re.compile(r"(?<!\S)-N ?(\d+)(?!\S)")
_OF_NODES = re.compile(r"(?<!\S)(?:-N ?|--nodes[ =])(\d+)(?!\S)")
_BY_NODES = re.compile(rf"(?:\S*/)?(?:srun|{_FLUX_RUN}|lrun|prun|ccc_mprun)\b")
_ENDED = re.compile(r" Exited \(rc=\d+\) [\d.]+s$")  # what a broker of Flux adds to a line that it has run
_LIBRARIES = (
    "OMP KMP GOMP I_MPI UCX OMPI_MCA PMIX_MCA MPICH MPIR_CVAR MV2 PSM PSM2 FI HCOLL NCCL PAMI FJMPI UTOFU "
    "FLIB XOS MKL OPENBLAS MALLOC SLURM_CPU_FREQ"
)
_SET = [f"{name}_" for name in _LIBRARIES.split()]
_SETTING = re.compile(
    rf"^[ \t]*(?:export[ \t]+|setenv[ \t]+)?((?:{_LIBRARIES.replace(' ', '|')})_\w+)"
    r"[= \t][ \t]*[\"']?((?:(?!,[A-Z_]\w+=)[^\s\"'$;])*)",  # PBS lists several in a line
    re.MULTILINE,
)
CPU_FREQUENCY = r"--cpu-freq[ =]*[\"']?(\d{3,4})\d{3}(?![\w:-])"  # of Slurm: one value in kHz, read as MHz
FREQUENCY_SETTINGS = ("--cpu-freq", "SLURM_CPU_FREQ_REQ")
# What a source may count, and the factor of which each has as many. The surest source has one of them.
GPUS = {"gpus_per_node": "nodes", "gpus": "", "gpus_per_rank": "ranks"}
TYPED = r"(?:[\w.-]*[A-Za-z][\w.-]*:)?([1-9]\d*)(?![\w.:-])"  # with a type: a100:4
_GPUS = rf"[ =]*[\"']?{TYPED}"
# How Slurm and Flux are asked, in directives and launch lines; `gpu` without a number is one.
ASKED_GPUS = {
    "gpus_per_node": rf"--gpus-per-node{_GPUS}|--gres[ =]*[\"']?(?:[^\s\"']+,)?gpu:{TYPED}"
    r"|--gres[ =]*[\"']?(?:[^\s\"']+,)?(gpu)(?::[A-Za-z][\w.-]*)?(?=[\s\"',]|$)",
    "gpus": rf"--gpus{_GPUS}",
    "gpus_per_rank": rf"--gpus-per-task{_GPUS}",
}
# What the packages of LAMMPS are given for each node.
_PACKAGES = r"-(?:pk|package) gpu ([1-9]\d*)(?!\S)|-(?:k|kokkos) on (?:\S+ )*?g(?:pus)? ([1-9]\d*)(?!\S)"
_VISIBLE = r"(?:CUDA|ROCR|HIP)_VISIBLE_DEVICES=[\"']?((?:\d+|GPU-[\w-]+)(?:,(?:\d+|GPU-[\w-]+))*)(?![\w,$-])"
_GPU_OPTIONS = re.compile(rf" (?:{'|'.join(ASKED_GPUS.values())}|{_PACKAGES})")
_TEST = re.compile(r"(_perf\b.*?) (?:-g|--ngpus)[ =]\d+(?!\S)")  # of NCCL
_DEVICES = re.compile(rf" (?:-x )?(?:{_VISIBLE}|(?:\+devices|-gpu_id)[ =]([\d,]+))(?!\S)")
TRACE = re.compile(r"^\++ (\S.*)$", re.MULTILINE)  # a command, as `set -x` prints it
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
MODULE = "module "  # before the name of a module whose release is a setting
_OPTION = re.compile(r"--?[A-Za-z]")
_FILE = re.compile(r"/|\.[A-Za-z]\w*$|\d{5}|[A-Za-z_-]+\d+$")
# How many values an option of a launcher has, where that is not one; the next word may be the program.
_FLAGS = (
    "lsf prot TCP IBV VAPI UDAPL PSM MX ITAPI intra exclusive overcommit oversubscribe bind-to-core "
    "bind-to-socket report-bindings allow-run-as-root display-map tag-output timestamp-output nolocal bycore "
    "bynode byslot l v vv vvv V verbose label unbuffered K q quiet watch"
)
_PAIRS = "mca pmixmca gmca prtemca genv env"
_PATHS = "hostfile machinefile machine host rankfile rf f wdir wd chdir prefix path tune am x"
_COUNTS = ((_FLAGS, 0), (_PATHS, 1), (_PAIRS, 2))
_VALUES = {name: count for names, count in _COUNTS for name in names.split()}
_WRAPPERS = set("numactl taskset time env exec perf omplace dplace singularity apptainer podman".split())  # noqa: SIM905
# What other factors have, or what is of one execution alone.
_KNOWN = set(
    "np n ntasks N nodes ppn npernode ntasks-per-node tasks-per-node c cpus-per-task d S hostfile "  # noqa: SIM905
    "machinefile machine host hosts w nodelist J job-name t time wdir wd chdir D OMP_NUM_THREADS rt "
    "nx ny nz ntomp setattr PATH LD_LIBRARY_PATH".split()
)


def stated(text: str) -> Facts:
    """Return what the launch line and the environment in a text state; several lines as they are."""
    facts: Facts = {}
    if once := settings(text):
        facts |= {"environment": once} | threads_of(once)
    if found := search.first(_COMMAND, text):
        facts["command"] = " ".join(found[1].split())
    lines = list(dict.fromkeys(_lines(text)))
    if len(lines) > 1:
        facts["launch_lines"] = lines
    facts |= of_line(lines[0]) if len(lines) == 1 else {}
    return facts if facts.keys() & GPUS.keys() else facts | _visible_gpus(text)


def of_output(lines: Sequence[str], file: str, program: str) -> str:
    """Return the launch line that wrote a file, else the only one of a program; empty if none is known."""
    wrote = [line for line in lines if re.search(rf">[ \t]*(?:\S*/)?{re.escape(file)}(?!\S)", line)]
    named = re.compile(rf"(?<![\w-]){re.escape(program)}(?!\S)")
    started = [line for line in lines if program and named.search(line)]
    return next((found[0] for found in (wrote, started) if len(found) == 1), "")


def threads_of(environment: Mapping[str, str]) -> Facts:
    """Return the threads of a rank that variables state."""
    threads = environment.get("OMP_NUM_THREADS", "")
    return {"threads": int(threads)} if threads.isdecimal() else {}


def settings(text: str) -> dict[str, str]:
    """Return the variables of MPI and threads that a text sets, a line each; not those set to two values."""
    found: dict[str, set[str]] = {}
    for name, value in _SETTING.findall(text) if any(name in text for name in _SET) else ():
        found.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1} | traced(text)


def traced(text: str) -> dict[str, str]:
    """Return the variables of MPI and threads of the last command of a trace, as `set -x` prints it."""
    *_, last = {}, *variables(TRACE.findall(text))
    return last


def variables(commands: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the variables of MPI and threads of each command of a trace.

    One that is never exported belongs to the next command alone, as in ``UCX_TLS=tcp mpirun ./lmp``.
    """
    exported: dict[str, str] = {}
    names: set[str] = set()
    own: dict[str, str] = {}
    began = True  # whether what was assigned is of a command that is over
    for command in commands:
        verb, *words = _words_of(command)
        assigned = [(match[1], match[2]) for word in (verb, *words) if (match := _ASSIGNED.fullmatch(word))]
        assigns = _ASSIGNED.match(verb) is not None or verb == "env"
        own = {} if began else own
        if verb == "export":
            names |= {word.partition("=")[0] for word in words}
            exported |= dict(assigned)
        elif verb == "unset":
            names -= {*words}
            exported = {name: value for name, value in exported.items() if name not in words}
        elif assigns:
            for name, value in assigned:
                alone = len(assigned) > len(words)  # no command in its line
                (exported if alone and name in names else own)[name] = value
        began = not assigns or len(assigned) <= len(words)
        yield {name: value for name, value in {**exported, **own}.items() if name.startswith(tuple(_SET))}


def launches(text: str) -> list[Facts]:
    """Return each launch of a trace of the shell with the variables that it had, in their order."""
    commands = TRACE.findall(text)
    return [
        of_line(launched) | {"environment": known} | threads_of(known)
        for command, known in zip(commands, variables(commands), strict=True)
        for launched in _lines(command)
    ]


def _words_of(line: str) -> list[str]:
    """Split a command of a trace as the shell does."""
    try:
        return shlex.split(line) or [""]
    except ValueError:  # a word with a line break
        return line.split()


def of_line(line: str) -> Facts:
    """Return what one launch line states; it is the command unless variables are in it."""
    line = " ".join(line.split())
    facts: Facts = {"command" if "$" not in line and len(line) < 2000 else "launch": line}
    if found := _NP.search(line):
        facts["ranks"] = int(found[1])
    by_nodes = _BY_NODES.match(line) is not None
    if by_nodes and (found := _OF_NODES.search(line)):
        facts["step_nodes"] = int(found[1])  # of a job that may have more
    if found := _PPR.search(line) or (None if by_nodes else _PER_NODE.search(line)):
        facts["ranks_per_node"] = int(next(group for group in found.groups() if group))
    if found := re.search(CPU_FREQUENCY, line):
        facts["frequency"] = int(found[1]) / 1000
    if re.match(r"(?:\S*/)?jsrun ", line):
        return {name: value for name, value in facts.items() if name != "ranks"} | _of_sets(line)
    return facts | _gpus_of_line(line)


def _gpus_of_line(line: str) -> Facts:
    """Return the number of GPUs that a launch line states."""
    patterns = {**ASKED_GPUS, "gpus_per_node": f"{ASKED_GPUS['gpus_per_node']}|{_PACKAGES}"}
    found = {name: re.search(rf" (?:{pattern})", line) for name, pattern in patterns.items()}
    texts = {name: next(filter(None, one.groups())) for name, one in found.items() if one}
    return {name: 1 if text == "gpu" else int(text) for name, text in texts.items()}


def _of_sets(line: str) -> Facts:
    """Return what jsrun is given: -n counts sets of resources, each with tasks and GPUs."""
    own = re.split(r" (?=[./$])", line)[0]
    named = {"n": "nrs", "a": "tasks_per_rs", "g": "gpu_per_rs", "p": "np"}
    found = {one: re.search(rf" (?:-{one}|--{name})[ =]?(\d+)(?!\S)", own) for one, name in named.items()}
    sets, tasks, gpus, ranks = (int(one[1]) if (one := found[name]) else 0 for name in "nagp")
    counts = {"ranks": ranks or sets * (tasks or 1), "gpus": sets * gpus}
    return {name: count for name, count in counts.items() if count}


def _visible_gpus(text: str) -> Facts:
    """Return how many GPUs of its node a process may use, if variables of a text name the same throughout."""
    listed = set(re.findall(_VISIBLE, text)) if "_VISIBLE_DEVICES=" in text else set()
    return {"gpus_per_node": len(set(listed.pop().split(",")))} if len(listed) == 1 else {}


def without_gpus(line: str) -> str:
    """Return a launch line without what only counts GPUs; a list of others than the first ones is kept."""

    def kept(match: re.Match[str]) -> str:
        text = match[1] or match[2]
        devices = text.split(",") if "," in text else [*text]
        return "" if devices == [*map(str, range(len(devices)))] else match[0]

    return _DEVICES.sub(kept, _TEST.sub(r"\1", _GPU_OPTIONS.sub("", line)))


def last(text: str) -> str:
    """Return the last launch line of a text, empty without; a job echoes it before a program's output."""
    lines = list(_lines(text))
    return lines[-1] if lines else ""


def _lines(text: str) -> Iterator[str]:
    """Give the launch lines of a text from their launcher on; comments and prose are none."""
    for line in text.splitlines():
        if "run" in line or "mpiexec" in line or "poe " in line or "flux " in line:
            match = _LAUNCHER.search(line) if len(line) <= _LONGEST else None
            if not match or _NO_LAUNCH.search(line[: match.start()]):
                continue
            if _LAUNCHED.match(line, match.end()):
                yield _ENDED.sub("", " ".join(line[match.start() :].split()))


def has_launcher(line: str) -> bool:
    """Tell whether a line begins with a launcher; a program's own command does not say how it was started."""
    return _LAUNCHER.match(f"{line} ") is not None


def options(line: str, *, of_launcher: bool = False) -> dict[str, str]:
    """Return the program, the options and the arguments of a launch line or of a program's command.

    An option of the launcher that no value follows, as ``-TCP`` before the path of the program, is kept.
    If `of_launcher`, the options before the program alone are returned.
    """
    command = re.split(r"\s(?:[|>&;]|2>)", line, maxsplit=1)[0]
    words = re.sub(_FLUX_RUN, "flux-run", command, count=1).split()
    out: dict[str, str] = {}
    program, at = "", int(has_launcher(line))
    arguments: list[str] = []
    while at < len(words) and not (of_launcher and program):
        word, at = words[at], at + 1
        if _OPTION.match(word):
            name, equals, value = word.partition("=")
            count = 0 if equals else _values(name, words[at:], launcher=not program)
            values, at = words[at : at + count], at + count
            if len(values) == 2:  # of a parameter of the MPI library
                name, values = f"{name} {values[0]}", values[1:]
            elif len(values) == 1 and re.match(r"[A-Z][A-Z0-9_]*=", values[0]):  # of the environment
                name, _, value = values[0].partition("=")
            value, known = value or "".join(values), out.get(name)
            again = known is not None and value not in ("", *known.split(","))  # as -o of Flux
            out[name] = f"{known},{value}" if known and again else known or value
        elif program:
            arguments.append(word)
        elif word not in ("--", ":") and word not in _WRAPPERS and not word.endswith(".sif"):
            program = word
    if of_launcher:
        return out
    out |= {"program": program.rpartition("/")[2]} if program else {}
    return out | ({"arguments": " ".join(arguments)} if arguments else {})


def _values(name: str, following: Sequence[str], *, launcher: bool) -> int:
    """Return how many of the following words are values of an option."""
    known = _VALUES.get(name.lstrip("-")) if launcher else None
    if known is not None:
        return min(known, len(following))
    if not following or _OPTION.match(following[0]) or following[0] == "--":
        return 0
    return 0 if launcher and ("/" in following[0] or len(following) == 1) else 1


def varying(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Name the settings in which runs of one cell differ, except file names that are only numbered."""
    found = []
    for name in dict.fromkeys(name for one in settings for name in one):
        bare = re.sub(r"^([nNc])\d+$", r"\1", name.lstrip("-"))
        values = [one.get(name) for one in settings]
        if bare not in _KNOWN and len(set(values if name.startswith(MODULE) else _spelled(values))) > 1:
            found.append(name)
    return found


def _spelled(values: Sequence[str | None]) -> list[str | None]:
    """Return values as they are compared: files by their names, without digits if each run has its own."""
    names = [value.rpartition("/")[2] if value and _FILE.search(value) else value for value in values]
    if len(set(names)) * 2 > len(names):
        names = [re.sub(r"\d+", "", value) if value and _FILE.search(value) else value for value in names]
    return names


def level(settings: Mapping[str, str], names: Sequence[str]) -> str:
    """Spell the settings that vary: ``-pin=on -TCP``; ``default`` for a run that gives none of them."""
    given = [
        (name, settings[name] if name.startswith(MODULE) else settings[name].rpartition("/")[2])
        for name in names
        if name in settings
    ]
    return " ".join(f"{name}={value}" if value else name for name, value in given) or "default"
