"""Applications in jobs of a real Slurm: HPCC of Debian, environment modules, stand-ins for the others."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis import readers
from analysis.measure.declare import load
from analysis.measure.matrix import expand

from . import jobs
from .campaigns import OPENMPI, ROOT
from .cluster import SlurmCluster

pytestmark = pytest.mark.slurm

CLUSTER = """\
title: two nodes of the test cluster
facts: []
launch:
  scheduler: slurm
  nodes: 2
  cores: ["0", "1"]
  modules_init: {base}/modules.sh
{openmpi}  mpi:
    openmpi: {{family: openmpi, name: Open MPI, start: mpirun, launcher: mpirun.openmpi}}
    mpich: {{family: mpich, name: MPICH, start: mpirun, launcher: mpiexec.mpich}}
    pmix: {{family: openmpi, name: Open MPI, start: srun-pmix}}
    pmi2: {{family: openmpi, name: Open MPI, start: srun-pmi2}}
    charm: {{family: charm, name: Charm++, start: charmrun, launcher: {base}/charmrun}}
    charm-slurm: {{family: charm, name: Charm++, start: charmrun-srun, launcher: {base}/charmrun}}
  applications:
    hpcc: {{program: hpcc}}
    say: {{program: {base}/say, modules: [{module}]}}
    ls-dyna:
      program: {base}/mppdyna
      hybrid: {{program: {base}/hybdyna}}
      modules: [{module}]
      inputs: {{3cars: {{path: {base}/models/3cars.k, sha256: {digest}}}}}
"""
SAY = """\
title: A program that says what it was given
engine: proxy
figure_of_merit: ""
unit: ""
higher_is_better: false
fixed_time: false
launch:
  arguments: []
  forward: [LICENCE_SERVER]
  result: {file: stdout.txt, text: "said: "}
  cases: {once: {seconds: 1}}
"""
CAMPAIGN = """\
title: one run
evidence: measured
hardware: one host that plays two nodes
matrix:
  cluster: here
  repeats: 1
  subsets:
    - name: one
      why: a single run is enough
      application: {application}
      case: {case}
      factors: {{{factors}}}
"""
PROGRAM = """\
#!/bin/sh
echo "said: module=$FROM_MODULE licence=$LICENCE_SERVER threads=$OMP_NUM_THREADS"
"""
# A stand-in for LS-DYNA, which has a licence: it says what it was given and how a run ends, and nothing else.
DYNA = """\
#!/bin/sh
echo "$(basename $0) $* threads=$OMP_NUM_THREADS licence=$LSTC_LICENSE_SERVER"
echo " N o r m a l    t e r m i n a t i o n" >mes0000
"""
MODULE = """\
#%Module
setenv FROM_MODULE yes
setenv LICENCE_SERVER secret.example
setenv LSTC_LICENSE_SERVER secret.example
"""
MODEL = "*KEYWORD\n*END\n"
# A stand-in for charmrun, which is in no package: it starts processes in the two ways in which charmrun 8 was
# seen to start them, with its number of each process and the script around each program, and nothing else.
CHARMRUN = """\
#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
    ++p) ranks=$2; shift 2 ;;
    ++runscript) script=$2; shift 2 ;;
    ++nodelist) mapfile -t hosts < <(sed -n 's/^host //p' "$2"); shift 2 ;;
    ++remote-shell) read -ra shell <<<"$2"; shift 2 ;;
    ++mpiexec) mpiexec=1; shift ;;
    ++*) shift ;;
    *) break ;;
    esac
done
if [ -n "${mpiexec-}" ]; then
    "${shell[@]}" -n "$ranks" sh -c 'CmiMyNode=$SLURM_PROCID; export CmiMyNode; exec "$0" "$@"' "$script" "$@"
    exit
