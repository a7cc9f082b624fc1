"""Logs as they come back from the field: every oddity is read right or refused by name."""

import re

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError

HEAD = "time,meter,power_W\n"


def read(text, **options):
    return readers.parse(text if isinstance(text, bytes) else text.encode(), "log", **options)


def watts(ds):
    return ds["power"].values[0].tolist()


def hours(ds):
    return [str(t)[11:16] for t in ds["time"].values]


@pytest.mark.parametrize(
    ("tz", "day", "utc"),
    [
        ("Europe/Berlin", "2026-10-25", ["23:30", "00:30", "01:30", "02:30"]),
        ("America/New_York", "2026-11-01", ["04:30", "05:30", "06:30", "07:30"]),
    ],
)
@pytest.mark.parametrize("minutes", [30, 60])
def test_torture__end_of_summer_time(tz, day, utc, minutes):
    # Berlin doubles 02:00-03:00, New York 01:00-02:00; a reading every half or whole hour.
    first = 1 if tz == "Europe/Berlin" else 0
    local = [
        f"{first + h:02d}:{m:02d}"
        for h in (0, 1, 1, 2)
        for m in range(30 if minutes == 60 else 0, 60, minutes)
    ]
    ds = read(HEAD + "".join(f"{day} {t}:00,a,{i}\n" for i, t in enumerate(local)), tz=tz)
    assert watts(ds) == list(range(len(local)))
    assert (np.diff(ds["time"].values) == np.timedelta64(minutes, "m")).all()
    assert [h for h in hours(ds) if h.endswith(":30")] == utc


@pytest.mark.parametrize(
    ("tz", "day", "hour"), [("Europe/Berlin", "2026-03-29", 2), ("America/New_York", "2026-03-08", 2)]
)
def test_torture__begin_of_summer_time(tz, day, hour):
    text = HEAD + f"{day} {hour - 1:02d}:59:00,a,1\n\n{day} {hour + 1:02d}:00:00,a,2\n"
    assert np.diff(read(text, tz=tz)["time"].values) == np.timedelta64(60, "s")
    with pytest.raises(ReadError, match=rf"log:4: {day} 02:30:00 does not exist in {tz}"):
        read(text.replace(f"{hour + 1:02d}:00:00", "02:30:00"), tz=tz)


def test_torture__offset_in_the_stamps_changes():
    ds = read(HEAD + "2026-10-25T02:59:59+02:00,a,1\n2026-10-25T02:00:00+01:00,a,2\n")
    assert np.diff(ds["time"].values) == np.timedelta64(1, "s")


def test_torture__twelve_hours_over_noon_and_midnight():
    stamps = ("11:59:59 AM", "12:00:00 PM", "11:59:59 PM", "12:00:00 AM")
    ds = read(
        "Time,Power (W)\n" + "".join(f"{s},{i}\n" for i, s in enumerate(stamps)), date="2026-03-01", tz="UTC"
    )
    found = [str(t)[8:19] for t in ds["time"].values]
    assert found == ["01T11:59:59", "01T12:00:00", "01T23:59:59", "02T00:00:00"]


@pytest.mark.parametrize("day", ["", "2026-03-01 "])
def test_torture__twelve_hours_without_am_and_pm_are_refused(day):
    stamps = ("11:59:59", "12:30:00", "12:59:59", "01:00:00", "02:00:00")
    text = "Time,Power (W)\n" + "".join(f"{day}{s},{i}\n" for i, s in enumerate(stamps))
    with pytest.raises(
        ReadError, match="log:5: 01:00:00 after hour 12: a twelve-hour clock without am and pm"
    ):
        read(text, date="2026-03-01", tz="UTC")


def test_torture__two_digit_years_are_asked_for():
    text = HEAD + "26-03-01 10:00:00,a,1\n"
    with pytest.raises(
        ReadError, match="log:2: '26-03-01 10:00:00' may be day or year first; pass date_order="
    ):
        read(text, tz="UTC")
    assert str(read(text, tz="UTC", date_order="ymd")["time"].values[0])[:10] == "2026-03-01"
    assert str(read(text, tz="UTC", date_order="dmy")["time"].values[0])[:10] == "2001-03-26"


