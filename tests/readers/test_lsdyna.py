"""Accounts of made-up runs, in LS-DYNA's layout; the numbers asserted stand in the text below."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import benchbook
from analysis import readers
from analysis.base.errors import ReadError
from analysis.datasets.applications import facts, load_applications
from analysis.readers import lsdyna

ROOT = Path(__file__).parents[2]

BANNER = """
     Date: 03/02/2014      Time: 09:12:01
      ___________________________________________________
     |                                                   |
     |  LS-DYNA, A Program for Nonlinear Dynamic         |
     |  Analysis of Structures in Three Dimensions       |
     |  Version : mpp s R7.0.0    Date: 01/15/2013       |
     |  Revision: 79069           Time: 10:20:30         |
     |  Platform   : Xeon64 System                       |
     |  Hostname   : node001                             |
     |  Precision  : Single precision (I4R4)             |
     |___________________________________________________|

 MPP execution with     640 procs

"""
TIMING = """
 N o r m a l    t e r m i n a t i o n                          03/02/14 09:37:22

 T i m i n g   i n f o r m a t i o n
                        CPU(seconds)   %CPU  Clock(seconds) %Clock
  ----------------------------------------------------------------
  Keyword Processing ... 2.5000E+00    0.17     2.7500E+00    0.18
    KW Reading ......... 1.2500E+00    0.08     1.5000E+00    0.10
  Element processing ... 9.0000E+02   60.00     9.1000E+02   60.00
    Shells ............. 8.5000E+02   56.67     8.6000E+02   56.70
  Contact algorithm .... 4.5000E+02   30.00     4.5500E+02   30.00
    Interf. ID         1 4.0000E+02   26.67     4.0400E+02   26.64
  Rigid Bodies ......... 1.4750E+02    9.83     1.4892E+02    9.82
  ----------------------------------------------------------------
  T o t a l s            1.5000E+03  100.00     1.5167E+03  100.00

"""
CLOSING = """ Problem time       =    1.5000E-01
 Problem cycle      =    150001
 Total CPU time     =      1500 seconds (   0 hours 25 minutes  0 seconds)
 CPU time per zone cycle  =        12 nanoseconds
 Clock time per zone cycle=       13 nanoseconds
 Start time   03/02/2014 09:12:01
 End time     03/02/2014 09:37:22
 Elapsed time    1521 seconds for  150001 cycles using   640 MPP procs
             (      0 hours 25 minutes 21 seconds)

 N o r m a l    t e r m i n a t i o n                          03/02/14 09:37:22
