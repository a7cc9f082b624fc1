from __future__ import annotations

import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from . import campaigns, host
from .cluster import SlurmCluster

PROGRAM = Path(__file__).with_name("programs") / "pingpong.c"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "slurm: starts a real Slurm; needs root on Debian and tests/slurm/install.sh"
    )
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker runs, one after another")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep tests together that share more than a cluster: what their file's fixture has started."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()  # type: ignore[attr-defined]
    if any(fixture.scope == "module" for same_name in fixtures for fixture in same_name):
        item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope="session")
def able() -> None:
    """Skip, and say why, where no cluster can be started; a start that fails is no reason to skip."""
    if reason := host.missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(able: None) -> Iterator[SlurmCluster]:
    """One for all tests; with several workers, one for each."""
    with SlurmCluster() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the real workflow and a campaign called ``few``."""
    return campaigns.make_project(tmp_path / "project")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show why runs of a failed test failed; cancel what it leaves in the queue, for the tests after it."""
    report = yield
    given = getattr(item, "funcargs", {})
    if report.failed and isinstance(project := given.get("project"), Path):
        report.sections.append(("records and logs of the project", campaigns.why(project)))
    running = given.get("cluster")
    if report.failed and isinstance(running, SlurmCluster):
        running.run(["scancel", "--user=root"], check=False)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests have measured; with several workers their own output goes nowhere."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def programs(able: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The test program, built by each MPI library."""
    folder = tmp_path_factory.mktemp("programs")
    built: dict[str, Path] = {}
    for library, compiler in (("openmpi", "mpicc.openmpi"), ("mpich", str(campaigns.MPICC))):
        built[library] = folder / f"pingpong.{library}"
        command = [compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-o", built[library], PROGRAM]
        subprocess.run(command, check=True)
    return built
