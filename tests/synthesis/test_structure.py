"""What the writers write has the lines, keys and columns of what the tools write.

The other side of each comparison is a file of the tool itself, or a few lines with its layout and numbers of
our own; which file or source they follow stands above them. It never is what our reader takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from analysis.base.files import read_bytes
from analysis.synthesis.campaign import build
from analysis.synthesis.truth import load_truth

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"


def written(report: str, out: Path, pattern: str, **run: Any) -> str:
    """Build a campaign of one cell and return the first file of a run that did not fail."""
    truth = load_truth(ROOT / "config" / "synthesis" / f"{report}.yaml")
    build(truth.model_copy(update={"runs": [{"question": "x", **run}], "repeats": 1}), out)
    for path in sorted(out.glob(f"runs/*/{pattern}")):
        if json.loads((path.parent / "run.json").read_text())["exit_code"] == 0:
            return path.read_text()
    raise AssertionError(f"no {pattern}")


def real(name: str) -> str:
    return read_bytes(DATA / name).decode("iso-8859-1")


def ends(line: str) -> tuple[int, ...]:
    """Return where the words of a line end: numbers are set to the right of their columns."""
    return tuple(match.end() for match in re.finditer(r"\S+", line))


def test_structure__ipm_has_the_elements_and_attributes_of_ipm_206(tmp_path: Path) -> None:
    def shapes(text: str) -> set[tuple[str, ...]]:
        found = set()
        for line in text.splitlines():
            tag = re.match(r"<(/?\w+|\?xml)([^>]*)(>?)", line)
            assert tag is not None, line
            names = re.findall(r'([\w-]+)="', tag[2])
            # What stands behind an element on its line: text, its end, nothing.
            found.add((tag[1], *names, re.sub(r">?[^<]*(<|$)", r"\1", line[tag.end() :], count=1)))
        return found

    text = written("lsdyna2014", tmp_path, "*.ipm.xml", profiler="ipm", nodes=2)
    # Our own files of IPM 2.0.6 with IPM_LOG=full.
    assert shapes(text) <= shapes(real("ipm/mix_n4.ipm.xml")) | shapes(real("ipm/hpcg_n2.ipm.xml"))


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in text.splitlines():
        title = re.fullmatch(r"@--- (\D*?)(?:\d+ )?-*", line)
        if title:
            assert len(line) == 75
            name = title[1].strip()
            found[name] = []
        else:
            found[name].append(line)
    return found


def test_structure__mpip_has_the_sections_and_columns_of_mpip_350(tmp_path: Path) -> None:
    own = _sections(written("hpcg2014", tmp_path, "*.mpiP", profiler="mpip", nodes=1))
    # Our own reports of mpiP 3.5.0; their formats are those of report.c.
    other, more = (_sections(real(f"mpip/{name}.mpiP")) for name in ("mix_350", "hpcg_mpich_2"))
    assert [name for name in other if name in own] == list(own)
    heads = [[line.partition(":")[0] for line in side[""] if line[:1] == "@"] for side in (own, other)]
    assert list(dict.fromkeys(heads[0])) == list(dict.fromkeys(heads[1]))
    for name, lines in own.items():
        rows, others = (
            [line for line in side if line and line[:1] not in "@-"] for side in (lines, other[name])
        )
        if name and rows and not name.startswith("Callsites"):
            assert rows[0] == others[0]
            # The first word is set to the left; sums have a blank cell less.
            columns = {ends(line)[1:] for line in others[1:] + more[name]}
            # A count of seven digits moves what stands behind it.
            narrow = [line for line in rows[1:] if len(line) <= max(map(len, others))]
            assert narrow
            assert {ends(line)[1:] for line in narrow} <= columns, name


@pytest.mark.parametrize(
    ("case", "nodes", "sample"),
    [("osu_latency", 2, "latency_n2.txt"), ("osu_allreduce", 24, "allreduce_n4.txt")],
)
def test_structure__osu_has_the_columns_of_osu_53(tmp_path: Path, case: str, nodes: int, sample: str) -> None:
    text = written("lsdyna2009", tmp_path, "stdout.txt", application="osu", case=case, nodes=nodes)
    # Our own outputs of OSU 5.3; that of allreduce was run with -f and has more columns.
    own, other = ([line for line in lines.splitlines() if line] for lines in (text, real(f"osu/{sample}")))
    assert own[0] == other[0]
    assert other[1].startswith(own[1])
    assert {ends(line)[1] for line in own[2:]} == {ends(line)[1] for line in other[2:]} == {28}
    assert text.startswith("\n") is real(f"osu/{sample}").startswith("\n")
    sizes = [line.split()[0] for line in own[2:]]
    assert sizes[: len(other) - 2] == [line.split()[0] for line in other[2:]][: len(sizes)]


# The lines of a real d3hsp of LS-DYNA R7 (SMP, 2015), with numbers of our own.
D3HSP = """\
 T i m i n g   i n f o r m a t i o n
                        CPU(seconds)   %CPU  Clock(seconds) %Clock
  ----------------------------------------------------------------
  Keyword Processing ... 1.0000E+00    1.00     1.0000E+00    1.00
    KW Reading ......... 1.0000E+00    1.00     1.0000E+00    1.00
  Element processing ... 7.0000E+01   70.00     7.0000E+01   70.00
    Interf. ID         1 2.9000E+01   29.00     2.9000E+01   29.00
  ----------------------------------------------------------------
  T o t a l s            1.0000E+02  100.00     1.0000E+02  100.00
 Problem time       =    3.0000E-02
 Problem cycle      =     20000
 Total CPU time     =       100 seconds (   0 hours  1 minutes 40 seconds)
 CPU time per zone cycle  =       700 nanoseconds
 Clock time per zone cycle=       700 nanoseconds
 Start time   11/22/2026 08:00:00||
 End time     11/22/2026 08:01:40||
