"""A run from claim to record, with real processes: what is left, whatever becomes of the application."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from snakemake.shell import shell

from analysis import readers
from analysis.base import files
from analysis.base.errors import ConfigError
from analysis.measure import attempts, folders, launch, workflow
from analysis.measure.launch import SNAKEMAKES_THREADS
from analysis.measure.script import TEMPLATE, fill, quote
from analysis.schema.records import RunRecord

from .conftest import ROOT

# Starts each rank as MPICH's mpiexec does, but one after the other.
MPIRUN = """\
#!/bin/sh
ranks=$2
shift 4
rank=0
while [ $rank -lt $ranks ]; do
    PMI_RANK=$rank MPI_LOCALRANKID=$rank "$@" || exit
    rank=$((rank + 1))
done
"""

RESULT = (
    "proxy result: version=1 pattern=halo ranks=1 bytes=8 count=1 work=0 time=2.5 time_min=2 io_time=0 "
    "checksum=0 errors=0"
)

CLUSTER = """\
title: this machine in a test
facts: []
launch:
  scheduler: none
  nodes: 1
  cores: auto
  environment: {environment}
  mpi:
    fake: {{family: mpich, name: "MPICH 0", start: mpirun, launcher: {base}/mpirun}}
  profilers:
    mpip: {{library: {library}}}
  applications:
    alpha: {{program: {base}/program, inputs: {base}/inputs}}
"""

ALPHA = """\
title: Alpha
engine: proxy
figure_of_merit: time
unit: s
higher_is_better: false
fixed_time: false
launch:
  arguments: {arguments}
  result: {{file: stdout.txt, text: "proxy result: ", ranks: " ranks=${{ranks}} "}}
  cases:
    small: {{seconds: 1, values: {{size: 3}}{inputs}}}
"""

CAMPAIGN = """\
title: One run
evidence: measured
hardware: this machine
matrix:
  cluster: here
  repeats: 1
  factors: {{ranks_per_node: 1, {factors}}}
  subsets:
    - {{name: one, why: a single run is enough, application: alpha, case: small}}
"""

# A library that leaves a file named after each program that it is loaded into.
TRACE = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
static char name[256];
__attribute__((constructor)) static void loaded(int argc, char **argv)
{
    const char *script = argc > 1 ? argv[1] : program_invocation_short_name, *last = script;
    for (; *script; script++)
        if (*script == '/')
            last = script + 1;
    snprintf(name, sizeof name, "%s.mpiP", last);
    FILE *file = fopen(name, "w");
    if (file)
        fclose(file);
}
"""

Project = Callable[..., "Started"]


class Started:
    """A project with one run."""

    def __init__(self, base: Path) -> None:
        self.base = base
        listed = self.benchbook("plan", "c", "--json")
        assert listed.returncode == 0, listed.stderr
        (run,) = json.loads(listed.stdout)
        self.run = str(run["run"])

    def benchbook(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "analysis.cli", *arguments]
        return subprocess.run(command, cwd=self.base, capture_output=True, text=True, check=False)

    def popen(self, **more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "analysis.measure.launch", "c", self.run]
        env = {name: text for name, text in os.environ.items() if not name.startswith("SLURM_")} | more
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.base, stdout=pipe, stderr=pipe, text=True, env=env)

    def launch(self, **more: str) -> tuple[int, str]:
        process = self.popen(**more)
        out, err = process.communicate(timeout=180)
        return process.returncode, out + err

    def records(self) -> dict[str, dict[str, Any]]:
        paths = (self.base / "data/raw/c/runs").glob("*/run.json")
        found = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}
        return {name.removeprefix(self.run): record for name, record in sorted(found.items())}

    def until_it_runs(self) -> None:
        deadline = time.monotonic() + 120  # on a machine that others use too
        pid = self.base / "program.pid"
        while not (pid.exists() and pid.read_text(encoding="ascii").strip()):
            assert time.monotonic() < deadline, "the program did not start"
            time.sleep(0.05)

    @property
    def work(self) -> Path:
        return self.base / "data/raw/.running/c" / self.run


def written(
    base: Path,
    program: str = f"echo '{RESULT}'",
    *,
    arguments: str = "[]",
    inputs: str = "",
    factors: str = "nodes: 1",
    environment: str = "{}",
    library: str = "/nowhere/libmpiP.so",
) -> dict[str, str]:
    """Return the files of a project whose program is a shell script, by their names."""
    values = {"base": base, "arguments": arguments, "inputs": inputs, "factors": factors}
    values |= {"environment": environment, "library": library}
    return {
        "config/config.yaml": "campaigns: [c]\nreports: {}\npages: []\n",
        "config/clusters/here.yaml": CLUSTER.format(**values),
        "config/applications/alpha.yaml": ALPHA.format(**values),
        "config/campaigns/c.yaml": CAMPAIGN.format(**values),
        "inputs/in.k": "model\n",
        "mpirun": MPIRUN,
        "program": f"#!/bin/sh\n{program}\n",
    }


