"""ipmitool and FreeIPMI: blocks with the logger's or the controller's clock, sensors as CSV."""

import numpy as np
import pytest

from analysis.readers.power.formats import freeipmi, ipmitool


def block(watts, stamp="Sun Mar  1 10:00:00 2026", state="activated", unit="Watts"):
    return f"""
    Instantaneous power reading:                   {watts} {unit}
    Minimum during sampling period:                132 Watts
    Maximum during sampling period:                384 Watts
    Average power reading over sample period:      204 Watts
    IPMI timestamp:                           {stamp}
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   {state}

"""


def seconds(ds):
    return [str(t)[11:19] for t in ds["time"].values]


def test_ipmitool__controllers_clock():
    text = block(240) + block(250, "Sun Mar  1 10:00:05 2026")
    ds = ipmitool.parse(text.encode(), "x", tz="UTC")
    assert ds["power"].values.tolist() == [[240, 250]]
    assert seconds(ds) == ["10:00:00", "10:00:05"]
    assert ds.attrs["interval"] == 5
    assert ds.attrs["warnings"] == []


@pytest.mark.parametrize(
    "stamp", ["03/01/2026 10:00:00 UTC", "03/01/2026 10:00:00 AM UTC", "2026-03-01T10:00:00Z"]
)
def test_ipmitool__spellings_of_newer_versions(stamp):
    assert seconds(ipmitool.parse(block(240, stamp).encode())) == ["10:00:00"]


def test_ipmitool__stamp_and_sampling_period_on_one_line():
    text = block(240, "03/01/2026 10:00:00 AM EST    Sampling period:   00000005 Seconds.")
    assert seconds(ipmitool.parse(text.encode(), tz="America/New_York")) == ["15:00:00"]


def test_ipmitool__loggers_clock_goes_before_the_controllers():
    text = (
        "2026-03-01T12:00:00Z" + block(240) + "2026-03-01T12:00:07Z" + block(250, "Thu Jan  1 00:00:07 1970")
    )
    ds = ipmitool.parse(text.encode())
    assert seconds(ds) == ["12:00:00", "12:00:07"]
    assert ds.attrs["complete"] is True


def test_ipmitool__controller_of_1970_has_no_clock():
    text = block(240, "Thu Jan  1 00:00:00 1970") + block(250)
    ds = ipmitool.parse(text.encode(), "x", tz="UTC")
    assert ds["power"].values.tolist() == [[250]]
    assert ds.attrs["complete"] is False
    assert "x:2: the controller's clock is not set (1970)" in ds.attrs["warnings"][0]


def test_ipmitool__deactivated_reading_is_blank():
    ds = ipmitool.parse(
        (block(212, state="deactivated") + block(10, "Sun Mar  1 10:00:01 2026")).encode(), tz="UTC"
    )
    assert np.isnan(ds["power"].values[0, 0])
    assert ds["power"].values[0, 1] == 10
    assert "power reading is deactivated" in ds.attrs["warnings"][0]


def test_ipmitool__nodes_by_the_prefix_of_pdsh():
    text = "".join(
        f"{n}: {line}\n" for n, w in (("n01", 100), ("n02", 200)) for line in block(w).splitlines() if line
    )
    ds = ipmitool.parse(text.encode(), tz="UTC")
    assert ds["meter"].values.tolist() == ["n01", "n02"]
    assert ds["power"].values.tolist() == [[100], [200]]


def test_ipmitool__one_line_per_reading_with_the_stamp_first():
    line = "2026-03-01T10:00:0{} Instantaneous power reading: 24{} Watts\n"
    text = line.format("0Z", 0) + line.format("1Z", 1)
    ds = ipmitool.parse(text.encode())
    assert ds["power"].values.tolist() == [[240, 241]]


FREE = """Current Power                        : {watts} {unit}
Minimum Power over sampling duration : 48 watts
Maximum Power over sampling duration : 361 watts
Average Power over sampling duration : 157 watts
Time Stamp                           : {stamp}
Statistics reporting time period     : 1473439000 milliseconds
Power Measurement                    : {state}
"""


