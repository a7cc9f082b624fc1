"""Readers of figures of merit: each value known from the text, failures carried, several results kept."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.format import modules
from analysis.readers.merits.output import Merit, TextFormat, agree, figure, step
from analysis.schema import registry

from . import texts
from .apps import FIO_TERSE, KNOWN_APPS, VERSIONS_APPS, WRONG
from .suites import KNOWN_SUITES, VERSIONS_SUITES, WRONG_SUITES
from .texts import CP, TEXTS


def read(engine: str, text: str | None = None) -> xr.Dataset:
    ds = readers.parse((text or TEXTS[engine]).encode(), "f")
    assert readers.engine_of(ds) == engine
    registry.check(ds)
    return ds


FORMATS = {name for name, module in modules().items() if module.startswith("merits.")}
# What each sample says, by eye: figure of merit, unit, step, time by its own clock, ranks, threads, nodes.
KNOWN = {
    "darshan": (2410.51954, "MiB/s", 1e-6, 0.2578, 1, -1, -1),
    "graph500": (8.00125e8, "TEPS", 1e3, math.nan, 16, -1, -1),
    "gromacs": (14.402, "ns/day", 0.001, 120.002, 32, 2, 2),
    "hpcbench": (7.98, "ns/day", math.nan, math.nan, 32, 8, 2),
    "hpl": (508.0, "Gflop/s", 0.01, 10.5, 8, -1, -1),
    "hpl_mxp": (62500.0, "Gflop/s", 1.0, math.nan, -1, -1, -1),
    "ior": (1300.75, "MiB/sec", 0.01, math.nan, 16, -1, 2),
    "jube": (math.nan, "", math.nan, math.nan, -1, -1, -1),
    "lammps": (16.0, "timesteps/s", 0.001, 12.5, 32, 2, -1),
    "mdtest": (10200.52, "1/s", 0.001, math.nan, 32, -1, 4),
    "namd": (0.0125, "s", 0.0001, 21.5, 32, -1, 2),
    "nwchem": (12.5, "s", 0.1, 12.5, 64, -1, -1),
    "openfoam": (7.0, "s", 1.0, 7.0, 8, -1, -1),
    "quantum_espresso": (280.76, "s", 0.01, 280.76, 32, 2, -1),
    "ramble": (512.25, "GFLOP/s", math.nan, math.nan, 64, 1, 4),
    "reframe": (98765.5, "MB/s", math.nan, math.nan, 1, -1, -1),
    "stream": (111220.9, "MB/s", 0.1, math.nan, -1, 16, -1),
    **KNOWN_APPS,
    **KNOWN_SUITES,
}
VERSIONS = {
    "darshan": "3.5.0",
    "gromacs": "2021.1",
    "hpcbench": "0.2",
    "hpl": "2.3",
    "hpl_mxp": "25.4.0",
    "ior": "3.3.0",
    "lammps": "29 Aug 2024 - Update 1",
    "mdtest": "1.9.3",
    "namd": "2.14",
    "nwchem": "7.0.0",
    "openfoam": "2312",
    "quantum_espresso": "7.2",
    "reframe": "4.7.2",
    "stream": "5.10",
    **VERSIONS_APPS,
    **VERSIONS_SUITES,
}


def test_merits__every_format_has_a_sample() -> None:
    assert FORMATS == set(TEXTS) == set(KNOWN)


@pytest.mark.parametrize("engine", sorted(KNOWN))
def test_merits__figure_unit_time_and_counts_are_those_of_the_text(engine: str) -> None:
    ds = read(engine)
    value, unit, resolution, took, ranks, threads, nodes = KNOWN[engine]
    np.testing.assert_equal(float(ds.figure_of_merit), value)
    np.testing.assert_equal(float(ds.figure_of_merit_resolution), resolution)
    np.testing.assert_equal(float(ds.benchmark_time), took)
    assert str(ds.figure_of_merit_unit.values) == unit
    assert (int(ds.ranks), int(ds.threads), int(ds.nodes)) == (ranks, threads, nodes)
    assert ds.tool_version == VERSIONS.get(engine, "")
    assert (ds.complete, bool(ds.valid)) == (True, True)


@pytest.mark.parametrize("engine", sorted(WRONG | WRONG_SUITES))
def test_merits__wrong_digit_is_contradicted_by_the_rest(engine: str) -> None:
    right, wrong = (WRONG | WRONG_SUITES)[engine]
    assert TEXTS[engine].count(right) == 1
    ds = read(engine, TEXTS[engine].replace(right, wrong))
    assert (ds.complete, math.isnan(float(ds.figure_of_merit))) == (False, True)
    assert "a number is damaged: get the output again" in ds.warnings[0]


def test_fio__json_and_terse_read_alike_and_a_wrong_rate_is_named() -> None:
    for text in (TEXTS["fio"], FIO_TERSE + "\n"):
        ds = read("fio", text)
        assert (ds.complete, named(ds, "write"), named(ds, "write iops")) == (True, [131072000.0], [125.0])
        assert set(ds.case.values) == {"seqwrite"}
        found = figure(ds, "write", case="seqwrite")
        assert found is not None
        assert found.unit == "B/s"
    wrong = read("fio", TEXTS["fio"].replace("131072000", "141072000"))
    assert wrong.complete is False
    failed = read("fio", TEXTS["fio"].replace('"error": 0', '"error": 5'))
    assert bool(failed.valid) is False


@pytest.mark.parametrize(
    "line",
    [
        " Each process may use up to 2 threads.",  # 18.1
        "Each process may be using 2 threads",
        " Each process using 2 threads",
    ],
)
def test_castep__threads_in_the_words_of_each_release(line: str) -> None:
    after = "over   64 processes.\n"
    assert int(read("castep", TEXTS["castep"].replace(after, f"{after}\n{line}\n"))["threads"]) == 2


def test_mlperf__states_its_nodes_and_ranks() -> None:
    entry = TEXTS["mlperf"].partition("\n")[0]
    more = "".join(
        re.sub('"key": "[^"]*", "value": [^,}]*', f'"key": "number_of_{name}", "value": {value}', entry)
        + "\n"
        for name, value in (("nodes", 2), ("ranks", 16))
    )
    ds = read("mlperf", more + TEXTS["mlperf"])
    assert (int(ds["nodes"]), int(ds["ranks"])) == (2, 16)


def test_mlperf__run_without_success_failed() -> None:
    ds = read("mlperf", TEXTS["mlperf"].replace("success", "aborted"))
    assert (ds.complete, bool(ds.valid)) == (True, False)
    endless = read("mlperf", TEXTS["mlperf"].replace("run_stop", "run_went"))
    assert endless.complete is False


def named(ds: xr.Dataset, name: str) -> list[float]:
    return ds["value"].values[ds["merit"].values == name].tolist()


def test_merits__all_figures_are_kept() -> None:
    ior = read("ior")
    assert named(ior, "write") == [1250.5, 1300.75]
    assert named(ior, "read") == [2400.25, 2500.25]
    assert named(ior, "Max Read") == [2500.25]
    stream = read("stream")
    assert {name: named(stream, name)[0] for name in ("Copy", "Scale", "Add", "Triad")} == {
        "Copy": 101250.5,
        "Scale": 98400.3,
        "Add": 110800.7,
        "Triad": 111220.9,
    }
    lammps = read("lammps")
    assert {name: named(lammps, name) for name in ("ns/day", "tau/day", "atom-step/s")} == {
        "ns/day": [1.382],
        "tau/day": [],
        "atom-step/s": [512.0],
    }
    # 6.1 s after the third step, 2.5 s after the first
    assert named(read("openfoam"), "ExecutionTime per step") == [pytest.approx(1.8)]
    assert named(read("quantum_espresso"), "total energy") == [-221.12345678]
    assert named(read("gromacs"), "hour/ns") == [1.666]
    # 4 reads and 12 writes of 65536 B
    darshan = read("darshan")
    assert (named(darshan, "POSIX bytes read"), named(darshan, "POSIX bytes written")) == ([262144], [786432])


def test_merits__what_was_not_run_has_no_figure() -> None:
    mdtest = read("mdtest")
    assert named(mdtest, "File read") == []
    assert named(mdtest, "File creation max") == [10300.52]
    # Validation was skipped: Graph500 says -1.
    assert not [name for name in read("graph500").merit.values if "validate" in name]


def test_hpl__rows_of_nvidia_and_intel() -> None:
    nvidia = (
        "WR00L2L2      110000   320     2     2              34.96              2.538e+04 ( 6.345e+03 )\n"
    )
    ds = read("hpl", TEXTS["hpl"].replace(texts.HPL_ROW, nvidia))
    assert (float(ds.figure_of_merit), float(ds.figure_of_merit_resolution)) == (25380.0, 10.0)
    intel = "WRC07R8C48c 211       523008   384     1     2        12788.60         7.4578e+03\n"
    ds = read("hpl", TEXTS["hpl"].replace(texts.HPL_ROW, intel))
    assert (float(ds.figure_of_merit), float(ds.benchmark_time), int(ds.ranks)) == (7457.8, 12788.6, 2)
    assert ds.problem.values[0] == "N=523008 NB=384 P=1 Q=2 WRC07R8C48c"


def test_hpl__several_results_are_kept_the_largest_speaks_and_a_failure_is_said() -> None:
    slower = texts.HPL_TABLE + texts.HPL_ROW.replace("10.50 ", "13.33 ").replace("5.0800e+02", "4.0010e+02")
    text = texts.HPL_HEAD + texts.HPL_TABLE + texts.HPL_ROW + texts.HPL_CHECK.format(word="PASSED")
    both = read("hpl", text + slower + texts.HPL_CHECK.format(word="PASSED") + texts.HPL_END)
    assert named(both, "Gflops") == [508.0, 400.1]
    assert (float(both.figure_of_merit), bool(both.valid)) == (508.0, True)
    assert both.warnings == ["f:16: 2 results in one file; all are kept; the largest is the main figure"]
    failed = read("hpl", text + slower + texts.HPL_CHECK.format(word="FAILED") + texts.HPL_END)
    assert failed.check.values.tolist() == ["passed", "passed", "failed", "failed"]
    assert (failed.complete, bool(failed.valid)) == (True, False)
    assert failed.warnings[0] == "f:22: HPL says that the check of 1 result(s) failed; do not use the run"


def test_hpl__second_run_in_one_file_is_cut() -> None:
    ds = read("hpl", TEXTS["hpl"] + texts.HPL_HEAD)
    assert ds.complete is False
    assert math.isnan(float(ds.figure_of_merit))
    assert named(ds, "Gflops") == [508.0]


def test_hpl__hpcc_is_left_to_its_own_reader() -> None:
    text = b"HPC Challenge Benchmark version 1.5.0\n" + TEXTS["hpl"].encode()
    assert readers.engines_of(text) == ["hpcc"]


@pytest.mark.parametrize(
    ("engine", "old", "new"),
    [
        ("stream", "Solution Validates: avg", "Failed Validation on array a[], AvgRelAbsErr > epsilon"),
        ("hpl_mxp", "PASSED", "FAILED"),
        ("ior", "Max Write", "WARNING: Incorrect data on write (3 errors found).\nMax Write"),
        (
            "quantum_espresso",
            "   JOB DONE",
            "     convergence NOT achieved after 100 iterations\n   JOB DONE",
        ),
    ],
)
def test_merits__failed_check_is_carried(engine: str, old: str, new: str) -> None:
    ds = read(engine, TEXTS[engine].replace(old, new))
    assert (ds.complete, bool(ds.valid)) == (True, False)
    assert "failed; do not use the run" in ds.warnings[0]


def test_graph500__invalid_run_says_so() -> None:
    head, _, _ = TEXTS["graph500"].partition("bfs  min_time")
    ds = read(
        "graph500",
        head + "Validation failed for this BFS root; skipping rest.\nNo results printed for invalid run.\n",
    )
    assert (bool(ds.valid), ds.complete) == (False, False)
    assert ds.warnings[0] == "f:7: the validation failed; do not use the run"


def test_lulesh__time_has_the_digits_of_the_line_below_and_must_agree_with_it() -> None:
    ds = read("lulesh")
    assert named(ds, "Elapsed time") == [2.2642836]
    assert named(ds, "Grind time") == [45.285671]
    assert str(ds["size"].values) == "10^3 elements a rank"
    assert ds.attrs["problem_identity"] == "side=10 iterations=50"
    # By hand: 8 ranks x 1000 elements x 50 cycles / 2.2642836 s / 1000.
    assert float(ds.figure_of_merit) == pytest.approx(8 * 1000 * 50 / 2.2642836 / 1000, abs=1e-5)
    # Releases with printf: the grind time of all ranks, 45.285671 / 8.
    old = read("lulesh", TEXTS["lulesh"].replace(" 2.2642836 overall", " 5.6607089 overall"))
    assert (old.complete, named(old, "Elapsed time")) == (True, [2.3])
    wrong = read("lulesh", TEXTS["lulesh"].replace(" 2.2642836 overall", " 2.2742836 overall"))
    assert "2.2742836 overall is neither the elapsed time nor" in wrong.warnings[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [("size        =  10", "size        =  11"), ("count     =  50", "count     =  60"), ("45.285", "46.285"),
     ("tasks           =  8", "tasks           =  9"), ("elements: 8000", "elements: 8001")],
)  # fmt: skip
def test_lulesh__every_wrong_number_contradicts_another(old: str, new: str) -> None:
    assert TEXTS["lulesh"].count(old) == 1
    assert read("lulesh", TEXTS["lulesh"].replace(old, new)).complete is False


def test_quantum_espresso__car_parrinello_output_of_cp() -> None:
    ds = readers.parse(CP.encode(), engine="quantum_espresso")
    assert readers.engines_of(CP.encode()) == ["quantum_espresso"]
    assert (float(ds.figure_of_merit), float(ds.benchmark_time)) == (18.29, 18.29)
    assert (int(ds.ranks), ds.tool_version, ds.complete, bool(ds.valid)) == (2, "6.7MaX", True, True)
    assert named(ds, "total energy") == [-11.70976053033]
    assert ds["unit"].values[ds["merit"].values == "total energy"].tolist() == ["Hartree"]
    assert str(ds["size"].values) == "3 atoms"
    problem = "atoms=3 electrons=8 cutoff=40.0 kpoints=gamma,steps=20 volume=1728.00000000"
    assert readers.problem(ds) == problem
    cut = readers.parse(CP.partition("CP    ")[0].encode(), engine="quantum_espresso")
    assert (cut.complete, math.isnan(float(cut.figure_of_merit))) == (False, True)


def test_quantum_espresso__whole_minutes_are_a_step_of_a_minute() -> None:
    ds = read(
        "quantum_espresso", TEXTS["quantum_espresso"].replace("4m27.13s CPU   4m40.76s", "2h 0m CPU    2h13m")
    )
    # 2 h 13 min
    assert (float(ds.figure_of_merit), float(ds.figure_of_merit_resolution)) == (7980.0, 60.0)


def test_namd__three_states_nanoseconds_a_day() -> None:
    ds = read("namd", TEXTS["namd"].replace("0.144676 days/ns", "6.912 ns/day").replace("2.14", "3.0"))
    assert (named(ds, "ns/day"), named(ds, "days/ns")) == ([6.912], [])


def test_gromacs__older_columns() -> None:
    new = "                 (ns/day)    (hour/ns)\nPerformance:       14.402        1.666\n"
    old = (
        "               (Mnbf/s)   (GFlops)   (ns/day)  (hour/ns)\n"
        "Performance:    525.250     28.500      9.125      2.630\n"
    )
    assert float(read("gromacs", TEXTS["gromacs"].replace(new, old)).figure_of_merit) == 9.125


@pytest.mark.parametrize(("given", "problem"), [("500", "atoms=? nsteps=500"), ("-1", "")])
def test_gromacs__steps_of_the_command_line_count(given: str, problem: str) -> None:
    line = f"Overriding nsteps with value passed on the command line: {given} steps, 1 ps\n"
    text = TEXTS["gromacs"].replace("Started mdrun", f"{line}Started mdrun")
    assert readers.problem(readers.parse(text.encode(), "md.log")) == problem


def test_lammps__reduced_units() -> None:
    text = TEXTS["lammps"].replace("1.382 ns/day, 17.361 hours/ns", "6912.000 tau/day")
    ds = read("lammps", text)
    assert (named(ds, "tau/day"), named(ds, "ns/day"), float(ds.figure_of_merit)) == ([6912.0], [], 16.0)


def test_mdtest__columns_over_ranks_are_not_those_over_iterations() -> None:
    old = "   File creation     :      10300.520      10100.520      10200.520        141.421\n"
    new = "   File creation    99.1   98.1   98.6    10300.520    10100.520    10200.520      141.421\n"
    text = TEXTS["mdtest"].replace("SUMMARY:", "SUMMARY rate (in ops/sec):").replace(old, new)
    assert named(read("mdtest", text), "File creation") == [10200.52]


def test_hpcbench__energy_that_was_not_counted_and_environment_of_another_job() -> None:
    ds = read("hpcbench")
    assert dict(zip(ds["merit"].values, ds["value"].values, strict=True)) == {
        "ns/day": 7.98, "Wall Clock Time (s)": 216.566, "Consumed Energy (J)": 184396.0,
    }  # fmt: skip
    none = read("hpcbench", TEXTS["hpcbench"].replace('"184396.0"', '"0.0"'))
    assert list(none["merit"].values) == ["ns/day", "Wall Clock Time (s)"]
    mixed = read("hpcbench", TEXTS["hpcbench"].replace('"JobID": "4711"', '"JobID": "4709"'))
    assert "the accounting belongs to job 4709, the environment to job 4711" in str(mixed.attrs)
    assert int(mixed["threads"]) == -1  # what the environment of another job sets is not known
    for same in ('"JobID": 4711', '"JobID": "4711_2"'):
        assert int(read("hpcbench", TEXTS["hpcbench"].replace('"JobID": "4711"', same))["threads"]) == 8


def test_hpcbench__counts_by_any_of_slurms_names_and_a_job_that_failed() -> None:
    each = '"ntasks-per-node": "16"'
    for names, ranks in (('"tasks-per-node": "16"', 32), ('"ntasks": "24"', 24), ('"n": "24"', 24)):
        assert int(read("hpcbench", TEXTS["hpcbench"].replace(each, names))["ranks"]) == ranks
    short = TEXTS["hpcbench"].replace('"nodes": "2"', '"N": "2"')
    assert (int(read("hpcbench", short)["nodes"]), int(read("hpcbench", short)["ranks"])) == (2, 32)
    failed = TEXTS["hpcbench"].replace('"JobID"', '"State": "TIMEOUT", "JobID"')
    assert set(read("hpcbench", failed)["check"].values) == {"failed"}
    assert bool(
        read("hpcbench", TEXTS["hpcbench"].replace('"JobID"', '"State": "COMPLETED", "JobID"'))["valid"]
    )


def test_reframe__test_that_failed_and_performance_log() -> None:
    failed = read("reframe", TEXTS["reframe"].replace('"result": "pass"', '"result": "fail"'))
    assert (failed.check.values.tolist(), bool(failed.valid)) == (["failed"], False)
    log = (
        "job_completion_time|version|info|result|triad_value|triad_unit|triad_ref|tags\n"
        "2026-03-01T10:00:00|4.7.2|Stream @daint:mc|pass|98765.5|MB/s|95000|a\n"
        "2026-03-02T10:00:00|4.7.2|Stream @daint:mc|fail|87654.5|MB/s|95000|a\n"
    )
    ds = read("reframe", log)
    assert named(ds, "triad") == [98765.5, 87654.5]
    assert ds.check.values.tolist() == ["passed", "failed"]
    assert ds.case.values[0] == "Stream @daint:mc"


def test_reframe__rows_of_several_tests_in_a_log_are_no_repeats_of_one() -> None:
    """Columns in the order of the default log of ReFrame 4.10."""
    log = (
        "result|job_completion_time|environ|name|partition|triad_value|triad_unit|triad_ref|system\n"
        "pass|2026-03-01T10:00:00|gnu|Stream %n=1|mc|1000.5|MB/s|0|daint\n"
        "pass|2026-03-01T10:00:09|gnu|Stream %n=2|mc|2001.0|MB/s|0|daint\n"
    )
    ds = read("reframe", log)
    assert ds.case.values.tolist() == ["Stream %n=1 daint mc gnu", "Stream %n=2 daint mc gnu"]
    assert math.isnan(float(ds.figure_of_merit))
    found = figure(ds, "triad", case="Stream %n=1 daint mc gnu")
    assert found is not None
    assert found.value == 1000.5


def test_jube__units_come_from_the_headings_and_csv_reads_alike() -> None:
    ds = read("jube")
    assert named(ds, "bandwidth") == [12.25, 24.75]
    assert set(ds["unit"].values[ds["merit"].values == "bandwidth"]) == {"GB/s"}
    assert ds.case.values[0] == "nodes=1 library=mpich"
    csv = "jube_wp_id,nodes,bandwidth[GB/s]\n0,1,12.25\n1,2,24.75\n"
    assert named(read("jube", csv), "bandwidth") == [12.25, 24.75]


def test_jube__last_line_without_its_end_is_whole_only_if_it_is_as_long_as_the_headings() -> None:
    text = TEXTS["jube"].rstrip()
    assert (read("jube", text).complete, named(read("jube", text), "bandwidth")) == (True, [12.25, 24.75])
    cut = read("jube", text[:-2])
    assert (cut.complete, named(cut, "bandwidth")) == (False, [12.25])


def test_merits__figure_of_several_cases_needs_a_case() -> None:
    ds = read("jube")
    assert figure(ds, "bandwidth") is None
    found = figure(ds, "bandwidth", case="nodes=2 library=mpich")
    assert found is not None
    assert (found.value, found.unit) == (24.75, "GB/s")


@pytest.mark.parametrize(
    ("text", "expected"), [("12.5", 0.1), ("1.250e+02", 0.1), ("7", 1.0), ("2,50", 0.01), ("x", math.nan)]
)
def test_output__step_of_a_printed_number(text: str, expected: float) -> None:
    np.testing.assert_equal(step(text), expected)


@pytest.mark.parametrize("engine", sorted(set(TEXTS) - {"fio", "hpcbench", "ramble", "reframe"}))
def test_merits__a_launchers_tags_make_no_difference(engine: str) -> None:
    tagged = "".join(f"[1,0]<stdout>: {line}" for line in TEXTS[engine].splitlines(keepends=True))
    plain, found = (
        read(engine),
        readers.parse(tagged.encode(), "f", engine=engine) if engine != "jube" else None,
    )
    assert found is None or found.equals(plain)


@pytest.mark.parametrize("engine", sorted(KNOWN))
def test_merits__time_grows_no_faster_than_the_text(engine: str) -> None:
    """Long lines of what patterns repeat: ten times the length may cost ten times, not a hundred."""

    def seconds(length: int) -> float:
        noise = "".join(f"{char * length}\n" for char in (" ", "1", "a", "-", "|", "1 "))
        data = (TEXTS[engine] + noise).encode()
        begin = time.perf_counter()
        try:
            readers.parse(data, "f", engine=engine)
        except ReadError:
            assert engine in ("fio", "hpcbench", "ramble", "reframe")
        return time.perf_counter() - begin

    seconds(100)
    assert seconds(60_000) < 25 * seconds(6_000) + 0.5


def test_merits__source_is_named_where_it_is_refused(tmp_path: Path) -> None:
    assert len(FORMATS) >= 16
    for engine in sorted(FORMATS):
        with pytest.raises(ReadError, match=r"^x(:\d+)?: .+; give "):
            readers.parse(b"{}\n", "x", engine=engine)


def test_merits__lines_that_are_lost_or_garbled_are_named() -> None:
    # HPL says how many tests it finished, STREAM prints its kernels together.
    lost = read(
        "hpl",
        TEXTS["hpl"].replace(
            "          1 tests completed and passed", "          2 tests completed and passed"
        ),
    )
    assert lost.warnings == [
        "f:16: 1 rows of 2 tests that HPL says it finished; the file is damaged; kept what is whole"
    ]
    garbled = read("hpl", TEXTS["hpl"].replace("5.0800e+02", "5.08x0e+02"))
    assert (garbled.complete, math.isnan(float(garbled.figure_of_merit))) == (False, True)
    stream = read("stream", TEXTS["stream"].replace("Scale: ", "Sc"))
    assert stream.complete is False
    assert stream.warnings[0].startswith("f: lines are missing: Copy 1 times, Scale 0 times, ")


def test_openfoam__a_program_is_the_same_wherever_it_lies() -> None:
    text = TEXTS["openfoam"].replace("Exec   : simpleFoam", "Exec   : /opt/foam-7-4zgjbg/bin/simpleFoam")
    assert str(read("openfoam", text)["size"].values) == str(read("openfoam")["size"].values) == "simpleFoam"


def test_mdtest__a_row_that_holds_no_rates_is_named() -> None:
    for wrong in ("-17500.250", "nan", "inf"):
        ds = read("mdtest", TEXTS["mdtest"].replace("17500.250", wrong))
        assert ds.complete is False
        assert ds.warnings[0].startswith(f"f:14: File stat is {wrong}, no rate or time; ")


def test_hpl_mxp__the_grid_tells_the_ranks() -> None:
    """As NVIDIA's program prints it, with a grid and with words behind the numbers."""
    text = (
        TEXTS["hpl_mxp"]
        .replace("\nGFLOPS", f"\n   {GRID}      GFLOPS")
        .replace("15625.00", "15625.00 ------ T")
    )
    assert int(read("hpl_mxp", text)["ranks"]) == 4
    assert read("hpl_mxp", text).complete is True


