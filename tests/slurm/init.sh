#!/bin/bash
# PID 1 of one machine of the test cluster, inside its own namespaces. It makes the machine look
# like one (name, hosts, Slurm's configuration, shared memory of its own) and then only lives:
# when it ends, the kernel ends every process of the machine.
#
# usage: init.sh NAME FOLDER owned|kept
#   owned  ends when standard input does, that is when the process that started it is gone
#   kept   lives until it is killed
set -eu
name=$1 folder=$2 life=$3

hostname "$name"
ip link set lo up
mount --bind "$folder/etc/hosts" /etc/hosts
# Snakemake's job step drops SLURM_CONF, so the configuration must lie where Slurm looks by itself.
mount --bind "$folder/etc" /etc/slurm
mount -t tmpfs -o mode=1777,size=1g tmpfs /dev/shm
: >"$folder/run/$name.ready"

# bash reaps orphaned job steps while it waits; slurmd as PID 1 would leave them as zombies.
set +e
if [ "$life" = owned ]; then
    while read -r _; do :; done
else
    while sleep 3600; do :; done
fi
