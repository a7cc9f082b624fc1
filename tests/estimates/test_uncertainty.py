"""A campaign with the log of a rack's outlets beside its runs: every energy here is known by hand."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from analysis import pages
from analysis.base.errors import ConfigError
from analysis.datasets.campaign import ingest
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.schema import storage
from tests.estimates.hand import claim, verdict

SCHEMAS = Path(__file__).parents[2] / "workflow" / "schemas"
DAY = 1_772_323_200  # 2026-03-01T00:00:00Z
RESULT = (
    "proxy result: version=1 pattern=halo ranks={ranks} bytes=8 count=1 work=0 time=1 "
    "time_min=1 io_time=0 checksum=00 errors=0\n"
)
STEP = 10  # s between readings
OUTLETS = {"n1": "outlet 1 (W)", "n2": "outlet 2 (W)", "n3": "outlet 3 (W)", "n4": "outlet 4 (W)"}
IDLE = {"n1": 80.0, "n2": 80.0, "n3": 90.0, "n4": 80.0}
# run -> nodes, first and last second, ranks on a node, power of each node at the second t of the run
RUNS: dict[str, tuple[list[str], int, int, int, Callable[[float], float]]] = {
    **{f"ib{k}": (["n1"], 1000 * k, 1000 * k + 360, 4, lambda t: 200.0) for k in range(1, 7)},
    **{f"eth{k}": (["n2"], 1000 * k, 1000 * k + 720, 4, lambda t: 250.0) for k in range(1, 7)},
    "ramp": (["n3"], 1000, 1400, 4, lambda t: 100 + t / 2),
    "pair": (["n1", "n2"], 9000, 9100, 4, lambda t: 150.0),
    "dying": (["n3"], 2000, 2200, 4, lambda t: 300.0 if t <= 100 else np.nan),
    "late": (["n3"], 3000, 3100, 4, lambda t: np.nan),
    "three": (["n4"], 1000, 1200, 3, lambda t: 400.0),
    "one": (["n4"], 1100, 1300, 1, lambda t: 400.0),
}
DECLARED: dict[str, Any] = {
    "files": "power/pdu.csv.xz",
    "options": {"tz": "Europe/Berlin"},
    "clock": {"offset": -3.0},
    "accuracy": "2%",
    "location": "PDU outlet",
    "meters": {outlet: [node] for node, outlet in OUTLETS.items()},
}


def watts(node: str, second: int) -> float:
    """Power of a node: that of its run, else idle; outlet 3 is dead from 2100 s on."""
    for nodes, start, end, _, power in RUNS.values():
        if node in nodes and start <= second <= end:
            return power(second - start)
    return np.nan if node == "n3" and second > 2100 else IDLE[node]


def write_log(path: Path, meters: dict[str, Callable[[int], float]], shift: float = 3.0) -> None:
    """Write local times of Berlin by a clock that is ahead; blanks for what was not read."""
    lines = [",".join(["timestamp", *meters])]
    for second in range(0, 10_001, STEP):
        stamp = np.datetime64(int(DAY + 3600 + second + shift), "s")
        row = [power(second) for power in meters.values()]
        lines.append(
            ",".join([str(stamp).replace("T", " "), *("" if np.isnan(w) else f"{w:g}" for w in row)])
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("\n".join([*lines, ""]).encode()))


def lay_out(root: Path) -> Path:
    folder = root / "data" / "raw" / "rack"
    for order, (name, (nodes, start, end, ranks, _)) in enumerate(RUNS.items()):
        run = folder / "runs" / name
        run.mkdir(parents=True)
        link = "1gbe" if name.startswith("eth") else "ib"
        total = ranks * len(nodes)
        record = {
            "run": name, "campaign": "rack", "evidence": "measured", "application": "proxy", "case": "halo",
            "interconnect": link, "cpu": "EPYC", "nodes": len(nodes), "ranks": total, "ranks_per_node": ranks,
            "concurrent_jobs": 1, "order": order, "nodelist": nodes, "exit_code": 0,
            "start": DAY + start, "end": DAY + end, "elapsed": end - start, "profiler": None,
        }  # fmt: skip
        (run / "run.json").write_text(json.dumps(record))
        (run / "stdout.txt").write_text(RESULT.format(ranks=total))
    write_log(folder / "power/pdu.csv.xz", {o: lambda s, n=n: watts(n, s) for n, o in OUTLETS.items()})
    return folder


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return lay_out(tmp_path)


def tree(raw: Path, *logs: dict[str, Any]) -> Any:
    root = raw.parents[2]
    declaration = root / "config" / "campaigns" / "rack.yaml"
    declaration.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(SCHEMAS, root / "workflow" / "schemas", dirs_exist_ok=True)
    head = {"title": "A rack", "evidence": "measured", "hardware": "by hand"}
    power = {"logs": list(logs), "machine": {"nodes": 4, "subsystems": "compute nodes"}}
    declaration.write_text(yaml.safe_dump({**head, "power": power}))
    ingest(raw, raw.parents[1] / "out", declaration=declaration)
    return storage.read_tree(raw.parents[1] / "out" / "campaign.nc")


def runs(found: Any) -> pd.DataFrame:
    table = found["runs"].to_dataset()
    return pd.DataFrame({str(name): table[name].values for name in table.variables}).set_index("run")


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Root and tree of the campaign as it is declared, for tests that change nothing."""
    raw = lay_out(tmp_path_factory.mktemp("rack"))
    return raw.parents[2], tree(raw, DECLARED)


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tree without the runs that have other powers than the repeats."""
    raw = lay_out(tmp_path_factory.mktemp("alike"))
    empty_others(raw)
    return tree(raw, DECLARED)


def empty_others(raw: Path) -> None:
    for name in ("ramp", "dying", "late"):
        for path in (raw / "runs" / name).iterdir():
            path.unlink()


def test_meters__energies_by_hand(rack: tuple[Path, Any]) -> None:
    table = runs(rack[1])
    joules = {
        "ib1": 72_000,  # 200 W x 360 s: 20 Wh
        "ib6": 72_000,
        "eth3": 180_000,  # 250 W x 720 s: 50 Wh
        "ramp": 80_000,  # 100 to 300 W: 200 W on average, 400 s
        "pair": 30_000,  # two outlets of 150 W, 100 s
        "three": 70_000,  # 100 s alone, 100 s with 3 of 4 ranks
        "one": 50_000,  # 100 s with 1 of 4 ranks, 100 s alone
    }
    assert table["energy"][list(joules)].to_dict() == pytest.approx(joules, rel=1e-12)
    for end in ("energy_low", "energy_high"):
        assert table[end][list(joules)].to_dict() == pytest.approx(joules, rel=1e-12)
    assert table["energy_covered"][list(joules)].to_list() == pytest.approx([1.0] * 7)
    assert table["mean_power"][["ib1", "pair", "one"]].to_list() == pytest.approx([200.0, 300.0, 250.0])
    # A limit of 2 % is uniform: 72 kJ x 0.02 / sqrt(3); the ramp of 5 W a reading adds 40 x (50 J)²/12.
    assert table.loc["ib1", "energy_uncertainty"] == pytest.approx(831.384, abs=1e-3)
    assert table.loc["ramp", "energy_uncertainty"] == pytest.approx((923.760**2 + 40 * 50**2 / 12) ** 0.5)
    assert table.loc["ib1", "idle_power"] == 80.0
    assert table.loc["pair", "idle_power"] == 160.0
    assert (table.loc["ib1", "energy_shared"], table.loc["ib1", "energy_rule"]) == (0.0, "")
    assert table.loc["one", "energy_shared"] == pytest.approx(0.5)
    assert table.loc["one", "energy_rule"].endswith("a node's to the jobs on it by ranks")
    assert set(table["energy_location"]) == {"PDU outlet", ""}


@pytest.mark.slow
def test_meters__watts_of_two_places_are_not_counted_twice(raw: Path) -> None:
    write_log(raw / "power/bmc.csv.xz", {"bmc 1 (W)": lambda s: 190.0, "bmc 2 (W)": lambda s: 190.0})
    bmc = {**DECLARED, "files": "power/bmc.csv.xz", "location": "node input, by the BMC"}
    bmc["meters"] = {"bmc 1 (W)": ["n1"], "bmc 2 (W)": ["n2"]}
    # The more accurate one counts where both see all nodes of a run.
    for accuracy, joules, place in (("5%", 72_000, "PDU outlet"), ("1%", 68_400, "node input, by the BMC")):
        table = runs(tree(raw, DECLARED, {**bmc, "accuracy": accuracy}))
        assert table.loc["ib1", "energy"] == pytest.approx(joules, rel=1e-12)
        assert table.loc["ib1", "energy_location"] == place
        assert table.loc["ramp", "energy"] == pytest.approx(80_000, rel=1e-12)  # only its outlet is metered
    # Neither sees all of the two nodes of `pair`, and n1 is seen by both.
    half = {**DECLARED, "meters": {"outlet 1 (W)": ["n1"], "outlet 3 (W)": ["n3"]}}
    both = {**bmc, "meters": {"bmc 1 (W)": ["n1"]}}
    rest = {**bmc, "location": "rack feed", "meters": {"bmc 2 (W)": ["n2"]}}
    table = runs(tree(raw, half, both, rest))
    assert np.isnan(table.loc["pair", "energy"])
    assert table.loc["pair", "energy_reason"].startswith("logs of several places meter the same nodes")


def test_meters__meter_that_dies_leaves_bounds_and_then_nothing(rack: tuple[Path, Any], raw: Path) -> None:
    table = runs(rack[1])
    dying = table.loc["dying"]
    # 300 W for 100 s; then between what the outlet has shown, its idle 90 W and its 300 W.
    assert (dying["energy_low"], dying["energy_high"]) == pytest.approx((30_000 + 9_000, 60_000))
    assert dying["energy"] == pytest.approx(60_000)  # the last reading held
    assert dying["energy_covered"] == pytest.approx(0.5)
    late = table.loc["late"]
    assert np.isnan(late[["energy", "energy_low", "energy_high", "mean_power"]].astype(float)).all()
    assert late["energy_reason"] == "power/pdu.csv.xz has no reading of one of outlet 3 (W) in the run"
    wide = runs(tree(raw, {**DECLARED, "power_range": [50, 400]})).loc["dying"]
    assert (wide["energy_low"], wide["energy_high"]) == pytest.approx((35_000, 70_000))


def campaign(found: Any) -> Campaign:
    return Campaign("rack", found, "A rack", "measured", "by hand")


REDUCTION = """quantity: reduction
variable: energy_per_job
select: { application: proxy, nodes: 1, ranks: 4 }
compare: { factor: interconnect, treatment: ib, baseline: 1gbe }
expect: { relation: about, value: 60, tolerance: TOLERANCE }"""


def test_meters__verdict_holds_what_the_meter_leaves_open(alike: Any, raw: Path, tmp_path: Path) -> None:
    on = campaign(alike)
    found = verdict(claim(tmp_path, REDUCTION.replace("TOLERANCE", "10%")), on)
    # 1 - 20/50. Repeats have no spread; of each side's 2 %/sqrt(3) = 1.1547 % the ratio of 0.4 takes
    # 0.4 x 1.1547 % and 0.4 x (1 - 1/1.011547): together 0.0064948, of which 1.96 make 0.0127297.
    assert found.estimate == pytest.approx(60)
    assert (found.low, found.high) == (pytest.approx(58.72703, abs=1e-4), pytest.approx(61.27297, abs=1e-4))
    assert (found.verdict, found.n, found.n_baseline) == ("holds", 6, 6)
    assert "the interval holds the meters' standard uncertainty of 1.2 % and 1.2 %" in found.arithmetic
    narrow = verdict(claim(tmp_path, REDUCTION.replace("TOLERANCE", "1%")), on)
    assert (
        narrow.verdict == "holds in direction, size open"
    )  # 59.4 to 60.6 % is less than the meters can tell
    empty_others(raw)
    silent = campaign(tree(raw, {key: value for key, value in DECLARED.items() if key != "accuracy"}))
    found = verdict(claim(tmp_path, REDUCTION.replace("TOLERANCE", "1%")), silent)
    assert (found.low, found.high) == (pytest.approx(60), pytest.approx(60))
    assert "not their accuracy, which is not stated" in found.arithmetic


def test_meters__level_and_its_gaps(raw: Path, tmp_path: Path) -> None:
    text = """quantity: level
