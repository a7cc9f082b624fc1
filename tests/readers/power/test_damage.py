"""Logs cut at every byte, and garbled: what is whole is kept, and no wrong number comes out."""

import json
import random

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError

from .test_cpu import PERF, POWERSTAT, TURBO
from .test_devices import POWER, T0, WT, xml
from .test_ipmi import FREE, block
from .test_node import GEOPM

FREE_TWO = "".join(
    FREE.format(watts=w, unit="Watts", stamp=f"12/29/2026 - 08:58:0{i}", state="Active")
    for i, w in enumerate((164, 165))
)
CARD = json.dumps({"card0": {"Average Graphics Package Power (W)": "36.5"}})
LOGS = {
    "ipmitool": block(240) + block(251, "Sun Mar  1 10:00:05 2026"),
    "freeipmi": FREE_TWO,
    "perf": PERF,
    "rapl": "time,zone,energy_uj\n" + "".join(f"{1772323200 + i},p,{150_000_000 * i}\n" for i in range(4)),
    "turbostat": TURBO.format(a="1772359205.000", p="100.25") + TURBO.format(a="1772359210.000", p="120.25"),
    "powerstat": POWERSTAT,
    "nvidia_smi": xml({"power_draw": "67.03 W"})
    + xml({"power_draw": "70.04 W"}, stamp="Sun Mar  1 10:00:01 2026"),
    "rocm_smi": f"{T0}\n{CARD}\n2026-03-01T10:00:01Z\n{CARD}\n",
    "amd_smi": f'{T0}\n[{{"gpu": 0, "power": {{"socket_power": {{"value": 142.5, "unit": "W"}}}}}}]\n',
    "redfish": f"{T0} {json.dumps(POWER)}\n2026-03-01T10:00:01Z {json.dumps(POWER)}\n",
    "ptdaemon": "".join(f"Time,12-23-2026 10:21:5{i}.496,Watts,23.25,Volts,228.37\n" for i in range(3)),
    "wattsup": "".join(f"2026-03-01T10:00:0{i}Z #d,-,18,1245,1191,97;\n" for i in range(3)),
    "yokogawa": WT,
    "ear": "JOBID;NODENAME;DC_NODE_POWER_W;TIMESTAMP\n"
    + "".join(f"1;n1;300.5;{1772359200 + 10 * i}\n" for i in range(3)),
    "geopm": GEOPM,
    "cray": "".join(f"energy: {19213436 + 750 * i} J {1772359200 + 10 * i}000000 us\n" for i in range(3)),
    "power_csv": "time,outlet,watts\n" + "".join(f"{1772359200 + i},A1,100.5\n" for i in range(3)),
}


def attempt(engine, data, **options):
    """Return the dataset or the message of a refusal; any other exception fails the test."""
    try:
        return readers.parse(data, "log", engine=engine, **options), ""
    except ReadError as error:
        return None, str(error)


def watts(ds):
    values = ds["power"].values
    return {round(float(v), 6) for v in values[np.isfinite(values)]}


@pytest.mark.parametrize("engine", LOGS)
def test_damage__log_cut_anywhere(engine):
    data = LOGS[engine].encode()
    whole = watts(attempt(engine, data)[0])
    assert whole
    for size in range(len(data)):
        ds, refused = attempt(engine, data[:size])
        if ds is None:
            assert refused.startswith("log:")
            assert "\n" not in refused
        else:
            assert watts(ds) <= whole, data[:size][-60:]


@pytest.mark.parametrize("engine", LOGS)
def test_damage__garbled_log_is_read_or_refused(engine):
    draw = random.Random(11)
    data = LOGS[engine].encode()
    for _ in range(60):
        spoilt = bytearray(data)
        for _ in range(draw.randrange(1, 8)):
            spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
        ds, refused = attempt(engine, bytes(spoilt), date_order="mdy")
        assert "\n" not in refused
        assert refused or ds.attrs["kind"] == "power"


@pytest.mark.parametrize("engine", LOGS)
def test_damage__shuffled_log_is_read_or_refused(engine):
    lines = LOGS[engine].splitlines(keepends=True)
    draw = random.Random(5)
    for _ in range(20):
        draw.shuffle(lines)
        ds, refused = attempt(engine, "".join(lines).encode())
        assert "\n" not in refused
        assert refused or (np.diff(ds["time"].values) > np.timedelta64(0)).all()


def test_damage__hdf5_is_no_text_and_text_is_no_hdf5():
    for engine in LOGS:
        with pytest.raises(ReadError):
            readers.parse(b"\x89HDF\r\n\x1a\n\x00\x00" * 4, "log", engine=engine)
    with pytest.raises(ReadError, match="broken HDF5"):
        readers.parse(LOGS["perf"].encode(), "log", engine="slurm_profile")
