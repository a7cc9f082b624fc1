"""Time stamps: spellings, zones, summer time, midnight, twelve-hour clocks."""

import numpy as np
import pytest

from analysis.base.errors import ReadError
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import NAT, MeterLog


def read(*texts, order=None, **options):
    log = MeterLog(b"", "log", options)
    ns = Stamps(log, order=order).utc(list(texts), range(1, len(texts) + 1))
    return [str(np.datetime64(int(t), "ns"))[:23] if t != NAT else None for t in ns], log.faults


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T10:00:05.250Z",
        "2026-03-01 10:00:05,250 UTC",
        "2026/03/01 10:00:05.250 GMT",
        "2026-03-01T11:00:05.250+01:00",
        "2026-03-01T04:30:05.250-0530",
        "1772359205.25",
        "1772359205250",
        "1772359205250000",
        "1772359205250000000",
        "03-01-2026 10:00:05.250 UTC",
    ],
)
def test_clock__spellings_of_one_instant(text):
    assert read(text, order="mdy")[0] == ["2026-03-01T10:00:05.250"]


@pytest.mark.parametrize(
    "text",
    [
        "Sun Mar  1 22:00:05 2026",
        "Sun Mar  1 22:00:05 UTC 2026",
        "Sun Mar  1 10:00:05 PM UTC 2026",
        "Sun 01 Mar 2026 10:00:05 PM UTC",
        "01-Mar-2026 22:00:05",
        "Mar 1, 2026 22:00:05",
        "03/01/2026 - 22:00:05",
        "03/01/2026 10:00:05 PM UTC",
        "3/1/26 10:00:05 pm",
        "03/01/2026 - 22:0:5",
        '"2026-03-01 22:00:05"',
    ],
)
def test_clock__dates_in_words_and_twelve_hours(text):
    assert read(text, order="mdy", tz="UTC")[0] == ["2026-03-01T22:00:05.000"]


def test_clock__noon_and_midnight_of_twelve_hours():
    found, _ = read("03/01/2026 12:00:00 AM UTC", "03/01/2026 12:00:00 PM UTC", order="mdy")
    assert found == ["2026-03-01T00:00:00.000", "2026-03-01T12:00:00.000"]
    assert read("03/01/2026 13:00:00 PM UTC", order="mdy")[0] == [None]


def test_clock__naive_stamps_are_utc_with_a_warning():
    found, faults = read("2026-03-01 10:00:00")
    assert found == ["2026-03-01T10:00:00.000"]
    assert "local times without a zone; taken as UTC; pass tz=" in str(faults.faults[0])


def test_clock__summer_time_of_a_zone():
    found, _ = read("2026-01-15 12:00:00", "2026-07-15 12:00:00", tz="Europe/Berlin")
    assert found == ["2026-01-15T11:00:00.000", "2026-07-15T10:00:00.000"]


def test_clock__doubled_hour_is_told_by_order():
    # 25 October 2026: 02:00-03:00 runs twice in Berlin, first at UTC+2 and then at UTC+1.
    texts = [
        f"2026-10-25 {t}" for t in ("01:30:00", "02:30:00", "02:59:59", "02:00:00", "02:30:00", "03:30:00")
    ]
    found, faults = read(*texts, tz="Europe/Berlin")
    hours = ["23:30:00", "00:30:00", "00:59:59", "01:00:00", "01:30:00", "02:30:00"]
    assert [f[11:19] for f in found] == hours
    assert "order separates the two" in str(faults.faults[0])


def test_clock__doubled_hour_of_two_meters_one_after_the_other():
    once = [f"2026-10-25 {t}" for t in ("01:30:00", "02:30:00", "02:00:00", "02:45:00", "03:30:00")]
    found, _ = read(*once, *once, tz="Europe/Berlin")
    assert found[:5] == found[5:]
    assert [f[11:16] for f in found[:5]] == ["23:30", "00:30", "01:00", "01:45", "02:30"]


def test_clock__doubled_hour_seen_once_is_said():
    found, faults = read("2026-10-25 01:59:00", "2026-10-25 02:30:00", tz="Europe/Berlin")
    assert found[1] == "2026-10-25T00:30:00.000"
    assert "is logged once; taken as the first pass" in str(faults.faults[0])
    found, faults = read("2026-10-25 02:30:00", "2026-10-25 03:01:00", tz="Europe/Berlin")
    assert found == ["2026-10-25T01:30:00.000", "2026-10-25T02:01:00.000"]
    assert "taken as the second pass" in str(faults.faults[0])


def test_clock__hour_that_does_not_exist_is_refused():
    with pytest.raises(ReadError, match=r"log:2: 2026-03-29 02:30:00 does not exist in Europe/Berlin"):
        read("2026-03-29 01:59:59", "2026-03-29 02:30:00", tz="Europe/Berlin")


def test_clock__abbreviation_needs_a_zone_and_tells_the_pass():
    with pytest.raises(ReadError, match="the abbreviation 'EDT' names no zone; pass tz="):
        read("10/08/2026 06:02:12 PM EDT", order="mdy")
    found, _ = read(
        "11/01/2026 01:30:00 AM EDT", "11/01/2026 01:30:00 AM EST", order="mdy", tz="America/New_York"
    )
    assert found == ["2026-11-01T05:30:00.000", "2026-11-01T06:30:00.000"]
    with pytest.raises(ReadError, match="'CEST' is not what America/New_York calls"):
        read("10/08/2026 06:02:12 PM CEST", order="mdy", tz="America/New_York")


def test_clock__day_and_month_are_found_or_asked_for():
    assert read("03/04/2026 10:00:00", "13/04/2026 10:00:00", tz="UTC")[0][0][:10] == "2026-04-03"
    assert read("03/04/2026 10:00:00", "03/14/2026 10:00:00", tz="UTC")[0][0][:10] == "2026-03-04"
    assert read("03.04.2026 10:00:00", tz="UTC")[0][0][:10] == "2026-04-03"
    assert read("03/04/2026 10:00:00", tz="UTC", date_order="mdy")[0][0][:10] == "2026-03-04"
    with pytest.raises(ReadError, match="log:1: '03/04/2026 10:00:00' may be day or month first"):
        read("03/04/2026 10:00:00")


def test_clock__times_without_a_date_pass_midnight():
    found, _ = read("23:59:59", "00:00:00", "12:00:00", "11:00:00", tz="UTC", date="2026-03-01")
    assert [f[:19] for f in found] == [
        "2026-03-01T23:59:59",
        "2026-03-02T00:00:00",
        "2026-03-02T12:00:00",
        "2026-03-02T11:00:00",
    ]
    found, faults = read("10:00:00", tz="UTC")
    assert found == ["1970-01-01T10:00:00.000"]
    assert "pass date='YYYY-MM-DD'" in str(faults.faults[0])


def test_clock__stamps_that_cannot_be_read_are_named():
    found, faults = read("2026-03-01T10:00:00Z", "yesterday", "2026-02-30T10:00:00Z", "2026-03-01T25:61:00Z")
    assert found[1:] == [None, None, None]
    assert [fault.line for fault in faults.faults] == [2, 3, 4]
    assert faults.complete is False


def test_clock__zone_that_does_not_exist_is_refused():
    with pytest.raises(ReadError, match="no time zone is called 'Europe/Bern'"):
        read("2026-03-01 10:00:00", tz="Europe/Bern")