"""
ACCOUNT = (BANNER + TIMING + CLOSING).encode()


def with_elapsed(line: str) -> xr.Dataset:
    closing = f" Elapsed time {line}\n N o r m a l    t e r m i n a t i o n\n"
    return lsdyna.parse(closing.encode(), "d3hsp")


def test_lsdyna__reads_the_end_of_an_mpp_run() -> None:
    ds = lsdyna.parse(ACCOUNT)
    assert (ds.elapsed.item(), ds.cycles.item(), ds.ranks.item(), ds.threads.item()) == (
        1521,
        150001,
        640,
        -1,
    )
    assert (ds.termination.item(), ds.valid.item()) == ("normal", True)
    assert (ds.problem_time.item(), ds.problem_cycle.item(), ds.cpu_total.item()) == (0.15, 150001, 1500)
    assert (ds.cpu_per_zone_cycle.item(), ds.clock_per_zone_cycle.item()) == (12, 13)
    assert ds.start.values == np.datetime64("2014-03-02T09:12:01")
    # 09:37:22 less 09:12:01 is 25 min 21 s.
    assert (ds.end - ds.start).values == np.timedelta64(1521, "s")
    assert (ds.tool_version, ds.revision, ds.hostname) == (
        "mpp s R7.0.0",
        "79069",
        "node001",
    )
    assert ds.complete is True
    assert ds.warnings == []


def test_lsdyna__elapsed_carries_its_resolution_and_unit() -> None:
    ds = lsdyna.parse(ACCOUNT)
    assert ds.elapsed_resolution.item() == 1.0
    assert ds.elapsed.attrs["units"] == ds.elapsed_resolution.attrs["units"] == "s"
    assert "units" not in ds.problem_time.attrs


def test_lsdyna__reads_the_timing_table() -> None:
    ds = lsdyna.parse(ACCOUNT)
    assert ds.section.values.tolist() == [
        "Keyword Processing",
        "KW Reading",
        "Element processing",
        "Shells",
        "Contact algorithm",
        "Interf. ID 1",
        "Rigid Bodies",
        "Totals",
    ]
    assert ds.parent.values.tolist() == [
        "",
        "Keyword Processing",
        "",
        "Element processing",
        "",
        "Contact algorithm",
        "",
        "",
    ]
    assert ds.clock_time.values[2] == 910
    assert ds.cpu_share.values[5] == 26.67
    top = ds.isel(section=ds.parent.values == "")
    # 2.75 + 910 + 455 + 148.92 = 1516.67, the total to its five digits
    assert float(top.clock_time[:-1].sum()) == pytest.approx(1516.67)
    assert top.clock_time.values[-1] == 1516.7


@pytest.mark.parametrize(
    ("line", "elapsed", "cycles", "ranks", "threads"),
    [
        ("     51 seconds(   0 hours  0 min. 51 sec.) for   19862 cycles", 51, 19862, -1, -1),
        ("     22 seconds for   47494 cycles using     8 MPP procs and  2 SMP threads", 22, 47494, 8, 2),
        ("      0 second  for       1 cycles using  4 SMP threads", 0, 1, -1, 4),
        ("      7 seconds for      90 cycles using     1 MPP proc", 7, 90, 1, -1),
    ],
)
def test_lsdyna__reads_the_forms_of_elapsed(
    line: str, elapsed: float, cycles: int, ranks: int, threads: int
) -> None:
    ds = with_elapsed(line)
    assert (ds.elapsed.item(), ds.cycles.item()) == (elapsed, cycles)
    assert (ds.ranks.item(), ds.threads.item()) == (ranks, threads)
    assert ds.valid.item() is (elapsed > 0)


def test_lsdyna__time_of_no_second_is_none_to_compare() -> None:
    ds = lsdyna.parse(ACCOUNT.replace(b"    1521 seconds for", b"       0 second  for"), "d3hsp")
    assert (ds.elapsed.item(), ds.valid.item(), ds.complete) == (0, False, True)
    said = "d3hsp:39: the run took less than the second in which it is printed; do not use it"
    assert ds.warnings == [said]


def test_lsdyna__picoseconds_become_nanoseconds() -> None:
    text = ACCOUNT.replace(b"=       13 nanoseconds", b"=     630848.492 picoseconds")
    assert lsdyna.parse(text).clock_per_zone_cycle.item() == pytest.approx(630.848492, rel=1e-12)


def test_lsdyna__error_termination_is_no_valid_run() -> None:
    text = (BANNER + TIMING + CLOSING).replace("N o r m a l    t", "E r r o r   t")
    ds = lsdyna.parse(text.encode(), "mes0000")
    assert (ds.termination.item(), ds.valid.item(), ds.elapsed.item()) == ("error", False, 1521)
    assert ds.complete is True
    assert ds.warnings == ["mes0000:42: LS-DYNA ended with an error; do not use the run"]


# As R16 prints it in d3hsp; the longer names follow far below, for other cards.
MODEL = """
 Input file: D:\\Modified_Wing\\Scripts\\WingLattice_v2.k

    CONTROL CARD 1. Model Size-General

    number of nodal+scalar points..................         37418
    number of solid elements.......................        104621
    number of beam elements........................             12
    number of shell elements.......................             0
    number of thick shell elements.................             0
    number of SPH particles........................         300
    number of shell elements with initial stress ..             7