def test_freeipmi__blocks_of_ipmi_dcmi():
    text = FREE.format(watts=164, unit="Watts", stamp="12/29/2026 - 08:58:00", state="Active")
    text += FREE.format(watts=165, unit="watts", stamp="12/29/2026 - 08:58:02", state="Active")
    text += FREE.format(watts=0, unit="watts", stamp="12/29/2026 - 08:58:04", state="Not Available")
    ds = freeipmi.parse(text.encode(), tz="UTC")
    assert ds["power"].values[0, :2].tolist() == [164, 165]
    assert np.isnan(ds["power"].values[0, 2])
    assert str(ds["time"].values[0])[:19] == "2026-12-29T08:58:00"


def test_freeipmi__sensors_after_the_loggers_stamp():
    one = "ID,Name,Type,Reading,Units,Event\n17,FAN1,Fan,1400.00,RPM,'OK'\n"
    one += "40,Pwr Consumption,Current,{},W,'OK'\n41,PSU2,Current,N/A,W,N/A\n"
    text = "2026-03-01T10:00:00Z\n" + one.format("182.00") + "2026-03-01T10:00:02Z\n" + one.format("185.50")
    ds = freeipmi.parse(text.encode())
    assert ds["meter"].values.tolist() == ["Pwr Consumption", "PSU2"]
    assert ds["power"].values[0].tolist() == [182.0, 185.5]
    assert np.isnan(ds["power"].values[1]).all()


def test_freeipmi__sensors_with_a_time_column_and_doubled_stamps():
    text = (
        "Time,Name,Reading,Units\n2026-03-01 10:00:00,Pwr,100,Watts\n2026-03-01 10:00:00,Pwr,110,watts\n"
        "2026-03-01 10:00:02,Pwr,,watts\n"
    )
    ds = freeipmi.parse(text.encode(), tz="UTC")
    assert ds["power"].values[0, 0] == 105
    assert np.isnan(ds["power"].values[0, 1])


def test_ipmitool__the_loggers_date_in_cet_agrees_with_the_controllers_clock_in_utc():
    block = """\
Tue Jul 11 14:22:41 CEST 2023

    Instantaneous power reading:                   244 Watts
    IPMI timestamp:                           Tue Jul 11 12:22:41 2023
    Sampling period:                          00000005 Seconds.
    Power reading state is:                   activated

"""
    winter = block.replace("14:22:41 CEST", "13:22:41 CET").replace("Jul 11", "Jan 10")
    ds = ipmitool.parse((winter + block).encode())
    own = ["2023-01-10T12:22:41", "2023-07-11T12:22:41"]
    assert ds["time"].values.astype("M8[s]").astype(str).tolist() == own


# `ipmitool sdr`, `sdr elist` and `sensor`, of a loop that prints the date before each.
SENSORS = (
    "PS1 Input Power  | 120 Watts         | ok\nPwr Consumption  | {} Watts         | ok\n",
    "Inlet Temp       | 04h | ok  |  7.1 | 23 degrees C\nPwr Consumption  | 77h | ok  |  7.1 | {} Watts\n",
    "CPU Usage        | 0.000      | percent    | ok    | na        | na\n"
    "Pwr Consumption  | {}.000    | Watts      | ok    | na        | na\n",
)


@pytest.mark.parametrize("text", SENSORS)
def test_ipmitool__sensors_in_a_loop(text):
    log = f"2026-03-01T10:00:00Z\n{text.format(230)}2026-03-01T10:00:05Z\n{text.format(235)}".encode()
    assert ipmitool.sniff(log, "x")
    ds = ipmitool.parse(log)
    power = dict(zip(ds["meter"].values.tolist(), ds["power"].values.tolist(), strict=True))
    assert power.pop("Pwr Consumption") == [230, 235]
    assert ds.attrs["apart"] == [*power]  # a supply is a part of what the node takes
    assert seconds(ds) == ["10:00:00", "10:00:05"]
    assert not ipmitool.sniff(text.format(230).encode(), "x")  # once, it is no log


def test_ipmitool__sensors_with_the_time_before_them():
    log = "1772359200 Pwr Consumption  | 230 Watts  | ok\n1772359205 Pwr Consumption  | 235 Watts  | ok\n"
    assert ipmitool.sniff(log.encode(), "x")
    assert seconds(ipmitool.parse(log.encode())) == ["10:00:00", "10:00:05"]
