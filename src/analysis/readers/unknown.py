"""What to say of a file that no reader recognises: what it looks like, which reader came close."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from analysis.readers.base import as_utf8
from analysis.readers.text import printable

ADD = "docs/formats.md says what is read and how to add a format"
_LONGEST = 60  # characters of a line that are shown
_MOST_JSON = 1_000_000  # bytes that are parsed to name the keys
_MOST = 3  # readers that are named
# First bytes of what is no text -> what it is.
_BINARIES = {
    b"\x7fELF": "an ELF program or core",
    b"\x89HDF\r\n\x1a\n": "HDF5",
    b"CDF\x01": "netCDF",
    b"CDF\x02": "netCDF",
    b"PK\x03\x04": "a zip archive",
    b"%PDF": "PDF",
    b"\x89PNG": "a PNG picture",
    b"SQLite format 3": "an SQLite database",
    b"OTF2": "an OTF2 trace",
    b"HPCPROF-": "a profile of HPCToolkit: pack its whole database as a tar",
    b"HPCTOOLKIT": "a part of a database of HPCToolkit: pack the whole as a tar",
    b"\x28\xb5\x2f\xfd": "Zstandard inside another compression",
}
# Engine -> a word that points to its tool, and what its reader asks for beside it.
_NEAR: dict[str, tuple[bytes, tuple[bytes, ...]]] = {
    "hpl": (rb"HPLinpack|HPL_pdgesv|\bWR\d\d[LCR]\d", (b"HPLinpack ", b"parameter values will be used")),
    "hpl_mxp": (rb"HPL-(?:MxP|AI)", (b"HPL-MxP-NVIDIA",)),
    "hpcg": (rb"HPCG", (b"HPCG-Benchmark", b"Machine Summary")),
    "hpcc": (rb"HPC Challenge|hpccinf", (b"HPC Challenge Benchmark version", b"Begin of Summary section.")),
    "stream": (rb"(?i)\btriad\b", (b"STREAM version $Revision",)),
    "osu": (rb"(?i)\bosu[_ ]", (b"# OSU ",)),
    "imb": (rb"IMB-|#bytes #repetitions", (b"#      Intel(R) MPI Benchmarks",)),
    "lammps": (rb"LAMMPS|Loop time of", (b"LAMMPS (", b"units")),
    "gromacs": (rb"(?i)gromacs|mdrun", (b":-) GROMACS", b"nsteps")),
    "namd": (rb"\bNAMD\b", (b"Info: NAMD ",)),
    "openfoam": (rb"OpenFOAM|FoamFile", (b"OpenFOAM", b"Exec   : ")),
    "quantum_espresso": (rb"(?i)quantum espresso|pwscf|&control", (b"Program PWSCF v.",)),
    "nwchem": (rb"(?i)nwchem", (b"Northwest Computational Chemistry Package",)),
    "graph500": (rb"(?i)graph ?500|TEPS", (b"SCALE:", b"edgefactor:")),
    "ior": (rb"\bIOR\b|\bMiB/s(?:ec)?\b", (b": MPI Coordinated Test of Parallel I/O",)),
    "mdtest": (rb"(?i)\bmdtest\b", (b"mdtest-", b"was launched with")),
    "lsdyna": (rb"(?i)ls-?dyna", (b"Elapsed time",)),
    "mpip": (rb"(?i)\bmpip\b", (b"@ mpiP",)),
    "ipm": (rb"(?i)\bIPM(?:v|_|\b)", (b"##IPM", b"<ipm_job_profile>")),
    "reframe": (rb"(?i)reframe", (b'"session_info"',)),
    "ramble": (rb"(?i)\bramble", (b'"experiments"', b'"RAMBLE_STATUS"')),
    "jube": (rb"(?i)\bjube", (b"jube_wp_",)),
    "perf_stat": (rb"Performance counter stats|power/energy", (b"Joules power/energy-",)),
    "nvidia_smi": (rb"(?i)nvidia", (b"power.draw", b"timestamp")),
    "likwid": (rb"(?i)likwid", (b"Measure for socket", b"Energy consumed: ")),
    "sacct": (rb"(?i)\bJobID", (b"JobID|",)),
}


def found(data: bytes) -> str:
    """Say that a file is of no format known here, and what it looks like, with its first telling line."""
    if not data.strip():
        return "is empty"
    return f"is of no format known here: {_kind(data)}"


def remedy(data: bytes) -> str:
    """Say which readers came close to a file and what they missed, and where to read on."""
    near = list(_near(as_utf8(data)))[:_MOST]
    return f"{'; '.join([*near, ADD])}" if near else ADD


def _kind(data: bytes) -> str:
    for mark, name in _BINARIES.items():
        if data.startswith(mark):
            return name
    text = as_utf8(data)
    head = text[:4096]
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    if odd * 20 > len(head):
        return f"binary, begins with {head[:8].hex(' ')}"
    lines = (line.strip() for line in head.splitlines())
    line = next((one for one in lines if re.search(rb"\w", one)), head.strip())
    shown = printable(line)
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
    return f"{_form(head, text)}, first line {shown!r}"


def _form(head: bytes, text: bytes) -> str:
    start = head.lstrip()
    if start[:1] in (b"{", b"["):
        return _json(text)
    if start.startswith(b"<"):
        tag = re.search(rb"<([A-Za-z_][\w:.-]{0,40})", start)
        return f"XML or HTML of <{printable(tag[1])}>" if tag else "XML or HTML"
    rows = [row for row in head.splitlines()[:6] if row.strip()]
    for mark, name in ((b",", "commas"), (b";", "semicolons"), (b"|", "bars"), (b"\t", "tabs")):
        cells = [row.count(mark) + 1 for row in rows[:-1] or rows]
        if cells and min(cells) == max(cells) > 1:
            return f"a table of {cells[0]} columns between {name}"
    return "text"


def _json(text: bytes) -> str:
    if len(text) > _MOST_JSON:
        return "JSON"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return "JSON that is cut, damaged or one document after another"
    if isinstance(content, dict):
        keys = ", ".join(printable(str(key)[:20].encode()) for key in list(content)[:5])
        return f"JSON with the keys {keys}" if keys else "JSON without keys"
    return "a JSON list"


def _near(text: bytes) -> Iterator[str]:
    for engine, (word, wanted) in _NEAR.items():
        hit = re.search(word, text)
        if hit:
            missed = [printable(one) for one in wanted if one not in text]
            what = f"without {' and '.join(map(repr, missed))}" if missed else "but not in its reader's form"
            yield f"near {engine}: has {printable(hit[0])!r} {what}"
