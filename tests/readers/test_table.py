"""Tables of runs: typed by the registry, a bad line costs itself and is named."""

from __future__ import annotations

import csv
import lzma
from pathlib import Path

import numpy as np
import pytest

from analysis import readers
from analysis.base import project
from analysis.base.errors import ReadError
from analysis.readers import table

HEAD = "run,cpu,cores,figure_of_merit,start\n"
LINE = "1,Xeon X5670,12,140.5,2010-06-01\n"


def test_table__reads_every_line_of_the_shipped_ones() -> None:
    tables = {}
    for path in sorted(project.root().glob("data/raw/*/*.csv*")):
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        if data.startswith(b"run,"):
            tables[path] = data
    assert len(tables) >= 7
    for path, data in tables.items():
        ds = readers.open(path)
        rows = list(csv.DictReader(data.decode().splitlines()))
        assert ds.attrs["engine"] == "table"
        assert ds.attrs["complete"]
        assert ds["run"].values.tolist() == [row["run"] for row in rows]
        for name in set(rows[0]) & {"figure_of_merit", "latency", "mean_power"}:
            given = [float(row[name]) for row in rows if row[name]]
            assert np.nansum(ds[name].values) == pytest.approx(sum(given))
            assert int(np.isfinite(ds[name].values).sum()) == len(given)


def test_table__what_is_not_there_is_blank() -> None:
    ds = readers.parse(
        (HEAD + LINE + LINE.replace("1,", "2,", 1).replace("12,140.5,2010-06-01", ",,")).encode()
    )
    assert ds["cores"].values.tolist() == [12, -1]
    assert ds["figure_of_merit"].values[0] == 140.5
    assert np.isnan(ds["figure_of_merit"].values[1])
    assert str(ds["start"].values[0])[:10] == "2010-06-01"
    assert np.isnat(ds["start"].values[1])
    assert ds["mpi"].values.tolist() == ["", ""]


def test_table__a_start_is_a_day_or_a_second() -> None:
    ds = readers.parse(
        (HEAD + LINE + LINE.replace("1,", "2,", 1).replace("06-01", "06-01T15:10:24")).encode()
    )
    assert ds["start"].values.astype(str).tolist() == [
        "2010-06-01T00:00:00.000000000",
        "2010-06-01T15:10:24.000000000",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("140.5", "fast", "figure_of_merit 'fast' is no number"),
        ("140.5", "inf", "figure_of_merit 'inf' is no number"),
        (",12,", ",12.5,", "cores '12.5' is no count"),
        (",12,", ",-12,", "cores '-12' is no count"),
        ("2010-06-01", "June 2010", "start 'June 2010' is no date"),
        ("2010-06-01", "2010-02-30", "start '2010-02-30' is no date"),
        ("2010-06-01", "2010-06-01T24:10:00", "start '2010-06-01T24:10:00' is no date"),
        (",12,", ",12,13,", "6 cells, the table has 5 columns"),
        ("1,Xeon", ",Xeon", "names no run"),
        ("1,Xeon", "3,Xeon", "'3' is there twice"),
    ],
)
def test_table__a_bad_line_is_named_and_left_out(old: str, new: str, said: str) -> None:
    text = HEAD + LINE.replace("1,", "3,", 1) + LINE.replace(old, new) + LINE.replace("1,", "4,", 1)
    ds = table.parse(text.encode(), "t.csv")
    assert ds["run"].values.tolist() == ["3", "4"]
    assert not ds.attrs["complete"]
    assert len(ds.attrs["warnings"]) == 1
    assert ds.attrs["warnings"][0].startswith(f"t.csv:3: {said}")


@pytest.mark.parametrize("cut", range(1, len(LINE)))
def test_table__a_cut_file_is_never_whole(cut: int) -> None:
    ds = table.parse((HEAD + LINE + LINE.replace("1,", "2,", 1)[:-cut]).encode(), "t.csv")
    assert not ds.attrs["complete"]
    assert ds["run"].values[0] == "1"


def test_table__sizes_may_repeat_a_run_but_not_a_size() -> None:
    text = "run,case,size,latency\na,osu_latency,8,1.5\na,osu_latency,64,1.6\na,osu_latency,64,9\n"
    ds = table.parse(text.encode(), "t.csv")
    assert ds.attrs["kind"] == "micro"
    assert ds["latency"].values.tolist() == [1.5, 1.6]
    assert ds.attrs["warnings"] == ["t.csv:4: 'a 64' is there twice; left out; correct the line"]


@pytest.mark.parametrize(
    "head", ["run,cpu,cpu", "run,cpu", "run,cpu,price", "cpu,run,cores", "figure,run,cpu"]
)
def test_table__refuses_another_heading(head: str, tmp_path: Path) -> None:
    assert not table.sniff(f"{head}\n".encode())
    with pytest.raises(ReadError, match=r"t\.csv:1: is no heading of a table of runs"):
        table.parse(f"{head}\n1,2,3\n".encode(), "t.csv")
