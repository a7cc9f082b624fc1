"""MLPerf Inference with its meter: powers and rates against awk, and the records against the logs."""

from __future__ import annotations

import json
import lzma
from datetime import datetime

import numpy as np
import pytest

from analysis import pages
from analysis.base import project
from analysis.estimates.asking import records
from analysis.estimates.campaign import load_campaign

from .test_tables import script

NAME = "published-mlperf"
RUNS = project.raw(NAME) / "runs"
# By awk from spl.txt between power_begin and power_end: J by the trapezoidal rule, with the readings around
# both ends, and the plain mean of the readings inside, W; LoadGen's `Samples per second`.
BY_AWK = {
    "krai-r282_z93_q5e-bert-99": (285_708.3, 438.985, 3142.52),
    "qualcomm-r282_z93_q8e-resnet50": (458_976.5, 677.230, 155_761),
    "nvidia-a100-pcie-80gbx8-3d-unet-99.9": (2_212_387.6, 1779.165, 19.7795),
    "nvidia-h100-pcie-80gbx8-bert-99": (1_994_429.6, 2998.331, 39_196.3),
}

pytestmark = pytest.mark.datasets(NAME)


def unpacked(run: str, name: str = "mlperf_log_detail.txt.xz") -> str:
    return lzma.decompress((RUNS / run / name).read_bytes()).decode()


@pytest.mark.parametrize("run", BY_AWK)
def test_mlperf__energies_and_rates_are_those_of_awk(run: str) -> None:
    joules, watts, rate = BY_AWK[run]
    row = load_campaign(NAME).runs.set_index("run").loc[run]
    assert row["valid"]
    assert row["energy"] == pytest.approx(joules, rel=1e-6)
    # Readings are one second apart, so the mean of those inside differs by the ends of the window alone.
    assert row["mean_power"] == pytest.approx(watts, rel=5e-4)
    assert (row["figure_of_merit"], row["figure_of_merit_unit"]) == (rate, "samples/s")


def test_mlperf__a_run_does_as_many_samples_as_its_rate_says() -> None:
    """The samples of the one query, over the window in which power counts, are LoadGen's rate."""
    runs = load_campaign(NAME).runs
    assert len(runs) == 22
    for row in runs.to_dict("records"):
        samples = int(
            unpacked(row["run"]).partition('"generated_samples_per_query", "value": ')[2].split(",")[0]
        )
        assert row["figure_of_merit"] == pytest.approx(samples / row["elapsed"], rel=1e-3)
        # So runs of one benchmark are of unlike work, and no job's energy is theirs.
        assert (row["target_time"], row["elapsed"] > 600) == (600, True)


def test_mlperf__the_sum_of_the_channels_counts_and_its_parts_do_not() -> None:
    log = unpacked("nvidia-h100-pcie-80gbx8-bert-99", "spl.txt.xz").splitlines()
    cells = log[400].split(",")
    whole, parts = (
        float(cells[3]),
        [float(cells[at + 2]) for at, word in enumerate(cells) if word.startswith("Ch")],
    )
    assert (len(parts), whole) == (3, pytest.approx(sum(parts), abs=0.5))
    seen = pages.power(load_campaign(NAME), "nvidia-h100-pcie-80gbx8-bert-99")
    assert seen["power"][400] == pytest.approx(whole)


def test_mlperf__the_script_makes_the_records_again() -> None:
    make = script(NAME)
    systems = {cluster for repository in make.SYSTEMS for cluster, _ in repository.values()}
    folders = sorted(RUNS.iterdir())
    assert len(folders) == 22
    for folder in folders:
        stored = json.loads((folder / "run.json").read_text())
        case = stored["case"].removesuffix(" Offline")
        again = make.record(folder.name, case, stored["cluster"], stored["tuning"], unpacked(folder.name))
        assert again | {"imported": stored["imported"]} == stored
        assert stored["cluster"] in systems
        begin = unpacked(folder.name).partition('"power_begin", "value": "')[2].partition('"')[0]
        since = np.datetime64(datetime.strptime(begin, "%m-%d-%Y %H:%M:%S.%f")) - np.datetime64(0, "s")
        assert since / np.timedelta64(1, "s") == pytest.approx(stored["start"], abs=1e-3)


def test_mlperf__names_its_two_sources_and_no_run_has_a_key_of_one() -> None:
    found = load_campaign(NAME)
    titles = [title for title, _ in found.references.values()]
    assert [title.partition(" results")[0] for title in titles] == [
        "MLPerf Inference v2.0",
        "MLPerf Inference v3.0",
    ]
    assert found.cited(found.runs["run"]) == []


def test_mlperf__a_pair_has_the_same_clock_and_fans() -> None:
    runs = load_campaign(NAME).runs
    cards = runs[runs["cluster"].str.startswith("R282")]
    assert (cards.groupby("case")["tuning"].nunique() == 1).all()
    assert (cards.groupby("case")["cluster"].nunique() == 2).all()


def test_mlperf__its_meter_is_found_and_the_time_around_its_window_is_not_idle() -> None:
    """The program loads before LoadGen begins: 0.9 of 2.5 kW, which a name of no node hides."""
    assert records(NAME, project.root()).meters  # though no log is called power
    table = pages.levels(load_campaign(NAME), "nvidia-a100-pcie-80gbx8-bert-99")
    (idle,) = table[table["aspect"].str.contains("idle")].to_dict("records")
    assert (idle["level"], idle["found"][:21]) == ("L1", "no reading of each me")
    logs = {run: pages.power(load_campaign(NAME), run) for run in BY_AWK}
    # One of them reads at .501 and at .500 s: every reading has a second of its own.
    assert pages.meters(logs)["missing_percent"].tolist() == [0, 0, 0, 0]


def test_mlperf__a_rate_for_a_watt_is_work_for_a_joule() -> None:
    """39,196.3 samples/s at 2,998.6 W; of the two runs on eight cards the median."""
    select = {"case": "bert-99 Offline"}
    about = {"variable": "figure_of_merit", "per": "mean_power", "x": "case", "by": "cluster"}
    found = pages.panel(load_campaign(NAME), title="BERT", select=select, **about)
    medians = found.table.set_index("series")["median"].round(2)
    assert (found.unit, medians["G482-Z54, 8 H100 PCIe"], medians["R282-Z93, 8 AIC100"]) == (
        "samples/J",
        13.07,
        8.53,
    )
    # Their runs are of two days in UTC, so the bar is wider than the two runs, and its caption says so.
    assert found.table.set_index("series")["high"]["R282-Z93, 8 AIC100"] > 8.76 > 5049.9 / 591.05
    assert "or wider for several days" in found.description
