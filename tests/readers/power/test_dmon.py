"""Power of GPUs sampled by dmon, and what Prometheus and Telegraf keep."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.energy import energy

# `nvidia-smi dmon -s p -o DT`; `dcgmi dmon -e 1001,155` and `-e 156`.
SMI = """\
#Date       Time        gpu    pwr  gtemp  mtemp
#YYYYMMDD   HH:MM:SS    Idx      W      C      C
 20260301   10:00:00      0     40     35      -
 20260301   10:00:00      1     60     35      -
 20260301   10:00:01      0    140     35      -
 20260301   10:00:01      1      -     35      -
"""
DCGM = """\
#Entity   GRACT        POWER
ID                     W
GPU 0     0.000        100.000
GPU 1     0.000        58.123
GPU 0     0.998        200.000
GPU 1     0.998        N/A
"""
# nvidia-smi's table and `nvidia-smi -q -d POWER`, as drivers of 2022 and 2023 print them.
TABLE = """\
{stamp}
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 515.65.01    Driver Version: 515.65.01    CUDA Version: 11.7     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |
| N/A   30C    P0    {a}W / 400W |      0MiB / 40960MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-SXM...  On   | 00000000:0F:00.0 Off |                    0 |
| N/A   30C    P0    N/A /  N/A |      0MiB / 40960MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|=============================================================================|
|    0   N/A  N/A      4711      C   ./lmp                          421MiB    |
+-----------------------------------------------------------------------------+
"""
QUERY = """\

==============NVSMI LOG==============

Timestamp                                 : {s}
Driver Version                            : 545.23.08
CUDA Version                              : 12.3

Attached GPUs                             : 1
GPU 00000000:07:00.0
    GPU Power Readings
        Power Draw                        : {a} W
        Current Power Limit               : 400.00 W
        Requested Power Limit             : 400.00 W
    Power Samples
        Duration                          : 2.37 sec
        Number of Samples                 : 119
        Max                               : 62.85 W
    GPU Memory Power Readings
        Power Draw                        : 11.00 W
    Module Power Readings
        Power Draw                        : N/A

