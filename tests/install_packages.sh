#!/bin/sh
# Install Debian packages for tests. Starts no service and changes none.
#
# usage: tests/install_packages.sh PACKAGE...    (as root on Debian or Ubuntu)
set -eu

if [ "$(id -u)" -ne 0 ]; then
    echo "install_packages.sh: not root; run it as root, or install by other means: $*" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "install_packages.sh: no apt-get; install by other means: $*" >&2
    exit 1
fi

# Without the network there is nothing to ask where everything is there.
if [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)" -eq "$#" ]; then
    exit 0
fi

apt-get -qq update

# A package that brings a daemon starts it on installation; this file is how Debian is told not to.
# The tests start daemons of their own, and those of the host are not to be touched.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -qq install --no-install-recommends -y "$@" </dev/null
