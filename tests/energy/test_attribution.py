"""Which of a run's meters make up its energy; every value below is watts times seconds by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import readers
from analysis.energy.attribution import SLURM, RunEnergy, attribute, integrated
from analysis.energy.meters import Log
from analysis.energy.own import RunLogs, own_logs
from analysis.energy.points import layers, point

START, END = (np.datetime64(f"2026-03-01T10:00:{second:02}", "ns") for second in (5, 15))
FIRST = 1_772_359_200  # 2026-03-01T10:00:00Z, by date -d


def meter(name: str, kind: str, node: str = "", **more: Any) -> dict[str, Any]:
    """Describe a meter as the sampler's summary does."""
    place = {"snmp": "rack outlet, by the PDU", "ipmitool": "node input, by the BMC"}
    place |= {"powercap": "CPU package, by RAPL"}
    plain = {"feeds": {}, "apart": [], "location": place.get(kind, ""), "accuracy": None}
    return {"name": name, "type": kind, "node": node, **plain, **more}


def sampled(
    folder: Path, watts: dict[str, float], *meters: dict[str, Any], name: str = "power", **summary: Any
) -> Path:
    """Write a log with a reading a second over 20 s, and its summary."""
    lines = [
        f"2026-03-01T10:00:{second:02}.000000Z,{one},{value},"
        for second in range(21)
        for one, value in watts.items()
    ]
    path = folder / f"{name}.csv"
    path.write_text("time,meter,power_W,note\n" + "\n".join(lines) + "\n")
    whole = {"nodes": ["n1", "n2"], "meters": meters, **summary}
    (folder / f"{name}.summary.json").write_text(json.dumps(whole))
    return path


def counted(folder: Path, name: str, watts: dict[str, float], *meters: dict[str, Any]) -> Path:
    """Write the same as counters, in µJ."""
    path = sampled(folder, dict.fromkeys(watts, 0.0), *meters, name=name)
    lines = [
        f"2026-03-01T10:00:{second:02}.000000Z,{one},{round(value * second * 1e6)},"
        for second in range(21)
        for one, value in watts.items()
    ]
    path.unlink()
    path = folder / f"{name}.energy.csv"
    path.write_text("time,meter,energy_uj,note\n" + "\n".join(lines) + "\n")
    return path


def energies(folder: Path, *paths: Path) -> RunEnergy:
    found = []
    for path in paths:
        (engine,) = readers.without_second_power(readers.engines_of(path.read_bytes(), path.name))
        found.append((path, readers.open(path, engine=engine)))
    return over(own_logs(folder, found), START, END)


def over(logs: RunLogs, start: np.datetime64, end: np.datetime64) -> RunEnergy:
    return integrated(logs, {"start": start, "end": end})


def refused(found: RunEnergy) -> str:
    """Return why there is no energy, of a run that has none."""
    assert not found.known
    assert np.isnan([found.low, found.high, found.mean_power, found.covered]).all()
    return found.reason


PDU = meter("pdu", "snmp", feeds={"pdu:n1": "n1", "pdu:n2": "n2"}, accuracy=0.01)
BMCS = (meter("b1", "ipmitool", "n1", accuracy=0.02), meter("b2", "ipmitool", "n2.site", accuracy=0.02))


def test_power__the_outermost_meters_count_and_what_they_hold_is_not_added(tmp_path: Path) -> None:
    watts = {"pdu:n1": 200.0, "pdu:n2": 300.0, "b1": 150.0, "b2": 250.0}
    path = sampled(tmp_path, watts, PDU, *BMCS)
    cpus = counted(tmp_path, "power.n2", {"c:package-0:0": 80.0}, meter("c", "powercap", "n2"))
    row = energies(tmp_path, path, cpus)
    assert row.energy == pytest.approx(500 * 10, rel=1e-12)
    assert (row.low, row.high) == pytest.approx((5000, 5000))
    # The limits of error of two outlets of one make add up: 1 % of all, uniform.
    assert row.uncertainty == pytest.approx(5000 * 0.01 / 3**0.5)
    assert (row.covered, row.accuracy) == (1.0, 0.01)
    assert row.location == "rack outlet, by the PDU"


