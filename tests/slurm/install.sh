#!/bin/sh
# Install the Debian packages that the Slurm tests need. Starts no service and changes none.
#
# usage: tests/slurm/install.sh    (as root on Debian or Ubuntu)
set -eu

packages="
    slurm-wlm slurmdbd slurm-wlm-mysql-plugin munge mariadb-server
    openmpi-bin libopenmpi-dev mpich libmpich-dev libpmix2 libpmi2-0
    gcc libc6-dev iproute2 util-linux
"

if [ "$(id -u)" -ne 0 ]; then
    echo "tests/slurm/install.sh: not root; run it as root" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "tests/slurm/install.sh: no apt-get; the test cluster is made from Debian packages only" >&2
    exit 1
fi

# A package that brings a daemon starts it on installation; this file is how Debian is told not to.
# The tests start daemons of their own, and a host's own Slurm is not to be touched.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# shellcheck disable=SC2086  # a list of words
apt-get -qq install --no-install-recommends -y $packages </dev/null