variable: energy_per_job
select: { application: proxy, interconnect: ib, nodes: 1, ranks: 4 }
expect: { relation: range, low: 19, high: 21, unit: Wh }"""
    empty_others(raw)

    def gappy(node: str, second: int) -> float:
        return np.nan if node == "n1" and 90 < second % 1000 < 190 else watts(node, second)

    write_log(raw / "power/pdu.csv.xz", {o: lambda s, n=n: gappy(n, s) for n, o in OUTLETS.items()})
    gaps = tree(raw, DECLARED)
    table = runs(gaps)
    # Between the readings at 90 and at 190 s: 100 s at 80 to 200 W.
    assert table.loc["ib2", "energy_low"] == pytest.approx(72_000 - 100 * 120)
    assert table.loc["ib2", "energy_covered"] == pytest.approx(260 / 360)
    found = verdict(claim(tmp_path, text), campaign(gaps))
    # 12 kJ less is 3.333 Wh; 1.96 x 20 Wh x 0.02 / sqrt(3) = 0.45264 Wh
    assert found.estimate == pytest.approx(20)
    assert found.low == pytest.approx(20 - 3.33333 - 0.45264, abs=1e-4)
    assert found.high == pytest.approx(20.45264, abs=1e-4)
    assert found.verdict == "cannot tell"


def test_meters__clock_offset_is_estimated_from_edges_and_stated(raw: Path) -> None:
    found = tree(raw, {**DECLARED, "clock": {"estimate": True, "reach": 60}})
    meters = found["meters"].to_dataset()
    assert set(meters["clock"].values) == {"estimated"}
    # Readings every 10 s cannot tell the 3 s from their neighbours.
    assert meters["clock_offset"].values[0] == pytest.approx(-3.0, abs=10.0)
    assert meters["clock_error"].values[0] > 0
    table = runs(found)
    assert table.loc["ib1", "energy"] == pytest.approx(72_000, rel=0.02)
    flat = {o: lambda s: 100.0 for o in OUTLETS.values()}
    write_log(raw / "power/pdu.csv.xz", flat)
    none = runs(tree(raw, {**DECLARED, "clock": {"estimate": True, "reach": 60}}))
    assert none["energy"].isna().all()
    assert none.loc["ib1", "energy_reason"] == "the clock offset of power/pdu.csv.xz could not be estimated"


@pytest.mark.slow
def test_meters__switch_and_power_supply(raw: Path) -> None:
    write_log(raw / "power/switch.csv.xz", {"spine (W)": lambda s: 80.0}, shift=0.0)
    switch = {
        "files": "power/switch.csv.xz", "options": {"tz": "Europe/Berlin", "meter": "spine"}, "meters": {},
        "switches": {"spine": "all"}, "location": "PDU outlet",
    }  # fmt: skip
    table = runs(tree(raw, DECLARED, switch))
    # A quarter of 80 W for each of four nodes: 20 W x 360 s; two nodes 40 W x 100 s.
    assert table["energy"][["ib1", "pair"]].to_list() == pytest.approx([72_000 + 7_200, 30_000 + 4_000])
    assert table.loc["ib1", "energy_shared"] == 1.0
    # While nobody else runs, all of it: eth1 and three are on other nodes from 1000 s on, ramp too.
    whole = runs(tree(raw, DECLARED, {**switch, "spare": "to jobs"}))
    assert whole.loc["pair", "energy"] == pytest.approx(30_000 + 8_000)
    direct = {**DECLARED, "location": "node, DC side", "accuracy": "1%"}
    behind = runs(tree(raw, {**direct, "efficiency": {"value": 0.8, "limit": 0.016, "source": "data sheet"}}))
    assert behind.loc["ib1", "energy"] == pytest.approx(90_000)
    # 1 % of the meter and 0.016/0.8 = 2 % of the power supply: sqrt(5) % of 90 kJ, over sqrt(3)
    assert behind.loc["ib1", "energy_uncertainty"] == pytest.approx(90_000 * 0.01 * (5 / 3) ** 0.5)
    place = "input, from node, DC side at an efficiency of 0.8 (data sheet)"
    assert behind.loc["ib1", "energy_location"] == place
    # A switch alone meters no node.
    lonely = runs(tree(raw, switch))
    assert lonely["energy"].isna().all()
    assert lonely.loc["pair", "energy_reason"] == "no meter of n1, n2"


def test_meters__energies_of_different_points_are_not_compared(raw: Path, tmp_path: Path) -> None:
    outlets = {**DECLARED, "meters": {"outlet 1 (W)": ["n1"]}}
    write_log(raw / "power/rapl.csv.xz", {"packages of n2 (W)": lambda s: watts("n2", s)})
    packages = {
        **DECLARED, "files": "power/rapl.csv.xz", "location": "CPU package, by RAPL",
        "options": {"tz": "Europe/Berlin", "meter": "packages"}, "meters": {"packages": ["n2"]},
    }  # fmt: skip
    found = tree(raw, outlets, packages)
    table = runs(found)
    assert table.loc["eth1", "energy_location"] == "CPU package, by RAPL"
    assert table.loc["pair", "energy_reason"] == "no meter of n2"  # an outlet and packages do not add up
    refused = verdict(claim(tmp_path, REDUCTION.replace("TOLERANCE", "10%")), campaign(found))
    assert refused.verdict == "not tested"
    assert "metered at CPU package and at input" in refused.reason


def test_meters__undeclared_logs(raw: Path) -> None:
    found = tree(raw)
    assert runs(found)["energy"].isna().all()
    assert runs(found).loc["ib1", "energy_reason"] == "no power log"
    assert any("which meter feeds which node" in fault for fault in found.attrs["faults"])
    named = {f"{node} (W)": lambda s, n=node: watts(n, s) for node in OUTLETS}
    write_log(raw / "power/pdu.csv.xz", named, shift=-3600.0)  # in UTC, with no offset
    assert runs(tree(raw)).loc["ib1", "energy"] == pytest.approx(72_000)


def test_meters__a_run_keeps_its_own_energy_where_the_campaigns_log_has_none(raw: Path) -> None:
    for name in ("ib1", "late"):  # the outlet of `late` is dead, its own log has 110 W
        start, end = RUNS[name][1:3]
        lines = [f"{DAY + second},110" for second in range(start - 10, end + 20, 10)]
        (raw / "runs" / name / "own.csv").write_text("\n".join(["time,power_W", *lines, ""]))
    table = runs(tree(raw, DECLARED))
    assert table["energy"][["ib1", "late"]].to_list() == pytest.approx([72_000, 11_000])
    assert table.loc["late", "energy_reason"] == ""


def test_meters__faults_of_a_declaration(raw: Path) -> None:
    found = tree(raw, {**DECLARED, "meters": {**DECLARED["meters"], "outlet 9 (W)": ["n9"]}})
    assert any("has no meter 'outlet 9 (W)'; it has outlet 1 (W)" in fault for fault in found.attrs["faults"])
    found = tree(raw, {**DECLARED, "files": "power/none.csv"})
    assert any("no file next to the runs is called 'power/none.csv'" in f for f in found.attrs["faults"])
    with pytest.raises(ConfigError, match=r"rack.yaml:\d+: power.logs.0"):
        tree(raw, {**DECLARED, "efficiency": {"value": 94, "source": "data sheet"}})


def test_meters__slurm_does_not_split_a_node(raw: Path) -> None:
    lines = ["JobID|State|ExitCode|Start|End|ElapsedRaw|NNodes|NCPUS|NodeList|ConsumedEnergyRaw"]
    for number, name in enumerate(("three", "ib1"), 1):
        path = raw / "runs" / name / "run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "job_id": str(number)}))
        lines.append(f"{number}|COMPLETED|0:0|2026-03-01T00:00:00|2026-03-01T00:10:00|600|1|4|n1|90000")
    (raw / "sacct.txt").write_text("\n".join([*lines, ""]))
    (raw / "power/pdu.csv.xz").unlink()
    table = runs(tree(raw))
    assert table.loc["ib1", "energy"] == 90_000
    assert table.loc["ib1", "energy_location"] == "nodes, as Slurm's acct_gather_energy has it"
    assert np.isnan(table.loc["three", "energy"])
    assert table.loc["three", "energy_reason"].startswith("Slurm counts a node whole")


def test_meters__page_shows_the_log_beside_the_runs(rack: tuple[Path, Any]) -> None:
    root, found = rack
    on = campaign(found)
    log = pages.power(on, "ib2", root)
    # 360 s with a quarter of it before and after: 9 readings on each side, 37 in the run
    assert log["seconds"].to_list() == [10.0 * k for k in range(-9, 46)]
    assert log["power"].to_list() == [80.0] * 9 + [200.0] * 37 + [80.0] * 9
    assert log.attrs == {"interval": 10.0, "location": "PDU outlet"}
    with pytest.raises(NotCoveredError, match=r"has no power log: .* has no reading of one of outlet 3"):
        pages.power(on, "late", root)


def test_meters__levels_from_the_data_and_the_declaration(rack: tuple[Path, Any]) -> None:
    root, found = rack
    table = pages.levels(campaign(found), "ib2", base=root)
    # Readings 10 s apart; all of 360 s; 37 powers; idle between the runs; four of four nodes; compute
    # nodes without the interconnect; at the outlet; 2 %.
    assert table["level"].to_list() == ["none", "L3", "L2", "L3", "L3", "none", "L3", "L2"]
    assert table["found"][4] == "4 of 4 nodes, 0.2 kW"
    assert table["found"][6] == "upstream (PDU outlet)"


def test_meters__nodes_may_have_domain_names(rack: tuple[Path, Any], raw: Path) -> None:
    for path in (raw / "runs").glob("*/run.json"):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "nodelist": [f"{n}.cluster" for n in record["nodelist"]]}))
    on = campaign(tree(raw, DECLARED))
    chosen = {"1gbe, 1 node": "eth1", "ib, 1 node": "ib1"}
    assert pages.metered(on, "interconnect", {"nodes": 1, "ranks": 4, "run": list(RUNS)[:12]}) == chosen
    # With other jobs' nodes unknown the idle power would be taken while they ran.
    root, short = rack
    levels = pages.levels(on, "ib2", base=raw.parents[2])
    assert levels.equals(pages.levels(campaign(short), "ib2", base=root))


def test_meters__bill_and_its_picture(alike: Any) -> None:
    on = campaign(alike)
    kind = {"select": {"nodes": 1, "ranks": 4}, "price": 0.2, "carbon": 0.4, "jobs_of": "1gbe"}
    table = pages.yearly_costs(on, "interconnect", **kind).set_index("interconnect")
    # 43,800 jobs of 720 s in 365 days; 20 Wh are 0.02 kWh: 175.20 USD, 350.4 kg; 50 Wh: 438 USD, 876 kg
    assert table["cost_a_year"].to_dict() == pytest.approx({"ib": 175.2, "1gbe": 438.0})
    assert table["kg_CO2e_a_year"].to_dict() == pytest.approx({"ib": 350.4, "1gbe": 876.0})
    assert table["jobs_a_day"].to_dict() == {"ib": 240.0, "1gbe": 120.0}
    assert table["pareto"].to_dict() == {"ib": True, "1gbe": False}
    # 1.96 x 20 Wh x 0.02 / sqrt(3)
    assert table.loc["ib", "energy_high"] - 20 == pytest.approx(0.45264, abs=1e-4)
    fig = pages.draw_pareto(table.reset_index(), "interconnect", evidence="measured", campaign="rack")
    texts = {text.get_text() for text in fig.axes[0].texts}
    assert {"ib", "1gbe"} <= texts
