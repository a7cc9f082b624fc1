#!/bin/sh
# usage: bind.sh CORES PRELOAD COMMAND...
# Bind a rank to its cores, note what the kernel then says, and become the command. CORES holds a list for
# each local rank, separated by slashes, like 0-1/2-3; PRELOAD is a library for the command alone, or -.
# One way for all MPI libraries, whose own options for this all differ; theirs are switched off.
lists=$1 preload=$2
shift 2

# Charm++'s own number comes first: charmrun may have been started by, or start, one of the others.
rank=${CmiMyNode:-${OMPI_COMM_WORLD_RANK:-${MV2_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${MPI_RANKID:-${SLURM_PROCID:-}}}}}}}
local=${OMPI_COMM_WORLD_LOCAL_RANK:-${MV2_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-}}}
# Last, for below mpirun it is that of the daemon.
local=${local:-${SLURM_LOCALID:-}}
if [ -n "${CmiMyNode:-}" ]; then
    # Over a remote shell nobody counts the ranks of a node: each takes the first place that is free.
    local=0
    until mkdir ".binding/.$(uname -n).$local" 2>/dev/null || [ "$local" -gt 4096 ]; do
        local=$((local + 1))
    done
fi
if [ -z "$rank" ] || [ -z "$local" ]; then
    echo "bind.sh: cannot tell rank and local rank from the environment; the launcher is unknown" >&2
    exit 97
fi

number=0
cores=
old_ifs=$IFS
IFS=/
for list in $lists; do
    [ "$number" -eq "$local" ] && cores=$list
    number=$((number + 1))
done
IFS=$old_ifs
if [ -z "$cores" ]; then
    echo "bind.sh: local rank $local on $(uname -n); there are $number lists of cores" >&2
    exit 97
fi

if command -v taskset >/dev/null 2>&1; then
    if ! taskset -cp "$cores" $$ >/dev/null; then
        echo "bind.sh: cannot bind rank $rank to cores $cores of $(uname -n)" >&2
        exit 97
    fi
    while read -r key value; do
        case $key in Cpus_allowed_list:) bound=$value ;; esac
    done </proc/self/status
else
    bound=unbound # no Linux; said in the record rather than hidden
fi
echo "$rank $local $(uname -n) $cores $bound" >".binding/$rank"

if [ "$preload" != - ]; then
    exec env LD_PRELOAD="$preload" "$@"
fi
exec "$@"
