import numpy as np
import pytest
import xarray as xr
from scipy.integrate import trapezoid

from analysis.base.errors import BenchbookError
from analysis.energy.integral import energy, total
from analysis.energy.jobs import clock_offset, idle_power, shared
from analysis.schema import registry

DAY = np.datetime64("2026-03-01T00:00:00", "ns")


def at(*seconds):
    """Times a number of seconds into the day."""
    return DAY + np.round(np.array(seconds, dtype=float) * 1e9).astype("timedelta64[ns]")


def power(seconds, *rows, counter=None, **attrs):
    ds = xr.Dataset(
        {"power": (("meter", "time"), np.array(rows, dtype=float))},
        coords={"meter": np.array([f"m{i}" for i in range(len(rows))], dtype=object), "time": at(*seconds)},
        attrs={"interval": 1.0, "accuracy": np.nan, "location": "", **attrs},
    )
    if counter is not None:
        ds["energy_counter"] = (("meter", "time"), np.array(counter, dtype=float))
    return registry.conform(ds, "power")


def test_energy__joins_readings_by_straight_lines():
    ds = power([0, 1, 2, 3], [100, 200, 200, 400])
    # By hand: 150 + 200 + 300 J; the window from 0.5 s to 2.5 s cuts 150..200 and 200..300 W.
    assert energy(ds, at(0)[0], at(3)[0])["energy"].item() == 650.0
    assert energy(ds, at(0.5)[0], at(2.5)[0])["energy"].item() == 87.5 + 200.0 + 125.0
    # Within one interval: from 0.25 s to 0.75 s the mean is 150 W.
    assert energy(ds, at(0.25)[0], at(0.75)[0])["energy"].item() == 75.0


def test_energy__thousand_windows_agree_with_scipy():
    rng = np.random.default_rng(7)
    watts = 300 + 50 * rng.standard_normal((2, 3600))
    ds = power(np.arange(3600.0), *watts)
    start = rng.uniform(0, 3000, 1000).round(3)
    stop = (start + rng.uniform(1, 599, 1000)).round(3)
    found = energy(ds, at(*start), at(*stop))
    assert found["energy"].dims == ("window", "meter")
    for i in (0, 17, 400, 999):
        inner = np.arange(np.ceil(start[i]), np.floor(stop[i]) + 1)
        x = np.concatenate(([start[i]], inner, [stop[i]]))
        expected = trapezoid(np.interp(x, np.arange(3600), watts[1]), x)
        assert found["energy"].values[i, 1] == pytest.approx(expected, rel=1e-9)
    assert found["covered"].values == pytest.approx(1.0)
    assert (found["energy_low"] == found["energy"]).all()


def test_energy__gap_gives_bounds_of_the_powers_seen():
    # 100 W for 10 s, nothing for 10 s, 300 W for 10 s.
    ds = power([*range(11), *range(20, 31)], [100] * 11 + [300] * 11)
    one = energy(ds, at(0)[0], at(30)[0], max_gap=5)
    assert one["covered"].item() == pytest.approx(20 / 30)
    assert one["energy"].item() == 1000 + 2000 + 3000  # the gap by a straight line
    assert one["energy_low"].item() == 1000 + 1000 + 3000
    assert one["energy_high"].item() == 1000 + 3000 + 3000
    assert one["uncertainty_coverage"].item() == pytest.approx(2000 / np.sqrt(12))
    wide = energy(ds, at(0)[0], at(30)[0], max_gap=5, power_range=(0, 500))
    assert (wide["energy_low"].item(), wide["energy_high"].item()) == (4000.0, 9000.0)
    assert energy(ds, at(0)[0], at(30)[0], max_gap=10)["covered"].item() == 1.0
    half = energy(ds, at(5)[0], at(15)[0], max_gap=5)
    assert (half["energy_low"].item(), half["energy_high"].item()) == (500 + 500, 500 + 1500)


def test_energy__default_gap_is_three_intervals():
    ds = power([0, 1, 2, 5, 9], [100] * 5)
    # 2 s to 5 s is three intervals and still covered; 5 s to 9 s is four.
    assert energy(ds, at(0)[0], at(9)[0])["covered"].item() == pytest.approx(5 / 9)