""".replace("|", " ")


def test_structure__lsdyna_has_the_lines_of_d3hsp(tmp_path: Path) -> None:
    text = written("lsdyna2014", tmp_path, "d3hsp", nodes=1)
    own = text[text.index(" T i m i n g") :].splitlines()
    other = D3HSP.splitlines()
    rows = [line for line in other if "E+" in line]
    assert own[:3] == other[:3]
    assert {ends(line)[-4:] for line in own if "E+0" in line and "=" not in line} == {ends(rows[0])[-4:]}
    for line in other[9:]:
        key = re.match(r"[^=\d]*", line)
        assert key is not None
        found = [text for text in own if text.startswith(key[0])]
        assert len(found) == 1, key[0]
        assert ends(found[0])[-1] == ends(line)[-1] or "=" not in line, line
        assert len(found[0]) == len(line), line


# The lines of `ipmitool dcmi power reading`, as several people quote its output, behind the node's name that
# clush puts before each; numbers of our own.
DCMI = """\
n01:     Instantaneous power reading:                   345 Watts
n01:     Minimum during sampling period:                 12 Watts
n01:     Maximum during sampling period:                345 Watts
n01:     Average power reading over sample period:      345 Watts
n01:     IPMI timestamp:                           Sun Nov 22 08:00:00 2026
n01:     Sampling period:                          00000001 Seconds.
n01:     Power reading state is:                   activated
n01:
"""


def test_structure__power_has_the_lines_of_ipmitool(tmp_path: Path) -> None:
    own = written("openatom2010", tmp_path, "power.ipmitool.txt", nodes=16).splitlines()
    other = DCMI.splitlines()
    assert len(own) % 8 == 0 < len(own)
    for line, like in zip(own[:8], other, strict=True):
        assert line.partition(": ")[2].partition(":")[0] == like.partition(": ")[2].partition(":")[0]
        shift = line.index(":") - like.index(":")
        assert [end - shift for end in ends(line)] == list(ends(like))


def test_structure__openatom_has_the_lines_of_our_own_runs(tmp_path: Path) -> None:
    """Paths and the version of MPI apart; the list of times begins with the first step, as printed above."""
    (first, *_) = sorted((ROOT / "data/raw/vm-openatom/runs").glob("*/stdout.txt"))
    other = set(map(_form, first.read_text(encoding="utf-8").splitlines()))
    lines = written("openatom2010", tmp_path, "stdout.txt", nodes=16).splitlines()
    own = {_form(line) for line in lines if not line.startswith("Charm++> Running on MPI version")}
    # By its sources it prints a time of start-up too; this version did not.
    assert own - other == {"Total time to finish all start up phases 9 "}
    at = lines.index("Wall Times from within GSP")
    assert (lines[at - 1], lines[at + 1]) == ("-" * 79, "")
    steps = [line for line in lines[:at] if line.startswith("Iteration time")]
    listed = lines[at + 2 : at + 2 + len(steps)]
    assert [line.rpartition(" ")[2] for line in steps] == listed


def _form(line: str) -> str:
    """Return a line with each number as 9 and each path as its last name."""
    return re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "9", re.sub(r"\S*/", "", line))


def test_structure__accounting_has_the_columns_of_sacct(tmp_path: Path) -> None:
    written("lsdyna2009", tmp_path, "run.json", nodes=24)
    # Slurm's own answer, as kept with the measured campaign.
    other = (ROOT / "data/raw/vm-hpcg/sacct.txt").read_text().splitlines()
    own = (tmp_path / "sacct.txt").read_text().splitlines()
    assert own[0] == other[0]
    assert _cells(own[1:]) <= _cells(other[1:]) | {""}


def _cells(lines: Iterable[str]) -> set[str]:
    """Return the forms of the cells: digits and names apart."""
    forms = set()
    for line in lines:
        cells = line.split("|")
        for place in (0, 4, 5, 6, 7, 8, 9, 10, 11):
            forms.add(f"{place} {re.sub('[0-9]+', '9', cells[place])}")
    return forms
