"""Counters and tools on the node itself: perf, RAPL, turbostat, powerstat."""

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.energy.integral import energy
from analysis.readers.power.formats import perf, perf_stat, powerstat, rapl, turbostat

T0 = "2026-03-01T10:00:00Z"


def times(ds):
    return [str(t)[:23] for t in ds["time"].values.astype("datetime64[ms]")]


PERF = """# started on Sun Mar  1 10:00:00 2026

     1.000000000,20.00,Joules,power/energy-pkg/,1000000000,100.00,,
     2.000000000,<not counted>,Joules,power/energy-pkg/,0,100.00,,
     3.250000000,31.25,Joules,power/energy-pkg/,2000000000,100.00,,
"""


def test_perf__joules_of_an_interval_become_its_mean_power():
    ds = perf.parse(PERF.encode(), tz="UTC")
    assert times(ds)[0] == "2026-03-01T10:00:00.000"
    assert ds["meter"].values.tolist() == ["energy-pkg"]
    assert ds["power"].values[0, [1, 3]].tolist() == [20, 25]
    assert np.isnan(ds["power"].values[0, [0, 2]]).all()
    assert ds["energy_counter"].values[0].tolist() == [0, 20, 20, 51.25]
    # The interval that was not counted is a gap of 1 s in 3.25.
    found = energy(ds, ds["time"].values[0], ds["time"].values[-1])
    assert found["covered"].item() == 2.25 / 3.25
    assert (found["energy_low"].item(), found["energy_high"].item()) == (71.25, 76.25)


@pytest.mark.parametrize(
    "line",
    [
        "     0,500000000;12,50;Joules;power/energy-pkg/;1;100,00;;",
        "     0,500000000,12,50,Joules,power/energy-pkg/,1,100,00,,",
        "     0.500000000              12.50 Joules power/energy-pkg/",
        "     0,500000000              12,50 Joules power/energy-pkg/",
    ],
)
def test_perf__locales_and_separators(line):
    ds = perf.parse((line + "\n").encode(), start=T0)
    assert ds["power"].values[0, 1] == 25
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:00:00.500"]


def test_perf__sockets_are_meters():
    text = (
        "     1.000100000,S0,1,20.00,Joules,power/energy-pkg/,1,100.00,,\n"
        "     1.000100000,S1,1,30.00,Joules,power/energy-pkg/,1,100.00,,\n"
        "     1.000100000,S0,1,5.00,Joules,power/energy-ram/,1,100.00,,\n"
    )
    ds = perf.parse(text.encode())
    assert ds["meter"].values.tolist() == ["S0/energy-pkg", "S1/energy-pkg", "S0/energy-ram"]
    assert ds["power"].values[:, 1] == pytest.approx(np.array([20, 30, 5]) / 1.0001)
    assert "times count from 1970" in ds.attrs["warnings"][0]


def test_perf__json_lines():
    line = (
        '{{"interval" : {}, "socket" : "S0", "counters" : 1, "counter-value" : "{}", "unit" : "Joules", '
        '"event" : "power/energy-pkg/", "event-runtime" : 1000, "pcnt-running" : 100.00}}\n'
    )
    text = line.format("0.500000000", "12.50") + line.format("1.500000000", "<not counted>")
    ds = readers.parse(text.encode(), start=T0)
    assert (ds.attrs["tool"], ds["meter"].values.tolist()) == ("perf stat", ["S0/energy-pkg"])
    assert ds["power"].values[0, 1] == 25
    assert np.isnan(ds["power"].values[0, 2])


def test_perf__total_without_intervals_is_refused():
    with pytest.raises(ReadError, match="no interval of a power/energy event"):
        perf.parse(b"485.05,Joules,power/energy-pkg/,28141742128,100.00,,\n")


def test_perf_stat__total_is_a_mean_over_its_own_time():
    ds = perf_stat.parse(b"485.05,Joules,power/energy-pkg/,28141742128,100.00,,\n", start=T0)
    # 485.05 J / 28.141742128 s
    assert ds["power"].values[0, 1] == pytest.approx(17.23596, rel=1e-6)


def test_rapl__wide_columns_and_range_of_a_zone():
    text = (
        "# package-0 max_energy_range_uj=262143328850\n# dram-0 max_energy_range_uj=65712999613\n"
        "timestamp,package-0_energy_uj,dram-0_energy_uj\n"
        f"1772323200,1000000,{65712999613 - 1_000_000}\n1772323202,201000000,3000000\n"
    )
    ds = rapl.parse(text.encode())
    assert ds["power"].values[:, 1].tolist() == pytest.approx([100.0, 2.0])


