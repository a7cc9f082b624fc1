#!/usr/bin/env bash
# Print the first Python that runs and is of a version Benchbook supports; PYTHON names one to use.
# A version manager's shim can be on the PATH and still fail to run, so each candidate is tried.
set -euo pipefail

probe='import sys, venv, ensurepip; print(sys.executable); sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
  if found="$("$candidate" -c "$probe" 2>/dev/null)"; then
    echo "$found"
    exit 0
  fi
done
echo "error: no Python 3.11 to 3.13 with venv found${PYTHON:+ at $PYTHON}; install one (Debian: python3-venv) or run make PYTHON=/path/to/python3" >&2
exit 1
