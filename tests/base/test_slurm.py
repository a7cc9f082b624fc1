from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.base import slurm
from analysis.base.errors import ConfigError
from analysis.readers import sacct

JSON = Path(__file__).parents[2] / "data/raw/vm-hpcg/sacct-one-job.json"


def rows(document: Any) -> list[dict[str, Any]]:
    """Return the records of a job by variable name."""
    frame = sacct.parse(json.dumps(document).encode()).reset_coords().to_dataframe()
    return [dict(row) for row in frame.to_dict("records")]


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("COMPLETED", True),
        ("CANCELLED by 1300204", True),
        ("CANCELLED+", True),
        ("NODE_FAIL", True),
        ("OUT_OF_MEMORY", True),
        ("RUNNING", False),
        ("COMPLETING", False),
        ("REQUEUED", False),
        ("SUSPENDED", False),
        ("", False),
    ],
)
def test_slurm__terminal_states(state: str, ended: bool) -> None:
    assert slurm.terminal(state) is ended


def test_slurm__one_reading_is_never_final() -> None:
    assert not slurm.final([])
    assert not slurm.final([{"state": "COMPLETED"}])


def test_slurm__two_equal_readings_of_an_ended_job_are_final() -> None:
    reading = rows(json.loads(JSON.read_text()))
    assert len(reading) == 3  # the job, batch, step 0; with NaN and NaT among their values
    assert slurm.final([reading, rows(json.loads(JSON.read_text()))])


def test_slurm__a_step_whose_memory_comes_late_keeps_the_record_provisional() -> None:
    late, whole = rows(json.loads(JSON.read_text())), rows(json.loads(JSON.read_text()))
    late[1]["memory_max"] = math.nan
    assert not slurm.final([late, whole])
    assert slurm.final([late, whole, whole])


def test_slurm__a_step_that_comes_late_keeps_the_record_provisional() -> None:
    whole = rows(json.loads(JSON.read_text()))
    assert not slurm.final([whole[:2], whole])


def test_slurm__a_requeued_job_is_provisional_again() -> None:
    failed = {"state": "NODE_FAIL", "end": 10}
    assert slurm.final([failed, failed])
    assert not slurm.final([failed, failed, {"state": "PENDING", "end": 0}])


@pytest.mark.parametrize("end", [None, 0, math.nan, np.datetime64("NaT"), "Unknown", "", "0"])
def test_slurm__an_ended_job_without_its_end_is_provisional(end: Any) -> None:
    assert not slurm.final([{"state": "COMPLETED", "end": end}] * 2)


@pytest.mark.parametrize(
    "end", [1795220857, "2026-11-21T00:27:37", "1795220857", np.datetime64("2026-11-21")]
)
def test_slurm__an_ended_job_with_its_end_is_final(end: Any) -> None:
    assert slurm.final([{"state": "COMPLETED", "end": end}] * 2)


def test_slurm__readings_with_other_columns_are_not_equal() -> None:
    assert not slurm.final([{"state": "FAILED"}, {"state": "FAILED", "exit_code": 1}])


def test_ended__says_how_the_last_start_that_is_over_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm lists the starts of a job, oldest first; the newest may be running."""
    tool = tmp_path / "sacct"
    tool.write_text(
        "#!/bin/sh\ncase $* in *--jobs=7) printf 'COMPLETED\\nNODE_FAIL\\nRUNNING\\n' ;; *) exit 1 ;; esac\n",
        encoding="ascii",
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert slurm.ended("7") == "NODE_FAIL"
    assert slurm.ended("8") == ""
    monkeypatch.setenv("PATH", "/nowhere")
    assert slurm.ended("7") == ""


def test_ended__a_row_that_has_no_name_yet_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until slurmdbd has a job's own name, it writes `allocation`; another name is another job's."""
    tool = tmp_path / "sacct"
    rows = {"7": "FAILED|note|allocation|testbed", "8": "FAILED|note|payroll|testbed"}
    cases = "".join(f"*--jobs={job}) echo '{row}' ;; " for job, row in rows.items())
    tool.write_text(f"#!/bin/sh\ncase $* in {cases} esac\n", encoding="ascii")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    names = {"comment": "note", "job_name": "5f3a", "cluster": "testbed"}
    assert [slurm.ended(job, names) for job in rows] == ["FAILED", ""]


