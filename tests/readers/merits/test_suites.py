"""WRF, IO500, fio's text, SPEC's reports: a run in another form, runs that failed, what they state."""

from __future__ import annotations

import json

import numpy as np
import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.importing import hardware
from analysis.importing.detect import printed_dates
from analysis.importing.stated import rows

from . import suites
from .test_merits import named, read
from .texts import TEXTS


def test_wrf__steps_of_the_inner_domain_are_no_steps_of_the_outer_one() -> None:
    inner = "Timing for main: time 2019-11-26_12:02:00 on domain   2:    9.00000 elapsed seconds\n"
    at = suites.WRF.index("Timing for main: time 2019-11-26_12:02:24")
    ds = read("wrf", suites.WRF[:at] + inner + suites.WRF[at:])
    assert (named(ds, "mean time of a step"), named(ds, "time of writing")) == ([0.3], [0.5])
    expected = "grid=425x300 physics=mp8+cu6 dt=72 simulated=2019-11-26_12:01:12..2019-11-26_12:04:48"
    assert ds.attrs["problem_identity"] == expected


def test_wrf__date_that_is_none_leaves_the_step_open() -> None:
    ds = read("wrf", suites.WRF.replace("time 2019-11-26_12:04:48", "time 2019-19-26_12:04:48"))
    assert " dt=? " in ds.attrs["problem_identity"]


def test_wrf__servers_of_io_are_ranks_too_and_a_run_that_stopped_has_no_figure() -> None:
    text = suites.WRF.replace("1 groups of   0 I/O", "2 groups of   3 I/O")
    assert int(read("wrf", text)["ranks"]) == 14
    stopped = read("wrf", suites.WRF.replace("wrf: SUCCESS COMPLETE WRF", "FATAL"))
    assert (stopped.complete, np.isnan(stopped.figure_of_merit)) == (False, True)


@pytest.mark.parametrize("text", [suites.IO500_INI, suites.IO500_2019])
def test_io500__reads_the_score_from_all_its_files(text: str) -> None:
    ds = read("io500", text)
    assert round(float(ds["figure_of_merit"]), 4) == 11.3137
    assert (named(ds, "bandwidth"), named(ds, "ior-easy-read"), named(ds, "find")) == (
        [4.0],
        [16.0],
        [1024.0],
    )


def test_io500__summary_and_result_of_a_run_have_the_same_numbers_and_one_states_its_ranks() -> None:
    summary, result = read("io500"), read("io500", suites.IO500_INI)
    assert rows(summary) == rows(result)
    assert (int(summary["ranks"]), int(result["ranks"])) == (-1, 64)
    assert result.attrs["problem_identity"] == "mode=standard config=6C6B3A84"
    dates = printed_dates(suites.IO500_INI.encode())
    assert dates["date_end"] - dates["date"] == 51 * 60 + 25


def test_io500__score_until_2018_is_a_product_and_an_invalid_one_is_not_used() -> None:
    ds = read("io500", suites.IO500_2019.replace("11.3137", "128.000"))
    assert (ds.complete, named(ds, "score"), float(ds["figure_of_merit"])) == (True, [], 128.0)
    for text in (suites.IO500.replace("TOTAL 11.313708", "TOTAL 11.313708 [INVALID]"),
                 suites.IO500_2019.replace("[SCORE]", "[SCORE-invalid]"),
                 suites.IO500_2019.replace("[RESULT] BW", "[RESULT-invalid] BW", 1)):  # fmt: skip
        assert bool(read("io500", text)["valid"]) is False


def test_fio__text_has_what_a_group_did_in_all() -> None:
    ds = read("fio", suites.FIO_TEXT)
    assert (ds.complete, str(ds.figure_of_merit_unit.values), ds.tool_version) == (True, "B/s", "3.1")
    assert float(ds["figure_of_merit"]) == pytest.approx(1024 * 2**20 / 61.568)
    assert (named(ds, "read iops"), set(ds["case"].values)) == ([4260.0], {"read"})
    assert ds.attrs["problem_identity"].startswith("rw=read bs=(R)4096B-4096B")


def test_fio__rate_with_a_wrong_fraction_is_not_used() -> None:
    # fio 3.16 printed 20.99 MiB/s as 20.0.
    text = suites.FIO_TEXT.replace("bw=16.6MiB/s (17.4MB/s), ", "bw=16.0MiB/s (16.8MB/s), ")
    assert float(read("fio", text)["figure_of_merit"]) == pytest.approx(1024 * 2**20 / 61.568)
    assert read("fio", suites.FIO_TEXT.replace("bw=16.6MiB/s", "bw=26.6MiB/s")).complete is False