fi
for ((rank = 0; rank < ranks; rank++)); do
    srun --overlap --nodes=1 --ntasks=1 --nodelist="${hosts[rank % ${#hosts[@]}]}" \\
        env -i PATH="$PATH" CmiMyNode=$rank sh -c 'cd "$0" && exec "$@"' "$PWD" "$script" "$@" &
done
wait
"""


def run(
    cluster: SlurmCluster,
    base: Path,
    application: str,
    case: str,
    factors: str,
    *,
    module: str = "licence/1",
    digest: str = "",
) -> dict[str, Any]:
    """Measure a campaign of one run, as its rule does, and return the record."""
    needed = shutil.which("hpcc") if application == "hpcc" else Path("/etc/profile.d/modules.sh").is_file()
    if not needed:
        pytest.skip("no hpcc or no environment modules on this host; run tests/slurm/install.sh")
    shutil.copytree(ROOT / "config/applications", base / "config/applications")
    values = {"application": application, "case": case, "factors": factors}
    digest = digest or hashlib.sha256(MODEL.encode()).hexdigest()
    files = {
        "config/clusters/here.yaml": CLUSTER.format(base=base, module=module, digest=digest, openmpi=OPENMPI),
        "config/campaigns/c.yaml": CAMPAIGN.format(**values),
        "config/applications/say.yaml": SAY,
        "config/config.yaml": "campaigns: [c]\nreports: {}\npages: []\n",
        "modules.sh": f"export MODULEPATH={base}/modulefiles\n. /etc/profile.d/modules.sh\n",
        "modulefiles/licence/1": MODULE,
        "models/3cars.k": MODEL,
        "mppdyna": DYNA,
        "hybdyna": DYNA,
        "say": PROGRAM,
        "charmrun": CHARMRUN,
    }
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text, encoding="utf-8")
        (base / name).chmod(0o755)
    (base / "data/raw/c").mkdir(parents=True)
    planned = expand(load("c", base)).runs[0]
    command = f"exec {sys.executable} -m analysis.measure.launch c {planned.name}"
    size = (f"--nodes={planned.nodes}", f"--ntasks-per-node={planned.ranks_per_node}", "--exclusive")
    jobs.ended(cluster, jobs.submit(cluster, base, command, *size), seconds=180)
    (path,) = (base / "data/raw/c/runs").glob("*/run.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def output(base: Path, record: dict[str, Any], name: str = "stdout.txt") -> Path:
    return base / "data/raw/c/runs" / str(record["run"]) / name


def placed(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Return node and cores of each rank, as the kernel gave them."""
    assert record["binding"]["as_asked"]
    rows = [line.split() for line in record["binding"]["ranks"]]
    assert [int(row[0]) for row in rows] == list(range(record["ranks"]))
    return [(row[1], row[3]) for row in rows]


@pytest.mark.parametrize("mpi", ["openmpi", "pmix"])
def test_hpcc__of_debian_is_run_and_read(cluster: SlurmCluster, tmp_path: Path, mpi: str) -> None:
    record = run(cluster, tmp_path, "hpcc", "tiny", f"nodes: 2, ranks_per_node: 2, mpi: {mpi}")
    assert record["reason"] == ""
    assert len({node for node, _ in placed(record)}) == 2
    path = output(tmp_path, record, "hpccoutf.txt")
    ds = readers.open(path)
    assert (ds.attrs["ranks"], ds.attrs["success"], ds.attrs["complete"]) == (4, 1, True)
    for key in ("CommWorldProcs", "HPL_N", "HPL_Tflops", "StarSTREAM_Triad"):
        grepped = subprocess.run(["grep", f"^{key}=", path], capture_output=True, text=True, check=True)
        assert ds["value"].sel(entry=key).item() == float(grepped.stdout.partition("=")[2])
    # What was written for this run: N of the case, a grid of one row of all ranks.
    assert (ds["value"].sel(entry="HPL_N").item(), ds["value"].sel(entry="HPL_nprow").item()) == (200, 1)
    assert ds["value"].sel(entry="HPL_npcol").item() == 4


