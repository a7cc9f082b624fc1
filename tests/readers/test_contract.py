"""What every reader keeps to: found by content, conforming, no wrong number out of a damaged file."""

from __future__ import annotations

import random
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers import engines
from analysis.schema import registry

from .merits.texts import SAMPLES as MERITS
from .samples import CLOSED, JSON, LOGS, ROOT, SAMPLES

SIZE = {engine: len(data) for engine, data in SAMPLES.items()}
TEXTS = {engine: data for engine, data in SAMPLES.items() if engine != "slurm_profile"} | {"json": JSON}
# Sums and guesses over what is left, and free text that is kept in parts.
DERIVED = {"energy_counter", "step_time", "startup_steps", "valid", "termination", "extra", "step", "row"}
PROFILES = ("ipm", "mpip", "tau", "caliper", "hpctoolkit")
CUTS = 120  # of a longer file; a shorter one is cut at every byte


def attempt(engine: str, data: bytes) -> xr.Dataset | None:
    """Read some bytes; any exception but a refusal in one line that names the file fails the test."""
    refusal = "f: none"
    ds = None
    try:
        ds = readers.parse(data, "f", engine={"json": "sacct"}.get(engine, engine))
    except ReadError as error:
        refusal = str(error)
    assert re.fullmatch(r"f(:\d+)?: .+", refusal)
    if ds is not None:
        registry.check(ds)
        assert ds.complete or ds.warnings
    return ds


def values(ds: xr.Dataset) -> set[tuple[str, object]]:
    """Return every label and value by the name of its variable, without the blanks."""
    return {
        (name, value if isinstance(value, str) else round(float(value), 9))
        for name in map(str, ds.variables)
        if name not in DERIVED
        for value in ds[name].values.reshape(-1).tolist()
        if isinstance(value, str) or (value is not None and value == value and value != -1)
        if value != ""
    }


def test_contract__every_engine_has_a_sample_and_a_name_in_xarray() -> None:
    assert set(SAMPLES) == set(readers.ENGINES)
    metadata: dict[str, dict[str, dict[str, str]]] = {}
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["CustomMetadataHook"]
    hook(str(ROOT), {}).update(metadata)
    names = metadata["entry-points"]["xarray.backends"]
    assert names == {engine: f"analysis.readers.engines:{engine}" for engine in SAMPLES}
    assert engines.turbostat.description.startswith("turbostat: ``PkgWatt``, ``RAMWatt`` ")
    assert all(
        getattr(engines, engine).description == readers.summary(engine).rstrip(".") for engine in SAMPLES
    )


@pytest.mark.parametrize("engine", SAMPLES)
def test_contract__content_finds_the_engine_and_xarray_opens_it(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(SAMPLES[engine])
    # The accounting is sacct's unless its energies are asked for; any table of powers is a CSV too.
    first = "sacct" if engine == "slurm_energy" else engine
    found = readers.engines_of(SAMPLES[engine], "file")
    assert found[:1] == [first]
    assert set(found) <= {first, "power_csv"}
    ds = readers.open(path, engine=engine)
    registry.check(ds)
    assert ds.complete is True
    kinds = dict.fromkeys(PROFILES, "profile") | dict.fromkeys(MERITS, "merits") | {"table": "runs"}
    assert ds.kind == ("power" if readers.is_power(engine) else kinds.get(engine, engine))
    assert ds.kind != "merits" or readers.engine_of(ds) == engine
    assert ds.identical(readers.open(path)) or engine == "slurm_energy"
    dropped = sorted(map(str, ds.data_vars))[0]
    with xr.open_dataset(path, engine=engine, drop_variables=dropped) as opened:
        assert set(ds.variables) - set(opened.variables) == {dropped}
    with xr.open_dataset(path, engine=engine) as opened:
        opened.to_netcdf(tmp_path / "saved.nc")
    with xr.open_dataset(tmp_path / "saved.nc") as saved:
        assert (saved.complete, saved.warnings) == (1, "\n".join(ds.warnings))
        xr.testing.assert_equal(saved.load(), ds)
        numbers = [name for name, one in saved.variables.items() if one.dtype.kind == "f"]
        assert not [name for name in numbers if ds[name].dtype.kind not in "f"], "labels became numbers"


@pytest.mark.parametrize("engine", SAMPLES)
def test_contract__what_is_of_another_format_is_refused(engine: str) -> None:
    assert readers.reader(engine).sniff(b"", "") is False
    strange = [b"", b"\n\n", b"nothing of the kind\n", b"\x00\xff" * 200, b"\x89HDF\r\n\x1a\n\x00\x00" * 4]
    if not readers.is_power(engine):
        strange += [data for other, data in SAMPLES.items() if {engine, other} != {"sacct", "slurm_energy"}]
        strange.remove(SAMPLES[engine])
    for data in strange:
        assert attempt(engine, data) is None, data[:60]


@pytest.mark.parametrize("engine", TEXTS)
def test_contract__cut_anywhere_keeps_what_is_whole_and_says_so(engine: str) -> None:
    data = TEXTS[engine].rstrip()
    whole = attempt(engine, TEXTS[engine])
    assert whole is not None
    assert whole.complete
    known = values(whole)
    for cut in range(1, len(data), 1 + len(data) // CUTS if len(data) > 3 * CUTS else 1):
        ds = attempt(engine, data[:cut])
        if ds is None:
            continue
        # Where nothing closes a file it may end at any line.
        may_end = engine not in (*CLOSED, "json") and (engine in LOGS or data[cut - 1 : cut + 1].count(b"\n"))
        assert ds.complete is False or may_end or not ds.get("valid", True), cut
        if engine not in PROFILES:  # what is left is summed; they have tests of their own
            assert values(ds) <= known, (cut, values(ds) - known)


@pytest.mark.parametrize("engine", SAMPLES)
def test_contract__garbled_file_is_read_or_refused(engine: str) -> None:
    draw = random.Random(20261121)
    outcomes = set()
    for _ in range(40):
        data = bytearray(SAMPLES[engine])
        for _ in range(draw.randint(1, 8)):
            at = draw.randrange(len(data))
            what = draw.randrange(3)
            if what == 0:
                data[at] = draw.randrange(256)
            elif what == 1:
                del data[at : at + draw.randint(1, 40)]
            else:
                data[at:at] = draw.choice(
                    [b"\n", b"\x00", b"=", b"1e999", b"-", b'"', b"|", b"\xff\xfe", b"9" * 30]
                )
        ds = attempt(engine, bytes(data))
        outcomes.add("refused" if ds is None else "read" if ds.complete else "incomplete")
    # If all had one outcome, this test would try less than it says.
    assert len(outcomes) > 1


@pytest.mark.parametrize("engine", LOGS)
def test_contract__shuffled_log_is_in_order_or_refused(engine: str) -> None:
    lines = LOGS[engine].splitlines(keepends=True)
    draw = random.Random(5)
    for _ in range(10):
        draw.shuffle(lines)
        ds = attempt(engine, b"".join(lines))
        assert ds is None or (np.diff(ds["time"].values) > np.timedelta64(0)).all()
