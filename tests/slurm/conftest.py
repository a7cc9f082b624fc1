from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import host
from .cluster import SlurmCluster

PROGRAM = Path(__file__).with_name("programs") / "pingpong.c"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "slurm: starts a real Slurm; needs root on Debian and tests/slurm/install.sh"
    )


@pytest.fixture(scope="session")
def able() -> None:
    """Skip, and say why, where no cluster can be started; a start that fails is no reason to skip."""
    if reason := host.missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(able: None) -> Iterator[SlurmCluster]:
    with SlurmCluster() as running:
        yield running


@pytest.fixture(scope="session")
def programs(able: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The test program, built by each MPI library."""
    folder = tmp_path_factory.mktemp("programs")
    built: dict[str, Path] = {}
    for library in ("openmpi", "mpich"):
        built[library] = folder / f"pingpong.{library}"
        command: list[str | Path] = [
            f"mpicc.{library}",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-o",
            built[library],
            PROGRAM,
        ]
        subprocess.run(command, check=True)
    return built
