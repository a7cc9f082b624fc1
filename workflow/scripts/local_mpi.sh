#!/usr/bin/env bash
# Put an MPI into a folder, to measure on this machine without installing anything: MPICH from its Python
# wheel, in the version that config/clusters/local.yaml names.
#
# usage: local_mpi.sh PYTHON [FOLDER]
set -euo pipefail

python=$1
folder=${2:-.venv-mpi}
cluster=config/clusters/local.yaml

# The wheel's mpicc calls cc, or what MPICH_CC names.
compiler=${MPICH_CC:-cc}
program=$(mktemp)
trap 'rm -f "$program"' EXIT
if ! echo 'int main(void) { return 0; }' | "$compiler" -x c -o "$program" - 2>/dev/null; then
    echo "make campaign: no C compiler ($compiler); install gcc or clang, or name one in MPICH_CC" >&2
    exit 1
fi

version=$(sed -n 's/^ *name: MPICH \([0-9.]*\).*/\1/p' "$cluster")
if [ -z "$version" ]; then
    echo "$cluster: names no 'MPICH <version>'; restore the line 'name: MPICH ...'" >&2
    exit 1
fi
if [ "$("$folder/bin/mpichversion" --version 2>/dev/null | sed -n 's/^MPICH Version: *//p')" != "$version" ]; then
    echo "making $folder with MPICH $version"
    "$python" -m venv --clear --without-pip "$folder"
    # Use the project's pip: another one in the new environment would only be a second copy.
    "$python" -m pip --python "$folder/bin/python" install -q --disable-pip-version-check --no-deps \
        --only-binary :all: "mpich==$version"
fi
