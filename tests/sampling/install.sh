#!/bin/sh
# Install the Debian packages that the tests of the power sampler need. Starts no service and changes none.
#
# usage: tests/sampling/install.sh    (as root on Debian or Ubuntu)
set -eu

packages="ipmitool openipmi libopenipmi-dev gcc libc6-dev snmp snmpd openssl"

if [ "$(id -u)" -ne 0 ]; then
    echo "tests/sampling/install.sh: not root; run it as root" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "tests/sampling/install.sh: no apt-get; install by other means: $packages" >&2
    exit 1
fi

# Debian starts a package's daemon on installation unless this file says no. The tests start their own.
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
