"""Models: what is said of a file that does not follow one, and what is generated from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.base.models import Maybe, Model, Name, Several


class Program(Model):
    """Where it is."""

    TOGETHER = (("exactly", "path", "module"), ("at most", "module", "flags"))
    NEEDS: ClassVar = {"flags": ("path",)}
    WHEN = (("kind", ("lib", "so"), ("path", "soname.major")),)

    path: str = ""
    module: str = ""
    flags: str = ""
    kind: Literal["lib", "so", "exe"] = "exe"
    soname: dict[str, int] = Field({})


class Adaptive(Model):
    """As many as it takes."""

    within: str
    most: int = 30


class File(Model):
    """A file."""

    title: str = Field(description="one line")
    nodes: Maybe[Annotated[int, Field(ge=1)]] = Field(None, description="how many")
    hours: float = 0.0
    levels: dict[str, Any] = Field({})
    names: dict[Name, Several[Name]] = Field({})
    repeats: int | Adaptive = Field(3, description="a number, or {within: 5%}")
    program: Maybe[Program] = None


def faults(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        models.load(File, path)
    told = [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults]
    assert not [text for text in told if "\n" in text]
    return told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: a\nnode: 2\n", "2: the file: unknown key 'node'; is 'nodes' meant?"),
        ("title: a\ncolour: 2\n", "2: the file: unknown key 'colour'; known: title, nodes, hours"),
        ("nodes: 2\n", "1: the file: 'title' is a required property; add it: one line"),
        (
            "title: no\n",
            "1: title: false is not of type 'string'; put it in quotes, if it is meant as text: one",
        ),
        ("title: 2026-01-02\n", "1: title: 2026-01-02 (a date) is not of type 'string'; put it in quotes"),
        ("title:\n", "1: title: nothing is not of type 'string'; one line"),
        ("title: a\nnodes: 3.0\n", "2: nodes: 3.0 is not of type 'integer'; how many"),
        ("title: a\nnodes: yes\n", "2: nodes: true is not of type 'integer'; how many"),
        ("title: a\nhours: .nan\n", "2: hours: nan is not of type 'number'"),
        ("title: a\nhours: .inf\n", "2: hours: inf is not of type 'number'"),
        ("title: a\nlevels:\n  no: 1\n", "2: levels: the key false is no text; put it in quotes"),
        ("title: a\nlevels: {1: 1}\n", "2: levels: the key 1 is no text; put it in quotes"),
        ("title: a\nnodes: null\n", "2: nodes: nothing is not of type 'integer'; how many"),
        ("title: a\nnodes: 0\n", "2: nodes: 0 is less than the minimum of 1; how many"),
        ("title: a\nnames:\n  b c: d\n", "3: names: 'b c' does not match '^[A-Za-z0-9_]"),
        ("title: a\nnames: {b: [c, c]}\n", "2: names.b: ['c', 'c'] has non-unique elements"),
        ("title: a\nnames: {b: 3}\n", "2: names.b: 3 is not allowed here"),
        ("title: a\nrepeats: 3.0\n", "2: repeats: 3.0 is not allowed here; a number, or {within: 5%}"),
        ("title: a\nrepeats:\n  withn: x\n", "2: repeats: 'within' is a required property"),
        ("title: a\nrepeats: {within: x, mots: 1}\n", "2: repeats: unknown key 'mots'; is 'most' meant?"),
        ("title: a\nprogram: {}\n", "2: program: needs exactly one of path, module; where it is"),
        ("title: a\nprogram: {module: a, flags: b}", "2: program: needs at most one of module, flags; where"),
        ("title: a\nprogram: {module: a, flags: b}", "2: program: 'path' is a dependency of 'flags'; add it"),
        ("title: a\nprogram: {module: a, kind: so}", "2: program: 'path' is a required property"),
        ("title: a\nprogram: {path: a, kind: so, soname: {}}", "2: program.soname: 'major' is a required"),
        (
            "title: a\nprogram: {path: a, kind: ex}",
            "2: program.kind: 'ex' is not one of ['lib', 'so', 'exe']; is 'exe' meant?",
        ),
        ("- a\n", "1: the file: ['a'] is not of type 'object'; a file"),
    ],
)
def test_models__say_what_the_file_says(tmp_path: Path, text: str, said: str) -> None:
    told = faults(tmp_path / "x.yaml", text)
    assert any(fault.startswith(said) for fault in told), told


def test_models__every_fault_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "program:\n  path: 3\n  module: a\n  sname: b\nnodes: x\nhours: y\n2: z\n"
    said = [fault.split(";")[0] for fault in faults(tmp_path / "x.yaml", text)]
    assert said == [
        "1: the file: 'title' is a required property",
        "1: program: needs exactly one of path, module",
        "2: program.path: 3 is not of type 'string'",
        "4: program: unknown key 'sname'",
        "5: nodes: 'x' is not of type 'integer'",
        "6: hours: 'y' is not of type 'number'",
        "7: the file: the key 2 is no text",
    ]


def test_models__long_value_is_not_repeated_in_full(tmp_path: Path) -> None:
    (told,) = faults(tmp_path / "x.yaml", f"title: a\nnodes: {'x' * 100_000}\n")
    assert len(told) < 400


def test_models__a_secret_is_not_repeated() -> None:
    document = {"title": 3, "nodes": "hunter2", "program": {"kind": "hunter2"}, "repeats": ["hunter2"]}
    with pytest.raises(ConfigError) as caught:
        models.check(File, document, "x.yaml", {}, ("power",), secret=True)
    assert len(caught.value.faults) == 5
    assert "hunter2" not in str(caught.value)
    assert "power.nodes: what is written there is not of type 'integer'" in str(caught.value)


def test_models__schema_says_which_keys_go_together() -> None:
    schema = models.schema_of(File)
    assert schema["properties"]["title"] == {"description": "one line", "type": "string"}
    assert schema["properties"]["nodes"] == {"description": "how many", "minimum": 1, "type": "integer"}
    assert schema["properties"]["names"]["propertyNames"]["pattern"] == models.NAME
    program = schema["$defs"]["Program"]
    assert program["allOf"][:2] == [
        {"oneOf": [{"required": ["path"]}, {"required": ["module"]}]},
        {"not": {"required": ["module", "flags"]}},
    ]
    condition = {"required": ["kind"], "properties": {"kind": {"enum": ["lib", "so"]}}}
    assert program["allOf"][2:] == [
        {"if": condition, "then": {"required": ["path"]}},
        {"if": condition, "then": {"properties": {"soname": {"required": ["major"]}}}},
    ]
    assert program["dependentRequired"] == {"flags": ["path"]}
