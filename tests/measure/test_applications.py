"""The applications that come with Benchbook: launch lines as their manuals have them, and their inputs.

LS-DYNA and OpenAtom cannot be had for a test: what stands here is the line that would start them.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from analysis.base import yaml
from analysis.base.errors import ConfigError
from analysis.measure import folders, layout
from analysis.measure.declare import Declared, load
from analysis.measure.job import BIND, Allocation, allocate
from analysis.measure.matrix import expand

from .conftest import ROOT

DIGEST = "0123456789abcdef" * 4
CLUSTER = """\
title: a cluster on paper
facts: []
launch:
  scheduler: slurm
  nodes: 2
  cores: ["0-1", "2-3"]
  mpi:
    ompi: {{family: openmpi, name: Open MPI, start: mpirun}}
    pmpi: {{family: platformmpi, name: Platform MPI, start: mpirun}}
    charm: {{family: charm, name: Charm++ for verbs, start: charmrun, launcher: /opt/charm/charmrun}}
  applications:
    ls-dyna:
      program: /opt/mppdyna
      hybrid: {{program: /opt/hybdyna}}
      arguments: [p=/data/pfile]
      inputs: {{3cars: {{path: /data/3cars.k{digest}}}}}
    openatom:
      {{programs: {{charm: /opt/verbs/OpenAtom, ompi: /opt/mpi/OpenAtom}}{data}}}
    imb: {{program: /opt/IMB-MPI1}}
"""
CAMPAIGN = """\
title: one run
evidence: measured
hardware: none
matrix:
  cluster: paper
  repeats: 1
  subsets:
    - name: one
      why: a single run is enough
      application: {application}
      case: {case}
      factors: {{{factors}}}