def test_power__meters_of_some_nodes_only_give_way_to_those_of_all(tmp_path: Path) -> None:
    only_one = {**PDU, "feeds": {"pdu:n1": "n1"}}
    path = sampled(tmp_path, {"pdu:n1": 200.0, "b1": 150.0, "b2": 250.0}, only_one, *BMCS)
    row = energies(tmp_path, path)
    assert (row.energy, row.location) == (pytest.approx(4000), "node input, by the BMC")


def test_power__without_meters_of_all_nodes_there_is_no_energy_but_a_reason(tmp_path: Path) -> None:
    path = sampled(tmp_path, {"b1": 150.0}, BMCS[0])
    assert refused(energies(tmp_path, path)) == "no meter of n2"


def test_power__packages_of_one_node_and_gpus_of_another_are_no_sum(tmp_path: Path) -> None:
    cpu = counted(tmp_path, "power", {"c:package-0:0": 90.0}, meter("c", "powercap", "n1"))
    gpu = sampled(tmp_path, {"g:gpu0": 300.0}, meter("g", "nvidia-smi", "n2"), name="power.n2")
    assert refused(energies(tmp_path, cpu, gpu)) == "no meter of n2"
    cpus = counted(tmp_path, "power.n3", {"d:package-0:0": 100.0}, meter("d", "powercap", "n2"))
    assert energies(tmp_path, cpu, gpu, cpus).energy == pytest.approx((90 + 100 + 300) * 10)


def test_power__packages_and_memory_of_all_nodes_add_up_without_their_cores(tmp_path: Path) -> None:
    core, platform = "c:core:0:0", "c:psys:1"
    watts = {"c:package-0:0": 90.0, "c:dram:0:1": 10.0, core: 60.0, platform: 140.0}
    first = counted(tmp_path, "power", watts, meter("c", "powercap", "n1", apart=[core, platform]))
    second = counted(tmp_path, "power.n2", {"d:package-0:0": 120.0}, meter("d", "powercap", "n2"))
    row = energies(tmp_path, first, second)
    assert row.energy == pytest.approx((90 + 10 + 120) * 10, rel=1e-9)
    assert np.isnan(row.accuracy)


def test_power__what_overlaps_in_a_tools_own_log_is_not_added(tmp_path: Path) -> None:
    """50 W of packages and 5 W of memory for 10 s are 550 J; the cores' 30 W are in the packages'."""
    rows = "".join(f"-\t{FIRST + second}.000000\t50.00\t30.00\t5.00\n" for second in range(21))
    (tmp_path / "t.log").write_text(f"CPU\tTime_Of_Day_Seconds\tPkgWatt\tCorWatt\tRAMWatt\n{rows}")
    assert energies(tmp_path, tmp_path / "t.log").energy == pytest.approx(550.0, rel=1e-9)


def test_power__jobs_at_once_have_equal_parts_while_both_run(tmp_path: Path) -> None:
    jobs = [{"start": FIRST + a, "end": FIRST + b} for a, b in ((2, 12), (6, 15))]
    for number, alone, together in ((1, 4, 6), (2, 3, 6)):
        path = sampled(tmp_path, {"pdu:n1": 200.0, "pdu:n2": 300.0}, PDU, job=number, jobs=jobs)
        row = energies(tmp_path, path)
        assert row.energy == pytest.approx(500 * (alone + together / 2))
        assert row.shared == pytest.approx(together / (alone + together))
        assert "equal part" in row.rule
    jobs[0]["end"] = None
    path = sampled(tmp_path, {"pdu:n1": 200.0, "pdu:n2": 300.0}, PDU, job=2, jobs=jobs)
    assert refused(energies(tmp_path, path)) == "a job that shared the meters has no start or end"


def test_power__blanks_before_a_meter_said_what_it_is_made_of_are_no_meter(tmp_path: Path) -> None:
    gpus = meter("g", "nvidia-smi", "n1")
    path = sampled(tmp_path, {"g": 1.0, "g:gpu0": 250.0, "g:gpu1": 300.0}, gpus, nodes=["n1"])
    path.write_text(path.read_text().replace(",g,1.0,", ",g,,"))
    assert energies(tmp_path, path).energy == pytest.approx(5500)


