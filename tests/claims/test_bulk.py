"""Verdicts by data in bulk, recomputed from the tables without reader, dataset or engine."""

from __future__ import annotations

import csv
import lzma
from functools import cache
from statistics import median

import pytest

from analysis.base import project
from analysis.claims import Verdict, evaluate
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.schema.factors import FACTORS

# Campaign -> the reports that its views name.
VIEWED = {
    "top500": ("hpcg2014", "lsdyna2009", "openatom2010"),
    "hpcg-outputs": ("hpcg2014",),
    "cloud-study": ("lsdyna2009", "openatom2010"),
    "archer2-frequency": ("archer2022",),
}


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Campaign]:
    base = tmp_path_factory.mktemp("project")
    for name in ("data/raw", "config"):
        (base / name).parent.mkdir(exist_ok=True)
        (base / name).symlink_to(project.root() / name)
    for name in VIEWED:
        ingest(project.raw(name), base / "data/processed" / name)
    return {name: load_campaign(name, base) for name in VIEWED}


@pytest.fixture(scope="module")
def verdicts(campaigns: dict[str, Campaign]) -> dict[str, Verdict]:
    found = [
        one
        for name, reports in VIEWED.items()
        for report in reports
        for one in evaluate(load_report(project.claims(report)), campaigns[name])
    ]
    return {one.claim: one for one in found if one.verdict != "not tested"}


@cache
def rows(path: str) -> list[dict[str, str]]:
    data = (project.root() / "data/raw" / path).read_bytes()
    text = (lzma.decompress(data) if path.endswith(".xz") else data).decode()
    return list(csv.DictReader(text.splitlines()))


def hpl(cpu: str, link: str) -> list[dict[str, str]]:
    alike = [row for row in rows("top500/systems.csv") if row["cpu"] == cpu and row["interconnect"] == link]
    return [row for row in alike if not row["reason"]]


def efficiency(cpu: str, link: str) -> float:
    return median(100 * float(row["figure_of_merit"]) / float(row["peak"]) for row in hpl(cpu, link))


def per_watt(cpu: str, link: str) -> list[float]:
    stated = [row for row in hpl(cpu, link) if row["mean_power"]]
    return [float(row["figure_of_merit"]) / float(row["mean_power"]) for row in stated]


def test_bulk__every_claim_of_a_view_is_asked_and_none_beside(
    campaigns: dict[str, Campaign], verdicts: dict[str, Verdict]
) -> None:
    named = {
        claim
        for name, campaign in campaigns.items()
        for view in campaign.views
        if view.report in VIEWED[name]
        for claim in view.claims
    }
    assert len(named) > 20
    assert set(verdicts) == named


def test_bulk__an_analogue_never_holds_and_says_in_which_factors(verdicts: dict[str, Verdict]) -> None:
    same = {one.claim for one in verdicts.values() if one.distance == "same"}
    assert {claim.split("-")[0] for claim in same} == {"archer2022"}  # a team's own runs
    for one in (one for one in verdicts.values() if one.claim not in same):
        assert one.distance in ("scaled", "analogue")
        assert not one.verdict.startswith(("holds", "does not hold"))
        assert one.sources
        assert all(given["address"].startswith("https://") for given in one.sources)
        assert {given["factor"] for given in one.distances} <= set(FACTORS)
        assert all(given["why"] for given in one.distances if given["distance"] == "analogue")
    for claim in ("hpcg2014-ic-fdr-beats-ethernet", "lsdyna2009-pwr-ordering"):
        assert {"factor": "application", "distance": "analogue"}.items() <= max(
            verdicts[claim].distances, key=lambda given: given["factor"] == "application"
        ).items()


def test_bulk__links_by_hpl_on_one_processor(verdicts: dict[str, Verdict]) -> None:
    sandy = "Xeon E5-2670 8C 2.6GHz"
    for claim in (
        "hpcg2014-ic-fdr-beats-ethernet",
        "openatom2010-ic-ib-higher",
        "lsdyna2009-ic-ib-faster-means-more-jobs",
    ):
        one = verdicts[claim]
        assert one.verdict == "agrees, systems differ"  # a system on one list is no repeat of another
        assert one.estimate == pytest.approx(efficiency(sandy, "ib") / efficiency(sandy, "10gbe"))
        assert one.n == len(hpl(sandy, "ib")) == 48