def test_fio__before_2_99_kilobytes_are_of_1024_bytes() -> None:
    ds = read("fio", suites.FIO_OLD)
    assert (named(ds, "write"), named(ds, "read")) == ([596856 * 1024 / 10.481], [8192 * 2**20 / 1.099])
    assert (ds.complete, list(ds["case"].values), ds.tool_version) == (True, ["a", "b"], "1.57")


def test_fio__group_without_a_status_and_a_job_with_an_error() -> None:
    assert read("fio", suites.FIO_OLD[: suites.FIO_OLD.index("Run status group 1")]).complete is False
    assert bool(read("fio", suites.FIO_TEXT.replace("err= 0", "err= 5"))["valid"]) is False


def test_spec__text_and_csv_of_a_result_are_known_to_be_one() -> None:
    text, table = read("spec"), read("spec", suites.SPEC_CSV)
    assert rows(text) == rows(table)
    assert (named(table, "base"), named(table, "peak"), int(table["ranks"])) == ([8.0], [12.0], 64)
    assert text.attrs["problem_identity"] == table.attrs["problem_identity"] == "suite=SPECrate2017_fp"


def test_spec__mean_without_some_benchmarks_is_of_another_problem() -> None:
    row = "508.namd_r           64        220       2.00  *     128        374       4.50  *"
    text = suites.SPEC.replace(row, "508.namd_r                                     NR")
    text = text.replace("base                 8.00", "base                 32.0").replace(
        "  12.0\n", "  32.0\n"
    )
    ds = read("spec", text.replace(" SPECrate", " Est. SPECrate"))
    assert ds.attrs["problem_identity"] == "suite=SPECrate2017_fp without=508.namd_r"
    assert (ds.complete, named(ds, "base")) == (True, [32.0])


def test_spec__speed_of_cpu2006_and_a_suite_of_mpi() -> None:
    speed = """\
SPEC(R) CINT2006 Summary
Benchmarks        Ref.   Run Time     Ratio
------------    ------  ---------  ---------
400.perlbench     9770        332       32.0  *
401.bzip2         9650        557       2.00  *
==============================================
400.perlbench     9770        332       32.0  *
401.bzip2         9650        557       2.00  *
 Est. SPECint(R)_base2006                8.00
"""
    ds = read("spec", speed)
    assert (ds.attrs["problem_identity"], int(ds["ranks"])) == ("suite=SPECint2006", -1)
    ranks = speed.replace("Ref. ", "Ranks").replace("9770", "  64").replace("9650", "  64")
    ds = read("spec", ranks.replace("SPECint(R)_base2006", "SPECmpiM_base2007  "))
    assert (ds.attrs["problem_identity"], int(ds["ranks"])) == ("suite=SPECmpiM2007", 64)


@pytest.mark.parametrize("text", [suites.SPEC, suites.SPEC_CSV])
def test_spec__report_names_its_machine_and_its_date(text: str) -> None:
    facts = hardware.stated(text)
    assert (facts["cpu"], facts["cluster"].startswith("Model 7 Server System")) == ("Xeon Gold 6148", True)
    assert printed_dates(text.encode())["date"] == 1615107635.0
    assert readers.engines_of(text.encode(), "x.txt") == ["spec"]


# LLNL's AMG before AMG2023: the mean of one setup and three solves, each with its iterations.
AMG = """\
Running with these driver parameters:
  Laplacian_27pt:
    (Nx, Ny, Nz) = (64, 64, 32)
    (Px, Py, Pz) = (2, 2, 1)

Problem 1: AMG Setup Time:
=============================================
PCG Setup:
  wall clock time = 2.000000 seconds

FOM_Setup: nnz_AP / Setup Phase Time: 3.000000e+06

PCG Solve:
  wall clock time = 1.000000 seconds

Iterations = 10
FOM_Solve: nnz_AP * Iterations / Solve Phase Time: 6.000000e+07

Figure of Merit (FOM_1): 4.575000e+07
"""


def test_amg__before_amg2023_has_its_own_figure() -> None:
    ds = read("amg2023", AMG)
    assert (ds.complete, float(ds["figure_of_merit"]), int(ds["ranks"])) == (True, 4.575e7, 4)
    assert (ds.attrs["main"], ds.attrs["problem_identity"]) == ("FOM_1", "problem_id=1 grid=64,64,32")
    for wrong in (("4.575000e+07", "4.675000e+07"), ("Iterations = 10", "Iterations = 11")):
        assert read("amg2023", AMG.replace(*wrong)).complete is False
    twice = read("amg2023", AMG + AMG)
    assert (twice.complete, len(named(twice, "FOM_1"))) == (True, 2)


