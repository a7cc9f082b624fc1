"""CSV of PDUs and home-made loggers: columns found or declared, units, decimal commas, damage."""

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.power.formats import power_csv
from analysis.readers.power.headings import of_heading
from analysis.readers.text import plain, quantity


def parse(text, **options):
    return power_csv.parse(text.encode(), "pdu.csv", **options)


def table(ds):
    return {str(m): ds["power"].values[i].tolist() for i, m in enumerate(ds["meter"].values)}


def test_power_csv__watts_below_zero_are_named_and_blank():
    rows = "".join(f"2026-01-01T00:00:0{at}Z,{watts}\n" for at, watts in enumerate((250, -250, -1, 251)))
    ds = parse(f"time,node1 (W)\n{rows}")
    (watts,) = table(ds).values()
    assert watts[::3] == [250.0, 251.0]
    assert np.isnan(watts[1:3]).all()
    assert ds.attrs["complete"] is False
    found = "shows -250 W at 2026-01-01T00:00:01 and 1 more such readings; left blank: look at the meter"
    assert [one for one in ds.attrs["warnings"] if one.endswith(found)]


@pytest.mark.parametrize(
    ("cell", "value", "unit"),
    [
        ("12 W", 12.0, "W"),
        ("0,00 Joules", 0.0, "Joules"),
        ("1.234,5 W", 1234.5, "W"),
        ("1,234.5", 1234.5, ""),
        ("67.03 mW", 67.03, "mW"),
        ("3.1e2", 310.0, ""),
        ("12.5.3", np.nan, "?"),
        ("[N/A]", np.nan, ""),
        ("<not counted>", np.nan, ""),
        ("cut", np.nan, "?"),
    ],
)
def test_units__cells(cell, value, unit):
    found, printed = quantity(cell)
    assert printed == unit
    assert found == value or (np.isnan(found) and np.isnan(value))


def test_units__one_comma_is_thousands_or_decimal():
    assert plain("1,234") == 1234
    assert plain("1,234", decimal_comma=True) == 1.234
    assert plain("0,123") == 0.123
    assert plain("12,5") == 12.5


def test_units__headings():
    assert [of_heading(h) for h in ("power.draw [W]", "Power (kW)", "energy_uj", "PkgWatt")] == [
        "W",
        "kW",
        "uj",
        "",
    ]


def test_power_csv__wide_columns_are_meters_with_their_units():
    ds = parse(
        "Timestamp,rack1 Power (kW),rack2 Power (W)\n"
        "2026-03-01T00:00:00Z,1.5,700\n2026-03-01T00:01:00Z,1.6,710\n"
    )
    assert table(ds) == {"rack1 Power (kW)": [1500, 1600], "rack2 Power (W)": [700, 710]}
    assert ds.attrs["interval"] == 60


def test_power_csv__column_map_with_names_and_scale():
    text = "when;sysUpTime;pdu1.outlet3;pdu1.outlet4\n"
    text += "2026-03-01 00:00:00;17;1234;1300\n2026-03-01 00:00:10;18;1240;\n"
    columns = {"time": "when", "power": {"pdu1.outlet3": "node01", "pdu1.outlet4": "node02"}, "unit": 0.1}
    ds = parse(text, columns=columns, tz="UTC")
    assert table(ds)["node01"] == pytest.approx([123.4, 124.0])
    assert table(ds)["node02"][0] == pytest.approx(130.0)
    assert np.isnan(table(ds)["node02"][1])


def test_power_csv__file_without_headings_by_position():
    ds = parse("1772323200,n1,100\n1772323201,n1,101\n", columns={"time": 0, "meter": 1, "power": 2})
    assert table(ds) == {"n1": [100, 101]}


def test_power_csv__declared_column_that_is_missing_is_refused():
    with pytest.raises(ReadError, match=r"pdu.csv:1: no columns of time and power in 'time,watts'"):
        parse("time,watts\n1772323200,1\n", columns={"power": "Load"})


def test_power_csv__decimal_commas_and_units_in_cells():
    ds = parse(
        "Datum;Zeit\n\nDate;Time;Outlet;Power\n"
        "01.03.2026;10:00:00;A1;12,5 W\n01.03.2026;10:00:01;A1;0,0131 kW\n",
        tz="Europe/Berlin",
    )
    assert table(ds)["A1"] == pytest.approx([12.5, 13.1])
    assert str(ds["time"].values[0])[:19] == "2026-03-01T09:00:00"