def test_energy__window_beyond_the_log_is_covered_in_part():
    ds = power([0, 1, 2, 3, 4], [100, 100, 100, 100, 200])
    one = energy(ds, at(-5)[0], at(4)[0])
    assert one["covered"].item() == pytest.approx(4 / 9)
    assert one["energy"].item() == 500 + 450  # the first reading held for 5 s
    assert one["energy_low"].item() == 500 + 450
    assert one["energy_high"].item() == 1000 + 450
    off = energy(ds, at(10)[0], at(20)[0])
    assert off["covered"].item() == 0
    assert np.isnan(off["energy"].item())


def test_energy__blank_readings_are_bridged_or_gaps():
    ds = power(range(12), [100, 100, np.nan, 100] + [np.nan] * 6 + [100, 100])
    one = energy(ds, at(0)[0], at(11)[0])
    # One blank makes an interval of 2 s (covered), six make one of 7 s (a gap).
    assert one["covered"].item() == pytest.approx(4 / 11)
    silent = energy(power(range(3), [np.nan] * 3), at(0)[0], at(2)[0])
    assert np.isnan(silent["energy"].item())
    assert silent["covered"].item() == 0


def test_energy__counter_is_exact_over_long_intervals():
    # 0, 1000, 1000 + 9000, 11000 J at 0, 10, 100, 110 s.
    ds = power([0, 10, 100, 110], [np.nan, 100, 100, 100], counter=[[0, 1000, 10000, 11000]], interval=10.0)
    whole = energy(ds, at(0)[0], at(110)[0])
    assert whole["energy"].item() == 11000
    assert whole["covered"].item() == 1.0
    assert whole["uncertainty"].item() == 0.0
    cut = energy(ds, at(0)[0], at(55)[0], power_range=(50, 150))
    # Of 9000 J over 90 s, 45 s may hold 45*50 = 2250 to 45*150 = 6750 J.
    assert cut["energy"].item() == 1000 + 4500
    assert (cut["energy_low"].item(), cut["energy_high"].item()) == (3250.0, 7750.0)
    assert cut["covered"].item() == pytest.approx(10 / 55)


def test_energy__counter_reset_is_a_gap():
    ds = power([0, 10, 20, 30], [np.nan, 100, np.nan, 300], counter=[[0, 1000, 1000, 4000]], interval=10.0)
    one = energy(ds, at(0)[0], at(30)[0])
    assert one["covered"].item() == pytest.approx(2 / 3)
    assert (one["energy_low"].item(), one["energy_high"].item()) == (5000.0, 7000.0)
    assert one["energy"].item() == 6000.0


def test_energy__uncertainty_by_hand():
    ds = power([0, 1, 2], [100, 160, 100], accuracy=0.01)
    one = energy(ds, at(0)[0], at(2)[0], clock_error=0.5)
    assert one["energy"].item() == 260
    assert one["uncertainty_sampling"].item() == pytest.approx(np.sqrt(2 * 60**2 / 12))
    assert one["uncertainty_accuracy"].item() == pytest.approx(2.6 / np.sqrt(3))
    assert one["uncertainty_clock"].item() == 0  # both ends at 100 W
    assert one["uncertainty"].item() == pytest.approx(np.sqrt(600 + 2.6**2 / 3))
    edge = energy(ds, at(0)[0], at(1)[0], clock_error=0.5)
    assert edge["uncertainty_clock"].item() == 30
    unknown = energy(power([0, 1], [100, 100]), at(0)[0], at(1)[0])
    assert np.isnan(unknown["uncertainty_accuracy"].item())
    assert unknown.attrs["accuracy_included"] is False


