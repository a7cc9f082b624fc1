"""Make runs/ of MLPerf Inference's results: ``python make.py V2.0 V3.0``, two git directories.

The originals are the files of the repositories and at the commits that README.md names.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FILES = ("mlperf_log_detail.txt", "mlperf_log_summary.txt", "spl.txt")
# Watts for each GPU that `closed/NVIDIA/configs/*/Offline/__init__.py` sets, of the A100 and of the H100.
LIMITS = {"bert-99": (240, 290), "resnet50": (195, 215), "rnnt": (180, 200), "3d-unet-99.9": (165, 200)}
CARDS = ("bert-99", "bert-99.9", "resnet50", "ssd-resnet34")
# Of each of the two repositories: folder of a system -> its name, the models.
SYSTEMS = (
    {
        "r282_z93_q5e-qaic-v1.6.80-aic100": ("R282-Z93, 5 AIC100", CARDS),
        "r282_z93_q8e-qaic-v1.6.80-aic100": ("R282-Z93, 8 AIC100", CARDS),
    },
    {
        "A100-PCIe-80GBx8_TRT_MaxQ": ("G482-Z54, 8 A100 PCIe", tuple(LIMITS)),
        "H100-PCIe-80GBx8_TRT_MaxQ": ("G482-Z54, 8 H100 PCIe", tuple(LIMITS)),
    },
)
RUN = re.compile(r"(closed/([^/]+)/results/([^/]+)/([^/]+)/[Oo]ffline/performance/)run_1/spl\.txt")


# Where a record has its factors from, as of any imported run, which has no exit code.
ORIGINS = dict.fromkeys(("problem", "target_time", "version", "start", "end"), "output")


def record(run: str, case: str, cluster: str, tuning: str, detail: str) -> dict[str, Any]:
    """Return the record of a run: what its folder says, and what LoadGen wrote of its settings and times."""
    samples = _value(detail, "effective_performance_sample_count")
    times = {key: _value(detail, f"power_{name}") for key, name in (("start", "begin"), ("end", "end"))}
    return {
        "run": run, "campaign": HERE.name, "evidence": "published", "application": "mlperf-inference",
        "case": f"{case} Offline", "problem": f"scenario=Offline samples={samples} bound=0",
        "target_time": int(_value(detail, "effective_min_duration_ms")) / 1000,
        "version": _value(detail, "loadgen_version").split()[0],
        "cluster": cluster, "tuning": tuning, "nodes": 1,
    } | {
        key: datetime.strptime(text, "%m-%d-%Y %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()
        for key, text in times.items()
    }  # fmt: skip


def setting(case: str, system: str, client: str) -> str:
    """Return what was set of the accelerators: by NVIDIA's configuration, or by the launch line."""
    if system[1:4] == "100":
        return f"{LIMITS[case][system.startswith('H')]} W for each GPU"
    (clock,), (fans,) = (set(re.findall(rf"{key}\.(\d+)", client)) for key in ("vc", "fan_raw"))
    return f"vc {clock}, fans {fans}"


def _value(detail: str, key: str) -> str:
    found = re.search(rf'"key": "{key}", "value": "?([^",]+)', detail)
    return found[1] if found else sys.exit(f"no {key}")


def _git(repository: str, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True).stdout


def main(*repositories: str, out: Path = HERE) -> None:
    """Write a folder for each run: its three files, two of them compressed, and its record."""
    for repository, systems in zip(repositories, SYSTEMS, strict=True):
        paths = _git(repository, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines()
        for found in filter(None, map(RUN.fullmatch, paths)):
            folder, by, system, case = found.groups()
            cluster, cases = systems.get(system, ("", ()))
            if case not in cases:
                continue
            texts = {name: _git(repository, "show", f"HEAD:{folder}run_1/{name}") for name in FILES}
            client = _git(repository, "show", f"HEAD:{folder}power/client.log").decode()
            run = "-".join((by, re.split("-qaic|_TRT", system)[0], case)).lower()
            own = out / "runs" / run
            own.mkdir(parents=True)
            files = []
            for name, data in texts.items():
                short = name == "mlperf_log_summary.txt"
                file = name if short else f"{name}.xz"
                (own / file).write_bytes(data if short else lzma.compress(data))
                origin = {"file": file, "from": f"{folder}run_1/{name}", "sha256": sha256(data).hexdigest()}
                files.append(origin | ({"role": "power"} if name == "spl.txt" else {}))
            detail = texts["mlperf_log_detail.txt"].decode()
            about = record(run, case, cluster, setting(case, system, client), detail)
            about |= {"imported": {"files": files, "factors": ORIGINS}}
            (own / "run.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
