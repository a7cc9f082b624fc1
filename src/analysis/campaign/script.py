"""The job script: fixed text with slots, each filled with a value that was quoted before."""

from __future__ import annotations

import shlex
import string
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from analysis.campaign.jobs import Allocation
from analysis.errors import ConfigError
from analysis.sampling.config import variables

TEMPLATE = """\
#!/bin/bash
# The script of one run, written from its campaign; kept beside the output.
set -u
# An MPI launcher that is cancelled may crash; its memory is no result.
ulimit -c 0
cd -- ${work} || exit 1

# The record is written by Benchbook's own Python, whatever libraries the modules have set.
record() {
    BENCHBOOK_LIBRARY_PATH="$${LD_LIBRARY_PATH-}" \\
        env -u LD_LIBRARY_PATH ${python} -m analysis.campaign.record "$$@"
}

${modules}
${environment}

# job FOLDER COMMAND...: run the command there; note start, end and exit status; hand TERM over to it.
job() {
    cd -- "$$1" || exit 98
    shift
    date +%s.%N >.start
    "$$@" >stdout.txt 2>stderr.txt </dev/null &
    child=$$!
    trap 'kill -TERM "$$child" 2>/dev/null' TERM INT
    wait "$$child"
    status=$$?
    while kill -0 "$$child" 2>/dev/null; do
        wait "$$child"
        status=$$?
    done
    printf '%s %s\\n' "$$(date +%s.%N)" "$$status" >.end
}

killed=
pids=()
stop() {
    killed=$$1
    date +%s.%N >.killed
    kill -TERM $${pids[@]+"$${pids[@]}"} 2>/dev/null
}
trap 'stop TERM' TERM
trap 'stop INT' INT

if record begin .; then
${sampler_start}
${jobs}
    for pid in "$${pids[@]}"; do
        while kill -0 "$$pid" 2>/dev/null; do wait "$$pid"; done
    done
${sampler_stop}
fi
trap '' TERM INT
record end . "$$killed"
"""

_MODULES = """\
command -v module >/dev/null 2>&1 || . ${init}
for name in ${names}; do
    module load "$$name" || { echo "module load $$name failed" >.refused; record end . ""; exit 1; }
done
"""
MODULES_INIT = "/etc/profile.d/modules.sh"


# Power beside the job. A meter that fails costs its readings, never the run.
_SAMPLER = "    env -u LD_LIBRARY_PATH ${python} -m analysis.sampling"


def fill(template: str, **quoted: str) -> str:
    """Fill a template's slots.

    Parameters
    ----------
    template : str
        With ``${name}`` for a slot and ``$$`` for the shell's own dollar sign.
    **quoted : str
        Made by `quote` or `words`, or lines made of such.

    Raises
    ------
    ConfigError
        If a slot is left, or a value stands for no slot.
    """
    text = string.Template(template)
    unused = set(quoted) ^ set(text.get_identifiers())
    if unused:
        raise ConfigError.at(
            "job script", 0, f"slots and values differ: {', '.join(sorted(unused))}", "report it"
        )
    return text.substitute(quoted)


def quote(value: object) -> str:
    """Quote one value for the shell.

    Raises
    ------
    ConfigError
        If it holds a control character: no name, number or path has one.
    """
    text = str(value)
    if not text.isprintable():
        raise ConfigError.at("job script", 0, f"{text!r} holds a control character", "write it in one line")
    return shlex.quote(text)


def words(values: Iterable[object]) -> str:
    """Quote several values as the words of a command."""
    return " ".join(map(quote, values))


def render(
    work: Path, allocation: Allocation, launch: Mapping[str, object], meters: Path | None = None
) -> str:
    """Write the script of a run.

    Parameters
    ----------
    work : Path
        Folder of the run while it is measured; job number n runs in its folder ``n``.
    allocation : Allocation
    launch : mapping
        The part ``launch`` of the cluster.
    meters : Path, optional
        File whose part ``power`` says how power is sampled beside the jobs; jobs at once share the log.

    Returns
    -------
    str

    Raises
    ------
    ConfigError
        If a value cannot stand in a script.
    """
    modules = ""
    if allocation.modules:
        init = quote(launch.get("modules_init", MODULES_INIT))
        modules = fill(_MODULES, init=init, names=words(allocation.modules))
    exports = [f"export {_variable(name)}={quote(value)}" for name, value in allocation.environment.items()]
    jobs = [
        f"    job {number} {words(job.command)} &\n    pids+=($!)"
        for number, job in enumerate(allocation.jobs, 1)
    ]
    start, stop = "", ""
    if meters is not None:
        sampler = fill(_SAMPLER, python=quote(sys.executable))
        hosts = quote(",".join(allocation.jobs[0].head["node_list"]))
        start = f"{sampler} start {quote(meters)} 1/power.csv --nodes {hosts} --until-pid $$ || true"
        if secret := variables(meters):
            start += f"\n    unset {words(secret)}"  # no program of the job has any need of them
        folders = words(range(1, len(allocation.jobs) + 1))
        # A job that is ended has seconds left for its record.
        stop = f"{sampler} stop 1/power.csv --jobs {folders} ${{killed:+--patience 3}} || true"
    return fill(
        TEMPLATE,
        sampler_start=start,
        sampler_stop=stop,
        work=quote(work),
        modules=modules,
        environment="\n".join(exports),
        python=quote(sys.executable),
        jobs="\n".join(jobs),
    )


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ConfigError.at(
            "job script", 0, f"{name!r} is no name of a variable", "use letters, digits and _"
        )
    return name
