"""``python -m analysis.measure.record begin|end WORK [SIGNAL]``: what a run's script records on the node.

`begin` notes what only the node can tell before the start: load, programs, libraries, inputs, facts. `end`
judges the jobs and moves them with their records among the raw files, by the standard library alone: a job
that is ended has seconds left.
"""

import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.base import files, shell
from analysis.measure import causes, folders
from analysis.provenance.facts import SECRET_NAME, SECRET_VALUE

# The search path of the job's own libraries; LD_LIBRARY_PATH itself is kept from Benchbook's Python.
LIBRARY_PATH = "BENCHBOOK_LIBRARY_PATH"

_MPI = re.compile(r"lib(?:mpi|mpich|mpi_dbg|mpi_mt|msmpi)\.so[.\d]*")
_LINKED = re.compile(r"^\s*(\S+) => (/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
# Allowed before MPI_Init by the standard (MPI-3.0, 8.1.1); the longest answer is MPICH's with 8192 bytes.
_ASK_MPI = """
import ctypes, sys
text, size = ctypes.create_string_buffer(65536), ctypes.c_int()
if ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(size)) == 0:
    print(text.value.decode(errors="replace").strip())
"""
HIDDEN = "(hidden)"
# Slurm tells all processes of a job at once, s: the application can be gone before this shell has noted it.
SLACK = 10.0
CONT_AND_TERM = 2.0  # s between the two signals with which Slurm ends a job
TURN = 2.0  # s that whole seconds of Slurm and two clocks make
_PROBE = 65_536  # B
_OUTLIVED = "it went on after the shell of its job was killed: Slurm may have given its cores to others"
_MEANWHILE = "another job measured this run meanwhile"  # that is no failure
CLOCK_STEP = 0.5  # s by which two clocks may differ after a run: services set a clock slowly
_SIGNALS = {130: "INT", 137: "KILL", 143: "TERM", 139: "SEGV", 134: "ABRT", 135: "BUS"}
BINDING_FAILED = 97
# For who repeats a run by hand, without this package.
_BY = "bind.sh A/B/... LIBRARY COMMAND: taskset -c to the local rank's list, LD_PRELOAD for COMMAND (-: none)"
# mpiP tells the ranks in the name of its file, <program>.<ranks>.<process>.<number>.mpiP, IPM in each task.
_LONE = "does the MPI library take what starts its ranks (launch.mpi: start)?"
_MPIP_NAME = re.compile(r"\.(\d+)\.\d+\.\d+\.mpiP$")
_IPM_SIZE = re.compile(r'<task\b[^>]*\bmpi_size="(\d+)"')


def main(argv: list[str] | None = None) -> int:
    """Run one of the two commands; 0 fine, 1 the run is not to be started or has failed."""
    arguments = sys.argv[1:] if argv is None else argv
    work = Path(arguments[1]).resolve()
    try:
        if arguments[0] == "begin":
            return begin(work, _head(folders.jobs(work)[0]))
        return end(work, killed=arguments[2] if len(arguments) > 2 else "")
    except OSError as error:
        what = f"cannot be recorded ({error}); {files.remedy(error)}, then measure again"
        print(f"{work}: {what}", file=sys.stderr)
        return 1


def begin(work: Path, head: Mapping[str, Any]) -> int:
    """Write what must be known before the start to ``.begin.json``, by the head of the first job's record.

    Returns 1 if an input is not the one that the campaign declares; the reason is in ``.refused``.
    """
    found: dict[str, Any] = {"load_before": os.getloadavg()[0]}
    found["binary"] = fingerprint(head["program"])
    found["input_files"] = {path: fingerprint(path) for path in head["inputs"]}
    search = os.environ.get(LIBRARY_PATH, "")
    launcher = shutil.which(head["command"][0]) or head["command"][0]
    found["launcher"] = {"path": launcher, "version": _first_line([launcher, "--version"], search)}
    found["library_path"] = search
    found["libraries"] = linked((found["binary"] or {}).get("path", ""), search)
    found["mpi_library"] = mpi_library(found["libraries"], search)
    found["profiler_library"] = preloaded(head.get("preload", ""), search)
    found["limits"] = limits()
    found["facts"] = _facts()
    found["traffic"] = traffic()
    folders.write_json(work / folders.BEGIN, found)
    (work / ".kills").write_text(f"{causes.kills() or 0}\n", encoding="ascii")
    refused = []
    if found["binary"] is None and "/" in head["program"]:
        refused.append(f"no program {head['program']}")
    for path, digest in head["inputs"].items():
        what = found["input_files"][path]
        if what is None:
            refused.append(f"no input {path}")
        elif digest and what["sha256"] != digest:
            refused.append(f"input {path} has SHA-256 {what['sha256']}, declared is {digest}")
    if refused:
        (work / ".refused").write_text("; ".join(refused) + "\n", encoding="utf-8")
        print("; ".join(refused), file=sys.stderr)
    return int(bool(refused))


def traffic(root: Path = Path("/")) -> dict[str, int]:
    """Return the bytes that each network device of this node has sent and received since its start.

    Interfaces by name, ports of InfiniBand like ``mlx5_0:1``; the loopback is left out.
    """
    found: dict[str, int] = {}
    # Of this process's own network; /sys may show that of another.
    for line in _text(root / "proc/net/dev").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        counts = numbers.split()
        if name.strip() != "lo" and len(counts) > 8:
            found[name.strip()] = int(counts[0]) + int(counts[8])
    for path in sorted((root / "sys/class/infiniband").glob("*/ports/*/counters")):
        texts = [_text(path / f"port_{way}_data").strip() for way in ("rcv", "xmit")]
        if all(text.isdecimal() for text in texts):  # words of four bytes
            found[f"{path.parents[2].name}:{path.parent.name}"] = 4 * sum(map(int, texts))
    return found


def _passed(before: Mapping[str, int]) -> dict[str, int]:
    """Return the bytes that each device has sent and received since `before`; none for a counter set back."""
    now = traffic() if before else {}
    return {name: now[name] - count for name, count in before.items() if now.get(name, -1) >= count}


def limits() -> dict[str, int | None]:
    """Return the limits of the job's shell: stack, locked and all memory (B), open files; None for none."""
    names = {"stack": "STACK", "locked_memory": "MEMLOCK", "address_space": "AS", "open_files": "NOFILE"}
    granted = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{key}"))[0] for name, key in names.items()}
    return {name: None if value == resource.RLIM_INFINITY else value for name, value in granted.items()}


def fingerprint(path: str) -> dict[str, Any] | None:
    """Return path, SHA-256 and size (B) of a file, or of a program in PATH; None if there is none."""
    found = path if "/" in path else shutil.which(path)
    if found is None or not os.path.isfile(found):  # noqa: PTH113
        return None
    return {"path": os.path.realpath(found), "sha256": files.sha256(found), "bytes": os.stat(found).st_size}  # noqa: PTH116


def linked(program: str, search: str) -> dict[str, str]:
    """Return the shared libraries that the loader takes for a program, given the job's ``LD_LIBRARY_PATH``.

    Name -> file; for a script, a static program or a container's image nothing is listed.
    """
    listed = _ask(["ldd", program], search).text if program else ""
    return {name: os.path.realpath(path) for name, path in _LINKED.findall(listed)}


def mpi_library(libraries: Mapping[str, str], search: str) -> dict[str, Any] | None:
    """Return the fingerprint of the MPI library among some, and its own version: srun starts any."""
    path = next((path for name, path in sorted(libraries.items()) if _MPI.fullmatch(name)), "")
    found = fingerprint(path) if path else None
    if found is None:
        return None
    return {**found, "version": _ask([sys.executable, "-c", _ASK_MPI, path], search).text.strip()}


def preloaded(name: str, search: str) -> dict[str, Any] | None:
    """Return the fingerprint of a library that is preloaded: by its path, or by its name in `search`."""
    if not name or "/" in name:
        return fingerprint(name) if name else None
    folders_ = filter(None, search.split(":"))
    return next((found for folder in folders_ if (found := fingerprint(f"{folder}/{name}"))), None)


def _ask(command: Sequence[str], search: str) -> shell.Completed:
    """Run a command with the job's libraries."""
    return shell.run(command, 10, environment={"LD_LIBRARY_PATH": search} if search else None)


def _first_line(command: Sequence[str], search: str) -> str:
    answer = _ask(command, search)
    # charmrun knows no such option, and fails.
    text = "" if answer.code != 0 else answer.out or answer.err
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Hydra writes a heading first.
    return next((line for line in lines if re.search(r"\d+\.\d+", line)), lines[0] if lines else "")


def _facts() -> dict[str, Any]:
    try:
        from analysis.provenance.facts import facts

        return dict(facts())
    except Exception as error:  # a fact that cannot be read must not cost the run
        return {"host": socket.gethostname(), "error": f"{type(error).__name__}: {error}"}


def end(work: Path, *, killed: str = "", abandoned: str = "") -> int:
    """Record a run's jobs and move them to the raw files, failed ones as ``<run>.failed-<n>``; 1 then.

    All jobs are judged before the first is moved, and the judgement is kept for who finds the folder after a
    kill. `killed` is the signal that ended the job, `abandoned` why somebody else writes the record.
    """
    base, campaign = work.parents[4], work.parent.name
    if not folders.jobs(work):  # the last line of its log is the reason of its failed attempt
        print(f"no {folders.HEAD} that can be read says what was measured", file=sys.stderr)
        _remove(work)
        return 1
    try:
        records = json.loads((work / folders.DECIDED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        records = _judged(work, base, campaign, killed=killed, abandoned=abandoned)
        folders.write_json(work / folders.DECIDED, records)
    # The last job first: the run counts as measured once the first job's record is there.
    for job in reversed(folders.jobs(work)):
        _publish(work, job, records[job.name], base, campaign)
    with contextlib.suppress(OSError):  # the log can be on a full disk; all is recorded by now
        _remove(work)
    reasons = sorted({record["reason"] for record in records.values()} - {""})
    for reason in reasons:
        what = "not counted" if reason.startswith(_MEANWHILE) else "failed"
        print(f"{next(iter(records.values()))['run']}: {what}: {reason}", file=sys.stderr)
    return int(any(not reason.startswith(_MEANWHILE) for reason in reasons))


def _remove(work: Path) -> None:
    """Remove the folder of a run that is recorded; what is left of it, the next job of the run removes."""
    try:
        shutil.rmtree(work)
    except OSError as error:
        what = f"is recorded; its folder is left over ({files.cause(error)}); the next command removes it"
        print(f"{error.filename or work}: {work.name} {what}", file=sys.stderr, flush=True)


def retract(folder: Path, why: str) -> str:
    """Make a failed attempt of a recorded run, for a reason where its record has none; return its name."""
    base, campaign = folder.parents[4], folder.parents[1].name
    failed = folders.failed_name(base, campaign, folder.name)
    record = files.read_json(folder / folders.RECORD)
    changed = {"reason": record.get("reason") or why, "run": failed, "attempt_at": folder.name}
    folders.write_json(folder / folders.RECORD, record | changed | {"retracted": True})
    folder.rename(folder.with_name(failed))
    return failed


def _judged(
    work: Path, base: Path, campaign: str, *, killed: str, abandoned: str
) -> dict[str, dict[str, Any]]:
    """Make the records of all jobs, by folder; either all of them are good or none."""
    refused = _text(work / ".refused").strip()
    if not abandoned:
        _probe(work)
    records = {job.name: _record(work, job) for job in folders.jobs(work)}
    # Who writes the record of a job that is gone is on another node.
    passed = {} if abandoned else _passed(files.read_json(work / folders.BEGIN).get("traffic") or {})
    for record in records.values():
        record["traffic"] = passed
    before, now = _number(_text(work / ".kills")), None if abandoned else causes.kills()
    lost = 0 if before is None or now is None else now - int(before)
    signalled = _number(_text(work / ".killed")) or 0.0
    at = signalled or _number(_text(Path("/proc/uptime")).partition(" ")[0]) or 0.0
    failed = not (abandoned or refused) and any(one["exit_code"] != 0 for one in records.values())
    over = None if abandoned or killed or failed else causes.over(_text(work / ".shell").strip())
    killed = causes.of_end(killed, folders.log(work)) if killed or failed else ""
    for name, record in records.items():
        # What failed before the signal came has failed by itself, by the clock that nobody sets.
        began, ended = _uptimes(work / name / ".clock")
        signal = killed if (ended or at) >= at - SLACK else ""
        found = refused or _reason(work / name, record, killed=signal, abandoned=abandoned, lost=lost)
        paused = record["accounting"]["resumed"] = _resumed(work, began, ended, at if killed else signalled)
        found = found or _OUTLIVED * (work / ".outlived").exists() or _late(ended, over)
        found = found or "its job was suspended while it ran" * bool(paused)
        record["reason"] = found or _meanwhile(base, campaign, record["run"])
    if bad := [record for record in records.values() if record["reason"]]:
        first = bad[0]["reason"]
        why = first if first.startswith(_MEANWHILE) else f"another job of the run failed: {bad[0]['run']}"
        for record in records.values():
            record["reason"] = record["reason"] or why
    return records


def _late(ended: float | None, over: float | None) -> str:
    """Say that a program has outlived its job, both in s since its node's start; empty if it has not."""
    late = ended - over if ended and over else 0.0
    return f"it ended {late:.0f} s after its job, and its node did not know" if late > TURN else ""


def _resumed(work: Path, began: float | None, ended: float | None, killed: float) -> int:
    """Count how often a job of the run went on after a stop, by its node's clock; `killed` is its TERM."""
    times = map(_number, _text(work / ".resumed").split())
    # Slurm lets a job go on right before it tells it to end.
    own = [one for one in times if one and not 0 <= killed - one < CONT_AND_TERM]
    return sum(began <= one <= ended for one in own) if began and ended else 0


def _meanwhile(base: Path, campaign: str, name: str) -> str:
    """Say that a run, which went well here, is there already, and by which job; empty if it is not."""
    if not folders.measured(base, campaign, name):
        return ""
    by = folders.record_of(base, campaign, name).get("job_id") or "another"
    return f"{_MEANWHILE}, job {by}; this one ended well too"


def _probe(work: Path) -> None:
    """Raise an OSError where there is no room: what the run wrote last may be cut, and is not called good."""
    with (work / ".probe").open("wb") as file:
        file.write(os.urandom(_PROBE))  # zeros would take no room where files are compressed
        file.flush()
        os.fsync(file.fileno())
    (work / ".probe").unlink()


def _publish(work: Path, job: Path, record: dict[str, Any], base: Path, campaign: str) -> None:
    name = record["run"]
    record["reason"] = record["reason"] or _meanwhile(base, campaign, name)
    if record["reason"]:
        record["run"] = folders.failed_name(base, campaign, name)
        record["attempt_at"] = name
    if (job / folders.HEAD).is_file() and (work / "job.sh").is_file():
        (job / "job.sh").write_text(_without_secrets(work / "job.sh", _head(job)), encoding="utf-8")
    record["outputs"] = _outputs(job)
    folders.write_json(job / folders.RECORD, record)
    folders.drop_links(job)
    for path in job.glob(".*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    folders.publish(job, base, campaign, record["run"])
    if record["reason"]:
        folders.drop_empty(base, campaign, name)


def _outputs(job: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that a job left, by path: who changes one later changes two places."""
    left = (path for path in sorted(job.rglob("*")) if path.is_file() and not path.is_symlink())
    names = {str(path.relative_to(job)): path for path in left if path.stat().st_size <= files.NOTED}
    names.pop(folders.RECORD, None)  # of a first try to move the folder, which failed: it is written anew
    return {name: files.sha256(path) for name, path in names.items() if not name.startswith(".")}


def _secret(name: str, value: str) -> bool:
    return bool(SECRET_NAME.search(name) or SECRET_VALUE.search(value))


def _without_secrets(script: Path, head: Mapping[str, Any]) -> str:
    """Return the script as it may be published."""
    text = _text(script)
    for name, value in head["environment"].items():
        if _secret(name, value):
            text = text.replace(f"{name}={shlex.quote(value)}", f"{name}='{HIDDEN}'")
    return text


def _head(job: Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads((job / folders.HEAD).read_text(encoding="utf-8"))
    return head


def _record(work: Path, job: Path) -> dict[str, Any]:
    head, begun = _head(job), files.read_json(work / folders.BEGIN)
    command = head.pop("command")
    end_time, _, status = _text(job / ".end").strip().partition(" ")
    record: dict[str, Any] = {**head, "command": shlex.join(command)}
    record["start"] = _number(_text(job / ".start"))
    record["end"] = _number(end_time)
    record["exit_code"] = int(status) if status.isdigit() else None
    record["accounting"] = _accounting(job / ".clock", record["start"], record["end"])
    if abs(record["accounting"].get("clock_step") or 0.0) > CLOCK_STEP:
        # Somebody has set the clock meanwhile: the run took what the other clock says.
        record["end"] = record["start"] + record["accounting"]["elapsed"]
    record["binding"] = _binding(job / ".binding")
    variables = record["environment"]
    hidden = {name: HIDDEN for name, text in variables.items() if _secret(name, text)}
    record["environment"] = {**variables, **hidden}
    return {**record, **begun}


def _accounting(clock: Path, start: float | None, end: float | None) -> dict[str, Any]:
    """Return what the job's shell has counted itself: Slurm's accounting may be late, or lost.

    When it began and how many seconds it took by the clock that nobody sets, by how many the wall clock
    differs, and the seconds of processor time of what this shell has started on its node (not by `srun`).
    """
    spent = [*_text(clock).splitlines(), "", "", "", ""][3]
    first, last = _uptimes(clock)
    elapsed = None if first is None or last is None else round(last - first, 2)
    step = None if None in (elapsed, start, end) else round(end - start - elapsed, 2)  # type: ignore[operator]
    user, system = [_minutes(text) for text in (spent.split() or ["", ""])][:2]
    return {"uptime": first, "elapsed": elapsed, "clock_step": step, "user": user, "system": system}


def _uptimes(clock: Path) -> tuple[float | None, float | None]:
    """Return when a job's program began and ended, in s since its node's start."""
    begun, ended, *_ = [*_text(clock).splitlines(), "", ""]
    return _number(begun), _number(ended)


def _minutes(text: str) -> float | None:
    """Return the seconds of a time as bash prints it, ``1m2.345s``."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    found = _number(minutes), _number(seconds.replace(",", "."))
    return None if None in found else round(60 * found[0] + found[1], 3)  # type: ignore[operator]


def _reason(job: Path, record: dict[str, Any], *, killed: str, abandoned: str, lost: int) -> str:
    """Say why a run failed; empty if it did not. The kernel ended `lost` processes for memory."""
    code = record["exit_code"]
    if abandoned:  # whatever it left, nobody watched it to its end
        return abandoned
    if killed and code != 0:
        return f"the job was ended by {killed}"
    if code is None:
        return "the shell that waited for it was killed" if record["start"] else "never started"
    if code == 0 and any(not _text(path) for path in (job / ".binding").glob("[0-9]*")):
        return "a note of its ranks is cut: the disk was full as they began"
    if code == 0 and record["start"] is None:
        return "the note of its start is cut, so nobody knows how long it took: the disk was full as it began"
    if code == BINDING_FAILED or (not record["binding"]["ranks"] and code == 0):
        return "its ranks could not be bound; see stderr.txt"
    if code:
        by = f" (signal {_SIGNALS[code]})" if code in _SIGNALS else ""
        return f"exit code {code}{by}{causes.of(job, lost)}"
    result = record["result"]
    found = sorted(job.glob(result["file"]))
    if not any(_holds(path, result["text"]) for path in found):
        return f"exit code 0, but no {result['file']} holds {result['text']!r}"
    ranks = result.get("ranks", "").replace("${ranks}", str(record["ranks"]))
    if ranks and not any(_holds(path, ranks) for path in found):
        return f"no {result['file']} holds {ranks!r}: its ranks were not one job; {_LONE}"
    if record["profile"] and not any(job.glob(record["profile"])):
        return f"left no {record['profiler']} profile ({record['profile']}); was the library preloaded?"
    if size := _another_size(job, record):
        asked = f"{record['ranks']} were asked for"
        return f"its {record['profiler']} profile has {size} ranks, {asked}; {_LONE}"
    if len(record["binding"]["ranks"]) != record["ranks"]:
        return f"{len(record['binding']['ranks'])} ranks ran, {record['ranks']} were asked for"
    return ""


def _another_size(job: Path, record: Mapping[str, Any]) -> int:
    """Return the ranks of a profile that is not of as many as were asked for; 0 if there is none.

    Ranks whose library does not know what started them are jobs of one rank, each for itself, and end well.
    """
    for path in sorted(job.glob(record["profile"])) if record["profile"] else ():
        found = _MPIP_NAME.search(path.name)
        if found is None:
            with path.open("rb") as file:
                found = _IPM_SIZE.search(file.read(1 << 16).decode(errors="replace"))
        if found and int(found[1]) != record["ranks"]:
            return int(found[1])
    return 0


def _binding(folder: Path) -> dict[str, Any]:
    """Collect what the ranks noted: by rank its node, the cores asked for and those the kernel granted."""
    rows: list[tuple[int, str, str, str]] = []
    for path in folder.glob("*") if folder.is_dir() else ():
        words = _text(path).split()
        if len(words) == 5:
            rows.append((int(words[0]), words[2], words[3], words[4]))
    rows.sort()
    as_asked = all(_cores(asked) == _cores(real) for _, _, asked, real in rows)
    lines = [" ".join(map(str, row)) for row in rows]  # a line each: there can be thousands
    known = {"columns": "rank node asked real", "ranks": lines, "as_asked": bool(rows) and as_asked}
    return {"by": _BY, **known}


def _cores(text: str) -> set[str] | str:
    parts: set[str] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or "0").isdigit():
            return text
        parts |= set(map(str, range(int(first), int(last or first) + 1)))
    return parts


def _holds(path: Path, text: str) -> bool:
    wanted = text.encode()
    with path.open("rb") as file:
        return any(wanted in line for line in file)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