@pytest.mark.parametrize(
    ("engine", "old", "new", "found"),
    [
        # 40 GPUs by one line, 4 by the next.
        ("hpl_mxp", "= 6.2500e+04", "= 6.2500e+05", "8.5000e+04 Gflop/s and 21250.00 of each GPU"),
        ("hpl_mxp", "= 8.5000e+04", "= 8.5000e+05", "8.5000e+05 Gflop/s and 21250.00 of each GPU"),
        # 1300.75 MiB/s are 1363.93 MB/s; the row is within half a MiB/s of both.
        ("ior", "Max Write: 1300.75", "Max Write: 1300.95", "1300.95 MiB/s and 1363.93 MB/s"),
        ("lulesh", "count     =  50", "count     =  00", "is neither the elapsed time nor the grind time"),
    ],
)
def test_contradiction__is_named_by_line(engine: str, old: str, new: str, found: str) -> None:
    """A figure ten times as large was read in silence; no cycle at all was a traceback."""
    assert TEXTS[engine].count(old) == 1
    ds = read(engine, TEXTS[engine].replace(old, new))
    assert ds.complete is False
    assert any(found in one for one in ds.warnings)


@pytest.mark.parametrize(
    ("engine", "slower"),
    [
        # Half the rate and twice the time of everything, in the second of two results.
        ("quicksilver", (("8.000e+09", "4.000e+09"), ("7.500e+05", "1.500e+06"))),
        ("laghos", ()),
    ],
)
def test_results_of_one_file__are_each_compared_with_themselves(
    engine: str, slower: Sequence[tuple[str, str]]
) -> None:
    """Five runs in a log were called damaged: the last rate was held against the first table."""
    first = second = TEXTS[engine]
    for old, new in slower:
        assert second.count(old) == 1
        second = second.replace(old, new)
    if engine == "laghos":
        # Ten times the rates: a point moves.
        second = re.sub(r"(?m)^(.* rate .*: )(\d+)\.(\d)", r"\1\2\3.", second)
        second = re.sub(r"(?m)^(\|(?: *[\d.]+\|){13} *)(\d+)\.(\d)", r"\1\2\3.", second)
        assert second != first
    for text in (first + second, second + first):
        assert read(engine, text).complete is True