def lay_out(base: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text, encoding="utf-8")
        (base / name).chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a function that makes a project whose program is a shell script."""

    def make(*program: str, **given: str) -> Started:
        base = tmp_path / "project"
        lay_out(base, written(base, *program, **given))
        (base / "workflow").symlink_to(ROOT / "workflow")
        return Started(base)

    return make


def test_launch__good_run_is_recorded_and_read_back(project: Project) -> None:
    started = project(arguments='["--size=${size}"]')
    before = time.time()
    status, said = started.launch()
    assert status == 0, said
    (record,) = started.records().values()
    assert (record["exit_code"], record["reason"], record["job_id"]) == (0, "", "")
    assert set(record) <= set(RunRecord.model_fields)
    assert RunRecord.model_validate(record).started_by == "mpirun"
    assert before <= record["start"] <= record["end"] <= time.time()
    assert shlex.split(record["command"])[-2:] == [str(started.base / "program"), "--size=3"]
    assert record["binary"]["sha256"] == hashlib.sha256((started.base / "program").read_bytes()).hexdigest()
    core = str(min(os.sched_getaffinity(0)))
    ((rank, host, asked, real),) = (line.split() for line in record["binding"]["ranks"])
    # What the wrapper in the command does is told to those who have not got it.
    assert f"/{record['binding']['by'].split()[0]} " in record["command"]
    assert (rank, host) == ("0", os.uname().nodename)
    assert asked == real
    assert asked.split("-")[0] == core
    folder = started.base / "data/raw/c/runs" / started.run
    assert sorted(path.name for path in folder.iterdir()) == [
        "job.sh",
        "run.json",
        "stderr.txt",
        "stdout.txt",
    ]
    ds = readers.open(folder / "run.json")
    assert (ds["campaign"].item(), ds["ranks"].item(), ds.attrs["complete"]) == ("c", 1, True)
    assert not started.work.exists()

    stamp = (folder / "run.json").stat().st_mtime_ns
    assert started.launch() == (0, f"{started.run}: measured already\n")
    assert (folder / "run.json").stat().st_mtime_ns == stamp


# What Open MPI 4.1.4 wrote where two of its starts met on one node.
IN_ITS_WAY = """\
A call to mkdir was unable to create the desired directory:

  Directory: /tmp/ompi.vm.0
  Error:     File exists

  orte_session_dir failed
  --> Returned value Error (-1) instead of ORTE_SUCCESS
"""


@pytest.mark.parametrize("name", ["bash", "a b", "a) R 1 (b"])
def test_script__finds_the_shell_of_its_job_whatever_is_between(tmp_path: Path, name: str) -> None:
    """The number of a process's parent stands behind its name, which may have blanks and brackets."""
    held = TEMPLATE[TEMPLATE.index("held() {") : TEMPLATE.index("# Tell whether Open MPI 4")]
    (tmp_path / "script").write_text(f"{held.replace('$$', '$')}\nheld; echo $?\n")
    (tmp_path / name).symlink_to(str(shutil.which("bash")))
    # With a command behind it, a shell does not become what it starts.
    between = f"{shlex.quote(f'./{name}')} -c 'bash script; :'; :"
    found = []
    for number in ("$$", "2147483646"):
        words = ["bash", "-c", f"echo {number} >.shell; {between}"]
        found.append(subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)
    assert found == ["0\n", "1\n"]