"""
STAMPS = ("Sun Mar  1 10:00:00 2026", "Sun Mar  1 10:00:05 2026")
SMI_TABLES = "".join(TABLE.format(stamp=one, a=watts) for one, watts in zip(STAMPS, (52, 310), strict=True))
SMI_LISTS = "".join(QUERY.format(s=one, a=watts) for one, watts in zip(STAMPS, (52.15, 310.5), strict=True))
SCAPHANDRE = "".join(
    json.dumps(
        {
            "host": {"consumption": 1.91e8, "timestamp": 1772359200.5 + 2 * at},
            "consumers": [{"exe": "lmp", "pid": 4711, "consumption": 1.2e8, "timestamp": 1772359200.5}],
            "sockets": [
                {"id": k, "consumption": 9.5e7 + k * 1e6, "domains": [], "timestamp": 1772359200.5 + 2 * at}
                for k in (0, 1)
            ],
        }
    )
    + "\n"
    for at in (0, 1)
)
PROMETHEUS = json.dumps(
    {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "Hostname": "n1", "gpu": gpu},
                    "values": [[1772359200, watts], [1772359210, watts]],
                }
                for gpu, watts in (("0", "100.5"), ("1", "50"))
            ],
        },
    }
)
TELEGRAF = "".join(
    f"nvidia_smi,host=n1,index={gpu},name=Tesla\\ V100 "
    f'power_draw={watts},power_limit=300,driver="535 x" {ns}\n'
    for ns in (1772359200000000000, 1772359210000000000)
    for gpu, watts in (("0", "100.5"), ("1", "50"))
)


def test_nvidia_smi_dmon__times_gpus_and_blanks() -> None:
    ds = readers.parse(SMI.encode(), "f", tz="UTC")
    assert readers.engines_of(SMI.encode())[0] == "gpu_dmon"
    assert ds.meter.values.tolist() == ["0", "1"]
    assert ds.power.sel(meter="0").values.tolist() == [40.0, 140.0]
    assert str(ds.time.values[0])[:19] == "2026-03-01T10:00:00"
    assert ds.power.sel(meter="1").isnull().values.tolist() == [False, True]


def test_nvidia_smi_dmon__decimal_comma() -> None:
    """It was a traceback."""
    text = SMI.replace(" 140  ", "140,5 ")
    assert text != SMI
    ds = readers.parse(text.encode(), "f", tz="UTC")
    assert ds.power.sel(meter="0").values.tolist() == [40.0, 140.5]


def test_dcgmi_dmon__needs_a_start_and_counts_joules() -> None:
    start = {"start": "2026-03-01T10:00:00Z", "interval": 10.0}
    ds = readers.parse(DCGM.encode(), "f", **start)
    # 100 W, then 200 W, 10 s apart: a trapezium of 1500 J
    assert energy(ds.sel(meter=["0"]), *ds.time.values[[0, 1]])["energy"].item() == 1500.0
    counter = "#Entity   TOTEC\nID        mJ\nGPU 0     1000000\nGPU 0     2500000\n"
    ds = readers.parse(counter.encode(), "f", **start)
    assert ds.energy_counter.values.tolist() == [[0.0, 1500.0]]
    undated = readers.parse(DCGM.encode(), "f")
    assert undated.warnings == ["f: the log has no date; times count from 1970; pass start= with a date"]


@pytest.mark.parametrize(
    ("text", "names"), [(PROMETHEUS, ["n1/0", "n1/1"]), (TELEGRAF, ["n1/0/Tesla V100", "n1/1/Tesla V100"])]
)
def test_exports__hold_the_same_readings(text: str, names: list[str]) -> None:
    ds = readers.parse(text.encode(), "f")
    assert ds.meter.values.tolist() == names
    assert ds.power.values.tolist() == [[100.5, 100.5], [50.0, 50.0]]
    assert energy(ds, *ds.time.values[[0, 1]])["energy"].values.tolist() == [1005.0, 500.0]
    assert ds.complete is True


def test_prometheus__counters_in_mj_and_mixed_series() -> None:
    joules = PROMETHEUS.replace("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
    joules = joules.replace('[1772359210, "100.5"]', '[1772359210, "2100.5"]')
    ds = readers.parse(joules.encode(), "f")
    assert ds.energy_counter.values[0].tolist() == pytest.approx([0.0, 2.0])
    mixed = PROMETHEUS.replace("DCGM_FI_DEV_POWER_USAGE", "kepler_node_joules_total", 1)
    with pytest.raises(ReadError, match="powers and energy counters in one answer"):
        readers.parse(mixed.encode(), "f")


def test_telegraf__line_that_is_cut_is_named() -> None:
    ds = readers.parse((TELEGRAF + "nvidia_smi,host=n1,ind\n").encode(), "f")
    assert (ds.complete, ds.warnings) == (False, ["f:5: no line in the protocol; the line is not used"])


@pytest.mark.parametrize(
    ("text", "meters", "watts"),
    [
        (SMI_TABLES, ["0", "1"], [[52.0, 310.0], [None, None]]),
        (SMI_LISTS, ["00000000:07:00.0"], [[52.15, 310.5]]),  # neither the memory's power nor the module's
        (
            SMI_LISTS.replace("    Power Draw", "    Average Power Draw"),
            ["00000000:07:00.0"],
            [[52.15, 310.5]],
        ),
        (SCAPHANDRE, ["socket0", "socket1"], [[95.0, 95.0], [96.0, 96.0]]),
    ],
)
def test_loops__give_each_reading_its_time(text: str, meters: list[str], watts: list[Any]) -> None:
    ds = readers.parse(text.encode(), "x.log")
    assert [str(one) for one in ds["meter"].values] == meters
    found = ds["power"].values.tolist()
    assert [[None if one != one else one for one in row] for row in found] == watts
    seconds = (ds["time"].values[-1] - ds["time"].values[0]) / np.timedelta64(1, "s")
    assert seconds == (2.0 if text == SCAPHANDRE else 5.0)


def test_loops__a_single_table_is_no_log() -> None:
    """A job prints it to show its GPUs; with what follows, it is the output of that."""
    with pytest.raises(ReadError, match="has no known format"):
        readers.parse(TABLE.format(stamp=STAMPS[0], a=52).encode(), "job.out")
    with pytest.raises(ReadError, match="the reading has no time"):
        readers.parse(SMI_TABLES.replace("Sun Mar  1", "").encode(), "x.log")
