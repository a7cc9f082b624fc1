"""The script of a run."""

import shlex
import string
import sys
from collections.abc import Iterable
from pathlib import Path

from analysis.base.errors import ConfigError
from analysis.measure.declare import Launch
from analysis.measure.job import Allocation
from analysis.measure.power.config import variables

TEMPLATE = """\
#!/bin/bash
# The script of one run, written from its campaign; kept with the output.
set -u
# An MPI launcher that is cancelled may crash; its memory is no result.
ulimit -c 0
cd -- "$$(dirname -- "$$0")" || exit 1

# The record is written by Benchbook's own Python, whatever libraries the modules have set.
record() {
    BENCHBOOK_LIBRARY_PATH="$${LD_LIBRARY_PATH-}" \\
        env -u LD_LIBRARY_PATH ${python} -m analysis.measure.record "$$@"
}

${modules}
${environment}

# Seconds since the node's start: a clock that nobody sets.
uptime() { read -r up _ </proc/uptime && echo "$$up"; }

# Tell whether the shell of Slurm's job is above this one: what outlives that, Slurm holds no node for.
held() {
    read -r shell 2>/dev/null <.shell || return 0
    pid=$$$$
    while [ "$$pid" != "$$shell" ]; do
        [ "$$pid" -gt 1 ] && read -r stat <"/proc/$$pid/stat" || return 1
        # The name of a command may have blanks and brackets.
        set -- $${stat##*)}
        pid=$$2
    done
}

# Tell whether Open MPI 4 did not start because of another one: each removes the folder of all on its node if
# that is empty, and a second one can have made it for itself at that moment. No rank has begun then.
in_its_way() {
    [ -z "$$(ls -A .binding)" ] && grep -qs "orte_session_dir failed" stderr.txt
}

# job FOLDER COMMAND...: run the command there; note start, end and exit status; hand TERM over to it.
job() {
    cd -- "$$1" || exit 98
    shift
    child=
    asked=
    # Before the command: a TERM that arrives while it starts would end this shell without its status.
    trap 'asked=1; kill -TERM $$child 2>/dev/null' TERM INT
    for left in 4 3 2 1 0; do
        uptime >.clock 2>/dev/null
        date +%s.%N >.start
        "$$@" >stdout.txt 2>stderr.txt </dev/null &
        child=$$!
        [ -z "$$asked" ] || kill -TERM "$$child" 2>/dev/null
        wait "$$child"
        status=$$?
        while kill -0 "$$child" 2>/dev/null; do
            wait "$$child"
            status=$$?
        done
        [ "$$left" -gt 0 ] && [ -z "$$asked" ] && [ "$$status" -ne 0 ] && in_its_way || break
        echo "$$PWD: another start of Open MPI on a node was in the way; no rank has begun, once more" >&2
        cat stderr.txt >&2
        sleep "1.$$RANDOM" # two that met do not meet again
        [ -z "$$asked" ] || break
    done
    printf '%s %s\\n' "$$(date +%s.%N)" "$$status" >.end
    # With the processor time of what this shell has started.
    { uptime; times; } >>.clock 2>/dev/null
}

killed=
pids=()
stop() {
    killed=$$1
    uptime >.killed
    kill -TERM $${pids[@]+"$${pids[@]}"} 2>/dev/null
}
trap 'stop TERM' TERM
trap 'stop INT' INT
# Who was stopped, as a job is that Slurm suspends, gets this when it goes on. The disk may be full then: it
# is written again at the end.
resumed=()
went_on() { [ "$${#resumed[@]}" -eq 0 ] || printf '%s\\n' "$${resumed[@]}" >.resumed; }
trap 'uptime >/dev/null && resumed+=("$$up") && went_on' CONT

if record begin .; then
${sampler_start}
${jobs}
    for pid in "$${pids[@]}"; do
        while kill -0 "$$pid" 2>/dev/null; do wait "$$pid"; done
    done
    held || : >.outlived
${sampler_stop}
fi
trap '' TERM INT
went_on
record end . "$$killed"
"""

_MODULES = """\
command -v module >/dev/null 2>&1 || . ${init}
for name in ${names}; do
    module load "$$name" || { echo "module load $$name failed" >.refused; record end . ""; exit 1; }
done
"""


# Power during the job. A meter that fails costs its readings, never the run.
_SAMPLER = "    env -u LD_LIBRARY_PATH ${python} -m analysis.measure.power"


def fill(template: str, **quoted: str) -> str:
    """Fill a template's slots with what `quote` or `words` made, or lines of such; ``$$`` is a dollar."""
    text = string.Template(template)
    unused = set(quoted) ^ set(text.get_identifiers())
    if unused:
        what = f"slots and values differ: {', '.join(sorted(unused))}"
        raise ConfigError.at("job script", 0, what, "report it")
    return text.substitute(quoted)


def quote(value: object) -> str:
    """Quote one value for the shell; no name, number or path holds a control character, and none may."""
    text = str(value)
    if not text.isprintable():
        raise ConfigError.at("job script", 0, f"{text!r} holds a control character", "write it in one line")
    return shlex.quote(text)


def words(values: Iterable[object]) -> str:
    """Quote several values as the words of a command."""
    return " ".join(map(quote, values))


def render(allocation: Allocation, launch: Launch, meters: Path | None = None) -> str:
    """Write the script of a run, whose job number n runs in the folder ``n`` next to the script.

    `meters` is the file whose part ``power`` says how power is sampled while the jobs run.
    """
    modules = ""
    if allocation.modules:
        init = quote(launch.modules_init)
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
        TEMPLATE, sampler_start=start, sampler_stop=stop, modules=modules, environment="\n".join(exports),
        python=quote(sys.executable), jobs="\n".join(jobs),
    )  # fmt: skip


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        what = f"{name!r} is no name of a variable"
        raise ConfigError.at("job script", 0, what, "use letters, digits and _")
    return name