"""


def test_lsdyna__d3hsp_states_deck_and_size_of_the_model() -> None:
    ds = lsdyna.parse((BANNER + MODEL + TIMING + CLOSING).encode())
    # 104,621 + 12 + 300
    assert (ds.elements.item(), ds.attrs["input"], ds.warnings) == (104933, "WingLattice_v2", [])
    assert readers.problem(ds) == "input=WingLattice_v2 elements=104933 endtim=0.15"


@pytest.mark.parametrize("line", ["3cars.k", "/scratch/a b/3cars.K", "3cars.key   ", "./3cars"])
def test_lsdyna__mes0000_states_the_deck_alone(line: str) -> None:
    ds = lsdyna.parse((BANNER + f" Input file: {line}\n" + TIMING + CLOSING).encode())
    assert readers.problem(ds) == "input=3cars elements=? endtim=0.15"


def test_lsdyna__last_step_that_passes_the_end_is_no_other_problem() -> None:
    account = (BANNER + " Input file: 3cars.k\n" + TIMING + CLOSING).encode()
    ends = [account.replace(b"1.5000E-01", time) for time in (b"1.5000E-01", b"1.5002E-01", b"1.2000E-01")]
    first, second, shorter = (readers.problem(lsdyna.parse(end)) for end in ends)
    assert first == second == "input=3cars elements=? endtim=0.15"
    assert shorter == "input=3cars elements=? endtim=0.12"


def test_lsdyna__closing_lines_have_the_numbers_that_its_other_files_repeat() -> None:
    whole, messages = (
        lsdyna.rows(lsdyna.parse(text.encode())) for text in (BANNER + TIMING + CLOSING, CLOSING)
    )
    assert messages < whole
    assert sorted(dict(whole)) == [
        *("clock", "cpu_total", "cycles", "elapsed", "end", "hostname"),
        *("problem_cycle", "problem_time", "start"),
    ]


def test_lsdyna__killed_run_is_known_by_its_top() -> None:
    """The date at the top is that of the start, which the closing lines repeat."""
    ds = lsdyna.parse((BANNER + " Input file: 3cars.k\n").replace("\n", "\r\n").encode())
    assert ds.start.values == np.datetime64("2014-03-02T09:12:01") == lsdyna.parse(ACCOUNT).start.values
    began = float(ds.start.values.astype("i8"))
    assert lsdyna.rows(ds) == {("start", began), ("hostname", "node001"), ("input", "3cars")}


@pytest.mark.parametrize("option", ["r=d3dump01", "R=/scratch/x/sim.d3full02", "r=D:\\x y\\runrsf"])
@pytest.mark.parametrize("first", [True, False])
def test_lsdyna__rest_of_a_run_is_another_problem(option: str, first: bool) -> None:
    """R16 prints each option on a line of its own, the first behind the heading."""
    others = [" Command line options: i=3cars.k", "                       ncpu=4"]
    lines = [f" Command line options: {option}", *others[1:]] if first else [*others, f"{'':23}{option} "]
    ds = lsdyna.parse((BANNER + "\n".join(lines) + "\n Input file: 3cars.k\n" + TIMING + CLOSING).encode())
    dump = re.split(r"[/\\=]", option)[-1]
    assert readers.problem(ds) == f"input=3cars elements=? endtim=0.15 restart={dump}"
    assert any(f"continues from {dump}; its time is that of the rest" in one for one in ds.warnings)


def test_lsdyna__count_that_is_no_number_leaves_the_model_without_a_size() -> None:
    ds = lsdyna.parse((BANNER + MODEL.replace("104621", "1O4621") + TIMING + CLOSING).encode(), "d3hsp")
    assert (ds.elements.item(), ds.complete) == (-1, False)
    assert ds.warnings == [
        "d3hsp:22: 'number of solid elements.......................        1O4621' gives no number; "
        "the model has no size"
    ]


def test_lsdyna__account_with_bytes_of_zero_can_be_saved(tmp_path: Path) -> None:
    """A crash of the file system leaves them."""
    (tmp_path / "d3hsp").write_bytes(ACCOUNT.replace(b"node001", b"node\x00\x001"))
    benchbook.read(tmp_path / "d3hsp").to_netcdf(tmp_path / "saved.nc")
    with xr.open_dataset(tmp_path / "saved.nc") as saved:
        assert (saved.hostname, saved.elapsed.item()) == ("node1", 1521)


def test_lsdyna__killed_run_has_no_termination() -> None:
    ds = lsdyna.parse(BANNER.encode(), "d3hsp")
    assert (ds.termination.item(), ds.valid.item(), ds.ranks.item()) == ("none", False, 640)
    assert np.isnan(ds.elapsed.item())
    assert (ds.cycles.item(), ds.sizes["section"]) == (-1, 0)
    assert ds.complete is False
    assert ds.warnings == ["d3hsp:15: no termination is printed; the run was killed or the file is cut"]


def test_lsdyna__overflown_elapsed_is_blank_and_named() -> None:
    ds = lsdyna.parse(ACCOUNT.replace(b"    1521 seconds for", b" ******* seconds for"), "d3hsp")
    assert np.isnan(ds.elapsed.item())
    assert ds.valid.item() is False
    assert any(warning.startswith("d3hsp:39: 'Elapsed time") for warning in ds.warnings)


def test_lsdyna__garbled_row_of_the_table_is_blank_and_named() -> None:
    ds = lsdyna.parse(ACCOUNT.replace(b"9.1000E+02   60.00", b"*********  60.00"), "d3hsp")
    assert np.isnan(ds.clock_time.values[2])
    assert ds.cpu_time.values[2] == 900
    assert ds.complete is False
    assert ds.warnings[0].startswith("d3hsp:24: the row of 'Element processing' has ")


def test_lsdyna__table_without_totals_is_named() -> None:
    text = ACCOUNT.replace(b"  T o t a l s            1.5000E+03  100.00     1.5167E+03  100.00\n", b"")
    ds = lsdyna.parse(text, "d3hsp")
    assert ds.sizes["section"] == 7
    assert ds.problem_time.item() == 0.15
    assert ds.warnings == [
        "d3hsp:31: the timing table ends without its totals; kept the rows before",
    ]


def test_lsdyna__last_account_of_a_restart_counts() -> None:
    text = ACCOUNT.replace(b"    1521 seconds", b"     900 seconds") + ACCOUNT
    ds = lsdyna.parse(text, "d3hsp")
    assert ds.elapsed.item() == 1521
    assert ds.sizes["section"] == 8
    assert ds.warnings[0].endswith("a second timing table; the last one is kept")


def test_lsdyna__reads_windows_line_ends_and_a_missing_last_one() -> None:
    ds = lsdyna.parse(ACCOUNT.replace(b"\n", b"\r\n").rstrip())
    assert (ds.elapsed.item(), ds.valid.item(), ds.complete) == (1521, True, True)


def test_lsdyna__refuses_other_text() -> None:
    with pytest.raises(ReadError, match=r"^x.txt: no line is one that LS-DYNA prints; "):
        lsdyna.parse(b"Elapsed time: 12 s\n", "x.txt")


def test_lsdyna__figure_of_merit_is_a_time() -> None:
    application = load_applications(ROOT / "config" / "applications")["ls-dyna"]
    found = facts(application, lsdyna.parse(ACCOUNT))
    assert (found["figure_of_merit"], found["figure_of_merit_unit"]) == (1521, "s")
    assert found["figure_of_merit_resolution"] == 1.0
    assert application.higher_is_better is False


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("4.5000E+02   30.00", "4.9000E+02   30.00", "Contact algorithm: 490 s of 1500 s are not 30 % CPU"),
        ("9.83     1.4892E+02", "9.33     1.4892E+02", "Rigid Bodies: 147.5 s of 1500 s are not 9.33 % CPU"),
        ("1.5000E+00    0.10", "1.9000E+00    0.10", "KW Reading: 1.9 s of 1516.7 s are not 0.1 % Clock"),
    ],
)
def test_lsdyna__shares_are_held_against_times(old: str, new: str, found: str) -> None:
    text = BANNER + TIMING + CLOSING
    assert text.count(old) == 1
    ds = lsdyna.parse(text.replace(old, new).encode(), "x")
    (warning,) = ds.attrs["warnings"]
    assert found in warning
