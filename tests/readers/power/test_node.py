"""What a site keeps for its nodes: Cray, GEOPM, EAR, Slurm."""

import io
import random

import h5py
import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.power.formats import cray, ear, geopm, slurm_energy, slurm_profile
from analysis.schema import registry

T0 = "2026-03-01T10:00:00Z"


def times(ds):
    return [str(t)[:23] for t in ds["time"].values.astype("datetime64[ms]")]


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


def test_cray__file_of_one_counter_does_not_name_it():
    ds = readers.parse(b"19213436 J 1772359200000000 us\n19214186 J 1772359210000000 us\n", meter="nid1")
    assert (ds.attrs["tool"], ds["meter"].item(0)) == ("Cray pm_counters", "nid1")
    assert ds["power"].values[0, 1] == 75.0


def test_cray__metrics_of_an_exporter_are_not_its_files():
    text = b'# HELP pm_counters_joules from pm_counters\npm_counters_joules{domain="cpu"} 55 1772359200\n'
    assert not cray.sniff(text, "")


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
      sync-runtime (s): 99.5025
      package-energy (J): 20000
      dram-energy (J): 1000
      power (W): 201
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


def test_ear__script_does_not_count_beside_its_steps():
    """Slurm's code for the batch step is 0xfffffffb; the script's energy holds that of its steps."""
    head = "NODE_ID;JOB_ID;STEP_ID;START_TIME;END_TIME;TIME;DC-NODE-POWER;DRAM-POWER\n"
    step = "n1;7;0;1772359200;1772359300;100;250.0;20\n"
    script = "n1;7;4294967291;1772359190;1772359310;120;260.0;20\n"
    other = "n1;7;4294967290;1772359190;1772359310;120;260.0;20\n"
    first = other.replace("4294967290", "4294967280")  # 0xfffffff0, the first of the codes
    for rows in (step + script, script + other + step, first + step):
        assert ear.parse((head + rows).encode())["energy_counter"].values[0].tolist() == [0, 25000]
    # An mpirun in the script makes no step.
    assert ear.parse((head + script).encode())["energy_counter"].values[0].tolist() == [0, 31200]


def test_ear__newer_names_and_the_short_list_without_times():
    text = (
        "JOBID;STEPID;JOB_START_TIME;JOB_END_TIME;NODENAME;TIME_SEC;DC_NODE_POWER_W\n"
        "1;0;1772359200;1772359300;n1;99;250\n"
    )
    assert ear.parse(text.encode())["energy_counter"].values[0].tolist() == [0, 25000]
    short = "NODENAME;JOBID;STEPID;TIME_SEC;DC_NODE_POWER_W\nn1;1;0;100,5;200\n"
    ds = ear.parse(short.encode(), start=T0)
    assert ds["energy_counter"].values[0].tolist() == [0, 20100]
    assert times(ds)[-1] == "2026-03-01T10:01:40.500"


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
    return registry.conform(ds, "sacct")


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


def test_slurm_profile__series_without_times_is_named():
    rows = [(0, 100, 1772359200), (10, 110, 1772359210)]
    data = profile("/n1/Energy", ("ElapsedTime", "Power", "EpochTime"), rows)
    data = data.replace(b"ElapsedTime", b"ElapsedTimf").replace(b"EpochTime", b"EpochTimf")
    with pytest.raises(ReadError, match="series 'n1/Energy' has no column of times"):
        slurm_profile.parse(data)


def test_slurm_profile__damaged_file_is_read_or_refused():
    """Of 8,000 such damages one in 200 left with an error of h5py, numpy or the path's type."""
    data = profile("/n1/Energy", ("ElapsedTime", "Power"), [(i, 100 + i) for i in range(20)])
    draw = random.Random(7)
    outcomes = set()
    for _ in range(1000):
        damaged = bytearray(data)
        damaged[draw.randrange(len(data))] = draw.choice((0, 255, draw.randrange(256)))
        try:
            outcomes.add(slurm_profile.parse(bytes(damaged), start=T0).attrs["complete"])
        except ReadError:
            outcomes.add("refused")
    assert {True, "refused"} <= outcomes


