#!/bin/sh
# usage: run.sh PYTHON CAMPAIGN RUN [OPTION...], in the project's folder
# Start a run in a job of Slurm. This shell asks git for the commit and not the Python after it: while a process
# starts another, its memory counts twice in Slurm's books.
python=$1
shift
BENCHBOOK_COMMIT=$(git describe --always --dirty --abbrev=40 '--exclude=*' 2>/dev/null)
export BENCHBOOK_COMMIT
exec "$python" -m analysis.measure.launch "$@"