def test_bulk__infiniband_is_ahead_on_every_processor_with_enough_systems() -> None:
    cpus = {row["cpu"] for row in rows("top500/systems.csv")}
    pairs = [(cpu, link) for cpu in cpus for link in ("1gbe", "10gbe")]
    enough = [(cpu, link) for cpu, link in pairs if min(len(hpl(cpu, "ib")), len(hpl(cpu, link))) >= 6]
    assert len(enough) == 23
    assert all(efficiency(cpu, "ib") > efficiency(cpu, link) for cpu, link in enough)


def test_bulk__work_for_a_watt_by_link_on_every_processor_of_both(verdicts: dict[str, Verdict]) -> None:
    cpus = {row["cpu"] for row in rows("top500/systems.csv")}
    ratios, middle = {}, {}
    for link in ("1gbe", "10gbe"):
        sides = [(per_watt(cpu, "ib"), per_watt(cpu, link)) for cpu in cpus]
        ratios[link] = sorted(median(one) / median(other) for one, other in sides if one and other)
        middle[link] = median(ratios[link])
    assert [(len(found), sum(one > 1 for one in found)) for found in ratios.values()] == [(25, 22), (23, 19)]
    assert [round(found, 2) for found in middle.values()] == [1.71, 1.90]
    for claim in ("openatom2010-pwr-ib-enables-saving", "lsdyna2009-pwr-ordering"):
        one = verdicts[claim]
        assert (one.estimate, one.verdict) == (pytest.approx(middle["1gbe"]), "agrees, systems differ")
        assert one.low == pytest.approx(ratios["1gbe"][7]), "of 25 the 8th bounds the median at 95 %"
        assert "median of 23 cells" in one.compared


def test_bulk__grids_beyond_the_largest_of_a_claim_do_not_test_it(verdicts: dict[str, Verdict]) -> None:
    sizes = {row["case"] for row in rows("hpcg-outputs/runs.csv.xz") if row["cluster"] == "Fritz"}
    assert min(int(size.removesuffix("³")) for size in sizes) == 96  # the claim is of 16³ to 104³
    assert "hpcg2014-size-advantage-tune-low" not in verdicts


def test_bulk__latency_of_a_later_infiniband(verdicts: dict[str, Verdict]) -> None:
    one = verdicts["lsdyna2009-bg-ib-1us"]
    azure = {row["run"] for row in rows("cloud-study/runs.csv") if row["cluster"] == "azure/cyclecloud"}
    sizes = [row for row in rows("cloud-study/sizes.csv.xz") if row["case"] == "osu_latency"]
    found = [float(row["latency"]) for row in sizes if row["run"] in azure and row["size"] == "8"]
    assert (one.estimate, one.n) == (median(found), len(found)) == (1.57, 280)
    assert (one.distance, one.verdict) == ("scaled", "cannot tell")  # 1 us has no bound


def test_bulk__latency_of_infiniband_and_of_tcp_in_two_clouds(verdicts: dict[str, Verdict]) -> None:
    one = verdicts["openatom2010-bg-ib-gap-lowest-latency"]
    sizes = [row for row in rows("cloud-study/sizes.csv.xz") if row["case"] == "osu_latency"]
    cluster = {row["run"]: row["cluster"] for row in rows("cloud-study/runs.csv")}
    eight = [(cluster[row["run"]], float(row["latency"])) for row in sizes if row["size"] == "8"]
    fabric = [latency for name, latency in eight if name == "azure/cyclecloud"]
    ethernet = [latency for name, latency in eight if name in ("google/gke", "google/compute-engine")]
    assert (len(fabric), len(ethernet)) == (280, 225)
    assert max(fabric) < 2 < 27 < min(ethernet)  # us: no pair of one is near one of the other
    assert one.estimate == pytest.approx(median(ethernet) / median(fabric)) == pytest.approx(35.64 / 1.57)
    # One link is Azure's, the other Google's: more than the link differs, whatever the order.
    assert (one.distance, one.verdict) == ("analogue", "agrees, systems differ")