@pytest.mark.parametrize(
    ("engine", "old", "new"),
    [("quantum_espresso", "4m40.76s", "4m4.0.7s"), ("mlperf_inference", "\n50.00 perc", "\n5.0.0 perc")],
)
def test_number__with_two_points_is_none(engine: str, old: str, new: str) -> None:
    """Each was a traceback."""
    assert TEXTS[engine].count(old) == 1
    after = read(engine, TEXTS[engine].replace(old, new))
    assert after.sizes["merit"] == read(engine).sizes["merit"] - 1


def test_openfoam__utility_ends_without_a_time() -> None:
    """decomposePar and blockMesh print no clock."""
    head, _, rest = TEXTS["openfoam"].partition("Time = 1\n")
    ds = read("openfoam", f"{head}Processor 0: field transfer\n{rest[rest.index('End') :]}")
    assert (ds.complete, bool(ds["valid"]), ds.sizes["merit"]) == (True, False, 0)
    assert ds.warnings == ["f: no figure of merit; it ended, and states no time: the log of a utility"]
    assert read("openfoam", f"{head}Processor 0: field transfer\n").complete is False


def test_openfoam__a_restart_and_threads_contradict_nothing_and_a_wait_is_noted() -> None:
    text = TEXTS["openfoam"]
    again = text.replace("Time = 3\n", "Time = 2\n\nExecutionTime = 1.5 s  ClockTime = 2 s\n\nTime = 3\n")
    threads = text
    for cpu in ("2.5", "4.25", "6.1"):
        threads = threads.replace(f"ExecutionTime = {cpu} ", f"ExecutionTime = 1{cpu} ")
    for one in (again, threads):
        assert (read("openfoam", one).complete, read("openfoam", one).warnings) == (True, [])
    ds = read("openfoam", text.replace("ClockTime = 7 s", "ClockTime = 700 s"))
    assert ds.complete is True
    assert "ClockTime = 700 s after 5 s" in ds.warnings[0]


