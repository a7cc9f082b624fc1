"""``python -m analysis.campaign.record begin|end FOLDER``: what a job script calls around its programs.

``begin`` notes what only the node can tell before the start; ``end`` decides whether the run is good, writes
``run.json`` and moves the run among the raw files, whatever became of the application. Standard library only:
a job that Slurm cancels has seconds left for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis import __version__
from analysis.campaign import folders

BEGIN = ".begin.json"
# What a variable is called whose value is nobody's business.
_SECRET = re.compile(r"TOKEN|SECRET|PASS|CREDENTIAL|KEY", re.IGNORECASE)
_SIGNALS = {130: "INT", 137: "KILL", 143: "TERM", 139: "SEGV", 134: "ABRT", 135: "BUS"}
BINDING_FAILED = 97


def main(argv: list[str] | None = None) -> int:
    """Run one of the two commands; 0 fine, 1 the run is not to be started or has failed."""
    arguments = sys.argv[1:] if argv is None else argv
    work = Path(arguments[1]).resolve()
    if arguments[0] == "begin":
        return begin(work)
    return end(work, killed=arguments[2] if len(arguments) > 2 else "")


def begin(work: Path) -> int:
    """Note what is to be known before the start: load, programs, inputs, the node's facts.

    Parameters
    ----------
    work : Path
        Folder of the run, as `analysis.campaign.launch` laid it out.

    Returns
    -------
    int
        1 if an input is not the one that the campaign declares; why is in ``.refused``.
    """
    found: dict[str, Any] = {"load_before": os.getloadavg()[0]}
    head = _head(_jobs(work)[0])
    found["binary"] = _fingerprint(head["program"])
    found["input_files"] = {path: _fingerprint(path) for path in head["inputs"]}
    launcher = shutil.which(head["command"][0]) or head["command"][0]
    found["launcher"] = {"path": launcher, "version": _first_line([launcher, "--version"])}
    found["facts"] = _facts()
    folders.write_json(work / BEGIN, found)
    refused = []
    if found["binary"] is None and "/" in head["program"]:
        refused.append(f"no program {head['program']}")
    for path, digest in head["inputs"].items():
        what = found["input_files"][path]
        if what is None or what["sha256"] != digest:
            refused.append(f"no input {path}" if what is None else f"input {path} is not the one declared")
    if refused:
        (work / ".refused").write_text("; ".join(refused) + "\n", encoding="utf-8")
        print("; ".join(refused), file=sys.stderr)
    return int(bool(refused))


def end(work: Path, *, killed: str = "", abandoned: bool = False) -> int:
    """Write the records of a run's jobs and move them among the raw files.

    Parameters
    ----------
    work : Path
    killed : str, optional
        Signal that ended the job.
    abandoned : bool, optional
        Whether the job ended without a word, and somebody else writes its record.

    Returns
    -------
    int
        1 if the run failed: then each of its jobs lies in a folder ``<run>.failed-<n>``.
    """
    jobs = _jobs(work)
    refused = _text(work / ".refused").strip()
    records = [_record(work, job) for job in jobs]
    for job, record in zip(jobs, records, strict=True):
        record["reason"] = refused or _reason(job, record, killed=killed, abandoned=abandoned)
    if bad := [record for record in records if record["reason"]]:
        for record in records:
            record["reason"] = record["reason"] or f"another job of the run failed: {bad[0]['run']}"
    base, campaign = work.parents[4], work.parent.name
    # The last job first: the run counts as measured once the first job's record is there.
    for job, record in reversed(list(zip(jobs, records, strict=True))):
        _publish(work, job, record, base, campaign)
    shutil.rmtree(work)
    for reason in sorted({record["reason"] for record in records} - {""}):
        print(f"{records[0]['run']}: failed: {reason}", file=sys.stderr)
    return int(any(record["reason"] for record in records))


def _publish(work: Path, job: Path, record: dict[str, Any], base: Path, campaign: str) -> None:
    name = record["run"]
    if not record["reason"] and folders.measured(base, campaign, name):
        record["reason"] = "another job measured this run meanwhile"
    if record["reason"]:
        record["run"] = folders.failed_name(base, campaign, name)
        record["attempt_at"] = name
    script = work / "job.sh"
    if script.is_file():
        shutil.copyfile(script, job / "job.sh")
    folders.write_json(job / folders.RECORD, record)
    for path in job.glob(".*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    folders.publish(job, base, campaign, record["run"])
    if record["reason"]:
        folders.drop_empty(base, campaign, name)


def _jobs(work: Path) -> list[Path]:
    return sorted((path.parent for path in work.glob(f"*/{folders.HEAD}")), key=lambda path: int(path.name))


def _head(job: Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads((job / folders.HEAD).read_text(encoding="utf-8"))
    return head


def _record(work: Path, job: Path) -> dict[str, Any]:
    head, begun = _head(job), {}
    with contextlib.suppress(OSError, ValueError):
        begun = json.loads((work / BEGIN).read_text(encoding="utf-8"))
    command = head.pop("command")
    end_time, _, status = _text(job / ".end").strip().partition(" ")
    record: dict[str, Any] = {**head, "command": shlex.join(command)}
    record["start"] = _number(_text(job / ".start"))
    record["end"] = _number(end_time)
    record["exit_code"] = int(status) if status.isdigit() else None
    record["binding"] = _binding(job / ".binding")
    variables = record["environment"]
    record["environment"] = {
        name: "(hidden)" if _SECRET.search(name) else text for name, text in variables.items()
    }
    record["benchbook"] = {**head["benchbook"], "version": __version__}
    return {**record, **begun}


def _reason(job: Path, record: dict[str, Any], *, killed: str, abandoned: bool) -> str:
    """Say why a run failed; empty if it did not."""
    code = record["exit_code"]
    if abandoned:  # whatever it left, nobody watched it to its end
        return "it ended without a word: killed, out of memory, or its node was lost"
    if killed and code != 0:
        return f"the job was ended by {killed} (cancelled, or out of time)"
    if code is None:
        return "never started"
    if code == BINDING_FAILED or (not record["binding"]["ranks"] and code == 0):
        return "its ranks could not be bound; see stderr.txt"
    if code:
        by = f" (signal {_SIGNALS[code]})" if code in _SIGNALS else ""
        return f"exit code {code}{by}"
    result = record["result"]
    if not any(_holds(path, result["text"]) for path in sorted(job.glob(result["file"]))):
        return f"exit code 0, but no {result['file']} holds {result['text']!r}"
    if record["profile"] and not any(job.glob(record["profile"])):
        return f"left no {record['profiler']} profile ({record['profile']}); was the library preloaded?"
    if len(record["binding"]["ranks"]) != record["ranks"]:
        return f"{len(record['binding']['ranks'])} ranks ran, {record['ranks']} were asked for"
    return ""


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
    return {"columns": "rank node asked real", "ranks": lines, "as_asked": bool(rows) and as_asked}


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


def _fingerprint(path: str) -> dict[str, Any] | None:
    found = path if "/" in path else shutil.which(path)
    if found is None or not os.path.isfile(found):  # noqa: PTH113
        return None
    digest, size = hashlib.sha256(), 0
    with open(found, "rb") as file:  # noqa: PTH123
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
            size += len(block)
    return {"path": os.path.realpath(found), "sha256": digest.hexdigest(), "bytes": size}


def _first_line(command: Iterable[str]) -> str:
    try:
        asked = subprocess.run(list(command), capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return ""
    lines = [line.strip() for line in (asked.stdout or asked.stderr).splitlines() if line.strip()]
    # Hydra writes a heading first.
    return next((line for line in lines if re.search(r"\d+\.\d+", line)), lines[0] if lines else "")


def _facts() -> dict[str, Any]:
    try:
        from analysis.provenance.facts import facts

        return dict(facts())
    except Exception as error:  # a fact that cannot be read must not cost the run
        return {"host": socket.gethostname(), "error": f"{type(error).__name__}: {error}"}


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
