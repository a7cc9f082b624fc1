"""Logs out of order, with lines missing or a mark at their head: the same energy, bounds or a refusal."""

import itertools
import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.energy.integral import energy
from analysis.readers.power.log import MeterLog
from analysis.readers.power.rows import refuse_torn
from analysis.readers.power.table import readings_of

T0 = datetime(2026, 3, 1, 10, tzinfo=UTC)
WATTS = [100 + 10 * (i % 7) for i in range(60)]  # a reading every 10 s
SUM = 10.0 * sum(WATTS[1:])  # J, of means since the reading before


def seconds(i):
    return int(T0.timestamp()) + 10 * i


def stamp(i):
    return (T0 + timedelta(seconds=10 * i)).strftime("%Y-%m-%d %H:%M:%S")


PERF = ["# started on Sun Mar  1 10:00:00 2026"] + [
    f"{10 * i:6d}.000000000,{10 * w},Joules,power/energy-pkg/,1,100.00,,"
    for i, w in enumerate(WATTS[1:], 1)
]  # fmt: skip
SUMMARY = ["Time_Of_Day_Seconds\tBusy%\tPkgWatt"]
SUMMARY += [f"{seconds(i)}.000000\t9\t{w}" for i, w in enumerate(WATTS)]
HEADING = "Time_Of_Day_Seconds\tCore\tCPU\tPkgWatt\n"
BLOCKS = [f"{HEADING}{seconds(i)}.0\t-\t-\t{w}\n{seconds(i)}.0\t0\t0\t{w}" for i, w in enumerate(WATTS)]
LOOPS = ["JOBID;STEPID;NODENAME;DC_NODE_POWER_W;DRAM_POWER_W;TIMESTAMP"]
LOOPS += [f"1;0;n1;{w};20;{seconds(i)}" for i, w in enumerate(WATTS)]
ZONE = "/sys/class/powercap/intel-rapl:0/"
COUNTS = np.cumsum([0, *(10 * w for w in WATTS[1:])])
TREE = [f"{stamp(i)}\n{ZONE}energy_uj:{c * 10**6}" for i, c in enumerate(COUNTS)]
IPMI = [f"{stamp(i)}\nInstantaneous power reading: {w} Watts" for i, w in enumerate(WATTS)]
CARDS = [
    f'{stamp(i)}\n{{"card0": {{"Average Graphics Package Power (W)": "{w}"}}}}' for i, w in enumerate(WATTS)
]


def read(lines, **options):
    return readers.parse(("\n".join(lines) + "\n").encode(), "log", **{"tz": "UTC", **options})


def joules(ds):
    start = np.datetime64(T0.replace(tzinfo=None), "ns")
    return energy(ds, start, start + np.timedelta64(590, "s")).isel(meter=0)


@pytest.mark.parametrize(("head", "rows"), [(PERF[:1], PERF[1:]), (SUMMARY[:1], SUMMARY[1:]), ([], BLOCKS)])
@pytest.mark.parametrize("order", ["shuffled", "reversed", "halves"])
def test_order__means_of_intervals_are_put_in_order(head, rows, order):
    rows = list(rows)
    if order == "shuffled":
        random.Random(3).shuffle(rows)
    else:
        rows = rows[::-1] if order == "reversed" else rows[30:] + rows[:30]
    found = joules(read([*head, *rows]))
    assert found["energy"].item() == pytest.approx(SUM, rel=1e-12)
    assert found["covered"].item() == 1


def test_order__lines_of_one_log_twice_count_once():
    for lines in (PERF, SUMMARY, LOOPS):
        found = joules(read([*lines, *lines]))
        assert found["energy"].item() == pytest.approx(SUM, rel=1e-12)


@pytest.mark.parametrize("lines", [PERF, SUMMARY, LOOPS])
def test_order__missing_lines_of_means_are_a_gap(lines):
    # perf says the joules of its own 10 s: over 110 s they would be a tenth of the watts.
    ds = read(lines[:20] + lines[30:])
    found = joules(ds)
    assert found["covered"].item() == pytest.approx((590 - 110) / 590)
    assert found["energy_low"].item() < SUM < found["energy_high"].item()
    assert ds.attrs["complete"] is False
    assert "1 readings come over" in ds.attrs["warnings"][0]
    assert "lines are missing; the energy of these intervals is not known" in ds.attrs["warnings"][0]


