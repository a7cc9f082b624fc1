"""An own job on another network: totals are the profile's, nothing changes where nothing is changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import readers
from analysis.base import project
from analysis.base.errors import BenchbookError
from analysis.cli import main
from analysis.cli import whatif as command
from analysis.datasets import profile as profiles
from analysis.model.inputs import load
from analysis.model.patterns import Exchanged
from analysis.model.whatif import ProfiledJob, forecast

RUNS = project.root() / "data/raw/vm-profiles/runs"
REAL = next((RUNS / "hpcg-ipm-n8").glob("*.ipm.xml.xz"))
INPUTS = load(project.root())
# Two nodes of four ranks: 10 s computing, 4 s in MPI; 1000 messages of 1 kB each way.
SENT = Exchanged(1.0, 1000.0, 1e6, 4000.0, 4e6, 500.0, 5e5)
JOB = ProfiledJob(2, 4, 10.0, 4.0, SENT, {8.0: 300.0}, {})


def test_job__totals_are_those_of_the_profile() -> None:
    ds = readers.open(REAL)
    job = command._job(ds, str(REAL))
    ranks = profiles.ranks(ds)
    assert job.computing + job.messaging == pytest.approx(ranks["app_time"].max())
    assert (job.nodes, job.ranks) == (1, 8)
    # 138,078,848 B and 319,984 sends of all ranks, all of them alike, as IPM counted; 12,896 / 8 reductions.
    assert (job.sent.inside, job.sent.inside_payload) == (319_984 / 8, 138_078_848 / 8)
    assert job.reductions == {8.0: 1612.0}
    assert job.sent.node_messages == 0.0


def test_forecast__on_its_own_link_and_nodes_a_job_stays_as_it_is() -> None:
    for nodes in (None, 2):
        found = forecast(INPUTS, JOB, "1gbe", "1gbe", nodes=nodes)
        assert found.total == pytest.approx(np.full(found.total.size, 14.0))
        assert found.own + found.waiting == pytest.approx(4.0)


def test_forecast__a_better_link_never_slows_and_a_faster_core_helps() -> None:
    better = forecast(INPUTS, JOB, "1gbe", "ib-fdr")
    assert (better.speedup >= 1.0 - 1e-9).all()
    assert (forecast(INPUTS, JOB, "ib-fdr", "1gbe").speedup <= 1.0 + 1e-9).all()
    # 10 s of computing become 5 s; waiting for other ranks is halved too, that for the network is not.
    faster = forecast(INPUTS, JOB, "1gbe", "1gbe", faster=2.0)
    assert (faster.total <= 9.0 + 1e-9).all()
    assert (faster.total > 5.0).all()


def test_forecast__messages_never_take_more_than_the_profile_had() -> None:
    tight = ProfiledJob(2, 4, 10.0, 1e-6, SENT, {8.0: 300.0}, {})
    found = forecast(INPUTS, tight, "1gbe", "1gbe")
    assert found.own.max() <= 1e-6
    assert found.total == pytest.approx(10.000001)


def test_on__twice_the_nodes_share_the_work_and_the_surface() -> None:
    more = JOB.on(4)
    assert (more.computing, more.nodes, more.ranks) == (5.0, 4, 16)
    assert more.sent.payload == pytest.approx(1e6 / 2 ** (2 / 3))
    assert more.sent.messages == 1000.0


def test_on__messages_move_between_nodes_and_within_one() -> None:
    alone = JOB.on(1)
    assert (alone.sent.messages, alone.sent.node_messages, alone.sent.inside) == (0.0, 0.0, 1500.0)
    # Eight ranks are a cube of side two: half of the messages leave it, all of those of a corner.
    one = ProfiledJob(1, 8, 10.0, 4.0, Exchanged(1.0, 0.0, 0.0, 0.0, 0.0, 600.0, 6e5), {}, {})
    spread = one.on(2).sent
    assert (spread.messages, spread.node_messages, spread.inside) == pytest.approx((600.0, 2400.0, 300.0))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "none"], "no link 'none'"),
        (["--from", "1gbe", "--link", "ib-fdrr"], "no link 'ib-fdrr'"),
    ],
)
def test_whatif__an_unknown_link_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", "--profile", str(REAL), *arguments]) != 0
    told = capsys.readouterr().err.strip()
    assert said in told
    assert "\n" not in told
    assert told.startswith(arguments[-2])  # where it stands


CLUSTER = """\
title: Our next cluster
nodes: 16
link: fast
faster: 2.0
links:
  fast:
    title: the vendor's 200 Gbit/s
    kind: rdma
    bandwidth: { low: 2.2e+10, high: 2.4e+10, unit: B/s, source: the offer }
    latency: { low: 6.0e-7, high: 1.2e-6, unit: s, source: the offer }
    header: 30
    source: the offer