def test_rapl__powercap_tree_of_grep():
    zone = "/sys/class/powercap/intel-rapl:0/"
    text = "".join(
        f"2026-03-01T10:00:0{s}Z\n{zone}name:package-0\n{zone}max_energy_range_uj:262143328850\n{zone}energy_uj:{uj}\n"
        for s, uj in ((0, 262143328850 - 50_000_000), (1, 50_000_000))
    )
    ds = rapl.parse(text.encode())
    assert ds["meter"].values.tolist() == ["package-0 intel-rapl:0"]
    assert ds["power"].values[0, 1] == pytest.approx(100.0)


TURBO = (
    "turbostat version 2023.11.07\n"
    "Time_Of_Day_Seconds\tCore\tCPU\tBusy%\tPkgTmp\tPkgWatt\tCorWatt\tRAMWatt\n"
    "{a}\t-\t-\t50\t40\t{p}\t60.00\t10.00\n"
    "{a}\t0\t0\t50\t40\t{p}\t60.00\t10.00\n"
    "{a}\t0\t1\t50\n"
)


def test_turbostat__summary_rows_under_repeated_headings():
    text = TURBO.format(a="1772359205.000", p="100.00") + TURBO.format(a="1772359210.000", p="120.00")
    ds = turbostat.parse(text.encode())
    assert ds["meter"].values.tolist() == ["package", "cores", "memory"]
    assert np.isnan(ds["power"].values[0, 0])
    assert ds["power"].values[:, 1:].tolist() == [[100, 120], [60, 60], [10, 10]]
    assert times(ds)[0] == "2026-03-01T10:00:00.000"
    assert ds["energy_counter"].values[0].tolist() == [0, 500, 1100]


def test_turbostat__headings_that_touch_are_counted_from_the_right():
    text = (
        "Core\tCPU\tGFX%C0\tCPUGFX%Pkg%pc2\tPkgWatt\tGFXWattRAMWatt\n"
        "-\t-\t1.00\t2.003.00\t15.17\t0.10\t0.46\n"
    )
    ds = turbostat.parse(text.encode(), start=T0, interval=1)
    assert ds["meter"].values.tolist() == ["package", "graphics", "memory"]
    assert ds["power"].values[:, 1].tolist() == [15.17, 0.10, 0.46]


def test_turbostat__summary_only_without_times():
    text = "Busy%\tBzy_MHz\tPkgTmp\tPkgWatt\n0.01\t2416\t31\t2.01\n0.01\t3249\t31\t1.96\n"
    ds = turbostat.parse(text.encode(), start=T0)
    assert ds["power"].values[0, 1:].tolist() == [2.01, 1.96]
    assert times(ds)[-1] == "2026-03-01T10:00:10.000"
    assert "taken as 5 s; pass interval=" in ds.attrs["warnings"][0]


def test_turbostat__preamble_speaks_of_watts_and_is_no_heading():
    text = (
        "turbostat version 19.08.31\nRAPL: 5825 sec. Joule Counter Range, at 45 Watts\n"
        "cpu1: MSR_PLATFORM_INFO: 0x808083bf1011d00\n8 * 100.0 = 800.0 MHz max efficiency frequency\n"
        "Core\tCPU\tBusy%\tPkgWatt\n-\t-\t1.0\t20.0\n0\t0\t1.0\t20.0\n0\t1\t1.0\n"
        "Core\tCPU\tBusy%\tPkgWatt\n-\t-\t1.0\t30.0\n0\t0\t1.0\t30.0\n0\t1\t1.0\n"
    )
    ds = turbostat.parse(text.encode(), start=T0, interval=1)
    assert ds["energy_counter"].values[0].tolist() == [0, 20, 50]
    assert ds.attrs["warnings"] == []


def test_turbostat__rows_of_cpus_without_their_column_are_left_out():
    # --show Time_Of_Day_Seconds,RAMWatt: the system, two packages, and CPUs without watts.
    block = "Time_Of_Day_Seconds\tRAMWatt\n{0}.90\t13.0\n{0}.10\t6.0\n{0}.15\t7.0\n{0}.20\t\n"
    ds = turbostat.parse((block.format(1772359201) + block.format(1772359202)).encode())
    assert ds["power"].values[0, 1:].tolist() == [13, 13]
    assert ds["energy_counter"].values[0, -1] == pytest.approx(26)
    assert ds.attrs["complete"] is True


def test_turbostat__summary_and_one_cpu_under_each_heading():
    ds = turbostat.parse(b"Busy%\tPkgWatt\n1\t20\n1\t20\nBusy%\tPkgWatt\n1\t30\n1\t30\n", interval=1)
    assert ds["energy_counter"].values[0].tolist() == [0, 20, 50]