def test_openfoam__garbled_last_clock_is_no_time() -> None:
    """As two ranks' outputs ran into each other in a log of chemFoam v2312."""
    ds = read("openfoam", TEXTS["openfoam"].replace("6.1 s  ClockTime = 7 s", "6.1 s  ClockTiNumber of s"))
    assert (ds.complete, ds.sizes["merit"]) == (False, 0)
    assert ds.warnings[0].startswith("f:20: the last clock is garbled; ")


def test_docs__example_of_a_format_is_one() -> None:
    text = (Path(__file__).parents[3] / "docs/formats.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(example, "docs/formats.md", "exec"), space)
    log = b"house solver 1.2 on 64 ranks\nrate: 12.5 Mcell/s\ndone\n"
    solver = space["FORMAT"]
    assert (solver.application, solver.title) == ("solver", "House solver")
    assert solver.sniff(log, "")
    ds = solver.parse(log, "f")
    assert (float(ds.figure_of_merit), str(ds.figure_of_merit_unit.values), int(ds.ranks)) == (
        12.5,
        "Mcell/s",
        64,
    )
    assert (ds.tool_version, ds.complete) == ("1.2", True)
    assert solver.parse(log[:-5], "f").complete is False


def test_ior__part_of_io500_ends_with_its_row() -> None:
    head, _, _ = TEXTS["ior"].partition("read      2400")
    own = head.replace("-i 2 -t", "-O stoneWallingStatusFile=x -t")
    ds = read("ior", own)
    assert (ds.complete, named(ds, "write"), float(ds.figure_of_merit)) == (True, [1250.5], 1250.5)
    assert read("ior", own.rstrip()).complete is False
    assert read("ior", head).complete is False


def test_lammps__before_2014_ends_with_its_neighbours() -> None:
    text = TEXTS["lammps"].replace("Total wall time: 0:00:14", "Dangerous builds = 0")
    assert read("lammps", text).complete is False
    old = read("lammps", text.replace("29 Aug 2024 - Update 1", "1 May 2010"))
    assert (old.complete, old.tool_version) == (True, "1 May 2010")


def test_lammps__before_2014_its_time_says_the_ranks() -> None:
    """With threads their product stands there, and both behind it: such a line says nothing."""
    text = "LAMMPS (29 Jun 2012)\nunits metal\nLoop time of 1.5 on 4 procs{} for 100 steps with 32000 atoms\n"
    assert int(read("lammps", text.format("")).ranks) == 4
    assert int(read("lammps", text.format(" (2 MPI x 2 OpenMP)")).ranks) == -1


# Of LAMMPS itself, on one rank: si units, lj units, a minimisation in cgs units, two runs in si units.
LAMMPS = Path(__file__).parents[2] / "data/lammps"
# grep "Loop time of\\|Performance" *_n1.txt; in si units 20 / 3.42296 = 5.84290.
PRINTED = {
    "plate_n1": ([3.42296], [5.8429]),
    "melt_n1": ([0.0652141], [306.682]),
    "minimize_n1": ([0.051642], []),
    "plate_twice_n1": ([3.15922, 1.47616], []),
}


@pytest.mark.parametrize("name", PRINTED)
def test_lammps__a_whole_run_in_units_of_si_has_the_rate_that_is_not_printed(name: str) -> None:
    ds = read("lammps", (LAMMPS / f"{name}.txt").read_text())
    assert (ds.complete, named(ds, "Loop time"), named(ds, "timesteps/s")) == (True, *PRINTED[name])
    assert list(ds.warnings) == []


def test_lammps__of_a_cut_output_and_of_lines_that_grep_found_no_rate_is_computed() -> None:
    text = (LAMMPS / "plate_n1.txt").read_text()
    end = text.index("\nTotal wall time:") + len("\nTotal wall time:")
    for cut in range(text.index("Loop time") + 60, end):
        ds = read("lammps", text[:cut])
        assert (ds.complete, named(ds, "timesteps/s")) == (False, []), cut
    lines = text.splitlines(keepends=True)
    for words in (("Loop time",), ("LAMMPS", "Loop time"), ("Loop time", "CPU use", "Total wall")):
        found = [line for line in lines if any(word in line for word in words)]
        for several in (1, 3):
            assert named(read("lammps", "".join(found * several)), "timesteps/s") == [], words
    for old, new in (
        ("Unit style    : si", "Unit style    : lj"),
        ("for 20 steps", "for 0 steps"),
        ("LAMMPS (29 Sep 2021 - Update 2)\n", ""),
    ):
        assert old in text
        assert named(read("lammps", text.replace(old, new)), "timesteps/s") == [], old
    assert named(read("lammps", text * 2), "timesteps/s") == []


def test_mdtest__times_are_figures_of_their_own() -> None:
    """As mdtest 3.4 within IO500: rates of nothing, then a summary of times."""
    table = TEXTS["mdtest"].partition("SUMMARY")[2].partition("\n-- finished")[0]
    text = TEXTS["mdtest"].replace("\n-- finished", f"\nSUMMARY time{table}\n-- finished")
    ds = read("mdtest", text)
    assert named(ds, "File creation") == named(ds, "File creation time") == [10200.52]
    assert set(ds["unit"].values[ds["merit"].values == "File creation time"]) == {"s"}
    assert float(ds.figure_of_merit) == 10200.52
    # 4.1.0 calls its seconds operations, as files of IO500 of 2023 have it.
    for head, unit in (("time (in ops/sec)", "s"), ("time (in ms/op)", "ms")):
        ds = read("mdtest", text.replace("SUMMARY time", f"SUMMARY {head}"))
        assert named(ds, "File creation") == [10200.52]
        assert set(ds["unit"].values[ds["merit"].values == "File creation time"]) == {unit}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10100.520      10200.520", "10300.520      10200.520"),
        ("17500.250      17300.250", "14500.250      17300.250"),
        ("2052.096         14.142", "2052.096         44.142"),
        ("10300.520      10100.520", "90300.520      10100.520"),
        ("2062.096       2042.096       2052.096         14.142", "2062.096 2042.096 2052.096 0.000"),
        (
            "0.000          0.000          0.000          0.000",
            "0.000          0.000          0.000          0.030",
        ),
    ],
)
def test_merits__mdtest_means_lie_between_their_bounds(old: str, new: str) -> None:
    """No set of rates has a mean outside them or a deviation larger than their range."""
    text = TEXTS["mdtest"]
    assert text.count(old) == 1
    ds = readers.parse(text.replace(old, new).encode(), "x", engine="mdtest")
    assert not ds.attrs["complete"]
    assert any(" do not fit " in warning for warning in ds.attrs["warnings"])


