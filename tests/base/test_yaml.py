"""YAML as strangers write it: each mistake is one line with its place, and none costs the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.base import project
from analysis.base import yaml as documents
from analysis.base.errors import ConfigError
from analysis.base.project import load_yaml
from analysis.base.yaml import read

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def faults(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_yaml(path)
    told = [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults]
    assert not [text for text in told if "\n" in text]
    return told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: &b\n  c: *b\n", "2: this anchor holds itself; take the alias out of it"),
        ("a: &a [*a]\n", "1: this anchor holds itself"),
        ("a: " + "[" * 3000 + "]" * 3000, " is nested too deeply"),
        ("a: 1\nb: 2026-02-30\n", "2: is no value: day is out of range for month"),
        ("a: !!int x\n", "1: is no value: invalid literal"),
        ("a: " + "9" * 5000, "1: is no value: Exceeds the limit"),
        ("a: 1\n? [b, c]\n: 2\n", "2: a list or a mapping stands for a key; write a name"),
        ("a: 1\nb: \0\n", "2: holds the character U+0000; take it out"),
        ("a:\n\tb: 1\n", "2: found character '\\t' that cannot start any token; indent with blanks"),
        ("a: !!python/name:os.system\n", "1: could not determine a constructor for the tag"),
        ("a: |\n\tx\n", "2: found "),
        ("\ufeffa: é\nb: @c\n", "2: found character '@' that cannot start any token; fix the YAML syntax"),
        ("a: é\nb: [*left-out]\n", "2: found undefined alias 'left-out'"),
        ("a: \U0001f600\nb: é\nc: \x07\n", "3: holds the character U+0007; take it out"),
        ("a: [1\nb: 2\n", "2: "),
        ("a: 1\n---\nb: 2\n", "2: but found another document"),
        ("", " is empty"),
    ],
)
def test_documents__mistake_is_one_line_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert faults(tmp_path / "x.yaml", text)[0].startswith(said)


@pytest.mark.parametrize("levels", ["[", "- ", "{a: ", "? ", "[{a: "])
def test_documents__levels_without_end_do_not_end_the_process(tmp_path: Path, levels: str) -> None:
    faults(tmp_path / "x.yaml", levels * 100_000 + "x")


def test_documents__tabs_that_indent_have_their_remedy(tmp_path: Path) -> None:
    for text in ("a:\n\tb: 1\n", "\t- a\n", "a: |\n\tx\n"):
        assert faults(tmp_path / "x.yaml", text)[0].endswith("; indent with blanks, not with tabs")


def test_documents__both_parsers_say_the_same_of_the_projects_files(monkeypatch: pytest.MonkeyPatch) -> None:
    root = project.root()
    files = [*root.glob("config/**/*.yaml"), *root.glob("workflow/**/*.yaml"), *root.glob("slurm/*.yaml")]
    assert len(files) > 30
    quick = [read(str(path)) for path in files]
    monkeypatch.setattr(documents, "_DEEPEST", 0)
    documents._parse.cache_clear()
    assert [read(str(path)) for path in files] == quick


def test_documents__aliases_of_aliases_do_not_fill_the_memory(tmp_path: Path) -> None:
    # Nine to the power of nine texts: 387 million.
    (told,) = faults(tmp_path / "x.yaml", LAUGHS)
    assert "holds more than 200000 values, its anchors counted wherever they are used" in told


def test_documents__anchors_are_used_as_they_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n", encoding="utf-8")
    document, lines = read(str(path))
    assert document == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert lines["c", "y"] == 3


def test_read__numbers_as_people_write_them(tmp_path: Path) -> None:
    """Hashes of commits, versions and dates stay text."""
    file = tmp_path / "typed.yaml"
    file.write_text("- [3e9, 2.4e10, 6e-7, -1.5E3, 2.4e+10]\n- [9201e45, 92e1450, 1.10.2, 1e, e5, 12345e6]\n")
    numbers, text = read(str(file))[0]
    assert numbers == [3e9, 2.4e10, 6e-7, -1500.0, 2.4e10]
    assert text == ["9201e45", "92e1450", "1.10.2", "1e", "e5", "12345e6"]