def test_turbostat__a_program_run_under_it_says_how_long():
    ds = turbostat.parse(b"2.5 sec\nBusy%\tPkgWatt\n99\t40.00\n", start=T0)
    assert ds["energy_counter"].values[0].tolist() == [0, 100]
    assert times(ds)[-1] == "2026-03-01T10:00:02.500"


def test_turbostat__a_table_with_commas_is_somebody_elses():
    text = b"Time (seconds),PkgWatt,RAMWatt\n0,22.5,2.5\n1,20.5,2.0\n"
    assert not turbostat.sniff(text, "")
    ds = readers.parse(text, start=T0)
    assert ds.attrs["tool"] == "CSV"
    assert ds["power"].values.tolist() == [[22.5, 20.5], [2.5, 2.0]]


def test_turbostat__joules_per_interval():
    ds = turbostat.parse(b"Pkg_J\n20.0\n30.0\n", start=T0, interval=2)
    assert ds["power"].values[0, 1:].tolist() == [10, 15]


POWERSTAT = """Running for 3 seconds (3 samples at 1.0 second intervals).
Power measurements will start in 0 seconds time.

  Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s  Watts  pkg-0   core  Watts
23:59:58   3.1   0.0   0.0  96.9   0.0    5    430   1593 166.54  100.0   50.0 166.54
23:59:59   3.1   0.0   0.0  96.9   0.0    5    425   1638 166.51  100.0   50.0 166.51
00:00:00   3.1   0.0   0.0  96.9   0.0    5    425   1638 166.00E 100.0   50.0 166.51
-------- ----- ----- ----- ----- ----- ---- ------ ------ ------ ------ ------ ------
 Average   3.1   0.0   0.0  96.9   0.0  5.0  427.5 1615.5 166.53  100.0   50.0 166.5
Histogram (of 3 power measurements)
00:00:01 is no sample
"""


def test_powerstat__samples_pass_midnight_and_statistics_are_left_out():
    ds = powerstat.parse(POWERSTAT.encode(), "p.log", date="2026-02-28", tz="UTC")
    assert ds["power"].values.tolist() == [[166.54, 166.51, 166.0]]
    assert times(ds)[1:] == ["2026-02-28T23:59:59.000", "2026-03-01T00:00:00.000"]
    warnings = " ".join(ds.attrs["warnings"])
    assert "p.log:7: powerstat marks the reading as an estimate" in warnings
    assert ds.attrs["complete"] is True


# perf 6.x, whole run: the table, and CSV with its times in ns.
PERF_TABLE = """
 Performance counter stats for 'system wide':

              3.50 Joules power/energy-cores/
              8.25 Joules power/energy-ram/
             12.75 Joules power/energy-pkg/
             51.00 Joules power/energy-psys/

       5.000000000 seconds time elapsed

"""

PERF_ENERGIES = {"energy-cores": 3.5, "energy-ram": 8.25, "energy-pkg": 12.75, "energy-psys": 51.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PERF_TABLE, PERF_ENERGIES),
        (PERF_TABLE.replace(".", ","), PERF_ENERGIES),
        (
            "12.75,Joules,power/energy-pkg/,5000000000,100.00,,\n8.25,Joules,power/energy-ram/,5000000000,100.00,,\n",
            {"energy-pkg": 12.75, "energy-ram": 8.25},
        ),
        (
            "S0,1,12.75,Joules,power/energy-pkg/,5000000000,100.00,,\n"
            "S1,1,8.25,Joules,power/energy-pkg/,5000000000,100.00,,\n",
            {"S0/energy-pkg": 12.75, "S1/energy-pkg": 8.25},
        ),
    ],
)
def test_perf_stat__whole_run_is_an_energy_of_its_time(text, expected):
    ds = readers.parse(text.encode(), "f", start=T0)
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:00:05.000"]
    found = energy(ds, ds["time"].values[0], ds["time"].values[-1])
    assert dict(zip(ds["meter"].values.tolist(), found["energy"].values.tolist(), strict=True)) == expected
    assert ds.complete


def test_perf_stat__whole_run_without_its_time_or_its_count_is_named():
    cut = PERF_TABLE.partition("       5.0")[0]
    with pytest.raises(ReadError, match=r"^f:4: an energy without the time elapsed; no power/energy event"):
        perf_stat.parse(cut.encode(), "f")
    blank = perf_stat.parse(PERF_TABLE.replace("8.25", "<not counted>").encode(), "f", start=T0)
    assert blank["meter"].values.tolist() == ["energy-cores", "energy-pkg", "energy-psys"]
    assert blank.attrs["apart"] == ["energy-cores", "energy-psys"]
    assert blank.complete is False
    assert "power/energy-ram/ was not counted" in blank.warnings[0]
    mean = perf_stat.parse(PERF_TABLE.replace("wide':", "wide' (10 runs):").encode(), "f", start=T0)
    assert mean.warnings[0].startswith("f:2: the mean of 10 runs; ")


