from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers import sacct

CAMPAIGN = Path(__file__).parents[2] / "data/raw/vm-hpcg"
TABLE = CAMPAIGN / "sacct.txt"
JSON = CAMPAIGN / "sacct-one-job.json"

NO_METER = "no meter: energy 0 everywhere"


def one(text: str, name: str = "s.txt") -> dict[str, Any]:
    """Read the first record of a table."""
    ds = sacct.parse(text.encode(), name)
    return {key: ds[key].values[0] for key in map(str, ds.data_vars)} | {
        key: ds[key].values[0] for key in map(str, ds.coords)
    }


def test_sacct__reads_the_accounting_of_the_campaign() -> None:
    ds = sacct.parse(TABLE.read_bytes(), "sacct.txt")
    # awk -F'|' over the file: records, states, sums of ElapsedRaw, MaxRSS in K and TotalCPU, blank energies
    assert ds.sizes == {"record": 572}
    assert Counter(ds.state.values) == {"COMPLETED": 535, "FAILED": 35, "CANCELLED": 2}
    assert ds.elapsed.sum().item() == 4948
    assert ds.memory_max.sum().item() == 33226904 * 1024
    assert ds.cpu_time.sum().item() == pytest.approx(6541.291, abs=1e-6)
    assert ds.energy.isnull().sum().item() == 88
    assert ds.time_zone == "as printed by sacct"
    assert ds.complete is True
    remedy = "none of 572 records has any; do not use it"
    assert ds.warnings == [f"sacct.txt: {NO_METER}; {remedy}"]


def test_sacct__reads_a_job_and_its_steps() -> None:
    ds = sacct.parse(TABLE.read_bytes()).isel(record=slice(0, 3))
    assert ds.job_id.values.tolist() == ["28", "28", "28"]
    assert ds.step.values.tolist() == ["", "batch", "0"]
    assert ds.comment.values.tolist() == ["interconnect", "", ""]
    assert ds.submit.values[0] == np.datetime64("2026-11-21T00:27:30")
    assert ds.end.values[0] == np.datetime64("2026-11-21T00:27:37")
    assert ds.memory_max.values[1:].tolist() == [52064 * 1024, 39280 * 1024]
    assert math.isnan(ds.memory_max.values[0])
    assert ds.cpu_time.values.tolist() == [12.5, 6.264, 6.236]
    assert (ds.nodes.values.tolist(), ds.cpus.values.tolist()) == ([2, 1, 1], [16, 8, 8])
    assert ds.node_list.values[0] == "n[1-2]"


def test_sacct__json_and_table_of_one_job_agree() -> None:
    table = sacct.parse(TABLE.read_bytes()).isel(record=slice(0, 3))
    ds = sacct.parse(JSON.read_bytes(), "job.json")
    assert (ds.time_zone, ds.tool_version, ds.complete) == ("UTC", "22.05.8", True)
    # The cluster ran in UTC. The table cuts CPU time to milliseconds; in JSON only steps carry energy.
    for name in sorted({*map(str, table.variables)} - {"cpu_time", "energy"}):
        np.testing.assert_array_equal(ds[name].values, table[name].values, err_msg=name)
    np.testing.assert_allclose(ds.cpu_time.values, table.cpu_time.values, atol=1e-3)
    assert ds.energy.values[1:].tolist() == [0, 0]
    assert any(NO_METER in warning for warning in ds.warnings)


def newer(document: Any) -> Any:
    """Wrap numbers and states as later data parsers do."""
    text = json.dumps(document)
    job = json.loads(text)["jobs"][0]

    def wrap(number: Any) -> dict[str, Any]:
        return {"set": number is not None, "infinite": False, "number": number or 0}

    job["state"]["current"] = [job["state"]["current"]]
    for record in [job, *job["steps"]]:
        record["exit_code"] = {
            "status": ["SUCCESS"],
            "return_code": wrap(0),
            "signal": {"id": wrap(None), "name": ""},
        }
    for step in job["steps"]:
        step["state"] = [step["state"]]
        step["time"]["start"], step["time"]["end"] = wrap(step["time"]["start"]), wrap(step["time"]["end"])
        step["statistics"]["energy"]["consumed"] = wrap(step["statistics"]["energy"]["consumed"])
        step["step"]["id"] = f"28.{step['step']['id']}"
    job["array"]["task_id"] = wrap(None)
    job["het"]["job_offset"] = wrap(None)
    return {"jobs": [job], "meta": {"slurm": {"release": "24.05.4"}}}


