"""What all power readers share: order, doubled stamps, offsets, counters, the table."""

import gzip

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.power.formats import power_csv, rapl
from analysis.schema import registry


def csv(*rows, head="time,meter,power_W"):
    return ("\n".join([head, *rows]) + "\n").encode()


def stamps(ds):
    return [str(t)[:23] for t in ds["time"].values.astype("datetime64[ms]")]


def test_base__long_rows_become_meter_by_time():
    ds = power_csv.parse(
        csv(
            "2026-03-01T00:00:00Z,a,100",
            "2026-03-01T00:00:00Z,b,200",
            "2026-03-01T00:00:01Z,a,110",
            "2026-03-01T00:00:01Z,b,210",
        )
    )
    assert ds["power"].values.tolist() == [[100, 110], [200, 210]]
    assert ds["meter"].values.tolist() == ["a", "b"]
    assert ds.attrs["interval"] == 1.0
    assert ds.attrs["complete"] is True
    assert ds.attrs["warnings"] == []
    registry.check(ds)


def test_base__meter_after_meter_gives_the_same():
    ds = power_csv.parse(
        csv(
            "2026-03-01T00:00:00Z,a,100",
            "2026-03-01T00:00:01Z,a,110",
            "2026-03-01T00:00:00Z,b,200",
            "2026-03-01T00:00:01Z,b,210",
        )
    )
    assert ds["power"].values.tolist() == [[100, 110], [200, 210]]
    assert ds.attrs["warnings"] == []


def test_base__meters_with_stamps_of_their_own_leave_nan():
    ds = power_csv.parse(csv("2026-03-01T00:00:00Z,a,100", "2026-03-01T00:00:01Z,b,200"))
    assert np.array_equal(ds["power"].values, [[100, np.nan], [np.nan, 200]], equal_nan=True)


def test_base__shuffled_rows_are_sorted_and_said():
    ds = power_csv.parse(
        csv("2026-03-01T00:00:02Z,a,3", "2026-03-01T00:00:00Z,a,1", "2026-03-01T00:00:01Z,a,2")
    )
    assert ds["power"].values.tolist() == [[1, 2, 3]]
    assert "1 readings are before earlier ones" in ds.attrs["warnings"][0]


@pytest.mark.parametrize(("rule", "watts"), [("mean", 15.0), ("first", 10.0), ("last", 20.0)])
def test_base__doubled_stamps_follow_the_rule(rule, watts):
    rows = csv("2026-03-01T00:00:00Z,a,10", "2026-03-01T00:00:00Z,a,20", "2026-03-01T00:00:01Z,a,30")
    ds = power_csv.parse(rows, duplicates=rule)
    assert ds["power"].values.tolist() == [[watts, 30.0]]
    assert "1 readings repeat the time stamp" in ds.attrs["warnings"][0]
    with pytest.raises(ReadError, match="1 doubled time stamps"):
        power_csv.parse(rows, duplicates="refuse")


def test_base__mean_of_doubled_stamps_leaves_blanks_out():
    ds = power_csv.parse(
        csv("2026-03-01T00:00:00Z,a,10", "2026-03-01T00:00:00Z,a,", "2026-03-01T00:00:00Z,a,30")
    )
    assert ds["power"].values.tolist() == [[20.0]]


def test_base__offset_moves_the_meters_clock():
    ds = power_csv.parse(csv("2026-03-01T00:00:00Z,a,10"), offset=-2.5)
    assert stamps(ds) == ["2026-02-28T23:59:57.500"]
    assert ds.attrs["clock_offset"] == -2.5


def test_base__options_that_do_not_exist_are_named():
    with pytest.raises(ReadError, match="unknown option 'timezone'; known: tz, date"):
        power_csv.parse(csv("2026-03-01T00:00:00Z,a,10"), timezone="UTC")
    with pytest.raises(ReadError, match="option duplicates='both' has no meaning; use one of mean, first"):
        power_csv.parse(csv("2026-03-01T00:00:00Z,a,10"), duplicates="both")


def test_base__declared_attributes_go_before_the_format():
    ds = power_csv.parse(csv("2026-03-01T00:00:00Z,a,10"), accuracy=0.02, location="rack inlet", interval=5)
    assert (ds.attrs["accuracy"], ds.attrs["location"], ds.attrs["interval"]) == (0.02, "rack inlet", 5)


def test_base__log_of_blanks_is_not_complete():
    ds = power_csv.parse(csv("2026-03-01T00:00:00Z,a,", "2026-03-01T00:00:01Z,a,N/A"))
    assert np.isnan(ds["power"].values).all()
    assert ds.attrs["complete"] is False
    assert "no reading with a value in the whole log" in ds.attrs["warnings"][-1]


def test_base__cut_line_is_not_used():
    whole = csv("2026-03-01T00:00:00Z,a,312.5", "2026-03-01T00:00:01Z,a,312.5")
    for cut in range(1, 7):  # down to "...,a,"; at one cut the text would read 3 W
        ds = power_csv.parse(whole[:-cut], "log.csv")
        assert ds["power"].values.tolist() == [[312.5]]
        assert ds.attrs["complete"] is False
        assert ds.attrs["warnings"][0].startswith("log.csv:3: the last line does not end")


def test_base__every_cut_is_read_or_refused_without_a_wrong_number():
    whole = csv(
        "2026-03-01T00:00:00Z,a,312.5", "2026-03-01T00:00:01Z,b,312.5", "2026-03-01T00:00:02Z,a,312.5"
    )
    found = []
    for size in range(len(whole)):
        try:
            ds = power_csv.parse(whole[:size])
        except ReadError:
            found.append([])
            continue
        values = ds["power"].values
        found.append(values[np.isfinite(values)].tolist())
    # The heading has 19 bytes and each line 29; of the last line the end is always missing.
    assert found == [[]] * (19 + 29) + [[312.5]] * 29 + [[312.5] * 2] * 29