@pytest.mark.parametrize("records", [IPMI, TREE, CARDS])
def test_order__records_torn_apart_are_refused(records):
    whole = list(records)
    random.Random(3).shuffle(whole)
    usual, moved = joules(read(records)), joules(read(whole))
    assert moved["energy"].item() == usual["energy"].item()
    torn = [line for record in records for line in record.splitlines()]
    random.Random(3).shuffle(torn)
    with pytest.raises(ReadError, match=r"log:\d+: \d+ time stamps go back.*; the lines are out of order"):
        read(torn)
    with pytest.raises(ReadError, match="the lines are out of order"):
        read([line for record in records for line in record.splitlines()][::-1])


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_order__mark_of_utf8_changes_nothing(mark):
    def parse(lines, **options):
        return readers.parse(mark + "\n".join(lines).encode() + b"\n", "log", tz="UTC", **options)

    loops = parse(LOOPS)
    assert (loops.attrs["tool"], loops["meter"].values.tolist()) == ("EAR", ["n1"])
    assert joules(loops)["energy"].item() == pytest.approx(SUM)
    rapl = ["# max_energy_range_uj=262143328850", "time,zone,energy_uj", "1772359200,p,262143328850"]
    assert parse([*rapl, "1772359201,p,100000000"])["power"].values[0, 1] == pytest.approx(100)
    header = "    Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s  Watts".lstrip()
    row = "10:00:00   3.1   0.0   0.0  96.9   0.0    5    430   1593 166.54"
    assert parse([header, row], date="2026-03-01")["power"].item() == 166.54


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_order__doubled_hour_needs_the_files_order(zone):
    # A reading a minute, from half an hour before the doubled hour to half an hour after it.
    first = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    first += timedelta(days=7, hours=5) if zone == "America/New_York" else timedelta()
    local = [(first + timedelta(minutes=i)).astimezone(ZoneInfo(zone)) for i in range(180)]
    rows = [f"{t:%Y-%m-%d %H:%M:%S},{100 + i}" for i, t in enumerate(local)]
    ds = read(["time,power_W", *rows], tz=zone)
    assert ds["power"].values[0].tolist() == [100 + i for i in range(180)]
    assert (np.diff(ds["time"].values) == np.timedelta64(60, "s")).all()
    moved = list(rows)
    random.Random(3).shuffle(moved)
    said = rf"log:\d+: stamps out of order around the hour doubled by the end of summer time in {zone}; take"
    with pytest.raises(ReadError, match=said):
        read(["time,power_W", *moved], tz=zone)
    # Of two meters by turns the clock of one is 20 s behind.
    late = [
        f"{(t.astimezone(UTC) - timedelta(seconds=20 * m)).astimezone(t.tzinfo):%Y-%m-%d %H:%M:%S},m{m},{w}"
        for w, t in enumerate(local)
        for m in (0, 1)
    ]
    with pytest.raises(ReadError, match=said):
        read(["time,meter,power_W", *late], tz=zone)


def test_order__times_of_day_out_of_order_over_midnight_are_refused():
    rows = [f"{T0 + timedelta(minutes=60 * 13 + i):%H:%M:%S},{100 + i}" for i in range(120)]
    ds = read(["time,power_W", *rows], date="2026-03-01")
    assert (np.diff(ds["time"].values) == np.timedelta64(60, "s")).all()
    random.Random(3).shuffle(rows)
    with pytest.raises(
        ReadError, match=r"log:\d+: times of day without a date are out of order over midnight"
    ):
        read(["time,power_W", *rows], date="2026-03-01")


def test_order__elapsed_seconds_may_repeat_at_the_start():
    ds = read(["time (s),power (W)", "0,100", "0,100", "10,120"], start="2026-03-01T10:00:00Z")
    assert ds["power"].values[0].tolist() == [100, 120]


def test_order__a_log_cut_at_its_head_loses_one_block():
    lines = [line for record in IPMI for line in record.splitlines()]
    ds = read(lines[1:])
    assert np.isfinite(ds["power"].values[0, ~np.isnat(ds["time"].values)]).sum() == 59
    assert "log:1: no time stamp: ''; row not used" in ds.attrs["warnings"][0]
    assert joules(ds)["covered"].item() == pytest.approx(580 / 590)


def test_order__a_counter_that_lost_its_first_digits_is_no_rise():
    lines = [f"energy: {19_213_436 + c} J {seconds(i)}000000 us" for i, c in enumerate(COUNTS)]
    ds = read([lines[0][11:], *lines[1:]])  # 213436 J, cut at the head
    assert ds.attrs["warnings"] == ["log:1: a value without its name among others; the line is cut; not used"]
    assert joules(ds)["energy_high"].item() < SUM + 1000
    plain = [line.removeprefix("energy: ") for line in lines]
    ds = read([plain[0][3:], *plain[1:]])
    assert (
        "node: the counter jumps 1 times, by up to 1.92e+06 W where 130 W is usual" in ds.attrs["warnings"][0]
    )
    found = joules(ds)
    assert found["energy_low"].item() < SUM < found["energy_high"].item()
    assert found["covered"].item() == pytest.approx(580 / 590)


@pytest.mark.parametrize(("back", "torn"), [(9, False), (10, True)])
def test_order__stamps_that_go_back_at_a_quarter_of_their_steps_are_torn_apart(back, torn):
    """Of 42 stamps the first two are equal, and 40 steps are left: 9 are less than a quarter of them."""
    stamps = [0, *range(0, 41 * 10, 10)]
    for at in range(2, 2 + 3 * back, 3):
        stamps[at], stamps[at + 1] = stamps[at + 1], stamps[at]
    assert sum(after < before for before, after in itertools.pairwise(stamps)) == back
    found = readings_of(stamps, ["m"] * 42, [1.0] * 42)
    if torn:
        with pytest.raises(ReadError, match=rf"log:4: {back} time stamps go back"):
            refuse_torn(MeterLog(b"", "log", {}), found, range(1, 43))
    else:
        assert refuse_torn(MeterLog(b"", "log", {}), found, range(1, 43)) is None