def test_script__stop_that_a_full_disk_did_not_let_it_note_is_noted_at_the_end(tmp_path: Path) -> None:
    uptime = TEMPLATE[
        TEMPLATE.index("uptime() {") : TEMPLATE.index("# Tell whether the shell of Slurm's job")
    ]
    noted = TEMPLATE[TEMPLATE.index("resumed=()") : TEMPLATE.index("if record begin")]
    full, room = "mkdir .resumed; kill -CONT $$$$; :\n", "rmdir .resumed\n"  # nothing can be written there
    script = f"set -u\n{uptime}{noted}went_on\n{full}{room}went_on\nread -r up _ </proc/uptime; echo $$up\n"
    (tmp_path / "script").write_text(string.Template(script).substitute())
    words = ["bash", "script"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    (at,) = (tmp_path / ".resumed").read_text().split()
    assert 0 <= float(done.stdout) - float(at) < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("times", "starts", "reason"),
    [
        (2, 3, ""),
        (9, 5, "exit code 1: the launcher could not make its folder: orte_session_dir failed"),
    ],
)
def test_launch__a_launcher_that_another_start_was_in_the_way_of_starts_once_more(
    project: Project, times: int, starts: int, reason: str
) -> None:
    started = project()
    way, count = started.base / "way", started.base / "count"
    way.write_text(IN_ITS_WAY, encoding="utf-8")
    fails = f'echo "$$" >>{count}; [ $(wc -l <{count}) -gt {times} ] || {{ cat {way} >&2; exit 1; }}\n'
    # Who asks for its version is not counted.
    (started.base / "mpirun").write_text(
        MPIRUN.replace("ranks=$2\n", f"ranks=$2\n[ $# -lt 2 ] || {{ {fails.strip()}; }}\n"), encoding="utf-8"
    )
    status, said = started.launch()
    assert status == int(bool(reason)), said
    assert len(count.read_text(encoding="utf-8").splitlines()) == starts
    assert said.count("was in the way; no rank has begun, once more") == starts - 1
    # What each has said is in the log of the run.
    assert said.count("Directory: /tmp/ompi.vm.0") == starts - 1
    (record,) = started.records().values()
    assert record["reason"] == reason


@pytest.mark.slow
def test_launch__a_launcher_fails_for_good_once_a_rank_has_begun(project: Project) -> None:
    started = project("echo x >>{base}/count; echo orte_session_dir failed >&2; exit 1")
    program = started.base / "program"
    program.write_text(
        program.read_text(encoding="utf-8").replace("{base}", str(started.base)), encoding="utf-8"
    )
    status, said = started.launch()
    assert (status, "once more" in said) == (1, False)
    assert (started.base / "count").read_text(encoding="utf-8") == "x\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code", "reason"),
    [
        ("exit 5", 5, "exit code 5"),
        ("kill -SEGV $$", 139, "exit code 139 (signal SEGV)"),
        ("echo no result", 0, "exit code 0, but no stdout.txt holds 'proxy result: '"),
        (
            f"echo '{RESULT}' | sed s/ranks=1/ranks=4/",
            0,
            "no stdout.txt holds ' ranks=1 ': its ranks were not one job; "
            "does the MPI library take what starts its ranks (launch.mpi: start)?",
        ),
    ],
)
def test_launch__failed_application_leaves_a_record(
    project: Project, program: str, code: int, reason: str
) -> None:
    started = project(program)
    status, said = started.launch()
    assert status == 1
    assert said.endswith(f"{started.run}.failed-1: failed: {reason}\n")
    (name, record), *rest = started.records().items()
    assert (name, record["exit_code"], record["reason"], rest) == (".failed-1", code, reason, [])

    (started.base / "program").write_text(f"#!/bin/sh\necho '{RESULT}'\n", encoding="utf-8")
    assert started.launch()[0] == 0
    assert list(started.records()) == ["", ".failed-1"]


@pytest.mark.slow
def test_launch__run_without_the_profile_it_should_leave_has_failed(project: Project) -> None:
    started = project(factors="profiler: mpip")
    assert started.launch()[0] == 1
    (record,) = started.records().values()
    assert record["reason"] == "left no mpip profile (*.mpiP); was the library preloaded?"


