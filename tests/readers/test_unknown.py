"""What is said of files that no reader knows: what they look like, which readers came close."""

from __future__ import annotations

import re

import pytest

from analysis import readers
from analysis.base.errors import ReadError
from analysis.readers.unknown import ADD


def answer(data: bytes) -> str:
    with pytest.raises(ReadError) as caught:
        readers.parse(data, "f")
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(ADD)
    return text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"hello\n", "text, first line 'hello'"),
        (b"----\n\nresult: 5\n", "text, first line 'result: 5'"),
        (b"a,b,c\n1,2,3\n4,5,6\n", "a table of 3 columns between commas, first line 'a,b,c'"),
        (b"a;b\n1;2\n", "a table of 2 columns between semicolons"),
        (b"a|b\n1|2\n", "a table of 2 columns between bars"),
        (b'{"mean": 3, "unit": "s"}', "JSON with the keys mean, unit"),
        (b"[1, 2]", "a JSON list"),
        (b'{"mean": 3, "un', "JSON that is cut, damaged or one document after another"),
        (b"[" * 100_000, "JSON that is cut, damaged"),
        (b"<?xml version='1.0'?>\n<testsuite name='x'/>", "XML or HTML of <testsuite>"),
        (b"\x7fELF\x02\x01\x01\x00", "an ELF program or core"),
        (b"\x00\x01\x02\x03" * 9, "binary, begins with 00 01 02 03 00 01 02 03"),
        (b"\x89HDF\r\n\x1a\n" + b"\x00" * 40, "HDF5"),
        (b"x" * 500, f"text, first line '{'x' * 57}...'"),
    ],
)
def test_unknown__says_what_a_file_looks_like(data: bytes, said: str) -> None:
    assert re.match(rf"f: (has no known format: )?{re.escape(said)}", answer(data))


def test_unknown__steps_are_no_graph500() -> None:
    assert "graph500" not in answer(b"500 timesteps and 12 steps\n")
    assert "graph500" in answer(b"bfs  harmonic_mean_TEPS: 1e9\nTEPS\n")


@pytest.mark.parametrize(
    ("data", "near"),
    [
        (
            b"HPLinpack benchmark input file\n",
            "near hpl: has 'HPLinpack' without 'parameter values will be used'",
        ),
        (b"triad 1234.5\n", "near stream: has 'triad' without 'STREAM version $Revision'"),
        (
            b"FoamFile\n{\n version 2.0;\n}\n",
            "near openfoam: has 'FoamFile' without 'OpenFOAM' and 'Exec :'",
        ),
        (b"HPCG is not run\n", "near hpcg: has 'HPCG' without 'HPCG-Benchmark' and 'Machine Summary'"),
    ],
)
def test_unknown__names_the_readers_that_came_close_and_what_they_missed(data: bytes, near: str) -> None:
    assert near in re.sub(" +", " ", answer(data))


def test_unknown__nothing_close_is_nothing_named_and_at_most_three_are() -> None:
    assert answer(b"hello\n").endswith(f"first line 'hello'; {ADD}")
    many = answer(b"ior IOR mdtest LAMMPS gromacs NAMD nwchem\n")
    assert many.count("near ") == 3


def test_unknown__every_hint_says_what_a_file_lacks() -> None:
    hinted = [row for row in readers.rows() if row.near]
    assert len(hinted) == 46
    assert all(next(row.groups(), ()) for row in hinted)
