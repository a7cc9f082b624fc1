"""Every format is small and found by its file alone; the examples of CONTRIBUTING.md work as printed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import analysis
from analysis import readers
from analysis.readers import engines
from analysis.readers.format import modules

FORMATS = sorted(name for name, module in modules().items() if module.startswith("power."))
ROOT = Path(__file__).parents[3]
FOLDER = Path(analysis.__file__).parent / "readers/power/formats"


@pytest.mark.parametrize("name", FORMATS)
def test_formats__each_is_under_80_lines(name):
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) < 80


def test_formats__a_file_is_all_that_registers():
    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} == set(FORMATS)
    assert len(FORMATS) == 28
    engine = engines.turbostat
    assert (engine.engine, engine.description) == ("turbostat", readers.reader("turbostat").__doc__[:-1])
    assert engines.turbostat is engine
    with pytest.raises(AttributeError, match="no attribute 'turbostar'"):
        _ = engines.turbostar


EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
# 100 W and 200 W a minute apart are 9 kJ; 11:00 in Berlin is 10:00 UTC in March.
LOGS = (
    "[2026-03-01 11:00:00] rack1: 100 W\nrebooted\n[2026-03-01 11:01:00] rack1: 200.0 W\n",
    "Zeit;Dose;Leistung (W)\n01.03.2026 11:00:00;rack1;100,0\n01.03.2026 11:01:00;rack1;200,0\n",
)
TRY = """
import json, sys
from analysis import readers
from analysis.energy import energy
assert readers.__file__.startswith(sys.argv[1]), readers.__file__
for log in sys.argv[2:]:
    engine, = readers.engines_of(open(log, "rb").read())[:1]
    ds = readers.open(log, tz="Europe/Berlin")
    start, end = ds["time"].values
    joules = energy(ds, start, end)["energy"].item()
    faults = [w.split(":", 1)[1] for w in ds.attrs["warnings"]]
    print(json.dumps([engine, ds["meter"].item(), str(start)[:19], joules, ds.attrs["complete"], faults]))
"""


def test_formats__examples_of_contributing_are_formats(tmp_path):
    assert len(EXAMPLES) == len(LOGS)
    shutil.copytree(
        Path(analysis.__file__).parent,
        tmp_path / "src/analysis",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    logs = []
    for name, code, log in zip(("house", "sockets"), EXAMPLES, LOGS, strict=True):
        (tmp_path / f"src/analysis/readers/power/formats/{name}.py").write_text(code)
        logs.append(tmp_path / f"{name}.log")
        logs[-1].write_text(log)
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(tmp_path), *map(str, logs)],
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    house, sockets = map(json.loads, done.stdout.splitlines())
    assert house[:5] == ["house", "rack1", "2026-03-01T10:00:00", 9000.0, False]
    assert house[5] == ["2: no reading of the house's meter; the line is not used"]
    assert sockets == ["sockets", "rack1", "2026-03-01T10:00:00", 9000.0, True, []]