def test_sacct__reads_the_shapes_of_later_data_parsers_alike() -> None:
    old = sacct.parse(JSON.read_bytes())
    ds = sacct.parse(json.dumps(newer(json.loads(JSON.read_text()))).encode())
    assert ds.tool_version == "24.05.4"
    xr.testing.assert_equal(ds, old)


def test_sacct__json_names_arrays_het_jobs_signals_and_missing_numbers() -> None:
    document = newer(json.loads(JSON.read_text()))
    job = document["jobs"][0]
    job["array"] = {"job_id": 40, "task_id": {"set": True, "infinite": False, "number": 3}}
    job["state"]["current"] = ["CANCELLED"]
    job["exit_code"]["signal"]["id"] = {"set": True, "infinite": False, "number": 9}
    step = job["steps"][0]
    step["statistics"]["energy"]["consumed"] = {"set": False, "infinite": True, "number": 0}
    step["time"]["end"] = {"set": True, "infinite": False, "number": 0}
    step["step"]["id"] = {"job_id": 28, "step_id": "4294967291"}
    ds = sacct.parse(json.dumps(document).encode())
    assert ds.job_id.values.tolist() == ["40_3"] * 3
    assert (ds.state.values[0], ds.exit_code.values[0], ds.exit_signal.values[0]) == ("CANCELLED", 0, 9)
    assert math.isnan(ds.energy.values[1])
    assert np.isnat(ds.end.values[1])
    assert ds.step.values[1] == ""
    # The first task of an array is number 0, as is the first part of a heterogeneous job.
    job["array"]["task_id"]["number"] = 0
    assert sacct.parse(json.dumps(document).encode()).job_id.values[0] == "40_0"
    job["array"] = {"job_id": 0}
    for offset in (1, 0):
        job["het"] = {"job_id": 50, "job_offset": {"set": True, "infinite": False, "number": offset}}
        assert sacct.parse(json.dumps(document).encode()).job_id.values[0] == f"50+{offset}"


@pytest.mark.parametrize("shape", [lambda document: document, newer])
def test_sacct__json_of_a_failed_job_without_its_exit_code_is_blank_and_named(shape: Any) -> None:
    document = shape(json.loads(JSON.read_text()))
    job = document["jobs"][0]
    wrap = shape is newer
    job["state"]["current"] = ["FAILED"] if wrap else "FAILED"
    job["steps"][0]["state"] = ["FAILED"] if wrap else "FAILED"
    code = {"set": True, "infinite": False, "number": 5} if wrap else 5
    job["steps"][0]["exit_code"]["return_code"] = code
    ds = sacct.parse(json.dumps(document).encode(), "s.json")
    # Job: code lost; batch step: 5 as given; step 0 completed with 0.
    assert ds.state.values.tolist() == ["FAILED", "FAILED", "COMPLETED"]
    assert ds.exit_code.values.tolist() == [-1, 5, 0]
    remedy = "exit code left blank; sacct --parsable2 may know it"
    assert [w for w in ds.warnings if "FAILED" in w] == [
        f"s.json: job 28 is FAILED with return code 0; {remedy}"
    ]
    assert ds.complete is True


def test_sacct__json_of_a_job_that_a_signal_ended_keeps_code_0() -> None:
    document = newer(json.loads(JSON.read_text()))
    job = document["jobs"][0]
    job["state"]["current"] = ["FAILED"]
    job["exit_code"]["signal"]["id"] = {"set": True, "infinite": False, "number": 9}
    ds = sacct.parse(json.dumps(document).encode(), "s.json")
    assert (ds.exit_code.values[0], ds.exit_signal.values[0]) == (0, 9)
    assert not [warning for warning in ds.warnings if "FAILED" in warning]


def test_sacct__cut_json_keeps_the_whole_jobs() -> None:
    job = json.loads(JSON.read_text())["jobs"][0]
    text = json.dumps(
        {"meta": {}, "jobs": [job, job | {"job_id": 29}, job | {"job_id": 30}]}, indent=1
    ).encode()
    ds = sacct.parse(text[: text.index(b'"job_id": 30')], "s.json")
    assert list(dict.fromkeys(ds.job_id.values)) == ["28", "29"]
    assert ds.complete is False
    assert ds.warnings[0].startswith("s.json:")
    assert ds.warnings[0].endswith("; kept the 2 whole jobs before it")


