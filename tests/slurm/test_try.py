"""``benchbook try``: one cheap run on a real Slurm shows binding, link and meters, or what is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.measure.power.test_sampler import zone

from . import campaigns
from .cluster import SlurmCluster
from .machine import until

pytestmark = pytest.mark.slurm

# What the profile asks for less often than on a real cluster.
SOONER = {"latency-wait: 60": "latency-wait: 5", "status-checks: 20": "status-checks: 3"}
SOONER |= {"mem_mb=2000": "mem_mb=200"}
METERS = """\
power:
  period: 0.2
  meters:
    - {{type: powercap, name: "cpu-{{node}}", root: "{place}/{{node}}"}}
"""


def use_campaign(base: Path, *changes: tuple[str, str], more: str = "") -> None:
    """Make the campaign one of one rank on each of one and of two nodes."""
    head = campaigns.CAMPAIGN.partition("    - name: cpus")[0]
    text = head.replace("case: short", "case: halo").replace("mpi: [openmpi, pmix, pmi2]", "mpi: openmpi")
    text = text.partition("      exclude:")[0].replace("ranks_per_node: 2", "ranks_per_node: 1")
    (base / "config/campaigns/few.yaml").write_text(text, encoding="utf-8")
    cluster = campaigns.CLUSTER
    for old, new in changes:
        assert old in cluster
        cluster = cluster.replace(old, new)
    (base / "config/clusters/testbed.yaml").write_text(cluster + more, encoding="utf-8")
    profile = base / "slurm/config.yaml"
    text = profile.read_text(encoding="utf-8")
    for old, new in SOONER.items():
        text = text.replace(old, new)
    profile.write_text(f"{text}seconds-between-status-checks: 3\n", encoding="utf-8")


def tried(cluster: SlurmCluster, base: Path) -> tuple[int, dict[str, str], str]:
    """Try the campaign as a user does; return the status, the lines by their first word, and the rest."""
    done: subprocess.CompletedProcess[str] = cluster.run(
        [sys.executable, "-m", "analysis.cli", "try", "few"], cwd=base, check=False, timeout=400
    )
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    return done.returncode, lines, done.stdout + done.stderr


def test_try__says_what_is_missing_and_how_to_get_it(cluster: SlurmCluster, project: Path) -> None:
    use_campaign(project)
    status, lines, said = tried(cluster, project)
    assert status == 1, said
    assert list(lines) == ["job", "binding", "link", "power meter", "profiler"], said
    assert lines["job"].startswith("proved: job "), said
    assert lines["binding"].startswith("proved: 2 ranks have the cores that were asked for"), said
    assert lines["link"].startswith("missing: eth0 carried "), said
    assert "give one in 'environment' of the link" in lines["link"]
    assert lines["power meter"].startswith("missing: config/clusters/testbed.yaml has no meter; "), said
    assert lines["profiler"].startswith("missing: no run has a profiler; declare one under 'launch'"), said
    # It is a run of the campaign: another look starts no job.
    ((name, record),) = campaigns.records(project).items()
    assert (record["nodes"], record["run"], record["reason"]) == (2, name, "")
    status, again, said = tried(cluster, project)
    assert again == lines
    assert "is measured first" not in said


def test_try__proves_link_and_meters(cluster: SlurmCluster, project: Path, tmp_path: Path) -> None:
    for node in ("n1", "n2", "n3", "n4"):
        zone(tmp_path / "sys" / node, "intel-rapl:0", "package-0", 50_000_000)
    named = ("OMPI_MCA_btl_tcp_if_include: 10.77.0.0/24", "OMPI_MCA_btl_tcp_if_include: eth0")
    use_campaign(project, named, more=METERS.format(place=tmp_path / "sys"))
    status, lines, said = tried(cluster, project)
    assert status == 1, said  # no profiler
    ((_, record),) = campaigns.records(project).items()
    # On a periodic grid of two ranks each sends the other two of its four blocks of 65,536 B, 10,000 times.
    payload = 2 * 2 * 10_000 * 65_536  # sent and received
    assert payload < record["traffic"]["eth0"] < 1.2 * payload  # with headers and acknowledgements
    assert lines["link"].startswith("proved: eth0 carried "), said
    assert "OMPI_MCA_btl_tcp_if_include names it" in lines["link"]
    assert lines["power meter"].startswith("proved: cpu-n"), said


def test_try__a_program_that_fails_is_named_with_its_reason(cluster: SlurmCluster, project: Path) -> None:
    use_campaign(project, ("proxy: {build: proxy}", "proxy: {program: /nowhere/proxy}"))
    status, lines, said = tried(cluster, project)
    assert status == 1
    assert lines["job"].startswith("missing: no program /nowhere/proxy"), said
    assert lines["binding"].startswith("missing: "), said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("partition: bench", "partition: nowhere"), "invalid partition specified: nowhere"),
        (("account: bench", "account: nobody"), "The given account nobody appears to be invalid."),
        (("memory: 1000", "memory: 900000"), "Memory specification can not be satisfied"),
    ],
)
def test_try__what_slurm_refuses_is_said_in_its_words(
    cluster: SlurmCluster, project: Path, change: tuple[str, str], why: str
) -> None:
    use_campaign(project, change)
    status, lines, said = tried(cluster, project)
    assert status == 1
    assert lines["job"].startswith(f"missing: Slurm refused the job: {why}"), said
    assert lines["job"].endswith(
        "(see 'launch' in config/clusters/testbed.yaml); put it right, then try again"
    )


def test_try__an_interrupt_ends_its_job_and_leaves_no_lock(cluster: SlurmCluster, project: Path) -> None:
    """As Ctrl-C does, the signal comes to Snakemake, too; it was killed, and the next try found its lock."""
    use_campaign(project)
    cluster.run(["scontrol", "update", "partitionname=bench", "state=down"])
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # who tests in the background ignores it
    try:
        process = cluster.popen([sys.executable, "-m", "analysis.cli", "try", "few"], cwd=project)
        until("its job", lambda: "PD" in cluster.run(["squeue", "-h", "-o", "%t"]).stdout, seconds=60)
        os.killpg(process.pid, signal.SIGINT)
        _, said = campaigns.finish(process, 60)  # the status is that of nsenter, which has ended by it
    finally:
        signal.signal(signal.SIGINT, before)
        cluster.run(["scontrol", "update", "partitionname=bench", "state=up"])
    assert "few: waiting until Snakemake has ended its job" in said
    assert "job: missing: Snakemake ended with " in said
    assert "Traceback" not in said
    until("an empty queue", lambda: cluster.run(["squeue", "-h"]).stdout == "", seconds=30)
    _, lines, said = tried(cluster, project)
    assert lines["job"].startswith("proved: job "), said
