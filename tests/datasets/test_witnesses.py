"""Lies planted in copies of shipped campaigns, the manifest rewritten each time: `verify` names them.

Each changes what one liar would change and leaves what another place says of it.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import cli
from analysis.base import files, project
from analysis.cli.verify import verify
from analysis.datasets import campaign as reading
from analysis.datasets.run import RunFolder, read_run
from analysis.datasets.witnesses import accounts, hearing, layout, sequence, starts, watts
from analysis.datasets.witnesses.marks import marks
from analysis.provenance import manifest

ROOT = Path(__file__).parents[2]
RAW = ROOT / "data" / "raw"
SHIPPED = ("vm-hpcg", "vm-exchange", "vm-profiles", "hpcg-outputs", "cloud-study", "top500", "specpower")
KNOWN: dict[Any, RunFolder] = {}


def read_once(folder: Path, applications: Any, power: Any = None, *, witnessed: bool = False) -> RunFolder:
    """Read a run whose files are links to those of one that has been read by what was read of that."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # The record's change of time tells a copy that was written anew.
    key = (
        witnessed,
        folder.name,
        folder.parents[1].name,
        *((path.name, path.stat().st_ino) for path in files),
    )
    if key not in KNOWN:
        KNOWN[key] = read_run(folder, applications, power or {}, witnessed=witnessed)
    found = KNOWN[key]
    return replace(
        found, row=dict(found.row), extra=dict(found.extra), repeats=[dict(one) for one in found.repeats]
    )


def test_read_run__what_only_witnesses_ask_for_is_read_for_them_alone() -> None:
    folder = RAW / "vm-profiles" / "runs" / "osu-allreduce-n8-ipm"
    plain, whole = (read_run(folder, {}, witnessed=witnessed) for witnessed in (False, True))
    assert plain.marks == {}
    assert [word for word, _ in whole.marks["stdout.txt"].stamps] == ["start", "stop"]
    assert repr(plain.row) == repr(whole.row)


@dataclass
class Copy:
    """A copy of a shipped campaign; what is not written anew is a link to it."""

    folder: Path

    @classmethod
    def of(cls, name: str, base: Path) -> Copy:
        folder = base / "data" / "raw" / name
        shutil.copytree(RAW / name, folder, copy_function=os.link)
        return cls(folder)

    def write(self, name: str, text: str | bytes) -> None:
        path = self.folder / name
        data = text.encode() if isinstance(text, str) else text
        fresh = path.with_name(f".{path.name}.new")  # an inode of its own while the old one is there
        fresh.write_bytes(data)
        fresh.replace(path)

    def edit(self, name: str, pattern: str, by: str | Callable[[re.Match[str]], str], count: int = 0) -> None:
        text = (self.folder / name).read_text()
        changed, times = re.subn(pattern, by, text, count=count, flags=re.MULTILINE)
        assert times
        self.write(name, changed)

    def records(self, **wanted: Any) -> list[dict[str, Any]]:
        found = (json.loads(path.read_text()) for path in sorted(self.folder.glob("runs/*/run.json")))
        return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]

    def change(self, folder: str, **values: Any) -> None:
        path = f"runs/{folder}/run.json"
        self.write(path, json.dumps(json.loads((self.folder / path).read_text()) | values, indent=1))

    def change_all(self, values: dict[str, Any], **wanted: Any) -> None:
        for record in self.records(**wanted):
            self.change(record["run"], **values)

    def drop(self, run: str, *, accounted: bool = True) -> None:
        """Remove a run, and its job from the accounting."""
        job = json.loads((self.folder / f"runs/{run}/run.json").read_text()).get("job_id")
        shutil.rmtree(self.folder / "runs" / run)
        if accounted and job is not None:
            self.edit("sacct.txt", rf"^{job}(?:\.\w+)?\|.*\n", "")

    def file(self, run: str, pattern: str) -> str:
        (path,) = (self.folder / "runs" / run).glob(pattern)
        return str(path.relative_to(self.folder))

    def renumbered(self, *keys: str) -> None:
        """Close the holes that a removed run has left."""
        if "order" in keys:
            order = sorted({one["order"] for one in self.records()})
            for one in self.records():
                if one["order"] != order.index(one["order"]) + 1:
                    self.change(one["run"], order=order.index(one["order"]) + 1)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "config", base / "config")
    return base


