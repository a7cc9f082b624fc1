#!/bin/sh
# Install the Debian packages that the tests of the power sampler need.
#
# usage: tests/measure/power/install.sh    (as root on Debian or Ubuntu)
exec "$(dirname "$0")/../../install_packages.sh" \
    ipmitool openipmi libopenipmi-dev gcc libc6-dev snmp snmpd openssl