def at_frequency(application: str, column: str, ghz: str) -> float:
    wanted = {"application": application, "frequency": ghz}
    found = [row[column] for row in rows("archer2-frequency/runs.csv") if wanted.items() <= row.items()]
    return median(float(one) for one in found if one)


def test_frequency__energy_and_performance_of_lammps_by_hand(verdicts: dict[str, Verdict]) -> None:
    slow, fast = (at_frequency("lammps", "energy", ghz) for ghz in ("2", "2.25"))
    assert (slow, fast) == (176156, 190662)  # J: 48.9 and 53.0 Wh per job
    energy = verdicts["archer2022-lammps-energy"]
    assert energy.estimate == pytest.approx(100 * (1 - slow / fast)) == pytest.approx(7.608, abs=1e-3)
    # Less than is typical is at most 9.5 %, and the interval ends at 15 %.
    assert (energy.expected_high, energy.verdict) == (9.5, "cannot tell")
    slow, fast = (at_frequency("lammps", "figure_of_merit", ghz) for ghz in ("2", "2.25"))
    assert fast / slow == pytest.approx(1.355, abs=5e-4)
    performance = verdicts["archer2022-lammps-performance"]
    assert performance.estimate == pytest.approx(100 * (slow / fast - 1))
    # The number is right, and the text has none to compare it with.
    assert (performance.distance, performance.verdict, performance.n) == ("same", "cannot tell", 5)


def test_frequency__jobs_of_castep_are_pairs_and_lose_more_than_printed(verdicts: dict[str, Verdict]) -> None:
    jobs: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows("archer2-frequency/runs.csv"):
        if row["application"] == "castep":
            jobs.setdefault(row["job_id"], {})[row["frequency"]] = row
    less = sorted(
        100 * (1 - float(one["2"]["energy"]) / float(one["2.25"]["energy"])) for one in jobs.values()
    )
    # The third of five: 309,478 against 349,487 J of job 3226600; the least is 285,487 against 317,188 J.
    assert less[2] == pytest.approx(100 * (1 - 309478 / 349487)) == pytest.approx(11.448, abs=1e-3)
    energy = verdicts["archer2022-castep-energy-13pct"]
    assert (energy.estimate, energy.low, energy.high) == pytest.approx((less[2], less[0], less[4]))
    assert (round(less[0], 2), round(less[4], 2)) == (9.99, 13.15)
    lost = [
        100 * (float(one["2.25"]["figure_of_merit"]) / float(one["2"]["figure_of_merit"]) - 1)
        for one in jobs.values()
    ]
    found = verdicts["archer2022-castep-performance-1pct"]
    # 162.69 s after 173.17 s, of job 3227899
    assert found.estimate == pytest.approx(sorted(lost)[2]) == pytest.approx(100 * (162.69 / 173.17 - 1))
    # Each job ran 2.00 GHz first. Of five jobs none lost less than 1.5 %: the printed 1 % is ruled out.
    assert max(lost) == pytest.approx(found.high)
    assert max(lost) < -1.5
    assert (found.distance, found.verdict) == ("scaled", "direction in that order of runs only, larger")
    # A saving of 13 % is not: the most is 13.15 %.
    assert energy.verdict == "direction in that order of runs only"
    assert "in each pair, or in nearly each, the same side was run first" in found.reason
    # Of all four applications; those that alternated, alone, would make it a full word.
    power = verdicts["archer2022-power-rises"]
    assert (power.distance, power.verdict) == ("same", "in that order of runs only")
    assert "2 of 4 comparisons say so" in power.reason


def test_frequency__runs_that_did_not_alternate_get_no_full_word(verdicts: dict[str, Verdict]) -> None:
    found = verdicts["archer2022-gromacs-performance-15pct"]
    assert found.verdict == "direction in that order of runs only, larger"
    assert "one after the other" in found.reason
