#!/bin/bash
# The script of one run, written from its campaign; kept with the output.
set -u
# An MPI launcher that is cancelled may crash; its memory is no result.
ulimit -c 0
cd -- "$(dirname -- "$0")" || exit 1

# The record is written by Benchbook's own Python, whatever libraries the modules have set.
record() {
    BENCHBOOK_LIBRARY_PATH="${LD_LIBRARY_PATH-}" \
        env -u LD_LIBRARY_PATH /opt/bench/benchbook/.venv/bin/python -m analysis.measure.record "$@"
}


export OMP_NUM_THREADS=1
export SLURM_OVERLAP=1
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1
export IPM_REPORT=full
export IPM_LOG=full
export IPM_LOGDIR=.

# Seconds since the node's start: a clock that nobody sets.
uptime() { read -r up _ </proc/uptime && echo "$up"; }

# Tell whether Open MPI 4 did not start because of another one: each removes the folder of all on its node if
# that is empty, and a second one can have made it for itself at that moment. No rank has begun then.
in_its_way() {
    [ -z "$(ls -A .binding)" ] && grep -qs "orte_session_dir failed" stderr.txt
}

# job FOLDER COMMAND...: run the command there; note start, end and exit status; hand TERM over to it.
job() {
    cd -- "$1" || exit 98
    shift
    child=
    asked=
    # Before the command: a TERM that arrives while it starts would end this shell without its status.
    trap 'asked=1; kill -TERM $child 2>/dev/null' TERM INT
    for left in 4 3 2 1 0; do
        uptime >.clock 2>/dev/null
        date +%s.%N >.start
        "$@" >stdout.txt 2>stderr.txt </dev/null &
        child=$!
        [ -z "$asked" ] || kill -TERM "$child" 2>/dev/null
        wait "$child"
        status=$?
        while kill -0 "$child" 2>/dev/null; do
            wait "$child"
            status=$?
        done
        [ "$left" -gt 0 ] && [ -z "$asked" ] && [ "$status" -ne 0 ] && in_its_way || break
        echo "$PWD: another start of Open MPI on a node was in the way; no rank has begun, once more" >&2
        cat stderr.txt >&2
        sleep "1.$RANDOM" # two that met do not meet again
        [ -z "$asked" ] || break
    done
    printf '%s %s\n' "$(date +%s.%N)" "$status" >.end
    # With the processor time of what this shell has started.
    { uptime; times; } >>.clock 2>/dev/null
}

killed=
pids=()
stop() {
    killed=$1
    date +%s.%N >.killed
    kill -TERM ${pids[@]+"${pids[@]}"} 2>/dev/null
}
trap 'stop TERM' TERM
trap 'stop INT' INT

if record begin .; then

    job 1 mpirun.openmpi -np 8 --map-by ppr:2:node --bind-to none -x OMP_NUM_THREADS -x SLURM_OVERLAP -x IPM_REPORT -x IPM_LOG -x IPM_LOGDIR sh /opt/bench/benchbook/src/analysis/measure/bind.sh 0/1 /opt/bench/ipm/libipm.so /usr/bin/lmp -log none -in /opt/bench/lammps/in.plate &
    pids+=($!)
    for pid in "${pids[@]}"; do
        while kill -0 "$pid" 2>/dev/null; do wait "$pid"; done
    done

fi
trap '' TERM INT
record end . "$killed"
