"""Data of other people in bulk: what the scripts leave, and medians taken from the tables by plain Python."""

from __future__ import annotations

import csv
import importlib.util
import lzma
import shutil
import sys
from pathlib import Path
from statistics import median
from types import ModuleType
from unittest.mock import patch

import pandas as pd
import pytest

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.datasets.campaign import ingest
from analysis.schema import storage

CAMPAIGNS = ("top500", "specpower", "hpcg-outputs", "cloud-study", "archer2-frequency")


def script(campaign: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("make", project.raw(campaign) / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.object(sys, "dont_write_bytecode", True):  # its manifest has no such file
        spec.loader.exec_module(module)
    return module


def rows(campaign: str, name: str) -> list[dict[str, str]]:
    data = (project.raw(campaign) / name).read_bytes()
    text = (lzma.decompress(data) if name.endswith(".xz") else data).decode()
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    out = {}
    for name in CAMPAIGNS:
        folder = tmp_path_factory.mktemp(name)
        ingest(project.raw(name), folder)
        tree = storage.read_tree(folder / "campaign.nc")
        out[name] = pd.DataFrame({str(k): v.values for k, v in tree["runs"].to_dataset().variables.items()})
    return out


# ---- what the scripts make of lines in the originals' form

TOP500 = """\
"manufacturer","cores","memory","processor","interconnect","rmax","rpeak","nmax","nhalf","power","os","compiler","math","mpi","country","system_id","city","segment","year","rank","list","edition","osfamily"
"HP",44520,139000,"Intel Xeon E5-2680v2  10C 2.8GHz","Infiniband FDR",958700,997200,3175200,NA,855,"Linux",NA,NA,NA,"US","178421","A","Industry",2014,40,2014-06-01,43,"Linux"
"HP",33280,NA,"Intel Xeon E5-2680v2  10C 2.8GHz","10G Ethernet",478000,745500,NA,NA,2496,"Linux",NA,NA,NA,"US","178393","A","Industry",2014,77,2014-06-01,43,"Linux"
"HP",33280,NA,"Intel Xeon E5-2680v2  10C 2.8GHz","10G Ethernet",478000,745500,NA,NA,NA,"Linux",NA,NA,NA,"US","178394","A","Industry",2014,78,2014-06-01,43,"Linux"
"HP",44520,139000,"Intel Xeon E5-2680v2  10C 2.8GHz","Infiniband FDR",999999,997200,3175200,NA,855,"Linux",NA,NA,NA,"US","178421","A","Industry",2014,40,2014-11-01,44,"Linux"
"Dell",17608,7936,"Intel Xeon E5-2680v2  10C 2.8GHz","40G Ethernet",221000,355100,885888,NA,87,"Linux",NA,NA,"Intel MPI","US","178475","A","Research",2014,270,2014-11-01,44,"Linux"
"X",100,NA,"Opteron Quad Core 4C 2.3GHz","Myrinet 10G",700,920,NA,NA,NA,"Linux",NA,NA,NA,"US","1","A","Research",2008,9,2008-11-01,32,"Linux"
"X",100,NA,"Opteron Quad Core 4C 2.3GHz","Infinband DDR 4x",700,920,NA,NA,NA,"Linux",NA,NA,NA,"US","2","A","Research",2008,9,2008-11-01,32,"Linux"
"X",100,NA,"Opteron Quad Core 4C 2.3GHz","Numalink/Infiniband",700,920,NA,NA,NA,"Linux",NA,NA,NA,"US","3","A","Research",2008,9,2008-11-01,32,"Linux"
"""  # noqa: E501


def test_make__top500_counts_a_system_once_and_marks_accelerators() -> None:
    make = script("top500")
    found = make.systems(list(csv.DictReader(TOP500.splitlines())))
    assert [line[0] for line in found] == ["178421", "178393", "178475", "2"]
    assert found[0] == [
        "178421", "hpl", "2014-06", "Xeon E5-2680v2 10C 2.8GHz", "ib", "44520", "958700", "Gflop/s",
        "997200", "855000", "",
    ]  # fmt: skip
    assert (
        found[2][-1] == make.MISFIT
    )  # cores of its accelerators are counted: 20.2 Gflop/s per core, not 22.4
    assert (found[3][4], found[3][9]) == ("ib", "")
    assert make.lists(list(csv.DictReader(TOP500.splitlines()))) == [
        ["2008-11 another", "top500", "2008-11", "another", "2", "systems"],
        ["2008-11 ib", "top500", "2008-11", "ib", "1", "systems"],
        ["2014-06 10gbe", "top500", "2014-06", "10gbe", "2", "systems"],
        ["2014-06 ib", "top500", "2014-06", "ib", "1", "systems"],
        ["2014-11 40gbe", "top500", "2014-11", "40gbe", "1", "systems"],
        ["2014-11 ib", "top500", "2014-11", "ib", "1", "systems"],
    ]


SPEC = """\
,Benchmark,Hardware Vendor,System,Result,avg. watts @ 100%,avg. watts @ active idle,# Cores,Chips,# Cores Per Chip,# Threads Per Core,CPU Description,Processor MHz,Total Memory (GB),Power Supply Details,Published,Total Threads
7,power_ssj2008,Apple Inc.,"Xserve3,1",1000.0,334.0,173.0,8,2,4,2,Intel(R) Xeon(R) CPU X5570,2933,18,x,Apr-2009,16
8,power_ssj2008,Dell Inc.,"PowerEdge 2970 (AMD Opteron 2382, 2.60 GHz)",851.0,258.0,127.0,8,2,4,1,AMD Opteron 2382,2600,8,x,Dec-2008,8
"""  # noqa: E501


def test_make__specpower_names_processors_alike() -> None:
    found = script("specpower").results(csv.DictReader(SPEC.splitlines()))
    assert [line[4] for line in found] == ["2 x Xeon X5570", "2 x Opteron 2382"]
    assert found[0][0:4] == ["result 7", "specpower", "2009-04", "Apple Inc., Xserve3,1"]
    assert found[1][5:] == ["8", "851.0", "ssj_ops/W", "258.0", "127.0", ""]


def test_make__cloud_begins_a_run_where_sizes_fall() -> None:
    lines = [",size,latency_us,experiment,cloud,env,env_type,nodes,gpu_count"]
    lines += [
        f"{i},{size},{1.5 + i},x,azure,cyclecloud,cpu,32,0" for i, size in enumerate((0.0, 8.0, 16.0, 64.0))
    ]
    lines += [f"{i},{size},{9.5 + i},x,azure,cyclecloud,cpu,32,0" for i, size in enumerate((0.0, 8.0))]
    lines += ["0,8.0,2.25,x,on-premises,dane,cpu,64,0"]
    found, sizes = script("cloud-study").runs(csv.DictReader(lines), "osu_latency")
    names = [f"azure-cyclecloud 32 osu_latency {i}" for i in (1, 2)]
    assert [line[0] for line in found] == [*names, "on-premises-dane 64 osu_latency 1"]
    assert found[0][3:] == [
        "azure/cyclecloud",
        "HB120-96rs_v3",
        "ib-hdr",
        "2",
        "2",
        "1",
        "a cluster of 32 nodes",
    ]
    assert sizes == [
        [names[0], "osu_latency", "8", "2.5", ""],
        [names[0], "osu_latency", "64", "4.5", ""],
        [names[1], "osu_latency", "8", "10.5", ""],
        ["on-premises-dane 64 osu_latency 1", "osu_latency", "8", "2.25", ""],
    ]


HPCG = """\
version=HPCG-Benchmark_3.0
Machine Summary::Distributed Processes=16
Machine Summary::Threads per processes=12
Local Domain Dimensions::nx=112
Local Domain Dimensions::ny=112
Local Domain Dimensions::nz={nz}
Benchmark Time Summary::Total=312.703
DDOT Timing Variations::Avg DDOT MPI_Allreduce time=147.348
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=22.0612
SLURM VARIABLES::SLURM_JOB_NUM_NODES=4
"""


def test_make__hpcg_takes_what_an_output_says() -> None:
    make = script("hpcg-outputs")
    line = dict(
        zip(make.HEADER, make.run("a", HPCG.format(nz=112), make.ARM["qpace4_SVE_openmpi"]), strict=True)
    )
    assert (line["case"], line["local_size"], line["nodes"], line["ranks_per_node"]) == (
        "112³",
        "112",
        "4",
        "4",
    )
    assert (line["figure_of_merit"], line["benchmark_time"], line["reduction_time"]) == (
        "22.0612",
        "312.703",
        "147.348",
    )
    assert (line["mpi"], line["reason"], line["source"]) == ("Open MPI", "", "hpcg-for-arm")
    flat = HPCG.format(nz=56).replace("is VALID with a GFLOP/s rating of=22.0612", "is INVALID.=")
    line = dict(zip(make.HEADER, make.run("a", flat, make.GOOGLE, "8"), strict=True))
    assert (line["case"], line["local_size"], line["nodes"], line["ranks_per_node"]) == (
        "112×112×56",
        "",
        "8",
        "2",
    )
    assert (line["figure_of_merit"], line["reason"]) == ("", "HPCG rates it not valid")


# ---- what the datasets hold


@pytest.mark.parametrize(
    ("cpu", "link", "share", "n", "beside"),
    [
        ("E5-2680v2", "1gbe", 0.252, 3, ()),
        ("E5-2680v2", "10gbe", 0.641, 11, ()),
        ("E5-2680v2", "ib", 0.849, 17, ()),
        ("E5-2680v2", "ib", 0.849, 19, ("177259", "178603")),  # no accelerators, but another processor beside
        ("X5670", "1gbe", 0.519, 42, ()),
        ("X5670", "10gbe", 0.761, 2, ()),
        ("X5670", "ib", 0.881, 20, ()),
        ("X5570", "1gbe", 0.532, 20, ()),
        ("X5570", "ib", 0.889, 28, ("176903",)),
        ("E5-2680 ", "1gbe", 0.261, 3, ()),
        ("E5-2680 ", "10gbe", 0.711, 10, ()),
        ("Opteron Quad", "1gbe", 0.537, 3, ()),
        ("Opteron Quad", "ib", 0.772, 24, ("176084", "176212", "176496", "176620", "176911")),
    ],
)
def test_top500__efficiency_by_link_and_processor(
    runs: dict[str, pd.DataFrame], cpu: str, link: str, share: float, n: int, beside: tuple[str, ...]
) -> None:
    found = runs["top500"]
    chosen = found[found["cpu"].str.contains(cpu) & (found["interconnect"] == link)]
    repeated = chosen["reason"] == script("top500").REPEATED
    chosen = chosen[chosen["valid"] | repeated | chosen["run"].isin(beside)]
    assert len(chosen) == n
    assert median(chosen["figure_of_merit"] / chosen["peak"]) == pytest.approx(share, abs=5.1e-4)


def test_top500__a_share_that_many_systems_have_counts_once(runs: dict[str, pd.DataFrame]) -> None:
    found = runs["top500"]
    chosen = found[(found["cpu"] == "Xeon E5-2670 8C 2.6GHz") & (found["interconnect"] == "1gbe")]
    chosen = chosen[chosen["reason"] != script("top500").MISFIT]
    shares = chosen["figure_of_merit"] / chosen["peak"]
    alike = shares[(shares > 0.2705) & (shares < 0.2715)]
    assert (len(chosen), len(alike)) == (41, 23)
    assert chosen["valid"][alike.index].sum() == 1
    assert (chosen["valid"].sum(), median(shares[chosen["valid"]])) == (14, pytest.approx(0.5136, abs=5e-5))


def test_top500__a_processor_newer_than_the_list_is_marked(runs: dict[str, pd.DataFrame]) -> None:
    one = runs["top500"].set_index("run").loc["177259"]
    assert one["question"] == "2011-06"
    assert "E5-2680v2" in one["cpu"]
    assert not one["valid"]


def test_specpower__watts_by_processor(runs: dict[str, pd.DataFrame]) -> None:
    found = runs["specpower"].groupby("cpu")
    for cpu, n, full, idle in (
        ("2 x Xeon X5670", 35, 250, 74.5),
        ("2 x Xeon X5570", 12, 240, 74.2),
        ("2 x Xeon E5-2670", 8, 280.5, 55.2),
        ("2 x Opteron 2384", 4, 264, 140),
    ):
        part = found.get_group(cpu)
        assert len(part) == n
        assert (median(part["mean_power"]), median(part["idle_power"])) == pytest.approx(
            (full, idle), abs=0.051
        )


def test_hpcg__rates_of_one_machine_and_reductions_of_another(runs: dict[str, pd.DataFrame]) -> None:
    found = runs["hpcg-outputs"]
    alike = found[(found["case"] == "112³") & (found["nodes"] == 4) & (found["ranks"] == 16)]
    rates = alike.groupby("mpi")["figure_of_merit"].median()
    assert rates.to_dict() == {"Open MPI": 73.8254}
    google = found[found["cluster"] == "GKE"].groupby("nodes")
    assert google.size().to_dict() == {4: 5, 8: 3, 16: 3, 32: 3, 64: 3}
    shares = (100 * google["reduction_time"].median() / google["benchmark_time"].median()).round(0)
    assert shares.to_dict() == {4: 3, 8: 13, 16: 19, 32: 21, 64: 22}


def test_cloud__latency_by_link(tmp_path: Path) -> None:
    ingest(project.raw("cloud-study"), tmp_path)
    tree = storage.read_tree(tmp_path / "campaign.nc")
    micro = tree["micro"].to_dataset().to_dataframe()
    eks = [f"aws-eks 32 osu_latency {i}" for i in range(1, 29)]
    found = micro[micro["run"].isin(eks) & (micro["size"] == 8)]["latency"]
    assert (median(found), min(found), max(found)) == (16.18, 13.28, 17.28)
    assert len(micro) == len(rows("cloud-study", "sizes.csv.xz")) == 18626


# ---- what is refused


def test_ingest__writes_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ingest(project.raw("specpower"), tmp_path / name)
    first, second = ((tmp_path / name / "campaign.nc").read_bytes() for name in ("a", "b"))
    assert first == second


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw: (raw / "results.csv").unlink(), "holds no table of runs"),
        (lambda raw: shutil.copy(raw / "results.csv", raw / "again.csv"), "is in two tables"),
        (
            lambda raw: (raw / "sources.csv").write_text("source,title,address\na,b,c\n"),
            "names source 'specpower'",
        ),
    ],
)
def test_ingest__refuses(tmp_path: Path, change: object, said: str) -> None:
    raw = tmp_path / "specpower"
    shutil.copytree(project.raw("specpower"), raw)
    change(raw)  # type: ignore[operator]
    with pytest.raises(ConfigError, match=said):
        ingest(raw, tmp_path / "out")