@pytest.mark.parametrize("delimiter", ["|", ";|;", ";/;", ",", "\t", "^"])
def test_sacct__reads_any_delimiter_columns_and_order(delimiter: str) -> None:
    rows = [
        ("State", "MaxRSS", "Elapsed", "JobID", "ExitCode"),
        ("CANCELLED by 1300204", "", "1-02:03:04", "12_3", "0:9"),
        ("COMPLETED", "1.5G", "00:00:07", "12_3.batch", "2:0"),
    ]
    text = "".join(delimiter.join(row) + "\n" for row in rows).encode()
    assert sacct.sniff(text)
    ds = sacct.parse(text)
    assert ds.state.values.tolist() == ["CANCELLED", "COMPLETED"]
    assert ds.job_id.values.tolist() == ["12_3", "12_3"]
    assert ds.step.values.tolist() == ["", "batch"]
    # 86400 + 2 x 3600 + 3 x 60 + 4
    assert ds.elapsed.values.tolist() == [93784, 7]
    assert (ds.exit_code.values.tolist(), ds.exit_signal.values.tolist()) == ([0, 2], [9, 0])
    assert ds.memory_max.values[1] == 1.5 * 2**30
    # What was not asked for is blank, never zero; and no word about a meter.
    assert (ds.nodes.values[0], ds.node_list.values[0]) == (-1, "")
    assert np.isnat(ds.start.values).all()
    assert np.isnan(ds.energy.values).all()
    assert (ds.complete, ds.warnings) == (True, [])


def test_sacct__reads_parsable_with_its_trailing_delimiter() -> None:
    got = one("JobID|State|NCPUS|\n7+1.0|COMPLETED|4|\n")
    assert (got["job_id"], got["step"], got["state"], got["cpus"]) == ("7+1", "0", "COMPLETED", 4)


@pytest.mark.parametrize(
    ("job_id", "step"),
    [
        ("5", ""),
        ("5.0", "0"),
        ("5.extern", "extern"),
        ("5.4294967291", ""),
        ("5_[1-9%2]", ""),
        ("5+0.12", "12"),
    ],
)
def test_sacct__splits_the_step_from_the_job(job_id: str, step: str) -> None:
    got = one(f"JobID|State\n{job_id}|COMPLETED\n")
    assert (got["job_id"], got["step"]) == (job_id.split(".")[0], step)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:12.500", 12.5),
        ("01:28.246", 88.246),
        ("00:12,500", 12.5),
        ("02:03:04", 7384.0),
        ("1-02:03:04", 93784.0),
        ("00:00:00", 0.0),
    ],
)
def test_sacct__reads_durations(text: str, seconds: float) -> None:
    assert sacct.duration(text) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize("text", ["", "INVALID", "UNLIMITED", "12", "1:2:3:4", "a:b"])
def test_sacct__what_is_no_duration_is_blank(text: str) -> None:
    assert math.isnan(sacct.duration(text))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("52064K", 52064 * 1024.0),
        ("2M", 2.0**21),
        ("1.5G", 1.5 * 2**30),
        ("1T", 2.0**40),
        ("0", 0.0),
        ("512", 512.0),
    ],
)
def test_sacct__memory_is_in_powers_of_1024(text: str, size: float) -> None:
    assert sacct.memory(text) == size


def test_sacct__unknown_dates_are_blank_without_a_fault() -> None:
    ds = sacct.parse(b"JobID|Start|End\n5|2026-01-02T03:04:05|Unknown\n6|None|N/A\n")
    assert ds.start.values[0] == np.datetime64("2026-01-02T03:04:05")
    assert np.isnat(ds.end.values).all()
    assert ds.warnings == []


def test_sacct__energy_keeps_zero_and_blank_apart() -> None:
    ds = sacct.parse(
        b"JobID|ConsumedEnergyRaw\n5|54156\n5.batch|0\n5.0|\n5.1|18446744073709551614\n", "s.txt"
    )
    assert ds.energy.values[:2].tolist() == [54156, 0]
    assert np.isnan(ds.energy.values[2:]).all()
    assert ds.warnings == []
    assert sacct.parse(b"JobID|ConsumedEnergy\n5|1.5K\n").energy.values.tolist() == [1500]
    assert NO_METER in sacct.parse(b"JobID|ConsumedEnergyRaw\n5|0\n5.0|\n").warnings[0]