def test_power__a_sampler_that_did_not_start_is_named(tmp_path: Path) -> None:
    said = "c.yaml:9: pw has mode 640: others can read it or change it; chmod 600 pw"
    (tmp_path / "power.summary.json").write_text(json.dumps({"error": said, "meters": []}))
    (fault,) = own_logs(tmp_path, []).faults
    assert said in str(fault)
    assert energies(tmp_path).reason == f"the sampler did not start: {said}"


def test_power__logs_of_others_add_up_as_they_are(tmp_path: Path) -> None:
    path = sampled(tmp_path, {"rack": 700.0})
    (tmp_path / "power.summary.json").unlink()
    assert energies(tmp_path, path).energy == pytest.approx(7000)


IPMI = """\
    Instantaneous power reading:                   {watts} Watts
    IPMI timestamp:                           Sun Mar  1 10:00:{second:02} 2026
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated

"""


def test_power__of_others_logs_at_several_points_the_outermost_count(tmp_path: Path) -> None:
    bmc = tmp_path / "bmc.txt"
    bmc.write_text("".join(IPMI.format(watts=450, second=second) for second in range(21)))
    rapl = counted(tmp_path, "rapl", {"package-0": 150.0, "package-1": 120.0})
    for summary in tmp_path.glob("*.summary.json"):
        summary.unlink()
    assert energies(tmp_path, rapl).energy == pytest.approx(2700)
    row = energies(tmp_path, rapl, bmc)
    assert (row.energy, row.location) == (
        pytest.approx(4500),
        "node input, by the BMC",
    )
    found = [(rapl, readers.open(rapl, engine="rapl")), (bmc, readers.open(bmc))]
    (fault,) = own_logs(tmp_path, found).faults
    assert str(fault).endswith(
        "rapl.energy.csv: a power log in addition to those of the point 'input'; "
        "not added to them: same watts"
    )
    # One BMC cannot be that of two nodes; packages that name them can.
    blind = over(own_logs(tmp_path, found, nodes=2), START, END)
    assert refused(blind) == "powercap: power of 1 of 2 nodes"
    rapl.write_text(rapl.read_text().replace("package-", "n"))
    found = [(rapl, readers.open(rapl, engine="rapl")), found[1]]
    both = own_logs(tmp_path, found, 2, node_list="n0,n1")
    assert over(both, START, END).energy == pytest.approx(2700)
    alone = own_logs(tmp_path, found, nodes=4)
    reason = "its power logs measure at several points (input, CPU package), none with 4 meters"
    assert refused(over(alone, START, END)) == reason


def test_power__two_tools_on_one_node_are_not_added_and_one_node_is_not_the_run(tmp_path: Path) -> None:
    perf, likwid = tmp_path / "perf.txt", tmp_path / "likwid.txt"
    elapsed = "      20.0 seconds time elapsed\n"
    perf.write_text(
        f"# started on Sun Mar  1 10:00:00 2026\n\n  900.00 Joules power/energy-pkg/\n\n{elapsed}"
    )
    likwid.write_text(
        "Runtime: 20 s\nMeasure for socket 0 on CPU 0\nDomain PKG:\nEnergy consumed: 890 Joules\n"
    )
    start = "2026-03-01T10:00:00Z"
    found = [(one, readers.open(one, start=start, tz="UTC")) for one in (perf, likwid)]
    one = own_logs(tmp_path, found)
    assert [log.name.rpartition("/")[2] for log in one.logs] == ["perf.txt"]
    what = "a power log of likwid-powermeter in addition to that of perf stat; not added to it: same watts"
    assert str(one.faults[0]).endswith(f"likwid.txt: {what}")
    assert refused(over(own_logs(tmp_path, found, nodes=2), START, END)) == "perf stat: power of 1 of 2 nodes"