@pytest.mark.slow
def test_launch__profiler_is_preloaded_into_the_application_alone(project: Project, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to build a library with")
    (tmp_path / "trace.c").write_text(TRACE, encoding="utf-8")
    library = tmp_path / "libmpiP.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "trace.c"], check=True)
    started = project(factors="profiler: mpip", library=str(library))
    status, said = started.launch()
    assert status == 0, said
    (record,) = started.records().values()
    assert record["profiler"] == "mpip"
    folder = started.base / "data/raw/c/runs" / started.run
    # The interpreter of the program, not mpirun, the wrapper, taskset or env.
    assert [path.name for path in folder.glob("*.mpiP")] == ["program.mpiP"]


@pytest.mark.slow
def test_launch__inputs_of_no_declared_checksum_are_recorded(project: Project) -> None:
    started = project(inputs=', inputs: {in.k: ""}')
    assert started.launch()[0] == 0
    (record,) = started.records().values()
    ((path, file),) = record["input_files"].items()
    assert path == f"{started.base}/inputs/in.k"
    assert file["sha256"] == hashlib.sha256(b"model\n").hexdigest()


@pytest.mark.slow
def test_launch__declared_input_is_accepted(project: Project) -> None:
    good = hashlib.sha256(b"model\n").hexdigest()
    assert project(inputs=f", inputs: {{in.k: {good}}}").launch()[0] == 0


@pytest.mark.slow
def test_launch__wrong_input_is_named(project: Project) -> None:
    started = project(inputs=f", inputs: {{in.k: {'a' * 64}}}")
    assert started.launch()[0] == 1
    (record,) = started.records().values()
    real = hashlib.sha256(b"model\n").hexdigest()
    path = f"{started.base}/inputs/in.k"
    assert record["reason"] == f"input {path} has SHA-256 {real}, declared is {'a' * 64}"
    assert record["start"] is None


@pytest.mark.slow
def test_launch__killed_by_term_leaves_a_record(project: Project) -> None:
    started = project("echo $$ >$0.pid; exec sleep 60")
    with started.popen() as process:
        started.until_it_runs()
        process.send_signal(signal.SIGTERM)
        # The fake mpirun does not hand signals on, as a real one does.
        os.kill(int((started.base / "program.pid").read_text(encoding="ascii")), signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 1, out + err
    ((name, record),) = started.records().items()
    assert (name, record["exit_code"]) == (".failed-1", 143)
    assert record["reason"] == "the job was ended by TERM (cancelled, or out of time)"
    assert record["end"] >= record["start"]


@pytest.mark.slow
def test_launch__killed_by_kill_is_recorded_by_the_next_start(project: Project) -> None:
    started = project(f"[ -e $0.go ] || {{ echo $$ >$0.pid; exec sleep 60; }}; echo '{RESULT}'")
    with started.popen() as process:
        started.until_it_runs()
        assert started.launch()[0] == 75, "a second job took a run that is being measured"
        process.kill()
        # What a node's power takes with it, the test has to end itself.
        os.kill(int((started.base / "program.pid").read_text(encoding="ascii")), signal.SIGKILL)
    (started.base / "program.go").touch()
    status, said = started.launch()
    assert status == 0, said
    found = started.records()
    assert list(found) == ["", ".failed-1"]
    assert found[".failed-1"]["reason"].startswith("it ended without a record")


@pytest.mark.slow
def test_launch__concurrent_jobs_run_at_once(project: Project) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core has no room for two jobs at once")
    started = project(f"sleep 1; echo '{RESULT}'", factors="concurrent_jobs: 2")
    status, said = started.launch()
    assert status == 0, said
    found = started.records()
    assert list(found) == ["", ".2"]
    assert max(r["start"] for r in found.values()) < min(r["end"] for r in found.values())
    asked = [record["binding"]["ranks"][0].split()[2] for record in found.values()]
    assert len(set(asked)) == 2


@pytest.mark.slow
def test_launch__job_that_slurm_starts_again_measures_what_did_not_end_well(project: Project) -> None:
    """A controller that was killed as the job ended starts it again; a file may be cut by a lost node."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core has no room for two jobs at once")
    started = project(f"echo '{RESULT}'", factors="concurrent_jobs: 2")
    slurm = {"SLURM_JOB_NODELIST": "here"}
    assert started.launch(SLURM_JOB_ID="7", **slurm)[0] == 0
    first = started.records()
    # Another job leaves a run that is there alone.
    assert started.launch(SLURM_JOB_ID="8", **slurm) == (0, f"{started.run}: measured already\n")
    assert started.records() == first
    # That is noted, and is no failed attempt.
    note = started.base / "data/raw/.running/c/.started/8.0.1000.json"
    note.parent.mkdir()
    folders.write_json(note, {"state": "started", "run": started.run, "job_id": "8", "slurm": {}})
    slurm["BENCHBOOK_STARTED"] = "1000"
    assert started.launch(SLURM_JOB_ID="8", **slurm) == (0, f"{started.run}: measured already\n")
    why = f"{started.run} was measured already, by job 7"
    assert [files.read_json(note)[key] for key in ("state", "reason")] == ["idle", why]
    assert attempts.started(started.base, "c") == [f"c: job 8 measured nothing: {why}"]
    assert started.records() == first
    # What ended well stays as it is.
    assert started.launch(SLURM_JOB_ID="7", **slurm) == (0, f"{started.run}: measured already\n")
    assert started.records() == first
    for name in ("", ".2"):
        path = folders.finished(started.base, "c") / f"{started.run}{name}" / "stdout.txt"
        path.write_bytes(path.read_bytes()[:-1])
    status, said = started.launch(SLURM_JOB_ID="7", **slurm)
    assert status == 0, said
    found = started.records()
    assert list(found) == ["", ".2", ".2.failed-1", ".failed-1"]
    assert {name: record["job_id"] for name, record in found.items()} == dict.fromkeys(found, "7")
    reasons = {name: record["reason"] for name, record in found.items()}
    again = "Slurm ended this start of its job, and started the job again"
    assert reasons == {"": "", ".2": "", ".2.failed-1": again, ".failed-1": again}
    assert found[".failed-1"]["start"] == first[""]["start"] < found[""]["start"]
    assert found[".2.failed-1"]["attempt_at"] == f"{started.run}.2"


@pytest.mark.slow
def test_launch__matrix_is_loaded_and_expanded_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = project()
    # What the launch itself sets goes with the test too: a later test's MPI would start ranks by Slurm.
    own = ("SLURM_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    for name, text in {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1", **dict.fromkeys(own, "")}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.chdir(started.base)
    asked: list[str] = []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            asked.append(function.__name__)
            return function(*arguments, **more)

        return call

    monkeypatch.setattr(workflow, "load", counted(workflow.load))
    monkeypatch.setattr(workflow, "expand", counted(workflow.expand))
    monkeypatch.setattr(os, "execvp", lambda *_: 0)
    assert launch.main(["c", started.run]) == 0
    assert asked == ["load", "expand"]
    head = json.loads((started.work / "1" / folders.HEAD).read_text(encoding="utf-8"))
    assert head["allocation"] == workflow.resources("c", started.run, started.base)


@pytest.mark.slow
def test_launch__threads_of_libraries_are_the_runs_and_not_snakemakes(project: Project) -> None:
    names = set(re.findall(r'envvars\["(\w+)"\] = threads', inspect.getsource(shell)))
    assert names == {"OMP_NUM_THREADS", *SNAKEMAKES_THREADS}
    environment = "{VECLIB_MAXIMUM_THREADS: 3}"
    started = project(f"env | grep _THREADS | sort; echo '{RESULT}'", environment=environment)
    status, said = started.launch(**dict.fromkeys(names, "64"))
    assert status == 0, said
    output = (started.base / "data/raw/c/runs" / started.run / "stdout.txt").read_text(encoding="utf-8")
    assert output.splitlines() == ["OMP_NUM_THREADS=1", "VECLIB_MAXIMUM_THREADS=3", RESULT]


def test_launch__values_are_never_run_by_the_shell(project: Project) -> None:
    hostile = "$$(touch pwned) `touch pwned`; touch pwned & 'x' \\\"y\\\" | > pwned"
    started = project(
        f'printf "%s\\n" "$1" "$WORDS"; echo "{RESULT}"',
        arguments=f'["{hostile}"]',
        environment='{WORDS: "$(touch pwned); `touch pwned`"}',
    )
    status, said = started.launch()
    assert status == 0, said
    printed = (started.base / "data/raw/c/runs" / started.run / "stdout.txt").read_text(encoding="utf-8")
    expected = hostile.replace("$$", "$").replace('\\"', '"')
    assert printed.splitlines()[:2] == [expected, "$(touch pwned); `touch pwned`"]
    assert not list(started.base.rglob("pwned"))


@pytest.mark.slow
def test_launch__secrets_are_not_recorded(project: Project) -> None:
    started = project(environment="{LICENCE_TOKEN: abc123xyz, PLAIN: visible}")
    assert started.launch()[0] == 0
    (record,) = started.records().values()
    assert record["environment"]["LICENCE_TOKEN"] == "(hidden)"
    assert record["environment"]["PLAIN"] == "visible"
    assert "abc123xyz" not in json.dumps(record)


@pytest.mark.slow
def test_script__slots_and_values_have_to_match() -> None:
    assert fill("cd ${work}; echo $$HOME", work=quote("a b")) == "cd 'a b'; echo $HOME"
    with pytest.raises(ConfigError, match="slots and values differ: work"):
        fill("cd ${work}")
    with pytest.raises(ConfigError, match="holds a control character"):
        quote("a\nrm -rf x")


@pytest.mark.slow
def test_folders__only_whole_runs_are_recorded(tmp_path: Path) -> None:
    runs = folders.finished(tmp_path, "c")
    (runs / "empty").mkdir(parents=True)
    (runs / "good").mkdir()
    (runs / "good/run.json").write_text("{}")
    assert folders.recorded(tmp_path, "c") == {"good"}
    assert folders.recorded(tmp_path, "none") == set()
    assert folders.failed_name(tmp_path, "c", "good") == "good.failed-1"
