"""Facts by hand: a table with a row for each file, folder or job."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from analysis import cli
from analysis.base.errors import ConfigError
from analysis.importing.table import read_table

from .test_import import Imported, imported, log, project

__all__ = ["imported", "project"]


def tree(root: Path) -> Path:
    """Write four outputs, two in folders and two with the numbers of their jobs."""
    for at, name in enumerate(("a/out.txt", "b/out.txt", "lj.o4711", "lj.o4712")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(log(9.5 + at))
    return root


def test_import__a_table_states_factors_and_options_of_files_folders_and_jobs(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    table = tmp_path / "facts.csv"
    table.write_text(
        "File;job;nodes;Interconnect;huge pages\n"
        "a/out.txt;;1;ib-hdr;on\nb;;2;ib-hdr;off\n;4711;1;25gbe;\nlj.o4712;;2;25gbe;on\n"
    )
    found = imported(tree(tmp_path / "tree"), "--table", str(table))
    factors = ("nodes", "interconnect", "options")
    levels = {name.partition("#")[0]: tuple(map(one.get, factors)) for name, one in found.items()}
    assert levels == {
        "a/out.txt": (1, "ib-hdr", "huge pages=on"),
        "b/out.txt": (2, "ib-hdr", "huge pages=off"),
        "lj.o4711": (1, "25gbe", None),  # an empty cell states nothing
        "lj.o4712": (2, "25gbe", "huge pages=on"),
    }
    one = found["a/out.txt#"]["imported"]
    assert (one["factors"]["nodes"], one["facts"]["settings"]) == ("--table", {"huge pages": "on"})


def test_import__runs_with_other_options_in_the_table_are_no_repeats(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    table = tmp_path / "facts.csv"
    table.write_text("job,huge pages,site\n4711,on,x\n4712,on,x\n4713,off,x\n4714,off,x\n")
    (tmp_path / "tree").mkdir()
    for at in range(1, 5):
        (tmp_path / "tree" / f"lj.o471{at}").write_text(log(9.5 + at))
    found = imported(tmp_path / "tree", "--table", str(table))
    levels = sorted((one["options"], one["repeat"]) for one in found.values())
    on, off = "huge pages=on", "huge pages=off"
    assert levels == [(off, 1), (off, 2), (on, 1), (on, 2)]


def test_import__a_row_of_no_run_is_named(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "facts.csv"
    table.write_text("file,nodes\na,1\nc/out.txt,2\n")
    command = ["import", str(tree(tmp_path / "tree")), "--as", "mine", "--json", "--table", str(table)]
    assert cli.main(command) == 0
    lines = json.loads(capsys.readouterr().out)["guessed"]
    assert [line for line in lines if "facts.csv" in line] == [f"{table}: no run has 'c/out.txt' (line 3)"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nodes\n1\n", ":1: has no column file or job"),
        ("file,interconect\na,x\n", ":1: 'interconect' is no factor; is 'interconnect' meant?"),
        ("file,nodes\na,many\n", ":2: 'many' is no number of nodes"),
        ("file,nodes\na,1\na,2\n", ":3: 'a' has a row already"),
        ("file,nodes\na,1,2\n", ":2: "),
        ("", ":1: has no column file or job"),
    ],
)
def test_table__what_cannot_be_used_is_one_line_with_its_number(
    text: str, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_table(str(path))
    assert str(caught.value).startswith(f"{path}{found}")
    assert len(str(caught.value).splitlines()) == 1


def test_table__a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"file,nodes\n\xff\xfe,1\n")
    (tmp_path / "long.csv").write_text(f'file,mpi\na,"{"x" * 200_000}"\n')
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("gone.csv", "binary.csv", "long.csv", "pipe.csv"):
        with pytest.raises(ConfigError, match=name):
            read_table(str(tmp_path / name))