def test_power__readings_of_a_sliver_of_the_run_are_no_energy(tmp_path: Path) -> None:
    path = sampled(tmp_path, {"rack": 700.0})
    (tmp_path / "power.summary.json").unlink()
    logs = own_logs(tmp_path, [(path, readers.open(path))])
    # The log is of 10:00:00 to 10:00:20: 20 s of 160 s, then of 400 s.
    start = np.datetime64("2026-03-01T10:00:00", "ns")
    enough = over(logs, start, start + np.timedelta64(160, "s"))
    assert enough.covered == pytest.approx(0.125)
    assert enough.energy == pytest.approx(700 * 160)
    reason = "readings cover 5 % of the run, less than 10 %"
    assert refused(over(logs, start, start + np.timedelta64(400, "s"))) == reason


def test_power__a_log_of_others_beside_the_samplers_is_not_added(tmp_path: Path) -> None:
    path = sampled(tmp_path, {"pdu:n1": 200.0, "pdu:n2": 300.0}, PDU)
    other = tmp_path / "house.csv"
    other.write_text(path.read_text().replace("pdu:n1", "rack").replace("pdu:n2", "row"))
    assert energies(tmp_path, path, other).energy == pytest.approx(5000)
    found = [(one, readers.open(one)) for one in (path, other)]
    (fault,) = own_logs(tmp_path, found).faults
    what = "a power log in addition to the sampler's; not added to it: same watts"
    assert str(fault).endswith(f"/house.csv: {what}")


def test_points__the_samplers_types_are_ordered_from_the_rack_to_the_chips() -> None:
    types = ["nvidia-smi", "slurm", "powercap", "ipmitool", "redfish", "snmp"]
    assert layers(types) == [["snmp"], ["redfish"], ["ipmitool"], ["slurm"], ["powercap", "nvidia-smi"]]
    assert layers(["roof", "GPU", "input", "cellar"]) == [["input"], ["GPU"], ["cellar"], ["roof"]]
    assert point("node, by Slurm's energy plugin") == point(SLURM)


def job(run: str, node: str, first: int, last: int) -> dict[str, Any]:
    start, end = (np.datetime64(FIRST + second, "s").astype("datetime64[ns]") for second in (first, last))
    times = {"start": start, "end": end, "elapsed": float(last - first)}
    return {"run": run, "node_list": node, "ranks": 4, "ranks_per_node": 2, **times}


def test_attribute__its_own_log_goes_before_slurms_counter_and_that_before_nothing() -> None:
    rows = [job("own", "n1", 0, 10), job("slurm", "n1", 20, 30), job("none", "n1", 40, 50)]
    refused_log = RunEnergy(reason="a.csv: torn")
    own = [RunEnergy(500.0, location="rack"), refused_log, refused_log]
    energies, meters = attribute(rows, own, [900.0, 900.0, np.nan], [])
    assert [found.energy for found in energies[:2]] == [500.0, 900.0]
    assert (energies[1].mean_power, energies[1].location, energies[1].reason) == (90.0, SLURM, "")
    assert refused(energies[2]) == "a.csv: torn"
    assert meters.empty


def test_attribute__a_node_that_two_runs_were_on_is_nobodys_without_a_rule() -> None:
    rows = [job("a", "n1.site", 0, 10), job("b", "n1", 5, 15), job("c", "n1", 15, 20)]
    own = [RunEnergy(500.0), RunEnergy(500.0, rule="equal parts"), RunEnergy()]
    first, second, third = attribute(rows, own, [np.nan, np.nan, 300.0], [])[0]
    assert refused(first) == "its own log counts a node whole for each of the jobs that share it"
    assert (second.energy, third.energy) == (500.0, 300.0)
    assert refused(attribute(rows[:1], [RunEnergy()], [np.nan], [])[0][0]) == "no power log"


def shared_a_node(rows: list[dict[str, Any]]) -> set[str]:
    found = attribute(rows, [RunEnergy(500.0)] * len(rows), [np.nan] * len(rows), [])[0]
    return {row["run"] for row, energy in zip(rows, found, strict=True) if not energy.known}


def test_attribute__a_long_run_shares_its_node_with_each_that_ran_meanwhile() -> None:
    rows = [
        job("apart", "n1", 200, 210),
        job("second", "n1", 30, 40),
        job("long", "n1,n2", 0, 100),
        job("first", "n1", 10, 20),
        job("elsewhere", "n3", 10, 20),
        job("touches", "n1", 99, 150),  # by a second, as records of jobs that follow each other do
        job("beside", "n2", 98, 150),
    ]
    assert shared_a_node(rows) == {"long", "first", "second", "beside"}
    assert shared_a_node(rows[:2] + rows[3:6]) == set()