def test_base__many_meters_without_common_stamps_are_rounded():
    rng = np.random.default_rng(5)
    rows = []
    for meter in range(40):
        offset = rng.uniform(0, 1)
        rows += [f"{1772323200 + s + offset:.6f},m{meter:02d},{100 + meter}" for s in range(1500)]
    ds = power_csv.parse(csv(*rows))
    # 60,000 stamps of their own would be a table of 2.4 million cells; 0.25 s are enough.
    assert ds.sizes["time"] <= 4 * 1502
    assert "stamps are rounded to 0.25 s" in ds.attrs["warnings"][0]
    assert np.nanmean(ds["power"].values[7]) == 107
    assert np.count_nonzero(np.isfinite(ds["power"].values)) == 60_000


HEAD_RAPL = "time,zone,energy_uj"


def test_base__counter_wrap_is_unwrapped_with_its_range():
    # 262143.328850 J is a common range; 100 J a second, the wrap between second 1 and 2.
    rng = 262_143_328_850
    counts = [rng - 150_000_000, rng - 50_000_000, 50_000_000, 150_000_000]
    rows = [f"{1772323200 + i},package-0,{c}" for i, c in enumerate(counts)]
    ds = rapl.parse(csv(f"# max_energy_range_uj={rng}", *rows, head=HEAD_RAPL))
    assert ds["power"].values[0, 1:].tolist() == pytest.approx([100, 100, 100])
    assert ds["energy_counter"].values[0].tolist() == pytest.approx([0, 100, 200, 300])
    assert "wrapped 1 times at 262143 J" in ds.attrs["warnings"][0]
    assert ds.attrs["reading"] == "interval mean"


def test_base__counter_reset_is_not_a_wrap():
    rng = 262_143_328_850
    rows = [
        f"{1772323200 + i},package-0,{c}"
        for i, c in enumerate([10**10, 10**10 + 10**8, 5 * 10**7, 15 * 10**7])
    ]
    ds = rapl.parse(csv(*rows, head=HEAD_RAPL), counter_range=rng * 1e-6)
    assert np.isnan(ds["power"].values[0, 2])
    assert ds["energy_counter"].values[0].tolist() == pytest.approx([0, 100, 100, 200])
    assert ds.attrs["complete"] is False
    assert "the counter goes back 1 times; it was reset" in ds.attrs["warnings"][0]


def test_base__counter_without_a_range_going_back_is_not_known():
    rows = [
        f"{1772323200 + i},package-0,{c}" for i, c in enumerate([100 * 10**6, 200 * 10**6, 0, 100 * 10**6])
    ]
    ds = rapl.parse(csv(*rows, head=HEAD_RAPL))
    assert np.isnan(ds["power"].values[0, 2])
    assert "reset or wrapped, its range is not known" in ds.attrs["warnings"][0]


def test_base__interval_longer_than_the_counter_lasts_is_not_known():
    rows = [f"{1772323200 + t},p,{c}" for t, c in ((0, 0), (1, 10**8), (3001, 2 * 10**8), (3002, 3 * 10**8))]
    ds = rapl.parse(csv(*rows, head=HEAD_RAPL), counter_range=262_143.0, max_power=200)
    assert np.isnan(ds["power"].values[0, 2])
    assert "1 intervals are longer than the counter's 262143 J last at 200 W" in ds.attrs["warnings"][0]


def test_base__blank_counter_is_spanned_by_the_next():
    rows = ["1772323200,p,0", "1772323201,p,", "1772323202,p,400000000"]
    ds = rapl.parse(csv(*rows, head=HEAD_RAPL))
    assert ds["power"].values[0, -1] == pytest.approx(200)


def test_base__engines_take_options(tmp_path):
    path = tmp_path / "pdu.csv"
    path.write_bytes(csv("2026-03-01 00:00:00,a,10", "2026-03-01 00:00:01,a,12"))
    ds = xr.open_dataset(path, engine="power_csv", tz="Europe/Berlin")
    assert stamps(ds)[0] == "2026-02-28T23:00:00.000"
    assert ds.attrs["time_zone"] == "Europe/Berlin"
    found = readers.open(path, tz="Europe/Berlin")
    assert found["power"].equals(ds["power"])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: data[:-3],
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.decode().encode("utf-16"),
        lambda data: data.replace(b"a,11", b'"a",11'),
        lambda data: data.replace(b"a,11", b"a,x11"),
        gzip.compress,
    ],
)
def test_base__a_file_gives_what_its_bytes_give(tmp_path, change):
    rows = [f"2026-03-01T00:{i:02d}:00Z,{meter},1{i}" for i in range(9) for meter in "ab"]
    path = tmp_path / "pdu.csv"
    path.write_bytes(change(csv(*rows)))
    data = path.read_bytes()
    whole = power_csv.parse(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, str(path))
    assert readers.open(path).identical(whole)
    last = whole["power"].values[1]
    assert last[np.isfinite(last)][-1] in (17, 18)  # 17 where the last line is cut
    assert whole["meter"].values.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("seconds", "median"), [((0, 1, 2, 4, 6), 1.5), ((0, 1, 2, 3, 7), 1), ((0, 5, 6, 8), 2)]
)
def test_base__interval_is_the_median_distance(seconds, median):
    ds = power_csv.parse(csv(*(f"{1772323200 + s},a,100" for s in seconds)))
    assert ds.attrs["interval"] == median
