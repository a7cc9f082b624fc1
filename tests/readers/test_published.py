"""The table of published figures as a dataset; a bad line costs itself and is named."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base import project
from analysis.base.errors import ReadError
from analysis.readers import published

TABLE = project.raw("published") / "figures.csv"
HEAD = TABLE.read_text(encoding="utf-8").partition("\n")[0] + "\n"
LINE = "f1,r1,s1,p,hpcg,2.4,16³,venus,X5472,8,64,ib-qdr,Open MPI,gcc,self,,rating,11.2185,,Gflop/s,,\n"


def read(text: str) -> xr.Dataset:
    return readers.parse(text.encode(), "figures.csv")


def test_published__reads_every_line_of_the_table() -> None:
    ds = readers.open(TABLE)
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ds.attrs["kind"] == "published"
    assert ds.attrs["complete"]
    assert ds.sizes["figure"] == len(rows) == 417
    assert list(ds["figure"].values) == [row["figure"] for row in rows]
    assert ds["value"].values.sum() == pytest.approx(sum(float(row["value"]) for row in rows))
    assert int((ds["nodes"] == -1).sum()) == sum(not row["nodes"] for row in rows)


def test_published__opens_as_an_engine_of_xarray() -> None:
    ds = xr.open_dataset(TABLE, engine="published")
    first = ds.isel(figure=0)
    assert str(first["run"].item()) == "venus-hpcg-001"
    assert (float(first["value"]), str(first["unit"].item())) == (4.05525, "Gflop/s")
    assert (int(first["nodes"]), int(first["ranks"]), int(first["size"])) == (6, 48, -1)


def test_published__what_a_source_does_not_say_is_blank() -> None:
    ds = read(HEAD + LINE.replace(",8,64,", ",,,"))
    assert int(ds["nodes"][0]) == int(ds["ranks"][0]) == int(ds["size"][0]) == -1
    assert np.isnan(ds["high"][0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("11.2185", "", "has no finite value"),
        ("11.2185", "fast", "value 'fast' is no number"),
        ("11.2185", "inf", "has no finite value"),
        (",8,64,", ",eight,64,", "nodes 'eight' is no count"),
        (",8,64,", ",8,-64,", "ranks '-64' is no count"),
        (",Gflop/s,", ",,", "has no unit"),
        ("s1", "", "has no source"),
        (",Gflop/s,,", ",Gflop/s,perhaps,", "qualifier 'perhaps' is not one of"),
        (",Gflop/s,,", ",Gflop/s,range,", "a range has an upper end"),
        ("self,", "self,openib,", "23 cells, the table has 22 columns"),
    ],
)
def test_published__a_bad_line_is_named_and_left_out(old: str, new: str, said: str) -> None:
    assert LINE.count(old) == 1
    ds = read(HEAD + LINE.replace(old, new) + LINE.replace("f1", "f2"))
    assert list(ds["figure"].values) == ["f2"]
    assert not ds.attrs["complete"]
    assert ds.attrs["warnings"] == [w for w in ds.attrs["warnings"] if w.startswith("figures.csv:2: ")]
    assert said in ds.attrs["warnings"][0]


def test_published__a_figure_that_stands_twice_counts_once() -> None:
    ds = read(HEAD + LINE + LINE.replace("11.2185", "12"))
    assert ds["value"].values.tolist() == [11.2185]
    assert ds.attrs["warnings"] == ["figures.csv:3: figure 'f1' is there twice; left out; correct the line"]


@pytest.mark.parametrize("cut", [1, 20, 60, len(LINE) - 1])
def test_published__a_cut_file_is_never_whole(cut: int) -> None:
    ds = read(HEAD + LINE + LINE.replace("f1", "f2")[:-cut])
    assert not ds.attrs["complete"]
    assert ds["figure"].values[0] == "f1"
    assert any(":3: " in warning for warning in ds.attrs["warnings"])


def test_published__columns_stand_in_any_order() -> None:
    backwards = "".join(",".join(reversed(line.split(","))) + "\n" for line in (HEAD + LINE).splitlines())
    assert backwards != HEAD + LINE
    assert read(backwards).identical(read(HEAD + LINE))


def test_published__refuses_another_table() -> None:
    with pytest.raises(ReadError, match=r"other\.csv:1: does not begin with the columns"):
        published.parse(b"time,power\n1,2\n", "other.csv")
    assert not published.sniff(b"figure,run\n")


def test_published__every_figure_has_a_source_with_an_address() -> None:
    with (Path(TABLE.parent) / "sources.csv").open(newline="", encoding="utf-8") as file:
        sources = {row["source"]: row for row in csv.DictReader(file)}
    named = set(readers.open(TABLE)["source"].values)
    assert named == set(sources)
    assert all(row["address"].startswith("http") and row["title"] for row in sources.values())