@pytest.mark.parametrize("seed", range(20))
def test_attribute__runs_share_a_node_as_a_look_at_each_pair_says(seed: int) -> None:
    draw = np.random.default_rng(seed)
    spans = [(int(first), int(draw.integers(0, 30))) for first in draw.integers(0, 60, size=8)]
    rows = [job(f"r{at}", "n1", first, first + long) for at, (first, long) in enumerate(spans)]
    second = np.timedelta64(1, "s")
    ordered = sorted(rows, key=lambda row: (row["start"], row["end"]))
    pairs = [(a, b) for at, a in enumerate(ordered) for b in ordered[at + 1 :]]
    expected = {row["run"] for a, b in pairs if a["end"] > b["start"] + second for row in (a, b)}
    assert shared_a_node(rows) == expected


def rack(folder: Path, node: str, *, seconds: int = 20, watts: float | None = 300.0, **declared: Any) -> Log:
    """Return a campaign's log of one meter that feeds a node, with a reading a second."""
    rows = [
        f"2026-03-01T10:00:{at:02}.000000Z,{node}-pdu,{'' if watts is None else watts},"
        for at in range(seconds + 1)
    ]
    path = folder / f"{node}.csv"
    path.write_text("time,meter,power_W,note\n" + "\n".join(rows) + "\n")
    ds = readers.open(path)
    return Log(path.name, ds, {f"{node}-pdu": [node]}, declared=declared)


def test_attribute__slurms_counter_stays_where_the_campaigns_log_has_no_energy(tmp_path: Path) -> None:
    """The log ends at 20 s: of a run from 40 s to 50 s it knows nothing, Slurm has 900 J."""
    rows, logs = [job("late", "n1", 40, 50)], [rack(tmp_path, "n1")]
    (found,), _ = attribute(rows, [RunEnergy()], [900.0], logs)
    assert (found.energy, found.location) == (900.0, SLURM)
    (found,), _ = attribute(rows, [RunEnergy()], [np.nan], logs)
    assert refused(found).startswith("n1.csv has no reading")
    (found,), _ = attribute([job("early", "n1", 5, 15)], [RunEnergy()], [900.0], logs)
    assert found.energy == pytest.approx(300 * 10)


def test_attribute__a_tenth_of_the_run_is_enough_and_a_declared_range_has_to_bound_every_log(
    tmp_path: Path,
) -> None:
    """Logs of 20 s: a tenth of 200 s, a twentieth of 400 s."""
    bounds = {"power_range": [100.0, 500.0]}
    exactly, short = (job("r", "n1,n2", 0, last) for last in (200, 400))
    plain = [rack(tmp_path, node) for node in ("n1", "n2")]
    bounded = [rack(tmp_path, node, **bounds) for node in ("n1", "n2")]

    def of(row: dict[str, Any], *logs: Log) -> RunEnergy:
        return attribute([row], [RunEnergy()], [np.nan], logs)[0][0]

    assert of(exactly, *plain).covered == pytest.approx(0.1)
    assert of(exactly, *plain).known
    assert "readings cover 5 % of the run, less than 10 %" in refused(of(short, *plain))
    assert "readings cover 5 % of the run" in refused(of(short, plain[0], bounded[1]))
    found = of(short, *bounded)
    # 20 s are read at 300 W, 380 s may be at 100 W to 500 W, on each of two nodes.
    assert (found.low, found.high) == pytest.approx((2 * (6000 + 38_000), 2 * (6000 + 190_000)))


@pytest.mark.parametrize(("overlap", "alone"), [(1, True), (2, False)])
def test_attribute__runs_that_follow_each_other_may_touch_for_a_second(overlap: int, alone: bool) -> None:
    rows = [job("a", "n1", 0, 10), job("b", "n1", 10 - overlap, 20)]
    found, _ = attribute(rows, [RunEnergy(500.0), RunEnergy(700.0)], [np.nan, np.nan], [])
    assert [one.known for one in found] == [alone, alone]