def test_energy__sampling_part_covers_a_real_load():
    # A load that changes every 0.1 s, read every second: of 200 windows two sigma hold most errors.
    rng = np.random.default_rng(3)
    fine = np.repeat(rng.uniform(100, 400, 4001), 5)
    truth = np.concatenate(([0.0], np.cumsum(fine) * 0.1))
    ds = power(np.arange(0, 2000.0), fine[:20000:10])
    start = rng.integers(0, 1900, 200).astype(float)
    found = energy(ds, at(*start), at(*(start + 60)))
    error = found["energy"].values[:, 0] - np.array(
        [truth[int(s + 60) * 10] - truth[int(s) * 10] for s in start]
    )
    inside = np.abs(error) <= 2 * found["uncertainty_sampling"].values[:, 0]
    assert inside.mean() > 0.6  # a lower bound: the load has changes that 1 Hz does not see


def test_energy__keeps_the_dimension_of_runs_and_takes_missing_times():
    ds = power(range(5), [100] * 5, [200] * 5)
    start = xr.DataArray(at(0, 1, 2), dims="run", coords={"run": ["a", "b", "c"]})
    stop = xr.DataArray(np.array([*at(2, 3), np.datetime64("NaT")]), dims="run")
    found = energy(ds, start, stop, idle=50.0)
    assert found["energy"].sel(run="b").values.tolist() == [200.0, 400.0]
    assert found["energy_above_idle"].sel(run="a").values.tolist() == [100.0, 300.0]
    assert np.isnan(found["energy"].sel(run="c")).all()
    assert found["energy"].attrs["units"] == "J"
    assert found["mean_power"].sel(run="a").values.tolist() == [100.0, 200.0]


def test_energy__takes_times_with_a_zone():
    ds = power(range(5), [100, 200, 300, 400, 500])
    found = energy(ds, "2026-03-01T01:00:01+01:00", "2026-03-01T01:00:03+01:00")
    assert found["energy"].item() == 600.0


def test_energy__window_that_ends_before_it_starts_is_refused():
    ds = power(range(5), [100] * 5)
    with pytest.raises(BenchbookError, match="window 1 ends before it starts"):
        energy(ds, at(0, 3), at(1, 2))


def test_energy__total_adds_accuracy_linearly_and_noise_in_squares():
    ds = power([0, 1, 2], [100, 160, 100], [100, 160, 100], accuracy=0.01)
    result = total(energy(ds, at(0)[0], at(2)[0]))
    assert result["energy"].item() == 520
    assert result["uncertainty_accuracy"].item() == pytest.approx(5.2 / np.sqrt(3))
    assert result["uncertainty_sampling"].item() == pytest.approx(np.sqrt(2 * 600))
    apart = total(energy(ds, at(0)[0], at(2)[0]), correlated=False)
    assert apart["uncertainty_accuracy"].item() == pytest.approx(np.sqrt(2) * 2.6 / np.sqrt(3))
    blind = power([0, 1], [100, 100], [np.nan, np.nan])
    assert np.isnan(total(energy(blind, at(0)[0], at(1)[0]))["energy"].item())


def test_energy_jobs__idle_power_is_the_median_outside_jobs():
    ds = power(range(10), [50, 50, 50, 300, 300, 300, 60, 52, 50, 50])
    found = idle_power(ds, at(3), at(5))
    assert found["idle"].item() == 50
    assert found["readings"].item() == 7
    # 50 50 50 50 50 52 60: a quarter of the way is 50, three quarters halfway from 50 to 52.
    assert (found["idle_low"].item(), found["idle_high"].item()) == (50, 51)
    away = idle_power(ds, at(3), at(5), margin=1)
    assert away["readings"].item() == 5  # 0, 1, 7, 8, 9 s
    busy = idle_power(ds, at(-1), at(20))
    assert np.isnan(busy["idle"].item())


def test_energy_split__concurrent_jobs_split_equally():
    ds = power(range(31), [300] * 31)
    # a: 0..20 s, b: 10..30 s: 10 s alone each, 10 s together.
    found = shared(ds, at(0, 10), at(20, 30))
    assert found["energy"].values.tolist() == [3000 + 1500, 1500 + 3000]
    assert found["shared"].values == pytest.approx([0.5, 0.5])
    assert found["covered"].values == pytest.approx(1.0)
    assert found["mean_power"].values.tolist() == [225.0, 225.0]