def test_amg2023__each_of_two_results_is_compared_with_its_own_parts() -> None:
    one = TEXTS["amg2023"]
    two = read("amg2023", one + one)
    assert (two.complete, len(named(two, "FOM"))) == (True, 2)


def test_lulesh__quiet_run_without_its_banner_is_read() -> None:
    quiet = TEXTS["lulesh"][TEXTS["lulesh"].index("Run completed") :]
    ds = read("lulesh", quiet)
    assert (ds.complete, float(ds["figure_of_merit"]), int(ds["ranks"])) == (True, 176.65632, 8)


def test_mlperf_inference__result_is_the_rate_above_and_not_one_of_the_statistics() -> None:
    server = "Completed samples per second    : 32.73\nCompleted tokens per second: 9522.20"
    text = suites.MLPERF_INFERENCE.replace("Samples per second: 14442.9", server)
    text = text.replace("Mean latency", "Scheduled samples per second : 32.97\nMean latency")
    ds = read("mlperf_inference", text)
    assert (ds.attrs["main"], float(ds["figure_of_merit"])) == ("completed tokens per second", 9522.2)
    assert named(ds, "scheduled samples per second") == []
    # Tokens that LoadGen infers from the samples are no result.
    inferred = text.replace("tokens per second:", "tokens per second (inferred):")
    assert float(read("mlperf_inference", inferred)["figure_of_merit"]) == 32.73
    # A stream of several samples has the 99th percentile; the 90th is among the statistics.
    several = suites.MLPERF_SINGLE.replace("90th", "99th").replace("SingleStream", "MultiStream")
    ds = read("mlperf_inference", several)
    assert (ds.attrs["main"], named(ds, "latency at 90 %")) == ("99th percentile latency", [2.5e6])
    assert bool(read("mlperf_inference", text.replace(": VALID", ": INVALID"))["valid"]) is False
    single = read("mlperf_inference", suites.MLPERF_SINGLE)
    assert (float(single["figure_of_merit"]), str(single["figure_of_merit_unit"].values)) == (2.5e6, "ns")
    wrong = suites.MLPERF_SINGLE.replace("latency (ns) : 2500000", "latency (ns) : 2500100")
    assert read("mlperf_inference", wrong).complete is False


def test_mlperf_inference__log_of_its_settings_has_no_figure_and_one_of_accuracy_is_no_run() -> None:
    ds = read("mlperf_inference", suites.LOADGEN)
    assert (ds.sizes["merit"], ds.complete, ds.attrs["tool_version"]) == (0, True, "1.1")
    assert ds.attrs["problem_identity"] == read("mlperf_inference").attrs["problem_identity"]
    assert not readers.reader("mlperf").sniff(suites.LOADGEN.encode())
    with pytest.raises(ReadError, match="a test of accuracy"):
        read("mlperf_inference", suites.LOADGEN.replace("PerformanceOnly", "AccuracyOnly"))


def jobs_of_fio(*names: str, groups: tuple[int, ...]) -> str:
    """Several jobs of 1000 MiB each in 8 s, the second in 10 s, as fio 3.26 writes them."""
    document = json.loads(TEXTS["fio"])
    (job,) = document["jobs"]
    took = (8, 10, 8, 8)
    document["jobs"] = [
        job | {"jobname": name, "groupid": group, "write": job["write"] | {
            "runtime": took[at] * 1000, "bw_bytes": 1048576000 // took[at], "iops": 1000 / took[at],
        }}
        for at, (name, group) in enumerate(zip(names, groups, strict=True))
    ]  # fmt: skip
    return json.dumps(document)


def test_fio__processes_at_once_are_summed_as_its_text_sums_them() -> None:
    ds = read("fio", jobs_of_fio("w", "w", "w", groups=(0, 0, 0)))
    assert float(ds["figure_of_merit"]) == 3 * 1048576000 / 10  # in the time of the longest
    assert (named(ds, "write iops"), ds.complete, list(ds["case"].values)) == ([300.0], True, ["w", "w"])
    two = read("fio", jobs_of_fio("a", "b", groups=(0, 0)))
    assert (float(two["figure_of_merit"]), set(two["case"].values)) == (2 * 1048576000 / 10, {"a+b"})
    assert ds.attrs["problem_identity"].endswith("numjobs=3")
    wrong = jobs_of_fio("w", "w", groups=(0, 0)).replace('"iops": 125.0', '"iops": 525.0')
    assert read("fio", wrong).complete is False  # each is compared by itself


def test_fio__jobs_one_after_the_other_have_no_one_figure() -> None:
    ds = read("fio", jobs_of_fio("a", "b", groups=(0, 1)))
    assert named(ds, "write") == [131072000.0, 104857600.0]
    assert np.isnan(float(ds["figure_of_merit"]))
