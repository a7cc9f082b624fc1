#!/bin/sh
# Install the Debian packages that the Slurm tests need.
#
# usage: tests/slurm/install.sh    (as root on Debian or Ubuntu)
exec "$(dirname "$0")/../install_packages.sh" \
    slurm-wlm slurmdbd slurm-wlm-mysql-plugin munge mariadb-server \
    openmpi-bin libopenmpi-dev mpich libmpich-dev libpmix2 libpmi2-0 \
    hpcc lammps nwchem quantum-espresso quantum-espresso-data environment-modules gcc libc6-dev iproute2 util-linux