IOR_ROWS = """\
access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,1250.5000,1251.2000,0.0128,65536.0000,1024.0000,0.0015,0.8184,0.0004,0.8189,16,0
read,2400.2500,2401.0000,0.0066,65536.0000,1024.0000,0.0002,0.4265,0.0001,0.4266,16,0
write,1300.7500,1301.2000,0.0128,65536.0000,1024.0000,0.0015,0.7870,0.0004,0.7872,16,1
"""


def test_ior__csv_has_rows_alone() -> None:
    """As 4.0.0 writes it (`-O summaryFormat=CSV`)."""
    ds = read("ior", "module list\n" + IOR_ROWS)
    assert (ds.complete, int(ds.ranks)) == (True, 16)
    assert named(ds, "write") == [1250.5, 1300.75]
    assert (float(ds.figure_of_merit), str(ds.figure_of_merit_unit.values)) == (1300.75, "MiB/sec")
    assert named(ds, "Max Read") == [2400.25]
    assert read("ior", IOR_ROWS.rstrip()).complete is False
    assert read("ior", IOR_ROWS.replace(",0.4266,16", ",16")).complete is False
    # 1024 MiB moved by either rate.
    assert read("ior", IOR_ROWS.replace("1250.5", "1350.5")).complete is False
    assert read("ior", IOR_ROWS.replace("2401.0", "2481.0")).complete is False