"""


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["whatif", "--profile", str(REAL), *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_whatif__of_a_cluster_s_file_and_its_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job on one node needs no --from; the command line wins over the file."""
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    found = _report(capsys, "--on", str(file))
    assert (found["on"]["nodes"], found["on"]["link"], found["profiled"]["link"]) == (16, "fast", "")
    assert found["title"] == "the vendor's 200 Gbit/s"
    assert _report(capsys, "--on", str(file), "--nodes", "8")["on"]["nodes"] == 8
    assert _report(capsys, "--on", str(file), "--link", "10gbe")["on"]["link"] == "10gbe"
    slower = _report(capsys, "--link", "ib-hdr", "--nodes", "16")["seconds"]["median"]
    assert found["seconds"]["median"] < 0.8 * slower


def test_whatif__a_table_of_nodes_and_links_with_energy_and_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row is the forecast of its own call; 400 W and 2 an hour of each of 4 nodes, numbers as typed."""
    file = tmp_path / "cluster.yaml"
    typed = CLUSTER.replace("2.2e+10", "2.2e10").replace("6.0e-7", "6e-7")
    extra = "watts: { low: 400, high: 400, unit: W, source: x.y }\n"
    extra += "price: { low: 2, high: 3, unit: EUR/h, source: x.y }\n"
    file.write_text(typed + extra)
    arguments = [
        "whatif",
        "--profile",
        str(REAL),
        "--on",
        str(file),
        "--nodes",
        "4,8",
        "--link",
        "fast,10gbe",
    ]
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(one["on"]["nodes"], one["on"]["link"]) for one in rows] == [
        (4, "fast"), (4, "10gbe"), (8, "fast"), (8, "10gbe"),
    ]  # fmt: skip
    assert rows[3] == _report(capsys, "--on", str(file), "--nodes", "8", "--link", "10gbe")
    seconds, energy, cost = (rows[0][name] for name in ("seconds", "energy", "cost"))
    assert energy["high"] == pytest.approx(seconds["high"] * 4 * 400 / 3600)
    assert (cost["low"], cost["high"]) == pytest.approx(
        (seconds["low"] * 8 / 3600, seconds["high"] * 12 / 3600)
    )
    arguments[arguments.index("4,8")] = "1,4"  # one node uses no link, and is no error of a table
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "Wh per job" in told
    # Waiting that nothing explains decides this job: no row has a middle, and the caution is once.
    assert (told.count("caution   79 % of the time"), told.count("(")) == (1, 0)
    assert len([line for line in told.splitlines() if line.split()[0] in ("1", "4")]) == 3
    assert "cost in the unit of the price, EUR/h" in told


def test_whatif__nonsense_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", "--profile", str(REAL), "--link", "ib-hdr", "--nodes", "100000"]) == 1
    assert "of 100,000 nodes it says nothing; forecasts end at 32,768 nodes" in capsys.readouterr().err


def test_whatif__is_a_forecast_widened_with_distance(capsys: pytest.CaptureFixture[str]) -> None:
    near, far = (_report(capsys, "--link", "ib-ndr", "--nodes", nodes) for nodes in ("16", "2048"))
    assert near["kind"] == "a forecast, no evidence"
    assert far["widened_by"] > near["widened_by"] > 0
    assert [one for one in far["cautions"] if "32 times as many" in one]
    assert not [one for one in near["cautions"] if "32" in one]
    # 79 % of this job's time is waiting: twice as many ranks as cores.
    assert near["cautions"][0].startswith("79 % of the time is waiting")
    assert main(["whatif", "--profile", str(REAL), "--link", "ib-ndr", "--nodes", "16"]) == 0
    assert capsys.readouterr().out.startswith("a forecast, no evidence: ")


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("low: 2.2e+10", "low: 2.5e+10"), 9, "low 2.5e+10 is above high 2.4e+10"),
        (("unit: B/s", "unit: GB/s"), 9, "is in GB/s; give low and high in B/s"),
        (("link: fast", "link: fat"), 3, "no link 'fat'"),
        (("nodes: 16", "nodes: 0"), 2, "nodes"),
        (("nodes: 16", "nodes: 10000000000"), 2, "nodes"),
        (("faster: 2.0", "faster: .inf"), 4, "faster"),
        (("latency: { low: 6.0e-7", "latency: { low: -1"), 10, "links.fast.latency.low"),
        (("header: 30", "headr: 30"), 11, "headr"),
    ],
)
def test_whatif__a_bad_cluster_s_file_is_one_line(
    change: tuple[str, str], line: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER.replace(*change))
    assert main(["whatif", "--profile", str(REAL), "--on", str(file)]) == 1
    told = capsys.readouterr().err.splitlines()
    assert any(one.startswith(f"{file}:{line}: ") and said in one for one in told)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "ran on one node, without a link: nothing would change"),
        (["--link", "ib-hdr"], "ran on one node, without a link: nothing would change"),
        (["--nodes", "4"], "nothing says which link joins 4; give --link"),
    ],
)
def test_whatif__without_enough_to_go_by_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", "--profile", str(REAL), *arguments]) == 1
    told = capsys.readouterr().err.strip()
    assert said in told
    assert "\n" not in told


@pytest.mark.parametrize("nodes", ["0", "-3", "x", "1000001"])
def test_whatif__a_number_of_nodes_that_is_none_is_wrong_usage(nodes: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["whatif", "--profile", str(REAL), "--link", "ib-hdr", "--nodes", nodes])
    assert ended.value.code == 2


def test_links__of_several_nodes_must_be_said() -> None:
    with pytest.raises(
        BenchbookError, match=r"ran on 2 nodes, and no profile says over which link; give --from"
    ):
        command._links(INPUTS, JOB, "x.xml", "", "ib-hdr", 2)
    assert command._links(INPUTS, JOB, "x.xml", "1gbe", "", 4) == ("1gbe", "1gbe")


def test_whatif__a_profile_without_sizes_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    stdout = RUNS / "hpcg-ipm-n8/HPCG-Benchmark_3.1_2026-11-20_23-20-42.txt"
    assert main(["whatif", "--profile", str(stdout), "--from", "1gbe"]) != 0
    told = capsys.readouterr().err.strip()
    assert "no profile with message sizes" in told
    assert "\n" not in told


def test_job__unequal_nodes_are_refused() -> None:
    ds = readers.open(REAL).copy(deep=True)
    hosts = ["a"] * 6 + ["b"] * 2  # a whole number on the mean node, and yet unequal
    ds["host"] = (ds["host"].dims, np.array(hosts, dtype=object))
    with pytest.raises(BenchbookError, match=r"8 ranks on 2 nodes, not as many on each"):
        command._job(ds, "x.xml")


TILES = """
import time
import numpy as np, pandas as pd
from analysis.base import project
from analysis.cli import whatif as command
from analysis.model.inputs import load
from analysis.model.whatif import ProfiledJob, forecast
ranks, near = 640, 26
begin = time.process_time()
hosts = np.repeat([f"n{i}" for i in range(32)], 20)
rank = np.repeat(np.arange(ranks), near)
peer = (rank + np.tile(np.arange(1, near + 1), ranks)) % ranks
matrix = pd.DataFrame({"rank": rank, "peer": peer, "count": 5714, "bytes": 5e6})
sent = command._sent(matrix, hosts)
job = ProfiledJob(32, 20, 100.0, 30.0, sent, {8.0: 1612.0}, {})
found = forecast(load(project.root()), job, "1gbe", "ib-fdr", nodes=64)
# Not ru_maxrss, which a child takes over from its parent.
most = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.process_time() - begin, most, sent.node_messages)
"""


def test_whatif__640_ranks_in_time_and_memory() -> None:
    done = subprocess.run([sys.executable, "-c", TILES], capture_output=True, text=True, check=True)
    seconds, memory, messages = map(float, done.stdout.split())
    assert seconds < 5
    assert memory * 1024 < 500e6
    # Of 26 ranks ahead those beyond the node's last: for place p of 20, 26 - (19 - p); summed over p 330.
    assert messages == 330 * 5714