def test_power_csv__decimal_commas_without_units_are_fast_and_right():
    ds = parse("time;power_W\n2026-03-01T00:00:00Z;1,234\n2026-03-01T00:00:01Z;12,5\n")
    assert ds["power"].values.tolist() == [[1.234, 12.5]]


def test_power_csv__rows_of_other_units_are_other_sensors():
    ds = parse(
        "time,sensor,power,units\n"
        "1772323200,PSU1,100,Watts\n1772323200,FAN1,4000,RPM\n1772323201,PSU1,110,watts\n"
    )
    assert table(ds) == {"PSU1": [100, 110]}


def test_power_csv__apparent_power_is_no_power():
    ds = parse("time,power\n1772323200,100 W\n1772323201,120 VA\n")
    assert np.isnan(ds["power"].values[0, 1])
    assert "pdu.csv:3: 120 VA is apparent power, not power" in ds.attrs["warnings"][0]


def test_power_csv__repeated_headings_comments_and_short_rows():
    ds = parse(
        "# logger 3\ntime,meter,watts\n"
        "1772323200,a,1\ntime,meter,watts\n\n# restarted\n1772323201,a\n1772323202,a,3\n"
    )
    assert table(ds) == {"a": [1, 3]}
    assert ds.attrs["complete"] is False
    assert ds.attrs["warnings"] == ["pdu.csv:7: 2 of 3 columns; the row is not used"]


def test_power_csv__garbled_cell_is_named_with_its_line():
    ds = parse("time,meter,watts\n1772323200,a,1\n1772323201,a,#!x\n1772323202,a,3\n")
    assert np.isnan(ds["power"].values[0, 1])
    assert ds.attrs["warnings"] == ["pdu.csv:3: a cell that is no number; the reading is left blank"]


def test_power_csv__garbled_stamp_is_named_with_its_line():
    ds = parse("time,meter,watts\n1772323200,a,1\nxx,a,2\n1772323202,a,3\n")
    assert table(ds) == {"a": [1, 3]}
    assert ds.attrs["warnings"] == ["pdu.csv:3: no time stamp: 'xx'; row not used"]


def test_power_csv__statistics_beside_the_reading_are_left_out():
    ds = parse("timestamp,power_w,min_power_w,max_power_w,power_limit\n1772323200,100,50,150,700\n")
    assert ds["power"].values.tolist() == [[100]]


def test_power_csv__power_factor_is_no_power():
    ds = parse("time,Power Factor,Active Power [W],PF\n1772323200,0.99,100,0.98\n")
    assert ds["power"].values.tolist() == [[100]]


def test_power_csv__energy_counter_in_kwh():
    ds = parse("time,Energy (kWh)\n1772323200,10.0\n1772326800,10.5\n")
    assert ds["power"].values[0, 1] == pytest.approx(500.0)
    assert ds["energy_counter"].values[0].tolist() == pytest.approx([0, 1.8e6])


def test_power_csv__utf16_of_powershell_is_read():
    text = "time,watts\r\n1772323200,100\r\n1772323201,101\r\n"
    ds = power_csv.parse(text.encode("utf-16"))
    assert ds["power"].values.tolist() == [[100, 101]]


def test_power_csv__fast_and_slow_ways_agree(monkeypatch):
    text = "time,node,power_mW,other\n" + "".join(
        f"2026-03-01 00:00:{s:02d}.5,n{m},{1000 * s + m},x\n" for s in range(30) for m in range(3)
    )
    fast = parse(text, tz="Europe/Berlin")
    monkeypatch.setattr("analysis.readers.power.csv._typed", lambda *_: None)
    slow = parse(text, tz="Europe/Berlin")
    assert fast.identical(slow)
    assert fast["power"].values[2, 29] == pytest.approx(29.002)


def test_power_csv__epoch_with_fraction_keeps_microseconds():
    ds = parse("ts,watts\n1772323200.123456,1\n1772323201.000001,2\n")
    assert ds["time"].values.astype(np.int64).tolist() == [1772323200123456000, 1772323201000001000]


def test_power_csv__sniff_wants_time_power_and_stamps():
    assert power_csv.sniff(b"time,watts\n1772323200,1\n", "")
    assert not power_csv.sniff(b"time,watts\nsoon,1\n", "")
    assert not power_csv.sniff(b"name,power\nHulk,9000\n", "")
    assert not power_csv.sniff(b"Time on the clock, power to the people\nall of it, now\n", "")