def ior_json() -> dict[str, Any]:
    """As 3.3.0 and 4.0.0 write it (`-O summaryFormat=JSON`)."""
    keys = ("access", "bwMiB", "iops", "wrRdTime", "totalTime")
    cells = (
        ("write", 1250.5, 1251.2, 0.8184, 0.8189),
        ("read", 2400.25, 2401.0, 0.4265, 0.4266),
        ("write", 1300.75, 1301.2, 0.787, 0.7872),
    )
    rows = [dict(zip(keys, row, strict=True)) | {"xferKiB": 1024.0} for row in cells]
    write = {"bwMaxMIB": 1300.75, "bwMinMIB": 1250.5, "bwMeanMIB": 1275.625}
    return {
        "Version": "4.0.0",
        "Began": "Sun Mar  1 10:00:00 2026",
        "Command line": "ior -i 2 -t 1m -b 64m -O summaryFormat=JSON",
        "tests": [{"TestID": 0, "Options": {"tasks": 16, "nodes": 2}, "Results": [rows[:2], rows[2:]]}],
        "summary": [
            {"operation": "write", "TestID": 0, **write},
            {
                "operation": "read",
                "TestID": 0,
                "bwMaxMIB": 2400.25,
                "bwMinMIB": 2400.25,
                "bwMeanMIB": 2400.25,
            },
        ],
    }


