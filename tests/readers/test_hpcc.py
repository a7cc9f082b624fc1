from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from analysis.base.errors import ReadError
from analysis.readers import hpcc

FILE = Path(__file__).parents[1] / "data/hpcc/n2.txt"


def test_hpcc__reads_the_summary() -> None:
    ds = hpcc.parse(FILE.read_bytes())
    # awk between Begin and End of the summary counts 148 lines
    assert ds.sizes == {"entry": 148}
    assert ds.value.sel(entry="HPL_Tflops").item() == 0.00223901
    assert ds.value.sel(entry="MPIFFT_Gflops").item() == 1.53568
    assert ds.value.sel(entry="RandomlyOrderedRingLatency_usec").item() == 0.377484
    assert ds.text.sel(entry="HPL_sMACH_RMAX").item() == "3.402823e+38"
    assert (ds.tool_version, ds.ranks, ds.success) == ("1.5.0f", 2, 1)
    assert (ds.complete, ds.warnings) == (True, [])


def test_hpcc__text_has_no_number() -> None:
    ds = hpcc.parse(FILE.read_bytes())
    assert ds.text.sel(entry="HPL_cpfact").item() == "R"
    assert math.isnan(ds.value.sel(entry="HPL_cpfact").item())


def test_hpcc__summary_without_end_is_incomplete() -> None:
    text = FILE.read_bytes()
    ds = hpcc.parse(text[: text.index(b"MPIFFT_Gflops=1.53568") + 17], "cut.txt")
    assert ds.complete is False
    # grep -n: Begin is line 430, MPIFFT_Gflops line 542, which is cut after 1.5
    assert ds.sizes["entry"] == 111
    assert ds.entry.values[-1] == "MPIFFT_N"
    assert ds.warnings == [
        "cut.txt:542: the summary has no end and its last line may be cut; kept the whole lines"
    ]


def test_hpcc__file_cut_before_the_summary_has_no_entries() -> None:
    text = FILE.read_bytes()
    ds = hpcc.parse(text[: text.index(b"Begin of Summary")], "cut.txt")
    assert (ds.sizes["entry"], ds.complete) == (0, False)
    assert ds.warnings[0].startswith("cut.txt:429: no summary section; ")


def test_hpcc__failure_is_named() -> None:
    ds = hpcc.parse(FILE.read_bytes().replace(b"\nSuccess=1\n", b"\nSuccess=0\n"), "bad.txt")
    assert ds.success == 0
    assert ds.warnings == ["bad.txt:436: HPCC reports Success=0; a test failed; do not use its results"]


def test_hpcc__appended_runs_give_the_last_summary() -> None:
    text = FILE.read_bytes()
    ds = hpcc.parse(text + text.replace(b"MPIFFT_Gflops=1.53568", b"MPIFFT_Gflops=0.5"), "two.txt")
    assert ds.value.sel(entry="MPIFFT_Gflops").item() == 0.5
    assert ds.sizes["entry"] == 148
    # 584 lines a run
    assert ds.warnings == [
        "two.txt:430: a summary of an earlier run; left out; the last one, line 1014, is read"
    ]


def test_hpcc__garbled_line_is_left_out_and_named() -> None:
    ds = hpcc.parse(FILE.read_bytes().replace(b"\nPTRANS_GBs=", b"\nPTRANS_GBs~"), "x.txt")
    assert "PTRANS_GBs" not in ds.entry.values
    assert ds.complete is False
    assert "'PTRANS_GBs~0.103029' is no key=value line; left out" in ds.warnings[0]


def test_hpcc__other_text_is_refused() -> None:
    with pytest.raises(ReadError, match=r"^log: neither HPCC's banner nor its summary; "):
        hpcc.parse(b"a=1\n", "log")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        # awk: (2/3 * 400^3 + 3/2 * 400^2) / 0.0191633 s = 0.00223901e12
        (
            "HPL_time=0.0191633",
            "HPL_time=0.0191733",
            "450: HPL_Tflops: 4.29067e-05 in HPL_time of 0.0191733 s",
        ),
        ("HPL_N=400", "HPL_N=500", "450: HPL_Tflops"),
        ("MPIRandomAccess_GUPs=0.00117551", "MPIRandomAccess_GUPs=0.00317551", "519: MPIRandomAccess_GUPs"),
        ("LCG_ExeUpdates=524288", "LCG_ExeUpdates=524688", "510: MPIRandomAccess_LCG_GUPs"),
        (
            "AvgPingPongLatency_usec=0.510563",
            "AvgPingPongLatency_usec=0.610563",
            "551: AvgPingPongLatency_usec: 0.610563 is not between 0.467792 and 0.553333",
        ),
        (
            "MaxPingPongBandwidth_GBytes=23",
            "MaxPingPongBandwidth_GBytes=20",
            "553: AvgPingPongBandwidth_GBytes",
        ),
    ],
)
def test_hpcc__numbers_are_held_against_each_other(old: str, new: str, found: str) -> None:
    text = FILE.read_text()
    assert text.count(f"\n{old}" if not old.startswith("LCG") else old) == 1
    ds = hpcc.parse(text.replace(old, new).encode(), "x")
    assert ds.complete is False
    assert [warning for warning in ds.warnings if warning.startswith(f"x:{found}")]


def test_hpcc__a_later_run_that_did_not_end_is_named() -> None:
    text = FILE.read_text()
    begun = text[: text.index("Begin of Summary section.")]
    ds = hpcc.parse(f"{text}{begun}".encode(), "x")
    line = text.count("\n") + begun.count("\n", 0, begun.index("This is the DARPA")) + 1
    assert ds.complete is False
    assert ds.warnings[0].startswith(f"x:{line}: a later run began and left no summary; ")
    whole = hpcc.parse(f"{text}{text}".encode(), "x")
    assert whole.complete is True


def test_hpcc__tests_that_did_not_run_contradict_nothing() -> None:
    """A job of one rank prints -1 for its ping-pong, as seen in HPCC 1.5.0's output of others."""
    text = re.sub(r"(?m)^((?:Max|Min|Avg)PingPong\w+)=.*$", r"\1=-1", FILE.read_text())
    ds = hpcc.parse(text.encode())
    assert (ds.complete, ds.warnings) == (True, [])
