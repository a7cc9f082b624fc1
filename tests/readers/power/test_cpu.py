"""Counters and tools on the node itself: perf, RAPL, turbostat, powerstat, Cray, GEOPM, EAR, Slurm."""

import io

import h5py
import numpy as np
import pytest
import xarray as xr

from analysis import schema
from analysis.energy import energy
from analysis.errors import ReadError
from analysis.readers.power import (
    cray,
    ear,
    geopm,
    perf,
    powerstat,
    rapl,
    slurm_energy,
    slurm_profile,
    turbostat,
)

T0 = "2026-03-01T10:00:00Z"


def times(ds):
    return [str(t)[:23] for t in ds["time"].values.astype("datetime64[ms]")]


PERF = """# started on Sun Mar  1 10:00:00 2026

     1.000000000,20.00,Joules,power/energy-pkg/,1000000000,100.00,,
     2.000000000,<not counted>,Joules,power/energy-pkg/,0,100.00,,
     4.000000000,50.00,Joules,power/energy-pkg/,2000000000,100.00,,
"""


def test_perf__joules_of_an_interval_become_its_mean_power():
    ds = perf.parse(PERF.encode(), tz="UTC")
    assert times(ds)[0] == "2026-03-01T10:00:00.000"
    assert ds["meter"].values.tolist() == ["energy-pkg"]
    assert ds["power"].values[0, [1, 3]].tolist() == [20, 25]
    assert np.isnan(ds["power"].values[0, [0, 2]]).all()
    assert ds["energy_counter"].values[0].tolist() == [0, 20, 20, 70]
    # The interval that was not counted is a gap of 1 s in 4.
    found = energy(ds, ds["time"].values[0], ds["time"].values[-1])
    assert found["covered"].item() == 0.75
    assert (found["energy_low"].item(), found["energy_high"].item()) == (90, 95)


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


def test_perf__total_without_intervals_is_refused():
    with pytest.raises(ReadError, match="no interval of a power/energy event"):
        perf.parse(b"485.05,Joules,power/energy-pkg/,28141742128,100.00,,\n")


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


def test_cray__energy_counters_with_their_own_stamps():
    text = (
        "/sys/cray/pm_counters/energy:19213436 J 1772359200000000 us\n"
        "/sys/cray/pm_counters/power:74 W 1772359200000000 us\n"
        "/sys/cray/pm_counters/power_cap:0 W\n"
        "/sys/cray/pm_counters/accel0_energy:500 J 1772359200000000 us\n"
        "/sys/cray/pm_counters/energy:19214186 J 1772359210000000 us\n"
        "/sys/cray/pm_counters/accel0_energy:1500 J 1772359210000000 us\n"
    )
    ds = cray.parse(text.encode())
    assert ds["meter"].values.tolist() == ["node", "accel0"]
    assert ds["power"].values[:, 1].tolist() == [75.0, 100.0]
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:00:10.000"]


def test_cray__powers_of_nodes_with_the_loggers_stamp():
    text = "2026-03-01T10:00:00Z\nnid00012: power 74 W\nnid00013: power 80 W\n"
    ds = cray.parse(text.encode())
    assert ds["meter"].values.tolist() == ["nid00012/node", "nid00013/node"]
    assert ds["power"].values.tolist() == [[74], [80]]


GEOPM = """GEOPM Version: 1.1.0
Start Time: Sun Mar  1 10:00:00 2026
Profile: x

Hosts:
  n1:
    Regions:
    -
      region: "MPI_Allreduce"
      runtime (s): 5
      package-energy (J): 500
    Epoch Totals:
      runtime (s): 90
      package-energy (J): 9000
    Application Totals:
      runtime (s): 100
      package-energy (J): 20000
      dram-energy (J): 1000
  n2:
    Application Totals:
      runtime (s): 100
      package-energy (J): 21000
      dram-energy (J): 1100
"""


def test_geopm__totals_of_the_application():
    ds = geopm.parse(GEOPM.encode(), tz="UTC")
    assert ds["meter"].values.tolist() == ["n1/package", "n1/dram", "n2/package", "n2/dram"]
    assert ds["energy_counter"].values[:, -1].tolist() == [20000, 1000, 21000, 1100]
    assert ds["power"].values[:, 1].tolist() == [200, 10, 210, 11]
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:01:40.000"]


def test_geopm__report_cut_before_the_totals_is_refused():
    with pytest.raises(ReadError, match="no host with Application Totals"):
        geopm.parse(GEOPM[: GEOPM.index("    Application")].encode())