def test_ior__json() -> None:
    content = ior_json()
    ds = read("ior", json.dumps(content).replace('"Began"', '"rate": -nan, "Began"'))
    assert (ds.complete, ds.tool_version, int(ds.ranks), int(ds.nodes)) == (True, "4.0.0", 16, 2)
    assert named(ds, "write") == [1250.5, 1300.75]
    assert (float(ds.figure_of_merit), str(ds.figure_of_merit_unit.values)) == (1300.75, "MiB/sec")
    # Without -v there is no summary: the largest rates are those of the rows.
    quiet = read("ior", json.dumps(content | {"summary": []}))
    assert float(quiet.figure_of_merit) == 1300.75


@pytest.mark.parametrize(
    ("key", "value"), [("bwMaxMIB", 1300.0), ("bwMinMIB", 1200.5), ("bwMeanMIB", 1270.0)]
)
def test_ior__json_summary_is_that_of_its_rows(key: str, value: float) -> None:
    content = ior_json()
    content["summary"][0][key] = value
    ds = read("ior", json.dumps(content))
    assert ds.complete is False
    assert "write: least, mean and largest rate" in ds.warnings[0]


def test_ior__without_v_4_has_rows_alone() -> None:
    head, _, _ = TEXTS["ior"].partition("Max Write")
    text = head.replace("IOR-3.3.0", "IOR-4.0.0")
    ds = read("ior", text)
    assert (ds.complete, float(ds.figure_of_merit)) == (True, 1300.75)
    assert read("ior", head).complete is False  # 3.3 always has more
    assert read("ior", text[: text.rindex("read ")]).complete is False
    assert read("ior", text[: text.rindex("write ")]).complete is False
    written = text.replace("-i 2", "-w -i 2").replace("read  ", "")
    assert read("ior", written).complete is True


WALL, AVERAGE = "WallClock: 21.500000", "Info: TIMESTEP              1\nPERFORMANCE: 500  averaging "
GRID = "N = 258048, NB = 1024, NPROW = 2, NPCOL = 2, SLOPPY-TYPE = 2\n"


@pytest.mark.parametrize(
    ("engine", "old", "new"),
    [
        ("ior", "write     1250.50", "write     1259.50"),
        ("ior", "Max Write: 1300.75", "Max Write: 1380.75"),
        ("ior", "Max Read:  2500.25", "Max Read:  2400.25"),
        ("stream", "Triad:         111220.9", "Triad:         141220.9"),
        ("stream", "0.017263", "0.017463"),
        ("stream", "0.013100", "0.013300"),
        ("hpl", "5.0800e+02", "5.0700e+02"),
        ("hpl", "  10.50  ", "  10.70  "),
        ("lammps", "16.000 timesteps/s", "16.010 timesteps/s"),
        ("lammps", "Loop time of 12.5 ", "Loop time of 17.5 "),
        ("lammps", "1.382 ns/day", "1.392 ns/day"),
        ("lammps", "512.000 katom", "512.900 katom"),
        ("gromacs", "120.002", "122.002"),
        ("gromacs", "14.402", "14.802"),
        ("namd", "Info: 92224 ATOMS", "Info: TIMESTEP              2\nInfo: 92224 ATOMS"),
        ("namd", WALL, f"{AVERAGE}2.00 ns/day, 0.0125 sec/step with standard deviation 0.0001\n{WALL}"),
        (
            "hpl_mxp",
            "GFLOPS = 6.2500e+04, per GPU =   15625.00",
            f"{GRID}GFLOPS = 6.2500e+04, per GPU =   7812.50",
        ),
        ("hpl_mxp", "GFLOPS = 6.2500e+04", "GFLOPS = 6.9500e+04"),
        ("hpl_mxp", "per GPU =   21250.00", "per GPU =   24250.00"),
        ("openfoam", "6.1 s  ClockTime = 7 s", "6.1 s  ClockTime = 1 s"),
        ("openfoam", "6.1 s  ClockTime = 7 s", "61.1 s  ClockTime = 7 s"),
        ("openfoam", "6.1 s  ClockTime = 7 s", "0.1 s  ClockTime = 7 s"),
        ("graph500", "5.36871e+08", "5.46871e+08"),
        ("graph500", "8.25e+08", "8.25e+09"),
        ("graph500", "!  8.00125e+08", "!  1.80012e+09"),
        ("graph500", "0.0625", "0.0725"),
    ],
)
def test_merits__numbers_are_held_against_each_other(engine: str, old: str, new: str) -> None:
    assert TEXTS[engine].count(old) == 1
    ds = read(engine, TEXTS[engine].replace(old, new))
    assert ds.complete is False
    assert math.isnan(float(ds.figure_of_merit))


def test_merits__numbers_agree_within_their_digits() -> None:
    """89633.9 MB/s in 0.001785 s are 159.996 MB; 90908.8 in 0.00176 s are 159.999."""
    assert agree(("89633.9", "0.001785"), ("90908.8", "0.001760"))
    assert not agree(("89633.9", "0.001785"), ("99908.8", "0.001760"))
    # Of 0.01 s the last digit is all there is.
    assert agree(("71.88", "0.01"), factor=0.667)
    assert agree(("0", "12.5"), ("3",))
    assert agree(("", "12.5"), ("3",))


def test_namd__lines_have_a_time_step_in_common() -> None:
    line = "Info: Benchmark time: 64 CPUs 0.0125 s/step 0.144676 days/ns 812.5 MB memory\n"
    text = TEXTS["namd"]
    both = text.replace(line, line + line.replace("0.0125", "0.0120").replace("0.144676", "0.138889"))
    assert read("namd", both).complete is True
    assert read("namd", text.replace(line, line + line.replace("0.0125", "0.0120"))).complete is False
    rates = line.replace("0.144676 days/ns", "6.912 ns/day")
    stated = text.replace(line, rates).replace("Info: 92224", "Info: TIMESTEP  1\nInfo: 92224")
    assert read("namd", stated).complete is True
    assert read("namd", stated.replace("6.912", "6.212")).complete is False


