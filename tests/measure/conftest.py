"""A project of its own: two applications, one cluster, one campaign, all small."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.measure.declare import Declared, load

ROOT = Path(__file__).parents[2]

CLUSTER = """\
title: a cluster on paper
facts:
  - {what: cores, value: 8, source: this test}
launch:
  scheduler: slurm
  nodes: 4
  cores: ["0-3", "4-7"]
  memory: 2000
  minutes: 10
  start_up: 4
  partition: batch
  constraint: quiet
  mpi:
    ompi: {family: openmpi, name: Open MPI 4.1.4, start: mpirun, modules: [openmpi/4.1.4]}
    mpich: {family: mpich, name: MPICH 4.0.2, start: srun-pmi2}
  interconnect:
    ib: {environment: {UCX_NET_DEVICES: "mlx5_0:1"}}
    eth: {partition: slow, environment: {UCX_NET_DEVICES: eth0}}
  cpu:
    new: {constraint: haswell}
    old: {constraint: ivybridge}
  profilers:
    ipm: {library: /opt/ipm/lib/libipm.so, modules: [ipm]}
  applications:
    alpha: {programs: {ompi: /opt/alpha/ompi, mpich: /opt/alpha/mpich}, environment: {LICENCE: host}}
    beta: {program: /opt/beta, container: /images/beta.sif, inputs: /data/beta}
"""

ALPHA = """\
title: Alpha
engine: proxy
figure_of_merit: time
unit: s
higher_is_better: false
fixed_time: false
launch:
  arguments: ["--size=${size}", "--ranks=${ranks}", "--price=$$5"]
  threads: true
  result: {file: stdout.txt, text: "proxy result: "}
  files: {alpha.in: "size ${size}\\n"}
  cases:
    small: {seconds: 10, values: {size: 3, local_size: 16}}
    large: {seconds: 100, arguments: ["--long"], values: {size: 30}}
"""

BETA = """\
title: Beta
engine: hpcc
figure_of_merit: ""
unit: ""
higher_is_better: true
fixed_time: false
launch:
  arguments: ["i=${inputs}/in.k"]
  preload: false
  result: {file: "out*.txt", text: "End of"}
  cases:
    only: {inputs: {in.k: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}
"""

CAMPAIGN = """\
title: A campaign on paper
evidence: measured
hardware: none
matrix:
  cluster: paper
  seed: 7
  repeats: 3
  factors: {interconnect: ib, cpu: new}
  subsets:
    - name: scaling
      why: how far the larger case goes on with more nodes
      application: alpha
      case: [small, large]
      factors: {nodes: [1, 2, 4], ranks_per_node: all, mpi: [ompi, mpich]}
      exclude:
        - {when: {case: large, nodes: 1}, why: the large case does not fit one node}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return the root of the project."""
    base = tmp_path / "project"
    files = {
        "config/config.yaml": "campaigns: [c]\nreports: {}\npages: []\n",
        "config/clusters/paper.yaml": CLUSTER,
        "config/applications/alpha.yaml": ALPHA,
        "config/applications/beta.yaml": BETA,
        "config/campaigns/c.yaml": CAMPAIGN,
    }
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text, encoding="utf-8")
    return base


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """Put a program of the shell into the search path, before all others of its name."""
    tool = folder / "bin" / name
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(text, encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")


def squeue(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> Path:
    """Put a squeue into the search path that notes its arguments; return the notes."""
    log, said = folder / "asked", folder / "answer"
    said.write_text(answer, encoding="ascii")
    stand_in(folder, monkeypatch, "squeue", f'#!/bin/sh\necho "$@" >>{log}\ncat {said}\n')
    return log


Changed = Callable[..., Declared]


@pytest.fixture
def changed(base: Path) -> Changed:
    """Return a function that replaces a text in one of the files and loads the campaign."""

    def change(*replacements: tuple[str, str], file: str = "campaigns/c") -> Declared:
        path = base / f"config/{file}.yaml"
        text = path.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return load("c", base)

    return change