def test_torture__decimal_comma_between_commas_is_no_wrong_number():
    text = "time,power_W\n2026-03-01T00:00:00Z,12,5\n"
    with pytest.raises(ReadError, match=r"log:2: 3 cells under 2 headings \(a decimal comma\?\); no row"):
        read(text)
    ds = read(text.replace("12,5", "13") + "2026-03-01T00:00:01Z,12,5\n2026-03-01T00:00:02Z,14,\n")
    assert watts(ds) == [13, 14]
    assert ds.attrs["complete"] is False
    assert watts(read(text.replace("12,5", '"12,5"'))) == [12.5]
    assert watts(read(text.replace("12,5", '"1,234.5"'))) == [1234.5]


def test_torture__mapped_columns_need_no_engine():
    ds = read(
        "Zeit;Leistung\n01.03.2026 10:00:00;1.234,5\n",
        columns={"time": "Zeit", "power": "Leistung"},
        tz="UTC",
    )
    assert watts(ds) == [1234.5]


@pytest.mark.parametrize("hole", ["\0" * 7 + "\n", "\0" * 4096])
def test_torture__holes_of_a_crashed_writer(hole):
    row = "2026-03-01T00:00:0{0}Z,a,{0}\n"
    ds = read(HEAD + row.format(1) + hole + row.format(2))
    assert watts(ds) == [1, 2]
    assert ds.attrs["complete"] is False
    assert f"log:3: {hole.count(chr(0))} NUL bytes" in ds.attrs["warnings"][0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_torture__line_ends_and_marks(end, mark):
    text = (HEAD + "2026-03-01T00:00:00Z,a,5\n2026-03-01T00:00:01Z,a,6\n").replace("\n", end)
    assert watts(read(mark + text.encode())) == [5, 6]


def test_torture__blanks_of_meters():
    cells = ("N/A", "[Not Supported]", "[Unknown Error]", "-", "null", "<not counted>", "", "_", "inf")
    ds = read(HEAD + "".join(f"2026-03-01T00:00:{i:02d}Z,a,{c}\n" for i, c in enumerate((*cells, "5"))))
    assert np.isnan(watts(ds)[:-1]).all()
    assert watts(ds)[-1] == 5
    assert ds.attrs["complete"] is True


@pytest.mark.parametrize("largest", [2**32, 2**60 - 1, 262_143_328_850])
def test_torture__counters_wrap_at_any_width(largest):
    values = [largest - 150_000_000, largest - 50_000_000, 50_000_000, 150_000_000]
    rows = "".join(f"{1772323200 + i},p,{v}\n" for i, v in enumerate(values))
    ds = read(f"# max_energy_range_uj={largest}\ntime,zone,energy_uj\n{rows}")
    assert watts(ds)[1:] == pytest.approx([100, 100, 100], rel=1e-6)
    assert f"wrapped 1 times at {largest * 1e-6:g} J" in ds.attrs["warnings"][0]
    reset = read(f"# max_energy_range_uj=262143328850\ntime,zone,energy_uj\n{rows}1772323204,p,0\n")
    assert np.isnan(watts(reset)[4])
    assert reset.attrs["complete"] is False


GPUS = "timestamp, power.draw [W]\n" + "".join(
    f"2026/03/01 10:00:0{s}.{ms}, {60 + 10 * i}.00 W\n"
    for s in range(4)
    for i, ms in enumerate(("100", "103"))
)


def test_torture__gpus_without_their_index_are_refused():
    with pytest.raises(ReadError, match="log:1: rows of several GPUs without a column that identif"):
        read(GPUS, tz="UTC")
    with pytest.raises(ReadError, match="several GPUs"):
        read(GPUS.replace(".103", ".100"), tz="UTC")
    late = "2026/03/01 10:09:00.100, 60.00 W\n2026/03/01 10:09:01.100, 60.00 W\n"
    single = GPUS.splitlines()[0] + "\n" + "".join(f"{r}\n" for r in GPUS.splitlines()[1::2]) + late
    assert watts(read(single, tz="UTC")) == [60.0] * 6


@pytest.mark.parametrize(
    "text",
    [
        "RAM 2448/7860MB (lfb 1x2MB) CPU [10%@1190] VDD_IN 4056/4056 VDD_CPU_GPU_CV 1207/1207\n",
        # with nounits nothing says which number is the power
        "2026/03/01 10:00:00.100, 0, 61.50\n",
    ],
)
def test_torture__other_tools_are_refused_with_their_first_line(text):
    with pytest.raises(ReadError, match=f"has no known format: .*, first line '{re.escape(text[:20])}"):
        read(text)
