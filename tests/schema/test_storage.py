"""Datasets on disk: the same bytes, the same values, nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis import readers
from analysis.base import project
from analysis.base.errors import ReadError, SchemaError
from analysis.schema import registry, storage

# One of each kind: measured, with meters or tables of sizes, published, modelled, synthetic.
BUILT = ("vm-hpcg", "vm-profiles", "vm-exchange", "cloud-study", "published", "modelled", "syn-lsdyna2009")


def as_xarray_reads(path: Path) -> xr.DataTree:
    """Read a file by xarray's own way, group by group."""
    with xr.open_datatree(path, engine="h5netcdf") as stored:
        groups = [node.path for node in stored.subtree]
    found = {}
    for group in groups:
        with xr.open_dataset(path, group=group, engine="h5netcdf") as ds:
            spelt = {name: storage._spelt(array) for name, array in ds.load().variables.items()}
            coords = {name: spelt.pop(name) for name in ds.coords}
            found[group] = xr.Dataset(spelt, coords, storage._decode_attrs(ds.attrs))
    return xr.DataTree.from_dict(found)


def assert_same(ours: xr.DataTree, theirs: xr.DataTree) -> None:
    """Hold two trees against each other: values, types, and the order of everything."""
    xr.testing.assert_identical(ours, theirs)
    assert [node.path for node in ours.subtree] == [node.path for node in theirs.subtree]
    for one, other in zip(ours.subtree, theirs.subtree, strict=True):
        assert list(one.variables) == list(other.variables)
        assert list(one.coords) == list(other.coords)
        assert list(one.sizes) == list(other.sizes)
        for name, array in one.variables.items():
            assert array.dtype == other.variables[name].dtype
            assert [*array.attrs.items()] == [*other.variables[name].attrs.items()]


@pytest.fixture
def calls() -> xr.Dataset:
    frame = pd.DataFrame(
        {
            "run": ["001", "001", "Ünïcode"],
            "call": ["MPI_Send", "MPI_Wait", ""],
            "count": [3, 4, 5],
            "time": [0.1, np.nan, 1e-9],
            "bytes": [24.0, np.nan, 0.0],
        }
    )
    return registry.to_dataset([frame], "calls").assign_attrs(
        complete=False, warnings=["a:1: b; c"], nothing=None
    )


def test_write__read_gives_the_same_dataset(calls: xr.Dataset, tmp_path: Path) -> None:
    storage.write(calls, tmp_path / "calls.nc")
    back = storage.read(tmp_path / "calls.nc")
    xr.testing.assert_identical(back, calls)
    assert back.attrs["complete"] is False
    assert back.attrs["warnings"] == ["a:1: b; c"]


def test_write__same_input_same_bytes(calls: xr.Dataset, tmp_path: Path) -> None:
    for name in ("a.nc", "b.nc"):
        storage.write_tree({"calls": calls}, tmp_path / name, {"campaign": "x", "faults": []})
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_write__times_survive_with_their_gaps(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"run": ["1", "2"], "start": [np.datetime64("2026-11-21T00:27:31.240648500", "ns"), pd.NaT]}
    )
    runs = registry.to_dataset([frame], "runs")
    storage.write(runs, tmp_path / "runs.nc")
    back = storage.read(tmp_path / "runs.nc")
    assert back["start"].values[0] == np.datetime64("2026-11-21T00:27:31.240648500")
    assert np.isnat(back["start"].values[1])


def test_write__empty_table_survives(tmp_path: Path) -> None:
    storage.write(registry.to_dataset([], "matrix"), tmp_path / "matrix.nc")
    assert storage.read(tmp_path / "matrix.nc").sizes == {"row": 0}