def test_sacct__cell_that_cannot_be_read_is_named() -> None:
    ds = sacct.parse(b"JobID|Start|NNodes\n5|2026-13-02T03:04:05|1\n6|soon|two\n", "s.txt")
    assert np.isnat(ds.start.values).all()
    assert ds.nodes.values.tolist() == [1, -1]
    assert ds.complete is False
    assert ds.warnings == [
        "s.txt:2: Start is '2026-13-02T03:04:05'; left blank",
        "s.txt:3: Start is 'soon'; left blank",
        "s.txt:3: NNodes is 'two'; left blank",
    ]


def test_sacct__line_of_another_width_is_left_out_and_named() -> None:
    ds = sacct.parse(b"JobID|JobName|State\n5|a|b|COMPLETED\n6|c|FAILED\n", "s.txt")
    assert ds.job_id.values.tolist() == ["6"]
    assert ds.complete is False
    assert ds.warnings == ["s.txt:2: 4 cells under 3 columns; record left out; use another --delimiter"]


def test_sacct__cut_last_line_is_left_out_and_named() -> None:
    ds = sacct.parse(TABLE.read_bytes()[:-3], "s.txt")
    assert ds.sizes["record"] == 571
    assert ds.complete is False
    assert ds.warnings[0].startswith("s.txt:573: the last line has no end, ")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a|b\n1|2\n",
        # A table of a user's own: only its first column is one of sacct's.
        b"JobID,Freq,Time,Energy,Perf\n3228000,2000000,131,174597,8.626\n",
    ],
)
def test_sacct__other_tables_are_refused(text: bytes) -> None:
    assert not sacct.sniff(text)
    with pytest.raises(
        ReadError, match=r"^s\.txt:1: the first line has no column JobID; use sacct --parsable2"
    ):
        sacct.parse(text, "s.txt")


# As two scripts of EPCCed/archer2-frequency-benchmarks keep it; the second writes a line before it.
PLAIN = (
    b"JobID               NodeList ReqCPUFreq ElapsedRaw ConsumedEnergyRaw \n"
    b"------------ --------------- ---------- ---------- ----------------- \n"
    b"3053576      nid[001535,006+    Unknown        714                   \n"
    b"3053576.bat+       nid001535          0        714                 0 \n"
    b"3053576.ext+ nid[001535,006+          0        714                 0 \n"
    b"3053576.0    nid[001535,006+         2G        181            285487 \n"
    b"3053576.1    nid[001535,006+      2.25G        164            317188 \n"
)
HEADED = (
    b"\\n++Energy use:\n"
    b"JobID          NNodes   NTasks ReqCPUFreq ElapsedRaw ConsumedEnergyRaw \n"
    b"------------ -------- -------- ---------- ---------- ----------------- \n"
    b"3054469             1             Unknown       5223                   \n"
    b"3054469.0           1      128         2G       5105           1779660 \n"
)
# As the guide of ARCHER2 prints it.
GUIDE = (
    b"JobID           Elapsed ReqCPUFreq ConsumedEnergy \n"
    b"------------ ---------- ---------- -------------- \n"
    b"2658300        02:19:48    Unknown          4.58M \n"
    b"2658300.0      02:19:09    Unknown          4.57M \n"
)


def test_sacct__reads_the_plain_table() -> None:
    assert sacct.sniff(PLAIN)
    ds = sacct.parse(PLAIN, "s.txt")
    assert set(ds.job_id.values) == {"3053576"}
    assert ds.step.values.tolist() == ["", "batch", "extern", "0", "1"]
    assert ds.elapsed.values.tolist() == [714, 714, 714, 181, 164]
    assert math.isnan(ds.energy.values[0])
    assert ds.energy.values[1:].tolist() == [0, 0, 285487, 317188]
    # The list of nodes was cut, so it is none.
    assert ds.node_list.values.tolist() == ["", "nid001535", "", "", ""]
    assert (ds.complete, ds.warnings) == (True, [])


