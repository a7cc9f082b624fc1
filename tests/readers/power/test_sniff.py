"""The content of a log finds its engine, and only its engine among those of power logs."""

import pytest

from analysis import readers

SAMPLES = {
    "ipmitool": "Instantaneous power reading:   240 Watts\nIPMI timestamp: Sun Mar  1 10:00:00 2026\n",
    "freeipmi": "Current Power : 164 Watts\nTime Stamp : 12/29/2026 - 08:58:00\nPower Measurement : Active\n",
    "perf": "     1.001048308,19.63,Joules,power/energy-pkg/,2002406532,100.00,,\n",
    "rapl": "timestamp,zone,energy_uj\n1772359200,package-0,1\n",
    "turbostat": "Busy%\tBzy_MHz\tPkgTmp\tPkgWatt\n0.01\t2416\t31\t2.01\n",
    "powerstat": "  Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s  Watts\n"
    "10:00:00 1 1 1 1 1 1 1 1 9\n",
    "nvidia_smi": "timestamp, power.draw [W]\n2026/03/01 10:00:00.100, 61.50 W\n",
    "rocm_smi": '{"card0": {"Average Graphics Package Power (W)": "36.0"}}\n',
    "amd_smi": '[{"gpu": 0, "power": {"socket_power": {"value": 142, "unit": "W"}}}]\n',
    "redfish": '{"@odata.id": "/redfish/v1/Chassis/1/Power", "PowerControl": [{"PowerConsumedWatts": 1}]}\n',
    "ptdaemon": "Time,12-23-2026 10:21:51.496,Watts,23.430000,Volts,228.370000\n",
    "wattsup": "#d,-,18,1240,1191,97,0,_,_,_,124,_,_,_,_,_,100,_,_,_,_;\n",
    "yokogawa": "Store No.,Date,Time,Millisecond,U-E1,P-E1\n1,2026/03/01,10:00:00,50,229.9,101.25\n",
    "ear": "JOBID;STEPID;NODENAME;DC_NODE_POWER_W;TIMESTAMP\n1;0;n1;300;1772359200\n",
    "geopm": "GEOPM Version: 1.1.0\nStart Time: Sun Mar  1 10:00:00 2026\n",
    "cray": "/sys/cray/pm_counters/energy:19213436 J 1772359200000000 us\n",
    "power_csv": "time,outlet,watts\n1772359200,A1,100\n",
}
POWER = [name for name, module in readers.ENGINES.items() if ".power." in module]


@pytest.mark.parametrize("engine", SAMPLES)
def test_sniff__finds_the_engine(engine):
    head = SAMPLES[engine].encode()
    found = [name for name in POWER if readers.reader(name).sniff(head, "log")]
    assert found[0] == engine
    # The reader of any CSV comes last and may know the columns too.
    assert set(found) <= {engine, "power_csv"}


@pytest.mark.parametrize(
    "text",
    [
        "HPCG-Benchmark\nversion=3.1\nDate=March 28, 2019\nFinal Summary::HPCG result is VALID=53.8\n",
        "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n4                      10.23\n",
        "JobID|Start|End|ConsumedEnergyRaw\n7|2026-03-01T10:00:00|2026-03-01T10:01:00|100\n",
        '<?xml version="1.0" encoding="iso-8859-1"?>\n<ipm_job_profile>\n',
        "@ mpiP\n@ Command : ./power_balance\n",
        '{"job_id": "1", "start": "2026-03-01T10:00:00Z"}\n',
        "",
    ],
)
def test_sniff__leaves_other_output_alone(text):
    assert [name for name in POWER if readers.reader(name).sniff(text.encode(), "x")] == []
