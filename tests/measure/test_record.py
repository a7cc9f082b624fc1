"""Records when the job that writes them is killed in between, and what they say of libraries and secrets."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.base import files
from analysis.base.errors import ConfigError
from analysis.measure import finish, folders, launch, record
from analysis.measure import record as begin
from analysis.provenance import manifest

from .conftest import ROOT, squeue, stand_in

RESULT = "proxy result: fine\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A run of two jobs at once, both of which ended well and are not yet recorded."""
    work = folders.running(tmp_path, "c") / "pair-r01"
    folders.finished(tmp_path, "c").mkdir(parents=True)
    for number, name in ((1, "pair-r01"), (2, "pair-r01.2")):
        job = work / str(number)
        (job / ".binding").mkdir(parents=True)
        (job / ".binding/0").write_text("0 0 n1 0 0\n", encoding="ascii")
        (job / ".start").write_text("100.5\n", encoding="ascii")
        (job / ".end").write_text("103.5 0\n", encoding="ascii")
        (job / "stdout.txt").write_text(RESULT, encoding="ascii")
        environment = {"LICENCE_TOKEN": "abc123 xyz", "LICENCE": "27000@abc", "HASH": "0" * 40}
        head: dict[str, Any] = {"run": name, "campaign": "c", "ranks": 1, "job_id": "", "command": ["true"]}
        head |= {"environment": environment, "benchbook": {}, "profile": "", "profiler": None}
        head |= {"result": {"file": "stdout.txt", "text": "proxy result: "}}
        folders.write_json(job / folders.HEAD, head)
    script = "export LICENCE_TOKEN='abc123 xyz'\nexport LICENCE=27000@abc\n"
    (work / "job.sh").write_text(script, encoding="ascii")
    folders.write_json(work / folders.OWNER, {"job_id": "", "host": "", "pid": 0, "started": 0})
    return work


def told(base: Path) -> dict[str, tuple[str, str]]:
    """Return folder -> run and reason of its record."""
    found = {}
    for path in sorted(folders.finished(base, "c").glob("*/run.json")):
        written = json.loads(path.read_text(encoding="utf-8"))
        found[path.parent.name] = (written["run"], written["reason"])
    return found


