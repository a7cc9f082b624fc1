"""A small whole file of each engine."""

from __future__ import annotations

import io
import json
from pathlib import Path

import h5py
import numpy as np

from .merits.texts import SAMPLES as MERITS
from .power.test_cpu import LIKWID, PERF, PERF_TABLE, POWERSTAT, TURBO
from .power.test_devices import BARE, POWER, T0, WT, xml
from .power.test_dmon import PROMETHEUS, SCAPHANDRE, SMI, SMI_LISTS, TELEGRAF
from .power.test_ipmi import FREE, block
from .power.test_node import EACCT, GEOPM
from .test_caliper import PROFILE as CALIPER
from .test_hpctoolkit import EXPERIMENT
from .test_lsdyna import ACCOUNT
from .test_openatom import OUTPUT
from .test_proxy import LINE as PROXY
from .test_published import HEAD as FIGURES
from .test_published import LINE as FIGURE
from .test_tau import PROFILE as TAU

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "data/raw/vm-hpcg"
DATA = ROOT / "tests/data"
JSON = (CAMPAIGN / "sacct-one-job.json").read_bytes()


def _hpcc() -> bytes:
    data = (DATA / "hpcc/n2.txt").read_bytes()
    begin, end = data.index(b"Begin of Summary"), data.index(b"End of Summary section.\n")
    return data[begin : end + len(b"End of Summary section.\n")]


def _mpip() -> bytes:
    data = (DATA / "mpip/mix_350_d.mpiP").read_bytes()
    return data[: data.index(b"End of Report") + len(b"End of Report")]


def _hdf5() -> bytes:
    series = np.array(
        [(1772359200 + i, 300 + i) for i in range(3)], dtype=[("EpochTime", "i8"), ("Power", "i8")]
    )
    file = io.BytesIO()
    with h5py.File(file, "w") as h5:
        h5["n1/Energy"] = series
    return file.getvalue()


_CARD = json.dumps({"card0": {"Average Graphics Package Power (W)": "36.5"}})
_TEXTS = {
    "ipmitool": block(240) + block(251, "Sun Mar  1 10:00:05 2026"),
    "freeipmi": "".join(
        FREE.format(watts=w, unit="Watts", stamp=f"12/29/2026 - 08:58:0{i}", state="Active")
        for i, w in enumerate((164, 165))
    ),
    "gpu_dmon": SMI,
    "nvidia_text": SMI_LISTS,
    "scaphandre": SCAPHANDRE,
    "prometheus": PROMETHEUS,
    "telegraf": TELEGRAF,
    "perf": PERF,
    "perf_stat": PERF_TABLE,
    "likwid": LIKWID,
    "eacct": EACCT,
    "nvidia_csv": BARE,
    "rapl": "time,zone,energy_uj\n" + "".join(f"{1772323200 + i},p,{150_000_000 * i}\n" for i in range(4)),
    "turbostat": TURBO.format(a="1772359205.000", p="100.25") + TURBO.format(a="1772359210.000", p="120.25"),
    "powerstat": POWERSTAT,
    "nvidia_smi": xml({"power_draw": "67.03 W"})
    + xml({"power_draw": "70.04 W"}, stamp="Sun Mar  1 10:00:01 2026"),
    "rocm_smi": f"{T0}\n{_CARD}\n2026-03-01T10:00:01Z\n{_CARD}\n",
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
    "slurm_energy": "JobID|Start|End|ConsumedEnergyRaw\n"
    + "".join(f"{i}|2026-03-01T10:00:00|2026-03-01T10:01:00|{100 + i}\n" for i in range(7, 10)),
}

LOGS = {engine: text.encode() for engine, text in _TEXTS.items()}
SAMPLES = LOGS | {
    **{engine: text.encode() for engine, text in MERITS.items()},
    "slurm_profile": _hdf5(),
    "hpcc": _hpcc(),
    "hpcg": (DATA / "hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt").read_bytes(),
    "imb": (DATA / "imb/nbc_openmpi_n2.txt").read_bytes(),
    "ipm": (DATA / "ipm/hpcg_n2.ipm.xml").read_bytes(),
    "lsdyna": ACCOUNT[: ACCOUNT.rindex(b"t i o n") + len(b"t i o n")],
    "mpip": _mpip(),
    "openatom": OUTPUT,
    "osu": (DATA / "osu/allreduce_n4.txt").read_bytes(),
    "proxy": PROXY,
    "published": (FIGURES + FIGURE + FIGURE.replace("f1", "f2")).encode(),
    "run": (CAMPAIGN / "runs/001/run.json").read_bytes(),
    "sacct": b"".join((CAMPAIGN / "sacct.txt").read_bytes().splitlines(keepends=True)[:6]),
    "table": b"run,cpu,cores\n" + b"".join(b"%d,Xeon X5670,12\n" % i for i in range(2, 5)),
    "tau": TAU,
    "caliper": CALIPER,
    "hpctoolkit": EXPERIMENT,
}
# Closed by a mark of their own, so that a cut is seen wherever it is.
CLOSED = (
    *(engine for engine in MERITS if engine != "jube"),
    "hpcc",
    "hpcg",
    "imb",
    "ipm",
    "lsdyna",
    "mpip",
    "openatom",
    "run",
    "tau",
    "caliper",
    "hpctoolkit",
)