# As the repository has it next to the outputs of CASTEP, and at the end of an output of OpenSBLI.
SACCT = """\
JobID               NodeList ReqCPUFreq ElapsedRaw ConsumedEnergyRaw 
------------ --------------- ---------- ---------- ----------------- 
3053576      nid[001535,006+    Unknown        714                   
3053576.bat+       nid001535          0        714                 0 
3053576.ext+ nid[001535,006+          0        714                 0 
3053576.0    nid[001535,006+         2G        181            285487 
3053576.1    nid[001535,006+      2.25G        164            317188 
"""  # noqa: W291
UNCOUNTED = """\
3050670.ext+      512      512          0        482                 0 
3050670.0         512    65536      2.25G        350                   
"""  # noqa: W291


def test_frequency__takes_the_steps_of_a_table_of_sacct() -> None:
    steps = script("archer2-frequency").steps
    assert steps(SACCT) == {2.0: ("3053576", "181", "285487"), 2.25: ("3053576", "164", "317188")}
    assert steps(UNCOUNTED) == {2.25: ("3050670", "350", "")}


def test_frequency__what_was_not_counted_has_no_energy(runs: dict[str, pd.DataFrame]) -> None:
    found = runs["archer2-frequency"]
    assert found.groupby("application").size().to_dict() == {
        "castep": 10, "gromacs": 8, "lammps": 10, "opensbli": 10,
    }  # fmt: skip
    without = found[found["energy"].isna()]
    assert set(without["energy_reason"]) == {"sacct has no energy of the step"}
    assert list(without["job_id"]) == ["3050670", "3051712"]
    # No node draws less than it does idle, nor more than its supply gives.
    watts = found["mean_power"] / found["nodes"]
    assert (watts.min(), watts.max()) == (pytest.approx(396.7, abs=110), pytest.approx(553, abs=20))