@pytest.mark.parametrize(("old", "new"), [("power (W): 201", "power (W): 291"), ("(J): 20000", "(J): 20800")])
def test_geopm__energy_is_power_times_time(old, new):
    assert readers.parse(GEOPM.encode(), "f").complete
    ds = readers.parse(GEOPM.replace(old, new).encode(), "f")
    assert not ds.complete
    assert any("W of the package" in warning for warning in ds.warnings)


# After lists of `eacct -j` that SURF's documentation shows (EAR 4).
EACCT = """\
    JOB-STEP USER       APPLICATION      POLICY NODES AVG/DEF/IMC(GHz) TIME(s)    POWER(W) GBS     CPI   ENERGY(J)    GFLOPS/W IO(MBs) MPI%  G-POW (T/U)   G-FREQ  G-UTIL(G/MEM)
4711-sb      alice      gromacs          MO     2     2.57/2.60/---    400.00     500.50   ---     ---   400400       ---      ---     ---   ---           ---     ---
4711-0       alice      gromacs          MO     2     2.57/2.60/1.47   350.50     600.00   8.33    0.33  420600       0.2930   0.3     77.6  0.00/---      ---     ---
4712-0       alice      my app           MO     1     2.57/2.60/1.47   100.00     300.00   8.33    0.33  30000        0.2930   0.3     77.6  0.00/---      ---     ---
"""  # noqa: E501


def test_eacct__list_counts_a_job_once():
    ds = readers.parse(EACCT.encode(), "f", start="2026-03-01T10:00:00Z")
    # The batch step of 4711 holds its step 0.
    assert ds["meter"].values.tolist() == ["4711-sb", "4712-0"]
    last = ds["energy_counter"].values
    assert [float(np.nanmax(row)) for row in last] == [400400.0, 30000.0]
    # 30000 J in 100 s
    assert 300.0 in ds["power"].values[1].tolist()
    assert ds.complete
    assert ds.warnings[0].startswith("f:1: 1 steps within batch steps; ")


# After the list of `eacct -l` in EAR's own guide (4.0 to 5.0); `energy` in its unit.
EACCT_LONG = """\
     JOB-STEP    NODE ID    USER ID    APPLICATION      AVG-F/IMC-F TIME(s)    POWER(s)   GBS        CPI        ENERGY({unit})  IO(MBS) MPI%  VPI(%)  G-POW(T/U)    G-FREQ G-UTIL(G/M)
  4711-sb        n1         alice      my app            2.57/---   400.00     250.50     ---        ---        {a}     ---     ---   ---     ---     ---      ---
  4711-sb        n2         alice      my app            2.57/---   400.00     250.00     ---        ---        {b}     ---     ---   ---     ---     ---      ---
  4711-0         n1         alice      my app            2.57/1.47  100.00     300.00     8.33       0.33       {c}     0.0     21.2  0.23    ---     ---      ---
"""  # noqa: E501


@pytest.mark.parametrize(
    ("unit", "a", "b", "c", "joules"),
    [("J", "100200", "100000", "30000", 100200.0), ("KWh", "0.0278333", "0.0277778", "0.0083333", 100199.88)],
)
def test_eacct__long_list_has_a_meter_for_each_node(unit, a, b, c, joules):
    text = EACCT_LONG.format(unit=unit, a=a, b=b, c=c)
    ds = readers.parse(text.encode(), "f", start="2026-03-01T10:00:00Z")
    assert ds["meter"].values.tolist() == ["4711-sb/n1", "4711-sb/n2"]
    assert float(np.nanmax(ds["energy_counter"].values[0])) == pytest.approx(joules)
    assert ds.complete


@pytest.mark.parametrize(("old", "new"), [("500.50", "600.50"), ("400400", "401400"), ("350.50", "358.50")])
def test_eacct__energy_is_power_times_time_of_all_nodes(old, new):
    ds = readers.parse(EACCT.replace(old, new).encode(), "f", start="2026-03-01T10:00:00Z")
    assert not ds.complete
    assert "a number is damaged" in ds.warnings[0]