@pytest.mark.parametrize("moved", [0, 1])
def test_record__kill_between_two_moves_neither_loses_nor_parts_a_pair(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    publish, calls = folders.publish, []

    def killed(*arguments: Any) -> Path:
        calls.append(arguments)
        if len(calls) > moved:
            raise KeyboardInterrupt
        return publish(*arguments)

    monkeypatch.setattr(folders, "publish", killed)
    with pytest.raises(KeyboardInterrupt):
        record.end(work)
    monkeypatch.undo()
    assert len(told(tmp_path)) == moved
    monkeypatch.setattr(folders, "alive", lambda work: False)
    # Whoever finds it moves the rest, and has nothing to measure.
    assert launch.acquire(tmp_path, "c", "pair-r01") is None
    assert told(tmp_path) == {"pair-r01": ("pair-r01", ""), "pair-r01.2": ("pair-r01.2", "")}
    assert not work.exists()


@pytest.mark.parametrize(
    ("of", "known"), [("another", ", and nobody knows why"), ("pair-r01", ": Slurm says COMPLETED")]
)
def test_recover__the_end_of_another_job_with_the_same_number_is_none_of_its_own(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str, known: str
) -> None:
    """A controller that forgets a job as it dies gives its number to the next one."""
    comment = "rule_run_wildcards_c_"
    folders.write_json(work / folders.OWNER, {"job_id": "7", "host": "", "pid": 0, "started": 0})
    for job in folders.jobs(work):
        head = json.loads((job / folders.HEAD).read_text(encoding="utf-8"))
        folders.write_json(job / folders.HEAD, {**head, "slurm": {"comment": f"{comment}pair-r01"}})
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\necho 'COMPLETED|{comment}{of}|5f3a|testbed'\n")
    launch.recover(work)
    assert {reason for _, reason in told(tmp_path).values()} == {f"it ended without a record{known}"}


def test_recover__memory_is_known_from_the_log_though_slurm_says_otherwise(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that crashed at that moment runs the job in its books until somebody cancels it."""
    folders.write_json(work / folders.OWNER, {"job_id": "7", "host": "", "pid": 0, "started": 0})
    log = tmp_path / folders.LOGS / "c_pair-r01/7.log"
    log.parent.mkdir(parents=True)
    log.write_text("slurmstepd-n4: error: Detected 1 oom-kill event(s) in StepId=7.batch.\n")
    monkeypatch.setattr("analysis.base.slurm.ended", lambda *_: "CANCELLED")
    launch.recover(work)
    why = "it ended without a record: out of memory, by the log of its job: Slurm says CANCELLED"
    assert {reason for _, reason in told(tmp_path).values()} == {why}


def test_record__kill_before_the_judgement_is_a_failed_attempt_of_both(work: Path, tmp_path: Path) -> None:
    owner = {"job_id": "", "host": "elsewhere", "pid": 1, "started": 0}
    folders.write_json(work / folders.OWNER, owner)
    with pytest.raises(folders.BusyError, match="belongs to a process on elsewhere"):
        launch.acquire(tmp_path, "c", "pair-r01")
    launch.recover(work)
    why = "it ended without a record, and nobody knows why"
    names = ["pair-r01.2.failed-1", "pair-r01.failed-1"]
    assert told(tmp_path) == {name: (name, why) for name in names}


def test_record__that_could_not_be_moved_at_first_names_no_record_among_its_outputs(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of runs was read-only for some seconds; the second record had a checksum of the first."""

    def refused(*_: Any) -> Path:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(folders, "publish", refused)
        with pytest.raises(OSError, match="Read-only"):
            record.end(work)
    assert (work / "2/run.json").is_file()
    assert record.end(work) == 0
    for name in ("pair-r01", "pair-r01.2"):
        folder = folders.finished(tmp_path, "c") / name
        written = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert sorted(written["outputs"]) == ["job.sh", "stdout.txt"]
        assert folders.ended_well(folder, written | {"exit_code": 0, "end": 1.0})


def test_record__one_job_of_a_pair_fails_both(work: Path, tmp_path: Path) -> None:
    (work / "2/.end").write_text("102.5 137\n", encoding="ascii")
    assert record.end(work) == 1
    assert told(tmp_path) == {
        "pair-r01.2.failed-1": ("pair-r01.2.failed-1", "exit code 137 (signal KILL)"),
        "pair-r01.failed-1": ("pair-r01.failed-1", "another job of the run failed: pair-r01.2"),
    }


@pytest.mark.parametrize(
    ("at", "killed", "counted"),
    [("101.5", "", 1), ("101.5 102", "", 2), ("99.9", "", 0), ("103.5", "", 0), ("102.5", "102.6", 0)],
    ids=["while it ran", "twice", "before", "after", "with the end that Slurm asked for"],
)
def test_record__a_run_that_was_stopped_and_went_on_is_none(
    work: Path, tmp_path: Path, at: str, killed: str, counted: int
) -> None:
    for number in ("1", "2"):
        (work / number / ".clock").write_text("100.5\n103\n0m0.1s 0m0.1s\n0m0.1s 0m0.1s\n", encoding="ascii")
    (work / ".resumed").write_text(at.replace(" ", "\n"), encoding="ascii")
    (work / ".killed").write_text(killed, encoding="ascii")
    record.end(work)
    names = [f"pair-r01{end}{'.failed-1' * bool(counted)}" for end in ("", ".2")]
    why = "its job was suspended while it ran" * bool(counted)
    assert told(tmp_path) == {name: (name, why) for name in names}
    written = json.loads((folders.finished(tmp_path, "c") / names[0] / "run.json").read_text())
    assert written["accounting"]["resumed"] == counted


def test_record__a_head_that_was_cut_costs_its_run_and_nothing_else(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What has the run's name and its job is gone: the note of its start makes the failed attempt."""
    shutil.copytree(work, left := work.with_name("pair-r02"))
    for folder in (work, left):
        os.truncate(folder / "1" / folders.HEAD, 70)
    launch.recover(left)
    assert record.main(["end", str(work)]) == 1
    assert capsys.readouterr().err == "no .job.json that can be read says what was measured\n"
    assert not work.exists()
    assert not left.exists()
    assert told(tmp_path) == {}


def test_record__a_run_that_another_job_measured_meanwhile_is_no_failure(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm took the first job for lost, and another measured the pair."""
    for name in ("pair-r01", "pair-r01.2"):
        folder = folders.finished(tmp_path, "c") / name
        folder.mkdir()
        folders.write_json(folder / "run.json", {"run": name, "job_id": "5", "reason": ""})
    assert record.end(work) == 0
    why = "another job measured this run meanwhile, job 5; this one ended well too"
    assert {name: reason for name, (_, reason) in told(tmp_path).items()} == {
        "pair-r01": "",
        "pair-r01.2": "",
        "pair-r01.2.failed-1": why,
        "pair-r01.failed-1": why,
    }
    assert capsys.readouterr().err == f"pair-r01.failed-1: not counted: {why}\n"


def test_record__nothing_is_called_good_where_there_is_no_room(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here no file grows beyond a few pages: a record would fit, and the run's output may be cut."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, hard))
    try:
        assert record.main(["end", str(work)]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = capsys.readouterr().err
    assert said.endswith("File too large); allow larger files (ulimit -f), then measure again\n")
    assert told(tmp_path) == {}
    launch.recover(work)
    assert sorted(told(tmp_path)) == ["pair-r01.2.failed-1", "pair-r01.failed-1"]


def test_record__a_published_run_does_not_fail_for_its_left_over_folder(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a network disk, where a file that some process still has open keeps its folder."""
    rmtree = shutil.rmtree

    def refused(path: Path) -> None:
        if path == work:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path / ".nfs01"))
        rmtree(path)

    with monkeypatch.context() as patch:
        patch.setattr(record.shutil, "rmtree", refused)
        assert record.main(["end", str(work)]) == 0
    assert told(tmp_path) == {"pair-r01": ("pair-r01", ""), "pair-r01.2": ("pair-r01.2", "")}
    left = "pair-r01 is recorded; its folder is left over (Device or resource busy)"
    assert capsys.readouterr().err == f"{work}/.nfs01: {left}; the next command removes it\n"
    launch.recover(work)
    assert not work.exists()
    assert len(told(tmp_path)) == 2


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "make room"),
        (errno.EDQUOT, "make room"),
        (errno.EACCES, "give yourself the permission"),
        (errno.EROFS, "make it writable"),
        (errno.EINVAL, "put it right"),
    ],
)
def test_main__the_remedy_is_that_of_the_error(
    work: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    remedy: str,
) -> None:
    """Of a record that cannot be written, of a campaign that cannot be finished, of a manifest."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/some/file")

    monkeypatch.setattr(files, "write_text", refused)
    assert record.main(["end", str(work)]) == 1
    why = f"cannot be recorded ([Errno {number}] {os.strerror(number)}: '/some/file')"
    assert capsys.readouterr().err == f"{work}: {why}; {remedy}, then measure again\n"
    monkeypatch.setattr(finish, "kept", refused)
    monkeypatch.setattr(finish.project, "root", lambda: tmp_path)
    assert finish.main(["c"]) == 1
    why = f"the campaign cannot be finished ({os.strerror(number)})"
    assert capsys.readouterr().err == f"/some/file: {why}; {remedy}, then give the same command again\n"
    monkeypatch.setattr(manifest, "write_text", refused)
    (line,) = finish.add_to_manifest(tmp_path, "c")
    assert line.endswith(f": {os.strerror(number)}; {remedy}, then measure again: it is written then")


def test_record__what_failed_before_the_signal_came_has_failed_by_itself(work: Path, tmp_path: Path) -> None:
    """The job of 103.5 s was cut by the signal of 103 s, that of 92.5 s was not; no wall clock counts."""
    (work / "1/.end").write_text("5503.5 143\n", encoding="ascii")
    (work / "2/.end").write_text("5492.5 137\n", encoding="ascii")
    (work / "1/.clock").write_text("90.5\n103.5\n", encoding="ascii")
    (work / "2/.clock").write_text("90.5\n92.5\n", encoding="ascii")
    (work / ".killed").write_text("103.0\n", encoding="ascii")
    assert record.end(work, killed="TERM") == 1
    assert [reason for _, reason in told(tmp_path).values()] == [
        "exit code 137 (signal KILL)",
        "the job was ended by TERM (cancelled, or out of time)",
    ]


def test_record__no_file_of_a_run_holds_a_secret(work: Path, tmp_path: Path) -> None:
    assert record.end(work) == 0
    folder = folders.finished(tmp_path, "c") / "pair-r01"
    assert sorted(path.name for path in folder.iterdir()) == ["job.sh", "run.json", "stdout.txt"]
    for path in folder.iterdir():
        assert "abc123" not in path.read_text(encoding="utf-8")
    environment = json.loads((folder / "run.json").read_text(encoding="utf-8"))["environment"]
    assert environment == {"LICENCE_TOKEN": "(hidden)", "LICENCE": "27000@abc", "HASH": "(hidden)"}
    script = (folder / "job.sh").read_text(encoding="utf-8")
    assert script == "export LICENCE_TOKEN='(hidden)'\nexport LICENCE=27000@abc\n"


def test_record__has_the_checksums_of_the_files_that_the_run_left(work: Path, tmp_path: Path) -> None:
    """Of RESULT by sha256sum; the script without its secrets; no hidden file, no record."""
    assert record.end(work) == 0
    folder = folders.finished(tmp_path, "c") / "pair-r01"
    outputs = json.loads((folder / "run.json").read_text(encoding="utf-8"))["outputs"]
    assert sorted(outputs) == ["job.sh", "stdout.txt"]
    assert outputs["stdout.txt"] == "17a4cfa16341dc762fa01d2a9e9e2d12fc8a8a7c750701d65265ff359637e008"
    assert outputs["job.sh"] == hashlib.sha256((folder / "job.sh").read_bytes()).hexdigest()


LIBRARY = """\
#include <string.h>
int MPI_Get_library_version(char *text, int *size)
{
    strcpy(text, "Some MPI v1.2.3, of this test");
    *size = (int)strlen(text);
    return 0;
}
"""
PROGRAM = (
    "int MPI_Get_library_version(char *, int *);\nint main(void) { return MPI_Get_library_version(0, 0); }\n"
)


@pytest.mark.parametrize(
    ("there", "reason"), [([".start"], "the shell that waited for it was killed"), ([], "never started")]
)
def test_record__job_without_an_end_says_whether_it_had_begun(
    work: Path, tmp_path: Path, there: list[str], reason: str
) -> None:
    for name in {".start", ".end"}.difference(there):
        (work / "2" / name).unlink()
    assert record.end(work) == 1
    assert [why for _, why in told(tmp_path).values()] == [
        reason,
        "another job of the run failed: pair-r01.2",
    ]


def test_record__retracted_run_is_measured_again_and_the_manifest_follows(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work, again := tmp_path / "again")
    raw = folders.finished(tmp_path, "c").parent

    def faults() -> list[str]:
        return [str(fault) for fault in manifest.check(raw, "c")[1]]

    assert record.end(work) == 0
    assert finish.add_to_manifest(tmp_path, "c") == faults() == []
    for name in ("pair-r01.2", "pair-r01"):
        assert record.retract(raw / "runs" / name, "Slurm says NODE_FAIL") == f"{name}.failed-1"
    assert len(faults()) > 0
    assert finish.add_to_manifest(tmp_path, "c") == faults() == []
    shutil.copytree(again, work)
    assert record.end(work) == 0
    assert finish.add_to_manifest(tmp_path, "c") == faults() == []
    assert told(tmp_path) == {
        "pair-r01": ("pair-r01", ""),
        "pair-r01.2": ("pair-r01.2", ""),
        "pair-r01.2.failed-1": ("pair-r01.2.failed-1", "Slurm says NODE_FAIL"),
        "pair-r01.failed-1": ("pair-r01.failed-1", "Slurm says NODE_FAIL"),
    }
    # What is edited later is found, whatever was retracted before.
    (raw / "runs/pair-r01/stdout.txt").write_text("proxy result: better\n", encoding="ascii")
    assert finish.add_to_manifest(tmp_path, "c") == []
    (fault,) = faults()
    assert "runs/pair-r01/stdout.txt: has changed" in fault


@pytest.mark.parametrize(
    ("profiler", "pattern"), [("mpip", "138/xhpcg.*.mpiP"), ("ipm", "071/unknown.*.ipm.xml")]
)
@pytest.mark.parametrize("ranks", [2, 4])
def test_record__ranks_that_started_each_for_itself_have_failed(
    work: Path, tmp_path: Path, profiler: str, pattern: str, ranks: int
) -> None:
    """A real profile of two ranks, of a run that asked for two, and of one that asked for four."""
    shutil.rmtree(work / "2")
    head = json.loads((work / "1" / folders.HEAD).read_text(encoding="utf-8"))
    head |= {"ranks": ranks, "profiler": profiler, "profile": Path(pattern).name}
    folders.write_json(work / "1" / folders.HEAD, head)
    for rank in range(ranks):
        (work / "1/.binding" / str(rank)).write_text(f"{rank} {rank} n1 {rank} {rank}\n", encoding="ascii")
    (profile,) = (ROOT / "data/raw/vm-hpcg/runs").glob(pattern)
    shutil.copy(profile, work / "1")
    assert record.end(work) == (ranks == 4)
    ((_, reason),) = told(tmp_path).values()
    asked = "its {} profile has 2 ranks, 4 were asked for; does the MPI library take what starts its ranks"
    assert reason == ("" if ranks == 2 else f"{asked.format(profiler)} (launch.mpi: start)?")


def test_begin__limits_are_those_of_the_shell() -> None:
    """Fortran programs live or die by the stack, InfiniBand by locked memory."""
    code = "import json; from analysis.measure.record import limits; print(json.dumps(limits()))"
    shell = f"ulimit -S -s 4096; ulimit -S -n 77; ulimit -S -v unlimited; '{sys.executable}' -c '{code}'"
    said = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout
    found = json.loads(said)
    assert list(found) == ["stack", "locked_memory", "address_space", "open_files"]
    assert (found["stack"], found["address_space"], found["open_files"]) == (4096 * 1024, None, 77)


def test_begin__library_tells_its_own_version(tmp_path: Path) -> None:
    if shutil.which("cc") is None or shutil.which("ldd") is None:
        pytest.skip("no C compiler to build a library with")
    (tmp_path / "library.c").write_text(LIBRARY, encoding="ascii")
    (tmp_path / "program.c").write_text(PROGRAM, encoding="ascii")
    library, program = tmp_path / "libmpi_dbg.so", tmp_path / "program"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "library.c"], check=True)
    subprocess.run(["cc", "-o", program, tmp_path / "program.c", f"-L{tmp_path}", "-lmpi_dbg"], check=True)

    # The loader finds it by the job's search path alone.
    assert "libmpi_dbg.so" not in begin.linked(str(program), "")
    found = begin.linked(str(program), str(tmp_path))
    assert found["libmpi_dbg.so"] == str(library)
    told = begin.mpi_library(found, str(tmp_path))
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    assert told == {
        "path": str(library),
        "sha256": digest,
        "bytes": library.stat().st_size,
        "version": "Some MPI v1.2.3, of this test",
    }
    assert begin.mpi_library({"libmpi_cxx.so.40": str(library), "libc.so.6": str(library)}, "") is None

    by_name = begin.preloaded("libmpi_dbg.so", f"/nowhere:{tmp_path}")
    assert by_name == begin.preloaded(str(library), "") == begin.fingerprint(str(library))
    assert begin.preloaded("libmpi_dbg.so", "/nowhere") is begin.preloaded("", "") is None


def test_begin__launcher_that_needs_the_libraries_of_its_module_tells_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "mpirun"
    said = "mpirun (Open MPI) 4.1.4"
    launcher.write_text(
        f'#!/bin/sh\n[ "$LD_LIBRARY_PATH" = /opt/mpi/lib ] && echo "{said}"\n', encoding="ascii"
    )
    launcher.chmod(0o755)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv(begin.LIBRARY_PATH, "/opt/mpi/lib")
    head = {"program": "true", "inputs": {}, "command": [str(launcher), "true"]}
    assert begin.begin(tmp_path, head) == 0
    found = files.read_json(tmp_path / folders.BEGIN)
    assert found["launcher"] == {"path": str(launcher), "version": said}


def test_launch__job_that_slurm_has_given_up_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its processes can live on, on nodes that are another job's by then."""
    said = "slurm_load_jobs error: Invalid job id specified"
    stand_in(tmp_path, monkeypatch, "squeue", f"#!/bin/sh\necho '{said}' >&2; exit 1\n")
    # Its own clock alone: a program that is waited for sleeps, too.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: pytest.fail("it waits"))
    monkeypatch.setattr(launch, "time", clock)
    with pytest.raises(ConfigError, match="Invalid job id specified; start the run again"):
        launch._node_list("5")


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (195.0, "the job was ended by TERM (cancelled, or out of time)"),  # Slurm's signal came to it first
        (190.0, "the job was ended by TERM (cancelled, or out of time)"),
        (189.0, "exit code 5"),  # more than 10 s before: it failed by itself
    ],
)
def test_record__what_failed_shortly_before_the_signal_was_ended_by_it(
    work: Path, tmp_path: Path, ended: float, reason: str
) -> None:
    (work / "1/.end").write_text("103.5 5\n", encoding="ascii")
    (work / "1/.clock").write_text(f"180\n{ended}\n", encoding="ascii")
    (work / ".killed").write_text("200.0\n", encoding="ascii")
    assert record.end(work, killed="TERM") == 1
    assert told(tmp_path)["pair-r01.failed-1"] == ("pair-r01.failed-1", reason)