def test_power_csv__row_without_a_meter_is_kept():
    ds = parse("time,meter,power_W\n2026-03-01T00:00:00Z,a,1\n2026-03-01T00:00:00Z,,2\n")
    assert table(ds) == {"a": [1], "meter": [2]}


def test_power_csv__zone_in_the_heading():
    ds = parse("Time (UTC),Power [W]\n2026-03-01 00:00:00,5\n")
    assert ds.attrs["warnings"] == []


def test_power_csv__milliwatts_and_foreign_units_in_headings():
    ds = parse("ts,device,power_mw,Power (VA),Power (%),Apparent power [VA]\n1772323200,a,5000,7,3,7\n")
    assert table(ds) == {"a": [5]}


def test_power_csv__doubled_hour_is_the_same_both_ways(monkeypatch):
    # Berlin leaves summer time at 01:00 UTC on 25 October 2026; a row a minute, two outlets.
    local = [f"{h:02d}:{m:02d}:00" for h in (1, 2, 2, 3) for m in range(60)]
    text = "time,outlet,power_W\n" + "".join(
        f"2026-10-25 {t},{o},{i}\n" for i, t in enumerate(local) for o in "ab"
    )
    fast = parse(text, tz="Europe/Berlin")
    assert (np.diff(fast["time"].values) == np.timedelta64(60, "s")).all()
    assert str(fast["time"].values[0])[:19] == "2026-10-24T23:00:00"
    monkeypatch.setattr("analysis.readers.power.csv._typed", lambda *_: None)
    assert parse(text, tz="Europe/Berlin").identical(fast)


def test_power_csv__epoch_that_turns_fractional_is_read():
    ds = parse("ts,watts\n1772323200,1\n1772323201.5,2\n")
    assert ds["time"].values.astype(np.int64).tolist() == [1772323200 * 10**9, 17723232015 * 10**8]


def test_power_csv__quantities_with_a_column_of_values():
    # The table of Grid'5000's kwollect: only powers count, each a meter.
    ds = parse(
        ",timestamp,device_id,metric_id,value\n"
        "0,2026-03-01T00:00:00Z,n1,bmc_node_power_watt,900.0\n1,2026-03-01T00:00:00Z,n1,wattmetre_power_watt,1018.5\n"
        "2,2026-03-01T00:00:00Z,n1,bmc_cpu_temp_celsius,40\n3,2026-03-01T00:00:01Z,n1,wattmetre_power_watt,1020.5\n"
    )
    assert table(ds)["n1/wattmetre_power_watt"] == [1018.5, 1020.5]
    assert set(table(ds)) == {"n1/wattmetre_power_watt", "n1/bmc_node_power_watt"}


SOURCES = "timestamp,target,power,scope,socket,formula\n" + "".join(
    f"2026-03-01T00:00:0{s}Z,{t},{p + 1 + int(k)},{c},{k},F_{c}\n"
    for s in range(3)
    for t, p in (("rapl", 60), ("idle", 20))
    for c in ("cpu", "dram")
    for k in "01"
)


def test_power_csv__columns_that_tell_rows_of_a_stamp_apart_name_the_meter(monkeypatch):
    ds = parse(SOURCES)
    assert table(ds)["1/rapl/cpu"] == [62.0] * 3
    assert table(ds)["0/idle/dram"] == [21.0] * 3
    assert ds.sizes["meter"] == 8
    assert ds.attrs["warnings"] == [
        "pdu.csv:1: column 'target' separates rows of one time stamp; it becomes part of the meter's name",
        "pdu.csv:1: column 'scope' separates rows of one time stamp; it becomes part of the meter's name",
    ]
    monkeypatch.setattr("analysis.readers.power.csv._typed", lambda *_: None)
    assert parse(SOURCES).identical(ds)


def test_power_csv__a_measurement_beside_doubled_stamps_is_no_label():
    # A temperature of few values that often differs within a second, and one that always does.
    text = "time,power_W,temp,fan\n" + "".join(
        f"{1772323200 + i // 2},{100 + i % 2},{40 + i // 3 % 2},{30 + i / 10}\n" for i in range(40)
    )
    ds = parse(text)
    assert table(ds) == {"meter": [100.5] * 20}
    assert "20 readings repeat the time stamp of the one before; averaged" in ds.attrs["warnings"][0]


def test_power_csv__elapsed_time_counts_from_the_start():
    ds = parse("Time (ms),Power (W)\n0,100\n500,110\n1500.5,120\n", start="2026-03-01T10:00:00Z")
    assert table(ds) == {"meter": [100, 110, 120]}
    assert str(ds["time"].values[-1])[11:25] == "10:00:01.50050"
    assert power_csv.sniff(b"Time Elapsed ,Watts\n0,5\n1,6\n", "")


