#!/bin/sh
# Install the Debian package that the tests of the simulated model need: 10 s.
#
# usage: tests/model/install.sh    (as root on Debian or Ubuntu)
exec "$(dirname "$0")/../install_packages.sh" libsimgrid-dev