def test_ear__loops_with_blank_cells():
    text = (
        "JOBID;STEPID;NODENAME;DC_NODE_POWER_W;DRAM_POWER_W;TIMESTAMP\n"
        "1;0;n1;300,5;20;1772359200\n1;0;n1; ;20;1772359210\n1;0;n1;310;20;1772359220\n"
    )
    ds = ear.parse(text.encode())
    assert np.array_equal(ds["power"].values[0], [np.nan, np.nan, 310], equal_nan=True)
    assert ds["energy_counter"].values[0].tolist() == [0, 0, 3100]


def test_ear__applications_of_an_older_dialect():
    text = (
        "NODE_ID;JOB_ID;STEP_ID;START_TIME;END_TIME;TIME;DC-NODE-POWER;DRAM-POWER\n"
        "n1;7;0;1772359200;1772359300;100;250.0;20\nn2;7;0;1772359200;1772359300;100;260.0;20\n"
        "n1;7;4294967294;1772359200;1772359300;100;999.0;20\n"
    )
    ds = ear.parse(text.encode())
    assert ds["energy_counter"].values[:, -1].tolist() == [25000, 26000]


def sacct(energies):
    n = len(energies)
    start = np.array(["2026-03-01T11:00:00"] * n, dtype="datetime64[ns]")
    strings = ("job_name", "state", "node_list", "comment", "resources")
    numbers = ("exit_code", "exit_signal", "nodes", "cpus")
    floats = ("elapsed", "memory_max", "memory_mean", "cpu_time")
    ds = xr.Dataset(
        {name: ("record", np.array([""] * n, dtype=object)) for name in strings}
        | {name: ("record", np.zeros(n, dtype=np.int32)) for name in numbers}
        | {name: ("record", np.full(n, np.nan)) for name in floats}
        | {"energy": ("record", np.array(energies, dtype=float)), "submit": ("record", start)}
        | {"start": ("record", start), "end": ("record", start + np.timedelta64(100, "s"))},
        coords={
            "job_id": ("record", np.array([str(7 + i) for i in range(n)], dtype=object)),
            "step": ("record", np.array(["", "0", "", ""][:n], dtype=object)),
        },
        attrs={"time_zone": "Europe/Berlin"},
    )
    return schema.conform(ds, "sacct")


def test_slurm_energy__counter_from_start_to_end():
    ds = slurm_energy.from_sacct(sacct([50_000, 20_000, 0, 2.0**64 - 2]))
    assert ds["meter"].values.tolist() == ["7", "8.0"]
    assert ds["power"].values[:, 1].tolist() == [500, 200]
    assert times(ds)[0] == "2026-03-01T10:00:00.000"
    assert "1 records consumed 0 J; left out" in ds.attrs["warnings"][0]
    with pytest.raises(ReadError, match="no record with ConsumedEnergyRaw"):
        slurm_energy.from_sacct(sacct([np.nan, 0]))


def profile(path, fields, rows):
    file = io.BytesIO()
    with h5py.File(file, "w") as h5:
        h5.create_dataset(path, data=np.array(rows, dtype=[(name, "<u8") for name in fields]))
    return file.getvalue()


def test_slurm_profile__series_of_a_node():
    rows = [(0, 100, 2000, 1772359200), (10, 110, 2000, 1772359210), (20, 2**64 - 2, 0, 1772359220)]
    data = profile("/n1/Energy", ("ElapsedTime", "Power", "CPUFrequency", "EpochTime"), rows)
    ds = slurm_profile.parse(data)
    assert slurm_profile.sniff(data[:65536], "")
    assert ds["meter"].values.tolist() == ["n1"]
    assert ds["power"].values[0, :2].tolist() == [100, 110]
    assert np.isnan(ds["power"].values[0, 2])
    assert times(ds)[0] == "2026-03-01T10:00:00.000"


def test_slurm_profile__older_layout_of_sh5util():
    data = profile(
        "/Steps/0/Nodes/n1/Time Series/Energy/Energy Data", ("Time", "Power"), [(0, 100), (5, 110)]
    )
    ds = slurm_profile.parse(data, start=T0)
    assert ds["meter"].values.tolist() == ["n1/0"]
    assert times(ds) == ["2026-03-01T10:00:00.000", "2026-03-01T10:00:05.000"]
    with pytest.raises(ReadError, match="broken HDF5"):
        slurm_profile.parse(data[:200])