@pytest.fixture
def base(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config").symlink_to(config / "config")
    monkeypatch.setattr(project, "root", lambda: tmp_path)
    monkeypatch.setattr(reading, "read_run", read_once)
    return tmp_path


def said(copy: Copy, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Rewrite the manifest, verify, and return the status and the lines."""
    manifest.write(copy.folder, copy.folder.name, force=True)
    capsys.readouterr()
    code = verify([copy.folder.name], write=False, force=False)
    return code, capsys.readouterr().err.splitlines()


Lie = Callable[[Copy], None]
LIES: list[tuple[str, str, Lie]] = []


def lie(campaign: str, phrase: str) -> Callable[[Lie], Lie]:
    """Register a lie about a campaign, with what must be said of it."""

    def add(tell: Lie) -> Lie:
        LIES.append((campaign, phrase, tell))
        return tell

    return add


# ---- runs that were left out, added or moved


@lie("vm-hpcg", r"sacct\.txt(:\d+)?: lists job 28 \(COMPLETED, 6 s\), without a run")
def slow_runs_removed(copy: Copy) -> None:
    copy.drop("001", accounted=False)
    copy.drop("004", accounted=False)


@lie("vm-hpcg", r"order goes from 1 to 215, and no run has 1, 4;")
def runs_and_jobs_removed(copy: Copy) -> None:
    copy.drop("001")
    copy.drop("004")


@lie("vm-exchange", r"its cell has the repetitions 1, 2, 3, 5, 6 and lacks 4;")
def orders_closed(copy: Copy) -> None:
    copy.drop("050")
    copy.renumbered("order")


@lie("vm-exchange", r"runs are numbered from 1 to 198, and 51 is missing")
def repeats_closed(copy: Copy) -> None:
    record = copy.records(run="051")[0]
    copy.drop("051")
    copy.renumbered("order")
    for other in copy.records(case=record["case"], interconnect=record["interconnect"]):
        if other["ranks"] == record["ranks"] and other["repeat"] > record["repeat"]:
            copy.change(other["run"], repeat=other["repeat"] - 1)


@lie("vm-hpcg", r"runs/216/HPCG\S+: has to the last digit the figures of run 001")
def run_copied_and_moved(copy: Copy) -> None:
    shutil.copytree(copy.folder / "runs/001", copy.folder / "runs/216")
    record = copy.records(run="001")[0]
    moved = {name: record[name] + 3600 for name in ("start", "end")}
    copy.change("216", run="216", job_id=249, order=216, repeat=7, **moved)


@lie("vm-hpcg", r"has the figures of run 001, each times or by 1\.1")
def run_copied_and_slowed(copy: Copy) -> None:
    shutil.copytree(copy.folder / "runs/001", copy.folder / "runs/216")
    record = copy.records(run="001")[0]
    copy.change(
        "216",
        run="216",
        job_id=249,
        order=216,
        repeat=7,
        start=record["start"] + 3000,
        end=record["end"] + 3000,
    )
    rates = r"^((?:GFLOP/s|GB/s) Summary::[^=]*=|Final Summary::[^=]*(?:rating|reasons)[^=]*=)([\d.e+-]+)$"
    name = copy.file("216", "HPCG*.txt")
    copy.edit(name, rates, lambda m: f"{m[1]}{float(m[2]) / 1.1:.6g}")
    times = r"^((?:Benchmark Time Summary|DDOT Timing Variations)::[^=]*=|.*Setup Time=)([\d.e+-]+)$"
    copy.edit(name, times, lambda m: f"{m[1]}{float(m[2]) * 1.1:.6g}")


@lie("vm-hpcg", r"belongs to job 128, which Slurm's records do not have")
def moved_a_day_and_forgotten(copy: Copy) -> None:
    record = copy.records(job_id=128)[0]
    copy.edit("sacct.txt", r"^128(?:\.\w+)?\|.*\n", "")
    copy.change(record["run"], start=record["start"] + 86400, end=record["end"] + 86400)


@lie("vm-hpcg", r"24\.0 h before its run began, by the clock of the other runs' outputs")
def moved_a_day_against_the_output(copy: Copy) -> None:
    record = copy.records(application="hpcg", exit_code=0)[5]
    copy.change(record["run"], start=record["start"] + 86400, end=record["end"] + 86400)


@lie("vm-exchange", r"is number 60 in order and began at .* number \d+ \(run \d+\) at ")
def moved_an_hour(copy: Copy) -> None:
    record = copy.records(order=60)[0]
    copy.change(record["run"], start=record["start"] + 3600, end=record["end"] + 3600)


@lie("vm-hpcg", r"belongs to job \d+, which began \d+ s (?:before|after) job \d+ of run")
def jobs_swapped(copy: Copy) -> None:
    one, other = copy.records(run="020")[0], copy.records(run="121")[0]
    copy.change("020", job_id=other["job_id"])
    copy.change("121", job_id=one["job_id"])


def jobs_of_neighbours_swapped(copy: Copy) -> None:
    one, other = copy.records(run="011")[0], copy.records(run="012")[0]
    copy.change("011", job_id=other["job_id"])
    copy.change("012", job_id=one["job_id"])


lie("vm-hpcg", r"011/run\.json(:\d+)?: it began 45 s before its job 40 did; other runs began after theirs")(
    jobs_of_neighbours_swapped
)


@lie("vm-hpcg", r"012/run\.json(:\d+)?: it ended \d+ s after its job 39 did; other runs ended before theirs")
def jobs_of_neighbours_swapped_both_ways(copy: Copy) -> None:
    """The partner of the one that began too early is named as well."""
    jobs_of_neighbours_swapped(copy)


@lie(
    "vm-hpcg", r"001/HPCG-\S+: its result took 6.001 s of its 6.609 s, that of run 053 would fit as those of"
)
def outputs_of_repeats_exchanged(copy: Copy) -> None:
    """Their names are kept; only what a run takes besides its result tells."""
    one, other = copy.file("001", "HPCG-Benchmark*"), copy.file("053", "HPCG-Benchmark*")
    texts = [(copy.folder / name).read_bytes() for name in (one, other)]
    copy.write(one, texts[1])
    copy.write(other, texts[0])


@lie(
    "vm-lulesh", r"lulesh-s20-1x1-f5237b34-r04/run\.json(:\d+)?: it began at 2026-\S+ UTC, its job ran from "
)
def run_of_a_shared_job_given_to_another_job(copy: Copy) -> None:
    copy.change("lulesh-s20-1x1-f5237b34-r04", job_id="8:9")


@lie(
    "vm-lulesh",
    r"f5237b34-r04/run\.json(:\d+)?: is number 25 in order and began at .*, number 2\d \(run lulesh",
)
def orders_within_a_job_swapped(copy: Copy) -> None:
    """Jobs 3 and 4 do not run in their order."""
    copy.change("lulesh-s20-1x1-f5237b34-r04", order=25)
    copy.change("lulesh-s20-1x1-e4d7d149-r05", order=20)


@lie("vm-lulesh", r"deb8d7a2-r08/run\.json(:\d+)?: says that 2 runs shared job 8, and there is no run 8:2;")
def last_run_of_a_shared_job_removed(copy: Copy) -> None:
    copy.drop("lulesh-s20-1x1-f5237b34-r08", accounted=False)


@lie("vm-lulesh", r"sacct\.txt(:\d+)?: lists job 8 \(COMPLETED, 14 s\), without a run")
def all_runs_of_a_shared_job_removed(copy: Copy) -> None:
    for name in ("deb8d7a2", "f5237b34"):
        copy.drop(f"lulesh-s20-1x1-{name}-r08", accounted=False)


@lie("vm-hpcg", r"has job 29, like run")
def one_job_of_two_runs(copy: Copy) -> None:
    copy.change("005", job_id=29)


@lie("vm-hpcg", r"says that 2 jobs ran at once; 1 did")
def partner_removed(copy: Copy) -> None:
    copy.drop("003b")


@lie("vm-exchange", r"says exit code 1, but its result is whole and valid")
def slow_run_called_failed(copy: Copy) -> None:
    copy.change("054", exit_code=1)


@lie("vm-hpcg", r"ended well by its record, its job 29 is FAILED")
def failed_run_called_good(copy: Copy) -> None:
    copy.edit("sacct.txt", r"^(29(?:\.\w+)?\|.*\|)COMPLETED\|0:0", r"\1FAILED|1:0")


@lie("vm-hpcg", r"says elapsed 6\.0 of job 28, sacct-one-job\.json says 16\.0")
def another_account(copy: Copy) -> None:
    copy.edit("sacct-one-job.json", r'("elapsed": )6\b', r"\g<1>16")


@lie("vm-hpcg", r"sacct\.txt(:\d+)?: job 60 was submitted at .*, out of the order of its number")
def account_of_another_night(copy: Copy) -> None:
    copy.edit(
        "sacct.txt",
        r"^(60\|.*)2026-11-21T\d\d(:.*)2026-11-21T\d\d(:.*)2026-11-21T\d\d(:.*)$",
        r"\g<1>2026-11-21T04\g<2>2026-11-21T04\g<3>2026-11-21T04\4",
    )


# ---- outputs and profiles of other runs


@lie("vm-hpcg", r"mpiP: has the profile of run \d+|is byte by byte xhpcg")
def profile_of_the_neighbour(copy: Copy) -> None:
    one, other = copy.records(profiler="mpip", case="nx16", interconnect="veth-open")[:2]
    source, target = copy.file(one["run"], "*.mpiP"), copy.file(other["run"], "*.mpiP")
    copy.write(target, (copy.folder / source).read_bytes())


@lie("vm-hpcg", r"ipm\.xml|its profile (?:began|ended) at .* UTC, outside the run")
def profiles_swapped(copy: Copy) -> None:
    one, other = copy.records(profiler="ipm", interconnect="veth-open")[:2]
    files = [copy.file(run["run"], "*.ipm.xml") for run in (one, other)]
    first, second = ((copy.folder / name).read_bytes() for name in files)
    copy.write(files[0], second)
    copy.write(files[1], first)


@lie("vm-hpcg", r"says that xhpcg\S+ was written, which the run does not have")
def profile_renamed(copy: Copy) -> None:
    path = copy.folder / copy.file("007", "*.mpiP")
    path.rename(path.with_name("xhpcg.2.9999.1.mpiP"))


@lie("vm-hpcg", r"says profiler 'ipm', but has a profile of mpiP")
def profiler_renamed(copy: Copy) -> None:
    copy.change("007", profiler="ipm")


@lie("vm-exchange", r"its result has pattern \w+, its command --pattern=allreduce")
def output_of_another_case(copy: Copy) -> None:
    other = copy.records(case="halo", interconnect="veth-10gbit")[0]
    copy.write("runs/050/stdout.txt", (copy.folder / f"runs/{other['run']}/stdout.txt").read_bytes() + b"\n")


@lie("vm-profiles", r"command\.txt: says \d+\.?\d* s, its record")
def shorter_than_the_shell_says(copy: Copy) -> None:
    record = copy.records(run="osu-alltoall-n8-mpip")[0]
    copy.edit(
        "runs/osu-alltoall-n8-mpip/command.txt",
        r"seconds ([\d.]+)",
        lambda m: f"seconds {float(m[1]) * 3 + 9}",
    )
    assert record["exit_code"] == 0


@lie("vm-profiles", r"command\.txt: has no --nx=24, which the command of its record has")
def another_command(copy: Copy) -> None:
    record = copy.records(run="hpcg-ipm-n16")[0]
    copy.change("hpcg-ipm-n16", command=record["command"].replace("--nx=16", "--nx=24"))


# ---- figures


def scaled(copy: Copy, run: str, keys: str, factor: float) -> None:
    copy.edit(
        copy.file(run, "HPCG*.txt"),
        rf"^((?:{keys})=)([\d.e+-]+)$",
        lambda m: f"{m[1]}{float(m[2]) * factor:.6g}",
    )


RATES = r"(?:GFLOP/s|GB/s) Summary::[^=]*|Final Summary::[^=]*(?:rating|reasons)[^=]*"
OPERATIONS = r"Floating Point Operations Summary::[^=]*"


@lie("vm-hpcg", r"operations of DDOT, 13200 iterations in 264 sets on its grid are 6\.5313\de\+08")
def rating_scaled_with_its_sums(copy: Copy) -> None:
    scaled(copy, "001", f"{RATES}|{OPERATIONS}", 1.2)


@lie("vm-hpcg", r"rating of' is [\d.]+, which contradicts a total of")
def rating_alone(copy: Copy) -> None:
    scaled(copy, "001", r"Final Summary::[^=]*rating of", 1.2)


@lie("vm-hpcg", r"its result took 3\.\d+ s, \d+ % of its run; those of its \d+ repeats 9\d %")
def twice_as_fast_in_itself(copy: Copy) -> None:
    scaled(copy, "001", RATES, 1.9)
    scaled(
        copy,
        "001",
        r"(?:Benchmark Time Summary|DDOT Timing Variations)::[^=]*|.*Setup Time|.*time \(sec\)",
        1 / 1.9,
    )


@lie("vm-hpcg", r"logs 264 sets of iterations, the result has 316")
def more_iterations(copy: Copy) -> None:
    copy.edit(copy.file("001", "HPCG*.txt"), r"(Total number of \w+ iterations=)13200", r"\g<1>15800")
    scaled(copy, "001", f"{RATES}|{OPERATIONS}", 15800 / 13200)


@lie("vm-hpcg", r"as Number of Nonzero Terms, a grid of 32×16×16 has 198904")
def another_matrix(copy: Copy) -> None:
    copy.edit(copy.file("001", "HPCG*.txt"), r"(Number of Nonzero Terms=)198904", r"\g<1>194904")


@lie("vm-hpcg", r"the kernels of its result took [\d.]+ s, all of it")
def kernel_longer_than_all(copy: Copy) -> None:
    copy.edit(copy.file("001", "HPCG*.txt"), r"(Time Summary::MG=)[\d.]+", r"\g<1>6.8905")
    copy.edit(copy.file("001", "HPCG*.txt"), r"(Summary::Raw MG=)6\.03068", rf"\g<1>{29.493 / 6.8905:.6g}")


@lie("vm-hpcg", r"its output has version 3\.0, those of \d+ repeats of 3\.1")
def another_version(copy: Copy) -> None:
    copy.edit(copy.file("001", "HPCG*.txt"), r"^version=3\.1", "version=3.0")


@lie("vm-hpcg", r"its row of 4096 B is [\d.]+ times as fast as in its repeats")
def one_row_faster(copy: Copy) -> None:
    record = copy.records(case="osu_latency", interconnect="veth-open", exit_code=0)[1]
    copy.edit(
        f"runs/{record['run']}/stdout.txt", r"^(4096\s+)([\d.]+)$", lambda m: f"{m[1]}{float(m[2]) / 6:.2f}"
    )


@lie("vm-profiles", r"sums|contradict|mpiP\S*(:\d+)?: ")
def profile_edited_in_one_place(copy: Copy) -> None:
    name = (
        "runs/osu-alltoall-n8-mpip/" + next((copy.folder / "runs/osu-alltoall-n8-mpip").glob("*.mpiP")).name
    )
    copy.edit(
        name, r"^(   0 +)([\d.]+)( +[\d.]+ +[\d.]+)$", lambda m: f"{m[1]}{float(m[2]) * 3:.3g}{m[3]}", count=1
    )


# ---- names


@lie("vm-hpcg", r"says veth-1gbit, a link of 1 Gbit/s, and moved 10\.\d Gbit/s")
def links_renamed(copy: Copy) -> None:
    copy.change_all({"interconnect": "veth-1gbit"}, interconnect="veth-10gbit")


@lie("vm-hpcg", r"no run has interconnect 'veth-10gbit'")
def link_renamed_anew(copy: Copy) -> None:
    copy.change_all({"interconnect": "veth-25gbit"}, interconnect="veth-10gbit")


@lie("vm-hpcg", r"its cell of \d+ runs falls into two groups that differ|is off the other \d+ runs")
def slow_link_called_open(copy: Copy) -> None:
    for record in copy.records(interconnect="veth-1gbit"):
        copy.change(record["run"], interconnect="veth-open", repeat=record["repeat"] + 10)


@lie(
    "vm-hpcg",
    r"starts /opt/bench/hpcg-tuned/bin/xhpcg, \d+ other runs with Open MPI 4\.1\.4 and build '-O3' start",
)
def builds_renamed(copy: Copy) -> None:
    copy.change_all({"build": "-O3"}, build="-O3 -march=native -funroll-loops -ffast-math -flto")


@lie("vm-hpcg", r"its command is of MPICH, its record says Open MPI|starts /opt/bench/hpcg-mpich")
def library_renamed(copy: Copy) -> None:
    copy.change_all({"mpi": "Open MPI 4.1.4"}, mpi="MPICH 4.0.2")


@lie("vm-hpcg", r"no run has mpi 'MPICH 4\.0\.2'")
def library_of_another_version(copy: Copy) -> None:
    copy.change_all({"mpi": "MPICH 4.2.1"}, mpi="MPICH 4.0.2")


@lie("vm-exchange", r"says Open MPI 4\.1\.4, its modules names Open MPI 5\.0\.3")
def module_of_another_version(copy: Copy) -> None:
    copy.change("010", modules=["gcc/12.2", "openmpi/5.0.3"])


@lie("vm-hpcg", r"says cluster 'vm-slurm-9'; other runs on n1, n2 say 'vm-slurm-2'")
def cluster_renamed(copy: Copy) -> None:
    copy.change("001", cluster="vm-slurm-9")


@lie("vm-hpcg", r"says question 'scaling', its job 28 'interconnect'")
def question_changed(copy: Copy) -> None:
    copy.change("001", question="scaling")


# ---- where and how wide


@lie("vm-hpcg", r"says 2 ranks on 2 nodes with 2 ranks per node")
def ranks_per_node_changed(copy: Copy) -> None:
    copy.change("001", ranks_per_node=2)


@lie("vm-exchange", r"its command names 2 hosts \(\S+\), its record 1 nodes")
def nodes_changed(copy: Copy) -> None:
    copy.change("050", nodes=1, ranks_per_node=2)


@lie("vm-hpcg", r"has 1 nodes, its job 28 had 2")
def nodes_and_list_changed(copy: Copy) -> None:
    copy.change("001", nodes=1, nodelist=["n1"])


@lie("vm-hpcg", r"its result has 1 threads per rank, its record 4")
def threads_changed(copy: Copy) -> None:
    copy.change("001", threads=4)


@lie("vm-exchange", r"its environment has SLURM_JOB_ID=77, its record job_id 78")
def environment_of_another_job(copy: Copy) -> None:
    copy.change("010", job_id=78, environment={"SLURM_JOB_ID": "77"})


@lie("vm-exchange", r"its environment has SLURM_JOB_ID=77, its record job_id 78:3")
def environment_of_another_job_with_several_runs(copy: Copy) -> None:
    copy.change("010", job_id="78:3", environment={"SLURM_JOB_ID": "77"})


def test_verify__third_run_of_a_job_has_that_job_in_its_environment(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Copy.of("vm-exchange", base)
    copy.change("010", job_id="77:3", environment={"SLURM_JOB_ID": "77"})
    assert [line for line in said(copy, capsys)[1] if "SLURM_JOB_ID" in line] == []


@lie("vm-exchange", r"noted facts of n7, its record lists n1, n2")
def facts_of_another_node(copy: Copy) -> None:
    copy.change("010", nodelist=["n1", "n2"], facts={"host": "n7", "facts": {}})


# ---- power


def metered(copy: Copy, *, factor: float = 1.0, hours: float = 0.0) -> None:
    """Add what a meter of each node and Slurm's counter would have said: 200 W at work, 90 W else."""
    spans = [(one["start"], one["end"], one["nodelist"]) for one in copy.records() if one["end"]]
    first, last = min(span[0] for span in spans) - 300, max(span[1] for span in spans) + 300
    noise = np.random.default_rng(7)
    rows = ["time,meter,power_W,note"]
    for at in np.arange(first, last, 2.0):
        busy = {node for start, end, nodes in spans if start <= at <= end for node in nodes}
        for node in ("n1", "n2"):
            watts = (200.0 if node in busy else 90.0) + noise.normal(0, 2)
            watts *= factor if node == "n2" else 1.0
            stamp = datetime.fromtimestamp(at + 3600 * hours, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            rows.append(f"{stamp},{node},{watts:.2f},")
    copy.write("pdu.csv", "\n".join(rows) + "\n")
    jobs = {
        str(one["job_id"]): 200 * len(one["nodelist"]) * (one["end"] - one["start"])
        for one in copy.records()
        if np.isfinite(one["end"] or np.nan)
    }
    text = (copy.folder / "sacct.txt").read_text().splitlines()
    cells = [line.split("|") for line in text]
    for row in cells[1:]:
        if row[0] in jobs:
            row[16] = f"{jobs[row[0]]:.0f}"
    copy.write("sacct.txt", "\n".join("|".join(row) for row in cells) + "\n")


@lie("vm-hpcg", r"its meter has \S+ J, Slurm's counter \S+ J|its nodes drew \S+ W each")
def meter_times_ten(copy: Copy) -> None:
    metered(copy, factor=10)


@lie("vm-hpcg", r"fit the \d+ runs on its nodes if they are moved by \+2 h; a time zone")
def log_in_another_zone(copy: Copy) -> None:
    metered(copy, hours=-2)


def own_log(copy: Copy, run: str, watts: float, *, name: str = "power.csv", hours: float = 0.0) -> None:
    record = copy.records(run=run)[0]
    noise = np.random.default_rng(int(watts))
    rows = ["time,meter,power_W,note"]
    for at in np.arange(record["start"] - 2, record["end"] + 2, 0.25):
        stamp = datetime.fromtimestamp(at + 3600 * hours, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        rows += [
            f"{stamp},{node},{watts + noise.normal(0, 3):.2f}," for node in record.get("nodelist", ["node"])
        ]
    copy.write(f"runs/{run}/{name}", "\n".join(rows) + "\n")


@lie("vm-exchange", r"power\.csv: was read from .*; moved by -1 h it fits: a time zone")
def own_log_in_another_zone(copy: Copy) -> None:
    own_log(copy, "050", 300, hours=1)


@lie("vm-exchange", r"its nodes drew 4\.5e\+04 W each, a node draws 10 to 16000 W")
def megawatts(copy: Copy) -> None:
    own_log(copy, "050", 90_000)


@lie("vm-exchange", r"power\.csv: has for node the readings of node in run 050")
def log_of_another_run(copy: Copy) -> None:
    own_log(copy, "050", 300)
    text = (copy.folder / "runs/050/power.csv").read_text()
    one, other = (copy.records(run=run)[0]["start"] for run in ("050", "062"))
    moved = re.sub(r"^(\S+?)Z,", lambda m: _later(m[1], other - one), text, flags=re.MULTILINE)
    copy.write("runs/062/power.csv", moved)


def _later(stamp: str, seconds: float) -> str:
    at = datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp() + seconds
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ,")


# ---- lies of a second author


@lie("vm-hpcg", r"the last printed digit of all its rows is 0, in its repeats it is any")
def table_rounded_in_favour(copy: Copy) -> None:
    run = copy.records(case="osu_allreduce", interconnect="veth-open", exit_code=0)[2]["run"]
    copy.edit(
        f"runs/{run}/stdout.txt", r"^(\d+\s+)([\d.]+)$", lambda m: f"{m[1]}{int(float(m[2]) * 10) / 10:.2f}"
    )


def table_times(copy: Copy, factor: float) -> None:
    text = (copy.folder / "runs/014/stdout.txt").read_text()
    row = re.compile(r"^(\d+\s+)([\d.]+)(\s*)$", re.MULTILINE)
    text = row.sub(lambda m: f"{m[1]}{float(m[2]) * factor:.2f}{m[3]}", text)
    copy.write("runs/058/stdout.txt", text)


@lie("vm-hpcg", r"058/stdout\.txt: has the figures of run 014, each times or by 1\.01;")
def table_of_the_neighbour_a_percent_slower(copy: Copy) -> None:
    table_times(copy, 1.01)


@lie("vm-hpcg", r"058/stdout\.txt: has the figures of run 014, each times or by 1\.004;")
def table_of_the_neighbour_a_little_faster(copy: Copy) -> None:
    table_times(copy, 0.996)


@lie(
    "vm-lulesh", r"its record says threads 2, its output 1, the records of \d+ repeats 1; correct the record"
)
def threads_and_environment_changed(copy: Copy) -> None:
    record = copy.records(run="lulesh-s20-1x1-f5237b34-r02")[0]
    record["facts"]["environment"]["OMP_NUM_THREADS"] = "2"
    environment = record["environment"] | {"OMP_NUM_THREADS": "2"}
    copy.change(record["run"], threads=2, environment=environment, facts=record["facts"])


@lie(
    "vm-water",
    r"4d6615fc-r01/run\.json(:\d+)?: its output states no threads, its record 2 per rank; was the program ",
)
def threads_that_the_program_never_had(copy: Copy) -> None:
    """All that was asked for says two threads; this build of cp.x has no OpenMP and names none."""
    for record in copy.records():
        for variables in (record["environment"], record["facts"]["environment"]):
            variables["OMP_NUM_THREADS"] = "2"
        copy.change(record["run"], threads=2, environment=record["environment"], facts=record["facts"])
        copy.edit(f"runs/{record['run']}/job.sh", r"OMP_NUM_THREADS=1", "OMP_NUM_THREADS=2")


@lie("vm-hpcg", r"013/stdout\.txt: its output is off the 5 other runs .* factor of .* run 027 is like them;")
def tables_of_two_links_exchanged(copy: Copy) -> None:
    """Links between nodes and memory differ in three factors, not in one."""
    exchanged(copy, "013", "027", "stdout.txt")


@lie("vm-exchange", r"079/stdout\.txt: its output is off the 11 other runs .* run 006 is like them;")
def outputs_of_two_links_exchanged(copy: Copy) -> None:
    exchanged(copy, "006", "079", "stdout.txt")


def exchanged(copy: Copy, one: str, other: str, name: str) -> None:
    first, second = ((copy.folder / f"runs/{run}/{name}").read_bytes() for run in (one, other))
    copy.write(f"runs/{one}/{name}", second)
    copy.write(f"runs/{other}/{name}", first)


@lie("vm-exchange", r"says that one job ran at once; another of its cluster overlaps it")
def durations_swapped(copy: Copy) -> None:
    runs = copy.records(case="halo", interconnect="veth-1gbit")
    runs.sort(key=lambda run: float(run["end"] - run["start"]))
    one, other = runs[0], runs[-1]
    copy.change(one["run"], end=one["start"] + other["end"] - other["start"])
    copy.change(other["run"], end=other["start"] + one["end"] - one["start"])


@lie("vm-hpcg", r"has the figures of run 063, each off by less than 0\.01 %")
def figures_of_the_neighbour_jittered(copy: Copy) -> None:
    copy.write(copy.file("065", "HPCG*.txt"), (copy.folder / copy.file("063", "HPCG*.txt")).read_bytes())
    scaled(copy, "065", RATES, 1 + 3e-5)
    times = r"(?:Benchmark Time Summary|DDOT Timing Variations)::[^=]*|.*Setup Time"
    scaled(copy, "065", times, 1 / (1 + 3e-5))


@lie("vm-exchange", r"its environment has OMPI_COMM_WORLD_SIZE=8, its record ranks 2")
def environment_of_more_ranks(copy: Copy) -> None:
    copy.change("010", environment={"OMPI_COMM_WORLD_SIZE": "8"})


@lie("vm-exchange", r"its result has partners 2, its command --partners=3")
def output_of_fewer_partners(copy: Copy) -> None:
    copy.edit("runs/120/stdout.txt", r"partners=3", "partners=2")


@lie(
    "vm-exchange", r"says exit code 124, .*whole and valid, and runs of its cell that ended well took longer"
)
def slow_run_called_timed_out(copy: Copy) -> None:
    copy.change("077", exit_code=124)


@lie("vm-profiles", r"its calls of rank 0 took 8\.422 s, all of its MPI 2\.80\d s")
def less_mpi_in_the_heads(copy: Copy) -> None:
    name = copy.file("hpcg-ipm-n16", "*.ipm.xml.xz")
    text = lzma.decompress((copy.folder / name).read_bytes()).decode()
    text = re.sub(r'(mtime=")([\d.e+]+)', lambda m: f"{m[1]}{float(m[2]) / 3:.6e}", text)
    copy.write(name, lzma.compress(text.encode(), preset=0))


@lie("vm-hpcg", r"its job ran from .*, on a clock that is \+1 h off UTC for other jobs")
def accounting_an_hour_later_but_for_one(copy: Copy) -> None:
    stamp = r"(2026-11-2\dT)(0\d)(:\d\d:\d\d)"
    copy.edit("sacct.txt", stamp, lambda m: f"{m[1]}{int(m[2]) + 1:02}{m[3]}")


@lie("vm-hpcg", r"was read from 2026-11-20T.* while none of the \d+ runs on its nodes ran")
def log_of_the_day_before(copy: Copy) -> None:
    metered(copy, hours=-24)


@lie("vm-hpcg", r"if they are moved by -37 min; a wrong clock: declare power\.logs\.clock\.offset")
def log_of_a_wrong_clock(copy: Copy) -> None:
    metered(copy, hours=37 / 60)


@lie("vm-hpcg", r"pdu\.csv: meter n1 has no reading that is a power")
def watts_negative(copy: Copy) -> None:
    metered(copy, factor=1.0)
    copy.edit("pdu.csv", r"^(\S+,n1,)", r"\1-")


# ---- tables of others


def rows(copy: Copy, pattern: str, by: str | Callable[[re.Match[str]], str], *, add: bool = False) -> None:
    """Change the first row of the table that a pattern fits, or add what it becomes."""
    path = copy.folder / "runs.csv.xz"
    text = lzma.decompress(path.read_bytes()).decode()
    found = re.search(pattern, text, flags=re.MULTILINE)
    assert found
    new = re.sub(pattern, by, found[0], flags=re.MULTILINE)
    text = text + new + "\n" if add else text.replace(found[0], new, 1)
    copy.write("runs.csv.xz", lzma.compress(text.encode()))


QPACE = r"^(qpace4_SVE_openmpi/\S*-20ranks[^,]*),(.*)$"


@lie("hpcg-outputs", r"has 20 ranks by its name, its row says 40")
def published_ranks(copy: Copy) -> None:
    rows(copy, QPACE, lambda m: f"{m[1]},{m[2]}".replace(",20,", ",40,"))


@lie("hpcg-outputs", r"run copied-20ranks-x: has to the last digit the figures of run qpace4")
def published_twice(copy: Copy) -> None:
    rows(copy, QPACE, r"copied-20ranks-x,\2", add=True)


@lie("hpcg-outputs", r"says case 96³ and 112 grid points a side")
def published_case(copy: Copy) -> None:
    rows(copy, r"^Fritz_OMP_GCC[^,]*,hpcg,3\.0,112³,.*$", lambda m: m[0].replace(",112³,", ",96³,"))


@lie("hpcg-outputs", r"has version 3\.0 by its name, its row says 3\.1")
def published_version(copy: Copy) -> None:
    rows(copy, r"^Fritz_OMP_GCC[^,]*,hpcg,3\.0,.*$", lambda m: m[0].replace(",hpcg,3.0,", ",hpcg,3.1,"))


@lie("hpcg-outputs", r"says cluster 'Fritz', \d+ other rows of qpace4_SVE_openmpi 'QPACE4'")
def published_cluster(copy: Copy) -> None:
    rows(copy, QPACE, lambda m: m[0].replace(",QPACE4,", ",Fritz,"))


@lie("hpcg-outputs", r"has a reduction_time of \S+, more than its benchmark_time of")
def published_part(copy: Copy) -> None:
    rows(copy, r"^(size-8 .*,)([\d.]+),([\d.]+),(google-study,.*)$", r"\1\3,\2,\4")


# ---- lies of a referee: one time, one memory, one order of repeats


@lie("archer2-frequency", r"has an energy of \S+ J, its mean power and time make \S+ J")
def published_energy(copy: Copy) -> None:
    copy.edit("runs.csv", r"^(\S+_3053576_\S+,s,181,)285487,", r"\g<1>856461,")


@lie("cloud-study", r"says 2 ranks on 4 nodes with 1 ranks per node")
def published_nodes(copy: Copy) -> None:
    copy.edit("runs.csv", r"^(google-gke 32 osu_latency 1,.*,)2,2,1,", r"\g<1>4,2,1,")


def lulesh_better(copy: Copy, run: str, factor: float) -> None:
    """Change every figure and every time that LULESH prints, so that they agree with each other."""
    name = f"runs/{run}/stdout.txt"
    times = r"^(Grind time .*= +)([\d.]+)( \(per dom\) +\( *)([\d.]+)( overall\))$"
    copy.edit(
        name, times, lambda m: f"{m[1]}{float(m[2]) / factor:.7g}{m[3]}{float(m[4]) / factor:.7g}{m[5]}"
    )
    elapsed = float(re.findall(r"([\d.]+) overall", (copy.folder / name).read_text())[0])
    copy.edit(name, r"^(Elapsed time +=).*( \(s\))$", rf"\g<1>{elapsed:11.2g}\2")
    copy.edit(name, r"^(FOM +=) +([\d.]+)", lambda m: f"{m[1]} {float(m[2]) * factor:10.8g}")


@lie(
    "vm-lulesh",
    r"its result took 2\.308 s, its program 0\.582 s more by the profile; in its repeats 0\.00\d+",
)
def every_time_of_lulesh_better(copy: Copy) -> None:
    lulesh_better(copy, "lulesh-s20-1x1-e4d7d149-r01", 1.25)


@lie("vm-lulesh", r"its result took 3\.607 s, the whole program 2\.89 s by its profile")
def every_time_of_lulesh_worse(copy: Copy) -> None:
    lulesh_better(copy, "lulesh-s20-1x1-e4d7d149-r01", 0.8)


def account(copy: Copy, label: str, **cells: Callable[[str], str]) -> None:
    """Change cells of a row of Slurm's records."""
    lines = (copy.folder / "sacct.txt").read_text().splitlines()
    names = lines[0].split("|")
    at = next(at for at, line in enumerate(lines) if line.startswith(f"{label}|"))
    row = dict(zip(names, lines[at].split("|"), strict=True))
    lines[at] = "|".join((row | {name: of(row[name]) for name, of in cells.items()}).values())
    copy.write("sacct.txt", "\n".join(lines) + "\n")


def minute(stamp: str) -> str:
    """Return a minute later; of a number the same."""
    return str((datetime.fromisoformat(stamp) + timedelta(seconds=60)).isoformat())


LONGER: dict[str, Callable[[str], str]] = {
    "Elapsed": lambda text: f"00:01:{text[-2:]}",
    "ElapsedRaw": lambda text: str(int(text) + 60),
}


@lie(
    "vm-hpcg",
    r"001/run\.json(:\d+)?: says 6\.609 s, its job 28 took 66 s; other jobs took [\d.-]+ s more than theirs",
)
def job_and_batch_step_a_minute_longer(copy: Copy) -> None:
    for label in ("28", "28.batch"):
        account(copy, label, End=minute, **LONGER)


@lie("vm-hpcg", r"sacct\.txt:2: says 66 s of job 28, and 6 s of its batch step; other jobs took 0\.0 s more")
def job_a_minute_longer(copy: Copy) -> None:
    account(copy, "28", End=minute, **LONGER)


@lie("vm-hpcg", r"sacct\.txt:2: says 66 s of job 28, and 6 s from its start to its end")
def elapsed_of_a_job_a_minute_longer(copy: Copy) -> None:
    account(copy, "28", **LONGER)


@lie(
    "vm-lulesh",
    r"says and 7 other|and 7 other runs of its job say [\d.]+ s, its job 6 took 124 s; other jobs took",
)
def job_of_eight_runs_a_minute_longer(copy: Copy) -> None:
    for label in ("6", "6.batch"):
        account(copy, label, End=minute, Elapsed=lambda _: "00:02:04", ElapsedRaw=lambda _: "124")


@lie("vm-lulesh", r"run\.json(:\d+)?: says 8\.9\d+ s, its own accounting [\d.]+ s")
def record_longer_than_the_uptime(copy: Copy) -> None:
    record = copy.records(run="lulesh-s20-1x1-deb8d7a2-r08")[0]
    copy.change(record["run"], start=record["start"] - 6.1)


@lie("vm-hpcg", r"its job 28 has a MaxRSS of 5000 MB by Slurm, those of its \d+ repeats at most [\d.]+ MB")
def memory_of_a_job(copy: Copy) -> None:
    account(copy, "28.batch", MaxRSS=lambda _: "4882812K", AveRSS=lambda _: "4882812K")


@lie("vm-hpcg", r"a MaxRSS of 5000 MB by Slurm, the ranks of a node [\d.]+ MB together by its profile")
def memory_of_a_profiled_job(copy: Copy) -> None:
    for record in copy.records(profiler="ipm", question="profile", interconnect="veth-open"):
        account(copy, f"{record['job_id']}.batch", MaxRSS=lambda _: "4882812K", AveRSS=lambda _: "4882812K")


@lie("vm-hpcg", r"sacct\.txt:3: says a MaxRSS of 5000 MB of step 28\.batch, and an AveRSS of 53\.31 MB")
def memory_of_a_step(copy: Copy) -> None:
    account(copy, "28.batch", MaxRSS=lambda _: "4882812K")


@lie("vm-hpcg", r"its Allreduce took at least 143\.683 s on every rank, all of DDOT 0\.564633 s")
def reductions_times_300(copy: Copy) -> None:
    scaled(copy, "001", r"DDOT Timing Variations::[^=]*", 300)


@lie("vm-hpcg", r"its Allreduce took up to 145\.\d+ s on a rank, the whole benchmark 6\.12866 s")
def longest_reduction_times_300(copy: Copy) -> None:
    scaled(copy, "001", r"DDOT Timing Variations::(?:Max|Avg)[^=]*", 300)
    scaled(copy, "001", r"DDOT Timing Variations::Avg[^=]*", 0.5)


@lie(
    "vm-hpcg",
    r"its Allreduce took 0\.484\d+ s on the mean of 2 ranks, from 0\.478943 to 0\.485054 s are",
)
def mean_of_reductions(copy: Copy) -> None:
    scaled(copy, "001", r"DDOT Timing Variations::Avg[^=]*", 1.005)


def outputs_noted(copy: Copy, **wanted: Any) -> list[str]:
    """Let the records of some runs note their outputs, as `measure.record` does at the end of a run."""
    names = [one["run"] for one in copy.records(**wanted)]
    for name in names:
        left = sorted(path for path in (copy.folder / "runs" / name).iterdir() if path.name != "run.json")
        copy.change(name, outputs={path.name: files.sha256(path) for path in left})
    return names


@lie(
    "vm-exchange",
    r"runs/050/stdout\.txt: is not the file that the run left, .*: it is stdout\.txt of run 060;",
)
def outputs_of_repeats_swapped(copy: Copy) -> None:
    """Of one cell, so that no figure is out of place; the output has no time and no name."""
    assert {"050", "060"} <= set(outputs_noted(copy, case="allreduce", interconnect="veth-10gbit", ranks=2))
    one, other = ((copy.folder / f"runs/{run}/stdout.txt").read_bytes() for run in ("050", "060"))
    copy.write("runs/050/stdout.txt", other)
    copy.write("runs/060/stdout.txt", one)


# ---- a whole start, and what is left of it


def second_start(copy: Copy) -> list[str]:
    """Remove the runs of the later of the two starts; return their jobs."""
    later = max(copy.records(), key=lambda one: one["start"])["slurm"]["job_name"]
    gone = [one for one in copy.records() if one["slurm"]["job_name"] == later]
    assert 0 < len(gone) < len(copy.records())
    for one in gone:
        shutil.rmtree(copy.folder / "runs" / one["run"])
    return [str(one["job_id"]) for one in gone]


def forget(copy: Copy, *jobs: str) -> None:
    copy.edit("sacct.txt", rf"^(?:{'|'.join(jobs)})(?:\.\w+)?\|.*\n", "")


@lie(
    "vm-openatom",
    r"sacct\.txt(:\d+)?: lists job 5 of run openatom-water-32m-70ry-3x2\S+, which no start that",
)
def start_removed(copy: Copy) -> None:
    second_start(copy)


@lie("vm-openatom", r"campaign\.txt:4: asks for nodes 3, 6 in messages, and no run has them;")
def start_and_its_jobs_removed(copy: Copy) -> None:
    forget(copy, *second_start(copy))


@lie("vm-ranks", r"campaign\.txt(:\d+)?: asks for 3 repetitions of growing; 6 of 6 cells have 2;")
def last_round_removed(copy: Copy) -> None:
    for record in copy.records(repeat=3):
        shutil.rmtree(copy.folder / "runs" / record["run"])
    forget(copy, "10", "11")


@lie("vm-ranks", r"runs: order goes up to 36, and no run has 1 to 12;")
def first_round_removed(copy: Copy) -> None:
    for record in copy.records(repeat=1):
        shutil.rmtree(copy.folder / "runs" / record["run"])
    forget(copy, "6", "7")
    for record in copy.records():
        copy.change(record["run"], repeat=record["repeat"] - 1)


# ---- states of jobs that several runs share


@lie("vm-lulesh", r"fb36c177-r03/run\.json(:\d+)?: ended well by its record, its step 3\.2 is FAILED;")
def step_of_a_shared_job_failed(copy: Copy) -> None:
    copy.edit("sacct.txt", r"^(3\.2\|.*?\|)COMPLETED\|0:0", r"\1FAILED|1:0")


@lie("vm-lulesh", r"deb8d7a2-r08/run\.json(:\d+)?: says exit code 3, its job 8 is COMPLETED;")
def run_of_a_shared_job_failed(copy: Copy) -> None:
    copy.change("lulesh-s20-1x1-deb8d7a2-r08", exit_code=3)


# ---- what a job says of itself


@lie(
    "vm-ranks", r"sacct\.txt(:\d+)?: says job_name 'payroll' of job 7, the record of run \S+ '[-0-9a-f]{36}';"
)
def job_renamed(copy: Copy) -> None:
    copy.edit("sacct.txt", r"^7\|[^|]+", "7|payroll")


@lie("vm-ranks", r"r01/run\.json: has no accounting; put it back")
def own_times_removed(copy: Copy) -> None:
    record = copy.records(repeat=1)[0]
    record.pop("accounting")
    copy.write(f"runs/{record['run']}/run.json", json.dumps(record))


# ---- scripts of runs


@lie("vm-lulesh", r"job\.sh: starts 27 ranks, its record has 1;")
def script_of_other_ranks(copy: Copy) -> None:
    run = copy.records(ranks=1, exit_code=0)[0]["run"]
    copy.edit(f"runs/{run}/job.sh", r"-np \d+", "-np 27")


@lie("vm-lulesh", r"job\.sh: starts 4 threads, its record has 1;")
def script_of_other_threads(copy: Copy) -> None:
    run = copy.records(ranks=1, exit_code=0)[0]["run"]
    copy.edit(f"runs/{run}/job.sh", r"OMP_NUM_THREADS=1$", "OMP_NUM_THREADS=4")


@lie("vm-lulesh", r"job\.sh: has no 21, which the command of its record has; correct the command")
def command_of_another_size(copy: Copy) -> None:
    record = copy.records(exit_code=0, profiler=None)[0]
    copy.change(record["run"], command=record["command"].replace(" -s 20", " -s 21"))


@lie("vm-lulesh", r"job\.sh: has other words than those that the command of its record has;")
def command_without_its_end(copy: Copy) -> None:
    record = copy.records(exit_code=0, profiler=None)[0]
    copy.change(record["run"], command=record["command"].rpartition(" -i ")[0])


@lie("vm-water", r"run\.json:\d+: noted its facts 1\.0 h (?:before|after) its start; correct start and end")
def records_an_hour_early(copy: Copy) -> None:
    for record in copy.records():
        copy.change(record["run"], **{name: record[name] - 3600 for name in ("start", "end")})


# ---- the tests


@pytest.fixture(autouse=True, scope="module")
def _forget() -> Iterator[None]:
    yield
    KNOWN.clear()


@pytest.mark.parametrize(("campaign", "phrase", "tell"), LIES, ids=[tell.__name__ for _, _, tell in LIES])
def test_verify__names_a_lie_whose_manifest_was_rewritten(
    campaign: str, phrase: str, tell: Lie, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Copy.of(campaign, base)
    tell(copy)
    code, lines = said(copy, capsys)
    assert code == 1
    assert any(re.search(phrase, line) for line in lines), "\n".join(lines[:12])
    assert not any("MANIFEST" in line for line in lines)


def test_lies__there_are_enough_of_distinct_kinds() -> None:
    assert len({phrase for _, phrase, _ in LIES}) == len(LIES) >= 45


@pytest.mark.parametrize(
    ("script", "ranks", "threads"),
    [
        (
            "#!/bin/sh\nexport OMP_NUM_THREADS=2\nmpirun -np 4 ./mesh\nmpirun.openmpi -n 8 ./run\n",
            (4, 8),
            (2,),
        ),
        ("#!/bin/sh\nsrun --ntasks=8 ./run\n# mpirun -np 2 ./old\n", (8,), ()),
        ("#!/bin/sh\nsrun -n 1 hostname\nsrun ./run\n", (), ()),
        ("#!/bin/sh\nexport OMP_NUM_THREADS=$1\nmpirun -np $N ./run\n", (), ()),
        ("mpirun -np 4 ./run\nOMP_NUM_THREADS=2\n", (), ()),
    ],
)
def test_marks__a_script_states_ranks_and_threads(
    script: str, ranks: tuple[int, ...], threads: tuple[int, ...]
) -> None:
    found = marks(script.encode(), "job.sh")
    assert (found.ranks, found.threads) == (ranks, threads)


@pytest.mark.parametrize(
    "campaign",
    ["vm-hpcg", "vm-exchange", "vm-profiles", "vm-lulesh", "vm-ranks", "vm-water", "vm-openatom", "vm-plate"],
)
def test_verify__a_shipped_campaign_as_it_was_measured_is_no_lie(
    campaign: str, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = said(Copy.of(campaign, base), capsys)
    assert (
        code,
        [line for line in lines if "both count" not in line and "counts as it says" not in line][1:],
    ) == (0, [])


@pytest.mark.parametrize(("first", "second", "named"), [(0, 5, 1), (1, 2, 0), (0, 0, 0)])
def test_exchanged_energies__of_two_cells_are_named(first: int, second: int, named: int) -> None:
    """Of 400 W and 480 W, with 1 % of scatter: repeats that were exchanged are alike, but for their time."""
    joules = [watts * 100 * (1 + at % 4 / 200) for at, watts in enumerate([400.0] * 4 + [480.0] * 4)]
    joules[first], joules[second] = joules[second], joules[first]
    blank = dict.fromkeys(hearing.FACTORS, "") | {"exit_code": 0, "nodes": 1, "elapsed": 100.0}
    runs = [
        hearing.Testimony({**blank, "run": f"r{at}", "case": f"c{at // 4}", "energy": one})
        for at, one in enumerate(joules)
    ]
    found = list(watts.exchanged_energies(hearing.Hearing(Path(), "mine", runs)))
    assert len(found) == named
    assert all("fits the repeats of run r5" in fault.found for fault in found)


@pytest.mark.parametrize("text", ["SLURM_JOB_NODELIST=n[1-2]\n", "   NodeList=n[1-2]\n   BatchHost=n1\n"])
def test_marks__an_output_states_the_nodes_that_slurm_lists(text: str) -> None:
    assert marks(text.encode(), "slurm-7.out").hosts == ("n1", "n2")
    assert marks(b"SLURM_JOB_NODELIST=$nodes\n", "job.sh").hosts == ()


def test_marks__two_results_of_hpcg_in_a_file_have_no_number_of_sets() -> None:
    """Each has its own: 161 of 183 files of three repeats were said to be of two runs."""
    log = "".join(f"Call [{at}] Scaled Residual [0.0046]\n" for at in range(15))
    assert marks(log.encode(), "hpcg.out").calls == 14
    assert marks((log + log).encode(), "hpcg.out").calls == -1


def test_lone_partners__counts_as_each_pair_of_runs_compared() -> None:
    rng = np.random.default_rng(3)
    first = np.datetime64("2026-10-01T00:00:00", "ns")
    starts, took = rng.integers(0, 600, 80), rng.integers(0, 20, 80)
    runs = [
        hearing.Testimony({"cluster": f"c{at % 2}", "start": first + np.timedelta64(start, "s"),
                   "end": first + np.timedelta64(start + long, "s")})
        for at, (start, long) in enumerate(zip(starts.tolist(), took.tolist(), strict=True))
    ]  # fmt: skip
    undated = hearing.Testimony({"cluster": "c0", "start": np.datetime64("NaT"), "end": np.datetime64("NaT")})
    found = sequence._beside(runs, [*runs, undated])
    wanted = [
        sum(
            other is not run
            and other.row["cluster"] == run.row["cluster"]
            and other.row["start"] < run.row["end"]
            and run.row["start"] < other.row["end"]
            for other in runs
        )
        for run in runs
    ]
    assert [found[id(run)] for run in runs] == wanted
    assert max(wanted) > 1
    assert 0 in took


def left_out(copy: Copy) -> None:
    copy.change("002", timing=False)
    copy.change("023", reason="node was busy")


def hole_in_a_log(copy: Copy) -> None:
    metered(copy)
    run = copy.records(run="055")[0]
    first, last = (_later("1970-01-01T00:00:00", run[name])[:19] for name in ("start", "end"))
    lines = (copy.folder / "pdu.csv").read_text().splitlines()
    copy.write("pdu.csv", "\n".join(one for one in lines if not first <= one[:19] <= last) + "\n")


def accounts_removed(copy: Copy) -> None:
    (copy.folder / "sacct.txt").unlink()


def accounts_emptied(copy: Copy) -> None:
    copy.write("sacct.txt", (copy.folder / "sacct.txt").read_text().partition("\n")[0] + "\n")


def file_added(copy: Copy) -> None:
    copy.write(f"runs/{copy.records(repeat=1)[0]['run']}/better.txt", "12 % better\n")


_NO_ROWS = r"sacct\.txt: has no row of 6 of the 6 jobs that measured runs, 7 the first"


@pytest.mark.parametrize(
    ("campaign", "tell", "notes"),
    [
        ("vm-ranks", accounts_removed, [_NO_ROWS]),
        ("vm-ranks", accounts_emptied, [_NO_ROWS]),
        ("vm-ranks", file_added, [r"r01/better\.txt: is none of the files that the run left"]),
        (
            "vm-hpcg",
            left_out,
            [r"002/run\.json: is left out by its record \(timing is false", r"\(node was busy\)"],
        ),
        ("vm-hpcg", hole_in_a_log, [r"pdu\.csv: has 0 readings while run 055 ran, its interval gives 14"]),
    ],
)
def test_verify__notes_what_may_be_honest(
    campaign: str, tell: Lie, notes: list[str], base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Copy.of(campaign, base)
    tell(copy)
    code, lines = said(copy, capsys)
    assert code == 0
    for note in notes:
        assert any(re.search(note, line) for line in lines), "\n".join(lines)


@pytest.mark.parametrize("lied", [False, True])
def test_verify__json_has_what_the_lines_say(
    lied: bool, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Copy.of("vm-hpcg", base)
    if lied:
        ranks_per_node_changed(copy)
    code, lines = said(copy, capsys)
    assert cli.main(["verify", "--json", "vm-hpcg"]) == code == int(lied)
    out, err = capsys.readouterr()
    assert err == ""
    (found,) = json.loads(out)
    assert (found["campaign"], found["runs"], len(found["notes"])) == ("vm-hpcg", 221, 15 if lied else 14)
    spelt = [
        f"{one['source']}{':' * bool(one['line'])}{one['line'] or ''}: {one['found']}; {one['remedy']}"
        for one in found["faults"] + found["notes"]
    ]
    # The lines name the first of notes that are alike, and count the others.
    more = [re.fullmatch(r"(.*?)(?: \((\d+) more like this: --json lists them\))?", line) for line in lines]
    assert {one[1] for one in more if one} <= {*spelt}
    assert sum(1 + int(one[2] or 0) for one in more if one) == len(spelt) > len(lines) == len(more)
    assert bool(found["faults"]) is lied


def test_verify__notes_a_time_that_the_processors_deny(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No profile of the run has the time of its program; its shell has counted the processor time."""
    copy = Copy.of("vm-lulesh", base)
    lulesh_better(copy, "lulesh-s20-1x1-f5237b34-r03", 1.25)
    code, lines = said(copy, capsys)
    assert code == 0
    (line,) = [one for one in lines if "f5237b34-r03/" in one]
    assert re.search(
        r"its result took 1\.917 s, its run 2\.\d+ s of processor time: 1\.1\d a second, 0\.9",
        line,
    )


@pytest.mark.parametrize("packed", [False, True])
def test_verify__outputs_as_the_records_noted_them_are_no_lie(
    packed: bool, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who compresses a profile later has changed nothing that it says."""
    copy = Copy.of("vm-exchange", base)
    assert len(outputs_noted(copy)) == 198
    if packed:
        path = copy.folder / "runs/050/stdout.txt"
        copy.write("runs/050/stdout.txt.xz", lzma.compress(path.read_bytes()))
        path.unlink()
    code, lines = said(copy, capsys)
    assert (code, [line for line in lines if "counts as it says" not in line][1:]) == (0, [])


def test_verify__an_honest_meter_is_no_lie(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Copy.of("vm-hpcg", base)
    metered(copy)
    code, lines = said(copy, capsys)
    assert code == 0, lines


@pytest.mark.parametrize(
    ("restarts", "accounted", "named"), [("", False, 1), ("1", False, 0), ("", True, 0), ("0", True, 0)]
)
def test_jobs_and_start__a_job_that_waited_or_was_queued_again_is_no_lie(
    restarts: str, accounted: bool, named: int
) -> None:
    """Of twenty jobs the third began last, as one on two nodes does while others run on one."""
    first = np.datetime64("2026-11-25T20:00:00")
    began = {job: first + np.timedelta64(60 * job + 2000 * (job == 3), "s") for job in range(1, 21)}
    runs = [
        hearing.Testimony(
            {"run": f"r{job}", "cluster": "c", "job_id": str(job), "start": at, "end": at + 9},
            {"slurm": {"restarts": restarts if job == 3 else ""}},
        )
        for job, at in began.items()
    ]
    rows = [(str(job), "", at - 1) for job, at in began.items()]
    frames = {"sacct.txt": pd.DataFrame(rows, columns=["job_id", "step", "start"])} if accounted else {}
    case = hearing.Hearing(Path("c"), "c", runs, frames)
    found = [str(fault) for fault in sequence.jobs_and_start(case)]
    assert len(found) == named
    assert all("belongs to job 3, which began" in text for text in found)


@pytest.mark.parametrize(("took", "attempts", "named"), [(4, 0, 1), (15, 0, 0), (4, 1, 0)])
def test_jobs_and_start__jobs_wait_seconds_for_nodes_that_others_use(
    took: int, attempts: int, named: int
) -> None:
    """Of twenty jobs, 10 s apart, the third began 25 s late; its attempt is of a first start."""
    first = np.datetime64("2026-11-25T20:00:00")
    began = [(f"r{job}", job, 10 * job + 25 * (job == 3)) for job in range(1, 21)]
    began += [("r3.failed-1", 3, 29)] * attempts
    runs = [
        hearing.Testimony(
            {
                "run": name,
                "cluster": "c",
                "job_id": str(job),
                "start": first + at,
                "end": first + at + (took if job > 3 else 1),
            }
        )
        for name, job, at in began
    ]
    found = [fault.source for fault in sequence.jobs_and_start(hearing.Hearing(Path("c"), "c", runs))]
    assert found == ["c/runs/r3/run.json"] * named


@pytest.mark.parametrize(("restarts", "named"), [("1", 0), ("0", 1)])
def test_overheads_of_jobs__an_earlier_start_of_a_job_is_not_in_the_row_of_its_last(
    restarts: str, named: int
) -> None:
    """Job 3 was started twice, 25 s apart; Slurm's row of a job is that of the last start, of 11 s."""
    first = np.datetime64("2026-11-25T20:00:00")

    def of(name: str, job: int, at: Any, again: str, code: int) -> hearing.Testimony:
        extra = {"slurm": {"restarts": again}, "reason": "" if code == 0 else "the job was ended by TERM"}
        row = {"run": name, "job_id": str(job), "start": at, "end": at + 10, "exit_code": code}
        return hearing.Testimony(row, extra)

    began = {job: first + np.timedelta64(60 * job, "s") for job in range(1, 9)}
    runs = [of(f"r{job}", job, at, restarts if job == 3 else "", 0) for job, at in began.items()]
    runs.append(of("r3.failed-1", 3, began[3] - 25, "", 143))
    rows = [(str(job), "", at - 1, "COMPLETED", 11.0) for job, at in began.items()]
    columns = ["job_id", "step", "start", "state", "elapsed"]
    case = hearing.Hearing(Path("c"), "c", runs, {"sacct.txt": pd.DataFrame(rows, columns=columns)})
    found = [fault.found for fault in accounts.overheads_of_jobs(case)]
    assert found == ["and 1 other runs of its job say 35 s, its job 3 took 11 s"] * named


@pytest.mark.parametrize(
    ("restarts", "state", "named"), [("1", "RUNNING", 0), ("1", "COMPLETED", 1), ("0", "RUNNING", 1)]
)
def test_job_lists__a_row_that_runs_on_is_of_an_earlier_start(restarts: str, state: str, named: int) -> None:
    """Job 7 ran on n3, was started again on n2 and ended there; Slurm's database has its first row only."""
    at = np.datetime64("2026-11-30T16:11:33")
    row = {
        "run": "r7",
        "job_id": "7",
        "start": at,
        "end": at + 18,
        "exit_code": 0,
        "node_list": "n2",
        "nodes": 1,
    }
    run = hearing.Testimony(row, {"slurm": {"restarts": restarts}})
    accounted = pd.DataFrame(
        [("7", "", state, at - 142, 89.0, 1, "n3")],
        columns=["job_id", "step", "state", "start", "elapsed", "nodes", "node_list"],
    )
    case = hearing.Hearing(Path("c"), "c", [run], {"sacct.txt": accounted})
    assert len(list(layout.job_lists(case))) == named


@pytest.mark.parametrize(("noted", "named"), [(True, 0), (False, 1)])
def test_overheads_of_jobs__two_starts_with_one_count_are_told_apart_by_their_times(
    noted: bool, named: int
) -> None:
    """Job 3's good start is by a clock two hours behind; the failed one, 25 s before it, dates right."""
    first = np.datetime64("2026-11-25T20:00:00")
    began = {job: first + np.timedelta64(60 * job, "s") for job in range(1, 9)}

    def of(name: str, job: int, behind: int, code: int, late: int = 0) -> hearing.Testimony:
        at = (began[job] + late - np.datetime64(0, "s")) / np.timedelta64(1, "s")
        names = {"job_name": "n", "comment": f"c{job}", "clock": at - behind}
        extra = {"slurm": names | ({"start": at} if noted else {}), "reason": "CANCELLED" if code else ""}
        start = began[job] + late - behind
        row = {"run": name, "job_id": str(job), "start": start, "end": start + 10, "exit_code": code}
        return hearing.Testimony(row, extra)

    runs = [of(f"r{job}", job, 7200 * (job == 3), 0) for job in began]
    runs.append(of("r3.failed-1", 3, 0, 143, late=-25))
    rows = [(str(job), "", at, "COMPLETED", 11.0, "n", f"c{job}") for job, at in began.items()]
    columns = ["job_id", "step", "start", "state", "elapsed", "job_name", "comment"]
    case = hearing.Hearing(Path("c"), "c", runs, {"sacct.txt": pd.DataFrame(rows, columns=columns)})
    assert len(list(accounts.overheads_of_jobs(case))) == named


@pytest.mark.parametrize(("name", "named"), [("r2.failed-1", 0), ("r5.failed-1", 0), ("another", 1)])
def test_order_and_start__a_run_that_failed_at_first_moves_itself_and_others(name: str, named: int) -> None:
    """Of six runs the second began a minute after the last; one attempt failed, its own or another's."""
    first = np.datetime64("2026-11-25T20:00:00")
    took = {order: 10 * order + 100 * (order == 2) for order in range(1, 7)}
    runs = [
        hearing.Testimony(
            {"run": f"r{order}", "order": order, "job_id": "", "start": first + late, "end": first + late + 9}
        )
        for order, late in took.items()
    ]
    runs.append(
        hearing.Testimony({"run": name, "order": 2, "job_id": "", "start": first + 20, "end": first + 25})
    )
    found = [fault.source for fault in sequence.order_and_start(hearing.Hearing(Path("c"), "c", runs))]
    assert found == ["c/runs/r2/run.json"] * named


@pytest.mark.parametrize(
    ("submitted", "restarts", "failed", "named"),
    [
        ("again", "0", "NaT", 0),  # the attempt has no date: it began on a node with a wrong clock
        ("first", "0", "NaT", 1),
        ("first", "0", "2026-11-25T20:00:20", 1),
        ("first", "1", "NaT", 0),
    ],
)
def test_order_and_start__jobs_that_were_submitted_together_and_began_once_begin_in_turn(
    submitted: str, restarts: str, failed: str, named: int
) -> None:
    """Of six runs the second began a minute after the last; another one failed at first."""
    first = np.datetime64("2026-11-25T20:00:00")
    took = {order: 10 * order + 100 * (order == 2) for order in range(1, 7)}
    runs = [
        hearing.Testimony(
            {
                "run": f"r{order}",
                "order": order,
                "job_id": "",
                "start": first + late,
                "end": first + late + 9,
            },
            {"slurm": {"job_name": submitted, "restarts": restarts} if order == 2 else {"job_name": "first"}},
        )
        for order, late in took.items()
    ]
    at = np.datetime64(failed)
    runs.append(
        hearing.Testimony(
            {"run": "r5.failed-1", "order": 5, "job_id": "", "start": at, "end": at + 5},
            {"slurm": {"job_name": "before"}},
        )
    )
    found = [fault.source for fault in sequence.order_and_start(hearing.Hearing(Path("c"), "c", runs))]
    assert found == ["c/runs/r2/run.json"] * named


@pytest.mark.parametrize(("kept", "named"), [(2, "4 of the 6"), (6, "")])
def test_jobs_without_row__half_of_a_file_is_named(kept: int, named: str) -> None:
    """Six jobs measured runs, the first two of which are left in the file; a failed attempt is no matter."""
    first = np.datetime64("2026-11-25T20:00:00")
    dated = {"start": first, "end": first + 9, "exit_code": 0}
    runs = [hearing.Testimony({"run": f"r{job}", "job_id": str(job), **dated}) for job in range(1, 7)]
    runs.append(hearing.Testimony({"run": "r7.failed-1", "job_id": "7", **dated}, {"reason": "cancelled"}))
    rows = pd.DataFrame({"job_id": [str(job) for job in range(1, kept + 1)], "step": ""})
    case = hearing.Hearing(Path("c"), "c", runs, {"sacct.txt": rows})
    found = [fault.found for fault in sequence.jobs_without_row(case)]
    assert found == [f"has no row of {named} jobs that measured runs, 3 the first"] * bool(named)


@pytest.mark.parametrize(("comment", "named"), [("run r3", 1), ("", 1), ("run r4", 0), ("run r", 0)])
def test_runs_without_jobs__a_job_that_slurm_has_forgotten_is_noted(comment: str, named: int) -> None:
    """The third of twenty runs has a number without a row: wrong if a row without a run has its comment."""
    first = np.datetime64("2026-11-30T17:00:00")
    runs = [
        hearing.Testimony(
            {
                "run": f"r{job}",
                "job_id": str(job),
                "start": first + 30 * job,
                "end": first + 30 * job + 9,
                "exit_code": 0,
            },
            {"slurm": {"comment": comment if job == 3 else f"run r{job}"}},
        )
        for job in range(1, 21)
    ]
    numbers = [job if job != 3 else 33 for job in range(1, 21)]
    rows = [(str(number), "", f"run r{job}") for job, number in enumerate(numbers, 1)]
    accounted = pd.DataFrame(rows, columns=["job_id", "step", "comment"])
    case = hearing.Hearing(Path("c"), "c", runs, {"sacct.txt": accounted})
    assert len(list(sequence.runs_without_jobs(case))) == named
    assert len(list(sequence.jobs_without_row(case))) == 1 - named


@pytest.mark.parametrize(
    ("resumed", "state", "named"),
    [(0, "COMPLETED", 1), (1, "COMPLETED", 0), (0, "CANCELLED by 0", 0), (0, "RUNNING", 1), (0, "", 1)],
)
def test_left_out_by_hand__what_a_second_place_says_too_is_no_hand(
    resumed: int, state: str, named: int
) -> None:
    """Of twelve whole runs one says that its job was disturbed: it counts its stops, or Slurm says so."""
    first = np.datetime64("2026-11-25T20:00:00")
    row = {**dict.fromkeys(hearing.FACTORS, ""), "start": first, "end": first + 9, "exit_code": 0}
    runs = [
        hearing.Testimony(
            {**row, "run": f"r{job}", "job_id": str(job), "timing": True},
            {
                "reason": "" if job else "its job was suspended",
                "accounting": {"resumed": 0 if job else resumed},
            },
            result=xr.Dataset(),
        )
        for job in range(12)
    ]
    rows = pd.DataFrame({"job_id": ["0"], "step": "", "state": state})
    case = hearing.Hearing(Path("c"), "c", runs, {"sacct.txt": rows})
    what = "is left out by its record (its job was suspended), though its result is whole"
    assert [fault.found for fault in sequence.left_out_by_hand(case)] == [
        f"{what}; 11 runs of its cell count"
    ] * named


def test_runs_to_measure__a_failed_attempt_is_no_cell_of_its_own() -> None:
    blank = dict.fromkeys(hearing.FACTORS, "")
    kinds = [(1, "32 atoms", ""), (2, "32 atoms", ""), (2, "", "its node was lost")]
    runs = [
        hearing.Testimony(
            {**blank, "run": f"r{at}", "question": "q", "repeat": repeat, "problem": problem},
            {"reason": reason},
        )
        for at, (repeat, problem, reason) in enumerate(kinds)
    ]
    for repeats, found in ((2, []), (3, ["asks for 3 repetitions of q; its cell has 2"])):
        declared = {"matrix": {"repeats": repeats, "subsets": [{"name": "q"}]}}
        case = hearing.Hearing(Path("c"), "c", runs, declared=declared)
        assert [fault.found for fault in starts.runs_to_measure(case)] == found


@pytest.mark.parametrize(
    ("rank", "call", "faults"),
    [(0, "MPI_Recv", 1), (-1, "MPI_Recv", 0), (0, "write", 0)],
    ids=["more MPI than all of it", "a sum over all ranks, of a banner", "a call of POSIX"],
)
def test_sums_of_profiles__are_of_the_calls_of_mpi_of_one_rank(rank: int, call: str, faults: int) -> None:
    table = {
        "rank": ("obs", [rank, 1]),
        "call": ("obs", [call, "MPI_Send"]),
        "time": ("obs", [2.0, 0.5]),
        "mpi_time": ("ranks", [1.0, 1.0]),
    }
    profile = xr.Dataset(table, attrs={"tool": "IPM"})
    run = hearing.Testimony({"run": "001"}, profile=profile, sources={"profile": "001/app.ipm.xml"})
    found = [
        (one.source, one.found) for one in layout.sums_of_profiles(hearing.Hearing(Path("c"), "c", [run]))
    ]
    what = "its calls of rank 0 took 2 s, all of its MPI 1 s"
    assert found == [("c/runs/001/app.ipm.xml", what)] * faults