def test_power_csv__units_after_a_slash_and_days_first():
    text = (
        "DateTime;Voltage/V;Power Factor;Actual Consumption/W;Apparent Consumption/W\n"
        "16/06/2026 09:59;227.3;0.72;34.5;47.7\n16/06/2026 10:00;227.3;0.72;34.0;47.7\n"
    )
    assert power_csv.sniff(text.encode(), "")
    ds = parse(text, tz="Europe/Paris")
    assert ds["power"].values.tolist() == [[34.5, 34.0]]
    assert str(ds["time"].values[0])[:16] == "2026-06-16T07:59"


def test_power_csv__energies_of_intervals_are_no_counter():
    text = "time,energy_J\n" + "".join(f"{1772323200 + i},{20 + i % 3}\n" for i in range(30))
    with pytest.raises(ReadError, match="meter: the energy falls in 9 of 29 intervals; it is no counter"):
        parse(text)


@pytest.mark.parametrize("heading", ["gpu_index", "gpu", "index", "GPU ID", "uuid", "card"])
def test_power_csv__gpus_stamped_one_after_the_other_are_meters(heading):
    # A logger that names its columns itself: nvidia-smi stamps its GPUs some ms apart.
    rows = [(s, g) for s in range(4) for g in range(3)]
    text = f"timestamp,{heading},power_w,util_pct\n" + "".join(
        f"2026/03/01 10:00:0{s}.{100 + 3 * g}, {g}, {100 * (g + 1)}.00 W, 30 %\n" for s, g in rows
    )
    ds = parse(text, tz="UTC")
    assert ds["meter"].values.tolist() == ["0", "1", "2"]
    assert np.nanmax(ds["power"].values, axis=1).tolist() == [100, 200, 300]
    assert np.nanmin(ds["power"].values, axis=1).tolist() == [100, 200, 300]


@pytest.mark.parametrize("mark", ['"', '","', "\x00"])
def test_power_csv__a_file_of_one_long_line_is_refused_in_a_line(mark, tmp_path):
    """A cell beyond the limit of Python's csv (128 KiB), with a quotation mark."""
    path = tmp_path / "one.txt"
    path.write_text(f"a,{mark}{'x' * 200_000}")
    with pytest.raises(ReadError, match=r"^\S+one.txt: has no known format"):
        readers.open(path)
    with pytest.raises(ReadError, match=r"one.txt:1: no columns of time and power"):
        readers.open(path, engine="power_csv")


def test_power_csv__a_table_of_energies_and_lengths_of_runs_is_no_log():
    table = (
        b"Benchmark, Langage, Cores (J), Package (J), Time (seconds)\n"
        b"Binary-Trees, C, 23.54, 29.19, 6\nBinary-Trees, Rust, 40.45, 49.02, 10\n"
        b"Binary-Trees, Python, 190.25, 223.83, 61.8\nBinary-Trees, Erlang, 21.30, 26.25, 7.04\n"
    )
    assert not power_csv.sniff(table, "result.csv")
    assert power_csv.sniff(table.replace(b" 7.04", b" 70.4"), "result.csv")


def test_power_csv__grafana_names_columns_after_nodes_and_writes_units_into_cells():
    table = '"Time","node01","node02"\n2023-05-12 14:33:00,350 W,342 W\n2023-05-12 14:33:15,1.35 kW,343 W\n'
    ds = readers.parse(table.encode(), "panel.csv", tz="UTC")
    assert ds["meter"].values.tolist() == ["node01", "node02"]
    assert ds["power"].values.tolist() == [[350.0, 1350.0], [342.0, 343.0]]
    other = table.replace("342 W", "42 °C")
    assert readers.engines_of(other.encode(), "panel.csv") == []


def test_power_csv__grafana_s_series_are_powers_where_their_names_say_so():
    rows = [(name, second, 300 + second) for name in "ab" for second in (0, 5)]
    log = '"Series";"Time";"Value"\n' + "".join(
        f'"node_power_watt{{instance={name}}}";"2026-03-01T10:00:0{second}+00:00";{watts}\n'
        for name, second, watts in rows
    )
    assert power_csv.sniff(log.encode(), "g.csv")
    assert list(table(parse(log)).values()) == [[300.0, 305.0], [300.0, 305.0]]
    assert not power_csv.sniff(log.replace("node_power_watt", "node_load").encode(), "g.csv")
