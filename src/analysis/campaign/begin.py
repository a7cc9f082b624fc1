"""What only the node can tell before a run starts: load, programs, libraries, inputs, the node's facts."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from analysis.campaign import folders

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


def begin(work: Path, head: Mapping[str, Any]) -> int:
    """Note what is to be known before the start.

    Parameters
    ----------
    work : Path
        Folder of the run, as `analysis.campaign.launch` laid it out; gets ``.begin.json``.
    head : mapping
        Head of the first job's record.

    Returns
    -------
    int
        1 if an input is not the one that the campaign declares; why is in ``.refused``.
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
    folders.write_json(work / folders.BEGIN, found)
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
    digest, size = hashlib.sha256(), 0
    with open(found, "rb") as file:  # noqa: PTH123
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
            size += len(block)
    return {"path": os.path.realpath(found), "sha256": digest.hexdigest(), "bytes": size}


def linked(program: str, search: str) -> dict[str, str]:
    """Return the shared libraries that the loader takes for a program: name -> file.

    Parameters
    ----------
    program : str
        A script, a static program or a container's image has none that could be told from here.
    search : str
        The job's ``LD_LIBRARY_PATH``.
    """
    said = _ask(["ldd", program], search) if program else ""
    return {name: os.path.realpath(path) for name, path in _LINKED.findall(said)}


def mpi_library(libraries: Mapping[str, str], search: str) -> dict[str, Any] | None:
    """Return the fingerprint of the MPI library among some, and the version that it gives itself.

    The launcher's version does not tell it: srun starts ranks of every library.
    """
    path = next((path for name, path in sorted(libraries.items()) if _MPI.fullmatch(name)), "")
    found = fingerprint(path) if path else None
    if found is None:
        return None
    return {**found, "version": _ask([sys.executable, "-c", _ASK_MPI, path], search).strip()}


def preloaded(name: str, search: str) -> dict[str, Any] | None:
    """Return the fingerprint of a library that is preloaded: by its path, or by its name in `search`."""
    if not name or "/" in name:
        return fingerprint(name) if name else None
    folders_ = filter(None, search.split(":"))
    return next((found for folder in folders_ if (found := fingerprint(f"{folder}/{name}"))), None)


def _ask(command: Iterable[str], search: str, *, or_stderr: bool = False) -> str:
    """Return what a command prints with the job's libraries; empty if it fails."""
    environment = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
    environment |= {"LD_LIBRARY_PATH": search} if search else {}
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "timeout": 10, "env": environment}
    try:
        asked = subprocess.run(list(command), capture_output=True, text=True, check=False, **options)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return ""
    if asked.returncode:
        return ""
    return asked.stdout or (asked.stderr if or_stderr else "")


def _first_line(command: Iterable[str], search: str) -> str:
    # charmrun knows no such option, and fails.
    said = _ask(command, search, or_stderr=True)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # Hydra writes a heading first.
    return next((line for line in lines if re.search(r"\d+\.\d+", line)), lines[0] if lines else "")


def _facts() -> dict[str, Any]:
    try:
        from analysis.provenance.facts import facts

        return dict(facts())
    except Exception as error:  # a fact that cannot be read must not cost the run
        return {"host": socket.gethostname(), "error": f"{type(error).__name__}: {error}"}