@pytest.mark.parametrize(
    ("state", "ago", "reason"),
    [
        # mpirun had ended before the shell got a signal: Slurm ends the daemons of a job first.
        ("COMPLETING", 1, "the job was ended by Slurm (it says COMPLETING, no reason)"),
        ("COMPLETING", 60, "exit code 1"),  # long before: it failed by itself
        ("RUNNING", 1, "exit code 1"),
    ],
)
def test_record__what_slurm_has_ended_before_the_shell_got_its_signal_says_so(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, ago: float, reason: str
) -> None:
    up = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    (work / "1/.end").write_text("103.5 1\n", encoding="ascii")
    (work / "1/.clock").write_text(f"{up - 90}\n{up - ago}\n", encoding="ascii")
    squeue(tmp_path, monkeypatch, f"{state} None\n")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert record.end(work) == 1
    assert told(tmp_path)["pair-r01.failed-1"] == ("pair-r01.failed-1", reason)


def test_record__places_that_charm_ranks_took_are_no_notes(work: Path, tmp_path: Path) -> None:
    """Over a remote shell each rank takes a place on its node by making a folder."""
    (work / "1/.binding/.n1.0").mkdir()
    assert record.end(work) == 0
    assert told(tmp_path)["pair-r01"][1] == ""


def test_record__good_run_whose_start_a_full_disk_has_cut_is_no_good_run(work: Path, tmp_path: Path) -> None:
    """The study of disturbances found one, exit code 0 and no start: a good run without a time."""
    (work / "1/.start").write_bytes(b"")
    assert record.end(work) == 1
    cut = "the note of its start is cut, so nobody knows how long it took: the disk was full as it began"
    assert told(tmp_path)["pair-r01.failed-1"] == ("pair-r01.failed-1", cut)


def test_record__ranks_whose_notes_a_full_disk_has_cut_were_not_unbound(work: Path, tmp_path: Path) -> None:
    """As one of 69 runs under disturbances left it: exit code 0, a note of 0 B, and an empty stderr."""
    (work / "1/.binding/0").write_bytes(b"")
    assert record.end(work) == 1
    cut = "a note of its ranks is cut: the disk was full as they began"
    assert told(tmp_path)["pair-r01.failed-1"] == ("pair-r01.failed-1", cut)


def test_record__a_good_run_that_went_on_right_before_its_record_was_suspended(
    work: Path, tmp_path: Path
) -> None:
    """Of a job that is told to end, Slurm lets it go on for that; this one was not told."""
    up = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    for job in ("1", "2"):
        (work / job / ".clock").write_text(f"{up - 9}\n{up - 0.5}\n", encoding="ascii")
    (work / ".resumed").write_text(f"{up - 1}\n", encoding="ascii")
    assert record.end(work) == 1
    assert {reason for _, reason in told(tmp_path).values()} == {"its job was suspended while it ran"}