PERF_APPENDED = """\
# started on Sun Mar  1 10:00:00 2026


 Performance counter stats for 'system wide':

            850.00 Joules power/energy-pkg/

      10.0 seconds time elapsed

# started on Sun Mar  1 10:05:00 2026


 Performance counter stats for 'system wide':

            990.00 Joules power/energy-pkg/

      11.0 seconds time elapsed

"""


def test_perf_stat__results_behind_each_other_have_their_own_times_and_nothing_is_known_between():
    ds = readers.parse(PERF_APPENDED.encode(), "f", tz="UTC")
    assert ds["time"].values[[0, -1]].astype("M8[s]").astype(str).tolist() == [
        "2026-03-01T10:00:00", "2026-03-01T10:05:11",
    ]  # fmt: skip
    np.testing.assert_allclose(ds["power"].values[0], [np.nan, 85.0, np.nan, 90.0])
    assert ds["energy_counter"].values[0, -1] == pytest.approx(850.0 + 990.0)
    undated = "".join(line for line in PERF_APPENDED.splitlines(True) if line[0] != "#")
    with pytest.raises(ReadError, match=r"2 energies of energy-pkg, .* put each result into a file"):
        readers.parse(undated.encode(), "f")


def test_perf_stat__json_is_read_and_cores_without_a_counter_are_no_damage():
    line = '{{"counter-value" : "{}", "unit" : "Joules", "event" : "power/energy-{}/", "event-runtime" : {}, "pcnt-running" : 100.00}}\n'  # noqa: E501
    ds = readers.parse((line.format(12.75, "pkg", 5 * 10**9)).encode(), "f", start=T0)
    assert (ds["meter"].values.tolist(), ds["power"].values[0, 1]) == (["energy-pkg"], 12.75 / 5)
    cores = "S0-D0-C0 1 3.75 Joules power/energy-pkg/\nS0-D0-C1 0 <not counted> Joules power/energy-pkg/\n"
    ds = readers.parse(f"{cores}\n 1.5 seconds time elapsed\n".encode(), "f", start=T0)
    assert ds.complete
    assert ds["power"].values[0, 1] == 2.5


# After `likwid-powermeter.lua` of LIKWID 5.
LIKWID = """\
--------------------------------------------------------------------------------
CPU name:\tIntel(R) Xeon(R) Platinum
CPU type:\tIntel Icelake SP processor
CPU clock:\t2.39 GHz
--------------------------------------------------------------------------------
Runtime: 2.5 s
Measure for socket 0 on CPU 0
Domain PKG:
Energy consumed: 250.25 Joules
Power consumed: 100.1 Watt
Domain PP0:
Energy consumed: 100 Joules
Power consumed: 40 Watt
Domain DRAM:
Energy consumed: 25.5 Joules
Power consumed: 10.2 Watt

Measure for socket 1 on CPU 36
Domain PKG:
Energy consumed: 200.75 Joules
Power consumed: 80.3 Watt
--------------------------------------------------------------------------------
"""


def test_likwid__sockets_and_memory_without_the_cores():
    ds = readers.parse(LIKWID.encode(), "f", start=T0)
    found = energy(ds, ds["time"].values[0], ds["time"].values[-1])
    assert dict(zip(ds["meter"].values.tolist(), found["energy"].values.tolist(), strict=True)) == {
        "socket 0/PKG": 250.25,
        "socket 0/DRAM": 25.5,
        "socket 1/PKG": 200.75,
    }
    assert times(ds)[-1] == "2026-03-01T10:00:02.500"


def test_likwid__two_measurements_in_a_file_are_refused():
    with pytest.raises(ReadError, match="2 energies of socket 0/PKG"):
        readers.parse((LIKWID + LIKWID.replace("2.5 s", "5 s")).encode(), "f", start=T0)


@pytest.mark.parametrize("time", ["1e400", "99999999999999"])
def test_likwid__time_beyond_any_clock_is_refused(time):
    """It was a traceback."""
    with pytest.raises(ReadError, match="f: a time is longer than a clock can count; a number is damaged"):
        readers.parse(LIKWID.replace("2.5 s", f"{time} s").encode(), "f", engine="likwid")


def test_likwid__energy_without_a_run_time_is_refused():
    with pytest.raises(ReadError, match=r"^f:8: an energy without a run time"):
        readers.parse(LIKWID.replace("Runtime: 2.5 s\n", "").encode(), "f", engine="likwid")
