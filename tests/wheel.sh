#!/usr/bin/env bash
# Install a wheel into an empty environment, start a project there, import outputs, and build its site.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/.venv/bin/python" -m hatchling build -t wheel -d "$work" >/dev/null
"$root/.venv/bin/python" -m venv --without-pip "$work/tools"
grep -E '^[a-zA-Z0-9._-]+==' "$root/requirements.lock" | sed 's/ *\\$//' >"$work/lock"
uv=$(command -v uv || echo "$root/.venv/bin/uv")
"$uv" pip install --quiet --python "$work/tools/bin/python" --constraint "$work/lock" "$work"/benchbook-*.whl

export PATH="$work/tools/bin:$PATH"
cd "$work"
benchbook init mine
mkdir outputs
for run in 001 005 007 008 011 012 016; do
  mkdir "outputs/$run"
  cp "$root/data/raw/vm-hpcg/runs/$run"/HPCG-Benchmark*.txt "outputs/$run/"
done
cd mine
benchbook import ../outputs --as october --yes
make report
test -s results/site/october-holdings.html
python -c 'import benchbook; print(benchbook.open("october"))'