def test_write__refuses_what_is_not_declared_and_leaves_no_file(calls: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'speed' is not declared"):
        storage.write(calls.assign(speed=("row", [1.0, 2.0, 3.0])), tmp_path / "calls.nc")
    assert list(tmp_path.iterdir()) == []


def test_write__failure_keeps_the_old_file(calls: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "calls.nc"
    storage.write(calls, path)
    before = path.read_bytes()
    with pytest.raises(SchemaError):
        storage.write(calls.drop_vars("time"), path)
    assert path.read_bytes() == before


# Run apart: the limit is that of a process. HDF5 prints pages on such a disk, or crashes.
FULL = """
import resource, signal, sys
import numpy as np, xarray as xr
from analysis.schema import storage
storage._SPARE = 1 << 62  # as on a disk that is nearly full
ds = storage.read(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), -1))
try:
    storage.write(ds, sys.argv[1])
except OSError as error:
    print(error.filename, error.strerror)
"""


def test_write__a_disk_that_fills_is_an_error_that_names_the_file(calls: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "calls.nc"
    storage.write(calls, path)
    before = path.read_bytes()
    for room in (100, 2000, len(before) // 2, len(before) - 1, len(before)):
        command = [sys.executable, "-c", FULL, str(path), str(room)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert done.stdout == ("" if room == len(before) else f"{path} File too large\n")
        assert path.read_bytes() == before
        assert [left.name for left in tmp_path.iterdir()] == ["calls.nc"]


def test_read__damaged_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.nc").write_bytes(b"no HDF5")
    with pytest.raises(ReadError, match=r"broken\.nc: cannot be read"):
        storage.read(tmp_path / "broken.nc")


def test_read_tree__a_file_that_was_never_built_says_so(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"campaign\.nc: is not there; build it: make report$"):
        storage.read_tree(tmp_path / "campaign.nc")


def test_read__unit_that_differs_from_the_registry_is_refused(calls: xr.Dataset, tmp_path: Path) -> None:
    storage.write(calls, tmp_path / "calls.nc")
    with xr.open_dataset(tmp_path / "calls.nc", engine="h5netcdf") as stored:
        changed = stored.load()
    changed["time"].attrs["units"] = "ms"
    changed.to_netcdf(tmp_path / "ms.nc", engine="h5netcdf")
    with pytest.raises(SchemaError, match="unit 'ms'; the registry wants 's'"):
        storage.read(tmp_path / "ms.nc")


def test_read_tree__groups_come_back(calls: xr.Dataset, tmp_path: Path) -> None:
    storage.write_tree(
        {"calls": calls, "matrix": registry.to_dataset([], "matrix")}, tmp_path / "t.nc", {"campaign": "x"}
    )
    tree = storage.read_tree(tmp_path / "t.nc")
    assert tree.attrs == {"campaign": "x"}
    xr.testing.assert_identical(tree["calls"].to_dataset(), calls)


@pytest.fixture
def mixed(calls: xr.Dataset, tmp_path: Path) -> Path:
    """Write a file of groups of every type, of one dimension, of two, and of none."""
    start = [np.datetime64("2026-11-21T00:27:31.240648500", "ns"), pd.NaT]
    runs = registry.to_dataset(
        [pd.DataFrame({"run": ["1", "2"], "start": start, "valid": [True, False], "nodes": [1, 2]})], "runs"
    )
    groups = {"calls": calls, "runs": runs, "matrix": registry.to_dataset([], "matrix")}
    storage.write_tree(groups, tmp_path / "mixed.nc", {"campaign": "x", "faults": [], "level": 3})
    return tmp_path / "mixed.nc"


def test_read_tree__is_what_xarray_reads(mixed: Path) -> None:
    assert_same(storage.read_tree(mixed), as_xarray_reads(mixed))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.datasets(name)) for name in BUILT])
def test_read_tree__is_what_xarray_reads_of_a_built_campaign(name: str) -> None:
    path = project.processed(name, project.root()) / "campaign.nc"
    assert_same(storage.read_tree(path), as_xarray_reads(path))
    for file in sorted(path.parent.glob("runs/*.nc"))[:3]:
        assert_same(storage.read_tree(file), as_xarray_reads(file))


def test_read_tree__only_the_groups_that_are_asked_for(mixed: Path) -> None:
    tree = storage.read_tree(mixed, ["runs"])
    assert list(tree.children) == ["runs"]
    assert tree.attrs["campaign"] == "x"
    xr.testing.assert_identical(tree["runs"].to_dataset(), storage.read(mixed, "runs"))


def test_read_tree__group_that_is_not_there_is_one_line(mixed: Path) -> None:
    with pytest.raises(ReadError, match=r"mixed\.nc: cannot be read"):
        storage.read_tree(mixed, ["meters"])
    with pytest.raises(ReadError, match=r"cannot be read .*no group.*; rebuild it: make report"):
        storage.read(mixed, "runs/nodes")


def test_read_tree__file_cut_anywhere_is_one_line(mixed: Path, tmp_path: Path) -> None:
    whole = mixed.read_bytes()
    cut = tmp_path / "cut.nc"
    assert len(whole) > 5 * 997
    for length in range(0, len(whole), 997):
        cut.write_bytes(whole[:length])
        with pytest.raises(ReadError, match=r"cut\.nc: cannot be read"):
            storage.read_tree(cut)


def test_read_tree__damage_within_is_one_line(mixed: Path, tmp_path: Path) -> None:
    whole = bytearray(mixed.read_bytes())
    at = whole.index(b"json:[", whole.index(b"labels"))
    whole[at : at + 6] = b"json:}"
    (tmp_path / "torn.nc").write_bytes(whole)
    with pytest.raises(ReadError, match=r"torn\.nc: cannot be read"):
        storage.read_tree(tmp_path / "torn.nc")


def test_conform__casts_and_names_the_unit() -> None:
    ds = registry.to_dataset(
        [pd.DataFrame({"run": ["1"], "rank": [0], "peer": [1], "count": [2], "bytes": [16]})], "matrix"
    )
    assert ds["bytes"].dtype == np.float64
    assert ds["bytes"].attrs["units"] == "B"


def test_dataset__labels_that_are_shared_belong_to_each_alone() -> None:
    text = (Path(__file__).parents[1] / "data/hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt").read_bytes()
    one, other = (readers.parse(text, "HPCG-Benchmark.txt") for _ in range(2))
    assert one.indexes["kernel"].tolist() == ["DDOT", "WAXPBY", "SpMV", "MG", "Total"]
    assert one.identical(other)
    renamed = one.assign_coords(kernel=["a", "b", "c", "d", "e"]).rename(axis="direction")
    assert renamed.indexes["direction"].name == "direction"
    assert other.indexes["kernel"].tolist() == ["DDOT", "WAXPBY", "SpMV", "MG", "Total"]
    assert other.indexes["axis"].name == "axis"
    assert float(other["time"].sel(kernel="Total")) == float(one["time"][4])


def test_dataset__is_what_xarray_makes_of_the_parts() -> None:
    text = (Path(__file__).parents[1] / "data/hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt").read_bytes()
    ours = readers.parse(text, "HPCG-Benchmark.txt")
    theirs = xr.Dataset(dict(ours.data_vars), ours.coords, ours.attrs)
    assert_same(xr.DataTree(ours), xr.DataTree(theirs))
    assert sorted(ours.indexes) == ["axis", "entry", "kernel", "statistic"]
    torn = {"entry": xr.Variable("entry", ["a", "b"]), "value": xr.Variable("entry", ["c"])}
    with pytest.raises(ValueError, match="conflicting sizes for dimension 'entry'"):
        registry.dataset(torn, "hpcg", {})


def test_dataset__every_dimension_that_names_a_variable_is_a_coordinate() -> None:
    lone = [
        (kind, name)
        for kind, table in registry.REGISTRY.items()
        for name, one in table.items()
        if one.dims == (name,) and not one.coordinate  # xarray would index it, and no reader does
    ]
    assert lone == []


def test_check__names_every_fault() -> None:
    ds = xr.Dataset({"count": ("row", [1.5])}, attrs={"kind": "matrix"})
    with pytest.raises(SchemaError) as error:
        registry.check(ds)
    text = str(error.value)
    assert "type float64; the registry wants i8" in text
    assert "'run' is missing" in text
    assert "'bytes' is missing" in text
