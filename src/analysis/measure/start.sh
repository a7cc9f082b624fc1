#!/bin/sh
# usage: start.sh FOLDER PYTHON CAMPAIGN RUN COMMENT LOG [RUN...]
# The first act of a job of Slurm, before anything can kill it or take time: note that it has started. Then it
# measures its run, and further ones that share its allocation. Names hold letters, digits, dots, - and _ only.
folder=$1 python=$2 campaign=$3 run=$4 comment=$5 log=$6
shift 6
here=$(cd -- "$(dirname -- "$0")" && pwd)
cd -- "$folder" || exit 1
notes=data/raw/.running/$campaign/.started
BENCHBOOK_CLOCK=$(date +%s) # of this node, which can be wrong, or set later; nobody sets the other clock
{ read -r BENCHBOOK_UPTIME _ </proc/uptime; } 2>/dev/null || BENCHBOOK_UPTIME=
BENCHBOOK_STARTED=${SLURM_JOB_START_TIME:-$BENCHBOOK_CLOCK} BENCHBOOK_COMMENT=$comment
# With the time: a controller that has crashed starts a job again and counts from 0 once more.
note=$notes/$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.$BENCHBOOK_STARTED
export BENCHBOOK_STARTED BENCHBOOK_COMMENT BENCHBOOK_CLOCK BENCHBOOK_UPTIME
PATH=$(dirname -- "$python"):$PATH
mkdir -p "$notes" "$(dirname -- "$log")"
# Whole or not there: a kill between the two leaves no half of it.
printf '{"state": "started", "run": "%s", "job_id": "%s", "node_list": "%s", "slurm": %s}\n' \
    "$run" "$SLURM_JOB_ID" "${SLURM_JOB_NODELIST-}" \
    "{\"cluster\": \"${SLURM_CLUSTER_NAME-}\", \"job_name\": \"${SLURM_JOB_NAME-}\", \"comment\": \"$comment\",\
 \"start\": $BENCHBOOK_STARTED, \"restarts\": \"${SLURM_RESTART_COUNT:-0}\"}" \
    >"$note.part" && mv -- "$note.part" "$note.json"
# Other jobs of the same run write there too: the first line names the start that the rest is of.
echo "${note##*/}: the job has started" >"$log"
# Where Slurm does not find all processes of a job, these go on after its shell was killed.
BENCHBOOK_SHELL=$PPID
export BENCHBOOK_SHELL
if [ $# -eq 0 ]; then
    exec sh "$here/run.sh" "$python" "$campaign" "$run" >>"$log" 2>&1
fi
exec "$python" -m analysis.measure.turns "$campaign" "$run" "$@" >>"$log" 2>&1