def test_stream__copies_that_ran_at_once_are_added_up() -> None:
    one = TEXTS["stream"]
    other = one.replace("111220.9     0.017350     0.017263", "110520.9     0.017450     0.017373")
    # Behind each other they may be repeats.
    apart = read("stream", one + other)
    assert named(apart, "Triad sum") == []
    assert float(apart.figure_of_merit) == 110520.9
    labelled = "".join(
        f"{rank}: {line}\n" for rank, text in enumerate((one, other)) for line in text.splitlines()
    )
    mixed = "".join(f"{a}\n{b}\n" for a, b in zip(one.splitlines(), other.splitlines(), strict=True))
    for text in (labelled, mixed):
        ds = read("stream", text)
        assert ds.complete is True
        assert named(ds, "Triad") == [111220.9, 110520.9]
        assert named(ds, "Triad sum") == [pytest.approx(221741.8)]
        assert any("2 copies that ran at once" in warning for warning in ds.warnings)
    # Two launches, one after the other: which copies are of which no file says.
    twice = read("stream", mixed + mixed)
    assert (twice.complete, named(twice, "Triad sum")) == (True, [])
    assert any("some of 4 copies ran at once, not all" in warning for warning in twice.warnings)


@pytest.mark.parametrize(("text", "value"), [("4,125,212", 4_125_212.0), ("954,123", 954_123.0)])
def test_merits__commas_that_group_digits_are_no_points(text: str, value: float) -> None:
    # The lines of XSBench: the unit is in the name of the figure, and none is on the line.
    merit = Merit("lookups", r"^Lookups/s: +(?P<value>\S+)", grouped=True)
    row = TextFormat(
        engine="x", marks=(b"Lookups",), merits=(merit,), figure_of_merit="lookups", unit="lookups/s"
    )
    found = figure(row.parse(f"Runtime:     0.877 seconds\nLookups/s:   {text}\n".encode()), "lookups")
    assert found is not None
    assert (found.value, found.unit, found.resolution) == (value, "lookups/s", 1.0)


@pytest.mark.parametrize(
    ("engine", "lines", "wanted"),
    [
        ("castep", " Data is distributed by k-point(8-way)", "distribution=k-point(8-way)"),
        ("cp2k", " GLOBAL| Preferred diagonalization lib.         SL", "diagonalization=SL"),
        ("gromacs", "SIMD instructions:  AVX_512\nGPU support:        CUDA", "simd=AVX_512\ngpu=CUDA"),
        ("kripke", "    Block solve method:    Block Jacobi", "--pmethod=Block Jacobi"),
        ("kripke", "  Per-Task Options:\n    Architecture:          OpenMP", "--arch=OpenMP"),
        ("kripke", "    GroupSet/Groups:       2 sets, 16 groups/set", "--gset=2"),
        ("kripke", "    Data Layout:           GZD", "--layout=GZD"),
        ("laghos", "   --partial-assembly\n   --device cuda", "assembly=partial\n--device=cuda"),
        ("lammps", "  4 by 8 by 8 MPI processor grid", "processors=4 by 8 by 8"),
        ("lammps", "  (1) pair snap/kk, perpetual", "suffix=kk"),
        ("lammps", "- Using acceleration for lj/cut:", "suffix=gpu"),
        (
            "namd",
            "Info: Based on Charm++/Converse 60701 for net-linux-x86_64-ibverbs-smp",
            "charm=net-linux-x86_64-ibverbs-smp",
        ),
        ("npb", "    F77          = ifort\n    FFLAGS       = -O3 -ipo", "compiler=ifort\nflags=-O3 -ipo"),
        ("perftest", " Link type       : Ethernet", "link=Ethernet"),
        ("quantum_espresso", "     K-points division:     npool     =       4", "npool=4"),
        (
            "quantum_espresso",
            "     ELPA distributed-memory algorithm (size of sub-group:  4*  4 procs)",
            "diagonalization=ELPA\nndiag=4* 4",
        ),
        ("vasp", " distrk:  each k-point on   32 cores,    2 groups", "KPAR=2"),
        ("vasp", " distr:  one band on NCORES_PER_BAND=   8 cores,    4 groups", "NCORE=8"),
        ("vasp", " distr:  one band on   16 cores,    2 groups", "NCORE=16"),
    ],
)
def test_settings__how_a_program_was_set_is_read_as_it_prints_it(
    engine: str, lines: str, wanted: str
) -> None:
    kinds = {line.partition("=")[0] for line in wanted.splitlines()}
    text = TEXTS[engine].splitlines()
    text.insert(2, lines)
    stated = read(engine, "\n".join(text) + "\n").attrs["settings"].splitlines()
    assert [one for one in stated if one.partition("=")[0] in kinds] == wanted.splitlines()


@pytest.mark.parametrize("style", ["eam", "lj/cut 2.5"])
def test_lammps__a_log_of_before_2017_names_its_interaction_in_its_input_alone(style: str) -> None:
    """Metal and molten beads of 32,000 atoms each were one problem."""
    text = f"LAMMPS (6 Oct 2016)\npair_style\t{style}\n" + TEXTS["lammps"].partition("\n")[2]
    text = "\n".join(line for line in text.splitlines() if ") pair " not in line) + "\n"
    assert readers.problem(read("lammps", text)).startswith(f"pair={style.split()[0]} atoms=")


def test_kripke__a_quadrature_of_gauss_and_legendre_has_its_directions() -> None:
    text = TEXTS["kripke"].replace(
        "Dummy S2 with 96 points", "Gauss-Legendre, 4 polar, 12 azimuthal (48 points)"
    )
    assert "directions=48" in readers.problem(read("kripke", text))


@pytest.mark.parametrize(
    ("seconds", "rate", "whole"), [("10.50", "5.0800e+02", True), ("7.00", "7.6200e+02", False)]
)
def test_hpl__its_time_is_that_from_its_start_to_its_end(seconds: str, rate: str, whole: bool) -> None:
    """A rate was made higher together with its time; HPL prints ten seconds from its start to its end."""
    text = texts.HPL_HEAD + texts.HPL_TABLE + texts.HPL_ROW + texts.HPL_CLOCK
    text += texts.HPL_CHECK.format(word="PASSED") + texts.HPL_END
    ds = read("hpl", text.replace("10.50", seconds).replace("5.0800e+02", rate))
    found = "f:16: 7.00 s, from its start to its end 10 s; a number is damaged: get the output again"
    assert ds.warnings == ([] if whole else [found])