"""


def declare(
    base: Path, application: str, case: str, factors: str, *, digest: str = "", data: str = "", old: str = ""
) -> Declared:
    shutil.copytree(ROOT / "config/applications", base / "config/applications", dirs_exist_ok=True)
    cluster = CLUSTER.format(digest=f", sha256: {digest}" if digest else "", data=data)
    old, _, new = old.partition("->")
    values = {"application": application, "case": case, "factors": factors}
    for name, text in (
        ("clusters/paper", cluster.replace(old, new)),
        ("campaigns/c", CAMPAIGN.format(**values)),
    ):
        (base / f"config/{name}.yaml").parent.mkdir(exist_ok=True)
        (base / f"config/{name}.yaml").write_text(text, encoding="utf-8")
    return load("c", base)


def allocated(declared: Declared) -> Allocation:
    run = expand(declared).runs[0]
    return allocate(declared, run, [f"n{number}" for number in range(1, run.nodes + 1)])


def test_lsdyna__mpp_line(tmp_path: Path) -> None:
    (job,) = allocated(declare(tmp_path, "ls-dyna", "3cars", "nodes: 2, mpi: ompi", digest=DIGEST)).jobs
    assert job.command[:7] == ["mpirun", "-np", "8", "--map-by", "ppr:4:node", "--bind-to", "none"]
    handed = [name for at, name in enumerate(job.command) if job.command[at - 1] == "-x"]
    assert {"LSTC_LICENSE", "LSTC_LICENSE_SERVER"} <= set(handed)
    assert not any("=" in name for name in handed)
    at = job.command.index("sh")
    assert job.command[at:] == [
        "sh", str(BIND), "0/1/2/3", "-", "/opt/mppdyna", "i=/data/3cars.k", "memory=400m", "p=/data/pfile",
    ]  # fmt: skip
    assert job.head["inputs"] == {"/data/3cars.k": DIGEST}


def test_lsdyna__hybrid_line(tmp_path: Path) -> None:
    declared = declare(tmp_path, "ls-dyna", "3cars", "nodes: 2, mpi: pmpi, threads: 2")
    found = allocated(declared)
    (job,) = found.jobs
    assert found.environment["OMP_NUM_THREADS"] == "2"
    assert job.command[:5] == ["mpirun", "-np", "4", "-hostlist", "n1:2,n2:2"]
    at = job.command.index("sh")
    assert job.command[at + 2 :] == [
        "0-1/2-3", "-", "/opt/hybdyna", "i=/data/3cars.k", "memory=400m", "ncpu=-2", "p=/data/pfile",
    ]  # fmt: skip
    assert job.head["inputs"] == {"/data/3cars.k": ""}  # recorded at the run, compared by verify


def test_lsdyna__model_that_the_cluster_does_not_have_is_named(tmp_path: Path) -> None:
    declared = declare(tmp_path, "ls-dyna", "neon_refined_revised", "mpi: ompi")
    with pytest.raises(
        ConfigError, match=r"paper.yaml:\d+: does not say where the input 'neon_refined_revised' is"
    ):
        allocated(declared)


def test_lsdyna__licence_server_in_the_cluster_file_is_refused(tmp_path: Path) -> None:
    where = "facts: []\nlaunch:->facts: []\nlaunch:\n  environment: {LSTC_LICENSE_SERVER: lic1.example.org}"
    declared = declare(tmp_path, "ls-dyna", "3cars", "mpi: ompi", old=where)
    with pytest.raises(ConfigError, match=r"paper.yaml:4: LSTC_LICENSE_SERVER is not to be written down"):
        expand(declared)


def test_openatom__charmrun_over_a_remote_shell(tmp_path: Path) -> None:
    declared = declare(
        tmp_path, "openatom", "water-32m-70ry", "nodes: 2, mpi: charm", data=", inputs: /data/w32"
    )
    (job,) = allocated(declared).jobs
    assert job.command == [
        "/opt/charm/charmrun", "++p", "8", "++runscript", "./start-rank.sh",
        "++no-scalable-start", "++nodelist", "nodelist",
        "/opt/verbs/OpenAtom", "cpaimd_config", "water.input",
    ]  # fmt: skip
    assert job.files["nodelist"] == "group main\nhost n1\nhost n2\n"
    assert job.files["start-rank.sh"].splitlines()[-1] == f'exec sh {BIND} 0/1/2/3 - "$@"'
    assert job.links == "/data/w32"


def test_openatom__mpi_build_is_started_as_any_mpi_program(tmp_path: Path) -> None:
    declared = declare(tmp_path, "openatom", "water-32m-70ry", "mpi: ompi", data=", inputs: /data/w32")
    (job,) = allocated(declared).jobs
    assert job.command[:3] == ["mpirun", "-np", "4"]
    assert job.command[-3:] == ["/opt/mpi/OpenAtom", "cpaimd_config", "water.input"]
    assert job.files == {}


def test_openatom__charm_is_started_by_charmrun_alone(tmp_path: Path) -> None:
    old = "start: charmrun,->start: mpirun,"
    data = ", inputs: /data/w32"
    declared = declare(tmp_path, "openatom", "water-32m-70ry", "mpi: charm", data=data, old=old)
    with pytest.raises(
        ConfigError, match="'charm' has the family charm and is started by mpirun; charmrun is"
    ):
        expand(declared)


def test_openatom__dataset_is_linked_and_results_are_the_runs_own(tmp_path: Path) -> None:
    dataset, folder = tmp_path / "w32", tmp_path / "1"
    for name in ("cpaimd_config", "STATES/state1.out"):
        (dataset / name).parent.mkdir(parents=True, exist_ok=True)
        (dataset / name).write_text(name, encoding="utf-8")
    declared = declare(tmp_path, "openatom", "water-32m-70ry", "mpi: charm", data=f", inputs: {dataset}")
    layout.lay_out(tmp_path, {"script": "", "jobs": [asdict(allocated(declared).jobs[0])]}, {})
    assert (folder / "STATES/state1.out").read_text(encoding="utf-8") == "STATES/state1.out"
    assert (folder / "start-rank.sh").stat().st_mode & 0o111
    (folder / "STATES/state2.out").write_text("new", encoding="utf-8")
    folders.drop_links(folder)
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == [folders.HEAD, "STATES/state2.out", "nodelist", "start-rank.sh"]
    assert sorted(path.name for path in dataset.rglob("*")) == ["STATES", "cpaimd_config", "state1.out"]


def test_imb__line_takes_all_ranks_at_once(tmp_path: Path) -> None:
    (job,) = allocated(declare(tmp_path, "imb", "Allreduce", "nodes: 2, mpi: ompi")).jobs
    assert job.command[-6:] == ["/opt/IMB-MPI1", "-npmin", "8", "-msglog", "2:20", "Allreduce"]


@pytest.mark.parametrize(
    ("application", "sample"),
    [("hpcg", "hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt"), ("hpcc", "hpcc/n2.txt")],
)
def test_ranks__result_of_two_says_two(application: str, sample: str) -> None:
    declared, _ = yaml.read(str(ROOT / f"config/applications/{application}.yaml"))
    result = declared["launch"]["result"]
    said = (ROOT / "tests/data" / sample).read_text(encoding="utf-8")
    assert result["text"] in said
    assert [ranks for ranks in (1, 2, 4) if result["ranks"].replace("${ranks}", str(ranks)) in said] == [2]