SQUEUE = """\
#!/bin/sh
case $* in
    *--jobs=9,10) printf '9|RUNNING\\n10|NODE_FAIL\\n' ;;
    *--jobs=11) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1 ;;
    *) echo 'Unable to contact slurm controller' >&2; exit 1 ;;
esac
"""


def test_states__are_asked_in_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "squeue").write_text(SQUEUE, encoding="ascii")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert slurm.states(["10", "9", "10"]) == {"9": "RUNNING", "10": "NODE_FAIL"}
    assert slurm.states(["11"]) == {}  # that it is forgotten is an answer
    with pytest.raises(slurm.NoAnswerError, match=r"^Unable to contact slurm controller$"):
        slurm.states(["12"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert slurm.states([]) == {}
    with pytest.raises(slurm.NoAnswerError, match="cannot run squeue"):
        slurm.states(["9"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("login", ["login"]),
        ("n[01-03,7],login", ["n01", "n02", "n03", "n7", "login"]),
        ("r1-n[9-10]-ib.site", ["r1-n9-ib.site", "r1-n10-ib.site"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
    ],
)
def test_node_names__as_slurm_writes_them(text: str, names: list[str]) -> None:
    assert slurm.node_names(text) == names


@pytest.mark.parametrize("text", ["n[1-2", "a b", "[1-2]", "n1,,n2", "$(id)"])
def test_node_names__what_is_no_list_of_nodes_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="is no node; write them like"):
        slurm.node_names(text)


def test_short__name_has_no_domain() -> None:
    assert (slurm.short("n1.site.example"), slurm.short("n1")) == ("n1", "n1")


def test_ranges__are_written_and_spelt_out() -> None:
    assert slurm.ranges([8, 1, 0, 2]) == "0-2,8"
    assert slurm.numbers("0-2,8\n") == [0, 1, 2, 8]


@pytest.mark.parametrize(
    ("state", "code", "said"),
    [
        ("FAILED", "137:0", "FAILED (KILL)"),
        ("FAILED", "0:9", "FAILED (KILL)"),
        ("FAILED", "1:0", "FAILED"),
        ("FAILED", "", "FAILED"),
        ("COMPLETED", "0:0", "COMPLETED"),
    ],
)
def test_ended__names_the_signal_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, code: str, said: str
) -> None:
    tool = tmp_path / "sacct"
    tool.write_text(f"#!/bin/sh\necho '{state}|note|5f3a|testbed|{code}'\n", encoding="ascii")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert slurm.ended("7", {"comment": "note"}) == said


def test_ended__is_asked_of_the_controller_where_the_accounting_was_purged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"sacct": "", "squeue": "TIMEOUT|note|5f3a"}
    for name, row in rows.items():
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\necho '{row}'\n", encoding="ascii")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    names = {"comment": "note", "job_name": "5f3a", "cluster": "testbed"}
    assert slurm.ended("7", names) == "TIMEOUT"
    assert slurm.ended("7", {**names, "comment": "another"}) == ""
    (tmp_path / "squeue").write_text("#!/bin/sh\necho 'RUNNING|note|5f3a'\n", encoding="ascii")
    assert slurm.ended("7", names) == ""


@pytest.mark.parametrize(("late", "expected"), [(2, [0]), (3, [0, 4])])
def test_usual_zones__three_runs_an_hour_later_are_summer_time(late: int, expected: list[int]) -> None:
    """Two runs by another clock are runs of another time; a quarter of an hour counts as 1."""
    assert slurm.usual_zones([0] * 5 + [4] * late) == expected