def test_sacct__reads_a_plain_table_under_a_line_of_its_script() -> None:
    assert sacct.sniff(HEADED)
    ds = sacct.parse(HEADED, "s.txt")
    assert (ds.step.values.tolist(), ds.nodes.values.tolist()) == (["", "0"], [1, 1])
    assert ds.energy.values[1] == 1779660
    lines = HEADED.replace(b"3054469.0 ", b"oh, 3054469")
    warning = sacct.parse(lines, "s.txt").warnings[0]
    assert warning.startswith("s.txt:5: 'oh, 3054469")


def test_sacct__reads_units_of_a_plain_table() -> None:
    ds = sacct.parse(GUIDE, "s.txt")
    assert ds.elapsed.values.tolist() == [8388, 8349]
    assert ds.energy.values.tolist() == [4.58e6, 4.57e6]


def test_sacct__a_name_that_was_cut_is_no_record() -> None:
    ds = sacct.parse(PLAIN.replace(b"3053576.1   ", b"30535763053+"), "s.txt")
    assert ds.sizes == {"record": 4}
    assert "begins with no whole job" in ds.warnings[0]


def test_sacct__other_json_is_refused() -> None:
    assert not sacct.sniff(b'{"jobs": [1]}')
    assert not sacct.sniff(b'{"jobs": {"run-1": {"job_id": 5}}}')
    with pytest.raises(ReadError, match="'jobs' is not a list"):
        sacct.parse(b'{"jobs": {"job_id": 5}}')


TIMES = "JobID|Start|End|Elapsed|ElapsedRaw\n7|2026-03-01T10:00:00|2026-03-01T10:01:40|00:01:40|100\n"


@pytest.mark.parametrize(
    ("old", "new", "complete", "found"),
    [
        ("|100\n", "|160\n", False, "ElapsedRaw is 160, Elapsed 00:01:40"),
        ("T10:01:40", "T10:01:10", False, "took 100 s, from start to end 70 s"),
        ("T10:00:00", "T10:00:50", False, "took 100 s, from start to end 50 s"),
        ("T10:01:40", "T10:04:40", True, "took 100 s, from start to end 280 s; it was suspended"),
    ],
)
def test_sacct__elapsed_is_from_start_to_end(old: str, new: str, complete: bool, found: str) -> None:
    assert sacct.parse(TIMES.encode(), "s.txt").warnings == []
    ds = sacct.parse(TIMES.replace(old, new).encode(), "s.txt")
    assert ds.complete is complete
    assert any(found in warning for warning in ds.warnings), ds.warnings


def test_sacct__the_hour_of_summer_time_is_no_fault() -> None:
    """Local times: from 01:59 to 03:01 are two minutes in March, and one hour and two minutes in October."""
    text = "JobID|Start|End|Elapsed\n7|2026-03-29T01:59:00|2026-03-29T03:01:00|00:02:00\n"
    assert sacct.parse(text.encode(), "s.txt").warnings == []
    text = "JobID|Start|End|Elapsed\n7|2026-10-25T01:59:00|2026-10-25T03:01:00|02:02:00\n"
    assert sacct.parse(text.encode(), "s.txt").warnings == []


def test_sacct__json_is_held_too() -> None:
    document = json.loads(JSON.read_text())
    document["jobs"][0]["time"]["elapsed"] += 60
    ds = sacct.parse(json.dumps(document).encode(), "s.json")
    assert not ds.complete
    assert any("from start to end" in warning for warning in ds.warnings)


def test_sacct__steps_of_a_plain_table_are_known_by_what_is_left_of_their_names() -> None:
    table = (
        b"       JobID    JobName      State \n"
        b"------------ ---------- ---------- \n"
        b"2050690_2          fold  COMPLETED \n"
        b"2050690_2.b+      batch  COMPLETED \n"
        b"2050690_2.e+     extern  COMPLETED \n"
        b"2050690_20.+      batch  COMPLETED \n"
        b"24508.exte+      extern  COMPLETED \n"
        b"2050690_21.+          b  COMPLETED \n"
    )
    ds = sacct.parse(table, "f")
    named = list(zip(ds["job_id"].values.tolist(), ds["step"].values.tolist(), strict=True))
    assert named == [
        ("2050690_2", ""), ("2050690_2", "batch"), ("2050690_2", "extern"), ("2050690_20", "batch"),
        ("24508", "extern"),
    ]  # fmt: skip
    assert "f:8: '2050690_21.+" in ds.attrs["warnings"][0]