def test_energy_split__by_ranks_and_meter():
    ds = power(range(31), [300] * 31, [100] * 31)
    # a has 3 ranks, b 1; only b runs on what the second meter feeds.
    found = shared(ds, at(0, 10), at(20, 30), weights=[[3, 0], [1, 1]])
    assert found["energy"].values.tolist() == [3000 + 2250, 750 + 3000 + 2000]
    whole = energy(ds.isel(meter=[0]), at(0)[0], at(30)[0])["energy"].item()
    assert found["energy"].sum().item() == whole + 2000  # nothing is lost and nothing is made


def test_energy_split__meter_of_several_nodes():
    # A strip of 4 nodes at 800 W for 30 s: a on two of them from 0 to 20 s, b on one from 10 to 30 s.
    ds = power(range(31), [800] * 31)
    kind = {"weights": [[8, 8, 0, 0], [0, 0, 8, 0]], "feeds": [[True] * 4]}
    found = shared(ds, at(0, 10), at(20, 30), **kind)
    assert found["energy"].values.tolist() == [2 / 4 * 16_000, 1 / 4 * 16_000]
    assert found["part"].values[:, 0].tolist() == [0.5, 0.25]
    assert found["shared"].values.tolist() == [1.0, 1.0]
    whole = shared(ds, at(0, 10), at(20, 30), **kind, spare="to jobs")
    # Alone a job has all 8 kJ of 10 s; together a has two nodes of the three in use.
    assert whole["energy"].values == pytest.approx([8000 + 8000 * 2 / 3, 8000 / 3 + 8000])
    assert whole["shared"].values == pytest.approx([0.5, 0.5])


def test_energy_split__node_without_a_meter_and_meter_without_a_reading():
    ds = power(range(31), [100] * 31, [200] * 11 + [np.nan] * 20)
    # Job a on both nodes until the second meter dies; b on the second after that; c on a third node.
    found = shared(ds, at(0, 15, 0), at(10, 25, 10), weights=[[1, 1, 0], [0, 1, 0], [0, 0, 1]],
                   feeds=[[True, False, False], [False, True, False]])  # fmt: skip
    assert found["energy"].values[0] == 3000
    assert np.isnan(found["energy"].values[1:]).all()
    assert found["metered"].values.tolist() == [True, True, False]
    assert found["duration"].values.tolist() == [10.0, 10.0, 10.0]


def test_energy_split__of_one_job_is_the_integral():
    rng = np.random.default_rng(3)
    ds = power(np.arange(100.0), 300 + 50 * rng.standard_normal(100), accuracy=0.02)
    whole = total(energy(ds, at(7.3)[0], at(81.9)[0], clock_error=0.2))
    found = shared(ds, at(7.3), at(81.9), clock_error=0.2)
    for name in ("energy", "energy_low", "energy_high", "uncertainty", "covered"):
        assert found[name].item() == pytest.approx(whole[name].item(), rel=1e-12)


def test_energy_split__over_a_gap_keeps_its_bounds():
    ds = power([*range(11), *range(20, 31)], [100] * 11 + [300] * 11)
    found = shared(ds, at(0, 12), at(30, 18), max_gap=5)
    assert found["energy_low"].values.tolist() == [1000 + 400 + 300 + 3000, 300]
    assert found["energy_high"].values.tolist() == [1000 + 1200 + 900 + 3000, 900]


def test_energy_jobs__clock_offset_from_edges():
    # The job ran from 100 s to 200 s in cluster time; the meter shows it from 117 s to 217 s.
    t = np.arange(400.0)
    ds = power(t, np.where((t >= 117) & (t < 217), 300.0, 100.0))
    found = clock_offset(ds, at(100), at(200), reach=60)
    assert found["offset"].item() == pytest.approx(-17, abs=found["resolution"].item() + 0.5)
    assert found["resolution"].item() <= 1.0
    with pytest.raises(BenchbookError, match="no edge"):
        clock_offset(power(t, np.full(400, 100.0)), at(100), at(200), reach=60)