def test_hpcc__by_a_launcher_that_its_library_does_not_know_is_a_failed_run(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    # Debian's Open MPI is built with PMIx and without PMI2.
    record = run(cluster, tmp_path, "hpcc", "tiny", "nodes: 2, ranks_per_node: 1, mpi: pmi2")
    assert record["reason"].startswith("exit code ")
    assert record["run"].endswith(".failed-1")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "pmix"])
def test_modules__reach_the_ranks_and_their_values_no_record(
    cluster: SlurmCluster, tmp_path: Path, mpi: str
) -> None:
    record = run(cluster, tmp_path, "say", "once", f"nodes: 2, ranks_per_node: 1, mpi: {mpi}")
    assert (record["reason"], record["modules"]) == ("", ["licence/1"])
    said = output(tmp_path, record).read_text(encoding="utf-8").splitlines()
    assert said == ["said: module=yes licence=secret.example threads=1"] * 2
    for name in ("run.json", "job.sh"):
        assert "secret.example" not in output(tmp_path, record, name).read_text(encoding="utf-8")


def test_modules__missing_one_is_a_failed_run(cluster: SlurmCluster, tmp_path: Path) -> None:
    factors = "nodes: 1, ranks_per_node: 1, mpi: pmix"
    record = run(cluster, tmp_path, "say", "once", factors, module="licence/9")
    assert (record["reason"], record["start"]) == ("module load licence/9 failed", None)


@pytest.mark.parametrize("mpi", ["charm", "charm-slurm"])
def test_charmrun__processes_are_bound_and_have_the_variables(
    cluster: SlurmCluster, tmp_path: Path, mpi: str
) -> None:
    """With a stand-in for charmrun: it proves the launch line and the files, not Charm++."""
    record = run(cluster, tmp_path, "say", "once", f"nodes: 2, ranks_per_node: 2, mpi: {mpi}")
    assert record["reason"] == ""
    first, second = record["node_list"]
    assert sorted(placed(record)) == [(first, "0"), (first, "1"), (second, "0"), (second, "1")]
    assert output(tmp_path, record).read_text(encoding="utf-8").count("threads=1") == 4


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (1, "mppdyna i={base}/models/3cars.k memory=400m threads=1 licence=secret.example"),
        (2, "hybdyna i={base}/models/3cars.k memory=400m ncpu=-2 threads=2 licence=secret.example"),
    ],
)
def test_lsdyna__mpp_and_hybrid_line_with_checked_input(
    cluster: SlurmCluster, tmp_path: Path, threads: int, expected: str
) -> None:
    """With a stand-in for LS-DYNA: it proves launch line, input and licence, not LS-DYNA."""
    factors = f"nodes: 2, ranks_per_node: 1, threads: {threads}, mpi: openmpi"
    record = run(cluster, tmp_path, "ls-dyna", "3cars", factors)
    assert record["reason"] == ""
    said = output(tmp_path, record).read_text(encoding="utf-8").splitlines()
    assert said == [expected.format(base=tmp_path)] * 2
    ((path, file),) = record["input_files"].items()
    assert (path, file["bytes"]) == (f"{tmp_path}/models/3cars.k", len(MODEL))
    for name in ("run.json", "job.sh"):
        assert "secret.example" not in output(tmp_path, record, name).read_text(encoding="utf-8")


def test_lsdyna__another_input_than_the_declared_is_a_failed_run(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    factors = "nodes: 1, ranks_per_node: 1, mpi: openmpi"
    record = run(cluster, tmp_path, "ls-dyna", "3cars", factors, digest="a" * 64)
    real = hashlib.sha256(MODEL.encode()).hexdigest()
    said = f"input {tmp_path}/models/3cars.k has SHA-256 {real}, declared is {'a' * 64}"
    assert (record["reason"], record["start"]) == (said, None)
